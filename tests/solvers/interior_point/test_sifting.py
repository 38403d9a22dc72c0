"""Sifting: the optimum of all pairs, found on few of them."""

from dataclasses import replace

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import NotConvergedError
from fairlp.solvers.interior_point import method, sifting
from fairlp.solvers.interior_point.structure import Structure
from profiles import many


@pytest.fixture
def sifts(monkeypatch):
    """Sifting at any size, and the shape of every region that the method was asked to solve."""
    monkeypatch.setattr(sifting, "MANY", 1)
    monkeypatch.setattr(sifting, "LEAST_USERS", 5)
    monkeypatch.setattr(sifting, "SERVERS_OF_USER", 2)
    monkeypatch.setattr(sifting, "COVERED_USAGE", 0.5)
    shapes, solve = [], method.solve

    def listening(problem, *arguments, **named):
        shapes.append(problem.region.exists.shape)
        return solve(problem, *arguments, **named)

    monkeypatch.setattr(method, "solve", listening)
    return shapes


def instance(seed, kind="log-normal", users=60, servers=80, **options):
    """Everybody demands everything."""
    rng = np.random.default_rng(seed)
    draw = (
        (lambda size: rng.lognormal(0, 1, size))
        if kind == "log-normal"
        else (lambda size: rng.uniform(0.1, 1, size))
    )
    return Instance.from_arrays(draw((users, 3)), 20 * draw((servers, 3)), **options)


def levels(case, method="lp", mechanism="drfh"):
    """Levels by a method."""
    return fairlp.allocate(case, mechanism, method=method).levels.to_numpy()


@pytest.mark.parametrize("kind", ["log-normal", "uniform"])
@pytest.mark.parametrize("seed", range(many(6)))
def test_levels_are_those_of_linear_programs(sifts, monkeypatch, seed, kind):
    monkeypatch.setattr(sifting, "LEAST_USERS", 3 + seed % 3)
    case = instance(seed, kind)
    allocation = fairlp.allocate(case, "drfh", method="interior-point")
    np.testing.assert_allclose(allocation.levels, levels(case), rtol=1e-9)
    assert allocation.certify() and allocation.residual <= 1e-12
    assert sifts[0] == (80, 60) and sifts[1][1] <= 30, "few pairs of every server"


def test_pairs_that_are_worth_more_come_in(sifts, monkeypatch):
    monkeypatch.setattr(sifting, "LEAST_USERS", 2)
    monkeypatch.setattr(sifting, "FRACTIONS_OF_USERS", (0.1, 0.1))
    monkeypatch.setattr(sifting, "COVERED_USAGE", 0.0)
    case = instance(1)
    np.testing.assert_allclose(levels(case, "interior-point"), levels(case), rtol=1e-9)
    assert len(sifts) > 3 and 60 > sifts[-1][1] > sifts[2][1]


@pytest.mark.parametrize(
    ("constant", "value", "seed"),
    [("COVERED_USAGE", 1.1, 11), ("MOST_ROUNDS", 0, 2), ("LEAST_USERS", 40, 8)],
    ids=["few have little of what is given out", "they come in for too long", "half are not few"],
)
def test_all_pairs_are_solved_where_few_do_not_pay(sifts, monkeypatch, constant, value, seed):
    monkeypatch.setattr(sifting, constant, value)
    case = instance(seed)
    np.testing.assert_allclose(levels(case, "interior-point"), levels(case), rtol=1e-9)
    assert sifts == [(80, 60), (80, 60)]


@pytest.mark.parametrize("seed", range(many(4)))
def test_a_start_on_few_pairs_is_inside(monkeypatch, seed):
    problem = problem_of(20 + seed)
    region, rows = problem.region, problem.rows
    point = method.solve(problem, accepted_error=0.2).point
    pairs = np.random.default_rng(seed).random(point.x.shape) < 0.4
    pairs[np.arange(80), np.arange(80) % 60] = True
    monkeypatch.setattr(sifting, "COVERED_USAGE", 0.0)
    monkeypatch.setattr("fairlp.solvers.interior_point.region.FEW_PAIRS", 1.0)
    small_problem = sifting._restricted(problem, pairs)
    # a value above all costs, as where a pair comes in
    point = at_above(problem, point, 3)
    start = sifting._start(problem, point, small_problem)
    exists = small_problem.region.exists
    for values in (start.x[exists], start.z[exists], start.s, start.p, start.v):
        assert (values > 0).all()
    np.testing.assert_allclose(
        start.z[exists],
        small_problem.region.reduced_costs(start.p, small_problem.sum_by_user(start.v))[exists],
    )
    np.testing.assert_allclose(
        start.s + small_problem.region.usage(np.where(exists, start.x, 0.0)), region.capacities
    )
    assert (
        small_problem.region.totals(np.where(exists, start.x, 0.0))
        >= rows.slope * start.t + rows.bound
    ).all()


def at_above(problem, point, user):
    """The point with a user's value twice as high."""
    v = point.v * np.where(problem.rows.user == user, 2.0, 1.0)
    return replace(point, v=v, z=problem.region.reduced_costs(point.p, problem.sum_by_user(v)))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["drfh", "tsf", "asset"])
def test_weights_and_task_limits(sifts, mechanism):
    rng = np.random.default_rng(7)
    case = instance(
        3, weights=rng.uniform(1, 4, 60), task_limits=np.where(rng.random(60) < 0.5, 2.0, np.inf)
    )
    np.testing.assert_allclose(
        levels(case, "interior-point", mechanism), levels(case, mechanism=mechanism), rtol=1e-9
    )


def test_what_another_round_may_follow_on_is_not_sifted(monkeypatch):
    monkeypatch.setattr(sifting, "MANY", 1)
    dense = instance(4)
    demands = dense.demands.copy()
    demands[0, 0] = 0.0
    for case, suits in (
        (dense, True),
        (dense.replace(demands=demands), False),
        (dense.replace(eligible=np.random.default_rng(0).random((60, 80)) < 0.5), False),
    ):
        structure = Structure.of(fairlp.formulate(case, "drfh").compile())
        assert sifting.suits(structure.problem) is suits
    monkeypatch.setattr(sifting, "MANY", 60 * 80 + 1)
    assert not sifting.suits(Structure.of(fairlp.formulate(dense, "drfh").compile()).problem)


def test_the_bound_is_that_of_all_pairs():
    # one server of 1, two users; a price of 1 and values of 1 and 2: the second is worth twice its
    # cost
    case = Instance.from_arrays([[1.0], [1.0]], [[1.0], [1.0]])
    problem = Structure.of(fairlp.formulate(case, "c-drfh").compile()).problem
    point = method.solve(problem).point
    dear = problem.region.reduced_costs(point.p, problem.sum_by_user(-problem.rows.sign * point.v))
    assert sifting._gap_of_all_pairs(problem, replace(point, z=np.maximum(dear, 0.0))) <= 1e-11
    point.v *= np.array([1.0, 2.0])
    dear = problem.region.reduced_costs(point.p, problem.sum_by_user(-problem.rows.sign * point.v))
    lowered = problem.rows.slope @ np.minimum(
        point.v, problem.region.min_by_user(problem.region.costs(point.p))
    )
    assert sifting._gap_of_all_pairs(problem, replace(point, z=dear)) == pytest.approx(
        1 - lowered, rel=1e-9
    )


def test_the_bound_counts_floors():
    """A user of a floor whose value is above its cost lowers the bound by less than it seems to."""
    case = Instance.from_arrays([[1.0], [1.0]], [[1.0], [1.0]])
    program = fairlp.formulate(case, "c-drfh").compile()
    matrix = program.A.copy()
    level = program.column_block("t").start
    matrix.data[matrix.indptr[level]] = 0.0
    row = int(matrix.indices[matrix.indptr[level]])
    matrix.eliminate_zeros()
    lower = program.row_lower.copy()
    lower[row] = 0.25
    problem = Structure.of(program.replace(A=matrix, row_lower=lower)).problem
    point = method.solve(problem).point
    assert sifting._gap_of_all_pairs(problem, point) <= 1e-11

    # the floor's value counts 10 % too high: the bound is what the lowered value leaves
    values = np.where(problem.rows.slope > 0, point.v, 1.1 * point.v)
    z = problem.region.reduced_costs(point.p, problem.sum_by_user(values))
    assert sifting._gap_of_all_pairs(problem, replace(point, v=values, z=z)) <= 1e-11
    # and 10 % too low: the bound is above the optimum by a tenth of what the floor is worth
    values = np.where(problem.rows.slope > 0, point.v, 0.9 * point.v)
    z = problem.region.reduced_costs(point.p, problem.sum_by_user(values))
    floor = problem.rows.slope == 0
    excess = 0.1 * float((problem.rows.bound * point.v)[floor].sum())
    gap = sifting._gap_of_all_pairs(problem, replace(point, v=values, z=z))
    assert gap == pytest.approx(excess / (point.t + excess), rel=1e-6)


@pytest.mark.parametrize("seed", range(many(6)))
def test_task_limits_are_looked_for_on_few_pairs(sifts, seed):
    rng = np.random.default_rng(seed)
    limits = np.where(rng.random(60) < 0.5, rng.lognormal(1, 1, 60), np.inf)
    case = instance(seed, task_limits=limits)
    allocation = fairlp.allocate(case, "drfh", method="interior-point")
    np.testing.assert_allclose(allocation.levels, levels(case), rtol=1e-9)
    assert allocation.residual <= 1e-9
    assert sum(shape == (80, 60) for shape in sifts) < len(sifts) / 2


def problem_of(seed):
    """The problem of an instance."""
    return Structure.of(fairlp.formulate(instance(seed), "drfh").compile()).problem


def test_all_pairs_where_interior_points_fail_on_few(sifts, monkeypatch):
    solve = method.solve

    def failing(problem, *arguments, **named):
        if problem.region.place_users is not None:
            raise NotConvergedError("too few")
        return solve(problem, *arguments, **named)

    monkeypatch.setattr(method, "solve", failing)
    whole = problem_of(9)
    optimum = sifting.sifted(whole, np.inf, 1)
    assert optimum.error <= 1e-10
    assert optimum.point.t == pytest.approx(method.solve(whole).point.t, rel=1e-9)
