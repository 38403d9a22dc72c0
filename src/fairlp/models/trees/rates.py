"""Static rates of hierarchical DRF, in floats and in rationals (Bhattacharya et al., SoCC 2013).

A leaf that has one unit of dominant share takes d̂[n,r] of each resource. A queue's vector is the sum of its active
children's, each times its weight, divided by its largest entry: one unit is a dominant share of one again. A leaf's
rate is the product of weights and divisors on its way up. The root's own sum is not divided: only ratios matter there,
and without queues the rate is the weight itself, as in DRF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from fractions import Fraction

import numpy as np
from scipy import sparse

from ..instances.instance import Instance
from ..instances.queues import Queues

#: Active leaves (bool, shape (N,)) → the rate of each in tasks, 0 for those that are not active.
Rates = Callable[[np.ndarray], np.ndarray]
#: Active users → tasks of each at level 1, as rationals.
ExactRates = Callable[[Set[int]], dict[int, Fraction]]


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

    def rates(active: np.ndarray) -> np.ndarray:
        total = stands @ (weighted * active[:, None])
        factor = np.ones(count)
        for level in reversed(levels):
            largest, given = total[level].max(axis=1), np.zeros_like(total)
            factor[level] = np.divide(queues.weights[level], largest, out=np.zeros(len(level)), where=largest > 0)
            np.add.at(given, parents[level], total[level] * factor[level, None])
            total += given
        for level in levels:
            factor[level] *= factor[parents[level]]
        return np.where(active, factor[queues.of] * alone, 0.0)

    return rates


def constant(due: np.ndarray) -> Rates:
    """Return rates that do not depend on who is active: those of DRF and its relatives, φΓ."""
    return lambda active: np.where(active, due, 0.0)


class ExactTree:
    """The rates in rationals, kept while leaves leave one after the other: O(depth·R) a leaf, O(Q) for all factors.

    The rate of n is factors()[of[n]] / unit[n].

    Attributes
    ----------
    of : list of int
        Queue of each user.
    unit : list of Fraction
        Dominant share of one task over the weight.
    """

    def __init__(self, instance: Instance, active: Iterable[int], number: Callable[[float], Fraction]) -> None:
        queues, weights = instance.queues, [number(w) for w in instance.user_weights.tolist()]
        shares = exact_shares(instance, number)
        self.parents, self.own, self.of = [0], [Fraction(1)], [0] * len(weights)
        if queues is not None:
            self.parents, self.of = queues.parents.tolist(), queues.of.tolist()
            self.own = [number(w) for w in queues.weights.tolist()]
        self.unit = [max(row) / w for row, w in zip(shares, weights, strict=True)]
        self.vector = [[share / unit for share in row] for row, unit in zip(shares, self.unit, strict=True)]
        self.begin(active)

    def begin(self, active: Iterable[int]) -> None:
        """Make these the active users."""
        self.total = [[Fraction(0)] * len(self.vector[0]) for _ in self.own]
        for n in active:
            self._add(self.of[n], self.vector[n])
        for v in range(len(self.own) - 1, 0, -1):  # children before their parents
            self._add(self.parents[v], self._given(v))

    def leave(self, n: int) -> None:
        """Take an active user out of the tree."""
        at, change = self.of[n], [-amount for amount in self.vector[n]]
        while at:
            before = self._given(at)
            self._add(at, change)
            change = [new - old for new, old in zip(self._given(at), before, strict=True)]
            at = self.parents[at]
        self._add(0, change)

    def factors(self) -> list[Fraction]:
        """Return the product of weights and divisors on the way up from each queue; 0 where nobody is active."""
        factor = [Fraction(1)] * len(self.own)
        for v in range(1, len(self.own)):
            largest = max(self.total[v])
            factor[v] = factor[self.parents[v]] * self.own[v] / largest if largest else Fraction(0)
        return factor

    def _given(self, v: int) -> list[Fraction]:
        """Return what a queue adds to its parent's vector."""
        largest = max(self.total[v])
        return [self.own[v] * amount / largest if largest else Fraction(0) for amount in self.total[v]]

    def _add(self, v: int, change: list[Fraction]) -> None:
        self.total[v] = [amount + more if more else amount for amount, more in zip(self.total[v], change, strict=True)]


def exact_hierarchical(instance: Instance, number: Callable[[float], Fraction] = Fraction) -> ExactRates:
    """Return the rates along the instance's tree in rationals; each call is O(NR + QR) operations.

    ``number`` is what a float stands for: itself, or its shortest decimal (:func:`decimal`).
    """
    tree = ExactTree(instance, (), number)

    def rates(active: Set[int]) -> dict[int, Fraction]:
        tree.begin(active)
        factor = tree.factors()
        return {n: factor[tree.of[n]] / tree.unit[n] for n in active}

    return rates


def exact_pool(instance: Instance, number: Callable[[float], Fraction] = Fraction) -> list[Fraction]:
    """Return the capacity of the whole cluster by resource."""
    counts = instance.counts.tolist()
    columns = instance.capacities.T.tolist()
    return [sum((number(c) * k for c, k in zip(column, counts, strict=True)), Fraction(0)) for column in columns]


def exact_shares(instance: Instance, number: Callable[[float], Fraction] = Fraction) -> list[list[Fraction]]:
    """Return the fraction of the pool that one task of each user takes, by resource."""
    pool = exact_pool(instance, number)
    return [
        [number(d) / c if d else Fraction(0) for d, c in zip(row, pool, strict=True)]
        for row in instance.demands.tolist()
    ]


def decimal(value: float) -> Fraction:
    """Return the shortest decimal that a float is written as: 0.1 is a tenth.

    >>> decimal(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(value))
