"""Quotas as queues say them: which amounts are refused, and what is divided among users outside."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fairlp
from fairlp.errors import InstanceError
from fairlp.models.instances.quotas import Lanes, uncovered
from profiles import many


def with_quotas(**quotas):
    return fairlp.Instance.from_arrays(
        [[1]], [[9]], resources=["cpu"], queue=["A"], queues={"A": quotas}
    )


@pytest.mark.parametrize("kind", ["nominal", "borrowing", "lending"])
@pytest.mark.parametrize("amount", [-1, -math.inf, math.nan])
def test_amounts_below_nothing_are_refused(kind, amount):
    quotas = {"nominal": {"cpu": 3}, kind: {"cpu": amount}}
    with pytest.raises(InstanceError, match=f"{kind} of queue 'A', 'cpu', is {amount:g}; expected"):
        with_quotas(**quotas)


@pytest.mark.parametrize("kind", ["borrowing", "lending"])
def test_limits_may_be_nothing_or_endless_and_nominal_quotas_are_finite(kind):
    for amount in (0, math.inf):
        quotas = with_quotas(nominal={"cpu": 0}, **{kind: {"cpu": amount}}).queues.quotas
        place = ["nominal", "borrowing", "lending"].index(kind)
        assert quotas.amounts[place, 1, 0] == amount
    with pytest.raises(InstanceError, match="nominal of queue 'A', 'cpu', is inf"):
        with_quotas(nominal={"cpu": math.inf})
    with pytest.raises(InstanceError, match="has no nominal quota beside it"):
        with_quotas(**{kind: {"cpu": 1}})


@pytest.mark.parametrize("seed", range(many(100)))
def test_users_outside_divide_what_no_quota_covers_by_weight_up_to_their_tasks(seed):
    """By bisection on the amount for a weight of 1."""
    rng = np.random.default_rng(seed)
    users = int(rng.integers(1, 5))
    pool, nominal = int(rng.integers(5, 30)), int(rng.integers(0, 8))
    demands = rng.integers(1, 4, users)
    weights = rng.integers(1, 4, users)
    limits = np.where(rng.random(users) < 0.5, rng.integers(1, 6, users), math.inf)
    instance = fairlp.Instance.from_arrays(
        [[1], *([d] for d in demands)],
        [[pool]],
        resources=["cpu"],
        queue=["A", *(f"out{k}" for k in range(users))],
        task_limits=[1, *limits],
        queues={
            "A": {"nominal": {"cpu": nominal}},
            **{f"out{k}": {"weight": float(weights[k])} for k in range(users)},
        },
    )
    largest_use = np.minimum(limits, pool / demands) * demands
    amount = max(pool - nominal, 0)
    low, high = 0.0, 1e3
    for _ in range(100):
        middle = (low + high) / 2
        fits = np.minimum(weights * middle, largest_use).sum() <= amount
        low, high = (middle, high) if fits else (low, middle)
    parts = uncovered(Lanes.of(instance), instance)
    assert parts[0] == 0
    assert parts[1:, 0] == pytest.approx(np.minimum(weights * low, largest_use), rel=1e-9, abs=1e-9)
