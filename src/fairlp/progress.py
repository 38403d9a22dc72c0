"""One progress bar for long runs: on standard error, in a terminal or notebook only unless it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec


@contextmanager
def progress_bar(name: str, total: int, done: int, wanted: bool | None) -> Iterator[Callable[..., None]]:
    """Show a progress bar, and give what counts one more, or as many as it is told."""
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
    if wanted is None:
        wanted = console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)
    if not wanted or done == total:
        yield lambda count=1: None
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
