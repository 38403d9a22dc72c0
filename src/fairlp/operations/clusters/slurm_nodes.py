"""The nodes of Slurm: their amounts, and those that a job asks for."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Hashable, Mapping
from typing import NamedTuple

import numpy as np

from .cluster import EntryError, Floats, Record, shown, text_at
from .slurm_text import gres, number, tres

_TOKEN = re.compile(r"[&|()]|[^&|()\s]+")
#: A disjunction of conjunctions of features.
FeatureTerms = frozenset[frozenset[str]]
_MOST_TERMS = 1000
_MOST_NESTED = 100


class NodeRequest(NamedTuple):
    """The nodes that a job asks for: partitions (none: any), features, and nodes to avoid.

    ``features`` is None where the job asks for none.
    """

    partitions: tuple[str, ...]
    features: FeatureTerms | None
    excluded: tuple[str, ...] = ()


class NodeFeatures(NamedTuple):
    """The partitions and features of a node."""

    partitions: Collection[str]
    features: Collection[str]


def allowed_nodes(place: Hashable, nodes: Mapping[str, NodeFeatures]) -> np.ndarray:
    """Return the mask of the nodes that jobs of a place may run on."""
    assert isinstance(place, NodeRequest)
    partitions = set(place.partitions)
    excluded = set(place.excluded)
    mask = [
        name not in excluded
        and _in_partitions(node, partitions)
        and _has_features(node, place.features)
        for name, node in nodes.items()
    ]
    return np.array(mask, dtype=bool)


def why_nowhere(place: Hashable, nodes: Mapping[str, NodeFeatures]) -> str:
    """Return why no node may take the jobs of a place: partition, features or excluded nodes."""
    assert isinstance(place, NodeRequest)
    partitions = set(place.partitions)
    in_partition = [node for node in nodes.values() if _in_partitions(node, partitions)]
    of_partition = f" of partition {', '.join(place.partitions)}" if place.partitions else ""
    if not in_partition:
        return f"no node is in partition {', '.join(place.partitions)}"
    if not any(_has_features(node, place.features) for node in in_partition):
        terms = ["&".join(sorted(term)) for term in place.features or ()]
        return f"no node{of_partition} has the features {'|'.join(sorted(terms))}"
    return f"the nodes{of_partition} that it could run on are excluded"


def _in_partitions(node: NodeFeatures, partitions: set[str]) -> bool:
    """Whether a node is in one of the partitions; a node or job that names none is in all."""
    return not partitions or not node.partitions or not partitions.isdisjoint(node.partitions)


def _has_features(node: NodeFeatures, terms: FeatureTerms | None) -> bool:
    """Whether a node has all features of one term."""
    return terms is None or any(term.issubset(node.features) for term in terms)


def feature_terms(text: str) -> FeatureTerms | None:
    """Return the alternatives of a constraint; ``&`` binds more tightly than ``|``.

    Counts and ``[…]`` raise `EntryError`.

    >>> sorted(sorted(term) for term in feature_terms("a100&(nvme|ssd)"))
    [['a100', 'nvme'], ['a100', 'ssd']]
    """
    if not text.strip():
        return None
    if any(letter in text for letter in "[]*,!"):
        raise EntryError(f"constraint {shown(text)} counts nodes or asks that all have the same")
    if text.count("(") > _MOST_NESTED:
        raise EntryError(f"constraint {shown(text)} has more than {_MOST_NESTED} parentheses")
    tokens = deque([*_TOKEN.findall(text), ""])
    terms = _read_alternatives(tokens, text)
    if tokens[0]:
        raise EntryError(f"constraint {shown(text)} is not understood at {shown(tokens[0])}")
    return terms


def _read_alternatives(tokens: deque[str], text: str) -> FeatureTerms:
    """Read alternatives from the tokens: conjunctions with ``|`` between them."""
    terms = _read_conjunction(tokens, text)
    while tokens[0] == "|":
        tokens.popleft()
        terms |= _read_conjunction(tokens, text)
    return terms


def _read_conjunction(tokens: deque[str], text: str) -> FeatureTerms:
    """Read a conjunction from the tokens: features or parentheses with ``&`` between them."""
    terms = _read_feature(tokens, text)
    while tokens[0] == "&":
        tokens.popleft()
        factor = _read_feature(tokens, text)
        if len(terms) * len(factor) > _MOST_TERMS:
            raise EntryError(
                f"constraint {shown(text)} stands for more than {_MOST_TERMS} alternatives"
            )
        terms = frozenset(term | other for term in terms for other in factor)
    return terms


def _read_feature(tokens: deque[str], text: str) -> FeatureTerms:
    """Read a feature, or alternatives in parentheses, from the tokens."""
    token = tokens.popleft()
    if token == "(":
        terms = _read_alternatives(tokens, text)
        if tokens.popleft() != ")":
            raise EntryError(f"constraint {shown(text)}: a parenthesis is not closed")
        return terms
    if token in ("", "&", "|", ")"):
        raise EntryError(
            f"constraint {shown(text)} is not understood at {shown(token or 'its end')}"
        )
    return frozenset({frozenset({token})})


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
