"""Rounds along a tree in rationals: levels by hand, and proofs that fail are not believed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import fairlp
from fairlp import examples
from fairlp.models.programs.exact_certificate import BASIC
from fairlp.solvers.leximin import exact


def test_levels_are_tasks_over_the_first_rates():
    verdict = fairlp.allocate(examples.load("bhattacharya-blocked"), "h-drf").certify(exact=True)
    # each rate is 60 tasks for one unit of the root: thirds of it at first, halves for whoever goes on
    assert verdict and verdict.levels == (*[Fraction(1, 3)] * 3, *[Fraction(1, 2)] * 2)
    three = fairlp.Instance.from_arrays([[1], [1], [1]], [[9]], queue=["a", "a", "b"], task_limits=[1, 9, 9])
    found = fairlp.allocate(three, "h-drf")
    # one task of 9 for the first; the others go on by 1 and 1, though the first rates were ½, ½ and 1 of the pool
    assert found.totals.tolist() == pytest.approx([1, 4, 4])
    assert found.certify(exact=True).levels == (Fraction(2, 9), Fraction(8, 9), Fraction(4, 9))


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_round_that_is_not_proved_proves_nothing(monkeypatch, failing):
    allocation = fairlp.allocate(examples.load("bhattacharya-blocked"), "h-drf")
    right, calls = exact.ExactRounds.solve, []

    def planted(self, cost):
        calls.append(cost)
        proof = right(self, cost)
        return replace(proof, proved=False, message="planted") if len(calls) == failing else proof

    monkeypatch.setattr(exact.ExactRounds, "solve", planted)
    verdict = allocation.certify(exact=True)
    assert not verdict and verdict.message.startswith("not proved: round ") and "planted" in verdict.message


def test_nobody_who_can_run_is_proved_without_a_program():
    nobody = fairlp.Instance.from_arrays([[1]], [[4]], queue=["a"], task_limits=[0])
    assert fairlp.allocate(nobody, "h-drf").certify(exact=True)


@pytest.mark.parametrize("honest", [True, False])
def test_a_basis_that_leads_nowhere_is_followed_by_the_next(monkeypatch, honest):
    allocation, real = fairlp.allocate(examples.load("bhattacharya-blocked"), "h-drf"), exact.bases

    def bad_at_first(program, last):
        yield [BASIC] * program.n_columns, [BASIC] * program.n_rows
        if honest:
            yield from real(program, last)

    monkeypatch.setattr(exact, "bases", bad_at_first)
    verdict = allocation.certify(exact=True)
    if honest:
        assert verdict and verdict.levels == (*[Fraction(1, 3)] * 3, *[Fraction(1, 2)] * 2)
    else:
        assert not verdict and verdict.message.startswith("not proved: round 1: no basis: ")
