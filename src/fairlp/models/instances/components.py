"""Connected components: users who, even through others, meet on no server are allocated to apart, which is exact."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..notation.expressions import Index
from .instance import EVERYWHERE, Instance


def components(instance: Instance) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give users and servers of each component, in the order of their first users; O(pairs).

    A server that nobody can run on is in none of them; neither is a user who can run nowhere.

    >>> from fairlp import Instance
    >>> apart = Instance.from_arrays([[1.0], [1.0], [2.0]], [[4.0], [6.0]], eligible=[[1, 0], [0, 1], [1, 0]])
    >>> [(users.tolist(), servers.tolist()) for users, servers in components(apart)]
    [([0, 2], [0]), ([1], [1])]
    """
    runs = instance.runnable()
    if runs.all(axis=0).any():  # a server for everybody
        yield np.arange(len(runs)), np.flatnonzero(runs.any(axis=0))
        return
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    users, servers = runs.shape
    user, server = np.nonzero(runs)
    graph = coo_array((np.ones(len(user), dtype=np.int8), (user, users + server)), shape=(users + servers,) * 2)
    of = connected_components(graph, directed=False)[1]
    for one in of[np.sort(np.unique(of[:users], return_index=True)[1])]:
        who, where = np.flatnonzero(of[:users] == one), np.flatnonzero(of[users:] == one)
        if where.size:
            yield who, where


def select(instance: Instance, users: np.ndarray, servers: np.ndarray) -> Instance:
    """Return the instance of these users and servers, and of the resources that those have."""
    some = instance.select_users(users)
    there = np.flatnonzero(some.capacities[servers].any(axis=0))
    return some.derived(
        servers=Index("i", instance.servers.labels[servers], "server"),
        resources=Index("r", instance.resources.labels[there], "resource"),
        demands=some.demands[:, there],
        capacities=some.capacities[np.ix_(servers, there)],
        counts=some.counts[servers],
        eligible=some.eligible[:, servers] if some.has_constraints else EVERYWHERE,
        rates=None if some.rates is None else some.rates[:, servers],
        server_attributes=some.server_attributes.iloc[servers],
    )
