"""Is a basis exactly optimal? Vertex and duals rebuilt from it in rationals, every sign checked.

Floats are the rationals that they are (0.1 is 3602879701896397/2^55): what is proved is the optimality of the Program
as it stands. Nothing of the solver is used but the list of what is basic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import SolverNotAvailableError, UnsupportedError
from .program import Program

if TYPE_CHECKING:
    from .solution import Solution

#: Statuses of columns and rows, in HiGHS's numbers.
LOWER, BASIC, UPPER, FREE = 0, 1, 2, 3


@dataclass(frozen=True)
class ExactCertificate:
    """The verdict on a basis.

    Attributes
    ----------
    proved : bool
        The vertex is feasible and the duals prove it optimal, without any tolerance.
    objective : Fraction or None
        The exact optimum (None when the basis is singular).
    message : str
        "optimal, proved", or what fails, by name.
    x, row_duals : list of Fraction
        Vertex and duals (∂objective/∂right-hand side in the user's sense).
    """

    proved: bool
    objective: Fraction | None
    message: str
    x: list[Fraction] = field(default_factory=list, repr=False)
    row_duals: list[Fraction] = field(default_factory=list, repr=False)

    def __bool__(self) -> bool:
        return self.proved

    def __str__(self) -> str:
        return self.message if self.objective is None else f"{self.message} (objective {float(self.objective):.17g})"


def prove(solution: Solution) -> ExactCertificate:
    """Return whether the basis of a solution is exactly optimal for its program.

    Raises
    ------
    UnsupportedError
        Without a basis (interior point without crossover), or with logarithms or integer variables.
    SolverNotAvailableError
        Without python-flint.
    """
    program, basis = solution.program, solution.basis
    if program.logs is not None or program.is_mip:
        raise UnsupportedError(f"{program.name!r} is no linear program; only those have a basis to prove optimal")
    if basis is None:
        raise UnsupportedError(
            f"{solution.solver} kept no basis of {program.name!r}; solve with solver='highs', method='simplex'"
        )
    return prove_basis(program, [int(s) for s in basis.col_status], [int(s) for s in basis.row_status])


def prove_basis(
    program: Program,
    columns: Sequence[int],
    rows: Sequence[int],
    lower: Sequence[Fraction | None] | None = None,
) -> ExactCertificate:
    """Return whether a basis is exactly optimal; O(k³) for k basic columns, less where they are sparse.

    Parameters
    ----------
    program : Program
        Linear.
    columns, rows : sequence of int
        0 at its lower bound, 1 basic, 2 at its upper bound, 3 free at zero (HiGHS's numbers).
    lower : sequence of (Fraction or None), optional
        Exact lower bounds of rows, where they are not the program's floats.
    """
    flint = _flint()
    exact = Exact(program, lower)
    basic = [j for j, status in enumerate(columns) if status == BASIC]
    active = [i for i, status in enumerate(rows) if status != BASIC]
    if len(basic) != len(active):
        return ExactCertificate(False, None, f"no basis: {len(basic)} basic columns for {len(active)} active rows")
    x: list[Any] = [flint.fmpq(0)] * program.n_columns
    for j, status in enumerate(columns):
        if status != BASIC:
            x[j] = exact.column_at(j, status)
    sides = [exact.row_at(i, rows[i]) for i in active]
    missing = [i for i, side in zip(active, sides, strict=True) if side is None]
    if missing or any(value is None for value in x):
        return ExactCertificate(False, None, "no basis: something is said to be at a bound that it does not have")
    position = {j: k for k, j in enumerate(basic)}
    place = {i: k for k, i in enumerate(active)}
    size = len(basic)
    matrix = flint.fmpq_mat(size, size)
    right = flint.fmpq_mat(size, 1)
    for k, side in enumerate(sides):
        right[k, 0] = side
    for j in range(program.n_columns):
        for i, value in exact.column(j):
            if i in place:
                if j in position:
                    matrix[place[i], position[j]] = value
                else:
                    right[place[i], 0] -= value * x[j]
    costs = flint.fmpq_mat(size, 1)
    for j, k in position.items():
        costs[k, 0] = exact.cost(j)
    try:
        vertex = matrix.solve(right) if size else right
        prices = matrix.transpose().solve(costs) if size else costs
    except ZeroDivisionError:
        return ExactCertificate(False, None, "the basis is singular")
    for j, k in position.items():
        x[j] = vertex[k, 0]
    y = [flint.fmpq(0)] * program.n_rows
    for i, k in place.items():
        y[i] = prices[k, 0]
    problem = exact.primal_problem(x) or exact.dual_problem(y, columns, rows)
    objective = exact.offset + sum((exact.cost(j) * x[j] for j in range(len(x))), flint.fmpq(0)) * exact.sign
    found = [Fraction(int(value.p), int(value.q)) for value in x]
    duals = [Fraction(int(value.p), int(value.q)) * int(exact.sign) for value in y]
    value = Fraction(int(objective.p), int(objective.q))
    return ExactCertificate(not problem, value, problem or "optimal, proved", found, duals)


class Exact:
    """The program in rationals, as a minimum."""

    def __init__(self, program: Program, lower: Sequence[Fraction | None] | None) -> None:
        self.flint = _flint()
        self.program = program
        self.sign = self.flint.fmpq(1 if program.sense == "min" else -1)
        self.offset = self._of(program.offset)
        self.given = lower
        self.A = program.A.tocsc()

    def _of(self, value: float) -> Any:
        top, bottom = float(value).as_integer_ratio()
        return self.flint.fmpq(top, bottom)

    def column(self, j: int) -> list[tuple[int, Any]]:
        """Return the entries of a column."""
        begin, end = self.A.indptr[j], self.A.indptr[j + 1]
        return [(int(i), self._of(v)) for i, v in zip(self.A.indices[begin:end], self.A.data[begin:end], strict=True)]

    def cost(self, j: int) -> Any:
        """Return the cost of a column, to be minimised."""
        return self._of(self.program.c[j]) * self.sign

    def row_lower(self, i: int) -> Any:
        """Return the lower bound of a row, None for none."""
        if self.given is not None and self.given[i] is not None:
            bound = self.given[i]
            assert bound is not None
            return self.flint.fmpq(bound.numerator, bound.denominator)
        value = self.program.row_lower[i]
        return self._of(value) if np.isfinite(value) else None

    def row_upper(self, i: int) -> Any:
        """Return the upper bound of a row, None for none."""
        value = self.program.row_upper[i]
        return self._of(value) if np.isfinite(value) else None

    def row_at(self, i: int, status: int) -> Any:
        """Return the side at which a row is active."""
        lower, upper = self.row_lower(i), self.row_upper(i)
        return upper if status == UPPER or lower is None else lower

    def column_bounds(self, j: int) -> tuple[Any, Any]:
        """Return lower and upper bound of a column, None for none."""
        lower, upper = self.program.col_lower[j], self.program.col_upper[j]
        return (self._of(lower) if np.isfinite(lower) else None), (self._of(upper) if np.isfinite(upper) else None)

    def column_at(self, j: int, status: int) -> Any:
        """Return the bound at which a column is, 0 for a free one."""
        lower, upper = self.column_bounds(j)
        if status == UPPER and upper is not None:
            return upper
        if lower is not None or upper is not None:
            return lower if lower is not None else upper
        return self.flint.fmpq(0)

    def primal_problem(self, x: list[Any]) -> str:
        """Return the first row or column out of its bounds, by name; empty when all are in."""
        activity = [self.flint.fmpq(0)] * self.program.n_rows
        for j, value in enumerate(x):
            lower, upper = self.program.col_lower[j], self.program.col_upper[j]
            if (np.isfinite(lower) and value < self._of(lower)) or (np.isfinite(upper) and value > self._of(upper)):
                return f"not feasible: column {self.program.column_names[j]} is out of its bounds by rounding or more"
            if value != 0:
                for i, entry in self.column(j):
                    activity[i] += entry * value
        for i, value in enumerate(activity):
            lower, upper = self.row_lower(i), self.row_upper(i)
            if (lower is not None and value < lower) or (upper is not None and value > upper):
                return f"not feasible: row {self.program.row_names[i]} is violated"
        return ""

    def dual_problem(self, y: list[Any], columns: Sequence[int], rows: Sequence[int]) -> str:
        """Return the first dual or reduced cost of the wrong sign, by name; empty when the duals prove optimality."""
        for i, price in enumerate(y):
            lower, upper = self.row_lower(i), self.row_upper(i)
            if lower is not None and upper is not None and lower == upper:
                continue
            at_upper = upper is not None and (rows[i] == UPPER or lower is None)
            if (price > 0 and at_upper) or (price < 0 and not at_upper):
                return f"not optimal: the dual of row {self.program.row_names[i]} has the wrong sign"
        for j, status in enumerate(columns):
            if status == BASIC:
                continue
            reduced = self.cost(j) - sum((entry * y[i] for i, entry in self.column(j)), self.flint.fmpq(0))
            lower, upper = self.program.col_lower[j], self.program.col_upper[j]
            if lower == upper or reduced == 0:
                continue
            at_upper = np.isfinite(upper) and (status == UPPER or not np.isfinite(lower))
            free = not np.isfinite(lower) and not np.isfinite(upper)
            if free or (reduced < 0 and not at_upper) or (reduced > 0 and at_upper):
                return f"not optimal: the reduced cost of column {self.program.column_names[j]} has the wrong sign"
        return ""


def _flint() -> Any:
    try:
        import flint
    except ImportError:
        raise SolverNotAvailableError('exact certificates need python-flint; pip install "fairlp[exact]"') from None
    return flint
