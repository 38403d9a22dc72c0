"""Random small instances with everything that may go wrong in them, as arguments of from_arrays."""

from __future__ import annotations

import numpy as np

import fairlp


def drawn(seed, users=8, servers=6):
    """Demands with zeros and ties, magnitudes, sparse eligibility, weights, task limits, counts."""
    draw = np.random.default_rng(seed)
    n, k, r = int(draw.integers(1, users)), int(draw.integers(1, servers)), int(draw.integers(1, 4))
    if draw.random() < 0.4:
        demands, capacities = draw.integers(0, 4, (n, r)).astype(float), draw.integers(0, 10, (k, r)).astype(float)
    else:
        demands, capacities = draw.lognormal(0, 1, (n, r)), draw.lognormal(2, 1, (k, r))
        if draw.random() < 0.5:
            demands[draw.random((n, r)) < 0.3] = 0
        if draw.random() < 0.3:
            capacities[draw.random((k, r)) < 0.2] = 0
    demands[np.arange(n)[~demands.any(axis=1)], 0] = 1
    capacities[0, ~capacities.any(axis=0)] = 5
    if draw.random() < 0.15:
        demands *= 10.0 ** draw.integers(-6, 6, r)
    if draw.random() < 0.15:
        capacities *= 10.0 ** draw.integers(-3, 3, (1, r))
    eligible = draw.random((n, k)) < draw.uniform(0.2, 1)
    eligible[np.arange(n), draw.integers(0, k, n)] = True
    more = {}
    if draw.random() < 0.3:
        more["weights"] = draw.integers(1, 5, n).astype(float)
    if draw.random() < 0.4:
        more["task_limits"] = np.where(draw.random(n) < 0.5, draw.integers(0, 6, n).astype(float), np.inf)
    if draw.random() < 0.2:
        more["counts"] = draw.integers(1, 4, k)
    return demands, capacities, eligible, more


def both(seed, **sizes):
    """The same random instance, dense and by pairs."""
    demands, capacities, eligible, more = drawn(seed, **sizes)
    dense = fairlp.Instance.from_arrays(demands, capacities, eligible=eligible, **more)
    return dense, fairlp.SparseInstance.from_arrays(demands, capacities, eligible, **more)


def connected(size=300, each=6, zeros=0.0, seed=0):
    """As many users as servers, log-normal, a few eligible servers each."""
    draw = np.random.default_rng(seed)
    demands, capacities = draw.lognormal(0, 1, (size, 3)), draw.lognormal(3, 1, (size, 3))
    nothing = draw.random(demands.shape) < zeros
    nothing[np.arange(size), draw.integers(0, 3, size)] = False
    demands[nothing] = 0
    pairs = np.stack([np.repeat(np.arange(size), each), draw.integers(0, size, size * each)], axis=1)
    return fairlp.SparseInstance.from_arrays(demands, capacities, pairs)
