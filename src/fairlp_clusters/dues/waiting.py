"""What waits of a tenant: how many jobs have room now, and what stops the next one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .jobs import WaitingJob
from .room import Obstacle, Placement, Room, placed_in_turn

#: So many kinds of jobs of one tenant are tried, in the scheduler's order.
_MOST_KINDS = 100
#: What the scheduler of Kubernetes says of a pod: no node takes it, and so many for each reason.
NO_NODE = re.compile(r"^0/(\d+) nodes are available: (.*?)(?:\.? preemption:|$)")


@dataclass(frozen=True)
class Waiting:
    """The jobs of a tenant that wait.

    Attributes
    ----------
    jobs, tasks : int
    since : str
        When the first of them was submitted; empty where it is not known.
    messages, left_out : Counter
        Tasks by what the scheduler says of them, and by the constraints that do not count here.
    fitting_jobs, fitting_tasks : int
        Jobs and tasks that have room now, beside what runs.
    servers : dict of {int: int}
        Tasks that fit by server, most first.
    job, obstacle : WaitingJob and Obstacle, or None
        The first job that has no room, and what stops it; no obstacle where only the scheduler says
        that no node takes it.
    """

    jobs: int = 0
    tasks: int = 0
    since: str = ""
    messages: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    fitting_jobs: int = 0
    fitting_tasks: int = 0
    servers: dict[int, int] = field(default_factory=dict)
    job: WaitingJob | None = None
    obstacle: Obstacle | None = None


def waiting_of(
    room: Room, jobs: Sequence[WaitingJob], owed_copies: Sequence[int], node_count: int
) -> Waiting:
    """Return what waits of one tenant; the copies that it is owed have their turn first."""
    messages, left_out = words_of(jobs)
    counted = list(zip(jobs, owed_copies, strict=True))
    owed = [job._replace(copies=copies) for job, copies in counted if copies]
    others = [
        job._replace(copies=job.copies - copies) for job, copies in counted if job.copies > copies
    ]
    tried = [*owed, *sorted(others, key=in_turn)[:_MOST_KINDS]]
    is_open = [not says_no_node(job.message, node_count) for job in tried]
    placements: list[Placement] = []
    fitting = [0] * len(tried)
    beside = room
    may_fit = [job if is_open[k] else job._replace(copies=0) for k, job in enumerate(tried)]
    for turn in placed_in_turn(room, may_fit):
        fitting[turn.position] = turn.copies
        placements += turn.placements
        beside = turn.room
    stopped = [k for k, job in enumerate(tried) if fitting[k] < job.copies]
    job = tried[stopped[0]] if stopped else None
    obstacle = None
    if job is not None and (is_open[stopped[0]] or beside.place(job) is None):
        obstacle = beside.obstacle(job)
    by_server: Counter[int] = Counter()
    for placement in placements:
        pairs = zip(placement.servers.tolist(), placement.tasks.tolist(), strict=True)
        by_server.update(dict(pairs))
    return Waiting(
        jobs=int(sum(job.copies for job in jobs)),
        tasks=int(sum(job.copies * job.size for job in jobs)),
        since=min((job.since for job in jobs if job.since), default=""),
        messages=messages,
        left_out=left_out,
        fitting_jobs=sum(fitting),
        fitting_tasks=sum(job.size * count for job, count in zip(tried, fitting, strict=True)),
        servers=dict(by_server.most_common()),
        job=job,
        obstacle=obstacle,
    )


def says_no_node(message: str, node_count: int) -> bool:
    """Whether the scheduler's counts cover all nodes: none of them takes the pod.

    >>> says_no_node("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had taint {a: b}.", 2)
    True
    >>> says_no_node("0/2 nodes are available: 1 Insufficient cpu.", 2), says_no_node("", 2)
    (False, False)
    """
    match = NO_NODE.match(message)
    if match is None or int(match[1]) < node_count:
        return False
    counts = [reason.split()[0] for reason in match[2].split(", ") if reason]
    return sum(int(count) for count in counts if count.isdigit()) >= int(match[1])


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
