"""Queues of Kueue and Volcano: paths, weights, guarantees and caps; what they say that a tree cannot."""

from __future__ import annotations

import math

import pytest

import fairlp
import fairlp_clusters
from dump_files import notes, read
from fairlp_clusters.readers.volcano import QueueRequest, in_proportion
from kubernetes_dumps import flavors, kueue, node, pod, said, thing, volcano
from kueue_dumps import LABEL, TREE, workload


def limits(cluster, path, field):
    """Guarantee or cap of a queue, by resource, as quotas name them: pods are left out."""
    queues = cluster.instance.queues
    row = zip(
        cluster.instance.resources, getattr(queues, field)[queues.named(path)].tolist(), strict=True
    )
    return {r: v for r, v in row if v and math.isfinite(v) and r != "pods"}


def weight(cluster, path):
    return cluster.instance.queues.weights[cluster.instance.queues.named(path)]


def in_queue(name, queue, on=None, namespace="ml"):
    return pod(name, namespace, ("Job", name), on, labels={LABEL: queue})


def test_cohorts_and_cluster_queues_are_a_tree(tmp_path):
    pods = [
        in_queue("a", "to-red", "n1"),
        in_queue("b", "to-red"),
        in_queue("c", "to-blue"),
        in_queue("d", "to-own"),
    ]
    cluster = read(tmp_path, node("n1"), *pods, pod("e", "shop", on="n1"), *TREE)
    assert dict(zip(cluster.instance.users, cluster.instance.queue, strict=True)) == {
        "ml/a": "org/lab/red",
        "ml/b": "org/lab/red",
        "shop/web": "(no queue)/shop",
    }
    assert cluster.held[["user", "reason"]].to_numpy().tolist() == [
        ["ml/c", "ClusterQueue 'blue' does not cover memory"],
        ["ml/d", "ClusterQueue 'own' does not cover memory"],
    ]
    assert [
        weight(cluster, path) for path in ("org", "org/lab", "org/lab/red", "org/blue", "own")
    ] == [3, 0.5, 2, 1, 1]
    assert limits(cluster, "org/lab/red", "guarantees") == {"cpu": 4000, "memory": 8192}
    assert limits(cluster, "org/lab/red", "caps") == {"cpu": 6000}
    assert limits(cluster, "org/blue", "guarantees") == {"cpu": 1500}
    assert limits(cluster, "org/blue", "caps") == {}  # it may borrow without a limit
    assert limits(cluster, "org", "caps") == {
        "cpu": 5500,
        "memory": 8192,
    }  # what all below have; nobody lends to a root
    assert limits(cluster, "own", "caps") == limits(cluster, "own", "guarantees") == {"cpu": 1000}
    queues = cluster.instance.queues
    said_of_red = queues.quotas.said(queues.named("org/lab/red"), cluster.instance.resources)
    assert said_of_red["lending"] == {"memory": 1024}


def test_what_kueue_says_that_a_tree_cannot(tmp_path):
    group_of_two = flavors(("cpu", 2, {}))
    group_of_two[0]["flavors"].append(
        {"name": "spot", "resources": [{"name": "cpu", "nominalQuota": 3, "borrowingLimit": 1}]}
    )
    items = [
        kueue(
            "ClusterQueue",
            "many",
            {
                "cohort": "c",
                "resourceGroups": group_of_two,
                "preemption": {"withinClusterQueue": "Any"},
            },
        ),
        kueue("ClusterQueue", "zero", {"fairSharing": {"weight": 0}, "stopPolicy": "Hold"}),
        kueue("Cohort", "c", {"resourceGroups": flavors(("cpu", 7, {}))}),
        kueue("Cohort", "loop", {"parent": "loop"}),
        kueue("ResourceFlavor", "spot", {"nodeLabels": {"spot": "yes"}}),
        kueue("LocalQueue", "q", {"clusterQueue": "many"}, namespace="ml"),
        kueue("LocalQueue", "lost", {"clusterQueue": "gone"}, namespace="ml"),
        thing("ResourceQuota", "quota", {"hard": {"cpu": "1"}}, namespace="ml"),
    ]
    pods = [in_queue("a", "q", "n1"), in_queue("b", "none"), in_queue("c", "lost")]
    cluster = read(tmp_path, node("n1"), *pods, *items)
    assert limits(cluster, "c/many", "guarantees") == {"cpu": 5000}
    assert limits(cluster, "c/many", "caps") == {}  # one flavor borrows without a limit
    assert limits(cluster, "c", "caps") == {"cpu": 12000}
    assert weight(cluster, "zero") == 1 / 1000
    for phrase in (
        "a weight of 0",
        "it is above itself",
        "LocalQueue 'none' is not in the dump",
        "ClusterQueue 'gone' is not in the dump",
        "its quota also binds pods that are in queues",
    ):
        assert said(cluster, phrase), phrase
    assert (
        dict(zip(cluster.instance.users, cluster.instance.queue, strict=True))["ml/b"]
        == "(no queue)/ml"
    )
    assert limits(cluster, "(no queue)/ml", "caps") == {"cpu": 1000}


def test_a_cohort_below_another_may_borrow_so_much(tmp_path):
    items = [
        kueue(
            "Cohort",
            "lab",
            {"parent": "org", "resourceGroups": flavors(("cpu", 1, {"borrowingLimit": 2}))},
        ),
        kueue("ClusterQueue", "red", {"cohort": "lab", "resourceGroups": flavors(("cpu", 4, {}))}),
        kueue("ClusterQueue", "blue", {"cohort": "org", "resourceGroups": flavors(("cpu", 3, {}))}),
        kueue("LocalQueue", "q", {"clusterQueue": "red"}, namespace="ml"),
    ]
    cluster = read(tmp_path, node("n1"), in_queue("a", "q", "n1"), *items)
    assert limits(cluster, "org/lab", "caps") == {"cpu": 7000}
    assert limits(cluster, "org", "caps") == {"cpu": 8000}


GPU = {"cpu": "1", "nvidia.com/gpu": "1"}
CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: drf
    enableHierarchy: {hierarchy}
- plugins:
  - name: predicates
  - name: {plugin}
"""


def configuration(plugin, hierarchy="false"):
    """The ConfigMap of Volcano's scheduler."""
    text = CONFIGURATION.format(plugin=plugin, hierarchy=hierarchy)
    config_map = thing("ConfigMap", "volcano-scheduler-configmap", {}, namespace="volcano-system")
    return config_map | {"data": {"volcano-scheduler.conf": text}}


def waiting(queue, count, requests=None):
    """Pods of one core each that wait in a queue of Volcano."""
    annotations = {"scheduling.volcano.sh/queue-name": queue}
    return [
        pod(f"{queue}-{k}", "ml", ("Job", queue), requests=requests or {"cpu": "1"}, annotations=annotations)
        for k in range(count)
    ]  # fmt: skip


def fair_tasks(cluster):
    return fairlp_clusters.fair_shares(cluster, by="queue")["fair_tasks"]


@pytest.mark.slow
def test_the_proportion_plugin_divides_by_weights_caps_and_requests(tmp_path):
    """16 cores, weights 1, 2 and 1: 4, 8 and 4. a wants 2 only, and b may have 6: 2, 6 and 8 of 8 for c."""
    items = [node("n1"), node("n2"), volcano("a", {"weight": 1})]
    items += [
        volcano("b", {"weight": 2, "capability": {"cpu": 6}}),
        volcano("c", {"weight": 1}),
        volcano("idle", {"weight": 9}),
    ]
    items += waiting("a", 2) + waiting("b", 20) + waiting("c", 20)
    cluster = read(tmp_path, *items)
    assert cluster.plugin == "proportion"
    assert fair_tasks(cluster)[["a", "b", "c"]].tolist() == pytest.approx([2, 6, 8])
    phrase = "they are shared by the plugin proportion (the default;"
    assert [place for place, _ in said(cluster, phrase)] == ["queues of Volcano"]
    fairlp_clusters.report(cluster, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "the plugin proportion" in text


def test_the_plugin_of_the_configuration_says_what_queues_deserve(tmp_path):
    """spec.deserved of 12 and 4 of 16 cores under capacity; halves under proportion, by weights 1 and 1."""
    items = [node("n1"), node("n2"), volcano("a", {"deserved": {"cpu": 12}})]
    items += [volcano("b", {"deserved": {"cpu": 4}}), *waiting("a", 20), *waiting("b", 20)]
    expected = {"capacity": [12, 4], "proportion": [8, 8]}
    for plugin, tasks in expected.items():
        cluster = read(tmp_path / plugin, *items, configuration(plugin))
        assert cluster.plugin == plugin
        assert fair_tasks(cluster)[["a", "b"]].tolist() == pytest.approx(tasks)
        phrase = f"they are shared by the plugin {plugin} (the ConfigMap of the scheduler names it)"
        assert len(said(cluster, phrase)) == 1
    without = read(tmp_path / "without", *items)
    assert without.plugin == "capacity"
    hierarchical = read(tmp_path / "drf", *items, configuration("nodeorder", "true"))
    assert hierarchical.plugin == "drf"
    no_plugin = read(tmp_path / "none", *items, configuration("nodeorder"))
    assert no_plugin.plugin == "" and said(no_plugin, "no plugin shares them")


def test_a_hierarchy_by_annotation_is_shared_by_drf(tmp_path):
    queue = volcano("sci-dev", {"weight": 5}, hierarchy="root/sci/dev", hierarchy_weights="1/2/8")
    cluster = read(tmp_path, node("n1"), queue, *waiting("sci-dev", 3))
    assert cluster.plugin == "drf"


@pytest.mark.parametrize(
    ("text", "message"),
    [("tiers: [", "is no YAML"), ("tiers: 3", "tiers is 3; expected a list")],
)
def test_a_configuration_that_is_odd(tmp_path, text, message):
    config_map = configuration("capacity") | {"data": {"volcano-scheduler.conf": text}}
    cluster = read(tmp_path, node("n1"), volcano("a", {}), config_map, *waiting("a", 1))
    assert message in notes(cluster) and cluster.plugin == "proportion"


def test_the_proportion_of_several_resources():
    """The plugin divides each resource by itself: c asks for no memory, so that its part goes to a and b.

    12 cores: 4 each; 30 GiB: 10 each at first. b wants 6 GiB; what it and c leave is a's: 24, of which it wants 20.
    """
    claims = {
        "a": QueueRequest(1, {"cpu": 9, "memory": 20}, {}, {}),
        "b": QueueRequest(1, {"cpu": 9, "memory": 6}, {}, {}),
        "c": QueueRequest(1, {"cpu": 9}, {}, {}),
    }
    deserved = in_proportion({"cpu": 12, "memory": 30}, claims)
    assert deserved["a"] == pytest.approx({"cpu": 4, "memory": 20})
    assert deserved["b"] == pytest.approx({"cpu": 4, "memory": 6})
    assert deserved["c"] == pytest.approx({"cpu": 4, "memory": 0})


def test_guarantees_come_before_proportions():
    """a is guaranteed 6 of 8 cores: b may have no more than the 2 that are guaranteed to no other."""
    claims = {
        "a": QueueRequest(1, {"cpu": 8}, {"cpu": 6}, {}),
        "b": QueueRequest(3, {"cpu": 8}, {}, {}),
    }
    assert in_proportion({"cpu": 8}, claims) == {"a": {"cpu": 6}, "b": {"cpu": 2}}


def volcano_pod(name, queue, on=None, annotation="scheduling.volcano.sh/queue-name"):
    return pod(name, "ml", ("Job", name), on, annotations={annotation: queue})


def test_queues_of_volcano_by_parent(tmp_path):
    items = [
        volcano("root", {"capability": {"cpu": "7"}}),
        volcano(
            "sci", {"weight": 2, "parent": "root", "capability": {"cpu": "6", "memory": "8Gi"}}
        ),
        volcano("dev", {"weight": 8, "parent": "sci", "guarantee": {"resource": {"cpu": "1500m"}}}),
        volcano("lost", {"parent": "nowhere", "deserved": {"cpu": 1}, "reclaimable": True}),
        volcano("default", {"weight": 1}),
        thing(
            "PodGroup",
            "g",
            {"queue": "sci", "minMember": 1},
            "scheduling.volcano.sh/v1beta1",
            namespace="ml",
        ),
        volcano_pod("a", "dev", "n1"),
        volcano_pod("b", "g", annotation="scheduling.k8s.io/group-name"),
        volcano_pod("c", "lost", annotation="volcano.sh/queue-name"),
        pod("d", owner=("Job", "d"), schedulerName="volcano"),
        volcano_pod("e", "unknown"),
    ]
    cluster = read(tmp_path, node("n1"), *items)
    assert dict(zip(cluster.instance.users, cluster.instance.queue, strict=True)) == {
        "ml/a": "sci/dev",
        "ml/b": "sci",
        "ml/c": "lost",
        "ml/d": "default",
        "ml/e": "(no queue)/ml",
    }
    assert [weight(cluster, path) for path in ("sci", "sci/dev", "lost")] == [2, 8, 1]
    assert limits(cluster, "", "caps") == {"cpu": 7000}
    assert limits(cluster, "sci", "caps") == {"cpu": 6000, "memory": 8192}
    assert limits(cluster, "sci/dev", "guarantees") == {"cpu": 1500}
    lost = cluster.instance.queues
    assert (
        lost.guarantees[lost.named("lost")].tolist()[0] == 1000
        and said(cluster, "spec.deserved") == []
    )
    assert said(cluster, "its parent 'nowhere' is not in the dump") == [
        ("Queue 'lost'", "it stands at the root")
    ]
    assert said(cluster, "Queue 'unknown' is not in the dump") == [
        ("pod 'ml/e'", "it counts as one in no queue")
    ]


def test_queues_of_volcano_by_annotation(tmp_path):
    items = [
        volcano("sci-dev", {"weight": 5}, hierarchy="root/sci/dev", hierarchy_weights="1/2/8"),
        volcano("sci-prod", {"weight": 5}, hierarchy="root/sci/prod", hierarchy_weights="100/2/3"),
        volcano("eng", {"weight": 5}, hierarchy="root/eng", hierarchy_weights="1/4"),
        volcano("eng-a", {}, hierarchy="root/eng/a", hierarchy_weights="1/9/1"),
        volcano("odd", {}, hierarchy="root/odd", hierarchy_weights="1"),
        volcano("as-tests-do", {}, hierarchy="root/q1", hierarchy_weights="root/6"),
        *[volcano_pod(name, name) for name in ("sci-dev", "sci-prod", "eng-a", "odd")],
    ]
    cluster = read(tmp_path, node("n1"), *items)
    assert cluster.instance.queue == ("sci/dev", "sci/prod", "eng/a", "odd")
    assert [weight(cluster, path) for path in ("sci", "sci/dev", "sci/prod", "eng", "eng/a")] == [
        2,
        8,
        3,
        4,
        1,
    ]
    assert weight(cluster, "q1") == 6
    assert said(cluster, "weight 9 of 'eng', where another says 4") == [
        ("Queue 'eng-a'", "left out")
    ]
    assert said(cluster, "hierarchy-weights of '1'") == [
        ("Queue 'odd'", "each weight is taken as 1")
    ]


@pytest.mark.parametrize("covered", [("cpu", "memory"), ("cpu", "memory", "pods")])
def test_a_nominal_quota_counts_though_it_does_not_name_pods(tmp_path, covered):
    """Nominal 30 and 10 CPUs of 40, both want 40: 30 and 10, whether or not the quotas cover pods."""
    amounts = {
        "cpu": {"a": "30", "b": "10"},
        "memory": {"a": "60Gi", "b": "20Gi"},
        "pods": {"a": "60", "b": "60"},
    }
    items = [node(f"n{k}") for k in range(5)]
    for name in "ab":
        groups = flavors(*((resource, amounts[resource][name], {}) for resource in covered))
        items += [
            kueue("ClusterQueue", name, {"cohort": "all", "resourceGroups": groups}),
            kueue("LocalQueue", f"to-{name}", {"clusterQueue": name}, namespace="ml"),
            workload(f"job-{name}", f"to-{name}", ("Job", name), count=40),
        ]
    fair = fairlp.allocate(read(tmp_path, *items).instance, "h-drf")
    assert fair.totals.tolist() == pytest.approx([30, 10], rel=1e-9)
