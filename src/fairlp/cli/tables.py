"""Tables as people read them in a terminal: numbers to six digits, columns that fit the width."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

#: Spaces between columns.
_GAP = 3


def report_table(
    console: Console, frame: pd.DataFrame, title: str, *, shown: int | None = None, hint: str = ""
) -> None:
    """Print the first rows of a table (by default all), and how many more there are and how to get them."""
    console.print(title, style="bold")
    for k, part in enumerate(side_by_side(frame, console.width, shown)):
        if k:
            console.print()
        console.print(table(part, shown=shown))
    if shown is not None and len(frame) > shown:
        console.print(f"… and {len(frame) - shown} more ({hint})")
    console.print()


def report_words(
    console: Console, rows: Mapping[str, Mapping[str, str]], title: str, *, index: str, without: str = ""
) -> None:
    """Print rows of words, by name, as `report_table` would print them: for a list that needs no pandas."""
    columns = [column for column in next(iter(rows.values())) if column != without]
    console.print(title, style="bold")
    console.print(_drawn([index, *columns], {}, ((name, *(row[c] for c in columns)) for name, row in rows.items())))
    console.print()


def table(frame: pd.DataFrame, *, shown: int | None = None) -> Table:
    """Return a rich table of a frame, its index first; numbers to six significant digits, right-aligned."""
    names = [frame.index.name, *frame.columns]
    numbers = {k for k, dtype in enumerate(frame.dtypes, 1) if _is_number(dtype)}
    part = frame if shown is None else frame.iloc[:shown]
    return _drawn(names, numbers, part.itertuples(name=None))


def _drawn(names: Sequence[Any], numbers: Container[int], rows: Iterable[Sequence[Any]]) -> Table:
    """Return a rich table of rows, each with its label first; ``numbers`` are the columns that are aligned right."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for k, name in enumerate(names):
        right = k in numbers
        made.add_column(_header(name), justify="right" if right else "left", no_wrap=right, overflow="fold")
    for label, *values in rows:
        made.add_row(str(label), *(cell(value) for value in values))
    return made


def side_by_side(frame: pd.DataFrame, width: int, shown: int | None = None) -> list[pd.DataFrame]:
    """Return a table of numbers in as many parts as it takes to fit a width, each with all rows; others whole."""
    if not all(_is_number(dtype) for dtype in frame.dtypes):
        return [frame]
    part = frame if shown is None else frame.iloc[:shown]
    label = max(map(len, [_header(frame.index.name), *map(str, part.index)]))
    parts, used = [[0]] if frame.shape[1] else [[]], label
    for k in range(frame.shape[1]):
        needs = _GAP + max(map(len, [_header(frame.columns[k]), *map(cell, part.iloc[:, k].tolist())]))
        if k and used + needs > width:
            parts.append([k])
            used = label
        elif k:
            parts[-1].append(k)
        used += needs
    return [frame.iloc[:, columns] for columns in parts]


def cell(value: Any) -> str:
    """Return a value as people read it.

    >>> [cell(value) for value in (2 / 3, 3, True, float("nan"), -0.0, "A", ["A", "B"])]
    ['0.666667', '3', 'yes', '–', '0', 'A', 'A, B']
    """
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return "–" if value != value else f"{value + 0.0:.6g}"
    return str(value)


def _header(name: Any) -> str:
    return "" if name is None else str(name).replace("_", " ")


def _is_number(dtype: Any) -> bool:
    import pandas as pd

    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
