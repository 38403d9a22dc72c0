"""Sizes and ranges of programs by block, and their differences by name, against dictionaries of every number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairlp import Index, Model, log
from fairlp.errors import ModelError
from profiles import many
from random_models import Recipe


def numbers(program):
    """Every number of a program by part, row and column."""
    entries = {("offset", "", ""): program.offset}
    rows, columns = program.row_names, program.column_names
    for k, row in enumerate(rows):
        entries |= {
            (field, row, ""): getattr(program, field)[k] for field in ("row_lower", "row_upper")
        }
    for k, column in enumerate(columns):
        parts = ("c", "col_lower", "col_upper", "integrality")
        entries |= {(field, "", column): getattr(program, field)[k] for field in parts}
    dense = program.A.toarray()
    for place in np.argwhere(dense):
        entries["coefficient", rows[place[0]], columns[place[1]]] = dense[tuple(place)]
    return entries


@settings(max_examples=many(30), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_differences_are_those_of_every_number(seed, changes):
    recipe = Recipe(seed)
    model = recipe.build()
    other = model.copy()
    assert model.equals(other) and model.diff(other).empty
    rng = np.random.default_rng(seed)
    for name in rng.choice(list(model.parameters), changes):
        other[name].set(other[name].values * 1.5)
    first, second = numbers(model.compile()), numbers(other.compile())
    expected = {
        key for key in first.keys() | second.keys() if first.get(key, 0) != second.get(key, 0)
    }
    table = model.diff(other)
    entries = table[~table["part"].str.startswith("logarithm")]
    assert set(map(tuple, entries[["part", "row", "column"]].to_numpy())) == expected and len(
        entries
    ) == len(expected)
    for line in entries.itertuples():
        key = (line.part, line.row, line.column)
        assert (line.first, line.second) == (first.get(key, 0), second.get(key, 0))
    assert model.equals(other) == table.empty


def two(turned=False):
    n = Index("n", ["ann", "bob"][:: -1 if turned else 1])
    model = Model("m", indices=(n,))
    declare = [
        lambda: model.variable("x", n, upper={"ann": 1, "bob": 2}),
        lambda: model.variable("y", integer=True),
    ]
    x, y = (act() for act in declare) if not turned else reversed([act() for act in declare[::-1]])
    named = {"a": x + y >= {"bob": 3, "ann": 4}, "b": 2 * x.sum() - y <= 1}
    for name in sorted(named, reverse=turned):
        model.constraint(name, named[name])
    model.maximize(log(x["ann"] + 1) + y)
    return model


def test_order_does_not_matter_and_names_do():
    model, turned = two(), two(turned=True)
    assert model.compile().column_names != turned.compile().column_names
    assert model.equals(turned) and turned.equals(model.compile())
    turned.variable("z")
    turned.remove("b")
    turned["x"].set(upper=1)
    turned.minimize(turned["y"])
    table = model.diff(turned)
    assert [
        tuple(line)
        for line in table[table["part"].isin(["sense", "row", "column", "col_upper"])].to_numpy()
    ] == [
        ("sense", "", "", "max", "min"),
        ("row", "b", "", True, False),
        ("column", "", "z", False, True),
        ("col_upper", "", "x[bob]", 2.0, 1.0),
    ]
    assert {"logarithm of", "logarithm's weights"} <= set(table["part"])


def test_names_that_are_not_unique_are_refused():
    n, i = Index("n", ["a,b", "a"]), Index("i", ["c", "b,c"])
    model = Model("m", indices=(n, i))
    model.variable("x", n, i)
    with pytest.raises(ModelError, match=r"'x\[a,b,c\]' is the name of several"):
        model.diff(model.copy())


def test_statistics_are_those_of_the_arrays():
    model = two()
    table = model.statistics()
    assert (
        table.loc[("constraint", "a"), "size"] == 2
        and table.loc[("variable", "y"), "integers"] == 1
    )
    total = table.loc[("constraint", "")]
    program = model.compile()
    assert total["nonzeros"] == program.A.nnz == table.loc[("variable", ""), "nonzeros"]
    assert (total["smallest coefficient"], total["largest coefficient"]) == (1, 2)
    assert (total["smallest bound"], total["largest bound"]) == (1, 4) and np.isnan(
        total["largest cost"]
    )
    assert (
        table.loc[("variable", "x"), "largest bound"] == 2
        and table.loc[("variable", ""), "largest cost"] == 1
    )
    assert Model("empty").statistics()["size"].tolist() == [0, 0]


def test_scaling_brings_the_numbers_together_and_keeps_their_places():
    n = Index("n", range(4))
    model = Model("m", indices=(n,))
    w = model.parameter("w", n, [1e-6, 1, 1e3, 1e9])
    x = model.variable("x", n)
    model.constraint("k", w * x <= w)
    model.maximize(x.sum())
    plain, scaled = model.statistics(), model.statistics(scaled=True)
    assert plain["nonzeros"].tolist() == scaled["nonzeros"].tolist()
    spread = [
        table["largest coefficient"].iloc[0] / table["smallest coefficient"].iloc[0]
        for table in (plain, scaled)
    ]
    assert spread[0] == pytest.approx(1e15) and spread[1] <= 4
