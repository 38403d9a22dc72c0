"""``what_if``: fair shares before and after an edit of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...api import allocate
from ...errors import InstanceError
from ...mechanisms.mechanism import Mechanism
from ...models.instances.instance import Instance
from .edits import edited
from .subject import Given, chosen, require_user_or_queue, subject_of


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
        Servers more, by class (what servers of equal capacity are called in a report) or as the server of that name.
    weights : mapping, optional
        Other weights, by queue or user; ``queue:NAME`` and ``user:NAME`` where both have the name.
    queues : mapping, optional
        By path, a weight or a mapping with ``weight``, ``guarantee`` and ``cap`` (amounts by resource): of a queue that
        is known, what is given is changed. A new one also has users: ``like`` a user, or the users of a queue, or one
        with a ``demand`` (amounts by resource); ``tasks`` says how many they have to run.
    mechanism : str or Mechanism, optional
        As for :func:`fairlp.fair_shares`; the same before and after.
    by : {"user", "queue"}, optional
        By default queues, where there are any afterwards.
    **options
        Of the mechanism.

    Returns
    -------
    DataFrame
        Indexed by queue or user: ``before`` and ``after``, dominant shares of the cluster as it is (so that more
        servers show as more), their ``change``, ``tasks_before`` and ``tasks_after``. Who is not there before has 0.

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
    before = subject_of(given).instance
    after = edited(before, add_servers, weights, queues)
    if by is None:
        by = "user" if after.queues is None else "queue"
    require_user_or_queue(by)
    if by == "queue" and after.queues is None:
        raise InstanceError("there are no queues, before or after; by='user' is there")
    how = chosen(after, mechanism)
    tables = [_amounts(one, allocate(one, how, **options).totals.to_numpy(), by) for one in (before, after)]
    labels = list(dict.fromkeys([*tables[0].index, *tables[1].index]))
    old, new = (table.reindex(labels, fill_value=0.0) for table in tables)
    share = [(table.drop(columns="tasks").to_numpy() / before.pool).max(axis=1) for table in (old, new)]
    columns = {
        "before": share[0],
        "after": share[1],
        "change": share[1] - share[0],
        "tasks_before": old["tasks"].to_numpy(),
        "tasks_after": new["tasks"].to_numpy(),
    }
    return pd.DataFrame(columns, index=pd.Index(labels, name=by, dtype=object))


def _amounts(instance: Instance, totals: np.ndarray, by: str) -> pd.DataFrame:
    """Return tasks and the amount of each resource, by user or queue."""
    amounts = np.column_stack([totals, totals[:, None] * instance.demands])
    labels = instance.users.labels
    if by == "queue":
        if instance.queues is None:
            amounts, labels = amounts.sum(axis=0, keepdims=True), pd.Index([""], dtype=object)
        else:
            amounts, labels = (instance.queues.below @ amounts), instance.queues.paths.labels
    columns = ["tasks", *(f"amount:{resource}" for resource in instance.resources)]
    return pd.DataFrame(amounts, index=labels, columns=columns)
