"""The room that there is now for the jobs that tenants are owed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairlp.toolkit import largest_first

from .blocking import (
    Blocking,
    Placement,
    placed_in_turn,
    placements_of,
    tasks_by_server,
)
from .jobs import WaitingJob

if TYPE_CHECKING:
    from .share_comparison import ShareComparison


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
    def fitting(self) -> int:
        """The tasks that fit now."""
        return sum(copies * job.size for copies, job in zip(self.placed, self.jobs, strict=True))

    @property
    def missing(self) -> list[WaitingJob]:
        """The jobs that do not fit, or not all copies of them."""
        return [
            job for job, copies in zip(self.jobs, self.placed, strict=True) if copies < job.copies
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
