"""Precomputed DRF, its cycles and repairs, and the integer programs: rationals, brute force and the paper's numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from discrete_oracle import Plain
from fairlp import Instance, examples
from fairlp.mechanisms.whole_tasks import precomputed
from fairlp.mechanisms.whole_tasks.filling import Pool
from fairlp.mechanisms.whole_tasks.leximin import discrete_leximin
from fairlp.tolerances import AGREEMENT
from instances import awkward
from profiles import many


@settings(max_examples=many(300), deadline=None)
@given(st.integers(0, 10**9))
def test_precomputed_equals_the_formula_in_rationals(seed):
    demands, capacity, weights, limits = awkward(np.random.default_rng(seed))
    instance = Instance.from_arrays(demands, [capacity], weights=weights, task_limits=limits)
    assert (
        precomputed.precomputed(Pool.of(instance)).tolist()
        == Plain(demands, capacity, weights, limits).precomputed()
    )


@settings(max_examples=many(100), deadline=None)
@given(st.integers(0, 10**9))
def test_floating_point_and_lp_differ_at_whole_numbers_only(seed):
    demands, capacity, weights, limits = awkward(np.random.default_rng(seed))
    instance = Instance.from_arrays(demands, [capacity], weights=weights, task_limits=limits)
    exact = fairlp.allocate(instance, "pdrf").totals.to_numpy()
    fluid = fairlp.allocate(instance, "pdrf", divisible=True).totals.to_numpy()
    near_whole = abs(fluid - np.rint(fluid)) <= 1e-9 * np.maximum(fluid, 1)
    for method in ("floating-point", "lp"):
        values = fairlp.allocate(instance, "pdrf", method=method).totals.to_numpy()
        assert (values == exact)[~near_whole].all() and (abs(values - exact) <= 1).all()
    assert fairlp.allocate(
        instance, "pdrf", method="lp", divisible=True
    ).totals.to_numpy() == pytest.approx(fluid, rel=1e-9)


def test_floors_that_floating_point_gets_wrong():
    """Needs of 3 and 9 of 30: k·ds*/ds is 5 exactly, and a little less in floating point, as printed."""
    instance = Instance.from_arrays([[3], [9]], [[30]])
    assert (
        fairlp.allocate(instance, "pdrf").totals.tolist()
        == [5, 1]
        == Plain([[3], [9]], [30]).precomputed()
    )
    assert fairlp.allocate(instance, "pdrf", method="floating-point").totals.tolist() == [4, 1]
    validation = fairlp.validate(instance, "pdrf")
    assert (
        not validation.loc["floating-point", "agrees"]
        and validation.loc["floating-point", "user"] == "user1"
    )


def test_divisible_precomputed_is_edrf():
    instance = Instance.from_arrays([[1, 4], [3, 1]], [[59, 19]], weights=[1, 2])
    divided = fairlp.allocate(instance, "pdrf", divisible=True).totals
    assert divided.tolist() == pytest.approx(
        fairlp.allocate(instance, "edrf", method="lp").totals.tolist()
    )


def test_cycle_and_basic_subcycle_of_the_papers_example():
    pool = Pool.of(examples.load("ghodsi"))
    counts, end = precomputed.cycle(pool)
    assert counts.tolist() == [3, 2] and end == Fraction(2, 3)
    assert precomputed.basic_subcycle(pool).tolist() == [1, 1]


def test_a_user_who_can_run_nothing_has_no_part_of_a_cycle():
    pool = Pool.of(Instance.from_arrays([[1, 4], [3, 1], [10, 1]], [[9, 18]]))
    assert precomputed.basic_subcycle(pool).tolist() == [1, 1, 0]
    counts, end = precomputed.cycle(pool)
    assert counts.tolist() == [3, 2, 0] and end == Fraction(2, 3)


def test_section_6_1_and_its_erratum():
    """Demands 2, 4, 10 of 35: the paper says that a cycle runs 4, 2 and 1 tasks (26 units); 10/2 is 5, so 28 units."""
    instance = examples.load("cycles")
    table = fairlp.cycles.summary(instance)
    assert table["basic_subcycle"].tolist() == [5, 2, 1]
    assert table["cycle"].tolist() == [10, 5, 2]
    assert (table["basic_subcycle"] * [2, 4, 10]).sum() == 28 != 26
    assert sum(a * b for a, b in zip([4, 2, 1], [2, 4, 10], strict=True)) == 26
    assert fairlp.cycles.length(instance) == 17
    orders = fairlp.cycles.higher_order(instance)
    assert orders["turns"].tolist() == pytest.approx([7 / 6, 7 / 2])
    assert orders["tasks"].tolist() == [{"A": 5, "B": 2, "C": 1}, {"A": 3}]
    assert orders["left"].tolist() == [{"units": 7}, {"units": 1}]


def test_what_the_papers_secondary_cycle_does_where_nine_are_left():
    """Nine units for A and B, who need 2 and 4: one turn of (2, 1) uses 8, as §6.1 says."""
    instance = Instance.from_arrays([[2], [4]], [[9]], users=["A", "B"], resources=["units"])
    first = fairlp.cycles.higher_order(instance).iloc[0]
    assert (
        first["tasks"] == {"A": 2, "B": 1}
        and first["left"] == {"units": 1}
        and first["turns"] == 9 / 8
    )


@pytest.mark.parametrize("seed", range(many(60)))
def test_cycles_are_where_all_shares_meet(seed):
    rng = np.random.default_rng(seed)
    instance = Instance.from_arrays(rng.integers(1, 9, (4, 2)), [rng.integers(20, 60, 2)])
    pool = Pool.of(instance)
    counts, end = precomputed.cycle(pool)
    shares = Plain(instance.demands, instance.pool).ds
    assert all(count * share == end for count, share in zip(counts, shares, strict=True))
    assert all(end / 2 % share or end / 3 % share or end % share == 0 for share in shares)
    for divisor in (2, 3, 5, 7):  # and nowhere before
        assert any((end / divisor) % share for share in shares)


@settings(max_examples=many(150), deadline=None)
@given(st.integers(0, 10**9))
def test_repairs_and_higher_cycles_stay_within_capacity_and_repairs_are_maximal(seed):
    demands, capacity, weights, limits = awkward(np.random.default_rng(seed))
    instance = Instance.from_arrays(demands, [capacity], weights=weights, task_limits=limits)
    plain = Plain(demands, capacity, weights, limits)
    first = fairlp.allocate(instance, "pdrf").totals
    for options in ({"repair": "ascending"}, {"repair": "filling"}, {"higher_order": True}):
        totals = fairlp.allocate(instance, "pdrf", **options).totals
        assert (totals >= first).all()
        free_capacity = plain.free_capacity(totals.astype(int).tolist())
        assert min(free_capacity) >= 0
        if "repair" in options:
            for i, is_able in enumerate(plain.can_run):
                assert (
                    not is_able
                    or totals.iloc[i] == plain.limit[i]
                    or not plain.fits(free_capacity, i)
                )


@settings(max_examples=many(100), deadline=None)
@given(st.integers(0, 10**9))
def test_ascending_repair_is_pass_after_pass(seed):
    demands, capacity, _, limits = awkward(np.random.default_rng(seed))
    instance = Instance.from_arrays(demands, [capacity], task_limits=limits)
    plain = Plain(demands, capacity, None, limits)
    tasks = plain.precomputed()
    while True:
        before = list(tasks)
        order = sorted(
            (i for i, is_able in enumerate(plain.can_run) if is_able),
            key=lambda i: (before[i] * plain.ds[i], -plain.ds[i], i),
        )
        for i in order:
            if tasks[i] != plain.limit[i] and plain.fits(plain.free_capacity(tasks), i):
                tasks[i] += 1
        if tasks == before:
            break
    assert (
        fairlp.allocate(instance, "pdrf", repair="ascending").totals.astype(int).tolist() == tasks
    )


@settings(max_examples=many(150), deadline=None)
@given(st.integers(0, 10**9))
def test_how_far_floors_are_from_filling(seed):
    """At most one task behind ``stop``; ahead of either rule by less than ds*/ds[n] tasks."""
    demands, capacity, weights, _ = awkward(np.random.default_rng(seed))
    instance = Instance.from_arrays(demands, [capacity], weights=weights)
    plain = Plain(demands, capacity, weights, None)
    floors = fairlp.allocate(instance, "pdrf").totals.astype(int).tolist()
    for rule in ("stop", "exclude"):
        filled = fairlp.allocate(instance, "drf-discrete", rule=rule).totals.astype(int).tolist()
        for i, is_able in enumerate(plain.can_run):
            assert not is_able or (floors[i] - filled[i]) * plain.ds[i] < max(plain.ds)
            assert not is_able or rule == "exclude" or filled[i] - floors[i] <= 1


def test_every_method_has_the_floors_of_divisible_drf():
    instance = examples.load("ghodsi-59-19")
    assert fairlp.validate(instance, "pdrf").agrees.all()
    divided = fairlp.allocate(instance, "pdrf", method="lp", divisible=True).totals
    totals = fairlp.allocate(instance, "pdrf").totals
    assert (totals <= divided * (1 + AGREEMENT)).all() and (totals > divided - 1 - AGREEMENT).all()
    assert (fairlp.allocate(instance, "drf-discrete").totals - totals).tolist() == [0, 2]


@pytest.mark.parametrize("seed", range(many(40)))
def test_the_integer_programs_give_the_leximin_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    demands = rng.integers(seed % 2, 6, (n, m))
    demands[~demands.any(axis=1), 0] = 1
    capacity = rng.integers(4, 22, m)
    weights = rng.integers(1, 4, n) if rng.random() < 0.4 else None
    limits = rng.choice([0, 1, 2, 5, np.inf], n) if rng.random() < 0.4 else None
    instance = Instance.from_arrays(demands, [capacity], weights=weights, task_limits=limits)
    plain = Plain(demands, capacity, weights, limits)
    best = plain.leximin()
    assert (
        plain.levels(discrete_leximin(instance, Pool.of(instance)).tasks.astype(int).tolist())
        == best
    )
    greedy = plain.levels(fairlp.allocate(instance, "drf-discrete").totals.astype(int).tolist())
    assert greedy <= best and greedy[:1] == best[:1]  # filling attains the largest smallest level


def test_cycles_of_a_higher_order_give_nobody_more_than_it_asks_for():
    """Tasks of 1, 5 and 5 on 12: the first cycle gives ann its 3, and the second, of ann alone, has 9 left for it."""
    instance = fairlp.Instance.from_arrays([[1], [5], [5]], [[12]], task_limits=[3, np.inf, np.inf])
    allocation = fairlp.allocate(instance, "pdrf", higher_order=True)
    assert allocation.totals.tolist()[0] == 3
    for seed in range(many(200)):
        rng = np.random.default_rng([84, seed])
        users, resources = int(rng.integers(2, 6)), int(rng.integers(1, 3))
        demands = rng.integers(1, 7, (users, resources))
        limits = rng.integers(1, 6, users)
        drawn = fairlp.Instance.from_arrays(
            demands, rng.integers(10, 40, (1, resources)), task_limits=limits
        )
        allocation = fairlp.allocate(drawn, "pdrf", higher_order=True)
        assert (allocation.totals.to_numpy() <= limits).all()
