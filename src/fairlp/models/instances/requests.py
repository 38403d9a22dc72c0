"""What *no justified complaints* is about (Dolev, Feitelson, Halpern, Kupferman and Linial, 2012).

x[n] is the granted fraction of what n asks for, r[n,j] what it asks for of resource j, e[n] what it
is entitled to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...tolerances import AGREEMENT
from ..notation.expressions import Index
from .arithmetic import tasks_alone
from .instance import Instance

__all__ = ["remaining_users"]


@dataclass(frozen=True, eq=False)
class Requests:
    """Requests and entitlements of an instance with one server.

    Attributes
    ----------
    users, resources : Index
    fractions : ndarray, shape (N, R)
        r[n,j]: what n asks for, as a fraction of the capacity of j; at most 1.
    entitlements : ndarray, shape (N,)
        e[n], summing to 1: those of the instance, by default the weights divided by their sum.
    tasks : ndarray, shape (N,)
        Tasks at x[n] = 1: the task limit, or what n could run alone if that is less. To ask for
        more than all of a resource is to ask for all of it: a user who gets that much has its
        entitlement of a saturated resource anyway.
    limited : ndarray of bool, shape (N,)
        Whose request is its task limit: the users who have a dummy resource in the paper, x[n] ≤ 1.
    weights : ndarray, shape (N,)
        φ[n], by which users who are entitled to nothing share what the others leave.
    """

    users: Index
    resources: Index
    fractions: np.ndarray
    entitlements: np.ndarray
    tasks: np.ndarray
    limited: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, instance: Instance) -> Requests:
        """Return the requests of an instance with one server; O(NR)."""
        share = instance.demands / instance.pool
        alone = tasks_alone(instance.demands, instance.pool[None, :])[:, 0]
        limited = instance.task_limits <= alone
        limited_share = np.where(limited, instance.task_limits, 0.0)[:, None] * share
        # exactly 1 for the dominant resource of a user without a limit
        fractions = np.where(
            limited[:, None],
            np.minimum(limited_share, 1.0),
            share / share.max(axis=1, keepdims=True),
        )
        return cls(
            users=instance.users,
            resources=instance.resources,
            fractions=fractions,
            entitlements=entitlements(instance),
            tasks=np.where(limited, instance.task_limits, alone),
            limited=limited,
            weights=instance.user_weights,
        )

    @property
    def asking(self) -> np.ndarray:
        """Who asks for anything; the others have all of it. Bool, shape (N,)."""
        return np.asarray(self.fractions.any(axis=1))

    @property
    def contended(self) -> np.ndarray:
        """Resources whose requests sum to at least the capacity. Bool, shape (R,)."""
        return np.asarray(self.fractions.sum(axis=0) >= 1 - AGREEMENT)

    def select(self, users: np.ndarray) -> Requests:
        """Return some users' requests (mask of shape (N,)), with entitlements that sum to 1."""
        e = self.entitlements[users]
        return replace(
            self,
            users=Index("n", self.users.labels[users], "user"),
            fractions=self.fractions[users],
            entitlements=e / e.sum() if e.any() else np.full(len(e), 1.0 / max(len(e), 1)),
            tasks=self.tasks[users],
            limited=self.limited[users],
            weights=self.weights[users],
        )

    def granted(self, tasks: np.ndarray) -> np.ndarray:
        """Return x[n] from tasks; 1 for a user who asks for nothing. Shape (N,)."""
        return np.where(self.tasks > 0, tasks / np.where(self.tasks > 0, self.tasks, 1.0), 1.0)

    def to_tasks(self, x: np.ndarray) -> np.ndarray:
        """Return tasks from x[n], exact to the last digit where a request is met. Shape (N,)."""
        return np.where(self.limited & (x >= 1), self.tasks, x * self.tasks)

    def thresholds(self, bottlenecks: np.ndarray) -> np.ndarray:
        """Return the least x[n] at which n has no justified complaint.

        It is min(1, e[n]/max r[n,j]) over the bottlenecks j that n uses.

        1 for a user of no bottleneck. ``bottlenecks`` is bool, shape (R,) or (sets, R); the result
        (N,) or (sets, N).
        """
        chosen = np.atleast_2d(bottlenecks)
        largest_request = np.zeros((len(chosen), len(self.fractions)))
        for j, fraction in enumerate(self.fractions.T):
            np.maximum(largest_request, chosen[:, j, None] * fraction, out=largest_request)
        bound = np.divide(
            self.entitlements,
            largest_request,
            out=np.ones_like(largest_request),
            where=largest_request > self.entitlements,
        )
        bound[:, ~self.asking] = 1.0  # who asks for nothing has all of it
        return np.asarray(bound[0] if np.ndim(bottlenecks) == 1 else bound)


def entitlements(instance: Instance) -> np.ndarray:
    """Return e[n], summing to 1: the instance's entitlements, or else its weights, normalised."""
    unscaled = instance.user_weights if instance.entitlements is None else instance.entitlements
    return np.asarray(unscaled / unscaled.sum())


def remaining_users(instance: Instance, users: np.ndarray) -> Instance:
    """Return the instance of these users, entitled in the proportions in which they were.

    Where none of them was entitled to anything they share by their weights.
    """
    smaller = instance.select_users(users)
    if instance.entitlements is None or not instance.entitlements[users].any():
        return smaller
    entitled = instance.entitlements[users]
    return smaller.derived(entitlements=entitled / entitled.sum())
