"""Slurm's accounts from ``sacctmgr`` and ``sshare``: a tree with shares and limits."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fairlp import queues

from .cluster import (
    Cluster,
    EntryError,
    Floats,
    Key,
    Names,
    Note,
    Notes,
    Record,
    list_at,
    mapping_at,
    name_in_path,
    positive_weight,
    text_at,
    value_at,
)
from .slurm_text import UNCOUNTED, number, tres, whole_number

_ROOT = "root"
_SHARE_COLUMNS = ("Share", "RawShares", "Fairshare")
#: Columns of sacctmgr and of sshare that are read, or computed.
_COLUMNS = frozenset(
    """
    Cluster Account User Partition GrpTRES ParentName Share RawShares Fairshare NormShares RawUsage
    NormUsage EffectvUsage FairShare LevelFS TRESRunMins ID Lft Rgt
    """.split()  # noqa: SIM905
) | {"Par Name"}
_NO_CAP = "no cap is taken from it"
_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
#: What ``Fairshare=parent`` is as a number (``SLURMDB_FS_USE_SHARE_OF_PARENT``).
_SHARE_OF_PARENT = "2147483647"
#: Figures of decayed usage, and the columns of sshare that have them.
_FIGURE_COLUMNS = {"usage": "RawUsage", "fairshare": "FairShare"}
#: The half-life of that usage in what ``scontrol show config`` prints, and Slurm's own, in seconds.
_HALF_LIFE = re.compile(
    r"^PriorityDecayHalfLife\s*=\s*(?:([0-9]{1,6})-)?([0-9]{1,6}):([0-9][0-9]):([0-9][0-9])\s*$",
    re.MULTILINE,
)
_DEFAULT_HALF_LIFE = 7 * 86400.0


@dataclass
class Account:
    """An account, or a user in it: the account above it, its share, its cap.

    The share of an account is None where it is that of its parent; ``figures`` are those that
    sshare computes.
    """

    parent: str
    share: float | None
    cap: Floats
    figures: Floats = field(default_factory=dict)


class Accounts:
    """The tree of accounts, and the users in them."""

    def __init__(self, notes: Notes) -> None:
        self._note = notes.add
        #: By account and user, which is empty for the account itself.
        self._rows: dict[Key, Account] = {}
        #: Those that sshare lists (True), and those that associations do (False).
        self._read: set[tuple[bool, Key]] = set()
        self._missing: set[str] = set()
        self._chains: dict[str, Names] = {}
        #: Seconds in which past use fades by half; None where the dump does not say.
        self.half_life: float | None = None

    def read_table(self, text: str, file: str) -> None:
        """Read the text that ``sacctmgr show assoc --parsable2`` or ``sshare -l -P`` prints."""
        first, *lines = text.splitlines() or [""]
        headers = [header.strip() for header in first.split("|")]
        if len({len(line) - len(line.lstrip(" ")) for line in lines}) == 1 and not {
            "ParentName",
            "Par Name",
        } & set(headers):
            message = "neither parents nor indentation tell which account is above which"
            self._note(
                file,
                "line 1",
                message,
                "all stand at the root (sacctmgr … tree, format=…,ParentName)",
            )

        parents: Names = []  # the account at each depth of indentation
        for count, line in enumerate(lines, 2):
            note = partial(self._note, file, f"line {count}")
            cells = line.split("|")
            if len(cells) == len(headers):
                self._read_row(dict(zip(headers, cells, strict=True)), parents, note)
            elif line.strip():
                message = (
                    f"{len(cells)} cells, where the header has {len(headers)} (is it cut off?)"
                )
                note(message)

    def _read_row(self, row: dict[str, str], parents: Names, note: Note) -> None:
        """Read a row of a table; ``parents`` are the accounts of the rows above it, by depth."""
        indented = row.get("Account", "")
        depth = len(indented) - len(indented.lstrip(" "))
        row = {header: cell.strip() for header, cell in row.items()}
        account, user = row.get("Account", ""), row.get("User", "")
        parent = row.get("ParentName") or row.get("Par Name") or ""
        if not user:
            del parents[depth:]
            parent = parent or (parents[-1] if parents else "")
            parents += [account] * (depth + 1 - len(parents))
        for header, cell in row.items():
            if cell and header not in _COLUMNS:
                note(f"column {header!r}")

        share = next(filter(None, map(row.get, _SHARE_COLUMNS)), "1")
        figures = None
        if "RawShares" in row:  # a table of sshare
            cells = {name: row.get(header, "") for name, header in _FIGURE_COLUMNS.items()}
            figures = {
                name: float(cell) for name, cell in cells.items() if _DECIMAL.fullmatch(cell)
            }
        self._add(note, (account, user, parent), share, figures, row.get("GrpTRES", ""))

    def read_association(self, entry: Any, file: str) -> None:
        """Read an association as ``sacctmgr --json`` prints it."""
        account, user, parent = (
            text_at(entry, key) for key in ("account", "user", "parent_account")
        )
        note = partial(self._note, file, f"association of {user or account!r}")
        share = _share_as_text(entry.get("shares_raw"))
        cap = ""
        try:
            cap = _association_cap(entry)
        except EntryError as error:
            note(str(error), _NO_CAP)
        self._add(note, (account, user, parent), share, None, cap)

    def read_share(self, entry: Any, file: str) -> None:
        """Read an entry of ``sshare --json``."""
        name = text_at(entry, "name")
        parent = text_at(entry, "parent")
        is_user = "USER" in list_at(entry, "type")
        computed = {"usage": number(entry.get("usage"))}
        if is_user:  # accounts have no factor
            computed["fairshare"] = number(mapping_at(entry, "fairshare").get("factor"))
        figures = {key: value for key, value in computed.items() if value is not None}
        self._add(
            partial(self._note, file, f"share of {name!r}"),
            (parent, name, "") if is_user else (name, "", parent),
            _share_as_text(entry.get("shares")),
            figures,
        )

    def _add(
        self,
        note: Note,
        names: tuple[str, str, str],
        share: str,
        figures: Floats | None,
        cap: str = "",
    ) -> None:
        """Add an association or, with ``figures``, a line of sshare, whose share Slurm itself uses.

        ``names`` are the account, the user (empty for the account itself) and the account above.
        """
        account, user, parent = names
        if not account:
            note("it has no account")
            return
        limits: Floats = {}
        try:
            limits = {resource: float(amount) for resource, amount in tres(cap).items()}
        except EntryError as error:
            note(str(error), _NO_CAP)
        for resource in sorted(UNCOUNTED & set(limits)):
            note(f"limit of {resource!r}", "left out: it is no resource of nodes")
            del limits[resource]
        weight = self._weight(share, note, bool(user))

        # An association has the cap, a line of sshare the share and the figures.
        key = account, user
        source = (figures is not None, key)
        if source in self._read:
            note(f"an earlier line is of {user or account!r} in {account!r}")
            return
        self._read.add(source)
        row = self._rows.setdefault(key, Account(parent, weight, limits))
        if figures is None:
            row.cap = limits
        else:
            row.share = weight
            row.figures = figures

    def _weight(self, share: str, note: Note, of_user: bool) -> float | None:
        """Return the weight of a share; None for an account that has the share of its parent."""
        if share in ("parent", _SHARE_OF_PARENT):
            action = "it weighs as much as all with tasks below it, who share at its parent"
            note("its share is that of its parent", "taken as 1" if of_user else action)
            return 1.0 if of_user else None
        weight = whole_number(share)
        if weight is None:
            note(f"share {share!r} is no whole number", "taken as 1")
            return 1.0
        return positive_weight(float(weight), note, "share")

    def path(self, account: str, user: str) -> str:
        """Return the path of a user's queue: its accounts, the highest first, and the user."""
        return "/".join([*self._above(account), name_in_path(user)])

    def _above(self, account: str) -> Names:
        """Return the names of an account and of those above it, the highest first."""
        if account in self._chains:
            return self._chains[account]
        is_listed = any(not user for _, user in self._rows)
        names: Names = []
        ancestor = account
        while ancestor and ancestor != _ROOT and ancestor not in names:
            names.append(ancestor)
            is_missing = is_listed and (ancestor, "") not in self._rows
            if is_missing and ancestor not in self._missing:
                self._missing.add(ancestor)
                self._note("", f"account {ancestor!r}", "no line lists it", "it stands at the root")
            ancestor = self._rows[ancestor, ""].parent if (ancestor, "") in self._rows else ""
        if ancestor in names:
            self._note("", f"account {ancestor!r}", "it is above itself", "it counts as a root")
        chain = [name_in_path(name) for name in reversed(names or ([""] if not account else []))]
        self._chains[account] = chain
        return chain

    def fill(self, cluster: Cluster) -> None:
        """Put weights, caps and sshare's figures on the queues of a cluster with its jobs."""
        for (account, user), row in self._rows.items():
            path = self.path(account, user) if user else "/".join(self._above(account))
            cluster.queue(path).update({"weight": row.share, "cap": row.cap})
            if row.figures:
                cluster.share_figures[path] = row.figures
        self._put_past(cluster)

        # An account with its parent's share weighs as much as all queues with tasks below it.
        queues_with_tasks = [
            leaf.queue for leaf, group in cluster.groups.items() if group.running or group.waiting
        ]
        used = {ancestor: None for queue in queues_with_tasks for ancestor in queues.lineage(queue)}
        weight_below: Counter[str] = Counter()
        lowest_first = sorted({**cluster.queues, **used}, key=len, reverse=True)
        for path in lowest_first:
            queue_row = cluster.queues.get(path, {"weight": 1.0})
            if queue_row["weight"] is None:
                queue_row["weight"] = weight_below[path] or 1.0
            if path in used and path:
                weight_below[queues.parent_of(path)] += queue_row["weight"]

    def _put_past(self, cluster: Cluster) -> None:
        """Put what accounts and users have used on their queues, in CPUs times half-lives."""
        used = {
            path: row["usage"]
            for path, row in cluster.share_figures.items()
            if row.get("usage", 0.0) > 0
        }
        place = "the half-life of past use"
        half_life = _DEFAULT_HALF_LIFE if self.half_life is None else self.half_life
        if used and self.half_life is None:
            message = "PriorityDecayHalfLife is not in the dump (scontrol show config)"
            self._note("", place, message, "taken as 7 days, Slurm's default")
        if used and half_life == 0:
            message = "PriorityDecayHalfLife is 0, so that past use never fades"
            self._note("", place, message, "past use does not count")
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
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _association_cap(entry: Record) -> str:
    """Return the cap of an association of JSON (``max.tres.total``) as text."""
    texts = []
    for limit in list_at(entry, "max", "tres", "total"):
        kind = text_at(limit, "type")
        resource = "/".join(filter(None, [kind, text_at(limit, "name")]))
        count = value_at(limit, "count", kind=int, default=0)
        texts.append(f"{resource}={count}{'M' if kind == 'mem' else ''}")
    return ",".join(texts)


def _share_as_text(value: Any) -> str:
    """Return a share of JSON as tables write it: ``parent`` where infinite, 1 where not set."""
    share = number(value)
    if share is not None:
        return f"{share:.0f}"
    is_infinite = isinstance(value, dict) and value.get("set") and value.get("infinite")
    return "parent" if is_infinite else "1"
