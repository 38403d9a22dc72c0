"""A model as a CVXPY problem in CVXPY's own parameters: with other values it is the model with other numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairlp import Index, Model, log
from fairlp.errors import ModelError, UnsupportedError
from profiles import many

N, R = Index("n", ["ann", "bob", "cat"]), Index("r", ["cpu", "memory"])


def cluster(draw):
    """Costs, coefficients, right-hand sides, ranges and the constant, all in parameters."""
    model = Model("cluster", indices=(N, R))
    x, y = model.variable("x", N, upper=9), model.variable("y", R, where=[True, False])
    d, c = (
        model.parameter("d", (N, R), draw.uniform(0.5, 2, (3, 2))),
        model.parameter("c", R, draw.uniform(3, 9, 2)),
    )
    w, h = model.parameter("w", N, draw.uniform(0.5, 2, 3)), model.parameter("h", (), 2.0)
    model.constraint("capacity", (d * x).sum(N) + y <= c)
    model.constraint("near", (x["ann"] - x["bob"]).between(-h, h))
    model.constraint("level", 2 * x >= x.mean(N) + 0 * w - 3)
    model.constraint("sum", y["cpu"] <= c.sum() / 2 + h)
    model.constraint("some", d["bob", :] * x["bob"] <= 3 * (c - w["cat"]) + 20, where=[False, True])
    model.constraint("cross", (d["cat", "cpu"] * x).sum() + (w * (x + 1)).sum() <= 40 + d.sum())
    model.maximize((w * x).sum() - y.sum() + 3 * h)
    return model


@settings(max_examples=many(40), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_other_values_are_those_of_the_model(seed):
    draw = np.random.default_rng(seed)
    model = cluster(draw)
    names = [str(name) for name in draw.permutation(["d", "c", "w", "h"])[: draw.integers(1, 5)]]
    before = {name: model.parameters[name].values.copy() for name in names}
    problem = model.to_cvxpy(parameters=names)
    assert set(problem.param_dict) == set(names) and problem.is_dcp(dpp=True)
    assert all(
        np.array_equal(model.parameters[name].values, values) for name, values in before.items()
    )
    assert problem.solve(solver="HIGHS") == pytest.approx(model.solve().objective, rel=1e-6)
    for name, values in before.items():
        problem.param_dict[name].value = other = draw.uniform(0.5, 3, values.shape)
        model.parameters[name].set(other)
    assert problem.solve(solver="HIGHS") == pytest.approx(model.solve().objective, rel=1e-6)
    assert model.read_back(problem).status.is_optimal


def test_both_ends_of_a_range_and_zeros():
    model = Model("band", indices=(N,))
    x, a = model.variable("x", N), model.parameter("a", N, [0.0, 2.0, 0.0])
    low, high = model.parameter("low", (), 1.0), model.parameter("high", (), 4.0)
    model.constraint("band", x.between(low, high))
    model.constraint("row", (a * x).sum() <= 6)
    model.maximize(x.sum())
    problem = model.to_cvxpy(parameters=["low", "high", "a"])
    assert problem.solve(solver="HIGHS") == pytest.approx(11)
    problem.param_dict["a"].value, problem.param_dict["high"].value = np.array([1.0, 0.0, 1.0]), 5.0
    assert problem.solve(solver="HIGHS") == pytest.approx(11)
    assert a.values.tolist() == [0, 2, 0]


def test_what_is_no_parameter_of_cvxpys_is_refused():
    model = cluster(np.random.default_rng(0))
    with pytest.raises(ModelError, match="no parameter 'e'"):
        model.to_cvxpy(parameters=["e"])
    c, w = model.parameters["c"], model.parameters["w"]
    d = model.parameters["d"]
    model.constraint("both", (d * w * model["x"]).sum() <= 90)
    assert model.to_cvxpy(parameters=["d"]).param_dict.keys() == {"d"}
    with pytest.raises(UnsupportedError, match="'d' cannot be one of CVXPY's"):
        model.to_cvxpy(parameters=["d", "w"])
    model.remove("both")
    model.constraint("square", model["y"]["cpu"] <= c * c)
    with pytest.raises(UnsupportedError, match="'c' cannot be one of CVXPY's"):
        model.to_cvxpy(parameters=["c"])
    model.remove("square")
    model.constraint("product", model["x"] <= model.parameters["h"] * w)
    assert model.to_cvxpy(parameters=["w"]).param_dict.keys() == {"w"}
    with pytest.raises(UnsupportedError, match="'w' cannot be one of CVXPY's"):
        model.to_cvxpy(parameters=["w", "h"])
    model.remove("product")
    model.constraint("inverse", model["x"] <= 1 / w)
    with pytest.raises(UnsupportedError, match="'w'"):
        model.to_cvxpy(parameters=["w"])
    model.remove("inverse")
    model.maximize((w * log(model["x"])).sum())
    with pytest.raises(UnsupportedError, match="without logarithms"):
        model.to_cvxpy(parameters=["w"])


def test_an_end_of_a_range_that_is_an_equation_now_is_refused():
    model = Model("band", indices=(N,))
    x = model.variable("x", N)
    low = model.parameter("low", (), 4.0)
    model.constraint("band", x.between(low, 4))
    model.maximize(x.sum())
    with pytest.raises(UnsupportedError, match="both ends are equal now"):
        model.to_cvxpy(parameters=["low"])
    low.set(3)
    assert model.to_cvxpy(parameters=["low"]).solve(solver="HIGHS") == pytest.approx(12)


def test_a_parameter_of_many_elements_needs_no_table_of_pairs_of_elements():
    users, servers = Index("n", range(200)), Index("i", range(150))
    draw = np.random.default_rng(0)
    model = Model("large", indices=(users, servers))
    d = model.parameter("d", users, draw.uniform(1, 2, 200))
    limit = model.parameter("most", servers, draw.uniform(10, 20, 150))
    values = model.parameter("worth", (users, servers), draw.uniform(1, 2, (200, 150)))
    x = model.variable("x", users, servers)
    model.constraint("capacity", (d * x).sum(users) <= limit)
    model.maximize((values * x).sum())
    problem = model.to_cvxpy(parameters=["d", "most", "worth"])
    limit.set(2 * limit.values)
    problem.param_dict["most"].value = limit.values
    assert problem.solve(solver="HIGHS") == pytest.approx(model.solve().objective)


def test_a_model_without_rows_has_costs_in_parameters():
    model = Model("free", indices=(N,))
    x, w = model.variable("x", N, upper=2), model.parameter("w", N, [1.0, 0.0, 2.0])
    model.maximize((w * x).sum() + w["cat"])
    problem = model.to_cvxpy(parameters=["w"])
    problem.param_dict["w"].value = np.array([1.0, 3.0, 4.0])
    assert problem.solve(solver="HIGHS") == pytest.approx(20)
