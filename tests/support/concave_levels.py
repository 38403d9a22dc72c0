"""Random models with concave levels, and their leximin by bisection and SciPy's linear programs.

The reference shares no code with fairlp: it inverts each level by bisection, and asks a linear
program whether all can have a level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

import fairlp
from fairlp import Index, Model

#: Floors are lowered by the tolerance of the linear programs, so that none is refused by rounding.
SLACK = 1 - 1e-8
#: And so much where a program of floors that another one has allowed is refused all the same.
WIDER_SLACKS = (1 - 1e-7, 1 - 1e-6)


@dataclass(frozen=True)
class Cluster:
    """Users whose level is f[n](Σ_i r[n,i]·x[n,i]) with Σ_n d[n,r]·x[n,i] ≤ c[i,r], x ≤ u."""

    rates: np.ndarray
    demands: np.ndarray
    capacities: np.ndarray
    limits: np.ndarray
    weights: np.ndarray  # of log(w + base), of w^p/p, of min(w, base + w/2), of w
    base: np.ndarray
    exponent: float

    def level(self, n: int, work: float) -> float:
        """The level of a user at its work, as its formula says."""
        log, power, least, line = self.weights[n]
        value = line * work
        if log:
            inside = work + self.base[n]
            value += log * np.log(inside) if inside > 0 else -np.inf
        if power:
            is_infinite = work <= 0 and self.exponent < 0
            value += -np.inf if is_infinite else power * work**self.exponent / self.exponent
        return value + least * min(work, self.base[n] + work / 2)

    def work(self, n: int, level: float, most: float) -> float:
        """The least work at which a user has a level; infinite where it has not at the most."""
        if self.level(n, most) < level:
            return np.inf
        if self.level(n, 0.0) >= level:
            return 0.0
        low, high = 0.0, most
        for _ in range(110):
            middle = (low + high) / 2
            low, high = (low, middle) if self.level(n, middle) >= level else (middle, high)
        return high


def random_cluster(seed: int) -> Cluster:
    """Small numbers with zeros, ties and users who cannot run anywhere."""
    rng = np.random.default_rng(seed)
    users, servers, resources = rng.integers(1, 6), rng.integers(1, 4), rng.integers(1, 3)
    demands = rng.integers(0, 4, (users, resources)).astype(float)
    demands[demands.sum(axis=1) == 0, 0] = 1.0
    rates = rng.choice([0.0, 0.5, 1.0, 2.0], (users, servers), p=[0.2, 0.2, 0.4, 0.2])
    if users > 1 and rng.random() < 0.4:  # equal users
        demands[1], rates[1] = demands[0], rates[0]
    capacities = rng.choice([0.0, 1.0, 4.0, 9.0], (servers, resources), p=[0.05, 0.25, 0.4, 0.3])
    limits = rng.choice([0.5, 2.0, 50.0], (users, servers), p=[0.2, 0.2, 0.6])
    kinds = rng.integers(0, 5, users)
    weights = np.eye(5)[kinds][:, :4] * rng.choice([0.5, 1.0, 3.0], (users, 1))
    mixed = kinds == 4
    weights[mixed] = rng.choice([0.0, 1.0, 2.0], (mixed.sum(), 4))
    base = rng.choice([0.25, 1.0, 2.0], users)
    exponent = float(rng.choice([0.5, 0.25, -1.0]))
    has_room = ((demands[:, None, :] == 0) | (capacities > 0)).all(axis=2)
    can_run = ((rates > 0) & has_room).any(axis=1)
    weights[:, 1] *= can_run  # a power below 0 of no work is −∞
    return Cluster(rates, demands, capacities, limits, weights, base, exponent)


def model_of(cluster: Cluster, where=None) -> Model:
    """The same in index notation, with the levels declared."""
    users, servers = cluster.rates.shape
    n, i = Index("n", range(users), "user"), Index("i", range(servers), "server")
    r = Index("r", range(cluster.demands.shape[1]), "resource")
    model = Model("levels", indices=(n, i, r))
    x = model.variable("x", n, i, upper=cluster.limits)
    d = model.parameter("d", (n, r), cluster.demands)
    c = model.parameter("c", (i, r), cluster.capacities)
    model.constraint("capacity", (d * x).sum(n) <= c)
    work = (model.parameter("rate", (n, i), cluster.rates) * x).sum(i)
    base = model.parameter("base", n, cluster.base)
    weights = [
        model.parameter(name, n, column)
        for name, column in zip(("u", "v", "w", "z"), cluster.weights.T, strict=True)
    ]
    p = cluster.exponent
    model.leximin(
        weights[0] * fairlp.log(work + base)
        + weights[1] / p * fairlp.power(work, p)
        + weights[2] * fairlp.minimum(work, base + 0.5 * work)
        + weights[3] * work,
        where=where,
    )
    return model


def _solve(cluster: Cluster, floors: np.ndarray, cost: np.ndarray | None = None):
    """A linear program: is there a point with these works, and the largest cost @ work."""
    users, servers = cluster.rates.shape
    resources = cluster.demands.shape[1]
    rows, sides = [], []
    for i in range(servers):
        for r in range(resources):
            row = np.zeros((users, servers))
            row[:, i] = cluster.demands[:, r]
            rows.append(row.reshape(-1))
            sides.append(cluster.capacities[i, r])
    works = np.zeros((users, users * servers))
    for n in range(users):
        works[n, n * servers : (n + 1) * servers] = cluster.rates[n]
    towards = np.zeros(users * servers) if cost is None else -(cost @ works)
    bounds = [(0.0, limit) for limit in cluster.limits.reshape(-1)]
    result = linprog(
        towards, np.vstack([rows, -works]), np.append(sides, -floors), bounds=bounds, method="highs"
    )
    return result, works


def by_bisection(cluster: Cluster) -> np.ndarray:
    """The leximin: the highest level that all can have, who cannot rise beyond it, and so on."""
    users = len(cluster.rates)
    most = np.array(
        [-_solve(cluster, np.zeros(users), np.eye(users)[n])[0].fun for n in range(users)]
    )
    tops = np.array([cluster.level(n, most[n]) for n in range(users)])
    level = np.full(users, np.nan)
    active = np.ones(users, dtype=bool)
    floors = np.zeros(users)

    def needs(t: float) -> np.ndarray:
        return np.array(
            [cluster.work(n, t, most[n]) if active[n] else floors[n] for n in range(users)]
        )

    while active.any():
        high = tops[active].min()
        low = min(high, level[~active].max() if (~active).any() else -60.0)
        for _ in range(60):
            middle = (low + high) / 2
            need = needs(middle)
            is_possible = np.isfinite(need).all() and _solve(cluster, need * SLACK)[0].status == 0
            low, high = (middle, high) if is_possible else (low, middle)
        need = needs(low - 1e-9 * max(1, abs(low)))
        rises = []
        for n in np.flatnonzero(active):
            programs = (
                _solve(cluster, need * slack, np.eye(users)[n])[0]
                for slack in (SLACK, *WIDER_SLACKS)
            )
            reach = -next(program.fun for program in programs if program.status == 0)
            rises.append(cluster.level(n, reach) - low)
        stuck = np.array(rises) <= max(1e-6 * max(1, abs(low)), 1.01 * np.min(rises))
        stopping = np.flatnonzero(active)[stuck]
        level[stopping] = low
        floors[stopping] = need[stopping]
        active[stopping] = False
    return level
