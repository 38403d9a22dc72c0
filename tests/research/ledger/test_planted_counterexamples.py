"""Items of the ledger beside planted answers: what breaks a statement is told, and nothing to check is not "holds"."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlp import examples
from fairlp.research.ledger import Ledger, Row, checking, dolev, dolev_theorem, khamse_ashari_theorems, metin_tables
from fairlp.research.ledger.checking import over
from fairlp.research.ledger.page import FIGURES, markdown, write_page
from fairlp.research.ledger.registry import ENTRIES, PAPERS, Run
from fairlp.research.ledger.verdicts import Answer, Verdict, holds, in_words


def computed(key, seed=0):
    return ENTRIES[key].compute(Run(seed=seed))


def fewer(monkeypatch, few):
    """Look at so few instances."""
    monkeypatch.setattr(checking, "over", lambda run, draw, check, **how: over(run, draw, check, few=few))


def numbers(witness):
    """Return the positions that a witness begins with."""
    return [int(number) - 1 for number in re.findall(r"\d+", witness.partition("; ")[0])]


@pytest.mark.parametrize("vertices", [None, pd.DataFrame()], ids=["too many dimensions", "none"])
def test_fair_sets_whose_ends_are_not_known_prove_nothing(monkeypatch, vertices):
    fewer(monkeypatch, 2)
    monkeypatch.setattr(dolev.check, "solutions", lambda instance: [SimpleNamespace(vertices=vertices)])
    assert computed("004 §3, Pareto optimality").verdict is Verdict.NOT_CHECKABLE


def test_an_allocation_without_bottlenecks_has_no_linear_program(monkeypatch):
    fewer(monkeypatch, 2)
    monkeypatch.setattr(dolev_theorem, "allocate", lambda instance, _: np.zeros(len(instance.users)))
    assert computed("004 §5.2, known bottlenecks").verdict is Verdict.NOT_CHECKABLE


def test_newton_steps_end_where_they_end_when_no_step_is_small_enough(monkeypatch):
    instance, weights = examples.dolev_section_5(), np.resize([1.0, 100.0, 1e4], 5)
    expected = dolev_theorem._weighted_end(instance, weights)
    assert expected == pytest.approx(dolev.granted(instance), abs=1e-3)
    monkeypatch.setattr(dolev_theorem, "VERIFIED", 1e-150)
    assert dolev_theorem._weighted_end(instance, weights) == pytest.approx(expected, rel=1e-9)


def test_a_lie_that_pays_under_cdrf_is_the_answer(monkeypatch):
    lie = holds(5, ["user 1 asks for less"])
    monkeypatch.setattr(khamse_ashari_theorems, "over", lambda *_, **__: holds(12))
    monkeypatch.setattr(khamse_ashari_theorems, "kept", lambda *_, **__: lie)
    assert computed("003 §II-B, CDRF") is lie
    monkeypatch.setattr(khamse_ashari_theorems, "kept", lambda *_, **__: holds(5))
    assert computed("003 §II-B, CDRF").verdict is Verdict.HOLDS


def test_a_saturated_resource_that_is_no_bottleneck_breaks_the_corollary(monkeypatch):
    fewer(monkeypatch, 3)
    seen = {}

    def nobodys(instance, tasks):
        seen[in_words(instance)] = instance, tasks
        return np.zeros((*tasks.shape, len(instance.resources)), dtype=bool)

    monkeypatch.setattr(khamse_ashari_theorems, "_bottlenecks", nobodys)
    answer = computed("003 Corollary 1", seed=2)
    assert answer.verdict is Verdict.REFUTED and answer.ours == "broken on 3 of 3 random instances"
    instance, tasks = seen[answer.witness.partition("; ")[2]]
    n, i, r = numbers(answer.witness)
    assert len({n, i, r}) == 3  # of this seed: no two can stand for each other
    assert instance.demands[n, r] > 0 and instance.gamma()[n, i] > 0
    assert tasks[:, i] @ instance.demands[:, r] == pytest.approx(instance.capacities[i, r])


def test_users_who_would_gain_by_an_exchange_break_the_lemma(monkeypatch):
    fewer(monkeypatch, 3)
    seen = {}

    def everywhere(instance, _):
        seen[in_words(instance)] = instance.gamma()
        return SimpleNamespace(tasks_array=instance.gamma())

    monkeypatch.setattr(khamse_ashari_theorems, "allocate", everywhere)
    answer = computed("003 Lemma 2")
    assert answer.verdict is Verdict.REFUTED
    alone = seen[answer.witness.partition("; ")[2]]
    n, m, i, j = numbers(answer.witness)
    assert n != m and i != j and alone[m, i] / alone[n, i] > alone[m, j] / alone[n, j] > 0


@pytest.mark.parametrize(("lowest", "verdict"), [(True, Verdict.HOLDS), (False, Verdict.DIFFERS)])
def test_instances_where_nobody_has_too_many_are_left_out(monkeypatch, lowest, verdict):
    asked = []

    def planted(instance, mechanism):
        asked.append(instance)
        totals = np.zeros(len(instance.users))
        share = (instance.demands / instance.pool).max(axis=1)
        if mechanism == "pdrf" and len(asked) % 4 == 1:
            totals[share.argmin() if lowest else share.argmax()] = 1
        return SimpleNamespace(totals=pd.Series(totals))

    monkeypatch.setattr(metin_tables, "allocate", planted)
    answer = computed("000 §4, who has too many")
    assert len(asked) == 20 and answer.count == 5 and answer.verdict is verdict


def test_a_page_without_figures_has_no_folder_of_them(tmp_path):
    (paper, *_) = PAPERS
    rows = (
        Row(paper.number, "bare", "so", Answer(Verdict.REFUTED, "not so", count=1)),
        Row(paper.number, "reasoned", "so", Answer(Verdict.DIFFERS, "less", "rounding")),
        Row(paper.number, "shown", "so", Answer(Verdict.REFUTED, "never", count=1, witness="demands 1")),
    )
    ledger = Ledger(rows, "reduced", 0)
    page = write_page(ledger, tmp_path / "ledger.md")
    text = page.read_text(encoding="utf-8")
    assert text == markdown(ledger) and not (tmp_path / FIGURES).exists()
    errata = text[text.index("## Where the papers") :].splitlines()[2:]
    assert errata == [
        f"* **{paper.number}, bare**: so. *refuted by an instance*: not so.",
        f"* **{paper.number}, reasoned**: so. *differs*: less.",
        "  Rounding.",
        f"* **{paper.number}, shown**: so. *refuted by an instance*: never.",
        "  Instance: demands 1.",
    ]
