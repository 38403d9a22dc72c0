"""``Result``: one row a run, its Parquet file, and the tables and figures of papers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlp.errors import FileFormatError, StudyError, UnknownNameError, nearest, require_known
from fairlp.toolkit import drafts, home, opened, require_folder

from ..runner import need
from .checks import RESERVED, points_of
from .definition import Study
from .functions import Plain, key_of, plain

#: Figures of a statistic over the runs of a point.
FIGURES = ("mean", "sd", "min", "max", "count")
#: Key in the metadata of a Parquet file, of a JSON object: ``definition`` and ``fairlp``.
METADATA = b"fairlp_research.study"


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a study.

    Attributes
    ----------
    frame : DataFrame
        One row a run, by point and run: ``point`` (its number), its parameters (lists as JSON
        text), ``run``, ``key`` (with the seed and the run, all that the random numbers depend on),
        the statistics, and ``error`` where a run failed and that was recorded.
    definition : dict
        The study as plain data.
    version : str
        The fairlp that did the runs.
    path : Path or None
        The file that it was read from.
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
        """Return the result in a Parquet file that :meth:`write` wrote.

        Parameters
        ----------
        path : str or Path
        allow_code : bool
            Let ``study`` import functions of modules that the file names; only for files that you
            trust.

        Returns
        -------
        Result

        Raises
        ------
        FileFormatError
            For a file that is not there, is damaged, or holds something else.
        """
        target = home(path)
        frame, header = _frame_and_header(target)
        return cls(frame, header["definition"], str(header.get("fairlp")), target, allow_code)

    def write(self, path: str | Path) -> Path:
        """Write a Parquet file for :meth:`read` and other tools, with the study in its metadata.

        Parameters
        ----------
        path : str or Path
            A ``.parquet`` file. A file of this name stays whole until the new one takes its place.

        Returns
        -------
        Path
            The file written.

        Raises
        ------
        FileFormatError
            For another ending of the name, and a folder that is not there.
        """
        pyarrow = need("pyarrow")
        parquet = need("pyarrow.parquet")
        target = checked_path(path)
        header = {"definition": self.definition, "fairlp": self.version}
        table = pyarrow.Table.from_pandas(self.frame, preserve_index=False)
        with drafts(target) as [draft]:
            parquet.write_table(
                table.replace_schema_metadata({METADATA: json.dumps(header)}), draft
            )
        return target

    @cached_property
    def study(self) -> Study:
        """Study of this result.

        It raises an error where the study's functions are in no module, or not allowed.
        """
        return Study.from_dict(self.definition, allow_code=self.allow_code)

    @cached_property
    def points(self) -> pd.DataFrame:
        """Parameters by point, lists as JSON text."""
        names = parameters_of(points_of(self.definition["grid"]))
        return self.frame.groupby("point")[names].first()

    @property
    def statistics(self) -> list[str]:
        """Columns of the statistics."""
        return _statistics_in(list(self.frame.columns))

    @property
    def failed(self) -> pd.DataFrame:
        """The runs that failed."""
        if "error" not in self.frame:
            return self.frame.iloc[:0]
        return self.frame[self.frame["error"].notna()]

    def summary(self) -> pd.DataFrame:
        """Return mean, sample deviation, min, max and count of each statistic, by point.

        Runs without the statistic, and runs where it is NaN, do not count.

        Returns
        -------
        DataFrame
            Indexed by the point's parameters and ``statistic``.
        """
        columns = {
            name: self._figure(name).stack(future_stack=True)  # noqa: PD013
            for name in FIGURES
        }
        summary = pd.concat(columns, axis=1)
        summary.index = summary.index.set_names([*summary.index.names[:-1], "statistic"])
        return summary

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
            For a statistic or a figure that does not exist.

        Examples
        --------
        >>> from fairlp_research import study
        >>> experiment = study.Study("a", "uniform-integers", {"users": [4, 8], "resources": [2]}, ["drf"], runs=5)
        >>> result = experiment.run(progress=False)
        >>> result.table({"summary.drf.tasks": ["mean", "sd"], "summary.drf.used_resource1": "max"}).columns.tolist()
        [('summary.drf.tasks', 'mean'), ('summary.drf.tasks', 'sd'), ('summary.drf.used_resource1', 'max')]
        """
        statistics = self.statistics
        if columns is None:
            columns = statistics
        elif isinstance(columns, str):
            columns = [columns]
        if not isinstance(columns, Mapping):
            columns = dict.fromkeys(columns, ("mean", "sd"))

        series = {}
        for statistic, figures in columns.items():
            require_known(statistic, statistics, f"the result has no statistic {statistic!r}")
            for figure in [figures] if isinstance(figures, str) else figures:
                require_known(figure, FIGURES, f"there is no figure {figure!r}")
                series[statistic, figure] = self._figure(figure)[statistic]
        table = pd.DataFrame(series)
        table.columns = pd.MultiIndex.from_tuples(series, names=["statistic", "figure"])
        return table

    def plot(
        self, statistics: str | Sequence[str] = "", x: str | None = None, *, ax: Any = None
    ) -> Any:
        """Draw means over the runs, with their standard errors, against a parameter.

        Parameters
        ----------
        statistics : str or sequence of str, optional
            Columns of the result; ``"jain"`` is all that begin with ``jain.``, one for each
            mechanism. By default the first measure, of all mechanisms.
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
            For a statistic or a parameter that does not exist.
        """
        from ..plots import plot_means

        statistics = statistics or next(iter(self.statistics), "").partition(".")[0]
        prefixes = [statistics] if isinstance(statistics, str) else list(statistics)
        columns = [column for prefix in prefixes for column in self._columns_of(prefix)]
        points = self.points
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
            parameters = [f"{name} {value}" for name, value in zip(others, values, strict=True)]
            groups = runs.groupby(across)[columns]
            group_means = groups.mean()
            group_errors = groups.sem()
            for column in columns:
                label = ", ".join([column, *parameters])
                means[label] = group_means[column]
                errors[label] = group_errors[column]
        return plot_means(pd.DataFrame(means), pd.DataFrame(errors), ", ".join(prefixes), ax=ax)

    def _columns_of(self, prefix: str) -> list[str]:
        """Return the statistic of a name, or the statistics whose names begin with it and a dot."""
        statistics = self.statistics
        columns = [
            column for column in statistics if column == prefix or column.startswith(f"{prefix}.")
        ]
        if not columns:
            raise UnknownNameError(
                f"the result has no statistic {prefix!r}; {nearest(prefix, statistics)}"
            )
        return columns

    def _figure(self, name: str) -> pd.DataFrame:
        """Return one figure of all statistics, points × statistics."""
        # Infinite numbers have no standard deviation.
        with np.errstate(invalid="ignore", over="ignore"):
            groups = self.frame.groupby("point")[self.statistics]
            figures = groups.std() if name == "sd" else groups.agg(name)
        points = self.points
        figures = figures.reindex(points.index)  # no statistic, no rows: every run has failed
        if points.shape[1] == 1:
            figures.index = pd.Index(points.iloc[:, 0])
        elif points.shape[1] > 1:
            figures.index = pd.MultiIndex.from_frame(points)
        return figures

    def __repr__(self) -> str:
        n_points = self.frame["point"].nunique()
        n_failed = len(self.failed)
        failed = f", {n_failed} failed" if n_failed else ""
        return (
            f"<Result of {self.definition['name']!r}: {len(self.frame)} runs of {n_points} "
            f"points{failed}, {len(self.statistics)} statistics, fairlp {self.version}>"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.summary().to_html(max_rows=40)}"


def parameters_of(points: Iterable[Plain]) -> list[str]:
    """Return the names of all parameters, in the order of their first appearance."""
    return list(dict.fromkeys(name for point in points for name in point))


def checked_path(path: str | Path) -> Path:
    """Return the path of a Parquet file, when it can be written."""
    target = home(path)
    if target.suffix.lower() != ".parquet":
        raise FileFormatError(
            f"cannot write {str(path)!r}: the result of a study is a .parquet file"
        )
    require_folder(target)
    if target.is_dir():
        raise FileFormatError(f"cannot write {str(path)!r}: it is a folder; expected a file")
    return target


def _statistics_in(columns: list[str]) -> list[str]:
    """Return the columns of the statistics, which come after the others."""
    return [name for name in columns[columns.index("key") + 1 :] if name not in RESERVED]


# A Parquet file may come from a stranger: nothing in it runs, and what is no study is refused.


def _frame_and_header(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the rows of a Parquet file, and the study and version in its metadata."""
    pyarrow = need("pyarrow")
    parquet = need("pyarrow.parquet")
    try:
        with opened(path) as file:
            table = parquet.read_table(file)
        table.validate(full=True)  # finds text that is not UTF-8
        header = json.loads((table.schema.metadata or {}).get(METADATA, b"null"))
        frame = table.to_pandas(ignore_metadata=True)
    except FileFormatError:
        raise
    except (pyarrow.ArrowException, ValueError, OSError, MemoryError, RecursionError) as error:
        raise FileFormatError(
            f"{str(path)!r} is no whole Parquet file: {str(error)[:200]}"
        ) from None
    if not isinstance(header, dict) or not isinstance(header.get("definition"), dict):
        raise FileFormatError(f"{str(path)!r} holds no study of fairlp; choose another file")
    try:
        _check_frame(frame, header["definition"])
    except (StudyError, RecursionError) as error:
        raise FileFormatError(
            f"{str(path)!r} holds no study that fairlp wrote: {error}; choose another file"
        ) from None
    return frame, header


def _check_frame(frame: pd.DataFrame, definition: Plain) -> None:
    """Raise StudyError where columns, types or points of rows are not those of the study."""
    if not isinstance(definition.get("name"), str) or type(definition.get("runs")) is not int:
        raise StudyError("its name or number of runs is missing")
    points = points_of(plain(definition.get("grid"), "grid"))
    names = list(frame.columns)
    if len(set(names)) < len(names) or names[:1] != ["point"] or not {"run", "key"} <= {*names}:
        raise StudyError("its columns are of something else")

    for name in ("point", "run", *_statistics_in(names)):
        types = ("int64",) if name in RESERVED else ("int64", "float64")
        if str(frame[name].dtype) not in types:
            raise StudyError(f"its column {name!r} is of {frame[name].dtype}")
    texts = frame["key"].tolist() + frame.get("error", frame["key"]).dropna().tolist()
    if not all(isinstance(text, str) for text in texts):
        raise StudyError("its columns 'key' and 'error' are of something else")
    for name in parameters_of(points):
        values = frame[name].tolist() if name in names else [[]]
        if not all(
            value is None or isinstance(value, bool | int | float | str) for value in values
        ):
            raise StudyError(f"it has no column {name!r} of numbers or text")

    keys = [key_of(point) for point in points]
    for point, key in set(zip(frame["point"], frame["key"], strict=True)):
        if not 0 <= point < len(keys) or keys[point] != key:
            raise StudyError(f"point {point} is none of its study")
