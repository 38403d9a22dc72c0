"""Progressive filling of one server, against exact rationals that raise the level event by event."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairlp
from fairlp.mechanisms.max_min.rounds import fill
from profiles import many


def exactly(demands, capacity, rate, limits):
    """Levels by raising everyone until a resource or a limit is reached, one event at a time, in rationals."""
    n, m = len(demands), len(capacity)
    level = [None] * n
    left = [Fraction(c) for c in capacity]
    now = Fraction(0)
    active = set(range(n))
    while active:
        events = []
        for r in range(m):
            speed = sum(demands[u][r] * rate[u] for u in active)
            if speed:
                events.append(left[r] / speed)
        events += [limits[u] / rate[u] - now for u in active if limits[u] is not None]
        step = min(events)
        now += step
        for r in range(m):
            left[r] -= step * sum(demands[u][r] * rate[u] for u in active)
        for u in sorted(active):
            starved = any(left[r] == 0 and demands[u][r] for r in range(m))
            if starved or (limits[u] is not None and limits[u] == now * rate[u]):
                level[u] = now
                active.discard(u)
    return [float(value) for value in level]


@settings(max_examples=many(200), deadline=None)
@given(st.data())
def test_levels_equal_exact_rationals(data):
    n, m = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 4))
    whole = st.integers(0, 6)
    demands = [data.draw(st.lists(whole, min_size=m, max_size=m).filter(any)) for _ in range(n)]
    capacity = data.draw(st.lists(st.integers(1, 60), min_size=m, max_size=m))
    rate = data.draw(st.lists(st.fractions(Fraction(1, 9), 9, max_denominator=9), min_size=n, max_size=n))
    limits = data.draw(st.lists(st.none() | st.integers(0, 9), min_size=n, max_size=n))
    expected = exactly(demands, capacity, rate, [None if x is None else Fraction(x) for x in limits])
    found, rounds = fill(
        np.array(demands, float),
        np.array(capacity, float),
        np.array([float(x) for x in rate]),
        np.array([np.inf if x is None else float(x) for x in limits]),
    )
    assert found.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-13)
    assert len(rounds) <= m + 1
    assert sorted(int(u) for _, frozen in rounds for u in frozen) == list(range(n))


@settings(max_examples=many(50), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_closed_form_equals_rounds_where_it_applies(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 9, 2)
    instance = fairlp.Instance.from_arrays(
        rng.lognormal(0, 2, (n, m)), rng.lognormal(6, 2, (1, m)), weights=rng.lognormal(0, 1, n)
    )
    closed = fairlp.allocate(instance, "edrf", method="closed-form")
    rounds = fairlp.allocate(instance, "edrf", method="rounds")
    np.testing.assert_allclose(closed.totals, rounds.totals, rtol=1e-12)
    assert fairlp.allocate(instance, "edrf").method == "closed-form"


def test_closed_form_refuses_where_it_does_not_apply():
    with pytest.raises(fairlp.FairlpError, match="all demands positive, no task limits"):
        fairlp.allocate(fairlp.examples.parkes_zero_demands(), "edrf", method="closed-form")
    assert fairlp.allocate(fairlp.examples.parkes_zero_demands(), "edrf").method == "rounds"


def test_many_users_are_quick_and_saturate_a_resource():
    rng = np.random.default_rng(0)
    demands = rng.uniform(0, 1, (100_000, 6)) * (rng.random((100_000, 6)) < 0.7)
    demands[:, 0] += 0.01
    limits = np.where(rng.random(100_000) < 0.5, rng.integers(0, 3, 100_000), np.inf)
    instance = fairlp.Instance.from_arrays(demands, [[1e5] * 6], task_limits=limits)
    allocation = fairlp.allocate(instance, "edrf")
    assert allocation.residual <= 1e-12
    assert allocation.utilization.max(axis=None) == pytest.approx(1)
