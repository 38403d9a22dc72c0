"""Proportional fairness (CEEI) on any servers: one function a method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...formulations import normalisers
from ...formulations.audits import improved
from ...formulations.proportional import ceei
from ...formulations.region import runnable_users
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.instances.requests import entitlements
from ...models.notation.model import Model
from ...models.programs.certificate import figure
from ...models.programs.proof import Proof
from ...solvers.interior_point import INTERIOR
from ...tolerances import AGREEMENT, CONVEX_POINT, VERIFIED
from ..allocation import Allocation, within_capacity
from ..mechanism import MethodCall, TasksResult
from .first_order import prove_tasks
from .methods import market

#: How often those who are entitled to something are placed anew, at most.
_PLACEMENTS = 8


def level_1_of(allocation: Allocation) -> np.ndarray:
    """Return the tasks at level 1, whatever the answer."""
    return _tasks_at_level_1(allocation.instance)


def one_server(call: MethodCall) -> TasksResult:
    """Return the optimum on one server by Newton's method on prices.

    It is the same point as that of no justified complaints.
    """
    return replace(market(call), tasks_per_level=_tasks_at_level_1(call.instance))


def convex(call: MethodCall) -> TasksResult:
    """Solve the model on merged servers: an exponential cone, or tangents on linear programs.

    Users entitled to nothing share what the others leave, by their weights.
    """
    instance = call.instance
    merged, servers = merge_servers(instance, call.merge)
    tasks = np.zeros(merged.shape)
    e = entitlements(merged)
    entitled_users = np.flatnonzero(e > 0)
    entitled = (
        merged
        if len(entitled_users) == len(e)
        else merged.select_users(entitled_users).derived(entitlements=e[entitled_users] / e.sum())
    )
    tasks[entitled_users], prices, verdict, gap = _solve(entitled, call)
    unentitled_users = np.flatnonzero((e == 0) & runnable_users(merged))
    unproved = ""
    if unentitled_users.size:
        tasks, second_verdict, unproved = _with_rest(merged, tasks, unentitled_users, call)
        verdict = verdict if second_verdict or not verdict else second_verdict
    prices = None if prices is None else prices[servers.of]
    return TasksResult(
        servers.spread(tasks) if servers.merges else tasks,
        tasks_per_level=_tasks_at_level_1(instance),
        prices=prices,
        gap=gap,
        certificate=verdict,
        notes=servers.notes,
        unproved=unproved,
    )


def _with_rest(
    instance: Instance, tasks: np.ndarray, rest: np.ndarray, call: MethodCall
) -> tuple[np.ndarray, Proof, str]:
    """Return the tasks with those of users without entitlement, their proof, and its gaps.

    The last is a text about the part that is not proved; empty where all is.

    What the others leave depends on where their tasks are: they are placed anew while that leaves
    more to a user.
    """
    for turn in range(_PLACEMENTS):
        tasks[rest], verdict = _of_left(instance, tasks, rest, call)
        totals = tasks.sum(axis=1)
        better, reason = elsewhere(instance, tasks, rest)
        if not reason:
            return tasks, verdict, ""
        if turn < _PLACEMENTS - 1:
            fraction_kept = np.divide(
                totals, better.sum(axis=1), out=np.zeros_like(totals), where=totals > 0
            )
            tasks = within_capacity(instance, better * fraction_kept[:, None])
            tasks[rest] = 0.0
    return tasks, Proof(False, reason), reason


def elsewhere(instance: Instance, tasks: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the tasks that give some users (positions) the most, and a sentence on their gain.

    The sentence is empty where no user gains.
    """
    better, gains = improved(instance, tasks)
    user = int(rest[gains[rest].argmax()])
    if gains[user] <= VERIFIED:
        return better, ""
    more = better[user].sum() - tasks[user].sum()
    return better, (
        "not proved: users entitled to nothing share what others leave where these are; "
        "elsewhere, these would leave "
        f"user {instance.users[user]!r} {more:.3g} more tasks"
    )


def judge(allocation: Allocation) -> Proof:
    """Return whether tasks are proportionally fair, by duals of linear programs.

    First those of users entitled to something, then of the others, of what the first leave.
    """
    instance = allocation.instance
    tasks = allocation.tasks_array
    share = entitlements(instance)
    first = np.flatnonzero(share > 0)
    remaining = left_by(instance, tasks, first, accepted(allocation.solver))
    of_remaining = instance.derived(capacities=remaining)
    last = np.flatnonzero((share == 0) & runnable_users(of_remaining))

    entitled = instance.select_users(first).derived(entitlements=share[first] / share.sum())
    proof = prove_tasks(ceei, entitled, tasks[first])
    if not proof:
        return proof
    if last.size:
        others = of_remaining.select_users(last).derived(entitlements=None)
        proof_of_others = prove_tasks(ceei, others, tasks[last])
        if not proof_of_others:
            return proof_of_others
    rest = np.flatnonzero((share == 0) & runnable_users(instance))
    reason = elsewhere(instance, tasks, rest)[1] if rest.size else ""
    return Proof(False, reason) if reason else proof


def left_by(
    instance: Instance, tasks: np.ndarray, others: np.ndarray, accepted: float
) -> np.ndarray:
    """Return the capacity that the tasks of others leave on each server; shape (K, R).

    A rest of at most the part ``accepted`` of the capacity counts as 0.
    """
    capacity = instance.total_capacities
    free = np.maximum(capacity - tasks[others].T @ instance.demands[others], 0.0)
    free = np.where(free <= accepted * capacity, 0.0, free)
    return np.asarray(free / instance.counts[:, None])


def _of_left(
    instance: Instance, tasks: np.ndarray, rest: np.ndarray, call: MethodCall
) -> tuple[np.ndarray, Proof]:
    """Return the tasks of users without entitlement, from the capacity that the others leave.

    They share it by their weights.
    """
    others = np.delete(np.arange(len(tasks)), rest)
    free = left_by(instance, tasks, others, accepted(call.solver))
    poor = instance.select_users(rest).derived(capacities=free)
    tasks_of_rest, _, verdict, _ = _solve(poor, call)
    return tasks_of_rest, verdict


def accepted(solver: str) -> float:
    """Return the relative error that a figure of this solver may have.

    The interior-point method of fairlp is accurate to the last digits.
    """
    return AGREEMENT if solver == INTERIOR else CONVEX_POINT


def _solve(
    instance: Instance, call: MethodCall
) -> tuple[np.ndarray, np.ndarray | None, Proof, float | None]:
    """Return tasks, prices by server and resource, the proof, and the duality gap.

    The gap bounds how far Σ e[n]·log(tasks) is from its maximum.
    """
    can_run = runnable_users(instance)
    tasks = np.zeros(instance.shape)
    if not can_run.any():
        return (
            tasks,
            np.zeros(instance.capacities.shape),
            Proof(True, "no user can run anything"),
            0.0,
        )
    model = ceei(instance)
    solution = model.solve(solver=call.solver, **call.options).require_optimal()
    proof = solution.verify()
    tasks = np.asarray(model.evaluate("tasks", solution.require_point())).reshape(tasks.shape)
    prices = None
    if solution.row_duals is not None:
        prices = prices_of(instance, model, solution.row_duals)
    measured = [np.inf if value is None else value for value in (proof.dual_residual, proof.gap)]
    message = (
        f"overuse {proof.primal_residual:.1e}, optimality {figure(proof.dual_residual)}, gap "
        f"{figure(proof.gap)}"
        f"{'; ' * bool(solution.unproved)}{solution.unproved}"
    )
    holds = max(proof.primal_residual, *measured) <= accepted(call.solver)
    return tasks, prices, Proof(holds, message), proof.gap


def prices_of(instance: Instance, model: Model, duals: np.ndarray) -> np.ndarray:
    """Return the duals of the capacities of a model, none below 0, by server and resource."""
    block = model.compile().row_block("capacity")
    return np.asarray(np.maximum(duals[block.slice].reshape(instance.capacities.shape), 0.0))


def _tasks_at_level_1(instance: Instance) -> np.ndarray:
    """Return what levels are relative to: the part of its tasks alone that n is entitled to."""
    return np.asarray(entitlements(instance) * normalisers.containerized(instance))
