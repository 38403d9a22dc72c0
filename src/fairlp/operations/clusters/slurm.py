"""Slurm: ``scontrol show nodes --json``, ``squeue --json``, and its accounts."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...models.files.whole_files import read_text
from ...models.instances.queues import lineage, parent_of
from .assembly import Allowed
from .cluster import (
    Amounts,
    Cluster,
    Floats,
    Leaf,
    Node,
    Notes,
    Odd,
    Record,
    Where,
    add_amounts,
    demand_of,
    list_at,
    mapping_at,
    name_in_path,
    part,
    positive,
    shown,
    text_at,
)
from .sources import END, is_json, members

# The small languages of Slurm: TRES and GRES, lists of hosts, lists of array tasks, numbers that
# may not be set.

#: Hosts of one list, tasks of one array, and nodes of one job, at most.
_MOST = 1_000_000
_MEMORY: dict[str, int | Fraction] = {
    "": 1,
    "K": Fraction(1, 1024),
    "M": 1,
    "G": 1024,
    "T": 1024**2,
    "P": 1024**3,
}
_COUNTED: dict[str, int | Fraction] = {
    "": 1,
    "K": 1024,
    "M": 1024**2,
    "G": 1024**3,
    "T": 1024**4,
    "P": 1024**5,
}
_AMOUNT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGTP]?)B?", re.IGNORECASE)
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?(?::([0-9]{1,9}))?")
_PIECE = re.compile(r"[^,\[\]]+|\[[^\]]*\]|,|.", re.DOTALL)
#: TRES that are no resource of nodes: prices, counts of nodes, what is measured.
UNCOUNTED = frozenset({"billing", "node", "energy", "pages", "vmem", "fs/disk"})


def number(value: Any) -> float | None:
    """Return a number, plain or wrapped (``{"set": true, "infinite": false, "number": 5}``); None where none is set.

    >>> number(5), number({"set": True, "infinite": False, "number": 5}), number({"set": False, "number": 0})
    (5.0, 5.0, None)
    """
    if isinstance(value, dict):
        if part(value, "set", kind=bool, default=True) is False or part(
            value, "infinite", kind=bool
        ):
            return None
        value = value.get("number")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Odd(f"{shown(value)} is no number")
    return float(value) if math.isfinite(value) else None


def tres(text: str) -> Amounts:
    """Return amounts by resource: memory in MiB, ``gres/gpu`` as ``gpu``, its types both by themselves and in it.

    >>> {key: int(value) for key, value in tres("cpu=4,mem=16G,node=1,gres/gpu:a100=2").items()}
    {'cpu': 4, 'memory': 16384, 'node': 1, 'gpu:a100': 2, 'gpu': 2}
    """
    found: Amounts = {}
    for entry in filter(None, text.split(",")):
        name, equals, amount = entry.partition("=")
        name = name.removeprefix("gres/")
        size = _AMOUNT.fullmatch(amount)
        if not (name and equals and size):
            raise Odd(
                f"{shown(entry)} in {shown(text)} is no amount; expected one such as 'mem=16G'"
            )
        units = _MEMORY if name == "mem" else _COUNTED
        found["memory" if name == "mem" else name] = Fraction(size[1]) * units[size[2].upper()]
    return _with_types(found)


def gres(text: str) -> Amounts:
    """Return amounts by resource of a node's or job's GRES.

    >>> {key: int(value) for key, value in gres("gpu:a100:4(S:0-1),shard:8").items()}
    {'gpu:a100': 4, 'shard': 8, 'gpu': 4}
    """
    found: Amounts = {}
    for entry in filter(None, re.sub(r"\([^)]*\)", "", text).split(",")):
        names = entry.strip().split(":")
        names = names[1:] if names[0] == "gres" else names
        if not names:  # "gres" alone, which some versions print for nothing
            continue
        size = _AMOUNT.fullmatch(names[-1])
        kind = ":".join(names[:-1] if size and len(names) > 1 else names)
        amount = (
            Fraction(size[1]) * _COUNTED[size[2].upper()]
            if size and len(names) > 1
            else Fraction(1)
        )
        if kind not in ("", "(null)"):
            add_amounts(found, {kind: amount})
    return _with_types(found)


def _with_types(found: Amounts) -> Amounts:
    """Add what is given by type only to what has no type."""
    typed: Amounts = {}
    for name, amount in found.items():
        whole, colon, _ = name.partition(":")
        if colon:
            add_amounts(typed, {whole: amount})
    return found | {
        whole: max(amount, found.get(whole, Fraction(0))) for whole, amount in typed.items()
    }


def hosts(text: str) -> list[str]:
    """Return the names of a list of hosts.

    >>> hosts("n[01-03,7],m1"), hosts("r[1-2]n[1-2]")
    (['n01', 'n02', 'n03', 'n7', 'm1'], ['r1n1', 'r1n2', 'r2n1', 'r2n2'])
    """
    found: list[str] = []
    parts: list[list[str]] = []
    for piece in [*_PIECE.findall(text.strip()), ","]:
        if piece == ",":
            if len(found) + math.prod(map(len, parts)) > _MOST:
                raise Odd(f"{shown(text)} has more than {_MOST} hosts")
            found += ["".join(names) for names in product(*parts)] if parts else []
            parts = []
        elif piece.startswith("[") and piece.endswith("]"):
            parts.append(
                [name for entry in piece[1:-1].split(",") for name in _numbers(entry, text)]
            )
        elif piece in ("[", "]"):
            raise Odd(f"{shown(text)} is no list of hosts: a bracket is not closed")
        else:
            parts.append([piece])
    return found


def _numbers(entry: str, text: str) -> list[str]:
    found = _RANGE.fullmatch(entry)
    if found is None or found[3]:
        raise Odd(f"{shown(text)} is no list of hosts: {shown(entry)} is no range")
    first = int(found[1])
    last = int(found[2] or found[1])
    if last - first >= _MOST:
        raise Odd(f"{shown(text)} has more than {_MOST} hosts")
    return [str(k).zfill(len(found[1])) for k in range(first, last + 1)]


def array_tasks(text: str) -> int:
    """Return how many tasks of an array a list of them has.

    >>> array_tasks("0-2,5"), array_tasks("1-10:3%2"), array_tasks("")
    (4, 4, 1)
    """
    count = 0
    for entry in text.partition("%")[0].split(","):
        if entry in ("", "..."):  # Slurm cuts long lists off
            continue
        found = _RANGE.fullmatch(entry)
        if found is None:
            raise Odd(f"{shown(text)} is no list of array tasks: {shown(entry)} is no range")
        first = int(found[1])
        last = int(found[2] or found[1])
        step = int(found[3] or 1)
        count += max((last - first) // max(step, 1) + 1, 0)
    if count > _MOST:
        raise Odd(f"{shown(text)} has more than {_MOST} tasks")
    return max(count, 1)


# Slurm's accounts: a tree with shares and limits, from ``sacctmgr`` or ``sshare``, as text or as
# JSON.

_ROOT = "root"
#: Columns by what they mean: those of sacctmgr, and of sshare.
_SHARES = ("Share", "RawShares", "Fairshare")
_READ = frozenset(
    {"Cluster", "Account", "User", "Partition", "GrpTRES", "ParentName", "Par Name", *_SHARES}
)
#: What ``Fairshare=parent`` is as a number (``SLURMDB_FS_USE_PARENT``).
_PARENT = "2147483647"
#: What is told of decayed usage, and the columns that say it.
_TOLD = {"usage": "RawUsage", "fairshare": "FairShare"}
#: What sshare computes: nobody has set it.
_COMPUTED = frozenset(
    {
        "NormShares",
        "RawUsage",
        "NormUsage",
        "EffectvUsage",
        "FairShare",
        "LevelFS",
        "TRESRunMins",
        "ID",
        "Lft",
        "Rgt",
    }
)


@dataclass
class Account:
    """What is known of an account, or of a user in it: the account above, its share, and what it may have.

    The share of an account is None where it is that of its parent; ``told`` is what sshare
    computes.
    """

    parent: str | None
    share: float | None
    cap: Floats
    told: Floats = field(default_factory=dict)


class Accounts:
    """The tree of accounts, and the users in them."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._note = notes.add
        self._accounts: dict[str, Account] = {}
        self._users: dict[tuple[str, str], Account] = {}
        self._read: set[tuple[bool, Any]] = (
            set()
        )  # whom sshare tells of (True), and whom associations
        self._missing: set[str] = set()
        self._chains: dict[str, list[str]] = {}

    def read_table(self, text: str, file: str) -> None:
        """Take in what ``sacctmgr show assoc --parsable2`` or ``sshare -l -P`` prints."""
        lines = text.splitlines() or [""]
        headers = [header.strip() for header in lines[0].split("|")]
        flat = len({len(line) - len(line.lstrip(" ")) for line in lines[1:]}) == 1
        if flat and not {"ParentName", "Par Name"} & set(headers):
            what = "neither parents nor indentation tell which account is above which"
            self._note(
                file, "line 1", what, "all stand at the root (sacctmgr … tree, format=…,ParentName)"
            )
        parents: list[str] = []  # the account at each depth of indentation
        for count, line in enumerate(lines[1:], 2):
            where = file, f"line {count}"
            if not line.strip():
                continue
            cells = line.split("|")
            if len(cells) != len(headers):
                what = f"{len(cells)} cells, where the header has {len(headers)} (is it cut off?)"
                self._note(*where, what, "left out")
                continue
            row = dict(zip(headers, cells, strict=True))
            given = row.get("Account", "")
            depth = len(given) - len(given.lstrip(" "))
            account = given.strip()
            user = row.get("User", "").strip()
            parent = (row.get("ParentName") or row.get("Par Name") or "").strip()
            if not user:
                del parents[depth:]
                parent = parent or (parents[-1] if parents else "")
                parents += [account] * (depth + 1 - len(parents))
            for header, cell in row.items():
                if header not in _READ | _COMPUTED and cell.strip():
                    self._note(*where, f"column {header!r}", "left out")
            share = next(
                (row[header].strip() for header in _SHARES if row.get(header, "").strip()), "1"
            )
            told = None
            if "RawShares" in row:
                computed = {name: row.get(header, "").strip() for name, header in _TOLD.items()}
                told = {
                    name: float(cell)
                    for name, cell in computed.items()
                    if cell.replace(".", "", 1).isdecimal()
                }
            self._take(
                where,
                (account, user, parent),
                share,
                partial(tres, row.get("GrpTRES", "").strip()),
                told,
            )

    def read_association(self, given: Any, file: str) -> None:
        """Take in an association as ``sacctmgr --json`` prints it."""
        account = text_at(given, "account")
        user = text_at(given, "user")
        where = file, f"association of {user or account!r}"

        def cap() -> Record:
            entries = list_at(given, "max", "tres", "total")
            texts = []
            for entry in entries:
                kind = text_at(entry, "type")
                name = text_at(entry, "name")
                unit = "M" if kind == "mem" else ""
                texts.append(
                    f"{kind}{'/' + name if name else ''}={part(entry, 'count', kind=int, default=0)}{unit}"
                )
            return tres(",".join(texts))

        parent = text_at(given, "parent_account")
        self._take(where, (account, user, parent), _share_as_text(given.get("shares_raw")), cap)

    def read_share(self, given: Any, file: str) -> None:
        """Take in an entry of ``sshare --json``."""
        name = text_at(given, "name")
        parent = text_at(given, "parent")
        user = "USER" in list_at(given, "type")
        names = (parent, name, "") if user else (name, "", parent)
        factor = (
            number(mapping_at(given, "fairshare").get("factor")) if user else None
        )  # accounts have none
        computed = {"usage": number(given.get("usage")), "fairshare": factor}
        told = {key: value for key, value in computed.items() if value is not None}
        self._take(
            (file, f"share of {name!r}"), names, _share_as_text(given.get("shares")), dict, told
        )

    def _take(
        self,
        where: Where,
        names: tuple[str, str, str],
        share: str,
        cap: Callable[[], Record],
        told: Floats | None = None,
    ) -> None:
        """Take in an association, or, with ``told``, a line of sshare, whose share is the one that Slurm uses."""
        account, user, parent = names
        if not account:
            self._note(*where, "it has no account", "left out")
            return
        try:
            limits = {r: float(amount) for r, amount in cap().items()}
        except Odd as error:
            self._note(*where, str(error), "no cap is taken from it")
            limits = {}
        for resource in sorted(UNCOUNTED & set(limits)):
            self._note(*where, f"limit of {resource!r}", "left out: it is no resource of nodes")
            del limits[resource]
        weight = self._weight(share, where, bool(user))
        known: Any = self._users if user else self._accounts
        key: Any = (account, user) if user else account
        if (told is not None, key) in self._read:
            self._note(
                *where,
                f"there is an earlier line of {user or account!r} in {account!r}",
                "left out",
            )
            return
        self._read.add((told is not None, key))
        one: Account = known.setdefault(key, Account(parent or None, weight, limits))
        if told is None:
            one.cap = limits
        else:
            one.share = weight
            one.told = told

    def _weight(self, share: str, where: Where, of_user: bool) -> float | None:
        if share in ("parent", _PARENT):
            done = (
                "taken as 1"
                if of_user
                else "it weighs as much as all with tasks below it, who share at its parent"
            )
            self._note(*where, "its share is that of its parent", done)
            return 1.0 if of_user else None
        if not share.isdecimal() or len(share) > 18:
            self._note(*where, f"share {share!r} is no whole number", "taken as 1")
            return 1.0
        return positive(float(share), where, self._notes, "share")

    def path(self, account: str, user: str) -> str:
        """Return the path of a user's queue: the accounts from below the root down, and the user."""
        return "/".join([*self._above(account), name_in_path(user)])

    def _above(self, account: str) -> list[str]:
        """Return the names of an account and of those above it, the highest first."""
        if account in self._chains:
            return self._chains[account]
        names: dict[str, str] = {}  # in paths
        at: str | None = account
        while at and at != _ROOT and at not in names:
            names[at] = name_in_path(at)
            if at not in self._accounts and self._accounts and at not in self._missing:
                self._missing.add(at)
                self._note(
                    "", f"account {at!r}", "nothing tells where it stands", "it stands at the root"
                )
            at = self._accounts[at].parent if at in self._accounts else None
        if at in names:
            self._note("", f"account {at!r}", "it is above itself", "it counts as a root")
        self._chains[account] = list(names.values())[::-1] if account else [name_in_path("")]
        return self._chains[account]

    def fill(self, cluster: Cluster) -> None:
        """Put weights, caps and what sshare computes on the queues of a cluster whose jobs are known."""
        found = {
            "/".join(self._above(a)) if a != _ROOT else "": one for a, one in self._accounts.items()
        }
        found |= {self.path(*names): one for names, one in self._users.items()}
        for path, one in found.items():
            cluster.queue(path).update({"weight": one.share, "cap": one.cap})
            if one.told:
                cluster.told[path] = one.told
        leaves = [
            leaf.queue for leaf, group in cluster.groups.items() if group.running or group.waiting
        ]
        used = {here: None for queue in leaves for here in lineage(queue)}
        below: Counter[str] = Counter()
        for path in sorted(
            {**cluster.queues, **used}, key=len, reverse=True
        ):  # those below come first
            row = cluster.queues.get(path, {"weight": 1.0})
            if row["weight"] is None:
                row["weight"] = below[path] or 1.0
            if path in used and path:
                below[parent_of(path)] += row["weight"]


def _share_as_text(value: Any) -> str:
    """Return a share of JSON as tables write it: ``parent`` where it is infinite, 1 where none is set."""
    share = number(value)
    if share is not None:
        return f"{share:.0f}"
    return (
        "parent" if isinstance(value, dict) and value.get("set") and value.get("infinite") else "1"
    )


# Where a job of Slurm may run: its partitions, the features it asks of nodes, nodes it names or
# excludes.

_TOKEN = re.compile(r"[&|()]|[^&|()\s]+")
#: A disjunction of conjunctions of features.
Wanted = frozenset[frozenset[str]]
_MOST_TERMS = 1000
_MOST_NESTED = 100


class NodeRequest(NamedTuple):
    """Partitions (none: any), what it wants of features (None: nothing), and nodes that it must not use."""

    partitions: tuple[str, ...]
    wanted: Wanted | None
    excluded: tuple[str, ...] = ()


def may_be(
    place: Hashable, nodes: Mapping[str, tuple[Collection[str], Collection[str]]]
) -> np.ndarray:
    """Return where jobs of a place may be: bool by node, of nodes with the partitions and features of each."""
    assert isinstance(place, NodeRequest)
    partitions = set(place.partitions)
    excluded = set(place.excluded)
    found = [
        (not partitions or not own or not partitions.isdisjoint(own))
        and (place.wanted is None or any(term.issubset(features) for term in place.wanted))
        and name not in excluded
        for name, (own, features) in nodes.items()
    ]
    return np.array(found, dtype=bool)


def wanted(text: str) -> Wanted | None:
    """Return what a constraint wants; ``&`` binds more than ``|``; `Odd` for counts and ``[…]``.

    >>> sorted(sorted(term) for term in wanted("a100&(nvme|ssd)"))
    [['a100', 'nvme'], ['a100', 'ssd']]
    """
    if not text.strip():
        return None
    if any(letter in text for letter in "[]*,!"):
        raise Odd(f"constraint {shown(text)} counts nodes or asks that all have the same")
    if text.count("(") > _MOST_NESTED:
        raise Odd(f"constraint {shown(text)} has more than {_MOST_NESTED} parentheses")
    tokens = deque([*_TOKEN.findall(text), ""])
    found = _either(tokens, text)
    if tokens[0]:
        raise Odd(f"constraint {shown(text)} is not understood at {shown(tokens[0])}")
    return found


def _either(tokens: deque[str], text: str) -> Wanted:
    """Take alternatives from the tokens."""
    found = _both(tokens, text)
    while tokens[0] == "|":
        tokens.popleft()
        found |= _both(tokens, text)
    return found


def _both(tokens: deque[str], text: str) -> Wanted:
    """Take what is wanted together from the tokens."""
    found = _one(tokens, text)
    while tokens[0] == "&":
        tokens.popleft()
        more = _one(tokens, text)
        if len(found) * len(more) > _MOST_TERMS:
            raise Odd(f"constraint {shown(text)} stands for more than {_MOST_TERMS} alternatives")
        found = frozenset(one | other for one in found for other in more)
    return found


def _one(tokens: deque[str], text: str) -> Wanted:
    """Take one feature, or what is in parentheses, from the tokens."""
    token = tokens.popleft()
    if token == "(":
        found = _either(tokens, text)
        if tokens.popleft() != ")":
            raise Odd(f"constraint {shown(text)}: a parenthesis is not closed")
        return found
    if token in ("", "&", "|", ")"):
        raise Odd(f"constraint {shown(text)} is not understood at {shown(token or 'its end')}")
    return frozenset({frozenset({token})})


_UNITS = {"cpu": "cores", "memory": "MiB", "gpu": ""}
_CLOSED = frozenset(
    {
        "DOWN",
        "DRAIN",
        "DRAINED",
        "DRAINING",
        "FAIL",
        "FAILING",
        "ERROR",
        "FUTURE",
        "UNKNOWN",
        "NOT_RESPONDING",
    }
    | {"INVALID_REG", "MAINTENANCE", "POWER_DOWN", "POWERED_DOWN", "POWERING_DOWN"}
)
_RUNS = frozenset({"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING"})
_WAITS = frozenset({"PENDING", "REQUEUED"})
#: Reasons of pending jobs that only lack room; all others (held, dependency, limits of a QOS or
#: account, …) stop a job.
_ROOM = frozenset({"", "None", "Priority", "Resources"})
_ABOUT = frozenset({"meta", "errors", "warnings", "plugin", "last_update", "last_backfill", END})


class _Job(NamedTuple):
    """A job: who, what for whom, and what it has on which nodes, or how many such parts wait.

    ``held`` is how many of those that wait may not run yet, by reason.
    """

    account: str
    user: str
    place: NodeRequest
    parts: list[tuple[str, Amounts]]
    waiting: int
    since: str | None
    where: Where
    held: dict[str, int]
    array: str
    priority: float | None


class SlurmReader:
    """Gathers nodes, jobs and accounts, and then puts jobs where accounts and nodes are known."""

    def __init__(self) -> None:
        self.cluster = Cluster("slurm", _UNITS)
        self.note = self.cluster.notes.add
        self.accounts = Accounts(self.cluster.notes)
        self.jobs: dict[str, _Job] = {}
        self.throttles: dict[str, int] = {}  # tasks of an array that may run at once, by job
        self.places: dict[str, tuple[list[str], list[str]]] = {}

    def read(self, path: Path) -> None:
        """Take in a file."""
        text = read_text(path)
        if not is_json(text):
            self.accounts.read_table(text, path.name)
            return
        take = {
            "nodes": self._node,
            "jobs": self._job,
            "associations": self.accounts.read_association,
            "shares": self.accounts.read_share,
        }
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
                self.cluster.notes.take(
                    take[key], entry, path.name, f"{key}:", "name", "job_id", "account"
                )

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
        in_use = {r: float(a) for r, a in tres(text_at(given, "tres_used")).items()}
        for resource, key in (("cpu", "alloc_cpus"), ("memory", "alloc_memory")):
            told = number(given.get(key))
            in_use |= {} if told is None else {resource: told}
        self.cluster.add(Node(name, amounts, described, "+".join(closed), file, in_use))

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
        texts = (
            text_at(given, key) for key in (["tres_alloc_str"] if runs else []) + ["tres_req_str"]
        )
        total = tres(next(filter(None, texts), ""))
        count = int(number(given.get("node_count")) or total.get("node", 0) or 1)
        if not 1 <= count <= _MOST:
            raise Odd(f"its node_count is {count}; expected a number from 1 to {_MOST}")
        for resource in sorted(UNCOUNTED & set(total)):
            del total[resource]
        if not total:
            raise Odd("nothing tells what it asks for (tres_req_str, tres_alloc_str)")
        parts = []
        waiting = 0
        held = {}
        array = str(int(number(given.get("array_job_id")) or 0) or "")
        if runs:
            parts = self._on_nodes(given, total, where)
        else:
            tasks = text_at(given, "array_task_string")
            if "..." in tasks:
                self.note(
                    *where,
                    "its list of array tasks is cut off",
                    "those that it names count, and no others",
                )
            waiting = count * array_tasks(tasks)
            parts = [("", self._share(total, count, where))]
            most = tasks.partition("%")[2] or str(int(number(given.get("array_max_tasks")) or 0))
            if most.isdecimal() and int(most):
                self.throttles[name] = int(most)
            if (reason := _held(given)) is not None:
                waiting, held = 0, {reason: waiting}
        self.jobs[name] = _Job(
            text_at(given, "account"),
            text_at(given, "user_name") or str(given.get("user_id", "")),
            self._place(given, where),
            parts,
            waiting,
            _time(given.get("submit_time")),
            where,
            held,
            array,
            number(given.get("priority")),
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
            if sum(own.get(resource, 0) for _, own in found) != amount:
                parts = [own.get(resource, Fraction(0)) for own in by_node]
                if not parts or sum(parts) != amount:
                    parts = [amount / len(names)] * len(names)
                for (_, own), each in zip(found, parts, strict=True):
                    own[resource] = each
        return found

    def _place(self, given: Record, where: Where) -> NodeRequest:
        features = None
        try:
            features = wanted(text_at(given, "features"))
        except Odd as error:
            self.note(*where, str(error), "left out: any node of its partitions may take it")
        excluded = hosts(text_at(given, "excluded_nodes"))
        if part(given, "required_nodes", kind=str):
            self.note(*where, "it names nodes that it needs (required_nodes)", "left out")
        return NodeRequest(tuple(_words(given, "partition")), features, tuple(excluded))

    def _throttle(self) -> None:
        """Hold the tasks of arrays beyond the number that may run at once (``1-10%2``)."""
        runs = Counter(
            job.array
            for job in self.jobs.values()
            if job.array and not job.waiting and not job.held
        )
        for name, job in self.jobs.items():
            most = self.throttles.get(name)
            if most and job.waiting > (free := max(most - runs[job.array], 0)):
                self.jobs[name] = job._replace(
                    waiting=free, held={f"array throttle (%{most})": job.waiting - free}
                )

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and what tells where jobs may be."""
        cluster = self.cluster
        self._throttle()
        for job in self.jobs.values():
            queue = self.accounts.path(job.account, job.user)
            owner = f"{job.account}/{job.user}"
            for node, amounts in job.parts:
                leaf = Leaf(queue, owner, owner, demand_of(amounts), job.place)
                if node:
                    cluster.run(leaf, node, job.where)
                else:
                    if job.waiting:
                        cluster.wait(leaf, job.waiting, job.since, job.priority)
                    for reason, tasks in job.held.items():
                        cluster.hold(leaf, tasks, reason)
        self.accounts.fill(cluster)
        places = {name: self.places[name] for name in cluster.nodes}
        return cluster, lambda place: may_be(place, places)


def _held(given: Record) -> str | None:
    """Return why a pending job may not run, though there be room; None where it only lacks room."""
    if number(given.get("het_job_id")):
        return "part of a heterogeneous job"
    if given.get("exclusive") is True or "none" in _words(given, "shared"):
        return "it wants whole nodes (--exclusive)"
    reason = str(given.get("state_reason") or "")
    return None if reason in _ROOM else reason


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
    entries = (
        nodes.get("allocation") if isinstance(nodes, dict) else resources.get("allocated_nodes")
    )
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
            yield (
                name,
                {
                    r: Fraction(value)
                    for r, value in told.items()
                    if type(value) is int and value >= 0
                },
            )


def _time(value: Any) -> str | None:
    """Return seconds since 1970 as a time."""
    seconds = number(value) if not isinstance(value, str) else None
    if seconds is None or not 0 < seconds < 2**35:
        return value if isinstance(value, str) and value else None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
