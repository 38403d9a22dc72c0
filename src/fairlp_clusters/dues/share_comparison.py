"""Shares beside fair shares: by user, and by queue at every level."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
import pandas as pd

import fairlp
from fairlp import Allocation, Instance, Mechanism, allocate, formulations
from fairlp.errors import FairlpWarning, InstanceError, SolverError, quoted, require_known
from fairlp.toolkit import largest_first, lists, quotients

from ..readers.volcano import CAPACITY, PROPORTION
from .blocking import Blocking, Obstacle, fitting_copies, placed_in_turn
from .jobs import AUDIT, WaitingJob, jobs_that_wait
from .past import fair_with_past
from .reach import could_start, is_undecided
from .room import Fit, fit
from .subject import ClusterSource, Subject, mechanism_or_default, subject_of
from .tenants import TenantShares
from .waiting import WaitingSummary, summaries

#: So many holders of an obstacle are named, those with most first; all who hold more than is fair.
HOLDERS = 3
#: Obstacles are computed for so many users, those who are owed most.
MOST_USERS = 5000


def largest(amounts: np.ndarray, labels: Any, count: int | None = None) -> dict[Any, float]:
    """Return the positive amounts by label, largest first; all of them or so many."""
    order = largest_first(amounts)[:count]
    return {labels[int(k)]: float(amounts[k]) for k in order if amounts[k] > 0}


#: The obstacle, in words, of a user of whom a task fits on a server.
ROOM = "it fits in what is free"


def resource_of(blocked_by: str) -> str:
    """Return the resource of an obstacle in words.

    >>> resource_of("cap of cpu"), resource_of("quota of gpu"), resource_of("memory")
    ('cpu', 'gpu', 'memory')
    """
    for limit in ("cap of ", "quota of ", "no quota of "):
        blocked_by = blocked_by.removeprefix(limit)
    return blocked_by


class ObstacleRow(NamedTuple):
    """The columns of an obstacle.

    ``held_by`` are the tenants or queues who hold most of it, ``beyond_fair`` all who hold it
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
        if subject.no_fair_sharing and mechanism is None:
            instance = _without_borrowing(instance)
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
    def tenant_shares(self) -> TenantShares:
        """The shares of tenants, of which the users are parts."""
        shares = self._shares_beside(self.fair_tasks)
        if self.subject.asleep.any() and self.subject.tasks is not None:
            self._start(shares)
        return shares

    def _start(self, shares: TenantShares) -> None:
        """Take off what tenants are owed the jobs that fit on servers that sleep, which start."""
        asleep = self.subject.asleep
        starting = np.zeros(len(shares.jobs), dtype=int)
        owed = np.flatnonzero(shares.owed_jobs).tolist()
        jobs = [shares.jobs[k]._replace(copies=int(shares.owed_jobs[k])) for k in owed]
        for position, placements, _, _ in placed_in_turn(self.blocking, jobs):
            k, job = owed[position], jobs[position]
            if job.size == 1:
                starting[k] = sum(
                    int(placement.tasks[asleep[placement.servers]].sum())
                    for placement in placements
                )
                continue
            copies = [
                placements[c : c + len(job.tasks)]
                for c in range(0, len(placements), len(job.tasks))
            ]
            starting[k] = sum(
                any(placement.tasks[asleep[placement.servers]].any() for placement in of_copy)
                for of_copy in copies
            )
        shares.start(starting)

    def _shares_beside(self, fair_tasks: np.ndarray) -> TenantShares:
        """Return the shares of tenants beside fair tasks of users."""
        subject = self.subject
        return TenantShares(
            self.instance,
            subject.tenants,
            self.has,
            fair_tasks,
            self.waiting,
            self.waiting_jobs,
            by_resource=subject.plugin in (CAPACITY, PROPORTION),
        )

    @cached_property
    def waiting_jobs(self) -> list[WaitingJob]:
        """The jobs that wait."""
        if self.subject.tasks is not None:
            return self.subject.waiting_jobs
        return jobs_that_wait(self.instance, self.waiting)

    @cached_property
    def fair_with_past(self) -> Allocation | None:
        """The fair tasks of the next half-life, past use counted; None where none is known."""
        if self.subject.history.empty or self.subject.tasks is None:
            return None
        history = self.subject.history.reindex(list(self.instance.users)).dropna()
        return fair_with_past(self.instance, history, oversized="drop")

    @cached_property
    def tenant_shares_with_past(self) -> TenantShares | None:
        """The shares of tenants beside those that are fair with past use counted."""
        if self.fair_with_past is None:
            return None
        return self._shares_beside(np.asarray(self.fair_with_past.tasks_array.sum(axis=1)))

    @cached_property
    def tenant_shares_with_fair_sharing(self) -> TenantShares | None:
        """The shares of tenants beside those that fair sharing would give, where it is off."""
        if not self.subject.no_fair_sharing or self.instance.tree.quotas is None:
            return None
        shared = allocate(self.instance, "kueue", oversized="drop")
        return self._shares_beside(np.asarray(shared.tasks_array.sum(axis=1)))

    @property
    def owed(self) -> np.ndarray:
        """Tasks of each user that wait, and that its tenant lacks of its fair share."""
        return self.tenant_shares.owed

    @cached_property
    def share_of_a_task(self) -> np.ndarray:
        """Dominant share of one task of each user."""
        return np.asarray((self.instance.demands / self.instance.pool).max(axis=1))

    @cached_property
    def blocking(self) -> Blocking:
        """The obstacles of users beside these tasks."""
        return Blocking(
            self.instance,
            self.tasks,
            whole=self.subject.tasks is not None,
            pieces=self.subject.pieces,
            asleep=self.subject.asleep,
        )

    def owed_jobs_of(self, t: int) -> list[int]:
        """Return the positions of the jobs that a tenant is owed."""
        tenants = self.subject.tenants
        return [
            k
            for k in np.flatnonzero(self.tenant_shares.owed_jobs).tolist()
            if tenants.of_job(self.waiting_jobs[k]) == t
        ]

    @cached_property
    def summaries(self) -> dict[int, WaitingSummary]:
        """What waits, by tenant; those first of whom most does."""
        return summaries(self)

    @cached_property
    def _fits(self) -> dict[int, Fit]:
        return {}

    def fit_of(self, t: int) -> Fit:
        """Return how many of the jobs that a tenant is owed fit now; computed once."""
        if t not in self._fits:
            self._fits[t] = fit(self, t)
        return self._fits[t]

    @cached_property
    def short(self) -> np.ndarray:
        """Positions of the tenants that are short, those that lack most first.

        A tenant is short where (a) its due, in whole jobs, is more than it has, and (b) one of these jobs
        could start on what is free and what others hold beyond their dues, and the dump tells that
        room is what it lacks. None are where what runs is not known, or who schedules.
        """
        if self.subject.tasks is None or self.subject.no_verdict:
            return np.zeros(0, dtype=int)
        shares = self.tenant_shares
        is_short = [
            any(
                not is_undecided(shares.jobs[k]) and could_start(self, shares.jobs[k], int(t))
                for k in self.owed_jobs_of(int(t))
            )
            for t in shares.short
        ]
        return np.asarray(shares.short[np.array(is_short, dtype=bool)])

    @cached_property
    def waiting_users(self) -> np.ndarray:
        """Positions of the users whose tasks wait."""
        return np.flatnonzero(self.waiting > AUDIT * np.maximum(self.has, 1.0))

    @cached_property
    def obstacles(self) -> dict[int, Obstacle]:
        """The obstacle of each user who waits (of ``MOST_USERS``, by what they are owed)."""
        order = largest_first((self.owed * self.share_of_a_task)[self.waiting_users])
        users = self.waiting_users[order][:MOST_USERS]
        return {int(n): self._obstacle(int(n)) for n in users}

    @cached_property
    def _jobs_of_users(self) -> dict[int, list[int]]:
        """Positions of the jobs that wait by user: those owed first, the smallest first."""
        owed_jobs = self.tenant_shares.owed_jobs
        jobs: dict[int, list[int]] = {}
        for k, job in enumerate(self.waiting_jobs):
            for n in job.tasks:
                jobs.setdefault(n, []).append(k)

        def order(k: int) -> tuple[bool, bool, int]:
            job = self.waiting_jobs[k]
            return owed_jobs[k] == 0, bool(job.after), job.size

        return {n: sorted(of_user, key=order) for n, of_user in jobs.items()}

    def _obstacle(self, n: int) -> Obstacle:
        """Return what stops the next job of a user, behind those that are owed and fit."""
        t = int(self.subject.tenants.of[n])
        if t in self.short:
            owed = self.fit_of(t)
            missing = owed.missing
            of_user = [job for job in owed.jobs if n in job.tasks]
            for job in missing:
                if n in job.tasks:
                    return owed.blocking.of_job(missing[0] if job.after else job)
            if of_user:
                return self.blocking.of_job(of_user[0])
        jobs = self._jobs_of_users.get(n, [])
        if self.subject.tasks is None or not jobs:
            return self.blocking.of(n)
        owed_jobs = self.tenant_shares.owed_jobs
        blocking = self.blocking
        for k in jobs:
            job = self.waiting_jobs[k]
            if not owed_jobs[k]:
                break
            placements, count = fitting_copies(blocking, job, int(owed_jobs[k]))
            blocking = blocking.beside(placements)
            if count < owed_jobs[k]:
                return blocking.of_job(job)
        return self.blocking.of_job(self.waiting_jobs[jobs[0]])

    @cached_property
    def users(self) -> pd.DataFrame:
        """One row for each user; see :func:`fairlp_clusters.fair_shares`."""
        instance = self.instance
        share = self.share_of_a_task
        guaranteed = self._floors
        rows = self._obstacles_of_users
        tenants = self.subject.tenants
        columns = {
            "queue": list(instance.queue or [""] * len(instance.users)),
            "tenant": [tenants.names[t] for t in tenants.of],
            "tasks": self.has,
            "fair_tasks": self.fair_tasks,
            "share": self.has * share,
            "fair_share": self.fair_tasks * share,
            "guarantee": guaranteed * share,
            "borrowed": np.maximum(self.has - guaranteed, 0.0) * share,
            "waiting": self.waiting,
            "owed": self.owed,
        }
        if not self._has_guarantees:
            columns |= {"guarantee": np.nan, "borrowed": np.nan}
        if tenants.are_users:
            del columns["tenant"]
        return pd.DataFrame(columns | _columns_of(rows), index=instance.users.labels.rename("user"))

    @cached_property
    def tenants(self) -> pd.DataFrame:
        """One row for each tenant; see :func:`fairlp_clusters.fair_shares`."""
        instance = self.instance
        shares = self.tenant_shares
        tenants = self.subject.tenants
        guaranteed = tenants.sums(self._floors[:, None] * shares.parts).max(axis=1)
        tasks_beyond_floors = np.maximum(self.has - self._floors, 0.0)
        borrowed = tenants.sums(tasks_beyond_floors[:, None] * shares.parts)
        rows = [self._obstacle_of_tenant(t) for t in range(len(tenants.names))]
        queues = instance.queue or [""] * len(instance.users)
        first_users = np.unique(tenants.of, return_index=True)[1]
        columns = {
            "queue": [queues[n] for n in first_users],
            "sizes": tenants.sizes,
            "tasks": tenants.sums(self.has),
            "fair_tasks": tenants.sums(self.fair_tasks),
            "share": shares.share,
            "fair_share": shares.fair_share,
            "guarantee": guaranteed if self._has_guarantees else np.nan,
            "borrowed": borrowed.max(axis=1) if self._has_guarantees else np.nan,
            "waiting": tenants.sums(self.waiting),
            "owed": tenants.sums(self.owed),
        }
        with_past = self.tenant_shares_with_past
        if with_past is not None:
            columns["fair_share_with_past"] = with_past.fair_share
            columns["owed_with_past"] = tenants.sums(with_past.owed)
        index = pd.Index(tenants.names, name="tenant", dtype=object)
        return pd.DataFrame(columns | _columns_of(rows), index=index)

    @cached_property
    def queues(self) -> pd.DataFrame:
        """One row for each queue, the root first; see :func:`fairlp_clusters.fair_shares`."""
        instance = self.instance
        tree = instance.queues
        if tree is None:
            raise TypeError("the instance has no queues")
        below = tree.below
        pool = instance.pool

        amounts = below @ (self.has[:, None] * instance.demands)
        fair_amounts = below @ (self.fair_tasks[:, None] * instance.demands)
        guarantee = (self._guarantees_below / pool).max(axis=1)
        amounts_beyond = np.maximum(amounts - self._guarantees_below, 0.0)
        borrowed = (amounts_beyond / pool).max(axis=1)
        borrowed[0] = np.nan  # the root has no queue to borrow from
        if tree.quotas is not None:  # cohorts are guaranteed nothing but what stands below them
            guarantee[~tree.guarantees.any(axis=1)] = np.nan
        has_cap = tree.capped.any(axis=1)
        cap = np.where(has_cap, (tree.caps / pool).min(axis=1), np.nan)
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
        """Guarantees of queues; where a queue has none, those of its children together."""
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
            return fairlp.queues.floors(self.instance)
        return np.zeros(len(self.instance.users))

    @cached_property
    def _obstacles_of_users(self) -> list[ObstacleRow]:
        """The obstacle of each user in words, with its holders; empty for one that has none."""
        return [
            self.with_holders(n, self.obstacles[n])
            if n in self.obstacles
            else ObstacleRow.without_holders()
            for n in range(len(self.instance.users))
        ]

    def with_holders(self, n: int, obstacle: Obstacle) -> ObstacleRow:
        """Return an obstacle of a user in words, and the tenants who hold it."""
        tenants = self.subject.tenants
        of_users = self._amounts_held(obstacle)
        amounts = tenants.sums(of_users)
        beyond_fair = tenants.sums(self._beyond_fair(of_users, obstacle.resource))
        beyond_fair[tenants.of[n]] = 0.0
        return self._described(obstacle)._replace(
            held_by=largest(amounts, tenants.names, HOLDERS),
            beyond_fair=largest(beyond_fair, tenants.names),
        )

    def _obstacle_of_tenant(self, t: int) -> ObstacleRow:
        """Return the obstacle of the tasks that a tenant is owed, else of those that wait."""
        if t in self.short:
            owed = self.fit_of(t)
            missing = owed.missing
            job = missing[0] if missing else owed.jobs[0]
            obstacle = (owed.blocking if missing else self.blocking).of_job(job)
            return self.with_holders(next(iter(job.tasks)), obstacle)
        users = self.subject.tenants.users[t]
        users = users[[int(n) in self.obstacles for n in users]]
        if not users.size:
            return ObstacleRow.without_holders()
        owed_share = self.owed[users] * self.share_of_a_task[users]
        return self._obstacles_of_users[int(users[owed_share.argmax()])]

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
        beyond_fair = self._beyond_fair(amounts, first.resource)
        excess_of_queue = np.bincount(tree.of, beyond_fair * outside, len(tree))
        return self._described(first)._replace(
            servers=int(self.instance.counts[servers].sum()),
            held_by=largest(held_by_queue, self._paths, HOLDERS),
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

    def _beyond_fair(self, amounts: np.ndarray, resource: int) -> np.ndarray:
        """Return what is beyond fair shares of amounts of a resource that users hold somewhere.

        What a tenant has beyond its fair share may be all there.
        """
        tenants = self.subject.tenants
        held = tenants.sums(amounts)
        total = tenants.sums(self.has * self.instance.demands[:, resource])
        beyond = np.minimum(held, total * self.tenant_shares.excess)
        return np.asarray(amounts * quotients(beyond, held)[tenants.of])

    def limit_of(self, obstacle: Obstacle) -> str:
        """Return the limit of a queue that stops a user: ``cap``, ``quota`` or ``no quota``."""
        tree = self.instance.tree
        if tree.quotas is None:
            return "cap"
        if tree.caps[obstacle.queue, obstacle.resource] == 0:
            return "no quota"
        columns = tree.quotas.resource == obstacle.resource
        borrowing = tree.quotas.amounts[1, obstacle.queue, columns]
        has_own_limit = tree.depths[obstacle.queue] > 1 and np.isfinite(borrowing).any()
        return "cap" if has_own_limit else "quota"

    def _described(self, obstacle: Obstacle) -> ObstacleRow:
        """Return an obstacle in words, with its servers and the nearest (of a cap: the queue)."""
        instance = self.instance
        if obstacle.kind == "cap":
            resource = instance.resources[obstacle.resource]
            where = str(instance.tree.paths[obstacle.queue])
            limit = self.limit_of(obstacle)
            return ObstacleRow.without_holders(f"{limit} of {resource}", where=where)
        count = int(instance.counts[obstacle.servers].sum())
        nearest = str(instance.servers[obstacle.nearest]) if obstacle.nearest >= 0 else ""
        if obstacle.kind == "room":
            return ObstacleRow.without_holders(ROOM, count, nearest)
        if obstacle.kind == "nowhere":
            return ObstacleRow.without_holders("it fits no server", count, nearest)
        return ObstacleRow.without_holders(
            str(instance.resources[obstacle.resource]), count, nearest
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


# ``fair_shares``: the comparison as a table.


@lists(formulations.options.AllocateOptions)
def fair_shares(
    given: ClusterSource,
    mechanism: str | Mechanism | None = None,
    *,
    observed: Any = None,
    by: Literal["user", "queue", "tenant"] = "user",
    level: int | None = None,
    **options: Unpack[formulations.options.AllocateOptions],
) -> pd.DataFrame:
    """Return shares beside fair shares, the tasks that wait, and the users who hold what they need.

    Parameters
    ----------
    given : Snapshot, Instance, str or Path
        A path is of a scheduler's dump (:func:`fairlp_clusters.snapshot`) or of an instance
        (:func:`fairlp.read`).
    mechanism : str or Mechanism, optional
        The rule of fair shares; by default ``h-drf-counted`` where users stand in queues, else
        ``drfh``.
    observed : Allocation, DataFrame, array or path, optional
        The tasks that run now, for an instance: users × servers, a long table (``user``,
        ``server``, ``tasks``), or the path of a CSV of either form. Without it, users have the
        mechanism's tasks.
    by : {"user", "queue", "tenant"}
        A user of a dump is a class of equal tasks; a tenant is the one whom the scheduler promises
        a share: a Slurm or YARN user, a ClusterQueue, a Volcano queue or a namespace. Users of an
        instance are tenants.
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
        tasks ``waiting``, and ``owed`` (those that wait and that the tenant lacks of its fair
        share); ``blocked_by`` (the resource, or a queue's cap), on how many ``servers``, ``where``
        least is lacking (or the queue of the cap); ``held_by`` (the three tenants who hold most of
        it) and ``beyond_fair`` (the amounts of all who hold more than their fair shares). A queue
        also has ``level``, ``users``, ``weight`` and ``cap``; a user of a dump ``tenant``, and a
        tenant ``sizes``, the number of its classes of equal tasks; where the dump has past use,
        ``fair_share_with_past`` and ``owed_with_past`` count it.

    Raises
    ------
    InstanceError
        For ``by="queue"`` and an instance without queues.
    UnknownNameError
        For another ``by``.

    Examples
    --------
    >>> import fairlp, fairlp_clusters
    >>> queued = fairlp.Instance.from_arrays([[1, 0], [1, 0]], [[4, 4]], users=["A", "B"], queue=["a", "b"])
    >>> shares = fairlp_clusters.fair_shares(queued, observed=[[3], [1]])
    >>> shares["owed"].to_dict(), shares.loc["B", "blocked_by"], shares.loc["B", "beyond_fair"]
    ({'A': 0.0, 'B': 1.0}, 'resource1', {'A': 1.0})
    """
    require_known(by, ("user", "queue", "tenant"), f"by={quoted(by)}")
    subject = subject_of(given, observed)
    if by == "queue" and not subject.instance.has_queues:
        raise InstanceError(
            "the instance has no queues; give queue= (the path of each user's queue) to make some"
        )
    if level is not None and by != "queue":
        raise InstanceError("level is of queues; give by='queue' too")
    comparison = ShareComparison.of(subject, mechanism, **options)
    if by == "user":
        return comparison.users
    if by == "tenant":
        return comparison.tenants
    table = comparison.queues
    return table if level is None else table[table["level"] == level]
