"""A solver in a process of its own: ended when it takes too long, begun anew when it died."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from threading import Event, Timer
from typing import Any

from ...errors import UnsupportedError

#: Seconds that making a program, and starting a process, may take beyond any limit of time.
PREPARING = 300.0
#: What a process of ours begins with.
_CODE = f"from {__package__.rpartition('.')[0]}.library.worker import main; main()"


class SolverProcess:
    """A process that solves entries by one solver.

    Parameters
    ----------
    solver : str
        A name; one that carries a back end takes it along.
    memory : float or None
        GiB that it may have.

    Raises
    ------
    UnsupportedError
        For an object that cannot be pickled.
    """

    def __init__(self, solver: Any, memory: float | None) -> None:
        try:
            self._first = _packed({"solver": solver, "memory": memory, "parent": os.getpid()})
        except Exception as error:  # somebody else's object
            raise UnsupportedError(
                f"solver {str(solver)!r} cannot go to a process of its own: {error}"
            ) from error
        self._child: subprocess.Popen[bytes] | None = None

    def ask(self, asked: dict[str, Any], limit: float) -> dict[str, Any]:
        """Return what came of solving an entry, with at most so many seconds for each run of it."""
        try:
            if self._child is None and not self._start():
                return {
                    "status": "failed",
                    "message": "it could not be started in a process of its own",
                }
            self._tell(pickle.dumps(asked))
            if self._hear(PREPARING) != "made":
                return self._ended("while the program was made")
            answer = self._hear(limit * asked["repeat"])
        except (
            BaseException
        ):  # interrupted, or gone: its answer must not be taken for that to the next
            self.end()
            raise
        if answer == "late":
            self.end()
            return {"status": "time limit", "message": f"ended after {limit:g} s"}
        return answer if isinstance(answer, dict) else self._ended("while it solved")

    def end(self) -> int | None:
        """End the process, and what it started; return its exit code."""
        child, self._child = self._child, None
        if child is None:
            return None
        with suppress(OSError):
            _kill(child)
        for stream in filter(None, (child.stdin, child.stdout)):
            with suppress(OSError):
                stream.close()
        return child.wait()

    def _start(self) -> bool:
        """Start the process, and return whether it is ready."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._child = subprocess.Popen(
            [sys.executable, "-c", _CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        self._tell(self._first)
        if self._hear(PREPARING) == "ready":
            return True
        self.end()
        return False

    def _tell(self, packed: bytes) -> None:
        assert self._child is not None and self._child.stdin is not None
        with suppress(BrokenPipeError):  # it died; hearing nothing will say so
            self._child.stdin.write(packed)
            self._child.stdin.flush()

    def _hear(self, limit: float) -> Any:
        """Return what it says next; "late" after so many seconds, None where it died."""
        child = self._child
        assert child is not None and child.stdout is not None
        late = Event()

        def stop() -> None:
            late.set()
            with suppress(OSError):
                _kill(child)

        timer = Timer(limit, stop)
        timer.daemon = True
        timer.start()
        try:
            return pickle.load(child.stdout)
        except (EOFError, pickle.UnpicklingError):
            return "late" if late.is_set() else None
        finally:
            timer.cancel()

    def _ended(self, when: str) -> dict[str, Any]:
        return {"status": "died", "message": f"its process ended {when} (exit code {self.end()})"}


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a process and what it started."""
    if hasattr(os, "killpg"):
        os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()


def _packed(value: Any) -> bytes:
    """Pickle what a solver needs; classes of scripts as they are, where cloudpickle is here."""
    # the best module that pickles: joblib, which studies need, requires cloudpickle or brings a
    # copy of it
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        with suppress(ImportError):
            return bytes(import_module(name).dumps(value))
    return pickle.dumps(value)
