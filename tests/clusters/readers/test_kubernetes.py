"""Kubernetes' nodes and pods: demands, capacities, placement, what runs and what waits, counted here by hand."""

from __future__ import annotations

import json

import pytest

import fairlp
import fairlp_clusters
from dump_files import affinity, notes, read, snapshot, term
from kubernetes_dumps import node, pod, said, thing, written


@pytest.fixture
def small(tmp_path):
    """Two nodes; web runs three pods and one waits, a job of two GPUs waits, a bare pod runs."""
    return written(
        tmp_path,
        node("n1"),
        node("n2", allocatable={"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "4"}),
        *[
            pod(f"web-7d4b9c6f5-{k}", "shop", on=node_name)
            for k, node_name in enumerate(("n1", "n1", "n2", None))
        ],
        pod(
            "train-1",
            "ml",
            ("Job", "train"),
            None,
            {"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": "2"},
        ),
        pod("alone", "ml", None, "n2", {"cpu": "1500m", "memory": "1M"}),
    )


def test_the_golden_dump(small):
    page = fairlp_clusters.snapshot(small)
    instance = page.instance
    assert page.scheduler == "kubernetes" and list(page.not_understood["what"]) == []
    assert list(instance.users) == ["shop/web", "ml/train", "ml/alone"]
    assert list(instance.servers) == ["n1", "n2"]
    assert list(instance.resources) == ["cpu", "memory", "nvidia.com/gpu", "pods"]
    assert instance.units == {"cpu": "1/1000 core", "memory": "MiB"}
    assert instance.demands.tolist() == [
        [500, 1024, 0, 1],
        [2000, 4096, 2, 1],
        [1500, 10**6 / 2**20, 0, 1],
    ]
    assert instance.capacities.tolist() == [[8000, 32768, 0, 110], [4000, 16384, 4, 110]]
    assert instance.task_limits.tolist() == [4, 1, 1]
    assert instance.queue == ("shop", "ml", "ml")
    assert not instance.has_constraints
    assert page.observed.tasks.to_numpy().tolist() == [[2, 1], [0, 0], [0, 1]]
    assert page.observed.usage.loc["n1"].tolist() == [1000, 2048, 0, 2]
    assert page.observed.usage.loc["n2"].tolist() == [2000, 1024 + 10**6 / 2**20, 0, 2]
    assert not page.waiting[["message", "nowhere"]].to_numpy().any()
    assert page.waiting.drop(columns=["message", "nowhere"]).to_dict("records") == [
        {
            "user": "shop/web",
            "queue": "shop",
            "tasks": 1,
            "since": "2026-01-01T00:00:00Z",
        },
        {
            "user": "ml/train",
            "queue": "ml",
            "tasks": 1,
            "since": "2026-01-01T00:00:00Z",
        },
    ]
    assert repr(page) == ("<Snapshot of kubernetes: 3 users, 2 servers>")


def test_it_can_be_shared_and_audited(small):
    page = fairlp_clusters.snapshot(small)
    fair = fairlp.allocate(page.instance, "c-drfh")
    assert fair.totals.tolist() == pytest.approx([4, 1, 1])
    holds = fairlp.audit(page.instance, page.observed, ["feasible", "Pareto-optimal"])["holds"]
    assert holds.to_dict() == {
        "feasible": True,
        "Pareto-optimal": False,
    }  # two tasks wait, and would fit


def test_the_pods_of_one_owner_are_one_user_for_each_shape(tmp_path):
    big = {"cpu": "1", "memory": "1Gi"}
    items = [
        pod("a", on="n1"),
        pod("b", on="n1"),
        pod("c", on="n1", requests=big),
        pod("d", requests=big),
    ]
    cluster = read(tmp_path, node("n1"), *items)
    assert list(cluster.instance.users) == ["ml/web", "ml/web #2"]
    assert cluster.observed.totals.tolist() == [2, 1] and cluster.instance.task_limits.tolist() == [
        2,
        2,
    ]


def test_pods_of_one_owner_that_may_not_be_on_the_same_nodes_are_two_users(tmp_path):
    selectors = [{}, {"nodeSelector": {"zone": "a"}}, {"nodeSelector": {"zone": "a", "same": "a"}}]
    pods = [pod(f"p{k}", **selector) for k, selector in enumerate(selectors)]
    cluster = read(tmp_path, node("n1", {"zone": "a", "same": "a"}), node("n2"), *pods)
    assert list(cluster.instance.users) == ["ml/web", "ml/web #2"]  # however it is said where
    assert cluster.instance.eligible.tolist() == [[True, True], [True, False]]
    assert cluster.instance.task_limits.tolist() == [1, 2]


def test_a_cordoned_node_counts_with_what_runs_on_it(tmp_path):
    nodes = [node("n1"), node("n2", unschedulable=True), node("n3", unschedulable=True)]
    nodes.append(node("n4", conditions=[{"type": "Ready", "status": "Unknown"}]))
    cluster = read(tmp_path, *nodes, pod("a", on="n1"), pod("b", "x", on="n2"), pod("c", "x"))
    assert list(cluster.instance.servers) == ["n1", "n2 (x/web, no new tasks)"]
    assert cluster.instance.capacities[1].tolist() == [500, 1024, 1]
    assert cluster.instance.eligible.tolist() == [[True, False], [True, True]]
    assert said(cluster, "cordoned") == [
        ("node 'n2'", "it counts with what runs on it"),
        ("node 'n3'", "left out"),
    ]
    assert said(cluster, "not ready") == [("node 'n4'", "left out")]
    assert said(cluster, "would not take it now") == [("user 'x/web'", "it may stay on them")]


def test_the_pods_of_a_daemon_set_are_one_user(tmp_path):
    pinned = [affinity(term("metadata.name", "In", f"n{k}", kind="matchFields")) for k in range(3)]
    items = [pod(f"d{k}", "sys", ("DaemonSet", "agent"), f"n{k}", **pinned[k]) for k in range(3)]
    cluster = read(tmp_path, *[node(f"n{k}") for k in range(3)], *items)
    assert list(cluster.instance.users) == [
        "sys/agent"
    ] and cluster.observed.tasks.to_numpy().tolist() == [[1, 1, 1]]


def test_a_quota_is_the_cap_of_its_namespace(tmp_path):
    hard = {"requests.cpu": "4", "memory": "8Gi", "pods": "10", "limits.cpu": "9", "services": "3"}
    hard_limits = {"cpu": "3", "requests.nvidia.com/gpu": "1", "requests.storage": "1Ti"}
    quotas = [
        thing("ResourceQuota", "one", {"hard": hard}, namespace="ml"),
        thing("ResourceQuota", "two", {"hard": hard_limits}, namespace="ml"),
        thing("ResourceQuota", "later", {"hard": {"cpu": "5", "memory": "16Gi"}}, namespace="ml"),
        thing(
            "ResourceQuota",
            "three",
            {"hard": {"cpu": "1"}, "scopes": ["BestEffort"]},
            namespace="ml",
        ),
    ]
    cluster = read(tmp_path, node("n1"), pod("a", on="n1"), *quotas)
    queues = cluster.instance.queues
    assert dict(zip(cluster.instance.resources, queues.caps[queues.named("ml")], strict=True)) == {
        "cpu": 3000,
        "memory": 8192,
        "pods": 10,
    }
    for phrase in ("'limits.cpu'", "'services'", "'requests.storage'"):
        assert said(cluster, phrase)[0][1] == "left out: pods do not request it"
    assert said(cluster, "scopes") == [("ResourceQuota 'ml/three'", "left out")]
    assert said(cluster, "cap of 'nvidia.com/gpu'") == [("queue 'ml'", "left out")]


def test_objects_may_lie_in_several_files_and_forms(tmp_path):
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": [
        {key: value for key, value in node("n1").items() if key not in ("kind", "apiVersion")}
    ]}))  # fmt: skip
    (tmp_path / "one.json").write_text(json.dumps(pod("a", on="n1")) + "\n" + json.dumps(pod("b")))
    (tmp_path / "empty.json").write_text('{"apiVersion": "v1", "items": [], "kind": "List"}')
    (tmp_path / ".hidden").write_text("{")
    page = fairlp_clusters.snapshot(tmp_path)
    assert page.observed.totals.to_dict() == {"ml/web": 1} and page.waiting["tasks"].tolist() == [1]


def test_what_only_closed_nodes_have_is_nobodys_who_waits(tmp_path):
    gpus = {"cpu": "1", "nvidia.com/gpu": "1"}
    nodes = [node("n1"), node("g1", allocatable={"nvidia.com/gpu": "4"}, unschedulable=True)]
    waits = pod("w", "x", ("Job", "w"), requests=gpus)
    cluster = read(tmp_path, *nodes, pod("a", on="n1"), waits)
    assert list(cluster.instance.users) == ["ml/web"] and cluster.waiting["user"].tolist() == [
        "x/w"
    ]
    assert said(cluster, "no node that takes new tasks has it")[0][0] == "resource 'nvidia.com/gpu'"
    assert said(cluster, "no node that takes new tasks has nvidia.com/gpu") == [
        ("user 'x/w'", "left out of the instance")
    ]
    cluster = read(
        tmp_path, *nodes, pod("a", on="n1"), waits, pod("b", "y", ("Job", "b"), "g1", gpus)
    )
    assert cluster.instance.capacities[:, 2].tolist() == [0, 1] and "x/w" in cluster.instance.users


HALF = {"cpu": "500m", "memory": "1Gi"}


def test_a_node_that_is_ready_is_open(tmp_path):
    ready, lost = [{"type": "Ready", "status": "True"}], [{"type": "Ready", "status": "Unknown"}]
    pressed = [{"type": "DiskPressure", "status": "False"}, *ready]
    items = [node("n1", conditions=pressed), node("n2", conditions=lost), pod("a", on="n1")]
    assert snapshot(tmp_path, *items).instance.n_servers == 1


def test_a_quota_of_pods_by_count(tmp_path):
    quota = thing(
        "ResourceQuota", "q", {"hard": {"count/pods": "7", "count/secrets": "3"}}, namespace="ml"
    )
    page = snapshot(tmp_path, node("n1"), pod("a", on="n1", requests=HALF), quota)
    assert "count/secrets" in notes(page) and "count/pods" not in notes(page)
    named = [path for path in page.instance.queues.paths if "ml" in path]
    caps = page.instance.queues.table(page.instance.resources)
    assert named and 7.0 in caps.loc[named[0]].tolist()
