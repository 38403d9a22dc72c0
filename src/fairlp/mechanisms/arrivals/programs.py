"""The linear programs of all steps, solved one after the other from the last basis.

A step is one round of :func:`~fairlp.models.paths.engine.rise`: users who have come rise to one level,
who has more keeps it, and the region is the program of the step.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from ...errors import SolverError
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...models.paths.engine import Region, rise
from ...models.paths.path import ConstantPath, Path
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

    Raises
    ------
    SolverError
        When a step cannot be solved, or its answer not be certified.
    """
    start_time = perf_counter()
    backend = find_backend(solver)
    solver_options = Options.from_keywords(solver, options or {}).tightened(backend)
    session = backend.session(model.compile(), solver_options)
    region = StepPrograms(session, model, arrived.user_weights)
    build_seconds = perf_counter() - start_time

    n = len(schedule)
    levels = np.zeros(n)
    first = np.zeros(n, dtype=int)
    path = ConstantPath.of_levels(np.full(n, np.inf))
    for k in range(n):
        if cautious:
            region.reserve_for(float(schedule.horizon - schedule.parts[k]))
        else:
            region.give_out(float(schedule.parts[k]))
        region.admit(k)
        present = np.arange(n) <= k
        end = rise(replace(path, active=present), region)
        levels[k] = end.history[0][0]
        first[k] = (path.tasks[present] > levels[k]).sum()
        path = replace(path, tasks=end.path.tasks)

    times = {
        "build": build_seconds,
        "solve": region.seconds,
        "steps": perf_counter() - start_time - build_seconds - region.seconds,
    }
    step_levels = StepLevels(levels / schedule.horizon, first)
    return SolvedSteps(step_levels, region.prices, region.gap, times)


class StepPrograms(Region):
    """The program of a step, of all users in a session; levels are parts per weight."""

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

    def admit(self, k: int) -> None:
        """Let user k in."""
        free = np.zeros(1), INFINITE
        self.session.change(columns=(self.x[[k]], *free), rows=(self.fairness[[k]], *free))
        self.step = k + 1

    def farthest(self, path: Path) -> float:
        """Return the largest level that all who have come can have, unless they have more."""
        solution = self._solve()
        assert solution.x is not None and solution.row_duals is not None
        self.prices = solution.row_duals[self.capacity]
        return float(solution.x[self.m])

    def blocked(self, path: Path, t: float) -> np.ndarray:
        """Return all who have come: what they have at the end of the step, they keep."""
        raised = np.flatnonzero(path.active & (path.tasks <= t))
        raised = raised[raised < len(self.irrevocable)]
        lower = t * self.weights[raised]
        self.session.change(rows=(self.irrevocable[raised], lower, np.full(len(raised), np.inf)))
        return path.active

    def _solve(self) -> Solution:
        """Solve what is loaded, from the last basis, then afresh, then by another algorithm.

        From the last basis HiGHS may end with a row missed by more than its tolerance (tiny
        coefficients do it). Where no answer keeps rows within it, the closest of those that are
        certified is returned.
        """
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
