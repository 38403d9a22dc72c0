"""What dense and sparse instances have in common: numbers that follow from counts, capacities and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InstanceError
from ..notation.expressions import Index

if TYPE_CHECKING:
    from .instance import Instance

# What users could run alone: tasks on each row of servers, from demands and capacities or as given.


def tasks_alone_there(instance: Instance, ignore_placement: bool) -> np.ndarray:
    """Return γ[n,i]; see :meth:`fairlp.Instance.gamma`."""
    if instance.rates is not None:
        alone = instance.rates * instance.counts
    else:
        alone = tasks_alone(instance.demands, instance.capacities) * instance.counts
    if not ignore_placement and instance.has_constraints:
        alone = np.where(instance.eligible, alone, 0.0)
    return np.asarray(alone)


def able(instance: Instance) -> np.ndarray:
    """Return where each user can run at all; see :meth:`fairlp.Instance.runnable`."""
    if instance.rates is not None:
        there = instance.rates > 0
    else:
        # a pattern of demanded resources meets a pattern of missing ones
        there = ((instance.demands > 0).astype(np.float32) @ (instance.capacities == 0).T.astype(np.float32)) == 0
    return there & instance.eligible if instance.has_constraints else there


def effort(instance: Instance, servers: slice = slice(None)) -> np.ndarray | None:
    """Return what a task of n needs on i as a multiple of its demands, so that alone it runs the given rate γ[n,i].

    None where no rates are given: then a task needs its demands everywhere. ``servers`` are the rows asked for.
    """
    if instance.rates is None:
        return None
    alone, rates = tasks_alone(instance.demands, instance.capacities[servers]), instance.rates[:, servers]
    return quotients(alone, rates)


def quotients(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return part / whole, 0 where the whole is 0."""
    shape = np.broadcast_shapes(part.shape, whole.shape)
    return np.asarray(np.divide(part, whole, out=np.zeros(shape), where=whole > 0))


def tasks_alone(demands: np.ndarray, capacities: np.ndarray) -> np.ndarray:
    """Return min over r with d[n,r] > 0 of c[i,r]/d[n,r], shape (N, K), one resource at a time to save memory."""
    alone = np.full((len(demands), len(capacities)), np.inf)
    for r in range(demands.shape[1]):
        users = np.flatnonzero(demands[:, r] > 0)
        with np.errstate(over="ignore"):  # more tasks than a float can count are infinitely many
            if len(users) == len(demands):
                np.minimum(alone, capacities[:, r] / demands[:, r, None], out=alone)
            else:
                alone[users] = np.minimum(alone[users], capacities[:, r] / demands[users, r, None])
    return alone


class AllocationProblem:
    """Users, servers and resources, however it is said who may run where."""

    users: Index
    servers: Index
    resources: Index
    capacities: np.ndarray
    counts: np.ndarray
    weights: np.ndarray

    @property
    def n_servers(self) -> int:
        """Number of servers, identical ones counted."""
        return int(self.counts.sum())

    @property
    def pool(self) -> np.ndarray:
        """Capacity of the whole cluster by resource (C[r] = Σ_i c[i,r])."""
        return np.asarray(self.counts @ self.capacities, dtype=float)

    @property
    def user_weights(self) -> np.ndarray:
        """Weights φ[n]; an error when they are given per resource."""
        if self.weights.ndim == 2:
            raise InstanceError("weights are given per resource here; this needs one weight for each user")
        return self.weights
