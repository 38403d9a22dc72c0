"""Dumps of Kueue: quotas by flavor, what is fair by default, weighted shares, and what is told."""

from __future__ import annotations

import math

import pytest

import fairlp
from dump_files import notes, snapshot
from fairlp.errors import FairlpWarning, SolverError
from fairlp.operations.reports import share_comparison
from fairlp.operations.reports.headline import headline
from fairlp.operations.reports.share_comparison import ShareComparison
from fairlp.operations.reports.subject import subject_of
from kubernetes_dumps import kueue, node, pod, said, written

LABEL = "kueue.x-k8s.io/queue-name"


_CPU = {"cpu": "1"}


def group(flavors, covered=("cpu",)):
    """A resource group: flavor → resource → fields of its quota."""
    made = [
        {"name": flavor, "resources": [{"name": name} | quota for name, quota in resources.items()]}
        for flavor, resources in flavors.items()
    ]
    return {"coveredResources": list(covered), "flavors": made}


def nominal(amount, **more):
    return {"nominalQuota": str(amount)} | {
        f"{kind}Limit": str(value) for kind, value in more.items()
    }


def queue(name, groups, cohort="all", weight=None, told=None, **spec):
    """A ClusterQueue and the LocalQueue of its name."""
    spec |= {"cohort": cohort, "resourceGroups": groups} | (
        {"fairSharing": {"weight": weight}} if weight else {}
    )
    made = kueue("ClusterQueue", name, spec)
    made["status"] = {} if told is None else {"fairSharing": {"weightedShare": told}}
    return [made, kueue("LocalQueue", name, {"clusterQueue": name}, namespace="ml")]


def running(queue, count, nodes, start=0, requests=None, **spec):
    """Pods of a job of one core each, one after the other on these nodes."""
    return [
        pod(f"{queue}-{k + start}", owner=("Job", queue), on=nodes[k % len(nodes)], requests=requests or _CPU,
            labels={LABEL: queue}, **spec)
        for k in range(count)
    ]  # fmt: skip


def workload(name, queue, count, status=None, requests=None, **spec):
    """A Workload of a job of the same name."""
    template = {"spec": {"containers": [{"resources": {"requests": requests or _CPU}}]} | spec}
    sets = [{"name": "main", "count": count, "template": template}]
    made = kueue("Workload", f"job-{name}", {"queueName": queue, "podSets": sets}, namespace="ml")
    made["metadata"]["ownerReferences"] = [{"kind": "Job", "name": name, "controller": True}]
    return made | {"status": status or {}}


def admitted(queue, count, flavor="default"):
    """The status of a Workload that has its quota, of one core for each pod."""
    one = {
        "name": "main",
        "count": count,
        "flavors": {"cpu": flavor},
        "resourceUsage": {"cpu": str(count)},
    }
    return {"admission": {"clusterQueue": queue, "podSetAssignments": [one]}}


def fair(found):
    """Tasks that are fair, by queue, under the rule that the report takes by itself."""
    table = fairlp.fair_shares(found, by="queue")
    return table["fair_tasks"].to_dict()


def test_what_is_lent_is_fair_by_weight(tmp_path):
    """A lends 6 of its 20 cores; B and C, of weights 1 and 2, borrow 2 and 4."""
    quotas = {"A": (20, 1), "B": (10, 1), "C": (10, 2)}
    items = [node(f"n{k}") for k in range(5)]
    for name, (cores, weight) in quotas.items():
        items += queue(name, [group({"default": {"cpu": nominal(cores)}})], weight=weight)
        items += [workload(name, name, 14 if name == "A" else 40)]
    found = fairlp.snapshot(written(tmp_path, *items))
    assert ShareComparison.of(subject_of(found)).fair.mechanism == "kueue"
    assert [fair(found)[f"all/{name}"] for name in "ABC"] == pytest.approx([14, 12, 14], rel=1e-9)


FLAVORS = [
    kueue("ResourceFlavor", "plain", {"nodeLabels": {"pool": "plain"}}),
    kueue("ResourceFlavor", "spot", {
        "nodeLabels": {"pool": "spot"}, "nodeTaints": [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]}),
]  # fmt: skip


_TAINTED = {"taints": [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]}


_BEARS = [{"key": "spot", "operator": "Exists"}]


def test_quotas_are_by_flavor_and_flavors_by_labels_and_taints(tmp_path):
    """Each flavor's quota counts on its own nodes; only who bears the taint may use spot nodes."""
    both = [group({"plain": {"cpu": nominal(4)}, "spot": {"cpu": nominal(6)}})]
    items = [
        node("p1", {"pool": "plain"}),
        node("s1", {"pool": "spot"}, **_TAINTED),
        node("other"),
        *FLAVORS,
    ]
    items += queue("A", both) + queue("B", [group({"plain": {"cpu": nominal(2)}})])
    items += [workload("A", "A", 20, tolerations=_BEARS), workload("B", "B", 20)]
    found = fairlp.snapshot(written(tmp_path, *items))
    tasks = fairlp.allocate(found.instance, "kueue")
    assert tasks.totals.tolist() == pytest.approx([10, 2], rel=1e-9)
    assert tasks.tasks.loc["ml/A"].to_dict() == pytest.approx(
        {"p1": 4, "s1": 6, "other": 0}, abs=1e-8
    )
    assert tasks.tasks.loc["ml/B"].to_dict() == pytest.approx(
        {"p1": 2, "s1": 0, "other": 0}, abs=1e-8
    )
    found.instance.write(tmp_path / "out.json")
    assert fairlp.read(tmp_path / "out.json").equals(found.instance)


def test_a_flavor_whose_label_no_node_has_has_no_nodes(tmp_path):
    gone = kueue("ResourceFlavor", "gone", {"nodeLabels": {"pool": "nowhere", "zone": "x"}})
    items = [
        node("n1"),
        gone,
        *queue("A", [group({"gone": {"cpu": nominal(5)}})]),
        workload("A", "A", 3),
    ]
    items += [*queue("B", [group({"default": {"cpu": nominal(3)}})]), workload("B", "B", 9)]
    found = fairlp.snapshot(written(tmp_path, *items))
    assert fair(found)["all/A"] == 0 and fair(found)["all/B"] == pytest.approx(3, rel=1e-9)


def test_lending_limits_and_lone_queues(tmp_path):
    """A keeps 15 of its 20 cores for itself; the queue without a cohort lends nothing."""
    items = [node(f"n{k}") for k in range(5)]
    items += queue("A", [group({"default": {"cpu": nominal(20, lending=5)}})])
    items += [*queue("B", [group({"default": {"cpu": nominal(5)}})]), workload("B", "B", 40)]
    items += queue("lone", [group({"default": {"cpu": nominal(15)}})], cohort="")
    found = fairlp.snapshot(written(tmp_path, *items, *running("B", 10, ["n0", "n1"])))
    assert fair(found)["all/B"] == pytest.approx(10, rel=1e-9)
    stopped = fairlp.fair_shares(found).loc["ml/B"]
    assert stopped["blocked_by"] == "cap of cpu" and stopped["where"] == "all"


def test_of_more_cohorts_than_one_none_borrows_from_another(tmp_path):
    items = [node(f"n{k}") for k in range(4)]
    for name, cohort in (("A", "x"), ("B", "x"), ("C", "y")):
        items += queue(name, [group({"default": {"cpu": nominal(8)}})], cohort=cohort)
    items += [workload("B", "B", 40), workload("C", "C", 40)]
    found = fairlp.snapshot(written(tmp_path, *items))
    assert [fair(found)[path] for path in ("x/B", "y/C")] == pytest.approx([16, 8], rel=1e-9)


def test_a_resource_that_a_queue_does_not_cover_makes_its_workloads_inadmissible(tmp_path):
    asks = {"cpu": "1", "nvidia.com/gpu": "1"}
    items = [
        node("n1", allocatable={"nvidia.com/gpu": "4"}),
        *queue("A", [group({"default": {"cpu": nominal(4)}})]),
    ]
    items += [workload("A", "A", 3, requests=asks), workload("more", "A", 3)]
    found = fairlp.snapshot(written(tmp_path, *items))
    table = fairlp.fair_shares(found)
    assert table["fair_tasks"].tolist() == pytest.approx([0, 3], rel=1e-9)
    assert (
        table.loc["ml/A", "blocked_by"] == "no quota of nvidia.com/gpu"
        and table.loc["ml/A", "owed"] == 0
    )


def test_what_runs_though_no_queue_covers_it_is_no_matter_of_quotas(tmp_path):
    asks = {"cpu": "1", "memory": "1Gi"}
    items = [
        node("n1"),
        *queue("A", [group({"default": {"cpu": nominal(4)}})]),
        workload("A", "A", 9, requests=asks),
    ]
    found = fairlp.snapshot(written(tmp_path, *items, *running("A", 1, ["n1"], requests=asks)))
    assert fair(found)["all/A"] == pytest.approx(4, rel=1e-9)
    assert said(found, "pods run with it in ClusterQueues that do not cover it")


def test_weighted_shares_beside_those_that_kueue_tells(tmp_path):
    """B has 4 cores beyond its 4, of the 12 that its cohort has: 1000 · 4 / 12, over its weight of 2."""
    items = [node("n1"), node("n2")]
    items += queue("A", [group({"default": {"cpu": nominal(8)}})], told=0)
    items += queue("B", [group({"default": {"cpu": nominal(4)}})], weight=2, told=166)
    found = fairlp.snapshot(written(tmp_path, *items, *running("B", 8, ["n1"])))
    assert found.shares.loc["all/B"].tolist() == pytest.approx([1000 / 12 * 4 / 2, 166])
    assert found.shares.loc["all/A"].tolist() == [0, 0] and math.isnan(
        found.shares.loc["all", "told"]
    )
    table = fairlp.fair_shares(found, by="queue")
    assert table.loc["all/B", ["weighted_share", "told"]].tolist() == pytest.approx([1000 / 6, 166])
    page = tmp_path / "page.html"
    fairlp.report(found, page)
    assert "weighted share" in page.read_text(encoding="utf-8")


def test_quota_that_is_reserved_counts_though_no_pods_are_there(tmp_path):
    items = [node("n1"), *queue("A", [group({"default": {"cpu": nominal(2)}})])]
    items += queue("B", [group({"default": {"cpu": nominal(6)}})])
    items += [
        workload("A", "A", 4, admitted("A", 4)),
        workload("B", "B", 2, admitted("B", 2)),
        *running("B", 2, ["n1"]),
    ]
    found = fairlp.snapshot(written(tmp_path, *items))
    assert found.shares["weighted_share"].to_dict() == pytest.approx(
        {"all": 0, "all/A": 1000 * 2 / 8, "all/B": 0}
    )
    assert found.waiting.set_index("user")["tasks"].to_dict() == {"ml/A": 4}


def test_field_names_of_v1beta2(tmp_path):
    items = [node("n1"), kueue("Cohort", "org", {}), kueue("Cohort", "lab", {"parentName": "org"})]
    one, local = queue("A", [group({"default": {"cpu": nominal(4)}})])
    one["spec"]["cohortName"] = "lab"
    del one["spec"]["cohort"]
    items += [
        {**item, "apiVersion": "kueue.x-k8s.io/v1beta2"}
        for item in (one, local, workload("A", "A", 9))
    ]
    assert fair(fairlp.snapshot(written(tmp_path, *items)))["org/lab/A"] == pytest.approx(
        4, rel=1e-9
    )


def test_nominal_quotas_without_nodes_are_told_and_nothing_is_refused(tmp_path):
    """Nominal 20 CPUs of which A's pods fit 8; every mechanism that is defined shares the dump."""
    items = [node("n1", {"a": "yes"}), *(node(f"m{k}") for k in range(4))]
    for name in "AB":
        items += queue(name, [group({"default": {"cpu": nominal(20)}})])
    items += [workload("A", "A", 40, nodeSelector={"a": "yes"}), workload("B", "B", 40)]
    found = fairlp.snapshot(written(tmp_path, *items))
    shared = fairlp.allocate(found.instance, "kueue")
    assert shared.totals.tolist() == pytest.approx([8, 32], rel=1e-9)
    assert "12 of 20 CPU in the nominal quota of queue 'all/A' have no node" in shared.notes
    assert said(found, "12 of 20 CPU of its guarantee have no node")
    assert fairlp.compare(found.instance)["h-drf"].tolist() == pytest.approx([8, 32], rel=1e-6)


def test_free_capacity_has_no_quotas(tmp_path):
    items = [
        node("n1"),
        *queue("A", [group({"default": {"cpu": nominal(4)}})]),
        *running("A", 1, ["n1"]),
    ]
    found = fairlp.snapshot(written(tmp_path, *items, workload("more", "A", 3)), capacity="free")
    assert (
        found.instance.queues.quotas is None and found.observed.instance.queues.quotas is not None
    )


def test_where_no_program_is_solved_the_next_rule_is_taken_and_told(tmp_path, monkeypatch):
    honest = share_comparison.allocate

    def failing(instance, mechanism, **options):
        if mechanism == "kueue":
            raise SolverError("planted")
        return honest(instance, mechanism, **options)

    items = [
        node("n0"),
        *queue("A", [group({"default": {"cpu": nominal(2)}})]),
        *running("A", 1, ["n0"]),
    ]
    subject = subject_of(written(tmp_path, *items))
    assert headline(ShareComparison.of(subject))[-1].startswith(
        "Fair is what kueue gives: Kueue gives every queue"
    )
    monkeypatch.setattr(share_comparison, "allocate", failing)
    with pytest.warns(FairlpWarning, match="what is fair is that of 'h-drf-counted': planted"):
        found = ShareComparison.of(subject)
    assert headline(found)[-1].startswith(
        "Fair is what h-drf-counted gives: Kubernetes itself promises no shares"
    )
    with pytest.raises(SolverError, match="planted"):
        ShareComparison.of(subject, "kueue")


def test_what_is_there_twice_counts_once(tmp_path):
    """Dumps that overlap: the first of each name counts, and the others are told."""
    items = [node("n1"), *queue("A", [group({"default": {"cpu": nominal(4)}})], weight=2)]
    items += [workload("A", "A", 3), workload("B", "A", 2, admitted("A", 2))]
    once = fairlp.snapshot(written(tmp_path / "once", *items))
    items += queue("A", [group({"default": {"cpu": nominal(1)}})], weight=5) + items[3:]
    twice = fairlp.snapshot(written(tmp_path / "twice", *items))
    assert twice.instance.equals(once.instance) and fair(twice) == fair(once)
    for kind, count in (("ClusterQueue", 1), ("LocalQueue", 1), ("Workload", 2)):
        assert len(said(twice, f"an earlier {kind} has this name")) == count


def test_what_a_workload_cannot_have_is_left_out(tmp_path):
    items = [
        node("n1"),
        *queue("A", [group({"default": {"cpu": nominal(4)}})]),
        workload("A", "A", 3),
    ]
    broken = [workload("B", "A", -3), workload("C", "A", 1), workload("D", "A", 1)]
    broken[1]["status"] = {"admission": {"clusterQueue": "A", "podSetAssignments": ["*"]}}
    broken[2]["status"] = admitted("A", 1)
    broken[2]["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]["cpu"] = "x"
    found = fairlp.snapshot(written(tmp_path, *items, *broken))
    assert list(found.instance.users) == ["ml/A"]
    assert said(found, "count is -3") == [("Workload 'job-B'", "left out")]
    assert said(found, "it is '*'; expected a mapping") == [("Workload 'job-C'", "left out")]
    assert said(found, "'x' is no quantity") == [("Workload 'job-D'", "left out")]


def test_a_local_queue_of_no_cluster_queue(tmp_path):
    queue = kueue("LocalQueue", "lost", {"clusterQueue": ""}, namespace="ml")
    assert "it names no ClusterQueue" in notes(
        snapshot(tmp_path, node("n1"), pod("a", on="n1"), queue)
    )


def test_flavors_need_no_word(tmp_path):
    every, some = (
        kueue("ResourceFlavor", "every", {}),
        kueue("ResourceFlavor", "some", {"nodeLabels": {"zone": "a"}}),
    )
    said = notes(snapshot(tmp_path, node("n1"), pod("a", on="n1"), every, some))
    assert "'some'" not in said and "'every'" not in said


def test_a_workload_that_names_its_node_may_run_on_that_node_only(tmp_path):
    """No pod of a Workload is a DaemonSet's: what its template says of nodes by name is a rule."""
    on_n1 = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [on_n1]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    cluster = fairlp.snapshot(
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


def test_what_local_queues_have_consumed_is_the_past_of_their_namespace(tmp_path):
    """Kueue prints decayed means: 2 cores of a node of 8 are 0.25/ln 2 times half-lives. They are of the namespace's
    two jobs in that ClusterQueue, a half each."""
    cluster_queue, local_queue = queue("red", [group({"default": {"cpu": nominal(4)}})])
    status = {"admissionFairSharingStatus": {"consumedResources": {"cpu": "2"}}}
    local_queue["status"] = {"fairSharing": status}
    items = [node("n1"), cluster_queue, local_queue, *running("red", 1, ["n1"])]
    items += [workload("other", "red", 1)]
    found = fairlp.snapshot(written(tmp_path, *items))
    assert found.history.to_list() == pytest.approx([0.125 / math.log(2)] * 2)
    assert found.fair_with_past().totals.to_list() == pytest.approx([1, 1])
