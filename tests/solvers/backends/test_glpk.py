"""GLPK's other ways: its interior point, whole variables that have no answer, and codes that are errors."""

from __future__ import annotations

import pytest

import fairlp
from fairlp import Index, Model
from fairlp.errors import UnsupportedError
from fairlp.models.programs.status import Termination

swiglpk = pytest.importorskip("swiglpk")


def whole(least=1, largest=3):
    """Two whole columns that together are odd, and so never 2·(a number)."""
    i = Index("i", ["a", "b"])
    model = Model("whole", indices=(i,))
    x = model.variable("x", i, upper=4, integer=True)
    model.constraint("even", (2 * x).sum(i).between(least, largest))
    model.maximize(x.sum(i))
    return model


def test_the_interior_point_has_the_optimum_and_its_duals():
    model = fairlp.formulate(fairlp.examples.ghodsi(), "drf")
    solution = model.solve("glpk", method="interior")
    assert solution.method == "interior" and solution.objective == pytest.approx(2 / 3, rel=1e-6)
    assert solution.verify().gap < 1e-6
    solution = model.solve("glpk", method="simplex")
    assert solution.method == "simplex" and solution.verify().is_optimal


def test_the_interior_point_says_what_it_cannot():
    with pytest.raises(UnsupportedError, match="the interior point has no integer variables"):
        whole().solve("glpk", method="interior")
    model = fairlp.formulate(fairlp.examples.ghodsi(), "drf")
    with pytest.raises(UnsupportedError, match="interior point has no time limit"):
        model.solve("glpk", method="interior", time_limit=5)
    model.constraint("too-much", model["x"].sum() >= 100)
    solution = model.solve("glpk", method="interior")
    assert not solution.status.is_optimal and solution.x is None


def test_whole_variables_without_an_answer():
    solution = whole(1, 1.5).solve("glpk")
    assert solution.status.termination is Termination.INFEASIBLE and solution.x is None
    assert solution.method == "branch and cut"
    assert whole().solve("glpk").objective == 1
