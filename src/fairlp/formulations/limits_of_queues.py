"""Rows of guarantees and caps: what users below a queue have together at least, and at most."""

from __future__ import annotations

import numpy as np

from ..errors import InstanceError, nearest
from ..models.instances.instance import Instance
from ..models.notation.entries import Subset
from ..models.notation.expressions import Expression, Index
from ..models.notation.model import Model
from ..models.trees.filling import floors
from . import region
from .normalisers import dominant

#: What a level counts: everything, or what a user has beyond its guarantee.
COUNTS = ("total", "borrowed")


def have_limits(instance: Instance) -> bool:
    """Whether queues limit what their users have."""
    return instance.queues is not None and instance.queues.has_limits


def limited(
    model: Model,
    instance: Instance,
    total: Expression,
    due: Expression,
    able: Subset,
    *,
    unit: np.ndarray | float = 1.0,
    count: str = "total",
) -> Expression:
    """Add the rows ``guarantee`` and ``cap``, where queues have them; return the right-hand side of ``fairness``.

    Parameters
    ----------
    total : Expression
        What each user has, in units of ``unit`` tasks.
    due : Expression
        What is due to each user at level t.
    able : Subset
        Users who can run anything.
    count : {"total", "borrowed"}
        Whether what is guaranteed counts as part of what is due, or comes before it.
    """
    require_count(count)
    if not have_limits(instance):
        return due
    kept = guarantees(model, instance, total, floors(instance), able, unit=unit)
    caps(model, instance, total, unit)
    return kept + due if count == "borrowed" else due


def guarantees(
    model: Model,
    instance: Instance,
    total: Expression,
    tasks: np.ndarray,
    able: Subset,
    *,
    unit: np.ndarray | float = 1.0,
) -> Expression:
    """Add the rows ``guarantee``: everybody who can run has at least so many tasks. Return the parameter."""
    kept = model.parameter("F", instance.users, tasks / unit, "tasks that queues guarantee to n (as the variable)")
    model.constraint("guarantee", total >= kept, where=able)
    return kept


def caps(model: Model, instance: Instance, total: Expression, unit: np.ndarray | float = 1.0) -> None:
    """Add the rows ``cap``: all users below a queue have at most so much of a resource."""
    queues = instance.queues
    capped = np.zeros(0, dtype=int) if queues is None else np.flatnonzero(queues.capped.any(axis=1))
    if queues is None or not capped.size:
        return
    n, r = instance.users, instance.resources
    v = Index("v", queues.paths.labels[capped], "queue")
    most, some = queues.caps[capped], queues.capped[capped]
    below = model.parameter("B", (v, n), queues.below[capped].toarray(), "1 where n stands in v or below it")
    amount = instance.demands * np.broadcast_to(np.asarray(unit, dtype=float), len(n))[:, None]
    use = model.parameter("u", (n, r), amount, "amount of r in one unit of what n has")
    limit = model.parameter("Lambda", (v, r), np.where(some, most, 0.0), "amount of r that users below v have at most")
    there = model.subset("V", (v, r), some, "v has a cap of r")
    h = model.variable("h", n, doc="what n has on all servers")
    model.constraint("total", h == total)
    model.constraint("cap", (below * use * h).sum(n) <= limit, over=(v, r), where=there)


def shortfall(instance: Instance, tasks: np.ndarray) -> Model:
    """Return the program that asks how far guarantees miss: tasks that have no place, in dominant shares, at least."""
    n, i, r = instance.users, instance.servers, instance.resources
    model = Model("do all guarantees fit?", "the elastic relaxation of the rows guarantee", (n, i, r))
    d, c = region.needs(model, instance), region.capacities(model, instance)
    worth = model.parameter("w", n, region.inverse(dominant(instance)), "dominant share of one task of n")
    kept = model.parameter("F", n, tasks, "tasks that queues guarantee to n")
    x = model.variable("x", n, i, where=region.where_runs(model, instance), doc="tasks of n on i")
    missing = model.variable("z", n, doc="guaranteed tasks of n that have no place")
    model.constraint("capacity", (d * x).sum(n) <= c)
    model.constraint("guarantee", x.sum(i) + missing >= kept)
    caps(model, instance, x.sum(i))
    model.define("missing", 1 * missing)
    model.minimize((worth * missing).sum(n))
    return model


def require_count(count: str) -> None:
    """Raise unless it is a way of counting."""
    if count not in COUNTS:
        raise InstanceError(f"count is {count!r}; {nearest(count, COUNTS)}")
