"""Entries with whole tasks: pools and servers that planted tasks fill, against all whole allocations."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import fairlp_research
from fairlp.models.programs.certificate import verify
from fairlp_research.library.whole import best_whole_level
from profiles import many

load = fairlp_research.library.load

SEEDS = range(many(4))


def brute_force(demands, capacity):
    """The largest smallest share over all whole allocations."""
    shares = [max(Fraction(d, c) for d, c in zip(row, capacity, strict=True)) for row in demands]
    alone = [min(c // d for d, c in zip(row, capacity, strict=True)) for row in demands]
    best = Fraction(0)
    for x in product(*(range(largest + 1) for largest in alone)):
        if all(
            sum(k * row[r] for k, row in zip(x, demands, strict=True)) <= c
            for r, c in enumerate(capacity)
        ):
            best = max(best, min(k * share for k, share in zip(x, shares, strict=True)))
    return best


@pytest.mark.parametrize("seed", range(many(20)))
def test_best_whole_levels_are_those_of_all_allocations(seed):
    rng = np.random.default_rng(seed)
    demands = rng.integers(1, 9, (3, 2)).tolist()
    capacity = rng.integers(15, 30, 2).tolist()
    assert best_whole_level(demands, capacity)[0] == brute_force(demands, capacity)


@pytest.mark.parametrize("seed", SEEDS)
def test_whole_pool_is_tight_and_its_optimum_right(seed):
    entry = load("whole-pool", seed=seed, users=3, resources=2, tasks=3)
    instance, planted = entry.instance, entry.planted["planted"]
    assert (planted @ instance.demands == instance.pool).all()
    demands = [[int(d) for d in row] for row in instance.demands]
    assert entry.optimum.value == brute_force(demands, [int(c) for c in instance.pool])
    assert entry.model().solve("highs").objective == pytest.approx(
        float(entry.optimum.value), rel=1e-9
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_whole_packing_has_its_planted_optimum_and_none_above(seed):
    entry = load("whole-packing", seed=seed)
    instance, planted = entry.instance, entry.planted["planted"]
    assert (planted.T @ instance.demands == instance.capacities).all()  # whole numbers: exactly
    # weights make the planted tasks level 1, and no resource lets all have more
    alone = (instance.pool / instance.demands).min(axis=1)
    np.testing.assert_allclose(instance.user_weights * alone, planted.sum(axis=1), rtol=1e-15)
    program = entry.program()
    point = np.append(planted.ravel(), 1.0)
    assert (
        verify(program, point, None).is_feasible
        and program.objective_value(point) == entry.optimum.value
    )
    relaxed = program.replace(integrality=np.zeros(program.n_columns)).solve("highs")
    assert relaxed.verify().is_optimal and relaxed.objective == pytest.approx(1.0, rel=1e-12)
    assert entry.model().solve("highs").objective == pytest.approx(1.0, rel=1e-9)
