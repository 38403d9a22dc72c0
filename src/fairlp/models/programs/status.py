"""How a solve ended: ``Termination``, ``Point`` and ``Status``."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from enum import StrEnum

from ...errors import Hinted
from ...tolerances import VERIFIED


class Termination(StrEnum):
    """Why the solver stopped."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible or unbounded"
    TIME_LIMIT = "time limit"
    NODE_LIMIT = "node limit"
    GAP_LIMIT = "gap limit"
    ITERATION_LIMIT = "iteration limit"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


#: What a solver says of a program that has no optimum.
HOPELESS = (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED)


#: Limits that a solver stops at; it may have a point and a bound by then.
LIMITS = (
    Termination.TIME_LIMIT,
    Termination.NODE_LIMIT,
    Termination.GAP_LIMIT,
    Termination.ITERATION_LIMIT,
)


class Point(StrEnum):
    """What is there: no point, one that breaks a row or bound, a feasible or an optimal one."""

    NONE = "none"
    INFEASIBLE = "not feasible"
    FEASIBLE = "feasible"
    OPTIMAL = "optimal"


#: The primal and dual point that go without saying.
_IMPLIED = {Termination.OPTIMAL: Point.OPTIMAL, Termination.INFEASIBLE: Point.NONE}


@dataclass(frozen=True, eq=False)
class Status(Hinted):
    """Three answers that are often confused, and the solver's own words.

    Attributes
    ----------
    termination : Termination
        Why it stopped. A limit is never "optimal".
    primal, dual : Point
        Whether a primal and a dual point are there.
    message : str
        The solver's raw words.
    tolerance : float
        Within what it holds: ``VERIFIED``, or what a first-order method states.
    """

    termination: Termination
    primal: Point
    dual: Point
    message: str
    tolerance: float = VERIFIED

    def __eq__(self, other: object) -> bool:
        """Whether it is the same status; of a text, whether it is the termination."""
        if isinstance(other, str):
            return self.termination == other.casefold()
        return isinstance(other, Status) and astuple(self) == astuple(other)

    def __hash__(self) -> int:
        return hash(self.termination)

    def __bool__(self) -> bool:
        """Whether it is optimal, as :attr:`is_optimal` says."""
        return self.is_optimal

    @property
    def is_optimal(self) -> bool:
        """Whether the solver says that its primal point is optimal."""
        return self.termination is Termination.OPTIMAL and self.primal is Point.OPTIMAL

    def __str__(self) -> str:
        implied = _IMPLIED.get(self.termination)
        points = (("primal", self.primal), ("dual", self.dual))
        shown = ", ".join(f"{kind}: {point.value}" for kind, point in points if point != implied)
        sentences = [shown, *self.message.split("; ")]
        name = self.termination.value
        remarks = [sentence for sentence in sentences if sentence.casefold() not in ("", name)]
        return " ".join([name, *([f"({'; '.join(remarks)})"] if remarks else [])])
