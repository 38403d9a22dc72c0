"""The page of a period: the verdict, shares over time beside what was due, tenants and dumps."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairlp.toolkit import home, write_text

from ..page.page import need, rendered, require_html
from ..page.sections import Picture, Section
from ..tables import Column, Table, counted, table_of
from .period import Period
from .picture import MOST_TENANTS, over_time, svg
from .words import lasting, when, zone_of

_OF_A_TENANT = (
    Column("verdict", kind="answer", about="Short: more than one task-hour and 1 % of what was due"),
    Column("share", "has", "percent", "Mean of its dominant share"),
    Column("due_share", "due", "percent", "Mean of the smaller of its fair share and what it wants"),
    Column("lacking_task_hours", "lacks, task-hours", about="Due and not used, in the smallest tasks it waited for"),
    Column("short", "short, cluster-hours", about="Below its due share while it waited; 1 is the whole cluster"),
    Column("task_hours", "used, task-hours"),
    Column("hours_waiting"),
    Column("hours_short", about="While it was short of a whole task"),
    Column("longest_wait", "longest wait, hours", about="Short of a whole task without a break"),
    Column("longest_job_wait", "longest wait of a job, hours", about="Since it was submitted, at a dump"),
)  # fmt: skip


def write_period(period: Period, output: str | Path, earlier: Period | None) -> Path:
    """Write the page of a period, beside an earlier one."""
    require_html(output)
    need("jinja2")
    return write_text(home(output), period_page(period, earlier))


def period_page(period: Period, earlier: Period | None = None) -> str:
    """Return the page as text."""
    first, last = (when(time) for time in period.dumps.index[[0, -1]])
    span = f"{first} to {last}{zone_of(period)}"
    unfair = int((period.dumps["short"] > 0).sum())
    noun = period.noun
    source = " · ".join(
        [
            f"{span} ({lasting(period.hours)})",
            *([period.scheduler] if period.scheduler else []),
            counted(len(period.dumps), "dump", "dumps"),
            f"{unfair:,} not fair at the moment",
            counted(len(period.tenants), noun, f"{noun}s"),
        ]
    )
    glance = Section("verdict", "Verdict", "", period.verdict, tables=[tenant_table(period)])
    sections = [glance, _over_time(period), _dumps(period)]
    if earlier is not None:
        sections.insert(1, _since(period, earlier))
    return rendered(f"Fair shares, {span}", source, sections)


def tenant_table(period: Period) -> Table:
    """Return the table of tenants, those first that lack most."""
    columns = [Column("tenant", period.noun, "label"), *_OF_A_TENANT]
    caption = f"Every {period.noun} over the period, those first that lack most"
    return table_of(period.tenants, "tenant-table", caption, columns)


def moment_table(period: Period) -> Table:
    """Return the tenants of the picture at each dump."""
    names = list(period.tenants.index[:MOST_TENANTS])
    frame = period.times[period.times.index.get_level_values("tenant").isin(names)].reset_index()
    frame["time"] = frame["time"].map(when)
    columns = [
        Column("time", kind="label"),
        Column("tenant", period.noun, "text"),
        Column("share", "has", "percent", "Dominant share"),
        Column("due_share", "due", "percent", "The smaller of its fair share and what it wants"),
        Column("fair_share", "fair", "percent", "Fair share"),
        Column("tasks", "tasks that run"),
        Column("waiting", "tasks that wait"),
        Column("owed", "whole tasks short"),
    ]
    caption = f"The {period.noun}s of the picture at each dump"
    return Table("moment-table", caption, frame, columns)


def dump_table(period: Period, dumps: pd.DataFrame | None = None) -> Table:
    """Return the table of the dumps, by default of all."""
    frame = (period.dumps if dumps is None else dumps).reset_index()
    frame["time"] = frame["time"].map(when)
    columns = [
        Column("time", kind="label"),
        Column("verdict", kind="answer", about="Whether one is short of a whole task"),
        Column("short", f"{period.noun}s short"),
        Column("most_short", kind="text"),
        Column("missing", kind="percent", about="Share of the whole tasks that all are short of"),
        Column("hours", about="Until the next dump"),
        Column("tasks", "tasks that run"),
        Column("waiting", "tasks that wait"),
        Column("tenants", f"{period.noun}s"),
        Column("dump", kind="words"),
        Column("left_out", "lines left out", about="Of the dump: not understood, or interpreted"),
    ]
    return Table("dump-table", "Every dump", frame, columns)


def _over_time(period: Period) -> Section:
    title = "Share beside what was due, over time"
    picture = None
    if len(period.tenants):
        need("matplotlib")
        description = f"Dominant share of each {period.noun} over time, and what was due to it"
        if len(period.tenants) > MOST_TENANTS:
            description += f" (the {MOST_TENANTS} first of the table)"
        picture = Picture(svg(over_time(period)), description)
    folded = [moment_table(period)]
    return Section("times", "Over time", title, folded=folded, picture=picture)


def _since(period: Period, earlier: Period) -> Section:
    first, last = (when(time) for time in earlier.dumps.index[[0, -1]])
    columns = [Column("tenant", period.noun, "label")]
    for name, heading, kind in (
        ("share", "has", "percent"),
        ("due_share", "due", "percent"),
        ("lacking_task_hours", "lacks, task-hours", "number"),
        ("hours_short", "hours short", "number"),
    ):
        columns += [
            Column(f"{name}_before", f"{heading} before", kind),
            Column(name, heading, kind),
        ]
    caption = f"Now and from {first} to {last}, those first whose lack grew most"
    table = table_of(period.since(earlier), "since-table", caption, columns)
    return Section("since", "Since then", "Beside the earlier period", tables=[table])


def _dumps(period: Period) -> Section:
    tables = [dump_table(period)]
    worst = period.to_look_at
    if len(worst):
        look_at = dump_table(period, worst)
        caption = "Most was missing here, by share and time"
        tables.insert(0, look_at._replace(id="look-table", caption=caption))
    notes = ["The report of one dump (fairlp report DUMP) says what stops whom at that moment."]
    left_out = int(period.dumps["left_out"].sum())
    if left_out:
        notes.append(
            f"{left_out:,} lines of the dumps are left out or interpreted; the report of one dump lists "
            "its own."
        )
    return Section("dumps", "Dumps", "The dumps, and when to look", tables=tables, notes=notes)
