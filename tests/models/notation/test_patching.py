"""A parameter's or bound's change gives the same program as building anew, byte for byte, and compiles no more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairlp import Index, Model
from fairlp.errors import ModelError
from fairlp.models.notation import compiler
from profiles import many
from random_models import N, Recipe, draw, forget_program, same_bytes


@pytest.mark.slow
@settings(max_examples=many(150), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_a_change_gives_the_same_program_as_building_anew(seed, changes, times):
    recipe = Recipe(seed)
    model = recipe.build()
    before = model.compile()
    rng = np.random.default_rng(changes)
    for _ in range(times):
        for name in rng.choice(list(model.parameters), int(rng.integers(1, 4))):
            parameter = model.parameters[name]
            new = rng.uniform(0.5, 2, 3) if name == "q" else draw(rng, parameter.indices)
            recipe.numbers[name] = new
            parameter.set(new)
        assert model.compile() is not before
        assert same_bytes(model.compile(), recipe.build().compile()) == []
    copy = model.copy()
    assert same_bytes(copy.compile(), model.compile()) == []
    forget_program(copy)
    assert same_bytes(copy.compile(), model.compile()) == []


def model():
    n = Index("n", ["ann", "bob"], "user")
    m = Model("m", indices=(n,))
    d, c, w = m.parameter("d", n, [1, 2]), m.parameter("c", (), 4), m.parameter("w", n, [1, 1])
    x, y = m.variable("x", n), m.variable("y", n)
    m.constraint("first", (d * x).sum() <= c)
    m.constraint("second", x + y >= w)
    m.maximize(-(w * y).sum() + x.sum())
    return m


def compiled_blocks(monkeypatch):
    """Return the list that the names of blocks are put into whose entries, and whose sides, are compiled."""
    blocks = []
    for function_name in ("entries", "sides"):
        function = getattr(compiler, function_name)
        monkeypatch.setattr(
            compiler,
            function_name,
            lambda row, *rest, function=function, function_name=function_name: (
                blocks.append((function_name, row.name)) or function(row, *rest)
            ),
        )
    return blocks


def test_only_what_a_parameter_stands_in_is_compiled(monkeypatch):
    m = model()
    before = m.compile()
    blocks = compiled_blocks(monkeypatch)
    m["c"].set(5)
    after = m.compile()
    assert blocks == [("sides", "first")] and after.A is before.A and after.c is before.c
    assert after.row_upper.tolist()[0] == 5 and before.row_upper.tolist()[0] == 4
    blocks.clear()
    m["d"].set([3, 4])
    assert m.compile().A.toarray()[0].tolist() == [3, 4, 0, 0] and blocks == [
        ("entries", "first"),
        ("sides", "first"),
    ]
    blocks.clear()
    m["x"].set(upper=[7, 8])
    assert m.compile().col_upper.tolist() == [7, 8, np.inf, np.inf] and not blocks
    m["w"].set([2, 3])
    assert m.compile().c.tolist() == [1, 1, -2, -3] and blocks == [("sides", "second")]
    assert m.compile() is m.compile()


def test_entries_that_vanish_and_come_back():
    m = model()
    m.compile()
    for values in ([0, 0], [0, 5], [1, 0], [2, 3]):
        m["d"].set(values)
        fresh = m.copy()
        forget_program(fresh)
        assert same_bytes(
            m.compile(), fresh.compile()
        ) == [] and m.compile().A.nnz == 4 + np.count_nonzero(values)


def test_a_change_that_cannot_be_compiled_is_said_each_time_and_can_be_taken_back():
    m = Model("m", indices=(N,))
    q, x = m.parameter("q", N, [1, 2, 4]), m.variable("x", N)
    m.constraint("shares", x / q <= 1)
    m.maximize(x.sum())
    before = m.compile()
    q.set([1, 0, 1])
    for _ in range(2):
        with pytest.raises(ModelError, match="constraint 'shares': division by zero"):
            m.compile()
    q.set([1, 2, 4])
    assert same_bytes(m.compile(), before) == []


def test_every_error_of_compiling_names_the_block():
    alias = N.alias("k")

    def fresh():
        m = Model("m", indices=(N,))
        return m, m.parameter("q", N, [1, 0, 4]), m.variable("x", N)

    m, q, x = fresh()
    m.constraint("shares", x / q <= 1)
    with pytest.raises(
        ModelError, match=r"constraint 'shares': division by zero: \(q\[n\]\) is 0 of user 'b'"
    ):
        m.compile()
    m, q, x = fresh()
    with pytest.raises(ModelError, match="constraint 'ends': division by zero"):
        m.constraint("ends", x.between(1 / q, None))
    m.maximize((x / q).sum())
    with pytest.raises(ModelError, match="the objective: division by zero"):
        m.compile()
    q.set([1, 2, 4])
    m.constraint("alias", x[alias].sum() <= q)
    m.compile()
    q.set([1, 0, 4])
    with pytest.raises(ModelError, match="the objective: division by zero"):
        m.compile()
