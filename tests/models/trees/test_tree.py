"""Rates along a tree, filling of a pool, and what guarantees come to: by hand, and against recursion in rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairlp
from fairlp.formulations.hierarchical import collapsed, parts_of_queues, rates_on_tree
from fairlp.models.instances.branches import Branches
from fairlp.models.instances.rationals import decimal, exact_shares
from fairlp.models.trees.rules import DominantShare
from fairlp.models.trees.tree import Tree, rational_tree
from profiles import many
from tree_instances import for_the_oracle, tree_instance
from tree_oracle import static_rates


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
    is_active = np.isin(np.arange(len(everyone)), list(active))
    exact = rational_tree(instance)(is_active)
    floats = rates_on_tree(instance)(is_active)
    for n in everyone:
        if n not in active:
            assert floats[n] == 0
            continue
        tasks = expected[n] / max(shares[n])
        assert float(tasks) == pytest.approx(floats[n], rel=1e-12)
        assert exact[n] == tasks


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
        rational_tree(instance, counted=True) if exact else rates_on_tree(instance, counted=True)
    )
    queues, users = instance.queues, len(instance.users)
    active, below = rng.random(users) < 0.6, queues.below.toarray().astype(int)
    rises = (below @ active > 0) & (np.arange(len(below)) > 0)
    satisfied = np.where(active, 0, rng.integers(0, 9, users)).astype(rates.branches.weights.dtype)
    point = rates.begin(satisfied)
    least = point.usage.max(axis=1)
    for _ in range(100):
        pace = rates.pace(active, point)
        end = pace.end if pace.end < np.inf else 7
        for t in (end / 2, end):
            point_after = pace.after(point, t)
            tasks = np.where(active, rates.tasks_at(point_after), satisfied)
            use = (below @ (rates.use_per_task * tasks[:, None])).astype(float)
            assert point_after.usage.astype(float) == pytest.approx(use, rel=1e-9, abs=1e-9)
            level = np.maximum(
                least, rates.branches.weights * point_after.level[queues.parents]
            ).astype(float)
            assert use.max(axis=1)[rises] == pytest.approx(level[rises], rel=1e-9, abs=1e-9)
        if pace.end == np.inf:
            return
        point = point_after
    raise AssertionError("there is no end of kinks")


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


def test_rates_in_rationals_count_tasks_from_the_dominant_share():
    """One of five and two of six: a dominant share of 1 is 3 tasks of 1/3 each, and two of ½."""
    instance = fairlp.Instance.from_arrays([[1, 2], [3, 1]], [[5, 6]], weights=[1, 2])
    rates = rational_tree(instance)
    assert rates(np.array([True, True])).tolist() == [3, Fraction(10, 3)]
    assert rational_tree(instance, number=decimal)(np.array([False, True])).tolist() == [
        0,
        Fraction(10, 3),
    ]


def test_decimals_are_what_is_written():
    assert (
        decimal(0.1) == Fraction(1, 10)
        and decimal(3.0) == 3
        and decimal(2.5e-7) == Fraction(25, 10**8)
    )


class ByPriorityInQueues(DominantShare):
    """Queues share by weights; inside each one the first user that can rise does alone."""

    queues = 3

    def rank(self, nodes, usage, growth):
        return np.where(nodes < self.queues, 0, nodes).astype(float)


def test_a_rule_by_priority_lets_the_first_child_alone_rise():
    """Queues of weights 1 and 2 with two users each, every user a node of its own."""
    branches = Branches(
        parents=np.array([0, 0, 0, 1, 1, 2, 2]),
        depths=np.array([0, 1, 1, 2, 2, 2, 2]),
        weights=np.array([1.0, 1, 2, 1, 5, 1, 1]),
        of=np.array([3, 4, 5, 6]),
        names=["", "a", "b", "a1", "a2", "b1", "b2"],
    )
    units = np.ones(4)
    tree = Tree(branches, units[:, None], units, rule=ByPriorityInQueues())
    assert tree(np.array([True, True, True, True])).tolist() == [1, 0, 2, 0]
    assert tree(np.array([False, True, True, True])).tolist() == [0, 1, 2, 0]
