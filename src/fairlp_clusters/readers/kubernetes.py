"""Kubernetes: ``kubectl get nodes,pods,… -o json``, with queues of Kueue and Volcano."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fairlp.errors import FileFormatError
from fairlp.toolkit import quantity as quantity_text, read_text

from ..dues.jobs import AUDIT
from .autoscaler import CONFIG_MAP, NodeGroup, NodePools, groups_of, nodes_to_come
from .cluster import (
    UNREAD,
    Cluster,
    EntryError,
    Floats,
    Job,
    Key,
    Leaf,
    Node,
    Notes,
    ReadEntry,
    Record,
    Request,
    Table,
    add_amounts,
    mapping_at,
    name_in_path,
    text_at,
    value_at,
)
from .kueue import Kueue
from .pods import (
    NAME,
    NOMINATED,
    SLICES,
    Gang,
    Nodes,
    Pod,
    Taints,
    amount,
    conditions_of,
    in_units,
    key_of,
    name_of,
    pod_of,
    quantities,
    quantity,
    taints_of,
    unit_of,
)
from .rows import Allowed
from .schedulers import Schedulers
from .sources import END, is_json, members
from .volcano import Volcano

# ResourceQuotas of namespaces: the requests of their pods have a cap.

_REQUESTS = "requests."
#: Resources whose quota may be named without ``requests.``.
_PLAIN = ("cpu", "memory", "ephemeral-storage", "pods")


class ResourceQuotas:
    """The caps of namespaces."""

    def __init__(self, notes: Notes) -> None:
        self._note = notes.add
        self._caps: Table = {}

    def add(self, manifest: Record, file: str) -> None:
        """Add a ResourceQuota; of several for one namespace the smallest amounts hold."""
        namespace, quota = key_of(manifest)
        where = file, f"ResourceQuota '{namespace}/{quota}'"
        scopes = value_at(manifest, "spec", "scopes", kind=list)
        if scopes or value_at(manifest, "spec", "scopeSelector"):
            self._note(*where, "it is of some pods only (scopes)")
            return
        caps = self._caps.setdefault(namespace, {})
        for name, value in mapping_at(manifest, "spec", "hard").items():
            resource = name.removeprefix("count/" if name == "count/pods" else _REQUESTS)
            if (resource != name or name in _PLAIN) and resource != "storage":
                caps[resource] = min(
                    caps.get(resource, math.inf), amount(resource, quantity(value))
                )
            else:
                self._note(*where, f"hard limit of {name!r}", "left out: pods do not request it")

    def limits_reached(self, pods: Iterable[Pod]) -> dict[str, str]:
        """Return the quotas that pods use up, in words."""
        used: dict[str, Floats] = defaultdict(dict)
        for pod in pods:
            add_amounts(used[pod.namespace], dict(pod.demand))
        limits = {}
        for namespace, caps in self._caps.items():
            full = [
                quantity_text(cap, resource, unit_of(resource))
                for resource, cap in caps.items()
                if used[namespace].get(resource, 0.0) >= cap * (1 - AUDIT)
            ]
            if full:
                limits[f"ResourceQuota of {namespace}"] = (
                    f"namespace {namespace} has all of its ResourceQuota ({', '.join(full)}) in use: "
                    "pods beyond it are refused, and no pods of the dump"
                )
        return limits

    def fill(self, cluster: Cluster, parent: str) -> None:
        """Put the caps on the queues of namespaces, whose paths begin with ``parent``."""
        for namespace, caps in self._caps.items():
            if parent:
                self._note(
                    "",
                    f"namespace {namespace!r}",
                    "its quota also binds pods that are in queues",
                    "it holds for those in no queue only",
                )
            cluster.queue(parent + name_in_path(namespace))["cap"] = caps


#: Labels of nodes that share their GPUs, and the resources that then are slices of them.
_SHARING = "nvidia.com/gpu.sharing-strategy"
_REPLICAS = "nvidia.com/gpu.replicas"
_OF_NVIDIA = "nvidia.com/"
_SHARED = ".shared"
#: The queue above the namespaces of pods that are in none, where there are queues of Kueue or
#: Volcano.
WITHOUT_QUEUE = "(no queue)"
_UNITS = {resource: unit_of(resource) for resource in ("cpu", "memory", "ephemeral-storage")}


def objects(file: Path) -> Iterator[Any]:
    """Yield the objects of a file: one by itself, or those of a list, which get the kind before them."""
    text = read_text(file)
    if not is_json(text):
        raise FileFormatError(f"{file} is not JSON; print it with kubectl get … -o json")
    document: Record = {}  # its keys other than items
    for key, value in members(text, file):
        kind = str(document.get("kind", ""))
        if key == "items":
            if isinstance(value, dict) and "kind" not in value and kind.endswith("List"):
                value = {
                    "kind": kind.removesuffix("List"),
                    "apiVersion": document.get("apiVersion"),
                    **value,
                }
            if value != []:
                yield value
        elif key == END:
            if document and not str(document.get("kind", "List")).endswith("List"):
                yield document
            document = {}
        else:
            document[key] = value


class KubernetesReader:
    """Reads objects, and then puts pods where queues and nodes are known."""

    def __init__(self) -> None:
        self.cluster = Cluster("kubernetes", _UNITS)
        self.note = self.cluster.notes.add
        self.pods: dict[Key, Pod] = {}
        self.specs: dict[bytes, Pod] = {}  # that occurred
        #: Objects by group, kind, namespace and name.
        self._seen: set[tuple[str, str, str, str]] = set()
        self.taints: dict[str, Taints] = {}
        self.groups: list[NodeGroup] = []  # of the autoscaler
        self.pools = NodePools()
        #: Pods that are being deleted.
        self._ending: list[Pod] = []
        notes = self.cluster.notes
        self.quotas = ResourceQuotas(notes)
        self.kueue = Kueue(notes)
        self.schedulers = Schedulers()
        self.volcano = Volcano(notes)
        self._readers: dict[Key, ReadEntry] = {
            ("", "Node"): self._read_node,
            ("", "Pod"): self._read_pod,
            ("", "ResourceQuota"): self.quotas.add,
            ("", "ConfigMap"): self._read_config_map,
            **self.kueue.kinds,
            **self.volcano.kinds,
            ("kueue.x-k8s.io", "AdmissionCheck"): self.schedulers.see_check,
            ("karpenter.sh", "NodePool"): self.pools.read,
        }

    def read(self, path: Path) -> None:
        """Read a file."""
        for manifest in objects(path):
            place = "an entry of items"
            try:
                kind = text_at(manifest, "kind")
                place = f"{kind} {name_of(manifest)!r}"
                self._read_object(manifest, path.name, place)
            except EntryError as error:
                action = UNREAD if place.startswith(("Node ", "Pod ")) else "left out"
                self.note(path.name, place, str(error), action)

    def _read_object(self, manifest: Record, file: str, place: str) -> None:
        """Read an object of a kind that is known, once."""
        kind = text_at(manifest, "kind")
        version = text_at(manifest, "apiVersion")
        group = version.rpartition("/")[0]
        reader = self._readers.get((group, kind))
        if reader is None:
            self.schedulers.see_object(kind, version)
            self.note(file, place, f"objects of kind {kind!r} ({version}) are not read")
            return
        identity = group, kind, *key_of(manifest)
        if group and identity in self._seen:
            raise EntryError(f"an earlier {kind} has this name")
        reader(manifest, file)
        if kind == "Workload":
            self.schedulers.see_workload(manifest)
        self._seen.add(identity)

    def _read_node(self, manifest: Record, file: str) -> None:
        name = name_of(manifest)
        if not name:
            raise EntryError("it has no name")
        taints = taints_of(mapping_at(manifest, "spec"))
        self.cluster.version = max(
            self.cluster.version,
            text_at(manifest, "status", "nodeInfo", "kubeletVersion").removeprefix("v"),
            key=_version_order,
        )
        closed = "cordoned" if value_at(manifest, "spec", "unschedulable", kind=bool) else ""
        if text_at(manifest, "metadata", "deletionTimestamp"):
            closed = "being deleted"
        ready = conditions_of(manifest).get("Ready")
        if ready is not None and text_at(ready, "status") != "True":
            closed = closed or "not ready"

        capacity = mapping_at(manifest, "status", "capacity")
        amounts = in_units(
            quantities(value_at(manifest, "status", "allocatable", default=capacity))
        )
        if not amounts:
            raise EntryError("it has no status.allocatable")
        labels = mapping_at(manifest, "metadata", "labels")
        if name not in self.cluster.nodes:
            self.taints[name] = taints
        attributes = {key: str(value) for key, value in labels.items()}
        self.cluster.add(Node(name, amounts, attributes, closed, file))

    def _read_config_map(self, manifest: Record, file: str) -> None:
        """Read the ConfigMap of Volcano's scheduler, of Kueue's manager, or of the autoscaler."""
        if name_of(manifest) == CONFIG_MAP:
            self.groups += groups_of(manifest)
            return
        is_read = self.volcano.read_configuration(manifest)
        if not is_read and not self.kueue.read_configuration(manifest):
            raise EntryError("objects of kind 'ConfigMap' (v1) are not read")

    def _read_pod(self, manifest: Record, file: str) -> None:
        """Put a pod among those of the dump, once."""
        pod = pod_of(manifest, file, self.cluster.notes, self.specs)
        if pod is None:
            return
        key = pod.namespace, pod.name
        if key in self.pods:
            self.note(*pod.where, "an earlier pod has this name")
        elif pod.is_ending:
            self._ending.append(pod)
        else:
            self.schedulers.see_pod(pod)
            self.pods[key] = pod

    def _qualified(self, pod: Pod) -> Pod:
        """Return a pod that waits for a node with what the dump says of nodes that does not count."""
        left_out = [*pod.left_out, *self._slices_of(pod)]
        if not pod.waits_for_quota:
            left_out += self.pools.left_out(pod)
        if pod.nominated:
            left_out.append(NOMINATED)
        return pod._replace(left_out=tuple(dict.fromkeys(left_out)))

    def _slices_of(self, pod: Pod) -> list[str]:
        """Return the constraint of a pod that asks for GPUs of which nodes offer slices."""
        demanded = {resource for resource, _ in pod.demand if resource.startswith(_OF_NVIDIA)}
        if any(resource.endswith(_SHARED) for resource in demanded):
            return [SLICES]
        if not demanded or not self._has_slices.any():
            return []
        meets_slices = (self.places.allowed(pod.place) & self._has_slices).any()
        return [SLICES] if meets_slices else []

    @cached_property
    def _has_slices(self) -> np.ndarray:
        """The mask of the nodes that share their GPUs; for use when all nodes are read."""
        return np.array(
            [
                node.attributes.get(_SHARING, "none") != "none"
                or node.attributes.get(_REPLICAS, "1") not in ("0", "1")
                for node in self.cluster.nodes.values()
            ],
            dtype=bool,
        )

    @cached_property
    def places(self) -> Nodes:
        """Labels and taints of all nodes, with which places become masks; when all are read."""
        nodes = list(self.cluster.nodes.values())
        labels = [{**node.attributes, NAME: node.name} for node in nodes]
        return Nodes(labels, [self.taints[node.name] for node in nodes])

    def _wait(self, leaf: Leaf, pod: Pod, after: str = "") -> None:
        """Count the tasks of a pod that waits, or that a gate holds; ``after`` as of a request."""
        if pod.gate:
            self.cluster.hold(leaf, pod.tasks, pod.gate)
            return
        self.cluster.wait(
            leaf, pod.tasks, pod.since, Request(pod.priority, pod.message, pod.left_out, after)
        )

    def _wait_together(self, name: str, entries: list[tuple[Leaf, Pod, int]]) -> None:
        """Count pods that wait, of each of which so many start at once, and the others after them."""
        least = sum(count for *_, count in entries)
        gate = next((pod.gate for _, pod, _ in entries if pod.gate), "")
        tasks: Counter[Leaf] = Counter()
        for leaf, pod, count in sorted(entries, key=lambda entry: entry[0].demand):
            if gate and least > 1:
                self.cluster.hold(leaf, pod.tasks, pod.gate or gate)
                continue
            together = count if least > 1 else 0
            tasks[leaf] += together
            if pod.tasks > together:
                others = pod._replace(tasks=pod.tasks - together)
                self._wait(leaf, others, name if least > 1 else "")
        tasks = +tasks
        if tasks:
            pods = [pod for _, pod, _ in entries]
            since = min((pod.since for pod in pods if pod.since), default=None)
            message = next((pod.message for pod in pods if pod.message), "")
            request = Request(
                pods[0].priority,
                message,
                tuple(dict.fromkeys(text for pod in pods for text in pod.left_out)),
            )
            self.cluster.wait_together(Job(name, tasks, since=since, request=request))

    def _wait_as_gang(self, name: str, leaves: list[tuple[Leaf, Pod]], least: int) -> None:
        """Count pods that wait, of which so many start at once, those of the least demand first."""
        count = sum(pod.tasks for _, pod in leaves)
        lacking = f"{name} has {count} of the {least} pods that it needs at once"
        entries = []
        remaining = least
        for leaf, pod in sorted(leaves, key=lambda entry: entry[0].demand):
            together = min(remaining, pod.tasks)
            remaining -= together
            if count < least:
                pod = pod._replace(gate=pod.gate or lacking)
                together = least  # no part of it starts alone
            entries.append((leaf, pod, together))
        self._wait_together(name, entries)

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and the function that says where its pods may be."""
        cluster = self.cluster
        for node, model in nodes_to_come(self.groups, list(cluster.nodes.values()), cluster.notes):
            cluster.add(node)
            self.taints[node.name] = self.taints[model.name]
        self.kueue.fill(cluster)
        self.pods = {key: self.kueue.in_queue(pod) for key, pod in self.pods.items()}
        self.volcano.fill(cluster)
        self.has_queues = bool(self.kueue or self.volcano)  # other than namespaces
        cluster.tenant_noun = "queue" if self.has_queues else "namespace"
        self.quotas.fill(cluster, f"{WITHOUT_QUEUE}/" if self.has_queues else "")

        if not self.has_queues:
            cluster.preemption = "Kubernetes lets pods give way to pods of higher priority alone"
        places = self.places

        for pod in self._ending:
            cluster.end(pod.node, pod.demand)
        self._count_pods()
        for pod in map(self.kueue.placed, self.kueue.admitted(self.pods.values())):
            self._run_admitted(pod, places)
        for name, pods, least in self.kueue.waiting():
            placed = [
                pod._replace(left_out=(*pod.left_out, *self._slices_of(pod)))
                for pod in map(self.kueue.placed, pods)
            ]
            leaves = map(self._leaf, placed)
            self._wait_together(name, list(zip(leaves, placed, least, strict=True)))
        for pod in map(self.volcano.with_message, self.volcano.not_created(self.pods.values())):
            pod = self._qualified(pod)
            name = f"PodGroup {pod.namespace}/{pod.name}"
            self._wait_together(name, [(self._leaf(pod), pod, pod.tasks)])
        cluster.limits_reached = self.quotas.limits_reached(self.pods.values())
        cluster.no_verdict = "; ".join(
            self.schedulers.reasons(list(self.pods.values()), self.kueue, self.volcano)
        )
        self.volcano.put_deserved(cluster)

        for leaf in cluster.groups:
            for resource, _ in leaf.demand:
                cluster.units.setdefault(resource, unit_of(resource))
        cluster.why_nowhere = lambda place: (
            "no node has the labels that it asks for and only taints that it tolerates"
        )
        return cluster, places.allowed

    def _count_pods(self) -> None:
        """Count the pods of the dump: those that run, and those that wait, by their gangs."""
        running: Counter[str] = Counter()
        waiting: dict[Gang, list[tuple[Leaf, Pod]]] = {}
        nominated = []
        pending: list[tuple[Leaf, Pod, Gang | None]] = []
        pods = list(map(self.kueue.placed, self.pods.values()))
        self.kueue.queue_up(pods)
        for pod in pods:
            leaf = self._leaf(pod)
            gang = self.kueue.gang_of(pod) or self.volcano.gang_of(pod)
            if pod.node:
                # of a gang, so many as it needs came at once; the others came one by one
                name = ""
                if gang is not None:
                    running[gang.name] += 1
                    name = gang.name if running[gang.name] <= (gang.least or math.inf) else ""
                self.cluster.run(leaf, pod.node, pod.where, job=name)
            elif pod.nominated in self.cluster.nodes:
                nominated.append((leaf, pod, gang))
            else:
                self.kueue.hold_quota(pod)
                if gang is None:
                    _ = self.cluster.groups[leaf]  # users stand in the order of the pods
                pending.append((leaf, self.volcano.with_message(pod), gang))
        for leaf, pod, gang in pending:
            pod = self._qualified(self.kueue.qualified(pod))
            if gang is None:
                self._wait(leaf, pod)
            else:
                waiting.setdefault(gang, []).append((leaf, pod))
        for leaf, pod, gang in nominated:
            has_room = self._nominate(leaf, pod)
            if gang is not None and has_room:
                running[gang.name] += 1
        for gang, leaves in waiting.items():
            self._wait_as_gang(gang.name, leaves, max(gang.least - running[gang.name], 0))

    def _nominate(self, leaf: Leaf, pod: Pod) -> bool:
        """Count a pod for which room is being made on a node: it has that room, if it is there."""
        free = self._free[pod.nominated]
        if any(free.get(name, 0.0) < amount * (1 - AUDIT) for name, amount in leaf.demand):
            self._wait(leaf, self._qualified(pod))
            return False
        add_amounts(free, dict(leaf.demand), -1)
        ending = self.cluster.ending.get(pod.nominated, {})
        for name, demand in leaf.demand:  # it takes the place of what ends there
            ending[name] = max(ending.get(name, 0.0) - demand, 0.0)
        self.cluster.run(leaf, pod.nominated, pod.where)
        self.note(
            *pod.where,
            f"node {pod.nominated!r} is kept for it (nominatedNodeName)",
            "it counts as one that runs there",
        )
        return True

    def _run_admitted(self, pod: Pod, places: Nodes) -> None:
        """Count pods of an admitted Workload that the dump lacks: they run where there is room.

        Those without room wait, with their quota.
        """
        leaf = self._leaf(pod)
        if pod.gate:
            self.kueue.hold_quota(pod)
            self._wait(leaf, pod)
            return
        mask = places.allowed(pod.place)
        remaining = pod.tasks
        for k, node in enumerate(self.cluster.nodes.values()):
            if node.closed or node.asleep or (mask is not None and not mask[k]):
                continue
            free = self._free[node.name]
            room = [int(free.get(name, 0.0) // amount) for name, amount in leaf.demand if amount]
            count = min([remaining, *room])
            if count > 0:
                self.cluster.run(
                    leaf, node.name, pod.where, count, f"Workload {pod.namespace}/{pod.name}"
                )
                add_amounts(free, dict(leaf.demand), -count)
                remaining -= count
        if remaining < pod.tasks:
            self.note(
                *pod.where,
                f"{pod.tasks - remaining} pods of the admitted Workload are not in the dump",
                "they count as running, on nodes with room",
            )
        if remaining:
            self.kueue.hold_quota(pod)
            self._wait(leaf, pod._replace(tasks=remaining))

    @cached_property
    def _free(self) -> Table:
        """What is free on each node; for use when all pods of the dump are counted."""
        free = {name: dict(node.amounts) for name, node in self.cluster.nodes.items()}
        for leaf, group in self.cluster.groups.items():
            for name, count in group.running.items():
                add_amounts(free[name], dict(leaf.demand), -count)
        return free

    def _leaf(self, pod: Pod) -> Leaf:
        """Return the leaf of a pod: in its queue, or in that of its namespace."""
        queue = self.kueue.queue_of(pod)
        if queue is None:
            queue = self.volcano.queue_of(pod)
        if queue is None:
            queue = name_in_path(pod.namespace)
            if self.has_queues:
                queue = f"{WITHOUT_QUEUE}/{queue}"
        owner = f"{pod.namespace}/{pod.owner}"
        return Leaf(
            queue,
            owner,
            f"{pod.namespace}/{pod.owner.partition('/')[2]}",
            pod.demand,
            pod.place,
            tenant=queue,
        )


def _version_order(version: str) -> list[int]:
    """Return the numbers of a version, by which it is the newer one."""
    return [int(digits) for digits in re.findall("[0-9]{1,9}", version)]
