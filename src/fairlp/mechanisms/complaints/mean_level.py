"""The mean level that α-fairness maximises, and what any prices prove of it: a bound in closed form, for every α.

With weights φ that sum to 1, Σ φ[n]·u_α(s[n]) is an increasing function of the power mean

    M(s) = (Σ φ[n]·s[n]^(1−α))^(1/(1−α)),

the mean level: the arithmetic mean at α = 0, the geometric one at 1, the smallest s[n] at ∞. It is what an economist
calls a utility of constant elasticity of substitution 1/α. Let κ[n] be what one unit of s[n] costs at least, at any
prices p ≥ 0 of what there is. All that there is is worth P, and a mean level of 1 costs at least

    Q = (Σ φ[n]·(κ[n]/φ[n])^(1−1/α))^(1/(1−1/α)),

the price index. So M(s) ≤ P/Q for every feasible s (Hölder's inequality), with equality at the optimum and its prices.

Whoever is held back by its task limit, which it is worth more to have than it costs, is left out of M and Q, and what
it costs out of P. The bound is then of the mean level of all others; the sum of utilities is largest when that is. So
is whoever has just what queues guarantee it, and is worth less than that costs. A cap of a queue is one more thing that
has a price: it counts in P, and in what users below the queue cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...formulations import normalisers
from ...formulations.alpha_fair import weights
from ...formulations.region import able_users
from ...models.instances.instance import Instance
from ...models.trees.guarantees import floors
from ...tolerances import AT_LIMIT, LEVEL_ROUNDING, SETTLED_LEVELS


def power_mean(values: np.ndarray, weights: np.ndarray, exponent: float) -> float:
    """Return (Σ w·v^p)^(1/p), also where p is 0 or infinite; weights sum to 1, values are 0 at least."""
    if not values.any():
        return 0.0
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
        The mean level of those whom no task limit holds back, and what none can exceed; NaN where all are held back,
        which is optimal.
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
        if np.isnan(self.mean) or self.mean == self.bound == 0:
            return 0.0
        if not self.mean > 0 or np.isnan(self.bound):
            return float("inf")
        return max(0.0, self.bound / self.mean - 1.0)


def proof(
    instance: Instance, tasks: np.ndarray, prices: np.ndarray, alpha: float, of_caps: np.ndarray | None = None
) -> Proof:
    """Return what prices of resources prove of tasks; O(NKR).

    Parameters
    ----------
    instance : Instance
        With somebody who can run something; the others do not count.
    tasks : ndarray, shape (N, K)
    prices : ndarray, shape (K, R)
        Of a unit of a resource, all at least 0; in any unit.
    alpha : float
    of_caps : ndarray, shape (Q, R), optional
        Prices of a unit of each queue's caps, in the same unit, 0 where there is none.
    """
    able = able_users(instance)
    phi = weights(instance)[able]
    unit = phi * normalisers.dominant(instance)[able]
    level = tasks[able].sum(axis=1) / unit
    ends = _Ends.of(level, floors(instance)[able] / unit, instance.task_limits[able] / unit, alpha)
    costs = np.where(instance.runnable()[able], instance.demands[able] @ prices.T, np.inf)
    cost, spent = costs.min(axis=1), float((_whole(instance) * prices).sum())
    if of_caps is not None and instance.queues is not None:
        cost = cost + (instance.demands * (instance.queues.below.T @ of_caps)).sum(axis=1)[able]
        spent += float((np.where(of_caps > 0, instance.queues.caps, 0.0) * of_caps).sum())
    cost = cost * unit
    held = ends.start(phi, level, cost, alpha)
    while True:
        found = _of_others(phi, level, ends.at, cost, held, alpha, spent)
        # what it costs is more than what its limit is worth, or less than what its guarantee is: one of the others
        dear = held & ends.full & ~ends.kept & (found.worth * (1 + SETTLED_LEVELS) < cost * found.unit)
        dear |= held & ends.kept & ~ends.full & (found.worth > cost * found.unit * (1 + SETTLED_LEVELS))
        if not dear.any():
            break
        held = held & ~dear
    if held.all():
        return Proof(float("nan"), float("nan"), 0.0, prices * 0.0)
    off = 0.0
    if 0 < alpha < np.inf:
        with np.errstate(divide="ignore", invalid="ignore"):
            off = float(np.nan_to_num(abs(cost * found.unit / found.worth - 1.0), nan=0.0)[~held].max())
    return Proof(found.mean, found.bound, off, prices * found.unit)


@dataclass(frozen=True)
class _Ends:
    """Who has all its tasks (``full``), who has just what is guaranteed (``kept``), and the level where that is."""

    full: np.ndarray
    kept: np.ndarray
    at: np.ndarray

    @classmethod
    def of(cls, level: np.ndarray, least: np.ndarray, most: np.ndarray, alpha: float) -> _Ends:
        """Return them of levels between what is guaranteed and limits."""
        if alpha == np.inf:
            nobody = np.zeros(len(level), dtype=bool)
            return cls(nobody, nobody, most)
        full = np.isfinite(most) & (level >= most * (1 - AT_LIMIT))
        kept = (least > 0) & (level <= least * (1 + AT_LIMIT))
        return cls(full, kept, np.where(full, most, least))

    def start(self, phi: np.ndarray, level: np.ndarray, cost: np.ndarray, alpha: float) -> np.ndarray:
        """Return who may be held at an end; where that is everybody, without whoever its guarantee is worth most to."""
        held = np.asarray(self.full | self.kept)
        just = self.kept & ~self.full
        if held.all() and just.any():
            with np.errstate(divide="ignore"):
                worth = np.where(just, np.log(phi) - alpha * np.log(level) - np.log(cost), -np.inf)
            held[int(worth.argmax())] = False
        return held


@dataclass(frozen=True)
class _Others:
    """The mean level of those whom no limit holds back, its bound, what levels are worth, and the unit of prices."""

    mean: float
    bound: float
    worth: np.ndarray
    unit: float


def _of_others(
    phi: np.ndarray,
    level: np.ndarray,
    end: np.ndarray,
    cost: np.ndarray,
    held: np.ndarray,
    alpha: float,
    spent: float,
) -> _Others:
    """Return what prices, at which all that there is is worth ``spent``, prove of those who are not held back."""
    if held.all():
        return _Others(1.0, 1.0, np.full(len(phi), np.inf), 1.0)
    part = phi / phi[~held].sum()
    mean = power_mean(level[~held], part[~held], 1 - alpha)
    # of one more s[n], as a part of what raises all levels alike
    worth = part if alpha == 0 else np.zeros(len(phi))
    if 0 < alpha < np.inf:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            worth = np.where(level > 0, part * np.exp(-alpha * (np.log(level) - np.log(mean))), np.inf)
    left = spent - float(cost[held] @ end[held])
    if mean == 0 and left <= LEVEL_ROUNDING * spent:
        left = 0.0
    index = power_mean((cost / part)[~held], part[~held], 1 - 1 / alpha if alpha > 0 else -np.inf)
    bound = left / index if index > 0 else float("inf")
    if held.any():  # what those miss of their limits, beyond the rounding of sums
        missing = np.where(held, np.maximum(end * (1 - LEVEL_ROUNDING) - level, 0.0), 0.0)
        short = missing > 0  # of whoever misses nothing, it may be beyond floats what more would be worth
        bound += float(worth[short] @ missing[short])
    return _Others(mean, bound, worth, mean / left if left > 0 else 1.0)


def _whole(instance: Instance) -> np.ndarray:
    """Return the capacity of the servers of each row together."""
    return np.asarray(instance.capacities * instance.counts[:, None])
