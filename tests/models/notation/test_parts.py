"""Parts of variables and parameters by label: bounds, fixed values and numbers of these alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from fairlp import Index, Model
from fairlp.errors import ModelError

N, T = ["ann", "bob", "cat"], [8, 9, 10, 11]


def model_of(mask=None):
    n, t = Index("n", N, "user"), Index("t", T, "hour")
    model = Model("m", indices=(n, t))
    where = None if mask is None else np.reshape(mask, (3, 4))
    return model, model.variable("x", n, t, upper=9, where=where)


#: A part by brackets, and the same of an array of NumPy.
PARTS = {
    "an element": (lambda x: x["bob", 9], np.s_[1:2, 1:2]),
    "a label": (lambda x: x["bob"], np.s_[1:2, :]),
    "a label of the second index": (lambda x: x[:, 10], np.s_[:, 2:3]),
    "a list": (lambda x: x[["cat", "ann"]], np.s_[[2, 0], :]),
    "a slice of labels": (lambda x: x["bob":], np.s_[1:, :]),
    "a mask": (lambda x: x[[True, False, True]], np.s_[[0, 2], :]),
    "a list of one and a label": (lambda x: x[["cat", "bob"], 9], np.s_[[2, 1], 1:2]),
    "two lists": (lambda x: x[["cat", "bob"], [11, 8]], np.s_[[2, 1]]),
    "all": (lambda x: x, np.s_[:, :]),
    "an alias": (lambda x: x[x.indices[0].alias("m"), x.indices[1]], np.s_[:, :]),
}


def grid_of(case):
    grid = np.arange(12).reshape(3, 4)[PARTS[case][1]]
    return grid[:, [3, 0]] if case == "two lists" else grid


@pytest.mark.parametrize("case", PARTS)
@given(seed=st.integers(0, 10**6))
def test_bounds_and_fixed_values_of_a_part_are_those_elements_alone(case, seed):
    rng = np.random.default_rng(seed)
    mask = rng.random(12) < 0.8 if rng.random() < 0.7 else None
    if case == "an element" and mask is not None:
        mask[5] = True
    model, x = model_of(mask)
    select = PARTS[case][0]
    grid = grid_of(case)
    lower, upper = np.zeros(12), np.full(12, 9.0)
    highs = rng.integers(5, 9, grid.shape).astype(float)
    part = select(x)
    shape = tuple(len(index) for index in part.indices)
    part.set(lower=1, upper=highs.reshape(shape))
    lower[grid], upper[grid] = 1, highs
    existing = np.flatnonzero(np.ones(12, dtype=bool) if mask is None else mask)
    np.testing.assert_array_equal(x.lower, lower[existing])
    np.testing.assert_array_equal(x.upper, upper[existing])
    inside = [position for position in grid.reshape(-1) if position in existing]
    np.testing.assert_array_equal(part.upper, upper[inside])
    values = rng.integers(1, 5, grid.shape).astype(float)
    select(x).fix(values.reshape(shape))
    fixed_low, fixed_high = lower.copy(), upper.copy()
    fixed_low[grid] = fixed_high[grid] = values
    program = model.compile()
    np.testing.assert_array_equal(program.col_lower, fixed_low[existing])
    np.testing.assert_array_equal(program.col_upper, fixed_high[existing])
    copy = model.copy()
    select(x).unfix()
    np.testing.assert_array_equal(model.compile().col_upper, upper[existing])
    np.testing.assert_array_equal(copy.compile().col_upper, fixed_high[existing])


def test_labelled_numbers_fix_what_they_have():
    model, x = model_of()
    for data in (
        {("ann", 8): 1, ("cat", 11): 2},
        {"ann": {8: 1}, "cat": {11: 2}},
        pd.Series([2, 1], pd.MultiIndex.from_tuples([("cat", 11), ("ann", 8)])),
        pd.Series(
            [2, 1], pd.MultiIndex.from_tuples([(11, "cat"), (8, "ann")], names=["hour", "user"])
        ),
        pd.DataFrame({"t": [8, 11], "user": ["ann", "cat"], "value": [1, 2]}),
    ):
        x.fix(data)
        expected = np.full(12, 9.0)
        expected[[0, 11]] = 1, 2
        np.testing.assert_array_equal(x.upper, expected)
        x["ann"].unfix()
        assert x.upper[0] == 9 and x.upper[11] == 2
        x.unfix()
    x[:, 9].fix(pd.Series({"bob": 3}))
    assert np.flatnonzero(model.compile().col_upper == 3).tolist() == [5]
    x["bob"].fix({10: 4})
    assert x.lower[[5, 6]].tolist() == [3, 4]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("case", [case for case in PARTS if case != "an alias"])
def test_numbers_of_a_part_of_a_parameter_are_set_alone(case, sparse):
    model, x = model_of()
    numbers = np.arange(12.0).reshape(3, 4)
    table = {(n, t): numbers[i, j] for i, n in enumerate(N) for j, t in enumerate(T)}
    d = model.parameter("d", x.indices, table, **({"default": 0} if sparse else {}))
    model.constraint("row", (d * x).sum() <= 5)
    model.compile()
    select = PARTS[case][0]
    part, grid = select(d), grid_of(case)
    np.testing.assert_array_equal(part.values.reshape(-1), grid.reshape(-1))
    part.set(np.full(part.values.shape, 7.0))
    expected = numbers.reshape(-1).copy()
    expected[grid] = 7
    np.testing.assert_array_equal(d.values.reshape(-1), expected)
    np.testing.assert_array_equal(model.compile().A.toarray()[0], expected)


def test_a_solution_fixes_the_part_of_it_that_is_asked_for():
    model, x = model_of()
    model.constraint("row", x.sum() <= 40)
    model.maximize(x.sum() + x["ann"].sum() + x["cat", 8])
    solution = model.solve()
    x["cat"].fix(solution)
    assert np.isnan(model["x"].__dict__["_fixed"]).tolist() == [True] * 8 + [False] * 4
    assert model.solve().objective == pytest.approx(solution.objective)


def test_labelled_bounds_change_what_they_have_and_a_kind_is_changed():
    model, x = model_of()
    x.set(upper={("ann", 8): 3}, lower={("bob", 9): 2})
    x[:, 11].set(upper=pd.Series({"cat": 4}))
    upper, lower = np.full(12, 9.0), np.zeros(12)
    upper[[0, 11]], lower[5] = (3, 4), 2
    np.testing.assert_array_equal(x.upper, upper)
    np.testing.assert_array_equal(x.lower, lower)
    with pytest.raises(
        ModelError, match=r"upper bound of variable 'x' of user 'ann' and hour 8 is NaN"
    ):
        x.set(upper={("ann", 8): np.nan})
    model.constraint("row", 2 * x.sum() <= 9)
    model.maximize(x.sum())
    assert model.solve().objective == 4.5
    x.set(integer=True)
    assert model.compile().is_mip and model.solve().objective == 4
    x.set(integer=False)
    assert not model.compile().is_mip and "integer" not in repr(x)
