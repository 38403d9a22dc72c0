"""Ctrl-C while a solver runs: the caller has it at once, and solvers that can be told to stop are told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import fairlp
from fairlp.solvers.backends import base
from fairlp.solvers.backends.base import interruptible
from profiles import PROFILE

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="signals are sent as on other systems"
)


@pytest.fixture(autouse=True)
def heard():
    """A shell in the background has Ctrl-C ignored, for all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press(seconds=0.2):
    """Press Ctrl-C a little later."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_a_call_returns_and_raises_as_without():
    assert interruptible(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)
    assert interruptible(threading.current_thread) is interruptible(
        threading.current_thread
    )  # the worker is kept
    assert interruptible(lambda: interruptible(threading.current_thread)).name == "fairlp solver"


def test_an_interruption_comes_at_once_and_tells_the_solver():
    stop, ended = threading.Event(), threading.Event()

    def work():
        stop.wait(20)
        ended.set()

    worker = interruptible(threading.current_thread)
    press()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        interruptible(work, stop.set)
    assert time.perf_counter() - start < 2 and ended.wait(2)
    assert interruptible(threading.current_thread) is not worker  # it might work still


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_workers_of_its_own():
    interruptible(lambda: None)
    code = (
        "import os\nfrom fairlp.solvers.backends.base import interruptible\n"
        "interruptible(int)\nchild = os.fork()\n"
        "if not child:\n    os._exit(interruptible(lambda: 7))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert process.stdout.strip() == "7", process.stderr


def test_the_number_of_threads_is_that_of_the_solve():
    model = fairlp.formulate(fairlp.examples.load("wang-figure-1"), "drfh")
    for threads in (2, 1, 2, None):
        assert model.solve("highs", threads=threads).status.is_optimal
    assert base.idle_workers


#: A program that every back end works at for longer than a test waits.
LONG = """
import os, signal, sys, threading, time
import numpy as np
import fairlp
name, kind = sys.argv[1:]
rng = np.random.default_rng(0)
if kind == "LP":
    instance = fairlp.Instance.from_arrays(rng.lognormal(0, 1, (400, 3)), rng.lognormal(0, 1, (400, 3)))
    model = fairlp.formulate(instance, "drfh")
else:
    j, r = fairlp.Index("j", range(60)), fairlp.Index("r", range(8))
    weights = rng.integers(10, 90, (8, 60)).astype(float)
    model = fairlp.Model("market split", indices=(r, j))
    x = model.variable("x", j, binary=True)
    a, b = model.parameter("a", (r, j), weights), model.parameter("b", (r,), np.floor(weights.sum(axis=1) / 2))
    model.constraint("row", (a * x).sum(j) == b)
    model.maximize(x.sum(j))
program = model.compile()
fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve(name)  # what it imports is there
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.perf_counter()
try:
    program.solve(name)
    print("ended by itself")
except KeyboardInterrupt:
    waited = time.perf_counter() - begin - 0.5
    time.sleep(1)  # Pyomo redirects what is printed until it has ended
    print(waited)
sys.stdout.flush()
os._exit(0)
"""
CASES = [
    ("highs", "LP"), ("glpk", "MILP"), ("scip", "MILP"), ("cvxpy:SCS", "LP"), ("scipy", "MILP"), ("glpk", "LP"),
    ("highs", "MILP"), ("highs-hipo", "LP"), ("highs-pdlp", "LP"), ("interior-point", "LP"), ("cvxpy:ECOS", "LP"),
    ("cvxpy:OSQP", "LP"), ("cvxpy:CLARABEL", "LP"), ("cvxpy:PIQP", "LP"), ("ortools:PDLP", "LP"), ("scip", "LP"),
    ("pyomo:highs", "MILP"), ("cvxpy:HIGHS", "MILP"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "kind"), CASES if PROFILE == "nightly" else CASES[1:2])
def test_every_back_end_is_interrupted_within_two_seconds(solver, kind):
    if not fairlp.solvers().loc[solver, "available"]:
        pytest.skip(solver)
    process = subprocess.run(
        [sys.executable, "-c", LONG, solver, kind], capture_output=True, text=True, timeout=120
    )
    assert float(process.stdout) < 2, process.stdout + process.stderr


class Sleeper(fairlp.Backend):
    def run(self, program, options):
        time.sleep(1)
        return fairlp.Raw(fairlp.Termination.UNKNOWN)


@pytest.mark.parametrize("error", [SystemExit(7), TimeoutError("a limit of the caller's own")])
def test_what_a_handler_raises_is_no_failure_of_the_solver(error):
    def handler(*_):
        raise error

    signal.signal(signal.SIGINT, handler)
    model = fairlp.formulate(fairlp.examples.ghodsi(), "drf")
    press()
    with pytest.raises(type(error)) as raised:
        model.solve(Sleeper())
    assert raised.value is error


def test_a_session_goes_on_after_an_interruption(monkeypatch):
    """HiGHS may work on the old object for a while, so that the session takes another one."""
    model = fairlp.formulate(fairlp.examples.ghodsi(), "drf")
    expected = model.solve().objective
    session = model.session()
    assert session.solve().objective == pytest.approx(expected)
    before = session._session._highs
    monkeypatch.setattr("fairlp.solvers.backends.highs.QUICK_ENTRIES", 0)

    def interrupted(call, stop, aborts):
        stop()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fairlp.solvers.backends.highs.interruptible", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.solve()
    assert session._session._highs is not before
    assert session.solve().objective == pytest.approx(expected)


#: A process that is interrupted in its second solve, and what it does then.
END = """
import os, signal, sys, threading
import numpy as np
import fairlp
signal.signal(signal.SIGINT, signal.default_int_handler)
name, then = sys.argv[1:]
rng = np.random.default_rng(0)
instance = fairlp.Instance.from_arrays(rng.lognormal(0, 1, (400, 3)), rng.lognormal(0, 1, (400, 3)))
program = fairlp.formulate(instance, "drfh").compile()
fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve(name)  # what it imports is there
if then == "handler":
    signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    program.solve(name)
except KeyboardInterrupt:
    print("interrupted")
    if then == "caught":
        sys.exit(3)
    raise
"""
ENDS = {"caught": (3,), "raised": (130, -signal.SIGINT), "handler": (7,)}
SOLVERS = ["highs", "highs-ipm", "highs-hipo", "cvxpy:HIGHS", "highs-pdlp"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDS)
@pytest.mark.parametrize("solver", SOLVERS if PROFILE == "nightly" else SOLVERS[:2])
def test_the_process_ends_cleanly_after_an_interruption(solver, ending):
    """HiGHS that still works when Python ends aborted the process (134, or 139)."""
    if not fairlp.solvers().loc[solver, "available"]:
        pytest.skip(solver)
    process = subprocess.run(
        [sys.executable, "-c", END, solver, ending], capture_output=True, text=True, timeout=120
    )
    # CVXPY does not hand over its HiGHS, so that it cannot be told to stop: the process ends, and
    # says why
    assert process.returncode in (*ENDS[ending], *((130,) if solver == "cvxpy:HIGHS" else ())), (
        process.stderr
    )
    assert ("interrupted" in process.stdout) == (ending != "handler")
