"""A progress bar for long runs, on standard error; by default in terminals and notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic

#: In a notebook without widgets: seconds until there is text, which the notebook would store, and
#: between two lines.
_PATIENCE = 10.0
_SECONDS = 0.5


@contextmanager
def progress_bar(
    name: str, total: int, done: int, shows: bool | None
) -> Iterator[Callable[..., None]]:
    """Show a progress bar; the block gets a function that counts one step or several."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if shows is None:
        shows = console.is_terminal or console.is_jupyter
    if not shows or done == total:
        yield lambda count=1: None
        return
    if console.is_jupyter and find_spec("ipywidgets") is None:
        yield _text(name, total, done)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(name, total=total, completed=done)
        yield lambda count=1: bar.advance(task, count)


def _text(name: str, total: int, finished: int) -> Callable[..., None]:
    """Return a function that counts steps, and writes the count over the last one at times."""
    next_line = monotonic() + _PATIENCE  # no line before

    def count(steps: int = 1) -> None:
        nonlocal finished, next_line
        finished += steps
        time = monotonic()
        if time >= next_line:
            next_line = time + _SECONDS if finished < total else float("inf")
            end = "" if finished < total else "\n"
            print(
                f"\r{name}: {finished} of {total} ({finished / total:.0%})",
                end=end,
                file=sys.stderr,
                flush=True,
            )

    return count
