"""What every reader fills: nodes, leaves with the tasks that run and wait, and what is known of queues."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from ...models.instances.queues import LEAST_WEIGHT

# What a reader did not understand, or left out: one line each, and many alike counted in one.

#: Lines that are shown of those that say the same; the rest is counted in one more.
_SHOWN = 20
COLUMNS = ("file", "where", "what", "done")


#: A mapping of a dump, as JSON has it.
Record = dict[str, Any]
#: How much of each resource, exactly.
Amounts = dict[str, Fraction]
#: How much of each resource, in units of ours.
Floats = dict[str, float]
#: The file, and what in it, that a note is about.
Where = tuple[str, str]
#: Takes in a mapping of a file.
Take = Callable[[Record, str], None]


class Odd(Exception):
    """A part of a dump that is not as documented; who reads the whole makes a note of it, and goes on."""


class Notes:
    """Lines of (file, where, what, what was done)."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, str], list[str]] = {}
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def add(self, file: str, where: str, what: str, done: str) -> None:
        """Add a line."""
        key = (file, what, done)
        places = self._places.setdefault(key, [])
        self._counts[key] += 1
        if len(places) < _SHOWN:
            places.append(where)

    @contextmanager
    def noting(self, file: str, where: str, done: str = "left out") -> Iterator[None]:
        """Add a line where something inside is `Odd`, and go on behind it."""
        try:
            yield
        except Odd as error:
            self.add(file, where, str(error), done)

    def take(self, take: Take, entry: Any, file: str, what: str, *keys: str) -> None:
        """Take in an entry of a file; add a line where it is `Odd`, which calls it by the first of the keys it has."""
        try:
            take(mapping_at(entry), file)
        except Odd as error:
            self.add(file, f"{what} {called(entry, *keys)}", str(error), "left out")

    def table(self) -> pd.DataFrame:
        """Return the lines as a table."""
        rows = []
        for (file, what, done), places in self._places.items():
            rows += [(file, where, what, done) for where in places]
            more = self._counts[file, what, done] - len(places)
            if more:
                rows.append((file, f"… and {more} more", what, done))
        return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)


def part(value: Any, *path: str, kind: type | tuple[type, ...] = dict, default: Any = None) -> Any:
    """Return what lies at a path of mappings, the default where nothing does; `Odd` where it is of another kind.

    >>> part({"a": {"b": 3}}, "a", "b", kind=int), part({"a": None}, "a", "b", kind=int)
    (3, None)
    """
    for k, key in enumerate(path):
        if value is None:
            return default
        if not isinstance(value, dict):
            raise Odd(f"{'.'.join(path[:k]) or 'it'} is {shown(value)}; expected a mapping")
        value = value.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(_WORDS.get(one, one.__name__) for one in kinds)
        raise Odd(f"{'.'.join(path) or 'it'} is {shown(value)}; expected {expected}")
    return value


def text_at(value: Any, *path: str) -> str:
    """Return the text at a path, empty where there is none; see `part`."""
    return str(part(value, *path, kind=str, default=""))


def list_at(value: Any, *path: str) -> list[Any]:
    """Return the list at a path, empty where there is none; see `part`."""
    found: list[Any] = part(value, *path, kind=list, default=[])
    return found


def mapping_at(value: Any, *path: str) -> Record:
    """Return the mapping at a path, empty where there is none; see `part`."""
    found: Record = part(value, *path, default={})
    return found


def called(entry: Any, *keys: str) -> str:
    """Return what an entry is called in a note: what the first of these keys that it has says, or ``?``.

    >>> called({"id": 7, "role": "a"}, "name", "id"), called([], "id")
    ('7', "'?'")
    """
    given = entry if isinstance(entry, dict) else {}
    return repr(next((given[key] for key in keys if key in given), "?"))


_WORDS = {dict: "a mapping", list: "a list", str: "text", int: "a whole number", float: "a number"}


def shown(value: Any) -> str:
    """Return a value for a message, short."""
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


#: Amounts by resource that one task asks for, in the order of their names.
Demand = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Node:
    """A machine: its amounts by resource, its attributes, and why it takes no new tasks (empty: it does).

    ``in_use`` is what the machine itself says is allocated, by resource, as far as it says.
    """

    name: str
    amounts: Mapping[str, float]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    closed: str = ""
    file: str = ""
    in_use: Mapping[str, float] = field(default_factory=dict)


class Leaf(NamedTuple):
    """A class of tasks that nothing tells apart: one user of the instance.

    ``owner`` tells owners in a queue apart, ``label`` is what is shown of them, ``place`` what says
    where they may run.
    """

    queue: str
    owner: str
    label: str
    demand: Demand
    place: Hashable = None


@dataclass
class Group:
    """The tasks of a leaf: how many run on which node, how many wait and since when, and how many may not run yet.

    ``held`` counts the last kind by the scheduler's own reason; ``priorities`` are those of the
    tasks that wait.
    """

    running: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    since: str | None = None
    held: dict[str, int] = field(default_factory=dict)
    priorities: set[float] = field(default_factory=set)

    def add(self, other: Group) -> None:
        """Take in the tasks of another one."""
        add_amounts(self.running, other.running)
        add_amounts(self.held, other.held)
        self.wait(other.waiting, other.since)
        self.priorities |= other.priorities

    def wait(self, count: int, since: str | None, priority: float | None = None) -> None:
        """Count tasks that wait."""
        self.waiting += count
        if priority is not None:
            self.priorities.add(priority)
        if since is not None and (self.since is None or since < self.since):
            self.since = since


class Cluster:
    """Nodes, leaves and queues of one dump.

    Parameters
    ----------
    scheduler : str
    units : mapping
        Unit of each resource that has one; resources are put in this order, others after them by
        name.
    """

    def __init__(self, scheduler: str, units: Mapping[str, str]) -> None:
        self.scheduler = scheduler
        self.units = dict(units)
        self.order = tuple(units)
        self.notes = Notes()
        self.note = self.notes.add
        self.nodes: dict[str, Node] = {}
        self.groups: dict[Leaf, Group] = defaultdict(Group)
        self.queues: dict[str, Record] = {}
        self.admitted: dict[
            str, Floats
        ] = {}  # what the scheduler says is in use, by queue and quota
        self.told: dict[str, Floats] = {}  # what it says of the shares of queues, by column
        self.absent: list[str] = []  # nodes that tasks run on, and that are not in the dump

    def add(self, node: Node) -> None:
        """Add a node; the second of a name is left out."""
        if node.name in self.nodes:
            self.note(
                node.file,
                f"node {node.name!r}",
                "there is an earlier node of this name",
                "left out",
            )
        else:
            self.nodes[node.name] = node

    def run(self, leaf: Leaf, node: str, where: Where, count: int = 1) -> None:
        """Count tasks that run on a node; ``where`` is the file and what is there, for a note that it is unknown."""
        if node not in self.nodes:
            self.absent.append(node)
            self.note(
                *where, f"it runs on {node!r}, a node that is not there", "left out of what runs"
            )
            return
        add_amounts(self.groups[leaf].running, {node: count})

    def wait(
        self, leaf: Leaf, count: int, since: str | None, priority: float | None = None
    ) -> None:
        """Count tasks that wait."""
        self.groups[leaf].wait(count, since, priority)

    def hold(self, leaf: Leaf, count: int, reason: str) -> None:
        """Count tasks that may not run yet, for the scheduler's own reason: they are never owed anything."""
        add_amounts(self.groups[leaf].held, {reason: count})

    def queue(self, path: str) -> Record:
        """Return what is known of a queue, to be added to."""
        return self.queues.setdefault(path, {})


def add_amounts(total: Record, more: Mapping[str, Any], times: int = 1) -> None:
    """Add amounts, so many times, to what there is of each resource.

    >>> total = {"cpu": 1}
    >>> add_amounts(total, {"cpu": 2, "gpu": 1}, 3)
    >>> total
    {'cpu': 7, 'gpu': 3}
    """
    for resource, amount in more.items():
        total[resource] = total.get(resource, 0) + times * amount


def demand_of(amounts: Mapping[str, Any]) -> Demand:
    """Return what one task asks for: the amounts above 0, in the order of their names."""
    return tuple(
        sorted((resource, float(amount)) for resource, amount in amounts.items() if amount > 0)
    )


def larger(one: Record, other: Record) -> Record:
    """Return the larger of two amounts of each resource."""
    return {
        resource: max(one.get(resource, 0), other.get(resource, 0)) for resource in {**one, **other}
    }


def positive(weight: float, where: Where, notes: Notes, what: str = "weight") -> float:
    """Return a weight, `LEAST_WEIGHT` in place of one of 0 or below, which is noted."""
    if weight > 0:
        return weight
    notes.add(*where, f"a {what} of {weight:g}", f"taken as {LEAST_WEIGHT:g}")
    return LEAST_WEIGHT


def told_apart(labels: Iterable[str]) -> list[str]:
    """Return labels of which no two are the same: those that were there before get numbers."""
    found: dict[str, None] = {}
    for label in labels:
        name = label
        k = 1
        while name in found:
            k += 1
            name = f"{label} #{k}"
        found[name] = None
    return list(found)


def name_in_path(name: str) -> str:
    """Return a name as one step of a path: a slash is written ``%2F``, and no name ``(none)``.

    >>> name_in_path("a/b"), name_in_path("")
    ('a%2Fb', '(none)')
    """
    return name.replace("/", "%2F") or "(none)"
