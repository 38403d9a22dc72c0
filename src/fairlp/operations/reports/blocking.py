"""Obstacles: why users who wait run no more tasks, and which users hold the resource or cap."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ... import Instance
from ...models.instances.arithmetic import effort, largest_first, tasks_alone
from ...models.instances.queues import Queues
from ...models.trees.quotas import QuotaTree, usage_of
from ...tolerances import AUDIT, SATURATED


class Obstacle(NamedTuple):
    """The reason that a user runs no more tasks.

    Attributes
    ----------
    kind : str
        ``resource`` (no server where a task fits has enough of it free), ``cap`` (of a queue),
        ``room`` (nothing stops the user: a task fits on a server) or ``nowhere`` (no server could
        ever take a task).
    resource : int
        Position of the resource; -1 where the obstacle is none.
    servers : ndarray of int
        Positions of the servers that are short of that resource, or that have room.
    nearest : int
        The server that lacks least, or has most room; -1 for none.
    queue : int
        The queue whose cap it is; -1 for none.
    """

    kind: str
    resource: int
    servers: np.ndarray
    nearest: int = -1
    queue: int = -1


_NO_SERVERS = np.zeros(0, dtype=int)


class Blocking:
    """The obstacles of users, for given tasks of all.

    Parameters
    ----------
    instance : Instance
    tasks : ndarray, shape (N, K)
    whole : bool
        Whether a task needs all of its demands free on one server (else any part of a task counts).
    """

    def __init__(self, instance: Instance, tasks: np.ndarray, *, whole: bool) -> None:
        self.instance = instance
        self.tasks = tasks
        self.whole = whole
        needs = effort(instance)
        used = (tasks if needs is None else tasks * needs).T @ instance.demands
        capacity = instance.total_capacities
        free = capacity - used
        self.free = np.where(free > SATURATED * capacity, free, 0.0)
        self.sparse_tasks = sparse.csr_array(tasks)

    @cached_property
    def _runnable(self) -> np.ndarray:
        return self.instance.runnable()

    @cached_property
    def _use_of_queues(self) -> np.ndarray:
        """Amounts that users below each queue have, queues × resources."""
        amounts = self.tasks.sum(axis=1)[:, None] * self.instance.demands
        return np.asarray(self.instance.tree.below @ amounts)

    def of(self, n: int) -> Obstacle:
        """Return the obstacle of a user: a cap, no server at all, room, or a resource."""
        demand = self.instance.demands[n]
        cap = self._cap(n, demand)
        if cap is not None:
            return cap

        # Servers that could ever take a task
        servers, alone = self._servers_of(n)
        if not servers.size:
            return Obstacle("nowhere", -1, _NO_SERVERS)

        # Tasks that fit beside those that run
        demanded = np.flatnonzero(demand > 0)
        tasks_by_resource = self.free[np.ix_(servers, demanded)] / demand[demanded]
        free_tasks = tasks_by_resource.min(axis=1)
        if self.whole:
            has_room = free_tasks >= 1 - AUDIT
        else:
            has_room = free_tasks > AUDIT * (alone * self.instance.counts[servers])
        if has_room.any():
            roomiest = int(servers[has_room][free_tasks[has_room].argmax()])
            return Obstacle("room", -1, servers[has_room], roomiest)

        # The resource that is the scarcest on most servers
        scarcest = demanded[tasks_by_resource.argmin(axis=1)]
        counts = self.instance.counts[servers]
        servers_short = np.bincount(scarcest, weights=counts, minlength=len(demand))
        r = int(servers_short.argmax())
        short = scarcest == r
        nearest = int(servers[short][free_tasks[short].argmax()])
        return Obstacle("resource", r, servers[short], nearest)

    def with_tasks(self, n: int, servers: np.ndarray, tasks: np.ndarray) -> Blocking:
        """Return the obstacles beside so many more tasks of a user on these servers."""
        if not tasks.any():
            return self
        changed = copy(self)
        changed.tasks = self.tasks.copy()
        changed.tasks[n, servers] += tasks
        changed.free = self.free.copy()
        changed.free[servers] -= tasks[:, None] * self.instance.demands[n]
        for name in ("_use_of_queues", "_quota_use"):
            changed.__dict__.pop(name, None)
        return changed

    def servers_of(self, n: int) -> np.ndarray:
        """Return the servers that could ever take a task of a user."""
        return self._servers_of(n)[0]

    def _servers_of(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the servers that could take a task of a user, and how many each could."""
        servers = np.flatnonzero(self._runnable[n])
        demand = self.instance.demands[n]
        alone = tasks_alone(demand[None, :], self.instance.capacities[servers])[0]
        if not self.whole:
            return servers, alone
        is_enough = alone >= 1 - AUDIT
        return servers[is_enough], alone[is_enough]

    def fitting(self, n: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return servers, and how many whole tasks each has room for now, ``count`` at most.

        Servers with most room come first; caps and quotas of queues count.
        """
        demand = self.instance.demands[n]
        demanded = demand > 0
        servers = self.servers_of(n)
        room = (self.free[servers][:, demanded] / demand[demanded]).min(axis=1)
        tasks = np.floor(room + AUDIT * np.maximum(room, 1.0)).astype(int)
        order = largest_first(tasks)
        before = np.cumsum(tasks[order]) - tasks[order]

        # The most that queues allow, by bisection
        largest_count = min(count, int(tasks.sum()))
        fitting_count = 0
        while fitting_count < largest_count:
            middle = (fitting_count + largest_count + 1) // 2
            if self._cap(n, demand, middle) is None:
                fitting_count = middle
            else:
                largest_count = middle - 1
        tasks[order] = np.clip(largest_count - before, 0, tasks[order])
        return servers, tasks

    def below(self, cap: Obstacle) -> tuple[np.ndarray, np.ndarray]:
        """Return what is free below a cap or quota, and the tasks there, as of one server.

        Shapes (1, R), of which resources other than the cap's have no limit, and (N, 1).
        """
        tree = self.instance.tree
        r = cap.resource
        remaining = tree.caps[cap.queue, r] - self._use_of_queues[cap.queue, r]
        if not np.isfinite(remaining) and tree.quotas is not None:
            quota_tree, used = self._quota_use
            columns = tree.quotas.resource == r
            limits = quota_tree.limits[cap.queue, columns]
            remaining = (limits - used[cap.queue, columns]).sum()
        free = np.full((1, len(self.instance.resources)), np.inf)
        free[0, r] = remaining  # negative where more is in use than the limit
        tasks = self.tasks.sum(axis=1) * tree.users_below(cap.queue)
        return free, tasks[:, None]

    def loans(self, quota: Obstacle) -> tuple[dict[int, float], dict[int, float]]:
        """Return how much of a resource queues below a quota lend and borrow, largest first.

        Of queues that have a quota of it and that users stand in, by position.
        """
        tree = self.instance.tree
        quota_tree, used = self._quota_use
        if tree.quotas is None:
            return {}, {}
        columns = tree.quotas.resource == quota.resource
        owned = quota_tree.owned[: len(tree), columns].sum(axis=1)
        in_use = used[: len(tree), columns].sum(axis=1)
        has_users = np.bincount(tree.of, minlength=len(tree)) > 0
        is_listed = tree.quotas.listed[:, columns].any(axis=1)
        is_below = np.array([quota.queue in tree.chain(v) for v in range(len(tree))])
        counts = is_below & (has_users | is_listed)
        counts[np.unique(tree.parents[1:])] = False
        lent = np.where(counts, owned - in_use, 0.0)
        rounding = AUDIT * np.maximum(owned, in_use)
        lent[abs(lent) <= rounding] = 0.0
        order = largest_first(lent)
        lenders = {int(v): float(lent[v]) for v in order if lent[v] > 0}
        order = largest_first(-lent)
        borrowers = {int(v): float(-lent[v]) for v in order if lent[v] < 0}
        return lenders, borrowers

    @cached_property
    def _quota_use(self) -> tuple[QuotaTree, np.ndarray]:
        """The tree of quotas, and the use of each."""
        return usage_of(self.instance, self.tasks)

    def _quota(self, n: int, queues: Queues, resource: np.ndarray, count: int) -> Obstacle | None:
        """Return the lowest queue above a user whose quotas leave no room in any of its lanes.

        What the queue may borrow counts as room.
        """
        tree, used = self._quota_use
        obstacles = []
        for use in tree.lanes.use[tree.lanes.user == n]:
            step = use * count
            if not self.whole:
                noticeable = 2 * AUDIT * np.maximum(tree.limits[0], used[0])
                step = noticeable * (use > 0)
            for v in queues.chain(int(queues.of[n])):
                exceeds = used[v] + step > tree.limits[v] * (1 + AUDIT)
                is_over = (step > 0) & exceeds
                if is_over.any():
                    r = int(resource[is_over.argmax()])
                    obstacles.append(Obstacle("cap", r, _NO_SERVERS, queue=v))
                    break
                # the part within the queue's own quota asks nothing of the queues above
                is_beyond_quota = used[v] + step > tree.reserved[v] * (1 + AUDIT)
                step = np.where(is_beyond_quota, step, 0.0)
            else:
                return None
        return obstacles[0] if obstacles else None

    def _cap(self, n: int, demand: np.ndarray, count: int = 1) -> Obstacle | None:
        """Return the lowest queue above a user whose cap leaves no room for so many tasks.

        Where parts of tasks count, a cap that leaves no part counts.
        """
        queues = self.instance.tree
        for v in queues.chain(int(queues.of[n])):
            caps = queues.caps[v]
            # A full cap leaves no part of a task, but for rounding.
            step = demand * count if self.whole else 2 * AUDIT * caps
            is_over = (demand > 0) & (self._use_of_queues[v] + step > caps * (1 + AUDIT))
            if is_over.any():
                return Obstacle("cap", int(is_over.argmax()), _NO_SERVERS, queue=v)
        if queues.quotas is None:
            return None
        return self._quota(n, queues, queues.quotas.resource, count)

    def amounts_held(self, resource: int, servers: np.ndarray) -> np.ndarray:
        """Return how much of a resource each user holds on these servers, shape (N,)."""
        on_servers = np.zeros(self.tasks.shape[1])
        on_servers[servers] = 1.0
        tasks = self.sparse_tasks @ on_servers
        return np.asarray(tasks * self.instance.demands[:, resource])
