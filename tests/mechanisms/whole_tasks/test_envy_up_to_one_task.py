"""Envy up to one task has two readings: sequential minmax keeps one, progressive filling the other, neither both."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Instance
from profiles import many

OWN, OTHER = "envy-free up to one own task", "envy-free up to one task of the other"
KEEPS = {"sequential-minmax": OWN, "drf-discrete": OTHER}


def drawn(seed):
    """2 to 5 users of whole demands, some of them 0, a third with task limits; equal weights."""
    rng = np.random.default_rng(seed)
    count, resources = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    demands = rng.integers(0 if seed % 2 else 1, 10, (count, resources))
    demands[np.arange(count), rng.integers(0, resources, count)] += 1
    limits = rng.integers(1, 9, count).astype(float) if seed % 3 == 0 else None
    return Instance.from_arrays(demands, [rng.integers(10, 61, resources)], task_limits=limits)


def could(bundle, demand, limit):
    return min(*(b // d for b, d in zip(bundle, demand, strict=True) if d > 0), limit, float("inf"))


def envious(instance, tasks, own_tasks, other):
    """Pairs that envy by more than a task, in whole numbers: n could run more than x[n] + own with m's, less other."""
    demands, limits = instance.demands.astype(int).tolist(), instance.task_limits.tolist()
    envy = []
    for n, tasks_held in enumerate(tasks):
        for m, other_tasks in enumerate(tasks):
            bundle = [max(other_tasks - other, 0) * d for d in demands[m]]
            if n != m and could(bundle, demands[n], limits[n]) > tasks_held + own_tasks:
                envy.append((n, m))
    return envy


@settings(max_examples=many(120), deadline=None)
@given(st.integers(0, 10**9))
def test_each_keeps_its_own(seed):
    instance = drawn(seed)
    for mechanism, property_name in KEEPS.items():
        for ties in ("larger", "smaller", "index"):
            allocation = fairlp.allocate(instance, mechanism, ties=ties)
            tasks = allocation.totals.astype(int).tolist()
            assert not envious(
                instance,
                tasks,
                own_tasks=int(property_name == OWN),
                other=int(property_name == OTHER),
            )
            assert fairlp.audit(instance, allocation, property_name).holds.iloc[0] is True


@settings(max_examples=many(100), deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 3), st.integers(0, 3))
def test_audits_agree_with_plain_loops(seed, first, second):
    instance = drawn(seed)
    tasks = np.zeros((len(instance.users), 1))
    tasks[:2, 0] = first, second
    findings = fairlp.audit(instance, tasks, [OWN, OTHER], whole_tasks=True)
    assert findings.holds[OWN] == (not envious(instance, tasks[:, 0].astype(int).tolist(), 1, 0))
    assert findings.holds[OTHER] == (not envious(instance, tasks[:, 0].astype(int).tolist(), 0, 1))


def test_neither_keeps_the_others():
    broken = {"sequential-minmax": 0, "drf-discrete": 0}
    for seed in range(many(300)):
        instance = drawn(seed)
        for mechanism, property_name in KEEPS.items():
            tasks = fairlp.allocate(instance, mechanism).totals.astype(int).tolist()
            broken[mechanism] += bool(
                envious(
                    instance,
                    tasks,
                    own_tasks=int(property_name == OTHER),
                    other=int(property_name == OWN),
                )
            )
    assert broken["sequential-minmax"] > 0 and broken["drf-discrete"] > 0
    four = Instance.from_arrays(
        [[1], [3]], [[4]]
    )  # A has all four units, and three of them are a task of B
    findings = fairlp.audit(four, fairlp.allocate(four, "sequential-minmax"), [OWN, OTHER])
    assert (
        findings.holds.tolist() == [True, False]
        and "the bundle of 'user1', less one task of it" in findings.witness[OTHER]
    )
    assert (
        fairlp.counterexample("sequential-minmax", OTHER).demands.tolist() == four.demands.tolist()
    )
