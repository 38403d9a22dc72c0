"""Who schedules and who waits: one fact in a dump forbids the sentence that somebody is short."""

from __future__ import annotations

from pathlib import Path

import pytest

import kubernetes_dumps as kubernetes
from cli_runner import run
from kubernetes_dumps import node, pod, thing
from verdicts import judged, lines_of


def alone(**waiting):
    """a runs 8 of 8 CPUs, and b waits with 4 pods of one; what is given changes these."""
    status = waiting.pop("status", {})
    cpu = {"cpu": "1"}
    pods = [pod(f"w{k}", "b", ("Job", "w"), requests=cpu, **waiting) for k in range(4)]
    for each in pods:
        each["status"] |= status
    runs = [pod(f"r{k}", "a", ("Job", "r"), on="n0", requests=cpu) for k in range(8)]
    return [node("n0"), *runs, *pods]


def compared(folder: Path, items):
    return judged(kubernetes.written(folder, *items))


def says(message):
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    return {"conditions": [condition]}


def test_without_such_a_fact_b_is_short(tmp_path):
    lines = lines_of(compared(tmp_path, alone(status=says("0/1: 1 Insufficient cpu."))))
    assert lines[0].startswith("Not fair: b is 4 tasks short")


QUOTA = thing(
    "ElasticQuota", "q", {"min": {"cpu": 4}}, "scheduling.x-k8s.io/v1alpha1", namespace="b"
)
CHECK = kubernetes.kueue("AdmissionCheck", "m", {"controllerName": "kueue.x-k8s.io/multikueue"})
GATE = [{"name": "kueue.x-k8s.io/admission"}]


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (alone(schedulerName="kai-scheduler"), "4 pods are scheduled by 'kai-scheduler'"),
        (alone(annotations={"gpu-fraction": "0.5"}), "4 pods are given a part of a GPU"),
        (alone(schedulingGates=GATE), "add what kubectl get clusterqueues,cohorts"),
        ([*alone(), QUOTA], "objects of kind ElasticQuota"),
        ([*alone(), CHECK], "other clusters (MultiKueue)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_who_else_schedules_leaves_shares_and_no_verdict(tmp_path, items, words, monkeypatch):
    comparison = compared(tmp_path, items)
    assert lines_of(comparison)[0].startswith("No verdict: ") and words in lines_of(comparison)[0]
    assert comparison.tenants.loc["a", "share"] == 1 and not comparison.short.size
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert "no verdict: " in run("report", str(tmp_path), "--exit-code", code=5).stderr


@pytest.mark.parametrize(
    "items",
    [
        alone(schedulingGates=[{"name": "mine"}]),
        alone(status=says("0/1: 1 Insufficient cpu, 1 node(s) had volume node affinity conflict.")),
        alone(topologySpreadConstraints=[{"topologyKey": "zone"}]),
        alone(nodeSelector={"disk": "ssd"}),
    ],
)
def test_what_is_not_lack_of_room_is_owed_nothing(tmp_path, items):
    assert compared(tmp_path, items).is_fair


def test_pods_that_end_hold_nothing_and_nominated_ones_have_their_room(tmp_path):
    items = alone()
    for each in items[1:5]:
        each["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    comparison = compared(tmp_path / "ending", items)
    assert comparison.tenants["tasks"].tolist() == [4, 0] and comparison.is_fair
    for each in items[9:]:
        each["status"]["nominatedNodeName"] = "n0"
    comparison = compared(tmp_path / "nominated", items)
    assert comparison.tenants["tasks"].tolist() == [4, 4] and not comparison.waiting.any()
