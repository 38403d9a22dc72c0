"""The last digits of concave optima: degenerate ones, and those where the first guess is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Instance, examples
from fairlp.models.programs.certificate import verify
from fairlp.solvers.interior_point import polishing
from fairlp.solvers.interior_point.polishing import polished
from fairlp.tolerances import ACCEPTED, SETTLED, SOLVER_TIGHTEST
from instances import random_instance
from profiles import many


def program_of(instance, alpha=1.0):
    return fairlp.formulate(instance, "alpha-fair", alpha=alpha).compile()


def unpolished(program, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(
            "fairlp.solvers.interior_point.backend.polished", lambda program, x, duals: (x, duals)
        )
        return program.solve("interior-point")


#: A user whose second server would cost what the first does: nobody is there, at no loss.
DEGENERATE = Instance.from_arrays([[1], [1]], [[3], [3]], eligible=[["server1"], None])


def test_a_degenerate_optimum_has_its_last_digits(monkeypatch):
    figure = examples.load("khamse-ashari-figure-1")
    before = unpolished(fairlp.formulate(figure, "ceei").compile(), monkeypatch)
    assert before.verify().gap < 1e-9
    assert fairlp.allocate(figure, "ceei").totals.to_numpy() == pytest.approx(
        [3, 3, 6], rel=SETTLED
    )
    for alpha in (0.5, 1, 2, 5):
        totals = fairlp.allocate(DEGENERATE, "alpha-fair", alpha=alpha).totals
        assert totals.tolist() == pytest.approx([3, 3], rel=SETTLED)


@settings(max_examples=many(60), deadline=None)
@given(seed=st.integers(0, 10**9), alpha=st.sampled_from([0.5, 1.0, 2.0, 5.0]))
def test_what_is_polished_is_no_worse_and_nearer(seed, alpha):
    program = program_of(random_instance(seed, integers=seed % 2 == 0), alpha)
    solution = program.solve("interior-point")
    certificate = solution.verify()
    assert certificate.is_optimal
    x, duals = polished(program, solution.x, solution.row_duals)
    second = verify(program, x, duals)
    assert second.gap <= certificate.gap and second.primal_residual <= 1e-12


def test_what_is_told_wrongly_is_not_taken(monkeypatch):
    """One column or row too many or too few: the same optimum, or what was there before."""
    monkeypatch.setattr(polishing, "SOLVER_TIGHTEST", -1.0)
    active, better = polishing._Evidence.active, 0
    for seed in range(6):
        program = program_of(random_instance(seed, servers=2))
        before = unpolished(program, monkeypatch)
        system = polishing._System(program, program.logs)
        prices = system.with_limits(before.x, before.row_duals)
        right = active(system.evidence(before.x, prices), 1.0)
        for which, many_there in enumerate((len(system.columns), len(system.bound))):
            for k in range(many_there):
                sets = list(right)
                sets[which] = np.setxor1d(right[which], [k])
                monkeypatch.setattr(
                    polishing._Evidence, "active", lambda *arguments, sets=sets: sets
                )
                x, duals = polished(program, before.x, before.row_duals)
                assert x is before.x or verify(program, x, duals).gap <= before.verify().gap
                better += x is not before.x
        monkeypatch.setattr(polishing._Evidence, "active", active)
    assert better > 5


def test_limits_of_columns_have_prices(monkeypatch):
    """In no justified complaints a request bounds its column: the first one is worth something, the second nothing."""
    instance = Instance.from_arrays([[1, 2], [1, 1], [1, 0]], [[6, 9]], task_limits=[1, 2.5, 9])
    program = fairlp.formulate(instance, "njc").compile()
    before = unpolished(program, monkeypatch)
    x, duals = polished(program, before.x, before.row_duals)
    assert x is not before.x and x.tolist() == pytest.approx([1, 1, 5 / 12], rel=SETTLED)
    assert (
        duals.tolist() == pytest.approx([0.8, 0], rel=SETTLED)
        and verify(program, x, duals).gap <= SETTLED
    )


def test_what_does_not_suit_is_left(monkeypatch):
    program = program_of(DEGENERATE)
    before = unpolished(program, monkeypatch)
    assert polished(program, before.x, before.row_duals)[0] is not before.x
    raised = program.replace(
        row_lower=np.where(np.arange(program.n_rows) == 0, 0.0, program.row_lower)
    )
    least = program.replace(col_lower=program.col_lower + 1e-3)
    costs = program.replace(c=program.c + 1e-3)
    for other in (raised, least, costs):
        assert polished(other, before.x, before.row_duals)[0] is before.x
    monkeypatch.setattr(polishing, "MOST_UNKNOWNS", 1)
    assert polished(program, before.x, before.row_duals)[0] is before.x


@pytest.mark.parametrize("chosen_seed", [33, 67, 92, 110])
def test_where_interior_points_end_early_newton_goes_on(chosen_seed):
    """At α = 30 worths are many powers of ten apart: the equations may be used up 1e-8 from the optimum."""
    program = program_of(random_instance(chosen_seed), 30.0)
    optimum = program.solve("interior-point")
    assert optimum.status.is_optimal and optimum.verify().gap <= SOLVER_TIGHTEST
    early_x = optimum.x * (1 - ACCEPTED)
    assert verify(program, early_x, optimum.row_duals).gap > SOLVER_TIGHTEST
    x, duals = polished(program, early_x, optimum.row_duals)
    certificate = verify(program, x, duals)
    assert certificate.is_optimal and certificate.gap <= SOLVER_TIGHTEST
