"""Connected components: users who, even through others, meet on no server are allocated to apart, which is exact."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..notation.expressions import Index
from .instance import Instance, of_servers


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
    user, server = np.nonzero(runs)
    of_user, of_server = connected(user, server, (len(runs), runs.shape[1]))
    size = int(max(of_user.max(), of_server.max())) + 1
    users, servers = _members(of_user, size), _members(of_server, size)
    for one in of_user[np.sort(np.unique(of_user, return_index=True)[1])]:
        if servers[one].size:
            yield users[one], servers[one]


def connected(user: np.ndarray, server: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the component of each user and of each server of the graph whose edges are pairs; O(pairs)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    users, size = shape[0], sum(shape)
    graph = coo_array((np.ones(len(user), dtype=np.int8), (user, users + server)), shape=(size, size))
    of = connected_components(graph, directed=False)[1]
    return of[:users], of[users:]


def _members(of: np.ndarray, size: int) -> list[np.ndarray]:
    """Return the positions in each of so many groups."""
    return np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of, minlength=size))[:-1])


def select(instance: Instance, users: np.ndarray, servers: np.ndarray) -> Instance:
    """Return the instance of these users and servers, and of the resources that those have."""
    some = instance.select_users(users)
    there = np.flatnonzero(some.capacities[servers].any(axis=0))
    return of_servers(some, servers).derived(
        resources=Index("r", instance.resources.labels[there], "resource"),
        demands=some.demands[:, there],
        capacities=some.capacities[np.ix_(servers, there)],
        queues=None if some.queues is None else some.queues.of_resources(there),
    )
