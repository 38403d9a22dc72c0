"""Given rates γ[n,i]: tasks are lighter or heavier by server, so that alone on one a user runs exactly its rate."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp import Index, Instance, Model, examples
from profiles import many

DEFINED = ("cdrf", "tsf", "naive-drf")


def with_rates(seed, *, servers=None):
    """A random instance whose rates are other than computed, some of them 0, some users proportional."""
    rng = np.random.default_rng(seed)
    n, k, r = rng.integers(1, 6), servers or rng.integers(1, 5), rng.integers(1, 4)
    demands, capacities = (
        rng.integers(1, 6, (n, r)).astype(float),
        rng.integers(5, 40, (k, r)).astype(float),
    )
    demands[rng.random((n, r)) < 0.3] = 0
    demands[np.arange(n), rng.integers(0, r, n)] += 1
    rates = rng.integers(0, 5, (n, k)) * rng.choice([0.25, 1.0, 3.0], (n, k))
    if k > 1 and rng.random() < 0.5:
        capacities[1], rates[:, 1] = capacities[0], rates[:, 0]
    if n > 1 and rng.random() < 0.5:
        factor = rng.integers(1, 4)
        demands[1], rates[1] = demands[0] * factor, rates[0] / factor
    return Instance.from_arrays(
        demands,
        capacities,
        rates=rates,
        counts=rng.integers(1, 4, k),
        weights=rng.integers(1, 4, n),
        task_limits=np.where(rng.random(n) < 0.3, rng.integers(0, 9, n), np.inf),
    )


def needs(demands, capacities, rates, counts):
    """What a task takes of all servers of a row, as a part of each resource: alone, γ tasks use up the tightest one."""
    out = np.zeros((len(demands), len(capacities), len(capacities[0])))
    for n, demand in enumerate(demands):
        for i, capacity in enumerate(capacities):
            if rates[n][i] > 0:
                shares = np.array(
                    [d / c if d > 0 else 0.0 for d, c in zip(demand, capacity, strict=True)]
                )
                out[n, i] = shares / shares.max() / (rates[n][i] * counts[i])
    return out


def leximin(need, due, limits):
    """Totals of the leximin of x[n]/due[n] where all of need[n,i,r]·x[n,i] may add up to 1, proved in rationals."""
    able_users = np.flatnonzero(need.any(axis=(1, 2)) & (limits > 0))
    totals = np.zeros(len(need))
    if able_users.size:
        n, i, r = (
            Index(symbol, range(size))
            for symbol, size in zip("nir", need[able_users].shape, strict=True)
        )
        model = Model("scaled needs", indices=(n, i, r))
        x = model.variable("x", n, i, where=need[able_users].any(axis=2))
        model.constraint(
            "pool", (model.parameter("need", (n, i, r), need[able_users]) * x).sum(n) <= 1
        )
        finite = np.isfinite(limits[able_users])
        limit_parameter = model.parameter("most", n, np.where(finite, limits[able_users], 0.0))
        model.constraint("limit", x.sum(i) <= limit_parameter, where=finite)
        answer = fairlp.leximin(model, x.sum(i), weights=due[able_users])
        assert answer.certify(exact=True)
        totals[able_users] = answer.levels * due[able_users]
    return totals


def arrays(instance):
    return (
        instance.demands.tolist(),
        instance.capacities.tolist(),
        instance.rates.tolist(),
        instance.counts.tolist(),
    )


@pytest.mark.parametrize("mechanism", ["cdrf", "tsf"])
@pytest.mark.parametrize("seed", range(many(40)))
def test_the_leximin_is_that_of_the_scaled_demands(mechanism, seed):
    instance = with_rates(seed)
    alone = (instance.rates * instance.counts).sum(axis=1)
    expected = leximin(needs(*arrays(instance)), instance.weights * alone, instance.task_limits)
    for options in ({}, {"method": "lp", "merge": False}, {"method": "interior-point"}):
        allocation = fairlp.allocate(instance, mechanism, **options)
        np.testing.assert_allclose(
            allocation.totals, expected, rtol=1e-6, atol=1e-9, err_msg=str(options)
        )
        assert allocation.residual <= 1e-9
    assert allocation.certify()


@pytest.mark.parametrize("seed", range(many(40)))
def test_naive_drf_shares_each_server_by_its_rates(seed):
    instance = with_rates(seed)
    need = needs(*arrays(instance))
    gamma = instance.rates * instance.counts
    shares = np.divide(
        gamma, gamma.sum(axis=1, keepdims=True), out=np.zeros_like(gamma), where=gamma > 0
    )
    expected = np.zeros_like(gamma)
    for i in range(gamma.shape[1]):
        finite = np.isfinite(instance.task_limits)
        limits = np.where(finite, np.where(finite, instance.task_limits, 0) * shares[:, i], np.inf)
        expected[:, i] = leximin(need[:, [i]], instance.weights * gamma[:, i], limits)
    for method in ("rounds", "lp"):
        allocation = fairlp.allocate(instance, "naive-drf", method=method)
        np.testing.assert_allclose(
            allocation.tasks_array, expected, rtol=1e-6, atol=1e-9, err_msg=method
        )
        assert allocation.residual <= 1e-9
    levels = fairlp.formulate(instance, "naive-drf").solve().values["t"].to_numpy()
    can_run = (gamma > 0) & (instance.task_limits > 0)[:, None]
    level_bounds = np.where(
        can_run.any(axis=0), np.where(can_run, 0.0, np.inf).min(axis=0, initial=np.inf), 0.0
    )
    for i in range(gamma.shape[1]):
        runners = can_run[:, i]
        if runners.any():
            level_bounds[i] = (
                expected[runners, i] / (instance.weights * gamma[:, i])[runners]
            ).min()
    np.testing.assert_allclose(levels, level_bounds, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("mechanism", DEFINED)
@pytest.mark.parametrize("seed", range(many(20)))
def test_on_one_server_every_method_agrees(mechanism, seed):
    instance = with_rates(1000 + seed, servers=1)
    assert fairlp.validate(instance, mechanism)["agrees"].all()
    alone = instance.select_users(np.array([0])).replace(task_limits=None)
    assert fairlp.allocate(alone, mechanism).totals.tolist() == pytest.approx(
        alone.gamma()[0].tolist(), rel=1e-9
    )


@pytest.mark.parametrize("mechanism", DEFINED)
def test_rates_that_are_the_computed_ones_change_nothing(mechanism):
    plain = examples.load("khamse-ashari-figure-1").replace(eligible=None)
    same_rates = plain.replace(rates=plain.gamma() / plain.counts)
    expected = fairlp.allocate(plain, mechanism).totals
    assert fairlp.allocate(same_rates, mechanism).totals.to_numpy() == pytest.approx(
        expected.to_numpy(), rel=1e-9
    )
