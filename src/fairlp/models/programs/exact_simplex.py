"""A few simplex pivots in rationals: from a basis that a solver found optimal in floats to one that is.

Where an optimum is degenerate to within rounding (equal users, equal servers), a solver's last basis may be off by a
pivot or two. Costs are shifted so that the duals are right, and the dual simplex method mends the vertex; with costs
as they are, the primal simplex method mends the duals. Bland's rule, so that it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsupportedError
from ...tolerances import NEGLIGIBLE, VERIFIED
from .certificate import NO_PROOF, certify
from .exact_certificate import BASIC, LOWER, UPPER, Entries, Exact, ExactCertificate, Thing, Vertex, prove_basis
from .program import Program

if TYPE_CHECKING:
    from .solution import Solution

#: More pivots than rounding can cost.
MOST_PIVOTS = 200


def prove(solution: Solution) -> ExactCertificate:
    """Return whether a solution is optimal for its program: its basis proved, or one a few pivots away.

    Floats that are within rounding of an optimum often come with a basis that is not quite one. The optimum that the
    pivots reach is exact; the solution's own point must then be optimal by its duals, as :meth:`Solution.verify` asks.

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
    proof, pivots = optimal_from(program, [int(s) for s in basis.col_status], [int(s) for s in basis.row_status])
    if not proof.proved:
        return proof
    problem = _problem(solution, proof)
    if problem:
        return replace(proof, proved=False, message=problem, proof=NO_PROOF)
    return replace(proof, message=f"optimal, proved {pivots} pivots from the solver's basis") if pivots else proof


def _problem(solution: Solution, proof: ExactCertificate) -> str:
    """Return why a solution's own point is not the optimum that is proved, to within rounding; empty where it is."""
    program, x, optimum = solution.program, solution.require_point(), float(proof.objective or 0)
    with_exact_duals = certify(program, x, np.array(proof.row_duals, dtype=float))
    if not with_exact_duals.is_optimal:
        return f"not optimal, by the duals of the optimum {optimum:.17g}: {with_exact_duals}"
    # rows that differ by rounding only have duals so large that anything is little beside them
    value = program.objective_value(x)
    cost, size = abs(program.c), np.maximum(abs(x), abs(np.array(proof.x, dtype=float)))
    terms = abs(program.offset) + max(cost @ size, NEGLIGIBLE * cost.max(initial=0.0) * size.max(initial=0.0))
    if abs(value - optimum) > VERIFIED * terms:
        return f"not optimal: the objective is {value:.17g}, and {optimum:.17g} at the exact optimum"
    return ""


def optimal_from(
    program: Program,
    columns: Sequence[int],
    rows: Sequence[int],
    lower: Sequence[Fraction | None] | None = None,
    entries: Entries | None = None,
) -> tuple[ExactCertificate, int]:
    """Return the certificate of an exactly optimal basis reached from this one, and the pivots that it took.

    Parameters
    ----------
    program, columns, rows, lower, entries
        As for :func:`~fairlp.models.programs.exact_certificate.prove_basis`.
    """
    verdict = prove_basis(program, columns, rows, lower, entries)
    if verdict.proved or verdict.objective is None:
        return verdict, 0
    basis = _Basis(Vertex(Exact(program, lower, entries), columns, rows))
    pivots = 0
    try:
        basis.shift_costs()
        while pivots < MOST_PIVOTS and basis.dual_step():
            pivots += 1
        while pivots < MOST_PIVOTS and basis.primal_step():
            pivots += 1
    except ZeroDivisionError:  # a singular basis: the verdict stands
        return verdict, pivots
    return prove_basis(program, basis.at.columns, basis.at.rows, lower, entries), pivots


class _Basis:
    """A vertex on the way, and the costs that are shifted."""

    def __init__(self, at: Vertex) -> None:
        self.at = at
        self.shift: dict[Thing, Any] = {}

    def cost(self, thing: Thing) -> Any:
        """Return the reduced cost, shifted."""
        return self.at.reduced[thing] - self.shift.get(thing, 0)

    def shift_costs(self) -> None:
        """Shift costs so that no reduced cost has the wrong sign."""
        self.shift = {thing: cost for thing, cost in self.at.reduced.items() if self.at.pays(thing, cost)}

    def dual_step(self) -> bool:
        """Make one dual pivot; False when the vertex is feasible (or nothing can mend it)."""
        things = [("column", j) for j in self.at.position]
        things += [("row", i) for i, status in enumerate(self.at.rows) if status == BASIC]
        for leaving in things:
            low, high = self.at.bounds(leaving)
            value = self.at.value(leaving)
            rise = low is not None and value < low
            if not rise and not (high is not None and value > high):
                continue
            slopes = self._slopes(leaving)
            best, entering = None, None
            for thing, slope in slopes.items():
                if slope == 0:
                    continue
                up, down = self.at.directions(thing)
                if (up and (slope > 0) == rise) or (down and (slope < 0) == rise):
                    ratio = abs(self.cost(thing) / slope)
                    if best is None or ratio < best:
                        best, entering = ratio, thing
            if entering is None:
                return False
            step = self.cost(entering) / slopes[entering]
            moved = {thing: self.cost(thing) - step * slope for thing, slope in slopes.items() if thing != entering}
            self._set({entering: BASIC, leaving: LOWER if rise else UPPER})
            # the shift goes along, so that the shifted reduced costs are what the pivot makes of them
            self.shift = {
                thing: self.at.reduced[thing] - cost for thing, cost in moved.items() if thing in self.at.reduced
            }
            self.shift[leaving] = self.at.reduced[leaving] - step
            return True
        return False

    def primal_step(self) -> bool:
        """Make one primal pivot; False when no reduced cost has the wrong sign (or nothing bounds the step)."""
        for entering, cost in sorted(self.at.reduced.items()):
            if not self.at.pays(entering, cost):
                continue
            sign = 1 if cost < 0 else -1
            column_moves, row_moves = self._moves(entering)
            low, high = self.at.bounds(entering)
            best = (high - low) if low is not None and high is not None else None
            leaving: Thing | None = None
            at = LOWER
            for thing, move in [*column_moves.items(), *row_moves.items()]:
                rate = move * sign
                lower, upper = self.at.bounds(thing)
                bound = lower if rate < 0 else upper
                if rate == 0 or bound is None:
                    continue
                length = (bound - self.at.value(thing)) / rate
                if best is None or length < best:
                    best, leaving, at = length, thing, LOWER if rate < 0 else UPPER
            if best is None:
                return False
            if leaving is None:  # to its own other bound
                self._set({entering: UPPER if sign > 0 else LOWER})
            else:
                self._set({entering: BASIC, leaving: at})
            return True
        return False

    def _slopes(self, leaving: Thing) -> dict[Thing, Any]:
        """Return how fast a basic thing moves with each nonbasic one."""
        flint, exact = self.at.exact.flint, self.at.exact
        size = len(self.at.position)
        unit = flint.fmpq_mat(size, 1)
        own: dict[int, Any] = {}
        if leaving[0] == "column":
            unit[self.at.position[leaving[1]], 0] = flint.fmpq(1)
        else:
            for j in range(len(self.at.columns)):
                for i, value in exact.column(j):
                    if i == leaving[1]:
                        own[j] = value
                        if j in self.at.position:
                            unit[self.at.position[j], 0] = value
        z = self.at.transposed.solve(unit) if size else unit
        slopes: dict[Thing, Any] = {}
        for thing in self.at.reduced:
            kind, k = thing
            if kind == "row":
                slopes[thing] = z[self.at.place[k], 0]
            else:
                slopes[thing] = own.get(k, exact.zero) - self.at.through(k, z)
        return slopes

    def _moves(self, entering: Thing) -> tuple[dict[Thing, Any], dict[Thing, Any]]:
        """Return how fast basic columns and inactive rows move when the entering thing rises."""
        flint, exact = self.at.exact.flint, self.at.exact
        size = len(self.at.position)
        right = flint.fmpq_mat(size, 1)
        if entering[0] == "row":
            right[self.at.place[entering[1]], 0] = flint.fmpq(1)
        else:
            for i, value in exact.column(entering[1]):
                if i in self.at.place:
                    right[self.at.place[i], 0] = -value
        change = self.at.matrix.solve(right) if size else right
        columns = {("column", j): change[k, 0] for j, k in self.at.position.items()}
        rows: dict[Thing, Any] = {}
        moved = [(j, change[k, 0]) for j, k in self.at.position.items()]
        if entering[0] == "column":
            moved.append((entering[1], flint.fmpq(1)))
        for j, rate in moved:
            if rate != 0:
                for i, value in exact.column(j):
                    if i not in self.at.place:
                        rows["row", i] = rows.get(("row", i), flint.fmpq(0)) + value * rate
        return columns, rows

    def _set(self, statuses: dict[Thing, int]) -> None:
        """Go to where these things have these statuses."""
        columns, rows = list(self.at.columns), list(self.at.rows)
        for (kind, k), status in statuses.items():
            (columns if kind == "column" else rows)[k] = status
        self.at = Vertex(self.at.exact, columns, rows)


__all__ = ["optimal_from"]
