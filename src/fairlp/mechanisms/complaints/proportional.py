"""Proportional fairness (CEEI) on any servers: one function a method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...formulations import normalisers
from ...formulations.proportional import ceei
from ...formulations.region import able_users
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.instances.requests import entitlements
from ...models.programs.certificate import Verdict
from ...solvers.interior_point import INTERIOR
from ...tolerances import COMPLAINT, CONVEX_COMPLAINT
from ..mechanism import Asked, Tasks
from .methods import market


def one_server(asked: Asked) -> Tasks:
    """The optimum on one server by Newton's method on prices: the same point as no justified complaints."""
    return replace(market(asked), entitled=_entitled(asked.instance))


def convex(asked: Asked) -> Tasks:
    """The model through a solver, on merged servers: an exponential cone, or tangents on linear programs.

    Users entitled to nothing share what the others leave, by their weights.
    """
    instance = asked.instance
    small, servers = merge_servers(instance) if asked.merge else (instance, None)
    tasks = np.zeros((len(small.users), len(small.servers)))
    e = entitlements(small)
    first = np.flatnonzero(e > 0)
    part = small if len(first) == len(e) else small.select_users(first).derived(entitlements=e[first] / e.sum())
    tasks[first], prices, verdict, gap = _solve(part, asked)
    rest = np.flatnonzero((e == 0) & able_users(small))
    if rest.size:
        capacity = small.capacities * small.counts[:, None]
        left = np.maximum(capacity - tasks.T @ small.demands, 0.0)
        left = np.where(left <= CONVEX_COMPLAINT * capacity, 0.0, left) / small.counts[:, None]
        poor = small.select_users(rest).derived(capacities=left)
        if able_users(poor).any():
            tasks[rest] = _solve(poor, asked)[0]
    notes: tuple[str, ...] = ()
    if servers is not None and servers.merges:
        tasks = tasks[:, servers.of] * servers.factor
        prices = None if prices is None else prices[servers.of]
        notes = (f"solved with {len(small.servers)} servers instead of {len(servers.of)}: identical ones were merged",)
    return Tasks(
        tasks,
        entitled=_entitled(instance),
        prices=prices,
        gap=gap,
        certificate=verdict,
        notes=notes,
    )


def _solve(instance: Instance, asked: Asked) -> tuple[np.ndarray, np.ndarray | None, Verdict, float | None]:
    """Return tasks, prices by server and resource, whether the model's arrays prove them, and the duality gap.

    The gap bounds how far Σ e[n]·log(tasks) is from its maximum.
    """
    able = able_users(instance)
    tasks = np.zeros((len(instance.users), len(instance.servers)))
    if not able.any():
        return tasks, np.zeros(instance.capacities.shape), Verdict(True, "nobody can run anything"), 0.0
    model = ceei(instance)
    solution = model.solve(solver=asked.solver, **asked.options).require_optimal()
    assert solution.x is not None
    proof = solution.verify()
    tasks = np.asarray(model.evaluate("tasks", solution.x)).reshape(tasks.shape)
    prices = None
    if solution.row_duals is not None:
        block = model.compile().row_block("capacity")
        prices = np.maximum(solution.row_duals[block.slice].reshape(instance.capacities.shape), 0.0)
    unknown = float("inf")
    conditions = unknown if proof.dual_residual is None else proof.dual_residual
    gap = unknown if proof.gap is None else proof.gap
    tolerance = COMPLAINT if asked.solver == INTERIOR else CONVEX_COMPLAINT
    words = f"overuse {proof.primal_residual:.1e}, optimality {conditions:.1e}, gap {gap:.1e}"
    return tasks, prices, Verdict(max(proof.primal_residual, conditions, gap) <= tolerance, words), gap


def _entitled(instance: Instance) -> np.ndarray:
    """Return what levels are relative to: the part of its tasks alone that n is entitled to."""
    return np.asarray(entitlements(instance) * normalisers.containerized(instance))
