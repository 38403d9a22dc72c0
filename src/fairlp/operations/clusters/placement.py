"""Where a pod may be: node selector, required node affinity, taints and tolerations, over all nodes at once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from .notes import Notes, Odd, Where, list_at, mapping_at, part, shown, text_at

#: A node's own name, which fields of an affinity select by.
NAME: Final = "\0name"
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_BINDING: Final = ("NoSchedule", "NoExecute")


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


def place_of(spec: Mapping[str, Any], pinned: bool, where: Where, notes: Notes) -> Place:
    """Return what a pod asks of its node; what cannot be said so is noted.

    Parameters
    ----------
    spec : mapping
        The pod's.
    pinned : bool
        Whether it is a DaemonSet's, whose pods are each bound to one node by name: that is left out.
    where : tuple of str
        File and pod.
    notes : Notes
    """
    selector = mapping_at(spec, "nodeSelector")
    simple = tuple(Requirement(key, "In", (str(value),)) for key, value in sorted(selector.items()))
    required = part(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = None
    if required is not None:
        found = [_term(entry, pinned, where, notes) for entry in list_at(required, "nodeSelectorTerms")]
        terms = None if () in found else tuple(term for term in found if term is not None)
    if part(spec, "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution", kind=list):
        notes.add(*where, "affinity.nodeAffinity.preferred…", "left out: a wish, and no rule")
    for kind in ("podAffinity", "podAntiAffinity"):
        if part(spec, "affinity", kind):
            notes.add(*where, f"affinity.{kind}", "left out: it depends on where other pods are")
    return Place(simple, terms, _tolerations(spec))


def _term(entry: Any, pinned: bool, where: Where, notes: Notes) -> tuple[Requirement, ...] | None:
    """Return the lines of a term; None where it has none, which selects no node."""
    found, empty = [], True
    for kind in ("matchExpressions", "matchFields"):
        for line in list_at(entry, kind):
            empty = False
            key, operator = text_at(line, "key"), text_at(line, "operator")
            if kind == "matchFields":
                if pinned:
                    notes.add(*where, "a DaemonSet's pod is bound to its node by name", "left out: all are one user")
                    continue
                key = NAME if key == "metadata.name" else f"\0{key}"
            values = tuple(map(str, list_at(line, "values")))
            if operator not in _OPERATORS or (operator in ("Gt", "Lt") and not _whole(values)):
                notes.add(*where, f"operator {shown(operator)} of {values!r} in node affinity", "this line is left out")
                continue
            found.append(Requirement(key, operator, values))
    return None if empty else tuple(found)


def _whole(values: Sequence[str]) -> bool:
    return len(values) == 1 and values[0].lstrip("+-").isdecimal()


def _tolerations(spec: Mapping[str, Any]) -> tuple[Toleration, ...]:
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


def taints_of(spec: Mapping[str, Any]) -> Taints:
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

    def __init__(self, labels: Sequence[Mapping[str, Any]], taints: Sequence[Taints]) -> None:
        self._labels = labels
        self._lines: dict[Requirement, np.ndarray] = {}
        kinds = {kind: k for k, kind in enumerate(dict.fromkeys(taints))}
        self._kinds = list(kinds)
        self._kind = np.array([kinds[kind] for kind in taints], dtype=np.intp)

    def allowed(self, place: Hashable) -> np.ndarray | None:
        """Return where pods of a place may be: bool by node."""
        assert isinstance(place, Place)
        borne = np.array([all(_borne(taint, place.tolerations) for taint in kind) for kind in self._kinds], dtype=bool)
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
    operator, values = line.operator, line.values
    if operator in ("In", "NotIn"):
        return (value is not None and value in values) == (operator == "In")
    if operator in ("Exists", "DoesNotExist"):
        return (value is not None) == (operator == "Exists")
    if value is None or not _whole((value,)):
        return False
    return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])


def _borne(taint: tuple[str, str, str], tolerations: tuple[Toleration, ...]) -> bool:
    key, value, effect = taint
    for one in tolerations:
        same_value = one.operator == "Exists" or (one.operator in ("Equal", "") and one.value == value)
        if one.effect in ("", effect) and one.key in ("", key) and same_value and (one.key or one.operator == "Exists"):
            return True
    return False
