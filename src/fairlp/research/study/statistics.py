"""Statistics of a run: functions ``(instance, allocations, **arguments) -> mapping of numbers``, by name.

``allocations`` holds what each mechanism gave by its label. Shares are dominant shares of the whole
cluster, the same yardstick for all mechanisms.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from ...mechanisms.allocation import Allocation
from ...models.instances.instance import Instance
from ...registry import make_callable
from ...tolerances import AGREEMENT
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
    found = {}
    for label in _labels(allocations, of):
        allocation = allocations[label]
        shares = _shares(instance, allocation)
        found[f"{label}.tasks"] = allocation.totals.sum()
        found[f"{label}.smallest_share"] = shares.min()
        found[f"{label}.median_share"] = np.median(shares)
        found[f"{label}.largest_share"] = shares.max()
        for resource, used in allocation.pool_utilization.items():
            found[f"{label}.used_{resource}"] = used
    return found


def deviation(instance: Instance, allocations: Allocations, *, of: str, from_: str) -> Numbers:
    """How many users have 1, 2 or more tasks fewer (or more) than by another mechanism, and the largest difference.

    The columns of Metin, Precomputed DRF, Tables 1 and 2: ``under_1``, ``under_2``, ``under_more``
    (users), ``under_max`` (tasks), ``under`` (users), and the same for ``over``. Part of a task
    counts as a whole one.

    Parameters
    ----------
    instance : Instance
    allocations : mapping of str to Allocation
        By label.
    of, from_ : str
        Labels: whose deviation, and from whom.

    Returns
    -------
    dict of str to float
    """
    found, reference = (allocations[label].totals.to_numpy(dtype=float) for label in (of, from_))
    short = reference - found
    noise = AGREEMENT * np.maximum(abs(reference), abs(found))
    numbers: Numbers = {}
    for name, missing in (("under", short), ("over", -short)):
        whole = np.ceil(missing - noise)
        numbers[f"{name}_1"] = int((whole == 1).sum())
        numbers[f"{name}_2"] = int((whole == 2).sum())
        numbers[f"{name}_more"] = int((whole > 2).sum())
        numbers[f"{name}_max"] = missing[whole > 0].max(initial=0.0)
        numbers[name] = int((whole > 0).sum())
    return numbers


def jain(
    instance: Instance, allocations: Allocations, *, of: str | Sequence[str] | None = None
) -> Numbers:
    """Jain's index of the dominant shares by weight, (Σx)² / (N·Σx²): 1 where all are equal, 1/N where one has all.

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
    """Return Jain's index, (Σx)² / (N·Σx²): 1 where all are equal, 1/N where one has everything.

    Parameters
    ----------
    levels : ndarray, shape (N,)

    Returns
    -------
    float
        1 where nobody has anything, since all are equal then.

    Examples
    --------
    >>> jains_index(np.array([1.0, 1.0])), jains_index(np.array([1e-200, 0.0])), jains_index(np.zeros(3))
    (1.0, 0.5, 1.0)
    """
    if not levels.any():
        return 1.0
    parts = levels / levels.max()  # squares of very large and very small numbers are beyond floats
    return float(parts.sum() ** 2 / (len(parts) * (parts**2).sum()))


def seconds(
    instance: Instance, allocations: Allocations, *, of: str | Sequence[str] | None = None
) -> Numbers:
    """How long each mechanism took. The one statistic that differs between two runs of the same study.

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
    return list(allocations) if of is None else [of] if isinstance(of, str) else list(of)


def _shares(instance: Instance, allocation: Allocation) -> np.ndarray:
    return np.asarray(
        allocation.totals.to_numpy(dtype=float) * (instance.demands / instance.pool).max(axis=1)
    )


#: name → statistic
REGISTRY: dict[str, Callable[..., Numbers]] = {
    function.__name__: function for function in (summary, deviation, jain, seconds)
}


def table() -> pd.DataFrame:
    """Return the statistics that ship with fairlp: what they tell, and their arguments with defaults.

    Returns
    -------
    DataFrame
        Indexed by statistic.
    """
    return listing(REGISTRY, "statistic")


make_callable(sys.modules[__name__], table)
