"""Index notation: it compiles to what a loop would write, prints as mathematics, and refuses what is wrong."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Index, Model, log, power
from fairlp.errors import FairlpError, ModelError, NoSolutionError, UnknownNameError
from fairlp.models.notation.compiler import numbers
from fairlp.models.notation.labels import labels_on
from fairlp.models.notation.variables import Parameter, Variable
from own_back_ends import Dual
from profiles import many


def indices():
    return (
        Index("n", ["a", "b", "c"], "user"),
        Index("i", [10, 20], "server"),
        Index("r", ["cpu", "mem"], "resource"),
    )


def by_loops(n, i, r, d, c, mask):
    """The DRFH program written with loops: rows of capacity, then of fairness; columns g, then t."""
    columns = [(a, b) for a in range(len(n)) for b in range(len(i)) if mask[a, b]]
    matrix = np.zeros((len(i) * len(r) + len(n), len(columns) + 1))
    for row, (b, k) in enumerate(itertools.product(range(len(i)), range(len(r)))):
        for column, (a, server) in enumerate(columns):
            if server == b:
                matrix[row, column] = d[a, k]
    for a in range(len(n)):
        row = len(i) * len(r) + a
        for column, (user, _) in enumerate(columns):
            if user == a:
                matrix[row, column] = 1
        matrix[row, -1] = -(a + 1)
    lower = np.r_[np.full(c.size, -np.inf), np.zeros(len(n))]
    upper = np.r_[c.reshape(-1), np.full(len(n), np.inf)]
    return matrix, lower, upper


def by_notation(n, i, r, d, c, mask):
    model = Model("DRFH", indices=(n, i, r))
    demand, capacity = model.parameter("d", (n, r), d), model.parameter("c", (i, r), c)
    phi = model.parameter("phi", n, np.arange(1.0, len(n) + 1))
    g, t = model.variable("g", n, i, where=mask), model.variable("t")
    model.constraint("capacity", (demand * g).sum(n) <= capacity)
    model.constraint("fairness", g.sum(i) >= phi * t)
    model.maximize(t)
    return model


@settings(max_examples=many(60), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_compiles_to_what_loops_would_write(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 3)
    n, i, r = (Index(symbol, range(size)) for symbol, size in zip("nir", sizes, strict=True))
    d, c = rng.integers(0, 4, (len(n), len(r))).astype(float), rng.uniform(1, 9, (len(i), len(r)))
    mask = rng.random((len(n), len(i))) < rng.choice([0.0, 0.5, 1.0])
    program = by_notation(n, i, r, d, c, mask).compile()
    matrix, lower, upper = by_loops(n, i, r, d, c, mask)
    np.testing.assert_array_equal(program.A.toarray(), matrix)
    np.testing.assert_array_equal(program.row_lower, lower)
    np.testing.assert_array_equal(program.row_upper, upper)
    assert program.A.has_canonical_format and (program.A.data != 0).all()
    assert program.c[-1] == 1 and not program.c[:-1].any()


def test_names_carry_the_labels():
    n, i, r = indices()
    mask = np.array([[True, False], [True, True], [False, True]])
    program = by_notation(n, i, r, np.ones((3, 2)), np.ones((2, 2)), mask).compile()
    assert program.column_names == ["g[a,10]", "g[b,10]", "g[b,20]", "g[c,20]", "t"]
    assert program.row_names[:4] == [
        "capacity[10,cpu]",
        "capacity[10,mem]",
        "capacity[20,cpu]",
        "capacity[20,mem]",
    ]
    assert program.row_names[4:] == ["fairness[a]", "fairness[b]", "fairness[c]"]
    with pytest.raises(UnknownNameError, match="did you mean 'fairness'"):
        program.row_block("fairnes")


def test_prints_as_mathematics_and_latex():
    n, i, r = indices()
    model = by_notation(n, i, r, np.ones((3, 2)), np.ones((2, 2)), np.eye(3, 2) > 0)
    text = str(model)
    assert "capacity  ∑_n d[n,r]·g[n,i] ≤ c[i,r]   ∀ i, r" in text
    assert "fairness  ∑_i g[n,i] ≥ φ[n]·t   ∀ n" in text
    assert "[2 of 6 exist]" in text
    latex = model.to_latex()
    assert r"\sum_{n} d_{n,r}\, g_{n,i} \le c_{i,r} \quad \forall\, i, r" in latex
    assert r"\sum_{i} g_{n,i} \ge \varphi_{n}\, t \quad \forall\, n" in latex
    assert latex.startswith(r"\begin{aligned}") and latex.endswith(r"\end{aligned}")


def test_every_operation_of_an_expression_is_printed():
    n, i, _ = indices()
    model = Model("ops", indices=(n, i))
    a, b = model.parameter("a", n, [1, 2, 4]), model.parameter("b", (n, i), np.ones((3, 2)))
    x, y = model.variable("x", n, i), model.variable("y", n, lower=None)
    row = 2 * x / a - (b + 1) * y + (a - 3) * 1 <= 5 + a.sum() - np.float64(2) * x + (-y)
    assert (
        str(row)
        == "2·x[n,i]/a[n] − (b[n,i] + 1)·y[n] + (a[n] − 3)·1 ≤ 5 + ∑_n a[n] − 2·x[n,i] + −y[n]"
    )


def test_alias_compares_two_users():
    n, _, _ = indices()
    m = n.alias("m")
    model = Model("pairs", indices=(n, m))
    w = model.parameter("w", n, [1, 2, 4])
    x = model.variable("x", n)
    model.constraint("envy", w[m] * x >= x[m])
    A = model.compile().A.toarray()
    assert model.compile().row_names[1] == "envy[a,b]"
    np.testing.assert_array_equal(A[0], [0, 0, 0])  # x_a - x_a
    np.testing.assert_array_equal(A[1], [2, -1, 0])
    np.testing.assert_array_equal(A[5], [0, 4, -1])


def test_log_objective_compiles():
    n, i, _ = indices()
    model = Model("EG", indices=(n, i))
    w = model.parameter("w", n, [1, 2, 3])
    x = model.variable("x", n, i)
    model.maximize((w * log(2 * x.sum(i) + 1)).sum(n) - x.sum())
    program = model.compile()
    assert program.logs is not None
    np.testing.assert_array_equal(program.logs.weights, [1, 2, 3])
    np.testing.assert_array_equal(program.logs.A.toarray(), np.repeat(np.eye(3), 2, axis=1) * 2)
    np.testing.assert_array_equal(program.logs.constant, [1, 1, 1])
    point = np.arange(6.0)
    expected = sum(k * np.log(2 * s + 1) for k, s in zip((1, 2, 3), (1, 5, 9), strict=True)) - 15
    assert program.objective_value(point) == pytest.approx(expected)
    model.minimize((w * log(x.sum(i))).sum(n))
    with pytest.raises(
        ModelError, match="the objective: model 'EG': the weights of logarithms, powers"
    ):
        model.compile()


def test_masked_rows_and_definitions():
    n, i, _ = indices()
    model = Model("masks", indices=(n, i))
    x = model.variable(
        "x", n, i, where=np.array([[1, 1], [0, 1], [1, 0]], dtype=bool), lower=1, upper=[[1, 2]] * 3
    )
    b = model.parameter("b", (n, i), np.arange(6.0).reshape(3, 2))
    model.constraint("some", b * x <= b, where=np.array([[0, 1], [1, 0], [1, 0]], dtype=bool))
    model.define("double", 2 * x + 1)
    program = model.compile()
    assert program.row_names == ["some[a,20]", "some[b,10]", "some[c,10]"]
    np.testing.assert_array_equal(program.A.toarray(), [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 4]])
    np.testing.assert_array_equal(program.row_upper, [1, 2, 4])
    np.testing.assert_array_equal(program.col_upper, [1, 2, 2, 1])
    values = model.evaluate("double", np.array([5.0, 6.0, 7.0, 8.0]))
    np.testing.assert_array_equal(values, [[11, 13], [1, 15], [17, 1]])


def test_solution_objects_are_labelled():
    n, i, r = indices()
    mask = np.array([[1, 0], [1, 1], [0, 1]], dtype=bool)
    solution = by_notation(n, i, r, np.ones((3, 2)), np.ones((2, 2)), mask).solve()
    g = solution.values["g"]
    assert (
        isinstance(g, pd.DataFrame)
        and g.index.tolist() == ["a", "b", "c"]
        and g.columns.tolist() == [10, 20]
    )
    assert np.isnan(g.loc["a", 20])  # no such variable
    assert isinstance(solution.values["t"], float)
    assert solution.duals["fairness"].index.tolist() == ["a", "b", "c"]
    assert solution.duals["capacity"].loc[10].index.tolist() == ["cpu", "mem"]
    assert set(solution.values) == {"g", "t"} and len(solution.duals) == 2


N, I, R = indices()  # noqa: E741


def fresh():
    model = Model("wrong", indices=(N, I, R))
    return model, model.parameter("d", (N, R), np.ones((3, 2))), model.variable("x", N, I)


def test_a_change_after_compiling_is_seen():
    model, _, x = fresh()
    model.constraint("first", x <= 1)
    assert model.compile().n_rows == 6
    model.constraint("second", x.sum(I) <= 1)
    assert model.compile().n_rows == 9
    with pytest.raises(ValueError, match="read-only"):
        model.compile().c[0] = 1


# Parts of no model, and sweeps that are not proved at once.

USERS = Index("n", ["ann", "bob"], "user")


def model():
    users_model = Model("m", indices=(USERS,))
    x = users_model.variable("x", USERS, upper=3)
    users_model.constraint("most", x.sum() <= users_model.parameter("h", (), 4))
    users_model.maximize(x["ann"] + 2 * x["bob"])
    return users_model


def test_parts_of_no_model_take_other_numbers():
    h = Parameter("h", (), np.asarray(4.0))
    h.set(5)
    assert float(h.values) == 5
    x = Variable("x", (USERS,), bounds=(np.zeros(2), np.full(2, 3.0)))
    x.set(upper=7)
    assert x.upper.tolist() == [7, 7] and x.lower.tolist() == [0, 0]


def test_labels_of_a_series_over_two_indices_are_those_of_each():
    index = pd.MultiIndex.from_product([["ann", "bob"], ["s", "t", "u"]])
    series = pd.Series(np.arange(6.0), index=index)
    assert [list(labels_on(series, depth)) for depth in (0, 1)] == [["ann", "bob"], ["s", "t", "u"]]


def test_a_sweep_asks_again_where_the_solver_does_not_end():
    ends = []

    class Slow(Dual):
        name = "slow"

        def run(self, program, options):
            result = super().run(program, options)
            ends.append(len(ends))
            return (
                replace(result, termination=fairlp.Termination.UNKNOWN)
                if len(ends) == 2
                else result
            )

    table = model().sweep("h", [1, 2, 3], solver=Slow())
    assert table["objective"].tolist() == [2, 4, 6] and len(ends) == 4


# What people write who meet models for the first time.


@pytest.fixture
def small_model():
    pair_model = Model("small")
    pair_model.variable("x", Index("u", ["ann", "bob"], "user"))
    return pair_model


def test_indices_are_given_one_after_the_other_or_in_a_tuple():
    n, i, _ = indices()
    model = Model("m", indices=(n, i))
    x = model.variable("x", n, i)
    assert model.variable("y", (n, i)).indices == x.indices
    assert str(x.sum((n, i))) == str(x.sum(n, i))
    assert str(x.mean((n,))) == str(x.mean(n))
    assert model.constraint("cap", x.sum(i) <= 1, over=n).rows == ["cap[a]", "cap[b]", "cap[c]"]


@pytest.mark.parametrize("method", ["parameter", "subset"])
def test_several_indices_before_data_go_in_a_tuple(method):
    n, i, _ = indices()
    with pytest.raises(ModelError, match=re.escape("go in a tuple: (name, (n, i), data)")):
        getattr(Model("m"), method)("d", n, i, np.ones((3, 2)))
    assert Model("m").parameter("hour", i, i).values.tolist() == [10, 20]


def test_an_index_is_taken_by_its_symbol_where_nothing_else_is_called_so(small_model):
    (index,) = small_model.indices
    assert small_model[index.symbol] is index
    users_model = Model("m", indices=(index,))
    x = users_model.variable(index.symbol, index)
    assert users_model[index.symbol] is x


def test_two_indices_of_one_symbol_are_told_apart_by_their_labels():
    n, other = Index("n", ["a", "b"]), Index("n", ["b", "c"])
    x = Model("m").variable("x", n)
    with pytest.raises(ModelError, match=r"in another place \('a', 'c'\); give one"):
        x + Model("m").variable("y", other)
    with pytest.raises(ModelError, match=r"\(in another order\)"):
        x + Model("m").variable("y", Index("n", ["b", "a"]))


# What a model hardly ever holds: quotients in LaTeX, bounds above only, weights of logarithms that
# are all zero.


def odd_model(**bounds):
    users_model = Model("m", indices=(USERS,))
    users_model.variable("x", USERS, **({"upper": 3} | bounds))
    users_model.constraint("most", users_model["x"].sum() <= 4)
    users_model.maximize(users_model["x"].sum())
    return users_model


def test_quotients_are_fractions_in_latex():
    users_model = odd_model()
    d = users_model.parameter("d", USERS, [2.0, 4.0])
    users_model.constraint("part", users_model["x"] / d <= 1)
    assert r"\frac{x_{n}}{d_{n}}" in users_model.to_latex() and "x[n]/d[n]" in str(users_model)
    assert (
        r"\frac{x_{n}}{d_{n}}" in (users_model["x"] / d)._repr_latex_()
        and (users_model["x"] / d)._repr_latex_()[0] == "$"
    )
    assert users_model.solve().objective == pytest.approx(4)


def test_a_bound_above_only_and_a_model_without_constraints():
    users_model = Model("bare", indices=(USERS,))
    users_model.variable("x", USERS, lower=-np.inf, upper=2)
    users_model.maximize(users_model["x"].sum())
    assert "x[n] ≤ 2" in str(users_model) and "subject to" not in str(users_model)
    assert r"x_{n} \le 2" in users_model.to_latex()
    assert users_model.solve().objective == pytest.approx(4)


def test_a_row_for_nothing_in_particular_has_no_scope():
    users_model = odd_model()
    assert "∀" not in next(line for line in str(users_model).splitlines() if "most" in line)


def test_logarithms_of_no_weight_are_no_part_of_a_program():
    users_model = odd_model()
    w = users_model.parameter("w", USERS, [0.0, 0.0])
    users_model.maximize((w * log(users_model["x"])).sum() + users_model["x"].sum())
    assert users_model.compile().logs is None and users_model.solve().objective == pytest.approx(4)
    w.set([1.0, 0.0])
    assert users_model.compile().logs is not None


def test_variables_are_no_numbers():
    users_model = odd_model()
    d = users_model.parameter("d", USERS, [2.0, 4.0])
    with pytest.raises(FairlpError):
        users_model.constraint("bent", users_model["x"] / users_model["x"] <= d)
    with pytest.raises(ModelError, match="has variables where numbers are expected"):
        numbers(users_model["x"])
    assert numbers((d / 2).sum()).values == pytest.approx(3)


def test_a_row_that_is_used_nowhere_else_is_removed():
    users_model = odd_model()
    users_model.define("total", users_model["x"].sum())
    users_model.remove("total")
    users_model.remove(users_model["most"])
    assert users_model.solve().objective == pytest.approx(6)


def test_a_sweep_of_integers_refuses_to_read_duals():
    users_model = odd_model(integer=True)
    limit = users_model.parameter("h", (), 3.5)
    users_model.constraint("cap", users_model["x"].sum() <= limit)
    assert users_model.sweep("h", [2.5, 3.5], read=["x"])["objective"].tolist() == [2.0, 3.0]
    with pytest.raises(NoSolutionError, match="'cap' has no duals to read"):
        users_model.sweep("h", [2.5, 3.5], read=["x", "cap"])


def test_a_definition_has_its_logarithms_powers_and_absolute_values():
    # logarithms were left out of what it came to
    n = Index("n", ["a", "b"])
    model = Model("values", indices=(n,))
    x, w = model.variable("x", n), model.parameter("w", n, [2.0, 3.0])
    model.define("utility", w * log(x) / 2 - abs(x - 2))
    model.define("total", (log(x) + power(x, 0.5) + w * x).sum(n) + 1)
    point = np.array([4.0, 1.0])
    assert model.evaluate("utility", point) == pytest.approx([2 * np.log(4.0) / 2 - 2, 0.0 - 1])
    assert model.evaluate("total", point) == pytest.approx(np.log(4.0) + 2 + 1 + 8 + 3 + 1)


def test_a_sum_over_an_index_that_is_there_again():
    # (c[t]·∑_t x[t]) summed over t was ∑_t c[t]·x[t], and a second sum was none
    t = Index("t", range(3))
    model = Model("again", indices=(t,))
    x, c = model.variable("x", t), model.parameter("c", t, [1, 2, 3])
    rows = {
        "product": (c * x.sum(t)).sum(t) <= 1,
        "twice": (x.sum(t) + x).sum(t) <= 1,
        "free": x - x.mean(t) <= c * x.sum(t),
        "quotient": (x.sum(t) / c).sum() <= 1,
    }
    for name, row in rows.items():
        model.constraint(name, row)
    ones, numbers = np.ones((3, 3)), np.array([1.0, 2, 3])
    free = np.eye(3) - ones / 3 - numbers[:, None] * ones
    matrix = model.compile().A.toarray()
    assert np.allclose(matrix, [6 * ones[0], 4 * ones[0], *free, (1 + 1 / 2 + 1 / 3) * ones[0]])
    model.maximize((log(x).sum(t) + x).sum(t))
    assert model.compile().logs.weights.tolist() == [3.0] * 3
    with pytest.raises(
        ModelError, match=r"the objective: a sum of logarithms or powers is multiplied b"
    ):
        model.maximize((c * log(x).sum(t)).sum(t))
        model.compile()
