"""What a report is about: an instance, what runs of it now where that is known, and what waits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...errors import FileFormatError, InstanceError, UnknownNameError, nearest, require_known
from ...formulations.normalisers import dominant
from ...mechanisms.allocation import Allocation, tasks_of
from ...mechanisms.mechanism import Mechanism
from ...mechanisms.table import TABLE
from ...models.files.instances import read
from ...models.files.whole_files import home
from ...models.instances.arithmetic import largest_first, quantity
from ...models.instances.instance import Instance
from ...models.instances.merging import equal_servers
from ...models.instances.queues import cleaned
from ..clusters.assembly import Snapshot
from ..clusters.cluster import unique_labels
from ..clusters.reading import snapshot
from ..clusters.sources import files_of, scheduler_of

# Servers by class: equal capacity and attributes together, with a name each.

#: More servers than these, all of another value: the attribute tells servers apart, not kinds of
#: them.
_FEW = 24
#: Longest name made of attributes.
_LETTERS = 60


class Classes(NamedTuple):
    """The classes of an instance's servers, those with most servers first.

    Attributes
    ----------
    names : list of str
    of : ndarray of int, shape (K,)
        Class of each row of servers.
    servers : ndarray of int
        Servers of each class, identical ones counted.
    capacities : ndarray, shape (classes, R)
        Of all servers of the class together.
    each : list of str
        What one server of the class has, in words.
    """

    names: list[str]
    of: np.ndarray
    servers: np.ndarray
    capacities: np.ndarray
    each: list[str]

    @classmethod
    def among(cls, instance: Instance) -> Classes:
        """Return the classes of an instance."""
        attributes = _telling(instance)
        of = equal_servers(instance, attributes)
        servers = np.bincount(of, weights=instance.counts).astype(int)
        rank = np.empty(len(servers), dtype=int)
        order = largest_first(servers)
        rank[order] = np.arange(len(order))
        of = rank[of]
        first = np.unique(of, return_index=True)[1]
        each = [_amounts(instance, int(k)) for k in first]
        names = _unique([_name(instance, attributes, int(k)) for k in first], each)
        total = instance.total_capacities
        capacities = np.column_stack(
            [np.bincount(of, weights=column, minlength=len(names)) for column in total.T]
        )
        return cls(names, of, servers[order], capacities, each)


def _telling(instance: Instance) -> pd.DataFrame:
    """Return the attributes that tell kinds of servers apart: neither one value for all, nor one for each."""
    frame = instance.server_attributes.reset_index(drop=True)
    own = [str(name) for name in instance.servers]
    kept = []
    for k in range(frame.shape[1]):
        values = frame.iloc[:, k].astype(str)
        distinct = values.nunique()
        of_one = distinct == len(own) and (len(own) > _FEW or values.tolist() == own)
        if distinct > 1 and not of_one:
            kept.append(k)
    return frame.iloc[:, kept]


def _name(instance: Instance, attributes: pd.DataFrame, row: int) -> str:
    values = [
        value
        for value in attributes.iloc[row].tolist()
        if value == value and value not in (None, "")
    ]
    name = ", ".join(dict.fromkeys(map(str, values)))
    if len(name) > _LETTERS:
        name = f"{name[:_LETTERS]}…"
    return name or _amounts(instance, row)


def _amounts(instance: Instance, row: int) -> str:
    amounts = zip(instance.capacities[row].tolist(), instance.resources, strict=True)
    return ", ".join(
        quantity(amount, str(resource), instance.units.get(resource, ""))
        for amount, resource in amounts
        if amount > 0
    )


def _unique(names: list[str], amounts: list[str]) -> list[str]:
    """Return names of which no two are the same: amounts are added, then numbers."""
    twice = {name for name in names if names.count(name) > 1}
    return unique_labels(
        f"{name}: {more}" if name in twice else name
        for name, more in zip(names, amounts, strict=True)
    )


#: The files of an instance in a folder; no scheduler's tools write them.
_OWN_FILES = frozenset({"users.csv", "servers.csv"})


@dataclass(frozen=True, eq=False)
class Subject:
    """An instance and what is known of it now.

    Attributes
    ----------
    instance : Instance
        All there is, whether in use or free.
    tasks : ndarray, shape (N, K), or None
        What runs now.
    waiting : ndarray, shape (N,)
        Tasks that wait; infinite where nothing says how many.
    homeless : DataFrame
        ``user``, ``queue``, ``tasks``: what waits of users who may run on no server, and stand in
        no instance.
    not_understood : DataFrame
        What the reader of the dump left out.
    scheduler, name : str
        Whose dump it is (empty: none), and what a title calls it.
    held : DataFrame
        ``user``, ``queue``, ``tasks``, ``reason``: what may not run yet, by the scheduler's own
        reason.
    hidden : Series
        By resource, what nodes say is in use beyond what the tasks of the dump have.
    excluded : Series
        By resource, what users have who were left out of the report.
    shares : DataFrame
        Of queues with quotas, their weighted shares, and those that the scheduler told.
    """

    instance: Instance
    tasks: np.ndarray | None
    waiting: np.ndarray
    homeless: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=["user", "queue", "tasks"])
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
    shares: pd.DataFrame = field(default_factory=pd.DataFrame)
    excluded: pd.Series[float] = field(default_factory=lambda: pd.Series(dtype=float))

    def without(self, names: Iterable[str], there: bool = True) -> Subject:
        """Return the subject without users and queues of these names; what they use counts as used, by nobody here.

        ``there``: whether each has to be there.
        """
        instance = self.instance
        out = np.zeros(len(self.instance.users), dtype=bool)
        labels = [str(user) for user in instance.users]
        queues = instance.queues
        for name in names:
            mine = np.array([label == name for label in labels])
            if queues is not None and cleaned(name) in list(queues.paths):
                mine |= queues.users_below(queues.named(name)) > 0
            if there and not mine.any():
                known = [*labels, *([] if queues is None else map(str, queues.paths))]
                raise UnknownNameError(
                    f"no user and no queue with users is called {name!r}; {nearest(name, known)}"
                )
            out |= mine
        if not out.any():
            return self
        if out.all():
            raise InstanceError("all users are excluded; leave somebody to report on")
        kept = np.flatnonzero(~out)
        tasks = self.tasks
        capacities = instance.capacities
        excluded = self.excluded
        if tasks is not None:
            used = tasks[out].T @ instance.demands[out]
            capacities = np.maximum(capacities - used / instance.counts[:, None], 0.0)
            excluded = excluded.add(
                pd.Series(used.sum(axis=0), index=list(instance.resources)), fill_value=0.0
            )
        left = instance.select_users(kept).replace(capacities=capacities)
        if (
            left.has_queues and tasks is not None
        ):  # it counts for the guarantees and caps of its queues, too
            held = instance.tree.below[:, out] @ (
                tasks[out].sum(axis=1)[:, None] * instance.demands[out]
            )
            guarantees, caps = (
                np.maximum(one - held, 0.0) for one in (left.tree.guarantees, left.tree.caps)
            )
            left = left.derived(queues=replace(left.tree, guarantees=guarantees, caps=caps))
        return replace(
            self,
            instance=left,
            tasks=None if tasks is None else tasks[kept],
            waiting=self.waiting[kept],
            excluded=excluded,
        )

    @property
    def observed(self) -> Allocation | None:
        """What runs now, as an Allocation; None where nobody says."""
        if self.tasks is None:
            return None
        alone = dominant(self.instance)
        return Allocation(
            instance=self.instance,
            mechanism="observed",
            method=self.scheduler or "given",
            tasks_array=self.tasks,
            gamma=alone,
            tasks_per_level=alone,
        )


#: What reports are given: see `subject_of`.
Given = Subject | Snapshot | Instance | str | Path


def is_dump(path: str | Path) -> bool:
    """Whether a file, or one of a folder, was written by a scheduler's tools."""
    source = home(path)
    if (
        not str(path)
        or not (source.is_file() or source.is_dir())
        or source.suffix.lower() in (".yaml", ".yml")
    ):
        return False  # a pipe can be read once only, and is left to the reader of instances
    try:
        files = files_of(source)
    except FileFormatError:  # nothing is in the folder
        return False
    if source.is_dir() and {file.name for file in files} >= _OWN_FILES:
        return False
    return any(_told(file) for file in files)


def _told(path: Path) -> bool:
    """Whether a file tells that a scheduler wrote it; what cannot be read does not, and its own reader says why."""
    try:
        return scheduler_of(path) is not None
    except FileFormatError:
        return False


def subject_of(given: Given, observed: Any = None, scheduler: str | None = None) -> Subject:
    """Return what a report is about.

    Parameters
    ----------
    given : Snapshot, Instance, str or Path
        A path is of a scheduler's dump, or of an instance as :func:`fairlp.read` takes it.
    observed : Allocation, DataFrame of users × servers, or array of that shape, optional
        What runs now; a snapshot says so itself.
    scheduler : str, optional
        Of a path: who wrote it, where the files do not tell.
    """
    if isinstance(given, str | Path):
        if scheduler is None and not is_dump(given):
            given = read(given)
        else:
            return _of_snapshot(snapshot(given, scheduler), observed, Path(given).name)
    if isinstance(given, Snapshot):
        return _of_snapshot(given, observed, given.scheduler)
    if isinstance(given, Subject):
        return given
    if not isinstance(given, Instance):
        raise InstanceError(
            f"{type(given).__name__} was given; expected a Snapshot, an Instance, or the path of a "
            "dump or an instance"
        )
    limits = given.task_limits
    if observed is None:
        return Subject(given, None, limits.copy(), name=given.name)
    tasks = tasks_of(given, observed)
    return Subject(given, tasks, np.maximum(limits - tasks.sum(axis=1), 0.0), name=given.name)


def _of_snapshot(found: Snapshot, observed: Any, name: str) -> Subject:
    if observed is not None:
        raise InstanceError(
            "a snapshot says itself what runs; give observed= with an Instance only"
        )
    instance = found.observed.instance
    users = list(instance.users)
    asked = found.waiting[["user", "queue", "tasks"]]
    there = asked["user"].isin(users)
    waiting = asked[there].groupby("user")["tasks"].sum().reindex(users, fill_value=0)
    return Subject(
        instance,
        found.observed.tasks_array,
        waiting.to_numpy(dtype=float),
        asked[~there].reset_index(drop=True),
        found.not_understood,
        found.scheduler,
        name,
        found.held,
        found.hidden,
        found.shares,
    )


def require_user_or_queue(by: str) -> None:
    """Raise where a table is asked for by something else."""
    require_known(by, ("user", "queue"), f"by={by!r}")


def chosen(
    instance: Instance, mechanism: str | Mechanism | None, failed: int = 0
) -> str | Mechanism:
    """Return the mechanism asked for, or the one that goes without saying; without so many first ones that failed.

    That is the first of the table which shares along the tree where users stand in queues; else the
    first that is about dominant shares of the pool; else the first that is defined.
    """
    if mechanism is not None:
        return mechanism
    rows = [row for row in TABLE.values() if row.compared and row.undefined(instance) is None]
    if instance.has_queues and not instance.tree.is_flat:
        rows = [row for row in rows if row.along_tree] or rows
    else:
        rows = [
            row
            for row in rows
            if row.gamma is dominant and not row.whole_tasks and not row.along_tree
        ] or rows
    if not rows:
        raise InstanceError(
            "no mechanism is defined for this instance; fairlp.mechanisms() says what each expects"
        )
    return rows[min(failed, len(rows) - 1)].name
