"""Facts: an instance, its running tasks (if known), those that wait, and what else a dump says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

import fairlp
from fairlp import Allocation, Instance, Mechanism, formulations, mechanisms, read
from fairlp.errors import (
    FileFormatError,
    InstanceError,
    UnknownNameError,
    nearest,
    quoted,
    warn_caller,
)

from ..readers.dumps import dumps_in
from ..readers.reading import snapshot
from ..readers.snapshot import Snapshot
from ..readers.sources import is_dump
from .jobs import (
    AUDIT,
    WaitingJob,
    jobs_that_wait,
    of_users,
    waiting_from,
)
from .tenants import Tenants


@dataclass(frozen=True, eq=False)
class Facts:
    """What a dump says: who schedules, when, who holds, who waits, the scheduler's own words.

    Attributes
    ----------
    instance : Instance
        Of the whole capacity, in use or free.
    tasks : ndarray, shape (N, K), or None
        The tasks that run now.
    waiting : ndarray, shape (N,)
        Tasks that wait; infinite where their number is not known.
    name : str
        The name in a title.
    homeless : DataFrame
        ``user``, ``queue``, ``tasks`` that wait of users who may run on no server, and are no users
        of the instance, and ``why`` no server may take them.
    excluded : Series
        By resource, the amounts of users who are left out of the report.
    tenants : Tenants
        Those whom the scheduler promises a share; by default each user.
    waiting_jobs : list of WaitingJob
        The jobs that wait; by default those of the job sizes of the instance.
    asleep, kept : ndarray of bool, shape (K,)
        Servers that sleep, and start when tasks need them; servers of which the scheduler keeps what
        is free for a job of its choice.
    ending : ndarray, shape (K, R)
        What tasks that are ending still hold.
    pieces : mapping
        Of servers (by position) that stand for several machines, what is free on each.
    others
        As a :class:`~fairlp_clusters.Snapshot` has them; empty of an instance.
    """

    instance: Instance
    tasks: np.ndarray | None
    waiting: np.ndarray
    homeless: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=["user", "queue", "tasks", "why"])
    )
    not_understood: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=["file", "where", "what", "done"])
    )
    scheduler: str = ""
    name: str = ""
    held: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=["user", "queue", "tasks", "reason"])
    )
    hidden: pd.Series[float] = field(default_factory=lambda: pd.Series(dtype=float))
    excluded: pd.Series[float] = field(default_factory=lambda: pd.Series(dtype=float))
    tenants: Tenants = None  # type: ignore[assignment]
    jobs: pd.Series[int] = field(default_factory=lambda: pd.Series(dtype=int))
    plugin: str = ""
    waiting_jobs: list[WaitingJob] = None  # type: ignore[assignment]
    asleep: np.ndarray = None  # type: ignore[assignment]
    kept: np.ndarray = None  # type: ignore[assignment]
    ending: np.ndarray = None  # type: ignore[assignment]
    pieces: Mapping[int, np.ndarray] = field(default_factory=dict)
    preemption: str = ""
    no_fair_sharing: str = ""
    no_verdict: str = ""
    limits_reached: pd.Series[str] = field(default_factory=lambda: pd.Series(dtype=object))
    node_count: int = 0
    time: pd.Timestamp = pd.NaT  # type: ignore[assignment]
    version: str = ""
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # What is not given follows from the instance.
        instance = self.instance
        defaults: dict[str, Callable[[], Any]] = {
            "tenants": lambda: Tenants.each_user(instance),
            "waiting_jobs": lambda: jobs_that_wait(instance, self.waiting),
            "asleep": lambda: np.zeros(len(instance.servers), dtype=bool),
            "kept": lambda: np.zeros(len(instance.servers), dtype=bool),
            "ending": lambda: np.zeros((len(instance.servers), len(instance.resources))),
        }
        for name, default in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default())
        if not self.node_count:
            object.__setattr__(self, "node_count", instance.n_servers)

    def without(self, names: Iterable[str], required: bool = True) -> Facts:
        """Return the facts without users and queues of these names.

        The amounts that they use count as used, by no user of the subject. ``required``: whether each
        name has to be one of a user or queue.
        """
        instance = self.instance
        is_excluded = np.zeros(len(instance.users), dtype=bool)
        for name in names:
            is_excluded |= self._named(name, required)
        if not is_excluded.any():
            return self
        if is_excluded.all():
            raise InstanceError("all users are excluded; leave a user to report on")

        remaining = np.flatnonzero(~is_excluded)
        users = instance.remaining_users(remaining)
        selected = replace(
            self,
            instance=users,
            waiting=self.waiting[remaining],
            waiting_jobs=of_users(self.waiting_jobs, remaining),
            tenants=self.tenants.of_users(remaining),
        )
        if self.tasks is None:
            return selected

        # Their use is no capacity of these facts,
        tasks = self.tasks[is_excluded]
        demands = instance.demands[is_excluded]
        used = tasks.T @ demands
        capacities = np.maximum(instance.capacities - used / instance.counts[:, None], 0.0)
        users = users.replace(capacities=capacities)

        # and it counts for the guarantees and caps of its queues.
        if users.has_queues:
            tree = users.tree
            used_below = instance.tree.below[:, is_excluded] @ (
                tasks.sum(axis=1)[:, None] * demands
            )
            guarantees = np.maximum(tree.guarantees - used_below, 0.0)
            caps = np.maximum(tree.caps - used_below, 0.0)
            users = users.derived(queues=replace(tree, guarantees=guarantees, caps=caps))

        totals = pd.Series(used.sum(axis=0), index=list(instance.resources))
        return replace(
            selected,
            instance=users,
            tasks=self.tasks[remaining],
            jobs=pd.Series(dtype=int),  # which of them are of other users, the dump does not say
            excluded=self.excluded.add(totals, fill_value=0.0),
        )

    def _named(self, name: str, required: bool) -> np.ndarray:
        """Return the mask of the users with this name, or in the queue of this path or below it."""
        labels = [str(user) for user in self.instance.users]
        queues = self.instance.queues
        mask = np.array([label == name for label in labels])
        if queues is not None and fairlp.queues.cleaned(name) in list(queues.paths):
            mask |= queues.users_below(queues.named(name)) > 0
        if required and not mask.any():
            paths = [] if queues is None else list(map(str, queues.paths))
            raise UnknownNameError(
                f"no user and no queue with users is called {quoted(name)}; "
                f"{nearest(name, [*labels, *paths])}"
            )
        return mask

    @property
    def observed(self) -> Allocation | None:
        """The tasks that run now as an Allocation; None where they are not known."""
        if self.tasks is None:
            return None
        gamma = formulations.normalisers.dominant(self.instance)
        return Allocation(
            instance=self.instance,
            mechanism="observed",
            method=self.scheduler or "given",
            tasks_array=self.tasks,
            gamma=gamma,
            tasks_per_level=gamma,
        )


#: The arguments that reports take: see `facts_of`.
ClusterSource: TypeAlias = Facts | Snapshot | Instance | str | Path


def facts_of(source: ClusterSource, observed: Any = None, scheduler: str | None = None) -> Facts:
    """Return the facts of a report.

    Parameters
    ----------
    source : Snapshot, Instance, str or Path
        A path is of a scheduler's dump, or of an instance as :func:`fairlp.read` takes it.
    observed : Allocation, DataFrame, array or path, optional
        The tasks that run now, users × servers; a frame may be long, with columns ``user``,
        ``server`` and ``tasks``, and a path is of a CSV of either form. A snapshot has its own.
    scheduler : str, optional
        Of a path: the scheduler that wrote the files, where their content does not show it.
    """
    if isinstance(source, str | Path):
        dumps = dumps_in(source)
        if dumps:
            raise FileFormatError(
                f"{source} has {len(dumps)} dumps ({dumps[0].name} is the first); expected one: give one "
                "of them, or all to fairlp_clusters.period, whose report() is a page about the period"
            )
        if scheduler is not None or is_dump(source):
            return _of_snapshot(snapshot(source, scheduler), observed, Path(source).name)
        source = read(source)
    if isinstance(source, Snapshot):
        return _of_snapshot(source, observed, source.scheduler)
    if isinstance(source, Facts):
        return source
    if not isinstance(source, Instance):
        raise InstanceError(
            f"{type(source).__name__} was given; expected a Snapshot, an Instance, or the path of a "
            "dump or an instance"
        )
    limits = source.task_limits
    if observed is None:
        return Facts(source, None, limits.copy(), name=source.name)
    tasks = running_tasks(source, observed)
    return Facts(source, tasks, np.maximum(limits - tasks.sum(axis=1), 0.0), name=source.name)


def running_tasks(instance: Instance, observed: Any) -> np.ndarray:
    """Return the tasks that run, users × servers, from any form that an audit takes.

    Negative ones are refused, and a warning names a user who runs where it may not.
    """
    tasks: np.ndarray = mechanisms.tasks_of(instance, observed)
    negative = np.argwhere(tasks < -AUDIT)
    if len(negative):
        n, i = negative[0].tolist()
        raise InstanceError(
            f"user {quoted(instance.users[n])} runs {tasks[n, i]:g} tasks on {quoted(instance.servers[i])}; "
            "expected at least 0"
        )
    outside = np.argwhere((tasks > AUDIT) & ~instance.runnable())
    if len(outside):
        n, i = outside[0].tolist()
        others = f", and {len(outside) - 1} more pairs" if len(outside) > 1 else ""
        warn_caller(
            f"user {quoted(instance.users[n])} runs {tasks[n, i]:g} tasks on {quoted(instance.servers[i])}, which "
            f"it may not use or which lacks what it needs{others}"
        )
    return tasks


def _of_snapshot(dump: Snapshot, observed: Any, name: str) -> Facts:
    """Return the facts of a snapshot."""
    if observed is not None:
        raise InstanceError(
            "a snapshot has its own running tasks; give observed= with an Instance only"
        )
    instance = dump.observed.instance
    users = list(instance.users)
    requests = dump.waiting[["user", "queue", "tasks"]].assign(why=_reasons(dump.waiting))
    is_user = requests["user"].isin(users) & (dump.waiting["nowhere"] == "")
    waiting = requests[is_user].groupby("user")["tasks"].sum().reindex(users, fill_value=0)
    servers = list(instance.servers)
    return Facts(
        instance=instance,
        tasks=dump.observed.tasks_array,
        waiting=waiting.to_numpy(dtype=float),
        name=name,
        homeless=requests[~is_user].reset_index(drop=True),
        tenants=Tenants.named(dump.tenants.reindex(users)),
        waiting_jobs=waiting_from(dump.waiting_jobs, users),
        asleep=np.isin(servers, list(dump.asleep.index)),
        kept=np.isin(servers, list(dump.kept.index)),
        ending=dump.ending.reindex(servers, columns=list(instance.resources))
        .fillna(0.0)
        .to_numpy(float),
        pieces=_pieces(dump),
        **{field: getattr(dump, field) for field in _OF_THE_DUMP},
    )


#: What facts have from a snapshot as it is.
_OF_THE_DUMP = (
    "not_understood",
    "scheduler",
    "held",
    "hidden",
    "jobs",
    "plugin",
    "preemption",
    "no_fair_sharing",
    "no_verdict",
    "limits_reached",
    "node_count",
    "time",
    "version",
    "files",
)


def _pieces(dump: Snapshot) -> dict[int, np.ndarray]:
    """Return what is free on each machine of the servers that stand for several, by position."""
    servers = {server: i for i, server in enumerate(dump.observed.instance.servers)}
    resources = list(dump.observed.instance.resources)
    return {
        servers[server]: machines[resources].to_numpy(dtype=float)
        for server, machines in dump.pieces.groupby("server")
        if server in servers
    }


def _reasons(waiting: pd.DataFrame) -> list[str]:
    """Return why tasks run nowhere, and the scheduler's own words for it."""
    reasons = []
    for nowhere, message in waiting[["nowhere", "message"]].itertuples(index=False):
        quoted = f"“{message}”" if message else ""
        reasons.append("; ".join(filter(None, (nowhere, quoted))))
    return reasons


def mechanism_or_default(instance: Instance, mechanism: str | Mechanism | None) -> str | Mechanism:
    """Return the mechanism, or the default of the instance where none is named.

    The default is the first of the table that shares along the tree where users stand in queues;
    else the first of dominant shares of the pool; else the first that is defined.
    """
    if mechanism is not None:
        return mechanism
    defined = [
        row for row in mechanisms.TABLE.values() if row.compared and row.undefined(instance) is None
    ]
    if instance.has_queues and not instance.tree.is_flat:
        preferred = [row for row in defined if row.along_tree]
    else:
        divisible = [row for row in defined if not row.whole_tasks and not row.along_tree]
        preferred = [row for row in divisible if row.gamma is formulations.normalisers.dominant]
    if not defined:
        raise InstanceError(
            "no mechanism is defined for this instance; fairlp.mechanisms() says what each expects"
        )
    return (preferred or defined)[0].name
