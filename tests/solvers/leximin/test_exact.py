"""Rounds in rationals: levels done by hand, along a tree too, and a simplex method that lies or fails."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import fairlp
from fairlp import Index, Model, examples
from fairlp.errors import SolverError
from fairlp.formulations import max_min
from fairlp.models.programs.exact_certificate import BASIC, BasisProof, ExactBasis, optimal_from
from fairlp.models.programs.program import Program
from fairlp.solvers.leximin import exact
from fairlp.solvers.leximin.exact import exact_leximin
from profiles import many

pytest.importorskip("flint")


def thirds(nobody_first=False):
    """Three users share cpu at levels of 1/3 and leave half of the memory, which the fourth has alone."""
    demands = [[1, 0.5], [1, 0.5], [1, 0.5], [0, 1]]
    return fairlp.Instance.from_arrays(
        [[1, 1], *demands] if nobody_first else demands,
        [[8, 8]],
        task_limits=[0, *[np.inf] * 4] if nobody_first else None,
    )


def test_levels_are_fractions_and_are_carried_on_as_they_are():
    verdict = exact_leximin(thirds(), max_min.drf)[0]
    assert verdict.holds and verdict.message == "in rationals, 2 rounds"
    assert verdict.levels == (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3), Fraction(1, 2))


def test_whoever_can_run_nothing_has_no_level_and_leaves_the_others_theirs():
    levels = exact_leximin(thirds(nobody_first=True), max_min.drf)[0].levels
    assert levels == (None, Fraction(1, 3), Fraction(1, 3), Fraction(1, 3), Fraction(1, 2))


def test_tasks_have_the_levels_on_servers_that_were_merged():
    instance = fairlp.Instance.from_arrays(
        [[1, 2], [2, 1]], [[4, 4], [4, 4], [8, 2]], counts=[2, 1, 1]
    )
    verdict, tasks = exact_leximin(instance, max_min.tsf)
    due = instance.gamma(ignore_placement=True).sum(axis=1)
    assert verdict.holds and tasks.shape == (2, 3)
    assert verdict.exact.notes == ("identical servers are one: 1 of 3 are merged",)
    assert (
        tasks.sum(axis=1) >= due * [float(level) for level in verdict.levels] * (1 - 1e-12)
    ).all()
    assert (
        tasks.T @ instance.demands <= instance.capacities * instance.counts[:, None] * (1 + 1e-12)
    ).all()


def lie(monkeypatch, verdict, after=0):
    """Let the simplex method give this proof, from a call on, whatever is asked; return what it was asked."""
    bases, honest = [], exact.optimal_from

    def lying(program, columns, rows, *exact_parts):
        bases.append((list(columns), list(rows)))
        return (verdict, 0) if len(bases) > after else honest(program, columns, rows, *exact_parts)

    monkeypatch.setattr(exact, "optimal_from", lying)
    return bases


def test_a_round_that_is_not_proved_ends_it_and_leaves_no_point(monkeypatch):
    x = [Fraction(1)] * 5
    planted = BasisProof(False, "planted", objective=Fraction(1), x=x, row_duals=[Fraction(-1)] * 6)
    bases = lie(monkeypatch, planted)
    verdict, tasks = exact_leximin(thirds(), max_min.drf)
    assert (
        not verdict.holds
        and verdict.message == "round 1: planted"
        and verdict.levels == (None,) * 4
    )
    assert (tasks == 0).all() and len(bases) == 2  # from the solver's basis, and from none


def test_a_later_round_that_is_not_proved_keeps_the_levels_before(monkeypatch):
    lie(monkeypatch, BasisProof(False, "planted", objective=Fraction(1)), after=1)
    verdict, tasks = exact_leximin(thirds(), max_min.drf)
    assert (tasks == 0).all()
    assert not verdict.holds and verdict.message == "round 2: planted"
    assert verdict.levels == (Fraction(1, 3),) * 3 + (None,)


def test_a_round_that_blocks_nobody_ends_it(monkeypatch):
    lie(
        monkeypatch,
        BasisProof(
            True, "", objective=Fraction(1), x=[Fraction(1)] * 5, row_duals=[Fraction(0)] * 6
        ),
    )
    verdict = exact_leximin(thirds(), max_min.drf)[0]
    assert not verdict.holds and verdict.message == "round 1: no user is blocked"


def test_without_a_solver_the_rounds_begin_with_no_basis_and_go_on_from_the_last(monkeypatch):
    def failing(self, *args, **options):
        raise SolverError("planted")

    monkeypatch.setattr(Program, "solve", failing)
    honest, bases, proved_bases = exact.optimal_from, [], []

    def recorded(program, columns, rows, *exact_parts):
        bases.append((list(columns), list(rows)))
        proof, pivots = honest(program, columns, rows, *exact_parts)
        proved_bases.append(proof.basis)
        return proof, pivots

    monkeypatch.setattr(exact, "optimal_from", recorded)
    verdict = exact_leximin(thirds(), max_min.drf)[0]
    assert verdict.holds and verdict.levels[3] == Fraction(1, 2)
    assert bases[0] == ([0] * 5, [1] * 6) and bases[1] == proved_bases[0]
    assert 1 in bases[1][0] and bases[1] != bases[0]


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_round_that_is_not_proved_proves_nothing(monkeypatch, failing):
    allocation = fairlp.allocate(examples.load("bhattacharya-blocked"), "h-drf")
    right, calls = exact.ServersInRationals.solve, []

    def planted(self, cost):
        calls.append(cost)
        proof = right(self, cost)
        return replace(proof, holds=False, message="planted") if len(calls) == failing else proof

    monkeypatch.setattr(exact.ServersInRationals, "solve", planted)
    verdict = allocation.certify(exact=True)
    assert (
        not verdict
        and verdict.message.startswith("not proved: round ")
        and "planted" in verdict.message
    )


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


N = Index("n", ["ann", "bob"], "user")


def test_pivots_that_meet_a_singular_basis_leave_the_verdict(monkeypatch):
    model = Model("m", indices=(N,))
    x = model.variable("x", N)
    model.constraint("cake", 2 * x["ann"] + x["bob"] <= 4)
    model.maximize(x["ann"] + x["bob"])
    program = model.compile()
    start = [0] * program.n_columns, [1] * program.n_rows  # everything at its bound, the row basic
    proof, pivots = optimal_from(program, *start)
    assert proof.holds and proof.objective == 4 and pivots

    def singular(self):
        raise ZeroDivisionError

    monkeypatch.setattr(ExactBasis, "primal_step", singular)
    proof, _ = optimal_from(program, *start)
    assert not proof.holds


@pytest.mark.parametrize("mechanism", ["drfh", "h-drf", "h-drf-counted"])
@pytest.mark.parametrize("seed", range(many(40)))
def test_guarantees_that_use_a_resource_up_are_proved_in_rationals(seed, mechanism):
    """Users of two queues have their guarantees of cpu and no more; those of a third share the memory."""
    rng = np.random.default_rng(seed)
    users = int(rng.integers(3, 7))
    queue = ["a", "b", "c", *rng.choice(["a", "b", "c"], users - 3)]
    uses_memory = np.array(queue) == "c"
    size = rng.integers(1, 4, users)
    demands = np.column_stack([np.where(uses_memory, 0, size), np.where(uses_memory, size, 0)])
    guarantees = {name: float(rng.integers(1, 7)) for name in ("a", "b")}
    instance = fairlp.Instance.from_arrays(
        demands,
        [[sum(guarantees.values()), 7]],
        resources=["cpu", "memory"],
        queue=queue,
        queues={name: {"guarantee": {"cpu": amount}} for name, amount in guarantees.items()},
    )
    proof = fairlp.allocate(instance, mechanism).certify(exact=True)
    assert proof.holds, proof.message
