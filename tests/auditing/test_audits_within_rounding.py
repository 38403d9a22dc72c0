"""Audits of whole tasks where one more would need next to nothing more than there is."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp


def judged(instance, tasks, wanted="Pareto-optimal"):
    return fairlp.audit(instance, np.array(tasks), [wanted], whole_tasks=True).loc[wanted]


@pytest.mark.parametrize("short", [1e-15, 1e-12, 1e-10])
def test_a_task_that_does_not_fit_is_no_gain(short):
    instance = fairlp.Instance.from_arrays([[3.0], [3.0]], [[12 * (1 - short)], [2.0]])
    assert judged(instance, [[1.0, 0], [2, 0]]).holds
    assert not judged(instance, [[1.0, 0], [1, 0]]).holds
    assert judged(instance, [[1.0, 0], [2, 0]], "non-wasteful").holds
    assert not judged(instance, [[1.0, 0], [1, 0]], "non-wasteful").holds


def test_a_task_that_fits_but_for_the_rounding_of_sums_is_a_gain():
    instance = fairlp.Instance.from_arrays([[0.1], [0.1]], [[0.3]])
    assert (0.3 - 2 * 0.1) / 0.1 < 1
    found = judged(instance, [[1.0], [1.0]], "non-wasteful")
    assert not found.holds and "could run 1 more task" in found.witness
    assert judged(instance, [[2.0], [1.0]], "non-wasteful").holds


def test_nor_is_a_part_of_one_that_a_limit_leaves():
    instance = fairlp.Instance.from_arrays([[1.0], [1.0]], [[4.0]], task_limits=[1 - 1e-12, 2])
    for wanted in ("Pareto-optimal", "non-wasteful"):
        assert judged(instance, [[0.0], [2]], wanted).holds and not judged(instance, [[0.0], [1]], wanted).holds


def test_tasks_that_are_no_multiples_are_held_to_less_than_there_is():
    needs = [[1.2345678912345], [2.3456789123456]]
    full = 2 * needs[0][0] + 3 * needs[1][0]
    for more, gains in ((1e-12, True), (-1e-12, False)):
        instance = fairlp.Instance.from_arrays(needs, [[full * (1 + more)]], task_limits=[2, 3])
        assert judged(instance, [[2.0], [2]]).holds is not gains


def test_where_all_is_used_and_a_gain_would_be_by_rounding_nothing_is_said():
    """The third could run where the first does; that one needs a trillionth more than the other server has."""
    instance = fairlp.Instance.from_arrays(
        [[1 + 1e-12, 1], [1, 0], [0, 1]],
        [[1 + 1e-12, 1], [1, 1]],
        eligible=[[True, True], [True, True], [True, False]],
        task_limits=[1, 1, 1],
    )
    found = judged(instance, [[1.0, 0], [0, 1], [0, 0]])
    assert found.holds is None and found.witness.startswith("whole tasks that would be a gain need more than there is")
