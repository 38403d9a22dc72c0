"""The sections of a page: the verdict with the table of tenants first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from fairlp.toolkit import largest_first, scaled

from ..dues.dues import Dues
from ..dues.fair_shares import queues, users
from ..dues.verdict import Verdict
from ..dues.words import holders_text, jobs_text
from ..tables import Column, Table, counted, table_of


class Picture(NamedTuple):
    """SVG, and what it shows, in words."""

    svg: str
    description: str


class Section(NamedTuple):
    """A section of the page; folded tables open at a click."""

    id: str
    name: str
    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    folded: Sequence[Table] = ()
    picture: Picture | None = None
    notes: Sequence[str] = ()


_SHARE = "largest part of any resource of the cluster"


def sections(verdict: Verdict, earlier: Dues | None) -> list[Section]:
    """Return the sections of the page, in order; ``earlier`` is the same cluster before."""
    dues = verdict.dues
    body = [_verdict(verdict)]
    if earlier is not None:
        body.append(_since(dues, earlier))
    if dues.instance.has_queues:
        body.append(_queues(dues))
    body.append(_users(dues))
    facts = dues.facts
    if len(facts.not_understood) or len(facts.homeless) or len(facts.held):
        body.append(_reading(dues))
    return body


def _verdict(verdict: Verdict) -> Section:
    """Return the first screen: the verdict, the tenants that are short or wait, and the others folded."""
    table = tenant_table(verdict)
    is_first = (verdict.table["short_jobs"] > 0) | (verdict.table["waiting_jobs"] > 0)
    first = table.frame[is_first.to_numpy()]
    others = table.frame[~is_first.to_numpy()]
    noun = verdict.dues.facts.tenants.noun
    tables = [table._replace(frame=first)] if len(first) else []
    folded = []
    if len(others):
        caption = f"{counted(len(others), noun, f'{noun}s')} of which nothing waits"
        folded.append(table._replace(id="other-table", caption=caption, frame=others))
    resources, has_other_use = _resource_table(verdict.dues)
    return Section(
        "verdict",
        "Verdict",
        "",
        [verdict.sentence],
        tables=tables,
        folded=[*folded, resources],
        notes=[*verdict.notes, *([_OTHERS_USE] if has_other_use else [])],
    )


def tenant_table(verdict: Verdict) -> Table:
    """Return the table of tenants for people: those who are short first, then those who wait."""
    dues = verdict.dues
    noun = dues.facts.tenants.noun
    table = verdict.table
    waits = zip(table["waiting_jobs"], table["waiting_tasks"], strict=True)
    holders = zip(table["resource"], table["holders"], strict=True)
    rows: Any = table.itertuples()
    frame = table.assign(
        tenant=[str(tenant) for tenant in table.index],
        waits=[jobs_text(jobs, tasks) if jobs else "" for jobs, tasks in waits],
        since=table["since"].map(since_text),
        why=[_why(row) for row in rows],
        held=[holders_text(dues, resource, amounts) for resource, amounts in holders],
    )
    columns = [
        Column("tenant", noun, "label"),
        Column("has", kind="percent", about=_SHARE),
        Column("due", kind="percent", about=f"Under {dues.fair.mechanism}: {_SHARE}"),
        Column("short_of", "short by", "words", "Whole jobs of its due, by size"),
        Column("waits", kind="text", about="Jobs that wait, with their tasks"),
        Column("since", kind="text", about="When the first of them was submitted"),
        Column("message", "the scheduler says", "words", "In its own words, with the tasks of which"),
        Column("why", "by what is free", "words", "Room now, beside what runs, and what stops the rest"),
        Column("held", "held beyond dues by", "words", "What it is short of"),
    ]  # fmt: skip
    return Table("tenant-table", f"{noun.capitalize()}s", frame, columns)


def _why(row: Any) -> str:
    """Return for how many jobs there is room, what stops the next, and what is not counted."""
    texts = []
    if row.room_jobs:
        count = "all" if row.room_jobs == row.waiting_jobs else f"{row.room_jobs:,}"
        texts.append(f"room for {count} on {row.room_on}")
    if row.stopped_by:
        texts.append(row.stopped_by)
    if row.not_counted:
        texts.append(f"not counted: {row.not_counted}")
    return "; ".join(texts)


def since_text(since: str) -> str:
    """Return the time of a job for people, to the minute, as the dump has it where it is no time.

    >>> since_text("2026-11-28T10:00:30Z"), since_text(""), since_text("soon")
    ('2026-11-28 10:00', '', 'soon')
    """
    time = pd.to_datetime(since, errors="coerce")
    return since if pd.isna(time) else f"{time:%Y-%m-%d %H:%M}"


def _resource_table(dues: Dues) -> tuple[Table, bool]:
    """Return use and capacity by resource, and whether users outside the report use a part."""
    facts = dues.facts
    instance = dues.instance
    names = list(instance.resources)
    other_use = facts.hidden.add(facts.excluded, fill_value=0.0)
    other_amounts = other_use.reindex(names, fill_value=0.0).to_numpy()
    used = dues.allocation.usage.to_numpy().sum(axis=0) + other_amounts
    fair = dues.fair.usage.to_numpy().sum(axis=0) + other_amounts
    pool = instance.pool + other_amounts
    scales = [scaled(instance.units.get(name, "")) for name in names]
    factors, units = zip(*scales, strict=True)
    values = {
        "resource": list(map(str, names)),
        "in use": used * factors,
        "capacity": pool * factors,
        "unit": units,
        "% in use": used / pool,
        "% under fair shares": fair / pool,
    }
    kinds = ("label", "number", "number", "text", "percent", "percent")
    columns = [Column(name, kind=kind) for name, kind in zip(values, kinds, strict=True)]
    table = Table("resources", "The whole cluster, by resource", pd.DataFrame(values), columns)
    return table, bool(other_amounts.any())


_OTHERS_USE = (
    "In use and capacity include the amounts of users who are excluded, or who are not in the dump. "
    "All that follows is about the rest."
)


def changes(dues: Dues, earlier: Dues) -> pd.DataFrame:
    """Return tasks, waiting and owed of users, before and after; first those who moved most."""
    names = ["tasks", "waiting", "owed"]
    after = users(dues)[names].rename(index=str)
    before = users(earlier)[names].rename(index=str)
    table = pd.concat([after, before.add_suffix("_before")], axis=1).fillna(0.0)
    table.insert(0, "change", table["tasks"] - table["tasks_before"])

    # The part of the cluster that a user's change is; of users who are gone, by the earlier dump
    share = pd.Series(dues.share_of_a_task, index=after.index)
    earlier_share = pd.Series(earlier.share_of_a_task, index=before.index)
    task_share = share.reindex(table.index).fillna(earlier_share.reindex(table.index))
    moved_share = (table["change"] * task_share).abs().to_numpy()
    return table.iloc[largest_first(moved_share)].rename_axis("user")


def _since(dues: Dues, earlier: Dues) -> Section:
    table = changes(dues, earlier)
    has_changed = (table["change"] != 0) | (table["waiting"] != table["waiting_before"])
    moved = table[has_changed | (table["owed"] >= 1)]
    up = int((moved["change"] > 0).sum())
    down = int((moved["change"] < 0).sum())
    about = "tasks of the fair share"
    columns = [
        Column("user", kind="label"),
        Column("change", about="tasks"),
        *map(Column, ("tasks_before", "tasks", "waiting_before", "waiting")),
        Column("owed_before", "below before", about=about),
        Column("owed", "below now", about=about),
    ]
    caption = "Users, those first of whom most of the cluster moved"
    return Section(
        "since",
        "Since then",
        "Changes since the earlier dump, and users who still wait",
        [f"{up:,} users run more tasks than before, {down:,} fewer."],
        [table_of(moved, "since-table", caption, columns)],
    )


def queue_table(dues: Dues) -> Table:
    """Return the table of queues that have tasks or dues, each with all below it."""
    frame = queues(dues).rename(index={"": "whole cluster"})
    is_idle = (frame[["share", "fair_share", "waiting"]] == 0).all(axis=1)
    noun = "users" if dues.facts.tenants.are_users else "job sizes"
    columns = [
        Column("queue", kind="label"),
        Column("share", "has", "percent", _SHARE),
        Column("fair_share", "due", "percent", _SHARE),
        Column("waiting", about="tasks"),
        Column("tasks"),
        Column("fair_tasks"),
        Column("users", noun),
        Column("weight", about="among its siblings"),
        Column("guarantee", kind="share", about=_SHARE),
        Column("borrowed", kind="percent", about="beyond the guarantee, or the nominal quota"),
    ]
    return table_of(frame[~is_idle], "queue-table", "Queues, each with all below it", columns)


def _queues(dues: Dues) -> Section:
    table = queue_table(dues)
    idle = len(dues.instance.tree) - len(table.frame)
    return Section(
        "queues",
        "Queues",
        "Shares by queue",
        tables=[table],
        notes=[f"Queues without tasks are left out: {idle:,}."] if idle else [],
    )


_FIGURES = (
    Column("queue", kind="text"),
    Column("tasks"),
    Column("fair_tasks"),
    Column("share", "has", "percent", _SHARE),
    Column("fair_share", "due", "percent", _SHARE),
    Column("guarantee", kind="share", about="its part of the guarantees of its queues"),
    Column("borrowed", kind="percent", about="beyond that"),
    Column("waiting", about="tasks"),
)


def user_table(dues: Dues) -> Table:
    """Return the table of users, the largest share first."""
    frame = users(dues)
    noun = dues.facts.tenants.noun
    caption, heading = "Users, the largest share first", "user"
    if not dues.facts.tenants.are_users:
        caption = f"Inside each {noun}: its tasks of one size, the largest share first"
        heading = "tasks of"
    order = largest_first(frame[["share", "fair_share"]].max(axis=1).to_numpy())
    columns = [Column("user", heading, "label"), *_FIGURES]
    return table_of(frame.iloc[order], "user-table", caption, columns)


def _users(dues: Dues) -> Section:
    noun = dues.facts.tenants.noun
    title = "Shares by user" if noun == "user" else f"Inside each {noun}"
    return Section("users", "Users", title, tables=[user_table(dues)])


def _reading(dues: Dues) -> Section:
    facts = dues.facts
    columns = [Column("user", kind="label"), Column("queue", kind="text"), Column("tasks")]
    tables = [
        Table(
            "homeless-table",
            "They wait, and no server may take them",
            facts.homeless,
            [*columns, Column("why", kind="words", about="quoted: the scheduler's own words")],
        ),
        Table(
            "held-table",
            "They may not run yet, by the scheduler's own reason",
            facts.held,
            [*columns, Column("reason", kind="words")],
        ),
        Table(
            "note-table",
            "Lines of the dump",
            facts.not_understood,
            [Column("file", kind="label"), *(Column(name, kind="text") for name in ("where", "what", "done"))],
        ),
    ]  # fmt: skip
    title = "Parts of the dump that are left out or not understood"
    return Section(
        "reading", "Reading", title, tables=[table for table in tables if len(table.frame)]
    )
