"""Jobs: tasks that run at once or not at all, of one user or of several."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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


def jobs_that_wait(instance: Instance, waiting: np.ndarray) -> list[WaitingJob]:
    """Return the jobs of an instance, of which so many tasks wait."""
    return [
        WaitingJob("", {n: int(size)}, np.floor(waiting[n] / size))
        for n, size in enumerate(instance.job_sizes)
        if waiting[n] >= size
    ]


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


def of_users(jobs: list[WaitingJob], users: np.ndarray) -> list[WaitingJob]:
    """Return what jobs have of some users, whose positions are counted anew."""
    position = {int(n): k for k, n in enumerate(users)}
    remaining = []
    for job in jobs:
        tasks = {position[n]: count for n, count in job.tasks.items() if n in position}
        if tasks:
            remaining.append(job._replace(tasks=tasks))
    return remaining
