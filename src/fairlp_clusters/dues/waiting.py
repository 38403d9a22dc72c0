"""What waits, by tenant: how many jobs have room now, and what stops the next one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .blocking import Obstacle, Placement, placed_in_turn, tasks_by_server
from .jobs import WaitingJob

if TYPE_CHECKING:
    from .share_comparison import ShareComparison

#: So many kinds of jobs of one tenant are tried, in the scheduler's order.
_MOST_KINDS = 100


@dataclass
class WaitingSummary:
    """The jobs of a tenant that wait.

    Attributes
    ----------
    tenant : int
    jobs, tasks : int
    fitting_jobs, fitting : int
        Jobs and tasks that have room now, beside what runs.
    servers : dict of {int: int}
        Tasks that fit by server, most first.
    job, obstacle : WaitingJob and Obstacle, or None
        The first job that has no room, and what stops it.
    since : str
        When the first of them was submitted; empty where it is not known.
    priority : float
        The highest; NaN where none is known.
    remaining_share : float
        What the tenant has left of its fair share, as a part of the pool.
    is_beyond_fair : bool
        Whether that job needs more than that.
    messages, left_out : Counter
        Tasks by what the scheduler says of them, and by the constraints that do not count here.
    """

    tenant: int
    jobs: int = 0
    tasks: int = 0
    fitting_jobs: int = 0
    fitting: int = 0
    servers: dict[int, int] = field(default_factory=dict)
    job: WaitingJob | None = None
    obstacle: Obstacle | None = None
    since: str = ""
    priority: float = float("nan")
    remaining_share: float = 0.0
    is_beyond_fair: bool = False
    messages: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def fits_nowhere(self) -> bool:
        """Whether no job has room, and no servers could ever take the next one."""
        kind = "" if self.obstacle is None else self.obstacle.kind
        return kind == "nowhere" and not self.fitting_jobs


def summaries(comparison: ShareComparison) -> dict[int, WaitingSummary]:
    """Return what waits of each tenant of whom something does, those with most jobs first."""
    tenants = comparison.subject.tenants
    jobs_of: dict[int, list[WaitingJob]] = {}
    for job in comparison.waiting_jobs:
        if np.isfinite(job.copies) and job.copies:
            jobs_of.setdefault(tenants.of_job(job), []).append(job)
    parts = comparison.tenant_shares.parts

    def share(t: int) -> float:
        return -sum(float(job.copies * job.parts(parts).max()) for job in jobs_of[t])

    return {t: _summary(comparison, t, jobs_of[t]) for t in sorted(jobs_of, key=share)}


def _summary(comparison: ShareComparison, t: int, jobs: list[WaitingJob]) -> WaitingSummary:
    """Return what waits of one tenant."""
    shares = comparison.tenant_shares
    summary = WaitingSummary(t)
    summary.jobs = int(sum(job.copies for job in jobs))
    summary.tasks = int(sum(job.copies * job.size for job in jobs))
    summary.messages, summary.left_out = words_of(jobs)
    summary.remaining_share = max(float(shares.fair_share[t] - shares.share[t]), 0.0)
    summary.since = min((job.since for job in jobs if job.since), default="")
    priorities = [job.priority for job in jobs if job.priority is not None]
    summary.priority = max(priorities, default=float("nan"))
    placements: list[Placement] = []
    tried = sorted(jobs, key=in_turn)[:_MOST_KINDS]
    for position, of_job, copies, beside in placed_in_turn(comparison.blocking, tried):
        job = tried[position]
        if copies < job.copies and summary.job is None:
            summary.job = job
            summary.obstacle = beside.of_job(job)
            needed = float(job.parts(shares.parts).max())
            summary.is_beyond_fair = needed > summary.remaining_share
        summary.fitting_jobs += copies
        summary.fitting += copies * job.size
        placements += of_job
    by_server = tasks_by_server(placements)
    summary.servers = {i: count for i, count in by_server.most_common() if count}
    return summary


def in_turn(job: WaitingJob) -> tuple[bool, float, str, int]:
    """Return the key of the scheduler's order: the highest priority, then the longest wait.

    Jobs that follow others come last.
    """
    priority = 0.0 if job.priority is None else job.priority
    return bool(job.after), -priority, job.since or "~", job.size


def words_of(jobs: Iterable[WaitingJob]) -> tuple[Counter[str], Counter[str]]:
    """Return tasks by what the scheduler says of them, and by the constraints left out."""
    messages: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for job in jobs:
        count = int(min(job.copies, 2**53)) * job.size
        if job.message:
            messages[job.message] += count
        for constraint in filter(None, job.left_out.split(", ")):
            left_out[constraint] += count
    return messages, left_out
