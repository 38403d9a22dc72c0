"""The queues of YARN's capacity scheduler and fair scheduler, as the ResourceManager prints them.

The capacity scheduler prints shares of the parent in percent, by partition; the fair scheduler
prints amounts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from fairlp import queues

from .cluster import (
    Cluster,
    EntryError,
    Floats,
    Notes,
    Record,
    Where,
    add_amounts,
    mapping_at,
    name_in_path,
    positive_weight,
    text_at,
    value_at,
)
from .yarn_settings import CAPACITY, FAIR, MEMORY, ROOT, YarnSettings

VCORES = "vcores"
_NUMBER = (int, float)
#: The sum of the percentages of siblings; a larger one is rounding.
_HUNDRED = Fraction(100)
Resources = dict[str, int]

#: Queues within one another that are read.
MOST_NESTED = 200


class _Limits(NamedTuple):
    """Guarantee and cap of a queue, each as a fraction of a partition or as amounts by resource."""

    guarantee: Fraction | Resources
    cap: Fraction | Resources


_WHOLE = _Limits(Fraction(1), Fraction(1))
_NOTHING = _Limits(Fraction(0), Fraction(1))


def entries(value: Any, name: str) -> list[Any]:
    """Return the entries of a list as YARN prints it.

    It may be null, be wrapped in a mapping with the key ``name``, or, with one entry, be that entry.
    """
    if isinstance(value, dict) and name and (name in value or not value):
        value = value.get(name)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def resources_of(
    value: Any,
    flat: Any = None,
    memory_key: str = "",
    vcores_key: str = "",
    *,
    signed: bool = False,
) -> Resources:
    """Return amounts by resource: of a resource object, else of two numbers in ``flat``.

    Amounts below 0 are refused, and −1 stands for an unknown one, unless they are ``signed``.
    """
    resource_object = mapping_at(value)
    amounts: Resources = {}
    informations = mapping_at(resource_object, "resourceInformations")
    for information in entries(informations, "resourceInformation"):
        name = text_at(information, "name")
        resource = {"memory-mb": MEMORY}.get(name, name)
        amounts[resource] = value_at(information, "value", kind=int, default=0)

    fallbacks = (
        (MEMORY, resource_object, "memory"),
        (VCORES, resource_object, "vCores"),
        (MEMORY, flat, memory_key),
        (VCORES, flat, vcores_key),
    )
    for resource, mapping, key in fallbacks:
        amount = value_at(mapping, key, kind=int)
        if amount is not None:
            amounts.setdefault(resource, amount)

    if signed:
        return amounts
    if any(amount < -1 for amount in amounts.values()):
        raise EntryError(f"amounts are negative: {amounts!r}")
    if any(amount < 0 for amount in amounts.values()):
        return {}  # −1 stands for an amount that is not known any more
    return amounts


class QueueInfo(NamedTuple):
    """What a queue prints besides its weight and limits.

    ``user_factor`` is how much of the queue's capacity one user may have (negative: any), and
    ``user_limits`` what YARN itself prints as the limit of a user. ``masters`` are the amounts that
    masters of applications have and may have.
    """

    user_factor: float = -1.0
    factor_place: str = ""
    user_limits: Mapping[str, Resources] = MappingProxyType({})
    masters: tuple[Resources, Resources] = ({}, {})


class UserLimit(NamedTuple):
    """The amounts that one user of a queue may have, and the queue's name and factor."""

    amounts: Floats
    name: str


class YarnQueues:
    """The queues of one scheduler; paths have slashes, and no root."""

    def __init__(self, notes: Notes, settings: YarnSettings) -> None:
        self._notes = notes
        self._note = notes.add
        self._settings = settings
        #: Whether only memory counts.
        self.memory_only = False
        self._weights: dict[str, float] = {}
        #: Guarantee and cap of each queue by partition; None for all partitions together.
        self._limits: dict[str, dict[str | None, _Limits]] = {}
        self._leaves: dict[str, list[str]] = {}
        #: Whether each queue that says so lets its containers give way.
        self.preemption_flags: list[bool] = []
        #: What queues print besides, by path.
        self.infos: dict[str, QueueInfo] = {}

    def counted(self, amounts: Resources) -> Resources:
        """Return the amounts of the resources that count."""
        if not self.memory_only:
            return amounts
        return {resource: amount for resource, amount in amounts.items() if resource == MEMORY}

    def _resources(self, value: Any) -> Resources:
        """Return the amounts of a resource object that count."""
        return self.counted(resources_of(value))

    def read(self, info: Record, file: str) -> None:
        """Read the queues of a scheduler."""
        kind = text_at(info, "type")
        if kind == CAPACITY:
            partitions: set[str | None] = set(_partitions_below(info))
            # Without labels, percentages are of all nodes.
            partitions = {None} if partitions <= {""} else {"", *partitions}
            self._read_children(info, "", dict.fromkeys(partitions, _WHOLE), file)
        elif kind == FAIR:
            self._read_fair_queue(mapping_at(info, "rootQueue"), "", file)
        else:
            raise EntryError(f"scheduler of type {kind!r}; expected {CAPACITY} or {FAIR}")

    def _add(self, path: str, weight: float, limits: dict[str | None, _Limits]) -> None:
        if path.count("/") > MOST_NESTED:  # whatever Python's own limit is now
            raise RecursionError
        self._weights[path] = weight
        self._limits[path] = limits
        self._leaves.setdefault(path.rpartition("/")[2], []).append(path)

    def _read_children(
        self, info: Any, path: str, parent_limits: dict[str | None, _Limits], file: str
    ) -> None:
        """Read the queues below a queue of the capacity scheduler."""
        listed = entries(value_at(info, "queues", kind=(dict, list)), "queue")
        children = [mapping_at(child) for child in listed]
        limits_of_children: list[dict[str | None, _Limits]] = [{} for _ in children]
        for partition, limits in parent_limits.items():
            of_partition = self._limits_of_children(children, limits, partition)
            for child_limits, child_of_partition in zip(
                limits_of_children, of_partition, strict=True
            ):
                child_limits[partition] = child_of_partition

        weights_by_amounts = self._weights_by_amounts(children)
        for child, weight_by_amounts, limits_of_child in zip(
            children, weights_by_amounts, limits_of_children, strict=True
        ):
            name = text_at(child, "queueName").rpartition(".")[2]
            child_path = f"{path}/{name_in_path(name)}".lstrip("/")
            where = file, f"queue {child_path!r}"
            weight = weight_by_amounts
            if weight is None:
                weight = self._weight(child, _percent(child, "capacity"), where)
            self._note_unread(child, where)
            self._add(child_path, weight, limits_of_child)
            if not entries(value_at(child, "queues", kind=(dict, list)), "queue"):
                self.infos[child_path] = self._leaf_info(child, child_path)
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
            cap = _scaled(parent.cap, _percent(listing, "maxCapacity", 100) / _HUNDRED)
            if "absoluteMaxCapacity" in listing:
                cap = _percent(listing, "absoluteMaxCapacity") / _HUNDRED
            guarantee = _scaled(parent.guarantee, percentage / whole)

            entry = _entry_of(child, partition or "")
            effective_guarantee = self._resources(value_at(entry, "effectiveMinResource"))
            if any(effective_guarantee.values()):
                guarantee = effective_guarantee
                if any(self._resources(value_at(entry, "configuredMinResource")).values()):
                    cap = self._resources(value_at(entry, "effectiveMaxResource"))
            limits.append(_Limits(guarantee, cap))
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
            is_in_amounts = any(configured.values()) or not (
                _percent(child, "capacity")
                or value_at(child, "weight", kind=_NUMBER, default=-1) > 0
            )
            amounts.append(effective if is_in_amounts else {})
            add_amounts(total, amounts[-1])

        weights: list[float | None] = []
        for of_child in amounts:
            parts = [
                Fraction(amount, total[resource]) for resource, amount in of_child.items() if amount
            ]
            weights.append(float(max(parts)) if parts else None)
        return weights

    def _weight(self, queue: Record, percentage: Fraction, where: Where) -> float:
        """Return the weight of a queue: its percentage, or its weight where that is 0."""
        if percentage:
            return float(percentage)
        weight = value_at(queue, "weight", kind=_NUMBER, default=-1)
        if weight > 0:
            return float(weight)
        self._note(*where, "a capacity of 0", f"its weight is taken as {queues.LEAST_WEIGHT:g}")
        return queues.LEAST_WEIGHT

    def _leaf_info(self, queue: Record, path: str) -> QueueInfo:
        """Return what a queue of applications prints of its users, masters and preemption."""
        factor = value_at(queue, "userLimitFactor", kind=_NUMBER)
        place = "userLimitFactor"
        if factor is None:
            factor, place = self._settings.user_limit_factor(path)
        users = [mapping_at(user) for user in entries(queue.get("users"), "user")]
        is_disabled = value_at(queue, "preemptionDisabled", kind=bool)
        if is_disabled is not None:
            self.preemption_flags.append(not is_disabled)
        return QueueInfo(
            user_factor=float(factor),
            factor_place=place,
            user_limits={
                text_at(user, "username"): self._resources(value_at(user, "userResourceLimit"))
                for user in users
            },
            masters=(
                self._resources(value_at(queue, "usedAMResource")),
                self._resources(value_at(queue, "AMResourceLimit")),
            ),
        )

    def user_limit(
        self, path: str, partition: str, user: str, totals: dict[str, Resources]
    ) -> UserLimit | None:
        """Return the limit of a user of a queue in a partition; None where none binds.

        It is the factor times the queue's capacity, as Hadoop's documentation has it ("a single
        user can never take more than the queue's configured capacity irrespective of how idle the
        cluster is"), or what YARN itself prints where that is more: it rounds to whole containers.
        """
        info = self.infos.get(path)
        if info is None or info.user_factor < 0:
            return None
        limits = self._limits[path]
        total = totals.get(partition, {})
        if None in limits:
            total = _everything(totals)
        amounts = _amounts(limits.get(None, limits.get(partition, _NOTHING)), total)
        printed = info.user_limits.get(user, {}) if not partition else {}
        caps = {
            resource: max(info.user_factor * guarantee, float(printed.get(resource, 0)))
            for resource, guarantee in amounts["guarantee"].items()
        }
        caps_of_queue = amounts["cap"]
        if not any(
            cap < caps_of_queue.get(resource, total.get(resource, math.inf))
            for resource, cap in caps.items()
        ):
            return None
        factor = f"userLimitFactor {info.user_factor:g}"
        if info.factor_place != "userLimitFactor":
            factor += f", {info.factor_place}"
        return UserLimit(caps, f"user limit of queue {path} ({factor})")

    def _note_unread(self, queue: Record, where: Where) -> None:
        """Note the state and the share of users of a queue, which do not count."""
        state = value_at(queue, "state", kind=str, default="RUNNING")
        if state != "RUNNING":
            self._note(*where, f"its state is {state}", "left out: it counts as any other")

        share = queue.get("userLimit")
        if share not in (None, 100):
            message = f"its minimum-user-limit-percent is {share} (userLimit)"
            self._note(*where, message, "left out: users of a queue share it equally here")

    def _read_fair_queue(self, info: Record, parent: str, file: str) -> None:
        """Read a queue of the fair scheduler, and those below it."""
        name = text_at(info, "queueName")
        steps: list[str] = []
        if name.startswith(f"{ROOT}."):
            steps = [name_in_path(step) for step in name.split(".")[1:]]
        path = (
            "/".join(steps)
            if steps or name == ROOT
            else f"{parent}/{name_in_path(name)}".lstrip("/")
        )

        printed_weight = value_at(info, "weight", kind=_NUMBER)
        where = file, f"queue {path!r}"
        if printed_weight is None:
            weight = self._settings.weights.get(path, 1.0)
            if path and path not in self._settings.weights:
                message = "its weight is not printed (the allocation file has it)"
                self._note(*where, message, "taken as 1")
        else:
            weight = float(positive_weight(printed_weight, where, self._notes))
        guarantee = self._resources(value_at(info, "minResources"))
        cap = self._resources(value_at(info, "maxResources"))
        self._add(path, weight, {None: _Limits(guarantee, cap)})
        for child in entries(value_at(info, "childQueues", kind=(dict, list)), "queue"):
            self._read_fair_queue(mapping_at(child), path, file)

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

    def fill(
        self,
        cluster: Cluster,
        totals: dict[str, Resources],
        partitions_of_queue: dict[str, set[str]],
    ) -> None:
        """Put weights, guarantees and caps on the queues of a cluster.

        A queue has what it is guaranteed in the partitions in which it has applications. Where
        these are several, its applications stand in queues of its own for each partition, which
        have the guarantees.

        Parameters
        ----------
        cluster : Cluster
        totals : mapping
            Total capacity of each partition.
        partitions_of_queue : mapping
            The partitions in which the applications of a queue, or of one below it, run or wait.
        """
        for path, weight in self._weights.items():
            queue = cluster.queue(path)
            queue["weight"] = weight
            limits = self._limits[path]
            partitions = partitions_of_queue.get(path) or set(totals)
            if None in limits:
                queue |= _amounts(limits[None], _everything(totals))
                continue

            amounts_by_partition = {
                partition: _amounts(limits.get(partition, _NOTHING), totals.get(partition, {}))
                for partition in partitions
            }
            if len(partitions) == 1:
                queue |= amounts_by_partition.popitem()[1]
                continue
            queue["cap"] = _caps_together(amounts_by_partition, totals)
            for partition in sorted(partitions_of_queue.get(path, ())):
                child_path = self.path_in(path, partition, partitions_of_queue)
                if child_path != path and self._is_leaf(path):
                    child = cluster.queue(child_path)
                    child |= {"weight": 1.0, **amounts_by_partition[partition]}

    def _is_leaf(self, path: str) -> bool:
        """Whether no queue stands below a queue."""
        return not any(other.startswith(f"{path}/") for other in self._weights)

    def path_in(self, path: str, partition: str, partitions_of_queue: dict[str, set[str]]) -> str:
        """Return the path of applications of a queue in a partition.

        It is that of the queue, or, where limits are by partition and the queue has applications
        in several, that of its part there.
        """
        has_limits = None not in self._limits.get(path, {None: _NOTHING})
        if has_limits and len(partitions_of_queue[path]) > 1:
            return f"{path}/{name_in_path(partition_name(partition))}"
        return path


def printed_policies(info: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the queues of the fair scheduler below one, and the policy that each prints."""
    for child in entries(value_at(info, "childQueues", kind=(dict, list)), "queue"):
        name = text_at(child, "queueName").rpartition(".")[2]
        yield from printed_policies(child, f"{path}/{name_in_path(name)}".lstrip("/"))
    policy = text_at(info, "schedulingPolicy")
    if policy:
        yield path, policy


def _everything(totals: Mapping[str, Resources]) -> Resources:
    """Return the capacity of all partitions together."""
    everything: Resources = {}
    for total in totals.values():
        add_amounts(everything, total)
    return everything


def _partitions_below(info: Any) -> Iterator[str]:
    """Yield the partitions of which a queue, or one below it, has a part."""
    for entry in entries(value_at(info, "capacities"), "queueCapacitiesByPartition"):
        yield text_at(entry, "partitionName")
    for child in entries(value_at(info, "queues", kind=(dict, list)), "queue"):
        yield from _partitions_below(mapping_at(child))


def _entry_of(queue: Record, partition: str) -> Record:
    """Return what a queue lists of a partition; empty where it lists none."""
    for entry in entries(value_at(queue, "capacities"), "queueCapacitiesByPartition"):
        if text_at(entry, "partitionName") == partition:
            return mapping_at(entry)
    return {}


def _scaled(limit: Fraction | Resources, fraction: Fraction) -> Any:
    """Return a part of a limit, which may be a fraction of the cluster or amounts by resource."""
    if isinstance(limit, Fraction):
        return limit * fraction
    return {resource: amount * fraction for resource, amount in limit.items()}


def _amounts(limits: _Limits, total: Resources) -> Record:
    """Return guarantee and cap as amounts by resource, of this total capacity."""
    guarantee = _amounts_of(limits.guarantee, total)
    cap = _amounts_of(limits.cap, total)
    return {
        "guarantee": {resource: float(amount) for resource, amount in guarantee.items() if amount},
        "cap": {
            resource: float(amount)
            for resource, amount in cap.items()
            if amount < total.get(resource, math.inf)  # a cap of the whole limits nothing
        },
    }


def _caps_together(
    amounts_by_partition: dict[str, Record], totals: dict[str, Resources]
) -> dict[str, float]:
    """Return the caps of a queue in several partitions together.

    A partition without a cap counts with its total.
    """
    caps: dict[str, float] = {}
    capped = {resource for amounts in amounts_by_partition.values() for resource in amounts["cap"]}
    for partition, amounts in amounts_by_partition.items():
        total = totals.get(partition, {})
        for resource in capped:
            cap = amounts["cap"].get(resource, float(total.get(resource, 0)))
            caps[resource] = caps.get(resource, 0.0) + cap
    return caps


def _amounts_of(limit: Fraction | Resources, total: Resources) -> Mapping[str, int | Fraction]:
    """Return a limit, which may be a fraction of the cluster, as amounts by resource."""
    if isinstance(limit, Fraction):
        return {resource: limit * amount for resource, amount in total.items()}
    return limit


def _percent(queue: Record, key: str, default: float = 0.0) -> Fraction:
    """Return a percentage as it is printed."""
    value = value_at(queue, key, kind=_NUMBER, default=default)
    if not 0 <= value <= 100:
        raise EntryError(f"{key} is {value!r}; expected a percentage")
    return Fraction(repr(value))


def partition_name(label: str) -> str:
    """Return the name of a partition's server."""
    return f"nodes of {label!r}" if label else "nodes"
