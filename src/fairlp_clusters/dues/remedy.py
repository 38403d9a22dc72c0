"""How tenants could run the jobs that they are owed: room now, and jobs that would give way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairlp.toolkit import largest_first

from .blocking import (
    Blocking,
    Obstacle,
    Placement,
    placed_in_turn,
    placements_of,
    tasks_by_server,
)
from .jobs import AUDIT, RunningJob, WaitingJob
from .packing import Keeping

if TYPE_CHECKING:
    from .share_comparison import ShareComparison

#: So many jobs are looked at that would give way; a list of more is of no use.
MOST_PREEMPTED = 2000
#: On so many servers, those with most room first, it is tried who would have to give way.
_MOST_SERVERS = 64
#: Up to so many jobs that give way it is tried whether one of them could stay.
_MOST_TRIED = 64


@dataclass(frozen=True)
class Remedy:
    """How a tenant could run the whole jobs that it is owed.

    Attributes
    ----------
    count, jobs : int
        The tasks and the jobs that it is owed.
    fitting, fitting_jobs : int
        Those that fit now, beside what runs.
    servers : dict of {int: int}
        Tasks that fit by server, most first.
    job, obstacle : WaitingJob and Obstacle, or None
        The first job that does not fit, and what stops it.
    preempted, preempted_jobs : dict of {int: int}
        Tasks and jobs of each tenant, by position, that would give way to the others: of tenants
        beyond their fair shares, none of which falls below it. With a refusal: if it were not.
    freed, freed_jobs : int
        Tasks and jobs that fit once those have gone.
    refusal : str
        Why the scheduler lets nobody, or some, not give way; empty where it does, or where the dump
        does not say.
    """

    count: int
    jobs: int
    fitting: int = 0
    fitting_jobs: int = 0
    servers: dict[int, int] = field(default_factory=dict)
    job: WaitingJob | None = None
    obstacle: Obstacle | None = None
    preempted: dict[int, int] = field(default_factory=dict)
    preempted_jobs: dict[int, int] = field(default_factory=dict)
    freed: int = 0
    freed_jobs: int = 0
    refusal: str = ""


class Fit(NamedTuple):
    """The jobs that a tenant is owed, and how many of them fit now.

    Attributes
    ----------
    jobs : list of WaitingJob
        By the share that they take, the largest first; their copies are those owed.
    placed : list of int
        How many copies of each fit.
    blocking : Blocking
        The obstacles beside these.
    servers : Counter of {int: int}
        Their tasks by server.
    """

    jobs: list[WaitingJob]
    placed: list[int]
    blocking: Blocking
    servers: Counter[int]

    @property
    def missing(self) -> list[tuple[WaitingJob, int]]:
        """The jobs that do not fit, with the number of copies."""
        return [
            (job, int(job.copies) - copies)
            for job, copies in zip(self.jobs, self.placed, strict=True)
            if copies < job.copies
        ]


def fit(comparison: ShareComparison, t: int) -> Fit:
    """Return how many of the jobs that tenant ``t`` is owed fit now."""
    shares = comparison.tenant_shares
    owed = comparison.owed_jobs_of(t)
    sizes = np.array([shares.jobs[k].parts(shares.parts).max() for k in owed])
    order = [owed[k] for k in largest_first(sizes * shares.owed_jobs[owed])]
    order.sort(key=lambda k: bool(shares.jobs[k].after))  # those that follow others come last
    owed_jobs = [shares.jobs[k]._replace(copies=int(shares.owed_jobs[k])) for k in order]
    blocking, placed, by_server = _fitting(comparison, owed_jobs)
    return Fit(owed_jobs, placed, blocking, by_server)


def remedy(comparison: ShareComparison, t: int) -> Remedy:
    """Return how tenant ``t`` could run what it is owed.

    Its jobs come by the share that a task of theirs takes, the largest first. Cost: O(jobs that
    give way × (jobs that run + servers × R)).
    """
    owed_jobs, placed, blocking, by_server = comparison.fit_of(t)
    missing = comparison.fit_of(t).missing
    jobs = sum(int(job.copies) for job in owed_jobs)
    count = sum(job.size * int(job.copies) for job in owed_jobs)
    fitting_jobs = sum(placed)
    fitting = sum(copies * job.size for copies, job in zip(placed, owed_jobs, strict=True))
    servers = {i: tasks for i, tasks in by_server.most_common() if tasks}
    result = Remedy(count, jobs, fitting, fitting_jobs, servers)
    if not missing:
        return result

    # Jobs that would give way to the others
    first = missing[0][0]
    obstacle = blocking.of_job(first)
    result = Remedy(count, jobs, fitting, fitting_jobs, servers, first, obstacle)
    result = replace(result, refusal=_refusal(comparison, t))
    if obstacle.kind not in ("cap", "resource") or comparison.instance.has_rates:
        return result
    started = {job.name for copies, job in zip(placed, owed_jobs, strict=True) if copies}
    preemption = _Preemption(comparison, t, blocking)
    freed, freed_jobs = preemption.make_room_for(missing, set(started))
    protected = comparison.subject.preemption.protected
    if not freed_jobs and protected and not result.refusal:
        preemption = _Preemption(comparison, t, blocking, protected=())
        freed, freed_jobs = preemption.make_room_for(missing, started)
        names = [str(comparison.subject.tenants.names[k]) for k in preemption.jobs]
        reasons = [f"tasks of {n} do not give way: {protected[n]}" for n in names if n in protected]
        result = replace(result, refusal="; ".join(reasons))
    return replace(
        result,
        preempted=dict(preemption.tasks.most_common()),
        preempted_jobs=dict(preemption.jobs),
        freed=freed,
        freed_jobs=freed_jobs,
    )


def _fitting(
    comparison: ShareComparison, jobs: list[WaitingJob]
) -> tuple[Blocking, list[int], Counter[int]]:
    """Return the obstacles beside the jobs that fit now, how many of each do, and tasks by server.

    One after the other, or, where that leaves some out, as a program of whole numbers places most.
    """
    blocking = comparison.blocking
    placed = [0] * len(jobs)
    placements: list[Placement] = []
    for position, of_job, copies, beside in placed_in_turn(blocking, jobs):
        placements += of_job
        placed[position] = copies
        blocking = beside
    if sum(placed) < sum(job.copies for job in jobs) and comparison.instance.tree.quotas is None:
        packing = comparison.blocking.pack(jobs)
        is_better = packing is not None and packing.copies.sum() > sum(placed)
        if packing is not None and is_better and _keeps_order(jobs, packing.copies):
            placements = placements_of(packing)
            blocking = comparison.blocking.beside(placements)
            placed = packing.copies.tolist()
    return blocking, placed, tasks_by_server(placements)


def _keeps_order(jobs: list[WaitingJob], copies: np.ndarray) -> bool:
    """Whether no job starts without the one that has to start before it or with it."""
    started = [job for job, count in zip(jobs, copies.tolist(), strict=True) if count]
    names = {job.name for job in started}
    return all(job.may_follow(names) for job in started)


def _refusal(comparison: ShareComparison, t: int) -> str:
    """Return why the scheduler lets no task give way to a tenant; empty where it may."""
    preemption = comparison.subject.preemption
    name = str(comparison.subject.tenants.names[t])
    return preemption.refusal or preemption.refused.get(name, "")


class _Preemption:
    """Jobs that give way, one at a time: the lowest priority first, then who is furthest beyond.

    Parameters
    ----------
    comparison : ShareComparison
    tenant : int
        The tenant that they make room for.
    blocking : Blocking
        What runs, and what fits beside it of the tenant's jobs.
    protected : collection of str, optional
        Tenants whose tasks do not give way; by default those of the scheduler.
    """

    def __init__(
        self,
        comparison: ShareComparison,
        tenant: int,
        blocking: Blocking,
        protected: Collection[str] | None = None,
    ) -> None:
        self.comparison = comparison
        self.shares = comparison.tenant_shares
        self.demands = comparison.instance.demands
        self.of = comparison.subject.tenants.of
        self.tenant = tenant
        self.blocking = blocking.copy()
        #: What tenants still have, as parts of the pool.
        self.amounts = self.shares.amounts.copy()
        self.running = comparison.running_jobs
        self.copies = np.array([job.copies for job in self.running], dtype=int)
        self.tasks: Counter[int] = Counter()
        self.jobs: Counter[int] = Counter()
        self._tenant_of = np.array([self.of[next(iter(job.tasks))[0]] for job in self.running])
        if protected is None:
            protected = comparison.subject.preemption.protected
        names = comparison.subject.tenants.names
        is_protected = np.array([str(name) in protected for name in names])
        is_beyond = self.shares.excess > 0
        gives_way = is_beyond & ~is_protected & (np.arange(len(names)) != tenant)
        candidates = (
            np.flatnonzero(gives_way[self._tenant_of]) if self.running else np.zeros(0, int)
        )
        rule = comparison.subject.preemption
        self._lower_only = rule.lower_only or str(names[tenant]) in rule.lower_for
        self._on_server: dict[int, list[int]] = {}
        for k in candidates:
            for i in dict.fromkeys(i for _, i in self.running[k].tasks):
                self._on_server.setdefault(i, []).append(int(k))

    def make_room_for(
        self, jobs: list[tuple[WaitingJob, int]], started: set[str]
    ) -> tuple[int, int]:
        """Return how many tasks and jobs fit once others have gone, of so many of each.

        ``started`` are the jobs that fit without; those that are made room for are added.
        """
        tasks = count = 0
        for job, copies in jobs:
            for _ in range(copies):
                if not job.may_follow(started) or not self.make_room(job):
                    break
                started.add(job.name)
                tasks += job.size
                count += 1
        return tasks, count

    def make_room(self, job: WaitingJob) -> bool:
        """Return whether a job fits once others have gone; those stay that go for nothing."""
        leaving: list[int] = []
        while len(leaving) + self.jobs.total() <= MOST_PREEMPTED:
            placements = self.blocking.place(job)
            if placements is not None:
                for k in self._needless(job, leaving):
                    leaving.remove(k)
                placements = self.blocking.place(job)
                assert placements is not None
                for placement in placements:
                    self.blocking.add(placement)
                for k in leaving:
                    t = int(self._tenant_of[k])
                    self.jobs[t] += 1
                    self.tasks[t] += sum(self.running[k].tasks.values())
                return True
            next_jobs = self._next(job)
            if not next_jobs:
                break
            for k in next_jobs:
                self._take(k)
                leaving.append(k)
        for k in leaving:
            self._take(k, -1)
        return self._by_program(job)

    def _by_program(self, job: WaitingJob) -> bool:
        """Return whether a job fits once others have gone, as a program of whole numbers says.

        Of each tenant the resource counts of which it has most. With quotas there is no program.
        """
        if self.comparison.instance.tree.quotas is not None:
            return False
        candidates = [
            k
            for k in dict.fromkeys(k for of_server in self._on_server.values() for k in of_server)
            if self.copies[k] and not (self._lower_only and not _is_lower(self.running[k], job))
        ]
        leaving = [self.running[k]._replace(copies=int(self.copies[k])) for k in candidates]
        keepings = []
        for t in np.unique(self._tenant_of[candidates]) if candidates else []:
            r = int(self.amounts[t].argmax())
            spare = float(self.amounts[t, r] - self.shares.fair_share[t] * (1 - AUDIT))
            of_tenant = [j for j, k in enumerate(candidates) if self._tenant_of[k] == t]
            keepings.append(Keeping(of_tenant, r, spare))
        packing = self.blocking.pack([job._replace(copies=1)], leaving=leaving, keepings=keepings)
        if packing is None or not packing.copies.any():
            return False
        for k, count in zip(candidates, packing.leaving.tolist(), strict=True):
            for _ in range(count):
                self._take(k)
                t = int(self._tenant_of[k])
                self.jobs[t] += 1
                self.tasks[t] += sum(self.running[k].tasks.values())
        for placement in placements_of(packing):
            self.blocking.add(placement)
        return True

    def _needless(self, job: WaitingJob, leaving: list[int]) -> list[int]:
        """Return the jobs that may stay after all, and put them back."""
        needless: list[int] = []
        if len(leaving) > _MOST_TRIED or (len(leaving) == 1 and job.size == 1):
            return needless
        for k in leaving:
            self._take(k, -1)
            if self.blocking.place(job) is None:
                self._take(k)
            else:
                needless.append(k)
        return needless

    def _take(self, k: int, sign: int = 1) -> None:
        """Take a running job away, or put it back."""
        for (n, i), count in self.running[k].tasks.items():
            self.blocking.add(Placement(n, np.array([i]), np.array([count])), -sign)
            self.amounts[self.of[n]] -= sign * count * self.shares.parts[n]
        self.copies[k] -= sign

    def _next(self, job: WaitingJob) -> list[int]:
        """Return the jobs that give way next, so that one more task fits; empty for none."""
        obstacle = self.blocking.of_job(job)
        if obstacle.kind == "cap":
            below = self.comparison.instance.tree.users_below(obstacle.queue) > 0
            jobs = [
                k
                for on_server in self._on_server.values()
                for k in on_server
                if any(
                    below[n] and self.demands[n, obstacle.resource] > 0
                    for n, _ in self.running[k].tasks
                )
            ]
            k = self._first(list(dict.fromkeys(jobs)), self.amounts, Counter(), job)
            return [] if k is None else [k]
        if obstacle.kind != "resource":
            return []
        best: list[int] = []
        for n in job.tasks:
            servers = self.blocking.servers_of(n)
            demand = self.demands[n]
            demanded = demand > 0
            room = (self.blocking.free[servers][:, demanded] / demand[demanded]).min(axis=1)
            is_full = room < 1 - AUDIT
            if job.one_a_node and not is_full.any():
                continue
            candidates = servers[is_full] if job.one_a_node else servers
            room = room[is_full] if job.one_a_node else room
            tried = 0
            for i in candidates[largest_first(room)].tolist():
                if i not in self._on_server or tried == _MOST_SERVERS:
                    continue
                tried += 1
                leaving = self._leaving(i, n, job)
                if leaving and (not best or len(leaving) < len(best)):
                    best = leaving
            if best:
                return best
        return best

    def _leaving(self, i: int, n: int, job: WaitingJob) -> list[int]:
        """Return jobs that have to go from a server for one more task of a user; empty for none."""
        demand = self.demands[n]
        free = self.blocking.free[i].copy()
        room = int(self.blocking.room(n, np.array([i]))[0])
        amounts = self.amounts.copy()
        gone: Counter[int] = Counter()
        leaving: list[int] = []
        needed = demand * (room + 1)
        while True:
            short = free < needed * (1 - AUDIT)
            if not short.any():
                return leaving
            jobs = [
                k
                for k in self._on_server[i]
                if any(
                    (self.demands[m, short] > 0).any()
                    for m, place in self.running[k].tasks
                    if place == i
                )
            ]
            k = self._first(jobs, amounts, gone, job)
            if k is None:
                return []
            leaving.append(k)
            gone[k] += 1
            for (m, place), count in self.running[k].tasks.items():
                if place == i:
                    free = free + count * self.demands[m]
                amounts[self.of[m]] -= count * self.shares.parts[m]

    def _first(
        self, jobs: list[int], amounts: np.ndarray, gone: Counter[int], job: WaitingJob
    ) -> int | None:
        """Return the job that goes first, where tenants have these amounts; None for none.

        It is of the lowest priority, and then of the tenant that is furthest beyond its fair share.
        No tenant falls below it.
        """
        candidates = []
        for k in jobs:
            running = self.running[k]
            if self.copies[k] <= gone[k]:
                continue
            if self._lower_only and not _is_lower(running, job):
                continue
            t = int(self._tenant_of[k])
            parts = sum(count * self.shares.parts[m] for (m, _), count in running.tasks.items())
            fair = self.shares.fair_share[t]
            if (amounts[t] - parts).max() < fair * (1 - AUDIT):
                continue
            priority = 0.0 if running.priority is None else running.priority
            candidates.append((priority, fair - amounts[t].max(), k))
        return min(candidates)[2] if candidates else None


def _is_lower(running: RunningJob, waiting: WaitingJob) -> bool:
    """Whether a job that runs has a lower priority than one that waits; yes where one has none."""
    if running.priority is None or waiting.priority is None:
        return True
    return running.priority < waiting.priority
