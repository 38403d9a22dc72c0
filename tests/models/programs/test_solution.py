"""Planted answers: certificates with one wrong number, points that are not what their status says, wrong options."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import fairlp
from fairlp.errors import NoSolutionError, SolverError
from fairlp.models.programs import backends
from fairlp.models.programs.certificate import Certificate, verify
from fairlp.models.programs.options import Options
from fairlp.models.programs.program import LogTerms
from fairlp.models.programs.protocols import Capability
from fairlp.models.programs.rays import proves_infeasible
from fairlp.models.programs.solution import solution_at
from fairlp.models.programs.status import Point, Status, Termination
from fairlp.tolerances import VERIFIED
from plain_programs import INF, program


@pytest.mark.parametrize("deviation", [2 * VERIFIED, 1e-6, 1.0])
@pytest.mark.parametrize(
    "measure", ["primal_residual", "integrality_residual", "dual_residual", "gap"]
)
def test_one_wrong_number_is_enough(measure, deviation):
    right = Certificate(0.0, 0.0, 0.0, 0.0, 0.0)
    assert right.is_optimal and right.is_feasible
    wrong_certificate = dataclasses.replace(right, **{measure: deviation})
    assert not wrong_certificate.is_optimal
    assert wrong_certificate.is_feasible == (measure in ("dual_residual", "gap"))


def test_complementarity_alone_decides_nothing_and_missing_duals_do():
    right = Certificate(0.0, 0.0, 0.0, 1.0, 0.0)
    assert right.is_optimal
    assert not dataclasses.replace(right, dual_residual=None).is_optimal
    assert not dataclasses.replace(right, gap=None).is_optimal


@pytest.mark.parametrize("deviation", [1e-6, 1.0])
def test_a_wrong_dual_that_another_one_hides_is_seen(deviation):
    """max x: x <= 1 twice: duals 1 + off and −off leave the reduced cost at 0."""
    p = program([[1.0], [1.0]], [(-INF, 1.0)] * 2, [(0.0, INF)], [1.0])
    assert verify(p, np.ones(1), np.array([1.0, 0.0])).is_optimal
    assert verify(p, np.ones(1), np.array([0.25, 0.75])).is_optimal
    certificate = verify(p, np.ones(1), np.array([1.0 + deviation, -deviation]))
    assert certificate.dual_residual > deviation / 4 and not certificate.is_optimal


def test_a_dual_objective_above_the_primal_one_is_a_gap():
    """min x: x >= 1, at a point that is below: cheaper than it may be."""
    p = program([[1.0]], [(1.0, INF)], [(0.0, INF)], [1.0], "min")
    assert verify(p, np.ones(1), np.ones(1)).gap == 0.0
    assert verify(p, np.full(1, 0.5), np.ones(1)).gap == pytest.approx(0.5)


def test_the_largest_violation_counts_wherever_it_is():
    p = program(np.eye(2), [(1.0, 2.0), (1.0, 2.0)], [(0.0, 9.0), (0.0, 9.0)])
    assert verify(p, np.array([0.5, 2.0 + 1e-5]), None).primal_residual > 0.2
    assert verify(p, np.array([4.0, 1.0 - 1e-5]), None).primal_residual > 0.2
    bounds = program(np.eye(2), [(0.0, 2.0), (0.0, 2.0)], [(1.0, 2.0), (1.0, 2.0)])
    assert verify(bounds, np.array([0.5, 2.0 + 1e-5]), None).primal_residual > 0.2


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rounding_of_a_row_without_a_right_hand_side_is_no_violation_and_more_is(scale):
    """x <= y, where both could be 1: 1e-13 of it is noise, 1e-7 is not."""
    p = program([[1.0, 1.0], [1.0, -1.0]], [(-INF, scale), (-INF, 0.0)], [(0.0, INF)] * 2)
    assert verify(p, scale * np.array([1e-13, 0.0]), None).is_feasible
    assert not verify(p, scale * np.array([1e-7, 0.0]), None).is_feasible


def test_a_row_is_as_large_as_its_larger_side_and_a_variable_as_its_tightest_row_lets_it():
    wide = program([[1.0]], [(0.0, 1e6)], [(-INF, INF)])
    assert verify(wide, np.full(1, -1e-3), None).is_feasible
    two_rows = program([[1.0], [1.0]], [(-INF, 1.0), (-INF, 1e9)], [(0.0, INF)])
    assert not verify(two_rows, np.full(1, -1e-3), None).is_feasible


def logarithmic():
    """max log(x + 1) + 5: x <= 3, whose row has the price 1/4."""
    logs = LogTerms("log", np.ones(1), sp.csr_array(np.ones((1, 1))), np.ones(1))
    return program([[1.0]], [(-INF, 3.0)], [(0.0, INF)], logs=logs, offset=5.0)


def test_the_gradient_of_logarithms_is_certified():
    x = np.full(1, 3.0)
    assert verify(logarithmic(), x, np.full(1, 0.25)).is_optimal
    for dual in (0.0, 0.25 + 1e-5, 0.25 - 1e-5, 1 / 3, -0.25):
        assert not verify(logarithmic(), x, np.full(1, dual)).is_optimal, dual
    assert logarithmic().objective_value(x) == pytest.approx(5 + np.log(4))


def test_without_costs_every_feasible_point_is_optimal():
    p = program([[1.0]], [(-INF, 1.0)], [(0.0, INF)])
    assert verify(p, np.full(1, 0.5), np.ones(1)).is_optimal
    assert not verify(p, np.full(1, 1.5), np.ones(1)).is_optimal


def test_rounding_in_a_price_does_not_spoil_a_proof_and_an_unbounded_variable_does():
    """0.1 + 0.2 − 0.3 is not 0 in floats; z is free."""
    p = program(
        [[1.0, 0.1], [0.0, 0.2], [-1.0, -0.3]],
        [(1.0, INF)] * 2 + [(0.0, INF)],
        [(0.0, INF), (-INF, INF)],
    )
    assert proves_infeasible(p, np.ones(3))
    assert not proves_infeasible(p, np.array([1.0, 0.9, 1.0]))
    assert not proves_infeasible(
        p, np.array([1.0, 1.0, -1.0])
    )  # a side that the last row does not have


def answer(p, x, duals=None, termination=Termination.OPTIMAL):
    return solution_at(p, termination, "planted", "nobody", x, duals, duals)


def test_what_duals_do_not_prove_is_not_called_optimal():
    p = program([[1.0]], [(-INF, 1.0)], [(0.0, INF)], [1.0])
    right = answer(p, np.ones(1), np.ones(1))
    assert right.checked() is right
    below = answer(p, np.full(1, 0.5), np.ones(1)).checked()
    assert below.status.termination is Termination.UNKNOWN and below.status.primal is Point.FEASIBLE
    assert below.x is not None and below.row_duals is None and below.column_duals is None
    beyond = answer(p, np.full(1, 1.5), np.ones(1)).checked()
    assert beyond.status.primal is Point.INFEASIBLE and not beyond.status.is_optimal


def test_optimal_needs_a_point_and_a_limit_is_never_optimal():
    p = program([[1.0]], [(-INF, 1.0)], [(0.0, INF)], [1.0])
    nothing = answer(p, None)
    assert nothing.status.termination is Termination.UNKNOWN and not nothing.status.is_optimal
    assert "objective" not in repr(nothing) and "objective 1>" in repr(answer(p, np.ones(1)))
    solution = answer(p, np.ones(1), np.ones(1), Termination.TIME_LIMIT)
    assert (
        solution.status.primal is solution.status.dual is Point.FEASIBLE
        and not solution.status.is_optimal
    )
    with pytest.raises(NoSolutionError, match="time limit"):
        solution.require_optimal()
    assert not Status(Termination.OPTIMAL, Point.FEASIBLE, Point.NONE, "").is_optimal
    assert not Status(Termination.TIME_LIMIT, Point.OPTIMAL, Point.OPTIMAL, "").is_optimal


def test_tightened_options_keep_what_was_given():
    highs = backends.find_backend("highs")
    assert Options(primal_tolerance=1e-3).tightened(highs).primal_tolerance == 1e-3
    assert Options().tightened(highs).primal_tolerance == highs.tightest
    assert Options(dual_tolerance=1e-3).tightened(highs).dual_tolerance == 1e-3


def test_the_arrays_of_a_program_cannot_be_changed():
    p = program([[1.0]], [(-INF, 1.0)], [(0.0, INF)], [1.0])
    for array in (
        p.c,
        p.row_lower,
        p.row_upper,
        p.col_lower,
        p.col_upper,
        p.integrality,
        p.A.data,
        p.A.indices,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


class Untouchable:
    """A back end for linear programs that must not be called."""

    name, capabilities = "untouchable", frozenset({Capability.LP})

    def solve(self, program, options):
        raise SolverError("called")


def test_a_time_limit_of_nothing_runs_nothing():
    p = program([[1.0]], [(-INF, 1.0)], [(0.0, INF)], [1.0])
    stopped = backends.solve_on(Untouchable(), p, Options(time_limit=0))
    assert stopped.status.termination is Termination.TIME_LIMIT and stopped.x is None


def test_logarithms_go_to_tangents_where_a_back_end_has_none():
    solution = backends.solve(logarithmic(), "highs", Options())
    assert (
        solution.method == "tangents"
        and solution.x[0] == pytest.approx(3)
        and solution.verify().is_optimal
    )


def test_an_answer_travels_without_the_basis_of_its_solver():
    model = fairlp.formulate(fairlp.examples.load("ghodsi"), "drfh")
    answers = model.solve(), model.solve("scipy"), fairlp.leximin(model)
    for answer in answers:
        second = pickle.loads(pickle.dumps(answer))
        assert second.values["g"].equals(answer.values["g"])
        assert bool(second.certify()) and repr(second) == repr(answer)
    assert copy.deepcopy(model.solve()).verify().is_optimal


def test_a_gap_needs_a_point_and_a_bound():
    right = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve("highs")
    assert right.bound is None and right.gap <= 1e-12  # of the duals
    assert dataclasses.replace(right, bound=right.objective * 1.5).gap == pytest.approx(0.5)
    assert np.isnan(dataclasses.replace(right, row_duals=None).gap)
    assert np.isnan(dataclasses.replace(right, x=None).gap)
    assert np.isnan(dataclasses.replace(right, x=None, bound=1.0).gap)


def test_a_gap_beside_an_objective_of_0_is_0_or_infinite():
    nothing = program([[1.0]], [(-INF, 1.0)], [(0.0, 0.0)], [1.0])
    solution = solution_at(nothing, Termination.OPTIMAL, "", "nobody", np.zeros(1), None, None)
    assert (
        dataclasses.replace(solution, bound=0.0).gap == 0
        and dataclasses.replace(solution, bound=0.1).gap == INF
    )
