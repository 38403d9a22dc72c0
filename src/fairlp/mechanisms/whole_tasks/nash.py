"""Maximum Nash welfare in whole tasks: one integer program, and its proof by exact products."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...formulations.whole_goods import maximum_nash_welfare
from ...formulations.whole_tasks import most_tasks_on
from ...models.instances.instance import Instance
from ...models.programs.backends import solve
from ...models.programs.options import Options
from ...models.programs.proof import Proof
from ...models.programs.protocols import Backend
from ...models.programs.solution import Solution
from ...models.programs.status import LIMITS
from ...tolerances import AGREEMENT
from ..allocation import Allocation
from ..max_min.whole import note_on_unable, tasks_by_row, why_not_whole, within_capacities
from ..mechanism import MethodCall, TasksResult


def nash_milp(call: MethodCall) -> TasksResult:
    """Solve the integer program of maximum Nash welfare."""
    instance = call.instance
    single = instance.expanded()
    if not most_tasks_on(single).any():
        return TasksResult(np.zeros(instance.shape), notes=note_on_unable(single))
    tasks, solution = within_capacities(call, single, partial(_solved, instance, single))
    return TasksResult(
        tasks_by_row(instance, tasks),
        notes=note_on_unable(single),
        unproved=_doubt(solution),
    )


def _doubt(solution: Solution) -> str:
    """Return what is not proved of a solution: after a limit, that others may be better."""
    termination = solution.status.termination
    if termination not in LIMITS:
        return solution.unproved
    return f"not proved: the {termination} was reached, and other tasks may have a larger product"


def _solved(
    instance: Instance,
    single: Instance,
    room: np.ndarray | None,
    backend: Backend,
    options: Options,
) -> tuple[np.ndarray, Solution]:
    """Return whole tasks on single servers, and the solution that they are of."""
    model = maximum_nash_welfare(instance, room)
    solution = solve(model.compile(), backend, options)
    if not (solution.is_feasible and solution.status.termination in LIMITS):
        solution.require_optimal()
    tasks = np.rint(np.asarray(model.evaluate("tasks", solution.require_point()), dtype=float))
    return tasks.reshape(single.shape), solution


def welfare(instance: Instance, totals: np.ndarray) -> tuple[int, float]:
    """Return how many users have a task, and Σ φ[n]·log x[n] of those."""
    has_task = totals >= 1
    logs = instance.user_weights[has_task] * np.log(totals[has_task])
    return int(has_task.sum()), math.fsum(logs.tolist())


def prove(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether whole tasks have the largest Nash welfare, as the program with HiGHS says."""
    if exact:
        return Proof(
            False,
            "not proved: an integer program has no duals, and its logarithms are no rationals; "
            "certify() compares with the optimum of another run",
        )
    instance = allocation.instance
    problem = why_not_whole(instance, allocation.tasks_array)
    if problem:
        return Proof(False, f"not of the largest Nash welfare: {problem}")
    users, logs = welfare(instance, allocation.totals.to_numpy())
    model = maximum_nash_welfare(instance)
    solution = model.solve().require_optimal()
    tasks = np.rint(np.asarray(model.evaluate("tasks", solution.require_point()), dtype=float))
    most_users, largest_logs = welfare(instance, tasks.reshape(len(instance.users), -1).sum(axis=1))
    if users < most_users:
        return Proof(
            False,
            f"not of the largest Nash welfare: {users} users have a task, and {most_users} can",
        )
    gap = max(largest_logs - logs, 0.0) / max(abs(largest_logs), 1.0)
    if gap > AGREEMENT:
        return Proof(
            False,
            f"not of the largest Nash welfare: the sum of logarithms is {logs:.9g}, and "
            f"{largest_logs:.9g} can be",
            gap,
        )
    message = (
        f"the largest Nash welfare: {users} users have a task, the sum of logarithms is {logs:.9g} "
        "(one integer program; as highs says)"
    )
    return Proof(True, message, gap)
