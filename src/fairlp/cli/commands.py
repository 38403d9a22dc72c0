"""The commands that share a cluster: allocate, compare, validate."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import SkippedMechanismWarning
from .app import ExitCode, app
from .inputs import load_instance
from .output import Format, check_folder, chosen_format, deliver, records, wrote
from .parameters import (
    CsvFlag,
    ExtraOption,
    InstanceArgument,
    JsonFlag,
    MechanismOption,
    OutputOption,
    Oversized,
    OversizedOption,
    PlotOption,
    SolverOption,
    TimeLimitOption,
    complete_mechanism,
    mechanism_names,
    solver_options,
)
from .reports import Which, allocation_table, report_allocation, report_comparison, report_table


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
def allocate(
    ctx: typer.Context,
    instance: InstanceArgument,
    mechanism: MechanismOption = "drfh",
    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME", help="auto (the fastest that is exact), lp, or another of its own."),
    ] = "auto",
    solver: SolverOption = "highs",
    merge: Annotated[
        bool,
        typer.Option("--merge/--no-merge", help="Merge identical servers and proportional users (exact) before an LP."),
    ] = True,
    oversized: OversizedOption = Oversized.divide,
    time_limit: TimeLimitOption = None,
    option: ExtraOption = None,
    which: Annotated[
        Which | None,
        typer.Option("--table", show_default=False, help="Only this table, whole; --csv writes users without it."),
    ] = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
    output: OutputOption = None,
    plot: PlotOption = None,
) -> None:
    """Share the cluster by a mechanism: who runs how many tasks where.

    Example: fairlp allocate wang-figure-1 -m drfh
    """
    kind = chosen_format(as_json, as_csv, output)
    if kind is Format.JSON and which is not None:
        raise typer.BadParameter("--table is for text and --csv; JSON holds users, tasks and utilization")
    options = solver_options(option, time_limit)
    _check_plot(plot)
    from ..api import allocate as run

    found = run(
        load_instance(instance),
        mechanism,
        method=method,
        solver=solver,
        merge=merge,
        oversized=oversized.value,
        **options,
    )
    said = ctx.obj if output is None else ()
    deliver(
        kind,
        output,
        text=lambda console: (
            report_allocation(console, found, said)
            if which is None
            else report_table(console, allocation_table(found, which), which.value.capitalize())
        ),
        data=found.to_dict,
        frame=lambda: allocation_table(found, which or Which.users),
    )
    if plot is not None:
        from .. import plots

        _save(plots.plot_allocation(found), plot)


@app.command()
def compare(
    instance: InstanceArgument,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            "--mechanism",
            "-m",
            metavar="NAMES",
            show_default=False,
            autocompletion=complete_mechanism,
            help="Names with commas between them, or repeated; by default all that are defined for the instance.",
        ),
    ] = None,
    value: Annotated[
        Value | None,
        typer.Option("--value", show_default=False, help="Only this table, whole; --csv writes tasks without it."),
    ] = None,
    solver: SolverOption = "highs",
    oversized: OversizedOption = Oversized.divide,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
    output: OutputOption = None,
    plot: PlotOption = None,
) -> None:
    """Share the same cluster by several mechanisms, side by side.

    Example: fairlp compare khamse-ashari-figure-1 -m c-drfh,tsf
    """
    kind = chosen_format(as_json, as_csv, output)
    _check_plot(plot)
    from ..api import comparison_table

    given = load_instance(instance)
    found, left_out = _compared(given, mechanism_names(mechanism), kind, solver=solver, oversized=oversized.value)

    def made(which: Value) -> Any:
        return comparison_table(given, found, which.value)

    some = [value] if value else [Value.summary, Value.tasks]
    every = [value] if value else list(Value)
    deliver(
        kind,
        output,
        text=lambda console: (
            report_comparison(console, {_TITLES[v]: made(v) for v in some}, left_out)
            if value is None
            else report_table(console, made(value), _TITLES[value])
        ),
        data=lambda: {"left_out": left_out, **{v.value: records(made(v)) for v in every}},
        frame=lambda: made(value or Value.tasks),
    )
    if plot is not None:
        from .. import plots

        _save(plots.plot_comparison(found), plot)


@app.command()
def validate(
    instance: InstanceArgument,
    mechanism: MechanismOption = "drfh",
    solver: SolverOption = "highs",
    time_limit: TimeLimitOption = None,
    option: ExtraOption = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
    output: OutputOption = None,
) -> None:
    """Run every exact method of a mechanism and compare it with the linear program, user by user.

    The exit code is 1 when a method disagrees.
    """
    kind = chosen_format(as_json, as_csv, output)
    options = solver_options(option, time_limit)
    from ..mechanisms.validation import validate as run

    found = run(load_instance(instance), mechanism, solver=solver, **options)
    wrong = [str(method) for method in found.index[~found["agrees"].astype(bool)]]

    def text(console: Any) -> None:
        report_table(console, found, f"{mechanism}: methods against the linear program")
        console.print(f"disagree: {', '.join(wrong)}" if wrong else "all methods agree")

    deliver(kind, output, text=text, data=lambda: records(found), frame=lambda: found)
    if wrong:
        raise typer.Exit(ExitCode.NO)


def _compared(given: Any, names: list[str] | None, kind: Format, **how: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the allocations, and the reasons of the mechanisms that were left out (asked for or not)."""
    from ..api import compare_allocations
    from ..mechanisms.table import TABLE, find

    with warnings.catch_warnings():
        if kind is Format.TEXT:  # the report says it
            warnings.simplefilter("ignore", SkippedMechanismWarning)
        found = compare_allocations(given, names, **how)
    candidates = TABLE.values() if names is None else [find(name) for name in names]
    reasons = {row.name: row.undefined(given) for row in candidates}
    return found, {name: reason for name, reason in reasons.items() if reason}


def _check_plot(plot: Path | None) -> None:
    """Raise before the work when a figure cannot be drawn or written."""
    if plot is not None:
        from ..plots.style import require_format

        check_folder(plot)
        require_format(plot)


def _save(figure: Any, plot: Path) -> None:
    figure.savefig(plot, dpi=200)
    wrote(plot)
