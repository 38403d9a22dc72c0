"""What back ends make of planted raw answers: statuses, rays, rounding, scales, entries, and series that stop."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from fairlp.errors import NotConvergedError, SolverError, UnsupportedError
from fairlp.models.programs.options import Options
from fairlp.models.programs.program import LogTerms
from fairlp.models.programs.protocols import Capability
from fairlp.models.programs.rays import proves_infeasible
from fairlp.models.programs.solution import Solution
from fairlp.models.programs.status import Point, Status, Termination
from fairlp.solvers.backends import explain, highs, tangents
from fairlp.solvers.backends.base import BaseBackend, Raw
from fairlp.solvers.backends.highs import Highs
from fairlp.solvers.backends.scaling import Scaling, equilibrate
from plain_programs import INF, program


def plain(sense="max", scale=1.0):
    """max 2x + y: x + y <= 4, x <= 3: x = 3, y = 1, prices 1 and 1."""
    c = [2.0, 1.0] if sense == "max" else [-2.0, -1.0]
    rows = [(-INF, 4.0 * scale), (-INF, 3.0 * scale)]
    return program(np.array([[1, 1], [1, 0]]) * scale, rows, [(0, INF)] * 2, c, sense)


def whole(**options):
    return program(
        [[2.0, 2.0]],
        [(-INF, 5.0)],
        [(0, 9)] * 2,
        [1.0, 1.0],
        integrality=np.ones(2, dtype=np.uint8),
        **options,
    )


# --- HiGHS -----------------------------------------------------------------------------------------------------------


class Proxy:
    """A loaded HiGHS, some of whose answers are planted."""

    def __init__(self, real, **answers):
        self._real, self._answers = real, answers

    def __getattr__(self, name):
        return (
            (lambda *_: self._answers[name]) if name in self._answers else getattr(self._real, name)
        )


def read(model_status, primal=2, dual=2):
    """What is read where HiGHS says that it stopped so, with a point and duals of these statuses."""
    import highspy

    session = Highs().session(plain(), Options())
    session.solve()
    names = ("simplex", "ipm", "crossover", "pdlp")
    info = {f"{name}_iteration_count": 0 for name in names}
    solution = SimpleNamespace(
        value_valid=True, dual_valid=True, col_value=[1, 1], row_dual=[-1, -1], col_dual=[0, 0]
    )
    session._highs = Proxy(
        session._highs,
        getModelStatus=getattr(highspy.HighsModelStatus, model_status),
        getInfo=SimpleNamespace(**info, primal_solution_status=primal, dual_solution_status=dual),
        getSolution=solution,
    )
    return highs._read(session)


@pytest.mark.parametrize(
    ("status", "termination"),
    [("kIterationLimit", "iteration limit"), ("kTimeLimit", "time limit")],
)
def test_a_point_at_a_limit_is_feasible_only_if_it_is_and_never_optimal(status, termination):
    good = read(status)
    assert (
        good["x"].tolist() == [1, 1]
        and good["status"].primal is good["status"].dual is Point.FEASIBLE
    )
    assert good["status"].termination.value == termination
    assert (
        read(status, primal=1)["x"] is None
        and read(status, primal=1)["status"].primal is Point.NONE
    )
    half = read(status, dual=1)
    assert half["x"] is not None and half["row_duals"] is None and half["status"].dual is Point.NONE


def test_a_failure_from_the_last_basis_is_tried_afresh(monkeypatch):
    session = Highs().session(plain(), Options())
    session.solve()
    honest, calls, failures = highs.HighsSession.run, [], 1

    def failing(self):
        calls.append(self._highs.getOptionValue("presolve")[1])
        if len(calls) <= failures:
            raise SolverError("planted")
        honest(self)

    monkeypatch.setattr(highs.HighsSession, "run", failing)
    assert session.solve().x.tolist() == [3, 1] and calls == ["choose", "choose"]
    calls.clear()
    assert Highs().solve(plain(), Options()).x.tolist() == [3, 1] and calls == [
        "choose",
        "off",
    ]  # no basis to blame
    calls, failures = [], 2
    with pytest.raises(SolverError, match="planted"):
        Highs().session(plain(), Options()).solve()


def test_whole_numbers_are_whole(monkeypatch):
    honest = Scaling.values
    monkeypatch.setattr(Scaling, "values", lambda self, x: honest(self, x) + 3e-10)
    assert Highs().solve(whole(), Options()).x.sum() == 2


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_a_ray_is_kept_only_if_it_proves_something(scale):
    import highspy

    rows = [(2 * scale, INF), (-INF, 3.0)]
    impossible = program([[scale, scale], [1e3, 2e3]], rows, [(0, INF)] * 2, [1.0, 1.0])
    answer = Highs(method="simplex").solve(impossible, Options(extra={"presolve": "off"}))
    assert answer.status.termination is Termination.INFEASIBLE and proves_infeasible(
        impossible, answer.row_ray
    )
    session = Highs(method="simplex").session(impossible, Options(extra={"presolve": "off"}))
    session.solve()
    for planted in ([0.0, 0.0], [1.0, 1.0]):
        fake = Proxy(session._highs, getDualRay=(highspy.HighsStatus.kOk, True, planted))
        assert highs._ray(session, fake) is None


@pytest.mark.parametrize("sense", ["max", "min"])
def test_a_change_in_a_scaled_program_is_in_the_users_numbers(sense):
    c = [5e7, 1.0] if sense == "max" else [-5e7, -1.0]
    base = program([[1e7, 1.0], [1e7, 0.0]], [(-INF, 4.0), (-INF, 3.0)], [(0, INF)] * 2, c, sense)
    session = Highs().session(base, Options())
    assert session.scaling.columns[0] != 1
    session.solve()
    session.change(coefficients=(np.array([0, 1]), 0, np.array([2e7, 1e7])))
    solution, expected = session.solve(), Highs().solve(session.program, Options())
    assert solution.x == pytest.approx(expected.x) and solution.row_duals == pytest.approx(
        expected.row_duals
    )
    assert solution.verify().is_optimal


# --- scales ----------------------------------------------------------------------------------------------------------


def test_scales_are_powers_of_two_and_leave_whole_numbers_alone():
    scaling, _ = equilibrate(plain(scale=1e7))
    factors = np.concatenate([scaling.rows, scaling.columns, [scaling.rhs, scaling.cost]])
    assert (np.log2(factors) == np.round(np.log2(factors))).all() and (factors != 1).any()
    mixed, _ = equilibrate(whole().replace(A=sp.csc_array([[2e7, 3.0]]), row_upper=np.array([5e7])))
    assert mixed.columns.tolist() == [1, 1] and mixed.rhs == 1


def test_reduced_costs_come_back_in_the_users_numbers():
    p = program(
        [[1e5, 3.0], [20.0, 1e-3]], [(-INF, 4e6), (-INF, 3.0)], [(0, INF)] * 2, [2e4, 1.0], "min"
    )
    scaling, data = equilibrate(p)
    A = sp.csc_array((data, p.A.indices, p.A.indptr), shape=p.A.shape)
    y = np.array([0.3, 1.7])
    reduced = scaling.costs(p.c) - A.T @ y
    assert scaling.column_duals(reduced) == pytest.approx(
        p.c - p.A.T @ scaling.row_duals(y), rel=1e-12
    )


def test_noise_beside_other_entries_is_no_measure_and_left_out():
    """What is 1e-14 of both its row's and its column's largest entry."""
    entries = [[1.0, 1e-14], [1.0, 1.0], [1e-14, 1.0]]
    scaling, data = equilibrate(program(entries, [(-INF, 1.0)] * 3, [(0, INF)] * 2, [1.0, 1.0]))
    assert data.tolist() == [1, 1, 0, 0, 1, 1]  # by column
    assert (scaling.rows == 1).all() and (scaling.columns == 1).all()


def test_an_entry_that_matters_at_the_value_of_its_column_is_no_noise():
    """x + 1e-12·y <= 5, x + w <= 5, y + z <= 1e12."""
    entries = [[1, 1e-12, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]]
    sides = [(-INF, 5.0), (-INF, 5.0), (-INF, 1e12)]
    _, data = equilibrate(program(entries, sides, [(0, INF)] * 4, [1.0] * 4))
    assert data.all()


def test_a_side_beyond_solvers_is_infinite_for_them_and_refused_where_it_must_be_reached():
    wide_program = program([[1.0], [1.0]], [(-INF, 1.0), (-INF, 1e45)], [(0, INF)], [1.0])
    scaling, _ = equilibrate(wide_program)
    assert scaling.row_bounds(wide_program.row_upper)[1] == INF
    with pytest.raises(UnsupportedError, match="too large"):
        equilibrate(wide_program.replace(row_lower=np.array([-INF, 1e45])))


# --- the shared part of all back ends --------------------------------------------------------------------------------


class Planted(BaseBackend):
    """Answers as planted, in scaled numbers (those of the tests are moderate: as they are)."""

    name, honours = "planted", frozenset({"time_limit"})
    capabilities = frozenset({Capability.LP, Capability.MILP, Capability.DUALS})

    def __init__(
        self, termination=Termination.OPTIMAL, x=(3.0, 1.0), duals=(-1.0, -1.0), error=None
    ):
        self.raw = Raw(
            termination, "planted", np.array(x), None if duals is None else np.array(duals)
        )
        self.error = error

    def run(self, program, options):
        if self.error:
            raise self.error
        return self.raw


def test_planted_answers_come_back_as_they_are():
    answer = Planted().solve(plain(), Options())
    assert (
        answer.x.tolist() == [3, 1]
        and answer.row_duals.tolist() == [1, 1]
        and answer.verify().is_optimal
    )
    assert Planted().solve(plain("min"), Options()).row_duals.tolist() == [-1, -1]


def test_where_a_stopped_method_stood_is_an_answer_only_if_it_is_feasible():
    limit = Termination.ITERATION_LIMIT
    assert Planted(limit, (1.0, 1.0)).solve(plain(), Options()).x.tolist() == [1, 1]
    assert Planted(limit, (3.0, 2.0)).solve(plain(), Options()).x is None
    assert Planted(limit, (1.0, 1.0)).solve(plain(), Options()).status.primal is Point.FEASIBLE


@pytest.mark.parametrize("value", [np.nan, INF])
def test_what_is_not_finite_is_not_there(value):
    answer = Planted(x=(value, 1.0)).solve(plain(), Options())
    assert answer.x is None and not answer.status.is_optimal
    half = Planted(duals=(value, -1.0)).solve(plain(), Options())
    assert half.x.tolist() == [3, 1] and half.row_duals is None


def test_points_are_within_bounds_and_whole_where_they_are_to_be():
    assert Planted(x=(3.0, -1e-9)).solve(plain(), Options()).x.tolist() == [3, 0]
    answer = Planted(x=(1 + 1e-9, 1 - 1e-9), duals=(-1.0,)).solve(whole(), Options())
    assert answer.x.tolist() == [1, 1] and answer.row_duals is None


def test_strangers_exceptions_and_options_are_refused():
    with pytest.raises(SolverError, match="KeyError"):
        Planted(error=KeyError("boom")).solve(plain(), Options())
    with pytest.raises(UnsupportedError, match="planted"):
        Planted(error=UnsupportedError("planted")).solve(plain(), Options())
    with pytest.raises(UnsupportedError, match="cannot honour the option 'seed'"):
        Planted().solve(plain(), Options(seed=1))


# --- tangents --------------------------------------------------------------------------------------------------------


def logarithmic(constant=0.0, **options):
    """max log x + log y: x + y <= 2."""
    logs = LogTerms("log", np.ones(2), sp.csr_array(np.eye(2)), np.full(2, constant))
    return program([[1.0, 1.0]], [(-INF, 2.0)], [(0.0, INF)] * 2, logs=logs, **options)


class Lying(Highs):
    """HiGHS, some of whose answers are changed: (number of the call, answer) → answer."""

    def __init__(self, lie):
        super().__init__("lying")
        self.lie, self.calls = lie, 0

    def solve(self, program, options):
        self.calls += 1
        return self.lie(self.calls, super().solve(program, options))


def test_tangents_find_the_optimum_and_prove_it():
    answer = tangents.solve_with_logs(Highs(), logarithmic(), Options())
    assert answer.x == pytest.approx([1, 1], rel=1e-6) and answer.verify().is_optimal


def test_tangents_keep_a_time_limit(monkeypatch):
    clock = iter(range(0, 10**6, 10))
    monkeypatch.setattr(tangents, "perf_counter", lambda: float(next(clock)))
    answer = tangents.solve_with_logs(Highs(), logarithmic(), Options(time_limit=25.0))
    assert (
        answer.status.termination is Termination.TIME_LIMIT
        and answer.x is not None
        and not answer.status.is_optimal
    )


def test_a_series_that_stops_early_is_not_optimal():
    def lie(
        call, solution
    ):  # the first program is for a positive point, the second the first with tangents
        return dataclasses.replace(solution, x=None) if call == 3 else solution

    answer = tangents.solve_with_logs(Lying(lie), logarithmic(), Options())
    assert (
        answer.status.termination is Termination.UNKNOWN and answer.status.primal is Point.FEASIBLE
    )


def test_tangents_believe_no_duals_that_prove_nothing():
    def lie(call, solution):
        return (
            solution
            if solution.row_duals is None
            else dataclasses.replace(solution, row_duals=-solution.row_duals)
        )

    with pytest.raises(NotConvergedError, match="optimality conditions off"):
        tangents.solve_with_logs(Lying(lie), logarithmic(), Options())


@pytest.mark.parametrize(
    ("entries", "best"),
    [
        ([(1e-6, 1.0), (1e-9, 1.0), (1e-5, 1.0)], 1),
        ([(1e-6, 1.0), (1e-9, 0.5)], 0),  # the second one's gap is open
        ([(1e-2, 1.0)], None),
        ([(1e-9, 0.9)], None),
    ],
)
def test_the_last_digits_are_those_of_the_least_error_whose_gap_is_closed(entries, best):
    candidates = [(error, value, str(k)) for k, (error, value) in enumerate(entries)]
    arguments = (
        logarithmic(),
        Highs(),
        candidates,
        1.0 + 1e-9,
        max(value for _, value in entries),
        1.0,
        5,
    )
    if best is None:
        with pytest.raises(NotConvergedError):
            tangents._last_digits(*arguments)
    else:
        assert tangents._last_digits(*arguments) == str(best)


# --- explanations ----------------------------------------------------------------------------------------------------


def test_what_is_bounded_is_not_called_unbounded():
    for p in (plain(), plain("min"), program([[1.0]], [(-INF, 1.0)], [(0, INF)], [-1.0])):
        assert explain.explain(p).empty


def test_a_direction_that_gains_nothing_is_none(monkeypatch):
    """The second variable may grow without end, and is worth nothing."""
    p = program([[1.0, 0.0]], [(-INF, 4.0)], [(0, INF)] * 2, [1.0, 0.0])
    honest = explain.solve

    def moving(wanted_program, *arguments):
        solution = honest(wanted_program, *arguments)
        return (
            dataclasses.replace(solution, x=np.array([0.0, 1.0]))
            if wanted_program.c.any()
            else solution
        )

    monkeypatch.setattr(explain, "solve", moving)
    assert explain.explain(p).empty


def test_directions_are_those_that_grow_most_first_in_either_sense():
    for sense, sign in (("max", 1.0), ("min", -1.0)):
        p = program(
            [[1.0, -1.0, 0.0]],
            [(-INF, 1.0)],
            [(0, INF)] * 3,
            [sign * 1.0, sign * 1.0, sign * 5.0],
            sense,
        )
        explanation = explain.explain(p)
        assert (
            explanation.index[0] == "column[2]"
            and (sign * explanation["objective"] > 0).all()
            and len(explanation) == 3
        )


def test_what_cannot_be_told_is_an_error(monkeypatch):
    status = Status(Termination.UNKNOWN, Point.NONE, Point.NONE, "planted")
    monkeypatch.setattr(explain, "solve", lambda p, *_: Solution(p, status, "nobody"))
    with pytest.raises(SolverError, match="cannot tell"):
        explain.explain(plain())


def impossible():
    """x >= 2 and x <= 1; y <= 3 is fine."""
    return program(
        [[1.0, 0], [1.0, 0], [0, 1.0]], [(2, INF), (-INF, 1), (-INF, 3)], [(0, INF)] * 2, [1.0, 1.0]
    )


def test_a_conflict_comes_first_and_rounding_is_no_relaxation(monkeypatch):
    honest = explain.solve

    def rounded(p, *arguments):
        solution = honest(p, *arguments)
        return (
            solution
            if "elastic" not in p.name
            else dataclasses.replace(solution, x=solution.x + 1e-9)
        )

    monkeypatch.setattr(explain, "solve", rounded)
    explanation = explain.explain(impossible())
    assert set(explanation.index) == {"row[0]", "row[1]"} and explanation["in_conflict"].all()
    assert explanation["relax_by"].is_monotonic_decreasing and explanation[
        "relax_by"
    ].sum() == pytest.approx(1)
