"""Proved in docs/results.md, tried here in rationals: the cautious LP's ratio, and that neither lies nor delay pay."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairlp
from arrival_instances import random_arrivals
from fairlp import Instance
from fairlp.auditing import arrivals as audits
from fairlp.mechanisms.arrivals.algorithms import cautious_closed_form, stack
from fairlp.tolerances import AGREEMENT
from profiles import many


def bound(resources, horizon):
    """n/(q(n − q + 1)), q = min(m, ⌊(n + 1)/2⌋)."""
    q = min(resources, (horizon + 1) // 2)
    return Fraction(horizon, q * (horizon - q + 1))


def ratios(needs):
    """Level of the cautious LP over static DRF's at each step, exactly; needs are d̂ in Fractions, weights 1."""
    n = len(needs)
    levels, _ = cautious_closed_form(needs, [Fraction(k) for k in range(1, n + 1)], Fraction(n))
    found = []
    for k in range(1, n + 1):
        static = Fraction(k, n) / max(
            sum(row[r] for row in needs[:k]) for r in range(len(needs[0]))
        )
        found.append(Fraction(levels[k - 1]) / n / static)
    return found


def tight(resources, horizon, other=Fraction(0)):
    """Each of the first users needs a resource of its own, and ``other`` of the rest; the ratio is least at step q."""
    own = [k % resources for k in range(horizon)]
    return [[Fraction(1) if r == k else other for r in range(resources)] for k in own]


@pytest.mark.parametrize("resources", range(1, 9))
@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 8, 15, 40])
def test_the_bound_is_attained_where_each_user_has_a_resource_of_its_own(resources, horizon):
    found = ratios(tight(resources, horizon))
    q = min(resources, (horizon + 1) // 2)
    assert min(found) == found[q - 1] == bound(resources, horizon)
    # with positive demands it is approached
    nearly = ratios(tight(resources, horizon, Fraction(1, 10**9)))[q - 1]
    assert (
        bound(resources, horizon)
        <= nearly
        <= bound(resources, horizon) * (1 + Fraction(resources, 10**9))
    )


@pytest.mark.parametrize(
    ("resources", "horizon", "printed"),
    [(2, 10, 0.55556), (4, 20, 0.29412), (4, 200, 0.25381), (8, 65, 0.14009)],
)
def test_the_bound_for_smallest_share_and_sum_alike(resources, horizon, printed):
    demands = np.array(tight(resources, horizon, Fraction(1, 10**9)), dtype=float)
    found = fairlp.allocate(
        Instance.from_arrays(demands, [np.ones(resources)]), "cautious-lp"
    ).competitive()
    assert float(bound(resources, horizon)) == pytest.approx(printed, abs=5e-6)
    assert found.bound.to_numpy() == pytest.approx(
        [float(bound(resources, horizon))] * horizon, rel=AGREEMENT
    )
    for ratio in ("cr1", "cr2"):
        assert (
            found[ratio].min() == pytest.approx(printed, abs=5e-6)
            and found[ratio].idxmin() == resources
        )


@settings(max_examples=many(60), deadline=None)
@given(st.integers(0, 10**9))
def test_the_bound_that_the_answer_states_holds_with_weights_and_a_longer_horizon(seed):
    demands, capacities, weights = random_arrivals(seed)
    instance = Instance.from_arrays(demands, [capacities], weights=weights)
    extra = np.random.default_rng(seed).choice([0.0, 0.5, 7.0])
    for mechanism in RULES:
        found = fairlp.allocate(instance, mechanism, horizon=weights.sum() + extra).competitive()
        assert (found.cr2 >= found.bound * (1 - AGREEMENT)).all()


def test_a_short_horizon_has_its_worst_step_before_the_last_resource():
    """n/(m(n − m + 1)) alone would say 1 for eight users and resources; at step 4 the ratio is 0.4."""
    assert bound(8, 8) == min(ratios(tight(8, 8))) == Fraction(2, 5)


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
    table, now = [], []
    for k in range(len(levels)):
        now = [*now, Fraction(0)]
        now = now[: first[k]] + [Fraction(levels[k])] * (k + 1 - first[k])
        table.append([level * w for level, w in zip(now, weights, strict=False)])
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
    worth = min(c / d for c, d in zip(claimed, demands[user], strict=True) if d > 0)
    order = [n for n in range(count) if n != user]
    order.insert(place, user)
    told = [claimed if n == user else demands[n] for n in order]
    honest = shares(rule, demands, weights, horizon)
    lying = shares(rule, told, [weights[n] for n in order], horizon)
    for step in range(place, count):
        assert lying[step][place] * worth <= honest[step][user]


def game(monkeypatch, weigh):
    """Let the audits run a mechanism that weighs users by what they say, which can be gamed."""
    real = fairlp.allocate

    def gamed(told, name, **options):
        return real(told.derived(weights=weigh(told)), name)

    monkeypatch.setattr(audits, "allocate", gamed)
    instance = Instance.from_arrays(
        [[2, 1], [1, 2], [1, 1]], [[10, 10]], users=["ann", "bob", "cid"]
    )
    return gamed(instance, "dynamic-drf")


def test_a_lie_that_pays_is_found_and_told(monkeypatch):
    result = game(monkeypatch, lambda told: told.demands[:, 0] + 1.0)
    found = fairlp.audit(result.instance, result, "strategy-proof at every step", tries=40).iloc[0]
    assert found.holds is False and found.margin < -AGREEMENT
    assert "more tasks of its own by claiming to need resource1" in found.witness
    liar = next(n for n, name in enumerate(result.instance.users) if repr(name) in found.witness)
    assert not np.array_equal(found.misreport.demands[liar], result.instance.demands[liar])


def test_coming_late_that_pays_is_found_and_told(monkeypatch):
    result = game(monkeypatch, lambda told: 4.0 ** np.arange(len(told.users)))
    found = fairlp.audit(result.instance, result, "late arrival never pays", tries=40).iloc[0]
    assert found.holds is False and "by coming at step" in found.witness
    assert list(found.misreport.users) != list(result.instance.users)


@pytest.mark.parametrize("mechanism", list(RULES))
def test_no_lie_found_is_not_called_proof(mechanism):
    instance = Instance.from_arrays([[2, 1], [1, 2], [1, 1], [3, 1]], [[10, 10]])
    found = fairlp.audit(
        instance, fairlp.allocate(instance, mechanism), list(audits.DYNAMIC), tries=60
    )
    for name in ("strategy-proof at every step", "late arrival never pays"):
        assert (
            found.holds[name] is None
            and found.margin[name] == 0
            and "60 tries" in found.witness[name]
        )
    assert found.holds["envy-free at every step"] is (mechanism == "cautious-lp")
    assert found.holds[["irrevocable", "dynamic sharing incentive", "dynamically envy-free"]].all()
