"""Entries with queues: trees of weights, guarantees and caps."""

from __future__ import annotations

import numpy as np

from ...models.instances.instance import Instance
from .registry import Made, generator


@generator(
    "queue-tree",
    "queues",
    "h-drf",
    "a tree whose guarantees are floors and whose caps are rows over many users: levels differ from queue to queue",
    branches=(3, 4, 5),
    depth=(2, 3, 3),
    leaves=(3, 3, 6),
    servers=(4, 20, 100),
)
def queue_tree(rng: np.random.Generator, *, branches: int, depth: int, leaves: int, servers: int) -> Made:
    """Every queue has so many below it, those at the bottom so many users; every third a cap, every fourth a promise.

    What is promised at the bottom is, all together, at most an eighth of each server's part of the pool.
    """
    paths = [""]
    below: list[str] = []
    for _ in range(depth):
        paths = [f"{path}/q{k}".lstrip("/") for path in paths for k in range(branches)]
        below += paths
    demands = rng.integers(1, 9, (len(paths) * leaves, 3)).astype(float)
    demands[rng.random(demands.shape) < 0.2] = 0
    demands[~demands.any(axis=1), 0] = 1
    capacities = rng.integers(40, 200, (servers, 3)).astype(float) * max(len(demands) // servers, 1)
    pool = capacities.sum(axis=0)
    queues: dict[str, dict[str, object]] = {path: {"weight": float(rng.integers(1, 5))} for path in below}
    resources = ("resource1", "resource2", "resource3")
    for path in below[2::3]:
        part = rng.uniform(0.5, 1.2) / branches ** (path.count("/") + 1)
        queues[path]["cap"] = dict(zip(resources, np.ceil(part * pool), strict=True))
    for path in paths[::4]:
        queues[path]["guarantee"] = dict(zip(resources, np.floor(pool / (8 * len(paths))), strict=True))
    queue = [path for path in paths for _ in range(leaves)]
    return Made(Instance.from_arrays(demands, capacities, queue=queue, queues=queues))
