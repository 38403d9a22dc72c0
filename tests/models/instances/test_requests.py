"""Requests and entitlements by hand."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.models.instances.requests import Requests, entitlements

#: u asks for half of the CPUs and a quarter of the memory, v for all CPUs, w for three quarters of the memory.
INSTANCE = fairlp.Instance.from_arrays(
    [[1, 1], [2, 1], [0, 4]],
    [[8, 16]],
    users=["u", "v", "w"],
    weights=[1, 2, 1],
    task_limits=[4, np.inf, 3],
)


def test_what_users_ask_for_is_their_limit_or_what_they_could_run_alone():
    requests = Requests.of(INSTANCE)
    assert requests.fractions.tolist() == [[1 / 2, 1 / 4], [1, 1 / 4], [0, 3 / 4]]
    assert requests.tasks.tolist() == [4, 4, 3]
    assert requests.limited.tolist() == [True, False, True]
    assert requests.entitlements.tolist() == [1 / 4, 1 / 2, 1 / 4]
    assert requests.contended.tolist() == [True, True]
    assert requests.asking.all()


def test_a_limit_that_is_what_a_user_could_run_alone_counts_as_one():
    limited = INSTANCE.replace(task_limits=[8, 4, 0])
    requests = Requests.of(limited)
    assert requests.limited.tolist() == [True, True, True]
    assert requests.fractions.tolist() == [[1, 1 / 2], [1, 1 / 4], [0, 0]]
    assert requests.asking.tolist() == [True, True, False]
    assert requests.contended.tolist() == [True, False]


def test_granted_fractions_and_tasks_go_back_and_forth():
    requests = Requests.of(INSTANCE.replace(task_limits=[4, np.inf, 0]))
    assert requests.granted(np.array([1.0, 4.0, 0.0])).tolist() == [1 / 4, 1, 1]
    assert requests.to_tasks(np.array([0.25, 0.5, 1.0])).tolist() == [1, 2, 0]
    assert requests.to_tasks(np.array([1.0 + 1e-15, 1.5, 1.0])).tolist() == [4, 6, 0]


def test_no_complaint_is_justified_from_the_entitlement_of_the_most_wanted_bottleneck_on():
    requests = Requests.of(INSTANCE)
    assert requests.thresholds(np.array([True, False])).tolist() == [1 / 2, 1 / 2, 1]
    assert requests.thresholds(np.array([False, True])).tolist() == [1, 1, 1 / 3]
    thresholds = requests.thresholds(np.array([[True, True], [False, False]]))
    assert thresholds.tolist() == [[1 / 2, 1 / 2, 1 / 3], [1, 1, 1]]


def test_selected_users_are_entitled_to_everything_together():
    requests = Requests.of(INSTANCE).select(np.array([True, False, True]))
    assert list(requests.users) == ["u", "w"]
    assert requests.entitlements.tolist() == [1 / 2, 1 / 2]
    assert requests.tasks.tolist() == [4, 3] and requests.weights.tolist() == [1, 1]


def test_users_entitled_to_nothing_share_alike_when_they_are_alone():
    instance = INSTANCE.replace(entitlements=[0, 1, 0])
    assert entitlements(instance).tolist() == [0, 1, 0]
    alone = Requests.of(instance).select(np.array([True, False, True]))
    assert alone.entitlements.tolist() == [1 / 2, 1 / 2]
    nobody = Requests.of(instance).select(np.zeros(3, dtype=bool))
    assert nobody.entitlements.shape == (0,)


def test_entitlements_are_scaled_to_one():
    assert entitlements(INSTANCE.replace(entitlements=[0.25, 0.5, 0.25])).sum() == 1
    assert entitlements(INSTANCE).tolist() == pytest.approx([0.25, 0.5, 0.25])
