"""The shapes that real clusters have, drawn at random: demands, capacities, and what is special about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...models.instances.instance import Instance

#: A random generator, users, servers → an instance.
Shape = Callable[[np.random.Generator, int, int], Instance]


def lognormal(rng: np.random.Generator, users: int, servers: int, resources: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return log-normal demands and capacities."""
    return rng.lognormal(size=(users, resources)), rng.lognormal(size=(servers, resources))


def uniform(rng: np.random.Generator, users: int, servers: int) -> tuple[np.ndarray, np.ndarray]:
    """Return uniform demands and capacities of three resources."""
    return rng.uniform(0.1, 1, (users, 3)), rng.uniform(1, 10, (servers, 3))


def made(demands: np.ndarray, capacities: np.ndarray, **more: Any) -> Instance:
    """Return an instance; whoever demands nothing demands one unit of the first resource."""
    demands[~demands.any(axis=1), 0] = 1
    return Instance.from_arrays(demands, capacities, **more)


def zeros(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance where a fifth of the demands are zero."""
    demands, capacities = lognormal(rng, users, servers)
    demands[rng.random(demands.shape) < 0.2] = 0
    return made(demands, capacities)


def gpus(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance where 30 % of the users need what 40 % of the servers have."""
    demands, capacities = lognormal(rng, users, servers)
    demands[rng.random(users) > 0.3, 2] = 0
    capacities[1:][rng.random(servers - 1) > 0.4, 2] = 0
    return made(demands, capacities)


def two_of_five(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance where everybody demands two of five resources."""
    demands, capacities = lognormal(rng, users, servers, 5)
    return made(np.where(rng.random(demands.shape).argsort(axis=1) < 2, demands, 0.0), capacities)


def few_pairs(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance where a tenth of the pairs are eligible, at random."""
    eligible = rng.random((users, servers)) < 0.1
    eligible[np.arange(users), rng.integers(servers, size=users)] = True
    return made(*lognormal(rng, users, servers), eligible=eligible)


def blocks(rng: np.random.Generator, users: int, servers: int, chained: bool = False) -> Instance:
    """Return an instance of ten separate blocks of servers, or of ten that hang together in a chain."""
    many = min(10, users, servers)
    of, at = np.arange(users) * many // users, np.arange(servers) * many // servers
    eligible = (of[:, None] == at) | (chained & (of[:, None] + 1 == at))
    return made(*lognormal(rng, users, servers), eligible=eligible)


def weights(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance with log-normal weights, σ = 4."""
    demands, capacities = lognormal(rng, users, servers)
    return made(demands, capacities, weights=rng.lognormal(0, 4, users))


def with_limits(rng: np.random.Generator, demands: np.ndarray, capacities: np.ndarray) -> Instance:
    """Return an instance where half of the users have task limits, at 0.2 to 3 times an even part."""
    alone = made(demands, capacities).gamma().sum(axis=1)
    limits = alone / len(demands) * rng.uniform(0.2, 3, len(demands))
    return made(demands, capacities, task_limits=np.where(rng.random(len(demands)) < 0.5, limits, np.inf))


def scattered(rng: np.random.Generator, users: int, servers: int, part: float = 1.0, count: int = 1) -> Instance:
    """Return log-normal demands and servers of three resources, so many of each; users run on a part of them."""
    demands, capacities = rng.lognormal(0, 1, (users, 3)), rng.lognormal(5, 1, (servers, 3))
    eligible = rng.random((users, servers)) < part
    eligible[np.arange(users), rng.integers(0, servers, users)] = True
    return Instance.from_arrays(demands, capacities, counts=np.full(servers, count), eligible=eligible)


#: name → (what is special, generator)
SHAPES: dict[str, tuple[str, Shape]] = {
    "zeros": ("a fifth of the demands zero", zeros),
    "gpus": ("GPU-like: 30 % of the users need what 40 % of the servers have", gpus),
    "two-of-five": ("two of five resources demanded", two_of_five),
    "few-pairs": ("a tenth of the pairs eligible, at random", few_pairs),
    "chain": ("a chain of ten overlapping blocks of servers", lambda rng, n, k: blocks(rng, n, k, chained=True)),
    "blocks": ("ten separate blocks", blocks),
    "dominating": (
        "one user of weight 10,000",
        lambda rng, n, k: made(*lognormal(rng, n, k), weights=np.where(np.arange(n) == 0, 1e4, 1.0)),
    ),
    "weights": ("weights log-normal, σ = 4", weights),
    "heavy-tails": (
        "demands Pareto 1.1",
        lambda rng, n, k: made(rng.pareto(1.1, (n, 3)) + 1, rng.lognormal(size=(k, 3))),
    ),
    "twenty": ("twenty resources", lambda rng, n, k: made(*lognormal(rng, n, k, 20))),
    "limits": ("half of the users with task limits", lambda rng, n, k: with_limits(rng, *lognormal(rng, n, k))),
    "limits-uniform": ("the same, uniform", lambda rng, n, k: with_limits(rng, *uniform(rng, n, k))),
    "log-normal": ("all demand all, log-normal", lambda rng, n, k: made(*lognormal(rng, n, k))),
    "uniform": ("all demand all, uniform", lambda rng, n, k: made(*uniform(rng, n, k))),
}


def shaped(kind: str, users: int, servers: int | None = None, seed: int = 0) -> Instance:
    """Return an instance of a shape; log-normal with three resources where the shape says nothing else."""
    return SHAPES[kind][1](np.random.default_rng(seed), users, servers or users)
