"""Figures of how an allocation comes about: their curves against the definition, task by task and round by round."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairlp
from fairlp import Instance, plots
from fairlp.errors import InstanceError
from figure_checks import legend

pytest.importorskip("matplotlib")

#: One pool of 9 CPUs and 12 GB; ann and bob have task limits.
LIMITED = Instance.from_arrays(
    [[1, 1], [1, 2], [0, 1]], [[9, 12]], users=["ann", "bob", "cat"], task_limits=[1, 2, 99]
)


def filled_by_hand(demands, pool):
    """Return the dominant shares after each task: the smallest share is served, ties go to the larger task."""
    per_task = [
        max(Fraction(int(need), int(room)) for need, room in zip(demand, pool, strict=True))
        for demand in demands
    ]
    tasks = np.zeros(len(demands), dtype=int)
    shares = [tasks * per_task]
    while True:
        user = min(range(len(demands)), key=lambda n: (shares[-1][n], -per_task[n]))
        if (tasks @ demands + demands[user] > pool).any():
            return np.array(shares, dtype=float), user
        tasks[user] += 1
        shares.append(tasks * per_task)


@pytest.mark.parametrize("traced", [False, True], ids=["instance", "allocation"])
def test_a_filling_is_drawn_task_by_task_until_one_no_longer_fits(traced):
    instance = Instance.from_arrays(
        [[1, 4], [3, 1], [2, 3]], [[29, 41]], users=["ann", "$b", "cat"]
    )
    filled = fairlp.allocate(instance, "drf-discrete", trace=True)
    figure = plots.plot_progressive_filling(filled if traced else instance)
    (axis,) = figure.axes
    shares, refused = filled_by_hand(instance.demands, instance.pool)
    *curves, end = axis.lines
    for curve, expected in zip(curves, shares.T, strict=True):
        assert curve.get_drawstyle() == "steps-post"
        assert curve.get_ydata()[: len(shares)] == pytest.approx(expected)
        assert curve.get_xdata().tolist() == list(range(int(filled.totals.sum()) + 1))
    assert set(end.get_xdata()) == {len(shares) - 1}
    user = instance.users[refused]
    assert legend(figure) == ["ann", "$b", "cat", f"a task of {user} no longer fits"]
    assert axis.get_xlabel() == "tasks served" and "dominant share" in axis.get_ylabel()


def test_a_filling_without_its_trace_is_refused():
    for allocation in (
        fairlp.allocate(LIMITED, "drf-discrete"),
        fairlp.allocate(LIMITED, "drf"),
    ):
        with pytest.raises(InstanceError, match=r"does not say when .* trace=True"):
            plots.plot_progressive_filling(allocation)


class Uneven(fairlp.Path):
    """Users rise at rates 1, 2 and 1."""

    rate = property(lambda path: np.array([1.0, 2.0, 1.0]))


def answers():
    return {
        "leximin": fairlp.leximin(fairlp.formulate(LIMITED, "drfh")),
        "drf": fairlp.allocate(LIMITED, "drf"),
        "path": fairlp.rise(Uneven.start(LIMITED), LIMITED),
    }


@pytest.mark.parametrize("name", ["leximin", "drf", "path"])
def test_levels_rise_round_by_round_and_end_where_users_stop(name):
    answer = answers()[name]
    figure = plots.plot_path(answer)
    (axis,) = figure.axes
    rounds = [0.0, *answer.rounds["level"]]
    assert axis.get_xticks().tolist() == list(range(len(rounds)))
    drawn = {}
    for curve in axis.lines:
        assert curve.get_ydata() == pytest.approx(
            np.minimum(rounds, curve.get_ydata()[-1]), rel=1e-5
        )
        drawn |= dict.fromkeys(str(curve.get_label()).split(", "), curve.get_ydata()[-1])
    assert drawn == pytest.approx(
        dict(zip(["ann", "bob", "cat"], answer.levels, strict=True)), rel=1e-5
    )
    assert axis.get_xlabel() == "round" and "level" in axis.get_ylabel()


def test_an_answer_without_levels_by_round_is_refused():
    for mechanism in ("drf-discrete", "psdsf-rdm"):
        with pytest.raises(InstanceError, match="no rounds with a level to draw; expected"):
            plots.plot_path(fairlp.allocate(LIMITED, mechanism))
