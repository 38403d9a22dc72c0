"""Sensitivity: how far right-hand sides and costs may move while a basis stays optimal.

By one sparse factorisation of the basis.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...errors import UnsupportedError
from ...tolerances import NEGLIGIBLE, SOLVER_TIGHTEST, VERIFIED
from .exact_certificate import BASIC, FREE, LOWER, UPPER
from .program import Program, tidy
from .sizes import reach_of
from .solution import RELAX

if TYPE_CHECKING:
    import pandas as pd

    from .solution import Solution

#: Right-hand sides that are solved for at once.
_AT_ONCE = 256

#: Lower and upper ends, and the number between them, of each row or column.
Ranges = tuple[np.ndarray, np.ndarray, np.ndarray]


def ranges(solution: Solution, of: Literal["constraints", "variables"]) -> pd.DataFrame:
    """Return the ranges of right-hand sides or costs; see :meth:`Solution.ranges`."""
    if of not in ("constraints", "variables"):
        raise UnsupportedError(
            f"ranges are of 'constraints' (right-hand sides) or 'variables' (costs), not of {of!r}"
        )
    program = solution.program
    if program.is_mip or program.logs is not None:
        raise UnsupportedError(
            f"{program.name!r} is no linear program; only those have a basis with ranges"
            f"{f': {RELAX}' if program.is_mip else ''}"
        )
    solution.require_optimal()
    if solution.basis is None:
        solution = _with_basis(solution)
    statuses = (
        np.array([int(s) for s in basis_part])
        for basis_part in (solution.basis.col_status, solution.basis.row_status)
    )
    basis = _FloatBasis(program, *statuses)
    middle, low, high, prices = basis.of_rows() if of == "constraints" else basis.of_columns()
    rows = of == "constraints"
    names = ("rhs", "dual") if rows else ("cost", "reduced_cost")
    numbers = dict(zip((*names, "lower", "upper"), (middle, prices, low, high), strict=True))
    return tidy(of[:-1], program.rows if rows else program.columns, numbers)


def _with_basis(solution: Solution) -> Solution:
    """Return the answer with a basis of its own point; raise where that is no vertex."""
    from .backends import at_point

    program = solution.program
    x = solution.require_point()
    vertex = at_point(program, x)
    size = np.maximum(reach_of(program), abs(x))
    size = np.maximum(size, NEGLIGIBLE * size.max(initial=0.0))
    if vertex.basis is None or vertex.x is None or (abs(vertex.x - x) > VERIFIED * size).any():
        raise UnsupportedError(
            f"the point of {program.name!r} that {solution.solver} gave is no vertex and has no "
            "ranges; solve('highs-simplex') gives a vertex"
        )
    return vertex


class _FloatBasis:
    """A factorised basis, active rows × basic columns, with its vertex and prices.

    The prices are those of a minimisation.
    """

    def __init__(self, program: Program, columns: np.ndarray, rows: np.ndarray) -> None:
        from scipy.sparse.linalg import splu

        self.program = program
        self.sign = 1.0 if program.sense == "min" else -1.0
        self.basic = columns == BASIC
        self.active = rows != BASIC
        A = program.A.tocsr()
        of_active = A[self.active].tocsc()
        self.of_inactive = A[~self.active].tocsc()[:, self.basic]
        self.others = of_active[:, ~self.basic]
        size = int(self.basic.sum())
        if size != int(self.active.sum()):
            raise UnsupportedError(
                f"the basis of {program.name!r} has {size} basic columns for other rows; solve "
                "again"
            )
        try:
            self.lu = splu(of_active[:, self.basic].tocsc()) if size else None
        except RuntimeError as error:
            raise UnsupportedError(f"the basis of {program.name!r} is singular: {error}") from None
        self.column_side = _sides(columns, program.col_lower, program.col_upper)
        self.row_side = _sides(rows, program.row_lower, program.row_upper)
        self.x = _at(self.column_side, program.col_lower, program.col_upper)
        self.side = _at(self.row_side, program.row_lower, program.row_upper)
        right = self.side[self.active] - self.others @ self.x[~self.basic]
        self.x[self.basic] = self.solve(right)
        self.costs = self.sign * program.c
        self.y = np.zeros(program.n_rows)
        self.y[self.active] = self.solve(self.costs[self.basic], "T")
        self.reduced = self.costs - program.A.T @ self.y

    def solve(self, right: np.ndarray, how: Literal["N", "T"] = "N") -> np.ndarray:
        """Solve with the basis, or its transpose."""
        return right if self.lu is None else np.asarray(self.lu.solve(right, how))

    def units(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield places in the basis, and unit vectors for them, some at once."""
        size = int(self.basic.sum())
        for start in range(0, size, _AT_ONCE):
            places = np.arange(start, min(start + _AT_ONCE, size))
            yield places, (np.arange(size)[:, None] == places).astype(float)

    def of_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return right-hand sides, how far they may fall and rise, and the duals."""
        program = self.program
        basic = self.basic
        active = self.active
        activity = program.A @ self.x
        values = np.concatenate([self.x[basic], activity[~active]])
        lower = np.concatenate([program.col_lower[basic], program.row_lower[~active]])
        upper = np.concatenate([program.col_upper[basic], program.row_upper[~active]])
        side, low, high = _of_inactive(program, activity)
        rows = np.flatnonzero(active)
        side[rows] = self.side[rows]
        for places, unit in self.units():
            moves = self.solve(unit)
            down, up = _steps(values, lower, upper, np.vstack([moves, self.of_inactive @ moves]))
            of_unit = rows[places]
            low[of_unit] = _moved(side[of_unit], down)
            high[of_unit] = _moved(side[of_unit], up)
        # one end of a range stays on its side of the other
        ranged = active & (program.row_lower < program.row_upper)
        high = np.where(
            ranged & (side == program.row_lower), np.minimum(high, program.row_upper), high
        )
        low = np.where(
            ranged & (side == program.row_upper), np.maximum(low, program.row_lower), low
        )
        return side, low, high, self.sign * self.y + 0.0  # 0, and not -0

    def of_columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return costs, how far they may fall and rise, and the reduced costs."""
        nonbasic = ~self.basic
        size = len(self.costs)
        low = np.full(size, -np.inf)
        high = np.full(size, np.inf)
        lower_costs = self.costs - self.reduced
        upper_costs = self.costs - self.reduced
        low = np.where(nonbasic & np.isin(self.column_side, (LOWER, FREE)), lower_costs, low)
        high = np.where(nonbasic & np.isin(self.column_side, (UPPER, FREE)), upper_costs, high)
        values = np.concatenate([self.reduced[nonbasic], self.y[self.active]])
        sides = np.concatenate([self.column_side[nonbasic], self.row_side[self.active]])
        lower = np.where(np.isin(sides, (LOWER, FREE)), 0.0, -np.inf)
        upper = np.where(np.isin(sides, (UPPER, FREE)), 0.0, np.inf)
        columns = np.flatnonzero(self.basic)
        for places, unit in self.units():
            moves = self.solve(unit, "T")
            moves_of_prices = np.vstack([-(self.others.T @ moves), moves])
            down, up = _steps(values, lower, upper, moves_of_prices)
            of_unit = columns[places]
            low[of_unit] = _moved(self.costs[of_unit], down)
            high[of_unit] = _moved(self.costs[of_unit], up)
        low, high = (low, high) if self.sign > 0 else (-high, -low)
        prices = self.sign * np.where(nonbasic, self.reduced, 0.0)
        return self.program.c, low + 0.0, high + 0.0, prices + 0.0  # 0, and not -0


#: What is neither at its lower nor at its upper bound, but fixed: its price may have any sign.
_FIXED = -1


def _sides(statuses: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the bound of each entry: LOWER, UPPER, FREE for none, fixed, or BASIC without one."""
    bound_side = np.where(
        np.isposinf(upper) | ((statuses != UPPER) & np.isfinite(lower)), LOWER, UPPER
    )
    bound_side = np.where(
        np.isinf(lower) & np.isinf(upper), FREE, np.where(lower == upper, _FIXED, bound_side)
    )
    return np.where(statuses == BASIC, BASIC, bound_side)


def _at(sides: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the bounds that these sides mean, 0 for what has none."""
    at_lower = np.isin(sides, (LOWER, _FIXED))
    return np.where(sides == UPPER, upper, np.where(at_lower, lower, 0.0))


def _of_inactive(program: Program, activity: np.ndarray) -> Ranges:
    """Return each row's nearer side and the range in which it may move, from the activity on.

    That of an equality may not move: the rows that are active fix it.
    """
    below = activity - program.row_lower
    above = program.row_upper - activity
    upper = above <= below
    fixed = program.row_lower == program.row_upper
    side = np.where(upper, program.row_upper, program.row_lower)
    low = np.where(fixed | (upper & np.isfinite(side)), activity, -np.inf)
    return side, low, np.where(upper & ~fixed, np.inf, activity)


def _steps(
    values: np.ndarray, lower: np.ndarray, upper: np.ndarray, rates: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far each column of rates can go down and up before a value reaches a bound."""
    rates = np.where(
        abs(rates) <= SOLVER_TIGHTEST * abs(rates).max(axis=0, initial=0.0), 0.0, rates
    )
    falls = np.minimum(lower - values, 0.0)[:, None]
    rises = np.maximum(upper - values, 0.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(rates > 0, rises, falls) / rates
        down = np.where(rates > 0, falls, rises) / rates
    up = np.where(rates == 0, np.inf, up)
    down = np.where(rates == 0, -np.inf, down)
    return down.max(axis=0, initial=-np.inf), up.min(axis=0, initial=np.inf)


def _moved(values: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return values after steps; 0 where both cancel but for rounding errors."""
    moved = values + steps
    return np.where(abs(moved) <= SOLVER_TIGHTEST * abs(values), 0.0, moved)
