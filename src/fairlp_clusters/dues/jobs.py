"""Jobs: tasks that run at once or not at all, of one user or of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairlp import Instance
from fairlp.toolkit import tolerances

#: What counts as a part of a task by rounding only.
AUDIT = tolerances.AUDIT


class WaitingJob(NamedTuple):
    """A job that waits, or several equal ones.

    Attributes
    ----------
    name : str
        Empty where each task is a job by itself.
    tasks : mapping
        Tasks of one job, by position of the user.
    copies : float
        The number of equal jobs that wait; infinite where it is not known.
    one_a_node : bool
        Whether each of its tasks needs a node of its own.
    since : str or None
    priority : float or None
    message : str
        What the scheduler itself says of it.
    left_out : str
        The constraints of the dump that do not count here.
    after : str
        The job that has to start before it or with it; empty for none.
    """

    name: str
    tasks: Mapping[int, int]
    copies: float = 1
    one_a_node: bool = False
    since: str | None = None
    priority: float | None = None
    message: str = ""
    left_out: str = ""
    after: str = ""

    def may_follow(self, started: Collection[str]) -> bool:
        """Whether the job that has to start first is among those that start."""
        return not self.after or self.after in started

    @property
    def size(self) -> int:
        """Tasks of one job."""
        return sum(self.tasks.values())

    def parts(self, parts: np.ndarray) -> np.ndarray:
        """Return the part of the pool that one job takes, by resource."""
        return np.asarray(sum(count * parts[n] for n, count in self.tasks.items()))


class RunningJob(NamedTuple):
    """A job that runs, or several equal ones of one task: tasks by user and server."""

    name: str
    tasks: Mapping[tuple[int, int], int]
    copies: int = 1
    priority: float | None = None


def jobs_that_wait(instance: Instance, waiting: np.ndarray) -> list[WaitingJob]:
    """Return the jobs of an instance, of which so many tasks wait."""
    return [
        WaitingJob("", {n: int(size)}, np.floor(waiting[n] / size))
        for n, size in enumerate(instance.job_sizes)
        if waiting[n] >= size
    ]


def jobs_that_run(
    instance: Instance, tasks: np.ndarray, known: Iterable[RunningJob] = ()
) -> list[RunningJob]:
    """Return jobs that run: the known ones, and the other tasks by the job sizes of their users.

    A job takes the next tasks of its user, server by server.
    """
    jobs = list(known)
    remaining = np.floor(tasks + 0.5).astype(int)
    for job in jobs:
        for (n, i), count in job.tasks.items():
            remaining[n, i] -= count * job.copies
    for n, i in np.argwhere(remaining > 0).tolist():
        size = int(instance.job_sizes[n])
        if size == 1:
            jobs.append(RunningJob("", {(n, i): 1}, int(remaining[n, i])))
            continue
        while remaining[n].max() > 0:
            job_tasks: Counter[tuple[int, int]] = Counter()
            for k in np.flatnonzero(remaining[n] > 0).tolist():
                count = min(int(remaining[n, k]), size - job_tasks.total())
                remaining[n, k] -= count
                job_tasks[n, k] += count
                if job_tasks.total() == size:
                    break
            jobs.append(RunningJob("", job_tasks))
    return jobs


def waiting_from(table: pd.DataFrame, users: Sequence[object]) -> list[WaitingJob]:
    """Return the jobs of a snapshot's table of jobs that wait."""
    position = {user: n for n, user in enumerate(users)}
    jobs = []
    by_name: dict[str, dict[int, int]] = {}
    row: Any
    for row in table.itertuples(index=False):
        n = position[row.user]
        common = (row.jobs, row.one_a_node, row.since, row.priority, row.message, row.left_out)
        if row.job and row.job in by_name:  # another user of the same job
            by_name[row.job][n] = row.tasks
            continue
        tasks = {n: row.tasks}
        if row.job:
            by_name[row.job] = tasks
        jobs.append(WaitingJob(row.job, tasks, *common, row.after))
    return jobs


def running_from(
    table: pd.DataFrame, users: Sequence[object], servers: Sequence[object]
) -> list[RunningJob]:
    """Return the jobs of a snapshot's table of jobs that run."""
    user_position = {user: n for n, user in enumerate(users)}
    server_position = {server: i for i, server in enumerate(servers)}
    jobs = []
    by_name: dict[str, dict[tuple[int, int], int]] = {}
    row: Any
    for row in table.itertuples(index=False):
        pair = user_position[row.user], server_position[row.server]
        if not row.job:
            jobs.append(RunningJob("", {pair: 1}, row.tasks, row.priority))
        elif row.job in by_name:
            tasks = by_name[row.job]
            tasks[pair] = tasks.get(pair, 0) + row.tasks  # nodes may stand together as one server
        else:
            by_name[row.job] = {pair: row.tasks}
            jobs.append(RunningJob(row.job, by_name[row.job], 1, row.priority))
    return jobs


def of_users(jobs: list[WaitingJob], users: np.ndarray) -> list[WaitingJob]:
    """Return what jobs have of some users, whose positions are counted anew."""
    position = {int(n): k for k, n in enumerate(users)}
    remaining = []
    for job in jobs:
        tasks = {position[n]: count for n, count in job.tasks.items() if n in position}
        if tasks:
            remaining.append(job._replace(tasks=tasks))
    return remaining
