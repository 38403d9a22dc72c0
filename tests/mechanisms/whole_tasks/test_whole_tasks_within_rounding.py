"""Whole tasks where a task more would need next to nothing more than there is, and a solver's tolerance allows it."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp

BY_WORD = "optimal by the word of highs only: no duals prove it"


def one(demands, capacity, **more):
    return fairlp.Instance.from_arrays(demands, [capacity], **more)


@pytest.mark.parametrize("short", [1e-15, 1e-12, 1e-10])
def test_integer_programs_hold_tasks_to_multiples_of_what_demands_are(short):
    found = fairlp.allocate(one([[3.0], [3.0]], [12 * (1 - short)]), "drf-milp")
    assert sorted(found.totals) == [1, 2] and found.unproved == BY_WORD


def test_what_no_multiple_tells_is_said_not_to_be_proved():
    """Two tasks and three use all of it but for what the last digits lack."""
    needs = [[1.2345678912345], [2.3456789123456]]
    capacity = 2 * needs[0][0] + 3 * needs[1][0]
    most = fairlp.allocate(one(needs, [capacity * (1 + 1e-12)], task_limits=[2, 3]), "drf-milp")
    assert most.unproved == BY_WORD
    found = fairlp.allocate(one(needs, [capacity * (1 - 1e-12)], task_limits=[2, 3]), "drf-milp")
    assert found.totals.tolist() == [2, 2]
    assert found.unproved.startswith("not proved: whole tasks that leave less than 1e-09 of a resource free")
    assert found.unproved in found.notes or found.unproved in str(found)


def test_a_resource_that_nobody_needs_is_left_as_it_is():
    found = fairlp.allocate(one([[3.0, 0], [3.0, 0]], [12 * (1 - 1e-12), 5.0]), "drf-milp")
    assert np.isclose(found.totals.sum(), 3)


def test_a_level_that_fits_and_that_the_solver_missed_is_no_disagreement():
    """HiGHS, at its tightest tolerance, called one task each optimal here."""
    nearly = one([[2.0], [2.9999999997]], [7.000000000007009], weights=[0.9999999999999998] * 2)
    assert fairlp.allocate(nearly, "drf-discrete").totals.tolist() == [2, 1]
    assert fairlp.validate(nearly, "drf-discrete").agrees.all()
