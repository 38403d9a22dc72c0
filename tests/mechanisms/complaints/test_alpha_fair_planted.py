"""Proofs of alpha-fairness are handed answers that are not alpha-fair."""

from dataclasses import replace

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import NotConvergedError
from fairlp.mechanisms.complaints import alpha_fairness
from fairlp.mechanisms.complaints.alpha_fairness import Proof, proof
from fairlp.models.programs.solution import Solution, Termination
from fairlp.solvers.interior_point import backend


def test_whom_its_limit_is_not_worth_what_it_costs_is_not_left_out():
    # nine tenths to the one at its limit: half to each is right at α = 1
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[9.0, np.inf])
    found = proof(instance, np.array([[9.0], [1.0]]), np.ones((1, 1)), 1.0)
    # in levels, tasks over the ten that each could run alone: √(0.9·0.1) where 0.5 can be had
    assert found.mean == pytest.approx(0.3) and found.bound == pytest.approx(0.5)
    right = proof(instance, np.array([[5.0], [5.0]]), np.ones((1, 1)), 1.0)
    assert right.gap == pytest.approx(0, abs=1e-15) and right.conditions == pytest.approx(0, abs=1e-15)


def test_whom_its_limit_holds_back_is_left_out():
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[2.0, np.inf])
    found = proof(instance, np.array([[2.0], [8.0]]), np.ones((1, 1)), 1.0)
    assert found.mean == pytest.approx(0.8) and found.gap == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("alpha", [0.5, 2])
@pytest.mark.parametrize("part", [0.5, 1 - 1e-6])
def test_an_answer_that_is_not_optimal_says_so(monkeypatch, alpha, part):
    through = alpha_fairness._through_solver

    def less(*given):
        found = through(*given)
        return replace(found, tasks=found.tasks * part)

    instance = fairlp.examples.ghodsi()
    assert not fairlp.allocate(instance, "alpha-fair", alpha=alpha).unproved
    monkeypatch.setattr(alpha_fairness, "_through_solver", less)
    found = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
    assert found.unproved.startswith("not proved: the mean level may be") and found.unproved in found.notes
    assert found.gap == pytest.approx(1 / part - 1, rel=1e-3) and not found.certify()


def test_a_bound_that_is_no_number_proves_nothing():
    assert Proof(1.0, float("nan"), 0.0, np.zeros((1, 1))).gap == float("inf")


@pytest.mark.parametrize("part", [1.0, 0.45])
def test_worth_beyond_floats_of_who_misses_nothing_is_no_proof(part):
    # what one more task would be worth to the first user, who has all, is beyond floats: infinity times nothing
    instance = Instance.from_arrays(
        [[0.001], [15.036]], [[1]], weights=[335417.941541, 0.001419], task_limits=[1, np.inf]
    )
    tasks = np.array([[1.0], [part * 0.999 / 15.036]])
    shown = proof(instance, tasks, np.ones((1, 1)), 30.0)
    assert shown.gap == pytest.approx(1 / part - 1, rel=1e-6, abs=1e-12)


def test_powers_beyond_floats_are_said_without_warnings():
    instance = Instance.from_arrays(
        [[0.001], [15.036]], [[1]], weights=[335417.941541, 0.001419], task_limits=[1, np.inf]
    )
    found = fairlp.allocate(instance, "alpha-fair", alpha=30)
    assert bool(found.certify()) is not bool(found.unproved)


def test_an_optimum_that_nothing_reaches_is_one_error_with_advice(monkeypatch):
    def none(program, *given, **options):
        raise NotConvergedError("planted")

    def unknown(highs, program, options):
        return Solution.of_point(program, Termination.UNKNOWN, "planted, too", "highs", None, None, None)

    monkeypatch.setattr(backend, "solve_near", none)
    monkeypatch.setattr(backend, "solve_on", unknown)
    instance = Instance.from_arrays([[1.0], [2.0]], [[10.0]])
    with pytest.raises(NotConvergedError, match=r"planted, too.*try another solver .*cvxpy:CLARABEL"):
        fairlp.allocate(instance, "alpha-fair", alpha=2)
