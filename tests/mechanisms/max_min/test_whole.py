"""Whole tasks on servers, ``whole=True``: enumeration in rationals, proofs, limits, refusals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
import whole_leximin_oracle as oracle
from fairlp import Instance, examples
from profiles import many

MECHANISMS = ["drfh", "c-drfh", "tsf", "cdrf", "asset"]


def small(rng, constraints):
    users, servers, resources = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 4)
    demands = rng.integers(0, 5, (users, resources)).astype(float)
    demands[~demands.any(axis=1), 0] = 2
    capacities = rng.integers(1, 10, (servers, resources)).astype(float)
    if rng.random() < 0.4:
        demands[1:] = demands[0]
        capacities[1:] = capacities[0]
    if rng.random() < 0.3:
        demands, capacities = demands / 10, capacities / 10
    eligible = np.ones((users, servers), dtype=bool)
    if constraints and rng.random() < 0.5:
        eligible = rng.random((users, servers)) < 0.7
        eligible[:, 0] = True
    return {
        "demands": demands,
        "capacities": capacities,
        "counts": np.where(rng.random(servers) < 0.2, 2, 1),
        "weights": rng.integers(1, 4, users) if rng.random() < 0.5 else np.ones(users),
        "task_limits": rng.choice([0, 1, 2.5, np.inf], users)
        if rng.random() < 0.3
        else np.full(users, np.inf),
        "eligible": eligible,
    }


@pytest.mark.slow
@settings(max_examples=many(240), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(MECHANISMS))
def test_levels_equal_enumeration_in_rationals_and_are_proved(seed, mechanism):
    data = small(np.random.default_rng(seed), mechanism != "cdrf")
    instance = Instance.from_arrays(**data)
    parts = [data[key] for key in ("demands", "capacities", "counts")]
    rate = oracle.tasks_at_level_1(mechanism, *parts, data["weights"])
    expected = oracle.best_levels(rate, *parts, data["eligible"], data["task_limits"])
    allocation = fairlp.allocate(instance, mechanism, whole=True)
    totals = allocation.totals.to_numpy()
    assert (totals == np.rint(totals)).all()
    levels = sorted(float(tasks / r) for tasks, r in zip(totals, rate, strict=True))
    assert levels[len(levels) - len(expected) :] == pytest.approx(
        [float(level) for level in expected], rel=1e-9
    )
    assert allocation.certify().holds
    assert fairlp.audit(instance, allocation, ["feasible"]).holds.all()


def test_the_two_servers_of_wang_et_al():
    """Divisible DRFH gives ten whole tasks each, and so whole tasks lose nothing."""
    instance = examples.load("wang-figure-1")
    allocation = fairlp.allocate(instance, "drfh", whole=True)
    assert allocation.totals.tolist() == [10, 10]
    assert allocation.rounds.level.tolist() == pytest.approx([5 / 7])


def planted(instance, tasks):
    allocation = fairlp.allocate(instance, "drfh", whole=True)
    return dataclasses.replace(allocation, tasks_array=np.array(tasks, dtype=float)).certify()


def test_a_wrong_allocation_is_refused():
    instance = examples.load("wang-figure-1")
    fewer = planted(instance, [[10, 0], [0, 9]])
    assert not fewer.holds and "2 users can be above the level" in fewer.message
    assert "is violated" in planted(instance, [[10, 0], [0, 11]]).message
    assert "no whole numbers" in planted(instance, [[10, 0], [0, 9.5]]).message
    halves = planted(Instance.from_arrays([[3]], [[5]], counts=[2]), [[3]])
    assert not halves.holds and "one by one" in halves.message


@pytest.mark.slow
def test_one_server_is_the_integer_program_of_one_server():
    rng = np.random.default_rng(5)
    for _ in range(10):
        instance = Instance.from_arrays(rng.integers(1, 9, (4, 2)), rng.integers(20, 40, (1, 2)))
        placed = fairlp.allocate(instance, "drfh", whole=True)
        outcome = fairlp.allocate(instance, "drf-milp")
        assert np.sort(placed.levels) == pytest.approx(np.sort(outcome.levels))


def packed(seed):
    """Return six users on four servers that whole tasks fill to the last unit: the best level is 1."""
    rng = np.random.default_rng(seed)
    demands = rng.integers(20, 100, (6, 2)).astype(float)
    planted = rng.integers(0, 4, (6, 4))
    planted[:, 0] += 1
    capacities = planted.T @ demands
    alone = (capacities.sum(axis=0) / demands).min(axis=1)
    weights = planted.sum(axis=1) / alone
    return Instance.from_arrays(demands, capacities, weights=weights)


@pytest.mark.slow
def test_a_limit_leaves_a_bound_and_a_gap_and_says_not_proved():
    limited = 0
    for seed in range(6):
        instance = packed(seed)
        allocation = fairlp.allocate(instance, "drfh", whole=True, time_limit=1e-3)
        assert fairlp.audit(instance, allocation, ["feasible"]).holds.all()
        best = fairlp.allocate(instance, "drfh", whole=True).levels.min()
        assert best == pytest.approx(1)
        if allocation.gap is None:
            assert allocation.levels.min() == pytest.approx(best)
            continue
        limited += 1
        assert allocation.levels.min() * (1 + allocation.gap) >= best * (1 - 1e-9)
        assert allocation.unproved.startswith("not proved: the time limit was reached at level ")
        assert "at most" in allocation.unproved and "a gap of" in allocation.unproved
    assert limited


@pytest.mark.slow
def test_ordered_outcomes_of_the_model_are_bounded_by_divisible_levels():
    rng = np.random.default_rng(0)
    instance = Instance.from_arrays(rng.integers(1, 10, (12, 3)), rng.integers(20, 60, (12, 3)))
    answer = fairlp.leximin(fairlp.formulate(instance, "drfh", whole=True), node_limit=1)
    assert (answer.stages.bound >= answer.stages["sum"]).all()
    divisible = fairlp.allocate(instance, "drfh")
    assert answer.stages.bound.iloc[0] <= divisible.levels.min() * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_levels_are_those_of_ordered_outcomes(seed):
    """Five users on four servers, some of them equal: another program for the same leximin."""
    rng = np.random.default_rng(seed)
    demands = rng.integers(1, 8, (3, 2))[rng.integers(0, 3, 5)]
    capacities = rng.integers(8, 24, (2, 2))[rng.integers(0, 2, 4)]
    instance = Instance.from_arrays(demands, capacities)
    allocation = fairlp.allocate(instance, "drfh", whole=True)
    answer = fairlp.leximin(fairlp.formulate(instance, "drfh", whole=True))
    assert np.sort(allocation.levels) == pytest.approx(np.sort(answer.levels))


def test_the_model_prints_and_travels_as_mps(tmp_path):
    model = fairlp.formulate(examples.load("wang-figure-1"), "tsf", whole=True)
    assert "integer" in str(model)
    path = tmp_path / "whole.mps"
    model.write(path)
    answer = fairlp.read_program(path).solve("scipy")
    assert answer.objective == pytest.approx(model.solve().objective)


def test_another_solver_finds_the_same_levels():
    instance = Instance.from_arrays([[2, 3], [3, 1], [1, 1]], [[7, 8], [9, 5]])
    table = fairlp.validate(instance, "drfh", whole=True)
    assert table.agrees.all() and len(table) == 2


def test_a_user_without_a_whole_task_stops_no_other():
    instance = Instance.from_arrays([[6], [2]], [[5], [5]])
    allocation = fairlp.allocate(instance, "drfh", whole=True)
    assert allocation.totals.tolist() == [0, 4]
    assert any("could not run one whole task" in note for note in allocation.notes)
    alone = fairlp.allocate(Instance.from_arrays([[6]], [[5]]), "asset", whole=True)
    assert alone.totals.tolist() == [0]


@pytest.mark.parametrize("richer", [3, 4, 5])
def test_a_proof_tells_how_many_users_can_be_above_a_level(richer):
    """All have 2 of the tasks for which there is room, and one has the others: two and more could have 3."""
    instance = Instance.from_arrays([[1], [1], [1]], [[6 + richer - 2]])
    allocation = fairlp.allocate(instance, "drfh", whole=True)
    tasks = np.array([[2.0], [2.0], [float(richer)]])
    proof = dataclasses.replace(allocation, tasks_array=tasks).certify()
    user_count = min(richer - 2, 3)
    level = 2 / (6 + richer - 2)
    if user_count == 1:
        assert proof.holds
    else:
        message = (
            f"not the leximin: {user_count} users can be above the level {level:.6g}, and 1 are"
        )
        assert proof.message == message


def test_tasks_that_fit_together_but_not_on_one_of_the_servers_are_refused():
    """Of one server of 3 and two of 5, each holds one task of 3; three on the two of 5 use 9 of 10."""
    instance = Instance.from_arrays([[3]], [[3], [5]], counts=[1, 2])
    assert fairlp.allocate(instance, "drfh", whole=True).totals.tolist() == [3]
    refused = planted(instance, [[1, 3]])
    assert not refused.holds and "one by one" in refused.message
