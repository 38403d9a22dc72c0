""""""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from audit_cases import fails, two
from fairlp import Instance
from fairlp.auditing.findings import AuditCase
from fairlp.auditing.properties import PROPERTIES
from fairlp.auditing.search import random_instance
from fairlp.mechanisms.table import TABLE
from profiles import many
from tree_instances import tree_instance

TREE = [name for name, row in PROPERTIES.items() if row.tree]


def two_teams(**changes):
    """Two queues of equal weight; a has two users, one of whom needs the other resource."""
    fields = {
        "queue": ["a", "a", "b"],
        "queues": {"b": {"cap": {"cpu": 6}}, "a": {"guarantee": {"cpu": 4, "gpu": 4}}},
    }
    return Instance.from_arrays(
        [[1, 0], [0, 1], [1, 1]],
        [[10, 10]],
        users=["x", "y", "z"],
        resources=["cpu", "gpu"],
        **(fields | changes),
    )


def audited(instance, tasks, name):
    return fairlp.audit(instance, np.array(tasks, dtype=float)[:, None], [name]).iloc[0]


@pytest.mark.parametrize("deviation", [1e-6, 1.0])
def test_caps(deviation):
    assert audited(two_teams(), [4, 4, 6], "caps kept").holds is True
    verdict = audited(two_teams(), [4, 4, 6 + 6 * deviation], "caps kept")
    assert verdict.holds is False and verdict.margin == pytest.approx(-deviation)
    assert (
        verdict.witness.startswith("queue 'b' has ") and "'cpu' and its cap is 6" in verdict.witness
    )


@pytest.mark.parametrize("deviation", [1e-6, 1.0])
def test_quotas(deviation):
    """A of 20 keeps 14 and lends 6; B of 10 may borrow 4: each of them, and what A lends, is a limit."""
    queues = {
        "A": {"nominal": {"cpu": 20}, "lending": {"cpu": 6}},
        "B": {"nominal": {"cpu": 10}, "borrowing": {"cpu": 4}},
    }
    instance = Instance.from_arrays(
        [[1], [1]], [[99]], queue=["A", "B"], queues=queues, resources=["cpu"]
    )
    for right, wrong_tasks, witness in (
        ([16, 14], [16, 14 + 14 * deviation], "queue 'B' uses {} 'cpu' and may use 14"),
        ([20, 10], [20 + 16 * deviation, 10], "queue '' uses {} 'cpu' and may use 16"),
    ):
        assert audited(instance, right, "quotas kept").holds is True
        finding = audited(instance, wrong_tasks, "quotas kept")
        assert finding.holds is False and finding.margin == pytest.approx(-deviation)
        start, _, end = witness.partition("{}")
        assert finding.witness.startswith(start) and finding.witness.endswith(end)


@pytest.mark.parametrize("deviation", [1e-6, 1.0])
def test_guarantees(deviation):
    # as a pool of its own the guarantee gives x four CPUs and y four GPUs; one of both is what
    # counts
    assert audited(two_teams(), [4, 0, 6], "guarantees kept").holds is True
    verdict = audited(two_teams(), [4 - 4 * deviation, 4 - 4 * deviation, 6], "guarantees kept")
    assert verdict.holds is False and verdict.margin == pytest.approx(-deviation)
    assert (
        verdict.witness.startswith("queue 'a' has ")
        and "of the 4 that it is guaranteed" in verdict.witness
    )
    limited = two_teams(task_limits=[1, 0, np.inf])
    assert audited(limited, [1, 0, 6], "guarantees kept").holds is True
    assert audited(limited, [0.5, 0, 6], "guarantees kept").holds is False


@pytest.mark.parametrize("deviation", [1e-6, 0.2])
def test_what_weights_promise(deviation):
    plain = two_teams(queues={"a": {"weight": 3}})
    # a's part is 3/4, and 3/8 for each of its users; b's is 1/4
    right = [3.75, 7.5, 2.5]
    assert audited(plain, right, "hierarchical share guarantee").holds is True
    verdict = audited(plain, [3.75 - 10 * deviation, 7.5, 2.5], "hierarchical share guarantee")
    assert verdict.holds is False and verdict.margin == pytest.approx(-deviation)
    assert verdict.witness.startswith("'x' of queue 'a'") and "promise 0.375" in verdict.witness
    assert audited(plain, right, "queue share guarantee").holds is True
    verdict = audited(plain, [3.75, 7.5 - 10 * deviation, 2.5], "queue share guarantee")
    assert verdict.holds is False and verdict.margin == pytest.approx(-deviation)
    assert verdict.witness.startswith("queue 'a' has") and "promise 0.75" in verdict.witness
    # whoever has all its tasks lacks nothing
    full = plain.replace(task_limits=[1, 1, np.inf])
    for name in ("hierarchical share guarantee", "queue share guarantee"):
        assert audited(full, [1, 1, 2.5], name).holds is True
        assert audited(full, [1, 1, 2.4], name).holds is False


@pytest.mark.parametrize("deviation", [1e-6, 0.2])
def test_envy_within_a_queue(deviation):
    instance = Instance.from_arrays(
        [[1], [1], [1]], [[9]], queue=["a", "a", "b"], weights=[1, 2, 1]
    )
    assert audited(instance, [1, 2, 6], "envy-free within queues").holds is True
    verdict = audited(instance, [1, 2 * (1 + deviation), 6], "envy-free within queues")
    assert verdict.holds is False and verdict.margin == pytest.approx(-deviation / 9)
    assert (
        "'user1' would run" in verdict.witness
        and "'user2' of the same queue 'a'" in verdict.witness
    )


def test_a_group_that_lies_together_is_found():
    """DRF on each queue's sum, by a mechanism of one's own that believes what it is told of demands."""

    @fairlp.mechanism("by-claims", title="in proportion to claims", source="test")
    def by_claims(instance: Instance) -> np.ndarray:
        claims = instance.demands.sum(axis=1)
        return np.array(claims / claims.sum() * instance.pool[0] / instance.demands[:, 0])[:, None]

    instance = Instance.from_arrays([[1, 1], [1, 1], [1, 1]], [[9, 99]], queue=["a", "a", "b"])
    verdict = fairlp.audit(
        instance, fairlp.allocate(instance, by_claims), ["group strategy-proof"]
    ).iloc[0]
    assert (
        verdict.holds is False
        and "would each run more tasks of their own by claiming to need" in verdict.witness
    )


def test_a_lie_that_pays_one_of_a_group_is_a_lie_of_that_one():
    @fairlp.mechanism("largest-claim", title="all to the largest claim", source="test")
    def largest_claim(instance: Instance) -> np.ndarray:
        largest = int(instance.demands[:, 0].argmax())
        return np.where(
            np.arange(len(instance.users)) == largest,
            instance.pool[0] / instance.demands[largest, 0],
            0.0,
        )[:, None]

    # whoever of the two claims most gets everything, and the other one nothing
    instance = Instance.from_arrays([[1.0], [1.0], [1.1]], [[9.0]], queue=["a", "a", "b"])
    findings = fairlp.audit(
        instance, fairlp.allocate(instance, largest_claim), ["group strategy-proof"], tries=50
    )
    assert findings.holds.iloc[0] is False and "each" not in findings.witness.iloc[0]
    honest = fairlp.allocate(instance, "h-drf")
    verdict = fairlp.audit(instance, honest, ["group strategy-proof"], tries=20).iloc[0]
    assert verdict.holds is None and "no lie that pays was found in 20 tries" in verdict.witness


@pytest.mark.parametrize("seed", range(many(60)))
def test_h_drf_keeps_what_it_promises(seed):
    """Without guarantees, caps and task limits on one server: what weights promise to users and queues."""
    instance = tree_instance(np.random.default_rng(seed), limits=False)
    findings = fairlp.audit(
        instance,
        fairlp.allocate(instance, "h-drf"),
        [n for n in TREE if n != "group strategy-proof"],
    )
    assert not (findings.holds == False).any(), findings.witness.to_dict()  # noqa: E712


def test_counterexamples_on_trees_ship_and_are_found():
    worse = fairlp.counterexample("h-drf-collapsed", "queue share guarantee")
    for mechanism, holds in (("h-drf-collapsed", False), ("h-drf", True)):
        allocation = fairlp.allocate(worse, mechanism)
        assert fairlp.audit(worse, allocation, "queue share guarantee").holds.iloc[0] is holds
    case = fairlp.counterexample(
        "h-drf-collapsed", "queue share guarantee", search=True, seed=1, servers=1
    )
    assert case.queue is not None and len(case.users) <= 3
    standing = fairlp.promises(mechanisms=["h-drf", "h-drf-collapsed"]).standing
    assert standing["h-drf", "queue share guarantee"] == "stands under its condition"
    assert standing["h-drf-collapsed", "queue share guarantee"] == "not promised"
    assert standing["h-drf", "group strategy-proof"] == "refuted"


def test_a_leaf_gains_by_claiming_what_it_does_not_need():
    """In queue q a leaf (0, 0, 1) claims (1, 0, 1), which changes its sibling's part; both outcomes in rationals."""
    instance = fairlp.counterexample("h-drf", "strategy-proof")
    lie = instance.replace(demands=[[0, 2, 1], [0, 2, 1], [1, 0, 1], [2, 1, 1]])
    lying, honest = (fairlp.allocate(case, "h-drf") for case in (lie, instance))
    assert lying.certify(exact=True) and honest.certify(exact=True)
    assert honest.totals.to_numpy() == pytest.approx([3 / 7, 3 / 7, 6 / 7, 2 / 7], rel=1e-12)
    assert lying.totals.to_numpy() == pytest.approx([4 / 9, 4 / 9, 8 / 9, 2 / 9], rel=1e-12)
    for name in ("strategy-proof", "group strategy-proof"):
        verdict = fairlp.audit(instance, honest, [name], tries=100).iloc[0]
        assert verdict.holds is False and "'C'" in verdict.witness and verdict.misreport is not None


def satisfied_queue():
    """§(a): a queue of 19 small users, of whom each has all its tasks, and one without a limit, beside one user."""
    limits = [np.inf, *[40 / 59] * 19, np.inf]
    return Instance.from_arrays([[1]] * 21, [[40]], queue=["Q1", *["Q2"] * 20], task_limits=limits)


def satisfied_leaf():
    """§(b): `b` at the root beside queue P, which has `c` and a queue of three, of whom one has all its tasks."""
    demands, limits = [[0, 1], [0, 1], [1, 0], [1, 0], [0, 1]], [np.inf, np.inf, 9, np.inf, np.inf]
    return Instance.from_arrays(
        demands, [[60, 60]], queue=["", "P", "P/A", "P/A", "P/A"], task_limits=limits
    )


@pytest.mark.parametrize(
    ("instance", "queue", "totals"),
    [(satisfied_queue(), "Q1", [13.5593220339]), (satisfied_leaf(), "", [28])],
    ids=["a queue", "a leaf"],
)
def test_with_task_limits_satisfied_leaves_cost_the_others_their_share(instance, queue, totals):
    """What a satisfied leaf has counts for nobody, so that its siblings rise as if it had nothing."""
    allocation = fairlp.allocate(instance, "h-drf")
    assert allocation.totals.to_numpy()[:1] == pytest.approx(
        totals, rel=1e-9
    ) and allocation.certify(exact=True)
    names = ["hierarchical share guarantee", "queue share guarantee"]
    assert fairlp.audit(instance, allocation, names).holds.tolist() == [False, not queue]
    free = instance.replace(task_limits=None)
    assert fairlp.audit(free, fairlp.allocate(free, "h-drf"), names).holds.all()
    assert fairlp.audit(
        instance, fairlp.allocate(instance, "h-drf-counted"), names
    ).holds.tolist() == [True, True]


def limited_tree(draw):
    """The next tree that the search draws of one server, with task limits and without guarantees and caps."""
    while True:
        case = random_instance(draw, TABLE["h-drf"], "hierarchical share guarantee", 4, 3, 3)
        if (
            np.isfinite(case.task_limits).any()
            and case.n_servers == 1
            and not case.queues.has_limits
        ):
            return case


@pytest.mark.slow
def test_random_trees_have_what_breaks_hierarchical_drf():
    """One pool, three resources with zero demands, nested queues: on such trees leaves are blocked and lies pay."""
    draw = np.random.default_rng(0)
    drawn = [random_instance(draw, TABLE["h-drf"], "strategy-proof", 4, 3, 3) for _ in range(200)]
    cases = [
        case
        for case in drawn
        if case.n_servers == 1 and len(case.resources) == 3 and (case.demands == 0).any()
    ]
    assert len(cases) > 120 and sum(np.isfinite(case.task_limits).any() for case in cases) > 40
    assert sum("a/c" in case.queue for case in cases) > 60
    case = fairlp.counterexample(
        "h-drf", "hierarchical share guarantee", search=True, generator=limited_tree
    )
    assert case is not None and np.isfinite(case.task_limits).any()
    counted = fairlp.allocate(case, "h-drf-counted")
    assert fairlp.audit(case, counted, "hierarchical share guarantee").holds.iloc[0] is True


@pytest.mark.slow
def test_with_satisfied_leaves_counted_the_search_finds_nothing_on_one_server():
    for name in ("hierarchical share guarantee", "queue share guarantee"):
        case = fairlp.counterexample(
            "h-drf-counted", name, search=True, tries=60, generator=limited_tree
        )
        assert case is None
        standing = fairlp.promises(mechanisms=["h-drf-counted"]).standing
        assert standing["h-drf-counted", name] == "stands under its condition"


APART = {
    "users": ["ann", "bob", "cid"],
    "servers": ["plain", "with gpu"],
    "resources": ["gpu", "cpu", "memory"],
}


DEMANDS = [[0, 2, 1], [0, 2, 0.5], [1, 2, 1]]


CAPACITIES = [[0, 10, 10], [10, 10, 10]]


ELIGIBLE = [["plain"], ["plain"], ["with gpu"]]


QUEUES = {
    "queue": ["lab", "lab", "lab/deep"],
    "queues": {"lab": {"weight": 3}, "lab/deep": {"weight": 2}},
}


def apart(**options):
    return Instance.from_arrays(DEMANDS, CAPACITIES, **APART, eligible=ELIGIBLE, **options)


@pytest.mark.parametrize("mechanism", ["drfh", "c-drfh", "tsf", "asset"])
def test_a_tree_of_queues_changes_nothing_for_who_does_not_look_at_it(mechanism):
    alone = fairlp.allocate(apart(), mechanism, method="lp").totals.to_dict()
    assert fairlp.allocate(
        apart(**QUEUES), mechanism, method="lp"
    ).totals.to_dict() == pytest.approx(alone)
    whole = fairlp.allocate(apart(**QUEUES), mechanism, method="lp", merge=False)
    assert whole.totals.to_dict() == pytest.approx(alone)


@pytest.mark.parametrize("tree", [{}, QUEUES])
@pytest.mark.parametrize("allocation_kind", ["drfh", "by hand"])
def test_the_bottleneck_is_the_same_resource_in_every_part(allocation_kind, tree):
    instance = apart(**tree)
    tasks = (
        fairlp.allocate(instance, "drfh")
        if allocation_kind == "drfh"
        else [[2.5, 0], [2.5, 0], [0, 5]]
    )
    verdict = fairlp.audit(instance, tasks, ["bottleneck"]).loc["bottleneck"]
    assert (
        verdict["holds"]
        and verdict["witness"] == "the totals are those of max-min fairness of 'cpu'"
    )
    other = fairlp.audit(instance, [[5 / 3, 0], [10 / 3, 0], [0, 5]], ["bottleneck"]).loc[
        "bottleneck"
    ]  # equal memory
    assert not other["holds"] and "'ann' runs 1.66667 tasks and would run 2.5" in other["witness"]


def test_a_cap_joins_what_no_server_does_in_audits_too():
    capped = Instance.from_arrays(
        [[1], [1]],
        [[10], [10]],
        eligible=[["server1"], ["server2"]],
        queue=["q", "q"],
        queues={"q": {"cap": {"resource1": 6}}},
    )
    verdict = fairlp.audit(capped, fairlp.allocate(capped, "h-drf"), ["bottleneck"]).loc[
        "bottleneck"
    ]
    assert verdict["holds"]
    uneven = fairlp.audit(capped, [[1, 0], [0, 5]], ["bottleneck"]).loc["bottleneck"]
    assert not uneven["holds"] and "'user1' runs 1 tasks and would run 3" in uneven["witness"]


def test_lies_of_a_queue_that_the_mechanism_does_not_take_do_not_pay(monkeypatch):
    instance = two(queue=["q", "q"])
    allocation = fairlp.allocate(instance, "h-drf")
    monkeypatch.setattr(AuditCase, "again", fails)
    row = fairlp.audit(instance, allocation, "group strategy-proof", tries=3).iloc[0]
    assert row["holds"] is not True and "no lie that pays was found in 3 tries" in row["witness"]


def test_no_queue_is_promised_more_than_partitions_let_its_users_have():
    """An only user may run on one of two servers: it has all that it could ever have, half the pool."""
    narrow = fairlp.Instance.from_arrays(
        [[1.0]], [[4.0], [4.0]], queue=["a/c"], eligible=[[False, True]]
    )
    pair = fairlp.Instance.from_arrays(
        [[1.0]] * 2, [[4.0], [4.0]], queue=["a", "b"], eligible=[[False, True]] * 2
    )
    for name in ("hierarchical share guarantee", "queue share guarantee"):
        assert fairlp.audit(narrow, [[0, 4]], name).holds.tolist() == [True]
        assert fairlp.audit(narrow, [[0, 3]], name).holds.tolist() == [False]
        assert fairlp.audit(pair, [[0, 2], [0, 2]], name).holds.tolist() == [False]
