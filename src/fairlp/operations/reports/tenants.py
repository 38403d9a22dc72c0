"""Tenants: those to whom a scheduler promises a share, each with its users of the instance.

A user of a dump is a class of equal tasks: of one owner, in one queue, of one size. The scheduler
promises a share to the owner, the queue or the namespace, and inside it follows the tenant's own
order. So a verdict is about tenants: their dominant shares beside what is fair for all of a
tenant's tasks together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ... import Instance
from ...models.instances.arithmetic import largest_first, quotients
from ...tolerances import AUDIT


@dataclass(frozen=True, eq=False)
class Tenants:
    """The tenants of an instance.

    Attributes
    ----------
    names : list
    of : ndarray of int, shape (N,)
        The tenant of each user.
    noun : str
        The scheduler's word for one of them, such as ``user``, ``queue`` or ``namespace``.
    """

    names: list[Any]
    of: np.ndarray
    noun: str = "user"

    @classmethod
    def each_user(cls, instance: Instance) -> Tenants:
        """Return every user as a tenant of its own."""
        return cls(list(instance.users), np.arange(len(instance.users)))

    @classmethod
    def named(cls, names: pd.Series[str]) -> Tenants:
        """Return the tenants that users have by name; the name of the series is the noun."""
        of, distinct = pd.factorize(names)
        return cls(list(distinct), of, str(names.name))

    def of_users(self, users: np.ndarray) -> Tenants:
        """Return the tenants of some users, by position."""
        remaining, of = np.unique(self.of[users], return_inverse=True)
        return Tenants([self.names[t] for t in remaining], of, self.noun)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of values of users, shape (N,) or (N, R), by tenant."""
        totals = np.zeros((len(self.names), *values.shape[1:]))
        np.add.at(totals, self.of, values)
        return totals

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of users of each tenant."""
        return np.bincount(self.of, minlength=len(self.names))

    @cached_property
    def users(self) -> list[np.ndarray]:
        """Positions of the users of each tenant, in their order."""
        by_tenant = np.argsort(self.of, kind="stable")
        return np.split(by_tenant, np.cumsum(self.sizes)[:-1])

    @property
    def are_users(self) -> bool:
        """Whether every tenant is one user."""
        return bool((self.sizes <= 1).all())


def to_whole(tasks: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return numbers of tasks; one that differs from a whole one by rounding only is that one.

    >>> to_whole(np.array([11.9999999999, 2.5, -1e-12]), np.array([20.0, 3.0, 1.0])).tolist()
    [12.0, 2.5, 0.0]
    """
    nearest = np.rint(tasks) + 0.0
    is_near = abs(tasks - nearest) <= AUDIT * np.maximum(size, 1.0)
    return np.asarray(np.where(is_near, nearest, tasks))


class TenantShares:
    """The dominant shares of tenants beside their fair ones.

    Parameters
    ----------
    instance : Instance
    tenants : Tenants
    tasks, fair_tasks, waiting : ndarray, shape (N,)
        Tasks that users have, those that are fair, and those that wait.
    """

    def __init__(
        self,
        instance: Instance,
        tenants: Tenants,
        tasks: np.ndarray,
        fair_tasks: np.ndarray,
        waiting: np.ndarray,
    ) -> None:
        self.instance = instance
        self.tenants = tenants
        self.tasks = tasks
        self.fair_tasks = fair_tasks
        self.waiting = waiting
        #: Parts of the pool that one task of each user takes, by resource.
        self.parts = instance.demands / instance.pool

    @cached_property
    def amounts(self) -> np.ndarray:
        """Parts of the pool that each tenant has, tenants × resources."""
        return self.tenants.sums(self.tasks[:, None] * self.parts)

    @cached_property
    def share(self) -> np.ndarray:
        """Dominant share of each tenant."""
        return np.asarray(self.amounts.max(axis=1))

    @cached_property
    def fair_share(self) -> np.ndarray:
        """Dominant share of each tenant under the fair allocation."""
        fair_amounts = self.tenants.sums(self.fair_tasks[:, None] * self.parts)
        return np.asarray(fair_amounts.max(axis=1))

    @cached_property
    def excess(self) -> np.ndarray:
        """The part of what each tenant has that is beyond its fair share."""
        is_beyond = self.share > self.fair_share * (1 + AUDIT)
        beyond = np.where(is_beyond, self.share - self.fair_share, 0.0)
        return quotients(beyond, self.share)

    @cached_property
    def owed(self) -> np.ndarray:
        """Tasks of each user that wait, and that its tenant lacks of its fair share."""
        lacking = np.minimum(self.fair_tasks - self.tasks, self.waiting)
        size = np.maximum(self.fair_tasks, self.tasks)
        owed = to_whole(np.where(lacking > AUDIT * size, lacking, 0.0), size)
        for t in np.flatnonzero(self.tenants.sizes > 1):
            users = self.tenants.users[t]
            owed[users] = self._owed_together(int(t), users, owed[users])
        return owed

    def _owed_together(self, t: int, users: np.ndarray, lacking: np.ndarray) -> np.ndarray:
        """Return what the users of one tenant are owed until the tenant has its fair share.

        Users come in the order of the share that they lack. Each is owed whole tasks; the first
        also the part of a task that is left in the end.
        """
        owed = np.zeros(len(users))
        amounts = self.amounts[t].copy()
        order = largest_first(lacking * self.parts[users].max(axis=1))
        order = order[lacking[order] > 0]
        for k in order:
            room = self._tasks_within(amounts, int(users[k]), self.fair_share[t])
            owed[k] = np.floor(min(room, self.waiting[users[k]]))
            amounts += owed[k] * self.parts[users[k]]
        if len(order):
            first = order[0]
            room = self._tasks_within(amounts, int(users[first]), self.fair_share[t])
            waiting = self.waiting[users[first]] - owed[first]
            owed[first] += min(room, waiting, 1 - AUDIT) if room > AUDIT else 0.0
        return owed

    def _tasks_within(self, amounts: np.ndarray, n: int, share: float) -> float:
        """Return how many tasks of a user bring amounts to a dominant share; at least 0."""
        demanded = self.parts[n] > 0
        tasks = ((share - amounts[demanded]) / self.parts[n, demanded]).min()
        size = share / self.parts[n].max()
        return max(float(to_whole(tasks, size)), 0.0)

    @cached_property
    def owed_whole(self) -> np.ndarray:
        """Whole tasks of each user that its tenant is short of."""
        return np.asarray(np.floor(self.owed).astype(int))

    @cached_property
    def missing_share(self) -> np.ndarray:
        """Dominant share of the tasks that each tenant is owed."""
        return self.tenants.sums(self.owed * self.parts.max(axis=1))

    @cached_property
    def short(self) -> np.ndarray:
        """Positions of the tenants short of a whole task, those that lack most first.

        A tenant that shares with no other is short of nothing: no one else has what it lacks.
        """
        if len(self.tenants.names) < 2:
            return np.zeros(0, dtype=int)
        is_short = self.tenants.sums(self.owed_whole) > 0
        order = largest_first(self.missing_share)
        return np.asarray(order[is_short[order]])
