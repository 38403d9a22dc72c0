"""Bounds of prices on what a lie brings, beside runs of the mechanism by another solver."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from audit_cases import audited, case
from fairlp import Instance
from fairlp.auditing import reports
from fairlp.auditing.price_bounds import PriceBounds
from profiles import by_day

MECHANISMS = ["asset", "drfh", "c-drfh", "cdrf", "tsf"]


def drawn(rng, **options):
    users, servers, resources = rng.integers(2, 6), rng.integers(2, 5), rng.integers(1, 4)
    demands = rng.uniform(1, 9, (users, resources))
    return Instance.from_arrays(demands, rng.uniform(5, 40, (servers, resources)), **options)


def case_of(instance, mechanism):
    allocation = fairlp.allocate(instance, mechanism)
    return dataclasses.replace(case(instance, allocation.tasks_array), mechanism=mechanism)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("seed", by_day(range(6), 2))
def test_no_lie_brings_more_than_the_bound(mechanism, seed):
    rng = np.random.default_rng(seed)
    instance = drawn(rng)
    bounds = PriceBounds.of(case_of(instance, mechanism))
    user = int(rng.integers(len(instance.users)))
    for _ in range(6):
        demands = instance.demands.copy()
        demands[user] = demands[user] * rng.uniform(0.3, 3, demands.shape[1])
        eligible = np.ones_like(instance.eligible)
        if mechanism != "cdrf":
            eligible[user, rng.integers(eligible.shape[1])] = rng.random() < 0.5
        lie = instance.replace(demands=demands, eligible=eligible)
        bound = bounds.claimed_tasks(lie, user)
        by_scipy = fairlp.allocate(lie, mechanism, method="lp", solver="scipy")
        assert np.isfinite(bound)
        assert by_scipy.totals.iloc[user] <= bound * (1 + 1e-6)


@pytest.mark.parametrize("seed", by_day(range(4), 2))
def test_a_search_with_bounds_says_what_runs_of_every_lie_say(seed):
    instance = drawn(np.random.default_rng(seed))
    audit_case = dataclasses.replace(case_of(instance, "drfh"), tries=40)
    tried = reports.tried_lies(audit_case)
    gains = []
    for _, user, demand, eligible in tried:
        demands = instance.demands.copy()
        demands[user] = demand
        allowed = np.array(instance.eligible)
        allowed[user] = eligible
        lie = instance.replace(demands=demands, eligible=allowed)
        tasks = fairlp.allocate(lie, "drfh").tasks_array[user]
        own = reports.own_tasks(audit_case, user, demand, tasks)
        gains.append((own - audit_case.totals[user]) / audit_case.alone[user])
    assert len(tried) == 40
    assert all(gain <= lie[0] + 1e-9 for gain, lie in zip(gains, tried, strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {"task_limits": [3, np.inf, np.inf, np.inf]},
        {"eligible": [[True, False], [True, False], [False, True], [False, True]]},
        {"rates": [[1, 2], [3, 4], [5, 6], [7, 8]]},
    ],
)
def test_where_levels_may_end_apart_prices_bound_nothing(options):
    demands = [[1, 2], [2, 1], [3, 3], [1, 1]]
    instance = Instance.from_arrays(demands, [[9, 9], [8, 7]], **options)
    mechanism = "tsf" if "rates" in options else "drfh"
    assert PriceBounds.of(case_of(instance, mechanism)) is None


def test_a_liar_who_leaves_out_a_resource_may_rise_above_the_others():
    instance = Instance.from_arrays([[1, 2], [2, 1], [3, 3]], [[9, 9], [8, 7]])
    bounds = PriceBounds.of(case_of(instance, "drfh"))
    lie = instance.replace(demands=[[1, 0], [2, 1], [3, 3]])
    assert bounds.claimed_tasks(lie, 0) == np.inf


def test_a_lie_that_pays_under_another_mechanism_is_still_found():
    instance = fairlp.counterexample("naive-drf", "strategy-proof")
    allocation = fairlp.allocate(instance, "naive-drf")
    assert PriceBounds.of(case_of(instance, "naive-drf")) is None
    table = audited(instance, allocation, "strategy-proof")
    assert table.holds.tolist() == [False]
