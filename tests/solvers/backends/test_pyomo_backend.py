"""Executables behind Pyomo, by the CBC that PuLP brings: optima, duals, infeasible and whole programs, failures."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fairlp
from fairlp import Index, Model
from fairlp.errors import SolverNotAvailableError

pytest.importorskip("pyomo.environ")
fileutils = pytest.importorskip("pyomo.common.fileutils")
if importlib.util.find_spec("pulp") is None:
    pytest.skip("PuLP is not installed", allow_module_level=True)

#: Asked in a process of its own: with PuLP loaded, OSQP 1.1 ends the whole process with a
#: segmentation fault.
WHERE = "import pulp; print(pulp.PULP_CBC_CMD().path)"


@pytest.fixture
def cbc(tmp_path, monkeypatch):
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WHERE], capture_output=True, text=True, check=True
    )
    command = Path(result.stdout.strip())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cbc").symlink_to(command.resolve())
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    executable = fileutils.Executable("cbc")
    executable.rehash()  # Pyomo remembers where it found it
    yield "pyomo:cbc"
    monkeypatch.undo()
    executable.rehash()


def test_it_is_there_where_its_executable_is(cbc, monkeypatch):
    assert fairlp.solvers().available[cbc]
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        SolverNotAvailableError, match="an executable 'cbc' on the PATH for cbc; install cbc"
    ):
        fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve(cbc)


def test_a_linear_program_is_proved_by_its_duals(cbc):
    solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve(cbc)
    assert solution.objective == pytest.approx(2 / 3, rel=1e-6) and solution.method == "cbc"
    proof = solution.verify()
    assert max(proof.primal_residual, proof.dual_residual, proof.gap) < 1e-6


def test_whole_variables(cbc):
    i = Index("i", ["a", "b"])
    model = Model("whole", indices=(i,))
    x = model.variable("x", i, upper=4, integer=True)
    model.constraint("even", (2 * x).sum(i) <= 7)
    model.maximize(x.sum(i))
    solution = model.solve(cbc, time_limit=60)
    assert solution.objective == 3 and solution.row_duals is None


def shared():
    """A model of Pyomo: ann's x and twice bob's fill 6, and t is below both."""
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.x = pyo.Var(["ann", "bob"], bounds=(0, None))
    model.t = pyo.Var()
    model.row = pyo.Constraint(expr=model.x["ann"] + 2 * model.x["bob"] <= 6)
    model.least = pyo.Constraint(["ann", "bob"], rule=lambda m, n: m.x[n] >= m.t)
    model.all = pyo.Objective(expr=model.t, sense=pyo.maximize)
    return model


@pytest.mark.parametrize(
    ("levels", "labels"),
    [
        (lambda model: "least", ["ann", "bob"]),
        (lambda model: model.least, ["ann", "bob"]),
        (lambda model: ["least[ann]", model.least["bob"]], ["least[ann]", "least[bob]"]),
        (lambda model: [model.x["ann"], 1 * model.x["bob"]], [0, 1]),
        (lambda model: {"a": model.x["ann"], "b": model.x["bob"]}, ["a", "b"]),
        (lambda model: model.x, ["ann", "bob"]),
    ],
    ids=["a name", "rows", "a list of rows", "a list", "a dict", "a variable"],
)
def test_levels_are_rows_or_expressions_one_by_one_or_together(levels, labels):
    model = shared()
    answer = fairlp.leximin(model, levels(model))
    assert answer.levels.tolist() == pytest.approx([2, 2])
    assert answer.levels.index.tolist() == labels
    assert model.x["ann"].value == pytest.approx(2)


def test_values_that_somebody_else_found_are_read_back():
    """Where a variable has no value yet, there is no point; at the optimum, duals prove it."""
    model = Model("pool")
    n = Index("n", ["ann", "bob"])
    x = model.variable("x", n, upper=4)
    model.constraint("room", x["ann"] + 2 * x["bob"] <= 6)
    model.maximize(x.sum())
    built = model.to_pyomo()
    first, second = built.x.values()
    first.set_value(4.0)
    assert model.read_back(built).x is None
    for value, is_best in ((1.0, True), (0.5, False)):
        second.set_value(value)
        solution = model.read_back(built)
        assert solution.values["x"].tolist() == [4, value]
        assert solution.status.is_optimal == is_best
