"""HiGHS behind the door: statuses, duals, options, certificates that do not believe a solver."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

import fairlp
from fairlp import Index, Model, examples
from fairlp.errors import (
    NoSolutionError,
    NotConvergedError,
)
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.options import Options
from fairlp.models.programs.program import LogTerms
from fairlp.models.programs.status import Point, Termination
from fairlp.solvers.backends import highs, tangents
from fairlp.solvers.backends.highs import masks
from fairlp.tolerances import VERIFIED
from instances import random_instance, seeds
from plain_programs import INF, program
from profiles import many

METHODS = ["highs", "highs-simplex", "highs-ipm", "highs-hipo", "highs-pdlp"]


def available(name):
    return bool(fairlp.solvers().loc[name, "available"])


def small(sense="max", bound=4.0, low=None, integer=False):
    """Maximise 3x + 2y (or minimise the negative) with x + y <= bound, x + 3y <= 7, x <= 3."""
    model = Model("small")
    sign = 1 if sense == "max" else -1
    x, y = (
        model.variable(name, upper=upper, integer=integer)
        for name, upper in (("x", 3), ("y", None))
    )
    model.constraint("first", x + y <= bound)
    model.constraint("second", x + 3 * y <= 7)
    if low is not None:
        model.constraint("floor", x >= low)
    (model.maximize if sense == "max" else model.minimize)(sign * (3 * x + 2 * y) + 10)
    return model


@pytest.mark.parametrize("solver", METHODS)
@pytest.mark.parametrize("sense", ["max", "min"])
def test_every_algorithm_of_highs(solver, sense):
    if not available(solver):
        pytest.skip(f"{solver}: {fairlp.solvers().loc[solver, 'remedy']}")
    solution = small(sense).solve(solver)
    assert solution.status.is_optimal and solution.status.dual is Point.OPTIMAL
    assert solution.objective == pytest.approx(10 + 11 if sense == "max" else 10 - 11, rel=1e-7)
    sign = 1 if sense == "max" else -1
    assert solution.duals["first"] == pytest.approx(sign * 2, rel=1e-6)
    assert solution.duals["second"] == pytest.approx(0, abs=1e-6)
    assert solution.reduced_costs["x"] == pytest.approx(sign * 1, rel=1e-6)
    assert solution.verify().gap < 1e-6
    assert set(solution.times) == {"build", "pass", "solve", "read"}
    assert solution.solver == solver


@pytest.mark.parametrize("mechanism", ["drf", "edrf", "asset", "drfh", "tsf", "naive-drf"])
def test_a_cluster_where_nobody_can_run_has_level_0(mechanism):
    instance = fairlp.Instance.from_arrays([[1, 1], [1, 2]], [[3, 4]], task_limits=[0, 0])
    assert fairlp.formulate(instance, mechanism).solve().objective == 0
    assert fairlp.allocate(instance, mechanism, method="lp").totals.tolist() == [0, 0]


def test_prices_of_an_allocation_are_per_unit_of_resource():
    """Doubling the units halves the price; the price predicts the growth of the level at fixed entitlements."""
    instance = examples.khamse_ashari_figure_1()
    plain = fairlp.allocate(instance, "tsf", method="lp").prices
    scaled = fairlp.Instance.from_arrays(
        instance.demands * 2,
        instance.capacities * 2,
        weights=instance.weights,
        eligible=instance.eligible,
    )
    np.testing.assert_allclose(
        fairlp.allocate(scaled, "tsf", method="lp").prices * 2, plain, rtol=1e-12
    )
    edrf = fairlp.allocate(examples.ghodsi(), "edrf", method="lp").prices
    np.testing.assert_allclose(
        edrf, fairlp.allocate(examples.ghodsi(), "drfh", method="lp").prices, rtol=1e-12
    )
    np.testing.assert_allclose(edrf, [[2 / 27, 0]], rtol=1e-12)


@pytest.mark.parametrize("solver", ["highs", "cvxpy:CLARABEL"])
def test_a_capacity_that_nobody_can_use_has_no_price(solver):
    instance = fairlp.Instance.from_arrays([[1, 0], [1, 1]], [[4, 0], [2, 5]])
    prices = fairlp.allocate(instance, "drfh", solver=solver).prices.to_numpy()
    assert prices[0, 1] == 0 and prices.max() > 0


def test_infeasible_and_unbounded_are_not_answers():
    infeasible = small(low=5).solve()
    assert infeasible.status.termination is Termination.INFEASIBLE
    assert infeasible.status.primal is Point.NONE and infeasible.x is None
    for access in ("objective", "values", "duals", "reduced_costs"):
        with pytest.raises(NoSolutionError, match="infeasible"):
            getattr(infeasible, access)
    model = Model("unbounded")
    model.maximize(model.variable("x"))
    status = model.solve().status
    assert status.termination in (Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED)
    assert not status.is_optimal
    with pytest.raises(NoSolutionError, match="did not solve"):
        model.solve().require_optimal()


def test_a_time_limit_is_never_optimal_and_never_zeros():
    instance = examples.google_cluster(users=200)
    solution = fairlp.formulate(instance, "drfh").solve("highs-simplex", time_limit=0.0)
    assert solution.status.termination is Termination.TIME_LIMIT
    assert not solution.status.is_optimal
    with pytest.raises(NoSolutionError, match="time limit"):
        fairlp.allocate(instance, "drfh", time_limit=0.0)


def test_mip_rounds_and_has_no_duals():
    solution = small(bound=3.5, integer=True).solve()
    assert solution.objective == 10 + 9
    assert solution.values["x"] == 3 and solution.values["y"] == 0
    with pytest.raises(NoSolutionError, match="no duals"):
        _ = solution.duals


def test_empty_models():
    empty = Model("empty")
    assert empty.solve().objective == 0
    constant = Model("constant")
    constant.variable("x", upper=2)
    constant.maximize(5)
    assert constant.solve().objective == 5


@settings(max_examples=many(30), deadline=None)
@given(seed=seeds)
def test_a_certificate_believes_nobody(seed):
    """The true answer passes; a point or dual that is moved fails."""
    instance = random_instance(seed, limits=False)
    solution = fairlp.formulate(instance, "drfh").solve(
        primal_tolerance=1e-10, dual_tolerance=1e-10
    )
    if solution.objective == 0:
        return
    assert solution.verify().is_optimal
    larger_solution = dataclasses.replace(solution, x=solution.x * 1.001)
    assert not larger_solution.verify().is_feasible
    smaller_solution = dataclasses.replace(solution, x=solution.x * 0.999)
    assert smaller_solution.verify().is_feasible and not smaller_solution.verify().is_optimal
    assert smaller_solution.verify().gap == pytest.approx(1e-3, rel=0.5)
    wrong_duals = dataclasses.replace(solution, row_duals=solution.row_duals * 1.001)
    assert not wrong_duals.verify().is_optimal
    flipped = dataclasses.replace(solution, row_duals=-solution.row_duals)
    assert not flipped.verify().is_optimal
    no_duals = dataclasses.replace(solution, row_duals=None).verify()
    assert no_duals.is_feasible and not no_duals.is_optimal


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
def test_scaling_is_exact_and_undone(unit):
    instance = examples.khamse_ashari_figure_1()
    scaled = fairlp.Instance.from_arrays(
        instance.demands * unit,
        instance.capacities * unit,
        weights=instance.weights,
        eligible=instance.eligible,
    )
    solution = fairlp.formulate(scaled, "tsf").solve()
    assert solution.objective == pytest.approx(
        fairlp.formulate(instance, "tsf").solve().objective, rel=1e-13
    )
    assert solution.verify().is_optimal
    assert solution.duals["capacity"].sum().sum() * unit == pytest.approx(
        fairlp.formulate(instance, "tsf").solve().duals["capacity"].sum().sum(), rel=1e-12
    )


@pytest.mark.parametrize("solver", ["highs", "scipy", "glpk", "scip", "cvxpy:CLARABEL"])
def test_coefficients_that_cannot_matter_are_left_out_and_the_answer_is_verified_with_them(solver):
    """Each row has two users: at 1/2 each all rows are full, and 3/2 is the dual bound, too."""
    model = Model("tiny")
    r = Index("r", ["a", "b", "c"])
    n = Index("n", ["u", "v", "w"])
    d = model.parameter("d", (n, r), [[1, 1e-30, 1], [1, 1, 1e-30], [1e-30, 1, 1]])
    x = model.variable("x", n)
    model.constraint("k", (d * x).sum(n) <= 1)
    model.maximize(x.sum())
    solution = model.solve(solver)
    assert solution.status.is_optimal and solution.verify().is_optimal
    assert solution.objective == pytest.approx(1.5, rel=VERIFIED)


# What back ends are seldom given or give: no basis, no point, no rows, strange expressions, names
# that meet.

N = Index("n", ["ann", "bob"], "user")


def model():
    small_model = Model("m", indices=(N,))
    x = small_model.variable("x", N, upper=3)
    small_model.constraint("most", x.sum() <= 4)
    small_model.maximize(x["ann"] + 2 * x["bob"])
    return small_model


def test_a_basis_that_is_not_valid_is_none():
    pytest.importorskip("highspy")
    assert masks(SimpleNamespace(valid=False)) is None


def test_variables_without_values_are_no_point():
    pytest.importorskip("cvxpy")
    from fairlp.solvers.backends import cvxpy_backend

    built = cvxpy_backend.build(model().compile())
    assert built.point() is None
    built.variables[0].value = np.array([1.0, 3.0])
    assert built.point().tolist() == [1, 3]


@pytest.mark.parametrize(("upper", "feasible"), [(4, True), (2, False)])
def test_a_range_without_variables_is_kept_or_not_in_pyomo(upper, feasible):
    pytest.importorskip("pyomo")
    small_model = model()
    h = small_model.parameter("h", (), 3)
    small_model.constraint("constant", (h + 0 * small_model["x"]["ann"]).between(1, upper))
    row = small_model.to_pyomo().constant
    assert (row.body() <= row.upper) is feasible


def test_parts_of_pyomo_that_share_a_name_are_told_apart():
    pytest.importorskip("pyomo")
    from fairlp.models.programs.program import free_name

    names = {"n", "n_"}
    assert free_name("n", names) == "n__" and free_name("m", names) == "m"
    small_model = model()
    (n,) = small_model["x"].indices
    small_model.parameter(n.symbol, n, range(len(n)))
    built = small_model.to_pyomo()
    assert list(built.component(n.symbol)) == list(n)
    assert list(built.component(f"{n.symbol}_").extract_values().values()) == list(range(len(n)))


def test_glpk_that_is_stopped_by_the_clock_says_so(monkeypatch):
    swiglpk = pytest.importorskip("swiglpk")
    whole_model = Model("whole", indices=(N,))
    x = whole_model.variable("x", N, upper=3, integer=True)
    whole_model.constraint("most", 2 * x["ann"] + 3 * x["bob"] <= 7)
    whole_model.maximize(x["ann"] + 2 * x["bob"])
    assert whole_model.solve(solver="glpk").status.is_optimal
    monkeypatch.setattr(swiglpk, "glp_intopt", lambda *_: swiglpk.GLP_ETMLIM)
    answer = whole_model.solve(solver="glpk", time_limit=1)
    assert answer.status.termination is fairlp.Termination.TIME_LIMIT


# What back ends seldom meet: blocks without elements, calls that HiGHS refuses, limits, tangents of
# nothing.


def two_users(columns=True, rows=True):
    """max x[ann] + x[bob] + 5: x <= 3, and x <= 1 for those who have a row."""
    nobody = np.zeros(2, dtype=bool)
    pair_model = Model("m", indices=(N,))
    x = pair_model.variable("x", N, upper=3, where=None if columns else nobody)
    pair_model.constraint("most", x <= 1, over=(N,), where=None if rows else nobody)
    pair_model.maximize(x.sum() + 5)
    return pair_model


@pytest.mark.parametrize(
    ("columns", "rows", "best"), [(False, False, 5), (False, True, 5), (True, False, 11)]
)
def test_glpk_takes_programs_without_columns_or_rows(columns, rows, best):
    pytest.importorskip("swiglpk")
    assert two_users(columns, rows).solve("glpk").objective == best


def test_a_limit_of_interior_steps_is_the_callers():
    options = {"method": "ipm", "extra": {"ipm_iteration_limit": 0}}
    answer = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve("highs", **options)
    assert answer.status.termination is Termination.ITERATION_LIMIT


def test_tangents_that_never_find_anything_positive_say_what_it_may_be(monkeypatch):
    """max log x + log y: x + y <= 2, by a solver for which segments are worth nothing."""
    logs = LogTerms("log", np.ones(2), sp.csr_array(np.eye(2)), np.zeros(2))
    log_program = program([[1.0, 1.0]], [(-INF, 2.0)], [(0.0, INF)] * 2, logs=logs)
    solver, real = highs.Highs(), highs.Highs.solve

    def blind(self, program, options):
        solution = real(self, program, options)
        first = program.n_columns == 3  # of a point where everything is positive
        return solution if first else dataclasses.replace(solution, x=0 * solution.x)

    monkeypatch.setattr(highs.Highs, "solve", blind)
    monkeypatch.setattr(tangents, "MOST_PROGRAMS", 3)
    with pytest.raises(
        NotConvergedError,
        match="after 3 programs: what some terms are worth is below the tolerance",
    ):
        tangents.solve_with_logs(solver, log_program, Options())


@pytest.mark.parametrize("solver", ["highs", "scipy", "scip", "glpk", "cvxpy:HIGHS", "pyomo:highs"])
def test_bounds_of_integers_need_not_be_whole(solver):
    """HiGHS 1.15.1 calls 7.89 the maximum here, unless an integer of at most 0.5 is passed as one of at most 0."""
    n, i = Index("n", range(3)), Index("i", range(2))
    model = Model("halves", indices=(n, i))
    d, w = (
        model.parameter("d", n, [3.1554657, 1.21465201, 3.82789289]),
        model.parameter("w", n, [1, 2, 1]),
    )
    x = model.variable(
        "x",
        n,
        i,
        upper=[[1.60080643, 1.51262437], [1.68482891, 0.73788307], [1.57253903, 1.53980281]],
    )
    y = model.variable("y", n, upper=0.5, integer=True)
    model.constraint("capacity", (d * x).sum(n) <= model.parameter("c", i, [6, 9]))
    model.constraint("band", x.sum(i).between(0, 5.83))
    model.constraint("least", x.sum(i) >= 0.084)
    model.constraint("of y", y + x.sum(i) <= 2.5)
    model.constraint("extra", x[0].sum() <= 1.44396732)
    model.maximize((w * x.sum(i)).sum() + (2 * w * y).sum())
    answer = model.solve(solver)
    relaxed = model.compile().replace(col_upper=model.compile().whole_bounds()[1]).relaxed().solve()
    assert answer.objective == pytest.approx(relaxed.objective)  # which has whole y
    model.variables["y"].set(lower=0.2, upper=0.5)
    assert model.solve(solver).status.termination is Termination.INFEASIBLE


@pytest.mark.parametrize(
    ("relation", "feasible"), [("<=", True), (">=", True), ("==", True), ("<", False)]
)
def test_equal_sides_without_variables_hold_in_pyomo(relation, feasible):
    pytest.importorskip("pyomo")
    small_model = model()
    h, nothing = small_model.parameter("h", (), 3), 0 * small_model["x"]["ann"]
    expression = h + nothing - (0 if relation != "<" else -1)
    row = {
        "<=": expression <= 3,
        ">=": expression >= 3,
        "==": expression == 3,
        "<": expression <= 3,
    }[relation]
    small_model.constraint("constant", row)
    small_model.to_pyomo()
    assert small_model.solve("pyomo:highs").status.is_optimal is feasible


def test_the_bound_of_branch_and_bound_has_the_constant_of_a_scaled_objective():
    """Costs of 2²⁰ are given to HiGHS in units of their own, and the constant beside them too."""
    whole = np.ones(2, dtype=np.uint8)
    costs = [2.0**20, 2.0**21]
    planted = program(
        [[3, 5]], [(-INF, 13)], [(0, 9)] * 2, c=costs, offset=2.0**22, integrality=whole
    )
    solution = find_backend("highs").solve(planted, Options())
    assert solution.objective == solution.bound == 2.0**22 + 5 * 2.0**20
