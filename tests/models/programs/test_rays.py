"""Proofs that a program has no optimum, and what is none, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairlp
from fairlp.models.programs.rays import farkas, proves_infeasible, proves_unbounded
from plain_programs import INF, program

POS, FREE = (0, INF), (-INF, INF)
#: x + y ≤ 1 and x − 2·y ≥ 3 of numbers from 0 on: twice the first less the second is 3·x ≤ −1.
EMPTY = program([[1, 1], [1, -2]], [(-INF, 1), (3, INF)], [POS, POS])
#: Endless along (1, 1), which row and bound allow.
ENDLESS = program([[1, -1], [1, 0]], [(-2, 2), (0, INF)], [POS, (-5, INF)], c=[2, -1])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_multipliers_prove_that_rows_cannot_hold_whatever_their_scale(scale):
    multipliers = scale * np.array([-2.0, 1.0])
    assert proves_infeasible(EMPTY, multipliers)
    assert not proves_infeasible(EMPTY, -multipliers)
    # the first row alone, and both alike, say nothing
    assert not proves_infeasible(EMPTY, scale * np.array([-1.0, 0.0]))
    assert not proves_infeasible(EMPTY, scale * np.array([-1.0, 3.0]))
    assert not proves_infeasible(EMPTY, np.zeros(2))


def test_bounds_take_part_in_the_proof():
    bounded = program([[1, -1]], [(4, INF)], [(0, 2), (-1, INF)])
    assert proves_infeasible(bounded, np.array([0.5]))
    assert not proves_infeasible(replace(bounded, col_upper=np.array([3.0, INF])), np.array([0.5]))
    assert not proves_infeasible(replace(bounded, col_upper=np.array([INF, INF])), np.array([0.5]))
    assert not proves_infeasible(replace(bounded, col_lower=np.array([0.0, -INF])), np.array([0.5]))


def test_multipliers_of_a_side_that_is_not_there_and_rounding_count_as_nothing():
    y, price = farkas(EMPTY, [2.0, 1.0])
    assert y.tolist() == [0, 1] and price.tolist() == [1, -2]
    parallel_rows = program([[1, 1], [1, 1 + 1e-13]], [(0, 1), (0, 1)], [FREE, FREE])
    y, price = farkas(parallel_rows, [1.0, -1.0])
    assert y.tolist() == [1, -1] and price.tolist() == [0, 0]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_direction_proves_that_the_objective_has_no_end(scale):
    assert proves_unbounded(ENDLESS, scale * np.array([1.0, 1.0]))
    assert not proves_unbounded(ENDLESS, scale * np.array([-1.0, -1.0]))
    assert not proves_unbounded(replace(ENDLESS, sense="min"), scale * np.array([1.0, 1.0]))
    assert not proves_unbounded(replace(ENDLESS, c=np.array([1.0, -1.0])), np.array([1.0, 1.0]))


@pytest.mark.parametrize(
    "change",
    [
        {"row_upper": np.array([2.0, 7.0])},
        {"col_upper": np.array([9.0, INF])},
        {"col_upper": np.array([INF, 9.0])},
    ],
    ids=["row", "first bound", "second bound"],
)
def test_a_direction_that_a_row_or_bound_ends_proves_nothing(change):
    assert not proves_unbounded(replace(ENDLESS, **change), np.array([1.0, 1.0]))


def test_a_row_is_left_by_a_direction_along_its_slope_only():
    assert not proves_unbounded(ENDLESS, np.array([1.0, 0.5]))
    assert not proves_unbounded(ENDLESS, np.array([1.0, 1.5]))


def test_directions_that_are_no_numbers_and_concave_objectives_prove_nothing():
    assert not proves_unbounded(ENDLESS, np.array([np.nan, 1.0]))
    assert not proves_unbounded(ENDLESS, np.array([INF, INF]))
    logarithm = fairlp.formulate(fairlp.examples.ghodsi(), "ceei").compile()
    assert not proves_unbounded(logarithm, np.ones(logarithm.n_columns))
