"""What a simulation answers: time series, jobs, users."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .engine import Engine
from .workload import Workload


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """A simulated run.

    Attributes
    ----------
    policy : str
    workload : Workload
    utilization : DataFrame
        Fraction of each resource of the pool in use, by sample time [s].
    shares : DataFrame
        Dominant share of each user (slots: of all slots), by sample time.
    queued, running : DataFrame
        Tasks that wait and that run, by sample time and user.
    jobs : DataFrame
        By job: ``user``, ``arrival``, ``tasks``, ``start`` (of the first task), ``finish`` (of the last; NaN when it
        did not end), ``completion`` (finish − arrival) [s], ``refused`` (a task fits no server, even an empty one).
    users : DataFrame
        By user: tasks ``submitted``, ``completed``, and their ``ratio``.
    decisions : int
        How often a server was looked for.
    """

    policy: str
    workload: Workload
    utilization: pd.DataFrame
    shares: pd.DataFrame
    queued: pd.DataFrame
    running: pd.DataFrame
    jobs: pd.DataFrame
    users: pd.DataFrame
    decisions: int

    @classmethod
    def of(cls, engine: Engine, workload: Workload, resources: tuple[Any, ...]) -> SimulationResult:
        """Return the answer of an engine that has come to its end."""
        times = pd.Index(engine.log.times, name="time")
        people = pd.Index(workload.users, name="user")

        def table(rows: list[np.ndarray], columns: Any) -> pd.DataFrame:
            return pd.DataFrame(np.array(rows).reshape(len(times), -1), index=times, columns=columns)

        jobs = workload.jobs[["user", "arrival", "tasks"]].copy()
        jobs["start"], jobs["finish"] = engine.start, engine.finish
        jobs["completion"] = jobs["finish"] - jobs["arrival"]
        jobs["refused"] = np.isin(np.arange(len(jobs)), engine.refused)
        submitted = np.bincount(engine.user[: engine.next_job], engine.tasks[: engine.next_job], minlength=len(people))
        users = pd.DataFrame({"submitted": submitted.astype(np.int64), "completed": engine.done}, index=people)
        users["ratio"] = users["completed"] / users["submitted"].where(users["submitted"] > 0)
        return cls(
            engine.policy,
            workload,
            table(engine.log.used, pd.Index(resources, name="resource")),
            table(engine.log.shares, people),
            table(engine.log.waiting, people),
            table(engine.log.running, people),
            jobs,
            users,
            engine.decisions,
        )

    def mean_utilization(self) -> pd.Series[float]:
        """Return the mean over time of the fraction of each resource in use."""
        return self.utilization.mean()

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write every table as CSV into a folder, and return the files."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name in ("utilization", "shares", "queued", "running", "jobs", "users"):
            path = folder / f"{name}.csv"
            getattr(self, name).to_csv(path)
            written.append(path)
        return written

    def __repr__(self) -> str:
        used = ", ".join(f"{r} {u:.1%}" for r, u in self.mean_utilization().items())
        done, all_tasks = int(self.users["completed"].sum()), int(self.users["submitted"].sum())
        return f"<SimulationResult by {self.policy}: {done} of {all_tasks} tasks completed; mean utilization {used}>"
