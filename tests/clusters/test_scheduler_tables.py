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
from fairlp import Instance
from fairlp.models.instances.queues import lineage
from fairlp.tolerances import AGREEMENT
from kubernetes_dumps import kueue, node, pod, volcano, written
from kueue_dumps import workload
from scheduler_tables import (
    COMPUTE_FAIR_SHARES,
    GPU,
    KAI_PROPORTION,
    KUEUE_SHARES,
    MESOS_SORTER,
    VOLCANO_CAPACITY,
    VOLCANO_HDRF,
    VOLCANO_PROPORTION,
    YUNIKORN_RATIOS,
    YUNIKORN_SORTERS,
    ids,
)

# YARN: instantaneous fair shares of its fair scheduler.


@pytest.mark.parametrize("mechanism", ["h-drf", "h-drf-counted"])
@pytest.mark.parametrize("pools", ids(COMPUTE_FAIR_SHARES))
def test_fair_shares_of_pools_with_minimum_maximum_and_weight(pools, mechanism):
    """Apache Hadoop, TestComputeFairShares: a minimum is a guarantee, a maximum a cap.

    A pool has the smallest amount between both that is a common level times its weight; the totals
    are whole there, and so are they here.
    """
    resource = "vcores" if pools.name == "testCPU" else "memory"
    paths = [f"pool {k + 1}" for k in range(len(pools.weights))]
    rows = {}
    for path, minimum, maximum, weight in zip(
        paths, pools.minimum, pools.maximum, pools.weights, strict=True
    ):
        cap = {} if maximum is None else {resource: maximum}
        rows[path] = {"weight": weight, "guarantee": {resource: minimum}, "cap": cap}
    instance = Instance.from_arrays(
        [[1.0]] * len(paths),
        [[float(pools.total)]],
        users=paths,
        resources=[resource],
        queue=paths,
        queues=rows,
    )
    totals = fairlp.allocate(instance, mechanism).totals
    assert totals.tolist() == pytest.approx(list(pools.expected), rel=AGREEMENT)


# YARN: what its capacity scheduler pre-empts.


# Sorters of Mesos and YuniKorn: the client with the smallest share is served first.


def instance_of(case):
    """Return the instance of a case, and tasks: one of what a client has, none where it has nothing."""
    amounts = np.array(list(case.amounts.values()), dtype=float)
    has_any = amounts.any(axis=1)
    demands = np.where(has_any[:, None], amounts, 1.0)
    paths = list(case.amounts)
    weights = {
        path: weight
        for path, weight in (case.weights or {}).items()
        if any(client == path or client.startswith(f"{path}/") for client in paths)
    }
    instance = Instance.from_arrays(demands, [case.pool], users=paths, queue=paths, queues=weights)
    return instance, has_any[:, None].astype(float)


def served(levels, path=""):
    """Return clients below a path: at each branch those of the smaller level first, then by name."""
    depth = path.count("/") + 1 if path else 0
    prefix = path and f"{path}/"
    children = [
        below
        for below in levels
        if below and below.count("/") == depth and below.startswith(prefix)
    ]
    if not children:
        return [path]
    children.sort(key=lambda child: (levels[child], child))
    return [client for child in children for client in served(levels, child)]


@pytest.mark.parametrize("case", ids([*MESOS_SORTER, *YUNIKORN_SORTERS]))
def test_shares_over_weights_give_the_order_of_the_sorters(case):
    """Apache Mesos, DRFSorterTest and HierarchicalAllocatorTest; Apache YuniKorn, sorters_test.go.

    A share is the largest part of a resource that all below a path have, over the weight of the path.
    """
    instance, tasks = instance_of(case)
    table = fairlp_clusters.fair_shares(instance, observed=tasks, by="queue")
    levels = (table["share"] / table["weight"]).to_dict()
    for path, share in (case.shares or {}).items():
        assert levels[path] == pytest.approx(share, rel=AGREEMENT, abs=0)
    assert served(levels) == case.order.split()


@pytest.mark.parametrize("case", ids(YUNIKORN_RATIOS))
def test_ratios_of_dominant_shares(case):
    """Apache YuniKorn, resources_test.go: TestFairnessRatio and TestCompUsage."""
    instance = Instance.from_arrays([case.first, case.second], [case.pool])
    shares = fairlp_clusters.fair_shares(instance, observed=[[1], [1]])["share"].to_numpy()
    assert shares[0] / shares[1] == pytest.approx(case.ratio, rel=AGREEMENT)


def test_ratios_of_shares_of_totals_of_their_own():
    """Apache YuniKorn, TestCompUsage (each its own total): 50 of 100 is less than 10 of 10."""
    shares = []
    for amount, total in ((50.0, 100.0), (10.0, 10.0)):
        instance = Instance.from_arrays([[amount] * 3], [[total] * 3])
        shares += fairlp_clusters.fair_shares(instance, observed=[[1]])["share"].tolist()
    assert shares == [0.5, 1.0]


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
    shares = fairlp_clusters.snapshot(written(tmp_path, *items)).shares["weighted_share"]
    assert {
        path: math.ceil(share) if share < math.inf else share for path, share in shares.items()
    } == case.shares


def cpus(quota):
    return {"default": {"cpu": {"nominalQuota": str(quota)}}}


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


def departments(case, deserved_of):
    """Return the instance of a case; ``deserved_of`` gives what a queue deserves, by its path."""
    return Instance.from_arrays(
        [[1.0]] * len(case.requests),
        [[float(case.total)]],
        resources=["gpu"],
        queue=list(case.requests),
        queues={
            path: {"guarantee": {"gpu": deserved_of(path)}, "weight": weight}
            for path, (_, weight) in case.queues.items()
        },
        task_limits=list(case.requests.values()),
    )


@pytest.mark.parametrize("case", ids(KAI_PROPORTION))
def test_deserved_gpus_and_weights_beyond_them(case):
    """KAI, proportion_test.go: first what a queue deserves, then the rest in parts of its weights.

    KAI divides among departments before it divides what a department has: of a queue that deserves
    more than its department, only as much counts as its department deserves. In the last case it
    also calls 2 GPUs fair for such a queue (d2/q2), where its department has 1; here both have 1.
    """

    def within_its_department(path):
        return min(case.queues[above][0] for above in lineage(path)[1:])

    instance = departments(case, within_its_department)
    allocation = fairlp.allocate(instance, "h-drf-counted", count="borrowed")
    gpus = allocation.by_queue()["gpu"].drop("").to_dict()
    assert gpus == pytest.approx(case.expected, rel=AGREEMENT)


def test_a_queue_that_deserves_more_than_its_department_raises_it():
    """KAI gives 7 and 5 of 12 GPUs (over-quota); fairlp keeps the 2 of d2/q2: 6.5 and 5.5.

    d1 deserves 3, d2 1 and its queue 2: 12 − 3 − 2 = 7 GPUs are left, half of them for each.
    """
    (case,) = [case for case in KAI_PROPORTION if case.name.endswith("over-quota")]
    instance = departments(case, lambda path: case.queues[path][0])
    allocation = fairlp.allocate(instance, "h-drf-counted", count="borrowed")
    assert allocation.totals.tolist() == pytest.approx([6.5, 5.5], rel=AGREEMENT)
