"""Elements by label, against NumPy: in rows, objectives, definitions and levels, with masks and aliases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Index, Model
from fairlp.errors import ModelError
from fairlp.models.notation.compiler import compile_rows

N, I = Index("n", ["ann", "bob", "cat"], "user"), Index("i", ["s1", "s2"], "server")  # noqa: E741
K = Index("k", [2, 0, 1], "step")
MASK = np.array([[True, False], [True, True], [False, True]])


def fresh(mask=None):
    model = Model("m", indices=(N, I, K))
    d = model.parameter("d", (N, I, K), np.arange(18.0).reshape(3, 2, 3))
    return model, d, model.variable("g", N, I, where=mask), model.variable("h", N, I, K)


def rows(model, expression):
    """The coefficients of an expression as one array: its own indices, then the columns."""
    starts = {block.name: block.start for block in model.compile().columns}
    table = np.zeros([len(index) for index in expression.indices] + [model.compile().n_columns])
    triples, _ = compile_rows(expression, starts, expression.indices, None)
    flat = table.reshape(-1, table.shape[-1])
    for triple, columns, values in triples:
        np.add.at(flat, (triple, columns), values)
    return table


def grid(size, start, mask=None):
    """Unit vectors of a variable's columns on its grid: 0 where an element does not exist."""
    shape = (3, 2) if mask is not None or size == 6 else (3, 2, 3)
    places = np.flatnonzero(np.ones(shape) if mask is None else mask)
    table = np.zeros((int(np.prod(shape)), 24 if mask is None else 18 + len(places)))
    table[places, start + np.arange(len(places))] = 1
    return table.reshape(*shape, -1)


KEYS = {
    "one": (("ann", "s1"), (0, 0)),
    "row": (("bob", slice(None)), (1,)),
    "row in short": ("bob", (1,)),
    "column": ((slice(None), "s2"), (slice(None), 1)),
}


@pytest.mark.parametrize("mask", [None, MASK], ids=["dense", "masked"])
@pytest.mark.parametrize("name", KEYS)
def test_elements_of_a_variable_are_the_slices_of_its_columns(name, mask):
    key, position = KEYS[name]
    model, _, g, _ = fresh(mask)
    np.testing.assert_array_equal(rows(model, g[key]), grid(6, 0, mask)[position])


@pytest.mark.parametrize(
    "key", [("cat", "s2", 1), (slice(None), "s1", 2), ("ann", slice(None), 0), (N, I, 1), ("bob",)]
)
def test_elements_over_three_indices_and_integer_labels_are_labels(key):
    model, d, _, h = fresh()
    labels = [list(N), list(I), list(K)]
    position = tuple(
        slice(None) if isinstance(selector, (slice, Index)) else axis_labels.index(selector)
        for selector, axis_labels in zip(key, labels, strict=False)
    )
    np.testing.assert_array_equal(rows(model, h[key]), grid(18, 6)[position])
    np.testing.assert_array_equal(d[key].values, d.values[position])
    assert not d[key].values.flags.writeable


def test_elements_in_rows_sums_products_and_the_objective():
    model, d, g, h = fresh(MASK)
    m = N.alias("m")
    model.constraint("apart", g[m, "s1"] - 2 * g["bob", "s2"] >= d["ann", "s1", 2])
    model.constraint("row", (d["bob", :, 1] * g["bob"]).sum() <= d["cat", "s2"].sum())
    model.constraint("mixed", d[:, "s1", :] * h["ann", "s2", :] <= 1)
    model.maximize(g["bob", "s1"] + h["cat", "s2", 0])
    program = model.compile()
    G, H = (
        grid(6, 0, MASK),
        np.concatenate([np.zeros((18, 4)), np.eye(18)], axis=1).reshape(3, 2, 3, -1),
    )
    expected = [G[:, 0] - 2 * G[1, 1], (d.values[1, :, 2] @ G[1])[None]]
    expected.append((d.values[:, 0, :, None] * H[0, 1][None]).reshape(9, -1))
    np.testing.assert_array_equal(program.A.toarray(), np.concatenate(expected))
    np.testing.assert_array_equal(program.row_lower[:3], np.full(3, d.values[0, 0, 0]))
    assert program.row_upper[3] == d.values[2, 1].sum()
    np.testing.assert_array_equal(program.c, G[1, 0] + H[2, 1, 1])
    assert "g[m,s1] − 2·g[bob,s2] ≥ d[ann,s1,2]" in str(model)
    assert (
        r"g_{m,\text{s1}} - 2\, g_{\text{bob},\text{s2}} \ge d_{\text{ann},\text{s1},\text{2}}"
        in model.to_latex()
    )
    model.define("own", g["bob", :] + 1)
    np.testing.assert_array_equal(model.evaluate("own", np.arange(22.0)), [2, 3])


def test_elements_go_to_other_tools_and_to_a_leximin():
    model, d, g, h = fresh(MASK)
    model.constraint(
        "one", g["bob", "s1"] + d["ann", "s1", 0] * h["ann", "s1", 2] + h[:, "s1", 2].sum() <= 4
    )
    model.constraint("row", d["bob", :, 1] * g["bob"] <= 10)
    model.constraint("rest", g.sum() + h.sum() <= 9)
    model.maximize(g["bob"].sum() + 3 * h["ann", "s1", 2] + h.sum() / 2)
    expected = model.solve()
    built = model.to_pyomo()
    import pyomo.environ as pyo

    pyo.SolverFactory("appsi_highs").solve(built)
    assert model.read_back(built).objective == pytest.approx(expected.objective)
    answer = fairlp.leximin(model, levels=h["ann", :, 2])
    assert answer.levels.tolist() == pytest.approx([2, 7])  # row "one" counts it twice: 2·h ≤ 4


def test_a_diagonal_is_refused_and_labels_may_be_tuples():
    model = Model("m")
    m = N.alias("m")
    pairs = model.variable("p", N, m)
    with pytest.raises(ModelError, match="cannot be replaced by 'n'"):
        pairs[N, N]
    tuples = Index("e", pd.Index([("a", "b"), ("b", "a")], tupleize_cols=False), "edge")
    flow = model.variable("f", tuples)
    assert flow["b", "a"].places == (1,) and flow[("a", "b")].places == (0,)
