"""Indicators, SOS, semi-continuous and piecewise linear variables: against enumeration of the binaries and NumPy."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

import fairlp
from fairlp import Index, Model
from fairlp.errors import ModelError
from profiles import many
from random_models import forget_program, same_bytes

N, R = Index("n", ["ann", "bob", "cat"], "user"), Index("r", ["cpu", "ram"])
SEEDS = st.integers(0, 2**32 - 1)
SOLVERS = ("highs", "scipy", "glpk", "scip")


def best(cost, boxes, cake):
    """The largest cost·x over a union of boxes with Σ x <= cake; −∞ where it is empty."""
    solutions = (linprog(-cost, A_ub=[[1] * len(cost)], b_ub=[cake], bounds=box) for box in boxes)
    return max((-solution.fun for solution in solutions if solution.status == 0), default=-np.inf)


def solved(model, seed):
    """The optimum, the same by the copy, by a program compiled anew and by another solver."""
    copy = model.copy()
    forget_program(copy)
    assert same_bytes(copy.compile(), model.compile()) == []
    solver = SOLVERS[1 + seed % 3]
    answers = [
        model.solve(),
        copy.solve(solver if solver in fairlp.solvers().query("available").index else "scipy"),
    ]
    if not answers[0].status.is_optimal:
        assert {answer.status.termination.value for answer in answers} == {"infeasible"}
        return -np.inf
    assert answers[0].objective == pytest.approx(answers[1].objective, abs=1e-6)
    return answers[0].objective


def cake_of(seed):
    """A random model: maximise cost·x within bounds and Σ x <= cake."""
    rng = np.random.default_rng(seed)
    low, cost, cake = (
        rng.integers(-3, 1, 3) * rng.integers(0, 2),
        rng.integers(-4, 6, 3),
        int(rng.integers(0, 9)),
    )
    high = np.maximum(low, 0) + rng.integers(0, 6, 3)
    model = Model("m", indices=(N, R))
    x = model.variable("x", N, lower=low, upper=high)
    model.constraint("cake", x.sum() <= cake)
    model.maximize((x * cost).sum())
    return rng, model, x, cost, cake, low, high


@settings(max_examples=many(25), deadline=None)
@given(SEEDS)
def test_an_indicator_is_the_union_of_its_two_cases(seed):
    rng, model, x, cost, cake, low, high = cake_of(seed)
    z = model.variable("z", N, binary=True)
    bound, fee, active = rng.integers(-2, 5, 3), rng.integers(-4, 5, 3), int(rng.integers(2))
    sign = rng.choice(["<=", ">=", "==", "between"])
    relation = {
        "<=": x <= bound,
        ">=": x >= bound,
        "==": x == bound,
        "between": x.between(bound, bound + 1),
    }[sign]
    model.indicator("rule", z, relation, active=active)
    model.maximize((x * cost).sum() - (z * fee).sum())
    ends = {
        "<=": (low, bound),
        ">=": (bound, high),
        "==": (bound, bound),
        "between": (bound, bound + 1),
    }[sign]
    expected = -np.inf
    for choice in product((0, 1), repeat=3):
        is_switched = np.array(choice) == active
        box = (
            np.where(is_switched, np.maximum(low, ends[0]), low),
            np.where(is_switched, np.minimum(high, ends[1]), high),
        )
        expected = max(
            expected,
            best(cost, [np.transpose(box)] * int((box[0] <= box[1]).all()), cake) - fee @ choice,
        )
    assert solved(model, seed) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=many(25), deadline=None)
@given(SEEDS, st.sampled_from(["sos1", "sos2", "semicontinuous"]))
def test_sets_and_gaps_are_unions_of_boxes(seed, kind):
    rng, model, x, cost, cake, low, high = cake_of(seed)
    least = rng.integers(0, 5, 3)
    if kind == "semicontinuous":
        model.semicontinuous("set", x, least)
        patterns = product((0, 1), repeat=3)
    else:
        getattr(model, kind)("set", x, N)
        patterns = [(1, 0, 0), (0, 1, 0), (0, 0, 1)] if kind == "sos1" else [(1, 1, 0), (0, 1, 1)]
    boxes = []
    for pattern in patterns:
        is_on = np.array(pattern, dtype=bool)
        low_on = np.maximum(low, least) if kind == "semicontinuous" else low
        box = np.where(is_on, low_on, 0), np.where(is_on, high, 0)
        boxes += [np.transpose(box)] * int((box[0] <= box[1]).all())
    assert solved(model, seed) == pytest.approx(best(cost, boxes, cake), abs=1e-6)
    x.set(upper=high + 1)  # M follows
    patched = model.compile()
    forget_program(model)
    assert same_bytes(patched, model.compile()) == []


@settings(max_examples=many(25), deadline=None)
@given(SEEDS, st.booleans(), st.booleans())
def test_piecewise_is_what_numpy_interpolates(seed, shared, masked):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    points = np.cumsum(rng.integers(1, 4, (3, count)), axis=1) - rng.integers(0, 9)
    points = points[0] if shared else points
    heights = rng.integers(-5, 6, (3, count))
    exists = rng.random(3) < 0.7 if masked else np.ones(3, dtype=bool)
    model = Model("m", indices=(N,))
    x = model.variable("x", N, lower=None, where=exists)
    y = model.piecewise("f", x, points, heights)
    tilt = rng.normal(size=3)
    model.maximize(y.sum() + (x * tilt).sum())
    rows = np.broadcast_to(points, (3, count))
    # a piecewise linear function is largest at a breakpoint
    expected = sum((heights[k] + tilt[k] * rows[k]).max() for k in np.flatnonzero(exists))
    assert solved(model, seed) == pytest.approx(expected, abs=1e-6)
    abscissas = np.array([rng.uniform(row[0], row[-1]) for row in rows])
    x.fix(abscissas)
    values = model.solve().values["f"].to_numpy()
    interpolated = [
        np.interp(a, row, height) if ok else np.nan
        for a, row, height, ok in zip(abscissas, rows, heights, exists, strict=True)
    ]
    assert values == pytest.approx(interpolated, abs=1e-7, nan_ok=True)


def test_big_m_is_the_least_that_bounds_allow_and_follows_them():
    model = Model("m", indices=(N, R))
    x = model.variable("x", N, lower=-1, upper=[2, 3, 4])
    z, b = model.variable("z", R, binary=True), model.parameter("b", R, [1, 5])
    model.indicator("k", z, 2 * x - x["ann"] <= b)
    column = model.compile().column_names.index("z[cpu]")
    assert model.compile().A.toarray()[::2, column].tolist() == [1, 6, 8]  # ann: 2·x − x is x
    assert model.compile().A.toarray()[1::2, column + 1].tolist() == [0, 2, 4]
    b.set([0, 5])
    x.set(upper=1)
    assert model.compile().A.toarray()[::2, column].tolist() == [1, 3, 3]


def test_what_belongs_to_a_helper_goes_with_it_and_not_before():
    model = Model("m", indices=(N,))
    x = model.variable("x", N, upper=5)
    before = str(model)
    model.sos2("two", x, N)
    model.piecewise("y", x, [0, 5], [0, 1])
    model.semicontinuous("gap", x, 2)
    assert "two_on[n] + two_on[n−1] = 0 ⇒ x[n] = 0" in str(model).replace("≥ 0 ", "= 0 ").replace(
        "≤ 0 ", "= 0 "
    )
    assert r"\mathrm{gap\_on}_{n} = 1 \Rightarrow x_{n} \ge 2" in model.to_latex()
    for act in (
        lambda: model.remove("two_off_below"),
        lambda: model["y_argument"].replace(x <= 1),
        lambda: model.remove("gap_on"),
    ):
        with pytest.raises(
            ModelError,
            match=r"was declared for (two|y|gap), and goes when",
        ):
            act()
    with pytest.raises(ModelError, match="has variables or rows of its own; remove it"):
        model["two"].replace(x <= 1)
    model.constraint("user", model["gap_on"].sum() <= 1)
    with pytest.raises(ModelError, match="'gap' is used in constraint 'user'"):
        model.remove("gap")
    with pytest.raises(ModelError, match="'x' is used in constraint"):
        model.remove("x")
    copy = model.copy()
    for switched_model in (model, copy):
        for name in ("user", "gap", "two", "y"):
            switched_model.remove(name)
        assert not switched_model.constraints and list(switched_model.variables) == ["x"]
        switched_model.piecewise(
            "y", switched_model["x"], [0, 1, 5], [0, 1, 3]
        )  # with other breakpoints
        switched_model.remove("y")
    assert str(model).startswith(before[:30])


M = Model("wrong", indices=(N,))
X, Z, FREE = M.variable("x", N, upper=5), M.variable("z", N, binary=True), M.variable("free", N)


def test_a_big_m_of_the_users_own_stands_where_bounds_do_not():
    model = Model("m")
    x, z, bound = (
        model.variable("x"),
        model.variable("z", binary=True),
        model.parameter("most", (), 7),
    )
    model.indicator("k", z, x <= 1, big_m=bound)
    model.constraint("sure", x <= 8)
    model.maximize(x - 3 * z)
    assert model.solve().objective == 8
    bound.set(2)  # which says that x is at most 3
    assert model.solve().objective == 3


def test_a_tolerance_times_a_big_m_is_no_optimum():
    model = Model("m")
    x, z = model.variable("x", upper=1e7), model.variable("z", binary=True)
    model.indicator("cap", z, x <= 5)
    model.constraint("must", z >= 1)
    model.maximize(x)
    right = model.solve()
    assert right.status.is_optimal and right.x.tolist() == [5, 1]
    leaking = replace(right, x=np.array([5.5, 1.0]))
    assert not leaking.verify().is_feasible  # beside M the half would be a tolerance
    assert leaking.checked(by_word=True).status.termination.value == "unknown"
    assert leaking.checked(by_word=True).x == pytest.approx([5, 1], rel=1e-8)
    model.constraint("floor", x >= 5.4)
    nowhere = replace(leaking, program=model.compile()).checked(by_word=True)
    assert nowhere.x is None and "no point keeps it" in str(nowhere.status)
    noise = replace(right, x=np.array([5 + 1e-5, 1.0])).checked(by_word=True)
    assert not noise.status.is_optimal and noise.x == pytest.approx([5, 1], rel=1e-8)


def test_files_pyomo_and_sessions_have_the_same_rows(tmp_path):
    model = Model("m", indices=(N,))
    x = model.variable("x", N, upper=[3, 4, 5])
    y = model.piecewise("y", x, [0, 2, 5], [0, 4, 1])
    model.sos1("one", x, N)
    model.semicontinuous("gap", x, 1)
    model.maximize(y.sum() - x.sum() / 4)
    assert model.solve().objective == pytest.approx(3.5)
    for ending in ("mps", "lp"):
        model.write(tmp_path / f"m.{ending}")
        program = fairlp.read_program(tmp_path / f"m.{ending}")
        assert program.solve("scipy").objective == pytest.approx(3.5)
    pytest.importorskip("pyomo")
    from pyomo.environ import Constraint as Row

    built = model.to_pyomo()
    counts = sum(len(block) for block in built.component_objects(Row))
    assert counts == model.compile().n_rows
    with model.session() as session:
        assert session.solve().objective == pytest.approx(3.5)
        x.set(upper=1)
        assert session.solve().objective == pytest.approx(1.75)


def one_of_two(by_hand):
    """A small model whose rows hold at 0 on both sides, where HiGHS leaves 3e-11; the optimum is 3."""
    i, j = Index("i", ["u0", "u1"]), Index("j", [0, 1])
    model = Model("m")
    x, z = model.variable("x", i, j, lower=-2, upper=1), model.variable("z", i, binary=True)
    model.constraint("cap", x.sum(i) <= [3, 0])
    if by_hand:
        on = model.variable("on", i, j, binary=True)
        model.constraint("one", on.sum(j) <= 1)
        model.constraint("up", x <= on)
        model.constraint("low", -x <= 2 * on)
    else:
        model.sos1("s", x, j)
    model.constraint("zz", x.sum(j) >= -3 + 2 * z)
    model.maximize(x @ [[-1, 0], [1, 3]] - z.sum())
    return model


@pytest.mark.parametrize("by_hand", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
def test_rounding_beside_rows_of_nothing_is_no_violation(solver, by_hand, tmp_path):
    if not fairlp.solvers().loc[solver, "available"]:
        pytest.skip(f"{solver} is not installed")
    model = one_of_two(by_hand)
    assert model.solve(solver).objective == pytest.approx(3)
    for ending in ("mps", "lp"):
        model.write(tmp_path / f"m.{ending}")
        assert fairlp.read_program(tmp_path / f"m.{ending}").solve(
            solver
        ).objective == pytest.approx(3)


@given(SEEDS)
@settings(max_examples=many(20))
def test_a_solvers_tolerance_in_any_row_does_not_lose_the_optimum(seed):
    """What is off by 1e-9 is put right at the same integers; what is off by far is no point of the program."""
    rng = np.random.default_rng(seed)
    solution = one_of_two(seed % 2 == 0).solve()
    near_solution = replace(
        solution, x=solution.x + 1e-9 * rng.uniform(-1, 1, solution.x.size)
    ).checked(by_word=True)
    assert near_solution.status.is_optimal and near_solution.objective == pytest.approx(3)
    wrong_solution = replace(solution, x=solution.x + rng.uniform(2, 9)).checked(by_word=True)
    assert not wrong_solution.status.is_optimal
