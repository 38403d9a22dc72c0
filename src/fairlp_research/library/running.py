"""Solvers on the library: each answer judged by its certificate and by the known optimum."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairlp
from fairlp import Backend, __version__
from fairlp.errors import InstanceError, UnknownNameError
from fairlp.toolkit import tolerances

from ..files import write
from ..runner import run_calls
from .entry import Entry, chosen
from .process import require_portable, solve_apart
from .profiles import Profile, profile

#: Seconds that a solver has for a program.
TIME_LIMIT = 60.0


@dataclass(frozen=True)
class SolverResult:
    """The answer of a solver to an entry, and the verdict on it.

    Attributes
    ----------
    entry, kind, solver : str
    accepted : bool
        Whether the answer counts.
    verdict : str
        ``certified``: primal and dual prove each other. ``known optimum``: without duals (integers,
        or a solver that gives none), the point is feasible and has the known optimum. Otherwise
        the fault.
    status : str
        The solver's own word, or ``time limit``, ``out of memory``, ``died``, ``unable``,
        ``failed``.
    seconds : float
        Of the solve alone, with handing over and reading back; infinite where the answer does not
        count.
    objective, primal_residual, dual_residual, gap : float
        Missing where there is no point; the gap is the certificate's, or without duals the distance
        from the known optimum, relative to the objective's terms.
    message : str
    """

    entry: str
    kind: str
    solver: str
    accepted: bool
    verdict: str
    status: str
    seconds: float = float("inf")
    objective: float = float("nan")
    primal_residual: float = float("nan")
    dual_residual: float = float("nan")
    gap: float = float("nan")
    message: str = ""


@dataclass(frozen=True)
class Results:
    """The answers of solvers to entries.

    Attributes
    ----------
    rows : tuple of SolverResult
    solvers : tuple of str
    left_out : mapping
        Entries whose data is missing → the reason.
    settings : mapping
        Size, seed, time limit and repetitions.
    complete : bool
        False where the run was interrupted; the rows are those of finished solves.
    """

    rows: tuple[SolverResult, ...]
    solvers: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True

    def table(self) -> pd.DataFrame:
        """Return a row for each entry and solver.

        Returns
        -------
        DataFrame
            Indexed by ``entry`` and ``solver``.
        """
        columns = list(SolverResult.__dataclass_fields__)
        return pd.DataFrame([asdict(row) for row in self.rows], columns=columns).set_index(
            ["entry", "solver"]
        )

    def times(self, kind: str | None = None) -> pd.DataFrame:
        """Return seconds, entries × solvers, infinite where not solved.

        The programs are those of one kind, or all.

        An entry that was interrupted before every solver had it is left out.

        Parameters
        ----------
        kind : {"LP", "MILP", "concave"}, optional
            By default all.

        Returns
        -------
        DataFrame
        """
        rows = [row for row in self.rows if kind in (None, row.kind)]
        entries = pd.Index(dict.fromkeys(row.entry for row in rows), name="entry")
        times = pd.DataFrame(np.nan, index=entries, columns=list(self.solvers))
        for row in rows:
            times.loc[row.entry, row.solver] = row.seconds
        return times.dropna()

    def profile(self, kind: str | None = None) -> Profile:
        """Return the performance profile of one kind of program, or of all.

        Parameters
        ----------
        kind : {"LP", "MILP", "concave"}, optional
            By default all.

        Returns
        -------
        Profile

        Raises
        ------
        UnknownNameError
            For a kind of which no program was solved.
        """
        kinds = sorted({row.kind for row in self.rows})
        if kind is not None and kind not in kinds:
            raise UnknownNameError(
                f"no program of the kind {kind!r} was solved; there are {', '.join(kinds)}"
            )
        return profile(self.times(kind))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; what is not finite is None.

        Returns
        -------
        dict
        """
        rows = [{key: _plain(value) for key, value in asdict(row).items()} for row in self.rows]
        return {
            "version": __version__,
            "settings": dict(self.settings),
            "complete": self.complete,
            "solvers": list(self.solvers),
            "left_out": dict(self.left_out),
            "results": rows,
            "profile": [
                {"solver": name, **{key: _plain(value) for key, value in row.items()}}
                for name, row in self.profile().table().iterrows()
            ],
        }

    def write(self, path: str | Path) -> Path:
        """Write the results as .json (with settings and profile) or .csv (the table).

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path
            The file written.

        Raises
        ------
        FileFormatError
            For another ending of the name.
        """
        return write(path, self.to_dict, self.table)

    def __repr__(self) -> str:
        accepted = sum(row.accepted for row in self.rows)
        interrupted = "" if self.complete else ", interrupted"
        return (
            f"<Results of {len(self.solvers)} solvers: {accepted} of {len(self.rows)} answers "
            f"accepted{interrupted}>"
        )


def run(
    solvers: Sequence[str | Backend],
    entries: Iterable[str | Entry] | None = None,
    *,
    size: str = "small",
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
    memory: float | None = None,
    repeat: int = 1,
    progress: bool | None = False,
) -> Results:
    """Solve entries by solvers, each solve in a process of its own, and accept only proved answers.

    A process that takes longer or more memory than its limits ends, without harm to other solves.
    One solve runs at a time, unless ``joblib.parallel_config`` says otherwise. Ctrl-C ends all, and
    returns the finished solves.

    Parameters
    ----------
    solvers : sequence of str, Backend or class
        See :func:`fairlp.solvers`; a solver that is not available is refused before the first
        solve.
    entries : iterable of (str or Entry), optional
        Names, or entries of :func:`load`; by default all but those whose data is missing.
    size : {"small", "medium", "large"}
        Of entries by name, as is the seed.
    seed : int
    time_limit : float
        Seconds for each program, by the clock.
    memory : float, optional
        GiB for each process; by default half of the machine's memory.
    repeat : int
        Number of solves, of which the shortest time counts.
    progress : bool, optional
        False hides the progress (a bar in a terminal or notebook, lines elsewhere).

    Returns
    -------
    Results

    Raises
    ------
    InstanceError
        For a time limit, number of repeats or memory that cannot be.
    """
    names = _carried(solvers)
    limit = _half_of_memory() if memory is None else memory
    numbers = {"time_limit": time_limit, "repeat": repeat, "memory": limit}
    for option, number in numbers.items():
        if number is not None and not number > 0:
            raise InstanceError(f"{option} is {number}; expected a number above 0")
    chosen_entries, missing = chosen(entries, size, seed)

    pairs = [(entry, name) for entry in chosen_entries for name in names]
    calls = [(entry, name, time_limit, limit, repeat) for entry, name in pairs]
    rows = {}
    complete = True
    try:
        for position, answer in run_calls("library", solve_apart, calls, progress=progress):
            entry, name = pairs[position]
            rows[position] = judged(entry, str(name), answer)
    except KeyboardInterrupt:
        complete = False
    ordered_rows = tuple(rows[position] for position in sorted(rows))
    settings = {"size": size, "seed": seed, "time_limit": time_limit, "repeat": repeat}
    return Results(ordered_rows, tuple(map(str, names)), missing, settings, complete)


def judged(entry: Entry, solver: str, answer: Mapping[str, Any]) -> SolverResult:
    """Return the verdict on the answer of a solver to an entry."""
    names = ("objective", "primal_residual", "dual_residual", "gap")
    numbers = {name: answer[name] for name in names if answer.get(name) is not None}
    status = answer["status"]
    result = SolverResult(
        entry.name,
        entry.kind,
        solver,
        accepted=False,
        verdict=status,
        status=status,
        message=answer.get("message", ""),
        **numbers,
    )
    if status != "optimal" or "objective" not in answer:
        return result
    if not answer["feasible"]:
        return replace(result, verdict="not feasible")

    without_duals = answer["gap"] is None
    optimum = entry.optimum if without_duals else entry.known
    distance = float("nan")
    if optimum is not None and optimum.value is not None:
        value = float(optimum.value)
        scale = max(abs(value), answer["terms"])
        distance = abs(answer["objective"] - value) / scale if scale > 0 else 0.0
        if not distance <= tolerances.VERIFIED:
            message = f"{answer['objective']:.12g} is not the optimum, {value:.12g}"
            return replace(result, verdict="not the optimum", message=message)

    accepted = replace(result, accepted=True, seconds=answer["seconds"])
    if answer["optimal"]:
        return replace(accepted, verdict="certified")
    if without_duals and distance <= tolerances.VERIFIED:
        return replace(accepted, verdict="known optimum", gap=distance)
    return replace(result, verdict="not proved")


def _carried(solvers: Sequence[str | Backend]) -> list[str]:
    """Return the names of solvers as they travel to other processes, each once."""
    names: list[str] = []
    for solver in solvers:
        fairlp.solvers.require(solver)
        name = fairlp.solvers.carried(fairlp.solvers.spelt(solver))
        require_portable(name)
        if name not in names:
            names.append(name)
    if not names:
        raise UnknownNameError("no solver was named; expected one or more of fairlp.solvers()")
    return names


def _half_of_memory() -> float | None:
    """Return half of the machine's memory in GiB, where the system tells its size."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**31
    except (AttributeError, OSError, ValueError):
        return None


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: None for a number that is not finite."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
