"""Paths and regions of one's own: by hand, against rounds of scipy's programs, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

import fairlp
from fairlp.errors import (
    ModelError,
    NotDefinedError,
    SolverError,
)
from own_back_ends import Truthful
from profiles import many


@dataclass(frozen=True)
class FastFrom(fairlp.Path):
    """Users rise at their speeds, and twice as fast from some tasks on."""

    speed: np.ndarray
    fast_from: np.ndarray

    @property
    def rate(self):
        return np.where(self.tasks >= self.fast_from * (1 - 1e-12), 2, 1) * self.speed

    @property
    def next_kink(self):
        waits = self.active & (self.tasks < self.fast_from * (1 - 1e-12))
        distance = (self.fast_from - self.tasks) / self.speed
        return distance[waits].min(initial=np.inf)


def test_ann_rises_twice_as_fast_once_she_has_ten_tasks():
    pool = fairlp.Instance.from_arrays([[1], [1]], [[40]], users=["ann", "bob"])
    path = FastFrom.start(pool, speed=np.ones(2), fast_from=np.array([10, np.inf]))
    answer = fairlp.rise(path, pool)
    assert answer.totals.to_dict() == pytest.approx({"ann": 70 / 3, "bob": 50 / 3}, rel=1e-9)
    assert answer.rounds["level"].tolist() == pytest.approx([50 / 3], rel=1e-9)
    assert answer.rounds["blocked"].tolist() == [["ann", "bob"]]
    assert answer.levels.to_dict() == pytest.approx({"ann": 50 / 3, "bob": 50 / 3}, rel=1e-9)
    # one more unit of room is a third of a level more
    assert answer.prices.loc["server1"].tolist() == pytest.approx([1 / 3], rel=1e-9)
    assert answer.certify() and answer.gap <= 1e-9


def drawn(seed):
    """Return a small cluster, and a path with kinks, limits and weights."""
    rng = np.random.default_rng(seed)
    users, servers, resources = rng.integers(1, 6), rng.integers(1, 4), rng.integers(1, 4)
    demands = rng.integers(0, 5, (users, resources)).astype(float)
    demands[demands.sum(axis=1) == 0, 0] = 1
    limits = np.where(rng.random(users) < 0.4, rng.integers(1, 9, users), np.inf)
    eligible = rng.random((users, servers)) < 0.7
    eligible[np.arange(users), rng.integers(0, servers, users)] = True
    instance = fairlp.Instance.from_arrays(
        demands,
        rng.integers(4, 40, (servers, resources)).astype(float),
        task_limits=limits,
        eligible=eligible,
    )
    fast_from = np.where(rng.random(users) < 0.6, rng.integers(1, 5, users), np.inf)
    speed = rng.integers(1, 4, users).astype(float)
    return instance, FastFrom.start(instance, speed=speed, fast_from=fast_from)


def rounds_by_scipy(instance, path):
    """Return what users come to: one program says how far all go, one for each who can have more."""
    users, servers = instance.runnable().shape
    runs = instance.runnable().ravel()
    pairs = users * servers
    capacity = np.zeros((servers * len(instance.resources), pairs + 1))
    for i in range(servers):
        for r in range(len(instance.resources)):
            capacity[i * len(instance.resources) + r, i:pairs:servers] = instance.demands[:, r]
    totals = np.kron(np.eye(users), np.ones(servers))
    bounds = [(0, None if run else 0) for run in runs]

    def most(tasks, rates, last):
        rows = np.vstack([capacity, np.hstack([-totals, rates[:, None]])])
        room = np.concatenate([instance.capacities.ravel(), 1e-10 - tasks * (1 - 1e-10)])
        cost = np.append(np.zeros(pairs), -1)
        return linprog(cost, rows, room, bounds=[*bounds, (0, last)]).x[-1]

    tasks = path.tasks.copy()
    active = path.active.copy()
    while active.any():
        rates = np.where(active, replace(path, tasks=tasks, active=active).rate, 0.0)
        last = min(
            replace(path, tasks=tasks, active=active).next_kink,
            ((path.limits - tasks)[active] / rates[active]).min(),
            1e6,
        )
        t = most(tasks, rates, last)
        tasks = tasks + rates * t
        active &= tasks < path.limits * (1 - 1e-9)
        if t < last * (1 - 1e-9):
            alone = np.eye(users)
            gains = [most(tasks, alone[n], 1.0) if active[n] else 0.0 for n in range(users)]
            assert (np.array(gains)[active] < 1e-6).any()
            active &= np.array(gains) > 1e-6
    return tasks


@settings(max_examples=many(60), deadline=None)
@given(st.integers(0, 10**9))
def test_paths_with_kinks_come_to_what_rounds_of_scipy_come_to(seed):
    instance, path = drawn(seed)
    answer = fairlp.rise(path, instance)
    expected = rounds_by_scipy(instance, path)
    assert answer.totals.to_numpy() == pytest.approx(expected, rel=1e-6, abs=1e-6)
    proof = answer.certify()
    assert proof, proof.message


@settings(max_examples=many(20), deadline=None)
@given(st.integers(0, 10**9))
def test_one_who_is_blocked_too_early_is_not_proved(seed):
    """What a user is taken away, others do not get; the tasks still fit."""
    instance, path = drawn(seed)
    answer = fairlp.rise(path, instance)
    tasks, blocked = answer.reached[-1]
    if not blocked.any():
        return
    n = int(np.flatnonzero(blocked)[0])
    fewer = tasks.copy()
    fewer[n] *= 0.9
    amounts = answer.tasks.copy()
    amounts.iloc[n] *= 0.9
    wrong_answer = replace(answer, tasks=amounts, reached=[*answer.reached[:-1], (fewer, blocked)])
    assert not wrong_answer.certify()
    larger_tasks = answer.tasks.copy() * 1.1
    assert "not feasible" in replace(answer, tasks=larger_tasks).certify().message


def test_rates_count_where_tasks_are_checked_to_fit():
    """At half its rate a task of ann takes twice as much of the server."""
    cluster = fairlp.Instance.from_arrays([[1], [1]], [[12]], rates=[[6], [12]])
    path = FastFrom.start(cluster, speed=np.ones(2), fast_from=np.full(2, np.inf))
    answer = fairlp.rise(path, cluster)
    assert answer.totals.to_numpy() == pytest.approx([4, 4], rel=1e-9) and answer.certify()
    larger_answer = replace(answer, tasks=answer.tasks + 0.1)
    assert "not feasible: server 'server1'" in larger_answer.certify().message


class Watts(fairlp.Region):
    """A budget of power: users draw their watts."""

    def __init__(self, watts, budget):
        self.watts, self.budget = watts, budget

    def farthest(self, path):
        speed = self.watts @ path.rate_at(0)
        return min((self.budget - self.watts @ path.tasks) / speed, path.end)

    def blocked(self, path, t):
        return path.active & (self.watts @ path.tasks_at(t) > self.budget * (1 - 1e-9))


def test_a_region_of_ones_own_is_as_good_as_a_resource():
    watts = np.array([3.0, 5.0, 2.0])
    cluster = fairlp.Instance.from_arrays(watts[:, None], [[100]], task_limits=[4, np.inf, np.inf])
    path = FastFrom.start(cluster, speed=np.ones(3), fast_from=np.array([np.inf, 3, np.inf]))
    rise = fairlp.rise(path, Watts(watts, 100.0))
    assert rise.totals.to_numpy() == pytest.approx(fairlp.rise(path, cluster).totals.to_numpy())
    assert rise.rounds["users"].tolist() == [[0], [1, 2]] and rise.rounds["blocked"][1] == []
    assert rise.prices is None and rise.tasks is None and "3 users" in repr(rise)
    with pytest.raises(NotDefinedError, match="region of your own"):
        rise.certify()


class Roots:
    """Levels √x/scale, which are concave."""

    def __init__(self, scale):
        self.scale = scale

    def levels(self, tasks):
        return np.sqrt(tasks) / self.scale

    def tasks(self, level):
        return (self.scale * level) ** 2

    def tasks_per_level(self, level):
        return 2 * self.scale**2 * level


@settings(max_examples=many(20), deadline=None)
@given(st.integers(0, 10**9))
def test_concave_levels_of_one_power_are_levels_at_constant_rates(seed):
    """√x/s rises alike where x/s² does."""
    instance, path = drawn(seed)
    straight = FastFrom.start(
        instance, speed=path.speed**2, fast_from=np.full(len(path.tasks), np.inf)
    )
    curve = fairlp.ConcavePath.start(instance, functions=Roots(path.speed))
    asked = curve.asked_at(1e9)
    assert (asked <= curve.most * (1 + 1e-9)).all()  # nobody asks for more than it can have alone
    bent = fairlp.rise(curve, instance)
    expected = fairlp.rise(straight, instance)
    assert bent.totals.to_numpy() == pytest.approx(expected.totals.to_numpy(), rel=1e-8, abs=1e-9)
    assert bent.certify()


class LateByKink(fairlp.Path):
    """All but the first user begin at t = 3: their rates are 0 until then."""

    @property
    def rate(self):
        is_first = np.arange(len(self.tasks)) == 0
        return np.where(is_first | (self.elapsed >= 3), 1.0, 0.0)

    @property
    def next_kink(self):
        return 3 - self.elapsed if self.elapsed < 3 else np.inf


class LateByBase(fairlp.Path):
    """The same: late users ask for less than nothing until t = 3."""

    @property
    def rate(self):
        return np.ones(len(self.tasks))

    @property
    def base(self):
        is_first = np.arange(len(self.tasks)) == 0
        return np.where(is_first, self.tasks, self.elapsed - 3.0)


@pytest.mark.parametrize("path", [LateByKink, LateByBase])
@pytest.mark.parametrize(
    ("limit", "expected"),
    [(np.inf, [13.5, 10.5, 10.5]), (2.0, [2, 43 / 3, 43 / 3]), (0.0, [0, 15, 15])],
)
def test_users_who_begin_late_wait_also_where_nobody_else_rises(path, limit, expected):
    cluster = fairlp.Instance.from_arrays(
        [[1, 2], [2, 1], [1, 1]], [[30, 30], [15, 20]], task_limits=[limit, np.inf, np.inf]
    )
    answer = fairlp.rise(path.start(cluster), cluster)
    assert answer.totals.to_numpy() == pytest.approx(expected, rel=1e-8)
    assert answer.certify()


@settings(max_examples=many(40), deadline=None)
@given(st.integers(0, 10**9))
def test_paths_in_rationals_come_to_what_floats_come_to_and_no_blocked_user_can_gain(seed):
    instance, path = drawn(seed)
    speed = path.speed.astype(int).astype(object)
    fast_from = np.array([int(v) if v < np.inf else v for v in path.fast_from], dtype=object)
    exact = FastExactlyFrom.start(instance, exact=True, speed=speed, fast_from=fast_from)
    answer = fairlp.rise(exact, instance)
    assert all(isinstance(tasks, Fraction | int) for tasks in answer.totals)
    totals = answer.totals.to_numpy(dtype=float)
    assert totals == pytest.approx(fairlp.rise(path, instance).totals.to_numpy(), rel=1e-9)
    assert answer.tasks.sum(axis=1).to_numpy() == pytest.approx(totals, rel=1e-12)
    proof = answer.certify()
    assert proof and "in rationals" in proof.message and answer.prices is None


class FastExactlyFrom(FastFrom):
    """The same in whole numbers."""

    @property
    def rate(self):
        return np.where(self.tasks >= self.fast_from, 2, 1) * self.speed

    @property
    def next_kink(self):
        waits = self.active & (self.tasks < self.fast_from)
        return ((self.fast_from - self.tasks)[waits] / self.speed[waits]).min(initial=np.inf)


def test_floats_and_curves_are_refused_in_rationals():
    pool = fairlp.Instance.from_arrays([[1], [1]], [[40]], users=["ann", "bob"])
    path = FastFrom.start(pool, exact=True, speed=np.ones(2), fast_from=np.full(2, np.inf))
    with pytest.raises(ModelError, match=r"in rationals, FastFrom gives 1\.0; expected whole"):
        fairlp.rise(path, pool)
    bent = fairlp.ConcavePath.start(pool, exact=True, functions=Roots(np.ones(2)))
    with pytest.raises(ModelError, match=r"in rationals, ConcavePath gives 0\.0; expected whole"):
        fairlp.rise(bent, pool)
    endless = AtWholeRates.start(pool, exact=True)
    still = replace(endless, speeds=(0, 0))
    with pytest.raises(SolverError, match="not proved in rationals: round 1"):
        fairlp.rise(still, pool)


@dataclass(frozen=True)
class AtWholeRates(fairlp.Path):
    """Rates that are whole numbers."""

    speeds: tuple[int, ...] = (1, 2)

    @property
    def rate(self):
        return np.array(self.speeds)


def test_a_late_user_begins_at_its_level_to_the_last_digit_in_rationals():
    """Bob waits until 3; a third of the room that is left then is his."""
    pool = fairlp.Instance.from_arrays([[2], [1]], [[20]])

    class Late(AtWholeRates):
        @property
        def rate(self):
            return np.array([1, int(self.elapsed >= 3)])

        @property
        def next_kink(self):
            return 3 - self.elapsed if self.elapsed < 3 else np.inf

    answer = fairlp.rise(Late.start(pool, exact=True), pool)
    assert answer.totals.tolist() == [Fraction(23, 3), Fraction(14, 3)]


def test_a_region_of_ones_own_keeps_rationals():
    class Third(fairlp.Region):
        def farthest(self, path):
            return min((Fraction(1, 3) - path.tasks.sum()) / path.rate_at(0).sum(), path.end)

        def blocked(self, path, t):
            return path.active & (path.tasks_at(t).sum() >= Fraction(1, 3))

    pool = fairlp.Instance.from_arrays([[1], [1]], [[9]])
    answer = fairlp.rise(AtWholeRates.start(pool, exact=True), Third())
    assert answer.totals.tolist() == [Fraction(1, 9), Fraction(2, 9)]


def test_a_path_is_certified_where_queues_have_caps():
    capped = fairlp.Instance.from_arrays(
        [[1], [1]], [[20]], queue=["q", ""], queues={"q": {"cap": {"resource1": 4}}}
    )
    path = FastFrom.start(capped, speed=np.ones(2), fast_from=np.full(2, np.inf))
    answer = fairlp.rise(path, capped)
    assert answer.totals.tolist() == pytest.approx([4, 16], rel=1e-9)
    assert answer.certify()


def test_one_who_is_blocked_with_nothing_though_there_is_room_is_not_proved():
    """A path on which ann does not rise: she has nothing, and a program gives her the pool."""
    pool = fairlp.Instance.from_arrays([[1], [1]], [[10]], users=["ann", "bob"])
    path = FastFrom.start(pool, speed=np.ones(2), fast_from=np.full(2, np.inf))
    answer = fairlp.rise(path, pool)
    tasks, _ = answer.reached[-1]
    nothing = tasks * 0
    wrong_answer = replace(
        answer,
        tasks=answer.tasks * 0,
        totals=answer.totals * 0,
        reached=[(nothing, np.ones(2, dtype=bool))],
    )
    assert "of 'ann', 'bob', who stopped, one can have more" in wrong_answer.certify().message


def test_a_solver_without_duals_goes_along_a_straight_path():
    pool = fairlp.Instance.from_arrays([[1], [1]], [[40]], users=["ann", "bob"])
    path = FastFrom.start(pool, speed=np.ones(2), fast_from=np.array([10, np.inf]))
    answer = fairlp.rise(path, pool, solver=Truthful())
    assert answer.totals.to_numpy() == pytest.approx([70 / 3, 50 / 3], rel=1e-6)
    assert answer.prices is None and answer.gap is None
