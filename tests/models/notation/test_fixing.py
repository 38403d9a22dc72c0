"""Variables fixed and given back, and copies without integers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairlp import Index, Model
from fairlp.errors import ModelError
from random_models import forget_program, same_bytes

N, I = Index("n", ["ann", "bob", "cat"], "user"), Index("i", ["s1", "s2"], "server")  # noqa: E741
MASK = np.array([[True, False], [True, True], [False, True]])


def knapsack():
    model = Model("m", indices=(N, I))
    x = model.variable("x", N, I, where=MASK, upper=3, integer=True)
    y = model.variable("y", N, upper=[1, 2, 3])
    model.constraint("room", 3 * x.sum(N) + y.sum() <= 10)
    model.maximize(x.sum() + y.sum() / 8)
    return model, x, y


def test_fixed_numbers_are_both_bounds_until_they_are_given_back():
    model, x, y = knapsack()
    before = model.compile()
    y.fix({"cat": 3, "ann": 0.5, "bob": 2})
    assert (
        model.compile().col_lower[-3:].tolist()
        == model.compile().col_upper[-3:].tolist()
        == [0.5, 2, 3]
    )
    fresh = model.copy()
    forget_program(fresh)
    assert same_bytes(fresh.compile(), model.compile()) == []
    y.set(upper=9)
    assert y.upper.tolist() == [0.5, 2, 3]
    fresh["y"].unfix()
    y.unfix()
    assert y.upper.tolist() == [9, 9, 9] and fresh["y"].upper.tolist() == [1, 2, 3]
    y.set(upper=[1, 2, 3])
    assert same_bytes(model.compile(), before) == [] and same_bytes(fresh.compile(), before) == []
    x["ann"].base.unfix()  # not fixed: nothing happens
    assert model.compile() is model.compile()


def test_a_solution_fixes_what_it_has_and_the_rest_is_solved_again():
    model, x, _ = knapsack()
    solution = model.solve()
    x.fix(solution)
    second = model.solve()
    assert second.objective == pytest.approx(solution.objective)
    pd.testing.assert_frame_equal(second.values["x"], solution.values["x"].round())
    x.fix(solution.values["x"])  # labelled, NaN where nothing is
    assert model.solve().objective == pytest.approx(solution.objective)
    relaxed = model.relax_integrality()
    assert (
        relaxed.solve().row_duals is not None
        and not relaxed.compile().is_mip
        and model.compile().is_mip
    )


def test_integers_are_relaxed_in_a_copy_that_differs_in_nothing_else():
    model, x, _ = knapsack()
    model.minimize(abs(x.sum() - 3))
    relaxed = model.relax_integrality()
    assert not model.equals(relaxed) and relaxed.equals(model.compile().relaxed())
    assert not relaxed["x"].integer and x.integer and "abs1" in relaxed.variables


WRONG = {
    "outside": (
        lambda x, y: y.fix(2),
        r"y\[ann\] is fixed at 2, outside its bounds 0 and 1; .*set\(",
    ),
    "NaN": (lambda x, y: y.fix([0, np.nan, 1]), "fixed value of variable .* is NaN"),
    "nothing": (lambda x, y: y.fix(None), "fixed value of variable .* is NaN"),
    "shape": (
        lambda x, y: y.fix([0, 1]),
        r"fixed value of variable .* has shape \(2,\), expected \(3,\)",
    ),
    "unknown": (lambda x, y: y.fix({"ann": 1, "bob": 1, "dan": 1}), "names user 'dan'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_and_nothing_is_fixed(case):
    action, message = WRONG[case]
    _, x, y = knapsack()
    with pytest.raises(ModelError, match=message):
        action(x, y)
    assert y.upper.tolist() == [1, 2, 3]
