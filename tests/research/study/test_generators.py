"""Generators of random instances: intervals, servers that differ, and checked arguments."""

from __future__ import annotations

import numpy as np

from fairlp_research.study import generators


def rng(seed=0):
    return np.random.default_rng(seed)


def test_uniform_integers_are_in_their_intervals_ends_included():
    instance = generators.uniform_integers(
        rng(), users=500, resources=3, demands=[2, 4], reserves=[7, 8]
    )
    assert set(instance.demands.ravel()) == {2, 3, 4}
    assert instance.capacities.shape == (1, 3) and set(instance.capacities.ravel()) <= {7, 8}


def test_weights_and_limits_change_no_other_number():
    plain = generators.uniform_integers(rng(), users=5, resources=2)
    weighted = generators.uniform_integers(
        rng(), users=5, resources=2, weights=[1, 3], task_limits=[0, 9]
    )
    assert (plain.demands == weighted.demands).all()
    assert (plain.capacities == weighted.capacities).all()
    assert set(weighted.weights) <= {1, 2, 3} and np.isfinite(weighted.task_limits).all()


def test_log_normal_servers_differ():
    instance = generators.log_normal(
        rng(), users=300, servers=40, resources=2, size=30, eligible=0.25
    )
    assert instance.capacities.shape == (40, 2)
    assert 0.8 < np.median(instance.demands) < 1.2 and 25 < np.median(instance.capacities) < 36
    assert 0.2 < instance.eligible.mean() < 0.3 and instance.eligible.any(axis=1).all()
    assert not generators.log_normal(rng(), users=3, servers=2).has_constraints


def test_what_is_left_out_is_as_the_documentation_says():
    sizes = {"users": 4, "servers": 3}
    left_out = generators.log_normal(rng(), **sizes)
    said = generators.log_normal(
        rng(), **sizes, resources=2, size=20, demand_sigma=1, server_sigma=0.5, eligible=1
    )
    assert (left_out.demands == said.demands).all() and (
        left_out.capacities == said.capacities
    ).all()
