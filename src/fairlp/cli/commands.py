"""The commands that share a cluster: allocate, compare, frontier, validate."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SkippedMechanismWarning
from .app import ExitCode, app
from .groups import grouped
from .inputs import load_instance
from .output import DrawnReport, Format, Report, check_folder, records, wrote
from .parameters import (
    ExtraOption,
    InstanceArgument,
    MechanismOption,
    SolverOption,
    TimeLimitOption,
    Way,
    given_names,
    mechanism_option,
    solver_options,
)
from .reports import Which, allocation_table, report_allocation, report_comparison
from .tables import report_table

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console


class Value(StrEnum):
    """Tables of a comparison."""

    tasks = "tasks"
    shares = "shares"
    utilization = "utilization"
    summary = "summary"


_TITLES = {
    Value.summary: "Summary",
    Value.tasks: "Tasks by user",
    Value.shares: "Global dominant shares by user (the same yardstick for all)",
    Value.utilization: "Fraction of the cluster in use",
}


@app.command()
@grouped
def allocate(
    *,
    ctx: typer.Context,
    instance: InstanceArgument,
    mechanism: MechanismOption = "drfh",
    way: Way,
    which: Annotated[
        Which | None,
        typer.Option("--table", help="Only this table, whole; --csv writes users without it."),
    ] = None,
    level: Annotated[
        int | None,
        typer.Option("--level", min=0, help="Of --table queues: only those so deep (1: below the root)."),
    ] = None,
    proof: Annotated[
        Path | None,
        typer.Option(
            "--proof",
            metavar="FILE",
            help="Also prove it in rationals, and write the proof as JSON: python -m fairlp_check FILE.",
        ),
    ] = None,
    report: DrawnReport,
) -> None:
    """Share the cluster by a mechanism: who runs how many tasks where.

    Example: fairlp allocate wang-figure-1 -m drfh
    """
    if report.format is Format.JSON and which is not None:
        raise typer.BadParameter("--table is for text and --csv; JSON holds users, tasks and utilization")
    if level is not None and which is not Which.queues:
        raise typer.BadParameter("--level is of --table queues")
    check_folder(proof)
    options = way.options()
    from ..api import allocate as run

    found = run(load_instance(instance), mechanism, **options)

    if proof is not None:
        wrote(found.certify(exact=True).write(proof))

    def text(console: Console) -> None:
        if which is None:
            report_allocation(console, found, ctx.obj if report.output is None else ())
        else:
            report_table(console, allocation_table(found, which, level), which.value.capitalize())

    report.deliver(text=text, data=found.to_dict, frame=lambda: allocation_table(found, which or Which.users, level))
    if report.plot is not None:
        from ..plots import plot_allocation, plot_queues

        by_queue = which is Which.queues
        report.save(plot_queues(found, level=1 if level is None else level) if by_queue else plot_allocation(found))


@app.command()
@grouped
def compare(
    *,
    instance: InstanceArgument,
    mechanism: Annotated[
        list[str] | None,
        mechanism_option(
            "Names with commas between them, or repeated; by default all that are defined for the instance.",
            "NAMES",
        ),
    ] = None,
    value: Annotated[
        Value | None,
        typer.Option("--value", help="Only this table, whole; --csv writes tasks without it."),
    ] = None,
    way: Way,
    report: DrawnReport,
) -> None:
    """Share the same cluster by several mechanisms, side by side.

    Example: fairlp compare khamse-ashari-figure-1 -m c-drfh,tsf
    """
    how = way.options()
    from ..api import comparison_table

    given = load_instance(instance)
    quiet = report.format is Format.TEXT  # the report says what is left out, and a warning need not
    found, left_out = _compared(given, given_names(mechanism), quiet=quiet, **how)

    def made(which: Value) -> pd.DataFrame:
        return comparison_table(given, found, which.value)

    def text(console: Console) -> None:
        if value is None:
            report_comparison(console, {_TITLES[v]: made(v) for v in (Value.summary, Value.tasks)}, left_out)
        else:
            report_table(console, made(value), _TITLES[value])

    def data() -> dict[str, Any]:
        return {"left_out": left_out, **{v.value: records(made(v)) for v in ([value] if value else Value)}}

    report.deliver(text=text, data=data, frame=lambda: made(value or Value.tasks))
    if report.plot is not None:
        from ..plots import plot_comparison

        report.save(plot_comparison(found))


@app.command()
@grouped
def frontier(
    *,
    instance: InstanceArgument,
    alphas: Annotated[
        str | None,
        typer.Option(
            "--alphas",
            metavar="LIST",
            help="α by commas, such as 0.5,1,2; 0 and inf are always there. By default 0, ¼, ½, 1, 2, 4, 8, 16, inf.",
        ),
    ] = None,
    observed: Annotated[
        Path | None,
        typer.Option(
            "--observed",
            metavar="FILE",
            help="CSV of what a scheduler did, to be put beside: user and a column for each server, or user, server, "
            "tasks.",
        ),
    ] = None,
    way: Way,
    report: DrawnReport,
) -> None:
    """Say what fairness costs in efficiency, and efficiency in fairness, by α.

    Example: fairlp frontier khamse-ashari-figure-1 --alphas 0.5,1,2
    """
    how = way.options()
    from ..research.frontier import ALPHAS
    from ..research.frontier import frontier as found_by

    given = load_instance(instance)
    seen = None
    if observed is not None:
        from ..models.files.tables import read_tasks

        seen = read_tasks(observed, given)
    found = found_by(given, ALPHAS if alphas is None else _numbers(alphas), observed=seen, **how)

    def text(console: Console) -> None:
        report_table(console, found.table, "α-fair allocations")
        report_table(console, found.markers, "Beside them")
        for alpha, why in found.failed.items():
            console.print(f"alpha {alpha:g}: {why}")

    def data() -> dict[str, Any]:
        failed = [{"alpha": alpha, "why": why} for alpha, why in found.failed.items()]
        return {"table": records(found.table), "markers": records(found.markers), "failed": failed}

    report.deliver(text=text, data=data, frame=lambda: found.table)
    if report.plot is not None:
        report.save(found.plot())


def _numbers(text: str) -> list[float]:
    """Return the numbers of a list by commas."""
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no list of numbers, such as 0.5,1,2", param_hint="'--alphas'") from None


@app.command()
@grouped
def validate(
    *,
    instance: InstanceArgument,
    mechanism: MechanismOption = "drfh",
    solver: SolverOption = "highs",
    time_limit: TimeLimitOption = None,
    option: ExtraOption = None,
    report: Report,
) -> None:
    """Run every exact method of a mechanism and compare it with the linear program, user by user.

    The exit code is 1 when a method disagrees.
    """
    options = solver_options(option, time_limit)
    from ..mechanisms.validation import validate as run

    found = run(load_instance(instance), mechanism, solver=solver, **options)
    wrong = [str(method) for method in found.index[~found["agrees"].astype(bool)]]

    def text(console: Console) -> None:
        report_table(console, found, f"{mechanism}: methods against the linear program")
        console.print(f"disagree: {', '.join(wrong)}" if wrong else "all methods agree")

    report.deliver(text=text, frame=lambda: found)
    if wrong:
        raise typer.Exit(ExitCode.NO)


def _compared(given: Any, names: list[str] | None, *, quiet: bool, **how: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the allocations, and the reasons of the mechanisms that were left out (asked for or not)."""
    from ..api import allocate_all
    from ..mechanisms.table import TABLE, find

    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", SkippedMechanismWarning)
        found = allocate_all(given, names, **how)
    candidates = TABLE.values() if names is None else [find(name) for name in names]
    reasons = {row.name: row.undefined(given) for row in candidates}
    return found, {name: reason for name, reason in reasons.items() if reason}
