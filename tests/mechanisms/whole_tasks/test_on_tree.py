"""Whole tasks along a tree: heaps against a loop, an oracle of its own, and drf-discrete on flat trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairlp
from fairlp.errors import NotDefinedError, UnknownNameError
from profiles import many
from tree_instances import for_the_oracle, tree_instance
from tree_oracle import whole


@pytest.mark.parametrize("seed", range(many(120)))
def test_heaps_are_the_loop_and_the_oracle(seed):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, caps=seed % 2 == 0)
    if seed % 3 == 0:  # decimals: a tenth is a tenth
        instance = instance.replace(demands=instance.demands / 10)
    ties = ("larger", "smaller", "index")[seed % 3]
    fast = fairlp.allocate(instance, "h-drf-discrete", ties=ties).totals.tolist()
    assert fast == fairlp.allocate(instance, "h-drf-discrete", method="loop", ties=ties).totals.tolist()
    data, weights = for_the_oracle(instance)
    sign = {"larger": 1, "smaller": -1, "index": 0}[ties]
    expected = whole(
        data["paths"],
        {path: int(w) for path, w in weights.items()},
        [int(w) for w in data["weights"]],
        data["demands"].tolist(),
        data["capacities"][0].tolist(),
        data["limits"],
        data["caps"],
        ties=-sign,
    )
    assert fast == expected


@pytest.mark.parametrize("seed", range(many(60)))
def test_a_flat_tree_is_discrete_drf(seed):
    instance = tree_instance(np.random.default_rng(seed), flat=True)
    scaled = instance.replace(capacities=instance.capacities * 20)
    for one in (instance, scaled, scaled.replace(queue=None, queues=None)):
        tree = fairlp.allocate(one, "h-drf-discrete").totals
        assert tree.tolist() == fairlp.allocate(one.replace(queue=None, queues=None), "drf-discrete").totals.tolist()


@settings(max_examples=many(40), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 400))
def test_the_more_there_is_the_nearer_to_divisible_tasks(seed, scale):
    """Nobody is more than a task of everybody's dominant shares away from the divisible optimum's smallest level."""
    instance = tree_instance(np.random.default_rng(seed), limits=False, weighted=False)
    large = instance.replace(capacities=instance.capacities * scale)
    found = fairlp.allocate(large, "h-drf-discrete")
    assert found.residual <= 0 and (found.totals % 1 == 0).all()
    divided = fairlp.allocate(large, "h-drf")
    able = divided.totals > 0
    slack = 1 / divided.entitled[able] * len(able)
    assert found.levels[able].min() >= divided.levels[able].min() - slack.max()


def test_what_it_is_not_defined_for_and_what_it_says():
    instance = fairlp.Instance.from_arrays([[1], [9]], [[4]], queue=["a", "b"], queues={"a": {"cap": {"resource1": 2}}})
    found = fairlp.allocate(instance, "h-drf-discrete")
    assert found.totals.tolist() == [2, 0] and "could not run one whole task" in found.notes[0]
    with pytest.raises(NotDefinedError, match="queue 'a' has a guarantee"):
        fairlp.allocate(instance.replace(queues={"a": {"guarantee": {"resource1": 2}}}), "h-drf-discrete")
    with pytest.raises(UnknownNameError, match="larger"):
        fairlp.allocate(instance, "h-drf-discrete", ties="largest")
    assert fairlp.validate(instance, "h-drf-discrete").agrees.all()
