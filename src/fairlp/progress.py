"""Progress of long runs on standard error: a bar in a terminal or notebook, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic

from .errors import needed_by

#: Seconds until there is text: a short run leaves nothing in a notebook or a log.
PATIENCE = 10.0
#: Seconds between two texts, in a notebook without widgets and in a log.
SECONDS_BETWEEN_TEXTS = 0.5
SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def progress_bar(
    name: str, total: int, finished: int, shows: bool | None
) -> Iterator[Callable[..., None]]:
    """Show the progress of a block, which gets a function that counts one step or several.

    In a terminal or a notebook with widgets there is a bar, in a notebook without them a text that
    is written over, and elsewhere, as in a pipe, a line every ten seconds, the first one at once
    with ``shows=True``. ``shows=False`` shows nothing, nor does a run with nothing left to do.
    """
    with needed_by("progress of long runs"):
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
    if shows is False or finished == total:
        yield lambda count=1: None
        return
    if console.is_jupyter and find_spec("ipywidgets") is None:
        yield _text(name, total, finished, PATIENCE, SECONDS_BETWEEN_TEXTS, writes_over=True)
        return
    if not (console.is_terminal or console.is_jupyter):
        patience = 0.0 if shows else PATIENCE
        yield _text(name, total, finished, patience, SECONDS_BETWEEN_LINES, writes_over=False)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(name, total=total, completed=finished)
        yield lambda count=1: bar.advance(task, count)


def _text(
    name: str, total: int, finished: int, patience: float, seconds: float, *, writes_over: bool
) -> Callable[..., None]:
    """Return a function that counts steps, and writes the count at times and at the end."""
    next_text = monotonic() + patience
    has_written = False

    def count(steps: int = 1) -> None:
        nonlocal finished, next_text, has_written
        finished += steps
        time = monotonic()
        is_last = has_written and finished == total
        if time < next_text and not is_last:
            return
        has_written = True
        next_text = time + seconds
        start = "\r" if writes_over else ""
        end = "" if writes_over and finished < total else "\n"
        text = f"{name}: {finished} of {total} ({finished / total:.0%})"
        print(start + text, end=end, file=sys.stderr, flush=True)

    return count
