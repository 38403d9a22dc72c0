"""Residuals and duality gap of an answer, computed from the Program alone: correctness without a solver's word."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tolerances import NEGLIGIBLE, ROUNDING, SOLVER_TIGHTEST, VERIFIED
from .program import Program
from .proof import NO_PROOF, Proof

if TYPE_CHECKING:
    from pathlib import Path

    from scipy.sparse import csc_array


@dataclass(frozen=True)
class Verdict:
    """Yes or no, with words: whether something was proved, and what says so or what fails.

    Attributes
    ----------
    proved : bool
    message : str
        "optimal, proved …", or what fails.
    difference : float
        Largest difference of a user's level from the proved one, relative, where levels were compared.
    levels : tuple of (Fraction or None)
        Exact levels by user, where they were computed; None for a user who can run nothing.
    proof : Proof or str
        What :meth:`write` writes, or why there is nothing to write.
    """

    proved: bool
    message: str
    difference: float = float("nan")
    levels: tuple[Fraction | None, ...] = field(default=(), repr=False)
    proof: Proof | str = field(default=NO_PROOF, repr=False, compare=False, kw_only=True)

    def write(self, path: str | Path) -> Path:
        """Write the proof to a file that others can check, and return its path.

        Parameters
        ----------
        path : path-like
            ``.json``: for ``python -m fairlp_check``, which shares no code with fairlp (docs/proofs.md). ``.vipr``: of
            a single linear program, for VIPR's ``viprchk``.

        Raises
        ------
        NoSolutionError
            Nothing is proved; the message says what is missing.
        UnsupportedError
            A verdict of another kind; the message says which can be written.
        """
        from ..files.proofs import write_proof

        return write_proof(self, path)

    def __bool__(self) -> bool:
        return self.proved

    def __str__(self) -> str:
        return self.message

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p><b>{'proved' if self.proved else 'not proved'}</b>: {escape(self.message)}</p>"


@dataclass(frozen=True)
class Certificate:
    """How far a primal point (and duals) are from feasible and optimal, each relative to the numbers it is made of.

    Attributes
    ----------
    primal_residual : float
        Largest violation of a row or bound, relative to the row's own terms.
    integrality_residual : float
        Largest distance of an integer variable from a whole number.
    dual_residual : float or None
        Largest reduced cost of the wrong sign, relative to the column's own terms; None without duals.
    complementarity : float or None
        Largest product of a dual and the slack of its row, relative to the objective's terms.
    gap : float or None
        Primal minus dual objective, relative to the objective's terms.
    objective_gap : float or None
        The same relative to the objective itself, which may be far less than its terms; None where that is 0.
    """

    primal_residual: float
    integrality_residual: float
    dual_residual: float | None
    complementarity: float | None
    gap: float | None
    objective_gap: float | None = None

    @property
    def is_feasible(self) -> bool:
        """Whether the primal point is feasible within the tolerance ``VERIFIED``."""
        return max(self.primal_residual, self.integrality_residual) <= VERIFIED

    @property
    def is_optimal(self) -> bool:
        """Whether primal and dual prove each other optimal within the tolerance ``VERIFIED``."""
        if self.dual_residual is None or self.gap is None:
            return False
        return self.is_feasible and max(self.dual_residual, self.gap) <= VERIFIED

    def __str__(self) -> str:
        def show(value: float | None) -> str:
            return "—" if value is None else f"{value:.1e}"

        return (
            f"primal residual {show(self.primal_residual)}, dual residual {show(self.dual_residual)}, "
            f"gap {show(self.gap)}"
        )


def certify(
    program: Program, x: np.ndarray, row_duals: np.ndarray | None, column_duals: np.ndarray | None
) -> Certificate:
    """Return the certificate of ``x`` and duals (in the user's sense); O(nonzeros).

    Reduced costs are recomputed from the row duals; ``column_duals`` only tells that duals are there for the bounds.
    With logarithms or powers in the objective, its gradient at ``x`` takes the place of the costs (the program is
    concave, so the conditions are the same).
    """
    magnitude = abs(program.A)
    rhs = _finite_size(program.row_lower, program.row_upper)
    reach = np.maximum(abs(x), _reach(magnitude, rhs))
    activity, size = program.A @ x, np.maximum(magnitude @ np.maximum(abs(x), NEGLIGIBLE * reach), rhs)
    primal = max(
        _violation(activity, size, program.row_lower, program.row_upper),
        _violation(x, reach, program.col_lower, program.col_upper),
    )
    whole = program.integrality > 0
    fraction = float(abs(x[whole] - np.round(x[whole])).max(initial=0.0))
    if row_duals is None:
        return Certificate(primal, fraction, None, None, None)
    sign = 1.0 if program.sense == "min" else -1.0
    cost, size_of_cost = program.c, abs(program.c)
    if program.logs is not None:
        slope = program.logs.slopes(program.logs.arguments(x))
        cost = cost + program.logs.A.T @ slope
        size_of_cost = size_of_cost + abs(program.logs.A).T @ abs(slope)
    if not size_of_cost.any():  # every feasible point is optimal, whatever the duals
        return Certificate(primal, fraction, 0.0, 0.0, 0.0)
    y = sign * row_duals
    reduced = sign * cost - program.A.T @ y
    row_part = y * _bound_for(y, program.row_lower, program.row_upper)
    column_part = reduced * _bound_for(reduced, program.col_lower, program.col_upper)
    total = float(max(size_of_cost @ abs(x), abs(row_part).sum() + abs(column_part).sum()))
    # a reduced cost matters by what it is worth at the column's reach, a dual by what it is worth at the row's size
    floor = np.divide(total, reach, out=np.full(len(x), np.inf), where=reach > 0)
    scale = np.maximum(size_of_cost + magnitude.T @ abs(y), floor)
    worth = np.divide(total, size, out=np.full(len(y), np.inf), where=size > 0)
    dual = max(
        _wrong_sign(reduced, scale, program.col_lower, program.col_upper),
        _wrong_sign(y, worth, program.row_lower, program.row_upper),
    )
    primal_value, dual_value = float(sign * cost @ x), float(row_part.sum() + column_part.sum())
    slack = np.minimum(abs(activity - program.row_lower), abs(program.row_upper - activity))
    complementarity = float((abs(y) * np.where(np.isfinite(slack), slack, 0.0)).max(initial=0.0))
    bound = np.where(np.isfinite(program.col_upper), abs(program.col_upper), 0.0)
    noise = ROUNDING * float((size_of_cost + magnitude.T @ abs(y)) @ np.maximum(bound, abs(x)))
    if total <= noise:  # nothing but the rounding of reduced costs, at an optimum of 0
        return Certificate(primal, fraction, dual, complementarity, 0.0)
    apart = abs(primal_value - dual_value)
    alone = apart / abs(primal_value) if primal_value else None
    return Certificate(primal, fraction, dual, complementarity / total, apart / total, alone)


def proves_infeasible(program: Program, multipliers: np.ndarray) -> bool:
    """Whether row multipliers y prove that no point satisfies all rows and bounds (Farkas).

    The rows ask for y·Ax of at least the smallest that the right-hand sides allow; the bounds of the variables allow
    less. O(nonzeros).
    """
    price = program.A.T @ multipliers
    # rounding noise in a price must not meet an infinite bound
    price[abs(price) <= SOLVER_TIGHTEST * (abs(program.A).T @ abs(multipliers))] = 0.0
    with np.errstate(invalid="ignore"):
        most = np.where(price > 0, price * program.col_upper, price * program.col_lower)
        least = np.where(multipliers > 0, multipliers * program.row_lower, multipliers * program.row_upper)
    # a bound that is not there makes them +∞ and −∞, which prove nothing
    most, least = most[price != 0], least[multipliers != 0]
    size = float(abs(most).sum() + abs(least).sum())
    return bool(least.sum() - most.sum() > VERIFIED * size)


def _finite_size(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the larger finite bound of each row, in size."""
    low, high = (np.where(np.isfinite(bound), abs(bound), 0.0) for bound in (lower, upper))
    return np.maximum(low, high)


def _reach(magnitude: csc_array[Any], rhs: np.ndarray) -> np.ndarray:
    """Return how large each variable could be by the tightest row with a nonzero bound (0 without one).

    It makes the measure of rounding noise independent of the units of rows and columns.
    """
    bound = rhs[magnitude.indices]
    tight = (bound > 0) & (magnitude.data > 0)
    ratio = np.divide(bound, magnitude.data, out=np.full(len(bound), np.inf), where=tight)
    reach = np.zeros(magnitude.shape[1])
    used = np.flatnonzero(np.diff(magnitude.indptr))
    if used.size:
        reach[used] = np.minimum.reduceat(ratio, magnitude.indptr[used])
    return np.where(np.isfinite(reach), reach, 0.0)


def _violation(value: np.ndarray, size: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Return the largest violation of ``lower <= value <= upper`` relative to the terms and the bound."""
    worst = 0.0
    for bound, beyond in ((lower, lower - value), (upper, value - upper)):
        bad = beyond > 0
        if bad.any():
            scale = np.maximum(size[bad], abs(bound[bad]))
            worst = max(worst, float((beyond[bad] / np.where(scale > 0, scale, 1.0)).max()))
    return worst


def _wrong_sign(price: np.ndarray, scale: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Return the largest price (minimisation sense) that would need a bound that is not there, relative."""
    wrong = np.where(np.isneginf(lower), np.maximum(price, 0.0), 0.0)
    wrong = np.maximum(wrong, np.where(np.isposinf(upper), np.maximum(-price, 0.0), 0.0))
    return float((wrong / np.where(scale > 0, scale, 1.0)).max(initial=0.0))


def _bound_for(price: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the bound that a price (minimisation sense) belongs to; 0 where that bound is infinite."""
    bound = np.where(price >= 0, lower, upper)
    return np.where(np.isfinite(bound), bound, 0.0)
