"""The nodes of Slurm: their amounts, and those that a job asks for."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from .cluster import EntryError, Floats, Record, Texts, shown, text_at
from .slurm_text import gres, number, tres

_FEATURE = re.compile(r"[^\[\]()*,!\s]+")
#: A disjunction of conjunctions of features.
FeatureTerms = frozenset[frozenset[str]]


#: States of a node, and flags beside them, in which it takes no new tasks, or sleeps: it starts when
#: tasks need it. The words are those of Slurm's ``sinfo`` page (slurm.schedmd.com/sinfo.html, "Node
#: state codes") and of its guide to power saving (slurm.schedmd.com/power_save.html, "Node
#: lifecycle"). In any other state it is open.
_CLOSED = frozenset(
    """
    DOWN DRAIN DRAINED DRAINING ERROR FAIL FAILING BLOCKED NOT_RESPONDING NO_RESPOND INVAL INVALID
    INVALID_REG MAINT MAINTENANCE FUTURE UNKNOWN PERFCTRS REBOOT_ISSUED
    """.split()  # noqa: SIM905
)
_ASLEEP = frozenset(
    """
    POWERED_DOWN POWERING_DOWN POWER_DOWN POWERING_UP POWER_UP POWER_SAVING POWER
    """.split()  # noqa: SIM905
)
#: Backfill has planned a job on the node, and starts no other there that would delay it.
_KEPT = "PLANNED"
_SILENT = frozenset({"NOT_RESPONDING", "NO_RESPOND"})


class NodeState(NamedTuple):
    """Why a node takes no new tasks (empty: it does), the state it sleeps in, and its reservation.

    ``is_reserved`` is whether only jobs of a reservation may run on it; ``kept`` is the state in which
    backfill keeps what is free on it for one job.
    """

    closed: str
    asleep: str
    is_reserved: bool
    kept: str


def node_state(words: Iterable[str]) -> NodeState:
    """Return what the states and flags of a node say.

    >>> node_state(["IDLE", "CLOUD", "POWERED_DOWN"])
    NodeState(closed='', asleep='POWERED_DOWN', is_reserved=False, kept='')
    >>> node_state(["IDLE", "DRAIN", "POWERED_DOWN"]).closed
    'DRAIN'
    """
    states = [word.upper() for word in words]
    asleep = [state for state in states if state in _ASLEEP]
    closed = [state for state in states if state in _CLOSED]
    if "COMPLETING" in states and not {"ALLOCATED", "MIXED"} & set(states):
        closed.append("COMPLETING")  # its last job holds it until its epilog is done
    if asleep:
        closed = [state for state in closed if state not in _SILENT]
    return NodeState(
        closed="+".join(dict.fromkeys(closed)),
        asleep="" if closed else "+".join(dict.fromkeys(asleep)),
        is_reserved="RESERVED" in states,
        kept=_KEPT if _KEPT in states and not closed else "",
    )


class NodeRequest(NamedTuple):
    """The nodes that a job asks for: partitions (none: any), features, and nodes to avoid.

    ``features`` is None where the job asks for none. ``required`` are the only nodes that it may
    run on (none: any), and ``reservation`` is the one that it runs in.
    """

    partitions: Texts
    features: FeatureTerms | None
    excluded: Texts = ()
    required: Texts = ()
    reservation: str = ""


class NodeFeatures(NamedTuple):
    """The partitions and features of a node, and the reservation that it is kept for."""

    partitions: Collection[str]
    features: Collection[str]
    reservation: str = ""


def allowed_nodes(place: Hashable, nodes: Mapping[str, NodeFeatures]) -> np.ndarray:
    """Return the mask of the nodes that jobs of a place may run on."""
    assert isinstance(place, NodeRequest)
    partitions = set(place.partitions)
    excluded = set(place.excluded)
    required = set(place.required)
    mask = [
        name not in excluded
        and (not required or name in required)
        and node.reservation == place.reservation
        and _in_partitions(node, partitions)
        and _has_features(node, place.features)
        for name, node in nodes.items()
    ]
    return np.array(mask, dtype=bool)


def _in_partitions(node: NodeFeatures, partitions: set[str]) -> bool:
    """Whether a node is in one of the partitions; a node or job that names none is in all."""
    return not partitions or not node.partitions or not partitions.isdisjoint(node.partitions)


def _has_features(node: NodeFeatures, terms: FeatureTerms | None) -> bool:
    """Whether a node has all features of one term."""
    return terms is None or any(term.issubset(node.features) for term in terms)


def feature_terms(text: str) -> FeatureTerms | None:
    """Return the alternatives of a constraint; ``&`` binds more tightly than ``|``.

    Counts, ``[…]`` and parentheses raise `EntryError`.

    >>> sorted(sorted(term) for term in feature_terms("a100&nvme|h100"))
    [['a100', 'nvme'], ['h100']]
    """
    if not text.strip():
        return None
    terms = [[feature.strip() for feature in term.split("&")] for term in text.split("|")]
    if not all(_FEATURE.fullmatch(feature) for term in terms for feature in term):
        raise EntryError(
            f"constraint {shown(text)} is more than features with & and | between them"
        )
    return frozenset(map(frozenset, terms))


def node_amounts(entry: Record) -> Floats:
    """Return the amounts of a node by resource."""
    cpus = number(entry.get("effective_cpus")) or number(entry.get("cpus"))
    memory = number(entry.get("real_memory"))
    if cpus is None or memory is None or cpus < 0 or memory < 0:
        raise EntryError("it has no cpus and real_memory")
    memory -= number(entry.get("specialized_memory")) or 0.0
    amounts = {"cpu": cpus, "memory": max(memory, 0.0)}
    for resource, amount in gres(text_at(entry, "gres")).items():
        amounts[resource] = float(amount)
    return amounts


def node_use(entry: Record) -> Floats:
    """Return the use that a node reports by resource, as far as it does."""
    in_use = {
        resource: float(amount) for resource, amount in tres(text_at(entry, "tres_used")).items()
    }
    for resource, key in (("cpu", "alloc_cpus"), ("memory", "alloc_memory")):
        amount = number(entry.get(key))
        if amount is not None:
            in_use[resource] = amount
    return in_use
