"""Every fixed point of PS-DSF has the sharing incentive (proved in docs/results.md), whatever led to it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.optimize import linprog

import fairlp
import per_server_oracle as oracle
from fairlp import Instance, examples
from fairlp.mechanisms.per_server.best_response import best_response
from fairlp.mechanisms.per_server.market import PerServerMarket
from fairlp.tolerances import AGREEMENT
from instances import random_instance
from profiles import many

DIVISIONS = ["rdm", "tdm"]


def worst(instance, totals):
    """The smallest of tasks over what the part of every server would run (or all tasks), by plain loops."""
    gamma, phi = instance.gamma().tolist(), instance.weights.tolist()
    worst_ratio = np.inf
    for n, total in enumerate(totals):
        due = min(phi[n] / sum(phi) * sum(gamma[n]), instance.task_limits[n])
        if due > 0:
            worst_ratio = min(worst_ratio, total / due)
    return worst_ratio


@pytest.mark.parametrize("division", DIVISIONS)
@settings(max_examples=many(60), deadline=None)
@given(seed=st.integers(0, 10**9))
def test_fixed_points_from_anywhere_in_any_order(division, seed):
    """Sweeps from random tasks, servers in random order: under resource division they end at different points."""
    rng = np.random.default_rng(seed)
    instance = random_instance(seed)
    assume(instance.gamma().max() > 0)
    order = rng.permutation(len(instance.servers))
    shuffled = Instance.from_arrays(
        instance.demands,
        (instance.capacities * instance.counts[:, None])[order],
        weights=instance.weights,
        eligible=instance.eligible[:, order],
        task_limits=instance.task_limits,
    )
    gamma = shuffled.gamma()
    start = gamma * rng.dirichlet(np.ones(len(gamma)), gamma.shape[1]).T
    total = start.sum(axis=1)
    many_tasks = total > shuffled.task_limits
    start[many_tasks] *= (shuffled.task_limits[many_tasks] / total[many_tasks])[:, None]
    settled = best_response(PerServerMarket.of(shuffled, division), start=start)
    assume(settled.converged)
    assert oracle.feasible(shuffled, settled.tasks.tolist(), division)
    assert fairlp.per_server.check(shuffled, settled.tasks, division).holds
    assert worst(shuffled, settled.tasks.sum(axis=1)) >= 1 - AGREEMENT


@pytest.mark.parametrize("method", ["algorithm-1", "distributed", "sweeps", "milp"])
@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("seed", range(many(4)))
def test_fixed_points_of_every_method(method, division, seed):
    instance = random_instance(seed, limits=False, servers=2)
    if not instance.gamma().any():
        pytest.skip("nobody can run anything")
    options = {"clock_seed": seed} if method == "distributed" else {}
    allocation = fairlp.allocate(instance, f"psdsf-{division}", method=method, **options)
    assert worst(instance, allocation.totals) >= 1 - AGREEMENT
    audit = fairlp.audit(instance, allocation, "sharing incentive").iloc[0]
    assert audit.holds is True


def pieces(instance):
    """Theorem 1 with every guess of the bottlenecks and of who runs where: polytopes that hold all fixed points.

    Each is (equal rows, right sides, rows ≤ 0) over x[n,i] as they lie in memory; capacities come
    beside."""
    gamma, need, capacity = oracle.alone(instance)
    users, servers = range(len(gamma)), range(len(capacity))
    pairs = [(n, i) for n in users for i in servers if gamma[n][i] > 0]
    place = {(n, i): n * len(capacity) + i for n in users for i in servers}
    phi = instance.weights.tolist()
    size = len(gamma) * len(capacity)

    def level(n, i):
        row = np.zeros(size)
        row[[place[n, j] for j in servers]] = 1 / (phi[n] * gamma[n][i])
        return row

    resources = [[r for r, d in enumerate(need[n][i]) if d > 0] for n, i in pairs]
    for support in product([0, 1], repeat=len(pairs)):
        runs = {pair for pair, is_support in zip(pairs, support, strict=True) if is_support}
        for guess in product(*resources):
            equal, right, below = [], [], []
            for (n, i), r in zip(pairs, guess, strict=True):
                row = np.zeros(size)
                for m in users:
                    row[place[m, i]] = need[m][i][r] / capacity[i][r]
                equal.append(row)
                right.append(1.0)
                below += [
                    level(m, i) - level(n, i)
                    for m, j in runs
                    if j == i and m != n and need[m][i][r] > 0
                ]
            for pair, index in place.items():
                if pair not in runs:
                    equal.append(np.eye(size)[index])
                    right.append(0.0)
            yield np.array(equal), np.array(right), np.array(below).reshape(-1, size)


def smallest_share(instance):
    """The smallest that a user's tasks over its due are in any fixed point at all, and how many pieces there are."""
    users, servers = instance.gamma().shape
    rows, right = [], []
    for i in range(servers):
        for r in range(len(instance.resources)):
            row = np.zeros((users, servers))
            row[:, i] = instance.demands[:, r] / instance.capacities[i, r]
            rows.append(row.ravel())
            right.append(1.0)
    due = instance.weights / instance.weights.sum() * instance.gamma().sum(axis=1)
    least, count = np.inf, 0
    for equal, values, below in pieces(instance):
        for n in range(users):
            cost = np.zeros((users, servers))
            cost[n] = 1 / due[n]
            optimum = linprog(
                cost.ravel(),
                np.vstack([rows, below]),
                np.append(right, np.zeros(len(below))),
                equal,
                values,
            )
            if optimum.status != 0:
                break
            count += 1
            least = min(least, optimum.fun)
    return least, count


SMALL = [
    *(
        Instance.from_arrays(
            rng.integers(0 if seed % 2 else 1, 4, (2, 2)) + np.eye(2)[rng.permutation(2)],
            rng.integers(2, 9, (2, 2)),
            weights=rng.integers(1, 4, 2),
        )
        for seed in range(many(6))
        for rng in [np.random.default_rng(seed)]
    ),
    examples.load("two-servers"),
    Instance.from_arrays([[1, 2], [2, 1]], [[3, 3], [3, 3]]),
]


@pytest.mark.slow
@pytest.mark.parametrize("instance", SMALL, ids=range(len(SMALL)))
def test_all_fixed_points_of_small_instances(instance):
    """Every bottleneck and every support is guessed: no fixed point, found by a method or not, gives anyone less.

    Under time division the totals are unique, so that there is nothing to enumerate.
    """
    least, count = smallest_share(instance)
    assert count > 0 and least >= 1 - AGREEMENT
    assert worst(instance, fairlp.allocate(instance, "psdsf-rdm").totals) >= least - AGREEMENT


def test_the_part_of_every_server_can_be_all_there_is():
    """The bound is tight: two equal users; and an allocation that is no fixed point may be below it."""
    instance = Instance.from_arrays([[1, 2], [1, 2]], [[3, 6], [5, 4]])
    assert smallest_share(instance)[0] == pytest.approx(1, abs=AGREEMENT)
    small = fairlp.counterexample("tsf", "sharing incentive")
    assert worst(small, fairlp.allocate(small, "tsf").totals) < 1 - 1e-3
    assert worst(small, fairlp.allocate(small, "psdsf-rdm").totals) >= 1 - AGREEMENT
