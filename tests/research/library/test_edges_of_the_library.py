"""Optima that no proof is found of, solvers named twice, systems that do not tell their memory, numbers of NumPy."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp.errors import SolverNotAvailableError
from fairlp.research.library import running
from fairlp.research.library.entry import recomputed
from fairlp.research.library.running import Result, Results
from fairlp.solvers.leximin import exact

library = fairlp.library
TIES = library.load("ties", triples=1, doublings=1)


@pytest.mark.parametrize(
    "entry",
    [library.load("njc-circle", users=3, width=2), library.load("whole-pool", users=2, resources=2, tasks=2)],
    ids=["logarithms", "whole numbers"],
)
def test_what_is_no_linear_program_is_not_recomputed(entry):
    assert recomputed(entry.program()) == library.Optimum(
        None, "not known: no linear program, and nothing was planted"
    )  # fmt: skip


def test_an_optimum_that_is_not_proved_is_not_known(monkeypatch):
    program = TIES.program()
    assert recomputed(program).value == TIES.known.value

    def absent(*_):
        raise SolverNotAvailableError("python-flint is not here")
        yield

    poor = [0] * program.n_columns, [0] * program.n_rows
    for bases, words in ((lambda *_: iter(()), "no basis"), (absent, "python-flint"), (lambda *_: [poor], "")):
        monkeypatch.setattr(exact, "bases", bases)
        found = recomputed(program)
        assert found.value is None and found.words.startswith("not proved in rationals: ") and words in found.words


def test_a_solver_that_is_named_twice_is_run_once(monkeypatch):
    asked = []

    class Planted:
        def __init__(self, solver, memory):
            self.solver = str(solver)

        def ask(self, question, limit):
            asked.append(self.solver)
            return {"status": "failed", "message": "planted"}

        def end(self):
            pass

    monkeypatch.setattr(running, "SolverProcess", Planted)
    found = library.run(["highs", "scipy", "HiGHS"], [TIES])
    assert asked == ["highs", "scipy"] and found.solvers == ("highs", "scipy")


def test_half_of_the_memory_is_had_where_the_system_tells(monkeypatch):
    told = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 3 * 2**19}
    monkeypatch.setattr(running.os, "sysconf", told.__getitem__, raising=False)
    assert running._half_of_memory() == 3.0

    def unknown(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(running.os, "sysconf", unknown)
    assert running._half_of_memory() is None
    monkeypatch.delattr(running.os, "sysconf")
    assert running._half_of_memory() is None


def test_numbers_of_numpy_are_written_as_those_of_python():
    row = Result(
        "ties", "LP", "a", np.True_, "certified", "optimal", np.float64(1.5), np.float32(0.5), np.float64("nan")
    )
    (found,) = json.loads(json.dumps(Results((row,), ("a",), {}, {}).to_dict()))["results"]
    assert found["accepted"] is True and (found["seconds"], found["objective"]) == (1.5, 0.5)
    assert None in found.values()


def test_a_profile_says_how_much_it_is_of():
    times = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 1.0], "c": [1.0, 1.0]})
    assert repr(library.profile(times)) == "<Profile of 3 solvers on 2 problems>"
