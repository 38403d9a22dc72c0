"""Dues: the fair allocation of a cluster, beside what its users have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairlp import Allocation, Instance, Mechanism, allocate

from ..readers.volcano import CAPACITY, PROPORTION
from .facts import Facts, mechanism_or_default
from .jobs import WaitingJob, jobs_that_wait
from .tenants import TenantShares


@dataclass(frozen=True, eq=False)
class Dues:
    """Facts, and the fair allocation beside them."""

    facts: Facts
    fair: Allocation

    @classmethod
    def of(cls, facts: Facts, mechanism: str | Mechanism | None = None, **options: Any) -> Dues:
        """Return what is due under a mechanism.

        In a dump, tasks that fit no server are left out: they are due to no user.
        """
        if facts.scheduler:
            options = {"oversized": "drop", **options}
        instance = facts.instance
        if facts.no_fair_sharing and mechanism is None:
            instance = _without_borrowing(instance)
        fair = allocate(instance, mechanism_or_default(instance, mechanism), **options)
        # of users who arrive: after the last step
        return cls(facts, getattr(fair, "last", fair))

    @property
    def instance(self) -> Instance:
        """The instance with the whole capacity."""
        return self.facts.instance

    @property
    def tasks(self) -> np.ndarray:
        """The tasks that run now, or those of the mechanism where no running tasks are known."""
        return self.fair.tasks_array if self.facts.tasks is None else self.facts.tasks

    @property
    def allocation(self) -> Allocation:
        """The allocation of these tasks."""
        return self.facts.observed or self.fair

    @cached_property
    def has(self) -> np.ndarray:
        """Tasks that each user has."""
        return np.asarray(self.tasks.sum(axis=1))

    @cached_property
    def fair_tasks(self) -> np.ndarray:
        """Tasks that are fair for each user."""
        return np.asarray(self.fair.tasks_array.sum(axis=1))

    @cached_property
    def waiting(self) -> np.ndarray:
        """Tasks of each user that wait."""
        if self.facts.tasks is not None:
            return self.facts.waiting
        return np.asarray(np.maximum(self.facts.waiting - self.has, 0.0))

    @cached_property
    def waiting_jobs(self) -> list[WaitingJob]:
        """The jobs that wait."""
        if self.facts.tasks is not None:
            return self.facts.waiting_jobs
        return jobs_that_wait(self.instance, self.waiting)

    @cached_property
    def share_of_a_task(self) -> np.ndarray:
        """Dominant share of one task of each user."""
        return np.asarray((self.instance.demands / self.instance.pool).max(axis=1))

    @cached_property
    def shares(self) -> TenantShares:
        """The shares of tenants, of which the users are parts."""
        return TenantShares(
            self.instance,
            self.facts.tenants,
            self.has,
            self.fair_tasks,
            self.waiting,
            self.waiting_jobs,
            by_resource=self.facts.plugin in (CAPACITY, PROPORTION),
        )


def _without_borrowing(instance: Instance) -> Instance:
    """Return the instance in which no queue borrows: what quotas promise without fair sharing."""
    tree = instance.tree
    if tree.quotas is None:
        return instance
    nominal, borrowing, lending = tree.quotas.amounts
    limits = np.where(tree.quotas.listed, 0.0, borrowing)
    quotas = replace(tree.quotas, amounts=np.array([nominal, limits, lending]))
    return instance.derived(queues=replace(tree, quotas=quotas))
