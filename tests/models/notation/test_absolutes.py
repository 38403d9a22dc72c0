"""Absolute values in objectives and rows, against SciPy with split variables and by enumeration; who comes and goes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from fairlp import Index, Model
from fairlp.errors import ModelError
from profiles import many
from random_models import forget_program, same_bytes

N, K = Index("n", ["ann", "bob", "cat"], "user"), Index("k", [0, 1, 2, 3], "point")


@settings(max_examples=many(30), deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_deviations_are_those_of_scipy(seed, largest):
    rng = np.random.default_rng(seed)
    a, b, w = rng.integers(-3, 4, (4, 3)), rng.integers(-5, 6, 4), rng.integers(0, 3, 4)
    model = Model("fit", indices=(K, N))
    p, v = model.parameter("p", (K, N), a), model.parameter("w", K, w)
    x = model.variable("x", N, lower=-2, upper=2)
    goal = (v * abs((p * x).sum(N) - b)).sum() - x.sum()
    (model.maximize if largest else model.minimize)(-goal if largest else goal)
    # e = over − under with over, under >= 0
    costs = np.concatenate([-np.ones(3), w, w])
    rows = np.concatenate([a, -np.eye(4), np.eye(4)], axis=1)
    expected = linprog(costs, A_eq=rows, b_eq=b, bounds=[(-2, 2)] * 3 + [(0, None)] * 8).fun
    solution = model.solve()
    assert solution.verify().is_optimal
    assert (-solution.objective if largest else solution.objective) == pytest.approx(
        expected, abs=1e-7
    )
    copy = model.copy()
    forget_program(copy)
    assert same_bytes(copy.compile(), model.compile()) == []
    v.set(w + 1)
    copy["w"].set(w + 1)
    forget_program(copy)
    assert same_bytes(copy.compile(), model.compile()) == []


def one():
    model = Model("m", indices=(N,))
    return model, model.variable("x", N, upper=5), model.parameter("d", N, [1, 2, 3])


def test_variables_and_rows_of_an_objective_go_with_it():
    model, x, d = one()
    distance = abs(x - d)
    model.minimize(distance.sum() + (2 * distance).sum() + abs(x.sum() - 1))
    assert list(model.constraints) == ["abs1_above", "abs1_below", "abs2_above", "abs2_below"]
    assert "minimize  ∑_n abs1[n] + ∑_n 2·abs1[n] + abs2" in str(model) and "|x[n] − d[n]|" in str(
        model
    )
    assert model.compile().row_names[0] == "abs1_above[ann]"
    model.minimize(model.objective + x["ann"])  # what stands for them stays
    assert [name for name in model.variables if name != "x"] == ["abs1", "abs2"]
    model.minimize(x.sum())
    assert not model.constraints and list(model.variables) == ["x"]
    model.minimize(abs(x).sum())
    model.leximin(x + 0)
    assert "abs1" not in model


def test_names_that_are_taken_are_left_alone():
    model, x, _ = one()
    model.variable("abs1")
    model.constraint("abs2_above", x <= 1)
    model.minimize(abs(x).sum())
    assert [name for name in model.variables if name.startswith("abs")] == ["abs1", "abs3"]


def test_what_stands_for_an_absolute_value_is_not_removed_and_not_left_in_use():
    model, x, d = one()
    model.minimize(abs(x - d).sum())
    for act in (
        lambda: model.remove("abs1_above"),
        lambda: model["abs1_below"].replace(x <= 1),
        lambda: model.remove("abs1"),
    ):
        with pytest.raises(ModelError, match=r"was declared for \|x\[n\] − d\[n\]\|"):
            act()
    model.constraint("most", model["abs1"] <= 1)
    before = str(model)
    for goal in (x.sum(), abs(x).sum()):
        with pytest.raises(
            ModelError, match="is used in constraint 'most'; declare a variable of your own"
        ):
            model.minimize(goal)
    assert str(model) == before
    copy = model.copy()
    copy.remove("most")
    copy.minimize(copy["x"].sum())
    assert "abs1" in model and "abs1" not in copy


@pytest.mark.parametrize("weights", [[1, -1, 1], [-1, -1, -1]])
def test_weights_of_the_wrong_sign_are_refused_at_once_and_after_a_change(weights):
    model, x, d = one()
    w = model.parameter("w", N, np.abs(weights))
    model.minimize((w * abs(x - d)).sum())
    model.compile()
    w.set(weights)
    with pytest.raises(
        ModelError,
        match=r"the weight of \|x\[n\] − d\[n\]\| is -1, and to minimize that is not convex",
    ):
        model.compile()
    model.maximize(abs(x).sum())
    with pytest.raises(
        ModelError, match=r"the objective: the weight of \|x\[n\]\| is 1, and to maximize th"
    ):
        model.compile()


def test_a_row_holds_an_absolute_value_between_two_numbers():
    model, x, d = one()
    for name, relation in {
        "one": abs(x - d) <= 1,
        "turned": d / 2 >= abs(x - d),
        "data": abs(x - 1) <= [1, 1, 0],
    }.items():
        model.constraint(name, relation)
    program = model.compile()
    assert program.row_lower.tolist() == [0, 1, 2, 0.5, 1, 1.5, 0, 0, 1]
    assert program.row_upper.tolist() == [2, 3, 4, 1.5, 3, 4.5, 2, 2, 1]
    assert model.constraint("known", x >= abs(d - 2)) and model.compile().row_lower[
        -3:
    ].tolist() == [1, 0, 1]
