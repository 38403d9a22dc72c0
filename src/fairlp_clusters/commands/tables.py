"""Shares beside fair shares, by queue and user, as a terminal and CSV show them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fairlp.toolkit import TitledTable, cell

if TYPE_CHECKING:
    import pandas as pd

    from ..dues.share_comparison import ShareComparison

#: Rows of a table that a report shows.
SHOWN = 30
_SHARES = (
    "share",
    "fair_share",
    "guarantee",
    "cap",
    "borrowed",
    "before",
    "after",
    "change",
    "due_share",
    "missing",
)


def shares_text(comparison: ShareComparison) -> Iterator[str | TitledTable]:
    """Yield the tables of queues and users; those who are owed most come first."""
    subject = comparison.subject
    units = comparison.instance.units
    name = subject.name or subject.scheduler
    prefix = f"{name}: " if name else ""
    yield f"{prefix}what runs now, beside what is fair by {comparison.fair.mechanism}"
    yield "shares are dominant shares of the whole cluster, in percent\n"

    hint = "--table prints all of a table, --csv and --json too"
    if comparison.instance.has_queues:
        queues = comparison.queues.rename(index={"": "(root)"}).drop(columns=["weight"])
        yield TitledTable("By queue", for_people(queues, units), SHOWN, hint)
    noun = subject.tenants.noun
    if noun != "queue" and not subject.tenants.are_users:  # queues have the table above
        order = (-comparison.tenant_shares.missing_share).argsort(kind="stable")
        tenants = for_people(comparison.tenants.iloc[order], units)
        yield TitledTable(f"By {noun}, all its tasks together", tenants, SHOWN, hint)
    users = for_people(owed_first(comparison), units)
    yield TitledTable("By user, those first who are owed most", users, SHOWN, hint)

    homeless = subject.homeless
    if len(homeless):
        tasks = int(homeless["tasks"].sum())
        yield f"{tasks} more tasks wait of {len(homeless)} users whom no server may take"
    notes = len(subject.not_understood)
    if notes:
        yield f"{notes} lines of the dump are left out, not understood or interpreted"
    yield ""


def owed_first(comparison: ShareComparison) -> pd.DataFrame:
    """Return the table of users, those first who are owed the largest share."""
    order = (-comparison.owed * comparison.share_of_a_task).argsort(kind="stable")
    users: pd.DataFrame = comparison.users.iloc[order]
    return users


def for_people(table: pd.DataFrame, units: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return a table with shares in percent, holders in words, and without empty columns."""
    copy = table.copy()
    if "blocked_by" in copy:
        from ..dues.share_comparison import resource_of
        from ..page.sections import amounts

        resources = [resource_of(str(text)) for text in copy["blocked_by"]]
        units_of_rows = [(units or {}).get(resource, "") for resource in resources]
        for name in ("held_by", "beyond_fair"):
            entries = zip(copy[name], units_of_rows, strict=True)
            copy[name] = [amounts(holders, unit) for holders, unit in entries]

    for name in copy.columns:
        if name == "waiting":
            copy[name] = ["no limit" if tasks == math.inf else cell(tasks) for tasks in copy[name]]
        elif name in _SHARES:
            copy[name] = copy[name].map(lambda share: cell(100 * share))
        elif copy[name].dtype.kind == "f":
            copy[name] = copy[name].map(cell)
    filled = [
        name
        for name in copy.columns
        if name in _SHARES[:2] or not copy[name].isin(["", "–", 0, "0"]).all()
    ]
    return copy[filled]


def for_csv(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with holders as text, numbers in full."""
    rows = table.copy()
    for name in ("held_by", "beyond_fair"):
        if name in rows:
            rows[name] = [
                ", ".join(f"{holder} ({amount!r})" for holder, amount in holders.items())
                for holders in rows[name]
            ]
    return rows


def records(table: pd.DataFrame) -> list[Any]:
    """Return the rows of a table, each with its labels under the names of the index."""
    return table.reset_index().to_dict("records")
