"""The command for the ledger: reproduce."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import app
from .groups import grouped
from .output import Report, check_folder, wrote
from .parameters import ProgressFlag, SeedOption
from .studies import Workers
from .tables import report_table

if TYPE_CHECKING:
    from rich.console import Console

    from ..research.ledger import Ledger


class Size(StrEnum):
    """How much is drawn at random."""

    reduced = "reduced"
    paper = "paper"


@dataclass(frozen=True)
class Drawn:
    """The options that say how much is drawn, from which seed, and where runs are kept."""

    scale: Annotated[Size, typer.Option("--scale", help="Seconds for all, or as much as the papers drew.")] = (
        Size.reduced
    )
    seed: SeedOption = 0
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="FOLDER", help="Keep runs of studies there, and go on with them."),
    ] = None


@app.command("reproduce")
@grouped
def reproduce_papers(
    *,
    paper: Annotated[
        str | None,
        typer.Argument(metavar="PAPER", help="000 to 004, or a name such as wang-2014; else all."),
    ] = None,
    item: Annotated[
        str | None,
        typer.Argument(metavar="ITEM", help='As the paper calls it, such as "Figure 3"; else all.'),
    ] = None,
    drawn: Drawn,
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="Also write the page: .md, with its figures."),
    ] = None,
    workers: Workers,
    progress: ProgressFlag = None,
    report: Report,
) -> None:
    """Compute tables, figures, examples and theorems of the papers again, each beside what the paper says.

    Example: fairlp reproduce 002 "Figure 3"
    """
    check_folder(write)
    if write is not None and write.suffix.lower() != ".md":
        raise typer.BadParameter(f"{str(write)!r} is no .md file", param_hint="'--write'")
    if write is not None and paper is not None:
        raise typer.BadParameter("the page is of all papers; name none", param_hint="'--write'")
    from ..research.ledger import reproduce

    with workers.hired() as how:
        found = reproduce(
            paper, item, scale=drawn.scale.value, seed=drawn.seed, folder=drawn.folder, progress=progress, **how
        )
    if write is not None:
        found.write(write)
        wrote(write)
    report.deliver(text=lambda console: _report(console, found), frame=found.table, data=found.to_dict)


def _report(console: Console, ledger: Ledger) -> None:
    """Print a table for each paper, then how many items have which verdict; of a single item its numbers."""
    import pandas as pd

    table = ledger.table()
    for paper in ledger.papers:
        report_table(console, table.loc[[paper.number]].droplevel(0), f"{paper.number}  {paper.title}")
    if len(ledger) > 1:
        report_table(console, ledger.counts(), "Verdicts")
        return
    (row,) = ledger
    if row.answer.numbers:
        rows = [
            {"paper": one.paper, "ours": one.ours, "agrees": "–" if one.agrees is None else one.agrees}
            for one in row.answer.numbers
        ]
        names = pd.Index([one.name for one in row.answer.numbers], name="number")
        report_table(console, pd.DataFrame(rows, index=names), "Numbers")
    if row.answer.witness:
        console.print(f"instance: {row.answer.witness}")
