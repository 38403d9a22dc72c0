"""Rounds on the optimal face: equal to the rounds of the simplex method, and not believed where they go wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairlp
from fairlp.models.programs.certificate import verify
from fairlp.models.programs.solution import Solution
from fairlp.solvers.interior_point import face, method, session
from fairlp.solvers.interior_point.structure import Structure
from fairlp.tolerances import INTERIOR_ROUGH, SETTLED
from fairlp_research.library.numerics import shaped
from profiles import chequered, many

#: The shapes, and what is special about them.
KINDS = [
    "zeros",
    "gpu",
    "two of five",
    "limits",
    "few pairs",
    "chain",
    "weights",
    "a dominating user",
]


def instance(kind, users, servers, seed):
    """Log-normal data in the shapes of real clusters: zero demands, GPUs that few need and few have, two of five, …"""
    rng = np.random.default_rng(seed)
    fields = {}
    resources = 5 if kind == "two of five" else 3
    demands = rng.lognormal(size=(users, resources))
    capacities = rng.lognormal(size=(servers, resources)) * users / servers
    if kind == "zeros":
        demands[rng.random((users, resources)) < 0.2] = 0
    elif kind == "gpu":
        demands[rng.random(users) > 0.3, 2] = 0
        capacities[1:][rng.random(servers - 1) > 0.4, 2] = 0
    elif kind == "two of five":
        is_needed = rng.random((users, resources)).argsort(axis=1) < 2
        demands = np.where(is_needed, demands, 0.0)
    elif kind == "limits":
        demands[rng.random((users, resources)) < 0.2] = 0
        demands[~demands.any(axis=1), 0] = 1
        alone = fairlp.Instance.from_arrays(demands, capacities).gamma().sum(axis=1)
        limits = alone / users * rng.uniform(0.1, 10, users)
        fields["task_limits"] = np.where(rng.random(users) < 0.5, limits, np.inf)
    elif kind == "few pairs":
        fields["eligible"] = rng.random((users, servers)) < 0.2
        fields["eligible"][np.arange(users), rng.integers(servers, size=users)] = True
    elif kind == "chain":
        block, place = np.arange(users) * 4 // users, np.arange(servers) * 4 // servers
        fields["eligible"] = (block[:, None] == place) | (block[:, None] + 1 == place)
        fields["eligible"][:, 0] |= ~fields["eligible"].any(axis=1)
    else:
        spread = (
            rng.lognormal(0, 4, users)
            if kind == "weights"
            else np.where(np.arange(users) == 0, 1e5, 1.0)
        )
        fields["weights"] = spread
    demands[~demands.any(axis=1), 0] = 1
    return fairlp.Instance.from_arrays(demands, capacities, **fields)


def levels(case, method):
    allocation = fairlp.allocate(case, "drfh", method=method)
    assert allocation.residual <= 1e-9
    return allocation.levels.to_numpy()


@pytest.mark.parametrize(("kind", "seed"), chequered(KINDS, range(many(12))))
def test_equal_to_the_rounds_of_the_simplex_method(kind, seed):
    rng = np.random.default_rng(seed)
    case = instance(kind, int(rng.integers(5, 40)), int(rng.integers(3, 40)), seed)
    np.testing.assert_allclose(levels(case, "interior-point"), levels(case, "lp"), rtol=1e-9)


@pytest.fixture
def counts(monkeypatch):
    """How often rounds were solved on a face, and at a vertex."""
    counts = {"face": 0, "vertex": 0}
    on_face, on_columns = session.InteriorPointSession.solve_on_face, session.on_columns

    def counted(self, *arguments, **named):
        decisions = on_face(self, *arguments, **named)
        counts["face"] += decisions is not None
        return decisions

    def columns(*arguments):
        counts["vertex"] += 1
        return on_columns(*arguments)

    monkeypatch.setattr(session.InteriorPointSession, "solve_on_face", counted)
    monkeypatch.setattr(session, "on_columns", columns)
    return counts


def test_several_rounds_need_no_vertex(counts):
    case = instance("two of five", 60, 60, 1)
    values = levels(case, "interior-point")
    assert len(np.unique(values.round(9))) >= 3 and counts["face"] >= 3 and counts["vertex"] == 0
    np.testing.assert_allclose(values, levels(case, "lp"), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_no_shape_needs_a_vertex(counts, kind):
    case = instance(kind, 60, 50, 2)
    np.testing.assert_allclose(levels(case, "interior-point"), levels(case, "lp"), rtol=1e-9)
    assert counts["vertex"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("unclear", [1, 100])
def test_a_program_whose_vertex_takes_long_is_solved_inside_once(monkeypatch, counts, unclear):
    """The first decisions are not clear: of the first round alone, or of all."""
    case = instance("two of five", 60, 60, 1)
    right = face.decisions_of
    results = [None] * unclear

    def planted(*arguments):
        return results.pop() if results else right(*arguments)

    monkeypatch.setattr(session, "decisions_of", planted)
    monkeypatch.setattr(session, "LARGE", 0)
    monkeypatch.setattr(session, "QUICK_STEPS", 1)
    np.testing.assert_allclose(levels(case, "interior-point"), levels(case, "lp"), rtol=1e-9)
    assert counts["vertex"] == (1 if unclear == 1 else 2)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["pair", "capacity", "unclear", "no prices"])
def test_what_is_wrong_about_a_face_ends_at_a_vertex(monkeypatch, counts, fault):
    case = instance("two of five", 60, 60, 1)
    expected = levels(case, "lp")
    right = face.decisions_of

    def planted(structure, point, sharp, before):
        decisions = right(structure, point, sharp, before)
        if fault == "unclear" or decisions is None:
            return None
        if fault == "pair":  # a pair that is used is said to be dear
            usable_pairs = decisions.usable_pairs.copy()
            i, n = np.unravel_index((point.x * usable_pairs).argmax(), usable_pairs.shape)
            usable_pairs[i, n] = False
            return replace(decisions, usable_pairs=usable_pairs)
        full = decisions.tight_capacities.copy()
        if fault == "capacity":  # one that has something left is said to be used up
            full[
                np.unravel_index(
                    (point.s / structure.problem.region.capacities).argmax(), full.shape
                )
            ] = True
        return replace(decisions, tight_capacities=full)

    monkeypatch.setattr(session, "decisions_of", planted)
    if fault == "no prices":
        monkeypatch.setattr(session, "with_whole_duals", lambda *_: None)
    np.testing.assert_allclose(levels(case, "interior-point"), expected, rtol=1e-8)
    assert counts["vertex"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "vertex"), [(1.1 * INTERIOR_ROUGH, 1), (INTERIOR_ROUGH, 0)])
def test_a_gap_that_prices_carry_over_is_told_and_beyond_reason_ends_at_a_vertex(
    monkeypatch, counts, gap, vertex
):
    case = instance("two of five", 60, 60, 1)
    expected = levels(case, "lp")
    right = Solution.verify
    monkeypatch.setattr(Solution, "verify", lambda self: replace(right(self), objective_gap=gap))
    allocation = fairlp.allocate(case, "drfh", method="interior-point")
    np.testing.assert_allclose(allocation.levels, expected, rtol=1e-9)
    assert counts["vertex"] == vertex and (counts["face"] >= 3) == (vertex == 0)
    # prices prove the answer on the instance's own numbers all the same
    assert any(note.startswith("by rounding, levels may be off by") for note in allocation.notes)
    assert not allocation.unproved


def first_optimum(kind):
    """The structure and the interior optimum of a first program."""
    structure = Structure.of(fairlp.formulate(instance(kind, 60, 50, 2), "drfh").compile())
    return structure, method.solve(structure.problem).point


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "limits"])
def test_a_sharpened_optimum_holds_in_every_row_that_is_used_up(kind):
    structure, point = first_optimum(kind)
    sharp = face.sharpened(structure.problem, point)
    program = structure.program
    after = verify(program, *structure.vectors(sharp))
    assert after.gap <= SETTLED and after.is_optimal
    region, rows = structure.problem.region, structure.problem.rows
    used = (region.usage(sharp.x) / region.capacities)[sharp.s == 0]
    tasks = region.totals(sharp.x)[rows.user][sharp.u == 0]
    np.testing.assert_allclose(used[region.is_demanded[sharp.s == 0]], 1.0, rtol=SETTLED)
    np.testing.assert_allclose(
        tasks, (rows.bound + rows.slope * sharp.t)[sharp.u == 0], rtol=SETTLED
    )
    assert (sharp.x * sharp.z == 0).all() and (sharp.s * sharp.p == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("size", [60, 150])
def test_many_levels_that_hang_on_the_first_are_proved_without_a_vertex(counts, size):
    case = shaped("windows", size)
    allocation = fairlp.allocate(case, "drfh", method="interior-point")
    assert len(allocation.rounds) >= 15 and counts["vertex"] == 0
    assert allocation.gap <= 1e-9 and not allocation.unproved


def test_a_price_that_is_small_beside_others_tells_who_is_blocked(counts):
    """A user whose tasks are worth 1e-10 of the others' pays for every pair that it uses: its price is no rounding."""
    allocation = fairlp.allocate(shaped("spread", 60, seed=1), "drfh", method="interior-point")
    assert len(allocation.rounds) == 1 and counts["vertex"] == 0 and allocation.gap <= 1e-12
    assert not allocation.unproved
    small = fairlp.allocate(shaped("spread", 16, seed=1), "drfh", method="interior-point")
    assert small.certify(exact=True).holds and not small.unproved


@pytest.mark.parametrize("fault", ["", "a price", "a floor", "a capacity", "an unclear user"])
def test_a_point_tells_its_face_where_it_is_an_optimum_of_clear_users(fault):
    structure, point = first_optimum("two of five")
    problem = structure.problem
    sharp = face.sharpened(problem, point)
    if fault == "a price":
        sharp = replace(
            sharp, p=sharp.p * (1 + 1e-9 * (np.arange(sharp.p.size).reshape(sharp.p.shape) % 2))
        )
    elif fault == "a floor":
        t = sharp.t * (1 + 1e-9)
        total = problem.region.totals(sharp.x)[problem.rows.user]
        sharp = replace(sharp, t=t, u=total - problem.rows.bound - problem.rows.slope * t)
    elif fault == "a capacity":
        x = sharp.x * (1 + 1e-9)
        sharp = replace(sharp, x=x, s=problem.region.capacities - problem.region.usage(x))
    elif fault == "an unclear user":
        stops = int(np.argmax(sharp.v))
        u = point.u.copy()
        u[stops] = problem.region.totals(point.x)[problem.rows.user[stops]]
        point = replace(point, u=u)
    assert face.tells_its_face(problem, point, sharp) == (not fault)
