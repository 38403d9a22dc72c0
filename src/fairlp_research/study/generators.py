"""Random instances for studies: functions ``(rng, **parameters) -> Instance``, by name.

Intervals are ``[low, high]``, both ends included. Weights and task limits are drawn last, so that
asking for them changes nothing else.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairlp import Instance, examples
from fairlp.errors import InstanceError, TooLargeError, quoted
from fairlp.toolkit import make_callable

from .functions import listing

Interval = Sequence[float]

#: Entries of an array that is drawn: 800 MB of floats.
MOST_ENTRIES = 10**8
#: Whole numbers beyond this are not all floats.
LARGEST_WHOLE = 2**53


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
    _require_counts(users=users, resources=resources)
    amounts = _integers(rng, demands, (users, resources), "demands", minimum=1)
    capacities = _integers(rng, reserves, (1, resources), "reserves")
    return _instance(
        "uniform-integers", rng, amounts, capacities, weights, task_limits, servers=["pool"]
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
    _require_counts(users=users, servers=servers, resources=resources)
    demands = rng.lognormal(0.0, _amount(demand_sigma, "demand_sigma"), (users, resources))
    sizes = rng.lognormal(0.0, _amount(server_sigma, "server_sigma"), (servers, resources))
    capacities = _amount(size, "size") * sizes
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

    Raises
    ------
    InstanceError
        For what is no number of users, truth value or interval.
    """
    _require_counts(users=users)
    if not isinstance(one_by_one, bool):
        raise InstanceError(f"one_by_one is {one_by_one!r}; expected True or False")
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
) -> dict[str, Any]:
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
    is_interval = isinstance(interval, Sequence) and len(interval) == 2
    if (
        not is_interval
        or not all(
            _is_number(end) and minimum <= end <= LARGEST_WHOLE and end == int(end)
            for end in interval
        )
        or interval[0] > interval[1]
    ):
        raise InstanceError(
            f"{name} are drawn from {interval!r}; expected whole numbers [low, high], low at least "
            f"{minimum}, high at most 2**53"
        )
    return rng.integers(int(interval[0]), int(interval[1]), shape, endpoint=True).astype(float)


def _require_counts(**counts: Any) -> None:
    """Raise unless these are whole numbers of at least 1, and arrays of so many fit memory."""
    for name, count in counts.items():
        if not isinstance(count, numbers.Integral) or isinstance(count, bool) or count < 1:
            raise InstanceError(f"{name} is {count!r}; expected a whole number of at least 1")
    sizes = sorted(map(int, counts.values()))
    if sizes[-1] * (sizes[-2] if sizes[1:] else 1) > MOST_ENTRIES:
        products = ", ".join(f"{name}={count}" for name, count in counts.items())
        raise TooLargeError(
            f"an instance of {products} would take arrays of more than {MOST_ENTRIES:,} entries; "
            "expected fewer"
        )


def _probability(value: float, name: str) -> float:
    """Return a probability, checked."""
    if not _is_number(value) or not 0 <= value <= 1:
        raise InstanceError(f"{name} is {quoted(value)}; expected a probability, from 0 to 1")
    return value


def _amount(value: float, name: str) -> float:
    """Return a number that is not negative, checked."""
    if not _is_number(value) or not 0 <= value <= sys.float_info.max:
        raise InstanceError(f"{name} is {value!r}; expected a finite number, 0 or more")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


#: name → generator
REGISTRY: dict[str, Callable[..., Instance]] = {
    function.__name__.replace("_", "-"): function
    for function in (uniform_integers, log_normal, google_cluster)
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
