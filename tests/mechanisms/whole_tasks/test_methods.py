"""Whole tasks where rounding would decide, integer programs that lie, and validations of methods that lie."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import SolverError
from fairlp.mechanisms.whole_tasks import leximin
from fairlp.mechanisms.whole_tasks.filling import Filling, Keys, Pool
from fairlp.mechanisms.whole_tasks.leximin import discrete_leximin
from fairlp.mechanisms.whole_tasks.placement import BestFit, Servers, pick_by_pick, place
from fairlp.mechanisms.whole_tasks.precomputed import FluidLevel, precomputed
from fairlp.models.notation.model import Model

INF = np.inf


def one(demands, capacities, **options):
    return Instance.from_arrays(demands, [capacities], **options)


LARGE = 2**60


def test_shares_that_are_equal_as_floats_and_no_other_way_are_told_apart():
    """The dominant resource, the order of picks and equal keys are decided by whole numbers."""
    top, bottom = (
        np.array([LARGE + 1, LARGE], dtype=object),
        np.array([LARGE + 2, LARGE + 1], dtype=object),
    )
    keys = Keys(top, bottom, 1, "index")
    users, picks = np.array([0, 1]), np.array([0, 0])
    assert keys.at(users, picks)[0] == keys.at(users, picks)[1]  # as floats
    assert Fraction(LARGE, LARGE + 1) < Fraction(LARGE + 1, LARGE + 2)
    assert keys.order(users, picks).tolist() == [1, 0]


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_the_dominant_resource_is_decided_by_whole_numbers(scale):
    """d[0]/c[0] and d[1]/c[1] differ by less than floats can tell; the larger one counts."""
    first, second = 2.0**40 + 1, 2.0**40  # x/(x+1) > (x-1)/x by 2⁻⁸⁰
    assert first / (first + 1) == second / (second + 1)
    for order in ([0, 1], [1, 0]):
        demands = np.array([[first, second]])[:, order] * scale
        capacity = np.array([first + 1, second + 1])[order] * scale
        pool = Pool.of(Instance.from_arrays(demands, [capacity]))
        assert Fraction(int(pool.top[0]), int(pool.bottom[0])) == Fraction(
            int(first), int(first) + 1
        )


def test_amounts_beyond_what_floats_hold_are_counted_exactly():
    """2⁵³ + 1 is no float: 2⁵³ of one user leave room for nothing of two."""
    instance = Instance.from_arrays([[1.0], [2.0]], [[2.0**53]], counts=[2])
    pool = Pool.of(instance)
    unit = int(pool.demands[0, 0])  # of the decimals as written
    assert pool.capacity.dtype == object and int(pool.demands[1, 0]) == 2 * unit
    assert int(pool.usage(np.array([1.0, 2.0**53]))[0]) == unit * (2**54 + 1)


def test_picks_below_a_level_are_counted_exactly():
    """At levels that are keys themselves, or next to one."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        top, bottom = rng.integers(1, 50, 3).astype(float), rng.integers(1, 50, 3).astype(float)
        for offset in (0, 1):
            keys = Keys(top, bottom, offset, "index")
            every = np.array(
                [keys.at(np.arange(3), np.full(3, float(pick))) for pick in range(120)]
            )
            for level in every[rng.integers(1, 40, 6), 0]:
                for bound in (level, np.nextafter(level, 0), np.nextafter(level, INF)):
                    expected = (every < bound).sum(axis=0)
                    counts = keys.below(float(bound))
                    assert (counts == expected)[expected < 120].all()


def awkward(seed):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    demands = rng.integers(0, 5, (n, r)) / 10.0
    demands[np.arange(n), rng.integers(0, r, n)] += 0.1
    return Pool.of(one(demands, (rng.integers(5, 400, r) / 10.0).tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["exclude", "stop"])
@pytest.mark.parametrize("offset", [0, 1])
def test_filling_is_the_loop_where_everything_ties(rule, offset):
    for seed in range(150):
        pool = awkward(seed)
        expected = pick_by_pick(pool, rule=rule, offset=offset)
        assert Filling(pool, rule=rule, offset=offset).run().tolist() == expected.tolist(), seed


def test_whoever_does_not_fit_is_out_and_stop_is_the_end():
    pool = Pool.of(one([[3.0], [2.0]], [10.0]))
    filling = Filling(pool)
    filling._serve_in_order(pool, np.arange(2), np.array([0, 0, 0, 0, 1, 0]))
    assert not filling.alive[0] and filling.tasks.tolist() == [3, 0]
    ended = Filling(pool, rule="stop")
    ended._serve_in_order(pool, np.arange(2), np.array([0, 0, 0, 0, 1]))
    assert ended.stopped and ended.tasks.tolist() == [3, 0]


def test_a_guess_of_a_level_where_all_fits_is_checked(monkeypatch):
    pool = Pool.of(one([[0.1], [0.3]], [1000.0]))
    honest = Filling.bracket

    def too_high(self, pool, keys, counts, limits, users, level):
        _, high = honest(self, pool, keys, counts, limits, users, level)
        return high * 1.5, high * 2

    expected = Filling(pool).run().tolist()
    monkeypatch.setattr(Filling, "bracket", too_high)
    assert Filling(pool).run().tolist() == expected


def test_floors_next_to_whole_numbers_are_exact():
    """10.6 holds 106 times 0.1, and 105 as floats say."""
    for tenths in range(1, 400):
        pool = Pool.of(one([[0.1], [0.1]], [tenths / 10.0]))
        assert precomputed(pool).tolist() == [tenths // 2] * 2, tenths


def test_of_resources_that_tie_by_rounding_the_smaller_one_counts():
    """Levels of a third and a little less, in either order."""
    for order in ([0, 1], [1, 0]):
        ones = np.ones(1, dtype=object)
        demands = np.array([[3 * LARGE + 1, 3]], dtype=object)[:, order]
        capacity = np.array([LARGE, 1], dtype=object)[order]
        level = FluidLevel(Pool(demands, capacity, ones, ones, np.array([INF])), capacity)
        assert level.exact == Fraction(LARGE, 3 * LARGE + 1) < Fraction(1, 3)


# --- placement -------------------------------------------------------------------------------------------------------


def test_a_placement_keeps_to_eligible_servers_limits_and_slots():
    eligible = np.array([[True, False], [False, True]])
    instance = Instance.from_arrays(
        [[1.0], [1.0]], [[3.0], [2.0]], eligible=eligible, task_limits=[2.5, INF]
    )
    for policy in ("first-fit", "best-fit"):
        assert place(instance, policy).tolist() == [[2, 0], [0, 2]], policy
    free = Instance.from_arrays([[1.0]], [[8.0], [4.0]])
    assert place(free, "slots", slots=2).tolist() == [[2, 1]]


def test_best_fit_recomputes_only_where_a_user_may_run():
    eligible = np.array([[True, True], [True, False]])
    instance = Instance.from_arrays(
        [[1.0, 1.0], [1.0, 2.0]], [[4.0, 4.0], [4.0, 8.0]], eligible=eligible
    )
    servers = Servers.of(instance)
    best = BestFit(servers)
    servers.take(0, 1)
    best.changed(1)
    assert best.table[1, 1] == INF and best.table[0, 1] < INF and best(1) == 0


# --- integer programs ------------------------------------------------------------------------------------------------


def lie_about(monkeypatch, lie):
    """Let the integer programs of the leximin answer so: (number of the program, x) → x."""
    honest, count = Model.solve, iter(range(1000))

    def solve(self, *args, **options):
        solution = honest(self, *args, **options)
        block = solution.program.column_block("x").slice
        x = solution.x.copy()
        x[block] = lie(next(count), x[block])
        return dataclasses.replace(solution, x=x)

    monkeypatch.setattr(Model, "solve", solve)


def test_whole_tasks_over_capacity_are_not_taken(monkeypatch):
    lie_about(monkeypatch, lambda number, x: x + 1)
    with pytest.raises(SolverError, match="break a capacity"):
        fairlp.allocate(one([[1.0], [2.0]], [10.0]), "drf-milp")


def test_a_first_level_that_is_not_the_best_is_raised(monkeypatch):
    """The first program gives both users one task where four and two would fit; the second one shows it."""
    instance = one([[1.0], [2.0]], [8.0])
    expected = discrete_leximin(instance, Pool.of(instance))
    lie_about(monkeypatch, lambda number, x: np.ones(2) if number == 0 else x)
    optimum = discrete_leximin(instance, Pool.of(instance))
    assert optimum.levels == expected.levels and optimum.tasks.tolist() == expected.tasks.tolist()
    assert leximin.DiscreteLeximin(optimum.tasks).levels == []
