"""Numbers over indices of which some have no label left."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from fairlp import Index, Model, log
from profiles import chequered

N, T, NONE = Index("n", ["ann", "bob"], "user"), Index("t", [1, 2, 3]), Index("z", [])

SELECTIONS = {
    "no row": lambda d, s, e: d[[], :],
    "no column": lambda d, s, e: d[:, []],
    "nothing": lambda d, s, e: d[[], []],
    "of one user": lambda d, s, e: d["ann", []],
    "a mask": lambda d, s, e: d[np.zeros(2, dtype=bool)],
    "a slice": lambda d, s, e: d[:, 1:1],
    "sparse": lambda d, s, e: s[[], :],
    "an index without labels": lambda d, s, e: e,
    "part of it": lambda d, s, e: e[:, "ann"],
}
FORMULAS = {
    "product": lambda p, x: (p * x).sum() <= 1,
    "each": lambda p, x: x <= p,
    "range": lambda p, x: x.between(-p, p),
    "quotient": lambda p, x: x / p <= 1,
    "logarithm": lambda p, x: x <= log(p),
    "inner": lambda p, x: p @ x <= 1,
    "first": lambda p, x: (p * x).sum(p.indices[0]) <= 1,
    "shift": lambda p, x: x <= p.shift(p.indices[0]),
    "last shift": lambda p, x: x <= p.shift(p.indices[-1], -1),
    "running": lambda p, x: x <= p.cumsum(p.indices[0]),
    "last running": lambda p, x: x.sum(p.indices[0]) <= p.cumsum(p.indices[-1]).sum(p.indices[0]),
}


@pytest.mark.parametrize(("selection", "formula"), chequered(list(SELECTIONS), list(FORMULAS)))
def test_a_selection_without_labels_is_a_sum_of_nothing(selection, formula):
    """It compiles, prints and is solved wherever numbers stand: rows over it do not exist, sums over it are 0."""
    model = Model("m")
    d = model.parameter("d", (N, T), np.ones((2, 3)))
    s = model.parameter("s", (N, T), sp.coo_array(np.ones((2, 3))))
    e = model.parameter("e", (NONE, N), np.ones((0, 2)))
    numbers = SELECTIONS[selection](d, s, e)
    whole = model.variable("x", *(index.whole or index for index in numbers.indices), upper=1)
    x = whole[tuple([] if index.whole is not None else slice(None) for index in numbers.indices)]
    row = model.constraint("row", FORMULAS[formula](numbers, x))
    model.maximize((numbers * x).sum() - whole.sum())
    program = model.compile()
    assert program.A.nnz == 0
    assert program.n_rows == row.size
    assert "row" in str(model)
    assert "aligned" in model.to_latex()
    assert model.copy().equals(model)
    assert model.solve().objective == 0
    assert len(list(model.to_pyomo().component("row").values())) == row.size
