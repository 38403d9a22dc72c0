"""YARN: ``ws/v1/cluster/scheduler``, ``nodes`` and ``apps`` of the ResourceManager, as JSON.

It tells how much an application has, and in which partition, but not on which nodes: so the nodes of a partition are
one server here.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..models.files.whole_files import read_text
from .assembly import Allowed
from .cluster import Cluster, Leaf, Node
from .notes import Odd, part
from .sources import END, members
from .yarn_queues import MEMORY, VCORES, Resources, YarnQueues, entries, resources_of

_UNITS: Final = {VCORES: "", MEMORY: "MiB"}
_WORKS: Final = ("RUNNING", "DECOMMISSIONING")
_WAITS: Final = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING")
_ANY: Final = "*"


def read(files: list[Path]) -> tuple[Cluster, Allowed]:
    """Return the cluster of files that the ResourceManager wrote."""
    reader = _Reader()
    for file in files:
        reader.read(file)
    return reader.finish()


def partition_name(label: str) -> str:
    """Return what the server of a partition is called."""
    return f"nodes of {label!r}" if label else "nodes"


class _Reader:
    """Gathers nodes and applications, and then puts applications where queues are known."""

    def __init__(self) -> None:
        self.cluster = Cluster("yarn", _UNITS)
        self.queues = YarnQueues(self.cluster.notes)
        self.offered: dict[str, Resources] = {}  # by partition
        self.used: Resources = {}
        self.apps: dict[str, tuple[dict[str, Any], str]] = {}
        self.nodes: set[str] = set()

    def read(self, path: Path) -> None:
        """Take in a file."""
        takes = {"nodes": ("node", self._node), "apps": ("app", self._app)}
        for key, value in members(read_text(path), path):
            try:
                if key in takes:
                    name, take = takes[key]
                    for entry in entries(value, name):
                        self._guarded(take, entry, path.name, name)
                elif key == "scheduler":
                    self.queues.read(part(value, "schedulerInfo", default={}), path.name)
                elif key != END:
                    self.cluster.notes.add(path.name, f"key {key!r}", "it is not read", "left out")
            except Odd as error:
                self.cluster.notes.add(path.name, key, str(error), "left out")

    def _guarded(self, take: Any, entry: Any, file: str, name: str) -> None:
        try:
            take(part(entry, default={}), file)
        except Odd as error:
            which = entry.get("id", "?") if isinstance(entry, dict) else "?"
            self.cluster.notes.add(file, f"{name} {which!r}", str(error), "left out")

    def _node(self, given: dict[str, Any], file: str) -> None:
        name, state = part(given, "id", kind=str, default=""), part(given, "state", kind=str, default="")
        where = file, f"node {name!r}"
        if not name:
            raise Odd("it has no id")
        if name in self.nodes:
            self.cluster.notes.add(*where, "there is an earlier node of this name", "left out")
            return
        if state not in _WORKS:
            self.cluster.notes.add(*where, f"it does not work ({state})", "left out")
            return
        self.nodes.add(name)
        used = resources_of(part(given, "usedResource"), given, "usedMemoryMB", "usedVirtualCores")
        left = resources_of(part(given, "availableResource"), given, "availMemoryMB", "availableVirtualCores")
        if not used and not left:
            raise Odd("nothing tells what it has")
        labels = part(given, "nodeLabels", kind=list, default=[])
        label = str(labels[0]) if labels else ""
        if len(labels) > 1:
            self.cluster.notes.add(*where, f"labels {labels[1:]!r}", "left out: a node is of its first partition")
        if state == "DECOMMISSIONING":
            self.cluster.notes.add(
                *where, "it takes no new containers (DECOMMISSIONING)", "it counts with what it runs"
            )
            left = {}
        here = self.offered.setdefault(label, {})
        for amounts in (used, left):
            for resource, amount in amounts.items():
                here[resource] = here.get(resource, 0) + amount
        for resource, amount in used.items():
            self.used[resource] = self.used.get(resource, 0) + amount

    def _app(self, given: dict[str, Any], file: str) -> None:
        name, state = part(given, "id", kind=str, default=""), part(given, "state", kind=str, default="")
        where = file, f"application {name!r}"
        if state not in _WAITS:
            self.cluster.notes.add(*where, f"it has finished ({state})", "left out: it holds nothing")
        elif name in self.apps:
            self.cluster.notes.add(*where, "there is an earlier application of this number", "left out")
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
            cluster.notes.add("", f"{len(self.nodes)} nodes", what, "the nodes of a partition are one server")
        total: Resources = {}
        for amounts in self.offered.values():
            for resource, amount in amounts.items():
                total[resource] = total.get(resource, 0) + amount
        self.queues.fill(cluster, total)
        held: Resources = {}
        for name, (given, file) in self.apps.items():
            try:
                self._place(given, (file, f"application {name!r}"), held)
            except Odd as error:
                cluster.notes.add(file, f"application {name!r}", str(error), "left out")
        for resource in sorted({*held, *self.used}):
            if self.nodes and held.get(resource, 0) != self.used.get(resource, 0):
                what = f"nodes say that {self.used.get(resource, 0)} are in use, applications {held.get(resource, 0)}"
                cluster.notes.add("", f"resource {resource!r}", what, "what applications say is what is observed")
        labels = [str(node.attributes["partition"]) for node in cluster.nodes.values()]

        def allowed(place: Hashable) -> np.ndarray | None:
            return np.array([label == place for label in labels], dtype=bool)

        return cluster, allowed

    def _place(self, given: dict[str, Any], where: tuple[str, str], held: Resources) -> None:
        queue = self.queues.path(part(given, "queue", kind=str, default=""), where)
        user = part(given, "user", kind=str, default="")
        label = f"{queue}/{user}" if queue else user
        leaf = Leaf(queue, user, label, ())
        containers = max(part(given, "runningContainers", kind=int, default=0), 0)
        for partition, amounts in self._has(given):
            amounts = {resource: amount for resource, amount in amounts.items() if amount > 0}
            if not amounts:
                continue
            for resource, amount in amounts.items():
                held[resource] = held.get(resource, 0) + amount
            parts = containers
            if not parts or any(amount % parts for amount in amounts.values()):
                parts = math.gcd(*amounts.values())
                what = f"its {containers} containers are not alike"
                self.cluster.notes.add(*where, what, "it counts as equal parts of what it has")
            demand = tuple(sorted((resource, float(amount // parts)) for resource, amount in amounts.items()))
            self.cluster.run(leaf._replace(demand=demand, place=partition), partition_name(partition), where, parts)
        asked = 0
        for count, demand, partition in self._asks(given):
            asked += count
            self.cluster.wait(leaf._replace(demand=demand, place=partition), count, _time(given.get("startedTime")))
        if not asked and given["state"] != "RUNNING":
            self.cluster.notes.add(*where, f"it is {given['state']}, and nothing tells what it asks for", "left out")

    def _has(self, given: dict[str, Any]) -> Iterator[tuple[str, Resources]]:
        """Yield the partitions in which an application has something, and what."""
        usages = part(given, "resourceInfo", "resourceUsagesByPartition", kind=(list, dict), default=[])
        whole = resources_of(None, given, "allocatedMB", "allocatedVCores")
        found = [
            (part(one, "partitionName", kind=str, default=""), resources_of(part(one, "used"), {}, "", ""))
            for one in entries(usages, "")
        ]
        for resource, amount in whole.items():
            if sum(amounts.get(resource, 0) for _, amounts in found) != amount:
                found = [(part(given, "appNodeLabelExpression", kind=str, default=""), whole)]
                break
        yield from ((_label(partition), amounts) for partition, amounts in found)

    def _asks(self, given: dict[str, Any]) -> Iterator[tuple[int, tuple[tuple[str, float], ...], str]]:
        """Yield count, shape and partition of the containers that an application waits for, on any node."""
        for one in entries(part(given, "resourceRequests", kind=(list, dict), default=[]), ""):
            count = part(one, "numContainers", kind=int, default=0)
            if part(one, "resourceName", kind=str, default=_ANY) == _ANY and count > 0:
                shape = resources_of(part(one, "capability", default={}), {}, "", "")
                label = part(one, "nodeLabelExpression", kind=str, default="")
                yield count, tuple(sorted((r, float(a)) for r, a in shape.items() if a > 0)), _label(label)


def _label(text: str) -> str:
    """Return the partition of a label expression."""
    return "" if text in ("<DEFAULT_PARTITION>", "<Not set>", "DEFAULT_PARTITION") else text


def _time(value: Any) -> str | None:
    """Return milliseconds since 1970 as a time."""
    if type(value) is not int or not 0 < value < 2**45:
        return None
    return datetime.fromtimestamp(value // 1000, UTC).isoformat().replace("+00:00", "Z")
