"""How answers leave: rich tables for people, JSON and CSV for programs, on standard output or in a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from enum import Enum
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import FileFormatError

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

#: Spaces between columns.
_GAP = 3
#: Wide enough that nothing is folded where no terminal sets a width (pipes and files).
_UNLIMITED = 100_000


class Format(Enum):
    """What a command writes."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


def chosen_format(as_json: bool, as_csv: bool, output: Path | None) -> Format:
    """Return the format that the flags ask for, or else the suffix of the file; check that the file can be written."""
    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other")
    check_folder(output)
    if output is not None and output.is_dir():
        raise FileFormatError(f"cannot write {str(output)!r}: it is a folder; expected a file")
    if as_json or as_csv:
        return Format.JSON if as_json else Format.CSV
    suffix = "" if output is None else output.suffix.lower()
    return {".json": Format.JSON, ".csv": Format.CSV}.get(suffix, Format.TEXT)


def check_folder(path: Path | None) -> None:
    """Raise when the folder that a file is to be written to is not there, before any work is done."""
    if path is not None and not path.parent.is_dir():
        raise FileFormatError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")


def deliver(
    kind: Format,
    output: Path | None,
    *,
    text: Callable[[Console], None],
    data: Callable[[], Any],
    frame: Callable[[], pd.DataFrame],
) -> None:
    """Write one of text, data (JSON) and frame (CSV) to standard output, or to a file, which is then named."""
    if output is None and kind is Format.TEXT and sys.stdout.isatty():
        text(_console())
        return
    if kind is Format.JSON:
        written = json_text(data(), ascii_only=output is None and not _writes_unicode())
    elif kind is Format.CSV:
        written = str(frame().to_csv(lineterminator="\n"))
    else:
        written = _rendered(text)
    if output is None:
        sys.stdout.write(written)
        sys.stdout.flush()
    else:
        output.write_text(written, encoding="utf-8", newline="\n")
        wrote(output)


def wrote(path: Path) -> None:
    """Say on standard error that a file was written."""
    typer.echo(f"wrote {path}", err=True)


def json_text(data: Any, *, ascii_only: bool = False) -> str:
    r"""Return valid JSON: numbers in full, what is not finite as null.

    >>> json_text({"a": [0.1, float("nan")]})
    '{\n "a": [\n  0.1,\n  null\n ]\n}\n'
    """
    return json.dumps(_plain(data), indent=1, ensure_ascii=ascii_only, allow_nan=False) + "\n"


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, each with its label under the name of the index."""
    plain = frame.reset_index()
    columns = [str(column) for column in plain.columns]
    return [dict(zip(columns, row, strict=True)) for row in plain.itertuples(index=False, name=None)]


def table(frame: pd.DataFrame, *, shown: int | None = None) -> Table:
    """Return a rich table of a frame, its index first; numbers to six significant digits, right-aligned."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    made.add_column(_header(frame.index.name), overflow="fold")
    for column, dtype in frame.dtypes.items():
        right = _is_number(dtype)
        made.add_column(_header(column), justify="right" if right else "left", no_wrap=right, overflow="fold")
    part = frame if shown is None else frame.iloc[:shown]
    for label, *values in part.itertuples(name=None):
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


def _plain(value: Any) -> Any:
    """Return nested data with Python's own numbers and keys, and null for what is not finite."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def _console(**how: Any) -> Console:
    """Return a rich console that prints what it is given and reads no markup in it."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False, **how)


def _rendered(text: Callable[[Console], None]) -> str:
    """Return a report for a pipe or file: as wide as it needs to be, without trailing spaces."""
    target = StringIO()
    text(_console(file=target, width=_UNLIMITED))
    return "".join(f"{line.rstrip()}\n" for line in target.getvalue().splitlines())


def _writes_unicode() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")
