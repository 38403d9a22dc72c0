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

if TYPE_CHECKING:
    import pandas as pd

    from fairlp import Instance

    from ..dues.facts import Facts
    from ..dues.verdict import Verdict
    from ..periods.period import Period
    from ..tables import Table


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
        require_of_one_dump(property=question.properties, allocation=allocation)
        period = over.period(dumps, mechanism, scheduler, adjust, arguments)
        _deliver_period(period, table, report)
        return
    if table in _OF_PERIODS:
        raise typer.BadParameter(f"--table {table} is of several dumps", param_hint="'--table'")
    facts = adjust.facts(paths[0], scheduler, allocation)
    name, tasks = _audited(facts, paths[0], allocation, mechanism)
    is_of_shares = table in ("tenants", "users", "queues")
    if is_of_shares and facts.tasks is None:
        raise typer.BadParameter(
            f"--table {table} is of a dump or an --allocation", param_hint="'--table'"
        )
    if allocation is not None and method != MethodOptions():
        raise typer.BadParameter(
            "--allocation FILE has an allocation; --method, --solver and such compute one"
        )
    from ..dues.dues import Dues
    from ..dues.verdict import Verdict
    from ..tables import for_csv

    findings = rows = _findings(facts, name, tasks, question, arguments)
    broken = [
        str(name) for name in findings.index[findings["holds"].map(lambda held: held is False)]
    ]
    text = [*_findings_text(findings, name, question.properties is not None)]
    judged = None
    if facts.tasks is not None:
        judged = Verdict.of(Dues.of(facts, mechanism, **arguments))
        if is_of_shares:
            rows = _frame_of(judged, str(table))
            text = [_titled(_table_of(judged, str(table)), whole=True)]
        elif table is None:
            text = [*_shares_text(judged), *text]
        names = costly_properties(facts.instance)
        if facts.scheduler and question.properties is None and names and not is_of_shares:
            text.append(f"not asked at this size, unless by --property: {', '.join(names)}")

    whole_dump = judged if table is None and facts.scheduler else None
    report.deliver(text, lambda: for_csv(rows), lambda: _audit_data(whole_dump, rows))
    if broken and question.properties:
        raise typer.Exit(1)  # the answer is no


#: Rows of a table that a terminal shows.
_SHOWN = 30


def _titled(table: Table, *, whole: bool = False) -> TitledTable:
    """Return a table for a terminal."""
    hint = "--table prints all of a table, --csv and --json too"
    return TitledTable(table.caption, table.for_people(), None if whole else _SHOWN, hint)


def _table_of(judged: Verdict, name: str) -> Table:
    """Return the table of tenants, users or queues."""
    from ..page import sections

    if name == "tenants":
        return sections.tenant_table(judged)
    return (
        sections.user_table(judged.dues) if name == "users" else sections.queue_table(judged.dues)
    )


def _frame_of(judged: Verdict, name: str) -> pd.DataFrame:
    """Return the same for programs, numbers in full."""
    from ..dues import fair_shares

    if name == "tenants":
        return fair_shares.tenants(judged)
    return fair_shares.users(judged.dues) if name == "users" else fair_shares.queues(judged.dues)


def _shares_text(judged: Verdict) -> Iterator[str | TitledTable]:
    """Yield the verdict, its notes, and the tables of tenants, queues and users."""
    facts = judged.dues.facts
    name = facts.name or facts.scheduler
    prefix = f"{name}: " if name else ""
    yield f"{prefix}what runs now, beside what is fair by {judged.dues.fair.mechanism}"
    yield "has and due are dominant shares of the whole cluster\n"
    yield judged.sentence
    yield from judged.notes
    names = ["tenants", "users"]
    if facts.instance.has_queues:
        names.insert(1, "queues")
    for table in names:
        yield _titled(_table_of(judged, table))
    if len(facts.not_understood):
        yield f"{len(facts.not_understood)} lines of the dump are left out, not understood or interpreted"
    yield ""


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
    from ..periods.page import dump_table, moment_table, tenant_table
    from ..tables import records

    tables = {"tenants": tenant_table, "times": moment_table, "dumps": dump_table}
    rows = getattr(period, table or "tenants")
    text: list[Any] = [_titled(tables[table or "tenants"](period), whole=table is not None)]
    if table is None:
        worst = _titled(
            dump_table(period, period.to_look_at)._replace(caption="Where most was missing")
        )
        text = [*period.verdict, "", *text, *([worst] if len(period.to_look_at) else [])]
    report.deliver(text, rows, lambda: period.to_dict() if table is None else records(rows))


def _audit_data(judged: Verdict | None, rows: pd.DataFrame) -> Any:
    """Return the rows of a table for programs; of a whole dump also tenants, queues and users."""
    from ..tables import records

    if judged is None:
        return records(rows)
    names = ["tenants", "users", *(["queues"] if judged.dues.instance.has_queues else [])]
    tables = {name: records(_frame_of(judged, name)) for name in names}
    return {"fair": judged.dues.fair.mechanism, "properties": records(rows), **tables}


def _audited(
    facts: Facts, path: str, allocation: Path | None, mechanism: str | None
) -> tuple[str, Any]:
    """Return the name of the allocation, and its tasks (None: those of that mechanism)."""
    if facts.scheduler:
        return Path(path).name, facts.tasks
    if allocation is None and mechanism is not None:
        return mechanism, None
    if allocation is None:
        raise typer.BadParameter(
            f"{path} is an instance: give --allocation FILE or --mechanism NAME"
        )
    return allocation.name, facts.tasks


def _findings(
    facts: Facts, name: str, tasks: Any, question: QuestionOptions, arguments: dict[str, Any]
) -> pd.DataFrame:
    """Return the findings of the audit, by property."""
    from fairlp import allocate, audit as run

    names = question.properties
    if facts.scheduler and names is None:
        names = default_properties(facts.instance)
    findings = run(
        facts.instance,
        allocate(facts.instance, name, **arguments) if tasks is None else tasks,
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
