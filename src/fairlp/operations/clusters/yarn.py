"""YARN: ``ws/v1/cluster/scheduler``, ``nodes`` and ``apps`` of the ResourceManager, as JSON.

It lists the amounts of an application by partition, and not by node: the nodes of a partition are
one server of the instance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ...models.files.whole_files import read_text
from ...models.instances.queues import LEAST_WEIGHT
from .assembly import Allowed
from .cluster import (
    Cluster,
    Demand,
    EntryError,
    Leaf,
    Node,
    Notes,
    Record,
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
    value: Any, flat: Any = None, memory_key: str = "", vcores_key: str = ""
) -> Resources:
    """Return amounts by resource: of a resource object, else of two numbers in ``flat``."""
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
        self._rows: dict[str, Record] = {}
        self._leaves: dict[str, list[str]] = {}

    def read(self, info: Record, file: str) -> None:
        """Read the queues of a scheduler."""
        kind = text_at(info, "type")
        if kind == "capacityScheduler":
            self._read_children(info, "", (Fraction(1), Fraction(1)), file)
        elif kind == "fairScheduler":
            self._read_fair_queue(mapping_at(info, "rootQueue"), "", file)
        else:
            raise EntryError(
                f"scheduler of type {kind!r}; expected capacityScheduler or fairScheduler"
            )

    def _add(self, path: str, **row: Any) -> None:
        self._rows[path] = row
        self._leaves.setdefault(path.rpartition("/")[2], []).append(path)

    def _read_children(
        self, info: Any, path: str, fractions: tuple[Fraction, Fraction], file: str
    ) -> None:
        """Read the queues below a queue of the capacity scheduler.

        ``fractions`` are the parts of the cluster that the queue itself is guaranteed and may use.
        """
        listed = entries(value_at(info, "queues", kind=(dict, list)), "queue")
        children = [mapping_at(child) for child in listed]
        percentages = [_percent(child, "capacity") for child in children]
        # Percentages are printed with few digits: their sum, and no rounding, is the whole.
        whole = max(sum(percentages, Fraction(0)), _HUNDRED)

        absolute_limits = [_absolute_limits(child) for child in children]
        total_guarantee: Resources = {}
        for limits in absolute_limits:
            if limits is not None:
                add_amounts(total_guarantee, limits[0])

        for child, percentage, limits in zip(children, percentages, absolute_limits, strict=True):
            name = text_at(child, "queueName").rpartition(".")[2]
            child_path = f"{path}/{name_in_path(name)}".lstrip("/")
            where = file, f"queue {child_path!r}"
            if limits is not None:
                parts = [
                    Fraction(amount, total_guarantee[resource])
                    for resource, amount in limits[0].items()
                    if amount
                ]
                weight = float(max(parts))
            else:
                weight = self._weight(child, percentage, where)
            self._note_unread(child, where)

            guaranteed_fraction = fractions[0] * percentage / whole
            largest_fraction = _percent(child, "maxCapacity", 100) / _HUNDRED * fractions[1]
            if "absoluteMaxCapacity" in child:
                largest_fraction = _percent(child, "absoluteMaxCapacity") / _HUNDRED
            child_fractions = (guaranteed_fraction, largest_fraction)
            guarantee, cap = child_fractions if limits is None else limits
            self._add(child_path, weight=weight, guarantee=guarantee, cap=cap)
            self._read_children(child, child_path, child_fractions, file)

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
        """Note the state, the limits of users and the partitions of a queue, which do not count."""
        state = value_at(queue, "state", kind=str, default="RUNNING")
        if state != "RUNNING":
            self._note(*where, f"its state is {state}", "left out: it counts as any other")

        has_factor = queue.get("userLimitFactor") not in (None, 1, 1.0)
        if has_factor or queue.get("userLimit") not in (None, 100):
            message = "limits of single users (userLimit, userLimitFactor)"
            self._note(*where, message, "left out")

        for entry in entries(value_at(queue, "capacities"), "queueCapacitiesByPartition"):
            label = text_at(entry, "partitionName")
            if label:
                action = "left out: what it has of the default partition is taken of all nodes"
                self._note(*where, f"capacity in partition {label!r}", action)

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
        self._add(path, weight=weight, guarantee=guarantee, cap=cap)
        for child in entries(value_at(info, "childQueues", kind=(dict, list)), "queue"):
            self._read_fair_queue(mapping_at(child), path, file)

    def path(self, queue: str, where: Where) -> str:
        """Return the path of an application's queue, given by its path or its last name."""
        steps = [name_in_path(step) for step in queue.split(".")]
        path = "/".join(steps[1:] if steps[0] == _ROOT else steps)
        if path in self._rows or not self._rows:
            return path
        paths_of_name = self._leaves.get(path, [])
        if len(paths_of_name) == 1:
            return paths_of_name[0]
        problem = "the name of several" if paths_of_name else "not in the dump"
        self._note(*where, f"queue {queue!r} is {problem}", "it stands at the root")
        return path

    def fill(self, cluster: Cluster, total: Resources) -> None:
        """Put weights, guarantees and caps on the queues of a cluster with this total capacity."""
        for path, row in self._rows.items():
            queue = cluster.queue(path)
            queue["weight"] = row["weight"]
            guarantee = _amounts_of(row["guarantee"], total)
            queue["guarantee"] = {
                resource: float(amount) for resource, amount in guarantee.items() if amount
            }
            cap = _amounts_of(row["cap"], total)
            queue["cap"] = {
                resource: float(amount)
                for resource, amount in cap.items()
                if amount < total.get(resource, math.inf)  # a cap of the whole limits nothing
            }


def _amounts_of(limit: Fraction | Resources, total: Resources) -> Mapping[str, int | Fraction]:
    """Return a limit, which may be a fraction of the cluster, as amounts by resource."""
    if isinstance(limit, Fraction):
        return {resource: limit * amount for resource, amount in total.items()}
    return limit


def _absolute_limits(queue: Record) -> tuple[Resources, Resources] | None:
    """Return guarantee and cap of a queue that is configured in amounts; None for percentages."""
    for entry in entries(value_at(queue, "capacities"), "queueCapacitiesByPartition"):
        guarantee = resources_of(value_at(entry, "effectiveMinResource"))
        configured = resources_of(value_at(entry, "configuredMinResource"))
        is_default_partition = not text_at(entry, "partitionName")
        if is_default_partition and any(configured.values()) and any(guarantee.values()):
            return guarantee, resources_of(value_at(entry, "effectiveMaxResource"))
    return None


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
        if state not in _WORKS:
            self.note(*where, f"it does not work ({state})", "left out")
            return
        self.nodes.add(name)

        used_object = value_at(entry, "usedResource")
        used = resources_of(used_object, entry, "usedMemoryMB", "usedVirtualCores")
        free_object = value_at(entry, "availableResource")
        free = resources_of(free_object, entry, "availMemoryMB", "availableVirtualCores")
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
        if cluster.nodes:
            message = "the dump does not say on which nodes containers run"
            action = "the nodes of a partition are one server"
            cluster.note("", f"{len(self.nodes)} nodes", message, action)

        total: Resources = {}
        for amounts in self.capacities.values():
            add_amounts(total, amounts)
        self.queues.fill(cluster, total)

        application_use: Resources = {}
        for name, (entry, file) in self.applications.items():
            where = file, f"application {name!r}"
            with cluster.notes.noting(*where):
                self._place(entry, where, application_use)
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

    def _place(self, entry: Record, where: Where, application_use: Resources) -> None:
        """Count the containers of an application, and add its amounts to ``application_use``."""
        queue = self.queues.path(text_at(entry, "queue"), where)
        user = text_at(entry, "user")
        name = f"{queue}/{user}" if queue else user
        leaf = Leaf(queue, user, name, (), tenant=name)

        containers = max(value_at(entry, "runningContainers", kind=int, default=0), 0)
        for partition, listed_amounts in self._allocated(entry):
            amounts = {r: amount for r, amount in listed_amounts.items() if amount > 0}
            if not amounts:
                continue
            add_amounts(application_use, amounts)
            parts = containers
            if not parts or any(amount % parts for amount in amounts.values()):
                parts = math.gcd(*amounts.values())
                message = f"its {containers} containers are not alike"
                self.note(*where, message, "it counts as equal parts of what it has")
            demand = demand_of({resource: amount // parts for resource, amount in amounts.items()})
            container = leaf._replace(demand=demand, place=partition)
            self.cluster.run(container, partition_name(partition), where, parts)

        waiting = 0
        since = _time(entry.get("startedTime"))
        priority = entry.get("priority")
        if type(priority) is not int:
            priority = None
        for count, demand, partition in self._requests(entry):
            waiting += count
            container = leaf._replace(demand=demand, place=partition)
            self.cluster.wait(container, count, since, priority)
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
