"""Hierarchical DRF, guarantees and caps: the papers' values, an oracle of its own, exact proofs, flat trees."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.errors import InstanceError
from fairlp.models.trees.guarantees import floors
from profiles import PROFILE, many
from tree_instances import for_the_oracle, tree_instance
from tree_oracle import counted, hierarchical

FLAT = ["drf", "edrf", "asset", "drfh", "c-drfh", "cdrf", "tsf"]


def starved():
    """Example (a) of the paper as Volcano's design retells it: a naive tree of shares starves b."""
    return fairlp.Instance.from_arrays(
        [[0, 1], [1, 0], [0, 1]],
        [[1, 1]],
        users=["n1", "a", "b"],
        resources=["cpu", "gpu"],
        queue=["", "n2", "n2"],
    )


def blocked():
    """Example (b): what a blocked leaf holds counts for nobody."""
    return fairlp.Instance.from_arrays(
        [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]],
        [[1, 1]],
        users=["n1", "n2", "n3,1", "n3,2", "n4"],
        resources=["cpu", "gpu"],
        queue=["", "", "n3", "n3", ""],
    )


@pytest.mark.parametrize("method", ["rounds", "lp", "interior-point"])
@pytest.mark.parametrize("mechanism", ["h-drf", "h-drf-counted"])
def test_the_two_examples_of_the_paper(mechanism, method):
    allocation = fairlp.allocate(starved(), mechanism, method=method)
    assert allocation.totals.to_dict() == pytest.approx(
        {"n1": 1 / 2, "a": 1, "b": 1 / 2}, abs=1e-12
    )
    allocation = fairlp.allocate(blocked(), mechanism, method=method)
    expected = {"n1": 1 / 3, "n2": 1 / 3, "n3,1": 1 / 3, "n3,2": 1 / 2, "n4": 1 / 2}
    assert allocation.totals.to_dict() == pytest.approx(expected, abs=1e-12)
    assert allocation.certify() and allocation.certify(exact=True)


def test_a_flat_tree_of_products_gives_the_queue_of_the_blocked_leaf_less():
    totals = fairlp.allocate(blocked(), "h-drf-collapsed").totals
    assert totals["n3,2"] == pytest.approx(1 / 3) and totals["n4"] == pytest.approx(2 / 3)
    assert fairlp.allocate(starved(), "h-drf-collapsed").totals["b"] == pytest.approx(1 / 3)


def test_a_row_that_is_nearly_used_up_stops_nobody():
    """Cpu ends first, with 100.5 of 101 of the memory in use; the rest is for who needs memory alone."""
    instance = fairlp.Instance.from_arrays(
        [[1, 0], [1, 1], [0, 1]], [[100, 101]], queue=["p", "q", "r"]
    )
    for method in fairlp.mechanisms("h-drf").method_names:
        assert fairlp.allocate(instance, "h-drf", method=method).totals.tolist() == pytest.approx(
            [50, 50, 51]
        )


@pytest.mark.parametrize("seed", range(many(100)))
def test_equal_to_an_oracle_round_by_round(seed):
    """2,000 random trees at night (100 by day), on one server and on several, with limits, caps and guarantees."""
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, servers=3, guarantees=seed % 3 == 0, caps=seed % 2 == 0)
    floors_before = floors(instance)
    count = "borrowed" if seed % 6 == 0 else "total"
    data, weights = for_the_oracle(instance)
    try:
        allocation = fairlp.allocate(instance, "h-drf", method="lp", count=count)
    except InstanceError as error:
        assert "guarantees of queues cannot all be kept" in str(error)
        with pytest.raises(AssertionError):
            hierarchical(data, weights, floors=floors_before)
        return
    expected = hierarchical(
        data, weights, floors=floors_before, base=floors_before if count == "borrowed" else None
    )
    np.testing.assert_allclose(
        allocation.totals.to_numpy(), expected, atol=1e-6 * (1 + expected.max())
    )
    assert allocation.residual <= 1e-9
    audited = fairlp.audit(instance, allocation, ["Pareto-optimal", "caps kept", "guarantees kept"])
    assert not (audited.holds == False).any(), audited.witness.to_dict()  # noqa: E712
    if len(instance.servers) == 1:
        filled = fairlp.allocate(instance, "h-drf", method="rounds", count=count)
        np.testing.assert_allclose(
            filled.totals, allocation.totals, atol=1e-9 * (1 + expected.max())
        )
    assert allocation.certify(exact=True), allocation.certify(exact=True)


@pytest.mark.parametrize("seed", range(many(20)))
def test_trees_without_queues_are_drfh_and_drf(seed):
    instance = tree_instance(np.random.default_rng(seed), servers=3, flat=True)
    for queueless in (instance, instance.replace(queue=None, queues=None)):
        allocation = fairlp.allocate(queueless, "h-drf", method="lp")
        drfh = fairlp.allocate(queueless, "c-drfh", method="lp")
        np.testing.assert_allclose(allocation.totals, drfh.totals, rtol=1e-12, atol=1e-12)
    if len(instance.servers) == 1:
        expected = fairlp.allocate(instance, "drf").totals
        np.testing.assert_allclose(fairlp.allocate(instance, "h-drf").totals, expected, rtol=1e-13)


@pytest.mark.parametrize("seed", range(many(20)))
@pytest.mark.parametrize("mechanism", [*FLAT, "h-drf-collapsed"])
def test_guarantees_and_caps_of_every_max_min_mechanism(seed, mechanism):
    rng = np.random.default_rng(1000 + seed)
    instance = tree_instance(rng, guarantees=True, caps=True)
    for count in (
        ("total", "borrowed") if PROFILE == "nightly" else (("total", "borrowed")[seed % 2],)
    ):
        try:
            allocation = fairlp.allocate(instance, mechanism, method="lp", count=count)
        except InstanceError:
            continue
        filled = fairlp.allocate(instance, mechanism, count=count)
        np.testing.assert_allclose(
            filled.totals, allocation.totals, atol=1e-8 * (1 + allocation.totals.max())
        )
        assert allocation.certify(exact=True), allocation.certify(exact=True)
        assert (allocation.totals >= floors(instance) * (1 - 1e-9)).all()
        assert instance.queues.over_caps(allocation.totals.to_numpy(), instance.demands)[0] <= 1e-9


def test_queues_without_limits_change_nothing_for_mechanisms_without_a_tree():
    instance = blocked().replace(queues={"n3": 7})
    for mechanism in FLAT:
        allocation = fairlp.allocate(instance, mechanism)
        assert allocation.totals.equals(
            fairlp.allocate(blocked().replace(queue=None, queues=None), mechanism).totals
        )
        assert any("without the tree of queues" in note for note in allocation.notes)


def test_counts():
    """A guarantee of half the CPU: counted as a part of what is due, and before it."""
    instance = fairlp.Instance.from_arrays(
        [[1.0], [1.0]], [[8.0]], users=["x", "y"], resources=["cpu"], queue=["x", "y"],
        queues={"x": {"guarantee": {"cpu": 6}}},
    )  # fmt: skip
    for mechanism in ("h-drf", "drf"):
        assert fairlp.allocate(instance, mechanism).totals.tolist() == pytest.approx([6, 2])
        assert fairlp.allocate(
            instance, mechanism, count="borrowed"
        ).totals.tolist() == pytest.approx([7, 1])
        smaller = instance.replace(queues={"x": {"guarantee": {"cpu": 2}}})
        assert fairlp.allocate(smaller, mechanism).totals.tolist() == pytest.approx([4, 4])
        assert fairlp.allocate(
            smaller, mechanism, count="borrowed"
        ).totals.tolist() == pytest.approx([5, 3])
        with pytest.raises(InstanceError, match="did you mean 'borrowed'"):
            fairlp.allocate(smaller, mechanism, count="borowed")


def test_whoever_is_at_its_cap_by_its_guarantee_leaves_at_the_first_event():
    """The first user cannot be raised: once the third has all its tasks, its sibling rises as fast as the last."""
    instance = fairlp.Instance.from_arrays(
        [[1.0]] * 4, [[8.0]], queue=["q/p", "q", "", ""], task_limits=[9, 9, 0.5, 99], resources=["cpu"],
        queues={"q/p": {"guarantee": {"cpu": 2}, "cap": {"cpu": 2}}},
    )  # fmt: skip
    for method in ("rounds", "lp"):
        allocation = fairlp.allocate(instance, "h-drf", method=method)
        assert allocation.totals.tolist() == pytest.approx([2, 2.75, 0.5, 2.75])
        assert allocation.certify(exact=True)


def test_what_a_guarantee_leaves_unused_goes_to_others_and_a_cap_binds():
    instance = fairlp.Instance.from_arrays(
        [[1.0], [1.0], [1.0]], [[9.0]], queue=["a", "a", "b"], task_limits=[1, 1, np.inf], resources=["cpu"],
        queues={"a": {"guarantee": {"cpu": 5}}},
    )  # fmt: skip
    assert fairlp.allocate(instance, "h-drf").totals.tolist() == pytest.approx([1, 1, 7])
    capped = instance.replace(queues={"a": {"guarantee": {"cpu": 5}}, "b": {"cap": {"cpu": 3}}})
    assert fairlp.allocate(capped, "h-drf").totals.tolist() == pytest.approx([1, 1, 3])
    audited = fairlp.audit(
        instance.replace(queues={"b": {"cap": {"cpu": 3}}}), np.array([[1.0], [1], [4]])
    )
    assert audited.holds["caps kept"] is False
    assert audited.witness["caps kept"] == "queue 'b' has 4 'cpu' and its cap is 3"


def test_guarantees_that_do_not_fit_are_explained():
    for mechanism in ("h-drf", "drfh"):
        for method in ("lp", "auto"):
            with pytest.raises(
                InstanceError,
                match="queue 'n3' is guaranteed 3 'cpu', and 2 of 'cpu' have no place",
            ):
                fairlp.allocate(
                    blocked().replace(queues={"n3": {"guarantee": {"cpu": 3}}}),
                    mechanism,
                    method=method,
                )
    placed = fairlp.Instance.from_arrays(
        [[1.0], [1.0]], [[4.0], [4.0]], resources=["gpu"], queue=["a/x", "b"], eligible=[[True, False], [True, True]],
        queues={"a": {"guarantee": {"gpu": 6}}},
    )  # fmt: skip
    with pytest.raises(
        InstanceError, match="queue 'a' is guaranteed 6 'gpu', and 2 of 'gpu' have no place"
    ):
        fairlp.allocate(placed, "h-drf")
    # 4 of 104 CPUs are more than 40 of 10,040 MB
    scarce = fairlp.Instance.from_arrays(
        [[10, 1], [10, 1]], [[40, 4], [10000, 100]], resources=["MB", "cpu"], queue=["q", ""],
        eligible=[[True, False], [True, True]], queues={"q": {"guarantee": {"cpu": 8, "MB": 80}}},
    )  # fmt: skip
    with pytest.raises(
        InstanceError, match="queue 'q' is guaranteed 8 'cpu', and 4 of 'cpu' have no place"
    ):
        fairlp.allocate(scarce, "h-drf")


def test_totals_by_queue():
    allocation = fairlp.allocate(blocked(), "h-drf")
    table = allocation.by_queue()
    assert table.loc["n3", "users"] == 2 and table.loc["", "users"] == 5
    assert table.loc["n3", ["cpu", "gpu"]].tolist() == pytest.approx([1 / 3, 1 / 2])
    assert table.loc["n3", "share"] == pytest.approx(1 / 2) and table.loc[
        "", "gpu"
    ] == pytest.approx(1)
    first = allocation.by_queue(1)
    assert list(first.index) == ["", "n3"] and first["tasks"].sum() == pytest.approx(
        allocation.totals.sum()
    )
    assert list(allocation.by_queue(0).index) == [""]
    with pytest.raises(InstanceError, match="has no queues"):
        fairlp.allocate(fairlp.examples.load("ghodsi"), "drf").by_queue()
    with pytest.raises(InstanceError, match="level is -1"):
        allocation.by_queue(-1)


def test_a_planted_answer_is_not_proved():
    import dataclasses

    right = fairlp.allocate(blocked(), "h-drf")
    moved = right.tasks_array.copy()
    moved[3], moved[4] = moved[3] + 1e-6, moved[4] - 1e-6
    for exact in (False, True):
        verdict = dataclasses.replace(right, tasks_array=moved).certify(exact=exact)
        assert not verdict and "not optimal: user 'n4'" in verdict.message


def test_the_model_is_that_of_the_paper():
    model = fairlp.formulate(
        blocked().replace(queues={"n3": {"cap": {"gpu": 0.4}, "guarantee": {"cpu": 0.5}}}), "h-drf"
    )
    text = str(model)
    assert "∑_i g[n,i] ≥ ρ[n]·t" in text and "guarantee" in text and "Λ[v,r]" in text
    assert fairlp.formulate(blocked(), "h-drf").solve().objective == pytest.approx(1 / 3)


METHODS_OF_COUNTED = ["rounds", "lp", "interior-point"]


@pytest.mark.parametrize("method", METHODS_OF_COUNTED)
def test_with_satisfied_leaves_counted_two_queues_have_half_each(method):
    limits = [np.inf, *[40 / 59] * 19, np.inf]
    instance = fairlp.Instance.from_arrays(
        [[1]] * 21, [[40]], queue=["Q1", *["Q2"] * 20], task_limits=limits
    )
    allocation = fairlp.allocate(instance, "h-drf-counted", method=method)
    assert allocation.by_queue(1)["tasks"].tolist() == pytest.approx([20, 20])
    assert allocation.certify(exact=True)


@pytest.mark.parametrize("method", METHODS_OF_COUNTED)
def test_with_satisfied_leaves_counted_a_sibling_of_the_root_has_its_half(method):
    instance = fairlp.Instance.from_arrays(
        [[0, 1], [0, 1], [1, 0], [1, 0], [0, 1]], [[60, 60]], users=["b", "c", "a1", "a2", "a3"],
        queue=["", "P", "P/A", "P/A", "P/A"], task_limits=[np.inf, np.inf, 9, np.inf, np.inf],
    )  # fmt: skip
    allocation = fairlp.allocate(instance, "h-drf-counted", method=method)
    assert allocation.totals.to_dict() == pytest.approx(
        {"b": 30, "c": 19.5, "a1": 9, "a2": 51, "a3": 10.5}
    )
    assert allocation.certify(exact=True)
    assert allocation.rounds["level"].tolist() == pytest.approx([0.45, 0.5, 1])


@pytest.mark.parametrize("method", METHODS_OF_COUNTED)
def test_where_the_level_of_a_queue_stands_still_its_leaves_rise_at_once(method):
    """In q, x of weight 2 has all its 9 tasks when y has 4½. q stays at level 9 until y has 9, and z waits."""

    def of(pool):
        return fairlp.Instance.from_arrays(
            [[1, 0], [0, 1], [0, 1]], [[60, 60]], users=["x", "y", "z"], queue=["q", "q", ""], weights=[2, 1, 1],
            task_limits=[9, np.inf, np.inf], queues={"": {"cap": {"resource2": pool}}},
        )  # fmt: skip

    for pool, expected in (
        (13, [9, 4 + 1 / 3, 8 + 2 / 3]),
        (15, [9, 6, 9]),
        (18, [9, 9, 9]),
        (22, [9, 11, 11]),
    ):
        allocation = fairlp.allocate(of(pool), "h-drf-counted", method=method)
        assert allocation.totals.tolist() == pytest.approx(expected), pool
        assert allocation.certify(exact=True)


def spoiled(tree, rng):
    """Limits that are parts of what h-drf gives, so that leaves are satisfied, blocked, and both at once."""
    totals = fairlp.allocate(tree, "h-drf").totals.to_numpy()
    factors = rng.choice([0.25, 0.5, 0.75, 1.0, 1.25], len(totals))
    return tree.replace(
        task_limits=np.where(rng.random(len(totals)) < 0.6, np.round(totals * factors, 12), np.inf)
    )


@pytest.mark.parametrize("seed", range(many(100)))
def test_satisfied_leaves_counted_against_curves_of_nodes(seed):
    """Sums, programs, rationals and the oracle agree; who lacks tasks has what the weights promise."""
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng)
    instance = spoiled(instance, rng) if seed % 2 else instance
    data, weights = for_the_oracle(instance)
    allocation = fairlp.allocate(instance, "h-drf-counted", method="rounds")
    expected = counted(data, weights)
    np.testing.assert_allclose(
        allocation.totals, expected, rtol=2e-4, atol=2e-4 * (1 + expected.max())
    )
    program = fairlp.allocate(instance, "h-drf-counted", method="lp")
    np.testing.assert_allclose(program.totals, allocation.totals, atol=1e-8 * (1 + expected.max()))
    assert allocation.certify(exact=True), allocation.certify(exact=True)
    promised = [
        "Pareto-optimal",
        "hierarchical share guarantee",
        "queue share guarantee",
        "envy-free within queues",
    ]
    audited = fairlp.audit(instance, allocation, promised)
    assert not (audited.holds == False).any(), audited.witness.to_dict()  # noqa: E712


@pytest.mark.parametrize("seed", range(many(40)))
def test_satisfied_leaves_counted_on_servers_with_guarantees_and_caps(seed):
    rng = np.random.default_rng(seed)
    instance = tree_instance(
        rng, servers=1 + 2 * (seed % 2), guarantees=seed % 3 == 0, caps=seed % 4 > 0
    )
    count = "borrowed" if seed % 6 == 0 else "total"
    try:
        allocation = fairlp.allocate(instance, "h-drf-counted", method="lp", count=count)
    except InstanceError as error:
        assert "guarantees of queues cannot all be kept" in str(error)
        return
    assert allocation.certify(exact=True), allocation.certify(exact=True)
    audited = fairlp.audit(instance, allocation, ["Pareto-optimal", "caps kept", "guarantees kept"])
    assert not (audited.holds == False).any(), audited.witness.to_dict()  # noqa: E712
    if len(instance.servers) == 1:
        filled = fairlp.allocate(instance, "h-drf-counted", method="rounds", count=count)
        np.testing.assert_allclose(
            filled.totals, allocation.totals, atol=1e-8 * (1 + allocation.totals.max())
        )


@pytest.mark.parametrize("seed", range(many(20)))
def test_without_task_limits_satisfied_leaves_counted_are_hierarchical_drf_to_the_last_digit(seed):
    instance = tree_instance(np.random.default_rng(seed), servers=2, limits=False)
    for method in ("lp", "auto"):
        borrowed, other = (
            fairlp.allocate(instance, name, method=method) for name in ("h-drf", "h-drf-counted")
        )
        assert borrowed.tasks.equals(other.tasks)
