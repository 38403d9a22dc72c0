"""What a pod asks for, who owns it, and whether it runs, waits or has finished."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from .cluster import Demand, add_amounts
from .notes import Notes, Where, list_at, mapping_at, part, text_at
from .placement import Place, place_of
from .quantities import amount, quantity

#: The fields of a pod's spec that Kubernetes documents; and those that bind where it runs and are not read.
_KNOWN: Final = frozenset(
    """
    activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks
    ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride
    imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority
    readinessGates resources restartPolicy runtimeClassName schedulerName securityContext
    serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
    terminationGracePeriodSeconds tolerations volumes
    """.split()  # noqa: SIM905 — one name a line would be forty lines
)
_UNREAD: Final = frozenset({"topologySpreadConstraints", "resourceClaims", "priorityClassName", "schedulingGates"})
_FINISHED: Final = ("Succeeded", "Failed")
_BY_CRON = re.compile(r"(.+)-[0-9]{8,}")


class Pod(NamedTuple):
    """A pod, or ``tasks`` pods to be, as far as sharing goes; ``node`` is empty while it waits."""

    file: str
    name: str
    namespace: str
    owner: str
    demand: Demand
    place: Place
    node: str
    since: str | None
    labels: Mapping[str, Any]
    annotations: Mapping[str, Any]
    scheduler: str
    tasks: int = 1

    @property
    def where(self) -> tuple[str, str]:
        """File, and which pod, for a note."""
        return self.file, f"pod '{self.namespace}/{self.name}'"


def pod_of(given: Mapping[str, Any], file: str, notes: Notes) -> Pod | None:
    """Return a pod, None where it has finished."""
    name, namespace = text_at(given, "metadata", "name"), namespace_of(given)
    where = file, f"pod '{namespace}/{name}'"
    phase = text_at(given, "status", "phase")
    if phase in _FINISHED:
        notes.add(*where, f"it has finished ({phase})", "left out: it holds nothing")
        return None
    kind, owner = owner_of(given)
    if kind == "ReplicaSet":
        digest = part(given, "metadata", "labels", "pod-template-hash", kind=str)
        if digest and owner.endswith(f"-{digest}"):
            kind, owner = "Deployment", owner.removesuffix(f"-{digest}")
    elif kind == "Job" and (made := _BY_CRON.fullmatch(owner)):
        kind, owner = "CronJob", made[1]
    elif kind == "Node":
        kind, owner = "static", name.removesuffix(f"-{owner}")
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
    )


def asked(spec: Mapping[str, Any], pinned: bool, where: Where, notes: Notes) -> tuple[Demand, Place]:
    """Return what one pod of a spec asks for, a place among pods included, and where it may be."""
    for key in spec:
        if key in _UNREAD:
            if spec[key]:
                notes.add(*where, f"spec.{key}", "left out: it cannot be expressed")
        elif key not in _KNOWN:
            notes.add(*where, f"unknown field spec.{key}", "left out")
    demand = {resource: amount(resource, value) for resource, value in requests_of(spec).items() if value > 0}
    if not demand:
        notes.add(*where, "it requests nothing", "it counts as one of 'pods' only")
    demand["pods"] = 1.0
    return tuple(sorted(demand.items())), place_of(spec, pinned, where, notes)


def requests_of(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """Return what a pod requests: its containers and sidecars together, or the most while it starts, and overhead."""
    total: dict[str, Fraction] = {}
    for container in list_at(spec, "containers"):
        add_amounts(total, _container(container))
    beside: dict[str, Fraction] = {}
    most: dict[str, Fraction] = {}
    for container in list_at(spec, "initContainers"):
        own = _container(container)
        if part(container, "restartPolicy", kind=str) == "Always":  # a sidecar starts, and stays
            add_amounts(beside, own)
            add_amounts(total, own)
            own = {}
        starting = dict(beside)
        add_amounts(starting, own)
        for resource, value in starting.items():
            most[resource] = max(most.get(resource, Fraction(0)), value)
    found = {key: max(total.get(key, Fraction(0)), most.get(key, Fraction(0))) for key in {**total, **most}}
    found.update(_quantities(mapping_at(spec, "resources", "requests")))  # of the pod as a whole
    add_amounts(found, _quantities(mapping_at(spec, "overhead")))
    return found


def _container(container: Any) -> dict[str, Fraction]:
    """Return what a container requests; what it is only limited to is requested, too."""
    limits = mapping_at(container, "resources", "limits")
    return _quantities({**limits, **mapping_at(container, "resources", "requests")})


def _quantities(given: Mapping[str, Any]) -> dict[str, Fraction]:
    return {resource: quantity(value) for resource, value in given.items()}


def namespace_of(given: Mapping[str, Any]) -> str:
    """Return the namespace of an object."""
    return str(part(given, "metadata", "namespace", kind=str, default="default"))


def owner_of(given: Mapping[str, Any]) -> tuple[str, str]:
    """Return kind and name of what controls an object, itself where nothing does."""
    owners = list_at(given, "metadata", "ownerReferences")
    for owner in sorted(owners, key=lambda one: part(one, "controller", kind=bool) is not True):
        kind, name = part(owner, "kind", kind=str), part(owner, "name", kind=str)
        if kind and name:
            return kind, name
    return "Pod", text_at(given, "metadata", "name")
