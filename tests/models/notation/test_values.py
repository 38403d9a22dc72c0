"""Values of formulas at a solution: against NumPy, by hand and of random formulas."""

from __future__ import annotations

import gc
import pickle
from dataclasses import replace
from weakref import ref

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from fairlp import Index, Model, log, power
from fairlp.errors import ModelError
from profiles import many
from random_models import RandomFormulas

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


def test_formulas_that_are_not_drawn_have_the_values_of_numpy(point):
    d, x, y, z = point.d, point.x, point.y, point.z
    X, Y, Z, D = point.x_values, point.y_values, point.z_value, point.costs
    m = N.alias("m")
    cases = [
        (x[:, 1:3], X[:, 1:3]),
        (abs(x).sum(T) * d, abs(X).sum(1) * D),
        ((d * x.sum(T) ** 2).sum() - abs(z), D @ X.sum(1) ** 2 - abs(Z)),
        (power(x + 9, 0.5).sum(N), np.sqrt(X + 9).sum(0)),
        (y[m] - 1 * y, Y[:, None] - Y[None, :]),
        (log(d), np.log(D)),
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


@given(SEEDS, st.integers(0, 4))
@settings(max_examples=many(40))
def test_values_at_some_combinations_are_those_of_the_dense_arrays(seed, depth):
    rng = np.random.default_rng([31, seed])
    formulas = RandomFormulas(rng)
    drawn = formulas.draw(depth)
    columns = rng.normal(size=formulas.width - 1)
    solution = replace(formulas.model.solve(), x=columns)
    axes = tuple(axis for axis in ("n", "t", "team") if axis in drawn.axes)
    if not axes:
        with pytest.raises(ModelError, match="is one number, without an index"):
            solution.value(drawn.expression, where=True)
        return
    expected = drawn.spread(axes) @ np.append(columns, 1.0)
    where = rng.random(expected.shape) < rng.choice([0.2, 0.5, 1.0])
    for formula, numbers in (
        (drawn.expression, expected),
        (abs(drawn.expression) * 2 - drawn.expression, 2 * abs(expected) - expected),
        (drawn.expression / 4 + drawn.expression**2, expected / 4 + expected**2),
    ):
        value = solution.value(formula, where=where)
        assert value.to_numpy() == pytest.approx(numbers[where], abs=1e-9)
        assert list(value.index.names) == list(axes)
        chosen = solution.value(formula, where=value.index.tolist())
        pd.testing.assert_series_equal(chosen, value)


def test_where_takes_what_a_constraint_takes(point):
    solution, x, d = point.solution, point.x, point.d
    full = solution.value(x / d).stack()  # noqa: PD013
    pairs = [("ann", 8), ("cat", 10)]
    subset = point.model.subset("E", (N, T), pairs)
    table = pd.DataFrame(pairs, columns=["n", "t"]).sample(frac=1, random_state=1)
    mask = pd.DataFrame(False, N.labels, T.labels)
    for pair in pairs:
        mask.loc[pair] = True
    for where in (pairs, pairs[::-1], subset, table, mask, mask.to_numpy()):
        value = solution.value(x / d, where=where)
        assert value.index.tolist() == pairs and value.index.names == ["n", "t"]
        assert value.to_numpy() == pytest.approx(full.loc[pairs].to_numpy())
    everywhere = solution.value(x / d, where=np.ones((3, 4), dtype=bool))
    assert everywhere.to_numpy() == pytest.approx(full.to_numpy())
    some = solution.value(x.sum(T), where=["cat", "ann"])
    assert some.index.tolist() == ["ann", "cat"] and some.index.name == "n"
    assert solution.value(x, where=[]).empty
    hours = solution.value(x, where=pd.Series([True, False, False, True], T.labels))
    assert hours.index.tolist() == [(n, t) for n in N.labels for t in (8, 11)]
    with pytest.raises(ModelError, match="'where' of the value"):
        solution.value(x, where=[("eve", 8)])


def test_where_follows_the_order_of_the_model_whatever_that_of_the_formula():
    i = Index("i", range(3))
    j = i.alias("j")
    model = Model("m", indices=(i, j))
    x = model.variable("x", j, i, lower=[[10 * b + a for a in range(3)] for b in range(3)])
    model.minimize(x.sum())
    value = model.solve().value(2 * x, where=[(0, 2), (1, 0)])
    assert value.index.names == ["i", "j"]
    assert value.to_dict() == {(0, 2): 40.0, (1, 0): 2.0}


def test_a_zero_below_counts_where_it_is_asked_for_and_has_its_labels(point):
    capacity = point.model.parameter("cap", (N, T), {("ann", 8): 2, ("cat", 11): 4}, default=0)
    formula = point.x.sum(T) / capacity
    value = point.solution.value(formula, where=[("ann", 8), ("cat", 11)])
    assert value.to_numpy() == pytest.approx(point.x_values.sum(1)[[0, 2]] / [2, 4])
    with pytest.raises(
        ModelError, match=r"division by zero: \(cap\[n,t\]\) is 0 of user 'bob' and hour 8"
    ):
        point.solution.value(formula, where=[("ann", 8), ("bob", 8)])
    with pytest.raises(
        ModelError, match=r"division by zero: \(cap\[n,t\]\) is 0 of user 'ann' and hour 9"
    ):
        point.solution.value(formula)
    with pytest.raises(ModelError, match=r"is not finite everywhere; expected numbers above 0"):
        point.solution.value(log(capacity), where=[("bob", 8)])
    assert point.solution.value(log(capacity), where=[("cat", 11)]).item() == np.log(4)
    hours = point.model.parameter("h", T, [1, 1, 0, 1])
    with pytest.raises(ModelError, match=r"division by zero: \(h\[t\]\) is 0 of hour 10"):
        point.solution.value(point.x / hours, where=[("ann", 8), ("bob", 10)])
    point.d.set([1, 0, 2])
    row = point.model.constraint("share", point.x.sum(T) / point.d <= 1)
    with pytest.raises(
        ModelError, match=r"'share': division by zero: \(d\[n\]\) is 0 of user 'bob'"
    ):
        point.model.compile()
    row.remove()


@pytest.mark.slow
def test_values_on_arcs_need_no_grid_of_all_pairs():
    count = 200_000  # a grid of floats would be 320 GB
    i = Index("i", range(count))
    j = i.alias("j")
    model = Model("net", indices=(i, j))
    rng = np.random.default_rng(4)
    arcs = pd.DataFrame({"i": np.arange(count), "j": rng.permutation(count)})
    numbers = rng.uniform(1, 2, count)
    capacity = model.parameter("cap", (i, j), arcs.assign(cap=numbers), default=0)
    flow = model.variable("flow", i, j, where=arcs, upper=3)
    potential = model.variable("p", i, lower=np.arange(count) / count)
    columns = np.concatenate([rng.uniform(0, 3, count), np.arange(count) / count])
    solution = replace(model.solve(), x=columns)
    value = solution.value(flow / capacity - abs(potential - potential[j]), where=arcs)
    tail, head = columns[count:], columns[count:][arcs["j"]]
    expected = columns[:count] / numbers - abs(tail - head)
    assert value.to_numpy() == pytest.approx(expected)


def test_parameters_have_the_numbers_of_the_solve(point):
    d, x, costs = point.d, point.x, point.costs
    m = N.alias("m")
    formulas = {
        "product": (d * x.sum(T), costs * point.x_values.sum(1)),
        "quotient": (x["ann", 8] / d, point.x_values[0, 0] / costs),
        "element": (d["bob"] * point.z, costs[1] * point.z_value),
        "selection": (d[["cat", "ann"]] + 0 * point.z, costs[[2, 0]]),
        "alias": (d[m] * 1, costs),
        "parameter": (d, costs),
        "logarithm": (log(d).sum(), np.log(costs).sum()),
    }
    d.set([5, 6, 7])
    for name, (formula, expected) in formulas.items():
        assert np.asarray(point.solution.value(formula)) == pytest.approx(expected), name
    assert point.solution.value(d, where=["bob"]).item() == costs[1]
    point.model.define("d now", 1 * d)
    assert point.model.evaluate("d now", point.solution.x).tolist() == [5, 6, 7]
    copy = point.model.copy()
    copy["d"].set([8, 8, 8])
    assert point.solution.value(copy["d"]).tolist() == costs.tolist()
    pickled = pickle.loads(pickle.dumps(point.solution))
    assert pickled.value(d).tolist() == costs.tolist()


def priced(kind):
    """A model in which one parameter is a price, another a limit, and a third is in no row."""
    model = Model("m", indices=(N,))
    price, limit = model.parameter("price", N, [1, 2, 3]), model.parameter("limit", (), 6)
    model.parameter("beside", N, [1, 1, 1])
    x = model.variable("x", N, upper=4, integer=kind == "integers")
    model.constraint("most", x.sum() <= limit)
    if kind == "logarithms":
        model.maximize((price * log(x + 1)).sum())
    elif kind == "objectives":
        model.maximize([(price * x).sum(), x["ann"] + 0])
    else:
        model.maximize((price * x).sum())
    return model


@pytest.mark.parametrize("kind", ["continuous", "integers", "logarithms", "objectives"])
@pytest.mark.parametrize("solver", ["highs", "scipy"])
def test_every_solve_has_its_numbers(kind, solver):
    model = priced(kind)
    price, beside = model["price"], model["beside"]
    solutions = []
    for step in range(3):
        price.set([1 + step, 2, 3])
        beside.set([step, step, step])
        solutions.append(model.solve(solver))
    model.constraint("more", model["x"] >= 0)
    model.parameter("later", (), 1)
    price.set([9, 9, 9])
    beside.set([9, 9, 9])
    for step, solution in enumerate(solutions):
        assert solution.value(price).tolist() == [1 + step, 2, 3]
        assert solution.value(beside).tolist() == [step, step, step]
        value = solution.value((price * model["x"]).sum())
        assert value == pytest.approx(solution.values["x"] @ [1 + step, 2, 3])


@pytest.mark.parametrize("kind", ["continuous", "integers", "logarithms"])
def test_every_step_of_a_session_and_of_a_sweep_has_its_numbers(kind):
    model = priced(kind)
    price, limit = model["price"], model["limit"]
    with model.session() as session:
        solutions = []
        for step in range(3):
            limit.set(5 + step)
            price["ann"].set(1 + step)
            solutions.append(session.solve(**({"time_limit": 60} if step == 1 else {})))
    limit.set(1)
    assert [solution.value(limit) for solution in solutions] == [5, 6, 7]
    assert [solution.value(price)["ann"] for solution in solutions] == [1, 2, 3]
    kept = []
    model.sweep("limit", [2, 4], read=lambda solution: kept.append(solution) or {})
    assert limit.values == 1
    assert [solution.value(limit + 0) for solution in kept] == [2, 4]


@pytest.mark.slow
def test_numbers_of_a_solve_go_with_its_program():
    gc.collect()
    model = priced("continuous")
    gone = ref(model["price"].stored)
    first = model.solve()
    model["price"].set([4, 4, 4])
    model.compile()
    gc.collect()
    assert gone() is not None and first.value(model["price"]).tolist() == [1, 2, 3]
    del first
    gc.collect()
    assert gone() is None


def test_a_formula_and_a_definition_of_it_have_the_same_values(point):
    point.model.define("work", point.d * point.x)
    values = point.model.evaluate("work", point.solution.x)
    assert np.array_equal(values, point.solution.value(point.model["work"]).to_numpy())


def test_a_copy_of_the_model_reads_the_solution_by_name(point):
    copy = point.model.copy()
    assert point.solution.value(copy["x"].sum()) == pytest.approx(point.x_values.sum())
