"""Shares beside fair shares: by user, and by queue at every level."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from ... import Allocation, Instance, allocate
from ...errors import FairlpWarning, InstanceError, SolverError
from ...mechanisms.mechanism import Mechanism
from ...models.instances.arithmetic import effort, largest_first, quotients, tasks_alone
from ...models.instances.queues import Queues
from ...models.trees.filling import floors
from ...models.trees.quotas import QuotaTree, usage_of
from ...tolerances import AUDIT, SATURATED
from .subject import ClusterSource, Subject, mechanism_or_default, require_user_or_queue, subject_of

# Obstacles: why users who wait run no more tasks, and which users hold the resource or cap.

#: So many holders of an obstacle are named, those with most first.
HOLDERS = 3
#: Obstacles are computed for so many users, those who are owed most.
MOST_USERS = 5000


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
        servers = np.flatnonzero(self._runnable[n])
        alone = tasks_alone(demand[None, :], self.instance.capacities[servers])[0]
        if self.whole:
            servers = servers[alone >= 1 - AUDIT]
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

    @cached_property
    def _quota_use(self) -> tuple[QuotaTree, np.ndarray]:
        """The tree of quotas, and the use of each."""
        return usage_of(self.instance, self.tasks)

    def _quota(self, n: int, queues: Queues, resource: np.ndarray) -> Obstacle | None:
        """Return the lowest queue above a user whose quotas leave no room in any of its lanes.

        What the queue may borrow counts as room.
        """
        tree, used = self._quota_use
        obstacles = []
        for use in tree.lanes.use[tree.lanes.user == n]:
            step = use
            if not self.whole:
                step = 2 * AUDIT * np.maximum(tree.limits[0], used[0]) * (use > 0)
            for v in queues.chain(int(queues.of[n])):
                is_over = (step > 0) & (used[v] + step > tree.limits[v] * (1 + AUDIT))
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

    def _cap(self, n: int, demand: np.ndarray) -> Obstacle | None:
        """Return the lowest queue above a user whose cap leaves no room for a task.

        Where parts of tasks count, a cap that leaves no part counts.
        """
        queues = self.instance.tree
        for v in queues.chain(int(queues.of[n])):
            caps = queues.caps[v]
            # A full cap leaves no part of a task, but for rounding.
            step = demand if self.whole else 2 * AUDIT * caps
            is_over = (demand > 0) & (self._use_of_queues[v] + step > caps * (1 + AUDIT))
            if is_over.any():
                return Obstacle("cap", int(is_over.argmax()), _NO_SERVERS, queue=v)
        if queues.quotas is None:
            return None
        return self._quota(n, queues, queues.quotas.resource)

    def amounts_held(self, resource: int, servers: np.ndarray) -> np.ndarray:
        """Return how much of a resource each user holds on these servers, shape (N,)."""
        on_servers = np.zeros(self.tasks.shape[1])
        on_servers[servers] = 1.0
        tasks = self.sparse_tasks @ on_servers
        return np.asarray(tasks * self.instance.demands[:, resource])


def largest(amounts: np.ndarray, labels: Any) -> dict[Any, float]:
    """Return the largest positive amounts by label, largest first."""
    order = largest_first(amounts)[:HOLDERS]
    return {labels[int(k)]: float(amounts[k]) for k in order if amounts[k] > 0}


#: The obstacle, in words, of a user of whom a task fits on a server.
ROOM = "nothing: it fits"


class ObstacleRow(NamedTuple):
    """The columns of an obstacle.

    ``held_by`` are the users or queues who hold most of it, ``beyond_fair`` those who hold it
    beyond their fair shares.
    """

    blocked_by: str
    servers: int
    where: str
    held_by: dict[Any, float]
    beyond_fair: dict[Any, float]

    @classmethod
    def without_holders(
        cls, blocked_by: str = "", servers: int = 0, where: str = ""
    ) -> ObstacleRow:
        """Return a row without holders; by default all of it is empty."""
        return cls(blocked_by, servers, where, {}, {})


def _columns_of(rows: list[ObstacleRow]) -> dict[str, Any]:
    """Return the columns of obstacles."""
    return {name: [row[k] for row in rows] for k, name in enumerate(ObstacleRow._fields)}


@dataclass(frozen=True, eq=False)
class ShareComparison:
    """A subject and the fair allocation beside it."""

    subject: Subject
    fair: Allocation

    @classmethod
    def of(
        cls, subject: Subject, mechanism: str | Mechanism | None = None, **options: Any
    ) -> ShareComparison:
        """Return the comparison under a mechanism.

        In a dump, tasks that fit no server are left out: they are owed to no user.
        """
        if subject.scheduler:
            options = {"oversized": "drop", **options}
        instance = subject.instance
        try:
            fair = allocate(instance, mechanism_or_default(instance, mechanism), **options)
        except SolverError as error:
            if mechanism is not None:
                raise
            alternative = mechanism_or_default(instance, None, failed=1)
            message = f"what is fair is that of {alternative!r}: {error}"
            warnings.warn(message, FairlpWarning, stacklevel=2)
            fair = allocate(instance, alternative, **options)
        # of users who arrive: after the last step
        return cls(subject, getattr(fair, "last", fair))

    @property
    def instance(self) -> Instance:
        """The instance with the whole capacity."""
        return self.subject.instance

    @property
    def tasks(self) -> np.ndarray:
        """The tasks that run now, or those of the mechanism where no running tasks are known."""
        return self.fair.tasks_array if self.subject.tasks is None else self.subject.tasks

    @property
    def allocation(self) -> Allocation:
        """The allocation of these tasks."""
        return self.subject.observed or self.fair

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
        if self.subject.tasks is not None:
            return self.subject.waiting
        return np.asarray(np.maximum(self.subject.waiting - self.has, 0.0))

    @cached_property
    def owed(self) -> np.ndarray:
        """Tasks that each user lacks of its fair share, 0 for rounding."""
        lacking = np.minimum(self.fair_tasks - self.has, self.waiting)
        rounding = AUDIT * np.maximum(self.fair_tasks, self.has)
        return np.where(lacking > rounding, lacking, 0.0)

    @cached_property
    def share_of_a_task(self) -> np.ndarray:
        """Dominant share of one task of each user."""
        return np.asarray((self.instance.demands / self.instance.pool).max(axis=1))

    @cached_property
    def blocking(self) -> Blocking:
        """The obstacles of users beside these tasks."""
        return Blocking(self.instance, self.tasks, whole=self.subject.tasks is not None)

    @cached_property
    def waiting_users(self) -> np.ndarray:
        """Positions of the users whose tasks wait."""
        return np.flatnonzero(self.waiting > AUDIT * np.maximum(self.has, 1.0))

    @cached_property
    def obstacles(self) -> dict[int, Obstacle]:
        """The obstacle of each user who waits (of ``MOST_USERS``, by what they are owed)."""
        order = largest_first((self.owed * self.share_of_a_task)[self.waiting_users])
        users = self.waiting_users[order][:MOST_USERS]
        return {int(n): self.blocking.of(int(n)) for n in users}

    @cached_property
    def users(self) -> pd.DataFrame:
        """One row for each user; see :func:`fairlp.fair_shares`."""
        instance = self.instance
        share = self.share_of_a_task
        floors = self._floors
        rows = [self._obstacle_of_user(n) for n in range(len(instance.users))]
        columns = {
            "queue": list(instance.queue or [""] * len(instance.users)),
            "tasks": self.has,
            "fair_tasks": self.fair_tasks,
            "share": self.has * share,
            "fair_share": self.fair_tasks * share,
            "guarantee": floors * share,
            "borrowed": np.maximum(self.has - floors, 0.0) * share,
            "waiting": self.waiting,
            "owed": self.owed,
        }
        if not self._has_guarantees:
            columns |= {"guarantee": np.nan, "borrowed": np.nan}
        return pd.DataFrame(columns | _columns_of(rows), index=instance.users.labels.rename("user"))

    @cached_property
    def queues(self) -> pd.DataFrame:
        """One row for each queue, the root first; see :func:`fairlp.fair_shares`."""
        instance = self.instance
        tree = instance.queues
        if tree is None:
            raise TypeError("the instance has no queues")
        below = tree.below
        pool = instance.pool

        amounts = below @ (self.has[:, None] * instance.demands)
        fair_amounts = below @ (self.fair_tasks[:, None] * instance.demands)
        guarantee = (self._guarantees_below / pool).max(axis=1)
        borrowed = (np.maximum(amounts - self._guarantees_below, 0.0) / pool).max(axis=1)
        borrowed[0] = np.nan  # the root has no queue to borrow from
        if tree.quotas is not None:  # cohorts are guaranteed nothing but what stands below them
            guarantee[~tree.guarantees.any(axis=1)] = np.nan
        cap = np.where(tree.capped.any(axis=1), (tree.caps / pool).min(axis=1), np.nan)
        columns = {
            "level": tree.depths,
            "users": below.sum(axis=1).astype(int),
            "weight": tree.weights,
            "tasks": below @ self.has,
            "fair_tasks": below @ self.fair_tasks,
            "share": (amounts / pool).max(axis=1),
            "fair_share": (fair_amounts / pool).max(axis=1),
            "guarantee": guarantee if self._has_guarantees else np.nan,
            "cap": cap,
            "borrowed": borrowed if self._has_guarantees else np.nan,
            "waiting": below @ self.waiting,
            "owed": below @ self.owed,
        }
        rows = [self._obstacle_of_queue(v) for v in range(len(tree))]
        paths = pd.Index(tree.paths.labels, name="queue")
        table = pd.DataFrame(columns | _columns_of(rows), index=paths)
        shares = self.subject.shares.reindex(table.index)
        table[shares.columns] = shares  # what the scheduler counts as borrowed comes first
        return table

    @property
    def _guarantees_below(self) -> np.ndarray:
        """Guarantees of queues; those of its children together where a queue below the root has none."""
        tree = self.instance.tree
        guarantees = tree.guarantees.copy()
        for v in range(len(tree) - 1, 0, -1):  # children come after their parents
            parent = tree.parents[v]
            if parent and not tree.guarantees[parent].any():
                guarantees[parent] += guarantees[v]
        return guarantees

    @property
    def _has_guarantees(self) -> bool:
        return bool(self.instance.tree.guarantees.any())

    @cached_property
    def _floors(self) -> np.ndarray:
        """Tasks that each user is guaranteed."""
        if self._has_guarantees and not self.instance.has_resource_weights:
            return floors(self.instance)
        return np.zeros(len(self.instance.users))

    def _obstacle_of_user(self, n: int) -> ObstacleRow:
        """Return the obstacle of a user, with its holders."""
        obstacle = self.obstacles.get(n)
        if obstacle is None:
            return ObstacleRow.without_holders()
        amounts = self._amounts_held(obstacle)
        users = self.instance.users
        return self._described(obstacle)._replace(
            held_by=largest(amounts, users),
            beyond_fair=largest(amounts * self._excess, users),
        )

    def _obstacle_of_queue(self, v: int) -> ObstacleRow:
        """Return the obstacle of most tasks that wait below a queue, with its holders."""
        tree = self.instance.tree

        # Users below the queue by obstacle: the one that stops the largest share of tasks
        users_of: dict[tuple[str, int, int], list[int]] = {}
        for n in self._stopped_below[v]:
            obstacle = self.obstacles[n]
            key = (obstacle.kind, obstacle.resource, obstacle.queue)
            users_of.setdefault(key, []).append(n)
        if not users_of:
            return ObstacleRow.without_holders()
        finite = np.where(np.isfinite(self.waiting), self.waiting, 1.0)
        waiting_share = finite * self.share_of_a_task
        users = max(users_of.values(), key=lambda users: waiting_share[users].sum())

        # Holders: of a resource, queues outside this one
        servers = np.unique(np.concatenate([self.obstacles[n].servers for n in users]))
        first = self.obstacles[users[0]]
        amounts = self._amounts_held(first._replace(servers=servers))
        outside = np.ones(len(amounts))
        if first.kind == "resource" and v:
            outside -= tree.users_below(v)
        held_by_queue = np.bincount(tree.of, amounts * outside, len(tree))
        excess_of_queue = np.bincount(tree.of, amounts * self._excess * outside, len(tree))
        return self._described(first)._replace(
            servers=int(self.instance.counts[servers].sum()),
            held_by=largest(held_by_queue, self._paths),
            beyond_fair=largest(excess_of_queue, self._paths),
        )

    @cached_property
    def _paths(self) -> list[str]:
        """Labels of queues for people, the root's included."""
        return [str(path) or "(root)" for path in self.instance.tree.paths]

    @cached_property
    def _stopped_below(self) -> list[list[int]]:
        """Users with an obstacle, for each queue that they stand in or below."""
        tree = self.instance.tree
        users: list[list[int]] = [[] for _ in range(len(tree))]
        for n in self.obstacles:
            for v in tree.chain(int(tree.of[n])):
                users[v].append(n)
        return users

    def _amounts_held(self, obstacle: Obstacle) -> np.ndarray:
        """Return the amounts that users hold of the resource or cap of an obstacle."""
        if obstacle.kind == "resource":
            return self.blocking.amounts_held(obstacle.resource, obstacle.servers)
        if obstacle.kind == "cap":
            below = self.instance.tree.users_below(obstacle.queue)
            return np.asarray(below * self.has * self.instance.demands[:, obstacle.resource])
        return np.zeros(len(self.has))

    @cached_property
    def _excess(self) -> np.ndarray:
        """The part of each user's tasks that is beyond its fair share."""
        is_beyond = self.has > self.fair_tasks * (1 + AUDIT)
        excess = np.where(is_beyond, self.has - self.fair_tasks, 0.0)
        return quotients(excess, self.has)

    def _described(self, obstacle: Obstacle) -> ObstacleRow:
        """Return an obstacle in words, with its servers and the nearest (of a cap: the queue)."""
        instance = self.instance
        if obstacle.kind == "cap":
            tree = instance.tree
            resource = instance.resources[obstacle.resource]
            is_none = tree.quotas is not None and tree.caps[obstacle.queue, obstacle.resource] == 0
            cap = f"{'no quota' if is_none else 'cap'} of {resource}"
            return ObstacleRow.without_holders(cap, where=str(tree.paths[obstacle.queue]))
        count = int(instance.counts[obstacle.servers].sum())
        nearest = str(instance.servers[obstacle.nearest]) if obstacle.nearest >= 0 else ""
        if obstacle.kind == "room":
            return ObstacleRow.without_holders(ROOM, count, nearest)
        if obstacle.kind == "nowhere":
            return ObstacleRow.without_holders("it fits no server", count, nearest)
        return ObstacleRow.without_holders(
            str(instance.resources[obstacle.resource]), count, nearest
        )


# ``fair_shares``: the comparison as a table.


def fair_shares(
    given: ClusterSource,
    mechanism: str | Mechanism | None = None,
    *,
    observed: Any = None,
    by: Literal["user", "queue"] = "user",
    level: int | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Return shares beside fair shares, the tasks that wait, and the users who hold what they need.

    Parameters
    ----------
    given : Snapshot, Instance, str or Path
        A path is of a scheduler's dump (:func:`fairlp.snapshot`) or of an instance
        (:func:`fairlp.read`).
    mechanism : str or Mechanism, optional
        The rule of fair shares; by default hierarchical DRF where users stand in queues, else DRF
        of the pool.
    observed : Allocation, DataFrame of users × servers, or array of that shape, optional
        The tasks that run now, for an instance; without it, users have the mechanism's tasks.
    by : {"user", "queue"}
    level : int, optional
        Only queues at this depth (1: below the root); by default all, each with everything below
        it.
    **options
        Of the mechanism, as ``count="borrowed"``; see :func:`fairlp.allocate`.

    Returns
    -------
    DataFrame
        Indexed by user, or by the path of the queue (``""`` is the root). ``tasks`` and
        ``fair_tasks``; ``share`` and ``fair_share``, dominant shares of the pool; ``guarantee`` and
        the share ``borrowed`` beyond it (NaN without guarantees; a user's part of its queue's);
        tasks ``waiting``, and ``owed`` of the fair share; ``blocked_by`` (the resource, or a
        queue's cap), on how many ``servers``, ``where`` least is lacking (or the queue of the cap);
        ``held_by`` (the three who hold most of it) and ``beyond_fair`` (the amounts of users beyond
        their fair shares). A queue also has ``level``, ``users``, ``weight`` and ``cap``.

    Raises
    ------
    InstanceError
        For ``by="queue"`` and an instance without queues.
    UnknownNameError
        For another ``by``.

    Examples
    --------
    >>> import fairlp
    >>> queued = fairlp.Instance.from_arrays([[1, 0], [1, 0]], [[4, 4]], users=["A", "B"], queue=["a", "b"])
    >>> shares = fairlp.fair_shares(queued, observed=[[3], [1]])
    >>> shares["owed"].to_dict(), shares.loc["B", "blocked_by"], shares.loc["B", "beyond_fair"]
    ({'A': 0.0, 'B': 1.0}, 'resource1', {'A': 1.0})
    """
    require_user_or_queue(by)
    subject = subject_of(given, observed)
    if by == "queue" and not subject.instance.has_queues:
        raise InstanceError(
            "the instance has no queues; give queue= (the path of each user's queue) to make some"
        )
    if level is not None and by == "user":
        raise InstanceError("level is of queues; give by='queue' too")
    comparison = ShareComparison.of(subject, mechanism, **options)
    if by == "user":
        return comparison.users
    table = comparison.queues
    return table if level is None else table[table["level"] == level]
