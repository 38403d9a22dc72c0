"""Kubernetes: what ``kubectl get nodes,pods,… -o json`` prints, with queues of Kueue and Volcano where there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import FileFormatError
from ...models.files.whole_files import read_text
from .assembly import Allowed
from .cluster import (
    Cluster,
    Floats,
    Leaf,
    Node,
    Notes,
    Odd,
    Record,
    Take,
    list_at,
    mapping_at,
    name_in_path,
    part,
    text_at,
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
from .sources import END, is_json, members
from .volcano import Volcano

# ResourceQuotas of namespaces: what is requested there has a cap.

_REQUESTS = "requests."
#: Resources whose quota may be named without ``requests.``.
_PLAIN = ("cpu", "memory", "ephemeral-storage", "pods")


class ResourceQuotas:
    """The caps of namespaces."""

    def __init__(self, notes: Notes) -> None:
        self._note = notes.add
        self._caps: dict[str, Floats] = {}

    def add(self, given: Record, file: str) -> None:
        """Take in a ResourceQuota; of several for one namespace the least holds."""
        namespace = namespace_of(given)
        where = file, f"ResourceQuota '{namespace}/{name_of(given)}'"
        if part(given, "spec", "scopes", kind=list) or part(given, "spec", "scopeSelector"):
            self._note(*where, "it is of some pods only (scopes)", "left out")
            return
        caps = self._caps.setdefault(namespace, {})
        for name, value in mapping_at(given, "spec", "hard").items():
            resource = name.removeprefix(_REQUESTS)
            if resource == "storage" or not (name.startswith(_REQUESTS) or name in _PLAIN):
                if name != "count/pods":
                    self._note(
                        *where,
                        f"hard limit of {name!r}",
                        "left out: it is none of what pods request",
                    )
                    continue
                resource = "pods"
            caps[resource] = min(
                caps.get(resource, float("inf")), amount(resource, quantity(value))
            )

    def fill(self, cluster: Cluster, above: str) -> None:
        """Put the caps on the queues of namespaces, which lie below ``above``."""
        for namespace, caps in self._caps.items():
            if above:
                what = "its quota also binds pods that are in queues"
                self._note(
                    "", f"namespace {namespace!r}", what, "it holds for those in no queue only"
                )
            cluster.queue(above + name_in_path(namespace))["cap"] = caps


#: The queue above the namespaces of pods that are in none, where there are queues of Kueue or
#: Volcano.
WITHOUT = "(no queue)"
_UNITS = {resource: unit_of(resource) for resource in ("cpu", "memory", "ephemeral-storage")}


def objects(file: Path) -> Iterator[Record]:
    """Yield the objects of a file: of a list, or one by itself; lists of one kind give it to their entries."""
    text = read_text(file)
    if not is_json(text):
        raise FileFormatError(f"{file} is not JSON; print it with kubectl get … -o json")
    rest: Record = {}
    early = []  # entries that may learn their kind from what stands behind them
    for key, value in members(text, file):
        if key == "items":
            if isinstance(value, dict) and "kind" not in value and "kind" not in rest:
                early.append(value)
            elif value != []:
                yield _of_list(value, rest)
        elif key == END:
            yield from (_of_list(value, rest) for value in early)
            if rest and not str(rest.get("kind", "List")).endswith("List"):
                yield rest
            rest = {}
            early = []
        else:
            rest[key] = value


def _of_list(value: Any, rest: Record) -> Any:
    """Return an entry with the kind of its list, where it has none."""
    if (
        isinstance(value, dict)
        and "kind" not in value
        and str(rest.get("kind", "")).endswith("List")
    ):
        return {
            "kind": str(rest["kind"]).removesuffix("List"),
            "apiVersion": rest.get("apiVersion"),
            **value,
        }
    return value


class KubernetesReader:
    """Gathers objects, and then puts pods where queues and nodes are known."""

    def __init__(self) -> None:
        self.cluster = Cluster("kubernetes", _UNITS)
        self.note = self.cluster.notes.add
        self.pods: dict[tuple[str, str], Pod] = {}
        self.same: dict[Any, Any] = {}  # what many pods have alike is kept once
        self._seen: set[tuple[str, str, str, str]] = (
            set()
        )  # objects by group, kind, namespace and name
        self.queued = False  # whether there are queues other than namespaces
        self.taints: dict[str, Taints] = {}
        notes = self.cluster.notes
        self.quotas, self.kueue, self.volcano = ResourceQuotas(notes), Kueue(notes), Volcano(notes)
        self._kinds: dict[tuple[str, str], Take] = {
            ("", "Node"): self._node,
            ("", "Pod"): self._pod,
            ("", "ResourceQuota"): self.quotas.add,
            **{("kueue.x-k8s.io", kind): add for kind, add in self.kueue.kinds.items()},
            **{("scheduling.volcano.sh", kind): add for kind, add in self.volcano.kinds.items()},
        }

    def read(self, path: Path) -> None:
        """Take in a file."""
        file = path.name
        for given in objects(path):
            where = "an entry of items"
            try:
                kind = text_at(given, "kind")
                version = text_at(given, "apiVersion")
                group = version.rpartition("/")[0]
                where = f"{kind} {name_of(given)!r}"
                take = self._kinds.get((group, kind))
                if take is None:
                    self.note(
                        file,
                        where,
                        f"objects of kind {kind!r} ({version}) are not read",
                        "left out",
                    )
                else:
                    own = group, kind, namespace_of(given), name_of(given)
                    if group and own in self._seen:
                        raise Odd(f"there is an earlier {kind} of this name")
                    take(given, file)
                    self._seen.add(own)
            except Odd as error:
                self.note(file, where, str(error), "left out")

    def _node(self, given: Record, file: str) -> None:
        name = name_of(given)
        if not name:
            raise Odd("it has no name")
        taints = taints_of(mapping_at(given, "spec"))
        closed = "cordoned" if part(given, "spec", "unschedulable", kind=bool) else ""
        for condition in list_at(given, "status", "conditions"):
            if (
                part(condition, "type", kind=str) == "Ready"
                and part(condition, "status", kind=str) != "True"
            ):
                closed = closed or "not ready"
        offered = part(
            given, "status", "allocatable", default=mapping_at(given, "status", "capacity")
        )
        amounts = in_units(quantities(offered))
        if not amounts:
            raise Odd("it has no status.allocatable")
        labels = mapping_at(given, "metadata", "labels")
        if name not in self.cluster.nodes:
            self.taints[name] = taints
        attributes = {
            key: value if isinstance(value, str) else str(value) for key, value in labels.items()
        }
        self.cluster.add(Node(name, amounts, attributes, closed, file))

    def _pod(self, given: Record, file: str) -> None:
        pod = pod_of(given, file, self.cluster.notes)
        if pod is None:
            return
        key = pod.namespace, pod.name
        if key in self.pods:
            self.note(*pod.where, "there is an earlier pod of this name", "left out")
            return
        once = self.same.setdefault
        self.pods[key] = pod._replace(
            demand=once(pod.demand, pod.demand),
            place=once(pod.place, pod.place),
            owner=once(pod.owner, pod.owner),
            labels=self.kueue.labels_of(pod),
            annotations=self.volcano.annotations_of(pod),
        )

    def _wait(self, leaf: Leaf, pod: Pod) -> None:
        """Count the tasks of a pod that waits, or is held by a gate."""
        if pod.gate:
            self.cluster.hold(leaf, pod.tasks, pod.gate)
        else:
            self.cluster.wait(leaf, pod.tasks, pod.since, pod.priority)

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and what tells where pods may be."""
        cluster = self.cluster
        self.kueue.fill(cluster)
        self.volcano.fill(cluster)
        self.queued = bool(self.kueue or self.volcano)
        self.quotas.fill(cluster, f"{WITHOUT}/" if self.queued else "")
        for pod in map(self.kueue.placed, self.pods.values()):
            leaf = self._leaf(pod)
            if pod.node:
                cluster.run(leaf, pod.node, pod.where)
            else:
                self._wait(leaf, pod)
        there = {(pod.namespace, pod.owner) for pod in self.pods.values()}
        for pod in map(self.kueue.placed, self.kueue.waiting(there)):
            self._wait(self._leaf(pod), pod)
        self.kueue.bar(cluster)
        for leaf in cluster.groups:
            for resource, _ in leaf.demand:
                cluster.units.setdefault(resource, unit_of(resource))
        nodes = list(cluster.nodes.values())
        labels = [{**node.attributes, NAME: node.name} for node in nodes]
        return cluster, Nodes(labels, [self.taints[node.name] for node in nodes]).allowed

    def _leaf(self, pod: Pod) -> Leaf:
        queue = self.kueue.queue_of(pod)
        if queue is None:
            queue = self.volcano.queue_of(pod)
        if queue is None:
            queue = name_in_path(pod.namespace)
            if self.queued:
                queue = f"{WITHOUT}/{queue}"
        label = f"{pod.namespace}/{pod.owner.partition('/')[2]}"
        return Leaf(queue, f"{pod.namespace}/{pod.owner}", label, pod.demand, pod.place)
