"""``Result``: one row a run, and what papers print of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...errors import UnknownNameError, nearest, require_known
from ...models.files.whole_files import home
from . import storage
from .checks import points_of
from .definition import Study

#: Figures of a statistic over the runs of a point.
FIGURES = ("mean", "sd", "min", "max", "count")


@dataclass(frozen=True, eq=False)
class Result:
    """What came of a study.

    Attributes
    ----------
    frame : DataFrame
        One row a run, by point and run: ``point`` (its number), its parameters (lists as JSON
        text), ``run``, ``key`` (with the seed and the run, all that the random numbers depend on),
        the statistics, and ``error`` where a run failed and that was recorded.
    definition : dict
        The study as plain data.
    version : str
        The fairlp that made it.
    path : Path or None
    allow_code : bool
        Whether ``study`` may import functions of modules that the definition names.
    """

    frame: pd.DataFrame
    definition: dict[str, Any]
    version: str
    path: Path | None = None
    allow_code: bool = False

    @classmethod
    def read(cls, path: str | Path, *, allow_code: bool = False) -> Result:
        """Return the result in a Parquet file that a study wrote.

        Parameters
        ----------
        path : str or Path
        allow_code : bool
            Let ``study`` import functions of modules that the file names; only for files that you
            trust.

        Returns
        -------
        Result
        """
        place = home(path)
        table, told = storage.read(place)
        return cls.of(table, told, place, allow_code=allow_code)

    @classmethod
    def of(
        cls,
        table: Any,
        told: Mapping[str, Any],
        path: Path | None = None,
        *,
        allow_code: bool = False,
    ) -> Result:
        """Return the result of an Arrow table.

        Parameters
        ----------
        table : pyarrow.Table
            Rows as a study writes them.
        told : mapping
            What the file says of itself: ``definition`` and ``fairlp``.
        path : Path, optional
            The file that it came from.
        allow_code : bool
            As of :meth:`read`.

        Returns
        -------
        Result
        """
        return cls(
            table.to_pandas(ignore_metadata=True),
            told["definition"],
            str(told.get("fairlp")),
            path,
            allow_code,
        )

    @cached_property
    def study(self) -> Study:
        """The study that this is the result of; an error when its functions are in no module, or not allowed."""
        return Study.from_dict(self.definition, allow_code=self.allow_code)

    @cached_property
    def points(self) -> pd.DataFrame:
        """Parameters by point, lists as JSON text."""
        names = storage.parameters(points_of(self.definition["grid"]))
        return self.frame.groupby("point")[names].first()

    @property
    def statistics(self) -> list[str]:
        """Columns of the statistics."""
        return storage.statistics_in(list(self.frame.columns))

    @property
    def failed(self) -> pd.DataFrame:
        """The runs that failed."""
        if "error" not in self.frame:
            return self.frame.iloc[:0]
        return self.frame[self.frame["error"].notna()]

    def summary(self) -> pd.DataFrame:
        """Return mean, standard deviation (of a sample), min, max and count of each statistic, by point.

        Runs without the statistic, and those where it is no number (NaN), do not count.

        Returns
        -------
        DataFrame
            Indexed by the point's parameters and ``statistic``.
        """
        columns = {
            name: self._figure(name).stack(future_stack=True)  # noqa: PD013
            for name in FIGURES
        }
        statistics = pd.concat(columns, axis=1)
        statistics.index = statistics.index.set_names([*statistics.index.names[:-1], "statistic"])
        return statistics

    def table(
        self, columns: Mapping[str, str | Sequence[str]] | Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Return a table for a paper: one row a point.

        Parameters
        ----------
        columns : mapping or sequence of str, optional
            Statistics, each with the figures to show (``mean``, ``sd``, ``min``, ``max``,
            ``count``); by default the mean and standard deviation of all.

        Returns
        -------
        DataFrame
            Columns: (statistic, figure).

        Raises
        ------
        UnknownNameError
            For a statistic or a figure that there is not.

        Examples
        --------
        >>> from fairlp import study
        >>> experiment = study.Study("a", "uniform-integers", {"users": [4, 8], "resources": [2]}, ["drf"], runs=5)
        >>> result = experiment.run(progress=False)
        >>> result.table({"summary.drf.tasks": ["mean", "sd"], "summary.drf.used_resource1": "max"}).columns.tolist()
        [('summary.drf.tasks', 'mean'), ('summary.drf.tasks', 'sd'), ('summary.drf.used_resource1', 'max')]
        """
        known = self.statistics
        columns = known if columns is None else [columns] if isinstance(columns, str) else columns
        wanted = columns if isinstance(columns, Mapping) else dict.fromkeys(columns, ("mean", "sd"))
        found = {}
        for statistic, figures in wanted.items():
            require_known(statistic, known, f"the result has no statistic {statistic!r}")
            for figure in [figures] if isinstance(figures, str) else figures:
                require_known(figure, FIGURES, f"there is no figure {figure!r}")
                found[statistic, figure] = self._figure(figure)[statistic]
        made = pd.DataFrame(found)
        made.columns = pd.MultiIndex.from_tuples(found, names=["statistic", "figure"])
        return made

    def plot(self, statistics: str | Sequence[str], x: str | None = None, *, ax: Any = None) -> Any:
        """Draw means over the runs, with their standard errors, against a parameter.

        Parameters
        ----------
        statistics : str or sequence of str
            Columns of the result; ``"jain"`` is all that begin with ``jain.``, one for each
            mechanism.
        x : str, optional
            The parameter across; by default the first that varies. Each combination of others has
            its own curves.
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        UnknownNameError
            For a statistic or a parameter that there is not.
        """
        from ...plots.profiles import plot_means

        known, points = self.statistics, self.points
        wanted = [statistics] if isinstance(statistics, str) else list(statistics)
        names = []
        for one in wanted:
            own = [name for name in known if name == one or name.startswith(f"{one}.")]
            names += own
            if not own:
                raise UnknownNameError(
                    f"the result has no statistic {one!r}; {nearest(one, known)}"
                )
        varying = [str(name) for name in points if len(points[name].unique()) > 1]
        across = x if x is not None else next(iter([*varying, *map(str, points)]), None)
        if across not in points:
            raise UnknownNameError(
                f"the study has no parameter {across!r}; {nearest(str(across), list(points))}"
            )
        others = [name for name in varying if name != across]
        means = {}
        errors = {}
        for values, runs in self.frame.groupby(others) if others else [((), self.frame)]:
            of = [f"{name} {value}" for name, value in zip(others, values, strict=True)]
            groups = runs.groupby(across)[names]
            for name in names:
                label = ", ".join([name, *of])
                means[label], errors[label] = groups.mean()[name], groups.sem()[name]
        return plot_means(pd.DataFrame(means), pd.DataFrame(errors), ", ".join(wanted), ax=ax)

    def _figure(self, name: str) -> pd.DataFrame:
        """Return one figure of all statistics, points × statistics."""
        with np.errstate(
            invalid="ignore", over="ignore"
        ):  # infinite numbers have no standard deviation
            groups = self.frame.groupby("point")[self.statistics]
            made = groups.std() if name == "sd" else groups.agg(name)
        points = self.points
        made = made.reindex(points.index)  # no statistic, no rows: every run has failed
        if points.shape[1]:
            made.index = (
                pd.MultiIndex.from_frame(points)
                if points.shape[1] > 1
                else pd.Index(points.iloc[:, 0])
            )
        return made

    def __repr__(self) -> str:
        points, statistics = self.frame["point"].nunique(), len(self.statistics)
        failed = f", {len(self.failed)} failed" if len(self.failed) else ""
        return (
            f"<Result of {self.definition['name']!r}: {len(self.frame)} runs of {points} "
            f"points{failed}, "
            f"{statistics} statistics, fairlp {self.version}>"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.summary().to_html(max_rows=40)}"
