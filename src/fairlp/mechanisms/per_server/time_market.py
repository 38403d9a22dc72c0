"""The market of time behind PS-DSF under time division: its optimum, and proofs by its prices.

Maximise Σ φ[n]·log Σ_i x[n,i] subject to Σ_n x[n,i]/γ[n,i] ≤ 1 and task limits. Without limits its
optimality conditions are PS-DSF under time division (formulations/per_server.py). With limits its
optimum is one of several fixed points, the one that wastes nothing (docs/results.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import SolverError
from ...models.instances.instance import Instance
from ...models.programs.proof import Proof
from ...tolerances import ACCEPTED, NOISE


@dataclass(frozen=True)
class TimeMarket:
    """An optimum of the market.

    Attributes
    ----------
    tasks : ndarray, shape (N, K)
    prices : ndarray, shape (K,)
        Of all the time of each server, in the unit of the weights.
    """

    tasks: np.ndarray
    prices: np.ndarray


def limits_bind(instance: Instance) -> bool:
    """Whether a user has a task limit below what it could run alone on all servers."""
    limits = instance.task_limits
    if np.isinf(limits).all():
        return False
    return bool(((limits > 0) & (limits < instance.gamma().sum(axis=1))).any())


def time_market(instance: Instance) -> TimeMarket:
    """Return an optimum of the market by our own interior-point method.

    Fractions of time are the variables, and γ is what they contribute.
    """
    from ...solvers.interior_point import method
    from ...solvers.interior_point.problem import Problem, UserRows
    from ...solvers.interior_point.region import PlacedRegion

    gamma = instance.gamma()
    limits = instance.task_limits
    tasks = np.zeros(gamma.shape)
    prices = np.zeros(gamma.shape[1])
    users = np.flatnonzero((gamma > 0).any(axis=1) & (limits > 0))
    servers = np.flatnonzero((gamma[users] > 0).any(axis=0))
    if not users.size:
        return TimeMarket(tasks, prices)

    alone = gamma[np.ix_(users, servers)]
    whole = alone.sum(axis=1)
    contribution = (alone / whole[:, None]).T
    runs = contribution > 0
    time = np.full((len(servers), 1), 1.0 / len(servers))
    region = PlacedRegion(np.ones((len(users), 1)), time, runs, contribution * len(servers))

    limited = np.flatnonzero(np.isfinite(limits[users]))
    weights = instance.user_weights[users]
    rows = UserRows(
        user=np.concatenate([np.arange(len(users)), limited]),
        sign=np.concatenate([np.full(len(users), -1.0), np.ones(len(limited))]),
        slope=np.zeros(len(users) + len(limited)),
        bound=np.concatenate([np.zeros(len(users)), limits[users][limited] / whole[limited]]),
        weight=np.concatenate([weights / weights.sum(), np.zeros(len(limited))]),
        alpha=np.ones(len(users) + len(limited)),
    )
    optimum = method.solve(Problem(region, rows))
    assert optimum is not None  # there is no deadline

    fractions = np.where(runs, optimum.point.x, 0.0) * len(servers)
    # what is a millionth of a user's tasks may be none: best responses give back what is lost
    parts = fractions * contribution
    fractions[parts < NOISE * parts.sum(axis=0)] = 0.0
    tasks[np.ix_(users, servers)] = fractions.T * alone
    prices_of_time = np.maximum(optimum.point.p[:, 0], 0.0)
    prices[servers] = prices_of_time * weights.sum() / len(servers)
    return TimeMarket(tasks, prices)


def market_gap(instance: Instance, totals: np.ndarray, prices: np.ndarray) -> float:
    """Return a bound, by prices, on the market's maximum minus Σ φ[n]·log totals[n], per weight.

    Any prices p ≥ 0 prove what they prove, by weak duality: the maximum is at most Σ p + Σ_n max
    over x ≤ limit[n] of φ[n]·log x − x·min_i p[i]/γ[n,i]. O(NK).
    """
    gamma = instance.gamma()
    limits = instance.task_limits
    weights = instance.user_weights
    users = (gamma > 0).any(axis=1) & (limits > 0)
    if not users.any():
        return 0.0
    gamma = gamma[users]
    limits = limits[users]
    weights = weights[users]
    totals = totals[users]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        cost = np.where(gamma > 0, prices / gamma, np.inf).min(axis=1)
        best_totals = np.minimum(limits, np.where(cost > 0, weights / cost, np.inf))
        value = float(
            prices.sum() + (weights * np.log(best_totals / totals) - cost * best_totals).sum()
        ) / float(weights.sum())
    return abs(value) if np.isfinite(value) else np.inf


def prove_market(instance: Instance, totals: np.ndarray) -> Proof:
    """Return whether totals are those of the market's optimum, by prices that are computed anew."""
    try:
        prices = time_market(instance).prices
    except SolverError as error:
        return Proof(False, f"not proved: no prices of time are known ({error})", np.inf)
    gap = market_gap(instance, totals, prices)
    if gap <= ACCEPTED:
        return Proof(True, f"the market's optimum within {gap:.1e}", gap)
    return Proof(
        False,
        "not proved: with task limits PS-DSF under time division is the market's optimum, and the "
        "mean of log tasks "
        f"may be {gap:.1e} below it",
        gap,
    )
