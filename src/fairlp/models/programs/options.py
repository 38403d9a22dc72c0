"""``Options`` of a solve, the same for every back end, and ``Progress`` for callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, runtime_checkable

import numpy as np

from ...errors import UnknownNameError, UnsupportedError, nearest, quoted
from ...hints import HINTS
from ...tolerances import FEASIBILITY

if TYPE_CHECKING:
    from .protocols import Backend
    from .solution import Solution


__all__ = ["Options", "Progress", "SolveOptions", "SolverLimits", "SolverOptions", "WriteOptions"]


@runtime_checkable
class _HasPoint(Protocol):
    """What has a point: a Solution."""

    def require_point(self) -> np.ndarray: ...


def _wrong(name: str, value: Any) -> str | None:
    """Return the expected form of an option whose value is wrong, or None for a valid value."""
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    if is_real and not _is_in_range(value):
        return "a number that solvers hold: not beyond the largest float, nor whole and above 2**63"
    if name == "time_limit":
        return None if is_real and value >= 0 else "seconds >= 0"
    if name in ("primal_tolerance", "dual_tolerance"):
        return None if is_real and 0 < value < 1 else "a number > 0 and < 1"
    if name == "mip_gap":
        return None if is_real and 0 <= value < np.inf else "a number >= 0"
    if name in ("threads", "seed", "node_limit", "iteration_limit", "pool"):
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        return None if whole and value >= 0 else "a whole number >= 0"
    kinds: dict[str, tuple[Any, str]] = {
        "scale": (bool, "True or False"),
        "extra": (Mapping, "a mapping from the solver's own names to values"),
        "start": (
            (Mapping, _HasPoint),
            "a mapping from names of variables to labelled values, or a Solution",
        ),
        "progress": (Callable, "a function of a Progress"),
        "log_file": ((str, Path), "a path"),
    }
    kind, expected = kinds.get(name, (object, ""))
    return None if isinstance(value, kind) else expected


def _is_in_range(value: Any) -> bool:
    """Whether solvers, which are written in C, have a number for this one."""
    try:
        as_float = float(value)
    except OverflowError:
        return False
    if isinstance(value, Integral):
        return abs(as_float) < 2.0**63
    return as_float != 0 or value == 0  # a number so small that it becomes 0 is another one


def _as_python(value: Any) -> Any:
    """Return a number of NumPy, or a fraction, as solvers take it; everything else as it is."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


@dataclass(frozen=True)
class Progress:
    """How far a solve is: what the function ``progress`` of :class:`Options` is called with.

    Attributes
    ----------
    seconds : float
        Since the solve began.
    objective, bound : float
        Of the best point, and the bound on the optimum, in the user's sense; NaN where there is
        none yet.
    nodes, iterations : int
        Nodes of branch and bound, and iterations of the linear programs.
    """

    seconds: float
    objective: float
    bound: float
    nodes: int
    iterations: int


@dataclass(frozen=True)
class Options:
    """Options that mean the same for every back end; one that a back end cannot honour raises.

    Attributes
    ----------
    time_limit : float or None
        Seconds.
    threads : int or None
    seed : int or None
    primal_tolerance, dual_tolerance : float or None
        Feasibility tolerances asked of the solver, which sees numbers scaled to about 1. None:
        ``FEASIBILITY`` and ``FEASIBILITY`` (``ACCEPTED`` for first-order methods).
    method : str
        Algorithm of the back end ("auto" lets it choose).
    mip_gap : float or None
        Of programs with integers: stop when bound and objective are this near, relative to the
        objective. The status is then "gap limit", unless they are equal. None: 0.
    node_limit : int or None
        Most nodes of branch and bound.
    iteration_limit : int or None
        Most iterations of a linear program.
    log_file : str, Path or None
        Where the solver writes its log.
    progress : callable or None
        Called with a :class:`Progress` as the solver goes on; what it raises is raised, and True
        stops the solve.
    start : mapping, Solution or None
        With integers, a point to begin from: values by name and label (a number, mapping, Series
        or DataFrame), not necessarily of all variables. What breaks a bound or a row since (after
        ``y.fix(…)``) is left out, and the solver completes the rest. Without integers, a Solution
        whose basis is where the simplex begins.
    pool : int or None
        With integers: keep at most so many points, which are ``solution.pool``.
    scale : bool
        Give the solver numbers of about 1, by powers of two; otherwise as they are written.
    verbose : bool
        Let the solver print its log.
    extra : mapping
        Options under the solver's own names, passed on as they are.
    """

    time_limit: float | None = None
    threads: int | None = None
    seed: int | None = None
    primal_tolerance: float | None = None
    dual_tolerance: float | None = None
    method: str = "auto"
    verbose: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    mip_gap: float | None = None
    node_limit: int | None = None
    iteration_limit: int | None = None
    log_file: str | Path | None = None
    progress: Callable[[Progress], object] | None = None
    start: Mapping[str, Any] | Solution | None = None
    pool: int | None = None
    scale: bool = True

    @classmethod
    def from_keywords(cls, solver: str, keywords: Mapping[str, Any]) -> Options:
        """Return options from keyword arguments; the error for an unknown name suggests others.

        Parameters
        ----------
        solver : str
            Named in errors.
        keywords : mapping
            By the names of the attributes.

        Returns
        -------
        Options

        Raises
        ------
        UnknownNameError
            For an option that there is not.
        UnsupportedError
            For a value of another kind, a time limit below 0, or a tolerance that is not above 0.

        Examples
        --------
        >>> Options.from_keywords("highs", {"time_limit": 60}).time_limit
        60
        """
        names = {f.name for f in fields(cls)}
        for name in keywords:
            if name not in names:
                remedy = HINTS.get(name) or nearest(name, sorted(names))
                raise UnknownNameError(
                    f"solver {solver!r} has no option {name!r}; {remedy} "
                    "(a solver's own options go into extra={'name': value})"
                )
        for name, value in keywords.items():
            expected = None if value is None else _wrong(name, value)
            if expected is not None:
                raise UnsupportedError(f"{name} is {quoted(value)}; expected {expected}")
        return cls(**{name: _as_python(value) for name, value in keywords.items()})

    def tightened(self, backend: Backend) -> Options:
        """Return options with the back end's tightest tolerances in the place of missing ones.

        Parameters
        ----------
        backend : Backend

        Returns
        -------
        Options

        Examples
        --------
        >>> from fairlp.models.programs.backends import find_backend
        >>> Options().tightened(find_backend("highs")).primal_tolerance < 1e-9
        True
        """
        tight = getattr(backend, "tightest", None)
        if tight is None:
            return self
        return replace(
            self,
            primal_tolerance=self.primal_tolerance or tight,
            dual_tolerance=self.dual_tolerance or tight,
        )

    def tolerances(
        self, primal: float = FEASIBILITY, dual: float = FEASIBILITY
    ) -> tuple[float, float]:
        """Return the primal and dual tolerance: those given, or a method's own.

        Parameters
        ----------
        primal, dual : float
            The method's own.

        Returns
        -------
        tuple of (float, float)

        Examples
        --------
        >>> Options(primal_tolerance=1e-7).tolerances()[0] == 1e-7
        True
        """
        return self.primal_tolerance or primal, self.dual_tolerance or dual


class SolverLimits(TypedDict, total=False):
    """The options of a solver as keywords, for what has a seed and a progress of its own."""

    time_limit: float | None
    threads: int | None
    primal_tolerance: float | None
    dual_tolerance: float | None
    verbose: bool
    extra: Mapping[str, Any]
    mip_gap: float | None
    node_limit: int | None
    iteration_limit: int | None
    log_file: str | Path | None
    start: Mapping[str, Any] | Solution | None
    pool: int | None
    scale: bool


class SolverOptions(SolverLimits, total=False):
    """The options of a solver as keywords, for what has a ``method`` of its own."""

    seed: int | None
    progress: Callable[[Progress], object] | None


class SolveOptions(SolverOptions, total=False):
    """The attributes of :class:`Options` as keywords."""

    method: str


#: Dialects of MPS, see :func:`fairlp.models.files.mps.write_mps`.
Profile = Literal["portable", "full", "native", "fixed"]
#: Names of rows and columns in files: from labels, or by position.
Names = Literal["labels", "numbers"]
#: How a file in the LP format has the constant of the objective.
Constant = Literal["column", "term"]


class WriteOptions(TypedDict, total=False):
    """How a program is written to a file: ``profile`` is of MPS, ``constant`` of LP."""

    profile: Profile
    names: Names
    constant: Constant
