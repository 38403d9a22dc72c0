"""Random instances that are awkward on purpose: zeros, ties, proportional users, limits, quotients of whole tasks."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from fairlp import Instance


def random_instance(
    seed,
    *,
    servers=None,
    constraints=True,
    zeros=True,
    limits=True,
    weights=True,
    magnitudes=False,
    integers=True,
    duplicates=True,
):
    """Return a small random instance; every flag allows one kind of trouble."""
    rng = np.random.default_rng(seed)
    n, k, r = rng.integers(1, 7), servers or rng.integers(1, 5), rng.integers(1, 4)
    if integers:
        demands, capacities = (
            rng.integers(1, 6, (n, r)).astype(float),
            rng.integers(5, 40, (k, r)).astype(float),
        )
    else:
        demands, capacities = rng.lognormal(0, 1, (n, r)), rng.lognormal(3, 1, (k, r))
    if zeros and rng.random() < 0.6:
        demands[rng.random((n, r)) < 0.3] = 0
        demands[np.arange(n), rng.integers(0, r, n)] += 1
        if k > 1 and rng.random() < 0.5:
            capacities[1:][rng.random((k - 1, r)) < 0.3] = 0
    if duplicates and n > 1 and rng.random() < 0.5:
        copies = demands[0] * rng.integers(1, 4, (n - 1, 1))
        demands[1:] = np.where(rng.random((n - 1, 1)) < 0.5, copies, demands[1:])
    if duplicates and k > 1 and rng.random() < 0.4:
        capacities[1] = capacities[0]
    eligible = None
    if constraints and k > 1 and rng.random() < 0.6:
        eligible = rng.random((n, k)) < 0.6
        eligible[np.arange(n), rng.integers(0, k, n)] = True
    task_limits = None
    if limits and rng.random() < 0.6:
        task_limits = np.where(rng.random(n) < 0.5, rng.integers(0, 12, n).astype(float), np.inf)
    phi = rng.integers(1, 4, n).astype(float) if weights and rng.random() < 0.5 else None
    counts = rng.integers(1, 4, k) if servers != 1 and rng.random() < 0.3 else None
    if magnitudes:
        unit = 10.0 ** rng.integers(-6, 10, r)
        demands, capacities = demands * unit, capacities * unit
        size = 10.0 ** rng.integers(-2, 3, n)
        demands *= size[:, None]
        if task_limits is not None:
            task_limits /= size
    return Instance.from_arrays(
        demands, capacities, eligible=eligible, task_limits=task_limits, weights=phi, counts=counts
    )


seeds = st.integers(0, 2**32 - 1)


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
