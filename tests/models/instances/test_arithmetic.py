"""Exact numbers that follow from an instance, beside fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

import fairlp
from fairlp.errors import InstanceError, TooLargeError
from fairlp.models.instances.arithmetic import (
    LARGEST_WHOLE,
    MAX_EXPONENT,
    effort,
    exact_room,
    integers,
    is_extreme,
    product,
    quotient,
    quotients,
    relative,
    require_countable,
    same_quotient,
    tasks_alone,
    usable,
    whole,
    whole_table,
    whole_tasks_alone,
)


def test_parts_of_nothing_are_nothing_or_the_amount_itself():
    assert quotients(np.array([6.0, 1.0]), np.array([3.0, 0.0])).tolist() == [2, 0]
    assert quotients(1.0, np.array([[4.0], [0.0]])).tolist() == [[0.25], [0]]
    assert relative(np.array([6.0, 5.0]), np.array([3.0, 0.0])).tolist() == [2, 5]


def test_tasks_alone_are_those_of_the_scarcest_resource_that_a_task_needs():
    demands = np.array([[1.0, 4.0], [0.0, 2.0], [0.0, 0.0], [1e-300, 1.0]])
    capacities = np.array([[8.0, 8.0], [0.0, 6.0]])
    assert tasks_alone(demands, capacities).tolist() == [[2, 0], [4, 3], [np.inf] * 2, [8, 0]]
    tiny, huge = np.array([[1e-300]]), np.array([[1e300]])
    assert tasks_alone(tiny, huge).tolist() == [[np.inf]]


def test_effort_is_what_a_task_takes_at_its_rate():
    plain = fairlp.Instance.from_arrays([[2]], [[8], [4]])
    assert effort(plain) is None
    rated = plain.replace(rates=[[2.0, 0.0]])
    assert effort(rated).tolist() == [[2, 0]]
    assert effort(rated, slice(1, 2)).tolist() == [[0]]


@given(
    st.lists(st.decimals(-999, 999, places=3, allow_nan=False), min_size=1, max_size=6),
    st.integers(-12, 12),
)
def test_whole_numbers_are_the_decimals_in_one_scale(decimals, power):
    values = [Fraction(number) * Fraction(10) ** power for number in decimals]
    numbers = whole(np.array([float(value) for value in values]))
    exact = [Fraction(int(number)) for number in numbers.tolist()]
    first = next((k for k, value in enumerate(values) if value), None)
    if first is None:
        assert not any(exact)
        return
    assert [number / exact[first] for number in exact] == [
        value / values[first] for value in values
    ]
    is_small = all(abs(number) < LARGEST_WHOLE for number in exact)
    assert numbers.dtype == object or is_small


def test_whole_numbers_are_floats_as_long_as_floats_count_them():
    assert whole(np.array([LARGEST_WHOLE - 1.0])).dtype == float
    beyond = whole(np.array([float(LARGEST_WHOLE), 1.0]))
    assert beyond.dtype == object and beyond[0] == LARGEST_WHOLE * beyond[1]
    assert whole(np.array([[0.5, 1e20]])).tolist() == [[5, 10**21]]
    assert whole(np.array([-1e30, 3e29])).tolist() == [-10, 3]
    assert whole(np.zeros(0)).tolist() == []


def test_numbers_that_lie_too_far_apart_are_refused():
    assert whole(np.array([1e-120, 1e120])).tolist() == [1, 10**240]
    with pytest.raises(InstanceError, match=r"numbers from 1e-130 to 1e\+130 lie too far apart"):
        whole(np.array([1e-130, 0.0, 1e130]))


@pytest.mark.parametrize("large", [1.0, 2.0**30])
def test_products_and_equal_quotients_are_exact_beyond_floats(large):
    first = np.array([3.0, 5.0, 0.0]) * large + np.array([1.0, 0.0, 0.0])
    second = np.array([7.0, 1.0, 9.0]) * large + np.array([0.0, 1.0, 0.0])
    expected = [int(a) * int(b) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    assert [int(number) for number in product(first, second).tolist()] == expected
    assert product(first[:0], second[:0]).tolist() == []
    assert same_quotient(first, second, 2 * first, 2 * second).tolist() == [True] * 3
    assert same_quotient(first, second, 2 * first + 1, 2 * second).tolist() == [False] * 3
    assert same_quotient(first, second, first, second + 1).tolist() == [False, False, True]
    assert same_quotient(first[:0], second[:0], first[:0], second[:0]).tolist() == []


def test_quotients_of_integers_are_rounded_once():
    top, bottom = 10**30 + 1, 3 * 10**20
    as_objects = (np.array([top], dtype=object), np.array([bottom], dtype=object))
    assert quotient(*as_objects).tolist() == [top / bottom]
    assert quotient(as_objects[0], np.array([4.0])).tolist() == [top / 4]
    assert quotient(np.array([1.0]), np.array([3.0])).tolist() == [1 / 3]


def test_integers_are_those_of_python():
    numbers = integers(np.array([2.0, 3.0]))
    assert numbers.tolist() == [2, 3] and numbers.dtype == object
    assert integers(numbers) is numbers


def test_whole_tasks_alone_are_counted_in_decimals():
    demands = np.array([[0.1, 0.0], [0.3, 0.7], [0.0, 0.0], [0.1, 0.2]])
    assert whole_tasks_alone(demands, np.array([10.6, 2.1])).tolist() == [106, 3, np.inf, 10]
    assert whole_tasks_alone(np.array([[1 / 3]]), np.array([1.0])).tolist() == [3]
    assert whole_tasks_alone(np.array([[2.0]]), np.array([3.0])).tolist() == [1]


def test_a_table_of_whole_numbers_has_one_scale_for_each_resource():
    demands, capacities = whole_table(np.array([[0.5, 2.0], [1.0, 3.0]]), np.array([[2.25, 7.0]]))
    assert demands.tolist() == [[50, 2], [100, 3]] and capacities.tolist() == [[225, 7]]
    large, room = whole_table(np.array([[1e20, 1.0]]), np.array([[1.5, 2.0]]))
    assert large.tolist() == [[10**21, 1]] and room.tolist() == [[15, 2]]


def test_what_no_whole_task_can_use_is_left_out():
    demands = np.array([[4.0, 0.0, 3.0], [6.0, 0.0, 5.0]])
    amounts = np.array([[9.0, 5.0, 7.0], [0.0, 5.0, 0.0]])
    assert usable(demands, amounts).tolist() == [[8 / 9, 1, 1], [1, 1, 1]]


def test_exact_room_is_what_all_servers_of_a_row_have_beside_the_tasks():
    need, room = exact_room(
        np.array([[0.1, 1.0], [0.2, 0.0]]),
        np.array([[0.3, 2.0], [0.5, 1.0]]),
        np.array([2, 1]),
        np.array([[1.0, 0.0], [2.0, 3.0]]),
    )
    assert need.tolist() == [[1, 1], [2, 0]]
    assert room.tolist() == [[6 - 5, 4 - 1], [5 - 6, 1]]


def test_numbers_are_extreme_beyond_the_exponents_whose_products_are_floats():
    largest = 2.0 ** (MAX_EXPONENT - 1)
    assert not is_extreme(fairlp.Instance.from_arrays([[1]], [[largest]]))
    assert is_extreme(fairlp.Instance.from_arrays([[1]], [[4 * largest]]))
    assert is_extreme(fairlp.Instance.from_arrays([[1 / largest / 8]], [[1]]))


def test_more_whole_tasks_than_floats_count_are_refused_unless_they_are_limited():
    large_pool = fairlp.Instance.from_arrays([[1], [2]], [[float(LARGEST_WHOLE)]], users=["a", "b"])
    with pytest.raises(TooLargeError, match=r"user 'a' has 9\.01e\+15 whole tasks alone"):
        require_countable(large_pool)
    require_countable(large_pool.replace(task_limits=[5, np.inf]))
    require_countable(fairlp.Instance.from_arrays([[1]], [[LARGEST_WHOLE - 2.0]]))
