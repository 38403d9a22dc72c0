"""Ctrl-C while a solver runs: the solver works in a thread of its own, so that the caller can be interrupted at once.

A solver in C or C++ does not return to Python before it has ended, and signals reach Python's main thread only. So the
main thread waits, and another one runs the solver. An interrupted solver that can be told to stop is told so; the
others end by themselves in the background.
"""

from __future__ import annotations

import contextvars
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer")
#: Seconds between looks at whether somebody interrupts, on systems where a wait for a lock cannot be interrupted.
_LOOK = 0.2


class _Work:
    """One call, and what came of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call, self.context = call, contextvars.copy_context()
        self.ended = threading.Event()
        self.answer: Any = None
        self.error: BaseException | None = None

    def do(self) -> None:
        """Call, and keep the answer or the error."""
        try:
            self.answer = self.context.run(self.call)
        except BaseException as error:
            self.error = error
        self.ended.set()


class _Worker:
    """A thread that does one thing after another, kept for the next: solvers have threads of their own by thread."""

    def __init__(self) -> None:
        self.waiting: queue.SimpleQueue[_Work] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="fairlp solver", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.waiting.get().do()


_kept: list[_Worker] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.clear)  # the threads are not there


def interruptible(call: Callable[[], Answer], stop: Callable[[], object] = lambda: None) -> Answer:
    """Return what a call returns, in a way that Ctrl-C ends at once.

    Parameters
    ----------
    call : callable
        Runs a solver.
    stop : callable
        Tells the solver to stop; it is called from another thread than the solver's, after an interruption.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the solver may still work for a while in the background.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()  # signals do not come here
    try:
        worker = _kept.pop()
    except IndexError:
        worker = _Worker()
    work, streams = _Work(call), (sys.stdout, sys.stderr)
    worker.waiting.put(work)
    try:
        while not work.ended.wait(_LOOK):
            pass
    except BaseException:  # interrupted: the worker is not kept, its solver may go on for long
        sys.stdout, sys.stderr = streams  # a tool may have redirected them for the time of its run
        stop()
        raise
    _kept.append(worker)
    if work.error is not None:
        raise work.error
    return work.answer  # type: ignore[no-any-return]
