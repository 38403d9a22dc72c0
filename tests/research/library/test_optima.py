"""What the library says of its optima is so: in rationals where that is possible, by hand where it is planted."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import fairlp
from fairlp.formulations import max_min
from fairlp.models.programs.certificate import certify
from fairlp.research.library.numerics import SHAPES
from fairlp.research.library.registry import REGISTRY
from fairlp.research.library.whole import best_whole_level
from fairlp.solvers.leximin.exact import exact_leximin
from paths import REAL_DATA
from profiles import many

load = fairlp.library.load
SEEDS = range(many(4))
#: Linear programs without a closed form, at sizes that rationals take at once.
TINY = {
    **{kind: {"users": 6, "servers": 4} for kind in SHAPES},
    "growing-errors": {"users": 9},
    "google-cluster": {"users": 8},
    "queue-tree": {"branches": 2, "depth": 2, "leaves": 2, "servers": 2},
}
#: Entries with a closed form in rationals, or one with logarithms or powers.
CLOSED = {
    "ties", "many-rounds", "magnitudes", "njc-circle", "njc-selection", "psdsf-time", "psdsf-theorem-1",
    "psdsf-theorem-2", "alpha-fair", "whole-pool", "whole-packing",
}  # fmt: skip


def test_every_entry_is_proved_here():
    assert set(fairlp.library.names()) == set(TINY) | CLOSED | {"alibaba-gpu", "pai-2020"}
    assert {name for name in fairlp.library.names() if REGISTRY[name].files} == {
        "alibaba-gpu",
        "pai-2020",
    }
    for name in CLOSED:
        entry = load(name)
        assert (
            entry.known is not None
            and entry.known.value is not None
            and entry.optimum is entry.known
        )


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("seed", SEEDS)
def test_optima_in_rationals_are_those_of_another_method(name, seed):
    entry = load(name, seed=seed, **TINY[name])
    optimum = entry.optimum
    assert (
        entry.known is None
        and optimum.is_exact
        and optimum.words == "proved in rationals from a basis"
    )
    ours = entry.model().solve("interior-point").require_optimal()
    assert ours.verify().is_optimal
    assert ours.objective == pytest.approx(float(optimum.value), rel=1e-9)
    found = fairlp.allocate(entry.instance, entry.mechanism)
    verdict = found.certify(exact=True)
    assert verdict, verdict
    if name != "queue-tree":  # whose levels are of the tree, in another unit
        lowest = min(level for level in verdict.levels if level is not None)
        assert float(lowest) == pytest.approx(float(optimum.value), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "size", "formulation"),
    [
        ("ties", {"triples": 3, "doublings": 2}, max_min.drfh),
        ("many-rounds", {"users": 7}, max_min.drfh),
        ("magnitudes", {"users": 4, "servers": 42}, max_min.tsf),
    ],
)
def test_closed_forms_are_the_exact_levels_of_the_programs_as_they_stand(
    name, size, formulation, seed
):
    entry = load(name, seed=seed, **size)
    verdict, _ = exact_leximin(entry.instance, formulation)
    assert verdict, verdict
    assert verdict.levels == entry.optimum.levels
    assert entry.optimum.value == min(verdict.levels)
    assert len(set(verdict.levels)) == (size["users"] if name == "many-rounds" else 1)


def test_many_rounds_takes_a_round_a_user():
    entry = load("many-rounds", users=20)
    found = fairlp.allocate(entry.instance, "drfh", method="lp")
    assert len(found.rounds) == 20
    np.testing.assert_allclose(
        found.levels, [float(level) for level in entry.optimum.levels], rtol=1e-12
    )


def test_magnitudes_span_twelve_orders():
    instance = load("magnitudes").instance
    sizes = instance.capacities[:, 0]
    assert sizes.max() / sizes.min() >= 1e12
    assert (instance.demands.max() / instance.demands.min()) >= 1e12


def brute_force(demands, capacity):
    """The largest smallest share over all whole allocations."""
    shares = [max(Fraction(d, c) for d, c in zip(row, capacity, strict=True)) for row in demands]
    alone = [min(c // d for d, c in zip(row, capacity, strict=True)) for row in demands]
    best = Fraction(0)
    for x in product(*(range(most + 1) for most in alone)):
        if all(
            sum(k * row[r] for k, row in zip(x, demands, strict=True)) <= c
            for r, c in enumerate(capacity)
        ):
            best = max(best, min(k * share for k, share in zip(x, shares, strict=True)))
    return best


@pytest.mark.parametrize("seed", range(many(20)))
def test_best_whole_levels_are_those_of_all_allocations(seed):
    rng = np.random.default_rng(seed)
    demands = rng.integers(1, 9, (3, 2)).tolist()
    capacity = rng.integers(15, 30, 2).tolist()
    assert best_whole_level(demands, capacity)[0] == brute_force(demands, capacity)


@pytest.mark.parametrize("seed", SEEDS)
def test_whole_pool_is_tight_and_its_optimum_right(seed):
    entry = load("whole-pool", seed=seed, users=3, resources=2, tasks=3)
    instance, planted = entry.instance, entry.planted["planted"]
    assert (planted @ instance.demands == instance.pool).all()
    demands = [[int(d) for d in row] for row in instance.demands]
    assert entry.optimum.value == brute_force(demands, [int(c) for c in instance.pool])
    assert entry.model().solve("highs").objective == pytest.approx(
        float(entry.optimum.value), rel=1e-9
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_whole_packing_has_its_planted_optimum_and_none_above(seed):
    entry = load("whole-packing", seed=seed)
    instance, planted = entry.instance, entry.planted["planted"]
    assert (planted.T @ instance.demands == instance.capacities).all()  # whole numbers: exactly
    # weights make the planted tasks level 1, and no resource lets all have more
    alone = (instance.pool / instance.demands).min(axis=1)
    np.testing.assert_allclose(instance.user_weights * alone, planted.sum(axis=1), rtol=1e-15)
    program = entry.program()
    point = np.append(planted.ravel(), 1.0)
    assert (
        certify(program, point, None).is_feasible
        and program.objective_value(point) == entry.optimum.value
    )
    relaxed = program.replace(integrality=np.zeros(program.n_columns)).solve("highs")
    assert relaxed.verify().is_optimal and relaxed.objective == pytest.approx(1.0, rel=1e-12)
    assert entry.model().solve("highs").objective == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(("users", "width"), [(4, 3), (5, 2), (7, 7), (6, 1), (9, 5)])
def test_the_circle_is_optimal_in_rationals(users, width):
    entry = load("njc-circle", users=users, width=width)
    granted, wanted = entry.optimum.levels, entry.instance.demands
    price = entitlement = Fraction(1, users)
    for n in range(
        users
    ):  # Σ_j λ[j]·x[n]·r[n,j] = e[n], and every resource is used: the optimum, which is unique
        assert sum(price * granted[n] * int(r) for r in wanted[n]) == entitlement
        assert sum(granted[m] * int(wanted[m, n]) for m in range(users)) == 1
    assert entry.optimum.value == pytest.approx(np.log(1 / width), rel=1e-15)
    tasks = fairlp.allocate(entry.instance, "njc").totals
    np.testing.assert_allclose(tasks, 1 / width, rtol=1e-12)
    assert entry.model().solve("interior-point").objective == pytest.approx(
        entry.optimum.value, rel=1e-9
    )


def test_the_circle_of_the_paper_is_there():
    paper, ours = fairlp.examples.dolev_circle(), load("njc-circle", users=4, width=3)
    assert sorted(map(tuple, ours.instance.demands)) == sorted(map(tuple, paper.demands))


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
    found = entry.model().solve("interior-point").require_optimal()
    assert found.verify().is_optimal and found.objective == pytest.approx(
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
        found = program.solve(
            "highs", primal_tolerance=1e-7
        ).require_optimal()  # tighter may leave it no point
        assert found.objective == pytest.approx(entry.optimum.value, rel=1e-6)
        np.testing.assert_allclose(found.values["X"], entry.planted["tasks"], rtol=1e-5)


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
    assert certify(program, point, None).primal_residual <= 1e-14
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
    found = entry.model().solve("interior-point").require_optimal()
    assert found.verify().is_optimal and found.objective == pytest.approx(
        entry.optimum.value, rel=1e-7, abs=1e-7
    )
    instance = entry.instance
    shares = fairlp.allocate(instance, "alpha-fair", alpha=alpha).totals * (
        instance.demands / instance.pool
    ).max(axis=1)
    np.testing.assert_allclose(shares, entry.planted["shares"], rtol=1e-5)


def test_what_cannot_be_recomputed_says_why(monkeypatch):
    from fairlp.research.library import entry as module

    monkeypatch.setattr(module, "MOST_ROWS", 3)
    optimum = load("zeros", users=3, servers=2).optimum
    assert optimum.value is None and "9 rows are more than 3" in str(optimum)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "folder"), [("alibaba-gpu", "alibaba-gpu-v2023"), ("pai-2020", "pai2020")]
)
def test_traces_are_read_where_they_are(name, folder):
    if not (REAL_DATA / folder).is_dir():
        pytest.skip("the traces are not beside the checkout")
    entry = load(name, users=12, data=REAL_DATA / folder)
    assert entry.optimum.is_exact and len(entry.instance.users) == 12
    assert entry.model().solve("interior-point").objective == pytest.approx(
        float(entry.optimum.value), rel=1e-9
    )
