"""One server in closed form, against filling in fractions: whole numbers, so that events fall together."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import fairlp
from fairlp.models.paths.one_server import fill_server
from filling_oracle import filled
from profiles import many


def small_server(seed):
    """Return demands, capacity, rates, limits and pasts of up to six users, with zeros.

    Of every second one resources are used up just where users have all their tasks."""
    rng = np.random.default_rng(seed)
    has_ties = seed % 2 == 1
    users = int(rng.integers(4 if has_ties else 2, 7))
    resources = int(rng.integers(2 if has_ties else 1, 4))
    demands = rng.integers(0, 2 if has_ties else 3, (users, resources))
    demands[np.arange(users), rng.integers(0, resources, users)] += not has_ties
    demands[~demands.any(axis=1), 0] = 1
    capacity = 6 * rng.integers(1, 4, resources) if has_ties else rng.integers(1, 16, resources)
    rates = rng.integers(1, 2 if has_ties else 3, users)
    limits = rng.choice([2, 3, 4, 6], users) if has_ties else rng.integers(0, 6, users)
    limits = np.where(rng.random(users) < 0.6, limits, math.inf)
    past = np.where(rng.random(users) < 0.5, rng.integers(0, 5, users), 0)
    return demands, capacity, rates, limits, past


@pytest.mark.parametrize("has_past", [False, True])
@pytest.mark.parametrize("seed", range(many(600)))
def test_a_server_is_filled_as_in_fractions(seed, has_past):
    demands, capacity, rates, limits, past = small_server(seed)
    past = past if has_past else past * 0
    rows = demands.tolist(), capacity.tolist(), rates.tolist(), limits.tolist(), past.tolist()
    expected = np.array(filled(*rows), dtype=float)
    arrays = (demands, capacity, rates, limits, past)
    demands, capacity, rates, limits, past = (array.astype(float) for array in arrays)
    levels, _ = fill_server(demands, capacity, rates, limits, past if has_past else None)
    assert levels * rates == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("mechanism", ["drf", "edrf", "drfh"])
@pytest.mark.parametrize("seed", [*range(many(100)), 1965882484])
def test_weights_per_resource_give_the_rates_of_their_definition(seed, mechanism):
    """A task is worth the largest of its parts of resources, each over the weight of that resource."""
    demands, capacity, _, limits, _ = small_server(seed)
    weights = np.random.default_rng(seed).integers(1, 5, demands.shape)
    instance = fairlp.Instance.from_arrays(demands, [capacity], weights=weights, task_limits=limits)
    rows = demands.tolist()
    amounts = capacity.tolist()
    worths = [
        max(Fraction(d, c * w) for d, c, w in zip(row, amounts, weights_of_user, strict=True))
        for row, weights_of_user in zip(rows, weights.tolist(), strict=True)
    ]
    rates = [1 / value for value in worths]
    expected = filled(rows, amounts, rates, limits.tolist(), [0] * len(rates))
    tasks = fairlp.allocate(instance, mechanism).totals.to_numpy()
    assert tasks == pytest.approx(np.array(expected, dtype=float), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("mechanism", ["drf", "drfh"])
@pytest.mark.parametrize("seed", range(many(60)))
def test_rounds_tell_who_stops_with_all_its_tasks(seed, mechanism):
    demands, capacity, _, limits, _ = small_server(seed)
    instance = fairlp.Instance.from_arrays(demands, [capacity], task_limits=limits)
    allocation = fairlp.allocate(instance, mechanism)
    satisfied = {
        user
        for user, tasks, limit in zip(instance.users, allocation.totals, limits, strict=True)
        if tasks >= limit * (1 - 1e-9)
    }
    for users, satisfied_users in zip(
        allocation.rounds["users"], allocation.rounds["satisfied"], strict=True
    ):
        assert set(satisfied_users) == satisfied & set(users)
