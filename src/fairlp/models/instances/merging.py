"""Merging of identical servers and of users with proportional demands: exact, and undone exactly.

Identical servers may be summed into one, and users whose demands are proportional (and who may run
on the same servers) into one, without changing the optimum of a leximin over divisible tasks: a
solution of the merged problem is split back in proportion, and any solution is averaged over
identical servers into a merged one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ...tolerances import PROPORTIONAL_BITS
from ..notation.expressions import Index
from .instance import Instance, of_servers

__all__ = ["equal_servers", "merge_servers"]

# Connected components: users who, even through others, meet on no server are allocated to apart,
# which is exact.


def components(instance: Instance) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give users and servers of each component, in the order of their first users; O(pairs).

    A server that no user can run on is in none of them; neither is a user who can run nowhere.

    >>> from fairlp import Instance
    >>> apart = Instance.from_arrays([[1.0], [1.0], [2.0]], [[4.0], [6.0]], eligible=[[1, 0], [0, 1], [1, 0]])
    >>> [(users.tolist(), servers.tolist()) for users, servers in components(apart)]
    [([0, 2], [0]), ([1], [1])]
    """
    runnable = instance.runnable()
    if runnable.all(axis=0).any():  # a server for every user
        yield np.arange(len(runnable)), np.flatnonzero(runnable.any(axis=0))
        return
    user, server = np.nonzero(runnable)
    of_user, of_server = connected(user, server, (len(runnable), runnable.shape[1]))
    size = int(max(of_user.max(), of_server.max())) + 1
    users = _members(of_user, size)
    servers = _members(of_server, size)
    for component in of_user[np.sort(np.unique(of_user, return_index=True)[1])]:
        if servers[component].size:
            yield users[component], servers[component]


def connected(
    user: np.ndarray, server: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the component of each user and server in the graph whose edges are pairs; O(pairs)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    users = shape[0]
    size = sum(shape)
    graph = coo_array(
        (np.ones(len(user), dtype=np.int8), (user, users + server)), shape=(size, size)
    )
    of = connected_components(graph, directed=False)[1]
    return of[:users], of[users:]


def _members(of: np.ndarray, size: int) -> list[np.ndarray]:
    """Return the positions in each of so many groups."""
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(np.bincount(of, minlength=size))
    return np.split(order, ends[:-1])


def select(instance: Instance, users: np.ndarray, servers: np.ndarray) -> Instance:
    """Return the instance of these users and servers, and of the resources that those have."""
    selected = instance.select_users(users)
    resources = np.flatnonzero(selected.capacities[servers].any(axis=0))
    return of_servers(selected, servers).derived(
        resources=Index("r", instance.resources.labels[resources], "resource"),
        demands=selected.demands[:, resources],
        capacities=selected.capacities[np.ix_(servers, resources)],
        queues=None if selected.queues is None else selected.queues.of_resources(resources),
    )


#: Powers of two that demands of one group are apart at most.
_FAR = 900


@dataclass(frozen=True)
class Groups:
    """Which original belongs to which group.

    Attributes
    ----------
    of : ndarray of int
        Group of each original.
    first : ndarray of int
        First original of each group, which stands for it.
    factor : ndarray
        Servers: the fraction of the group's counts. Users: demand as a multiple of the first one's.
    """

    of: np.ndarray
    first: np.ndarray
    factor: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    @property
    def merges(self) -> bool:
        """Whether any group has more than one member."""
        return len(self.first) < len(self.of)

    def spread(self, tasks: np.ndarray) -> np.ndarray:
        """Return tasks on the servers of groups as tasks on each server."""
        return np.asarray(tasks[:, self.of] * self.factor)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of a result on merged servers; empty where none are merged."""
        if not self.merges:
            return ()
        return (
            f"solved with {len(self)} servers instead of {len(self.of)}: identical ones were "
            "merged",
        )


def identity(size: int) -> Groups:
    """Return groups of one member each."""
    positions = np.arange(size)
    return Groups(positions, positions, np.ones(size))


def merge_servers(instance: Instance, merge: bool = True) -> tuple[Instance, Groups]:
    """Return the instance with one row for each kind of identical servers; O(K·(R + N/8)).

    Identical servers have the same capacity, eligible users and rates.

    Without ``merge`` it stays as it is.
    """
    if not merge:
        return instance, identity(len(instance.servers))
    parts: list[np.ndarray] = [instance.capacities + 0.0]
    if instance.has_constraints:
        parts.append(np.packbits(instance.eligible.T, axis=1))
    if instance.rates is not None:
        parts.append(instance.rates.T + 0.0)
    groups = _groups(parts)
    counts = np.bincount(groups.of, weights=instance.counts).astype(np.int64)
    groups = replace(groups, factor=instance.counts / counts[groups.of])
    if not groups.merges:
        return instance, groups
    return of_servers(instance, groups.first).derived(counts=counts), groups


def large_servers(instance: Instance) -> tuple[Instance, Groups]:
    """Return one server in place of all on which the same users can run; O(K·(R + N/8)).

    It is as large as all of them, so that all that fits on them fits on it, and more. Where a task
    needs other amounts on other servers, they stay as they are.
    """
    if instance.has_rates:
        return instance, identity(len(instance.servers))
    groups = _groups([np.packbits(instance.runnable().T, axis=1)])
    capacities = np.zeros((len(groups), instance.capacities.shape[1]))
    np.add.at(capacities, groups.of, instance.total_capacities)
    large = of_servers(instance, groups.first).derived(
        capacities=capacities, counts=np.ones(len(groups), dtype=np.int64)
    )
    return large, groups


def merge_users(instance: Instance) -> tuple[Instance, Groups]:
    """Return one user for each direction of demand (and set of servers, and rates); O(N·(R + K/8)).

    Weights and task limits of the merged users are left to the caller, who knows the mechanism:
    they are set to 1 and to infinity.
    """
    largest = instance.demands.max(axis=1)
    # Demands that are this many powers of two apart are not merged: the factor would be beyond floats.
    order_of_size = np.rint(np.frexp(largest)[1] / _FAR) + 0.0
    parts = [order_of_size, *_canonical(instance.demands, largest, -1)]
    if instance.has_constraints:
        parts.append(np.packbits(instance.eligible, axis=1))
    if instance.rates is not None:
        parts += _canonical(instance.rates, largest, 1)
    groups = _groups(parts)
    groups = replace(groups, factor=largest / largest[groups.first][groups.of])
    merged = instance.select_users(groups.first) if groups.merges else instance
    ones = np.ones(len(groups))
    merged = merged.derived(
        weights=ones, task_limits=ones * np.inf, entitlements=None, conditions=()
    )
    return merged, groups


def merge_alike(instance: Instance) -> tuple[Instance, Groups]:
    """Return one user for all who are alike in everything: k of them have k times its demands and weight.

    Limits are of all together. It is for rates, where users are also short of their own time; O(NK).
    """
    parts = [instance.demands, instance.user_weights, instance.task_limits]
    parts += [instance.gamma()]
    groups = _groups([part.reshape(len(instance.users), -1) for part in parts])
    if not groups.merges:
        return instance, groups
    counts = np.bincount(groups.of).astype(float)
    merged = instance.select_users(groups.first).derived(
        demands=instance.demands[groups.first] * counts[:, None],
        weights=instance.user_weights[groups.first] * counts,
        task_limits=instance.task_limits[groups.first] * counts,
        entitlements=None,
    )
    return merged, replace(groups, factor=1 / counts[groups.of])


#: Users who may run on at most this part of the servers of one capacity may be left out there;
#: servers of which another server's users are at least the second part count as those; it pays
#: where this part of the kinds of servers is left.
_RARE = 0.05
_SUBSET = 0.75
_FEWER = 0.25
#: Fewer kinds of servers than these are quick as they are.
_MANY_KINDS = 64


def fewer_pairs(instance: Instance) -> np.ndarray | None:
    """Return a mask without some eligible pairs that makes far more servers identical, or None.

    In a cluster most servers are of a few kinds, but for a few users who may run on some of them
    only. Shape (N, K).
    """
    if not instance.has_constraints or instance.rates is not None:
        return None
    small, servers = merge_servers(instance)
    if len(servers) < _MANY_KINDS:
        return None
    runnable = small.runnable()
    eligible = np.zeros(small.eligible.shape, dtype=bool)
    of = _groups([small.capacities + 0.0]).of
    n_kinds = int(of.max()) + 1
    if n_kinds > _FEWER * len(servers):
        return None
    for kind in range(n_kinds):
        rows = np.flatnonzero(of == kind)
        fraction = runnable[:, rows] @ small.counts[rows] / small.counts[rows].sum()
        eligible[:, rows] = _subsets(
            runnable[:, rows] & (fraction > _RARE)[:, None], small.counts[rows]
        )
    excluded = runnable.any(axis=1) & ~eligible.any(axis=1)
    eligible[excluded] = runnable[excluded]
    eligible = eligible[:, servers.of]
    return eligible if pays_to_leave_out(instance, eligible) else None


def pays_to_leave_out(instance: Instance, eligible: np.ndarray) -> bool:
    """Whether far fewer kinds of servers are left where only these pairs are eligible."""
    groups = merge_servers(instance.derived(eligible=eligible.copy()))[1]
    return len(groups) <= _FEWER * len(merge_servers(instance)[1])


def _subsets(runnable: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return for each column a frequent column that is nearly all of it, else the column itself.

    The frequent column has no entry that the column lacks.
    """
    groups = _groups([np.packbits(runnable.T, axis=1)])
    group_sizes = np.bincount(groups.of, weights=counts)
    size = runnable.sum(axis=0)
    subsets = runnable.copy()
    unrepresented = np.ones(runnable.shape[1], dtype=bool)
    for group in np.argsort(-group_sizes, kind="stable")[: max(_MANY_KINDS, 1)]:
        leader = runnable[:, groups.first[group]]
        contained = (runnable[leader] if leader.any() else runnable[:0]).all(axis=0)
        represented = unrepresented & contained & (leader.sum() >= _SUBSET * size)
        subsets[:, represented], unrepresented[represented] = leader[:, None], False
    return subsets


def equal_servers(instance: Instance, attributes: pd.DataFrame) -> np.ndarray:
    """Return the class of each row of servers; equal capacity and attributes make one class.

    Classes are numbered by first appearance.
    """
    columns = [*instance.capacities.T, *attributes.astype(str).to_numpy().T]
    keys = pd.DataFrame(dict(enumerate(columns)))
    return keys.groupby(list(keys.columns), sort=False, dropna=False).ngroup().to_numpy()


def _canonical(values: np.ndarray, unit: np.ndarray, power: int) -> list[np.ndarray]:
    """Return values·unit^power by row in a form that is equal for proportional rows.

    The form is the mantissas without their last bits, and the exponents.

    Mantissas and exponents apart, since a quotient of two numbers may be beyond floats.
    """
    mantissa, exponent = np.frexp(values)
    of_unit, base = np.frexp(unit[:, None])
    rounded, first = np.frexp(mantissa * of_unit**power)
    rounded, second = np.frexp(np.round(np.ldexp(rounded, PROPORTIONAL_BITS)))
    exponents = exponent + power * base + first + second
    return [rounded + 0.0, np.where(values == 0, 0, exponents)]


def _groups(arrays: list[np.ndarray]) -> Groups:
    """Group rows that are equal in all arrays, to the byte, in order of first appearance."""
    parts = [np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1) for array in arrays]
    rows = np.hstack(parts)
    keys = np.fromiter((row.tobytes() for row in rows), dtype=object, count=len(rows))
    of, _ = pd.factorize(keys)
    _, first = np.unique(of, return_index=True)
    return Groups(of, first, np.ones(len(of)))
