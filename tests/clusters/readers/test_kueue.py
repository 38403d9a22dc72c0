"""Dumps of Kueue: quotas by flavor, what is fair by default, weighted shares, and what is told."""

from __future__ import annotations

import pytest

import fairlp
import fairlp_clusters
from kubernetes_dumps import kueue, node, pod, said, written

LABEL = "kueue.x-k8s.io/queue-name"


_CPU = {"cpu": "1"}


def group(flavors, covered=("cpu",)):
    """A resource group: flavor → resource → fields of its quota."""
    flavor_entries = [
        {"name": flavor, "resources": [{"name": name} | quota for name, quota in resources.items()]}
        for flavor, resources in flavors.items()
    ]
    return {"coveredResources": list(covered), "flavors": flavor_entries}


def nominal(amount, **limits):
    return {"nominalQuota": str(amount)} | {
        f"{kind}Limit": str(value) for kind, value in limits.items()
    }


def queue(name, groups, cohort="all", weight=None, weighted_share=None, **spec):
    """A ClusterQueue and the LocalQueue of its name."""
    spec |= {"cohort": cohort, "resourceGroups": groups} | (
        {"fairSharing": {"weight": weight}} if weight else {}
    )
    cluster_queue = kueue("ClusterQueue", name, spec)
    cluster_queue["status"] = (
        {} if weighted_share is None else {"fairSharing": {"weightedShare": weighted_share}}
    )
    return [cluster_queue, kueue("LocalQueue", name, {"clusterQueue": name}, namespace="ml")]


def running(queue, count, nodes, start=0, requests=None, **spec):
    """Pods of a job of one core each, one after the other on these nodes."""
    return [
        pod(f"{queue}-{k + start}", owner=("Job", queue), on=nodes[k % len(nodes)], requests=requests or _CPU,
            labels={LABEL: queue}, **spec)
        for k in range(count)
    ]  # fmt: skip


def workload(name, queue, count, status=None, requests=None, least=1, **spec):
    """A Workload of a job of the same name, which may start with its first pods (``least``)."""
    template = {"spec": {"containers": [{"resources": {"requests": requests or _CPU}}]} | spec}
    sets = [{"name": "main", "count": count, "minCount": least, "template": template}]
    workload_object = kueue(
        "Workload", f"job-{name}", {"queueName": queue, "podSets": sets}, namespace="ml"
    )
    workload_object["metadata"]["ownerReferences"] = [
        {"kind": "Job", "name": name, "controller": True}
    ]
    return workload_object | {"status": status or {}}


def admitted(queue, count, flavor="default"):
    """The status of a Workload that has its quota, of one core for each pod."""
    assignment = {
        "name": "main",
        "count": count,
        "flavors": {"cpu": flavor},
        "resourceUsage": {"cpu": str(count)},
    }
    return {"admission": {"clusterQueue": queue, "podSetAssignments": [assignment]}}


def fair(cluster):
    """Tasks that are fair, by queue, under the rule that the report takes by itself."""
    table = fairlp_clusters.fair_shares(cluster, by="queue")
    return table["fair_tasks"].to_dict()


def test_what_is_lent_is_fair_by_weight(tmp_path):
    """A lends 6 of its 20 cores; B and C, of weights 1 and 2, borrow 2 and 4."""
    quotas = {"A": (20, 1), "B": (10, 1), "C": (10, 2)}
    items = [node(f"n{k}") for k in range(5)]
    for name, (cores, weight) in quotas.items():
        items += queue(name, [group({"default": {"cpu": nominal(cores)}})], weight=weight)
        items += [workload(name, name, 14 if name == "A" else 40)]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    assert [fair(cluster)[f"all/{name}"] for name in "ABC"] == pytest.approx([14, 12, 14], rel=1e-9)


FLAVORS = [
    kueue("ResourceFlavor", "plain", {"nodeLabels": {"pool": "plain"}}),
    kueue("ResourceFlavor", "spot", {
        "nodeLabels": {"pool": "spot"}, "nodeTaints": [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]}),
]  # fmt: skip


_TAINTED = {"taints": [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]}


_BEARS = [{"key": "spot", "operator": "Exists"}]


def test_quotas_are_by_flavor_and_flavors_by_labels_and_taints(tmp_path):
    """Each flavor's quota counts on its own nodes; only who bears the taint may use spot nodes."""
    groups = [group({"plain": {"cpu": nominal(4)}, "spot": {"cpu": nominal(6)}})]
    items = [
        node("p1", {"pool": "plain"}),
        node("s1", {"pool": "spot"}, **_TAINTED),
        node("other"),
        *FLAVORS,
    ]
    items += queue("A", groups) + queue("B", [group({"plain": {"cpu": nominal(2)}})])
    items += [workload("A", "A", 20, tolerations=_BEARS), workload("B", "B", 20)]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    tasks = fairlp.allocate(cluster.instance, "kueue")
    assert tasks.totals.tolist() == pytest.approx([10, 2], rel=1e-9)
    assert tasks.tasks.loc["ml/A"].to_dict() == pytest.approx(
        {"p1": 4, "s1": 6, "other": 0}, abs=1e-8
    )
    assert tasks.tasks.loc["ml/B"].to_dict() == pytest.approx(
        {"p1": 2, "s1": 0, "other": 0}, abs=1e-8
    )
    cluster.instance.write(tmp_path / "out.json")
    assert fairlp.read(tmp_path / "out.json").equals(cluster.instance)


def test_a_flavor_whose_label_no_node_has_has_no_nodes(tmp_path):
    flavor = kueue("ResourceFlavor", "gone", {"nodeLabels": {"pool": "nowhere", "zone": "x"}})
    items = [
        node("n1"),
        flavor,
        *queue("A", [group({"gone": {"cpu": nominal(5)}})]),
        workload("A", "A", 3),
    ]
    items += [*queue("B", [group({"default": {"cpu": nominal(3)}})]), workload("B", "B", 9)]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    assert fair(cluster)["all/A"] == 0 and fair(cluster)["all/B"] == pytest.approx(3, rel=1e-9)


@pytest.mark.parametrize(
    "pods", [{"count": 1, "requests": {"cpu": "10"}}, {"count": 10, "least": 10}]
)
def test_a_workload_above_all_that_its_cohort_has_keeps_no_quota_from_others(tmp_path, pods):
    """Quotas 3, 1 and 4; a waits with 10 CPUs at once, of 8: the 3 that b and c lack of 8 are lent by halves."""
    items = [node("n0"), node("n1")]
    for name, cores in (("a", 3), ("b", 1), ("c", 4)):
        items += queue(name, [group({"default": {"cpu": nominal(cores)}})])
    items += [workload("a", "a", **pods), workload("b", "b", 8), workload("c", "c", 8)]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    assert [fair(cluster)[f"all/{name}"] for name in "abc"] == pytest.approx([0, 2.5, 5.5])
    assert cluster.held[["user", "tasks", "reason"]].to_numpy().tolist() == [
        [
            "ml/a",
            pods["count"],
            "10 CPU at once, more than the 8 CPU that ClusterQueue 'a' can ever have",
        ]
    ]


@pytest.mark.parametrize(
    ("largest", "limits"),
    [
        (10, {}),  # 4 + 4 of its own cohort, and 2 of the other
        (9, {"a": {"borrowing": 5}}),
        (8, {"lab": {"borrowing": 0}}),
        (5, {"a": {"borrowing": 1}, "lab": {"borrowing": 0}}),
    ],
)
def test_what_a_queue_can_have_at_most_follows_limits_of_borrowing(tmp_path, largest, limits):
    """a and b with 4 CPUs each in the cohort lab, beside rest with 2, below org."""

    def of(name, cores):
        return [group({"default": {"cpu": nominal(cores, **limits.get(name, {}))}})]

    lab = {"parent": "org", "resourceGroups": of("lab", 0)}
    items = [node("n0"), node("n1"), kueue("Cohort", "lab", lab)]
    items += queue("a", of("a", 4), cohort="lab") + queue("b", of("b", 4), cohort="lab")
    items += queue("rest", of("rest", 2), cohort="org")
    items += [
        workload("fits", "a", largest, least=largest),
        workload("not", "a", largest + 1, least=largest + 1),
    ]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    assert cluster.waiting["user"].tolist() == ["ml/fits"]
    assert cluster.held["reason"].tolist() == [
        f"{largest + 1} CPU at once, more than the {largest} CPU that ClusterQueue 'a' can ever have"
    ]


def test_a_pod_above_all_quotas_is_held(tmp_path):
    """A pod of 5 CPUs in a queue of 4, which Kueue holds by no gate in this dump."""
    items = [node("n0"), *queue("a", [group({"default": {"cpu": nominal(4)}})])]
    labels = {LABEL: "a"}
    items += [pod("big", owner=("Job", "big"), requests={"cpu": "5"}, labels=labels)]
    items += [pod("small", owner=("Job", "small"), requests={"cpu": "4"}, labels=labels)]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    assert cluster.waiting["user"].tolist() == ["ml/small"]
    assert cluster.held["user"].tolist() == ["ml/big"]


def test_lending_limits_and_lone_queues(tmp_path):
    """A keeps 15 of its 20 cores for itself; the queue without a cohort lends nothing."""
    items = [node(f"n{k}") for k in range(5)]
    items += queue("A", [group({"default": {"cpu": nominal(20, lending=5)}})])
    items += [*queue("B", [group({"default": {"cpu": nominal(5)}})]), workload("B", "B", 40)]
    items += queue("lone", [group({"default": {"cpu": nominal(15)}})], cohort="")
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items, *running("B", 10, ["n0", "n1"])))
    assert fair(cluster)["all/B"] == pytest.approx(10, rel=1e-9)


def test_of_more_cohorts_than_one_none_borrows_from_another(tmp_path):
    items = [node(f"n{k}") for k in range(4)]
    for name, cohort in (("A", "x"), ("B", "x"), ("C", "y")):
        items += queue(name, [group({"default": {"cpu": nominal(8)}})], cohort=cohort)
    items += [workload("B", "B", 40), workload("C", "C", 40)]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    assert [fair(cluster)[path] for path in ("x/B", "y/C")] == pytest.approx([16, 8], rel=1e-9)


def test_a_resource_that_a_queue_does_not_cover_makes_its_workloads_inadmissible(tmp_path):
    requests = {"cpu": "1", "nvidia.com/gpu": "1"}
    items = [
        node("n1", allocatable={"nvidia.com/gpu": "4"}),
        *queue("A", [group({"default": {"cpu": nominal(4)}})]),
    ]
    items += [workload("A", "A", 3, requests=requests), workload("more", "A", 3)]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    tasks = fairlp.allocate(cluster.instance, "kueue").totals
    assert tasks.to_dict() == pytest.approx({"ml/more": 3}, rel=1e-9)
    assert cluster.held[["user", "tasks", "reason"]].to_numpy().tolist() == [
        ["ml/A", 3, "ClusterQueue 'A' does not cover nvidia.com/gpu"]
    ]


def test_what_runs_though_no_queue_covers_it_is_no_matter_of_quotas(tmp_path):
    requests = {"cpu": "1", "memory": "1Gi"}
    items = [
        node("n1"),
        *queue("A", [group({"default": {"cpu": nominal(4)}})]),
        workload("A", "A", 9, requests=requests),
    ]
    cluster = fairlp_clusters.snapshot(
        written(tmp_path, *items, *running("A", 1, ["n1"], requests=requests))
    )
    assert fair(cluster)["all/A"] == pytest.approx(4, rel=1e-9)
    assert cluster.held.empty


def unmet(state, reserved="False"):
    """The status of a Workload with an admission check."""
    check = {"name": "budget", "state": state}
    condition = {"type": "QuotaReserved", "status": reserved, "reason": "Pending"}
    return {"conditions": [condition], "admissionChecks": [check]}


@pytest.mark.parametrize("state", ["Retry", "Rejected", "Pending", "Ready"])
@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_a_workload_whose_check_failed_is_held(tmp_path, state, kind):
    """Without quota, a check that is not done yet stops nothing: it is asked after the quota."""
    items = [node("n1"), *queue("a", [group({"default": {"cpu": nominal(4)}})])]
    waiting = workload("w", "a", 1, unmet(state))
    waiting["metadata"]["ownerReferences"] = [{"kind": kind, "name": "w", "controller": True}]
    items += [*running("a", 1, ["n1"]), waiting]
    if kind == "Pod":
        items.append(pod("w", requests=_CPU, labels={LABEL: "a"}))
    snapshot = fairlp_clusters.snapshot(written(tmp_path, *items))
    reasons = [f"admission check budget is {state}"] if state in ("Retry", "Rejected") else []
    assert snapshot.held["reason"].tolist() == reasons
    assert snapshot.waiting["tasks"].sum() == 1 - len(reasons)


def test_what_is_borrowed_stands_beside_the_nominal_quota(tmp_path):
    """16 cores; A 8 and B 4 nominal in a cohort; B has 8: 4 beyond. lone has 2 and runs 1."""
    items = [node("n1"), node("n2")]
    items += queue("A", [group({"default": {"cpu": nominal(8, lending=6)}})])
    items += queue("B", [group({"default": {"cpu": nominal(4)}})])
    items += queue("lone", [group({"default": {"cpu": nominal(2)}})], cohort="")
    items += running("B", 8, ["n1"]) + running("lone", 1, ["n2"])
    snapshot = fairlp_clusters.snapshot(written(tmp_path, *items))
    table = 16 * fairlp_clusters.fair_shares(snapshot, by="queue")[["borrowed", "guarantee"]]
    assert table.loc["all/A"].tolist() == pytest.approx([0, 8])
    assert table.loc["all/B"].tolist() == pytest.approx([4, 4])
    assert table.loc["lone", "guarantee"] == pytest.approx(2)


_TWO_PLAIN = [kueue("ResourceFlavor", "spot", {}), kueue("ResourceFlavor", "reserved", {})]


def two_plain_flavors(spot, reserved):
    """Quotas of two flavors without labels."""
    return [group({"spot": {"cpu": nominal(spot)}, "reserved": {"cpu": nominal(reserved)}})]


def test_tasks_count_in_any_flavor_of_the_same_nodes(tmp_path):
    """A may use 2 + 4 cores, and B 1 + 1; each borrows in either flavor what the other leaves: 6 and 2 of 8."""
    items = [node("n1"), node("n2"), *_TWO_PLAIN]
    items += queue("A", two_plain_flavors(2, 4)) + queue("B", two_plain_flavors(1, 1))
    items += [workload("A", "A", 20), workload("B", "B", 20)]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    allocation = fairlp.allocate(cluster.instance, "kueue")
    assert allocation.totals.tolist() == pytest.approx([6, 2])
    audit = fairlp.audit(cluster.instance, allocation, ["Pareto-optimal"])
    assert audit.holds.tolist() == [True]
    audit_of_less = fairlp.audit(cluster.instance, allocation.tasks * 0.9, ["Pareto-optimal"])
    assert audit_of_less.holds.tolist() == [False]
    alone = fairlp_clusters.snapshot(written(tmp_path / "alone", *items[:-1]))
    assert fairlp.allocate(alone.instance, "kueue").totals.tolist() == pytest.approx([8])


def test_quota_that_is_reserved_counts_though_no_pods_are_there(tmp_path):
    items = [node("n1"), *queue("A", [group({"default": {"cpu": nominal(2)}})])]
    items += queue("B", [group({"default": {"cpu": nominal(6)}})])
    items += [
        workload("A", "A", 4, admitted("A", 4)),
        workload("B", "B", 2, admitted("B", 2)),
        *running("B", 2, ["n1"]),
    ]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    # the four pods of A are not in the dump, and run where there is room
    assert cluster.waiting.empty
    assert cluster.observed.totals.to_dict() == {"ml/A": 4, "ml/B": 2}


def test_field_names_of_v1beta2(tmp_path):
    items = [node("n1"), kueue("Cohort", "org", {}), kueue("Cohort", "lab", {"parentName": "org"})]
    cluster_queue, local = queue("A", [group({"default": {"cpu": nominal(4)}})])
    cluster_queue["spec"]["cohortName"] = "lab"
    del cluster_queue["spec"]["cohort"]
    items += [
        {**item, "apiVersion": "kueue.x-k8s.io/v1beta2"}
        for item in (cluster_queue, local, workload("A", "A", 9))
    ]
    assert fair(fairlp_clusters.snapshot(written(tmp_path, *items)))["org/lab/A"] == pytest.approx(
        4, rel=1e-9
    )


def test_nominal_quotas_without_nodes_are_told_and_nothing_is_refused(tmp_path):
    """Nominal 20 CPUs of which A's pods fit 8; every mechanism that is defined shares the dump."""
    items = [node("n1", {"a": "yes"}), *(node(f"m{k}") for k in range(4))]
    for name in "AB":
        items += queue(name, [group({"default": {"cpu": nominal(20)}})])
    items += [workload("A", "A", 40, nodeSelector={"a": "yes"}), workload("B", "B", 40)]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    shared = fairlp.allocate(cluster.instance, "kueue")
    assert shared.totals.tolist() == pytest.approx([8, 32], rel=1e-9)
    assert "12 of 20 CPU in the nominal quota of queue 'all/A' have no node" in shared.notes
    assert said(cluster, "12 of 20 CPU of its guarantee have no node")
    assert fairlp.compare(cluster.instance)["h-drf"].tolist() == pytest.approx([8, 32], rel=1e-6)


def test_a_workload_that_names_its_node_may_run_on_that_node_only(tmp_path):
    """No pod of a Workload is a DaemonSet's: what its template says of nodes by name is a rule."""
    on_n1 = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [on_n1]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    cluster = fairlp_clusters.snapshot(
        written(
            tmp_path,
            node("n0"),
            node("n1"),
            *queue("A", [group({"default": {"cpu": nominal(20)}})]),
            workload("bound", "A", 4, affinity=affinity),
        )
    )
    assert list(cluster.instance.servers) == ["n0", "n1"]
    assert cluster.instance.eligible.tolist() == [[False, True]]


def test_past_use_does_not_count_and_is_noted(tmp_path):
    cluster_queue, local_queue = queue("red", [group({"default": {"cpu": nominal(4)}})])
    status = {"admissionFairSharingStatus": {"consumedResources": {"cpu": "2"}}}
    local_queue["status"] = {"fairSharing": status}
    items = [node("n1"), cluster_queue, local_queue, *running("red", 1, ["n1"])]
    snapshot = fairlp_clusters.snapshot(written(tmp_path, *items))
    assert said(snapshot, "it counts past use") == [
        ("LocalQueue 'red'", "that does not count in what is fair now")
    ]


def pending(*reasons):
    """The status of a Workload that Kueue has tried in vain."""
    message = f"couldn't assign flavors to pod set main: {', '.join(reasons)}"
    condition = {"type": "QuotaReserved", "status": "False", "reason": "Pending"}
    return {"conditions": [condition | {"message": message}]}


_NEVER = "insufficient quota for cpu in flavor one, request > maximum capacity (7 > 4)"
_LATER = "insufficient unused quota for cpu in flavor two, 3 more needed"


@pytest.mark.parametrize(
    ("reasons", "waits"), [((_NEVER,), False), ((_NEVER, _LATER), True), ((_LATER,), True)]
)
def test_a_workload_above_all_of_each_flavor_is_held_by_the_words_of_kueue(
    tmp_path, reasons, waits
):
    """7 CPUs are above the flavor of 4, and below the 10 of both together."""
    groups = [group({"one": {"cpu": nominal(4)}, "two": {"cpu": nominal(6)}})]
    items = [node("n0"), node("n1"), *queue("a", groups, cohort="")]
    items += [workload("w", "a", 7, pending(*reasons), least=7), workload("fits", "a", 1)]
    cluster = fairlp_clusters.snapshot(written(tmp_path, *items))
    assert ("ml/w" in cluster.waiting["user"].tolist()) == waits
    assert [bool(_NEVER in reason) for reason in cluster.held["reason"]] == [True] * (not waits)
