"""Volcano: queues with weights, capabilities and guarantees; by annotation or by parent a tree."""

from __future__ import annotations

from typing import NamedTuple

from .cluster import (
    Cluster,
    Floats,
    Notes,
    Odd,
    Record,
    Take,
    Where,
    larger,
    mapping_at,
    name_in_path,
    part,
    text_at,
)
from .pods import Pod, in_units, name_of, namespace_of, quantities, quantity

_HIERARCHY = "volcano.sh/hierarchy"
_WEIGHTS = "volcano.sh/hierarchy-weights"
_QUEUE_NAMES = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")
_GROUP_NAMES = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
_READ = frozenset({"weight", "capability", "guarantee", "deserved", "parent"})
_ROOT = "root"


class _Queue(NamedTuple):
    """One Queue, as far as it is read."""

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
        self._groups: dict[tuple[str, str], str] = {}
        self._paths: dict[str, str] = {}
        self.kinds: dict[str, Take] = {"Queue": self._queue, "PodGroup": self._group}

    def __bool__(self) -> bool:
        return bool(self._queues)

    def _queue(self, given: Record, file: str) -> None:
        name = name_of(given)
        where = file, f"Queue {name!r}"
        spec = mapping_at(given, "spec")
        for key, value in spec.items():
            if key not in _READ and value not in ({}, [], None, "", True):
                self._note(*where, f"spec.{key}", "left out")
        weight = float(part(spec, "weight", kind=int, default=1) or 1)
        if weight < 0:
            raise Odd(f"its weight is {weight:g}; expected a whole number > 0")
        names, weights = self._hierarchy(mapping_at(given, "metadata", "annotations"), where)
        least = quantities(mapping_at(spec, "guarantee", "resource"))
        self._queues[name] = _Queue(
            names or (name,),
            weights or (weight,),
            "" if names else text_at(spec, "parent"),
            # what it deserves is reclaimed from those who borrow it as soon as the queue needs it,
            # as a guarantee is
            in_units(larger(least, quantities(mapping_at(spec, "deserved")))),
            in_units(quantities(mapping_at(spec, "capability"))),
            where,
        )

    def _hierarchy(
        self, annotations: Record, where: Where
    ) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """Return the names from below the root down, and the weight of each; nothing where none are given."""
        path = text_at(annotations, _HIERARCHY)
        if not path:
            return (), ()
        names = path.strip("/").split("/")
        texts = text_at(annotations, _WEIGHTS).strip("/").split("/")
        if texts[0] == _ROOT:  # instead of a weight, which would say nothing
            texts[0] = "1"
        try:
            weights = [float(quantity(text)) for text in texts]
        except Odd:
            weights = []
        if len(weights) != len(names) or not all(weights):
            self._note(
                *where,
                f"{_WEIGHTS} of {'/'.join(texts)!r} for {path!r}",
                "each weight is taken as 1",
            )
            weights = [1.0] * len(names)
        if not all(names):
            raise Odd(f"{_HIERARCHY} {path!r} has an empty name")
        start = 1 if names[0] == _ROOT else 0
        return tuple(names[start:]), tuple(weights[start:])

    def _group(self, given: Record, file: str) -> None:
        group = namespace_of(given), name_of(given)
        self._groups[group] = part(given, "spec", "queue", kind=str, default="default")

    def annotations_of(self, pod: Pod) -> Record:
        """Return the annotations and labels of a pod that are read here."""
        both = {**pod.labels, **pod.annotations}
        return {key: both[key] for key in (*_QUEUE_NAMES, *_GROUP_NAMES) if key in both}

    def queue_of(self, pod: Pod) -> str | None:
        """Return the path of the queue that a pod is in, None where it is in none."""
        named = next(
            (str(pod.annotations[key]) for key in _QUEUE_NAMES if pod.annotations.get(key)), None
        )
        if named is None:
            groups = [
                (pod.namespace, str(pod.annotations[key]))
                for key in _GROUP_NAMES
                if key in pod.annotations
            ]
            named = next((self._groups[group] for group in groups if group in self._groups), None)
        if named is None and pod.scheduler == "volcano" and self:
            named = "default"
        if named is None:
            return None
        if named not in self._queues:
            self._note(*pod.where, f"Queue {named!r} is not there", "it counts as one in no queue")
            return None
        return self._path(named)

    def _path(self, name: str) -> str:
        if name not in self._paths:
            names = list(self._queues[name].names)
            at = name
            seen = {name}
            while (at := self._queues[at].parent) and at != _ROOT:
                if at in seen or at not in self._queues:
                    what = f"its parent {at!r} is {'below itself' if at in seen else 'not there'}"
                    self._note(*self._queues[name].where, what, "it stands at the root")
                    break
                seen.add(at)
                names = [*self._queues[at].names, *names]
            if names == [_ROOT]:
                names = []
            self._paths[name] = "/".join(name_in_path(one) for one in names)
        return self._paths[name]

    def fill(self, cluster: Cluster) -> None:
        """Put weights, guarantees and caps on the queues of a cluster."""
        for name, one in self._queues.items():
            path = self._path(name)
            steps = path.split("/") if path else []
            for k, weight in enumerate(reversed(one.weights[: len(steps)])):
                step = "/".join(steps[: len(steps) - k])
                said = cluster.queue(step).setdefault("weight", weight)
                if said != weight:
                    self._note(
                        *one.where,
                        f"weight {weight:g} of {step!r}, where another says {said:g}",
                        "left out",
                    )
            row = cluster.queue(path)
            if "cap" in row:
                self._note(
                    *one.where, f"an earlier queue stands at {path!r}", "its limits are left out"
                )
                continue
            row["cap"], row["guarantee"] = one.cap, one.guarantee
