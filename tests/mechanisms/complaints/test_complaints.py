"""Complaints about planted allocations, certificates with planted prices, and validations of methods that lie."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp import Instance
from fairlp.mechanisms.complaints.complaints import certify_fair, check_complaints
from fairlp.models.instances.requests import Requests

INF = np.inf


def requests(**options):
    """Two users of one resource and one of another: 1/3 of what all may have each."""
    return Requests.of(
        Instance.from_arrays([[1.0, 0.2], [1.0, 0.2], [0.2, 1.0]], [[10.0, 10.0]], **options)
    )


#: Eisenberg–Gale: both resources saturated; a, a, b with 2a + 0.2b = 1 and 0.4a + b = 1.
A, B = 0.8 / 1.92, 1 - 0.4 * 0.8 / 1.92


def prices(problem, x):
    """What makes stationarity hold, x[n]·Σ λ[j]·r[n,j] = e[n], for users 1 and 3."""
    e = problem.entitlements
    return np.linalg.solve(problem.fractions[[0, 2]] * x[[0, 2], None], e[[0, 2]])


def right():
    problem = requests()
    x = np.array([A, A, B])
    return problem, x, prices(problem, x)


def test_the_fair_allocation_is_fair():
    problem, x, _ = right()
    verdict = check_complaints(problem, problem.to_tasks(x))
    assert (
        verdict.holds
        and verdict.complaint == 0
        and verdict.bottlenecks == ("resource1", "resource2")
    )


@pytest.mark.parametrize("deviation", [1e-8, 1e-6, 0.3])
def test_whoever_is_short_complains_and_is_owed_so_much(deviation):
    """The first user is entitled to a third of a saturated resource; another one has what it is short of."""
    problem = Requests.of(Instance.from_arrays([[1.0], [1.0], [1.0]], [[9.0]]))
    verdict = check_complaints(problem, np.array([3 * (1 - deviation), 3 * (1 + deviation), 3.0]))
    assert not verdict and verdict.complaining == ("user1",)
    assert verdict.table.loc["user1", "owed"] == pytest.approx(3 * deviation, rel=1e-6)
    assert verdict.complaint == pytest.approx(
        deviation, rel=1e-6
    ) and verdict.margin == pytest.approx(-deviation, rel=1e-6)


@pytest.mark.parametrize("deviation", [1e-8, 1e-6, 0.05])
def test_a_resource_that_is_not_quite_full_justifies_nothing(deviation):
    problem = Requests.of(Instance.from_arrays([[1.0], [1.0]], [[10.0]]))
    verdict = check_complaints(problem, np.array([5 * (1 - deviation), 5 * (1 - deviation)]))
    assert not verdict and verdict.bottlenecks == () and len(verdict.complaining) == 2


@pytest.mark.parametrize("deviation", [1e-8, 1e-6, 0.5])
def test_more_than_there_is_and_more_than_was_asked_for_are_not_feasible(deviation):
    problem = Requests.of(Instance.from_arrays([[1.0], [1.0]], [[10.0]]))
    over = check_complaints(problem, np.full(2, 5 * (1 + deviation)))
    assert not over and not over.complaining and len(over.violations) == 1
    limited = Requests.of(Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[2, INF]))
    beyond = check_complaints(limited, np.array([2 * (1 + deviation), 8 - 2 * deviation]))
    assert not beyond and not beyond.complaining and "asked for" in beyond.violations[0]


@pytest.mark.parametrize("deviation", [1e-6, 0.1, 1.0])
@pytest.mark.parametrize("resource", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_wrong_prices_prove_nothing(deviation, resource, sign):
    problem, x, p = right()
    prices = p.copy()
    prices[resource] *= 1 + sign * deviation
    certificate = certify_fair(problem, x, prices)
    assert (
        max(certificate.overuse, certificate.complaint) <= certificate.tolerance
        and not certificate
        and certificate.conditions > deviation / 20
        and certificate.gap > 0
    )


def test_what_is_left_has_no_price():
    problem = Requests.of(Instance.from_arrays([[1.0, 0.5], [1.0, 0.5]], [[10.0, 10.0]]))
    x = np.array([0.5, 0.5])
    assert certify_fair(problem, x, np.array([1.0, 0.0])).conditions <= 1e-15
    assert certify_fair(problem, x, np.array([0.5, 1.0])).conditions > 0.4


def test_a_limit_explains_what_is_not_spent():
    problem = Requests.of(Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[2, INF]))
    x = np.array([1.0, 0.8])
    certificate = certify_fair(problem, x, np.array([0.5 / 0.8]))
    assert certificate and certificate.conditions <= 1e-12 and certificate.gap <= 1e-12


def test_somebody_who_does_not_pay_for_what_it_could_have_has_an_infinite_gap():
    problem = Requests.of(Instance.from_arrays([[1.0, 0], [0, 1.0]], [[10.0, 10.0]]))
    assert certify_fair(problem, np.ones(2), np.array([0.5, 0.0])).gap == INF
    assert not certify_fair(problem, np.ones(2), np.array([np.nan, 0.0]))


@pytest.mark.parametrize("failure", ["overuse", "complaint"])
@pytest.mark.parametrize("deviation", [1e-6, 0.5])
def test_one_wrong_number_is_enough(failure, deviation):
    problem, x, p = right()
    certificate = certify_fair(
        problem, x * (1 + deviation if failure == "overuse" else 1 - deviation), p
    )
    assert not certificate and getattr(certificate, failure) > deviation / 20


def test_a_bottleneck_is_used_up_however_much_is_asked_of_another_resource():
    """The first user asks for most of the first resource, of which there is enough for all."""
    problem = Requests.of(
        Instance.from_arrays([[8.0, 1.0], [0.0, 4.0]], [[100.0, 20.0]], task_limits=[12, 9])
    )
    table = check_complaints(problem, np.array([12.0, 2.0])).table
    assert table["bottleneck"].tolist() == ["resource2", "resource2"]
