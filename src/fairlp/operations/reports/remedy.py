"""How tenants could run the tasks that they are owed: room now, and tasks that would go."""

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
    """How a tenant could run the whole tasks that it is owed.

    Attributes
    ----------
    count : int
        The tasks that it is owed.
    fitting : int
        Those that fit now, beside what runs.
    server : int
        The server that most of them fit on; -1 where none does.
    user, obstacle : int and Obstacle, or -1 and None
        The first user of the tenant with a task that does not fit, and what stops it.
    preempted : dict of {int: int}
        Tasks of each tenant, by position, that would go for the others: of tenants beyond their
        fair shares, none of which falls below it.
    freed : int
        Tasks that fit once those have gone.
    """

    count: int
    fitting: int
    server: int
    user: int = -1
    obstacle: Obstacle | None = None
    preempted: dict[int, int] = field(default_factory=dict)
    freed: int = 0


def remedy(comparison: ShareComparison, t: int) -> Remedy:
    """Return how tenant ``t`` could run what it is owed; O(tasks that go × (N + K)·R)."""
    owed = comparison.tenant_shares.owed_whole
    users = comparison.subject.tenants.users[t]
    users = users[owed[users] > 0]
    users = users[largest_first((owed * comparison.share_of_a_task)[users])]
    count = int(owed[users].sum())

    # Tasks that fit beside those that run, one size after the other
    blocking = comparison.blocking
    by_server = np.zeros(comparison.tasks.shape[1], dtype=int)
    missing = []
    for n in users.tolist():
        servers, tasks = blocking.fitting(n, int(owed[n]))
        by_server[servers] += tasks
        blocking = blocking.with_tasks(n, servers, tasks)
        if tasks.sum() < owed[n]:
            missing.append((n, int(owed[n] - tasks.sum())))
    fitting = int(by_server.sum())
    server = int(by_server.argmax()) if fitting else -1
    if not missing:
        return Remedy(count, fitting, server)

    # Tasks that would go for the others
    first = missing[0][0]
    obstacle = blocking.of(first)
    if obstacle.kind not in ("cap", "resource") or comparison.instance.has_rates:
        return Remedy(count, fitting, server, first, obstacle)
    preemption = _Preemption(comparison, t)
    if obstacle.kind == "cap":
        free, running = blocking.below(obstacle)
        counts = np.arange(len(comparison.instance.resources)) == obstacle.resource
    else:
        free, running = blocking.free.copy(), comparison.tasks.copy()
        counts = np.ones(len(comparison.instance.resources), dtype=bool)
    freed = 0
    for n, tasks_missing in missing:
        servers = np.zeros(1, dtype=int) if obstacle.kind == "cap" else blocking.servers_of(n)
        demand = np.where(counts, comparison.instance.demands[n], 0.0)
        if not demand.any():  # another cap or resource stops this size
            continue
        freed += preemption.make_room(free, running, servers, demand, tasks_missing)
    preempted = dict(preemption.tasks.most_common())
    return Remedy(count, fitting, server, first, obstacle, preempted, freed)


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
        self,
        free: np.ndarray,
        running: np.ndarray,
        servers: np.ndarray,
        demand: np.ndarray,
        count: int,
    ) -> int:
        """Return how many of ``count`` tasks fit on servers, once others have gone from there.

        ``free`` has a row for each server, ``running`` a column; both change as tasks go and come.
        """
        demanded = demand > 0
        placed = 0
        room = (free[servers][:, demanded] / demand[demanded]).min(axis=1)
        for s in servers[largest_first(room)]:
            running_there = running[:, s]
            tasks = np.floor(to_whole(running_there, running_there)).astype(int)
            while placed < count and self.tasks.total() < MOST_PREEMPTED:
                leaving = self._leaving(free[s], tasks, demand)
                if leaving is None:
                    break
                for m in leaving:
                    tasks[m] -= 1
                    free[s] += self.demands[m]
                    self.amounts[self.tenants.of[m]] -= self.shares.parts[m]
                    self.tasks[int(self.tenants.of[m])] += 1
                free[s] -= demand
                placed += 1
            running[:, s] = tasks
        return placed

    def _leaving(self, free: np.ndarray, tasks: np.ndarray, demand: np.ndarray) -> list[int] | None:
        """Return users, a task of each of whom has to go for one task to fit.

        None where no such tasks are enough.
        """
        amounts = self.amounts.copy()
        remaining = tasks.copy()
        leaving: list[int] = []
        while True:
            short = free < demand * (1 - AUDIT)
            if not short.any():
                return leaving
            m = self._next(amounts, remaining, short)
            if m is None:
                return None
            leaving.append(m)
            remaining[m] -= 1
            free = free + self.demands[m]
            amounts[self.tenants.of[m]] -= self.shares.parts[m]

    def _next(self, amounts: np.ndarray, tasks: np.ndarray, short: np.ndarray) -> int | None:
        """Return the user whose task goes next, where tenants have these amounts.

        It is of the tenant that is furthest beyond its fair share.
        """
        uses_short = (self.demands[:, short] > 0).any(axis=1)
        users = np.flatnonzero((tasks > 0) & uses_short)
        of = self.tenants.of[users]
        after = (amounts[of] - self.shares.parts[users]).max(axis=1)
        fair = self.shares.fair_share[of]
        may_go = (of != self.tenant) & (after >= fair * (1 - AUDIT))
        if not may_go.any():
            return None
        beyond = np.where(may_go, amounts[of].max(axis=1) - fair, -np.inf)
        return int(users[beyond.argmax()])
