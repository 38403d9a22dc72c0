"""The rates of hierarchical DRF in rationals, from the floats of an instance as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from fractions import Fraction

from ..instances.instance import Instance

#: Active users → tasks of each at level 1.
ExactRates = Callable[[Set[int]], dict[int, Fraction]]


def exact_hierarchical(instance: Instance, number: Callable[[float], Fraction] = Fraction) -> ExactRates:
    """Return the rates along the instance's tree; each call costs as many operations as demands and queues' vectors.

    ``number`` is what a float stands for: itself, or its shortest decimal (:func:`decimal`).
    """
    queues, weights = instance.queues, [number(w) for w in instance.user_weights.tolist()]
    shares = exact_shares(instance, number)
    most = [max(row) for row in shares]
    parents = [0] if queues is None else queues.parents.tolist()
    own = [Fraction(1)] if queues is None else [number(w) for w in queues.weights.tolist()]
    of = [0] * len(weights) if queues is None else queues.of.tolist()

    def rates(active: Set[int]) -> dict[int, Fraction]:
        total = [[Fraction(0)] * len(shares[0]) for _ in own]
        for n in active:
            for r, share in enumerate(shares[n]):
                total[of[n]][r] += weights[n] * share / most[n]
        factor = [Fraction(1)] * len(own)
        for v in range(len(own) - 1, 0, -1):  # children before their parents
            largest = max(total[v])
            factor[v] = own[v] / largest if largest else Fraction(0)
            for r, amount in enumerate(total[v]):
                total[parents[v]][r] += amount * factor[v]
        for v in range(1, len(own)):
            factor[v] *= factor[parents[v]]
        return {n: factor[of[n]] * weights[n] / most[n] for n in active}

    return rates


class ExactTree:
    """The same rates, kept while leaves leave one after the other: O(depth·R) a leaf, O(Q) for all factors.

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
        most = [max(row) for row in shares]
        self.parents = [0] if queues is None else queues.parents.tolist()
        self.own = [Fraction(1)] if queues is None else [number(w) for w in queues.weights.tolist()]
        self.of = [0] * len(weights) if queues is None else queues.of.tolist()
        self.unit = [top / w for top, w in zip(most, weights, strict=True)]
        self.vector = [[w * s / top for s in row] for row, top, w in zip(shares, most, weights, strict=True)]
        self.total = [[Fraction(0)] * len(shares[0]) for _ in self.own]
        for n in active:
            for r, amount in enumerate(self.vector[n]):
                self.total[self.of[n]][r] += amount
        for v in range(len(self.own) - 1, 0, -1):  # children before their parents
            self._add(self.parents[v], self._given(v), 1)

    def leave(self, n: int) -> None:
        """Take an active user out of the tree."""
        at, change, sign = self.of[n], self.vector[n], -1
        while True:
            before = self._given(at)
            self._add(at, change, sign)
            if at == 0:
                return
            change = [new - old for new, old in zip(self._given(at), before, strict=True)]
            at, sign = self.parents[at], 1

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

    def _add(self, v: int, change: list[Fraction], sign: int) -> None:
        for r, amount in enumerate(change):
            if amount:
                self.total[v][r] += sign * amount


def exact_constant(due: Iterable[Fraction]) -> ExactRates:
    """Return rates that do not depend on who is active."""
    given = list(due)
    return lambda active: {n: given[n] for n in active}


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
