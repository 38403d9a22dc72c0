"""Karma against the loop of its paper's Algorithm 1, slice by slice, and what the paper claims of it."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Instance
from fairlp.errors import NotDefinedError
from profiles import many


def quantum(demand, credits, slices, alpha):
    """Algorithm 1 of Vuppalapati et al., as it is written: one slice at a time, ties by position."""
    count = len(demand)
    guaranteed = int(alpha * slices // count)
    shared = slices - count * guaranteed
    credits = [balance + shared // count for balance in credits]
    donated = [max(0, guaranteed - slices_wanted) for slices_wanted in demand]
    grants = [min(slices_wanted, guaranteed) for slices_wanted in demand]
    while True:
        borrowers = [n for n in range(count) if grants[n] < demand[n] and credits[n] > 0]
        donors = [n for n in range(count) if donated[n] > 0]
        if not borrowers or not (donors or shared):
            return grants, credits
        richest = max(borrowers, key=lambda n: credits[n])
        if donors:
            poorest = min(donors, key=lambda n: credits[n])
            credits[poorest] += 1
            donated[poorest] -= 1
        else:
            shared -= 1
        grants[richest] += 1
        credits[richest] -= 1


def instance_of(demand, slices, size=1.0):
    return Instance.from_arrays([[size]] * len(demand), [[size * slices]], task_limits=demand)


def run(demands, slices, **options):
    """Allocations of one quantum after the other, each with the state of the last."""
    state = None
    for demand in demands:
        answer = fairlp.allocate(instance_of(demand, slices), "karma", state=state, **options)
        state = answer.state
        yield answer


@settings(max_examples=many(80), deadline=None)
@given(st.integers(0, 10**9))
def test_every_quantum_is_that_of_the_loop(seed):
    rng = np.random.default_rng(seed)
    count, slices = int(rng.integers(1, 7)), int(rng.integers(0, 25)) + 1
    alpha, first = rng.choice([0.0, 0.3, 0.5, 0.7, 1.0]), int(rng.choice([0, 1, 3, 10, 10**6]))
    demands = rng.integers(0, 2 * slices // count + 3, (4, count))
    credits = [first] * count
    for demand, allocation in zip(
        demands, run(demands, slices, alpha=alpha, credits=first), strict=True
    ):
        grants, credits = quantum(demand.tolist(), credits, slices, Fraction(str(alpha)))
        assert allocation.totals.tolist() == grants and allocation.state.tolist() == credits
        assert allocation.residual == 0 and allocation.state.index.equals(allocation.totals.index)


@settings(max_examples=many(40), deadline=None)
@given(st.integers(0, 10**9))
def test_nothing_is_left_that_somebody_wants_and_credits_are_conserved(seed):
    """Pareto efficiency, where nobody runs out of credits; a shared slice takes a credit that nobody earns."""
    rng = np.random.default_rng(seed)
    count, fair = int(rng.integers(2, 7)), int(rng.integers(1, 4)) * 2
    slices, before = count * fair, count * 10**12
    demands = rng.integers(0, 2 * fair + 2, (5, count))
    for demand, allocation in zip(demands, run(demands, slices), strict=True):
        totals = allocation.totals.to_numpy()
        assert (
            totals.sum() == min(demand.sum(), slices)
            and (totals >= np.minimum(demand, fair // 2)).all()
        )
        donated = np.maximum(fair // 2 - demand, 0).sum()
        borrowed = totals.sum() - np.minimum(demand, fair // 2).sum()
        after = int(allocation.state.sum())
        assert after - before == count * (fair // 2) - max(borrowed - donated, 0)
        before = after
    assert fairlp.audit(allocation.instance, allocation, "Pareto-optimal")["holds"].all()


def totals_of(demands, slices, mechanism, **options):
    if mechanism == "karma":
        return sum(allocation.totals.to_numpy() for allocation in run(demands, slices, **options))
    return sum(
        fairlp.allocate(instance_of(demand, slices), mechanism).totals.to_numpy()
        for demand in demands
    )


@pytest.mark.slow
def test_memory_evens_out_what_max_min_fairness_does_not():
    """Users of one mean demand, their fair share, in bursts of 2, 4 or 8: which part of its demand each of them has.

    Max-min fairness of every quantum alone gives those in small bursts all, those in large ones
    half."""
    rng, bursts = np.random.default_rng(0), np.array([2, 2, 4, 4, 8, 8])
    demands = np.where(rng.random((200, 6)) < 2 / bursts, bursts, 0)
    parts = {
        name: totals_of(demands, 12, name) / demands.sum(axis=0)
        for name in ("karma", "drf-discrete")
    }
    evenness = {name: user_totals.min() / user_totals.max() for name, user_totals in parts.items()}
    assert evenness["karma"] > 0.8 and evenness["drf-discrete"] < 0.6


@pytest.mark.parametrize("alpha", [0, 0.5])
def test_asking_for_more_than_one_needs_does_not_pay_in_the_next_quanta(alpha):
    """Online strategy-proofness: with a demand too high now, and the truth later, nobody has more useful slices.

    Every lie of every user in the first of three quanta, on small instances.
    """
    rng = np.random.default_rng(5)
    for _ in range(many(24)):
        demands = rng.integers(0, 5, (3, 3))
        truth = [allocation.totals.to_numpy() for allocation in run(demands, 6, alpha=alpha)]
        for user, excess in itertools.product(range(3), (1, 2, 6)):
            lied = demands.copy()
            lied[0, user] += excess
            lies = [
                min(a.totals.iloc[user], d[user])
                for a, d in zip(run(lied, 6, alpha=alpha), demands, strict=True)
            ]
            assert sum(lies) <= sum(grants[user] for grants in truth)


def test_asking_for_more_than_one_needs_may_pay_a_slice():
    """The paper's claim over several quanta holds but for rounding: one slice of twelve, after five quanta.

    A slice that is asked for and not needed costs the liar a credit, and another borrower keeps one. The order of
    credits in later quanta is then another, and ties end otherwise.
    """
    truth = np.array([[4, 2, 0, 9], [0, 3, 2, 9], [1, 1, 8, 1], [7, 5, 7, 5], [7, 7, 3, 1]])
    lie = truth + np.array([1, 0, 0, 0]) * (np.arange(5) == 0)[:, None]
    useful_slices = []
    for demands in (truth, lie):
        credits = [1000] * 4
        total = 0
        for demand, needed in zip(demands.tolist(), truth.tolist(), strict=True):
            slices, credits = quantum(demand, credits, 12, 1)
            total += min(slices[0], needed[0])
        useful_slices.append(total)
        user_grants = [
            min(allocation.totals.iloc[0], needed[0])
            for allocation, needed in zip(
                run(demands, 12, alpha=1, credits=1000), truth, strict=True
            )
        ]
        assert sum(user_grants) == total
    assert useful_slices == [12, 13]


def test_who_joins_has_the_average_and_who_leaves_takes_its_credits():
    first = fairlp.allocate(instance_of([6, 0, 0], 6), "karma", credits=6)
    assert first.totals.tolist() == [6, 0, 0] and first.state.to_dict() == {
        "user1": 2,
        "user2": 8,
        "user3": 8,
    }
    later = Instance.from_arrays([[1], [1]], [[6]], users=["user3", "new"], task_limits=[0, 0])
    answer = fairlp.allocate(later, "karma", state=first.state)
    assert answer.state.to_dict() == {
        "user3": 10,
        "new": 8,
    }  # of 8 and 6, and 2 credits each for four shared slices
    assert answer.notes == (
        "users 'new' joined and have the average of 6 credits",
        "users 'user1', 'user2' left, and their credits with them",
    )
    assert fairlp.allocate(later, "karma", state=first.state.iloc[::-1]).state.equals(
        answer.state
    )  # by label


def test_slices_are_counted_as_decimals_and_may_need_several_resources():
    """0.3 is three times 0.1, and α = 0.29 of 100 slices is 29, which floats call 28.999999999999996."""
    assert fairlp.allocate(instance_of([9], 3, 0.1), "karma").totals.tolist() == [3]
    allocation = fairlp.allocate(instance_of([29, 0], 200), "karma", alpha=0.29, credits=0)
    assert allocation.totals.tolist() == [29, 0] and allocation.state.tolist() == [
        71,
        71,
    ]  # nothing is borrowed
    bundle = Instance.from_arrays([[1, 2], [1, 2]], [[8, 9]], task_limits=[None, 1.5])
    assert fairlp.allocate(bundle, "karma").totals.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [1, 2]}, "weights differ"),
        ({"demands": [[1], [2]]}, "a task of user 'user2' is another than one of user 'user1'"),
        ({"counts": [2]}, "one server"),
        ({"rates": [[1], [1]]}, "rates are given"),
    ],
)
def test_what_it_is_not_defined_for(change, message):
    with pytest.raises(NotDefinedError, match=f"karma is not defined here: .*{message}"):
        fairlp.allocate(instance_of([1, 1], 4).replace(**change), "karma")


@pytest.mark.parametrize(("alpha", "guaranteed"), [(0.3, 1), (0.5, 1), (0.8, 2), (1.0, 3)])
def test_what_is_guaranteed_is_the_part_of_an_exact_equal_share(alpha, guaranteed):
    """Of 7 slices for 2 users alpha times 3.5, rounded down: without credits nobody has more."""
    allocation = fairlp.allocate(instance_of([9, 9], 7), "karma", alpha=alpha, credits=0)
    shared = 7 - 2 * guaranteed
    assert allocation.totals.tolist() == [guaranteed + shared // 2] * 2
    for demand in ([9, 9], [0, 9], [1, 2]):
        answer = fairlp.allocate(instance_of(demand, 7), "karma", alpha=alpha, credits=0)
        has, credits = quantum(demand, [0, 0], 7, Fraction(str(alpha)))
        assert answer.totals.tolist() == has and answer.state.tolist() == credits
