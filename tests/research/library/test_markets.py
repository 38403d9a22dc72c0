"""Entries with logarithms and powers: what was planted is the optimum, by hand and by other methods."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairlp
import fairlp_research
from fairlp.models.programs.certificate import verify
from profiles import many

load = fairlp_research.library.load

SEEDS = range(many(4))


@pytest.mark.parametrize(("users", "width"), [(4, 3), (5, 2), (7, 7), (6, 1), (9, 5)])
def test_the_circle_is_optimal_in_rationals(users, width):
    entry = load("njc-circle", users=users, width=width)
    granted, demands = entry.optimum.levels, entry.instance.demands
    price = entitlement = Fraction(1, users)
    for n in range(
        users
    ):  # Σ_j λ[j]·x[n]·r[n,j] = e[n], and every resource is used: the optimum, which is unique
        assert sum(price * granted[n] * int(r) for r in demands[n]) == entitlement
        assert sum(granted[m] * int(demands[m, n]) for m in range(users)) == 1
    assert entry.optimum.value == pytest.approx(np.log(1 / width), rel=1e-15)
    tasks = fairlp.allocate(entry.instance, "njc").totals
    np.testing.assert_allclose(tasks, 1 / width, rtol=1e-12)
    assert entry.model().solve("interior-point").objective == pytest.approx(
        entry.optimum.value, rel=1e-9
    )


def test_the_circle_of_the_paper_is_there():
    paper, circle = fairlp.examples.dolev_circle(), load("njc-circle", users=4, width=3)
    assert sorted(map(tuple, circle.instance.demands)) == sorted(map(tuple, paper.demands))


def test_the_best_of_the_fair_allocations_uses_everything():
    entry = load("njc-selection", users=6, width=4)
    assert entry.kind == "MILP" and entry.optimum.value == 1
    program = entry.program()
    assert program.solve("highs").objective == pytest.approx(1.0, rel=1e-9)
    relaxed = program.replace(integrality=np.zeros(program.n_columns)).solve("highs")
    assert relaxed.objective == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_market_of_time_has_its_planted_equilibrium(seed):
    entry = load("psdsf-time", seed=seed, users=7, servers=3)
    share, tasks = entry.planted["share"], entry.planted["tasks"]
    instance = entry.instance
    np.testing.assert_allclose(share.sum(axis=0), 1.0, rtol=1e-14)
    planted = share * instance.gamma()
    np.testing.assert_allclose(planted.sum(axis=1), tasks, rtol=1e-13)
    assert fairlp.per_server.check(instance, planted, "tdm")
    solution = entry.model().solve("interior-point").require_optimal()
    assert solution.verify().is_optimal and solution.objective == pytest.approx(
        entry.optimum.value, rel=1e-8
    )
    np.testing.assert_allclose(fairlp.allocate(instance, "psdsf-tdm").totals, tasks, rtol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_1_has_the_planted_fixed_point_and_no_other(seed):
    """The largest and the smallest sum over all fixed points are what was planted."""
    entry = load("psdsf-theorem-1", seed=seed, users=4, servers=2)
    planted = entry.planted["share"] * entry.instance.gamma()
    assert fairlp.per_server.check(entry.instance, planted, "rdm")
    for sense in ("max", "min"):
        program = entry.program().replace(sense=sense)
        solution = program.solve(
            "highs", primal_tolerance=1e-7
        ).require_optimal()  # tighter may leave it no point
        assert solution.objective == pytest.approx(entry.optimum.value, rel=1e-6)
        np.testing.assert_allclose(solution.values["X"], entry.planted["tasks"], rtol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_2_holds_at_what_was_planted(seed):
    entry = load("psdsf-theorem-2", seed=seed)
    instance, share, tasks = entry.instance, entry.planted["share"], entry.planted["tasks"]
    rates = instance.gamma()
    levels = (tasks / instance.user_weights)[:, None] / rates
    blocks = {"x": share * rates, "L": levels.min(axis=0), "X": tasks, "u": share > 0}
    program = entry.program()
    point = np.concatenate(
        [np.ravel(blocks[block.name]).astype(float) for block in program.columns]
    )
    assert verify(program, point, None).primal_residual <= 1e-14
    assert program.objective_value(point) == pytest.approx(float(entry.optimum.value), rel=1e-14)
    # every row of time is an equation, and the objective is their sum
    time = program.row_block("time")
    rows = slice(time.start, time.stop)
    np.testing.assert_array_equal(program.row_lower[rows], 1.0)
    np.testing.assert_array_equal(program.row_upper[rows], 1.0)
    np.testing.assert_allclose(
        np.asarray(program.A[rows].sum(axis=0)).ravel(), program.c, rtol=1e-15
    )
    assert entry.optimum.value == len(instance.servers) == time.stop - time.start


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 3.0])
def test_powers_have_their_planted_optimum(seed, alpha):
    entry = load("alpha-fair", seed=seed, triples=2, servers=3, alpha=alpha)
    solution = entry.model().solve("interior-point").require_optimal()
    assert solution.verify().is_optimal and solution.objective == pytest.approx(
        entry.optimum.value, rel=1e-7, abs=1e-7
    )
    instance = entry.instance
    shares = fairlp.allocate(instance, "alpha-fair", alpha=alpha).totals * (
        instance.demands / instance.pool
    ).max(axis=1)
    np.testing.assert_allclose(shares, entry.planted["shares"], rtol=1e-5)
