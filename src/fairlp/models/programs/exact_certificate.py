"""Is a basis exactly optimal? Vertex and duals rebuilt from it in rationals, every sign checked.

Floats are the rationals that they are (0.1 is 3602879701896397/2^55): what is proved is the
optimality of the Program as it stands. Nothing of the solver is used but the list of what is basic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SolverNotAvailableError, UnsupportedError
from ...tolerances import NEGLIGIBLE, VERIFIED
from .certificate import verify, why_not
from .program import Program
from .proof import NO_PROOF, Basis, ExactProof, Proof, ProofRound

if TYPE_CHECKING:
    from .solution import Solution

__all__ = ["optimal_from"]

# A few simplex pivots in rationals: from a basis that a solver found optimal in floats to one that
# is.

#: More pivots than rounding can cost.
MOST_PIVOTS = 200


def prove(
    solution: Solution, entries: Entries | None = None, costs: Costs | None = None
) -> BasisProof:
    """Return whether a solution is optimal, by its basis or by one a few pivots away.

    ``entries`` and ``costs`` as for :func:`prove_basis`: of the program as it was written.

    Floats that are within rounding of an optimum often come with a basis that is not quite one. The
    optimum that the pivots reach is exact; the solution's own point must then be optimal by its
    duals, as :meth:`Solution.verify` asks.

    Raises
    ------
    UnsupportedError
        Without a basis (interior point without crossover), or with logarithms or integer variables.
    SolverNotAvailableError
        Without python-flint.
    """
    program = solution.program
    basis = solution.basis
    if program.logs is not None or program.is_mip:
        raise UnsupportedError(
            f"{program.name!r} is no linear program; only those have a basis to prove optimal"
        )
    if basis is None:
        raise UnsupportedError(
            f"{solution.solver} kept no basis of {program.name!r}; solve with solver='highs', "
            "method='simplex'"
        )
    columns = [int(status) for status in basis.col_status]
    rows = [int(status) for status in basis.row_status]
    proof, pivots = optimal_from(program, columns, rows, None, entries, costs)
    if not proof.holds:
        return replace(proof, message=f"not proved: {proof.message}")
    problem = _problem(solution, proof)
    if problem:
        return replace(proof, holds=False, message=problem, exact=NO_PROOF)
    return (
        replace(proof, message=f"optimal, proved {pivots} pivots from the solver's basis")
        if pivots
        else proof
    )


def _problem(solution: Solution, proof: BasisProof) -> str:
    """Return why a solution's point misses the proved optimum; empty if it agrees to rounding."""
    program = solution.program
    x = solution.require_point()
    optimum = float(proof.objective or 0)
    vertex = np.array(proof.x, dtype=float)
    with_exact_duals = verify(program, x, np.array(proof.row_duals, dtype=float))
    # rows that differ by rounding only have duals so large that anything is little beside them
    value = program.objective_value(x)
    cost = abs(program.c)
    size = np.maximum(abs(x), abs(vertex))
    terms = abs(program.offset) + max(
        cost @ size, NEGLIGIBLE * cost.max(initial=0.0) * size.max(initial=0.0)
    )
    if with_exact_duals.is_optimal and abs(value - optimum) <= VERIFIED * terms:
        return ""
    reason = why_not(program, x, with_exact_duals, better=vertex)
    return f"{reason}; the exact optimum is {optimum:.17g}"


def optimal_from(
    program: Program,
    columns: Sequence[int],
    rows: Sequence[int],
    lower: Sequence[Fraction | None] | None = None,
    entries: Entries | None = None,
    costs: Costs | None = None,
) -> tuple[BasisProof, int]:
    """Return the proof of an exactly optimal basis near this one, and the number of pivots.

    Parameters
    ----------
    program, columns, rows, lower, entries, costs
        As for :func:`~fairlp.models.programs.exact_certificate.prove_basis`.
    """
    verdict = prove_basis(program, columns, rows, lower, entries, costs)
    if verdict.holds or verdict.objective is None:
        return verdict, 0
    exact = ExactProgram(program, lower, entries, costs)
    basis = ExactBasis(Vertex(exact, columns, rows))
    pivots = 0
    try:
        basis.shift_costs()
        while pivots < MOST_PIVOTS and basis.dual_step():
            pivots += 1
        while pivots < MOST_PIVOTS and basis.primal_step():
            pivots += 1
    except ZeroDivisionError:  # a singular basis: the verdict stands
        return verdict, pivots
    reached = basis.vertex
    return prove_basis(program, reached.columns, reached.rows, lower, entries, costs), pivots


class ExactBasis:
    """A vertex on the way, and the costs that are shifted."""

    def __init__(self, vertex: Vertex) -> None:
        self.vertex = vertex
        self.shift: dict[Thing, Any] = {}

    def cost(self, thing: Thing) -> Any:
        """Return the reduced cost, shifted."""
        return self.vertex.reduced[thing] - self.shift.get(thing, 0)

    def shift_costs(self) -> None:
        """Shift costs so that no reduced cost has the wrong sign."""
        self.shift = {
            thing: cost
            for thing, cost in self.vertex.reduced.items()
            if self.vertex.pays(thing, cost)
        }

    def dual_step(self) -> bool:
        """Make one dual pivot; False when the vertex is feasible (or nothing can mend it)."""
        things = [("column", j) for j in self.vertex.position]
        things += [("row", i) for i, status in enumerate(self.vertex.rows) if status == BASIC]
        for leaving in things:
            low, high = self.vertex.bounds(leaving)
            value = self.vertex.value(leaving)
            rise = low is not None and value < low
            if not rise and not (high is not None and value > high):
                continue
            slopes = self.slopes(leaving)
            best = None
            entering = None
            for thing, slope in slopes.items():
                if slope == 0:
                    continue
                up, down = self.vertex.directions(thing)
                if (up and (slope > 0) == rise) or (down and (slope < 0) == rise):
                    ratio = abs(self.cost(thing) / slope)
                    if best is None or ratio < best:
                        best = ratio
                        entering = thing
            if entering is None:
                return False
            step = self.cost(entering) / slopes[entering]
            moved = {
                thing: self.cost(thing) - step * slope
                for thing, slope in slopes.items()
                if thing != entering
            }
            self._set({entering: BASIC, leaving: LOWER if rise else UPPER})
            # the shift goes along, so that the shifted reduced costs are what the pivot makes of
            # them
            self.shift = {
                thing: self.vertex.reduced[thing] - cost
                for thing, cost in moved.items()
                if thing in self.vertex.reduced
            }
            self.shift[leaving] = self.vertex.reduced[leaving] - step
            return True
        return False

    def primal_step(self) -> bool:
        """Make one primal pivot; return False if no reduced cost calls for one.

        It is also False where nothing bounds the step.
        """
        for entering, cost in sorted(self.vertex.reduced.items()):
            if not self.vertex.pays(entering, cost):
                continue
            sign = 1 if cost < 0 else -1
            column_moves, row_moves = self.moves(entering)
            low, high = self.vertex.bounds(entering)
            best = (high - low) if low is not None and high is not None else None
            leaving: Thing | None = None
            leaving_status = LOWER
            for thing, move in [*column_moves.items(), *row_moves.items()]:
                rate = move * sign
                lower, upper = self.vertex.bounds(thing)
                bound = lower if rate < 0 else upper
                if rate == 0 or bound is None:
                    continue
                length = (bound - self.vertex.value(thing)) / rate
                if best is None or length < best:
                    best = length
                    leaving = thing
                    leaving_status = LOWER if rate < 0 else UPPER
            if best is None:
                return False
            if leaving is None:  # to its own other bound
                self._set({entering: UPPER if sign > 0 else LOWER})
            else:
                self._set({entering: BASIC, leaving: leaving_status})
            return True
        return False

    def slopes(self, leaving: Thing) -> dict[Thing, Any]:
        """Return how fast a basic thing moves with each nonbasic one."""
        flint = self.vertex.exact.flint
        exact = self.vertex.exact
        size = len(self.vertex.position)
        unit = flint.fmpq_mat(size, 1)
        row_entries: dict[int, Any] = {}
        if leaving[0] == "column":
            unit[self.vertex.position[leaving[1]], 0] = flint.fmpq(1)
        else:
            for j in range(len(self.vertex.columns)):
                for i, value in exact.column(j):
                    if i == leaving[1]:
                        row_entries[j] = value
                        if j in self.vertex.position:
                            unit[self.vertex.position[j], 0] = value
        z = self.vertex.transposed.solve(unit) if size else unit
        slopes: dict[Thing, Any] = {}
        for thing in self.vertex.reduced:
            kind, k = thing
            if kind == "row":
                slopes[thing] = z[self.vertex.place[k], 0]
            else:
                slopes[thing] = row_entries.get(k, exact.zero) - self.vertex.through(k, z)
        return slopes

    def moves(self, entering: Thing) -> tuple[dict[Thing, Any], dict[Thing, Any]]:
        """Return how fast basic columns and inactive rows move when the entering thing rises."""
        flint = self.vertex.exact.flint
        exact = self.vertex.exact
        size = len(self.vertex.position)
        right = flint.fmpq_mat(size, 1)
        if entering[0] == "row":
            right[self.vertex.place[entering[1]], 0] = flint.fmpq(1)
        else:
            for i, value in exact.column(entering[1]):
                if i in self.vertex.place:
                    right[self.vertex.place[i], 0] = -value
        change = self.vertex.matrix.solve(right) if size else right
        moved = [(j, change[k, 0]) for j, k in self.vertex.position.items()]
        columns = {("column", j): rate for j, rate in moved}
        if entering[0] == "column":
            moved.append((entering[1], flint.fmpq(1)))

        rows: dict[Thing, Any] = {}
        for j, rate in moved:
            if rate == 0:
                continue
            for i, value in exact.column(j):
                if i not in self.vertex.place:
                    rows["row", i] = rows.get(("row", i), flint.fmpq(0)) + value * rate
        return columns, rows

    def _set(self, statuses: dict[Thing, int]) -> None:
        """Go to where these things have these statuses."""
        columns = list(self.vertex.columns)
        rows = list(self.vertex.rows)
        for (kind, k), status in statuses.items():
            (columns if kind == "column" else rows)[k] = status
        self.vertex = Vertex(self.vertex.exact, columns, rows)


#: (row, column) → an entry of the matrix that is no float.
Entries = Mapping[tuple[int, int], Fraction]
#: Column → a cost that is no float.
Costs = Mapping[int, Fraction]
#: Statuses of columns and rows, in HiGHS's numbers.
LOWER = 0
BASIC = 1
UPPER = 2
FREE = 3


@dataclass(frozen=True)
class BasisProof(Proof):
    """The exact verdict on a basis: a feasible vertex, proved optimal by the duals, or not.

    Attributes
    ----------
    objective : Fraction or None
        The exact optimum (None when the basis is singular).
    x, row_duals : list of Fraction
        Vertex and duals (∂objective/∂right-hand side in the user's sense).
    basis : pair of lists of int
        Statuses of columns and rows, as in :func:`prove_basis`.
    """

    objective: Fraction | None = None
    x: list[Fraction] = field(default_factory=list, repr=False)
    row_duals: list[Fraction] = field(default_factory=list, repr=False)
    basis: Basis = field(default=([], []), repr=False)

    def __str__(self) -> str:
        return (
            self.message
            if self.objective is None
            else f"{self.message} (objective {float(self.objective):.17g})"
        )


def prove_basis(
    program: Program,
    columns: Sequence[int],
    rows: Sequence[int],
    lower: Sequence[Fraction | None] | None = None,
    entries: Entries | None = None,
    costs: Costs | None = None,
) -> BasisProof:
    """Return whether a basis is exactly optimal.

    It takes O(k³) for k basic columns, less where they are sparse.

    Parameters
    ----------
    program : Program
        Linear.
    columns, rows : sequence of int
        0 at its lower bound, 1 basic, 2 at its upper bound, 3 free at zero (HiGHS's numbers).
    lower : sequence of (Fraction or None), optional
        Exact lower bounds of rows, where they are not the program's floats.
    entries : mapping, optional
        (row, column) → exact entry of the matrix, where it is not the program's float.
    costs : mapping, optional
        Column → exact cost, where it is not the program's float.
    """
    exact = ExactProgram(program, lower, entries, costs)
    basic = columns.count(BASIC)
    active = len(rows) - rows.count(BASIC)
    if basic != active:
        return BasisProof(False, f"no basis: {basic} basic columns for {active} active rows")
    is_without_bound = [
        status != BASIC and exact.row_at(i, status) is None for i, status in enumerate(rows)
    ]
    if any(is_without_bound):
        return BasisProof(False, "no basis: a row is said to be at a bound that it does not have")
    try:
        vertex = Vertex(exact, columns, rows)
    except ZeroDivisionError:
        return BasisProof(False, "the basis is singular")
    problem = vertex.primal_problem() or vertex.dual_problem()
    value = exact.offset + exact.sign * sum(
        (exact.cost(j) * v for j, v in enumerate(vertex.x)), exact.zero
    )
    x = [fraction(v) for v in vertex.x]
    duals = [
        fraction(exact.sign * vertex.reduced.get(("row", i), exact.zero))
        for i in range(program.n_rows)
    ]
    basis = (list(columns), list(rows))
    as_it_stands = lower is None and entries is None and costs is None
    return BasisProof(
        not problem,
        problem or "optimal, proved",
        objective=fraction(value),
        x=x,
        row_duals=duals,
        basis=basis,
        exact=ExactProof(program, (ProofRound(basis, x, duals),)) if as_it_stands else NO_PROOF,
    )


def fraction(value: Any) -> Fraction:
    """Return a rational of FLINT's as one of Python's."""
    return Fraction(int(value.p), int(value.q))


class ExactProgram:
    """The program in rationals, as a minimum."""

    def __init__(
        self,
        program: Program,
        lower: Sequence[Fraction | None] | None,
        entries: Entries | None = None,
        costs: Costs | None = None,
    ) -> None:
        self.flint = _flint()
        self.program = program
        self.zero = self.flint.fmpq(0)
        self.sign = self.flint.fmpq(1 if program.sense == "min" else -1)
        self.offset = self._of(program.offset)
        self.row_lower_bounds = lower
        self.entries = entries or {}
        self.costs = costs or {}
        self.A = program.A.tocsc()

    def _of(self, value: float) -> Any:
        top, bottom = float(value).as_integer_ratio()
        return self.flint.fmpq(top, bottom)

    def column(self, j: int) -> list[tuple[int, Any]]:
        """Return the entries of a column."""
        start = self.A.indptr[j]
        stop = self.A.indptr[j + 1]
        stored = zip(
            self.A.indices[start:stop].tolist(), self.A.data[start:stop].tolist(), strict=True
        )
        if not self.entries:
            return [(i, self._of(v)) for i, v in stored]
        return [
            (i, self._fraction(self.entries[i, j]) if (i, j) in self.entries else self._of(v))
            for i, v in stored
        ]

    def _fraction(self, value: Fraction) -> Any:
        return self.flint.fmpq(value.numerator, value.denominator)

    def cost(self, j: int) -> Any:
        """Return the cost of a column, to be minimised."""
        if j in self.costs:
            return self._fraction(self.costs[j]) * self.sign
        return self._of(self.program.c[j]) * self.sign

    def row_lower(self, i: int) -> Any:
        """Return the lower bound of a row, None for none."""
        if self.row_lower_bounds is not None and self.row_lower_bounds[i] is not None:
            bound = self.row_lower_bounds[i]
            assert bound is not None
            return self._fraction(bound)
        value = self.program.row_lower[i]
        return self._of(value) if np.isfinite(value) else None

    def row_upper(self, i: int) -> Any:
        """Return the upper bound of a row, None for none."""
        value = self.program.row_upper[i]
        return self._of(value) if np.isfinite(value) else None

    def row_at(self, i: int, status: int) -> Any:
        """Return the side at which a row is active."""
        lower = self.row_lower(i)
        upper = self.row_upper(i)
        return upper if status == UPPER or lower is None else lower

    def column_bounds(self, j: int) -> tuple[Any, Any]:
        """Return lower and upper bound of a column, None for none."""
        lower = self.program.col_lower[j]
        upper = self.program.col_upper[j]
        return (self._of(lower) if np.isfinite(lower) else None), (
            self._of(upper) if np.isfinite(upper) else None
        )

    def column_at(self, j: int, status: int) -> Any:
        """Return the bound at which a column is, 0 for a free one."""
        lower, upper = self.column_bounds(j)
        if status == UPPER and upper is not None:
            return upper
        if lower is not None or upper is not None:
            return lower if lower is not None else upper
        return self.flint.fmpq(0)


#: A column or row: ("column", j) or ("row", i).
Thing = tuple[str, int]


class Vertex:
    """The vertex, activities of rows and nonbasic reduced costs that follow from statuses.

    Attributes
    ----------
    columns, rows : list of int
        Statuses.
    position, place : dict
        Basic columns and active rows → their place in the matrix.
    matrix, transposed : fmpq_mat
        Active rows × basic columns.
    x, activity : list of fmpq
    reduced : dict
        Thing → reduced cost of a column, dual of an active row.

    Raises
    ------
    ZeroDivisionError
        When the basis is singular.
    """

    def __init__(self, exact: ExactProgram, columns: Sequence[int], rows: Sequence[int]) -> None:
        self.exact = exact
        self.columns = list(columns)
        self.rows = list(rows)
        flint = exact.flint
        self.position = {
            j: k for k, j in enumerate(j for j, status in enumerate(columns) if status == BASIC)
        }
        self.place = {
            i: k for k, i in enumerate(i for i, status in enumerate(rows) if status != BASIC)
        }
        size = len(self.position)
        self.matrix = flint.fmpq_mat(size, size)
        right = flint.fmpq_mat(size, 1)
        self.x = [
            exact.zero if status == BASIC else exact.column_at(j, status)
            for j, status in enumerate(columns)
        ]
        for i, k in self.place.items():
            right[k, 0] = exact.row_at(i, rows[i])
        for j in range(len(columns)):
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
        self.activity = [exact.zero] * len(rows)
        for j, value in enumerate(self.x):
            if value != 0:
                for i, entry in exact.column(j):
                    self.activity[i] += entry * value
        costs = flint.fmpq_mat(size, 1)
        for j, k in self.position.items():
            costs[k, 0] = exact.cost(j)
        prices = self.transposed.solve(costs) if size else costs
        self.reduced: dict[Thing, Any] = {}
        for j, status in enumerate(columns):
            if status != BASIC:
                self.reduced["column", j] = exact.cost(j) - self.through(j, prices)
        for i, k in self.place.items():
            self.reduced["row", i] = prices[k, 0]

    def through(self, j: int, prices: Any) -> Any:
        """Return the sum of a column's entries in active rows times a vector over those rows."""
        terms = (
            entry * prices[self.place[i], 0] for i, entry in self.exact.column(j) if i in self.place
        )
        return sum(terms, self.exact.zero)

    def bounds(self, thing: Thing) -> tuple[Any, Any]:
        """Return lower and upper bound of a column or row, None for none."""
        kind, k = thing
        return (
            self.exact.column_bounds(k)
            if kind == "column"
            else (self.exact.row_lower(k), self.exact.row_upper(k))
        )

    def value(self, thing: Thing) -> Any:
        """Return the value of a column or the activity of a row."""
        return self.x[thing[1]] if thing[0] == "column" else self.activity[thing[1]]

    def directions(self, thing: Thing) -> tuple[bool, bool]:
        """Return whether something nonbasic may rise, and whether it may fall."""
        low, high = self.bounds(thing)
        if low is not None and low == high:
            return False, False
        value = self.value(thing)
        return (high is None or value < high), (low is None or value > low)

    def pays(self, thing: Thing, cost: Any) -> bool:
        """Whether moving something nonbasic of this reduced cost would lower the objective."""
        up, down = self.directions(thing)
        return bool((cost < 0 and up) or (cost > 0 and down))

    def primal_problem(self) -> str:
        """Return the first column or row out of its bounds, by name; empty when all are in."""
        columns = (("column", j) for j in range(len(self.columns)))
        rows = (("row", i) for i in range(len(self.rows)))
        for thing in (*columns, *rows):
            low, high = self.bounds(thing)
            value = self.value(thing)
            if (low is not None and value < low) or (high is not None and value > high):
                return (
                    f"not feasible: {self._name(thing)} is out of its bounds, by rounding or more"
                )
        return ""

    def dual_problem(self) -> str:
        """Return the first dual or reduced cost of wrong sign, by name; empty at an optimum."""
        for thing, cost in self.reduced.items():
            if self.pays(thing, cost):
                kind = "reduced cost" if thing[0] == "column" else "dual"
                return f"the basis is not optimal: the {kind} of {self._name(thing)} has the wrong sign"
        return ""

    def _name(self, thing: Thing) -> str:
        kind, k = thing
        program = self.exact.program
        return f"{kind} {(program.column_names if kind == 'column' else program.row_names)[k]}"


def _flint() -> Any:
    try:
        import flint
    except ImportError:
        raise SolverNotAvailableError(
            'exact certificates need python-flint; pip install "fairlp[exact]"'
        ) from None
    return flint
