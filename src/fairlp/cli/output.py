"""How answers leave: text for people, JSON and CSV for programs, figures; on standard output or in a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import FileFormatError
from .tables import CONTROL, report_table, visible

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

#: Wide enough that nothing is folded in a file.
_UNLIMITED = 100_000
#: Columns of what goes through a pipe, where COLUMNS says nothing, and the fewest that it may say.
_PIPED, _NARROWEST = 160, 40
#: Dots per inch of a figure in a file.
_DPI = 200


#: Prints a report.
Text = Callable[["Console"], None]


class Format(Enum):
    """What a command writes."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


@dataclass(frozen=True)
class Printed:
    """The options of a command whose answer goes to standard output."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else, numbers in full.")] = False
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else, numbers in full.")] = False

    def __post_init__(self) -> None:
        if self.as_json and self.as_csv:
            raise typer.BadParameter("--json and --csv exclude each other")

    @property
    def file(self) -> Path | None:
        """Where the answer goes instead of standard output."""
        return None

    @property
    def format(self) -> Format:
        """What the flags ask for, or else the suffix of the file."""
        if self.as_json or self.as_csv:
            return Format.JSON if self.as_json else Format.CSV
        suffix = "" if self.file is None else self.file.suffix.lower()
        return {".json": Format.JSON, ".csv": Format.CSV}.get(suffix, Format.TEXT)

    def table(self, frame: pd.DataFrame, title: str) -> None:
        """Deliver a table under a title."""
        self.deliver(text=lambda console: report_table(console, frame, title), frame=lambda: frame)

    def deliver(
        self,
        *,
        text: Text,
        frame: Callable[[], pd.DataFrame],
        data: Callable[[], Any] | None = None,
    ) -> None:
        """Write one of text, frame (CSV) and data (JSON; by default the rows of the frame); a file is then named."""
        if self.format is Format.TEXT and self.file is None:
            print_text(text)
            return
        if self.format is Format.JSON:
            ascii_only = self.file is None and not _writes_unicode()
            written = json_text(records(frame()) if data is None else data(), ascii_only=ascii_only)
        elif self.format is Format.CSV:
            from ..models.files.tables import csv_text

            written = csv_text(frame())
        else:
            written = _rendered(text)
        if self.file is None:
            _print(written)
        else:
            from ..models.files.whole_files import write_text

            write_text(self.file, written)
            wrote(self.file)


@dataclass(frozen=True)
class Report(Printed):
    """The options of a command whose answer may go to a file."""

    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write to this file instead (UTF-8); .json and .csv say the format, anything else is text.",
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_folder(self.output)
        if self.output is not None and self.output.is_dir():
            raise FileFormatError(f"cannot write {str(self.output)!r}: it is a folder; expected a file")

    @property
    def file(self) -> Path | None:
        """Where the answer goes instead of standard output."""
        return self.output


@dataclass(frozen=True)
class DrawnReport(Report):
    """The options of a command whose answer may be drawn too."""

    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Also draw it: .png, .svg or .pdf."),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plot is not None:
            from ..plots.style import require_format

            check_folder(self.plot)
            require_format(self.plot)

    def save(self, figure: Any) -> None:
        """Write a figure to the file of ``--plot``."""
        assert self.plot is not None
        from ..models.files.whole_files import write_bytes

        drawn = BytesIO()
        figure.savefig(drawn, format=self.plot.suffix.lower().removeprefix("."), dpi=_DPI)
        write_bytes(self.plot, drawn.getvalue())
        wrote(self.plot)


def check_folder(path: Path | None) -> None:
    """Raise when the folder that a file is to be written to is not there, before any work is done."""
    if path is not None and not path.parent.is_dir():
        raise FileFormatError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")


def check_free(path: Path) -> None:
    """Raise when a file would be replaced."""
    if path.exists():
        raise FileFormatError(f"{str(path)!r} exists already; choose another name with -o, or pass --force")


def wrote(path: Path) -> None:
    """Say on standard error that a file was written."""
    typer.echo(visible(f"wrote {path}"), err=True)


def print_text(text: Text) -> None:
    """Print a report: as wide as the terminal, in a pipe COLUMNS wide."""
    if sys.stdout.isatty():
        text(console())
    else:
        _print(_rendered(text, _piped_width()))


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
    return [dict(zip(columns, row, strict=True)) for row in plain.itertuples(index=False, name=None)]


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


def _rendered(text: Text, width: int | None = None) -> str:
    """Return a report for a pipe, or for a file as wide as it needs to be, without trailing spaces."""
    target = StringIO()
    text(console(file=target, width=_UNLIMITED if width is None else width, force_terminal=False))
    return "".join(f"{line.rstrip()}\n" for line in target.getvalue().splitlines())


def _print(text: str) -> None:
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def _writes_unicode() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")
