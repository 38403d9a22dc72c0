"""What OR-tools' own process does, here called in ours; OR-tools, which HiGHS cannot bear beside it, is planted."""

from __future__ import annotations

import io
import json
import signal
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from fairlp.solvers.backends import ortools_worker

GIVEN = {
    "algorithm": "pdlp",
    "parameters": "num_threads: 1",
    "verbose": True,
    "time_limit": 2.5,
    "c": [-1.0, -2.0],
    "row_lower": [-np.inf],
    "row_upper": [4.0],
    "col_lower": [0.0, 1.0],
    "col_upper": [3.0, np.inf],
}
ROWS = csr_matrix(np.array([[1.0, 2.0]]))


def planted(status, status_message="as told"):
    """Return a module in the place of OR-tools', and what it was asked."""
    request = {}

    class Model:
        def __init__(self):
            self.helper = SimpleNamespace(fill_model_from_sparse_data=self.fill)

        def fill(self, col_lower, col_upper, c, row_lower, row_upper, matrix):
            request.update(
                col_lower=col_lower,
                col_upper=col_upper,
                c=c,
                row_lower=row_lower,
                row_upper=row_upper,
            )
            request["matrix"] = matrix.toarray().tolist()

        def get_variables(self):
            return [0, 1]

        def get_linear_constraints(self):
            return [0]

    class Solver:
        status_string = status_message

        def __init__(self, algorithm):
            request["algorithm"] = algorithm

        def enable_output(self, value):
            request["verbose"] = value

        def set_time_limit_in_seconds(self, seconds):
            request["time_limit"] = seconds

        def set_solver_specific_parameters(self, text):
            request["parameters"] = text

        def solve(self, model):
            return SimpleNamespace(name=status)

        def value(self, variable):
            return (0.5, 1.75)[variable]

        def dual_value(self, row):
            return (-1.0,)[row]

    return SimpleNamespace(model_builder=SimpleNamespace(Model=Model, Solver=Solver)), request


@pytest.fixture
def source(tmp_path):
    def written(**changes):
        arrays = {name: np.array(value) for name, value in {**GIVEN, **changes}.items()}
        matrix = {
            "data": ROWS.data,
            "indices": ROWS.indices,
            "indptr": ROWS.indptr,
            "shape": np.array(ROWS.shape),
        }
        np.savez(tmp_path / "in.npz", **arrays, **matrix)
        return tmp_path / "in.npz"

    return written


def solved(monkeypatch, source, status, status_message="as told"):
    module, request = planted(status, status_message)
    monkeypatch.setitem(sys.modules, "ortools.linear_solver.python", module)
    times = iter([10.0, 12.5])
    monkeypatch.setattr(ortools_worker, "perf_counter", lambda: next(times))
    target = source.with_name("out.npz")
    ortools_worker.solve(str(source), str(target))
    with np.load(target) as file:
        return {name: file[name].tolist() for name in file}, request


@pytest.mark.parametrize("status", ["OPTIMAL", "FEASIBLE"])
def test_a_program_goes_to_the_solver_and_its_answer_comes_back(source, monkeypatch, status):
    answer, request = solved(monkeypatch, source(), status)
    assert answer == {
        "status": status,
        "message": "as told",
        "x": [0.5, 1.75],
        "row_duals": [-1.0],
        "seconds": 2.5,
    }
    assert request.pop("matrix") == [[1.0, 2.0]]
    assert {name: np.asarray(value).tolist() for name, value in request.items()} == GIVEN


def test_questions_are_answered_one_by_one_and_nothing_else_is_said(monkeypatch):
    answers, turned, handled, file_pairs = io.StringIO(), [], [], []

    def solve(*files):
        file_pairs.append(files)
        print("a banner")
        if files[0] == "bad":
            raise ValueError("no such file")

    system = SimpleNamespace(dup=lambda stream: stream, dup2=lambda *pair: turned.append(pair))
    system.fdopen = lambda stream, mode, encoding: answers if (stream, mode) == (1, "w") else None
    monkeypatch.setattr(ortools_worker, "os", system)
    monkeypatch.setattr(
        ortools_worker.signal, "signal", lambda *arguments: handled.append(arguments)
    )
    monkeypatch.setattr(ortools_worker, "solve", solve)
    monkeypatch.setattr(sys, "stdin", io.StringIO('["a", "b"]\n["bad", "c"]\n["d", "e"]\n'))
    ortools_worker.main()
    assert [json.loads(line) for line in answers.getvalue().splitlines()] == [
        None,
        "ValueError: no such file",
        None,
    ]
    assert file_pairs == [("a", "b"), ("bad", "c"), ("d", "e")]
    assert handled == [(signal.SIGINT, signal.SIG_IGN)] and turned == [(2, 1)]
