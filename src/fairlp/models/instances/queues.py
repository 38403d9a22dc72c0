"""A tree of queues above users: weights among siblings; guarantees, caps, quotas by resource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ...errors import InstanceError, nearest, quoted, require_known
from ..notation.expressions import Index
from ..notation.labels import aligned, refuse, require_ordered, require_text
from ..notation.reals import NumberError, is_number, number
from .arithmetic import relative
from .branches import Branches
from .checks import whole_digits
from .quotas import KINDS, Quotas, parted, quotas_of

__all__ = ["LEAST_WEIGHT", "ROOT", "Queues", "cleaned", "lineage", "parent_of"]

#: The path of the tree's root.
ROOT = ""
#: What parts the names in a path.
SLASH = "/"
#: Stands for a weight of 0: such a queue has only what no other queue wants, which no weight says.
LEAST_WEIGHT = 1 / 1000


@dataclass(frozen=True, eq=False)
class Queues:
    """A tree of queues over users, made by ``Instance.from_arrays(…, queue=, queues=)``.

    Users are the leaves: each is a child of the queue that it stands in, beside that queue's own
    queues, and competes with them by its weight.

    Attributes
    ----------
    paths : Index
        Path of each queue (``"org/team"``), the root ``""`` first and parents before their
        children.
    weights : ndarray, shape (Q,)
        Weight of each queue among its siblings (w[v]).
    guarantees : ndarray, shape (Q, R)
        Amount of each resource that the users below are guaranteed together (G[v,r]); 0 for none.
    caps : ndarray, shape (Q, R)
        Amount of each resource that the users below may have together (L[v,r]); infinite for none.
    of : ndarray of int, shape (N,)
        Position of the queue that each user stands in.
    quotas : Quotas or None
        What belongs to queues in the books, as Kueue means it.
    """

    paths: Index
    weights: np.ndarray
    guarantees: np.ndarray
    caps: np.ndarray
    of: np.ndarray
    quotas: Quotas | None = None

    def __post_init__(self) -> None:
        for array in (self.weights, self.guarantees, self.caps, self.of):
            array.setflags(write=False)

    @classmethod
    @lru_cache(maxsize=64)
    def root(cls, users: int, resources: int) -> Queues:
        """Return the root alone, in which all users stand."""
        none = np.zeros((1, resources))
        return cls(
            Index("v", [ROOT], "queue"),
            np.ones(1),
            none,
            none + np.inf,
            np.zeros(users, dtype=np.intp),
        )

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
    def branches(self) -> Branches:
        """How queues hang together above the users."""
        return Branches(self.parents, self.depths, self.weights, self.of, list(self.paths))

    def branches_with_users(self, weights: np.ndarray) -> Branches:
        """Return how queues and, after them, users of these weights hang together as nodes."""
        return Branches(
            np.concatenate([self.parents, self.of]),
            np.concatenate([self.depths, self.depths[self.of] + 1]),
            np.concatenate([self.weights, weights]),
            len(self) + np.arange(len(self.of)),
            [*self.paths, *self.names()],
        )

    @cached_property
    def below(self) -> sparse.csr_array:
        """Which users stand in a queue or in one below it: a matrix of 0 and 1, queues × users."""
        chains = []
        ancestors = self.of
        for _ in range(int(self.depths.max()) + 1):
            chains.append(ancestors)
            ancestors = self.parents[ancestors]
        queue = np.concatenate(chains)
        user = np.tile(np.arange(len(self.of)), len(chains))
        matrix = sparse.csr_array(
            (np.ones(len(queue)), (queue, user)), shape=(len(self), len(self.of))
        )
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

    def weights_along(self, user_weights: np.ndarray) -> np.ndarray:
        """Return the product of each user's weight and those of the queues above it, shape (N,)."""
        weights = user_weights.astype(float)
        queue = self.of
        while queue.any():  # up to the root
            weights = weights * self.weights[queue]
            queue = self.parents[queue]
        return weights

    def barred(self, demands: np.ndarray) -> np.ndarray:
        """Return the users below a queue with a cap of 0 on a resource that they demand.

        They can have nothing. Bool, shape (N,).
        """
        if self.caps.all():
            return np.zeros(len(demands), dtype=bool)
        none = self.below.T @ (self.caps == 0).astype(float)
        return np.asarray(((none > 0) & (demands > 0)).any(axis=1))

    def over_caps(self, totals: np.ndarray, demands: np.ndarray) -> tuple[float, int, int]:
        """Return the largest relative violation of a cap (0 for none), its queue and resource."""
        if not self.capped.any():
            return 0.0, 0, 0
        amounts = self.below @ (totals[:, None] * demands)
        with np.errstate(invalid="ignore"):
            violations = np.where(self.capped, relative(amounts - self.caps, self.caps), 0.0)
        v, r = divmod(int(violations.argmax()), violations.shape[1])
        return max(float(violations[v, r]), 0.0), v, r

    def with_room_for(self, totals: np.ndarray, demands: np.ndarray) -> Queues:
        """Return the tree with caps raised to what users have, where that is more."""
        amounts = self.below @ (totals[:, None] * demands)
        return replace(self, caps=np.maximum(self.caps, amounts))

    @cached_property
    def has_limits(self) -> bool:
        """Whether any queue has a guarantee or a cap."""
        return bool(self.guarantees.any() or self.capped.any())

    @property
    def is_flat(self) -> bool:
        """Whether all users stand in the root."""
        return not self.of.any()

    def users_below(self, v: int) -> np.ndarray:
        """Return 1 for each user in a queue or below it, and 0 for the others. Shape (N,)."""
        indicator: np.ndarray = self.below[[v]].todense().ravel()
        return indicator

    def chain(self, v: int) -> list[int]:
        """Return the positions of a queue and of those above it, the root last."""
        chain = [v]
        while chain[-1] != self.parents[chain[-1]]:
            chain.append(int(self.parents[chain[-1]]))
        return chain

    def names(self) -> tuple[str, ...]:
        """Return the path of each user's queue."""
        return tuple(self.paths.labels[self.of])

    def at_depth(self, depth: int | None = None) -> np.ndarray:
        """Return the position of each user's queue at a depth (1: children of the root).

        A user whose own queue is higher has that one.
        """
        queue_of = self.of.copy()
        if depth is not None:
            for _ in range(int(self.depths.max())):
                queue_of = np.where(self.depths[queue_of] > depth, self.parents[queue_of], queue_of)
        return queue_of

    def table(self, resources: Index) -> pd.DataFrame:
        """Return the queues as a table: weights, and columns such as ``guarantee:<resource>``."""
        columns = {"weight": self.weights}
        for word, amounts, is_set in (
            ("guarantee", self.guarantees, self.guarantees > 0),
            ("cap", self.caps, self.capped),
        ):
            columns |= {
                f"{word}:{r}": amounts[:, k] for k, r in enumerate(resources) if is_set[:, k].any()
            }
        if self.quotas is not None:
            names = self.quotas.names(resources)
            tables = np.where(np.isinf(self.quotas.amounts), np.nan, self.quotas.amounts)
            for kind, table in zip(KINDS, tables, strict=True):
                for m, name in enumerate(names):
                    columns[f"{kind}:{name}"] = table[:, m]
        index = pd.Index(self.paths.labels, name="queue")
        return pd.DataFrame(columns, index=index).dropna(axis="columns", how="all")

    def select(self, users: np.ndarray) -> Queues:
        """Return the same tree over these users only, by position."""
        return replace(self, of=self.of[users])

    def of_resources(self, positions: np.ndarray) -> Queues:
        """Return the same tree with guarantees, caps and quotas of these resources, by position."""
        quotas = None if self.quotas is None else self.quotas.of_resources(positions)
        return replace(
            self,
            guarantees=self.guarantees[:, positions],
            caps=self.caps[:, positions],
            quotas=quotas,
        )

    def equals(self, other: Queues) -> bool:
        """Whether two trees are the same, whatever the order of siblings."""
        if set(self.paths) != set(other.paths) or self.names() != other.names():
            return False
        place = {path: v for v, path in enumerate(other.paths)}
        position = [place[path] for path in self.paths]
        parts = ("weights", "guarantees", "caps")
        is_same = all(
            np.array_equal(getattr(self, attribute), getattr(other, attribute)[position])
            for attribute in parts
        )
        if self.quotas is None or other.quotas is None:
            return is_same and self.quotas is other.quotas
        quotas = self.quotas
        other_quotas = other.quotas
        labels = range(self.guarantees.shape[1])
        return is_same and all(
            quotas.said(v, labels) == other_quotas.said(position[v], labels)
            for v in range(len(self))
        )

    def named(self, path: Any) -> int:
        """Return the position of a queue; an error has the nearest names."""
        cleaned_path = cleaned(path)
        require_known(cleaned_path, list(self.paths), f"there is no queue {quoted(path)}")
        return list(self.paths).index(cleaned_path)

    def __repr__(self) -> str:
        count = len(self) - 1
        depth = int(self.depths.max())
        limits = (", guarantees" if self.guarantees.any() else "") + (
            ", caps" if self.capped.any() else ""
        )
        limits += ", quotas" if self.quotas is not None else ""
        return f"<Queues: {count} below the root, depth {depth}{limits}>"


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


def cleaned(path: Any, owner: str = "") -> str:
    """Return a path without a slash at either end; None is the root. An error names the owner.

    >>> cleaned("/org/team/"), cleaned(None)
    ('org/team', '')
    """
    if path is None or (isinstance(path, float) and np.isnan(path)):
        return ROOT
    require_text(path, f"the path of a queue{owner}", InstanceError)
    stripped: str = path.strip(SLASH)
    if SLASH * 2 in stripped:
        raise InstanceError(
            f"queue {quoted(path)}{owner} has an empty name; expected a path such as 'org/team'"
        )
    return stripped


def resolve(queue: Any, queues: Any, users: Index, resources: Index) -> Queues | None:
    """Return the tree of queues from each user's path and the entries of queues.

    Parameters
    ----------
    queue : sequence, Series or mapping of str, or None
        Path of each user's queue; None: the root, or what ``queues`` (a tree) says.
    queues : Queues, DataFrame, mapping or None
        By path: a weight, or ``weight``, ``guarantee`` and ``cap`` (mappings by resource), and
        ``nominal``, ``borrowing`` and ``lending`` (mappings by resource, or by
        ``resource@condition``, where the condition picks the servers of a flavor); a table has the
        columns ``weight``, ``guarantee:<resource>`` and so on. Queues that are not in it have
        weight 1.
    """
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
    weights = np.ones(len(tree))
    guarantees = np.zeros((len(tree), len(resources)))
    caps = np.full(guarantees.shape, np.inf)
    for path, (weight, guarantee, cap, _) in rows.items():
        v = place[path]
        weights[v] = weight
        guarantees[v] = guarantee
        caps[v] = cap

    quotas_by_path = {path: row[3] for path, row in rows.items()}
    quotas = quotas_of(quotas_by_path, tree, resources)
    labels = Index("v", pd.Index(tree, dtype=object), "queue")
    return Queues(
        labels,
        weights,
        guarantees,
        caps,
        np.array([place[path] for path in paths], dtype=np.intp),
        quotas,
    )


def _preorder(paths: Iterable[str]) -> list[str]:
    """Return the paths with all their ancestors, parents first, siblings in order of appearance."""
    children: dict[str, dict[str, None]] = {ROOT: {}}
    for path in paths:
        for prefix in lineage(path)[1:]:
            children.setdefault(prefix, {})
            children[parent_of(prefix)][prefix] = None
    ordered = []
    stack = [ROOT]
    while stack:
        ordered.append(stack.pop())
        stack.extend(reversed(children[ordered[-1]]))
    return ordered


#: Weight, guarantee and cap of a queue, and what it says of its quotas.
Row = tuple[float, np.ndarray, np.ndarray, dict[str, dict[str, float]]]
_KEYS = ("weight", "guarantee", "cap", *KINDS)
_EXPECTED = (
    "a mapping from the path of a queue to its weight, guarantee and cap, or a table with one row "
    "a queue"
)


def rows_of(queues: Any, resources: Index) -> dict[str, Row]:
    """Return weight, guarantee and cap of each queue of a mapping or table, by path."""
    if queues is None:
        return {}
    if isinstance(queues, pd.DataFrame):
        entries: Iterable[tuple[Any, Any]] = _records(queues, resources)
    elif isinstance(queues, Mapping):
        entries = queues.items()
    elif isinstance(queues, str) or not isinstance(queues, Iterable):
        raise InstanceError(f"queues are {type(queues).__name__}; expected {_EXPECTED}")
    else:
        require_ordered(queues, "the argument 'queues'", InstanceError)
        entries = [(path, None) for path in queues]
    rows: dict[str, Row] = {}
    for path, entry in entries:
        name = cleaned(path)
        if name in rows:
            raise InstanceError(f"queue {name!r} occurs twice; the path of a queue must be unique")
        rows[name] = _row(name, entry, resources)
    return rows


def stood_in(queue: Any, users: Index, rows: Mapping[str, Row]) -> list[str]:
    """Return the path of each user's queue.

    A path that is nearly that of a listed queue without users is an error.
    """
    if queue is None:
        return [ROOT] * len(users)
    ordered = (
        None
        if isinstance(queue, str)
        else aligned(queue, (users,), "the argument 'queue'", InstanceError)
    )
    labels = list(ordered) if isinstance(ordered, Iterable) else []
    if len(labels) != len(users):
        raise InstanceError(
            f"queue is {quoted(queue)}; expected the path of each user's queue, {len(users)} of them"
        )
    labelled = zip(users, labels, strict=True)
    paths = [cleaned(path, f" of user {user!r}") for user, path in labelled]
    used = {above for path in paths for above in lineage(path)}
    idle = [path for path in rows if path not in used]
    for user, path in zip(users, paths, strict=True):
        if path not in rows and idle and not any(listed.startswith(path + "/") for listed in rows):
            meant = nearest(path, idle)
            if meant.startswith("did you mean"):
                raise InstanceError(
                    f"user {user!r} stands in queue {quoted(path)}, which is not in queues; {meant}"
                )
    return paths


def _row(path: str, entry: Any, resources: Index) -> Row:
    """Return what is given of one queue: nothing, its weight, or a mapping."""
    if entry is None:
        entry = {}
    if not isinstance(entry, Mapping):
        entry = {"weight": entry}
    owner = f"queue {quoted(path)}"
    for key in entry:
        require_known(key, _KEYS, f"{owner} has {quoted(key)}", InstanceError)
    weight = np.array(_number(entry.get("weight", 1.0), f"weight of {owner}"))
    is_weight = np.isfinite(weight) & (weight > 0)
    refuse(~is_weight, weight, (), f"weight of {owner}", "a finite number > 0", InstanceError)
    whole_digits(weight, f"weight of {owner}")
    guarantee = _amounts(entry.get("guarantee"), f"guarantee of {owner}", resources, 0.0)
    cap = _amounts(entry.get("cap"), f"cap of {owner}", resources, np.inf)
    for name, row, refused, expected in (
        ("guarantee", guarantee, ~np.isfinite(guarantee) | (guarantee < 0), "a finite number >= 0"),
        ("cap", cap, np.isnan(cap) | (cap < 0), "a number >= 0"),
        ("guarantee", guarantee, guarantee > cap, "at most its cap"),
    ):
        expected += " (leave it out for none)"
        refuse(refused, row, (resources,), f"{name} of {owner}", expected, InstanceError)
        whole_digits(row, f"{name} of {owner}", resources)
    quotas = {}
    for kind in KINDS:
        name = f"{kind} of {owner}"
        amounts = _mapping(entry.get(kind), name).items()
        quotas[kind] = {
            str(key): _number(amount, f"{name}, {quoted(key)},")
            for key, amount in amounts
            if amount is not None
        }
        for key in quotas[kind]:
            parted(key, resources, name)
    return float(weight), guarantee, cap, quotas


def _amounts(amounts: Any, name: str, resources: Index, default: float) -> np.ndarray:
    """Return one number for each resource; one that is left out is the default."""
    row = np.full(len(resources), default)
    place = {resource: r for r, resource in enumerate(resources)}
    for resource, amount in _mapping(amounts, name).items():
        require_known(resource, place, f"{name} names {resource!r}", InstanceError)
        if amount is not None:
            row[place[resource]] = _number(amount, f"{name}, resource {resource!r},")
    return row


def _mapping(amounts: Any, name: str) -> Mapping[Any, Any]:
    """Return amounts by resource as a mapping; nothing is none."""
    if amounts is None or isinstance(amounts, pd.Series):
        return {} if amounts is None else amounts.to_dict()
    if not isinstance(amounts, Mapping):
        raise InstanceError(
            f"{name} is {quoted(amounts)}; expected a mapping from resources to amounts"
        )
    return amounts


def _number(value: Any, name: str) -> float:
    with suppress(NumberError):
        if is_number(value):
            return number(value)
    raise InstanceError(f"{name} is {quoted(value)}; expected a number")


def _records(table: pd.DataFrame, resources: Index) -> Iterable[tuple[Any, dict[str, Any]]]:
    """Return each row of a table as a mapping; blank cells are left out."""
    if "queue" in table.columns:
        table = table.set_index("queue")
    key_of = {f"{word}:{r}": (word, r) for word in _KEYS[1:] for r in resources}
    for column in map(str, table.columns):
        word, _, name = column.partition(":")
        if word in KINDS and name:
            key_of[column] = word, name
    for column in table.columns:
        problem = f"the table of queues has a column {column!r}"
        require_known(column, ["weight", *key_of], problem, InstanceError)
    if not table.columns.is_unique:
        raise InstanceError("the table of queues has a column twice; expected each once")
    # some versions of pandas give no records of a table that has no columns
    records = table.to_dict("records") if len(table.columns) else [{}] * len(table)
    for path, cells in zip(table.index, records, strict=True):
        record = {}
        for header, value in cells.items():
            column = str(header)
            if value is None or (isinstance(value, float) and np.isnan(value)):
                continue
            if column == "weight":
                record["weight"] = value
            else:
                word, resource = key_of[column]
                record.setdefault(word, {})[resource] = value
        yield path, record
