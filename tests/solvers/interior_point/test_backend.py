"""The interior-point method's own safety nets: when it is not for a program, not at the end, or not to be believed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from fairlp.errors import NotConvergedError
from fairlp.formulations import max_min
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.options import Options
from fairlp.models.programs.solution import solution_at
from fairlp.models.programs.status import Termination
from fairlp.solvers.backends.highs import Highs
from fairlp.solvers.interior_point import backend, method, session as session_module
from fairlp.solvers.interior_point.iterate import Iterate
from fairlp.solvers.interior_point.pricing import PricingSession
from fairlp.solvers.interior_point.problem import Problem
from fairlp.solvers.interior_point.starts import start_of
from fairlp.solvers.interior_point.structure import Structure
from fairlp.tolerances import ACCEPTED, BLOCKED_PRICE
from plain_programs import INF, program


def model(users=6, servers=3, seed=0, **options):
    rng = np.random.default_rng(seed)
    demands, capacities = rng.lognormal(0, 1, (users, 2)), rng.lognormal(3, 1, (servers, 2))
    return max_min.tsf(fairlp.Instance.from_arrays(demands, capacities, **options))


def problem(**options):
    return Structure.of(model(**options).compile()).problem


def iterate_of(problem: Problem) -> Iterate:
    return Iterate(problem, start_of(problem, None))


# --- where it ends ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["gap", "primal_error", "dual_error"])
@pytest.mark.parametrize("deviation", [1e-6, 1.0])
def test_gap_and_both_residuals_have_to_be_small(monkeypatch, measure, deviation):
    honest = Iterate.measure

    def planted(self):
        honest(self)
        setattr(self, measure, deviation)

    assert method.solve(problem()).error <= 1e-9
    monkeypatch.setattr(Iterate, "measure", planted)
    monkeypatch.setattr(method, "MOST_ITERATIONS", 20)
    with pytest.raises(NotConvergedError, match="from the optimum"):
        method.solve(problem())


def test_what_is_returned_is_the_best_point_not_the_last(monkeypatch):
    """From the tenth iteration on, errors are planted that grow."""
    honest, count = Iterate.measure, []

    def planted(self):
        honest(self)
        count.append(self.point)
        if len(count) > 8:
            self.gap = 1e-9 * len(count)

    monkeypatch.setattr(method, "SETTLED", 1e-30)
    monkeypatch.setattr(method, "restore_rows", lambda iterate: None)
    monkeypatch.setattr(Iterate, "measure", planted)
    monkeypatch.setattr(method, "ACCEPTED", 1.0)
    answer = method.solve(problem())
    assert answer.iterations < len(count) - 1 and answer.point is count[answer.iterations]


def test_steps_stay_inside():
    iterate = iterate_of(problem(seed=3))
    for _ in range(12):
        iterate.measure()
        iterate.factor()
        iterate.point = method.next_point(iterate)
        for name in "xszpuv":
            assert (getattr(iterate.point, name) > 0).all(), name


def test_a_residual_of_any_row_is_measured():
    iterate = iterate_of(problem())
    for _ in range(25):
        iterate.measure()
        if iterate.error < 1e-8:
            break
        iterate.factor()
        iterate.point = method.next_point(iterate)
    good = iterate.point
    for name, measure in (
        ("s", "primal_error"),
        ("u", "primal_error"),
        ("v", "dual_error"),
        ("z", "dual_error"),
    ):
        iterate.point = dataclasses.replace(good, **{name: getattr(good, name) + 1e-3})
        iterate.measure()
        assert getattr(iterate, measure) > 1e-5, name
    # prices of one level are what everything is measured by: all of them doubled leaves costs right
    # and the level's not
    iterate.point = dataclasses.replace(good, p=2 * good.p, v=2 * good.v, z=2 * good.z)
    iterate.measure()
    assert iterate.dual_error == pytest.approx(1, rel=1e-3)


def test_with_logarithms_each_term_is_spent():
    p = fairlp.formulate(
        fairlp.Instance.from_arrays([[1.0, 2.0], [3.0, 1.0]], [[9, 9], [5, 7]]), "ceei"
    ).compile()
    problem = Structure.of(p).problem
    iterate = iterate_of(problem)
    iterate.point = method.solve(problem).point
    iterate.measure()
    assert iterate.gap <= ACCEPTED
    iterate.point = dataclasses.replace(iterate.point, v=iterate.point.v * [1.2, 0.8])
    iterate.measure()
    assert iterate.gap > 0.05


# --- what it is for --------------------------------------------------------------------------------------------------


def test_other_programs_are_not_for_it():
    p = model().compile()
    assert Structure.of(p) is not None
    capacity = p.row_block("capacity").slice
    high = p.row_upper.copy()
    high[capacity.start] = 0.0
    others = {
        "a minimum": p.replace(sense="min"),
        "whole numbers": p.replace(integrality=np.ones(p.n_columns, dtype=np.uint8)),
        "no interior": p.replace(row_upper=high),
    }
    for name, row, factor in (
        ("negative demands", capacity.start, -1.0),
        ("another demand", capacity.start, 1.5),
    ):
        A = p.A.copy()
        A.data = A.data.copy()
        A.data[np.flatnonzero(A.indices == row)[:1]] *= factor
        others[name] = p.replace(A=A)
    for name, other in others.items():
        assert Structure.of(other) is None, name


def test_tasks_over_capacity_by_rounding_are_brought_within():
    structure = Structure.of(model().compile())
    point = method.solve(structure.problem).point
    x, _ = structure.vectors(dataclasses.replace(point, x=point.x * 1.001))
    p = structure.program
    over = (p.A @ x - p.row_upper)[p.row_block("capacity").slice]
    assert (over <= 1e-12 * p.row_upper[p.row_block("capacity").slice]).all()


# --- what is believed ------------------------------------------------------------------------------------------------


def test_its_own_answer_is_certified(monkeypatch):
    honest = Structure.vectors
    monkeypatch.setattr(
        Structure,
        "vectors",
        lambda self, point: tuple(vector * 0.9 for vector in honest(self, point)),
    )
    answer = model().solve("interior-point")
    assert (
        answer.method.startswith("HiGHS")
        and "not proved" in answer.status.message
        and answer.verify().is_optimal
    )


def test_highs_has_the_time_that_is_left(monkeypatch):
    monkeypatch.setattr(backend, "perf_counter", iter(range(0, 10**6, 7)).__next__)
    limits = []

    def solve_on(chosen, program, options):
        limits.append(options.time_limit)
        return solution_at(program, Termination.TIME_LIMIT, "planted", "nobody", None, None, None)

    monkeypatch.setattr(backend, "solve_on", solve_on)
    p = model().compile().replace(sense="min")
    find_backend("interior-point").solve(p, Options(time_limit=10.0))
    find_backend("interior-point").solve(p, Options(time_limit=5.0))
    assert limits == [3.0, 0.0]


def priced(prices, gap):
    """Whether prices of the rows of a max-min program (per unit of the level) are all clear."""
    p = program([[1.0, -1.0], [1.0, -1.0]], [(0, INF)] * 2, [(0, INF)] * 2, [0.0, 1.0])
    solution = solution_at(
        p, Termination.OPTIMAL, "", "nobody", np.zeros(2), -np.array(prices), None
    )
    return session_module.all_prices_are_clear(solution, gap)


def test_a_price_is_clear_beside_the_gap_and_the_largest_price():
    assert priced([0.5, 0.5], 1e-12) and not priced([0.5, 0.5], 1e-6)
    assert not priced([1.0, BLOCKED_PRICE / 2], 1e-20) and priced([1.0, BLOCKED_PRICE * 2], 1e-20)
    assert not priced([1.0, 0.0], 0.0)


def test_a_session_leaves_open_what_prices_do_not_settle(monkeypatch):
    session = find_backend("interior-point").session(model().compile(), Options())
    monkeypatch.setattr(session_module, "all_prices_are_clear", lambda *_: False)
    solution = session.solve()
    assert not session.leaves_open(solution, 0.0)  # the interior optimum tells who is blocked
    monkeypatch.setattr(session_module, "decisions_of", lambda *_: None)
    assert session.leaves_open(solution, 0.0)
    session.restart()
    assert session.at_vertices is not None and not session.leaves_open(solution, 0.0)
    assert session.solve().objective == pytest.approx(solution.objective, rel=1e-8)


# --- columns that are priced -----------------------------------------------------------------------------------------


def session(p, start):
    """A pricing session whose first columns are chosen by a planted optimum."""
    x, duals = np.array(start[0], dtype=float), np.array(start[1], dtype=float)
    planted = solution_at(p, Termination.OPTIMAL, "", "nobody", x, duals, None)
    return PricingSession(Highs(), p, Options(), planted)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_columns_that_would_help_are_added_and_fixed_ones_are_not(sense):
    """The planted optimum uses the first column; the third is better by a little, the second by much but fixed."""
    sign = 1.0 if sense == "max" else -1.0
    bounds = [(0, INF), (0, 0), (0, INF), (0, INF)]
    p = program([[1.0] * 4], [(-INF, 4.0)], bounds, [sign, sign * 9, sign * 1.01, -sign], sense)
    started = session(p, ([4.0, 0, 0, 0], [sign]))
    started._show(np.array([True, False, False, False]))
    answer = started.solve()
    assert answer.x.tolist() == pytest.approx([0, 0, 4, 0]) and answer.verify().is_optimal
    assert not started.active[1]


def test_a_part_that_is_infeasible_takes_the_columns_that_relieve_it():
    p = program([[1.0, 1.0, 0.0]], [(2.0, INF)], [(0, 1), (0, INF), (0, INF)], [-1.0, -3.0, -1.0])
    for ray in (True, False):
        started = session(p, ([1.0, 0, 0], [-1.0]))
        started._show(np.array([True, False, False]))
        if not ray:
            honest = started.master.solve
            started.master.solve = lambda honest=honest: dataclasses.replace(honest(), row_ray=None)
        answer = started.solve()
        assert answer.status.is_optimal and answer.x.tolist() == pytest.approx([1, 1, 0])


def test_bounds_of_columns_change_at_their_own_places():
    p = program([[1.0, 1.0, 1.0]], [(-INF, 4.0)], [(0, INF)] * 3, [1.0, 2.0, 3.0])
    started = session(p, ([0, 0, 4.0], [3.0]))
    started._show(np.array([False, False, True]))
    places = np.array([0, 2])
    started.change(columns=(places, np.zeros(2), np.array([5.0, 1.0])))
    answer = started.solve()
    assert answer.x.tolist() == pytest.approx([0, 3, 1])
