"""Dumps of each scheduler as files, and snapshots of lists of manifests."""

from __future__ import annotations

import copy

import fairlp_clusters
import kueue_dumps
import slurm_dumps
import yarn_dumps
from kubernetes_dumps import node, pod, thing, volcano, written


def read(folder, *items, **options):
    return fairlp_clusters.snapshot(written(folder, *items), **options)


def notes(snapshot):
    return " | ".join(
        " ".join(map(str, row)) for row in snapshot.not_understood.itertuples(index=False)
    )


def snapshot(folder, *items):
    return fairlp_clusters.snapshot(written(folder, *items))


def affinity(*terms):
    required = {"nodeSelectorTerms": list(terms)}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    }


def term(key, operator, *values, kind="matchExpressions"):
    return {kind: [{"key": key, "operator": operator, "values": list(values)}]}


def kubernetes():
    items = [
        node("n1", {"zone": "a"}, taints=[{"key": "k", "effect": "NoSchedule"}]),
        pod(
            "a",
            on="n1",
            labels={kueue_dumps.LABEL: "to-red"},
            initContainers=[{"restartPolicy": "Always"}],
        ),
        pod(
            "b",
            tolerations=[{"key": "k", "operator": "Exists"}],
            nodeSelector={"zone": "a"},
            overhead={"cpu": "1"},
        ),
        thing("ResourceQuota", "q", {"hard": {"cpu": "3"}}, namespace="ml"),
        volcano(
            "dev",
            {"weight": 2, "guarantee": {"resource": {"cpu": 1}}},
            hierarchy="root/a",
            hierarchy_weights="1/2",
        ),
        kueue_dumps.workload("w", "to-red", ("Job", "w")),
        *kueue_dumps.TREE,
    ]
    return {"x.json": {"apiVersion": "v1", "items": items}}


def slurm():
    spread = slurm_dumps.job(
        1, tres="cpu=8,mem=8G,node=2", nodes="n[1-2]", gres_detail=["gpu:1", "gpu:1"]
    )
    spread["job_resources"] = slurm_dumps.ALLOCATIONS["new"]
    part = {"het_job_id": slurm_dumps.wrapped(3), "het_job_id_set": "3-4", "shared": ["none"]}
    jobs = [
        spread,
        slurm_dumps.job(2, nodes="", array_task_string="1-3", features="a&b|c"),
        slurm_dumps.job(3, nodes="", licenses="x:1", required_nodes="n1", qos="q", **part),
        slurm_dumps.job(4, nodes="", resv_name="r", contiguous=True, exclusive=["user"], **part),
    ]
    licence = {"LicenseName": "x", "Total": 2, "Used": 1, "Free": 1}
    partition = {"name": "cpu", "priority": {"tier": 1}, "preempt_mode": "REQUEUE"}
    nodes = [slurm_dumps.node("n1", gres="gpu:2(S:0)", features=["a", "b"]), slurm_dumps.node("n2")]
    accounts = {"associations": [slurm_dumps.association("physics", "ann", total=[("cpu", "", 1)])]}
    return {
        "a.json": {"meta": {}, "nodes": nodes},
        "b.json": {"meta": {}, "jobs": jobs},
        "c.json": {"meta": {}} | accounts,
        "d.json": {"licenses": [licence], "partitions": [partition], "meta": {}},
    }


def yarn():
    app = yarn_dumps.app(1, resourceRequests=[yarn_dumps.asks(2)])
    app["resourceInfo"] = {
        "resourceUsagesByPartition": [{"partitionName": "", "used": {"memory": 2048, "vCores": 2}}]
    }
    user = {"username": "ann", "userResourceLimit": {"memory": 2048, "vCores": 2}}
    queue = {"queueName": "a", "capacity": 50.0, "userLimitFactor": 1.0, "users": {"user": [user]}}
    capacity = copy.deepcopy(yarn_dumps.CAPACITY) | {"queues": {"queue": [queue]}}
    setting = {"key": "yarn.scheduler.capacity.resource-calculator", "value": "own"}
    return {
        "0.json": {"properties": [setting]},
        "a.json": {"nodes": {"node": [yarn_dumps.node("n1", (2048, 2))]}},
        "b.json": {"apps": {"app": [app]}},
        "c.json": {"scheduler": {"schedulerInfo": capacity}},
    }


def places(value, path=()):
    """All places in a document."""
    yield path
    for key, inner in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield from places(inner, (*path, key))
