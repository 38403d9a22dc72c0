"""A discrete-event simulation of whole tasks on servers: users submit jobs, a policy decides, tasks end.

At every instant all tasks that end are ended and all jobs that arrive are queued; then, as long as something fits, the
user with the smallest weighted global dominant share (for slots: the fewest slots per weight) runs the next task of its
oldest job. A user whose next task fits nowhere waits until room is made where it fits; a job whose tasks fit no server
even when it is empty is refused when it comes. Amounts are whole numbers, so that nothing is ever over capacity by
rounding, and shares compare exactly.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..models.eligibility import resolve
from ..models.errors import InstanceError, UnknownNameError, nearest
from ..models.exact import integers, whole, whole_table
from ..models.instance import Instance
from ..solvers.combinatorial.placement import POLICIES, SLOTS, Servers
from .workload import Workload


@dataclass
class Log:
    """What is written down while the simulation runs: samples, and what became of jobs."""

    times: list[float] = field(default_factory=list)
    used: list[np.ndarray] = field(default_factory=list)
    shares: list[np.ndarray] = field(default_factory=list)
    waiting: list[np.ndarray] = field(default_factory=list)
    running: list[np.ndarray] = field(default_factory=list)


class Engine:
    """The state of a simulation; everything that a resumed run needs is in its attributes.

    Parameters
    ----------
    cluster : Instance
        The servers (its users are not used), with weights by label in ``weights``.
    workload : Workload
    policy : {"first-fit", "best-fit", "slots"}
    weights : dict
        User → weight, 1 where it is not given.
    slots : int
    every : float
        Seconds between samples.
    """

    def __init__(
        self,
        cluster: Instance,
        workload: Workload,
        policy: str,
        *,
        weights: dict[Any, float] | None = None,
        slots: int = SLOTS,
        every: float = 60.0,
    ) -> None:
        if policy not in POLICIES:
            raise UnknownNameError(f"no policy is called {policy!r}; {nearest(policy, POLICIES)}")
        unknown = [r for r in workload.resources if r not in cluster.resources]
        if unknown:
            raise InstanceError(
                f"jobs demand {unknown[0]!r}, which is in no server; resources: {list(cluster.resources)}"
            )
        jobs = workload.jobs
        demands = np.zeros((len(jobs), len(cluster.resources)))
        for k, resource in enumerate(cluster.resources):
            if resource in workload.resources:
                demands[:, k] = jobs[resource]
        self.policy, self.every = policy, every
        kinds, self.kind = np.unique(demands, axis=0, return_inverse=True)  # jobs of one demand share its arrays
        self.kind = self.kind.reshape(-1)
        table, capacities = whole_table(kinds, cluster.capacities)
        cut = slots if policy == "slots" else None
        self.servers = Servers.empty(table, capacities, cluster.counts, slots=cut)
        self.vacant = Servers.empty(table, capacities, cluster.counts, slots=cut)
        self.capacity = self.vacant.free
        self.refused: list[int] = []
        self.eligible = _eligible(workload, cluster)
        number = {user: u for u, user in enumerate(workload.users)}
        self.user = np.array([number[user] for user in jobs["user"]])
        self.arrival, self.duration = jobs["arrival"].to_numpy(), jobs["duration"].to_numpy()
        self.tasks = jobs["tasks"].to_numpy()
        users = len(workload.users)
        phi = whole(np.array([float((weights or {}).get(user, 1.0)) for user in workload.users]))
        if (phi <= 0).any():
            raise InstanceError(f"user {workload.users[int((phi <= 0).argmax())]!r} has a weight of 0 or below")
        self.step, self.unit = _shares(table, capacities, cluster.counts)
        if self.vacant.slots is not None:
            self.step, self.unit = [[1] for _ in table], int(self.vacant.slots.sum())
        weight = [int(value) for value in integers(phi)]
        self.inverse = [math.lcm(*weight) // one for one in weight]
        self.share: list[int] = [0] * users
        self.usage = [[0] * len(self.step[0]) for _ in range(users)]
        self.pending: list[deque[int]] = [deque() for _ in range(users)]
        self.left = np.zeros(len(jobs), dtype=np.int64)  # tasks not yet started
        self.open = self.tasks.copy()  # tasks not yet ended
        self.start = np.full(len(jobs), np.nan)
        self.finish = np.full(len(jobs), np.nan)
        self.queued = np.zeros(users, dtype=np.int64)
        self.active = np.zeros(users, dtype=np.int64)
        self.done = np.zeros(users, dtype=np.int64)
        self.blocked: set[int] = set()
        self.events: list[tuple[float, int, int, int]] = []
        self.next_job = 0
        self.sequence = 0
        self.now = 0.0
        self.next_sample = 0.0
        self.decisions = 0
        self.log = Log()

    def run(self, until: float, most_decisions: int | None = None) -> bool:
        """Go on until that time (or that many more decisions); return whether the end was reached."""
        stop = math.inf if most_decisions is None else self.decisions + most_decisions
        while self.decisions < stop:
            following = self._next_time()
            if following > until or following == math.inf:
                self.now = until if until < math.inf else self.now
                self._sample(self.now, closed=True)
                return True
            self._sample(following)
            self.now = following
            freed = self._end_tasks()
            self._queue_jobs()
            self._schedule(freed)
        return False

    def _next_time(self) -> float:
        """Return when something happens next."""
        end = self.events[0][0] if self.events else math.inf
        begin = float(self.arrival[self.next_job]) if self.next_job < len(self.arrival) else math.inf
        return min(end, begin)

    def _end_tasks(self) -> set[int]:
        """End the tasks that end now; return the servers that have more room."""
        freed: set[int] = set()
        while self.events and self.events[0][0] == self.now:
            _, _, server, job = heapq.heappop(self.events)
            kind, user = int(self.kind[job]), int(self.user[job])
            self.servers.take(kind, server, -1)
            self._charge(user, kind, -1)
            self.active[user] -= 1
            self.done[user] += 1
            self.open[job] -= 1
            if self.open[job] == 0:
                self.finish[job] = self.now
            freed.add(server)
        return freed

    def _queue_jobs(self) -> None:
        """Queue the jobs that arrive now."""
        while self.next_job < len(self.arrival) and self.arrival[self.next_job] == self.now:
            job = self.next_job
            self.next_job += 1
            if self.tasks[job] == 0:
                self.start[job] = self.finish[job] = self.now
                continue
            if not self._fits(self.vacant, job).any():
                self.refused.append(job)
                continue
            user = int(self.user[job])
            self.left[job] = self.tasks[job]
            self.queued[user] += self.tasks[job]
            self.pending[user].append(job)
            if len(self.pending[user]) == 1:
                self.blocked.discard(user)

    def _schedule(self, freed: set[int]) -> None:
        """Run tasks as long as something fits: the smallest share first, the first in order among equals."""
        room = np.array(sorted(freed), dtype=np.int64)
        # who was blocked can fit only where room was made, and its next task of the same job too
        among = dict.fromkeys(self._unblock(room), room)
        heap = [(self.share[u], u) for u in range(len(self.pending)) if self.pending[u] and u not in self.blocked]
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
        if self.left[job] == self.tasks[job]:
            self.start[job] = self.now
        self.left[job] -= 1
        if self.left[job] == 0:
            self.pending[user].popleft()
        self.sequence += 1
        heapq.heappush(self.events, (self.now + float(self.duration[job]), self.sequence, server, job))

    def _choose(self, job: int, among: np.ndarray | None) -> int:
        """Return the server for the job's next task (one of ``among``, if given), −1 where none fits."""
        kind = int(self.kind[job])
        if among is None:
            where = np.flatnonzero(self._fits(self.servers, job))
        else:
            where = among[self._fits(self.servers, job, among)]
        if not where.size:
            return -1
        if self.policy != "best-fit" or where.size == 1:
            return int(where[0])
        return int(where[self.servers.shape_distance(kind, where).argmin()])

    def _fits(self, servers: Servers, job: int, where: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return where a task of the job fits, on these servers, as they are or all vacant; bool."""
        fits = servers.fits(int(self.kind[job]), where)
        if self.eligible is not None and (allowed := self.eligible[job]) is not None:
            fits &= allowed[servers.row[where]]
        return fits

    def _unblock(self, room: np.ndarray) -> list[int]:
        """Return the blocked users whose next task fits where room was made: nowhere else is more than before."""
        if not room.size or not self.blocked:
            return []
        users = sorted(self.blocked)
        heads = [self.pending[user][0] for user in users]
        needs = self.servers.demands[self.kind[heads]]
        found = []
        for server in room.tolist():
            if self.servers.slots is not None and self.servers.slots[server] < 1:
                continue
            fits = np.asarray((needs <= self.servers.free[server]).all(axis=1), dtype=bool)
            for k in np.flatnonzero(fits).tolist():
                allowed = self.eligible[heads[k]] if self.eligible is not None else None
                if allowed is None or allowed[self.servers.row[server]]:
                    found.append(users[k])
        self.blocked.difference_update(found)
        return found

    def _charge(self, user: int, kind: int, tasks: int) -> None:
        """Add tasks to what the user holds, and update its share."""
        usage = self.usage[user]
        for r, amount in enumerate(self.step[kind]):
            usage[r] += tasks * amount
        # parts of the pool in one unit, times the weights' common multiple over the weight: whole numbers that compare
        self.share[user] = max(usage) * self.inverse[user]

    def _sample(self, until: float, closed: bool = False) -> None:
        """Write down the state at every sample time before ``until`` (and at it): nothing changed since."""
        while self.next_sample < until or (closed and self.next_sample <= until):
            total = self.capacity.sum(axis=0)
            used = np.array([float(a) for a in (self.capacity - self.servers.free).sum(axis=0)])
            self.log.times.append(self.next_sample)
            self.log.used.append(np.divide(used, total.astype(float), out=np.zeros(len(used)), where=total > 0))
            self.log.waiting.append(self.queued.copy())
            self.log.running.append(self.active.copy())
            self.log.shares.append(np.array([max(usage) / self.unit for usage in self.usage]))
            self.next_sample += self.every


def _shares(demands: np.ndarray, capacities: np.ndarray, counts: np.ndarray) -> tuple[list[list[int]], int]:
    """Return what one task of each kind adds to its user's amounts, and the unit: all of a resource."""
    pool = [int(total) for total in integers(capacities).T @ counts.astype(object)]
    common = math.lcm(*(total for total in pool if total))
    steps = [
        [int(amount) * (common // total) if total else 0 for amount, total in zip(row, pool, strict=True)]
        for row in integers(demands)
    ]
    return steps, common


def _eligible(workload: Workload, cluster: Instance) -> list[np.ndarray | None] | None:
    """Return for each job the rows of servers where it may run; None where that is everywhere."""
    if "eligible" not in workload.jobs.columns:
        return None
    given = [
        None if condition is None or condition != condition else condition for condition in workload.jobs["eligible"]
    ]
    known: dict[Any, np.ndarray | None] = {None: None}
    for condition in dict.fromkeys(given):
        if condition is not None:
            one = cluster.users.labels[:1]
            allowed, _ = resolve(
                [condition],
                type(cluster.users)("n", one, "user"),
                cluster.servers,
                cluster.capacities,
                cluster.resources,
                cluster.server_attributes,
            )
            known[condition] = None if allowed is None else allowed[0]
    return [known[condition] for condition in given]
