"""Levels along a tree as proofs have them, against the methods' rates and against the definition."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.mechanisms.max_min.levels import guaranteed
from fairlp.mechanisms.max_min.proof import Region
from fairlp.models.trees.filling import floors
from profiles import many
from tree_instances import for_the_oracle, tree_instance
from tree_oracle import counted


@pytest.mark.parametrize("seed", range(many(60)))
def test_guarantees_come_to_the_same_by_two_implementations(seed):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, servers=2, guarantees=True, caps=seed % 2 == 0)
    assert guaranteed(instance, Region(instance).able) == pytest.approx(floors(instance), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(many(25)))
def test_a_guarantee_is_shared_as_a_pool_by_users_with_limits(seed):
    """A queue that holds everybody is guaranteed all there is: what that comes to, by curves from the definition."""
    rng = np.random.default_rng(seed)
    drawn = tree_instance(rng)
    pool = dict(zip(drawn.resources, drawn.pool.tolist(), strict=True))
    table = drawn.queues.table(drawn.resources)["weight"].to_dict()
    queues = {f"all/{path}".strip("/"): {"weight": weight} for path, weight in table.items()}
    queues["all"]["guarantee"] = pool
    instance = drawn.replace(queue=[f"all/{path}".strip("/") for path in drawn.queue], queues=queues)
    data, weights = for_the_oracle(drawn)
    expected = counted(data, weights)
    assert guaranteed(instance, Region(instance).able) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert floors(instance) == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("mechanism", ["h-drf", "h-drf-counted", "drfh"])
def test_a_guarantee_of_everything_changes_nothing_for_one_queue(mechanism):
    instance = fairlp.Instance.from_arrays([[1, 2], [2, 1]], [[10, 12]], task_limits=[3, np.inf], queue=["q", "q"])
    everything = dict(zip(instance.resources, instance.pool.tolist(), strict=True))
    guarded = instance.replace(queues={"q": {"guarantee": everything}})
    for one in (instance, guarded):
        assert fairlp.allocate(one, mechanism).totals.to_numpy() == pytest.approx([3, 3.5])
