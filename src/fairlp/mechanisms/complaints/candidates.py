"""Candidate sets of bottlenecks (Dolev et al., §5.2): which of the 2^R linear programs have a fair allocation.

The sets are the leaves of a tree that decides one resource after the other. A node's linear program is a relaxation of
all below it: resources decided for are saturated, those undecided may justify shares too. An infeasible node ends all
below it; where the optimum of a node satisfies a child, it is the child's optimum; the other children are the same
program with other bounds, solved from the last basis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import SolverError, TooLargeError
from ...formulations.complaints import UTILIZATION, Criterion, candidate
from ...models.instances.requests import Requests
from ...models.programs.backends import backend as find_backend
from ...models.programs.solution import Options, Solution, Termination
from ...tolerances import COMPLAINT, SATURATED

#: More resources than this that could be saturated are not enumerated.
MOST_RESOURCES = 20


@dataclass(frozen=True, eq=False)
class Candidate:
    """A set of bottlenecks (bool, shape (R,)), the best of its fair allocations (x, shape (N,)), and its value."""

    bottlenecks: np.ndarray
    x: np.ndarray
    value: float


class Candidates:
    """The linear programs of all candidate sets of an instance.

    Attributes
    ----------
    contended : ndarray of int
        Resources that could be saturated at all.
    programs : int
        Linear programs solved so far.

    Raises
    ------
    TooLargeError
        With more than 20 resources that could be saturated.
    """

    def __init__(
        self,
        requests: Requests,
        criterion: Criterion = UTILIZATION,
        solver: str = "highs",
        options: dict[str, Any] | None = None,
    ) -> None:
        self.requests = requests
        self.contended = np.flatnonzero(requests.contended)
        self.programs = 0
        self._asked = requests.fractions.sum(axis=0)
        self.seconds = 0.0
        self.gap = 0.0
        count = len(self.contended)
        if count > MOST_RESOURCES:
            raise TooLargeError(
                f"{count} resources could be saturated, which makes 2^{count} = {2**count:,} candidate sets of "
                f"bottlenecks; they are enumerated up to {MOST_RESOURCES} resources (without that, method 'eg' gives a "
                "fair allocation and 'milp' the best one)"
            )
        model = candidate(requests, np.zeros(len(requests.resources), dtype=bool), criterion)
        program = model.compile()
        chosen = find_backend(solver)
        self._session = chosen.session(program, Options.from_keywords(solver, options or {}).tightened(chosen))
        self._capacity, self._fairness = program.row_block("capacity").slice, program.row_block("fairness").slice
        self._x = program.column_block("x").slice
        self._costs = program.c

    def feasible(self, bounded: bool = False) -> Iterator[Candidate]:
        """Yield every feasible set with the optimum of the criterion over it; the chosen program is then its own.

        With ``bounded``, only sets that are better than all before.
        """
        size = len(self.requests.resources)
        best = -np.inf

        def below(inside: np.ndarray, undecided: np.ndarray, last: Candidate | None) -> Iterator[Candidate]:
            nonlocal best
            node = self._node(inside, undecided, last)
            if node is None or (bounded and node.value <= best):
                return
            if not undecided.any():
                best = max(best, node.value)
                self.choose(inside)
                yield node
                return
            resource = self._next(undecided)
            rest = undecided.copy()
            rest[resource] = False
            more = inside.copy()
            more[resource] = True
            yield from below(more, rest, node)
            yield from below(inside, rest, node)

        nothing = np.zeros(size, dtype=bool)
        everything = nothing.copy()
        everything[self.contended] = True
        yield from below(nothing, everything, None)

    def _next(self, undecided: np.ndarray) -> int:
        """Return the undecided resource that most is asked of."""
        return int(np.where(undecided, self._asked, -1.0).argmax())

    def _node(self, inside: np.ndarray, undecided: np.ndarray, last: Candidate | None) -> Candidate | None:
        """Return the optimum of the relaxation, or None where it is infeasible."""
        r = self.requests.fractions
        least = self.requests.thresholds(inside | undecided)
        if last is not None:
            enough = (last.x >= least * (1 - SATURATED)).all()
            if enough and (last.x @ r[:, inside] >= 1 - SATURATED).all():
                return Candidate(inside, last.x, last.value)
        used = least @ r
        if (used > 1 + COMPLAINT).any():
            return None  # what nobody may have less of does not fit
        self.choose(inside, undecided)
        solution = self.maximize()
        return None if solution is None else Candidate(inside, self.granted(solution), solution.objective)

    def choose(self, bottlenecks: np.ndarray, undecided: np.ndarray | None = None) -> None:
        """Make the linear program that of a set of bottlenecks, or of a node of the tree (bool, shape (R,))."""
        just = self.requests.thresholds(bottlenecks if undecided is None else bottlenecks | undecided)
        low = np.where(bottlenecks, 1.0, -np.inf)
        rows = np.r_[self._capacity, self._fairness]
        upper = np.r_[np.ones(len(low)), np.full(len(just), np.inf)]
        self._session.change(rows=(rows, np.r_[low, just], upper))

    def maximize(self, worth: np.ndarray | None = None) -> Solution | None:
        """Maximise the criterion, or numbers for x (shape (N,)), over the chosen set; None where it is empty.

        Raises
        ------
        SolverError
            When the solver does neither solve it nor call it infeasible, or its answer does not satisfy the rows.
        """
        costs = self._costs
        if worth is not None:
            costs = np.zeros_like(self._costs)
            costs[self._x] = worth
        self._session.change(costs=costs)
        solution = self._session.solve()
        if solution.status.termination not in (Termination.OPTIMAL, Termination.INFEASIBLE):
            self._session.restart()  # afresh, with scales of its own
            solution = self._session.solve()
        self.programs += 1
        self.seconds += solution.times.get("solve", 0.0)
        if solution.status.termination is Termination.INFEASIBLE:
            return None
        certificate = solution.require_optimal().verify()
        if not certificate.is_feasible:
            raise SolverError(f"{solution.solver}: the answer for a candidate set cannot be certified: {certificate}")
        self.gap = max(self.gap, certificate.gap or 0.0)
        return solution

    def granted(self, solution: Solution) -> np.ndarray:
        """Return x[n] of a solution, no less than what is just and no more than all. Shape (N,)."""
        assert solution.x is not None
        just = self._session.program.row_lower[self._fairness]
        x = np.maximum(solution.x[self._x], just)
        return np.asarray(np.where(self.requests.limited, np.minimum(x, 1.0), x))

    def best(self) -> Candidate:
        """Return the fair allocation of the largest value of the criterion, and bottlenecks that justify it."""
        found = None
        for found in self.feasible(bounded=True):  # noqa: B007 - the last one is the best
            pass
        if found is None:  # one always exists (Theorem 1)
            raise SolverError("no candidate set is feasible by the solver's arithmetic; method='eg' gives one")
        return found
