"""Proportional fairness (competitive equilibrium from given incomes): maximise Σ e[n]·log(tasks of n)."""

from __future__ import annotations

import numpy as np

from ..models.instances.instance import Instance
from ..models.instances.requests import entitlements
from ..models.notation.expressions import Expression, log
from ..models.notation.model import Model


def ceei(instance: Instance) -> Model:
    """CEEI: maximise the product of all users' tasks, each to the power of its entitlement; any servers.

    The entitlements e[n] sum to 1: those of the instance, by default its weights divided by their sum. Whoever can run
    nothing has no term.
    """
    model = Model(
        "CEEI", "Eisenberg and Gale, 1959; Varian, 1974", (instance.users, instance.servers, instance.resources)
    )
    e = np.where(able_users(instance), entitlements(instance), 0.0)
    weight = model.parameter("e", instance.users, e, "entitlement of n (0: no term)")
    tasks = _region(model, instance)
    model.maximize((weight * log(tasks)).sum(instance.users))
    return model


def better(instance: Instance, tasks: np.ndarray) -> Model:
    """Return the linear program that bounds how far tasks by user (shape (N,)) are from the optimum.

    Maximise Σ e[n]·(y[n]/tasks[n]) over all feasible y; tasks are optimal if that is no more than Σ e[n].
    """
    indices = (instance.users, instance.servers, instance.resources)
    model = Model("CEEI, first-order condition", "optimality of a concave program", indices)
    e = np.where(able_users(instance), entitlements(instance), 0.0)
    slope = np.divide(e, tasks, out=np.zeros(len(e)), where=e > 0)
    weight = model.parameter("s", instance.users, slope, "e[n] / tasks of n")
    model.maximize((weight * _region(model, instance)).sum(instance.users))
    return model


def _region(model: Model, instance: Instance) -> Expression:
    """Declare what is feasible; return the tasks of n."""
    n, i, r = instance.users, instance.servers, instance.resources
    alone = instance.gamma().sum(axis=1)
    able = able_users(instance)
    d = model.parameter("d", (n, r), instance.demands, "amount of r that one task of n needs")
    c = model.parameter("c", (i, r), instance.capacities * instance.counts[:, None], "capacity of i")
    gamma = model.parameter("Gamma", n, np.where(able, alone, 1.0), "tasks n could run alone (1: none)")
    where = instance.runnable() & able[:, None]
    g = model.variable("g", n, i, where=where, doc="tasks of n on i, as a fraction of what n could run alone")
    model.constraint("capacity", (d * gamma * g).sum(n) <= c)
    finite = np.isfinite(instance.task_limits) & able
    if finite.any():
        most = np.where(finite, np.where(finite, instance.task_limits, 0.0) / np.where(able, alone, 1.0), 0.0)
        limit = model.parameter("T", n, most, "limit of n, as a fraction of what n could run alone")
        model.constraint("limit", g.sum(i) <= limit, where=finite)
    model.define("tasks", gamma * g)
    return (gamma * g).sum(i)


def able_users(instance: Instance) -> np.ndarray:
    """Return who can run anything at all. Bool, shape (N,)."""
    return np.asarray(instance.runnable().any(axis=1) & (instance.task_limits > 0))
