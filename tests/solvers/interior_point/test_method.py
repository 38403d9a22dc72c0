"""The interior-point method against HiGHS, brute force, Clarabel and the exact algorithms, mechanism by mechanism."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import brute_force
import fairlp
import fairlp_research
from fairlp.errors import NotConvergedError
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.options import Options
from fairlp.solvers.backends.highs import Highs
from fairlp.solvers.interior_point import face, method, pricing, warm_starts
from fairlp.solvers.interior_point.iterate import Iterate
from fairlp.solvers.interior_point.structure import Structure
from fairlp.tolerances import ACCEPTED, AGREEMENT, SETTLED, SOLVER_TIGHTEST
from instances import random_instance
from paths import REAL_DATA
from profiles import PROFILE, by_day, many

TRACE = REAL_DATA / "alibaba-gpu-v2023"
MAX_MIN = ["drf", "edrf", "asset", "drfh", "c-drfh", "cdrf", "tsf"]
ONE_SERVER = ("drf", "edrf", "njc")
KINDS = [
    "uniform",
    "log-normal",
    "wide",
    "integers",
    "sparse",
    "zeros",
    "equal",
    "scaled",
    "one user",
    "one server",
    "many users",
    "many servers",
]
#: two ways to one optimum differ by no more than this, relatively
EQUAL = 1e-8
#: use of a capacity beyond it, relatively: rounding only
ROUNDED = 1e-12


def draw(kind, seed, limits=True, weights=True):
    """A random instance of a kind; weights, limits, counts, copies and users who can run nothing come and go."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    n, k = {
        "one user": (1, rng.integers(1, 12)),
        "one server": (rng.integers(1, 40), 1),
        "many users": (rng.integers(60, 120), rng.integers(1, 4)),
        "many servers": (rng.integers(1, 4), rng.integers(60, 120)),
    }.get(kind, (rng.integers(2, 20), rng.integers(2, 12)))
    r = rng.integers(1, 5)
    spread = 2.0 if kind == "wide" else 1.0
    demands, capacities = rng.lognormal(0, spread, (n, r)), rng.lognormal(2, spread, (k, r))
    if kind == "uniform":
        demands, capacities = rng.uniform(0.1, 1, (n, r)), rng.uniform(1, 10, (k, r))
    if kind in ("integers", "equal"):
        demands, capacities = (
            rng.integers(0, 4, (n, r)).astype(float),
            rng.integers(0, 9, (k, r)).astype(float),
        )
    if kind in ("zeros", "sparse", "scaled"):
        demands *= rng.random((n, r)) < 0.6
    if kind == "equal":
        demands, capacities = (
            demands[rng.integers(0, 3, n) % n],
            capacities[rng.integers(0, 2, k) % k],
        )
    empty = ~demands.any(axis=1)
    demands[empty, rng.integers(0, r, empty.sum())] = 1.0
    capacities[0] = np.maximum(capacities[0], 1.0)
    unit = 10.0 ** rng.integers(-6, 10) if kind == "scaled" else 1.0
    fields = {"counts": rng.integers(1, 5, k) if rng.random() < 0.3 else None}
    if kind == "sparse":
        fields["eligible"] = rng.random((n, k)) < rng.choice([0.3, 0.7])
        fields["eligible"][np.arange(n), rng.integers(0, k, n)] = True
    if weights and rng.random() < 0.5:
        fields["weights"] = rng.choice([0.5, 1.0, 2.0, 10.0], n)
    if limits and rng.random() < 0.5:
        fields["task_limits"] = np.where(rng.random(n) < 0.5, rng.integers(0, 12, n) * unit, np.inf)
    return fairlp.Instance.from_arrays(demands, capacities * unit, **fields)


def suited(instance, mechanism):
    """The instance where the mechanism is defined: one server, or no constraints."""
    if mechanism in ONE_SERVER and instance.counts.sum() > 1:
        return instance.pooled()
    if mechanism == "cdrf":
        return instance.replace(eligible=None)
    return instance


def check_feasible(allocation):
    instance, tasks = allocation.instance, allocation.tasks_array
    assert (tasks[~instance.runnable()] == 0).all()
    # later rounds end at vertices of HiGHS, which may be below 0 by its tolerance
    assert tasks.min() >= -SOLVER_TIGHTEST * tasks.max()
    capacity = instance.capacities * instance.counts[:, None]
    assert (tasks.T @ instance.demands <= capacity * (1 + ROUNDED)).all()
    assert (allocation.totals <= instance.task_limits * (1 + ROUNDED)).all()


def check_equal(instance, mechanism, **options):
    expected = fairlp.allocate(instance, mechanism, method="lp", **options)
    outcome = fairlp.allocate(instance, mechanism, method="interior-point", **options)
    assert outcome.method == "interior-point"
    np.testing.assert_allclose(outcome.totals, expected.totals, rtol=EQUAL)
    np.testing.assert_allclose(outcome.levels, expected.levels, rtol=EQUAL)
    check_feasible(outcome)
    return expected, outcome


@pytest.mark.parametrize(("mechanism", "kind"), by_day(itertools.product(MAX_MIN, KINDS), 5))
def test_equal_to_highs(mechanism, kind):
    for seed in range(many(2)):
        instance = suited(draw(kind, seed), mechanism)
        for merge in (True, False):
            check_equal(instance, mechanism, merge=merge)


@pytest.mark.parametrize("mechanism", MAX_MIN)
def test_equal_to_highs_on_awkward_little_instances(mechanism):
    for seed in range(many(30)):
        instance = random_instance(
            seed, servers=1 if mechanism in ONE_SERVER else None, magnitudes=seed % 3 == 0
        )
        check_equal(suited(instance, mechanism), mechanism, merge=seed % 2 == 0)


@pytest.mark.parametrize("mechanism", ["edrf", "drfh"])
def test_equal_to_highs_with_weights_by_resource(mechanism):
    for seed in by_day(range(20), 2):
        plain = draw(KINDS[seed % 8], seed, weights=False)
        weights = np.random.default_rng(seed).uniform(0.1, 5, plain.demands.shape)
        check_equal(suited(plain.replace(weights=weights), mechanism), mechanism)


@pytest.mark.parametrize("mechanism", ["asset", "c-drfh", "tsf"])
def test_equal_to_one_scipy_program_a_user(mechanism):
    """Nothing of fairlp but the arrays goes into the expected levels."""
    for seed in range(many(40)):
        instance = random_instance(seed + 1000)
        arrays = instance.demands, instance.capacities, instance.counts
        runnable = brute_force.gamma(*arrays) * instance.eligible > 0
        able_users = runnable.any(axis=1) & (instance.task_limits > 0)
        if not able_users.any():
            continue
        rate = instance.user_weights * brute_force.normaliser(mechanism, *arrays, instance.eligible)
        expected = np.zeros(len(able_users))
        limits = instance.task_limits[able_users]
        expected[able_users] = brute_force.leximin(
            arrays[0][able_users], *arrays[1:], runnable[able_users], rate[able_users], limits
        )
        outcome = fairlp.allocate(instance, mechanism, method="interior-point")
        np.testing.assert_allclose(outcome.levels, expected, rtol=1e-6, atol=1e-9 * expected.max())


def steps(allocation):
    """Levels of the rounds, and who stays there; rounds of one level are one."""
    level_users = []
    for level, users in zip(allocation.rounds["level"], allocation.rounds["users"], strict=True):
        if level_users and level <= level_users[-1][0] * (1 + 10 * AGREEMENT):
            level_users[-1][1].update(users)
        else:
            level_users.append((level, set(users)))
    return level_users


@pytest.mark.parametrize("mechanism", ["c-drfh", "tsf"])
def test_rounds_are_those_of_the_linear_programs(mechanism):
    several, seeds = 0, many(40)
    for seed in range(seeds):
        instance = draw(
            ["sparse", "zeros", "integers", "equal"][seed % 4], seed + 100, limits=False
        )
        own_steps, other = (steps(allocation) for allocation in check_equal(instance, mechanism))
        assert [users for _, users in other] == [users for _, users in own_steps]
        assert [level for level, _ in other] == pytest.approx(
            [level for level, _ in own_steps], rel=EQUAL
        )
        several += len(own_steps) > 1
    assert several >= seeds / 4  # or there was nothing to compare


@pytest.mark.parametrize("kind", KINDS)
def test_answers_carry_certificates(kind):
    solved, seeds = 0, many(6)
    for seed in range(seeds):
        for mechanism in ("drfh", "tsf", "asset", "edrf"):
            instance = suited(draw(kind, seed), mechanism)
            if not (instance.runnable().any(axis=1) & (instance.task_limits > 0)).any():
                continue
            solution = fairlp.formulate(instance, mechanism).solve("interior-point")
            proof = solution.verify()
            assert max(proof.primal_residual, proof.dual_residual, proof.gap) <= EQUAL, (
                seed,
                mechanism,
                proof,
            )
            solved += solution.method == "interior point"
    assert solved >= 2 * seeds


@pytest.mark.parametrize("mechanism", ["drf", "drfh", "tsf"])
def test_exact_certificates(mechanism):
    pytest.importorskip("flint")
    for seed in by_day(range(4), 2):
        instance = suited(draw("integers", seed), mechanism)
        verdict = fairlp.allocate(instance, mechanism, method="interior-point").certify(exact=True)
        assert verdict, verdict


def test_an_allocation_that_is_not_optimal_has_no_exact_certificate():
    pytest.importorskip("flint")
    from dataclasses import replace

    outcome = fairlp.allocate(draw("log-normal", 1, limits=False), "drfh", method="interior-point")
    assert outcome.certify(exact=True)
    assert not replace(outcome, tasks_array=outcome.tasks_array * 0.999).certify(exact=True)


@pytest.mark.parametrize("kind", KINDS)
def test_proportional_fairness_equals_clarabel(kind):
    pytest.importorskip("clarabel")
    compared, seeds = 0, by_day(range(4), 2)
    for seed in seeds:
        instance = draw(kind, seed)
        model = fairlp.formulate(instance, "ceei")
        if not (model.compile().logs.weights > 0).any():
            continue
        solution, other = model.solve("interior-point"), model.solve("cvxpy:CLARABEL")
        proof = solution.verify()
        assert solution.method == "interior point", solution.status
        assert max(proof.primal_residual, proof.dual_residual, proof.gap) <= AGREEMENT, (
            seed,
            proof,
        )
        allocation = fairlp.allocate(instance, "ceei", method="interior-point")
        assert allocation.certificate
        check_feasible(allocation)
        if other.status.is_optimal:
            other_proof = other.verify()
            accuracy = max(other_proof.primal_residual, other_proof.dual_residual, other_proof.gap)
            # entitlements sum to 1, so that a difference of objectives is a relative one of the
            # product
            assert abs(solution.objective - other.objective) <= 2 * accuracy + EQUAL, (
                seed,
                other_proof,
            )
            compared += 1
    assert compared >= len(seeds) / 2


@pytest.mark.parametrize("mechanism", ["ceei", "njc"])
@pytest.mark.parametrize("kind", KINDS)
def test_proportional_fairness_on_one_server_equals_newton_on_prices(mechanism, kind):
    for seed in by_day(range(4), 2):
        instance = draw(kind, seed)
        instance = instance if instance.counts.sum() == 1 else instance.pooled()
        expected = fairlp.allocate(instance, mechanism, method="eg")
        outcome = fairlp.allocate(instance, mechanism, method="interior-point")
        assert outcome.method == "interior-point"
        np.testing.assert_allclose(outcome.totals, expected.totals, rtol=EQUAL)
        check_feasible(outcome)


@pytest.mark.parametrize("kind", KINDS)
def test_time_division_equals_best_responses(kind):
    for seed in by_day(range(4), 2):
        instance = draw(kind, seed, limits=False)
        expected = fairlp.allocate(instance, "psdsf-tdm", method="best-response")
        outcome = fairlp.allocate(instance, "psdsf-tdm", method="interior-point")
        assert outcome.method == "interior-point" and outcome.certificate
        np.testing.assert_allclose(outcome.totals, expected.totals, rtol=EQUAL)


@pytest.mark.parametrize("kind", KINDS)
def test_time_division_with_limits_is_a_fixed_point(kind):
    """Then there can be several, so that only the definition tells."""
    for seed in by_day(range(4), 2):
        outcome = fairlp.allocate(draw(kind, seed + 50), "psdsf-tdm", method="interior-point")
        assert outcome.certificate


def test_a_zero_of_the_answer_is_zero():
    """Interior points are positive everywhere; what is handed out is not where nothing is due."""
    instance = draw("sparse", 3)
    outcome = fairlp.allocate(instance, "c-drfh", method="interior-point", merge=False)
    tasks = outcome.tasks_array[outcome.tasks_array > 0]
    assert tasks.min() > np.finfo(float).eps * tasks.max()


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.skipif(not TRACE.is_dir(), reason="the Alibaba GPU trace is not beside the checkout")
def test_the_real_cluster_unmerged():
    """Classes of tasks on servers one by one, with placement constraints and limits, against the merged programs.

    All 457 on all 1,523 at night, by day a thirtieth of the servers and as much of what is asked.
    """
    whole = fairlp_research.read_alibaba_gpu(
        TRACE / "openb_node_list_all_node.csv", TRACE / "openb_pod_list_gpuspec33.csv"
    )
    assert (len(whole.users), len(whole.servers)) == (457, 1523) and whole.has_constraints
    sample = slice(None, None, 1 if PROFILE == "nightly" else 30)
    served = whole.eligible[:, sample].any(axis=1)
    instance = fairlp.Instance.from_arrays(
        whole.demands[served],
        whole.capacities[sample],
        eligible=whole.eligible[served][:, sample],
        task_limits=np.ceil(whole.task_limits[served] / (sample.step or 1)),
    )
    assert instance.has_constraints
    expected = fairlp.allocate(instance, "tsf", method="lp")
    outcome = fairlp.allocate(instance, "tsf", method="interior-point", merge=False)
    np.testing.assert_allclose(outcome.totals, expected.totals, rtol=EQUAL)
    check_feasible(outcome)


# What interior points seldom meet: factors that fail near the end, starts that mislead, faces that
# tell nothing.


def instance(users=12, servers=6, **options):
    rng = np.random.default_rng(0)
    demands, capacities = rng.lognormal(size=(users, 3)), rng.lognormal(3, 1, (servers, 3))
    return fairlp.Instance.from_arrays(demands, capacities, **options)


def program(formulation="drfh"):
    return fairlp.formulate(instance(), formulation).compile()


# --- the method ------------------------------------------------------------------------------------------------------


def test_a_factor_that_fails_ends_at_the_best_point_where_that_is_accepted(monkeypatch):
    problem, factor = Structure.of(program()).problem, Iterate.factor
    optimum = method.solve(problem)

    def fails_below(error):
        def planted(self):
            if self.error <= error:
                raise NotConvergedError("planted")
            return factor(self)

        monkeypatch.setattr(Iterate, "factor", planted)

    fails_below(ACCEPTED)
    optimum_of_failure = method.solve(problem)
    assert optimum_of_failure.error <= ACCEPTED
    assert optimum_of_failure.point.t == pytest.approx(optimum.point.t, rel=10 * ACCEPTED)
    fails_below(100 * ACCEPTED)
    with pytest.raises(NotConvergedError, match="planted"):
        method.solve(problem)


@pytest.mark.parametrize("seed", [412, 504, 788])
def test_the_method_does_not_end_while_steps_still_gain(seed):
    """Of 10,300 products the mean is far below the error: it is no measure for the last steps."""
    rng = np.random.default_rng(seed)
    demands = rng.lognormal(size=(100, 3))
    capacities = rng.lognormal(2, 1, (100, 3))
    large = fairlp.Instance.from_arrays(demands, capacities)
    problem = Structure.of(fairlp.formulate(large, "drfh").compile()).problem
    assert method.solve(problem).error <= SETTLED


# --- starts from points on the way -----------------------------------------------------------------------------------


def limited():
    """Task limits that some have long before the others have what they get."""
    case = instance(15, 8)
    fair = fairlp.allocate(case, "drfh", method="lp").totals.to_numpy()
    return case.replace(
        task_limits=np.where(np.arange(15) % 3, fair * (0.2 + np.arange(15) / 20), np.inf)
    )


def late(*_):
    """No point before the time was up."""
    return None


def not_converged(*_):
    raise NotConvergedError("planted")


def levels(case, method="interior-point"):
    return fairlp.allocate(case, "drfh", method=method).levels.to_numpy()


@pytest.mark.parametrize("answer", [late, not_converged])
def test_levels_are_right_where_nothing_on_the_way_is_found(monkeypatch, answer):
    case, right, calls = limited(), method.solve, []

    def planted(problem, deadline=np.inf, threads=1, start=None, accepted_error=0.0, settles=None):
        calls.append(accepted_error)
        if accepted_error:
            return answer()
        return right(problem, deadline, threads, start, accepted_error, settles)

    monkeypatch.setattr(method, "solve", planted)
    assert levels(case) == pytest.approx(levels(case, "lp"), rel=1e-9) and any(calls)


def test_a_session_that_finds_nothing_on_the_way_begins_afresh(monkeypatch):
    session = find_backend("interior-point").session(program(), Options())
    assert (
        session.reaches(1e-3) == pytest.approx(session.solve().objective, rel=1e-2)
        and session.warm_start is not None
    )
    start = session.warm_start
    for answer in (late, not_converged):
        session.warm_start = start
        monkeypatch.setattr(method, "solve", lambda *_, answer=answer: answer())
        assert session.reaches(1e-3) is None and session.warm_start is None


@pytest.mark.parametrize(("deviation", "calls"), [(0.0, 1), (1e-3, 2)])
def test_a_start_that_leads_nowhere_near_is_given_up(monkeypatch, deviation, calls):
    structure, right, starts = Structure.of(program()), method.solve, []
    optimum_there = right(structure.problem)

    def planted(problem, deadline, threads, start=None, **options):
        starts.append(start)
        return replace(
            optimum_there, error=optimum_there.error + (deviation if start is not None else 0.0)
        )

    monkeypatch.setattr(method, "solve", planted)
    start_near = warm_starts.WarmStart(optimum_there, structure.level_unit)
    optimum = warm_starts.solve_near(structure, start_near, np.inf, Options())
    assert optimum.error <= method.NEARLY * SETTLED and len(starts) == calls
    assert [start is not None for start in starts] == [True, False][:calls]


# --- faces -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solved():
    """A program, its structure and optimum, and what that decides."""
    structure = Structure.of(program())
    point = method.solve(structure.problem).point
    decided = face.decisions_of(structure, point, face.sharpened(structure.problem, point), None)
    assert decided is not None and decided.blocked.any()
    return structure, point, decided


@pytest.mark.parametrize("paid", [True, False])
def test_prices_below_0_are_paid_by_earlier_rounds_or_there_are_none(solved, paid):
    structure, point, decided = solved
    prices = point.p.copy()
    prices[0, 0] = -1.0
    other_point = replace(point, p=prices)
    first = replace(
        decided.rounds[0],
        tight_capacities=prices < 0,
        prices=np.full_like(prices, 1.0 if paid else 0.0),
    )
    before = replace(decided, rounds=(first,))
    lifted = face.with_whole_duals(structure, other_point, before)
    assert (lifted is not None) == paid and (
        face.decisions_of(structure, point, other_point, before) is not None
    ) == paid
    if paid:
        value = structure.problem.rows.slope @ lifted.v
        assert (lifted.p >= 0).all() and value == pytest.approx(1)


def with_stopped_users(program, n_stopped, floor):
    """The program in which its first users have stopped at a floor."""
    A = program.A.copy()
    first = A.indptr[program.column_block("t").start]
    rows = A.indices[first : first + n_stopped].copy()
    A.data[first : first + n_stopped] = 0.0
    A.eliminate_zeros()
    lower = program.row_lower.copy()
    lower[rows] = floor
    return program.replace(A=A, row_lower=lower)


def test_slopes_and_floors_of_another_program_are_those_that_are_recognised_in_it():
    structure = Structure.of(program())
    later = with_stopped_users(program(), 3, 1e-3)
    recognised = Structure.of(later)
    quick = structure.with_levels_of(later)
    for name in ("slope", "bound"):
        numbers = getattr(quick.problem.rows, name)
        np.testing.assert_allclose(numbers, getattr(recognised.problem.rows, name), rtol=1e-14)
    for name in ("row_unit", "resource_unit", "level_unit"):
        np.testing.assert_allclose(getattr(quick, name), getattr(recognised, name), rtol=1e-13)


# --- programs of another kind ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["negative", "of two"])
def test_users_rows_of_another_kind_are_solved_otherwise(kind):
    original = program()
    matrix, row = original.A.tolil(copy=True), original.row_block("fairness").start
    pairs = [j for j in matrix.rows[row] if j != original.column_block("t").start]
    if kind == "negative":
        matrix[row, pairs] = -matrix[row, pairs].toarray()
    else:
        matrix[row, [j for j in matrix.rows[row + 1] if j not in matrix.rows[row]]] = 1.0
    case = original.replace(A=matrix.tocsc())
    assert Structure.of(original) is not None and Structure.of(case) is None
    objective = find_backend("highs").solve(case, Options()).objective
    assert find_backend("interior-point").solve(case, Options()).objective == pytest.approx(
        objective, rel=1e-7
    )


# --- vertices --------------------------------------------------------------------------------------------------------


def test_columns_are_added_where_the_whole_program_gives_no_prices(monkeypatch):
    model = fairlp.formulate(instance(), "drfh")
    session = pricing.PricingSession(
        Highs(), model.compile(), Options().tightened(Highs()), model.solve("interior-point")
    )
    objective = session.solve().objective
    columns = np.arange(session.program.n_columns) % 3 == 0
    columns[session.program.column_block("t").start] = True
    session._show(columns)
    solve, programs = Highs.solve, []

    def without(self, whole, options):
        programs.append(whole)
        return replace(solve(self, whole, options), row_duals=None)

    monkeypatch.setattr(pricing, "MOST_ROUNDS", 1)
    monkeypatch.setattr(Highs, "solve", without)
    assert session.solve().objective == pytest.approx(objective, rel=1e-8) and programs
