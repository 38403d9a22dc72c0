"""Tenants: those to whom a scheduler promises a share, each with its users of the instance.

A user of a dump is a class of equal tasks: of one owner, in one queue, of one size. The scheduler
promises a share to the owner, the queue or the namespace, and inside it follows the tenant's own
order. So a verdict is about tenants: their dominant shares beside what is fair for all of a
tenant's tasks together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fairlp import Instance
from fairlp.toolkit import largest_first, quotients

from .jobs import AUDIT, WaitingJob, jobs_that_wait


@dataclass(frozen=True, eq=False)
class Tenants:
    """The tenants of an instance.

    Attributes
    ----------
    names : list
    of : ndarray of int, shape (N,)
        The tenant of each user.
    noun : str
        The scheduler's word for one of them, such as ``user``, ``queue`` or ``namespace``.
    """

    names: list[Any]
    of: np.ndarray
    noun: str = "user"

    @classmethod
    def each_user(cls, instance: Instance) -> Tenants:
        """Return every user as a tenant of its own."""
        return cls(list(instance.users), np.arange(len(instance.users)))

    @classmethod
    def named(cls, names: pd.Series[str]) -> Tenants:
        """Return the tenants that users have by name; the name of the series is the noun."""
        of, distinct = pd.factorize(names)
        return cls(list(distinct), of, str(names.name))

    def of_users(self, users: np.ndarray) -> Tenants:
        """Return the tenants of some users, by position."""
        remaining, of = np.unique(self.of[users], return_inverse=True)
        return Tenants([self.names[t] for t in remaining], of, self.noun)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of values of users, shape (N,) or (N, R), by tenant."""
        totals = np.zeros((len(self.names), *values.shape[1:]))
        np.add.at(totals, self.of, values)
        return totals

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of users of each tenant."""
        return np.bincount(self.of, minlength=len(self.names))

    @cached_property
    def users(self) -> list[np.ndarray]:
        """Positions of the users of each tenant, in their order."""
        by_tenant = np.argsort(self.of, kind="stable")
        return np.split(by_tenant, np.cumsum(self.sizes)[:-1])

    def of_job(self, job: WaitingJob) -> int:
        """Return the tenant of a job, whose users are all of one."""
        return int(self.of[next(iter(job.tasks))])

    @property
    def are_users(self) -> bool:
        """Whether every tenant is one user."""
        return bool((self.sizes <= 1).all())


def to_whole(tasks: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return numbers of tasks; one that differs from a whole one by rounding only is that one.

    >>> to_whole(np.array([11.9999999999, 2.5, -1e-12]), np.array([20.0, 3.0, 1.0])).tolist()
    [12.0, 2.5, 0.0]
    """
    nearest = np.rint(tasks) + 0.0
    is_near = abs(tasks - nearest) <= AUDIT * np.maximum(size, 1.0)
    return np.asarray(np.where(is_near, nearest, tasks))


class TenantShares:
    """The dominant shares of tenants beside their fair ones.

    Parameters
    ----------
    instance : Instance
    tenants : Tenants
    tasks, fair_tasks, waiting : ndarray, shape (N,)
        Tasks that users have, those that are fair, and those that wait.
    jobs : list of WaitingJob, optional
        The jobs of those that wait; by default of the job sizes of the instance.
    by_resource : bool
        Whether the scheduler promises an amount of each resource, and not a dominant share.
    """

    def __init__(
        self,
        instance: Instance,
        tenants: Tenants,
        tasks: np.ndarray,
        fair_tasks: np.ndarray,
        waiting: np.ndarray,
        jobs: list[WaitingJob] | None = None,
        by_resource: bool = False,
    ) -> None:
        self.instance = instance
        self.tenants = tenants
        self.tasks = tasks
        self.fair_tasks = fair_tasks
        self.waiting = waiting
        self.by_resource = by_resource
        self.jobs = jobs_that_wait(instance, waiting) if jobs is None else jobs
        #: Parts of the pool that one task of each user takes, by resource.
        self.parts = instance.demands / instance.pool

    @cached_property
    def amounts(self) -> np.ndarray:
        """Parts of the pool that each tenant has, tenants × resources."""
        return self.tenants.sums(self.tasks[:, None] * self.parts)

    @cached_property
    def share(self) -> np.ndarray:
        """Dominant share of each tenant."""
        return np.asarray(self.amounts.max(axis=1))

    @cached_property
    def fair_share(self) -> np.ndarray:
        """Dominant share of each tenant under the fair allocation."""
        fair_amounts = self.tenants.sums(self.fair_tasks[:, None] * self.parts)
        return np.asarray(fair_amounts.max(axis=1))

    @cached_property
    def excess(self) -> np.ndarray:
        """The part of what each tenant has that is beyond its fair share."""
        is_beyond = self.share > self.fair_share * (1 + AUDIT)
        beyond = np.where(is_beyond, self.share - self.fair_share, 0.0)
        return quotients(beyond, self.share)

    @cached_property
    def _lacking(self) -> np.ndarray:
        """Tasks of each user that wait, and that it lacks of its own fair share."""
        lacking = np.minimum(self.fair_tasks - self.tasks, self.waiting)
        size = np.maximum(self.fair_tasks, self.tasks)
        return to_whole(np.where(lacking > AUDIT * size, lacking, 0.0), size)

    @cached_property
    def owed(self) -> np.ndarray:
        """Tasks of each user that wait, and that its tenant lacks of its fair share.

        Where jobs have several tasks these are whole jobs. Of single tasks, one user of a tenant is
        also owed the part of a task that is left in the end.
        """
        return self._owed_and_jobs[0]

    @cached_property
    def owed_jobs(self) -> np.ndarray:
        """How many of each of the jobs that wait its tenant is short of."""
        return self._owed_and_jobs[1]

    @cached_property
    def _owed_and_jobs(self) -> tuple[np.ndarray, np.ndarray]:
        """Tasks of users and numbers of jobs that tenants lack."""
        owed = np.zeros(len(self.tasks))
        owed_jobs = np.zeros(len(self.jobs), dtype=int)
        for t, order in enumerate(self.jobs_of_tenants):
            amounts = self.amounts[t].copy()
            for k, copies in self.within_due(t, order, amounts).items():
                owed_jobs[k] = copies
                for n, count in self.jobs[k].tasks.items():
                    owed[n] += copies * count

            # the part of a task that is left
            if order and self.jobs[order[0]].size == 1 and not self.jobs[order[0]].after:
                (n,) = self.jobs[order[0]].tasks
                room = self.copies_within(amounts, self.jobs[order[0]], t)
                waiting = min(self.waiting[n], self._lacking[n]) - owed[n]
                owed[n] += max(min(room, waiting, 1 - AUDIT), 0.0) if room > AUDIT else 0.0
        return owed, owed_jobs

    @cached_property
    def jobs_of_tenants(self) -> list[list[int]]:
        """Positions of the jobs of each tenant that wait.

        They are in the order of the share that one of their users lacks; of one user the smallest first.
        Those that follow others come last.
        """
        lacking_share = self._lacking * self.parts.max(axis=1)
        jobs: list[list[int]] = [[] for _ in self.tenants.names]
        for k, job in enumerate(self.jobs):
            jobs[self.tenants.of_job(job)].append(k)

        def order(k: int) -> tuple[bool, float, int, float]:
            job = self.jobs[k]
            users = list(job.tasks)
            n = users[int(lacking_share[users].argmax())]
            return bool(job.after), -lacking_share[n], n, float(job.parts(self.parts).max())

        return [sorted(of_tenant, key=order) for of_tenant in jobs]

    def within_due(
        self, t: int, order: Sequence[int], amounts: np.ndarray | None = None
    ) -> dict[int, int]:
        """Return how many of each of these jobs, in turn, a tenant is owed until it has its due.

        ``amounts`` are what it has, by default now; what the jobs take is added.
        """
        if amounts is None:
            amounts = self.amounts[t].copy()
        copies_of: dict[int, int] = {}
        started: set[str] = set()
        for k in order:
            job = self.jobs[k]
            if not job.may_follow(started):
                continue
            copies = int(min(self.copies_within(amounts, job, t), job.copies))
            if copies:
                started.add(job.name)
                copies_of[k] = copies
                amounts += copies * job.parts(self.parts)
        return copies_of

    def copies_within(self, amounts: np.ndarray, job: WaitingJob, t: int) -> float:
        """Return how many equal jobs bring amounts to a tenant's fair share; at least 0.

        Where shares are not promised by resource, a tenant with more than that of any is owed none.
        """
        share = self.fair_share[t]
        if not self.by_resource and (amounts > share * (1 + AUDIT)).any():
            return 0.0
        parts = job.parts(self.parts)
        demanded = parts > 0
        copies = ((share - amounts[demanded]) / parts[demanded]).min()
        size = share / parts.max()
        return max(float(to_whole(copies, size)), 0.0)

    @cached_property
    def owed_whole(self) -> np.ndarray:
        """Tasks of each user in the whole jobs that its tenant is short of."""
        tasks = np.zeros(len(self.tasks), dtype=int)
        for k in np.flatnonzero(self.owed_jobs):
            for n, count in self.jobs[k].tasks.items():
                tasks[n] += count * self.owed_jobs[k]
        return tasks

    @cached_property
    def jobs_short(self) -> np.ndarray:
        """The number of whole jobs that each tenant is short of."""
        counts = np.zeros(len(self.tenants.names), dtype=int)
        for k in np.flatnonzero(self.owed_jobs):
            counts[self.tenants.of_job(self.jobs[k])] += self.owed_jobs[k]
        return counts

    @cached_property
    def share_with_owed(self) -> np.ndarray:
        """Dominant share of each tenant with the whole jobs that it is owed."""
        tasks = self.tasks + self.owed_whole
        return np.asarray(self.tenants.sums(tasks[:, None] * self.parts).max(axis=1))

    @cached_property
    def waits_in_jobs(self) -> np.ndarray:
        """The mask of tenants that wait for jobs of several tasks alone."""
        waits, waits_for_single = (np.zeros(len(self.tenants.names), dtype=bool) for _ in range(2))
        for job in self.jobs:
            t = self.tenants.of_job(job)
            waits[t] = True
            waits_for_single[t] |= job.size == 1
        return waits & ~waits_for_single

    @cached_property
    def missing_share(self) -> np.ndarray:
        """Dominant share of the tasks that each tenant is owed."""
        return self.tenants.sums(self.owed * self.parts.max(axis=1))

    @cached_property
    def short(self) -> np.ndarray:
        """Positions of the tenants short of a whole job, those that lack most first.

        A tenant that shares with no other is short of nothing: no one else has what it lacks.
        """
        if len(self.tenants.names) < 2:
            return np.zeros(0, dtype=int)
        is_short = self.jobs_short > 0
        order = largest_first(self.missing_share)
        return np.asarray(order[is_short[order]])
