"""What is not connected is solved apart: the same levels, tasks, rounds and prices as one program for all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairlp
from fairlp.models.instances.merging import components, select
from profiles import many


def apart(seed, limits=True, blocks=None):
    """Some blocks of users and servers, in a shuffled order; users who can run nowhere; servers of nobody."""
    rng = np.random.default_rng(seed)
    blocks = blocks or int(rng.integers(1, 5))
    users, servers = blocks * int(rng.integers(1, 4)) + 1, blocks * int(rng.integers(1, 4)) + 1
    demands = rng.integers(0, 4, (users, 2)).astype(float)
    demands[~demands.any(axis=1), 0] = 1
    capacities = rng.integers(0, 6, (servers, 2)).astype(float)
    capacities[:, 0] += 1
    capacities[0, 1] += 1
    own, at = rng.permutation(np.arange(users) % (blocks + 1)), rng.permutation(np.arange(servers) % (blocks + 1))
    more = {"task_limits": np.where(rng.random(users) < 0.4, rng.integers(1, 5, users), np.inf)} if limits else {}
    weights = rng.integers(1, 4, users).astype(float)
    return fairlp.Instance.from_arrays(demands, capacities, eligible=own[:, None] == at, weights=weights, **more)


@pytest.mark.parametrize("mechanism", ["drfh", "tsf", "asset"])
@pytest.mark.parametrize("seed", range(many(40)))
def test_the_same_as_one_program(seed, mechanism):
    instance = apart(seed)
    found, whole = (fairlp.allocate(instance, mechanism, method="lp", merge=merge) for merge in (True, False))
    np.testing.assert_allclose(found.levels, whole.levels, rtol=1e-9, atol=1e-12)
    assert found.residual <= 1e-9
    # of users who are stopped at one level, one program may find some a round later
    for column in ("users", "satisfied"):
        at, expected = (
            {user: row.level for row in one.rounds.itertuples() for user in getattr(row, column)}
            for one in (found, whole)
        )
        assert at == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(many(20)))
def test_the_levels_are_those_of_exact_rationals(seed):
    found = fairlp.allocate(apart(seed), "drfh", method="lp")
    assert found.certify(exact=True)


@pytest.mark.parametrize("seed", range(many(20)))
def test_prices_prove_the_first_level(seed):
    """With Σ p·c = level and Σ due·(lowest cost) = 1, nobody's level can be raised without another's falling."""
    instance = apart(seed, limits=False)
    found = fairlp.allocate(instance, "drfh", method="lp")
    prices, runs = found.prices.to_numpy(), instance.runnable()
    cost = np.where(runs, instance.demands @ prices.T, np.inf).min(axis=1)
    able = runs.any(axis=1)
    due = instance.weights / (instance.demands / instance.pool).max(axis=1)
    assert (cost[able] * due[able]).sum() == pytest.approx(1.0)
    worth = (prices * instance.capacities * instance.counts[:, None]).sum()
    assert worth == pytest.approx(found.levels[able].min())


@given(st.integers(0, 10**6))
@settings(max_examples=many(60))
def test_components_are_a_partition_without_pairs_between(seed):
    instance = apart(seed)
    runs = instance.runnable()
    parts = list(components(instance))
    assert sorted(n for users, _ in parts for n in users) == np.flatnonzero(runs.any(axis=1)).tolist()
    assert sorted(i for _, servers in parts for i in servers) == np.flatnonzero(runs.any(axis=0)).tolist()
    for users, servers in parts:
        others = np.setdiff1d(np.arange(len(instance.servers)), servers)
        assert runs[np.ix_(users, servers)].any(axis=1).all() and not runs[np.ix_(users, others)].any()
        own = select(instance, users, servers)
        assert len(list(components(own))) == 1
        np.testing.assert_array_equal(own.runnable(), runs[np.ix_(users, servers)])


def test_many_components_take_few_programs():
    instance = fairlp.Instance.from_arrays(
        np.ones((30, 1)), np.arange(1, 31.0)[:, None], eligible=np.eye(30, dtype=bool)
    )
    found = fairlp.allocate(instance, "drfh", method="lp")
    np.testing.assert_allclose(found.tasks.to_numpy(), np.diag(np.arange(1, 31.0)))
    assert len(found.rounds) == 30
