"""Statistics of a run: functions ``(instance, allocations, **arguments) -> mapping of numbers``.

``allocations`` holds the allocation of each mechanism by its label. Shares are dominant shares of
the whole cluster, the same yardstick for all mechanisms.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from fairlp import Allocation, Instance
from fairlp.toolkit import make_callable, tolerances

from .functions import listing

Allocations = Mapping[str, "Allocation"]
Numbers = dict[str, float]


def summary(
    instance: Instance, allocations: Allocations, *, of: str | Sequence[str] | None = None
) -> Numbers:
    """Tasks, smallest, median and largest dominant share, and the fraction of each resource in use.

    Parameters
    ----------
    instance : Instance
    allocations : mapping of str to Allocation
        By label.
    of : str or sequence of str, optional
        Labels; by default all.

    Returns
    -------
    dict of str to float
    """
    numbers = {}
    for label in _labels(allocations, of):
        allocation = allocations[label]
        shares = _shares(instance, allocation)
        numbers[f"{label}.tasks"] = _totals(allocation).sum()
        numbers[f"{label}.smallest_share"] = shares.min()
        numbers[f"{label}.median_share"] = np.median(shares)
        numbers[f"{label}.largest_share"] = shares.max()
        for resource, fraction in allocation.pool_utilization.items():
            numbers[f"{label}.used_{resource}"] = fraction
    return numbers


def deviation(instance: Instance, allocations: Allocations, *, of: str, from_: str) -> Numbers:
    """Number of users with 1, 2 or more tasks fewer or more than another mechanism gives.

    And the largest difference.

    The columns of Metin, Precomputed DRF, Tables 1 and 2: ``under_1``, ``under_2``, ``under_more``
    (users), ``under_max`` (tasks), ``under`` (users), and the same for ``over``. A fraction of a
    task counts as a whole one.

    Parameters
    ----------
    instance : Instance
    allocations : mapping of str to Allocation
        By label.
    of, from_ : str
        Labels of the mechanism that deviates, and of the mechanism that it deviates from.

    Returns
    -------
    dict of str to float
    """
    totals = _totals(allocations[of])
    reference = _totals(allocations[from_])
    shortfall = reference - totals
    noise = tolerances.AGREEMENT * np.maximum(abs(reference), abs(totals))
    numbers: Numbers = {}
    for name, difference in (("under", shortfall), ("over", -shortfall)):
        whole_tasks = np.ceil(difference - noise)
        numbers[f"{name}_1"] = int((whole_tasks == 1).sum())
        numbers[f"{name}_2"] = int((whole_tasks == 2).sum())
        numbers[f"{name}_more"] = int((whole_tasks > 2).sum())
        numbers[f"{name}_max"] = difference[whole_tasks > 0].max(initial=0.0)
        numbers[name] = int((whole_tasks > 0).sum())
    return numbers


def jain(
    instance: Instance, allocations: Allocations, *, of: str | Sequence[str] | None = None
) -> Numbers:
    """Jain's index of dominant shares by weight: 1 for equal shares, 1/N for one user.

    It is (Σx)² / (N·Σx²).

    Parameters
    ----------
    instance : Instance
    allocations : mapping of str to Allocation
        By label.
    of : str or sequence of str, optional
        Labels; by default all.

    Returns
    -------
    dict of str to float
    """
    return {
        label: jains_index(_shares(instance, allocations[label]) / instance.user_weights)
        for label in _labels(allocations, of)
    }


def jains_index(levels: np.ndarray) -> float:
    """Return Jain's index, (Σx)² / (N·Σx²): 1 for equal levels, 1/N where one user has everything.

    Parameters
    ----------
    levels : ndarray, shape (N,)

    Returns
    -------
    float
        1 where all levels are 0, since all are equal.

    Examples
    --------
    >>> jains_index(np.array([1.0, 1.0])), jains_index(np.array([1e-200, 0.0])), jains_index(np.zeros(3))
    (1.0, 0.5, 1.0)
    """
    if not levels.any():
        return 1.0
    # Squares of very large and very small numbers are beyond floats.
    scaled = levels / levels.max()
    return float(scaled.sum() ** 2 / (len(scaled) * (scaled**2).sum()))


def seconds(
    instance: Instance, allocations: Allocations, *, of: str | Sequence[str] | None = None
) -> Numbers:
    """Seconds that each mechanism took, the only statistic that differs between equal runs.

    Parameters
    ----------
    instance : Instance
    allocations : mapping of str to Allocation
        By label.
    of : str or sequence of str, optional
        Labels; by default all.

    Returns
    -------
    dict of str to float
    """
    return {label: sum(allocations[label].times.values()) for label in _labels(allocations, of)}


def _labels(allocations: Allocations, of: str | Sequence[str] | None) -> list[str]:
    """Return the labels of an argument ``of``; all by default."""
    if of is None:
        return list(allocations)
    return [of] if isinstance(of, str) else list(of)


def _shares(instance: Instance, allocation: Allocation) -> np.ndarray:
    """Return the dominant share of each user in the whole cluster."""
    return np.asarray(_totals(allocation) * (instance.demands / instance.pool).max(axis=1))


def _totals(allocation: Allocation) -> np.ndarray:
    """Return tasks by user."""
    return allocation.totals.to_numpy(dtype=float)


#: name → statistic
REGISTRY: dict[str, Callable[..., Numbers]] = {
    function.__name__: function for function in (summary, deviation, jain, seconds)
}


def table() -> pd.DataFrame:
    """Return the statistics of fairlp: their descriptions, and their arguments with defaults.

    Returns
    -------
    DataFrame
        Indexed by statistic.
    """
    return listing(REGISTRY, "statistic")


make_callable(sys.modules[__name__], table)
