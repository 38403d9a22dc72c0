"""Rates along a tree, filling of a pool, and what guarantees come to: by hand, and against recursion in rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairlp
from fairlp.formulations.hierarchical import collapsed, parts_of_queues, rates_on_tree
from fairlp.models.trees.filling import Rows, fill, first_segment, floors
from fairlp.models.trees.quotas import usage_of
from fairlp.models.trees.rates import (
    ExactTree,
    decimal,
    exact_hierarchical,
    exact_shares,
    rational_rates,
)
from profiles import many
from tree_instances import for_the_oracle, tree_instance
from tree_oracle import counted, static_rates


@pytest.mark.parametrize("seed", range(many(60)))
def test_rates_are_those_of_the_recursion(seed):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng)
    data, weights = for_the_oracle(instance)
    everyone = set(range(len(instance.users)))
    active = {n for n in everyone if rng.random() < 0.7} or everyone
    shares = exact_shares(instance)
    weights = {path: Fraction(w) for path, w in weights.items()}
    expected = static_rates(
        data["paths"], weights, [Fraction(w) for w in data["weights"]], shares, active
    )
    exact = exact_hierarchical(instance)(active)
    tree = ExactTree(instance, everyone, Fraction)
    for n in everyone - active:
        tree.leave(n)
    floats = rates_on_tree(instance)(np.isin(np.arange(len(everyone)), list(active)))
    for n in everyone:
        if n not in active:
            assert floats[n] == 0
            continue
        tasks = expected[n] / max(shares[n])
        assert float(tasks) == pytest.approx(floats[n], rel=1e-12)
        assert exact[n] == tasks == tree.factors()[tree.of[n]] / tree.unit[n]


def test_one_unit_of_a_queue_is_one_unit_of_dominant_share():
    instance = fairlp.Instance.from_arrays(
        [[2, 1], [1, 2], [1, 1]], [[10, 10]], queue=["q", "q", ""], queues={"q": {"weight": 3}}
    )
    rates = rates_on_tree(instance)(np.ones(3, dtype=bool))
    # the vectors (1, ½) and (½, 1) sum to (1½, 1½): each leaf of q gets 3/1½ = 2 of its own
    # dominant share
    assert rates.tolist() == pytest.approx([2 * 5, 2 * 5, 10])
    alone = rates_on_tree(instance)(np.array([True, False, True]))
    assert alone.tolist() == pytest.approx([3 * 5, 0, 10])


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("seed", range(many(60)))
def test_a_queue_with_satisfied_leaves_is_at_the_level_of_what_all_below_it_take(seed, exact):
    """From kink to kink: what a queue takes is that of its leaves, and its largest entry what its weight gives it."""
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng)
    rates = (
        rational_rates(instance, counted=True) if exact else rates_on_tree(instance, counted=True)
    )
    queues, users = instance.queues, len(instance.users)
    active, below = rng.random(users) < 0.6, queues.below.toarray().astype(int)
    rises = (below @ active > 0) & (np.arange(len(below)) > 0)
    satisfied = np.where(active, 0, rng.integers(0, 9, users)).astype(rates.queue_weights.dtype)
    point = rates.begin(satisfied)
    least = point.usage.max(axis=1)
    for _ in range(100):
        pace = rates.pace(active, point)
        end = pace.end if pace.end < np.inf else 7
        for t in (end / 2, end):
            at = pace.after(point, t)
            tasks = np.where(active, rates.tasks_at(at), satisfied)
            taken = (below @ (rates.task * tasks[:, None])).astype(float)
            assert at.usage.astype(float) == pytest.approx(taken, rel=1e-9, abs=1e-9)
            level = np.maximum(least, rates.queue_weights * at.level[queues.parents]).astype(float)
            assert taken.max(axis=1)[rises] == pytest.approx(level[rises], rel=1e-9, abs=1e-9)
        if pace.end == np.inf:
            return
        point = at
    raise AssertionError("there is no end of kinks")


@pytest.mark.parametrize("seed", range(many(40)))
def test_filling_a_pool_gives_what_curves_of_nodes_give(seed):
    instance = tree_instance(np.random.default_rng(seed))
    rows = Rows.of_pool(instance.pool, instance.demands, instance.demands, instance.tree)
    able = instance.runnable().any(axis=1) & (instance.task_limits > 0)
    rates, nothing = rates_on_tree(instance, counted=True), np.zeros(len(able))
    tasks, history = fill(rows, first_segment(rates, nothing, instance.task_limits, able))
    expected = counted(*for_the_oracle(instance))
    assert tasks == pytest.approx(expected, rel=2e-4, abs=2e-4 * (1 + expected.max()))
    assert sorted(n for _, stopped in history for n in stopped) == np.flatnonzero(able).tolist()


def test_quotas_are_lent_kept_and_shared_as_by_hand():
    """A of 20 keeps 14 and lends 6 to B of 10, which may borrow 4; the root has 10 + 6 to lend."""
    queues = {
        "A": {"nominal": {"cpu": 20, "gpu": 2}, "lending": {"cpu": 6}},
        "B": {"nominal": {"cpu": 10, "gpu": 2}, "borrowing": {"cpu": 4}, "weight": 2},
    }
    instance = fairlp.Instance.from_arrays(
        [[1, 0], [1, 0.25]], [[99, 9]], queue=["A", "B"], queues=queues, resources=["cpu", "gpu"]
    )
    tree, used = usage_of(instance, np.array([[17.0], [12.0]]))
    assert tree.owned.tolist() == [[16, 4], [20, 2], [10, 2], [0, 0], [0, 0]]
    assert tree.reserved[:, 0].tolist() == [0, 14, 0, 0, 0] and tree.limits[:3, 0].tolist() == [
        16,
        np.inf,
        14,
    ]
    assert tree.lent[:, 0].tolist() == [16, 16, 16, 30, 14]
    assert used.tolist() == [[3 + 12, 3], [17, 0], [12, 3], [17, 0], [12, 3]]
    # B is 2 cores and 1 GPU beyond its own, of 16 and 4 that the root has, at a weight of 2
    assert tree.shares(used)[:3].tolist() == pytest.approx([0, 0, (1 / 4) / 2])


def test_a_guarantee_is_shared_as_a_pool_of_its_own():
    def of(queues, limits=None, queue=("a/x", "a/y", "b")):
        return fairlp.Instance.from_arrays(
            [[1, 1], [1, 0], [1, 1]], [[10, 10]], queue=list(queue), queues=queues, task_limits=limits,
            resources=["cpu", "gpu"],
        )  # fmt: skip

    assert floors(of({"a": {"guarantee": {"cpu": 4, "gpu": 4}}})).tolist() == pytest.approx(
        [2, 2, 0]
    )
    # GPUs are not named, and do not limit the guarantee: 4 CPUs are two tasks for each user
    assert floors(of({"a": {"guarantee": {"cpu": 4}}})).tolist() == pytest.approx([2, 2, 0])
    assert floors(
        of({"a": {"guarantee": {"cpu": 4, "gpu": 4}}}, [1, np.inf, 1])
    ).tolist() == pytest.approx([1, 3, 0])
    # deeper guarantees come first, and count where they are more than those above
    deep = {"a": {"guarantee": {"cpu": 4, "gpu": 4}}, "a/x": {"guarantee": {"cpu": 3, "gpu": 3}}}
    assert floors(of(deep)).tolist() == pytest.approx([3, 1, 0])
    deeper = {"a": {"guarantee": {"cpu": 1, "gpu": 1}}, "a/x": {"guarantee": {"cpu": 3, "gpu": 3}}}
    assert floors(of(deeper)).tolist() == pytest.approx([3, 0, 0])
    # a cap below holds within it
    capped = {"a": {"guarantee": {"cpu": 4, "gpu": 4}}, "a/y": {"cap": {"cpu": 1}}}
    assert floors(of(capped)).tolist() == pytest.approx([3, 1, 0])
    assert floors(of({"a": {"cap": {"cpu": 1}}})).tolist() == [0, 0, 0]


@pytest.mark.parametrize("mechanism", ["h-drf-counted", "h-drf", "drfh", "alpha-fair"])
def test_a_guarantee_of_one_resource_does_not_limit_the_others(mechanism):
    """3 of 4 GPUs are guaranteed to a, whose tasks need a CPU, too: a has 3 tasks and b the last GPU."""
    instance = fairlp.Instance.from_arrays(
        [[1, 1], [1, 1]],
        [[16, 4]],
        resources=["cpu", "gpu"],
        queue=["a", "b"],
        task_limits=[4, 4],
        queues={"a": {"guarantee": {"gpu": 3}}},
    )
    allocation = fairlp.allocate(instance, mechanism)
    assert allocation.totals.tolist() == pytest.approx([3, 1])
    assert allocation.certify()


def test_a_guarantee_is_worth_no_more_than_all_servers_have_of_what_it_does_not_name():
    """Tasks of 4 CPUs and a GPU: of 3 guaranteed GPUs the 8 CPUs allow 2 tasks; b has the CPUs that are left, none."""
    instance = fairlp.Instance.from_arrays(
        [[4, 1], [1, 0]],
        [[8, 4]],
        resources=["cpu", "gpu"],
        queue=["a", "b"],
        queues={"a": {"guarantee": {"gpu": 3}}},
    )
    assert floors(instance).tolist() == pytest.approx([2, 0])
    assert fairlp.allocate(instance, "h-drf-counted").totals.tolist() == pytest.approx([2, 0])


def test_guarantees_that_lack_a_resource_that_they_do_not_name_are_an_error_of_one_that_they_do():
    """Two guarantees of 2 GPUs are 4 tasks of 4 CPUs; 8 CPUs are two of them."""
    instance = fairlp.Instance.from_arrays(
        [[4, 1], [4, 1]],
        [[8, 4]],
        resources=["cpu", "gpu"],
        queue=["a", "b"],
        queues={"a": {"guarantee": {"gpu": 2}}, "b": {"guarantee": {"gpu": 2}}},
    )
    with pytest.raises(fairlp.errors.InstanceError, match="is guaranteed 2 'gpu', and 2 of 'gpu'"):
        fairlp.allocate(instance, "h-drf-counted")


def test_weights_of_the_tree_made_flat():
    instance = fairlp.Instance.from_arrays(
        np.ones((5, 1)),
        [[10]],
        queue=["a/x", "a/x", "a", "b", ""],
        queues={"a": 2, "a/x": 3},
        weights=[1, 2, 1, 5, 1],
    )
    # root: a 2, b 1, the last user 1; a: x 3, its own user 1
    expected = [1 / 2 * 3 / 4 * 1 / 3, 1 / 2 * 3 / 4 * 2 / 3, 1 / 2 * 1 / 4, 1 / 4, 1 / 4]
    assert collapsed(instance).tolist() == pytest.approx(expected) and sum(expected) == 1
    parts, inside = parts_of_queues(instance.queues, instance.weights, np.ones(5, dtype=bool))
    by_path = dict(zip(instance.queues.paths, parts, strict=True))
    assert by_path == pytest.approx({"": 1, "a": 1 / 2, "a/x": 3 / 8, "b": 1 / 4})
    assert dict(zip(instance.queues.paths, inside, strict=True)) == pytest.approx(
        {"": 4, "a": 4, "a/x": 3, "b": 5}
    )


def test_decimals_are_what_is_written():
    assert (
        decimal(0.1) == Fraction(1, 10)
        and decimal(3.0) == 3
        and decimal(2.5e-7) == Fraction(25, 10**8)
    )
