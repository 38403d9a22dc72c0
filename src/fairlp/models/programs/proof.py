"""What a verdict in rationals was reached by, kept so that it can be written down: programs, bases, points, duals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .program import Program

#: Statuses of columns and rows.
Basis = tuple[list[int], list[int]]


@dataclass(frozen=True)
class ProofRound:
    """One program proved optimal: its basis, the point, the duals of its rows, and who is blocked at which floor.

    Attributes
    ----------
    basis : pair of lists of int
        Statuses of columns and rows, in HiGHS's numbers.
    x, row_duals : sequence of Fraction
        Point, and ∂objective/∂right-hand side in the program's sense.
    blocked : sequence of (int, Fraction)
        Rows with a dual, and the lower bound that each has from the next round on, without t.
    """

    basis: Basis
    x: Sequence[Fraction]
    row_duals: Sequence[Fraction]
    blocked: Sequence[tuple[int, Fraction]] = ()


@dataclass(frozen=True)
class ProvedLevel:
    """Somebody's level: the row of the program that says it (None who can have nothing), and what it comes to.

    ``claimed`` is the level of the allocation that is proved, a float; None where there is no allocation.
    """

    name: str
    row: int | None
    level: Fraction | None
    claimed: float | None = None


@dataclass(frozen=True)
class Proof:
    """A proof that others can check: the rounds of a leximin, or the optimum of one program (no levels, one round).

    Attributes
    ----------
    program : Program
        Of the first round.
    rounds : tuple of ProofRound
    t : int or None
        The column that the rounds maximise.
    levels : tuple of ProvedLevel
    notes : tuple of str
        What a reader should know of how the program was made.
    """

    program: Program
    rounds: tuple[ProofRound, ...]
    t: int | None = None
    levels: tuple[ProvedLevel, ...] = ()
    notes: tuple[str, ...] = ()


#: Why there is no proof in a file, of a verdict that says nothing else.
NO_PROOF = (
    "only verdicts in rationals that rest on linear programs can be written: certify(exact=True) of an allocation by a "
    "max-min mechanism without queues, of a leximin, or of a linear program's solution. Fixed points (PS-DSF), "
    "logarithms (no justified complaints, CEEI) and whole tasks are proved by other means than duals"
)


__all__ = ["NO_PROOF", "Basis", "Proof", "ProofRound", "ProvedLevel"]
