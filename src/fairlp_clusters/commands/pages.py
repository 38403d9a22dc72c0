"""The command ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from fairlp.toolkit import (
    MethodOptions,
    command,
    require_folder,
    say,
    tell,
)

from .parameters import (
    AboutOptions,
    AllocationOption,
    FairOption,
    PathsArgument,
    PeriodOptions,
    SchedulerOption,
    require_of_one_dump,
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
        require_of_one_dump(since=about.since, allocation=allocation)
        adjustments = {**about.arguments(), "scheduler": scheduler}
        period = period_of(dumps, mechanism, **over.arguments(), **adjustments, **arguments)
        say(f"wrote {period.report(output)}", err=True)
        fair = period.is_fair
        _tell_verdict(fair, period.verdict[0])
    else:
        subject = about.subject(paths[0], scheduler, allocation)
        earlier = about.earlier(scheduler)
        page_facts = facts(subject, mechanism, earlier, **arguments)
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
