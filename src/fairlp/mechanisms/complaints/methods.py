"""No justified complaints on one server: one function a method, and the certificates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...formulations.complaints import (
    UTILIZATION,
    Criterion,
    candidate,
    coefficients,
    eisenberg_gale,
    selection,
)
from ...models.instances.requests import Requests
from ...tolerances import AGREEMENT, CONVEX_POINT
from ..allocation import Allocation
from ..mechanism import MethodCall, TasksResult
from . import market as prices_by_newton
from .complaints import FairCertificate, certify_fair

#: (requests of users with an entitlement, fraction of each resource to give out) → x, prices
Optimum = Callable[[Requests, np.ndarray], tuple[np.ndarray, np.ndarray]]


def market(call: MethodCall) -> TasksResult:
    """The Eisenberg–Gale optimum by Newton's method on prices."""

    def optimum(stage: Requests, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        optimum_point = prices_by_newton.eisenberg_gale(
            stage.fractions / free, stage.entitlements, stage.limited
        )
        return optimum_point.x, optimum_point.prices / free

    return _eisenberg_gale(call, optimum, AGREEMENT)


def convex(call: MethodCall) -> TasksResult:
    """Solve the Eisenberg–Gale model: an exponential cone, or tangents on linear programs."""
    unproved = ""

    def optimum(stage: Requests, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nonlocal unproved
        model = eisenberg_gale(stage, free)
        solution = model.solve(solver=call.solver, **call.options).require_optimal()
        x = model.compile().column_block("x").unpack(solution.require_point()).to_numpy()
        unproved = unproved or solution.unproved
        if solution.row_duals is None:
            return x, np.full(len(free), np.nan)
        return x, np.maximum(
            model.compile().row_block("capacity").unpack(solution.row_duals).to_numpy(), 0.0
        )

    tasks = _eisenberg_gale(call, optimum, CONVEX_POINT)
    return (
        replace(tasks, unproved=unproved and f"not proved: {unproved}")
        if tasks.certificate.holds
        else tasks
    )


def by_selection(call: MethodCall) -> TasksResult:
    """Return the best fair allocation by an integer program with one binary for each resource.

    Its bottlenecks given, x is that of their linear program.
    """
    requests, criterion = _best_of(call)
    solution = (
        selection(requests, criterion).solve(solver=call.solver, **call.options).require_optimal()
    )
    bottlenecks = solution.values["z"].to_numpy() > 0.5
    refined = candidate(requests, bottlenecks, criterion).solve(solver=call.solver, **call.options)
    x = refined.require_optimal().values["x"].to_numpy()
    x = np.maximum(x, requests.thresholds(bottlenecks))
    return _certified(call, requests, np.where(requests.asking, x, 1.0))


def in_stages(
    requests: Requests, optimum: Optimum, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return x (N,) and prices (R,), in two stages.

    Users with an entitlement come first; the others share the rest.

    Those entitled to nothing share it by their weights, which is where entitlements tend to that
    vanish alike; users of a resource that is used up get nothing.
    """
    x = np.where(requests.asking, 0.0, 1.0)
    prices = np.zeros(len(requests.resources))
    entitled = requests.asking & (requests.entitlements > 0)
    if entitled.any():
        stage = requests if entitled.all() else requests.select(entitled)
        x[entitled], prices = optimum(stage, np.ones(len(prices)))
        prices = prices * requests.entitlements[entitled].sum()
    unentitled = requests.asking & (requests.entitlements == 0)
    if unentitled.any():
        used = x[entitled] @ requests.fractions[entitled]
        closed = used >= 1 - tolerance
        unentitled &= ~(requests.fractions[:, closed] > 0).any(axis=1)
        if unentitled.any():
            stage = requests.select(unentitled)
            weights = stage.weights / stage.weights.sum()
            stage = Requests(**{**stage.__dict__, "entitlements": weights})
            x[unentitled], _ = optimum(stage, np.where(closed, 1.0, 1 - used))
    return x, prices


def _best_of(call: MethodCall) -> tuple[Requests, Criterion]:
    """Return the requests and the criterion; one that does not exist ends it here."""
    criterion = call.parameters.get("criterion")
    criterion = UTILIZATION if criterion is None else criterion
    requests = Requests.of(call.instance)
    coefficients(requests, criterion)
    return requests, criterion


def _eisenberg_gale(call: MethodCall, optimum: Optimum, tolerance: float) -> TasksResult:
    """Return the optimum with its certificate.

    Complaints may go as far as ``tolerance``, the accuracy of the method.
    """
    requests = Requests.of(call.instance)
    x, prices = in_stages(requests, optimum, tolerance)
    return _certified(call, requests, x, None if np.isnan(prices).any() else prices, tolerance)


def judge(allocation: Allocation) -> FairCertificate:
    """Return the certificate of an allocation's tasks and prices, to its method's accuracy."""
    requests = Requests.of(allocation.instance)
    prices = allocation.prices_array
    tolerance = getattr(allocation.certificate, "tolerance", AGREEMENT)
    x = requests.granted(np.maximum(allocation.totals.to_numpy(), 0.0))
    pool_prices = None if prices is None else prices[0] * allocation.instance.pool
    return certify_fair(requests, x, pool_prices, min(tolerance, CONVEX_POINT))


def level_1_of(allocation: Allocation) -> np.ndarray:
    """Return the tasks at which users are entitled to no more, by an allocation's bottlenecks."""
    return _tasks_at_thresholds(Requests.of(allocation.instance), judge(allocation))


def _tasks_at_thresholds(requests: Requests, certificate: FairCertificate) -> np.ndarray:
    saturated = np.isin(
        np.arange(len(requests.resources)),
        [list(requests.resources).index(b) for b in certificate.bottlenecks],
    )
    return np.asarray(requests.thresholds(saturated) * requests.tasks)


def _certified(
    call: MethodCall,
    requests: Requests,
    x: np.ndarray,
    prices: np.ndarray | None = None,
    tolerance: float = AGREEMENT,
) -> TasksResult:
    """Return granted fractions as tasks, with the certificate."""
    with call.phase("check"):
        certificate = certify_fair(requests, x, prices, tolerance)
    return TasksResult(
        requests.to_tasks(x)[:, None],
        tasks_per_level=_tasks_at_thresholds(requests, certificate),
        prices=None if prices is None else (prices / call.instance.pool)[None, :],
        gap=None if prices is None else certificate.gap,
        certificate=certificate,
    )
