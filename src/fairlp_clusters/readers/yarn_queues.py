"""The queues of YARN's capacity scheduler, as the ResourceManager prints them.

It prints shares of the parent in percent, by partition.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from fairlp import queues

from .cluster import (
    Amounts,
    Cluster,
    EntryError,
    Floats,
    Key,
    Notes,
    Record,
    Where,
    add_amounts,
    mapping_at,
    name_in_path,
    text_at,
    value_at,
)
from .yarn_settings import CAPACITY, MEMORY, ROOT, YarnSettings

VCORES = "vcores"
_NUMBER = (int, float)
#: The sum of the percentages of siblings; a larger one is rounding.
_HUNDRED = Fraction(100)
Resources = dict[str, int]

#: Queues within one another that are read.
MOST_NESTED = 200


class _Limits(NamedTuple):
    """Guarantee and cap of a queue in a partition."""

    guarantee: Mapping[str, int | Fraction]
    cap: Mapping[str, int | Fraction]


#: By partition; None for all partitions together.
_LimitsByPartition = dict[str | None, _Limits]


def entries(value: Any, name: str) -> list[Any]:
    """Return the entries of a list as YARN prints it.

    It may be null, be wrapped in a mapping with the key ``name``, or, with one entry, be that entry.
    """
    if isinstance(value, dict) and name and (name in value or not value):
        value = value.get(name)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _children_of(info: Any) -> list[Record]:
    """Return the queues below a queue."""
    return [
        mapping_at(child) for child in entries(value_at(info, "queues", kind=(dict, list)), "queue")
    ]


def resources_of(
    value: Any, flat: Any = None, keys: Key = ("", ""), *, signed: bool = False
) -> Resources:
    """Return amounts by resource: of a resource object, else of two numbers in ``flat``.

    ``keys`` are those of memory and virtual cores. Amounts below 0 are refused, and −1 stands for an
    unknown one, unless they are ``signed``.
    """
    resource_object = mapping_at(value)
    amounts: Resources = {}
    for information in entries(
        mapping_at(resource_object, "resourceInformations"), "resourceInformation"
    ):
        name = text_at(information, "name")
        resource = MEMORY if name == "memory-mb" else name
        amounts[resource] = value_at(information, "value", kind=int, default=0)
    for mapping, names in ((resource_object, ("memory", "vCores")), (flat, keys)):
        for resource, key in zip((MEMORY, VCORES), names, strict=True):
            amount = value_at(mapping, key, kind=int)
            if amount is not None:
                amounts.setdefault(resource, amount)

    least = min(amounts.values(), default=0)
    if signed or least >= 0:
        return amounts
    if least < -1:
        raise EntryError(f"amounts are negative: {amounts!r}")
    return {}  # −1 stands for an amount that is not known any more


def counted(amounts: Resources, memory_only: bool) -> Resources:
    """Return the amounts of the resources that count: all, or memory alone."""
    return {r: amount for r, amount in amounts.items() if not memory_only or r == MEMORY}


class _Users(NamedTuple):
    """How much of a queue's capacity one user may have (negative: any), and where that stands.

    ``printed`` is what YARN itself prints as the limit of each user.
    """

    factor: float
    place: str
    printed: dict[str, Resources]


class UserLimit(NamedTuple):
    """The amounts that one user of a queue may have, and the queue's name and factor."""

    amounts: Floats
    name: str


class YarnQueues:
    """The queues of one scheduler; paths have slashes, and no root.

    Parameters
    ----------
    notes : Notes
    settings : YarnSettings
    totals : mapping
        Total capacity of each partition.
    memory_only : bool
        Whether only memory counts.
    """

    def __init__(
        self,
        notes: Notes,
        settings: YarnSettings,
        totals: dict[str, Resources],
        memory_only: bool,
    ) -> None:
        self._note = notes.add
        self._settings = settings
        self._totals = totals
        self._memory_only = memory_only
        self._everything: Resources = {}
        for total in totals.values():
            add_amounts(self._everything, total)
        self._weights: dict[str, float] = {}
        self._limits: dict[str, _LimitsByPartition] = {}
        self._leaves: dict[str, list[str]] = {}
        self._users: dict[str, _Users] = {}
        #: The partitions in which the applications of a queue, or of one below it, run or wait.
        self.partitions_of: dict[str, set[str]] = {}

    def counted(self, amounts: Resources) -> Resources:
        """Return the amounts of the resources that count."""
        return counted(amounts, self._memory_only)

    def _resources(self, value: Any) -> Resources:
        """Return the amounts of a resource object that count."""
        return self.counted(resources_of(value))

    def _total(self, partition: str | None) -> Resources:
        """Return the capacity of a partition; of all of them together for None."""
        return self._everything if partition is None else self._totals.get(partition, {})

    def read(self, info: Record, file: str) -> None:
        """Read the queues of a scheduler."""
        kind = text_at(info, "type")
        if kind != CAPACITY:
            raise EntryError(f"scheduler of type {kind!r}; expected {CAPACITY}")
        partitions: set[str | None] = set(_partitions_below(info))
        # Without labels, percentages are of all nodes.
        partitions = {None} if partitions <= {""} else {"", *partitions}
        whole = {name: _Limits(self._total(name), self._total(name)) for name in partitions}
        self._read_children(info, "", whole, file)

    def _read_children(
        self, info: Any, path: str, parent_limits: _LimitsByPartition, file: str
    ) -> None:
        """Read the queues below a queue."""
        if path.count("/") > MOST_NESTED:  # whatever Python's own limit is now
            raise RecursionError
        children = _children_of(info)
        limits_of_children: list[_LimitsByPartition] = [{} for _ in children]
        for partition, limits in parent_limits.items():
            for child_limits, limit in zip(
                limits_of_children,
                self._limits_of_children(children, limits, partition),
                strict=True,
            ):
                child_limits[partition] = limit

        for child, weight, limits_of_child in zip(
            children, self._weights_by_amounts(children), limits_of_children, strict=True
        ):
            name = text_at(child, "queueName").rpartition(".")[2]
            child_path = f"{path}/{name_in_path(name)}".lstrip("/")
            where = file, f"queue {child_path!r}"
            self._weights[child_path] = weight or self._weight(child, where)
            self._limits[child_path] = limits_of_child
            self._leaves.setdefault(child_path.rpartition("/")[2], []).append(child_path)
            self._note_unread(child, where)
            if not _children_of(child):
                self._users[child_path] = self._users_of(child, child_path)
            self._read_children(child, child_path, limits_of_child, file)

    def _limits_of_children(
        self, children: list[Record], parent: _Limits, partition: str | None
    ) -> list[_Limits]:
        """Return guarantee and cap in a partition of the queues below a queue.

        They are the amounts that YARN itself prints, where it does, else percentages of the parent's.
        """
        listings = [child if not partition else _entry_of(child, partition) for child in children]
        percentages = [_percent(listing, "capacity") for listing in listings]
        # Percentages are printed with few digits: their sum, and no rounding, is the whole.
        whole = max(sum(percentages, Fraction(0)), _HUNDRED)

        limits = []
        for child, listing, percentage in zip(children, listings, percentages, strict=True):
            guarantee = _scaled(parent.guarantee, percentage / whole)
            cap = _scaled(parent.cap, _percent(listing, "maxCapacity", 100) / _HUNDRED)
            if "absoluteMaxCapacity" in listing:
                cap = _scaled(
                    self._total(partition), (_percent(listing, "absoluteMaxCapacity") / _HUNDRED)
                )
            amounts = _Limits(guarantee, cap)
            entry = _entry_of(child, partition or "")
            effective = self._resources(value_at(entry, "effectiveMinResource"))
            if any(effective.values()):
                amounts = amounts._replace(guarantee=effective)
                if any(self._resources(value_at(entry, "configuredMinResource")).values()):
                    amounts = amounts._replace(
                        cap=self._resources(value_at(entry, "effectiveMaxResource"))
                    )
            limits.append(amounts)
        return limits

    def _weights_by_amounts(self, children: list[Record]) -> list[float | None]:
        """Return the weights of queues that are configured in amounts; None for those in percent.

        The weight of such a queue is its part of its siblings' guarantees, of the resource of which it
        has the largest part.
        """
        amounts: list[Resources] = []
        total: Resources = {}
        for child in children:
            entry = _entry_of(child, "")
            configured = self._resources(value_at(entry, "configuredMinResource"))
            effective = self._resources(value_at(entry, "effectiveMinResource"))
            is_in_percent = _percent(child, "capacity") or _printed_weight(child) > 0
            is_in_amounts = any(configured.values()) or not is_in_percent
            amounts.append(effective if is_in_amounts else {})
            add_amounts(total, amounts[-1])
        largest = (
            max(
                (Fraction(amount, total[r]) for r, amount in of_child.items() if amount),
                default=None,
            )
            for of_child in amounts
        )
        return [None if part is None else float(part) for part in largest]

    def _weight(self, queue: Record, where: Where) -> float:
        """Return the weight of a queue: its percentage, or its weight where that is 0."""
        weight = float(_percent(queue, "capacity")) or _printed_weight(queue)
        if weight > 0:
            return weight
        self._note(*where, "a capacity of 0", f"its weight is taken as {queues.LEAST_WEIGHT:g}")
        return queues.LEAST_WEIGHT

    def _users_of(self, queue: Record, path: str) -> _Users:
        """Return what a queue of applications says of the limit of its users."""
        factor = value_at(queue, "userLimitFactor", kind=_NUMBER)
        place = ""
        if factor is None:
            factor, place = self._settings.user_limit_factor(path)
        users = [mapping_at(user) for user in entries(queue.get("users"), "user")]
        printed = {
            text_at(user, "username"): self._resources(value_at(user, "userResourceLimit"))
            for user in users
        }
        return _Users(float(factor), place, printed)

    def user_limit(self, path: str, partition: str, user: str) -> UserLimit | None:
        """Return the limit of a user of a queue in a partition; None where none binds.

        It is the factor times the queue's capacity, as Hadoop's documentation has it ("a single
        user can never take more than the queue's configured capacity irrespective of how idle the
        cluster is"), or what YARN itself prints where that is more: it rounds to whole containers.
        """
        users = self._users.get(path)
        if users is None or users.factor < 0:
            return None
        row = self._row(path, None if None in self._limits[path] else partition)
        printed = users.printed.get(user, {}) if not partition else {}
        caps = {
            resource: max(users.factor * guarantee, float(printed.get(resource, 0)))
            for resource, guarantee in row["guarantee"].items()
        }
        caps_of_queue = {
            **self._total(None if None in self._limits[path] else partition),
            **row["cap"],
        }
        if all(cap >= caps_of_queue.get(resource, math.inf) for resource, cap in caps.items()):
            return None
        factor = ", ".join(filter(None, [f"userLimitFactor {users.factor:g}", users.place]))
        return UserLimit(caps, f"user limit of queue {path} ({factor})")

    def _note_unread(self, queue: Record, where: Where) -> None:
        """Note the state and the share of users of a queue, which do not count."""
        state = value_at(queue, "state", kind=str, default="RUNNING")
        if state != "RUNNING":
            self._note(*where, f"its state is {state}", "left out: it counts as any other")
        share = queue.get("userLimit")
        if share not in (None, 100):
            self._note(
                *where,
                f"its minimum-user-limit-percent is {share} (userLimit)",
                "left out: users of a queue share it equally here",
            )

    def path(self, queue: str, where: Where) -> str:
        """Return the path of an application's queue, given by its path or its last name."""
        steps = [name_in_path(step) for step in queue.split(".")]
        path = "/".join(steps[1:] if steps[0] == ROOT else steps)
        if path in self._weights or not self._weights:
            return path
        paths_of_name = self._leaves.get(path, [])
        if len(paths_of_name) == 1:
            return paths_of_name[0]
        problem = "the name of several" if paths_of_name else "not in the dump"
        self._note(*where, f"queue {queue!r} is {problem}", "it stands at the root")
        return path

    def fill(self, cluster: Cluster) -> None:
        """Put weights, guarantees and caps on the queues of a cluster.

        A queue has what it is guaranteed in the partitions in which it has applications. Where
        these are several, its applications stand in queues of its own for each partition, which
        have the guarantees.
        """
        for path, weight in self._weights.items():
            queue = cluster.queue(path)
            queue["weight"] = weight
            applied = self.partitions_of.get(path, set())
            partitions = {None} if None in self._limits[path] else applied or set(self._totals)
            rows = {partition: self._row(path, partition) for partition in partitions}
            if len(rows) == 1:
                queue |= rows.popitem()[1]
                continue
            capped = {resource for row in rows.values() for resource in row["cap"]}
            caps: Floats = {}
            for partition, row in rows.items():  # without a cap it counts with its total
                total = self._total(partition)
                of_partition = {r: float(row["cap"].get(r, total.get(r, 0))) for r in capped}
                add_amounts(caps, of_partition)
            queue["cap"] = caps
            for partition in sorted(applied if path in self._users else ()):
                child = cluster.queue(self.path_in(path, partition))
                child |= {"weight": 1.0, **rows[partition]}

    def path_in(self, path: str, partition: str) -> str:
        """Return the path of applications of a queue in a partition.

        It is that of the queue, or, where limits are by partition and the queue has applications
        in several, that of its part there.
        """
        has_limits = path in self._limits and None not in self._limits[path]
        if has_limits and len(self.partitions_of[path]) > 1:
            return f"{path}/{name_in_path(partition_name(partition))}"
        return path

    def _row(self, path: str, partition: str | None) -> Record:
        """Return guarantee and cap of a queue in a partition."""
        limits = self._limits[path].get(partition, _Limits({}, {}))
        total = self._total(partition)
        return {
            "guarantee": {r: float(amount) for r, amount in limits.guarantee.items() if amount},
            "cap": {
                resource: float(amount)
                for resource, amount in limits.cap.items()
                if amount < total.get(resource, math.inf)  # a cap of the whole limits nothing
            },
        }


def _partitions_below(info: Any) -> Iterator[str]:
    """Yield the partitions of which a queue, or one below it, has a part."""
    for entry in entries(value_at(info, "capacities"), "queueCapacitiesByPartition"):
        yield text_at(entry, "partitionName")
    for child in _children_of(info):
        yield from _partitions_below(child)


def _entry_of(queue: Record, partition: str) -> Record:
    """Return what a queue lists of a partition; empty where it lists none."""
    for entry in entries(value_at(queue, "capacities"), "queueCapacitiesByPartition"):
        if text_at(entry, "partitionName") == partition:
            return mapping_at(entry)
    return {}


def _scaled(amounts: Mapping[str, int | Fraction], fraction: Fraction) -> Amounts:
    """Return a part of amounts by resource."""
    return {resource: amount * fraction for resource, amount in amounts.items()}


def _printed_weight(queue: Record) -> float:
    """Return the weight that a queue prints, below 0 where it prints none."""
    return float(value_at(queue, "weight", kind=_NUMBER, default=-1))


def _percent(queue: Record, key: str, default: float = 0.0) -> Fraction:
    """Return a percentage as it is printed."""
    value = value_at(queue, key, kind=_NUMBER, default=default)
    if not 0 <= value <= 100:
        raise EntryError(f"{key} is {value!r}; expected a percentage")
    return Fraction(repr(value))


def partition_name(label: str) -> str:
    """Return the name of a partition's server."""
    return f"nodes of {label!r}" if label else "nodes"
