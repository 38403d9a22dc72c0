"""Squares that are 0 at the optimum, goals whose weights are far apart, and limits of Clarabel."""

import numpy as np
import pytest

import fairlp
from fairlp import Index, Model
from profiles import chequered

SOLVERS = ("highs", "cvxpy:CLARABEL", "cvxpy:SCS", "cvxpy:OSQP", "cvxpy:PIQP")


def distance(target, constant=0.0):
    model = Model("distance")
    x = model.variable("x", lower=None)
    model.minimize((x - target) ** 2 + constant)
    return model


def least_squares(coefficients, sides):
    model = Model("fit")
    i = Index("i", range(len(sides)))
    j = Index("j", range(coefficients.shape[1]))
    x = model.variable("x", j, lower=None)
    A = model.parameter("A", (i, j), coefficients)
    b = model.parameter("b", i, sides)
    model.minimize((((A * x).sum(j) - b) ** 2).sum(i))
    return model


def available(solver):
    if not fairlp.solvers().loc[solver, "available"]:
        pytest.skip(f"{solver} is not installed")
    return solver


@pytest.mark.parametrize(("constant", "target"), chequered([0.0, 5.0, -5.0], [0.0, 1e-3, 3.0, 1e4]))
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_square_is_zero_at_its_target(solver, target, constant):
    solution = distance(target, constant).solve(available(solver)).require_optimal()
    assert solution.values["x"] == pytest.approx(target, rel=1e-7, abs=1e-7)
    assert solution.objective == pytest.approx(constant, abs=1e-7)


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_fit_is_that_of_numpy(solver, noise):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(8, 3))
    b = A @ [1.0, -2.0, 0.5] + noise * rng.normal(size=8)
    right = np.linalg.lstsq(A, b, rcond=None)[0]
    solution = least_squares(A, b).solve(available(solver)).require_optimal()
    assert solution.values["x"].to_numpy() == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("target", [3.0, 1e4])
def test_a_point_beside_the_target_is_no_optimum(target):
    solution = distance(target).solve()
    beside = np.array([target * (1 + 1e-6)])
    certificate = fairlp.models.programs.certificate.verify(solution.program, beside, np.zeros(0))
    assert not certificate.is_optimal


def goals():
    """Three goals, the first of which is met; the last is missed by some thousandths."""
    model = Model("goals")
    x = model.variable("x", upper=10)
    y = model.variable("y", upper=10)
    k = Index("k", ["first", "second", "third"])
    missed = model.variable("missed", k)
    model.constraint("one", x + missed["first"] >= 4)
    model.constraint("two", y + missed["second"] >= 3)
    model.constraint("three", x + y - missed["third"] <= 6.996)
    model.minimize((missed * [1e6, 1e4, 1e2]).sum())
    return model


@pytest.mark.parametrize("solver", ["highs", "scipy", "cvxpy:CLARABEL", "cvxpy:SCS"])
def test_a_goal_of_large_weight_does_not_excuse_a_small_one(solver):
    solution = goals().solve(available(solver))
    if solution.status.is_optimal and "within" not in solution.status.message:
        assert solution.objective == pytest.approx(0.4, rel=2e-6)
    program = goals().compile()
    right = goals().solve("highs")
    wrong = right.x.copy()
    wrong[-1] *= 1 + 1.6e-3
    certify = fairlp.models.programs.certificate.verify
    assert certify(program, right.x, right.row_duals).is_optimal
    assert not certify(program, wrong, right.row_duals).is_optimal


@pytest.mark.parametrize("curved", [False, True])
def test_clarabel_has_its_answer_under_a_time_limit(curved):
    instance = fairlp.examples.ghodsi()
    model = fairlp.formulate(instance, "ceei" if curved else "drf")
    limited = model.solve("cvxpy:CLARABEL", time_limit=60).require_optimal()
    assert limited.objective == pytest.approx(model.solve("cvxpy:CLARABEL").objective, rel=1e-7)


def test_a_status_says_once_by_whose_word_it_is():
    model = Model("m")
    x = model.variable("x", upper=0)
    model.constraint("row", x == 0.3 - 0.1 - 0.2)
    model.minimize(x + model.variable("b", binary=True))
    for solver in ("highs", "scip", "scipy", "glpk"):
        if fairlp.solvers().loc[solver, "available"]:
            assert str(model.solve(solver).status).count("as the solver says") <= 1
