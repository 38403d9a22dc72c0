"""The queues of YARN's capacity scheduler, as the ResourceManager prints them.

It prints shares of the parent in percent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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

CAPACITY = "capacityScheduler"
MEMORY = "memory"
VCORES = "vcores"
ROOT = "root"
_NUMBER = (int, float)
#: The sum of the percentages of siblings; a larger one is rounding.
_HUNDRED = Fraction(100)
Resources = dict[str, int]

#: Queues within one another that are read.
MOST_NESTED = 200


class _Limits(NamedTuple):
    """Guarantee and cap of a queue."""

    guarantee: Mapping[str, int | Fraction]
    cap: Mapping[str, int | Fraction]


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


class _Users(NamedTuple):
    """How much of a queue's capacity one user may have (negative: any).

    ``printed`` is what YARN itself prints as the limit of each user.
    """

    factor: float
    printed: dict[str, Resources]


class YarnQueues:
    """The queues of one scheduler; paths have slashes, and no root.

    Parameters
    ----------
    notes : Notes
    total : mapping
        The capacity of all nodes.
    memory_only : bool
        Whether only memory counts.
    """

    def __init__(self, notes: Notes, total: Resources, memory_only: bool) -> None:
        self._note = notes.add
        self._memory_only = memory_only
        self._total = self.counted(total)
        self._weights: dict[str, float] = {}
        self._limits: dict[str, _Limits] = {}
        self._leaves: dict[str, list[str]] = {}
        self._users: dict[str, _Users] = {}

    def counted(self, amounts: Resources) -> Resources:
        """Return the amounts of the resources that count: all, or memory alone."""
        return {r: amount for r, amount in amounts.items() if not self._memory_only or r == MEMORY}

    def _resources(self, value: Any) -> Resources:
        """Return the amounts of a resource object that count."""
        return self.counted(resources_of(value))

    def read(self, info: Record, file: str) -> None:
        """Read the queues of a scheduler."""
        self._read_children(info, "", _Limits(self._total, self._total), file)

    def _read_children(self, info: Any, path: str, limits: _Limits, file: str) -> None:
        """Read the queues below a queue."""
        if path.count("/") > MOST_NESTED:  # whatever Python's own limit is now
            raise RecursionError
        children = _children_of(info)
        for child, weight, limits_of_child in zip(
            children,
            self._weights_by_amounts(children),
            self._limits_of_children(children, limits),
            strict=True,
        ):
            name = text_at(child, "queueName").rpartition(".")[2]
            child_path = f"{path}/{name_in_path(name)}".lstrip("/")
            self._weights[child_path] = weight or self._weight(child, (file, child_path))
            self._limits[child_path] = limits_of_child
            self._leaves.setdefault(child_path.rpartition("/")[2], []).append(child_path)
            if not _children_of(child):
                self._users[child_path] = self._users_of(child)
            self._read_children(child, child_path, limits_of_child, file)

    def _limits_of_children(self, children: list[Record], parent: _Limits) -> list[_Limits]:
        """Return guarantee and cap of the queues below a queue.

        They are the amounts that YARN itself prints, where it does, else percentages of the parent's.
        """
        percentages = [_percent(child, "capacity") for child in children]
        # Percentages are printed with few digits: their sum, and no rounding, is the whole.
        whole = max(sum(percentages, Fraction(0)), _HUNDRED)
        limits = []
        for child, percentage in zip(children, percentages, strict=True):
            guarantee = _scaled(parent.guarantee, percentage / whole)
            cap = _scaled(parent.cap, _percent(child, "maxCapacity", 100) / _HUNDRED)
            if "absoluteMaxCapacity" in child:
                cap = _scaled(self._total, _percent(child, "absoluteMaxCapacity") / _HUNDRED)
            amounts = _Limits(guarantee, cap)
            entry = _amounts_of(child)
            effective = self._resources(value_at(entry, "effectiveMinResource"))
            if any(effective.values()):
                amounts = amounts._replace(guarantee=effective)
                if any(self._resources(value_at(entry, "configuredMinResource")).values()):
                    most = self._resources(value_at(entry, "effectiveMaxResource"))
                    amounts = amounts._replace(cap=most)
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
            entry = _amounts_of(child)
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

    def _weight(self, queue: Record, place: Key) -> float:
        """Return the weight of a queue: its percentage, or its weight where that is 0."""
        weight = float(_percent(queue, "capacity")) or _printed_weight(queue)
        if weight > 0:
            return weight
        file, path = place
        action = f"its weight is taken as {queues.LEAST_WEIGHT:g}"
        self._note(file, f"queue {path!r}", "a capacity of 0", action)
        return queues.LEAST_WEIGHT

    def _users_of(self, queue: Record) -> _Users:
        """Return what a queue of applications says of the limit of its users."""
        factor = value_at(queue, "userLimitFactor", kind=_NUMBER, default=1)
        users = [mapping_at(user) for user in entries(queue.get("users"), "user")]
        printed = {
            text_at(user, "username"): self._resources(value_at(user, "userResourceLimit"))
            for user in users
        }
        return _Users(float(factor), printed)

    def user_limit(self, path: str, user: str) -> Floats | None:
        """Return the amounts that a user of a queue may have; None where no limit binds.

        They are the factor times the queue's capacity, as Hadoop's documentation has it ("a single
        user can never take more than the queue's configured capacity irrespective of how idle the
        cluster is"), or what YARN itself prints where that is more: it rounds to whole containers.
        """
        users = self._users.get(path)
        if users is None or users.factor < 0:
            return None
        row = self._row(path)
        printed = users.printed.get(user, {})
        caps = {
            resource: max(users.factor * guarantee, float(printed.get(resource, 0)))
            for resource, guarantee in row["guarantee"].items()
        }
        caps_of_queue = {**self._total, **row["cap"]}
        if all(cap >= caps_of_queue.get(resource, math.inf) for resource, cap in caps.items()):
            return None
        return caps

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
        """Put weights, guarantees and caps on the queues of a cluster."""
        for path, weight in self._weights.items():
            cluster.queue(path).update(self._row(path), weight=weight)

    def _row(self, path: str) -> Record:
        """Return guarantee and cap of a queue."""
        limits = self._limits[path]
        return {
            "guarantee": {r: float(amount) for r, amount in limits.guarantee.items() if amount},
            "cap": {
                resource: float(amount)
                for resource, amount in limits.cap.items()
                if amount < self._total.get(resource, math.inf)  # one of the whole limits nothing
            },
        }


def _amounts_of(queue: Record) -> Record:
    """Return what a queue lists of its amounts; empty where it lists none."""
    for entry in entries(value_at(queue, "capacities"), "queueCapacitiesByPartition"):
        if not text_at(entry, "partitionName"):
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
