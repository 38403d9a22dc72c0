"""The commands that ask whether an allocation is fair: audit, promises, counterexample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .app import ExitCode, app
from .inputs import load_instance
from .output import Format, chosen_format, deliver, records, wrote
from .parameters import (
    CsvFlag,
    ExtraOption,
    InstanceArgument,
    JsonFlag,
    OutputOption,
    complete_mechanism,
    solver_options,
)
from .reports import report_table


@app.command()
def audit(
    instance: InstanceArgument,
    allocation: Annotated[
        Path | None,
        typer.Option(
            "--allocation",
            metavar="FILE",
            help="CSV of what a scheduler did: user and a column for each server, or user, server, tasks.",
        ),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            "-m",
            metavar="NAME",
            autocompletion=complete_mechanism,
            help="Audit what this mechanism does.",
        ),
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", "-p", metavar="NAME", help="Only this property. May be repeated."),
    ] = None,
    division: Annotated[
        str | None, typer.Option("--division", metavar="rdm|tdm", help="Servers divide their resources, or their time.")
    ] = None,
    whole: Annotated[
        bool | None, typer.Option("--whole-tasks/--divisible", help="Whether parts of tasks are worth nothing.")
    ] = None,
    tries: Annotated[int, typer.Option("--tries", min=1, help="Lies to try, for strategy-proofness.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Seed of that search.")] = 0,
    option: ExtraOption = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
    output: OutputOption = None,
) -> None:
    """Which promises does an allocation keep, and who is hurt, by how much.

    The exit code is 1 when a property is broken.

    Example: fairlp audit khamse-ashari-figure-1 -m tsf
    """
    kind = chosen_format(as_json, as_csv, output)
    if (allocation is None) == (mechanism is None):
        raise typer.BadParameter("give either --allocation FILE or --mechanism NAME")
    if division not in (None, "rdm", "tdm"):
        raise typer.BadParameter(f"{division!r} is neither 'rdm' nor 'tdm'", param_hint="'--division'")
    given = load_instance(instance)
    options = solver_options(option, None)
    from ..auditing import audit as run

    if allocation is not None:
        from ..models.files.tasks import read_tasks

        subject: Any = read_tasks(allocation, given)
        title = f"{allocation.name}: what it keeps"
    else:
        from ..api import allocate

        assert mechanism is not None
        subject = allocate(given, mechanism, **options)
        title = f"{mechanism}: what it keeps"
    found = run(
        given,
        subject,
        properties,
        division=division,  # type: ignore[arg-type]
        whole_tasks=whole,
        tries=tries,
        seed=seed,
        options=options if allocation is None else None,
    )
    shown = found[["holds", "margin", "witness"]].copy()
    shown["holds"] = shown["holds"].map({True: "yes", False: "no"}).fillna("—")
    broken = [str(name) for name in found.index[found["holds"].map(lambda held: held is False)]]

    def text(console: Any) -> None:
        report_table(console, shown, title)
        console.print(f"broken: {', '.join(broken)}" if broken else "nothing is broken")

    table = found[["holds", "margin", "witness"]]
    deliver(kind, output, text=text, data=lambda: records(table), frame=lambda: table)
    if broken:
        raise typer.Exit(ExitCode.NO)


@app.command()
def promises(
    audits: Annotated[
        int, typer.Option("--audits", min=0, help="Random instances to audit for each promise, now.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of those instances.")] = 0,
    mechanisms: Annotated[
        list[str] | None,
        typer.Option("--mechanism", "-m", metavar="NAME", autocompletion=complete_mechanism, help="Only this one."),
    ] = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
    output: OutputOption = None,
) -> None:
    """Which mechanism promises which property, and the smallest instances that break the others.

    The exit code is 1 when a promise was found broken.
    """
    kind = chosen_format(as_json, as_csv, output)
    from ..auditing.promises import promises as run

    found = run(audits, seed=seed, mechanisms=mechanisms).reset_index()
    deliver(
        kind,
        output,
        text=lambda console: report_table(console, found.set_index("mechanism"), "Promises and counterexamples"),
        data=lambda: found.to_dict("records"),
        frame=lambda: found.set_index("mechanism"),
    )
    if (found["broken"] > 0).any():
        raise typer.Exit(ExitCode.NO)


@app.command()
def violation(
    mechanism: Annotated[str, typer.Argument(metavar="MECHANISM", autocompletion=complete_mechanism)],
    wanted: Annotated[str, typer.Argument(metavar="PROPERTY")],
    tries: Annotated[int, typer.Option("--tries", min=1, help="Instances to look at.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the search.")] = 0,
    known: Annotated[bool, typer.Option("--known", help="The one that ships, instead of a search.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the instance (.json or .yaml) there.")
    ] = None,
) -> None:
    """Search the smallest instance on which a mechanism breaks a property.

    The exit code is 1 when none was found.

    Example: fairlp violation drfh "sharing incentive"
    """
    from ..api import allocate
    from ..auditing import audit as run
    from ..auditing.promises import counterexample
    from ..auditing.search import find_violation

    found = counterexample(mechanism, wanted) if known else find_violation(mechanism, wanted, tries=tries, seed=seed)

    def text(console: Any) -> None:
        if found is None:
            console.print(f"none found in {tries} instances, which proves nothing")
            return
        users, servers = found.to_frames()
        report_table(console, users, "users")
        report_table(console, servers, "servers")
        console.print(str(run(found, allocate(found, mechanism), [wanted])["witness"].iloc[0]))

    def found_frame() -> Any:
        return found.to_frames()[0] if found is not None else None

    deliver(Format.TEXT, None, text=text, data=dict, frame=found_frame)
    if found is None:
        raise typer.Exit(ExitCode.NO)
    if output is not None:
        for path in found.write(output):
            wrote(path)
