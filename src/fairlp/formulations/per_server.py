"""PS-DSF (Khamse-Ashari et al., ICC 2017): a market of time shares, and feasibility programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InstanceError, quoted, require_known
from ..models.instances.instance import Instance
from ..models.notation.expressions import log
from ..models.notation.labels import aligned, arranged
from ..models.notation.model import Model
from ..tolerances import AGREEMENT
from . import region
from .region import inverse, runnable_users, server_needs, task_limits, time_shares, where_runs

_BOTTLENECKS = "the argument 'bottlenecks'"
SOURCE = "Khamse-Ashari, Lambadaris, Kesidis, Urgaonkar and Zhao, ICC 2017"


def psdsf_tdm(instance: Instance, support: Any = None, theorem: bool = False) -> Model:
    """PS-DSF under time division: a market in which users of budget φ[n] buy time of servers.

    Maximise Σ_n φ[n]·log Σ_i x[n,i] subject to Σ_n x[n,i]/γ[n,i] ≤ 1. Its optimality conditions are
    Theorem 2: the price of a server is 1/L[i], and every user of it has the level L[i] there,
    everyone else at least that.

    Parameters
    ----------
    instance : Instance
    support : array_like of bool, shape (N, K), or DataFrame, optional
        Who runs where: then Theorem 2 is linear, and this is the program of its feasibility.
    theorem : bool
        Theorem 2 with a binary for each pair instead, for integer solvers (small instances).
    """
    if support is not None or theorem:
        return _theorem_2(instance, support)
    n = instance.users
    i = instance.servers
    gamma = _possible(instance)
    runs = gamma > 0
    runnable = runs.any(axis=1)
    model = Model("PS-DSF (time)", f"{SOURCE}, Theorem 2 as an Eisenberg–Gale program", (n, i))
    share = time_shares(model, instance, gamma)
    phi = model.parameter("phi", n, np.where(runnable, instance.user_weights, 0.0), "weight of n")
    x = model.variable("x", n, i, where=where_runs(model, instance, runs), doc="tasks of n on i")
    some = model.subset("A", n, runnable, "n has tasks, and a server where it can run")
    total = model.variable("X", n, where=some, doc="tasks of n")
    model.constraint("total", total <= x.sum(i), where=some)
    model.constraint("time", (share * x).sum(n) <= 1, where=runs.any(axis=0), doc="(10)")
    task_limits(model, instance, x.sum(i), users=runnable)
    model.define("tasks", x)
    model.maximize((phi * log(total)).sum(n))
    return model


def _theorem_2(instance: Instance, support: Any) -> Model:
    """Theorem 2: all time is used, and every user of a server has the lowest level there."""
    n = instance.users
    i = instance.servers
    gamma = _possible(instance)
    model = Model("PS-DSF (time), Theorem 2", f"{SOURCE}, Theorem 2", (n, i))
    runs = gamma > 0
    share = time_shares(model, instance, gamma)
    level = model.parameter(
        "s", (n, i), _levels(instance, gamma), "level on i of one task in all: 1/(γ[n,i]·φ[n])"
    )
    x = model.variable("x", n, i, where=where_runs(model, instance, runs), doc="tasks of n on i")
    low = model.variable("L", i, doc="level of those who use i")
    if np.isfinite(instance.task_limits[gamma.any(axis=1)]).any():
        raise InstanceError(
            "Theorem 2 knows no task limits; the market (without theorem and support) does"
        )
    model.constraint("time", (share * x).sum(n) == 1, where=runs.any(axis=0))
    total = model.variable("X", n, doc="tasks of n")
    model.constraint("total", total == x.sum(i))
    model.constraint("lowest", level * total >= low, where=runs, doc="(13)")
    if support is not None:
        supported = _mask(support, instance) & runs
        model.constraint("shared", level * total <= low, where=supported)
        if (runs & ~supported).any():
            model.constraint("absent", x <= 0, where=runs & ~supported)
    else:
        big = _highest(instance, gamma)
        tasks_alone = model.parameter("gamma", (n, i), gamma, "tasks n could run alone on i")
        bound = model.parameter("M", (n, i), big, "highest level of n on i")
        u = model.variable("u", n, i, where=runs, binary=True, doc="1: n runs on i")
        model.constraint("present", x <= tasks_alone * u, where=runs)
        model.constraint("shared", level * total <= low + bound - bound * u, where=runs)
    model.define("tasks", x)
    model.maximize((share * x).sum(n, i))
    return model


def psdsf_rdm(instance: Instance, bottlenecks: Any = None, support: Any = None) -> Model:
    """PS-DSF under resource division: Theorem 1 as feasibility, binaries for open guesses.

    Every user has, on every server where it can run, a bottleneck resource: demanded, saturated,
    and no user who uses it there has a higher level. Given the bottlenecks and the support this is
    linear; a binary stands for each guess that is not given. Maximises the tasks in all, as
    fractions of what each user could run alone.

    Parameters
    ----------
    instance : Instance
    bottlenecks : DataFrame or mapping {user: {server: resource}}, optional
        The bottleneck resource of each user on each server.
    support : array_like of bool, shape (N, K), or DataFrame, optional
        Who runs where.

    Raises
    ------
    InstanceError
        A bottleneck that the user does not demand, or none given for a pair that can run.
    """
    n = instance.users
    i = instance.servers
    r = instance.resources
    gamma = _possible(instance)
    runs = gamma > 0
    needs = server_needs(instance, gamma)
    demanded = runs[:, :, None] & (needs > 0)
    model = Model("PS-DSF (resources), Theorem 1", f"{SOURCE}, Theorem 1", (n, i, r))
    d = model.parameter("d", (n, i, r), needs, "amount of r that one task of n needs on i")
    c = region.capacities(model, instance)
    level = model.parameter(
        "s", (n, i), _levels(instance, gamma), "level on i of one task in all: 1/(γ[n,i]·φ[n])"
    )
    x = model.variable("x", n, i, where=where_runs(model, instance, runs), doc="tasks of n on i")
    total = model.variable("X", n, upper=instance.task_limits, doc="tasks of n")
    uses = model.subset("D", (n, i, r), demanded, "n may run on i, and needs r there")
    used = model.subset("U", (i, r), demanded.any(axis=0), "a user who may run on i needs r there")
    high = model.variable("H", i, r, where=used, doc="level that no user of r on i exceeds")
    model.constraint("total", total == x.sum(i))
    model.constraint("capacity", (d * x).sum(n) <= c, where=used, doc="(9)")
    bound = model.parameter("M", (n, i), _highest(instance, gamma), "highest level of n on i")
    tasks_alone = model.parameter("gamma", (n, i), gamma, "tasks n could run alone on i")
    ceiling = model.parameter(
        "N", (i,), _highest(instance, gamma).max(axis=0), "highest level of anyone on i"
    )
    model.constraint("ceiling", high <= ceiling, where=used)
    if support is not None:
        supported = _mask(support, instance) & runs
        model.constraint("below", level * total <= high, where=supported[:, :, None] & demanded)
        if (runs & ~supported).any():
            model.constraint("absent", x <= 0, where=runs & ~supported)
    else:
        u = model.variable("u", n, i, where=runs, binary=True, doc="1: n runs on i")
        model.constraint("present", x <= tasks_alone * u, where=runs)
        model.constraint("below", level * total + bound * u <= high + bound, where=uses)
    if bottlenecks is not None:
        chosen = _chosen(bottlenecks, instance, runs, needs)
        model.constraint("bottleneck", level * total >= high, where=chosen)
        model.constraint("saturated", (d * x).sum(n) >= c, where=chosen.any(axis=0))
    else:
        b = model.variable(
            "b", n, i, r, where=uses, binary=True, doc="1: r is the bottleneck of n on i"
        )
        model.constraint("bottleneck", level * total + ceiling >= high + ceiling * b, where=uses)
        z = model.variable("z", i, r, where=used, binary=True, doc="1: r is saturated on i")
        model.constraint("saturated", (d * x).sum(n) >= c * z, where=used)
        model.constraint("only_saturated", b <= z, where=uses)
        finite = np.isfinite(instance.task_limits) & gamma.any(axis=1)
        if finite.any():
            limit = np.where(finite, instance.task_limits, 0.0)
            t = model.parameter("T", n, limit, "tasks that n has")
            e = model.variable(
                "e",
                n,
                where=finite,
                binary=True,
                doc="1: n has all its tasks, and needs no bottleneck",
            )
            model.constraint("satisfied", total >= t * e, where=finite)
            model.constraint("somewhere", b.sum(r) + e >= 1, where=runs & finite[:, None])
        model.constraint("bottlenecked", b.sum(r) >= 1, where=runs & ~finite[:, None])
    weight = model.parameter("w", (n,), inverse(gamma.sum(axis=1)), "1/(tasks n could run alone)")
    model.define("tasks", x)
    model.maximize((weight * total).sum(n))
    return model


def could_gain(instance: Instance, tasks: np.ndarray, user: object, division: str = "rdm") -> Model:
    """Definition 5 for one user: its most tasks if only users of higher level gave way.

    Maximise the tasks of the user subject to feasibility and y[m,i] ≥ x[m,i] for every pair whose
    level on i is at most the user's. The allocation x is PS-DSF if and only if no user's optimum
    exceeds its tasks (or it has its limit).

    Parameters
    ----------
    instance : Instance
    tasks : ndarray, shape (N, K)
        The allocation x, tasks on the servers of each row.
    user : label
    division : {"rdm", "tdm"}
    """
    require_known(user, instance.users, f"no user is called {quoted(user)}")
    position = list(instance.users).index(user)
    n = instance.users
    i = instance.servers
    r = instance.resources
    gamma = _possible(instance)
    runs = gamma > 0
    model = Model(f"could {user} gain?", f"{SOURCE}, Definition 5", (n, i, r))
    levels = tasks.sum(axis=1)[:, None] * _levels(instance, gamma)
    # equal levels differ by rounding: higher by less than the tolerance is equal
    is_protected = levels <= levels[position] * (1 + AGREEMENT)
    is_protected &= (
        tasks * len(n) > AGREEMENT * gamma
    )  # what is less is next to nothing, all of it together
    protected = np.where(is_protected, tasks, 0.0) * runs
    floor = model.parameter("x", (n, i), protected, "tasks that the user may not touch")
    y = model.variable("y", n, i, where=where_runs(model, instance, runs), doc="tasks of n on i")
    if division == "tdm":
        share = time_shares(model, instance, gamma)
        model.constraint("time", (share * y).sum(n) <= 1, where=runs.any(axis=0))
    else:
        needs = server_needs(instance, gamma)
        d = model.parameter("d", (n, i, r), needs, "amount of r that one task of n needs on i")
        c = region.capacities(model, instance)
        model.constraint("capacity", (d * y).sum(n) <= c, where=(needs > 0).any(axis=0))
    model.constraint("protected", y >= floor, where=protected > 0)
    task_limits(model, instance, y.sum(i))
    indicator = np.zeros(len(n))
    indicator[position] = 1.0
    selected = model.parameter("e", n, indicator, f"1 for {user}")
    model.define("tasks", y)
    model.maximize((selected * y).sum(n, i))
    return model


def _possible(instance: Instance) -> np.ndarray:
    """Return the tasks γ[n,i] that n could run alone on i; 0 of users who can run nothing."""
    gamma = instance.gamma()
    return np.where(runnable_users(instance, gamma > 0)[:, None], gamma, 0.0)


def _levels(instance: Instance, gamma: np.ndarray) -> np.ndarray:
    """Return the level on each server of a user with one task in all; 0 where it cannot run."""
    return inverse(gamma * instance.user_weights[:, None])


def _highest(instance: Instance, gamma: np.ndarray) -> np.ndarray:
    """Return the level on each server of a user who has everything it can run anywhere."""
    whole = np.minimum(gamma.sum(axis=1), instance.task_limits)
    return np.asarray(whole[:, None] * _levels(instance, gamma))


def _mask(support: Any, instance: Instance) -> np.ndarray:
    axes = (instance.users, instance.servers)
    mask = np.asarray(aligned(support, axes, "the argument 'support'", InstanceError), dtype=bool)
    if mask.shape != instance.shape:
        raise InstanceError(f"support has shape {mask.shape}; expected users × servers")
    return mask


def _chosen(
    bottlenecks: Any, instance: Instance, runs: np.ndarray, needs: np.ndarray
) -> np.ndarray:
    """Return a mask over (n, i, r) of the given bottlenecks, checked."""
    if isinstance(bottlenecks, Mapping):
        bottlenecks = pd.DataFrame.from_dict(dict(bottlenecks), orient="index")
    bottlenecks = arranged(
        bottlenecks, (instance.users, instance.servers), _BOTTLENECKS, InstanceError
    )
    if not isinstance(bottlenecks, pd.DataFrame):
        raise InstanceError(
            f"{_BOTTLENECKS} is {quoted(bottlenecks)}; expected a table users × servers of resources"
        )
    for labels, index in (
        (bottlenecks.index, instance.users),
        (bottlenecks.columns, instance.servers),
    ):
        for label in labels:  # pairs that cannot run may be left out
            problem = f"{_BOTTLENECKS} names {index.name} {quoted(label)}"
            require_known(label, index, problem, InstanceError)
    table = bottlenecks.reindex(instance.users.labels, columns=instance.servers.labels).to_numpy()
    is_named = table[:, :, None] == np.array(list(instance.resources), dtype=object)
    chosen = np.asarray(is_named & runs[:, :, None] & (needs > 0))
    for n, i in np.argwhere(runs & ~chosen.any(axis=2))[:1].tolist():
        raise InstanceError(
            f"bottleneck of user {quoted(instance.users[n])} on server {quoted(instance.servers[i])} is "
            f"{quoted(table[n, i])}; expected a resource that it demands"
        )
    return chosen
