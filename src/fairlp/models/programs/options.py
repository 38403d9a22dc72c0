"""``Options``: what every back end is asked for in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from ...errors import UnknownNameError, UnsupportedError, nearest
from ...tolerances import FEASIBILITY, OPTIMALITY

if TYPE_CHECKING:
    from .solution import Backend


def _wrong(name: str, given: Any) -> str | None:
    """Return what is expected of an option where it is given something else."""
    number = isinstance(given, Real) and not isinstance(given, bool)
    if name == "time_limit":
        return None if number and given >= 0 else "seconds >= 0"
    if name in ("primal_tolerance", "dual_tolerance"):
        return None if number and given > 0 else "a number > 0"
    if name in ("threads", "seed"):
        whole = isinstance(given, Integral) and not isinstance(given, bool)
        return None if whole and given >= 0 else "a whole number >= 0"
    if name == "extra":
        return None if isinstance(given, Mapping) else "a mapping from the solver's own names to values"
    return None


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
        Feasibility tolerances asked of the solver, which sees numbers scaled to about 1. None: ``FEASIBILITY`` and
        ``OPTIMALITY`` (``FIRST_ORDER`` for first-order methods).
    method : str
        Algorithm of the back end ("auto" lets it choose).
    device : str or None
        Where to compute, "cuda" say; None: the processor.
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
    device: str | None = None
    verbose: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_keywords(cls, solver: str, keywords: Mapping[str, Any]) -> Options:
        """Return options from keyword arguments; an unknown name is an error that gives the nearest ones.

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
        """
        known = {f.name for f in fields(cls)}
        for name in keywords:
            if name not in known:
                raise UnknownNameError(
                    f"solver {solver!r} has no option {name!r}; {nearest(name, sorted(known))} "
                    "(a solver's own options go into extra={'name': value})"
                )
        for name, given in keywords.items():
            expected = None if given is None else _wrong(name, given)
            if expected is not None:
                raise UnsupportedError(f"{name} is {given!r}; expected {expected}")
        return cls(**keywords)

    def tightened(self, backend: Backend) -> Options:
        """Return the options with the back end's tightest tolerances where none were given, if it has such.

        Parameters
        ----------
        backend : Backend

        Returns
        -------
        Options
        """
        tight = getattr(backend, "tightest", None)
        if tight is None:
            return self
        return replace(
            self, primal_tolerance=self.primal_tolerance or tight, dual_tolerance=self.dual_tolerance or tight
        )

    def tolerances(self, primal: float = FEASIBILITY, dual: float = OPTIMALITY) -> tuple[float, float]:
        """Return the primal and dual tolerance: those given, or a method's own.

        Parameters
        ----------
        primal, dual : float
            The method's own.

        Returns
        -------
        tuple of (float, float)
        """
        return self.primal_tolerance or primal, self.dual_tolerance or dual
