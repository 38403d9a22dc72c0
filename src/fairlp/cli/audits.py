"""The commands that ask whether an allocation is fair: audit, promises, counterexample."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import ExitCode, app
from .groups import grouped
from .inputs import load_instance
from .output import Report, print_text, wrote
from .parameters import (
    ExtraOption,
    InstanceArgument,
    complete_mechanism,
    mechanism_option,
    own_mechanism,
    solver_options,
)
from .tables import report_table

if TYPE_CHECKING:
    from rich.console import Console

    from ..models.instances.instance import Instance


@dataclass(frozen=True)
class Subject:
    """The options that say what is audited: what a scheduler did, or what a mechanism does."""

    allocation: Annotated[
        Path | None,
        typer.Option(
            "--allocation",
            metavar="FILE",
            help="CSV of what a scheduler did: user and a column for each server, or user, server, tasks.",
        ),
    ] = None
    mechanism: Annotated[str | None, mechanism_option("Audit what this mechanism does.")] = None

    def __post_init__(self) -> None:
        if (self.allocation is None) == (self.mechanism is None):
            raise typer.BadParameter("give either --allocation FILE or --mechanism NAME")

    @property
    def name(self) -> str:
        """The name of the file, or the mechanism."""
        return str(self.mechanism) if self.allocation is None else self.allocation.name

    def found(self, instance: Instance, options: dict[str, Any]) -> Any:
        """Return the tasks of the file, or the allocation of the mechanism."""
        if self.allocation is not None:
            from ..models.files.tasks import read_tasks

            return read_tasks(self.allocation, instance)
        from ..api import allocate

        assert self.mechanism is not None
        return allocate(instance, self.mechanism, **options)


@dataclass(frozen=True)
class Question:
    """The options that say what is asked of an allocation."""

    properties: Annotated[
        list[str] | None,
        typer.Option("--property", "-p", metavar="NAME", help="Only this property. May be repeated."),
    ] = None
    division: Annotated[
        str | None, typer.Option("--division", metavar="rdm|tdm", help="Servers divide their resources, or their time.")
    ] = None
    whole: Annotated[
        bool | None, typer.Option("--whole-tasks/--divisible", help="Whether parts of tasks are worth nothing.")
    ] = None
    tries: Annotated[int, typer.Option("--tries", min=1, help="Lies to try, for strategy-proofness.")] = 200
    seed: Annotated[int, typer.Option("--seed", help="Seed of that search.")] = 0

    def __post_init__(self) -> None:
        if self.division not in (None, "rdm", "tdm"):
            raise typer.BadParameter(f"{self.division!r} is neither 'rdm' nor 'tdm'", param_hint="'--division'")


@app.command()
@grouped
def audit(
    *,
    instance: InstanceArgument,
    subject: Subject,
    question: Question,
    option: ExtraOption = None,
    report: Report,
) -> None:
    """Which promises does an allocation keep, and who is hurt, by how much.

    The exit code is 1 when a property is broken.

    Example: fairlp audit khamse-ashari-figure-1 -m tsf
    """
    given = load_instance(instance)
    options = solver_options(option)
    from ..auditing import audit as run

    found = run(
        given,
        subject.found(given, options),
        question.properties,
        division=question.division,  # type: ignore[arg-type]
        whole_tasks=question.whole,
        tries=question.tries,
        seed=question.seed,
        options=options if subject.allocation is None else None,
    )[["holds", "margin", "witness"]]
    broken = [str(name) for name in found.index[found["holds"].map(lambda held: held is False)]]

    def text(console: Console) -> None:
        answers = found["holds"].map({True: "yes", False: "no"}).fillna("—")
        report_table(console, found.assign(holds=answers), f"{subject.name}: what it keeps")
        console.print(f"broken: {', '.join(broken)}" if broken else "nothing is broken")

    report.deliver(text=text, frame=lambda: found)
    if broken:
        raise typer.Exit(ExitCode.NO)


@app.command()
@grouped
def promises(
    *,
    audits: Annotated[
        int, typer.Option("--audits", min=0, help="Random instances to audit for each promise, now.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of those instances.")] = 0,
    mechanisms: Annotated[list[str] | None, mechanism_option("Only this one.")] = None,
    report: Report,
) -> None:
    """Which mechanism promises which property, and the smallest instances that break the others.

    The exit code is 1 when a promise was found broken.
    """
    from ..auditing.promises import promises as run

    found = run(audits, seed=seed, mechanisms=mechanisms).reset_index().set_index("mechanism")
    report.table(found, "Promises and counterexamples")
    if (found["broken"] > 0).any():
        raise typer.Exit(ExitCode.NO)


@app.command()
def counterexample(
    mechanism: Annotated[
        str, typer.Argument(metavar="MECHANISM", callback=own_mechanism, autocompletion=complete_mechanism)
    ],
    wanted: Annotated[str, typer.Argument(metavar="PROPERTY")],
    search: Annotated[bool, typer.Option("--search", help="Search for one, instead of the one that ships.")] = False,
    tries: Annotated[int, typer.Option("--tries", min=1, help="Instances that the search looks at.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the search.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the instance (.json or .yaml) there.")
    ] = None,
) -> None:
    """Show the smallest instance on which a mechanism breaks a property: one that ships, or found by a search.

    The exit code is 1 when none was found.

    Example: fairlp counterexample drfh "sharing incentive"
    """
    from ..api import allocate
    from ..auditing import audit as run
    from ..auditing import promises

    how = {"tries": tries, "seed": seed} if search else {}
    found = promises.counterexample(mechanism, wanted, search=search, **how)

    def text(console: Console) -> None:
        if found is None:
            console.print(f"none found in {tries} instances, which proves nothing")
            return
        users, servers = found.to_frames()
        report_table(console, users, "users")
        report_table(console, servers, "servers")
        console.print(str(run(found, allocate(found, mechanism), [wanted])["witness"].iloc[0]))

    print_text(text)
    if found is None:
        raise typer.Exit(ExitCode.NO)
    if output is not None:
        for path in found.write(output):
            wrote(path)
