"""An allocation over arrivals: its steps, certificate, ratios and files, also with planted errors."""

from __future__ import annotations

import dataclasses
import time
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from arrival_cases import INSTANCE, bound, instance_of, planted, random_arrivals, tight, with_levels
from fairlp import Instance
from fairlp.errors import TooLargeError
from fairlp.tolerances import AGREEMENT
from profiles import many

MECHANISMS = ["dynamic-drf", "cautious-lp"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("seed", range(many(30)))
def test_tables_are_of_one_piece(seed, mechanism):
    demands, capacities, weights = random_arrivals(seed)
    rng = np.random.default_rng(seed)
    arrivals = pd.DataFrame({"arrival": rng.integers(0, 5, len(demands))})
    instance = Instance.from_arrays(
        demands, [capacities], weights=weights, user_attributes=arrivals
    )
    result = fairlp.allocate(instance, mechanism, horizon=weights.sum() * 1.5)
    order = np.argsort(arrivals["arrival"].to_numpy(), kind="stable")
    steps = result.steps
    assert list(steps.columns) == [instance.users[k] for k in order]
    assert list(steps.index) == list(range(1, len(demands) + 1))
    assert (steps.isna().to_numpy() == np.triu(np.ones(steps.shape, dtype=bool), 1)).all()
    for step in steps.index:
        row = steps.loc[step].dropna()
        allocation = result.at(step)
        assert isinstance(allocation, fairlp.Allocation) and allocation.mechanism == mechanism
        np.testing.assert_allclose(allocation.shares[row.index], row, rtol=1e-12)
        np.testing.assert_allclose(
            allocation.totals[row.index], row * result.gamma[order[:step]], rtol=1e-12
        )
        np.testing.assert_allclose(
            allocation.pool_utilization, result.utilization_by_step.loc[step], rtol=1e-12
        )
        assert allocation.levels.min() == pytest.approx(result.levels[step], rel=1e-12)
        assert list(allocation.instance.users) == [u for u in instance.users if u in set(row.index)]
        assert result.competitive()["sum"][step] == pytest.approx(row.sum(), rel=1e-12)
    np.testing.assert_allclose(result.totals, result.at(len(demands)).totals)
    assert list(result.totals.index) == list(instance.users)
    assert result.rounds["raised"].iloc[0] == 1 and list(result.rounds["user"]) == list(
        steps.columns
    )


def test_many_users_take_no_dense_table():
    n = 12_000
    rng = np.random.default_rng(0)
    instance = Instance.from_arrays(rng.uniform(0.01, 1, (n, 3)), [[n] * 3])
    start = time.perf_counter()
    result = fairlp.allocate(instance, "dynamic-drf")
    assert result.step_residual < 1e-9
    np.testing.assert_allclose(result.utilization_by_step.max(axis=1), result.available, rtol=1e-9)
    assert result.competitive()["cr2"].between(1 / 3, 1 + 1e-9).all()
    assert time.perf_counter() - start < 10
    with pytest.raises(TooLargeError, match=r"12000 steps × 12000 users would take 1\.07 GiB"):
        result.steps  # noqa: B018
    with pytest.raises(MemoryError):
        result.properties()
    assert result.at(n // 2).totals.size == n // 2
    assert repr(result) and result.summary().shape == (n, 4)


DRF = fairlp.mechanisms.find("dynamic-drf")


CAUTIOUS = fairlp.mechanisms.find("cautious-lp")


@pytest.mark.parametrize("seed", range(many(40)))
def test_certificates_hold_and_planted_errors_are_found(seed):
    demands, capacities, weights = random_arrivals(seed)
    instance = Instance.from_arrays(demands, [capacities], weights=weights)
    for row in (DRF, CAUTIOUS):
        for method in row.method_names:
            answer = fairlp.allocate(
                instance, row.name, method=method, horizon=float(weights.sum()) + seed % 2
            )
            assert answer.certify(), (row.name, method)
        position = seed % len(answer.level_array)
        for deviation in (1e-6, -1e-6, 1.0, -0.5):
            levels = answer.level_array.copy()
            levels[position] *= 1 + deviation
            wrong_allocation = with_levels(answer, levels)
            assert not wrong_allocation.certify(), (row.name, deviation)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("step", range(4))
@pytest.mark.parametrize("deviation", [1e-8, 1e-6, 0.1])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_wrong_level_of_any_step_is_found(mechanism, step, deviation, sign):
    right, wrong_allocation = planted(mechanism, step, 1 + sign * deviation)
    assert right.certify().holds
    verdict = wrong_allocation.certify()
    assert not verdict.holds and verdict.message.startswith(
        ("not optimal: the level of step", "infeasible")
    )


def test_what_is_too_high_within_what_may_be_given_out_is_found():
    """The cautious LP gives out less than it may: more is not infeasible, and wrong all the same."""
    rising = Instance.from_arrays([[1.0, 0.1], [0.1, 1.0]], [[1, 1]])
    right = fairlp.allocate(rising, "cautious-lp", horizon=3)
    high = with_levels(right, right.level_array * [1, 1.0001])
    assert right.certify().holds and high.step_residual == 0
    assert "infeasible: the level of step 2 is too high" in high.certify().message
    _, low = planted("dynamic-drf", 3, 0.99)
    assert "could be raised" in low.certify().message


def test_a_step_that_gives_out_too_much_is_infeasible():
    _, high = planted("dynamic-drf", 2, 1.5)
    assert high.certify().message.startswith("infeasible")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_level_of_zero_is_a_loss_and_divides_nothing(mechanism):
    _, wrong_allocation = planted(mechanism, 1, 0.0)
    assert wrong_allocation.step_residual > 0


def test_tasks_that_are_not_those_of_the_levels_are_not_proved():
    right = fairlp.allocate(INSTANCE, "dynamic-drf")
    assert not dataclasses.replace(right, tasks_array=right.tasks_array * 0.9).certify()


def test_static_drf_of_the_competitive_table_is_drf():
    instance = instance_of(1)
    versus = fairlp.allocate(instance, "dynamic-drf").competitive()
    for step in range(1, len(instance.users) + 1):
        users_so_far = instance.select_users(np.arange(step))
        level = fairlp.allocate(users_so_far, "drf", method="lp").levels.min()
        available = instance.user_weights[:step].sum() / instance.user_weights.sum()
        assert versus["drf"][step] == pytest.approx(level * available, rel=1e-9)


@pytest.mark.parametrize(
    ("resources", "horizon", "printed"),
    [(2, 10, 0.55556), (4, 20, 0.29412), (4, 200, 0.25381), (8, 65, 0.14009)],
)
def test_the_bound_for_smallest_share_and_sum_alike(resources, horizon, printed):
    demands = np.array(tight(resources, horizon, Fraction(1, 10**9)), dtype=float)
    table = fairlp.allocate(
        Instance.from_arrays(demands, [np.ones(resources)]), "cautious-lp"
    ).competitive()
    assert float(bound(resources, horizon)) == pytest.approx(printed, abs=5e-6)
    assert table.bound.to_numpy() == pytest.approx(
        [float(bound(resources, horizon))] * horizon, rel=AGREEMENT
    )
    for ratio in ("cr1", "cr2"):
        assert (
            table[ratio].min() == pytest.approx(printed, abs=5e-6)
            and table[ratio].idxmin() == resources
        )


@settings(max_examples=many(60), deadline=None)
@given(st.integers(0, 10**9))
def test_the_bound_that_the_answer_states_holds_with_weights_and_a_longer_horizon(seed):
    demands, capacities, weights = random_arrivals(seed)
    instance = Instance.from_arrays(demands, [capacities], weights=weights)
    extra = np.random.default_rng(seed).choice([0.0, 0.5, 7.0])
    for mechanism in MECHANISMS:
        ratios = fairlp.allocate(instance, mechanism, horizon=weights.sum() + extra).competitive()
        assert (ratios.cr2 >= ratios.bound * (1 - AGREEMENT)).all()


def test_the_largest_violation_is_of_what_a_step_gives_out_or_of_a_user_who_loses():
    instance = Instance.from_arrays(np.ones((2, 1)), [[2.0]])
    right = fairlp.allocate(instance, "dynamic-drf")
    assert right.level_array.tolist() == [0.5, 0.5] and right.step_residual == 0
    assert with_levels(right, right.level_array * [1, 1.2]).step_residual == pytest.approx(0.2)
    rising = Instance.from_arrays([[1.0, 0.1], [0.1, 1.0]], [[1, 1]])
    right = fairlp.allocate(rising, "dynamic-drf")
    assert right.first_array.tolist() == [0, 0]
    fallen = with_levels(right, right.level_array[0] * np.array([1, 0.75]))
    assert fallen.step_residual == pytest.approx(0.25)
