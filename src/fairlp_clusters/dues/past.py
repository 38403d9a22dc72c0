"""The past of users: decayed use, as schedulers print it, as the state of a fair allocation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np
import pandas as pd

from fairlp import Allocation, Instance, allocate, formulations
from fairlp.toolkit import lists

from ..readers.cluster import Floats

#: What a queue, or a namespace in it, has used: decayed integrals, in amounts times half-lives.
Past = Mapping[tuple[str, str], Floats]


def history_of(instance: Instance, owners: Sequence[str], past: Past) -> pd.Series[float]:
    """Return h of each user, its level times half-lives; empty without a past.

    The past of a queue is that of the users and queues below it. The rest of it is of users without
    tasks now: it is divided among those below by their weights, so that the queue counts with all
    of its past and those below are compared as before.

    Parameters
    ----------
    instance : Instance
    owners : sequence of str
        Owner of each user; it begins with the namespace, where there are namespaces.
    past : mapping
        By path of a queue and namespace (empty: the whole queue).
    """
    if not past:
        return pd.Series(dtype=float, name="history")
    queues = instance.tree
    weights = instance.user_weights
    position = {path: v for v, path in enumerate(queues.paths)}

    # Dominant shares, of namespaces and of whole queues
    shares = np.zeros(len(weights))
    queue_shares = np.zeros(len(queues))
    for (path, namespace), amounts in past.items():
        v = position.get(path)
        if v is None:
            continue
        share = _dominant_share(instance, amounts)
        if not namespace:
            queue_shares[v] = share
            continue
        inside = [
            n
            for n in np.flatnonzero(queues.users_below(v)).tolist()
            if not owners[n] or owners[n].startswith(f"{namespace}/")
        ]
        shares[inside] += share / max(len(inside), 1)

    # From the deepest queue up: what is known of a queue, or what those below it have.
    has_users = np.asarray(queues.below.sum(axis=1)).ravel() > 0
    queue_shares[~has_users] = 0.0
    below = np.bincount(queues.of, weights=shares, minlength=len(queues))
    rest = np.zeros(len(queues))
    for v in range(len(queues) - 1, 0, -1):
        rest[v] = max(queue_shares[v] - below[v], 0.0)
        below[queues.parents[v]] += below[v] + rest[v]

    # From the root down: the rest is divided among those below.
    queue_weights = np.where(has_users, queues.weights, 0.0)
    queue_weights[0] = 0.0  # the root is no queue's child
    inside_weights = np.bincount(queues.parents, weights=queue_weights, minlength=len(queues))
    inside_weights += np.bincount(queues.of, weights=weights, minlength=len(queues))
    for v in range(1, len(queues)):
        parent = int(queues.parents[v])
        if parent and has_users[v]:
            rest[v] += rest[parent] * queue_weights[v] / inside_weights[parent]
    levels = shares / weights
    in_queue = queues.of > 0
    levels[in_queue] += (rest / np.where(inside_weights > 0, inside_weights, 1.0))[queues.of][
        in_queue
    ]
    return pd.Series(levels, instance.users.labels.rename("user"), name="history")


@lists(formulations.options.FairTasksOptions)
def fair_with_past(
    instance: Instance,
    history: pd.Series[float],
    **options: Unpack[formulations.options.FairTasksOptions],
) -> Allocation:
    """Return the fair tasks of the next half-life, past use counted along the queues."""
    return allocate(instance, "h-drf-counted", state=history, half_life=1.0, **options)


def _dominant_share(instance: Instance, amounts: Floats) -> float:
    """Return the largest part of the pool that amounts are, of the instance's resources."""
    pool = dict(zip(instance.resources, instance.pool.tolist(), strict=True))
    parts = [
        amount / pool[resource]
        for resource, amount in amounts.items()
        if pool.get(resource, 0.0) > 0
    ]
    return max(parts, default=0.0)
