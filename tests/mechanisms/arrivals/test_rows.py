"""Dynamic DRF and the cautious LP: every method against the others, exact shares and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from arrival_cases import (
    arrivals,
    exact_shares,
    exact_twins,
    instance_of,
    linprog_shares,
    random_arrivals,
)
from fairlp import Instance, examples
from fairlp.errors import NotDefinedError
from profiles import by_day, many

DRF = fairlp.mechanisms.find("dynamic-drf")


CAUTIOUS = fairlp.mechanisms.find("cautious-lp")


def rows_of(result):
    return [result.steps.iloc[k, : k + 1].to_numpy() for k in range(len(result.levels))]


def assert_close_rows(row, other, within=1e-9):
    for a, b in zip(row, other, strict=True):
        np.testing.assert_allclose(
            np.array(a, dtype=float), np.array(b, dtype=float), rtol=within, atol=0
        )


# at 1185, HiGHS ends step 4 from the last basis with a row missed by 2e-9
@pytest.mark.parametrize("seed", dict.fromkeys([*range(many(120)), 1185]))
def test_methods_equal_each_other_and_an_exact_reference(seed):
    demands, capacities, weights = random_arrivals(seed)
    instance = Instance.from_arrays(demands, [capacities], weights=weights)
    expected = exact_shares(demands, capacities, weights)
    for method in DRF.method_names:
        result = fairlp.allocate(instance, "dynamic-drf", method=method)
        assert_close_rows(rows_of(result), expected)
        assert result.step_residual <= 1e-9


@pytest.mark.parametrize("seed", range(many(45)))
def test_dynamic_drf_equals_its_program_in_scipy(seed):
    demands, capacities, weights = random_arrivals(seed + 1000)
    instance = Instance.from_arrays(demands, [capacities], weights=weights)
    assert_close_rows(
        rows_of(fairlp.allocate(instance, "dynamic-drf")),
        linprog_shares(demands, capacities, weights),
        1e-6,
    )


@pytest.mark.parametrize("seed", range(many(45)))
def test_cautious_lp_equals_its_program_in_scipy(seed):
    demands, capacities, weights = random_arrivals(seed + 2000)
    instance = Instance.from_arrays(demands, [capacities], weights=weights)
    expected = linprog_shares(demands, capacities, weights, cautious=True)
    for method in CAUTIOUS.method_names:
        assert_close_rows(
            rows_of(fairlp.allocate(instance, "cautious-lp", method=method)), expected, 1e-6
        )
    closed, lp = (
        fairlp.allocate(instance, "cautious-lp", method=method) for method in CAUTIOUS.method_names
    )
    assert_close_rows(rows_of(closed), rows_of(lp))


@pytest.mark.parametrize("seed", by_day(range(27), 3))
@pytest.mark.parametrize("row", [DRF, CAUTIOUS], ids=lambda row: row.name)
def test_methods_against_the_program_of_every_step(row, seed):
    instance = instance_of(seed + 3000)
    validation = fairlp.validate(
        instance, row.name, horizon=float(instance.user_weights.sum()) + seed % 2
    )
    assert validation["agrees"].all(), validation
    assert (validation["residual"] <= 1e-9).all()
    assert set(row.method_names) == set(validation.index) and validation["proved"].all()


@pytest.mark.parametrize("seed", range(many(60)))
def test_a_weight_is_so_many_equal_users_who_come_in_one_step(seed):
    demands, capacities, weights = random_arrivals(seed)
    result = fairlp.allocate(
        Instance.from_arrays(demands, [capacities], weights=weights), "dynamic-drf"
    )
    assert_close_rows(rows_of(result), exact_twins(demands, capacities, weights))


MECHANISMS = ["dynamic-drf", "cautious-lp"]


@pytest.mark.parametrize(
    ("instance", "message"),
    [
        (arrivals(task_limits=[np.inf, 3, np.inf]), "no task limits, and user 'b' has one"),
        (examples.wang_figure_1(), "shares one server and there are 2"),
        (arrivals(weights=np.ones((3, 2))), "one weight for each user"),
        (arrivals(rates=[[1], [2], [3]]), "rates are given"),
    ],
)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_is_not_defined_says_so(instance, message, mechanism):
    for question in (fairlp.allocate, fairlp.formulate):
        with pytest.raises(NotDefinedError, match=message):
            question(instance, mechanism)


def test_an_oversized_task_cannot_be_dropped_from_an_order_of_arrival():
    instance = Instance.from_arrays([[1], [3]], [[2]], users=["small", "large"])
    with pytest.raises(NotDefinedError, match=r"user 'large' has a task limit.*oversized='divide'"):
        fairlp.allocate(instance, "dynamic-drf", oversized="drop")
    divided = fairlp.allocate(instance, "dynamic-drf")
    np.testing.assert_allclose(divided.shares, [0.5, 0.5])
    assert any("divisible" in note for note in divided.notes)


@pytest.mark.parametrize("solver", ["highs", "scipy"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_any_solver_solves_the_steps(mechanism, solver):
    instance = examples.m_squared_plus_one(3, 1e-4)
    fast = fairlp.allocate(instance, mechanism)
    slow = fairlp.allocate(instance, mechanism, method="lp", solver=solver)
    np.testing.assert_allclose(slow.levels, fast.levels, rtol=1e-8)
    assert slow.gap <= 1e-7 and slow.prices.shape == (1, 3) and (slow.prices.to_numpy() >= 0).all()


def test_prices_are_what_one_more_unit_adds():
    instance = Instance.from_arrays([[1, 0.3], [0.4, 1], [0.9, 1]], [[5, 7]])
    result = fairlp.allocate(instance, "dynamic-drf", method="lp")
    model = result.model(3)
    for r, capacity in enumerate(instance.pool):
        program = model.compile()
        upper = program.row_upper.copy()
        upper[program.row_block("capacity").start + r] += 1e-4 / capacity
        gain = program.replace(row_upper=upper).solve().objective - program.solve().objective
        assert gain / 1e-4 == pytest.approx(result.prices.iloc[0, r], abs=1e-7)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_it_is_compared_only_when_asked(mechanism):
    instance = examples.ghodsi()
    assert mechanism not in fairlp.compare(instance).columns
    for value in ("tasks", "shares", "utilization", "summary"):
        table = fairlp.compare(instance, ["drf", mechanism], value=value)
        assert not table.isna().any().any()
    assert fairlp.compare(instance, [mechanism])[mechanism].round(9).to_dict() == {
        "A": 3.0,
        "B": 2.0,
    }
