"""Rounds whose help fails: no proof in rationals, no prices, nobody who could rise, digits that leave a round open."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp import Index, Instance, Model
from fairlp.errors import NoSolutionError, SolverError
from fairlp.mechanisms.validation import Verdict
from fairlp.models.programs.exact_simplex import _Basis, optimal_from
from fairlp.solvers.leximin import of_model
from fairlp.solvers.leximin.rounds import TreeRounds

N = Index("n", ["ann", "bob"], "user")


def shared(**how):
    model = Model("cake", indices=(N,))
    x = model.variable("x", N, **how)
    model.constraint("cake", x.sum() <= 3)
    model.constraint("bob", x["bob"] <= 1)
    return fairlp.leximin(model, x + 0)


def test_a_leximin_of_integers_has_no_prices():
    found = shared(integer=True)
    assert sorted(found.levels.tolist()) == [1, 2]
    with pytest.raises(NoSolutionError, match="gave no duals of 'cake"):
        found.prices  # noqa: B018


def test_a_proof_in_rationals_that_fails_says_why(monkeypatch):
    assert shared().certify(exact=True)
    monkeypatch.setattr(of_model.ExactRounds, "run", lambda self: Verdict(False, "round 2: a basis leads nowhere"))
    found = shared().certify(exact=True)
    assert not found and "round 2: a basis leads nowhere" in str(found)


def test_pivots_that_meet_a_singular_basis_leave_the_verdict(monkeypatch):
    model = Model("m", indices=(N,))
    x = model.variable("x", N)
    model.constraint("cake", 2 * x["ann"] + x["bob"] <= 4)
    model.maximize(x["ann"] + x["bob"])
    program = model.compile()
    start = [0] * program.n_columns, [1] * program.n_rows  # everything at its bound, the row basic
    proof, pivots = optimal_from(program, *start)
    assert proof.proved and proof.objective == 4 and pivots

    def singular(self):
        raise ZeroDivisionError

    monkeypatch.setattr(_Basis, "primal_step", singular)
    proof, _ = optimal_from(program, *start)
    assert not proof.proved


def tree(**more):
    rows = [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]]
    return Instance.from_arrays(rows, [[9.0, 6.0], [4.0, 8.0]], queue=["a", "a", "b"], **more)


def climbed(instance):
    return fairlp.allocate(instance, "h-drf", method="lp").totals.to_numpy()


def test_a_round_that_stops_nobody_is_told(monkeypatch):
    monkeypatch.setattr(TreeRounds, "_blocked", lambda self, *_: np.zeros(len(self.segment.has), dtype=bool))
    with pytest.raises(SolverError, match="a round stopped nobody; no user's row has a price above rounding"):
        climbed(tree())


def test_a_round_that_leaves_somebody_open_is_solved_again(monkeypatch):
    wanted, honest, asked = climbed(tree()), TreeRounds.leaves_open, []

    def leaves_open(self, solution):
        asked.append(solution)
        self.session.leaves_open = lambda *_: len(asked) == 1
        return honest(self, solution)

    monkeypatch.setattr(TreeRounds, "leaves_open", leaves_open)
    assert climbed(tree()) == pytest.approx(wanted, rel=1e-9) and len(asked) > 1


def test_where_nobody_can_run_anything_no_program_is_solved(monkeypatch):
    monkeypatch.setattr(TreeRounds, "run", lambda *_: pytest.fail("a program was opened"))
    assert climbed(tree(task_limits=np.zeros(3))).tolist() == [0, 0, 0]
