"""Races of traffic and of jobs: what approximates the leximin fits, and is as near as it promises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import fairlp
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


def drawn_jobs(seed):
    """Jobs with weights on a few kinds, some of several devices at once."""
    rng = np.random.default_rng(seed)
    n_jobs, n_kinds = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    instance = fairlp.Instance.from_arrays(
        rng.choice([1, 1, 2, 4], (n_jobs, 1)),
        np.ones((n_kinds, 1)),
        counts=rng.integers(1, 9, n_kinds),
        rates=rng.integers(1, 9, (n_jobs, n_kinds)),
        weights=rng.choice([1, 2, 4], n_jobs),
    )
    return races.Jobs(instance)


def leximin_by_raising(demands):
    """Levels by SciPy: raise all that can rise; who cannot rise alone is settled."""
    n_demands, n_ways = len(demands.limits), len(demands.owners)
    loads = np.vstack([demands.use.toarray(), demands.of_demand.toarray()])
    rates = demands.level_of_flow.toarray()

    def most(free, level, goal):
        """The largest sum of t and the goal's rates with all settled at their levels."""
        rows = np.vstack([loads, -rates])
        column = np.concatenate([np.zeros(len(loads)), free.astype(float)])
        least = level * (1 - 1e-10) if goal.any() else np.where(free, 0, level)
        sides = np.concatenate([demands.capacities, demands.limits, -least])
        cost = -np.append(goal @ rates, 0.0 if goal.any() else 1.0)
        matrix = np.column_stack([rows, column])
        return scipy.optimize.linprog(cost, matrix, sides, bounds=[(0, None)] * (n_ways + 1))

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


@pytest.mark.parametrize("draw", [drawn, drawn_jobs])
@pytest.mark.parametrize("seed", range(many(100)))
def test_all_flows_fit_and_exact_ones_are_the_leximin(seed, draw):
    demands = draw(seed)
    right = leximin_by_raising(demands)
    for name, method in races.METHODS.items():
        flows = method(demands)
        assert flows.min() >= -1e-9 and demands.overuse(flows) <= 1e-6, name
        levels = np.sort(demands.levels(flows))
        if name in ("exact", "danna"):
            assert demands.levels(flows) == pytest.approx(right, abs=1e-4), name
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


@pytest.mark.parametrize("scale", [1, 2])
def test_a_waterfiller_is_exact_on_one_kind(scale):
    """Two devices: the job of weight 4 has all its time, and the others share what is left."""
    instance = fairlp.Instance.from_arrays(
        [[scale], [1], [1]], [[1]], counts=[2], rates=[[1], [1], [1]], weights=[1, 1, 4]
    )
    jobs = races.Jobs(instance)
    flows = races.adaptive_waterfiller(jobs, 1)
    assert jobs.levels(flows) == pytest.approx(jobs.levels(races.exact(jobs)), rel=1e-9)


def test_the_alternation_ends_at_proportional_fairness():
    """One flow over both links beside one on each: ⅓, ⅔, ⅔."""
    traffic = races.Traffic(np.ones(2), np.ones(3), [[[0, 1]], [[0]], [[1]]])
    flows = races.alternation(traffic)
    assert traffic.levels(flows) == pytest.approx([1 / 3, 2 / 3, 2 / 3], rel=1e-4)
