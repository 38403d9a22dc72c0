"""Slurm's accounts from ``sacctmgr show assoc --json``: a tree with shares and limits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
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
    name_in_path,
    positive_weight,
    text_at,
    value_at,
)
from .slurm_text import UNCOUNTED, number, tres

_ROOT = "root"
#: What ``Fairshare=parent`` is as a number (``SLURMDB_FS_USE_SHARE_OF_PARENT``).
_SHARE_OF_PARENT = 2147483647


@dataclass
class Account:
    """An account, or a user in it: the account above it, its share, its cap.

    The share of an account is None where it is that of its parent.
    """

    parent: str
    share: float | None
    cap: Floats


class Accounts:
    """The tree of accounts, and the users in them."""

    def __init__(self, notes: Notes) -> None:
        self._note = notes.add
        #: By account and user, which is empty for the account itself.
        self._rows: dict[Key, Account] = {}
        self._missing: set[str] = set()
        self._chains: dict[str, Names] = {}

    def read(self, entry: Record, file: str) -> None:
        """Read an association."""
        account, user, parent = (
            text_at(entry, key) for key in ("account", "user", "parent_account")
        )
        note = partial(self._note, file, f"association of {user or account!r}")
        if not account:
            note("it has no account")
        elif (account, user) in self._rows:
            note(f"an earlier association is of {user or account!r} in {account!r}")
        else:
            share = self._weight(entry.get("shares_raw"), note, bool(user))
            self._rows[account, user] = Account(parent, share, _cap(entry, note))

    def _weight(self, value: Any, note: Note, of_user: bool) -> float | None:
        """Return the weight of a share; None for an account that has the share of its parent."""
        share = number(value)
        is_infinite = isinstance(value, dict) and value.get("set") and value.get("infinite")
        if is_infinite or share == _SHARE_OF_PARENT:
            action = "it weighs as much as all with tasks below it, who share at its parent"
            note("its share is that of its parent", "taken as 1" if of_user else action)
            return 1.0 if of_user else None
        return positive_weight(1.0 if share is None else share, note, "share")

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
                self._note(
                    "", f"account {ancestor!r}", "no association lists it", "it stands at the root"
                )
            ancestor = self._rows[ancestor, ""].parent if (ancestor, "") in self._rows else ""
        if ancestor in names:
            self._note("", f"account {ancestor!r}", "it is above itself", "it counts as a root")
        chain = [name_in_path(name) for name in reversed(names or ([""] if not account else []))]
        self._chains[account] = chain
        return chain

    def fill(self, cluster: Cluster) -> None:
        """Put weights and caps on the queues of a cluster with its jobs."""
        for (account, user), row in self._rows.items():
            path = self.path(account, user) if user else "/".join(self._above(account))
            cluster.queue(path).update({"weight": row.share, "cap": row.cap})

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


def _cap(entry: Record, note: Note) -> Floats:
    """Return the cap of an association: GrpTRES, which JSON has in ``max.tres.total``."""
    cap: Floats = {}
    try:
        for limit in list_at(entry, "max", "tres", "total"):
            kind = text_at(limit, "type")
            name = "/".join(filter(None, [kind, text_at(limit, "name")]))
            unit = "M" if kind == "mem" else ""
            amounts = tres(f"{name}={value_at(limit, 'count', kind=int, default=0)}{unit}")
            cap |= {resource: float(amount) for resource, amount in amounts.items()}
    except EntryError as error:
        note(str(error), "no cap is taken from it")
        return {}
    for resource in sorted(UNCOUNTED & set(cap)):
        note(f"limit of {resource!r}", "left out: it is no resource of nodes")
        del cap[resource]
    return cap
