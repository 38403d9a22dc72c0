"""Exact certificates: rationals checked by hand, perturbed bases rejected, and the leximin's levels proved."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import examples
from fairlp.errors import UnsupportedError
from fairlp.formulations import max_min
from fairlp.models.programs import exact_certificate
from fairlp.models.programs.exact_certificate import (
    BASIC,
    FREE,
    LOWER,
    UPPER,
    optimal_from,
    prove,
    prove_basis,
)
from fairlp.models.programs.program import LogTerms
from fairlp.models.programs.solution import solution_at
from fairlp.models.programs.status import Termination
from instances import random_instance
from plain_programs import INF, program
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
    objective = sum(Fraction(float(c)) * v for c, v in zip(program.c, x, strict=True))
    assert (
        bound == sign * objective and objective + Fraction(float(program.offset)) == proof.objective
    )


@settings(max_examples=many(60), deadline=None)
@given(st.integers(0, 10**9))
def test_a_proved_basis_is_optimal_by_hand(seed):
    instance = random_instance(seed, integers=seed % 2 == 0)
    solution = max_min.drfh(instance).solve(method="simplex")
    proof, _ = optimal_from(solution.program, *statuses(solution))
    assert proof.holds
    by_hand(solution.program, proof)
    assert float(proof.objective) == pytest.approx(solution.objective, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "example", ["wang-figure-1", "khamse-ashari-figure-1", "google-cluster", "ghodsi"]
)
def test_solutions_certify_themselves(example):
    solution = fairlp.formulate(examples.load(example), "drfh").solve(method="simplex")
    assert solution.certify(exact=True).holds and solution.certify().holds
    by_hand(solution.program, solution.certify(exact=True))


def test_perturbed_bases_are_rejected_by_name():
    solution = fairlp.formulate(examples.load("khamse-ashari-figure-1"), "tsf").solve(
        method="simplex"
    )
    columns, rows = statuses(solution)
    rejections = 0
    for j in range(len(columns)):
        for i in range(len(rows)):
            if (columns[j] == 1) == (rows[i] == 1):
                continue
            other_columns, other_rows = list(columns), list(rows)
            other_columns[j], other_rows[i] = (0, 1) if columns[j] == 1 else (1, 0)
            verdict = prove_basis(solution.program, other_columns, other_rows)
            if verdict.holds:  # another optimal basis, of the same value
                assert verdict.objective == solution.certify(exact=True).objective
            else:
                rejections += 1
                assert (
                    "not " in verdict.message
                    or "singular" in verdict.message
                    or "no basis" in verdict.message
                )
    assert rejections > 3
    assert (
        "not optimal" in prove_basis(solution.program, [0] * len(columns), [1] * len(rows)).message
    )


def test_pivots_mend_a_basis_from_anywhere():
    """From the empty basis the rational simplex method reaches the optimum that HiGHS found."""
    solution = fairlp.formulate(examples.load("wang-figure-1"), "drfh").solve(method="simplex")
    proof, pivots = optimal_from(
        solution.program, [0] * solution.program.n_columns, [1] * solution.program.n_rows
    )
    assert proof.holds and pivots > 0 and proof.objective == solution.certify(exact=True).objective


@pytest.mark.slow
@settings(max_examples=many(50), deadline=None)
@given(st.integers(0, 10**9))
def test_allocations_are_proved_and_changed_ones_are_not(seed):
    instance = random_instance(seed)
    for mechanism in ("drfh", "tsf", "asset"):
        allocation = fairlp.allocate(instance, mechanism)
        verdict = allocation.certify(exact=True)
        assert verdict.holds, verdict.message
        assert verdict.gap <= 1e-12
        if allocation.totals.max() > 0:
            changed = dataclasses.replace(allocation, tasks_array=allocation.tasks_array * 0.999)
            assert not changed.certify(exact=True) and not changed.certify()


@pytest.mark.parametrize(
    ("chosen_seed", "mechanism"), [(1543, "tsf"), (1576, "drfh"), (1597, "tsf"), (1640, "tsf")]
)
def test_a_basis_within_rounding_of_an_optimal_one_is_mended(chosen_seed, mechanism):
    """HiGHS calls these bases optimal; in rationals a sign or a bound is off by less than its tolerances."""
    program = fairlp.formulate(
        random_instance(chosen_seed, integers=chosen_seed % 2 == 0), mechanism
    )
    solution = program.solve(method="simplex")
    empty = [0] * solution.program.n_columns, [1] * solution.program.n_rows
    case = dataclasses.replace(
        solution, basis=SimpleNamespace(col_status=empty[0], row_status=empty[1])
    )
    for answer in (solution, case):
        proof = answer.certify(exact=True)
        assert proof.holds, proof.message
        by_hand(solution.program, proof)
    assert "pivots from" in case.certify(exact=True).message
    wrong_case = dataclasses.replace(case, x=solution.x * (1 - 1e-5))
    assert (
        not wrong_case.certify(exact=True).holds
        and "not optimal" in wrong_case.certify(exact=True).message
    )


def test_levels_are_the_papers_fractions():
    certificate = fairlp.allocate(examples.load("khamse-ashari-figure-1"), "c-drfh").certify(
        exact=True
    )
    assert certificate.holds and {
        level.limit_denominator(10**6) for level in certificate.levels
    } == {Fraction(12, 46)}
    assert fairlp.allocate(examples.load("ghodsi"), "drf").certify(exact=True).levels[
        0
    ] == pytest.approx(2 / 3)


# Exact proofs, given planted wrong bases, and the pivots that mend them; programs small enough to
# do by hand.

pytest.importorskip("flint")


def ranged(sense="max"):
    """max 3x + 2y + 10: 1 <= x + y <= 4, x + 3y >= 1, 0 <= x <= 3, y free: x = 3, y = 1."""
    c = [3.0, 2.0] if sense == "max" else [-3.0, -2.0]
    return program(
        [[1, 1], [1, 3]], [(1, 4), (1, INF)], [(0, 3), (-INF, INF)], c, sense, offset=10.0
    )


def test_the_right_basis_is_proved_and_its_numbers_are_exact():
    proof = prove_basis(ranged(), [UPPER, BASIC], [UPPER, BASIC])
    assert proof.holds and proof.objective == 21 and proof.x == [3, 1] and proof.row_duals == [2, 0]
    other = prove_basis(ranged("min"), [UPPER, BASIC], [UPPER, BASIC])
    assert other.holds and other.objective == -1 and other.row_duals == [-2, 0]


@pytest.mark.parametrize(
    ("columns", "rows", "message"),
    [
        ([UPPER, BASIC], [LOWER, BASIC], "not feasible: row"),  # x = 3, y = -2
        (
            [LOWER, BASIC],
            [UPPER, BASIC],
            "the basis is not optimal: the reduced cost",
        ),  # x = 0, y = 4
        ([LOWER, BASIC], [LOWER, BASIC], "the basis is not optimal"),
        ([BASIC, BASIC], [UPPER, LOWER], "not feasible: column"),  # x = 5.5
        ([BASIC, BASIC], [UPPER, BASIC], "no basis: 2 basic columns for 1 active rows"),
        ([UPPER, LOWER], [UPPER, BASIC], "no basis: 0 basic columns for 1 active rows"),
        (
            [UPPER, BASIC],
            [BASIC, UPPER],
            "no basis: a row is said to be at a bound that it does not have",
        ),
    ],
)
def test_a_wrong_basis_is_refused_by_name(columns, rows, message):
    proof = prove_basis(ranged(), columns, rows)
    assert not proof.holds and proof.message.startswith(message), proof.message


@pytest.mark.parametrize(
    ("bounds", "row", "statuses", "name"),
    [
        ((0, 3), (-1, 5), (BASIC, LOWER), "column"),
        ((0, 3), (-1, 5), (BASIC, UPPER), "column"),
        ((0, 3), (1, 2), (LOWER, BASIC), "row"),
        ((0, 3), (1, 2), (UPPER, BASIC), "row"),
        ((0, 0.3), (0.1 + 0.2, INF), (BASIC, LOWER), "column"),  # by one bit
    ],
)
def test_a_vertex_out_of_a_bound_is_not_feasible(bounds, row, statuses, name):
    p = program([[1.0]], [row], [bounds])
    proof = prove_basis(p, [statuses[0]], [statuses[1]])
    assert not proof.holds and proof.message.startswith(f"not feasible: {name}")


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("cost", [1.0, -1.0, 1e-300])
def test_a_reduced_cost_has_to_keep_its_variable_where_it_is(sense, cost):
    p = program([[1.0]], [(-INF, INF)], [(0, 3)], [cost], sense)
    low = (cost > 0) == (sense == "min")
    assert prove_basis(p, [LOWER], [BASIC]).holds == low
    assert prove_basis(p, [UPPER], [BASIC]).holds == (not low)
    fixed = p.replace(col_lower=np.ones(1), col_upper=np.ones(1))
    assert prove_basis(fixed, [LOWER], [BASIC]).holds and prove_basis(fixed, [UPPER], [BASIC]).holds
    free = p.replace(col_lower=np.full(1, -INF), col_upper=np.full(1, INF))
    assert not prove_basis(free, [FREE], [BASIC]).holds
    assert prove_basis(free.replace(c=np.zeros(1)), [FREE], [BASIC]).holds


@pytest.mark.parametrize("sense", ["min", "max"])
def test_a_dual_has_to_belong_to_the_side_that_is_there(sense):
    p = program([[1.0]], [(1, 2)], [(0, 3)], [1.0], sense)
    assert prove_basis(p, [BASIC], [LOWER]).holds == (sense == "min")
    assert prove_basis(p, [BASIC], [UPPER]).holds == (sense == "max")


def test_exact_floors_take_the_place_of_floats():
    p = program([[3.0]], [(0, INF)], [(0, 3)], [1.0], "min")
    assert prove_basis(p, [BASIC], [LOWER], [Fraction(1, 7)]).objective == Fraction(1, 21)
    proof, pivots = optimal_from(p, [LOWER], [BASIC], [Fraction(1, 7)])
    assert proof.holds and pivots == 1 and proof.objective == Fraction(1, 21)
    assert not prove_basis(p, [LOWER], [BASIC], [Fraction(1, 10**300)]).holds


def test_a_singular_basis_is_said_to_be_one():
    p = program([[1, 1], [2, 2]], [(0, 1), (0, 2)], [(0, 1)] * 2)
    assert prove_basis(p, [BASIC, BASIC], [UPPER, UPPER]).message == "the basis is singular"
    assert not optimal_from(p, [BASIC, BASIC], [UPPER, UPPER])[0].holds


def test_only_linear_programs_are_proved():
    class Basis:
        col_status = row_status = (LOWER,)

    p = program([[1.0]], [(0, 1)], [(0, 1)], [1.0])
    logs = LogTerms("log", np.ones(1), sp.csr_array(np.ones((1, 1))), np.ones(1))
    for other in (p.replace(logs=logs), p.replace(integrality=np.ones(1, dtype=np.uint8))):
        solution = solution_at(
            other, Termination.OPTIMAL, "", "nobody", np.zeros(1), None, None, basis=Basis()
        )
        with pytest.raises(UnsupportedError, match="no linear program"):
            prove(solution)


def awkward(seed):
    """A bounded program of small whole numbers, with equal rows, boxes, ranges and fixed variables."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    inside = rng.integers(0, 3, n)
    A = rng.integers(-2, 4, (m, n))
    activity = A @ inside
    low = np.where(rng.random(m) < 0.5, activity - rng.integers(0, 3, m), -INF)
    high = np.where(np.isneginf(low) | (rng.random(m) < 0.4), activity + rng.integers(0, 3, m), INF)
    upper = inside + rng.integers(0, 4, n)
    sense = "max" if seed % 2 else "min"
    return program(
        A, list(zip(low, high, strict=True)), [(0, u) for u in upper], rng.integers(-3, 4, n), sense
    )


def random_basis(p, rng):
    """Statuses with as many basic columns as active rows, active at sides that are there."""
    columns, rows = [LOWER] * p.n_columns, [BASIC] * p.n_rows
    count = int(rng.integers(0, min(p.n_columns, p.n_rows) + 1))
    for j in range(p.n_columns):
        columns[j] = int(rng.choice([LOWER, UPPER]))
    for j in rng.permutation(p.n_columns)[:count]:
        columns[j] = BASIC
    for i in rng.permutation(p.n_rows)[:count]:
        sides = [s for s, b in ((LOWER, p.row_lower[i]), (UPPER, p.row_upper[i])) if np.isfinite(b)]
        rows[i] = int(rng.choice(sides))
    return columns, rows


@pytest.mark.slow
def test_pivots_reach_the_optimum_from_any_basis():
    """From hundreds of random bases: primal and dual infeasible, at either bound, with boxes and ties."""
    tried = 0
    for seed in range(160):
        p = awkward(seed)
        best = p.solve("highs", method="simplex").objective
        rng = np.random.default_rng(seed)
        for _ in range(4):
            proof, pivots = optimal_from(p, *random_basis(p, rng))
            if proof.objective is None:
                continue  # singular to begin with
            assert proof.holds, (seed, proof.message)
            assert float(proof.objective) == pytest.approx(best, abs=1e-9) and pivots < 40
            tried += pivots > 0
    assert tried > 200


def test_dual_pivots_keep_the_shifted_costs_right(monkeypatch):
    """Before and after every dual pivot, nothing that is not basic would lower the shifted objective."""
    step, moves = exact_certificate.ExactBasis.dual_step, []

    def watched(self):
        line_numbers = [
            thing for thing in self.vertex.reduced if self.vertex.pays(thing, self.cost(thing))
        ]
        moved = step(self)
        ended = [
            thing for thing in self.vertex.reduced if self.vertex.pays(thing, self.cost(thing))
        ]
        assert not line_numbers and not ended
        moves.append(moved)
        return moved

    monkeypatch.setattr(exact_certificate.ExactBasis, "dual_step", watched)
    for seed in range(120):
        p = awkward(seed)
        optimal_from(p, *random_basis(p, np.random.default_rng(seed)))
    assert sum(moves) > 60


def test_what_pivots_cannot_mend_is_not_proved():
    """x >= 2 where x <= 1; and an unbounded one."""
    impossible = program([[1.0]], [(2, INF)], [(0, 1)], [1.0])
    assert not optimal_from(impossible, [LOWER], [BASIC])[0].holds
    endless = program([[1.0]], [(-INF, INF)], [(0, INF)], [1.0])
    assert not optimal_from(endless, [LOWER], [BASIC])[0].holds


def test_a_point_at_another_objective_than_the_exact_optimum_is_not_proved():
    # two rows that differ by rounding only: for a solver they are one line, in rationals they meet
    # at (½, ½)
    apart = 2.0**-45
    rows, sides = [[1, 1], [1, 1 + apart]], [(1, 1), (1 + apart / 2, 1 + apart / 2)]
    line = program(rows, sides, [(0, INF), (0, INF)], [0.0, 1.0], "min", offset=1.0)
    solution = line.solve("highs", method="simplex")
    assert solution.objective == pytest.approx(1) and solution.verify().is_optimal
    proof = prove(solution)
    # 1.5 is worse than the point, which breaks the rows by rounding only: no better point is known
    assert not proof.holds and proof.objective == Fraction(3, 2)
    assert proof.message.startswith("not proved: ")
    assert proof.message.endswith("the exact optimum is 1.5")


def test_a_point_that_is_not_the_vertex_of_its_own_basis_is_not_proved():
    right = ranged().solve("highs", method="simplex")
    assert prove(right).holds
    assert not prove(replace(right, x=np.array([2.0, 1.0]))).holds


def test_a_worse_point_is_not_proved_beside_a_large_constant():
    large = program([[1, 1]], [(-INF, 2)], [(0, INF), (0, INF)], [1.0, 2.0], "max", offset=1e9)
    right = large.solve("highs", method="simplex")
    assert prove(right).holds
    proof = prove(replace(right, x=np.array([1.0, 1.0])))
    assert not proof.holds
    assert proof.message.startswith(
        "not optimal: the objective is 1000000003, and 1000000004 is possible"
    )


def test_a_basis_that_is_none_proves_nothing_whatever_the_point():
    right = ranged().solve("highs", method="simplex")
    basis = SimpleNamespace(col_status=[BASIC, BASIC], row_status=[UPPER, BASIC])
    proof = prove(replace(right, basis=basis))
    assert (
        not proof.holds
        and proof.message == "not proved: no basis: 2 basic columns for 1 active rows"
    )
