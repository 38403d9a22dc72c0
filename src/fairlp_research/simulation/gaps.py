"""Quanta on one server of several devices, in the order of users' gaps (Dolev et al., 2012, §6).

A user's gap on a device is its entitlement so far minus what it has had, as a part of the
entitlement. The paper ranks a process by its *smallest* gap over the bottlenecks: once it has its
due on one of them it is promoted no further. The other rule, by the *largest* gap, is beside it.

The paper does not say how bottlenecks are measured. Here a device is one when it has been in use
for ``SATURATED_ON_AVERAGE`` of its capacity so far; while there is none, all devices are that
waiting tasks have lacked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlp import Instance
from fairlp.errors import NotDefinedError, quoted
from fairlp.toolkit import quotients, tolerances

from .engine import Engine
from .workload import Workload

#: Policies of quanta in the order of gaps.
GAP_POLICIES: tuple[str, ...] = ("smallest-gap", "largest-gap")
#: The mean use, as a part of the capacity, from which on a device is a bottleneck.
SATURATED_ON_AVERAGE = 0.95


class GapEngine(Engine):
    """Whole tasks on one server, the user who is farthest behind first.

    A user is entitled to its weight's part of each device, all users of the workload counted. Its
    gap is what it lacks at the end of its next task, where all that was started counts as had. Of
    users who are promoted no further, the one with the fewest tasks for its entitlement is next.

    Parameters
    ----------
    cluster, workload, weights, every
        As for :class:`.Engine`; one server.
    policy : {"smallest-gap", "largest-gap"}

    Attributes
    ----------
    had : ndarray, shape (N, R)
        Device-seconds of started tasks, as parts of the device.
    worked : ndarray, shape (R,)
        Seconds that each device has worked so far.
    lacked : ndarray of bool, shape (R,)
        Whether a waiting task has not fitted for lack of the device.
    """

    def __init__(self, cluster: Instance, workload: Workload, policy: str, **common: Any) -> None:
        if cluster.n_servers != 1:
            raise NotDefinedError(
                f"policy {quoted(policy)} serves quanta on one server, and there are "
                f"{cluster.n_servers}; cluster.pooled() makes one of them"
            )
        super().__init__(cluster, workload, policy, **common)
        n_users = len(self.weights)
        n_devices = self.fractions.shape[1]
        self.entitlements = self.weights / self.weights.sum()
        self.had = np.zeros((n_users, n_devices))
        self.started = np.zeros(n_users)
        self.worked = np.zeros(n_devices)
        self.lacked = np.zeros(n_devices, dtype=bool)

    def proceed(self, to: float) -> None:
        """Let time pass: devices work for what runs."""
        in_use = (self.capacity - self.servers.free).sum(axis=0).astype(float)
        self.worked += quotients(in_use, self.pool) * (to - self.now)

    def bottlenecks(self) -> np.ndarray:
        """Return the devices that are bottlenecks now, bool, shape (R,)."""
        saturated = (self.worked >= SATURATED_ON_AVERAGE * self.now) & (self.now > 0)
        return np.asarray(saturated if saturated.any() else self.lacked)

    def _schedule(self, freed: set[int]) -> None:
        """Run tasks as long as one fits: the user of the first rank, then the order of users."""
        bottlenecks = self.bottlenecks()
        while True:
            waiting = [user for user, jobs in enumerate(self.pending) if jobs]
            if not waiting:
                return
            users = np.array(waiting)
            jobs = np.array([self.pending[user][0] for user in waiting])
            needs = self.servers.demands[self.kind[jobs]]
            lacks = np.asarray(needs > self.servers.free[0], dtype=bool)
            fits = ~lacks.any(axis=1)
            self.decisions += 1
            if not fits.any():
                self.lacked |= lacks.any(axis=0)
                return
            users = users[fits]
            jobs = jobs[fits]
            k = self._first(users, jobs, bottlenecks)
            self.had[users[k]] += self.fractions[self.kind[jobs[k]]] * self.duration[jobs[k]]
            self.started[users[k]] += 1
            self._start(int(jobs[k]), int(users[k]), 0)

    def _first(self, users: np.ndarray, jobs: np.ndarray, bottlenecks: np.ndarray) -> int:
        """Return the position of the user who is served next."""
        due = self.entitlements[users] * (self.now + self.duration[jobs])
        gaps = 1.0 - quotients(self.had[users], due[:, None])
        counted = bottlenecks & (self.fractions[self.kind[jobs]] > 0)
        if self.policy == "smallest-gap":
            gap = np.where(counted, gaps, np.inf).min(axis=1)
        else:
            gap = np.where(counted, gaps, -np.inf).max(axis=1)
        # a user of no bottleneck delays no other, and a user with its due is promoted no further
        gap = np.where(counted.any(axis=1), np.maximum(gap, 0.0), 1.0)
        steps = np.rint(gap / tolerances.LEVEL_ROUNDING)
        tasks = np.rint(self.started[users] / self.entitlements[users] / tolerances.LEVEL_ROUNDING)
        return int(np.lexsort((users, tasks, -steps))[0])
