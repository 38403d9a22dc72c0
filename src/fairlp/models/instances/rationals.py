"""Exact numbers of an instance: rationals of its floats, as they are or as they were written."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from .instance import Instance

#: What a float stands for: itself (``Fraction``), or its shortest decimal (:func:`decimal`).
Conversion = Callable[[float], Fraction]


def rational(values: np.ndarray, number: Conversion = Fraction) -> np.ndarray:
    """Return an array of floats as rationals, infinite ones as they are."""
    fractions = [
        number(value) if np.isfinite(value) else value for value in values.ravel().tolist()
    ]
    return np.array(fractions, dtype=object).reshape(values.shape)


def exact_pool(instance: Instance, number: Conversion = Fraction) -> list[Fraction]:
    """Return the capacity of the whole cluster by resource."""
    counts = instance.counts.tolist()
    columns = instance.capacities.T.tolist()
    return [
        sum((number(c) * k for c, k in zip(column, counts, strict=True)), Fraction(0))
        for column in columns
    ]


def exact_shares(instance: Instance, number: Conversion = Fraction) -> list[list[Fraction]]:
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
