"""One table for the page, the terminal, CSV and JSON: a frame, and what its columns are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .dues.jobs import AUDIT

#: Rows of a table on a page.
MOST_ROWS = 200
#: Letters of a cell.
MOST_LETTERS = 400


class Column(NamedTuple):
    """A column of a frame: its name there, its heading, the kind of its values, and a description.

    The kind is ``label``, ``text``, ``words`` (longer text), ``number``, ``percent``, ``share`` (a
    percentage that may be of more than the whole cluster) or ``answer``.
    """

    name: str
    heading: str = ""
    kind: str = "number"
    about: str = ""

    @property
    def title(self) -> str:
        """The heading, by default the name."""
        return self.heading or self.name.replace("_", " ")


class Table(NamedTuple):
    """A table: a frame and those of its columns that people see."""

    id: str
    caption: str
    frame: pd.DataFrame
    columns: Sequence[Column]

    @property
    def filled(self) -> list[Column]:
        """The columns that are not empty in every row."""
        return [
            column
            for column in self.columns
            if column.kind == "label" or not _is_empty(self.frame[column.name]).all()
        ]

    @property
    def rows(self) -> list[list[Any]]:
        """The values of the first rows, in these columns."""
        names = [column.name for column in self.filled]
        return self.frame[names].iloc[:MOST_ROWS].to_numpy(dtype=object).tolist()

    @property
    def left_out(self) -> str:
        """How many rows are not among the first."""
        omitted = len(self.frame) - MOST_ROWS
        if omitted <= 0:
            return ""
        return f"The {MOST_ROWS} first of {len(self.frame):,} rows; {omitted:,} are left out (--json has all)."

    def for_people(self) -> pd.DataFrame:
        """Return the table in words, as a terminal shows it."""
        texts = {
            column.title: [shown(value, column.kind) for value in self.frame[column.name]]
            for column in self.filled
        }
        return pd.DataFrame(texts).set_index(self.columns[0].title)


def table_of(frame: pd.DataFrame, identity: str, caption: str, columns: Sequence[Column]) -> Table:
    """Return the table of a frame, whose index is a column too where it has a name."""
    return Table(identity, caption, frame.reset_index(), columns)


def _is_empty(values: pd.Series[Any]) -> pd.Series[Any]:
    return values.isna() | values.isin([""])


def shown(value: Any, kind: str = "number") -> str:
    """Return a value for people: four digits, percent with one after the point, a dash for none.

    Percentages below 1 have two digits.

    >>> [shown(value) for value in (1234567.0, 0.33333, 3.0, float("nan"), float("inf"))]
    ['1,234,567', '0.3333', '3', '–', 'no limit']
    >>> shown(0.12345, "percent"), shown(0.00057, "percent"), shown(0.0, "percent")
    ('12.3 %', '0.057 %', '0.0 %')
    >>> shown(0.5, "share"), shown(4.5, "share"), shown("a", "text")
    ('50.0 %', '4.5 × the cluster', 'a')
    """
    if kind in ("label", "text", "words", "answer"):
        return short(value)
    number = float(value) + 0.0  # without the sign of a zero
    if number != number:
        return "–"
    if not abs(number) < np.inf:
        return "no limit"
    if kind == "share" and number > 1 + AUDIT:
        return f"{number:.3g} × the cluster"
    if kind in ("percent", "share"):
        is_small = 0 < abs(number) < 0.00995
        return f"{100 * number:.2g} %" if is_small else f"{100 * number:.1f} %"
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


def counted(count: int, singular: str, plural: str) -> str:
    """Return a number of things.

    >>> counted(1, "class", "classes"), counted(1200, "class", "classes")
    ('1 class', '1,200 classes')
    """
    return f"{count:,} {singular if count == 1 else plural}"


def records(frame: pd.DataFrame) -> list[Any]:
    """Return the rows of a frame for JSON, each with its labels under the names of the index."""
    return frame.reset_index().to_dict("records")
