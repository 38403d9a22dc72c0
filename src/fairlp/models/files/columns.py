"""Columns of tables that are not called as they should be, and cells that a spreadsheet would take for a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from ...errors import InstanceError, nearest

#: What a spreadsheet would compute, with any apostrophes before it, by which it is text; numbers are only numbers.
_FORMULA = re.compile(r"'*(?![+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$|[+-]?inf$)[=+\-@\t\r].", re.DOTALL)
_OTHER = {"user": "server", "server": "user"}


def labels_of(frame: pd.DataFrame, what: str) -> list[Any]:
    """Return the labels of a table: its column ``user`` (or ``server``), or else its index.

    >>> labels_of(pd.DataFrame({"user": ["ann"], "cpu": [1]}), "user")
    ['ann']
    """
    if what in frame:
        return list(frame[what].tolist())
    other, nothing_given = _OTHER[what], isinstance(frame.index, pd.RangeIndex)
    if frame.index.name == other or (nothing_given and other in frame):
        raise InstanceError(
            f"the table of {what}s has labels of {other}s, {other!r}, and none called {what!r}; are the two tables "
            "swapped? The users come first"
        )
    for header in frame.columns if nothing_given else ():
        if str(header).strip().casefold() in (what, f"{what}s"):
            raise InstanceError(f"the table of {what}s has a column {header!r}; labels stand in a column {what!r}")
    return list(frame.index.tolist())


def misspelt(name: Any, known: Iterable[Any]) -> str:
    """Return the names that are meant, perhaps, as a question in a message; nothing where none is near.

    >>> misspelt("weights", ["weight", "cpu"]), misspelt("gpu model", ["weight"])
    ("did you mean 'weight'? Else ", '')
    """
    found = nearest(str(name).strip(), sorted(map(str, known)))
    return f"{found} Else " if found.startswith("did you mean") else ""


def guarded(cell: str) -> str:
    """Return a cell for CSV: text that a spreadsheet would take for a formula gets an apostrophe in front.

    >>> guarded("=1+1"), guarded("-5"), guarded("'=1"), guarded("'s")
    ("'=1+1", '-5', "''=1", "'s")
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """Return what `guarded` was given.

    >>> [unguarded(guarded(cell)) for cell in ("=1+1", "'=1", "'s", "-")]
    ['=1+1', "'=1", "'s", '-']
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_text(frame: pd.DataFrame, **how: Any) -> str:
    """Return a table as CSV, whose cells no spreadsheet takes for formulas; options are those of pandas."""
    return each_cell(str(frame.to_csv(lineterminator="\n", **how)), guarded)


def each_cell(text: str, function: Callable[[str], str]) -> str:
    """Return CSV with a function of each cell."""
    changed = io.StringIO()
    rows = csv.reader(io.StringIO(text, newline=""))
    csv.writer(changed, lineterminator="\n").writerows([function(cell) for cell in row] for row in rows)
    return changed.getvalue()
