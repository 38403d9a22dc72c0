"""YARN: ``ws/v1/cluster/scheduler``, ``nodes`` and ``apps`` of the ResourceManager, as JSON.

It does not say on which nodes an application runs: they are one server of the instance. Partitions
of nodes (labels) are not read: a dump that has some has no verdict.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from fairlp.errors import quoted
from fairlp.toolkit import read_text

from .cluster import (
    Cluster,
    Demand,
    EntryError,
    Leaf,
    Node,
    Record,
    Request,
    Where,
    add_amounts,
    count_at,
    demand_of,
    list_at,
    mapping_at,
    name_in_path,
    text_at,
    value_at,
)
from .pods import GOING_NODES
from .rows import Allowed
from .sources import END, is_xml, members
from .yarn_queues import CAPACITY, MEMORY, VCORES, Resources, YarnQueues, entries, resources_of

_UNITS = {VCORES: "", MEMORY: "MiB"}
_WORKS = ("RUNNING", "DECOMMISSIONING")
_WAITS = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING")
_ANY = "*"
#: What YARN prints in place of no label.
_NO_LABEL = ("", "<DEFAULT_PARTITION>", "<Not set>", "DEFAULT_PARTITION")
#: The server that stands for all nodes.
_NODES = "nodes"
#: The setting of which resources count, and Hadoop's values of it; the first is the default.
_CALCULATOR = "yarn.scheduler.capacity.resource-calculator"
_CALCULATORS = ("DefaultResourceCalculator", "DominantResourceCalculator")
#: What diagnostics say of an application whose master may not start by a limit on masters
#: (SchedulerApplicationAttempt, CSAMContainerLaunchDiagnosticsConstants).
_HELD = re.compile(r"not (?:yet )?activated|AM resource limit exceeded", re.IGNORECASE)
#: The time before diagnostics, and the details behind them.
_TIME_BEFORE = re.compile(r"^\s*\[[^\]]*\]\s*")
_DETAILS = re.compile(r"Details\s*:|Last Node which was processed")
_LONGEST_MESSAGE = 300


class YarnReader:
    """Reads nodes and applications, and then puts applications where queues are known."""

    def __init__(self) -> None:
        self.cluster = Cluster("yarn", _UNITS)
        self.note = self.cluster.notes.add
        self.calculator = ""
        self.schedulers: list[tuple[Record, str]] = []
        self.capacity: Resources = {}
        self.pieces: list[Resources] = []  # free on each node
        self.node_use: Resources = {}  # as nodes report it
        self.application_use: Resources = {}
        self.applications: dict[str, tuple[Record, str]] = {}
        self.nodes: set[str] = set()
        self.nodes_of_state: Counter[str] = Counter()
        self.labels: set[str] = set()

    def read(self, path: Path) -> None:
        """Read a file: an answer of the ResourceManager, or settings."""
        readers = {"nodes": ("node", self._read_node), "apps": ("app", self._read_application)}
        notes = self.cluster.notes
        text = read_text(path)
        if is_xml(text):
            with notes.noting(path.name, "the file"):
                self._read_xml(text)
            return
        for key, value in members(text, path):
            with notes.noting(path.name, key):
                if key in readers:
                    name, reader = readers[key]
                    for entry in entries(value, name):
                        notes.read_entry(reader, entry, path.name, name, "id")
                elif key == "scheduler":
                    self.schedulers.append((mapping_at(value, "schedulerInfo"), path.name))
                elif key == "clusterInfo":
                    self.cluster.version = text_at(value, "resourceManagerVersion")
                elif key in ("properties", "property"):  # of /conf, of scheduler-conf
                    for entry in map(mapping_at, entries(value, "")):
                        name = text_at(entry, "key") or text_at(entry, "name")
                        self._read_setting(name, str(entry.get("value", "")))
                elif key != END:
                    self.note(path.name, f"key {quoted(key)}", "it is not read")

    def _read_xml(self, text: str) -> None:
        """Read settings (capacity-scheduler.xml)."""
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise EntryError("it defines a type or entities of its own, which settings do not")
        try:
            root = ElementTree.fromstring(text)
        except (ElementTree.ParseError, ValueError) as error:
            raise EntryError(f"it is no XML: {error}") from None
        for element in root.iter("property"):
            self._read_setting(element.findtext("name"), element.findtext("value"))

    def _read_setting(self, name: str | None, value: str | None) -> None:
        """Read which resources count; the first file that says so is taken."""
        if name == _CALCULATOR and value:
            self.calculator = self.calculator or value.strip().rpartition(".")[2]

    def _read_node(self, entry: Record, file: str) -> None:
        name = text_at(entry, "id")
        state = text_at(entry, "state")
        where = file, f"node {name!r}"
        if not name:
            raise EntryError("it has no id")
        if name in self.nodes:
            self.note(*where, "an earlier node has this name")
            return
        self.nodes_of_state[state] += 1
        if state not in _WORKS:
            self.note(*where, f"it does not work ({state})")
            return
        self.nodes.add(name)

        used = resources_of(
            value_at(entry, "usedResource"), entry, ("usedMemoryMB", "usedVirtualCores")
        )
        free_object = value_at(entry, "availableResource")
        # A node that was resized below its use has less than nothing available.
        free = resources_of(
            free_object, entry, ("availMemoryMB", "availableVirtualCores"), signed=True
        )
        if not used and not free:
            raise EntryError("it has no amounts")
        self.labels.update(map(str, list_at(entry, "nodeLabels")))
        if state == "DECOMMISSIONING":
            message = "it takes no new containers (DECOMMISSIONING)"
            self.note(*where, message, "it counts with what it runs")
        else:
            self.pieces.append(free)
            add_amounts(self.capacity, free)
        add_amounts(self.capacity, used)
        add_amounts(self.node_use, used)

    def _read_application(self, entry: Record, file: str) -> None:
        name = text_at(entry, "id")
        state = text_at(entry, "state")
        where = file, f"application {name!r}"
        if state not in _WAITS:
            self.note(*where, f"it has finished ({state})", "left out: it holds nothing")
        elif name in self.applications:
            self.note(*where, "an earlier application has this number")
        else:
            self.applications[name] = entry, file

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and the function that says where its containers may be."""
        cluster = self.cluster
        self.queues = self._read_schedulers()
        self.queues.fill(cluster)
        if self.nodes:
            pieces = [
                {resource: max(amount, 0) for resource, amount in self.queues.counted(free).items()}
                for free in self.pieces
            ]
            cluster.add(Node(_NODES, self.queues.counted(self.capacity), pieces=tuple(pieces)))
            message = "the dump does not say on which nodes containers run"
            self.note("", f"{len(self.nodes)} nodes", message, "they are one server")
        elif self.nodes_of_state:
            states = ", ".join(f"{n} {state}" for state, n in self.nodes_of_state.items())
            cluster.no_nodes = f"{self.nodes_of_state.total()} nodes, none RUNNING ({states})"
        for name, (entry, file) in self.applications.items():
            where = file, f"application {name!r}"
            with cluster.notes.noting(*where):
                self._place(entry, where)
        self._note_other_use()
        labels = sorted(self.labels.difference(_NO_LABEL))
        if labels:
            cluster.no_verdict = "fairlp does not read YARN's node labels, and the dump has some"
            self.note("", f"node labels {labels!r}", "they are not read", "all nodes count alike")
        return cluster, lambda place: np.ones(len(cluster.nodes), dtype=bool)

    def _read_schedulers(self) -> YarnQueues:
        """Read the queues with the resources that count; of another scheduler there is no verdict."""
        calculator = self.calculator or _CALCULATORS[0]
        memory_only = calculator == _CALCULATORS[0]
        if calculator not in _CALCULATORS:
            self.cluster.no_verdict = f"resources are counted by {calculator!r}, which is not known"
        for resource in sorted(set(self.capacity) - {MEMORY} if memory_only else ()):
            default = "" if self.calculator else f" (the default: {_CALCULATOR} is not in the dump)"
            message = f"only memory counts, by {calculator}{default}"
            self.note("", f"resource {resource!r}", message)

        queues = YarnQueues(self.cluster.notes, self.capacity, memory_only)
        if not self.schedulers:
            self.cluster.no_verdict = "the queues are not in the dump (ws/v1/cluster/scheduler)"
        for info, file in self.schedulers:
            kind = text_at(info, "type")
            if kind != CAPACITY:
                self.cluster.no_verdict = (
                    f"containers are scheduled by {kind!r}; of YARN's schedulers fairlp reads the "
                    f"{CAPACITY} alone"
                )
                continue
            with self.cluster.notes.noting(file, "scheduler"):
                queues.read(info, file)
        return queues

    def _note_other_use(self) -> None:
        """Note resources of which nodes and applications report different use."""
        by_nodes = self.queues.counted(self.node_use)
        for resource in sorted({*self.application_use, *by_nodes} if self.nodes else ()):
            use = [amounts.get(resource, 0) for amounts in (by_nodes, self.application_use)]
            if use[0] != use[1]:
                self.note(
                    "",
                    f"resource {resource!r}",
                    f"nodes say that {use[0]} are in use, applications {use[1]}",
                    "what applications say is what is observed",
                )

    def _place(self, entry: Record, where: Where) -> None:
        """Count the containers of an application."""
        queue = self.queues.path(text_at(entry, "queue"), where)
        user = text_at(entry, "user")
        amounts = self._allocated(entry)
        requests = list(self._requests(entry))
        if amounts:
            add_amounts(self.application_use, amounts)
            containers = max(value_at(entry, "runningContainers", kind=int, default=0), 0)
            parts = containers
            if not parts or any(amount % parts for amount in amounts.values()):
                parts = math.gcd(*amounts.values())
                message = f"its {containers} containers are not alike"
                self.note(*where, message, "it counts as equal parts of what it has")
            demand = demand_of({resource: amount // parts for resource, amount in amounts.items()})
            self.cluster.run(self._leaf(queue, user, demand), _NODES, where, parts)

        priority = entry.get("priority")
        message = _diagnostics(entry)
        request = Request(
            priority if type(priority) is int else None,
            message,
            (GOING_NODES,) if self.nodes_of_state["DECOMMISSIONING"] else (),
        )
        is_held = entry["state"] != "RUNNING" and _HELD.search(message) is not None
        if is_held and not requests:
            requests = [(1, ())]
        for count, demand in requests:
            leaf = self._leaf(queue, user, demand)
            if is_held:
                self.cluster.hold(leaf, count, message)
            else:
                self.cluster.wait(leaf, count, _time(entry.get("startedTime")), request)
        if not requests and entry["state"] != "RUNNING":
            self.note(*where, f"it is {entry['state']}, and the dump does not say what it asks for")

    def _leaf(self, queue: str, user: str, demand: Demand) -> Leaf:
        """Return the class of containers of a user; a user with a limit has a queue of its own."""
        name = f"{queue}/{user}" if queue else user
        path = queue
        limit = self.queues.user_limit(queue, user)
        if limit is not None:
            path = f"{queue}/{name_in_path(user)}"
            self.cluster.queue(path).update(weight=1.0, cap=limit)
        return Leaf(path, user, name, demand, "", tenant=name)

    def _allocated(self, entry: Record) -> Resources:
        """Return what an application has; the numbers by partition also have other resources."""
        total = resources_of(None, entry, ("allocatedMB", "allocatedVCores"))
        self.labels.add(text_at(entry, "appNodeLabelExpression"))
        sums: Resources = dict.fromkeys(total, 0)
        for usage in _listed(mapping_at(entry, "resourceInfo"), "resourceUsagesByPartition"):
            used = resources_of(value_at(usage, "used"))
            add_amounts(sums, used)
            if any(used.values()):
                self.labels.add(text_at(usage, "partitionName"))
        if any(sums[resource] != amount for resource, amount in total.items()):
            sums = total
        return {r: amount for r, amount in self.queues.counted(sums).items() if amount > 0}

    def _requests(self, entry: Record) -> Iterator[tuple[int, Demand]]:
        """Yield count and demand of the containers that an application waits for."""
        for request in _listed(entry, "resourceRequests"):
            count = count_at(request, "numContainers")
            if value_at(request, "resourceName", kind=str, default=_ANY) == _ANY and count > 0:
                self.labels.add(text_at(request, "nodeLabelExpression"))
                amounts = resources_of(mapping_at(request, "capability"))
                yield count, demand_of(self.queues.counted(amounts))


def _listed(entry: Record, key: str) -> list[Any]:
    """Return the entries of a list of an application; see `entries`."""
    return entries(value_at(entry, key, kind=(list, dict)), "")


def _diagnostics(entry: Record) -> str:
    """Return what YARN says of an application, without its time and details."""
    text = value_at(entry, "diagnostics", kind=str, default="")
    text = _DETAILS.split(_TIME_BEFORE.sub("", text), maxsplit=1)[0]
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"


def _time(value: Any) -> str | None:
    """Return milliseconds since 1970 as a time."""
    if type(value) is not int or not 0 < value < 2**45:
        return None
    return datetime.fromtimestamp(value // 1000, UTC).isoformat().replace("+00:00", "Z")
