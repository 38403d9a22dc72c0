"""The output of commands: text for people, JSON and CSV for programs, and figures.

Tables for people have numbers of six digits. A terminal folds them to its width; elsewhere, a row
is one line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from typer import Option

from ..errors import CONTROL
from ..models.files.whole_files import require_folder, write_bytes, write_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

#: The width of text that goes to a file or a pipe: no line is folded.
_UNLIMITED = 100_000
#: Columns of words are not folded to less than this.
_NARROWEST = 12
#: Spaces between columns.
_GAP = 3
#: Dots per inch of a figure in a file.
_DPI = 200
#: Rows of a table that a report shows.
SHOWN = 30


class TitledTable(NamedTuple):
    """A table for people, or its first rows and how to get all."""

    title: str
    frame: pd.DataFrame
    shown: int | None = None
    hint: str = "--csv and --json write all"


#: A report from top to bottom: lines, tables, and functions that print by themselves.
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
        require_folder(self.output)

    @property
    def format(self) -> Literal["text", "json", "csv"]:
        """The format of the flags, or else of the suffix of the file."""
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
        """Write one of text, frame (CSV) and data (JSON; by default the rows of the frame).

        Where it goes to a file, standard error names the file.
        """
        if self.format == "text":
            if self.output is None:
                print_text(text)
                return
            content = plain_text(text)
        elif self.format == "csv":
            from ..models.files.tables import csv_text

            content = csv_text(frame() if callable(frame) else frame)
        else:
            value = data() if data is not None else records(frame() if callable(frame) else frame)
            ascii_only = self.output is None and not _writes_unicode()
            content = json_text(value, ascii_only=ascii_only)

        if self.output is None:
            _print(content)
        else:
            write_text(self.output, content)
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

            require_folder(self.plot)
            require_format(self.plot)

    def save(self, figure: Callable[[], Any]) -> None:
        """Draw a figure and write it, where ``--plot`` names a file."""
        if self.plot is not None:
            from ..plots.style import image

            suffix = self.plot.suffix.lower().removeprefix(".")
            write_bytes(self.plot, image(figure(), suffix, _DPI))
            wrote(self.plot)


def wrote(path: Path) -> None:
    """Say on standard error that a file was written."""
    say(f"wrote {path}", err=True)


def print_text(text: Text) -> None:
    """Print a report: in a terminal as wide as that, elsewhere one line a row."""
    if sys.stdout.isatty():
        _print_parts(console(), text)
    else:
        _print(plain_text(text))


def json_text(data: Any, *, ascii_only: bool = False) -> str:
    r"""Return valid JSON: numbers in full, infinities and NaN as null.

    >>> json_text({"a": [0.1, float("nan")]})
    '{\n "a": [\n  0.1,\n  null\n ]\n}\n'
    """
    text = json.dumps(_plain(data), indent=1, ensure_ascii=ascii_only, allow_nan=False) + "\n"
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, each with its label under the name of the index."""
    plain = frame.reset_index()
    columns = [str(column) for column in plain.columns]
    return [
        dict(zip(columns, row, strict=True)) for row in plain.itertuples(index=False, name=None)
    ]


def _plain(value: Any) -> Any:
    """Return nested data with Python's own numbers and keys, and null for infinities and NaN."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def say(text: str, *, err: bool = False) -> None:
    """Print a line of text on standard output, or on standard error."""
    if err:
        typer.echo(visible(text), err=True)
    else:
        _print(f"{text}\n")


def console(**options: Any) -> Console:
    """Return a rich console that reads no markup, and shows control characters as text."""
    from rich.console import Console
    from rich.segment import Segment

    class VisibleConsole(Console):
        def render(self, *args: Any, **kwargs: Any) -> Iterator[Segment]:
            for segment in super().render(*args, **kwargs):
                if segment.control:
                    yield segment
                else:
                    yield Segment(visible(segment.text), segment.style)

    return VisibleConsole(markup=False, emoji=False, highlight=False, **options)


def plain_text(text: Text) -> str:
    """Return a report as text, one line a row, without colours and trailing spaces."""
    target = StringIO()
    _print_parts(console(file=target, width=_UNLIMITED, force_terminal=False), text)
    return "".join(f"{line.rstrip()}\n" for line in target.getvalue().splitlines())


def _print_parts(console: Console, text: Text) -> None:
    """Print the parts of a report: lines, tables, and functions that print by themselves."""
    for part in text:
        if callable(part):
            part(console)
        elif isinstance(part, str):
            console.print(part)
        else:
            print_frame(console, *part)


def _print(text: str) -> None:
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def _writes_unicode() -> bool:
    return "utf" in (getattr(sys.stdout, "encoding", None) or "utf").lower()


def print_frame(
    console: Console, title: str, frame: pd.DataFrame, shown: int | None, hint: str
) -> None:
    """Print the first rows of a table (by default all), and how to get the others."""
    numbers = {k for k, dtype in enumerate(frame.dtypes, 1) if dtype.kind in "iufc"}
    rows = frame.iloc[:shown].itertuples(name=None)
    print_rows(console, title, [frame.index.name, *frame.columns], rows, numbers)
    if shown is not None and len(frame) > shown:
        console.print(f"… and {len(frame) - shown} more ({hint})")
    console.print()


def print_rows(
    console: Console,
    title: str,
    names: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    numbers: Collection[int] = (),
) -> None:
    """Print rows under a title and the names of their columns, the label of each row first.

    ``numbers`` are the columns of numbers: they are aligned right and never broken. Words are
    folded to the width of the console. Where that is not enough, lines are longer.
    """
    from rich import box
    from rich.table import Table

    texts = ["" if name is None else visible(str(name)) for name in names]
    headers = [text.replace("_", " ") for text in texts]
    cells = [[visible(str(label)), *map(cell, values)] for label, *values in rows]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    minimum = _GAP * (len(headers) - 1)
    for k, header in enumerate(headers):
        longest = max((len(row[k]) for row in cells), default=0)
        narrowest = min(max(longest, len(header)), _NARROWEST)
        if k in numbers:
            narrowest = max(longest, narrowest)
        justify: Literal["left", "right"] = "right" if k in numbers else "left"
        table.add_column(header, justify=justify, overflow="fold", min_width=narrowest)
        minimum += narrowest
    for row in cells:
        table.add_row(*row)

    console.print(title, style="bold")
    if minimum > console.width:
        table.width = minimum
    console.print(table, crop=False)


def visible(text: str) -> str:
    r"""Return text with control characters spelt out, but for the ends of lines.

    >>> visible("red: \x1b[31m, end\n")
    'red: \\x1b[31m, end\n'
    """
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


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
