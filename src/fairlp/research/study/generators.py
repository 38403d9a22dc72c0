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

from ... import examples
from ...errors import InstanceError
from ...models.instances.instance import Instance
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
    """One pool; demands and reserves are whole numbers, uniform (Metin, Precomputed DRF, Tables 1 and 2).

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
    wanted = _integers(rng, demands, (users, resources), "demands", least=1)
    there = _integers(rng, reserves, (1, resources), "reserves")
    return _made("uniform-integers", rng, wanted, there, weights, task_limits, servers=["pool"])


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
    """The same, where each demand is 0 with a probability; every user keeps one, drawn evenly, at least.

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
    wanted = _integers(rng, demands, (users, resources), "demands", least=1)
    there = _integers(rng, reserves, (1, resources), "reserves")
    absent = rng.random((users, resources)) < _probability(zeros, "zeros")
    absent[np.arange(users), rng.integers(0, resources, users)] = False
    wanted[absent] = 0
    return _made("zero-demands", rng, wanted, there, weights, task_limits, servers=["pool"])


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
    """Servers that differ: capacities (median ``size``) and demands (median 1) are log-normal, independent.

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
    wanted = rng.lognormal(0.0, demand_sigma, (users, resources))
    there = size * rng.lognormal(0.0, server_sigma, (servers, resources))
    allowed = None
    if _probability(eligible, "eligible") < 1:
        allowed = rng.random((users, servers)) < eligible
        allowed[np.arange(users), rng.integers(0, servers, users)] = True
    return _made("log-normal", rng, wanted, there, weights, task_limits, eligible=allowed)


def google_cluster(
    rng: np.random.Generator,
    *,
    users: int = 100,
    one_by_one: bool = False,
    weights: Interval | None = None,
    task_limits: Interval | None = None,
) -> Instance:
    """Google's 12,583 servers; each user's task needs 0.01 to 0.1 of the largest server's CPU and memory.

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
    made = examples.google_cluster(users, int(rng.integers(2**32)), one_by_one)
    return made.replace(**_of_users(rng, users, weights, task_limits))


def _made(
    name: str,
    rng: np.random.Generator,
    demands: np.ndarray,
    capacities: np.ndarray,
    weights: Interval | None,
    task_limits: Interval | None,
    **more: Any,
) -> Instance:
    return Instance.from_arrays(
        demands, capacities, name=name, **_of_users(rng, len(demands), weights, task_limits), **more
    )


def _of_users(
    rng: np.random.Generator, users: int, weights: Interval | None, task_limits: Interval | None
) -> dict[str, Any]:
    """Return the weights and task limits that are asked for."""
    found = {}
    if weights is not None:
        found["weights"] = _integers(rng, weights, users, "weights", least=1)
    if task_limits is not None:
        found["task_limits"] = _integers(rng, task_limits, users, "task_limits")
    return found


def _integers(
    rng: np.random.Generator,
    interval: Interval,
    shape: int | tuple[int, int],
    name: str,
    least: int = 0,
) -> np.ndarray:
    """Return whole numbers from an interval as floats."""
    if (
        len(interval) != 2
        or any(end != int(end) for end in interval)
        or not least <= interval[0] <= interval[1]
    ):
        raise InstanceError(
            f"{name} are drawn from {interval!r}; expected whole numbers [low, high], low at least "
            f"{least}"
        )
    return rng.integers(int(interval[0]), int(interval[1]), shape, endpoint=True).astype(float)


def _probability(value: float, name: str) -> float:
    if not 0 <= value <= 1:
        raise InstanceError(f"{name} is {value!r}; expected a probability, from 0 to 1")
    return value


#: name → generator
REGISTRY: dict[str, Callable[..., Instance]] = {
    function.__name__.replace("_", "-"): function
    for function in (uniform_integers, zero_demands, log_normal, google_cluster)
}


def table() -> pd.DataFrame:
    """Return the generators that ship with fairlp: what they make, and their parameters with defaults.

    Returns
    -------
    DataFrame
        Indexed by generator.
    """
    return listing(REGISTRY, "generator")


make_callable(sys.modules[__name__], table)
