"""What would let a user run the tasks that it is owed: room that is there, and tasks that would go."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ...models.instances.arithmetic import largest_first
from ...tolerances import AUDIT
from .blocking import Obstacle
from .share_comparison import ShareComparison
from .tenants import to_whole

#: So many tasks are looked at that would go; a list of more is of no use.
MOST_PREEMPTED = 2000


@dataclass(frozen=True)
class Remedy:
    """How a user could run the tasks that it is owed.

    Attributes
    ----------
    fitting : int
        Tasks that fit now, beside what runs.
    server : int
        The server that most of them fit on; -1 where none does.
    obstacle : Obstacle or None
        Of the next task; None where all fit.
    preempted : dict of {int: int}
        Tasks of each tenant, by position, that would go for the others: of tenants beyond their
        fair shares, none of which falls below it.
    freed : int
        Tasks that fit once those have gone.
    """

    fitting: int
    server: int
    obstacle: Obstacle | None
    preempted: dict[int, int] = field(default_factory=dict)
    freed: int = 0


def remedy(comparison: ShareComparison, n: int, count: int) -> Remedy:
    """Return how user ``n`` could run ``count`` more tasks; O(tasks that go × (N + K)·R)."""
    blocking = comparison.blocking
    servers, tasks = blocking.fitting(n, count)
    fitting = int(tasks.sum())
    server = int(servers[tasks.argmax()]) if fitting else -1
    if fitting == count:
        return Remedy(fitting, server, None)
    obstacle = blocking.of(n, more=fitting)
    if obstacle.kind not in ("cap", "resource") or comparison.instance.has_rates:
        return Remedy(fitting, server, obstacle)

    demand = comparison.instance.demands[n]
    if obstacle.kind == "cap":
        free, running = blocking.below(obstacle)
        demand = np.where(np.arange(len(demand)) == obstacle.resource, demand, 0.0)
    else:
        free = blocking.free[servers] - tasks[:, None] * demand
        running = comparison.tasks[:, servers]
    preemption = _Preemption(comparison, int(comparison.subject.tenants.of[n]))
    freed = preemption.make_room(free, running, demand, count - fitting)
    return Remedy(fitting, server, obstacle, dict(preemption.tasks.most_common()), freed)


class _Preemption:
    """Tasks that go, one at a time: of the tenant that is furthest beyond its fair share.

    Parameters
    ----------
    comparison : ShareComparison
    tenant : int
        The tenant that they make room for.
    """

    def __init__(self, comparison: ShareComparison, tenant: int) -> None:
        self.shares = comparison.tenant_shares
        self.demands = comparison.instance.demands
        self.tenants = comparison.subject.tenants
        self.tenant = tenant
        #: What tenants still have, as parts of the pool.
        self.amounts = self.shares.amounts.copy()
        self.tasks: Counter[int] = Counter()

    def make_room(
        self, free: np.ndarray, running: np.ndarray, demand: np.ndarray, count: int
    ) -> int:
        """Return how many of ``count`` tasks fit on servers, once others have gone from there.

        ``free`` has a row for each server, ``running`` a column.
        """
        demanded = demand > 0
        placed = 0
        for s in largest_first((free[:, demanded] / demand[demanded]).min(axis=1)):
            tasks_here = np.floor(to_whole(running[:, s], running[:, s])).astype(int)
            free_here = free[s]
            while placed < count and self.tasks.total() < MOST_PREEMPTED:
                leaving = self._leaving(free_here, tasks_here, demand)
                if leaving is None:
                    break
                for m in leaving:
                    tasks_here[m] -= 1
                    free_here = free_here + self.demands[m]
                    self._take(m)
                    self.tasks[int(self.tenants.of[m])] += 1
                free_here = free_here - demand
                placed += 1
        return placed

    def _leaving(self, free: np.ndarray, tasks: np.ndarray, demand: np.ndarray) -> list[int] | None:
        """Return users of whom a task each has to go for one task to fit; None where that is not enough."""
        amounts = self.amounts.copy()
        remaining = tasks.copy()
        leaving: list[int] = []
        while True:
            short = free < demand * (1 - AUDIT)
            if not short.any():
                self.amounts = amounts
                return leaving
            m = self._next(remaining, short)
            if m is None:
                self.amounts = amounts
                return None
            leaving.append(m)
            remaining[m] -= 1
            free = free + self.demands[m]
            self._take(m)

    def _take(self, m: int) -> None:
        """Take a task of a user from what its tenant has."""
        self.amounts[self.tenants.of[m]] -= self.shares.parts[m]

    def _next(self, tasks: np.ndarray, short: np.ndarray) -> int | None:
        """Return the user whose task goes next: of the tenant that is furthest beyond its fair share."""
        users = np.flatnonzero((tasks > 0) & (self.demands[:, short] > 0).any(axis=1))
        of = self.tenants.of[users]
        after = (self.amounts[of] - self.shares.parts[users]).max(axis=1)
        fair = self.shares.fair_share[of]
        may_go = (of != self.tenant) & (after >= fair * (1 - AUDIT))
        if not may_go.any():
            return None
        beyond = np.where(may_go, self.amounts[of].max(axis=1) - fair, -np.inf)
        return int(users[beyond.argmax()])
