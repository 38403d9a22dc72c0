"""The rates of hierarchical DRF in rationals, from the floats of an instance as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from fractions import Fraction

import numpy as np

from ..instances.instance import Instance

#: Active users → tasks of each at level 1.
ExactRates = Callable[[Set[int]], dict[int, Fraction]]


def exact_hierarchical(instance: Instance) -> ExactRates:
    """Return the rates along the instance's tree; each call costs as many operations as demands and queues' vectors."""
    queues, weights = instance.queues, _fractions(instance.user_weights)
    pool = _pool(instance)
    shares = [[Fraction(d) / c for d, c in zip(row, pool, strict=True)] for row in instance.demands.tolist()]
    most = [max(row) for row in shares]
    parents = [0] if queues is None else queues.parents.tolist()
    own = [Fraction(1)] if queues is None else _fractions(queues.weights)
    of = [0] * len(weights) if queues is None else queues.of.tolist()

    def rates(active: Set[int]) -> dict[int, Fraction]:
        total = [[Fraction(0)] * len(pool) for _ in own]
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


def exact_constant(due: Iterable[Fraction]) -> ExactRates:
    """Return rates that do not depend on who is active."""
    given = list(due)
    return lambda active: {n: given[n] for n in active}


def _pool(instance: Instance) -> list[Fraction]:
    counts = instance.counts.tolist()
    columns = instance.capacities.T.tolist()
    return [sum((Fraction(c) * k for c, k in zip(column, counts, strict=True)), Fraction(0)) for column in columns]


def _fractions(values: np.ndarray) -> list[Fraction]:
    return [Fraction(value) for value in values.tolist()]
