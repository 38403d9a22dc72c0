"""The linear programs of all steps, each solved from the last basis.

One program holds the users of all steps. Those who have not come are fixed at 0, and a step changes bounds only (and
the coefficient of M in the cautious LP), so that the basis of the last step is a start for the next: the newcomer's
row is the only one that it does not satisfy. Everything is in parts, 1/n of the whole, so that shares are about 1 and a
solver's tolerance is relative to them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from ...errors import SolverError
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...models.programs.backends import backend as find_backend
from ...models.programs.solution import Options, Session, Solution, Termination
from ...tolerances import FEASIBILITY
from .schedule import Schedule

INFINITE = np.full(1, np.inf)


@dataclass
class StepsResult:
    """Level and first user of each step (in fractions of everything), largest duality gap, seconds by phase.

    ``prices`` are the capacity duals of the last step: what a fraction more of each resource would add to the level.
    """

    levels: np.ndarray
    first: np.ndarray
    prices: np.ndarray
    gap: float = 0.0
    times: dict[str, float] = field(default_factory=dict)


def solve_steps(
    model: Model,
    arrived: Instance,
    schedule: Schedule,
    *,
    cautious: bool = False,
    solver: str = "highs",
    options: dict[str, Any] | None = None,
    warm: bool = True,
) -> StepsResult:
    """Solve the program of every step; N solves of O(N·R) nonzeros each.

    Parameters
    ----------
    model : Model
        The last step's, in parts (formulations/arrivals.py); in the cautious LP, M must have a nonzero coefficient.
    arrived : Instance
        The users in order of arrival.
    schedule : Schedule
    cautious : bool
        Change the coefficient of M in the capacity rows, instead of their right-hand side.
    solver, options
        As for :func:`fairlp.allocate`.
    warm : bool
        Start from the last basis (False: afresh each time, to see what that is worth).

    Raises
    ------
    SolverError
        When a step cannot be solved, or its answer not be certified.
    """
    begin = perf_counter()
    program = model.compile()
    backend = find_backend(solver)
    session = backend.session(program, Options.from_keywords(solver, options or {}).tightened(backend))
    steps = _Steps(session, model, arrived.user_weights)
    built = perf_counter() - begin
    n = len(schedule.order)
    levels, first = np.zeros(n), np.zeros(n, dtype=int)
    for k in range(n):
        if cautious:
            steps.expect(float(schedule.horizon - schedule.parts[k]))
        else:
            steps.give_out(float(schedule.parts[k]))
        levels[k], first[k] = steps.arrive(k, warm)
    times = {"build": built, "solve": steps.seconds, "steps": perf_counter() - begin - built - steps.seconds}
    return StepsResult(levels / schedule.horizon, first, steps.prices, steps.gap, times)


class _Steps:
    """The program of all users in a session; ``level`` is what each has, in parts per weight."""

    def __init__(self, session: Session, model: Model, weights: np.ndarray) -> None:
        program = model.compile()
        self.session, self.name, self.weights = session, model.name.partition(",")[0], weights
        rows = {block.name: np.arange(block.start, block.stop) for block in program.rows}
        self.capacity, self.fairness = rows["capacity"], rows["fairness"]
        self.irrevocable = rows.get("irrevocable", np.zeros(0, dtype=int))
        block = program.column_block("x")
        self.x = np.arange(block.start, block.stop)
        self.m = program.column_block("M").start
        self.level = np.zeros(len(weights))
        self.gap, self.seconds, self.step = 0.0, 0.0, 0
        self.prices = np.zeros(len(self.capacity))
        self.limited = session.options.time_limit is not None
        nobody = np.zeros(len(weights))
        session.change(columns=(self.x, nobody, nobody), rows=(self.fairness, nobody - np.inf, nobody + np.inf))

    def give_out(self, parts: float) -> None:
        """Let the step give out so much of every resource."""
        rows = len(self.capacity)
        self.session.change(rows=(self.capacity, np.full(rows, -np.inf), np.full(rows, parts)))

    def expect(self, weight: float) -> None:
        """Keep something for users of this weight."""
        self.session.change(coefficients=(self.capacity, self.m, np.full(len(self.capacity), weight)))

    def arrive(self, k: int, warm: bool) -> tuple[float, int]:
        """Let user k in, solve, and return the level and the first user who has it."""
        free = np.zeros(1), INFINITE
        self.session.change(columns=(self.x[[k]], *free), rows=(self.fairness[[k]], *free))
        self.step = k + 1
        solution = self._solve(warm)
        assert solution.x is not None and solution.row_duals is not None
        self.prices = solution.row_duals[self.capacity]
        level = float(solution.x[self.m])
        had = self.level[: k + 1]
        above = had > level
        raised = np.flatnonzero(~above)
        had[raised] = level
        kept = raised[raised < len(self.irrevocable)]
        self.session.change(rows=(self.irrevocable[kept], level * self.weights[kept], np.full(len(kept), np.inf)))
        return level, int(above.sum())

    def _solve(self, warm: bool) -> Solution:
        """Solve what is loaded; where rows are not kept to what was asked, begin afresh, then by another method.

        From the last basis HiGHS may end with a row missed by more than its tolerance (tiny coefficients do
        it). Where no answer keeps rows so well, the closest of those that are certified is returned.
        """
        if not warm:
            self.session.restart()
        failure: SolverError | None = None
        closest: tuple[float, Solution] | None = None
        for other in (None, False, True):
            if other is not None:
                self.session.restart(other)
            try:
                solution = self.session.solve()
            except SolverError as error:
                failure = error
                continue
            self.seconds += solution.times.get("solve", 0.0)
            if solution.status.termination is Termination.TIME_LIMIT and self.limited:
                solution.require_optimal()
            certificate = solution.verify() if solution.status.is_optimal else None
            if certificate is not None and certificate.is_optimal:
                if closest is None or certificate.primal_residual < closest[0]:
                    closest = certificate.primal_residual, solution
                    gap = certificate.gap or 0.0
                if closest[0] <= FEASIBILITY:
                    break
                continue
            what = certificate if certificate is not None else solution.status
            failure = SolverError(f"{solution.solver} did not solve {self.name}, step {self.step}: {what}")
        if closest is None:
            assert failure is not None
            raise failure
        self.gap = max(self.gap, gap)
        return closest[1]
