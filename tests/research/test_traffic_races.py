"""Races of traffic engineering: what approximates the leximin fits the links, and is as near as it promises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from fairlp_research import races
from profiles import many


def drawn(seed):
    """A small network with ties: links, demands, and paths that share them."""
    rng = np.random.default_rng(seed)
    n_links, n_demands = int(rng.integers(2, 7)), int(rng.integers(2, 7))
    longest = min(n_links, 3) + 1
    paths = [
        [
            sorted(rng.choice(n_links, int(rng.integers(1, longest)), replace=False).tolist())
            for _ in range(int(rng.integers(1, 4)))
        ]
        for _ in range(n_demands)
    ]
    capacities = rng.integers(1, 9, n_links).astype(float)
    return races.Traffic(capacities, rng.integers(1, 9, n_demands).astype(float), paths)


def leximin_by_raising(traffic):
    """Levels by SciPy: raise all that can rise; who cannot rise alone is settled."""
    n_demands, n_paths = len(traffic.volumes), len(traffic.owners)
    loads = traffic.on_link.toarray()
    rates = traffic.of_demand.toarray() / traffic.volumes[:, None]

    def most(free, level, goal):
        """The largest sum of t and the goal's rates with all settled at their levels."""
        rows = np.vstack([loads, rates, -rates])
        column = np.concatenate([np.zeros(len(loads) + n_demands), free.astype(float)])
        sides = np.concatenate([traffic.capacities, np.ones(n_demands), -np.where(free, 0, level)])
        cost = -np.append(goal @ rates, 0.0 if goal.any() else 1.0)
        matrix = np.column_stack([rows, column])
        if goal.any():
            sides[-n_demands:] = -level * (1 - 1e-10)
        return scipy.optimize.linprog(cost, matrix, sides, bounds=[(0, None)] * (n_paths + 1))

    level = np.zeros(n_demands)
    free = np.ones(n_demands, dtype=bool)
    while free.any():
        t = most(free, level, np.zeros(n_demands)).x[-1]
        level[free] = t
        for d in np.flatnonzero(free):
            goal = np.eye(n_demands)[d]
            if -most(np.zeros(n_demands, dtype=bool), level, goal).fun < t + 1e-7:
                free[d] = False
    return level


@pytest.mark.parametrize("seed", range(many(200)))
def test_all_flows_fit_and_exact_ones_are_the_leximin(seed):
    traffic = drawn(seed)
    right = leximin_by_raising(traffic)
    for name, method in races.METHODS.items():
        flows = method(traffic)
        assert flows.min() >= 0 and traffic.overuse(flows) <= 1e-6, name
        levels = np.sort(traffic.levels(flows))
        if name in ("exact", "danna"):
            assert traffic.levels(flows) == pytest.approx(right, abs=1e-4), name
        else:  # nothing is lexicographically larger, but for floors that are lowered by a millionth
            differing = np.flatnonzero(abs(levels - np.sort(right)) > 1e-3)
            assert not len(differing) or levels[differing[0]] < np.sort(right)[differing[0]], name


@pytest.mark.parametrize("seed", range(many(100)))
def test_bins_are_within_their_factor_of_the_least_level(seed):
    traffic = drawn(seed)
    right = leximin_by_raising(traffic)
    for flows in (races.swan(traffic), races.geometric_binner(traffic)):
        assert traffic.levels(flows).min() >= right.min() / races.ALPHA * (1 - 1e-5)


def test_one_part_of_pop_is_the_whole():
    traffic = drawn(3)
    whole = traffic.levels(races.exact(traffic))
    assert traffic.levels(races.pop(traffic, 1)) == pytest.approx(whole, abs=1e-8)


def test_a_waterfiller_shares_a_link_by_weights_of_paths():
    """A demand with two paths of its own and one beside it on the first: (3 − 1, 1) after the passes."""
    traffic = races.Traffic(np.array([3.0, 1.0]), np.array([9.0, 9.0]), [[[0], [1]], [[0]]])
    levels = traffic.levels(races.adaptive_waterfiller(traffic, 60))
    assert levels == pytest.approx([2 / 9, 2 / 9], rel=1e-3)
    table = races.race(traffic, ["adaptive waterfiller"])
    assert table.loc["exact", "proved"] is True
    assert table.loc["adaptive waterfiller", "proved"] is None


def test_links_without_room_carry_nothing():
    traffic = races.Traffic(np.array([0.0, 2.0]), np.array([1.0, 1.0]), [[[0]], [[1], [0]]])
    for name, method in races.METHODS.items():
        assert traffic.levels(method(traffic))[0] == pytest.approx(0, abs=1e-7), name
