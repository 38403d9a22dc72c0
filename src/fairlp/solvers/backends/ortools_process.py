"""The process that OR-tools runs in: started when first needed, kept for the next program, ended with ours."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from typing import IO

_WORKER = Path(__file__).with_name("ortools_worker.py")


class Process:
    """One worker; it is asked one thing at a time."""

    def __init__(self, verbose: bool) -> None:
        self.owner = os.getpid()
        self.child = subprocess.Popen(
            [sys.executable, str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if verbose else subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    @property
    def usable(self) -> bool:
        """Whether it runs, and is this process's own (not that of the one that we were forked from)."""
        return self.owner == os.getpid() and self.child.poll() is None

    def ask(self, source: Path, target: Path, limit: float | None) -> str | None:
        """Return what went wrong in solving ``source`` into ``target``, or None; TimeoutError after so many seconds."""
        asked, answers = self._pipes()
        timer = Timer(limit, self.child.kill) if limit is not None else None
        if timer:
            timer.start()
        try:
            asked.write(json.dumps([str(source), str(target)]) + "\n")
            asked.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        except BaseException:  # interrupted: its answer must not be taken for that of the next program
            self.end()
            raise
        finally:
            late = timer is not None and timer.finished.is_set()
            if timer:
                timer.cancel()
        if line:
            wrong: str | None = json.loads(line)
            return wrong
        self.end()
        if late:
            raise TimeoutError
        return f"exit {self.child.returncode}"

    def end(self) -> None:
        """Stop it, if it is ours, and close the pipes."""
        if self.owner == os.getpid():
            self.child.kill()
            self.child.wait()
        for pipe in self._pipes():
            with suppress(BrokenPipeError):  # what it was asked and never read
                pipe.close()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        """Return where it is asked and where it answers."""
        assert self.child.stdin is not None and self.child.stdout is not None
        return self.child.stdin, self.child.stdout


_kept: dict[bool, Process] = {}
_lock = Lock()


def ask(source: Path, target: Path, verbose: bool, limit: float | None) -> str | None:
    """Ask the process that is kept, or a new one; as :meth:`Process.ask`."""
    with _lock:
        process = _kept.pop(verbose, None)
    if process is not None and not process.usable:
        process.end()
        process = None
    process = process or Process(verbose)
    wrong = process.ask(source, target, limit)
    with _lock:  # not while it works: two threads have two processes
        surplus = _kept.setdefault(verbose, process)
    if surplus is not process:
        process.end()
    return wrong


@atexit.register
def _end() -> None:
    for process in _kept.values():
        process.end()
