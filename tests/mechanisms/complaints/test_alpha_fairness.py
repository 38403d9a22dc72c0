"""α-fairness: its ends and its middle against other mechanisms, optimality by prices, cones and tangents beside it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog, minimize_scalar

import fairlp
from fairlp import Instance, examples
from fairlp.errors import NotConvergedError
from fairlp.models.programs.solution import solution_at
from fairlp.models.programs.status import Termination
from fairlp.solvers.interior_point import backend
from fairlp.tolerances import ACCEPTED, AGREEMENT, CONVEX_POINT, VERIFIED
from instances import random_instance
from mean_level import mean_level_bound, power_mean
from profiles import many

ALPHAS = (0.5, 2.0, 5.0)
#: Optimality conditions, relative, of our own method.
CONDITIONS = 1e-9


def dominant_shares(instance):
    """Tasks that are a share of 1: written anew."""
    pool = (instance.capacities * instance.counts[:, None]).sum(axis=0)
    return np.array(
        [min(pool[r] / d[r] for r in range(len(pool)) if d[r] > 0) for d in instance.demands]
    )


def able(instance):
    return instance.runnable().any(axis=1) & (instance.task_limits > 0)


def conditions(instance, tasks, prices, alpha):
    """Largest error of the KKT conditions at these prices, each relative to what it is made of.

    w[n] = φ[n]^α·y[n]^(−α) is what one more y = x/Γ is worth; where n runs it costs as much,
    elsewhere at least, less where its limit holds it back. Prices are in a unit of their own, which
    the worth of the first free user tells."""
    able_users, unit = able(instance), dominant_shares(instance)
    share = tasks.sum(axis=1) / unit
    values = np.where(
        able_users, (np.where(able_users, share, 1.0) / instance.weights) ** -alpha, 0.0
    )
    cost = np.where(instance.runnable(), instance.demands @ prices.T, np.inf) * unit[:, None]
    full = tasks.sum(axis=1) >= instance.task_limits * (1 - 1e-9)
    free = np.flatnonzero(able_users & ~full)
    if not free.size:
        return 0.0
    scale = values[free[0]] / cost[free[0]].min()
    errors = [abs(cost[n].min() * scale / values[n] - 1) for n in free]
    errors += [
        max(0.0, cost[n].min() * scale / values[n] - 1) for n in np.flatnonzero(able_users & full)
    ]
    used = tasks.T @ instance.demands
    capacity = instance.capacities * instance.counts[:, None]
    spent = float((prices * capacity).sum())
    errors.append(float((prices * abs(capacity - used)).sum()) / spent)
    cheapest = cost.min(axis=1, keepdims=True)
    above = np.subtract(cost, cheapest, out=np.zeros(cost.shape), where=np.isfinite(cost))
    wasted = (tasks / unit[:, None] * above).sum()
    errors.append(float(wasted) / spent)
    return max(errors)


@st.composite
def clusters(draw):
    return random_instance(
        draw(st.integers(0, 10**6)), zeros=draw(st.booleans()), limits=draw(st.booleans())
    )


@settings(max_examples=many(30), deadline=None)
@given(clusters(), st.sampled_from(ALPHAS))
def test_the_optimality_conditions_hold_at_the_prices(instance, alpha):
    answer = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
    assert answer.method == "interior-point" and answer.residual <= AGREEMENT
    assert answer.certificate and answer.gap <= ACCEPTED
    if able(instance).any() and np.isfinite(answer.prices.to_numpy()).all():
        assert (
            conditions(instance, answer.tasks_array, answer.prices.to_numpy(), alpha) <= CONDITIONS
        )
    assert answer.certify()


@settings(max_examples=many(12), deadline=None)
@given(clusters(), st.sampled_from(ALPHAS))
def test_cones_and_tangents_reach_the_same_mean_level(instance, alpha):
    if not able(instance).any():
        return
    weights = instance.weights[able(instance)] / instance.weights[able(instance)].sum()

    def mean(allocation):
        return power_mean(allocation.levels.to_numpy()[able(instance)], weights, 1 - alpha)

    allocation = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
    for solver in ("highs", "cvxpy:CLARABEL"):
        rival_allocation = fairlp.allocate(
            instance, "alpha-fair", alpha=alpha, method="convex", solver=solver
        )
        assert rival_allocation.residual <= VERIFIED and rival_allocation.solver == solver
        assert mean(rival_allocation) == pytest.approx(mean(allocation), rel=CONVEX_POINT)
        assert mean(rival_allocation) <= mean(allocation) * (1 + VERIFIED)


@pytest.mark.parametrize("seed", range(many(16)))
def test_the_ends_and_the_middle_are_what_is_there_already(seed):
    instance = random_instance(seed)
    for method in ("interior-point", "convex"):
        largest = fairlp.allocate(instance, "alpha-fair", alpha=0, method=method)
        total = (largest.totals / dominant_shares(instance)).sum()
        assert total == pytest.approx(largest_total(instance), rel=VERIFIED)
        assert fairlp.allocate(
            instance, "alpha-fair", alpha="inf", method=method
        ).levels.to_numpy() == pytest.approx(
            fairlp.allocate(instance, "drfh").levels.to_numpy(), rel=VERIFIED
        )
    middle = fairlp.allocate(instance, "alpha-fair")
    alike = instance.replace(entitlements=instance.weights / instance.weights.sum())
    assert middle.totals.to_numpy() == pytest.approx(
        fairlp.allocate(alike, "ceei").totals.to_numpy(), rel=1e-4
    )
    assert middle.parameters.get("alpha") is None and middle.gap <= ACCEPTED


def largest_total(instance):
    """The largest Σ x/Γ, by SciPy on a matrix made here."""
    n, k, r = len(instance.users), len(instance.servers), len(instance.resources)
    rows = np.zeros((k * r + n, n * k))
    for u in range(n):
        for i in range(k):
            rows[i * r : (i + 1) * r, u * k + i] = instance.demands[u]
        rows[k * r + u, u * k : (u + 1) * k] = 1
    right = np.r_[(instance.capacities * instance.counts[:, None]).ravel(), instance.task_limits]
    finite_rows = np.isfinite(right)
    bounds = [(0, None) if ok else (0, 0) for ok in instance.runnable().ravel()]
    cost = -np.repeat(1 / dominant_shares(instance), k)
    return -linprog(cost, rows[finite_rows], right[finite_rows], bounds=bounds).fun


def test_two_users_of_one_resource_have_a_closed_form():
    """d[n]·x[n] is proportional to φ[n], whatever α: the dominant share is the only thing to share."""
    instance = fairlp.Instance.from_arrays([[1.0], [4.0]], [[12.0]], weights=[1, 3])
    for alpha in (0.1, 0.5, 2, 10, np.inf):
        assert fairlp.allocate(
            instance, "alpha-fair", alpha=alpha
        ).totals.tolist() == pytest.approx([3.0, 2.25])


def test_two_tight_resources_leave_one_number_to_choose():
    """Users (1,0), (0,1), (1,½) of one pool: λ for the third maximises u(λ) + u(1−λ) + u(1−λ/2)."""
    instance = fairlp.Instance.from_arrays([[1, 0], [0, 1], [1, 1]], [[1, 2]])
    for alpha in ALPHAS:

        def loss(share, alpha=alpha):
            return -sum(z ** (1 - alpha) / (1 - alpha) for z in (share, 1 - share, 1 - share / 2))

        best = minimize_scalar(
            loss, bounds=(0.01, 0.99), method="bounded", options={"xatol": 1e-12}
        ).x
        assert fairlp.allocate(instance, "alpha-fair", alpha=alpha).totals.iloc[2] == pytest.approx(
            best, rel=1e-6
        )


@pytest.mark.parametrize("alpha", [0, 1e-6, 0.01, 0.5, 1, 1 + 1e-9, 2, 20, 50, 1e4])
def test_what_cannot_be_settled_is_said(alpha):
    """From tiny to large α: a certified mean level, or an error, or a note; never an unproved answer without a word."""
    for seed in range(3):
        instance = random_instance(seed)
        try:
            answer = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
        except NotConvergedError as error:
            assert "stopped" in str(error) and (alpha > 5 or alpha < 0.1)
            continue
        assert answer.residual <= AGREEMENT
        assert answer.gap <= ACCEPTED or "not proved" in answer.unproved
        assert np.isfinite(answer.tasks_array).all()


def test_whoever_can_run_nothing_has_nothing_and_holds_nobody_up():
    instance = fairlp.Instance.from_arrays(
        [[1, 1], [1, 2], [1, 0], [2, 1]],
        [[4, 0], [6, 6]],
        eligible=[[1, 1], [1, 0], [1, 1], [0, 1]],
        task_limits=[np.inf, np.inf, 0, np.inf],
    )
    for alpha in (0, 0.5, 1, 3, np.inf):
        answer = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
        assert answer.totals.tolist()[1:3] == [0, 0] and answer.totals.iloc[[0, 3]].sum() > 0
    nobody = fairlp.Instance.from_arrays([[1, 1]], [[4, 4]], task_limits=[0])
    answer = fairlp.allocate(nobody, "alpha-fair", alpha=2)
    assert answer.totals.tolist() == [0] and answer.certify() and answer.gap == 0


def test_limits_below_all_others_are_kept_and_priced():
    instance = fairlp.Instance.from_arrays(
        [[1, 2], [2, 1], [1, 1]], [[9, 9]], task_limits=[1e-3, np.inf, 2]
    )
    for alpha in (0.5, 2):
        answer = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
        assert answer.certify() and not answer.unproved and answer.gap <= ACCEPTED
        assert answer.totals.tolist() == pytest.approx([1e-3, 3.4995, 2], rel=1e-8)
    for alpha in (5, 8, 20):  # beside the first user's worth, that of the others is rounding
        answer = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
        assert answer.totals.iloc[0] == pytest.approx(1e-3, rel=1e-9)
        assert "too little beside the others" in answer.unproved and not answer.certify()
    everyone = fairlp.Instance.from_arrays([[1, 2], [2, 1]], [[9, 9]], task_limits=[1, 2])
    answer = fairlp.allocate(everyone, "alpha-fair", alpha=2)
    assert answer.totals.tolist() == pytest.approx([1, 2], rel=1e-9) and answer.gap <= ACCEPTED


@pytest.mark.parametrize("seed", range(many(10)))
def test_weights_per_resource_are_those_of_the_resource_that_binds(seed):
    """min_r w[n,r]·C[r]/d[n,r] tasks are level 1: the answer is that with one weight a user, that over Γ."""
    rng = np.random.default_rng(seed)
    case = random_instance(seed, weights=False)
    weights = rng.integers(1, 5, case.demands.shape).astype(float)
    pool = (case.capacities * case.counts[:, None]).sum(axis=0)
    due = [
        min(w[r] * pool[r] / d[r] for r in range(len(pool)) if d[r] > 0)
        for d, w in zip(case.demands, weights, strict=True)
    ]
    single = case.replace(weights=np.array(due) / dominant_shares(case))
    for alpha in (0, 0.5, 1, 2, np.inf):
        answer = fairlp.allocate(case.replace(weights=weights), "alpha-fair", alpha=alpha)
        expected = fairlp.allocate(single, "alpha-fair", alpha=alpha)
        if alpha > 0:
            assert answer.levels.to_numpy() == pytest.approx(
                expected.levels.to_numpy(), rel=1e-6, abs=1e-12
            )
        assert total(answer) == pytest.approx(total(expected), rel=1e-6)
        assert answer.certify() and not answer.unproved


def test_identical_servers_are_merged_and_change_nothing():
    instance = fairlp.Instance.from_arrays([[1, 2], [3, 1], [1, 0]], [[9, 9], [9, 9], [4, 2]])
    merged = fairlp.allocate(instance, "alpha-fair", alpha=2)
    plain = fairlp.allocate(instance, "alpha-fair", alpha=2, merge=False)
    assert merged.totals.to_numpy() == pytest.approx(plain.totals.to_numpy(), rel=1e-6)
    assert "merged" in merged.notes[0] and merged.gap <= ACCEPTED


def test_wrong_prices_that_come_with_an_answer_prove_nothing_and_do_no_harm():
    instance = fairlp.Instance.from_arrays(
        [[0.75], [1], [1], [0.13], [1], [1]],
        [[4.97], [4.17], [2.83], [4.33], [3.13]],
        weights=[2.13, 2.79, 2.88, 2.94, 0.67, 2.98],
        eligible=np.array(
            [list(row) for row in ("00001", "11110", "10000", "11011", "10111", "10001")]
        )
        == "1",
        task_limits=[100, 100, np.inf, np.inf, 0.1, 7],
    )
    answer = fairlp.allocate(instance, "alpha-fair", alpha=2)
    assert answer.certify()
    for prices in (
        None,
        0 * answer.prices_array,
        -answer.prices_array,
        np.full(answer.prices_array.shape, np.nan),
    ):
        changed_answer = replace(
            answer, prices_array=prices
        )  # those of a program of the certificate's own prove it as well
        assert changed_answer.certify()
        assert not replace(changed_answer, tasks_array=0.999 * answer.tasks_array).certify()
    assert not replace(answer, tasks_array=0.999 * answer.tasks_array).certify()


def test_a_wrong_allocation_is_not_certified():
    instance = examples.load("khamse-ashari-figure-1")
    answer = fairlp.allocate(instance, "alpha-fair", alpha=2)
    outcome = fairlp.allocate(instance, "tsf")
    wrong_allocation = replace(answer, tasks_array=outcome.tasks_array)
    verdict = wrong_allocation.certify()
    assert not verdict and "not proved" in verdict.message
    beyond = replace(answer, tasks_array=2 * answer.tasks_array)
    assert "infeasible" in beyond.certify().message
    assert answer.certify() and fairlp.allocate(instance, "alpha-fair", alpha="∞").certify()


def test_the_bound_holds_for_any_prices():
    """P/Q bounds every feasible mean level, whatever the prices: Hölder's inequality."""
    rng = np.random.default_rng(5)
    for seed in range(many(10)):
        instance = random_instance(seed)
        if not able(instance).any():
            continue
        for alpha in (0.0, 0.3, 1.0, 2.0, 30.0, np.inf):
            best = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
            weights = instance.weights[able(instance)] / instance.weights[able(instance)].sum()
            mean = power_mean(best.levels.to_numpy()[able(instance)], weights, 1 - alpha)
            prices = rng.random(instance.capacities.shape)
            unit = dominant_shares(instance)
            bound = mean_level_bound(instance, unit, prices, alpha)
            assert mean <= bound * (1 + 1e-9)
            assert mean_level_bound(instance, unit, 7 * prices, alpha) == pytest.approx(bound)
            if np.isinf(instance.task_limits).all() and 0 < alpha < np.inf:  # attained
                best_prices = best.prices.to_numpy()
                assert mean_level_bound(instance, unit, best_prices, alpha) == pytest.approx(
                    mean, rel=1e-6
                )


def test_power_means_go_over_into_each_other():
    values, weights = np.array([1.0, 4.0, 16.0]), np.array([0.25, 0.5, 0.25])
    assert power_mean(values, weights, 1) == pytest.approx(6.25)
    assert power_mean(values, weights, 0) == pytest.approx(4) == power_mean(values, weights, 1e-12)
    assert power_mean(values, weights, -1) == pytest.approx(1 / (0.25 + 0.125 + 0.25 / 16))
    assert power_mean(values, weights, -np.inf) == 1 and power_mean(values, weights, np.inf) == 16
    assert power_mean(values, weights, -1e6) == pytest.approx(1, rel=1e-5)
    assert power_mean(np.array([0.0, 1.0]), np.array([0.5, 0.5]), -1) == 0
    assert power_mean(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0.5) == pytest.approx(0.25)


def test_validate_compares_methods_and_bounds_each():
    table = fairlp.validate(examples.load("khamse-ashari-figure-1"), "alpha-fair", alpha=3)
    assert table.agrees.all() and table.index.tolist() == ["interior-point", "convex"]
    assert table.proved.all()


ROLES = [[0, 1], [0, 1], [1, 0], [1, 1]]


def total(allocation):
    return float((allocation.totals / dominant_shares(allocation.instance)).sum())


@pytest.mark.parametrize("alpha", [2, 4, 8, 16])
def test_more_alpha_may_raise_the_total_on_one_server(alpha):
    """Four users of two resources: λ of the last, a total of 2 − λ/2, and λ > 2/5 for all α > log 2 / log 1.5.

    λ^(−α) = (1−λ)^(−α) + ½·(½ − λ/4)^(−α), whose left side is the larger one at λ = 2/5 exactly
    when 1.5^α > 2; at α = ∞ it is 2/5. Lowest near α = 5.1, where the total is 1.7860."""
    answer = fairlp.allocate(
        fairlp.Instance.from_arrays(ROLES, [[1, 2]]), "alpha-fair", alpha=alpha
    )
    last = answer.totals.iloc[3]
    half = Fraction(1, 2)
    share = Fraction(2, 5)
    assert share**-alpha > (1 - share) ** -alpha + half * (half - share / 4) ** -alpha
    assert last > 0.4 and total(answer) == pytest.approx(2 - last / 2, rel=1e-9)
    assert last**-alpha == pytest.approx(
        (1 - last) ** -alpha + (0.5 - last / 4) ** -alpha / 2, rel=1e-7
    )


@pytest.mark.filterwarnings("ignore::fairlp.errors.OversizedTaskWarning")
@pytest.mark.parametrize(
    ("demands", "capacities", "expected"),
    [
        (ROLES, [[1, 2]], {1: 1.820194, 5.5: 1.786064, np.inf: 1.8}),
        (
            [[1, 0, 0], [0, 1, 1], [1, 2, 1]],
            [[3, 3, 2]],
            {1: 1.869208, 4: 1.856157, np.inf: 13 / 7},
        ),
        (
            [[1, 2], [1, 0], [2, 2]],
            [[2, 1], [0, 2]],
            {1: 1.045715, 2: 1.046509, 4: 1.047984, 8: 1.048982, np.inf: 1.05},
        ),
    ],
)
def test_the_smallest_instances_where_more_alpha_raises_the_total(demands, capacities, expected):
    instance = fairlp.Instance.from_arrays(demands, capacities)
    for alpha, value in expected.items():
        assert total(fairlp.allocate(instance, "alpha-fair", alpha=alpha)) == pytest.approx(
            value, abs=2e-6
        )


@settings(max_examples=many(12), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_the_total_of_two_users_never_rises(seed, servers):
    """The boundary of what two users can have is a concave curve, and more α goes along it, away from its top."""
    case = random_instance(seed, servers=servers)
    instance = case.select_users(np.arange(min(2, len(case.users))))
    totals = [
        total(fairlp.allocate(instance, "alpha-fair", alpha=alpha)) for alpha in (0, 0.5, 3, np.inf)
    ]
    assert (np.diff(totals) <= CONVEX_POINT * totals[0]).all()


def test_limits_over_many_orders_are_right_or_said_to_be_unproved():
    """Limits over five orders of magnitude, all of which fit: the optimum for every α."""
    limits = 10.0 ** -np.arange(6)
    instance = fairlp.Instance.from_arrays(np.ones((6, 2)), [[9, 9], [4, 5]], task_limits=limits)
    for alpha in (0, 0.5, 1, 2, np.inf):
        answer = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
        assert answer.totals.to_numpy() == pytest.approx(limits, rel=1e-9) and not answer.unproved
    for alpha in (4, 8, 50):
        answer = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
        assert answer.unproved.startswith("not proved") and not answer.certify()


def test_an_optimum_that_nothing_reaches_is_one_error_with_advice(monkeypatch):
    def none(program, *arguments, **options):
        raise NotConvergedError("planted")

    def unknown(highs, program, options):
        return solution_at(program, Termination.UNKNOWN, "planted, too", "highs", None, None, None)

    monkeypatch.setattr(backend, "solve_near", none)
    monkeypatch.setattr(backend, "solve_on", unknown)
    instance = Instance.from_arrays([[1.0], [2.0]], [[10.0]])
    with pytest.raises(
        NotConvergedError, match=r"planted, too.*try another solver .*cvxpy:CLARABEL"
    ):
        fairlp.allocate(instance, "alpha-fair", alpha=2)


@pytest.mark.parametrize("alpha", [1.0, 2.0, 3.0])
def test_answers_of_clarabel_are_proved_where_its_floats_allow(alpha):
    """At Clarabel's usual tolerance the tasks of this example are off by 1e-5, and not proved."""
    pytest.importorskip("clarabel")
    instance = fairlp.examples.ghodsi()
    allocation = fairlp.allocate(instance, "alpha-fair", alpha=alpha, solver="clarabel")
    assert allocation.gap < VERIFIED and allocation.certify()
    exact = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
    np.testing.assert_allclose(allocation.totals, exact.totals, rtol=1e-6)


def test_clarabel_answers_as_usual_where_its_tightest_tolerance_is_beyond_it(monkeypatch):
    cvxpy_backend = pytest.importorskip("fairlp.solvers.backends.cvxpy_backend")
    solver = cvxpy_backend.KNOWN["CLARABEL"]
    tighter = replace(solver, curved_tolerance=1e-16)
    monkeypatch.setitem(cvxpy_backend.KNOWN, "CLARABEL", tighter)
    solution = fairlp.formulate(fairlp.examples.ghodsi(), "alpha-fair", alpha=2).solve("clarabel")
    assert solution.status.termination is Termination.OPTIMAL
