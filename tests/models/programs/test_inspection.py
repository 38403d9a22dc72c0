"""Sizes and ranges of programs by block, and models that are equal, against dictionaries of every number."""

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
def test_models_are_equal_where_every_number_is(seed, changes):
    recipe = Recipe(seed)
    model = recipe.build()
    other = model.copy()
    assert model.equals(other)
    rng = np.random.default_rng(seed)
    for name in rng.choice(list(model.parameters), changes):
        other[name].set(other[name].values * 1.5)
    first, second = model.compile(), other.compile()
    same_logs = first.logs is None or all(
        np.array_equal(getattr(first.logs, part), getattr(second.logs, part))
        for part in ("weights", "constant", "alpha")
    )
    same_inside = first.logs is None or (first.logs.A != second.logs.A).nnz == 0
    expected = numbers(first) == numbers(second) and same_logs and same_inside
    assert model.equals(other) == other.equals(model) == expected


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
    for change in (
        lambda other: other.variable("z"),
        lambda other: other.remove("b"),
        lambda other: other["x"].set(upper=1),
        lambda other: other.minimize(other["y"]),
        lambda other: other.maximize(other["y"]),
        lambda other: other.maximize(2 * log(other["x"]["ann"] + 1) + other["y"]),
        lambda other: other.maximize(log(other["x"]["bob"] + 1) + other["y"]),
        lambda other: other.maximize(log(other["x"]["ann"] + 1) + other["y"] + 1),
        lambda other: other["y"].set(integer=False),
    ):
        other = turned.copy()
        change(other)
        assert not model.equals(other) and not other.equals(model)


def test_names_that_are_not_unique_are_refused():
    n, i = Index("n", ["a,b", "a"]), Index("i", ["c", "b,c"])
    model = Model("m", indices=(n, i))
    model.variable("x", n, i)
    with pytest.raises(ModelError, match=r"'x\[a,b,c\]' is the name of several"):
        model.equals(model.copy())


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
