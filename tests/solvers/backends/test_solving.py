"""HiGHS behind the door: statuses, duals by finite difference, options, certificates that do not believe a solver."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

import fairlp
from fairlp import Index, Model, examples
from fairlp.errors import NoSolutionError, SolverNotAvailableError, UnknownNameError, UnsupportedError
from fairlp.models.programs import backends
from fairlp.models.programs.program import Program
from fairlp.models.programs.solution import Capability, Point, Termination
from instances import random_instance, seeds
from profiles import many

METHODS = ["highs", "highs-simplex", "highs-ipm", "highs-hipo", "highs-pdlp"]


def available(name):
    return bool(fairlp.solvers().loc[name, "available"])


def small(sense="max", bound=4.0, low=None, integer=False):
    """Maximise 3x + 2y (or minimise the negative) with x + y <= bound, x + 3y <= 7, x <= 3."""
    model = Model("small")
    sign = 1 if sense == "max" else -1
    x, y = (model.variable(name, upper=upper, integer=integer) for name, upper in (("x", 3), ("y", None)))
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


def perturbed(program: Program, array: str, at: int, step: float) -> Program:
    changed = getattr(program, array).copy()
    changed[at] += step
    return program.replace(**{array: changed})


@pytest.mark.parametrize("mechanism", ["drf", "edrf", "asset", "drfh", "tsf", "naive-drf"])
def test_a_cluster_where_nobody_can_run_has_level_0(mechanism):
    instance = fairlp.Instance.from_arrays([[1, 1], [1, 2]], [[3, 4]], task_limits=[0, 0])
    assert fairlp.formulate(instance, mechanism).solve().objective == 0
    assert fairlp.allocate(instance, mechanism, method="lp").totals.tolist() == [0, 0]


@settings(max_examples=many(25), deadline=None)
@given(seed=seeds)
def test_dual_of_every_capacity_row_is_the_finite_difference(seed):
    """The optimum is concave in a right-hand side, so a dual lies between the two one-sided differences."""
    instance = random_instance(seed, integers=False, zeros=False)
    for mechanism in ("drfh", "tsf"):
        model = fairlp.formulate(instance, mechanism)
        solution = model.solve(primal_tolerance=1e-10, dual_tolerance=1e-10)
        program = model.compile()
        duals = solution.row_duals
        block = program.row_block("capacity")
        backend = backends.backend("highs")
        options = fairlp.Options(primal_tolerance=1e-10, dual_tolerance=1e-10)
        for row in range(block.start, block.stop):
            step = 1e-4 * program.row_upper[row]
            if step == 0:
                continue
            up, down = (
                backend.solve(perturbed(program, "row_upper", row, s), options).objective for s in (step, -step)
            )
            noise = 1e-12 * max(solution.objective, 1e-12) / step + 1e-9 * abs(duals[row])
            assert (up - solution.objective) / step <= duals[row] + noise
            assert duals[row] <= (solution.objective - down) / step + noise


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
    np.testing.assert_allclose(fairlp.allocate(scaled, "tsf", method="lp").prices * 2, plain, rtol=1e-12)
    edrf = fairlp.allocate(examples.ghodsi(), "edrf", method="lp").prices
    np.testing.assert_allclose(edrf, fairlp.allocate(examples.ghodsi(), "drfh", method="lp").prices, rtol=1e-12)
    np.testing.assert_allclose(edrf, [[2 / 27, 0]], rtol=1e-12)


@pytest.mark.parametrize("solver", ["highs", "cvxpy:CLARABEL"])
def test_a_capacity_that_nobody_can_use_has_no_price(solver):
    instance = fairlp.Instance.from_arrays([[1, 0], [1, 1]], [[4, 0], [2, 5]])
    prices = fairlp.allocate(instance, "drfh", solver=solver).prices.to_numpy()
    assert prices[0, 1] == 0 and prices.max() > 0


def test_a_program_solves_explains_and_writes_itself(tmp_path):
    program = fairlp.formulate(examples.ghodsi(), "drf").compile()
    assert program.solve().objective == pytest.approx(2 / 3)
    assert program.explain().empty
    program.write(tmp_path / "drf.mps")
    assert fairlp.read_program(tmp_path / "drf.mps").solve("scipy").objective == pytest.approx(2 / 3)


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


def test_options_that_a_solver_refuses_raise():
    with pytest.raises(UnsupportedError, match="no_such_option"):
        small().solve(extra={"no_such_option": 1})
    with pytest.raises(UnsupportedError, match="no method 'simplx'"):
        small().solve(method="simplx")
    with pytest.raises(UnsupportedError, match="seconds >= 0"):
        small().solve(time_limit=-1)
    with pytest.raises(UnsupportedError, match="primal_tolerance"):
        small().solve(primal_tolerance=0)
    with pytest.raises(UnknownNameError, match="did you mean 'threads'"):
        small().solve(thread=1)
    assert small().solve(threads=1, seed=3, extra={"presolve": "off"}).objective == 21
    assert small().solve(method="ipm").method == "ipm"


def test_logarithms_are_refused_by_name():
    model = Model("EG")
    model.maximize(fairlp.log(model.variable("x", upper=1)))
    with pytest.raises(UnsupportedError, match="logarithms"):
        backends.backend("highs").session(model.compile(), fairlp.Options())
    with pytest.raises(UnsupportedError, match="logarithms"):
        model.to_highs()


def test_a_solver_that_is_not_installed_says_how(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SolverNotAvailableError, match="pip install highspy"):
        small().solve()


def test_a_third_party_back_end_is_found_by_entry_point(monkeypatch):
    from fairlp.solvers.backends.highs import Highs

    class Mine(Highs):
        def __init__(self):
            super().__init__("mine")

    class Point:
        name = "mine"

        @staticmethod
        def load():
            return Mine

    monkeypatch.setattr(backends, "_entry_points", lambda: {"mine": Point})
    assert small().solve("mine").solver == "mine"
    assert "mine" in fairlp.solvers().index
    assert Capability.LP in backends.find_backend("mine").capabilities


@settings(max_examples=many(30), deadline=None)
@given(seed=seeds)
def test_a_certificate_believes_nobody(seed):
    """The true answer passes; a point or dual that is moved fails."""
    instance = random_instance(seed, limits=False)
    solution = fairlp.formulate(instance, "drfh").solve(primal_tolerance=1e-10, dual_tolerance=1e-10)
    if solution.objective == 0:
        return
    assert solution.verify().is_optimal
    more = dataclasses.replace(solution, x=solution.x * 1.001)
    assert not more.verify().is_feasible
    less = dataclasses.replace(solution, x=solution.x * 0.999)
    assert less.verify().is_feasible and not less.verify().is_optimal
    assert less.verify().gap == pytest.approx(1e-3, rel=0.5)
    wrong = dataclasses.replace(solution, row_duals=solution.row_duals * 1.001)
    assert not wrong.verify().is_optimal
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
    assert solution.objective == pytest.approx(fairlp.formulate(instance, "tsf").solve().objective, rel=1e-13)
    assert solution.verify().is_optimal
    assert solution.duals["capacity"].sum().sum() * unit == pytest.approx(
        fairlp.formulate(instance, "tsf").solve().duals["capacity"].sum().sum(), rel=1e-12
    )


def test_coefficients_that_a_solver_would_drop_are_refused_by_name():
    model = Model("tiny")
    r = Index("r", ["a", "b", "c"])
    n = Index("n", ["u", "v", "w"])
    d = model.parameter("d", (n, r), [[1, 1e-30, 1], [1, 1, 1e-30], [1e-30, 1, 1]])
    x = model.variable("x", n)
    model.constraint("k", (d * x).sum(n) <= 1)
    model.maximize(x.sum())
    with pytest.raises(UnsupportedError, match=r"too small.*x\[u\] in k\[b\]"):
        model.solve()


@pytest.mark.parametrize("name", ["wang-figure-1", "khamse-ashari-figure-1", "khamse-ashari-table-3", "ghodsi"])
def test_lowerings_have_the_same_optimum_and_names(name):
    import pyomo.environ as pyo
    from pyomo.contrib.solver.common.factory import SolverFactory

    instance = examples.load(name)
    for mechanism in ("drfh", "tsf", "naive-drf"):
        model = fairlp.formulate(instance, mechanism)
        expected = model.solve().objective
        highs = model.to_highs()
        highs.run()
        assert highs.getObjectiveValue() == pytest.approx(expected, rel=1e-7)
        assert [highs.getColName(k)[1] for k in range(model.compile().n_columns)] == model.compile().column_names
        problem = model.to_cvxpy()
        problem.solve(solver="CLARABEL")
        assert problem.value == pytest.approx(expected, rel=1e-6)
        assert set(problem.var_dict) == set(model.variables)
        built = model.to_pyomo()
        SolverFactory("highs").solve(built)
        assert pyo.value(built.objective) == pytest.approx(expected, rel=1e-7)
        tasks = "g" if mechanism == "drfh" else "x"
        first = (instance.users[0], instance.servers[0])
        assert first in getattr(built, tasks)


def test_pyomo_model_can_be_extended():
    import pyomo.environ as pyo
    from pyomo.contrib.solver.common.factory import SolverFactory

    built = fairlp.formulate(examples.wang_figure_1(), "drfh").to_pyomo()
    built.extra = pyo.Constraint(expr=built.g["user1", "server1"] <= 0.1)
    SolverFactory("highs").solve(built)
    assert pyo.value(built.objective) < 5 / 7 - 0.01


def test_solvers_and_mechanisms_are_tables_and_packages():
    import fairlp.solvers.backends.highs

    table = fairlp.solvers()
    assert table.index.name == "solver" and table["available"].dtype == bool and table.loc["highs", "available"]
    assert fairlp.solvers.backends.highs.Highs is not None
    assert list(fairlp.mechanisms().index) == list(fairlp.mechanisms.TABLE)
    assert {"title", "source", "methods"} <= set(fairlp.mechanisms().columns)
