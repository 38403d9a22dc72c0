"""Γ[n]: how many tasks count as a share of one. What tells one max-min mechanism from another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import InstanceError, quoted
from ..models.instances.arithmetic import tasks_alone
from ..models.instances.instance import Instance

__all__ = ["dominant", "tasks_alone", "tasks_at_level_1"]

#: Instance → a number of tasks for each user, shape (N,)
Normaliser = Callable[[Instance], np.ndarray]


def dominant(instance: Instance) -> np.ndarray:
    """Return min over r with d[n,r] > 0 of C[r]/d[n,r]: tasks/Γ is the (global) dominant share.

    C is the pool of all servers; placement and the limits of single servers are ignored (DRF, DRFH,
    C-DRFH).
    """
    return instance.tasks_in_pool


def containerized(instance: Instance) -> np.ndarray:
    """Return Σ_i γ[n,i]: the tasks that n could run with the whole cluster to itself (CDRF)."""
    return np.asarray(instance.gamma().sum(axis=1))


def task_share(instance: Instance) -> np.ndarray:
    """Return Σ_i γ[n,i] as if there were no placement constraints (TSF)."""
    return np.asarray(instance.gamma(ignore_placement=True).sum(axis=1))


def separate(instance: Instance) -> np.ndarray:
    """Return the dominant share's Γ, or, with rates, Σ_i γ[n,i] (DRF on each server)."""
    return dominant(instance) if instance.rates is None else containerized(instance)


def asset(instance: Instance) -> np.ndarray:
    """Return 1 / Σ_r d[n,r]/C[r], so that tasks/Γ is a user's sum of shares (asset fairness)."""
    return np.asarray(1.0 / (instance.demands / instance.pool).sum(axis=1))


def tasks_at_level_1(instance: Instance, gamma: np.ndarray) -> np.ndarray:
    """Return the tasks at level 1: φ[n]·Γ[n], or min_r w[n,r]·C[r]/d[n,r] for weights w."""
    if instance.weights.ndim == 1:
        return weighted(instance, instance.weights, gamma)
    tasks_per_level = np.full(len(instance.demands), np.inf)
    for r, total in enumerate(instance.pool):
        users = instance.demands[:, r] > 0
        tasks_per_level[users] = np.minimum(
            tasks_per_level[users], instance.weights[users, r] * total / instance.demands[users, r]
        )
    return tasks_per_level


def weighted(instance: Instance, weights: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Return φ[n]·Γ[n], one weight a user; raise where floats cannot hold it."""
    with np.errstate(over="ignore"):
        tasks_per_level = np.asarray(weights * gamma)
    if not np.isfinite(tasks_per_level).all():
        n = int(np.isfinite(tasks_per_level).argmin())
        raise InstanceError(
            f"the tasks at level 1 of user {quoted(instance.users[n])}, its weight {weights[n]:g} times "
            f"{gamma[n]:g}, are "
            "beyond floats; expected smaller weights (only their ratios matter)"
        )
    return tasks_per_level


def level_1_by(gamma: Normaliser) -> Normaliser:
    """Return Instance → tasks at level 1, which a leximin takes, given Instance → Γ."""
    return lambda instance: tasks_at_level_1(instance, gamma(instance))


def normalised_demands(instance: Instance) -> np.ndarray:
    """Return d̂[n,r], the fractions of the pool that a user takes at dominant share 1: (N, R).

    The entry of the dominant resource is exactly 1.
    """
    fraction = instance.demands / instance.pool
    return np.asarray(fraction / fraction.max(axis=1, keepdims=True))
