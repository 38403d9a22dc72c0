"""The certificate that everything trusts, given planted wrong answers: each residual, sign, bound, gap, integrality."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from fairlp.models.programs.certificate import certify, proves_infeasible
from fairlp.models.programs.program import Block, Program
from fairlp.tolerances import VERIFIED

INF = np.inf
#: Errors that a certificate must see: beside its tolerance, small, and large.
OFF = (30 * VERIFIED, 1e-3, 1.0)


def program(**changes):
    """max 3x + 2y: x + y <= 4, x + 3y >= 1, 0 <= x <= 3, y free: x = 3, y = 1, worth 11."""
    parts = {
        "name": "planted",
        "sense": "max",
        "c": np.array([3.0, 2.0]),
        "offset": 0.0,
        "A": sp.csc_array(np.array([[1.0, 1.0], [1.0, 3.0]])),
        "row_lower": np.array([-INF, 1.0]),
        "row_upper": np.array([4.0, INF]),
        "col_lower": np.array([0.0, -INF]),
        "col_upper": np.array([3.0, INF]),
        "integrality": np.zeros(2, dtype=np.uint8),
        "rows": (Block("row", (), 0, 2),),
        "columns": (Block("column", (), 0, 2),),
    }
    return Program(**(parts | changes))


X, DUALS = np.array([3.0, 1.0]), np.array([2.0, 0.0])


def mirrored():
    """The same as a minimum."""
    return program(sense="min", c=np.array([-3.0, -2.0])), X, -DUALS


def test_the_optimum_is_proved_in_both_senses():
    for p, x, duals in ((program(), X, DUALS), mirrored()):
        found = certify(p, x, duals, duals)
        assert found.is_optimal and found.is_feasible and found.gap == found.dual_residual == 0
        assert found.primal_residual == found.complementarity == found.integrality_residual == 0


@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize(
    ("what", "x"),
    [
        ("a row over its upper side", (3.0, 1.0 + 8)),
        ("a row below its lower side", (0.0, 1 / 3 - 1)),
        ("a variable over its bound", (3.0 + 4, 0.9 - 4)),
        ("a variable below its bound", (0.0 - 4, 3.0)),
    ],
)
def test_what_is_beyond_a_side_or_a_bound_is_seen(off, what, x):
    inside = {"a row over its upper side": X, "a row below its lower side": np.array([0.0, 1 / 3])}
    inside |= {"a variable over its bound": np.array([3.0, 0.9]), "a variable below its bound": np.array([0.0, 3.0])}
    planted = inside[what] + off * (np.array(x) - inside[what])
    assert certify(program(), inside[what], None, None).is_feasible
    found = certify(program(), planted, None, None)
    assert not found.is_feasible and found.primal_residual > off / 8
    assert not certify(program(), planted, DUALS, DUALS).is_optimal


@pytest.mark.parametrize("off", OFF)
def test_a_feasible_point_that_is_not_optimal_has_a_gap(off):
    found = certify(program(), np.array([3.0, 1.0 - off]), DUALS, DUALS)
    assert found.is_feasible and not found.is_optimal
    assert found.gap == pytest.approx(2 * off / 11, rel=0.3) and found.complementarity > off / 8


@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize(("row", "sign"), [(0, -1.0), (1, 1.0)])
def test_a_dual_of_the_wrong_sign_is_seen(off, row, sign):
    """In a maximum, a row's upper side has a price >= 0 and its lower side one <= 0; the other side is not there."""
    for p, x, factor in ((program(), X, 1.0), (*mirrored()[:2], -1.0)):
        duals = np.zeros(2)
        duals[row] = sign * off * factor
        found = certify(p, x, duals, duals)
        assert found.dual_residual > off / 16 and not found.is_optimal


@pytest.mark.parametrize("off", OFF)
def test_a_reduced_cost_without_a_bound_is_seen(off):
    """y is free, so that its reduced cost must be 0: 2 less what the row charges."""
    for change in (off, -off):
        found = certify(program(), X, DUALS + np.array([change, 0.0]), DUALS)
        assert found.dual_residual > off / 16 and not found.is_optimal


def test_a_reduced_cost_belongs_to_the_bound_on_its_side():
    """x stays below its upper bound though it pays: the gap is what that costs."""
    found = certify(program(), np.array([1.0, 3.0]), DUALS, DUALS)
    assert found.is_feasible and found.dual_residual == 0 and found.gap == pytest.approx(2 / 11)


@pytest.mark.parametrize("off", [10 * VERIFIED, 0.01, 0.5])
def test_a_fraction_of_an_integer_variable_is_seen(off):
    whole = program(integrality=np.array([1, 0], dtype=np.uint8))
    assert certify(whole, X, None, None).is_feasible
    found = certify(whole, np.array([3.0 - off, 1.0]), None, None)
    assert found.integrality_residual == pytest.approx(off) and found.primal_residual == 0 and not found.is_feasible


def test_without_duals_nothing_is_optimal():
    found = certify(program(), X, None, None)
    assert found.is_feasible and not found.is_optimal and found.gap is None and found.dual_residual is None


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_residuals_do_not_depend_on_the_units_of_rows_columns_and_objective(scale):
    """Rows in other units (times scale), columns in others (over scale), money in others."""
    p = program()
    rows, columns = np.array([scale, 1.0]), np.array([1.0, 1 / scale])
    A = sp.csc_array(p.A.toarray() * rows[:, None] * columns)
    other = p.replace(
        A=A,
        c=p.c * columns * 7,
        row_lower=p.row_lower * rows,
        row_upper=p.row_upper * rows,
        col_upper=p.col_upper / columns,
    )
    for x, duals in (
        (X, DUALS),
        (X + np.array([0, 1e-3]), DUALS),
        (X, DUALS + np.array([1e-3, 0])),
        (X, DUALS * [1, 0] - [0, 1e-3]),
    ):
        one = dataclasses.astuple(certify(p, x, duals, duals))
        two = dataclasses.astuple(certify(other, x / columns, 7 * duals / rows, duals))
        assert two == pytest.approx(one, rel=1e-6, abs=1e-12)


def test_multipliers_prove_infeasibility_only_if_they_do():
    impossible = program(row_lower=np.array([-INF, 20.0]), col_lower=np.array([0.0, 0.0]))  # x + 3y >= 20, x + y <= 4
    assert proves_infeasible(impossible, np.array([-3.0, 1.0]))
    for wrong in ([0.0, 0.0], [3.0, -1.0], [-3.0, -1.0], [-1.0, 1.0], [0.0, 1.0]):
        assert not proves_infeasible(impossible, np.array(wrong)), wrong
    assert not proves_infeasible(program(), np.array([-3.0, 1.0]))
    # 12 = 3·4 is what the rows can give: at 12 a point is left, a little above none
    edge = program(row_lower=np.array([-INF, 12.0]), col_lower=np.array([0.0, 0.0]))
    assert not proves_infeasible(edge, np.array([-3.0, 1.0]))
    assert proves_infeasible(edge.replace(row_lower=np.array([-INF, 12.001])), np.array([-3.0, 1.0]))
