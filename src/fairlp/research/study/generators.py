"""Random instances for studies: functions ``(rng, **parameters) -> Instance``, by name.

Intervals are ``[low, high]``, both ends included. Weights and task limits are drawn last, so that
asking for them changes nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ... import Instance, examples
from ...errors import InstanceError
from ...registry import make_callable
from .functions import listing

Interval = Sequence[float]


def uniform_integers(
    rng: np.random.Generator,
    *,
    users: int,
    resources: int,
    demands: Interval = (1, 10),
    reserves: Interval = (50_000, 100_000),
    weights: Interval | None = None,
    task_limits: Interval | None = None,
) -> Instance:
    """One pool; demands and reserves are uniform whole numbers (Metin, Tables 1 and 2).

    Metin, Precomputed DRF.

    Parameters
    ----------
    rng : Generator
    users, resources : int
    demands, reserves : interval
        Of the demand of a task, and of the capacity of the pool.
    weights, task_limits : interval, optional
        Whole numbers, uniform; by default 1 and no limit.

    Returns
    -------
    Instance
    """
    amounts = _integers(rng, demands, (users, resources), "demands", minimum=1)
    capacities = _integers(rng, reserves, (1, resources), "reserves")
    return _instance(
        "uniform-integers", rng, amounts, capacities, weights, task_limits, servers=["pool"]
    )


def zero_demands(
    rng: np.random.Generator,
    *,
    users: int,
    resources: int,
    zeros: float = 0.5,
    demands: Interval = (1, 10),
    reserves: Interval = (50_000, 100_000),
    weights: Interval | None = None,
    task_limits: Interval | None = None,
) -> Instance:
    """``uniform-integers`` with demands of 0 at a probability; each user keeps one demand.

    The demand that stays is drawn evenly.

    Parameters
    ----------
    rng : Generator
    users, resources : int
    zeros : float
        The probability.
    demands, reserves : interval
        Of the demand of a task, and of the capacity of the pool.
    weights, task_limits : interval, optional
        Whole numbers, uniform; by default 1 and no limit.

    Returns
    -------
    Instance
    """
    amounts = _integers(rng, demands, (users, resources), "demands", minimum=1)
    capacities = _integers(rng, reserves, (1, resources), "reserves")
    is_zero = rng.random((users, resources)) < _probability(zeros, "zeros")
    is_zero[np.arange(users), rng.integers(0, resources, users)] = False
    amounts[is_zero] = 0
    return _instance(
        "zero-demands", rng, amounts, capacities, weights, task_limits, servers=["pool"]
    )


def log_normal(
    rng: np.random.Generator,
    *,
    users: int,
    servers: int,
    resources: int = 2,
    size: float = 20.0,
    demand_sigma: float = 1.0,
    server_sigma: float = 0.5,
    eligible: float = 1.0,
    weights: Interval | None = None,
    task_limits: Interval | None = None,
) -> Instance:
    """Servers that differ: capacities (median ``size``) and demands (median 1) are log-normal.

    Each user may run on each server with the probability ``eligible``, and on one at least.

    Parameters
    ----------
    rng : Generator
    users, servers, resources : int
    size : float
        Median capacity of a server, in median demands.
    demand_sigma, server_sigma : float
        Standard deviations of the logarithms.
    eligible : float
        The probability.
    weights, task_limits : interval, optional
        Whole numbers, uniform; by default 1 and no limit.

    Returns
    -------
    Instance
    """
    demands = rng.lognormal(0.0, demand_sigma, (users, resources))
    capacities = size * rng.lognormal(0.0, server_sigma, (servers, resources))
    mask = None
    if _probability(eligible, "eligible") < 1:
        mask = rng.random((users, servers)) < eligible
        mask[np.arange(users), rng.integers(0, servers, users)] = True
    return _instance("log-normal", rng, demands, capacities, weights, task_limits, eligible=mask)


def google_cluster(
    rng: np.random.Generator,
    *,
    users: int = 100,
    one_by_one: bool = False,
    weights: Interval | None = None,
    task_limits: Interval | None = None,
) -> Instance:
    """Google's 12,583 servers; a task needs 0.01 to 0.1 of the largest server's CPU and memory.

    Parameters
    ----------
    rng : Generator
    users : int
    one_by_one : bool
        Give each server a row of its own instead of a count.
    weights, task_limits : interval, optional
        Whole numbers, uniform; by default 1 and no limit.

    Returns
    -------
    Instance
    """
    instance = examples.google_cluster(users, int(rng.integers(2**32)), one_by_one)
    return instance.replace(**_weights_and_limits(rng, users, weights, task_limits))


def _instance(
    name: str,
    rng: np.random.Generator,
    demands: np.ndarray,
    capacities: np.ndarray,
    weights: Interval | None,
    task_limits: Interval | None,
    **options: Any,
) -> Instance:
    """Return an instance, with random weights and task limits where they have intervals."""
    options |= _weights_and_limits(rng, len(demands), weights, task_limits)
    return Instance.from_arrays(demands, capacities, name=name, **options)


def _weights_and_limits(
    rng: np.random.Generator, users: int, weights: Interval | None, task_limits: Interval | None
) -> dict[str, np.ndarray]:
    """Return random weights and task limits, where there are intervals for them."""
    options = {}
    if weights is not None:
        options["weights"] = _integers(rng, weights, users, "weights", minimum=1)
    if task_limits is not None:
        options["task_limits"] = _integers(rng, task_limits, users, "task_limits")
    return options


def _integers(
    rng: np.random.Generator,
    interval: Interval,
    shape: int | tuple[int, int],
    name: str,
    minimum: int = 0,
) -> np.ndarray:
    """Return whole numbers from an interval as floats."""
    if (
        len(interval) != 2
        or any(end != int(end) for end in interval)
        or not minimum <= interval[0] <= interval[1]
    ):
        raise InstanceError(
            f"{name} are drawn from {interval!r}; expected whole numbers [low, high], low at least "
            f"{minimum}"
        )
    return rng.integers(int(interval[0]), int(interval[1]), shape, endpoint=True).astype(float)


def _probability(value: float, name: str) -> float:
    """Return a probability, checked."""
    if not 0 <= value <= 1:
        raise InstanceError(f"{name} is {value!r}; expected a probability, from 0 to 1")
    return value


#: name → generator
REGISTRY: dict[str, Callable[..., Instance]] = {
    function.__name__.replace("_", "-"): function
    for function in (uniform_integers, zero_demands, log_normal, google_cluster)
}


def table() -> pd.DataFrame:
    """Return the generators of fairlp: their descriptions, and their parameters with defaults.

    Returns
    -------
    DataFrame
        Indexed by generator.
    """
    return listing(REGISTRY, "generator")


make_callable(sys.modules[__name__], table)
