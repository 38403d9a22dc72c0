"""What benchmarks/counts.py counts: totals beside the mechanism's own, and lies that pay where one is planted."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from scripts import benchmark


@pytest.fixture(scope="module")
def counts():
    with benchmark("counts") as module:
        yield module


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 5.0])
def test_totals_are_those_of_alpha_fairness(counts, alpha):
    rng = np.random.default_rng(0)
    other = rng.random((6, 3))
    other[0, 0] = 0
    demands = np.stack([np.ones((6, 3)), other], axis=2)
    demands[:, 1] = demands[:, 1, ::-1]
    totals = counts.totals(demands, alpha)
    for table, total in zip(demands, totals, strict=True):
        instance = fairlp.Instance.from_arrays(table, [[1, 1]])
        expected = fairlp.allocate(instance, "alpha-fair", alpha=alpha).shares.sum()
        assert total == pytest.approx(expected, rel=1e-5)


def test_a_total_that_rises_is_seen(counts):
    demands = np.array([[[0, 1], [0, 1], [1, 0], [1, 0.5]]])
    low, high = (counts.totals(demands, alpha)[0] for alpha in (5.1, 1000.0))
    assert low == pytest.approx(1.78601, abs=1e-5) and high == pytest.approx(9 / 5, abs=1e-3)


def test_drawn_trees_are_of_the_kind_that_is_asked_for(counts):
    rng = np.random.default_rng(1)
    drawn = counts.trees(
        rng, 1, lambda instance: counts.is_plain(instance) and counts.has_limits(instance)
    )
    for _ in range(5):
        instance = next(drawn)
        assert len(instance.servers) == 1 and np.isfinite(instance.task_limits).any()
        assert instance.queue is not None and counts.is_plain(instance)


def test_a_false_limit_that_pays_is_found(counts, monkeypatch):
    instance = fairlp.Instance.from_arrays(
        [[1], [1]], [[4]], queue=["", "a"], task_limits=[3, np.inf]
    )
    rng = np.random.default_rng(0)
    assert not counts.pays(instance, "h-drf-counted", rng)
    real = counts.allocate

    def by_limits(instance, rule):
        allocation = real(instance, rule)
        if instance.task_limits[0] > 3:
            allocation.totals.iloc[0] += 1
        return allocation

    monkeypatch.setattr(counts, "allocate", by_limits)
    assert counts.pays(instance, "h-drf-counted", rng)
