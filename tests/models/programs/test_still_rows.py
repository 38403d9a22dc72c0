"""Rows that no variable can move: without variables, or of variables that are all 0."""

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Index, Model
from profiles import by_day, chequered

SOLVERS = (
    "highs",
    "highs-ipm",
    "scipy",
    "glpk",
    "scip",
    "cvxpy:CLARABEL",
    "pyomo:highs",
    "ortools:GLOP",
)
NOISE = 0.3 - 0.1 - 0.2


def without_variables(side):
    model = Model("no variables")
    x = model.variable("x", upper=1)
    model.constraint("row", 0 * x == side)
    model.maximize(x + 0)
    return model


def group_without_members(side):
    model = Model("a group without members")
    n = Index("n", ["ann", "bob"])
    g = Index("g", ["full", "empty"])
    x = model.variable("x", n, upper=1)
    members = pd.DataFrame(
        [[1.0, 0.0], [0.0, 0.0]], index=["full", "empty"], columns=["ann", "bob"]
    )
    member = model.parameter("member", (g, n), members)
    model.constraint("row", (member * x).sum(n) == pd.Series([1.0, side], index=["full", "empty"]))
    model.maximize(x.sum(n) - 1)
    return model


def variables_that_are_zero(side):
    model = Model("variables that are 0")
    x = model.variable("x", upper=0)
    z = model.variable("z", lower=0, upper=0)
    y = model.variable("y", upper=1)
    model.constraint("row", x + 2 * z == side)
    model.maximize(x + y)
    return model


def variables_that_rows_hold_at_zero(side):
    model = Model("variables that a row holds at 0")
    x = model.variable("x")
    z = model.variable("z")
    y = model.variable("y", upper=1)
    model.constraint("none", x + z <= 0)
    model.constraint("row", x >= side)
    model.maximize(y + 0)
    return model


def committed(side):
    model = Model("a unit that is off")
    on = model.variable("on", binary=True)
    power = model.variable("power", upper=5)
    y = model.variable("y", upper=1)
    on.fix(0)
    model.constraint("most", power <= 5 * on)
    model.constraint("row", power >= side)
    model.maximize(y - power)
    return model


MODELS = (
    without_variables,
    group_without_members,
    variables_that_are_zero,
    variables_that_rows_hold_at_zero,
    committed,
)


@pytest.mark.parametrize(("side", "written"), chequered([NOISE, -NOISE, 2e-13], list(MODELS)))
@pytest.mark.parametrize("solver", by_day(SOLVERS, 3))
def test_rounding_in_such_a_row_is_no_conflict(solver, written, side):
    table = fairlp.solvers().loc[solver]
    if not table["available"]:
        pytest.skip(f"{solver} is not installed")
    model = written(side)
    if model.compile().is_mip and "MILP" not in str(table["capabilities"]):
        pytest.skip(f"{solver} has no integers")
    solution = model.solve(solver).require_optimal()
    assert solution.objective == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("written", MODELS)
def test_more_than_rounding_is_a_conflict_and_named(written):
    model = written(1e-3)
    assert model.solve().status.termination is fairlp.Termination.INFEASIBLE
    assert any(name.startswith("row") for name in model.explain().index)


@pytest.mark.parametrize("written", MODELS)
def test_rounding_needs_no_explanation(written):
    assert not len(written(NOISE).explain())


@pytest.mark.parametrize("unit", [1.0, 1e-10, 1e-12])
def test_numbers_in_a_small_unit_are_no_rounding(unit):
    """x from 5 to 8 units: 0 is not within a tolerance of that."""
    model = Model("small")
    x = model.variable("x", upper=8 * unit)
    model.constraint("row", x >= 5 * unit)
    model.minimize(x + 0)
    solution = model.solve().require_optimal()
    assert solution.objective == pytest.approx(5 * unit)
    zero = fairlp.models.programs.certificate.verify(model.compile(), np.zeros(1))
    assert not zero.is_feasible
