"""What back ends are seldom given or give: no basis, no point, no rows, strange expressions, names that meet."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import pytest

import fairlp
from fairlp import Index, Model
from fairlp.errors import ModelError
from fairlp.models.notation.expressions import Expression
from fairlp.models.programs.backends import find_backend
from fairlp.solvers.backends import ortools_process
from fairlp.solvers.backends.highs import masks

N = Index("n", ["ann", "bob"], "user")


class Strange(Expression):
    """An expression of somebody else's, that nothing here knows."""

    degree = 1
    indices = ()


def model():
    made = Model("m", indices=(N,))
    x = made.variable("x", N, upper=3)
    made.constraint("most", x.sum() <= 4)
    made.maximize(x["ann"] + 2 * x["bob"])
    return made


def test_a_basis_that_is_not_valid_is_none():
    pytest.importorskip("highspy")
    assert masks(SimpleNamespace(valid=False)) is None


def test_a_solver_of_cvxpy_that_is_not_known_is_asked_for_linear_programs(monkeypatch):
    pytest.importorskip("cvxpy")
    from fairlp.solvers.backends import cvxpy_backend

    monkeypatch.delitem(cvxpy_backend.KNOWN, "CLARABEL")
    found = find_backend("cvxpy:CLARABEL")._ask()
    assert found == cvxpy_backend.Known("cvxpy", cvxpy_backend._LP, {})


def test_variables_without_values_are_no_point():
    pytest.importorskip("cvxpy")
    from fairlp.solvers.backends import cvxpy_model

    built = cvxpy_model.build(model().compile())
    assert built.point() is None
    built.variables[0].value = np.array([1.0, 3.0])
    assert built.point().tolist() == [1, 3]


def test_pyomo_names_what_it_cannot_take():
    pytest.importorskip("pyomo")
    made = model()
    made.maximize(Strange())
    with pytest.raises(ModelError, match="Strange cannot be turned into a Pyomo expression"):
        made.to_pyomo()


@pytest.mark.parametrize(("most", "feasible"), [(4, True), (2, False)])
def test_a_range_without_variables_is_kept_or_not_in_pyomo(most, feasible):
    pytest.importorskip("pyomo")
    made = model()
    h = made.parameter("h", (), 3)
    made.constraint("constant", (h + 0 * made["x"]["ann"]).between(1, most))
    row = made.to_pyomo().constant
    assert (row.body() <= row.upper) is feasible


def test_parts_of_pyomo_that_share_a_name_are_told_apart():
    pytest.importorskip("pyomo")
    from fairlp.solvers.backends import pyomo_model

    taken = {"n", "n_"}
    built = SimpleNamespace(component=lambda name: name if name in taken else None)
    assert pyomo_model._free_name(built, "n") == "n__" and pyomo_model._free_name(built, "m") == "m"


def test_a_process_that_died_is_told_as_no_answer(tmp_path):
    ended = []

    def broken(_):
        raise BrokenPipeError

    pipe = SimpleNamespace(write=broken, close=lambda: ended.append("pipe"))
    one = ortools_process.Process.__new__(ortools_process.Process)
    one.owner = os.getpid()
    child = SimpleNamespace(kill=lambda: ended.append("child"), wait=lambda: None, returncode=7)
    one.child = SimpleNamespace(stdin=pipe, stdout=pipe, **vars(child))
    assert one.ask(tmp_path / "in.npz", tmp_path / "out.npz", None) == "exit 7"
    assert ended == ["child", "pipe", "pipe"]


def test_glpk_that_is_stopped_by_the_clock_says_so(monkeypatch):
    swiglpk = pytest.importorskip("swiglpk")
    made = Model("whole", indices=(N,))
    x = made.variable("x", N, upper=3, integer=True)
    made.constraint("most", 2 * x["ann"] + 3 * x["bob"] <= 7)
    made.maximize(x["ann"] + 2 * x["bob"])
    assert made.solve(solver="glpk").status.is_optimal
    monkeypatch.setattr(swiglpk, "glp_intopt", lambda *_: swiglpk.GLP_ETMLIM)
    found = made.solve(solver="glpk", time_limit=1)
    assert found.status.termination is fairlp.Termination.TIME_LIMIT
