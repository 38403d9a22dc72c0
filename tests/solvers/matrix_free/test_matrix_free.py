"""The matrix-free method against exact levels, its bounds against any prices, its parts against plain formulas."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import fairlp
from fairlp.solvers.matrix_free import equations
from fairlp.solvers.matrix_free.rounds import highest_level
from fairlp.solvers.matrix_free.servers import Pairs, ServerBlocks
from pair_instances import both, connected
from profiles import by_day

AIM = 1e-4
pytestmark = pytest.mark.filterwarnings("ignore::fairlp.errors.OversizedTaskWarning")


def first_level(found, exact, component):
    """The exact level of the first round in a component: the lowest of those who have tasks left."""
    one = found.bounds[0]
    rising = (one.group == component) & (one.rows.slope > 0)
    level, cap = exact[one.users[rising]], one.rows.cap[rising]
    short = level < cap * (1 - 1e-9)
    return level[short].min() if short.any() else cap.max()


@pytest.mark.parametrize("first", by_day(range(0, 2400, 40), 60))
def test_levels_are_the_linear_programs_to_the_stated_gap(first):
    proved, near = 0, 0
    for seed in range(first, first + 40):
        dense, pairs = both(seed)
        mechanism = "c-drfh" if seed % 3 else "tsf"
        exact = fairlp.allocate(dense, mechanism).levels.to_numpy()
        found = fairlp.allocate(pairs, mechanism, aim=AIM)
        assert found.gap <= AIM and found.residual <= 1e-12
        for component, (lower, upper) in enumerate(zip(*_bounds(found), strict=True)):
            level = first_level(found, exact, component)
            assert upper >= level * (1 - 1e-9), seed  # a bound is never below the optimum
            assert level * (1 - AIM) <= lower * (1 + 1e-9) <= level * (1 + 1e-8), seed
        off = abs(found.levels.to_numpy() - exact) / np.where(exact > 0, exact, 1.0)
        proved += bool(found.certify())
        near += bool(off.max() <= AIM)
    assert proved >= 39 and near >= 34  # later rounds are proved given the earlier levels, and may end unproved


def _bounds(found):
    """Levels reached and bounds of the first round, by component."""
    first = found.rounds[found.rounds["round"] == 1]
    return first["level"].to_numpy(), first["bound"].to_numpy()


@pytest.mark.parametrize("seed", by_day(range(20), 2))
def test_any_prices_give_a_bound_that_no_optimum_exceeds(seed):
    draw = np.random.default_rng(seed)
    dense, pairs = both(seed)
    exact = fairlp.allocate(dense, "c-drfh").levels.to_numpy()
    found = fairlp.allocate(pairs, "c-drfh", aim=AIM)
    due = found.tasks_per_level
    for one in found.bounds[:1]:
        price = np.zeros(dense.capacities.shape)
        price[one.servers] = draw.lognormal(0, 3, one.prices.shape)
        cost = np.where(dense.runnable(), dense.demands @ price.T, np.inf).min(axis=1)[one.users] * due[one.users]
        group = np.zeros(dense.capacities.shape[0], dtype=int)
        group[found.server] = _component(one, len(due))[found.user]
        there = np.isin(np.arange(len(price)), one.servers)
        rent = (price * dense.capacities).sum(axis=1) * dense.counts
        worth = np.bincount(group[there], weights=rent[there], minlength=len(one.lower))
        rows = one.rows.slope, one.rows.floor, one.rows.cap
        bound = highest_level(worth, cost, rows, one.group)
        for component, level in enumerate(bound):
            assert level >= first_level(found, exact, component) * (1 - 1e-9)


def _component(one, users):
    group = np.zeros(users, dtype=int)
    group[one.users] = one.group
    return group


def test_the_bound_is_the_root_that_bisection_finds():
    draw = np.random.default_rng(1)
    for _ in range(50):
        size = int(draw.integers(1, 9))
        cost, cap = draw.lognormal(0, 2, size), np.where(draw.random(size) < 0.5, np.inf, draw.lognormal(0, 2, size))
        slope, floor, worth = (draw.random(size) < 0.8) * 1.0, draw.lognormal(-3, 1, size), draw.lognormal(1, 1)
        slope[0] = 1.0

        def spent(level, cost=cost, cap=cap, slope=slope, floor=floor):
            return float((cost * np.where(slope > 0, np.minimum(level, cap), floor)).sum())

        found = highest_level(np.array([worth]), cost, (slope, floor, cap), np.zeros(size, dtype=int))[0]
        most = cap[slope > 0].max()
        if spent(0.0) >= worth:
            assert found == pytest.approx(0.0, abs=1e-12)
        elif np.isfinite(most) and spent(most) <= worth:
            assert found == most
        else:
            assert spent(found) == pytest.approx(worth, rel=1e-12)
            terms = zip(cost, np.where(slope > 0, np.minimum(found, cap), floor), strict=True)
            assert sum(Fraction(price) * Fraction(amount) for price, amount in terms) >= worth  # it is not too low


def test_the_equations_are_those_of_the_eliminated_servers():
    draw = np.random.default_rng(0)
    user, server = np.nonzero(draw.random((7, 5)) < 0.6)
    user, server = np.concatenate([np.arange(7), user]), np.concatenate([np.arange(7) % 5, server])
    pair = np.unique(np.stack([server, user], axis=1), axis=0)
    server, user = pair[:, 0], pair[:, 1]
    needs = draw.lognormal(0, 1, (2, len(user)))
    pairs = Pairs(user, server, needs, (np.zeros(5, int), np.zeros(7, int)), np.ones((5, 2)))
    fleet = ServerBlocks(pairs)
    own, slope = draw.lognormal(0, 1, 7), np.ones(7)
    made = equations.Equations(fleet, (own, np.zeros(7, bool)), slope, np.zeros(7, int), equations.Effort())
    block = fleet.blocks[0]
    expected = np.diag(np.bincount(user, block.theta) + own)
    for i in range(5):
        on = server == i
        coupling = needs[:, on] * block.theta[on]
        inner = coupling @ needs[:, on].T + np.diag(block.s[i] / block.p[i])
        expected[np.ix_(user[on], user[on])] -= coupling.T @ np.linalg.solve(inner, coupling)
    applied = np.stack([made._apply(unit) for unit in np.eye(7)], axis=1)
    np.testing.assert_allclose(applied, expected, rtol=1e-9, atol=1e-10)
    right = draw.normal(size=7)
    matrix, _ = made._coupling(0.0)
    for inverse in (made._users_last(matrix), made._servers_last(matrix)):
        np.testing.assert_allclose(expected @ inverse(right), right, atol=1e-9)
    values, level = made.solve(right, np.full(7, 1e-12))
    np.testing.assert_allclose(expected @ values - slope * level[0], right, atol=1e-9)
    assert abs(values.sum()) <= 1e-9 * abs(values).max()


@pytest.mark.parametrize("users, servers", [(40, 8), (8, 40)])
def test_either_side_is_factored_where_it_is_the_smaller(users, servers):
    draw = np.random.default_rng(2)
    demands, capacities = draw.lognormal(0, 1, (users, 2)), draw.lognormal(2, 1, (servers, 2))
    dense = fairlp.Instance.from_arrays(demands, capacities)
    found = fairlp.allocate(fairlp.SparseInstance.of(dense), "drfh", aim=1e-6)
    assert found.certify()
    assert found.levels.min() == pytest.approx(fairlp.allocate(dense, "drfh").levels.min(), rel=1e-6)


@cache
def lowest_level():
    """A problem, and its smallest level by dense factors."""
    problem = connected()
    return problem, fairlp.allocate(problem, "c-drfh", aim=1e-6).levels.min()


@pytest.mark.parametrize("slow, fill", [(np.inf, 8.0), (0, 8.0), (0, 0.0)])
def test_without_dense_factors_the_gap_is_met_by_gradients(monkeypatch, slow, fill):
    problem, expected = lowest_level()
    for name, value in (("DENSE", 0), ("_SLOW", slow), ("_FILL", fill)):
        monkeypatch.setattr(equations, name, value)
    found = fairlp.allocate(problem, "c-drfh", aim=AIM, rounds=1)
    assert found.gap <= AIM and found.steps > found.iterations
    assert expected * (1 - AIM) <= found.levels.min() <= expected * (1 + 1e-6)


def test_strong_pairs_save_steps(monkeypatch):
    monkeypatch.setattr(equations, "DENSE", 0)
    steps = {}
    for slow in (20, np.inf):
        monkeypatch.setattr(equations, "_SLOW", slow)
        steps[slow] = fairlp.allocate(connected(size=600), "c-drfh", aim=AIM, rounds=1).steps
    assert steps[20] < steps[np.inf]
