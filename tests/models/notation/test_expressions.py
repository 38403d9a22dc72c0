"""Sums written one term after the other, as in PuLP and Pyomo: their depth does not grow with their length."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from fairlp import Index, Model, power
from fairlp.errors import ModelError
from profiles import many
from random_models import RandomFormulas

#: Far beyond Python's limit of nested calls.
TERMS = 2_000


def appended(terms):
    total = 0
    for term in terms:
        total = total + term
    return total


def prepended(terms):
    total = 0
    for term in terms:
        total = term + total
    return total


def alternating(terms):
    total = 0
    for term in terms:
        total = term - total
    return total


def long_model(add, elements=None):
    k = Index("k", range(TERMS))
    model = Model("long")
    x = model.variable("x", k, upper=1)
    weights = np.arange(1.0, TERMS + 1)
    total = add([float(weights[i]) * x[i] for i in range(TERMS)])
    return model, x, total, weights


@pytest.mark.parametrize("add", [sum, appended, prepended])
def test_a_sum_of_many_terms_is_the_sum_over_the_index(add):
    model, _, total, weights = long_model(add)
    model.constraint("row", total <= 10)
    model.maximize(total)
    program = model.compile()
    assert program.A.toarray().tolist() == [weights.tolist()]
    assert program.c.tolist() == weights.tolist()
    assert model.solve().objective == pytest.approx(10)


def test_signs_of_nested_differences_are_multiplied_out():
    model, _, total, weights = long_model(alternating)
    model.constraint("row", total <= 10)
    signs = (-1.0) ** np.arange(TERMS)[::-1]
    assert model.compile().A.toarray().tolist() == [(weights * signs).tolist()]


@pytest.mark.slow
@pytest.mark.parametrize("add", [sum, appended, prepended, alternating])
def test_it_prints_is_pickled_and_copied(add):
    model, _, total, _ = long_model(add)
    model.constraint("row", total <= 10)
    model.minimize(total)
    assert str(model).count("·x[") == 2 * TERMS
    assert model.to_latex().count(r"\, x_{") == 2 * TERMS
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.copy()):
        assert twin.equals(model)
        assert str(twin) == str(model)
    assert str(pickle.loads(pickle.dumps(total))) == str(total)


def test_sums_of_squares_parameters_and_absolute_values():
    k = Index("k", range(TERMS))
    model = Model("long")
    x = model.variable("x", k, lower=None)
    d = model.parameter("d", k, np.ones(TERMS))
    model.constraint(
        "row", sum(d[i] * x[i] for i in range(TERMS)) >= sum(d[i] for i in range(TERMS))
    )
    model.minimize(sum(power(x[i], 2) for i in range(TERMS)))
    program = model.compile()
    assert program.A.nnz == TERMS
    assert program.row_lower.tolist() == [TERMS]
    assert len(program.logs.weights) == TERMS
    d.set(np.full(TERMS, 2.0))
    assert model.compile().row_lower.tolist() == [2 * TERMS]


def test_variables_without_an_index_and_of_different_names():
    model = Model("names")
    names = [f"x{i}" for i in range(TERMS)]
    total = sum(model.variable(name, upper=1) for name in names)
    model.constraint("row", total <= 7)
    model.maximize(total - 3)
    assert model.compile().A.toarray().tolist() == [[1.0] * TERMS]
    assert model.solve().objective == pytest.approx(4)


def test_the_same_in_pyomo():
    pytest.importorskip("pyomo")
    model, _, total, _ = long_model(sum)
    model.constraint("row", total <= 10)
    model.maximize(total)
    built = model.to_pyomo()
    for position, variable in enumerate(built.x.values()):
        variable.set_value(float(position == 3))
    assert built.row.body() == 4.0


def test_a_sum_is_over_an_index_of_the_same_labels_or_over_the_part_that_was_selected():
    model = Model("m")
    n = Index("n", ["ann", "bob", "cat"])
    x = model.variable("x", n)
    assert x[:2].sum(n).indices == ()
    assert x.sum(Index("n", ["ann", "bob", "cat"])).indices == ()
    for other in (Index("n", ["ann", "dan"]), x[:2].indices[0]):
        with pytest.raises(
            ModelError,
            match=r"index 'n' stands for other labels",
        ):
            x.sum(other)


@pytest.mark.parametrize("seed", range(many(500)))
def test_rows_of_any_formula_are_its_numbers_by_numpy(seed):
    rng = np.random.default_rng([76, seed])
    formulas = RandomFormulas(rng)
    formula = formulas.draw(int(rng.integers(1, 6)))
    anchor = formulas.model.variable("u")  # so that no row is empty
    expression = formula.expression + anchor
    assert tuple(index.symbol for index in expression.indices) == formula.axes
    relations = [expression <= 5, expression >= -2, expression == 1, expression.between(-2, 5)]
    bounds = [(-np.inf, 5), (-2, np.inf), (1, 1), (-2, 5)]
    kind = rng.integers(4)
    formulas.model.constraint("row", relations[kind])
    program = formulas.model.compile()
    rows = formula.rows()
    np.testing.assert_allclose(program.A.toarray()[:, :-1], rows[:, :-1], atol=1e-12)
    assert (program.A.toarray()[:, -1] == 1).all()
    for sides, bound in zip((program.row_lower, program.row_upper), bounds[kind], strict=True):
        np.testing.assert_allclose(sides, bound - rows[:, -1], atol=1e-12)


@pytest.mark.parametrize(
    ("key", "places"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, 2), [0, 2]),
        (slice(None, None, -1), [3, 2, 1, 0]),
        (slice("b", "c"), [1, 2]),
        (slice(None, "b"), [0, 1]),
        (slice("c", None), [2, 3]),
        (["d", "a"], [3, 0]),
        ([True, False, False, True], [0, 3]),
    ],
)
def test_a_part_is_by_position_label_or_mask(key, places):
    k = Index("k", list("abcd"))
    model = Model("m")
    x = model.variable("x", k)
    weights = model.parameter("weights", k, [1, 2, 3, 4])
    model.constraint("part", x[key] <= weights[key])
    program = model.compile()
    assert program.A.toarray().tolist() == np.eye(4)[places].tolist()
    assert program.row_upper.tolist() == [place + 1.0 for place in places]


def test_what_is_fixed_or_bounded_is_so_in_the_program():
    k = Index("k", list("abc"))
    model = Model("m")
    x = model.variable("x", k, upper=5, where=[True, False, True], integer=True)
    assert (x.size, x.shape) == (2, (3,))
    x.set(lower=1, upper={"a": 2, "b": 9, "c": 4})
    assert (x.lower.tolist(), x.upper.tolist()) == ([1, 1], [2, 4])
    x.fix({"a": 1, "b": 0, "c": 4})
    model.maximize(x.sum())
    assert model.compile().col_lower.tolist() == model.compile().col_upper.tolist() == [1, 4]
    for numbers, words in ((0, "fixed at 0, outside its bounds 1 and 2"), (3, "fixed at 3")):
        with pytest.raises(ModelError, match=words):
            x.fix(numbers)
    x.unfix()
    assert model.solve().objective == 6
    with pytest.raises(ModelError):
        x.set(lower=3)
