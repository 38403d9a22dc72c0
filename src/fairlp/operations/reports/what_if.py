"""``what_if``: fair shares before and after an edit of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...api import allocate
from ...errors import InstanceError, UnknownNameError, nearest, require_known
from ...mechanisms.mechanism import Mechanism
from ...models.instances.arithmetic import LARGEST_WHOLE
from ...models.instances.instance import Instance
from ...models.instances.queues import cleaned
from ...tolerances import AUDIT
from .subject import Classes, Given, chosen, require_user_or_queue, subject_of

# Edits of an instance for a what-if: more servers of a class, other weights, a queue more.

#: What may be said of a queue beside its weight, guarantee and cap: who stands in it.
_USERS = ("like", "demand", "tasks")


def edited(
    instance: Instance,
    add_servers: Mapping[str, int] | None,
    weights: Mapping[Any, float] | None,
    queues: Mapping[str, Any] | None,
) -> Instance:
    """Return the instance with these edits; see :func:`fairlp.what_if`."""
    if not (add_servers or weights or queues):
        raise InstanceError("nothing is edited; give add_servers=, weights= or queues=")
    if add_servers:
        instance = _with_servers(instance, add_servers)
    if queues:
        instance = _with_queues(instance, queues)
    if weights:
        instance = _with_weights(instance, weights)
    return instance


def _with_servers(instance: Instance, more: Mapping[str, int]) -> Instance:
    """Return the instance with more servers: as the one of that name, or as those of a class."""
    classes = Classes.among(instance)
    counts = np.array(instance.counts)
    rows = {str(name): i for i, name in enumerate(instance.servers)}
    for name, count in more.items():
        if (
            isinstance(count, bool)
            or not isinstance(count, int | np.integer)
            or not 1 <= count < LARGEST_WHOLE
        ):
            raise InstanceError(
                f"add_servers has {count!r} for {name!r}; expected a whole number of at least 1"
            )
        if str(name) in classes.names:
            row = int(np.flatnonzero(classes.of == classes.names.index(str(name)))[0])
        elif str(name) in rows:
            row = rows[str(name)]
        else:
            known = list(dict.fromkeys([*classes.names, *rows]))
            raise UnknownNameError(
                f"there is no class of servers and no server {name!r}; {nearest(name, known)}"
            )
        counts[row] += count
    return instance.replace(counts=counts)


def _with_weights(instance: Instance, weights: Mapping[Any, float]) -> Instance:
    """Return the instance with other weights of queues or users."""
    table = None if not instance.has_queues else instance.tree.table(instance.resources)
    of_users = np.array(instance.user_weights)
    place = {str(user): n for n, user in enumerate(instance.users)}
    paths = set() if table is None else set(table.index) - {""}
    for name, weight in weights.items():
        kind, _, rest = str(name).partition(":")
        said = kind in ("queue", "user") and bool(rest)
        wanted, kinds = (rest, {kind}) if said else (str(name), {"queue", "user"})
        queue = "queue" in kinds and cleaned(wanted) in paths
        user = "user" in kinds and wanted in place
        if queue and user:
            raise InstanceError(
                f"{wanted!r} is a queue and a user; write 'queue:{wanted}' or 'user:{wanted}'"
            )
        if queue and table is not None:
            table.loc[cleaned(wanted), "weight"] = _number(weight, name)
        elif user:
            of_users[place[wanted]] = _number(weight, name)
        else:
            known = [*paths, *place] if len(kinds) == 2 else paths if "queue" in kinds else place
            what = " and no ".join(sorted(kinds))
            raise UnknownNameError(f"there is no {what} {wanted!r}; {nearest(wanted, known)}")
    return instance.replace(weights=of_users, **({} if table is None else {"queues": table}))


def _number(value: Any, name: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InstanceError(f"weight of {name!r} is {value!r}; expected a number > 0") from None


def _with_queues(instance: Instance, queues: Mapping[str, Any]) -> Instance:
    """Return the instance with queues that are new, with users in them, or that are known and said otherwise of."""
    rows = _rows(instance)
    for path, given in queues.items():
        said = (
            dict(given)
            if isinstance(given, Mapping)
            else {}
            if given is None
            else {"weight": given}
        )
        who = {key: said.pop(key) for key in _USERS if key in said}
        name = cleaned(path)
        for key in said:
            if key not in ("weight", "guarantee", "cap"):
                raise InstanceError(
                    f"queue {name!r} has {key!r}; "
                    f"{nearest(key, ('weight', 'guarantee', 'cap', *_USERS))}"
                )
        if name not in rows and not who:
            raise InstanceError(
                f"queue {name!r} is new, and nobody would stand in it; give like= (a user, or a "
                "queue, whose "
                "tasks are run) or demand= (of a task, by resource)"
                + (f"; or {nearest(name, rows)}" if rows else "")
            )
        rows[name] = {**rows.get(name, {}), **said}
        instance = instance if not who else _joined(instance, name, who)
    return instance.replace(queue=list(instance.queue or [""] * len(instance.users)), queues=rows)


def _rows(instance: Instance) -> dict[str, dict[str, Any]]:
    """Return weight, guarantee and cap of each queue, as ``from_arrays`` takes them."""
    tree = instance.queues
    if tree is None:
        return {}
    names = list(instance.resources)
    return {
        path: {
            "weight": float(tree.weights[v]),
            "guarantee": {
                r: float(g) for r, g in zip(names, tree.guarantees[v], strict=True) if g > 0
            },
            "cap": {
                r: float(c) for r, c in zip(names, tree.caps[v], strict=True) if np.isfinite(c)
            },
        }
        for v, path in enumerate(tree.paths)
    }


def _joined(instance: Instance, path: str, who: Mapping[str, Any]) -> Instance:
    """Return the instance with users more in a queue: like others, or with a demand of their own."""
    if ("like" in who) == ("demand" in who):
        raise InstanceError(f"queue {path!r}: give either like= or demand=, one of the two")
    tasks = who.get("tasks")
    if "like" in who:
        like = _users_like(instance, who["like"])
        demands = instance.demands[like]
        eligible = instance.eligible[like]
        limits = instance.task_limits[like] if tasks is None else np.full(len(like), float(tasks))
    else:
        given = who["demand"]
        if not isinstance(given, Mapping):
            raise InstanceError(
                f"demand of queue {path!r} is {given!r}; expected a mapping from resources to "
                "amounts"
            )
        for resource in given:
            require_known(
                resource, list(instance.resources), f"demand of queue {path!r} names {resource!r}"
            )
        demands = np.array([[float(given.get(r, 0.0)) for r in instance.resources]])
        eligible = np.ones((1, len(instance.servers)), dtype=bool)
        limits = np.array([np.inf if tasks is None else float(tasks)])
    if instance.has_rates:
        raise InstanceError("rates are given, and there are none for users that are new")
    return _with_users(instance, path, demands, eligible, limits)


def _users_like(instance: Instance, name: Any) -> np.ndarray:
    """Return the user of that name, or the users who stand in the queue of that path or below it."""
    users = [str(user) for user in instance.users]
    if str(name) in users:
        return np.array([users.index(str(name))])
    tree = instance.queues
    paths = [] if tree is None else [path for path in tree.paths if path]
    if tree is not None and cleaned(str(name)) in paths:
        below = tree.users_below(tree.named(str(name)))
        if below.any():
            return np.flatnonzero(below)
    raise UnknownNameError(
        f"like={name!r} is no user and no queue with users; {nearest(name, [*users, *paths])}"
    )


def _with_users(
    instance: Instance, path: str, demands: np.ndarray, eligible: np.ndarray, limits: np.ndarray
) -> Instance:
    """Return the instance with users more, called after their queue."""
    old = list(instance.users)
    count = len(demands)
    taken = {str(user) for user in old}
    labels = []
    for k in range(count):
        label = f"{path} (new)" if count == 1 else f"{path} (new {k + 1})"
        tail = 1
        while label in taken:
            tail += 1
            label = f"{path} (new {k + 1}.{tail})"
        taken.add(label)
        labels.append(label)
    rows = _rows(instance)
    rows.setdefault(path, {})
    attributes = instance.user_attributes.set_axis(range(len(old))).reindex(range(len(old) + count))
    attributes = attributes.set_axis([*old, *labels])
    return instance.replace(
        demands=np.vstack([instance.demands, demands]),
        users=[*old, *labels],
        weights=np.concatenate([instance.user_weights, np.ones(count)]),
        eligible=np.vstack([instance.eligible, eligible]),
        task_limits=np.concatenate([instance.task_limits, limits]),
        entitlements=None,
        queue=[*(instance.queue or [""] * len(old)), *[path] * count],
        queues=rows,
        user_attributes=attributes,
    )


def what_if(
    given: Given,
    *,
    add_servers: Mapping[str, int] | None = None,
    weights: Mapping[Any, float] | None = None,
    queues: Mapping[str, Any] | None = None,
    mechanism: str | Mechanism | None = None,
    by: Literal["user", "queue"] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Return fair shares before and after an edit of the cluster.

    Parameters
    ----------
    given : Snapshot, Instance, str or Path
        As for :func:`fairlp.fair_shares`.
    add_servers : mapping, optional
        Servers more, by class (what servers of equal capacity are called in a report) or as the
        server of that name.
    weights : mapping, optional
        Other weights, by queue or user; ``queue:NAME`` and ``user:NAME`` where both have the name.
    queues : mapping, optional
        By path, a weight or a mapping with ``weight``, ``guarantee`` and ``cap`` (amounts by
        resource): of a queue that is known, what is given is changed. A new one also has users:
        ``like`` a user, or the users of a queue, or one with a ``demand`` (amounts by resource);
        ``tasks`` says how many they have to run.
    mechanism : str or Mechanism, optional
        As for :func:`fairlp.fair_shares`; the same before and after.
    by : {"user", "queue"}, optional
        By default queues, where there are any afterwards.
    **options
        Of the mechanism.

    Returns
    -------
    DataFrame
        Indexed by queue or user: ``before`` and ``after``, dominant shares of the cluster as it is
        (so that more servers show as more), their ``change``, ``tasks_before`` and ``tasks_after``.
        Who is not there before has 0. Of a dump also ``would_go``: running tasks beyond what is
        fair after the edit, whole ones.

    Raises
    ------
    UnknownNameError
        For a class, server, queue or user that does not exist; the nearest names are given.
    InstanceError
        For an edit that makes no sense.

    Examples
    --------
    >>> import fairlp
    >>> two = fairlp.Instance.from_arrays([[1], [1]], [[6]], users=["A", "B"], servers=["s"])
    >>> fairlp.what_if(two, weights={"A": 2})[["tasks_before", "tasks_after"]].loc["A"].tolist()
    [3.0, 4.0]
    """
    subject = subject_of(given)
    before = subject.instance
    after = edited(before, add_servers, weights, queues)
    if by is None:
        by = "user" if not after.has_queues else "queue"
    require_user_or_queue(by)
    if by == "queue" and not after.has_queues:
        raise InstanceError("there are no queues, before or after; by='user' is there")
    how = chosen(after, mechanism)
    allocated = [allocate(one, how, **options) for one in (before, after)]
    tables = [_amounts(one.instance, one.totals.to_numpy(), by) for one in allocated]
    labels = list(dict.fromkeys([*tables[0].index, *tables[1].index]))
    old, new = (table.reindex(labels, fill_value=0.0) for table in tables)
    share = [
        (table.drop(columns="tasks").to_numpy() / before.pool).max(axis=1) for table in (old, new)
    ]
    columns = {
        "before": share[0],
        "after": share[1],
        "change": share[1] - share[0],
        "tasks_before": old["tasks"].to_numpy(),
        "tasks_after": new["tasks"].to_numpy(),
    }
    if subject.tasks is not None:
        runs = subject.tasks.sum(axis=1)
        fair = allocated[1].totals.to_numpy()[: len(runs)]
        beyond = np.maximum(np.ceil(runs - fair - AUDIT * np.maximum(runs, 1.0)), 0.0)
        columns["would_go"] = (
            _amounts(before, beyond, by)["tasks"].reindex(labels, fill_value=0.0).to_numpy()
        )
    return pd.DataFrame(columns, index=pd.Index(labels, name=by, dtype=object))


def _amounts(instance: Instance, totals: np.ndarray, by: str) -> pd.DataFrame:
    """Return tasks and the amount of each resource, by user or queue."""
    amounts = np.column_stack([totals, totals[:, None] * instance.demands])
    labels = instance.users.labels
    if by == "queue":
        if not instance.has_queues:
            amounts = amounts.sum(axis=0, keepdims=True)
            labels = pd.Index([""], dtype=object)
        else:
            amounts = instance.tree.below @ amounts
            labels = instance.tree.paths.labels
    columns = ["tasks", *(f"amount:{resource}" for resource in instance.resources)]
    return pd.DataFrame(amounts, index=labels, columns=columns)
