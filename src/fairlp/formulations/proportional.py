"""Proportional fairness: maximise Σ e[n]·log(tasks of n).

The optimum is the competitive equilibrium from the incomes e[n].
"""

from __future__ import annotations

import numpy as np

from ..models.instances.instance import Instance
from ..models.instances.requests import entitlements
from ..models.notation.expressions import log
from ..models.notation.model import Model
from . import region
from .region import runnable_users, task_limits


def ceei(instance: Instance) -> Model:
    """CEEI: maximise the product of all users' tasks, each to the power of its entitlement.

    It applies to any servers.

    The entitlements e[n] sum to 1: those of the instance, by default its weights divided by their
    sum. A user who can run nothing has no term.
    """
    model = Model(
        "CEEI",
        "Eisenberg and Gale, 1959; Varian, 1974",
        (instance.users, instance.servers, instance.resources),
    )
    n = instance.users
    i = instance.servers
    runnable = runnable_users(instance)
    e = np.where(runnable, entitlements(instance), 0.0)
    weight = model.parameter("e", n, e, "entitlement of n (0: no term)")
    alone = np.where(runnable, instance.gamma().sum(axis=1), 1.0)
    d = region.demands(model, instance)
    c = region.capacities(model, instance)
    gamma = model.parameter("Gamma", n, alone, "tasks n could run alone (1: none)")
    where = instance.runnable() & runnable[:, None]
    g = model.variable(
        "g",
        n,
        i,
        where=region.where_runs(model, instance, where),
        doc="tasks of n on i, as a fraction of what n could run alone",
    )
    model.constraint("capacity", (d * gamma * g).sum(n) <= c)
    meaning = "limit of n, as a fraction of what n could run alone"
    task_limits(model, instance, g.sum(i), meaning, unit=alone, users=runnable)
    model.define("tasks", gamma * g)
    model.maximize((weight * log((gamma * g).sum(i))).sum(n))
    return model
