"""α-fairness: largest total share (α = 0), proportional (α = 1) and max-min fairness (α = ∞)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import InstanceError, quoted
from ..models.instances.instance import Instance
from ..models.notation.expressions import Expression, log, power
from ..models.notation.model import Model
from ..models.notation.reals import NumberError, is_number, number
from ..models.trees.guarantees import floors
from . import max_min, normalisers
from .region import caps, guarantees, runnable_users, task_limits, where_runnable, where_runs

__all__ = ["checked", "reference", "weights"]

#: Proportional fairness.
DEFAULT = 1.0
SOURCE = "Mo and Walrand, 2000; Joe-Wong, Sen, Lan and Chiang, 2013"


def alpha_fair(instance: Instance, alpha: float = DEFAULT) -> Model:
    """α-fairness (Mo and Walrand, 2000) of weighted dominant shares s[n] = x[n]/(φ[n]Γ[n]).

    It applies to any servers.

    Maximise Σ φ[n]·s[n]^(1−α)/(1−α), at α = 1 Σ φ[n]·log s[n]; at α = ∞ the smallest s[n] (DRFH,
    the first round of a leximin). A user who can run nothing has no term. Shares are counted in
    units of a level that all can have, which changes no optimum and keeps powers within floats.
    Guarantees and caps of queues are rows.

    Parameters
    ----------
    instance : Instance
    alpha : float
        From 0, the largest total share, to infinity, max-min fairness; 1, the default, is
        proportional fairness.

    Raises
    ------
    InstanceError
        When α is not a number from 0 to infinity.
    """
    alpha = checked(alpha)
    if alpha == np.inf:
        return max_min.drfh(instance)
    n, i, r = instance.users, instance.servers, instance.resources
    can_run = runnable_users(instance)
    alone = normalisers.dominant(instance)
    model = Model("alpha-fairness", SOURCE, (n, i, r))
    weight = weights(instance)
    share_at_reference = weight * reference(instance)
    phi = model.parameter("phi", n, np.where(can_run, weight, 0.0), "weight of n (0: no term)")
    level = model.parameter(
        "l",
        n,
        np.where(can_run, share_at_reference, 1.0),
        "global dominant share of n at the level of reference",
    )
    d = model.parameter(
        "d_hat", (n, r), normalisers.normalised_demands(instance), "demand of n per dominant one"
    )
    available = instance.total_capacities / instance.pool
    c = model.parameter("c", (i, r), available, "capacity of i, as a fraction of the pool")
    pool = model.parameter("C", r, instance.pool, "capacity of the pool")
    gamma = model.parameter("Gamma", n, alone, "tasks n could run alone on the pool")
    where = where_runs(model, instance, instance.runnable() & can_run[:, None])
    g = model.variable("g", n, i, where=where, doc="global dominant share of n on i")
    model.constraint("capacity", (d * g).sum(n) <= c)
    task_limits(model, instance, g.sum(i), max_min.LIMIT, unit=alone, users=can_run)
    _limits_of_queues(model, instance, g.sum(i), alone)
    model.define("tasks", gamma * g)
    model.define("capacity_unit", pool)
    model.maximize((phi * utility(g.sum(i) / level, alpha)).sum(n))
    return model


def _limits_of_queues(
    model: Model, instance: Instance, total: Expression, unit: np.ndarray | float = 1.0
) -> None:
    """Add the rows ``guarantee`` and ``cap``, where queues have them.

    ``total`` is the amount of each user, in units of tasks.
    """
    guaranteed = floors(instance)
    if guaranteed.any():
        guarantees(model, instance, total, guaranteed, where_runnable(model, instance), unit=unit)
    caps(model, instance, total, unit)


def weights(instance: Instance) -> np.ndarray:
    """Return φ[n]; with weights per resource that on the resource that binds it, as DRFH counts."""
    if instance.weights.ndim == 1:
        return instance.weights
    alone = normalisers.dominant(instance)
    return np.asarray(normalisers.tasks_at_level_1(instance, alone) / alone)


def utility(share: Expression, alpha: float) -> Expression:
    """Return u_α of a share: s^(1−α)/(1−α), log s at α = 1."""
    if alpha == 0:
        return share
    return log(share) if alpha == 1 else power(share, 1 - alpha) / (1 - alpha)


def reference(instance: Instance) -> float:
    """Return the lowest s[n] where every server is divided by weights.

    All users can have that level at once.

    No higher than where a cap of a queue is used up.
    """
    runnable = runnable_users(instance)
    if not runnable.any():
        return 1.0
    phi, alone = weights(instance), normalisers.dominant(instance)
    fraction = instance.gamma().sum(axis=1)[runnable] / alone[runnable]
    level = float(fraction.min() / phi[runnable].sum())
    queues = instance.tree
    if not queues.capped.any():
        return level
    used = queues.below @ (instance.demands * np.where(runnable, phi * alone, 0.0)[:, None])
    return float(min(level, (queues.caps[used > 0] / used[used > 0]).min()))


def checked(alpha: Any) -> float:
    """Return α as a float; raise where it is none from 0 to infinity.

    Raises
    ------
    InstanceError
        Also for a name other than "inf".
    """
    if isinstance(alpha, str) and alpha.strip().lower() in ("inf", "infinity", "∞"):
        return float("inf")
    problem = ""
    try:
        value = number(alpha) if is_number(alpha) else math.nan
    except NumberError as error:
        value = math.nan
        problem = f" ({error})"
    if not value >= 0:
        raise InstanceError(
            f"alpha is {quoted(alpha)}{problem}; expected a number from 0 (the largest total share) "
            "by 1 (proportional fairness) to infinity (max-min fairness)"
        )
    return value
