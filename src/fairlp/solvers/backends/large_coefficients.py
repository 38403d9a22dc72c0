"""Integers with a large coefficient (a big M): made as small as the rows need, or doubted.

They are doubted where the need is not known.

Solvers take a number within their tolerance of a whole one for whole. Beside a large M that is no
small matter: x <= M·b holds at x = 1 and b = 1/M. So they are given coefficients that are no larger
than their rows need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...models.programs.program import Program
from ...models.programs.sizes import implied_reach, units
from ...tolerances import NOISE, ROUNDING, VERIFIED


@dataclass(frozen=True)
class _Rows:
    """The rows of an integer program as a·x <= side, and what their coefficients need to be.

    Attributes
    ----------
    row, column : ndarray of int
        Of each entry.
    entries : ndarray
        a, entry by entry: negative where a row is >=.
    whole : ndarray of bool
        Of each entry whether its column is integer.
    single : ndarray of bool
        Rows that have one side.
    sign, side : ndarray
        Of each row; the side is 0 where there is not one.
    end : ndarray
        The bound of an entry's column at which a·x is largest, infinite where there is none.
    needed, unit : ndarray
        How large a coefficient of an integer needs to be in each row, at most; and the unit of the
        row.
    """

    row: np.ndarray
    column: np.ndarray
    entries: np.ndarray
    whole: np.ndarray
    single: np.ndarray
    sign: np.ndarray
    side: np.ndarray
    end: np.ndarray
    needed: np.ndarray
    unit: np.ndarray

    @property
    def products(self) -> np.ndarray:
        """Each entry times the end of its column."""
        products = np.zeros(len(self.entries))
        used = self.entries != 0
        products[used] = self.entries[used] * self.end[used]
        return products


def with_small_coefficients(program: Program) -> Program:
    """Return the integer program with the same points and no needlessly large coefficient.

    The coefficients are those of integers.

    A row a·x <= r whose largest activity by the bounds is r + d needs no coefficient of an integer
    beyond d: a step of that integer away from its end makes the row hold already (Savelsbergh
    1994).
    """
    if not program.is_mip:
        return program
    rows = _rows_of(program)
    row = rows.row
    entries = rows.entries
    large = (
        rows.whole
        & rows.single[row]
        & np.isfinite(rows.needed[row])
        & (abs(entries) > rows.needed[row])
    )
    if not large.any():
        return program
    place = row[large]
    smaller = np.sign(entries[large]) * rows.needed[place]
    data = program.A.data.copy()
    data[large] = rows.sign[place] * smaller
    # the large numbers cancel each other before the small ones are added
    before = np.bincount(place, rows.products[large], program.n_rows)
    after = np.bincount(place, smaller * rows.end[large], program.n_rows)
    side = rows.sign * ((rows.side - before) + after)
    changed = np.bincount(place, minlength=program.n_rows) > 0
    return program.replace(
        A=type(program.A)((data, program.A.indices, program.A.indptr), shape=program.A.shape),
        row_lower=np.where(changed & (rows.sign < 0), side, program.row_lower),
        row_upper=np.where(changed & (rows.sign > 0), side, program.row_upper),
    )


def within_objective(program: Program, x: np.ndarray) -> Program | None:
    """Return the program within bounds of points as good as ``x``, if these shrink a large M.

    None where they do not, or where no coefficient is large. Twice the room that the objective
    leaves is given.
    """
    largest = _largest(with_small_coefficients(program))
    if largest * NOISE < 1.0 or program.logs is not None:
        return None
    costs = program.c if program.sense == "min" else -program.c
    low, high = _bounds_with_reach(program)
    least = np.zeros(program.n_columns)
    priced = costs != 0
    least[priced] = costs[priced] * np.where(costs > 0, low, high)[priced]
    if not np.isfinite(least).all():
        return None
    unit = units(abs(costs), np.zeros(program.n_columns, dtype=int), 1)[0]
    room = np.full(program.n_columns, np.inf)
    room[priced] = 2.0 * (float(costs @ x) - float(least.sum()) + unit) / abs(costs[priced])
    continuous = program.integrality == 0
    falling = continuous & (costs < 0)
    rising = continuous & (costs > 0)
    col_lower = program.col_lower.copy()
    col_upper = program.col_upper.copy()
    col_lower[falling] = np.maximum(col_lower[falling], high[falling] - room[falling])
    col_upper[rising] = np.minimum(col_upper[rising], low[rising] + room[rising])
    bounded = program.replace(col_lower=col_lower, col_upper=col_upper)
    return bounded if _largest(with_small_coefficients(bounded)) < largest else None


def doubt(program: Program, tolerance: float) -> str:
    """Return why a solver's word about an integer program is not to be trusted; empty where it is.

    A coefficient of an integer is so large that the solver's tolerance times it is 1 in the unit of
    its row, and neither bounds nor rows without such a coefficient say that the row needs less. Or
    integers of one row have coefficients so far apart that the smallest is within the tolerance of
    the largest.

    Parameters
    ----------
    program : Program
    tolerance : float
        How far from a whole number the solver takes one for whole.
    """
    program = with_small_coefficients(program)
    rows = _rows_of(program)
    sizes = np.where(rows.whole, abs(rows.entries), 0.0)
    beyond = sizes / rows.unit[rows.row] * tolerance >= 1.0
    if beyond.any():
        large = np.zeros(program.n_rows, dtype=bool)
        large[rows.row[beyond]] = True
        others = program.replace(
            row_lower=np.where(large, -np.inf, program.row_lower),
            row_upper=np.where(large, np.inf, program.row_upper),
        )
        needed = _rows_of(program, _bounds_with_reach(others)).needed
        beyond &= ~np.isfinite(needed)[rows.row]
    apart = sizes / units(sizes, rows.row, program.n_rows)[rows.row] * VERIFIED >= 1.0
    if not (beyond | apart).any():
        return ""
    entry = int(np.where(beyond | apart, sizes, 0.0).argmax())
    row = program.row_names[rows.row[entry]]
    column = program.column_names[rows.column[entry]]
    return (
        f"{column} has a coefficient of {program.A.data[entry]:.3g} in {row}, beyond what a "
        "solver's tolerance of "
        f"{tolerance:g} can bear; give the other variables of that row bounds, or a smaller "
        "coefficient"
    )


def _largest(program: Program) -> float:
    """Return the largest coefficient of an integer in the unit of its row."""
    rows = _rows_of(program)
    return float(
        (np.where(rows.whole, abs(rows.entries), 0.0) / rows.unit[rows.row]).max(initial=0.0)
    )


def _bounds_with_reach(program: Program) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of the columns, those of continuous ones also by what the rows imply."""
    reach = np.where(program.integrality > 0, np.inf, implied_reach(program))
    low, high = program.whole_bounds()
    return np.maximum(low, -reach), np.minimum(high, reach)


def _rows_of(program: Program, bounds: tuple[np.ndarray, np.ndarray] | None = None) -> _Rows:
    """Return the needs of the rows within bounds of the columns.

    By default the bounds are those that all rows imply.
    """
    A = program.A
    row = A.indices
    column = np.repeat(np.arange(program.n_columns), np.diff(A.indptr))
    whole = program.integrality[column] > 0
    single = np.isfinite(program.row_lower) != np.isfinite(program.row_upper)
    sign = np.where(np.isfinite(program.row_upper), 1.0, -1.0)
    side = np.where(single, np.where(sign > 0, program.row_upper, -program.row_lower), 0.0)
    entries = sign[row] * A.data
    low, high = _bounds_with_reach(program) if bounds is None else bounds
    end = np.where(entries > 0, high[column], low[column])
    unit = units(abs(entries), row, program.n_rows)
    rows = _Rows(row, column, entries, whole, single, sign, side, end, unit, unit)
    products = rows.products
    by_integers = np.bincount(row, np.where(whole, products, 0.0), program.n_rows)
    by_others = np.bincount(row, np.where(whole, 0.0, products), program.n_rows)
    rounding = ROUNDING * (np.bincount(row, abs(products), program.n_rows) + abs(side))
    # twice what is needed, so that rounding cuts nothing off
    needed = np.maximum(2.0 * (by_others + (by_integers - side) + rounding), unit)
    return _Rows(row, column, entries, whole, single, sign, side, end, needed, unit)
