"""Ranges of right-hand sides and costs: HiGHS's own and solving again at the ends agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Index, Model, examples
from fairlp.errors import UnknownNameError, UnsupportedError
from profiles import many


def random_program(rng, sense):
    """A program whose rows have one side or two, and whose columns are boxed or fixed."""
    n, m = Index("n", range(rng.integers(1, 7))), Index("m", range(rng.integers(1, 6)))
    model = Model("random", indices=(m, n))
    low = rng.choice([0.0, -1.0, 0.0], len(n))
    x = model.variable(
        "x", n, lower=low, upper=low + rng.choice([1.5, 3.0, 0.0], len(n), p=[0.5, 0.4, 0.1])
    )
    a = model.parameter("a", (m, n), rng.integers(-3, 6, (len(m), len(n))))
    start = a.values @ rng.uniform(low, low + 0.5)
    width = rng.choice([0.3, 1.0, np.inf], len(m))
    low = start - np.where(np.isinf(width), 0.2, rng.choice([0.0, 0.4, np.inf], len(m)))
    model.constraint("rows", (a * x).sum(n).between(low, start + width))
    cost = (model.parameter("c", n, rng.integers(-5, 6, len(n))) * x).sum() + 1
    model.maximize(cost) if sense == "max" else model.minimize(cost)
    return model


def moved(program, kind, place, value):
    """The program with another right-hand side (the one that the range is of), or another cost."""
    if kind == "variables":
        cost = program.c.copy()
        cost[place] = value
        return program.replace(c=cost)
    row_lower, row_upper = program.row_lower.copy(), program.row_upper.copy()
    was = program.of_side[place]
    for side in (row_lower, row_upper):
        if side[place] == was:
            side[place] = value
    return program.replace(row_lower=row_lower, row_upper=row_upper)


@settings(max_examples=many(25), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["max", "min"]))
def test_within_its_range_the_dual_tells_the_objective(seed, sense):
    rng = np.random.default_rng(seed)
    solution = random_program(rng, sense).solve("highs-simplex")
    if not solution.status.is_optimal:
        return
    program, best = solution.program, solution.objective
    for kind in ("constraints", "variables"):
        table = solution.ranges(kind)
        middle = table.columns[-4]
        assert (
            (table["lower"] <= table[middle] + 1e-9) & (table[middle] <= table["upper"] + 1e-9)
        )[np.isfinite(table[middle])].all()
        object.__setattr__(program, "of_side", table[middle].to_numpy())
        for place, row in enumerate(table.itertuples(index=False)):
            value = getattr(row, middle)
            for end in (row.lower, row.upper):
                if not np.isfinite(value):
                    continue
                to = (
                    value
                    + (np.clip(end - value, -3, 3) if np.isfinite(end) else np.sign(end)) * 0.999
                )
                moved_solution = moved(program, kind, place, to).solve("highs-simplex")
                if kind == "constraints":
                    expected = best + row.dual * (to - value)
                else:
                    expected = best + (to - value) * solution.x[place]
                assert moved_solution.objective == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_ranges_are_those_of_highs():
    rng = np.random.default_rng(5)
    n, m = Index("n", range(12)), Index("m", range(9))
    model = Model("dense", indices=(m, n))
    x = model.variable("x", n)
    a = model.parameter("a", (m, n), rng.uniform(0.5, 2, (9, 12)))
    model.constraint("rows", (a * x).sum(n) <= model.parameter("b", m, rng.uniform(1, 2, 9)))
    model.maximize((model.parameter("c", n, rng.uniform(1, 2, 12)) * x).sum())
    highs = model.to_highs()
    highs.setOptionValue("presolve", "off")
    highs.setOptionValue("solver", "simplex")
    highs.run()
    ranging = highs.getRanging()[1]
    solution = model.solve("highs-simplex")
    basic = [status.name == "kBasic" for status in solution.basis.row_status]
    rows, costs = solution.ranges(), solution.ranges("variables")
    for side, side_ranges in (("lower", ranging.row_bound_dn), ("upper", ranging.row_bound_up)):
        expected = np.where(
            np.abs(side_ranges.value_) > 1e20,
            np.copysign(np.inf, side_ranges.value_),
            side_ranges.value_,
        )
        np.testing.assert_allclose(
            rows[side][~np.array(basic)], expected[~np.array(basic)], rtol=1e-7
        )
    for side, cost_ranges in (("lower", ranging.col_cost_dn), ("upper", ranging.col_cost_up)):
        cost_ranges.value_ = cost_ranges.value_[:12]
        expected = np.where(
            np.abs(cost_ranges.value_) > 1e20,
            np.copysign(np.inf, cost_ranges.value_),
            cost_ranges.value_,
        )
        np.testing.assert_allclose(costs[side], expected, rtol=1e-7, atol=1e-9)


def test_the_price_of_a_mechanism_holds_within_its_range():
    instance = examples.wang_figure_1()
    table = fairlp.formulate(instance, "drfh").solve().ranges()
    capacities = table[table["constraint"] == "capacity"]
    assert set(capacities["i"]) == set(instance.servers) and set(capacities["r"]) == set(
        instance.resources
    )
    # any back end: where there is no basis, HiGHS finds one
    ranges = fairlp.formulate(instance, "drfh").solve("scipy").ranges()
    assert len(ranges) == len(table) and ranges["dual"].sum() > 0


def test_frames_have_a_row_for_each_element():
    instance = examples.wang_figure_1()
    solution = fairlp.formulate(instance, "drfh").solve()
    frame, rows = solution.frame(), solution.frame("constraints")
    assert frame["value"].tolist() == solution.x.tolist() and frame[
        "reduced_cost"
    ].tolist() == list(solution.column_duals)
    g = frame[frame["variable"] == "g"].pivot_table(index="n", columns="i", values="value")
    expected = solution.values["g"]
    assert (
        g.loc[expected.index, expected.columns].to_numpy().tolist() == expected.to_numpy().tolist()
    )
    capacity = solution.activity["capacity"]
    activities = rows[rows["constraint"] == "capacity"].set_index(["i", "r"])["activity"]
    assert all(
        activities[i, r] == capacity.loc[i, r] for i in capacity.index for r in capacity.columns
    )
    assert (solution.slack["capacity"].to_numpy() >= -1e-9).all() and len(
        rows
    ) == solution.program.n_rows
    assert solution.slack["fairness"].abs().max() < 1e-9
    with pytest.raises(UnknownNameError, match=r"called 'rows'; .*'constraints'"):
        solution.frame("rows")
    capacities = rows[rows["constraint"] == "capacity"].dropna(axis=1, how="all")
    pd.testing.assert_frame_equal(solution.frame("capacity"), capacities)
    values = frame[frame["variable"] == "g"].dropna(axis=1, how="all")
    pd.testing.assert_frame_equal(solution.frame("g"), values)
    assert len(solution.plot("fairness", color="gray").patches) == len(instance.users)
    assert len(solution.plot("t").patches) == 1


def test_an_equality_that_others_fix_may_not_move():
    model = Model("m")
    x, y = model.variable("x", lower=1, upper=1), model.variable("y")
    model.constraint("sum", x + y == 2)
    model.constraint("twice", 2 * x + 2 * y == 4)
    model.constraint("fixed", x == 1)
    model.maximize(x + y)
    ranges = model.solve().ranges().set_index("constraint")
    assert (ranges["lower"] == ranges["rhs"]).all() and (ranges["upper"] == ranges["rhs"]).all()


# Answers without a basis.


def several():
    """max x + y: x + y ≤ 4, x ≤ 3, y ≤ 3: the optima are an edge, from (1, 3) to (3, 1)."""
    model = Model("several")
    x, y = model.variable("x"), model.variable("y")
    model.constraint("both", x + y <= 4)
    model.constraint("x_most", x <= 3)
    model.constraint("y_most", y <= 3)
    model.maximize(x + y)
    return model


class At(fairlp.Backend):
    """A back end without bases that answers with one point."""

    capabilities = frozenset({fairlp.Capability.LP, fairlp.Capability.DUALS})

    def __init__(self, *point):
        self.point = np.array(point, dtype=float)

    def run(self, program, options):
        return fairlp.Raw(fairlp.Termination.OPTIMAL, "so", self.point, np.array([-1.0, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("point", "x", "y"), [((3, 1), (1, np.inf), (0, 1)), ((1, 3), (0, 1), (1, np.inf))]
)
def test_ranges_of_an_answer_without_a_basis_are_of_its_own_point(point, x, y):
    table = several().solve(At(*point)).ranges("variables").set_index("variable")
    assert (
        tuple(table.loc["x", ["lower", "upper"]]) == x
        and tuple(table.loc["y", ["lower", "upper"]]) == y
    )
    rows = several().solve(At(*point)).ranges().set_index("constraint")
    other = "y_most" if point == (3, 1) else "x_most"
    assert rows.loc[other, "lower"] == min(point)


def test_a_point_that_is_no_vertex_has_no_ranges():
    for kind in ("variables", "constraints"):
        with pytest.raises(UnsupportedError, match=r"is no vertex.*solve\('highs-simplex'\)"):
            several().solve(At(2, 2)).ranges(kind)


@settings(max_examples=many(25), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["glpk", "scipy"]))
def test_within_its_range_a_cost_leaves_the_point_of_the_answer_optimal(seed, solver):
    if not fairlp.solvers().loc[solver, "available"]:
        return
    rng = np.random.default_rng(seed)
    solution = random_program(rng, "max").solve(solver)
    if not solution.status.is_optimal:
        return
    program = solution.program
    for place, (low, high) in enumerate(
        solution.ranges("variables")[["lower", "upper"]].to_numpy()
    ):
        for end in (low, high):
            if np.isfinite(end):
                other = moved(program, "variables", place, float(end))
                best = other.solve("highs-simplex").require_optimal().objective
                assert other.objective_value(solution.x) == pytest.approx(best, rel=1e-7, abs=1e-7)
