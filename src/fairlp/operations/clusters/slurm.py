"""Slurm: ``scontrol show nodes --json``, ``squeue --json``, and its accounts."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from ...models.files.whole_files import read_text
from .assembly import Allowed
from .cluster import Cluster, Leaf, Node
from .notes import Odd, Record, Where, list_at, mapping_at, part, shown, text_at
from .slurm_accounts import Accounts
from .slurm_text import UNCOUNTED, array_tasks, gres, hosts, number, tres
from .sources import END, is_json, members

# Where a job of Slurm may run: its partitions, the features it asks of nodes, nodes it names or excludes.

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


_UNITS: Final = {"cpu": "cores", "memory": "MiB", "gpu": ""}
_CLOSED: Final = frozenset(
    {"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "FUTURE", "UNKNOWN", "NOT_RESPONDING"}
    | {"INVALID_REG", "MAINTENANCE"}
)
_RUNS: Final = frozenset({"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING"})
_WAITS: Final = frozenset({"PENDING", "REQUEUED"})
_ABOUT: Final = frozenset({"meta", "errors", "warnings", "plugin", "last_update", "last_backfill", END})
Amounts = dict[str, Fraction]


class _Job(NamedTuple):
    """A job: who, what for whom, and what it has on which nodes, or how many such parts wait."""

    account: str
    user: str
    place: Place
    parts: list[tuple[str, Amounts]]
    waiting: int
    since: str | None
    where: Where


class Reader:
    """Gathers nodes, jobs and accounts, and then puts jobs where accounts and nodes are known."""

    def __init__(self) -> None:
        self.cluster = Cluster("slurm", _UNITS)
        self.note = self.cluster.notes.add
        self.accounts = Accounts(self.cluster.notes)
        self.jobs: dict[str, _Job] = {}
        self.places: dict[str, tuple[list[str], list[str]]] = {}

    def read(self, path: Path) -> None:
        """Take in a file."""
        text = read_text(path)
        if not is_json(text):
            self.accounts.read_table(text, path.name)
            return
        take = {"nodes": self._node, "jobs": self._job, "associations": self.accounts.read_association}
        take["shares"] = self.accounts.read_share
        for key, value in members(text, path):
            if key in _ABOUT or value == []:
                continue
            entries: Any = [value]
            if key == "shares":
                entries = value.get("shares") if isinstance(value, dict) else value
            if key not in take or not isinstance(entries, list):
                self.note(path.name, f"key {key!r}", "it is not read", "left out")
                continue
            for entry in entries:
                named = entry if isinstance(entry, dict) else {}
                where = f"{key}: {named.get('name', named.get('job_id', named.get('account', '?')))!r}"
                try:
                    take[key](mapping_at(entry), path.name)
                except Odd as error:
                    self.note(path.name, where, str(error), "left out")

    def _node(self, given: Record, file: str) -> None:
        name = text_at(given, "name")
        if not name:
            raise Odd("it has no name")
        states = _words(given, "state") + _words(given, "state_flags")
        closed = [state for state in states if state.rstrip("*$~#!%@^-").upper() in _CLOSED]
        cpus = number(given.get("effective_cpus")) or number(given.get("cpus"))
        memory = number(given.get("real_memory"))
        if cpus is None or memory is None or cpus < 0 or memory < 0:
            raise Odd("it has no cpus and real_memory")
        memory -= number(given.get("specialized_memory")) or 0.0
        amounts = {"cpu": cpus, "memory": max(memory, 0.0)}
        amounts |= {r: float(a) for r, a in gres(text_at(given, "gres")).items()}
        features = _words(given, "active_features") or _words(given, "features")
        partitions = _words(given, "partitions")
        if any(state.upper() == "RESERVED" for state in states):
            self.note(file, f"node {name!r}", "it is in a reservation", "taken as open to all")
        if name not in self.cluster.nodes:
            self.places[name] = partitions, features
        described = {"partitions": ",".join(partitions), "features": ",".join(features)}
        self.cluster.add(Node(name, amounts, described, "+".join(closed), file))

    def _job(self, given: Record, file: str) -> None:
        name = str(given.get("job_id", "?"))
        where = file, f"job {name}"
        states = {state.upper() for state in _words(given, "job_state")}
        if not states & (_RUNS | _WAITS):
            what = f"it has finished ({'+'.join(sorted(states)) or 'no state'})"
            self.note(*where, what, "left out: it holds nothing")
            return
        if name in self.jobs:
            self.note(*where, "there is an earlier job of this number", "left out")
            return
        runs = not states & _WAITS
        if "SUSPENDED" in states:
            self.note(*where, "it is suspended", "it counts as one that runs")
        if not runs and str(given.get("state_reason")) in ("JobHeldUser", "JobHeldAdmin", "Dependency", "BeginTime"):
            self.note(*where, f"it may not start yet ({given['state_reason']})", "it counts as waiting")
        texts = (text_at(given, key) for key in (["tres_alloc_str"] if runs else []) + ["tres_req_str"])
        total = tres(next(filter(None, texts), ""))
        count = int(total.get("node", 0) or number(given.get("node_count")) or 1)
        for resource in sorted(UNCOUNTED & set(total)):
            del total[resource]
        if not total:
            raise Odd("nothing tells what it asks for (tres_req_str, tres_alloc_str)")
        parts, waiting = [], 0
        if runs:
            parts = self._on_nodes(given, total, where)
        else:
            waiting = count * array_tasks(text_at(given, "array_task_string"))
            parts = [("", self._share(total, count, where))]
        self.jobs[name] = _Job(
            text_at(given, "account"),
            text_at(given, "user_name") or str(given.get("user_id", "")),
            self._place(given, where),
            parts,
            waiting,
            _time(given.get("submit_time")),
            where,
        )

    def _share(self, total: Amounts, count: int, where: Where) -> Amounts:
        """Return the part of a job on one of its nodes, where nothing tells more."""
        if any((amount / count).denominator != 1 for amount in total.values()):
            self.note(*where, f"what it has does not divide by its {count} nodes", "divided evenly")
        return {resource: amount / count for resource, amount in total.items()}

    def _on_nodes(self, given: Record, total: Amounts, where: Where) -> list[tuple[str, Amounts]]:
        """Return what a job has on each of its nodes: as it is told, if that adds up, and else in even parts."""
        told = dict(_allocation(given))
        names = hosts(text_at(given, "nodes")) or list(told)
        if not names:
            raise Odd("it runs, but nothing tells on which nodes")
        even = self._share(total, len(names), where) if set(told) != set(names) else {}
        found = [(name, dict(told.get(name, even))) for name in names]
        details = list_at(given, "gres_detail")
        by_node = [gres(str(text)) for text in details] if len(details) == len(names) else []
        for resource, amount in total.items():
            sums = sum((own.get(resource, Fraction(0)) for _, own in found), Fraction(0))
            if sums != amount:
                for k, (_, own) in enumerate(found):
                    own[resource] = by_node[k].get(resource, Fraction(0)) if by_node else amount / len(names)
                if by_node and sum((own[resource] for _, own in found), Fraction(0)) != amount:
                    for _, own in found:
                        own[resource] = amount / len(names)
        return found

    def _place(self, given: Record, where: Where) -> Place:
        features = None
        try:
            features = wanted(text_at(given, "features"))
        except Odd as error:
            self.note(*where, str(error), "left out: any node of its partitions may take it")
        excluded = hosts(text_at(given, "excluded_nodes"))
        if part(given, "required_nodes", kind=str):
            self.note(*where, "it names nodes that it needs (required_nodes)", "left out")
        return Place(tuple(_words(given, "partition")), features, tuple(excluded))

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and what tells where jobs may be."""
        cluster = self.cluster
        self.accounts.fill(cluster)
        for job in self.jobs.values():
            queue = self.accounts.path(job.account, job.user)
            for node, amounts in job.parts:
                demand = tuple(sorted((r, float(a)) for r, a in amounts.items() if a > 0))
                leaf = Leaf(queue, f"{job.account}/{job.user}", f"{job.account}/{job.user}", demand, job.place)
                if node:
                    cluster.run(leaf, node, job.where)
                else:
                    cluster.wait(leaf, job.waiting, job.since)
        return cluster, Features([(name, *self.places[name]) for name in cluster.nodes]).allowed


def _words(given: Record, key: str) -> list[str]:
    """Return words that are a list, or text with commas or pluses between."""
    value = part(given, key, kind=(str, list), default=[])
    if isinstance(value, str):
        value = value.replace("+", ",").split(",")
    return [str(word).strip() for word in value if str(word).strip()]


def _allocation(given: Record) -> Iterator[tuple[str, Amounts]]:
    """Yield the nodes of a job with the CPUs and memory that it has there, of old and new versions of Slurm."""
    resources = mapping_at(given, "job_resources")
    nodes = resources.get("nodes")
    entries = nodes.get("allocation") if isinstance(nodes, dict) else resources.get("allocated_nodes")
    for entry in entries if isinstance(entries, list) else []:
        entry = mapping_at(entry)
        name = part(entry, "name", kind=str) or part(entry, "nodename", kind=str)
        cpus = entry.get("cpus_used", entry.get("cpus"))
        memory = entry.get("memory_allocated", entry.get("memory"))
        if isinstance(cpus, dict):
            cpus = cpus.get("count")
        if isinstance(memory, dict):
            memory = memory.get("allocated")
        if name:
            told = {"cpu": cpus, "memory": memory}
            yield name, {r: Fraction(value) for r, value in told.items() if type(value) is int and value >= 0}


def _time(value: Any) -> str | None:
    """Return seconds since 1970 as a time."""
    seconds = number(value) if not isinstance(value, str) else None
    if seconds is None or not 0 < seconds < 2**35:
        return value if isinstance(value, str) and value else None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
