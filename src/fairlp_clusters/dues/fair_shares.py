"""``fair_shares``: shares beside fair shares, by user, and by queue at every level."""

from __future__ import annotations

from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd

import fairlp
from fairlp import Instance, Mechanism, formulations
from fairlp.errors import InstanceError, quoted, require_known
from fairlp.toolkit import lists

from .dues import Dues
from .facts import ClusterSource, facts_of


@lists(formulations.options.AllocateOptions)
def fair_shares(
    given: ClusterSource,
    mechanism: str | Mechanism | None = None,
    *,
    observed: Any = None,
    by: Literal["user", "queue"] = "user",
    level: int | None = None,
    **options: Unpack[formulations.options.AllocateOptions],
) -> pd.DataFrame:
    """Return shares beside fair shares, and the tasks that wait.

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
    by : {"user", "queue"}
        A user of a dump is a class of equal tasks. (What tenants have and lack is the table of
        :func:`fairlp_clusters.verdict`.)
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
        share). A queue also has ``level``, ``users``, ``weight`` and ``cap``; a user of a dump
        ``tenant``, whom the scheduler promises a share.

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
    >>> shares["owed"].to_dict()
    {'A': 0.0, 'B': 1.0}
    """
    require_known(by, ("user", "queue"), f"by={quoted(by)}")
    facts = facts_of(given, observed)
    if by == "queue" and not facts.instance.has_queues:
        raise InstanceError(
            "the instance has no queues; give queue= (the path of each user's queue) to make some"
        )
    if level is not None and by != "queue":
        raise InstanceError("level is of queues; give by='queue' too")
    dues = Dues.of(facts, mechanism, **options)
    if by == "user":
        return users(dues)
    table = queues(dues)
    return table if level is None else table[table["level"] == level]


def users(dues: Dues) -> pd.DataFrame:
    """One row for each user."""
    instance = dues.instance
    share = dues.share_of_a_task
    floors = _floors(instance)
    of = dues.facts.tenants
    columns = {
        "queue": list(instance.queue or [""] * len(instance.users)),
        "tenant": [of.names[t] for t in of.of],
        "tasks": dues.has,
        "fair_tasks": dues.fair_tasks,
        "share": dues.has * share,
        "fair_share": dues.fair_tasks * share,
        "guarantee": floors * share,
        "borrowed": np.maximum(dues.has - floors, 0.0) * share,
        "waiting": dues.waiting,
        "owed": dues.shares.owed,
    }
    if not _has_guarantees(instance):
        columns |= {"guarantee": np.nan, "borrowed": np.nan}
    if of.are_users:
        del columns["tenant"]
    return pd.DataFrame(columns, index=instance.users.labels.rename("user"))


def queues(dues: Dues) -> pd.DataFrame:
    """One row for each queue, the root first."""
    instance = dues.instance
    tree = instance.tree
    below = tree.below
    pool = instance.pool
    amounts = below @ (dues.has[:, None] * instance.demands)
    fair_amounts = below @ (dues.fair_tasks[:, None] * instance.demands)
    guarantees = _guarantees_below(instance)
    guarantee = (guarantees / pool).max(axis=1)
    borrowed = (np.maximum(amounts - guarantees, 0.0) / pool).max(axis=1)
    borrowed[0] = np.nan  # the root has no queue to borrow from
    if tree.quotas is not None:  # cohorts are guaranteed nothing but what stands below them
        guarantee[~tree.guarantees.any(axis=1)] = np.nan
    has_guarantees = _has_guarantees(instance)
    columns = {
        "level": tree.depths,
        "users": below.sum(axis=1).astype(int),
        "weight": tree.weights,
        "tasks": below @ dues.has,
        "fair_tasks": below @ dues.fair_tasks,
        "share": (amounts / pool).max(axis=1),
        "fair_share": (fair_amounts / pool).max(axis=1),
        "guarantee": guarantee if has_guarantees else np.nan,
        "cap": np.where(tree.capped.any(axis=1), (tree.caps / pool).min(axis=1), np.nan),
        "borrowed": borrowed if has_guarantees else np.nan,
        "waiting": below @ dues.waiting,
        "owed": below @ dues.shares.owed,
    }
    return pd.DataFrame(columns, index=pd.Index(tree.paths.labels, name="queue"))


def _guarantees_below(instance: Instance) -> np.ndarray:
    """Guarantees of queues; where a queue has none, those of its children together."""
    tree = instance.tree
    guarantees = tree.guarantees.copy()
    for v in range(len(tree) - 1, 0, -1):  # children come after their parents
        parent = tree.parents[v]
        if parent and not tree.guarantees[parent].any():
            guarantees[parent] += guarantees[v]
    return guarantees


def _has_guarantees(instance: Instance) -> bool:
    return bool(instance.tree.guarantees.any())


def _floors(instance: Instance) -> np.ndarray:
    """Tasks that each user is guaranteed."""
    if _has_guarantees(instance) and not instance.has_resource_weights:
        return fairlp.queues.floors(instance)
    return np.zeros(len(instance.users))
