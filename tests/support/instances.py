"""Random instances that are awkward on purpose: zeros, ties, proportional users, equal servers, limits, constraints."""

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
