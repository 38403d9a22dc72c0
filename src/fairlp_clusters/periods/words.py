"""The sentences about a period: the verdict, the tenant that lacks most, and when to look."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..tables import counted, shown

if TYPE_CHECKING:
    from .period import Period

#: So many tenants and dumps are named; the others are counted together.
_NAMED = 3


def verdict(period: Period) -> list[str]:
    """Return the verdict over a period, a paragraph each."""
    if period.no_verdict:
        return [f"No verdict: {period.no_verdict}.", _rule(period)]
    first = _unfair(period) if period.short else [_fair(period)]
    return [*first, *_to_look_at(period), _rule(period)]


def _fair(period: Period) -> str:
    sentence = (
        f"Fair over {lasting(period.hours)}: no {period.noun} lacks more than one task-hour and 1 % of what "
        "was due to it."
    )
    if not (period.tenants["hours_waiting"] > 0).any():
        return f"{sentence} Nothing waited."
    unfair = int((period.dumps["short"] > 0).sum())
    if not unfair:
        return f"{sentence} At no dump was one short of a whole task."
    dumps = f"{unfair:,} of {len(period.dumps):,} dumps"
    return f"{sentence} At {dumps} one was short of a whole task, which did not last."


def _unfair(period: Period) -> list[str]:
    """Return the tenants that are short, and how long the first of them waited."""
    name = period.short[0]
    all_rows: Any = period.tenants.itertuples()
    rows = {row.Index: row for row in all_rows}
    row = rows[name]
    sentence = (
        f"Not fair over {lasting(period.hours)}: {name} lacks {_task_hours(row)} of what was due to it. "
        f"It had {shown(row.share, 'percent')} of the cluster, and {shown(row.due_share, 'percent')} was "
        "due."
    )
    others = [f"{other} ({_task_hours(rows[other])})" for other in period.short[1:]]
    if len(others) >= _NAMED:
        more = counted(len(others) - _NAMED + 1, period.noun, f"{period.noun}s")
        others = [*others[: _NAMED - 1], f"{more} more"]
    if others:
        sentence += f" Short too: {', '.join(others)}."

    if row.hours_short > 0:
        wait = (
            f"{name} waited while it was short of a whole task for {lasting(row.hours_short)} in all, "
            f"{lasting(row.longest_wait)} of it without a break."
        )
    else:
        wait = (
            f"At no dump was {name} short of a whole task or job: the parts that it lacked add up."
        )
    if row.longest_job_wait > 0:
        wait += f" A job of it had waited for {lasting(row.longest_job_wait)}."
    return [sentence, wait]


def _task_hours(row: Any) -> str:
    tasks = row.lacking_task_hours
    return f"{shown(tasks)} task-{'hour' if tasks == 1 else 'hours'}"


def _to_look_at(period: Period) -> list[str]:
    """Return the dumps in which most was missing, those first."""
    zone = zone_of(period)
    rows: Any = period.to_look_at.iloc[:_NAMED].itertuples()
    places = [
        f"{when(row.Index)}{zone} ({row.most_short} lacks most, for {lasting(row.hours)})"
        for row in rows
    ]
    return [f"Look at {'; '.join(places)}."] if places else []


def _rule(period: Period) -> str:
    """Return how shares and hours are counted, and where the times come from."""
    mechanism = period.mechanism or "the mechanism"
    weighting = ""
    if period.half_life is not None:
        length = lasting(period.half_life / timedelta(hours=1))
        weighting = f" What was used and due counts by half after each {length}."
    return (
        f"Fair at each dump is what {mechanism} gives, and between two dumps the first holds.{weighting} The "
        f"times are those {period.source}."
    )


def when(time: pd.Timestamp) -> str:
    """Return a time for people, with seconds where it has some.

    >>> when(pd.Timestamp("2026-11-28 10:00")), when(pd.Timestamp("2026-11-28 10:00:30"))
    ('2026-11-28 10:00', '2026-11-28 10:00:30')
    """
    return time.strftime("%Y-%m-%d %H:%M:%S" if time.second else "%Y-%m-%d %H:%M")


def zone_of(period: Period) -> str:
    """Return the zone of the times, with a space before it; empty without one."""
    has_zone = getattr(period.dumps.index, "tz", None) is not None
    return " UTC" if has_zone else ""


def lasting(hours: float) -> str:
    """Return a duration for people.

    >>> lasting(0.25), lasting(1.0), lasting(26.0), lasting(80.0)
    ('15 minutes', '1 hour', '26 hours', '3.33 days')
    """
    if hours >= 72:
        number, unit = hours / 24, "day"
    elif hours >= 1 or hours == 0:
        number, unit = hours, "hour"
    else:
        number, unit = hours * 60, "minute"
    text = f"{number:.3g}" if number < 1000 else f"{number:,.0f}"
    return f"{text} {unit}{'' if text == '1' else 's'}"
