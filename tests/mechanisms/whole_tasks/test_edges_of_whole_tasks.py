"""Whole tasks where a shortcut fails or nothing can run: the answer is that of the plain procedure."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.mechanisms.whole_tasks import filling, on_tree, placement, precomputed
from fairlp.mechanisms.whole_tasks.filling import Pool


def many(**more):
    """So many tasks that the filling jumps."""
    return Instance.from_arrays([[1.0, 4.0], [3.0, 1.0], [2.0, 3.0]], [[90000.0, 70000.0]], **more)


def filled(instance):
    return filling.Filling(Pool.of(instance)).run().tolist()


def test_a_bracket_that_is_too_wide_ends_where_all_fits(monkeypatch):
    limited = many(task_limits=[1000.0, 2000.0, 1500.0])
    monkeypatch.setattr(filling.Filling, "_bracket", lambda self, *given: (given[-1], 1e9))
    assert filled(limited) == [1000, 2000, 1500]


@pytest.mark.parametrize("end", [0, 1])
def test_a_probe_that_finds_no_level_in_between_leaves_the_rest_to_the_picks(monkeypatch, end):
    small = Instance.from_arrays([[1.0, 4.0], [3.0, 1.0], [2.0, 3.0]], [[900.0, 700.0]])
    wanted = filled(small)
    monkeypatch.setattr(filling, "WINDOW", 1)
    monkeypatch.setattr(filling, "_between", lambda *given: given[end])
    assert filled(small) == wanted


def test_a_bulk_that_does_not_fit_after_all_is_not_given(monkeypatch):
    tree = many(queue=["a", "a", "b"]).derived(capacities=np.array([[90.0, 70.0]]))
    wanted = on_tree.loop(tree)
    asked = []
    monkeypatch.setattr(on_tree.Room, "all_fit", lambda self, more: asked.append(more))
    assert on_tree.fast(tree).tolist() == wanted.tolist() and asked


def test_shares_without_a_short_common_unit_are_fractions(monkeypatch):
    pool = Pool.of(many())
    whole = placement.comparable(pool)
    monkeypatch.setattr(placement, "_LONGEST_DENOMINATOR", 1)
    parts = placement.comparable(pool)
    assert all(isinstance(part, Fraction) for part in parts)
    assert [part / parts[0] for part in parts] == [Fraction(share, whole[0]) for share in whole]


def nobody():
    """One user, whose task is larger than the server."""
    return Pool.of(Instance.from_arrays([[5.0]], [[4.0]]))


def test_where_nobody_can_run_a_task_nothing_is_computed():
    assert precomputed.divisible(nobody()).tolist() == [0]
    counts, end = precomputed.cycle(nobody())
    assert counts.tolist() == [0] and end == 0
    level = precomputed.FluidLevel(nobody(), nobody().capacity)
    assert level.multiples(np.array([1.0, 2.0]), np.ones(2)).tolist() == [np.inf, np.inf]


def test_a_resource_of_which_there_is_nothing_counts_for_no_share():
    instance = Instance.from_arrays([[1.0, 0.0], [2.0, 0.0]], [[12.0, 9.0]])
    instance = instance.derived(capacities=np.array([[12.0, 0.0]]))
    assert fairlp.allocate(instance, "drf-discrete").totals.tolist() == [6, 3]
    assert fairlp.allocate(instance, "pdrf").totals.tolist() == [6, 3]
