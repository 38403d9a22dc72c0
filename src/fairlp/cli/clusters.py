"""The commands about a cluster as it is: report, what-if, and tables of shares."""

from __future__ import annotations

import atexit
import math
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from .app import ExitCode, command, name_path, tell
from .output import SHOWN, ReportOptions, Text, TitledTable, cell, check_folder, wrote
from .parameters import (
    MethodOptions,
    Repeated,
    complete_instance,
    load_subject,
    mechanism_option,
    read_number,
    read_pairs,
    split_names,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..operations.clusters.dumps import Dump
    from ..operations.reports.share_comparison import ShareComparison
    from ..operations.reports.subject import Subject

#: The keys of a queue, and whether their values are by resource.
_QUEUE_KEYS = {
    "weight": False,
    "tasks": False,
    "like": False,
    "guarantee": True,
    "cap": True,
    "demand": True,
}
_SHARES = (
    "share",
    "fair_share",
    "guarantee",
    "cap",
    "borrowed",
    "before",
    "after",
    "change",
    "due_share",
    "missing",
)


def standard_input(path: str) -> str:
    """Return the path, of a file that holds the standard input where it is ``-``."""
    if path != "-":
        return path
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    file = Path(folder.name, "standard input.json")
    file.write_bytes(sys.stdin.buffer.read())
    name_path(str(file), "the standard input")
    return str(file)


def _standard_inputs(paths: list[str]) -> list[str]:
    """Return the paths, with files in the place of the standard input."""
    return [standard_input(path) for path in paths]


_PATH_HELP = (
    "What a scheduler's tools print (a file, a folder of files, or - for the standard input), or an instance as for "
    "allocate."
)
PathArgument = Annotated[
    str,
    Argument(
        metavar="PATH",
        autocompletion=complete_instance,
        callback=standard_input,
        help=_PATH_HELP,
    ),
]
PathsArgument = Annotated[
    list[str],
    Argument(
        metavar="PATH",
        autocompletion=complete_instance,
        callback=_standard_inputs,
        help=f"{_PATH_HELP} Several dumps, or a folder of dumps, are a period.",
    ),
]
SchedulerOption = Annotated[
    str | None,
    Option(
        metavar="NAME", help="The scheduler that wrote the dump, where its files do not show it."
    ),
]
AllocationOption = Annotated[
    Path | None,
    Option(
        "--allocation",
        metavar="FILE",
        help="Of an instance: CSV of what runs now, user and a column for each server, or user, server, tasks.",
    ),
]
FairOption = Annotated[
    str | None,
    mechanism_option(
        "The rule of fair shares: by default h-drf-counted where users stand in queues, else drfh."
    ),
]


@dataclass(frozen=True)
class AdjustOptions:
    """The options that change weights, and leave out some of the users."""

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

    def arguments(self) -> dict[str, Any]:
        """Return them as ``fairlp.report`` takes them."""
        return {
            "weights": read_pairs(self.weight, "--weight"),
            "exclude": self.exclude or (),
        }

    def subject(self, path: str, scheduler: str | None, allocation: Path | None) -> Subject:
        """Return the subject of a report."""
        from ..operations.reports.page import adjusted

        return adjusted(load_subject(path, scheduler, allocation), **self.arguments())


@dataclass(frozen=True)
class AboutOptions(AdjustOptions):
    """The options of the subject of a report."""

    since: Annotated[
        str | None,
        Option(
            metavar="PATH",
            help="An earlier dump: the page also lists users who moved since, and who still wait.",
        ),
    ] = None

    def earlier(self, scheduler: str | None) -> Subject | None:
        """Return the same cluster before, where an earlier dump is named."""
        if self.since is None:
            return None
        earlier = load_subject(self.since, scheduler)
        return earlier.without(self.exclude or (), required=False)


@dataclass(frozen=True)
class PeriodOptions:
    """The options of a period of several dumps."""

    every: Annotated[
        str | None,
        Option(
            metavar="DURATION",
            help="Of several dumps: they are so far apart (1h, 30min), in their order, whatever their names say.",
        ),
    ] = None
    half_life: Annotated[
        str | None,
        Option(
            "--half-life",
            metavar="DURATION",
            help="Of several dumps: after it (1h, 7d), what was used and due counts by half.",
        ),
    ] = None

    def dumps(self, paths: list[str]) -> list[Dump]:
        """Return the dumps of a period; none where the paths are one dump or an instance."""
        from ..operations.clusters.dumps import dumps_in, dumps_of

        if len(paths) > 1:
            return dumps_of(paths)
        dumps = dumps_in(paths[0]) if paths[0] else []
        for name, value in (("--every", self.every), ("--half-life", self.half_life)):
            if not dumps and value is not None:
                raise typer.BadParameter(f"{name} is of several dumps; {paths[0]} is one")
        return dumps

    def arguments(self) -> dict[str, Any]:
        """Return them as ``fairlp.period`` takes them."""
        return {"every": self.every, "half_life": self.half_life}


def require_of_one_dump(**options: Any) -> None:
    """Raise where an option of one dump is given with several."""
    for name, value in options.items():
        if value is not None:
            raise typer.BadParameter(
                f"--{name} is of one dump; several are a period", param_hint=f"'--{name}'"
            )


@command()
def report(
    *,
    paths: PathsArgument,
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file of the page; a file of that name is replaced.",
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
    over: PeriodOptions,
    exit_code: Annotated[
        bool,
        Option(
            "--exit-code",
            help="Exit with 1 where a tenant (a Slurm or YARN user, a queue, a namespace) is short of a whole task of "
            "its fair share; of several dumps, short over the period.",
        ),
    ] = False,
    allocation: AllocationOption = None,
    scheduler: SchedulerOption = None,
    method: MethodOptions,
) -> None:
    """Write one page of HTML that needs no network: the shares, the users who are short, and why.

    The verdict is printed, too. Of several dumps, or a folder of dumps as cron writes them, the page is about the
    period: each tenant's share against its due over time.

    Example: fairlp report now.json --since before.json --exclude kube-system -o report.html
    """
    check_folder(output)
    arguments = method.arguments()
    from ..operations.reports.headline import is_fair, verdict
    from ..operations.reports.page import facts, require_html, require_packages, write
    from ..operations.reports.period import period_of

    require_html(output)
    if dumps := over.dumps(paths):
        require_of_one_dump(compare=compare, since=about.since, allocation=allocation)
        require_packages()
        adjustments = {**about.arguments(), "scheduler": scheduler}
        period = period_of(dumps, mechanism, **over.arguments(), **adjustments, **arguments)
        wrote(period.report(output))
        fair = period.is_fair
        _tell_verdict(fair, period.verdict[0])
    else:
        subject = about.subject(paths[0], scheduler, allocation)
        earlier = about.earlier(scheduler)
        page_facts = facts(subject, mechanism, split_names(compare), earlier, **arguments)
        wrote(write(page_facts, output))
        comparison = page_facts.share_comparison
        fair = is_fair(comparison)
        if subject.tasks is None:
            tell("note", "what runs now is not known (--allocation); the page says what is fair")
        else:
            _tell_verdict(fair, verdict(comparison))
    if exit_code and not fair:
        raise typer.Exit(ExitCode.NO)


def _tell_verdict(fair: bool, sentence: str) -> None:
    """Print a verdict in one line on standard error."""
    tell("fair" if fair else "unfair", sentence.removeprefix("Fair: "))


@dataclass(frozen=True)
class EditOptions:
    """The options of an edit."""

    add_servers: Annotated[
        Repeated,
        Option(
            metavar="CLASS=NUMBER",
            help="New servers, so many of a class (by its name in fairlp report), or like the server of that name. May "
            "be repeated, as all edits.",
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
            help="A new queue, or an edited one: weight, guarantee.RESOURCE, cap.RESOURCE; of a new one also like (a "
            "user, or a queue whose users it gets) or demand.RESOURCE, and tasks.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if not (self.add_servers or self.weight or self.queue):
            raise typer.BadParameter("there is no edit; give --add-servers, --weight or --queue")

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
        Literal["user", "queue"] | None,
        Option(help="By default queues, where the instance has any."),
    ] = None,
    allocation: AllocationOption = None,
    scheduler: SchedulerOption = None,
    method: MethodOptions,
    report: ReportOptions,
) -> None:
    """Show fair shares before and after an edit: new servers, another weight, a new queue.

    Example: fairlp what-if dump.json --add-servers a100=3 --weight research=2
    """
    arguments = {**edits.arguments(), **method.arguments()}
    from ..operations.reports.what_if import what_if as run

    subject = load_subject(path, scheduler, allocation)
    table = run(subject, mechanism=mechanism, by=by, **arguments)

    largest_first = table.sort_values("change", key=abs, ascending=False, kind="stable").rename(
        index={"": "(root)"}
    )
    lines = [
        "shares are dominant shares of the cluster as it is, in percent; the largest changes first"
    ]
    if "would_go" in table:
        would_go = table["would_go"][(table["would_go"] > 0) & (table.index != "")]
        names = ", ".join(
            f"{label} ({count:,.0f})"
            for label, count in would_go.sort_values(ascending=False).iloc[:10].items()
        )
        lines.append(f"running tasks that would go: {names or 'none'}")
    report.deliver(
        [*lines, TitledTable("Fair shares before and after", for_people(largest_first), SHOWN)],
        table,
    )


def _queue(text: str) -> tuple[str, dict[str, Any]]:
    """Return a queue and its values.

    >>> _queue("org/new,weight=2,like=ann,cap.cpu=8")
    ('org/new', {'weight': 2.0, 'like': 'ann', 'cap': {'cpu': 8.0}})
    """
    path, *entries = text.split(",")
    values: dict[str, Any] = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        key, dot, resource = name.strip().partition(".")
        if not equals or _QUEUE_KEYS.get(key) is not bool(dot):
            keys = [f"{key}.RESOURCE" if by else key for key, by in _QUEUE_KEYS.items()]
            raise typer.BadParameter(
                f"{entry!r}; expected KEY=VALUE with one of {', '.join(keys)}",
                param_hint="'--queue'",
            )
        if dot:
            values.setdefault(key, {})[resource] = read_number(value, "--queue")
        else:
            values[key] = value if key == "like" else read_number(value, "--queue")
    return path, values


# Shares beside fair shares, by queue and user.


def shares_text(comparison: ShareComparison) -> Text:
    """Yield the tables of queues and users; those who are owed most come first."""
    subject = comparison.subject
    units = comparison.instance.units
    name = subject.name or subject.scheduler
    prefix = f"{name}: " if name else ""
    yield f"{prefix}what runs now, beside what is fair by {comparison.fair.mechanism}"
    yield "shares are dominant shares of the whole cluster, in percent\n"

    hint = "--table prints all of a table, --csv and --json too"
    if comparison.instance.has_queues:
        queues = comparison.queues.rename(index={"": "(root)"}).drop(columns=["weight"])
        yield TitledTable("By queue", for_people(queues, units), SHOWN, hint)
    noun = subject.tenants.noun
    if noun != "queue" and not subject.tenants.are_users:  # queues have the table above
        order = (-comparison.tenant_shares.missing_share).argsort(kind="stable")
        tenants = for_people(comparison.tenants.iloc[order], units)
        yield TitledTable(f"By {noun}, all its tasks together", tenants, SHOWN, hint)
    users = for_people(owed_first(comparison), units)
    yield TitledTable("By user, those first who are owed most", users, SHOWN, hint)

    homeless = subject.homeless
    if len(homeless):
        tasks = int(homeless["tasks"].sum())
        yield f"{tasks} more tasks wait of {len(homeless)} users whom no server may take"
    notes = len(subject.not_understood)
    if notes:
        yield f"{notes} lines of the dump are left out, not understood or interpreted"
    yield ""


def owed_first(comparison: ShareComparison) -> pd.DataFrame:
    """Return the table of users, those first who are owed the largest share."""
    order = (-comparison.owed * comparison.share_of_a_task).argsort(kind="stable")
    users: pd.DataFrame = comparison.users.iloc[order]
    return users


def for_people(table: pd.DataFrame, units: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return a table with shares in percent, holders in words, and without empty columns."""
    copy = table.copy()
    if "blocked_by" in copy:
        from ..operations.reports.sections import amounts
        from ..operations.reports.share_comparison import resource_of

        resources = [resource_of(str(text)) for text in copy["blocked_by"]]
        units_of_rows = [(units or {}).get(resource, "") for resource in resources]
        for name in ("held_by", "beyond_fair"):
            entries = zip(copy[name], units_of_rows, strict=True)
            copy[name] = [amounts(holders, unit) for holders, unit in entries]

    for name in copy.columns:
        if name == "waiting":
            copy[name] = ["no limit" if tasks == math.inf else cell(tasks) for tasks in copy[name]]
        elif name in _SHARES:
            copy[name] = copy[name].map(lambda share: cell(100 * share))
        elif copy[name].dtype.kind == "f":
            copy[name] = copy[name].map(cell)
    filled = [
        name
        for name in copy.columns
        if name in _SHARES[:2] or not copy[name].isin(["", "–", 0, "0"]).all()
    ]
    return copy[filled]


def for_csv(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with holders as text, numbers in full."""
    rows = table.copy()
    for name in ("held_by", "beyond_fair"):
        if name in rows:
            rows[name] = [
                ", ".join(f"{holder} ({amount!r})" for holder, amount in holders.items())
                for holders in rows[name]
            ]
    return rows
