"""Paths along trees with guarantees, limits and caps, against proofs that know nothing of paths."""

from __future__ import annotations

import pytest

import fairlp
from fairlp.mechanisms.max_min.levels import guaranteed
from fairlp.mechanisms.max_min.proof import PricedRegion
from fairlp.models.trees.guarantees import floors
from profiles import many
from tree_instances import guaranteed_tree


@pytest.mark.parametrize("count", ["total", "borrowed"])
@pytest.mark.parametrize("mechanism", ["h-drf", "h-drf-counted"])
@pytest.mark.parametrize("seed", range(many(100)))
def test_rises_from_guarantees_are_proved(seed, mechanism, count):
    instance = guaranteed_tree(seed, servers=1 + seed % 2)
    allocation = fairlp.allocate(instance, mechanism, count=count)
    proof = allocation.certify()
    assert proof.holds, proof.message


@pytest.mark.parametrize("seed", range(many(200)))
def test_guarantees_below_caps_of_nothing_come_to_the_same_by_two_implementations(seed):
    instance = guaranteed_tree(seed)
    can_run = PricedRegion(instance).can_run
    assert guaranteed(instance, can_run) == pytest.approx(floors(instance), rel=1e-9, abs=1e-12)
