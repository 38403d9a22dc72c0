"""What a back end is: ``Backend``, its ``Session`` and its ``Capability``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .program import Program

if TYPE_CHECKING:
    from .certificate import Certificate
    from .options import Options
    from .program import Program
    from .solution import Solution

#: Positions, and their new lower and upper bounds.
Bounds = tuple[np.ndarray, np.ndarray, np.ndarray]
#: Rows, one column, and the new entries of the column in those rows.
Entries = tuple[np.ndarray, int, np.ndarray]


class Capability(StrEnum):
    """What a back end can do."""

    LP = "LP"
    MILP = "MILP"
    LOG = "log objective"
    POWER = "power objective"
    QUADRATIC = "quadratic objective"
    DUALS = "duals"
    BASIS = "basis"
    WARM_START = "warm start"
    RAY = "infeasibility certificate"


class Session(Protocol):
    """A loaded program that changes between solves, each of which starts from the last basis.

    Bounds, costs and coefficients may change.
    """

    program: Program
    options: Options
    #: Prices of the last answer below this part of the largest may be rounding.
    least_price: float
    #: Whether `reaches` may return a level.
    has_previews: bool
    #: Whether rounds may be left open at the first that does not tell who is blocked, and were.
    may_leave: bool
    has_left: bool
    #: Whether the last optimum is a point of each program, but for rounding and where a rise ends.
    keeps_feasible: bool

    def change(
        self,
        *,
        rows: Bounds | None = None,
        columns: Bounds | None = None,
        costs: np.ndarray | None = None,
        coefficients: Entries | None = None,
    ) -> None:
        """Change bounds of rows and columns, the whole objective, and entries of one column.

        The entries must be in the matrix.

        What is None stays as it is.
        """

    def restart(self, other_method: bool = False) -> None:
        """Forget the last basis, so that the next solve begins afresh.

        It takes another method if asked, and if there is one.
        """

    def proves(self, certificate: Certificate) -> bool:
        """Whether a certificate is good enough for the way in which the last answer was found."""

    def leaves_open(self, solution: Solution, gap: float) -> bool:
        """Whether prices leave open which users can rise, so that a :meth:`restart` helps.

        ``gap`` is its certified one.
        """

    def reaches(self, gap: float) -> float | None:
        """Return an attainable level within ``gap`` of the largest, or None.

        None says that solving is as quick.
        """

    def solve(self) -> Solution:
        """Solve what is loaded now."""


class Backend(Protocol):
    """A solver behind one uniform door."""

    name: str
    capabilities: frozenset[Capability]

    def available(self) -> tuple[bool, str]:
        """Return whether it can be used here, and if not, why and what to do."""

    def version(self) -> str:
        """Return the solver's version."""

    def solve(self, program: Program, options: Options) -> Solution:
        """Solve one program."""

    def session(self, program: Program, options: Options) -> Session:
        """Load a program for a series of solves."""
