"""Entries with whole tasks: pools and servers that a planted allocation fills to the last unit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...formulations import normalisers, region
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from .registry import Made, Optimum, generator


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
def whole_pool(rng: np.random.Generator, *, users: int, resources: int, tasks: int) -> Made:
    """One pool as large as random whole tasks (1 to ``tasks`` a user) of random whole demands need."""
    demands = rng.integers(20, 100, (users, resources))
    planted = rng.integers(1, tasks + 1, users)
    capacity = planted @ demands
    level, counts = best_whole_level(demands.tolist(), capacity.tolist())
    known = Optimum(level, "exact: raised task by task in rationals")
    instance = Instance.from_arrays(
        demands.astype(float), [capacity.astype(float)], servers=["pool"]
    )
    return Made(instance, known, more={"planted": planted, "tasks": counts})


def best_whole_level(demands: list[list[int]], capacity: list[int]) -> tuple[Fraction, list[int]]:
    """Return the largest smallest dominant share with whole tasks on one pool, and the fewest tasks that have it.

    For a smallest share above a level, everybody at it needs one more task; nobody else does. So
    raising all at the lowest share, as long as that fits, visits every level in turn with the
    fewest tasks for it.
    """
    shares = [max(Fraction(d, c) for d, c in zip(row, capacity, strict=True)) for row in demands]
    tasks = [0] * len(demands)
    while True:
        level = min(count * share for count, share in zip(tasks, shares, strict=True))
        more = [
            count + (count * share == level) for count, share in zip(tasks, shares, strict=True)
        ]
        used = [
            sum(count * row[r] for count, row in zip(more, demands, strict=True))
            for r in range(len(capacity))
        ]
        if any(use > most for use, most in zip(used, capacity, strict=True)):
            return level, tasks
        tasks = more


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
def whole_packing(rng: np.random.Generator, *, users: int, servers: int, tasks: int) -> Made:
    """DRFH with whole tasks: 0 to ``tasks`` of each user on each server are planted; weights make their level 1.

    Everybody demands every resource and all is used, so nobody can have more while all others have
    as much.
    """
    demands = rng.integers(20, 100, (users, 2)).astype(float)
    planted = rng.integers(0, tasks + 1, (users, servers))
    planted[np.arange(users), np.arange(users) % servers] += 1
    planted[np.arange(servers) % users, np.arange(servers)] += 1  # no server is empty
    capacities = planted.T @ demands
    alone = (capacities.sum(axis=0) / demands).min(axis=1)
    instance = Instance.from_arrays(demands, capacities, weights=planted.sum(axis=1) / alone)
    known = Optimum(
        Fraction(1),
        "closed form: planted, and all of every resource is used (to the rounding of weights)",
    )
    return Made(instance, known, model=whole_tasks_on_servers, more={"planted": planted})


def whole_tasks_on_servers(instance: Instance) -> Model:
    """Return DRFH with whole tasks on servers: maximise the smallest weighted global dominant share, x integer."""
    n, i, r = instance.users, instance.servers, instance.resources
    model = Model("whole-task DRFH", "DRFH (Wang, Li and Liang) with whole tasks", (n, i, r))
    d, c = region.demands(model, instance), region.capacities(model, instance)
    tasks_per_level = normalisers.tasks_at_level_1(instance, normalisers.dominant(instance))
    level = model.parameter("w", n, tasks_per_level, "tasks of n at level 1")
    most = np.floor(instance.gamma())
    x = model.variable("x", n, i, upper=most, integer=True, doc="whole tasks of n on i")
    t = model.variable("t", doc="smallest weighted global dominant share")
    model.constraint("capacity", (d * x).sum(n) <= c)
    fairness = model.constraint("fairness", x.sum(i) >= level * t)
    model.define("tasks", x)
    model.leximin(fairness, t)
    return model
