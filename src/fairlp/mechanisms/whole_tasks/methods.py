"""Mechanisms with whole tasks on one server: from an algorithm to an Allocation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import UnknownNameError, nearest
from ...formulations import normalisers
from ...models.instances.instance import Instance
from ...tolerances import AGREEMENT
from ..allocation import Allocation
from . import filling, precomputed
from .picking import Pick, pick_by_pick
from .shares import TIES, Pool

if TYPE_CHECKING:
    from ..max_min.methods import Request
    from ..mechanism import Algorithm, Mechanism

REPAIRS: tuple[str, ...] = ("none", "ascending", "filling")


def fast_filling(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Discrete DRF or sequential minmax without the loop over tasks; asked ``auto`` and ``trace=True``, with it."""
    given = _parameters(request, rule="exclude", ties="larger", trace=False)
    if given["trace"]:
        if request.method == "auto":
            return loop_filling(instance, mechanism, mechanism.algorithm("loop", instance), request)
        raise UnknownNameError(f"method {algorithm.method!r} makes no picks to trace; method='loop' does")
    request.refuse_solver_options(mechanism, algorithm)
    offset = int(mechanism.name == "sequential-minmax")

    def run(pool: Pool) -> np.ndarray:
        return filling.Filling(pool, offset=offset, ties=given["ties"], rule=given["rule"]).run()

    return _timed(instance, mechanism, algorithm, run)


def loop_filling(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Discrete DRF or sequential minmax pick by pick, with every pick in ``Allocation.picks`` if ``trace=True``."""
    given = _parameters(request, rule="exclude", ties="larger", trace=False)
    request.refuse_solver_options(mechanism, algorithm)
    offset = int(mechanism.name == "sequential-minmax")
    picks: list[Pick] | None = [] if given["trace"] else None

    def run(pool: Pool) -> np.ndarray:
        return pick_by_pick(pool, rule=given["rule"], ties=given["ties"], offset=offset, trace=picks)

    return _timed(instance, mechanism, algorithm, run, picks)


def precomputed_drf(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Precomputed DRF: exact floors, floating point as printed, or its linear program through a solver."""
    given = _parameters(request, divisible=False, repair="none", higher_order=False, ties="larger")
    given["repair"] = given["repair"] or "none"
    one_of("repair", given["repair"], REPAIRS)
    if given["divisible"] and (given["repair"] != "none" or given["higher_order"]):
        raise UnknownNameError("divisible=True leaves nothing to repair; leave out repair and higher_order")
    if algorithm.method != "lp":
        request.refuse_solver_options(mechanism, algorithm)

    def run(pool: Pool) -> np.ndarray:
        if algorithm.method == "lp":
            tasks = _through_lp(instance, pool, request, given["divisible"])
        elif given["divisible"]:
            tasks = precomputed.divisible(pool)
        elif algorithm.method == "floating-point":
            tasks = precomputed.algorithm_1(pool)
        else:
            tasks = precomputed.precomputed(pool)
        if given["higher_order"]:
            for cycle in precomputed.higher_order_cycles(pool)[1:]:
                tasks[cycle.users] += cycle.tasks
        return tasks if given["repair"] == "none" else precomputed.repaired(pool, tasks, given["repair"], given["ties"])

    solver = request.solver if algorithm.method == "lp" else ""
    return _timed(instance, mechanism, algorithm, run, solver=solver)


def leximin_milp(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """The leximin optimum with whole tasks, by integer programs."""
    from .leximin import discrete_leximin

    levels: list[tuple[Any, int]] = []

    def run(pool: Pool) -> np.ndarray:
        result = discrete_leximin(instance, solver=request.solver, options=request.options)
        levels.extend(result.levels)
        return np.asarray(result.tasks)

    allocation = _timed(instance, mechanism, algorithm, run, solver=request.solver)
    rows = [(float(level), staying) for level, staying in levels]
    frame = pd.DataFrame(rows, columns=["level", "users at or below"], index=range(1, len(rows) + 1))
    return replace(allocation, rounds=frame.rename_axis("round"))


def _through_lp(instance: Instance, pool: Pool, request: Request, divisible: bool) -> np.ndarray:
    """Return tasks from the optimal number of cycles; floors within the solver's accuracy of a whole number go up."""
    from ...formulations.whole_tasks import precomputed_drf as formulation

    model = formulation(instance)
    solution = model.solve(solver=request.solver, **request.options).require_optimal()
    assert solution.x is not None
    tasks = np.asarray(model.evaluate("tasks", solution.x), dtype=float).reshape(-1)
    if not divisible:
        tasks = np.floor(tasks * (1 + AGREEMENT))
    return np.asarray(np.minimum(tasks, pool.limits))


def _timed(
    instance: Instance,
    mechanism: Mechanism,
    algorithm: Algorithm,
    run: Callable[[Pool], np.ndarray],
    picks: list[Pick] | None = None,
    solver: str = "",
) -> Allocation:
    begin = perf_counter()
    pool = Pool.of(instance)
    prepared = perf_counter()
    tasks = run(pool)
    solved = perf_counter()
    alone = normalisers.dominant(instance)
    never = np.flatnonzero(~pool.able & (instance.task_limits >= 1))
    notes: tuple[str, ...] = ()
    if never.size:
        first = instance.users[int(never[0])]
        others = f" (and {never.size - 1} more users)" if never.size > 1 else ""
        notes = (f"user {first!r}{others} could not run one whole task even alone, gets nothing and stops nobody",)
    return Allocation(
        instance=instance,
        mechanism=mechanism.name,
        method=algorithm.method,
        solver=solver,
        tasks_array=tasks[:, None],
        normaliser=alone,
        entitled=normalisers.entitled(instance, alone),
        times={"prepare": prepared - begin, "solve": solved - prepared},
        picks=None if picks is None else _trace(instance, picks),
        notes=notes,
    )


def _trace(instance: Instance, picks: list[Pick]) -> pd.DataFrame:
    """Return every turn of the loop: whose, the weighted share before, the tasks after, and whether the task ran."""
    rows = [(instance.users[pick.user], pick.share, pick.tasks, pick.runs) for pick in picks]
    columns = ["user", "share", "tasks", "runs"]
    return pd.DataFrame(rows, columns=columns, index=range(1, len(rows) + 1)).rename_axis("pick")


def _parameters(request: Request, **defaults: Any) -> dict[str, Any]:
    """Return the mechanism's options with defaults; check the rule and the rule for ties."""
    given = {**defaults, **request.parameters}
    one_of("rule", given.get("rule", "exclude"), filling.RULES)
    one_of("ties", given.get("ties", "larger"), TIES)
    return given


def one_of(option: str, value: Any, known: tuple[str, ...]) -> None:
    """Raise, with the nearest names, unless the value is a known one."""
    if value not in known:
        raise UnknownNameError(f"{option}={value!r} does not exist; {nearest(str(value), known)}")
