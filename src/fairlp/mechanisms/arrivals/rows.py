"""The rows of the table for users who arrive one by one and never leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...formulations import normalisers
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
from . import algorithms
from .programs import solve_steps
from .result import DynamicAllocation, dynamic_allocation, prove_steps
from .rule import CAUTIOUS, DYNAMIC_DRF, Rule, StepAlgorithm, StepLevels
from .schedule import Schedule, require_no_limits, schedule


@dataclass(frozen=True)
class StepsResult:
    """The outcome of a mechanism for users who arrive: the level of each step, and who has it."""

    rule: Rule
    schedule: Schedule
    step_levels: StepLevels
    prices: np.ndarray | None = None
    gap: float | None = None
    times: Mapping[str, float] = field(default_factory=dict)

    def answer(self, call: MethodCall, times: dict[str, float]) -> DynamicAllocation:
        """Return the DynamicAllocation."""
        return dynamic_allocation(
            self.rule,
            call.instance,
            call.method.name,
            self.schedule,
            self.step_levels,
            solver=str(call.solver) if call.method.solves else "",
            prices_array=self.prices,
            times=times,
            gap=self.gap,
            parameters=call.parameters,
        )


def combinatorial(rule: Rule, algorithm: StepAlgorithm) -> Callable[[MethodCall], StepsResult]:
    """Return the method of an algorithm that needs no solver."""

    def method(call: MethodCall) -> StepsResult:
        steps = _steps_of(call)
        return StepsResult(rule, steps, rule.levels(call.instance, steps, algorithm))

    return method


def by_lp(rule: Rule) -> Callable[[MethodCall], StepsResult]:
    """Return the method that solves the linear program of every step, each from the last basis."""

    def method(call: MethodCall) -> StepsResult:
        steps = _steps_of(call)
        arrived = call.instance.select_users(steps.order)
        model = rule.all_steps(arrived, steps)
        solved = solve_steps(
            model, arrived, steps, cautious=rule.cautious, solver=call.solver, options=call.options
        )
        prices = (solved.prices / call.instance.pool)[None, :]
        return StepsResult(rule, steps, solved.step_levels, prices, solved.gap, solved.times)

    return method


def _steps_of(call: MethodCall) -> Schedule:
    """Return the steps of the instance and of the horizon in the call."""
    require_no_limits(call.instance)
    return schedule(call.instance, call.parameters.get("horizon"))


STACK = Method(
    "stack",
    combinatorial(DYNAMIC_DRF, algorithms.stack),
    cost="O(NR) for all steps, amortised O(R) a step",
)
WATER_FILLING = Method(
    "water-filling",
    combinatorial(DYNAMIC_DRF, algorithms.water_filling),
    cost="O(NR) a stage",
)
LINEAR = Method("linear", combinatorial(DYNAMIC_DRF, algorithms.linear), cost="O(NR) a step")
DYNAMIC_DRF_LP = Method("lp", by_lp(DYNAMIC_DRF), cost="one LP a step", solves=True)
CLOSED_FORM = Method(
    "closed-form", combinatorial(CAUTIOUS, CAUTIOUS.algorithm), cost="O(NR) for all steps"
)
CAUTIOUS_LP = Method("lp", by_lp(CAUTIOUS), cost="one LP a step", solves=True)

DOMAIN = (ONE_SERVER, NO_CONSTRAINTS, NO_RATES, NO_LIMITS, ONE_WEIGHT, NO_QUEUE_LIMITS)

ROWS = (
    Mechanism(
        "dynamic-drf",
        "Dynamic DRF (users arrive one by one and never leave)",
        "Kash, Procaccia and Shah, JAIR 2014; Li et al., 2019",
        DYNAMIC_DRF.formulate,
        normalisers.dominant,
        (STACK, WATER_FILLING, LINEAR, DYNAMIC_DRF_LP),
        (
            "dynamic sharing incentive",
            "dynamically envy-free",
            "dynamically Pareto-optimal",
            "strategy-proof at every step",
            "late arrival never pays (ours)",
            "irrevocable",
        ),
        DOMAIN,
        options=("horizon",),
        prove=prove_steps,
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
        DOMAIN,
        options=("horizon",),
        prove=prove_steps,
        compared=False,
        arrivals=True,
        limits="never",
    ),
)
