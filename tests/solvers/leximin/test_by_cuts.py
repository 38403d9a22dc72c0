"""Rounds along a tree: leaves that begin with more than a level asks for, limits, and rounds that fail."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance, Model
from fairlp.errors import SolverError
from fairlp.mechanisms.max_min import ladder
from fairlp.models.paths.path import ConstantPath
from fairlp.models.paths.pool import PoolRows
from fairlp.solvers.leximin.by_cuts import ServersByCuts
from fairlp.solvers.leximin.leximin import climb
from profiles import many
from tree_instances import for_the_oracle, random_past, tree_instance
from tree_oracle import counted, hierarchical

#: Two leaves of one server of 10, tasks of 1: the first begins with 6, of which rates know nothing.
POOL = Instance.from_arrays([[1.0], [1.0]], [[10.0]])


def stretch():
    """Where they begin."""
    return alike([6.0, 0.0], [np.inf, np.inf])


def alike(tasks, limits):
    """Return the path of users who all rise alike."""
    everyone = np.ones(len(tasks), dtype=bool)
    return ConstantPath.first(np.ones(len(tasks)), np.array(tasks), np.array(limits), everyone)


def formulation(instance):
    """Rows of the level and of capacity, and none that says what anybody has."""
    n, i, r = instance.users, instance.servers, instance.resources
    model = Model("alike", indices=(n, i, r))
    d, c = (
        model.parameter("d", (n, r), instance.demands),
        model.parameter("c", (i, r), instance.capacities),
    )
    x, t = model.variable("x", n, i), model.variable("t")
    model.constraint("capacity", (d * x).sum(n) <= c)
    model.leximin(model.constraint("fairness", x.sum(i) >= t), t)
    model.define("tasks", x)
    return model


def test_whoever_has_more_keeps_it_in_programs():
    leximin = climb(POOL, formulation, stretch())
    assert leximin.tasks.sum(axis=1) == pytest.approx([6, 4], rel=1e-9)


def test_what_a_point_has_beyond_what_is_due_is_not_given_away(monkeypatch):
    run = ServersByCuts.run

    def more(self):
        end = run(self)
        self.point = self.point * 1.25
        return end

    monkeypatch.setattr(ServersByCuts, "run", more)
    leximin = climb(POOL, formulation, stretch())
    assert leximin.tasks.sum(axis=1) == pytest.approx([6, 4], rel=1e-9)


#: One who has a resource alone, and two on another that is this much short of what both have at the
#: limit of the first.
LIMIT, SHORT = 1.001, [1e-14, 1e-12, 5e-11]


@pytest.mark.parametrize("short", SHORT)
def test_a_limit_within_rounding_of_what_there_is_is_reached_and_ends_nobody_elses_round(short):
    pool = Instance.from_arrays([[1.0, 0], [0, 1.0], [0, 1.0]], [[1.0, 2 * LIMIT * (1 - short)]])
    start = alike(np.zeros(3), [np.inf, LIMIT, np.inf])
    leximin = climb(pool, formulation, start)
    assert [users.tolist() for _, users in leximin.rounds] == [[0], [1, 2]]
    assert [level for level, _ in leximin.rounds] == pytest.approx([1, LIMIT], rel=1e-9)
    assert leximin.tasks.sum(axis=1) == pytest.approx([1, LIMIT, LIMIT], rel=1e-9)


@pytest.mark.parametrize("short", SHORT)
def test_so_it_is_for_users_of_queues(short):
    """The parts are such that all three come to their ends one after the other."""
    case = Instance.from_arrays(
        [[1.0, 0], [0, 1.0], [0, 1.0]],
        [[1.0, 2 * LIMIT * (1 - short)]],
        queue=["a", "b", "c"],
        weights=[2 * LIMIT, 1, 1],
        task_limits=[np.inf, LIMIT, np.inf],
    )
    allocation = fairlp.allocate(case, "h-drf", method="lp")
    assert allocation.totals.to_numpy() == pytest.approx([1, LIMIT, LIMIT], rel=1e-9)


def test_a_point_of_a_round_that_nobody_rises_in_has_what_everybody_has():
    """Two have all of one resource; of the other one, the others have a trillionth more than there is."""
    room = np.array([[3.0, 0.5], [2.0, 1.5]])
    needs = np.array([[1.0, 0], [1.0, 0], [0, 1.0], [0, 1.0]])
    tasks = np.array([3.5, 1.5, 1 + 1e-12, 1 + 1e-12])
    start = alike(tasks, np.full(4, np.inf))
    leximin = climb(Instance.from_arrays(needs, room), formulation, start)
    assert leximin.tasks.sum(axis=1) == pytest.approx(tasks, rel=1e-9) and [
        len(users) for _, users in leximin.rounds
    ] == [4]
    assert leximin.tasks.T @ needs == pytest.approx(room, rel=1e-9)


@pytest.mark.parametrize(
    ("seed", "over"), [(1, 1e-12), (17, 1e-12), (163, 1e-12), (205, 1e-10), (861, 0.0)]
)
def test_limits_that_end_where_a_resource_does_are_those_of_sums(seed, over):
    """Half of the users have for a limit what they would get without, and next to nothing more."""
    rng = np.random.default_rng(seed)
    tree = tree_instance(rng, caps=False, limits=False)
    totals = fairlp.allocate(tree, "h-drf").totals.to_numpy() * (1 + over)
    tree = tree.replace(
        task_limits=np.where((rng.random(len(totals)) < 0.5) & (totals > 0), totals, np.inf)
    )
    values = fairlp.allocate(tree, "h-drf").totals.to_numpy()
    assert fairlp.allocate(tree, "h-drf", method="lp").totals.to_numpy() == pytest.approx(
        values, rel=1e-8
    )


def tree(**options):
    rows = [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]]
    return Instance.from_arrays(rows, [[9.0, 6.0], [4.0, 8.0]], queue=["a", "a", "b"], **options)


def climbed(instance):
    return fairlp.allocate(instance, "h-drf", method="lp").totals.to_numpy()


def test_a_round_that_stops_nobody_is_told(monkeypatch):
    monkeypatch.setattr(ladder, "MOST_EXACT", 0)
    monkeypatch.setattr(
        PoolRows, "clearly_blocked", lambda self, path, t: np.zeros_like(path.active)
    )
    monkeypatch.setattr(
        ServersByCuts, "with_price", lambda self, solution, unit, growing: np.zeros_like(growing)
    )
    monkeypatch.setattr(
        ServersByCuts, "stuck", lambda self, t, candidates: np.zeros_like(candidates)
    )
    with pytest.raises(SolverError, match=r"a round stopped no user at t = .*price above rounding"):
        climbed(tree())


def test_a_round_that_leaves_somebody_open_is_solved_again(monkeypatch):
    case = Instance.from_arrays(
        [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [[9.0, 6.0], [4.0, 8.0]], queue=["a", "a", "b"]
    )
    expected, honest, solutions = climbed(case), ServersByCuts.restart_if_undecided, []

    def restart_if_undecided(self, solution):
        solutions.append(solution)
        self.session.leaves_open = lambda *_: len(solutions) == 1
        return honest(self, solution)

    monkeypatch.setattr(ServersByCuts, "restart_if_undecided", restart_if_undecided)
    assert climbed(case) == pytest.approx(expected, rel=1e-9) and len(solutions) > 1


@pytest.mark.parametrize("seed", range(many(100)))
def test_tasks_of_any_size_on_servers_are_those_of_one_program_for_each_raise(seed):
    """Users whose tasks are 64 times as large as those of others; SciPy raises each user alone."""
    rng = np.random.default_rng([81, seed])
    instance = tree_instance(rng, servers=3, caps=seed % 2 == 0)
    size = rng.choice([1.0, 8.0, 64.0], len(instance.users))
    instance = instance.replace(
        demands=instance.demands * size[:, None], task_limits=instance.task_limits / size
    )
    expected = hierarchical(*for_the_oracle(instance))
    allocation = fairlp.allocate(instance, "h-drf", method="lp")
    assert allocation.totals.to_numpy() * size == pytest.approx(
        expected * size, abs=1e-6 * (1 + (expected * size).max())
    )


@pytest.mark.parametrize("seed", range(many(100)))
def test_rises_that_begin_one_after_the_other_are_those_of_curves(seed):
    """With a past, each begins where its own level is reached."""
    rng = np.random.default_rng([82, seed])
    instance = tree_instance(rng)
    past = random_past(rng, instance)
    expected = counted(*for_the_oracle(instance), past.to_numpy())
    allocation = fairlp.allocate(instance, "h-drf-counted", method="lp", state=past)
    assert allocation.totals.to_numpy() == pytest.approx(expected, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("seed", range(many(150)))
def test_rises_on_servers_that_begin_one_after_the_other_are_proved(seed):
    """Tasks of several sizes, limits and a past, by programs whose prices cut targets off."""
    rng = np.random.default_rng([83, seed])
    instance = tree_instance(rng, servers=3)
    size = rng.choice([1.0, 8.0, 64.0], len(instance.users))
    limits = instance.task_limits / size
    instance = instance.replace(demands=instance.demands * size[:, None], task_limits=limits)
    past = pd.Series(rng.choice([0, 0.1, 0.3, 0.7], len(size)), index=list(instance.users))
    allocation = fairlp.allocate(instance, "h-drf-counted", method="lp", state=past)
    proof = allocation.certify()
    assert proof.holds, proof.message
