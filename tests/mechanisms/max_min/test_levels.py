"""Levels along a tree as proofs have them, against the methods' rates and against the definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp.mechanisms.allocation import altered
from fairlp.mechanisms.max_min.levels import guaranteed
from fairlp.mechanisms.max_min.proof import PricedRegion
from fairlp.models.trees.guarantees import floors
from profiles import many
from tree_instances import for_the_oracle, guaranteed_tree, tree_instance
from tree_oracle import counted

#: Some users are blocked where they begin, by what others are guaranteed.
BLOCKED_AT_FIRST = [1321625786, 2874]


@pytest.mark.parametrize("mechanism", ["h-drf", "h-drf-counted", "drfh"])
@pytest.mark.parametrize("seed", BLOCKED_AT_FIRST)
def test_answers_are_proved_where_guarantees_block_users_at_first(seed, mechanism):
    instance = tree_instance(
        np.random.default_rng(seed), servers=2, guarantees=True, caps=seed % 2 == 0
    )
    allocation = fairlp.allocate(instance, mechanism)
    for proof in (allocation.certify(), allocation.certify(exact=True)):
        assert proof.holds, proof.message


@pytest.mark.parametrize("seed", [931774078, *range(many(6))])
def test_a_user_who_has_the_rounding_of_a_full_cap_is_proved(seed):
    """Others have a queue's cap to the last digit, and the first user 3e-16 tasks, which is nothing."""
    allocation = fairlp.allocate(guaranteed_tree(seed), "h-drf")
    for exact in (False, True):
        proof = allocation.certify(exact=exact)
        assert proof.holds, proof.message


def test_less_than_a_guarantee_is_refused_by_its_amount():
    instance = fairlp.Instance.from_arrays(
        [[1], [1]], [[10]], users=["a", "b"], queue=["q", None],
        queues={"q": {"guarantee": {"resource1": 8}}},
    )  # fmt: skip
    right = fairlp.allocate(instance, "drfh")
    assert right.totals.tolist() == pytest.approx([8, 2])
    message = altered(right, tasks_array=np.array([[5.0], [5.0]])).certify().message
    assert message == "not optimal: user 'a' has 5 tasks, and queues guarantee 8 to it"


@pytest.mark.parametrize("seed", [*BLOCKED_AT_FIRST, *range(many(60))])
def test_guarantees_come_to_the_same_by_two_implementations(seed):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, servers=2, guarantees=True, caps=seed % 2 == 0)
    assert guaranteed(instance, PricedRegion(instance).can_run) == pytest.approx(
        floors(instance), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("seed", range(many(25)))
def test_a_guarantee_is_shared_as_a_pool_by_users_with_limits(seed):
    """A queue that holds everybody is guaranteed all there is: what that comes to, by curves from the definition."""
    rng = np.random.default_rng(seed)
    drawn = tree_instance(rng)
    pool = dict(zip(drawn.resources, drawn.pool.tolist(), strict=True))
    table = drawn.queues.table(drawn.resources)["weight"].to_dict()
    queues = {f"all/{path}".strip("/"): {"weight": weight} for path, weight in table.items()}
    queues["all"]["guarantee"] = pool
    instance = drawn.replace(
        queue=[f"all/{path}".strip("/") for path in drawn.queue], queues=queues
    )
    data, weights = for_the_oracle(drawn)
    expected = counted(data, weights)
    assert guaranteed(instance, PricedRegion(instance).can_run) == pytest.approx(
        expected, rel=1e-4, abs=1e-4
    )
    assert floors(instance) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def trees(seed):
    """A larger tree of floats: limits that satisfy some users early, caps, guarantees, placement, three levels."""
    rng = np.random.default_rng(seed)
    users, servers, resources = (
        int(rng.integers(least, largest)) for least, largest in ((10, 60), (1, 8), (1, 5))
    )
    demands = rng.lognormal(0, 1, (users, resources)) * (rng.random((users, resources)) < 0.7)
    demands[~demands.any(axis=1), 0] = 1
    capacities = rng.lognormal(2, 1, (servers, resources)) * users / 10
    pool = capacities.sum(axis=0)
    paths = ["/".join(rng.choice(list("abc"), rng.integers(0, 4))) for _ in range(users)]
    above = {
        "/".join(path.split("/")[:k]) for path in paths for k in range(1, path.count("/") + 2)
    } - {""}
    names = [f"resource{r + 1}" for r in range(resources)]
    queues = {}
    for path in sorted(above):
        queues[path] = {"weight": float(rng.choice([1, 1, 2, 5, 0.1]))}
        if rng.random() < 0.3:
            queues[path]["cap"] = {
                n: float(c * rng.uniform(0.05, 0.5)) for n, c in zip(names, pool, strict=True)
            }
        if rng.random() < 0.2:
            queues[path]["guarantee"] = {
                n: float(c * rng.uniform(0, 0.05)) for n, c in zip(names, pool, strict=True)
            }
    alone = 1 / (demands / pool).max(axis=1)
    limits = np.where(
        rng.random(users) < 0.6, alone * rng.uniform(0, 0.3, users) * rng.random(users), np.inf
    )
    eligible = rng.random((users, servers)) < 0.7
    eligible[:, 0] = True
    return fairlp.Instance.from_arrays(
        demands, capacities, queue=paths, queues=queues, weights=rng.choice([1, 2, 0.5], users), task_limits=limits,
        eligible=eligible,
    )  # fmt: skip


#: Once the proof let all queues stand while one caught up; once users who were guaranteed all their
#: tasks rose, too.
ONCE_WRONG = (19, 37, 44)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sorted({*range(many(40)), *ONCE_WRONG}))
@pytest.mark.parametrize("mechanism", ["h-drf", "h-drf-counted"])
def test_larger_trees_are_proved(seed, mechanism):
    try:
        allocation = fairlp.allocate(trees(seed), mechanism)
    except fairlp.errors.InstanceError as error:
        assert "cannot all be kept" in str(error)
        return
    assert allocation.certify(), allocation.certify()


@pytest.mark.parametrize("mechanism", ["drfh", "h-drf", "h-drf-counted"])
def test_where_all_have_what_they_are_guaranteed_nobody_rises(mechanism):
    instance = fairlp.Instance.from_arrays(
        [[1], [1]],
        [[5], [5]],
        task_limits=[2, 3],
        queue=["q", "q"],
        queues={"q": {"guarantee": {"resource1": 6}}},
    )
    for method in ("lp", "interior-point"):
        allocation = fairlp.allocate(instance, mechanism, method=method, count="borrowed")
        assert allocation.totals.tolist() == pytest.approx([2, 3]) and allocation.certify()


def test_in_rationals_a_round_begins_where_a_leaf_rises():
    """A queue waits at first, because of a user who is guaranteed all its tasks: nobody else asks for anything."""
    instance = fairlp.Instance.from_arrays(
        [[1, 0], [0, 1]], [[10, 10]], task_limits=[2, np.inf], queue=["q", "q"],
        queues={"q": {"guarantee": {"resource1": 2}}},
    )  # fmt: skip
    allocation = fairlp.allocate(instance, "h-drf-counted")
    assert allocation.totals.tolist() == pytest.approx([2, 10])
    assert allocation.certify() and allocation.certify(exact=True)


@pytest.mark.parametrize("seed", range(many(60)))
def test_guarantees_of_tasks_that_are_64_times_as_large_hold_a_64th_of_them(seed):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, servers=2, guarantees=True)
    larger = instance.replace(demands=64 * instance.demands, task_limits=instance.task_limits / 64)
    expected = guaranteed(instance, PricedRegion(instance).can_run) / 64
    assert guaranteed(larger, PricedRegion(larger).can_run) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(many(120)))
def test_answers_with_a_past_along_a_tree_of_small_weights_are_proved(seed):
    """Queues of weights far below 1, whose levels rise slowly past what users have had."""
    rng = np.random.default_rng([85, seed])
    drawn = tree_instance(rng)
    queues = {
        path: {"weight": weight / 16}
        for path, weight in drawn.queues.table(drawn.resources)["weight"].to_dict().items()
        if path
    }
    instance = drawn.replace(queues=queues)
    past = rng.choice([0, 0, 0.1, 0.3, 0.7], len(instance.users))
    state = pd.Series(past, index=list(instance.users))
    allocation = fairlp.allocate(instance, "h-drf-counted", state=state)
    proof = allocation.certify()
    assert proof.holds, proof.message
