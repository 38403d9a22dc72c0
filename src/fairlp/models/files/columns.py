"""Columns of tables that are not called as they should be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from ...errors import InstanceError, nearest

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
