"""Whole tasks along a tree: against oracles that serve each task, and drf-discrete on flat trees."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import examples
from fairlp.errors import InstanceError
from fairlp.models.instances.rationals import decimal
from fairlp.models.trees.tree import rational_tree
from profiles import many
from tree_instances import for_the_oracle, tree_instance
from tree_oracle import whole


@pytest.mark.parametrize("seed", range(many(120)))
def test_tasks_are_those_of_the_oracle(seed):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, caps=seed % 2 == 0)
    if seed % 3 == 0:  # decimals: a tenth is a tenth
        instance = instance.replace(demands=instance.demands / 10)
    ties = ("larger", "smaller", "index")[seed % 3]
    tasks = fairlp.allocate(instance, "h-drf-discrete", ties=ties).totals.tolist()
    data, weights = for_the_oracle(instance)
    sign = {"larger": 1, "smaller": -1, "index": 0}[ties]
    expected = whole(
        data["paths"],
        {path: int(w) for path, w in weights.items()},
        [int(w) for w in data["weights"]],
        data["demands"].tolist(),
        data["capacities"][0].tolist(),
        data["limits"],
        data["caps"],
        ties=-sign,
    )
    assert tasks == expected


@pytest.mark.parametrize("seed", range(many(60)))
def test_a_flat_tree_is_discrete_drf(seed):
    instance = tree_instance(np.random.default_rng(seed), flat=True)
    scaled = instance.replace(capacities=instance.capacities * 20)
    for case in (instance, scaled, scaled.replace(queue=None, queues=None)):
        tree = fairlp.allocate(case, "h-drf-discrete").totals
        assert (
            tree.tolist()
            == fairlp.allocate(
                case.replace(queue=None, queues=None), "drf-discrete"
            ).totals.tolist()
        )


@settings(max_examples=many(40), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 400))
def test_the_more_there_is_the_nearer_to_divisible_tasks(seed, scale):
    """Nobody is more than a task of everybody's dominant shares away from the divisible optimum's smallest level."""
    instance = tree_instance(np.random.default_rng(seed), limits=False, weighted=False)
    large = instance.replace(capacities=instance.capacities * scale)
    allocation = fairlp.allocate(large, "h-drf-discrete")
    assert allocation.residual <= 0 and (allocation.totals % 1 == 0).all()
    divided = fairlp.allocate(large, "h-drf")
    able_users = divided.totals > 0
    slack = 1 / divided.tasks_per_level[able_users] * len(able_users)
    assert allocation.levels[able_users].min() >= divided.levels[able_users].min() - slack.max()


def test_a_naive_tree_of_shares_starves_in_time():
    """The two examples of the paper: right at first, wrong once tasks ended and their room was offered again."""
    starved, blocked = (
        examples.load("bhattacharya-starvation"),
        examples.load("bhattacharya-blocked"),
    )
    first = fairlp.allocate(starved, "h-drf-naive", turnover=0).totals
    assert first["b"] == pytest.approx(30, abs=1) and first["a"] == 60
    settled = fairlp.allocate(starved, "h-drf-naive")
    assert settled.totals.to_dict() == {"n1": 60, "a": 60, "b": 0} and settled.notes == ()
    assert fairlp.allocate(starved, "h-drf-discrete").totals.to_dict() == {
        "n1": 30,
        "a": 60,
        "b": 30,
    }
    assert fairlp.allocate(blocked, "h-drf-naive").totals.tolist() == [30, 30, 0, 30, 30]
    assert fairlp.allocate(blocked, "h-drf-discrete").totals.tolist() == [20, 20, 20, 30, 30]
    for instance, user in ((starved, "b"), (blocked, "n3,1")):
        finding = fairlp.audit(
            instance, fairlp.allocate(instance, "h-drf-naive"), ["hierarchical share guarantee"]
        ).iloc[0]
        assert finding.holds is False and f"'{user}'" in finding.witness
    unsettled = fairlp.allocate(starved, "h-drf-naive", turnover=2)
    assert unsettled.notes == ("after 2 turnovers the shares still change",)
    with pytest.raises(InstanceError, match="turnover=-1"):
        fairlp.allocate(starved, "h-drf-naive", turnover=-1)


def test_a_naive_tree_keeps_caps_and_limits():
    instance = examples.load("bhattacharya-starvation").replace(
        queues={"n2": {"weight": 2, "cap": {"gpu": 10}}}
    )
    for turnover in (0, 50):
        allocation = fairlp.allocate(
            instance.replace(task_limits=[45, 20, 60]), "h-drf-naive", turnover=turnover
        )
        assert allocation.totals.tolist() == [45, 20, 10]
    assert fairlp.validate(instance, "h-drf-naive").agrees.all()


# satisfied leaves counted


@pytest.mark.parametrize(("tasks", "limit"), [(40, 1), (400, 7)])
def test_counted_leaves_keep_the_share_of_their_queue_in_whole_tasks(tasks, limit):
    """One queue has a user without a limit, the other 19 users with few tasks beside one without."""
    queue, limits = ["Q1"] + ["Q2"] * 20, [np.inf] + [limit] * 19 + [np.inf]
    case = fairlp.Instance.from_arrays(
        np.ones((21, 1)), [[float(tasks)]], queue=queue, task_limits=limits
    )
    assert fairlp.allocate(case, "h-drf-counted-whole").totals.iloc[0] == tasks / 2
    assert fairlp.allocate(case, "h-drf-discrete").totals.iloc[0] < tasks / 2 * 0.9


def served_one_after_the_other(instance, ties):
    """Return the tasks of h-drf-counted-whole: the whole tree is followed from kink to kink for each."""
    sign = {"larger": -1, "smaller": 1, "index": 0}[ties]
    tree = rational_tree(instance, number=decimal)
    queues = instance.tree
    demands = [[decimal(demand) for demand in row] for row in instance.demands.tolist()]
    bounds = [
        (range(len(demands)), r, decimal(pool)) for r, pool in enumerate(instance.pool.tolist())
    ]
    for v, r in np.argwhere(queues.capped).tolist():
        users_below = queues.below[[v]].indices.tolist()
        bounds.append((users_below, r, decimal(float(queues.caps[v, r]))))
    tasks = [0] * len(demands)
    satisfied = np.array([Fraction(0)] * len(demands))

    def fits(n):
        return all(
            sum(tasks[user] * demands[user][r] for user in users) + demands[n][r] <= amount
            for users, r, amount in bounds
            if n in users and demands[n][r]
        )

    def parts():
        start, point = Fraction(0), tree.begin(satisfied)
        while True:
            pace = tree.pace(np.isin(np.arange(len(tasks)), list(active)), point)
            yield start, tree.tasks_at(point), pace
            if pace.end == np.inf:
                return
            start, point = start + pace.end, pace.after(point, pace.end)

    def level(n):
        for start, asked, pace in way:
            rate = pace.rate[n]
            if rate and (pace.end == np.inf or asked[n] + rate * pace.end > tasks[n]):
                return start + (tasks[n] - asked[n]) / rate, sign / rate, n

    active = {n for n in range(len(tasks)) if instance.task_limits[n] >= 1 and fits(n)}
    way = list(parts())
    while active:
        n = min(active, key=level)
        if fits(n):
            tasks[n] += 1
            if tasks[n] + 1 <= instance.task_limits[n]:
                continue
            satisfied[n] = Fraction(tasks[n])
        active.discard(n)
        way = list(parts()) if active else []
    return tasks


@pytest.mark.parametrize("seed", range(many(60)))
def test_tasks_counted_at_once_are_those_served_one_after_the_other(seed):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, caps=seed % 2 == 0)
    instance = instance.replace(capacities=instance.capacities * rng.choice([1, 5]))
    ties = ("larger", "smaller", "index")[seed % 3]
    counted = fairlp.allocate(instance, "h-drf-counted-whole", ties=ties).totals.tolist()
    assert counted == served_one_after_the_other(instance, ties)


@pytest.mark.parametrize("seed", range(many(60)))
def test_a_weight_of_a_tenth_is_a_tenth(seed):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng)
    rows = {path: {"weight": float(rng.choice([0.1, 0.2, 0.3]))} for path in instance.tree.paths}
    instance = instance.replace(
        queues=rows, weights=rng.choice([0.1, 0.2, 0.3], len(instance.users))
    )
    counted = fairlp.allocate(instance, "h-drf-counted-whole").totals.tolist()
    assert counted == served_one_after_the_other(instance, "larger")


def test_a_user_whose_next_task_fits_no_more_does_not_hold_up_the_counting():
    """Its task would be next long after the others have all theirs; a million a user are counted."""
    case = fairlp.Instance.from_arrays(
        [[1, 0], [1, 1], [0, 10]],
        [[4e6, 15]],
        weights=[1, 1, 1e-6],
        queue=["a", "a", "b"],
        task_limits=[2e6, 3, np.inf],
    )
    start = time.process_time()
    assert fairlp.allocate(case, "h-drf-counted-whole").totals.tolist() == [2e6, 3, 1]
    assert time.process_time() - start < 5


def test_billions_of_tasks_are_counted():
    case = examples.load("bhattacharya-starvation").replace(task_limits=[45e9, 20e9, 60e9])
    totals = fairlp.allocate(
        case.replace(capacities=case.capacities * 1e9), "h-drf-counted-whole"
    ).totals
    assert totals.tolist() == [30e9, 20e9, 30e9]


@pytest.mark.parametrize("seed", range(many(30)))
def test_without_limits_counting_changes_nothing(seed):
    instance = tree_instance(np.random.default_rng(seed), limits=False)
    ties = ("larger", "smaller", "index")[seed % 3]
    values = fairlp.allocate(instance, "h-drf-counted-whole", ties=ties).totals.tolist()
    assert values == fairlp.allocate(instance, "h-drf-discrete", ties=ties).totals.tolist()


@pytest.mark.parametrize("seed", range(many(12)))
def test_one_resource_is_shared_as_divisible_tasks_are_but_for_a_task_of_each_user(seed):
    """What others get more by rounding, at most a task each, a user lacks in proportion to its rate."""
    rng = np.random.default_rng(seed)
    users = int(rng.integers(2, 8))
    case = fairlp.Instance.from_arrays(
        np.ones((users, 1)),
        [[float(rng.integers(30, 90))]],
        queue=[f"q{k}" for k in rng.integers(0, 3, users)],
        weights=rng.integers(1, 4, users),
        task_limits=np.where(rng.random(users) < 0.6, rng.integers(1, 20, users), np.inf),
    )
    whole_ones, divisible = (
        fairlp.allocate(case, name).totals.to_numpy()
        for name in ("h-drf-counted-whole", "h-drf-counted")
    )
    part_of_others = (users - 1) * divisible / divisible.sum()
    assert (abs(whole_ones - divisible) <= 1 + part_of_others + 1e-9).all()
