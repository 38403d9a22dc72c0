"""A cluster as every reader fills it: nodes, tasks that run and wait, and rows of queues."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from fairlp import queues
from fairlp.errors import bounded, needed_by
from fairlp.toolkit import yaml_document

with needed_by("files of clusters"):
    pass

# Notes: a line for each thing that a reader does not understand or leaves out; equal lines are
# counted together.

#: Letters of a place, and of what is wrong there.
_LONGEST = 500
#: Lines that are listed of those with one message; another line counts the rest.
_SHOWN = 20
COLUMNS = ("file", "where", "what", "done")


_K = TypeVar("_K")
#: The largest count that Kubernetes and YARN themselves can hold.
MOST_COUNTED = 2**31 - 1
#: A mapping of a dump, as JSON has it.
Record = dict[str, Any]
#: How much of each resource, exactly.
Amounts = dict[str, Fraction]
#: How much of each resource, in the units of the instance.
Floats = dict[str, float]
#: The file, and the place in it, that a note is about.
Where = tuple[str, str]
#: Two names: a namespace and a name, an account and a user.
Key = tuple[str, str]
#: Texts that do not change.
Texts = tuple[str, ...]
#: Names, or other texts, in order.
Names = list[str]
#: How much of each resource, by name.
Table = dict[str, Floats]
#: Adds a note on one place: what is wrong, and what is done.
Note = Callable[..., None]
#: Reads one entry of a file, whose name is the second argument.
ReadEntry = Callable[[Record, str], None]


class EntryError(Exception):
    """A part of a dump that is not as documented; the reader notes it and goes on."""


#: What is done with an entry that is not as documented.
UNREAD = "left out whole"


class Notes:
    """Lines of the file, the place in it, what is wrong there, and what the reader does."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, str], Names] = {}
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def add(self, file: str, place: str, message: str, action: str = "left out") -> None:
        """Add a line; long names in it are cut."""
        place = bounded(place, _LONGEST)
        message = bounded(message, _LONGEST)
        key = (file, message, action)
        places = self._places.setdefault(key, [])
        self._counts[key] += 1
        if len(places) < _SHOWN:
            places.append(place)

    @property
    def total(self) -> int:
        """The number of lines, those that are not listed counted."""
        return self._counts.total()

    @contextmanager
    def noting(self, file: str, place: str, action: str = "left out") -> Iterator[None]:
        """Add a line where something inside raises `EntryError`, and go on behind it."""
        try:
            yield
        except EntryError as error:
            self.add(file, place, str(error), action)

    def read_entry(self, read: ReadEntry, entry: Any, file: str, prefix: str, *keys: str) -> None:
        """Read an entry of a file; where it raises `EntryError`, note that and leave it out.

        The line names the entry by the first of ``keys`` that it has.
        """
        try:
            read(mapping_at(entry), file)
        except EntryError as error:
            self.add(file, f"{prefix} {entry_label(entry, *keys)}", str(error), UNREAD)

    def table(self) -> pd.DataFrame:
        """Return the lines as a table."""
        rows = []
        for (file, message, action), places in self._places.items():
            rows += [(file, place, message, action) for place in places]
            others = self._counts[file, message, action] - len(places)
            if others:
                rows.append((file, f"… and {others} more", message, action))
        return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)


def value_at(
    value: Any, *path: str, kind: type | tuple[type, ...] = dict, default: Any = None
) -> Any:
    """Return the value at a path of mappings, the default where the path ends early or at null.

    A value of another kind raises `EntryError`.

    >>> value_at({"a": {"b": 3}}, "a", "b", kind=int), value_at({"a": None}, "a", "b", kind=int)
    (3, None)
    """
    for k, key in enumerate(path):
        if value is None:
            return default
        if not isinstance(value, dict):
            parent = ".".join(path[:k]) or "it"
            raise EntryError(f"{parent} is {shown(value)}; expected a mapping")
        value = value.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        expected = " or ".join(
            _KIND_NAMES.get(kind, kind.__name__)
            for kind in (kind if isinstance(kind, tuple) else (kind,))
        )
        raise EntryError(f"{'.'.join(path) or 'it'} is {shown(value)}; expected {expected}")
    return value


def count_at(value: Any, *path: str, default: int = 0) -> int:
    """Return the count at a path, one that schedulers themselves can hold; see `value_at`.

    >>> count_at({"replicas": 3}, "replicas"), count_at({}, "replicas", default=1)
    (3, 1)
    """
    count: int = value_at(value, *path, kind=int, default=default)
    if not 0 <= count <= MOST_COUNTED:
        expected = f"expected a whole number from 0 to {MOST_COUNTED}"
        raise EntryError(f"{'.'.join(path)} is {shown(count)}; {expected}")
    return count


def text_at(value: Any, *path: str) -> str:
    """Return the text at a path, empty where the path has none; see `value_at`."""
    return str(value_at(value, *path, kind=str, default=""))


def list_at(value: Any, *path: str) -> list[Any]:
    """Return the list at a path, empty where the path has none; see `value_at`."""
    entries: list[Any] = value_at(value, *path, kind=list, default=[])
    return entries


def mapping_at(value: Any, *path: str) -> Record:
    """Return the mapping at a path, empty where the path has none; see `value_at`."""
    mapping: Record = value_at(value, *path, default={})
    return mapping


def yaml_at(text: str, name: str) -> Any:
    """Return what a text of YAML says; `EntryError` where it is none, or nested too deeply."""
    try:
        return yaml_document(text)
    except ValueError as error:
        raise EntryError(f"its {name} is no YAML: {error}") from error


def entry_label(entry: Any, *keys: str) -> str:
    """Return the name of an entry in a note: the value of the first of these keys, or ``?``.

    >>> entry_label({"id": 7, "role": "a"}, "name", "id"), entry_label([], "id")
    ('7', "'?'")
    """
    mapping = entry if isinstance(entry, dict) else {}
    return repr(next((mapping[key] for key in keys if key in mapping), "?"))


_KIND_NAMES = {
    dict: "a mapping",
    list: "a list",
    str: "text",
    int: "a whole number",
    float: "a number",
}


def shown(value: Any) -> str:
    """Return a value as a message shows it: short."""
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


#: Amounts by resource that one task demands, in the order of their names.
Demand = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Node:
    """A machine: amounts by resource, attributes, and why it takes no new tasks (empty: it does).

    ``in_use`` is what the machine itself reports as allocated, by resource, where it reports that.
    ``asleep`` is the state of a machine that sleeps, and starts when tasks need it, ``kept`` that of
    one of which the scheduler keeps what is free for a job of its choice. Of a server
    that stands for several machines, ``pieces`` are the amounts that are free on each of them: a
    task has to fit on one.
    """

    name: str
    amounts: Mapping[str, float]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    closed: str = ""
    file: str = ""
    in_use: Mapping[str, float] = field(default_factory=dict)
    asleep: str = ""
    kept: str = ""
    pieces: tuple[Mapping[str, float], ...] = ()


class Leaf(NamedTuple):
    """A class of tasks that are alike in all fields: one user of the instance.

    ``owner`` identifies the owner in its queue, ``label`` is its name for people, and ``place``
    says where its tasks may run. ``tenant`` is the one whom the scheduler promises a share, by
    name: the owner, or the queue.
    """

    queue: str
    owner: str
    label: str
    demand: Demand
    place: Hashable = None
    tenant: str = ""


class Request(NamedTuple):
    """What tasks that wait have in common, besides their leaf.

    ``message`` is what the scheduler itself says of them, and ``left_out`` names the constraints of
    the dump on where they run that do not count here (such as ``pod anti-affinity``). ``after`` is
    the job that has to start before them or with them; empty for none.
    """

    priority: float | None = None
    message: str = ""
    left_out: Texts = ()
    after: str = ""


@dataclass
class Group:
    """The tasks of a leaf: those that run, by node; those that wait; those that may not run yet.

    The last are counted by the scheduler's own reason.
    """

    running: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    held: Counter[str] = field(default_factory=Counter)

    def add(self, other: Group) -> None:
        """Add the tasks of another group."""
        self.running += other.running
        self.held += other.held
        self.waiting += other.waiting


def first_time(time: str | None, other: str | None) -> str | None:
    """Return the earlier of two times, None where neither is known.

    >>> first_time(None, "2026-11-28T10:00:00Z"), first_time("b", "a")
    ('2026-11-28T10:00:00Z', 'a')
    """
    return min(filter(None, (time, other)), default=None)


@dataclass(frozen=True)
class Job:
    """Tasks that wait, and run at once or not at all: a Workload, a PodGroup, a job of Slurm, one task.

    Attributes
    ----------
    name : str
        As its scheduler calls it; empty of a single task.
    tasks : mapping
        Of one such job, by leaf.
    copies : int
        So many equal jobs wait: the tasks of an array of jobs.
    one_a_node : bool
        Whether each of its tasks needs a node of its own.
    since : str or None
    request : Request
    """

    name: str
    tasks: Mapping[Any, int]
    copies: int = 1
    one_a_node: bool = False
    since: str | None = None
    request: Request = field(default_factory=Request)


class Cluster:
    """Nodes, leaves and queues of one dump.

    Parameters
    ----------
    scheduler : str
    units : mapping
        Unit of each resource that has one. Resources are listed in this order; the others follow
        by name.
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
        #: The plugin of Volcano that says what queues deserve.
        self.plugin = ""
        #: Jobs that wait, and the tasks of those that run and came at once, by name.
        self.waiting_jobs: list[Job] = []
        self.running_jobs: dict[str, Counter[Leaf]] = defaultdict(Counter)
        #: Whom the scheduler lets give way to whom.
        self.preemption = ""
        #: Why what queues lend is not shared fairly; empty where the scheduler shares it so.
        self.no_fair_sharing = ""
        #: Why the dump has no verdict, such as another scheduler's pods; empty where it may have one.
        self.no_verdict = ""
        #: Limits besides queues and nodes that are used up, in words, by name (such as licences).
        self.limits_reached: dict[str, str] = {}
        #: Nodes that tasks run on, and that are not in the dump.
        self.absent: Names = []
        #: The scheduler's word for those whom it promises a share.
        self.tenant_noun = "user"
        #: How many jobs run, wait and are held, where the scheduler counts jobs and not tasks.
        self.jobs: dict[str, int] = {}
        #: Returns why no node may take the tasks of a place, in the words of the dump.
        self.why_nowhere: Callable[[Hashable], str] = lambda place: "no node may take its tasks"
        #: What tasks that are ending still hold, by node.
        self.ending: Table = {}
        #: The version of the scheduler or cluster; empty where the dump does not say.
        self.version = ""
        #: The message where no node counts.
        self.no_nodes = "the dump has no nodes"

    def add(self, node: Node) -> None:
        """Add a node; the second of a name is left out."""
        if node.name in self.nodes:
            self.note(node.file, f"node {node.name!r}", "an earlier node has this name")
        else:
            self.nodes[node.name] = node

    def run(
        self,
        leaf: Leaf,
        node: str,
        where: Where,
        count: int = 1,
        job: str = "",
    ) -> None:
        """Count tasks that run on a node; ``where`` is for a note that the dump lacks the node.

        Tasks of one ``job`` came at once and go at once; without a name each is a job by itself.
        """
        if node not in self.nodes:
            self.absent.append(node)
            self.note(
                *where,
                f"it runs on {node!r}, a node that is not in the dump",
                "left out of what runs",
            )
            return
        self.groups[leaf].running[node] += count
        if job:
            self.running_jobs[job][leaf] += count

    def end(self, node: str, demand: Demand) -> None:
        """Count a task that is ending: it holds its amounts on its node for a moment only."""
        if node in self.nodes:
            add_amounts(self.ending.setdefault(node, {}), dict(demand))

    def wait(
        self,
        leaf: Leaf,
        count: int,
        since: str | None,
        request: Request = Request(),  # noqa: B008 — it is immutable
    ) -> None:
        """Count tasks that wait, each a job by itself."""
        self.wait_together(Job("", {leaf: 1}, count, since=since, request=request))

    def wait_together(self, job: Job) -> None:
        """Count the tasks of a job that run at once or not at all."""
        for leaf, count in job.tasks.items():
            self.groups[leaf].waiting += count * job.copies
        is_single = sum(job.tasks.values()) == 1
        self.waiting_jobs.append(replace(job, name="") if is_single else job)

    def hold(self, leaf: Leaf, count: int, reason: str) -> None:
        """Count tasks that may not run yet, by the scheduler's reason; they are owed nothing."""
        self.groups[leaf].held[reason] += count

    def queue(self, path: str) -> Record:
        """Return the row of a queue, to be filled."""
        return self.queues.setdefault(path, {})


def add_amounts(total: dict[_K, Any], amounts: Mapping[_K, Any], times: int = 1) -> None:
    """Add amounts, so many times, to a total by resource.

    >>> total = {"cpu": 1}
    >>> add_amounts(total, {"cpu": 2, "gpu": 1}, 3)
    >>> total
    {'cpu': 7, 'gpu': 3}
    """
    for resource, amount in amounts.items():
        total[resource] = total.get(resource, 0) + times * amount


def demand_of(amounts: Mapping[str, Any]) -> Demand:
    """Return the demand of one task: the amounts above 0, in the order of their names."""
    return tuple(
        sorted((resource, float(amount)) for resource, amount in amounts.items() if amount > 0)
    )


def largest_amounts(amounts: Record, others: Record) -> Record:
    """Return the larger of two amounts of each resource."""
    return {
        resource: max(amounts.get(resource, 0), others.get(resource, 0))
        for resource in {**amounts, **others}
    }


def positive_weight(weight: float, note: Note, name: str = "weight") -> float:
    """Return a weight, `LEAST_WEIGHT` in place of one of 0 or below, which is noted."""
    if weight > 0:
        return weight
    note(f"a {name} of {weight:g}", f"taken as {queues.LEAST_WEIGHT:g}")
    return queues.LEAST_WEIGHT


def unique_labels(labels: Iterable[str]) -> Names:
    """Return the labels; one that is already in use gets a number, so that no two are the same."""
    unique: dict[str, None] = {}
    last_numbers: dict[str, int] = {}
    for label in labels:
        name = label
        k = last_numbers.get(label, 1)
        while name in unique:
            k += 1
            name = f"{label} #{k}"
        unique[name] = None
        last_numbers[label] = k
    return list(unique)


def name_in_path(name: str) -> str:
    """Return a name as one step of a path: a slash is written ``%2F``, and no name ``(none)``.

    >>> name_in_path("a/b"), name_in_path("")
    ('a%2Fb', '(none)')
    """
    return name.replace("/", "%2F") or "(none)"
