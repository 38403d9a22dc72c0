"""The commands about a cluster as it is: report and what-if."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Option

from fairlp.toolkit import (
    MethodOptions,
    ReportOptions,
    TitledTable,
    command,
    read_pairs,
    require_folder,
    say,
    split_names,
    tell,
)

from .parameters import (
    AboutOptions,
    AllocationOption,
    FairOption,
    PathArgument,
    PathsArgument,
    PeriodOptions,
    Repeated,
    SchedulerOption,
    load_subject,
    require_of_one_dump,
)
from .tables import SHOWN, for_people

#: The keys of a queue, and whether their values are by resource.
_QUEUE_KEYS = {
    "weight": False,
    "tasks": False,
    "like": False,
    "guarantee": True,
    "cap": True,
    "demand": True,
}


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
    require_folder(output)
    arguments = method.arguments()
    from ..page.headline import is_fair, verdict
    from ..page.page import facts, require_html, require_packages, write
    from ..periods.period import period_of

    require_html(output)
    require_packages()
    if dumps := over.dumps(paths):
        require_of_one_dump(compare=compare, since=about.since, allocation=allocation)
        adjustments = {**about.arguments(), "scheduler": scheduler}
        period = period_of(dumps, mechanism, **over.arguments(), **adjustments, **arguments)
        say(f"wrote {period.report(output)}", err=True)
        fair = period.is_fair
        _tell_verdict(fair, period.verdict[0])
    else:
        subject = about.subject(paths[0], scheduler, allocation)
        earlier = about.earlier(scheduler)
        page_facts = facts(subject, mechanism, split_names(compare), earlier, **arguments)
        say(f"wrote {write(page_facts, output)}", err=True)
        comparison = page_facts.share_comparison
        fair = is_fair(comparison)
        if subject.tasks is None:
            tell("note", "what runs now is not known (--allocation); the page says what is fair")
        else:
            _tell_verdict(fair, verdict(comparison))
    if exit_code and not fair:
        raise typer.Exit(1)  # the answer is no


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
        """Return them as ``fairlp_clusters.what_if`` takes them."""
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
    from ..dues.what_if import what_if as run

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
            values.setdefault(key, {})[resource] = read_pairs([entry], "--queue")[name.strip()]
        else:
            values[key] = value if key == "like" else read_pairs([entry], "--queue")[name.strip()]
    return path, values
