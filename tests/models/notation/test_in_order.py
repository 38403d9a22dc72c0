"""Several objectives in order: against enumeration, against SciPy in steps by hand, and what has one objective only."""

from __future__ import annotations

import pickle
import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import fairlp
from fairlp import Index, Model, log
from fairlp.errors import FairlpError, ModelError, NoSolutionError
from fairlp.models.programs.status import Termination
from fairlp.solvers.backends.base import Raw
from fairlp.solvers.backends.scipy_linprog import Scipy
from profiles import many

K = Index("k", [0, 1, 2], "item")
SEEDS = st.integers(0, 2**32 - 1)


def best_of_grid(points, values, sense, relative=0.0, absolute=0.0):
    """The points of a grid that are best in the last objective, of those that the others allow."""
    sign = 1 if sense == "minimize" else -1
    remaining = np.arange(len(points))
    for place, objective in enumerate(values):
        numbers = sign * objective[remaining]
        best = numbers.min()
        is_last = place == len(values) - 1
        allowance = 0 if is_last else relative * abs(best) + absolute
        remaining = remaining[numbers <= best + allowance]
    return points[remaining]


def grid_model(rng):
    """A random integer model of three variables within 0 and 3, and its feasible points."""
    rows, limits = rng.integers(-2, 4, (2, 3)), rng.integers(0, 9, 2)
    model = Model("m")
    x = model.variable("x", K, upper=3, integer=True)
    points = np.array(list(product(range(4), repeat=3)))
    for name, row, limit in zip("ab", rows, limits, strict=True):
        model.constraint(name, row @ x <= limit)
        points = points[points @ row <= limit]
    return model, x, points


@given(SEEDS, st.integers(2, 3), st.sampled_from(["minimize", "maximize"]))
@settings(max_examples=many(30))
def test_integer_programs_have_the_optimum_of_enumeration(seed, count, sense):
    rng = np.random.default_rng([5, seed])
    model, x, points = grid_model(rng)
    costs = rng.integers(-2, 3, (count, 3))  # many ties
    tolerances = {
        "rel_tolerance": float(rng.choice([0, 0.25, 0.5])),
        "abs_tolerance": float(rng.choice([0, 0.5, 1])),
    }
    getattr(model, sense)([cost @ x for cost in costs], **tolerances)
    best_points = best_of_grid(
        points, [points @ cost for cost in costs], sense, *tolerances.values()
    )
    for solver in ("highs", "scipy"):
        solution = model.solve(solver)
        assert solution.status.is_optimal
        assert solution.objective == pytest.approx(best_points[0] @ costs[-1], abs=1e-6)
        found = np.round(solution.values["x"].to_numpy())
        assert (best_points == found).all(axis=1).any()


@given(SEEDS)
@settings(max_examples=many(20))
def test_absolute_values_in_any_objective_are_those_of_enumeration(seed):
    rng = np.random.default_rng([6, seed])
    model, x, points = grid_model(rng)
    targets, weights, costs = rng.integers(-1, 5, 3), rng.integers(0, 3, 3), rng.integers(-2, 3, 3)
    distance = (abs(x - targets) * weights).sum()
    spread = abs(x[0] - x[1]) + abs(x[1] - x[2])
    by_point = [
        abs(points - targets) @ weights,
        points @ costs,
        abs(np.diff(points, axis=1)).sum(axis=1),
    ]
    formulas = [distance, costs @ x, spread]
    order = rng.permutation(3)
    model.minimize([formulas[place] for place in order])
    best_points = best_of_grid(points, [by_point[place] for place in order], "minimize")
    solution = model.solve()
    assert solution.status.is_optimal
    for place in order:
        expected = by_point[place][(points == best_points[0]).all(axis=1)].item()
        assert solution.value(formulas[place]) == pytest.approx(expected, abs=1e-6)


@given(SEEDS, st.sampled_from([0.0, 0.125]))
@settings(max_examples=many(20))
def test_linear_programs_are_those_of_scipy_in_steps(seed, tolerance):
    rng = np.random.default_rng([7, seed])
    rows, limits = rng.integers(0, 5, (4, 3)), rng.integers(1, 9, 4)
    costs = rng.integers(-3, 4, (3, 3))
    model = Model("m")
    x = model.variable("x", K, upper=5)
    model.constraint("rows", model.parameter("A", (L, K), rows) @ x <= limits)
    model.maximize([cost @ x for cost in costs], rel_tolerance=tolerance)
    solution = model.solve()
    left, right = rows.tolist(), limits.tolist()
    values = []
    for cost in costs:
        values.append(-linprog(-cost, A_ub=left, b_ub=right, bounds=(0, 5)).fun)
        left.append((-cost).tolist())
        right.append(-(values[-1] - tolerance * abs(values[-1])) + 1e-9)
    assert solution.status.is_optimal and solution.verify().is_optimal
    assert solution.objective == pytest.approx(values[-1], abs=1e-6)
    for cost, value in zip(costs[:-1], values, strict=False):
        assert solution.value(cost @ x) >= value - tolerance * abs(value) - 1e-6


L = Index("l", range(4), "row")


@given(SEEDS, st.sampled_from(["highs", "scipy"]))
@settings(max_examples=many(20))
def test_mixed_integer_programs_of_any_numbers_are_those_of_scipy_in_steps(seed, solver):
    rng = np.random.default_rng([8, seed])
    rows, limits, costs = rng.random((4, 6)), 10 * rng.random(4), rng.normal(size=(3, 6))
    model = Model("m")
    x = model.variable("x", K, upper=10)
    z = model.variable("z", K, upper=5, integer=True)
    left, right = (model.parameter(name, (L, K), rows[:, of]) for name, of in HALVES.items())
    model.constraint("rows", left @ x + right @ z <= limits)
    model.maximize([cost[:3] @ x + cost[3:] @ z for cost in costs])
    solution = model.solve(solver)
    constraints = [LinearConstraint(rows, -np.inf, limits)]
    for cost in costs:
        answer = milp(
            -cost,
            constraints=constraints,
            bounds=Bounds(0, [10] * 3 + [5] * 3),
            integrality=[0] * 3 + [1] * 3,
        )
        constraints.append(LinearConstraint(cost, -answer.fun - 1e-9, np.inf))
    assert solution.status.is_optimal
    assert solution.objective == pytest.approx(-answer.fun, abs=1e-6)


HALVES = {"A": slice(3), "B": slice(3, None)}


def two_goods():
    model = Model("m")
    x, y = model.variable("x", upper=4), model.variable("y", upper=4)
    model.constraint("cake", x + y <= 6)
    return model, x, y


def test_the_second_objective_decides_among_ties_of_the_first():
    model, x, y = two_goods()
    model.maximize([x + y, y])
    solution = model.solve()
    assert (solution.value(x + y), solution.value(y)) == pytest.approx((6, 4))
    model.maximize([x + y, -y])
    assert model.solve().values["y"] == pytest.approx(2)
    model.minimize([-(x + y), y])
    assert model.solve().values["y"] == pytest.approx(2)
    assert solution.program.row_names == ["cake", "objective1_kept"]
    assert set(solution.duals) == {"cake", "objective1_kept"}


def test_where_everything_ties_the_last_objective_is_the_only_one():
    model, x, y = two_goods()
    model.constraint("fixed", x + y == 5)
    model.maximize([x + y, 2 * x + 2 * y - 1, 7, x])
    assert model.solve().values["x"] == pytest.approx(4)


def test_a_large_whole_objective_is_kept_to_the_last_unit():
    model = Model("m")
    x, y = model.variable("x", upper=9, integer=True), model.variable("y", upper=5, integer=True)
    model.constraint("least", x >= 3)
    model.minimize([10**9 * x + y, -y])  # 1e-9 of the first would be three units
    assert model.solve().values["y"] == 0
    model.minimize([10**9 * x + y, -y], abs_tolerance=2.5)
    assert model.solve().values["y"] == 2


def test_a_tolerance_lets_an_objective_give_way():
    model, x, y = two_goods()
    model.maximize([2 * x + y, y], rel_tolerance=0.1)  # 10, so 9 is enough
    solution = model.solve()
    assert solution.value(2 * x + y) == pytest.approx(9)
    assert solution.value(y) == pytest.approx(3)
    model.maximize([2 * x + y, y], abs_tolerance=2)
    assert model.solve().value(y) == pytest.approx(4)
    model.maximize([2 * x + y, y], rel_tolerance=0.1, abs_tolerance=0.5)
    assert model.solve().value(2 * x + y) == pytest.approx(8.5)


def test_the_last_objective_may_have_logarithms_and_squares():
    model, x, y = two_goods()
    x.set(upper=1)
    model.maximize([x + y, log(x) + log(y)])
    assert model.solve().value(y) == pytest.approx(4, abs=1e-4)
    x.set(upper=4)
    solution = model.solve()
    assert solution.value(x) == pytest.approx(3, abs=1e-4)
    clarabel = "cvxpy:CLARABEL"
    if fairlp.solvers().loc[clarabel, "available"]:
        model.minimize([-(x + y), (x - 1) ** 2 + y**2])
        assert model.solve(clarabel).value(x) == pytest.approx(3.5, abs=1e-4)


@pytest.mark.parametrize("curved", ["log", "square", "power"])
def test_an_objective_before_the_last_is_linear_but_for_absolute_values(curved):
    model, x, y = two_goods()
    formula = {"log": log(x), "square": -(x**2), "power": fairlp.power(x, 0.5)}[curved]
    model.maximize(x)
    with pytest.raises(ModelError, match=r"objective 2 has logarithms or powers.*last objective"):
        model.maximize([y, formula - abs(y - 1), x])
    assert model.objectives == (x,) and list(model.variables) == ["x", "y"]


def test_a_stage_without_an_optimum_is_what_is_returned():
    model, x, y = two_goods()
    z = model.variable("z")
    model.maximize([x + y, z, x])
    solution = model.solve()
    assert solution.status == "unbounded" and "at objective 2 of 3" in str(solution.status)
    assert solution.unbounded_direction["z"] > 0
    assert model.explain()["direction"].to_dict() == {"z": pytest.approx(1)}
    model.maximize([z, x])
    assert "at objective 1 of 2" in str(model.solve().status)
    model.constraint("too much", x + y >= 9)
    solution = model.solve()
    assert solution.status == "infeasible" and "at objective 1 of 2" in str(solution.status)
    with pytest.raises(NoSolutionError):
        solution.value(x)
    assert "too much" in model.explain().index
    model.remove("too much")
    z.set(upper=1)
    assert model.solve().status.is_optimal and model.explain().empty


class Slow(Scipy):
    """SciPy after a pause, which notes the time limits that it is given."""

    def __init__(self):
        super().__init__("slow")
        self.limits = []

    def run(self, program, options):
        self.limits.append(options.time_limit)
        time.sleep(0.05)
        return super().run(program, options)


def test_the_time_limit_is_for_all_objectives_together():
    model, x, y = two_goods()
    model.maximize([x + y, x, y])
    slow = Slow()
    assert model.solve(slow, time_limit=60).status.is_optimal
    first, second, third = slow.limits
    assert first <= 60 and second <= first - 0.05 and third <= second - 0.05
    slow.limits.clear()
    stopped = model.solve(slow, time_limit=0.04)
    assert len(slow.limits) == 1 and stopped.status == "time limit"
    assert "at objective 2 of 3" in str(stopped.status)
    assert stopped.is_feasible and stopped.value(x + y) == pytest.approx(6)
    nothing = model.solve(time_limit=0)
    assert nothing.status == "time limit" and nothing.x is None


class Strict(Scipy):
    """SciPy that finds no point where a kept objective has less room than 1e-12."""

    def run(self, program, options):
        if program.n_rows > 1 and np.isclose(program.row_upper[1], -5, rtol=0, atol=1e-12):
            return Raw(Termination.UNKNOWN, "no point was found")
        return super().run(program, options)


def test_where_rounding_hides_the_optimum_the_row_gives_way_by_the_feasibility_tolerance():
    model = Model("m")
    x, y = model.variable("x", upper=4.5, integer=True), model.variable("y", upper=1)
    model.constraint("cake", x + y <= 6)
    model.minimize([-(x + y), y])
    solution = model.solve(Strict("strict"))
    assert solution.status.is_optimal
    assert solution.program.row_upper[1] == pytest.approx(-5 + 5e-9, abs=1e-10)
    assert model.solve().program.row_upper[1] == pytest.approx(-5, abs=1e-12)


class Satisfied(Scipy):
    """SciPy that stops its first solve at a gap, with the point at 0."""

    def run(self, program, options):
        if program.n_rows > 1:
            return super().run(program, options)
        return Raw(Termination.GAP_LIMIT, "near enough", np.zeros(program.n_columns), bound=-9.0)


def test_an_optimum_after_an_objective_at_a_gap_is_not_called_optimal():
    model = Model("m")
    x, y = model.variable("x", upper=4, integer=True), model.variable("y", upper=4, integer=True)
    model.constraint("cake", x + y <= 6)
    model.maximize([x + y, -y])
    solution = model.solve(Satisfied("satisfied"), mip_gap=0.5)
    assert solution.status == "gap limit" and not solution.status.is_optimal
    assert "objective 1 stopped within the gap" in str(solution.status)
    assert solution.is_feasible and solution.value(y) == 0


def test_options_go_to_every_solve_and_a_wrong_one_is_refused():
    model, x, y = two_goods()
    model.maximize([x + y, x])
    assert model.solve("highs", threads=1, method="simplex").objective == pytest.approx(4)
    with pytest.raises(FairlpError, match="time_limits"):
        model.solve(time_limits=3)
    whole = Model("m")
    z = whole.variable("z", K, upper=3, integer=True)
    whole.maximize([z.sum(), z[0] - z[1]])
    whole.constraint("cake", z.sum() <= 4)
    assert whole.solve(start={"z": {0: 1, 1: 1, 2: 1}}).objective == pytest.approx(3)


def test_copies_and_pickles_keep_them():
    model, x, y = two_goods()
    model.maximize([x + y, y - abs(x - 3)], abs_tolerance=1)
    expected = model.solve().objective
    for other in (model.copy(), pickle.loads(pickle.dumps(model)), model.relax_integrality()):
        assert str(other) == str(model) and "may give way by 1)" in str(other)
        assert model.equals(other) and other.equals(model)
        assert other.solve().objective == pytest.approx(expected)
        other["y"].fix(1)
        assert other.solve().values["y"] == pytest.approx(1)
    assert model.solve().objective == pytest.approx(expected)


def test_relaxing_relaxes_all_objectives():
    model = Model("m")
    x = model.variable("x", K, upper=3, integer=True)
    model.constraint("cake", 2 * x.sum() <= 5)
    model.maximize([x.sum(), x[1]])
    assert model.solve().value(x.sum()) == pytest.approx(2)
    assert model.relax_integrality().solve().values["x"].to_numpy() == pytest.approx([0, 2.5, 0])


def test_models_are_equal_in_every_objective_and_the_tolerances():
    model, x, y = two_goods()
    model.maximize([x + y, y, x])
    other = model.copy()
    a, b = other["x"], other["y"]
    assert model.equals(other)
    for objectives, tolerance in (
        ([a + b, 2 * b + 3, a], 0.0),
        ([a + b, b], 0.0),
        ([a + b, b, a], 0.5),
    ):
        other.maximize(objectives, rel_tolerance=tolerance)
        assert not model.equals(other)
    other.maximize([a + b, b, a])
    assert model.equals(other)
    other.maximize(a + b)
    assert not model.equals(other.compile())


def test_what_a_later_objective_uses_is_not_removed():
    model, x, _y = two_goods()
    z, p = model.variable("z", upper=1), model.parameter("p", (), 2)
    model.maximize([x, p * z])
    for name in ("z", "p"):
        with pytest.raises(ModelError, match="is used in the objective"):
            model.remove(name)
    model.maximize([x])
    model.remove("z")
    model.remove("p")
    assert "z" not in model


def test_replaced_objectives_take_their_absolute_values_along():
    model, x, y = two_goods()
    model.minimize([abs(x - 1), abs(y - 2) + x])
    assert list(model.variables) == ["x", "y", "abs1", "abs2"]
    model.minimize([*model.objectives, -x])
    assert list(model.variables) == ["x", "y", "abs1", "abs2"] and len(model.objectives) == 3
    with pytest.raises(ModelError, match="was declared for"):
        model.remove("abs2")
    model.minimize([y, x])
    assert list(model.variables) == ["x", "y"]
    model.maximize([y, x], rel_tolerance=0.5)
    model.leximin(model.variable("l", K, upper=1) + 0)
    assert len(model.objectives) == 1
    anew = model.copy()
    anew.maximize(anew.objective)
    assert model.equals(anew)


def test_parameters_that_are_set_count_in_every_objective():
    model, x, y = two_goods()
    p, q = model.parameter("p", (), 1), model.parameter("q", (), 1)
    model.maximize([p * x + y, q * x])
    assert model.solve().values["x"] == pytest.approx(4)
    q.set(-1)
    assert model.solve().values["x"] == pytest.approx(2)
    p.set(2)
    assert model.solve().values["x"] == pytest.approx(4)
