"""Every item of every paper is there, runs, and is judged as the committed page says."""

from __future__ import annotations

import math

import pytest

from fairlp.research.ledger import Ledger, Row, registry
from fairlp.research.ledger.page import FIGURES, drawn, file_of, markdown
from fairlp.research.ledger.registry import ENTRIES, PAPERS
from fairlp.research.ledger.verdicts import Answer, Verdict
from ledger_rows import PAGE, row, verdicts_of_the_page
from profiles import PROFILE

#: What the papers number: every one of them has an item, or several.
NUMBERED = {
    "000": ["Algorithm 1", "Table 1", "Table 2"],
    "001": ["Lemma 1", "Lemma 2", "Lemma 3", "Theorem 1", "Theorem 2", "Algorithm 1"],
    "002": [
        *(f"Figure {k}" for k in (1, 2, 3, 4, 5, "6a", "6b", 7, 8)),
        *(f"Proposition {k}" for k in range(1, 8)),
        *("Table I", "Table II", "Lemma 1", "Definition 1", "Program (7)"),
    ],
    "003": [
        *(f"Figure {k}" for k in range(1, 7)),
        *("Table I", "Table II", "Table III", "Table IV", "Theorem 1", "Theorem 2", "Theorem 3"),
        *("Lemma 1", "Lemma 2", "Corollary 1", "Algorithm I", "Definitions 1–6"),
    ],
    "004": [
        *(f"Figure {k}" for k in range(1, 7)),
        *("Theorem 1", "Lemma 2", "Lemma 3", "Lemma 4", "Remark 1", "Remarks 2 and 3", "Remark 4", "Remark 5"),
        "Definitions and Constructions 1 and 2",
    ],
    "005": ["example, starvation", "strategy-proofness", "group strategy-proofness"],
}
#: What the papers print, as mechanisms and audits are to give it: (item, number) → printed.
GOLDEN = {
    ("000 §3.1, example", "tasks of A"): "3",
    ("000 §3.1, example", "share of B"): "2/3",
    ("000 §6.2, example", "tasks of B"): "8",
    ("000 §6.2, example", "CPUs left"): "33",
    ("000 §6.1, example", "a cycle takes"): "26",
    ("000 Table 1, demands 10–20", "under"): "486.521",
    ("000 Table 2, demands 1–100", "over by more"): "0.48",
    ("002 Figure 2", "total 1"): "6",
    ("002 Figure 3", "g 1"): "5/7",
    ("002 Figure 4", "shares of two"): "0.44",
    ("002 Table II", "cpu with 14 slots [%]"): "43.9",
    ("003 Figure 1", "c-drfh, user 2"): "≈3.130",
    ("003 Figure 1", "tsf, user 3"): "8",
    ("003 §III-A, example", "user 1"): "3.6",
    ("003 Table III", "user 2 on C"): "41.25",
    ("003 Table IV, PS-DSF", "user 3 on C"): "82.5",
    ("004 Figure 2", "fair 6"): "2/3",
    ("004 Figure 2", "DRF 1"): "0.4",
    ("004 §4, utilisation", "fair, user 2"): "1/2",
    ("004 §5.5, a family of solutions", "most z"): "7/10",
    ("004 §5.5, circle of four, symmetric", "x 1"): "1/3",
}
#: What is drawn at random and judged by noise.
NOISY = [key for key in ENTRIES if "Table" in key and key.startswith("000")] + ["000 §3.4, simplification"]


#: Items that are drawn on the page.
FOLDER = PAGE.parent / FIGURES
CHARTS = ["001 Theorem 2, worst case", "002 Figure 4", "003 Figure 6", "004 Figure 5"]


@pytest.mark.parametrize("key", ENTRIES)
def test_an_item_runs_and_has_the_verdict_of_the_page(key):
    found = row(key)
    answer = found.answer
    assert isinstance(answer.verdict, Verdict) and found.says
    assert verdicts_of_the_page()[key.replace("|", "\\|")] == found.judgement
    assert answer.ours or answer.verdict is Verdict.NOT_CHECKABLE
    assert answer.why or answer.verdict not in (Verdict.NOT_CHECKABLE, Verdict.NOT_REPRODUCED, Verdict.DIFFERS)
    for number in answer.numbers:
        assert isinstance(number.ours, bool) or math.isfinite(number.ours), number
    wrong = any(number.agrees is False for number in answer.numbers)
    assert not wrong or answer.verdict is Verdict.DIFFERS
    if answer.verdict in (Verdict.EQUAL, Verdict.NOISE):
        assert answer.numbers and all(number.agrees for number in answer.numbers)
    if answer.verdict in (Verdict.HOLDS, Verdict.REFUTED):
        assert answer.count >= 1
    assert (answer.chart is not None) == (FOLDER / file_of(found)).exists() == (key in CHARTS)


def test_the_page_lists_the_items_in_their_order():
    assert list(verdicts_of_the_page()) == list(ENTRIES)


@pytest.mark.parametrize("paper", NUMBERED)
def test_whatever_a_paper_numbers_is_an_item(paper):
    for name in NUMBERED[paper]:
        assert registry.find(paper, name)
    assert [one.number for one in PAPERS] == list(NUMBERED)


@pytest.mark.parametrize(("key", "name"), GOLDEN)
def test_what_is_said_to_be_printed_is_printed(key, name):
    (number,) = [one for one in row(key).answer.numbers if one.name == name]
    assert number.paper == GOLDEN[key, name]


@pytest.mark.parametrize("seed", [1, 2] if PROFILE == "nightly" else [1])
@pytest.mark.parametrize("key", list(ENTRIES) if PROFILE == "nightly" else NOISY)
def test_a_verdict_does_not_hang_on_the_seed(key, seed):
    assert row(key, seed).verdict is row(key).verdict


@pytest.mark.parametrize("key", CHARTS)
def test_figures_of_the_page_are_small_and_the_same_each_time(key):
    found = row(key)
    text = (FOLDER / file_of(found)).read_text(encoding="utf-8")
    assert len(text.encode()) < 60_000 and f"({FIGURES}/{file_of(found)})" in PAGE.read_text(encoding="utf-8")
    once = drawn(found.answer.chart)
    assert once == drawn(found.answer.chart)
    assert "<svg" in text and found.answer.chart.ylabel in once and found.answer.chart.ylabel in text


def test_the_page_is_what_is_generated():
    """Head, headings and figures; the rows are compared one by one above, and their numbers are the machine's."""
    rows = []
    for key, one in ENTRIES.items():
        answer = Answer(Verdict.EQUAL, "", chart=row(key).answer.chart if key in CHARTS else None)
        rows.append(Row(one.paper.number, one.item, one.says, answer))

    def words(text):
        return [line for line in text.splitlines() if line and not line.startswith(("| ", "* ", "  "))]

    assert words(markdown(Ledger(tuple(rows), "reduced", 0))) == words(PAGE.read_text(encoding="utf-8"))
