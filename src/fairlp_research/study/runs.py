"""The runs of a study, each from the study's data alone, and their table."""

from __future__ import annotations

import json
import numbers
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairlp import Instance, __version__
from fairlp.errors import (
    FairlpError,
    StudyError,
    UnknownNameError,
    nearest,
    quoted,
    require_known,
)

from ..runner import Failure, run_calls, run_on
from .functions import Function, Plain, keywords, point_text, short_name, words
from .result import Result, parameters_of

if TYPE_CHECKING:
    from fairlp import Allocation

    from .definition import Study

#: Whole numbers beyond this do not fit a column of 64-bit integers.
LARGEST_WHOLE = 2**63 - 1
#: The statistics of a run by column, or the error of the run.
RunOutcome = dict[str, float] | Failure


@dataclass(frozen=True)
class Work:
    """The data that every run of a study needs.

    Attributes
    ----------
    generator : callable
    mechanisms : mapping
        Label → arguments of ``allocate``.
    statistics : tuple of (label, callable, arguments)
    seed : int
    """

    generator: Function
    mechanisms: Mapping[str, dict[str, Any]]
    statistics: tuple[tuple[str, Function, dict[str, Any]], ...]
    seed: int

    def instance(self, point: Plain, run: int) -> Instance:
        """Return the instance of a run.

        Its random numbers depend on the seed, the point and the run alone.
        """
        seed = np.random.SeedSequence(self.seed, spawn_key=(*words(point), run))
        instance = self.generator(np.random.default_rng(seed), **keywords(point))
        if not isinstance(instance, Instance):
            raise StudyError(
                f"generator {short_name(self.generator)!r} returned {type(instance).__name__}; "
                "expected an Instance"
            )
        return instance

    def allocations(self, instance: Instance) -> dict[str, Allocation]:
        """Return the allocation of each mechanism, by label."""
        from fairlp import allocate

        return _Allocations(
            {label: allocate(instance, **options) for label, options in self.mechanisms.items()}
        )

    def values(self, instance: Instance, allocations: dict[str, Allocation]) -> dict[str, float]:
        """Return the numbers of all statistics, by column."""
        values = {}
        for label, function, arguments in self.statistics:
            statistics = function(instance, allocations, **keywords(arguments))
            if not isinstance(statistics, Mapping):
                raise StudyError(
                    f"statistic {quoted(label)} returned {type(statistics).__name__}; expected a mapping "
                    "of names to numbers"
                )
            for name, value in statistics.items():
                values[f"{label}.{name}"] = _number(value, f"{name!r} of statistic {quoted(label)}")
        return values


class _Allocations(dict[str, Any]):
    """Allocations by label; the error of an unknown label names the nearest labels."""

    def __missing__(self, label: object) -> Any:
        raise UnknownNameError(
            f"no mechanism of the study has the label {quoted(label)}; {nearest(label, self)}"
        )


def _number(value: Any, description: str) -> float:
    """Return a number as an int or float of Python, which files hold exactly."""
    if isinstance(value, np.ndarray | np.generic) and np.ndim(value) == 0:
        value = value.item()
    # Truth values become 0 or 1, so that their mean is a frequency.
    if isinstance(value, numbers.Integral):
        integer = int(value)
        return integer if abs(integer) <= LARGEST_WHOLE else float(integer)
    if isinstance(value, numbers.Real):
        return float(value)
    raise StudyError(
        f"{description} is {quoted(value)} ({type(value).__name__}); expected a number"
    )


def run_values(key: str, point: Plain, run: int, work: Work) -> dict[str, float]:
    """Return the statistics of one run; ``key`` stands for ``work`` where values are kept."""
    instance = work.instance(point, run)
    return work.values(instance, work.allocations(instance))


def run_study(
    study: Study,
    *,
    folder: str | Path | None,
    workers: int | None,
    backend: str | None,
    progress: bool | None,
    on_error: str,
) -> Result:
    """Do all runs of a study, or load them; see :meth:`fairlp_research.study.Study.run`."""
    require_known(on_error, ("raise", "record"), f"on_error={on_error!r}")
    key = "" if folder is None else study.key
    # Run 0 of every point comes first, so that the progress bar tells of all points.
    runs = [(point, run) for run in range(study.runs) for point in range(len(study.points))]
    calls = [(key, study.points[point], run, study.work) for point, run in runs]
    outcomes: dict[tuple[int, int], RunOutcome] = {}
    with run_on(workers, backend):
        results = run_calls(
            study.name,
            run_values,
            calls,
            folder=folder,
            ignore=["work"],
            progress=progress,
            failures=True,
        )
        try:
            with closing(results):  # an error ends the runs that have not begun
                for position, outcome in results:
                    if isinstance(outcome, Failure) and on_error == "raise":
                        raise _error_of_run(study, *runs[position], outcome)
                    outcomes[runs[position]] = outcome
        except FairlpError:
            raise
        except Exception as error:
            raise StudyError(
                f"the back end of joblib failed: {type(error).__name__}: {error} (with a folder, "
                "finished runs are kept and the study goes on from them)"
            ) from error
    frame = frame_of(study.points, study.keys, outcomes)
    return Result(frame, study.definition(), __version__, allow_code=True)


def _error_of_run(study: Study, point: int, run: int, failure: Failure) -> StudyError:
    """Return the error of a run that failed, with the traceback of its worker."""
    error = StudyError(
        f"run {run} of point {point} ({point_text(study.points[point])}) of study {study.name!r}, "
        f"seed {study.seed}, failed: {failure.message}"
    )
    error.add_note(f"In the worker:\n{failure.trace}")
    return error


def frame_of(
    points: Sequence[Plain], keys: Sequence[str], outcomes: Mapping[tuple[int, int], RunOutcome]
) -> pd.DataFrame:
    """Return one row a run, by point and run.

    Statistics are in the order of their first appearance.
    """
    runs = sorted(outcomes)
    point_of_row = [point for point, _ in runs]
    columns: dict[str, Any] = {"point": np.array(point_of_row, dtype=np.int64)}
    for name in parameters_of(points):
        values = _column_of_parameter([point.get(name) for point in points])
        columns[name] = [values[point] for point in point_of_row]
    columns["run"] = np.array([run for _, run in runs], dtype=np.int64)
    columns["key"] = [keys[point] for point in point_of_row]

    rows = [outcomes[run] for run in runs]
    statistics = [{} if isinstance(row, Failure) else row for row in rows]
    for name in dict.fromkeys(name for row in statistics for name in row):
        columns[name] = _column_of_statistic([row.get(name) for row in statistics])
    errors = [row.message if isinstance(row, Failure) else None for row in rows]
    if any(error is not None for error in errors):
        columns["error"] = errors
    return pd.DataFrame(columns)


def _column_of_statistic(values: list[float | None]) -> np.ndarray:
    """Return whole numbers where every run has one, else floats; a missing number is NaN."""
    if all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if value is None else float(value) for value in values])


def _column_of_parameter(values: list[Any]) -> list[Any]:
    """Return the values of a parameter as one column: all numbers, all texts, or all as JSON."""
    present = [value for value in values if value is not None]
    for types in ((int,), (str,), (bool,)):
        if all(type(value) in types for value in present):
            return values
    if all(type(value) in (int, float) for value in present):
        return [None if value is None else float(value) for value in values]
    return [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
