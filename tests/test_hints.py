"""Idioms of other modelling tools: each works, or the error says what to write here, and that is right."""

import ast
import copy
import functools
import itertools
import math
import operator
import pickle
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import fairlp
from fairlp import Index, Model, hints
from fairlp.errors import FairlpError
from fairlp.hints import CALLS, HINTS
from hint_code import phrases, run, scopes
from idioms import IDIOMS

#: Modules that an idiom may name.
MODULES = {
    "copy": copy, "functools": functools, "itertools": itertools, "math": math, "operator": operator, "pickle": pickle,
    "np": np, "pd": pd, "fairlp": fairlp, "Index": Index, "Model": Model, "Decimal": Decimal, "Fraction": Fraction,
}  # fmt: skip
#: Hints that only say something, since nothing has to be written.
WITHOUT_CODE = {
    "an objective has no name",
    "every objective and constraint is checked when it is declared",
    "no update is needed; the next solve takes all changes",
    "nothing is closed or reset; the next solve takes the model as it is",
    "write None for no bound",
}
#: Every text that says what to write.
TEXTS = sorted({*(hint for table in HINTS.values() for hint in table.values()), *CALLS.values()})


class Tool:
    """A package that an idiom takes a constant from, such as CVXPY."""

    HIGHS = "HIGHS"


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
        "frame": pd.DataFrame(matrix, ["s1", "s2"], ["ann", "bob"]), "cp": Tool, "callback": print,
        "rule": lambda model, label: model["x"][label] <= 1,
        "solution": model.solve(),
    }  # fmt: skip


@pytest.mark.parametrize("idiom", IDIOMS)
def test_an_idiom_works_or_says_what_to_write(idiom, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    remedy = IDIOMS[idiom]
    if remedy is None:
        exec(idiom, names())
        return
    with pytest.raises((FairlpError, AttributeError)) as error:
        exec(idiom, names())
    assert remedy in str(error.value)


def test_there_are_idioms_of_every_kind():
    assert len(IDIOMS) > 1_100  # as docs/coming-from.md says
    assert len([idiom for idiom, remedy in IDIOMS.items() if remedy is None]) >= 100


@pytest.mark.parametrize("hint", TEXTS)
def test_what_a_hint_says_to_write_runs_in_a_model(hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    codes = phrases(hint)
    assert bool(codes) == (hint not in WITHOUT_CODE)
    problems = []
    for scope in scopes():
        try:
            run(codes, scope)
        except Exception as problem:  # of a model that the hint is not about
            problems.append(f"{type(problem).__name__}: {problem}")
        else:
            return
    pytest.fail(f"{codes} runs in no model:\n" + "\n".join(problems))


def test_code_is_told_from_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert phrases("write x.sum(n) over one index, x.sum() over all") == ["x.sum(n)", "x.sum()"]
    assert phrases("it is checked when it is declared") == []
    with pytest.raises(TypeError, match="'upper_bound'"):
        run(["model.variable('z', n, upper_bound=3)"], next(scopes()))
    with pytest.raises(TypeError, match="'upper_bound'"):
        run(["upper_bound=3"], next(scopes()))


def test_no_hint_hides_what_there_is():
    """A name of a table is none of the class itself: else its hint would never be read."""
    things = names()
    owners = {
        "fairlp": fairlp, "Model": things["model"], "Expression": things["x"] + 0, "Variable": things["x"],
        "Constraint": things["row"], "Index": things["n"], "Solution": things["solution"],
        "ParameterPart": things["d"], "VariablePart": things["x"]["ann"], "Relation": things["x"] <= 1,
        "NamedView": things["model"].variables, "BlockView": things["solution"].values,
        "Status": things["solution"].status,
    }  # fmt: skip
    settable = {"objective", "sense", "value"}
    for owner, thing in owners.items():
        assert not (set(HINTS[owner]) & set(dir(thing))) - settable, owner


def test_no_table_says_two_things_of_a_name():
    tables = [
        call.args[0]
        for call in ast.walk(ast.parse(Path(hints.__file__).read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "_by_name"
    ]
    assert len(tables) == len(HINTS)
    for table in tables:
        hints_of_table = [ast.unparse(key) for key in table.keys]
        names_of_table = " ".join(ast.literal_eval(value) for value in table.values).split()
        for entries in (hints_of_table, names_of_table):
            assert not [entry for entry, count in Counter(entries).items() if count > 1]


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
    assert error.value.name == "zzz" and not isinstance(error.value, FairlpError)
    with pytest.raises(TypeError, match="variable has no keyword 'zzz'"):
        names()["model"].variable("z", zzz=3)
