"""Kueue: cohorts and ClusterQueues as queues with quotas; Workloads that are not admitted wait."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, product
from typing import Any, NamedTuple

import fairlp
from fairlp.toolkit import condition_text, quantity as quantity_text

from .cluster import (
    Amounts,
    Cluster,
    Demand,
    EntryError,
    Key,
    Names,
    Notes,
    ReadEntry,
    Record,
    Table,
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
    conditions_of,
    constraints_left_out,
    demand_and_place,
    in_units,
    key_of,
    name_of,
    owner_of,
    place_of,
    quantity,
    since_of,
    taints_of,
    unit_of,
)

#: The group of Kueue's objects.
_KUEUE = "kueue.x-k8s.io"
#: Labels of a pod that name its LocalQueue.
_QUEUE_NAMES = ("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/local-queue-name")
#: The annotation of a pod that names its Workload, and its label that names its group of pods.
_WORKLOAD_NAME = "kueue.x-k8s.io/workload"
_POD_GROUP = "kueue.x-k8s.io/pod-group-name"
_POD_GROUP_SIZE = "kueue.x-k8s.io/pod-group-total-count"
#: Labels of pods that Kueue manages.
_MANAGED = ("kueue.x-k8s.io/managed", "kueue.x-k8s.io/podset")
#: Annotations of a pod that ask for a topology, and the constraint that they are.
_TOPOLOGIES = tuple(
    f"kueue.x-k8s.io/podset-{kind}-topology"
    for kind in ("required", "preferred", "unconstrained", "slice-required")
)
_TOPOLOGY = "topology request"
#: Fields of a spec that are read; others are noted where they say something.
_PARENTS = ("cohort", "cohortName", "parent", "parentName")
_READ = frozenset({*_PARENTS, "resourceGroups", "fairSharing", "stopPolicy", "queueingStrategy"})
#: The keys of the ConfigMap of Kueue's manager that hold its configuration.
_CONFIGURATIONS = ("controller_manager_config.yaml", "config.yaml")
#: The annotation of an elastic Workload that names the admitted one that it replaces.
_SLICE = "kueue.x-k8s.io/workload-slice-replacement-for"
#: Kinds of owners of Workloads: of jobs, whose pods name them as theirs, and of pods themselves.
_JOB = "Job"
_POD = "Pod"
#: Kinds of owners of pods that no object creates for which there is a Workload.
_CREATED_BY_PEOPLE = ("Deployment", "DaemonSet", "CronJob", "static", _POD)
#: Reasons of Evicted by which a Workload gets a new turn: when it was evicted.
_NEW_TURN = ("PodsReadyTimeout", "AdmissionCheck")
#: States of an admission check by which a Workload loses its quota.
_FAILED_CHECKS = ("Retry", "Rejected")
#: Reasons of QuotaReserved of Workloads that wait in vain.
_REFUSALS = ("Inadmissible", "ExceedsMaxQuota")
#: Words of Kueue where a flavor can never have so much, and where another could have it later.
_TOO_LARGE = "> maximum capacity"
_MAY_FIT = "unused quota"
#: The kinds of a quota, and their fields.
_KINDS = {"nominal": "nominalQuota", "borrowing": "borrowingLimit", "lending": "lendingLimit"}
#: The constraint of a ClusterQueue whose first Workload stops those behind it.
_STRICT = "order of the queue (StrictFIFO)"
#: Stop policies by which nothing more starts.
_STOPPED = ("Hold", "HoldAndDrain")
#: A number of pods.
_COUNT = re.compile("[0-9]{1,8}")
#: The priority, the highest first, since when, and the name.
_Turn = tuple[float, str, str]
#: Resource and flavor.
Column = Key


class _Flavor(NamedTuple):
    """A flavor: the labels of its nodes, the taints that its tasks must bear, its tolerations.

    Tasks of the flavor get its tolerations besides their own.
    """

    labels: tuple[Requirement, ...] = ()
    taints: Taints = ()
    tolerations: tuple[Toleration, ...] = ()
    has_topology: bool = False


class _Workload(NamedTuple):
    """A Workload: its pods by set, and how many of each it starts with at least, all at once.

    ``slice_of`` is the admitted Workload that it is to replace. ``queue`` is the ClusterQueue that admitted it (empty:
    none has), with the flavors of each set. ``is_of_pods``: pods themselves are what is
    admitted, and no more are created.
    """

    pods: list[Pod]
    least: list[int]
    is_of_pods: bool
    slice_of: str
    queue: str
    flavors: list[Names]


class _LocalQueue(NamedTuple):
    """A LocalQueue: its ClusterQueue, and its stop policy."""

    queue: str
    stopped: str


class _QuotaQueue(NamedTuple):
    """A ClusterQueue or cohort: its parent, its weight, and its quotas by resource and flavor.

    ``groups`` are resources with the flavors that they share; ``stopped`` is its stop policy (empty:
    none), ``has_status`` and ``is_shared_fairly`` are whether it has a status, and a weight or a
    share, and ``is_strict`` whether the first of its Workloads stops those behind it.
    """

    parent: str
    weight: float
    quotas: dict[Column, Amounts]
    groups: list[tuple[Names, Names]]
    stopped: str = ""
    is_shared_fairly: bool = False
    has_status: bool = False
    is_strict: bool = False

    def totals(self, *kinds: str) -> Amounts:
        """Return amounts by resource, over flavors; a resource without such a limit is absent."""
        totals: Amounts = {}
        unlimited = set()
        for (resource, _), amounts in self.quotas.items():
            if amounts.keys() >= {*kinds}:
                add_amounts(totals, {resource: sum(amounts[kind] for kind in kinds)})
            else:
                unlimited.add(resource)
        return {resource: total for resource, total in totals.items() if resource not in unlimited}


class Kueue:
    """The objects of Kueue."""

    def __init__(self, notes: Notes) -> None:
        self._note = notes.add
        self._queues: dict[str, _QuotaQueue] = {}
        self._cohorts: dict[str, _QuotaQueue] = {}
        self._local_queues: dict[Key, _LocalQueue] = {}
        self._flavors: dict[str, _Flavor] = defaultdict(_Flavor)
        self._workloads: dict[Key, _Workload] = {}
        #: The Workload of owners by namespace, kind and name (no kind: any but Jobs and pods), and the
        #: LocalQueue of each.
        self._workload_of: dict[Key, Key] = {}
        self._local_queue_of_workload: dict[Key, str] = {}
        #: Turns of Workloads and of pods without one, with namespace and name or owner, and LocalQueue.
        self._turns: list[tuple[_Turn, Key, str]] = []
        self._paths: dict[str, str] = {}
        #: The most that queues may use, by path.
        self._caps: Table = {}
        #: Resources that no quota counts: pods run with them in queues that do not cover them.
        self._ignored = {PODS}
        #: Roots of the cohorts in which admitted Workloads have pods that do not run.
        self._roots_with_held_quota: set[str] = set()
        #: Whether the manager's configuration has fair sharing on; None where it is not in the dump.
        self._fair_sharing: bool | None = None
        self.kinds: dict[Key, ReadEntry] = {
            (_KUEUE, "ClusterQueue"): partial(self._read_queue, self._queues),
            (_KUEUE, "Cohort"): partial(self._read_queue, self._cohorts),
            (_KUEUE, "LocalQueue"): self._read_local_queue,
            (_KUEUE, "ResourceFlavor"): self._read_flavor,
            (_KUEUE, "Workload"): self._read_workload,
        }

    def __bool__(self) -> bool:
        return bool(self._queues)

    def _read_local_queue(self, manifest: Record, file: str) -> None:
        queue = value_at(manifest, "spec", "clusterQueue", kind=str)
        if not queue:
            raise EntryError("it names no ClusterQueue")
        if mapping_at(manifest, "status", "fairSharing", "admissionFairSharingStatus"):
            place = f"LocalQueue {name_of(manifest)!r}"
            self._note(file, place, "it counts past use", "that does not count in what is fair now")
        stopped = _stop_policy(mapping_at(manifest, "spec"))
        self._local_queues[key_of(manifest)] = _LocalQueue(queue, stopped)

    def _read_flavor(self, manifest: Record, file: str) -> None:
        spec = mapping_at(manifest, "spec")
        place = place_of(
            {
                "nodeSelector": mapping_at(spec, "nodeLabels"),
                "tolerations": list_at(spec, "tolerations"),
            },
            False,
            partial(self._note, file, ""),
        )
        self._flavors[name_of(manifest)] = _Flavor(
            place.selector,
            taints_of({"taints": list_at(spec, "nodeTaints")}),
            place.tolerations,
            bool(text_at(spec, "topologyName")),
        )

    def _read_queue(self, queues: dict[str, _QuotaQueue], manifest: Record, file: str) -> None:
        """Put a ClusterQueue or cohort among the others of its kind."""
        note = partial(self._note, file, f"{manifest['kind']} {name_of(manifest)!r}")
        spec = mapping_at(manifest, "spec")
        for key, value in spec.items():
            if key not in _READ and value not in ({}, [], None, "None", ""):
                note(f"spec.{key}")
        parent = next(filter(None, (value_at(spec, key, kind=str) for key in _PARENTS)), "")
        weight = float(
            quantity(value_at(spec, "fairSharing", "weight", kind=(str, int, float), default="1"))
        )

        quotas: dict[Column, Amounts] = {}
        groups: list[tuple[Names, Names]] = []
        for group in list_at(spec, "resourceGroups"):
            flavors = list_at(group, "flavors")
            for flavor in flavors:
                for entry in list_at(flavor, "resources"):
                    quotas[text_at(entry, "name"), text_at(flavor, "name")] = _quota_amounts(entry)
            flavor_names = [text_at(flavor, "name") for flavor in flavors]
            groups.append(
                ([resource for resource, flavor in quotas if flavor in flavor_names], flavor_names)
            )

        queues[name_of(manifest)] = _QuotaQueue(
            parent,
            positive_weight(weight, note),
            quotas,
            groups,
            has_status=bool(manifest.get("status")),
            stopped=_stop_policy(spec),
            is_shared_fairly="fairSharing" in {**spec, **mapping_at(manifest, "status")},
            is_strict=text_at(spec, "queueingStrategy") == "StrictFIFO",
        )

    def read_configuration(self, manifest: Record) -> bool:
        """Read a ConfigMap; return whether it is that of Kueue's manager.

        Fair sharing is off unless the configuration switches it on: by ``fairSharing.enable``, or
        since ``v1beta2`` by the section itself.
        """
        texts = [text_at(manifest, "data", key) for key in _CONFIGURATIONS]
        configurations = [text for text in texts if _KUEUE in text]
        if not configurations:
            return False
        configuration = yaml_at(configurations[0], "configuration")
        section = mapping_at(configuration, "fairSharing")
        by_default = bool(section) and text_at(configuration, "apiVersion").endswith("v1beta2")
        self._fair_sharing = value_at(section, "enable", kind=bool, default=by_default)
        return True

    def _read_workload(self, manifest: Record, file: str) -> None:
        namespace, name = key = key_of(manifest)
        spec, status = mapping_at(manifest, "spec"), mapping_at(manifest, "status")
        queue = text_at(spec, "queueName")
        self._local_queue_of_workload[key] = queue
        kind, owner = owner_of(manifest)
        owners = [f"{kind}/{owner}"]
        if kind == _POD:  # a group of pods has several
            names = (text_at(e, "name") for e in list_at(manifest, "metadata", "ownerReferences"))
            owners += [f"{_POD}/{pod_name}" for pod_name in names]
        elif kind != _JOB:
            owners.append(f"/{owner}")
        self._workload_of |= {(namespace, owner): key for owner in owners}

        conditions = conditions_of(manifest)
        states = {kind: text_at(condition, "status") for kind, condition in conditions.items()}
        if states.get("Finished") == "True":
            return
        admission = mapping_at(status, "admission")
        since = since_of(manifest)
        priority = value_at(spec, "priority", kind=int)
        reserved = conditions.get("QuotaReserved")
        message = "" if admission else text_at(reserved, "message")

        # Why it may not run even with room for it; with quota, whether or not its pods exist already
        is_active = value_at(spec, "active", kind=bool, default=True)
        has_turn = is_active and states.get("Requeued") != "False"
        gate = _checks(status, _FAILED_CHECKS)
        if admission:
            is_admitted = states.get("Admitted") == "True"
            gate = "" if is_admitted else _checks(status, ("Pending", *_FAILED_CHECKS))
        elif not is_active:
            gate = "it is not active"
        elif text_at(reserved, "reason") in _REFUSALS or (
            _TOO_LARGE in message and _MAY_FIT not in message
        ):
            gate = message
        elif not has_turn:
            time = text_at(status, "requeueState", "requeueAt")
            gate = gate or f"it is requeued, {f'at {time}' if time else 'later'}"
        if has_turn and not admission:
            time = since or ""
            evicted = conditions.get("Evicted")
            if states.get("Evicted") == "True" and text_at(evicted, "reason") in _NEW_TURN:
                time = text_at(evicted, "lastTransitionTime")
            self._turns.append(((-float(priority or 0), time, name), key, queue))
        common = Pod(
            file,
            name,
            namespace,
            owners[0],
            since=since,
            workload=key,
            gate=gate,
            priority=priority,
            message=message,
        )
        pods = []
        least = []
        flavors = []
        assignments = _by_name(list_at(admission, "podSetAssignments"))
        reclaimable = _by_name(list_at(status, "reclaimablePods"))
        note = partial(self._note, file, f"Workload '{namespace}/{name}'")
        for pod_set in list_at(spec, "podSets"):
            pod_spec = mapping_at(pod_set, "template", "spec")
            demand, place = demand_and_place(pod_spec, False, note)
            count = count_at(pod_set, "count", default=1)
            least.append(count_at(pod_set, "minCount", default=count))
            set_name = text_at(pod_set, "name")
            assignment = assignments.get(set_name)
            if admission:
                count = count_at(assignment, "count", default=count)
                count = max(count - count_at(reclaimable.get(set_name), "count"), 0)
            flavors.append([str(flavor) for flavor in mapping_at(assignment, "flavors").values()])
            topology = (_TOPOLOGY,) if mapping_at(pod_set, "topologyRequest") else ()
            pod = common._replace(
                demand=demand,
                place=place,
                tasks=count,
                left_out=(*constraints_left_out(pod_spec), *topology),
            )
            pods.append(pod)

        self._workloads[key] = _Workload(
            pods,
            least,
            kind == _POD,
            text_at(manifest, "metadata", "annotations", _SLICE),
            text_at(admission, "clusterQueue"),
            flavors,
        )

    def waiting(self) -> Iterator[tuple[str, list[Pod], list[int]]]:
        """Yield name, pods and least counts of the Workloads that are not admitted.

        Pods are gated of which so many are more than their ClusterQueue can ever have.
        """
        for (namespace, name), workload in self._workloads.items():
            if workload.queue or workload.is_of_pods:
                continue
            # a new slice needs what it has more than the old one
            old = self._workloads.get((namespace, workload.slice_of.rpartition("/")[2]))
            old_counts = [0] * len(workload.pods)
            if old is not None and old.queue:
                old_counts = [pod.tasks for pod in old.pods]
            pods = []
            least = []
            for pod, count, before in zip(workload.pods, workload.least, old_counts, strict=False):
                least.append(max(count - before, 0))
                tasks = max(pod.tasks - before, 0)
                gate = pod.gate or self._excess(pod, least[-1])
                pods.append(self.qualified(pod._replace(tasks=tasks, gate=gate)))
            yield f"Workload {namespace}/{name}", pods, least

    def queue_up(self, pods: Iterable[Pod]) -> None:
        """Put pods that wait, and that no Workload of the dump stands for, in the order of their queues."""
        for pod in pods:
            if pod.workload not in self._workloads and not (pod.node or pod.gate):
                assert pod.workload is not None
                turn = -(pod.priority or 0.0), pod.since or "", pod.name
                self._turns.append((turn, pod.workload, pod.local_queue))

    @cached_property
    def _first_in_queue(self) -> dict[str, Key]:
        """What is first in each ClusterQueue; for use when all that waits has its turn."""
        first: dict[str, Key] = {}
        for _, key, local_queue in sorted(self._turns):
            of_name = self._local_queues.get((key[0], local_queue))
            first.setdefault(of_name.queue if of_name else "", key)
        return first

    def qualified(self, pod: Pod) -> Pod:
        """Return a pod that waits with the rules of its ClusterQueue that do not count here."""
        if not pod.queue or self._is_admitted(pod):
            return pod
        queue = self._queues[pod.queue]
        left_out = list(pod.left_out)
        if queue.is_strict and self._first_in_queue.get(pod.queue) != pod.workload:
            left_out.append(_STRICT)
        if self._root_of(pod.queue) in self._roots_with_held_quota:
            left_out.append(HELD_QUOTA)
        flavors = (self._flavors[flavor] for _, flavor in queue.quotas)
        asks_for_topology = not pod.marks.keys().isdisjoint(_TOPOLOGIES)
        if asks_for_topology or any(flavor.has_topology for flavor in flavors):
            left_out.append(_TOPOLOGY)
        return pod._replace(left_out=tuple(dict.fromkeys(left_out)))

    def _is_admitted(self, pod: Pod) -> bool:
        return pod.workload in self._workloads and bool(self._workloads[pod.workload].queue)

    def admitted(self, pods: Iterable[Pod]) -> Iterator[Pod]:
        """Yield the pods of admitted Workloads that are not among these pods of the dump."""
        present: dict[Key | None, Counter[Demand]] = defaultdict(Counter)
        for pod in pods:
            present[pod.workload][pod.demand] += 1
        for key, workload in self._workloads.items():
            if not workload.queue or workload.is_of_pods:
                continue
            unmatched = present[key]
            remaining = sum(pod.tasks for pod in workload.pods) - unmatched.total()
            for pod, flavors in zip(workload.pods, workload.flavors, strict=True):
                matched = min(unmatched[pod.demand], pod.tasks)
                unmatched[pod.demand] -= matched
                missing = min(pod.tasks - matched, remaining)
                if missing > 0:
                    remaining -= missing
                    labels = [line for flavor in flavors for line in self._flavors[flavor].labels]
                    assert isinstance(pod.place, Place)
                    place = pod.place._replace(
                        selector=tuple(dict.fromkeys((*pod.place.selector, *labels)))
                    )
                    yield pod._replace(has_quota=True, tasks=missing, place=place)

    def hold_quota(self, pod: Pod) -> None:
        """Remember that a pod does not run though its Workload, if it has one, may be admitted."""
        if pod.queue and self._is_admitted(pod):
            self._roots_with_held_quota.add(self._root_of(pod.queue))

    def _root_of(self, queue: str) -> str:
        """Return the name of the root above a ClusterQueue, itself without a cohort."""
        return self._path(queue).partition("/")[0]

    def in_queue(self, pod: Pod) -> Pod:
        """Return a pod with its Workload, or its owner where the dump has none, and its queues."""
        key = pod.workload or self._workload_key(pod)
        names = [pod.marks.get(label) for label in _QUEUE_NAMES]
        if key is not None:
            names.append(self._local_queue_of_workload[key])
        name = next(filter(None, names), "")
        local_queue = self._local_queues.get((pod.namespace, name))
        has_queue = local_queue is not None and local_queue.queue in self._queues
        queue = local_queue.queue if local_queue and has_queue else ""
        if queue and pod.node:
            self._ignored |= self._uncovered(pod, queue)
        return pod._replace(
            workload=key or (pod.namespace, pod.owner), local_queue=name, queue=queue
        )

    def _uncovered(self, pod: Pod, queue: str) -> set[str]:
        """Return the resources of a pod that a ClusterQueue does not cover."""
        covered = {resource for resource, _ in self._queues[queue].quotas}
        return {resource for resource, _ in pod.demand} - covered - self._ignored

    def _workload_key(self, pod: Pod) -> Key | None:
        """Return namespace and name of a pod's Workload; None for none.

        Pods of a JobSet, an MPIJob or a RayJob are owned by objects that these create, and whose
        names begin with theirs; the Job that submits a RayJob has its very name.
        """
        if not self._workload_of:
            return None
        owners = [f"{_POD}/{pod.name}", pod.owner]
        kind, _, name = pod.owner.partition("/")
        while name and kind not in _CREATED_BY_PEOPLE:
            owners.append(f"/{name}")
            name = name.rpartition("-")[0]
        return next(
            filter(None, (self._workload_of.get((pod.namespace, owner)) for owner in owners)), None
        )

    def gang_of(self, pod: Pod) -> Gang | None:
        """Return the group of a pod, or the Workload of one that runs; else None."""
        group = pod.marks.get(_POD_GROUP)
        if group:
            size = pod.marks.get(_POD_GROUP_SIZE, "")
            count = int(size) if _COUNT.fullmatch(size) else 1
            return Gang(f"pod group {pod.namespace}/{group}", count)
        workload = pod.marks.get(_WORKLOAD_NAME, "")
        if not workload and pod.workload in self._local_queue_of_workload:
            workload = pod.workload[1]
        if not workload or pod.owner.partition("/")[0] == _POD or not pod.node:
            return None
        return Gang(f"Workload {pod.namespace}/{workload}", 0)

    def queue_of(self, pod: Pod) -> str | None:
        """Return the path of a pod's queue, None where it is in none; note missing queues."""
        if pod.queue:
            return self._path(pod.queue)
        if pod.local_queue:
            of_name = self._local_queues.get((pod.namespace, pod.local_queue))
            missing = f"LocalQueue {pod.local_queue!r}"
            if of_name:
                missing = f"ClusterQueue {of_name.queue!r}"
            self._note(*pod.where, f"{missing} is not in the dump", "it counts as one in no queue")
        return None

    def lacks_queue(self, pod: Pod) -> bool:
        """Whether Kueue admits a pod, and the dump does not have its ClusterQueue."""
        is_marked = not pod.marks.keys().isdisjoint({_WORKLOAD_NAME, *_MANAGED})
        return (pod.waits_for_quota or is_marked or bool(pod.local_queue)) and not pod.queue

    @property
    def orphan_count(self) -> int:
        """The Workloads of which the dump does not have the ClusterQueue, unless Kueue has none either."""
        return sum(
            workload.queue not in self._queues
            if workload.queue
            else any(self.lacks_queue(pod) and not pod.gate for pod in workload.pods)
            for workload in self._workloads.values()
        )

    def placed(self, pod: Pod) -> Pod:
        """Return a pod on the nodes of its ClusterQueue's flavors."""
        if not pod.queue:
            return pod
        queue = self._queues[pod.queue]
        demanded = {resource for resource, _ in pod.demand}
        if not (pod.node or pod.gate or pod.has_quota):
            workload = None if pod.workload is None else self._workloads.get(pod.workload)
            gate = workload.pods[0].gate if workload and workload.is_of_pods else ""
            uncovered = ", ".join(sorted(self._uncovered(pod, pod.queue)))
            if uncovered:
                gate = gate or f"ClusterQueue {pod.queue!r} does not cover {uncovered}"
            pod = pod._replace(gate=gate or self._stopped(pod) or self._excess(pod, 1))

        # One flavor of each group of resources that the pod asks for, in every combination that it bears.
        choices = [
            [self._flavors[flavor] for flavor in flavors]
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

    def _stopped(self, pod: Pod) -> str:
        """Return why nothing more starts in the queues of a pod; empty where it may."""
        if policy := self._queues[pod.queue].stopped:
            return f"ClusterQueue {pod.queue!r} is stopped (stopPolicy: {policy})"
        if policy := self._local_queues[pod.namespace, pod.local_queue].stopped:
            return f"LocalQueue {pod.local_queue!r} is stopped (stopPolicy: {policy})"
        return ""

    def _excess(self, pod: Pod, count: int) -> str:
        """Return of which resource so many pods need more than their ClusterQueue can ever have.

        The text is empty where flavors together could have room for them: of each flavor, and of
        limits of lending, Kueue's own words tell.
        """
        lineage = fairlp.queues.lineage(self._path(pod.queue)) if pod.queue else []
        limits = [self._caps[path] for path in lineage if path in self._caps]
        for resource, demand in pod.demand:
            request = count * demand
            most = min((caps[resource] for caps in limits if resource in caps), default=math.inf)
            if request > most:
                amounts = [
                    quantity_text(number, resource, unit_of(resource)) for number in (request, most)
                ]
                return (
                    f"{amounts[0]} at once, more than the {amounts[1]} that ClusterQueue "
                    f"{pod.queue!r} can ever have"
                )
        return ""

    def _rows(self) -> Iterator[tuple[str, _QuotaQueue, bool]]:
        """Yield path and quotas of cohorts and ClusterQueues, and whether each is a cohort."""
        for name, cohort in self._cohorts.items():
            yield "/".join([*self._above(cohort.parent), name_in_path(name)]), cohort, True
        for name, queue in self._queues.items():
            yield self._path(name), queue, False

    def _path(self, name: str) -> str:
        """Return the path of a ClusterQueue: its cohorts from the root down, and its name."""
        if name not in self._paths:
            ancestors = self._above(self._queues[name].parent)
            is_cohort = name in self._cohorts or any(
                queue.parent == name
                for queue in chain(self._queues.values(), self._cohorts.values())
            )
            step = name_in_path(name)
            if not ancestors and is_cohort:
                step += " (ClusterQueue)"
            self._paths[name] = "/".join([*ancestors, step])
        return self._paths[name]

    def _above(self, cohort: str) -> Names:
        """Return the names of a cohort and those above it, the root first."""
        names: Names = []
        while cohort:
            if cohort in names:
                self._note("", f"Cohort {cohort!r}", "it is above itself", "it counts as a root")
                break
            names.append(cohort)
            cohort = self._cohorts[cohort].parent if cohort in self._cohorts else ""
        return [name_in_path(name) for name in reversed(names)]

    def fill(self, cluster: Cluster) -> None:
        """Put weights, guarantees, caps and quotas on the queues of a cluster."""
        for key, workload in self._workloads.items():
            pods = list(map(self.in_queue, workload.pods))
            self._workloads[key] = workload._replace(pods=pods)
        self._add_flavor_labels(cluster)
        self._put_rules(cluster)

        nominal_below: dict[str, Amounts] = {}  # of each cohort, with its own
        borrowing: dict[str, Amounts] = {}  # of each cohort below another
        for path, queue, is_cohort in self._rows():
            self._put_queue(cluster, path, queue)
            lineage = fairlp.queues.lineage(path)[1:]
            nominal = queue.totals("nominal")
            if not is_cohort:
                row = cluster.queue(path)
                row["guarantee"] = in_units(nominal)
                kinds = ("nominal", "borrowing") if len(lineage) > 1 else ("nominal",)
                row["cap"] = in_units(queue.totals(*kinds))
                lineage.pop()
            elif queue.parent and queue.quotas:
                borrowing[path] = queue.totals("borrowing")
            for ancestor in lineage:
                add_amounts(nominal_below.setdefault(ancestor, {}), nominal)

        # A cohort may use the quotas below it and borrow within its limit; no cohort lends to a root.
        for path, total in nominal_below.items():
            if path in borrowing:
                limits = borrowing[path]
                cluster.queue(path)["cap"] = in_units(
                    {resource: total[resource] + limit for resource, limit in limits.items()}
                )
            if "/" not in path:
                cluster.queue(path)["cap"] = in_units(total)
        self._caps = {path: row["cap"] for path, row in cluster.queues.items() if "cap" in row}

    def _put_rules(self, cluster: Cluster) -> None:
        """Put on a cluster whether what is lent is shared fairly."""
        if not self._queues:
            return
        queues = self._queues.values()
        is_seen = any(queue.is_shared_fairly for queue in queues)
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

    def _column(self, resource: str, flavor: str) -> str:
        """Return the column of a resource and flavor, with a condition on the flavor's nodes.

        The condition of flavors with equal labels also has the flavor's name, in a comparison that
        holds everywhere.
        """
        lines = self._flavors[flavor].labels
        labels = {line.key: line.values[0] for line in lines}
        condition = condition_text(labels, f"flavor {flavor!r}")
        if self._flavors_of_labels[lines] > 1:
            name = repr(flavor)
            condition = " and ".join(filter(None, [condition, f"{name} == {name}"]))
        return f"{resource}{fairlp.queues.AT}{condition}" if condition else resource

    @cached_property
    def _flavors_of_labels(self) -> Counter[tuple[Requirement, ...]]:
        """How many flavors of quotas have these labels; for use when all objects are read."""
        flavors = {
            flavor
            for queue in chain(self._queues.values(), self._cohorts.values())
            for _, flavor in queue.quotas
        }
        return Counter(self._flavors[flavor].labels for flavor in flavors)

    def _add_flavor_labels(self, cluster: Cluster) -> None:
        """Add labels of flavors that it lacks to the first node, without a value.

        Conditions of quotas may name only attributes that nodes have.
        """
        labels = {line.key: None for flavor in self._flavors.values() for line in flavor.labels}
        for name, node in list(cluster.nodes.items())[:1]:
            cluster.nodes[name] = replace(node, attributes={**labels, **node.attributes})


def _stop_policy(spec: Record) -> str:
    """Return the policy by which nothing more starts in a queue; empty where it may."""
    policy = text_at(spec, "stopPolicy")
    return policy if policy in _STOPPED else ""


def _quota_amounts(entry: Record) -> Amounts:
    """Return the quotas of a resource of a flavor, by kind; a kind without a limit is absent."""
    amounts: Amounts = {"nominal": Fraction(0)}
    for kind, key in _KINDS.items():
        value = value_at(entry, key, kind=(str, int, float))
        if value is not None:
            amounts[kind] = quantity(value)
    return amounts


def _by_name(entries: Iterable[Any]) -> dict[str, Record]:
    return {text_at(entry, "name"): entry for entry in entries}


def _checks(status: Record, states: Collection[str]) -> str:
    """Return the admission checks that are in one of these states; empty for none."""
    return ", ".join(
        f"admission check {text_at(check, 'name')} is {text_at(check, 'state')}"
        for check in list_at(status, "admissionChecks")
        if text_at(check, "state") in states
    )
