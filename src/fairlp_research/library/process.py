"""One solve in a process of its own, which a solver may crash, hang or fill without harm to others.

The back ends of joblib do not do this: a worker of loky that dies takes the results of the others
along, and loky's ``timeout=`` ends all calls. The process gets a pickle by standard input and
returns one by standard output; output of the solver goes to standard error.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import subprocess
import sys
import warnings
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np

from fairlp import Program
from fairlp.errors import FairlpError, UnsupportedError, needed_by

from .entry import Entry, load

with needed_by("solvers in processes of their own"):
    import cloudpickle

#: Seconds for imports, reading the program and a first small solve, beyond any time limit.
PREPARING = 300.0
#: Python code of the process.
CODE_OF_PROCESS = f"from {__name__} import main; main()"
#: Beginning of the text that ``faulthandler`` writes when the time is over.
_TIME_IS_OVER = b"Timeout ("


def solve_apart(
    entry: Entry, solver: str, time_limit: float, memory: float | None, repeat: int
) -> dict[str, Any]:
    """Return a solver's answer to an entry from a process apart: status, seconds, certificate.

    See :func:`solve_and_certify`.

    Parameters
    ----------
    entry : Entry
    solver : str
        A name; a name that carries a back end takes it along.
    time_limit : float
        Seconds for each of the repeated solves.
    memory : float or None
        GiB for the process.
    repeat : int
    """
    task = cloudpickle.dumps((entry.program(), solver, time_limit, memory, repeat))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", CODE_OF_PROCESS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(task)
        finally:
            _kill(process)
    if output.startswith(_TIME_IS_OVER):
        return {"status": "time limit", "message": f"ended after {time_limit:g} s"}
    try:
        answer: dict[str, Any] = pickle.loads(output)
    except (EOFError, pickle.UnpicklingError):
        message = f"its process ended (exit code {process.returncode})"
        return {"status": "died", "message": message}
    return answer


def require_portable(solver: str) -> None:
    """Raise an error for a name whose back end cannot go to another process."""
    try:
        cloudpickle.dumps(solver)
    except Exception as error:  # a back end of the user may raise any error
        raise UnsupportedError(
            f"solver {str(solver)!r} cannot go to a process of its own: {error}"
        ) from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, and the programs that it started."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def main() -> None:
    """Read a task from standard input, and write its answer to standard output.

    Other output of the process goes to standard error.
    """
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        # The thread of faulthandler ends the process even while a solver holds the interpreter.
        faulthandler.dump_traceback_later(PREPARING, exit=True, file=answers)
        warnings.simplefilter("ignore")
        program, solver, time_limit, memory, repeat = pickle.load(sys.stdin.buffer)
        _bound_memory(memory)
        _warm_up(solver)
        faulthandler.dump_traceback_later(time_limit * repeat, exit=True, file=answers)
        answer = solve_and_certify(program, solver, repeat)
        faulthandler.cancel_dump_traceback_later()
        pickle.dump(answer, answers)


def solve_and_certify(program: Program, solver: Any, repeat: int = 1) -> dict[str, Any]:
    """Return status, seconds, objective and certificate of a solver's answer to a program.

    The seconds are the shortest of the repeated solves. The certificate is of the last solve,
    computed from the program here.
    """
    seconds = []
    try:
        for _ in range(repeat):
            start = perf_counter()
            solution = program.solve(solver)
            seconds.append(perf_counter() - start)
        answer: dict[str, Any] = {
            "status": solution.status.termination.value,
            "message": str(solution.status),
            "seconds": min(seconds),
        }
        if not solution.is_feasible:
            return answer
        x = np.asarray(solution.x, dtype=float)
        certificate = solution.verify()
        objective = program.objective_value(x)
        terms = float(abs(program.c) @ abs(x))
    except Exception as error:  # a back end of the user may raise any error
        return _failure(error)

    if program.logs is not None:  # as the certificate measures them
        inner = program.logs.arguments(x)
        with np.errstate(all="ignore"):
            terms += float(abs(program.logs.slopes(inner)) @ abs(inner))
    return {
        **answer,
        "objective": objective,
        "terms": terms,
        "primal_residual": max(certificate.primal_residual, certificate.integrality_residual),
        "dual_residual": certificate.dual_residual,
        "gap": certificate.gap,
        "feasible": certificate.is_feasible,
        "optimal": certificate.is_optimal,
    }


def _failure(error: BaseException) -> dict[str, Any]:
    """Return the answer for an error: out of memory, unable, or failed."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            message = "the solver asked for more than it may have"
            return {"status": "out of memory", "message": message}
        cause = cause.__cause__ or cause.__context__
    status = "unable" if isinstance(error, UnsupportedError) else "failed"
    message = str(error) if isinstance(error, FairlpError) else f"{type(error).__name__}: {error}"
    return {"status": status, "message": message}


def _warm_up(solver: Any) -> None:
    """Solve a small linear program and one with logarithms, so that no import is in a time."""
    for entry in (load("ties", triples=1, doublings=1), load("njc-circle", users=3, width=2)):
        with suppress(Exception):
            entry.program().solve(solver)


def _bound_memory(memory: float | None) -> None:
    """Let this process have so many GiB and no more, where the system can bound it."""
    if memory is None:
        return
    with suppress(ImportError, OSError, ValueError):
        import resource

        size = int(memory * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
