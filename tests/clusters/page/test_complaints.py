"""What the page says of clusters that people complain of: each dump small, each answer by hand.

The dumps have the shapes of public complaints and of the schedulers' own documentation. No sentence
may accuse a scheduler falsely.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairlp_clusters
import kubernetes_dumps as kubernetes
import random_dumps
import slurm_dumps as slurm
import yarn_dumps as yarn
from cluster_truth import of_kueue
from kueue_dumps import workload
from profiles import many
from verdicts import judged, lines_of, table_of


def is_room_told(lines):
    return "room for" in " ".join(lines)


def node(name, cpus, **fields):
    return kubernetes.node(name, allocatable={"cpu": str(cpus), "pods": "1000"}, **fields)


def pods(count, on=None, cpus=1, job="job", namespace="ml", **fields):
    """Pods of one Job."""
    return [
        kubernetes.pod(
            f"{job}-{on or 'waits'}-{k}",
            namespace,
            owner=("Job", job),
            on=on,
            requests={"cpu": str(cpus)},
            **fields,
        )
        for k in range(count)
    ]


# Kueue


def queue(name, cpus, cohort="co", spec=None, **limits):
    """A ClusterQueue of CPUs, and the LocalQueue of its name."""
    quota = {"name": "cpu", "nominalQuota": str(cpus)} | limits
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [quota]}]}
    fields = {"cohort": cohort, "resourceGroups": [group]} | (spec or {})
    local = kubernetes.kueue("LocalQueue", name, {"clusterQueue": name}, namespace="ml")
    return [kubernetes.kueue("ClusterQueue", name, fields), local]


def pod_set(count, cpus=1, name="main", **fields):
    containers = [{"resources": {"requests": {"cpu": str(cpus)}}}]
    return {"name": name, "count": count, "template": {"spec": {"containers": containers}}} | fields


def waits(name, queue_name, count, cpus=1, message="", **fields):
    """A Workload that is not admitted, of so many pods of so many CPUs."""
    status = {}
    if message:
        condition = {"type": "QuotaReserved", "status": "False", "reason": "Pending"}
        status = {"conditions": [condition | {"message": message}]}
    of_pods = [pod_set(count, cpus, **fields)]
    return workload(name, queue_name, ("Job", name), status, podSets=of_pods)


def admitted(name, queue_name, count, cpus=1, kind="Job", **status):
    """A Workload that is admitted, of so many pods of so many CPUs."""
    usage = {"cpu": str(cpus * count)}
    assignment = {"name": "main", "count": count, "flavors": {"cpu": "default"}}
    admission = {
        "clusterQueue": queue_name,
        "podSetAssignments": [assignment | {"resourceUsage": usage}],
    }
    conditions = [{"type": word, "status": "True"} for word in ("QuotaReserved", "Admitted")]
    fields = {"conditions": conditions, "admission": admission} | status
    return workload(name, queue_name, (kind, name), fields, podSets=[pod_set(count, cpus)])


def kueue_lines(folder, *items):
    """The sentences of a cluster of a node of 10 CPUs and queues a and b of 5 each, beside items."""
    known = {(item["kind"], item["metadata"]["name"]) for item in items}
    queues = [
        entry
        for name in ("a", "b")
        if ("ClusterQueue", name) not in known
        for entry in queue(name, 5)
    ]
    nodes = [] if any(kind == "Node" for kind, _ in known) else [node("n0", 10)]
    return lines_of(judged(kubernetes.written(folder, *nodes, *queues, *items)))


def test_a_workload_larger_than_what_is_fair_is_owed_to_nobody(tmp_path):
    """a runs 5 of the cohort's 10, and b's only Workload has 7 pods: 5 are fair, and no job of 5 waits.

    Kueue admits a Workload as a whole (its concepts, "Workload": all pods, or none).
    """
    lines = kueue_lines(
        tmp_path, admitted("w", "a", 5), *pods(5, "n0", job="w"), waits("x", "b", 7)
    )
    assert lines[0].startswith("Fair: no queue is short of a whole job")
    assert lines[1] == (
        "co/b: 1 job of 7 tasks; the quota of cpu in co; the next needs 7 CPU at once (7 tasks)"
    )


def test_pods_beyond_the_least_number_wait_behind_those(tmp_path):
    """b's Workload starts with 3 pods at least (partial admission), and 2 fit: it has no room."""
    items = [admitted("w", "a", 8), *pods(8, "n0", job="w"), waits("x", "b", 7, minCount=3)]
    lines = kueue_lines(tmp_path, *items)
    assert lines[0].startswith("Not fair: co/b is 3 jobs with 5 tasks in all short")
    assert "room" not in lines[1]


def test_unused_nominal_quota_and_the_words_of_kueue_stand_together(tmp_path):
    """Kueue issue 9741: a Workload within the nominal quota that nobody uses is pending."""
    words = "couldn't assign flavors to pod set main: insufficient unused quota for cpu"
    lines = kueue_lines(tmp_path, *pods(5, "n0", job="free"), waits("x", "b", 5, message=words))
    assert lines[0].startswith("Fair: no queue is short")
    assert lines[1] == f"co/b: 1 job of 5 tasks; “{words}” (5 tasks); room for all on n0"


def test_borrowing_of_one_flavor_costs_no_nominal_quota_of_another(tmp_path):
    """Kueue issue 9406: GPUs of two flavors. Nominal are 5 reserved ones for a and c each.

    a runs 4 of its 5 and has 3 spot ones borrowed; c runs its 5. Both wait for one more reserved
    GPU; one is free, and it is a's by its nominal quota. Kueue starts pods with the node labels of
    the flavor that they are admitted with, so that running pods have these as their selectors.
    """
    labels = {"reserved": {"pool": "reserved"}, "spot": {"pool": "spot"}}
    flavors = [kubernetes.kueue("ResourceFlavor", k, {"nodeLabels": v}) for k, v in labels.items()]
    nodes = [node("r0", 10, labels=labels["reserved"]), node("s0", 3, labels=labels["spot"])]
    queues = []
    for name, amounts in (("a", (5, 0)), ("c", (5, 0)), ("lender", (0, 3))):
        quotas = [
            {"name": flavor, "resources": [{"name": "cpu", "nominalQuota": str(amount)}]}
            for flavor, amount in zip(labels, amounts, strict=True)
        ]
        groups = [{"coveredResources": ["cpu"], "flavors": quotas}]
        weight = {"weight": "1"}
        spec = {"cohort": "co", "resourceGroups": groups, "fairSharing": weight}
        local = kubernetes.kueue("LocalQueue", name, {"clusterQueue": name}, namespace="ml")
        queues += [kubernetes.kueue("ClusterQueue", name, spec), local]
    label = "kueue.x-k8s.io/queue-name"
    running = [
        *pods(4, "r0", job="ra", labels={label: "a"}, nodeSelector=labels["reserved"]),
        *pods(3, "s0", job="sa", labels={label: "a"}, nodeSelector=labels["spot"]),
        *pods(5, "r0", job="rc", labels={label: "c"}, nodeSelector=labels["reserved"]),
    ]
    waiting = [
        *pods(1, job="wa", labels={label: "a"}, nodeSelector=labels["reserved"]),
        *pods(1, job="wc", labels={label: "c"}, nodeSelector=labels["reserved"]),
    ]
    dump = kubernetes.written(tmp_path, *flavors, *nodes, *queues, *running, *waiting)
    lines = lines_of(judged(dump))
    assert lines[0].startswith("Fair: no queue is short")
    assert lines[1].startswith("co/a: 1 task; room for all on r0")
    assert table_of(dump).loc[["co/a", "co/c"], "owed"].tolist() == [1, 0]


def test_what_a_queue_keeps_for_itself_is_used_before_it_borrows(tmp_path):
    """b keeps its 3 CPUs (lendingLimit 0) and needs 4: 3 of its own, and 1 of the 2 that a lends."""
    items = [*queue("a", 2), *queue("b", 3, lendingLimit="0"), waits("x", "b", 2, cpus=2)]
    items += pods(1, "n0", job="outside", namespace="other")
    lines = kueue_lines(tmp_path, *items)
    assert any("room for all on n0" in line for line in lines)


def test_what_a_queue_keeps_back_is_no_room(tmp_path):
    """a runs its 5, and b lends 2 of its 5: of a's 4 tasks 2 have room, and b keeps 3 back."""
    items = [*queue("a", 5), *queue("b", 5, lendingLimit="2")]
    items += [admitted("w", "a", 5), *pods(5, "n0", job="w")]
    items += [waits(f"x{k}", "a", 1) for k in range(4)]
    lines = kueue_lines(tmp_path, *items)
    assert lines[1] == "co/a: 4 tasks; room for 2 on n0; the quota of cpu in co"


def test_a_borrowing_limit_is_the_own_one_of_the_queue(tmp_path):
    items = [*queue("a", 5, borrowingLimit="1"), *queue("b", 5)]
    items += [admitted("w", "a", 5), *pods(5, "n0", job="w")]
    items += [waits(f"x{k}", "a", 1) for k in range(4)]
    lines = kueue_lines(tmp_path, *items)
    assert lines[1].endswith("; room for 1 on n0; the borrowing limit of co/a on cpu")


@pytest.mark.parametrize("kind", ["Job", "RayCluster", "JobSet"])
def test_admitted_workloads_without_pods_hold_their_quota(tmp_path, kind):
    """a's Workload of 8 is admitted, and its pods are to be created: 2 of the cohort's 10 are left."""
    lines = kueue_lines(tmp_path, admitted("w", "a", 8, kind=kind), waits("x", "b", 5))
    assert lines[0].startswith("Not fair: co/b is 1 job of 5 tasks short")
    assert "room" not in lines[1]
    assert "; the quota of cpu in co; " in lines[1] and lines[1].endswith("; co/a (3 CPU)")


def test_pods_that_are_still_to_be_created_count_one_by_one(tmp_path):
    """Of a's Workload of 8 two pods are in the dump; of one of 5 three have ended already."""
    ended = {"reclaimablePods": [{"name": "main", "count": 3}]}
    for k, (first, running) in enumerate(
        [(admitted("w", "a", 8), 2), (admitted("w", "a", 5, **ended), 2)]
    ):
        items = [node("n0", 10), *queue("a", 5), *queue("b", 5), first]
        items += [*pods(running, "n0", job="w"), waits("x", "b", 8)]
        table = table_of(kubernetes.written(tmp_path / str(k), *items))
        assert table.loc["co/a", "tasks"] == (8, 2)[k]


def test_pods_of_what_a_workload_creates_are_in_its_queue(tmp_path):
    """A JobSet's pods are owned by Jobs of its name, and name no queue; they are one job."""
    items = [node("n0", 10), *queue("a", 5), *queue("b", 5), admitted("w", "a", 8, kind="JobSet")]
    items += [*pods(8, "n0", job="w-workers-0"), waits("x", "b", 5)]
    table = table_of(kubernetes.written(tmp_path, *items))
    assert table.loc["co/a", "tasks"] == 8


@pytest.mark.parametrize(
    ("spec", "fields", "words"),
    [
        ({"queueingStrategy": "StrictFIFO"}, {}, "order of the queue (StrictFIFO) (2 tasks)"),
        ({}, {"topologyRequest": {"required": "rack"}}, "topology request (2 tasks)"),
    ],
)
def test_what_kueue_heeds_and_the_page_does_not_qualifies_the_sentence(
    tmp_path, spec, fields, words
):
    """Kueue issue 4809: behind a first Workload of 7 that waits nothing starts in a strict queue."""
    items = [*queue("b", 5, spec=spec), admitted("v", "a", 5), *pods(5, "n0", job="v")]
    items += [waits("w", "b", 7), waits("x", "b", 2, **fields)]
    lines = kueue_lines(tmp_path, *items)
    assert lines[0].startswith("Fair: no queue is short")
    assert words in lines[1] and "1 job of 7" not in lines[0]


def test_pods_that_are_to_be_created_count_in_the_flavor_that_they_were_assigned(tmp_path):
    """a's Workload of 2 is admitted to the large flavor; the first node is of the small one."""
    flavors = [
        kubernetes.kueue("ResourceFlavor", name, {"nodeLabels": {"pool": name}})
        for name in ("small", "large")
    ]
    nodes = [node(name, 4, labels={"pool": name}) for name in ("small", "large")]
    quotas = [
        {"name": name, "resources": [{"name": "cpu", "nominalQuota": "4"}]}
        for name in ("small", "large")
    ]
    group = {"coveredResources": ["cpu"], "flavors": quotas}
    queues = queue("a", 0, spec={"resourceGroups": [group]})
    first = admitted("w", "a", 2)
    (assignment,) = first["status"]["admission"]["podSetAssignments"]
    assignment["flavors"] = {"cpu": "large"}
    items = [*flavors, *nodes, *queues, first]
    snapshot = fairlp_clusters.snapshot(kubernetes.written(tmp_path, *items))
    assert snapshot.observed.tasks.sum().to_dict() == {"small": 0, "large": 2}


def test_quota_that_an_admitted_workload_holds_for_pods_without_room_is_told(tmp_path):
    """a's Workload of 5 may only be on n1, which takes 2. Kueue leaves b 5 of 10, and not 8."""
    first = admitted("w", "a", 5)
    first["spec"]["podSets"][0]["template"]["spec"]["nodeSelector"] = {"pool": "x"}
    n1 = node("n1", 2, labels={"pool": "x"})
    lines = kueue_lines(tmp_path, node("n0", 10), n1, first, waits("x", "b", 8))
    assert lines[1] == (
        "co/b: 1 job of 8 tasks; room for all on n0; not counted: quota of admitted Workloads whose "
        "pods do not run (8 tasks)"
    )


@pytest.mark.parametrize("place", [0, 1])
def test_nothing_is_owed_to_a_queue_that_is_stopped(tmp_path, place):
    """Kueue issue 1651: a ClusterQueue, or a LocalQueue, with stopPolicy: Hold."""
    of_b = queue("b", 5)
    of_b[place]["spec"]["stopPolicy"] = "Hold"
    lines = kueue_lines(
        tmp_path, *of_b, admitted("w", "a", 8), *pods(8, "n0", job="w"), waits("x", "b", 5)
    )
    assert lines[0] == (
        "Fair: co/a is the only queue with tasks that run or could run. No task that could run waits."
    )
    kind = ("ClusterQueue", "LocalQueue")[place]
    assert lines[1] == (
        f"Not runnable yet, and owed nothing: 5 tasks ({kind} 'b' is stopped (stopPolicy: Hold): 5)."
    )


def test_a_workload_in_its_back_off_and_one_with_a_check_are_owed_nothing(tmp_path):
    requeued = {"type": "Requeued", "status": "False", "reason": "PodsReadyTimeout"}
    first = waits("x", "b", 5) | {
        "status": {
            "conditions": [requeued],
            "requeueState": {"count": 1, "requeueAt": "2026-02-03T00:10:00Z"},
        }
    }
    check = {"name": "capacity", "state": "Pending", "message": "waiting"}
    second = admitted("y", "b", 5)
    second["status"]["conditions"] = second["status"]["conditions"][:1]
    second["status"]["admissionChecks"] = [check]
    lines = kueue_lines(tmp_path, *pods(5, "n0", job="free"), first, second)
    assert lines[0].startswith("Fair: ")
    assert "it is requeued, at 2026-02-03T00:10:00Z: 5" in lines[1]
    assert "admission check capacity is Pending: 5" in lines[1]


def test_without_fair_sharing_a_queue_is_promised_its_nominal_quota_alone(tmp_path):
    """a (nominal 4) runs 8 and b (2) runs 4 of c's 6 beside; b's next task is owed by sharing alone."""
    status = {"status": {"pendingWorkloads": 1}}
    queues = []
    for name, cpus in (("a", 4), ("b", 2), ("c", 6)):
        cluster_queue, local = queue(name, cpus)
        queues += [cluster_queue | status, local]
    items = [node("n0", 12), *queues, admitted("v", "a", 8), *pods(8, "n0", job="v")]
    items += [admitted("w", "b", 4), *pods(4, "n0", job="w"), waits("x", "b", 1)]
    lines = lines_of(judged(kubernetes.written(tmp_path, *items)))
    assert lines[0].startswith("Fair: no queue is short")
    assert lines[2].startswith("Kueue's fair sharing is off (its default")
    assert lines[-1].startswith("Fair is what Kueue promises without fair sharing")


def test_who_borrows_more_than_is_fair_is_told(tmp_path):
    """c runs 12, of which 5 are its own: 7 of what b (8) and a (1 of 3) lend. b waits with 3 at once.

    In the cohort are 16, a keeps 2 and c uses 12: 2 are left.
    """
    items = [node("n0", 20), *queue("a", 3, lendingLimit="1"), *queue("b", 8), *queue("c", 5)]
    items += [admitted("w", "c", 12), *pods(12, "n0", job="w"), waits("x", "b", 1, cpus=3)]
    lines = lines_of(judged(kubernetes.written(tmp_path, *items)))
    assert lines[1].endswith("; the quota of cpu in co; co/c (1 CPU)")


def test_of_a_workload_that_is_admitted_in_part_so_many_pods_run(tmp_path):
    """10 pods were asked for and 6 admitted: no pods are invented, and no quota is lent for them."""
    first = admitted("w", "a", 6)
    first["spec"]["podSets"][0]["count"] = 10
    items = [node("n0", 10), *queue("a", 5), *queue("b", 5), first, *pods(6, "n0", job="w")]
    table = table_of(kubernetes.written(tmp_path, *items))
    assert table.loc["co/a", ["tasks", "waiting"]].tolist() == [6, 0]


def test_an_elastic_slice_needs_what_it_has_more_than_the_one_before(tmp_path):
    """a's 5 pods run, and its new slice has 7: two more wait, and not seven."""
    larger = waits("w2", "a", 7)
    key = "kueue.x-k8s.io/workload-slice-replacement-for"
    larger["metadata"]["annotations"] = {key: "ml/w"}
    items = [node("n0", 10), *queue("a", 5), *queue("b", 5), admitted("w", "a", 5), larger]
    table = table_of(kubernetes.written(tmp_path, *items, *pods(5, "n0", job="w")))
    assert table.loc["co/a", ["tasks", "waiting"]].tolist() == [5, 2]


# Volcano


def volcano_pods(queue_name, count, on=None, group="g", cpus=1):
    annotations = {"scheduling.k8s.io/group-name": group} if group else {}
    annotations["scheduling.volcano.sh/queue-name"] = queue_name
    return pods(
        count, on, cpus, f"{queue_name}-{group}", annotations=annotations, schedulerName="volcano"
    )


def pod_group(name, queue_name, least, status=None, **spec):
    fields = {"minMember": least, "queue": queue_name} | spec
    group = kubernetes.thing(
        "PodGroup", name, fields, "scheduling.volcano.sh/v1beta1", namespace="ml"
    )
    return group | {"status": status or {}}


def volcano_lines(folder, *items, cpus=8):
    return lines_of(judged(kubernetes.written(folder, node("n0", cpus), *items)))


UNSCHEDULABLE = {
    "phase": "Inqueue",
    "conditions": [
        {"type": "Unschedulable", "status": "True", "message": "2/4 tasks in gang unschedulable"}
    ],
}


@pytest.mark.parametrize("status", [None, UNSCHEDULABLE])
@pytest.mark.parametrize("count", [4, 6])
def test_a_gang_of_which_a_part_fits_has_no_room(tmp_path, status, count):
    """qa runs 6 of 8 CPUs, and qb's PodGroup of 4 or 6 pods starts with 4: 2 are free."""
    queues = [kubernetes.volcano(name, {"weight": 1}) for name in ("qa", "qb")]
    waiting = [pod_group("g", "qb", 4, status), *volcano_pods("qb", count)]
    lines = volcano_lines(tmp_path, *queues, *volcano_pods("qa", 6, "n0", ""), *waiting)
    assert lines[0].startswith("Not fair: qb is 1 job of 4 tasks short")
    assert "room" not in lines[1].lower()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"minTaskMember": {"worker": 2}}, "minTaskMember"),
        ({"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}, "network topology"),
    ],
)
def test_what_a_pod_group_asks_for_that_is_not_counted_qualifies_the_sentence(
    tmp_path, spec, words
):
    queues = [kubernetes.volcano(name, {"weight": 1}) for name in ("qa", "qb")]
    waiting = [pod_group("g", "qb", 2, **spec), *volcano_pods("qb", 2)]
    lines = volcano_lines(tmp_path, *queues, *volcano_pods("qa", 4, "n0", ""), *waiting)
    assert lines[1].endswith(f"; room for all on n0; not counted: {words} (2 tasks)")


def test_a_scheduler_without_its_reclaim_action_takes_nothing_back(tmp_path):
    text = 'actions: "enqueue, allocate, backfill"\ntiers:\n- plugins:\n  - name: proportion\n'
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    config["data"] = {"volcano-scheduler.conf": text}
    queues = [kubernetes.volcano(name, {"weight": 1}) for name in ("qa", "qb")]
    waiting = [pod_group("g", "qb", 2), *volcano_pods("qb", 2)]
    lines = volcano_lines(tmp_path, config, *queues, *volcano_pods("qa", 8, "n0", ""), *waiting)
    assert any("(its actions have no reclaim: enqueue, allocate, backfill)" in x for x in lines)


def test_nothing_is_owed_to_a_closed_queue(tmp_path):
    queues = [
        kubernetes.volcano("qa", {"weight": 1}),
        kubernetes.volcano("qb", {"weight": 1}) | {"status": {"state": "Closed"}},
    ]
    waiting = [pod_group("g", "qb", 2), *volcano_pods("qb", 2)]
    lines = volcano_lines(tmp_path, *queues, *volcano_pods("qa", 6, "n0", ""), *waiting)
    assert lines[0].startswith("Fair: ") and "Queue 'qb' is Closed: 2" in lines[1]


def test_a_pod_group_whose_pods_are_not_created_is_told(tmp_path):
    """Volcano issues 2814 and 3220: a PodGroup is Pending, and its job has no pods yet."""
    queues = [kubernetes.volcano(name, {"weight": 1}) for name in ("qa", "qb")]
    group = pod_group("g", "qb", 4, {"phase": "Pending"}, minResources={"cpu": "4"})
    lines = volcano_lines(tmp_path, *queues, *volcano_pods("qa", 6, "n0", ""), group)
    assert lines[0].startswith("Not fair: qb is 1 job of 4 tasks short")
    assert lines[1].endswith("; the next needs 4 CPU at once (4 tasks); qa (2 CPU)")


# Kubernetes alone


def namespaced(name, count, on=None, cpus=1, **fields):
    return pods(count, on, cpus, f"{name}-job", name, **fields)


TAINT = {"key": "maintenance", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    "change",
    [
        {"taints": [TAINT]},
        {"taints": [TAINT | {"effect": "NoExecute"}]},
        {"unschedulable": True},
        {"conditions": [{"type": "Ready", "status": "Unknown"}]},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
    ],
    ids=["NoSchedule", "NoExecute", "cordon", "not ready", "deletion"],
)
def test_a_node_that_was_closed_while_its_pods_run_has_room_for_nobody_new(tmp_path, change):
    """5 of n0's 8 CPUs are free, and nobody new may use them; n1 is full."""
    time = change.pop("deletionTimestamp", None)
    closed = node("n0", 8, **change)
    if time:
        closed["metadata"]["deletionTimestamp"] = time
    items = [closed, node("n1", 8), *namespaced("a", 3, "n0"), *namespaced("b", 8, "n1")]
    verdict = judged(kubernetes.written(tmp_path, *items, *namespaced("a", 4)))
    lines = lines_of(verdict)
    assert "room" not in " ".join(lines).lower()
    assert not any(waiting.fitting_jobs for waiting in verdict.waiting.values())


@pytest.mark.parametrize(
    ("effect", "tolerations"),
    [("PreferNoSchedule", []), ("NoSchedule", [{"key": "maintenance", "operator": "Exists"}])],
)
def test_a_taint_that_a_pod_bears_closes_nothing_to_it(tmp_path, effect, tolerations):
    items = [node("n0", 8, taints=[TAINT | {"effect": effect}]), node("n1", 8)]
    items += [*namespaced("a", 3, "n0"), *namespaced("b", 8, "n1")]
    waiting = namespaced("a", 4, tolerations=tolerations)
    lines = lines_of(judged(kubernetes.written(tmp_path, *items, *waiting)))
    assert lines[1] == ("a: 4 tasks; room for all on n0")


ANTI_AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
        ]
    }
}


def says(pods_that_wait, message):
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    for pod in pods_that_wait:
        pod["status"]["conditions"] = [condition]
    return pods_that_wait


def test_a_constraint_that_is_not_counted_qualifies_the_sentence_with_its_tasks(tmp_path):
    items = [node("n0", 8), node("n1", 8), *namespaced("a", 1, "n0"), *namespaced("b", 8, "n1")]
    items += namespaced("a", 4, affinity=ANTI_AFFINITY)
    lines = lines_of(judged(kubernetes.written(tmp_path, *items)))
    assert lines[1] == "a: 4 tasks; room for all on n0; not counted: pod anti-affinity (4 tasks)"


def test_pods_that_only_other_constraints_stop_are_held_in_the_words_of_the_scheduler(tmp_path):
    message = "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."
    items = [node("n0", 8), node("n1", 8), *namespaced("a", 1, "n0"), *namespaced("b", 8, "n1")]
    items += says(namespaced("a", 4, affinity=ANTI_AFFINITY), message)
    lines = lines_of(judged(kubernetes.written(tmp_path, *items)))
    assert lines[0].startswith("Fair: ")
    assert lines[1] == (
        f"Not runnable yet, and owed nothing: 4 tasks ({message.removesuffix('.')}: 4)."
    )


def test_free_cpus_in_slivers_are_no_room(tmp_path):
    """A known riddle: 4 nodes with 1 CPU free each, and a pod that needs 2.

    b's 12 are fair, on other nodes: 2 on one and 4, 3, 3 on the others. It is no matter of too much.
    """
    items = [node(f"n{k}", 4) for k in range(4)]
    items += [pod for k in range(4) for pod in namespaced("b", 3, f"n{k}")]
    message = "0/4 nodes are available: 4 Insufficient cpu."
    items += says(namespaced("a", 1, cpus=2), message)
    verdict = judged(kubernetes.written(tmp_path, *items))
    lines = lines_of(verdict)
    assert not is_room_told(lines)
    assert lines[0].startswith("Fair: no namespace is short")
    assert lines[1] == (
        f"a: 1 task; “{message}” (1 task); too little cpu is free where it could run"
    )


def test_a_node_that_takes_one_has_no_room_for_four(tmp_path):
    items = [node("n0", 2), node("n1", 9), *namespaced("b", 9, "n1"), *namespaced("b", 1, "n0")]
    lines = lines_of(judged(kubernetes.written(tmp_path, *items, *namespaced("a", 4))))
    assert lines[1] == (
        "a: 4 tasks; room for 1 on n0; too little cpu is free where it could run; b (3 CPU)"
    )


def test_a_namespace_at_its_quota_is_told_though_no_pod_waits(tmp_path):
    """The quota of 2 CPUs is in use: its controllers are refused pods, which the dump lacks."""
    quota = kubernetes.thing("ResourceQuota", "q", {"hard": {"cpu": "2"}}, namespace="a")
    items = [node("n0", 8), quota, *namespaced("a", 2, "n0"), *namespaced("b", 2, "n0")]
    lines = lines_of(judged(kubernetes.written(tmp_path, *items)))
    assert lines[0].endswith("Nothing waits that the dump shows.")
    assert lines[1] == (
        "Namespace a has all of its ResourceQuota (2 CPU) in use: pods beyond it are refused, and no "
        "pods of the dump."
    )


def test_a_pod_that_is_resized_in_place_keeps_what_its_node_has_allocated(tmp_path):
    """A resize from 6 to 2 CPUs is under way: 2 of 8 are free until it is done (KEP-1287)."""
    resized = namespaced("b", 1, "n0", 2)[0]
    status = {"name": "main", "allocatedResources": {"cpu": "6"}}
    resized["status"]["containerStatuses"] = [status]
    items = [node("n0", 8), resized, *namespaced("a", 1, cpus=3)]
    verdict = judged(kubernetes.written(tmp_path, *items))
    assert "room" not in " ".join(lines_of(verdict)).lower()


# Slurm


def slurm_lines(folder, nodes, jobs, **texts):
    folder.mkdir(exist_ok=True)
    slurm.write_dump(folder, nodes, jobs)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return lines_of(judged(folder))


def slurm_job(number, user, cpus, nodes="", count=1, **fields):
    """A job on so many nodes, with so many CPUs on each."""
    tres = f"cpu={cpus * count},node={count},billing={cpus * count}"
    fields = {"node_count": slurm.wrapped(count)} | fields
    return slurm.job(number, user, "lab", tres, nodes, **fields)


FOUR = [slurm.node(f"n{k}", cpus=4) for k in range(4)]


def test_a_job_of_seven_nodes_has_no_room_on_five(tmp_path):
    nodes = [slurm.node(f"n{k}", cpus=4) for k in range(10)]
    jobs = [slurm_job(k, "bob", 4, f"n{k}") for k in range(5)]
    jobs.append(slurm_job(50, "ann", 4, count=7, state_reason="Resources"))
    lines = slurm_lines(tmp_path, nodes, jobs)
    assert lines[0].startswith("Fair: no user is short of a whole job")
    assert lines[1] == (
        "lab/ann: 1 job of 7 tasks; “Resources” (7 tasks); too little cpu is free where it could "
        "run; the next needs 7 nodes at once (28 CPU)"
    )


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (
            "None",
            "lab/ann: 1 task; room for all on n1",
        ),
        (
            "Resources",
            "lab/ann: 1 task; “Resources” (1 task); room for all on n1",
        ),
    ],
)
def test_a_job_that_waits_beside_idle_nodes_has_the_reason_of_slurm(tmp_path, reason, sentence):
    jobs = [slurm_job(1, "bob", 4, "n0"), slurm_job(2, "ann", 4, state_reason=reason)]
    lines = slurm_lines(tmp_path, FOUR, jobs)
    assert lines[:2] == [
        "Fair: no user is short of a whole task of its fair share. Tasks that wait: 1.",
        sentence,
    ]


@pytest.mark.parametrize(
    "reason",
    ["Dependency", "JobHeldUser", "AssocGrpCpuLimit", "QOSMaxCpuPerUserLimit", "BeginTime"],
)
def test_what_slurm_holds_is_owed_nothing(tmp_path, reason):
    jobs = [slurm_job(1, "bob", 4, "n0"), slurm_job(2, "ann", 4, state_reason=reason)]
    lines = slurm_lines(tmp_path, FOUR, jobs)
    assert lines[0].startswith("Fair: lab/bob is the only user with tasks that run or could run.")
    assert lines[1] == f"Not runnable yet, and owed nothing: 1 task ({reason}: 1)."


@pytest.mark.parametrize(
    ("state", "has_room"),
    [(["IDLE"], True), (["IDLE", "DRAIN"], False), (["IDLE", "COMPLETING"], False)],
)
def test_nodes_that_take_no_jobs_have_no_room(tmp_path, state, has_room):
    """A COMPLETING node is its last job's until the epilog is done (slurm.conf, CompleteWait)."""
    nodes = [slurm.node("n0", cpus=4), slurm.node("n1", cpus=4, state=state)]
    jobs = [slurm_job(1, "bob", 4, "n0"), slurm_job(2, "ann", 4)]
    lines = slurm_lines(tmp_path, nodes, jobs)
    assert is_room_told(lines) == has_room


def test_what_waits_for_nodes_that_sleep_starts_and_nobody_is_accused(tmp_path):
    asleep = {"cpus": 4, "state": ["IDLE", "POWERED_DOWN"]}
    nodes = [slurm.node("n0", cpus=4), slurm.node("n1", **asleep), slurm.node("n2", **asleep)]
    jobs = [slurm_job(1, "bob", 4, "n0"), slurm_job(2, "ann", 4), slurm_job(3, "ann", 4)]
    lines = slurm_lines(tmp_path, nodes, jobs)
    assert lines[:3] == [
        "Fair: no user is short of a whole task of its fair share. Tasks that wait: 2.",
        "lab/ann: 2 tasks; room for all on n1 (1, asleep), n2 (1, asleep)",
        "Starting on 2 servers that sleep now, and wake when jobs need them: 2 tasks of the fair "
        "shares.",
    ]


def test_of_jobs_of_two_sizes_one_has_room(tmp_path):
    """4 of 12 CPUs are free. ann is short of jobs of 3 and 2: each alone has room, and not both."""
    jobs = [slurm_job(1, "bob", 8, "n0"), slurm_job(2, "ann", 3), slurm_job(3, "ann", 2)]
    row = table_of(slurm.write_dump(tmp_path, [slurm.node("n0", cpus=12)], jobs)).loc["lab/ann"]
    assert row[["room_jobs", "room_on"]].tolist() == [1, "n0"]
    assert row["stopped_by"] == "too little cpu is free where it could run"


def test_licences_hold_jobs_and_are_told(tmp_path):
    jobs = [
        slurm_job(1, "bob", 4, "n0", licenses="matlab:1"),
        slurm_job(2, "ann", 4, licenses="matlab:1", state_reason="Licenses"),
    ]
    licence = {"LicenseName": "matlab", "Total": 1, "Used": 1, "Free": 0}
    lines = slurm_lines(tmp_path, FOUR, jobs, licenses=json.dumps({"licenses": [licence]}))
    assert lines[0].startswith("Fair: ")
    assert lines[1:3] == [
        "Not runnable yet, and owed nothing: 1 task (licence matlab: needs 1, 0 of 1 free: 1).",
        "Licence matlab is used up (1 of 1).",
    ]


def test_free_memory_of_another_node_is_no_room(tmp_path):
    """Idle CPUs, and no memory beside them: n0 has 7 CPUs and no memory, n1 as many and 2 GiB."""
    nodes = [slurm.node(f"n{k}", cpus=8, real_memory=8192) for k in range(2)]
    tres = "cpu=1,mem={},node=1,billing=1"
    jobs = [
        slurm.job(1, "bob", "lab", tres.format("8G"), "n0"),
        slurm.job(2, "bob", "lab", tres.format("6G"), "n1"),
        slurm.job(3, "ann", "lab", tres.format("4G"), "", state_reason="Resources"),
    ]
    assert not is_room_told(slurm_lines(tmp_path, nodes, jobs))


# YARN


def yarn_lines(folder, nodes, apps, queues):
    """The sentences of a dump of the resource manager with the capacity scheduler."""
    folder.mkdir(exist_ok=True)
    scheduler = yarn.CAPACITY | {"queues": {"queue": queues}}
    documents = {
        "nodes": {"nodes": {"node": nodes}},
        "apps": {"apps": {"app": apps}},
        "scheduler": {"scheduler": {"schedulerInfo": scheduler}},
    }
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return lines_of(judged(folder))


def leaf(name, capacity, **fields):
    defaults = {
        "type": "capacitySchedulerLeafQueueInfo",
        "queueName": name,
        "capacity": capacity,
        "maxCapacity": 100.0,
        "absoluteCapacity": capacity,
        "absoluteMaxCapacity": 100.0,
    }
    return defaults | fields


def test_the_limit_of_a_user_stops_it_though_the_cluster_is_half_free(tmp_path):
    """userLimitFactor is 1 by default: ann has all of her queue's half, and b's half is idle."""
    nodes = [yarn.node("n1", (8192, 8), (8192, 8))]
    apps = [
        yarn.app(1, "a", "ann", (8192, 8), 8, resourceRequests=[yarn.asks(8)]),
        yarn.app(2, "b", "bob", (0, 0), 0),
    ]
    lines = yarn_lines(tmp_path, nodes, apps, [leaf("a", 50.0), leaf("b", 50.0)])
    assert lines[0].startswith("Fair: ") and not is_room_told(lines)
    assert lines[1] == ("a/ann: 8 tasks; the user limit of a/ann on memory")


def test_a_container_of_six_gigabytes_has_no_room_on_nodes_with_four(tmp_path):
    nodes = [yarn.node(f"n{k}", (4096, 4), (4096, 4)) for k in range(3)]
    apps = [
        yarn.app(1, "a", "ann", (12288, 12), 12),
        yarn.app(2, "b", "bob", (0, 0), 0, resourceRequests=[yarn.asks(1, 6144)]),
    ]
    lines = yarn_lines(tmp_path, nodes, apps, [leaf("a", 50.0), leaf("b", 50.0)])
    assert not is_room_told(lines)


# Random clusters of Kueue with flavors, selectors, taints and jobs of two pod sets


@pytest.mark.parametrize("seed", range(many(80)))
def test_room_in_random_clusters_with_kueue_is_that_of_a_program(seed, tmp_path):
    """No room is told that is not there, and none is denied where a job alone has it."""
    items = random_dumps.kueue(np.random.default_rng([1, seed]))
    verdict = judged(kubernetes.written(tmp_path, *items))
    truth = of_kueue(items)
    for t, waiting in verdict.waiting.items():
        tenant = str(verdict.dues.facts.tenants.names[t]).rpartition("/")[2]
        most_jobs = truth.largest(tenant)
        assert waiting.fitting_jobs <= most_jobs
        assert sum(waiting.servers.values()) == waiting.fitting_tasks
        assert (waiting.fitting_jobs > 0) == (most_jobs > 0)
        assert truth.largest(tenant, exactly=(waiting.fitting_jobs, waiting.fitting_tasks))
