"""What the items of equations and claims compute, beside brute force, and planted faults that they find."""

from __future__ import annotations

import heapq
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from fairlp import Instance, allocate, examples
from fairlp_research.papers import (
    dolev,
    dolev_equations,
    khamse_ashari,
    khamse_ashari_equations,
    li_equations,
    metin,
    metin_claims,
    wang_equations,
)
from fairlp_research.papers.registry import Run, over
from fairlp_research.papers.verdicts import Agreement
from ledger_rows import ENTRIES


def computed(key):
    return ENTRIES[key].compute(Run())


def refuted(key):
    answer = computed(key)
    return answer.verdict is Agreement.REFUTED and bool(answer.witness)


@pytest.mark.slow
def test_the_draw_with_an_overallocation_has_one_by_a_loop_of_picks():
    rng = np.random.default_rng(metin_claims.SEED)
    for _ in range(metin_claims.DRAW + 1):
        demands = rng.integers(10, 20, (1000, 10), endpoint=True)
        reserves = rng.integers(50_000, 100_000, (1, 10), endpoint=True)[0]
    shares = [
        max(Fraction(int(d), int(c)) for d, c in zip(row, reserves, strict=True)) for row in demands
    ]
    tasks = np.zeros(1000, dtype=int)
    free = reserves.copy()
    queue = [(Fraction(0), -share, user) for user, share in enumerate(shares)]
    heapq.heapify(queue)
    while queue:
        total, _, user = heapq.heappop(queue)
        if (demands[user] <= free).all():
            free = free - demands[user]
            tasks[user] += 1
            heapq.heappush(queue, (total + shares[user], -shares[user], user))
    assert tasks[826] == 5
    instance = Instance.from_arrays(demands, [reserves])
    assert metin_claims._formula(instance, 826) == 6
    assert "has 6, and 5" in computed("000 §4, no overallocations").ours


@pytest.mark.parametrize("seed", [*range(5), 524217255])  # where exact floors are others
def test_counted_operations_give_the_tasks_of_algorithm_1(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 9, 2)
    demands = rng.integers(1, 10, (n, m)).astype(float)
    capacity = demands.sum(axis=0) * 7 + 1
    count, tasks = metin_claims.operations(demands.tolist(), capacity.tolist())
    instance = Instance.from_arrays(demands, [capacity])
    allocation = allocate(instance, "pdrf", method="floating-point")
    assert tasks == allocation.totals.tolist()
    assert count == 6 * m * n + 3 * n + m - 2


def test_water_filling_takes_a_stage_for_each_group_that_is_reached():
    # Alone: 1 stage. A second of another resource: raised to the first, then both. A third: alone.
    assert li_equations.stages([[Fraction(1), Fraction(1, 4)]]) == 1
    needs = [[1, Fraction(1, 4)], [Fraction(1, 4), 1], [1, 1]]
    assert li_equations.stages(needs) == 1 + 2 + 1


@pytest.mark.parametrize("seed", range(20))
def test_one_step_of_halving_is_the_largest_level_by_trying_every_user(seed):
    rng = np.random.default_rng(seed)
    d, before, fraction = li_equations._last_step(int(rng.integers(3, 30)))
    levels = []
    for first in range(len(before)):
        use = d[:, :first] @ before[:first]
        level = ((fraction - use) / d[:, first:].sum(axis=1)).min()
        shares = np.maximum(before, level)
        if (d @ shares <= fraction * (1 + 1e-12)).all():
            levels.append(level)
    assert li_equations.one_step((d, before, fraction))[0] == pytest.approx(max(levels), rel=1e-9)


def test_the_largest_share_of_the_example_is_five_sevenths():
    instance = examples.wang_figure_1()
    _, normal, capacity = wang_equations._shares(instance)
    for equal in (False, True):
        assert wang_equations.largest_share(normal, capacity, equal=equal) == pytest.approx(5 / 7)


def test_the_most_tasks_of_a_user_are_what_the_others_leave():
    instance = Instance.from_arrays([[1, 0], [1, 1]], [[4, 1], [2, 2]])
    tasks = np.array([[1.0, 0.5], [0.5, 0.5]])
    everything = np.ones((2, 2), dtype=bool)
    assert khamse_ashari_equations.most_tasks(instance, tasks, 0, everything) == pytest.approx(5)
    nothing = np.zeros((2, 2), dtype=bool)
    assert khamse_ashari_equations.most_tasks(instance, tasks, 0, nothing) == pytest.approx(6)


def test_an_update_raises_the_least_by_what_the_highest_gives_up():
    # One resource of 6 on server 1 and 3 on server 2; user 1 has 3 + 3, user 2, on server 1, has 3.
    instance = Instance.from_arrays([[1], [1]], [[6], [3]], eligible=[[True, True], [True, False]])
    tasks = np.array([[3.0, 3.0], [3.0, 0.0]])
    after = khamse_ashari_equations.update(instance, tasks, 0)
    # β·(rise 3): 3 + 3β ≤ 6 − 3β, so β = ½.
    assert after == pytest.approx(np.array([[1.5, 3.0], [4.5, 0.0]]))
    assert khamse_ashari_equations.update(instance, after, 0) is None


def test_dominated_rows_are_those_that_no_corner_reaches():
    rng = np.random.default_rng(0)
    for _ in range(30):
        rows = rng.integers(0, 5, (2, 4)) / 4
        removed = dolev_equations.dominated(rows)
        columns = [column for column in range(4) if column not in removed]
        grid = np.array(list(product(np.linspace(0, 1, 41), repeat=2)))
        feasible = (grid @ rows[:, columns] <= 1 + 1e-9).all(axis=1)
        assert (grid[feasible] @ rows[:, removed] <= 1 + 1e-9).all()
        for column in columns:
            others = [index for index in columns if index != column]
            inside = (grid @ rows[:, others] <= 1 + 1e-9).all(axis=1)
            assert (grid[inside] @ rows[:, column]).max() > 1 - 0.1


# Planted faults.


def test_half_of_what_is_granted_breaks_what_is_said_of_modest_users(monkeypatch):
    real = dolev_equations.granted
    monkeypatch.setattr(dolev_equations, "granted", lambda instance: real(instance) / 2)
    for key in (
        "004 §3, modest requests",
        "004 §3, no bottleneck",
        "004 §5.1, third simplification",
    ):
        assert refuted(key)


@pytest.mark.parametrize(
    "key",
    [
        "003 Definition 1 and equations (1) to (4)",
        "003 Definition 6, equations (12) and (19)",
        "003 Equations (13) and (39)",
        "003 Equations (20), (21) and (22)",
        "003 Equation (38)",
    ],
)
def test_a_part_of_an_allocation_is_none_of_the_mechanism(monkeypatch, key):
    real = khamse_ashari_equations.allocate

    def less(instance, name):
        allocation = real(instance, name)
        factors = np.linspace(0.3, 0.9, len(instance.users))
        return SimpleNamespace(
            tasks_array=allocation.tasks_array * factors[:, None],
            totals=allocation.totals * factors,
        )

    monkeypatch.setattr(khamse_ashari_equations, "allocate", less)
    assert refuted(key)


def test_an_auction_in_which_money_does_not_count_is_none(monkeypatch):
    real = metin_claims.allocate

    def blind(instance, name, **options):
        return real(instance.replace(weights=np.ones(len(instance.users))), name, **options)

    monkeypatch.setattr(metin_claims, "allocate", blind)
    assert refuted("000 §6.3, an implicit auction")


# Helpers of items, on cases by hand.


def test_one_pass_of_the_repair_serves_each_user_whose_task_fits_once_from_the_least_share():
    instance = Instance.from_arrays([[1], [6], [6]], [[11]])
    after = metin.one_task_each(instance, np.array([3.0, 0.0, 0.0]))
    assert after.tolist() == [4, 1, 0]  # 6 of the 8 that are left, none for user 3, 1 for user 1
    # The ties of nothing at all go to the larger share.
    assert metin.one_task_each(instance, np.zeros(3)).tolist() == [1, 1, 0]


def test_a_fixed_point_has_bottlenecks_and_what_lies_beside_it_has_none():
    instance = Instance.from_arrays([[1], [1]], [[2], [2]], eligible=[[True, True], [True, False]])
    half = Fraction(1, 2)
    assert khamse_ashari.has_bottlenecks(instance, [[0, Fraction(2)], [Fraction(2), 0]])
    assert not khamse_ashari.has_bottlenecks(instance, [[half, Fraction(2)], [3 * half, 0]])
    assert not khamse_ashari.has_bottlenecks(instance, [[0, Fraction(2)], [3 * half, 0]])
    assert not khamse_ashari.has_bottlenecks(instance, [[half, Fraction(2)], [Fraction(2), 0]])


def test_formula_2_is_content_with_a_resource_that_is_used_up_by_others():
    instance = examples.requests([[1, 0], [0, 1]], [1, 0])
    assert dolev.content_as_printed(instance, np.array([1, 0])).all()
    assert dolev.content_as_printed(instance, np.array([0.5, 0])).tolist() == [False, False]


@pytest.mark.parametrize(
    ("printed", "expected"), [(10, True), (11.5, True), (14, False), (0, False)]
)
def test_standard_deviations_agree_within_their_noise(printed, expected):
    values = np.random.default_rng(0).normal(100, 10, 120)
    assert metin.same_deviation(printed, values) is expected
    assert metin.same_deviation(0, np.full(9, 3.0)) and not metin.same_deviation(1, np.full(9, 3.0))


def test_a_refutation_tells_whatever_was_drawn():
    generator = np.random.default_rng(0)
    answer = over(Run(key="x"), lambda rng: (np.eye(2), generator, 0.5), lambda drawn: False, few=1)
    assert answer.verdict is Agreement.REFUTED and answer.witness == "1, 0; 0, 1; 0.5"
