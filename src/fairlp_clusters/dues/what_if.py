"""``what_if``: fair shares before and after an edit of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd

import fairlp
from fairlp import Instance, Mechanism, allocate, formulations
from fairlp.errors import InstanceError, UnknownNameError, nearest, quoted, require_known
from fairlp.toolkit import lists

from .jobs import RunningJob, jobs_that_run
from .subject import (
    Classes,
    ClusterSource,
    mechanism_or_default,
    require_user_or_queue,
    subject_of,
)
from .tenants import to_whole

# Edits of an instance: more servers of a class, other weights, new queues.

#: The keys of a queue that change its row,
_LIMITS = ("weight", "guarantee", "cap")
#: and those that describe its users.
_USERS = ("like", "demand", "tasks")


def edited(
    instance: Instance,
    add_servers: Mapping[str, int] | None,
    weights: Mapping[Any, float] | None,
    queues: Mapping[str, Any] | None,
) -> Instance:
    """Return the instance with these edits; see :func:`fairlp_clusters.what_if`."""
    if not (add_servers or weights or queues):
        raise InstanceError("there is no edit; give add_servers=, weights= or queues=")
    if add_servers:
        instance = _with_servers(instance, add_servers)
    if queues:
        instance = _with_queues(instance, queues)
    if weights:
        instance = _with_weights(instance, weights)
    return instance


def _with_servers(instance: Instance, counts: Mapping[str, int]) -> Instance:
    """Return the instance with new servers, like those of a name or of a class."""
    classes = Classes.among(instance)
    new_counts = np.array(instance.counts)
    row_of_server = {str(name): i for i, name in enumerate(instance.servers)}
    for name, count in counts.items():
        if not isinstance(count, Integral) or not 1 <= count < 2**53:
            raise InstanceError(
                f"add_servers has {quoted(count)} for {quoted(name)}; expected a whole number of at least 1"
            )
        if str(name) in classes.names:
            k = classes.names.index(str(name))
            row = int(np.flatnonzero(classes.of == k)[0])
        elif str(name) in row_of_server:
            row = row_of_server[str(name)]
        else:
            names = list(dict.fromkeys([*classes.names, *row_of_server]))
            raise UnknownNameError(
                f"there is no class of servers and no server {quoted(name)}; {nearest(name, names)}"
            )
        new_counts[row] += count
    return instance.replace(counts=new_counts)


def _with_weights(instance: Instance, weights: Mapping[Any, float]) -> Instance:
    """Return the instance with other weights of queues or users."""
    table = None if not instance.has_queues else instance.tree.table(instance.resources)
    paths = set() if table is None else set(table.index) - {""}
    user_weights = np.array(instance.user_weights)
    position = {str(user): n for n, user in enumerate(instance.users)}

    for key, weight in weights.items():
        # "queue:NAME" and "user:NAME" say which of the two, a plain name may be either.
        prefix, _, suffix = str(key).partition(":")
        if prefix in ("queue", "user") and suffix:
            kinds = {prefix}
            name = suffix
        else:
            kinds = {"queue", "user"}
            name = str(key)
        is_queue = "queue" in kinds and fairlp.queues.cleaned(name) in paths
        is_user = "user" in kinds and name in position
        if is_queue and is_user:
            raise InstanceError(
                f"{quoted(name)} is a queue and a user; write 'queue:{name}' or 'user:{name}'"
            )
        if is_queue and table is not None:
            table.loc[fairlp.queues.cleaned(name), "weight"] = _number(
                weight, f"weight of {quoted(key)}", "a number > 0"
            )
        elif is_user:
            user_weights[position[name]] = _number(
                weight, f"weight of {quoted(key)}", "a number > 0"
            )
        else:
            names = [*(paths if "queue" in kinds else ()), *(position if "user" in kinds else ())]
            missing = " and no ".join(sorted(kinds))
            raise UnknownNameError(f"there is no {missing} {quoted(name)}; {nearest(name, names)}")
    if table is None:
        return instance.replace(weights=user_weights)
    return instance.replace(weights=user_weights, queues=table)


def _number(value: Any, subject: str, expected: str) -> float:
    """Return a number as a float; the error says what it is of, and what was expected."""
    try:
        if isinstance(value, str | bytes | bool):
            raise TypeError("it is no number")
        number = float(value)
        if np.isinf(number) and value != number:
            raise OverflowError("it is beyond floats")
        return number
    except (TypeError, ValueError, OverflowError) as error:
        raise InstanceError(
            f"{subject} is {quoted(value)}; expected {expected} ({error})"
        ) from None


def _with_queues(instance: Instance, queues: Mapping[str, Any]) -> Instance:
    """Return the instance with new queues, which have users, or with changed ones."""
    rows = _rows(instance)
    for path, value in queues.items():
        name = fairlp.queues.cleaned(path)
        changes = _queue_changes(value)
        users = {key: changes.pop(key) for key in _USERS if key in changes}
        for key in changes:
            if key not in _LIMITS:
                raise InstanceError(
                    f"queue {quoted(name)} has {quoted(key)}; {nearest(key, (*_LIMITS, *_USERS))}"
                )
        if name not in rows and not users:
            remedy = f"; or {nearest(name, rows)}" if rows else ""
            raise InstanceError(
                f"queue {quoted(name)} is new, and would have no users; give like= (a user, or a queue, "
                f"whose tasks are run) or demand= (of a task, by resource){remedy}"
            )
        rows[name] = {**rows.get(name, {}), **changes}
        if users:
            instance = _joined(instance, name, users)
    queue_of_user = list(instance.queue or [""] * len(instance.users))
    return instance.replace(queue=queue_of_user, queues=rows)


def _queue_changes(value: Any) -> dict[str, Any]:
    """Return the changes of a queue, of which a plain number is the weight."""
    if isinstance(value, Mapping):
        return dict(value)
    return {} if value is None else {"weight": value}


def _rows(instance: Instance) -> dict[str, dict[str, Any]]:
    """Return weight, guarantee and cap of each queue, as ``from_arrays`` takes them."""
    tree = instance.queues
    if tree is None:
        return {}
    names = list(instance.resources)
    rows = {}
    for v, path in enumerate(tree.paths):
        guarantees = zip(names, tree.guarantees[v], strict=True)
        caps = zip(names, tree.caps[v], strict=True)
        rows[path] = {
            "weight": float(tree.weights[v]),
            "guarantee": {resource: float(amount) for resource, amount in guarantees if amount > 0},
            "cap": {resource: float(amount) for resource, amount in caps if np.isfinite(amount)},
        }
    return rows


def _joined(instance: Instance, path: str, users: Mapping[str, Any]) -> Instance:
    """Return the instance with new users in a queue: like others, or with a demand of their own."""
    if ("like" in users) == ("demand" in users):
        raise InstanceError(f"queue {quoted(path)}: give either like= or demand=, one of the two")
    tasks = np.inf
    if users.get("tasks") is not None:
        tasks = _number(users["tasks"], f"tasks of queue {quoted(path)}", "a number >= 0")
    if "like" in users:
        models = _users_like(instance, users["like"])
        demands = instance.demands[models]
        eligible = instance.eligible[models]
        limits = instance.task_limits[models]
        sizes = instance.job_sizes[models]
        if users.get("tasks") is not None:
            limits = np.full(len(models), tasks)
    else:
        demands = _demand(instance, path, users["demand"])
        eligible = np.ones((1, len(instance.servers)), dtype=bool)
        limits = np.array([tasks])
        sizes = np.ones(1, dtype=int)
    if instance.has_rates:
        raise InstanceError("the instance has rates, and new users would have none")
    return _with_users(instance, path, (demands, eligible, limits, sizes))


def _demand(instance: Instance, path: str, amounts: Any) -> np.ndarray:
    """Return the demand of a new user, shape (1, R)."""
    if not isinstance(amounts, Mapping):
        raise InstanceError(
            f"demand of queue {quoted(path)} is {quoted(amounts)}; expected a mapping from resources to amounts"
        )
    resources = list(instance.resources)
    for resource in amounts:
        require_known(
            resource, resources, f"demand of queue {quoted(path)} names {quoted(resource)}"
        )
    numbers = [
        _number(
            amounts.get(resource, 0.0),
            f"demand of queue {quoted(path)}, resource {quoted(resource)},",
            "a number >= 0",
        )
        for resource in resources
    ]
    return np.array([numbers])


def _users_like(instance: Instance, name: Any) -> np.ndarray:
    """Return the user of that name, or the users in the queue of that path or below it."""
    users = [str(user) for user in instance.users]
    if str(name) in users:
        return np.array([users.index(str(name))])
    tree = instance.queues
    paths = [] if tree is None else [path for path in tree.paths if path]
    if tree is not None and fairlp.queues.cleaned(str(name)) in paths:
        below = tree.users_below(tree.named(str(name)))
        if below.any():
            return np.flatnonzero(below)
    raise UnknownNameError(
        f"like={quoted(name)} is no user and no queue with users; {nearest(name, [*users, *paths])}"
    )


def _with_users(
    instance: Instance, path: str, columns: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
) -> Instance:
    """Return the instance with new users, named after their queue.

    The columns are their demands, where they may run, task limits and job sizes.
    """
    demands, eligible, limits, sizes = columns
    users = list(instance.users)
    count = len(demands)
    labels = _new_labels({str(user) for user in users}, path, count)
    rows = _rows(instance)
    rows.setdefault(path, {})
    attributes = instance.user_attributes.set_axis(range(len(users)))
    attributes = attributes.reindex(range(len(users) + count)).set_axis([*users, *labels])
    return instance.replace(
        demands=np.vstack([instance.demands, demands]),
        users=[*users, *labels],
        weights=np.concatenate([instance.user_weights, np.ones(count)]),
        eligible=np.vstack([instance.eligible, eligible]),
        task_limits=np.concatenate([instance.task_limits, limits]),
        job_sizes=np.concatenate([instance.job_sizes, sizes]),
        entitlements=None,
        queue=[*(instance.queue or [""] * len(users)), *[path] * count],
        queues=rows,
        user_attributes=attributes,
    )


def _new_labels(labels_in_use: set[str], path: str, count: int) -> list[str]:
    """Return labels of the new users of a queue, none of which is taken."""
    labels = []
    for k in range(count):
        label = f"{path} (new)" if count == 1 else f"{path} (new {k + 1})"
        suffix = 1
        while label in labels_in_use:
            suffix += 1
            label = f"{path} (new {k + 1}.{suffix})"
        labels_in_use.add(label)
        labels.append(label)
    return labels


@lists(formulations.options.AllocateOptions)
def what_if(
    given: ClusterSource,
    *,
    observed: Any = None,
    add_servers: Mapping[str, int] | None = None,
    weights: Mapping[Any, float] | None = None,
    queues: Mapping[str, Any] | None = None,
    mechanism: str | Mechanism | None = None,
    by: Literal["user", "queue"] | None = None,
    **options: Unpack[formulations.options.AllocateOptions],
) -> pd.DataFrame:
    """Return fair shares before and after an edit of the cluster.

    Parameters
    ----------
    given : Snapshot, Instance, str or Path
        As for :func:`fairlp_clusters.fair_shares`.
    observed : Allocation, DataFrame, array or path, optional
        The tasks that run now, as for :func:`fairlp_clusters.fair_shares`.
    add_servers : mapping, optional
        Counts of new servers, by class (the name that a report gives servers of equal capacity) or
        by the name of a server like them.
    weights : mapping, optional
        Other weights, by queue or user; ``queue:NAME`` and ``user:NAME`` where both have the name.
    queues : mapping, optional
        By path, a weight or a mapping with ``weight``, ``guarantee`` and ``cap`` (amounts by
        resource). A queue that exists keeps what the mapping does not name. A new one also has
        users: ``like`` a user, or the users of a queue, or one with a ``demand`` (amounts by
        resource); ``tasks`` is how many they have to run.
    mechanism : str or Mechanism, optional
        As for :func:`fairlp_clusters.fair_shares`; the same before and after.
    by : {"user", "queue"}, optional
        By default queues, where the instance has any afterwards.
    **options
        Of the mechanism.

    Returns
    -------
    DataFrame
        Indexed by queue or user: ``before`` and ``after``, dominant shares of the cluster as it is
        (so that more servers show as more), their ``change``, ``tasks_before`` and ``tasks_after``.
        New users have 0 before. Where running tasks are known, also ``would_go``: running tasks beyond what is fair
        after the edit, in whole jobs.

    Raises
    ------
    UnknownNameError
        For a class, server, queue or user that does not exist; the nearest names are given.
    InstanceError
        For an edit that makes no sense.

    Examples
    --------
    >>> import fairlp, fairlp_clusters
    >>> two = fairlp.Instance.from_arrays([[1], [1]], [[6]], users=["A", "B"], servers=["s"])
    >>> fairlp_clusters.what_if(two, weights={"A": 2})[["tasks_before", "tasks_after"]].loc["A"].tolist()
    [3.0, 4.0]
    """
    subject = subject_of(given, observed)
    before = subject.instance
    after = edited(before, add_servers, weights, queues)
    if by is None:
        by = "user" if not after.has_queues else "queue"
    require_user_or_queue(by)
    if by == "queue" and not after.has_queues:
        raise InstanceError("there are no queues, before or after; give by='user'")

    rule = mechanism_or_default(after, mechanism)
    totals_before = allocate(before, rule, **options).totals.to_numpy()
    totals_after = allocate(after, rule, **options).totals.to_numpy()
    table_before = _amounts(before, totals_before, by)
    table_after = _amounts(after, totals_after, by)
    labels = list(dict.fromkeys([*table_before.index, *table_after.index]))
    table_before = table_before.reindex(labels, fill_value=0.0)
    table_after = table_after.reindex(labels, fill_value=0.0)

    share_before = (table_before.drop(columns="tasks").to_numpy() / before.pool).max(axis=1)
    share_after = (table_after.drop(columns="tasks").to_numpy() / before.pool).max(axis=1)
    columns = {
        "before": share_before,
        "after": share_after,
        "change": share_after - share_before,
        "tasks_before": table_before["tasks"].to_numpy(),
        "tasks_after": table_after["tasks"].to_numpy(),
    }
    if subject.tasks is not None:
        running = subject.tasks.sum(axis=1)
        fair = totals_after[: len(running)]
        beyond = np.maximum(np.ceil(to_whole(running - fair, running)), 0.0)
        jobs = jobs_that_run(before, subject.tasks, subject.running_jobs)
        beyond = _in_whole_jobs(beyond, jobs)
        would_go = _amounts(before, beyond, by)["tasks"].reindex(labels, fill_value=0.0)
        columns["would_go"] = would_go.to_numpy()
    return pd.DataFrame(columns, index=pd.Index(labels, name=by, dtype=object))


def _in_whole_jobs(beyond: np.ndarray, jobs: list[RunningJob]) -> np.ndarray:
    """Return tasks that would go, rounded up to whole jobs of each user, the smallest first."""
    sizes_of: dict[int, list[tuple[int, int]]] = {}  # by user: tasks in a job, and equal jobs
    for job in jobs:
        tasks: dict[int, int] = {}
        for (n, _), count in job.tasks.items():
            tasks[n] = tasks.get(n, 0) + count
        for n, count in tasks.items():
            sizes_of.setdefault(n, []).append((count, job.copies))
    whole = np.zeros(len(beyond))
    for n in np.flatnonzero(beyond).tolist():
        for size, copies in sorted(sizes_of.get(n, [])):
            going = min(copies, int(np.ceil((beyond[n] - whole[n]) / size)))
            whole[n] += max(going, 0) * size
    return whole


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
