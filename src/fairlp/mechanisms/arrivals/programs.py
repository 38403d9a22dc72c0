"""The linear programs of all steps, solved one after the other from the last basis."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from ...errors import SolverError
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...models.programs.backends import backend as find_backend
from ...models.programs.options import Options
from ...models.programs.protocols import Session
from ...models.programs.solution import Solution
from ...models.programs.status import Termination
from ...tolerances import FEASIBILITY
from .rule import StepLevels
from .schedule import Schedule

INFINITE = np.full(1, np.inf)


@dataclass
class SolvedSteps:
    """The levels of all steps, and what their programs say beside them.

    Attributes
    ----------
    step_levels : StepLevels
    prices : ndarray, shape (R,)
        Capacity duals of the last step: what a fraction more of each resource would add to the
        level.
    gap : float
        Largest relative duality gap.
    times : dict
        Seconds by phase.
    """

    step_levels: StepLevels
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
) -> SolvedSteps:
    """Solve the program of every step; N solves of O(N·R) nonzeros each.

    Parameters
    ----------
    model : Model
        The last step's, in parts (formulations/arrivals.py); in the cautious LP, M must have a
        nonzero coefficient.
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
    start_time = perf_counter()
    backend = find_backend(solver)
    solver_options = Options.from_keywords(solver, options or {}).tightened(backend)
    session = backend.session(model.compile(), solver_options)
    steps = _Steps(session, model, arrived.user_weights)
    build_seconds = perf_counter() - start_time

    n = len(schedule)
    levels = np.zeros(n)
    first = np.zeros(n, dtype=int)
    for k in range(n):
        if cautious:
            steps.reserve_for(float(schedule.horizon - schedule.parts[k]))
        else:
            steps.give_out(float(schedule.parts[k]))
        levels[k], first[k] = steps.arrive(k, warm)

    times = {
        "build": build_seconds,
        "solve": steps.seconds,
        "steps": perf_counter() - start_time - build_seconds - steps.seconds,
    }
    step_levels = StepLevels(levels / schedule.horizon, first)
    return SolvedSteps(step_levels, steps.prices, steps.gap, times)


class _Steps:
    """The program of all users in a session; ``levels`` is what each has, in parts per weight."""

    def __init__(self, session: Session, model: Model, weights: np.ndarray) -> None:
        program = model.compile()
        self.session = session
        self.name = model.name.partition(",")[0]
        self.weights = weights
        rows = {block.name: np.arange(block.start, block.stop) for block in program.rows}
        self.capacity = rows["capacity"]
        self.fairness = rows["fairness"]
        self.irrevocable = rows.get("irrevocable", np.zeros(0, dtype=int))
        block = program.column_block("x")
        self.x = np.arange(block.start, block.stop)
        self.m = program.column_block("M").start
        self.levels = np.zeros(len(weights))
        self.prices = np.zeros(len(self.capacity))
        self.gap = 0.0
        self.seconds = 0.0
        self.step = 0
        self.is_limited = session.options.time_limit is not None

        # Before users arrive they have nothing, and no row asks anything for them.
        zero = np.zeros(len(weights))
        session.change(
            columns=(self.x, zero, zero), rows=(self.fairness, zero - np.inf, zero + np.inf)
        )

    def give_out(self, parts: float) -> None:
        """Let the step give out so much of every resource."""
        n_rows = len(self.capacity)
        lower = np.full(n_rows, -np.inf)
        upper = np.full(n_rows, parts)
        self.session.change(rows=(self.capacity, lower, upper))

    def reserve_for(self, weight: float) -> None:
        """Reserve the level M for users to come of this weight."""
        coefficients = np.full(len(self.capacity), weight)
        self.session.change(coefficients=(self.capacity, self.m, coefficients))

    def arrive(self, k: int, warm: bool) -> tuple[float, int]:
        """Let user k in, solve, and return the level and the first user who has it."""
        free = np.zeros(1), INFINITE
        self.session.change(columns=(self.x[[k]], *free), rows=(self.fairness[[k]], *free))
        self.step = k + 1
        solution = self._solve(warm)
        assert solution.x is not None and solution.row_duals is not None
        self.prices = solution.row_duals[self.capacity]
        level = float(solution.x[self.m])

        # Users at or below the level have it from now on.
        levels = self.levels[: k + 1]
        above = levels > level
        raised = np.flatnonzero(~above)
        levels[raised] = level
        arrived_before = raised[raised < len(self.irrevocable)]
        lower = level * self.weights[arrived_before]
        upper = np.full(len(arrived_before), np.inf)
        self.session.change(rows=(self.irrevocable[arrived_before], lower, upper))
        return level, int(above.sum())

    def _solve(self, warm: bool) -> Solution:
        """Solve what is loaded, from the last basis, then afresh, then by another algorithm.

        From the last basis HiGHS may end with a row missed by more than its tolerance (tiny
        coefficients do it). Where no answer keeps rows within it, the closest of those that are
        certified is returned.
        """
        if not warm:
            self.session.restart()
        failure = None
        closest = None
        for other_algorithm in (None, False, True):
            if other_algorithm is not None:
                self.session.restart(other_algorithm)
            try:
                solution = self.session.solve()
            except SolverError as error:
                failure = error
                continue
            self.seconds += solution.times.get("solve", 0.0)
            if solution.status.termination is Termination.TIME_LIMIT and self.is_limited:
                solution.require_optimal()

            certificate = solution.verify() if solution.status.is_optimal else None
            if certificate is None or not certificate.is_optimal:
                reason = certificate if certificate is not None else solution.status
                failure = SolverError(
                    f"{solution.solver} did not solve {self.name}, step {self.step}: {reason}"
                )
                continue
            if closest is None or certificate.primal_residual < closest[0]:
                closest = certificate.primal_residual, solution
                gap = certificate.gap or 0.0
            if closest[0] <= FEASIBILITY:
                break
        if closest is None:
            assert failure is not None
            raise failure
        self.gap = max(self.gap, gap)
        return closest[1]
