"""What back ends seldom meet: blocks without elements, calls that HiGHS refuses, limits, tangents of nothing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import fairlp
from fairlp import Index, Model
from fairlp.errors import NotConvergedError, SolverError
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.program import LogTerms
from fairlp.models.programs.solution import Options, Termination
from fairlp.solvers.backends import highs, tangents
from small_programs import INF, program

N = Index("n", ["ann", "bob"], "user")


def model(columns=True, rows=True):
    """max x[ann] + x[bob] + 5: x <= 3, and x <= 1 for those who have a row."""
    nobody = np.zeros(2, dtype=bool)
    made = Model("m", indices=(N,))
    x = made.variable("x", N, upper=3, where=None if columns else nobody)
    made.constraint("most", x <= 1, over=(N,), where=None if rows else nobody)
    made.maximize(x.sum() + 5)
    return made


@pytest.mark.parametrize(("columns", "rows", "best"), [(False, False, 5), (False, True, 5), (True, False, 11)])
def test_glpk_takes_programs_without_columns_or_rows(columns, rows, best):
    pytest.importorskip("swiglpk")
    assert model(columns, rows).solve("glpk").objective == best


def test_a_constraint_over_nobody_is_none_in_cvxpy():
    pytest.importorskip("cvxpy")
    assert len(model().to_cvxpy().constraints) == 3
    without = model(rows=False)
    problem = without.to_cvxpy()
    assert len(problem.constraints) == 2  # the bounds
    problem.solve(solver="CLARABEL")
    assert without.read_back(problem).objective == pytest.approx(11)


def test_a_limit_of_interior_steps_is_the_callers():
    how = {"method": "ipm", "extra": {"ipm_iteration_limit": 0}}
    found = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve("highs", **how)
    assert found.status.termination is Termination.ITERATION_LIMIT


def test_a_model_whose_numbers_highs_refuses():
    made = model()
    made.constraint("large", 1e16 * made["x"]["ann"] + made["x"]["bob"] <= 1)
    with pytest.raises(SolverError, match=r"HiGHS refused the model 'm' \(HighsStatus.kError\)"):
        made.to_highs()


def test_a_change_that_highs_refuses():
    session = highs.HighsSession(highs.Highs(), model().compile(), Options())
    with pytest.raises(SolverError, match=r"HiGHS refused changeRowsBounds \(HighsStatus.kError\)"):
        session.change(rows=(np.zeros(1, dtype=int), np.full(1, np.inf), np.full(1, -np.inf)))


@pytest.mark.parametrize(("limit", "told"), [(0.2, 1), (2.5, 3), (None, None)])
def test_glpk_behind_pyomo_is_told_whole_seconds(monkeypatch, limit, told):
    pyo = pytest.importorskip("pyomo.environ")
    asked = []

    class Executable:
        def __init__(self):
            self.options = {}

        def solve(self, model, **how):
            asked.append(how.get("timelimit"))
            raise RuntimeError("not here")

    monkeypatch.setattr(pyo, "SolverFactory", lambda name: Executable())
    with pytest.raises(SolverError, match="pyomo:glpk failed: not here"):
        find_backend("pyomo:glpk").run(model().compile(), Options(time_limit=limit))
    assert asked == [told] and isinstance(asked[0], type(told))


def test_tangents_that_never_find_anything_positive_say_what_it_may_be(monkeypatch):
    """max log x + log y: x + y <= 2, by a solver for which segments are worth nothing."""
    logs = LogTerms("log", np.ones(2), sp.csr_array(np.eye(2)), np.zeros(2))
    two = program([[1.0, 1.0]], [(-INF, 2.0)], [(0.0, INF)] * 2, logs=logs)
    solver, real = highs.Highs(), highs.Highs.solve

    def blind(self, asked, options):
        solution = real(self, asked, options)
        first = asked.n_columns == 3  # of a point where everything is positive
        return solution if first else dataclasses.replace(solution, x=0 * solution.x)

    monkeypatch.setattr(highs.Highs, "solve", blind)
    monkeypatch.setattr(tangents, "_MOST", 3)
    with pytest.raises(NotConvergedError, match="after 3 programs: what some terms are worth is below the tolerance"):
        tangents.solve_with_logs(solver, two, Options())
