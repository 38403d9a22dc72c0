"""YARN: ``ws/v1/cluster/scheduler``, ``nodes`` and ``apps`` of the ResourceManager, as JSON.

It lists the amounts of an application by partition, and not by node: the nodes of a partition are
one server of the instance.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fairlp import queues
from fairlp.errors import quoted
from fairlp.toolkit import read_text

from .cluster import (
    MOST_COUNTED,
    Cluster,
    Demand,
    EntryError,
    Leaf,
    Node,
    Record,
    Request,
    Where,
    add_amounts,
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
from .yarn_queues import (
    VCORES,
    Resources,
    UserLimit,
    YarnQueues,
    counted,
    entries,
    partition_name,
    resources_of,
)
from .yarn_settings import CAPACITY, MEMORY, PREEMPTION, SCHEDULER_CLASS, YarnSettings

_UNITS = {VCORES: "", MEMORY: "MiB"}
_WORKS = ("RUNNING", "DECOMMISSIONING")
_WAITS = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING")
_ANY = "*"
#: What diagnostics say of an application whose master may not start by a limit on masters
#: (SchedulerApplicationAttempt, CSAMContainerLaunchDiagnosticsConstants).
_HELD = re.compile(r"not (?:yet )?activated|AM resource limit exceeded", re.IGNORECASE)
#: The time before diagnostics, and the details behind them.
_TIME_BEFORE = re.compile(r"^\s*\[[^\]]*\]\s*")
_DETAILS = re.compile(r"Details\s*:|Last Node which was processed")
_LONGEST_MESSAGE = 300


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
        self.settings = YarnSettings()
        self.schedulers: list[tuple[Record, str]] = []
        self.capacities: dict[str, Resources] = {}  # by partition
        self.pieces: dict[str, list[Resources]] = defaultdict(list)  # free on each node
        self.node_use: Resources = {}  # as nodes report it
        self.applications: dict[str, tuple[Record, str]] = {}
        self.nodes: set[str] = set()
        self.nodes_of_state: Counter[str] = Counter()
        self.going: set[str] = set()  # partitions with nodes that take no new containers
        #: Of queues that stand for one user: its limit, and what the user has.
        self.user_limits: dict[str, UserLimit] = {}
        self.use_of_users: dict[str, Resources] = defaultdict(dict)

    def read(self, path: Path) -> None:
        """Read a file: an answer of the ResourceManager, or settings."""
        readers = {"nodes": ("node", self._read_node), "apps": ("app", self._read_application)}
        notes = self.cluster.notes
        text = read_text(path)
        if is_xml(text):
            with notes.noting(path.name, "the file"):
                self.settings.read_xml(text, path.name)
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
                    self.cluster.version = next(
                        filter(
                            None,
                            (
                                text_at(value, name)
                                for name in ("resourceManagerVersion", "hadoopVersion")
                            ),
                        ),
                        "",
                    )
                elif key in ("properties", "property"):
                    self.settings.read_properties(entries(value, ""), path.name)
                elif key != END:
                    self.note(path.name, f"key {quoted(key)}", "it is not read")

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
        labels = list_at(entry, "nodeLabels")
        partition = str(labels[0]) if labels else ""
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
            free = {}
            self.going.add(partition)
        else:
            self.pieces[partition].append(free)
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
            self.note(*where, "an earlier application has this number")
        else:
            self.applications[name] = entry, file

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and the function that says where its containers may be."""
        cluster = self.cluster
        self.queues = self._read_schedulers()

        # A server for each partition, since the dump lists no containers by node.
        for label, amounts in self.capacities.items():
            capacity = {resource: float(amount) for resource, amount in amounts.items()}
            cluster.add(
                Node(
                    partition_name(label),
                    capacity,
                    {"partition": label},
                    pieces=tuple(self._piece(free) for free in self.pieces[label]),
                )
            )
        if not cluster.nodes and self.nodes_of_state:
            states = ", ".join(f"{n} {state}" for state, n in self.nodes_of_state.items())
            cluster.no_nodes = f"{self.nodes_of_state.total()} nodes, none RUNNING ({states})"
        if cluster.nodes:
            cluster.note(
                "",
                f"{len(self.nodes)} nodes",
                "the dump does not say on which nodes containers run",
                "the nodes of a partition are one server",
            )

        applications = []
        for name, (entry, file) in self.applications.items():
            where = file, f"application {name!r}"
            with cluster.notes.noting(*where):
                applications.append(self._read_use(entry, where))
        self.queues.fill(cluster)

        application_use: Resources = {}
        for application in applications:
            with cluster.notes.noting(*application.where):
                self._place(application, application_use)
        self._note_other_use(application_use)
        self._note_used_up_limits()
        cluster.preemption = "; ".join(
            f"{place}: {value}" for value, place in filter(None, map(self.settings.get, PREEMPTION))
        )

        partitions = [str(node.attributes["partition"]) for node in cluster.nodes.values()]
        return cluster, lambda place: np.array([label == place for label in partitions], dtype=bool)

    def _read_schedulers(self) -> YarnQueues:
        """Read the queues with the resources that count."""
        counts = self.settings.counted()
        if not counts.is_known:
            message = f"resources are counted by {counts.setting}, which is not known"
            self.note("", "the resources", message, "all count")
        others = {resource for amounts in self.capacities.values() for resource in amounts}
        for resource in sorted(others - {MEMORY} if counts.memory_only else ()):
            message = f"only memory counts, by {counts.setting}"
            self.note("", f"resource {resource!r}", message)
        self.node_use = counted(self.node_use, counts.memory_only)
        for partition, amounts in self.capacities.items():
            self.capacities[partition] = counted(amounts, counts.memory_only)

        queues = YarnQueues(self.cluster.notes, self.settings, self.capacities, counts.memory_only)
        setting = self.settings.get(SCHEDULER_CLASS)
        if setting is not None:
            self._require_capacity_scheduler(setting.value.rpartition(".")[2])
        for info, file in self.schedulers:
            with self.cluster.notes.noting(file, "scheduler"):
                self._require_capacity_scheduler(text_at(info, "type"))
                queues.read(info, file)
        return queues

    def _require_capacity_scheduler(self, kind: str) -> None:
        """Leave a dump of another scheduler of YARN without a verdict."""
        if kind.lower() != CAPACITY.lower():
            self.cluster.no_verdict = (
                f"containers are scheduled by {kind!r}; of YARN's schedulers fairlp reads the "
                f"{CAPACITY} alone"
            )

    def _piece(self, free: Resources) -> dict[str, float]:
        """Return the amounts that are free on a node, of the resources that count."""
        return {
            resource: float(max(amount, 0))
            for resource, amount in self.queues.counted(free).items()
        }

    def _note_used_up_limits(self) -> None:
        """Note the limits of users that are used up."""
        for path, used in self.use_of_users.items():
            limit = self.user_limits[path]
            for resource, amount in limit.amounts.items():
                if used.get(resource, 0) >= amount:
                    user = path.rpartition("/")[2]
                    unit = f"{_UNITS[MEMORY]} of {MEMORY}" if resource == MEMORY else resource
                    words = f"the {limit.name} stops {user}: {used[resource]} of {amount:g} {unit} in use"
                    self.cluster.limits_reached[f"{limit.name}, user {user}"] = words

    def _note_other_use(self, application_use: Resources) -> None:
        """Note resources of which nodes and applications report different use."""
        if not self.nodes:
            return
        for resource in sorted({*application_use, *self.node_use}):
            by_nodes = self.node_use.get(resource, 0)
            by_applications = application_use.get(resource, 0)
            if by_nodes != by_applications:
                self.note(
                    "",
                    f"resource {resource!r}",
                    f"nodes say that {by_nodes} are in use, applications {by_applications}",
                    "what applications say is what is observed",
                )

    def _read_use(self, entry: Record, where: Where) -> _Application:
        """Return an application with what it has and waits for, and remember its partitions."""
        queue = self.queues.path(text_at(entry, "queue"), where)
        running = list(self._allocated(entry))
        waiting = list(self._requests(entry))

        partitions = {partition for partition, _ in running} | {of for *_, of in waiting}
        partitions &= set(self.capacities)
        for path in queues.lineage(queue):
            self.queues.partitions_of.setdefault(path, set()).update(partitions)
        return _Application(entry, where, queue, running, waiting)

    def _place(self, application: _Application, application_use: Resources) -> None:
        """Count the containers of an application, and add its amounts to ``application_use``."""
        entry, where, queue, running, waiting_containers = application
        user = text_at(entry, "user")
        priority = entry.get("priority")
        if type(priority) is not int:
            priority = None

        containers = max(value_at(entry, "runningContainers", kind=int, default=0), 0)
        for partition, amounts in running:
            add_amounts(application_use, amounts)
            parts = containers
            if not parts or any(amount % parts for amount in amounts.values()):
                parts = math.gcd(*amounts.values())
                message = f"its {containers} containers are not alike"
                self.note(*where, message, "it counts as equal parts of what it has")
            demand = demand_of({resource: amount // parts for resource, amount in amounts.items()})
            container = self._leaf(queue, user, partition, demand)
            if container.queue in self.user_limits:
                add_amounts(self.use_of_users[container.queue], amounts)
            self.cluster.run(container, partition_name(partition), where, parts)

        message = _diagnostics(entry)
        since = _time(entry.get("startedTime"))
        is_held = entry["state"] != "RUNNING" and _HELD.search(message) is not None
        for count, demand, partition in waiting_containers:
            leaf = self._leaf(queue, user, partition, demand)
            if is_held:
                self.cluster.hold(leaf, count, message)
            else:
                self.cluster.wait(
                    leaf,
                    count,
                    since,
                    Request(priority, message, (GOING_NODES,) if partition in self.going else ()),
                )
        if waiting_containers or entry["state"] == "RUNNING":
            return
        if is_held:
            self.cluster.hold(self._leaf(queue, user, "", ()), 1, message)
            return
        message = f"it is {entry['state']}, and the dump does not say what it asks for"
        self.note(*where, message)

    def _leaf(self, queue: str, user: str, partition: str, demand: Demand) -> Leaf:
        """Return the class of containers of a user; a user with a limit has a queue of its own."""
        name = f"{queue}/{user}" if queue else user
        path = self.queues.path_in(queue, partition)
        limit = self.queues.user_limit(queue, partition, user)
        if limit is not None:
            path = f"{path}/{name_in_path(user)}".lstrip("/")
            self.cluster.queue(path).update(weight=1.0, cap=dict(limit.amounts))
            self.user_limits[path] = limit
        return Leaf(path, user, name, demand, partition, tenant=name)

    def _allocated(self, entry: Record) -> Iterator[tuple[str, Resources]]:
        """Yield the partitions in which an application has amounts, with these amounts."""
        total = resources_of(None, entry, ("allocatedMB", "allocatedVCores"))
        information = mapping_at(entry, "resourceInfo")
        usages = [
            (text_at(usage, "partitionName"), resources_of(value_at(usage, "used")))
            for usage in _listed(information, "resourceUsagesByPartition")
        ]
        sums: Resources = dict.fromkeys(total, 0)
        for _, amounts in usages:
            add_amounts(sums, amounts)
        if any(sums[resource] != amount for resource, amount in total.items()):
            usages = [(text_at(entry, "appNodeLabelExpression"), total)]
        for partition, amounts in usages:
            counting = self.queues.counted(amounts).items()
            if positive := {r: amount for r, amount in counting if amount > 0}:
                yield _label(partition), positive

    def _requests(self, entry: Record) -> Iterator[tuple[int, Demand, str]]:
        """Yield count, demand and partition of the containers that an application waits for."""
        for request in _listed(entry, "resourceRequests"):
            count = value_at(request, "numContainers", kind=int, default=0)
            if count > MOST_COUNTED:
                raise EntryError(f"numContainers is {count}; expected at most {MOST_COUNTED}")
            if value_at(request, "resourceName", kind=str, default=_ANY) == _ANY and count > 0:
                yield (
                    count,
                    demand_of(self.queues.counted(resources_of(mapping_at(request, "capability")))),
                    _label(text_at(request, "nodeLabelExpression")),
                )


def _listed(entry: Record, key: str) -> list[Any]:
    """Return the entries of a list of an application; see `entries`."""
    return entries(value_at(entry, key, kind=(list, dict)), "")


def _diagnostics(entry: Record) -> str:
    """Return what YARN says of an application, without its time and details."""
    text = value_at(entry, "diagnostics", kind=str, default="")
    text = _DETAILS.split(_TIME_BEFORE.sub("", text), maxsplit=1)[0]
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"


def _label(text: str) -> str:
    """Return the partition of a label expression."""
    return "" if text in ("<DEFAULT_PARTITION>", "<Not set>", "DEFAULT_PARTITION") else text


def _time(value: Any) -> str | None:
    """Return milliseconds since 1970 as a time."""
    if type(value) is not int or not 0 < value < 2**45:
        return None
    return datetime.fromtimestamp(value // 1000, UTC).isoformat().replace("+00:00", "Z")
