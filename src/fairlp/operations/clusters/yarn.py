"""YARN: ``ws/v1/cluster/scheduler``, ``nodes`` and ``apps`` of the ResourceManager, as JSON.

It tells how much an application has, and in which partition, but not on which nodes: so the nodes
of a partition are one server here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
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
    Leaf,
    Node,
    Notes,
    Odd,
    Record,
    Where,
    add_amounts,
    demand_of,
    list_at,
    mapping_at,
    name_in_path,
    part,
    positive,
    text_at,
)
from .sources import END, members

# YARN's queues, of the capacity scheduler (shares of the parent, in percent) and of the fair
# scheduler.

VCORES = "vcores"
MEMORY = "memory"
_ROOT = "root"
_NUMBER = (int, float)
#: What the percentages of siblings add up to; more than this is rounding.
_HUNDRED = Fraction(100)
Resources = dict[str, int]


def entries(value: Any, name: str) -> list[Any]:
    """Return the entries of a list that may be null, wrapped in a mapping, or, of one entry, that entry itself."""
    if isinstance(value, dict) and name and (name in value or not value):
        value = value.get(name)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def resources_of(given: Any, flat: Any = None, memory: str = "", vcores: str = "") -> Resources:
    """Return amounts by resource: of a resource object, or of two numbers beside one another."""
    found: Resources = {}
    given = mapping_at(given)
    informations = mapping_at(given, "resourceInformations")
    for one in entries(informations, "resourceInformation"):
        name = text_at(one, "name")
        value = part(one, "value", kind=int, default=0)
        found[{"memory-mb": MEMORY}.get(name, name)] = value
    numbers = (
        (MEMORY, given, "memory"),
        (VCORES, given, "vCores"),
        (MEMORY, flat, memory),
        (VCORES, flat, vcores),
    )
    for name, beside, key in numbers:
        value = part(beside, key, kind=int)
        if value is not None:
            found.setdefault(name, value)
    if any(amount < 0 for amount in found.values()):
        if any(amount < -1 for amount in found.values()):
            raise Odd(f"amounts are negative: {found!r}")
        return {}  # −1 stands for what is not known any more
    return found


class YarnQueues:
    """The queues of one scheduler; paths have slashes, and no root."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._note = notes.add
        self._rows: dict[str, Record] = {}
        self._leaves: dict[str, list[str]] = {}

    def read(self, info: Record, file: str) -> None:
        """Take in a scheduler."""
        kind = text_at(info, "type")
        if kind == "capacityScheduler":
            self._capacity(info, "", (Fraction(1), Fraction(1)), file)
        elif kind == "fairScheduler":
            self._fair(mapping_at(info, "rootQueue"), "", file)
        else:
            raise Odd(f"scheduler of type {kind!r}; expected capacityScheduler or fairScheduler")

    def _add(self, path: str, **row: Any) -> None:
        self._rows[path] = row
        self._leaves.setdefault(path.rpartition("/")[2], []).append(path)

    def _capacity(self, info: Any, path: str, above: tuple[Fraction, Fraction], file: str) -> None:
        """Take in the children of a queue; ``above`` are the fractions of all that it is guaranteed and may have."""
        children = [
            mapping_at(one) for one in entries(part(info, "queues", kind=(dict, list)), "queue")
        ]
        shares = [_percent(one, "capacity") for one in children]
        total = sum(shares, Fraction(0))
        absolute = [_absolute(one) for one in children]
        together: Resources = {}
        for amounts, _ in filter(None, absolute):
            add_amounts(together, amounts)
        for one, share, limits in zip(children, shares, absolute, strict=True):
            name = text_at(one, "queueName").rpartition(".")[2]
            below = f"{path}/{name_in_path(name)}".lstrip("/")
            where = file, f"queue {below!r}"
            weight = float(share)
            if limits is not None:
                weight = float(
                    max(Fraction(amount, together[r]) for r, amount in limits[0].items() if amount)
                )
            elif not share:
                own = part(one, "weight", kind=_NUMBER, default=-1)
                weight = float(own) if own > 0 else LEAST_WEIGHT
                if own <= 0:
                    self._note(
                        *where, "a capacity of 0", f"its weight is taken as {LEAST_WEIGHT:g}"
                    )
            state = part(one, "state", kind=str, default="RUNNING")
            if state != "RUNNING":
                self._note(*where, f"its state is {state}", "left out: it counts as any other")
            if one.get("userLimitFactor") not in (None, 1, 1.0) or one.get("userLimit") not in (
                None,
                100,
            ):
                self._note(
                    *where, "limits of single users (userLimit, userLimitFactor)", "left out"
                )
            for entry in entries(part(one, "capacities"), "queueCapacitiesByPartition"):
                label = text_at(entry, "partitionName")
                if label:
                    done = "left out: what it has of the default partition is taken of all nodes"
                    self._note(*where, f"capacity in partition {label!r}", done)
            # percentages are printed with few digits: their sum, and no rounding, is the whole
            least = above[0] * share / max(total, _HUNDRED) if total else Fraction(0)
            most = _percent(one, "maxCapacity", 100) / _HUNDRED * above[1]
            if "absoluteMaxCapacity" in one:
                most = _percent(one, "absoluteMaxCapacity") / _HUNDRED
            self._add(
                below,
                weight=weight,
                **dict(zip(("guarantee", "cap"), limits or (least, most), strict=True)),
            )
            self._capacity(one, below, (least, most), file)

    def _fair(self, info: Record, above: str, file: str) -> None:
        """Take in a queue of the fair scheduler, and those below it."""
        name = text_at(info, "queueName")
        names = (
            [name_in_path(step) for step in name.split(".")[1:]]
            if name.startswith(f"{_ROOT}.")
            else []
        )
        path = (
            "/".join(names)
            if names or name == _ROOT
            else f"{above}/{name_in_path(name)}".lstrip("/")
        )
        weight = part(info, "weight", kind=_NUMBER)
        where = file, f"queue {path!r}"
        if weight is None and path:
            self._note(
                *where, "its weight is not printed (the allocation file has it)", "taken as 1"
            )
        weight = 1.0 if weight is None else float(positive(weight, where, self._notes))
        least, most = (resources_of(part(info, key)) for key in ("minResources", "maxResources"))
        self._add(path, weight=weight, guarantee=least, cap=most)
        for one in entries(part(info, "childQueues", kind=(dict, list)), "queue"):
            self._fair(mapping_at(one), path, file)

    def path(self, queue: str, where: Where) -> str:
        """Return the path of the queue that an application names: by its whole path, or by its last name."""
        steps = [name_in_path(step) for step in queue.split(".")]
        path = "/".join(steps[1:] if steps[0] == _ROOT else steps)
        if path in self._rows or not self._rows:
            return path
        named = self._leaves.get(path, [])
        if len(named) == 1:
            return named[0]
        what = f"queue {queue!r} is {'the name of several' if named else 'not there'}"
        self._note(*where, what, "it stands at the root")
        return path

    def fill(self, cluster: Cluster, total: Resources) -> None:
        """Put weights, guarantees and caps on the queues of a cluster that has this much."""
        for path, row in self._rows.items():
            there = cluster.queue(path)
            there["weight"] = row["weight"]
            for what in ("guarantee", "cap"):
                given = row[what]
                if isinstance(given, Fraction):
                    given = {resource: given * amount for resource, amount in total.items()}
                if what == "cap":  # one of all there is says nothing
                    given = {r: a for r, a in given.items() if a < total.get(r, math.inf)}
                there[what] = {
                    resource: float(amount)
                    for resource, amount in given.items()
                    if amount or what == "cap"
                }


def _absolute(given: Record) -> tuple[Resources, Resources] | None:
    """Return what a queue is guaranteed and may have where it was configured in amounts; None where in percent."""
    for entry in entries(part(given, "capacities"), "queueCapacitiesByPartition"):
        least = resources_of(part(entry, "effectiveMinResource"))
        configured = resources_of(part(entry, "configuredMinResource"))
        if not text_at(entry, "partitionName") and any(configured.values()) and any(least.values()):
            return least, resources_of(part(entry, "effectiveMaxResource"))
    return None


def _percent(given: Record, key: str, default: float = 0.0) -> Fraction:
    value = part(given, key, kind=_NUMBER, default=default)
    if not 0 <= value <= 100:
        raise Odd(f"{key} is {value!r}; expected a percentage")
    return Fraction(repr(value))


_UNITS = {VCORES: "", MEMORY: "MiB"}
_WORKS = ("RUNNING", "DECOMMISSIONING")
_WAITS = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING")
_ANY = "*"


def partition_name(label: str) -> str:
    """Return what the server of a partition is called."""
    return f"nodes of {label!r}" if label else "nodes"


class YarnReader:
    """Gathers nodes and applications, and then puts applications where queues are known."""

    def __init__(self) -> None:
        self.cluster = Cluster("yarn", _UNITS)
        self.note = self.cluster.notes.add
        self.queues = YarnQueues(self.cluster.notes)
        self.offered: dict[str, Resources] = {}  # by partition
        self.used: Resources = {}
        self.apps: dict[str, tuple[Record, str]] = {}
        self.nodes: set[str] = set()

    def read(self, path: Path) -> None:
        """Take in a file."""
        takes = {"nodes": ("node", self._node), "apps": ("app", self._app)}
        notes = self.cluster.notes
        for key, value in members(read_text(path), path):
            with notes.noting(path.name, key):
                if key in takes:
                    name, take = takes[key]
                    for entry in entries(value, name):
                        notes.take(take, entry, path.name, name, "id")
                elif key == "scheduler":
                    self.queues.read(mapping_at(value, "schedulerInfo"), path.name)
                elif key != END:
                    self.note(path.name, f"key {key!r}", "it is not read", "left out")

    def _node(self, given: Record, file: str) -> None:
        name = text_at(given, "id")
        state = text_at(given, "state")
        where = file, f"node {name!r}"
        if not name:
            raise Odd("it has no id")
        if name in self.nodes:
            self.note(*where, "there is an earlier node of this name", "left out")
            return
        if state not in _WORKS:
            self.note(*where, f"it does not work ({state})", "left out")
            return
        self.nodes.add(name)
        used = resources_of(part(given, "usedResource"), given, "usedMemoryMB", "usedVirtualCores")
        left = resources_of(
            part(given, "availableResource"), given, "availMemoryMB", "availableVirtualCores"
        )
        if not used and not left:
            raise Odd("nothing tells what it has")
        labels = list_at(given, "nodeLabels")
        label = str(labels[0]) if labels else ""
        if len(labels) > 1:
            self.note(
                *where, f"labels {labels[1:]!r}", "left out: a node is of its first partition"
            )
        if state == "DECOMMISSIONING":
            self.note(
                *where,
                "it takes no new containers (DECOMMISSIONING)",
                "it counts with what it runs",
            )
            left = {}
        here = self.offered.setdefault(label, {})
        for total, amounts in ((here, used), (here, left), (self.used, used)):
            add_amounts(total, amounts)

    def _app(self, given: Record, file: str) -> None:
        name = text_at(given, "id")
        state = text_at(given, "state")
        where = file, f"application {name!r}"
        if state not in _WAITS:
            self.note(*where, f"it has finished ({state})", "left out: it holds nothing")
        elif name in self.apps:
            self.note(*where, "there is an earlier application of this number", "left out")
        else:
            self.apps[name] = given, file

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and what tells where containers may be."""
        cluster = self.cluster
        for label, amounts in self.offered.items():
            whole = {resource: float(amount) for resource, amount in amounts.items()}
            cluster.add(Node(partition_name(label), whole, {"partition": label}))
        if cluster.nodes:
            what = "nothing tells on which nodes containers run"
            cluster.note(
                "", f"{len(self.nodes)} nodes", what, "the nodes of a partition are one server"
            )
        total: Resources = {}
        for amounts in self.offered.values():
            add_amounts(total, amounts)
        self.queues.fill(cluster, total)
        held: Resources = {}
        for name, (given, file) in self.apps.items():
            where = file, f"application {name!r}"
            with cluster.notes.noting(*where):
                self._place(given, where, held)
        for resource in sorted({*held, *self.used}):
            if self.nodes and held.get(resource, 0) != self.used.get(resource, 0):
                what = (
                    f"nodes say that {self.used.get(resource, 0)} are in use, applications "
                    f"{held.get(resource, 0)}"
                )
                cluster.note(
                    "", f"resource {resource!r}", what, "what applications say is what is observed"
                )
        labels = [str(node.attributes["partition"]) for node in cluster.nodes.values()]
        return cluster, lambda place: np.array([label == place for label in labels], dtype=bool)

    def _place(self, given: Record, where: Where, held: Resources) -> None:
        queue = self.queues.path(text_at(given, "queue"), where)
        user = text_at(given, "user")
        leaf = Leaf(queue, user, f"{queue}/{user}" if queue else user, ())
        containers = max(part(given, "runningContainers", kind=int, default=0), 0)
        for partition, amounts in self._has(given):
            amounts = {resource: amount for resource, amount in amounts.items() if amount > 0}
            if not amounts:
                continue
            add_amounts(held, amounts)
            parts = containers
            if not parts or any(amount % parts for amount in amounts.values()):
                parts = math.gcd(*amounts.values())
                what = f"its {containers} containers are not alike"
                self.note(*where, what, "it counts as equal parts of what it has")
            demand = demand_of({resource: amount // parts for resource, amount in amounts.items()})
            self.cluster.run(
                leaf._replace(demand=demand, place=partition),
                partition_name(partition),
                where,
                parts,
            )
        asked = 0
        since = _time(given.get("startedTime"))
        priority = given.get("priority")
        priority = priority if type(priority) is int else None
        for count, demand, partition in self._asks(given):
            asked += count
            self.cluster.wait(leaf._replace(demand=demand, place=partition), count, since, priority)
        if not asked and given["state"] != "RUNNING":
            self.note(
                *where, f"it is {given['state']}, and nothing tells what it asks for", "left out"
            )

    def _has(self, given: Record) -> Iterator[tuple[str, Resources]]:
        """Yield the partitions in which an application has something, and what."""
        usages = part(
            given, "resourceInfo", "resourceUsagesByPartition", kind=(list, dict), default=[]
        )
        whole = resources_of(None, given, "allocatedMB", "allocatedVCores")
        found = [
            (text_at(one, "partitionName"), resources_of(part(one, "used")))
            for one in entries(usages, "")
        ]
        for resource, amount in whole.items():
            if sum(amounts.get(resource, 0) for _, amounts in found) != amount:
                found = [(text_at(given, "appNodeLabelExpression"), whole)]
                break
        yield from ((_label(partition), amounts) for partition, amounts in found)

    def _asks(self, given: Record) -> Iterator[tuple[int, Demand, str]]:
        """Yield count, shape and partition of the containers that an application waits for, on any node."""
        for one in entries(part(given, "resourceRequests", kind=(list, dict), default=[]), ""):
            count = part(one, "numContainers", kind=int, default=0)
            if part(one, "resourceName", kind=str, default=_ANY) == _ANY and count > 0:
                shape = resources_of(mapping_at(one, "capability"))
                label = text_at(one, "nodeLabelExpression")
                yield count, demand_of(shape), _label(label)


def _label(text: str) -> str:
    """Return the partition of a label expression."""
    return "" if text in ("<DEFAULT_PARTITION>", "<Not set>", "DEFAULT_PARTITION") else text


def _time(value: Any) -> str | None:
    """Return milliseconds since 1970 as a time."""
    if type(value) is not int or not 0 < value < 2**45:
        return None
    return datetime.fromtimestamp(value // 1000, UTC).isoformat().replace("+00:00", "Z")
