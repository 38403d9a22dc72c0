"""Every item of every paper is there, runs, and is judged as the committed page says."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.optimize

from fairlp import examples
from fairlp.errors import NotConvergedError
from fairlp_research.papers import (
    ItemRow,
    Ledger,
    dolev,
    gavel,
    khamse_ashari,
    li,
    metin,
    registry,
    wang,
)
from fairlp_research.papers.registry import Run, Scale, over
from fairlp_research.papers.reproducing import OURS, find
from fairlp_research.papers.result import FIGURES, file_of, markdown
from fairlp_research.papers.verdicts import Agreement, ItemAnswer, holds, in_words
from ledger_rows import ENTRIES, PAGE, cells_of_the_page, row, verdicts_of_the_page
from paths import REAL_DATA
from profiles import PROFILE, by_day

#: What the papers number, from their first page to the last: every one of them has an item, or several.
NUMBERED = {
    "000": ["Algorithm 1", "Table 1", "Table 2"],
    "001": [
        *(f"Equation ({k})" for k in range(1, 5)),
        *("Lemma 1", "Lemma 2", "Lemma 3", "Theorem 1", "Theorem 2", "Algorithm 1"),
    ],
    "002": [
        *(f"Figure {k}" for k in (1, 2, 3, 4, 5, 6, "6a", "6b", 7, 8)),
        *(f"Proposition {k}" for k in range(1, 8)),
        *(f"Equation ({k})" for k in range(1, 10)),
        *("Table I", "Table II", "Lemma 1", "Definition 1", "Program (7)"),
    ],
    "003": [
        *(f"Figure {k}" for k in range(1, 7)),
        *(f"Definition {k}" for k in range(1, 7)),
        *(f"Equation ({k})" for k in range(1, 53)),
        *("Table I", "Table II", "Table III", "Table IV", "Theorem 1", "Theorem 2", "Theorem 3"),
        *("Lemma 1", "Lemma 2", "Corollary 1", "Algorithm I"),
    ],
    "004": [
        *(f"Figure {k}" for k in range(1, 7)),
        *(f"Equation ({k})" for k in range(1, 14)),
        *(f"Remark {k}" for k in range(1, 6)),
        *("Theorem 1", "Lemma 2", "Lemma 3", "Lemma 4"),
        *("Definition 1", "Definition 2", "Construction 1", "Construction 2"),
    ],
    "005": ["example, starvation", "strategy-proofness", "group strategy-proofness"],
    "006": [f"hierarchical policy, {k} job{'s' * (k > 1)}" for k in range(1, 18)],
}
#: The papers' sections, and what each claims: all have items.
SECTIONS = {
    "000": ["1", "3.1", "3.2", "3.3", "3.4", "4", "5", "6.1", "6.2", "6.3"],
    "001": ["1", "2", "4", "5"],
    "002": ["III-D", "IV-D", "V-A", "V-B", "VI"],
    "003": ["I", "II-A", "II-B", "III-A", "III-B", "III-D", "IV", "V"],
    "004": ["3", "4", "5.1", "5.2", "5.3", "5.4", "5.5", "6"],
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
#: Items that are drawn on the page.
FOLDER = PAGE.parent / FIGURES
CHARTS = [
    "001 Theorem 2, worst case",
    *(f"002 {item}" for item in ("Figure 4", "Table II", "Figure 5", "Figure 6a", "Figure 6b")),
    *("002 Figure 7", "002 Figure 8", "003 Figure 6"),
    *("004 Figure 4", "004 Figure 5", "004 Figure 6"),
]


@pytest.mark.slow
@pytest.mark.parametrize("key", ENTRIES)
def test_an_item_runs_and_has_the_verdict_of_the_page(key):
    item_row = row(key)
    answer = item_row.answer
    assert isinstance(answer.verdict, Agreement) and item_row.says
    assert verdicts_of_the_page()[key.replace("|", "\\|")] == item_row.judgement
    assert answer.ours or answer.verdict is Agreement.NOT_CHECKABLE
    assert answer.why or answer.verdict not in (
        Agreement.NOT_CHECKABLE,
        Agreement.NOT_REPRODUCED,
        Agreement.DIFFERS,
    )
    for number in answer.numbers:
        assert isinstance(number.ours, bool) or math.isfinite(number.ours), number
    has_difference = any(number.agrees is False for number in answer.numbers)
    assert not has_difference or answer.verdict is Agreement.DIFFERS
    if answer.verdict in (Agreement.EQUAL, Agreement.NOISE):
        assert answer.numbers and all(number.agrees for number in answer.numbers)
    if answer.verdict in (Agreement.HOLDS, Agreement.REFUTED):
        assert answer.count >= 1
    assert (answer.chart is not None) == (FOLDER / file_of(item_row)).exists() == (key in CHARTS)


def test_the_page_lists_the_items_in_their_order():
    assert list(verdicts_of_the_page()) == list(ENTRIES)


@pytest.mark.parametrize("paper", NUMBERED)
def test_whatever_a_paper_numbers_is_an_item(paper):
    for name in NUMBERED[paper]:
        assert find(paper, name)
    assert list(OURS) == list(NUMBERED)


@pytest.mark.parametrize("paper", SECTIONS)
def test_sections_that_claim_something_have_items(paper):
    for section in SECTIONS[paper]:
        assert find(paper, f"Section {section}")


@pytest.mark.parametrize(("key", "name"), by_day(GOLDEN, 3))
def test_what_is_said_to_be_printed_is_printed(key, name):
    (number,) = [
        answer_number for answer_number in row(key).answer.numbers if answer_number.name == name
    ]
    assert number.paper == GOLDEN[key, name]


@pytest.mark.slow
@pytest.mark.parametrize("key", ENTRIES)
def test_numbers_beside_those_of_the_paper_are_those_of_the_page(key):
    def numbers_in(text):
        return [
            float(number) for number in re.findall(r"-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?", text)
        ]

    printed, _ = cells_of_the_page()[key.replace("|", "\\|")]
    assert numbers_in(row(key).answer.ours) == pytest.approx(
        numbers_in(printed), rel=1e-3, abs=1e-6
    )


def test_the_printed_vectors_are_those_of_the_data():
    path = REAL_DATA / "gavel" / "hierarchical.csv"
    if not path.exists():
        pytest.skip("the data is not here")
    table = pd.read_csv(path)
    for jobs, line in enumerate(gavel.PRINTED.strip().splitlines(), 1):
        printed = table.normalised_throughput[table.jobs == jobs].tolist()
        assert [float(number) for number in line.split()] == printed


def test_what_a_vector_leaves_idle_is_what_linprog_finds():
    instance, means = gavel.cluster(2)
    rates = instance.rates / means[:, None]
    use = np.kron(np.ones(2), np.eye(3))
    own_time = np.kron(np.eye(2), np.ones(3))
    throughput = own_time * rates.reshape(1, 6)
    best = scipy.optimize.linprog(
        -rates.ravel(),
        np.vstack([use, own_time, -throughput]),
        np.concatenate([[3, 3, 3], [1, 1], gavel.HALF - np.array([0.881, 1.305])]),
    )
    more = gavel.most_beside(instance, means, np.array([0.881, 1.305]))
    assert more == pytest.approx(-best.fun)
    assert more / (0.881 + 1.305) == pytest.approx(1.17, abs=0.005)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("key", ENTRIES if PROFILE == "nightly" else ())
def test_a_verdict_does_not_hang_on_the_seed(key, seed):
    assert row(key, seed).verdict is row(key).verdict


def test_the_page_is_what_is_generated():
    """Head, headings and figures; the rows are compared one by one above, and their numbers are the machine's."""
    rows = []
    for key, entry in ENTRIES.items():
        answer = ItemAnswer(
            Agreement.EQUAL, "", chart=row(key).answer.chart if key in CHARTS else None
        )
        rows.append(ItemRow(entry.paper.number, entry.item, entry.says, answer))

    def words(text):
        return [
            line for line in text.splitlines() if line and not line.startswith(("| ", "* ", "  "))
        ]

    assert words(markdown(Ledger(tuple(rows), "reduced", 0, tuple(OURS.values())))) == words(
        PAGE.read_text(encoding="utf-8")
    )


# Items of the ledger beside planted answers: what breaks a statement is told, and nothing to check
# is not "holds".


def computed(key, seed=0):
    return ENTRIES[key].compute(Run(seed=seed))


def fewer(monkeypatch, count):
    """Look at so few instances."""
    monkeypatch.setattr(
        registry, "over", lambda run, draw, check, **options: over(run, draw, check, few=count)
    )


def numbers(witness):
    """Return the positions that a witness begins with."""
    return [int(number) - 1 for number in re.findall(r"\d+", witness.partition("; ")[0])]


def test_an_allocation_without_bottlenecks_has_no_linear_program(monkeypatch):
    fewer(monkeypatch, 2)
    monkeypatch.setattr(dolev, "allocate", lambda instance, _: np.zeros(len(instance.users)))
    assert computed("004 §5.2, known bottlenecks").verdict is Agreement.NOT_CHECKABLE


def test_newton_steps_end_where_they_end_when_no_step_is_small_enough(monkeypatch):
    instance, weights = examples.dolev_section_5(), np.resize([1.0, 100.0, 1e4], 5)
    expected = dolev._weighted_end(instance, weights)
    assert expected == pytest.approx(dolev.granted(instance), abs=1e-3)
    monkeypatch.setattr(dolev, "VERIFIED", 1e-150)
    assert dolev._weighted_end(instance, weights) == pytest.approx(expected, rel=1e-9)


def test_a_lie_that_pays_under_cdrf_is_the_answer(monkeypatch):
    lie = holds(5, ["user 1 asks for less"])
    monkeypatch.setattr(khamse_ashari, "over", lambda *_, **__: holds(12))
    monkeypatch.setattr(khamse_ashari, "kept", lambda *_, **__: lie)
    assert computed("003 §II-B, CDRF") is lie
    monkeypatch.setattr(khamse_ashari, "kept", lambda *_, **__: holds(5))
    assert computed("003 §II-B, CDRF").verdict is Agreement.HOLDS


def test_a_saturated_resource_that_is_no_bottleneck_breaks_the_corollary(monkeypatch):
    fewer(monkeypatch, 3)
    cases_by_words = {}

    def nobodys(instance, tasks):
        cases_by_words[in_words(instance)] = instance, tasks
        return np.zeros((*tasks.shape, len(instance.resources)), dtype=bool)

    monkeypatch.setattr(khamse_ashari, "bottlenecks_of", nobodys)
    answer = computed("003 Corollary 1", seed=2)
    assert (
        answer.verdict is Agreement.REFUTED and answer.ours == "broken on 3 of 3 random instances"
    )
    instance, tasks = cases_by_words[answer.witness.partition("; ")[2]]
    n, i, r = numbers(answer.witness)
    assert len({n, i, r}) == 3  # of this seed: no two can stand for each other
    assert instance.demands[n, r] > 0 and instance.gamma()[n, i] > 0
    assert tasks[:, i] @ instance.demands[:, r] == pytest.approx(instance.capacities[i, r])


def test_users_who_would_gain_by_an_exchange_break_the_lemma(monkeypatch):
    fewer(monkeypatch, 3)
    gammas_by_words = {}

    def everywhere(instance, _):
        gammas_by_words[in_words(instance)] = instance.gamma()
        return SimpleNamespace(tasks_array=instance.gamma())

    monkeypatch.setattr(khamse_ashari, "allocate", everywhere)
    answer = computed("003 Lemma 2, where one gains")
    assert answer.verdict is Agreement.REFUTED
    alone = gammas_by_words[answer.witness.partition("; ")[2]]
    n, m, i, j = numbers(answer.witness)
    assert n != m and i != j and alone[m, i] / alone[n, i] > alone[m, j] / alone[n, j] > 0


@pytest.mark.parametrize(
    ("lowest", "verdict"), [(True, Agreement.HOLDS), (False, Agreement.DIFFERS)]
)
def test_instances_where_nobody_has_too_many_are_left_out(monkeypatch, lowest, verdict):
    instances = []

    def planted(instance, mechanism):
        instances.append(instance)
        totals = np.zeros(len(instance.users))
        share = (instance.demands / instance.pool).max(axis=1)
        if mechanism == "pdrf" and len(instances) % 4 == 1:
            totals[share.argmin() if lowest else share.argmax()] = 1
        return SimpleNamespace(totals=pd.Series(totals))

    monkeypatch.setattr(metin, "allocate", planted)
    answer = computed("000 §4, who has too many")
    assert len(instances) == 20 and answer.count == 5 and answer.verdict is verdict


# Statements that planted answers break are called refuted, and the scale of a paper is that of the
# paper.


def refuted(key):
    answer = ENTRIES[key].compute(Run())
    return answer.verdict is Agreement.REFUTED and bool(answer.witness)


def test_half_of_everything_is_not_pareto_optimal(monkeypatch):
    real = dolev.tasks_of_fractions
    monkeypatch.setattr(dolev, "tasks_of_fractions", lambda instance, x: real(instance, x / 2))
    assert refuted("004 §3, Pareto optimality, all entitled")


@pytest.mark.parametrize("key", ["004 Lemma 4", "004 Remark 5"])
def test_a_curve_that_is_bent_is_another_curve(monkeypatch, key):
    real = dolev.curve

    def bent(*arguments):
        path = real(*arguments)
        users = path.x.shape[1]
        return path._replace(x=path.x * (np.linspace(0.5, 1.0, users) if users > 1 else 0.5))

    monkeypatch.setattr(dolev, "curve", bent)
    assert refuted(key)


def test_the_scale_of_the_paper_is_a_day_of_two_thousand_servers(monkeypatch):
    arguments = {}
    monkeypatch.setattr(
        wang, "synthetic", lambda jobs, users, **options: arguments.update(jobs=jobs, **options)
    )
    monkeypatch.setattr(
        wang, "google_sample", lambda servers, seed: arguments.update(servers=servers)
    )
    until = wang._draw(Scale.PAPER, 7)[2]
    assert (
        until == 24 * 3600
        and arguments["servers"] == 2000
        and arguments["jobs"] == 64_000
        and arguments["seed"] == 7
    )
    assert wang._size(Run(scale=Scale.PAPER)) == "2,000 servers, a day, synthetic jobs"


@pytest.mark.parametrize("key", ["001 Lemma 1", "001 Lemma 3", "001 Equation (2)"])
def test_steps_that_are_off_break_the_lemmas(monkeypatch, key):
    real = li.arrivals

    def off(instance, *arguments, **options):
        result = real(instance, *arguments, **options)
        steps = result.steps.copy()
        steps.iloc[-1, -1] *= 2  # who came last has twice as much
        return SimpleNamespace(
            model=result.model,
            needs=result.needs,
            steps=steps,
            step_levels=SimpleNamespace(after=lambda k: result.step_levels.after(k) * 1.01),
        )

    monkeypatch.setattr(li, "arrivals", off)
    assert refuted(key)


def test_an_algorithm_that_does_not_settle_is_told(monkeypatch):
    def fails(*_, **__):
        raise NotConvergedError("it goes round in circles")

    monkeypatch.setattr(khamse_ashari, "allocate", fails)
    answer = ENTRIES["003 Algorithm I"].compute(Run())
    assert answer.verdict is Agreement.REFUTED and answer.witness.startswith(
        "it goes round in circles; "
    )


def test_a_lie_that_costs_only_others_breaks_the_lemma(monkeypatch):
    calls = []

    def harmful(instance, mechanism):
        calls.append(instance)
        totals = np.full(len(instance.users), 10.0 if len(calls) == 1 else 1.0)
        totals[0] = 10.0 if len(calls) == 1 else 1e6
        return SimpleNamespace(totals=pd.Series(totals))

    monkeypatch.setattr(khamse_ashari, "allocate", harmful)
    answer = ENTRIES["003 Lemma 1, lies about demands"].compute(Run())
    assert (
        answer.verdict is Agreement.REFUTED and "another has 0.1 of what it had" in answer.witness
    )
