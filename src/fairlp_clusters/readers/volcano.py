"""Volcano: queues with weights, capabilities and guarantees; by annotation or by parent a tree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlp import queues
from fairlp.toolkit import tolerances

from .cluster import (
    Cluster,
    EntryError,
    Floats,
    Key,
    Names,
    Notes,
    ReadEntry,
    Record,
    Table,
    Texts,
    Where,
    add_amounts,
    count_at,
    demand_of,
    largest_amounts,
    list_at,
    mapping_at,
    name_in_path,
    text_at,
    value_at,
    yaml_at,
)
from .pods import (
    PODS,
    Gang,
    Pod,
    conditions_of,
    in_units,
    key_of,
    name_of,
    owner_of,
    quantities,
    quantity,
    since_of,
)
from .rows import table_of

_VOLCANO = "scheduling.volcano.sh"
_HIERARCHY = "volcano.sh/hierarchy"
_WEIGHTS = "volcano.sh/hierarchy-weights"
_QUEUE_NAMES = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")
_GROUP_NAMES = (
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
    "scheduling.x-k8s.io/pod-group",
)
#: Phases of a PodGroup whose pods may be to be created; a new one has none.
_NOT_STARTED = ("", "Pending", "Inqueue")
#: The constraint of a PodGroup whose pods are not there, and cannot all be alike.
_DIFFERENT = "pods of different sizes"
#: States of a queue in which nothing more starts.
_CLOSED = ("Closed", "Closing")
_READ = frozenset({"weight", "capability", "guarantee", "deserved", "parent"})
_ROOT = "root"
#: The key of the scheduler's ConfigMap that names its plugins.
_CONFIGURATION = "volcano-scheduler.conf"
#: The plugins that say what queues deserve; of several, the first.
CAPACITY = "capacity"
PROPORTION = "proportion"
#: The plugin that shares along the annotated hierarchy, by weights; no queue deserves amounts.
HIERARCHY = "drf"
#: Rounds of the proportion plugin; what remains shrinks in each by a part at least.
_ROUNDS = 1000


class _Queue(NamedTuple):
    """A queue: its names and weights from below the root down, its parent, its limits.

    ``state`` is that of its status.
    """

    names: Texts
    weights: tuple[float, ...]
    parent: str
    weight: float
    guarantee: Floats
    deserved: Floats
    cap: Floats
    where: Where
    state: str = ""


class _PodGroup(NamedTuple):
    """A PodGroup: its queue, how many of its pods start at once, and why they do not.

    ``left_out`` is what it asks for that does not count here; ``pods`` are those that it asks for where
    it has none yet.
    """

    queue: str | None
    gang: Gang
    message: str
    left_out: Texts
    pods: Pod | None = None


class QueueRequest(NamedTuple):
    """A queue as the proportion plugin sees it; a resource that ``cap`` does not name has none."""

    weight: float
    request: Floats
    guarantee: Floats
    cap: Floats


class Volcano:
    """The objects of Volcano."""

    def __init__(self, notes: Notes) -> None:
        self._note = notes.add
        self._queues: dict[str, _Queue] = {}
        self._groups: dict[Key, _PodGroup] = {}
        self._paths: dict[str, str] = {}
        self._plugins: Names | None = None  # of the ConfigMap; None without one
        self._actions: Names = []  # of the same
        self.kinds: dict[Key, ReadEntry] = {
            (_VOLCANO, "Queue"): self._read_queue,
            (_VOLCANO, "PodGroup"): self._read_pod_group,
            ("scheduling.x-k8s.io", "PodGroup"): self._read_pod_group,
        }

    def __bool__(self) -> bool:
        return bool(self._queues)

    def _read_queue(self, manifest: Record, file: str) -> None:
        name = name_of(manifest)
        where = file, f"Queue {name!r}"
        spec = mapping_at(manifest, "spec")
        for key, value in spec.items():
            if key not in _READ and value not in ({}, [], None, "", True):
                self._note(*where, f"spec.{key}")
        weight = float(value_at(spec, "weight", kind=int, default=1) or 1)
        if weight < 0:
            raise EntryError(f"its weight is {weight:g}; expected a whole number > 0")
        names, weights = self._hierarchy(mapping_at(manifest, "metadata", "annotations"), where)

        self._queues[name] = _Queue(
            names=names or (name,),
            weights=weights or (weight,),
            parent="" if names else text_at(spec, "parent"),
            weight=weight,
            guarantee=in_units(quantities(mapping_at(spec, "guarantee", "resource"))),
            deserved=in_units(quantities(mapping_at(spec, "deserved"))),
            cap=in_units(quantities(mapping_at(spec, "capability"))),
            where=where,
            state=text_at(manifest, "status", "state"),
        )

    def read_configuration(self, manifest: Record) -> bool:
        """Read a ConfigMap; return whether it is the scheduler's own."""
        text = text_at(manifest, "data", _CONFIGURATION)
        if not text:
            return False
        configuration = yaml_at(text, _CONFIGURATION)
        plugins = []
        for tier in list_at(configuration, "tiers"):
            for plugin in list_at(tier, "plugins"):
                name = text_at(plugin, "name")
                if name != HIERARCHY or value_at(plugin, "enableHierarchy", kind=bool):
                    plugins.append(name)
        self._plugins = plugins
        self._actions = [
            action.strip()
            for action in text_at(configuration, "actions").split(",")
            if action.strip()
        ]
        return True

    @property
    def _plugin(self) -> Key:
        """The plugin that shares among queues (empty for none), and how that is known."""
        if self._plugins is not None:
            plugins = [name for name in (CAPACITY, PROPORTION, HIERARCHY) if name in self._plugins]
            return next(iter(plugins), ""), "the ConfigMap of the scheduler names it"
        plugin, reason = PROPORTION, "the default"
        queues = self._queues.values()
        if any(queue.deserved for queue in queues):
            plugin, reason = CAPACITY, "queues say what they deserve"
        elif any(len(queue.weights) > 1 for queue in queues):
            plugin, reason = HIERARCHY, "queues have a hierarchy"
        return plugin, f"{reason}; the scheduler's ConfigMap is not in the dump"

    def _hierarchy(self, annotations: Record, where: Where) -> tuple[Texts, tuple[float, ...]]:
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
            self._note(
                *where,
                f"{_WEIGHTS} of {'/'.join(texts)!r} for {path!r}",
                "each weight is taken as 1",
            )
            weights = [1.0] * len(names)
        if not all(names):
            raise EntryError(f"{_HIERARCHY} {path!r} has an empty name")
        start = 1 if names[0] == _ROOT else 0
        return tuple(names[start:]), tuple(weights[start:])

    def _read_pod_group(self, manifest: Record, file: str) -> None:
        """Read a PodGroup: how many of its pods start at once, why they do not, and those not created.

        Groups of the plugin of coscheduling have no queues.
        """
        key = namespace, name = key_of(manifest)
        spec = mapping_at(manifest, "spec")
        least = count_at(spec, "minMember", default=1)
        left_out: Texts = ()
        if mapping_at(spec, "minTaskMember"):
            left_out += ("minTaskMember",)
        if text_at(spec, "networkTopology", "mode") == "hard":
            left_out += ("network topology",)
        condition = conditions_of(manifest).get("Unschedulable")
        message = text_at(condition, "message") if text_at(condition, "status") == "True" else ""
        queue = None
        pods = None
        if text_at(manifest, "apiVersion").startswith(_VOLCANO):
            queue = text_at(spec, "queue") or "default"
            resources = in_units(quantities(mapping_at(spec, "minResources")))
            if text_at(manifest, "status", "phase") in _NOT_STARTED and least > 0 and resources:
                if any(amount % least for amount in resources.values()):
                    left_out += (_DIFFERENT,)
                demand = {name: amount / least for name, amount in resources.items()} | {PODS: 1.0}
                pods = Pod(
                    file=file,
                    name=name,
                    namespace=namespace,
                    owner="/".join(owner_of(manifest)),
                    demand=demand_of(demand),
                    since=since_of(manifest),
                    marks={_GROUP_NAMES[0]: name},
                    scheduler="volcano",
                    tasks=least,
                )
        gang = Gang(f"PodGroup {namespace}/{name}", least)
        self._groups[key] = _PodGroup(queue, gang, message, left_out, pods)

    def not_created(self, pods: Iterable[Pod]) -> Iterator[Pod]:
        """Yield the pods of PodGroups of which the dump has none: minMember of minResources."""
        present = {self._group_of(pod) for pod in pods}
        for key, group in self._groups.items():
            if group.pods is not None and key not in present:
                yield group.pods

    def gang_of(self, pod: Pod) -> Gang | None:
        """Return the PodGroup of a pod; None where it is in none of the dump."""
        group = self._groups.get(self._group_of(pod))
        return None if group is None else group.gang

    def with_message(self, pod: Pod) -> Pod:
        """Return a pod that waits, with what its PodGroup says, and the gate of a closed queue."""
        name = self._queue_name(pod)
        queue = self._queues.get(name or "")
        gate = pod.gate
        if queue is not None and queue.state in _CLOSED:
            gate = gate or f"Queue {name!r} is {queue.state}"
        group = self._groups.get(self._group_of(pod))
        if group is None:
            return pod._replace(gate=gate)
        return pod._replace(
            message=pod.message or group.message,
            gate=gate,
            left_out=(*pod.left_out, *group.left_out),
        )

    def _group_of(self, pod: Pod) -> Key:
        """Return namespace and name of the PodGroup that a pod names; an empty name for none."""
        names = [pod.marks.get(key) for key in _GROUP_NAMES]
        return pod.namespace, next(filter(None, names), "")

    def queue_of(self, pod: Pod) -> str | None:
        """Return the path of a pod's queue, None where it is in none."""
        name = self._queue_name(pod)
        if name is None:
            return None
        if name not in self._queues:
            self._note(
                *pod.where, f"Queue {name!r} is not in the dump", "it counts as one in no queue"
            )
            return None
        return self._path(name)

    def lacks_queue(self, pod: Pod) -> bool:
        """Whether Volcano schedules a pod, and the dump does not have its queue."""
        name = self._queue_name(pod)
        return (pod.scheduler == "volcano" or name is not None) and name not in self._queues

    def _queue_name(self, pod: Pod) -> str | None:
        """Return the queue that a pod names, or that of its group; Volcano's own pods have one."""
        names = filter(None, (pod.marks.get(key) for key in _QUEUE_NAMES))
        if name := next(names, ""):
            return name
        group = self._groups.get(self._group_of(pod))
        if group is not None and group.queue is not None:
            return group.queue
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
                    self._note(
                        *self._queues[name].where,
                        f"its parent {ancestor!r} is {problem}",
                        "it stands at the root",
                    )
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
                self._note(
                    *queue.where, f"an earlier queue stands at {path!r}", "its limits are left out"
                )
                continue
            row["cap"] = queue.cap
            row["guarantee"] = queue.guarantee

    def put_deserved(self, cluster: Cluster) -> None:
        """Guarantee queues what they deserve; for use when all pods are in the cluster.

        These amounts are reclaimed from the queues that borrow them as soon as a queue needs them,
        as its guarantee is.
        """
        if not self._queues:
            return
        if self._actions and "reclaim" not in self._actions:
            cluster.preemption = (
                "Volcano takes nothing back from queues that borrow (its actions have no reclaim: "
                f"{', '.join(self._actions)})"
            )
        plugin, reason = self._plugin
        cluster.plugin = plugin
        guaranteed: Table = {}
        if plugin == CAPACITY:
            guaranteed = {
                self._path(name): largest_amounts(queue.deserved, queue.guarantee)
                for name, queue in self._queues.items()
                if queue.deserved
            }
        elif plugin == PROPORTION:
            guaranteed = self._deserved_in_proportion(cluster)
        for path, amounts in guaranteed.items():
            row = cluster.queue(path)
            guarantee = row.get("guarantee", {})
            if plugin == PROPORTION and guarantee:  # what it does not name does not limit it
                amounts = {resource: amounts.get(resource, 0.0) for resource in guarantee}
            row["guarantee"] = largest_amounts(guarantee, amounts)

        message = f"they are shared by the plugin {plugin}" if plugin else "no plugin shares them"
        action = {
            CAPACITY: "a queue is guaranteed its spec.deserved",
            PROPORTION: "a queue is guaranteed what it deserves by weight, capability and requests",
        }.get(plugin, "weights and guarantees count, and spec.deserved does not")
        self._note("", "queues of Volcano", f"{message} ({reason})", action)

    def _deserved_in_proportion(self, cluster: Cluster) -> Table:
        """Return what fits of what the proportion plugin lets each queue with pods deserve.

        A queue above others has what they deserve, too, which the plugin does not add up.
        """
        total: Floats = {}
        for node in cluster.nodes.values():
            if node.closed != "not ready":
                add_amounts(total, node.amounts)
        total.pop(PODS, None)

        # Requests of queues; the pods of others take from the whole what they use.
        claims: dict[str, QueueRequest] = {}
        for name, queue in self._queues.items():
            claims.setdefault(
                self._path(name), QueueRequest(queue.weight, {}, queue.guarantee, queue.cap)
            )
        for leaf, group in cluster.groups.items():
            running = sum(group.running.values())
            demand = {resource: amount for resource, amount in leaf.demand if resource in total}
            if leaf.queue in claims:
                add_amounts(claims[leaf.queue].request, demand, running + group.waiting)
            else:
                add_amounts(total, demand, -running)
        total = {resource: max(amount, 0.0) for resource, amount in total.items()}

        deserved = in_proportion(total, claims)
        return _with_queues_above(fitting(total, deserved, claims))

    def _put_weights(self, cluster: Cluster, path: str, queue: _Queue) -> None:
        """Put the weights of a queue on the last steps of its path, where none are set."""
        steps = path.split("/") if path else []
        for k, weight in enumerate(reversed(queue.weights[: len(steps)])):
            step = "/".join(steps[: len(steps) - k])
            earlier_weight = cluster.queue(step).setdefault("weight", weight)
            if earlier_weight != weight:
                self._note(
                    *queue.where,
                    f"weight {weight:g} of {step!r}, where another says {earlier_weight:g}",
                )


def _with_queues_above(by_leaf: Table) -> Table:
    """Return the amounts above 0 of queues, and of those above them their sums."""
    sums: Table = {}
    for path, amounts in by_leaf.items():
        for above in queues.lineage(path)[1:]:
            add_amounts(sums.setdefault(above, {}), amounts)
    return {
        path: {resource: amount for resource, amount in amounts.items() if amount > 0}
        for path, amounts in sums.items()
    }


def fitting(total: Floats, deserved: Table, claims: dict[str, QueueRequest]) -> Table:
    """Return what queues deserve, lowered to the total where it is more, which the plugin allows.

    Guarantees stay; of what is beyond them all queues lose the same part.

    >>> equal = {"a": QueueRequest(1, {"cpu": 4}, {}, {}), "b": QueueRequest(1, {"cpu": 6}, {"cpu": 6}, {})}
    >>> fitting({"cpu": 8}, {"a": {"cpu": 4.0}, "b": {"cpu": 6.0}}, equal)
    {'a': {'cpu': 2.0}, 'b': {'cpu': 6.0}}
    """
    amounts = table_of(deserved.values(), [*total])
    least = np.minimum(table_of([claims[path].guarantee for path in deserved], [*total]), amounts)
    room = np.maximum(np.array([*total.values()]) - least.sum(axis=0), 0.0)
    beyond = (amounts - least).sum(axis=0)
    part = np.divide(room, beyond, out=np.ones(len(total)), where=beyond > room)
    return _by_name(deserved, total, least + (amounts - least) * part)


def in_proportion(total: Floats, claims: dict[str, QueueRequest]) -> Table:
    """Return what each queue with requests deserves by Volcano's proportion plugin.

    In each round, queues that lack something of their requests get what remains of each resource in
    proportion to their weights, up to their requests and caps; no queue is below its guarantee.
    Guarantees of other queues lower the cap.

    >>> of_two = {"a": QueueRequest(1, {"cpu": 2}, {}, {}), "b": QueueRequest(3, {"cpu": 20}, {}, {})}
    >>> in_proportion({"cpu": 8}, of_two)
    {'a': {'cpu': 2.0}, 'b': {'cpu': 6.0}}
    """
    names = [*total]
    whole = np.array([*total.values()], dtype=float)
    guaranteed = table_of([claim.guarantee for claim in claims.values()], names).sum(axis=0)
    requesting = {path: claim for path, claim in claims.items() if claim.request}
    weights = np.array([claim.weight for claim in requesting.values()])
    requests = table_of([claim.request for claim in requesting.values()], names)
    guarantees = table_of([claim.guarantee for claim in requesting.values()], names)
    caps = table_of([claim.cap for claim in requesting.values()], names, math.inf)
    most = np.minimum(np.minimum(whole - guaranteed + guarantees, caps), requests)

    deserved = np.zeros(requests.shape)
    is_lacking = np.ones(len(requesting), dtype=bool)
    for _ in range(_ROUNDS):
        remaining = np.maximum(whole - deserved.sum(axis=0), 0.0)
        part = weights * is_lacking / weights[is_lacking].sum()
        amounts = np.maximum(np.minimum(deserved + remaining * part[:, None], most), guarantees)
        amounts[~is_lacking] = deserved[~is_lacking]
        grows = (amounts > deserved + tolerances.ROUNDING * whole).any(axis=1)
        is_lacking &= grows & (amounts < requests).any(axis=1)
        deserved = amounts
        if not is_lacking.any():
            break
    return _by_name(requesting, total, deserved)


def _by_name(paths: Iterable[str], names: Iterable[str], table: np.ndarray) -> Table:
    """Return a table of amounts by path and resource."""
    return pd.DataFrame(table, [*paths], [*names]).to_dict("index")  # type: ignore[return-value]
