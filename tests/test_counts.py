"""What benchmarks/counts.py counts: lies that pay where one is planted."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from scripts import benchmark


@pytest.fixture(scope="module")
def counts():
    with benchmark("counts") as module:
        yield module


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
