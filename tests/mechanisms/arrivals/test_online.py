"""``Arrivals``: the same as the batch at every step, changes that stay true, errors that change nothing."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

import fairlp
from arrival_cases import exact_shares, random_arrivals
from fairlp import Arrivals, Instance, examples
from fairlp.errors import InstanceError
from profiles import many


@pytest.mark.parametrize("seed", range(many(60)))
def test_every_step_equals_the_exact_reference(seed):
    demands, capacities, weights = random_arrivals(seed)
    names = [f"r{k}" for k in range(len(capacities))]
    horizon = float(weights.sum()) + seed % 3
    arrivals = Arrivals(dict(zip(names, capacities, strict=True)), horizon)
    before, changes = {}, []
    for k, expected in enumerate(exact_shares(demands, capacities, weights, horizon)):
        change = arrivals.add(k, dict(zip(names, demands[k], strict=True)), weights[k])
        current_shares = arrivals.shares
        np.testing.assert_allclose(current_shares, np.array(expected, dtype=float), rtol=1e-12)
        assert [arrivals.share(user) for user in arrivals] == current_shares.to_list()
        moved = {user: share for user, share in current_shares.items() if share != before.get(user)}
        assert set(moved) <= set(change.users) and len(change) == len(change.users)
        untouched = [user for user in arrivals if user not in change.users]
        assert [current_shares[user] for user in untouched] == [before[user] for user in untouched]
        assert change.shares.to_dict() == {user: current_shares[user] for user in change.users}
        assert arrivals.available == pytest.approx(weights[: k + 1].sum() / horizon)
        assert arrivals.used.max() == pytest.approx(arrivals.available, rel=1e-12)
        assert arrivals.level == pytest.approx(change.level)
        before = current_shares.to_dict()
        changes.append((change, change.shares))
    for change, shares in changes:  # what was changed then can be read later
        pd.testing.assert_series_equal(change.shares, shares)
    result = arrivals.result()
    batch = fairlp.allocate(arrivals.instance(), "dynamic-drf", horizon=horizon)
    np.testing.assert_allclose(result.level_array, batch.level_array, rtol=1e-12)
    np.testing.assert_allclose(result.steps.iloc[-1], arrivals.shares, rtol=1e-12)
    assert result.step_residual <= 1e-12
    assert fairlp.formulate(arrivals.instance(), "dynamic-drf").solve().status.is_optimal


def cluster(horizon=3):
    return Arrivals({"cpu": 9, "memory": 18}, horizon)


@pytest.mark.parametrize(
    ("resources", "horizon", "message"),
    [
        ({}, 3, "there are no resources"),
        ({"cpu": 0}, 3, "capacity of 'cpu' is 0"),
        ({"cpu": -1}, 3, "capacity of 'cpu' is -1"),
        ({"cpu": float("nan")}, 3, "capacity of 'cpu' is nan"),
        ({"cpu": "many"}, 3, "capacity of 'cpu' is 'many'"),
        ({"cpu": 1}, 0, "horizon is 0"),
        ({"cpu": 1}, float("inf"), "horizon is inf"),
        ({"cpu": 1}, None, "horizon is None"),
        (examples.wang_figure_1(), 3, "there are 2"),
    ],
)
def test_bad_clusters(resources, horizon, message):
    with pytest.raises(InstanceError, match=message):
        Arrivals(resources, horizon)


@pytest.mark.parametrize(
    ("user", "demand", "weight", "message"),
    [
        ("ann", [1, 1], 1, "'ann' came already, at step 1"),
        ("bob", {"cpu": 1, "gpus": 1}, 1, "user 'bob' demands 'gpus', which is no resource"),
        ("bob", {"cpu": float("nan")}, 1, "user 'bob', resource 'cpu', is nan"),
        ("bob", {"cpu": float("inf")}, 1, "resource 'cpu', is inf"),
        ("bob", {"cpu": -1}, 1, "resource 'cpu', is -1"),
        ("bob", {"cpu": "1"}, 1, "resource 'cpu', is '1'; expected a number"),
        ("bob", {"memory": None}, 1, "resource 'memory', is None"),
        ("bob", {}, 1, "'bob' demands nothing"),
        ("bob", [0, 0], 1, "'bob' demands nothing"),
        ("bob", [1], 1, "has 1 amounts; expected 2, of 'cpu', 'memory'"),
        ("bob", 3, 1, "demand of user 'bob' is 3"),
        ("bob", "12", 1, "has 2 amounts"),
        ("bob", [1, 1], 0, "weight of user 'bob' is 0"),
        ("bob", [1, 1], -2, "weight of user 'bob' is -2"),
        (
            "bob",
            [1, 1],
            2.5,
            "'bob' is beyond the horizon: 1 users of a total weight of 1 are here, and 3 were",
        ),
        ("", [1, 1], 1, "user label ''"),
        (1.5, [1, 1], 1, "user label 1.5 is float"),
        (None, [1, 1], 1, "user label None"),
    ],
)
def test_bad_users_change_nothing(user, demand, weight, message):
    arrivals = cluster()
    arrivals.add("ann", {"cpu": 1, "memory": 4})
    before = (arrivals.shares, arrivals.used, repr(arrivals))
    with pytest.raises(InstanceError, match=message):
        arrivals.add(user, demand, weight)
    pd.testing.assert_series_equal(arrivals.shares, before[0])
    pd.testing.assert_series_equal(arrivals.used, before[1])
    assert repr(arrivals) == before[2]
    arrivals.add("bob", {"cpu": 3, "memory": 1})
    arrivals.add("cem", {"cpu": 3, "memory": 1})
    with pytest.raises(InstanceError, match="'dil' is beyond the horizon"):
        arrivals.add("dil", [1, 1])


def test_weights_that_fill_the_horizon_but_for_rounding():
    arrivals = Arrivals({"cpu": 1}, 1)
    for k in range(10):
        arrivals.add(k, [1], 0.1)
    assert arrivals.available <= 1 and arrivals.used["cpu"] == pytest.approx(1)
    arrivals.result()


@pytest.mark.slow
def test_an_arrival_costs_the_same_at_the_end_as_at_the_beginning():
    n = 60_000
    demands = np.random.default_rng(0).uniform(0.01, 1, (n, 3)).tolist()
    arrivals = Arrivals({"a": 1, "b": 1, "c": 1}, n)
    seconds = []
    for third in range(3):
        start = time.perf_counter()
        for k in range(third * n // 3, (third + 1) * n // 3):
            arrivals.add(k, demands[k])
        seconds.append(time.perf_counter() - start)
    assert seconds[2] < 5 * seconds[0]
    batch = fairlp.allocate(Instance.from_arrays(demands, [[1, 1, 1]]), "dynamic-drf")
    np.testing.assert_allclose(arrivals.result().level_array, batch.level_array, rtol=1e-9)
