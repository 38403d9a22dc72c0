"""What max-min methods do where something is off: planted points, gaps and notes, and who is out of a domain."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.formulations import normalisers
from fairlp.mechanisms.max_min import methods
from fairlp.mechanisms.max_min.ladder import orders_of_magnitude
from fairlp.mechanisms.max_min.methods import within_capacity
from fairlp.mechanisms.max_min.rounds import closed_form_applies, edrf_closed_form, fill
from fairlp.solvers.leximin.leximin import LeximinResult


def two(**more):
    return fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], **more)


def test_the_closed_form_is_for_positive_demands_without_limits_and_rates_on_one_server():
    assert closed_form_applies(two()) and closed_form_applies(two(weights=[1, 2], counts=[3]))
    assert not closed_form_applies(two(task_limits=[1, np.inf]))
    assert not closed_form_applies(two(rates=[[3.0], [2.0]]))
    assert not closed_form_applies(fairlp.Instance.from_arrays([[1, 4], [3, 0]], [[9, 18]]))
    assert not closed_form_applies(fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18], [9, 18]]))


def test_identical_servers_of_one_row_count():
    due = np.array([13.5, 9.0])
    tasks, levels, _ = edrf_closed_form(two(counts=[3]), due)
    assert levels == pytest.approx(np.full(2, 2 / 3)) and tasks[:, 0] == pytest.approx(levels * due)
    for method in ("rounds", "lp"):
        found = fairlp.allocate(two(counts=[3]), "tsf", method=method)
        assert found.totals.to_numpy() == pytest.approx(tasks[:, 0])


@pytest.mark.parametrize("method", ["rounds", "lp"])
def test_separate_servers_divide_a_limit(method):
    instance = fairlp.Instance.from_arrays([[1.0], [1.0]], [[4.0], [12.0]], task_limits=[4, np.inf])
    found = fairlp.allocate(instance, "naive-drf", method=method)
    assert found.tasks_array == pytest.approx(np.array([[1.0, 3.0], [3.0, 9.0]]))


@pytest.mark.parametrize("over", [1e-12, 1e-9, 0.5])
def test_a_server_over_its_capacity_is_scaled_down_and_no_other(over):
    instance = fairlp.Instance.from_arrays([[1, 1], [1, 2]], [[4, 6], [4, 6]])
    exact = np.array([[2.0, 2.0], [2.0, 2.0]])
    planted = exact * [1.0, 1 + over]
    found = within_capacity(instance, planted)
    assert (found.T @ instance.demands <= instance.capacities * (1 + 2.0**-50)).all()
    assert found[:, 0].tolist() == [2, 2] and found[:, 1] == pytest.approx([2, 2], rel=1e-14)
    assert (within_capacity(instance, exact) == exact).all()
    one = fairlp.Instance.from_arrays([[1, 0.1]], [[4, 6]])  # of which the second resource is plenty
    assert within_capacity(one, np.array([[4 * (1 + over)]])) == pytest.approx(np.array([[4.0]]), rel=1e-15)


def test_whoever_has_all_its_tasks_is_frozen_in_that_round():
    demands, limits = np.array([[1.0, 0], [1.0, 0], [0, 1.0]]), np.array([1.0, np.inf, np.inf])
    levels, history = fill(demands, np.array([4.0, 9.0]), np.ones(3), limits)
    assert levels.tolist() == [1, 3, 9]
    assert [(level, who.tolist()) for level, who in history] == [(3.0, [0, 1]), (9.0, [2])]
    apart, alone = fill(np.eye(2), np.array([4.0, 9.0]), np.ones(2), np.array([np.inf, 2.0]))
    assert apart.tolist() == [4, 2] and [who.tolist() for _, who in alone] == [[0, 1]]


def planted(monkeypatch, instance, mechanism="drf", **changes):
    """An allocation by rounds that end like this."""
    honest, calls = methods.leximin, iter(range(100))

    def changed(*args, **how):
        result: LeximinResult = honest(*args, **how)
        k = next(calls)
        for name, values in changes.items():
            setattr(result, name, values[min(k, len(values) - 1)])
        return result

    monkeypatch.setattr(methods, "leximin", changed)
    return fairlp.allocate(instance, mechanism, method="lp")


def test_floors_that_gave_way_are_in_the_notes(monkeypatch):
    assert not any("rounding decides" in note for note in fairlp.allocate(two(), "drf", method="lp").notes)
    assert any("rounding decides" in note for note in planted(monkeypatch, two(), relaxed=[1e-14]).notes)


def test_levels_without_a_gap_are_not_proved(monkeypatch):
    assert planted(monkeypatch, two(), gap=[None]).unproved.startswith("not proved")


@pytest.mark.parametrize(("gaps", "expected"), [([3e-8, 1e-9], 3e-8), ([1e-9, 3e-8], 3e-8), ([1e-9, None], None)])
def test_the_gap_of_separate_servers_is_the_largest(monkeypatch, gaps, expected):
    instance = fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18], [5, 7]])
    assert planted(monkeypatch, instance, "naive-drf", gap=gaps).gap == expected


@pytest.mark.parametrize(
    ("more", "spread"),
    [
        ({}, 4.0),
        ({"task_limits": [1e-9, 1.0]}, 3e9 / 4 * 4 / 3 * 1.5),
        ({"demands": [[1, 4], [3, 1e-7]]}, 1e7),
        ({"demands": [[1, 1], [1, 0]], "capacities": [[9, 1e-8], [1e-8, 9]]}, 4e8),  # what one could run alone
    ],
)
def test_the_spread_of_numbers_is_seen(more, spread):
    parts = {"demands": [[1, 4], [3, 1]], "capacities": [[9, 18]]} | more
    instance = fairlp.Instance.from_arrays(**parts)
    found = orders_of_magnitude(instance, normalisers.entitled(instance, normalisers.dominant(instance)))
    assert found >= spread / 10 and (not more or found > 1e6)


def test_tasks_below_0_by_a_solvers_tolerance_are_none():
    instance = fairlp.Instance.from_arrays([[1.0], [1.0]], [[1.0], [1.0]])
    result = LeximinResult(np.array([[0.0, 0.5], [1.0, -1e-10]]), np.array([0.5, 0.5]))
    tasks = methods.outcome(instance, result).tasks
    assert tasks.min() == 0 and (tasks.sum(axis=0) <= 1).all()
