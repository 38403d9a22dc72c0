"""A discrete-event simulation of divisible tasks: changed requests share the cluster anew.

The jobs of a user that ask for the same (demand, servers) are a *request*: x of its tasks run at
once, as the mechanism says, at most as many as these jobs have. They go to the oldest job first, as
many as it has tasks. A user with several open requests has its weight divided equally among them. A
job of so many tasks ends when it has had tasks × duration task-seconds. Between two events (an
arrival, the end of a job) nothing changes, so the next end follows from what runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairlp import Instance
from fairlp.toolkit import tolerances

from .allocators import Distributed, Solved, allocator
from .base import Sample, Simulation
from .workload import Workload


class Fluid(Simulation):
    """Divisible tasks on rows of servers.

    Parameters
    ----------
    cluster, workload, weights, every
        As for :class:`Simulation`.
    policy : str
        A mechanism for divisible tasks, or distributed PS-DSF (``allocators.fluid_policies``).
    **options
        Of the mechanism, method and solver, or of the clocks of servers that act on their own.

    Attributes
    ----------
    requests : ndarray of int, shape (M,)
        Numbers of the open requests, rising.
    placed : ndarray, shape (M, K)
        Their tasks on each row of servers.
    serving : ndarray of int, shape (J,)
        Jobs of open requests, by request and age.
    rates : ndarray, shape (J,)
        Tasks of each that run at once.
    work : ndarray
        Task-seconds that each job still needs.
    """

    def __init__(
        self,
        cluster: Instance,
        workload: Workload,
        policy: str,
        *,
        weights: Mapping[Any, float] | None = None,
        every: float = 60.0,
        **options: Any,
    ) -> None:
        super().__init__(cluster, workload, policy, weights=weights, every=every)
        self.request = self._requests()
        self.work = self.tasks * self.duration
        self.open: dict[int, list[int]] = {}  # the jobs of each open request, oldest first
        self.requests = np.zeros(0, dtype=np.int64)
        self.placed = np.zeros((0, len(cluster.servers)))
        self.serving = np.zeros(0, dtype=np.int64)
        self.rates = np.zeros(0)
        self.ends = np.zeros(0)
        self.allocator: Solved | Distributed | None = None
        if (self.request >= 0).any():
            self.allocator = allocator(self._instance(cluster, workload), policy, options)

    def completed(self) -> np.ndarray:
        """Return each user's ended tasks; half the work of a job counts as half its tasks."""
        jobs = np.arange(self.next_job)
        full = self.tasks[jobs] * self.duration[jobs]
        fraction_left = np.divide(
            self.work[jobs], full, out=np.isnan(self.finish[jobs]).astype(float), where=full > 0
        )
        return np.bincount(
            self.user[jobs], self.tasks[jobs] * (1 - fraction_left), minlength=len(self.weights)
        )

    def next_change(self) -> float:
        """Return when a job ends, or servers that act on their own may have changed what runs."""
        end = float(self.ends.min(initial=math.inf))
        return end if self.allocator is None else min(end, self.allocator.next_change(self.now))

    def proceed(self, to: float) -> None:
        """Let what runs run until then."""
        served = self.rates * (to - self.now)
        self.work[self.serving] = np.maximum(self.work[self.serving] - served, 0.0)

    def happen(self) -> None:
        """End the jobs that end now, queue those that arrive, and share the cluster anew."""
        full = self.tasks[self.serving] * self.duration[self.serving]
        over = (self.ends <= self.now) | (
            self.work[self.serving] < tolerances.LEVEL_ROUNDING * full
        )
        for job in self.serving[over].tolist():
            request = int(self.request[job])
            self.work[job], self.finish[job] = 0.0, self.now
            self.open[request].remove(job)
            if not self.open[request]:
                del self.open[request]
        for job in self.arrivals():
            self.open.setdefault(int(self.request[job]), []).append(job)
        self._share()

    def observe(self) -> Sample:
        """Return what runs and what waits."""
        usage = self.usage(self.rates, self.serving)
        owner = self.user[self.serving]
        users = len(self.weights)
        tasks = self.tasks[self.serving]
        running = np.bincount(owner, self.rates, minlength=users)
        waiting = np.bincount(owner, tasks - self.rates, minlength=users)
        return Sample(usage.sum(axis=0), usage, usage.max(axis=1), waiting, running)

    def _share(self) -> None:
        """Share the cluster among the open requests, and each request's part among its jobs."""
        self.requests = np.array(sorted(self.open), dtype=np.int64)
        queues = [self.open[request] for request in self.requests.tolist()]
        self.serving = np.array([job for queue in queues for job in queue], dtype=np.int64)

        sizes = np.array([len(queue) for queue in queues], dtype=np.int64)
        first = np.cumsum(sizes) - sizes
        tasks = self.tasks[self.serving]
        older = (
            np.cumsum(tasks) - tasks
        )  # tasks of older jobs: of all requests, then of the job's own
        older -= np.repeat(older[first], sizes)
        limits = (older + tasks)[first + sizes - 1]
        owner = self.user[self.serving[first]]
        weights = self.weights[owner] / np.bincount(owner)[owner]
        if self.allocator is not None:
            self.placed = self.allocator.allocate(
                self.now, self.requests, limits.astype(float), weights
            )
            self.decisions += 1
        self.rates = np.clip(np.repeat(self.placed.sum(axis=1), sizes) - older, 0.0, tasks)
        started = self.serving[(self.rates > 0) & np.isnan(self.start[self.serving])]
        self.start[started] = self.now
        seconds = np.full(len(tasks), math.inf)
        np.divide(self.work[self.serving], self.rates, out=seconds, where=self.rates > 0)
        self.ends = self.now + seconds

    def _requests(self) -> np.ndarray:
        """Return the number of each job's request; −1 for jobs without tasks and refused jobs."""
        numbers: dict[tuple[int, int, bytes], int] = {}
        requests = np.full(len(self.tasks), -1, dtype=np.int64)
        for job in range(len(requests)):
            if self.tasks[job] and self.fits(self.vacant, job).any():
                allowed = None if self.eligible is None else self.eligible[job]
                key = (
                    int(self.user[job]),
                    int(self.kind[job]),
                    b"" if allowed is None else allowed.tobytes(),
                )
                requests[job] = numbers.setdefault(key, len(numbers))
        return requests

    def _instance(self, cluster: Instance, workload: Workload) -> Instance:
        """Return the cluster with one user for each request, called by its user and first job."""
        first = np.unique(self.request, return_index=True)[1][int((self.request < 0).any()) :]
        labels = [
            f"{workload.users[self.user[job]]} (job {workload.jobs.index[job]})"
            for job in first.tolist()
        ]
        eligible = None
        if self.eligible is not None:
            everywhere = np.ones(len(cluster.servers), dtype=bool)
            eligible = np.array(
                [
                    everywhere if (allowed := self.eligible[job]) is None else allowed
                    for job in first.tolist()
                ]
            )
        has_capacity = np.flatnonzero(cluster.pool > 0)  # what demands the rest is refused
        return Instance.from_arrays(
            self.kinds[self.kind[first]][:, has_capacity],
            cluster.capacities[:, has_capacity],
            users=labels,
            servers=list(cluster.servers),
            resources=list(cluster.resources.labels[has_capacity]),
            weights=self.weights[self.user[first]],
            eligible=eligible,
            counts=cluster.counts,
            server_attributes=cluster.server_attributes,
        )
