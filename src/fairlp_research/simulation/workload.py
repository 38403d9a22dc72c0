"""Workloads over time: jobs of many tasks, each with a demand, a duration and allowed servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlp import Instance
from fairlp.errors import InstanceError, quoted
from fairlp.toolkit import as_numbers, csv_text, home, read_table, write_text

#: Columns of a table of jobs that are not demands.
COLUMNS = ("job", "user", "arrival", "tasks", "duration", "eligible")


@dataclass(frozen=True, eq=False)
class Workload:
    """Jobs in order of arrival, from :meth:`of`, :meth:`read_csv` or ``simulation.generators``.

    Attributes
    ----------
    jobs : DataFrame
        Indexed by job: ``user``, ``arrival`` and ``duration`` (seconds; of every task of the job),
        ``tasks``, and a column of the amount per task for each resource; ``eligible`` (a condition
        on server attributes) if any.
    resources : tuple
        Labels of the resources demanded.
    users : tuple
        Labels in order of first arrival.
    """

    jobs: pd.DataFrame
    resources: tuple[Any, ...]
    users: tuple[Any, ...]

    @classmethod
    def of(cls, jobs: pd.DataFrame, resources: Sequence[Any]) -> Workload:
        """Return a workload from a table of jobs, checked.

        Parameters
        ----------
        jobs : DataFrame
            Columns ``user``, ``arrival``, ``tasks``, ``duration`` and one for each resource;
            optionally ``job`` (label; by default a number) and ``eligible``.
        resources : sequence of labels

        Returns
        -------
        Workload

        Raises
        ------
        InstanceError
            For a missing column, or a value that is not a number, negative, or not finite; the job
            is named.
        """
        table = jobs.copy()
        if "job" in table.columns:
            table = table.set_index("job")
        missing = [
            name
            for name in ("user", "arrival", "tasks", "duration", *resources)
            if name not in table.columns
        ]
        if missing:
            raise InstanceError(
                f"jobs have no column {quoted(missing[0])}; columns: {list(map(str, table.columns))}"
            )
        if table.empty:
            raise InstanceError("there are no jobs; expected at least one row")
        if table.index.has_duplicates:
            raise InstanceError(
                f"job {quoted(table.index[table.index.duplicated()][0])} is there twice"
            )
        for name in ("arrival", "tasks", "duration", *resources):
            values = as_numbers(table[name]).to_numpy(dtype=float)
            bad = np.flatnonzero(~np.isfinite(values) | (values < 0))
            if bad.size:
                job = table.index[bad[0]]
                value = str(table[name].iloc[bad[0]])[:80]
                raise InstanceError(
                    f"job {quoted(job)} has {name} {value}; expected a number, not negative"
                )
            table[name] = values
        tasks = table["tasks"]
        for refused, problem in (
            (table["user"].isna(), "has no user; expected the user's name"),
            ((tasks % 1 != 0) | (tasks >= 2**53), "has no whole number of tasks below 2^53"),
            (~(table[list(resources)] > 0).any(axis=1), "has tasks that demand nothing"),
        ):
            for job in table.index[refused][:1]:
                raise InstanceError(f"job {quoted(job)} {problem}")
        table["tasks"] = table["tasks"].astype(np.int64)
        table = table.iloc[np.argsort(table["arrival"].to_numpy(), kind="stable")]
        return cls(table, tuple(resources), tuple(dict.fromkeys(table["user"])))

    @classmethod
    def read_csv(cls, path: str | Path, resources: Sequence[str] | None = None) -> Workload:
        """Read jobs from CSV, with the columns of :meth:`of`.

        Every other column is a resource, unless ``resources`` are named.

        Parameters
        ----------
        path : str or Path
        resources : sequence of str, optional
            Columns that are resources.

        Returns
        -------
        Workload

        Raises
        ------
        FileFormatError, InstanceError
        """
        table = read_table(home(path), {"user": str, "job": str, "eligible": str})
        named = (
            [c for c in table.columns if c not in COLUMNS] if resources is None else list(resources)
        )
        return cls.of(table, named)

    def to_csv(self, path: str | Path) -> None:
        """Write the jobs; :meth:`read_csv` gives them back.

        Parameters
        ----------
        path : str or Path
        """
        write_text(home(path), csv_text(self.jobs.rename_axis("job")))

    @property
    def total_tasks(self) -> int:
        """Number of tasks of all jobs."""
        return int(self.jobs["tasks"].sum())

    def scaled(
        self,
        *,
        arrival: float = 1.0,
        duration: float = 1.0,
        demands: Mapping[Any, float] | None = None,
    ) -> Workload:
        """Return the workload with times or demands multiplied.

        It is more load, or the same load in other units.

        Parameters
        ----------
        arrival, duration : float
            Factors of times of arrival and of durations.
        demands : mapping, optional
            Factors by resource; 1 where not named.

        Returns
        -------
        Workload
        """
        table = self.jobs.copy()
        table["arrival"] *= arrival
        table["duration"] *= duration
        for resource, factor in (demands or {}).items():
            table[resource] *= factor
        return Workload(table, self.resources, self.users)

    def window(self, start: float, stop: float = np.inf) -> Workload:
        """Return the jobs that arrive in [``start``, ``stop``), with times from ``start`` on.

        Parameters
        ----------
        start, stop : float
            Seconds.

        Returns
        -------
        Workload

        Raises
        ------
        InstanceError
            When no job arrives then.
        """
        arrival = self.jobs["arrival"]
        return self._part(
            (arrival >= start) & (arrival < stop), f"from {start:g} s to {stop:g} s", start
        )

    def only(self, user: Any) -> Workload:
        """Return the jobs of one user.

        Parameters
        ----------
        user : str or int

        Returns
        -------
        Workload

        Raises
        ------
        InstanceError
            When the user has no job.
        """
        return self._part(self.jobs["user"] == user, f"of user {quoted(user)}")

    def _part(self, which: pd.Series[bool], subject: str, start: float = 0.0) -> Workload:
        table = self.jobs[which].copy()
        if table.empty:
            raise InstanceError(f"there are no jobs {subject}; expected at least one")
        table["arrival"] -= start
        return Workload(table, self.resources, tuple(dict.fromkeys(table["user"])))

    def load(self, cluster: Instance, seconds: float) -> pd.Series[float]:
        """Return all jobs' work by resource, as a fraction of the cluster's in so many seconds.

        Above 1, not everything can be done in that time, whatever the policy.

        Parameters
        ----------
        cluster : Instance
        seconds : float

        Returns
        -------
        Series
            By resource.
        """
        offered = pd.Series(cluster.pool, index=list(cluster.resources))[list(self.resources)]
        work = self.jobs["tasks"] * self.jobs["duration"]
        return self.jobs[list(self.resources)].mul(work, axis="index").sum() / (offered * seconds)

    def __repr__(self) -> str:
        return (
            f"<Workload: {len(self.jobs)} jobs, {self.total_tasks} tasks, {len(self.users)} users>"
        )
