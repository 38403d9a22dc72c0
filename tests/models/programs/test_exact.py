"""Exact certificates: rationals checked by hand, perturbed bases rejected, and the leximin's levels proved."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairlp
from fairlp import examples
from fairlp.errors import NotDefinedError, UnsupportedError
from fairlp.formulations import max_min
from fairlp.models.programs.exact_certificate import prove_basis
from fairlp.models.programs.exact_simplex import optimal_from
from instances import random_instance
from profiles import many

pytest.importorskip("flint")


def statuses(solution):
    return [int(s) for s in solution.basis.col_status], [int(s) for s in solution.basis.row_status]


def by_hand(program, proof):
    """Primal feasibility, dual signs and equal objectives in Fractions, without any of fairlp's code."""
    A = program.A.tocsc()
    sign = 1 if program.sense == "min" else -1
    x, y = proof.x, [sign * price for price in proof.row_duals]
    activity = [Fraction(0)] * program.n_rows
    reduced = [sign * Fraction(float(c)) for c in program.c]
    for j in range(program.n_columns):
        for k in range(A.indptr[j], A.indptr[j + 1]):
            i, value = A.indices[k], Fraction(float(A.data[k]))
            activity[i] += value * x[j]
            reduced[j] -= value * y[i]
    bound = Fraction(0)
    for prices, values, lower, upper in (
        (y, activity, program.row_lower, program.row_upper),
        (reduced, x, program.col_lower, program.col_upper),
    ):
        for price, value, low, high in zip(prices, values, lower, upper, strict=True):
            assert not np.isfinite(low) or value >= Fraction(float(low))
            assert not np.isfinite(high) or value <= Fraction(float(high))
            if price:
                side = low if price > 0 else high
                assert np.isfinite(side)
                bound += price * Fraction(float(side))
    own = sum(Fraction(float(c)) * v for c, v in zip(program.c, x, strict=True))
    assert bound == sign * own and own + Fraction(float(program.offset)) == proof.objective


@settings(max_examples=many(60), deadline=None)
@given(st.integers(0, 10**9))
def test_a_proved_basis_is_optimal_by_hand(seed):
    instance = random_instance(seed, integers=seed % 2 == 0)
    solution = max_min.drfh(instance).solve(method="simplex")
    proof, _ = optimal_from(solution.program, *statuses(solution))
    assert proof.proved
    by_hand(solution.program, proof)
    assert float(proof.objective) == pytest.approx(solution.objective, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("example", ["wang-figure-1", "khamse-ashari-figure-1", "google-cluster", "ghodsi"])
def test_solutions_certify_themselves(example):
    solution = fairlp.formulate(examples.load(example), "drfh").solve(method="simplex")
    assert solution.certify(exact=True).proved and solution.certify().is_optimal
    by_hand(solution.program, solution.certify(exact=True))


def test_perturbed_bases_are_rejected_by_name():
    solution = fairlp.formulate(examples.load("khamse-ashari-figure-1"), "tsf").solve(method="simplex")
    columns, rows = statuses(solution)
    wrong = 0
    for j in range(len(columns)):
        for i in range(len(rows)):
            if (columns[j] == 1) == (rows[i] == 1):
                continue
            other_columns, other_rows = list(columns), list(rows)
            other_columns[j], other_rows[i] = (0, 1) if columns[j] == 1 else (1, 0)
            verdict = prove_basis(solution.program, other_columns, other_rows)
            if verdict.proved:  # another optimal basis, of the same value
                assert verdict.objective == solution.certify(exact=True).objective
            else:
                wrong += 1
                assert "not " in verdict.message or "singular" in verdict.message or "no basis" in verdict.message
    assert wrong > 3
    assert "not optimal" in prove_basis(solution.program, [0] * len(columns), [1] * len(rows)).message


def test_pivots_mend_a_basis_from_anywhere():
    """From the empty basis the rational simplex method reaches the optimum that HiGHS found."""
    solution = fairlp.formulate(examples.load("wang-figure-1"), "drfh").solve(method="simplex")
    proof, pivots = optimal_from(solution.program, [0] * solution.program.n_columns, [1] * solution.program.n_rows)
    assert proof.proved and pivots > 0 and proof.objective == solution.certify(exact=True).objective


@settings(max_examples=many(50), deadline=None)
@given(st.integers(0, 10**9))
def test_allocations_are_proved_and_changed_ones_are_not(seed):
    instance = random_instance(seed)
    for mechanism in ("drfh", "tsf", "asset"):
        allocation = fairlp.allocate(instance, mechanism)
        verdict = allocation.certify(exact=True)
        assert verdict.proved, verdict.message
        assert verdict.difference <= 1e-12
        if allocation.totals.max() > 0:
            changed = dataclasses.replace(allocation, tasks_array=allocation.tasks_array * 0.999)
            assert not changed.certify(exact=True) and not changed.certify()


@pytest.mark.parametrize(("seed", "mechanism"), [(1543, "tsf"), (1576, "drfh"), (1597, "tsf"), (1640, "tsf")])
def test_a_basis_within_rounding_of_an_optimal_one_is_mended(seed, mechanism):
    """HiGHS calls these bases optimal; in rationals a sign or a bound is off by less than its tolerances."""
    program = fairlp.formulate(random_instance(seed, integers=seed % 2 == 0), mechanism)
    solution = program.solve(method="simplex")
    empty = [0] * solution.program.n_columns, [1] * solution.program.n_rows
    found = dataclasses.replace(solution, basis=SimpleNamespace(col_status=empty[0], row_status=empty[1]))
    for answer in (solution, found):
        proof = answer.certify(exact=True)
        assert proof.proved, proof.message
        by_hand(solution.program, proof)
    assert "pivots from" in found.certify(exact=True).message
    wrong = dataclasses.replace(found, x=solution.x * (1 - 1e-5))
    assert not wrong.certify(exact=True).proved and "not optimal" in wrong.certify(exact=True).message


def test_levels_are_the_papers_fractions():
    found = fairlp.allocate(examples.load("khamse-ashari-figure-1"), "c-drfh").certify(exact=True)
    assert found.proved and {level.limit_denominator(10**6) for level in found.levels} == {Fraction(12, 46)}
    assert fairlp.allocate(examples.load("ghodsi"), "drf").certify(exact=True).levels[0] == pytest.approx(2 / 3)


def test_what_cannot_be_certified_says_so():
    instance = examples.load("ghodsi")
    with pytest.raises(NotDefinedError, match="validate"):
        fairlp.allocate(instance, "drf-discrete").certify()
    assert fairlp.allocate(instance, "psdsf-rdm").certify().proved
    with pytest.raises(NotDefinedError, match="no exact certificate"):
        fairlp.allocate(instance, "psdsf-rdm").certify(exact=True)
    with pytest.raises(UnsupportedError, match="no linear program"):
        fairlp.formulate(instance, "drf-milp").solve().certify(exact=True)
