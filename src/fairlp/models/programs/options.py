"""``Options``: what every back end is asked for in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from ...errors import UnknownNameError, UnsupportedError, nearest
from ...tolerances import FEASIBILITY, OPTIMALITY

if TYPE_CHECKING:
    from .solution import Backend


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
            For a time limit below 0, or a tolerance that is not above 0.
        """
        known = {f.name for f in fields(cls)}
        for name in keywords:
            if name not in known:
                raise UnknownNameError(
                    f"solver {solver!r} has no option {name!r}; {nearest(name, sorted(known))} "
                    "(a solver's own options go into extra={'name': value})"
                )
        options = cls(**keywords)
        limit = options.time_limit
        if limit is not None and not limit >= 0:
            raise UnsupportedError(f"time_limit is {limit}; expected seconds >= 0")
        for name in ("primal_tolerance", "dual_tolerance"):
            given = getattr(options, name)
            if given is not None and not given > 0:
                raise UnsupportedError(f"{name} is {given}; expected a number > 0")
        return options

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
