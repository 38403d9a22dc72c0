"""Paths and the rows of a pool, on straight and bent rises, against quotients and by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from fairlp import Path
from fairlp.models.paths.path import ConstantPath
from fairlp.models.paths.pool import PoolRows
from profiles import many


@dataclass(frozen=True)
class Straight(Path):
    """Users who rise at constant speeds, from what each asks for at t = 0."""

    speed: np.ndarray
    asks: np.ndarray

    @property
    def rate(self):
        return self.speed

    @property
    def base(self):
        return self.asks


def straight():
    """ann has 1 of 4 at a speed of 1; bob has 2, asks for 1 at t = 0, at 2; cat has stopped at 3; dan has no limit."""
    return Straight(
        np.array([1.0, 2, 3, 0]),
        np.array([4.0, 9, 5, np.inf]),
        np.array([True, True, False, True]),
        np.array([1.0, 2, 1, 4]),
        np.array([1.0, 1, 3, 0]),
        elapsed=0.5,
    )


def test_tasks_limits_and_levels_of_a_path_by_hand():
    path = straight()
    assert path.limit_levels.tolist() == [3, 4, np.inf, np.inf] and path.end == 3
    assert path.tasks_at(0.25).tolist() == [1.25, 2, 3, 1]
    assert path.tasks_at(1.0).tolist() == [2, 3, 3, 4]
    assert path.tasks_at(3.5).tolist() == [4, 8, 3, 14]
    assert path.rate_at(1.0).tolist() == [1, 2, 0, 4]
    assert path.level(1.0) == 1.5 and path.level_1.tolist() == [1, 2, 1, 4]
    assert path.next_rise(0.0) == 0.5 and path.next_rise(0.5) == 3
    assert path.satisfied_at(3.0).tolist() == [True, False, False, False]
    assert path.satisfied_at(2.9).tolist() == [False] * 4
    after = path.after(2.0, np.array([True, False, False, False]))
    assert after.tasks.tolist() == [3, 5, 3, 8] and after.elapsed == 2.5
    assert after.active.tolist() == [False, True, False, True]


def pool_of(seed):
    rng = np.random.default_rng([89, seed])
    users, rows = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    use = rng.integers(0, 3, (rows, users)).astype(float)
    use[0] += 1
    room = rng.integers(3, 15, rows).astype(float)
    path = ConstantPath.first(
        rng.integers(1, 4, users).astype(float),
        np.zeros(users),
        np.where(rng.random(users) < 0.5, rng.integers(1, 6, users), np.inf),
        np.ones(users, dtype=bool),
    )
    return use, room, path


@pytest.mark.parametrize("seed", range(many(300)))
def test_a_path_goes_as_far_as_the_first_row_or_limit(seed):
    use, room, path = pool_of(seed)
    pool = PoolRows(sparse.csr_array(use), room)
    t = pool.farthest(path)
    rate = path.rate_at(0.0)
    used = use @ rate
    ends = [*(room[used > 0] / used[used > 0]), *(path.limits / rate)]
    assert t == pytest.approx(min(ends))
    full = use @ (rate * t) >= room * (1 - 1e-9)
    expected = (use[full] > 0).any(axis=0) if full.any() else np.zeros(len(rate), dtype=bool)
    assert pool.blocked(path, t).tolist() == expected.tolist()
    assert pool.clearly_blocked(path, t).tolist() == expected.tolist()
    tasks = path.tasks_at(t)
    assert not pool.exceeded(tasks) and (not full.any() or pool.exceeded(1.01 * tasks))
    more = pool.and_row(np.ones(len(rate)), float(tasks.sum()) / 2)
    assert more.farthest(path) == pytest.approx(t / 2)
    assert len(more.with_room(tasks, len(room)).room) == len(room)
    assert len(more.with_room(0.1 * tasks, 0).room) == len(room) + 1
