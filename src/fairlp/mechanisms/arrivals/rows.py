"""The rows of the table for users who arrive one by one and never leave."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import cast

import numpy as np
import pandas as pd

from ...errors import SolverError
from ...formulations import normalisers
from ...models.programs.backends import backend as find_backend
from ...models.programs.solution import Options
from ...tolerances import AGREEMENT
from ..mechanism import NO_CONSTRAINTS, NO_LIMITS, NO_QUEUE_LIMITS, NO_RATES, ONE_SERVER, ONE_WEIGHT, Mechanism, Method
from ..validation import Check
from . import algorithms
from .methods import CAUTIOUS, DYNAMIC_DRF, Rule, by_lp, combinatorial, in_parts
from .result import DynamicAllocation, require_no_limits, schedule

# How ``validate`` checks mechanisms for users who arrive: at every step, against each step's own program.


def check_steps(check: Check, *, rule: Rule) -> pd.DataFrame:
    """Compare every method with the linear program of every step, user by user.

    The reference solves each step's own model afresh (the one that ``formulate(step=k)`` gives, with what users had
    before it from the reference itself), so it shares nothing with the methods but the formulation.

    Returns
    -------
    DataFrame
        Indexed by method (``lp, each step afresh`` is the reference): ``agrees``, ``difference`` (largest difference of
        a user's dominant share at any step, relative to the larger), ``step`` and ``user`` with it, ``residual``
        (largest violation at any step, relative), ``seconds``.
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
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def step_difference(result: DynamicAllocation, expected: DynamicAllocation) -> tuple[float, int, int]:
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
    of_solver = {name: value for name, value in check.options.items() if name not in check.mechanism.options}
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
            raise SolverError(f"{solution.solver} called {model.name!r} optimal, but it is not: {certificate}")
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
WATER = Method("water-filling", combinatorial(DYNAMIC_DRF, in_parts(algorithms.water_filling)), cost="O(NR) a stage")
LINEAR = Method("linear", combinatorial(DYNAMIC_DRF, in_parts(algorithms.linear)), cost="O(NR) a step")
DRF_LP = Method("lp", by_lp(DYNAMIC_DRF), cost="one LP a step", solves=True)
CLOSED_FORM = Method("closed-form", combinatorial(CAUTIOUS, CAUTIOUS.levels), cost="O(NR) for all steps")
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
