"""What interior points seldom meet: factors that fail near the end, starts that mislead, faces that tell nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairlp
from fairlp.errors import NotConvergedError
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.solution import Options
from fairlp.solvers.backends.highs import Highs
from fairlp.solvers.interior_point import backend, face, method, pricing
from fairlp.solvers.interior_point.iterate import Iterate
from fairlp.solvers.interior_point.structure import Structure
from fairlp.tolerances import INTERIOR_ACCEPTED, INTERIOR_AIM


def instance(users=12, servers=6, **more):
    rng = np.random.default_rng(0)
    demands, capacities = rng.lognormal(size=(users, 3)), rng.lognormal(3, 1, (servers, 3))
    return fairlp.Instance.from_arrays(demands, capacities, **more)


def program(formulation="drfh"):
    return fairlp.formulate(instance(), formulation).compile()


# --- the method ------------------------------------------------------------------------------------------------------


def test_a_factor_that_fails_ends_at_the_best_point_where_that_is_accepted(monkeypatch):
    problem, factor = Structure.of(program()).problem, Iterate.factor
    wanted = method.solve(problem)

    def fails_below(error):
        def planted(self):
            if max(self.gap, self.primal, self.dual) <= error:
                raise NotConvergedError("planted")
            return factor(self)

        monkeypatch.setattr(Iterate, "factor", planted)

    fails_below(INTERIOR_ACCEPTED)
    found = method.solve(problem)
    assert INTERIOR_AIM < found.error <= INTERIOR_ACCEPTED and found.iterations < wanted.iterations
    assert found.at.t == pytest.approx(wanted.at.t, rel=10 * INTERIOR_ACCEPTED)
    fails_below(100 * INTERIOR_ACCEPTED)
    with pytest.raises(NotConvergedError, match="planted"):
        method.solve(problem)


# --- starts from points on the way -----------------------------------------------------------------------------------


def limited():
    """Task limits that some have long before the others have what they get."""
    given = instance(15, 8)
    fair = fairlp.allocate(given, "drfh", method="lp").totals.to_numpy()
    return given.replace(task_limits=np.where(np.arange(15) % 3, fair * (0.2 + np.arange(15) / 20), np.inf))


def late(*_):
    """No point before the time was up."""
    return None


def not_converged(*_):
    raise NotConvergedError("planted")


def levels(given, how="interior-point"):
    return fairlp.allocate(given, "drfh", method=how).levels.to_numpy()


@pytest.mark.parametrize("answer", [late, not_converged])
def test_levels_are_right_where_nothing_on_the_way_is_found(monkeypatch, answer):
    given, right, calls = limited(), method.solve, []

    def planted(problem, deadline=np.inf, threads=1, start=None, within=0.0, device=None):
        calls.append(within)
        return answer() if within else right(problem, deadline, threads, start, within, device)

    monkeypatch.setattr(method, "solve", planted)
    assert levels(given) == pytest.approx(levels(given, "lp"), rel=1e-9) and any(calls)


def test_a_session_that_finds_nothing_on_the_way_begins_afresh(monkeypatch):
    session = find_backend("interior-point").session(program(), Options())
    assert session.reaches(1e-3) == pytest.approx(session.solve().objective, rel=1e-2) and session.near is not None
    near = session.near
    for answer in (late, not_converged):
        session.near = near
        monkeypatch.setattr(method, "solve", lambda *_, answer=answer: answer())
        assert session.reaches(1e-3) is None and session.near is None


@pytest.mark.parametrize(("off", "calls"), [(0.0, 1), (1e-3, 2)])
def test_a_start_that_leads_nowhere_near_is_given_up(monkeypatch, off, calls):
    structure, right, asked = Structure.of(program()), method.solve, []
    wanted = right(structure.problem)

    def planted(problem, deadline, threads, start=None, **how):
        asked.append(start)
        return replace(wanted, error=wanted.error + (off if start is not None else 0.0))

    monkeypatch.setattr(method, "solve", planted)
    near = backend.Near(wanted, structure.level_unit)
    found = backend.solve_near(structure, near, np.inf, Options())
    assert found.error <= method.NEARLY * INTERIOR_AIM and len(asked) == calls
    assert [start is not None for start in asked] == [True, False][:calls]


# --- faces -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solved():
    """A program, its structure and optimum, and what that decides."""
    structure = Structure.of(program())
    at = method.solve(structure.problem).at
    decided = face.known(structure, at, None)
    assert decided is not None and decided.blocked.any()
    return structure, at, decided


def test_an_optimum_that_blocks_nobody_tells_nothing(solved):
    structure, at, _ = solved
    assert face.known(structure, replace(at, u=at.u + at.x.sum()), None) is None


@pytest.mark.parametrize("paid", [True, False])
def test_prices_below_0_are_paid_by_earlier_rounds_or_there_are_none(solved, paid):
    structure, at, decided = solved
    prices = at.p.copy()
    prices[0, 0] = -1.0
    off = replace(at, p=prices)
    first = replace(decided.layers[0], full=prices < 0, prices=np.full_like(prices, 1.0 if paid else 0.0))
    before = replace(decided, layers=(first,))
    lifted = face.lifted(structure, off, before)
    assert (lifted is not None) == paid and (face.known(structure, off, before) is not None) == paid
    if paid:
        worth = structure.problem.rows.slope @ lifted.v
        assert (lifted.p >= 0).all() and worth == pytest.approx(1)


def test_a_program_of_other_rows_has_another_face(solved):
    structure, _, decided = solved
    assert face.on_face(structure.program, decided) is not None
    assert face.on_face(structure.program, replace(decided, priced=decided.priced[1:])) is None


# --- programs of another kind ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["negative", "of two"])
def test_users_rows_of_another_kind_are_solved_otherwise(what):
    one = program()
    matrix, row = one.A.tolil(copy=True), one.row_block("fairness").start
    pairs = [j for j in matrix.rows[row] if j != one.column_block("t").start]
    if what == "negative":
        matrix[row, pairs] = -matrix[row, pairs].toarray()
    else:
        matrix[row, [j for j in matrix.rows[row + 1] if j not in matrix.rows[row]]] = 1.0
    other = one.replace(A=matrix.tocsc())
    assert Structure.of(one) is not None and Structure.of(other) is None
    wanted = find_backend("highs").solve(other, Options()).objective
    assert find_backend("interior-point").solve(other, Options()).objective == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize("what", ["negative", "somewhere"])
def test_logarithms_of_other_arguments_have_no_structure(what):
    one = program("ceei")
    terms = one.logs.A.tolil(copy=True)
    if what == "negative":
        terms = -terms
    else:  # of its tasks on one server
        terms[0, terms.rows[0][1:]] = 0.0
    assert Structure.of(one) is not None
    assert Structure.of(one.replace(logs=replace(one.logs, A=terms.tocsr()))) is None


# --- vertices --------------------------------------------------------------------------------------------------------


def test_columns_are_added_where_the_whole_program_gives_no_prices(monkeypatch):
    model = fairlp.formulate(instance(), "drfh")
    session = pricing.PricingSession(
        Highs(), model.compile(), Options().tightened(Highs()), model.solve("interior-point")
    )
    wanted = session.solve().objective
    few = np.arange(session.program.n_columns) % 3 == 0
    few[session.program.column_block("t").start] = True
    session._see(few)
    solve, asked = Highs.solve, []

    def without(self, whole, options):
        asked.append(whole)
        return replace(solve(self, whole, options), row_duals=None)

    monkeypatch.setattr(pricing, "_ROUNDS", 1)
    monkeypatch.setattr(Highs, "solve", without)
    assert session.solve().objective == pytest.approx(wanted, rel=1e-8) and asked
