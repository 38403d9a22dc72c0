"""Sifting: the optimum of all pairs, found on few of them."""

import numpy as np
import pytest

import fairlp
from fairlp import Instance, Options
from fairlp.errors import NotConvergedError
from fairlp.solvers.interior_point import backend as sifting
from fairlp.solvers.interior_point import method
from fairlp.solvers.interior_point.backend import InteriorPoint
from fairlp.solvers.interior_point.structure import Structure
from profiles import many


@pytest.fixture
def sifts(monkeypatch):
    """Sifting at any size, and the shape of every region that the method was asked to solve."""
    monkeypatch.setattr(sifting, "MANY", 1)
    monkeypatch.setattr(sifting, "_LEAST", 8)
    shapes, solve = [], method.solve

    def listening(problem, *given, **named):
        shapes.append(problem.region.there.shape)
        return solve(problem, *given, **named)

    monkeypatch.setattr(method, "solve", listening)
    return shapes


def instance(seed, kind="log-normal", users=60, servers=80, **more):
    """Everybody demands everything."""
    rng = np.random.default_rng(seed)
    draw = (
        (lambda size: rng.lognormal(0, 1, size)) if kind == "log-normal" else (lambda size: rng.uniform(0.1, 1, size))
    )
    return Instance.from_arrays(draw((users, 3)), 20 * draw((servers, 3)), **more)


def levels(given, method="lp", mechanism="drfh"):
    """Levels by a method."""
    return fairlp.allocate(given, mechanism, method=method).levels.to_numpy()


@pytest.mark.parametrize("kind", ["log-normal", "uniform"])
@pytest.mark.parametrize("seed", range(many(6)))
def test_levels_are_those_of_linear_programs(sifts, monkeypatch, seed, kind):
    monkeypatch.setattr(sifting, "_LEAST", 6 + seed % 5)
    given = instance(seed, kind)
    found = fairlp.allocate(given, "drfh", method="interior-point")
    np.testing.assert_allclose(found.levels, levels(given), rtol=1e-9)
    assert found.certify() and found.residual <= 1e-12
    assert sifts[0] == (80, 60) and sifts[1][1] < 30, "few pairs of every server"
    assert all(shape[1] < 60 for shape in sifts[1:]), "and never all of them again"


def test_pairs_that_are_worth_more_come_in(sifts, monkeypatch):
    monkeypatch.setattr(sifting, "_LEAST", 2)
    monkeypatch.setattr(sifting, "INTERIOR_EARLY", 0.2)
    given = instance(1)
    np.testing.assert_allclose(levels(given, "interior-point"), levels(given), rtol=1e-9)
    assert len(sifts) > 2 and sifts[-1][1] > sifts[1][1]


def test_all_pairs_where_they_come_in_for_too_long(sifts, monkeypatch):
    monkeypatch.setattr(sifting, "_ROUNDS", 0)
    given = instance(2)
    np.testing.assert_allclose(levels(given, "interior-point"), levels(given), rtol=1e-9)
    assert sifts == [(80, 60), (80, 60)]


@pytest.mark.parametrize("mechanism", ["drfh", "tsf", "asset"])
def test_weights_and_task_limits(sifts, mechanism):
    rng = np.random.default_rng(7)
    given = instance(3, weights=rng.uniform(1, 4, 60), task_limits=np.where(rng.random(60) < 0.5, 2.0, np.inf))
    np.testing.assert_allclose(
        levels(given, "interior-point", mechanism), levels(given, mechanism=mechanism), rtol=1e-9
    )


def test_what_another_round_may_follow_on_is_not_sifted(monkeypatch):
    monkeypatch.setattr(sifting, "MANY", 1)
    dense = instance(4)
    demands = dense.demands.copy()
    demands[0, 0] = 0.0
    for given, suits in (
        (dense, True),
        (dense.replace(demands=demands), False),
        (dense.replace(eligible=np.random.default_rng(0).random((60, 80)) < 0.5), False),
    ):
        structure = Structure.of(fairlp.formulate(given, "drfh").compile())
        assert sifting.suits(structure.problem) is suits
    monkeypatch.setattr(sifting, "MANY", 60 * 80 + 1)
    assert not sifting.suits(Structure.of(fairlp.formulate(dense, "drfh").compile()).problem)


def test_the_bound_is_that_of_all_pairs():
    # one server of 1, two users; a price of 1 and values of 1 and 2: the second is worth twice its cost
    given = Instance.from_arrays([[1.0], [1.0]], [[1.0], [1.0]])
    problem = Structure.of(fairlp.formulate(given, "c-drfh").compile()).problem
    at = method.solve(problem).at
    dear = problem.region.priced(at.p, problem.by_user(-problem.rows.sign * at.v))
    assert sifting._missing(problem, at, np.maximum(dear, 0.0)) <= 1e-11
    at.v *= np.array([1.0, 2.0])
    dear = problem.region.priced(at.p, problem.by_user(-problem.rows.sign * at.v))
    lowered = problem.rows.slope @ np.minimum(at.v, problem.region.lowest(problem.region.costs(at.p)))
    assert sifting._missing(problem, at, dear) == pytest.approx(1 - lowered, rel=1e-9)


def test_a_time_limit_ends_it(sifts):
    with pytest.raises(fairlp.FairlpError, match="time limit"):
        fairlp.allocate(instance(5), "drfh", method="interior-point", time_limit=1e-9)


def test_a_point_of_few_pairs_tells_no_face(monkeypatch):
    program, back_end = fairlp.formulate(instance(6), "drfh").compile(), InteriorPoint()
    assert back_end.interior(program, Options())[1] is not None
    monkeypatch.setattr(sifting, "MANY", 1)
    monkeypatch.setattr(sifting, "_LEAST", 8)
    solution, inside = back_end.interior(program, Options())
    assert solution.verify().is_optimal and inside is None


def test_half_of_the_pairs_are_not_few(sifts, monkeypatch):
    monkeypatch.setattr(sifting, "_LEAST", 40)
    given = instance(8)
    np.testing.assert_allclose(levels(given, "interior-point"), levels(given), rtol=1e-9)
    assert sifts == [(80, 60), (80, 60)]


def problem_of(seed):
    """The problem of an instance."""
    return Structure.of(fairlp.formulate(instance(seed), "drfh").compile()).problem


def test_twice_as_many_where_interior_points_fail_on_too_few(sifts, monkeypatch):
    solve, failed = method.solve, []

    def failing(problem, *given, **named):
        if problem.region.user is not None and not failed:
            failed.append(problem.region.user.shape[1])
            raise NotConvergedError("too few")
        return solve(problem, *given, **named)

    monkeypatch.setattr(method, "solve", failing)
    monkeypatch.setattr(sifting, "_LEAST", 5)
    whole = problem_of(9)
    found = sifting.sifted(whole, np.inf, 1)
    assert found.error <= 1e-10 and sifts[1][1] > failed[0]
    assert found.at.t == pytest.approx(method.solve(whole).at.t, rel=1e-9)


@pytest.mark.parametrize("in_time", [0, 1])
def test_a_deadline_ends_either_part(sifts, monkeypatch, in_time):
    solve, calls = method.solve, []

    def late(problem, *given, **named):
        calls.append(problem)
        return solve(problem, *given, **named) if len(calls) <= in_time else None

    monkeypatch.setattr(method, "solve", late)
    assert sifting.sifted(problem_of(10), np.inf, 1) is None and len(calls) == in_time + 1
