"""What a template is given: sections, tables with columns, the tree of queues; plain data, bounded in size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from ...models.files.tables import csv_text
from .standing import ROOM

#: Rows of a table on a page.
MOST_ROWS: Final = 200
#: Letters of a whole table as text, at most.
MOST_CSV: Final = 300_000
#: Letters of a cell.
MOST_LETTERS: Final = 400
#: Queues in the tree to fold, and children of one.
MOST_QUEUES: Final = 600
MOST_CHILDREN: Final = 40
#: Queues up to which all of them are unfolded.
MOST_OPEN: Final = 60


@dataclass(frozen=True)
class Column:
    """A column: its name, what it holds, and what it is.

    It holds a ``label``, ``text``, ``words`` (longer text), ``number``, ``percent`` or an ``answer``.
    """

    name: str
    kind: str = "number"
    about: str = ""


@dataclass(frozen=True)
class Table:
    """A table that can be sorted."""

    id: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    left_out: str = ""
    csv: str = ""


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    id: str
    name: str
    title: str
    paragraphs: Sequence[str] = ()
    cards: Sequence[tuple[str, str, str]] = ()
    tree: dict[str, Any] | None = None
    key: str = ""
    charts: Sequence[str] = ()
    tables: Sequence[Table] = ()
    pre: str = ""
    notes: Sequence[str] = field(default=())


def shown(value: Any, kind: str = "number") -> str:
    """Return a number for people: four digits, percent with one after the point (two in all below 1), a dash for none.

    >>> [shown(value) for value in (1234567.0, 0.33333, 3.0, float("nan"), float("inf"))]
    ['1,234,567', '0.3333', '3', '–', 'no limit']
    >>> shown(0.12345, "percent"), shown(0.00057, "percent"), shown(0.0, "percent")
    ('12.3 %', '0.057 %', '0.0 %')
    """
    number = float(value) + 0.0  # without the sign of a zero
    if number != number:
        return "–"
    if not abs(number) < np.inf:
        return "no limit"
    if kind == "percent":
        return f"{100 * number:.2g} %" if 0 < abs(number) < 0.00995 else f"{100 * number:.1f} %"
    if number == int(number) or abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.4g}"


def short(value: Any) -> str:
    """Return a text cut where it is too long for a cell.

    >>> short("a" * 1000).count("a"), short("short")
    (400, 'short')
    """
    text = str(value)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


def raw(value: Any) -> str:
    """Return a number as a script sorts it; empty for none."""
    number = float(value)
    if number != number:
        return ""
    return repr(number) if abs(number) < np.inf else ("Infinity" if number > 0 else "-Infinity")


def scaled(unit: str) -> tuple[float, str]:
    """Return what amounts are multiplied with, and the unit that they are then in: thousandths of a core are cores.

    >>> scaled("1/1000 core"), scaled("MiB")
    ((0.001, 'core'), (1.0, 'MiB'))
    """
    part, _, whole = unit.partition(" ")
    number = part.removeprefix("1/")
    return (1 / int(number), whole) if part != number and number.isdecimal() and whole else (1.0, unit)


def amounts(held: dict[Any, float], unit: str = "") -> str:
    """Return who holds how much in words.

    >>> amounts({"a": 3.0, "b": 1.5}, "GB"), amounts({"a": 1500.0}, "1/1000 core")
    ('a (3 GB), b (1.5 GB)', 'a (1.5 core)')
    """
    times, unit = scaled(unit)
    return ", ".join(f"{name} ({shown(times * amount)}{' ' if unit else ''}{unit})" for name, amount in held.items())


def limited(
    frame: pd.DataFrame, identity: str, caption: str, columns: Sequence[Column], rows: Any, whole: pd.DataFrame
) -> Table:
    """Return a table of the first rows, and how many more there are; the whole of it as text, where that is short."""
    left = len(frame) - MOST_ROWS
    if left <= 0:
        return Table(identity, caption, columns, rows(frame))
    csv = csv_text(whole, float_format="%.6g")
    said = f"The {MOST_ROWS} first of {len(frame):,} rows; {left:,} are left out."
    if len(csv) > MOST_CSV:
        csv, said = "", f"{said} The functions of the same names in Python give them all."
    return Table(identity, caption, columns, rows(frame.iloc[:MOST_ROWS]), said, csv)


def records(frame: pd.DataFrame) -> Iterator[Any]:
    """Return the rows of a table, each with its columns as attributes."""
    return iter(frame.itertuples(index=False))


def tree_of(queues: pd.DataFrame, waits: bool) -> dict[str, Any]:
    """Return the tree of queues, nested: names, widths of bars, figures; of many the largest."""
    share = queues[["share", "fair_share"]].max(axis=1).to_numpy()
    order = np.argsort(-share, kind="stable")[:MOST_QUEUES]
    kept = {"", *(queues.index[k] for k in order)}
    for path in tuple(kept):  # and all that lead to them
        kept.update(path.rsplit("/", depth)[0] for depth in range(1, path.count("/") + 1))
    most = float(share.max(initial=0.0)) or 1.0
    paths = [path for path in queues.index if path in kept]
    nodes: dict[str, dict[str, Any]] = {}
    rows = queues.loc[paths]
    for path, row in zip(paths, records(rows), strict=True):
        nodes[path] = {
            "name": path.rpartition("/")[2] or "whole cluster",
            "has_width": f"{100 * row.share / most:.1f}",
            "due_width": f"{100 * row.fair_share / most:.1f}",
            "figures": _figures(row, waits),
            "children": [],
            "more": 0,
            "open": not path or len(paths) <= MOST_OPEN,
        }
    for path in paths:
        if path:
            parent = nodes[path.rpartition("/")[0]]
            if len(parent["children"]) < MOST_CHILDREN:
                parent["children"].append(nodes[path])
            else:
                parent["more"] += 1
    for path in queues.index:
        if path not in kept:
            above = path.rpartition("/")[0]
            if above in nodes:
                nodes[above]["more"] += 1
    return nodes[""]


def _figures(row: Any, waits: bool) -> str:
    said = [f"has {shown(row.share, 'percent')}", f"fair {shown(row.fair_share, 'percent')}"]
    if not waits:
        said = said[1:]
    if row.guarantee > 0:
        said.append(f"guaranteed {shown(row.guarantee, 'percent')}")
    said.append(f"{shown(row.users)} {'user' if row.users == 1 else 'users'}")
    if waits and 0 < row.waiting < np.inf:
        said.append(f"{shown(row.waiting)} tasks wait")
    if row.blocked_by and waits and row.owed > 0:
        said.append("there is room for them" if row.blocked_by == ROOM else f"stopped by {row.blocked_by}")
    return ", ".join(said)
