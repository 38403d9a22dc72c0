"""A tree of queues that users stand in: weights among siblings, guarantees and caps by resource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ...errors import InstanceError, UnknownNameError, nearest
from ..notation.expressions import Index

#: The path of the tree's root.
ROOT = ""
#: What parts the names in a path.
SLASH = "/"


@dataclass(frozen=True, eq=False)
class Queues:
    """A tree of queues over the users of an instance; make one by ``Instance.from_arrays(…, queue=, queues=)``.

    Users are the leaves: each is a child of the queue that it stands in, beside that queue's own queues, and competes
    with them by its weight.

    Attributes
    ----------
    paths : Index
        Path of each queue (``"org/team"``), the root ``""`` first and parents before their children.
    weights : ndarray, shape (Q,)
        Weight of each queue among its siblings (w[v]).
    guarantees : ndarray, shape (Q, R)
        Amount of each resource that the users below are guaranteed together (G[v,r]); 0 for none.
    caps : ndarray, shape (Q, R)
        Amount of each resource that the users below may have together (L[v,r]); infinite for none.
    of : ndarray of int, shape (N,)
        Position of the queue that each user stands in.
    """

    paths: Index
    weights: np.ndarray
    guarantees: np.ndarray
    caps: np.ndarray
    of: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.weights, self.guarantees, self.caps, self.of):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.paths)

    @cached_property
    def parents(self) -> np.ndarray:
        """Position of each queue's parent; the root is its own."""
        place = {path: v for v, path in enumerate(self.paths)}
        return np.array([place[parent_of(path)] for path in self.paths])

    @cached_property
    def depths(self) -> np.ndarray:
        """How many steps each queue is below the root."""
        return np.array([0 if path == ROOT else path.count(SLASH) + 1 for path in self.paths])

    @cached_property
    def below(self) -> sparse.csr_array:
        """Which users stand in a queue or in one below it: a matrix of 0 and 1, queues × users."""
        chains, at = [], self.of
        for _ in range(int(self.depths.max()) + 1):
            chains.append(at)
            at = self.parents[at]
        queue = np.concatenate(chains)
        user = np.tile(np.arange(len(self.of)), len(chains))
        matrix = sparse.csr_array((np.ones(len(queue)), (queue, user)), shape=(len(self), len(self.of)))
        matrix.data[:] = 1.0  # the root is its own parent, and may be there several times
        return matrix

    @property
    def guaranteed(self) -> np.ndarray:
        """Positions of the queues that have a guarantee."""
        return np.flatnonzero(self.guarantees.any(axis=1))

    @property
    def capped(self) -> np.ndarray:
        """Which queue has a cap of which resource: bool, shape (Q, R)."""
        return np.asarray(np.isfinite(self.caps))

    def barred(self, demands: np.ndarray) -> np.ndarray:
        """Return who can have nothing: a queue above has a cap of 0 on something that it demands. Bool, shape (N,)."""
        none = self.below.T @ (self.caps == 0).astype(float)
        return np.asarray(((none > 0) & (demands > 0)).any(axis=1))

    def over_caps(self, totals: np.ndarray, demands: np.ndarray) -> tuple[float, int, int]:
        """Return the largest violation of a cap, relative to it (0 for none), and its queue and resource."""
        has = self.below @ (totals[:, None] * demands)
        with np.errstate(invalid="ignore"):
            beyond = np.where(self.capped, (has - self.caps) / np.where(self.caps > 0, self.caps, 1.0), 0.0)
        v, r = divmod(int(beyond.argmax()), beyond.shape[1])
        return max(float(beyond[v, r]), 0.0), v, r

    def with_room_for(self, totals: np.ndarray, demands: np.ndarray) -> Queues:
        """Return the tree with caps raised to what users have, where that is more."""
        return replace(self, caps=np.maximum(self.caps, self.below @ (totals[:, None] * demands)))

    @property
    def has_limits(self) -> bool:
        """Whether any queue has a guarantee or a cap."""
        return bool(self.guarantees.any() or self.capped.any())

    @property
    def is_flat(self) -> bool:
        """Whether all users stand in the root."""
        return not self.of.any()

    def names(self) -> tuple[str, ...]:
        """Return the path of each user's queue."""
        return tuple(self.paths.labels[self.of])

    def at_depth(self, depth: int | None = None) -> np.ndarray:
        """Return the position of each user's queue at a depth (1: children of the root), its own if it is higher."""
        at = self.of.copy()
        if depth is not None:
            for _ in range(int(self.depths.max())):
                at = np.where(self.depths[at] > depth, self.parents[at], at)
        return np.asarray(at)

    def table(self, resources: Index) -> pd.DataFrame:
        """Return the queues as a table: weight, ``guarantee:<resource>`` and ``cap:<resource>`` where there are any."""
        columns: dict[str, Any] = {"weight": self.weights}
        for word, amounts, given in (
            ("guarantee", self.guarantees, self.guarantees > 0),
            ("cap", self.caps, self.capped),
        ):
            columns |= {f"{word}:{r}": amounts[:, k] for k, r in enumerate(resources) if given[:, k].any()}
        return pd.DataFrame(columns, index=pd.Index(self.paths.labels, name="queue"))

    def select(self, users: np.ndarray) -> Queues:
        """Return the same tree over these users only, by position."""
        return replace(self, of=self.of[users])

    def of_resources(self, positions: np.ndarray) -> Queues:
        """Return the same tree with guarantees and caps of these resources only, by position."""
        return replace(self, guarantees=self.guarantees[:, positions], caps=self.caps[:, positions])

    def equals(self, other: Queues) -> bool:
        """Whether two trees are the same, whatever the order of siblings."""
        if set(self.paths) != set(other.paths) or self.names() != other.names():
            return False
        place = {path: v for v, path in enumerate(other.paths)}
        at = [place[path] for path in self.paths]
        parts = ("weights", "guarantees", "caps")
        return all(np.array_equal(getattr(self, part), getattr(other, part)[at]) for part in parts)

    def named(self, path: Any) -> int:
        """Return the position of a queue; an error has the nearest names."""
        wanted = cleaned(path)
        for v, known in enumerate(self.paths):
            if known == wanted:
                return v
        raise UnknownNameError(f"there is no queue {path!r}; {nearest(path, self.paths)}")

    def __repr__(self) -> str:
        count, depth = len(self) - 1, int(self.depths.max())
        limits = [word for word, some in self._limits() if some]
        return f"<Queues: {count} below the root, depth {depth}{''.join(f', {word}' for word in limits)}>"

    def _limits(self) -> Iterable[tuple[str, bool]]:
        return ("guarantees", bool(self.guarantees.any())), ("caps", bool(self.capped.any()))


def parent_of(path: str) -> str:
    """Return the path of the parent; the root is its own.

    >>> parent_of("org/team"), parent_of("org")
    ('org', '')
    """
    return path.rpartition(SLASH)[0]


def lineage(path: str) -> list[str]:
    """Return a path and all that lead to it, the root first.

    >>> lineage("org/team")
    ['', 'org', 'org/team']
    """
    steps = path.split(SLASH) if path else []
    return [SLASH.join(steps[:depth]) for depth in range(len(steps) + 1)]


def cleaned(path: Any) -> str:
    """Return a path without a slash at either end; None is the root.

    >>> cleaned("/org/team/"), cleaned(None)
    ('org/team', '')
    """
    if path is None or (isinstance(path, float) and np.isnan(path)):
        return ROOT
    if not isinstance(path, str):
        raise InstanceError(f"queue {path!r} is {type(path).__name__}; expected a path such as 'org/team' (text)")
    found = path.strip(SLASH)
    if SLASH * 2 in found:
        raise InstanceError(f"queue {path!r} has an empty name between two slashes; expected a path such as 'org/team'")
    return found


def resolve(queue: Any, queues: Any, users: Index, resources: Index) -> Queues | None:
    """Return the tree of what was given: the path of each user's queue, and what is known of the queues.

    Parameters
    ----------
    queue : sequence, Series or mapping of str, or None
        Path of each user's queue; None: the root, or what ``queues`` (a tree) says.
    queues : Queues, DataFrame, mapping or None
        By path: a weight, or ``weight``, ``guarantee`` and ``cap`` (mappings by resource); a table has the columns
        ``weight``, ``guarantee:<resource>`` and ``cap:<resource>``. Queues that are not in it have weight 1.
    """
    from .queue_tables import rows_of, stood_in

    if queue is None and queues is None:
        return None
    if isinstance(queues, Queues):
        if queue is None:
            queue = queues.names()
        queues = queues.table(resources)
    rows = rows_of(queues, resources)
    paths = stood_in(queue, users, rows)
    tree = _preorder([*rows, *paths])
    place = {path: v for v, path in enumerate(tree)}
    weights, guarantees = np.ones(len(tree)), np.zeros((len(tree), len(resources)))
    caps = np.full(guarantees.shape, np.inf)
    for path, (weight, guarantee, cap) in rows.items():
        weights[place[path]], guarantees[place[path]], caps[place[path]] = weight, guarantee, cap
    labels = Index("v", pd.Index(tree, dtype=object), "queue")
    return Queues(labels, weights, guarantees, caps, np.array([place[path] for path in paths], dtype=np.intp))


def _preorder(paths: Iterable[str]) -> list[str]:
    """Return the paths and all that lead to them, parents before their children, siblings in order of appearance."""
    children: dict[str, dict[str, None]] = {ROOT: {}}
    for path in paths:
        for here in lineage(path)[1:]:
            children.setdefault(here, {})
            children[parent_of(here)][here] = None
    found, stack = [], [ROOT]
    while stack:
        found.append(stack.pop())
        stack.extend(reversed(children[found[-1]]))
    return found
