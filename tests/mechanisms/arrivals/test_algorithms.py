"""The algorithms of dynamic DRF in rationals: equal to each other and to the definition; bounds, lies and delay."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from arrival_cases import bound, exact_shares, normalised, random_arrivals, tight
from fairlp.mechanisms.arrivals.algorithms import (
    LevelStack,
    cautious_closed_form,
    linear,
    stack,
    water_filling,
)
from profiles import many

CORES = (stack, linear, water_filling)


@pytest.mark.parametrize("seed", range(many(200)))
def test_algorithms_are_equal_exactly_in_rational_arithmetic(seed):
    demands, capacities, weights = random_arrivals(9 * seed)  # whole numbers
    phi = [Fraction(w) for w in weights.tolist()]
    rows = normalised(demands, capacities)
    needs = np.array([[w * d for d in row] for w, row in zip(phi, rows, strict=True)], dtype=object)
    parts = np.array([sum(phi[: k + 1]) for k in range(len(phi))], dtype=object)
    answers = [core(needs, parts) for core in CORES]
    assert answers[0] == answers[1] == answers[2]
    levels, _ = answers[0]
    assert all(isinstance(level, Fraction) for level in levels)
    exact = exact_shares(demands, capacities, weights)
    assert [level * w / sum(phi) for level, w in zip(levels, phi, strict=True)] == [
        step[-1] for step in exact
    ]
    cautious, _ = cautious_closed_form(needs, parts, sum(phi))
    largest_needs = [
        max(sum(needs[: k + 1, r]) for r in range(needs.shape[1])) for k in range(len(phi))
    ]
    assert cautious == [
        sum(phi) / (sum(phi) - weight + top)
        for weight, top in zip(parts, largest_needs, strict=True)
    ]


@pytest.mark.parametrize("kind", ["uniform", "ties", "falling"])
def test_rounding_stays_small_over_many_steps(kind):
    """Floats against the same algorithm on fractions, 600 steps."""
    rng = np.random.default_rng(5)
    n = 600
    demands = (
        rng.uniform(0.01, 1, (n, 4)) if kind != "ties" else rng.integers(1, 3, (n, 4)).astype(float)
    )
    if kind == "falling":  # levels that fall as long as they can: many groups
        demands = np.full((n, 2), 1e-6)
        demands[: n // 2, 0] = demands[n // 2 :, 1] = 1.0
        demands[n // 2 :, 0] = np.linspace(0.1, 1, n - n // 2)
    demands /= demands.max(axis=1, keepdims=True)
    exact = np.array([[Fraction(d) for d in row] for row in demands.tolist()], dtype=object)
    levels, _ = stack(exact, np.array([Fraction(k) for k in range(1, n + 1)], dtype=object))
    for core in CORES:
        float_levels, _ = core(demands, np.arange(1.0, n + 1))
        np.testing.assert_allclose(float_levels, np.array(levels, dtype=float), rtol=1e-11)


def test_a_stack_merges_each_user_once():
    rng = np.random.default_rng(0)
    groups, deepest = LevelStack(3), 0
    for k in range(1, 5001):
        need = rng.uniform(0, 1, 3)
        groups.push((need / need.max()).tolist(), float(k))
        deepest = max(deepest, len(groups.levels))
        assert groups.levels == sorted(groups.levels, reverse=True)
    assert deepest < 100
    assert max(groups.used()) == pytest.approx(5000)


def test_nobody_loses_a_last_digit():
    """Levels of users who had them already fall by rounding, unless what was had is kept."""
    for seed in (95, 567, 2424, 2500, 3927):
        rng = np.random.default_rng(seed)
        users, resources = int(rng.integers(2, 9)), int(rng.integers(1, 3))
        demands = rng.integers(1, 10, (users, resources)) / 10.0
        demands /= demands.max(axis=1, keepdims=True)
        levels, first = stack(demands.tolist(), [float(k) for k in range(1, users + 1)])
        shares = np.zeros(users)
        for k, (level, start) in enumerate(zip(levels, first, strict=True)):
            assert (shares[start:k] <= level).all(), seed
            shares[start : k + 1] = level


def ratios(needs):
    """Level of the cautious LP over static DRF's at each step, exactly; needs are d̂ in Fractions, weights 1."""
    n = len(needs)
    levels, _ = cautious_closed_form(needs, [Fraction(k) for k in range(1, n + 1)], Fraction(n))
    quotients = []
    for k in range(1, n + 1):
        static = Fraction(k, n) / max(
            sum(row[r] for row in needs[:k]) for r in range(len(needs[0]))
        )
        quotients.append(Fraction(levels[k - 1]) / n / static)
    return quotients


@pytest.mark.parametrize("resources", range(1, 9))
@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 8, 15, 40])
def test_the_bound_is_attained_where_each_user_has_a_resource_of_its_own(resources, horizon):
    quotients = ratios(tight(resources, horizon))
    q = min(resources, (horizon + 1) // 2)
    assert min(quotients) == quotients[q - 1] == bound(resources, horizon)
    # with positive demands it is approached
    nearly = ratios(tight(resources, horizon, Fraction(1, 10**9)))[q - 1]
    assert (
        bound(resources, horizon)
        <= nearly
        <= bound(resources, horizon) * (1 + Fraction(resources, 10**9))
    )


@settings(max_examples=many(150), deadline=None)
@given(st.data())
def test_the_bound_is_never_beaten(data):
    resources, horizon = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 12))
    entry = st.one_of(
        st.sampled_from([Fraction(0), Fraction(1)]), st.fractions(0, 1, max_denominator=20)
    )
    needs = []
    for _ in range(horizon):
        row = data.draw(st.lists(entry, min_size=resources, max_size=resources))
        row[data.draw(st.integers(0, resources - 1))] = Fraction(1)
        needs.append(row)
    assert min(ratios(needs)) >= bound(resources, horizon)


RULES = {
    "dynamic-drf": lambda needs, parts, horizon: stack(needs, parts),
    "cautious-lp": cautious_closed_form,
}


def shares(rule, demands, weights, horizon):
    """What each user's share is worth after each step: rows of (place → dominant share), in parts, exactly."""
    needs = [[w * d for d in row] for row, w in zip(demands, weights, strict=True)]
    parts = [sum(weights[: k + 1]) for k in range(len(weights))]
    levels, first = RULES[rule](needs, parts, horizon)
    table, step_levels = [], []
    for k in range(len(levels)):
        step_levels = [*step_levels, Fraction(0)]
        step_levels = step_levels[: first[k]] + [Fraction(levels[k])] * (k + 1 - first[k])
        table.append([level * w for level, w in zip(step_levels, weights, strict=False)])
    return table


def scaled(row):
    return [Fraction(entry) / max(row) for entry in row]


@pytest.mark.parametrize("rule", list(RULES))
@settings(max_examples=many(150), deadline=None)
@given(data=st.data())
def test_neither_lies_nor_coming_late_pay_at_any_step(rule, data):
    """Zero demands, weights and users who do not come included; both at once, and in rationals: no tolerance."""
    count, resources = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3))
    row = st.lists(st.integers(0, 4), min_size=resources, max_size=resources).filter(any)
    demands = [scaled(data.draw(row)) for _ in range(count)]
    weights = [Fraction(data.draw(st.integers(1, 3))) for _ in range(count)]
    horizon = sum(weights) + data.draw(st.integers(0, 3))
    user = data.draw(st.integers(0, count - 1))
    place = data.draw(st.integers(user, count - 1))
    claimed = scaled(data.draw(row))
    usable_part = min(c / d for c, d in zip(claimed, demands[user], strict=True) if d > 0)
    order = [n for n in range(count) if n != user]
    order.insert(place, user)
    claims = [claimed if n == user else demands[n] for n in order]
    honest = shares(rule, demands, weights, horizon)
    lying = shares(rule, claims, [weights[n] for n in order], horizon)
    for step in range(place, count):
        assert lying[step][place] * usable_part <= honest[step][user]
