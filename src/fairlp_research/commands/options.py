"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from fairlp.toolkit import say

#: The values of an option that may be repeated.
Repeated = list[str] | None
SeedOption = Annotated[int, Option(min=0, help="Seed of all random numbers.")]
ProgressFlag = Annotated[
    bool | None, Option("--progress/--no-progress", help="A bar in a terminal, lines elsewhere.")
]


def wrote(path: Path) -> None:
    """Say on standard error that a file was written."""
    say(f"wrote {path}", err=True)
