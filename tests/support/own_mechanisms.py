"""Mechanisms that somebody else wrote, each of another kind; tests/mechanisms/test_own_everywhere.py uses them all."""

from __future__ import annotations

import sys

import numpy as np

import fairlp
from fairlp.mechanisms.mechanism import NO_RATES, ONE_SERVER, ONE_WEIGHT
from fairlp.mechanisms.table import OWN


def memory_gamma(instance):
    """Tasks that count as all of the memory; of a user without need of memory, as all of what it needs most of."""
    need = np.where(instance.demands[:, -1:] > 0, instance.demands[:, -1:] / instance.pool[-1], 0.0)
    dominant = (instance.demands / instance.pool).max(axis=1, keepdims=True)
    return 1.0 / np.where(need > 0, need, dominant)[:, 0]


def region(model, instance):
    """Tasks over the servers where they can run: capacities, and task limits."""
    n, i, r = instance.users, instance.servers, instance.resources
    runs = model.subset(
        "E", (n, i), instance.runnable(), "n may run on i, which has all that its tasks need"
    )
    x = model.variable("x", n, i, where=runs)
    d = model.parameter("d", (n, r), instance.demands)
    c = model.parameter("c", (i, r), instance.capacities * instance.counts[:, None])
    model.constraint("capacity", (d * x).sum(n) <= c)
    limited = np.isfinite(instance.task_limits)
    if limited.any():
        limits = model.parameter("T", n, np.where(limited, instance.task_limits, 0.0))
        model.constraint(
            "limit", x.sum(i) <= limits, where=model.subset("L", n, limited, "n has a task limit")
        )
    model.define("tasks", x)
    return x


@fairlp.mechanism(
    "memory-first",
    source="a note of ours",
    promises=("Pareto-optimal if no user has a task limit", "envy-free"),
    domain=(NO_RATES, ONE_WEIGHT),
    gamma=memory_gamma,
)
def memory_first(instance):
    """Memory first: the smallest share of memory as large as can be, then the next."""
    n = instance.users
    model = fairlp.Model("Memory first", indices=(n, instance.servers, instance.resources))
    x, t = region(model, instance), model.variable("t")
    able_users = instance.runnable().any(axis=1) & (instance.task_limits > 0)
    share = model.parameter(
        "m", n, 1 / memory_gamma(instance), "share of the memory that a task takes"
    )
    w = model.parameter("w", n, instance.weights)
    everyone = model.subset("A", n, able_users, "n can run something")
    model.leximin(
        model.constraint("fairness", share * x.sum(instance.servers) >= w * t, where=everyone), t
    )
    return model


@fairlp.mechanism(
    "half-guaranteed",
    source="a note of ours",
    promises=("Pareto-optimal if no user has a task limit", "sharing incentive"),
    domain=(ONE_SERVER, NO_RATES, ONE_WEIGHT),
)
def half_guaranteed(instance):
    """Half of what a user's part of the server would run is guaranteed; beyond that, the most dominant shares."""
    n = instance.users
    model = fairlp.Model("Half guaranteed", indices=(n, instance.servers, instance.resources))
    x = region(model, instance)
    alone = 1 / (instance.demands / instance.pool).max(axis=1)
    share_by_weight = instance.weights / instance.weights.sum()
    able_users = instance.runnable().any(axis=1)
    floor = model.parameter(
        "f",
        n,
        np.minimum(share_by_weight * alone / 2, instance.task_limits) * able_users,
        "guaranteed to n",
    )
    s = model.parameter("s", n, 1 / alone, "dominant share of a task")
    model.constraint("guarantee", x.sum(instance.servers) >= floor)
    model.maximize((s * x).sum())
    return model


@fairlp.mechanism(
    "own-part",
    source="folklore",
    promises=("envy-free", "strategy-proof", "population-monotonic", "Pareto-optimal"),
    domain=(NO_RATES, ONE_WEIGHT),
)
def own_part(instance) -> np.ndarray:
    """Every server is cut by weights, and nobody runs on another's part."""
    share_by_weight = instance.weights / instance.weights.sum()
    tasks = share_by_weight[:, None] * instance.gamma()
    totals = tasks.sum(axis=1)
    return (
        tasks
        * np.minimum(
            1.0, np.divide(instance.task_limits, totals, out=np.ones_like(totals), where=totals > 0)
        )[:, None]
    )


@fairlp.mechanism(
    "one-by-one",
    source="folklore",
    promises=("envy-free up to one own task",),
    domain=(NO_RATES, ONE_WEIGHT),
    gamma=memory_gamma,
    whole_tasks=True,
)
def one_by_one(instance):
    """One task after the other, to whoever has the smallest share of memory and still fits somewhere."""
    free = np.repeat(instance.capacities, instance.counts, axis=0)
    row = np.repeat(np.arange(len(instance.servers)), instance.counts)
    tasks, gamma = np.zeros((len(instance.users), len(instance.servers))), memory_gamma(instance)
    waiting = set(range(len(instance.users)))
    while waiting:
        k = min(waiting, key=lambda k: (tasks[k].sum() / (gamma[k] * instance.weights[k]), k))
        fits = (free >= instance.demands[k]).all(axis=1) & instance.eligible[k, row]
        if not fits.any() or tasks[k].sum() + 1 > instance.task_limits[k]:
            waiting.remove(k)
            continue
        machine = int(fits.argmax())
        free[machine] -= instance.demands[k]
        tasks[k, row[machine]] += 1
    return tasks


@fairlp.mechanism(
    "most-tasks",
    source="folklore",
    promises=("Pareto-optimal",),
    domain=(ONE_SERVER, NO_RATES),
    whole_tasks=True,
)
def most_tasks(instance) -> fairlp.Model:
    """As many whole tasks as there is room for, whoever has them."""
    model = fairlp.Model(
        "Most tasks", indices=(instance.users, instance.servers, instance.resources)
    )
    n, i = instance.users, instance.servers
    x = model.variable("x", n, i, integer=True, upper=np.floor(np.minimum(instance.gamma(), 1e6)))
    d = model.parameter("d", (n, instance.resources), instance.demands)
    c = model.parameter(
        "c", (i, instance.resources), instance.capacities * instance.counts[:, None]
    )
    model.constraint("capacity", (d * x).sum(n) <= c)
    limited = np.isfinite(instance.task_limits)
    limits = model.parameter("T", n, np.where(limited, instance.task_limits, 0.0))
    model.constraint(
        "limit", x.sum(i) <= limits, where=model.subset("L", n, limited, "n has a task limit")
    )
    model.maximize(x.sum())
    model.define("tasks", x)
    return model


EVERY = (memory_first, half_guaranteed, own_part, one_by_one, most_tasks)
WITH_MODEL = (memory_first, half_guaranteed, most_tasks)
if (
    "pytest" in sys.modules
):  # others' tests go over the table; who wants these by name declares them for a test
    for row in EVERY:
        del OWN[row.name]


def one_server_without_limits(instance):
    """Where `filling` is right."""
    return instance.n_servers == 1 and bool(
        np.isinf(instance.task_limits).all() and instance.eligible.all()
    )


@memory_first.method(
    "filling", applies=one_server_without_limits, needs="one server, no task limits"
)
def filling(instance):
    """Filling on one server: levels rise together, and whoever needs what has run out stops (for `memory-first`)."""
    gamma, demands = memory_gamma(instance), instance.demands
    free, tasks = instance.pool.astype(float), np.zeros(len(demands))
    rising = np.ones(len(demands), dtype=bool)
    while rising.any():
        speed = np.where(rising, instance.weights * gamma, 0.0)
        use = speed @ demands
        room = np.divide(free, use, out=np.full(len(free), np.inf), where=use > 0)
        tasks += speed * room.min()
        free = free - use * room.min()
        full = (room <= room.min() * (1 + 1e-12)) & (use > 0)
        free[full] = 0.0
        rising &= ~(demands[:, full] > 0).any(axis=1)
    return tasks
