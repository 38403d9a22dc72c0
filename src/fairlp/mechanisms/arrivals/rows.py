"""The rows of the table for users who arrive one by one and never leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, cast

import numpy as np

from ...errors import SolverError
from ...formulations import arrivals as formulations
from ...formulations import normalisers
from ...formulations.normalisers import normalised_demands, weighted
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...models.programs.backends import backend as find_backend
from ...models.programs.solution import Options, Session, Solution, Termination
from ...tolerances import AGREEMENT, FEASIBILITY
from ..mechanism import (
    NO_CONSTRAINTS,
    NO_LIMITS,
    NO_QUEUE_LIMITS,
    NO_RATES,
    ONE_SERVER,
    ONE_WEIGHT,
    Mechanism,
    Method,
    MethodCall,
)
from ..validation import Check, Compared
from . import algorithms
from .algorithms import cautious_closed_form, stack
from .result import DynamicAllocation, Schedule, StepModel, require_no_limits, schedule

# The linear programs of all steps, each solved from the last basis.

INFINITE = np.full(1, np.inf)


@dataclass
class StepsResult:
    """Level and first user of each step (in fractions of everything), largest duality gap, seconds by phase.

    ``prices`` are the capacity duals of the last step: what a fraction more of each resource would
    add to the level.
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
    begin = perf_counter()
    program = model.compile()
    backend = find_backend(solver)
    session = backend.session(
        program, Options.from_keywords(solver, options or {}).tightened(backend)
    )
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
    times = {
        "build": built,
        "solve": steps.seconds,
        "steps": perf_counter() - begin - built - steps.seconds,
    }
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
        session.change(
            columns=(self.x, nobody, nobody), rows=(self.fairness, nobody - np.inf, nobody + np.inf)
        )

    def give_out(self, parts: float) -> None:
        """Let the step give out so much of every resource."""
        rows = len(self.capacity)
        self.session.change(rows=(self.capacity, np.full(rows, -np.inf), np.full(rows, parts)))

    def expect(self, weight: float) -> None:
        """Keep something for users of this weight."""
        self.session.change(
            coefficients=(self.capacity, self.m, np.full(len(self.capacity), weight))
        )

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
        self.session.change(
            rows=(self.irrevocable[kept], level * self.weights[kept], np.full(len(kept), np.inf))
        )
        return level, int(above.sum())

    def _solve(self, warm: bool) -> Solution:
        """Solve what is loaded; where rows are not kept to what was asked, begin afresh, then by another method.

        From the last basis HiGHS may end with a row missed by more than its tolerance (tiny
        coefficients do it). Where no answer keeps rows so well, the closest of those that are
        certified is returned.
        """
        if not warm:
            self.session.restart()
        failure = None
        closest = None
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
            failure = SolverError(
                f"{solution.solver} did not solve {self.name}, step {self.step}: {what}"
            )
        if closest is None:
            assert failure is not None
            raise failure
        self.gap = max(self.gap, gap)
        return closest[1]


# Users who arrive: one function a method, for every mechanism that is a rule for one step.

#: (φ[n]·d̂[n,r] in order of arrival, the steps) → level of each step in parts, and the first user
#: who has it
Levels = Callable[[np.ndarray, Schedule], tuple[Sequence[float], Sequence[int]]]


@dataclass(frozen=True)
class Rule:
    """What a mechanism does at each step.

    Attributes
    ----------
    mechanism : str
    step : callable
        (users present, what they had, schedule, step) → the program of that step, in fractions of
        everything.
    levels : callable
        All steps without a solver.
    files : str
        Stem of the names of files of the steps.
    cautious : bool
        Whether a step keeps something for the users still to come.
    """

    mechanism: str
    step: StepModel
    levels: Levels
    files: str
    cautious: bool = False

    def all_steps(self, arrived: Instance, steps: Schedule) -> Model:
        """Return the last step's program in parts, whose bounds and coefficients the earlier steps change."""
        nothing = np.zeros(len(steps.order))
        if self.cautious:  # the users still to come are set at each step; they must only be there
            return formulations.cautious_lp(arrived, nothing, steps.horizon, steps.horizon)
        return formulations.dynamic_drf(arrived, nothing, float(steps.parts[-1]))

    def formulate(
        self, instance: Instance, step: int | None = None, horizon: float | None = None
    ) -> Model:
        """Return the program of a step (by default the last); what users had before is computed without a solver."""
        require_no_limits(instance)
        steps = schedule(instance, horizon)
        levels, first = self.levels(needs(instance, steps), steps)
        found = self.result(
            instance, "", steps, np.asarray(levels) / steps.horizon, np.asarray(first)
        )
        return found.model(len(found.level_array) if step is None else step)

    def result(
        self,
        instance: Instance,
        method: str,
        steps: Schedule,
        levels: np.ndarray,
        first: np.ndarray,
        **more: Any,
    ) -> DynamicAllocation:
        """Return the answer: levels (fractions of everything) and the first user who has it, of each step."""
        return DynamicAllocation(
            instance,
            self.mechanism,
            method,
            steps,
            levels,
            first,
            self.step,
            self.files,
            self.cautious,
            notes=_notes(instance),
            **more,
        )


@dataclass(frozen=True)
class Steps:
    """The outcome of a mechanism for users who arrive: the level of each step and the first user who has it."""

    rule: Rule
    schedule: Schedule
    levels: np.ndarray
    first: np.ndarray
    prices: np.ndarray | None = None
    gap: float | None = None
    times: Mapping[str, float] = field(default_factory=dict)

    def answer(self, call: MethodCall, times: dict[str, float]) -> DynamicAllocation:
        """Return the DynamicAllocation."""
        weighted(
            call.instance, call.instance.user_weights, call.mechanism.gamma(call.instance)
        )  # or refuse
        return self.rule.result(
            call.instance,
            call.method.name,
            self.schedule,
            self.levels,
            self.first,
            solver=str(call.solver) if call.method.solves else "",
            prices_array=self.prices,
            times=times,
            gap=self.gap,
        )


def drf_step(present: Instance, before: np.ndarray, steps: Schedule, step: int) -> Model:
    """Return dynamic DRF's program of one step, in fractions of everything."""
    return formulations.dynamic_drf(present, before, float(steps.available[step - 1]))


def cautious_step(present: Instance, before: np.ndarray, steps: Schedule, step: int) -> Model:
    """Return the cautious LP of one step, in fractions of everything."""
    return formulations.cautious_lp(
        present, before, 1.0, float(steps.horizon - steps.parts[step - 1])
    )


def _cautious_levels(needs: np.ndarray, steps: Schedule) -> tuple[Sequence[float], Sequence[int]]:
    return cautious_closed_form(needs, steps.parts, steps.horizon)


def in_parts(core: Callable[[np.ndarray, np.ndarray], Any]) -> Levels:
    """Return an algorithm that only asks what each step may give out."""
    return lambda needs, steps: core(needs, steps.parts)


DYNAMIC_DRF = Rule("dynamic-drf", drf_step, in_parts(stack), "drf")
CAUTIOUS = Rule("cautious-lp", cautious_step, _cautious_levels, "cautious-lp", cautious=True)


def combinatorial(rule: Rule, levels: Levels) -> Callable[[MethodCall], Steps]:
    """Return the method of an algorithm that needs no solver."""

    def method(call: MethodCall) -> Steps:
        steps = steps_of(call)
        found, first = levels(needs(call.instance, steps), steps)
        return Steps(rule, steps, np.asarray(found, dtype=float) / steps.horizon, np.asarray(first))

    return method


def by_lp(rule: Rule) -> Callable[[MethodCall], Steps]:
    """Return the method that solves the linear program of every step, each from the last basis."""

    def method(call: MethodCall) -> Steps:
        steps = steps_of(call)
        arrived = call.instance.select_users(steps.order)
        model = rule.all_steps(arrived, steps)
        found = solve_steps(
            model, arrived, steps, cautious=rule.cautious, solver=call.solver, options=call.options
        )
        prices = (found.prices / call.instance.pool)[None, :]
        return Steps(rule, steps, found.levels, found.first, prices, found.gap, found.times)

    return method


def online_result(
    instance: Instance, horizon: float, levels: np.ndarray, first: np.ndarray
) -> DynamicAllocation:
    """Return what an online run did, its levels given in parts, with the users in order of arrival."""
    steps = schedule(instance, max(horizon, float(instance.user_weights.sum())))
    return DYNAMIC_DRF.result(instance, "stack", steps, levels / steps.horizon, first)


def steps_of(call: MethodCall) -> Schedule:
    """Return the steps of the instance and of the horizon that was asked for."""
    require_no_limits(call.instance)
    return schedule(call.instance, call.parameters.get("horizon"))


def needs(instance: Instance, steps: Schedule) -> np.ndarray:
    """Return φ[n]·d̂[n,r] in order of arrival."""
    weighted = normalised_demands(instance) * instance.user_weights[:, None]
    return np.asarray(weighted[steps.order])


def _notes(instance: Instance) -> tuple[str, ...]:
    zero = (instance.demands == 0).any(axis=1)
    if not zero.any():
        return ()
    more = f", nor do {int(zero.sum()) - 1} more" if zero.sum() > 1 else ""
    return (
        f"user {instance.users[int(zero.argmax())]!r} does not need every resource{more}; the "
        "papers exclude that. "
        "Their program is solved as it stands: a step ends where the first resource is given out, "
        "also for those who "
        "do not need it",
    )


# How ``validate`` checks mechanisms for users who arrive: at every step, against each step's own
# program.


def check_steps(check: Check, *, rule: Rule) -> Compared:
    """Compare every method with the linear program of every step, user by user.

    The reference solves each step's own model afresh (the one that ``formulate(step=k)`` gives,
    with what users had before it from the reference itself), so it shares nothing with the methods
    but the formulation.

    Returns
    -------
    dict
        By method (``lp, each step afresh`` is the reference): ``agrees``, ``difference`` (largest
        difference of a user's dominant share at any step, relative to the larger), ``step`` and
        ``user`` with it, ``residual`` (largest violation at any step, relative), ``seconds``.
    """
    require_no_limits(check.instance)
    begin = perf_counter()
    reference = _each_step_afresh(check, rule)
    seconds = perf_counter() - begin
    runs = {"lp, each step afresh": reference}
    for method in check.mechanism.method_names[::-1]:
        runs[method] = cast("DynamicAllocation", check.allocate(method=method))
    rows = {}
    for method, result in runs.items():
        difference, step, place = step_difference(result, reference)
        rows[method] = {
            "agrees": difference <= AGREEMENT,
            "difference": difference,
            "step": step,
            "user": check.instance.users[int(result.schedule.order[place])],
            "residual": result.residual,
            "seconds": seconds if result is reference else float(sum(result.times.values())),
        }
    return rows


def step_difference(
    result: DynamicAllocation, expected: DynamicAllocation
) -> tuple[float, int, int]:
    """Return the largest relative difference of a share at any step, the step, and the user's place; O(N²) time."""
    worst, where, who = 0.0, 1, 0
    for step in range(1, len(result.level_array) + 1):
        one, other = result.levels_at(step), expected.levels_at(step)
        difference = abs(one - other) / np.maximum(one, other)
        at = int(difference.argmax())
        if difference[at] > worst:
            worst, where, who = float(difference[at]), step, at
    return worst, where, who


def _each_step_afresh(check: Check, rule: Rule) -> DynamicAllocation:
    """Solve each step's own model, without a basis to start from."""
    of_solver = {
        name: value for name, value in check.options.items() if name not in check.mechanism.options
    }
    steps = schedule(check.instance, check.options.get("horizon"))
    backend = find_backend(check.solver)
    options = Options.from_keywords(check.solver, of_solver).tightened(backend)
    levels, first = np.zeros(len(steps.order)), np.zeros(len(steps.order), dtype=int)
    had, gap = np.zeros(len(steps.order)), 0.0
    for step in range(1, len(steps.order) + 1):
        present = check.instance.select_users(steps.order[:step])
        model = rule.step(present, had[:step] * present.user_weights, steps, step)
        solution = backend.solve(model.compile(), options).require_optimal()
        certificate = solution.verify()
        if not certificate.is_optimal:
            raise SolverError(
                f"{solution.solver} called {model.name!r} optimal, but it is not: {certificate}"
            )
        gap = max(gap, certificate.gap or 0.0)
        level = solution.objective
        levels[step - 1], first[step - 1] = level, np.count_nonzero(had[:step] > level)
        had[:step] = np.maximum(had[:step], level)
    return rule.result(check.instance, "lp", steps, levels, first, solver=check.solver, gap=gap)


STACK = Method(
    "stack",
    combinatorial(DYNAMIC_DRF, in_parts(algorithms.stack)),
    cost="O(NR) for all steps, amortised O(R) a step",
)
WATER = Method(
    "water-filling",
    combinatorial(DYNAMIC_DRF, in_parts(algorithms.water_filling)),
    cost="O(NR) a stage",
)
LINEAR = Method(
    "linear", combinatorial(DYNAMIC_DRF, in_parts(algorithms.linear)), cost="O(NR) a step"
)
DRF_LP = Method("lp", by_lp(DYNAMIC_DRF), cost="one LP a step", solves=True)
CLOSED_FORM = Method(
    "closed-form", combinatorial(CAUTIOUS, CAUTIOUS.levels), cost="O(NR) for all steps"
)
CAUTIOUS_LP = Method("lp", by_lp(CAUTIOUS), cost="one LP a step", solves=True)

_IN_TURN = (ONE_SERVER, NO_CONSTRAINTS, NO_RATES, NO_LIMITS, ONE_WEIGHT, NO_QUEUE_LIMITS)

ROWS = (
    Mechanism(
        "dynamic-drf",
        "Dynamic DRF (users arrive one by one and never leave)",
        "Kash, Procaccia and Shah, JAIR 2014; Li et al., 2019",
        DYNAMIC_DRF.formulate,
        normalisers.dominant,
        (STACK, WATER, LINEAR, DRF_LP),
        (
            "dynamic sharing incentive",
            "dynamically envy-free",
            "dynamically Pareto-optimal",
            "strategy-proof at every step",
            "late arrival never pays (ours)",
            "irrevocable",
        ),
        _IN_TURN,
        options=("horizon",),
        validate=partial(check_steps, rule=DYNAMIC_DRF),
        compared=False,
        arrivals=True,
        limits="never",
    ),
    Mechanism(
        "cautious-lp",
        "Cautious LP (keeps enough for users still to come)",
        "our reading of Kash, Procaccia and Shah, JAIR 2014",
        CAUTIOUS.formulate,
        normalisers.dominant,
        (CLOSED_FORM, CAUTIOUS_LP),
        (
            "dynamic sharing incentive",
            "envy-free at every step",
            "strategy-proof at every step",
            "late arrival never pays (ours)",
            "irrevocable",
        ),
        _IN_TURN,
        options=("horizon",),
        validate=partial(check_steps, rule=CAUTIOUS),
        compared=False,
        arrivals=True,
        limits="never",
    ),
)
