"""Ways to a leximin that are shorter than round after round, beside exact rationals."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.solvers.leximin import by_levels
from fairlp.solvers.leximin.by_levels import ServersByLevels
from fairlp.solvers.leximin.level_errors import LevelErrors
from fairlp.tolerances import ACCEPTED, AGREEMENT
from profiles import many


@pytest.fixture(autouse=True)
def counts(monkeypatch):
    """How often each shorter way was taken; problems of any size are parted."""
    counts = dict.fromkeys(("as_one_server", "separates"), 0)

    def counting(name):
        honest = getattr(ServersByLevels, name)

        def way(self, *arguments):
            result = honest(self, *arguments)
            counts[name] += bool(result)
            return result

        return way

    for name in counts:
        monkeypatch.setattr(ServersByLevels, name, counting(name))
    monkeypatch.setattr(by_levels, "FEWEST_PAIRS", 0)
    monkeypatch.setattr(by_levels, "MOST_OF_ALL_PAIRS", 1.0)
    return counts


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


def test_servers_that_give_what_one_server_would_need_one_program(counts):
    uses = []
    for seed in range(many(12)):
        counts["as_one_server"] = 0
        allocation = fairlp.allocate(some_demanded(seed), "drfh", method="interior-point")
        uses.append(counts["as_one_server"])
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


def test_those_who_go_on_with_servers_of_their_own_are_solved_apart(counts):
    for seed in range(many(12)):
        for method in ("interior-point", "lp"):
            allocation = fairlp.allocate(in_places(seed), "drfh", method=method)
            assert off(allocation) <= AGREEMENT or allocation.unproved, seed
            free = fairlp.allocate(in_places(seed, limited=0.0), "drfh", method=method)
            value = float((free.prices.to_numpy() * free.instance.total_capacities).sum())
            assert value == pytest.approx(free.rounds["level"].iloc[0])
    assert counts["separates"] > 5


def test_a_few_are_not_worth_it(monkeypatch, counts):
    monkeypatch.setattr(by_levels, "FEWEST_PAIRS", 1_000)
    fairlp.allocate(in_places(0), "drfh")
    monkeypatch.setattr(by_levels, "FEWEST_PAIRS", 0)
    monkeypatch.setattr(by_levels, "MOST_OF_ALL_PAIRS", 0.0)
    fairlp.allocate(in_places(0), "drfh")
    assert not counts["separates"]


def test_what_a_round_is_off_by_counts_for_those_whom_it_kept_off(monkeypatch):
    honest = LevelErrors.largest
    monkeypatch.setattr(LevelErrors, "largest", lambda self, shift=0.0: 1e-6 + honest(self, shift))
    errors = []
    measure = ServersByLevels.add_error

    def measured(self, *arguments):
        measure(self, *arguments)
        if self.shortcuts.ruled_out:
            errors.append(self.errors.program_errors[-1] / self.errors.levels[-1])

    monkeypatch.setattr(ServersByLevels, "add_error", measured)
    fairlp.allocate(in_places(0), "drfh", method="interior-point")
    assert max(errors) > ACCEPTED
