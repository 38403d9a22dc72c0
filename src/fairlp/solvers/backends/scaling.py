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
from ...models.programs.program import Program, finite_size
from ...models.programs.sizes import largest_of, smallest_of, units
from ...tolerances import LARGEST_BOUND, SMALLEST_COEFFICIENT, SMALLEST_COST

_PASSES = 4
#: Programs whose coefficients, bounds and costs all lie within these are left as they are.
_MODERATE = (2.0**-5, 2.0**10)


@dataclass(frozen=True)
class Scaling:
    """Row and column factors, the factor of all right-hand sides, and of the objective."""

    rows: np.ndarray
    columns: np.ndarray
    rhs: float
    cost: float

    def row_bounds(self, bounds: np.ndarray, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return bounds of rows as the solver is to see them."""
        return bounds * (self.rows[rows] * self.rhs)

    def column_bounds(
        self, bounds: np.ndarray, columns: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Return bounds of columns as the solver is to see them."""
        return bounds * (self.rhs / self.columns[columns])

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


def equilibrate(program: Program) -> tuple[Scaling, np.ndarray]:
    """Return a scaling and the scaled matrix entries (in the order of ``program.A.data``).

    Raises
    ------
    UnsupportedError
        When an entry would still be dropped, or a bound be taken as infinite, by the solver; named.
    """
    A = program.A
    bound = np.isfinite(program.row_lower) | np.isfinite(program.row_upper)
    magnitude = np.where(bound[A.indices], abs(A.data), 0.0)  # a row without sides is no measure
    bounds = finite_size(program.row_lower, program.row_upper)
    bounds = bounds * (largest_of(magnitude, A.indices, program.n_rows) > 0)
    rows = np.ones(program.n_rows)
    columns = np.ones(program.n_columns)
    rhs = 1.0
    widths = finite_size(program.col_lower, program.col_upper)
    if all(map(_is_moderate, (magnitude, bounds, widths, abs(program.c)))):
        return Scaling(rows, columns, rhs, 1.0), A.data
    row_of = A.indices
    column_of = A.tocoo(copy=False).col
    if program.is_mip:
        scaling = _as_written(program, magnitude)
        data = A.data * scaling.rows[row_of]
        _refuse_extremes(program, scaling, data, row_of, column_of)
        return scaling, data
    # geometric mean of smallest and largest entry of each line: what keeps entries away from both 0
    # and infinity
    for _ in range(_PASSES):
        rows = 1.0 / _middle(magnitude * columns[column_of], row_of, program.n_rows)
        columns = 1.0 / _middle(magnitude * rows[row_of], column_of, program.n_columns)
    largest = largest_of(magnitude * columns[column_of], row_of, program.n_rows)
    rows = _power_of_two(1.0 / np.where(largest > 0, largest, 1.0))
    columns = _power_of_two(columns)
    sizes = np.concatenate([bounds * rows, widths / columns])
    sizes = sizes[sizes > 0]
    rhs = float(_power_of_two(1.0 / np.exp(np.log(sizes).mean()))) if sizes.size else 1.0
    priced = abs(program.c * columns).max(initial=0.0) / rhs
    if program.logs is not None:
        priced = max(priced, float(abs(program.logs.weights).max(initial=0.0)))
    cost = float(_power_of_two(1.0 / priced)) if priced > 0 else 1.0
    least = abs(program.c * columns)[program.c != 0].min(initial=np.inf) * cost / rhs
    # a solver would take it for 0: it may be as far below 1 as the largest is above
    if 0 < least < SMALLEST_COST:
        cost *= float(_power_of_two(min(SMALLEST_COST / least, 1 / SMALLEST_COST)))
    scaling = Scaling(rows, columns, rhs, cost)
    data = A.data * rows[row_of] * columns[column_of]
    _refuse_extremes(program, scaling, data, row_of, column_of)
    return scaling, data


def _as_written(program: Program, magnitude: np.ndarray) -> Scaling:
    """Return the scaling of an integer program: rows and costs have units, columns have none."""
    rows = 1.0 / units(magnitude, program.A.indices, program.n_rows)
    costs = units(abs(program.c), np.zeros(program.n_columns, dtype=int), 1)
    cost = float(_power_of_two(1.0 / costs[0]))
    return Scaling(_power_of_two(rows), np.ones(program.n_columns), 1.0, cost)


def _is_moderate(values: np.ndarray) -> bool:
    values = values[values > 0]
    return not values.size or bool(values.min() >= _MODERATE[0] and values.max() <= _MODERATE[1])


def _middle(values: np.ndarray, line: np.ndarray, lines: int) -> np.ndarray:
    """Return the geometric mean of the extreme entries of each line (1 for an empty line)."""
    largest = largest_of(values, line, lines)
    smallest = smallest_of(values, line, lines)
    used = largest > 0
    return np.sqrt(np.where(used, largest, 1.0)) * np.sqrt(np.where(used, smallest, 1.0))


def _power_of_two(values: np.ndarray | float) -> np.ndarray:
    return np.asarray(np.exp2(np.round(np.log2(values))))


def _name(names: list[str], position: int) -> str:
    """Return a name, or the number where a part of a program has no names of its own."""
    return names[position] if position < len(names) else f"number {position + 1}"


def _refuse_extremes(
    program: Program, scaling: Scaling, data: np.ndarray, row_of: np.ndarray, column_of: np.ndarray
) -> None:
    tiny = np.flatnonzero((abs(data) <= SMALLEST_COEFFICIENT) & (data != 0))
    if tiny.size:
        row = _name(program.row_names, row_of[tiny[0]])
        column = _name(program.column_names, column_of[tiny[0]])
        raise UnsupportedError(
            f"{tiny.size} coefficients of {program.name!r} are too small beside the others of "
            "their row and column for "
            f"floating-point solvers (first: {column} in {row}, {program.A.data[tiny[0]]:.3g}); "
            "set demands that do not matter to 0, or choose units nearer to each other"
        )
    for axis, scaled, bounds in (
        ("row", scaling.row_bounds, (program.row_lower, program.row_upper)),
        ("column", scaling.column_bounds, (program.col_lower, program.col_upper)),
    ):
        for bound in map(scaled, bounds):
            huge = np.flatnonzero(np.isfinite(bound) & (abs(bound) >= LARGEST_BOUND))
            if huge.size:
                name = _name(getattr(program, f"{axis}_names"), huge[0])
                raise UnsupportedError(
                    f"the bound of {axis} {name} of {program.name!r} is too large beside the "
                    "others; use infinity for "
                    "'no bound', or other units"
                )
