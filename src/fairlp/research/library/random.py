"""Entries drawn at random: the shapes of real clusters, and chains of users in which errors grow."""

from __future__ import annotations

from functools import partial

import numpy as np

from .registry import Made, generator
from .shapes import SHAPES, Shape, scattered

#: Why a shape is hard for a solver.
_WHY = {
    "zeros": "sets of demanded resources differ, so several rounds, whose floors leave no interior",
    "gpus": "a scarce resource that few have and few need; the others' prices are tiny beside its own",
    "two-of-five": "many small sets of users that compete; several levels, degenerate vertices",
    "few-pairs": "a sparse matrix without structure, in which users hardly meet",
    "chain": "ten blocks that hang together by few servers: information travels slowly",
    "blocks": "ten programs in one, of which one has the optimum and the others are free: degenerate duals",
    "dominating": "one row is 10,000 times as steep as the others",
    "weights": "rows that differ by six orders of magnitude: small prices, of which the last digits decide",
    "heavy-tails": "coefficients of many sizes in every row",
    "twenty": "twenty rows a server, of which few are tight",
    "limits": "half of the users stop before the level: bounds that matter in turn",
    "limits-uniform": "the same with data so alike that many vertices are nearly optimal",
    "log-normal": "dense: every user meets every server, and the optimum uses few of the pairs",
    "uniform": "dense, with data so alike that many vertices are nearly optimal",
}


def _drawn(shape: Shape, rng: np.random.Generator, *, users: int, servers: int) -> Made:
    """An instance of a shape."""
    return Made(shape(rng, users, servers))


for _name, (_, _shape) in SHAPES.items():
    _registered = generator(_name, "shapes", "drfh", _WHY[_name], users=(40, 150, 500), servers=(30, 120, 500))
    _registered(partial(_drawn, _shape))


@generator(
    "growing-errors",
    "numerics",
    "c-drfh",
    "users on about two servers each: levels hang together in chains, and rounding of the first multiplies in the last",
    users=(30, 100, 300),
    near=(2.0, 2.0, 2.0),
)
def growing_errors(rng: np.random.Generator, *, users: int, near: float) -> Made:
    """As many servers as users; each user may run on about ``near`` of them."""
    return Made(scattered(rng, users, users, min(near / users, 1.0)))
