"""Every method of ``njc`` on random instances: fair, optimal, and in agreement with the others."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp import complaints
from fairlp.tolerances import COMPLAINT, CONVEX_COMPLAINT, MARKET, PATH_LIMIT
from instances import random_instance
from profiles import many


def contested(seed, users=8, resources=5, entitled=True):
    """Random requests; some with few resources, small requests, entitlements of very different sizes."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, users + 1)), int(rng.integers(1, resources + 1))
    kind = seed % 4
    table = [
        rng.random((n, m)),
        rng.integers(0, 5, (n, m)) / 4,
        rng.integers(0, 2, (n, m)).astype(float),
        10.0 ** rng.uniform(-4, 0, (n, m)),
    ][kind]
    table[np.arange(n), rng.integers(0, m, n)] = rng.choice([1.0, 0.5, 0.1], n)
    if seed % 3 == 0:
        table *= rng.random((n, 1))
    weights = rng.integers(1, 6, n).astype(float)
    limits = np.where(rng.random(n) < (1.0 if seed % 5 else 0.6), 1.0, np.inf)
    e = weights / weights.sum() if entitled else None
    return fairlp.Instance.from_arrays(table, [np.ones(m)], task_limits=limits, entitlements=e)


@pytest.mark.parametrize("seed", range(many(24)))
def test_every_method_is_fair_and_the_single_ones_agree(seed):
    instance = contested(seed)
    exact = fairlp.allocate(instance, "njc")
    assert exact.certificate and exact.certificate.conditions <= 10 * MARKET and exact.certificate.gap <= 10 * MARKET
    assert complaints.check(instance, exact) and complaints.check(instance, exact).margin >= -1e-12
    for method in ("trajectory", "newton"):
        found = fairlp.allocate(instance, "njc", method=method)
        assert found.certificate, f"{method}: {found.certificate}"
        assert found.totals.to_numpy() == pytest.approx(exact.totals.to_numpy(), rel=PATH_LIMIT)
        assert complaints.check(instance, found, PATH_LIMIT)
    values = {}
    for method in ("milp", "candidates"):
        for criterion in ("utilization", "least-served", instance.users[0]):
            found = fairlp.allocate(instance, "njc", method=method, criterion=criterion)
            assert complaints.check(instance, found), f"{method}: {complaints.check(instance, found)}"
            values[method, criterion] = complaints.best_value(instance, found, criterion)
            assert values[method, criterion] >= complaints.best_value(instance, exact, criterion) - COMPLAINT
    for method, criterion in values:
        assert values[method, criterion] == pytest.approx(values["milp", criterion], rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("method", ["trajectory", "newton"])
@pytest.mark.parametrize("tiny", [0.3, 1e-3, 1e-6])
def test_limits_that_are_met_exactly_are_reached_as_promised(tiny, method):
    """The price of one resource, all of it asked for by the second user, gives the first just its limit."""
    e = np.array([tiny, 1 - tiny])
    instance = fairlp.Instance.from_arrays(
        e[:, None] * [[1.0], [10.0]], [[1.0]], entitlements=e, task_limits=[1.0, np.inf]
    )
    found = fairlp.allocate(instance, "njc", method=method)
    assert found.totals.to_numpy() == pytest.approx([1.0, 0.1], rel=PATH_LIMIT)
    assert found.certificate


@pytest.mark.parametrize("seed", range(many(300)))
def test_the_exact_method_on_many_instances(seed):
    instance = contested(seed, users=30, resources=8)
    found = fairlp.allocate(instance, "njc")
    assert found.certificate.conditions <= 10 * MARKET and complaints.check(instance, found)


@pytest.mark.parametrize("seed", range(0, 3 * many(20), 3))
def test_the_convex_model_is_fair_within_its_accuracy(seed):
    instance = contested(seed)
    exact = fairlp.allocate(instance, "njc")
    for solver in ("highs", "cvxpy:CLARABEL"):
        found = fairlp.allocate(instance, "njc", method="convex", solver=solver)
        assert complaints.check(instance, found, CONVEX_COMPLAINT), f"{solver}: {found.certificate}"
        objective = [float(np.log(np.maximum(one.totals.to_numpy(), 1e-300)) @ _e(instance)) for one in (found, exact)]
        assert objective[0] == pytest.approx(objective[1], abs=1e-6)


def _e(instance):
    return instance.entitlements if instance.entitlements is not None else instance.weights / instance.weights.sum()


@pytest.mark.parametrize("seed", range(many(40)))
def test_the_prices_prove_the_optimum(seed):
    """Stationarity and complementarity written out, and duals by another way to solve the dual."""
    from scipy.optimize import minimize

    instance = contested(seed, users=5, resources=3)
    found = fairlp.allocate(instance, "njc")
    e, prices = _e(instance), found.certificate.prices.to_numpy()
    r = instance.demands  # one task is the request
    limit = instance.task_limits
    x = found.totals.to_numpy()
    spent = x * (r @ prices)
    assert (prices >= 0).all() and float(prices @ (1 - x @ r)) == pytest.approx(0, abs=1e-12)
    assert spent[x < limit * (1 - 1e-12)] == pytest.approx(e[x < limit * (1 - 1e-12)], rel=1e-10)
    assert (spent <= e * (1 + 1e-10)).all()

    def dual(multipliers):
        p = r @ multipliers
        take = np.minimum(limit, e / np.maximum(p, 1e-12))
        return multipliers.sum() + float((e * np.log(take) - p * take).sum())

    other = minimize(dual, np.full(len(prices), 0.3), bounds=[(1e-9, None)] * len(prices), method="L-BFGS-B")
    assert dual(prices) <= other.fun + 1e-9
    assert dual(prices) == pytest.approx(float(e @ np.log(x)), abs=1e-11)


@pytest.mark.parametrize("seed", range(many(40)))
def test_on_the_awkward_instances_of_the_other_mechanisms(seed):
    instance = random_instance(seed, servers=1, constraints=False, magnitudes=seed % 2 == 0)
    found = fairlp.allocate(instance, "njc")
    assert found.certificate and found.residual <= 1e-12 and complaints.check(instance, found)
    assert fairlp.allocate(instance, "njc", method="newton").totals.to_numpy() == pytest.approx(
        found.totals.to_numpy(), rel=PATH_LIMIT
    )
    compared = complaints.against_drf(instance)
    drf = fairlp.allocate(
        instance.replace(task_limits=np.where(instance.task_limits > 0, instance.task_limits, 0)), "drf"
    )
    assert compared.users["drf"].to_numpy() == pytest.approx(drf.totals.to_numpy(), rel=1e-9, abs=1e-12)
