"""Solvers on the library: every answer judged by its certificate and by what is known of the optimum."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._version import __version__
from ...errors import FileFormatError, InstanceError, UnknownNameError
from ...models.files.whole_files import home, write_text
from ...models.programs import backends
from ...models.programs.backends import AnySolver
from ...progress import progress_bar
from ...tolerances import VERIFIED
from .entry import Entry, chosen
from .processes import SolverProcess
from .profiles import Profile, profile

#: Seconds that a solver has for a program.
TIME_LIMIT = 60.0
#: After a program of more nonzeros, a process is ended: what it holds is not there beside the next
#: solver's.
MOST_KEPT = 200_000


@dataclass(frozen=True)
class SolverResult:
    """What a solver made of an entry.

    Attributes
    ----------
    entry, kind, solver : str
    accepted : bool
        Whether the answer counts.
    verdict : str
        ``certified``: primal and dual prove each other. ``known optimum``: without duals (integers,
        or a solver that gives none), the point is feasible and has the known optimum. Otherwise
        what is wrong.
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
    """What solvers made of entries.

    Attributes
    ----------
    rows : tuple of SolverResult
    solvers : tuple of str
    left_out : mapping
        Entries whose data is not here → why.
    settings : mapping
        Size, seed, time limit and the rest of what was asked.
    complete : bool
        False where it was interrupted; the rows are those that were done.
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
        """Return seconds, entries × solvers, infinite where not solved; of one kind of program, or of all.

        An entry that was interrupted before every solver had it is left out.

        Parameters
        ----------
        kind : {"LP", "MILP", "concave"}, optional
            By default all.

        Returns
        -------
        DataFrame
        """
        own = [row for row in self.rows if kind in (None, row.kind)]
        wide = pd.DataFrame(
            np.nan,
            index=pd.Index(dict.fromkeys(row.entry for row in own), name="entry"),
            columns=list(self.solvers),
        )
        for row in own:
            wide.loc[row.entry, row.solver] = row.seconds
        return wide.dropna()

    def profile(self, kind: str | None = None) -> Profile:
        """Return the performance profile, of one kind of program (``LP``, ``MILP``, ``concave``) or of all.

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
        ratios = self.profile().table()
        return {
            "version": __version__,
            "settings": dict(self.settings),
            "complete": self.complete,
            "solvers": list(self.solvers),
            "left_out": dict(self.left_out),
            "results": rows,
            "profile": [
                {"solver": name, **{k: _plain(v) for k, v in row.items()}}
                for name, row in ratios.iterrows()
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
        target = home(path)
        if target.suffix.lower() == ".json":
            text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        elif target.suffix.lower() == ".csv":
            text = self.table().to_csv(lineterminator="\n")
        else:
            raise FileFormatError(
                f"cannot tell the format of {target.name!r}; expected .json or .csv"
            )
        return write_text(target, text)

    def __repr__(self) -> str:
        accepted = sum(row.accepted for row in self.rows)
        partly = "" if self.complete else ", interrupted"
        return (
            f"<Results of {len(self.solvers)} solvers: {accepted} of {len(self.rows)} answers "
            f"accepted{partly}>"
        )


def run(
    solvers: Sequence[AnySolver],
    entries: Iterable[str | Entry] | None = None,
    *,
    size: str = "small",
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
    memory: float | None = None,
    repeat: int = 1,
    progress: bool | None = False,
) -> Results:
    """Solve entries by solvers, each in a process of its own, and accept only what is proved.

    A process that takes too long or more memory than it may is ended, and another begun for the
    next entry. Ctrl-C ends all, and gives what was done.

    Parameters
    ----------
    solvers : sequence of str, Backend or class
        See :func:`fairlp.solvers`; one that is not here is refused before anything begins.
    entries : iterable of (str or Entry), optional
        Names, or what :func:`load` gave; by default all but those whose data is not here.
    size : {"small", "medium", "large"}
        Of entries that are named, as is the seed.
    seed : int
    time_limit : float
        Seconds for each program, by the clock.
    memory : float, optional
        GiB for each process; by default half of what the machine has.
    repeat : int
        Solve so often, and take the least time.
    progress : bool, optional
        Show a bar; None: in a terminal only.

    Returns
    -------
    Results

    Raises
    ------
    InstanceError
        For a time limit, number of repeats or memory that cannot be.
    """
    own = _carried(solvers)
    if not time_limit > 0 or not np.isfinite(time_limit):
        raise InstanceError(f"time_limit is {time_limit}; expected seconds above 0")
    if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 1:
        raise InstanceError(f"repeat is {repeat!r}; expected a whole number of at least 1")
    most = _half_of_memory() if memory is None else memory
    if most is not None and not most > 0:
        raise InstanceError(f"memory is {memory}; expected GiB above 0")
    found, missing = chosen(entries, size, seed)
    settings = {"size": size, "seed": seed, "time_limit": time_limit, "repeat": repeat}
    rows = []
    complete = True
    try:
        with (
            ExitStack() as ends,
            progress_bar("library", len(found) * len(own), 0, progress) as done,
        ):
            ready = {name: SolverProcess(name, most) for name in own}
            for process in ready.values():
                ends.callback(process.end)
            for entry in found:
                asked = {
                    "name": entry.name,
                    "size": entry.size,
                    "seed": entry.seed,
                    "repeat": repeat,
                }
                asked["parameters"] = dict(entry.parameters)
                for name, process in ready.items():
                    rows.append(judged(entry, str(name), process.ask(asked, time_limit)))
                    if entry.program().A.nnz > MOST_KEPT:
                        process.end()
                    done()
    except KeyboardInterrupt:
        complete = False
    return Results(tuple(rows), tuple(map(str, own)), missing, settings, complete)


def judged(entry: Entry, solver: str, told: Mapping[str, Any]) -> SolverResult:
    """Return the verdict on what a process told of a solver's answer to an entry."""
    numbers = ("objective", "primal_residual", "dual_residual", "gap")
    seen = {key: told[key] for key in numbers if told.get(key) is not None}
    status = told["status"]
    found = SolverResult(
        entry.name,
        entry.kind,
        solver,
        False,
        status,
        status,
        message=told.get("message", ""),
        **seen,
    )
    if status != "optimal" or "objective" not in told:
        return found
    if not told["feasible"]:
        return replace(found, verdict="not feasible")
    needed = told["gap"] is None  # without duals, what is known of the optimum must do
    known = entry.optimum if needed else entry.known
    apart = float("nan")
    if known is not None and known.value is not None:
        optimum = float(known.value)
        size = max(abs(optimum), told["terms"])
        apart = abs(told["objective"] - optimum) / size if size > 0 else 0.0
        if not apart <= VERIFIED:
            words = f"{told['objective']:.12g} is not the optimum, {optimum:.12g}"
            return replace(found, verdict="not the optimum", message=words)
    if told["optimal"]:
        return replace(found, accepted=True, verdict="certified", seconds=told["seconds"])
    if needed and apart <= VERIFIED:
        return replace(
            found, accepted=True, verdict="known optimum", seconds=told["seconds"], gap=apart
        )
    return replace(found, verdict="not proved")


def _carried(solvers: Sequence[AnySolver]) -> list[str]:
    """Return the names of solvers as they travel; raise for one that is not here."""
    if isinstance(solvers, str):
        raise UnknownNameError(
            f"solvers is the text {solvers!r}; expected a list of names, such as [{solvers!r}]"
        )
    own = []
    for solver in solvers:
        backends.backend(solver)
        name = backends.carried(backends.spelt(solver))
        if name not in own:
            own.append(name)
    if not own:
        raise UnknownNameError("no solver was named; expected one or more of fairlp.solvers()")
    return own


def _half_of_memory() -> float | None:
    """Return half of the machine's memory in GiB, where the system says what it has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**31
    except (AttributeError, OSError, ValueError):
        return None


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
