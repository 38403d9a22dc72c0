"""What a reader did not understand, or left out: one line each, and many alike counted in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pandas as pd

#: Lines that are shown of those that say the same; the rest is counted in one more.
_SHOWN: Final = 20
COLUMNS: Final = ("file", "where", "what", "done")


#: A mapping of a dump, as JSON has it.
Record = dict[str, Any]
#: The file, and what in it, that a note is about.
Where = tuple[str, str]
#: Takes in a mapping of a file.
Take = Callable[[Record, str], None]


class Odd(Exception):
    """A part of a dump that is not as documented; who reads the whole makes a note of it, and goes on."""


class Notes:
    """Lines of (file, where, what, what was done)."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, str], list[str]] = {}
        self._counts: dict[tuple[str, str, str], int] = {}

    def add(self, file: str, where: str, what: str, done: str) -> None:
        """Add a line."""
        key = (file, what, done)
        places = self._places.setdefault(key, [])
        self._counts[key] = self._counts.get(key, 0) + 1
        if len(places) < _SHOWN:
            places.append(where)

    def table(self) -> pd.DataFrame:
        """Return the lines as a table."""
        rows: list[tuple[str, str, str, str]] = []
        for key, places in self._places.items():
            file, what, done = key
            rows += [(file, where, what, done) for where in places]
            more = self._counts[key] - len(places)
            if more:
                rows.append((file, f"… and {more} more", what, done))
        return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)


def part(value: Any, *path: str, kind: type | tuple[type, ...] = dict, default: Any = None) -> Any:
    """Return what lies at a path of mappings, the default where nothing does; `Odd` where it is of another kind.

    >>> part({"a": {"b": 3}}, "a", "b", kind=int), part({"a": None}, "a", "b", kind=int)
    (3, None)
    """
    for k, key in enumerate(path):
        if value is None:
            return default
        if not isinstance(value, dict):
            raise Odd(f"{'.'.join(path[:k]) or 'it'} is {shown(value)}; expected a mapping")
        value = value.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(_WORDS.get(one, one.__name__) for one in kinds)
        raise Odd(f"{'.'.join(path) or 'it'} is {shown(value)}; expected {expected}")
    return value


def text_at(value: Any, *path: str) -> str:
    """Return the text at a path, empty where there is none; see `part`."""
    return str(part(value, *path, kind=str, default=""))


def list_at(value: Any, *path: str) -> list[Any]:
    """Return the list at a path, empty where there is none; see `part`."""
    found: list[Any] = part(value, *path, kind=list, default=[])
    return found


def mapping_at(value: Any, *path: str) -> Record:
    """Return the mapping at a path, empty where there is none; see `part`."""
    found: Record = part(value, *path, default={})
    return found


_WORDS: Final = {dict: "a mapping", list: "a list", str: "text", int: "a whole number", float: "a number"}


def shown(value: Any) -> str:
    """Return a value for a message, short."""
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
