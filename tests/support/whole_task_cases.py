"""Instances with whole tasks whose quotients are awkward in floats."""

from __future__ import annotations

import numpy as np


def awkward(rng, most_users=9, kinds=6):
    """Instances built to tie: proportional users, equal shares, capacities that saturate exactly."""
    n, m = int(rng.integers(1, most_users)), int(rng.integers(1, 4))
    kind = rng.integers(0, kinds)
    demands = rng.integers(kind == 0, rng.choice([2, 4, 9]), (n, m)).astype(float)
    if kind == 1:
        demands = np.outer(rng.integers(1, 5, n), rng.integers(1, 4, m)).astype(float)
    if kind == 2:
        demands = rng.choice([0.1, 0.2, 0.3, 0.7], (n, m))
    demands[~demands.any(axis=1), 0] = 1
    capacity = rng.integers(3, rng.choice([15, 60, 200]), m).astype(float)
    if kind in (1, 3):
        capacity = demands.sum(axis=0) * rng.integers(1, 5) + (demands.sum(axis=0) == 0)
    if kind == 4:
        demands, capacity = rng.lognormal(0, 1.5, (n, m)), rng.lognormal(3, 1, m)
    if kind == 5:
        unit = 10.0 ** rng.integers(-6, 10, m)
        demands, capacity = demands * unit, capacity * unit
    weights = [None, rng.integers(1, 5, n), rng.uniform(0.1, 1, n), rng.integers(1, 4, (n, m))][
        rng.integers(0, 4)
    ]
    limits = rng.choice([0, 1, 3, 6.5, np.inf], n) if rng.random() < 0.4 else None
    return demands, capacity, weights, limits
