"""YARN: ``ws/v1/cluster/scheduler``, ``nodes`` and ``apps`` of the ResourceManager, as JSON.

It lists the amounts of an application by partition, and not by node: the nodes of a partition are
one server of the instance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...models.files.whole_files import read_text
from ...models.instances.queues import LEAST_WEIGHT, lineage
from .assembly import Allowed
from .cluster import (
    Cluster,
    Demand,
    EntryError,
    Leaf,
    Node,
    Notes,
    Record,
    Request,
    Where,
    add_amounts,
    demand_of,
    list_at,
    mapping_at,
    name_in_path,
    positive_weight,
    text_at,
    value_at,
)
from .sources import END, members

# YARN's queues, of the capacity scheduler (shares of the parent, in percent) and of the fair
# scheduler.

VCORES = "vcores"
MEMORY = "memory"
_ROOT = "root"
_NUMBER = (int, float)
#: The sum of the percentages of siblings; a larger one is rounding.
_HUNDRED = Fraction(100)
Resources = dict[str, int]


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


class YarnQueues:
    """The queues of one scheduler; paths have slashes, and no root."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._note = notes.add
        self._weights: dict[str, float] = {}
        #: Guarantee and cap of each queue by partition; None for all partitions together.
        self._limits: dict[str, dict[str | None, _Limits]] = {}
        self._leaves: dict[str, list[str]] = {}

    def read(self, info: Record, file: str) -> None:
        """Read the queues of a scheduler."""
        kind = text_at(info, "type")
        if kind == "capacityScheduler":
            partitions: set[str | None] = set(_partitions_below(info))
            # Without labels, percentages are of all nodes.
            partitions = {None} if partitions <= {""} else {"", *partitions}
            self._read_children(info, "", dict.fromkeys(partitions, _WHOLE), file)
        elif kind == "fairScheduler":
            self._read_fair_queue(mapping_at(info, "rootQueue"), "", file)
        else:
            raise EntryError(
                f"scheduler of type {kind!r}; expected capacityScheduler or fairScheduler"
            )

    def _add(self, path: str, weight: float, limits: dict[str | None, _Limits]) -> None:
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
            of_partition = _limits_of_children(children, limits, partition)
            for child_limits, child_of_partition in zip(
                limits_of_children, of_partition, strict=True
            ):
                child_limits[partition] = child_of_partition

        weights_by_amounts = _weights_by_amounts(children)
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
            self._read_children(child, child_path, limits_of_child, file)

    def _weight(self, queue: Record, percentage: Fraction, where: Where) -> float:
        """Return the weight of a queue: its percentage, or its weight where that is 0."""
        if percentage:
            return float(percentage)
        weight = value_at(queue, "weight", kind=_NUMBER, default=-1)
        if weight > 0:
            return float(weight)
        self._note(*where, "a capacity of 0", f"its weight is taken as {LEAST_WEIGHT:g}")
        return LEAST_WEIGHT

    def _note_unread(self, queue: Record, where: Where) -> None:
        """Note the state and the limits of users of a queue, which do not count."""
        state = value_at(queue, "state", kind=str, default="RUNNING")
        if state != "RUNNING":
            self._note(*where, f"its state is {state}", "left out: it counts as any other")

        has_factor = queue.get("userLimitFactor") not in (None, 1, 1.0)
        if has_factor or queue.get("userLimit") not in (None, 100):
            message = "limits of single users (userLimit, userLimitFactor)"
            self._note(*where, message, "left out")

    def _read_fair_queue(self, info: Record, parent: str, file: str) -> None:
        """Read a queue of the fair scheduler, and those below it."""
        name = text_at(info, "queueName")
        steps: list[str] = []
        if name.startswith(f"{_ROOT}."):
            steps = [name_in_path(step) for step in name.split(".")[1:]]
        path = (
            "/".join(steps)
            if steps or name == _ROOT
            else f"{parent}/{name_in_path(name)}".lstrip("/")
        )

        printed_weight = value_at(info, "weight", kind=_NUMBER)
        where = file, f"queue {path!r}"
        if printed_weight is None:
            weight = 1.0
            if path:
                message = "its weight is not printed (the allocation file has it)"
                self._note(*where, message, "taken as 1")
        else:
            weight = float(positive_weight(printed_weight, where, self._notes))
        guarantee = resources_of(value_at(info, "minResources"))
        cap = resources_of(value_at(info, "maxResources"))
        self._add(path, weight, {None: _Limits(guarantee, cap)})
        for child in entries(value_at(info, "childQueues", kind=(dict, list)), "queue"):
            self._read_fair_queue(mapping_at(child), path, file)

    def path(self, queue: str, where: Where) -> str:
        """Return the path of an application's queue, given by its path or its last name."""
        steps = [name_in_path(step) for step in queue.split(".")]
        path = "/".join(steps[1:] if steps[0] == _ROOT else steps)
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
                everything: Resources = {}
                for partition_total in totals.values():
                    add_amounts(everything, partition_total)
                queue |= _amounts(limits[None], everything)
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


def _partitions_below(info: Any) -> Iterator[str]:
    """Yield the partitions of which a queue, or one below it, has a part."""
    for entry in entries(value_at(info, "capacities"), "queueCapacitiesByPartition"):
        yield text_at(entry, "partitionName")
    for child in entries(value_at(info, "queues", kind=(dict, list)), "queue"):
        yield from _partitions_below(mapping_at(child))


def _limits_of_children(
    children: list[Record], parent: _Limits, partition: str | None
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
        effective_guarantee = resources_of(value_at(entry, "effectiveMinResource"))
        if any(effective_guarantee.values()):
            guarantee = effective_guarantee
            if any(resources_of(value_at(entry, "configuredMinResource")).values()):
                cap = resources_of(value_at(entry, "effectiveMaxResource"))
        limits.append(_Limits(guarantee, cap))
    return limits


def _weights_by_amounts(children: list[Record]) -> list[float | None]:
    """Return the weights of queues that are configured in amounts; None for those in percent.

    The weight of such a queue is its part of its siblings' guarantees, of the resource of which it
    has the largest part.
    """
    amounts: list[Resources] = []
    total: Resources = {}
    for child in children:
        entry = _entry_of(child, "")
        configured = resources_of(value_at(entry, "configuredMinResource"))
        effective = resources_of(value_at(entry, "effectiveMinResource"))
        is_in_amounts = any(configured.values()) or not (
            _percent(child, "capacity") or value_at(child, "weight", kind=_NUMBER, default=-1) > 0
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


_UNITS = {VCORES: "", MEMORY: "MiB"}
_WORKS = ("RUNNING", "DECOMMISSIONING")
_WAITS = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING")
_ANY = "*"


def partition_name(label: str) -> str:
    """Return the name of a partition's server."""
    return f"nodes of {label!r}" if label else "nodes"


class _Application(NamedTuple):
    """An application: its record, its queue, and the containers that run and wait, by partition."""

    entry: Record
    where: Where
    queue: str
    running: list[tuple[str, Resources]]
    waiting: list[tuple[int, Demand, str]]


class YarnReader:
    """Reads nodes and applications, and then puts applications where queues are known."""

    def __init__(self) -> None:
        self.cluster = Cluster("yarn", _UNITS)
        self.note = self.cluster.notes.add
        self.queues = YarnQueues(self.cluster.notes)
        self.capacities: dict[str, Resources] = {}  # by partition
        self.node_use: Resources = {}  # as nodes report it
        self.applications: dict[str, tuple[Record, str]] = {}
        self.nodes: set[str] = set()
        self.nodes_of_state: Counter[str] = Counter()
        self.partitions_of_queue: dict[str, set[str]] = {}

    def read(self, path: Path) -> None:
        """Read a file."""
        readers = {"nodes": ("node", self._read_node), "apps": ("app", self._read_application)}
        notes = self.cluster.notes
        for key, value in members(read_text(path), path):
            with notes.noting(path.name, key):
                if key in readers:
                    name, reader = readers[key]
                    for entry in entries(value, name):
                        notes.read_entry(reader, entry, path.name, name, "id")
                elif key == "scheduler":
                    self.queues.read(mapping_at(value, "schedulerInfo"), path.name)
                elif key != END:
                    self.note(path.name, f"key {key!r}", "it is not read", "left out")

    def _read_node(self, entry: Record, file: str) -> None:
        name = text_at(entry, "id")
        state = text_at(entry, "state")
        where = file, f"node {name!r}"
        if not name:
            raise EntryError("it has no id")
        if name in self.nodes:
            self.note(*where, "an earlier node has this name", "left out")
            return
        self.nodes_of_state[state] += 1
        if state not in _WORKS:
            self.note(*where, f"it does not work ({state})", "left out")
            return
        self.nodes.add(name)

        used_object = value_at(entry, "usedResource")
        used = resources_of(used_object, entry, "usedMemoryMB", "usedVirtualCores")
        free_object = value_at(entry, "availableResource")
        # A node that was resized below its use has less than nothing available.
        free = resources_of(
            free_object, entry, "availMemoryMB", "availableVirtualCores", signed=True
        )
        if not used and not free:
            raise EntryError("it has no amounts")
        labels = list_at(entry, "nodeLabels")
        partition = str(labels[0]) if labels else ""
        if len(labels) > 1:
            action = "left out: a node is of its first partition"
            self.note(*where, f"labels {labels[1:]!r}", action)
        if state == "DECOMMISSIONING":
            message = "it takes no new containers (DECOMMISSIONING)"
            self.note(*where, message, "it counts with what it runs")
            free = {}

        capacity = self.capacities.setdefault(partition, {})
        add_amounts(capacity, used)
        add_amounts(capacity, free)
        add_amounts(self.node_use, used)

    def _read_application(self, entry: Record, file: str) -> None:
        name = text_at(entry, "id")
        state = text_at(entry, "state")
        where = file, f"application {name!r}"
        if state not in _WAITS:
            self.note(*where, f"it has finished ({state})", "left out: it holds nothing")
        elif name in self.applications:
            self.note(*where, "an earlier application has this number", "left out")
        else:
            self.applications[name] = entry, file

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and the function that says where its containers may be."""
        cluster = self.cluster

        # A server for each partition, since the dump lists no containers by node.
        for label, amounts in self.capacities.items():
            capacity = {resource: float(amount) for resource, amount in amounts.items()}
            cluster.add(Node(partition_name(label), capacity, {"partition": label}))
        if not cluster.nodes and self.nodes_of_state:
            states = ", ".join(f"{n} {state}" for state, n in self.nodes_of_state.items())
            cluster.no_nodes = f"{self.nodes_of_state.total()} nodes, none RUNNING ({states})"
        if cluster.nodes:
            message = "the dump does not say on which nodes containers run"
            action = "the nodes of a partition are one server"
            cluster.note("", f"{len(self.nodes)} nodes", message, action)

        applications = []
        for name, (entry, file) in self.applications.items():
            where = file, f"application {name!r}"
            with cluster.notes.noting(*where):
                applications.append(self._read_use(entry, where))
        self.queues.fill(cluster, self.capacities, self.partitions_of_queue)

        application_use: Resources = {}
        for application in applications:
            with cluster.notes.noting(*application.where):
                self._place(application, application_use)
        self._note_other_use(application_use)

        partitions = [str(node.attributes["partition"]) for node in cluster.nodes.values()]
        return cluster, lambda place: np.array([label == place for label in partitions], dtype=bool)

    def _note_other_use(self, application_use: Resources) -> None:
        """Note resources of which nodes and applications report different use."""
        if not self.nodes:
            return
        for resource in sorted({*application_use, *self.node_use}):
            by_nodes = self.node_use.get(resource, 0)
            by_applications = application_use.get(resource, 0)
            if by_nodes != by_applications:
                message = f"nodes say that {by_nodes} are in use, applications {by_applications}"
                action = "what applications say is what is observed"
                self.note("", f"resource {resource!r}", message, action)

    def _read_use(self, entry: Record, where: Where) -> _Application:
        """Return an application with what it has and waits for, and remember its partitions."""
        queue = self.queues.path(text_at(entry, "queue"), where)
        running = []
        for partition, listed_amounts in self._allocated(entry):
            amounts = {r: amount for r, amount in listed_amounts.items() if amount > 0}
            if amounts:
                running.append((partition, amounts))
        waiting = list(self._requests(entry))

        partitions = {partition for partition, _ in running}
        partitions |= {partition for _, _, partition in waiting}
        partitions &= set(self.capacities)
        for path in lineage(queue):
            self.partitions_of_queue.setdefault(path, set()).update(partitions)
        return _Application(entry, where, queue, running, waiting)

    def _place(self, application: _Application, application_use: Resources) -> None:
        """Count the containers of an application, and add its amounts to ``application_use``."""
        entry, where, queue, running, waiting_containers = application
        user = text_at(entry, "user")
        name = f"{queue}/{user}" if queue else user

        def leaf_in(partition: str, demand: Demand) -> Leaf:
            path = self.queues.path_in(queue, partition, self.partitions_of_queue)
            return Leaf(path, user, name, demand, partition, tenant=name)

        containers = max(value_at(entry, "runningContainers", kind=int, default=0), 0)
        for partition, amounts in running:
            add_amounts(application_use, amounts)
            parts = containers
            if not parts or any(amount % parts for amount in amounts.values()):
                parts = math.gcd(*amounts.values())
                message = f"its {containers} containers are not alike"
                self.note(*where, message, "it counts as equal parts of what it has")
            demand = demand_of({resource: amount // parts for resource, amount in amounts.items()})
            container = leaf_in(partition, demand)
            self.cluster.run(container, partition_name(partition), where, parts)

        waiting = 0
        since = _time(entry.get("startedTime"))
        priority = entry.get("priority")
        if type(priority) is not int:
            priority = None
        for count, demand, partition in waiting_containers:
            waiting += count
            self.cluster.wait(leaf_in(partition, demand), count, since, Request(priority))
        if not waiting and entry["state"] != "RUNNING":
            message = f"it is {entry['state']}, and the dump does not say what it asks for"
            self.note(*where, message, "left out")

    def _allocated(self, entry: Record) -> Iterator[tuple[str, Resources]]:
        """Yield the partitions in which an application has amounts, with these amounts."""
        total = resources_of(None, entry, "allocatedMB", "allocatedVCores")
        path = ("resourceInfo", "resourceUsagesByPartition")
        listed = entries(value_at(entry, *path, kind=(list, dict), default=[]), "")
        usages = [
            (text_at(usage, "partitionName"), resources_of(value_at(usage, "used")))
            for usage in listed
        ]
        for resource, amount in total.items():
            if sum(amounts.get(resource, 0) for _, amounts in usages) != amount:
                usages = [(text_at(entry, "appNodeLabelExpression"), total)]
                break
        for partition, amounts in usages:
            yield _label(partition), amounts

    def _requests(self, entry: Record) -> Iterator[tuple[int, Demand, str]]:
        """Yield count, demand and partition of the containers that an application waits for."""
        requests = value_at(entry, "resourceRequests", kind=(list, dict), default=[])
        for request in entries(requests, ""):
            count = value_at(request, "numContainers", kind=int, default=0)
            location = value_at(request, "resourceName", kind=str, default=_ANY)
            if location == _ANY and count > 0:
                demand = demand_of(resources_of(mapping_at(request, "capability")))
                yield count, demand, _label(text_at(request, "nodeLabelExpression"))


def _label(text: str) -> str:
    """Return the partition of a label expression."""
    return "" if text in ("<DEFAULT_PARTITION>", "<Not set>", "DEFAULT_PARTITION") else text


def _time(value: Any) -> str | None:
    """Return milliseconds since 1970 as a time."""
    if type(value) is not int or not 0 < value < 2**45:
        return None
    return datetime.fromtimestamp(value // 1000, UTC).isoformat().replace("+00:00", "Z")
