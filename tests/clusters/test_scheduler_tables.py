"""Tables of the schedulers' own unit tests: fairlp gives the numbers that they expect.

Each number is restated from the test that an id and a docstring name; no code of theirs is here.
Where a rule of theirs differs from fairlp's on purpose, both numbers stand in the test.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import fairlp
import fairlp_clusters
from fairlp.tolerances import AGREEMENT
from fairlp_clusters.readers import pods
from kubernetes_dumps import kueue, node, pod, volcano, written
from kueue_dumps import workload
from scheduler_tables import (
    GPU,
    KUEUE_SHARES,
    VOLCANO_CAPACITY,
    VOLCANO_HDRF,
    VOLCANO_PROPORTION,
    ids,
)

# Kueue: weighted shares, and the workloads that fair sharing pre-empts.


def kueue_objects(quotas, weights, cohorts, parents):
    """Return ClusterQueues with a LocalQueue each, and cohorts."""
    items = []
    for name, flavor_quotas in quotas.items():
        kind = "Cohort" if name in cohorts else "ClusterQueue"
        entries = [
            {
                "name": flavor,
                "resources": [{"name": resource} | quota for resource, quota in rows.items()],
            }
            for flavor, rows in flavor_quotas.items()
        ]
        covered = sorted({resource for rows in flavor_quotas.values() for resource in rows})
        spec = {
            "resourceGroups": [{"coveredResources": covered, "flavors": entries}] * bool(entries)
        }
        if parents.get(name):
            spec["parentName" if kind == "Cohort" else "cohortName"] = parents[name]
        if name in weights:
            spec["fairSharing"] = {"weight": weights[name]}
        items.append(kueue(kind, name, spec))
        if kind == "ClusterQueue":
            items.append(kueue("LocalQueue", name, {"clusterQueue": name}, namespace="default"))
    return items


def admitted(flavor, resource, amount):
    """A Workload that has its quota of ``cq``, of one pod that needs one resource."""
    workload_object = workload(
        f"job-{flavor}-{resource}", "cq", ("Job", f"{flavor}-{resource}"), count=1
    )
    container = {"resources": {"requests": {resource: amount}}}
    workload_object["metadata"]["namespace"] = "default"
    workload_object["spec"]["podSets"][0]["template"]["spec"]["containers"] = [container]
    assignment = {"name": "main", "count": 1} | {
        "flavors": {resource: flavor},
        "resourceUsage": {resource: amount},
    }
    workload_object["status"] = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]}
    }
    return workload_object


@pytest.mark.parametrize("case", ids(KUEUE_SHARES))
def test_weighted_shares_of_kueue(tmp_path, case):
    """Kueue, fair_sharing_test.go: borrowed over what the parent can lend, over the weight.

    Kueue rounds thousandths up to whole ones; fairlp does not.
    """
    parents = case.parents
    if parents is None:
        parents = dict.fromkeys(case.quotas, "test-cohort")
    flavors = {flavor for rows in case.quotas.values() for flavor in rows}
    items = [
        node("n1", allocatable={"cpu": "4k", GPU: "2k"}),
        *(kueue("ResourceFlavor", flavor, {}) for flavor in sorted(flavors)),
        *kueue_objects(case.quotas, case.weights or {}, case.cohorts, parents),
        *(admitted(flavor, resource, amount) for (flavor, resource), amount in case.usage.items()),
    ]
    instance = fairlp_clusters.snapshot(written(tmp_path, *items)).instance
    tree, _ = fairlp.queues.usage_of(instance, np.zeros(instance.shape[:2]))
    columns = instance.quotas.names(instance.resources)
    in_use = np.zeros(tree.owned.shape)
    (cq,) = [v for v, path in enumerate(instance.tree.paths) if path.split("/")[-1] == "cq"]
    for (flavor, resource), amount in case.usage.items():
        of_resource = [column for column in columns if column.partition("@")[0] == resource]
        (column,) = [c for c in of_resource if repr(flavor) in c] or of_resource
        cell = cq, columns.index(column)
        in_use[cell] = pods.amount(resource, pods.quantity(amount))
    used = tree.upward(in_use)
    shares = 1000 * tree.shares(used)
    borrows = (used > tree.owned).any(axis=1)
    told = {
        str(path): math.inf if tree.is_late[v] and borrows[v] else math.ceil(shares[v])
        for v, path in enumerate(instance.tree.paths)
    }
    assert {path: told[path] for path in case.shares} == case.shares


# Volcano: hierarchical DRF, the capacity plugin, and proportion.


def pods_of(queue, count, requests, on=None):
    """Pods of a Volcano queue that run on a node, or wait."""
    digest = "-".join(requests.values()).lower()
    return [
        pod(
            f"{queue}-{on or 'waiting'}-{digest}-{k}",
            owner=("Job", f"{queue}-{digest}"),
            on=on,
            requests=requests,
            annotations={"volcano.sh/queue-name": queue},
            schedulerName="volcano",
        )
        for k in range(count)
    ]


@pytest.mark.parametrize("mechanism", [None, "h-drf"])
@pytest.mark.parametrize("case", ids(VOLCANO_HDRF))
def test_hierarchical_drf_of_volcano(tmp_path, case, mechanism):
    """Volcano, hdrf_test.go: these pods run on one node in the end, queue by queue."""
    items = [
        node("n", allocatable={"cpu": str(case.size), "memory": f"{case.size}G", "pods": "1k"})
    ]
    for name, (path, weights, cpu, memory, count) in case.queues.items():
        items.append(volcano(name, {"weight": 1}, hierarchy=path, hierarchy_weights=weights))
        amounts = {"cpu": cpu, "memory": memory}
        items += pods_of(name, count, {r: a for r, a in amounts.items() if a.strip("G") != "0"})
    snapshot = fairlp_clusters.snapshot(written(tmp_path, *items))
    fair = fairlp_clusters.fair_shares(snapshot, mechanism, by="queue")["fair_tasks"]
    tasks = {name: fair[path.removeprefix("root/")] for name, (path, *_) in case.queues.items()}
    assert tasks == pytest.approx(case.pods, rel=AGREEMENT)


@pytest.mark.parametrize("case", ids([*VOLCANO_CAPACITY, *VOLCANO_PROPORTION]))
def test_queues_with_deserved_amounts_and_capabilities(tmp_path, case):
    """Volcano, capacity_test.go and proportion_test.go: a pod starts where it is owed to its queue.

    It starts in free room, or where another queue has a whole pod more than what is fair.
    """
    items = [node(f"n{k}", allocatable=case.node) for k in (1, 2)]
    for name, (deserved, capability) in case.queues.items():
        items.append(volcano(name, {"deserved": deserved, "capability": capability}))
    counts = {}
    for queue, requests in case.running:
        k = counts[queue] = counts.get(queue, 0) + 1
        node_name = f"n{k}" if queue != "q2" or len(case.queues) == 1 else "n2"
        items += pods_of(queue, 1, requests, node_name)
    queue, requests = case.waiting
    items += pods_of(queue, 1, requests)
    snapshot = fairlp_clusters.snapshot(written(tmp_path, *items))
    users = fairlp_clusters.fair_shares(snapshot)
    waits = users[(users["waiting"] > 0)].iloc[0]
    assert (waits["owed"] >= 1) == case.starts
    if case.evicted:
        beyond = users[users["tasks"] >= users["fair_tasks"] + 1]
        assert set(beyond["queue"]) >= {case.evicted}


def test_the_guarantee_of_a_queue_goes_before_weights(tmp_path):
    """Volcano, proportion_test.go, TestGuarantee (in the fork sftfjugg/volcano): q2 runs its pod.

    Of 8 CPUs q2 is guaranteed 6, and weights are equal: 1 CPU is fair for q1 and for q3, whose pods
    need 4.
    """
    items = [node("node1", allocatable={"cpu": "8", "memory": "8k", "pods": "15"})]
    items.append(volcano("q1", {"weight": 1}))
    items.append(
        volcano("q2", {"weight": 1, "guarantee": {"resource": {"cpu": "6", "memory": "6k"}}})
    )
    items.append(volcano("q3", {"weight": 1}))
    for queue, cpu in (("q1", "4"), ("q2", "6"), ("q3", "4")):
        items += pods_of(queue, 1, {"cpu": cpu, "memory": f"{cpu}k"})
    table = fairlp_clusters.fair_shares(
        fairlp_clusters.snapshot(written(tmp_path, *items)), by="queue"
    )
    fair = {queue: table.loc[queue, "fair_tasks"] for queue in ("q1", "q2", "q3")}
    assert fair == pytest.approx({"q1": 0.25, "q2": 1, "q3": 0.25}, rel=AGREEMENT)
