"""What is changed after a model was compiled is either seen by the next solve, or refused; never swallowed."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest

from fairlp import Index, Model
from fairlp.errors import ModelError


@pytest.fixture
def model():
    n, r = Index("n", ["ann", "bob"], "user"), Index("r", ["cpu"], "resource")
    model = Model("m", indices=(n, r))
    d, phi = model.parameter("d", (n, r), [[1], [1]]), model.parameter("phi", n, [1, 1])
    x, t = model.variable("x", n), model.variable("t")
    model.constraint("capacity", (d * x).sum(n) <= 12)
    model.constraint("fairness", x >= phi * t)
    model.maximize(t)
    return model


def level(model):
    return model.solve().objective


def test_set_is_seen_by_the_next_solve(model):
    assert level(model) == pytest.approx(6)
    model.parameters["phi"].set(pd.Series({"bob": 1, "ann": 2}))
    assert level(model) == pytest.approx(4)
    model.parameters["phi"].set([5, 1])
    assert level(model) == pytest.approx(2)
    model.variables["t"].set(upper=1)
    assert level(model) == pytest.approx(1)
    model.variables["t"].set(upper=None)
    model.remove("capacity")
    assert model.solve().status.termination.name == "UNBOUNDED"


def test_set_reaches_the_same_parameter_over_other_symbols():
    n = Index("n", ["ann", "bob"])
    m = n.alias("m")
    model = Model("m")
    w, x = model.parameter("w", n, [1, 1]), model.variable("x", n)
    model.constraint("one", w[m] * x[m] <= 1)
    model.maximize(x.sum())
    assert level(model) == pytest.approx(2)
    w.set([2, 4])
    assert level(model) == pytest.approx(0.75)
    assert w[m].values.tolist() == [2, 4] and x[m].lower.tolist() == [0, 0]
    w[m].set([1, 2])
    assert level(model) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2, 3], r"parameter 'phi' has shape \(3,\), expected \(2,\)"),
        ([1, np.nan], "bob.* is nan; expected a finite number"),
        ({"ann": 1}, "parameter 'phi' has no user 'bob'"),
        (pd.Series({"ann": 1, "cat": 2}), "parameter 'phi' names user 'cat', which is unknown"),
    ],
)
def test_set_checks_as_much_as_the_declaration(model, values, message):
    with pytest.raises(ModelError, match=message):
        model.parameters["phi"].set(values)
    assert level(model) == pytest.approx(6)
    with pytest.raises(ModelError, match="no number is between its bounds"):
        model.variables["t"].set(lower=2, upper=1)


def test_values_and_bounds_are_read_only(model):
    values = np.array([1.0, 1.0])
    model.parameters["phi"].set(values)
    values[0] = 7  # the caller's array stays the caller's
    for array in (
        model.parameters["phi"].values,
        model.variables["x"].lower,
        model.variables["x"].upper,
    ):
        assert array[0] != 7
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2


def assignments(model):
    x, phi, block = model.variables["x"], model.parameters["phi"], model.constraints["fairness"]
    return {
        "phi.value": (
            lambda: setattr(phi, "value", [2, 1]),
            r"'value' of .*\.set\(values\)",
        ),
        "phi.values": (lambda: setattr(phi, "values", np.ones(2)), r"\.set\(values\)"),
        "phi.name": (lambda: setattr(phi, "name", "w"), r"'name' of Parameter phi cannot be set"),
        "x.lower": (lambda: setattr(x, "lower", np.ones(2)), r"\.set\(lower=…, upper=…\)"),
        "x.integer": (lambda: setattr(x, "integer", True), "'integer' of Variable x cannot be set"),
        "x.typo": (lambda: setattr(x, "lb", 1), "'lb' of Variable x cannot be set"),
        "relation": (lambda: setattr(block.relation, "left", x), "cannot be set"),
        "sum": (lambda: setattr(block.relation.left, "indices", ()), "cannot be set"),
        "index": (
            lambda: setattr(x.indices[0], "labels", ["a", "b"]),
            "'labels' of Index user cannot be set",
        ),
        "model.objective": (
            lambda: setattr(model, "objective", x),
            r"takes no 'objective' by assignment.*maximize",
        ),
        "model.sense": (lambda: setattr(model, "sense", "min"), "takes no 'sense'"),
        "model.typo": (lambda: setattr(model, "solver", "scip"), "takes no 'solver'"),
    }


NAMES = [
    *(
        "phi.value",
        "phi.values",
        "phi.name",
        "x.lower",
        "x.integer",
        "x.typo",
        "relation",
        "sum",
        "index",
    ),
    *("model.objective", "model.sense", "model.typo"),
]


@pytest.mark.parametrize("name", NAMES)
def test_assignments_that_would_be_swallowed_are_refused(model, name):
    act, message = assignments(model)[name]
    with pytest.raises(ModelError, match=message):
        act()
    assert level(model) == pytest.approx(6)


def test_a_name_is_in_the_next_program_and_a_copy_is_another_model(model):
    assert model.compile().name == "m"
    model.name = "other"
    assert model.compile().name == "other"
    twin = copy.deepcopy(model)
    twin.parameters["phi"].set([2, 1])
    assert level(twin) == pytest.approx(4) and level(model) == pytest.approx(6)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_copy_is_solved_with_its_own_numbers(model, compiled):
    if compiled:
        model.compile()
    twin = model.copy()
    twin["phi"].set([2, 1])
    assert level(twin) == pytest.approx(4) and level(model) == pytest.approx(6)
    model["phi"].set([5, 1])
    assert level(twin) == pytest.approx(4) and level(model) == pytest.approx(2)
