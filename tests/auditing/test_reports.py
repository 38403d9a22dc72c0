"""Audits that run the mechanism again: lies that pay are found and can be rerun, leavers who hurt are named."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from audit_cases import audited, case, pool
from fairlp import Instance, examples
from fairlp.auditing import reports
from fairlp.auditing.findings import AuditCase
from fairlp.errors import (
    NotDefinedError,
)
from profiles import many

INF = np.inf


def again(answers):
    """A case whose mechanism answers so: number of users or liar's instance → tasks."""

    class Planted(AuditCase):
        def again(self, instance):
            return fairlp.auditing.basics.as_allocation(instance, answers(instance), "planted")

    return Planted


def test_whoever_is_worse_off_when_another_leaves_is_named():
    instance = Instance.from_arrays([[1.0], [1.0], [1.0]], [[9.0]])

    def answers(rest):
        return np.where(rest.users.labels.to_numpy()[:, None] == "user3", 2.5, 6.5)

    verdict = reports.population_monotonic(
        again(answers)(instance, np.full((3, 1), 3.0), mechanism="planted")
    )
    assert (
        verdict.holds is False
        and verdict.margin == pytest.approx(-0.5 / 9)
        and "'user3'" in verdict.witness
    )


def test_who_remains_is_entitled_in_the_same_proportions():
    """Without c, a and b have 3/4 and 1/4 of the pool; by weights a would lose."""
    instance = Instance.from_arrays(
        [[1]] * 3,
        [[10]],
        task_limits=[10] * 3,
        weights=[1, 50, 1],
        entitlements=[0.3, 0.1, 0.6],
    )
    allocation = fairlp.allocate(instance, "njc")
    assert allocation.totals.tolist() == pytest.approx([3, 1, 6])
    finding = fairlp.audit(instance, allocation, "population-monotonic").iloc[0]
    # the least gain: of the first user when the second leaves
    assert finding.holds is True and finding.margin == pytest.approx((10 / 3 - 3) / 10)


def test_a_lie_pays_in_tasks_of_ones_own():
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[INF, 5])
    tasks = np.full((2, 1), 5.0)

    def found(answers):
        return reports.strategy_proof(
            again(answers)(instance, tasks, mechanism="planted", tries=40)
        )

    # whoever claims a task of another size gets tasks that are worth as much: no lie pays, and that
    # proves nothing
    honest = found(lambda lie: 5.0 / lie.demands)
    assert honest.holds is None and honest.margin == 0
    paid = found(lambda lie: 6.0 / lie.demands)
    assert paid.holds is False and paid.margin == pytest.approx(-0.1) and "'user1'" in paid.witness
    # more claimed tasks of a smaller size are not more of one's own
    assert (
        found(
            lambda lie: np.where(
                lie.demands < 1, 5.0 / lie.demands, 5.0 / np.maximum(lie.demands, 1)
            )
        ).holds
        is None
    )
    # of what is beyond a limit, nothing is of use
    full = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[5, 5])
    beyond = again(lambda lie: 9.0 / lie.demands)(full, tasks, mechanism="planted", tries=40)
    assert reports.strategy_proof(beyond).holds is None


def test_a_lie_that_pays_is_shown_and_can_be_rerun():
    """Asset fairness of a user who gains by claiming more; the misreport is an Instance to run again."""
    instance = fairlp.counterexample("naive-drf", "strategy-proof")
    finding = audited(instance, fairlp.allocate(instance, "naive-drf"), "strategy-proof").loc[
        "strategy-proof"
    ]
    assert finding.holds is False and "by claiming to need" in finding.witness
    lie = finding.misreport
    liar = next(u for u in instance.users if repr(u) in finding.witness)
    k = list(instance.users).index(liar)
    given_tasks = fairlp.allocate(lie, "naive-drf").tasks_array[k]
    need = instance.demands[k] > 0
    use = (
        given_tasks
        * (lie.demands[k][need] / instance.demands[k][need]).min()
        * (instance.gamma()[k] > 0)
    )
    truth = fairlp.allocate(instance, "naive-drf").totals.iloc[k]
    useful = min(use.sum(), instance.task_limits[k])
    assert (useful - truth) / instance.gamma()[k].sum() == pytest.approx(-finding.margin, rel=1e-6)


def rated(seed):
    """Random demands and capacities, with rates that have nothing to do with them."""
    draw = np.random.default_rng(seed)
    n, k, r = draw.integers(2, 5), draw.integers(1, 4), draw.integers(1, 4)
    rates = draw.integers(1, 9, (n, k))
    return Instance.from_arrays(
        draw.integers(1, 6, (n, r)), draw.integers(3, 20, (k, r)), rates=rates
    )


def gain_by_amounts(instance, mechanism, lie):
    """What a liar gains in tasks: those that the amounts which it is handed are worth by its own needs."""
    honest, lying = fairlp.allocate(instance, mechanism), fairlp.allocate(lie, mechanism)
    differs = (lie.demands != instance.demands).any(axis=1)
    (n,) = np.flatnonzero(differs | (lie.eligible != instance.eligible).any(axis=1))
    amounts = (lying.tasks_array[n] * lying.effort[n])[:, None] * lie.demands[n]
    need = honest.effort[n][:, None] * instance.demands[n]
    runs = instance.rates[n] > 0
    return (
        float((amounts[runs] / need[runs]).min(axis=1).sum() - honest.totals.iloc[n])
        / instance.rates[n].sum()
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["tsf", "psdsf-rdm", "psdsf-tdm", "cdrf"])
def test_where_rates_are_given_twice_the_demand_is_the_same_claim(mechanism):
    """A task that is twice as large takes the same: that much of the server that the user runs its rate alone."""
    for seed in range(many(5)):
        instance = rated(seed)
        allocation = fairlp.allocate(instance, mechanism)
        twice = fairlp.allocate(instance.replace(demands=2 * instance.demands), mechanism)
        np.testing.assert_allclose(twice.usage, allocation.usage, rtol=1e-7, atol=1e-9)
        finding = fairlp.audit(instance, allocation, ["strategy-proof"], tries=60).iloc[0]
        if finding.holds is None:
            assert "lies about the given rates are not tried" in finding.witness
        else:  # its paper says so of resource division
            assert mechanism == "psdsf-rdm", finding.witness
            assert -finding.margin == pytest.approx(
                gain_by_amounts(instance, mechanism, finding.misreport), rel=1e-6
            )


def test_a_lie_about_proportions_that_pays_where_rates_are_given():
    @fairlp.mechanism("by-first-resource")
    def by_first_resource(instance):
        need = instance.demands[:, 0] / instance.demands.sum(axis=1)
        return instance.rates * (need / need.sum())[:, None]

    instance = Instance.from_arrays(
        [[2, 1], [1, 3], [1, 1]], [[90, 12], [60, 20]], rates=[[4, 2], [3, 5], [7, 1]]
    )
    finding = fairlp.audit(
        instance, fairlp.allocate(instance, by_first_resource), ["strategy-proof"]
    ).iloc[0]
    assert finding.holds is False
    assert -finding.margin == pytest.approx(
        gain_by_amounts(instance, by_first_resource, finding.misreport), rel=1e-9
    )


def test_a_resource_that_a_server_lacks_cannot_be_claimed_there():
    """A rate says that the user runs there; it needs nothing that is not there."""
    instance = Instance.from_arrays([[1, 0], [1, 1]], [[4, 0], [4, 4]], rates=[[3, 3], [0, 2]])
    findings = fairlp.audit(
        instance, fairlp.allocate(instance, "tsf"), ["strategy-proof"], tries=60
    )
    assert findings.holds.iloc[0] is None, findings.witness.iloc[0]


def test_no_lie_found_is_not_called_proof():
    instance = examples.load("ghodsi")
    finding = audited(instance, fairlp.allocate(instance, "drf"), "strategy-proof", tries=40).iloc[
        0
    ]
    assert finding.holds is None and "40 tries" in finding.witness and finding.margin == 0


def test_leaving_users_can_hurt_where_demands_are_zero():
    """With zero demands DRF is not population-monotonic: without A, C takes more of what B needs."""
    instance = fairlp.counterexample("drf", "population-monotonic")
    finding = audited(instance, fairlp.allocate(instance, "drf"), "population-monotonic").iloc[0]
    assert finding.holds is False and (instance.demands == 0).any()


def test_a_mechanism_that_is_not_defined_for_a_lie_proves_nothing_by_it(monkeypatch):
    def refuses(self, instance):
        raise NotDefinedError("not for this one")

    monkeypatch.setattr(AuditCase, "again", refuses)
    single_case = case(pool(), [[2], [2]], mechanism="drf", tries=5)
    alone = reports.population_monotonic(single_case)
    assert alone.holds is None and "not defined for the others alone" in alone.witness
    lying = reports.strategy_proof(single_case)
    assert lying.holds is None and "no lie that pays was found in 5 tries" in lying.witness


def servers_claimed_pay(demands, eligible):
    """The witness where a mechanism pays the first user for this claim, and for no other."""
    instance = Instance.from_arrays(
        [[2.0, 4.0], [1.0, 1.0]],
        np.full((4, 2), 12.0),
        users=["ads", "web"],
        servers=["a", "b", "c", "d"],
        resources=["cpu", "memory"],
    )
    tasks = np.full((2, 4), 0.5)

    def answers(lie):
        pays = (lie.demands[0] == demands).all() and (lie.eligible[0] == eligible).all()
        return np.where(lie.eligible, tasks * (3 if pays else 0), 0.0)

    planted = again(answers)(instance, tasks, mechanism="planted", tries=400)
    return reports.strategy_proof(planted).witness


def test_a_lie_about_servers_names_them_and_no_true_demand():
    truth = [2.0, 4.0]
    assert servers_claimed_pay(truth, [True, True, True, False]).endswith(
        "more tasks of its own by claiming not to run on 'd'"
    )
    instance = Instance.from_arrays([truth], np.ones((4, 2)), servers=["a", "b", "c", "d"])
    only_b = np.array([False, True, False, False])
    assert (
        reports.in_words(instance, 0, np.array(truth), only_b) == "by claiming to run on 'b' only"
    )
