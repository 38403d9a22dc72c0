"""A few simplex pivots in rationals: from a basis that a solver found optimal in floats to one that is.

Where an optimum is degenerate to within rounding (equal users, equal servers), a solver's last basis may be off by a
pivot or two. Costs are shifted so that the duals are right, the dual simplex method mends the vertex, the costs are put
back, and the primal simplex method mends the duals. Bland's rule, so that it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .exact_certificate import BASIC, FREE, LOWER, UPPER, Exact, ExactCertificate, prove_basis
from .program import Program

#: More pivots than rounding can cost.
MOST_PIVOTS = 200


def optimal_from(
    program: Program,
    columns: Sequence[int],
    rows: Sequence[int],
    lower: Sequence[Fraction | None] | None = None,
) -> tuple[ExactCertificate, int]:
    """Return the certificate of an exactly optimal basis reached from this one, and the pivots that it took.

    Parameters
    ----------
    program, columns, rows, lower
        As for :func:`~fairlp.models.exact_certificate.prove_basis`.
    """
    verdict = prove_basis(program, columns, rows, lower)
    if verdict.proved or verdict.objective is None:
        return verdict, 0
    basis = _Basis(Exact(program, lower), list(columns), list(rows))
    pivots = 0
    try:
        basis.shift_costs()
        while pivots < MOST_PIVOTS and basis.dual_step():
            pivots += 1
        basis.shift.clear()
        while pivots < MOST_PIVOTS and basis.primal_step():
            pivots += 1
    except ZeroDivisionError:  # a singular basis: the verdict stands
        return verdict, pivots
    return prove_basis(program, basis.columns, basis.rows, lower), pivots


class _Basis:
    """Statuses, and what follows from them. Nonbasic things are ("column", j) or ("row", i), in that order."""

    def __init__(self, exact: Exact, columns: list[int], rows: list[int]) -> None:
        self.exact, self.columns, self.rows = exact, columns, rows
        self.shift: dict[tuple[str, int], Any] = {}
        self.refresh()

    def refresh(self) -> None:
        """Recompute vertex, activities and reduced costs from the statuses."""
        flint, exact = self.exact.flint, self.exact
        self.basic = [j for j, status in enumerate(self.columns) if status == BASIC]
        self.active = [i for i, status in enumerate(self.rows) if status != BASIC]
        size = len(self.basic)
        self.place = {i: k for k, i in enumerate(self.active)}
        self.position = {j: k for k, j in enumerate(self.basic)}
        self.matrix = flint.fmpq_mat(size, size)
        right = flint.fmpq_mat(size, 1)
        self.x = [
            flint.fmpq(0) if status == BASIC else exact.column_at(j, status) for j, status in enumerate(self.columns)
        ]
        for k, i in enumerate(self.active):
            right[k, 0] = exact.row_at(i, self.rows[i])
        for j in range(len(self.columns)):
            for i, value in exact.column(j):
                if i in self.place:
                    if j in self.position:
                        self.matrix[self.place[i], self.position[j]] = value
                    else:
                        right[self.place[i], 0] -= value * self.x[j]
        self.transposed = self.matrix.transpose()
        vertex = self.matrix.solve(right) if size else right
        for j, k in self.position.items():
            self.x[j] = vertex[k, 0]
        self.activity = [flint.fmpq(0)] * len(self.rows)
        for j, value in enumerate(self.x):
            if value != 0:
                for i, entry in exact.column(j):
                    self.activity[i] += entry * value
        costs = flint.fmpq_mat(size, 1)
        for j, k in self.position.items():
            costs[k, 0] = exact.cost(j)
        prices = self.transposed.solve(costs) if size else costs
        zero = flint.fmpq(0)
        self.reduced = {}
        for j, status in enumerate(self.columns):
            if status != BASIC:
                d = exact.cost(j) - sum(
                    (e * prices[self.place[i], 0] for i, e in exact.column(j) if i in self.place), zero
                )
                self.reduced["column", j] = d
        for i, k in self.place.items():
            self.reduced["row", i] = prices[k, 0]

    def bounds(self, thing: tuple[str, int]) -> tuple[Any, Any]:
        """Return lower and upper bound of a column or row, None for none."""
        kind, k = thing
        if kind == "row":
            return self.exact.row_lower(k), self.exact.row_upper(k)
        return self.exact.column_bounds(k)

    def value(self, thing: tuple[str, int]) -> Any:
        """Return the value of a column or the activity of a row."""
        return self.x[thing[1]] if thing[0] == "column" else self.activity[thing[1]]

    def cost(self, thing: tuple[str, int]) -> Any:
        """Return the reduced cost, shifted."""
        return self.reduced[thing] - self.shift.get(thing, 0)

    def directions(self, thing: tuple[str, int]) -> tuple[bool, bool]:
        """Return whether a nonbasic thing may rise, and whether it may fall."""
        low, high = self.bounds(thing)
        if low is not None and high is not None and low == high:
            return False, False
        value = self.value(thing)
        return (high is None or value < high), (low is None or value > low)

    def shift_costs(self) -> None:
        """Shift costs so that no reduced cost has the wrong sign."""
        for thing, cost in self.reduced.items():
            up, down = self.directions(thing)
            if (cost < 0 and up) or (cost > 0 and down):
                self.shift[thing] = cost

    def dual_step(self) -> bool:
        """Make one dual pivot; False when the vertex is feasible (or nothing can mend it)."""
        things = [("column", j) for j in self.basic] + [
            ("row", i) for i, status in enumerate(self.rows) if status == BASIC
        ]
        for leaving in things:
            low, high = self.bounds(leaving)
            value = self.value(leaving)
            rise = low is not None and value < low
            if not rise and not (high is not None and value > high):
                continue
            slopes = self._slopes(leaving)
            best, entering = None, None
            for thing, slope in slopes.items():
                if slope == 0:
                    continue
                up, down = self.directions(thing)
                if (up and (slope > 0) == rise) or (down and (slope < 0) == rise):
                    ratio = abs(self.cost(thing) / slope)
                    if best is None or ratio < best:
                        best, entering = ratio, thing
            if entering is None:
                return False
            step = self.cost(entering) / slopes[entering]
            moved = {thing: self.cost(thing) - step * slope for thing, slope in slopes.items() if thing != entering}
            self._exchange(entering, leaving, LOWER if rise else UPPER)
            # the shift goes along, so that the shifted reduced costs are what the pivot makes of them
            self.shift = {thing: self.reduced[thing] - cost for thing, cost in moved.items() if thing in self.reduced}
            self.shift[leaving] = self.reduced[leaving] + step
            return True
        return False

    def primal_step(self) -> bool:
        """Make one primal pivot; False when no reduced cost has the wrong sign (or nothing bounds the step)."""
        for entering, cost in sorted(self.reduced.items()):
            up, down = self.directions(entering)
            if not ((cost < 0 and up) or (cost > 0 and down)):
                continue
            sign = 1 if cost < 0 else -1
            column_moves, row_moves = self._moves(entering)
            low, high = self.bounds(entering)
            best = (high - low) if low is not None and high is not None else None
            leaving: tuple[str, int] | None = None
            at = LOWER
            for thing, move in [*column_moves.items(), *row_moves.items()]:
                rate = move * sign
                lower, upper = self.bounds(thing)
                bound = lower if rate < 0 else upper
                if rate == 0 or bound is None:
                    continue
                length = (bound - self.value(thing)) / rate
                if best is None or length < best:
                    best, leaving, at = length, thing, LOWER if rate < 0 else UPPER
            if best is None:
                return False
            if leaving is None:  # to its own other bound
                self._set(entering, UPPER if sign > 0 else LOWER)
                self.refresh()
            else:
                self._exchange(entering, leaving, at)
            return True
        return False

    def _slopes(self, leaving: tuple[str, int]) -> dict[tuple[str, int], Any]:
        """Return how fast a basic thing moves with each nonbasic one."""
        flint, exact = self.exact.flint, self.exact
        size = len(self.basic)
        unit = flint.fmpq_mat(size, 1)
        own: dict[int, Any] = {}
        if leaving[0] == "column":
            unit[self.position[leaving[1]], 0] = flint.fmpq(1)
        else:
            for j in range(len(self.columns)):
                for i, value in exact.column(j):
                    if i == leaving[1]:
                        own[j] = value
                        if j in self.position:
                            unit[self.position[j], 0] = value
        z = self.transposed.solve(unit) if size else unit
        slopes: dict[tuple[str, int], Any] = {}
        for thing in self.reduced:
            kind, k = thing
            if kind == "row":
                slopes[thing] = z[self.place[k], 0]
            else:
                through = sum((e * z[self.place[i], 0] for i, e in exact.column(k) if i in self.place), flint.fmpq(0))
                slopes[thing] = own.get(k, flint.fmpq(0)) - through
        return slopes

    def _moves(self, entering: tuple[str, int]) -> tuple[dict[tuple[str, int], Any], dict[tuple[str, int], Any]]:
        """Return how fast basic columns and inactive rows move when the entering thing rises."""
        flint, exact = self.exact.flint, self.exact
        size = len(self.basic)
        right = flint.fmpq_mat(size, 1)
        if entering[0] == "row":
            right[self.place[entering[1]], 0] = flint.fmpq(1)
        else:
            for i, value in exact.column(entering[1]):
                if i in self.place:
                    right[self.place[i], 0] = -value
        change = self.matrix.solve(right) if size else right
        columns = {("column", j): change[k, 0] for j, k in self.position.items()}
        rows: dict[tuple[str, int], Any] = {}
        moved = [(j, change[k, 0]) for j, k in self.position.items()]
        if entering[0] == "column":
            moved.append((entering[1], flint.fmpq(1)))
        for j, rate in moved:
            if rate != 0:
                for i, value in exact.column(j):
                    if i not in self.place:
                        rows["row", i] = rows.get(("row", i), flint.fmpq(0)) + value * rate
        return columns, rows

    def _exchange(self, entering: tuple[str, int], leaving: tuple[str, int], at: int) -> None:
        self._set(entering, BASIC)
        self._set(leaving, at)
        self.refresh()

    def _set(self, thing: tuple[str, int], status: int) -> None:
        (self.columns if thing[0] == "column" else self.rows)[thing[1]] = status


__all__ = ["FREE", "optimal_from"]
