"""Quanta in the order of gaps (Dolev et al., §6): a slow oracle in fractions, and who may complain."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Instance
from fairlp_research.simulation import Workload, simulate
from fairlp_research.simulation.experiments import distances, mean_tasks
from profiles import many

GAPS = ("smallest-gap", "largest-gap")


def served(demands, capacity, weights, policy, quanta):
    """Tasks of each user after so many quanta of length 1, by the rule, in fractions."""
    users, devices = range(len(demands)), range(len(capacity))
    entitled = [Fraction(w, sum(weights)) for w in weights]
    tasks, lacked = [0] * len(demands), [False] * len(capacity)

    def rank(n, quantum, bottlenecks):
        gaps = [
            1 - Fraction(tasks[n] * demands[n][r], capacity[r]) / (entitled[n] * (quantum + 1))
            for r in devices
            if bottlenecks[r] and demands[n][r]
        ]
        gap = (min if policy == "smallest-gap" else max)(gaps) if gaps else Fraction(1)
        return (-max(gap, Fraction(0)), tasks[n] / entitled[n], n)

    for quantum in range(quanta):
        mean = [
            Fraction(sum(tasks[n] * demands[n][r] for n in users), capacity[r] * max(quantum, 1))
            for r in devices
        ]
        bottlenecks = [quantum > 0 and m >= Fraction(95, 100) for m in mean]
        if not any(bottlenecks):
            bottlenecks = list(lacked)
        free = list(capacity)
        while True:
            fitting = [n for n in users if all(demands[n][r] <= free[r] for r in devices)]
            if not fitting:
                break

            n = min(fitting, key=lambda n, t=quantum, b=bottlenecks: rank(n, t, b))
            tasks[n] += 1
            free = [f - d for f, d in zip(free, demands[n], strict=True)]
        for r in devices:
            lacked[r] |= any(demands[n][r] > free[r] for n in users)
    return tasks


@settings(max_examples=many(120), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(GAPS))
def test_quanta_equal_the_rule_in_fractions(seed, policy):
    rng = np.random.default_rng(seed)
    users, devices = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    demands = rng.integers(0, 6, (users, devices))
    demands[~demands.any(axis=1), 0] = 1
    capacity = rng.integers(6, 40, devices)
    weights = rng.integers(1, 5, users)
    quanta = int(rng.integers(1, 12))
    instance = Instance.from_arrays(demands, [capacity], weights=weights)
    expected = served(demands.tolist(), capacity.tolist(), weights.tolist(), policy, quanta)
    assert (mean_tasks(instance, policy, quanta=quanta) * quanta).tolist() == pytest.approx(
        expected
    )


TWO_DEVICES = Instance.from_arrays([[1, 0], [0, 1], [2, 1]], [[100, 100]], weights=[1, 1, 3])


def test_the_smallest_gap_ends_without_justified_complaints():
    tasks = mean_tasks(TWO_DEVICES, "smallest-gap", quanta=60)
    assert tasks.tolist() == [20, 60, 40]
    assert fairlp.complaints.check(TWO_DEVICES, tasks)


def test_the_largest_gap_leaves_the_first_user_with_a_justified_complaint():
    """It is entitled to 20; the third is promoted for its 40 % of the second device."""
    tasks = mean_tasks(TWO_DEVICES, "largest-gap", quanta=60)
    assert tasks.tolist() == pytest.approx([100 / 7, 400 / 7, 300 / 7], abs=0.1)
    verdict = fairlp.complaints.check(TWO_DEVICES, tasks, tolerance=0.01)
    assert verdict.table["complains"].tolist() == [True, False, False]


def test_the_smallest_gap_misses_where_no_device_stays_saturated():
    instance = Instance.from_arrays(
        [[3, 0, 2], [5, 5, 1], [3, 0, 4], [1, 2, 5]], [[100] * 3], weights=[2, 3, 1, 3]
    )
    tasks = mean_tasks(instance, "smallest-gap", quanta=100)
    assert not fairlp.complaints.check(instance, tasks, tolerance=0.06)


def test_placements_are_never_above_the_optimum():
    table = distances(4, users=2, servers=2, seed=3)
    optimum = table.xs("drfh, whole", level="policy")
    assert (optimum[["smallest", "tasks"]] == 1).all(axis=None) and optimum.leximin.all()
    assert table.smallest.max() <= 1 + 1e-12
    assert (table["first"][table.leximin] == 2).all() and table.proved.all()


def test_a_gap_is_at_the_end_of_the_users_own_next_task():
    """One slot; ann's tasks take 1 second, bob's 4; each is entitled to a half.

    ann begins, bob is next: 1 to 5. Then ann has had 1 of 3, bob 4 of 4.5; at 6 ann 2 of 3.5 and bob
    4 of 5. At 7 ann has had 3 of the 4 that are due at 8, bob 4 of the 5.5 that are due at 11: bob
    lacks 3/11 and ann 1/4.
    """
    jobs = pd.DataFrame(
        {"user": ["ann"] * 4 + ["bob"] * 2, "arrival": 0, "tasks": 1, "cpu": 1,
         "duration": [1] * 4 + [4] * 2}
    )  # fmt: skip
    slot = Instance.from_arrays([[1]], [[1]], resources=["cpu"])
    for policy in GAPS:
        result = simulate(slot, Workload.of(jobs, ["cpu"]), policy, every=1)
        assert result.jobs.finish.tolist() == [1, 6, 7, 12, 5, 11]
