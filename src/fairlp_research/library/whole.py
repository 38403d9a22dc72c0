"""Entries with whole tasks: pools and servers that a planted allocation fills to the last unit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairlp import Instance

from .registry import Benchmark, Optimum, generator


@generator(
    "whole-pool",
    "whole tasks",
    "drf-milp",
    "capacities that a planted allocation uses to the last unit: the best whole level is far from "
    "the divisible one",
    users=(12, 60, 300),
    resources=(3, 6, 12),
    tasks=(6, 8, 10),
)
def whole_pool(rng: np.random.Generator, *, users: int, resources: int, tasks: int) -> Benchmark:
    """One pool that random whole tasks of random whole demands fill.

    Each user has 1 to ``tasks`` of them.
    """
    demands = rng.integers(20, 100, (users, resources))
    planted = rng.integers(1, tasks + 1, users)
    capacity = planted @ demands
    level, counts = best_whole_level(demands.tolist(), capacity.tolist())
    optimum = Optimum(level, "exact: raised task by task in rationals")
    instance = Instance.from_arrays(
        demands.astype(float), [capacity.astype(float)], servers=["pool"]
    )
    return Benchmark(instance, optimum, planted={"planted": planted, "tasks": counts})


def best_whole_level(demands: list[list[int]], capacity: list[int]) -> tuple[Fraction, list[int]]:
    """Return the best smallest dominant share in whole tasks on one pool, and the fewest tasks.

    For a smallest share above a level, each user at the level needs one more task, and no other
    user does. So raising all users at the lowest share, while they fit, visits every level in turn
    with the fewest tasks.
    """
    shares = [max(Fraction(d, c) for d, c in zip(row, capacity, strict=True)) for row in demands]
    tasks = [0] * len(demands)
    while True:
        level = min(count * share for count, share in zip(tasks, shares, strict=True))
        raised_tasks = [
            count + (count * share == level) for count, share in zip(tasks, shares, strict=True)
        ]
        usage = [
            sum(count * row[r] for count, row in zip(raised_tasks, demands, strict=True))
            for r in range(len(capacity))
        ]
        if any(amount > limit for amount, limit in zip(usage, capacity, strict=True)):
            return level, tasks
        tasks = raised_tasks


@generator(
    "whole-packing",
    "whole tasks",
    "drfh",
    "servers that planted whole tasks fill to the last unit: the relaxation has the optimum, and "
    "no point near it is "
    "whole",
    users=(4, 10, 40),
    servers=(3, 8, 30),
    tasks=(3, 4, 6),
)
def whole_packing(rng: np.random.Generator, *, users: int, servers: int, tasks: int) -> Benchmark:
    """DRFH with whole tasks: 0 to ``tasks`` of each user on each server are planted.

    Weights make their level 1.

    Each user demands every resource and all capacity is used, so no user can have more while the
    others have as much.
    """
    demands = rng.integers(20, 100, (users, 2)).astype(float)
    planted = rng.integers(0, tasks + 1, (users, servers))
    planted[np.arange(users), np.arange(users) % servers] += 1
    planted[np.arange(servers) % users, np.arange(servers)] += 1  # no server is empty
    capacities = planted.T @ demands
    tasks_alone = (capacities.sum(axis=0) / demands).min(axis=1)
    instance = Instance.from_arrays(demands, capacities, weights=planted.sum(axis=1) / tasks_alone)
    optimum = Optimum(
        Fraction(1),
        "closed form: planted, and all of every resource is used (to the rounding of weights)",
    )
    return Benchmark(instance, optimum, {"whole": True}, planted={"planted": planted})
