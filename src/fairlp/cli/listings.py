"""The commands around a model: export, show, and the lists of mechanisms, solvers and examples."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import app
from .groups import grouped
from .inputs import load_instance
from .output import Printed, Report, check_folder, check_free, say
from .parameters import (
    ForceFlag,
    FormulationOption,
    InstanceArgument,
    MechanismOption,
    complete_example,
    solver_options,
)
from .tables import report_words

if TYPE_CHECKING:
    from rich.console import Console

#: Columns of a terminal that shows every column of the table of mechanisms.
_ALL_OF_A_MECHANISM = 140


class Profile(StrEnum):
    """Kinds of MPS files."""

    portable = "portable"
    full = "full"
    fixed = "fixed"


@app.command()
def export(
    instance: InstanceArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help=".mps, .lp, either with .gz, or .nl"),
    ],
    mechanism: MechanismOption = "drfh",
    profile: Annotated[
        Profile | None,
        typer.Option("--profile", help="MPS only: portable (default) is read alike by all."),
    ] = None,
    labels: Annotated[
        bool, typer.Option("--labels/--no-labels", help="Names from labels (capacity.server3.cpu), or numbers (r7).")
    ] = True,
    option: FormulationOption = None,
) -> None:
    """Write a mechanism's model for other solvers, as MPS or LP.

    Example: fairlp export two-servers -m drfh -o model.mps
    """
    check_folder(output)
    kinds = {suffix.lower() for suffix in output.suffixes[-2:]}
    if profile is not None and ".mps" not in kinds:
        raise typer.BadParameter("--profile is for MPS files")
    model = _formulated(instance, mechanism, option)
    how: dict[str, str] = {"profile": profile.value} if profile else {}
    if ".nl" not in kinds and profile is not Profile.fixed:
        how["names"] = "labels" if labels else "numbers"
    elif not labels:
        raise typer.BadParameter("--no-labels is for free MPS and LP files")
    for path in model.write(output, **how):
        say(f"wrote {path}")
    program = model.compile()
    say(f"{program.n_rows} rows, {program.n_columns} columns, {program.A.nnz} nonzeros")


@app.command()
def show(
    instance: InstanceArgument,
    mechanism: MechanismOption = "drfh",
    latex: Annotated[bool, typer.Option("--latex", help="As LaTeX, for a paper.")] = False,
    option: FormulationOption = None,
) -> None:
    """Print a mechanism's model as mathematics."""
    model = _formulated(instance, mechanism, option)
    say(model.to_latex() if latex else str(model))


@app.command()
@grouped
def mechanisms(report: Report) -> None:
    """List the mechanisms: source, methods, what they are defined for, what they promise."""
    from ..mechanisms.table import listed
    from ..mechanisms.table import table as framed

    def text(console: Console) -> None:
        narrow = console.width < _ALL_OF_A_MECHANISM
        report_words(console, listed(), "Mechanisms", index="mechanism", without="promises" if narrow else "")
        if narrow:
            console.print("What each promises: --json, --csv, or a wider window.")

    def data() -> list[dict[str, str]]:
        return [{"mechanism": name, **row} for name, row in listed().items()]

    report.deliver(text=text, frame=framed, data=data)


@app.command()
def cite(
    mechanisms: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MECHANISM]...", help="Without any: all papers."),
    ] = None,
) -> None:
    """Print BibTeX entries of the papers that mechanisms are of."""
    from ..mechanisms.literature import REFERENCES
    from ..mechanisms.table import find

    asked = [paper for name in mechanisms or () for paper in find(name).references]
    papers = list(dict.fromkeys(asked)) if mechanisms else REFERENCES
    say("\n\n".join(paper.bibtex for paper in papers))


@app.command()
@grouped
def solvers(report: Report) -> None:
    """List the solvers: whether they are installed, what they can do, how to get them."""
    from ..solvers import table as listed

    report.table(listed(), "Solvers")


@app.command()
def example(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", autocompletion=complete_example, help="Without it: the list."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help=".json, .yaml or a folder; by default NAME.yaml.",
        ),
    ] = None,
    force: ForceFlag = False,
) -> None:
    """List the worked examples, or write one as a file to start from."""
    from .. import examples

    if name is None:
        if output is not None:
            raise typer.BadParameter("--output needs the NAME of an example")
        Printed().table(examples.table(), "Worked examples")
        return
    made = examples.load(name)
    target = output or Path(f"{name}.yaml")
    check_folder(target)
    empty_folder = target.is_dir() and not any(target.iterdir())
    if not force and not empty_folder:
        check_free(target)
    for path in made.write(target):
        say(f"wrote {path}")


def _formulated(instance: str, mechanism: str, option: list[str] | None) -> Any:
    from ..api import formulate

    return formulate(load_instance(instance), mechanism, **solver_options(option))
