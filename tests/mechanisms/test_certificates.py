"""Certificates of allocations, given allocations with planted errors, and references that are not proved."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from fairlp import examples
from fairlp.mechanisms.max_min import ladder
from fairlp.models.programs.proof import Proof
from instances import random_instance
from profiles import chequered

#: By linear programs, and in rationals.
HOW = (False, True)


def right():
    return fairlp.allocate(examples.load("khamse-ashari-figure-1"), "tsf")


def changed(allocation, factors):
    return dataclasses.replace(
        allocation, tasks_array=allocation.tasks_array * np.array(factors)[:, None]
    )


@pytest.mark.parametrize("is_exact", HOW)
@pytest.mark.parametrize("deviation", [1e-8, 1e-6, 0.5, 1.0])
def test_whoever_has_too_little_is_found_and_named(is_exact, deviation):
    allocation = right()
    assert allocation.certify(exact=is_exact).holds
    for n, user in enumerate(allocation.instance.users):
        factors = np.ones(len(allocation.instance.users))
        factors[n] -= deviation
        verdict = changed(allocation, factors).certify(exact=is_exact)
        assert not verdict.holds and f"user {user!r}" in verdict.message
        assert verdict.gap == pytest.approx(deviation, rel=1e-3)


@pytest.mark.parametrize("is_exact", HOW)
def test_whoever_has_too_much_is_found_and_named(is_exact):
    """One user gives up a little, another one takes it and has much more of a level than is due."""
    instance = fairlp.Instance.from_arrays([[1.0], [1.0]], [[10.0]], weights=[9, 1])
    allocation = fairlp.allocate(instance, "drf")
    verdict = changed(allocation, [1 - 0.1 / 9, 1.1]).certify(exact=is_exact)
    assert not verdict.holds and "user 'user2'" in verdict.message
    assert verdict.gap == pytest.approx(0.1 / 1.1)


@pytest.mark.parametrize("is_exact", HOW)
def test_right_levels_in_the_wrong_places_are_infeasible(is_exact):
    allocation = right()
    wrong_allocation = dataclasses.replace(allocation, tasks_array=allocation.tasks_array[:, ::-1])
    assert wrong_allocation.totals.to_numpy() == pytest.approx(allocation.totals.to_numpy())
    verdict = wrong_allocation.certify(exact=is_exact)
    assert not verdict.holds and verdict.message.startswith("infeasible")
    verdict = changed(allocation, np.full(len(allocation.instance.users), 1 + 1e-6)).certify(
        exact=is_exact
    )
    assert not verdict.holds and verdict.message.startswith("infeasible")


def test_a_proof_in_rationals_that_failed_proves_nothing(monkeypatch):
    allocation = right()
    levels = allocation.certify(exact=True).levels
    nothing = np.zeros((0, 0))
    monkeypatch.setattr(
        ladder, "exact_leximin", lambda *_: (Proof(False, "planted", levels=levels), nothing)
    )
    verdict = allocation.certify(exact=True)
    assert (
        not verdict.holds and verdict.message == "not proved: planted" and verdict.levels == levels
    )


def test_proofs_take_demands_as_they_are_not_rounded_shares():
    """Of two users with demands of the same proportions, neither has to be on one server: quotients would decide."""
    instance = fairlp.Instance.from_arrays(
        [[0, 1, 4], [2, 0, 1], [3, 2, 0], [3, 2, 2]],
        [[31, 5, 15], [31, 5, 15], [7, 29, 27], [35, 36, 8]],
    )
    allocation = fairlp.allocate(instance, "drfh")
    assert allocation.certify(exact=True).holds and allocation.certify().holds


@pytest.mark.slow
def test_what_is_proved_by_programs_is_proved_in_rationals():
    for seed in range(25):
        instance = random_instance(seed)
        for mechanism in ("drfh", "c-drfh", "tsf", "asset"):
            allocation = fairlp.allocate(instance, mechanism)
            assert allocation.certify(exact=True).holds, (seed, mechanism)


FORGED = {
    "half": lambda allocation: {"tasks_array": allocation.tasks_array / 2},
    "half of what is due, too": lambda allocation: {
        "tasks_array": allocation.tasks_array / 2,
        "gamma": allocation.gamma / 2,
        "tasks_per_level": allocation.tasks_per_level / 2,
    },
    "one percent less for one user": lambda allocation: {
        "tasks_array": allocation.tasks_array
        * np.where(np.arange(len(allocation.tasks_array)) == 0, 0.99, 1.0)[:, None]
    },
    "nothing": lambda allocation: {"tasks_array": allocation.tasks_array * 0.0},
    "no number": lambda allocation: {"tasks_array": allocation.tasks_array * np.nan},
    "one that is no number": lambda allocation: {
        "tasks_array": np.where(allocation.tasks_array < 2, np.nan, allocation.tasks_array)
    },
    "without end": lambda allocation: {"tasks_array": allocation.tasks_array + np.inf},
    "the other way round": lambda allocation: {"tasks_array": -allocation.tasks_array},
}
PROVED = ("drf", "edrf", "asset", "drfh", "c-drfh", "cdrf", "tsf", "h-drf", "h-drf-collapsed")
PROVED += ("psdsf-rdm", "psdsf-tdm", "njc", "ceei", "alpha-fair")


@pytest.mark.parametrize(("mechanism", "forged"), chequered(PROVED, [*FORGED]))
def test_a_certificate_is_of_the_tasks_that_it_is_asked_of(mechanism, forged):
    """Whatever the method said of other tasks, and also where tasks are no numbers, of which no comparison is true."""
    instance = fairlp.Instance.from_arrays(
        [[1, 4], [3, 1], [1, 1]], [[9, 18]], queue=["q", "q", ""]
    )
    answer = fairlp.allocate(instance, mechanism)
    assert answer.certify()
    assert not dataclasses.replace(answer, **FORGED[forged](answer)).certify()


@pytest.mark.parametrize("solver", ["highs", "cvxpy:CLARABEL"])
@pytest.mark.parametrize("entitlements", [None, [0.6, 0.4, 0]])
def test_proportional_fairness_is_proved_on_several_servers(entitlements, solver):
    """Users entitled to nothing share what the others leave, and their tasks are proved, too."""
    instance = fairlp.Instance.from_arrays(
        [[1, 0], [1, 2], [0, 1]],
        [[4, 3], [2, 5]],
        entitlements=entitlements,
        eligible=[None, ["server1"], None],
    )
    answer = fairlp.allocate(instance, "ceei", method="convex", solver=solver)
    assert answer.certify() and "optimal, proved" in answer.certify().message, answer.certify()
    for user in range(3):
        assert answer.totals.iloc[user] > 1
        factors = np.where(np.arange(3) == user, 0.99, 1.0)
        assert not changed(answer, factors).certify()


@pytest.mark.parametrize("mechanism", ["psdsf-rdm", "njc", "ceei"])
def test_what_is_proved_by_floats_has_no_proof_in_rationals(mechanism):
    with pytest.raises(fairlp.errors.NotDefinedError, match="no exact certificate"):
        fairlp.allocate(fairlp.examples.load("ghodsi"), mechanism).certify(exact=True)
