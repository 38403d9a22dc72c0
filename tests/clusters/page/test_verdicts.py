"""Verdicts about tenants: dumps of operators' complaints, rebuilt, and what the page says of them first.

Each dump has the shape of a public complaint or of a case in a scheduler's own tests, in small
numbers; what is right is worked out by hand in the docstrings.
"""

from __future__ import annotations

import json

import fairlp_clusters
import kubernetes_dumps as kubernetes
import slurm_dumps as slurm
from fairlp_clusters.dues import fair_shares
from verdicts import judged, lines_of


def slurm_folder(folder, nodes, jobs):
    for name, key, entries in (("nodes.json", "nodes", nodes), ("jobs.json", "jobs", jobs)):
        document = {"meta": {"Slurm": {"release": "24.05.1"}}, key: entries}
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    return folder


def slurm_jobs(user, cpus, nodes="", count=1, first=1, account="lab"):
    """Jobs of one node each, of so many CPUs."""
    tres = f"cpu={cpus},node=1,billing={cpus}"
    return [
        slurm.job(first + k, user=user, account=account, tres=tres, nodes=nodes)
        for k in range(count)
    ]


def queue(name, cpus, cohort="co", weight=None, **limits):
    """A ClusterQueue of CPUs in a cohort, and the LocalQueue of its name."""
    quota = {"name": "cpu", "nominalQuota": str(cpus)} | limits
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [quota]}]}
    spec = {"resourceGroups": [group]} | ({"cohort": cohort} if cohort else {})
    if weight is not None:
        spec["fairSharing"] = {"weight": str(weight)}
    local = kubernetes.kueue("LocalQueue", name, {"clusterQueue": name}, namespace="ml")
    return [kubernetes.kueue("ClusterQueue", name, spec), local]


def pods(queue, count, cpus=1, on=None, job="job"):
    """Pods of a queue, of one job, of so many CPUs each."""
    return [
        kubernetes.pod(
            f"{queue}-{job}-{on or 'waits'}-{k}",
            on=on,
            owner=("Job", f"{queue}-{job}"),
            requests={"cpu": str(cpus)},
            labels={"kueue.x-k8s.io/queue-name": queue},
        )
        for k in range(count)
    ]


def node(name, cpus):
    return kubernetes.node(name, allocatable={"cpu": str(cpus), "pods": "1000"})


def test_users_of_equal_thirds_are_treated_fairly_however_large_their_jobs_are(tmp_path):
    """Three users have 20 of 60 cores each, and each has small jobs behind its own large ones."""
    nodes = [slurm.node(f"n{k}", cpus=20, real_memory=1000) for k in range(3)]
    jobs = []
    for k, user in enumerate(("ann", "bob", "cid")):
        jobs += slurm_jobs(user, 5, f"n{k}", count=4, first=100 * k)
        jobs += slurm_jobs(user, 1, count=5, first=100 * k + 50)
    verdict = judged(slurm_folder(tmp_path, nodes, jobs))
    assert verdict.is_fair
    assert lines_of(verdict)[0] == (
        "Fair: no user is short of a whole task of its fair share. Tasks that wait: 15."
    )
    table = verdict.table
    assert table.index.name == "tenant" and (table["short_tasks"] == 0).all()
    assert table["has"].tolist() == [1 / 3] * 3
    users = fair_shares.users(verdict.dues)
    assert set(users["tenant"]) == {"lab/ann", "lab/bob", "lab/cid"} and not users["owed"].any()


def test_an_only_user_is_short_of_nothing(tmp_path):
    """Its small jobs wait behind its large ones: no one else has what they lack."""
    jobs = slurm_jobs("ann", 10, "n1", count=1) + slurm_jobs("ann", 1, count=9, first=50)
    verdict = judged(slurm_folder(tmp_path, [slurm.node("n1", cpus=16)], jobs))
    assert verdict.is_fair
    assert lines_of(verdict)[0].startswith("Fair: lab/ann is the only user. Tasks that wait: 9")


def test_a_user_is_judged_by_all_its_jobs_together(tmp_path):
    """ann has 10 of 40 cores and bob 30; ann lacks 10 cores: two jobs of 4, and two of 1."""
    nodes = [slurm.node(f"n{k}", cpus=20) for k in range(2)]
    jobs = slurm_jobs("ann", 10, "n0", count=1) + slurm_jobs("bob", 10, "n0", first=10)
    jobs += slurm_jobs("bob", 10, "n1", count=2, first=20)
    jobs += slurm_jobs("ann", 4, count=6, first=30) + slurm_jobs("ann", 1, count=3, first=40)
    jobs += slurm_jobs("bob", 1, count=30, first=50)
    verdict = judged(slurm_folder(tmp_path, nodes, jobs))
    assert verdict.sentence == (
        "Not fair: lab/ann is 4 tasks short of its fair share (2 × (4 CPU), 2 × (1 CPU)). It has 25.0 % "
        "of the cluster, and 50.0 % is fair. Held beyond fair shares by lab/bob (10 CPU)."
    )


def test_a_queue_is_owed_a_whole_task_though_floats_say_less(tmp_path):
    """Quotas 8 and 3, weights 3 and 1: q0 runs 5 × 2 CPUs, and q1 waits with pods of 3 CPUs."""
    items = [node("n0", 11), *queue("q0", 8, weight=3), *queue("q1", 3, weight=1)]
    items += pods("q0", 5, 2, on="n0") + pods("q0", 9, 2) + pods("q1", 4, 3)
    verdict = judged(kubernetes.written(tmp_path, *items))
    assert not verdict.is_fair
    assert lines_of(verdict)[:2] == [
        "Not fair: co/q1 is 1 task short of its fair share (3 CPU each). It has 0.0 % of the "
        "cluster, and 27.3 % is fair. Held beyond fair shares by co/q0 (2 CPU).",
        "co/q1: 4 tasks; the quota of cpu in co; co/q0 (2 CPU)",
    ]
    assert verdict.dues.shares.owed_whole.tolist() == [0, 1]


def test_the_first_lines_say_how_many_tasks_fit_and_who_holds_the_rest(tmp_path):
    """Queues test and test1 of 5 and 5 quota on 12 CPUs; test runs 11, and test1 waits with 5."""
    items = [node("n0", 12), *queue("test", 5), *queue("test1", 5)]
    items += pods("test", 11, 1, on="n0") + pods("test1", 5, 1)
    verdict = judged(kubernetes.written(tmp_path, *items))
    assert verdict.sentence == (
        "Not fair: co/test1 is 5 tasks short of its fair share (1 CPU each). It has 0.0 % of the "
        "cluster, and 41.7 % is fair. Held beyond fair shares by co/test (6 CPU)."
    )


def test_a_queue_at_its_fair_share_of_five_sixths_is_fair(tmp_path):
    """Kueue issue 3779: weights 5 and 1 of 12 CPUs that a third queue lends; 10 and 2 run."""
    items = [node("n0", 12), *queue("a", 0, weight=5), *queue("b", 0, weight=1), *queue("c", 12)]
    items += pods("a", 2, 5, on="n0", job="large") + pods("a", 9, 1) + pods("b", 2, 1, on="n0")
    items += pods("b", 9, 1)
    verdict = judged(kubernetes.written(tmp_path, *items))
    assert lines_of(verdict)[0] == (
        "Fair: no queue is short of a whole task of its fair share. Tasks that wait: 18."
    )
    assert verdict.is_fair


def test_a_job_may_have_the_larger_of_two_flavors_whichever_comes_first(tmp_path):
    """A queue of 8 CPUs of one flavor and 2 of another: a pod of 5 waits, and is not too large."""
    labels = {"large": {"pool": "large"}, "small": {"pool": "small"}}
    items = [kubernetes.kueue("ResourceFlavor", k, {"nodeLabels": v}) for k, v in labels.items()]
    items += [
        kubernetes.node(k, v, allocatable={"cpu": "8", "pods": "99"}) for k, v in labels.items()
    ]
    flavors = [
        {"name": name, "resources": [{"name": "cpu", "nominalQuota": quota}]}
        for name, quota in (("large", "8"), ("small", "2"))
    ]
    spec = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]}
    items += [
        kubernetes.kueue("ClusterQueue", "q", spec),
        kubernetes.kueue("LocalQueue", "q", {"clusterQueue": "q"}, namespace="ml"),
    ]
    snapshot = fairlp_clusters.snapshot(kubernetes.written(tmp_path, *items, *pods("q", 1, cpus=5)))
    assert snapshot.held.empty and snapshot.waiting["tasks"].tolist() == [1]


def volcano_pods(queue, count, on=None):
    return [
        kubernetes.pod(
            f"{queue}-{on or 'waits'}-{k}",
            on=on,
            owner=("Job", queue),
            requests={"cpu": "1"},
            annotations={"scheduling.volcano.sh/queue-name": queue},
            schedulerName="volcano",
        )
        for k in range(count)
    ]


def test_room_for_one_of_five_tasks_is_not_room_for_all(tmp_path):
    """Queues of weights 5 and 5 on 12 CPUs: test runs 11, and test1 waits with 5; 6 each is fair.

    One of the five fits beside the 11.
    """
    items = [
        node("n0", 12),
        *(kubernetes.volcano(name, {"weight": 5}) for name in ("test", "test1")),
    ]
    items += volcano_pods("test", 11, on="n0") + volcano_pods("test1", 5) + volcano_pods("test", 4)
    verdict = judged(kubernetes.written(tmp_path, *items))
    assert lines_of(verdict)[:2] == [
        "Not fair: test1 is 5 tasks short of its fair share (1 CPU each). It has 0.0 % of the "
        "cluster, and 41.7 % is fair. Held beyond fair shares by test (4 CPU).",
        "test1: 5 tasks; room for 1 on n0; too little cpu is free where it could run; test (4 CPU)",
    ]
    assert lines_of(verdict)[-1].endswith(
        "Volcano's proportion plugin gives each queue what it deserves by its weight, as far as it "
        "asks for it."
    )


def lost(name, message="", **spec):
    """A pod that waits, and what Kubernetes says of it."""
    pod = kubernetes.pod(name, owner=("Job", name), requests={"cpu": "1"}, **spec)
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    pod["status"]["conditions"] = [condition]
    return pod


def affinity(*lines):
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(lines)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_why_pods_fit_nowhere_is_on_the_first_screen(tmp_path):
    """One asks for a label that no node has, one for a zone, one tolerates no taint, one is too large."""
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    n1 = kubernetes.node("n1", {"zone": "a", "kind": "gpu"}, taints=[taint])
    n2 = kubernetes.node("n2", {"zone": "b", "kind": "cpu"})
    zone = {"key": "zone", "operator": "In", "values": ["c", "d"]}
    items = [n1, n2, kubernetes.pod("runs", on="n2", owner=("Job", "runs"), requests={"cpu": "1"})]
    items += [
        lost("disk", "0/2 nodes are available", nodeSelector={"disk": "ssd"}),
        lost("zone", affinity=affinity(zone)),
        lost("taint", nodeSelector={"kind": "gpu"}),
        lost("gpu", nodeSelector={"kind": "cpu"}) | {},
    ]
    items[-1]["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1"
    folder = kubernetes.written(tmp_path, *items)
    (row,) = [line for line in lines_of(judged(folder)) if "no node may take" in line]
    why = "no node has the labels that it asks for and only taints that it tolerates"
    assert row == (
        f"Waiting, but no node may take them: 4 tasks (ml/disk: {why}; “0/2 nodes are available”; "
        f"ml/zone: {why}; ml/taint: {why}; 1 other user)."
    )
    waiting = fairlp_clusters.snapshot(folder).waiting.set_index("user")
    assert waiting.loc["ml/gpu", "nowhere"] == "no node that takes new tasks has nvidia.com/gpu"
    assert waiting.loc["ml/disk", "message"] == "0/2 nodes are available"


def test_why_jobs_fit_nowhere_is_told(tmp_path):
    """Features that no node of the partition has, a partition without nodes, nodes that are drained."""
    nodes = [
        slurm.node("n1", features=["a100"], partitions=["gpu"]),
        slurm.node("n2"),
        slurm.node("n3", partitions=["old"], state=["IDLE", "DRAIN"]),
    ]
    jobs = slurm_jobs("ann", 4, "n2")
    reasons = {
        "h100": ("gpu", "h100", "Resources"),
        "big": ("huge", "", ""),
        "old": ("old", "", ""),
    }
    for k, (user, (partition, feature, reason)) in enumerate(reasons.items()):
        (job,) = slurm_jobs(user, 1, first=100 + k)
        job |= {"partition": partition, "features": feature, "state_reason": reason}
        jobs.append(job)
    waiting = fairlp_clusters.snapshot(slurm_folder(tmp_path, nodes, jobs)).waiting.set_index(
        "user"
    )
    nowhere = "no node has all that it asks for: partition, features, reservation, name"
    assert waiting["nowhere"].to_dict() == {
        "lab/h100": nowhere,
        "lab/big": nowhere,
        "lab/old": "the nodes that it may be on take no new tasks",
    }
    assert waiting["message"].tolist() == ["Resources", "", ""]


def test_a_verdict_without_a_pod_or_node_that_cannot_be_read_says_so(tmp_path):
    """ml's pod asks for 100mm, and a node has 4X: nobody seems short of what is left."""
    unreadable = kubernetes.pod("crawl", namespace="ml", requests={"cpu": "100mm"})
    web = kubernetes.pod("web", namespace="web", on="n1", requests={"cpu": "1"})
    sentence = judged(kubernetes.written(tmp_path, node("n1", 4), web, unreadable)).sentence
    assert "web is the only namespace" in sentence
    assert "Left out of the dump: Pod 'crawl', since '100mm' is no quantity" in sentence
    further = (node("n1", 4), node("n2", "4X"), web, unreadable)
    assert "4X' is no quantity" in (
        said := judged(kubernetes.written(tmp_path, *further)).sentence
    ) and said.count("(and 1 more).")
    assert "Left out" not in judged(kubernetes.written(tmp_path, node("n1", 4), web)).sentence
