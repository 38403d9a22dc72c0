"""From a mechanism for users who arrive to a :class:`~fairlp.mechanisms.arrivals.result.DynamicAllocation`: one function a kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import SolverError
from ...formulations import arrivals as formulations
from ...formulations import normalisers
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...models.programs.backends import backend as find_backend
from ...models.programs.solution import Options
from ...tolerances import AGREEMENT
from ..max_min.methods import Request
from .algorithms import cautious_closed_form, stack
from .result import DynamicAllocation, require_no_limits
from .schedule import Schedule, normalised_demands, schedule
from .steps_lp import solve_steps

if TYPE_CHECKING:
    from ..mechanism import Algorithm, Mechanism
    from ..validation import Check

_HERE = "fairlp.mechanisms.arrivals.methods"
#: mechanism → the program of one step, and the stem of its files
_STEP = {"dynamic-drf": (f"{_HERE}:drf_step", "drf"), "cautious-lp": (f"{_HERE}:cautious_step", "cautious-lp")}


def drf(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> DynamicAllocation:
    """Run dynamic DRF by an algorithm that needs no solver: ``core(needs, parts) -> levels in parts, first``."""
    module, _, name = algorithm.core.partition(":")
    core = getattr(import_module(module), name)
    return _combinatorial(instance, mechanism, algorithm, request, lambda needs, steps: core(needs, steps.parts))


def cautious(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> DynamicAllocation:
    """Run the cautious LP by its closed form."""

    def core(needs: np.ndarray, steps: Schedule) -> Any:
        return cautious_closed_form(needs, steps.parts, steps.horizon)

    return _combinatorial(instance, mechanism, algorithm, request, core)


def lp(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> DynamicAllocation:
    """Solve the linear program of every step, each from the last basis."""
    steps = _schedule(instance, request)
    arrived = instance.select_users(steps.order)
    careful = mechanism.name == "cautious-lp"
    nothing, total = np.zeros(len(steps.order)), float(steps.parts[-1])
    if careful:  # the users still to come are set at each step; they must only be there
        model = formulations.cautious_lp(arrived, nothing, steps.horizon, steps.horizon)
    else:
        model = formulations.dynamic_drf(arrived, nothing, total)
    result = solve_steps(model, arrived, steps, cautious=careful, solver=request.solver, options=request.options)
    return _result(
        instance,
        mechanism,
        algorithm.method,
        steps,
        result.levels,
        result.first,
        solver=request.solver,
        prices_array=(result.prices / instance.pool)[None, :],
        times=result.times,
        gap=result.gap,
    )


def drf_step(present: Instance, before: np.ndarray, steps: Schedule, step: int) -> Model:
    """Return dynamic DRF's program of one step, in fractions of everything."""
    return formulations.dynamic_drf(present, before, float(steps.available[step - 1]))


def cautious_step(present: Instance, before: np.ndarray, steps: Schedule, step: int) -> Model:
    """Return the cautious LP of one step, in fractions of everything."""
    return formulations.cautious_lp(present, before, 1.0, float(steps.horizon - steps.parts[step - 1]))


def formulate_drf(instance: Instance, step: int | None = None, horizon: float | None = None) -> Model:
    """Return LP (1) of a step of dynamic DRF (by default the last); what users had before is computed by the stack."""
    steps = schedule(instance, horizon)
    levels, first = stack(_needs(instance, steps), steps.parts)
    return _model(instance, "dynamic-drf", steps, np.asarray(levels) / steps.horizon, np.asarray(first), step)


def formulate_cautious(instance: Instance, step: int | None = None, horizon: float | None = None) -> Model:
    """Return the cautious LP of a step (by default the last); what users had before is computed by the closed form."""
    steps = schedule(instance, horizon)
    levels, first = cautious_closed_form(_needs(instance, steps), steps.parts, steps.horizon)
    return _model(instance, "cautious-lp", steps, np.asarray(levels) / steps.horizon, np.asarray(first), step)


def online_result(instance: Instance, horizon: float, levels: np.ndarray, first: np.ndarray) -> DynamicAllocation:
    """Return what an online run did, its levels given in parts, with the users in order of arrival."""
    steps = schedule(instance, max(horizon, float(instance.user_weights.sum())))
    target, files = _STEP["dynamic-drf"]
    alone, notes = normalisers.dominant(instance), _notes(instance)
    shares = levels / steps.horizon
    return DynamicAllocation(instance, "dynamic-drf", "stack", steps, shares, first, alone, target, files, notes=notes)


def check_steps(check: Check) -> pd.DataFrame:
    """Check every method at every step, for :func:`fairlp.validate`; see :func:`compare_methods`."""
    return compare_methods(check.instance, check.mechanism, solver=check.solver, **check.options)


def compare_methods(
    instance: Instance,
    mechanism: Mechanism,
    *,
    solver: str = "highs",
    horizon: float | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Compare every method with the linear program of every step, user by user.

    The reference solves each step's own model afresh (the one that ``formulate(step=k)`` gives, with what users had
    before it from the reference itself), so it shares nothing with the methods but the formulation.

    Parameters
    ----------
    instance : Instance
    mechanism : Mechanism
    solver : str
    horizon : float, optional
    **options
        Options of the solver.

    Returns
    -------
    DataFrame
        Indexed by method (``lp, each step afresh`` is the reference): ``agrees``, ``difference`` (largest difference of
        a user's dominant share at any step, relative to the larger), ``step`` and ``user`` with it, ``residual``
        (largest violation at any step, relative), ``seconds``.
    """
    require_no_limits(instance)
    request = Request(solver=solver, options=options, parameters={"horizon": horizon})

    def run(method: str) -> DynamicAllocation:
        algorithm = mechanism.algorithm(method, instance)
        asked = request if algorithm.solves else Request(parameters={"horizon": horizon})
        module, _, name = algorithm.runner.partition(":")
        result: DynamicAllocation = getattr(import_module(module), name)(instance, mechanism, algorithm, asked)
        return result

    begin = perf_counter()
    reference = _each_step_afresh(instance, mechanism, request)
    seconds = perf_counter() - begin
    runs = {"lp, each step afresh": reference, **{method: run(method) for method in mechanism.methods[::-1]}}
    rows = {}
    for method, result in runs.items():
        difference, step, place = step_difference(result, reference)
        rows[method] = {
            "agrees": difference <= AGREEMENT,
            "difference": difference,
            "step": step,
            "user": instance.users[int(result.schedule.order[place])],
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


def _each_step_afresh(instance: Instance, mechanism: Mechanism, request: Request) -> DynamicAllocation:
    """Solve each step's own model, without a basis to start from."""
    steps = _schedule(instance, request)
    backend = find_backend(request.solver)
    options = Options.from_keywords(request.solver, request.options).tightened(backend)
    make = cautious_step if mechanism.name == "cautious-lp" else drf_step
    levels, first = np.zeros(len(steps.order)), np.zeros(len(steps.order), dtype=int)
    had, gap = np.zeros(len(steps.order)), 0.0
    for step in range(1, len(steps.order) + 1):
        present = instance.select_users(steps.order[:step])
        model = make(present, had[:step] * present.user_weights, steps, step)
        solution = backend.solve(model.compile(), options).require_optimal()
        certificate = solution.verify()
        if not certificate.is_optimal:
            raise SolverError(f"{solution.solver} called {model.name!r} optimal, but it is not: {certificate}")
        gap = max(gap, certificate.gap or 0.0)
        level = solution.objective
        levels[step - 1], first[step - 1] = level, np.count_nonzero(had[:step] > level)
        had[:step] = np.maximum(had[:step], level)
    return _result(instance, mechanism, "lp", steps, levels, first, solver=request.solver, gap=gap)


def _combinatorial(
    instance: Instance,
    mechanism: Mechanism,
    algorithm: Algorithm,
    request: Request,
    core: Callable[[np.ndarray, Schedule], tuple[Sequence[float], Sequence[int]]],
) -> DynamicAllocation:
    request.refuse_solver_options(mechanism, algorithm)
    begin = perf_counter()
    steps = _schedule(instance, request)
    levels, first = core(_needs(instance, steps), steps)
    seconds = {"solve": perf_counter() - begin}
    shares = np.asarray(levels, dtype=float) / steps.horizon
    return _result(instance, mechanism, algorithm.method, steps, shares, np.asarray(first), times=seconds)


def _result(
    instance: Instance,
    mechanism: Mechanism,
    method: str,
    steps: Schedule,
    levels: np.ndarray,
    first: np.ndarray,
    **more: Any,
) -> DynamicAllocation:
    target, files = _STEP[mechanism.name]
    alone = normalisers.dominant(instance)
    return DynamicAllocation(
        instance, mechanism.name, method, steps, levels, first, alone, target, files, notes=_notes(instance), **more
    )


def _notes(instance: Instance) -> tuple[str, ...]:
    zero = (instance.demands == 0).any(axis=1)
    if not zero.any():
        return ()
    more = f", nor do {int(zero.sum()) - 1} more" if zero.sum() > 1 else ""
    return (
        f"user {instance.users[int(zero.argmax())]!r} does not need every resource{more}; the papers exclude that. "
        "Their program is solved as it stands: a step ends where the first resource is given out, also for those who "
        "do not need it",
    )


def _schedule(instance: Instance, request: Request) -> Schedule:
    require_no_limits(instance)
    return schedule(instance, request.parameters.get("horizon"))


def _needs(instance: Instance, steps: Schedule) -> np.ndarray:
    """Return φ[n]·d̂[n,r] in order of arrival."""
    weighted = normalised_demands(instance) * instance.user_weights[:, None]
    return np.asarray(weighted[steps.order])


def _model(
    instance: Instance, name: str, steps: Schedule, levels: np.ndarray, first: np.ndarray, step: int | None
) -> Model:
    require_no_limits(instance)
    target, files = _STEP[name]
    alone = normalisers.dominant(instance)
    result = DynamicAllocation(instance, name, "", steps, levels, first, alone, target, files)
    return result.model(len(levels) if step is None else step)
