"""Handles: what a name stands for, constraints removed and replaced, copies; every error names the block."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from fairlp import Index, Model
from fairlp.errors import ModelError, UnknownNameError
from random_models import Recipe, same_bytes

N, R = Index("n", ["ann", "bob"], "user"), Index("r", ["cpu", "mem"], "resource")


@pytest.fixture
def model():
    model = Model("drf", indices=(N, R))
    d, c = model.parameter("d", (N, R), [[1, 4], [3, 1]]), model.parameter("c", R, [9, 18])
    subset = model.subset("S", N, [True, False], "early ones")
    x, t = model.variable("x", N), model.variable("t")
    model.constraint("capacity", (d * x).sum(N) <= c)
    model.constraint("fairness", x >= t)
    model.constraint("early", x <= 5, where=subset)
    model.define("twice", 2 * x)
    model.maximize(t)
    return model


def state(model):
    """Everything that a model says and compiles to."""
    model.compile()
    return str(model), model.compile()


def test_a_name_stands_for_what_was_declared(model):
    assert model["x"] is model.variables["x"] and model["d"] is model.parameters["d"]
    assert model["S"] is model.subsets["S"] and model["capacity"] is model.constraints["capacity"]
    assert model["twice"] is model.definitions["twice"] and "x" in model and "nothing" not in model
    with pytest.raises(UnknownNameError, match="model 'drf' has nothing called 'capasity'"):
        model["capasity"]
    with pytest.raises(TypeError):
        iter(model)
    model.constraint("t", model["x"] <= 8)
    with pytest.raises(
        ModelError,
        match=r"could be any \['variable', 'constraint'\]",
    ):
        model["t"]


def test_the_handle_of_a_constraint(model):
    row = model["capacity"]
    assert (
        row.name == "capacity"
        and row.rows == ["capacity[cpu]", "capacity[mem]"]
        and row.size == len(row) == 2
    )
    assert str(row.relation) == "∑_n d[n,r]·x[n] ≤ c[r]" and row.over == (R,)
    assert model.constraint("more", model["t"] <= 3) is model["more"]
    assert model["early"].rows == ["early[ann]"] and model["early"].where is model["S"]
    assert model["more"].rows == ["more"]
    before = model.compile().n_rows
    row.remove()
    assert "capacity" not in model and model.compile().n_rows == before - 2
    with pytest.raises(
        ModelError, match="constraint 'capacity' is of another model, or was removed or replaced"
    ):
        row.remove()


def test_what_is_used_is_not_removed_and_the_message_says_where(model):
    before = state(model)
    for name, message in {
        "x": r"variable 'x' is used in constraint 'capacity', constraint 'f",
        "t": "variable 't' is used in constraint 'fairness', the objective",
        "c": "parameter 'c' is used in constraint 'capacity'; remove or replace first",
        "S": "subset 'S' is used in constraint 'early'",
    }.items():
        for handle in (name, model[name]):
            with pytest.raises(ModelError, match=message):
                model.remove(handle)
    assert state(model) == before
    with pytest.raises(ModelError, match="3 is no name"):
        model.remove(3)
    model.remove("capacity")
    for name in ("c", "d"):
        model.remove(model[name])
        assert name not in model
    model["early"].remove()
    model.remove("S")
    model.remove("twice")
    assert not model.subsets and not model.definitions and not model.parameters
    model["fairness"].remove()
    model.remove("x")
    assert model.compile().column_names == ["t"]


def test_what_was_removed_cannot_be_used(model):
    c, x = model["c"], model["x"]
    model.remove("capacity")
    model.remove("c")
    with pytest.raises(
        ModelError,
        match="constraint 'new' uses parameter 'c', which is of another model or was removed",
    ):
        model.constraint("new", x <= c.sum())
    model.define("x2", x)
    model.remove("x2")  # the name of the formula, not the variable that it is
    assert model["x"] is x


def test_replace_keeps_name_place_and_mask(model):
    handle = model["fairness"].replace(model["x"] >= 2 * model["t"])
    assert handle is model["fairness"] and list(model.constraints) == [
        "capacity",
        "fairness",
        "early",
    ]
    assert model.compile().A.toarray()[2].tolist() == [1, 0, -2]
    model.replace("early", model["x"] <= 4)
    assert model["early"].where is model["S"] and model.compile().row_upper[-1] == 4
    model.replace("early", model["x"] <= 4, where=None)
    assert model["early"].where is None and model.compile().n_rows == 6
    model.replace(model["early"], model["x"] <= 3, where=np.array([False, True]))
    assert model["early"].rows == ["early[bob]"]
    before = state(model)
    for act, message in (
        (
            lambda: model.replace("early", model["x"].sum() <= 3),
            r"constraint 'early' holds for some labels, and the new relati",
        ),
        (
            lambda: model.replace("x", model["x"] <= 3),
            "'x' is a variable; only constraints are replaced",
        ),
        (lambda: model.replace("erly", model["x"] <= 3), "did you mean 'early'"),
        (
            lambda: model.replace("early", model["x"]),
            "constraint 'early' is .* expected left <= right",
        ),
        (
            lambda: model.replace("early", model["x"] <= 3, where=[True]),
            "'where' of constraint 'early' is bool",
        ),
        (
            lambda: model.replace("early", model["x"].between(3, 2)),
            r"constraint early\[bob\]: the lower end 3 is above",
        ),
        (
            lambda: handle.replace(Model("o").variable("v") <= 3),
            "constraint 'fairness' uses variable 'v', which is of an",
        ),
    ):
        with pytest.raises((ModelError, UnknownNameError), match=message):
            act()
        assert state(model) == before
    model.replace("early", model["x"].sum() <= 3, where=None)
    assert model["early"].rows == ["early"]


def edits(model):
    """Each changes a model."""
    return {
        "set": lambda: model["d"].set([[2, 2], [2, 2]]),
        "bounds": lambda: model["x"].set(upper=1),
        "remove": lambda: model.remove("early"),
        "replace": lambda: model.replace("fairness", model["x"] >= 3 * model["t"]),
        "constraint": lambda: model.constraint("one", model["t"] <= 1),
        "variable": lambda: model.variable("y", N),
        "objective": lambda: model.minimize(model["x"].sum()),
        "define": lambda: model.define("three", 3 * model["x"]),
        "subset": lambda: model.subset("T", N, [False, True]),
        "name": lambda: setattr(model, "name", "other"),
    }


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", edits(None))
def test_a_copy_is_independent_in_both_directions(model, name, compiled):
    if compiled:
        model.compile()
    for twin in (model.copy(), copy.copy(model)):
        assert str(twin) == str(model) and same_bytes(twin.compile(), model.compile()) == []
        assert twin["x"] is not model["x"] and twin["capacity"] is not model["capacity"]
        before = state(model)
        edits(twin)[name]()
        twin.compile()
        assert state(model) == before
        assert set(model.definitions) == {"twice"} and set(model.subsets) == {"S"}
    twin = model.copy()
    before = state(twin)
    edits(model)[name]()
    model.compile()
    assert state(twin) == before and set(twin.definitions) == {"twice"}


def test_a_copy_has_numbers_that_were_set_and_not_compiled_yet(model):
    model.compile()
    model["c"].set([5, 7])
    model["x"].set(upper=2)
    twin = model.copy()
    assert twin.compile().row_upper.tolist()[:2] == [
        5,
        7,
    ] and twin.compile().col_upper.tolist() == [2, 2, np.inf]
    assert same_bytes(twin.compile(), model.compile()) == []


def test_expressions_and_handles_of_the_original_are_not_valid_in_the_copy(model):
    twin = model.copy()
    x, d, row = model["x"], model["d"], model["capacity"]
    before = state(twin)
    for act, message in (
        (
            lambda: twin.constraint("new", x <= 1),
            r"constraint 'new' uses variable 'x'.*take model\['x'\] of 'drf'",
        ),
        (
            lambda: twin.constraint("new", twin["x"] <= d.sum(R)),
            "constraint 'new' uses parameter 'd'",
        ),
        (
            lambda: twin.constraint("new", twin["x"].between(0, d.sum())),
            "constraint 'new' uses parameter 'd'",
        ),
        (lambda: twin.maximize(x["ann"]), "the objective uses variable 'x'"),
        (
            lambda: twin.define("new", d["ann", :] * twin["x"]),
            "definition 'new' uses parameter 'd'",
        ),
        (
            lambda: twin.remove(row),
            "constraint 'capacity' is of another model, or was removed or replaced",
        ),
        (lambda: twin.remove(x), "variable 'x' is of another model"),
        (lambda: twin.replace(row, twin["t"] <= 1), "constraint 'capacity' is of another model"),
        (lambda: twin.sweep(d, []), "parameter 'd' is of another model"),
    ):
        with pytest.raises(ModelError, match=message):
            act()
        assert state(twin) == before
    twin.constraint("new", twin["x"] <= twin["d"].sum(R))
    twin.remove(twin["capacity"])
    assert "new" not in model and "capacity" in model


@pytest.mark.slow
def test_copies_of_random_models_compile_to_the_same_bytes_and_survive_pickling():
    for seed in range(40):
        model = Recipe(seed).build()
        twin = model.copy()
        assert twin._program is None and str(twin) == str(model)
        assert same_bytes(twin.compile(), model.compile()) == []
        assert same_bytes(pickle.loads(pickle.dumps(model)).compile(), model.compile()) == []


@pytest.mark.parametrize(
    "name", ["index", "expression", "relation", "constraint", "element", "range"]
)
def test_attributes_are_read_only_and_others_do_not_exist(model, name):
    x = model["x"]
    handle = {
        "index": N,
        "expression": 2 * x + 1,
        "relation": x <= 1,
        "constraint": model["capacity"],
        "element": x["ann"],
        "range": x.between(0, 1),
    }[name]
    for attribute in (*list(vars(handle))[:2], "typo"):
        with pytest.raises(ModelError, match=attribute):
            setattr(handle, attribute, 3)
    assert not hasattr(handle, "typo")
