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
    instance_argument,
    named_option,
    standard_input,
)

from .parameters import PATH_HELP, AdjustOptions, AllocationOption, Repeated, SchedulerOption

if TYPE_CHECKING:
    import pandas as pd

    from fairlp import Instance

    from ..dues.facts import Facts
    from ..dues.verdict import Verdict


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
    path: Annotated[str, instance_argument("PATH", PATH_HELP, standard_input)],
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
    method: MethodOptions,
    report: ReportOptions,
) -> None:
    """Show the properties that an allocation has, the users who show a violation, and by how much.

    For a scheduler's dump or an --allocation, also show the verdict of fairlp report and its table of tenants. The
    exit code is 1 when a property of --property is broken, and 0 otherwise.

    Example: fairlp audit khamse-ashari-figure-1 -m tsf -p envy-free
    """
    arguments = method.arguments()
    facts = adjust.facts(path, scheduler, allocation)
    name, tasks = _audited(facts, path, allocation, mechanism)
    if allocation is not None and method != MethodOptions():
        raise typer.BadParameter(
            "--allocation FILE has an allocation; --method, --solver and such compute one"
        )
    from ..tables import records

    findings = _findings(facts, name, tasks, question, arguments)
    text = [*_findings_text(findings, name, question.properties is not None)]
    if facts.tasks is not None:
        from ..dues.dues import Dues
        from ..dues.verdict import Verdict

        judged = Verdict.of(Dues.of(facts, mechanism, **arguments))
        text = [*_verdict_text(judged), *text]
        names = costly_properties(facts.instance)
        if facts.scheduler and question.properties is None and names:
            text.append(f"not asked at this size, unless by --property: {', '.join(names)}")
    report.deliver(text, findings, lambda: records(findings))
    if question.properties and findings["holds"].map(lambda held: held is False).any():
        raise typer.Exit(1)  # the answer is no


#: Rows of a table that a terminal shows.
_SHOWN = 30


def _verdict_text(judged: Verdict) -> Iterator[str | TitledTable]:
    """Yield the verdict, its notes, and the table of tenants."""
    from ..page.sections import tenant_table

    facts = judged.dues.facts
    name = facts.name or facts.scheduler
    prefix = f"{name}: " if name else ""
    yield f"{prefix}what runs now, beside what is fair by {judged.dues.fair.mechanism}"
    yield "has and due are dominant shares of the whole cluster\n"
    yield judged.sentence
    yield from judged.notes
    table = tenant_table(judged)
    hint = "fairlp report --json prints all"
    yield TitledTable(table.caption, table.for_people(), _SHOWN, hint)
    if len(facts.not_understood):
        yield f"{len(facts.not_understood)} lines of the dump are left out, not understood or interpreted"
    yield ""


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
