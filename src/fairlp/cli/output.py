"""How answers leave: text for people, JSON and CSV for programs, figures; on standard output or in a file.

Tables for people: numbers to six digits, columns that fit the width, in a pipe one line a row.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from typer import Option

from ..errors import FileFormatError
from ..models.files.whole_files import write_bytes, write_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

#: Wide enough that nothing is folded in a file.
_UNLIMITED = 100_000
#: Columns of what goes through a pipe, where COLUMNS says nothing, and the fewest that it may say.
_PIPED = 160
_NARROWEST = 40
#: Dots per inch of a figure in a file.
_DPI = 200
#: Rows of a table that a report shows.
SHOWN = 30
#: What a terminal obeys, and what ends lines or turns their direction elsewhere.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
#: Spaces between columns.
_GAP = 3
#: Words are not cut shorter than this; a table that needs it is told in parts.
_FEWEST = 20


class TitledTable(NamedTuple):
    """A table for people, or its first rows and how to get all."""

    title: str
    frame: pd.DataFrame
    shown: int | None = None
    hint: str = "--csv and --json write all"


#: What people read, from top to bottom: lines, tables, and what prints itself.
Text = Iterable["str | TitledTable | Callable[[Console], None]"]


@dataclass(frozen=True)
class ReportOptions:
    """The options of a command that prints an answer, or writes it to a file."""

    as_json: Annotated[
        bool, Option("--json", help="Print JSON and nothing else, numbers in full.")
    ] = False
    as_csv: Annotated[
        bool, Option("--csv", help="Print CSV and nothing else, numbers in full.")
    ] = False
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write to this file instead (UTF-8); .json and .csv say the format, anything else is text.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.as_json and self.as_csv:
            raise typer.BadParameter("--json and --csv exclude each other")
        check_folder(self.output)
        if self.output is not None and self.output.is_dir():
            raise FileFormatError(
                f"cannot write {str(self.output)!r}: it is a folder; expected a file"
            )

    @property
    def format(self) -> Literal["text", "json", "csv"]:
        """What the flags ask for, or else the suffix of the file."""
        suffix = "" if self.output is None else self.output.suffix.lower()
        if self.as_json or (suffix == ".json" and not self.as_csv):
            return "json"
        return "csv" if self.as_csv or suffix == ".csv" else "text"

    def table(self, frame: pd.DataFrame, title: str) -> None:
        """Deliver a table under a title."""
        self.deliver([TitledTable(title, frame)], frame)

    def deliver(
        self,
        text: Text,
        frame: pd.DataFrame | Callable[[], pd.DataFrame],
        data: Callable[[], Any] | None = None,
    ) -> None:
        """Write one of text, frame (CSV) and data (JSON; by default the rows of the frame); a file is then named."""
        made = frame if callable(frame) else lambda: frame
        if self.format == "text" and self.output is None:
            print_text(text)
            return
        if self.format == "json":
            ascii_only = self.output is None and not _writes_unicode()
            written = json_text(records(made()) if data is None else data(), ascii_only=ascii_only)
        elif self.format == "csv":
            from ..models.files.tables import csv_text

            written = csv_text(made())
        else:
            written = rendered(text, _UNLIMITED)
        if self.output is None:
            _print(written)
        else:
            write_text(self.output, written)
            wrote(self.output)


@dataclass(frozen=True)
class DrawnReportOptions(ReportOptions):
    """The options of a command whose answer may be drawn too."""

    plot: Annotated[
        Path | None, Option(metavar="FILE", help="Also draw it: .png, .svg or .pdf.")
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plot is not None:
            from ..plots.style import require_format

            check_folder(self.plot)
            require_format(self.plot)

    def save(self, figure: Callable[[], Any]) -> None:
        """Draw a figure and write it, where that was asked for."""
        if self.plot is not None:
            drawn = BytesIO()
            figure().savefig(drawn, format=self.plot.suffix.lower().removeprefix("."), dpi=_DPI)
            write_bytes(self.plot, drawn.getvalue())
            wrote(self.plot)


def check_folder(path: Path | None) -> None:
    """Raise when the folder that a file is to be written to is not there, before any work is done."""
    if path is not None and not path.parent.is_dir():
        raise FileFormatError(
            f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}"
        )


def wrote(path: Path) -> None:
    """Say on standard error that a file was written."""
    typer.echo(visible(f"wrote {path}"), err=True)


def print_text(text: Text) -> None:
    """Print a report: as wide as the terminal, in a pipe COLUMNS wide."""
    if sys.stdout.isatty():
        _print_parts(console(), text)
    else:
        _print(rendered(text, _piped_width()))


def json_text(data: Any, *, ascii_only: bool = False) -> str:
    r"""Return valid JSON: numbers in full, what is not finite as null.

    >>> json_text({"a": [0.1, float("nan")]})
    '{\n "a": [\n  0.1,\n  null\n ]\n}\n'
    """
    text = json.dumps(_plain(data), indent=1, ensure_ascii=ascii_only, allow_nan=False) + "\n"
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, each with its label under the name of the index."""
    plain = frame.reset_index()
    columns = [str(column) for column in plain.columns]
    return [
        dict(zip(columns, row, strict=True)) for row in plain.itertuples(index=False, name=None)
    ]


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


def say(text: str) -> None:
    """Print a line of text on standard output."""
    _print(f"{text}\n")


def console(**how: Any) -> Console:
    """Return a rich console that prints what it is given: it reads no markup in it, and control characters are seen."""
    from rich.console import Console
    from rich.segment import Segment

    class Visible(Console):
        def render(self, *given: Any, **more: Any) -> Iterator[Segment]:
            for part in super().render(*given, **more):
                yield part if part.control else Segment(visible(part.text), part.style)

    return Visible(markup=False, emoji=False, highlight=False, **how)


def _piped_width() -> int:
    """Return how many columns a pipe has: those of the environment, or our own number."""
    said = os.environ.get("COLUMNS", "")
    return max(int(said), _NARROWEST) if said.isascii() and said.isdigit() else _PIPED


def rendered(text: Text, width: int) -> str:
    """Return a report of a width, without trailing spaces."""
    target = StringIO()
    _print_parts(console(file=target, width=width, force_terminal=False), text)
    return "".join(f"{line.rstrip()}\n" for line in target.getvalue().splitlines())


def _print_parts(console: Console, text: Text) -> None:
    for part in text:
        if callable(part):
            part(console)
        elif isinstance(part, str):
            console.print(part)
        else:
            report_table(console, *part)


def _print(text: str) -> None:
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def _writes_unicode() -> bool:
    return (
        (getattr(sys.stdout, "encoding", None) or "utf-8")
        .lower()
        .replace("-", "")
        .startswith("utf")
    )


def report_table(
    console: Console, title: str, frame: pd.DataFrame, shown: int | None, hint: str
) -> None:
    """Print the first rows of a table (by default all), and how many more there are and how to get them."""
    numbers = {k for k, dtype in enumerate(frame.dtypes, 1) if dtype.kind in "iufc"}
    rows = frame.iloc[:shown].itertuples(name=None)
    report_rows(
        console,
        title,
        [frame.index.name, *frame.columns],
        rows,
        numbers,
        folded=console.is_terminal,
    )
    if shown is not None and len(frame) > shown:
        console.print(f"… and {len(frame) - shown} more ({hint})")
    console.print()


def report_rows(
    console: Console,
    title: str,
    names: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    numbers: Collection[int] = (),
    *,
    folded: bool,
) -> None:
    """Print rows, the label of each first, in parts that fit the width: numbers are whole, words folded or cut.

    ``numbers`` are the columns of numbers, which are aligned right.
    """
    cells = [
        [_header(name) for name in names],
        *([visible(str(label)), *map(cell, values)] for label, *values in rows),
    ]
    console.print(title if folded else cut(title, console.width), style="bold")
    parts = fitted(cells, numbers, console.width)
    for at, widths in enumerate(parts):
        if at:
            console.print()
        console.print(_drawn(cells, widths, numbers, folded))
    if not folded and any(
        len(row[k]) > width for row in cells for widths in parts for k, width in widths.items()
    ):
        console.print(
            f"… cut to {console.width} columns: --json and --csv print all, COLUMNS sets another "
            "width"
        )


def _drawn(
    cells: Sequence[Sequence[str]], widths: dict[int, int], numbers: Collection[int], folded: bool
) -> Table:
    """Return some columns of a table, each at most so wide: longer words are folded, or cut."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    heads, *rows = cells
    for k, width in widths.items():
        name = heads[k] if folded else cut_within(heads[k], width)
        made.add_column(
            name, justify="right" if k in numbers else "left", max_width=width, overflow="fold"
        )
    for row in rows:
        made.add_row(
            *(
                row[k] if folded else (cut if k else cut_within)(row[k], width)
                for k, width in widths.items()
            )
        )
    return made


def fitted(
    cells: Sequence[Sequence[str]], numbers: Collection[int], width: int
) -> list[dict[int, int]]:
    """Return column → width, for as many parts as it takes to fit; each begins with the label, numbers are whole.

    >>> fitted([["user", "tasks", "why"], ["ann", "12", 30 * "long "]], {1}, 40)
    [{0: 4, 1: 5, 2: 25}]
    """
    columns = [[len(text) for text in column] for column in zip(*cells, strict=True)]
    whole = [max(column) for column in columns]
    figures = [
        max(column[1:], default=0) if k in numbers else 0 for k, column in enumerate(columns)
    ]

    def at_most(most: int) -> list[int]:
        return [max(min(length, most), least) for length, least in zip(whole, figures, strict=True)]

    def room(widths: Sequence[int]) -> int:
        return width - sum(widths) - _GAP * (len(widths) - 1)

    for most in range(max(min(max(whole), width), _FEWEST), _FEWEST - 1, -1):
        if room(widths := at_most(most)) >= 0:
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
