"""Quotas of queues as Kueue means them: bookkeeping by resource and flavor, apart from what servers have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, nearest
from ..notation.expressions import Index
from .conditions import Columns, evaluate

if TYPE_CHECKING:
    from .instance import Instance
    from .queues import Queues

#: What a queue may say by resource, or by ``resource@flavor``.
KINDS = ("nominal", "borrowing", "lending")
#: Parts a resource from the condition that picks the servers of a flavor.
AT = "@"


@dataclass(frozen=True, eq=False)
class Quotas:
    """Quotas of the queues of a tree, one column for each resource and flavor.

    A flavor is a set of servers: those where a condition on their attributes holds, or all. What a task takes of a
    resource counts in the first column, in this order, that its queue lists and that has the server. A resource of
    which its queue lists nothing is not counted.

    Attributes
    ----------
    columns : tuple of str
        ``resource``, or ``resource@condition``.
    resource : ndarray of int, shape (M,)
        Position of the resource of each column.
    nominal : ndarray, shape (Q, M)
        What belongs to the queue (N[v]); NaN where it lists nothing.
    borrowing, lending : ndarray, shape (Q, M)
        What it may have beyond what is its own, and what it lends to others, at most; infinite for no limit.
    """

    columns: tuple[str, ...]
    resource: np.ndarray
    nominal: np.ndarray
    borrowing: np.ndarray
    lending: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.resource, self.nominal, self.borrowing, self.lending):
            array.setflags(write=False)

    @property
    def listed(self) -> np.ndarray:
        """Which queue lists which column: bool, shape (Q, M)."""
        return np.asarray(~np.isnan(self.nominal))

    def amounts(self, kind: str, v: int) -> dict[str, float]:
        """Return what a queue says of a kind, by column."""
        row = getattr(self, kind)[v]
        return {self.columns[m]: float(row[m]) for m in np.flatnonzero(np.isfinite(row))}

    def table(self) -> dict[str, Any]:
        """Return one array by queue for each kind and column where any queue says something."""
        found: dict[str, Any] = {}
        for kind in KINDS:
            rows = getattr(self, kind)
            given = np.isfinite(rows)
            shown = np.where(given, rows, np.nan)
            found |= {f"{kind}:{name}": shown[:, m] for m, name in enumerate(self.columns) if given[:, m].any()}
        return found

    def of_resources(self, positions: np.ndarray) -> Quotas | None:
        """Return the quotas of these resources only, by position; None where there are none."""
        place = {int(r): k for k, r in enumerate(positions)}
        kept = [m for m, r in enumerate(self.resource.tolist()) if r in place]
        if not kept:
            return None
        return Quotas(
            tuple(self.columns[m] for m in kept),
            np.array([place[int(self.resource[m])] for m in kept], dtype=np.intp),
            *(getattr(self, kind)[:, kept] for kind in KINDS),
        )

    def servers(self, instance: Instance) -> np.ndarray:
        """Return which servers each column counts on: bool, shape (M, K); unknown names are errors."""
        columns = Columns(instance.server_attributes, instance.capacities, instance.resources)
        found = np.ones((len(self.columns), len(instance.servers)), dtype=bool)
        for m, name in enumerate(self.columns):
            condition = name.removeprefix(str(instance.resources[int(self.resource[m])])).removeprefix(AT)
            if condition:
                found[m] = evaluate(condition, columns, f"the flavor of quota {name!r}")
        return found


def column_of(key: Any, resources: Sequence[Any], what: str) -> int:
    """Return the position of the resource that ``resource`` or ``resource@condition`` is about."""
    known = {str(resource): r for r, resource in enumerate(resources)}
    own = str(key) if str(key) in known else str(key).partition(AT)[0]
    if own not in known:
        raise InstanceError(f"{what} names {key!r}, which is no resource; {nearest(own, known)}")
    return known[own]


def quotas_of(rows: Mapping[str, Mapping[str, Mapping[str, float]]], tree: Sequence[str], resources: Index) -> Any:
    """Return the quotas of what queues say by path, kind and column; None where no queue says anything.

    Raises
    ------
    InstanceError
        For an amount below 0, and a limit of a column of which the queue has no nominal quota.
    """
    names = list(dict.fromkeys(name for given in rows.values() for kind in KINDS for name in given.get(kind, {})))
    names.sort(key=lambda name: AT not in name)  # what is of some servers comes before what is of all
    if not names:
        return None
    place, column = {path: v for v, path in enumerate(tree)}, {name: m for m, name in enumerate(names)}
    filled = {kind: np.full((len(tree), len(names)), np.nan if kind == "nominal" else np.inf) for kind in KINDS}
    for path, given in rows.items():
        for kind in KINDS:
            for name, amount in given.get(kind, {}).items():
                what = f"{kind} of queue {path!r}, {name!r},"
                if not amount >= 0 or (kind == "nominal" and np.isinf(amount)):
                    raise InstanceError(f"{what} is {amount:g}; expected a number >= 0 (leave it out for none)")
                if kind != "nominal" and name not in given.get("nominal", {}):
                    raise InstanceError(f"{what} has no nominal quota beside it; give one (0 counts)")
                filled[kind][place[path], column[name]] = amount
    of = np.array([column_of(name, list(resources), "a quota") for name in names], dtype=np.intp)
    return Quotas(tuple(names), of, *(filled[kind] for kind in KINDS))


@dataclass(frozen=True, eq=False)
class Lanes:
    """The ways in which tasks can count in quotas: one lane for each user and choice of flavors.

    Attributes
    ----------
    instance : Instance
        Its users are the lanes; each may run on the servers of its flavors only. The one that was given, where each
        user has one lane and quotas keep it from no server.
    user : ndarray of int
        User of each lane; lanes of one user lie together, in the order in which it tries them.
    use : ndarray, shape (lanes, M)
        What one task of a lane takes of each column of the quotas.
    """

    instance: Instance
    user: np.ndarray
    use: np.ndarray

    @property
    def split(self) -> bool:
        """Whether any user has several lanes."""
        return bool((np.diff(self.user) == 0).any())

    @classmethod
    def of(cls, instance: Instance) -> Lanes:
        """Return the lanes of an instance with quotas."""
        queues = instance.queues
        assert queues is not None and queues.quotas is not None
        quotas, there, runs = queues.quotas, queues.quotas.servers(instance), instance.runnable()
        listed = quotas.listed[nearest_listing(queues)]
        groups: dict[tuple[bytes, bytes], list[int]] = {}
        for n, asked in enumerate(instance.demands > 0):
            groups.setdefault((listed[queues.of[n]].tobytes(), asked.tobytes()), []).append(n)
        found: list[tuple[int, np.ndarray, np.ndarray]] = []
        for members in groups.values():
            ways = _ways(quotas, there, listed[queues.of[members[0]]], instance.demands[members[0]] > 0)
            for n in members:
                own = [(n, columns, where & runs[n]) for columns, where in ways if (where & runs[n]).any()]
                found += own or [(n, np.zeros(0, dtype=int), np.zeros(len(instance.servers), dtype=bool))]
        found.sort(key=lambda one: one[0])  # stable: the lanes of a user stay in order
        user = np.array([n for n, _, _ in found])
        use = np.zeros((len(found), len(quotas.columns)))
        for k, (n, columns, _) in enumerate(found):
            use[k, columns] = instance.demands[n, quotas.resource[columns]]
        allowed = np.array([where for _, _, where in found]).reshape(len(found), -1)
        if len(found) == len(instance.users) and (allowed == runs).all():
            return cls(instance, user, use)
        return cls(_with_lanes(instance, user, allowed), user, use)


def nearest_listing(queues: Queues) -> np.ndarray:
    """Return the lowest queue from each one upward that lists any quota; where none does, the root. Shape (Q,)."""
    assert queues.quotas is not None
    lists = np.asarray(queues.quotas.listed.any(axis=1))
    found = np.zeros(len(lists), dtype=np.intp)
    for v in range(1, len(lists)):  # parents come first
        found[v] = v if lists[v] else found[queues.parents[v]]
    return found


def _ways(
    quotas: Quotas, there: np.ndarray, listed: np.ndarray, asked: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the columns that tasks of one kind can count in together, and the servers where they do."""
    picks = []
    allowed, servers = np.ones(there.shape[1], dtype=bool), there.shape[1]
    for r in np.flatnonzero(asked):
        columns = np.flatnonzero(listed & (quotas.resource == r))
        if columns.size:
            allowed = np.logical_and(allowed, there[columns].any(axis=0))
            picks.append(columns[there[columns].argmax(axis=0)])
    if not picks:
        return [(np.zeros(0, dtype=int), allowed)]
    combined = np.array(picks)
    kinds, which = np.unique(combined[:, allowed], axis=1, return_inverse=True)
    ways = []
    for k in range(kinds.shape[1]):
        where = np.zeros(servers, dtype=bool)
        where[np.flatnonzero(allowed)[which.ravel() == k]] = True
        ways.append((kinds[:, k], where))
    return ways


def _with_lanes(instance: Instance, user: np.ndarray, allowed: np.ndarray) -> Instance:
    """Return the instance with lanes as its users."""
    first = np.searchsorted(user, user)
    labels = [
        str(instance.users[int(n)]) + (f" (flavor {k + 1})" if k else "")
        for n, k in zip(user, np.arange(len(user)) - first, strict=True)
    ]
    attributes = pd.DataFrame(index=pd.Index(labels, dtype=object))
    return replace(
        instance.select_users(user),
        users=Index("n", labels, "user"),
        eligible=allowed,
        user_attributes=attributes,
        conditions=(),
    )
