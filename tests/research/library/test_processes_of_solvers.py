"""A solver's process from both sides: what it does in its own, here called in ours, and what of one that ends."""

from __future__ import annotations

import pickle
import sys
from io import BytesIO
from types import SimpleNamespace

import pytest

import fairlp
from fairlp.models.programs import backends
from fairlp.research.library import entry, processes, worker
from fairlp.research.library.worker import solved
from own_back_ends import Dual

library = fairlp.library
TIES = {
    "name": "ties",
    "size": "small",
    "seed": 0,
    "parameters": {"triples": 2, "doublings": 1},
    "repeat": 1,
}
#: Stands in for the worker: it is ready, and when it is asked it leaves.
READY = (
    "import os, pickle, sys\n"
    "pickle.load(sys.stdin.buffer)\n"
    "pickle.dump('ready', sys.stdout.buffer)\n"
    "sys.stdout.flush()\n"
    "pickle.load(sys.stdin.buffer)\n"
    "os._exit(5)\n"
)


class Kept(BytesIO):
    """What was written, also when it was closed, and how often it was sent."""

    sent = 0

    def flush(self):
        self.sent += 1

    def close(self):
        self.seek(0)


def heard(written):
    found = []
    while True:
        try:
            found.append(pickle.load(written))
        except EOFError:
            return found


@pytest.fixture
def process(monkeypatch):
    monkeypatch.setattr(processes, "_CODE", READY)
    made = processes.SolverProcess("highs", None)
    yield made
    made.end()


def test_a_process_that_leaves_while_the_program_is_made_has_died(process):
    told = process.ask(TIES, 60.0)
    assert told == {
        "status": "died",
        "message": "its process ended while the program was made (exit code 5)",
    }


def test_an_interrupted_asker_gets_no_earlier_answer(process, monkeypatch):
    children = []

    def interrupted(asked):
        children.append(process._child)
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "_tell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        process.ask(TIES, 60.0)
    assert process._child is None and children[0].poll() is not None
    assert children[0].stdin.closed and children[0].stdout.closed


def test_where_there_are_no_groups_of_processes_the_child_is_killed(monkeypatch):
    monkeypatch.delattr(processes.os, "killpg", raising=False)
    killed = []
    processes._kill(SimpleNamespace(pid=-1, kill=lambda: killed.append(True)))
    assert killed == [True]


def test_a_class_of_a_script_travels_as_it_is_where_cloudpickle_is_here(monkeypatch):
    pytest.importorskip("cloudpickle")

    class Inside:
        tasks = 3

    assert pickle.loads(processes._packed(Inside)).tasks == 3
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    copy = SimpleNamespace(dumps=lambda value: b"by joblib's copy")  # before its 1.6
    monkeypatch.setitem(sys.modules, "joblib.externals.cloudpickle", copy)
    assert processes._packed(Inside) == b"by joblib's copy"


def test_without_cloudpickle_what_a_solver_needs_is_pickled_by_its_name(monkeypatch):
    class Inside:
        pass

    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        monkeypatch.setitem(sys.modules, name, None)
    assert pickle.loads(processes._packed({"solver": Dual, "memory": 2.0})) == {
        "solver": Dual,
        "memory": 2.0,
    }
    with pytest.raises((AttributeError, pickle.PicklingError), match="Inside"):
        processes._packed(Inside)


def test_what_a_process_says_and_in_which_order(monkeypatch):
    answers, turned, watching = Kept(), [], []
    asked = {"solver": "highs", "memory": 2.5, "parent": 7}
    questions = BytesIO(
        b"".join(map(pickle.dumps, [asked, TIES, {**TIES, "seed": 1, "repeat": 2}]))
    )
    system = SimpleNamespace(dup=lambda stream: stream, dup2=lambda *pair: turned.append(pair))
    system.fdopen = lambda stream, mode: answers if (stream, mode) == (1, "wb") else None
    monkeypatch.setattr(worker, "os", system)
    monkeypatch.setattr(worker.sys, "stdin", SimpleNamespace(buffer=questions))
    monkeypatch.setattr(
        worker,
        "Thread",
        lambda **how: SimpleNamespace(start=lambda: watching.append((how["target"], how["args"]))),
    )
    monkeypatch.setattr(worker, "_bound_memory", lambda most: watching.append(most))
    monkeypatch.setattr(worker, "_warm_up", lambda solver: watching.append(solver))
    worker.main()
    assert turned == [(2, 1)] and watching == [(worker.leave_with, (7,)), 2.5, "highs"]
    assert answers.sent == 5
    ready, made, first, again, second = heard(answers)
    assert (ready, made, again) == ("ready", "made", "made")
    optimum = float(library.load("ties", triples=2, doublings=1).optimum.value)
    assert [first["objective"], second["objective"]] == pytest.approx([optimum, optimum])


def test_no_memory_for_a_program_is_told(monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(entry, "load", full)
    answers = Kept()
    worker._answer(answers, "highs", TIES)
    answers.close()
    assert heard(answers) == [
        "made",
        {"status": "out of memory", "message": "while the program was made"},
    ]


@pytest.mark.parametrize("wrapped", [False, True])
def test_no_memory_for_a_solver_is_told(wrapped):
    class Greedy(Dual):
        def run(self, program, options):
            try:
                raise MemoryError
            except MemoryError as error:
                if wrapped:
                    raise RuntimeError("it ended") from error
                raise

    program = library.load("ties", triples=1, doublings=1).program()
    assert solved(program, Greedy) == {
        "status": "out of memory",
        "message": "the solver asked for more than it may have",
    }


def test_before_it_is_ready_a_solver_solves_a_linear_program_and_one_with_logarithms(monkeypatch):
    seen = []

    def solve(program, solver, options):
        seen.append((solver, program.logs is not None))
        raise RuntimeError("it cannot")

    monkeypatch.setattr(backends, "solve", solve)
    worker._warm_up("mine")
    assert seen == [("mine", False), ("mine", True)]


def test_memory_is_bounded_where_the_system_can(monkeypatch):
    resource = pytest.importorskip("resource")
    bounds = []
    monkeypatch.setattr(resource, "setrlimit", lambda what, limits: bounds.append((what, limits)))
    worker._bound_memory(None)
    worker._bound_memory(1.5)
    assert bounds == [(resource.RLIMIT_AS, (3 * 2**29, 3 * 2**29))]
    monkeypatch.setitem(sys.modules, "resource", None)
    worker._bound_memory(1.5)
    assert len(bounds) == 1
