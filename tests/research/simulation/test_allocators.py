"""Mechanisms that remember, over time: Karma quantum by quantum against a loop in rationals, and one of one's own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Instance
from fairlp.mechanisms.table import OWN
from fairlp.tolerances import VERIFIED
from fairlp_research.simulation import Workload, policies, simulate
from profiles import many


def workload_of(rows):
    return Workload.of(
        pd.DataFrame(rows, columns=["user", "arrival", "tasks", "duration", "cpu"]), ["cpu"]
    )


def pool(slices):
    return Instance.from_arrays([[1]], [[slices]], resources=["cpu"])


def drawn(seed, jobs=8):
    rng = np.random.default_rng(seed)
    rows = [
        (
            "abc"[rng.integers(3)],
            int(rng.integers(0, 12)),
            int(rng.integers(1, 6)),
            int(rng.integers(1, 6)),
            1,
        )
        for _ in range(jobs)
    ]
    return sorted(rows, key=lambda row: row[1])


def by_quanta(rows, share, period):
    """When each job ends: ``share`` says at every quantum how many tasks each user runs; its oldest jobs come first."""
    users = list(dict.fromkeys(user for user, *_ in rows))
    work = [Fraction(tasks * duration) for _, _, tasks, duration, _ in rows]
    ends, moment, grants = [None] * len(rows), Fraction(0), dict.fromkeys(users, Fraction(0))
    while None in ends:
        active = [k for k, end in enumerate(ends) if end is None and rows[k][1] <= moment]
        if active and moment % period == 0:
            requests = {
                user: sum(rows[k][2] for k in active if rows[k][0] == user) for user in users
            }
            grants = dict(zip(users, map(Fraction, share(list(requests.values()))), strict=True))
        remaining, rate = dict(grants), {}
        for k in active:
            rate[k] = min(remaining[rows[k][0]], Fraction(rows[k][2]))
            remaining[rows[k][0]] -= rate[k]
        arrivals = [Fraction(row[1]) for row in rows if row[1] > moment]
        ending = [moment + work[k] / rate[k] for k in active if rate[k]]
        end_of_step = min(
            [*arrivals, *ending, *([(moment // period + 1) * period] if active else [])]
        )
        for k in active:
            work[k] -= rate[k] * (end_of_step - moment)
            if not work[k]:
                ends[k] = end_of_step
        moment = end_of_step
    return ends


def karma_of(count, slices, alpha, first):
    """Karma's loop, with its credits."""
    credits = [first] * count

    def share(demand):
        guaranteed = int(Fraction(str(alpha)) * slices // count)
        free = slices - count * guaranteed
        credits[:] = [balance + free // count for balance in credits]
        donated = [max(0, guaranteed - slices) for slices in demand]
        grants = [min(slices, guaranteed) for slices in demand]
        while True:
            borrowers = [n for n in range(count) if grants[n] < demand[n] and credits[n] > 0]
            donors = [n for n in range(count) if donated[n]]
            if not borrowers or not (donors or free):
                return grants
            if donors:
                poorest = min(donors, key=lambda n: credits[n])
                credits[poorest], donated[poorest] = credits[poorest] + 1, donated[poorest] - 1
            else:
                free -= 1
            richest = max(borrowers, key=lambda n: credits[n])
            grants[richest], credits[richest] = grants[richest] + 1, credits[richest] - 1

    return share


@settings(max_examples=many(80), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([1, 2, 0.5]), st.sampled_from([2, 10**12]))
def test_karma_over_time_is_its_loop_at_every_quantum(seed, period, first):
    rows = drawn(seed)
    count = len({user for user, *_ in rows})
    ends = by_quanta(rows, karma_of(count, 6, 0.5, first), Fraction(period))
    simulation = simulate(
        pool(6), workload_of(rows), "karma", alpha=0.5, credits=first, period=period, every=5
    )
    assert simulation.jobs["finish"].tolist() == pytest.approx(
        [float(end) for end in ends], rel=VERIFIED
    )


@pytest.fixture
def in_turns():
    """Everything goes to the user who has had least so far."""

    def own(instance, state):
        past = (
            np.zeros(len(instance.users))
            if state is None
            else state.reindex(instance.users.labels).to_numpy()
        )
        asking = np.flatnonzero(instance.task_limits > 0)
        tasks = np.zeros(len(past))
        if asking.size:
            n = asking[past[asking].argmin()]
            tasks[n] = min(instance.task_limits[n], instance.gamma()[n, 0])
        return tasks, past + tasks

    yield fairlp.mechanism("in-turns")(own)
    del OWN["in-turns"]


def test_a_mechanism_of_ones_own_may_remember(in_turns):
    jobs = [("ann", 0, 4, 2, 1), ("bob", 0, 4, 2, 1)]
    simulation = simulate(pool(4), workload_of(jobs), in_turns, every=1)
    assert simulation.jobs["finish"].tolist() == [3, 4] and "in-turns" in policies()
    assert simulate(pool(4), workload_of(jobs), in_turns, period=2, every=1).jobs[
        "finish"
    ].tolist() == [2, 4]


@pytest.mark.parametrize("policy", ["drf", "drfh"])
def test_a_user_who_was_away_catches_up(policy):
    """One CPU. ann runs alone from 0 to 4. At 4 both come with 4 seconds of work: bob has had nothing and runs alone
    until 8, then ann until 12. Without a memory both have half of the CPU until 12."""
    jobs = workload_of([("ann", 0, 1, 4, 1), ("ann", 4, 1, 4, 1), ("bob", 4, 1, 4, 1)])
    simulation = simulate(pool(1), jobs, policy, half_life=np.inf, every=1)
    assert simulation.jobs["finish"].tolist() == pytest.approx([4, 12, 8])
    assert simulate(pool(1), jobs, policy, every=1).jobs["finish"].tolist() == pytest.approx(
        [4, 12, 12]
    )


def test_the_past_fades_while_no_user_asks_for_anything():
    """ann has the CPU from 0 to 4. At 24, twenty half-lives later, nothing is left of that: both run half a task at a
    time and end their second of work at 26."""
    jobs = workload_of([("ann", 0, 1, 4, 1), ("ann", 24, 1, 1, 1), ("bob", 24, 1, 1, 1)])
    simulation = simulate(pool(1), jobs, "drf", half_life=1, every=1)
    assert simulation.jobs["finish"].tolist() == pytest.approx([4, 26, 26], rel=1e-5)
