"""Arrays and labelled data in formulas: every operator from both sides, labels in any order, and what is refused."""

from __future__ import annotations

import operator

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xarray as xr

from fairlp import Index, Model
from fairlp.errors import ModelError

N, I = Index("n", ["ann", "bob", "cat"], "user"), Index("i", ["s1", "s2"], "server")  # noqa: E741
NUMBERS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
FRAME = pd.DataFrame(NUMBERS, list(N), list(I))
LEVELS = pd.Series(
    NUMBERS.reshape(-1), pd.MultiIndex.from_product([list(N), list(I)], names=["n", "i"])
)
#: The same numbers, as an expression over both indices may meet them.
SAME = {
    "array": NUMBERS,
    "list": NUMBERS.tolist(),
    "frame": FRAME.loc[["cat", "ann", "bob"], ["s2", "s1"]],
    "turned frame": FRAME.T,
    "named frame": FRAME.T.rename_axis(index="servers", columns="n"),
    "levels": LEVELS.sample(frac=1, random_state=1),
    "turned levels": LEVELS.swaplevel(),
    "mapping": {"bob": {"s2": 4, "s1": 3}, "ann": {"s1": 1, "s2": 2}, "cat": {"s1": 5, "s2": 6}},
    "mapping of lists": {"cat": [5, 6], "ann": [1, 2], "bob": [3, 4]},
    "list of mappings": [{"s2": 2, "s1": 1}, {"s2": 4, "s1": 3}, {"s2": 6, "s1": 5}],
    "data array": xr.DataArray(NUMBERS.T, coords={"server": list(I), "user": list(N)}),
}
#: Numbers over users only, and over servers only.
USERS = {
    "array": [7.0, 8, 9],
    "Series": pd.Series({"cat": 9.0, "ann": 7, "bob": 8}),
    "named": pd.Series([9.0, 8, 7], pd.Index(["cat", "bob", "ann"], name="users"), name="need"),
    "mapping": {"bob": 8, "ann": 7, "cat": 9},
    "frame's column": pd.DataFrame({"a": [8.0, 7, 9]}, ["bob", "ann", "cat"])["a"],
}
OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<=": operator.le, ">=": operator.ge, "==": operator.eq,
    "@": operator.matmul,
}  # fmt: skip
#: A comparison is turned round, so that the expression comes first.
MIRRORED = {"<=": operator.ge, ">=": operator.le, "==": operator.eq}
#: What hands no operator, or no @, over to an expression on its right: it says so.
KEEPS = (xr.DataArray,)
KEEPS_INNER = (pd.Series, pd.DataFrame, xr.DataArray)


def compiled(act):
    """The program of a relation or of an expression <= 0, built by ``act`` of a variable over both indices."""
    model = Model("m", indices=(N, I))
    x = model.variable("x", N, I)
    expression = act(x)
    model.constraint("k", expression if not hasattr(expression, "degree") else expression <= 0)
    program = model.compile()
    return program.A.toarray(), program.row_lower, program.row_upper


def by_parameter(over, values, act):
    """As `compiled`, with the numbers as a parameter."""
    model = Model("m", indices=(N, I))
    x, p = model.variable("x", N, I), model.parameter("p", over, values)
    expression = act(x, p)
    model.constraint("k", expression if not hasattr(expression, "degree") else expression <= 0)
    program = model.compile()
    return program.A.toarray(), program.row_lower, program.row_upper


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("over", ["both", "users"])
def test_every_operator_reads_labels_from_both_sides(over, sign):
    act, indices = OPERATORS[sign], (N, I) if over == "both" else (N,)
    values = NUMBERS if over == "both" else np.array([7.0, 8, 9])
    for name, data in (SAME if over == "both" else USERS).items():
        expected = by_parameter(indices, values, lambda x, p: act(x, p))
        for expected_array, array in zip(
            expected, compiled(lambda x, data=data: act(x, data)), strict=True
        ):
            np.testing.assert_array_equal(expected_array, array, err_msg=name)
        if isinstance(data, KEEPS_INNER if sign == "@" else KEEPS):
            with pytest.raises((ModelError, TypeError, AttributeError, ValueError, IndexError)):
                compiled(lambda x, data=data: act(data, x))
            continue
        mirrored = MIRRORED.get(sign, lambda x, p: act(p, x))
        expected = by_parameter(indices, values, mirrored)
        for expected_array, array in zip(
            expected, compiled(lambda x, data=data: act(data, x)), strict=True
        ):
            np.testing.assert_array_equal(expected_array, array, err_msg=name)


def test_it_divides_stands_in_ranges_and_beside_sums():
    for act in (lambda x, p: x / p, lambda x, p: (x.sum(I) + 1) / p, lambda x, p: x.between(0, p)):
        for data in USERS.values():
            expected = by_parameter((N,), [7, 8, 9], act)
            for expected_array, array in zip(
                expected, compiled(lambda x, data=data, act=act: act(x, data)), strict=True
            ):
                np.testing.assert_array_equal(expected_array, array)
    ends = compiled(lambda x: x.between({"s2": 0, "s1": -np.inf}, None))[1]
    assert ends.tolist() == [-np.inf, 0] * 3


def test_arrays_of_expressions_are_arrays_of_objects():
    x = Model("m", indices=(N, I)).variable("x", N, I)
    terms = np.array([x["ann", "s1"], 2 * x["bob", "s1"]])
    assert terms.dtype == object and str(terms.sum()) == "x[ann,s1] + 2·x[bob,s1]"
    with pytest.raises(
        ModelError, match=r"has shape \(3, 3\).*rows of a matrix run over another index"
    ):
        sp.eye(3) @ x
