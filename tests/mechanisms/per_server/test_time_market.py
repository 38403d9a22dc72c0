"""PS-DSF with task limits that bind: the market's optimum, what prices prove of it, and what is left to be gained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairlp
import per_server_oracle as oracle
from fairlp import Instance
from fairlp.errors import NotConvergedError
from fairlp.mechanisms.per_server import rows, time_market as module
from fairlp.mechanisms.per_server.time_market import (
    limits_bind,
    market_gap,
    prove_market,
    time_market,
)

SWEEPS = ["best-response", "sweeps", "algorithm-1", "distributed"]
ANY_METHOD = [("psdsf-rdm", method) for method in [*SWEEPS, "milp"]]
ANY_METHOD += [("psdsf-tdm", method) for method in [*SWEEPS, "convex", "interior-point"]]


def ann_and_bob():
    """Two servers of 1; ann, who wants 0.6, may use the one on which bob may not run."""
    return Instance.from_arrays(
        [[1], [1]],
        [[1], [1]],
        users=["ann", "bob"],
        task_limits=[0.6, np.inf],
        eligible=[[1, 1], [1, 0]],
    )


def limited(seed, resources=3):
    """A random instance; about half of the users have less than, or about, what they would get without limits."""
    rng = np.random.default_rng(seed)
    n, k, r = int(rng.integers(2, 7)), int(rng.integers(1, 5)), int(rng.integers(1, resources + 1))
    demands = rng.integers(0 if r > 1 else 1, 5, (n, r))
    demands[~demands.any(axis=1), 0] = 1
    eligible = rng.random((n, k)) < 0.6
    eligible[np.arange(n), rng.integers(0, k, n)] = True
    weights = rng.integers(1, 4, n)
    free = Instance.from_arrays(
        demands, rng.integers(1, 13, (k, r)), eligible=eligible, weights=weights
    )
    totals = fairlp.allocate(free, "psdsf-tdm").totals.to_numpy()
    limits = np.where(rng.random(n) < 0.5, totals * rng.uniform(0.2, 1.2, n), np.inf)
    return free.replace(task_limits=np.where(limits > 0, limits, np.inf))


@pytest.mark.parametrize(("mechanism", "method"), ANY_METHOD)
def test_a_satisfied_user_makes_room(mechanism, method):
    answer = fairlp.allocate(ann_and_bob(), mechanism, method=method)
    assert answer.totals.tolist() == pytest.approx([0.6, 1.0], rel=1e-9)
    assert answer.certify().holds and not answer.unproved


def test_a_fixed_point_that_wastes_is_not_the_market_s_optimum():
    """Definition 5 holds of it, so that prices must tell."""
    instance = ann_and_bob()
    wasteful = np.array([[0.6, 0.0], [0.4, 0.0]])
    case = replace(fairlp.allocate(instance, "psdsf-tdm"), tasks_array=wasteful)
    assert not case.certify().holds

    wasteful = np.array([[0.4, 0.2], [0.6, 0.0]])
    assert fairlp.per_server.check(instance, wasteful, "tdm") and oracle.holds(
        instance, wasteful, "tdm"
    )
    proof = replace(case, tasks_array=wasteful).certify()
    assert not proof.holds and "market's optimum" in proof.message
    assert proof.gap == pytest.approx(
        np.log(1 / 0.6) / 2, rel=1e-6
    )  # bob of two users could have 1


@pytest.mark.slow
def test_with_one_resource_it_is_the_leximin():
    """By linear programs that know nothing of markets: of one resource, max-min fairness within the limits."""
    for seed in range(40):
        instance = limited(seed, resources=1)
        expected = fairlp.allocate(instance, "c-drfh").totals.to_numpy()
        for mechanism in ("psdsf-tdm", "psdsf-rdm"):
            answer = fairlp.allocate(instance, mechanism)
            assert answer.totals.to_numpy() == pytest.approx(expected, rel=1e-9), (seed, mechanism)


@pytest.mark.slow
def test_it_keeps_what_is_proved_of_it():
    for seed in range(100, 140):
        instance = limited(seed)
        answer = fairlp.allocate(instance, "psdsf-tdm")
        assert oracle.holds(instance, answer.tasks_array, "tdm"), seed
        audited = fairlp.audit(
            instance, answer, ["Pareto-optimal", "envy-free", "sharing incentive"]
        )
        assert (audited["holds"] != False).all(), (seed, audited)  # noqa: E712 - None where there is nothing to check
        assert answer.certify().holds and not answer.unproved, seed


@pytest.mark.slow
def test_every_method_finds_it():
    for seed in range(200, 212):
        compared = fairlp.validate(limited(seed), "psdsf-tdm")
        assert compared["agrees"].all(), compared


def test_prices_prove_no_more_than_there_is():
    """Weak duality: whatever the prices, the bound is at least what a solver of others finds to gain."""
    rng = np.random.default_rng(0)
    for seed in range(300, 330):
        instance = limited(seed)
        market = time_market(instance)
        totals, weights = market.tasks.sum(axis=1), instance.user_weights
        assert market_gap(instance, totals, market.prices) <= 1e-9
        able_users = (instance.gamma() > 0).any(axis=1)
        smaller_totals = totals * rng.uniform(0.5, 1, len(totals))
        missing = (
            weights * np.log(totals / smaller_totals, where=able_users, out=np.zeros(len(totals)))
        ).sum() / weights[able_users].sum()
        assert market_gap(instance, smaller_totals, market.prices) == pytest.approx(
            missing, rel=1e-6, abs=1e-9
        )
        others = market.prices * rng.uniform(0.5, 2, len(market.prices))
        assert market_gap(instance, smaller_totals, others) >= missing - 1e-9


def test_without_prices_nothing_is_proved(monkeypatch):
    """The answer is a fixed point, and says that it may not be the market's optimum."""

    def fails(*_):
        raise NotConvergedError("planted")

    monkeypatch.setattr(rows, "time_market", fails)
    monkeypatch.setattr(module, "time_market", fails)
    answer = fairlp.allocate(ann_and_bob(), "psdsf-tdm")
    assert answer.certificate and "not proved" in answer.unproved and "planted" in answer.unproved
    assert not answer.certify().holds


@pytest.mark.slow
def test_under_resource_division_a_note_names_who_could_gain():
    noted = 0
    for seed in range(400, 460):
        instance = limited(seed)
        answer = fairlp.allocate(instance, "psdsf-rdm", merge=False)
        assert oracle.holds(instance, answer.tasks_array, "rdm"), seed
        optimal = fairlp.audit(instance, answer, ["Pareto-optimal"])["holds"].iloc[0]
        is_noted = any("not Pareto-optimal" in note for note in answer.notes)
        if limits_bind(instance):
            assert is_noted == (optimal is False or optimal == False), seed  # noqa: E712 - NumPy's
        noted += is_noted
    assert noted


@pytest.mark.parametrize("failures", [1, 4])
def test_sweeps_that_do_not_settle_begin_elsewhere(monkeypatch, failures):
    calls = []
    real = rows.require_converged

    def converged(*arguments):
        calls.append(arguments)
        if len(calls) <= failures:
            raise NotConvergedError("planted")
        return real(*arguments)

    monkeypatch.setattr(rows, "require_converged", converged)
    if failures == 4:
        with pytest.raises(NotConvergedError, match="planted"):
            fairlp.allocate(ann_and_bob(), "psdsf-rdm")
    else:
        assert fairlp.allocate(ann_and_bob(), "psdsf-rdm").certificate
    assert len(calls) > failures or failures == 4


def test_limits_that_do_not_bind_change_nothing():
    """Beyond what a user could run alone, and of users who may run nothing."""
    instance = Instance.from_arrays([[1, 2], [2, 1]], [[3, 3], [3, 3]])
    for limits in ([6, np.inf], [0, np.inf], None):
        assert not limits_bind(instance.replace(task_limits=limits))
    assert limits_bind(instance.replace(task_limits=[2.9, np.inf]))
    free = fairlp.allocate(instance, "psdsf-rdm", merge=False)
    assert fairlp.allocate(
        instance.replace(task_limits=[6, 6]), "psdsf-rdm", merge=False
    ).tasks.equals(free.tasks)


def test_nobody_has_anything_to_buy():
    nothing = Instance.from_arrays([[1], [1]], [[1]], task_limits=[0, 0])
    market = time_market(nothing)
    assert not market.tasks.any() and not market.prices.any()
    assert prove_market(nothing, np.zeros(2)).holds


def log_normal(users, servers):
    rng = np.random.default_rng(5)
    return Instance.from_arrays(
        rng.lognormal(size=(users, 3)),
        rng.lognormal(3, 1, (servers, 3)),
        eligible=rng.random((users, servers)) < 0.5,
        weights=rng.integers(1, 4, users),
    )


def test_many_pairs_take_interior_points_and_few_or_limited_ones_best_responses():
    instance = log_normal(100, 10)
    allocation = fairlp.allocate(instance, "psdsf-tdm")
    assert allocation.method == "interior-point"
    by_responses = fairlp.allocate(instance, "psdsf-tdm", method="best-response")
    np.testing.assert_allclose(allocation.totals, by_responses.totals, rtol=1e-9)
    limits = np.where(np.arange(100) == 3, by_responses.totals.to_numpy() / 2, np.inf)
    for other in (log_normal(99, 10), instance.replace(task_limits=limits)):
        assert fairlp.allocate(other, "psdsf-tdm").method == "best-response"


def test_where_interior_points_do_not_converge_best_responses_begin_anew(monkeypatch):
    instance = log_normal(100, 10)
    expected = fairlp.allocate(instance, "psdsf-tdm", method="best-response").totals

    def lost(instance):
        raise NotConvergedError("lost")

    monkeypatch.setattr(rows, "time_market", lost)
    allocation = fairlp.allocate(instance, "psdsf-tdm", method="interior-point")
    np.testing.assert_allclose(allocation.totals, expected, rtol=1e-12)


def test_more_than_there_is_is_no_optimum():
    """Twice the optimum is as far from the market's maximum as half of it, by log 2."""
    instance = limited(300)
    market = time_market(instance)
    totals = market.tasks.sum(axis=1)
    for factor in (0.5, 2.0):
        gap = market_gap(instance, factor * totals, market.prices)
        assert gap == pytest.approx(np.log(2), rel=1e-6)
