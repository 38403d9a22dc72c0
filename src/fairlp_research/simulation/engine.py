"""A discrete-event simulation of whole tasks on servers, under a policy.

At every instant all tasks that end are ended and all jobs that arrive are queued; then, as long as
something fits, the user with the smallest weighted global dominant share (for slots: the fewest
slots per weight) runs the next task of its oldest job. A user whose next task fits nowhere waits
until room is made where it fits; a job whose tasks fit no server even when it is empty is refused
when it comes. Amounts are whole numbers, so that nothing is ever over capacity by rounding, and
shares compare exactly.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import Any

import numpy as np

from fairlp import Instance, mechanisms
from fairlp.errors import InstanceError, quoted
from fairlp.toolkit import quotients, whole_table

from .base import Sample, Simulation
from .workload import Workload

#: Whole numbers as Python integers, which have no bound (dtype object).
integers = np.vectorize(int, otypes=[object])


class Engine(Simulation):
    """Whole tasks on single servers.

    Parameters
    ----------
    cluster, workload, weights, every
        As for :class:`Simulation`.
    policy : {"first-fit", "best-fit", "slots"}
    slots : int
        Slots of the largest server, for ``slots``.
    """

    def __init__(
        self,
        cluster: Instance,
        workload: Workload,
        policy: str,
        *,
        slots: int = mechanisms.SLOTS,
        **common: Any,
    ) -> None:
        slots_per_server = slots if policy == "slots" else None
        super().__init__(cluster, workload, policy, slots=slots_per_server, **common)
        jobs = len(self.tasks)
        users = len(self.weights)
        self.servers = mechanisms.Servers.empty(
            self.table, self.capacities, self.counts, slots=slots_per_server
        )
        self.capacity = self.vacant.free
        self.pool = self.capacity.sum(axis=0).astype(float)
        self.step, self.unit = _shares(self.table, self.capacities, self.counts)
        if self.vacant.slots is not None:
            if not self.vacant.slots.any():
                raise InstanceError(
                    f"no server has a slot: the largest amounts of resources are cut into {slots} "
                    "slots, and server "
                    f"{quoted(cluster.servers[0])} has less than one of some resource, as all have; take "
                    "more slots, or "
                    "another policy"
                )
            self.step, self.unit = [[1] for _ in self.table], int(self.vacant.slots.sum())
        weight = integers(whole_table(self.weights[:, None], np.zeros((0, 1)))[0]).ravel().tolist()
        self.inverse = [math.lcm(*weight) // user_weight for user_weight in weight]
        self.share: list[int] = [0] * users
        self.amounts = [[0] * len(self.step[0]) for _ in range(users)]
        self.pending: list[deque[int]] = [deque() for _ in range(users)]
        self.tasks_waiting = np.zeros(jobs, dtype=np.int64)  # tasks not yet started
        self.open = np.zeros(jobs, dtype=np.int64)  # tasks not yet ended
        self.queued = np.zeros(users, dtype=np.int64)
        self.active = np.zeros(users, dtype=np.int64)
        self.tasks_ended = np.zeros(users, dtype=np.int64)
        self.blocked: set[int] = set()
        self.events: list[tuple[float, int, int, int]] = []
        self.sequence = 0

    def completed(self) -> np.ndarray:
        """Return the tasks of each user that have ended."""
        return self.tasks_ended

    def next_change(self) -> float:
        """Return when the next task ends."""
        return self.events[0][0] if self.events else math.inf

    def proceed(self, to: float) -> None:
        """Let time pass: tasks run on."""

    def happen(self) -> None:
        """End the tasks that end now, queue the jobs that arrive, and start what fits."""
        freed = self._end_tasks()
        for job in self.arrivals():
            user = int(self.user[job])
            self.tasks_waiting[job] = self.open[job] = self.tasks[job]
            self.queued[user] += self.tasks[job]
            self.pending[user].append(job)
            if len(self.pending[user]) == 1:
                self.blocked.discard(user)
        self._schedule(freed)

    def observe(self) -> Sample:
        """Return what runs where, and what waits."""
        used = (self.capacity - self.servers.free).sum(axis=0).astype(float)
        arrived = slice(self.next_job)
        return Sample(
            used=quotients(used, self.pool),
            usage=self.usage(self.open[arrived] - self.tasks_waiting[arrived], arrived),
            shares=np.array([max(amounts) / self.unit for amounts in self.amounts]),
            waiting=self.queued.copy(),
            running=self.active.copy(),
        )

    def _end_tasks(self) -> set[int]:
        """End the tasks that end now; return the servers that have more room."""
        freed = set()
        while self.events and self.events[0][0] == self.now:
            _, _, server, job = heapq.heappop(self.events)
            kind = int(self.kind[job])
            user = int(self.user[job])
            self.servers.take(kind, server, -1)
            self._charge(user, kind, -1)
            self.active[user] -= 1
            self.tasks_ended[user] += 1
            self.open[job] -= 1
            if self.open[job] == 0:
                self.finish[job] = self.now
            freed.add(server)
        return freed

    def _schedule(self, freed: set[int]) -> None:
        """Run tasks as long as one fits: the smallest share first, then the order of users."""
        room = np.array(sorted(freed), dtype=np.int64)
        # who was blocked can fit only where room was made, and its next task of the same job too
        among = dict.fromkeys(self._unblock(room), room)
        heap = [
            (self.share[u], u)
            for u in range(len(self.pending))
            if self.pending[u] and u not in self.blocked
        ]
        heapq.heapify(heap)
        while heap:
            _, user = heap[0]
            job = self.pending[user][0]
            server = self._choose(job, among.get(user))
            self.decisions += 1
            if server < 0:
                self.blocked.add(user)
                heapq.heappop(heap)
                continue
            self._start(job, user, server)
            if not self.pending[user]:
                heapq.heappop(heap)
                continue
            if self.pending[user][0] != job:
                among.pop(user, None)
            heapq.heapreplace(heap, (self.share[user], user))

    def _start(self, job: int, user: int, server: int) -> None:
        kind = int(self.kind[job])
        self.servers.take(kind, server)
        self._charge(user, kind, 1)
        self.active[user] += 1
        self.queued[user] -= 1
        if self.tasks_waiting[job] == self.tasks[job]:
            self.start[job] = self.now
        self.tasks_waiting[job] -= 1
        if self.tasks_waiting[job] == 0:
            self.pending[user].popleft()
        self.sequence += 1
        heapq.heappush(
            self.events, (self.now + float(self.duration[job]), self.sequence, server, job)
        )

    def _choose(self, job: int, among: np.ndarray | None) -> int:
        """Return the server for the job's next task, −1 where none fits.

        With ``among``, it is one of those.
        """
        kind = int(self.kind[job])
        if among is None:
            where = np.flatnonzero(self.fits(self.servers, job))
        else:
            where = among[self.fits(self.servers, job, among)]
        if not where.size:
            return -1
        if self.policy != "best-fit" or where.size == 1:
            return int(where[0])
        return int(where[self.servers.shape_distance(kind, where).argmin()])

    def _unblock(self, room: np.ndarray) -> list[int]:
        """Return the blocked users whose next task fits on servers with new room.

        No other server has more than before.
        """
        if not room.size or not self.blocked:
            return []
        users = sorted(self.blocked)
        heads = [self.pending[user][0] for user in users]
        needs = self.servers.demands[self.kind[heads]]
        unblocked = []
        for server in room.tolist():
            if self.servers.slots is not None and self.servers.slots[server] < 1:
                continue
            fits = np.asarray((needs <= self.servers.free[server]).all(axis=1), dtype=bool)
            for k in np.flatnonzero(fits).tolist():
                allowed = self.eligible[heads[k]] if self.eligible is not None else None
                if allowed is None or allowed[self.servers.row[server]]:
                    unblocked.append(users[k])
        self.blocked.difference_update(unblocked)
        return unblocked

    def _charge(self, user: int, kind: int, tasks: int) -> None:
        """Add tasks to what the user holds, and update its share."""
        amounts = self.amounts[user]
        for r, amount in enumerate(self.step[kind]):
            amounts[r] += tasks * amount
        # parts of the pool in one unit, times the weights' common multiple over the weight: whole
        # numbers that compare
        self.share[user] = max(amounts) * self.inverse[user]


def _shares(
    demands: np.ndarray, capacities: np.ndarray, counts: np.ndarray
) -> tuple[list[list[int]], int]:
    """Return the amounts that one task of each kind adds, and their unit: all of a resource."""
    pool = (integers(capacities).T @ counts.astype(object)).tolist()
    common = math.lcm(*(total for total in pool if total))
    steps = [
        [
            amount * (common // total) if total else 0
            for amount, total in zip(row, pool, strict=True)
        ]
        for row in integers(demands).tolist()
    ]
    return steps, common
