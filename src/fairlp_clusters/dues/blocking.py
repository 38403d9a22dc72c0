"""Obstacles: why users who wait run no more tasks, and which users hold the resource or cap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import sparse

import fairlp
from fairlp import Instance, formulations
from fairlp.toolkit import tolerances

from .jobs import AUDIT, WaitingJob
from .packing import Packing, packed

#: So many choices of lanes, one for each user of the job, are tried.
_MOST_CHOICES = 64
#: The tasks alone of so many demands are kept.
_MOST_KEPT = 256


class Obstacle(NamedTuple):
    """The reason that a job, or a user, runs no more tasks.

    Attributes
    ----------
    kind : str
        ``resource`` (no servers where its tasks fit have enough of it free), ``cap`` (of a queue),
        ``room`` (nothing stops it: there are servers for all tasks) or ``nowhere`` (no servers
        could ever take them).
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


class Placement(NamedTuple):
    """Tasks of a user on servers, which count in one lane of its quotas (-1: in none)."""

    user: int
    servers: np.ndarray
    tasks: np.ndarray
    lane: int = -1


_NO_SERVERS = np.zeros(0, dtype=int)


class Blocking:
    """The obstacles of users, for given tasks of all.

    Parameters
    ----------
    instance : Instance
    tasks : ndarray, shape (N, K)
    whole : bool
        Whether a task needs all of its demands free on one server (else any part of a task counts).
    pieces : mapping
        Of servers (by position) that stand for several machines, what is free on each: a task has
        to fit on one.
    asleep : ndarray of bool, shape (K,), optional
        Servers that are taken last.
    """

    def __init__(
        self,
        instance: Instance,
        tasks: np.ndarray,
        *,
        whole: bool,
        pieces: Mapping[int, np.ndarray] | None = None,
        asleep: np.ndarray | None = None,
    ) -> None:
        self.instance = instance
        self.whole = whole
        #: Tasks of each user in all, and those beside the first ones, with a sign.
        self.totals = tasks.sum(axis=1)
        self._first_tasks = tasks
        self._changes: tuple[tuple[Placement, int], ...] = ()
        self.pieces = {i: machines.copy() for i, machines in (pieces or {}).items()}
        self.asleep = np.zeros(len(instance.servers), dtype=bool) if asleep is None else asleep
        needs = instance.effort()
        used = (tasks if needs is None else tasks * needs).T @ instance.demands
        capacity = instance.total_capacities
        free = capacity - used
        self.free = np.where(free > tolerances.SATURATED * capacity, free, 0.0)
        self.sparse_tasks = sparse.csr_array(tasks)
        #: By the bytes of a demand, the tasks of one user on each server alone; copies share it.
        self._alone_by_demand: dict[bytes, np.ndarray] = {}

    @property
    def tasks(self) -> np.ndarray:
        """The tasks of all, users × servers."""
        tasks = self._first_tasks.copy()
        for placement, sign in self._changes:
            tasks[placement.user, placement.servers] += sign * placement.tasks
        return tasks

    @cached_property
    def _runnable(self) -> np.ndarray:
        return self.instance.runnable()

    @cached_property
    def _use_of_queues(self) -> np.ndarray:
        """Amounts that users below each queue have, queues × resources."""
        amounts = self.totals[:, None] * self.instance.demands
        return np.asarray(self.instance.tree.below @ amounts)

    @cached_property
    def _quotas(self) -> tuple[fairlp.queues.QuotaTree, np.ndarray]:
        """The tree of quotas, and the tasks of each lane."""
        return fairlp.queues.lane_tasks(self.instance, self.tasks)

    @cached_property
    def _quota_use(self) -> np.ndarray:
        """The use of each quota."""
        tree, tasks = self._quotas
        return tree.usage(tasks)

    # Copies with more or fewer tasks

    def copy(self) -> Blocking:
        """Return a copy, whose tasks can be changed."""
        changed = copy(self)
        changed.totals = self.totals.copy()
        changed.free = self.free.copy()
        changed.pieces = {i: machines.copy() for i, machines in self.pieces.items()}
        if "_quotas" in vars(self):
            tree, tasks = self._quotas
            vars(changed)["_quotas"] = tree, tasks.copy()
        return changed

    def add(self, placement: Placement, sign: int = 1) -> None:
        """Add tasks, or take them away again."""
        n, servers, tasks, lane = placement
        demand = self.instance.demands[n]
        self._changes += ((placement, sign),)
        self.totals[n] += sign * tasks.sum()
        self.free[servers] -= sign * tasks[:, None] * demand
        if self.pieces and sign > 0:
            for i, count in zip(servers.tolist(), tasks.tolist(), strict=True):
                if i in self.pieces:
                    self._fill_machines(self.pieces[i], demand, int(count))
        vars(self).pop("_use_of_queues", None)
        vars(self).pop("_quota_use", None)
        if lane < 0 and sign > 0:  # the lanes of these tasks follow from where they are
            vars(self).pop("_quotas", None)
        if "_quotas" in vars(self):
            tree, lanes = self._quotas
            of_user = np.flatnonzero(tree.lanes.user == n)
            if lane >= 0:
                lanes[lane] += sign * tasks.sum()
            elif sign < 0:  # of the lanes on these servers, by what they have
                for i, count in zip(servers.tolist(), tasks.tolist(), strict=True):
                    on_server = of_user[tree.lanes.instance.eligible[of_user, i]]
                    total = lanes[on_server].sum()
                    if total > 0:
                        lanes[on_server] -= count * lanes[on_server] / total

    @staticmethod
    def _fill_machines(machines: np.ndarray, demand: np.ndarray, count: int) -> None:
        """Take the demands of tasks from machines, those with most room first."""
        demanded = demand > 0
        for _ in range(count):
            room = (machines[:, demanded] / demand[demanded]).min(axis=1)
            machines[int(room.argmax())] -= demand

    def beside(self, placements: list[Placement]) -> Blocking:
        """Return the obstacles beside more tasks."""
        if not any(placement.tasks.any() for placement in placements):
            return self
        changed = self.copy()
        for placement in placements:
            changed.add(placement)
        return changed

    # Limits of queues, by lane

    def _lanes_of(self, n: int) -> list[tuple[int, np.ndarray]]:
        """Return the lanes of a user, each with a mask of its servers; without quotas one, -1."""
        if self.instance.tree.quotas is None:
            return [(-1, self._runnable[n])]
        tree, _ = self._quotas
        lanes = tree.lanes
        return [
            (lane, lanes.instance.eligible[lane] & self._runnable[n])
            for lane in np.flatnonzero(lanes.user == n).tolist()
        ]

    def _limit(self, n: int, count: int, lane: int) -> Obstacle | None:
        """Return the lowest queue above a user whose cap or quota has no room for so many tasks.

        Where parts of tasks count, a cap that leaves no part counts. A cap of all that the cluster
        has limits nothing.
        """
        queues = self.instance.tree
        demand = self.instance.demands[n]
        for v in queues.chain(int(queues.of[n])):
            caps = queues.caps[v]
            # A full cap leaves no part of a task, but for rounding.
            step = demand * count if self.whole else 2 * AUDIT * caps
            is_limit = (demand > 0) & (caps < self.instance.pool)
            is_over = is_limit & (self._use_of_queues[v] + step > caps * (1 + AUDIT))
            if is_over.any():
                return Obstacle("cap", int(is_over.argmax()), _NO_SERVERS, queue=v)
        if queues.quotas is None:
            return None
        return self._quota(n, count, lane)

    def _quota(self, n: int, count: int, lane: int) -> Obstacle | None:
        """Return the lowest queue above a user whose quotas leave no room in a lane.

        What the queue may borrow counts as room.
        """
        queues = self.instance.tree
        assert queues.quotas is not None
        tree, _ = self._quotas
        used = self._quota_use
        step = tree.lanes.use[lane] * count
        if not self.whole:
            noticeable = 2 * AUDIT * np.maximum(tree.limits[0], used[0])
            step = noticeable * (tree.lanes.use[lane] > 0)
        for v in queues.chain(int(queues.of[n])):
            exceeds = used[v] + step > tree.limits[v] * (1 + AUDIT)
            is_over = (step > 0) & exceeds
            if is_over.any():
                r = int(queues.quotas.resource[is_over.argmax()])
                return Obstacle("cap", r, _NO_SERVERS, queue=v)
            # the part within the queue's own quota asks nothing of the queues above
            is_beyond_quota = used[v] + step > tree.reserved[v] * (1 + AUDIT)
            beyond = np.minimum(step, used[v] + step - tree.reserved[v])
            step = np.where(is_beyond_quota, beyond, 0.0)
        return None

    # Obstacles

    def of(self, n: int, count: int = 1, one_a_node: bool = False) -> Obstacle:
        """Return what stops so many tasks of a user at once: a limit, no server, room, a resource.

        Parameters
        ----------
        n, count : int
        one_a_node : bool
            Whether each of them needs a server of its own.
        """
        lanes = self._lanes_of(n)
        limits = [self._limit(n, count, lane) for lane, _ in lanes]
        open_lanes = [mask for (_, mask), limit in zip(lanes, limits, strict=True) if limit is None]
        stopping = [limit for limit in limits if limit is not None]
        if not open_lanes:
            return stopping[0]

        # Servers that could ever take a task
        servers, alone = self._servers_of(n, np.any(open_lanes, axis=0))
        if not servers.size or not self._is_enough(alone, servers, count, one_a_node):
            return stopping[0] if stopping else Obstacle("nowhere", -1, _NO_SERVERS)

        # Tasks that fit beside those that run
        demand = self.instance.demands[n]
        demanded = np.flatnonzero(demand > 0)
        tasks_by_resource = self.free[np.ix_(servers, demanded)] / demand[demanded]
        free_tasks = tasks_by_resource.min(axis=1)
        if self.whole:
            room = self.room(n, servers)
            has_room = room >= 1
            fits = any(
                self._is_enough(room[mask[servers]], servers[mask[servers]], count, one_a_node)
                for mask in open_lanes
            )
        else:
            has_room = free_tasks > AUDIT * (alone * self.instance.counts[servers])
            fits = bool(has_room.any())
        if fits:
            roomiest = int(servers[has_room][free_tasks[has_room].argmax()])
            return Obstacle("room", -1, servers[has_room], roomiest)

        # The resource that is the scarcest on most servers: those without room, where there are any
        is_full = ~has_room if (~has_room).any() else np.ones(len(servers), dtype=bool)
        servers, tasks_by_resource = servers[is_full], tasks_by_resource[is_full]
        free_tasks = free_tasks[is_full]
        scarcest = demanded[tasks_by_resource.argmin(axis=1)]
        counts = self.instance.counts[servers]
        servers_short = np.bincount(scarcest, weights=counts, minlength=len(demand))
        r = int(servers_short.argmax())
        short = scarcest == r
        nearest = int(servers[short][free_tasks[short].argmax()])
        return Obstacle("resource", r, servers[short], nearest)

    def of_job(self, job: WaitingJob) -> Obstacle:
        """Return what stops a job; of several users, the first whose tasks have no room left."""
        if self.place(job) is not None:
            users = iter(job.tasks.items())
            return self.of(*next(users), job.one_a_node)
        blocking = self
        obstacle = None
        for n, count in self._largest_tasks_first(job):
            obstacle = blocking.of(n, count, job.one_a_node)
            if obstacle.kind != "room":
                return obstacle
            placement = blocking._together(n, count, job.one_a_node, np.zeros_like(self.asleep))
            if placement is None:
                break
            blocking = blocking.beside([placement])
        assert obstacle is not None
        n, _ = self._largest_tasks_first(job)[0]
        servers = self.servers_of(n)
        r = int(self.instance.demands[n].argmax())
        return Obstacle("resource", r, servers, int(servers[0]))

    def _is_enough(
        self, tasks: np.ndarray, servers: np.ndarray, count: int, one_a_node: bool
    ) -> bool:
        """Whether servers with room for so many tasks take a number of them."""
        if not self.whole:
            return bool(servers.size)
        if one_a_node:
            tasks = np.minimum(tasks, self.instance.counts[servers])
        elif count == 1:
            return bool((tasks >= 1 - AUDIT).any())
        return bool(np.floor(tasks + AUDIT).sum() >= count)

    def servers_of(self, n: int) -> np.ndarray:
        """Return the servers that could ever take a task of a user."""
        return self._servers_of(n, self._runnable[n])[0]

    def _servers_of(self, n: int, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the servers that could take a task of a user, and how many each could."""
        servers = np.flatnonzero(mask)
        alone = self._alone(n)[servers]
        if not self.whole:
            return servers, alone
        is_enough = alone >= 1 - AUDIT
        counts = self.instance.counts[servers]
        return servers[is_enough], (np.floor(alone + AUDIT) * counts)[is_enough]

    def _alone(self, n: int) -> np.ndarray:
        """Return the tasks of a user on each server alone, (K,), kept for others of its demand."""
        demand = self.instance.demands[n]
        key = demand.tobytes()
        alone = self._alone_by_demand.get(key)
        if alone is None:
            alone = formulations.normalisers.tasks_alone(demand[None, :], self.instance.capacities)[
                0
            ]
            if len(self._alone_by_demand) < _MOST_KEPT:
                self._alone_by_demand[key] = alone
        return alone

    # Room

    def room(self, n: int, servers: np.ndarray) -> np.ndarray:
        """Return how many whole tasks of a user each server has room for now."""
        demand = self.instance.demands[n]
        demanded = demand > 0
        room = (self.free[servers][:, demanded] / demand[demanded]).min(axis=1, initial=np.inf)
        tasks = np.floor(room + AUDIT * np.maximum(room, 1.0)).astype(int)
        in_pieces = np.isin(servers, list(self.pieces)) if self.pieces else np.zeros(0, dtype=bool)
        for k in np.flatnonzero(in_pieces).tolist():
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

    def placements(self, n: int, count: int) -> list[Placement]:
        """Return as many tasks of a user as fit now, each a job by itself, ``count`` at most."""
        blocking = self
        placements = []
        for lane, mask in self._lanes_of(n):
            servers = self._servers_of(n, mask)[0]
            room = blocking.room(n, servers)

            # The most that queues allow, by bisection
            largest_count = min(count, int(room.sum()))
            fitting_count = 0
            while fitting_count < largest_count:
                middle = (fitting_count + largest_count + 1) // 2
                if blocking._limit(n, middle, lane) is None:
                    fitting_count = middle
                else:
                    largest_count = middle - 1
            if not fitting_count:
                continue
            placements.append(self._spread(n, lane, servers, room, fitting_count))
            count -= fitting_count
            blocking = blocking.beside(placements[-1:])
        return placements

    def fitting(self, n: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return servers, and how many whole tasks each has room for now, ``count`` at most.

        Servers with most room come first; caps and quotas of queues count.
        """
        servers = self.servers_of(n)
        tasks = np.zeros(len(self.instance.servers), dtype=int)
        for placement in self.placements(n, count):
            tasks[placement.servers] += placement.tasks
        return servers, tasks[servers]

    def place(self, job: WaitingJob) -> list[Placement] | None:
        """Return where all tasks of one job have room now; None where they have not.

        Of one user this is exact. Of several, first fit is a quick yes, and else a program of whole
        numbers decides.
        """
        blocking = self
        taken = np.zeros(len(self.instance.servers), dtype=bool)
        placements: list[Placement] = []
        for n, count in self._largest_tasks_first(job):
            placement = blocking._together(n, count, job.one_a_node, taken)
            if placement is None:
                return self._by_program(job) if len(job.tasks) > 1 else None
            placements.append(placement)
            taken[placement.servers] = True
            blocking = blocking.beside([placement])
        return placements

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
            servers = self._servers_of(n, mask)[0]
            room = self.room(n, servers)
            if one_a_node:
                room = np.where(taken[servers], 0, np.minimum(room, self.instance.counts[servers]))
            if room.sum() >= count:
                return self._spread(n, lane, servers, room, count)
        return None

    def _by_program(self, job: WaitingJob) -> list[Placement] | None:
        """Return where all tasks of a job have room, by a program of whole numbers."""
        users = list(job.tasks)
        choices = product(*(self._lanes_of(n) for n in users))
        for _, lanes in zip(range(_MOST_CHOICES), choices, strict=False):
            masks = {n: mask for n, (_, mask) in zip(users, lanes, strict=True)}
            packing = self.pack([job._replace(copies=1)], masks)
            if packing is None or not packing.copies.any():
                continue
            lane_of = {n: lane for n, (lane, _) in zip(users, lanes, strict=True)}
            placements = [p._replace(lane=lane_of[p.user]) for p in placements_of(packing)]
            if self._within_limits(placements):
                return placements
        return None

    def pack(
        self,
        jobs: Sequence[WaitingJob],
        masks: Mapping[int, np.ndarray] | None = None,
    ) -> Packing | None:
        """Return the most jobs that have room together; see `packed`.

        None where there is no answer, or where servers stand for several machines. Quotas do not
        count.

        Parameters
        ----------
        jobs : sequence of WaitingJob
        masks : mapping, optional
            The servers of each user; by default all where it may run.
        """
        if self.pieces:
            return None
        servers = np.arange(len(self.instance.servers))
        upper = {}
        for n in dict.fromkeys(n for job in jobs for n in job.tasks):
            mask = self._runnable[n] if masks is None else masks[n]
            upper[n] = np.where(mask, self.room(n, servers), 0)
        return packed(self.instance, self.free, upper, jobs, used=self._use_of_queues)

    def _within_limits(self, placements: list[Placement]) -> bool:
        """Whether queues leave room for these tasks, one user after the other."""
        blocking = self
        for placement in placements:
            count = int(placement.tasks.sum())
            if blocking._limit(placement.user, count, placement.lane) is not None:
                return False
            blocking = blocking.beside([placement])
        return True

    # Who holds a resource, a cap or a quota

    def amounts_held(self, resource: int, servers: np.ndarray) -> np.ndarray:
        """Return how much of a resource each user holds on these servers, shape (N,)."""
        on_servers = np.zeros(self.tasks.shape[1])
        on_servers[servers] = 1.0
        tasks = self.sparse_tasks @ on_servers
        return np.asarray(tasks * self.instance.demands[:, resource])


def placements_of(packing: Packing) -> list[Placement]:
    """Return the tasks of a packing on servers, in no lane."""
    return [
        Placement(n, np.flatnonzero(tasks), tasks[tasks > 0]) for n, tasks in packing.tasks.items()
    ]


def fitting_copies(blocking: Blocking, job: WaitingJob, copies: int) -> tuple[list[Placement], int]:
    """Return where so many equal jobs fit, at most ``copies``, and how many do."""
    if job.size == 1:
        (n,) = job.tasks
        placements = blocking.placements(n, copies)
        return placements, sum(int(placement.tasks.sum()) for placement in placements)
    placements = []
    for k in range(copies):
        of_job = blocking.place(job)
        if of_job is None:
            return placements, k
        placements += of_job
        blocking = blocking.beside(of_job)
    return placements, copies


class Turn(NamedTuple):
    """A job whose turn came: its position, where and how often it fits, and the obstacles then."""

    position: int
    placements: list[Placement]
    copies: int
    blocking: Blocking


def placed_in_turn(blocking: Blocking, jobs: Sequence[WaitingJob]) -> Iterator[Turn]:
    """Yield jobs with those of their copies that fit beside what runs and the jobs before.

    Jobs that follow others come last, and only where these start.
    """
    started: set[str] = set()
    for k in sorted(range(len(jobs)), key=lambda k: bool(jobs[k].after)):
        job = jobs[k]
        if not job.may_follow(started):
            continue
        placements, copies = fitting_copies(blocking, job, int(job.copies))
        blocking = blocking.beside(placements)
        if copies:
            started.add(job.name)
        yield Turn(k, placements, copies, blocking)


def tasks_by_server(placements: Iterable[Placement]) -> Counter[int]:
    """Return the tasks of placements by server."""
    tasks: Counter[int] = Counter()
    for placement in placements:
        pairs = zip(placement.servers.tolist(), placement.tasks.tolist(), strict=True)
        tasks.update(dict(pairs))
    return tasks
