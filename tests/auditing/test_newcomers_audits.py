"""Clusters in parts that have not the same resources, as dumps of schedulers are: shared and audited, queues or not."""

from __future__ import annotations

import pytest

import fairlp
from fairlp import Instance

APART = {"users": ["ann", "bob", "cid"], "servers": ["plain", "with gpu"], "resources": ["gpu", "cpu", "memory"]}
DEMANDS = [[0, 2, 1], [0, 2, 0.5], [1, 2, 1]]
CAPACITIES = [[0, 10, 10], [10, 10, 10]]
ELIGIBLE = [["plain"], ["plain"], ["with gpu"]]
QUEUES = {"queue": ["lab", "lab", "lab/deep"], "queues": {"lab": {"weight": 3}, "lab/deep": {"weight": 2}}}


def apart(**more):
    return Instance.from_arrays(DEMANDS, CAPACITIES, **APART, eligible=ELIGIBLE, **more)


@pytest.mark.parametrize("mechanism", ["drfh", "c-drfh", "tsf", "asset"])
def test_a_tree_of_queues_changes_nothing_for_who_does_not_look_at_it(mechanism):
    alone = fairlp.allocate(apart(), mechanism, method="lp").totals.to_dict()
    assert fairlp.allocate(apart(**QUEUES), mechanism, method="lp").totals.to_dict() == pytest.approx(alone)
    whole = fairlp.allocate(apart(**QUEUES), mechanism, method="lp", merge=False)
    assert whole.totals.to_dict() == pytest.approx(alone)


@pytest.mark.parametrize("tree", [{}, QUEUES])
@pytest.mark.parametrize("given", ["drfh", "by hand"])
def test_the_bottleneck_is_the_same_resource_in_every_part(given, tree):
    instance = apart(**tree)
    tasks = fairlp.allocate(instance, "drfh") if given == "drfh" else [[2.5, 0], [2.5, 0], [0, 5]]
    found = fairlp.audit(instance, tasks, ["bottleneck"]).loc["bottleneck"]
    assert found["holds"] and found["witness"] == "the totals are those of max-min fairness of 'cpu'"
    other = fairlp.audit(instance, [[5 / 3, 0], [10 / 3, 0], [0, 5]], ["bottleneck"]).loc["bottleneck"]  # equal memory
    assert not other["holds"] and "'ann' runs 1.66667 tasks and would run 2.5" in other["witness"]


def test_a_cap_joins_what_no_server_does_in_audits_too():
    capped = Instance.from_arrays(
        [[1], [1]],
        [[10], [10]],
        eligible=[["server1"], ["server2"]],
        queue=["q", "q"],
        queues={"q": {"cap": {"resource1": 6}}},
    )
    found = fairlp.audit(capped, fairlp.allocate(capped, "h-drf"), ["bottleneck"]).loc["bottleneck"]
    assert found["holds"]
    uneven = fairlp.audit(capped, [[1, 0], [0, 5]], ["bottleneck"]).loc["bottleneck"]
    assert not uneven["holds"] and "'user1' runs 1 tasks and would run 3" in uneven["witness"]
