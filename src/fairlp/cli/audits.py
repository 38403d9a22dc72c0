"""The commands that ask whether an allocation is fair: audit, promises, counterexample."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import ExitCode, app
from .clusters import PathArgument, SchedulerOption
from .groups import grouped
from .inputs import load_subject
from .output import Report, print_text, records, wrote
from .parameters import (
    ExtraOption,
    ProgressFlag,
    Way,
    complete_mechanism,
    given_names,
    mechanism_option,
    own_mechanism,
    solver_options,
)
from .standings import for_csv, for_people, owed_first, report_standing
from .tables import report_table

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ..operations.reports.subject import Subject


class Table(StrEnum):
    """Tables of an audit."""

    properties = "properties"
    users = "users"
    queues = "queues"


@dataclass(frozen=True)
class Whose:
    """The options that say what is audited: what a scheduler did, or what a mechanism does."""

    allocation: Annotated[
        Path | None,
        typer.Option(
            "--allocation",
            metavar="FILE",
            help="CSV of what a scheduler did: user and a column for each server, or user, server, tasks.",
        ),
    ] = None
    mechanism: Annotated[
        str | None, mechanism_option("Audit what this mechanism does; of a dump, what is fair (see fairlp report).")
    ] = None
    scheduler: SchedulerOption = None

    def taken(self, subject: Subject, text: str) -> tuple[str, Any]:
        """Return the name of what is audited, and its tasks (None: what the mechanism of that name does)."""
        if subject.scheduler:
            if self.allocation is not None:
                raise typer.BadParameter("a dump says itself what runs; --allocation is for instances")
            return Path(text).name, subject.tasks
        if (self.allocation is None) == (self.mechanism is None):
            raise typer.BadParameter(f"{text} is an instance: give either --allocation FILE or --mechanism NAME")
        if self.allocation is not None:
            from ..models.files.tables import read_tasks

            return self.allocation.name, read_tasks(self.allocation, subject.instance)
        return str(self.mechanism), None


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
    path: PathArgument,
    whose: Whose,
    question: Question,
    table: Annotated[
        Table | None,
        typer.Option(
            "--table",
            show_default=False,
            help="Only this table, whole; users and queues are of a dump. --csv: properties.",
        ),
    ] = None,
    way: Way,
    report: Report,
) -> None:
    """Which promises does an allocation keep, and who is hurt, by how much.

    Of what a scheduler's tools print also who has what beside what is fair, what each waits for and who holds it. The
    exit code is 1 when a property that was asked for by --property is broken, and 0 otherwise.

    Example: fairlp audit khamse-ashari-figure-1 -m tsf -p envy-free
    """
    subject = load_subject(path, whose.scheduler)
    name, tasks = whose.taken(subject, path)
    if table not in (None, Table.properties) and not subject.scheduler:
        raise typer.BadParameter(f"--table {table} is of a dump", param_hint="'--table'")
    if whose.allocation is not None and way != Way():
        raise typer.BadParameter("--allocation FILE is there already; --method, --solver and such compute one")
    options = way.options()
    standing = None
    if subject.scheduler:
        from ..operations.reports.standing import Standing

        standing = Standing.of(subject, whose.mechanism, **options)
    found = _findings(subject, name, tasks, question, options)
    broken = [str(name) for name in found.index[found["holds"].map(lambda held: held is False)]]

    def chosen() -> pd.DataFrame:
        if standing is None or table in (None, Table.properties):
            return found
        return standing.queues if table is Table.queues else owed_first(standing)

    def text(console: Console) -> None:
        if standing is not None and table is None:
            report_standing(console, standing)
        if table in (None, Table.properties):
            _print_findings(console, found, name, broken)
            if standing is not None and question.properties is None:
                from ..operations.reports.facts import left_out_of

                names = left_out_of(subject.instance)
                if names:
                    console.print(f"not asked at this size, unless by --property: {', '.join(names)}")
        else:
            report_table(console, for_people(chosen(), subject.instance.units), f"{name}: {table}")

    def data() -> Any:
        if standing is None or table is not None:
            return records(chosen())
        tree = {} if standing.instance.queues is None else {"queues": records(standing.queues)}
        return {"fair": standing.fair.mechanism, "properties": records(found), "users": records(standing.users), **tree}

    report.deliver(text=text, frame=lambda: for_csv(chosen()), data=data)
    if broken and question.properties:
        raise typer.Exit(ExitCode.NO)


def _findings(subject: Subject, name: str, tasks: Any, question: Question, options: dict[str, Any]) -> pd.DataFrame:
    """Return what the audit says, property by property."""
    from ..api import allocate
    from ..auditing import audit as run

    names = question.properties
    if subject.scheduler and names is None:
        from ..operations.reports.facts import asked_of

        names = asked_of(subject.instance)
    found = run(
        subject.instance,
        allocate(subject.instance, name, **options) if tasks is None else tasks,
        names,
        division=question.division,  # type: ignore[arg-type]
        whole_tasks=question.whole,
        tries=question.tries,
        seed=question.seed,
        options=options if tasks is None else None,
    )
    return found[["holds", "margin", "witness"]]


def _print_findings(console: Console, found: pd.DataFrame, name: str, broken: list[str]) -> None:
    from ..operations.reports.facts import answer

    answers = list(map(answer, found.index, found["holds"], found["witness"]))
    report_table(console, found.assign(holds=answers), f"{name}: what it keeps")
    console.print(f"broken: {', '.join(broken)}" if broken else "nothing is broken")


@dataclass(frozen=True)
class Limited:
    """The options that say on what a search looks, and for how long."""

    generator: Annotated[
        str | None,
        typer.Option(
            "--generator",
            metavar="REFERENCE",
            help="package.module:function or file.py:function, NumPy generator → Instance, in place of random ones.",
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", min=0.001, help="Stop then, and say what is left."),
    ] = None
    progress: ProgressFlag = None

    def how(self) -> dict[str, Any]:
        """Return those that were given, as Python takes them."""
        given = _given(self)
        if self.generator is not None:
            from ..mechanisms.references import load_function

            given["generator"] = load_function(self.generator, "generator")
        return given


def _given(group: Any) -> dict[str, Any]:
    """Return the options of a group that are not as they are by default."""
    return {one.name: getattr(group, one.name) for one in fields(group) if one.default != getattr(group, one.name)}


@app.command()
@grouped
def promises(
    *,
    audits: Annotated[
        int, typer.Option("--audits", min=0, help="Random instances to audit for each promise, now.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of those instances.")] = 0,
    limited: Limited,
    mechanisms: Annotated[
        list[str] | None,
        mechanism_option("Only these: names with commas between them, or repeated.", "NAMES", show_default=False),
    ] = None,
    report: Report,
) -> None:
    """Which mechanism promises which property, and the smallest instances that break the others.

    The exit code is 1 when a promise was found broken.
    """
    from ..auditing.promises import promises as run

    found = run(audits, seed=seed, mechanisms=given_names(mechanisms), **limited.how())

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
class Searched:
    """The options of a search for a counterexample, by the names that it has in Python."""

    tries: Annotated[int, typer.Option("--tries", min=1, help="Instances that the search looks at.")] = 1000
    seed: Annotated[int, typer.Option("--seed", help="Seed of the search.")] = 0
    users: Annotated[int, typer.Option("--users", min=1, help="Users at most.")] = 4
    servers: Annotated[int, typer.Option("--servers", min=1, help="Servers at most.")] = 3
    resources: Annotated[int, typer.Option("--resources", min=1, help="Resources at most.")] = 3
    lies: Annotated[int, typer.Option("--lies", min=1, help="Lies tried on each, for strategy-proofness.")] = 60
    shrink: Annotated[bool, typer.Option("--shrink/--no-shrink", help="Simplify what was found.")] = True
    option: ExtraOption = None

    def how(self) -> dict[str, Any]:
        """Return those that are not as they are by default, as ``fairlp.counterexample`` takes them."""
        given = _given(self)
        option = given.pop("option", None)
        return {**given, "options": solver_options(option)} if option else given


@app.command()
@grouped
def counterexample(
    *,
    mechanism: Annotated[
        str, typer.Argument(metavar="MECHANISM", callback=own_mechanism, autocompletion=complete_mechanism)
    ],
    wanted: Annotated[str, typer.Argument(metavar="PROPERTY")],
    search: Annotated[bool, typer.Option("--search", help="Search for one, instead of the one that ships.")] = False,
    searched: Searched,
    limited: Limited,
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

    how = searched.how() | limited.how()
    found = promises.counterexample(mechanism, wanted, search=search, **how)
    options = how.get("options", {})

    def text(console: Console) -> None:
        if found is None:
            most = " at most" if limited.time_limit else ""
            console.print(f"none found in {searched.tries} instances{most}, which proves nothing")
            return
        users, servers = found.to_frames()
        report_table(console, users, "users")
        report_table(console, servers, "servers")
        console.print(run(found, allocate(found, mechanism, **options), wanted, options=options)["witness"].iloc[0])

    print_text(text)
    if found is None:
        raise typer.Exit(ExitCode.NO)
    if output is not None:
        for path in found.write(output):
            wrote(path)
