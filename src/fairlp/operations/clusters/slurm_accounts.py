"""Slurm's accounts: a tree with shares and limits, from ``sacctmgr`` or ``sshare``, as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from .cluster import Cluster, name_in_path, positive
from .notes import Notes, Odd, Record, Where, list_at, part, text_at
from .slurm_text import UNCOUNTED, number, tres

_ROOT: Final = "root"
#: Columns by what they mean: those of sacctmgr, and of sshare.
_SHARES: Final = ("Share", "RawShares", "Fairshare")
_READ: Final = frozenset({"Cluster", "Account", "User", "Partition", "GrpTRES", "ParentName", "Par Name", *_SHARES})
#: What sshare computes: nobody has set it.
_COMPUTED: Final = frozenset(
    {"NormShares", "RawUsage", "NormUsage", "EffectvUsage", "FairShare", "LevelFS", "TRESRunMins", "ID", "Lft", "Rgt"}
)


@dataclass
class Account:
    """What is known of an account, or of a user in it: the account above, its share, and what it may have."""

    parent: str | None
    share: float
    cap: dict[str, float]


class Accounts:
    """The tree of accounts, and the users in them."""

    def __init__(self, notes: Notes) -> None:
        self._notes, self._note = notes, notes.add
        self._accounts: dict[str, Account] = {}
        self._users: dict[tuple[str, str], Account] = {}
        self._missing: set[str] = set()
        self._chains: dict[str, list[str]] = {}

    def read_table(self, text: str, file: str) -> None:
        """Take in what ``sacctmgr show assoc --parsable2`` or ``sshare -l -P`` prints."""
        lines = text.splitlines()
        headers = [header.strip() for header in lines[0].split("|")]
        flat = len({len(line) - len(line.lstrip(" ")) for line in lines[1:]}) == 1
        if flat and not {"ParentName", "Par Name"} & set(headers):
            what = "neither parents nor indentation tell which account is above which"
            self._note(file, "line 1", what, "all stand at the root (sacctmgr … tree, format=…,ParentName)")
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
            depth, account = len(given) - len(given.lstrip(" ")), given.strip()
            user = row.get("User", "").strip()
            parent = (row.get("ParentName") or row.get("Par Name") or "").strip()
            if not user:
                del parents[depth:]
                parent = parent or (parents[-1] if parents else "")
                parents += [account] * (depth + 1 - len(parents))
            for header, cell in row.items():
                if header not in _READ | _COMPUTED and cell.strip():
                    self._note(*where, f"column {header!r}", "left out")
            share = next((row[header].strip() for header in _SHARES if row.get(header, "").strip()), "1")
            self._take(where, (account, user, parent), share, lambda row=row: tres(row.get("GrpTRES", "").strip()))  # type: ignore[misc]

    def read_association(self, given: Any, file: str) -> None:
        """Take in an association as ``sacctmgr --json`` prints it."""
        account, user = text_at(given, "account"), text_at(given, "user")
        where = file, f"association of {user or account!r}"

        def cap() -> Record:
            entries = list_at(given, "max", "tres", "total")
            texts = []
            for entry in entries:
                kind, name = text_at(entry, "type"), text_at(entry, "name")
                unit = "M" if kind == "mem" else ""
                texts.append(f"{kind}{'/' + name if name else ''}={part(entry, 'count', kind=int, default=0)}{unit}")
            return tres(",".join(texts))

        share = number(given.get("shares_raw"))
        parent = text_at(given, "parent_account")
        self._take(where, (account, user, parent), "1" if share is None else f"{share:.0f}", cap)

    def read_share(self, given: Any, file: str) -> None:
        """Take in an entry of ``sshare --json``."""
        name, parent = text_at(given, "name"), text_at(given, "parent")
        user = "USER" in list_at(given, "type")
        share = number(given.get("shares"))
        names = (parent, name, "") if user else (name, "", parent)
        self._take((file, f"share of {name!r}"), names, "1" if share is None else f"{share:.0f}", dict)

    def _take(self, where: Where, names: tuple[str, str, str], share: str, cap: Callable[[], Record]) -> None:
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
        weight = self._weight(share, where)
        known = self._users if user else self._accounts
        key: Any = (account, user) if user else account
        if key in known:
            self._note(*where, f"there is an earlier line of {user or account!r} in {account!r}", "left out")
        else:
            known[key] = Account(parent or None, weight, limits)

    def _weight(self, share: str, where: Where) -> float:
        if share == "parent":
            self._note(*where, "its share is that of its parent", "taken as 1")
            return 1.0
        if not share.isdecimal() or len(share) > 18:
            self._note(*where, f"share {share!r} is no whole number", "taken as 1")
            return 1.0
        return positive(float(share), where, self._notes, "share")

    def path(self, account: str, user: str) -> str:
        """Return the path of a user's queue: the accounts from below the root down, and the user."""
        return "/".join([*self._above(account), name_in_path(user)])

    def _above(self, account: str) -> list[str]:
        """Return the names of an account and of those above it, the highest first."""
        if account not in self._chains:
            self._chains[account] = self._chain(account)
        return self._chains[account]

    def _chain(self, account: str) -> list[str]:
        names: list[str] = []
        seen: set[str] = set()
        at: str | None = account
        while at and at != _ROOT and at not in seen:
            seen.add(at)
            names.append(name_in_path(at))
            if at not in self._accounts and self._accounts and at not in self._missing:
                self._missing.add(at)
                self._note("", f"account {at!r}", "nothing tells where it stands", "it stands at the root")
            at = self._accounts[at].parent if at in self._accounts else None
        if at in seen:
            self._note("", f"account {at!r}", "it is above itself", "it counts as a root")
        return names[::-1] if account else [name_in_path("")]

    def fill(self, cluster: Cluster) -> None:
        """Put weights and caps on the queues of a cluster."""
        for account, one in self._accounts.items():
            cluster.queue("/".join(self._above(account)) if account != _ROOT else "").update(
                {"weight": one.share, "cap": one.cap}
            )
        for (account, user), one in self._users.items():
            cluster.queue(self.path(account, user)).update({"weight": one.share, "cap": one.cap})
