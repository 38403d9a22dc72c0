"""Merging: which servers and users become one, and that weights, limits, rates and constraints survive it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import fairlp
from fairlp.models.instances.merging import fewer_pairs, merge_servers, merge_users
from instances import random_instance, seeds
from profiles import many


def test_identical_servers_become_one_with_a_count():
    instance = fairlp.Instance.from_arrays(
        [[1, 1]], [[4, 2], [3, 3], [4, 2], [4, 2]], counts=[1, 2, 5, 1], servers=list("abcd")
    )
    merged, groups = merge_servers(instance)
    assert list(merged.servers) == ["a", "b"] and merged.counts.tolist() == [7, 2]
    assert groups.of.tolist() == [0, 1, 0, 0] and groups.factor.tolist() == [1 / 7, 1, 5 / 7, 1 / 7]


def test_users_who_do_not_merge_stay_as_they_are_without_weights_and_limits():
    instance = fairlp.Instance.from_arrays(
        [[1, 2], [2, 1]], [[4, 4]], weights=[2, 1], task_limits=[1, 2], entitlements=[0.5, 0.5]
    )
    merged, groups = merge_users(instance)
    assert not groups.merges and merged.demands is instance.demands
    assert merged.weights.tolist() == [1, 1] and np.isinf(merged.task_limits).all()
    assert merged.entitlements is None


def test_servers_that_differ_in_eligibility_or_rates_stay_apart():
    capacities = [[4.0], [4.0], [4.0]]
    by_eligibility = fairlp.Instance.from_arrays(
        [[1], [1]], capacities, eligible=np.array([[1, 1, 1], [0, 1, 1]], dtype=bool)
    )
    assert merge_servers(by_eligibility)[1].of.tolist() == [0, 1, 1]
    by_rate = fairlp.Instance.from_arrays([[1], [1]], capacities, rates=[[1, 1, 2], [3, 3, 3]])
    assert merge_servers(by_rate)[1].of.tolist() == [0, 0, 1]


def test_proportional_users_become_one():
    demands = np.array(
        [[0.1, 0.3], [0.2, 0.6], [0.3, 0.9000000000000001], [0.3, 0.1], [1e-9, 3e-9]]
    )
    merged, groups = merge_users(fairlp.Instance.from_arrays(demands, [[5, 5]]))
    assert groups.of.tolist() == [0, 0, 0, 1, 0]
    np.testing.assert_allclose(groups.factor, [1, 2, 3, 1, 1e-8], rtol=1e-14)
    assert len(merged.users) == 2


def test_nearly_proportional_users_stay_apart():
    demands = [[1.0, 3.0], [1.0, 3.0 * (1 + 1e-12)], [1.0, 3.000001]]
    assert merge_users(fairlp.Instance.from_arrays(demands, [[5, 5]]))[1].of.tolist() == [0, 1, 2]


def test_users_of_other_servers_stay_apart():
    eligible = np.array([[1, 0], [1, 0], [1, 1]], dtype=bool)
    instance = fairlp.Instance.from_arrays([[1], [2], [2]], [[5], [6]], eligible=eligible)
    assert merge_users(instance)[1].of.tolist() == [0, 0, 1]


def test_rates_must_be_proportional_too():
    instance = fairlp.Instance.from_arrays(
        [[1], [2], [2]], [[5], [6]], rates=[[4, 2], [2, 1], [2, 2]]
    )
    assert merge_users(instance)[1].of.tolist() == [0, 0, 1]


@pytest.mark.parametrize("mechanism", ["drfh", "tsf", "asset"])
@settings(max_examples=many(40), deadline=None)
@given(seed=seeds)
def test_with_rates_and_many_equals(mechanism, seed):
    rng = np.random.default_rng(seed)
    base = rng.integers(1, 5, (2, 2)).astype(float)
    factor = rng.integers(1, 5, 6)
    demands = base[rng.integers(0, 2, 6)] * factor[:, None]
    capacities = rng.integers(5, 20, (2, 2)).astype(float)[rng.integers(0, 2, 5)]
    rates = None
    if mechanism == "tsf":
        rates = (rng.integers(1, 9, (1, 5)) / factor[:, None]).astype(float)
    instance = fairlp.Instance.from_arrays(
        demands,
        capacities,
        rates=rates,
        weights=rng.integers(1, 4, 6),
        task_limits=np.where(rng.random(6) < 0.4, rng.integers(0, 5, 6), np.inf),
        counts=rng.integers(1, 3, 5),
    )
    merged = fairlp.allocate(instance, mechanism, method="lp")
    plain = fairlp.allocate(instance, mechanism, method="lp", merge=False)
    assert (merged.usage.to_numpy() <= (capacities * instance.counts[:, None]) * (1 + 1e-9)).all()
    np.testing.assert_allclose(merged.totals, plain.totals, rtol=1e-9, atol=1e-12)
    assert merged.residual <= 1e-10
    # the split is in proportion: identical servers get tasks in proportion to their counts
    _, groups = merge_servers(instance)
    for group in range(len(groups)):
        members = np.flatnonzero(groups.of == group)
        per_server = merged.tasks_array[:, members] / instance.counts[members]
        np.testing.assert_allclose(
            per_server, per_server[:, [0]] * np.ones(len(members)), rtol=1e-12, atol=1e-14
        )


@settings(max_examples=many(30), deadline=None)
@given(seed=seeds)
def test_merging_twice_merges_nothing_more(seed):
    instance = random_instance(seed)
    servers, _ = merge_servers(instance)
    users, _ = merge_users(servers)
    assert not merge_servers(servers)[1].merges and not merge_users(users)[1].merges


def test_merging_is_reported_and_can_be_turned_off():
    instance = fairlp.Instance.from_arrays([[1, 2], [2, 4]], [[9, 9], [9, 9]])
    assert "1 users and 1 servers instead of 2 and 2" in fairlp.allocate(instance, "drfh").notes[0]
    assert fairlp.allocate(instance, "drfh", merge=False).notes == ()


@pytest.mark.parametrize("mechanism", ["drfh", "tsf"])
def test_users_with_demands_beyond_a_quotient_of_floats_are_not_proportional(mechanism):
    """2^-1000 beside 2^1000 is 0 as a part of it, and 2^-998 is four times as much; no tasks come of the first."""
    demands = [[2.0**1000, 2.0**-1000], [2.0**1000, 2.0**-998], [2.0**1000, 0.0]]
    instance = fairlp.Instance.from_arrays(demands, [[2.0**1010, 2.0**-1000]])
    assert not merge_users(instance)[1].merges
    allocation = fairlp.allocate(instance, mechanism, method="lp")
    # by hand: the second resource ends first, and the third user takes what the others leave of the
    # first
    assert allocation.totals.iloc[:2].tolist() == pytest.approx([0.5, 0.125], rel=1e-12)
    assert allocation.totals.iloc[2] == pytest.approx(2.0**10 - 0.625, rel=1e-12)


def test_users_whose_demands_are_too_far_apart_stay_apart():
    """A user of 2^1000 times another's demands is proportional to it, by a factor that no float is."""
    distant_users = fairlp.Instance.from_arrays(
        [[2.0**-600, 2.0**-600], [2.0**500, 2.0**500]], [[1.0, 1.0]]
    )
    closer_users = fairlp.Instance.from_arrays(
        [[2.0**-400, 2.0**-400], [2.0**400, 2.0**400]], [[1.0, 1.0]]
    )
    assert not merge_users(distant_users)[1].merges
    assert merge_users(closer_users)[1].factor.tolist() == [1.0, 2.0**800]


def test_a_few_pairs_that_make_many_servers_differ_are_left_out():
    """70 users may use one of 70 equal servers each, and a large one; two users may use all."""
    eligible = np.vstack([np.ones((2, 71), dtype=bool), np.eye(70, 71, dtype=bool)])
    eligible[:, 70] = True
    capacities = [*[[4.0]] * 70, [9.0]]
    instance = fairlp.Instance.from_arrays(np.ones((72, 1)), capacities, eligible=eligible)
    assert len(merge_servers(instance)[1]) == 71
    pairs = fewer_pairs(instance)
    assert pairs[:2].all() and pairs[:, 70].all() and not pairs[2:, :70].any()
    # users of a server each and no other one keep it
    eligible[2:, 70] = False
    assert fewer_pairs(instance.replace(eligible=eligible)) is None
    assert fewer_pairs(instance.select_users(np.arange(60))) is None
    assert fewer_pairs(instance.replace(eligible=None)) is None
