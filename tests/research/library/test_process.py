"""A solve in a process of its own: the answer, and the end of a process that hangs, dies or eats memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import fairlp_research
from fairlp.models.programs import backends
from fairlp_research.library import process
from fairlp_research.library.process import solve_and_certify, solve_apart
from own_back_ends import Dual
from planted_solvers import DIES, EATS, HANGS, SLEEPS, STARTS, Moody

library = fairlp_research.library
TIES = library.load("ties", triples=2, doublings=1)


def entry_with_rows(rows):
    """An entry whose program has so many rows, by which `Moody` knows its mood."""
    entry = library.load("zeros", users=rows - 18, servers=6)
    assert entry.program().n_rows == rows
    return entry


def solve(entry, time_limit=30.0, memory=8.0):
    return solve_apart(entry, backends.carried(backends.spelt(Moody)), time_limit, memory, 1)


@pytest.mark.slow
def test_the_answer_comes_back_though_the_solver_prints():
    answer = solve(TIES)
    assert answer["status"] == "optimal" and answer["optimal"] and 0 < answer["seconds"] < 30
    assert answer["objective"] == pytest.approx(float(TIES.optimum.value), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [SLEEPS, HANGS], ids=["sleeps", "holds the interpreter"])
def test_a_process_that_takes_too_long_ends(rows):
    answer = solve(entry_with_rows(rows), time_limit=0.5)
    assert answer == {"status": "time limit", "message": "ended after 0.5 s"}


@pytest.mark.slow
def test_a_process_that_dies_is_named_with_its_exit_code():
    answer = solve(entry_with_rows(DIES))
    assert answer == {"status": "died", "message": "its process ended (exit code 7)"}


@pytest.mark.slow
def test_a_process_that_asks_for_too_much_memory_is_told_so():
    assert solve(entry_with_rows(EATS))["status"] == "out of memory"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups")
def test_programs_that_the_solver_started_end_with_it():
    answer = solve(entry_with_rows(STARTS), time_limit=0.5)
    assert answer["status"] == "time limit"
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "planted-by-moody" not in processes.stdout


def test_an_interrupt_ends_the_process(monkeypatch):
    processes = []

    def interrupted(self, task):
        processes.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve(TIES)
    assert processes[0].returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_process_is_killed_where_there_are_no_groups_of_processes(monkeypatch):
    monkeypatch.delattr(os, "killpg", raising=False)
    assert solve(entry_with_rows(DIES))["status"] == "died"


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_error_of_memory_is_found_in_other_errors(wrapped):
    class Greedy(Dual):
        def run(self, program, options):
            try:
                raise MemoryError
            except MemoryError as error:
                if wrapped:
                    raise RuntimeError("it ended") from error
                raise

    program = library.load("ties", triples=1, doublings=1).program()
    assert solve_and_certify(program, Greedy) == {
        "status": "out of memory",
        "message": "the solver asked for more than it may have",
    }


def test_the_shortest_of_repeated_solves_counts(monkeypatch):
    times = iter([0.0, 5.0, 10.0, 12.0, 20.0, 23.0])
    monkeypatch.setattr(process, "perf_counter", lambda: next(times))
    assert solve_and_certify(TIES.program(), Dual, repeat=3)["seconds"] == 2.0


@pytest.mark.slow
def test_main_answers_in_its_own_process_without_a_limit(monkeypatch):
    """A system that cannot bound memory has no module ``resource``."""
    monkeypatch.setitem(sys.modules, "resource", None)
    script = (
        "import sys; sys.modules['resource'] = None\n"
        "from fairlp_research.library.process import main; main()"
    )
    monkeypatch.setattr(process, "CODE_OF_PROCESS", script)
    assert solve(TIES, memory=1e-3)["status"] == "optimal"


@pytest.mark.slow
def test_half_an_answer_is_none(monkeypatch):
    complete = subprocess.Popen.communicate

    def half(self, task):
        output, errors = complete(self, task)
        return output[:100], errors

    monkeypatch.setattr(subprocess.Popen, "communicate", half)
    assert solve(TIES) == {"status": "died", "message": "its process ended (exit code 0)"}
