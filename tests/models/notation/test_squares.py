"""Squares in an objective: against the conditions of Karush, Kuhn and Tucker, SciPy, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import lsq_linear

import fairlp
from fairlp import Index, Model, log, power
from fairlp.errors import ModelError, UnsupportedError
from fairlp.tolerances import CONVEX_POINT
from profiles import many

pytest.importorskip("cvxpy")
N, K = Index("n", ["ann", "bob", "cat"], "user"), Index("k", range(4), "point")
SOLVERS = ["cvxpy:CLARABEL", "cvxpy:OSQP", "cvxpy:SCS"]


@settings(max_examples=many(20), deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_least_squares_within_bounds_are_those_of_scipy(seed, largest):
    rng = np.random.default_rng(seed)
    a, b, low = (
        rng.integers(-3, 4, (4, 3)) + np.eye(4, 3),
        rng.integers(-9, 9, 4),
        rng.integers(-3, 1, 3),
    )
    model = Model("fit", indices=(K, N))
    p, x = model.parameter("p", (K, N), a), model.variable("x", N, lower=low, upper=low + 2)
    error = ((p @ x - b) ** 2).sum() / 2
    (model.maximize if largest else model.minimize)(-error if largest else error)
    solution = model.solve("cvxpy:CLARABEL")
    assert solution.status.is_optimal and solution.verify().is_optimal
    expected = lsq_linear(a, b, (low, low + 2), tol=1e-14).cost
    assert (-solution.objective if largest else solution.objective) == pytest.approx(
        expected, rel=1e-6, abs=1e-8
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_projection_on_a_simplex_and_its_price(solver):
    if not fairlp.solvers().loc[solver, "available"]:
        pytest.skip(f"{solver} is not installed")
    model = Model("near", indices=(N,))
    x, want = model.variable("x", N), model.parameter("want", N, [5, 3, -1])
    cake = model.constraint("cake", x.sum() == 4)
    model.minimize(((x - want) ** 2).sum())
    solution = model.solve(solver)
    assert solution.values["x"].to_numpy() == pytest.approx([3, 1, 0], abs=1e-5)
    assert solution.duals[cake.name] == pytest.approx(-4, abs=1e-4)  # 2·(3 − 5)
    want.set([1, 3, 3])
    assert model.solve(solver).values["x"].to_numpy() == pytest.approx([0, 2, 2], abs=CONVEX_POINT)


def test_squares_stand_beside_logarithms_powers_and_a_linear_part():
    model = Model("mixed", indices=(N,))
    x = model.variable("x", N, upper=9)
    y = x["ann"]
    model.maximize(
        4 * log(y)
        - y * y / 2
        + 8 * power(x["bob"], 0.5)
        - x["bob"] ** 2
        + 2 * x["cat"]
        - x["cat"] ** 2
    )
    solution = model.solve("cvxpy:CLARABEL")
    assert solution.values["x"].to_numpy() == pytest.approx(
        [2, 1.5874, 1], abs=1e-3
    )  # 4/y = y; 4/√b = 2·b
    assert str(x * x) == "x[n]^2" and "quadratic" not in repr(model.compile())


def test_they_are_refused_where_they_are_not_convex_not_linear_or_not_solved(tmp_path):
    model = Model("m", indices=(N,))
    x, w = model.variable("x", N, upper=5), model.parameter("w", N, [1, 1, 1])
    with pytest.raises(ModelError, match="multiplies variables with variables; squares"):
        x * x["ann"]
    with pytest.raises(ModelError, match=r"is not linear: .*docs/squares-and-norms.md"):
        model.constraint("k", x**2 <= 4)
    with pytest.raises(ModelError, match="expected a number below 1, not 0, or 2"):
        x**3
    model.minimize((w * x * 1 + (w * (x - 1) ** 2)).sum())
    assert "quadratic program" in repr(model.compile())
    for solver in ("highs-ipm", "scipy", "interior-point"):
        with pytest.raises(UnsupportedError, match="has squares, which"):
            model.solve(solver)
    with pytest.raises(ModelError, match="a square has no place in"):
        model.write(tmp_path / "m.mps")
    with pytest.raises(UnsupportedError, match="HiGHS has no"):
        model.to_highs()
    w.set([1, -1, 1])
    with pytest.raises(ModelError, match=r"squares make no concave problem to minimize; found -2"):
        model.compile()
    model.maximize((x**2).sum())
    with pytest.raises(ModelError, match="squares make no concave problem to maximize"):
        model.compile()


def test_with_integers_no_other_solver_takes_its_place():
    model = Model("m", indices=(N,))
    x = model.variable("x", N, upper=5, integer=True)
    model.minimize((x**2).sum())
    with pytest.raises(UnsupportedError, match="has squares, which highs"):
        model.solve()
