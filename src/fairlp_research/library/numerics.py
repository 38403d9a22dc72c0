"""Entries with closed forms: ties, as many levels as users, numbers of many magnitudes.

The magnitudes span twelve powers of ten.

All coefficients are sums of few powers of two, so that the programs hold them without rounding: the
closed form is the exact optimum of the program as it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from fairlp import Instance

from .registry import Benchmark, Optimum, generator

# Random demands and capacities with the shapes of real clusters.

#: Random generator, number of users, number of servers → an instance.
Shape = Callable[[np.random.Generator, int, int], Instance]


def lognormal(
    rng: np.random.Generator, users: int, servers: int, resources: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Return log-normal demands and capacities."""
    return rng.lognormal(size=(users, resources)), rng.lognormal(size=(servers, resources))


def uniform(rng: np.random.Generator, users: int, servers: int) -> tuple[np.ndarray, np.ndarray]:
    """Return uniform demands and capacities of three resources."""
    return rng.uniform(0.1, 1, (users, 3)), rng.uniform(1, 10, (servers, 3))


def instance_of(demands: np.ndarray, capacities: np.ndarray, **options: Any) -> Instance:
    """Return an instance; users without demands get a demand of one unit of the first resource."""
    demands[~demands.any(axis=1), 0] = 1
    return Instance.from_arrays(demands, capacities, **options)


def zeros(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance where a fifth of the demands are zero."""
    demands, capacities = lognormal(rng, users, servers)
    demands[rng.random(demands.shape) < 0.2] = 0
    return instance_of(demands, capacities)


def gpus(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance where 30 % of the users need what 40 % of the servers have."""
    demands, capacities = lognormal(rng, users, servers)
    demands[rng.random(users) > 0.3, 2] = 0
    capacities[1:][rng.random(servers - 1) > 0.4, 2] = 0
    return instance_of(demands, capacities)


def two_of_five(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance where each user demands two of five resources."""
    demands, capacities = lognormal(rng, users, servers, 5)
    is_demanded = rng.random(demands.shape).argsort(axis=1) < 2
    return instance_of(np.where(is_demanded, demands, 0.0), capacities)


def few_pairs(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance where a tenth of the pairs are eligible, at random."""
    eligible = rng.random((users, servers)) < 0.1
    eligible[np.arange(users), rng.integers(servers, size=users)] = True
    return instance_of(*lognormal(rng, users, servers), eligible=eligible)


def few_servers(
    rng: np.random.Generator, users: int, servers: int, servers_each: int = 20
) -> Instance:
    """Return an instance of users who may run on twenty servers each, drawn at random.

    A tenth of the demands are zero.
    """
    demands, capacities = lognormal(rng, users, servers)
    demands[rng.random(demands.shape) < 0.1] = 0
    eligible = np.zeros((users, servers), dtype=bool)
    for row in eligible:
        row[rng.permutation(servers)[:servers_each]] = True
    return instance_of(demands, capacities, eligible=eligible)


def blocks(rng: np.random.Generator, users: int, servers: int, chained: bool = False) -> Instance:
    """Return an instance of ten separate blocks of servers, or of ten blocks in a chain."""
    n_blocks = min(10, users, servers)
    block_of_user = (np.arange(users) * n_blocks // users)[:, None]
    block_of_server = np.arange(servers) * n_blocks // servers
    eligible = block_of_user == block_of_server
    if chained:
        eligible |= block_of_user + 1 == block_of_server
    return instance_of(*lognormal(rng, users, servers), eligible=eligible)


def windows(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance of users who may run on 12 % of the servers, in a row.

    30 % of the demands are zero.
    """
    demands, capacities = lognormal(rng, users, servers)
    demands[rng.random(demands.shape) < 0.3] = 0
    width = max(servers * 12 // 100, 1)
    first_server = rng.integers(servers, size=users)[:, None]
    distance = (np.arange(servers) - first_server) % servers
    return instance_of(demands, capacities, eligible=distance < width)


def racks(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance of five zones of ten racks.

    Half of the users may run in one rack or in one zone only.
    """
    rack = np.arange(servers) * min(50, servers) // servers
    zone = rack * 5 // (rack[-1] + 1)
    home_server = rng.integers(servers, size=users)
    in_rack = rack == rack[home_server][:, None]
    in_zone = zone == zone[home_server][:, None]
    kind = rng.random(users)[:, None]
    demands, capacities = lognormal(rng, users, servers)
    eligible = np.where(kind < 0.25, in_rack, in_zone | (kind > 0.5))
    return instance_of(demands, capacities, eligible=eligible)


def weights(rng: np.random.Generator, users: int, servers: int) -> Instance:
    """Return an instance with log-normal weights, σ = 4."""
    demands, capacities = lognormal(rng, users, servers)
    return instance_of(demands, capacities, weights=rng.lognormal(0, 4, users))


def with_limits(rng: np.random.Generator, demands: np.ndarray, capacities: np.ndarray) -> Instance:
    """Return an instance where half of the users have task limits.

    The limits are 0.2 to 3 times an equal share.
    """
    n_users = len(demands)
    tasks_alone = instance_of(demands, capacities).gamma().sum(axis=1)
    limits = tasks_alone / n_users * rng.uniform(0.2, 3, n_users)
    task_limits = np.where(rng.random(n_users) < 0.5, limits, np.inf)
    return instance_of(demands, capacities, task_limits=task_limits)


def scattered(
    rng: np.random.Generator, users: int, servers: int, fraction: float = 1.0, count: int = 1
) -> Instance:
    """Return log-normal demands and servers of three resources, with random placement.

    Users may run on a ``fraction`` of the servers.

    ``count`` is the number of equal servers of each row.
    """
    demands = rng.lognormal(0, 1, (users, 3))
    capacities = rng.lognormal(5, 1, (servers, 3))
    eligible = rng.random((users, servers)) < fraction
    eligible[np.arange(users), rng.integers(0, servers, users)] = True
    return Instance.from_arrays(
        demands, capacities, counts=np.full(servers, count), eligible=eligible
    )


#: name → (description, generator, reason why it is hard for a solver)
SHAPES: dict[str, tuple[str, Shape, str]] = {
    "zeros": (
        "a fifth of the demands zero",
        zeros,
        "sets of demanded resources differ, so several rounds, whose floors leave no interior",
    ),
    "gpus": (
        "GPU-like: 30 % of the users need what 40 % of the servers have",
        gpus,
        "a scarce resource that few have and few need; the others' prices are tiny beside its own",
    ),
    "two-of-five": (
        "two of five resources demanded",
        two_of_five,
        "many small sets of users that compete; several levels, degenerate vertices",
    ),
    "few-pairs": (
        "a tenth of the pairs eligible, at random",
        few_pairs,
        "a sparse matrix without structure, in which users hardly meet",
    ),
    "few-servers": (
        "twenty servers each, drawn at random, and a tenth of the demands zero",
        few_servers,
        "a round leaves hardly any direction: its equalities are nearly as many as its pairs",
    ),
    "windows": (
        "12 % of the servers, one after another, and 30 % of the demands zero",
        windows,
        "many levels, each of a chain of neighbours; the last ones hang on rounding in the first",
    ),
    "racks": (
        "half of the users in one of fifty racks or of five zones",
        racks,
        "users who meet everywhere beside users who meet in one place only",
    ),
    "chain": (
        "a chain of ten overlapping blocks of servers",
        lambda rng, n, k: blocks(rng, n, k, chained=True),
        "ten blocks that hang together by few servers: information travels slowly",
    ),
    "blocks": (
        "ten separate blocks",
        blocks,
        "ten programs in one, of which one has the optimum and the others are free: degenerate "
        "duals",
    ),
    "dominating": (
        "one user of weight 10,000",
        lambda rng, n, k: instance_of(
            *lognormal(rng, n, k), weights=np.where(np.arange(n) == 0, 1e4, 1.0)
        ),
        "one row is 10,000 times as steep as the others",
    ),
    "weights": (
        "weights log-normal, σ = 4",
        weights,
        "rows that differ by six orders of magnitude: small prices, of which the last digits "
        "decide",
    ),
    "heavy-tails": (
        "demands Pareto 1.1",
        lambda rng, n, k: instance_of(rng.pareto(1.1, (n, 3)) + 1, rng.lognormal(size=(k, 3))),
        "coefficients of many sizes in every row",
    ),
    "spread": (
        "demands log-normal, σ = 4",
        lambda rng, n, k: instance_of(rng.lognormal(0, 4, (n, 3)), rng.lognormal(size=(k, 3))),
        "coefficients over many orders of magnitude: few tasks of some users use up a server",
    ),
    "integers": (
        "whole demands of 1 to 4 on servers of 8 to 64",
        lambda rng, n, k: instance_of(rng.integers(1, 5, (n, 3)), 2 ** rng.integers(3, 7, (k, 3))),
        "ties everywhere: many optimal vertices",
    ),
    "jitter": (
        "demands that are equal but for a millionth",
        lambda rng, n, k: instance_of(
            1 + 2.0**-20 * rng.random((n, 3)), rng.lognormal(size=(k, 3))
        ),
        "data so alike that differences are near the tolerances of solvers",
    ),
    "twenty": (
        "twenty resources",
        lambda rng, n, k: instance_of(*lognormal(rng, n, k, 20)),
        "twenty rows a server, of which few are tight",
    ),
    "limits": (
        "half of the users with task limits",
        lambda rng, n, k: with_limits(rng, *lognormal(rng, n, k)),
        "half of the users stop before the level: bounds that matter in turn",
    ),
    "limits-uniform": (
        "the same, uniform",
        lambda rng, n, k: with_limits(rng, *uniform(rng, n, k)),
        "the same with data so alike that many vertices are nearly optimal",
    ),
    "log-normal": (
        "all demand all, log-normal",
        lambda rng, n, k: instance_of(*lognormal(rng, n, k)),
        "dense: every user meets every server, and the optimum uses few of the pairs",
    ),
    "uniform": (
        "all demand all, uniform",
        lambda rng, n, k: instance_of(*uniform(rng, n, k)),
        "dense, with data so alike that many vertices are nearly optimal",
    ),
}


def shaped(kind: str, users: int, servers: int | None = None, seed: int = 0) -> Instance:
    """Return an instance of a shape.

    It is log-normal with three resources where the shape has no other.
    """
    _, generate, _ = SHAPES[kind]
    return generate(np.random.default_rng(seed), users, servers or users)


@generator(
    "ties",
    "degenerate",
    "drfh",
    "users in three equal groups on equal servers: every vertex is hugely degenerate, and all "
    "levels tie",
    triples=(12, 50, 170),
    doublings=(4, 7, 9),
)
def ties(rng: np.random.Generator, *, triples: int, doublings: int) -> Benchmark:
    """3·triples users with demands (1, ½, ¼) in turn, shuffled, on 2^doublings equal servers.

    Each three users demand 7/4 of the level of every resource, so the level is 4/(7·triples).
    """
    servers = 2**doublings
    demands = np.tile([[1.0, 0.5, 0.25], [0.25, 1.0, 0.5], [0.5, 0.25, 1.0]], (triples, 1))
    rng.shuffle(demands)
    level = Fraction(4, 7 * triples)
    optimum = Optimum(
        level, "closed form: 4/7 of a third of 1/users, for all", (level,) * len(demands)
    )
    return Benchmark(Instance.from_arrays(demands, np.full((servers, 3), 8.0)), optimum)


@generator(
    "many-rounds",
    "degenerate",
    "drfh",
    "a leximin of as many levels as users, each decided by what the one before leaves: a round a "
    "user",
    users=(24, 100, 400),
)
def many_rounds(rng: np.random.Generator, *, users: int) -> Benchmark:
    """User k may run on servers 1 to k, and server k has k units.

    The last server has more, so that the sum is a power of two.

    The first k users may run on the first k servers only, and servers grow with k; so the level of
    user k is the k-th server's fraction of the pool.
    """
    sizes = list(range(1, users + 1))
    total = 1 << (sum(sizes) - 1).bit_length()
    sizes[-1] += total - sum(sizes)
    levels = tuple(Fraction(size, total) for size in sizes)
    capacities = np.outer(np.array(sizes, dtype=float), [1.0, 2.0])
    eligible = np.tril(np.ones((users, users), dtype=bool))
    # Users and servers are shuffled, so that no solver sees the triangle.
    user_order = rng.permutation(users)
    server_order = rng.permutation(users)
    instance = Instance.from_arrays(
        np.tile([1.0, 1.0], (users, 1)),
        capacities[server_order],
        eligible=eligible[np.ix_(user_order, server_order)],
    )
    optimum = Optimum(
        min(levels),
        "closed form: the smallest server's part; of user k the k-th's",
        tuple(levels[k] for k in user_order),
    )
    return Benchmark(instance, optimum)


@generator(
    "magnitudes",
    "numerics",
    "tsf",
    "demands, units and servers each over twelve orders of magnitude, and an optimum that does not "
    "depend on any",
    users=(12, 60, 400),
    servers=(42, 42, 48),
)
def magnitudes(rng: np.random.Generator, *, users: int, servers: int) -> Benchmark:
    """Servers of sizes 1, 1, 2, 4, …, all of one form, and demands over many magnitudes.

    Demands are in 64ths times powers of two, and one of them is dominant.

    Servers of one form are one pool: the level is 1 over the largest sum of normalised demands.
    """
    sixtyfourths = rng.integers(1, 64, (users, 3))
    sixtyfourths[np.arange(users), rng.integers(0, 3, users)] = 64
    units = 2.0 ** rng.integers(-20, 21, 3)
    sizes = 2.0 ** np.maximum(np.arange(servers) - 1, 0)
    scale = 2.0 ** rng.integers(-20, 21, users)
    demands = sixtyfourths / 64 * units * scale[:, None]
    capacities = sizes[:, None] * units
    level = Fraction(64, int(sixtyfourths.sum(axis=0).max()))
    optimum = Optimum(
        level,
        "closed form: one pool; 1 over the largest sum of normalised demands",
        (level,) * users,
    )
    return Benchmark(Instance.from_arrays(demands, rng.permutation(capacities)), optimum)


# Entries drawn at random: the shapes of real clusters, and chains of users in which errors grow.


def _drawn(shape: Shape, rng: np.random.Generator, *, users: int, servers: int) -> Benchmark:
    """Return a benchmark of a shape."""
    return Benchmark(shape(rng, users, servers))


for _name, (_, _shape, _why) in SHAPES.items():
    _registered = generator(
        _name, "shapes", "drfh", _why, users=(40, 150, 500), servers=(30, 120, 500)
    )
    _registered(partial(_drawn, _shape))


@generator(
    "growing-errors",
    "numerics",
    "c-drfh",
    "users on about two servers each: levels hang together in chains, and rounding of the first "
    "multiplies in the last",
    users=(30, 100, 300),
    near=(2.0, 2.0, 2.0),
)
def growing_errors(rng: np.random.Generator, *, users: int, near: float) -> Benchmark:
    """As many servers as users; each user may run on about ``near`` of them."""
    return Benchmark(scattered(rng, users, users, min(near / users, 1.0)))


# Entries with queues: trees of weights, guarantees and caps.


@generator(
    "queue-tree",
    "queues",
    "h-drf",
    "a tree whose guarantees are floors and whose caps are rows over many users: levels differ "
    "from queue to queue",
    branches=(3, 4, 5),
    depth=(2, 3, 3),
    leaves=(3, 3, 6),
    servers=(4, 20, 100),
)
def queue_tree(
    rng: np.random.Generator, *, branches: int, depth: int, leaves: int, servers: int
) -> Benchmark:
    """A tree whose queues have ``branches`` below each, and whose leaves have as many users.

    Every third queue has a cap, every fourth a guarantee.

    Guarantees of the leaves sum to at most an eighth of the pool.
    """
    leaf_paths = [""]
    paths: list[str] = []
    for _ in range(depth):
        leaf_paths = [f"{path}/q{k}".lstrip("/") for path in leaf_paths for k in range(branches)]
        paths += leaf_paths
    demands = rng.integers(1, 9, (len(leaf_paths) * leaves, 3)).astype(float)
    demands[rng.random(demands.shape) < 0.2] = 0
    capacities = rng.integers(40, 200, (servers, 3)).astype(float) * max(len(demands) // servers, 1)
    pool = capacities.sum(axis=0)
    queues: dict[str, dict[str, object]] = {
        path: {"weight": float(rng.integers(1, 5))} for path in paths
    }
    resources = ("resource1", "resource2", "resource3")
    for path in paths[2::3]:
        fraction = rng.uniform(0.5, 1.2) / branches ** (path.count("/") + 1)
        queues[path]["cap"] = dict(zip(resources, np.ceil(fraction * pool), strict=True))
    guarantee = np.floor(pool / (8 * len(leaf_paths)))
    for path in leaf_paths[::4]:
        queues[path]["guarantee"] = dict(zip(resources, guarantee, strict=True))
    queue = [path for path in leaf_paths for _ in range(leaves)]
    return Benchmark(instance_of(demands, capacities, queue=queue, queues=queues))
