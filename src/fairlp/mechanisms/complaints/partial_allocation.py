"""Partial allocation, by a market a user, and its proof."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...errors import SolverError, quoted
from ...formulations import gavel, partial_allocation as formulation
from ...formulations.region import runnable_users
from ...models.instances.instance import Instance
from ...models.instances.requests import entitlements
from ...models.notation.expressions import Expression
from ...models.notation.model import Model
from ...models.programs.proof import Proof
from ...tolerances import AUDIT, CONVEX_POINT
from ..allocation import Allocation, within_capacity
from ..max_min import policies
from ..mechanism import MethodCall, TasksResult, run
from ..table import find
from ..validation import differences


def entitled_to_nothing(instance: Instance) -> str | None:
    """Return why the mechanism is not defined, where a user is entitled to nothing."""
    nothing = entitlements(instance) == 0
    if not nothing.any():
        return None
    return f"it divides by entitlements, and user {quoted(instance.users[int(nothing.argmax())])} has none"


def own_time(model: Model, instance: Instance, tasks: Expression) -> None:
    """Add the rows by which a user has no more than all its time, where rates are given."""
    if instance.has_rates:
        gavel.one_kind_at_a_time(model, instance, tasks)


def by_markets(call: MethodCall) -> TasksResult:
    """Find the proportionally fair allocation of all users, and without each in turn."""
    instance = call.instance
    tasks, fractions, gap = _shared(instance, _quick_market)
    return TasksResult(tasks * fractions[:, None], gap=gap)


def convex(call: MethodCall) -> TasksResult:
    """Solve the model of all markets at once by any solver."""
    instance = call.instance
    with call.phase("build"):
        model = formulation.partial_allocation(instance)
    solution = model.solve(call.solver, **call.options).require_optimal()
    x = solution.require_point()
    tasks = np.maximum(np.asarray(model.evaluate("tasks", x)), 0.0)
    utility = np.asarray(model.evaluate("utility", x))
    fractions = formulation.parts(_entitled(instance), utility[0], utility[1:])
    return TasksResult(
        within_capacity(instance, tasks) * fractions[:, None],
        gap=solution.verify().gap,
        unproved=solution.unproved,
    )


def judge(allocation: Allocation) -> Proof:
    """Return whether users have their parts of markets that are solved anew and proved, each."""
    instance = allocation.instance
    try:
        tasks, fractions, gap = _shared(instance, _proved_market)
    except SolverError as error:
        return Proof(False, f"not proved: {error}")
    if allocation.residual > AUDIT:
        return Proof(False, f"infeasible: beyond the region by {allocation.residual:.1e}")
    totals = allocation.totals.to_numpy()
    expected = tasks.sum(axis=1) * fractions
    errors = differences(totals, expected)
    accepted = CONVEX_POINT if allocation.method == "convex" else AUDIT
    user = int(errors.argmax())
    if errors[user] > accepted:
        return Proof(
            False,
            f"user {quoted(instance.users[user])} has {totals[user]:.9g} tasks, and its part of the "
            f"proportionally fair {tasks.sum(axis=1)[user]:.9g} is {expected[user]:.9g}",
            float(errors[user]),
        )
    return Proof(True, f"its parts, proved: every market is (largest gap {gap:.1e})", gap)


def _entitled(instance: Instance) -> np.ndarray:
    return np.where(runnable_users(instance), entitlements(instance), 0.0)


def _shared(
    instance: Instance, market: Callable[[Instance], tuple[np.ndarray, float]]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the tasks of the market of all, the part that each user keeps, and the largest gap."""
    entitled = _entitled(instance)
    users = np.flatnonzero(entitled > 0)
    tasks = np.zeros(instance.shape)
    if not len(users):
        return tasks, entitled, 0.0
    weights = entitled[users] / entitled.sum()
    everyone = instance.select_users(users).derived(weights=weights, entitlements=None)
    tasks[users], gap = market(everyone)
    without = np.zeros((len(entitled),) * 2)
    for position, n in enumerate(users.tolist()):
        others = np.delete(np.arange(len(users)), position)
        if len(others):
            tasks_of_others, gap_of_others = market(everyone.select_users(others))
            without[n, users[others]] = tasks_of_others.sum(axis=1)
            gap = max(gap, gap_of_others)
    fractions = formulation.parts(entitled, tasks.sum(axis=1), without)
    return tasks, fractions, gap


def _quick_market(instance: Instance) -> tuple[np.ndarray, float]:
    """Return proportionally fair tasks, and their gap."""
    if instance.has_rates and policies.is_one_pool_of_devices(instance):
        tasks, _, gap = policies.largest_product(instance)
        return tasks, gap
    allocation = _market(instance)
    return allocation.tasks_array, float("inf") if allocation.gap is None else allocation.gap


def _proved_market(instance: Instance) -> tuple[np.ndarray, float]:
    """Return proportionally fair tasks, and the gap of their proof; raise where they are not proved."""
    allocation = _market(instance)
    proof = allocation.certify()
    if not proof:
        raise SolverError(f"a market of {len(instance.users)} users: {proof.message}")
    return allocation.tasks_array, proof.gap


def _market(instance: Instance) -> Allocation:
    """Share proportionally: by throughputs where rates are given, else by bundles of resources."""
    if instance.has_rates:
        allocation = run(find("gavel"), instance, objective=gavel.PROPORTIONAL)
    else:
        allocation = run(find("ceei"), instance)
    assert isinstance(allocation, Allocation)
    return allocation
