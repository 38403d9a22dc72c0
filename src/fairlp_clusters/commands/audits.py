"""The command that asks whether an allocation is fair, of an instance or a dump: audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from fairlp.toolkit import (
    MethodOptions,
    ReportOptions,
    TitledTable,
    command,
    named_option,
)

from .parameters import (
    AdjustOptions,
    AllocationOption,
    PathsArgument,
    PeriodOptions,
    Repeated,
    SchedulerOption,
    require_of_one_dump,
)
from .tables import SHOWN, for_csv, for_people, owed_first, records, shares_text

if TYPE_CHECKING:
    import pandas as pd

    from fairlp import Instance

    from ..dues.share_comparison import ShareComparison
    from ..dues.subject import Subject
    from ..periods.period import Period


@dataclass(frozen=True)
class QuestionOptions:
    """The options of the audit of an allocation."""

    properties: Annotated[
        Repeated,
        Option("--property", "-p", metavar="NAME", help="Only this property. May be repeated."),
    ] = None
    division: Annotated[
        Literal["rdm", "tdm"] | None, Option(help="Servers divide their resources, or their time.")
    ] = None
    whole_tasks: Annotated[
        bool | None,
        Option("--whole-tasks/--divisible", help="Whether parts of tasks are worth nothing."),
    ] = None
    tries: Annotated[int, Option(min=1, help="Lies to try, for strategy-proofness.")] = 200
    seed: Annotated[int, Option(help="Seed of that search.")] = 0


@command()
def audit(
    *,
    paths: PathsArgument,
    allocation: AllocationOption = None,
    mechanism: Annotated[
        str | None,
        named_option(
            "mechanism",
            "--mechanism",
            "-m",
            help_text="Audit what this mechanism does; of a dump, what is fair (see fairlp report).",
        ),
    ] = None,
    scheduler: SchedulerOption = None,
    question: QuestionOptions,
    adjust: AdjustOptions,
    over: PeriodOptions,
    table: Annotated[
        Literal["properties", "tenants", "users", "queues", "times", "dumps"] | None,
        Option(
            help="Only this table, whole; all but properties are of a dump or --allocation, times and dumps of several "
            "dumps. --csv: properties, of several dumps tenants."
        ),
    ] = None,
    method: MethodOptions,
    report: ReportOptions,
) -> None:
    """Show the properties that an allocation has, the users who show a violation, and by how much.

    For a scheduler's dump or an --allocation, also show shares beside fair shares, the resource
    that each user waits for and its holders. Of several dumps, or a folder of dumps, show each tenant's share beside
    its due over the period. The exit code is 1 when a property of --property is broken, and 0 otherwise.

    Example: fairlp audit khamse-ashari-figure-1 -m tsf -p envy-free
    """
    arguments = method.arguments()
    if dumps := over.dumps(paths):
        from ..periods.period import period_of

        require_of_one_dump(property=question.properties, allocation=allocation)
        adjustments = {**adjust.arguments(), "scheduler": scheduler}
        period = period_of(dumps, mechanism, **over.arguments(), **adjustments, **arguments)
        _deliver_period(period, table, report)
        return
    if table in _OF_PERIODS:
        raise typer.BadParameter(f"--table {table} is of several dumps", param_hint="'--table'")
    subject = adjust.subject(paths[0], scheduler, allocation)
    name, tasks = _audited(subject, paths[0], allocation, mechanism)
    is_of_shares = table in ("tenants", "users", "queues")
    if is_of_shares and subject.tasks is None:
        raise typer.BadParameter(
            f"--table {table} is of a dump or an --allocation", param_hint="'--table'"
        )
    if allocation is not None and method != MethodOptions():
        raise typer.BadParameter(
            "--allocation FILE has an allocation; --method, --solver and such compute one"
        )
    from ..dues.share_comparison import ShareComparison

    comparison = None
    if subject.tasks is not None:
        comparison = ShareComparison.of(subject, mechanism, **arguments)
    findings = rows = _findings(subject, name, tasks, question, arguments)
    broken = [
        str(name) for name in findings.index[findings["holds"].map(lambda held: held is False)]
    ]
    text = [*_findings_text(findings, name, question.properties is not None)]
    if comparison is not None and is_of_shares:
        rows = owed_first(comparison) if table == "users" else getattr(comparison, str(table))
        text = [TitledTable(f"{name}: {table}", for_people(rows, subject.instance.units))]
    elif comparison is not None:
        text = [*(shares_text(comparison) if table is None else ()), *text]
        if (
            subject.scheduler
            and question.properties is None
            and (names := costly_properties(subject.instance))
        ):
            text.append(f"not asked at this size, unless by --property: {', '.join(names)}")

    whole_dump = comparison if table is None and subject.scheduler else None
    report.deliver(text, lambda: for_csv(rows), lambda: _audit_data(whole_dump, rows))
    if broken and question.properties:
        raise typer.Exit(1)  # the answer is no


#: The tables of a period that one dump does not have.
_OF_PERIODS = ("times", "dumps")


def _deliver_period(period: Period, table: str | None, report: ReportOptions) -> None:
    """Deliver the tables of a period: in CSV that of the tenants, where none is named."""
    names = ("tenants", *_OF_PERIODS)
    if table is not None and table not in names:
        raise typer.BadParameter(
            f"--table {table} is of one dump; of a period there are {', '.join(names)}",
            param_hint="'--table'",
        )
    rows = getattr(period, table or "tenants")
    title = f"{period.name}: {table or period.noun + 's'}"
    frame = for_people(rows if rows.index.nlevels == 1 else rows.reset_index("tenant"))
    text: list[Any] = [TitledTable(title, frame, None if table else SHOWN)]
    if table is None:
        dumps = TitledTable("Where most was missing", for_people(period.to_look_at))
        units = (
            "shares are dominant shares of the whole cluster, in percent; used, due, short and lacking are hours of "
            "the whole cluster"
        )
        text = [*period.verdict, units, "", *text, *([dumps] if len(period.to_look_at) else [])]
    data = {name: records(getattr(period, name)) for name in names}
    verdict = {"fair": period.is_fair, "verdict": period.verdict}
    report.deliver(text, rows, lambda: {**verdict, **data} if table is None else records(rows))


def _audit_data(comparison: ShareComparison | None, rows: pd.DataFrame) -> Any:
    """Return the rows of a table for programs; of a whole dump also queues and users."""
    if comparison is None:
        return records(rows)
    queues = {} if not comparison.instance.has_queues else {"queues": records(comparison.queues)}
    return {
        "fair": comparison.fair.mechanism,
        "properties": records(rows),
        "tenants": records(comparison.tenants),
        "users": records(comparison.users),
        **queues,
    }


def _audited(
    subject: Subject, path: str, allocation: Path | None, mechanism: str | None
) -> tuple[str, Any]:
    """Return the name of the allocation, and its tasks (None: those of that mechanism)."""
    if subject.scheduler:
        return Path(path).name, subject.tasks
    if allocation is None and mechanism is not None:
        return mechanism, None
    if allocation is None:
        raise typer.BadParameter(
            f"{path} is an instance: give --allocation FILE or --mechanism NAME"
        )
    return allocation.name, subject.tasks


def _findings(
    subject: Subject, name: str, tasks: Any, question: QuestionOptions, arguments: dict[str, Any]
) -> pd.DataFrame:
    """Return the findings of the audit, by property."""
    from fairlp import allocate, audit as run

    names = question.properties
    if subject.scheduler and names is None:
        names = default_properties(subject.instance)
    findings = run(
        subject.instance,
        allocate(subject.instance, name, **arguments) if tasks is None else tasks,
        names,
        division=question.division,
        whole_tasks=question.whole_tasks,
        tries=question.tries,
        seed=question.seed,
        options=arguments if tasks is None else None,
    )
    return findings[["holds", "margin", "witness"]]


def _findings_text(
    findings: pd.DataFrame, name: str, requested: bool
) -> Iterator[str | TitledTable]:
    """Yield properties, broken ones, and the mechanisms of which the allocation is an answer.

    Requested definitions of mechanisms are properties like others.
    """
    table, sentences = findings_in_words(findings, with_definitions=requested)
    yield TitledTable(f"{name}: properties", table.rename(columns={"holds": "answer"}))
    for sentence in sentences:
        yield f"{sentence}; --csv and --json say why"
    broken = table.index[table["holds"] == "broken"]
    yield f"broken: {', '.join(broken)}" if len(broken) else "nothing is broken"


#: Pairs of users and servers up to which every property is audited.
MOST_PAIRS = 250_000
#: The properties that are left out beyond that: their audits compare every pair of users, or solve a
#: program of every user and server.
_COSTLY = ("Pareto-optimal", "non-wasteful", "leximin", "PS-DSF")
#: The answers of an audit in words.
_ANSWERS = {True: "kept", False: "broken"}


def default_properties(instance: Instance) -> list[str]:
    """Return the properties that a command asks of a dump: those that run no mechanism again."""
    from fairlp import auditing

    costly_names = costly_properties(instance)
    return [
        name
        for name, row in auditing.PROPERTIES.items()
        if not row.reruns and (instance.has_queues or not row.tree) and name not in costly_names
    ]


def costly_properties(instance: Instance) -> list[str]:
    """Return the properties that it leaves out because of the size of the instance."""
    from fairlp import auditing

    if len(instance.users) * len(instance.servers) <= MOST_PAIRS:
        return []
    return [name for name in auditing.PROPERTIES if name.startswith(_COSTLY)]


def findings_in_words(
    findings: pd.DataFrame, *, with_definitions: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """Return findings with answers in words, and sentences about those that are left out.

    An answer is kept, broken, "no lie found" by a search, or "not checked". Left out are properties
    with nothing to check and, without ``with_definitions``, definitions of mechanisms: an
    allocation of another mechanism does not meet them, and nothing is wrong with it.
    """
    has_nothing = findings["witness"].str.startswith("nothing to check: ")
    is_definition = findings.index.isin([] if with_definitions else definitions())
    shown = findings[~has_nothing & ~is_definition]
    answers = [
        _ANSWERS.get(holds, "no lie found" if margin == 0 else "not checked")
        for holds, margin in zip(shown["holds"], shown["margin"], strict=True)
    ]
    sentences = []
    names = ", ".join(map(str, findings.index[has_nothing & ~is_definition]))
    if names:
        sentences.append(f"nothing to check here: {names}")
    sentences += _answer_of(findings["holds"][is_definition])
    return shown.assign(holds=answers), sentences


def definitions() -> list[str]:
    """Return the properties that are definitions of mechanisms."""
    from fairlp import auditing

    return [name for name, row in auditing.PROPERTIES.items() if row.answer_of]


def _answer_of(holds: pd.Series[Any]) -> list[str]:
    """Return a sentence on the mechanisms that an allocation is an answer of, where it is known."""
    from fairlp import auditing

    mechanisms = [auditing.PROPERTIES[str(name)].answer_of for name in holds.index]
    answers = list(zip(mechanisms, holds, strict=True))
    same = [mechanism for mechanism, is_answer in answers if is_answer is True]
    other = [mechanism for mechanism, is_answer in answers if is_answer is False]
    parts = []
    if same:
        parts.append(f"the answer of {', '.join(same)}")
    if other:
        parts.append(f"not the answer of {', '.join(other)} (other mechanisms)")
    return ["; ".join(parts)] if parts else []
