"""The command that shows efficiency against fairness: frontier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from fairlp.toolkit import (
    DrawnReportOptions,
    MethodOptions,
    TitledTable,
    command,
    instance_argument,
    load_instance,
)


@command()
def frontier(
    *,
    instance: Annotated[str, instance_argument()],
    alphas: Annotated[
        str | None,
        Option(
            metavar="LIST",
            help="α by commas, such as 0.5,1,2, to which 0 and inf are added. By default 0, ¼, ½, 1, 2, 4, 8, 16, inf.",
        ),
    ] = None,
    observed: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="CSV of what a scheduler did, for comparison: user and a column for each server, or user, server, "
            "tasks.",
        ),
    ] = None,
    method: MethodOptions,
    report: DrawnReportOptions,
) -> None:
    """Show the price of fairness in efficiency, and of efficiency in fairness, by α.

    Example: fairlp frontier khamse-ashari-figure-1 --alphas 0.5,1,2
    """
    arguments = method.arguments()
    from ..efficiency import ALPHAS, frontier as run

    result = run(
        load_instance(instance),
        ALPHAS if alphas is None else _numbers(alphas),
        observed=observed,
        **arguments,
    )
    failed = [{"alpha": alpha, "why": reason} for alpha, reason in result.failed.items()]

    reasons = [f"alpha {alpha:g}: {reason}" for alpha, reason in result.failed.items()]

    def data() -> dict[str, Any]:
        return {
            "table": result.table.reset_index().to_dict("records"),
            "markers": result.markers.reset_index().to_dict("records"),
            "failed": failed,
        }

    tables = [
        TitledTable("α-fair allocations", result.table),
        TitledTable("Beside them", result.markers),
    ]
    report.deliver([*tables, *reasons], result.table, data)
    report.save(result.plot)


def _numbers(text: str) -> list[float]:
    """Return the numbers of a list by commas."""
    try:
        if "_" in text or not text.isascii():
            raise ValueError
        return [float(number) for number in text.split(",") if number.strip()]
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no list of numbers, such as 0.5,1,2", param_hint="'--alphas'"
        ) from None
