"""What a pod asks for, who owns it, and whether it runs, waits or has finished."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .cluster import (
    Amounts,
    Demand,
    Floats,
    Notes,
    Odd,
    Record,
    Where,
    add_amounts,
    larger,
    list_at,
    mapping_at,
    part,
    shown,
    text_at,
)

# Where a pod may be: node selector, required node affinity, taints and tolerations, over all nodes
# at once.

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
    values: tuple[str, ...]


class Toleration(NamedTuple):
    """A taint that a pod bears: a key (empty: any), an operator, a value and an effect (empty: any)."""

    key: str
    operator: str
    value: str
    effect: str


class Place(NamedTuple):
    """What a pod asks of its node: all of ``selector``, one of ``terms`` (None: no affinity), its tolerations."""

    selector: tuple[Requirement, ...]
    terms: tuple[tuple[Requirement, ...], ...] | None
    tolerations: tuple[Toleration, ...]


class AnyOf(NamedTuple):
    """Places of which one is enough."""

    places: tuple[Place, ...]


def place_of(spec: Record, pinned: bool, where: Where, notes: Notes) -> Place:
    """Return what a pod asks of its node; what cannot be said so is noted.

    Parameters
    ----------
    spec : mapping
        The pod's.
    pinned : bool
        Whether it is a DaemonSet's, whose pods are each bound to one node by name: that is left
        out.
    where : tuple of str
        File and pod.
    notes : Notes
    """
    selector = mapping_at(spec, "nodeSelector")
    simple = tuple(Requirement(key, "In", (str(value),)) for key, value in sorted(selector.items()))
    required = part(
        spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
    )
    terms = None
    if required is not None:
        found = [
            _term(entry, pinned, where, notes) for entry in list_at(required, "nodeSelectorTerms")
        ]
        terms = None if () in found else tuple(term for term in found if term is not None)
    if part(
        spec,
        "affinity",
        "nodeAffinity",
        "preferredDuringSchedulingIgnoredDuringExecution",
        kind=list,
    ):
        notes.add(*where, "affinity.nodeAffinity.preferred…", "left out: a wish, and no rule")
    for kind in ("podAffinity", "podAntiAffinity"):
        if part(spec, "affinity", kind):
            notes.add(*where, f"affinity.{kind}", "left out: it depends on where other pods are")
    return Place(simple, terms, _tolerations(spec))


def _term(entry: Any, pinned: bool, where: Where, notes: Notes) -> tuple[Requirement, ...] | None:
    """Return the lines of a term; None where it has none, which selects no node."""
    found = []
    empty = True
    for kind in ("matchExpressions", "matchFields"):
        for line in list_at(entry, kind):
            empty = False
            key = text_at(line, "key")
            operator = text_at(line, "operator")
            if kind == "matchFields":
                if pinned:
                    notes.add(
                        *where,
                        "a DaemonSet's pod is bound to its node by name",
                        "left out: all are one user",
                    )
                    continue
                key = NAME if key == "metadata.name" else f"\0{key}"
            values = tuple(map(str, list_at(line, "values")))
            if operator not in _OPERATORS or (operator in ("Gt", "Lt") and not _whole(values)):
                notes.add(
                    *where,
                    f"operator {shown(operator)} of {values!r} in node affinity",
                    "this line is left out",
                )
                continue
            found.append(Requirement(key, operator, values))
    return None if empty else tuple(found)


_WHOLE = re.compile("[+-]?[0-9]{1,18}")


def _whole(values: Sequence[str]) -> bool:
    return len(values) == 1 and _WHOLE.fullmatch(values[0]) is not None


def _tolerations(spec: Record) -> tuple[Toleration, ...]:
    found = {
        Toleration(
            text_at(line, "key"),
            part(line, "operator", kind=str, default="Equal"),
            text_at(line, "value"),
            text_at(line, "effect"),
        )
        for line in list_at(spec, "tolerations")
    }
    return tuple(sorted(found))


def taints_of(spec: Record) -> Taints:
    """Return key, value and effect of the taints of a node that keep pods away (``PreferNoSchedule`` does not)."""
    found = []
    for taint in list_at(spec, "taints"):
        effect = text_at(taint, "effect")
        if effect in _BINDING:
            key = part(taint, "key", kind=str)
            if key is None:
                raise Odd("a taint has no key")
            found.append((key, text_at(taint, "value"), effect))
    return tuple(sorted(found))


class Nodes:
    """Labels and taints of all nodes, by which places become masks; each line of a selector is looked up once."""

    def __init__(self, labels: Sequence[Record], taints: Sequence[Taints]) -> None:
        self._labels = labels
        self._lines: dict[Requirement, np.ndarray] = {}
        kinds = {kind: k for k, kind in enumerate(dict.fromkeys(taints))}
        self._kinds = list(kinds)
        self._kind = np.array([kinds[kind] for kind in taints], dtype=np.intp)

    def allowed(self, place: Hashable) -> np.ndarray | None:
        """Return where pods of a place may be: bool by node."""
        if isinstance(place, AnyOf):
            found = [one for each in place.places if (one := self.allowed(each)) is not None]
            return np.asarray(np.any([np.zeros(len(self._kind), dtype=bool), *found], axis=0))
        assert isinstance(place, Place)
        borne = np.array(
            [all(bears(taint, place.tolerations) for taint in kind) for kind in self._kinds],
            dtype=bool,
        )
        mask: np.ndarray = borne[self._kind]
        for line in place.selector:
            mask &= self._line(line)
        if place.terms is not None:
            some = np.zeros_like(mask)
            for term in place.terms:
                every = np.ones_like(mask)
                for line in term:
                    every &= self._line(line)
                some |= every
            mask &= some
        return mask

    def _line(self, line: Requirement) -> np.ndarray:
        if line not in self._lines:
            found = [_holds(line, labels.get(line.key)) for labels in self._labels]
            self._lines[line] = np.array(found, dtype=bool)
        return self._lines[line]


def _holds(line: Requirement, value: Any) -> bool:
    operator = line.operator
    values = line.values
    if operator in ("In", "NotIn"):
        return (value is not None and value in values) == (operator == "In")
    if operator in ("Exists", "DoesNotExist"):
        return (value is not None) == (operator == "Exists")
    if value is None or not _whole((value,)):
        return False
    return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])


def bears(taint: tuple[str, str, str], tolerations: tuple[Toleration, ...]) -> bool:
    """Whether tolerations let a pod be where a taint is."""
    key, value, effect = taint
    for one in tolerations:
        same_value = one.operator == "Exists" or (
            one.operator in ("Equal", "") and one.value == value
        )
        if (
            one.effect in ("", effect)
            and one.key in ("", key)
            and same_value
            and (one.key or one.operator == "Exists")
        ):
            return True
    return False


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
#: Most digits and the largest power of ten: Kubernetes' own numbers end at 2**63.
_MOST_DIGITS = 40
_MOST_POWER = 30
#: CPU is counted in thousandths, so that amounts are whole; bytes in 2**20, so that they are exact
#: in floats.
CPU = Fraction(1000)
MIB = Fraction(1, 2**20)


@lru_cache(maxsize=100_000)
def _parsed(text: str) -> Fraction:
    found = _QUANTITY.fullmatch(text.strip())
    if found is None or len(text) > _MOST_DIGITS or abs(int(found["power"] or 0)) > _MOST_POWER:
        raise Odd(f"{shown(text)} is no quantity; expected one such as '500m', '2' or '64Gi'")
    value = Fraction(found["number"]) * (
        Fraction(10) ** int(found["power"]) if found["power"] else _SUFFIXES[found["suffix"] or ""]
    )
    if value < 0:
        raise Odd(f"{shown(text)} is negative; expected a quantity of at least 0")
    return value


def quantity(value: Any) -> Fraction:
    """Return a quantity; `Odd` where it is none.

    >>> [str(quantity(text)) for text in ("500m", "2", "1e3", "1.5Gi", "1M")]
    ['1/2', '2', '1000', '1610612736', '1000000']
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = repr(value)
    if not isinstance(value, str):
        raise Odd(f"{shown(value)} is no quantity; expected text such as '500m' or '64Gi'")
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
    """Return a quantity in the unit of its resource; what is finer than Kubernetes counts is rounded up, as it does.

    >>> amount("cpu", quantity("0.1")), amount("memory", quantity("1Gi")), amount("nvidia.com/gpu", quantity("2"))
    (100.0, 1024.0, 2.0)
    """
    if resource == "cpu":
        return float(-(-value * CPU // 1))
    whole = Fraction(-(-value // 1))
    return float(whole * MIB) if is_bytes(resource) else float(whole)


def quantities(given: Record) -> Amounts:
    """Return quantities by resource."""
    return {resource: quantity(value) for resource, value in given.items()}


def in_units(amounts: Amounts) -> Floats:
    """Return quantities by resource in the unit of each; see `amount`."""
    return {resource: amount(resource, value) for resource, value in amounts.items()}


#: The fields of a pod's spec that Kubernetes documents; and those that bind where it runs and are
#: not read.
_KNOWN = frozenset(
    """
    activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks
    ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride
    imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority
    readinessGates resources restartPolicy schedulingGates runtimeClassName schedulerName securityContext
    serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
    terminationGracePeriodSeconds tolerations volumes
    """.split()  # noqa: SIM905 — one name a line would be forty lines
)
_UNREAD = frozenset({"topologySpreadConstraints", "resourceClaims", "priorityClassName"})
_FINISHED = ("Succeeded", "Failed")
_BY_CRON = re.compile(r"(.+)-[0-9]{8,}")


class Pod(NamedTuple):
    """A pod, or ``tasks`` pods to be, as far as sharing goes; ``node`` is empty while it waits.

    ``gate`` is why it may not run yet, though there be room; empty where it may.
    """

    file: str
    name: str
    namespace: str
    owner: str
    demand: Demand
    place: Place | AnyOf
    node: str
    since: str | None
    labels: Record
    annotations: Record
    scheduler: str
    tasks: int = 1
    gate: str = ""
    priority: float | None = None

    @property
    def where(self) -> Where:
        """File, and which pod, for a note."""
        return self.file, f"pod '{self.namespace}/{self.name}'"


def pod_of(given: Record, file: str, notes: Notes) -> Pod | None:
    """Return a pod, None where it has finished."""
    name = name_of(given)
    namespace = namespace_of(given)
    where = file, f"pod '{namespace}/{name}'"
    phase = text_at(given, "status", "phase")
    if phase in _FINISHED:
        notes.add(*where, f"it has finished ({phase})", "left out: it holds nothing")
        return None
    kind, owner = owner_of(given)
    if kind == "ReplicaSet":
        digest = part(given, "metadata", "labels", "pod-template-hash", kind=str)
        if digest and owner.endswith(f"-{digest}"):
            kind = "Deployment"
            owner = owner.removesuffix(f"-{digest}")
    elif kind == "Job" and (made := _BY_CRON.fullmatch(owner)):
        kind = "CronJob"
        owner = made[1]
    elif kind == "Node":
        kind = "static"
        owner = name.removesuffix(f"-{owner}")
    node = text_at(given, "spec", "nodeName")
    demand, place = asked(mapping_at(given, "spec"), kind == "DaemonSet", where, notes)
    return Pod(
        file,
        name,
        namespace,
        f"{kind}/{owner}",
        demand,
        place,
        node,
        part(given, "metadata", "creationTimestamp", kind=str),
        mapping_at(given, "metadata", "labels"),
        mapping_at(given, "metadata", "annotations"),
        text_at(given, "spec", "schedulerName"),
        gate=", ".join(
            f"gate {text_at(gate, 'name')}" for gate in list_at(given, "spec", "schedulingGates")
        ),
        priority=part(given, "spec", "priority", kind=int),
    )


def asked(spec: Record, pinned: bool, where: Where, notes: Notes) -> tuple[Demand, Place]:
    """Return what one pod of a spec asks for, a place among pods included, and where it may be."""
    for key in spec:
        if key in _UNREAD:
            if spec[key]:
                notes.add(*where, f"spec.{key}", "left out: it cannot be expressed")
        elif key not in _KNOWN:
            notes.add(*where, f"unknown field spec.{key}", "left out")
    demand = {
        resource: amount(resource, value)
        for resource, value in requests_of(spec).items()
        if value > 0
    }
    if not demand:
        notes.add(*where, "it requests nothing", "it counts as one of 'pods' only")
    demand[PODS] = 1.0
    return tuple(sorted(demand.items())), place_of(spec, pinned, where, notes)


def requests_of(spec: Record) -> Amounts:
    """Return what a pod requests: its containers and sidecars together, or the most while it starts, and overhead."""
    total: Amounts = {}
    for container in list_at(spec, "containers"):
        add_amounts(total, _container(container))
    beside: Amounts = {}
    most: Amounts = {}
    for container in list_at(spec, "initContainers"):
        own = _container(container)
        if part(container, "restartPolicy", kind=str) == "Always":  # a sidecar starts, and stays
            add_amounts(beside, own)
            add_amounts(total, own)
            own = {}
        starting = dict(beside)
        add_amounts(starting, own)
        most = larger(most, starting)
    found = larger(total, most)
    found.update(quantities(mapping_at(spec, "resources", "requests")))  # of the pod as a whole
    add_amounts(found, quantities(mapping_at(spec, "overhead")))
    return found


def _container(container: Any) -> Amounts:
    """Return what a container requests; what it is only limited to is requested, too."""
    limits = mapping_at(container, "resources", "limits")
    return quantities({**limits, **mapping_at(container, "resources", "requests")})


def name_of(given: Record) -> str:
    """Return the name of an object; empty where it has none."""
    return text_at(given, "metadata", "name")


def namespace_of(given: Record) -> str:
    """Return the namespace of an object."""
    return str(part(given, "metadata", "namespace", kind=str, default="default"))


def owner_of(given: Record) -> tuple[str, str]:
    """Return kind and name of what controls an object, itself where nothing does."""
    owners = list_at(given, "metadata", "ownerReferences")
    for owner in sorted(owners, key=lambda one: part(one, "controller", kind=bool) is not True):
        kind = part(owner, "kind", kind=str)
        name = part(owner, "name", kind=str)
        if kind and name:
            return kind, name
    return "Pod", name_of(given)
