"""OR-tools' GLOP (simplex) and PDLP (first-order), in a process of their own."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import TIMEOUT_MAX, Lock, Timer
from time import perf_counter
from typing import IO

import numpy as np

from ...errors import SolverError
from ...models.programs.options import Options
from ...models.programs.program import Program
from ...models.programs.protocols import Capability
from ...models.programs.status import Termination
from ...tolerances import ACCEPTED, CONFORMANCE, SOLVER_TIGHTEST
from .base import BaseBackend, Raw

#: The script of the process that OR-tools runs in: started when first needed, kept for the next
#: program, ended with ours.
WORKER = Path(__file__).with_name("ortools_worker.py")


class Process:
    """One worker; it is asked one thing at a time."""

    def __init__(self, verbose: bool) -> None:
        self.owner = os.getpid()
        self.child = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if verbose else subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    @property
    def usable(self) -> bool:
        """Return whether the child runs and belongs to this process, not to a forked parent."""
        return self.owner == os.getpid() and self.child.poll() is None

    def ask(self, source: Path, target: Path, limit: float | None) -> str | None:
        """Solve ``source`` into ``target``; return the error text, or None.

        It raises TimeoutError after ``limit`` seconds.
        """
        requests, answers = self._pipes()
        longest = TIMEOUT_MAX / 2  # from now on, within the clock
        timer = Timer(min(limit, longest), self.child.kill) if limit is not None else None
        if timer:
            timer.start()
        try:
            requests.write(json.dumps([str(source), str(target)]) + "\n")
            requests.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        except (
            BaseException
        ):  # interrupted: its answer must not be taken for that of the next program
            self.end()
            raise
        finally:
            timed_out = timer is not None and timer.finished.is_set()
            if timer:
                timer.cancel()
        if line:
            failure: str | None = json.loads(line)
            return failure
        self.end()
        if timed_out:
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


idle_processes: dict[bool, Process] = {}
_lock = Lock()


def ask(source: Path, target: Path, verbose: bool, limit: float | None) -> str | None:
    """Ask the process that is kept, or a new one; as :meth:`Process.ask`."""
    with _lock:
        process = idle_processes.pop(verbose, None)
    if process is not None and not process.usable:
        process.end()
        process = None
    process = process or Process(verbose)
    failure = process.ask(source, target, limit)
    with _lock:  # not while it works: two threads have two processes
        surplus = idle_processes.setdefault(verbose, process)
    if surplus is not process:
        process.end()
    return failure


@atexit.register
def _end() -> None:
    for process in idle_processes.values():
        process.end()


_TERMINATION = {
    "OPTIMAL": Termination.OPTIMAL,
    "INFEASIBLE": Termination.INFEASIBLE_OR_UNBOUNDED,  # said of unbounded programs too
    "UNBOUNDED": Termination.UNBOUNDED,
    "CANCELLED_BY_USER": Termination.INTERRUPTED,
}


class OrTools(BaseBackend):
    """OR-tools through its own process; ``algorithm`` is GLOP or PDLP."""

    capabilities = frozenset({Capability.LP, Capability.DUALS})
    package = "ortools"
    waits = True
    install = 'pip install "fairlp[ortools]" (used in a process of its own: it cannot share one with highspy)'
    honours = frozenset({"time_limit", "primal_tolerance", "dual_tolerance", "verbose", "extra"})

    def __init__(self, name: str = "ortools:GLOP", algorithm: str = "GLOP") -> None:
        self.name = name
        self.algorithm = algorithm
        if algorithm == "PDLP":
            self.accuracy = CONFORMANCE
            self.honours = self.honours | {"threads"}
            # for a leximin; its answers are a digit or two less accurate than asked
            self.tightest = SOLVER_TIGHTEST

    def run(self, program: Program, options: Options) -> Raw:
        """Minimise in the other process; the program goes there and back as arrays."""
        rows = program.A.tocsr()
        with tempfile.TemporaryDirectory(prefix="fairlp-") as folder:
            source = Path(folder) / "in.npz"
            target = Path(folder) / "out.npz"
            np.savez(
                source,
                algorithm=np.array(self.algorithm.lower()),
                parameters=np.array(self._parameters(options)),
                verbose=np.array(options.verbose),
                time_limit=np.array(-1.0 if options.time_limit is None else options.time_limit),
                shape=np.array(rows.shape),
                data=rows.data,
                indices=rows.indices.astype(np.int32),
                indptr=rows.indptr.astype(np.int32),
                c=program.c,
                row_lower=program.row_lower,
                row_upper=program.row_upper,
                col_lower=program.col_lower,
                col_upper=program.col_upper,
            )
            start_time = perf_counter()
            # a deadline for the process too: a solver that ignores its limit must not hang the
            # caller
            limit = None if options.time_limit is None else 2 * options.time_limit + 60
            try:
                failure = ask(source, target, options.verbose, limit)
            except TimeoutError:
                return Raw(
                    Termination.TIME_LIMIT,
                    "the process was stopped",
                    seconds=perf_counter() - start_time,
                )
            if failure is not None:
                raise SolverError(f"{self.name} failed in its process ({failure})")
            with np.load(target, allow_pickle=False) as answer:
                arrays = dict(answer)
        status = str(arrays["status"])
        termination = _TERMINATION.get(status, Termination.UNKNOWN)
        if termination is Termination.UNKNOWN and options.time_limit is not None:
            termination = (
                Termination.TIME_LIMIT
            )  # a limit is reported only as "feasible" or "not solved"
        return Raw(
            termination,
            str(arrays["message"]),
            arrays.get("x"),
            arrays.get("row_duals"),
            seconds=float(arrays["seconds"]),
            method=self.algorithm,
        )

    def _parameters(self, options: Options) -> str:
        """Return the solver's own parameters as protocol-buffer text."""
        if self.algorithm == "PDLP":
            primal, dual = options.tolerances(ACCEPTED, ACCEPTED)
            tight = min(primal, dual)
            lines = [
                f"termination_criteria {{ eps_optimal_absolute: {tight!r} eps_optimal_relative: {tight!r} }}"
            ]
            if options.threads is not None:
                lines.append(f"num_threads: {options.threads}")
        else:
            primal, dual = options.tolerances()
            lines = [
                f"primal_feasibility_tolerance: {primal!r}",
                f"dual_feasibility_tolerance: {dual!r}",
            ]
        return " ".join(lines + [f"{name}: {value}" for name, value in options.extra.items()])
