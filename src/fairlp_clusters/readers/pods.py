"""Pods: demands, owners, the nodes where they may be, and whether they run, wait or are done."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .cluster import (
    Amounts,
    Demand,
    EntryError,
    Floats,
    Key,
    Note,
    Notes,
    Record,
    Texts,
    Where,
    add_amounts,
    largest_amounts,
    list_at,
    mapping_at,
    shown,
    text_at,
    value_at,
)

# Where a pod may be: node selector, required node affinity, taints and tolerations, for all nodes
# together.

#: A node's own name, which fields of an affinity select by.
NAME = "\0name"
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_BINDING = ("NoSchedule", "NoExecute")


#: The resource that every pod needs one of.
PODS = "pods"
#: Key, value and effect of each taint of a node.
Taints = tuple[tuple[str, str, str], ...]


class Requirement(NamedTuple):
    """One line of a node selector: a label, an operator and values."""

    key: str
    operator: str
    values: Texts


class Toleration(NamedTuple):
    """A taint that a pod bears: key and effect (empty: any), operator and value."""

    key: str
    operator: str
    value: str
    effect: str


class Place(NamedTuple):
    """The nodes that a pod may be on: those with all lines of ``selector`` and one of ``terms``.

    ``terms`` is None without affinity; ``tolerations`` are the taints that the pod bears.
    """

    selector: tuple[Requirement, ...]
    terms: tuple[tuple[Requirement, ...], ...] | None
    tolerations: tuple[Toleration, ...]


#: Of pods that ask for nothing of their nodes, and tolerate no taint.
ANYWHERE = Place((), None, ())


class AnyOf(NamedTuple):
    """Places of which one is enough."""

    places: tuple[Place, ...]


def place_of(spec: Record, pinned: bool, note: Note) -> Place:
    """Return the nodes that a pod may be on; conditions that cannot be expressed are noted.

    Parameters
    ----------
    spec : mapping
        Of the pod.
    pinned : bool
        Whether the pod is a DaemonSet's, each of whose pods is bound to one node by name: that
        binding is left out.
    note : callable
        Adds a note on the pod.
    """
    selector_lines = tuple(
        Requirement(key, "In", (str(value),))
        for key, value in sorted(mapping_at(spec, "nodeSelector").items())
    )

    name = "requiredDuringSchedulingIgnoredDuringExecution"
    required = value_at(spec, "affinity", "nodeAffinity", name)
    terms = None
    if required is not None:
        all_terms = [_term(entry, pinned, note) for entry in list_at(required, "nodeSelectorTerms")]
        if () not in all_terms:
            terms = tuple(term for term in all_terms if term is not None)

    for kind in ("podAffinity", "podAntiAffinity"):
        if value_at(spec, "affinity", kind):
            note(f"affinity.{kind}", "left out: it depends on where other pods are")
    return Place(selector_lines, terms, _tolerations(spec))


def _term(entry: Any, pinned: bool, note: Note) -> tuple[Requirement, ...] | None:
    """Return the lines of a term; None where it has none, which selects no node."""
    expressions = list_at(entry, "matchExpressions")
    fields = list_at(entry, "matchFields")
    lines = [_requirement(line, text_at(line, "key"), note) for line in expressions]
    for line in () if pinned else fields:
        key = text_at(line, "key")
        lines.append(_requirement(line, (NAME if key == "metadata.name" else f"\0{key}"), note))
    if not expressions and not fields:
        return None
    return tuple(line for line in lines if line is not None)


def _requirement(line: Any, key: str, note: Note) -> Requirement | None:
    """Return a line of node affinity; None, with a note, for an operator that is not known."""
    operator = text_at(line, "operator")
    values = tuple(map(str, list_at(line, "values")))
    compares = operator in ("Gt", "Lt")
    if operator in _OPERATORS and not (compares and not _is_whole(values)):
        return Requirement(key, operator, values)
    note(
        f"operator {shown(operator)} of {values!r} in node affinity",
        "this line is left out",
    )
    return None


_WHOLE = re.compile("[+-]?[0-9]{1,18}")


def _is_whole(values: Sequence[str]) -> bool:
    """Whether the values are one whole number."""
    return len(values) == 1 and _WHOLE.fullmatch(values[0]) is not None


def _tolerations(spec: Record) -> tuple[Toleration, ...]:
    """Return the tolerations of a pod, each once, in order."""
    tolerations = {
        Toleration(
            text_at(line, "key"),
            value_at(line, "operator", kind=str, default="Equal"),
            text_at(line, "value"),
            text_at(line, "effect"),
        )
        for line in list_at(spec, "tolerations")
    }
    return tuple(sorted(tolerations))


def taints_of(spec: Record) -> Taints:
    """Return key, value and effect of the taints of a node that keep pods away.

    ``PreferNoSchedule`` does not.
    """
    taints = []
    for taint in list_at(spec, "taints"):
        effect = text_at(taint, "effect")
        if effect in _BINDING:
            key = value_at(taint, "key", kind=str)
            if key is None:
                raise EntryError("a taint has no key")
            taints.append((key, text_at(taint, "value"), effect))
    return tuple(sorted(taints))


class Nodes:
    """Labels and taints of all nodes, with which places become masks.

    The mask of a line of a selector is computed once.
    """

    def __init__(self, labels: Sequence[Record], taints: Sequence[Taints]) -> None:
        self._labels = labels
        self._line_masks: dict[Requirement, np.ndarray] = {}
        positions = {kind: k for k, kind in enumerate(dict.fromkeys(taints))}
        self._kinds_of_taints = list(positions)
        self._kind = np.array([positions[kind] for kind in taints], dtype=np.intp)

    def allowed(self, place: Hashable) -> np.ndarray:
        """Return the mask of the nodes that pods of a place may be on."""
        if isinstance(place, AnyOf):
            nowhere = np.zeros(len(self._kind), dtype=bool)
            return np.asarray(np.any([nowhere, *map(self.allowed, place.places)], axis=0))

        # Nodes whose taints the pod bears, with all lines of its selector, and of one term of its affinity
        assert isinstance(place, Place)
        is_borne = [
            all(bears(taint, place.tolerations) for taint in taints)
            for taints in self._kinds_of_taints
        ]
        mask: np.ndarray = np.array(is_borne, dtype=bool)[self._kind]
        mask &= self._fulfilling(place.selector)
        if place.terms is not None:
            mask &= np.any([self._fulfilling(term) for term in place.terms], axis=0)
        return mask

    def _fulfilling(self, lines: Iterable[Requirement]) -> np.ndarray:
        """Return the mask of the nodes that fulfil all lines."""
        return np.asarray(np.all([self._line_mask(line) for line in lines], axis=0))

    def _line_mask(self, line: Requirement) -> np.ndarray:
        """Return the mask of the nodes that fulfil a line."""
        if line not in self._line_masks:
            self._line_masks[line] = np.array(
                [fulfils(labels.get(line.key), line) for labels in self._labels], dtype=bool
            )
        return self._line_masks[line]


def fulfils(value: Any, line: Requirement) -> bool:
    """Whether the value of a node's label, None where it has none, fulfils a line."""
    operator = line.operator
    if operator in ("In", "NotIn"):
        is_listed = value is not None and value in line.values
        return is_listed == (operator == "In")
    if operator in ("Exists", "DoesNotExist"):
        return (value is not None) == (operator == "Exists")
    if value is None or not _is_whole((value,)):
        return False
    number = int(value)
    bound = int(line.values[0])
    return number > bound if operator == "Gt" else number < bound


def bears(taint: tuple[str, str, str], tolerations: tuple[Toleration, ...]) -> bool:
    """Whether tolerations let a pod be on a node with a taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: tuple[str, str, str]) -> bool:
    """Whether a toleration matches key, value and effect of a taint."""
    key, value, effect = taint
    if toleration.effect not in ("", effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", key)
    has_equal_value = toleration.operator in ("Equal", "") and toleration.value == value
    return bool(toleration.key) and toleration.key == key and has_equal_value


# Quantities of Kubernetes, ``500m`` or ``64Gi``: exact, and as amounts that floats hold exactly.

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE](?P<power>[+-]?[0-9]+)|(?P<suffix>[numkMGTPE]|[KMGTPE]i)?)"
)
_SUFFIXES = {
    "": Fraction(1),
    **{
        letter: Fraction(10) ** power
        for letter, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)
    },
    **{f"{letter}i": Fraction(2) ** (10 * (k + 1)) for k, letter in enumerate("KMGTPE")},
}
#: The largest count of digits and power of ten: Kubernetes' own numbers end at 2**63.
_MOST_DIGITS = 40
_MOST_POWER = 30
#: CPU is counted in thousandths, so that amounts are whole; bytes in 2**20, so that they are exact
#: in floats.
CPU = Fraction(1000)
MIB = Fraction(1, 2**20)


@lru_cache(maxsize=100_000)
def _parsed(text: str) -> Fraction:
    """Return a quantity from its text."""
    match = _QUANTITY.fullmatch(text.strip())
    is_too_long = len(text) > _MOST_DIGITS
    if match is None or is_too_long or abs(int(match["power"] or 0)) > _MOST_POWER:
        raise EntryError(
            f"{shown(text)} is no quantity; expected one such as '500m', '2' or '64Gi'"
        )
    factor = (
        Fraction(10) ** int(match["power"]) if match["power"] else _SUFFIXES[match["suffix"] or ""]
    )
    value = Fraction(match["number"]) * factor
    if value < 0:
        raise EntryError(f"{shown(text)} is negative; expected a quantity of at least 0")
    return value


def quantity(value: Any) -> Fraction:
    """Return a quantity; `EntryError` where it is none.

    >>> [str(quantity(text)) for text in ("500m", "2", "1e3", "1.5Gi", "1M")]
    ['1/2', '2', '1000', '1610612736', '1000000']
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = repr(value)
    if not isinstance(value, str):
        raise EntryError(f"{shown(value)} is no quantity; expected text such as '500m' or '64Gi'")
    return _parsed(value)


def is_bytes(resource: str) -> bool:
    """Whether a resource is counted in bytes."""
    return resource in ("memory", "ephemeral-storage", "storage") or resource.startswith(
        "hugepages-"
    )


def unit_of(resource: str) -> str:
    """Return the unit of a resource's amounts."""
    return "1/1000 core" if resource == "cpu" else "MiB" if is_bytes(resource) else ""


def amount(resource: str, value: Fraction) -> float:
    """Return a quantity in the unit of its resource, rounded up as finely as Kubernetes counts.

    >>> amount("cpu", quantity("0.1")), amount("memory", quantity("1Gi")), amount("nvidia.com/gpu", quantity("2"))
    (100.0, 1024.0, 2.0)
    """
    if resource == "cpu":
        return float(math.ceil(value * CPU))
    whole = Fraction(math.ceil(value))
    return float(whole * MIB) if is_bytes(resource) else float(whole)


def quantities(entries: Record) -> Amounts:
    """Return quantities by resource."""
    return {resource: quantity(value) for resource, value in entries.items()}


def in_units(amounts: Amounts) -> Floats:
    """Return quantities by resource in the unit of each; see `amount`."""
    return {resource: amount(resource, value) for resource, value in amounts.items()}


#: The fields of a pod's spec that Kubernetes documents; and those that restrict where it runs and
#: are not read.
_KNOWN = frozenset(
    """
    activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks
    ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride
    imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName
    readinessGates resources restartPolicy schedulingGates runtimeClassName schedulerName securityContext
    serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
    terminationGracePeriodSeconds tolerations volumes
    """.split()  # noqa: SIM905 — one name a line would be forty lines
)
_UNREAD = frozenset({"topologySpreadConstraints", "resourceClaims"})
_FINISHED = ("Succeeded", "Failed")
#: The beginnings of labels and annotations by which schedulers know pods.
_MARKS = ("kueue.x-k8s.io/", "scheduling.", "volcano.sh/", "yunikorn.apache.org", "gpu-")
_BY_CRON = re.compile(r"(.+)-[0-9]{8,}")


class Pod(NamedTuple):
    """A pod, or ``tasks`` pods to be created; ``node`` is empty while it waits.

    ``marks`` are the labels and annotations by which schedulers know it, and ``gate`` is why it may
    not run yet even with room for it; empty where it may. ``message`` is
    what the scheduler says of it while it waits, ``has_quota`` whether Kueue admitted it, and
    ``left_out`` the constraints on its nodes that do not count here. ``waits_for_quota`` is whether
    Kueue's gate holds it, ``nominated`` the node on which room is being made for it, and
    ``is_ending`` whether it is being deleted. ``workload`` are namespace and name of its Workload of
    Kueue, or its owner, ``local_queue`` and ``queue`` (a ClusterQueue of the dump) its queues there.
    """

    file: str = ""
    name: str = ""
    namespace: str = ""
    owner: str = ""
    demand: Demand = ()
    place: Place | AnyOf = ANYWHERE
    node: str = ""
    since: str | None = None
    marks: Mapping[str, str] = MappingProxyType({})
    scheduler: str = ""
    tasks: int = 1
    gate: str = ""
    priority: float | None = None
    message: str = ""
    has_quota: bool = False
    left_out: Texts = ()
    waits_for_quota: bool = False
    nominated: str = ""
    is_ending: bool = False
    workload: Key | None = None
    local_queue: str = ""
    queue: str = ""

    @property
    def where(self) -> Where:
        """The file and the name of the pod, for a note."""
        return self.file, f"pod '{self.namespace}/{self.name}'"


class Gang(NamedTuple):
    """Pods that start at once: their name, and how many start at least (0: all have started)."""

    name: str
    least: int


def spec_of(spec: Record, pinned: bool, note: Note) -> Pod:
    """Return a pod with what counts of its spec; see `place_of`."""
    demand, place = demand_and_place(spec, pinned, note)
    gates = [text_at(gate, "name") for gate in list_at(spec, "schedulingGates")]
    return Pod(
        demand=demand,
        place=place,
        gate=", ".join(f"gate {gate}" for gate in gates if gate != QUOTA_GATE),
        scheduler=text_at(spec, "schedulerName"),
        priority=value_at(spec, "priority", kind=int),
        left_out=constraints_left_out(spec),
        waits_for_quota=QUOTA_GATE in gates,
    )


def known_spec(
    specs: dict[bytes, Pod], spec: Record, pinned: bool, where: Where, notes: Notes
) -> Pod:
    """Return what counts of a spec; see `place_of`. The pods of one owner have it in common.

    It is looked up among the ``specs`` that occurred by the fields that are read, as text. A spec
    with a note is read again for each pod, whose name the note has.
    """
    key = blake2b(repr((pinned, _counting_fields(spec))).encode()).digest()
    if key in specs:
        return specs[key]
    lines = notes.total
    pod = spec_of(spec, pinned, partial(notes.add, *where))
    if notes.total == lines:
        specs[key] = pod
    return pod


#: What a pod has of its own, or what is not read.
_OF_THE_POD = frozenset({"nodeName", "hostname", "ephemeralContainers"})
#: What is read of each entry of these lists; names and mounts may be of the pod.
_OF_ENTRIES = {
    "containers": ("resources", "ports"),
    "initContainers": ("resources", "restartPolicy"),
    "volumes": ("persistentVolumeClaim", "ephemeral"),
}


def _counting_fields(spec: Record) -> dict[str, Any]:
    """Return a spec without what its pods do not have in common."""
    fields = {}
    for name, value in spec.items():
        counting = _OF_ENTRIES.get(name)
        if counting is not None and isinstance(value, list):
            value = [
                [entry.get(key) for key in counting] if isinstance(entry, dict) else entry
                for entry in value
            ]
        if name not in _OF_THE_POD:
            fields[name] = value
    return fields


def pod_of(manifest: Record, file: str, notes: Notes, specs: dict[bytes, Pod]) -> Pod | None:
    """Return a pod, None where it has finished; ``specs`` are those of other pods of the dump."""
    namespace, name = key_of(manifest)
    where = file, f"pod '{namespace}/{name}'"
    phase = text_at(manifest, "status", "phase")
    if phase in _FINISHED:
        notes.add(*where, f"it has finished ({phase})", "left out: it holds nothing")
        return None
    is_ending = bool(text_at(manifest, "metadata", "deletionTimestamp"))
    if is_ending:
        notes.add(*where, "it is being deleted", "left out: what it holds is about to be free")

    kind, owner = _created_by(manifest)
    spec = mapping_at(manifest, "spec")
    pod = known_spec(specs, spec, kind == "DaemonSet", where, notes)
    node = text_at(manifest, "spec", "nodeName")
    condition = {} if node else conditions_of(manifest).get("PodScheduled")
    message = "" if text_at(condition, "status") == "True" else text_at(condition, "message")
    metadata = mapping_at(manifest, "metadata")
    texts = mapping_at(metadata, "labels") | mapping_at(metadata, "annotations")
    return pod._replace(
        file=file,
        name=name,
        namespace=namespace,
        owner=f"{kind}/{owner}",
        demand=_with_resizes(manifest, pod.demand) if node else pod.demand,
        node=node,
        since=since_of(manifest),
        marks={key: str(value) for key, value in texts.items() if key.startswith(_MARKS)},
        gate=pod.gate or (message if only_other_constraints(message) else ""),
        message=message,
        nominated="" if node else text_at(manifest, "status", "nominatedNodeName"),
        is_ending=is_ending,
    )


#: Kueue takes this gate away when it admits the pod: it waits for quota.
QUOTA_GATE = "kueue.x-k8s.io/admission"
#: What kube-scheduler says where only room is lacking (noderesources/fit.go),
LACK_OF_ROOM = ("Insufficient ", "Too many pods")
#: and where a constraint stops a pod that is not read here (the plugins' ErrReason texts).
OTHER_CONSTRAINTS = (
    "pod affinity rules",
    "anti-affinity rules",
    "topology spread constraints",
    "volume node affinity conflict",
    "persistentvolumeclaim",
    "PersistentVolume",
    "max volume count",
    "free ports for the requested pod ports",
    "cannot allocate all claims",
    "resourceclaim",
)
#: Constraints that do not count here, and of which no words of the scheduler decide whether they are
#: what stops a task.
HELD_QUOTA = "quota of admitted Workloads whose pods do not run"
POOL_MAY_ADD = "nodes that NodePool"
SLICES = "time slices of GPUs"
SHARDS = "shards of GPUs"
NOMINATED = "a node that the scheduler has chosen (nominatedNodeName)"
GOING_NODES = "nodes that are decommissioning"
NEVER_DECIDED = (HELD_QUOTA, POOL_MAY_ADD, SLICES, SHARDS, NOMINATED, GOING_NODES)


def only_other_constraints(message: str) -> bool:
    """Whether the scheduler's words name constraints that are not read here, and no lack of room.

    >>> only_other_constraints("0/2 nodes are available: 2 node(s) had volume node affinity conflict.")
    True
    >>> only_other_constraints("0/2: 1 Insufficient cpu, 1 node(s) didn't match pod anti-affinity rules.")
    False
    """
    reasons = message.partition("preemption:")[0]
    if any(reason in reasons for reason in LACK_OF_ROOM):
        return False
    return any(reason in reasons for reason in OTHER_CONSTRAINTS)


def constraints_left_out(spec: Record) -> Texts:
    """Return the constraints of a pod on its nodes that do not count here.

    >>> constraints_left_out({"topologySpreadConstraints": [{}], "affinity": {"podAntiAffinity": {}}})
    ('topology spread',)
    """
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    volumes = list_at(spec, "volumes")
    ports = [
        port for container in list_at(spec, "containers") for port in list_at(container, "ports")
    ]
    constraints = {
        "pod affinity": list_at(spec, "affinity", "podAffinity", required),
        "pod anti-affinity": list_at(spec, "affinity", "podAntiAffinity", required),
        "topology spread": list_at(spec, "topologySpreadConstraints"),
        "volumes": [
            volume
            for volume in volumes
            if mapping_at(volume, "persistentVolumeClaim") or mapping_at(volume, "ephemeral")
        ],
        "resource claims": list_at(spec, "resourceClaims"),
        "host ports": [port for port in ports if value_at(port, "hostPort", kind=int)],
    }
    return tuple(name for name, entries in constraints.items() if entries)


def _with_resizes(manifest: Record, demand: Demand) -> Demand:
    """Return the demand of a pod that runs, of which containers may be resized in place.

    While a resize is under way, the scheduler counts the larger of what is asked for and of what
    its node has allocated (KEP-1287).
    """
    spec = mapping_at(manifest, "spec")
    allocated: dict[str, Amounts] = {}
    for status in list_at(manifest, "status", "containerStatuses"):
        allocated[text_at(status, "name")] = largest_amounts(
            quantities(mapping_at(status, "allocatedResources")),
            quantities(mapping_at(status, "resources", "requests")),
        )
    if not any(allocated.values()):
        return demand
    total: Amounts = {}
    for container in list_at(spec, "containers"):
        add_amounts(
            total,
            largest_amounts(
                _container_requests(container), allocated.get(text_at(container, "name"), {})
            ),
        )
    return tuple(
        sorted(
            (resource, value)
            for resource, value in largest_amounts(dict(demand), in_units(total)).items()
            if value > 0
        )
    )


def _created_by(manifest: Record) -> tuple[str, str]:
    """Return kind and name of the object that a person created for a pod: its owner's, if any."""
    kind, owner = owner_of(manifest)
    if kind == "ReplicaSet":
        digest = value_at(manifest, "metadata", "labels", "pod-template-hash", kind=str)
        if digest and owner.endswith(f"-{digest}"):
            return "Deployment", owner.removesuffix(f"-{digest}")
    elif kind == "Job":
        match = _BY_CRON.fullmatch(owner)
        if match is not None:
            return "CronJob", match[1]
    elif kind == "Node":
        return "static", name_of(manifest).removesuffix(f"-{owner}")
    return kind, owner


def demand_and_place(spec: Record, pinned: bool, note: Note) -> tuple[Demand, Place]:
    """Return the demand of one pod of a spec, one of ``pods`` included, and where it may be."""
    for key in spec:
        if key in _UNREAD:
            if spec[key]:
                note(f"spec.{key}", "left out: it cannot be expressed")
        elif key not in _KNOWN:
            note(f"unknown field spec.{key}")

    demand = {
        resource: amount(resource, value)
        for resource, value in requests_of(spec).items()
        if value > 0
    }
    if not demand:
        note("it requests nothing", "it counts as one of 'pods' only")
    demand[PODS] = 1.0
    return tuple(sorted(demand.items())), place_of(spec, pinned, note)


def requests_of(spec: Record) -> Amounts:
    """Return the requests of a pod: the larger of those while it runs and while it starts.

    While it runs, these are its containers and sidecars together. While an init container runs,
    these are that container and the sidecars before it. The overhead counts besides.
    """
    running: Amounts = {}
    for container in list_at(spec, "containers"):
        add_amounts(running, _container_requests(container))

    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in list_at(spec, "initContainers"):
        requests = _container_requests(container)
        is_sidecar = value_at(container, "restartPolicy", kind=str) == "Always"
        if is_sidecar:
            add_amounts(sidecars, requests)
            add_amounts(running, requests)
            step = dict(sidecars)
        else:
            step = dict(sidecars)
            add_amounts(step, requests)
        starting = largest_amounts(starting, step)

    total = largest_amounts(running, starting)
    total.update(quantities(mapping_at(spec, "resources", "requests")))  # of the pod as a whole
    add_amounts(total, quantities(mapping_at(spec, "overhead")))
    return total


def _container_requests(container: Any) -> Amounts:
    """Return the requests of a container; a resource with a limit only is requested, too."""
    return quantities(
        {
            **mapping_at(container, "resources", "limits"),
            **mapping_at(container, "resources", "requests"),
        }
    )


def name_of(manifest: Record) -> str:
    """Return the name of an object; empty where it has none."""
    return text_at(manifest, "metadata", "name")


def key_of(manifest: Record) -> tuple[str, str]:
    """Return namespace and name of an object."""
    return text_at(manifest, "metadata", "namespace") or "default", name_of(manifest)


def since_of(manifest: Record) -> str | None:
    """Return when an object was created; None where it does not say."""
    return value_at(manifest, "metadata", "creationTimestamp", kind=str)  # type: ignore[no-any-return]


def conditions_of(manifest: Record) -> dict[str, Record]:
    """Return the conditions of an object's status by their type."""
    return {text_at(entry, "type"): entry for entry in list_at(manifest, "status", "conditions")}


def owner_of(manifest: Record) -> tuple[str, str]:
    """Return kind and name of an object's controller, else of another owner, else of itself."""
    controllers_first = sorted(
        list_at(manifest, "metadata", "ownerReferences"),
        key=lambda owner: value_at(owner, "controller", kind=bool) is not True,
    )
    for owner in controllers_first:
        kind = value_at(owner, "kind", kind=str)
        name = value_at(owner, "name", kind=str)
        if kind and name:
            return kind, name
    return "Pod", name_of(manifest)
