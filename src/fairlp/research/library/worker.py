"""What runs in a solver's own process: entries made, solved and verified, one after the other, as asked.

Pickles come by standard input and go by what was standard output; whatever a solver prints goes to
standard error.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from contextlib import suppress
from threading import Thread
from time import perf_counter, sleep
from typing import Any, BinaryIO

import numpy as np


def main() -> None:
    """Answer what is asked until there is nothing more."""
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        warnings.simplefilter("ignore")
        first = pickle.load(sys.stdin.buffer)
        Thread(target=leave_with, args=(first["parent"],), daemon=True).start()
        _bound_memory(first["memory"])
        _warm_up(first["solver"])
        _say(answers, "ready")
        while True:
            try:
                asked = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            _answer(answers, first["solver"], asked)


def leave_with(parent: int) -> None:
    """End this process, whatever it solves, when the one that began it is no more."""
    while os.getppid() == parent:
        sleep(1.0)
    os._exit(1)


def _answer(answers: BinaryIO, solver: Any, asked: dict[str, Any]) -> None:
    """Make a program, say that it is there, solve it, and tell what came of it."""
    from .entry import load

    try:
        program = load(asked["name"], asked["size"], asked["seed"], **asked["parameters"]).program()
    except MemoryError:
        _say(answers, "made")
        _say(answers, {"status": "out of memory", "message": "while the program was made"})
        return
    _say(answers, "made")
    _say(answers, solved(program, solver, asked["repeat"]))


def solved(program: Any, solver: Any, repeat: int = 1) -> dict[str, Any]:
    """Return what a solver's answer to a program is worth: status, seconds, certificate.

    The seconds are the least of so many runs; the certificate is of the last, computed from the
    program given here.
    """
    from ...models.programs import backends
    from ...models.programs.certificate import certify
    from ...models.programs.solution import Options

    seconds = []
    try:
        for _ in range(repeat):
            begin = perf_counter()
            answer = backends.solve(program, solver, Options())
            seconds.append(perf_counter() - begin)
        told: dict[str, Any] = {
            "status": answer.status.termination.value,
            "message": str(answer.status),
        }
        told["seconds"] = min(seconds)
        if answer.x is None:
            return told
        x = np.asarray(answer.x, dtype=float)
        certificate = certify(program, x, None if program.is_mip else answer.row_duals)
        objective, terms = program.objective_value(x), float(abs(program.c) @ abs(x))
    except Exception as error:  # somebody else's solver, too
        return _failed(error)
    if program.logs is not None:  # as the certificate measures them
        inner = program.logs.arguments(x)
        with np.errstate(all="ignore"):
            terms += float(abs(program.logs.slopes(inner)) @ abs(inner))
    return {
        **told,
        "objective": objective,
        "terms": terms,
        "primal_residual": max(certificate.primal_residual, certificate.integrality_residual),
        "dual_residual": certificate.dual_residual,
        "gap": certificate.gap,
        "feasible": certificate.is_feasible,
        "optimal": certificate.is_optimal,
    }


def _failed(error: BaseException) -> dict[str, Any]:
    """Return what is told of an error: no memory, whatever it was wrapped in, what a solver cannot do, or a failure."""
    from ...errors import FairlpError, UnsupportedError

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return {
                "status": "out of memory",
                "message": "the solver asked for more than it may have",
            }
        cause = cause.__cause__ or cause.__context__
    message = str(error) if isinstance(error, FairlpError) else f"{type(error).__name__}: {error}"
    return {
        "status": "unable" if isinstance(error, UnsupportedError) else "failed",
        "message": message,
    }


def _warm_up(solver: Any) -> None:
    """Solve the smallest program there is, so that no import is in a time."""
    from ...models.programs import backends
    from ...models.programs.solution import Options
    from .entry import load

    for entry in (load("ties", triples=1, doublings=1), load("njc-circle", users=3, width=2)):
        with suppress(Exception):
            backends.solve(entry.program(), solver, Options())


def _bound_memory(most: float | None) -> None:
    """Let this process have so many GiB and no more, where the system can bound it."""
    if most is None:
        return
    with suppress(ImportError, OSError, ValueError):
        import resource

        size = int(most * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _say(answers: BinaryIO, what: Any) -> None:
    pickle.dump(what, answers)
    answers.flush()
