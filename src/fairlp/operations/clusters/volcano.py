"""Volcano: queues with weights, capabilities and guarantees; by annotation or by parent a tree."""

from __future__ import annotations

from typing import NamedTuple

from .cluster import (
    Cluster,
    EntryError,
    Floats,
    Notes,
    ReadEntry,
    Record,
    Where,
    largest_amounts,
    mapping_at,
    name_in_path,
    text_at,
    value_at,
)
from .pods import Pod, in_units, name_of, namespace_of, quantities, quantity

_HIERARCHY = "volcano.sh/hierarchy"
_WEIGHTS = "volcano.sh/hierarchy-weights"
_QUEUE_NAMES = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")
_GROUP_NAMES = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
_READ = frozenset({"weight", "capability", "guarantee", "deserved", "parent"})
_ROOT = "root"


class _Queue(NamedTuple):
    """A queue: its names and weights from below the root down, its parent, its limits."""

    names: tuple[str, ...]
    weights: tuple[float, ...]
    parent: str
    guarantee: Floats
    cap: Floats
    where: Where


class Volcano:
    """The objects of Volcano."""

    def __init__(self, notes: Notes) -> None:
        self._note = notes.add
        self._queues: dict[str, _Queue] = {}
        self._queue_of_group: dict[tuple[str, str], str] = {}
        self._paths: dict[str, str] = {}
        self.kinds: dict[str, ReadEntry] = {
            "Queue": self._read_queue,
            "PodGroup": self._read_pod_group,
        }

    def __bool__(self) -> bool:
        return bool(self._queues)

    def _read_queue(self, manifest: Record, file: str) -> None:
        name = name_of(manifest)
        where = file, f"Queue {name!r}"
        spec = mapping_at(manifest, "spec")
        for key, value in spec.items():
            if key not in _READ and value not in ({}, [], None, "", True):
                self._note(*where, f"spec.{key}", "left out")
        weight = float(value_at(spec, "weight", kind=int, default=1) or 1)
        if weight < 0:
            raise EntryError(f"its weight is {weight:g}; expected a whole number > 0")
        annotations = mapping_at(manifest, "metadata", "annotations")
        names, weights = self._hierarchy(annotations, where)

        # The deserved amounts of a queue are reclaimed from the queues that borrow them as soon as
        # it needs them, as its guarantee is.
        guarantee = quantities(mapping_at(spec, "guarantee", "resource"))
        deserved = quantities(mapping_at(spec, "deserved"))
        self._queues[name] = _Queue(
            names=names or (name,),
            weights=weights or (weight,),
            parent="" if names else text_at(spec, "parent"),
            guarantee=in_units(largest_amounts(guarantee, deserved)),
            cap=in_units(quantities(mapping_at(spec, "capability"))),
            where=where,
        )

    def _hierarchy(
        self, annotations: Record, where: Where
    ) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """Return names from below the root down with their weights; empty without annotation."""
        path = text_at(annotations, _HIERARCHY)
        if not path:
            return (), ()
        names = path.strip("/").split("/")
        texts = text_at(annotations, _WEIGHTS).strip("/").split("/")
        if texts[0] == _ROOT:  # instead of a weight of the root, which would not count
            texts[0] = "1"
        try:
            weights = [float(quantity(text)) for text in texts]
        except EntryError:
            weights = []
        if len(weights) != len(names) or not all(weights):
            message = f"{_WEIGHTS} of {'/'.join(texts)!r} for {path!r}"
            self._note(*where, message, "each weight is taken as 1")
            weights = [1.0] * len(names)
        if not all(names):
            raise EntryError(f"{_HIERARCHY} {path!r} has an empty name")
        start = 1 if names[0] == _ROOT else 0
        return tuple(names[start:]), tuple(weights[start:])

    def _read_pod_group(self, manifest: Record, file: str) -> None:
        group = namespace_of(manifest), name_of(manifest)
        queue = value_at(manifest, "spec", "queue", kind=str, default="default")
        self._queue_of_group[group] = queue

    def annotations_of(self, pod: Pod) -> Record:
        """Return the annotations and labels of a pod that name its queue or group."""
        texts = {**pod.labels, **pod.annotations}
        return {key: texts[key] for key in (*_QUEUE_NAMES, *_GROUP_NAMES) if key in texts}

    def queue_of(self, pod: Pod) -> str | None:
        """Return the path of a pod's queue, None where it is in none."""
        name = self._queue_name(pod)
        if name is None:
            return None
        if name not in self._queues:
            message = f"Queue {name!r} is not in the dump"
            self._note(*pod.where, message, "it counts as one in no queue")
            return None
        return self._path(name)

    def _queue_name(self, pod: Pod) -> str | None:
        """Return the queue that a pod names, or that of its group; Volcano's own pods have one."""
        for key in _QUEUE_NAMES:
            if pod.annotations.get(key):
                return str(pod.annotations[key])
        for key in _GROUP_NAMES:
            if key in pod.annotations:
                group = (pod.namespace, str(pod.annotations[key]))
                if group in self._queue_of_group:
                    return self._queue_of_group[group]
        return "default" if pod.scheduler == "volcano" and self else None

    def _path(self, name: str) -> str:
        """Return the path of a queue, from below the root down."""
        if name not in self._paths:
            names = list(self._queues[name].names)
            seen = {name}
            ancestor = self._queues[name].parent
            while ancestor and ancestor != _ROOT:
                if ancestor in seen or ancestor not in self._queues:
                    problem = "below itself" if ancestor in seen else "not in the dump"
                    message = f"its parent {ancestor!r} is {problem}"
                    self._note(*self._queues[name].where, message, "it stands at the root")
                    break
                seen.add(ancestor)
                names = [*self._queues[ancestor].names, *names]
                ancestor = self._queues[ancestor].parent
            if names == [_ROOT]:
                names = []
            self._paths[name] = "/".join(name_in_path(step) for step in names)
        return self._paths[name]

    def fill(self, cluster: Cluster) -> None:
        """Put weights, guarantees and caps on the queues of a cluster."""
        for name, queue in self._queues.items():
            path = self._path(name)
            self._put_weights(cluster, path, queue)
            row = cluster.queue(path)
            if "cap" in row:
                message = f"an earlier queue stands at {path!r}"
                self._note(*queue.where, message, "its limits are left out")
                continue
            row["cap"] = queue.cap
            row["guarantee"] = queue.guarantee

    def _put_weights(self, cluster: Cluster, path: str, queue: _Queue) -> None:
        """Put the weights of a queue on the last steps of its path, where none are set."""
        steps = path.split("/") if path else []
        for k, weight in enumerate(reversed(queue.weights[: len(steps)])):
            step = "/".join(steps[: len(steps) - k])
            earlier_weight = cluster.queue(step).setdefault("weight", weight)
            if earlier_weight != weight:
                message = f"weight {weight:g} of {step!r}, where another says {earlier_weight:g}"
                self._note(*queue.where, message, "left out")
