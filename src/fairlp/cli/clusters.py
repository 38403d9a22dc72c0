"""The commands around a cluster as it is: report and what-if; what audit asks of a dump is in audits.py."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import app
from .groups import grouped
from .inputs import load_subject
from .output import Report, check_folder, wrote
from .parameters import Way, complete_instance, given_names, mechanism_option
from .standings import for_people
from .tables import report_table

if TYPE_CHECKING:
    from rich.console import Console

#: Rows that what-if shows.
_SHOWN = 30
#: What may be said of a queue, and whether it is by resource.
_OF_A_QUEUE = {"weight": False, "tasks": False, "like": False, "guarantee": True, "cap": True, "demand": True}

PathArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        autocompletion=complete_instance,
        help="What a scheduler's tools print (a file, or a folder of files), or an instance as for allocate.",
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="NAME", help="Who wrote the dump, where its files do not tell."),
]
FairOption = Annotated[
    str | None,
    mechanism_option("What is fair: by default h-drf where users stand in queues, else DRF."),
]


class By(StrEnum):
    """What rows are of."""

    user = "user"
    queue = "queue"


@app.command()
@grouped
def report(
    *,
    path: PathArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes; it replaces what is there.")
    ] = Path("report.html"),
    mechanism: FairOption = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            metavar="NAMES",
            help="Mechanisms to compare, with commas between them or repeated; by default all that are defined.",
        ),
    ] = None,
    scheduler: SchedulerOption = None,
    way: Way,
) -> None:
    """Write one page of HTML that needs no network: shares, queues, utilisation, prices, audit, model.

    Example: fairlp report dump.json -o report.html
    """
    check_folder(output)
    options = way.options()
    from ..operations.reports.page import report as run

    run(load_subject(path, scheduler), output, mechanism, compare=given_names(compare), **options)
    wrote(output)


@dataclass(frozen=True)
class Edits:
    """The options that say what is otherwise."""

    add_servers: Annotated[
        list[str] | None,
        typer.Option(
            "--add-servers",
            metavar="CLASS=NUMBER",
            help="So many servers more of a class (what fairlp report calls it), or as the server of that name. May be "
            "repeated, as all edits.",
        ),
    ] = None
    weight: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            metavar="NAME=NUMBER",
            help="Another weight of a queue or user (queue:NAME, user:NAME where both have the name).",
        ),
    ] = None
    queue: Annotated[
        list[str] | None,
        typer.Option(
            "--queue",
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
            "add_servers": {name: _whole(number, name) for name, number in _pairs(self.add_servers, "--add-servers")},
            "weights": {name: _number(number, "--weight") for name, number in _pairs(self.weight, "--weight")},
            "queues": dict(_queue(text) for text in self.queue or ()),
        }


@app.command("what-if")
@grouped
def what_if(
    *,
    path: PathArgument,
    edits: Edits,
    mechanism: FairOption = None,
    by: Annotated[By | None, typer.Option("--by", help="By default queues, where there are any.")] = None,
    scheduler: SchedulerOption = None,
    way: Way,
    report: Report,
) -> None:
    """Show fair shares before and after an edit: servers more, another weight, a queue more.

    Example: fairlp what-if dump.json --add-servers a100=3 --weight research=2
    """
    wanted, options = edits.arguments(), way.options()
    from ..operations.reports.what_if import what_if as run

    found = run(
        load_subject(path, scheduler), mechanism=mechanism, by=None if by is None else by.value, **wanted, **options
    )

    def text(console: Console) -> None:
        order = sorted(range(len(found)), key=lambda k: (-abs(found["change"].iloc[k]), k))
        console.print("shares are dominant shares of the cluster as it is, in percent; the largest changes first")
        shown = for_people(found.iloc[order].rename(index={"": "(root)"}))
        report_table(console, shown, "Fair shares before and after", shown=_SHOWN, hint="--csv and --json write all")

    report.deliver(text=text, frame=lambda: found)


def _pairs(given: list[str] | None, name: str) -> list[tuple[str, str]]:
    """Return the two sides of each NAME=NUMBER."""
    found = [(left, right) for left, equals, right in (text.rpartition("=") for text in given or ()) if equals and left]
    if len(found) < len(given or ()):
        raise typer.BadParameter("expected NAME=NUMBER", param_hint=f"'{name}'")
    return found


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no number", param_hint=f"'{name}'") from None


def _whole(text: str, name: str) -> int:
    if not text.strip().isdecimal():
        raise typer.BadParameter(f"{name}={text}: expected a whole number of servers", param_hint="'--add-servers'")
    return int(text)


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
            known = ", ".join(f"{name}{'.RESOURCE' if by else ''}" for name, by in _OF_A_QUEUE.items())
            raise typer.BadParameter(f"{part!r}; expected KEY=VALUE with one of {known}", param_hint="'--queue'")
        if dot:
            said.setdefault(key, {})[resource] = _number(value, "--queue")
        else:
            said[key] = value if key == "like" else _number(value, "--queue")
    return path, said
