"""The mean level that α-fairness maximises, and what any prices prove of it: a bound in closed form, for every α.

With weights φ that sum to 1, Σ φ[n]·u_α(s[n]) is an increasing function of the power mean

    M(s) = (Σ φ[n]·s[n]^(1−α))^(1/(1−α)),

the mean level: the arithmetic mean at α = 0, the geometric one at 1, the smallest s[n] at ∞. It is what an economist
calls a utility of constant elasticity of substitution 1/α. Let κ[n] be what one unit of s[n] costs at least, at any
prices p ≥ 0 of what there is (of task limits, too). All that there is is worth P, and a mean level of 1 costs at least

    Q = (Σ φ[n]·(κ[n]/φ[n])^(1−1/α))^(1/(1−1/α)),

the price index. So M(s) ≤ P/Q for every feasible s (Hölder's inequality), with equality at the optimum and its prices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...formulations import normalisers
from ...formulations.region import able_users
from ...models.instances.instance import Instance
from ...tolerances import AT_LIMIT


def power_mean(values: np.ndarray, weights: np.ndarray, exponent: float) -> float:
    """Return (Σ w·v^p)^(1/p), also where p is 0 or infinite; weights sum to 1, values are 0 at least."""
    if np.isinf(exponent):
        return float(values.max() if exponent > 0 else values.min())
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(values)
        if np.isneginf(logs).any() and exponent <= 0:
            return 0.0
        if exponent == 0:
            return float(np.exp(weights @ logs))
        middle = float(weights @ np.where(np.isneginf(logs), 0.0, logs))
        off = exponent * (logs - middle)
        top = float(off.max())
        # near 1 by small differences, elsewhere relative to the largest
        small = abs(off).max() < 1
        log = np.log1p(weights @ np.expm1(off)) if small else top + np.log(weights @ np.exp(off - top))
        return float(np.exp(middle + log / exponent))


@dataclass(frozen=True)
class Proof:
    """What prices prove of levels.

    Attributes
    ----------
    mean, bound : float
        The mean level, and what none can exceed.
    conditions : float
        Largest relative difference of what a user's level costs from what it is worth at these prices: 0 at the
        optimum.
    prices : ndarray, shape (K, R)
        What one more unit of each resource would add to the mean level, at the optimum.
    """

    mean: float
    bound: float
    conditions: float
    prices: np.ndarray

    @property
    def gap(self) -> float:
        """How far, relatively, the mean level is from its maximum at most."""
        return max(0.0, self.bound / self.mean - 1.0) if self.mean > 0 else float("inf")


def proof(instance: Instance, tasks: np.ndarray, prices: np.ndarray, alpha: float) -> Proof:
    """Return what prices of resources prove of tasks; O(NKR).

    Parameters
    ----------
    instance : Instance
        With somebody who can run something; the others do not count.
    tasks : ndarray, shape (N, K)
    prices : ndarray, shape (K, R)
        Of a unit of a resource, all at least 0; in any unit.
    alpha : float
    """
    able = able_users(instance)
    weights = instance.user_weights[able] / instance.user_weights[able].sum()
    unit = (instance.user_weights * normalisers.dominant(instance))[able]
    level = tasks[able].sum(axis=1) / unit
    costs = np.where(instance.runnable()[able], instance.demands[able] @ prices.T, np.inf)
    cost = costs.min(axis=1) * unit
    limit = instance.task_limits[able] / unit
    mean = power_mean(level, weights, 1 - alpha)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # of one more s[n], as a part of what raises all levels alike
        worth = weights * np.exp(-alpha * np.log(level / mean)) if alpha < np.inf else np.zeros_like(weights)
    spent = float((instance.capacities * instance.counts[:, None] * prices).sum())
    if alpha < np.inf:
        full = np.isfinite(limit) & (level >= limit * (1 - AT_LIMIT))
        # in the unit in which all that there is, limits among it, is worth the mean level
        paid, left = spent - float(cost[full] @ limit[full]), mean - float(worth[full] @ limit[full])
        unit_of_prices = left / paid if paid > 0 and left > 0 else mean / spent if spent > 0 else 1.0
        cost, spent, prices = cost * unit_of_prices, spent * unit_of_prices, prices * unit_of_prices
        of_limit = np.where(full, np.maximum(worth - cost, 0.0), 0.0)
        cost, spent = cost + of_limit, spent + float(of_limit[full] @ limit[full])
    index = power_mean(cost / weights, weights, 1 - 1 / alpha if alpha > 0 else -np.inf)
    bound = spent / index if index > 0 else float("inf")
    with np.errstate(divide="ignore", invalid="ignore"):
        off = float(np.nan_to_num(abs(cost / worth - 1.0), nan=0.0).max()) if 0 < alpha < np.inf else 0.0
    return Proof(mean, bound, off, prices)
