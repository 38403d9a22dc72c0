"""Entries with closed forms: ties, as many levels as users, and numbers over twelve orders of magnitude.

All coefficients are sums of few powers of two, so that the programs hold them without rounding: the closed form is the
exact optimum of the program as it is written.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...models.instances.instance import Instance
from .registry import Made, Optimum, generator


@generator(
    "ties",
    "degenerate",
    "drfh",
    "users in three equal groups on equal servers: every vertex is hugely degenerate, and all levels tie",
    triples=(12, 50, 170),
    doublings=(4, 7, 9),
)
def ties(rng: np.random.Generator, *, triples: int, doublings: int) -> Made:
    """3·triples users who demand (1, ½, ¼) in turn on 2^doublings equal servers; shuffled, and the answer is not.

    All three resources are asked for alike, 7/4 of the level by each three users: level 4/(7·triples).
    """
    servers = 2**doublings
    demands = np.tile([[1.0, 0.5, 0.25], [0.25, 1.0, 0.5], [0.5, 0.25, 1.0]], (triples, 1))
    rng.shuffle(demands)
    level = Fraction(4, 7 * triples)
    known = Optimum(level, "closed form: 4/7 of a third of 1/users, for all", (level,) * len(demands))
    return Made(Instance.from_arrays(demands, np.full((servers, 3), 8.0)), known)


@generator(
    "many-rounds",
    "degenerate",
    "drfh",
    "a leximin of as many levels as users, each decided by what the one before leaves: a round a user",
    users=(24, 100, 400),
)
def many_rounds(rng: np.random.Generator, *, users: int) -> Made:
    """User k may run on servers 1 to k, server k has k units (the last what makes the sum a power of two).

    The first k users have the first k servers only, which grow; so everybody's level is its own server's part.
    """
    sizes = list(range(1, users + 1))
    total = 1 << (sum(sizes) - 1).bit_length()
    sizes[-1] += total - sum(sizes)
    levels = tuple(Fraction(size, total) for size in sizes)
    capacities = np.outer(np.array(sizes, dtype=float), [1.0, 2.0])
    eligible = np.tril(np.ones((users, users), dtype=bool))
    order = rng.permutation(users)  # of users and of rows of servers: nobody sees the triangle
    places = rng.permutation(users)
    instance = Instance.from_arrays(
        np.tile([1.0, 1.0], (users, 1)), capacities[places], eligible=eligible[np.ix_(order, places)]
    )
    known = Optimum(
        min(levels), "closed form: the smallest server's part; of user k the k-th's", tuple(levels[k] for k in order)
    )
    return Made(instance, known)


@generator(
    "magnitudes",
    "numerics",
    "tsf",
    "demands, units and servers each over twelve orders of magnitude, and an optimum that does not depend on any",
    users=(12, 60, 400),
    servers=(42, 42, 48),
)
def magnitudes(rng: np.random.Generator, *, users: int, servers: int) -> Made:
    """Servers of sizes 1, 1, 2, 4, …, all of one form; demands in 64ths times powers of two, one of them dominant.

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
    known = Optimum(level, "closed form: one pool; 1 over the largest sum of normalised demands", (level,) * users)
    return Made(Instance.from_arrays(demands, rng.permutation(capacities)), known)
