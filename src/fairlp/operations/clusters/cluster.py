"""What every reader fills: nodes, leaves with the tasks that run and wait, and what is known of queues."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from .notes import Notes, Record, Where

#: Stands for a weight of 0: such a queue has only what nobody else wants, which no weight says.
LEAST_WEIGHT: Final = 1 / 1000
#: Amounts by resource that one task asks for, in the order of their names.
Demand = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Node:
    """A machine: its amounts by resource, its attributes, and why it takes no new tasks (empty: it does)."""

    name: str
    amounts: Mapping[str, float]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    closed: str = ""
    file: str = ""


class Leaf(NamedTuple):
    """A class of tasks that nothing tells apart: one user of the instance.

    ``owner`` tells owners in a queue apart, ``label`` is what is shown of them, ``place`` what says where they may run.
    """

    queue: str
    owner: str
    label: str
    demand: Demand
    place: Hashable = None


@dataclass
class Group:
    """The tasks of a leaf: how many run on which node, how many wait, and since when."""

    running: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    since: str | None = None

    def add(self, other: Group) -> None:
        """Take in the tasks of another one."""
        add_amounts(self.running, other.running)
        self.wait(other.waiting, other.since)

    def wait(self, count: int, since: str | None) -> None:
        """Count tasks that wait."""
        self.waiting += count
        if since is not None and (self.since is None or since < self.since):
            self.since = since


class Cluster:
    """Nodes, leaves and queues of one dump.

    Parameters
    ----------
    scheduler : str
    units : mapping
        Unit of each resource that has one; resources are put in this order, others after them by name.
    limited : bool
        Whether it is known how many tasks wait, so that a user's limit is what runs and waits.
    """

    def __init__(self, scheduler: str, units: Mapping[str, str], limited: bool = True) -> None:
        self.scheduler, self.units, self.limited = scheduler, dict(units), limited
        self.order = tuple(units)
        self.notes = Notes()
        self.note = self.notes.add
        self.nodes: dict[str, Node] = {}
        self.groups: dict[Leaf, Group] = {}
        self.queues: dict[str, Record] = {}

    def add(self, node: Node) -> None:
        """Add a node; the second of a name is left out."""
        if node.name in self.nodes:
            self.note(node.file, f"node {node.name!r}", "there is an earlier node of this name", "left out")
        else:
            self.nodes[node.name] = node

    def run(self, leaf: Leaf, node: str, where: Where, count: int = 1) -> None:
        """Count tasks that run on a node; ``where`` is the file and what is there, for a note that it is unknown."""
        if node not in self.nodes:
            self.note(*where, f"it runs on {node!r}, a node that is not there", "left out of what runs")
            return
        running = self.groups.setdefault(leaf, Group()).running
        running[node] = running.get(node, 0) + count

    def wait(self, leaf: Leaf, count: int, since: str | None) -> None:
        """Count tasks that wait."""
        self.groups.setdefault(leaf, Group()).wait(count, since)

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


def positive(weight: float, where: Where, notes: Notes, what: str = "weight") -> float:
    """Return a weight, `LEAST_WEIGHT` in place of one of 0 or below, which is noted."""
    if weight > 0:
        return weight
    notes.add(*where, f"a {what} of {weight:g}", f"taken as {LEAST_WEIGHT:g}")
    return LEAST_WEIGHT


def name_in_path(name: str) -> str:
    """Return a name as one step of a path: a slash is written ``%2F``, and no name ``(none)``.

    >>> name_in_path("a/b"), name_in_path("")
    ('a%2Fb', '(none)')
    """
    return name.replace("/", "%2F") or "(none)"
