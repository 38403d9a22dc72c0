"""Equilibration by powers of two: exact, and undone exactly.

Solvers measure feasibility in absolute numbers and drop tiny coefficients. A cluster given in bytes
or in petabytes must come out the same, so every back end that works with absolute tolerances gets
numbers of about 1.

Integer programs keep their columns: beside a big M, a column divided by its root is below a
solver's tolerance. Their rows and costs are multiplied by what brings 1 between the smallest and
the largest of their numbers, and stay as they are written where 1 is between them already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import UnsupportedError
from ...models.programs.program import Program, finite_size, with_data
from ...models.programs.sizes import implied_reach, largest_of, units
from ...tolerances import (
    FEASIBILITY,
    LARGEST_BOUND,
    NOISE_COEFFICIENT,
    SMALLEST_COEFFICIENT,
    SMALLEST_COST,
)

_PASSES = 4
#: Programs whose coefficients, bounds and costs all lie within these are left as they are.
_MODERATE = (2.0**-5, 2.0**10)
#: The largest exponents of two of the factors of rows and columns, of all right-hand sides, and of
#: the costs (powers in an objective have slopes of 1e250), whose products are within floating point.
_MOST_EXPONENT = 500.0
_MOST_OF_SIDES = 200.0
_MOST_OF_COSTS = 1000.0


@dataclass(frozen=True)
class Scaling:
    """Row and column factors, the factor of all right-hand sides, and of the objective."""

    rows: np.ndarray
    columns: np.ndarray
    rhs: float
    cost: float

    def row_bounds(self, bounds: np.ndarray, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return bounds of rows as the solver is to see them."""
        return _bounds(bounds, self.rows[rows] * self.rhs)

    def column_bounds(
        self, bounds: np.ndarray, columns: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Return bounds of columns as the solver is to see them."""
        return _bounds(bounds, self.rhs / self.columns[columns])

    def costs(self, costs: np.ndarray) -> np.ndarray:
        """Return costs as the solver is to see them."""
        return costs * (self.columns * (self.cost / self.rhs))

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the solver's column values in the user's numbers."""
        return x * (self.columns / self.rhs)

    def row_duals(self, y: np.ndarray) -> np.ndarray:
        """Return the solver's row duals in the user's numbers."""
        return y * (self.rows * (self.rhs / self.cost))

    def column_duals(self, d: np.ndarray) -> np.ndarray:
        """Return the solver's reduced costs in the user's numbers."""
        return d * (self.rhs / (self.cost * self.columns))


def _bounds(bounds: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return scaled bounds, infinite where solvers take them as infinite."""
    with np.errstate(over="ignore"):
        scaled = bounds * factors
    is_far = abs(scaled) >= LARGEST_BOUND
    return np.asarray(np.where(is_far, np.copysign(np.inf, scaled), scaled))


def unscaled(program: Program) -> tuple[Scaling, np.ndarray]:
    """Return the scaling that leaves all numbers as they are written, and the entries.

    Raises
    ------
    UnsupportedError
        For a coefficient that is infinite for solvers.
    """
    largest = float(abs(program.A.data).max(initial=0.0))
    if largest >= LARGEST_BOUND:
        raise UnsupportedError(
            f"{program.name!r} has a coefficient of {largest:.3g}, which solvers take as infinite; "
            "solve it with scale=True"
        )
    ones = Scaling(np.ones(program.n_rows), np.ones(program.n_columns), 1.0, 1.0)
    return ones, np.where(abs(program.A.data) <= SMALLEST_COEFFICIENT, 0.0, program.A.data)


def equilibrate(program: Program) -> tuple[Scaling, np.ndarray]:
    """Return a scaling and the scaled matrix entries (in the order of ``program.A.data``).

    Entries that are noise beside the others of their row and column are no measure, and 0 where
    they are given to a solver, as are those that the solver would drop by itself. The answer is
    verified on the numbers as they are written.

    Raises
    ------
    UnsupportedError
        When a bound that must be reached would be taken as infinite by the solver; named.
    """
    A = program.A
    bound = np.isfinite(program.row_lower) | np.isfinite(program.row_upper)
    magnitude = np.where(bound[A.indices], abs(A.data), 0.0)  # a row without sides is no measure
    bounds = finite_size(program.row_lower, program.row_upper)
    bounds = bounds * (largest_of(magnitude, A.indices, program.n_rows) > 0)
    widths = finite_size(program.col_lower, program.col_upper)
    if all(map(_is_moderate, (magnitude, bounds, widths, abs(program.c)))):
        return unscaled(program)[0], A.data
    noise = _noise(program)
    magnitude = np.where(noise, 0.0, magnitude)
    if program.is_mip:
        scaling = _as_written(program, magnitude)
        exponents = np.log2(scaling.rows)[A.indices]
    else:
        scaling, exponents = _geometric(program, magnitude, bounds, widths)
    data = np.where(noise, 0.0, np.ldexp(A.data, exponents.astype(int)))
    data[abs(data) <= SMALLEST_COEFFICIENT] = 0.0
    _refuse_far_bounds(program, scaling)
    return scaling, data


def _geometric(
    program: Program, magnitude: np.ndarray, bounds: np.ndarray, widths: np.ndarray
) -> tuple[Scaling, np.ndarray]:
    """Return the scaling of a linear program, and the exponent of two that each entry gets.

    Rows and columns are divided by the geometric mean of their smallest and largest entry, which
    keeps entries away from both 0 and infinity. All is computed in exponents of two, where no
    number is too large or too small.
    """
    row_of = program.A.indices
    column_of = _columns_of(program)
    size = _exponent(magnitude)
    rows = np.zeros(program.n_rows)
    columns = np.zeros(program.n_columns)
    for _ in range(_PASSES):
        rows = -_middle(size + columns[column_of], row_of, program.n_rows)
        columns = -_middle(size + rows[row_of], column_of, program.n_columns)
    largest = _largest_exponent(size + columns[column_of], row_of, program.n_rows)
    rows = _within_range(-np.where(np.isfinite(largest), largest, 0.0))
    columns = _within_range(columns)

    sizes = np.concatenate([_exponent(bounds) + rows, _exponent(widths) - columns])
    sizes = sizes[np.isfinite(sizes)]
    rhs = float(_within_range(-sizes.mean(), _MOST_OF_SIDES)) if sizes.size else 0.0
    costs = _exponent(program.c) + columns - rhs
    costs = costs[np.isfinite(costs)]
    most = costs.max(initial=-np.inf)
    if program.logs is not None:
        most = max(most, float(_exponent(program.logs.weights).max(initial=-np.inf)))
    cost = float(_within_range(-most, _MOST_OF_COSTS)) if np.isfinite(most) else 0.0
    least = costs.min(initial=np.inf) + cost
    # a solver would take it for 0: it may be as far below 1 as the largest is above
    room = -np.log2(SMALLEST_COST)
    if least < -room:
        cost += float(np.round(min(-room - least, room)))
    scaling = Scaling(np.exp2(rows), np.exp2(columns), 2.0**rhs, 2.0**cost)
    return scaling, rows[row_of] + columns[column_of]


def _noise(program: Program) -> np.ndarray:
    """Return which entries of the matrix are rounding noise beside the others (bool).

    They are so where every row and column has been divided by its largest entry, and are nothing
    in their row at the largest that bounds and rows allow the column.
    """
    size = _exponent(program.A.data)
    used = np.isfinite(size)
    if not used.any() or size[used].min() > size.max() + np.log2(NOISE_COEFFICIENT):
        return np.zeros(len(size), dtype=bool)
    row_of = program.A.indices[used]
    column_of = _columns_of(program)[used]
    relative = size[used]
    for _ in range(_PASSES):
        of_rows = _largest_exponent(relative, row_of, program.n_rows)
        of_columns = _largest_exponent(relative, column_of, program.n_columns)
        relative = relative - (of_rows[row_of] + of_columns[column_of]) / 2
    is_small = np.zeros(len(size), dtype=bool)
    is_small[used] = relative <= np.log2(NOISE_COEFFICIENT)
    if not is_small.any():
        return is_small
    # what bounds a column but for entries that may be noise
    others = with_data(program.A, np.where(is_small, 0.0, program.A.data))
    reach = np.repeat(implied_reach(program.replace(A=others)), np.diff(program.A.indptr))
    with np.errstate(over="ignore", invalid="ignore"):
        value = abs(program.A.data) * reach
        in_unit = abs(program.A.data) * np.minimum(reach, 1.0)
    unit = np.maximum(
        largest_of(in_unit, program.A.indices, program.n_rows),
        finite_size(program.row_lower, program.row_upper),
    )
    # where nothing bounds a column, a solver takes no more of it than it needs
    is_nothing = np.isinf(reach) | (value <= FEASIBILITY * unit[program.A.indices])
    return np.asarray(is_small & is_nothing)


def _as_written(program: Program, magnitude: np.ndarray) -> Scaling:
    """Return the scaling of an integer program: rows and costs have units, columns have none."""
    rows = units(magnitude, program.A.indices, program.n_rows)
    costs = units(abs(program.c), np.zeros(program.n_columns, dtype=int), 1)
    ones = np.ones(program.n_columns)
    cost = float(np.exp2(_within_range(-_exponent(costs), _MOST_OF_COSTS))[0])
    return Scaling(np.exp2(_within_range(-_exponent(rows))), ones, 1.0, cost)


def _is_moderate(values: np.ndarray) -> bool:
    values = values[values > 0]
    return not values.size or bool(values.min() >= _MODERATE[0] and values.max() <= _MODERATE[1])


def _columns_of(program: Program) -> np.ndarray:
    """Return the column of each entry."""
    return np.repeat(np.arange(program.n_columns), np.diff(program.A.indptr))


def _exponent(values: np.ndarray) -> np.ndarray:
    """Return the logarithms of two of sizes, −∞ for 0 and for infinite ones."""
    sizes = np.where(np.isfinite(values), abs(values), 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(sizes))


def _largest_exponent(values: np.ndarray, line: np.ndarray, lines: int) -> np.ndarray:
    """Return the largest exponent of each line, −∞ where there is none."""
    largest = np.full(lines, -np.inf)
    np.maximum.at(largest, line, values)
    return largest


def _middle(values: np.ndarray, line: np.ndarray, lines: int) -> np.ndarray:
    """Return the mean of the extreme exponents of each line (0 for an empty line)."""
    used = np.isfinite(values)
    largest = _largest_exponent(values[used], line[used], lines)
    smallest = -_largest_exponent(-values[used], line[used], lines)
    is_empty = np.isinf(largest)
    return np.where(is_empty, 0.0, (largest + np.where(is_empty, 0.0, smallest)) / 2)


def _within_range(exponents: np.ndarray, most: float = _MOST_EXPONENT) -> np.ndarray:
    """Return whole exponents, so that products of three powers are neither 0 nor infinite."""
    return np.asarray(np.clip(np.round(exponents), -most, most))


def _refuse_far_bounds(program: Program, scaling: Scaling) -> None:
    """Raise for a side that must be reached, and is infinite for solvers; others bind nothing."""
    for axis, scaled, lower, upper in (
        ("row", scaling.row_bounds, program.row_lower, program.row_upper),
        ("column", scaling.column_bounds, program.col_lower, program.col_upper),
    ):
        beyond = np.flatnonzero(
            (np.isfinite(lower) & np.isposinf(scaled(lower)))
            | (np.isfinite(upper) & np.isneginf(scaled(upper)))
        )
        if beyond.size:
            names = getattr(program, f"{axis}_names")
            position = int(beyond[0])
            name = names[position] if position < len(names) else f"number {position + 1}"
            raise UnsupportedError(
                f"the bound of {axis} {name} of {program.name!r} is too large beside the "
                "others; use infinity for "
                "'no bound', or other units"
            )
