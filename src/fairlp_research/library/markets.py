"""Entries with logarithms and powers, planted so that the optimum is a closed form."""

from __future__ import annotations

from fractions import Fraction
from math import fsum, log

import numpy as np

from fairlp import Instance, examples, formulations
from fairlp.errors import InstanceError

from .registry import Benchmark, Optimum, generator


def _circle(users: int, width: int) -> Instance:
    """Return users around a circle who ask for all of the next ``width`` resources.

    Their entitlements are equal.
    """
    if width > users:
        raise InstanceError(f"width is {width}; expected at most the number of users, {users}")
    distance = (np.arange(users)[None, :] - np.arange(users)[:, None]) % users
    requests = (distance < width).astype(float)
    return examples.requests(requests, np.full(users, 1 / users))


@generator(
    "njc-circle",
    "complaints",
    "njc",
    "logarithms, as many bottlenecks as users, and a continuum of other allocations without "
    "complaints around it",
    users=(16, 120, 600),
    width=(9, 77, 301),
)
def njc_circle(rng: np.random.Generator, *, users: int, width: int) -> Benchmark:
    """The circle of Dolev et al., §5.5 (4 users of width 3), at any size: users get 1/width.

    The optimum follows by symmetry.
    """
    granted = (Fraction(1, width),) * users
    method = "closed form: 1/width of each request, by symmetry (levels: the granted fractions)"
    return Benchmark(_circle(users, width), Optimum(-log(width), method, granted))


@generator(
    "njc-selection",
    "complaints",
    "njc",
    "the best among a continuum of allocations without complaints: a binary for each resource, all "
    "of them symmetric",
    users=(16, 40, 120),
    width=(9, 23, 77),
)
def njc_selection(rng: np.random.Generator, *, users: int, width: int) -> Benchmark:
    """The circle of ``njc-circle``: the fair allocation of largest utilisation uses everything.

    It has equal fractions.
    """
    optimum = Optimum(Fraction(1), "closed form: equal fractions use all of every resource")
    return Benchmark(_circle(users, width), optimum, {"criterion": "utilization"})


def _market(
    rng: np.random.Generator, users: int, servers: int
) -> tuple[Instance, np.ndarray, np.ndarray]:
    """Return a market of server time with a planted equilibrium: instance, time shares, tasks.

    Tasks are by user.

    Prices p, time shares y (users at one server, some at two neighbours) and the tasks for a unit
    of money, β, are drawn. With rates β[n]·p[i] where n runs, lower rates elsewhere, and budgets Σ
    p[i]·y[n,i], users buy y.
    """
    if users < servers:
        raise InstanceError(f"{users} users; expected at least as many as servers, {servers}")
    price = rng.lognormal(0, 1, servers)
    tasks_per_money = rng.lognormal(2, 1, users)
    runs = np.zeros((users, servers), dtype=bool)
    runs[np.arange(users), np.arange(users) % servers] = True
    # Neighbours share a user, so that all levels depend on each other.
    runs[np.arange(servers - 1), np.arange(1, servers)] = True
    share = np.where(runs, rng.uniform(0.2, 1, runs.shape), 0.0)
    share /= share.sum(axis=0)
    rate_factors = np.where(runs, 1.0, rng.uniform(0.3, 0.95, runs.shape))
    rates = tasks_per_money[:, None] * price * rate_factors
    budget = share @ price
    instance = Instance.from_arrays(
        np.ones((users, 1)), np.ones((servers, 1)), rates=rates, weights=budget, resources=["time"]
    )
    return instance, share, tasks_per_money * budget


@generator(
    "psdsf-time",
    "fixed points",
    "psdsf-tdm",
    "a market of server time: logarithms of users who hang together in one long chain of servers",
    users=(20, 150, 1500),
    servers=(8, 40, 200),
)
def psdsf_time(rng: np.random.Generator, *, users: int, servers: int) -> Benchmark:
    """PS-DSF under time division as the program of its market; totals are unique, and planted."""
    instance, share, tasks = _market(rng, users, servers)
    value = fsum(instance.user_weights * np.log(tasks))
    optimum = Optimum(
        value, "closed form: the planted equilibrium of the market (a sum of logarithms)"
    )
    return Benchmark(instance, optimum, planted={"share": share, "tasks": tasks})


@generator(
    "psdsf-theorem-2",
    "fixed points",
    "psdsf-tdm",
    "the conditions of a fixed point as an integer program: a binary for each pair, and one "
    "feasible support",
    users=(6, 20, 80),
    servers=(3, 8, 20),
)
def psdsf_theorem_2(rng: np.random.Generator, *, users: int, servers: int) -> Benchmark:
    """Theorem 2 of Khamse-Ashari et al. with binaries, of optimum K.

    All time of every server is used.
    """
    instance, share, tasks = _market(rng, users, servers)
    optimum = Optimum(Fraction(servers), "closed form: all time of every server is used")
    return Benchmark(instance, optimum, {"theorem": True}, planted={"share": share, "tasks": tasks})


@generator(
    "psdsf-theorem-1",
    "fixed points",
    "psdsf-rdm",
    "a fixed point of divided resources as an integer program: binaries for supports, bottlenecks "
    "and saturation",
    users=(6, 20, 80),
    servers=(3, 8, 20),
)
def psdsf_theorem_1(rng: np.random.Generator, *, users: int, servers: int) -> Benchmark:
    """Theorem 1 of Khamse-Ashari et al. with binaries.

    Of a single resource, to divide it is to divide time, and totals are unique.
    """
    instance, share, tasks = _market(rng, users, servers)
    value = fsum(tasks / instance.gamma().sum(axis=1))
    optimum = Optimum(
        value, "closed form: the planted equilibrium, the only fixed point of one resource"
    )
    return Benchmark(instance, optimum, planted={"share": share, "tasks": tasks})


@generator(
    "alpha-fair",
    "powers",
    "alpha-fair",
    "a concave objective of steep powers: users of very different weights on proportional servers",
    triples=(8, 40, 160),
    servers=(10, 60, 300),
    alpha=(2.0, 2.0, 2.0),
)
def alpha_fair(rng: np.random.Generator, *, triples: int, servers: int, alpha: float) -> Benchmark:
    """Shares g and prices p are planted: weights g·(p·d̂)^(1/α) make them the optimum.

    Users come in threes with the same demands on other resources and the same share, so that all of
    every resource is used; servers are of one form, so that they are one pool.
    """
    needs_of_triple = rng.uniform(0.05, 1, (triples, 3))
    needs_of_triple[:, 0] = 1.0
    needs = np.concatenate([np.roll(needs_of_triple, turn, axis=1) for turn in range(3)])
    share = np.tile(rng.lognormal(0, 1, triples), 3)
    share /= (share[:, None] * needs).sum(axis=0).max()
    price = rng.lognormal(0, 1, 3)
    weights = share * (needs @ price) ** (1 / alpha)
    size = rng.lognormal(0, 1, servers)
    capacities = np.outer(size / size.sum(), [100.0, 400.0, 20.0])
    demands = needs * capacities.sum(axis=0) * rng.lognormal(-4, 1, 3 * triples)[:, None]
    instance = Instance.from_arrays(demands, capacities, weights=weights)
    level = share / (weights * formulations.alpha_fair.reference(instance))
    utility = np.log(level) if alpha == 1 else level ** (1 - alpha) / (1 - alpha)
    optimum = Optimum(
        fsum(weights * utility), "closed form: planted shares and prices (a sum of powers)"
    )
    return Benchmark(instance, optimum, {"alpha": alpha}, planted={"shares": share})
