"""Columns of tables that are not called as they should be, and cells that a spreadsheet would take for a formula."""

from __future__ import annotations

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


def guarded(cell: Any) -> Any:
    """Return a cell for CSV: text that a spreadsheet would take for a formula gets an apostrophe in front.

    >>> guarded("=1+1"), guarded("-5"), guarded("'=1"), guarded("'s"), guarded(-5.0)
    ("'=1+1", '-5', "''=1", "'s", -5.0)
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def unguarded(cell: Any) -> Any:
    """Return what `guarded` was given.

    >>> [unguarded(guarded(cell)) for cell in ("=1+1", "'=1", "'s", "-")]
    ['=1+1', "'=1", "'s", '-']
    """
    return cell[1:] if isinstance(cell, str) and cell.startswith("'") and _FORMULA.match(cell) else cell


def mapped(frame: pd.DataFrame, function: Callable[[Any], Any]) -> pd.DataFrame:
    """Return a table with a function of every label and every entry that is no number."""
    made = frame.copy(deep=False)
    for k, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            made.isetitem(k, frame.iloc[:, k].map(function).array)
    for axis in (0, 1):
        labels = frame.axes[axis]
        several = isinstance(labels, pd.MultiIndex)
        told = [tuple(map(function, label)) for label in labels] if several else list(map(function, labels))
        if told != list(labels):
            names = pd.MultiIndex.from_tuples(told, names=labels.names) if several else pd.Index(told, name=labels.name)
            made = made.set_axis(names, axis=axis)
    return made


def csv_text(frame: pd.DataFrame, **how: Any) -> str:
    """Return a table as CSV, whose cells no spreadsheet takes for formulas; options are those of pandas."""
    return str(mapped(frame, guarded).to_csv(**how))
