"""Arguments and options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from fairlp.toolkit import (
    instance_argument,
    load_instance,
    named_option,
    read_pairs,
    standard_input,
)

if TYPE_CHECKING:
    from ..dues.facts import Facts
    from ..periods.period import Period
    from ..readers.dumps import Dump

#: The values of an option that may be repeated.
Repeated = list[str] | None


def load_facts(text: str, scheduler: str | None = None, allocation: Path | None = None) -> Facts:
    """Return the facts of a report: a scheduler's dump, or an instance as ``fairlp allocate`` takes it.

    ``allocation`` is a CSV of the tasks that run now, of an instance.
    """
    from ..dues.facts import facts_of
    from ..readers.sources import is_dump

    if scheduler is not None or (text and is_dump(text)):
        if allocation is not None:
            raise typer.BadParameter(
                "a dump has its own running tasks; --allocation is for instances"
            )
        return facts_of(text, scheduler=scheduler)
    return facts_of(load_instance(text), allocation)


def _standard_inputs(paths: list[str]) -> list[str]:
    """Return the paths, with files in the place of the standard input."""
    return [standard_input(path) for path in paths]


PATH_HELP = (
    "What a scheduler's tools print (a file, a folder of files, or - for the standard input), or an instance as for "
    "allocate."
)
PathsArgument = Annotated[
    list[str],
    instance_argument(
        "PATH",
        f"{PATH_HELP} Several dumps, or a folder of dumps, are a period.",
        _standard_inputs,
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
    named_option(
        "mechanism",
        "--mechanism",
        "-m",
        help_text="The rule of fair shares: by default h-drf-counted where users stand in queues, else drfh.",
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
        """Return them as ``fairlp_clusters.report`` takes them."""
        return {
            "weights": read_pairs(self.weight, "--weight"),
            "exclude": self.exclude or (),
        }

    def facts(self, path: str, scheduler: str | None, allocation: Path | None) -> Facts:
        """Return the facts of a report."""
        from ..page.page import adjusted

        return adjusted(load_facts(path, scheduler, allocation), **self.arguments())


@dataclass(frozen=True)
class AboutOptions(AdjustOptions):
    """The options of what a report is about."""

    since: Annotated[
        str | None,
        Option(
            metavar="PATH",
            help="An earlier dump: the page also lists users who moved since, and who still wait. Of several dumps the "
            "folder of an earlier period: tenants week against week.",
        ),
    ] = None

    def earlier(self, scheduler: str | None) -> Facts | None:
        """Return the same cluster before, where an earlier dump is named."""
        if self.since is None:
            return None
        earlier = load_facts(self.since, scheduler)
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
        from ..readers.dumps import dumps_in, dumps_of

        if len(paths) > 1:
            return dumps_of(paths)
        dumps = dumps_in(paths[0]) if paths[0] else []
        for name, value in (("--every", self.every), ("--half-life", self.half_life)):
            if not dumps and value is not None:
                raise typer.BadParameter(f"{name} is of several dumps; {paths[0]} is one")
        return dumps

    def period(
        self,
        dumps: list[Dump],
        mechanism: str | None,
        scheduler: str | None,
        adjust: AdjustOptions,
        options: dict[str, Any],
    ) -> Period:
        """Return the period of dumps."""
        from ..periods.period import period

        return period(
            dumps,
            mechanism,
            every=self.every,
            half_life=self.half_life,
            scheduler=scheduler,
            **adjust.arguments(),
            **options,
        )

    def period_before(
        self,
        about: AboutOptions,
        mechanism: str | None,
        scheduler: str | None,
        options: dict[str, Any],
    ) -> Period | None:
        """Return the earlier period that ``--since`` names, or None."""
        from ..readers.dumps import dumps_in

        if about.since is None:
            return None
        dumps = dumps_in(about.since)
        if not dumps:
            raise typer.BadParameter(
                f"{about.since} is one dump; of a period, give the folder of an earlier period",
                param_hint="'--since'",
            )
        return self.period(dumps, mechanism, scheduler, about, options)


def require_of_one_dump(**options: Any) -> None:
    """Raise where an option of one dump is given with several."""
    for name, value in options.items():
        if value is not None:
            raise typer.BadParameter(
                f"--{name} is of one dump; several are a period", param_hint=f"'--{name}'"
            )
