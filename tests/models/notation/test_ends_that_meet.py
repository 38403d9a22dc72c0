"""Two ends that are equal but for rounding are equal, wherever they are said."""

import pytest

from fairlp import Model
from fairlp.errors import ModelError

SUM = 0.1 + 0.2


def set_beside(low, high):
    model = Model("m")
    x = model.variable("x", upper=high)
    x.set(lower=low)
    return model, x


def declared(low, high):
    model = Model("m")
    return model, model.variable("x", lower=low, upper=high)


def fixed(low, high):
    model = Model("m")
    x = model.variable("x", upper=high)
    x.fix(low)
    return model, x


def fixed_below(low, high):
    model = Model("m")
    x = model.variable("x", lower=low)
    x.fix(high)
    return model, x


def in_a_row(low, high):
    model = Model("m")
    x = model.variable("x")
    model.constraint("row", x.between(low, high))
    return model, x


def in_a_row_of_parameters(low, high):
    model = Model("m")
    x = model.variable("x")
    least = model.parameter("least", values=0.0)
    model.constraint("row", x.between(least, high))
    model.minimize(x + 0)
    model.solve()
    least.set(low)
    return model, x


WAYS = (set_beside, declared, fixed, fixed_below, in_a_row, in_a_row_of_parameters)


@pytest.mark.parametrize(("low", "high"), [(SUM, 0.3), (SUM - 0.3, 0.0), (1e6 * SUM, 3e5)])
@pytest.mark.parametrize("said", WAYS)
@pytest.mark.parametrize("solver", ["highs", "glpk", "scipy"])
def test_ends_that_differ_by_rounding_are_one_number(said, low, high, solver):
    model, x = said(low, high)
    model.minimize(x + 0)
    assert model.solve(solver).require_optimal().objective == pytest.approx(high, abs=1e-9)


@pytest.mark.parametrize("said", WAYS)
def test_ends_that_differ_by_more_are_refused(said):
    with pytest.raises(ModelError):
        model, _ = said(0.3001, 0.3)
        model.compile()
