"""Leximin against an oracle that shares no code with it: one SciPy LP a user, hundreds of awkward instances."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings

import brute_force
import fairlp
from fairlp.errors import OversizedTaskWarning
from fairlp.tolerances import VERIFIED
from instances import random_instance, seeds
from profiles import many

SERVERS = ["asset", "drfh", "c-drfh", "cdrf", "tsf"]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OversizedTaskWarning)
        yield


def expected_levels(instance, mechanism):
    """Levels by the oracle; users who cannot run anything have none."""
    arrays = instance.demands, instance.capacities, instance.counts, instance.eligible
    able = instance.runnable().any(axis=1) & (instance.task_limits > 0)
    levels = np.zeros(len(able))
    if able.any():
        normaliser = brute_force.normaliser(mechanism, *arrays)
        rate = instance.user_weights * normaliser
        runnable = brute_force.gamma(*arrays[:3]) * instance.eligible > 0
        levels[able] = brute_force.leximin(
            arrays[0][able], *arrays[1:3], runnable[able], rate[able], instance.task_limits[able]
        )
    return levels


def check(instance, mechanism, **how):
    allocation = fairlp.allocate(instance, mechanism, **how)
    assert allocation.residual <= VERIFIED / 100
    expected = expected_levels(instance, mechanism)
    np.testing.assert_allclose(allocation.levels, expected, rtol=1e-6, atol=1e-9 * max(expected.max(initial=0), 1e-9))
    assert (allocation.tasks_array[~instance.eligible] == 0).all()


@pytest.mark.parametrize("mechanism", ["drf", "edrf"])
@pytest.mark.parametrize("method", ["lp", "rounds"])
@settings(max_examples=many(24), deadline=None)
@given(seed=seeds)
def test_one_server_against_one_lp_a_user(mechanism, method, seed):
    check(random_instance(seed, servers=1), mechanism, method=method)


@pytest.mark.parametrize("mechanism", SERVERS)
@pytest.mark.parametrize("merge", [True, False])
@settings(max_examples=many(24), deadline=None)
@given(seed=seeds)
def test_many_servers_against_one_lp_a_user(mechanism, merge, seed):
    instance = random_instance(seed, constraints=mechanism != "cdrf")
    check(instance, mechanism, method="lp", merge=merge)


@pytest.mark.parametrize("mechanism", SERVERS)
@settings(max_examples=many(16), deadline=None)
@given(seed=seeds)
def test_magnitudes_from_a_millionth_to_a_billion(mechanism, seed):
    instance = random_instance(seed, constraints=mechanism != "cdrf", magnitudes=True, integers=False)
    check(instance, mechanism, method="lp")


@pytest.mark.parametrize("mechanism", [*SERVERS, "naive-drf"])
@settings(max_examples=many(16), deadline=None)
@given(seed=seeds)
def test_merging_changes_nothing(mechanism, seed):
    instance = random_instance(seed, constraints=mechanism != "cdrf")
    merged = fairlp.allocate(instance, mechanism, method="lp")
    plain = fairlp.allocate(instance, mechanism, method="lp", merge=False)
    np.testing.assert_allclose(merged.totals, plain.totals, rtol=1e-9, atol=1e-12)
    assert merged.residual <= VERIFIED / 100


@pytest.mark.parametrize("mechanism", ["drf", "edrf", *SERVERS, "naive-drf"])
@settings(max_examples=many(12), deadline=None)
@given(seed=seeds)
def test_every_method_agrees_with_the_unmerged_lp(mechanism, seed):
    one = mechanism in ("drf", "edrf") or seed % 3 == 0
    instance = random_instance(seed, servers=1 if one else None, constraints=mechanism != "cdrf")
    table = fairlp.validate(instance, mechanism)
    assert table["agrees"].all(), table


@settings(max_examples=many(16), deadline=None)
@given(seed=seeds)
def test_users_like_the_answer_in_any_order(seed):
    """Symmetry: permuting users and servers permutes the answer."""
    instance = random_instance(seed)
    rng = np.random.default_rng(seed)
    users, servers = rng.permutation(len(instance.users)), rng.permutation(len(instance.servers))
    shuffled = fairlp.Instance.from_arrays(
        instance.demands[users],
        instance.capacities[servers],
        weights=instance.weights[users],
        task_limits=instance.task_limits[users],
        counts=instance.counts[servers],
        eligible=instance.eligible[np.ix_(users, servers)],
    )
    plain, other = fairlp.allocate(instance, "c-drfh"), fairlp.allocate(shuffled, "c-drfh")
    np.testing.assert_allclose(other.totals.to_numpy(), plain.totals.to_numpy()[users], rtol=1e-8, atol=1e-12)


def test_degenerate_ties_freeze_nobody_who_can_be_raised():
    """Two users tie on server 1 and a third has server 2 alone; only the first two are blocked in round 1."""
    instance = fairlp.Instance.from_arrays(
        [[1, 1], [1, 1], [1, 1]],
        [[2, 2], [2, 2]],
        eligible=np.array([[1, 0], [1, 0], [0, 1]], dtype=bool),
    )
    allocation = fairlp.allocate(instance, "c-drfh", method="lp", merge=False)
    assert allocation.totals.tolist() == pytest.approx([1, 1, 2], rel=1e-12)
    assert allocation.rounds["users"].tolist() == [["user1", "user2"], ["user3"]]


def test_task_limits_are_reached_exactly_and_others_go_on():
    instance = fairlp.Instance.from_arrays([[1], [1], [1]], [[9], [3]], task_limits=[1, 2.5, np.inf])
    for method in ("lp", "auto"):
        allocation = fairlp.allocate(instance, "drfh", method=method)
        assert allocation.totals.tolist() == pytest.approx([1, 2.5, 8.5], rel=1e-12)


def test_prices_and_rounds_tell_who_stopped_for_want_of_tasks():
    """One user stops at its limit; the price is the growth of the other's level, not of a round that ignored limits."""
    instance = fairlp.Instance.from_arrays([[1], [1]], [[10]], task_limits=[1, None])
    for method in ("lp", "rounds"):
        allocation = fairlp.allocate(instance, "drf", method=method)
        assert allocation.levels.tolist() == pytest.approx([0.1, 0.9])
        assert allocation.rounds["satisfied"].tolist() == [["user1"]]
    assert fairlp.allocate(instance, "drf", method="lp").prices.iloc[0, 0] == pytest.approx(0.1)
    roomy = fairlp.allocate(fairlp.Instance.from_arrays([[1]], [[10]], task_limits=[1]), "drf", method="lp")
    assert roomy.prices is None and roomy.totals.tolist() == [1]


def test_a_user_left_out_is_not_called_merged():
    instance = fairlp.Instance.from_arrays([[1, 1], [1, 3], [2, 1]], [[10, 10], [5, 8]], task_limits=[None, 0, None])
    assert fairlp.allocate(instance, "drfh").notes == ()


def test_everyone_satisfied_when_the_cluster_is_large():
    instance = fairlp.Instance.from_arrays([[1, 2], [2, 1]], [[50, 50], [9, 9]], task_limits=[3, 4])
    allocation = fairlp.allocate(instance, "tsf", method="lp")
    assert allocation.totals.tolist() == pytest.approx([3, 4], rel=1e-15)


def test_a_limit_of_zero_and_a_user_who_can_run_nothing_do_not_hold_back_the_others():
    instance = fairlp.Instance.from_arrays(
        [[1, 0], [1, 1], [1, 0]],
        [[4, 0], [0, 4]],
        task_limits=[np.inf, np.inf, 0],
    )
    allocation = fairlp.allocate(instance, "drfh", method="lp")
    assert allocation.totals.tolist() == [4, 0, 0]


@pytest.mark.parametrize("seed", [4, 6, 15, 60])
def test_floors_that_rounding_makes_contradict(seed):
    """Weights over many orders of magnitude: what frozen users have cannot all be kept to the last digit."""
    rng = np.random.default_rng(seed)
    n, k, r = rng.integers(5, 200), rng.integers(2, 30), rng.integers(1, 5)
    demands = rng.lognormal(0, rng.choice([0.3, 1, 2]), (n, r))
    demands[rng.random((n, r)) < 0.2] = 0
    demands[np.arange(n), rng.integers(0, r, n)] += 0.05
    capacities = rng.lognormal(3, rng.choice([0.3, 1, 2]), (k, r))
    instance = fairlp.Instance.from_arrays(
        demands, capacities, weights=rng.lognormal(0, 3, n), counts=rng.integers(1, 50, k)
    )
    for mechanism in ("drfh", "tsf", "asset"):
        allocation = fairlp.allocate(instance, mechanism)
        assert allocation.residual <= 1e-7
        # nobody is left with less than the first round promises everyone
        first = fairlp.formulate(instance, mechanism).solve().objective
        assert allocation.levels.min() >= first * (1 - 1e-8)
