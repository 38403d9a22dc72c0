"""Kueue: cohorts and their ClusterQueues as queues with quotas, by LocalQueue; Workloads that are not admitted wait."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain, product
from typing import NamedTuple

from ...models.instances.conditions import condition_text
from ...models.instances.queues import lineage
from ...models.instances.quotas import AT
from .cluster import (
    Amounts,
    Cluster,
    Floats,
    Notes,
    Odd,
    Record,
    Take,
    Where,
    add_amounts,
    list_at,
    mapping_at,
    name_in_path,
    part,
    positive,
    text_at,
)
from .pods import (
    PODS,
    AnyOf,
    Place,
    Pod,
    Requirement,
    Taints,
    Toleration,
    amount,
    asked,
    bears,
    in_units,
    name_of,
    namespace_of,
    owner_of,
    place_of,
    quantity,
    taints_of,
)

#: Labels of a pod that name its LocalQueue.
_QUEUE_NAMES = ("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/local-queue-name")
#: Fields of a spec that are read; others are noted where they say something.
_READ = frozenset({"cohort", "cohortName", "parent", "parentName", "resourceGroups", "fairSharing"})
#: Owners whose pods name them as theirs.
_DIRECT = "Job"
#: What a quota says, and the fields that say it.
_KINDS = {"nominal": "nominalQuota", "borrowing": "borrowingLimit", "lending": "lendingLimit"}
#: Resource and flavor.
Column = tuple[str, str]
#: What may be borrowed, by resource; None: no limit.
Limits = dict[str, Fraction | None]


class _Flavor(NamedTuple):
    """Labels of the nodes of a flavor, the taints that its tasks must bear, and those that it makes them bear."""

    labels: tuple[Requirement, ...] = ()
    taints: Taints = ()
    tolerations: tuple[Toleration, ...] = ()


class _Quota(NamedTuple):
    """Where a queue stands, its weight, and its quotas, by resource and flavor in the order of the queue.

    ``groups`` are resources with the flavors that they have together; ``told`` is the weighted
    share of its status.
    """

    parent: str
    weight: float
    quotas: dict[Column, Amounts]
    groups: list[tuple[list[str], list[str]]]
    told: float | None
    where: Where

    def summed(self, kind: str) -> Limits:
        """Return amounts by resource, over flavors; None where one has no limit."""
        found: Limits = {}
        for (resource, _), given in self.quotas.items():
            before = found.get(resource, Fraction(0))
            own = given.get(kind)
            found[resource] = None if before is None or own is None else before + own
        return found

    @property
    def nominal(self) -> Amounts:
        """Nominal quotas by resource."""
        return {
            resource: own for resource, own in self.summed("nominal").items() if own is not None
        }


class Kueue:
    """The objects of Kueue."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._note = notes.add
        self._queues: dict[str, _Quota] = {}
        self._cohorts: dict[str, _Quota] = {}
        self._local: dict[tuple[str, str], str] = {}
        self._of_owner: dict[tuple[str, str], str] = {}
        self._waiting: list[Pod] = []
        self._paths: dict[str, str] = {}
        self._flavors: dict[str, _Flavor] = {}
        self._uncovered: dict[str, Floats] = {}
        self._ignored: set[str] = set()
        self._admitted: list[
            tuple[str, list[tuple[str, str, Fraction]], tuple[str, str] | None, list[Pod]]
        ] = []
        self.kinds: dict[str, Take] = {
            "ClusterQueue": self._cluster_queue,
            "Cohort": self._cohort,
            "LocalQueue": self._local_queue,
            "ResourceFlavor": self._flavor,
            "Workload": self._workload,
        }

    def __bool__(self) -> bool:
        return bool(self._queues)

    def _cluster_queue(self, given: Record, file: str) -> None:
        self._queues[name_of(given)] = self._quota(given, file, ("cohort", "cohortName"))

    def _cohort(self, given: Record, file: str) -> None:
        self._cohorts[name_of(given)] = self._quota(given, file, ("parent", "parentName"))

    def _local_queue(self, given: Record, file: str) -> None:
        queue = part(given, "spec", "clusterQueue", kind=str)
        if not queue:
            raise Odd("it names no ClusterQueue")
        self._local[namespace_of(given), name_of(given)] = queue

    def _flavor(self, given: Record, file: str) -> None:
        spec = mapping_at(given, "spec")
        as_of_a_pod = {
            "nodeSelector": mapping_at(spec, "nodeLabels"),
            "tolerations": list_at(spec, "tolerations"),
        }
        place = place_of(as_of_a_pod, False, (file, ""), self._notes)
        taints = taints_of({"taints": list_at(spec, "nodeTaints")})
        self._flavors[name_of(given)] = _Flavor(place.selector, taints, place.tolerations)

    def _quota(self, given: Record, file: str, parents: tuple[str, str]) -> _Quota:
        where = file, f"{given['kind']} {name_of(given)!r}"
        spec = mapping_at(given, "spec")
        for key, value in spec.items():
            if key not in _READ and value not in ({}, [], None, "None", ""):
                self._note(*where, f"spec.{key}", "left out")
        parent = next((name for key in parents if (name := part(spec, key, kind=str))), "")
        weight = float(
            quantity(part(spec, "fairSharing", "weight", kind=(str, int, float), default="1"))
        )
        quotas: dict[Column, Amounts] = {}
        groups: list[tuple[list[str], list[str]]] = []
        for group in list_at(spec, "resourceGroups"):
            flavors = list_at(group, "flavors")
            for flavor in flavors:
                for entry in list_at(flavor, "resources"):
                    amounts = {
                        kind: quantity(value)
                        for kind, key in _KINDS.items()
                        if (value := part(entry, key, kind=(str, int, float))) is not None
                    }
                    quotas[text_at(entry, "name"), text_at(flavor, "name")] = {
                        "nominal": Fraction(0),
                        **amounts,
                    }
            names = [text_at(flavor, "name") for flavor in flavors]
            groups.append(([resource for resource, flavor in quotas if flavor in names], names))
        told = part(given, "status", "fairSharing", "weightedShare", kind=(int, float))
        own = positive(weight, where, self._notes)
        return _Quota(parent, own, quotas, groups, None if told is None else float(told), where)

    def _workload(self, given: Record, file: str) -> None:
        name = name_of(given)
        namespace = namespace_of(given)
        kind, owned_by = owner_of(given)
        owner = f"{kind}/{owned_by}"
        where = file, f"Workload '{namespace}/{name}'"
        queue = text_at(given, "spec", "queueName")
        self._of_owner[namespace, owner] = queue
        conditions = {
            text_at(entry, "type"): entry for entry in list_at(given, "status", "conditions")
        }
        if text_at(conditions.get("Finished", {}), "status") == "True":
            return
        reserved = conditions.get("QuotaReserved", {})
        gate = text_at(reserved, "message") if text_at(reserved, "reason") == "Inadmissible" else ""
        if part(given, "spec", "active", kind=bool, default=True) is False:
            gate = "it is not active"
        pods = []
        for one in list_at(given, "spec", "podSets"):
            demand, place = asked(mapping_at(one, "template", "spec"), False, where, self._notes)
            since = part(given, "metadata", "creationTimestamp", kind=str)
            labels = {_QUEUE_NAMES[0]: queue}
            count = part(one, "count", kind=int, default=1)
            if count < 0:
                raise Odd(f"count is {count}; expected a number from 0 on")
            priority = part(given, "spec", "priority", kind=int)
            pods.append(
                Pod(
                    file,
                    name,
                    namespace,
                    owner,
                    demand,
                    place,
                    "",
                    since,
                    labels,
                    {},
                    "",
                    count,
                    gate,
                    priority,
                )
            )
        admission = mapping_at(given, "status", "admission")
        if admission:  # its quota is taken, and its pods are there or to come
            used = []
            for one in list_at(admission, "podSetAssignments"):
                flavors = mapping_at(one, "flavors")
                for resource, value in mapping_at(one, "resourceUsage").items():
                    if resource in flavors:
                        used.append((resource, str(flavors[resource]), quantity(value)))
            came = (namespace, owner) if kind == _DIRECT else None
            self._admitted.append((text_at(admission, "clusterQueue"), used, came, pods))
        elif kind != "Pod":
            self._waiting += pods

    def labels_of(self, pod: Pod) -> Record:
        """Return the labels of a pod that are read here."""
        return {key: pod.labels[key] for key in _QUEUE_NAMES if key in pod.labels}

    def waiting(self, there: Collection[tuple[str, str]]) -> Iterator[Pod]:
        """Yield the pods to be: of Workloads that are not admitted, and of admitted ones that have none yet.

        ``there`` are namespace and owner of the pods of the dump.
        """
        yield from self._waiting
        for _, _, came, pods in self._admitted:
            if came is not None and came not in there:
                yield from (pod._replace(gate="") for pod in pods)

    def queue_of(self, pod: Pod) -> str | None:
        """Return the path of the queue that a pod is in, None where it is in none."""
        queue = self._cluster_queue_of(pod)
        return None if queue is None else self._path(queue)

    def _cluster_queue_of(self, pod: Pod, tell: bool = True) -> str | None:
        """Return the ClusterQueue of a pod, None where it is in none; tell which is not there."""
        local = next((pod.labels[key] for key in _QUEUE_NAMES if pod.labels.get(key)), None)
        if local is None:
            local = self._of_owner.get((pod.namespace, pod.owner))
        if not local:
            return None
        queue = self._local.get((pod.namespace, str(local)))
        if queue is None or queue not in self._queues:
            what = (
                f"LocalQueue {local!r} is not there"
                if queue is None
                else f"ClusterQueue {queue!r} is not there"
            )
            if tell:
                self._note(*pod.where, what, "it counts as one in no queue")
            return None
        return queue

    def placed(self, pod: Pod) -> Pod:
        """Return a pod on the nodes of its ClusterQueue's flavors; what the queue does not cover is kept in mind."""
        queue = self._cluster_queue_of(pod, tell=False)
        if queue is None:
            return pod
        own = self._queues[queue]
        covered = {PODS, *(resource for resource, _ in own.quotas)}
        lacking = {resource: 0.0 for resource, _ in pod.demand if resource not in covered}
        if lacking:
            self._uncovered.setdefault(self._path(queue), {}).update(lacking)
            self._ignored |= set(lacking) if pod.node else set()
        asked_for = {resource for resource, _ in pod.demand}
        choices = [
            [self._flavors.get(name, _Flavor()) for name in names]
            for group, names in own.groups
            if asked_for.intersection(group)
        ]
        assert isinstance(pod.place, Place)
        own_place = pod.place
        places = []
        for flavors in product(*choices):
            if all(
                bears(taint, own_place.tolerations) for flavor in flavors for taint in flavor.taints
            ):
                place = own_place
                for flavor in flavors:
                    more = (*place.tolerations, *flavor.tolerations)
                    place = place._replace(
                        selector=(*place.selector, *flavor.labels), tolerations=more
                    )
                places.append(place)
        return pod._replace(place=places[0] if len(places) == 1 else AnyOf(tuple(places)))

    def _path(self, queue: str) -> str:
        if queue not in self._paths:
            one = self._queues[queue]
            above = self._above(one.parent)
            others = chain(self._queues.values(), self._cohorts.values())
            clash = not above and (
                queue in self._cohorts or any(other.parent == queue for other in others)
            )
            self._paths[queue] = "/".join(
                [*above, name_in_path(queue) + (" (ClusterQueue)" if clash else "")]
            )
        return self._paths[queue]

    def _above(self, cohort: str) -> list[str]:
        """Return the names of a cohort and those above it, the root first."""
        names: list[str] = []
        while cohort:
            if cohort in names:
                self._note("", f"Cohort {cohort!r}", "it is above itself", "it counts as a root")
                break
            names.append(cohort)
            cohort = self._cohorts[cohort].parent if cohort in self._cohorts else ""
        return [name_in_path(name) for name in reversed(names)]

    def fill(self, cluster: Cluster) -> None:
        """Put weights, guarantees, caps and quotas on the queues of a cluster."""
        self._know_labels(cluster)
        self._usage(cluster)
        below: dict[str, Amounts] = {}
        borrowing: dict[str, Limits] = {}
        for name, one in [*self._cohorts.items(), *self._queues.items()]:
            above = self._above(one.parent)
            is_queue = one is self._queues.get(name)
            path = self._path(name) if is_queue else "/".join([*above, name_in_path(name)])
            row = cluster.queue(path)
            row["weight"] = one.weight
            self._put_quotas(cluster, path, one)
            if is_queue:
                row["guarantee"] = in_units(one.nominal)
                row["cap"] = in_units(_most(one, bool(above)))
            elif one.parent and one.quotas:
                borrowing[path] = one.summed("borrowing")
            for cohort in lineage(path)[1 : len(above) + (1 if is_queue else 2)]:
                add_amounts(below.setdefault(cohort, {}), one.nominal)
        for path, total in below.items():
            if path in borrowing:
                more = {r: limit for r, limit in borrowing[path].items() if limit is not None}
                cluster.queue(path)["cap"] = {
                    r: amount(r, total[r] + limit) for r, limit in more.items()
                }
            if "/" not in path and path not in self._paths.values():  # nobody lends to a root
                cluster.queue(path)["cap"] = in_units(total)

    def _put_quotas(self, cluster: Cluster, path: str, one: _Quota) -> None:
        """Put the quotas of a queue or cohort on its row; a root borrows from nobody and lends to nobody."""
        row = cluster.queue(path)
        for (resource, flavor), given in one.quotas.items():
            column = self._column(resource, flavor)
            if column in row.setdefault("nominal", {}):
                self._note(
                    *one.where,
                    f"several flavors of {resource!r} on the same nodes",
                    "their quotas are added up",
                )
            for kind in _KINDS:
                amounts = row.setdefault(kind, {})
                own = given.get(kind)
                if own is None and kind != "nominal":
                    amounts[column] = math.inf
                elif own is not None:
                    add_amounts(amounts, {column: amount(resource, own)})
        top = cluster.queue(path.split("/")[0])
        for column in row.get("nominal", {}):
            top.setdefault("nominal", {}).setdefault(column, 0.0)
            for kind in ("borrowing", "lending"):
                top.setdefault(kind, {})[column] = 0.0
        if one.told is not None:
            cluster.told[path] = {"told": one.told}

    def _column(self, resource: str, flavor: str) -> str:
        """Return the column of a resource and flavor, with a condition where the flavor is of some nodes only."""
        labels = {line.key: line.values[0] for line in self._flavors.get(flavor, _Flavor()).labels}
        return (
            f"{resource}{AT}{condition_text(labels, f'flavor {flavor!r}')}" if labels else resource
        )

    def _know_labels(self, cluster: Cluster) -> None:
        """Make labels of flavors known where no node has them: conditions name what there is."""
        known = {key for node in cluster.nodes.values() for key in node.attributes}
        missing = {
            line.key: None
            for one in self._flavors.values()
            for line in one.labels
            if line.key not in known
        }
        for name, node in list(cluster.nodes.items())[:1]:
            cluster.nodes[name] = replace(node, attributes={**node.attributes, **missing})

    def _usage(self, cluster: Cluster) -> None:
        """Put what admitted Workloads use on the queues."""
        for queue, used, _, _ in self._admitted:
            if queue not in self._queues:
                continue
            total = cluster.admitted.setdefault(self._path(queue), {})
            for resource, flavor, own in used:
                add_amounts(total, {self._column(resource, flavor): amount(resource, own)})

    def bar(self, cluster: Cluster) -> None:
        """Put caps of 0 on what ClusterQueues do not cover; what pods run with nevertheless is left out of quotas."""
        for resource in sorted(self._ignored):
            what = "pods run with it in ClusterQueues that do not cover it"
            self._note(
                "",
                f"resource {resource!r}",
                what,
                "no quota counts it there: so Kueue is configured",
            )
        for path, caps in self._uncovered.items():
            own = {resource: cap for resource, cap in caps.items() if resource not in self._ignored}
            cluster.queue(path).setdefault("cap", {}).update(own)


def _most(one: _Quota, lent: bool) -> Amounts:
    """Return what a ClusterQueue may have: its quota, and what it may borrow where there is a cohort."""
    if not lent:
        return one.nominal
    borrowing = one.summed("borrowing")
    return {r: own + more for r, own in one.nominal.items() if (more := borrowing[r]) is not None}
