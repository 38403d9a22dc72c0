"""How ``validate`` checks mechanisms for users who arrive: at every step, against each step's own program."""

from __future__ import annotations

from time import perf_counter
from typing import cast

import numpy as np
import pandas as pd

from ...errors import SolverError
from ...models.programs.backends import backend as find_backend
from ...models.programs.solution import Options
from ...tolerances import AGREEMENT
from ..validation import Check
from .methods import Rule
from .result import DynamicAllocation
from .schedule import require_no_limits, schedule


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
