"""Dynamic DRF without a solver: the algorithms behind ``dynamic-drf``, on floats or Fractions.

>>> from fairlp import arrivals
>>> arrivals.stack([[1.0, 0.5], [0.5, 1.0]], [1, 2])
([1.0, 1.3333333333333333], [0, 0])
"""

from __future__ import annotations

from .mechanisms.arrivals.algorithms import linear, stack, water_filling

__all__ = ["linear", "stack", "water_filling"]


def __dir__() -> list[str]:
    return __all__
