"""Tables as people read them: numbers to six digits, columns that fit the width, in a pipe one line a row."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

#: What a terminal obeys, and what ends lines or turns their direction elsewhere.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
#: Spaces between columns.
_GAP = 3
#: Words are not cut shorter than this; a table that needs it is told in parts.
_FEWEST = 20


def report_table(
    console: Console, frame: pd.DataFrame, title: str, *, shown: int | None = None, hint: str = ""
) -> None:
    """Print the first rows of a table (by default all), and how many more there are and how to get them."""
    if console.is_terminal:
        console.print(title, style="bold")
        for k, part in enumerate(side_by_side(frame, console.width, shown)):
            if k:
                console.print()
            console.print(table(part, shown=shown))
    else:
        rows = frame.iloc[:shown].itertuples(name=None)
        _print_cut(console, title, [frame.index.name, *frame.columns], _numbers(frame), rows)
    if shown is not None and len(frame) > shown:
        console.print(f"… and {len(frame) - shown} more ({hint})")
    console.print()


def report_words(
    console: Console, rows: Mapping[str, Mapping[str, str]], title: str, *, index: str, without: str = ""
) -> None:
    """Print rows of words, by name, none of them cut: for a list that needs no pandas."""
    columns = [column for column in next(iter(rows.values())) if column != without]
    console.print(title, style="bold")
    console.print(_drawn([index, *columns], {}, ((name, *(row[c] for c in columns)) for name, row in rows.items())))
    console.print()


def _print_cut(
    console: Console, title: str, names: Sequence[Any], numbers: set[int], rows: Iterable[Sequence[Any]]
) -> None:
    """Print rows where no terminal folds them: each in one line of the console's width, numbers whole, words cut."""
    cells = [[_header(name) for name in names], *([visible(str(label)), *map(cell, values)] for label, *values in rows)]
    console.print(cut(title, console.width), style="bold")
    parts = fitted(cells, numbers, console.width)
    for at, widths in enumerate(parts):
        if at:
            console.print()
        heads = [cut_within(cells[0][k], width) for k, width in widths.items()]
        right = {place for place, k in enumerate(widths) if k in numbers}
        shorter = [[(cut if k else cut_within)(row[k], width) for k, width in widths.items()] for row in cells[1:]]
        console.print(_drawn(heads, right, shorter))
    if any(len(row[k]) > width for row in cells for widths in parts for k, width in widths.items()):
        console.print(f"… cut to {console.width} columns: --json and --csv print all, COLUMNS sets another width")


def fitted(cells: Sequence[Sequence[str]], numbers: Container[int], width: int) -> list[dict[int, int]]:
    """Return column → width, for as many parts as it takes to fit; each begins with the label, numbers are whole.

    >>> fitted([["user", "tasks", "why"], ["ann", "12", 30 * "long "]], {1}, 40)
    [{0: 4, 1: 5, 2: 25}]
    """
    whole = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    figures = [max([len(row[k]) for row in cells[1:]], default=0) if k in numbers else 0 for k in range(len(whole))]

    def at_most(most: int) -> list[int]:
        return [max(min(length, most), least) for length, least in zip(whole, figures, strict=True)]

    def room(widths: Sequence[int]) -> int:
        return width - sum(widths) - _GAP * (len(widths) - 1)

    for most in sorted({*whole, *range(_FEWEST, width)}, reverse=True):
        if most >= _FEWEST and room(widths := at_most(most)) >= 0:
            return [dict(enumerate(widths))]
    label, *others = at_most(max(_FEWEST, width // 6))
    parts: list[dict[int, int]] = []
    for k, needs in enumerate(others, 1):
        if not parts or (len(parts[-1]) > 1 and room([*parts[-1].values(), needs]) < 0):
            parts.append({0: label})
        parts[-1][k] = min(needs, max(room([label, 0]), 1))
    return parts or [{0: min(label, width)}]


def cut(text: str, width: int) -> str:
    """Return the beginning of a text that is too long, with an ellipsis."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def cut_within(name: str, width: int) -> str:
    """Return both ends of a name that is too long: its end is often what tells it from others.

    >>> cut_within("rack-1.example.org/machine-17", 16), cut_within("rack-1", 16)
    ('rack-1.e…hine-17', 'rack-1')
    """
    end = (width - 1) // 2
    return name if len(name) <= width else f"{name[: width - 1 - end]}…{name[len(name) - end :]}"


def table(frame: pd.DataFrame, *, shown: int | None = None) -> Table:
    """Return a rich table of a frame, its index first; numbers to six significant digits, right-aligned."""
    return _drawn([frame.index.name, *frame.columns], _numbers(frame), frame.iloc[:shown].itertuples(name=None))


def _drawn(names: Sequence[Any], numbers: Container[int], rows: Iterable[Sequence[Any]]) -> Table:
    """Return a rich table of rows, each with its label first; ``numbers`` are the columns that are aligned right."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for k, name in enumerate(names):
        right = k in numbers
        made.add_column(_header(name), justify="right" if right else "left", no_wrap=right, overflow="fold")
    for label, *values in rows:
        made.add_row(visible(str(label)), *(cell(value) for value in values))
    return made


def side_by_side(frame: pd.DataFrame, width: int, shown: int | None = None) -> list[pd.DataFrame]:
    """Return a table of numbers in as many parts as it takes to fit a width, each with all rows; others whole."""
    if not all(_is_number(dtype) for dtype in frame.dtypes):
        return [frame]
    part = frame.iloc[:shown]
    label = max(map(len, [_header(frame.index.name), *(visible(str(label)) for label in part.index)]))
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


def visible(text: str) -> str:
    r"""Return text whose control characters, but for the ends of lines, are seen and obeyed by no terminal.

    >>> visible("red: \x1b[31m, end\n")
    'red: \\x1b[31m, end\n'
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def cell(value: Any) -> str:
    """Return a value as people read it.

    >>> [cell(value) for value in (2 / 3, 3, True, float("nan"), -0.0, "A", ["A", "B"])]
    ['0.666667', '3', 'yes', '–', '0', 'A', 'A, B']
    """
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return visible(", ".join(map(str, value)))
    if isinstance(value, float):
        return "–" if value != value else f"{value + 0.0:.6g}"
    return visible(str(value))


def _header(name: Any) -> str:
    return "" if name is None else visible(str(name)).replace("_", " ")


def _numbers(frame: pd.DataFrame) -> set[int]:
    """Return which columns are numbers; 0 is the label."""
    return {k for k, dtype in enumerate(frame.dtypes, 1) if _is_number(dtype)}


def _is_number(dtype: Any) -> bool:
    import pandas as pd

    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
