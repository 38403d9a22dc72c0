"""A wrong answer is called wrong: rules of the verdicts, and mechanisms that are off by a little."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest

import fairlp
from fairlp_research.papers import metin
from fairlp_research.papers.registry import Run, over
from fairlp_research.papers.verdicts import (
    Agreement,
    agrees,
    compare,
    holds,
    named,
    on_instance,
    pairs,
)
from ledger_rows import ENTRIES, row


@pytest.mark.parametrize(
    ("paper", "computed", "expected"),
    [
        ("5/7", 5 / 7, True),
        ("5/7", 5 / 7 * (1 + 1e-5), False),
        ("3.6", 3.6036, False),
        ("≈2.609", 2.6094, True),
        ("≈2.609", 2.6096, False),
        (0, 1e-9, True),
        (0, 1e-6, False),
        (3, np.float64(3), True),
    ],
)
def test_numbers_agree_to_the_printed_digits(paper, computed, expected):
    assert agrees(paper, computed) is expected


def test_one_number_that_differs_makes_the_item_differ_and_is_told_first():
    numbers = pairs(named("x", [1, 2]) | {"kept": "yes"}, [1, 2.5, True])
    answer = compare(numbers, "well", otherwise="because")
    assert answer.verdict is Agreement.DIFFERS and answer.why == "because"
    assert answer.ours == "x 2 2.5 (paper: 2), x 1 1, kept yes"
    assert compare(numbers[:1], "well").why == "well"


def test_a_statement_is_refuted_by_what_breaks_it():
    assert holds(9).verdict is Agreement.HOLDS
    broken = holds(9, ["this", "that"])
    assert (
        broken.verdict is Agreement.REFUTED and broken.witness == "this" and "2 of 9" in broken.ours
    )
    assert holds(0).verdict is Agreement.NOT_CHECKABLE


def test_instances_with_nothing_to_check_do_not_count():
    def odd(number):
        return None if number % 2 == 0 else "odd"

    answer = over(Run(key="x"), lambda rng: int(rng.integers(10)), odd, few=5)
    assert answer.count == 5 and answer.verdict is Agreement.REFUTED
    nothing = over(Run(key="x"), lambda rng: 0, odd, few=5)
    assert nothing.verdict is Agreement.NOT_CHECKABLE


def test_noise_is_told_from_a_difference():
    values = np.random.default_rng(0).normal(480, 86, 150)
    assert metin.same_mean(477.623, values, 86.373)
    assert not metin.same_mean(520.0, values, 86.373)
    assert not metin.same_mean(0.48, np.full(150, 8.0), 0.0)
    assert metin.same_mean(0.001, np.zeros(150), 0.0) and metin.same_mean(0.0, np.zeros(150), 0.0)
    assert metin.same_largest(3, np.array([4.0, *[1.0] * 149]))  # one of 1,150 may well be ours
    assert not metin.same_largest(3, np.array([*[4.0] * 9, *[1.0] * 141]))


def off(factor=1.001):
    """`allocate` of a mechanism that gives everybody a thousandth more."""

    def wrong(instance, mechanism, **options):
        allocation = fairlp.allocate(instance, mechanism, **options)
        return dataclasses.replace(allocation, tasks_array=allocation.tasks_array * factor)

    return wrong


@pytest.mark.parametrize(
    ("module", "key"),
    [
        ("metin", "000 §3.1, program"),
        ("wang", "002 Figure 2"),
        ("wang", "002 Figure 3"),
        ("khamse_ashari", "003 Figure 1"),
        ("khamse_ashari", "003 §III-A, example"),
        ("khamse_ashari", "003 Figure 4"),
        ("khamse_ashari", "003 Table IV, PS-DSF"),
        ("dolev", "004 Figure 2"),
        ("dolev", "004 Figure 5"),
        ("dolev", "004 §5.5, selection"),
    ],
)
def test_a_mechanism_off_by_a_thousandth_differs(module, key, monkeypatch):
    assert row(key).verdict is not Agreement.DIFFERS
    monkeypatch.setattr(
        importlib.import_module(f"fairlp_research.papers.{module}"), "allocate", off()
    )
    assert ENTRIES[key].compute(Run()).verdict is Agreement.DIFFERS


@pytest.mark.parametrize(
    "key", ["000 §3.4, formula", "002 Proposition 4", "003 Theorem 1", "004 Theorem 1"]
)
def test_a_mechanism_off_by_a_thousandth_is_refuted(key, monkeypatch):
    module = ENTRIES[key].function.__module__

    def wrong(instance, mechanism, **options):
        return off(1.001 if mechanism in ("pdrf", "drfh", "psdsf-rdm", "njc") else 1.0)(
            instance, mechanism, **options
        )

    monkeypatch.setattr(importlib.import_module(module), "allocate", wrong)
    if key == "003 Theorem 1":  # the condition is wrong instead: nobody has a bottleneck
        monkeypatch.undo()
        theorems = importlib.import_module(module)
        monkeypatch.setattr(theorems, "satisfies_theorem_1", lambda instance, tasks: False)
    answer = ENTRIES[key].compute(Run())
    assert answer.verdict is Agreement.REFUTED and answer.witness


def test_audits_find_a_planted_fault(monkeypatch):
    from fairlp.auditing import promises

    monkeypatch.setattr(promises, "allocate", off(0.999))
    answer = ENTRIES["002 Proposition 2"].compute(Run())
    assert answer.verdict is Agreement.REFUTED and "Pareto-optimal" in answer.witness


def test_an_erratum_ends_with_its_counterexample(monkeypatch):
    """If nothing broke the paper's sentence any more, it would not be called refuted."""
    from fairlp_research.papers import dolev

    assert row("004 §4, one dominant resource").verdict is Agreement.REFUTED
    monkeypatch.setattr(dolev.check, "check", lambda *arguments: False)
    assert ENTRIES["004 §4, one dominant resource"].compute(Run()).verdict is Agreement.HOLDS


@pytest.mark.parametrize(
    ("paper", "computed", "expected"),
    [
        ("≈2.5", 2.55, True),
        ("≈2.5", 2.45, True),
        ("≈2.5", 2.5501, False),
        ("≈-2.5", -2.45, True),
        ("≈40", 40.4, True),
        ("≈40", 40.6, False),
        (1000, 1000 * (1 + 1e-8), True),
        ("-1/3", 1 / 3, False),
        ("1/1000000", 1.1e-6, False),
    ],
)
def test_half_a_unit_of_the_last_place_agrees_and_no_more(paper, computed, expected):
    assert agrees(paper, computed) is expected


def test_yes_and_no_stand_beside_the_truth():
    numbers = pairs({"a": "yes", "b": "no", "c": "no", "d": "yes"}, [1, 0, True, False])
    assert [number.agrees for number in numbers] == [True, True, False, False]
    assert [number.ours for number in numbers] == [True, False, True, False]
    with pytest.raises(ValueError, match="zip"):
        pairs({"a": 1}, [1, 2])
    assert named("user", [5, "1/2"]) == {"user 1": 5, "user 2": "1/2"}


@pytest.mark.parametrize(
    ("breaks", "missing", "verdict"),
    [
        (True, False, Agreement.REFUTED),
        (False, False, Agreement.HOLDS),
        (True, True, Agreement.HOLDS),
        (False, True, Agreement.DIFFERS),
    ],
)
def test_an_instance_refutes_what_a_paper_says_or_shows_what_it_says_is_missing(
    breaks, missing, verdict
):
    pool = fairlp.Instance.from_arrays([[1.0]], [[2.0]])
    answer = on_instance(pool, breaks, "ours", "why", missing=missing)
    assert answer.verdict is verdict and answer.count == 1
    assert answer.witness == "demands 1, capacities 2"


def test_statements_that_hold_or_are_refuted_count_their_instances():
    answer = holds(9, why="proved")
    assert (answer.ours, answer.count, answer.why) == ("never broken on 9 instances", 9, "proved")
    assert holds(9, ["this"]).count == 9
