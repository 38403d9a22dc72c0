"""Audits of every step: lies and coming late, where they pay and where they do not."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.auditing import arrivals as audits
from fairlp.tolerances import AGREEMENT
from profiles import many


def game(monkeypatch, weigh):
    """Let the audits run a mechanism that weighs users by what they say, which can be gamed."""
    real = fairlp.allocate

    def gamed(report, name, **options):
        return real(report.derived(weights=weigh(report)), name)

    monkeypatch.setattr(audits, "allocate", gamed)
    instance = Instance.from_arrays(
        [[2, 1], [1, 2], [1, 1]], [[10, 10]], users=["ann", "bob", "cid"]
    )
    return gamed(instance, "dynamic-drf")


def test_a_lie_that_pays_is_found_and_told(monkeypatch):
    result = game(monkeypatch, lambda report: report.demands[:, 0] + 1.0)
    verdict = fairlp.audit(result.instance, result, "strategy-proof at every step", tries=40).iloc[
        0
    ]
    assert verdict.holds is False and verdict.margin < -AGREEMENT
    assert "more tasks of its own by claiming to need resource1" in verdict.witness
    liar = next(n for n, name in enumerate(result.instance.users) if repr(name) in verdict.witness)
    assert not np.array_equal(verdict.misreport.demands[liar], result.instance.demands[liar])


def test_coming_late_that_pays_is_found_and_told(monkeypatch):
    result = game(monkeypatch, lambda report: 4.0 ** np.arange(len(report.users)))
    verdict = fairlp.audit(result.instance, result, "late arrival never pays", tries=40).iloc[0]
    assert verdict.holds is False and "by coming at step" in verdict.witness
    assert list(verdict.misreport.users) != list(result.instance.users)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["dynamic-drf", "cautious-lp"])
def test_no_lie_found_is_not_called_proof(mechanism):
    instance = Instance.from_arrays([[2, 1], [1, 2], [1, 1], [3, 1]], [[10, 10]])
    findings = fairlp.audit(
        instance, fairlp.allocate(instance, mechanism), list(audits.DYNAMIC), tries=60
    )
    for name in ("strategy-proof at every step", "late arrival never pays"):
        assert (
            findings.holds[name] is None
            and findings.margin[name] == 0
            and "60 tries" in findings.witness[name]
        )
    assert findings.holds["envy-free at every step"] is (mechanism == "cautious-lp")
    assert findings.holds[
        ["irrevocable", "dynamic sharing incentive", "dynamically envy-free"]
    ].all()


@pytest.mark.parametrize("seed", range(many(60)))
def test_a_witness_tells_the_step_and_the_tasks_of_a_lie(monkeypatch, seed):
    """With the lie, the user has so many more of its own tasks at that step."""
    result = game(monkeypatch, lambda report: 4.0 ** np.arange(len(report.users)))
    audit = "late arrival never pays"
    finding = fairlp.audit(result.instance, result, [audit], tries=20, seed=seed).iloc[0]
    match = re.match(r"step (\d+): '(\w+)' would run ([\d.e-]+) more", finding.witness)
    step, user, gain = int(match[1]), match[2], float(match[3])
    lie = finding.misreport
    lying = audits.allocate(lie, "dynamic-drf")

    def tasks_at(answer):
        return answer.steps.loc[step, user] * answer.gamma[list(answer.instance.users).index(user)]

    demand, claimed = (
        instance.demands[list(instance.users).index(user)] for instance in (result.instance, lie)
    )
    tasks_by_lying = tasks_at(lying) * (claimed / demand).min()
    assert tasks_by_lying - tasks_at(result) == pytest.approx(gain, rel=1e-4)
