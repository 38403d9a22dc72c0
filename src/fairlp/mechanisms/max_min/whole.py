"""Max-min fairness with whole tasks on servers: ``whole=True``, by integer programs.

The leximin is found level by level (:mod:`.whole_levels`). Its proof asks other programs, of the
levels as they are, whether more users could be above them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from ...errors import SolverError, counted, quoted
from ...formulations.whole_tasks import (
    SettledLevel,
    above_on_servers,
    most_tasks_on,
    on_servers,
    packing,
)
from ...models.instances.arithmetic import beyond, quotients, usable, whole_limits, whole_table
from ...models.instances.instance import Instance
from ...models.programs.backends import find_backend
from ...models.programs.options import Options
from ...models.programs.proof import Proof
from ...models.programs.protocols import Backend
from ...models.programs.status import Termination
from ...tolerances import AGREEMENT, MILP_TOLERANCES
from ..allocation import Allocation
from ..mechanism import NO_QUEUE_LIMITS, NO_RATES, Mechanism, Method, MethodCall, TasksResult
from ..table import find
from .enumeration import prove_by_enumeration
from .methods import rounds_table
from .whole_levels import WholeLevels

Outcome = TypeVar("Outcome")


def with_whole_tasks(row: Mechanism, name: str) -> Mechanism:
    """Return the row of a mechanism that also shares whole tasks; ``name`` is that of its model."""
    whole = Mechanism(
        row.name,
        f"{row.title}, with whole tasks",
        row.source,
        partial(on_servers, name=name, source=row.source, normaliser=row.gamma),
        row.gamma,
        (MILP,),
        ("Pareto-optimal",),
        (*row.domain, *(d for d in (NO_RATES, NO_QUEUE_LIMITS) if d not in row.domain)),
        options=("whole",),
        prove=prove,
        compared=False,
        whole_tasks=True,
    )
    return replace(row, options=(*row.options, "whole"), whole=whole)


def whole_leximin(call: MethodCall) -> TasksResult:
    """Settle the levels of whole tasks, from the lowest up."""
    instance = call.instance
    single = instance.expanded()
    if not most_tasks_on(single).any():
        return TasksResult(np.zeros(instance.shape), notes=note_on_unable(single))

    def run(
        room: np.ndarray | None, backend: Backend, options: Options
    ) -> tuple[np.ndarray, WholeLevels]:
        rounds = WholeLevels(single, call.tasks_per_level, backend, options, room)
        rounds.run()
        return rounds.tasks, rounds

    tasks, rounds = within_capacities(call, single, run)
    tasks_of_rows = tasks_by_row(instance, tasks)
    return TasksResult(
        tasks_of_rows,
        rounds=rounds_table(instance, rounds.history(), tasks_of_rows),
        gap=rounds.gap,
        notes=note_on_unable(single),
        unproved=rounds.unproved,
    )


def within_capacities(
    call: MethodCall,
    single: Instance,
    run: Callable[[np.ndarray | None, Backend, Options], tuple[np.ndarray, Outcome]],
) -> tuple[np.ndarray, Outcome]:
    """Return whole tasks on single servers that break no capacity, and the outcome they are of.

    At the tightest tolerances HiGHS calls programs infeasible that have points. So looser ones come
    first; tasks are compared with capacities exactly. Where a solver's tolerance overloads a
    server, a second run holds tasks to what whole ones can use of each capacity.

    Parameters
    ----------
    call : MethodCall
    single : Instance
        Each server a row.
    run : callable
        (Capacities in the place of the servers', or None; back end; its options) → whole tasks, and
        what else was found.

    Raises
    ------
    SolverError
        Where the second run breaks a capacity, too.
    """
    backend = find_backend(call.solver)
    options = Options.from_keywords(str(call.solver), call.options)
    tasks, outcome = run(None, backend, options)
    if not beyond(single.demands, single.capacities, single.counts, tasks).any():
        return tasks, outcome
    room = single.capacities * usable(*whole_table(single.demands, single.capacities))
    tasks, outcome = run(room, backend, options.tightened(backend))
    if beyond(single.demands, single.capacities, single.counts, tasks).any():
        raise SolverError(
            f"{call.solver} gave whole tasks that break a capacity by rounding; scale the "
            "data, or use another solver"
        )
    return tasks, outcome


MILP = Method(
    "milp",
    whole_leximin,
    cost="a few integer programs a level, users × single servers integers each: small instances",
    solves=True,
)


def prove(allocation: Allocation, exact: bool = False) -> Proof:
    """Return the proof that whole tasks are the leximin, level by level.

    It is when no more users than are can be above any of the levels, while as many as are stay
    above the lower ones. One integer program answers that for a level; or (``exact``) an
    enumeration of whole tasks, where it is short.
    """
    instance = allocation.instance
    row = find(allocation.mechanism).under({"whole": True})
    tasks = allocation.tasks_array
    problem = why_not_whole(instance, tasks)
    if problem:
        return Proof(False, f"not the leximin: {problem}")
    can_run = most_tasks_on(instance.expanded()).any(axis=1)
    tasks_per_level = row.tasks_per_level(instance)
    levels = quotients(tasks.sum(axis=1), tasks_per_level)

    def tasks_at(level: float) -> tuple[np.ndarray, np.ndarray]:
        least = np.ceil(level * tasks_per_level * (1 - AGREEMENT))
        above = np.floor(level * tasks_per_level * (1 + AGREEMENT)) + 1
        return least, above

    if exact:
        users = np.flatnonzero(can_run).tolist()
        distinct = _distinct(levels[can_run])
        totals = tasks.sum(axis=1)
        return prove_by_enumeration(instance.expanded(), totals, users, distinct, tasks_at)
    settled: list[SettledLevel] = []
    for level in _distinct(levels[can_run]):
        least, above = tasks_at(level)
        staying = int((levels[can_run] <= level * (1 + AGREEMENT)).sum())
        settled.append(SettledLevel(least, above, staying))
        solution = above_on_servers(instance, settled).solve().require_optimal()
        count = int(np.rint(solution.objective))
        bound = solution.objective if solution.bound is None else solution.bound
        if count > can_run.sum() - staying:
            return Proof(
                False,
                f"not the leximin: {count} users can be above the level {level:.6g}, and "
                f"{can_run.sum() - staying} are",
            )
        if bound >= can_run.sum() - staying + 1 - MILP_TOLERANCES[-1]:
            return Proof(False, f"not proved: users above the level {level:.6g} are not bounded")
    return Proof(
        True,
        "the leximin of whole tasks: no more users can be above any level (integer programs, one a "
        f"level: {len(settled)}; as highs says)",
        0.0,
    )


def why_not_whole(instance: Instance, tasks: np.ndarray) -> str:
    """Return why tasks are no whole tasks of the instance; empty where they are."""
    if (abs(tasks - np.rint(tasks)) > AGREEMENT * np.maximum(tasks, 1.0)).any() or (
        tasks < 0
    ).any():
        return "some tasks are no whole numbers"
    is_overused = beyond(instance.demands, instance.capacities, instance.counts, tasks)
    is_misplaced = (np.rint(tasks) > 0) & ~instance.runnable()
    is_beyond_limit = np.rint(tasks).sum(axis=1) > whole_limits(instance.task_limits)
    if is_overused.any() or is_misplaced.any() or is_beyond_limit.any():
        return "the tasks break a capacity, a limit or a placement constraint"
    if (instance.counts > 1).any():
        termination = packing(instance, tasks).solve().status.termination
        if termination is not Termination.OPTIMAL:
            return f"the tasks on identical servers do not fit them one by one ({termination})"
    return ""


def _distinct(levels: np.ndarray) -> list[float]:
    """Return the levels that differ, from the lowest."""
    distinct: list[float] = []
    for level in np.sort(levels).tolist():
        if not distinct or level > distinct[-1] * (1 + AGREEMENT):
            distinct.append(level)
    return distinct


def tasks_by_row(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return tasks on single servers as tasks on the rows of identical ones."""
    row = np.repeat(np.arange(len(instance.counts)), instance.counts)
    result = np.zeros(instance.shape)
    np.add.at(result.T, row, tasks.T)
    return result


def note_on_unable(single: Instance) -> tuple[str, ...]:
    """Return a note on users who can run no whole task."""
    unable = np.flatnonzero(~most_tasks_on(single).any(axis=1) & (single.task_limits >= 1))
    return note_on(single, unable.tolist())


def note_on(instance: Instance, unable: Sequence[int]) -> tuple[str, ...]:
    """Return a note on these users, who can never run one task."""
    if not unable:
        return ()
    others = f" (and {counted(len(unable) - 1, 'more user')})" if len(unable) > 1 else ""
    first = instance.users[unable[0]]
    return (
        f"user {quoted(first)}{others} could not run one whole task even alone, gets nothing and stops "
        "nobody",
    )
