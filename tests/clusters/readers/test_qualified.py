"""What a dump says that no comparison counts: it stands beside the jobs, and nobody is accused."""

from __future__ import annotations

import pytest

import slurm_dumps as slurm
from dump_files import read
from fairlp_clusters.readers import pods
from kubernetes_dumps import flavors, kueue, node, pod, thing, volcano
from kueue_dumps import LABEL, workload

STRICT = "order of the queue (StrictFIFO)"
TOPOLOGY = "topology request"
GATE = [{"name": pods.QUOTA_GATE}]


def queue(name, **spec):
    """A ClusterQueue of 8 CPUs in cohort co, and the LocalQueue of its name."""
    spec = {
        "cohort": "co",
        "resourceGroups": flavors(("cpu", 8, {}), ("memory", "64Gi", {})),
    } | spec
    local = kueue("LocalQueue", name, {"clusterQueue": name}, namespace="ml")
    return [kueue("ClusterQueue", name, spec), local]


def waits(name, queue_name="a", status=None, kind="Job", since="2026-01-01T00:00:00Z", **spec):
    item = workload(name, queue_name, (kind, name), status or {}, count=1, **spec)
    item["metadata"]["creationTimestamp"] = since
    return item


def admitted(name, queue_name="a", kind="Job", count=1, **fields):
    admission = {
        "clusterQueue": queue_name,
        "podSetAssignments": [{"name": "main", "count": count}],
    }
    conditions = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
    status = {"admission": admission, "conditions": conditions}
    return workload(name, queue_name, (kind, name), status, count, **fields)


def left_out(dump, column="job"):
    """What stands beside the jobs that wait, by job or user."""
    table = dump.waiting_jobs
    return dict(zip(table[column], table["left_out"], strict=True))


def stranded(name="stuck", **fields):
    """A pod of a Job that waits, for which no node has room."""
    message = "0/1 nodes are available: 1 Insufficient cpu."
    item = pod(name, owner=("Job", name), requests={"cpu": "1", "memory": "2Gi"}, **fields)
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    return item | {"status": {"phase": "Pending", "conditions": [condition]}}


def order_of(folder, *items):
    """Whether each user that waits in the strict queue a is behind another."""
    dump = read(folder, node("n1"), *queue("a", queueingStrategy="StrictFIFO"), *items)
    return {user.partition("/")[2]: STRICT in text for user, text in left_out(dump, "user").items()}


LATER = "2026-01-01T01:00:00Z"
EVICTED = [
    {"type": "Evicted", "status": "True", "reason": "PodsReadyTimeout", "lastTransitionTime": LATER}
]
AGAIN = [{"type": "Requeued", "status": "False", "message": "backoff"}]


@pytest.mark.parametrize(
    ("first", "behind"),
    [
        ({}, {"x": False, "y": True}),
        ({"since": LATER}, {"x": True, "y": False}),
        ({"since": LATER, "priority": 5}, {"x": False, "y": True}),
        ({"status": {"conditions": EVICTED}}, {"x": True, "y": False}),
        ({"active": False}, {"y": False}),
        ({"status": {"conditions": AGAIN}}, {"y": False}),
    ],
    ids=["as created", "later", "higher priority", "evicted", "not active", "requeued"],
)
def test_the_first_of_a_strict_queue_is_behind_nobody(tmp_path, first, behind):
    second = waits("y", since="2026-01-01T00:30:00Z")
    assert order_of(tmp_path, second, waits("x", **first)) == behind


def test_pods_have_their_turn_in_a_strict_queue_with_and_without_workloads(tmp_path):
    requests = {"cpu": "1", "memory": "2Gi"}
    items = [
        pod(
            name,
            owner=None,
            labels={LABEL: "a"},
            schedulingGates=GATE,
            requests=requests,
            since=since,
        )
        for name, since in (("p", LATER), ("q", "2026-01-01T00:30:00Z"))
    ]
    assert order_of(tmp_path / "pods", *items) == {"p": True, "q": False}
    of_pods = [waits(f"pod-{name}", kind="Pod") for name in "pq"]
    for item, name in zip(of_pods, "pq", strict=True):
        item["metadata"]["ownerReferences"][0]["name"] = name
    of_pods[1]["spec"]["priority"] = -1
    assert order_of(tmp_path / "with", *items, *of_pods) == {"p": False, "q": True}
    first = waits("x")
    assert order_of(tmp_path / "behind", *items, first) == {"p": True, "q": True, "x": False}


@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_quota_of_pods_that_fit_nowhere_is_named_by_all_who_wait_in_the_cohort(tmp_path, kind):
    """Kueue issue 5243: stuck is admitted and fits on no node; b's jobs wait for its quota."""
    stuck = stranded(labels={LABEL: "a"}) | {}
    stuck["metadata"]["ownerReferences"] = (
        [] if kind == "Pod" else [{"kind": "Job", "name": "stuck"}]
    )
    gated = pod("g", owner=None, labels={LABEL: "b"}, schedulingGates=GATE, requests={"cpu": "1"})
    items = [node("n1"), *queue("a"), *queue("b"), *queue("c", cohort="other")]
    items += [stuck, admitted("stuck", kind=kind), waits("w", "b"), waits("v", "c"), gated]
    beside = left_out(read(tmp_path, *items), "user")
    assert beside == {"ml/stuck": "", "ml/w": pods.HELD_QUOTA, "ml/v": "", "ml/g": pods.HELD_QUOTA}


@pytest.mark.parametrize(
    "where", ["required", "preferred", "unconstrained", "flavor", "annotation"]
)
def test_a_topology_is_named(tmp_path, where):
    """Kueue issue 10815: quota suffices, and the nodes of no topology domain do."""
    template = {"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}
    pod_set = {"name": "main", "count": 1, "template": template}
    items = [node("n1"), *queue("a")]
    if where == "flavor":
        items.append(kueue("ResourceFlavor", "default", {"topologyName": "racks"}))
    elif where != "annotation":
        pod_set["topologyRequest"] = {where: "rack"}
    annotations = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    asks = pod("p", owner=None, labels={LABEL: "a"}, schedulingGates=GATE, annotations=annotations)
    items.append(asks if where == "annotation" else waits("w", podSets=[pod_set]))
    assert list(left_out(read(tmp_path, *items), "user").values()) == [TOPOLOGY]


def ray(*submitters):
    """A RayJob of a head, a worker and a submitter is admitted; these pods of it are there."""
    requests = {"cpu": "1", "memory": "2Gi"}
    pod_sets = [
        {"name": name, "count": 1, "template": {"spec": {"containers": [{"resources": {"requests": requests}}]}}}
        for name in ("head", "workers", "submitter")
    ]  # fmt: skip
    cluster = [
        pod(f"r{k}", owner=("RayCluster", "ray-raycluster-x1"), on="n1", requests=requests)
        for k in range(2)
    ]
    job = admitted("w", kind="RayJob", podSets=pod_sets)
    job["metadata"]["ownerReferences"][0]["name"] = "ray"
    of_job = [
        pod(name, owner=("Job", "ray"), requests=requests, **fields) for name, fields in submitters
    ]
    return [node("n1"), *queue("a"), job, *cluster, *of_job]


@pytest.mark.parametrize("submitters", [[], [("s", {"on": "n1"})]], ids=["to come", "runs"])
def test_the_submitter_of_a_rayjob_is_one_pod(tmp_path, submitters):
    dump = read(tmp_path, *ray(*submitters))
    assert dump.observed.tasks_array.sum() == 3 and set(dump.tenants) == {"co/a"}


def test_a_deployment_with_the_name_of_a_rayjob_is_none_of_its_pods(tmp_path):
    dump = read(tmp_path, *ray(), pod("web", owner=("DaemonSet", "ray-logs"), on="n1"))
    assert sorted(set(dump.tenants)) == ["(no queue)/ml", "co/a"]
    assert dump.observed.tasks_array.sum() == 4


POOL = {"karpenter.sh/nodepool": "gpu"}


def pool(limits, **spec):
    template = {"metadata": {"labels": {"tier": "fast"}}, "spec": spec}
    return thing("NodePool", "gpu", {"limits": limits, "template": template}, "karpenter.sh/v1")


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (pool({"cpu": "8"}), "nodes that NodePool gpu may add within its limits"),
        (pool({}), "nodes that NodePool gpu may add within its limits"),
        (pool({"cpu": "8"}, taints=[{"key": "k", "effect": "NoSchedule"}]), ""),
    ],
    ids=["limit", "no limit", "taint"],
)
def test_pools_of_karpenter_are_named(tmp_path, item, words):
    dump = read(tmp_path, node("n1", POOL), pod("r", on="n1"), stranded(), item)
    assert left_out(dump, "user") == {"ml/stuck": words}
    elsewhere = stranded(nodeSelector={"tier": "slow"})
    slow = node("n2", {"tier": "slow"})
    dump = read(tmp_path, node("n1", POOL), slow, pod("r", on="n1"), elsewhere, item)
    assert left_out(dump, "user") == {"ml/stuck": ""}


@pytest.mark.parametrize(
    ("labels", "resource", "words"),
    [
        ({"nvidia.com/gpu.sharing-strategy": "time-slicing"}, "nvidia.com/gpu", pods.SLICES),
        ({"nvidia.com/gpu.replicas": "4"}, "nvidia.com/gpu", pods.SLICES),
        ({}, "nvidia.com/gpu.shared", pods.SLICES),
        ({"nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/gpu.replicas": "1"}, "nvidia.com/gpu", ""),
    ],
)  # fmt: skip
def test_slices_of_gpus_are_named_by_those_who_ask_for_them(tmp_path, labels, resource, words):
    nodes = [node("n1", labels, allocatable={resource: "4"})]
    nodes += [node("n2", {"whole": "yes"}, allocatable={resource: "4"})]
    asks = [pod(f"w{k}", owner=("Job", f"w{k}"), requests={resource: "1"}) for k in range(2)]
    if resource == "nvidia.com/gpu":
        asks[1]["spec"]["nodeSelector"] = {"whole": "yes"}
        expected = {"ml/w0": words, "ml/w1": "", "ml/web": ""}
    else:
        expected = {"ml/w0": words, "ml/w1": words, "ml/web": ""}
    assert left_out(read(tmp_path, *nodes, *asks, pod("c")), "user") == expected


@pytest.mark.parametrize("part", ["shard", "mps"])
def test_parts_of_gpus_beside_gpus_are_named_by_those_who_ask_for_either(tmp_path, part):
    nodes = [
        slurm.node("n1", gres=f"gpu:a100:2,{part}:8"),
        slurm.node("n2", gres="gpu:2", features=["x"]),
    ]
    tres = "cpu=1,mem=1G,node=1"
    jobs = [
        slurm.job(1, "a", tres=f"{tres},gres/gpu=1", nodes=""),
        slurm.job(2, "b", tres=f"{tres},gres/{part}=1", nodes=""),
        slurm.job(3, "c", tres=f"{tres},gres/gpu:a100=1", nodes=""),
        slurm.job(4, "d", tres=tres, nodes=""),
        slurm.job(5, "e", tres=f"{tres},gres/gpu=1", nodes="", features="x"),
    ]
    beside = left_out(slurm.read_dump(tmp_path, nodes, jobs), "user")
    assert [bool(text) for text in beside.values()] == [True, True, True, False, False]
    assert set(beside.values()) == {pods.SHARDS, ""}


def test_a_node_that_the_scheduler_has_chosen_is_named(tmp_path):
    chosen = stranded()
    chosen["status"]["nominatedNodeName"] = "n9"
    dump = read(tmp_path, node("n1"), pod("r", on="n1"), chosen)
    assert left_out(dump, "user") == {"ml/stuck": pods.NOMINATED}


def test_all_that_no_words_decide_is_listed():
    words = {pods.HELD_QUOTA, pods.POOL_MAY_ADD, pods.SLICES, pods.SHARDS}
    assert words | {pods.GOING_NODES} < set(pods.NEVER_DECIDED)


@pytest.mark.parametrize("status", [{}, {"phase": "Pending"}, {"phase": "Inqueue"}])
@pytest.mark.parametrize(("cpu", "words"), [("6", ""), ("8", "pods of different sizes")])
def test_a_podgroup_without_pods_waits_as_a_job(tmp_path, status, cpu, words):
    """A pod of it that is being deleted is none of those that it waits for."""
    spec = {"minMember": 3, "minResources": {"cpu": cpu}, "queue": "q"}
    group = thing("PodGroup", "g", spec, "scheduling.volcano.sh/v1beta1", "ml") | {"status": status}
    name = {"scheduling.k8s.io/group-name": "g"}
    ends = pod("g-0", on="n1", annotations=name, schedulerName="volcano")
    ends["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    dump = read(tmp_path, node("n1"), volcano("q", {}), group, ends)
    jobs = dump.waiting_jobs
    assert jobs[["job", "tasks", "left_out"]].to_numpy().tolist() == [["PodGroup ml/g", 3, words]]
    assert dump.instance.demands[:, 0].tolist() == [pytest.approx(int(cpu) * 1000 / 3)]


def test_a_nominated_pod_of_a_gang_is_one_of_those_that_it_needs(tmp_path):
    spec = {"minMember": 2, "queue": "q"}
    group = thing("PodGroup", "g", spec, "scheduling.volcano.sh/v1beta1", "ml")
    name = {"scheduling.k8s.io/group-name": "g"}
    members = [pod(f"g-{k}", annotations=name, schedulerName="volcano") for k in range(2)]
    members[0]["status"]["nominatedNodeName"] = "n1"
    dump = read(tmp_path, node("n1"), volcano("q", {}), group, *members)
    assert dump.held.empty and dump.observed.totals.sum() == 1
    assert dump.waiting["tasks"].tolist() == [1]


@pytest.mark.parametrize("prefix", ["ml/", ""])
def test_a_new_slice_of_a_workload_waits_with_what_it_needs_more(tmp_path, prefix):
    annotation = {"kueue.x-k8s.io/workload-slice-replacement-for": f"{prefix}old"}
    new = workload("new", "a", ("Job", "new"), count=5)
    new["metadata"]["annotations"] = annotation
    dump = read(tmp_path, node("n1"), *queue("a"), admitted("old", count=3), new)
    assert dump.observed.totals.sum() == 3
    assert dump.waiting_jobs[["job", "tasks"]].to_numpy().tolist() == [["Workload ml/new", 2]]
