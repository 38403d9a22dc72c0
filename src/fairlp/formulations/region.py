"""What formulations of the feasible region share: who can run, what tasks need, what there is, and task limits.

The rows ``capacity`` and ``time`` themselves stand in each formulation, where one reads them as in the papers.
"""

from __future__ import annotations

import numpy as np

from ..models.instances.alone import effort
from ..models.instances.instance import Instance
from ..models.notation.entries import Subset
from ..models.notation.expressions import Expression, Parameter
from ..models.notation.model import Model


def able_users(instance: Instance, runs: np.ndarray | None = None) -> np.ndarray:
    """Return who can run anything at all; the others would hold the smallest level at 0 for ever. Bool, shape (N,).

    ``runs`` is where each user can run, bool, shape (N, K); by default `Instance.runnable`.
    """
    where = instance.runnable() if runs is None else runs
    able = where.any(axis=1) & (instance.task_limits > 0)
    return np.asarray(able if instance.queues is None else able & ~instance.queues.barred(instance.demands))


def where_able(model: Model, instance: Instance) -> Subset:
    """Return the subset A of users who can run anything, for whom alone there is a smallest level."""
    return model.subset("A", instance.users, able_users(instance), "n has tasks, and a server where it can run")


def where_runs(model: Model, instance: Instance, runs: np.ndarray | None = None) -> Subset:
    """Return the subset E of pairs where tasks can be; parameters as `able_users`."""
    where = instance.runnable() if runs is None else runs
    doc = "n may run on i, which has all that its tasks need"
    return model.subset("E", (instance.users, instance.servers), where, doc)


def demands(model: Model, instance: Instance) -> Parameter:
    """Return d[n,r], the same on all servers."""
    return model.parameter(
        "d", (instance.users, instance.resources), instance.demands, "amount of r that one task of n needs"
    )


def server_needs(instance: Instance, gamma: np.ndarray) -> np.ndarray:
    """Return what one task of n needs on i, (N, K, R); given rates scale it, so that alone n runs γ[n,i] tasks."""
    multiple = effort(instance)
    scale = np.where(gamma > 0, 1.0 if multiple is None else multiple, 0.0)
    return np.asarray(instance.demands[:, None, :] * scale[:, :, None])


def needs(model: Model, instance: Instance) -> Parameter:
    """Return d[n,r], or d[n,i,r] where given rates make tasks lighter or heavier by server."""
    if instance.rates is None:
        return demands(model, instance)
    indices = (instance.users, instance.servers, instance.resources)
    scaled = server_needs(instance, instance.gamma())
    return model.parameter("d", indices, scaled, "amount of r that one task of n needs on i, at the given rates")


def pool(model: Model, instance: Instance) -> Parameter:
    """Return c[r] of all servers together."""
    return model.parameter("c", instance.resources, instance.pool, "capacity of r")


def capacities(model: Model, instance: Instance) -> Parameter:
    """Return c[i,r] of the servers of each row together."""
    whole = instance.capacities * instance.counts[:, None]
    return model.parameter("c", (instance.servers, instance.resources), whole, "capacity of i")


def time_shares(model: Model, instance: Instance, gamma: np.ndarray) -> Parameter:
    """Return a[n,i] = 1/γ[n,i], the time of a server that one task takes; 0 where n cannot run."""
    indices = (instance.users, instance.servers)
    return model.parameter("a", indices, inverse(gamma), "part of server i's time for one task: 1/γ[n,i]")


def task_limits(
    model: Model,
    instance: Instance,
    total: Expression,
    meaning: str = "tasks that n has",
    *,
    unit: np.ndarray | float = 1.0,
    who: np.ndarray | bool = True,
) -> None:
    """Add the rows ``limit`` of the users who have a task limit: ``total`` ≤ T[n], in units of so many tasks."""
    finite = np.isfinite(instance.task_limits) & who
    if finite.any():
        most = np.where(finite, np.where(finite, instance.task_limits, 0.0) / unit, 0.0)
        limit = model.parameter("T", instance.users, most, meaning)
        limited = model.subset("L", instance.users, finite, "the number of tasks that n has is given")
        model.constraint("limit", total <= limit, where=limited)


def inverse(values: np.ndarray) -> np.ndarray:
    """Return 1/values, 0 where they are 0."""
    return np.asarray(np.divide(1.0, values, out=np.zeros_like(values), where=values > 0))
