"""How programs depend on a parameter: the same as programs that are compiled with other numbers."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp import Index, Model
from fairlp.errors import UnsupportedError
from fairlp.models.notation.derivatives import dependence

N, R = Index("n", ["ann", "bob", "cat"]), Index("r", ["cpu", "memory"])


def model():
    """A parameter before variables, alone, in sums, in ends of a range, and in costs."""
    model = Model("m", indices=(N, R))
    x, y = model.variable("x", N), model.variable("y", R, where=[False, True])
    d = model.parameter("d", (N, R), np.arange(1.0, 7.0).reshape(3, 2))
    w = model.parameter("w", N, [2.0, 3.0, 4.0])
    model.constraint("before", (d * w * x).sum(N) + y <= 9)
    model.constraint("alone", x >= d["ann", "cpu"] - w / 2)
    model.constraint("sums", 3 * (d.sum(R) * (x + 1)).sum() <= 40 - d["bob", :].sum())
    model.constraint("range", x.between(d[:, "memory"] - 9, 9 + d.mean(R)))
    model.maximize((d * x).sum() - y.sum() + d.sum())
    return model


def numbers(program):
    """Matrix, right-hand sides where they are finite, costs and constant, in one row."""
    sides = np.concatenate([program.row_lower, program.row_upper])
    dense = program.A.toarray().ravel()
    return np.concatenate(
        [dense, np.where(np.isfinite(sides), sides, 0.0), program.c, [program.offset]]
    )


def test_slopes_are_differences_of_programs_with_other_numbers():
    own_model = model()
    slopes = dependence(own_model, "d", [])
    program, values = own_model.compile(), own_model.parameters["d"].values.copy()
    base, n_columns = numbers(program), program.n_columns
    for element in range(values.size):
        changed = values.copy()
        changed.reshape(-1)[element] += 1.0
        own_model.parameters["d"].set(changed)
        difference = numbers(own_model.compile()) - base

        A = np.zeros((program.n_rows, n_columns))
        sides, costs, offset = np.zeros((2, program.n_rows)), np.zeros(n_columns), 0.0
        for k in np.flatnonzero(slopes.elements == element):
            row, column, slope = slopes.rows[k], slopes.columns[k], slopes.slopes[k]
            if row >= 0 and column >= 0:
                A[row, column] += slope
            elif row >= 0:
                sides[:, row] += slope * np.array([slopes.lower[k], slopes.upper[k]])
            elif column >= 0:
                costs[column] += slope
            else:
                offset += slope
        finite = np.isfinite([program.row_lower, program.row_upper])
        expected = np.concatenate([A.ravel(), (sides * finite).ravel(), costs, [offset]])
        assert difference == pytest.approx(expected, abs=1e-9)


def test_a_formula_that_is_not_linear_is_named():
    own_model = model()
    with pytest.raises(UnsupportedError, match=r"d\[n,r\]·w\[n\]·x\[n\].* is not linear in it"):
        dependence(own_model, "d", ["w"])
    own_model.constraint("inverse", own_model["x"] <= 1 / own_model.parameters["w"])
    with pytest.raises(UnsupportedError, match="none divided by it"):
        dependence(own_model, "w", [])
