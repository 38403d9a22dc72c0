"""Answers over arrivals, planted and by plain loops."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd

import fairlp
from arrival_instances import random_arrivals
from fairlp import Instance
from fairlp.mechanisms.arrivals.result import dynamic_allocation
from fairlp.mechanisms.arrivals.rule import StepLevels


def arrivals(*moments, **options):
    """Three users of two resources, with these arrivals."""
    attributes = pd.DataFrame({"arrival": list(moments)}) if moments else None
    demands = [[1.0, 4.0], [3.0, 1.0], [1.0, 1.0]]
    return Instance.from_arrays(
        demands, [[9, 18]], users=["a", "b", "c"], user_attributes=attributes, **options
    )


def instance_of(seed, **options):
    demands, capacities, weights = random_arrivals(seed)
    return Instance.from_arrays(demands, [capacities], weights=weights, **options)


def bound(resources, horizon):
    """n/(q(n − q + 1)), q = min(m, ⌊(n + 1)/2⌋)."""
    q = min(resources, (horizon + 1) // 2)
    return Fraction(horizon, q * (horizon - q + 1))


def tight(resources, horizon, other=Fraction(0)):
    """Each of the first users needs a resource of its own, and ``other`` of the rest; the ratio is least at step q."""
    resource_of = [k % resources for k in range(horizon)]
    return [[Fraction(1) if r == k else other for r in range(resources)] for k in resource_of]


INSTANCE = Instance.from_arrays([[1.0, 4.0], [3.0, 1.0], [1.0, 1.0], [2.0, 5.0]], [[9, 18]])


def with_levels(result, levels, first=None):
    """The answer as it would be with other levels of the steps."""
    return dynamic_allocation(
        result.rule,
        result.instance,
        result.method,
        result.schedule,
        StepLevels(np.asarray(levels), result.first_array if first is None else np.array(first)),
    )


def planted(mechanism, step, factor):
    """The right answer, and the same with the level of one step times a factor."""
    right = fairlp.allocate(INSTANCE, mechanism)
    levels = right.level_array.copy()
    levels[step] *= factor
    return right, with_levels(right, levels)
