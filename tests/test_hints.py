"""Idioms of other modelling tools: each works, or is refused; what an error says to write here is right."""

import copy
import functools
import itertools
import math
import operator
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray as xr

import fairlp
from fairlp import Index, Model
from fairlp.hints import HINTS
from idioms import REFUSED, WORKING
from profiles import by_day

#: Modules that an idiom may name.
MODULES = {
    "copy": copy, "functools": functools, "itertools": itertools, "math": math, "operator": operator, "pickle": pickle,
    "np": np, "pd": pd, "xr": xr, "fairlp": fairlp, "Index": Index, "Model": Model, "Decimal": Decimal,
    "Fraction": Fraction,
}  # fmt: skip


def assert_(value):
    """Assert, as an expression."""
    assert value


def names():
    """What an idiom may name."""
    n, i = Index("n", ["ann", "bob"], "user"), Index("i", ["s1", "s2"], "server")
    t = Index("t", range(3), "hour")
    model = Model("m", indices=(n, i, t))
    x = model.variable("x", n, upper=3)
    y = model.variable("y", n, binary=True)
    g = model.variable("g", n, i, upper=1)
    u = model.variable("u", t, upper=1)
    d = model.parameter("d", n, [1, 2])
    row = model.constraint("total", (d * x).sum() <= 4)
    model.maximize(x.sum())
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    return {
        **MODULES,
        "assert_": assert_,
        "n": n, "i": i, "t": t, "model": model, "x": x, "y": y, "g": g, "u": u, "d": d, "row": row,
        "A": matrix, "sparse": scipy.sparse.csr_array(matrix), "mask": np.array([True, False]),
        "frame": pd.DataFrame(matrix, ["s1", "s2"], ["ann", "bob"]), "callback": print,
        "data": {"ann": 1, "bob": 2}, "solution": model.solve(),
    }  # fmt: skip


@pytest.mark.parametrize("idiom", by_day(WORKING, 3))
def test_an_idiom_works(idiom, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(idiom, names())


@pytest.mark.parametrize("idiom", REFUSED)
def test_what_would_be_silently_wrong_is_refused(idiom):
    with pytest.raises((TypeError, ValueError, LookupError, AttributeError)):
        exec(idiom, names())


@pytest.mark.parametrize("hint", sorted(set(HINTS.values())))
def test_what_a_hint_says_to_write_runs(hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    things = names()
    things["model"].write("model.mps")
    if (
        "start=" not in hint
    ):  # only programs with integers start anywhere, and only others have duals
        things["model"].remove("y")
    exec(hint.removeprefix("write "), things)


def test_hints_are_few():
    assert len(HINTS) <= 150


@pytest.mark.parametrize(
    "code",
    ["model.addVar", "x.ub", "row.Pi", "solution.objVal", "n.coords", "fairlp.LpProblem", "model.variable('z', ub=3)",
     "model.constraint('k', rule=3)", "model.solve(TimeLimit=3)", "(2 * x).getValue()"],
)  # fmt: skip
def test_a_word_of_another_tool_is_answered_with_what_to_write(code):
    with pytest.raises((AttributeError, TypeError, LookupError), match="; write ") as error:
        exec(code, names())
    assert any(hint in str(error.value) for hint in HINTS.values())


def test_what_asks_for_names_still_works():
    things = names()
    for thing in (things["model"], things["x"], things["row"], things["solution"], fairlp):
        assert not hasattr(thing, "lb") and getattr(thing, "add_constraints", None) is None
        assert not hasattr(thing, "_ipython_canary_method_should_not_exist_")
        assert "lb" not in dir(thing)
    assert things["model"].copy()["x"] is not things["x"]
    assert copy.copy(things["x"]).name == "x" and copy.deepcopy(things["model"]).name == "m"
    second = pickle.loads(pickle.dumps(things["model"]))
    assert second.solve().objective == things["solution"].objective
    assert pickle.loads(pickle.dumps(things["solution"])).status == "optimal"
    assert np.array([things["x"], things["x"]]).shape == (2,)


def test_an_attribute_without_a_hint_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="'Model' object has no attribute 'zzz'") as error:
        _ = names()["model"].zzz
    assert error.value.name == "zzz"
    with pytest.raises(TypeError, match="unexpected keyword argument 'zzz'"):
        names()["model"].variable("z", zzz=3)
