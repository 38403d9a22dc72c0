"""What the command line prints of a cluster: who has what beside what is fair, by queue and user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .tables import cell, report_table

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ..operations.reports.standing import Standing

#: Rows of a table that a report shows.
_SHOWN = 30
_SHARES = ("share", "fair_share", "guarantee", "cap", "borrowed", "before", "after", "change")


def report_standing(console: Console, standing: Standing) -> None:
    """Print the tables of queues and users; those who are owed most come first."""
    fair, subject = standing.fair, standing.subject
    name = subject.name or subject.scheduler
    whose = f"{name}: " if name else ""
    console.print(f"{whose}what runs now, beside what is fair by {fair.mechanism}", style="bold")
    console.print("shares are dominant shares of the whole cluster, in percent\n")
    units = standing.instance.units
    hint = "--table prints all of a table, --csv and --json too"
    if standing.instance.queues is not None:
        queues = standing.queues.rename(index={"": "(root)"})
        report_table(console, for_people(queues.drop(columns=["weight"]), units), "By queue", shown=_SHOWN, hint=hint)
    users = for_people(owed_first(standing), units)
    report_table(console, users, "By user, those first who are owed most", shown=_SHOWN, hint=hint)
    lost = subject.homeless
    if len(lost):
        console.print(f"{int(lost['tasks'].sum())} more tasks wait of {len(lost)} users whom no server may take")
    if len(subject.not_understood):
        console.print(
            f"{len(subject.not_understood)} lines of the dump were not understood, or read in a way of our own"
        )
    console.print()


def owed_first(standing: Standing) -> pd.DataFrame:
    """Return the table of users, those first who are owed the largest share."""
    owed = (standing.owed * standing.share_of_a_task).tolist()
    return standing.users.iloc[sorted(range(len(owed)), key=lambda n: (-owed[n], n))]


def for_people(table: pd.DataFrame, units: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return a table with shares in percent, who holds what in words, and without columns that say nothing."""
    shown = table.copy()
    if "blocked_by" in shown:
        from ..operations.reports.sections import amounts

        of = [(units or {}).get(str(what).removeprefix("cap of "), "") for what in shown["blocked_by"]]
        for name in ("held_by", "beyond_fair"):
            shown[name] = [amounts(held, unit) for held, unit in zip(shown[name], of, strict=True)]
    for name in shown.columns:
        if name in _SHARES:
            shown[name] = shown[name].map(lambda share: cell(100 * share))
        elif shown[name].dtype.kind == "f":
            shown[name] = shown[name].map(lambda amount: cell(amount))
    told = [name for name in shown.columns if name in _SHARES[:2] or not shown[name].isin(["", "–", 0, "0"]).all()]
    return shown[told]


def for_csv(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with who holds what as text, numbers in full."""
    found = table.copy()
    for name in ("held_by", "beyond_fair"):
        if name in found:
            found[name] = [", ".join(f"{who} ({amount!r})" for who, amount in held.items()) for held in found[name]]
    return found
