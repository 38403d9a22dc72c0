"""The certificate that everything trusts, given planted wrong answers: each residual, sign, bound, gap, integrality."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fairlp
import plain_programs
from fairlp.models.programs import sizes
from fairlp.models.programs.certificate import dual_bound, verify
from fairlp.models.programs.integers import at_integers
from fairlp.models.programs.program import Block, Program
from fairlp.models.programs.rays import proves_infeasible, proves_unbounded
from fairlp.tolerances import FEASIBILITY, VERIFIED
from profiles import many

INF = np.inf
#: Errors that a certificate must see: beside its tolerance, small, and large.
OFF = (30 * VERIFIED, 1e-3, 1.0)


def program(**changes):
    """max 3x + 2y: x + y <= 4, x + 3y >= 1, 0 <= x <= 3, y free: x = 3, y = 1, worth 11."""
    parts = {
        "name": "planted",
        "sense": "max",
        "c": np.array([3.0, 2.0]),
        "offset": 0.0,
        "A": sp.csc_array(np.array([[1.0, 1.0], [1.0, 3.0]])),
        "row_lower": np.array([-INF, 1.0]),
        "row_upper": np.array([4.0, INF]),
        "col_lower": np.array([0.0, -INF]),
        "col_upper": np.array([3.0, INF]),
        "integrality": np.zeros(2, dtype=np.uint8),
        "rows": (Block("row", (), 0, 2),),
        "columns": (Block("column", (), 0, 2),),
    }
    return Program(**(parts | changes))


X, DUALS = np.array([3.0, 1.0]), np.array([2.0, 0.0])


def mirrored():
    """The same as a minimum."""
    return program(sense="min", c=np.array([-3.0, -2.0])), X, -DUALS


def test_the_optimum_is_proved_in_both_senses():
    for p, x, duals in ((program(), X, DUALS), mirrored()):
        proof = verify(p, x, duals)
        assert proof.is_optimal and proof.is_feasible and proof.gap == proof.dual_residual == 0
        assert proof.primal_residual == proof.complementarity == proof.integrality_residual == 0


@pytest.mark.parametrize("deviation", OFF)
@pytest.mark.parametrize(
    ("side", "x"),
    [
        ("a row over its upper side", (3.0, 1.0 + 8)),
        ("a row below its lower side", (0.0, 1 / 3 - 1)),
        ("a variable over its bound", (3.0 + 4, 0.9 - 4)),
        ("a variable below its bound", (0.0 - 4, 3.0)),
    ],
)
def test_what_is_beyond_a_side_or_a_bound_is_seen(deviation, side, x):
    inside = {"a row over its upper side": X, "a row below its lower side": np.array([0.0, 1 / 3])}
    inside |= {
        "a variable over its bound": np.array([3.0, 0.9]),
        "a variable below its bound": np.array([0.0, 3.0]),
    }
    planted = inside[side] + deviation * (np.array(x) - inside[side])
    assert verify(program(), inside[side], None).is_feasible
    proof = verify(program(), planted, None)
    assert not proof.is_feasible and proof.primal_residual > deviation / 8
    assert not verify(program(), planted, DUALS).is_optimal


@pytest.mark.parametrize("deviation", OFF)
def test_a_feasible_point_that_is_not_optimal_has_a_gap(deviation):
    proof = verify(program(), np.array([3.0, 1.0 - deviation]), DUALS)
    assert proof.is_feasible and not proof.is_optimal
    assert (
        proof.gap == pytest.approx(2 * deviation / 11, rel=0.3)
        and proof.complementarity > deviation / 8
    )


@pytest.mark.parametrize("deviation", OFF)
@pytest.mark.parametrize(("row", "sign"), [(0, -1.0), (1, 1.0)])
def test_a_dual_of_the_wrong_sign_is_seen(deviation, row, sign):
    """In a maximum, a row's upper side has a price >= 0 and its lower side one <= 0; the other side is not there."""
    for p, x, factor in ((program(), X, 1.0), (*mirrored()[:2], -1.0)):
        duals = np.zeros(2)
        duals[row] = sign * deviation * factor
        proof = verify(p, x, duals)
        assert proof.dual_residual > deviation / 16 and not proof.is_optimal


@pytest.mark.parametrize("deviation", OFF)
def test_a_reduced_cost_without_a_bound_is_seen(deviation):
    """y is free, so that its reduced cost must be 0: 2 less what the row charges."""
    for change in (deviation, -deviation):
        proof = verify(program(), X, DUALS + np.array([change, 0.0]))
        assert proof.dual_residual > deviation / 16 and not proof.is_optimal


def test_a_reduced_cost_belongs_to_the_bound_on_its_side():
    """x stays below its upper bound though it pays: the gap is what that costs."""
    proof = verify(program(), np.array([1.0, 3.0]), DUALS)
    assert proof.is_feasible and proof.dual_residual == 0 and proof.gap == pytest.approx(2 / 11)


@pytest.mark.parametrize("deviation", [10 * VERIFIED, 0.01, 0.5])
def test_a_fraction_of_an_integer_variable_is_seen(deviation):
    whole = program(integrality=np.array([1, 0], dtype=np.uint8))
    assert verify(whole, X, None).is_feasible
    proof = verify(whole, np.array([3.0 - deviation, 1.0]), None)
    assert (
        proof.integrality_residual == pytest.approx(deviation)
        and proof.primal_residual == 0
        and not proof.is_feasible
    )


def labelled():
    """The planted program, with names for its rows and columns."""
    cities = (("i", pd.Index(["Oslo", "Rome"])),)
    return program(
        rows=(Block("supply", (), 0, 1), Block("demand", (), 1, 2)),
        columns=(Block("flow", cities, 0, 2),),
    )


@pytest.mark.parametrize(
    ("x", "text"),
    [
        ([3.0, 1.5], "row 'supply' is violated by 0.5"),
        ([3.0, -1.0], "row 'demand' is violated by 1"),
        ([-0.25, 1.0], "a bound of variable 'flow[Oslo]' is violated by 0.25"),
    ],
)
def test_a_certificate_names_the_row_or_variable_that_is_violated_most(x, text):
    certificate = verify(labelled(), np.array(x), DUALS)
    assert certificate.violation == text
    assert f"primal residual {certificate.primal_residual:.1e} ({text}), dual" in str(certificate)
    assert verify(labelled(), X, DUALS).violation == ""


@pytest.mark.parametrize(
    ("duals", "text"),
    [
        (
            DUALS + np.array([0.5, 0.0]),
            "the reduced cost of variable 'flow[Rome]' has the wrong sign",
        ),
        ([2.0, 9.0], "the dual of row 'demand' has the wrong sign"),
    ],
)
def test_a_certificate_names_the_price_whose_sign_is_wrong(duals, text):
    certificate = verify(labelled(), X, np.array(duals))
    assert certificate.price_error == text
    assert f"dual residual {certificate.dual_residual:.1e} ({text}), gap" in str(certificate)
    assert verify(labelled(), X, DUALS).price_error == ""


def test_without_duals_nothing_is_optimal():
    proof = verify(program(), X, None)
    assert (
        proof.is_feasible
        and not proof.is_optimal
        and proof.gap is None
        and proof.dual_residual is None
    )


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_residuals_do_not_depend_on_the_units_of_rows_columns_and_objective(scale):
    """Rows in other units (times scale), columns in others (over scale), money in others."""
    p = program()
    rows, columns = np.array([scale, 1.0]), np.array([1.0, 1 / scale])
    A = sp.csc_array(p.A.toarray() * rows[:, None] * columns)
    instance = p.replace(
        A=A,
        c=p.c * columns * 7,
        row_lower=p.row_lower * rows,
        row_upper=p.row_upper * rows,
        col_upper=p.col_upper / columns,
    )
    for x, duals in (
        (X, DUALS),
        (X + np.array([0, 1e-3]), DUALS),
        (X, DUALS + np.array([1e-3, 0])),
        (X, DUALS * [1, 0] - [0, 1e-3]),
    ):
        first = dataclasses.astuple(verify(p, x, duals))[:7]
        second = dataclasses.astuple(verify(instance, x / columns, 7 * duals / rows))[:7]
        assert second == pytest.approx(first, rel=1e-6, abs=1e-12)


def test_multipliers_prove_infeasibility_only_if_they_do():
    impossible = program(
        row_lower=np.array([-INF, 20.0]), col_lower=np.array([0.0, 0.0])
    )  # x + 3y >= 20, x + y <= 4
    assert proves_infeasible(impossible, np.array([-3.0, 1.0]))
    for multipliers in ([0.0, 0.0], [3.0, -1.0], [-3.0, -1.0], [-1.0, 1.0], [0.0, 1.0]):
        assert not proves_infeasible(impossible, np.array(multipliers)), multipliers
    assert not proves_infeasible(program(), np.array([-3.0, 1.0]))
    # 12 = 3·4 is what the rows can give: at 12 a point is left, a little above none
    edge = program(row_lower=np.array([-INF, 12.0]), col_lower=np.array([0.0, 0.0]))
    assert not proves_infeasible(edge, np.array([-3.0, 1.0]))
    assert proves_infeasible(
        edge.replace(row_lower=np.array([-INF, 12.001])), np.array([-3.0, 1.0])
    )


def endless(cost):
    """max 1e9·x + cost·y: x <= 1, y − z <= 1."""
    return program(
        c=np.array([1e9, cost, 0.0]),
        A=sp.csc_array(np.array([[0.0, 1.0, -1.0]])),
        row_lower=np.array([-INF]),
        row_upper=np.array([1.0]),
        col_lower=np.zeros(3),
        col_upper=np.array([1.0, INF, INF]),
        integrality=np.zeros(3, dtype=np.uint8),
        rows=(Block("row", (), 0, 1),),
        columns=(Block("column", (), 0, 3),),
    )


@pytest.mark.parametrize("cost", [1.0, 1e-6, 1e-8])
def test_a_reduced_cost_of_a_column_without_end_counts_beside_costs_of_any_size(cost):
    """Relative to its own terms, or in the unit of the costs, which is 1 here."""
    p, x = endless(cost), np.array([1.0, 0.0, 0.0])
    certificate = verify(p, x, np.zeros(1))
    assert not certificate.is_optimal
    assert certificate.dual_residual == pytest.approx(min(1.0, cost * VERIFIED / FEASIBILITY))
    assert verify(endless(1e-10), x, np.zeros(1)).is_optimal  # as good as no cost
    # where rows bound the column, by what it is worth there
    z_has_an_end = p.replace(col_upper=np.array([1.0, INF, 1.0]))
    assert verify(z_has_an_end, x, np.zeros(1)).is_optimal
    assert verify(p.replace(c=np.array([1e9, 0.0, 0.0])), x, np.zeros(1)).is_optimal


def test_a_column_in_no_row_can_be_unbounded():
    p = program(
        A=sp.csc_array((2, 2)),
        row_lower=np.full(2, -INF),
        row_upper=np.full(2, INF),
        col_upper=np.full(2, INF),
    )
    assert not verify(p, np.zeros(2), np.zeros(2)).is_optimal


def test_a_dual_of_the_wrong_sign_proves_nothing_even_on_a_row_of_zeros():
    """max z: y − z <= 0, y <= 0: with a dual of −1 on the row, all reduced costs have their signs."""
    p = endless(0.0).replace(
        c=np.array([0.0, 0.0, 1.0]), row_upper=np.zeros(1), col_upper=np.array([1.0, 0.0, INF])
    )
    assert not verify(p, np.zeros(3), -np.ones(1)).is_optimal


def test_duals_that_cancel_do_not_hide_a_gap():
    twice = program(
        A=sp.csc_array(np.ones((2, 2))),
        row_lower=np.full(2, 4.0),
        row_upper=np.full(2, 4.0),
        c=np.ones(2),
    )
    assert verify(twice, X, np.array([1e8, 1 - 1e8])).is_optimal
    proof = verify(twice, X, np.array([1e8, 2 - 1e8]))
    assert not proof.is_optimal and proof.gap > 0.1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_is_neither_feasible_nor_optimal(value):
    for place in range(2):
        x, duals = X.copy(), DUALS.copy()
        x[place], duals[place] = value, value
        assert (
            not verify(program(), x, DUALS).is_feasible
            and not verify(program(), x, DUALS).is_optimal
        )
        assert (
            verify(program(), X, duals).is_feasible and not verify(program(), X, duals).is_optimal
        )


def test_a_bound_is_missed_by_a_part_of_what_its_rows_are_made_of():
    p = program(row_upper=np.full(2, INF), row_lower=np.zeros(2), col_lower=np.zeros(2))
    assert verify(p, np.array([-4e-33, 1.0]), None).primal_residual < 1e-30
    assert not verify(p, np.array([-1e-3, 1.0]), None).is_feasible


@pytest.mark.parametrize(
    ("direction", "proves"),
    [((0, 1, 1), True), ((0, 1, 0), False), ((1, 0, 0), False), ((0, 0, 1), False)],
)
def test_a_direction_proves_unboundedness_only_if_it_does(direction, proves):
    ray = np.array(direction, dtype=float)
    assert proves_unbounded(endless(1.0), ray) is proves
    assert proves_unbounded(endless(1.0).replace(sense="min", c=-endless(1.0).c), ray) is proves
    assert not proves_unbounded(endless(1.0), np.nan * ray)
    assert not proves_unbounded(endless(1.0), -ray)
    capped = endless(1.0).replace(col_upper=np.array([1.0, INF, 5.0]))
    assert not proves_unbounded(capped, ray)


@pytest.mark.parametrize("noise", [1e-33, 1e-14])
def test_noise_in_a_program_that_has_no_unit_is_noise(noise):
    """min y: y >= x, y >= −x, x = 0: all sides are 0, and an interior point ends beside it."""
    p = program(
        sense="min",
        c=np.array([0.0, 1.0]),
        A=sp.csc_array(np.array([[-1.0, 1.0], [1.0, 1.0], [1.0, 0.0]])),
        row_lower=np.zeros(3),
        row_upper=np.array([INF, INF, 0.0]),
        col_lower=np.array([-INF, 0.0]),
        col_upper=np.full(2, INF),
        rows=(Block("row", (), 0, 3),),
    )
    assert verify(p, np.array([noise, -noise]), np.array([0.5, 0.5, 0.0])).is_optimal
    assert not verify(p, np.array([1e-3, -1e-3]), np.array([0.5, 0.5, 0.0])).is_feasible
    endless = p.replace(c=np.array([0.0, -1.0]))
    assert not verify(endless, np.zeros(2), np.zeros(3)).is_optimal


def test_an_optimum_of_zero_is_known_to_a_solvers_tolerance_of_what_the_objective_could_be():
    small_program = program(
        sense="min", c=np.array([2.0, 2.0]), col_lower=np.zeros(2), row_lower=np.full(2, -INF)
    )
    assert verify(small_program, np.array([1e-11, 0.0]), np.zeros(2)).is_optimal
    assert not verify(small_program, np.array([1e-6, 0.0]), np.zeros(2)).is_optimal
    # a dual of 1e-12 beside costs of 3 is as good as none, one of 1e-6 is not
    instance = small_program.replace(
        c=np.array([3.0, 0.0]), col_lower=np.array([0.0, -INF]), row_lower=np.array([-6.0, -INF])
    )
    assert verify(instance, np.zeros(2), np.array([-1e-12, 0.0])).is_optimal
    assert not verify(instance, np.zeros(2), np.array([-1e-3, 0.0])).is_optimal


def test_what_rows_and_bounds_let_a_column_reach():
    """x + y <= 9 with y in [4, 5]: x is at most 5 by what y needs, and could be 9 by the row alone."""
    p = program(
        A=sp.csc_array(np.array([[1.0, 1.0], [0.0, 0.0]])),
        row_lower=np.full(2, -INF),
        row_upper=np.array([9.0, INF]),
        col_lower=np.array([0.0, 4.0]),
        col_upper=np.array([INF, 5.0]),
    )
    assert sizes.implied_reach(p).tolist() == [5.0, 5.0]
    assert sizes.reach_of(p).tolist() == [
        9.0,
        5.0,
    ]  # the smaller of row and bounds, where there are both
    no_row = p.replace(row_upper=np.full(2, INF))
    assert sizes.implied_reach(no_row).tolist() == [INF, 5.0]
    assert sizes.reach_of(no_row).tolist() == [0.0, 5.0]
    negative = p.replace(
        row_lower=np.array([-7.0, -INF]), row_upper=np.full(2, INF), col_lower=np.array([-INF, 4.0])
    )
    assert sizes.implied_reach(negative).tolist() == [INF, 5.0]
    assert sizes.reach_of(negative).tolist() == [7.0, 5.0]


@pytest.mark.parametrize("row", [(0.0, 0.0), (1.0, 0.0)])
def test_noise_in_a_column_that_nothing_gives_a_size_is_noise_beside_others_of_any_size(row):
    """x >= 0 is in no row, or in x − z <= 0 alone; y is bounded."""
    p = program(
        c=np.array([1.0, 1.0, 0.0]),
        sense="min",
        A=sp.csc_array(np.array([[row[0], 0.0, -row[0]]])),
        row_lower=np.array([-INF]),
        row_upper=np.zeros(1),
        col_lower=np.zeros(3),
        col_upper=np.array([INF, 1e9, INF]),
        integrality=np.zeros(3, dtype=np.uint8),
        rows=(Block("row", (), 0, 1),),
        columns=(Block("column", (), 0, 3),),
    )
    assert verify(p, np.array([-4e-33, 0.0, 0.0]), np.zeros(1)).is_optimal
    assert not verify(p, np.array([-1e-3, 0.0, 0.0]), None).is_feasible


def test_what_is_left_at_the_integers_has_the_room_that_they_leave():
    model = fairlp.Model("m")
    x, y = model.variable("x", integer=True), model.variable("y")
    model.constraint("both", 2 * x + y <= 9)
    model.constraint("least", x + y >= 5)
    model.maximize(y)
    remainder = at_integers(model.compile(), np.array([3.0000001, 0.0]))
    assert remainder.row_upper[0] == pytest.approx(3, rel=1e-12) and remainder.row_lower[
        1
    ] == pytest.approx(2, rel=1e-12)
    assert (remainder.A.toarray() == [[0, 1], [0, 1]]).all() and remainder.col_lower[
        0
    ] == remainder.col_upper[0] == 3


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_of_duals_has_its_own_rounding_taken_off(seed):
    """Beside rationals: the bound is never on the wrong side of the optimum by so much as the last digit."""
    rng = np.random.default_rng(seed)
    n = 200
    low, cost = rng.lognormal(0, 3, (2, n))
    columns = np.column_stack([low, np.full(n, INF)])
    p = plain_programs.program(np.ones((1, n)), [(0, INF)], columns, cost, "min")
    optimum = sum(Fraction(c) * Fraction(x) for c, x in zip(cost, low, strict=True))
    bound = Fraction(dual_bound(p, np.zeros(1)))
    assert optimum * (1 - Fraction(1, 10**9)) <= bound <= optimum


@pytest.mark.parametrize("seed", range(many(300)))
def test_any_prices_bound_a_small_integer_program(seed):
    """Whatever the prices, no point is better than the bound; whole costs, and zeros among them."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    A = rng.integers(-2, 4, (rows, columns)).astype(float)
    side = rng.integers(0, 7, rows).astype(float)
    sense = str(rng.choice(["min", "max"]))
    costs = rng.integers(-2, 3, columns).astype(float)
    p = program(
        sense=sense,
        c=costs,
        offset=float(rng.integers(-3, 4)),
        A=sp.csc_array(A),
        row_lower=np.where(rng.random(rows) < 0.5, -INF, 0.0),
        row_upper=side,
        col_lower=np.zeros(columns),
        col_upper=np.full(columns, 3.0),
        integrality=np.ones(columns, dtype=np.uint8),
        rows=(Block("row", (), 0, rows),),
        columns=(Block("column", (), 0, columns),),
    )
    points = np.array(list(itertools.product(range(4), repeat=columns)), dtype=float)
    used = points @ A.T
    feasible = points[((used >= p.row_lower) & (used <= p.row_upper)).all(axis=1)]
    values = feasible @ costs + p.offset
    best = values.min() if sense == "min" else values.max()
    for prices in (np.zeros(rows), rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], rows)):
        bound = dual_bound(p, prices)
        assert bound <= best if sense == "min" else bound >= best
