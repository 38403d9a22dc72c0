"""Audits against an optimum: bottlenecks, single resources, PS-DSF."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import fairlp
from audit_cases import audited, case, pair
from fairlp import Instance
from fairlp.auditing import fairness
from instances import random_instance
from profiles import many

OFF = (1e-6, 0.01, 1.0)


@pytest.mark.parametrize("deviation", OFF)
@pytest.mark.parametrize("user", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_max_min_of_a_single_resource_is_missed_from_either_side(deviation, user, sign):
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]])
    tasks = np.array([[5.0], [5.0]])
    assert fairness.single_resource(case(instance, tasks)).holds
    tasks[user, 0] += sign * deviation
    verdict = fairness.single_resource(case(instance, tasks))
    assert verdict.holds is False and verdict.margin == pytest.approx(-deviation / 10, rel=1e-3)


@pytest.mark.parametrize("mechanism", ["njc", "ceei"])
def test_fair_parts_are_entitlements_where_there_are_some(mechanism):
    """Both ask for all of one resource and are entitled to .7 and .3; weights say nothing then."""
    instance = Instance.from_arrays(
        [[1], [1]],
        [[10]],
        weights=[1, 5],
        task_limits=[10, 10],
        entitlements=[0.7, 0.3],
    )
    allocation = fairlp.allocate(instance, mechanism)
    properties = ["sharing incentive", "envy-free", "bottleneck", "single-resource"]
    assert allocation.totals.tolist() == pytest.approx([7, 3])
    assert fairlp.audit(instance, allocation, properties).holds.tolist() == [True] * 4
    by_weight = instance.derived(entitlements=None)
    assert fairlp.audit(by_weight, allocation, properties).holds.tolist() == [False] * 4


@settings(max_examples=many(40), deadline=None)
@given(st.integers(0, 10**9))
def test_max_min_by_entitlements_agrees_with_filling(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    demands, amounts = rng.integers(1, 5, n), rng.integers(1, 10, n)
    limits = np.where(rng.random(n) < 0.5, np.inf, rng.integers(1, 6, n))
    instance = Instance.from_arrays(
        demands[:, None],
        [[12]],
        task_limits=limits,
        weights=rng.integers(1, 4, n),
        entitlements=amounts / amounts.sum(),
    )
    shares = np.zeros(n)
    free, waits = 12.0, np.ones(n, dtype=bool)
    while free > 1e-12 and waits.any():
        room = np.where(waits, limits * demands - shares, np.inf)
        step = min(free / amounts[waits].sum(), (room / amounts).min())
        shares[waits] += step * amounts[waits]
        free -= step * amounts[waits].sum()
        waits &= limits * demands - shares > 1e-9
    tasks = shares / demands
    moved = tasks * np.where(np.arange(n) == tasks.argmax(), 0.9, 1.0)
    for given_tasks, holds in ((tasks, True), (moved, False)):
        findings = fairlp.audit(instance, given_tasks[:, None], ["single-resource", "bottleneck"])
        assert findings.holds.tolist() == [holds, holds]


def test_what_has_several_resources_or_whole_tasks_is_no_single_resource():
    several = Instance.from_arrays([[1.0, 0.1], [1.0, 1.0]], [[10.0, 20.0]])
    assert fairness.single_resource(case(several, [[1], [1]])).holds is None
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]])
    for audit in (fairness.single_resource, fairness.bottleneck, fairness.global_bottleneck):
        assert audit(case(instance, [[1], [1]], whole=True)).holds is None
        assert audit(case(instance, [[1], [1]])).holds is False


def test_a_bottleneck_is_everyones_on_every_server():
    servers = [[10.0, 20.0], [20.0, 10.0]]
    instance = Instance.from_arrays([[1.0, 1.0], [1.0, 1.0]], servers)
    assert fairness.common_bottleneck(instance) is None and fairness.common_dominant(instance) == 0
    apart = Instance.from_arrays([[2.0, 1.0], [1.0, 2.0]], [[10.0, 10.0]])
    assert fairness.common_bottleneck(apart) is None and fairness.common_dominant(apart) is None
    second = Instance.from_arrays([[1.0, 2.0], [1.0, 3.0]], [[10.0, 10.0]])
    assert fairness.common_bottleneck(second) == fairness.common_dominant(second) == 1


@pytest.mark.parametrize("division", ["rdm", "tdm"])
@pytest.mark.parametrize("deviation", OFF)
def test_a_fixed_point_is_feasible_and_nobody_could_gain(division, deviation):
    assert fairness.per_server(case(pair(), [[3, 4], [7, 0]]), division).holds
    gain = fairness.per_server(case(pair(), [[3, 4 - deviation], [7, 0]]), division)
    assert gain.holds is False and gain.margin <= -deviation / 4 * 0.99
    over = fairness.per_server(case(pair(), [[3, 4 * (1 + deviation)], [7, 0]]), division)
    assert over.holds is False and over.margin <= -deviation * 0.99


@settings(max_examples=many(30), deadline=None)
@given(st.integers(0, 10**9))
def test_best_responses_pass_and_a_moved_task_fails(seed):
    instance = random_instance(seed, limits=False)
    assume(instance.gamma().max() > 0)
    for division in ("rdm", "tdm"):
        tasks = fairlp.allocate(instance, f"psdsf-{division}").tasks_array
        name = f"PS-DSF ({division})"
        assert audited(instance, tasks, name, division=division).holds[name]
        assert not audited(instance, tasks * 0.9, name, division=division).holds[name]


def test_a_resource_is_the_bottleneck_of_all_where_they_can_run():
    """Server 2 has little memory, and counts for those only who may run there and have tasks."""
    demands = [[2.0, 1.0], [3.0, 2.0]]
    capacities = [[4.0, 8.0], [8.0, 2.0]]

    def bottleneck(**limits):
        return fairness.common_bottleneck(
            fairlp.Instance.from_arrays(demands, capacities, **limits)
        )

    assert bottleneck() is None
    assert bottleneck(eligible=[[True, False], [True, False]]) == 0
    assert bottleneck(eligible=[[False, True], [False, True]]) == 1
    assert bottleneck(eligible=[[True, False], [True, True]]) is None
    assert bottleneck(eligible=[[True, False], [True, True]], task_limits=[np.inf, 0]) == 0
