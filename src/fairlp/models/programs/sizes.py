"""The sizes that a program's numbers are relative to: one rule for rows, columns and prices.

The objective follows the same rule.

A number counts relative to the terms (coefficient times value) that it is a sum of, because what
rounding and a solver's tolerance leave of it is relative to them, too. Where all values are 0, a
small part of the largest possible terms takes their place: the coefficient times the largest value
that the variable can take (its *reach*), or times the largest price that the costs allow. Hence a
size is ``max(terms, part · largest possible terms)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tolerances import (
    ACCEPTED,
    CONFORMANCE,
    FEASIBILITY,
    MILP_TOLERANCES,
    NEGLIGIBLE,
    ROUNDING,
    VERIFIED,
)
from .integers import rows_at_integers
from .program import Program, finite_size, with_data

if TYPE_CHECKING:
    from scipy.sparse import csc_array

#: The part of what an objective or a price could be, of which one that is 0 is known to a solver's
#: tolerance.
NEAR_ZERO = ACCEPTED / VERIFIED
#: Passes of bounds through rows: shares bound a level, which bounds the totals made of it.
_REACH_PASSES = 4


class Sizes:
    """The sizes of a program's numbers at a point.

    Sizes come one after the other, each at least the one before: the terms at the point first, then
    the terms that could be, which cost more to compute and are needed only where an error is larger
    than ``VERIFIED`` of the first.

    Attributes
    ----------
    activity : ndarray
        A·x, shape (rows,).
    rows : ndarray
        Terms and sides of each row, shape (rows,).
    costs : ndarray
        Size of each cost, with the slopes of logarithms and powers, shape (columns,).
    objective : float
        Terms of the objective.
    """

    def __init__(self, program: Program, x: np.ndarray) -> None:
        self.program = program
        self.x = x
        self.magnitude = with_data(program.A, abs(program.A.data))
        self.activity = program.A @ x
        sides = finite_size(program.row_lower, program.row_upper)
        self.rows = np.maximum(self.magnitude @ abs(x), sides)

    @cached_property
    def costs(self) -> np.ndarray:
        """Size of each cost."""
        size = abs(self.program.c)
        logs = self.program.logs
        if logs is None:
            return size
        z = logs.arguments(self.x)
        # The slope of a square is its argument, known to FEASIBILITY of the argument's terms.
        terms = abs(logs.A) @ abs(self.x) + abs(logs.constant)
        floor = np.where(logs.alpha < 0, FEASIBILITY / VERIFIED * terms, 0.0)
        slopes = np.maximum(abs(logs.slopes(z)), abs(logs.weights) * floor)
        return np.asarray(size + abs(logs.A).T @ slopes)

    @cached_property
    def at_integers(self) -> tuple[Program, np.ndarray]:
        """The linear program that the integers leave, and the point with whole numbers for them."""
        if not self.program.is_mip:
            return self.program, self.x
        is_whole = self.program.integrality > 0
        x = np.where(is_whole, np.round(self.x), self.x)
        return rows_at_integers(self.program, np.where(is_whole, x, 0.0)), x

    @cached_property
    def objective(self) -> float:
        """Terms of the objective."""
        return float(self.costs @ abs(self.x))

    def sizes_of_rows_and_columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield sizes of the rows and of the columns.

        Integers count as the whole numbers that they stand for: neither a tolerance times a big M
        nor the terms of the integers excuse a row.
        """
        linear, x = self.at_integers
        rows = self.rows
        if self.program.is_mip:
            only_integers = np.bincount(linear.A.indices, minlength=linear.n_rows) == 0
            rows = np.where(only_integers, _row_units(self.program), abs(linear.A) @ abs(x))
        yield rows, abs(x)

        reach = np.maximum(abs(x), reach_of(linear))
        rows = np.maximum(rows, abs(linear.A) @ (NEGLIGIBLE * reach))
        rows = np.maximum(rows, self._negligible(float(reach.max(initial=0.0))))
        rows = np.maximum(rows, FEASIBILITY / VERIFIED * units_of_still_rows(linear))
        yield rows, np.maximum(reach, tightest(linear.A, rows[linear.A.indices]))

    def sizes_of_reduced_costs(self, terms: np.ndarray) -> Iterator[np.ndarray]:
        """Yield sizes of the reduced costs; ``terms`` are those of their costs and row duals."""
        yield np.where(terms > 0, terms, 1.0)

        by_row = self.program.A.T.tocsc()
        prices = tightest(by_row, self.costs[by_row.indices])
        possible = NEAR_ZERO * (self.magnitude.T @ prices)
        yield np.maximum(terms, possible + np.finfo(float).tiny)

    def worth_of_reduced_costs(self, errors: np.ndarray) -> np.ndarray:
        """Return what wrong reduced costs can be worth, relative to the objective's size.

        That is their value at the largest that bounds and rows allow the column. Where nothing
        bounds it, at the largest value among the columns of its kind, and not less than the error
        in the unit of the costs: beside costs about 1, a reduced cost of ``FEASIBILITY`` is
        rounding, and one of 10⁻⁶ is not, however large the objective is.
        """
        program = self.program
        *_, objective = self.sizes_of_objective(0.0)
        unit = units(self.costs, np.zeros(program.n_columns, dtype=int), 1)[0]
        in_unit = errors / unit * (VERIFIED / FEASIBILITY)
        if not objective > 0:  # all that is known of its size is the unit of the costs
            return np.asarray(in_unit)
        reach = np.maximum(abs(self.x), implied_reach(program))
        endless = np.isinf(reach)
        largest = by_kind(program, np.maximum(abs(self.x), reach_of(program)))
        worth = errors * np.where(endless, largest, reach) / objective
        return np.where(endless, np.maximum(worth, in_unit), worth)

    def sizes_of_objective(self, dual_value: float) -> Iterator[float]:
        """Yield sizes of the objective, beside that of the dual.

        Not the dual's own terms: those can cancel each other and be of any size. The second one
        has a floor: a priced column moved by ``FEASIBILITY`` of what counts in its rows. An
        objective that is more than a difference within that floor is held to ``CONFORMANCE`` of
        itself, too (a goal of weight 10⁶ does not excuse one of weight 10²).
        """
        size = max(self.objective, abs(dual_value))
        yield size

        could_be = NEAR_ZERO * float(self.costs @ reach_of(self.program))
        moved = float((self.costs * self._values_in_rows).max(initial=0.0))
        floor = max(could_be, FEASIBILITY / VERIFIED * moved)
        if size > VERIFIED * floor:
            floor = min(floor, CONFORMANCE / VERIFIED * size)
        yield max(size, floor)

    def _negligible(self, largest_reach: float) -> np.ndarray:
        """Return the least size of each row, in its unit.

        In a row of numbers about 1, 10⁻¹⁶ counts as 0. Of a linear program a row's unit is its
        largest coefficient times the unit of that column: a column moved by ``FEASIBILITY`` of its
        unit changes nothing that a user could mean. A number below the rounding of the smallest
        coefficient counts as nothing, too.
        """
        program = self.program
        at_most_one = min(1.0, largest_reach)
        if program.is_mip:
            return NEGLIGIBLE * at_most_one * _row_units(program)
        sizes = abs(program.A.data)
        row = program.A.indices
        smallest = smallest_of(sizes, row, program.n_rows)
        rounding = ROUNDING * at_most_one * np.where(np.isfinite(smallest), smallest, 0.0)
        columns = np.repeat(self._column_units(), np.diff(program.A.indptr))
        moved = FEASIBILITY * largest_of(sizes * columns, row, program.n_rows)
        return np.asarray(np.maximum(rounding, moved) / VERIFIED)

    @cached_property
    def _values_in_rows(self) -> np.ndarray:
        """The value of each column that makes a term as large as one of its rows, at most 1.

        The objective counts as a row, too.
        """
        program = self.program
        used = program.A.data != 0
        column = np.repeat(np.arange(program.n_columns), np.diff(program.A.indptr))[used]
        priced = self.costs > 0
        with np.errstate(over="ignore"):
            value = self.rows[program.A.indices[used]] / abs(program.A.data[used])
            by_cost = self.objective / self.costs[priced]
        largest = largest_of(value, column, program.n_columns)
        largest[priced] = np.maximum(largest[priced], by_cost)
        return np.asarray(np.minimum(1.0, largest))

    def _column_units(self) -> np.ndarray:
        """Return the unit of each column: the largest value of its kind, at most 1.

        A column that happens to be 0 has the unit of the others of its kind, and large numbers of
        other kinds excuse nothing. It is no more than what makes a term as large as one of the
        column's rows, so that a kind may have columns in several units.
        """
        of_kind = by_kind(self.program, abs(self.x))
        return np.asarray(np.minimum(self._values_in_rows, of_kind))


def by_kind(program: Program, sizes: np.ndarray) -> np.ndarray:
    """Return for each column the largest size among the columns of its kind.

    The columns of one block are of one kind, and so are all single variables (without an index).
    """
    largest = np.zeros(program.n_columns)
    is_single = np.zeros(program.n_columns, dtype=bool)
    for block in program.columns:
        largest[block.slice] = sizes[block.slice].max(initial=0.0)
        is_single[block.slice] = not block.axes
    largest[is_single] = sizes[is_single].max(initial=0.0)
    return largest


def integer_objective_size(program: Program, x: np.ndarray) -> float:
    """Return the size of an integer program's objective.

    That is its terms, and so much of the unit of costs that a difference within a solver's
    tolerance is none.
    """
    unit = units(abs(program.c), np.zeros(program.n_columns, dtype=int), 1)[0]
    terms = float(abs(program.c) @ abs(x))
    return max(terms, float(unit) * FEASIBILITY / MILP_TOLERANCES[-1])


def _row_units(program: Program) -> np.ndarray:
    return units(abs(program.A.data), program.A.indices, program.n_rows)


def units(sizes: np.ndarray, line: np.ndarray, lines: int) -> np.ndarray:
    """Return the unit of each line of numbers >= 0: the value in its range that is nearest to 1.

    So the unit is 1 where numbers stand on both sides of 1, as in x <= 1e9·b, and in a row without
    numbers.
    """
    largest = largest_of(sizes, line, lines)
    smallest = smallest_of(sizes, line, lines)
    return np.where(largest > 0, np.clip(1.0, smallest, largest), 1.0)


def largest_of(values: np.ndarray, line: np.ndarray, lines: int) -> np.ndarray:
    """Return the largest value of each line, 0 where there is none above."""
    largest = np.zeros(lines)
    np.maximum.at(largest, line, values)
    return largest


def smallest_of(values: np.ndarray, line: np.ndarray, lines: int) -> np.ndarray:
    """Return the smallest value above 0 of each line, infinite where there is none."""
    smallest = np.full(lines, np.inf)
    np.minimum.at(
        smallest, line, np.where(values > 0, values, np.inf)
    )  # entries may have been set to 0 in a series
    return smallest


def tightest(A: csc_array[Any], sides: np.ndarray) -> np.ndarray:
    """Return each column's smallest |side / coefficient| over finite nonzero sides, else 0."""
    tight = np.isfinite(sides) & (sides != 0) & (A.data != 0)
    endless = np.full(len(sides), np.inf)
    with np.errstate(over="ignore"):
        ratio = np.divide(abs(sides), abs(A.data), out=endless, where=tight)
    reach = np.zeros(A.shape[1])
    used = np.flatnonzero(np.diff(A.indptr))
    if used.size:
        reach[used] = np.minimum.reduceat(ratio, A.indptr[used])
    return np.where(np.isfinite(reach), reach, 0.0)


def reach_of(program: Program) -> np.ndarray:
    """Return each variable's reach by its bounds and its tightest row with a nonzero side.

    It takes O(nonzeros).

    0 where nothing says so; 1 where nothing in its rows has a size either, so that there is no
    other unit.
    """
    A = program.A
    lower = program.row_lower[program.A.indices]
    upper = program.row_upper[program.A.indices]
    # the side that an entry runs into: it makes the measure of rounding independent of the units of
    # rows and columns
    by_rows = tightest(A, np.where(A.data > 0, upper, lower))
    below = program.col_lower < 0
    if below.any():
        by_rows = np.where(
            below, np.maximum(by_rows, tightest(A, np.where(A.data > 0, lower, upper))), by_rows
        )
    by_bounds = finite_size(program.col_lower, program.col_upper)
    has_both = (by_rows > 0) & (by_bounds > 0)
    reach = np.where(has_both, np.minimum(by_rows, by_bounds), np.maximum(by_rows, by_bounds))
    has_size = (abs(A) @ reach > 0) | (finite_size(program.row_lower, program.row_upper) > 0)
    moves_nothing = (reach == 0) & (abs(A).T @ has_size == 0)
    return np.where(moves_nothing, 1.0, reach)


def implied_reach(program: Program) -> np.ndarray:
    """Return the largest size of each column within bounds and rows, else infinity.

    It takes O(nonzeros).
    """
    low, high = _implied_bounds(program)
    reach: np.ndarray = np.maximum(abs(low), abs(high))
    return reach


def _implied_bounds(program: Program) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of each column within bounds and rows; O(nonzeros).

    A row bounds an entry by what its other entries can be at least and at most. What that bounds
    may bound others, so that it is done a few times.
    """
    A = program.A
    used = A.data != 0
    row = A.indices[used]
    a = A.data[used]
    column = np.repeat(np.arange(program.n_columns), np.diff(A.indptr))[used]
    low = program.col_lower.copy()
    high = program.col_upper.copy()
    for _ in range(_REACH_PASSES):
        before = np.isinf(low).sum() + np.isinf(high).sum()
        with np.errstate(over="ignore"):
            ends = (
                a * np.where(a > 0, low[column], high[column]),
                a * np.where(a > 0, high[column], low[column]),
            )
            smallest, largest = (_sum_of_others(end, row, program.n_rows) for end in ends)
            below = (program.row_upper[row] - smallest) / a
            above = (program.row_lower[row] - largest) / a
        np.minimum.at(high, column, np.where(a > 0, below, above))
        np.maximum.at(low, column, np.where(a > 0, above, below))
        if np.isinf(low).sum() + np.isinf(high).sum() == before:
            break
    return low, high


def units_of_still_rows(program: Program) -> np.ndarray:
    """Return the largest coefficient of each row that nothing moves, 1 without any; else 0.

    Such a row has no column, or only some that bounds and rows hold at 0, or would if the row were
    not there. Its terms say nothing of its size, so that a side within ``FEASIBILITY`` of this unit
    is rounding (0 = .3 − .1 − .2).
    """
    A = program.A
    low, high = _implied_bounds(program)
    reach = np.maximum(abs(low), abs(high))
    is_small = reach <= FEASIBILITY * min(1.0, float(reach.max(initial=0.0)))
    moves = ~is_small | ((low <= high) & (reach > 0))
    sizes = abs(A.data)
    entry_moves = np.repeat(moves, np.diff(A.indptr)) & (sizes > 0)
    is_still = np.bincount(A.indices, entry_moves, program.n_rows) == 0
    largest = largest_of(sizes, A.indices, program.n_rows)
    return np.where(is_still, np.where(largest > 0, largest, 1.0), 0.0)


def _sum_of_others(values: np.ndarray, row: np.ndarray, rows: int) -> np.ndarray:
    """Return for each entry the sum of its row's other entries, infinite if one of them is."""
    endless = np.isinf(values)
    finite = np.where(endless, 0.0, values)
    sums = np.bincount(row, finite, rows)
    counts = np.bincount(row, endless, rows)
    worst = values[endless][0] if endless.any() else 0.0  # all ends of one side are of one sign
    return np.asarray(np.where(counts[row] > endless, worst, sums[row] - finite))


def sign_errors(price: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the size of each price (minimisation sense) that needs a missing bound, else 0."""
    errors = np.where(np.isneginf(lower), np.maximum(price, 0.0), 0.0)
    return np.maximum(errors, np.where(np.isposinf(upper), np.maximum(-price, 0.0), 0.0))
