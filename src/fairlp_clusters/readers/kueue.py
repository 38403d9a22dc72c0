"""Kueue: cohorts and ClusterQueues as queues with quotas; Workloads that are not admitted wait."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, product
from typing import NamedTuple

import fairlp
from fairlp.toolkit import condition_text, quantity as quantity_text

from .cluster import (
    Amounts,
    Cluster,
    Demand,
    EntryError,
    Floats,
    Notes,
    ReadEntry,
    Record,
    Where,
    add_amounts,
    count_at,
    list_at,
    mapping_at,
    name_in_path,
    positive_weight,
    text_at,
    value_at,
    yaml_at,
)
from .pods import (
    HELD_QUOTA,
    PODS,
    AnyOf,
    Gang,
    Place,
    Pod,
    Requirement,
    Taints,
    Toleration,
    amount,
    bears,
    constraints_left_out,
    demand_and_place,
    in_units,
    name_of,
    namespace_of,
    owner_of,
    place_of,
    quantity,
    taints_of,
    unit_of,
)

#: Labels of a pod that name its LocalQueue.
_QUEUE_NAMES = ("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/local-queue-name")
#: The annotation of a pod that names its Workload, and its label that names its group of pods.
_WORKLOAD_NAME = "kueue.x-k8s.io/workload"
_POD_GROUP = "kueue.x-k8s.io/pod-group-name"
_POD_GROUP_SIZE = "kueue.x-k8s.io/pod-group-total-count"
#: Fields of a spec that are read; others are noted where they say something.
_READ = frozenset(
    {"cohort", "cohortName", "parent", "parentName", "resourceGroups", "fairSharing"}
    | {"stopPolicy", "preemption", "queueingStrategy"}
)
#: The keys of the ConfigMap of Kueue's manager that hold its configuration.
_CONFIGURATIONS = ("controller_manager_config.yaml", "config.yaml")
#: The annotation of an elastic Workload that names the admitted one that it replaces.
_SLICE = "kueue.x-k8s.io/workload-slice-replacement-for"
#: Kinds of owners of Workloads: of jobs, whose pods name them as theirs, and of pods themselves.
_JOB = "Job"
_POD = "Pod"
#: Reasons of QuotaReserved of Workloads that wait in vain.
_REFUSALS = ("Inadmissible", "ExceedsMaxQuota")
#: The kinds of a quota, and their fields.
_KINDS = {"nominal": "nominalQuota", "borrowing": "borrowingLimit", "lending": "lendingLimit"}
#: The beginning of a pod's annotations that ask for a topology, and the constraint that they are.
_TOPOLOGY_ANNOTATION = "kueue.x-k8s.io/podset-"
_TOPOLOGY = "topology request"
#: Kinds of owners of pods that no object creates for which there is a Workload.
_CREATED_BY_PEOPLE = ("Deployment", "DaemonSet", "CronJob", "static", _POD)
#: Reasons of Evicted by which a Workload gets a new turn: when it was evicted.
_NEW_TURN = ("PodsReadyTimeout", "AdmissionCheck")
#: The constraint of a ClusterQueue whose first Workload stops those behind it.
_STRICT = "order of the queue (StrictFIFO)"
#: Stop policies by which nothing more starts.
_STOPPED = ("Hold", "HoldAndDrain")
#: Digits of a number of pods, at most.
_MOST_DIGITS = 9
#: The priority, the highest first, and since when.
_Turn = tuple[float, str, str]
#: Resource and flavor.
Column = tuple[str, str]
#: The amount that may be borrowed, by resource; None: no limit.
Limits = dict[str, Fraction | None]


class _Flavor(NamedTuple):
    """A flavor: the labels of its nodes, the taints that its tasks must bear, its tolerations.

    Tasks of the flavor get its tolerations besides their own.
    """

    labels: tuple[Requirement, ...] = ()
    taints: Taints = ()
    tolerations: tuple[Toleration, ...] = ()
    has_topology: bool = False


class _Usage(NamedTuple):
    """The amount of a resource and flavor that an admitted Workload uses."""

    resource: str
    flavor: str
    amount: Fraction


class _Admission(NamedTuple):
    """An admitted Workload: its ClusterQueue, its usage, and its pods.

    ``owner`` is its namespace and owner, whose pods may still be to be created; None where the pods
    themselves are what is admitted. ``flavors`` are those that its pod sets were assigned.
    """

    queue: str
    usage: list[_Usage]
    owner: tuple[str, str] | None
    pods: list[Pod]
    flavors: dict[str, list[str]]
    names: list[str]


class _Request(NamedTuple):
    """A Workload that is not admitted: its pods, and how many of each it starts with at least.

    All of these start at once or not at all. ``slice_of`` is the admitted Workload that it is to
    replace.
    """

    key: tuple[str, str]
    pods: list[Pod]
    least: list[int]
    slice_of: str = ""


class _QuotaQueue(NamedTuple):
    """A ClusterQueue or cohort: its parent, its weight, and its quotas by resource and flavor.

    ``groups`` are resources with the flavors that they share; ``weighted_share`` is that of its
    status, ``stopped`` its stop policy (empty: none), ``reclaims`` the policy by which it takes
    back what it lent, and ``says_weight`` and ``has_status`` whether it has a weight and a status;
    ``is_strict`` is whether the first of its Workloads stops those behind it.
    """

    parent: str
    weight: float
    quotas: dict[Column, Amounts]
    groups: list[tuple[list[str], list[str]]]
    weighted_share: float | None
    where: Where
    stopped: str = ""
    reclaims: str = ""
    says_weight: bool = False
    has_status: bool = False
    is_strict: bool = False

    def summed(self, kind: str) -> Limits:
        """Return amounts by resource, over flavors; None where one has no limit."""
        totals: Limits = {}
        for (resource, _), amounts in self.quotas.items():
            total = totals.get(resource, Fraction(0))
            amount = amounts.get(kind)
            totals[resource] = None if total is None or amount is None else total + amount
        return totals

    def reserved(self, owned: Fraction, column: Column) -> Fraction:
        """Return the amount that it keeps for itself of the amount that it owns."""
        lending = self.quotas.get(column, {}).get("lending")
        return Fraction(0) if lending is None else max(owned - lending, Fraction(0))

    @property
    def nominal(self) -> Amounts:
        """Nominal quotas by resource."""
        return {
            resource: amount
            for resource, amount in self.summed("nominal").items()
            if amount is not None
        }


class Kueue:
    """The objects of Kueue."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._note = notes.add
        self._queues: dict[str, _QuotaQueue] = {}
        self._cohorts: dict[str, _QuotaQueue] = {}
        self._local_queues: dict[tuple[str, str], str] = {}
        #: Decayed means of what LocalQueues use, by namespace and name.
        self._consumed: dict[tuple[str, str], Amounts] = {}
        self._queue_of_owner: dict[tuple[str, str], str] = {}
        #: Owners of Workloads that are no jobs, by namespace and name.
        self._owner_of_name: dict[tuple[str, str], str] = {}
        self._waiting: list[_Request] = []
        #: The LocalQueue and the turn in it of what waits, by namespace and name of the Workload, or
        #: owner of pods without one.
        self._turns: dict[tuple[str, str], tuple[tuple[str, str], _Turn]] = {}
        #: The largest amounts that ClusterQueues can have, by queue and column; filled once all is read.
        self._largest_amounts: dict[tuple[str, Column], Fraction] = {}
        self._paths: dict[str, str] = {}
        self._flavors: dict[str, _Flavor] = {}
        self._uncovered: dict[str, Floats] = {}
        self._ignored: set[str] = set()
        self._admissions: list[_Admission] = []
        #: Pods of each set of admitted Workloads, by namespace and name.
        self._admitted_counts: dict[tuple[str, str], list[int]] = {}
        self._admitted_workloads: set[tuple[str, str]] = set()
        #: Roots of the cohorts in which admitted Workloads have pods that do not run.
        self._roots_with_held_quota: set[str] = set()
        #: Stop policies of LocalQueues, and the Workload of each owner of pods, by namespace and name.
        self._stopped_local_queues: dict[tuple[str, str], str] = {}
        self._workload_of_owner: dict[tuple[str, str], str] = {}
        #: Whether the manager's configuration has fair sharing on; None where it is not in the dump.
        self._fair_sharing: bool | None = None
        self.kinds: dict[str, ReadEntry] = {
            "ClusterQueue": self._read_cluster_queue,
            "Cohort": self._read_cohort,
            "LocalQueue": self._read_local_queue,
            "ResourceFlavor": self._read_flavor,
            "Workload": self._read_workload,
        }

    def __bool__(self) -> bool:
        return bool(self._queues)

    def _read_cluster_queue(self, manifest: Record, file: str) -> None:
        self._queues[name_of(manifest)] = self._queue(manifest, file, ("cohort", "cohortName"))

    def _read_cohort(self, manifest: Record, file: str) -> None:
        self._cohorts[name_of(manifest)] = self._queue(manifest, file, ("parent", "parentName"))

    def _read_local_queue(self, manifest: Record, file: str) -> None:
        queue = value_at(manifest, "spec", "clusterQueue", kind=str)
        if not queue:
            raise EntryError("it names no ClusterQueue")
        key = namespace_of(manifest), name_of(manifest)
        self._local_queues[key] = queue
        policy = text_at(manifest, "spec", "stopPolicy")
        if policy in _STOPPED:
            self._stopped_local_queues[key] = policy
        consumed = mapping_at(
            manifest, "status", "fairSharing", "admissionFairSharingStatus", "consumedResources"
        )
        if consumed:
            self._consumed[key] = {name: quantity(value) for name, value in consumed.items()}

    def _read_flavor(self, manifest: Record, file: str) -> None:
        spec = mapping_at(manifest, "spec")
        pod_spec = {
            "nodeSelector": mapping_at(spec, "nodeLabels"),
            "tolerations": list_at(spec, "tolerations"),
        }
        place = place_of(pod_spec, False, (file, ""), self._notes)
        taints = taints_of({"taints": list_at(spec, "nodeTaints")})
        self._flavors[name_of(manifest)] = _Flavor(
            place.selector, taints, place.tolerations, bool(text_at(spec, "topologyName"))
        )

    def _queue(self, manifest: Record, file: str, parents: tuple[str, str]) -> _QuotaQueue:
        """Return a ClusterQueue or cohort; ``parents`` are the keys that may name its parent."""
        where = file, f"{manifest['kind']} {name_of(manifest)!r}"
        spec = mapping_at(manifest, "spec")
        for key, value in spec.items():
            if key not in _READ and value not in ({}, [], None, "None", ""):
                self._note(*where, f"spec.{key}", "left out")
        names = (value_at(spec, key, kind=str) for key in parents)
        parent = next(filter(None, names), "")
        printed_weight = value_at(
            spec, "fairSharing", "weight", kind=(str, int, float), default="1"
        )
        weight = float(quantity(printed_weight))

        quotas: dict[Column, Amounts] = {}
        groups: list[tuple[list[str], list[str]]] = []
        for group in list_at(spec, "resourceGroups"):
            flavors = list_at(group, "flavors")
            for flavor in flavors:
                for entry in list_at(flavor, "resources"):
                    amounts = _quota_amounts(entry)
                    quotas[text_at(entry, "name"), text_at(flavor, "name")] = amounts
            flavor_names = [text_at(flavor, "name") for flavor in flavors]
            resources = [resource for resource, flavor in quotas if flavor in flavor_names]
            groups.append((resources, flavor_names))

        share = value_at(manifest, "status", "fairSharing", "weightedShare", kind=(int, float))
        return _QuotaQueue(
            parent,
            positive_weight(weight, where, self._notes),
            quotas,
            groups,
            None if share is None else float(share),
            where,
            has_status=bool(manifest.get("status")),
            stopped=policy if (policy := text_at(spec, "stopPolicy")) in _STOPPED else "",
            reclaims=text_at(spec, "preemption", "reclaimWithinCohort"),
            says_weight="fairSharing" in spec,
            is_strict=text_at(spec, "queueingStrategy") == "StrictFIFO",
        )

    def read_configuration(self, manifest: Record) -> bool:
        """Read a ConfigMap; return whether it is that of Kueue's manager.

        Fair sharing is off unless the configuration switches it on: by ``fairSharing.enable``, or
        since ``v1beta2`` by the section itself.
        """
        texts = [text_at(manifest, "data", key) for key in _CONFIGURATIONS]
        configurations = [text for text in texts if "kueue.x-k8s.io" in text]
        if not configurations:
            return False
        configuration = yaml_at(configurations[0], "configuration")
        section = mapping_at(configuration, "fairSharing")
        by_default = bool(section) and text_at(configuration, "apiVersion").endswith("v1beta2")
        self._fair_sharing = value_at(section, "enable", kind=bool, default=by_default)
        return True

    def _read_workload(self, manifest: Record, file: str) -> None:
        name = name_of(manifest)
        namespace = namespace_of(manifest)
        kind, owner_name = owner_of(manifest)
        owner = f"{kind}/{owner_name}"
        where = file, f"Workload '{namespace}/{name}'"
        queue = text_at(manifest, "spec", "queueName")
        for entry in list_at(manifest, "metadata", "ownerReferences"):
            if text_at(entry, "kind") == _POD:  # a group of pods has several
                self._workload_of_owner[namespace, f"{_POD}/{text_at(entry, 'name')}"] = name
        self._queue_of_owner[namespace, owner] = queue
        if kind not in (_JOB, _POD):
            self._owner_of_name[namespace, owner_name] = owner
        self._workload_of_owner[namespace, owner] = name

        conditions = {
            text_at(entry, "type"): entry for entry in list_at(manifest, "status", "conditions")
        }
        if text_at(conditions.get("Finished", {}), "status") == "True":
            return
        gate = _workload_gate(manifest, conditions)

        reclaimable = {
            text_at(entry, "name"): count_at(entry, "count")
            for entry in list_at(manifest, "status", "reclaimablePods")
        }
        pods = []
        least = []
        for pod_set in list_at(manifest, "spec", "podSets"):
            pod_spec = mapping_at(pod_set, "template", "spec")
            demand, place = demand_and_place(pod_spec, False, where, self._notes)
            count = count_at(pod_set, "count", default=1)
            pod = Pod(
                file=file,
                name=name,
                namespace=namespace,
                owner=owner,
                demand=demand,
                place=place,
                node="",
                since=value_at(manifest, "metadata", "creationTimestamp", kind=str),
                labels={_QUEUE_NAMES[0]: queue},
                annotations={},
                scheduler="",
                tasks=count,
                gate=gate,
                priority=value_at(manifest, "spec", "priority", kind=int),
                message=_quota_message(conditions),
                left_out=(*constraints_left_out(pod_spec), *_topology(pod_set)),
                priority_class=text_at(pod_spec, "priorityClassName"),
            )
            pods.append(pod)
            least.append(count_at(pod_set, "minCount", default=count))

        admission = mapping_at(manifest, "status", "admission")
        if admission:  # it holds its quota, whether or not its pods exist already
            pods_owner = (namespace, owner) if kind != _POD else None
            self._admitted_workloads.add((namespace, name))
            pending = _pending_checks(manifest, conditions)
            names = [text_at(pod_set, "name") for pod_set in list_at(manifest, "spec", "podSets")]
            assignments = list_at(admission, "podSetAssignments")
            counts = {text_at(entry, "name"): entry for entry in assignments if "count" in entry}
            pods = [
                pod._replace(
                    gate=pending,
                    tasks=max(
                        count_at(counts.get(name), "count", default=pod.tasks)
                        - reclaimable.get(name, 0),
                        0,
                    ),
                )
                for pod, name in zip(pods, names, strict=True)
            ]
            self._admitted_counts[namespace, name] = [pod.tasks for pod in pods]
            cluster_queue = text_at(admission, "clusterQueue")
            usage = _admitted_usage(admission)
            flavors = {
                text_at(assignment, "name"): list(
                    map(str, mapping_at(assignment, "flavors").values())
                )
                for assignment in list_at(admission, "podSetAssignments")
            }
            admitted = _Admission(cluster_queue, usage, pods_owner, pods, flavors, names)
            self._admissions.append(admitted)
            return
        if _is_queued(manifest, conditions):
            priority = value_at(manifest, "spec", "priority", kind=int, default=0)
            turn = -float(priority), _queued_since(manifest, conditions), name
            self._turns[namespace, name] = (namespace, queue), turn
        if kind != _POD:
            slice_of = text_at(manifest, "metadata", "annotations", _SLICE)
            self._waiting.append(_Request((namespace, name), pods, least, slice_of))

    def labels_of(self, pod: Pod) -> Record:
        """Return the labels of a pod that name its queue."""
        return {key: pod.labels[key] for key in _QUEUE_NAMES if key in pod.labels}

    def waiting(self) -> Iterator[tuple[str, list[Pod], list[int]]]:
        """Yield name, pods and least counts of the Workloads that are not admitted.

        Pods are gated of which so many are more than their ClusterQueue can ever have. Where a queue
        is strict, its order counts against all but the first of its Workloads.
        """
        for key, pods, least, slice_of in self._waiting:
            # a new slice needs what it has more than the old one
            old_name = slice_of.rpartition("/")[2]
            old_counts = self._admitted_counts.get((key[0], old_name), [0] * len(pods))
            pods = [
                pod._replace(tasks=max(pod.tasks - old, 0))
                for pod, old in zip(pods, old_counts, strict=False)
            ]
            least = [max(count - old, 0) for count, old in zip(least, old_counts, strict=False)]
            gated = []
            for pod, count in zip(pods, least, strict=True):
                gate = pod.gate or self._excess(pod, count)
                gated.append(self._qualified(pod._replace(gate=gate), key))
            yield f"Workload {key[0]}/{key[1]}", gated, least

    def queue_up(self, pods: Iterable[Pod]) -> None:
        """Put pods that wait, and that no Workload of the dump stands for, in the order of their queues."""
        for pod in pods:
            key = self._key_of(pod)
            starts = pod.node or pod.gate or key in self._admitted_workloads
            if key not in self._turns and not starts:
                turn = -(pod.priority or 0.0), pod.since or "", pod.name
                self._turns[key] = (pod.namespace, self._local_queue_of(pod)), turn

    def _key_of(self, pod: Pod) -> tuple[str, str]:
        """Return namespace and name of a pod's Workload; its owner where the dump has none."""
        group = str(pod.annotations.get(_POD_GROUP, ""))
        owner = self.workload_owner_of(pod)
        itself = pod.namespace, f"{_POD}/{pod.name}"
        owners = [itself] if owner is None else [itself, owner]
        names = (self._workload_of_owner.get(key, "") for key in owners)
        return pod.namespace, group or next(filter(None, names), pod.owner)

    @cached_property
    def _first_in_queue(self) -> dict[str, tuple[str, str]]:
        """What is first in each ClusterQueue; for use when all that waits has its turn."""
        first: dict[str, tuple[str, str]] = {}
        for key, (local_queue, _) in sorted(self._turns.items(), key=lambda entry: entry[1][1]):
            first.setdefault(self._local_queues.get(local_queue, ""), key)
        return first

    def qualified(self, pod: Pod) -> Pod:
        """Return a pod that waits with the rules of its ClusterQueue that do not count here."""
        key = self._key_of(pod)
        return pod if key in self._admitted_workloads else self._qualified(pod, key)

    def _qualified(self, pod: Pod, key: tuple[str, str]) -> Pod:
        name = self._cluster_queue_of(pod, note=False)
        if name is None:
            return pod
        queue = self._queues[name]
        left_out = list(pod.left_out)
        if queue.is_strict and self._first_in_queue.get(name) != key:
            left_out.append(_STRICT)
        if self._root_of(name) in self._roots_with_held_quota:
            left_out.append(HELD_QUOTA)
        has_topology = any(self._flavors.get(f, _Flavor()).has_topology for _, f in queue.quotas)
        if has_topology or any(map(_is_topology, pod.annotations)):
            left_out.append(_TOPOLOGY)
        return pod._replace(left_out=tuple(dict.fromkeys(left_out)))

    def admitted(self, present: Mapping[tuple[str, str], Counter[Demand]]) -> Iterator[Pod]:
        """Yield the pods of admitted Workloads that are not in the dump.

        ``present`` counts the pods of the dump by namespace and owner of their Workload, and by
        demand.
        """
        for admission in self._admissions:
            if admission.owner is None:
                continue
            counts = present.get(admission.owner, Counter())
            remaining = sum(pod.tasks for pod in admission.pods) - counts.total()
            unmatched = counts.copy()
            for pod, name in zip(admission.pods, admission.names, strict=True):
                pod = self._on_flavors(pod, admission.flavors.get(name, []))
                matched = min(unmatched[pod.demand], pod.tasks)
                unmatched[pod.demand] -= matched
                missing = min(pod.tasks - matched, remaining)
                if missing > 0:
                    remaining -= missing
                    yield pod._replace(has_quota=True, tasks=missing)

    def _on_flavors(self, pod: Pod, flavors: list[str]) -> Pod:
        """Return a pod on the nodes of the flavors that it was assigned."""
        assert isinstance(pod.place, Place)
        labels = [line for flavor in flavors for line in self._labels(flavor)]
        selector = tuple(dict.fromkeys((*pod.place.selector, *labels)))
        return pod._replace(place=pod.place._replace(selector=selector))

    def hold_quota(self, pod: Pod) -> None:
        """Remember that a pod does not run though its Workload, if it has one, may be admitted."""
        queue = self._cluster_queue_of(pod, note=False)
        if queue is not None and self._key_of(pod) in self._admitted_workloads:
            self._roots_with_held_quota.add(self._root_of(queue))

    def _root_of(self, queue: str) -> str:
        """Return the name of the root above a ClusterQueue, itself without a cohort."""
        return self._path(queue).partition("/")[0]

    def workload_owner_of(self, pod: Pod) -> tuple[str, str] | None:
        """Return namespace and owner of a pod's Workload; None for none.

        Pods of a JobSet, an MPIJob or a RayJob are owned by objects that these create, and whose
        names begin with theirs; the Job that submits a RayJob has its very name.
        """
        key = pod.namespace, pod.owner
        if key in self._queue_of_owner:
            return key
        kind, _, name = pod.owner.partition("/")
        while name and kind not in _CREATED_BY_PEOPLE:
            if (pod.namespace, name) in self._owner_of_name:
                return pod.namespace, self._owner_of_name[pod.namespace, name]
            name = name.rpartition("-")[0]
        return None

    def annotations_of(self, pod: Pod) -> Record:
        """Return the annotations and labels of a pod that name its Workload or group."""
        texts = {**pod.labels, **pod.annotations}
        return {
            key: text
            for key, text in texts.items()
            if key in (_WORKLOAD_NAME, _POD_GROUP, _POD_GROUP_SIZE) or _is_topology(key)
        }

    def gang_of(self, pod: Pod) -> Gang | None:
        """Return the group of a pod, or the Workload of one that runs; else None."""
        group = str(pod.annotations.get(_POD_GROUP, ""))
        if group:
            size = str(pod.annotations.get(_POD_GROUP_SIZE, ""))
            least = (
                int(size) if size.isascii() and size.isdecimal() and len(size) < _MOST_DIGITS else 1
            )
            return Gang(f"pod group {pod.namespace}/{group}", least)
        workload = str(pod.annotations.get(_WORKLOAD_NAME, ""))
        owner = self.workload_owner_of(pod)
        workload = workload or ("" if owner is None else self._workload_of_owner[owner])
        if not workload or pod.owner.partition("/")[0] == "Pod" or not pod.node:
            return None
        return Gang(f"Workload {pod.namespace}/{workload}", 0)

    def queue_of(self, pod: Pod) -> str | None:
        """Return the path of a pod's queue, None where it is in none."""
        queue = self._cluster_queue_of(pod)
        return None if queue is None else self._path(queue)

    def lacks_queue(self, pod: Pod) -> bool:
        """Whether Kueue admits a pod, and the dump does not have its ClusterQueue."""
        is_managed = pod.waits_for_quota or bool(self._local_queue_of(pod))
        return is_managed and self._cluster_queue_of(pod, note=False) is None

    @property
    def orphan_count(self) -> int:
        """The Workloads of which the dump does not have the ClusterQueue, unless Kueue has none either."""
        waiting = [request.pods[0] for request in self._waiting if request.pods]
        admitted = [admission.queue not in self._queues for admission in self._admissions]
        return sum(self.lacks_queue(pod) and not pod.gate for pod in waiting) + sum(admitted)

    def _cluster_queue_of(self, pod: Pod, note: bool = True) -> str | None:
        """Return the ClusterQueue of a pod, None where it is in none; note missing queues."""
        local_queue = self._local_queue_of(pod)
        if not local_queue:
            return None
        queue = self._local_queues.get((pod.namespace, local_queue))
        if queue in self._queues:
            return queue
        if note:
            missing = f"LocalQueue {local_queue!r}" if queue is None else f"ClusterQueue {queue!r}"
            action = "it counts as one in no queue"
            self._note(*pod.where, f"{missing} is not in the dump", action)
        return None

    def placed(self, pod: Pod) -> Pod:
        """Return a pod on the nodes of its ClusterQueue's flavors.

        Resources that the queue does not cover are remembered for `bar`.
        """
        name = self._cluster_queue_of(pod, note=False)
        if name is None:
            return pod
        queue = self._queues[name]
        demanded = {resource for resource, _ in pod.demand}
        if not (pod.node or pod.gate or pod.has_quota):
            pod = pod._replace(gate=self._stopped(pod, name) or self._excess(pod, 1))

        covered = {PODS, *(resource for resource, _ in queue.quotas)}
        uncovered = {resource: 0.0 for resource, _ in pod.demand if resource not in covered}
        if uncovered:
            self._uncovered.setdefault(self._path(name), {}).update(uncovered)
            if pod.node:
                self._ignored |= set(uncovered)

        # One flavor of each group of resources that the pod asks for, in every combination that it bears.
        choices = [
            [self._flavors.get(flavor, _Flavor()) for flavor in flavors]
            for resources, flavors in queue.groups
            if demanded.intersection(resources)
        ]
        assert isinstance(pod.place, Place)
        places = []
        for flavors in product(*choices):
            taints = [taint for flavor in flavors for taint in flavor.taints]
            if not all(bears(taint, pod.place.tolerations) for taint in taints):
                continue
            place = pod.place
            for flavor in flavors:
                place = place._replace(
                    selector=(*place.selector, *flavor.labels),
                    tolerations=(*place.tolerations, *flavor.tolerations),
                )
            places.append(place)
        return pod._replace(place=places[0] if len(places) == 1 else AnyOf(tuple(places)))

    def _stopped(self, pod: Pod, name: str) -> str:
        """Return why nothing more starts in the queues of a pod; empty where it may."""
        policy = self._queues[name].stopped
        if policy:
            return f"ClusterQueue {name!r} is stopped (stopPolicy: {policy})"
        local_queue = self._local_queue_of(pod)
        policy = self._stopped_local_queues.get((pod.namespace, local_queue), "")
        return f"LocalQueue {local_queue!r} is stopped (stopPolicy: {policy})" if policy else ""

    def _local_queue_of(self, pod: Pod) -> str:
        """Return the LocalQueue that a pod or the Workload of its owner names; empty for none."""
        labels = (str(pod.labels[key]) for key in _QUEUE_NAMES if pod.labels.get(key))
        owner = self.workload_owner_of(pod)
        return next(labels, "") or ("" if owner is None else self._queue_of_owner[owner])

    def _excess(self, pod: Pod, count: int) -> str:
        """Return of which resource so many pods need more than their ClusterQueue can ever have.

        The text is empty where some flavor of each resource could have room for them.
        """
        name = self._cluster_queue_of(pod, note=False)
        if name is None:
            return ""
        queue = self._queues[name]
        for resource, demand in pod.demand:
            flavors = [flavor for listed, flavor in queue.quotas if listed == resource]
            if not flavors or resource == PODS:
                continue
            columns = [(resource, flavor) for flavor in flavors]
            largest = max(
                amount(resource, self._largest_amount_of(name, column)) for column in columns
            )
            request = count * demand
            if request > largest:
                unit = unit_of(resource)
                request_text = quantity_text(request, resource, unit)
                largest_text = quantity_text(largest, resource, unit)
                return (
                    f"{request_text} at once, more than the {largest_text} that "
                    f"ClusterQueue {name!r} can ever have"
                )
        return ""

    def _largest_amount_of(self, name: str, column: Column) -> Fraction:
        """Return the most that a ClusterQueue can ever have of a resource and flavor.

        It is computed once: thousands of pods ask for the same queue, and it sums over all queues.
        """
        key = name, column
        if key not in self._largest_amounts:
            queue = self._queues[name]
            nominal = queue.quotas[column]["nominal"]
            largest = self._largest_amount(queue, nominal, column, ()) if queue.parent else nominal
            self._largest_amounts[key] = largest
        return self._largest_amounts[key]

    def _largest_amount(
        self, queue: _QuotaQueue, owned: Fraction, column: Column, below: tuple[str, ...]
    ) -> Fraction:
        """Return the largest amount that a queue with a parent can have: its own, and borrowed.

        It is A of ``models/trees/quotas.py``, of one column and in fractions, before there is an
        Instance. ``owned`` is S of the queue, ``below`` the cohorts below it; a cohort that is
        above itself counts as a root.
        """
        cohort = self._cohorts.get(queue.parent)
        available = self._owned(queue.parent, column, ())  # to the parent
        is_root = cohort is None or not cohort.parent or cohort.parent in (*below, queue.parent)
        if cohort is not None and not is_root:
            available = self._largest_amount(cohort, available, column, (*below, queue.parent))

        largest = queue.reserved(owned, column) + available
        borrowing = queue.quotas.get(column, {}).get("borrowing")
        return largest if borrowing is None else min(largest, owned + borrowing)

    def _owned(self, cohort: str, column: Column, above: tuple[str, ...]) -> Fraction:
        """Return a cohort's own amount and the amounts that those below it lend (S).

        ``above`` are the cohorts above it, which do not count below it as well.
        """
        total = Fraction(0)
        if cohort in self._cohorts:
            total += self._cohorts[cohort].quotas.get(column, {}).get("nominal", Fraction(0))
        for name, child in self._cohorts.items():
            if child.parent == cohort and name not in (*above, cohort):
                owned = self._owned(name, column, (*above, cohort))
                total += owned - child.reserved(owned, column)
        for queue in self._queues.values():
            if queue.parent == cohort:
                owned = queue.quotas.get(column, {}).get("nominal", Fraction(0))
                total += owned - queue.reserved(owned, column)
        return total

    def _path(self, name: str) -> str:
        """Return the path of a ClusterQueue: its cohorts from the root down, and its name."""
        if name not in self._paths:
            ancestors = self._above(self._queues[name].parent)
            queues = chain(self._queues.values(), self._cohorts.values())
            is_cohort = name in self._cohorts or any(queue.parent == name for queue in queues)
            step = name_in_path(name)
            if not ancestors and is_cohort:
                step += " (ClusterQueue)"
            self._paths[name] = "/".join([*ancestors, step])
        return self._paths[name]

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
        self._add_flavor_labels(cluster)
        self._put_usage(cluster)
        self._put_past(cluster)
        self._put_rules(cluster)

        nominal_below: dict[str, Amounts] = {}  # of each cohort, with its own
        borrowing: dict[str, Limits] = {}  # of each cohort below another
        for name, cohort in self._cohorts.items():
            ancestors = self._above(cohort.parent)
            path = "/".join([*ancestors, name_in_path(name)])
            self._put_queue(cluster, path, cohort)
            if cohort.parent and cohort.quotas:
                borrowing[path] = cohort.summed("borrowing")
            for ancestor in fairlp.queues.lineage(path)[1 : len(ancestors) + 2]:
                add_amounts(nominal_below.setdefault(ancestor, {}), cohort.nominal)
        for name, queue in self._queues.items():
            ancestors = self._above(queue.parent)
            path = self._path(name)
            self._put_queue(cluster, path, queue)
            row = cluster.queue(path)
            row["guarantee"] = in_units(queue.nominal)
            row["cap"] = in_units(_largest_use(queue, in_cohort=bool(ancestors)))
            for ancestor in fairlp.queues.lineage(path)[1 : len(ancestors) + 1]:
                add_amounts(nominal_below.setdefault(ancestor, {}), queue.nominal)

        # A cohort may use the quotas below it and borrow within its limit; no cohort lends to a root.
        queue_paths = self._paths.values()
        for path, total in nominal_below.items():
            if path in borrowing:
                cluster.queue(path)["cap"] = {
                    resource: amount(resource, total[resource] + limit)
                    for resource, limit in borrowing[path].items()
                    if limit is not None
                }
            if "/" not in path and path not in queue_paths:
                cluster.queue(path)["cap"] = in_units(total)

    def _put_rules(self, cluster: Cluster) -> None:
        """Put on a cluster whether what is lent is shared fairly, and who gives way to whom."""
        if not self._queues:
            return
        queues = self._queues.values()
        is_seen = any(queue.says_weight or queue.weighted_share is not None for queue in queues)
        has_status = any(queue.has_status for queue in queues)
        if self._fair_sharing is False:
            cluster.no_fair_sharing = (
                "Kueue's fair sharing is off in the configuration of its manager"
            )
        elif self._fair_sharing is None and not is_seen and has_status:
            cluster.no_fair_sharing = (
                "Kueue's fair sharing is off (its default; the queues have no weights and no weighted "
                "shares, which they have where it is on)"
            )
        names_of = {
            policy: ", ".join(
                name for name, queue in self._queues.items() if queue.reclaims == policy
            )
            for policy in ("Never", "LowerPriority")
        }
        if any(queue.reclaims for queue in queues):
            exceptions = "; ".join(f"{policy} for {n}" for policy, n in names_of.items() if n)
            cluster.preemption = (
                "Kueue takes back what a queue lent as its reclaimWithinCohort says"
                + (f" ({exceptions})" if exceptions else "")
            )

    def _put_queue(self, cluster: Cluster, path: str, queue: _QuotaQueue) -> None:
        """Put weight and quotas of a queue or cohort on its row; a root borrows nothing."""
        row = cluster.queue(path)
        row["weight"] = queue.weight
        for (resource, flavor), amounts in queue.quotas.items():
            column = self._column(resource, flavor)
            for kind in _KINDS:
                quotas = row.setdefault(kind, {})
                quota = amounts.get(kind)
                if quota is not None:
                    quotas[column] = amount(resource, quota)
                elif kind != "nominal":
                    quotas[column] = math.inf

        root = cluster.queue(path.split("/")[0])
        for column in row.get("nominal", {}):
            root.setdefault("nominal", {}).setdefault(column, 0.0)
            for kind in ("borrowing", "lending"):
                root.setdefault(kind, {})[column] = 0.0
        if queue.weighted_share is not None:
            cluster.share_figures[path] = {"told": queue.weighted_share}

    def _column(self, resource: str, flavor: str) -> str:
        """Return the column of a resource and flavor, with a condition on the flavor's nodes.

        The condition of flavors with equal labels also has the flavor's name, in a comparison that
        holds everywhere.
        """
        lines = self._labels(flavor)
        labels = {line.key: line.values[0] for line in lines}
        condition = condition_text(labels, f"flavor {flavor!r}")
        if self._flavors_of_labels[lines] > 1:
            name = repr(flavor)
            condition = " and ".join(filter(None, [condition, f"{name} == {name}"]))
        return f"{resource}{fairlp.queues.AT}{condition}" if condition else resource

    def _labels(self, flavor: str) -> tuple[Requirement, ...]:
        """Return the labels of a flavor's nodes."""
        return self._flavors.get(flavor, _Flavor()).labels

    @cached_property
    def _flavors_of_labels(self) -> Counter[tuple[Requirement, ...]]:
        """How many flavors of quotas have these labels; for use when all objects are read."""
        queues = chain(self._queues.values(), self._cohorts.values())
        flavors = {flavor for queue in queues for _, flavor in queue.quotas}
        return Counter(map(self._labels, flavors))

    def _add_flavor_labels(self, cluster: Cluster) -> None:
        """Add labels of flavors that no node has to the first node, without a value.

        Conditions of quotas may name only attributes that nodes have.
        """
        node_labels = {key for node in cluster.nodes.values() for key in node.attributes}
        flavor_labels = [line.key for flavor in self._flavors.values() for line in flavor.labels]
        missing = {key: None for key in flavor_labels if key not in node_labels}
        for name, node in list(cluster.nodes.items())[:1]:
            cluster.nodes[name] = replace(node, attributes={**node.attributes, **missing})

    def _put_usage(self, cluster: Cluster) -> None:
        """Put the usage of admitted Workloads on the queues."""
        for admission in self._admissions:
            if admission.queue not in self._queues:
                continue
            total = cluster.admitted.setdefault(self._path(admission.queue), {})
            for usage in admission.usage:
                column = self._column(usage.resource, usage.flavor)
                add_amounts(total, {column: amount(usage.resource, usage.amount)})

    def _put_past(self, cluster: Cluster) -> None:
        """Put what LocalQueues have consumed on namespaces in ClusterQueues.

        Kueue prints means, in which the past fades by half in a half-life. So an amount is 1/ln 2 of
        itself, times half-lives.
        """
        for (namespace, name), consumed in self._consumed.items():
            queue = self._local_queues[namespace, name]
            if queue not in self._queues:
                continue
            total = cluster.past.setdefault((self._path(queue), namespace), {})
            for resource, mean in consumed.items():
                add_amounts(total, {resource: amount(resource, mean) / math.log(2)})

    def bar(self, cluster: Cluster) -> None:
        """Put caps of 0 on the resources that ClusterQueues do not cover.

        A resource that pods of such a queue run with all the same has no cap.
        """
        for resource in sorted(self._ignored):
            message = "pods run with it in ClusterQueues that do not cover it"
            action = "no quota counts it there: so Kueue is configured"
            self._note("", f"resource {resource!r}", message, action)
        for path, caps in self._uncovered.items():
            barred = {
                resource: cap for resource, cap in caps.items() if resource not in self._ignored
            }
            cluster.queue(path).setdefault("cap", {}).update(barred)


def _quota_amounts(entry: Record) -> Amounts:
    """Return the quotas of a resource of a flavor, by kind; a kind without a limit is absent."""
    amounts: Amounts = {"nominal": Fraction(0)}
    for kind, key in _KINDS.items():
        value = value_at(entry, key, kind=(str, int, float))
        if value is not None:
            amounts[kind] = quantity(value)
    return amounts


def _is_queued(manifest: Record, conditions: dict[str, Record]) -> bool:
    """Whether a Workload has a turn in its queue: it is active, and is not requeued later."""
    is_active = value_at(manifest, "spec", "active", kind=bool, default=True)
    return is_active and text_at(conditions.get("Requeued", {}), "status") != "False"


def _queued_since(manifest: Record, conditions: dict[str, Record]) -> str:
    """Return since when a Workload has its turn: since it was created, or evicted for what it waits."""
    evicted = conditions.get("Evicted", {})
    if text_at(evicted, "status") == "True" and text_at(evicted, "reason") in _NEW_TURN:
        return text_at(evicted, "lastTransitionTime")
    return text_at(manifest, "metadata", "creationTimestamp")


def _workload_gate(manifest: Record, conditions: dict[str, Record]) -> str:
    """Return why a Workload may not run even with room for it; empty where it may."""
    if value_at(manifest, "spec", "active", kind=bool, default=True) is False:
        return "it is not active"
    reserved = conditions.get("QuotaReserved", {})
    if text_at(reserved, "reason") in _REFUSALS:
        return text_at(reserved, "message")
    if text_at(conditions.get("Requeued", {}), "status") == "False":
        time = text_at(manifest, "status", "requeueState", "requeueAt")
        message = text_at(conditions["Requeued"], "message")
        return f"it is requeued{f', at {time}' if time else ''}{f': {message}' if message else ''}"
    return ""


def _pending_checks(manifest: Record, conditions: dict[str, Record]) -> str:
    """Return the admission checks that a Workload with quota waits for; empty for none."""
    if text_at(conditions.get("Admitted", {}), "status") == "True":
        return ""
    checks = list_at(manifest, "status", "admissionChecks")
    pending = [check for check in checks if text_at(check, "state") not in ("Ready", "")]
    return ", ".join(
        f"admission check {text_at(check, 'name')} is {text_at(check, 'state')}"
        for check in pending
    )


def _topology(pod_set: Record) -> tuple[str, ...]:
    """Return the constraint of pods that are placed by the topology of nodes; empty for none."""
    return (_TOPOLOGY,) if mapping_at(pod_set, "topologyRequest") else ()


def _is_topology(annotation: str) -> bool:
    """Whether an annotation of a pod asks for a topology."""
    return annotation.startswith(_TOPOLOGY_ANNOTATION) and annotation.endswith("-topology")


def _quota_message(conditions: dict[str, Record]) -> str:
    """Return what Kueue says of a Workload that has no quota yet."""
    reserved = conditions.get("QuotaReserved", {})
    return "" if text_at(reserved, "status") == "True" else text_at(reserved, "message")


def _admitted_usage(admission: Record) -> list[_Usage]:
    """Return the usage of an admitted Workload by resource and flavor."""
    usage = []
    for assignment in list_at(admission, "podSetAssignments"):
        flavors = mapping_at(assignment, "flavors")
        for resource, value in mapping_at(assignment, "resourceUsage").items():
            if resource in flavors:
                usage.append(_Usage(resource, str(flavors[resource]), quantity(value)))
    return usage


def _largest_use(queue: _QuotaQueue, in_cohort: bool) -> Amounts:
    """Return the cap of a ClusterQueue: its quota, and what it may borrow in a cohort."""
    if not in_cohort:
        return queue.nominal
    borrowing = queue.summed("borrowing")
    caps: Amounts = {}
    for resource, nominal in queue.nominal.items():
        limit = borrowing[resource]
        if limit is not None:
            caps[resource] = nominal + limit
    return caps
