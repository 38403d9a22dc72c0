"""The parts of the interior-point method: what it recognises, its duals, what happens where it fails."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import fairlp
from fairlp.errors import NoSolutionError, NotConvergedError
from fairlp.formulations.arrivals import cautious_lp, dynamic_drf
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.options import Options
from fairlp.models.programs.status import Termination
from fairlp.solvers.backends.highs import Highs, HighsSession
from fairlp.solvers.interior_point import (
    face,
    method,
    pricing,
    session,
    warm_starts,
)
from fairlp.solvers.interior_point.pricing import PricingSession
from fairlp.solvers.interior_point.structure import Structure
from profiles import by_day

OURS, THEIRS = "interior point", "HiGHS"
MAX_MIN = ["asset", "drfh", "c-drfh", "cdrf", "tsf"]
EQUAL = 1e-8


def cluster(users=8, servers=5, resources=3, seed=0, constraints=False, **fields):
    """Log-normal demands and capacities: the optimum is unique, and so are the duals, almost surely."""
    rng = np.random.default_rng(seed)
    demands, capacities = (
        rng.lognormal(0, 1, (users, resources)),
        rng.lognormal(3, 1, (servers, resources)),
    )
    if constraints:
        fields["eligible"] = rng.random((users, servers)) < 0.6
        fields["eligible"][np.arange(users), rng.integers(0, servers, users)] = True
    return fairlp.Instance.from_arrays(demands, capacities, **fields)


def limited(instance, seed=0):
    """Limits around what users would get; one of 0."""
    level = fairlp.allocate(instance, "tsf").totals.to_numpy()
    limits = level * np.random.default_rng(seed).uniform(0.5, 3, len(level))
    limits[::3] = np.inf
    limits[1] = 0.0
    return instance.replace(task_limits=limits)


def solve_both(model, **options):
    """The answers of HiGHS and of the interior-point method, which is the one that gave it."""
    expected, solution = model.solve("highs"), model.solve("interior-point", **options)
    assert solution.solver == "interior-point" and solution.status.is_optimal
    assert solution.method == OURS, solution.status
    assert solution.objective == pytest.approx(expected.objective, rel=EQUAL)
    proof = solution.verify()
    assert max(proof.primal_residual, proof.dual_residual, proof.gap) <= EQUAL
    return expected, solution


# --- what is recognised


@pytest.mark.parametrize("with_limits", [False, True])
@pytest.mark.parametrize("constraints", [False, True])
@pytest.mark.parametrize("mechanism", [*MAX_MIN, "ceei"])
def test_programs_of_users_who_share_servers(mechanism, constraints, with_limits):
    instance = cluster(seed=3, constraints=constraints and mechanism != "cdrf")
    instance = limited(instance) if with_limits else instance
    model = fairlp.formulate(instance, mechanism)
    structure = Structure.of(model.compile())
    assert structure is not None
    unlimited = len(instance.users) - with_limits
    region = structure.problem.region
    assert region.shape == (len(instance.servers), unlimited, 3)
    assert region.n_pairs == instance.runnable()[instance.task_limits > 0].sum()
    assert (structure.places.level >= 0) == structure.problem.has_level == (mechanism != "ceei")
    solve_both(model)


@pytest.mark.parametrize("with_limits", [False, True])
@pytest.mark.parametrize("mechanism", ["drf", "edrf", "asset", "naive-drf", "tsf", "ceei"])
def test_programs_of_one_server(mechanism, with_limits):
    instance = cluster(servers=1, seed=4)
    solve_both(fairlp.formulate(limited(instance) if with_limits else instance, mechanism))


@pytest.mark.parametrize("with_limits", [False, True])
def test_no_justified_complaints(with_limits):
    instance = cluster(servers=1, seed=5)
    if with_limits:
        instance = instance.replace(task_limits=instance.gamma()[:, 0] * np.resize([0.1, 0.9], 8))
    solve_both(fairlp.formulate(instance, "njc"))


def others():
    """Programs of another kind."""
    several, single = cluster(seed=6), cluster(servers=1, seed=6)
    yield "naive-drf", fairlp.formulate(several, "naive-drf")
    yield "psdsf-tdm", fairlp.formulate(several, "psdsf-tdm")
    yield "cautious-lp", fairlp.formulate(single, "cautious-lp", step=4)
    yield "njc with bottlenecks", fairlp.formulate(single, "njc", bottlenecks="resource1")
    small = fairlp.Model("by hand")
    x = small.variable("x", upper=2)
    small.constraint("row", 3 * x <= 4)
    small.maximize(x)
    yield "by hand", small


@pytest.mark.parametrize(
    "name, model", list(others()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_other_programs_go_to_highs_and_the_answer_says_so(name, model):
    assert Structure.of(model.compile()) is None
    answer = model.solve("interior-point")
    assert answer.solver == "interior-point" and answer.method.startswith(THEIRS)
    assert "by HiGHS: these are not users who share servers" in answer.status.message
    expected = model.solve("highs")
    assert answer.status.termination is expected.status.termination
    if expected.status.is_optimal:
        assert answer.objective == pytest.approx(expected.objective, rel=EQUAL)


@pytest.mark.parametrize("place", ["capacity", "fairness"])
def test_a_row_that_is_not_the_one_expected_is_noticed(place):
    """One entry of one server or user is another number: blocks and labels are a region's, the program is not."""
    program = fairlp.formulate(cluster(), "drfh").compile()
    row = program.row_block(place).start + 7
    A = program.A.tocsr()
    A.data[A.indptr[row] + 1] *= 1.5
    changed = program.replace(A=A.tocsc())
    assert Structure.of(changed) is None
    backend = find_backend("interior-point")
    answer = backend.solve(changed, Options())
    assert answer.method.startswith(THEIRS)
    assert answer.objective == pytest.approx(Highs().solve(changed, Options()).objective, rel=EQUAL)


def test_the_programs_own_places_are_filled():
    """Columns that do not exist or are fixed at 0 stay so; every row and column of the answer is in its place."""
    instance = limited(cluster(seed=9, constraints=True))
    expected, solution = solve_both(fairlp.formulate(instance, "tsf"))
    program = solution.program
    assert solution.x.shape == (program.n_columns,) and solution.row_duals.shape == (
        program.n_rows,
    )
    fixed = program.col_upper <= 0
    assert (solution.x[fixed] == 0).all() and (solution.x >= 0).all()
    activity = program.A @ solution.x
    capacity = program.row_block("capacity").slice
    assert (activity[capacity] <= program.row_upper[capacity] * (1 + 1e-12)).all()
    assert set(solution.times) == set(expected.times)
    assert solution.iterations["interior point"] > 0


# --- lower bounds


@pytest.mark.parametrize("seed", by_day(range(10), 3))
def test_lower_bounds_of_dynamic_drf(seed):
    instance = cluster(users=9, servers=1, seed=seed)
    expected_rows = {"capacity", "fairness", "irrevocable"}
    for step in range(2, 10):
        model = fairlp.formulate(instance, "dynamic-drf", step=step)
        assert {block.name for block in model.compile().rows} == expected_rows
        rows = Structure.of(model.compile()).problem.rows
        assert len(rows.user) == 2 * step - 1 and (rows.sign < 0).all()
        solve_both(model)


def test_lower_bounds_that_keep_the_level_down():
    instance = cluster(users=4, servers=1, seed=2)
    shares = np.array([0.5, 0.01, 0.01, 0.0])
    _, solution = solve_both(dynamic_drf(instance, shares, 0.9))
    assert solution.values["x"].iloc[0] >= 0.5 * (1 - 1e-12)
    duals = solution.duals["irrevocable"].to_numpy()
    assert duals[0] < 0 and abs(duals[1:3]).max() <= EQUAL * -duals[0]
    _, free = solve_both(dynamic_drf(instance, np.zeros(4), 0.9))
    assert free.objective > solution.objective


def test_lower_bounds_that_contradict_the_capacities_are_infeasible():
    model = dynamic_drf(cluster(users=4, servers=1, seed=2), np.full(4, 0.9), 0.5)
    answer = model.solve("interior-point")
    assert answer.status.termination is Termination.INFEASIBLE and answer.x is None
    assert "by HiGHS" in answer.status.message


def test_a_level_in_the_capacities_is_of_another_kind():
    instance = cluster(users=4, servers=1, seed=2)
    assert Structure.of(cautious_lp(instance, np.zeros(4), 1.0, 0.0).compile()) is not None
    assert Structure.of(cautious_lp(instance, np.zeros(4), 1.0, 2.0).compile()) is None


# --- duals


@pytest.mark.parametrize("seed", by_day(range(8), 2))
@pytest.mark.parametrize("mechanism", ["drfh", "asset", "c-drfh", "tsf"])
def test_duals_are_those_of_highs_where_they_are_unique(mechanism, seed):
    instance = cluster(12, 7, seed=seed, constraints=mechanism in ("c-drfh", "tsf"))
    expected, solution = solve_both(fairlp.formulate(instance, mechanism))
    duals = abs(expected.row_duals)
    np.testing.assert_allclose(
        solution.row_duals, expected.row_duals, rtol=0, atol=EQUAL * duals.max()
    )
    terms = abs(solution.program.A).T @ duals + abs(solution.program.c)
    assert (abs(solution.column_duals - expected.column_duals) <= EQUAL * terms.max()).all()


@pytest.mark.parametrize("seed", range(4))
def test_prices_of_an_allocation(seed):
    instance = cluster(12, 7, seed=seed)
    prices, other = (
        fairlp.allocate(instance, "drfh", method=name).prices for name in ("interior-point", "lp")
    )
    np.testing.assert_allclose(prices, other, rtol=0, atol=EQUAL * other.to_numpy().max())


# --- where it fails, limits, options


def fail(*_, **__):
    raise NotConvergedError("it was told to fail")


def stop_early(monkeypatch, kind):
    """Let the method fail: at once, or after a few iterations."""
    if kind == "raise":
        monkeypatch.setattr(method, "solve", fail)
        return "it was told to fail"
    monkeypatch.setattr(method, "MOST_ITERATIONS", 3)
    return "the interior-point method stopped .* from the optimum after 2 iterations"


@pytest.mark.parametrize("kind", ["raise", "iterations"])
@pytest.mark.parametrize("mechanism", ["drfh", "ceei"])
def test_not_converging_falls_back_to_highs_and_says_so(monkeypatch, mechanism, kind):
    model = fairlp.formulate(cluster(), mechanism)
    expected = model.solve("highs")
    message = stop_early(monkeypatch, kind)
    answer = model.solve("interior-point")
    assert (
        answer.status.is_optimal
        and answer.solver == "interior-point"
        and answer.method.startswith(THEIRS)
    )
    assert re.search(rf"\(by HiGHS: {message}\)", answer.status.message), answer.status.message
    assert answer.objective == pytest.approx(expected.objective, rel=EQUAL)


@pytest.mark.parametrize("kind", ["raise", "iterations"])
@pytest.mark.parametrize("mechanism", ["drf", "c-drfh", "ceei", "njc"])
def test_an_allocation_survives_the_fall_back(monkeypatch, mechanism, kind):
    instance = cluster(servers=1) if mechanism in ("drf", "njc") else cluster(constraints=True)
    expected = fairlp.allocate(instance, mechanism, method="interior-point")
    stop_early(monkeypatch, kind)
    allocation = fairlp.allocate(instance, mechanism, method="interior-point")
    # tangents of logarithms are right to the root of their gap
    close = 1e-5 if mechanism in ("ceei", "njc") else EQUAL
    np.testing.assert_allclose(allocation.totals, expected.totals, rtol=close)


@pytest.mark.parametrize("mechanism", ["drfh", "ceei"])
@pytest.mark.parametrize("seconds", [0, 1e-9])
def test_a_time_limit_is_kept(mechanism, seconds):
    answer = fairlp.formulate(cluster(30, 20), mechanism).solve(
        "interior-point", time_limit=seconds
    )
    assert answer.status.termination is Termination.TIME_LIMIT and not answer.status.is_optimal
    assert answer.x is None and answer.row_duals is None
    assert f"time limit of {seconds:g} s" in answer.status.message
    with pytest.raises(NoSolutionError, match="time limit"):
        answer.require_optimal()


def test_the_fall_back_keeps_what_is_left_of_the_time(monkeypatch):
    options = []
    monkeypatch.setattr(method, "solve", fail)
    plain = Highs.solve
    monkeypatch.setattr(
        Highs, "solve", lambda self, *args: options.append(args[1]) or plain(self, *args)
    )
    model = fairlp.formulate(cluster(), "drfh")
    assert model.solve("interior-point", time_limit=100).status.is_optimal
    assert 0 < options[-1].time_limit < 100
    model.solve("interior-point")
    assert options[-1].time_limit is None


def test_the_solver_by_name_is_the_method():
    by_name, other = ({"solver": "interior-point"}, {"method": "interior-point"})
    instance = cluster()
    by_name, other = (
        fairlp.allocate(instance, "drfh", **options).totals.tolist() for options in (by_name, other)
    )
    assert by_name == other


# Parts of the interior-point method that may fail: each is made to, and the levels are those of
# linear programs.


def instance(users=12, servers=6, seed=0, has_few_servers=False):
    rng = np.random.default_rng(seed)
    eligible = None
    if has_few_servers:
        eligible = rng.random((users, servers)) < 0.02
        eligible[np.arange(users), rng.integers(servers, size=users)] = True
    demands, capacities = rng.lognormal(size=(users, 3)), rng.lognormal(3, 1, (servers, 3))
    return fairlp.Instance.from_arrays(demands, capacities, eligible=eligible)


def rounds(users=30, servers=30, seed=1):
    """Everybody needs two of five resources, which takes several rounds."""
    rng = np.random.default_rng(seed)
    is_needed = rng.random((users, 5)).argsort(axis=1) < 2
    return fairlp.Instance.from_arrays(
        np.where(is_needed, rng.lognormal(size=(users, 5)), 0.0), rng.lognormal(size=(servers, 5))
    )


def levels(case, method="interior-point"):
    return fairlp.allocate(case, "drfh", method=method).levels.to_numpy()


def not_converged(*_, **__):
    raise NotConvergedError("planted")


FAULTS = {
    "no floors": (face, "_one_floor_each", lambda *_: False),
    "no duals": (face, "_whole_duals", lambda *_: None),
    "no duals later": (session, "with_whole_duals", lambda *_: None),
    "another face": (session, "structure_on_face", lambda *_: None),
    "other units": (warm_starts.WarmStart, "of", lambda *_: None),
    "near is not near": (method, "NEARLY", 0.0),
    "nothing converges": (method, "solve", not_converged),
}


@pytest.fixture(scope="module")
def in_rounds():
    """An instance of several levels, and those."""
    case = rounds()
    expected = levels(case, "lp")
    assert len(np.unique(expected.round(9))) >= 3
    assert levels(case) == pytest.approx(expected, rel=1e-9)
    return case, expected


@pytest.mark.parametrize("fault", FAULTS)
def test_levels_are_right_whatever_fails(monkeypatch, fault, in_rounds):
    case, expected = in_rounds
    monkeypatch.setattr(*FAULTS[fault])
    assert levels(case) == pytest.approx(expected, rel=1e-7)


def program(formulation="drfh"):
    return fairlp.formulate(instance(), formulation).compile()


def test_a_point_of_another_program_is_not_near():
    structure = Structure.of(program())
    point = method.solve(structure.problem)
    start = warm_starts.WarmStart(point, structure.level_unit)
    assert start.of(structure).point.t == pytest.approx(point.point.t)
    other = Structure.of(fairlp.formulate(instance(users=11), "drfh").compile())
    assert start.of(other) is None


def test_without_duals_all_prices_count_as_clear():
    solution = find_backend("highs").solve(program(), Options())
    assert session.all_prices_are_clear(replace(solution, row_duals=None), 1.0)
    assert not session.all_prices_are_clear(solution, 1.0)


# --- programs of another kind --------------------------------------------------------------------------------------


def changed(**options):
    original = program()
    users = original.row_block("fairness").slice
    first = (
        original.column_block("x").start if "x" in {block.name for block in original.columns} else 0
    )
    matrix = original.A.tolil(copy=True)
    lower, upper = original.col_lower.copy(), original.col_upper.copy()
    rows = original.row_upper.copy()
    if options.get("coefficient"):
        row = users.start
        column = next(j for j in matrix.rows[row] if j != original.column_block("t").start)
        matrix[row, column] *= -1.0
    if options.get("least"):
        lower[first] = 1e-3
    if options.get("most"):
        upper[original.columns[0].slice] = 50.0
    if options.get("between"):
        rows[users.start] = 100.0
    return original.replace(A=matrix.tocsc(), col_lower=lower, col_upper=upper, row_upper=rows)


@pytest.mark.parametrize("kind", ["coefficient", "least", "most", "between"])
def test_programs_of_another_kind_are_solved_otherwise(kind):
    assert Structure.of(changed()) is not None
    other = changed(**{kind: True})
    assert Structure.of(other) is None
    answer = find_backend("highs").solve(other, Options())
    optimum = find_backend("interior-point").solve(other, Options())
    assert optimum.status.termination is answer.status.termination
    if answer.status.is_optimal:
        assert optimum.objective == pytest.approx(answer.objective, rel=1e-7, abs=1e-9)


# --- vertices ------------------------------------------------------------------------------------------------------


def priced():
    model = fairlp.formulate(instance(users=30, servers=20), "drfh")
    start = model.solve("interior-point")
    return PricingSession(Highs(), model.compile(), Options().tightened(Highs()), start)


def test_columns_without_end_and_without_a_basis_lead_to_the_optimum(monkeypatch):
    objective = priced().solve().objective
    for owner, name, value in (
        (pricing, "MOST_ROUNDS", 1),
        (HighsSession, "basic", lambda self: None),
    ):
        session = priced()
        columns = np.arange(session.program.n_columns) % 3 == 0
        columns[session.program.column_block("t").start] = True
        monkeypatch.setattr(owner, name, value)
        session._show(columns)
        assert session.solve().objective == pytest.approx(objective, rel=1e-8)
        monkeypatch.undo()
