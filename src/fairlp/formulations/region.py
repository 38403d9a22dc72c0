"""Shared parts of formulations: runnable users, needs of tasks, capacities and task limits.

The rows ``capacity`` and ``time`` themselves stand in each formulation, where one reads them as in
the papers.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ..errors import InstanceError, quoted, require_known
from ..models.instances.arithmetic import effort, quotients
from ..models.instances.instance import Instance
from ..models.notation.expressions import Expression, Index
from ..models.notation.model import Model
from ..models.notation.variables import Parameter, Subset, Variable
from ..models.trees.guarantees import floors
from .normalisers import dominant

__all__ = [
    "capacities",
    "demands",
    "have_limits",
    "queue_limits",
    "runnable_users",
    "task_limits",
]

# Γ[n]: how many tasks count as a share of one. What tells one max-min mechanism from another.


def runnable_users(instance: Instance, runs: np.ndarray | None = None) -> np.ndarray:
    """Return the users who can run anything: :meth:`fairlp.Instance.runnable_users`."""
    return instance.runnable_users(runs)


def lowest_level(model: Model, instance: Instance, doc: str) -> Variable:
    """Return the level t; it is 0 where no user can run anything, since no row would hold it."""
    return model.variable("t", upper=None if runnable_users(instance).any() else 0.0, doc=doc)


def where_runnable(model: Model, instance: Instance) -> Subset:
    """Return the subset A of users who can run anything, whose smallest level counts."""
    return model.subset(
        "A", instance.users, runnable_users(instance), "n has tasks, and a server where it can run"
    )


def where_runs(model: Model, instance: Instance, runs: np.ndarray | None = None) -> Subset:
    """Return the subset E of pairs where tasks can be; parameters as `runnable_users`."""
    where = instance.runnable() if runs is None else runs
    doc = "n may run on i, which has all that its tasks need"
    return model.subset("E", (instance.users, instance.servers), where, doc)


def demands(model: Model, instance: Instance) -> Parameter:
    """Return d[n,r], the same on all servers."""
    return model.parameter(
        "d",
        (instance.users, instance.resources),
        instance.demands,
        "amount of r that one task of n needs",
    )


def server_needs(instance: Instance, gamma: np.ndarray) -> np.ndarray:
    """Return the needs of one task of n on i, (N, K, R), scaled by rates so that n runs γ[n,i]."""
    multiple = effort(instance)
    scale = np.where(gamma > 0, 1.0 if multiple is None else multiple, 0.0)
    return np.asarray(instance.demands[:, None, :] * scale[:, :, None])


def needs(model: Model, instance: Instance) -> Parameter:
    """Return d[n,r], or d[n,i,r] where given rates make tasks lighter or heavier by server."""
    if instance.rates is None:
        return demands(model, instance)
    indices = (instance.users, instance.servers, instance.resources)
    scaled = server_needs(instance, instance.gamma())
    return model.parameter(
        "d", indices, scaled, "amount of r that one task of n needs on i, at the given rates"
    )


def pool(model: Model, instance: Instance) -> Parameter:
    """Return c[r] of all servers together."""
    return model.parameter("c", instance.resources, instance.pool, "capacity of r")


def capacities(model: Model, instance: Instance) -> Parameter:
    """Return c[i,r] of the servers of each row together."""
    whole = instance.total_capacities
    return model.parameter("c", (instance.servers, instance.resources), whole, "capacity of i")


def time_shares(model: Model, instance: Instance, gamma: np.ndarray) -> Parameter:
    """Return a[n,i] = 1/γ[n,i], the time of a server that one task takes; 0 where n cannot run."""
    indices = (instance.users, instance.servers)
    return model.parameter(
        "a", indices, inverse(gamma), "part of server i's time for one task: 1/γ[n,i]"
    )


def task_limits(
    model: Model,
    instance: Instance,
    total: Expression,
    meaning: str = "tasks that n has",
    *,
    unit: np.ndarray | float = 1.0,
    users: Any = True,
) -> None:
    """Add the rows ``limit`` of users with task limits: ``total`` ≤ T[n], in units of ``unit``."""
    finite = np.isfinite(instance.task_limits) & users
    if finite.any():
        limits = np.where(finite, np.where(finite, instance.task_limits, 0.0) / unit, 0.0)
        limit = model.parameter("T", instance.users, limits, meaning)
        limited = model.subset(
            "L", instance.users, finite, "the number of tasks that n has is given"
        )
        model.constraint("limit", total <= limit, where=limited)


def inverse(values: np.ndarray) -> np.ndarray:
    """Return 1/values, 0 where they are 0."""
    return quotients(1.0, values)


# Rows of guarantees and caps: what users below a queue have together at least, and at most.

#: The level that each user has by its past, by user or in their order; None: no past counts.
Past: TypeAlias = "pd.Series[float] | np.ndarray | None"

#: What a level counts: everything, or what a user has beyond its guarantee.
COUNTS = ("total", "borrowed")


def have_limits(instance: Instance) -> bool:
    """Whether queues limit what their users have."""
    return instance.tree.has_limits


def limited(
    model: Model,
    instance: Instance,
    total: Expression,
    due: Expression,
    runnable: Subset,
    *,
    unit: np.ndarray | float = 1.0,
    count: str = "total",
) -> Expression:
    """Add the queues' rows ``guarantee`` and ``cap``; return the right side of ``fairness``.

    Parameters
    ----------
    total : Expression
        What each user has, in units of ``unit`` tasks.
    due : Expression
        What is due to each user at level t.
    runnable : Subset
        Users who can run anything.
    count : {"total", "borrowed"}
        Whether what is guaranteed counts as part of what is due, or comes before it.
    """
    require_count(count)
    if not have_limits(instance):
        return due
    guarantee = guarantees(model, instance, total, floors(instance), runnable, unit=unit)
    caps(model, instance, total, unit)
    return guarantee + due if count == "borrowed" else due


def queue_limits(model: Model, instance: Instance, total: Expression) -> None:
    """Add the rows ``guarantee`` and ``cap`` of the queues to a formulation of one's own, if any.

    ``total`` are the tasks of each user. A guarantee holds for users who can run anything.
    """
    if have_limits(instance):
        guarantees(model, instance, total, floors(instance), where_runnable(model, instance))
        caps(model, instance, total)


def beyond_past(model: Model, instance: Instance, t: Expression, past: Past) -> Expression:
    """Return what is due to each user at level t beyond its past: t − b[n], perhaps below 0."""
    if past is None:
        return t
    meaning = "level that n has by its past, λ·h[n]/Δ"
    return t - model.parameter("b", instance.users, past, meaning)


def guarantees(
    model: Model,
    instance: Instance,
    total: Expression,
    tasks: np.ndarray,
    runnable: Subset,
    *,
    unit: np.ndarray | float = 1.0,
) -> Expression:
    """Add the rows ``guarantee``, each runnable user's least tasks; return the parameter."""
    guarantee = model.parameter(
        "F", instance.users, tasks / unit, "tasks that queues guarantee to n (as the variable)"
    )
    model.constraint("guarantee", total >= guarantee, where=runnable)
    return guarantee


def caps(
    model: Model, instance: Instance, total: Expression, unit: np.ndarray | float = 1.0
) -> None:
    """Add the rows ``cap``: all users below a queue have at most so much of a resource."""
    queues = instance.tree
    capped = np.flatnonzero(queues.capped.any(axis=1))
    if not capped.size:
        return
    n = instance.users
    r = instance.resources
    v = Index("v", queues.paths.labels[capped], "queue")
    cap_amounts = queues.caps[capped]
    some = queues.capped[capped]
    below = model.parameter(
        "B", (v, n), queues.below[capped].toarray(), "1 where n stands in v or below it"
    )
    amount = instance.demands * np.broadcast_to(np.asarray(unit, dtype=float), len(n))[:, None]
    use = model.parameter("u", (n, r), amount, "amount of r in one unit of what n has")
    limit = model.parameter(
        "Lambda",
        (v, r),
        np.where(some, cap_amounts, 0.0),
        "amount of r that users below v have at most",
    )
    capped_pairs = model.subset("V", (v, r), some, "v has a cap of r")
    h = model.variable("h", n, doc="what n has on all servers")
    model.constraint("total", h == total)
    model.constraint("cap", (below * use * h).sum(n) <= limit, over=(v, r), where=capped_pairs)


def shortfall(instance: Instance, tasks: np.ndarray) -> Model:
    """Return the program of the least shortfall of guarantees, tasks without a place.

    It counts them in dominant shares.
    """
    n = instance.users
    i = instance.servers
    r = instance.resources
    model = Model(
        "do all guarantees fit?", "the elastic relaxation of the rows guarantee", (n, i, r)
    )
    d = needs(model, instance)
    c = capacities(model, instance)
    share_of_task = model.parameter(
        "w", n, inverse(dominant(instance)), "dominant share of one task of n"
    )
    guarantee = model.parameter("F", n, tasks, "tasks that queues guarantee to n")
    x = model.variable("x", n, i, where=where_runs(model, instance), doc="tasks of n on i")
    missing = model.variable("z", n, doc="guaranteed tasks of n that have no place")
    model.constraint("capacity", (d * x).sum(n) <= c)
    model.constraint("guarantee", x.sum(i) + missing >= guarantee)
    caps(model, instance, x.sum(i))
    model.define("missing", 1 * missing)
    model.minimize((share_of_task * missing).sum(n))
    return model


def gain(instance: Instance, tasks: np.ndarray, blocked: np.ndarray) -> Model:
    """Return the program of the most that blocked users can gain while all have these tasks.

    It counts gains in dominant shares. Blocked users are a mask, shape (N,).
    """
    n = instance.users
    i = instance.servers
    model = Model("can a blocked user gain?", "a round of a path", (n, i, instance.resources))
    d = needs(model, instance)
    c = capacities(model, instance)
    share_of_task = model.parameter(
        "w", n, inverse(dominant(instance)), "dominant share of one task of n"
    )
    reached = model.parameter("F", n, tasks, "tasks that n has at the end of the round")
    stopped = model.subset("S", n, blocked, "n is blocked")
    x = model.variable("x", n, i, where=where_runs(model, instance), doc="tasks of n on i")
    more = model.variable("z", n, where=stopped, doc="tasks that n gains")
    model.constraint("capacity", (d * x).sum(n) <= c)
    model.constraint("kept", x.sum(i) >= reached + more, where=True)
    caps(model, instance, x.sum(i))
    model.maximize((share_of_task * more).sum(n))
    return model


def require_count(count: str) -> None:
    """Raise unless it is a way of counting."""
    require_known(count, COUNTS, f"count is {quoted(count)}", InstanceError)
