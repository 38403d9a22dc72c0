"""The page of a period: the verdict, shares over time beside what was due, tenants and dumps."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairlp.toolkit import home, write_text

from ..page.charts import MOST_TENANTS, over_time
from ..page.page import rendered, require_html, require_packages
from ..page.sections import Section, TableColumn, limited, shown
from .period import Period
from .words import lasting, when, zone_of

_OF_A_TENANT = (
    TableColumn("verdict", "answer", "Short: more than one task-hour and 1 % of what was due"),
    TableColumn("has", "percent", "Mean of its dominant share"),
    TableColumn("due", "percent", "Mean of the smaller of its fair share and what it wants"),
    TableColumn("lacks, task-hours", about="Due and not used, in the smallest tasks that it waited for"),
    TableColumn("short, cluster-hours", about="Below its due share while it waited; 1 is the whole cluster"),
    TableColumn("used, task-hours"),
    TableColumn("hours waiting"),
    TableColumn("hours short", about="While it was short of a whole task"),
    TableColumn("longest wait, hours", about="Short of a whole task without a break"),
    TableColumn("longest wait of a job, hours", about="Since it was submitted, at a dump"),
)  # fmt: skip
_TENANT_FIGURES = [
    "verdict",
    "share",
    "due_share",
    "lacking_task_hours",
    "short",
    "task_hours",
    "hours_waiting",
    "hours_short",
    "longest_wait",
    "longest_job_wait",
]


def write_period(period: Period, output: str | Path) -> Path:
    """Write the page of a period."""
    require_html(output)
    require_packages()
    return write_text(home(output), period_page(period))


def period_page(period: Period) -> str:
    """Return the page as text."""
    first, last = (when(time) for time in period.dumps.index[[0, -1]])
    source = f"{len(period.dumps):,} dumps"
    if period.scheduler:
        source += f" of {period.scheduler}"
    span = f"{first} to {last}{zone_of(period)}"
    lead = f"{source}: what ran from {span}, beside what was due."
    sections = [_glance(period), _tenants(period), _dumps(period)]
    drawings = {"over_time": over_time(period)} if len(period.tenants) else {}
    return rendered(f"Fair shares, {span}", lead, sections, drawings)


def _glance(period: Period) -> Section:
    dumps = period.dumps
    unfair = int((dumps["short"] > 0).sum())
    cards = [
        ("dumps", f"{len(dumps):,}", f"over {lasting(period.hours)}"),
        (f"{period.noun}s", f"{len(period.tenants):,}", ""),
        (
            "short over the period",
            f"{len(period.short):,}",
            period.noun if len(period.short) == 1 else f"{period.noun}s",
        ),
        ("not fair at the moment", f"{unfair:,}", "dump" if unfair == 1 else "dumps"),
        ("longest wait", lasting(period.tenants["longest_wait"].max() if len(period.tenants) else 0), ""),
    ]  # fmt: skip
    return Section("glance", "At a glance", "The period at a glance", period.verdict, cards=cards)


def _tenants(period: Period) -> Section:
    columns = [TableColumn(period.noun, "label"), *_OF_A_TENANT]
    by_tenant = period.tenants[_TENANT_FIGURES]
    tenants = limited(
        by_tenant,
        "tenant-table",
        f"Every {period.noun} over the period, those first that lack most",
        columns,
        lambda frame: [[str(name), *row] for name, *row in frame.itertuples(name=None)],
        period.tenants.reset_index(),
    )
    names = list(period.tenants.index[:MOST_TENANTS])
    drawn = period.times[period.times.index.get_level_values("tenant").isin(names)]
    moments = limited(
        drawn,
        "moment-table",
        f"The {period.noun}s of the picture at each dump",
        [
            TableColumn("time", "label"),
            TableColumn(period.noun, "text"),
            TableColumn("has", "percent", "Dominant share"),
            TableColumn("due", "percent", "The smaller of its fair share and what it wants"),
            TableColumn("fair", "percent", "Fair share"),
            TableColumn("tasks that run"),
            TableColumn("tasks that wait"),
            TableColumn("whole tasks short"),
        ],
        lambda frame: [_moment_row(row) for row in frame.itertuples()],
        drawn.reset_index(),
    )
    return Section(
        "tenants",
        f"{period.noun.capitalize()}s",
        "Share beside what was due, over time",
        charts=["over_time"],
        tables=[tenants, moments],
    )


def _moment_row(row: object) -> list[object]:
    time, name = row.Index  # type: ignore[attr-defined]
    figures = ("share", "due_share", "fair_share", "tasks", "waiting", "owed")
    return [when(time), str(name), *(getattr(row, figure) for figure in figures)]


def _dumps(period: Period) -> Section:
    dumps = period.dumps
    columns = [
        TableColumn("time", "label"),
        TableColumn("verdict", "answer", "Whether one is short of a whole task"),
        TableColumn(f"{period.noun}s short"),
        TableColumn("most short", "text"),
        TableColumn("missing", "percent", "Share of the whole tasks that all are short of"),
        TableColumn("hours", about="Until the next dump"),
        TableColumn("tasks that run"),
        TableColumn("tasks that wait"),
        TableColumn(f"{period.noun}s"),
        TableColumn("dump", "words"),
        TableColumn("lines left out", about="Of the dump: not understood, or interpreted"),
    ]
    figures = [
        "verdict",
        "short",
        "most_short",
        "missing",
        "hours",
        "tasks",
        "waiting",
        "tenants",
        "dump",
        "left_out",
    ]

    def rows(frame: pd.DataFrame) -> list[list[object]]:
        return [[when(time), *row] for time, *row in frame[figures].itertuples(name=None)]

    tables = [limited(dumps, "dump-table", "Every dump", columns, rows, dumps.reset_index())]
    worst = period.to_look_at
    if len(worst):
        caption = "Most was missing here, by share and time"
        tables.insert(0, limited(worst, "look-table", caption, columns, rows, worst.reset_index()))
    left_out = int(dumps["left_out"].sum())
    notes = ["The report of one dump (fairlp report DUMP) says what stops whom at that moment."]
    if left_out:
        notes.append(
            f"{shown(left_out)} lines of the dumps are left out or interpreted; the report of one dump lists "
            "its own."
        )
    return Section("dumps", "Dumps", "The dumps, and when to look", tables=tables, notes=notes)
