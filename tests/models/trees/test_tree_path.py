"""Paths along trees with guarantees, limits and caps, against proofs that know nothing of paths."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.errors import InstanceError
from fairlp.mechanisms.max_min.levels import guaranteed
from fairlp.mechanisms.max_min.proof import PricedRegion
from fairlp.models.trees.guarantees import floors
from profiles import many
from tree_instances import for_the_oracle, guaranteed_tree, random_past, tree_instance
from tree_oracle import counted


@pytest.mark.parametrize("count", ["total", "borrowed"])
@pytest.mark.parametrize("mechanism", ["h-drf", "h-drf-counted"])
@pytest.mark.parametrize("seed", range(many(110)))
def test_rises_from_guarantees_are_proved(seed, mechanism, count):
    instance = guaranteed_tree(seed, servers=1 + seed % 2)
    try:
        allocation = fairlp.allocate(instance, mechanism, count=count)
    except InstanceError as error:
        assert "the guarantees of queues cannot all be kept" in str(error)
        pytest.skip("what is guaranteed does not fit on two servers")
    proof = allocation.certify()
    assert proof.holds, proof.message


@pytest.mark.parametrize("seed", range(many(200)))
def test_guarantees_below_caps_of_nothing_come_to_the_same_by_two_implementations(seed):
    instance = guaranteed_tree(seed)
    can_run = PricedRegion(instance).can_run
    assert guaranteed(instance, can_run) == pytest.approx(floors(instance), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(many(120)))
def test_rises_with_limits_and_a_past_are_those_of_curves(seed):
    """On one server, satisfied users counted; no two pasts are the same."""
    rng = np.random.default_rng([77, seed])
    instance = tree_instance(rng)
    past = random_past(rng, instance)
    expected = counted(*for_the_oracle(instance), past.to_numpy())
    allocation = fairlp.allocate(instance, "h-drf-counted", state=past)
    assert allocation.totals.to_numpy() == pytest.approx(expected, rel=1e-3, abs=1e-3)
