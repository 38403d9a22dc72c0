"""Leximin of instances against an oracle that shares no code with it, and what is not connected, solved apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brute_force
import fairlp
from fairlp import Instance
from fairlp.models.instances.merging import components, fewer_pairs, select
from fairlp.solvers.leximin import left_out, leximin
from fairlp.tolerances import VERIFIED
from instances import random_instance, seeds
from profiles import by_day, many

SERVERS = ["asset", "drfh", "c-drfh", "cdrf", "tsf"]


def expected_levels(instance, mechanism):
    """Levels by the oracle; users who cannot run anything have none."""
    arrays = instance.demands, instance.capacities, instance.counts, instance.eligible
    able_users = instance.runnable().any(axis=1) & (instance.task_limits > 0)
    levels = np.zeros(len(able_users))
    if able_users.any():
        normaliser = brute_force.normaliser(mechanism, *arrays)
        rate = instance.user_weights * normaliser
        runnable = brute_force.gamma(*arrays[:3]) * instance.eligible > 0
        levels[able_users] = brute_force.leximin(
            arrays[0][able_users],
            *arrays[1:3],
            runnable[able_users],
            rate[able_users],
            instance.task_limits[able_users],
        )
    return levels


def assert_levels_of_brute_force(instance, mechanism, **options):
    allocation = fairlp.allocate(instance, mechanism, **options)
    assert allocation.residual <= VERIFIED / 100
    expected = expected_levels(instance, mechanism)
    np.testing.assert_allclose(
        allocation.levels, expected, rtol=1e-6, atol=1e-9 * max(expected.max(initial=0), 1e-9)
    )
    assert (allocation.tasks_array[~instance.eligible] == 0).all()


@pytest.mark.parametrize("mechanism", ["drf", "edrf"])
@pytest.mark.parametrize("method", ["lp", "rounds"])
@settings(max_examples=many(24), deadline=None)
@given(seed=seeds)
def test_one_server_against_one_lp_a_user(mechanism, method, seed):
    assert_levels_of_brute_force(random_instance(seed, servers=1), mechanism, method=method)


@pytest.mark.parametrize("mechanism", SERVERS)
@pytest.mark.parametrize("merge", [True, False])
@settings(max_examples=many(24), deadline=None)
@given(seed=seeds)
def test_many_servers_against_one_lp_a_user(mechanism, merge, seed):
    instance = random_instance(seed, constraints=mechanism != "cdrf")
    assert_levels_of_brute_force(instance, mechanism, method="lp", merge=merge)


@pytest.mark.parametrize("mechanism", SERVERS)
@settings(max_examples=many(16), deadline=None)
@given(seed=seeds)
def test_magnitudes_from_a_millionth_to_a_billion(mechanism, seed):
    instance = random_instance(
        seed, constraints=mechanism != "cdrf", magnitudes=True, integers=False
    )
    assert_levels_of_brute_force(instance, mechanism, method="lp")


@pytest.mark.parametrize("mechanism", ["drf", "edrf", *SERVERS, "naive-drf"])
@settings(max_examples=many(12), deadline=None)
@given(seed=seeds)
def test_every_method_agrees_with_the_unmerged_lp(mechanism, seed):
    is_single = mechanism in ("drf", "edrf") or seed % 3 == 0
    instance = random_instance(
        seed, servers=1 if is_single else None, constraints=mechanism != "cdrf"
    )
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
    np.testing.assert_allclose(
        other.totals.to_numpy(), plain.totals.to_numpy()[users], rtol=1e-8, atol=1e-12
    )


def test_prices_and_rounds_tell_who_stopped_for_want_of_tasks():
    """One user stops at its limit; the price is the growth of the other's level, not of a round that ignored limits."""
    instance = fairlp.Instance.from_arrays([[1], [1]], [[10]], task_limits=[1, None])
    for method in ("lp", "rounds"):
        allocation = fairlp.allocate(instance, "drf", method=method)
        assert allocation.levels.tolist() == pytest.approx([0.1, 0.9])
        assert allocation.rounds["satisfied"].tolist() == [["user1"]]
    assert fairlp.allocate(instance, "drf", method="lp").prices.iloc[0, 0] == pytest.approx(0.1)
    roomy = fairlp.allocate(
        fairlp.Instance.from_arrays([[1]], [[10]], task_limits=[1]), "drf", method="lp"
    )
    assert roomy.prices is None and roomy.totals.tolist() == [1]


@pytest.mark.slow
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
    user_part, server_part = (
        rng.permutation(np.arange(users) % (blocks + 1)),
        rng.permutation(np.arange(servers) % (blocks + 1)),
    )
    fields = (
        {"task_limits": np.where(rng.random(users) < 0.4, rng.integers(1, 5, users), np.inf)}
        if limits
        else {}
    )
    weights = rng.integers(1, 4, users).astype(float)
    return fairlp.Instance.from_arrays(
        demands, capacities, eligible=user_part[:, None] == server_part, weights=weights, **fields
    )


@pytest.mark.parametrize("mechanism", ["drfh", "tsf", "asset"])
@pytest.mark.parametrize("seed", range(many(40)))
def test_the_same_as_one_program(seed, mechanism):
    instance = apart(seed)
    allocation, whole = (
        fairlp.allocate(instance, mechanism, method="lp", merge=merge) for merge in (True, False)
    )
    np.testing.assert_allclose(allocation.levels, whole.levels, rtol=1e-9, atol=1e-12)
    assert allocation.residual <= 1e-9
    round_levels, expected = (
        {user: row.level for row in answer.rounds.itertuples() for user in row.users}
        for answer in (allocation, whole)
    )
    # of users who have all their tasks, one program may find some a round later
    limits = dict(zip(instance.users, instance.task_limits, strict=True))
    is_satisfied = {
        user: total >= limits[user] * (1 - 1e-9) for user, total in allocation.totals.items()
    }
    for user, level in round_levels.items():
        if is_satisfied[user]:
            assert min(level, expected[user]) >= allocation.levels[user] * (1 - 1e-9)
        else:
            assert level == pytest.approx(expected[user], rel=1e-9)
    assert set(round_levels) == set(expected)


@pytest.mark.parametrize("seed", range(many(20)))
def test_the_levels_are_those_of_exact_rationals(seed):
    answer = fairlp.allocate(apart(seed), "drfh", method="lp")
    assert answer.certify(exact=True)


@pytest.mark.parametrize("seed", range(many(20)))
def test_prices_prove_the_first_level(seed):
    """With Σ p·c = level and Σ due·(lowest cost) = 1, nobody's level can be raised without another's falling."""
    instance = apart(seed, limits=False)
    answer = fairlp.allocate(instance, "drfh", method="lp")
    prices, runs = answer.prices.to_numpy(), instance.runnable()
    cost = np.where(runs, instance.demands @ prices.T, np.inf).min(axis=1)
    able_users = runs.any(axis=1)
    due = instance.weights / (instance.demands / instance.pool).max(axis=1)
    assert (cost[able_users] * due[able_users]).sum() == pytest.approx(1.0)
    value = (prices * instance.capacities * instance.counts[:, None]).sum()
    assert value == pytest.approx(answer.levels[able_users].min())


@given(st.integers(0, 10**6))
@settings(max_examples=many(60))
def test_components_are_a_partition_without_pairs_between(seed):
    instance = apart(seed)
    runs = instance.runnable()
    parts = list(components(instance))
    assert (
        sorted(n for users, _ in parts for n in users) == np.flatnonzero(runs.any(axis=1)).tolist()
    )
    assert (
        sorted(i for _, servers in parts for i in servers)
        == np.flatnonzero(runs.any(axis=0)).tolist()
    )
    for users, servers in parts:
        others = np.setdiff1d(np.arange(len(instance.servers)), servers)
        assert (
            runs[np.ix_(users, servers)].any(axis=1).all() and not runs[np.ix_(users, others)].any()
        )
        component = select(instance, users, servers)
        assert len(list(components(component))) == 1
        np.testing.assert_array_equal(component.runnable(), runs[np.ix_(users, servers)])


def test_many_components_take_few_programs():
    instance = fairlp.Instance.from_arrays(
        np.ones((30, 1)), np.arange(1, 31.0)[:, None], eligible=np.eye(30, dtype=bool)
    )
    answer = fairlp.allocate(instance, "drfh", method="lp")
    np.testing.assert_allclose(answer.tasks.to_numpy(), np.diag(np.arange(1, 31.0)))
    assert len(answer.rounds) == 30


def nearly_alike(rng, scarce):
    """A cluster of two kinds of servers in three zones, and users who may also run on a few servers elsewhere."""
    users, servers = 60, 160
    zone, user_zone = np.arange(servers) % 3, rng.integers(-1, 3, users)
    eligible = (user_zone[:, None] < 0) | (user_zone[:, None] == zone)
    eligible |= rng.random((users, servers)) < 0.03
    capacities = np.array([[8.0, 16.0], [4.0, 32.0]])[np.arange(servers) % 2]
    limits = rng.integers(1, 12, users) * (10.0 if scarce else 1.0)
    queue = [f"q{k}" for k in rng.integers(0, 6, users)]
    demands = rng.integers(1, 4, (users, 2)) * 1.0
    return Instance.from_arrays(
        demands, capacities, eligible=eligible, task_limits=limits, queue=queue
    )


@pytest.mark.parametrize("mechanism", ["drfh", "h-drf", "h-drf-counted", "tsf", "kueue"])
@pytest.mark.parametrize("scarce", [False, True])
@pytest.mark.parametrize("seed", by_day(range(3), 3))
def test_pairs_are_left_out_only_where_no_price_asks_for_them(mechanism, scarce, seed, monkeypatch):
    case = nearly_alike(np.random.default_rng(seed), scarce)
    if mechanism == "kueue":  # quotas of the second resource come to more than there is
        nominal = dict(zip(case.resources, case.pool / [8, 5], strict=True))
        case = case.replace(queues={queue: {"nominal": nominal} for queue in case.tree.paths[1:]})
    tried = []
    of = left_out.LeftOutPairs.of
    monkeypatch.setattr(
        left_out.LeftOutPairs, "of", lambda *pairs: tried.append(of(*pairs)) or tried[-1]
    )
    answer = fairlp.allocate(case, mechanism, method="lp")
    assert tried and len(tried[0].user) > 100
    monkeypatch.setattr(leximin, "fewer_pairs", lambda instance: None)
    whole = fairlp.allocate(case, mechanism, method="lp")
    assert answer.totals.to_numpy() == pytest.approx(whole.totals.to_numpy(), rel=1e-9)
    assert (answer.tasks.to_numpy()[~case.eligible] == 0).all()


@pytest.mark.parametrize(
    ("mechanism", "due"), [("drfh", "nominal"), ("kueue", "nominal"), ("h-drf", "guarantee")]
)
def test_pairs_that_were_left_out_are_taken_in_where_they_help(mechanism, due):
    """The small servers are full; each user may also run on one large server, where nobody else may."""
    users, servers = 70, 140
    eligible = np.zeros((users, servers), dtype=bool)
    eligible[:, :70] = True
    eligible[np.arange(users), 70 + np.arange(users)] = True
    sizes = np.repeat([[1.0], [2.0]], 70, axis=0)
    queue = [f"q{n}" for n in range(users)]
    quotas = {name: {due: {"resource1": 3}} for name in queue}
    case = Instance.from_arrays(
        np.ones((users, 1)), sizes, eligible=eligible, queue=queue, queues=quotas
    )
    pairs = fewer_pairs(case)
    assert pairs is not None and not pairs[:, 70:].any()
    totals = fairlp.allocate(case, mechanism, method="lp").totals.to_numpy()
    assert totals == pytest.approx(np.full(users, 3.0), rel=1e-9)


def test_windows_of_servers_leave_no_pairs_out():
    windows = (np.arange(90)[None, :] - np.arange(60)[:, None]) % 90 < 30
    assert (
        fewer_pairs(Instance.from_arrays(np.ones((60, 1)), np.ones((90, 1)), eligible=windows))
        is None
    )
