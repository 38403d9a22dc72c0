"""What has a name, by name: the tables of a model, values and duals of a solution; also as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ...errors import Hinted, quoted, require_known

_Value = TypeVar("_Value")


class NamedView(Hinted, Mapping[str, _Value]):
    """A mapping that is only read; names that it does not have are refused, with the nearest.

    Parameters
    ----------
    entries : mapping
        What has the names; the view shows what is added to it.
    title : str
        How users write the view, for messages.

    Examples
    --------
    >>> variables = NamedView({"x": 3}, "model.variables")
    >>> variables
    x: 3
    >>> variables["y"]
    Traceback (most recent call last):
        ...
    fairlp.errors.UnknownNameError: model.variables has no 'y'; known: 'x'
    """

    def __init__(self, entries: Mapping[str, Any], title: str) -> None:
        self._entries = entries
        self._title = title

    def __getitem__(self, name: str) -> _Value:
        self._require(name)
        value: _Value = self._entries[name]
        return value

    def _require(self, name: Any) -> None:
        """Raise for a name that there is not."""
        require_known(name, self._entries, f"{self._title} has no {quoted(name)}")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._entries

    def get(self, name: str, default: Any = None) -> Any:
        """Return what has the name, or the default.

        Parameters
        ----------
        name : str
        default : object

        Returns
        -------
        object
        """
        if name not in self:
            return default
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        lines = [f"{name}: {self[name]!r}" for name in self]
        return "\n".join(lines) or f"no {self._title.rpartition('.')[2]}"

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names, which IPython completes in brackets."""
        return list(self)


#: Rows and columns of a table that are shown; the rest is told by an ellipsis.
_MOST_ROWS = 20
_MOST_COLUMNS = 12


def html_of_values(values: Mapping[str, Any]) -> str:
    """Return numbers by name as HTML: first those without an index, in one table."""
    single = {name: number for name, number in values.items() if np.isscalar(number)}
    first = table(pd.DataFrame({"value": single})) if single else ""
    return first + "".join(
        f"<p>{escape(name)}</p>{table(pd.DataFrame(values[name]))}"
        for name in values
        if name not in single
    )


def table(frame: pd.DataFrame) -> str:
    """Return a frame of numbers as HTML, the first and last of its rows and columns."""
    return str(
        frame.to_html(
            escape=True,
            float_format=lambda value: f"{value:.6g}",
            max_rows=_MOST_ROWS,
            max_cols=_MOST_COLUMNS,
            na_rep="",
        )
    )


def whole_table(frame: pd.DataFrame) -> str:
    """Return a frame of words as HTML; no cell is cut off."""
    with pd.option_context("display.max_colwidth", None):
        return str(frame.to_html(escape=True, float_format=lambda value: f"{value:.6g}", na_rep=""))
