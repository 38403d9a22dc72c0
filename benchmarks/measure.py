"""Medians, peaks of memory, and tables of ratios: what the benchmarks share."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

console = Console(width=110)


def median_seconds(
    function: Callable[[], Any],
    runs: int = 5,
    warmup: int = 1,
    clock: Callable[[], float] = perf_counter,
) -> float:
    """Return the median of several runs, after runs that are not counted.

    With ``clock=process_time`` these are CPU seconds of all threads.
    """
    for _ in range(warmup):
        function()
    seconds = []
    for _ in range(runs):
        begin = clock()
        function()
        seconds.append(clock() - begin)
    return statistics.median(seconds)


def machine(*packages: str) -> str:
    """Return one line about the machine and the versions measured."""
    named = ", ".join(f"{name} {version_of(name)}" for name in packages)
    return f"Python {platform.python_version()}, {platform.machine()}; {named}"


def version_of(package: str) -> str:
    """Return the version of a package, or that it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table."""
    table = Table(title=title)
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
