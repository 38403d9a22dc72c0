"""The conformance suite given one lie a case, so that no other case can notice it: every refusal is needed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairlp import conformance
from fairlp.conformance.zoo import INF, Case, linear
from fairlp.models.programs.solution import Point, Status, Termination
from fairlp.solvers.backends.highs import Highs

#: max 2x + y: x + y <= 4, x <= 3; worth 7, prices 1 and 1.
PLAIN = Case("plain", linear("plain", [2, 1], [(-INF, [1, 1], 4), (-INF, [1, 0], 3)]), "optimal", 7.0)
WHOLE = Case(
    "whole", linear("whole", [1, 1], [(-INF, [1, 0], 2.5)], [(0, INF), (0, 1)], integer=[0, 1]), "optimal", 3.0
)
IMPOSSIBLE = Case("impossible", linear("impossible", [1], [(2, [1], INF), (-INF, [1], 1)]), "infeasible")
ENDLESS = Case("endless", linear("endless", [1], [(0, [1], INF)]), "unbounded")
LIMIT = Case("limit", linear("limit", [2, 1], [(-INF, [1, 1], 4)]), "limit", options=(("time_limit", 1e-9),))


class Lying(Highs):
    """HiGHS's simplex method with one lie."""

    def __init__(self, lie):
        super().__init__("lying")
        self.lie = lie

    def solve(self, program, options):
        return self.lie(super().solve(program, options))


def judged(case, **changes):
    """The outcome where the answer is changed so."""
    return conformance.check(Lying(lambda s: dataclasses.replace(s, **changes)), [case]).iloc[0]


def status(termination, primal=Point.NONE):
    return Status(termination, primal, Point.NONE, "planted")


@pytest.mark.parametrize("case", [PLAIN, WHOLE, IMPOSSIBLE, ENDLESS])
def test_honest_answers_pass(case):
    assert judged(case)["outcome"] == "passed"


@pytest.mark.parametrize("off", [1e-5, 1.0])
def test_points_that_are_infeasible_fail(off):
    for x in ([3 + off, 1 - 2 * off], [3 + off, 1]):
        found = judged(PLAIN, x=np.array(x, dtype=float))
        assert found["outcome"] == "failed" and "is not feasible" in found["detail"]


def test_parts_of_whole_numbers_fail():
    found = judged(WHOLE, x=np.array([2.4, 1.0]))
    assert found["outcome"] == "failed" and "is not feasible" in found["detail"]


def test_points_that_are_worth_less_fail_by_their_objective():
    for x in ([3.0, 1 - 1e-4], [0.0, 0.0]):
        found = judged(PLAIN, x=np.array(x))
        assert found["outcome"] == "failed" and "objective" in found["detail"]
    assert judged(WHOLE, x=np.array([1.0, 1.0]))["outcome"] == "failed"


def test_duals_that_are_missing_or_wrong_fail():
    missing = judged(PLAIN, row_duals=None, column_duals=None)
    assert missing["outcome"] == "failed" and "gives none" in missing["detail"]
    for duals in ([1.0, 1 + 1e-4], [0.0, 0.0], [2.0, 0.0], [-1.0, -1.0]):
        found = judged(PLAIN, row_duals=np.array(duals))
        assert found["outcome"] == "failed" and "duals do not prove" in found["detail"]


def test_optimal_without_a_point_fails():
    found = judged(WHOLE, x=None)
    assert found["outcome"] == "failed" and "there is no point" in found["detail"]


def test_an_infeasible_program_has_no_point_and_a_proof_that_is_one():
    for changes, words in (
        ({"x": np.ones(1)}, "there is a point"),
        ({"row_ray": np.array([1.0, 1.0])}, "proves nothing"),
        ({"row_ray": None}, "gives none"),
    ):
        found = judged(IMPOSSIBLE, **changes)
        assert found["outcome"] == "failed" and words in found["detail"]
    found = judged(IMPOSSIBLE, status=status(Termination.INFEASIBLE, Point.OPTIMAL))
    assert found["outcome"] == "failed" and "optimal point of a program that has none" in found["detail"]
    found = judged(IMPOSSIBLE, status=status(Termination.INFEASIBLE, Point.FEASIBLE))
    assert found["outcome"] == "failed" and "disagree" in found["detail"]


@pytest.mark.parametrize(("case", "wrong"), [(ENDLESS, Termination.INFEASIBLE), (IMPOSSIBLE, Termination.UNBOUNDED)])
def test_the_other_kind_of_no_answer_fails_and_no_word_is_undecided(case, wrong):
    assert judged(case, status=status(wrong), x=None, row_ray=None)["outcome"] == "failed"
    unknown = judged(case, status=status(Termination.UNKNOWN), x=None, row_ray=None)
    assert unknown["outcome"] == "undecided"


def test_a_strangers_exception_fails():
    def crash(_):
        raise ZeroDivisionError("planted")

    found = conformance.check(Lying(crash), [PLAIN]).iloc[0]
    assert found["outcome"] == "failed" and "not a FairlpError" in found["detail"]


def test_a_limit_is_said_to_be_one():
    stopped = {"x": None, "row_duals": None, "column_duals": None}
    assert judged(LIMIT, status=status(Termination.TIME_LIMIT), **stopped)["outcome"] == "passed"
    for wrong in (Termination.UNKNOWN, Termination.INFEASIBLE):
        found = judged(LIMIT, status=status(wrong), **stopped)
        assert found["outcome"] == "failed" and "stopped by a limit" in found["detail"]
    beyond = judged(LIMIT, status=status(Termination.TIME_LIMIT, Point.FEASIBLE), x=np.full(2, 9.0), row_duals=None)
    assert beyond["outcome"] == "failed" and "is not" in beyond["detail"]
