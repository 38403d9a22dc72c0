"""Nodes that the autoscaler may add: they sleep, and what waits for them starts."""

from __future__ import annotations

import json

import pytest

import fairlp_clusters
from fairlp_clusters.readers.autoscaler import NodeGroup, groups_of, nodes_to_come
from fairlp_clusters.readers.cluster import Node, Notes
from kubernetes_dumps import node, pod, said, written

YAML = """
autoscalerStatus: Running
nodeGroups:
- name: https://cloud/zones/a/instanceGroups/gke-prod-small-1a2b-grp
  health:
    status: Healthy
    nodeCounts: {registered: {total: 1, ready: 1}}
    cloudProviderTarget: 1
    minSize: 0
    maxSize: 3
- name: gone
  health: {cloudProviderTarget: 0, minSize: 0, maxSize: 9}
- name: full
  health: {cloudProviderTarget: 2, minSize: 0, maxSize: 2}
"""


def status(text):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cluster-autoscaler-status", "namespace": "kube-system"},
        "data": {"status": text},
    }


def test_nodes_to_come_sleep(tmp_path):
    """One node of 4 CPUs, full with a's; b waits for 4, and two nodes more may come."""
    pool = {"cloud.google.com/gke-nodepool": "small"}
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "99"}
    items = [node("n1", pool, allocatable=amounts), status(YAML)]
    cpu = {"cpu": "1"}
    items += [pod(f"a{k}", "a", ("Job", "a"), "n1", cpu) for k in range(4)]
    items += [pod(f"b{k}", "b", ("Job", "b"), None, cpu) for k in range(4)]
    snapshot = fairlp_clusters.snapshot(written(tmp_path, *items))
    assert len(snapshot.asleep) == 2 and snapshot.instance.pool[0] == 12_000


def test_a_group_without_a_node_in_the_dump_does_not_count(tmp_path):
    items = [node("n1"), pod("a", on="n1"), status(YAML)]
    snapshot = fairlp_clusters.snapshot(written(tmp_path, *items))
    assert snapshot.asleep.empty
    assert [place for place, _ in said(snapshot, "none of them is in the dump")] == [
        "node group 'https://cloud/zones/a/instanceGroups/gke-prod-small-1a2b-grp'",
        "node group 'gone'",
    ]


def test_what_the_status_says_of_groups():
    assert groups_of(status(YAML))[1:] == [NodeGroup("gone", 0, 9), NodeGroup("full", 2, 2)]
    assert groups_of(status("nodeGroups: []")) == [] and groups_of(status("")) == []


@pytest.mark.parametrize("depth", [51, 1000, 100_000])
@pytest.mark.parametrize("opening", ["[", "- ", "{a: "])
def test_lists_of_the_status_within_one_another_are_bounded(tmp_path, depth, opening):
    items = [node("n1"), pod("a", on="n1"), status(f"nodeGroups: {opening * depth}")]
    if opening == "- ":
        items[-1] = status(opening * depth)
    snapshot = fairlp_clusters.snapshot(written(tmp_path, *items))
    assert said(snapshot, "nest")


@pytest.mark.parametrize("text", ["a: 2026-13-45", "a: 0b_", "a: [", "a: !!python/none x"])
def test_a_status_that_is_no_yaml_is_noted(tmp_path, text):
    items = [node("n1"), pod("a", on="n1"), status(text)]
    assert said(fairlp_clusters.snapshot(written(tmp_path, *items)), "its status is no YAML")


@pytest.mark.parametrize("size", [2**63, -1, "9", True, 1.5])
def test_sizes_of_groups_are_counts(tmp_path, size):
    text = json.dumps({"nodeGroups": [{"name": "small", "health": {"maxSize": size}}]})
    items = [node("n1"), pod("a", on="n1"), status(text)]
    assert said(fairlp_clusters.snapshot(written(tmp_path, *items)), "maxSize is ")


@pytest.mark.parametrize("group", ["gke-prod-small-1a2b", "a/small", "small", "small-x"])
def test_a_group_has_the_name_of_its_nodes_between_dashes_and_slashes(group):
    text = f"nodeGroups: [{{name: {group}, health: {{cloudProviderTarget: 1, maxSize: 3}}}}]"
    for name, belongs in (("small", True), ("mall", False)):
        nodes = [Node("n1", {}, {"agentpool": name})]
        assert bool(nodes_to_come(groups_of(status(text)), nodes, Notes())) == belongs
