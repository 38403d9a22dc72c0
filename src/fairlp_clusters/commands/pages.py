"""The command ``report``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from fairlp.toolkit import (
    ExitCode,
    MethodOptions,
    ReportOptions,
    command,
    require_folder,
    say,
    tell,
    write_text,
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

if TYPE_CHECKING:
    from ..dues.verdict import Verdict

_PAGE = Path("report.html")


@dataclass(frozen=True)
class FormOptions:
    """What is written in place of the page."""

    as_json: Annotated[
        bool, Option("--json", help="Print the verdict, tenants, jobs and notes as JSON instead.")
    ] = False
    metrics: Annotated[
        bool,
        Option(
            "--metrics", help="Print the figures of tenants for Prometheus instead; of one dump."
        ),
    ] = False
    owner: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help='Print why the jobs of one tenant or owner wait instead ("why is my job pending?"); of one dump.',
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.as_json + self.metrics + (self.owner is not None) > 1:
            raise typer.BadParameter("--json, --metrics and --owner exclude one another")

    @property
    def is_page(self) -> bool:
        """Whether the page is written."""
        return not (self.as_json or self.metrics or self.owner is not None)

    def deliver(self, judged: Verdict, output: Path | None) -> None:
        """Write a verdict as JSON, metrics, or one owner's answer."""
        if self.as_json:
            deliver_json(judged.to_dict(), output)
            return
        if self.metrics:
            from ..metrics import metrics

            text = metrics(judged)
        else:
            from ..dues.owner import answer

            text = "\n".join([*answer(judged, str(self.owner)), ""])
        if output is None:
            say(text.removesuffix("\n"))
        else:
            write_text(output, text)
            say(f"wrote {output}", err=True)


def deliver_json(data: Any, output: Path | None) -> None:
    """Print data as JSON, or write it to a file."""
    import pandas as pd

    ReportOptions(as_json=True, output=output).deliver((), pd.DataFrame(), lambda: data)


@command()
def report(
    *,
    paths: PathsArgument,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help=f"The file; one of that name is replaced. By default {_PAGE}; for --json, --metrics and --owner the "
            "standard output.",
        ),
    ] = None,
    mechanism: FairOption = None,
    about: AboutOptions,
    over: PeriodOptions,
    form: FormOptions,
    exit_code: Annotated[
        bool,
        Option(
            "--exit-code",
            help="Exit with 1 where a tenant (a Slurm or YARN user, a queue, a namespace) is short of a whole task of "
            "its fair share; of several dumps, short over the period. With 5 where the dump has no verdict: who "
            "schedules is not read, or its queues are not in the dump.",
        ),
    ] = False,
    allocation: AllocationOption = None,
    scheduler: SchedulerOption = None,
    method: MethodOptions,
) -> None:
    """Write one page of HTML that needs no network: the verdict, the tenants who are short or wait, and why.

    The verdict is printed, too. Of several dumps, or a folder of dumps as cron writes them, the page is about the
    period: each tenant's share against its due over time; --since is an earlier period.

    Example: fairlp report now.json --since before.json --exclude kube-system -o report.html
    """
    arguments = method.arguments()
    from ..page.page import earlier_dues, need, require_html, write

    page = output or _PAGE
    if form.is_page:
        require_html(page)
        need("jinja2")
        require_folder(page)
    if dumps := over.dumps(paths):
        require_of_one_dump(allocation=allocation, metrics=form.metrics or None, owner=form.owner)
        is_fair: bool | None
        period = over.period(dumps, mechanism, scheduler, about, arguments)
        earlier = over.period_before(about, mechanism, scheduler, arguments)
        if form.as_json:
            deliver_json(period.to_dict(), output)
        else:
            say(f"wrote {period.report(page, since=earlier)}", err=True)
        is_fair, sentence = period.is_fair, period.verdict[0]
    else:
        from ..dues.dues import Dues
        from ..dues.verdict import Verdict

        facts = about.facts(paths[0], scheduler, allocation)
        before = about.earlier(scheduler)
        judged = Verdict.of(Dues.of(facts, mechanism, **arguments))
        if form.is_page:
            dues = None if before is None else earlier_dues(judged, before, mechanism, **arguments)
            say(f"wrote {write(judged, page, dues)}", err=True)
        else:
            form.deliver(judged, output)
        is_fair, sentence = judged.is_fair, judged.sentence
        if facts.tasks is None:
            tell("note", "what runs now is not known (--allocation); the page says what is fair")
            return
    kinds = {True: "fair", False: "unfair", None: "no verdict"}
    tell(kinds[is_fair], sentence.removeprefix("Fair: ").removeprefix("No verdict: "))
    if exit_code and not is_fair:
        raise typer.Exit(ExitCode.NO_VERDICT if is_fair is None else ExitCode.NO)
