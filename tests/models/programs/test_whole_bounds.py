"""Bounds of integers and limits of whole tasks that are whole numbers but for rounding."""

import numpy as np
import pytest

import fairlp
from fairlp import Model
from profiles import by_day, chequered

SOLVERS = ("highs", "scipy", "glpk", "scip", "cvxpy:HIGHS", "pyomo:highs")
#: An upper bound, and the largest whole number that it allows.
UPPER = [
    (0.3 / 0.1, 3),
    (0.7 / 0.1, 7),
    (1.2 / 0.1, 12),
    (3 - 5e-7, 3),
    (3 - 2e-6, 2),
    (2.5, 2),
    (1e9 - 1e-7, 1e9),
]


def available(solver):
    if not fairlp.solvers().loc[solver, "available"]:
        pytest.skip(f"{solver} is not installed")
    return solver


def largest(solver, upper, folder, way):
    """The largest whole number up to a bound that is said as a bound, a row, in a file, or later."""
    model = Model("m")
    x = model.variable("x", integer=True, upper=upper if way in ("bound", "mps", "lp") else None)
    model.maximize(x + 0)
    if way == "row":
        model.constraint("limit", x <= upper)
    if way == "scaled row":
        model.constraint("limit", -x / 8 >= -upper / 8)
    if way == "set":
        x.set(upper=upper)
    if way in ("mps", "lp"):
        return fairlp.read_program(model.write(folder / f"m.{way}")[0]).solve(solver).objective
    if way == "session":
        x.set(upper=1)
        model.solve(solver)
        x.set(upper=upper)
    return model.solve(solver).objective


@pytest.mark.parametrize(
    ("way", "solver"),
    chequered(["bound", "row", "scaled row", "set", "session", "mps", "lp"], by_day(SOLVERS, 3)),
)
def test_an_upper_bound_near_a_whole_number_is_that_number(solver, way, tmp_path):
    numbers = [largest(available(solver), upper, tmp_path, way) for upper, _ in UPPER]
    assert numbers == [pytest.approx(right) for _, right in UPPER]


@pytest.mark.parametrize("solver", SOLVERS)
def test_lower_bounds_and_fixed_values_are_rounded_alike(solver):
    model = Model("m")
    x = model.variable("x", lower=0.1 + 0.2 - 0.3, integer=True)
    b = model.variable("b", binary=True)
    model.minimize(x + b)
    b.fix(0.9999999999999998)
    solution = model.solve(available(solver)).require_optimal()
    assert (solution.values["x"], solution.values["b"]) == (0, 1)
    b.fix(0.5)
    status = str(model.solve(solver).status)
    assert "no whole number lies between the bounds of b" in status
    assert "as the solver says" not in status


def test_a_row_of_large_coefficients_is_no_rounded_bound():
    model = Model("m")
    x = model.variable("x", integer=True)
    model.constraint("need", 1e7 * x >= 5)
    model.minimize(x + 0)
    assert model.solve().objective == 1


WHOLE = [
    "drf-discrete", "drf-milp", "pdrf", "sequential-minmax", "drfh-first-fit", "drfh-best-fit", "slots", "mnw",
    "karma", "h-drf-discrete", "h-drf-naive", "h-drf-counted-whole",
]  # fmt: skip


@pytest.mark.parametrize("mechanism", WHOLE)
def test_limits_of_whole_tasks_near_a_whole_number_are_that_number(mechanism):
    instance = fairlp.Instance.from_arrays(
        [[1.0], [1.0]], [[10.0]], task_limits=[0.3 / 0.1, 3 - 5e-7]
    )
    allocation = fairlp.allocate(instance, mechanism)
    assert allocation.totals.tolist() == [3, 3]
    assert allocation.residual == 0
    findings = fairlp.audit(instance, allocation, ["feasible"])
    assert findings.loc["feasible", "holds"]


def test_the_arrays_of_the_caller_stay_as_they_are():
    bounds = np.array([0.3 / 0.1, 2.0])
    model = Model("m")
    model.variable("x", fairlp.Index("i", ["a", "b"]), upper=bounds, integer=True)
    assert model.compile().col_upper.tolist() == [3, 2]
    assert bounds[0] == 0.3 / 0.1
