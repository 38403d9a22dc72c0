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
    EntryError,
    Floats,
    Leaf,
    Node,
    Notes,
    Record,
    Where,
    add_amounts,
    demand_of,
    list_at,
    mapping_at,
    name_in_path,
    positive_weight,
    shown,
    text_at,
    value_at,
)
from .sources import END, SLURM_CONFIG, is_json, members

# The small languages of Slurm: TRES and GRES, lists of hosts, lists of array tasks, numbers that
# may not be set.

#: Hosts of one list, tasks of one array, and nodes of one job, at most.
MOST = 1_000_000
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
#: One task or host, or a range of them: ``5``, ``0-2``, ``1-10:3``.
_RANGE = re.compile(r"(?P<first>[0-9]{1,18})(?:-(?P<last>[0-9]{1,18}))?(?::(?P<step>[0-9]{1,9}))?")
_PIECE = re.compile(r"[^,\[\]]+|\[[^\]]*\]|,|.", re.DOTALL)
#: TRES that are no resource of nodes: prices, counts of nodes, what is measured.
UNCOUNTED = frozenset({"billing", "node", "energy", "pages", "vmem", "fs/disk"})


def number(value: Any) -> float | None:
    """Return a number, plain or wrapped as Slurm's JSON has it; None where none is set.

    >>> number(5), number({"set": True, "infinite": False, "number": 5}), number({"set": False, "number": 0})
    (5.0, 5.0, None)
    """
    if isinstance(value, dict):
        is_set = value_at(value, "set", kind=bool, default=True)
        if is_set is False or value_at(value, "infinite", kind=bool):
            return None
        value = value.get("number")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise EntryError(f"{shown(value)} is no number")
    return float(value) if math.isfinite(value) else None


def tres(text: str) -> Amounts:
    """Return the amounts of a TRES text by resource.

    Memory is in MiB; ``gres/gpu`` is ``gpu``, and its types count both by themselves and in it.

    >>> {key: int(value) for key, value in tres("cpu=4,mem=16G,node=1,gres/gpu:a100=2").items()}
    {'cpu': 4, 'memory': 16384, 'node': 1, 'gpu:a100': 2, 'gpu': 2}
    """
    amounts: Amounts = {}
    for entry in filter(None, text.split(",")):
        name, equals, amount = entry.partition("=")
        name = name.removeprefix("gres/")
        size = _AMOUNT.fullmatch(amount)
        if not (name and equals and size):
            raise EntryError(
                f"{shown(entry)} in {shown(text)} is no amount; expected one such as 'mem=16G'"
            )
        resource = "memory" if name == "mem" else name
        units = _MEMORY if name == "mem" else _COUNTED
        amounts[resource] = Fraction(size[1]) * units[size[2].upper()]
    return _with_types(amounts)


def gres(text: str) -> Amounts:
    """Return the amounts of a node's or job's GRES by resource.

    >>> {key: int(value) for key, value in gres("gpu:a100:4(S:0-1),shard:8").items()}
    {'gpu:a100': 4, 'shard': 8, 'gpu': 4}
    """
    amounts: Amounts = {}
    without_sockets = re.sub(r"\([^)]*\)", "", text)
    for entry in filter(None, without_sockets.split(",")):
        names = entry.strip().split(":")
        if names[0] == "gres":
            names = names[1:]
        if not names:  # "gres" alone, which some versions print where there are none
            continue
        size = _AMOUNT.fullmatch(names[-1])
        if size and len(names) > 1:
            kind = ":".join(names[:-1])
            amount = Fraction(size[1]) * _COUNTED[size[2].upper()]
        else:
            kind = ":".join(names)
            amount = Fraction(1)
        if kind not in ("", "(null)"):
            add_amounts(amounts, {kind: amount})
    return _with_types(amounts)


def _with_types(amounts: Amounts) -> Amounts:
    """Return the amounts with the total of each resource that is listed by type (``gpu:a100``)."""
    totals: Amounts = {}
    for name, amount in amounts.items():
        resource, colon, _ = name.partition(":")
        if colon:
            add_amounts(totals, {resource: amount})
    for resource, total in totals.items():
        totals[resource] = max(total, amounts.get(resource, Fraction(0)))
    return amounts | totals


def hosts(text: str) -> list[str]:
    """Return the names of a list of hosts.

    >>> hosts("n[01-03,7],m1"), hosts("r[1-2]n[1-2]")
    (['n01', 'n02', 'n03', 'n7', 'm1'], ['r1n1', 'r1n2', 'r2n1', 'r2n2'])
    """
    names: list[str] = []
    choices: list[list[str]] = []  # of the current entry, for each of its pieces
    for piece in [*_PIECE.findall(text.strip()), ","]:
        if piece == ",":
            if len(names) + math.prod(map(len, choices)) > MOST:
                raise EntryError(f"{shown(text)} has more than {MOST} hosts")
            if choices:
                names += ["".join(pieces) for pieces in product(*choices)]
            choices = []
        elif piece.startswith("[") and piece.endswith("]"):
            ranges = piece[1:-1].split(",")
            choices.append([digits for entry in ranges for digits in _numbers(entry, text)])
        elif piece in ("[", "]"):
            raise EntryError(f"{shown(text)} is no list of hosts: a bracket is not closed")
        else:
            choices.append([piece])
    return names


def _numbers(entry: str, text: str) -> list[str]:
    """Return the numbers of a range such as ``01-03``, as wide as its first."""
    match = _RANGE.fullmatch(entry)
    if match is None or match["step"]:
        raise EntryError(f"{shown(text)} is no list of hosts: {shown(entry)} is no range")
    first = int(match["first"])
    last = int(match["last"] or first)
    if last - first >= MOST:
        raise EntryError(f"{shown(text)} has more than {MOST} hosts")
    width = len(match["first"])
    return [str(k).zfill(width) for k in range(first, last + 1)]


def array_tasks(text: str) -> int:
    """Return how many tasks of a job array wait, from the list in ``array_task_string``.

    The list has single tasks (``5``), ranges (``0-2``) and ranges with a step (``1-10:3`` is 1, 4,
    7, 10), with commas between them. A throttle at its end (``%2``) does not change their number.
    A job that is no array has an empty list, and counts as one task.

    >>> array_tasks("0-2,5"), array_tasks("1-10:3%2"), array_tasks("")
    (4, 4, 1)
    """
    task_list = text.partition("%")[0]
    count = 0
    for entry in task_list.split(","):
        if entry in ("", "..."):  # Slurm ends a list that it cuts off with "..."
            continue
        match = _RANGE.fullmatch(entry)
        if match is None:
            raise EntryError(f"{shown(text)} is no list of array tasks: {shown(entry)} is no range")
        first = int(match["first"])
        last = int(match["last"] or first)
        step = max(int(match["step"] or 1), 1)
        count += max((last - first) // step + 1, 0)

    if count > MOST:
        raise EntryError(f"{shown(text)} has more than {MOST} tasks")
    return max(count, 1)


def array_throttle(entry: Record) -> int | None:
    """Return how many tasks of a job's array may run at once; None where the array has no limit.

    The limit stands behind the list of tasks (``1-10%2``), or in ``array_max_tasks``, 0 for none.
    """
    _, _, throttle = text_at(entry, "array_task_string").partition("%")
    if not throttle:
        throttle = str(int(number(entry.get("array_max_tasks")) or 0))
    if not throttle.isdecimal() or not int(throttle):
        return None
    return int(throttle)


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
#: Figures of decayed usage, and the columns of sshare that have them.
_FIGURES = {"usage": "RawUsage", "fairshare": "FairShare"}
#: The half-life of that usage in what ``scontrol show config`` prints, and Slurm's own, in seconds.
_HALF_LIFE = re.compile(
    r"^PriorityDecayHalfLife\s*=\s*"
    r"(?:(?P<days>\d{1,6})-)?(?P<hours>\d{1,6}):(?P<minutes>\d\d):(?P<seconds>\d\d)\s*$",
    re.MULTILINE,
)
_DEFAULT_HALF_LIFE = 7 * 86400.0
#: Columns that sshare computes.
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
    """An account, or a user in it: the account above it, its share, its cap.

    The share of an account is None where it is that of its parent; ``figures`` are those that
    sshare computes.
    """

    parent: str | None
    share: float | None
    cap: Floats
    figures: Floats = field(default_factory=dict)


class Accounts:
    """The tree of accounts, and the users in them."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._note = notes.add
        self._accounts: dict[str, Account] = {}
        self._users: dict[tuple[str, str], Account] = {}
        #: Accounts and users that sshare lists (True), and those that associations do (False).
        self._read: set[tuple[bool, Any]] = set()
        self._missing: set[str] = set()
        self._chains: dict[str, list[str]] = {}
        #: Seconds in which past use fades by half; None where the dump does not say.
        self.half_life: float | None = None

    def read_table(self, text: str, file: str) -> None:
        """Read the text that ``sacctmgr show assoc --parsable2`` or ``sshare -l -P`` prints."""
        lines = text.splitlines() or [""]
        headers = [header.strip() for header in lines[0].split("|")]
        indentations = {len(line) - len(line.lstrip(" ")) for line in lines[1:]}
        if len(indentations) == 1 and not {"ParentName", "Par Name"} & set(headers):
            message = "neither parents nor indentation tell which account is above which"
            action = "all stand at the root (sacctmgr … tree, format=…,ParentName)"
            self._note(file, "line 1", message, action)

        parents: list[str] = []  # the account at each depth of indentation
        for count, line in enumerate(lines[1:], 2):
            where = file, f"line {count}"
            if not line.strip():
                continue
            cells = line.split("|")
            if len(cells) != len(headers):
                message = (
                    f"{len(cells)} cells, where the header has {len(headers)} (is it cut off?)"
                )
                self._note(*where, message, "left out")
                continue
            row = dict(zip(headers, cells, strict=True))
            self._read_row(row, parents, where)

    def _read_row(self, row: dict[str, str], parents: list[str], where: Where) -> None:
        """Read a row of a table; ``parents`` are the accounts of the rows above it, by depth."""
        indented = row.get("Account", "")
        depth = len(indented) - len(indented.lstrip(" "))
        account = indented.strip()
        user = row.get("User", "").strip()
        parent = (row.get("ParentName") or row.get("Par Name") or "").strip()
        if not user:
            del parents[depth:]
            parent = parent or (parents[-1] if parents else "")
            parents += [account] * (depth + 1 - len(parents))

        for header, cell in row.items():
            if header not in _READ | _COMPUTED and cell.strip():
                self._note(*where, f"column {header!r}", "left out")

        shares = (row.get(header, "").strip() for header in _SHARES)
        share = next(filter(None, shares), "1")
        figures = None
        if "RawShares" in row:  # a table of sshare
            cells = {name: row.get(header, "").strip() for name, header in _FIGURES.items()}
            figures = {
                name: float(cell)
                for name, cell in cells.items()
                if cell.replace(".", "", 1).isdecimal()
            }
        cap = partial(tres, row.get("GrpTRES", "").strip())
        self._add(where, (account, user, parent), share, cap, figures)

    def read_association(self, entry: Any, file: str) -> None:
        """Read an association as ``sacctmgr --json`` prints it."""
        account = text_at(entry, "account")
        user = text_at(entry, "user")
        parent = text_at(entry, "parent_account")
        where = file, f"association of {user or account!r}"
        share = _share_as_text(entry.get("shares_raw"))
        self._add(where, (account, user, parent), share, partial(_association_cap, entry))

    def read_share(self, entry: Any, file: str) -> None:
        """Read an entry of ``sshare --json``."""
        name = text_at(entry, "name")
        parent = text_at(entry, "parent")
        is_user = "USER" in list_at(entry, "type")
        names = (parent, name, "") if is_user else (name, "", parent)
        factor = None  # accounts have none
        if is_user:
            factor = number(mapping_at(entry, "fairshare").get("factor"))
        computed = {"usage": number(entry.get("usage")), "fairshare": factor}
        figures = {key: value for key, value in computed.items() if value is not None}
        where = file, f"share of {name!r}"
        self._add(where, names, _share_as_text(entry.get("shares")), dict, figures)

    def _add(
        self,
        where: Where,
        names: tuple[str, str, str],
        share: str,
        cap: Callable[[], Record],
        figures: Floats | None = None,
    ) -> None:
        """Add an association or, with ``figures``, a line of sshare, whose share Slurm itself uses.

        ``names`` are the account, the user (empty for the account itself) and the account above.
        """
        account, user, parent = names
        if not account:
            self._note(*where, "it has no account", "left out")
            return

        # Its cap
        try:
            limits = {resource: float(amount) for resource, amount in cap().items()}
        except EntryError as error:
            self._note(*where, str(error), "no cap is taken from it")
            limits = {}
        for resource in sorted(UNCOUNTED & set(limits)):
            self._note(*where, f"limit of {resource!r}", "left out: it is no resource of nodes")
            del limits[resource]

        # Its share
        weight = self._weight(share, where, bool(user))

        # An association has the cap, a line of sshare the share and the figures.
        table: Any = self._users if user else self._accounts
        key: Any = (account, user) if user else account
        source = (figures is not None, key)
        if source in self._read:
            message = f"an earlier line is of {user or account!r} in {account!r}"
            self._note(*where, message, "left out")
            return
        self._read.add(source)
        row: Account = table.setdefault(key, Account(parent or None, weight, limits))
        if figures is None:
            row.cap = limits
        else:
            row.share = weight
            row.figures = figures

    def _weight(self, share: str, where: Where, of_user: bool) -> float | None:
        """Return the weight of a share; None for an account that has the share of its parent."""
        if share in ("parent", _PARENT):
            action = (
                "taken as 1"
                if of_user
                else "it weighs as much as all with tasks below it, who share at its parent"
            )
            self._note(*where, "its share is that of its parent", action)
            return 1.0 if of_user else None
        if not share.isdecimal() or len(share) > 18:
            self._note(*where, f"share {share!r} is no whole number", "taken as 1")
            return 1.0
        return positive_weight(float(share), where, self._notes, "share")

    def path(self, account: str, user: str) -> str:
        """Return the path of a user's queue: its accounts, the highest first, and the user."""
        return "/".join([*self._above(account), name_in_path(user)])

    def _above(self, account: str) -> list[str]:
        """Return the names of an account and of those above it, the highest first."""
        if account in self._chains:
            return self._chains[account]
        names: dict[str, str] = {}  # as they stand in paths
        ancestor: str | None = account
        while ancestor and ancestor != _ROOT and ancestor not in names:
            names[ancestor] = name_in_path(ancestor)
            is_missing = bool(self._accounts) and ancestor not in self._accounts
            if is_missing and ancestor not in self._missing:
                self._missing.add(ancestor)
                place = f"account {ancestor!r}"
                self._note("", place, "no line lists it", "it stands at the root")
            ancestor = self._accounts[ancestor].parent if ancestor in self._accounts else None
        if ancestor in names:
            self._note("", f"account {ancestor!r}", "it is above itself", "it counts as a root")

        chain = list(names.values())[::-1] if account else [name_in_path("")]
        self._chains[account] = chain
        return chain

    def fill(self, cluster: Cluster) -> None:
        """Put weights, caps and sshare's figures on the queues of a cluster with its jobs."""
        rows = {
            "/".join(self._above(name)) if name != _ROOT else "": account
            for name, account in self._accounts.items()
        }
        rows |= {self.path(*names): user for names, user in self._users.items()}
        for path, row in rows.items():
            cluster.queue(path).update({"weight": row.share, "cap": row.cap})
            if row.figures:
                cluster.share_figures[path] = row.figures
        self._put_past(cluster)

        # An account with its parent's share weighs as much as all queues with tasks below it.
        queues_with_tasks = [
            leaf.queue for leaf, group in cluster.groups.items() if group.running or group.waiting
        ]
        used = {ancestor: None for queue in queues_with_tasks for ancestor in lineage(queue)}
        weight_below: Counter[str] = Counter()
        lowest_first = sorted({**cluster.queues, **used}, key=len, reverse=True)
        for path in lowest_first:
            queue_row = cluster.queues.get(path, {"weight": 1.0})
            if queue_row["weight"] is None:
                queue_row["weight"] = weight_below[path] or 1.0
            if path in used and path:
                weight_below[parent_of(path)] += queue_row["weight"]

    def _put_past(self, cluster: Cluster) -> None:
        """Put what accounts and users have used on their queues, in CPUs times half-lives."""
        used = {
            path: figures["usage"]
            for path, figures in cluster.share_figures.items()
            if figures.get("usage", 0.0) > 0
        }
        if not used:
            return
        half_life = self.half_life
        if half_life is None:
            half_life = _DEFAULT_HALF_LIFE
            message = "PriorityDecayHalfLife is not in the dump (scontrol show config)"
            self._note("", "the half-life of past use", message, "taken as 7 days, Slurm's default")
        if half_life == 0:
            message = "PriorityDecayHalfLife is 0, so that past use never fades"
            self._note("", "the half-life of past use", message, "past use does not count")
            return
        for path, seconds in used.items():
            cluster.past[path, ""] = {"cpu": seconds / half_life}


def read_half_life(text: str) -> float | None:
    """Return ``PriorityDecayHalfLife`` of ``scontrol show config`` in seconds; None without it.

    >>> read_half_life("PriorityDecayHalfLife   = 14-00:00:00"), read_half_life("PriorityDecayHalfLife = 00:30:00")
    (1209600.0, 1800.0)
    """
    match = _HALF_LIFE.search(text)
    if match is None:
        return None
    hours, minutes, seconds = (int(match[unit]) for unit in ("hours", "minutes", "seconds"))
    days = int(match["days"] or 0)
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _association_cap(entry: Record) -> Amounts:
    """Return the cap of an association of JSON (``max.tres.total``)."""
    texts = []
    for limit in list_at(entry, "max", "tres", "total"):
        kind = text_at(limit, "type")
        name = text_at(limit, "name")
        resource = f"{kind}/{name}" if name else kind
        count = value_at(limit, "count", kind=int, default=0)
        unit = "M" if kind == "mem" else ""
        texts.append(f"{resource}={count}{unit}")
    return tres(",".join(texts))


def _share_as_text(value: Any) -> str:
    """Return a share of JSON as tables write it: ``parent`` where infinite, 1 where not set."""
    share = number(value)
    if share is not None:
        return f"{share:.0f}"
    is_infinite = isinstance(value, dict) and value.get("set") and value.get("infinite")
    return "parent" if is_infinite else "1"


# Where a job may run: its partitions, the features that it asks of nodes, the nodes that it
# excludes.

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
#: Reasons of pending jobs that only lack room; every other reason (a hold, a dependency, a limit of
#: a QOS or account, …) stops a job.
_ROOM = frozenset({"", "None", "Priority", "Resources"})
#: Keys about a file, and the mark of its end.
_ABOUT = frozenset({"meta", "errors", "warnings", "plugin", "last_update", "last_backfill", END})


class _Job(NamedTuple):
    """A job: its account, user and place, with its shares of the nodes and the tasks that wait.

    A task here is the portion of a job on one node: a task of an array on two nodes is two tasks.
    ``portions`` are amounts by node of a job that runs; of one that waits, they are the amounts of
    one task, for no node. ``waiting`` and ``held_tasks`` count tasks, the latter those that may not
    run yet, by reason; ``throttle`` counts tasks of the array, each on ``node_count`` nodes.
    ``message`` is Slurm's reason and description of one that waits.
    """

    account: str
    user: str
    place: NodeRequest
    portions: list[tuple[str, Amounts]]
    waiting: int
    held_tasks: dict[str, int]
    since: str | None
    where: Where
    array: str
    throttle: int | None
    priority: float | None
    node_count: int
    message: str


class SlurmReader:
    """The reader of nodes, jobs and accounts, file by file, which places jobs in queues.

    A job goes to the queue of its account.

    :meth:`read` does the first, :meth:`finish` the second.
    """

    def __init__(self) -> None:
        self.cluster = Cluster("slurm", _UNITS)
        self.note = self.cluster.notes.add
        self.accounts = Accounts(self.cluster.notes)
        self.jobs: dict[str, _Job] = {}
        self.node_features: dict[str, NodeFeatures] = {}

    def read(self, path: Path) -> None:
        """Read a file: a table of accounts, or JSON with nodes, jobs, associations or shares."""
        text = read_text(path)
        if text.startswith(SLURM_CONFIG):
            self.accounts.half_life = read_half_life(text)
            return
        if not is_json(text):
            self.accounts.read_table(text, path.name)
            return

        readers = {
            "nodes": self._read_node,
            "jobs": self._read_job,
            "associations": self.accounts.read_association,
            "shares": self.accounts.read_share,
        }
        for key, value in members(text, path):
            if key in _ABOUT or value == []:
                continue
            entries: Any = [value]  # `members` yields nodes, jobs and associations one by one
            if key == "shares":
                entries = value.get("shares") if isinstance(value, dict) else value
            if key not in readers or not isinstance(entries, list):
                self.note(path.name, f"key {key!r}", "it is not read", "left out")
                continue
            for entry in entries:
                self.cluster.notes.read_entry(
                    readers[key], entry, path.name, f"{key}:", "name", "job_id", "account"
                )

    def _read_node(self, entry: Record, file: str) -> None:
        name = text_at(entry, "name")
        if not name:
            raise EntryError("it has no name")
        states = _words(entry, "state") + _words(entry, "state_flags")
        closed = [state for state in states if state.rstrip("*$~#!%@^-").upper() in _CLOSED]
        amounts = _node_amounts(entry)
        if any(state.upper() == "RESERVED" for state in states):
            self.note(file, f"node {name!r}", "it is in a reservation", "taken as open to all")

        partitions = _words(entry, "partitions")
        features = _words(entry, "active_features") or _words(entry, "features")
        if name not in self.cluster.nodes:
            self.node_features[name] = NodeFeatures(partitions, features)
        attributes = {"partitions": ",".join(partitions), "features": ",".join(features)}
        in_use = _node_use(entry)
        self.cluster.add(Node(name, amounts, attributes, "+".join(closed), file, in_use))

    def _read_job(self, entry: Record, file: str) -> None:
        name = str(entry.get("job_id", "?"))
        where = file, f"job {name}"
        states = {state.upper() for state in _words(entry, "job_state")}
        if not states & (_RUNS | _WAITS):
            message = f"it has finished ({'+'.join(sorted(states)) or 'no state'})"
            self.note(*where, message, "left out: it holds nothing")
            return
        if name in self.jobs:
            self.note(*where, "an earlier job has this number", "left out")
            return
        runs = not states & _WAITS
        if "SUSPENDED" in states:
            self.note(*where, "it is suspended", "it counts as one that runs")

        total, node_count = _job_amounts(entry, runs)
        waiting = 0
        held_tasks: dict[str, int] = {}
        if runs:
            portions = self._portions(entry, total, where)
        else:
            waiting = node_count * self._array_tasks(entry, where)
            portions = [("", self._even_portion(total, node_count, where))]
            reason = _hold_reason(entry)
            if reason is not None:
                held_tasks = {reason: waiting}
                waiting = 0
        self.jobs[name] = _Job(
            account=text_at(entry, "account"),
            user=text_at(entry, "user_name") or str(entry.get("user_id", "")),
            place=self._node_request(entry, where),
            portions=portions,
            waiting=waiting,
            held_tasks=held_tasks,
            since=_time(entry.get("submit_time")),
            where=where,
            array=str(int(number(entry.get("array_job_id")) or 0) or ""),
            throttle=None if runs else array_throttle(entry),
            node_count=node_count,
            priority=number(entry.get("priority")),
            message=_message(entry),
        )

    def _array_tasks(self, entry: Record, where: Where) -> int:
        """Return how many tasks of a job's array wait; a list that Slurm cuts off is noted."""
        text = text_at(entry, "array_task_string")
        if "..." in text:
            message = "its list of array tasks is cut off"
            self.note(*where, message, "those that it names count, and no others")
        return array_tasks(text)

    def _even_portion(self, total: Amounts, node_count: int, where: Where) -> Amounts:
        """Return the part of a job on one of its nodes, where the dump lists only the total."""
        portion = {resource: amount / node_count for resource, amount in total.items()}
        if any(amount.denominator != 1 for amount in portion.values()):
            message = f"what it has does not divide by its {node_count} nodes"
            self.note(*where, message, "divided evenly")
        return portion

    def _portions(self, entry: Record, total: Amounts, where: Where) -> list[tuple[str, Amounts]]:
        """Return the amounts of a job on each of its nodes, so that they add up to its total.

        Of each resource these are the amounts by node of ``job_resources``, else those of
        ``gres_detail``, else equal parts.
        """
        by_node = dict(_allocated_amounts(entry))
        names = hosts(text_at(entry, "nodes")) or list(by_node)
        if not names:
            raise EntryError("it runs, but the dump does not list its nodes")
        even: Amounts = {}
        if set(by_node) != set(names):
            even = self._even_portion(total, len(names), where)
        portions = [(name, dict(by_node.get(name, even))) for name in names]

        details = list_at(entry, "gres_detail")
        devices = [gres(str(text)) for text in details] if len(details) == len(names) else []
        for resource, amount in total.items():
            if sum(portion.get(resource, 0) for _, portion in portions) == amount:
                continue
            parts = [portion.get(resource, Fraction(0)) for portion in devices]
            if not parts or sum(parts) != amount:
                parts = [amount / len(names)] * len(names)
            for (_, portion), part in zip(portions, parts, strict=True):
                portion[resource] = part
        return portions

    def _node_request(self, entry: Record, where: Where) -> NodeRequest:
        """Return the nodes that a job asks for; requests that cannot be expressed are noted."""
        features = None
        try:
            features = feature_terms(text_at(entry, "features"))
        except EntryError as error:
            action = "left out: any node of its partitions may take it"
            self.note(*where, str(error), action)
        excluded = hosts(text_at(entry, "excluded_nodes"))
        if value_at(entry, "required_nodes", kind=str):
            self.note(*where, "it names nodes that it needs (required_nodes)", "left out")
        return NodeRequest(tuple(_words(entry, "partition")), features, tuple(excluded))

    def _hold_beyond_throttles(self) -> None:
        """Hold the tasks of arrays beyond the number that may run at once (``1-10%2``)."""
        running_tasks = Counter(
            job.array
            for job in self.jobs.values()
            if job.array and not job.waiting and not job.held_tasks
        )
        for name, job in self.jobs.items():
            if job.throttle is None:
                continue
            startable = job.node_count * max(job.throttle - running_tasks[job.array], 0)
            if job.waiting > startable:
                reason = f"array throttle (%{job.throttle})"
                held_tasks = {reason: job.waiting - startable}
                self.jobs[name] = job._replace(waiting=startable, held_tasks=held_tasks)

    def _job_counts(self) -> dict[str, int]:
        """Return how many jobs run, wait and are held, as ``squeue -r`` counts them."""
        jobs = self.jobs.values()
        held = sum(sum(job.held_tasks.values()) // job.node_count for job in jobs)
        return {
            "run": sum(not job.waiting and not job.held_tasks for job in jobs),
            "wait": sum(job.waiting // job.node_count for job in jobs),
            "are held": held,
        }

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and the function that says where its jobs may run."""
        cluster = self.cluster
        self._hold_beyond_throttles()
        for job in self.jobs.values():
            queue = self.accounts.path(job.account, job.user)
            owner = f"{job.account}/{job.user}"
            for node, amounts in job.portions:
                leaf = Leaf(queue, owner, owner, demand_of(amounts), job.place, tenant=owner)
                if node:
                    cluster.run(leaf, node, job.where)
                    continue
                if job.waiting:
                    cluster.wait(leaf, job.waiting, job.since, job.priority, job.message)
                for reason, tasks in job.held_tasks.items():
                    cluster.hold(leaf, tasks, reason)
        cluster.jobs = self._job_counts()
        self.accounts.fill(cluster)
        node_features = {name: self.node_features[name] for name in cluster.nodes}
        cluster.why_nowhere = lambda place: why_nowhere(place, node_features)
        return cluster, lambda place: allowed_nodes(place, node_features)


def _node_amounts(entry: Record) -> Floats:
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


def _node_use(entry: Record) -> Floats:
    """Return the use that a node reports by resource, as far as it does."""
    in_use = {
        resource: float(amount) for resource, amount in tres(text_at(entry, "tres_used")).items()
    }
    for resource, key in (("cpu", "alloc_cpus"), ("memory", "alloc_memory")):
        amount = number(entry.get(key))
        if amount is not None:
            in_use[resource] = amount
    return in_use


def _job_amounts(entry: Record, runs: bool) -> tuple[Amounts, int]:
    """Return the amounts of a job by resource, and the number of its nodes.

    Of a job that runs they are those that it has, of others those that it asks for.
    """
    allocated = text_at(entry, "tres_alloc_str") if runs else ""
    total = tres(allocated or text_at(entry, "tres_req_str"))
    node_count = int(number(entry.get("node_count")) or total.get("node", 0) or 1)
    if not 1 <= node_count <= MOST:
        raise EntryError(f"its node_count is {node_count}; expected a number from 1 to {MOST}")
    for resource in sorted(UNCOUNTED & set(total)):
        del total[resource]
    if not total:
        raise EntryError("it has no amounts (tres_req_str, tres_alloc_str)")
    return total, node_count


def _hold_reason(entry: Record) -> str | None:
    """Return why a pending job may not run even with room for it; None where it only lacks room."""
    if number(entry.get("het_job_id")):
        return "part of a heterogeneous job"
    if entry.get("exclusive") is True or "none" in _words(entry, "shared"):
        return "it wants whole nodes (--exclusive)"
    reason = str(entry.get("state_reason") or "")
    return None if reason in _ROOM else reason


def _message(entry: Record) -> str:
    """Return Slurm's description of why a job waits, or its reason; empty for none."""
    description = str(entry.get("state_description") or "")
    reason = str(entry.get("state_reason") or "")
    return description or (reason if reason != "None" else "")


def _words(entry: Record, key: str) -> list[str]:
    """Return the words of a list, or of a text with commas or pluses between them."""
    value = value_at(entry, key, kind=(str, list), default=[])
    if isinstance(value, str):
        value = value.replace("+", ",").split(",")
    return [str(word).strip() for word in value if str(word).strip()]


def _allocated_amounts(entry: Record) -> Iterator[tuple[str, Amounts]]:
    """Yield the nodes of a job with its CPUs and memory on each, of all versions of Slurm."""
    resources = mapping_at(entry, "job_resources")
    nodes = resources.get("nodes")
    allocations = (
        nodes.get("allocation") if isinstance(nodes, dict) else resources.get("allocated_nodes")
    )
    for value in allocations if isinstance(allocations, list) else []:
        allocation = mapping_at(value)
        name = value_at(allocation, "name", kind=str)
        name = name or value_at(allocation, "nodename", kind=str)
        cpus = allocation.get("cpus_used", allocation.get("cpus"))
        if isinstance(cpus, dict):
            cpus = cpus.get("count")
        memory = allocation.get("memory_allocated", allocation.get("memory"))
        if isinstance(memory, dict):
            memory = memory.get("allocated")
        if name:
            numbers = {"cpu": cpus, "memory": memory}
            amounts = {
                resource: Fraction(amount)
                for resource, amount in numbers.items()
                if type(amount) is int and amount >= 0
            }
            yield name, amounts


def _time(value: Any) -> str | None:
    """Return seconds since 1970 as a time."""
    seconds = number(value) if not isinstance(value, str) else None
    if seconds is None or not 0 < seconds < 2**35:
        return value if isinstance(value, str) and value else None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
