"""Values of formulas at a solution: against NumPy, by hand and of random formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from fairlp import Index, Model, log, power
from fairlp.errors import ModelError, NoSolutionError
from profiles import many
from random_formulas import RandomFormulas

N = Index("n", ["ann", "bob", "cat"], "user")
T = Index("t", [8, 9, 10, 11], "hour")
SEEDS = st.integers(0, 2**32 - 1)


class Point:
    """A model with a point drawn at random, as arrays and as a solution."""

    def __init__(self):
        rng = np.random.default_rng(7)
        self.model = Model("m", indices=(N, T))
        self.costs = rng.uniform(1, 3, 3)
        self.mask = np.array([True, False, True])
        self.d = self.model.parameter("d", N, self.costs)
        self.x = self.model.variable("x", N, T, lower=None)
        self.y = self.model.variable("y", N, where=self.mask, lower=None)
        self.z = self.model.variable("z", lower=None)
        columns = rng.normal(size=15)
        self.x_values = columns[:12].reshape(3, 4)
        self.y_values = np.zeros(3)
        self.y_values[self.mask] = columns[12:14]
        self.z_value = columns[14]
        self.solution = replace(self.model.solve(), x=columns)


@pytest.fixture
def point():
    return Point()


def test_formulas_of_every_kind_have_the_values_of_numpy(point):
    d, x, y, z = point.d, point.x, point.y, point.z
    X, Y, Z, D = point.x_values, point.y_values, point.z_value, point.costs
    m = N.alias("m")
    earlier = np.column_stack([np.zeros(3), X[:, :-1]])
    cases = [
        (z + 3, Z + 3),
        (x.sum(), X.sum()),
        (x.sum(T), X.sum(1)),
        (d * x - z, D[:, None] * X - Z),
        (x / d, X / D[:, None]),
        (x - x.shift(T), X - earlier),
        (x.cumsum(T), X.cumsum(1)),
        (x[:, 1:3], X[:, 1:3]),
        (x["bob"], X[1]),
        (x["bob", 9] - y["cat"], X[1, 1] - Y[2]),
        (2 * y, 2 * Y),
        (d @ x, D @ X),
        (abs(x), abs(X)),
        (abs(x).sum(T) * d, abs(X).sum(1) * D),
        (x**2 + z, X**2 + Z),
        ((d * x.sum(T) ** 2).sum() - abs(z), D @ X.sum(1) ** 2 - abs(Z)),
        (log(x + 9), np.log(X + 9)),
        (power(x + 9, 0.5).sum(N), np.sqrt(X + 9).sum(0)),
        (y[m] - 1 * y, Y[:, None] - Y[None, :]),
        (d, D),
        (log(d), np.log(D)),
        (x.groupby({"ann": "ml", "bob": "web", "cat": "ml"}, "team").sum(), [X[0] + X[2], X[1]]),
    ]
    for formula, expected in cases:
        value = point.solution.value(formula)
        assert np.shape(value) == np.shape(expected), formula
        assert np.asarray(value) == pytest.approx(np.asarray(expected), abs=1e-12), formula


def test_values_have_the_labels_of_the_free_indices(point):
    solution, x = point.solution, point.x
    assert type(solution.value(x.sum())) is float
    series = solution.value(x.sum(T))
    assert isinstance(series, pd.Series) and series.index.equals(N.labels.rename("n"))
    frame = solution.value(2 * x)
    assert frame.index.tolist() == N.labels.tolist() and frame.columns.tolist() == list(T.labels)
    assert (frame.index.name, frame.columns.name) == ("n", "t")
    long = solution.value(x + point.y[N.alias("m")])
    assert long.index.names == ["n", "t", "m"]
    assert long["bob", 9, "cat"] == pytest.approx(point.x_values[1, 1] + point.y_values[2])
    assert solution.value(x[["cat", "ann"]]).index.tolist() == ["cat", "ann"]
    pd.testing.assert_frame_equal(solution.value(x), solution.values["x"])


@given(SEEDS, st.integers(0, 5))
@settings(max_examples=many(40))
def test_random_formulas_have_the_values_of_their_dense_arrays(seed, depth):
    rng = np.random.default_rng([29, seed])
    formulas = RandomFormulas(rng)
    drawn = formulas.draw(depth)
    columns = rng.normal(size=formulas.width - 1)
    solution = replace(formulas.model.solve(), x=columns)
    value = solution.value(drawn.expression)
    axes = tuple(index.symbol for index in drawn.expression.indices)
    expected = drawn.spread(axes) @ np.append(columns, 1.0)
    assert np.asarray(value).reshape(expected.shape) == pytest.approx(expected, abs=1e-9)
    squared = solution.value(drawn.expression**2)
    assert np.asarray(squared).reshape(expected.shape) == pytest.approx(expected**2, abs=1e-9)
    absolute = solution.value(abs(drawn.expression).sum() if axes else abs(drawn.expression))
    assert absolute == pytest.approx(abs(expected).sum(), abs=1e-9)


def test_parameters_have_the_numbers_of_now(point):
    point.d.set([1, 2, 3])
    assert point.solution.value(point.d * point.x.sum(T)).tolist() == pytest.approx(
        [1, 2, 3] * point.x_values.sum(1)
    )


def test_a_formula_and_a_definition_of_it_have_the_same_values(point):
    point.model.define("work", point.d * point.x)
    values = point.model.evaluate("work", point.solution.x)
    assert np.array_equal(values, point.solution.value(point.model["work"]).to_numpy())


def test_a_copy_of_the_model_reads_the_solution_by_name(point):
    copy = point.model.copy()
    assert point.solution.value(copy["x"].sum()) == pytest.approx(point.x_values.sum())


def test_what_has_no_value_is_refused_in_words(point):
    solution, x = point.solution, point.x
    row = point.model.constraint("cap", x <= 3)
    with pytest.raises(
        ModelError, match=r"solution\.activity\['cap'\] or solution\.slack\['cap'\]"
    ):
        solution.value(row)
    with pytest.raises(ModelError, match=r"is a constraint.*solution\.activity.*solution\.slack"):
        solution.value(x >= 3)
    with pytest.raises(ModelError, match=r"write solution\.value\(model\['x'\]\)"):
        solution.value("x")
    with pytest.raises(ModelError, match="a formula is expected, not a list"):
        solution.value([x])


def test_a_variable_that_the_solution_lacks_is_refused(point):
    later = point.model.variable("later", N)
    with pytest.raises(ModelError, match="has no variable 'later'"):
        point.solution.value(later.sum() + point.z)


@pytest.mark.parametrize(
    ("labels", "where"),
    [
        (["bob", "ann", "cat"], None),
        (["ann", "bob", "eve"], None),
        (["ann", "bob"], None),
        (["ann", "bob", "cat"], [True, False, True]),
    ],
)
def test_a_variable_with_other_labels_is_refused(labels, where):
    model, other = Model("m"), Model("other")
    model.variable("x", N, upper=1)
    x = other.variable("x", Index("n", labels), where=where)
    with pytest.raises(ModelError, match="'x' has other labels in the solution of 'm'"):
        model.solve().value(x.sum())


def test_a_solution_without_a_point_has_no_value():
    model = Model("m")
    x = model.variable("x", upper=1)
    model.constraint("least", x >= 2)
    solution = model.solve()
    with pytest.raises(NoSolutionError) as of_value:
        solution.value(x)
    with pytest.raises(NoSolutionError) as of_values:
        solution.values["x"]
    assert str(of_value.value) == str(of_values.value)
