"""Who schedules: one fact in a dump forbids any verdict; and who waits for something else than room."""

from __future__ import annotations

import pytest

import kubernetes_dumps as kubernetes
from dump_files import read
from kubernetes_dumps import node, pod, thing
from kueue_dumps import LABEL, workload


def alone(on=None, **waiting):
    """a runs 8 of 8 CPUs, and b waits with 4 pods of one; what is given changes these."""
    status = waiting.pop("status", {})
    cpu = {"cpu": "1"}
    pods = [pod(f"w{k}", "b", ("Job", "w"), on, cpu, **waiting) for k in range(4)]
    for each in pods:
        each["status"] |= status
    runs = [pod(f"r{k}", "a", ("Job", "r"), on="n0", requests=cpu) for k in range(8)]
    return [node("n0"), *runs, *pods]


def says(message):
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    return {"conditions": [condition]}


def test_without_such_a_fact_there_may_be_a_verdict(tmp_path):
    dump = read(tmp_path, *alone(status=says("0/1: 1 Insufficient cpu.")))
    assert dump.no_verdict == "" and dump.waiting["tasks"].tolist() == [4]


def foreign(kind, version, spec=None):
    return thing(kind, "q", spec or {}, version, namespace="b")


CHECK = kubernetes.kueue("AdmissionCheck", "m", {"controllerName": "kueue.x-k8s.io/multikueue"})
GATE = [{"name": "kueue.x-k8s.io/admission"}]
ELSEWHERE = workload("w", "q", ("Job", "w"), {"clusterName": "east"})
SOON = workload("w", "q", ("Job", "w"), {"nominatedClusterNames": ["east"]})
KUEUE = "of Kueue that are not in the dump: add what kubectl get clusterqueues,cohorts"
VOLCANO = "of Volcano that are not in the dump: add what kubectl get queues.scheduling.volcano.sh"
HELD = workload("w", "q", ("Job", "w"))


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (alone(schedulerName="kai-scheduler"), "4 pods are scheduled by 'kai-scheduler'"),
        (alone("n0", schedulerName="yunikorn"), "4 pods are scheduled by 'yunikorn'"),
        (alone(annotations={"gpu-fraction": "0.5"}), "4 pods are given a part of a GPU"),
        (alone(annotations={"gpu-memory": "2000"}), "4 pods are given a part of a GPU"),
        (alone(schedulingGates=GATE), f"4 pods are in queues {KUEUE}"),
        (alone("n0", labels={LABEL: "q"}), f"4 pods are in queues {KUEUE}"),
        (alone("n0", labels={"kueue.x-k8s.io/podset": "main"}), f"4 pods are in queues {KUEUE}"),
        (alone(annotations={"yunikorn.apache.org/queue": "a"}), "scheduled by 'yunikorn.apache"),
        ([*alone(), HELD], f"1 Workload is in queues {KUEUE}"),
        (alone(schedulerName="volcano"), f"4 pods are in queues {VOLCANO}"),
        ([*alone(), foreign("ElasticQuota", "scheduling.x-k8s.io/v1alpha1")], "kind ElasticQuota"),
        ([*alone(), foreign("QuotaSubtree", "quota.codeflare.dev/v1")], "kind QuotaSubtree"),
        ([*alone(), foreign("Queue", "scheduling.run.ai/v2")], "objects of kind Queue"),
        ([*alone(), CHECK], "other clusters (MultiKueue)"),
        ([*alone(), ELSEWHERE], "other clusters (MultiKueue)"),
        ([*alone(), SOON], "other clusters (MultiKueue)"),
        ([*alone(), foreign("MultiKueueConfig", "kueue.x-k8s.io/v1beta1")], "(MultiKueue)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_who_else_schedules_leaves_shares_and_no_verdict(tmp_path, items, words):
    dump = read(tmp_path, *items)
    assert words in dump.no_verdict
    assert dump.observed.totals.filter(like="a/").tolist() == [8]


@pytest.mark.parametrize(
    ("fields", "held", "left_out"),
    [
        ({"schedulingGates": [{"name": "mine"}]}, "gate mine", None),
        (
            {"status": says("0/1: 1 node(s) had volume node affinity conflict.")},
            "0/1: 1 node",
            None,
        ),
        ({"topologySpreadConstraints": [{"topologyKey": "zone"}]}, "", "topology spread"),
        ({"nodeSelector": {"disk": "ssd"}}, "", None),
    ],
)
def test_what_is_not_lack_of_room_is_held_or_named_or_runs_nowhere(
    tmp_path, fields, held, left_out
):
    dump = read(tmp_path, *alone(**fields))
    assert [reason[: len(held)] for reason in dump.held["reason"]] == ([held] if held else [])
    assert dump.waiting_jobs["left_out"].tolist() == ([left_out] if left_out else [])


def test_pods_that_end_hold_nothing_and_nominated_ones_have_their_room(tmp_path):
    items = alone()
    for each in items[1:5]:
        each["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    dump = read(tmp_path / "ending", *items)
    assert dump.observed.totals.to_dict() == {"a/r": 4, "b/w": 0}
    for each in items[9:]:
        each["status"]["nominatedNodeName"] = "n0"
    dump = read(tmp_path / "nominated", *items)
    assert dump.observed.totals.tolist() == [4, 4] and dump.waiting.empty
