"""Numbers of rows and of users, and points along a direction."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from fairlp.solvers.interior_point.problem import Problem, UserRows, Variables
from fairlp.solvers.interior_point.region import PlacedRegion


def test_sums_and_minima_of_users_with_no_row_one_and_more():
    rng = np.random.default_rng(0)
    user = rng.integers(9, size=30)
    user[user == 4] = 5
    values, sign = rng.normal(size=30), rng.choice([-1.0, 1.0], 30)
    nothing = np.zeros(30)
    region = PlacedRegion(np.ones((9, 1)), np.ones((2, 1)))
    problem = Problem(region, UserRows(user, sign, nothing, nothing, nothing, nothing))
    sums, lowest = problem.sum_by_user(values), problem.min_by_user(values)
    user_values = problem.user_values(values)
    for n in range(9):
        assert sums[n] == pytest.approx(values[user == n].sum(), abs=1e-12)
        assert lowest[n] == values[user == n].min(initial=np.inf)
        assert user_values[n] == pytest.approx(-(sign * values)[user == n].sum(), abs=1e-12)
    assert problem.to_rows(np.arange(9)).tolist() == user.tolist() and not problem.has_level


def test_primal_and_dual_variables_move_by_lengths_of_their_own():
    names = [variable.name for variable in fields(Variables) if variable.name != "t"]
    point = Variables(**{name: np.array([1.0]) for name in names}, t=1.0)
    direction = Variables(**{name: np.array([2.0]) for name in names}, t=4.0)
    moved = point.moved(direction, 0.5, 0.25)
    assert [float(getattr(moved, name)[0]) for name in "xsu"] == [2, 2, 2]
    assert [float(getattr(moved, name)[0]) for name in "zpv"] == [1.5, 1.5, 1.5] and moved.t == 3
