"""The process that OR-tools runs in: kept, replaced when it dies, stopped when it hangs or its asker is interrupted."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from fairlp.solvers.backends import ortools_backend
from fairlp.solvers.backends.ortools_backend import ask

#: Stands in for the worker: what it is asked to read is what it does.
WORKER = """
import json, sys, time, os
for line in sys.stdin:
    what, _ = json.loads(line)
    if what == "hang":
        time.sleep(60)
    if what == "die":
        os._exit(3)
    print(json.dumps(None if what == "fine" else what + " " + str(os.getpid())), flush=True)
"""


@pytest.fixture(autouse=True)
def worker(tmp_path, monkeypatch):
    path = tmp_path / "worker.py"
    path.write_text(WORKER, encoding="utf-8")
    monkeypatch.setattr(ortools_backend, "WORKER", path)
    monkeypatch.setattr(ortools_backend, "idle_processes", {})
    yield
    ortools_backend._end()


def test_it_is_kept():
    assert ask("fine", "", False, None) is None
    assert ask("who", "", False, 30) == ask("who", "", False, None)
    assert ask("who", "", True, None) != ask("who", "", False, None)


def test_one_that_died_is_replaced():
    before = ask("who", "", False, None)
    assert ask("die", "", False, None) == "exit 3"
    after = ask("who", "", False, None)
    assert after.startswith("who") and after != before
    ortools_backend.idle_processes[False].child.kill()
    ortools_backend.idle_processes[False].child.wait()
    assert ask("who", "", False, None).startswith("who")


def test_one_that_hangs_is_stopped():
    with pytest.raises(TimeoutError):
        ask("hang", "", False, 0.3)
    assert ask("fine", "", False, None) is None


def test_threads_have_their_own():
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda k: ask(f"thread{k}", "", False, None), range(12)))
    assert [answer.split()[0] for answer in answers] == [f"thread{k}" for k in range(12)]
    assert len(ortools_backend.idle_processes) == 1


@pytest.mark.slow
def test_beside_or_tools_in_one_process_a_message_says_what_to_do():
    code = (
        "import ortools.linear_solver.pywraplp, fairlp\n"
        "instance = fairlp.examples.ghodsi()\n"
        "try:\n    fairlp.allocate(instance, 'drf', method='lp')\n"
        "except fairlp.errors.SolverNotAvailableError as error:\n    print(error)\n"
        "print(fairlp.allocate(instance, 'drf', method='lp', solver='scipy').totals.round(9).tolist())\n"
        "model = fairlp.Model('empty')\nx = model.variable('x')\nrow = model.constraint('row', x <= -1)\n"
        "print(model.solve('scipy').status.termination.value)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    message, totals, status = process.stdout.splitlines()
    assert "imported ortools; use solver='scipy'" in message and totals == "[3.0, 2.0]"
    assert status == "infeasible or unbounded"  # HiGHS, which would prove it, is not there
