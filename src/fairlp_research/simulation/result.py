"""What a simulation answers: time series, jobs, users."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlp.toolkit import csv_text, home, write_text

from .base import Simulation
from .workload import Workload

#: Tables of a result, by the names of its attributes.
TABLES = ("utilization", "usage", "shares", "queued", "running", "jobs", "users")


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """A simulated run.

    Attributes
    ----------
    policy : str
    workload : Workload
    utilization : DataFrame
        Fraction of each resource of the pool in use, by sample time [s].
    usage : DataFrame
        Fraction of each resource of the pool that each user takes; columns (user, resource).
    shares : DataFrame
        Dominant share of each user (slots: of all slots), by sample time.
    queued, running : DataFrame
        Tasks that wait and that run, by sample time and user. Of divisible tasks parts run; those
        of jobs that have not ended and do not run, wait.
    jobs : DataFrame
        By job that has arrived: ``user``, ``arrival``, ``tasks``, ``start`` (of the first task),
        ``finish`` (of the last; NaN when it did not end), ``completion`` (finish − arrival) [s],
        ``refused`` (a task fits no server, even an empty one).
    users : DataFrame
        By user: tasks ``submitted``, ``completed``, and their ``ratio``. Of divisible tasks, half
        the work of a job counts as half its tasks.
    decisions : int
        How often a server was looked for, or the cluster shared.
    """

    policy: str
    workload: Workload
    utilization: pd.DataFrame
    usage: pd.DataFrame
    shares: pd.DataFrame
    queued: pd.DataFrame
    running: pd.DataFrame
    jobs: pd.DataFrame
    users: pd.DataFrame
    decisions: int

    @classmethod
    def of(
        cls, simulation: Simulation, workload: Workload, resources: tuple[Any, ...]
    ) -> SimulationResult:
        """Return the answer of a simulation that has come to its end.

        Parameters
        ----------
        simulation : Simulation
            At its end.
        workload : Workload
            What ran.
        resources : tuple of labels

        Returns
        -------
        SimulationResult
        """
        times = pd.Index(simulation.times, name="time")
        people = pd.Index(workload.users, name="user")

        def series(name: str, columns: pd.Index) -> pd.DataFrame:
            values = np.array([getattr(sample, name) for sample in simulation.samples]).reshape(
                len(times), -1
            )
            return pd.DataFrame(values, index=times, columns=columns)

        came = slice(simulation.next_job)
        jobs = workload.jobs[["user", "arrival", "tasks"]].iloc[came].copy()
        jobs["start"], jobs["finish"] = simulation.start[came], simulation.finish[came]
        jobs["completion"] = jobs["finish"] - jobs["arrival"]
        jobs["refused"] = np.isin(np.arange(len(jobs)), simulation.refused)
        submitted = np.bincount(
            simulation.user[came], simulation.tasks[came], minlength=len(people)
        )
        users = pd.DataFrame(
            {"submitted": submitted.astype(np.int64), "completed": simulation.completed()}, people
        )
        users["ratio"] = users["completed"] / users["submitted"].where(users["submitted"] > 0)
        return cls(
            policy=simulation.policy,
            workload=workload,
            utilization=series("used", pd.Index(resources, name="resource")),
            usage=series(
                "usage", pd.MultiIndex.from_product([people, resources], names=["user", "resource"])
            ),
            shares=series("shares", people),
            queued=series("waiting", people),
            running=series("running", people),
            jobs=jobs,
            users=users,
            decisions=simulation.decisions,
        )

    def mean_utilization(self) -> pd.Series[float]:
        """Return the mean over time of the fraction of each resource in use.

        Returns
        -------
        Series
            By resource.
        """
        return self.utilization.mean()

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write every table as CSV into a folder, and return the files.

        Parameters
        ----------
        folder : str or Path
            Made when it is not there.

        Returns
        -------
        list of Path
            One file a table.
        """
        folder = home(folder)
        folder.mkdir(parents=True, exist_ok=True)
        return [
            write_text(folder / f"{name}.csv", csv_text(getattr(self, name))) for name in TABLES
        ]

    def __repr__(self) -> str:
        used = ", ".join(f"{r} {u:.1%}" for r, u in self.mean_utilization().items())
        completed = round(self.users["completed"].sum())
        all_tasks = int(self.users["submitted"].sum())
        return (
            f"<SimulationResult by {self.policy}: {completed} of {all_tasks} tasks completed; mean "
            f"utilization {used}>"
        )
