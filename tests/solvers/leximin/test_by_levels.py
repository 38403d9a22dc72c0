"""Rounds by levels, beside exact rationals."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.solvers.leximin.by_levels import ServersByLevels
from fairlp.tolerances import AGREEMENT
from profiles import many


def some_demanded(seed, users=12, servers=9):
    """Everybody demands some of four resources and may run everywhere; some have weights, some limits."""
    rng = np.random.default_rng(seed)
    demands = rng.lognormal(0, seed % 3, (users, 4)) * (rng.random((users, 4)) < 0.6)
    demands[demands.max(axis=1) == 0, 0] = 1.0
    limits = np.where(rng.random(users) < 0.3, rng.lognormal(2, 1, users), np.inf)
    weights = rng.lognormal(0, 4 * (seed % 2), users)
    return Instance.from_arrays(
        demands, rng.lognormal(3, 0.3, (servers, 4)), task_limits=limits, weights=weights
    )


def in_places(seed, users=14, servers=10, limited=0.2):
    """Users of three places, and some who may run in all of them."""
    rng = np.random.default_rng(seed)
    place, user_place = rng.integers(0, 3, servers), rng.integers(0, 4, users)
    place[:3] = 0, 1, 2
    eligible = (user_place[:, None] == place) | (user_place == 3)[:, None]
    limits = np.where(rng.random(users) < limited, rng.lognormal(2, 1, users), np.inf)
    demands = rng.lognormal(0, 1 + seed % 2, (users, 2))
    return Instance.from_arrays(
        demands, rng.lognormal(3, 1, (servers, 2)), eligible=eligible, task_limits=limits
    )


def off(allocation):
    """The largest part by which levels differ from exact ones."""
    right = np.array([float(level) for level in allocation.certify(exact=True).levels])
    return float((abs(allocation.levels.to_numpy() - right) / right).max())


def test_servers_that_give_what_one_server_would_need_one_program(monkeypatch):
    uses = []
    honest = ServersByLevels.as_one_server

    def counting(self, *arguments):
        history = honest(self, *arguments)
        uses[-1] = bool(history)
        return history

    monkeypatch.setattr(ServersByLevels, "as_one_server", counting)
    for seed in range(many(12)):
        uses.append(False)
        allocation = fairlp.allocate(some_demanded(seed), "drfh", method="interior-point")
        assert off(allocation) <= AGREEMENT or allocation.unproved, seed
        if uses[-1]:
            alone = fairlp.allocate(some_demanded(seed).pooled(), "drfh", method="lp")
            assert allocation.levels.to_numpy() == pytest.approx(
                alone.levels.to_numpy(), rel=AGREEMENT
            )
            assert allocation.rounds["users"].tolist() == alone.rounds["users"].tolist()
            assert allocation.prices.sum().to_numpy() / len(allocation.prices) == pytest.approx(
                alone.prices.to_numpy()[0]
            )
    assert 0 < sum(uses) < len(uses)


def test_levels_of_users_of_places_are_exact():
    for seed in range(many(12)):
        for method in ("interior-point", "lp"):
            allocation = fairlp.allocate(in_places(seed), "drfh", method=method)
            assert off(allocation) <= AGREEMENT or allocation.unproved, seed
            free = fairlp.allocate(in_places(seed, limited=0.0), "drfh", method=method)
            value = float((free.prices.to_numpy() * free.instance.total_capacities).sum())
            assert value == pytest.approx(free.rounds["level"].iloc[0])
