"""Every method of ``njc`` on random instances: fair, optimal, and in agreement with the others."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import fairlp
from fairlp import Instance, complaints
from fairlp.errors import NotConvergedError
from fairlp.formulations import alpha_fair
from fairlp.mechanisms.complaints import market
from fairlp.mechanisms.complaints.complaints import Requests
from fairlp.mechanisms.complaints.market import eisenberg_gale
from fairlp.models.programs.backends import find_backend
from fairlp.tolerances import AGREEMENT, CONVEX_POINT, MARKET
from instances import random_instance
from profiles import many


def contested(seed, users=8, resources=5, tasks_per_level=True):
    """Random requests; some with few resources, small requests, entitlements of very different sizes."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, users + 1)), int(rng.integers(1, resources + 1))
    kind = seed % 4
    table = [
        rng.random((n, m)),
        rng.integers(0, 5, (n, m)) / 4,
        rng.integers(0, 2, (n, m)).astype(float),
        10.0 ** rng.uniform(-4, 0, (n, m)),
    ][kind]
    table[np.arange(n), rng.integers(0, m, n)] = rng.choice([1.0, 0.5, 0.1], n)
    if seed % 3 == 0:
        table *= rng.random((n, 1))
    weights = rng.integers(1, 6, n).astype(float)
    limits = np.where(rng.random(n) < (1.0 if seed % 5 else 0.6), 1.0, np.inf)
    e = weights / weights.sum() if tasks_per_level else None
    return fairlp.Instance.from_arrays(table, [np.ones(m)], task_limits=limits, entitlements=e)


def best_of_all_sets(instance, criterion):
    """Return the best value of the linear programs of all sets of bottlenecks."""
    values = []
    for size in range(len(instance.resources) + 1):
        for bottlenecks in combinations(instance.resources, size):
            model = fairlp.formulate(instance, "njc", bottlenecks=bottlenecks, criterion=criterion)
            solution = model.solve()
            if solution.status.is_optimal:
                values.append(solution.objective)
    return max(values)


@pytest.mark.parametrize("seed", range(many(24)))
def test_the_optimum_is_fair_and_the_best_is_the_best_of_all_sets_of_bottlenecks(seed):
    instance = contested(seed)
    exact = fairlp.allocate(instance, "njc")
    assert (
        exact.certificate
        and exact.certificate.conditions <= 10 * MARKET
        and exact.certificate.gap <= 10 * MARKET
    )
    assert complaints.check(instance, exact) and complaints.check(instance, exact).margin >= -1e-12
    for criterion in ("utilization", "least-served", instance.users[0]):
        allocation = fairlp.allocate(instance, "njc", criterion=criterion)
        assert complaints.check(instance, allocation), complaints.check(instance, allocation)
        value = complaints.best_value(instance, allocation, criterion)
        assert value >= complaints.best_value(instance, exact, criterion) - AGREEMENT
        best = best_of_all_sets(instance, criterion)
        assert value == pytest.approx(best, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("seed", range(many(300)))
def test_the_exact_method_on_many_instances(seed):
    instance = contested(seed, users=30, resources=8)
    allocation = fairlp.allocate(instance, "njc")
    assert allocation.certificate.conditions <= 10 * MARKET and complaints.check(
        instance, allocation
    )


@pytest.mark.parametrize("seed", range(0, 3 * many(20), 3))
def test_the_convex_model_is_fair_within_its_accuracy(seed):
    instance = contested(seed)
    exact = fairlp.allocate(instance, "njc")
    for solver in ("highs", "cvxpy:CLARABEL"):
        allocation = fairlp.allocate(instance, "njc", method="convex", solver=solver)
        assert complaints.check(instance, allocation, CONVEX_POINT), (
            f"{solver}: {allocation.certificate}"
        )
        objective = [
            float(np.log(np.maximum(candidate.totals.to_numpy(), 1e-300)) @ _e(instance))
            for candidate in (allocation, exact)
        ]
        assert objective[0] == pytest.approx(objective[1], abs=1e-6)


def _e(instance):
    return (
        instance.entitlements
        if instance.entitlements is not None
        else instance.weights / instance.weights.sum()
    )


@pytest.mark.parametrize("seed", range(many(40)))
def test_the_prices_prove_the_optimum(seed):
    """Stationarity and complementarity written out, and duals by another way to solve the dual."""
    from scipy.optimize import minimize

    instance = contested(seed, users=5, resources=3)
    allocation = fairlp.allocate(instance, "njc")
    e, prices = _e(instance), allocation.certificate.prices.to_numpy()
    r = instance.demands  # one task is the request
    limit = instance.task_limits
    x = allocation.totals.to_numpy()
    spent = x * (r @ prices)
    assert (prices >= 0).all() and float(prices @ (1 - x @ r)) == pytest.approx(0, abs=1e-12)
    assert spent[x < limit * (1 - 1e-12)] == pytest.approx(e[x < limit * (1 - 1e-12)], rel=1e-10)
    assert (spent <= e * (1 + 1e-10)).all()

    def dual(multipliers):
        p = r @ multipliers
        tasks = np.minimum(limit, e / np.maximum(p, 1e-12))
        return multipliers.sum() + float((e * np.log(tasks) - p * tasks).sum())

    optimum = minimize(
        dual, np.full(len(prices), 0.3), bounds=[(1e-9, None)] * len(prices), method="L-BFGS-B"
    )
    assert dual(prices) <= optimum.fun + 1e-9
    assert dual(prices) == pytest.approx(float(e @ np.log(x)), abs=1e-11)


@pytest.mark.parametrize("seed", range(many(40)))
def test_on_the_awkward_instances_of_the_other_mechanisms(seed):
    instance = random_instance(seed, servers=1, constraints=False, magnitudes=seed % 2 == 0)
    allocation = fairlp.allocate(instance, "njc")
    assert (
        allocation.certificate
        and allocation.residual <= 1e-12
        and complaints.check(instance, allocation)
    )
    compared = complaints.against_drf(instance)
    drf = fairlp.allocate(
        instance.replace(task_limits=np.where(instance.task_limits > 0, instance.task_limits, 0)),
        "drf",
    )
    assert compared.users["drf"].to_numpy() == pytest.approx(
        drf.totals.to_numpy(), rel=1e-9, abs=1e-12
    )


# What saves an answer when one of the steps to it fails: each is made to fail, and the answer is
# right or an error.

#: Two users of one resource and one of another: 1/3 of what all may have each.
TABLE = [[1.0, 0.2], [1.0, 0.2], [0.2, 1.0]]
#: Both resources saturated; a, a, b with 2a + 0.2b = 1 and 0.4a + b = 1.
A, B = 0.8 / 1.92, 1 - 0.4 * 0.8 / 1.92


def instance(**options):
    return Instance.from_arrays(TABLE, [[1.0, 1.0]], task_limits=np.ones(3), **options)


class NoDuals(fairlp.Backend):
    """A solver of logarithms that tells no prices."""

    name = "no-duals"
    capabilities = frozenset({fairlp.Capability.LP, fairlp.Capability.LOG, fairlp.Capability.POWER})

    def run(self, program, options):
        return replace(find_backend("cvxpy:CLARABEL").run(program, options), row_duals=None)


@pytest.mark.parametrize(
    ("mechanism", "options"), [("njc", {}), ("ceei", {}), ("alpha-fair", {"alpha": 2.0})]
)
def test_a_solver_without_prices_is_right_and_proves_nothing(mechanism, options):
    allocation = fairlp.allocate(
        instance(), mechanism, method="convex", solver=NoDuals(), **options
    )
    answer = fairlp.allocate(instance(), mechanism, **options)
    assert allocation.totals.to_numpy() == pytest.approx(answer.totals.to_numpy(), rel=1e-4)
    if mechanism == "njc":  # fair, as everybody can see
        assert (
            allocation.certificate
            and allocation.certificate.prices is None
            and allocation.gap is None
        )
    else:
        assert not allocation.certificate
    if mechanism == "alpha-fair":
        assert "the solver gives no duals" in allocation.unproved and allocation.prices is None


def test_the_ends_of_alpha():
    least = fairlp.allocate(instance(), "alpha-fair", alpha=np.inf)
    assert least.certify()
    assert not replace(least, tasks_array=least.tasks_array * [[0.5], [1], [1]]).certify()
    levels = least.levels.to_numpy()
    model = alpha_fair.alpha_fair(instance(), np.inf)
    assert model.solve().objective == pytest.approx(levels.min(), rel=1e-9)
    nobody = Instance.from_arrays([[1.0]], [[1.0]], task_limits=[0.0])
    assert alpha_fair.reference(nobody) == 1.0


def solved():
    asked = Requests.of(instance())
    return market.eisenberg_gale(asked.fractions, asked.entitlements, asked.limited)


@pytest.mark.parametrize("chosen_seed", range(4))
def test_a_market_of_users_with_limits_takes_about_twenty_newton_steps(chosen_seed):
    rng = np.random.default_rng(chosen_seed)
    fractions = rng.random((8, 3)) / 2
    path = market.MarketProblem(fractions, rng.dirichlet(np.ones(8)), np.ones(8, dtype=bool))
    end, steps = path.solve()
    assert end.residual <= market.MARKET and steps <= 25


def test_a_market_whose_first_ends_fail_is_solved_by_a_later_one(monkeypatch):
    end, calls = market.MarketProblem.end_of_path, []

    def fails(self, start, priced):
        calls.append(len(calls))
        point = end(self, start, priced)
        return replace(point, residual=np.inf) if len(calls) < 4 else point

    monkeypatch.setattr(market.MarketProblem, "end_of_path", fails)
    point = solved()
    assert point.x == pytest.approx([A, A, B], rel=1e-9) and len(calls) == 4


def test_a_market_that_never_ends_says_how_far_off_it_is(monkeypatch):
    end = market.MarketProblem.end_of_path
    monkeypatch.setattr(
        market.MarketProblem,
        "end_of_path",
        lambda *arguments: replace(end(*arguments), residual=0.5),
    )
    with pytest.raises(
        NotConvergedError, match=r"conditions are off by 5\.0e-01 .* method='convex' is another way"
    ):
        solved()


@pytest.mark.parametrize(
    ("name", "value"),
    [("MOST_STEPS", 1), ("MOST_HALVINGS", 2), ("MOST_END_STEPS", 2), ("MOST_SETS", 1)],
)
def test_a_market_that_may_take_few_steps_gets_there_or_says_so(monkeypatch, name, value):
    monkeypatch.setattr(market, name, value)
    try:
        answer = solved()
    except NotConvergedError as error:
        assert "method='convex' is another way" in str(error)
    else:
        assert answer.x == pytest.approx([A, A, B], rel=1e-6)


def problem(table, limited):
    table = np.asarray(table, dtype=float)
    return market.MarketProblem(table, np.full(len(table), 1 / len(table)), np.array(limited))


def test_prices_of_too_few_or_too_many_resources_are_mended():
    free = problem([[1.0, 0.2], [1.0, 0.2]], [False, False])
    for priced in ([False, False], [True, True], [False, True]):
        point = free.end_of_path(np.array([1.0, 0.5]), np.array(priced))
        assert point.x == pytest.approx([0.5, 0.5], rel=1e-9) and point.prices == pytest.approx(
            [1, 0], abs=1e-9
        )


def test_a_resource_whose_price_would_be_negative_has_none(monkeypatch):
    market_problem = problem([[1.0, 0.9], [1.0, 1.2]], [False, False])
    arguments = np.array([1.0, 0.5]), np.array([True, True])
    point = market_problem.end_of_path(*arguments)
    assert point.x == pytest.approx(
        [0.5 / 0.9, 0.5 / 1.2], rel=1e-9
    ) and point.prices == pytest.approx([0, 1])
    monkeypatch.setattr(market, "MOST_SETS", 1)
    assert market_problem.end_of_path(*arguments).residual == np.inf


@pytest.mark.parametrize("name", ["MOST_END_STEPS", "MOST_HALVINGS"])
def test_an_end_that_may_take_one_step_says_how_far_off_it_is(monkeypatch, name):
    monkeypatch.setattr(market, name, 1)
    point = problem([[1.0], [1.0]], [False, False]).end_of_path(np.array([0.1]), np.array([True]))
    overuse = point.x.sum() - 1
    assert point.residual >= overuse and (point.residual > market.MARKET or overuse < 1e-9)


def test_a_worse_end_is_not_taken_for_a_better_one(monkeypatch):
    right, ends = np.array([0.5, 0.5]), iter([1e-9, 1e-3, 1e-6, 1e-3])
    monkeypatch.setattr(
        market.MarketProblem,
        "_saturate",
        lambda self, price, priced: (np.array([1.0, 0.0]), right * (1 - next(ends)), 1),
    )
    monkeypatch.setattr(market, "MOST_SETS", 4)
    point = problem([[1.0, 0.2], [1.0, 0.2]], [False, False]).end_of_path(
        np.array([1.0, 0.5]), np.array([True, False])
    )
    assert point.x.tolist() == (right * (1 - 1e-9)).tolist() and point.residual == pytest.approx(
        1e-9, rel=1e-6
    )


def test_who_has_all_it_asks_for_is_moved_by_a_price_only_where_that_is_too_much():
    price, x, _ = problem([[0.4], [0.4]], [True, True])._saturate(np.array([0.1]), np.array([True]))
    assert x == pytest.approx([1, 1]) and price == pytest.approx([0.1])
    price, x, _ = problem([[0.7], [0.7]], [True, True])._saturate(np.array([0.1]), np.array([True]))
    assert x == pytest.approx([1 / 1.4] * 2, rel=1e-14) and price[0] > 0.1


# No justified complaints and proportional fairness where requests add up to what there is, within
# rounding.


@pytest.mark.parametrize("over", [1e-12, 1e-10, 1.1e-9, 1e-8])
def test_next_to_nothing_more_than_there_is_brings_somebody_below_its_limit(over):
    fractions = np.array([[0.5], [0.3], [0.2]]) * (1 + over)
    point = eisenberg_gale(fractions, np.ones(3), np.ones(3, dtype=bool))
    assert point.residual <= MARKET and point.x @ fractions == pytest.approx([1], rel=1e-13)
    assert point.x == pytest.approx([1, 1, 1], rel=3 * over) and point.x.min() < 1


def test_of_two_resources_the_one_that_is_asked_for_by_whoever_has_all_gets_its_price_too():
    fractions = np.array([[0, 1 + 1e-9], [1 + 1e-9, 0]])
    point = eisenberg_gale(fractions, np.array([2.0, 1.0]), np.ones(2, dtype=bool))
    assert point.residual <= MARKET and point.x == pytest.approx([1 / (1 + 1e-9)] * 2, rel=1e-13)


NJC_METHODS = ["eg", "convex", "interior-point"]


@pytest.mark.parametrize("method", NJC_METHODS)
def test_users_entitled_to_nothing_share_what_the_others_leave_by_their_weights(method):
    """Two with halves have their two tasks each, and leave 4 of 8: a third and two thirds of 4."""
    pool = Instance.from_arrays(
        [[1.0]] * 4,
        [[8.0]],
        entitlements=[0.5, 0.5, 0, 0],
        task_limits=[2, 2, 9, 9],
        weights=[1, 1, 1, 2],
    )
    allocation = fairlp.allocate(pool, "njc", method=method)
    assert allocation.totals.tolist() == pytest.approx([2, 2, 4 / 3, 8 / 3], rel=1e-5)


@pytest.mark.parametrize("method", NJC_METHODS)
def test_users_pay_for_what_they_have_by_their_entitlements(method):
    """Who is entitled to a half has no tasks; the others are entitled to a quarter each, and pay that for 4 of 8."""
    pool = Instance.from_arrays(
        [[1.0]] * 3,
        [[8.0]],
        entitlements=[0.25, 0.25, 0.5],
        task_limits=[np.inf, np.inf, 0],
    )
    allocation = fairlp.allocate(pool, "njc", method=method)
    assert allocation.totals.tolist() == pytest.approx([4, 4, 0], rel=1e-6)
    assert allocation.prices_array.tolist() == [[pytest.approx(0.25 / 4, rel=1e-6)]]
