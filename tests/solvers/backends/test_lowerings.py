"""Pyomo, CVXPY and HiGHS objects: idiomatic, extendable, and read back into a Solution that proves itself."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.contrib.solver.common.factory import SolverFactory

import fairlp
from fairlp import Index, Model, examples, log
from fairlp.models.programs.status import Point
from fairlp.solvers.backends.cvxpy_backend import build
from plain_programs import INF, program

CASES = [
    (name, mechanism)
    for name, mechanisms in {
        "ghodsi": ["drf", "edrf", "asset"],
        "wang-figure-1": ["drfh", "tsf", "naive-drf", "cdrf"],
        "khamse-ashari-figure-1": ["c-drfh", "tsf"],
        "khamse-ashari-table-3": ["c-drfh", "naive-drf"],
    }.items()
    for mechanism in mechanisms
]


def assert_same_optimum(model, solution, rel):
    expected = model.solve()
    assert solution.status.is_optimal, solution.status
    assert solution.objective == pytest.approx(expected.objective, rel=rel)
    assert solution.verify().is_feasible
    for name in model.variables:
        np.testing.assert_array_equal(
            np.isnan(solution.values[name]), np.isnan(expected.values[name])
        )
    return solution


@pytest.mark.parametrize(("name", "mechanism"), CASES)
def test_highs_objects(name, mechanism):
    model = fairlp.formulate(examples.load(name), mechanism)
    highs = model.to_highs()
    highs.run()
    solution = assert_same_optimum(model, model.read_back(highs), 1e-9)
    assert solution.verify().is_optimal
    assert [highs.getRowName(k)[1] for k in range(highs.getNumRow())] == model.compile().row_names
    assert [
        highs.getColName(k)[1] for k in range(highs.getNumCol())
    ] == model.compile().column_names


def test_highs_objects_without_names_are_read_back_all_the_same():
    model = fairlp.formulate(examples.wang_figure_1(), "drfh")
    highs = model.to_highs(names=False)
    assert not highs.getLp().col_names_
    assert not highs.getLp().row_names_
    highs.run()
    assert assert_same_optimum(model, model.read_back(highs), 1e-9).verify().is_optimal


@pytest.mark.parametrize(("name", "mechanism"), CASES)
def test_cvxpy_problems(name, mechanism):
    model = fairlp.formulate(examples.load(name), mechanism)
    problem = model.to_cvxpy()
    problem.solve(solver="HIGHS")
    solution = assert_same_optimum(model, model.read_back(problem), 1e-7)
    assert solution.verify().is_optimal and set(problem.var_dict) == set(model.variables)
    tasks = next(name for name in ("g", "x", "s") if name in model.variables)
    instance = examples.load(name)
    if (
        not instance.has_constraints
        and mechanism not in ("drf", "edrf")
        and len(instance.servers) > 1
    ):
        assert problem.var_dict[tasks].shape == (len(instance.users), len(instance.servers))


@pytest.mark.parametrize(("name", "mechanism"), CASES)
def test_pyomo_models(name, mechanism):
    model = fairlp.formulate(examples.load(name), mechanism)
    built = model.to_pyomo()
    built.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    assert not model.read_back(built).status.is_optimal  # not solved yet
    SolverFactory("highs").solve(built)
    solution = assert_same_optimum(model, model.read_back(built), 1e-7)
    assert solution.verify().is_optimal
    n = next(index for index in model.indices if index.symbol == "n")
    assert list(built.n) == list(n)


def test_a_log_model_in_cvxpy():
    n = Index("n", ["a", "b", "c"])
    model = Model("cake")
    w, x = model.parameter("w", n, [1, 2, 3]), model.variable("x", n)
    model.constraint("cake", x.sum() <= 6)
    model.maximize((w * log(x)).sum(n))
    problem = model.to_cvxpy()
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    solution = model.read_back(problem)
    np.testing.assert_allclose(solution.values["x"], [1, 2, 3], rtol=1e-4)
    assert solution.duals["cake"] == pytest.approx(1, rel=1e-4)
    built = model.to_pyomo()
    for label, value in zip("abc", (1, 2, 3), strict=True):
        built.x[label].set_value(value)
    assert pyo.value(built.objective) == pytest.approx(solution.objective, rel=1e-7)


def test_a_user_adds_a_constraint_in_each():
    instance = examples.wang_figure_1()
    model = fairlp.formulate(instance, "drfh")
    built = model.to_pyomo()
    built.extra = pyo.Constraint(
        expr=built.g["user1", "server1"] + built.g["user1", "server2"] <= 0.3
    )
    SolverFactory("highs").solve(built)
    problem = model.to_cvxpy()
    import cvxpy as cp

    g = problem.var_dict["g"]
    extended = cp.Problem(problem.objective, [*problem.constraints, cp.sum(g[0]) <= 0.3])
    extended.solve(solver="CLARABEL")
    highs = model.to_highs()
    columns = np.flatnonzero(
        [name.startswith("g[user1") for name in model.compile().column_names]
    ).astype(np.int32)
    highs.addRow(-np.inf, 0.3, len(columns), columns, np.ones(len(columns)))
    highs.run()
    for solved in (built, extended, highs):
        assert model.read_back(solved).objective == pytest.approx(0.3, rel=1e-6)


def test_values_that_nothing_proves_are_not_called_optimal():
    model = Model("m")
    v = model.variable("v")
    model.constraint("c", v <= 1)
    model.maximize(v)
    built = model.to_pyomo()
    for value, point in ((99.0, Point.INFEASIBLE), (0.5, Point.FEASIBLE)):
        built.v.value = value
        read = model.read_back(built)
        assert not read.status.is_optimal and read.status.primal is point
    built.v.value = 1.0
    read = model.read_back(built)  # HiGHS finds the dual that proves it
    assert read.status.is_optimal and read.duals["c"] == pytest.approx(1.0)
    built.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    built.dual[built.c] = 1.0
    assert model.read_back(built).status.is_optimal
    highs = model.to_highs()
    highs.addRow(-np.inf, 0.5, 1, np.array([0], dtype=np.int32), np.ones(1))
    highs.run()
    read = model.read_back(highs)
    assert read.objective == 0.5 and not read.status.is_optimal


def test_integer_and_free_variables_survive():
    model = Model("whole")
    x, y = model.variable("x", lower=-2, upper=5, integer=True), model.variable("y", lower=None)
    model.constraint("k", 2 * x + y <= 7.5)
    model.constraint("l", y >= -1.5)
    model.constraint("m", y <= 1)
    model.maximize(3 * x + y)
    expected = model.solve().objective
    built = model.to_pyomo()
    SolverFactory("highs").solve(built)
    problem = model.to_cvxpy()
    problem.solve(solver="HIGHS")
    highs = model.to_highs()
    highs.run()
    for solved in (built, problem, highs):
        assert model.read_back(solved).objective == pytest.approx(expected, rel=1e-9)


def test_a_block_that_mixes_whole_and_divisible_columns():
    """Maximise x0 + x1 + x2 + x3 with each at most 1.5, the first, third and last whole: 1 + 1.5 + 1 + 1."""
    whole = np.array([1, 0, 1, 1], dtype=np.uint8)
    mixed = program(np.eye(4), [(-INF, 1.5)] * 4, [(0, INF)] * 4, c=np.ones(4), integrality=whole)
    problem = build(mixed).problem
    (variable,) = problem.variables()
    assert problem.solve() == pytest.approx(4.5)
    assert variable.value == pytest.approx([1, 1.5, 1, 1])
    model = Model("square")
    table = model.variable("x", Index("i", range(2)), Index("j", range(2)), upper=1.5)
    model.maximize(table.sum())
    square = model.compile().replace(integrality=whole)
    assert build(square).problem.solve() == pytest.approx(4.5)


def test_what_was_changed_after_it_was_built_is_no_optimum_of_the_model():
    model = Model("m")
    a, b = model.variable("a", upper=1), model.variable("b", upper=2)
    model.constraint("cap", a + b <= 3)
    model.maximize(a + b)
    highs, problem = model.to_highs(), model.to_cvxpy()
    less = problem.var_dict["a"] + problem.var_dict["b"] <= 2
    problem = type(problem)(problem.objective, [*problem.constraints, less])
    highs.setOptionValue("output_flag", False)
    assert highs.run() and problem.solve() == pytest.approx(2)
    assert model.read_back(highs).status.is_optimal
    assert not model.read_back(problem).status.is_optimal  # the model could have 3
    a.set(upper=0.5)
    assert model.read_back(highs).status.primal is Point.INFEASIBLE
    a.set(upper=1)
    highs.changeColCost(1, -1.0)
    highs.run()
    assert not model.read_back(highs).status.is_optimal


def test_sums_of_numbers_times_variables_have_the_terms_of_the_program():
    n, i = Index("n", ["a", ("b", 1)], "user"), Index("i", [3, "s", "t"], "server")
    m = n.alias("m")
    model = Model("sums", indices=(n, i, m))
    exists = np.array([[True, False, True], [True, True, True]])
    x = model.variable("x", n, i, where=exists, upper=np.array([[1, 2, INF], [3, INF, 5]]))
    y = model.variable("y")
    d = model.parameter("d", (n, i), [[2.0, 3.0, 0.0], [1.0, -1.0, 4.0]])
    p = model.parameter("p", i, [1.0, 2.0, 3.0])
    q = model.parameter("q", (i, n), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    model.constraint("rows", (d * x).sum(i) <= 7, where=True)
    model.constraint("turned", (x * q).sum(n) >= -1, where=True)
    model.constraint("all", (p * x).sum(i, n) + y <= 9)
    model.constraint("alias", x[m, i].sum(i) - y <= 4)
    model.constraint("constant", (p * x["a", i]).sum(i) == 2)
    model.maximize((d * x).sum() + y)
    program = model.compile()
    built = model.to_pyomo()
    variables = list(built.component_data_objects(pyo.Var))
    rng = np.random.default_rng(0)
    for _ in range(5):
        point = rng.uniform(-2, 2, program.n_columns)
        for variable, value in zip(variables, point.tolist(), strict=True):
            variable.set_value(value, skip_validation=True)
        bodies = []
        for row in built.component_data_objects(pyo.Constraint):
            body = pyo.value(row.body)
            bodies.append(0 if row.lower is None else body - pyo.value(row.lower))
            bodies.append(0 if row.upper is None else pyo.value(row.upper) - body)
        activity = program.A @ point
        gaps = np.column_stack([activity - program.row_lower, program.row_upper - activity])
        np.testing.assert_allclose(bodies, np.where(np.isfinite(gaps), gaps, 0).ravel(), atol=1e-12)
        assert pyo.value(built.objective) == pytest.approx(program.c @ point, abs=1e-12)
    assert [variable.ub for variable in variables] == [
        None if end == INF else end for end in program.col_upper.tolist()
    ]
    assert [variable.lb for variable in variables] == [
        None if end == -INF else end for end in program.col_lower.tolist()
    ]
