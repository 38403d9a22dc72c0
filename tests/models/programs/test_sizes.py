"""What numbers of a program are relative to, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp.models.programs.sizes import (
    NEAR_ZERO,
    Sizes,
    implied_reach,
    integer_objective_size,
    largest_of,
    reach_of,
    sign_errors,
    smallest_of,
    tightest,
    units,
)
from fairlp.tolerances import FEASIBILITY, MILP_TOLERANCES, NEGLIGIBLE
from plain_programs import INF, program

POS = (0, INF)


def test_rows_count_relative_to_their_terms_and_sides():
    case = program([[2, -3], [1, 0]], [(-INF, 4), (1, 9)], [POS, POS], c=[5, -1])
    sizes = Sizes(case, np.array([1.0, 2.0]))
    assert sizes.activity.tolist() == [-4, 1]
    assert sizes.rows.tolist() == [8, 9]
    assert sizes.costs.tolist() == [5, 1] and sizes.objective == 7


def test_the_reach_of_a_column_is_its_tightest_row_or_its_bound_if_that_is_less():
    case = program(
        [[2, 4, 0, 0], [1, 0, 1, 0], [0, 0, -1, 0]],
        [(-INF, 8), (-INF, 3), (-6, INF)],
        [POS, (0, 1), POS, POS],
    )
    assert reach_of(case).tolist() == [3, 1, 3, 1]


def test_columns_that_may_be_below_zero_reach_both_sides_of_their_rows():
    case = program([[1, 1]], [(-5, 2)], [(-INF, INF), POS])
    assert reach_of(case).tolist() == [5, 2]


def test_a_column_among_numbers_without_size_has_the_reach_1():
    """The second has a neighbour of size, whose row says nothing of it."""
    case = program([[1, -1, 0], [0, 0, 1]], [(-INF, 0), (-INF, 0)], [(0, 7), POS, POS])
    assert reach_of(case).tolist() == [7, 0, 1]


def test_tightest_is_the_smallest_quotient_of_a_finite_side():
    A = program([[2, 0, 5], [4, 0, 0]], [POS] * 2, [POS] * 3).A
    assert tightest(A, np.array([6.0, -4.0, INF])).tolist() == [1, 0, 0]
    assert tightest(A, np.array([0.0, -4.0, 10.0])).tolist() == [1, 0, 2]


@pytest.mark.parametrize("sign", [1, -1])
def test_rows_bound_what_bounds_of_others_allow(sign):
    """x + y ≤ 3 and y ≥ 1, then z ≤ 2·x: 2, 3 and 4. Nothing bounds the last."""
    case = program(
        [[sign, sign, 0, 0], [-2 * sign, 0, sign, 0]],
        [(-INF, 3), (-INF, 0)] if sign > 0 else [(-3, INF), (0, INF)],
        [POS, (1, INF), POS, POS],
    )
    assert implied_reach(case).tolist() == [2, 3, 4, INF]


def test_columns_below_zero_are_bounded_by_their_rows_as_well():
    """x ≤ 3 and x + y = 2: y ≥ −1; −4 ≤ x − y: x ≥ −5 and y ≤ 7."""
    case = program([[1, 1], [1, -1]], [(2, 2), (-4, 6)], [(-INF, 3), (-INF, INF)])
    assert implied_reach(case).tolist() == [5, 7]


def test_integers_count_as_the_whole_numbers_that_they_stand_for():
    """x ≤ 1000·b with b = 1e-7: the row that b = 0 leaves is x ≤ 0, of size 0."""
    case = program(
        [[1, -1000], [0, 1]],
        [(-INF, 0), (-INF, 1)],
        [POS, (0, 1)],
        integrality=np.array([0, 1], dtype=np.uint8),
    )
    rows, columns = next(Sizes(case, np.array([1e-4, 1e-7])).sizes_of_rows_and_columns())
    assert rows.tolist() == [1e-4, 1.0] and columns.tolist() == [1e-4, 0]
    assert Sizes(case, np.array([1e-4, 1e-7])).at_integers[1].tolist() == [1e-4, 0]
    opened = next(Sizes(case, np.array([900.0, 1.0])).sizes_of_rows_and_columns())[0]
    assert opened.tolist() == [900, 1]


def test_what_could_be_is_a_small_part_of_the_largest_terms():
    case = program([[3, 1]], [(-INF, 6)], [POS, POS], c=[1, 1])
    first, second = Sizes(case, np.zeros(2)).sizes_of_rows_and_columns()
    assert first[0].tolist() == [6] and first[1].tolist() == [0, 0]
    assert second[0].tolist() == [6] and second[1].tolist() == [2, 6]
    low, high = Sizes(case, np.zeros(2)).sizes_of_objective(0.0)
    assert low == 0 and high == NEAR_ZERO * (2 + 6)
    assert [*Sizes(case, np.array([1.0, 0])).sizes_of_objective(-3.0)] == [3, 3]
    first, second = Sizes(case, np.zeros(2)).sizes_of_reduced_costs(np.array([0.0, 4.0]))
    assert first.tolist() == [1, 4]
    assert second.tolist() == pytest.approx([NEAR_ZERO * 3 * (1 / 3), 4])


def test_a_row_of_nothing_has_the_size_of_its_negligible_terms():
    case = program([[1.0, -1.0]], [(0, 0)], [(0, 5), (0, 7)])
    _, (rows, columns) = Sizes(case, np.zeros(2)).sizes_of_rows_and_columns()
    assert rows.tolist() == [NEGLIGIBLE * 12] and columns.tolist() == [5, 7]


def test_units_are_the_values_nearest_to_1():
    sizes, line = np.array([1e-3, 1e3, 5.0, 9.0, 0.1, 0.0]), np.array([0, 0, 1, 1, 2, 2])
    assert units(sizes, line, 4).tolist() == [1, 5, 0.1, 1]
    assert largest_of(sizes, line, 4).tolist() == [1e3, 9, 0.1, 0]
    assert smallest_of(sizes, line, 4).tolist() == [1e-3, 5, 0.1, INF]


def test_an_integer_objective_is_known_to_the_tolerance_of_its_unit():
    case = program([[1, 1]], [(-INF, 1)], [POS, POS], c=[4, -20])
    assert integer_objective_size(case, np.array([1.0, 2.0])) == 44
    unit = 4 * FEASIBILITY / MILP_TOLERANCES[-1]
    assert integer_objective_size(case, np.zeros(2)) == pytest.approx(unit, rel=1e-12)


def test_prices_need_the_bound_of_their_sign():
    price = np.array([2.0, -3.0, 2.0, -3.0, 2.0, -3.0])
    lower = np.array([-INF, -INF, 0.0, 0.0, -INF, 0.0])
    upper = np.array([INF, INF, INF, INF, 1.0, 1.0])
    assert sign_errors(price, lower, upper).tolist() == [2, 3, 0, 3, 2, 0]
