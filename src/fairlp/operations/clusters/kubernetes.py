"""Kubernetes: ``kubectl get nodes,pods,… -o json``, with queues of Kueue and Volcano."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import FileFormatError
from ...models.files.whole_files import read_text
from .assembly import Allowed
from .cluster import (
    Cluster,
    EntryError,
    Floats,
    Leaf,
    Node,
    Notes,
    ReadEntry,
    Record,
    Request,
    list_at,
    mapping_at,
    name_in_path,
    text_at,
    value_at,
)
from .kueue import Kueue
from .pods import (
    NAME,
    Nodes,
    Pod,
    Taints,
    amount,
    in_units,
    name_of,
    namespace_of,
    pod_of,
    quantities,
    quantity,
    taints_of,
    unit_of,
)
from .sources import END, KeptEntry, is_json, members
from .volcano import Volcano

# ResourceQuotas of namespaces: the requests of their pods have a cap.

_REQUESTS = "requests."
#: Resources whose quota may be named without ``requests.``.
_PLAIN = ("cpu", "memory", "ephemeral-storage", "pods")


class ResourceQuotas:
    """The caps of namespaces."""

    def __init__(self, notes: Notes) -> None:
        self._note = notes.add
        self._caps: dict[str, Floats] = {}

    def add(self, manifest: Record, file: str) -> None:
        """Add a ResourceQuota; of several for one namespace the smallest amounts hold."""
        namespace = namespace_of(manifest)
        where = file, f"ResourceQuota '{namespace}/{name_of(manifest)}'"
        scopes = value_at(manifest, "spec", "scopes", kind=list)
        if scopes or value_at(manifest, "spec", "scopeSelector"):
            self._note(*where, "it is of some pods only (scopes)", "left out")
            return
        caps = self._caps.setdefault(namespace, {})
        for name, value in mapping_at(manifest, "spec", "hard").items():
            resource = _quota_resource(name)
            if resource is None:
                action = "left out: pods do not request it"
                self._note(*where, f"hard limit of {name!r}", action)
                continue
            cap = amount(resource, quantity(value))
            caps[resource] = min(caps.get(resource, math.inf), cap)

    def fill(self, cluster: Cluster, parent: str) -> None:
        """Put the caps on the queues of namespaces, whose paths begin with ``parent``."""
        for namespace, caps in self._caps.items():
            if parent:
                message = "its quota also binds pods that are in queues"
                action = "it holds for those in no queue only"
                self._note("", f"namespace {namespace!r}", message, action)
            cluster.queue(parent + name_in_path(namespace))["cap"] = caps


def _quota_resource(name: str) -> str | None:
    """Return the resource of pods that a hard limit is of, None for another one."""
    if name == "count/pods":
        return "pods"
    resource = name.removeprefix(_REQUESTS)
    is_request = name.startswith(_REQUESTS) or name in _PLAIN
    return resource if is_request and resource != "storage" else None


#: The queue above the namespaces of pods that are in none, where there are queues of Kueue or
#: Volcano.
WITHOUT_QUEUE = "(no queue)"
_UNITS = {resource: unit_of(resource) for resource in ("cpu", "memory", "ephemeral-storage")}


def objects(file: Path) -> Iterator[Record]:
    """Yield the objects of a file: one by itself, or those of a list, which get its kind."""
    text = read_text(file)
    if not is_json(text):
        raise FileFormatError(f"{file} is not JSON; print it with kubectl get … -o json")
    document: Record = {}  # its keys other than items
    without_kind = []  # entries whose kind may follow behind them
    for key, value in members(text, file):
        if key == "items":
            if isinstance(value, dict) and "kind" not in value and "kind" not in document:
                without_kind.append(value)
            elif value != []:
                yield _of_list(value, document)
        elif key == END:
            yield from (_of_list(value, document) for value in without_kind)
            if document and not str(document.get("kind", "List")).endswith("List"):
                yield document
            document = {}
            without_kind = []
        else:
            document[key] = value


def _of_list(value: Any, document: Record) -> Any:
    """Return an entry with the kind of its list, where it has none."""
    list_kind = str(document.get("kind", ""))
    if isinstance(value, dict) and "kind" not in value and list_kind.endswith("List"):
        kind = list_kind.removesuffix("List")
        return {"kind": kind, "apiVersion": document.get("apiVersion"), **value}
    return value


class KubernetesReader:
    """Reads objects, and then puts pods where queues and nodes are known."""

    def __init__(self) -> None:
        self.cluster = Cluster("kubernetes", _UNITS)
        self.note = self.cluster.notes.add
        self.pods: dict[tuple[str, str], Pod] = {}
        self.shared_values: dict[Any, Any] = {}  # equal values of many pods, stored once
        #: Objects by group, kind, namespace and name.
        self._seen: set[tuple[str, str, str, str]] = set()
        self.has_queues = False  # other than namespaces
        self.taints: dict[str, Taints] = {}
        notes = self.cluster.notes
        self.quotas = ResourceQuotas(notes)
        self.kueue = Kueue(notes)
        self.volcano = Volcano(notes)
        self._readers: dict[tuple[str, str], ReadEntry] = {
            ("", "Node"): self._read_node,
            ("", "Pod"): self._read_pod,
            ("", "ResourceQuota"): self.quotas.add,
            ("", "ConfigMap"): self._read_config_map,
            **{("kueue.x-k8s.io", kind): read for kind, read in self.kueue.kinds.items()},
            **{("scheduling.volcano.sh", kind): read for kind, read in self.volcano.kinds.items()},
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
                self.note(path.name, place, str(error), "left out")

    def _read_object(self, manifest: Record, file: str, place: str) -> None:
        """Read an object of a kind that is known, once."""
        kind = text_at(manifest, "kind")
        version = text_at(manifest, "apiVersion")
        group = version.rpartition("/")[0]
        reader = self._readers.get((group, kind))
        if reader is None:
            message = f"objects of kind {kind!r} ({version}) are not read"
            self.note(file, place, message, "left out")
            return
        identity = group, kind, namespace_of(manifest), name_of(manifest)
        if group and identity in self._seen:
            raise EntryError(f"an earlier {kind} has this name")
        reader(manifest, file)
        self._seen.add(identity)

    def _read_node(self, manifest: Record, file: str) -> None:
        name = name_of(manifest)
        if not name:
            raise EntryError("it has no name")
        taints = taints_of(mapping_at(manifest, "spec"))
        closed = "cordoned" if value_at(manifest, "spec", "unschedulable", kind=bool) else ""
        for condition in list_at(manifest, "status", "conditions"):
            is_readiness = value_at(condition, "type", kind=str) == "Ready"
            if is_readiness and value_at(condition, "status", kind=str) != "True":
                closed = closed or "not ready"

        capacity = mapping_at(manifest, "status", "capacity")
        allocatable = value_at(manifest, "status", "allocatable", default=capacity)
        amounts = in_units(quantities(allocatable))
        if not amounts:
            raise EntryError("it has no status.allocatable")
        labels = mapping_at(manifest, "metadata", "labels")
        if name not in self.cluster.nodes:
            self.taints[name] = taints
        attributes = {
            key: value if isinstance(value, str) else str(value) for key, value in labels.items()
        }
        self.cluster.add(Node(name, amounts, attributes, closed, file))

    def _read_config_map(self, manifest: Record, file: str) -> None:
        """Read the ConfigMap of Volcano's scheduler; others say nothing of shares."""
        if not self.volcano.read_configuration(manifest):
            raise EntryError("objects of kind 'ConfigMap' (v1) are not read")

    def _read_pod(self, manifest: Record, file: str) -> None:
        pod = self._pod_of(manifest, file)
        if pod is None:
            return
        key = pod.namespace, pod.name
        if key in self.pods:
            self.note(*pod.where, "an earlier pod has this name", "left out")
            return
        shared = self.shared_values.setdefault
        self.pods[key] = pod._replace(
            demand=shared(pod.demand, pod.demand),
            place=shared(pod.place, pod.place),
            owner=shared(pod.owner, pod.owner),
            labels=self.kueue.labels_of(pod),
            annotations=self.volcano.annotations_of(pod),
        )

    def _pod_of(self, manifest: Record, file: str) -> Pod | None:
        """Return the pod of a manifest; of the same one in the dump before, the same pod."""
        notes = self.cluster.notes
        if not isinstance(manifest, KeptEntry):
            return pod_of(manifest, file, notes)
        if manifest.result is not None:
            known: Pod = manifest.result
            return known._replace(file=file)
        lines = notes.total
        pod = pod_of(manifest, file, notes)
        if pod is not None and notes.total == lines:  # else the lines belong to each dump
            identity = {"name": pod.name, "namespace": pod.namespace}
            kind = {key: manifest.get(key) for key in ("kind", "apiVersion")}
            manifest.keep(pod, {**kind, "metadata": identity})
        return pod

    def _wait(self, leaf: Leaf, pod: Pod) -> None:
        """Count the tasks of a pod that waits, or that a gate holds."""
        if pod.gate:
            self.cluster.hold(leaf, pod.tasks, pod.gate)
        else:
            request = Request(pod.priority, pod.message)
            self.cluster.wait(leaf, pod.tasks, pod.since, request)

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and the function that says where its pods may be."""
        cluster = self.cluster
        self.kueue.fill(cluster)
        self.volcano.fill(cluster)
        self.has_queues = bool(self.kueue or self.volcano)
        cluster.tenant_noun = "queue" if self.has_queues else "namespace"
        self.quotas.fill(cluster, f"{WITHOUT_QUEUE}/" if self.has_queues else "")

        for pod in map(self.kueue.placed, self.pods.values()):
            leaf = self._leaf(pod)
            if pod.node:
                cluster.run(leaf, pod.node, pod.where)
            else:
                self._wait(leaf, pod)
        owners = {(pod.namespace, pod.owner) for pod in self.pods.values()}
        for pod in map(self.kueue.placed, self.kueue.waiting(owners)):
            self._wait(self._leaf(pod), pod)
        self.kueue.bar(cluster)
        self.volcano.put_deserved(cluster)

        for leaf in cluster.groups:
            for resource, _ in leaf.demand:
                cluster.units.setdefault(resource, unit_of(resource))
        nodes = list(cluster.nodes.values())
        labels = [{**node.attributes, NAME: node.name} for node in nodes]
        places = Nodes(labels, [self.taints[node.name] for node in nodes])
        cluster.why_nowhere = places.why_nowhere
        return cluster, places.allowed

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
        label = f"{pod.namespace}/{pod.owner.partition('/')[2]}"
        return Leaf(queue, owner, label, pod.demand, pod.place, tenant=queue)
