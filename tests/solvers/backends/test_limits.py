"""What a limit leaves: a feasible point, a bound that no optimum beats, and a gap that is not below the truth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairlp import Index, Model, Termination
from fairlp.errors import NoSolutionError, UnknownNameError, UnsupportedError
from fairlp.models.programs.backends import available_backends, find_backend
from fairlp.models.programs.certificate import dual_bound
from fairlp.models.programs.solution import start_of
from profiles import many

WHOLE = [
    name
    for name in available_backends()
    if "MILP" in {c.value for c in find_backend(name).capabilities}
]
HARD = {
    "highs": {"node_limit": 1},
    "scip": {"node_limit": 1},
    "scipy": {"node_limit": 1},
    "glpk": {"mip_gap": 0.1},
}


def knapsacks(seed, items=30, rows=10):
    rng = np.random.default_rng(seed)
    j, i = Index("j", [f"item{k}" for k in range(items)]), Index("i", range(rows))
    model = Model("knapsacks", indices=(i, j))
    a = model.parameter("a", (i, j), rng.integers(1, 100, (rows, items)))
    b = model.parameter("b", i, a.values.sum(axis=1) // 3)
    w = model.parameter("w", j, rng.integers(1, 100, items))
    x = model.variable("x", j, binary=True)
    model.constraint("room", (a * x).sum(j) <= b)
    model.maximize((w * x).sum() + 7)
    return model


def best(program):
    """Optimum by trying all points."""
    points = np.array(list(itertools.product([0, 1], repeat=program.n_columns)))
    fits = (program.row_upper[:, None] >= program.A @ points.T).all(axis=0)
    return max(program.objective_value(point) for point in points[fits])


@pytest.fixture(scope="module")
def hard():
    model = knapsacks(0)
    return model, model.solve()


@settings(max_examples=many(4), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_bound_and_gap_hold_for_the_optimum_by_brute_force(seed):
    model = knapsacks(seed, items=10, rows=3)
    right = best(model.compile())
    relaxed = model.compile().relaxed().solve("highs-simplex")
    assert dual_bound(model.compile(), relaxed.row_duals) >= right
    for solver in WHOLE:
        for limits in (
            {},
            {"mip_gap": 0.2}
            if "mip_gap" in getattr(find_backend(solver), "honours", {"mip_gap"})
            else {},
        ):
            solution = model.solve(solver, **limits)
            assert solution.objective <= right + 1e-9
            assert solution.status.is_optimal == (
                not limits
            ) or solution.objective == pytest.approx(right)
            if solution.bound is not None:
                assert solution.bound >= right - 1e-6
                assert solution.gap >= (right - solution.objective) / abs(solution.objective) - 1e-6


@pytest.mark.parametrize("solver", [*HARD, "cvxpy:HIGHS", "pyomo:highs"])
def test_a_limit_is_no_optimum(hard, solver):
    model, full = hard
    solution = model.solve(solver, **HARD.get(solver, {"node_limit": 1}))
    assert solution.status.termination is (
        Termination.GAP_LIMIT if solver == "glpk" else Termination.NODE_LIMIT
    )
    assert solution.x is None or solution.verify().is_feasible
    if solver != "cvxpy:HIGHS":  # CVXPY keeps no bound
        assert full.objective <= solution.bound < 1.2 * full.objective and solution.gap > 0
        assert solution.verify().bound == solution.bound and "as the solver says" in str(
            solution.verify()
        )


def test_the_relaxation_proves_a_bound(hard):
    proof = hard[1].certify()
    assert not proof.holds and "proved by LP duals" in proof.message and 0 < proof.gap < 0.1
    single = Model("one")
    x = single.variable("x", upper=9, integer=True)
    single.constraint("row", 2 * x <= 9)
    single.maximize(3 * x)
    assert single.solve().certify().holds is False  # 4.5 of it: the bound is 13, and 12 is right
    single.constraint("other", x <= 4)
    assert single.solve().certify().holds is True


@pytest.mark.parametrize(
    "solver", ["highs-simplex", "scipy", "highs-pdlp", "cvxpy:CLARABEL", "cvxpy:SCS", "cvxpy:ECOS"]
)
def test_iterations_are_limited(solver):
    rng = np.random.default_rng(1)
    n, q = Index("n", range(60)), Index("q", range(50))
    model = Model("dense", indices=(q, n))
    x, a = model.variable("x", n), model.parameter("a", (q, n), rng.random((50, 60)))
    w = model.parameter("w", n, rng.random(60))
    model.constraint("rows", (a * x).sum(n) <= 1)
    model.maximize((w * x).sum())
    right, solution = model.solve(), model.solve(solver, iteration_limit=4)
    assert solution.status.termination is Termination.ITERATION_LIMIT
    if solver == "highs-simplex":
        assert right.objective <= solution.bound < np.inf and np.isnan(solution.gap)
        assert right.gap < 1e-9
    second = model.solve(start=right)
    assert second.iterations.get("simplex", 0) == 0 and second.objective == pytest.approx(
        right.objective
    )
    with pytest.raises(UnsupportedError, match="from a Solution with a basis, and dict has none"):
        model.solve(start={"x": right.values["x"]})


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_a_start_is_taken(hard, solver):
    model, full = hard
    for start in (
        full,
        {"x": full.values["x"]},
        {"x": full.values["x"].iloc[::-1].head(30).to_dict()},
    ):
        solution = model.solve(solver, start=start, node_limit=1)
        assert solution.objective == pytest.approx(full.objective)
    with pytest.raises(UnknownNameError, match="'item99'"):
        model.solve(solver, start={"x": {"item99": 1}})
    with pytest.raises(UnknownNameError, match="'y'"):
        model.solve(solver, start={"y": 1})
    with pytest.raises(NoSolutionError):
        model.solve(solver, start=model.solve(time_limit=0))


def split_market():
    """A model with one x that is feasible, which no root node finds, and two of five y."""
    rng = np.random.default_rng(3)
    j, p, q = Index("j", range(30)), Index("p", range(5)), Index("q", range(3))
    model = Model("split", indices=(q, j, p))
    a = model.parameter("a", (q, j), rng.integers(1, 100_000, (3, 30)))
    plan = rng.integers(0, 2, 30)
    x, y = model.variable("x", j, binary=True), model.variable("y", p, upper=3, integer=True)
    model.constraint("split", (a * x).sum(j) == a.values @ plan)
    model.constraint("two", y.sum() == 2)
    model.minimize((y * [1, 2, 4, 8, 16]).sum())
    return model, plan


@pytest.mark.parametrize(
    ("change", "y_start", "y_best"),
    [
        (lambda y: y.fix({2: 1}), [0, 0, 0, 1, 1], [0, 0, 1, 1, 0]),
        (lambda y: y.fix({3: 0}), [0, 0, 0, 1, 1], [1, 0, 0, 0, 1]),
        (lambda y: y.set(upper=1), [0, 0, 0, 2, 0], [1, 0, 0, 1, 0]),
        (lambda y: y.fix({2: 1}), [0, 0, 0.2, 0.9, 0], [0, 0, 1, 1, 0]),
    ],
    ids=["fixed at 1", "fixed at 0", "bounded", "rounded"],
)
def test_a_start_is_taken_after_a_fix_or_a_bound(change, y_start, y_best):
    model, plan = split_market()
    change(model["y"])
    assert not model.solve(node_limit=0).is_feasible
    start = {"x": dict(enumerate(plan)), "y": dict(enumerate(y_start))}
    solution = model.solve(start=start, node_limit=0)
    assert solution.is_feasible
    assert solution.values["x"].tolist() == plan.tolist()
    # the optimum of y may be found at once, and what the start leaves is the most that it costs
    costs = np.array([1, 2, 4, 8, 16])
    assert solution.values["y"] @ costs <= costs @ y_best + 1e-9


def test_the_solution_of_a_model_is_a_start_after_a_fix():
    model, plan = split_market()
    before = model.solve(start={"x": dict(enumerate(plan))})
    assert before.values["y"].tolist() == [2, 0, 0, 0, 0]
    model["y"].fix({4: 1})
    after = model.solve(start=before, node_limit=0)
    assert after.values["y"].tolist() == [1, 0, 0, 0, 1]


def test_a_session_takes_a_start_and_goes_on_from_its_point():
    model, plan = split_market()
    with model.session(node_limit=0) as session:
        assert not session.solve().is_feasible
        first = session.solve(start={"x": dict(enumerate(plan))}, node_limit=None)
        assert first.values["y"].tolist() == [2, 0, 0, 0, 0]
        model["y"].fix({4: 1})
        assert session.solve().values["y"].tolist() == [1, 0, 0, 0, 1]
        model["y"].fix({3: 1})
        assert session.solve().values["y"].tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("seed", range(20))
def test_a_feasible_start_is_left_as_it_is(seed):
    model = knapsacks(seed, items=8, rows=3)
    rng = np.random.default_rng(seed)
    program = model.compile()
    feasible = [
        np.array(x, dtype=float)
        for x in itertools.product((0, 1), repeat=8)
        if (program.A @ np.array(x) <= program.row_upper).all()
    ]
    point = feasible[rng.integers(len(feasible))]
    start = dict(zip(model["x"].indices[0].labels, point, strict=True))
    assert start_of(program, {"x": start}).tolist() == point.tolist()


def test_a_start_keeps_what_rows_and_bounds_admit():
    n = Index("n", range(4))
    model = Model("m")
    x, y = model.variable("x", n, upper=1), model.variable("y", n, upper=2, integer=True)
    model.constraint("most", y[0] + y[1] + y[2] <= 2)
    model.constraint("least", 2 * y[3] - 5 * x[0] >= -1)
    y.fix({0: 1})
    start = {"x": {0: 1, 1: 7, 2: 1 + 1e-12}, "y": {0: 0, 1: 1, 2: 1.2, 3: 0}}
    expected = [1, np.nan, 1, np.nan, 1, np.nan, np.nan, 0]
    assert np.array_equal(start_of(model.compile(), start), expected, equal_nan=True)
    start["y"][2] = 0
    expected[5:7] = [1, 0]
    assert np.array_equal(start_of(model.compile(), start), expected, equal_nan=True)


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_a_pool_has_points_of_every_rank(hard, solver):
    model, full = hard
    pool = model.solve(solver, pool=3).pool
    values = [member.objective for member in pool]
    assert (
        1 < len(pool) <= 3
        and values == sorted(values, reverse=True)
        and values[0] == pytest.approx(full.objective)
    )
    assert all(member.verify().is_feasible for member in pool) and full.pool == ()
