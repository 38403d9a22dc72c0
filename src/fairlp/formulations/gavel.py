"""Gavel's max-min policy: jobs share the time of kinds of accelerators, one kind at a time.

A user is a job m, a row of servers a kind of accelerator j. A job takes its demands at once while
it runs, such as s[m] GPUs, and its rate is γ[m,j]: its throughput per server of the row, T[m,j]
over the servers that it takes. Its tasks are its effective throughput, Σ_j T[m,j]·X[m,j].
"""

from __future__ import annotations

import numpy as np

from ..models.instances.arithmetic import quotients, tasks_alone
from ..models.instances.instance import Instance
from ..models.notation.expressions import Expression
from ..models.notation.model import Model
from . import region
from .normalisers import containerized
from .region import inverse, runnable_users, task_limits, where_runnable

SOURCE = "Narayanan et al., OSDI 2020"


def throughputs(instance: Instance) -> np.ndarray:
    """Return T[m,j], the tasks of job m per unit of time on j, or 0 if it cannot run: (N, K).

    γ[m,j] over the number of copies of the job that fit on all servers of row j at once.
    """
    return quotients(instance.gamma(), tasks_alone(instance.demands, instance.total_capacities))


def gavel(instance: Instance) -> Model:
    """Gavel (Narayanan et al., OSDI 2020, §4.1): maximise the lowest normalised throughput.

    The paper's level of a job is s[m]/φ[m]·Σ_j T[m,j]·X[m,j] over its throughput at equal shares of
    all kinds, Σ_j T[m,j]·W[j]/ΣW. With one GPU as the unit this is ΣW times the level here, Σ_j
    T[m,j]·X[m,j]/(φ[m]·Γ[m]). The model prints m and j as users n and servers i, and T as v.
    """
    m = instance.users
    j = instance.servers
    r = instance.resources
    model = Model("Gavel", f"{SOURCE}, §4.1", (m, j, r))
    d = region.demands(model, instance)
    c = region.capacities(model, instance)
    speed = throughputs(instance)
    throughput = model.parameter("v", (m, j), speed, "tasks of n in a unit of time on i")
    phi = model.parameter("phi", m, instance.user_weights, "weight of n")
    alone = containerized(instance)
    gamma = model.parameter(
        "Gamma", m, np.where(alone > 0, alone, 1.0), "tasks that all servers could run of n"
    )
    runs = model.subset("E", (m, j), speed > 0, "n may run on i, where it has a throughput")
    x = model.variable("X", m, j, where=runs, doc="part of its time that n runs on i")
    model.constraint("capacity", (d * x).sum(m) <= c)
    model.constraint("time", x.sum(j) <= 1)
    task_limits(model, instance, (throughput * x).sum(j), "limit of n (its throughput)")
    t = model.variable(
        "t", upper=None if runnable_users(instance).any() else 0.0, doc="lowest level"
    )
    runnable = where_runnable(model, instance)
    rows = model.constraint("fairness", (throughput * x).sum(j) >= phi * gamma * t, where=runnable)
    model.define("tasks", throughput * x)
    model.leximin(rows, t)
    return model


def one_kind_at_a_time(model: Model, instance: Instance, tasks: Expression) -> None:
    """Add the rows ``time``, by which a job has no more than all its time.

    The model has tasks over users and servers.
    """
    m = instance.users
    j = instance.servers
    time = model.parameter(
        "a", (m, j), inverse(throughputs(instance)), "time of n for one of its tasks on i"
    )
    model.constraint("time", (time * tasks).sum(j) <= 1)
