"""What saves an answer when one of the steps to it fails: each is made to fail, and the answer is right or an error."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.integrate

import fairlp
from fairlp import Instance
from fairlp.errors import NotConvergedError, SolverError
from fairlp.formulations import alpha_fair
from fairlp.mechanisms.complaints import all_fair as polytopes
from fairlp.mechanisms.complaints import complaints, market, path
from fairlp.mechanisms.complaints import rows as validation
from fairlp.mechanisms.complaints.alpha_fairness import mean_level_gap, power_mean
from fairlp.mechanisms.complaints.complaints import Requests
from fairlp.mechanisms.table import find
from fairlp.models.programs.backends import find_backend
from fairlp.tolerances import VERIFIED

#: Two users of one resource and one of another: 1/3 of what all may have each.
TABLE = [[1.0, 0.2], [1.0, 0.2], [0.2, 1.0]]
#: Both resources saturated; a, a, b with 2a + 0.2b = 1 and 0.4a + b = 1.
A, B = 0.8 / 1.92, 1 - 0.4 * 0.8 / 1.92


def instance(**more):
    return Instance.from_arrays(TABLE, [[1.0, 1.0]], task_limits=np.ones(3), **more)


class NoDuals(fairlp.Backend):
    """A solver of logarithms that tells no prices."""

    name = "no-duals"
    capabilities = frozenset({fairlp.Capability.LP, fairlp.Capability.LOG, fairlp.Capability.POWER})

    def run(self, program, options):
        return replace(find_backend("cvxpy:CLARABEL").run(program, options), row_duals=None)


@pytest.mark.parametrize(("mechanism", "how"), [("njc", {}), ("ceei", {}), ("alpha-fair", {"alpha": 2.0})])
def test_a_solver_without_prices_is_right_and_proves_nothing(mechanism, how):
    found = fairlp.allocate(instance(), mechanism, method="convex", solver=NoDuals(), **how)
    wanted = fairlp.allocate(instance(), mechanism, **how)
    assert found.totals.to_numpy() == pytest.approx(wanted.totals.to_numpy(), rel=1e-4)
    if mechanism == "njc":  # fair, as everybody can see
        assert found.certificate and found.certificate.prices is None and found.certificate.gap is None
    else:
        assert not found.certificate
    if mechanism == "alpha-fair":
        assert "the solver gives no duals" in found.unproved and found.prices is None


def test_the_ends_of_alpha():
    least = fairlp.allocate(instance(), "alpha-fair", alpha=np.inf)
    assert mean_level_gap(least, limit=find("drfh")) == 0.0
    worse = replace(least, tasks_array=least.tasks_array * [[0.5], [1], [1]])
    assert mean_level_gap(worse, limit=find("drfh")) == np.inf
    levels = least.levels.to_numpy()
    for model in (alpha_fair.alpha_fair(instance(), np.inf), alpha_fair.better(instance(), levels, np.inf)):
        assert model.solve().objective == pytest.approx(levels.min(), rel=1e-9)
    nobody = Instance.from_arrays([[1.0]], [[1.0]], task_limits=[0.0])
    assert alpha_fair.reference(nobody) == 1.0
    assert power_mean(np.zeros(2), np.full(2, 0.5), 0.5) == 0.0


def asked():
    return Requests.of(instance())


class Session:
    """A session whose first answers are changed."""

    def __init__(self, session, *changes):
        self.session, self.changes, self.restarts = session, list(changes), 0

    def __getattr__(self, name):
        return getattr(self.session, name)

    def solve(self):
        solution = self.session.solve()
        return self.changes.pop(0)(solution) if self.changes else solution

    def restart(self, *how):
        self.restarts += 1
        self.session.restart(*how)


def unknown(solution):
    return replace(solution, status=replace(solution.status, termination=fairlp.Termination.UNKNOWN))


def test_a_candidate_set_that_is_not_decided_is_solved_afresh():
    wanted = complaints.Candidates(asked()).best()
    tried = complaints.Candidates(asked())
    tried._session = Session(tried._session, unknown)
    assert tried.best().value == pytest.approx(wanted.value, rel=1e-9) and tried._session.restarts == 1


def test_an_answer_for_a_candidate_set_that_overuses_is_refused():
    tried = complaints.Candidates(asked())
    tried._session = Session(tried._session, lambda solution: replace(solution, x=solution.x * 2))
    with pytest.raises(SolverError, match="the answer for a candidate set cannot be certified"):
        tried.best()


def test_no_candidate_set_at_all_names_another_method(monkeypatch):
    monkeypatch.setattr(complaints.Candidates, "maximize", lambda *_: None)
    with pytest.raises(SolverError, match=r"no candidate set is feasible .* method='eg' gives one"):
        complaints.Candidates(asked()).best()


def solved():
    found = asked()
    return market.eisenberg_gale(found.fractions, found.entitlements, found.limited)


def test_a_market_whose_first_ends_fail_is_solved_by_a_later_one(monkeypatch):
    end, calls = market._Problem._end, []

    def fails(self, start, priced):
        calls.append(len(calls))
        found = end(self, start, priced)
        return replace(found, residual=np.inf) if len(calls) < 4 else found

    monkeypatch.setattr(market._Problem, "_end", fails)
    found = solved()
    assert found.x == pytest.approx([A, A, B], rel=1e-9) and len(calls) == 4


def test_a_market_that_never_ends_says_how_far_off_it_is(monkeypatch):
    end = market._Problem._end
    monkeypatch.setattr(market._Problem, "_end", lambda *given: replace(end(*given), residual=0.5))
    with pytest.raises(NotConvergedError, match=r"conditions are off by 5\.0e-01 .* method='convex' is another way"):
        solved()


def test_a_market_that_ends_within_what_is_verified_is_taken(monkeypatch):
    end = market._Problem._end
    monkeypatch.setattr(market._Problem, "_end", lambda *given: replace(end(*given), residual=VERIFIED / 2))
    found = solved()
    assert found.residual == VERIFIED / 2 and found.x == pytest.approx([A, A, B], rel=1e-6)


@pytest.mark.parametrize(("name", "value"), [("_STEPS", 1), ("_HALVINGS", 2), ("_END_STEPS", 2), ("_SETS", 1)])
def test_a_market_that_may_take_few_steps_gets_there_or_says_so(monkeypatch, name, value):
    monkeypatch.setattr(market, name, value)
    try:
        found = solved()
    except NotConvergedError as error:
        assert "method='convex' is another way" in str(error)
    else:
        assert found.x == pytest.approx([A, A, B], rel=1e-6)


def problem(table, limited):
    table = np.asarray(table, dtype=float)
    return market._Problem(table, np.full(len(table), 1 / len(table)), np.array(limited))


def test_prices_of_too_few_or_too_many_resources_are_mended():
    free = problem([[1.0, 0.2], [1.0, 0.2]], [False, False])
    for priced in ([False, False], [True, True], [False, True]):
        found = free._end(np.array([1.0, 0.5]), np.array(priced))
        assert found.x == pytest.approx([0.5, 0.5], rel=1e-9) and found.prices == pytest.approx([1, 0], abs=1e-9)


def test_a_resource_whose_price_would_be_negative_has_none(monkeypatch):
    both = problem([[1.0, 0.9], [1.0, 1.2]], [False, False])
    given = np.array([1.0, 0.5]), np.array([True, True])
    found = both._end(*given)
    assert found.x == pytest.approx([0.5 / 0.9, 0.5 / 1.2], rel=1e-9) and found.prices == pytest.approx([0, 1])
    monkeypatch.setattr(market, "_SETS", 1)
    assert both._end(*given).residual == np.inf


@pytest.mark.parametrize("name", ["_END_STEPS", "_HALVINGS"])
def test_an_end_that_may_take_one_step_says_how_far_off_it_is(monkeypatch, name):
    monkeypatch.setattr(market, name, 1)
    found = problem([[1.0], [1.0]], [False, False])._end(np.array([0.1]), np.array([True]))
    overuse = found.x.sum() - 1
    assert found.residual >= overuse and (found.residual > market.MARKET or overuse < 1e-9)


def test_a_worse_end_is_not_taken_for_a_better_one(monkeypatch):
    right, ends = np.array([0.5, 0.5]), iter([1e-9, 1e-3, 1e-6, 1e-3])
    monkeypatch.setattr(
        market._Problem, "_saturate", lambda self, price, priced: (np.array([1.0, 0.0]), right * (1 - next(ends)), 1)
    )
    monkeypatch.setattr(market, "_SETS", 4)
    found = problem([[1.0, 0.2], [1.0, 0.2]], [False, False])._end(np.array([1.0, 0.5]), np.array([True, False]))
    assert found.x.tolist() == (right * (1 - 1e-9)).tolist() and found.residual == pytest.approx(1e-9, rel=1e-6)


def test_whom_next_to_nothing_is_entitled_gets_what_the_other_leaves():
    """The other has all it asks for at any such price: what it leaves of the resource is worth the first one's part."""
    parts = np.array([1e-5, 1.0]) / (1 + 1e-5)
    found = market.eisenberg_gale(np.array([[0.8], [0.4]]), parts, np.array([True, True]))
    assert found.x == pytest.approx([0.75, 1], rel=1e-12) and found.prices == pytest.approx([parts[0] / 0.6], rel=1e-9)


@pytest.mark.parametrize("more", [7e-13, 2e-12, 1e-6])
def test_of_two_resources_that_are_nearly_one_the_scarcer_has_the_price(more):
    """Where both have one, the slope of their dual vanishes nowhere: its step is halved until it is none."""
    found = market.eisenberg_gale(np.array([[1.0, 1 + more]]), np.ones(1), np.array([False]))
    assert found.x == pytest.approx([1 / (1 + more)], rel=1e-14)
    assert found.prices == pytest.approx([0, 1], abs=1e-12) and found.residual <= market.MARKET


def test_who_has_all_it_asks_for_is_moved_by_a_price_only_where_that_is_too_much():
    price, x, _ = problem([[0.4], [0.4]], [True, True])._saturate(np.array([0.1]), np.array([True]))
    assert x == pytest.approx([1, 1]) and price == pytest.approx([0.1])
    price, x, _ = problem([[0.7], [0.7]], [True, True])._saturate(np.array([0.1]), np.array([True]))
    assert x == pytest.approx([1 / 1.4] * 2, rel=1e-14) and price[0] > 0.1


def test_a_path_that_cannot_be_followed_is_told(monkeypatch):
    failed = SimpleNamespace(success=False, message="step size too small")
    monkeypatch.setattr(scipy.integrate, "solve_ivp", lambda *_, **__: failed)
    with pytest.raises(NotConvergedError, match=r"could not be followed to c = .*: step size too small"):
        fairlp.allocate(instance(), "njc", method="trajectory")


def test_a_path_with_few_corrections_a_step_ends_close(monkeypatch):
    monkeypatch.setattr(path, "_CORRECTIONS", 1)
    found = asked()
    ended = path.by_newton(found.fractions, found.entitlements, found.limited)
    assert ended.x[-1] == pytest.approx([A, A, B], rel=1e-3)


#: x ≥ 0 with Σ x = 1: a triangle.
TRIANGLE = SimpleNamespace(fractions=np.ones((3, 1)), limited=np.zeros(3, dtype=bool))


def hull():
    """The directions of the triangle, of which one point is known."""
    points = [np.array([1.0, 0.0, 0.0])]

    def extreme(direction):
        points.append(np.eye(3)[direction.argmax()])
        return points[-1]

    return polytopes._affine_hull(TRIANGLE, np.ones(1, dtype=bool), points, extreme), np.array(points)


def test_directions_of_a_polytope_are_found_from_one_point():
    span, _ = hull()
    assert len(span) == 2 and abs(span.sum(axis=1)).max() < 1e-12


def test_a_polytope_of_many_sides_has_no_list_of_vertices(monkeypatch):
    span, points = hull()
    given = TRIANGLE, np.zeros(3), np.full(3, 1 / 3), span, points
    assert polytopes._vertices(*given) == pytest.approx(np.eye(3)[::-1], abs=1e-9)
    monkeypatch.setattr(polytopes, "VERTEX_SIDES", 2)
    assert polytopes._vertices(*given) is None


@pytest.mark.parametrize(("low", "within"), [(0.6, 1), (0.4, None)])
def test_a_polytope_lies_in_another_that_asks_for_no_more(low, within):
    asking = SimpleNamespace(thresholds=lambda mask: np.array([0.5 if mask.all() else 0.0]))
    one, both = np.array([True, False]), np.array([True, True])
    inner = SimpleNamespace(bottlenecks=one, always=both, low=np.array([low]), within=None)
    outer = SimpleNamespace(bottlenecks=both, always=one, low=np.array([0.5]), within=None)
    polytopes._nest(asking, [inner, outer])
    assert inner.within == within


def test_points_that_rounding_takes_apart_are_one():
    width = polytopes.POLYTOPE_WIDTH
    assert len(polytopes._tidy(np.array([[0.49 * width], [0.51 * width], [1.0]]))) == 2


def test_a_check_of_many_resources_does_without_the_enumeration(monkeypatch):
    monkeypatch.setattr(validation, "MOST_RESOURCES", 0)
    found = fairlp.validate(instance(), "njc")
    assert "candidates" not in found.index and found.loc["milp", "agrees"] and len(found) == 6


def test_who_is_entitled_to_nothing_has_nothing_where_nothing_is_left():
    poor = Instance.from_arrays([[1.0], [1.0]], [[4.0]], entitlements=[1.0, 0.0])
    found = fairlp.allocate(poor, "ceei", method="convex")
    assert found.totals.to_numpy() == pytest.approx([4, 0], abs=1e-6)
