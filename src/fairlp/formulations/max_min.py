"""Max-min fairness over a feasible region as a linear program: one formulation for every Γ.

Each function returns the first round of the leximin: maximise the smallest level t. The rounds that
follow (``fairlp.solvers.leximin``) change bounds and coefficients of this same model. The
rows ``fairness``, its levels, are inequalities, which have the same optimum as the papers'
equalities and stay right when a user cannot follow the others (zero demands, task limits, placement
constraints). Where the past counts (``past``, b[n]), the levels are b[n] + x[n]/(φ[n]Γ[n]).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..models.instances.arithmetic import quotients
from ..models.instances.instance import Instance
from ..models.notation.expressions import Expression
from ..models.notation.model import Model
from . import normalisers, region
from .region import (
    Past,
    beyond_past,
    limited,
    lowest_level,
    task_limits,
    where_runnable,
    where_runs,
)

LIMIT = "limit of n (its number of tasks, in units of the variable)"


def drf(instance: Instance, count: str = "total", past: Past = None) -> Model:
    """DRF on one server: maximise the smallest weighted dominant share x[n]/(φ[n]Γ[n]).

    The source is Ghodsi et al., NSDI 2011.
    """
    n = instance.users
    r = instance.resources
    model = Model("DRF", "Ghodsi et al., NSDI 2011", (n, r))
    d = region.demands(model, instance)
    c = region.pool(model, instance)
    tasks_per_level = _tasks_per_level(
        model, instance, normalisers.dominant(instance), "tasks n could run alone"
    )
    x = model.variable("x", n, doc="tasks of n")
    t = lowest_level(model, instance, "smallest weighted dominant share")
    model.constraint("capacity", (d * x).sum(n) <= c)
    runnable = where_runnable(model, instance)
    level = beyond_past(model, instance, t, past)
    risen = limited(model, instance, x, tasks_per_level * level, runnable, count=count)
    fairness = model.constraint("fairness", x >= risen, where=runnable)
    task_limits(model, instance, x, LIMIT)
    model.define("tasks", x)
    model.leximin(fairness, t)
    return model


def edrf(instance: Instance, count: str = "total", past: Past = None) -> Model:
    """EDRF on one server (Parkes et al., EC 2012), in weighted dominant shares.

    It takes weights per resource and demands of zero.
    """
    n = instance.users
    r = instance.resources
    model = Model("EDRF", "Parkes, Procaccia and Shah, EC 2012", (n, r))
    scale = normalisers.tasks_at_level_1(instance, normalisers.dominant(instance))
    d = model.parameter(
        "d_hat", (n, r), instance.demands * scale[:, None] / instance.pool, "share of r at level 1"
    )
    gamma = model.parameter("Gamma", n, scale, "tasks at level 1: min over r of w[n,r]·c[r]/d[n,r]")
    c = region.pool(model, instance)
    s = model.variable("s", n, doc="weighted dominant share of n")
    t = lowest_level(model, instance, "smallest weighted dominant share")
    model.constraint("capacity", (d * s).sum(n) <= 1)
    runnable = where_runnable(model, instance)
    level = beyond_past(model, instance, t, past)
    risen = limited(model, instance, s, level, runnable, unit=scale, count=count)
    fairness = model.constraint("fairness", s >= risen, where=runnable)
    task_limits(model, instance, s, LIMIT, unit=scale)
    model.define("tasks", gamma * s)
    model.define("capacity_unit", c)
    model.leximin(fairness, t)
    return model


def drfh(instance: Instance, count: str = "total", past: Past = None) -> Model:
    """DRFH (Wang, Li and Liang, eq. 7): maximise the smallest global dominant share.

    With constraints it is C-DRFH.
    """
    name = "C-DRFH" if instance.has_constraints else "DRFH"
    model = Model(
        name,
        "Wang, Li and Liang, INFOCOM 2014, eq. (7)",
        (instance.users, instance.servers, instance.resources),
    )
    alone = normalisers.dominant(instance)
    weight = normalisers.tasks_at_level_1(instance, alone) / alone
    meaning = "weight of n (on the resource that binds it, with weights per resource)"
    return in_global_shares(
        model,
        instance,
        ("phi", weight, meaning),
        "smallest weighted global dominant share",
        count,
        past,
    )


def in_global_shares(
    model: Model,
    instance: Instance,
    tasks_per_level: tuple[str, np.ndarray, str],
    level: str,
    count: str = "total",
    past: Past = None,
) -> Model:
    """Complete a model whose variables are global dominant shares on servers.

    ``tasks_per_level`` is the parameter (name, values, meaning) of what a user has at t = 1,
    ``level`` what t is.
    """
    n = instance.users
    i = instance.servers
    r = instance.resources
    alone = normalisers.dominant(instance)
    share = normalisers.normalised_demands(instance)
    available = instance.total_capacities / instance.pool
    d = model.parameter(
        "d_hat", (n, r), share, "demand of n for r, as a multiple of its dominant one"
    )
    c = model.parameter("c", (i, r), available, "capacity of i, as a fraction of the pool")
    pool = model.parameter("C", r, instance.pool, "capacity of the pool")
    gamma = model.parameter("Gamma", n, alone, "tasks n could run alone on the pool")
    name, values, meaning = tasks_per_level
    phi = model.parameter(name, n, values, meaning)
    g = model.variable(
        "g", n, i, where=where_runs(model, instance), doc="global dominant share of n on i"
    )
    t = lowest_level(model, instance, level)
    model.constraint("capacity", (d * g).sum(n) <= c)
    runnable = where_runnable(model, instance)
    due = phi * beyond_past(model, instance, t, past)
    risen = limited(model, instance, g.sum(i), due, runnable, unit=alone, count=count)
    fairness = model.constraint("fairness", g.sum(i) >= risen, where=runnable)
    task_limits(model, instance, g.sum(i), LIMIT, unit=alone)
    model.define("tasks", gamma * g)
    model.define("capacity_unit", pool)
    model.leximin(fairness, t)
    return model


def asset(instance: Instance, count: str = "total", past: Past = None) -> Model:
    """Asset fairness (Ghodsi et al., §4.1): maximise the smallest sum of a user's shares."""
    source = "Ghodsi et al., NSDI 2011, §4.1"
    tasks = normalisers.asset(instance)
    return max_min(
        instance, "asset fairness", source, tasks, "tasks whose shares sum to 1", count, past
    )


def cdrf(instance: Instance, count: str = "total", past: Past = None) -> Model:
    """CDRF (Friedman et al., EC 2014): maximise the smallest x[n]/(φ[n]·Σ_i γ[n,i]).

    There are no constraints.
    """
    source = "Friedman, Ghodsi and Psomas, EC 2014"
    return max_min(
        instance,
        "CDRF",
        source,
        normalisers.containerized(instance),
        "tasks n could run alone",
        count,
        past,
    )


def tsf(instance: Instance, count: str = "total", past: Past = None) -> Model:
    """TSF (Wang et al., SC 2016): max-min with the normaliser of CDRF.

    The normaliser ignores placement constraints; the allocation obeys them.
    """
    note = "tasks n could run alone, were there no constraints"
    return max_min(
        instance, "TSF", "Wang et al., SC 2016", normalisers.task_share(instance), note, count, past
    )


def naive_drf(instance: Instance) -> Model:
    """DRF on each server separately, with a level t[i] for each (Wang et al., §III-D).

    DRFH improves on it.
    """
    n = instance.users
    i = instance.servers
    r = instance.resources
    model = Model("naive DRF", "Wang, Li and Liang, INFOCOM 2014, §III-D", (n, i, r))
    gamma = instance.gamma()
    d = region.needs(model, instance)
    c = region.capacities(model, instance)
    alone = model.parameter("gamma", (n, i), gamma, "tasks n could run alone on i")
    phi = model.parameter("phi", n, instance.user_weights, "weight of n")
    x = model.variable(
        "x", n, i, where=where_runs(model, instance, gamma > 0), doc="tasks of n on i"
    )
    limit = separate_limits(instance)
    someone = ((gamma > 0) & (limit > 0)).any(axis=0)
    upper = np.where(someone, np.inf, 0.0)
    t = model.variable(
        "t", i, upper=upper, doc="smallest weighted dominant share on i (0 where no user can run)"
    )
    model.constraint("capacity", (d * x).sum(n) <= c)
    served = model.subset("A", (n, i), (gamma > 0) & (limit > 0), "n can run on i, and has tasks")
    model.constraint("fairness", x >= phi * alone * t, where=served)
    finite = np.isfinite(limit) & (gamma > 0)
    if finite.any():
        divided_limit = model.parameter(
            "T", (n, i), np.where(finite, limit, 0.0), "tasks of n, divided over its servers"
        )
        limited = model.subset(
            "L", (n, i), finite, "n can run on i, and the number of its tasks is given"
        )
        model.constraint("limit", x <= divided_limit, where=limited)
    model.define("tasks", x)
    model.maximize(t.sum(i))
    return model


def separate_limits(instance: Instance) -> np.ndarray:
    """Return T[n]·γ[n,i]/Σ_i γ[n,i], a limit divided over independent servers: (N, K)."""
    gamma = instance.gamma()
    whole = gamma.sum(axis=1, keepdims=True)
    fractions = quotients(gamma, whole)
    limits = instance.task_limits[:, None]
    return np.where(
        np.isfinite(limits), np.where(np.isfinite(limits), limits, 0.0) * fractions, np.inf
    )


def max_min(
    instance: Instance,
    name: str,
    source: str,
    alone: np.ndarray,
    meaning: str,
    count: str = "total",
    past: Past = None,
) -> Model:
    """Return the max-min program over tasks x[n,i] on all servers, for any normaliser Γ."""
    n = instance.users
    i = instance.servers
    r = instance.resources
    model = Model(name, source, (n, i, r))
    d = region.needs(model, instance)
    c = region.capacities(model, instance)
    tasks_per_level = _tasks_per_level(model, instance, alone, meaning)
    x = model.variable("x", n, i, where=where_runs(model, instance), doc="tasks of n on i")
    t = lowest_level(model, instance, "smallest level x[n]/(φ[n]Γ[n])")
    model.constraint("capacity", (d * x).sum(n) <= c)
    runnable = where_runnable(model, instance)
    level = beyond_past(model, instance, t, past)
    risen = limited(model, instance, x.sum(i), tasks_per_level * level, runnable, count=count)
    fairness = model.constraint("fairness", x.sum(i) >= risen, where=runnable)
    task_limits(model, instance, x.sum(i), LIMIT)
    model.define("tasks", x)
    model.leximin(fairness, t)
    return model


def in_tasks(
    normaliser: normalisers.Normaliser, count: str = "total"
) -> Callable[[Instance], Model]:
    """Return a function from an instance to its max-min program over tasks, for exact proofs.

    A mechanism's own program may have another unit.

    Its coefficients are the demands and capacities as they are given. Those of a program in shares
    are quotients, rounded, and another program in rationals: users whose demands are proportional
    are no longer, and an optimum that leaves a choice of servers leaves none.
    """
    return lambda instance: max_min(
        instance,
        "max-min",
        "in tasks",
        normaliser(instance),
        "tasks that count as a share of 1",
        count,
    )


def _tasks_per_level(
    model: Model, instance: Instance, alone: np.ndarray, meaning: str
) -> Expression:
    """Return the tasks at level 1: φ[n]·Γ[n], or Γ[n] that includes weights per resource."""
    n = instance.users
    if instance.weights.ndim == 2:
        weighted = normalisers.tasks_at_level_1(instance, alone)
        return model.parameter(
            "Gamma", n, weighted, "tasks at level 1: min over r of w[n,r]·c[r]/d[n,r]"
        )
    phi = model.parameter("phi", n, instance.weights, "weight of n")
    return phi * model.parameter("Gamma", n, alone, meaning)
