"""Rounds along a tree whose leaves begin with more than a level asks for."""

import numpy as np
import pytest
from scipy import sparse

import fairlp
from fairlp import Instance, Model
from fairlp.models.trees.climbing import Stretch
from fairlp.models.trees.filling import Rows, fill
from fairlp.solvers.leximin import climbing

#: Two leaves of one server of 10, tasks of 1: the first begins with 6, of which rates know nothing.
POOL = Instance.from_arrays([[1.0], [1.0]], [[10.0]])


def stretch():
    """Where they begin."""
    return Stretch(np.array([6.0, 0.0]), np.zeros(2), np.ones(2), np.full(2, np.inf), np.ones(2, dtype=bool))


def rates(active):
    """All that are active rise alike."""
    return np.where(active, 1.0, 0.0)


def formulation(instance):
    """Rows of the level and of capacity, and none that says what anybody has."""
    n, i, r = instance.users, instance.servers, instance.resources
    model = Model("alike", indices=(n, i, r))
    d, c = model.parameter("d", (n, r), instance.demands), model.parameter("c", (i, r), instance.capacities)
    x, t = model.variable("x", n, i), model.variable("t")
    model.constraint("capacity", (d * x).sum(n) <= c)
    model.constraint("fairness", x.sum(i) >= t)
    model.maximize(t)
    model.define("tasks", x)
    return model


def test_whoever_has_more_keeps_it_in_programs():
    found = climbing.climb(POOL, formulation, rates, stretch())
    assert found.tasks.sum(axis=1) == pytest.approx([6, 4], rel=1e-9)


def test_whoever_has_more_keeps_it_in_sums():
    level = Rows(sparse.csr_array(np.ones((1, 2))), np.array([10.0])).reach(stretch())
    assert level == 4.0, "to the last digit: Newton's method ends on the answer"
    tasks, history = fill(rates, Rows(sparse.csr_array(np.ones((1, 2))), np.array([10.0])), stretch())
    assert tasks.tolist() == [6, 4] and [at for at, _ in history] == [4]


def test_what_a_point_has_beyond_what_is_due_is_not_given_away(monkeypatch):
    run = climbing.Climb.run

    def more(self):
        run(self)
        self.last = self.last * 1.25

    monkeypatch.setattr(climbing.Climb, "run", more)
    found = climbing.climb(POOL, formulation, rates, stretch())
    assert found.tasks.sum(axis=1) == pytest.approx([6, 4], rel=1e-9)


#: One who has a resource alone, and two on another that is this much short of what both have at the limit of the first.
LIMIT, SHORT = 1.001, [1e-14, 1e-12, 5e-11]


@pytest.mark.parametrize("short", SHORT)
def test_a_limit_within_rounding_of_what_there_is_is_reached_and_ends_nobody_elses_round(short):
    pool = Instance.from_arrays([[1.0, 0], [0, 1.0], [0, 1.0]], [[1.0, 2 * LIMIT * (1 - short)]])
    start = Stretch(np.zeros(3), np.zeros(3), np.ones(3), np.array([np.inf, LIMIT, np.inf]), np.ones(3, dtype=bool))
    found = climbing.climb(pool, formulation, rates, start)
    assert [who.tolist() for _, who in found.rounds] == [[0], [1], [2]]
    assert [level for level, _ in found.rounds] == pytest.approx([1, LIMIT, LIMIT], rel=1e-9)
    assert found.tasks.sum(axis=1) == pytest.approx([1, LIMIT, LIMIT], rel=1e-9)


@pytest.mark.parametrize("short", SHORT)
def test_so_it_is_for_users_of_queues(short):
    """The parts are such that all three come to their ends one after the other."""
    one = Instance.from_arrays(
        [[1.0, 0], [0, 1.0], [0, 1.0]],
        [[1.0, 2 * LIMIT * (1 - short)]],
        queue=["a", "b", "c"],
        weights=[2 * LIMIT, 1, 1],
        task_limits=[np.inf, LIMIT, np.inf],
    )
    found = fairlp.allocate(one, "h-drf", method="lp")
    assert found.totals.to_numpy() == pytest.approx([1, LIMIT, LIMIT], rel=1e-9)
