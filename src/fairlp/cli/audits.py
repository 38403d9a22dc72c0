"""The commands that ask whether an allocation is fair: audit, promises, counterexample."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from .app import ExitCode, command
from .clusters import PathArgument, SchedulerOption, for_csv, for_people, owed_first, report_standing
from .output import ReportOptions, print_text, records, report_table, wrote
from .parameters import (
    ExtraOption,
    MethodOptions,
    ProgressFlag,
    complete_mechanism,
    given_names,
    load_subject,
    mechanism_option,
    own_mechanism,
    read_options,
)

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ..operations.reports.subject import Subject


@dataclass(frozen=True)
class QuestionOptions:
    """The options that say what is asked of an allocation."""

    properties: Annotated[
        list[str] | None, Option("--property", "-p", metavar="NAME", help="Only this property. May be repeated.")
    ] = None
    division: Annotated[Literal["rdm", "tdm"] | None, Option(help="Servers divide their resources, or their time.")] = (
        None
    )
    whole_tasks: Annotated[
        bool | None, Option("--whole-tasks/--divisible", help="Whether parts of tasks are worth nothing.")
    ] = None
    tries: Annotated[int, Option(min=1, help="Lies to try, for strategy-proofness.")] = 200
    seed: Annotated[int, Option(help="Seed of that search.")] = 0


@command()
def audit(
    *,
    path: PathArgument,
    allocation: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="CSV of what a scheduler did: user and a column for each server, or user, server, tasks.",
        ),
    ] = None,
    mechanism: Annotated[
        str | None, mechanism_option("Audit what this mechanism does; of a dump, what is fair (see fairlp report).")
    ] = None,
    scheduler: SchedulerOption = None,
    question: QuestionOptions,
    table: Annotated[
        Literal["properties", "users", "queues"] | None,
        Option(help="Only this table, whole; users and queues are of a dump. --csv: properties."),
    ] = None,
    method: MethodOptions,
    report: ReportOptions,
) -> None:
    """Which promises does an allocation keep, and who is hurt, by how much.

    Of what a scheduler's tools print also who has what beside what is fair, what each waits for and who holds it. The
    exit code is 1 when a property that was asked for by --property is broken, and 0 otherwise.

    Example: fairlp audit khamse-ashari-figure-1 -m tsf -p envy-free
    """
    subject = load_subject(path, scheduler)
    name, tasks = _audited(subject, path, allocation, mechanism)
    shares = table in ("users", "queues")
    if shares and not subject.scheduler:
        raise typer.BadParameter(f"--table {table} is of a dump", param_hint="'--table'")
    if allocation is not None and method != MethodOptions():
        raise typer.BadParameter("--allocation FILE is there already; --method, --solver and such compute one")
    arguments = method.arguments()
    standing = None
    if subject.scheduler:
        from ..operations.reports.standing import Standing

        standing = Standing.of(subject, mechanism, **arguments)
    found = _findings(subject, name, tasks, question, arguments)
    broken = [str(name) for name in found.index[found["holds"].map(lambda held: held is False)]]

    def chosen() -> pd.DataFrame:
        if standing is None or not shares:
            return found
        return standing.queues if table == "queues" else owed_first(standing)

    def text(console: Console) -> None:
        if shares:
            report_table(console, for_people(chosen(), subject.instance.units), f"{name}: {table}")
            return
        if standing is not None and table is None:
            report_standing(console, standing)
        _report_findings(console, found, name, broken)
        if standing is not None and question.properties is None:
            from ..operations.reports.facts import left_out_of

            if names := left_out_of(subject.instance):
                console.print(f"not asked at this size, unless by --property: {', '.join(names)}")

    def data() -> Any:
        if standing is None or table is not None:
            return records(chosen())
        tree = {} if standing.instance.queues is None else {"queues": records(standing.queues)}
        return {"fair": standing.fair.mechanism, "properties": records(found), "users": records(standing.users), **tree}

    report.deliver(text=text, frame=lambda: for_csv(chosen()), data=data)
    if broken and question.properties:
        raise typer.Exit(ExitCode.NO)


def _audited(subject: Subject, path: str, allocation: Path | None, mechanism: str | None) -> tuple[str, Any]:
    """Return the name of what is audited, and its tasks (None: what the mechanism of that name does)."""
    if subject.scheduler:
        if allocation is not None:
            raise typer.BadParameter("a dump says itself what runs; --allocation is for instances")
        return Path(path).name, subject.tasks
    if allocation is None and mechanism is not None:
        return mechanism, None
    if allocation is None or mechanism is not None:
        raise typer.BadParameter(f"{path} is an instance: give either --allocation FILE or --mechanism NAME")
    from ..models.files.tables import read_tasks

    return allocation.name, read_tasks(allocation, subject.instance)


def _findings(
    subject: Subject, name: str, tasks: Any, question: QuestionOptions, arguments: dict[str, Any]
) -> pd.DataFrame:
    """Return what the audit says, property by property."""
    from ..api import allocate
    from ..auditing import audit as run
    from ..operations.reports.facts import asked_of

    names = question.properties
    if subject.scheduler and names is None:
        names = asked_of(subject.instance)
    found = run(
        subject.instance,
        allocate(subject.instance, name, **arguments) if tasks is None else tasks,
        names,
        division=question.division,
        whole_tasks=question.whole_tasks,
        tries=question.tries,
        seed=question.seed,
        options=arguments if tasks is None else None,
    )
    return found[["holds", "margin", "witness"]]


def _report_findings(console: Console, found: pd.DataFrame, name: str, broken: list[str]) -> None:
    from ..operations.reports.facts import answer

    answers = list(map(answer, found.index, found["holds"], found["witness"]))
    report_table(console, found.assign(holds=answers), f"{name}: what it keeps")
    console.print(f"broken: {', '.join(broken)}" if broken else "nothing is broken")


@dataclass(frozen=True)
class SearchOptions:
    """The options that say on what a search looks, and for how long."""

    generator: Annotated[
        str | None,
        Option(
            metavar="REFERENCE",
            help="package.module:function or file.py:function, NumPy generator → Instance, in place of random ones.",
        ),
    ] = None
    seed: Annotated[int, Option(help="Seed of what is drawn.")] = 0
    time_limit: Annotated[
        float | None, Option(metavar="SECONDS", min=0.001, help="Stop then, and say what is left.")
    ] = None
    progress: ProgressFlag = None

    def arguments(self) -> dict[str, Any]:
        """Return those that were given, as Python takes them."""
        given = {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}
        if self.generator is not None:
            from ..mechanisms.references import load_function

            given["generator"] = load_function(self.generator, "generator")
        return given


@command()
def promises(
    *,
    audits: Annotated[int, Option(min=0, help="Random instances to audit for each promise, now.")] = 0,
    mechanisms: Annotated[
        list[str] | None, mechanism_option("Only these: names with commas between them, or repeated.", "NAMES")
    ] = None,
    search: SearchOptions,
    report: ReportOptions,
) -> None:
    """Which mechanism promises which property, and the smallest instances that break the others.

    The exit code is 1 when a promise was found broken.
    """
    from ..auditing.promises import promises as run

    found = run(audits, mechanisms=given_names(mechanisms), **search.arguments())

    def text(console: Console) -> None:
        from ..auditing.sentences import broken_promises, in_words

        shown = in_words(found).reset_index().set_index("mechanism")
        report_table(console, shown, "Promises; fairlp counterexample MECHANISM PROPERTY shows an instance that ships")
        for sentence in broken_promises(found):
            console.print(sentence)

    report.deliver(text=text, frame=lambda: found.reset_index().set_index("mechanism"))
    if (found["broken"] > 0).any():
        raise typer.Exit(ExitCode.NO)


@dataclass(frozen=True)
class SizeOptions(SearchOptions):
    """The options of a search for a counterexample, by the names that it has in Python."""

    tries: Annotated[int, Option(min=1, help="Instances that the search looks at.")] = 1000
    users: Annotated[int, Option(min=1, help="Users at most.")] = 4
    servers: Annotated[int, Option(min=1, help="Servers at most.")] = 3
    resources: Annotated[int, Option(min=1, help="Resources at most.")] = 3
    lies: Annotated[int, Option(min=1, help="Lies tried on each, for strategy-proofness.")] = 60
    shrink: Annotated[bool, Option("--shrink/--no-shrink", help="Simplify what was found.")] = True


@command()
def counterexample(
    *,
    mechanism: Annotated[str, Argument(metavar="MECHANISM", callback=own_mechanism, autocompletion=complete_mechanism)],
    wanted: Annotated[str, Argument(metavar="PROPERTY")],
    search: Annotated[bool, Option("--search", help="Search for one, instead of the one that ships.")] = False,
    size: SizeOptions,
    option: ExtraOption = None,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write the instance (.json or .yaml) there.")
    ] = None,
) -> None:
    """Show the smallest instance on which a mechanism breaks a property: one that ships, or found by a search.

    The exit code is 1 when none was found.

    Example: fairlp counterexample drfh "sharing incentive"
    """
    from ..api import allocate
    from ..auditing import audit as run
    from ..auditing import promises

    options = read_options(option)
    arguments = size.arguments() | ({"options": options} if options else {})
    found = promises.counterexample(mechanism, wanted, search=search, **arguments)

    def text(console: Console) -> None:
        if found is None:
            most = " at most" if size.time_limit else ""
            console.print(f"none found in {size.tries} instances{most}, which proves nothing")
            return
        for title, frame in zip(("users", "servers"), found.to_frames(), strict=True):
            report_table(console, frame, title)
        console.print(run(found, allocate(found, mechanism, **options), wanted, options=options)["witness"].iloc[0])

    print_text(text)
    if found is None:
        raise typer.Exit(ExitCode.NO)
    if output is not None:
        for path in found.write(output):
            wrote(path)
