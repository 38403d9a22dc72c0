"""Quotas of queues in Kueue's sense: bookkeeping by resource and flavor, apart from servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InstanceError, quoted, require_known
from ..notation.expressions import Index
from .conditions import Columns, evaluate

if TYPE_CHECKING:
    from .instance import Instance
    from .queues import Queues

__all__ = ["AT", "KINDS"]

#: What a queue may say by resource, or by ``resource@condition``.
KINDS = ("nominal", "borrowing", "lending")
#: Parts a resource from the condition that picks the servers of a flavor.
AT = "@"
#: Amounts by kind, and by resource or ``resource@condition``.
Said = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class Quotas:
    """Quotas of the queues of a tree, one column for each resource and flavor.

    A flavor is a set of servers: those where a condition on their attributes holds, or all. What a
    task takes of a resource counts in the first column, in this order, that its queue lists and
    that has the server, or in one that has the very same servers. A resource of which its queue
    lists nothing is not counted.

    Attributes
    ----------
    flavors : tuple of str
        Condition on the servers of each column, empty for all.
    resource : ndarray of int, shape (M,)
        Position of the resource of each column.
    amounts : ndarray, shape (3, Q, M)
        ``nominal``, what belongs to the queue (NaN where it lists nothing); ``borrowing`` and
        ``lending``, what it may have beyond its own, and what it lends to others, at most (infinite
        for no limit).
    """

    flavors: tuple[str, ...]
    resource: np.ndarray
    amounts: np.ndarray

    def __post_init__(self) -> None:
        self.resource.setflags(write=False)
        self.amounts.setflags(write=False)

    @property
    def listed(self) -> np.ndarray:
        """Which queue lists which column: bool, shape (Q, M)."""
        return np.asarray(~np.isnan(self.amounts[0]))

    @property
    def has_flavors(self) -> bool:
        """Whether quotas are by flavor: some resource has several columns."""
        return len(np.unique(self.resource)) < len(self.resource)

    def names(self, resources: Iterable[Any]) -> list[str]:
        """Return what each column is called: ``resource`` or ``resource@condition``."""
        labels = [str(resource) for resource in resources]
        pairs = zip(self.resource.tolist(), self.flavors, strict=True)
        return [labels[r] + (AT + flavor if flavor else "") for r, flavor in pairs]

    def said(self, v: int, resources: Iterable[Any]) -> Said:
        """Return what a queue says of its quotas."""
        names = self.names(resources)
        amounts_by_kind = zip(KINDS, self.amounts[:, v], strict=True)
        return {
            kind: {names[m]: float(row[m]) for m in np.flatnonzero(np.isfinite(row))}
            for kind, row in amounts_by_kind
        }

    def of_resources(self, positions: np.ndarray) -> Quotas | None:
        """Return the quotas of these resources only, by position; None where there are none."""
        columns = np.flatnonzero(np.isin(self.resource, positions))
        order = np.argsort(positions, kind="stable")
        of = (
            order[np.searchsorted(positions[order], self.resource[columns])]
            if columns.size
            else columns
        )
        return (
            Quotas(tuple(self.flavors[m] for m in columns), of, self.amounts[:, :, columns])
            if columns.size
            else None
        )

    def servers(self, instance: Instance) -> np.ndarray:
        """Return the servers that each column counts on: bool, (M, K); unknown names are errors."""
        columns = Columns(instance.server_attributes, instance.capacities, instance.resources)
        everywhere = np.ones(len(instance.servers), dtype=bool)
        return np.array(
            [
                evaluate(flavor, columns, f"flavor {quoted(flavor)}") if flavor else everywhere
                for flavor in self.flavors
            ]
        )


def parted(key: Any, resources: Iterable[Any], name: str) -> tuple[int, str]:
    """Return the position of the resource and the condition in ``resource@condition``.

    ``resource`` alone has an empty condition.
    """
    position = {str(resource): r for r, resource in enumerate(resources)}
    own, _, condition = (str(key), "", "") if str(key) in position else str(key).partition(AT)
    require_known(own, position, f"{name} names {quoted(key)}", InstanceError)
    return position[own], condition


def quotas_of(rows: Mapping[str, Said], tree: Sequence[str], resources: Index) -> Quotas | None:
    """Return the quotas of what queues say by path; None where no queue says anything.

    Raises
    ------
    InstanceError
        For an amount below 0, and a limit of a column of which the queue has no nominal quota.
    """
    names = list(
        dict.fromkeys(
            name for quotas in rows.values() for kind in KINDS for name in quotas.get(kind, {})
        )
    )
    if not names:
        return None
    names.sort(
        key=lambda name: AT not in name
    )  # what is of some servers comes before what is of all
    place = {path: v for v, path in enumerate(tree)}
    column = {name: m for m, name in enumerate(names)}
    amounts = np.full((len(KINDS), len(tree), len(names)), np.inf)
    amounts[0] = np.nan
    for path, quotas in rows.items():
        for k, kind in enumerate(KINDS):
            for name, amount in quotas.get(kind, {}).items():
                owner = f"{kind} of queue {quoted(path)}, {name!r},"
                if not amount >= 0 or (k == 0 and np.isinf(amount)):
                    raise InstanceError(
                        f"{owner} is {amount:g}; expected a number >= 0 (leave it out for none)"
                    )
                if name not in quotas.get("nominal", {}):
                    raise InstanceError(f"{owner} has no nominal quota beside it; give one")
                amounts[k, place[path], column[name]] = amount
    columns = [parted(name, resources, "a quota") for name in names]
    return Quotas(
        tuple(condition for _, condition in columns),
        np.array([r for r, _ in columns], dtype=np.intp),
        amounts,
    )


@dataclass(frozen=True, eq=False)
class Lanes:
    """The ways in which tasks can count in quotas: one lane for each user and choice of flavors.

    Attributes
    ----------
    instance : Instance
        Its users are the lanes; each may run on the servers of its flavors only.
    user : ndarray of int
        User of each lane; lanes of one user lie together, in the order in which it tries them.
    use : ndarray, shape (lanes, M)
        What one task of a lane takes of each column of the quotas; nothing of users outside.
    use_outside : ndarray, shape (lanes, M)
        What one task of a user outside the quotas takes of what they cover. No quota holds it; it
        counts where shares are compared.
    """

    instance: Instance
    user: np.ndarray
    use: np.ndarray
    use_outside: np.ndarray

    @cached_property
    def places(self) -> np.ndarray:
        """Number of the set of servers of each lane, from 0 on.

        Lanes of one user either have the same servers, with other flavors, or none in common.
        """
        runs = self.instance.eligible
        is_new = np.ones(len(self.user), dtype=bool)
        is_new[1:] = (self.user[1:] != self.user[:-1]) | (runs[1:] != runs[:-1]).any(axis=1)
        return np.cumsum(is_new) - 1

    @classmethod
    def of(cls, instance: Instance) -> Lanes:
        """Return the lanes of an instance with quotas."""
        quotas = instance.quotas
        servers = instance.quotas.servers(instance)
        runnable = instance.runnable()
        listed = quotas.listed[nearest_listing(instance.tree)][instance.tree.of]
        is_outside = outside(instance.tree)
        listed[is_outside] = quotas.listed.any(axis=0)
        demanded = instance.demands > 0
        kinds, of = np.unique(
            np.hstack([listed, demanded, is_outside[:, None]]), axis=0, return_inverse=True
        )
        lanes_of_kind = [
            _ways(quotas, servers, kind[: listed.shape[1]], kind[listed.shape[1] : -1], kind[-1])
            for kind in kinds
        ]
        lanes = []
        for n, kind in enumerate(of.ravel()):
            lanes_of_user = [
                (n, columns, mask & runnable[n])
                for columns, mask in lanes_of_kind[kind]
                if (mask & runnable[n]).any()
            ]
            lanes += lanes_of_user or [
                (n, np.zeros(0, dtype=int), np.zeros(len(instance.servers), dtype=bool))
            ]
        user = np.array([n for n, _, _ in lanes])
        amounts = np.zeros((len(lanes), len(quotas.flavors)))
        for k, (n, columns, _) in enumerate(lanes):
            amounts[k, columns] = instance.demands[n, quotas.resource[columns]]
        counts_outside = is_outside[user][:, None]
        use = np.where(counts_outside, 0.0, amounts)
        use_outside = np.where(counts_outside, amounts, 0.0)
        repeated = np.diff(user, prepend=-1) == 0
        names = [
            str(instance.users[n]) + (f" (lane {k})" if repeated[k] else "")
            for k, n in enumerate(user.tolist())
        ]
        small = instance.select_users(user).derived(
            users=Index("n", names, "user"),
            eligible=np.array([mask for _, _, mask in lanes]),
            conditions=(),
        )
        return cls(small, user, use, use_outside)


def nearest_listing(queues: Queues) -> np.ndarray:
    """Return the nearest queue upward from each one that lists a quota, else the root: (Q,)."""
    assert queues.quotas is not None
    is_listing = np.asarray(queues.quotas.listed.any(axis=1))
    nearest = np.zeros(len(is_listing), dtype=np.intp)
    for v in range(1, len(is_listing)):  # parents come first
        nearest[v] = v if is_listing[v] else nearest[queues.parents[v]]
    return nearest


def outside(queues: Queues) -> np.ndarray:
    """Return which users are outside all quotas: no queue on their way up lists any. Bool, (N,)."""
    assert queues.quotas is not None
    is_listing = np.asarray(queues.quotas.listed.any(axis=1))
    return np.asarray(~is_listing[nearest_listing(queues)][queues.of])


def uncovered(lanes: Lanes, instance: Instance) -> np.ndarray:
    """Return what each user outside the quotas has of what no quota covers, shape (N, M).

    Of column m that is W[m] = max(0, what its servers have − Σ_v nominal[v,m]), where a server
    counts in the first column that has it. (It is not − S[root]: a quota covers what its queue
    keeps for itself.) Such users divide it by their weights on the way up, and none gets more than
    all its tasks could take of it alone.
    """
    queues = instance.tree
    quotas = instance.quotas
    has = quotas.servers(instance)
    weights = queues.weights_along(instance.user_weights)
    tasks = np.minimum(lanes.instance.gamma().sum(axis=1), lanes.instance.task_limits)
    nominal = np.nan_to_num(quotas.amounts[0]).sum(axis=0)
    most = np.zeros((len(weights), len(nominal)))
    np.add.at(most, lanes.user, lanes.use_outside * tasks[:, None])
    parts = np.zeros(most.shape)
    for m, r in enumerate(quotas.resource.tolist()):
        before = has[:m][quotas.resource[:m] == r].any(axis=0)
        amount = instance.total_capacities[has[m] & ~before, r].sum() - nominal[m]
        users = np.flatnonzero(most[:, m] > 0)
        parts[users, m] = _divided(max(float(amount), 0.0), weights[users], most[users, m])
    return parts


def _divided(amount: float, weights: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return parts of an amount in proportion to weights, each at most ``most``."""
    order = np.argsort(most / weights)
    sums = np.cumsum(most[order]) - most[order]
    remaining_weights = np.cumsum(weights[order][::-1])[::-1]
    level = np.maximum(amount - sums, 0.0) / remaining_weights  # of those who come here or later
    first_short = np.flatnonzero(level * weights[order] < most[order])
    if not first_short.size:
        return most
    return np.asarray(np.minimum(most, level[first_short[0]] * weights))


def _ways(
    quotas: Quotas,
    servers: np.ndarray,
    listed: np.ndarray,
    demanded: np.ndarray,
    is_outside: bool,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return each set of columns in which tasks of one kind count together, and its servers.

    Tasks outside the quotas run on servers of no column, too.
    """
    columns = [np.flatnonzero(listed & (quotas.resource == r)) for r in np.flatnonzero(demanded)]
    columns = [choices for choices in columns if choices.size]
    everywhere = np.ones(servers.shape[1], dtype=bool)
    if not columns:
        return [(np.zeros(0, dtype=int), everywhere)]
    has_column = np.array([servers[choices].any(axis=0) for choices in columns])
    allowed = has_column.all(axis=0) | is_outside
    picks = np.array([choices[servers[choices].argmax(axis=0)] for choices in columns])
    picks[~has_column] = -1
    kinds = np.unique(picks[:, allowed], axis=1).T
    choices_of_columns = []
    for kind in kinds:
        where = allowed & (picks == kind[:, None]).all(axis=0)
        if is_outside:
            choices_of_columns.append((kind[kind >= 0], where))
            continue
        choices = _with_equal_flavors(quotas, servers, columns, kind)
        choices_of_columns += [(choice, where) for choice in choices]
    return choices_of_columns


def _with_equal_flavors(
    quotas: Quotas, servers: np.ndarray, columns: list[np.ndarray], kind: np.ndarray
) -> list[np.ndarray]:
    """Return a choice of columns, and those with other flavors of the same servers in their place.

    Resources of the same flavors (a resource group of Kueue) have one flavor together.
    """
    column_of_flavor = []
    for choices, column in zip(columns, kind, strict=True):
        equal = choices[(servers[choices] == servers[column]).all(axis=1)]
        flavors = [quotas.flavors[m] for m in equal]
        column_of_flavor.append(dict(zip(flavors, equal.tolist(), strict=True)))

    groups = list(dict.fromkeys(tuple(of_flavor) for of_flavor in column_of_flavor))
    choices_of_columns = []
    for choice in product(*groups):
        flavor_of_group = dict(zip(groups, choice, strict=True))
        columns_of_choice = [
            of_flavor[flavor_of_group[tuple(of_flavor)]] for of_flavor in column_of_flavor
        ]
        choices_of_columns.append(np.array(columns_of_choice))
    return choices_of_columns
