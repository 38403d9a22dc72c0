"""Static rates of hierarchical DRF: how fast leaves rise beside each other (Bhattacharya et al., SoCC 2013).

A leaf that has one unit of dominant share takes d̂[n,r] of each resource. A queue's vector is the sum of its active
children's, each times its weight, divided by its largest entry: one unit is a dominant share of one again. A leaf's
rate is the product of weights and divisors on its way up. The root's own sum is not divided: only ratios matter there,
and without queues the rate is the weight itself, as in DRF.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from ..instances.queues import Queues

#: Active leaves (bool, shape (N,)) → the rate of each in tasks, 0 for those that are not active.
Rates = Callable[[np.ndarray], np.ndarray]


def hierarchical(queues: Queues, weights: np.ndarray, share: np.ndarray, gamma: np.ndarray) -> Rates:
    """Return the rates of active leaves; each call is O(NR + QR).

    Parameters
    ----------
    queues : Queues
    weights : ndarray, shape (N,)
        Of leaves, beside the queues that stand in the same queue.
    share : ndarray, shape (N, R)
        d̂[n,r]: what a leaf with a dominant share of 1 takes of each resource; the largest entry is 1.
    gamma : ndarray, shape (N,)
        Tasks that are a dominant share of 1 (Γ[n]).
    """
    count, users = len(queues), len(queues.of)
    stands = sparse.csr_array((np.ones(users), (queues.of, np.arange(users))), shape=(count, users))
    weighted, parents = share * weights[:, None], queues.parents
    levels = [np.flatnonzero(queues.depths == depth) for depth in range(1, int(queues.depths.max()) + 1)]
    alone = weights * gamma
    families = []  # queues come in preorder, so that siblings stand together
    for level in levels:
        starts = np.flatnonzero(np.diff(parents[level], prepend=-1))
        families.append((level, starts, parents[level][starts]))

    def rates(active: np.ndarray) -> np.ndarray:
        total = stands @ (weighted * active[:, None])
        factor = np.ones(count)
        for level, starts, heads in reversed(families):
            largest = total[level].max(axis=1)
            factor[level] = np.divide(queues.weights[level], largest, out=np.zeros(len(level)), where=largest > 0)
            total[heads] += np.add.reduceat(total[level] * factor[level, None], starts, axis=0)
        for level in levels:
            factor[level] *= factor[parents[level]]
        return np.where(active, factor[queues.of] * alone, 0.0)

    return rates


def constant(due: np.ndarray) -> Rates:
    """Return rates that do not depend on who is active: those of DRF and its relatives, φΓ."""
    return lambda active: np.where(active, due, 0.0)
