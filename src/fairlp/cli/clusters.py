"""The commands around a cluster as it is: report and what-if, and who has what beside what is fair."""

from __future__ import annotations

import atexit
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from .app import ExitCode, command, tell
from .output import SHOWN, ReportOptions, Text, TitledTable, cell, check_folder, wrote
from .parameters import (
    MethodOptions,
    Repeated,
    complete_instance,
    given_names,
    load_subject,
    mechanism_option,
    read_number,
    read_pairs,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..operations.reports.share_comparison import ShareComparison
    from ..operations.reports.subject import Subject

#: What may be said of a queue, and whether it is by resource.
_OF_A_QUEUE = {
    "weight": False,
    "tasks": False,
    "like": False,
    "guarantee": True,
    "cap": True,
    "demand": True,
}
_SHARES = ("share", "fair_share", "guarantee", "cap", "borrowed", "before", "after", "change")


def standard_input(path: str) -> str:
    """Return the path, of a file that holds the standard input where it is ``-``."""
    if path != "-":
        return path
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    file = Path(folder.name, "standard-input.json")
    file.write_bytes(sys.stdin.buffer.read())
    return str(file)


PathArgument = Annotated[
    str,
    Argument(
        metavar="PATH",
        autocompletion=complete_instance,
        callback=standard_input,
        help="What a scheduler's tools print (a file, a folder of files, or - for the standard input), or an instance "
        "as for allocate.",
    ),
]
SchedulerOption = Annotated[
    str | None, Option(metavar="NAME", help="Who wrote the dump, where its files do not tell.")
]
FairOption = Annotated[
    str | None,
    mechanism_option(
        "What is fair: by default h-drf-counted where users stand in queues, else DRF."
    ),
]


@dataclass(frozen=True)
class AboutOptions:
    """The options that say what a report is about."""

    weight: Annotated[
        Repeated,
        Option(
            metavar="NAME=NUMBER",
            help="Another weight of a queue or user. May be repeated, as --exclude.",
        ),
    ] = None
    exclude: Annotated[
        Repeated,
        Option(
            metavar="NAME",
            help="Leave out a queue or user, such as a namespace of the system; its use counts.",
        ),
    ] = None
    since: Annotated[
        str | None,
        Option(metavar="PATH", help="An earlier dump: who moved since, and who still waits?"),
    ] = None

    def subjects(self, path: str, scheduler: str | None) -> tuple[Subject, Subject | None]:
        """Return what a report is about, and the same before."""
        from ..operations.reports.page import adjusted

        exclude = self.exclude or ()
        now = adjusted(load_subject(path, scheduler), read_pairs(self.weight, "--weight"), exclude)
        return now, None if self.since is None else load_subject(self.since, scheduler).without(
            exclude, required=False
        )


@command()
def report(
    *,
    path: PathArgument,
    output: Annotated[
        Path,
        Option(
            "--output", "-o", metavar="FILE", help="Where the page goes; it replaces what is there."
        ),
    ] = Path("report.html"),
    mechanism: FairOption = None,
    compare: Annotated[
        Repeated,
        Option(
            metavar="NAMES",
            help="Mechanisms to compare, with commas between them or repeated; by default all that are defined.",
        ),
    ] = None,
    about: AboutOptions,
    exit_code: Annotated[
        bool,
        Option(
            "--exit-code",
            help="Exit with 1 where somebody is short of a whole task of its fair share.",
        ),
    ] = False,
    scheduler: SchedulerOption = None,
    method: MethodOptions,
) -> None:
    """Write one page of HTML that needs no network: is it fair, who is short of what, what would help, and why.

    Example: fairlp report now.json --since before.json --exclude kube-system -o report.html
    """
    check_folder(output)
    arguments = method.arguments()
    from ..operations.reports.headline import headline, is_fair
    from ..operations.reports.page import facts, require_html, write

    require_html(output)
    subject, earlier = about.subjects(path, scheduler)
    found = facts(subject, mechanism, given_names(compare), earlier, **arguments)
    wrote(write(found, output))
    if exit_code and not is_fair(found.share_comparison):
        tell("unfair", headline(found.share_comparison)[0])
        raise typer.Exit(ExitCode.NO)


@dataclass(frozen=True)
class EditOptions:
    """The options that say what is otherwise."""

    add_servers: Annotated[
        Repeated,
        Option(
            metavar="CLASS=NUMBER",
            help="So many servers more of a class (what fairlp report calls it), or as the server of that name. May be "
            "repeated, as all edits.",
        ),
    ] = None
    weight: Annotated[
        Repeated,
        Option(
            metavar="NAME=NUMBER",
            help="Another weight of a queue or user (queue:NAME, user:NAME where both have the name).",
        ),
    ] = None
    queue: Annotated[
        Repeated,
        Option(
            metavar="PATH,KEY=VALUE…",
            help="A queue more, or otherwise: weight, guarantee.RESOURCE, cap.RESOURCE; of a new one also like (a "
            "user, or a queue whose users it gets) or demand.RESOURCE, and tasks.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if not (self.add_servers or self.weight or self.queue):
            raise typer.BadParameter("nothing is edited; give --add-servers, --weight or --queue")

    def arguments(self) -> dict[str, Any]:
        """Return them as ``fairlp.what_if`` takes them."""
        return {
            "add_servers": read_pairs(self.add_servers, "--add-servers", int),
            "weights": read_pairs(self.weight, "--weight"),
            "queues": dict(_queue(text) for text in self.queue or ()),
        }


@command("what-if")
def what_if(
    *,
    path: PathArgument,
    edits: EditOptions,
    mechanism: FairOption = None,
    by: Annotated[
        Literal["user", "queue"] | None, Option(help="By default queues, where there are any.")
    ] = None,
    scheduler: SchedulerOption = None,
    method: MethodOptions,
    report: ReportOptions,
) -> None:
    """Show fair shares before and after an edit: servers more, another weight, a queue more.

    Example: fairlp what-if dump.json --add-servers a100=3 --weight research=2
    """
    arguments = {**edits.arguments(), **method.arguments()}
    from ..operations.reports.what_if import what_if as run

    found = run(load_subject(path, scheduler), mechanism=mechanism, by=by, **arguments)

    shown = found.sort_values("change", key=abs, ascending=False, kind="stable").rename(
        index={"": "(root)"}
    )
    lines = [
        "shares are dominant shares of the cluster as it is, in percent; the largest changes first"
    ]
    if "would_go" in found:
        go = found["would_go"][(found["would_go"] > 0) & (found.index != "")]
        names = ", ".join(
            f"{label} ({count:,.0f})"
            for label, count in go.sort_values(ascending=False).iloc[:10].items()
        )
        lines.append(f"running tasks that would go: {names or 'none'}")
    report.deliver(
        [*lines, TitledTable("Fair shares before and after", for_people(shown), SHOWN)], found
    )


def _queue(text: str) -> tuple[str, dict[str, Any]]:
    """Return a queue and what is said of it.

    >>> _queue("org/new,weight=2,like=ann,cap.cpu=8")
    ('org/new', {'weight': 2.0, 'like': 'ann', 'cap': {'cpu': 8.0}})
    """
    path, *rest = text.split(",")
    said: dict[str, Any] = {}
    for part in rest:
        key, equals, value = part.partition("=")
        key, dot, resource = key.strip().partition(".")
        if not equals or _OF_A_QUEUE.get(key) is not bool(dot):
            known = ", ".join(
                f"{name}{'.RESOURCE' if by else ''}" for name, by in _OF_A_QUEUE.items()
            )
            raise typer.BadParameter(
                f"{part!r}; expected KEY=VALUE with one of {known}", param_hint="'--queue'"
            )
        if dot:
            said.setdefault(key, {})[resource] = read_number(value, "--queue")
        else:
            said[key] = value if key == "like" else read_number(value, "--queue")
    return path, said


# Who has what beside what is fair, by queue and user.


def shares_text(comparison: ShareComparison) -> Text:
    """Give the tables of queues and users; those who are owed most come first."""
    fair = comparison.fair
    subject = comparison.subject
    units = comparison.instance.units
    name = subject.name or subject.scheduler
    whose = f"{name}: " if name else ""
    yield f"{whose}what runs now, beside what is fair by {fair.mechanism}"
    yield ("shares are dominant shares of the whole cluster, in percent\n")
    hint = "--table prints all of a table, --csv and --json too"
    if comparison.instance.has_queues:
        queues = comparison.queues.rename(index={"": "(root)"}).drop(columns=["weight"])
        yield TitledTable("By queue", for_people(queues, units), SHOWN, hint)
    yield TitledTable(
        "By user, those first who are owed most",
        for_people(owed_first(comparison), units),
        SHOWN,
        hint,
    )
    lost = subject.homeless
    odd = len(subject.not_understood)
    if len(lost):
        yield f"{int(lost['tasks'].sum())} more tasks wait of {len(lost)} users whom no server may take"
    if odd:
        yield f"{odd} lines of the dump were not understood, or read in a way of our own"
    yield ""


def owed_first(comparison: ShareComparison) -> pd.DataFrame:
    """Return the table of users, those first who are owed the largest share."""
    order = (-comparison.owed * comparison.share_of_a_task).argsort(kind="stable")
    users: pd.DataFrame = comparison.users.iloc[order]
    return users


def for_people(table: pd.DataFrame, units: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return a table with shares in percent, who holds what in words, and without columns that say nothing."""
    shown = table.copy()
    if "blocked_by" in shown:
        from ..operations.reports.sections import amounts

        of = [
            (units or {}).get(str(what).removeprefix("cap of "), "") for what in shown["blocked_by"]
        ]
        for name in ("held_by", "beyond_fair"):
            shown[name] = [amounts(held, unit) for held, unit in zip(shown[name], of, strict=True)]
    for name in shown.columns:
        if name in _SHARES:
            shown[name] = shown[name].map(lambda share: cell(100 * share))
        elif shown[name].dtype.kind == "f":
            shown[name] = shown[name].map(cell)
    told = [
        name
        for name in shown.columns
        if name in _SHARES[:2] or not shown[name].isin(["", "–", 0, "0"]).all()
    ]
    return shown[told]


def for_csv(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with who holds what as text, numbers in full."""
    found = table.copy()
    for name in ("held_by", "beyond_fair"):
        if name in found:
            found[name] = [
                ", ".join(f"{who} ({amount!r})" for who, amount in held.items())
                for held in found[name]
            ]
    return found
