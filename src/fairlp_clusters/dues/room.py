"""Room: what is free beside given tasks, on servers and in queues, and where jobs have a place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

import fairlp
from fairlp import Instance
from fairlp.toolkit import tolerances

from .jobs import AUDIT, WaitingJob
from .packing import packed

#: So many choices of lanes, one for each user of the job, are tried.
_MOST_CHOICES = 64


class Obstacle(NamedTuple):
    """The reason that a job has no room.

    Attributes
    ----------
    kind : str
        ``resource`` (too little of it is free where its tasks could run), ``cap`` (of a queue), or
        ``nowhere`` (no servers could ever take them).
    resource, queue : int
        Their positions; -1 for none.
    """

    kind: str
    resource: int = -1
    queue: int = -1


class Placement(NamedTuple):
    """Tasks of a user on servers, which count in one lane of its quotas (-1: in none)."""

    user: int
    servers: np.ndarray
    tasks: np.ndarray
    lane: int = -1


@dataclass(frozen=True, eq=False)
class Room:
    """What is free beside given tasks.

    Attributes
    ----------
    instance : Instance
    runnable : ndarray of bool, shape (N, K)
    free : ndarray, shape (K, R)
    use : ndarray, shape (queues, R)
        Amounts that users below each queue have.
    lanes, lane_tasks : QuotaTree and ndarray
        The quotas, and the tasks of each of their lanes; None and empty without quotas.
    asleep : ndarray of bool, shape (K,)
        Servers that are taken last.
    pieces : mapping
        Of servers (by position) that stand for several machines, what is free on each: a task has
        to fit on one.
    """

    instance: Instance
    runnable: np.ndarray
    free: np.ndarray
    use: np.ndarray
    lanes: fairlp.queues.QuotaTree | None
    lane_tasks: np.ndarray
    asleep: np.ndarray
    pieces: Mapping[int, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        instance: Instance,
        tasks: np.ndarray,
        *,
        asleep: np.ndarray | None = None,
        taken: np.ndarray | float = 0.0,
        pieces: Mapping[int, np.ndarray] | None = None,
    ) -> Room:
        """Return the room beside tasks, shape (N, K), and amounts that are taken, shape (K, R)."""
        effort = instance.effort()
        used = (tasks if effort is None else tasks * effort).T @ instance.demands
        capacity = instance.total_capacities
        free = capacity - used - taken
        free = np.where(free > tolerances.SATURATED * capacity, free, 0.0)
        amounts = tasks.sum(axis=1)[:, None] * instance.demands
        lanes, lane_tasks = None, np.zeros(0)
        if instance.tree.quotas is not None:
            lanes, lane_tasks = fairlp.queues.lane_tasks(instance, tasks)
        return cls(
            instance,
            instance.runnable(),
            free,
            np.asarray(instance.tree.below @ amounts),
            lanes,
            lane_tasks,
            np.zeros(len(free), dtype=bool) if asleep is None else asleep,
            pieces or {},
        )

    def beside(self, placements: Sequence[Placement]) -> Room:
        """Return the room beside more tasks."""
        if not placements:
            return self
        free, use, lane_tasks = self.free.copy(), self.use.copy(), self.lane_tasks.copy()
        pieces = {i: machines.copy() for i, machines in self.pieces.items()}
        queues = self.instance.tree
        for n, servers, tasks, lane in placements:
            demand = self.instance.demands[n]
            free[servers] -= tasks[:, None] * demand
            use[list(queues.chain(int(queues.of[n])))] += tasks.sum() * demand
            if lane >= 0:
                lane_tasks[lane] += tasks.sum()
            for i, count in zip(servers.tolist(), tasks.tolist(), strict=True):
                if i in pieces:
                    _fill_machines(pieces[i], demand, int(count))
        return replace(self, free=free, use=use, lane_tasks=lane_tasks, pieces=pieces)

    # Limits of queues, by lane

    @cached_property
    def _quota_use(self) -> np.ndarray:
        """The use of each quota."""
        assert self.lanes is not None
        return np.asarray(self.lanes.usage(self.lane_tasks))

    def _lanes_of(self, n: int) -> list[tuple[int, np.ndarray]]:
        """Return the lanes of a user, each with a mask of its servers; without quotas one, -1."""
        if self.lanes is None:
            return [(-1, self.runnable[n])]
        lanes = self.lanes.lanes
        return [
            (lane, lanes.instance.eligible[lane] & self.runnable[n])
            for lane in np.flatnonzero(lanes.user == n).tolist()
        ]

    def _limit(self, n: int, count: int, lane: int) -> Obstacle | None:
        """Return the lowest queue above a user whose cap or quota has no room for so many tasks.

        A cap of all that the cluster has limits nothing.
        """
        queues = self.instance.tree
        demand = self.instance.demands[n]
        for v in queues.chain(int(queues.of[n])):
            caps = queues.caps[v]
            is_limit = (demand > 0) & (caps < self.instance.pool)
            is_over = is_limit & (self.use[v] + demand * count > caps * (1 + AUDIT))
            if is_over.any():
                return Obstacle("cap", int(is_over.argmax()), v)
        return None if queues.quotas is None else self._quota(n, count, lane)

    def _quota(self, n: int, count: int, lane: int) -> Obstacle | None:
        """Return the lowest queue above a user whose quotas leave no room in a lane.

        What the queue may borrow counts as room.
        """
        queues = self.instance.tree
        tree = self.lanes
        assert queues.quotas is not None and tree is not None
        used = self._quota_use
        step = tree.lanes.use[lane] * count
        for v in queues.chain(int(queues.of[n])):
            after = used[v] + step
            is_over = (step > 0) & (after > tree.limits[v] * (1 + AUDIT))
            if is_over.any():
                return Obstacle("cap", int(queues.quotas.resource[is_over.argmax()]), v)
            # the part within the queue's own quota asks nothing of the queues above
            is_beyond_quota = after > tree.reserved[v] * (1 + AUDIT)
            step = np.where(is_beyond_quota, np.minimum(step, after - tree.reserved[v]), 0.0)
        return None

    # Servers

    def servers_of(self, n: int, mask: np.ndarray | None = None) -> np.ndarray:
        """Return the servers, of the mask, that could ever take a task of a user."""
        servers = np.flatnonzero(self.runnable[n] if mask is None else mask)
        demand = self.instance.demands[n]
        capacities = self.instance.capacities[servers]
        return np.asarray(servers[(demand <= capacities * (1 + AUDIT)).all(axis=1)])

    def tasks_on(self, n: int, servers: np.ndarray) -> np.ndarray:
        """Return how many whole tasks of a user each server has room for now."""
        demand = self.instance.demands[n]
        demanded = demand > 0
        room = (self.free[servers][:, demanded] / demand[demanded]).min(axis=1, initial=np.inf)
        tasks = np.floor(room + AUDIT * np.maximum(room, 1.0)).astype(int)
        for k in np.flatnonzero(np.isin(servers, list(self.pieces))).tolist():
            machines = self.pieces[int(servers[k])]
            by_machine = (machines[:, demanded] / demand[demanded]).min(axis=1)
            on_machines = np.floor(np.maximum(by_machine, 0.0) + AUDIT).sum()
            tasks[k] = min(tasks[k], int(on_machines))
        return np.asarray(np.maximum(tasks, 0))

    def _spread(
        self, n: int, lane: int, servers: np.ndarray, room: np.ndarray, count: int
    ) -> Placement:
        """Return so many tasks on servers: those awake first, then those with most room."""
        order = np.lexsort((np.arange(len(servers)), -room, self.asleep[servers]))
        before = np.cumsum(room[order]) - room[order]
        tasks = np.zeros(len(servers), dtype=int)
        tasks[order] = np.clip(count - before, 0, room[order])
        taken = tasks > 0
        return Placement(n, servers[taken], tasks[taken], lane)

    # Jobs

    def single_tasks(self, n: int, count: int) -> list[Placement]:
        """Return as many tasks of a user as fit now, each a job by itself, ``count`` at most."""
        room = self
        placements: list[Placement] = []
        for lane, mask in self._lanes_of(n):
            servers = self.servers_of(n, mask)
            tasks = room.tasks_on(n, servers)

            # The most that queues allow, by bisection
            largest_count = min(count, int(tasks.sum()))
            fitting_count = 0
            while fitting_count < largest_count:
                middle = (fitting_count + largest_count + 1) // 2
                if room._limit(n, middle, lane) is None:
                    fitting_count = middle
                else:
                    largest_count = middle - 1
            if not fitting_count:
                continue
            placements.append(self._spread(n, lane, servers, tasks, fitting_count))
            count -= fitting_count
            room = room.beside(placements[-1:])
        return placements

    def place(self, job: WaitingJob) -> list[Placement] | None:
        """Return where all tasks of one job have room now; None where they have not.

        Of one user this is exact. Of several, first fit is a quick yes, and else a program of whole
        numbers decides.
        """
        room = self
        taken = np.zeros(len(self.free), dtype=bool)
        placements: list[Placement] = []
        for n, count in self._largest_tasks_first(job):
            placement = room._together(n, count, job.one_a_node, taken)
            if placement is None:
                return self._by_program(job) if len(job.tasks) > 1 else None
            placements.append(placement)
            taken[placement.servers] = True
            room = room.beside([placement])
        return placements

    def copies(self, job: WaitingJob, count: int) -> tuple[list[Placement], int]:
        """Return where equal jobs fit, at most ``count``, and how many do."""
        if job.size == 1:
            (n,) = job.tasks
            placements = self.single_tasks(n, count)
            return placements, sum(int(placement.tasks.sum()) for placement in placements)
        room = self
        placements = []
        for k in range(count):
            of_job = room.place(job)
            if of_job is None:
                return placements, k
            placements += of_job
            room = room.beside(of_job)
        return placements, count

    def obstacle(self, job: WaitingJob) -> Obstacle:
        """Return what stops a job that has no room; of several users, the first without any."""
        users = self._largest_tasks_first(job)
        room = self
        for n, count in users:
            placement = room._together(n, count, job.one_a_node, np.zeros_like(self.asleep))
            if placement is None:
                return room._obstacle(n, count, job.one_a_node)
            room = room.beside([placement])
        return Obstacle("resource", int(self.instance.demands[users[0][0]].argmax()))

    def _obstacle(self, n: int, count: int, one_a_node: bool) -> Obstacle:
        """Return what stops so many tasks of a user at once, which have no room."""
        limits = [(mask, self._limit(n, count, lane)) for lane, mask in self._lanes_of(n)]
        open_masks = [mask for mask, limit in limits if limit is None]
        stopping = [limit for _, limit in limits if limit is not None]
        if not open_masks:
            return stopping[0]
        servers = self.servers_of(n, np.any(open_masks, axis=0))
        counts = self.instance.counts[servers]
        demand = self.instance.demands[n]
        demanded = np.flatnonzero(demand > 0)
        alone = self.instance.capacities[np.ix_(servers, demanded)] / demand[demanded]
        tasks_alone = np.floor(alone.min(axis=1, initial=np.inf) + AUDIT)
        if (counts if one_a_node else tasks_alone * counts).sum() < count:
            return stopping[0] if stopping else Obstacle("nowhere")

        # The resource that is the scarcest on most servers, of those without room where there are any
        free = self.free[np.ix_(servers, demanded)] / demand[demanded]
        is_full = self.tasks_on(n, servers) < 1
        if not is_full.any():
            is_full[:] = True
        scarcest = demanded[free[is_full].argmin(axis=1)]
        servers_short = np.bincount(scarcest, weights=counts[is_full], minlength=len(demand))
        return Obstacle("resource", int(servers_short.argmax()))

    def _largest_tasks_first(self, job: WaitingJob) -> list[tuple[int, int]]:
        """Return the users of a job, those with the largest tasks first."""
        parts = self.instance.demands / self.instance.pool
        return sorted(job.tasks.items(), key=lambda entry: -parts[entry[0]].max())

    def _together(
        self, n: int, count: int, one_a_node: bool, taken: np.ndarray
    ) -> Placement | None:
        """Return where so many tasks of a user have room at once, in one lane; None for nowhere.

        ``taken`` are servers that have tasks of the same job, which matters for ``one_a_node``.
        """
        for lane, mask in self._lanes_of(n):
            if self._limit(n, count, lane) is not None:
                continue
            servers = self.servers_of(n, mask)
            tasks = self.tasks_on(n, servers)
            if one_a_node:
                tasks = np.where(
                    taken[servers], 0, np.minimum(tasks, self.instance.counts[servers])
                )
            if tasks.sum() >= count:
                return self._spread(n, lane, servers, tasks, count)
        return None

    def _by_program(self, job: WaitingJob) -> list[Placement] | None:
        """Return where all tasks of a job have room, by a program of whole numbers.

        Where servers stand for several machines there is none.
        """
        if self.pieces:
            return None
        users = list(job.tasks)
        servers = np.arange(len(self.free))
        choices = product(*(self._lanes_of(n) for n in users))
        for _, lanes in zip(range(_MOST_CHOICES), choices, strict=False):
            upper = {
                n: np.where(mask, self.tasks_on(n, servers), 0)
                for n, (_, mask) in zip(users, lanes, strict=True)
            }
            tasks = packed(self.instance, self.free, upper, job)
            if tasks is None:
                continue
            placements = []
            beside = self  # queues leave room for one user after the other
            for n, (lane, _) in zip(users, lanes, strict=True):
                if beside._limit(n, job.tasks[n], lane) is not None:
                    break
                placements.append(
                    Placement(n, np.flatnonzero(tasks[n]), tasks[n][tasks[n] > 0], lane)
                )
                beside = beside.beside(placements[-1:])
            else:
                return placements
        return None


def _fill_machines(machines: np.ndarray, demand: np.ndarray, count: int) -> None:
    """Take the demands of tasks from machines, those with most room first."""
    demanded = demand > 0
    for _ in range(count):
        tasks = (machines[:, demanded] / demand[demanded]).min(axis=1)
        machines[int(tasks.argmax())] -= demand


class Turn(NamedTuple):
    """A job whose turn came: its position, where and how often it fits, and the room that is left."""

    position: int
    placements: list[Placement]
    copies: int
    room: Room


def placed_in_turn(room: Room, jobs: Sequence[WaitingJob]) -> Iterator[Turn]:
    """Yield jobs with those of their copies that fit beside what runs and the jobs before.

    Jobs that follow others come last, and only where these start.
    """
    started: set[str] = set()
    for k in sorted(range(len(jobs)), key=lambda k: bool(jobs[k].after)):
        job = jobs[k]
        if not job.may_follow(started):
            continue
        placements, copies = room.copies(job, int(job.copies))
        room = room.beside(placements)
        if copies:
            started.add(job.name)
        yield Turn(k, placements, copies, room)
