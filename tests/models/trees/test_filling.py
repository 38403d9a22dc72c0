"""Filling of one pool: by hand, against exact rationals and curves of nodes; what guarantees come to."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp.formulations.hierarchical import rates_on_tree
from fairlp.models.paths.engine import rise
from fairlp.models.paths.one_server import fill_server
from fairlp.models.paths.pool import PoolRows
from fairlp.models.trees.guarantees import floors
from fairlp.models.trees.tree_path import first_path
from profiles import many
from tree_instances import for_the_oracle, tree_instance
from tree_oracle import counted


def exactly(demands, capacity, rate, limits, past):
    """Gains by raising all users to a common level, one event at a time, in rationals."""
    remaining = [Fraction(amount) for amount in capacity]
    ends = [
        past[n] + limit / rate[n] if limit is not None else None for n, limit in enumerate(limits)
    ]
    gains = [Fraction(0)] * len(demands)
    active = set(range(len(demands)))
    level = Fraction(0)
    while active:
        rising = [n for n in active if past[n] <= level]
        speeds = [sum(demands[n][r] * rate[n] for n in rising) for r in range(len(capacity))]
        events = [
            level + room / speed for room, speed in zip(remaining, speeds, strict=True) if speed
        ]
        events += [past[n] for n in active if past[n] > level]
        events += [ends[n] for n in rising if ends[n] is not None]
        step = min(events) - level
        level += step
        remaining = [room - step * speed for room, speed in zip(remaining, speeds, strict=True)]
        for n in rising:
            gains[n] += step
        for n in sorted(active):
            starved = any(not remaining[r] and demands[n][r] for r in range(len(capacity)))
            if starved or (ends[n] is not None and ends[n] <= level):
                active.discard(n)
    return [float(gain) for gain in gains]


@pytest.mark.slow
@pytest.mark.parametrize("with_past", [False, True])
@settings(max_examples=many(200), deadline=None)
@given(st.data())
def test_levels_equal_exact_rationals(with_past, data):
    n, m = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 4))
    whole = st.integers(0, 6)
    demands = [data.draw(st.lists(whole, min_size=m, max_size=m).filter(any)) for _ in range(n)]
    capacity = data.draw(st.lists(st.integers(1, 60), min_size=m, max_size=m))
    fractions = st.fractions(Fraction(1, 9), 9, max_denominator=9)
    rate = data.draw(st.lists(fractions, min_size=n, max_size=n))
    limits = data.draw(st.lists(st.none() | st.integers(0, 9), min_size=n, max_size=n))
    pasts = st.integers(0, 20).map(lambda k: Fraction(k, 4)) if with_past else st.just(Fraction(0))
    past = data.draw(st.lists(pasts, min_size=n, max_size=n))
    arrays = (
        np.array(demands, float),
        np.array(capacity, float),
        np.array([float(x) for x in rate]),
        np.array([np.inf if x is None else float(x) for x in limits]),
    )
    if with_past:
        levels, rounds = fill_server(*arrays, np.array([float(x) for x in past]))
    else:
        levels, rounds = fill_server(*arrays)
    expected = exactly(demands, capacity, rate, limits, past)
    assert levels.tolist() == pytest.approx(expected, rel=1e-11, abs=1e-12)
    assert len(rounds) <= m + 1
    assert sorted(int(n) for _, stopped in rounds for n in stopped) == list(range(n))


def test_users_without_limits_and_needs_of_what_is_scarce_end_the_filling_with_it():
    """Of past 1 and 0: the second has its limit at level ½ and the first the other 2½ of 3."""
    demands, limits = np.ones((2, 1)), np.array([np.inf, 0.5])
    gains, rounds = fill_server(demands, np.array([3.0]), np.ones(2), limits, np.array([1.0, 0.0]))
    assert gains.tolist() == [2.5, 0.5]
    assert [(level, users.tolist()) for level, users in rounds] == [(3.5, [0, 1])]
    gains, rounds = fill_server(
        demands, np.array([9.0]), np.ones(2), np.array([2.0, 0.5]), np.array([1.0, 0.0])
    )
    assert gains.tolist() == [2, 0.5]
    assert [(level, users.tolist()) for level, users in rounds] == [(3, [0, 1])]


def test_a_user_with_all_its_tasks_stops_in_the_round_in_which_it_has_them():
    demands, limits = np.array([[1.0, 0], [1.0, 0], [0, 1.0]]), np.array([1.0, np.inf, np.inf])
    levels, history = fill_server(demands, np.array([4.0, 9.0]), np.ones(3), limits)
    assert levels.tolist() == [1, 3, 9]
    assert [(level, users.tolist()) for level, users in history] == [(3.0, [0, 1]), (9.0, [2])]
    apart, alone = fill_server(np.eye(2), np.array([4.0, 9.0]), np.ones(2), np.array([np.inf, 2.0]))
    assert apart.tolist() == [4, 2] and [users.tolist() for _, users in alone] == [[0, 1]]


@pytest.mark.parametrize("seed", range(many(40)))
def test_filling_a_pool_gives_what_curves_of_nodes_give(seed):
    instance = tree_instance(np.random.default_rng(seed))
    pool = PoolRows.of(instance.pool, instance.demands, instance.demands, instance.tree)
    able_users = instance.runnable().any(axis=1) & (instance.task_limits > 0)
    rates, nothing = rates_on_tree(instance, counted=True), np.zeros(len(able_users))
    end = rise(first_path(rates, nothing, instance.task_limits, able_users), pool)
    tasks, history = end.path.tasks, end.history
    expected = counted(*for_the_oracle(instance))
    assert tasks == pytest.approx(expected, rel=2e-4, abs=2e-4 * (1 + expected.max()))
    assert (
        sorted(n for _, stopped in history for n in stopped) == np.flatnonzero(able_users).tolist()
    )


def test_a_guarantee_is_shared_as_a_pool_of_its_own():
    def of(queues, limits=None, queue=("a/x", "a/y", "b")):
        return fairlp.Instance.from_arrays(
            [[1, 1], [1, 0], [1, 1]], [[10, 10]], queue=list(queue), queues=queues, task_limits=limits,
            resources=["cpu", "gpu"],
        )  # fmt: skip

    assert floors(of({"a": {"guarantee": {"cpu": 4, "gpu": 4}}})).tolist() == pytest.approx(
        [2, 2, 0]
    )
    # GPUs are not named, and do not limit the guarantee: 4 CPUs are two tasks for each user
    assert floors(of({"a": {"guarantee": {"cpu": 4}}})).tolist() == pytest.approx([2, 2, 0])
    assert floors(
        of({"a": {"guarantee": {"cpu": 4, "gpu": 4}}}, [1, np.inf, 1])
    ).tolist() == pytest.approx([1, 3, 0])
    # deeper guarantees come first, and count where they are more than those above
    deep = {"a": {"guarantee": {"cpu": 4, "gpu": 4}}, "a/x": {"guarantee": {"cpu": 3, "gpu": 3}}}
    assert floors(of(deep)).tolist() == pytest.approx([3, 1, 0])
    deeper = {"a": {"guarantee": {"cpu": 1, "gpu": 1}}, "a/x": {"guarantee": {"cpu": 3, "gpu": 3}}}
    assert floors(of(deeper)).tolist() == pytest.approx([3, 0, 0])
    # a cap below holds within it
    capped = {"a": {"guarantee": {"cpu": 4, "gpu": 4}}, "a/y": {"cap": {"cpu": 1}}}
    assert floors(of(capped)).tolist() == pytest.approx([3, 1, 0])
    assert floors(of({"a": {"cap": {"cpu": 1}}})).tolist() == [0, 0, 0]


@pytest.mark.parametrize("mechanism", ["h-drf-counted", "h-drf", "drfh", "alpha-fair"])
def test_a_guarantee_of_one_resource_does_not_limit_the_others(mechanism):
    """3 of 4 GPUs are guaranteed to a, whose tasks need a CPU, too: a has 3 tasks and b the last GPU."""
    instance = fairlp.Instance.from_arrays(
        [[1, 1], [1, 1]],
        [[16, 4]],
        resources=["cpu", "gpu"],
        queue=["a", "b"],
        task_limits=[4, 4],
        queues={"a": {"guarantee": {"gpu": 3}}},
    )
    allocation = fairlp.allocate(instance, mechanism)
    assert allocation.totals.tolist() == pytest.approx([3, 1])
    assert allocation.certify()


def test_a_guarantee_is_worth_no_more_than_all_servers_have_of_what_it_does_not_name():
    """Tasks of 4 CPUs and a GPU: of 3 guaranteed GPUs the 8 CPUs allow 2 tasks; b has the CPUs that are left, none."""
    instance = fairlp.Instance.from_arrays(
        [[4, 1], [1, 0]],
        [[8, 4]],
        resources=["cpu", "gpu"],
        queue=["a", "b"],
        queues={"a": {"guarantee": {"gpu": 3}}},
    )
    assert floors(instance).tolist() == pytest.approx([2, 0])
    assert fairlp.allocate(instance, "h-drf-counted").totals.tolist() == pytest.approx([2, 0])


def test_guarantees_that_lack_a_resource_that_they_do_not_name_are_an_error_of_one_that_they_do():
    """Two guarantees of 2 GPUs are 4 tasks of 4 CPUs; 8 CPUs are two of them."""
    instance = fairlp.Instance.from_arrays(
        [[4, 1], [4, 1], [1, 0]],
        [[8, 4]],
        resources=["cpu", "gpu"],
        queue=["a", "b", ""],
        queues={"a": {"guarantee": {"gpu": 2}}, "b": {"guarantee": {"gpu": 2}}},
    )
    with pytest.raises(fairlp.errors.InstanceError, match="is guaranteed 2 'gpu', and 2 of 'gpu'"):
        fairlp.allocate(instance, "h-drf-counted")
