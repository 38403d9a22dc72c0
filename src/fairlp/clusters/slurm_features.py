"""Where a job of Slurm may run: its partitions, the features it asks of nodes, nodes it names or excludes."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from .notes import Odd, shown

_TOKEN = re.compile(r"[&|()]|[^&|()\s]+")
#: A disjunction of conjunctions of features.
Wanted = frozenset[frozenset[str]]
_MOST_TERMS = 1000


class Place(NamedTuple):
    """Partitions (none: any), what it wants of features (None: nothing), and nodes that it must not use."""

    partitions: tuple[str, ...]
    wanted: Wanted | None
    excluded: tuple[str, ...] = ()


class Features:
    """Partitions and features of all nodes, by which places become masks."""

    def __init__(self, nodes: Sequence[tuple[str, Collection[str], Collection[str]]]) -> None:
        self._nodes = nodes

    def allowed(self, place: Hashable) -> np.ndarray | None:
        """Return where jobs of a place may be: bool by node."""
        assert isinstance(place, Place)
        found = np.ones(len(self._nodes), dtype=bool)
        partitions, excluded = set(place.partitions), set(place.excluded)
        for k, (name, own, features) in enumerate(self._nodes):
            there = set(features)
            found[k] = (
                (not partitions or not own or not partitions.isdisjoint(own))
                and (place.wanted is None or any(term <= there for term in place.wanted))
                and name not in excluded
            )
        return found


def wanted(text: str) -> Wanted | None:
    """Return what a constraint wants; ``&`` binds more than ``|``; `Odd` for counts and ``[…]``.

    >>> sorted(sorted(term) for term in wanted("a100&(nvme|ssd)"))
    [['a100', 'nvme'], ['a100', 'ssd']]
    """
    if not text.strip():
        return None
    if any(letter in text for letter in "[]*,!"):
        raise Odd(f"constraint {shown(text)} counts nodes or asks that all have the same")
    tokens = [*_TOKEN.findall(text), ""]
    found, at = _either(tokens, 0, text)
    if tokens[at]:
        raise Odd(f"constraint {shown(text)} is not understood at {shown(tokens[at])}")
    return found


def _either(tokens: list[str], at: int, text: str) -> tuple[Wanted, int]:
    found, at = _both(tokens, at, text)
    while tokens[at] == "|":
        more, at = _both(tokens, at + 1, text)
        found |= more
    return found, at


def _both(tokens: list[str], at: int, text: str) -> tuple[Wanted, int]:
    found, at = _one(tokens, at, text)
    while tokens[at] == "&":
        more, at = _one(tokens, at + 1, text)
        if len(found) * len(more) > _MOST_TERMS:
            raise Odd(f"constraint {shown(text)} stands for more than {_MOST_TERMS} alternatives")
        found = frozenset(one | other for one in found for other in more)
    return found, at


def _one(tokens: list[str], at: int, text: str) -> tuple[Wanted, int]:
    if tokens[at] == "(":
        found, at = _either(tokens, at + 1, text)
        if tokens[at] != ")":
            raise Odd(f"constraint {shown(text)}: a parenthesis is not closed")
        return found, at + 1
    if tokens[at] in ("", "&", "|", ")"):
        raise Odd(f"constraint {shown(text)} is not understood at {shown(tokens[at] or 'its end')}")
    return frozenset({frozenset({tokens[at]})}), at + 1
