"""The numbers printed in the papers (mechanisms.md §2, §3, §6, §7), and Γ[n] as in the table of §1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairlp
from fairlp import examples
from fairlp.formulations import normalisers


def totals(instance, mechanism, method="auto"):
    return fairlp.allocate(instance, mechanism, method=method).totals.to_numpy()


@pytest.mark.parametrize("mechanism", ["drf", "edrf", "drfh", "c-drfh"])
@pytest.mark.parametrize("method", ["lp", "rounds"])
def test_ghodsi_three_and_two_tasks(mechanism, method):
    allocation = fairlp.allocate(examples.ghodsi(), mechanism, method=method)
    assert allocation.totals.tolist() == pytest.approx([3, 2], rel=1e-14)
    assert allocation.shares.tolist() == pytest.approx([2 / 3, 2 / 3], rel=1e-14)
    assert allocation.utilization.loc["pool", "cpu"] == pytest.approx(1, rel=1e-14)
    assert allocation.usage.loc["pool"].tolist() == pytest.approx([9, 14])


def test_ghodsi_price_is_the_growth_of_the_share_with_cpu():
    prices = fairlp.allocate(examples.ghodsi(), "drf", method="lp").prices
    # 9 CPUs carry a dominant share of 2/3, so one more CPU carries 2/27 more; memory is not scarce
    assert prices.loc["pool"].tolist() == pytest.approx([2 / 27, 0], rel=1e-12)


def test_ghodsi_59_19_divisible():
    x = totals(examples.ghodsi_59_19(), "drf")
    # memory dominates for both (4/19 and 1/19 a task) and is saturated: 4a = b and 4a + b = 19
    assert x.tolist() == pytest.approx([19 / 8, 19 / 2], rel=1e-14)


def test_edrf_closed_form_rounds_and_lp_on_ghodsi():
    instance = examples.ghodsi()
    d_hat = (instance.demands / instance.pool) / (instance.demands / instance.pool).max(
        axis=1, keepdims=True
    )
    level = 1 / d_hat.sum(axis=0).max()
    for method in ("closed-form", "rounds", "lp"):
        allocation = fairlp.allocate(instance, "edrf", method=method)
        assert allocation.levels.tolist() == pytest.approx([level, level], rel=1e-14)


def test_edrf_zero_demands_need_two_rounds():
    for method in ("rounds", "lp"):
        allocation = fairlp.allocate(examples.parkes_zero_demands(), "edrf", method=method)
        assert allocation.totals.tolist() == pytest.approx([0.5, 1.5, 0.5], rel=1e-14)
        assert allocation.levels.tolist() == pytest.approx([0.5, 0.75, 0.5], rel=1e-14)
        assert allocation.rounds["users"].tolist() == [["A", "C"], ["B"]]


def test_edrf_per_resource_weights_against_the_formula_of_parkes():
    """ρ[n] = max over r of d[n,r]/(w[n,r]·c[r]); without zero demands x[n] = k/ρ[n], k = min_r c[r]/Σ d[n,r]/ρ[n]."""
    rng = np.random.default_rng(5)
    demands, capacity = rng.uniform(1, 5, (6, 3)), np.array([40.0, 60.0, 90.0])
    weights = rng.uniform(0.5, 1.5, (6, 3))
    weights /= weights.sum(axis=0)
    rho = (demands / (weights * capacity)).max(axis=1)
    expected = (capacity / (demands / rho[:, None]).sum(axis=0)).min() / rho
    instance = fairlp.Instance.from_arrays(demands, [capacity], weights=weights)
    for mechanism in ("drf", "edrf"):
        for method in ("auto", "rounds", "lp"):
            assert totals(instance, mechanism, method).tolist() == pytest.approx(
                expected.tolist(), rel=1e-12
            )


def test_wang_figures_1_to_3():
    instance = examples.wang_figure_1()
    allocation = fairlp.allocate(instance, "drfh")
    assert allocation.totals.tolist() == pytest.approx([10, 10], rel=1e-12)
    assert allocation.shares.tolist() == pytest.approx([5 / 7, 5 / 7], rel=1e-12)
    np.testing.assert_allclose(allocation.tasks, [[10, 0], [0, 10]], atol=1e-9)
    assert fairlp.formulate(instance, "drfh").solve().objective == pytest.approx(5 / 7, rel=1e-12)
    for method in ("rounds", "lp"):
        naive = fairlp.allocate(instance, "naive-drf", method=method)
        assert naive.totals.tolist() == pytest.approx([6, 6], rel=1e-12)
        np.testing.assert_allclose(naive.tasks, [[5, 1], [1, 5]], rtol=1e-12)


def test_naive_drf_model_gives_the_first_round_on_each_server():
    solution = fairlp.formulate(examples.wang_figure_1(), "naive-drf").solve()
    assert solution.values["t"].tolist() == pytest.approx([0.5, 0.5], rel=1e-12)


def test_google_table_merged_equals_unmerged():
    one_by_one = examples.google_cluster(users=12, one_by_one=True)
    small = fairlp.Instance.from_arrays(
        one_by_one.demands, one_by_one.capacities[::100], resources=["cpu", "memory"]
    )  # every 100th server, so that the unmerged LP is quick
    merged = fairlp.allocate(small, "drfh")
    plain = fairlp.allocate(small, "drfh", merge=False)
    assert len(small.servers) == 126
    np.testing.assert_allclose(merged.totals, plain.totals, rtol=1e-9)
    assert merged.residual <= 1e-12
    counted = fairlp.allocate(examples.google_cluster(users=12), "drfh")
    split = fairlp.allocate(one_by_one, "drfh")
    np.testing.assert_allclose(counted.totals, split.totals, rtol=1e-12)
    assert split.tasks.shape == (12, 12583)
    assert "merged" in split.notes[0]


def by_hand(name, d, c, counts, delta):
    """Γ[n] by the table of mechanisms.md §1, in exact rationals."""
    pool = [sum(q * row[r] for q, row in zip(counts, c, strict=True)) for r in range(len(c[0]))]
    out = []
    for demand, may in zip(d, delta, strict=True):
        alone = [
            q * min(Fraction(x) / y for x, y in zip(row, demand, strict=True) if y)
            for q, row in zip(counts, c, strict=True)
        ]
        out.append(
            {
                "dominant": min(Fraction(x) / y for x, y in zip(pool, demand, strict=True) if y),
                "asset": 1 / sum(Fraction(y) / x for x, y in zip(pool, demand, strict=True)),
                "containerized": sum(g for g, m in zip(alone, may, strict=True) if m),
                "task_share": sum(alone),
            }[name]
        )
    return [float(value) for value in out]


@pytest.mark.parametrize("name", ["dominant", "asset", "containerized", "task_share"])
def test_normalisers_as_in_the_table(name):
    rng = np.random.default_rng(1)
    for _ in range(30):
        d = rng.integers(0, 5, (4, 3))
        d[:, 0] += 1
        c, counts = rng.integers(1, 20, (3, 3)), rng.integers(1, 4, 3)
        delta = rng.random((4, 3)) < 0.7
        delta[:, 0] = True
        instance = fairlp.Instance.from_arrays(d, c, counts=counts, eligible=delta)
        normaliser = getattr(normalisers, name)(instance)
        expected = by_hand(name, d.tolist(), c.tolist(), counts.tolist(), delta.tolist())
        assert normaliser.tolist() == pytest.approx(expected, rel=1e-15)
