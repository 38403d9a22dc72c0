"""Kueue: cohorts and their ClusterQueues as queues, by LocalQueue; Workloads that are not admitted wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from .cluster import (
    Cluster,
    Notes,
    Odd,
    Record,
    Take,
    Where,
    list_at,
    mapping_at,
    name_in_path,
    part,
    positive,
    text_at,
)
from .pods import Pod, amount, asked, namespace_of, owner_of, quantity

#: Labels of a pod that name its LocalQueue.
_QUEUE_NAMES: Final = ("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/local-queue-name")
#: Fields of a spec that are read; others are noted where they say something.
_READ: Final = frozenset({"cohort", "cohortName", "parent", "parentName", "resourceGroups", "fairSharing"})
Amounts = dict[str, Fraction]
#: What may be borrowed, by resource; None: no limit.
Limits = dict[str, Fraction | None]


class _Quota(NamedTuple):
    """Where a queue stands, its weight, its nominal quota, and what it may borrow (None: no limit) by resource."""

    parent: str
    weight: float
    nominal: Amounts
    borrowing: Limits
    where: Where


class Kueue:
    """The objects of Kueue."""

    def __init__(self, notes: Notes) -> None:
        self._notes, self._note = notes, notes.add
        self._queues: dict[str, _Quota] = {}
        self._cohorts: dict[str, _Quota] = {}
        self._local: dict[tuple[str, str], str] = {}
        self._of_owner: dict[tuple[str, str], str] = {}
        self._waiting: list[Pod] = []
        self._paths: dict[str, str] = {}
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
        self._queues[self._name(given)] = self._quota(given, file, ("cohort", "cohortName"))

    def _cohort(self, given: Record, file: str) -> None:
        self._cohorts[self._name(given)] = self._quota(given, file, ("parent", "parentName"))

    def _local_queue(self, given: Record, file: str) -> None:
        queue = part(given, "spec", "clusterQueue", kind=str)
        if not queue:
            raise Odd("it names no ClusterQueue")
        self._local[namespace_of(given), self._name(given)] = queue

    def _flavor(self, given: Record, file: str) -> None:
        if part(given, "spec", "nodeLabels") or part(given, "spec", "nodeTaints", kind=list):
            what = "a flavor is of some nodes only"
            self._note(file, f"ResourceFlavor {self._name(given)!r}", what, "quotas of all flavors are added up")

    def _name(self, given: Record) -> str:
        return text_at(given, "metadata", "name")

    def _quota(self, given: Record, file: str, parents: tuple[str, str]) -> _Quota:
        where = file, f"{given['kind']} {self._name(given)!r}"
        spec = mapping_at(given, "spec")
        for key, value in spec.items():
            if key not in _READ and value not in ({}, [], None, "None", ""):
                self._note(*where, f"spec.{key}", "left out")
        parent = next((name for key in parents if (name := part(spec, key, kind=str))), "")
        weight = float(quantity(part(spec, "fairSharing", "weight", kind=(str, int, float), default="1")))
        nominal: Amounts = {}
        borrowing: Limits = {}
        for group in list_at(spec, "resourceGroups"):
            for flavor in list_at(group, "flavors"):
                for entry in list_at(flavor, "resources"):
                    self._add(entry, nominal, borrowing, where)
        return _Quota(parent, positive(weight, where, self._notes), nominal, borrowing, where)

    def _add(self, entry: Any, nominal: Amounts, borrowing: Limits, where: Where) -> None:
        resource = text_at(entry, "name")
        if resource in nominal:
            self._note(*where, f"several flavors of {resource!r}", "their quotas are added up")
        own = quantity(part(entry, "nominalQuota", kind=(str, int, float), default="0"))
        nominal[resource] = nominal.get(resource, Fraction(0)) + own
        limit = part(entry, "borrowingLimit", kind=(str, int, float))
        before = borrowing.get(resource, Fraction(0))
        borrowing[resource] = None if limit is None or before is None else before + quantity(limit)
        if part(entry, "lendingLimit", kind=(str, int, float)) is not None:
            self._note(*where, f"lendingLimit of {resource!r}", "left out: what is not used is lent to all")

    def _workload(self, given: Record, file: str) -> None:
        namespace, (kind, owner) = namespace_of(given), owner_of(given)
        where = file, f"Workload '{namespace}/{self._name(given)}'"
        queue = text_at(given, "spec", "queueName")
        self._of_owner[namespace, f"{kind}/{owner}"] = queue
        conditions = {text_at(entry, "type"): entry for entry in list_at(given, "status", "conditions")}
        done = text_at(conditions.get("Finished", {}), "status") == "True"
        if done or kind == "Pod" or part(given, "status", "admission"):
            return  # its pods are there, or it has no need of any
        reserved = conditions.get("QuotaReserved", {})
        gate = text_at(reserved, "message") if text_at(reserved, "reason") == "Inadmissible" else ""
        if part(given, "spec", "active", kind=bool, default=True) is False:
            gate = "it is not active"
        for one in list_at(given, "spec", "podSets"):
            demand, place = asked(mapping_at(one, "template", "spec"), False, where, self._notes)
            since = part(given, "metadata", "creationTimestamp", kind=str)
            labels = {_QUEUE_NAMES[0]: queue}
            count = part(one, "count", kind=int, default=1)
            owned = f"{kind}/{owner}"
            name = self._name(given)
            self._waiting.append(
                Pod(file, name, namespace, owned, demand, place, "", since, labels, {}, "", count, gate)
            )

    def labels_of(self, pod: Pod) -> Mapping[str, Any]:
        """Return the labels of a pod that are read here."""
        return {key: pod.labels[key] for key in _QUEUE_NAMES if key in pod.labels}

    def waiting(self) -> Iterator[Pod]:
        """Yield the pods to be of Workloads that are not admitted."""
        return iter(self._waiting)

    def queue_of(self, pod: Pod) -> str | None:
        """Return the path of the queue that a pod is in, None where it is in none."""
        local = next((pod.labels[key] for key in _QUEUE_NAMES if pod.labels.get(key)), None)
        if local is None:
            local = self._of_owner.get((pod.namespace, pod.owner))
        if not local:
            return None
        queue = self._local.get((pod.namespace, str(local)))
        if queue is None or queue not in self._queues:
            what = f"LocalQueue {local!r} is not there" if queue is None else f"ClusterQueue {queue!r} is not there"
            self._note(*pod.where, what, "it counts as one in no queue")
            return None
        return self._path(queue)

    def _path(self, queue: str) -> str:
        if queue not in self._paths:
            one = self._queues[queue]
            above = self._above(one.parent)
            own = name_in_path(queue) + (" (ClusterQueue)" if not above and queue in self._all_cohorts() else "")
            self._paths[queue] = "/".join([*above, own])
        return self._paths[queue]

    def _all_cohorts(self) -> set[str]:
        return {
            *self._cohorts,
            *(one.parent for one in (*self._queues.values(), *self._cohorts.values()) if one.parent),
        }

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
        """Put weights, guarantees and caps on the queues of a cluster."""
        below: dict[str, Amounts] = {}
        for name, one in [*self._cohorts.items(), *self._queues.items()]:
            above = self._above(one.parent)
            is_queue = one is self._queues.get(name)
            path = self._path(name) if is_queue else "/".join([*above, name_in_path(name)])
            row = cluster.queue(path)
            row["weight"] = one.weight
            if is_queue:
                row["guarantee"] = {r: amount(r, value) for r, value in one.nominal.items()}
                row["cap"] = self._caps(one, bool(above))
            elif one.nominal:
                self._note(*one.where, "a quota of the cohort itself", "added to what its queues have together")
            for resource, value in one.nominal.items():
                for depth in range(1, len(above) + (1 if is_queue else 2)):
                    total = below.setdefault("/".join(path.split("/")[:depth]), {})
                    total[resource] = total.get(resource, Fraction(0)) + value
        borrowing = self._borrowing_of_cohorts()
        for path, total in below.items():
            cohort = borrowing.get(path)
            if cohort is not None:
                more = {r: limit for r, limit in cohort.items() if limit is not None}
                cluster.queue(path)["cap"] = {r: amount(r, total[r] + limit) for r, limit in more.items()}
            if "/" not in path and path not in self._paths.values():  # nobody lends to a root
                cluster.queue(path)["cap"] = {r: amount(r, value) for r, value in total.items()}

    def _borrowing_of_cohorts(self) -> dict[str, Limits]:
        """Return what cohorts below others may borrow, by path."""
        return {
            "/".join([*self._above(one.parent), name_in_path(name)]): one.borrowing
            for name, one in self._cohorts.items()
            if one.parent and one.borrowing
        }

    def _caps(self, one: _Quota, lent: bool) -> dict[str, float]:
        """Return what a ClusterQueue may have: its quota, and what it may borrow where there is a cohort."""
        found = {}
        for resource, own in one.nominal.items():
            more = one.borrowing[resource] if lent else Fraction(0)
            if more is not None:
                found[resource] = amount(resource, own + more)
        return found
