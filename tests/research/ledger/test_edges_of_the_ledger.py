"""Statements that planted answers break are called refuted, and the scale of a paper is that of the paper."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlp.errors import NotConvergedError
from fairlp.research.ledger import dolev, dolev_theorem, khamse_ashari_theorems, li, wang_simulation
from fairlp.research.ledger.registry import ENTRIES, Run, Scale
from fairlp.research.ledger.verdicts import Verdict


def refuted(key):
    answer = ENTRIES[key].compute(Run())
    return answer.verdict is Verdict.REFUTED and bool(answer.witness)


def test_half_of_everything_is_not_pareto_optimal(monkeypatch):
    real = dolev._tasks
    monkeypatch.setattr(dolev, "_tasks", lambda instance, x: real(instance, x / 2))
    assert refuted("004 §3, Pareto optimality")


def test_who_has_nothing_envies_the_others(monkeypatch):
    real = dolev.granted
    monkeypatch.setattr(dolev, "granted", lambda instance: real(instance) * (np.arange(len(instance.users)) > 0))
    assert refuted("004 §4, envy-freeness of the trajectory's end")


@pytest.mark.parametrize("key", ["004 Lemma 4", "004 Remark 5"])
def test_a_curve_that_is_bent_is_another_curve(monkeypatch, key):
    real = dolev_theorem.check.trajectory

    def bent(instance, **how):
        path = real(instance, **how)
        parts = np.linspace(0.5, 1.0, len(instance.users)) if len(instance.users) > 1 else 0.5
        return SimpleNamespace(granted=path.granted * parts)

    monkeypatch.setattr(dolev_theorem, "check", SimpleNamespace(trajectory=bent))
    assert refuted(key)


def test_the_scale_of_the_paper_is_a_day_of_two_thousand_servers(monkeypatch):
    asked = {}
    monkeypatch.setattr(wang_simulation, "synthetic", lambda jobs, users, **how: asked.update(jobs=jobs, **how))
    monkeypatch.setattr(wang_simulation, "google_sample", lambda servers, seed: asked.update(servers=servers))
    until = wang_simulation._draw(Scale.PAPER, 7)[2]
    assert until == 24 * 3600 and asked["servers"] == 2000 and asked["jobs"] == 64_000 and asked["seed"] == 7
    assert wang_simulation._size(Run(scale=Scale.PAPER)) == "2,000 servers, a day, synthetic jobs"


@pytest.mark.parametrize("key", ["001 Lemma 1", "001 Lemma 3", "001 Equation (2)"])
def test_steps_that_are_off_break_the_lemmas(monkeypatch, key):
    real = li.arrivals

    def off(instance, *given, **how):
        found = real(instance, *given, **how)
        steps = found.steps.copy()
        steps.iloc[-1, -1] *= 2  # who came last has twice as much
        return SimpleNamespace(
            model=found.model, needs=found.needs, steps=steps, levels_at=lambda k: found.levels_at(k) * 1.01
        )

    monkeypatch.setattr(li, "arrivals", off)
    assert refuted(key)


def test_an_algorithm_that_does_not_settle_is_told(monkeypatch):
    def fails(*_, **__):
        raise NotConvergedError("it goes round in circles")

    monkeypatch.setattr(khamse_ashari_theorems, "allocate", fails)
    answer = ENTRIES["003 Algorithm I"].compute(Run())
    assert answer.verdict is Verdict.REFUTED and answer.witness.startswith("it goes round in circles; ")


def test_a_lie_that_costs_only_others_breaks_the_lemma(monkeypatch):
    calls = []

    def harmful(instance, mechanism):
        calls.append(instance)
        totals = np.full(len(instance.users), 10.0 if len(calls) == 1 else 1.0)
        totals[0] = 10.0 if len(calls) == 1 else 1e6
        return SimpleNamespace(totals=pd.Series(totals))

    monkeypatch.setattr(khamse_ashari_theorems, "allocate", harmful)
    answer = ENTRIES["003 Lemma 1"].compute(Run())
    assert answer.verdict is Verdict.REFUTED and "another has 0.1 of what it had" in answer.witness
