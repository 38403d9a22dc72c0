"""What stands beside a formula, on either side: arrays, matrices, data over further indices of the model."""

import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from fairlp import Index, Model
from fairlp.errors import ModelError

USERS, SERVERS = ["ann", "bob"], ["s1", "s2", "s3"]
MATRIX = np.array([[1.0, 2.0], [0.0, 4.0], [5.0, 6.0]])
FRAME = pd.DataFrame(MATRIX.T, USERS, SERVERS)


def small():
    n, i = Index("n", USERS, "user"), Index("i", SERVERS, "server")
    model = Model("m", indices=(n, i))
    return model, model.variable("x", n), model.variable("y"), model.variable("z", n, i)


def rows(model, formula):
    """Coefficients and constants of a formula: one row for each element."""
    relation = formula if hasattr(formula, "comparison") else formula <= 0
    copy = model.copy()
    del copy
    name = f"row{len(model.constraints)}"
    constraint = model.constraint(name, relation)
    program = model.compile()
    block = program.row_block(name)
    A = program.A.toarray()[block.slice]
    ends = program.row_lower[block.slice], program.row_upper[block.slice]
    constraint.remove()
    return A, *ends, [index.symbol for index in constraint.over]


def assert_same(model, formula, expected):
    for ours, theirs in zip(rows(model, formula), rows(model, expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)


SAME = {
    "array": lambda x, y, z, a: (a * x + (a - x), a * x + (-1 * x + a)),
    "masked array": lambda x, y, z, a: (np.ma.array(a) * x, a * x),
    "array below": lambda x, y, z, a: (a <= x, x >= a),
    "sum of a list": lambda x, y, z, a: (sum([x, x, y]), 2 * x + y),
    "np.sum of a list": lambda x, y, z, a: (np.sum([x, x]), 2 * x),
    "plus": lambda x, y, z, a: (+x, x + 0),
    "Fraction": lambda x, y, z, a: (Fraction(1, 2) * x, 0.5 * x),
    "Decimal": lambda x, y, z, a: (Decimal("0.5") * x, 0.5 * x),
    "np.float32": lambda x, y, z, a: (np.float32(0.5) * x, 0.5 * x),
    "np.int8": lambda x, y, z, a: (x - np.int8(3), x - 3),
}


@pytest.mark.parametrize("name", SAME)
def test_what_stands_beside_a_formula_is_the_formula_that_it_means(name):
    model, x, y, z = small()
    formula, expected = SAME[name](x, y, z, np.array([1.0, 2.0]))
    assert_same(model, formula, expected)


SIDES = [operator.add, operator.sub, operator.mul, operator.le, operator.ge, operator.eq]
SERIES = pd.Series({"bob": 2.0, "ann": 1.0})


@pytest.mark.parametrize("sign", SIDES)
@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize(
    "data",
    [SERIES, np.array([1.0, 2.0]), [1.0, 2.0], {"bob": 2.0, "ann": 1.0}, SERIES.rename_axis("n")],
    ids=["Series", "array", "list", "mapping", "named Series"],
)
def test_data_beside_a_variable_without_indices_run_over_an_index_of_the_model(data, is_left, sign):
    model, _, y, _ = small()
    numbers = model.parameter("p", model["n"], [1, 2])
    turned = {operator.le: operator.ge, operator.ge: operator.le, operator.eq: operator.eq}
    if not is_left:
        formula, expected = sign(y, data), sign(y, numbers)
    elif sign in turned:
        formula, expected = sign(data, y), turned[sign](y, numbers)
    else:
        formula, expected = sign(data, y), sign(numbers, y)
    assert_same(model, formula, expected)


def test_labelled_data_beside_a_formula_may_run_over_further_indices():
    model, x, _, z = small()
    n, i = x.indices[0], z.indices[1]
    p = model.parameter("p", (n, i), MATRIX.T)
    prices = pd.Series({"s2": 5.0, "s1": 4.0, "s3": 6.0})
    q = model.parameter("q", i, [4, 5, 6])
    assert_same(model, x * FRAME, x * p)
    assert_same(model, FRAME * x, p * x)
    assert_same(model, x <= FRAME[["s3", "s1", "s2"]], x <= p)
    assert_same(model, prices * x, q * x)
    assert_same(model, x + prices, x + q)
    for wrong in (np.ones((2, 3)), [1, 2, 3], pd.Series([1.0, 2.0, 3.0])):
        with pytest.raises(ModelError):  # lengths alone do not say that the model has such an index
            _ = x * wrong


MATRICES = {
    "array": np.asarray,
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "frame": lambda matrix: pd.DataFrame(matrix, SERVERS, USERS)[["bob", "ann"]],
}


@pytest.mark.parametrize("kind", MATRICES)
def test_a_matrix_on_the_left_has_rows_over_another_index_of_the_model(kind):
    model, x, _, z = small()
    i, n = z.indices[1], x.indices[0]
    p = model.parameter("p", (i, n), MATRIX)
    matrix = MATRICES[kind](MATRIX)
    if kind != "frame":  # pandas reads what stands on its right
        assert_same(model, matrix @ x <= [1, 2, 3], (p * x).sum(n) <= [1, 2, 3])
    turned = matrix.T
    assert_same(model, x @ turned, (p * x).sum(n))
    assert_same(model, x @ turned >= {"s3": 3, "s1": 1, "s2": 2}, (p * x).sum(n) >= [1, 2, 3])


@given(st.integers(0, 10**6))
def test_a_sparse_matrix_times_a_variable_is_the_matrix(seed):
    rng = np.random.default_rng(seed)
    m, k = rng.integers(1, 8), rng.integers(1, 8)
    m += m == k
    matrix = sp.random_array((m, k), density=0.4, rng=rng)
    row, column = Index("row", range(m)), Index("column", range(k))
    model = Model("m", indices=(row, column))
    x = model.variable("x", column)
    b = rng.integers(1, 9, m)
    model.constraint("fit", matrix @ x <= b)
    program = model.compile()
    np.testing.assert_array_equal(program.A.toarray(), matrix.toarray())
    np.testing.assert_array_equal(program.row_upper, b)
    assert program.A.nnz == matrix.nnz


def test_a_large_sparse_matrix_is_never_written_out():
    size = 40_000
    row, column = Index("row", range(size)), Index("column", range(size + 1))
    model = Model("m", indices=(row, column))
    x = model.variable("x", column)
    matrix = sp.diags_array(np.ones(size), shape=(size, size + 1)).tocsr()
    model.constraint("fit", matrix @ x <= 1)
    assert model.compile().A.nnz == size


@given(st.integers(0, 10**6))
def test_shifts_in_a_cycle_and_with_initial_values_are_rolled_arrays(seed):
    rng = np.random.default_rng(seed)
    length, steps = int(rng.integers(1, 6)), int(rng.integers(-7, 8))
    t, n = Index("t", range(length)), Index("n", USERS)
    model = Model("m", indices=(n, t))
    x = model.variable("x", n, t)
    first = rng.integers(1, 9, 2).astype(float)
    values = rng.integers(0, 9, (2, length)).astype(float)
    model.define("cyclic", x.shift(t, steps, cyclic=True))
    model.define("initial", x.shift(t, steps, initial=dict(zip(USERS, first, strict=True))))
    np.testing.assert_array_equal(
        model.evaluate("cyclic", values.reshape(-1)), np.roll(values, steps, axis=1)
    )
    padded = np.repeat(first[:, None], length, axis=1)
    lagged = np.concatenate([padded, values, padded], axis=1)
    start = length - max(-length, min(steps, length))
    np.testing.assert_array_equal(
        model.evaluate("initial", values.reshape(-1)), lagged[:, start : start + length]
    )


def test_an_initial_value_may_be_a_variable_and_prints():
    t = Index("t", [8, 9, 10], "hour")
    model = Model("stock")
    level, first = model.variable("level", t), model.variable("first", upper=4)
    model.constraint("flow", level == level.shift(t, initial=first) - 1)
    model.maximize(level[10])
    assert "[t∈{8}]·first" in str(model) and r"[t \in \{8\}]" in model.to_latex()
    assert model.solve().objective == 1
    with pytest.raises(ModelError, match="no initial value has a place"):
        level.shift(t, cyclic=True, initial=3)
    model.constraint("ring", level - level.shift(t, cyclic=True) <= 1)
    assert r"t-1 \bmod 3" in model.to_latex()
    assert model.to_pyomo() is not None and model.copy().equals(model)
