"""First-Fit, Best-Fit and Slots: a rational oracle, the paper's example, and the gap to the fluid optimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
import placement_oracle
from discrete_oracle import Plain
from fairlp import Instance, examples
from fairlp.errors import UnknownNameError
from fairlp.mechanisms.whole_tasks import placement
from fairlp.mechanisms.whole_tasks.filling import Pool
from fairlp.mechanisms.whole_tasks.placement import pick_by_pick
from profiles import PROFILE, many

MECHANISMS = {"first-fit": "drfh-first-fit", "best-fit": "drfh-best-fit", "slots": "slots"}


def small(rng):
    n, k, r = rng.integers(1, 5), rng.integers(1, 4), rng.integers(1, 4)
    demands = rng.integers(0, 4, (n, r)).astype(float)
    demands[~demands.any(axis=1), 0] = 1
    capacities = rng.integers(0, 9, (k, r)).astype(float)
    capacities[0] = np.maximum(capacities[0], 2)
    capacities *= rng.choice([1, 1, 30])  # many tasks on each server are counted
    if rng.random() < 0.3:
        demands, capacities = demands / 10, capacities / 10
    eligible = None
    if rng.random() < 0.5:
        eligible = rng.random((n, k)) < 0.7
        eligible[:, 0] = True
    return {
        "demands": demands,
        "capacities": capacities,
        "counts": rng.integers(1, 4, k),
        "weights": rng.integers(1, 4, n) if rng.random() < 0.5 else None,
        "limits": rng.choice([0, 1, 3, 5.5, 40, 77.5, np.inf], n) if rng.random() < 0.6 else None,
        "eligible": eligible,
    }


@pytest.mark.slow
@settings(max_examples=many(2000), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["first-fit", "best-fit", "slots"]), st.booleans())
def test_placements_equal_a_loop_in_rationals(seed, policy, table):
    rng = np.random.default_rng(seed)
    data = small(rng)
    ties, slots = str(rng.choice(["larger", "smaller", "index"])), int(rng.integers(1, 6))
    given_data = {("task_limits" if k == "limits" else k): v for k, v in data.items()}
    instance = Instance.from_arrays(
        given_data.pop("demands"), given_data.pop("capacities"), **given_data
    )
    unit = str(rng.choice(["system", "largest-server"]))
    expected = placement_oracle.place(policy=policy, ties=ties, slots=slots, unit=unit, **data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "LARGEST_TABLE", 10**6 if table else 0)
        tasks = placement.place(instance, policy, ties=ties, slots=slots, unit=unit)
    assert tasks.tolist() == expected


def test_the_papers_two_servers():
    """Best-Fit gives each server to the user whose tasks look like it: DRFH's 10 tasks each; First-Fit gives 6."""
    comparison = fairlp.compare(
        examples.load("wang-figure-1"), ["drfh", "drfh-best-fit", "drfh-first-fit", "slots"]
    )
    assert comparison["drfh"].tolist() == pytest.approx([10, 10])
    assert comparison["drfh-best-fit"].tolist() == [10, 10] and comparison[
        "drfh-first-fit"
    ].tolist() == [
        6,
        6,
    ]
    assert comparison["slots"].sum() < 12


@pytest.fixture(scope="module")
def google():
    """Servers of Google's, and the divisible optimum."""
    instance = examples.google_cluster(users=10, seed=3)
    if PROFILE != "nightly":  # a quarter of it, rounded up
        instance = instance.replace(counts=-(-instance.counts // 4))
    return instance, fairlp.allocate(instance, "drfh")


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS.values())
def test_google_servers_are_not_over_capacity_and_near_the_fluid_optimum(google, mechanism):
    instance, fluid = google
    allocation = fairlp.allocate(instance, mechanism)
    assert allocation.residual <= 1e-9 and (allocation.totals == allocation.totals.round()).all()
    if mechanism == "drfh-best-fit":
        assert allocation.levels.min() > 0.9 * fluid.levels.min()
    assert allocation.levels.min() <= fluid.levels.min() * (1 + 1e-9)


@pytest.mark.slow
def test_best_fit_uses_more_than_first_fit_and_both_more_than_slots_on_googles_servers():
    cluster = examples.google_cluster(users=20, seed=1)
    cluster = cluster.replace(counts=-(-cluster.counts // 4))  # a quarter of it, rounded up
    used = {m: fairlp.allocate(cluster, m).pool_utilization.mean() for m in MECHANISMS.values()}
    assert used["drfh-best-fit"] > used["drfh-first-fit"] > used["slots"]


def test_the_first_demanded_resource_stands_for_the_papers_first():
    instance = Instance.from_arrays([[0, 2, 1], [1, 0, 0]], [[4, 4, 2], [4, 8, 2], [9, 2, 9]])
    assert fairlp.allocate(instance, "drfh-best-fit").totals.tolist() == placement_best(instance)


def placement_best(instance):
    return (
        np.array(
            placement_oracle.place(
                instance.demands, instance.capacities, instance.counts, "best-fit"
            )
        )
        .sum(axis=1)
        .tolist()
    )


def test_the_pool_is_added_up_exactly():
    """Three servers of 0.8 and two of 0.7 are 3.8, not 3.8000000000000003: shares that are equal stay equal."""
    demands = [[0.3, 0.2, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.1], [0.1, 0.1, 0.1]]
    capacities, counts, weights = [[0.8, 0.6, 0.2], [0.7, 0.7, 0.3]], [3, 2], [2, 3, 2, 2]
    instance = Instance.from_arrays(demands, capacities, counts=counts, weights=weights)
    assert placement.place(instance, "first-fit", ties="index").tolist() == [
        [3, 2],
        [4, 4],
        [3, 4],
        [3, 2],
    ]
    case = Instance.from_arrays([[0.1], [0.1]], [[0.1]], counts=[3])
    assert Pool.of(case).capacity.tolist() == [3] and Pool.of(case).demands.tolist() == [[1], [1]]


def test_best_fit_compares_shares_of_the_whole_system():
    """Equation (9) with three resources: the paper's unit is the whole system, and another unit is another server."""
    instance = Instance.from_arrays([[1, 1, 1]], [[7, 3, 2], [3, 4, 6]], task_limits=[1])
    # D = (1, 1, 1)/(10, 7, 8): H = |3/7 - 1|·10/7 + |2/7 - 1|·10/8 = 1.71, and |4/3 - 1|·10/7 +
    # |6/3 - 1|·10/8 = 1.73
    assert fairlp.allocate(instance, "drfh-best-fit").tasks.to_numpy().tolist() == [[1, 0]]
    assert fairlp.allocate(
        instance, "drfh-best-fit", unit="largest-server"
    ).tasks.to_numpy().tolist() == [[0, 1]]
    with pytest.raises(UnknownNameError, match="did you mean 'system'"):
        fairlp.allocate(instance, "drfh-best-fit", unit="sistem")


@pytest.mark.parametrize("need", [1.0, 1.000000000001])
@pytest.mark.parametrize("policy", ["first-fit", "slots"])
def test_tasks_are_counted_exactly(policy, need):
    """Millions of tasks, in whole numbers beyond 2⁵³ too: the one server ends as discrete DRF does."""
    instance = Instance.from_arrays([[need, 4], [3, 1.5]], [[9e6, 18e6]])
    assert (placement.Servers.of(instance).free.dtype == object) == (need > 1)
    slots = {"slots": 3 * 10**6} if policy == "slots" else {}
    totals = fairlp.allocate(instance, MECHANISMS[policy], **slots).totals
    if policy == "slots":
        assert totals.tolist() == [1.5e6, 1.5e6]  # one slot a task
    else:
        assert totals.tolist() == fairlp.allocate(instance, "drf-discrete").totals.tolist()


def test_what_runs_on_a_small_server_only_is_few_tasks():
    instance = Instance.from_arrays(
        [[1e-9], [1]], [[1e-8], [10]], eligible=[[True, False], [True, True]]
    )
    assert fairlp.allocate(instance, "drfh-best-fit").totals.tolist() == [10, 10]


@pytest.mark.parametrize("ties", ["larger", "smaller", "index"])
@pytest.mark.parametrize(("rule", "offset"), [("exclude", 0), ("stop", 0), ("exclude", 1)])
def test_one_task_at_a_time_is_that_of_rationals(rule, offset, ties):
    for seed in range(many(200)):
        rng = np.random.default_rng([80, seed])
        users, resources = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        demands = rng.integers(0, 4, (users, resources)).astype(float)
        demands[~demands.any(axis=1), 0] = 1
        capacity = rng.integers(2, 20, resources).astype(float)
        limits = rng.choice([0, 1, 3, np.inf], users)
        weights = rng.integers(1, 4, users)
        instance = Instance.from_arrays(demands, [capacity], weights=weights, task_limits=limits)
        trace = []
        tasks = pick_by_pick(Pool.of(instance), rule=rule, ties=ties, offset=offset, trace=trace)
        oracle = Plain(demands, capacity, weights, limits)
        assert tasks.tolist() == oracle.serve(rule, ties, offset)
        served = [pick.user for pick in trace if pick.runs]
        counts = [0] * users
        for pick in trace:
            dominant_share = (demands[pick.user] / capacity).max() / weights[pick.user]
            assert pick.share == pytest.approx(counts[pick.user] * dominant_share)
            counts[pick.user] += pick.runs
            assert pick.tasks == counts[pick.user]
        assert np.bincount(served, minlength=users).tolist() == tasks.tolist()


def test_many_tasks_that_are_placed_at_once_are_no_more_than_a_limit():
    instance = fairlp.Instance.from_arrays(
        [[1], [1], [2]], [[10**6], [10**6]], task_limits=[5, np.inf, 10**5]
    )
    totals = fairlp.allocate(instance, "drfh-first-fit").totals
    assert totals.tolist() == [5, 2 * 10**6 - 5 - 2 * 10**5, 10**5]
