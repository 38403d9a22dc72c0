"""Partial allocation against its definition: markets by SciPy, and by vertices in fractions."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize

import fairlp
from fairlp import Instance
from fairlp.errors import NotDefinedError
from fairlp.mechanisms.allocation import altered
from profiles import many

NAME = "partial-allocation"


def devices(rates, capacities=None, **options):
    """Jobs on kinds of devices, one device of each kind unless said otherwise."""
    rates = np.asarray(rates, dtype=float)
    capacities = np.ones(rates.shape[1]) if capacities is None else capacities
    return Instance.from_arrays(
        np.ones((len(rates), 1)), np.reshape(capacities, (-1, 1)), rates=rates, **options
    )


def best_product(weights, rows, sides, gains):
    """Utilities of the largest product by SciPy: x ≥ 0, rows·x ≤ sides, U = gains·x.

    Its local method may stop short. A point is right where no direction gains: max Σ w·U'/U ≤ Σ w.
    """
    most = sides.min() / (2 * rows.sum(axis=1).max())
    for attempt in range(20):
        parts = np.random.default_rng(attempt).uniform(0.1, 1.0, rows.shape[1])
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", RuntimeWarning
            )  # SciPy before 1.15 warns where it clips
            answer = scipy.optimize.minimize(
                lambda x: -weights @ np.log(gains @ x),
                most * parts,
                jac=lambda x: -(weights / (gains @ x)) @ gains,
                bounds=[(1e-14, None)] * rows.shape[1],
                constraints=[
                    {"type": "ineq", "fun": lambda x: sides - rows @ x, "jac": lambda x: -rows}
                ],
                options={"ftol": 1e-15, "maxiter": 500},
            )
        utilities = gains @ answer.x
        largest = -scipy.optimize.linprog(-(weights / utilities) @ gains, rows, sides).fun
        if largest <= weights.sum() * (1 + 1e-8):
            return utilities
    raise AssertionError("SciPy finds no point that is the best")


def parts_by_definition(weights, market):
    """Each user's utility, times its part: the others' product, over that without it."""
    users = len(weights)
    of_all = market(np.arange(users))
    result = []
    for n in range(users):
        others = np.delete(np.arange(users), n)
        without = market(others) if len(others) else np.ones(0)
        part = np.prod((of_all[others] / without) ** weights[others]) ** (1 / weights[n])
        result.append(of_all[n] * part)
    return of_all, np.array(result)


@pytest.mark.parametrize("seed", range(many(200)))
def test_jobs_have_their_parts_of_the_product_by_scipy(seed):
    rng = np.random.default_rng(seed)
    users, kinds = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    rates = rng.integers(1, 6, (users, kinds)).astype(float)
    capacities = rng.integers(1, 3, kinds).astype(float)
    weights = rng.integers(1, 3, users).astype(float)
    instance = devices(rates, capacities, weights=weights)
    allocation = fairlp.allocate(instance, NAME)

    # a job has copies on all devices of a kind, and runs on one of them at a time
    speed = rates / capacities

    def market(some):
        size = len(some) * kinds
        on_kinds = np.tile(np.eye(kinds), len(some))
        own_time = np.kron(np.eye(len(some)), np.ones(kinds))
        gains = own_time * speed[some].reshape(1, size)
        rows = np.vstack([on_kinds, own_time])
        sides = np.concatenate([capacities, np.ones(len(some))])
        return best_product(weights[some], rows, sides, gains)

    of_all, expected = parts_by_definition(weights, market)
    assert allocation.totals.to_numpy() == pytest.approx(expected, rel=1e-5)
    assert (allocation.totals.to_numpy() >= of_all / np.e * (1 - 1e-6)).all()
    assert allocation.certify() and allocation.residual < 1e-9
    by_model = fairlp.allocate(instance, NAME, method="convex")
    assert by_model.totals.to_numpy() == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("seed", range(many(100)))
def test_users_of_servers_have_their_parts_of_the_product_by_scipy(seed):
    rng = np.random.default_rng(seed)
    users, servers, resources = (int(rng.integers(1, 4)) for _ in range(3))
    demands = rng.integers(1, 5, (users, resources)).astype(float)
    capacities = rng.integers(3, 9, (servers, resources)).astype(float)
    instance = Instance.from_arrays(demands, capacities)
    allocation = fairlp.allocate(instance, NAME)

    def market(some):
        rows = np.zeros((servers * resources, len(some) * servers))
        for place, n in enumerate(some):
            for i, r in itertools.product(range(servers), range(resources)):
                rows[i * resources + r, place * servers + i] = demands[n, r]
        gains = np.kron(np.eye(len(some)), np.ones(servers))
        return best_product(np.ones(len(some)), rows, capacities.ravel(), gains)

    of_all, expected = parts_by_definition(np.ones(users), market)
    assert allocation.totals.to_numpy() == pytest.approx(expected, rel=1e-5)
    assert (allocation.totals.to_numpy() >= of_all / np.e * (1 - 1e-6)).all()
    assert allocation.certify()


def own_utility(true_rates, claimed_rates):
    """What ann, the first of two, runs of her part under a claim, in fractions; a device a kind.

    Rows of time and devices have whole vertices: each kind to one of the two or to nobody, and at
    most one kind each. The product is largest on an edge between two of them.
    """
    kinds = range(len(true_rates[0]))
    choices = [None, *kinds]
    ends = [
        (mine, yours)
        for mine, yours in itertools.product(choices, choices)
        if mine is None or mine != yours
    ]

    def utility(rates, kind):
        return Fraction(0) if kind is None else Fraction(rates[kind])

    best = None
    for first, second in itertools.product(ends, ends):
        claims = [
            (utility(claimed_rates[0], mine), utility(claimed_rates[1], yours))
            for mine, yours in (first, second)
        ]
        (a, b), (c, d) = claims
        turning = 2 * (c - a) * (d - b)
        steps = {Fraction(0), Fraction(1)}
        if turning:
            steps.add(min(max(-(a * (d - b) + b * (c - a)) / turning, Fraction(0)), Fraction(1)))
        for step in steps:
            product = (a + step * (c - a)) * (b + step * (d - b))
            if best is None or product > best[0]:
                mine = [utility(true_rates[0], first[0]), utility(true_rates[0], second[0])]
                truth = mine[0] + step * (mine[1] - mine[0])
                best = (product, truth, b + step * (d - b))
    _, truth, of_bob = best
    alone = max(Fraction(rate) for rate in claimed_rates[1])
    return truth * of_bob / alone


def test_the_golden_values_of_two_jobs_on_two_kinds():
    truth = [[3, 2], [4, 1]]
    allocation = fairlp.allocate(devices(truth), NAME)
    assert own_utility(truth, truth) == 2
    assert allocation.totals.iloc[0] == pytest.approx(2, rel=1e-9)
    claimed = [[6, 2], [4, 1]]
    tasks = fairlp.allocate(devices(claimed), NAME).tasks_array[0]
    assert tasks / claimed[0] @ truth[0] == pytest.approx(319 / 192, rel=1e-9)
    assert own_utility(truth, claimed) == Fraction(319, 192)


@pytest.mark.parametrize("seed", range(10))
def test_no_lie_pays_in_fractions(seed):
    rng = np.random.default_rng(seed)
    for _ in range(many(200)):
        truth = rng.integers(1, 7, (2, 2)).tolist()
        honest = own_utility(truth, truth)
        claimed = [rng.integers(1, 9, 2).tolist(), truth[1]]
        assert own_utility(truth, claimed) <= honest
    allocation = fairlp.allocate(devices(truth), NAME)
    assert allocation.totals.iloc[0] == pytest.approx(float(honest), rel=1e-8)


def test_what_is_left_idle_is_no_pareto_optimum():
    instance = Instance.from_arrays([[1], [1]], [[4]], users=["ann", "bob"])
    allocation = fairlp.allocate(instance, NAME)
    assert allocation.totals.to_dict() == pytest.approx({"ann": 1, "bob": 1})
    findings = fairlp.audit(instance, allocation, ["Pareto-optimal"])
    assert not findings.holds.iloc[0]


def test_another_part_is_not_certified():
    allocation = fairlp.allocate(devices([[3, 2], [4, 1]]), NAME)
    proof = altered(allocation, tasks_array=allocation.tasks_array * 0.999).certify()
    assert not proof
    assert "and its part of the proportionally fair" in proof.message


def test_one_user_has_all_and_one_without_a_device_has_nothing():
    alone = fairlp.allocate(devices([[3, 2]]), NAME)
    assert alone.totals.tolist() == pytest.approx([3])
    beside = fairlp.allocate(devices([[3, 2], [0, 0]]), NAME)
    assert beside.totals.tolist() == pytest.approx([3, 0])
    assert alone.certify() and beside.certify()


def test_a_user_entitled_to_nothing_is_refused_by_name():
    instance = Instance.from_arrays([[1], [1]], [[4]], users=["ann", "bob"], entitlements=[1, 0])
    with pytest.raises(NotDefinedError, match="'bob'"):
        fairlp.allocate(instance, NAME)


def test_the_model_prints_the_programs_of_all_and_without_each():
    text = str(fairlp.formulate(devices([[3, 2], [4, 1]]), NAME))
    assert "∑_k,n e[k,n]·log(∑_i" in text
    assert "entitlement of n in market k (0: no term)" in text
