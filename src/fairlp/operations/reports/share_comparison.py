"""Who has what, beside what is fair: by user, and by queue at every level."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from ...api import allocate
from ...errors import FairlpWarning, InstanceError, SolverError
from ...mechanisms.allocation import Allocation
from ...mechanisms.mechanism import Mechanism
from ...models.instances.arithmetic import effort, largest_first, quotients, tasks_alone
from ...models.instances.instance import Instance
from ...models.instances.queues import Queues
from ...models.trees.filling import floors
from ...models.trees.quotas import QuotaTree, usage_of
from ...tolerances import AUDIT, SATURATED
from .subject import Given, Subject, chosen, require_user_or_queue, subject_of

# What stops each user who wants more: the resource, the servers, who holds it, or the cap of a
# queue.

#: Who holds what stops a user: so many of those who hold most.
HOLDERS = 3
#: Users for whom what stops them is looked for; of more, those who come first.
MOST_USERS = 5000


class Stop(NamedTuple):
    """What stops a user.

    Attributes
    ----------
    why : str
        ``resource`` (there is none left on any server where it fits), ``cap`` (of a queue),
        ``room`` (nothing stops it: a task fits somewhere) or ``nowhere`` (no server could ever take
        a task).
    resource : int
        Position of the resource; -1 where there is none.
    servers : ndarray of int
        Positions of the servers where that resource is what is short, or where there is room.
    nearest : int
        The server that lacks least, or has most room; -1 for none.
    queue : int
        The queue whose cap it is; -1 for none.
    """

    why: str
    resource: int
    servers: np.ndarray
    nearest: int = -1
    queue: int = -1


_NONE = np.zeros(0, dtype=int)


class Blocking:
    """What stops users, given who has what.

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
        left = capacity - used
        self.left = np.where(left > SATURATED * capacity, left, 0.0)
        self.sparse = sparse.csr_array(tasks)

    @cached_property
    def _runnable(self) -> np.ndarray:
        return self.instance.runnable()

    @cached_property
    def _by_queue(self) -> np.ndarray:
        """What users below each queue have, queues × resources."""
        return np.asarray(
            self.instance.tree.below @ (self.tasks.sum(axis=1)[:, None] * self.instance.demands)
        )

    def of(self, n: int) -> Stop:
        """Return what stops a user."""
        demand = self.instance.demands[n]
        capped = self._cap(n, demand)
        if capped is not None:
            return capped
        where = np.flatnonzero(self._runnable[n])
        alone = tasks_alone(demand[None, :], self.instance.capacities[where])[0]
        if self.whole:
            where = where[alone >= 1 - AUDIT]
        if not where.size:
            return Stop("nowhere", -1, _NONE)
        asked = np.flatnonzero(demand > 0)
        ratio = self.left[np.ix_(where, asked)] / demand[asked]
        fits = ratio.min(axis=1)
        scarcest = asked[ratio.argmin(axis=1)]
        room = (
            fits >= 1 - AUDIT
            if self.whole
            else fits > AUDIT * (alone * self.instance.counts[where])
        )
        if room.any():
            there = where[room]
            return Stop("room", -1, there, int(there[fits[room].argmax()]))
        counts = np.bincount(scarcest, weights=self.instance.counts[where], minlength=len(demand))
        r = int(counts.argmax())
        short = scarcest == r
        return Stop("resource", r, where[short], int(where[short][fits[short].argmax()]))

    @cached_property
    def _in_quotas(self) -> tuple[QuotaTree, np.ndarray]:
        """The tree of quotas, and what is in use of each."""
        return usage_of(self.instance, self.tasks)

    def _quota(self, n: int, queues: Queues, resource: np.ndarray) -> Stop | None:
        """Return the lowest queue above a user whose quotas, with what it may borrow, leave no room in any flavor."""
        tree, used = self._in_quotas
        stops = []
        for use in tree.lanes.use[tree.lanes.user == n]:
            step = (
                use if self.whole else 2 * AUDIT * np.maximum(tree.limits[0], used[0]) * (use > 0)
            )
            for v in queues.chain(int(queues.of[n])):
                over = (step > 0) & (used[v] + step > tree.limits[v] * (1 + AUDIT))
                if over.any():
                    stops.append(Stop("cap", int(resource[over.argmax()]), _NONE, queue=v))
                    break
                step = np.where(used[v] + step > tree.reserved[v] * (1 + AUDIT), step, 0.0)
            else:
                return None
        return stops[0] if stops else None

    def _cap(self, n: int, demand: np.ndarray) -> Stop | None:
        """Return the lowest queue above a user whose cap leaves no room for a task (or for any part of one)."""
        queues = self.instance.tree
        for v in queues.chain(int(queues.of[n])):
            caps = queues.caps[v]
            step = (
                demand if self.whole else 2 * AUDIT * caps
            )  # a full cap leaves no part of a task, but for rounding
            over = (demand > 0) & (self._by_queue[v] + step > caps * (1 + AUDIT))
            if over.any():
                return Stop("cap", int(over.argmax()), _NONE, queue=v)
        return None if queues.quotas is None else self._quota(n, queues, queues.quotas.resource)

    def held(self, resource: int, servers: np.ndarray) -> np.ndarray:
        """Return how much of a resource each user holds on these servers, shape (N,)."""
        there = np.zeros(self.tasks.shape[1])
        there[servers] = 1.0
        return np.asarray((self.sparse @ there) * self.instance.demands[:, resource])


def largest(amounts: np.ndarray, labels: Any) -> dict[Any, float]:
    """Return the largest positive amounts by label, largest first."""
    order = largest_first(amounts)[:HOLDERS]
    return {labels[int(k)]: float(amounts[k]) for k in order if amounts[k] > 0}


#: What is said to stop a user of whom a task fits somewhere.
ROOM = "nothing: it fits"


@dataclass(frozen=True, eq=False)
class ShareComparison:
    """A subject and the fair allocation beside it."""

    subject: Subject
    fair: Allocation

    @classmethod
    def of(
        cls, subject: Subject, mechanism: str | Mechanism | None = None, **options: Any
    ) -> ShareComparison:
        """Return the comparison under a mechanism; of a dump, a task that fits no server is owed to nobody."""
        if subject.scheduler:
            options = {"oversized": "drop", **options}
        try:
            found = allocate(subject.instance, chosen(subject.instance, mechanism), **options)
        except SolverError as error:
            if mechanism is not None:
                raise
            other = chosen(subject.instance, None, failed=1)
            warnings.warn(
                f"what is fair is that of {other!r}: {error}", FairlpWarning, stacklevel=2
            )
            found = allocate(subject.instance, other, **options)
        return cls(
            subject, getattr(found, "last", found)
        )  # of users who arrive: after the last step

    @property
    def instance(self) -> Instance:
        """Who demands what, and what there is."""
        return self.subject.instance

    @property
    def tasks(self) -> np.ndarray:
        """What runs now, or what the mechanism gives where nothing is known to run."""
        return self.fair.tasks_array if self.subject.tasks is None else self.subject.tasks

    @property
    def allocation(self) -> Allocation:
        """What is reported on: what runs now, or else what the mechanism gives."""
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
        lacks = np.minimum(self.fair_tasks - self.has, self.waiting)
        return np.where(lacks > AUDIT * np.maximum(self.fair_tasks, self.has), lacks, 0.0)

    @cached_property
    def share_of_a_task(self) -> np.ndarray:
        """Dominant share of one task of each user."""
        return np.asarray((self.instance.demands / self.instance.pool).max(axis=1))

    @cached_property
    def blocking(self) -> Blocking:
        """What is left of the servers."""
        return Blocking(self.instance, self.tasks, whole=self.subject.tasks is not None)

    @cached_property
    def wants(self) -> np.ndarray:
        """Positions of the users who want more."""
        return np.flatnonzero(self.waiting > AUDIT * np.maximum(self.has, 1.0))

    @cached_property
    def stops(self) -> dict[int, Stop]:
        """What stops each user who wants more (the first ``MOST_USERS`` of them by what they are owed)."""
        order = largest_first((self.owed * self.share_of_a_task)[self.wants])
        return {int(n): self.blocking.of(int(n)) for n in self.wants[order][:MOST_USERS]}

    @cached_property
    def users(self) -> pd.DataFrame:
        """One row for each user; see :func:`fairlp.fair_shares`."""
        instance = self.instance
        share = self.share_of_a_task
        kept = self._floors
        rows = [self._held_by_users(n) for n in range(len(instance.users))]
        columns = {
            "queue": list(instance.queue or [""] * len(instance.users)),
            "tasks": self.has,
            "fair_tasks": self.fair_tasks,
            "share": self.has * share,
            "fair_share": self.fair_tasks * share,
            "guarantee": kept * share,
            "borrowed": np.maximum(self.has - kept, 0.0) * share,
            "waiting": self.waiting,
            "owed": self.owed,
        }
        if not self._guaranteed:
            columns |= {"guarantee": np.nan, "borrowed": np.nan}
        return pd.DataFrame(columns | _of(rows), index=instance.users.labels.rename("user"))

    @cached_property
    def queues(self) -> pd.DataFrame:
        """One row for each queue, the root first; see :func:`fairlp.fair_shares`."""
        instance = self.instance
        tree = self.instance.queues
        if tree is None:
            raise TypeError("the instance has no queues")
        below = tree.below
        pool = instance.pool
        demands = instance.demands
        has, fair_tasks = (
            (below @ (each[:, None] * demands)) for each in (self.has, self.fair_tasks)
        )
        borrowed = (np.maximum(has - tree.guarantees, 0.0) / pool).max(axis=1)
        guarantee = (tree.guarantees / pool).max(axis=1)
        borrowed[0] = np.nan  # the root has nobody to borrow from
        rows = [self._held_by_queues(v) for v in range(len(tree))]
        columns = {
            "level": tree.depths,
            "users": below.sum(axis=1).astype(int),
            "weight": tree.weights,
            "tasks": below @ self.has,
            "fair_tasks": below @ self.fair_tasks,
            "share": (has / pool).max(axis=1),
            "fair_share": (fair_tasks / pool).max(axis=1),
            "guarantee": guarantee if self._guaranteed else np.nan,
            "cap": np.where(tree.capped.any(axis=1), (tree.caps / pool).min(axis=1), np.nan),
            "borrowed": borrowed if self._guaranteed else np.nan,
            "waiting": below @ self.waiting,
            "owed": below @ self.owed,
        }
        found = pd.DataFrame(columns | _of(rows), index=pd.Index(tree.paths.labels, name="queue"))
        shares = self.subject.shares
        return found if shares.empty else found.join(shares)

    @property
    def _guaranteed(self) -> bool:
        return bool(self.instance.tree.guarantees.any())

    @cached_property
    def _floors(self) -> np.ndarray:
        simple = self._guaranteed and not self.instance.has_resource_weights
        return floors(self.instance) if simple else np.zeros(len(self.instance.users))

    def _held_by_users(self, n: int) -> tuple[Any, ...]:
        """Return what stops a user, where, who holds most of it, and who holds it beyond its fair share."""
        stop = self.stops.get(n)
        if stop is None:
            return "", 0, "", {}, {}
        held = self._holding(stop)
        users = self.instance.users
        return *self._words(stop), largest(held, users), largest(held * self._excess, users)

    def _held_by_queues(self, v: int) -> tuple[Any, ...]:
        """Return what stops most tasks that wait below a queue, where, and which other queues hold it."""
        tree = self.instance.tree
        found: dict[tuple[str, int, int], list[int]] = {}
        for n in self._stopped_below[v]:
            stop = self.stops[n]
            found.setdefault((stop.why, stop.resource, stop.queue), []).append(n)
        if not found:
            return "", 0, "", {}, {}
        finite = np.where(np.isfinite(self.waiting), self.waiting, 1.0)
        most = max(found.values(), key=lambda who: (finite[who] * self.share_of_a_task[who]).sum())
        stop = self.stops[most[0]]
        servers = np.unique(np.concatenate([self.stops[n].servers for n in most]))
        held = self._holding(stop._replace(servers=servers))
        outside = np.ones(len(held))
        if stop.why == "resource" and v:
            outside -= tree.users_below(v)
        amounts = (
            np.bincount(tree.of, each * outside, len(tree)) for each in (held, held * self._excess)
        )
        what, _, where = self._words(stop)
        return (
            what,
            int(self.instance.counts[servers].sum()),
            where,
            *(largest(one, self._paths) for one in amounts),
        )

    @cached_property
    def _paths(self) -> list[str]:
        """Labels of queues for people: the root is called so."""
        return [str(path) or "(root)" for path in self.instance.tree.paths]

    @cached_property
    def _stopped_below(self) -> list[list[int]]:
        """Users who are stopped, for each queue that they stand in or below."""
        tree = self.instance.tree
        found: list[list[int]] = [[] for _ in range(len(tree))]
        for n in self.stops:
            for v in tree.chain(int(tree.of[n])):
                found[v].append(n)
        return found

    def _holding(self, stop: Stop) -> np.ndarray:
        """Return what each user holds of what stops one."""
        if stop.why == "resource":
            return self.blocking.held(stop.resource, stop.servers)
        if stop.why == "cap":
            below = self.instance.tree.users_below(stop.queue)
            return np.asarray(below * self.has * self.instance.demands[:, stop.resource])
        return np.zeros(len(self.has))

    @cached_property
    def _excess(self) -> np.ndarray:
        """The part of what each user has that is beyond its fair share."""
        beyond = np.where(self.has > self.fair_tasks * (1 + AUDIT), self.has - self.fair_tasks, 0.0)
        return quotients(beyond, self.has)

    def _words(self, stop: Stop) -> tuple[str, int, str]:
        """Return what stops a user, on how many servers, and the nearest of them (of a cap: the queue)."""
        count = int(self.instance.counts[stop.servers].sum())
        nearest = str(self.instance.servers[stop.nearest]) if stop.nearest >= 0 else ""
        if stop.why == "cap":
            tree = self.instance.tree
            resource = self.instance.resources[stop.resource]
            none = tree.quotas is not None and tree.caps[stop.queue, stop.resource] == 0
            return f"{'no quota' if none else 'cap'} of {resource}", 0, str(tree.paths[stop.queue])
        words = {"room": ROOM, "nowhere": "it fits no server"}
        return words.get(stop.why) or str(self.instance.resources[stop.resource]), count, nearest


def _of(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Return the columns of what stops users or queues."""
    names = ("blocked_by", "servers", "where", "held_by", "beyond_fair")
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


# ``fair_shares``: who has what and what would be fair, as a table.


def fair_shares(
    given: Given,
    mechanism: str | Mechanism | None = None,
    *,
    observed: Any = None,
    by: Literal["user", "queue"] = "user",
    level: int | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Return who has what beside what is fair, what each waits for, and who holds it.

    Parameters
    ----------
    given : Snapshot, Instance, str or Path
        A path is of a scheduler's dump (:func:`fairlp.snapshot`) or of an instance
        (:func:`fairlp.read`).
    mechanism : str or Mechanism, optional
        What is fair; by default hierarchical DRF where users stand in queues, else DRF of the pool.
    observed : Allocation, DataFrame of users × servers, or array of that shape, optional
        What runs now, for an instance; without it, what the mechanism gives is what everyone has.
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
        what is ``borrowed`` beyond it, as shares (NaN without guarantees; a user's part of its
        queue's); tasks ``waiting``, and ``owed`` of the fair share; ``blocked_by`` (the resource,
        or a queue's cap), on how many ``servers``, ``where`` least is lacking (or whose cap it is);
        ``held_by`` (the three who hold most of it there) and ``beyond_fair`` (what those hold who
        have more than is fair). A queue also has ``level``, ``users``, ``weight`` and ``cap``.

    Raises
    ------
    InstanceError
        Where queues are asked for and there are none.
    UnknownNameError
        For another ``by``.

    Examples
    --------
    >>> import fairlp
    >>> queued = fairlp.Instance.from_arrays([[1, 0], [1, 0]], [[4, 4]], users=["A", "B"], queue=["a", "b"])
    >>> found = fairlp.fair_shares(queued, observed=[[3], [1]])
    >>> found["owed"].to_dict(), found.loc["B", "blocked_by"], found.loc["B", "beyond_fair"]
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
