"""The common part of simulations: jobs that arrive, events in order of time, and samples."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from fairlp import Instance, mechanisms
from fairlp.errors import InstanceError, quoted, require_known
from fairlp.toolkit import quotients, whole_table

from .workload import Workload


@dataclass
class Sample:
    """What goes on at one moment.

    Attributes
    ----------
    used : ndarray, shape (R,)
        Fraction of each resource of the pool in use.
    usage : ndarray, shape (N, R)
        The same by user.
    shares, waiting, running : ndarray, shape (N,)
        Dominant share, and tasks that wait and run.
    """

    used: np.ndarray
    usage: np.ndarray
    shares: np.ndarray
    waiting: np.ndarray
    running: np.ndarray


class Simulation(ABC):
    """The state of a simulation.

    A subclass says when something ends next, what happens then, and what is to be seen; nothing
    that a sample shows changes between two events.

    Parameters
    ----------
    cluster : Instance
        The servers (its users are not used).
    workload : Workload
    policy : str
    weights : mapping, optional
        User → weight, 1 where it is not given.
    every : float
        Seconds between samples.
    slots : int, optional
        Cut servers into slots, so many on the largest.
    """

    def __init__(
        self,
        cluster: Instance,
        workload: Workload,
        policy: str,
        *,
        weights: Mapping[Any, float] | None = None,
        every: float = 60.0,
        slots: int | None = None,
    ) -> None:
        unknown = [r for r in workload.resources if r not in cluster.resources]
        if unknown:
            raise InstanceError(
                f"jobs demand {quoted(unknown[0])}, which is in no server; resources: "
                f"{list(cluster.resources)}"
            )
        if not every > 0:
            raise InstanceError(
                f"every={every!r}; expected the seconds between two samples, above 0"
            )
        jobs = workload.jobs
        demands = (
            jobs[list(workload.resources)]
            .reindex(columns=list(cluster.resources), fill_value=0.0)
            .to_numpy()
        )
        self.policy = policy
        self.every = every
        self.kinds, kind = np.unique(
            demands, axis=0, return_inverse=True
        )  # jobs of one demand share its arrays
        self.kind = kind.reshape(-1)
        self.fractions = quotients(self.kinds, cluster.pool)
        self.table, self.capacities = whole_table(self.kinds, cluster.capacities)
        self.counts = cluster.counts
        self.vacant = mechanisms.Servers.empty(
            self.table, self.capacities, cluster.counts, slots=slots
        )
        self.eligible = _eligible(workload, cluster)
        self.user = pd.Index(workload.users).get_indexer(jobs["user"])
        self.arrival, self.duration = jobs["arrival"].to_numpy(), jobs["duration"].to_numpy()
        self.tasks = jobs["tasks"].to_numpy()
        self.weights = _weights(weights or {}, workload)
        self.start = np.full(len(jobs), np.nan)
        self.finish = np.full(len(jobs), np.nan)
        self.refused: list[int] = []
        self.next_job = 0
        self.now = 0.0
        self.decisions = 0
        self.samples: list[Sample] = []

    @property
    def next_sample(self) -> float:
        """When the next sample is taken."""
        return len(self.samples) * self.every if self.samples else 0.0

    @property
    def times(self) -> list[float]:
        """When the samples were taken."""
        return [k * self.every if k else 0.0 for k in range(len(self.samples))]

    @abstractmethod
    def completed(self) -> np.ndarray:
        """Return the tasks of each user that have ended, shape (N,)."""

    @abstractmethod
    def next_change(self) -> float:
        """Return when something other than an arrival happens next; infinite when nothing will."""

    @abstractmethod
    def proceed(self, to: float) -> None:
        """Let time pass until then; nothing happens in between."""

    @abstractmethod
    def happen(self) -> None:
        """Do what happens now, and decide who runs what from now on."""

    @abstractmethod
    def observe(self) -> Sample:
        """Return what goes on from the last event to the next."""

    def run(self, until: float, most_events: int | None = None) -> bool:
        """Go on until that time (or for that many events); return whether the end was reached."""
        for _ in count() if most_events is None else range(most_events):
            coming = (
                float(self.arrival[self.next_job])
                if self.next_job < len(self.arrival)
                else math.inf
            )
            following = min(self.next_change(), coming)
            end = following > until or following == math.inf
            moment = until if end and until < math.inf else self.now if end else following
            self._sample(moment, end)
            self.proceed(moment)
            self.now = moment
            if end:
                return True
            self.happen()
        return False

    def arrivals(self) -> Iterator[int]:
        """Yield the jobs to be queued that arrive now.

        A job without tasks ends at once.

        A job whose tasks fit no server even when it is empty is refused, whatever the policy.
        """
        while self.next_job < len(self.arrival) and self.arrival[self.next_job] == self.now:
            job = self.next_job
            self.next_job += 1
            if self.tasks[job] == 0:
                self.start[job] = self.finish[job] = self.now
            elif not self.fits(self.vacant, job).any():
                self.refused.append(job)
            else:
                yield job

    def fits(self, servers: Any, job: int, where: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the servers that a task of the job fits, as they are or all vacant; bool."""
        fits: np.ndarray = servers.fits(int(self.kind[job]), where)
        if self.eligible is not None and (allowed := self.eligible[job]) is not None:
            fits &= allowed[servers.row[where]]
        return fits

    def usage(self, tasks: np.ndarray, jobs: np.ndarray | slice) -> np.ndarray:
        """Return the fraction of the pool that each user's running tasks take, shape (N, R).

        ``tasks`` run of each of these jobs.
        """
        parts = self.fractions[self.kind[jobs]]
        owner = self.user[jobs]
        users = len(self.weights)
        columns = [
            np.bincount(owner, tasks * parts[:, r], minlength=users) for r in range(parts.shape[1])
        ]
        return np.column_stack(columns)

    def _sample(self, until: float, closed: bool) -> None:
        """Record a sample at every sample time before ``until``; ``closed`` includes ``until``.

        Nothing has changed since the last event.
        """
        seen = None
        while self.next_sample < until or (closed and self.next_sample <= until):
            seen = seen or self.observe()
            self.samples.append(seen)


def _weights(weight_by_user: Mapping[Any, float], workload: Workload) -> np.ndarray:
    """Return the weight of each user, checked."""
    for user in weight_by_user:
        require_known(
            user, workload.users, f"a weight is given for {quoted(user)}, who submits no job"
        )
    weights = np.array([float(weight_by_user.get(user, 1.0)) for user in workload.users])
    bad = np.flatnonzero(~(weights > 0) | ~np.isfinite(weights))
    if bad.size:
        user = workload.users[int(bad[0])]
        problem = "of 0 or below" if weights[bad[0]] <= 0 else "that is not a finite number"
        raise InstanceError(
            f"user {quoted(user)} has a weight {problem}; expected a number above 0"
        )
    return weights


def _eligible(workload: Workload, cluster: Instance) -> list[np.ndarray | None] | None:
    """Return for each job the rows of servers where it may run; None where that is everywhere."""
    if "eligible" not in workload.jobs.columns:
        return None
    mask_by_condition = {}
    masks = []
    for job, condition in workload.jobs["eligible"].items():
        if condition not in mask_by_condition and isinstance(condition, str):
            allowed = cluster.servers_where(condition, f"job {quoted(job)}")
            mask_by_condition[condition] = None if allowed.all() else allowed
        masks.append(mask_by_condition.get(condition))
    return masks
