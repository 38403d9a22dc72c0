"""Proofs of concave optima are handed tasks that are not optimal, and optima whose terms are far apart."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.formulations.alpha_fair import alpha_fair
from fairlp.formulations.proportional import ceei
from fairlp.mechanisms.complaints.first_order import (
    columns_of,
    prove_tasks,
)
from fairlp.mechanisms.concave_proof import proof_of_columns, smallest_part
from fairlp.tolerances import ACCEPTED, VERIFIED


def test_a_user_whose_limit_is_not_worth_what_it_costs_is_refused():
    """Nine tenths to the user at its limit: half to each is right at α = 1."""
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[9.0, np.inf])
    wrong_proof = prove_tasks(alpha_fair, instance, np.array([[9.0], [1.0]]))
    right = prove_tasks(alpha_fair, instance, np.array([[5.0], [5.0]]))
    assert not wrong_proof and right and right.gap <= 1e-12


def test_a_user_at_its_limit_is_proved():
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[2.0, np.inf])
    assert prove_tasks(alpha_fair, instance, np.array([[2.0], [8.0]]))
    assert not prove_tasks(alpha_fair, instance, np.array([[1.0], [9.0]]))


@pytest.mark.parametrize("alpha", [0.5, 2])
@pytest.mark.parametrize("factor", [0.5, 1 - 1e-6])
def test_tasks_that_are_not_optimal_are_not_proved(alpha, factor):
    instance = fairlp.examples.ghodsi()
    tasks = fairlp.allocate(instance, "alpha-fair", alpha=alpha).tasks_array
    formulation = partial(alpha_fair, alpha=alpha)
    assert prove_tasks(formulation, instance, tasks)
    proof = prove_tasks(formulation, instance, tasks * factor)
    assert not proof and proof.message.startswith("not proved")
    assert proof.gap == pytest.approx(1 - factor, rel=1e-3)


def test_no_tasks_at_all_are_not_proved():
    instance = fairlp.examples.ghodsi()
    proof = prove_tasks(ceei, instance, np.zeros(instance.shape))
    assert not proof and "more than floats can hold" in proof.message


def far_apart():
    """Two users with limits far below what the third has: at α = 16 all worth is theirs."""
    return Instance.from_arrays(
        [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0]],
        [[40.0, 40.0]],
        task_limits=[0.01, 0.02, np.inf, np.inf],
    )


def test_a_user_who_counts_for_nothing_beside_others_is_not_proved_by_their_gap():
    instance = far_apart()
    model = alpha_fair(instance, 16.0)
    fair = fairlp.allocate(instance, "drfh").tasks_array
    solution = model.solve("interior-point")
    unequal = fair * np.array([[1.0], [1.0], [0.5], [1.1]])
    proof = proof_of_columns(
        model.compile(), columns_of(model, unequal), solution.row_duals, VERIFIED
    )
    assert proof.gap <= ACCEPTED and not proof
    assert "too little beside the others" in proof.message


def test_the_smallest_part_is_that_of_the_user_who_counts_least():
    """Two servers of 1, a user each: at α = 1 weights are what tasks are worth."""
    instance = Instance.from_arrays(
        [[1.0], [1.0]], [[1.0], [1.0]], eligible=[["server1"], ["server2"]], weights=[3.0, 1.0]
    )
    tasks = np.eye(2)
    model = alpha_fair(instance)
    assert smallest_part(model.compile(), columns_of(model, tasks)) == pytest.approx(1 / 4)
