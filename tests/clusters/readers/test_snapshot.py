"""What a dump says of itself: its time, its version, its files, what is kept and what is ending."""

from __future__ import annotations

import json
import os

import pandas as pd
import pytest

import fairlp_clusters
import kubernetes_dumps as kubernetes
import slurm_dumps as slurm
import yarn_dumps as yarn
from dump_files import read

NEW_META = {"slurm": {"version": {"major": "24"}, "release": "24.05.3"}}


def with_version(name, version):
    node = kubernetes.node(name)
    node["status"]["nodeInfo"] = {"kubeletVersion": version}
    return node


def test_the_time_is_what_the_dump_says_else_its_name_else_when_it_was_changed(tmp_path):
    slurm.write_dump(tmp_path, [slurm.node("n1")], [slurm.job(1)])
    os.utime(tmp_path / "jobs.json", (2e9, 2e9))
    os.utime(tmp_path / "nodes.json", (1e9, 1e9))
    assert fairlp_clusters.snapshot(tmp_path).time == pd.Timestamp(2e9, unit="s", tz="UTC")
    (tmp_path / "jobs.json").rename(tmp_path / "jobs-20261128-1030.json")
    assert fairlp_clusters.snapshot(tmp_path).time == pd.Timestamp("2026-11-28T10:30")
    licences = {"licenses": [], "last_update": {"set": True, "number": 1795860000}}
    (tmp_path / "licences.json").write_text(json.dumps(licences), encoding="utf-8")
    dump = fairlp_clusters.snapshot(tmp_path)
    assert dump.time == pd.Timestamp(1795860000, unit="s", tz="UTC")
    assert dump.files == ("jobs-20261128-1030.json", "licences.json", "nodes.json")


@pytest.mark.parametrize(
    ("meta", "version"),
    [({"Slurm": {"release": "23.02.6"}}, "23.02.6"), (NEW_META, "24.05.3"), ({"unknown": 1}, "")],
)
def test_slurm_says_its_version(tmp_path, meta, version):
    slurm.write_dump(tmp_path, [slurm.node("n1")], [slurm.job(1)], meta=meta)
    assert fairlp_clusters.snapshot(tmp_path).version == version


def test_the_newest_kubelet_tells_the_version_of_kubernetes(tmp_path):
    nodes = [with_version("n1", "v1.9.11"), with_version("n2", "v1.31.2"), kubernetes.node("n3")]
    assert read(tmp_path, *nodes, kubernetes.pod("a", on="n1")).version == "1.31.2"
    assert read(tmp_path, kubernetes.node("n1"), kubernetes.pod("a", on="n1")).version == ""


def test_yarn_says_its_version_in_its_information(tmp_path):
    documents = {
        "nodes": {"node": [yarn.node("n1", (2048, 2))]},
        "apps": {"app": [yarn.app(1)]},
        "clusterInfo": {"state": "STARTED", "resourceManagerVersion": "3.3.6"},
    }
    for key, value in documents.items():
        (tmp_path / f"{key}.json").write_text(json.dumps({key: value}), encoding="utf-8")
    assert fairlp_clusters.snapshot(tmp_path).version == "3.3.6"


def test_backfill_keeps_what_is_free_on_planned_nodes(tmp_path):
    states = {
        "n1": ["IDLE", "PLANNED"],
        "n2": ["MIXED", "PLANNED"],
        "n3": ["DOWN", "PLANNED"],
        "n4": ["IDLE"],
    }
    nodes = [slurm.node(name, state=state) for name, state in states.items()]
    jobs = [slurm.job(1, nodes="n2"), slurm.job(2, nodes="n3")]
    dump = slurm.read_dump(tmp_path, nodes, jobs)
    assert dump.kept.to_dict() == {"n1": "PLANNED", "n2": "PLANNED"}
    assert dump.observed.tasks_array.sum() == 2


def test_what_pods_being_deleted_hold_is_ending_but_for_what_a_nominated_pod_takes(tmp_path):
    cpu = {"cpu": "3"}
    pods = [kubernetes.pod(f"r{k}", on="n1", requests=cpu) for k in range(2)]
    for pod in pods:
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    others = [kubernetes.pod("runs", on="n1"), kubernetes.pod("waits", requests={"cpu": "4"})]
    items = [kubernetes.node("n1"), kubernetes.node("n2"), *pods, *others]
    dump = read(tmp_path, *items)
    assert dump.ending["cpu"].to_dict() == {"n1": 6000} and dump.observed.totals.sum() == 1
    others[1]["status"]["nominatedNodeName"] = "n1"
    dump = read(tmp_path, *items)
    assert dump.ending["cpu"].to_dict() == {"n1": 2000} and dump.observed.totals.sum() == 2


def test_jobs_that_complete_are_ending_and_their_use_is_not_hidden(tmp_path):
    completing = slurm.job(1, job_state=["COMPLETED", "COMPLETING"])
    node = slurm.node("n1", state=["MIXED", "COMPLETING"], alloc_cpus=4, alloc_memory=8192)
    waiting = slurm.job(2, user="bob", nodes="")
    dump = slurm.read_dump(tmp_path, [node], [completing, waiting])
    assert dump.ending.to_dict("index") == {"n1": {"cpu": 4, "memory": 8192}}
    assert dump.observed.totals.to_dict() == {"physics/bob": 0} and dump.hidden.empty
    assert dump.jobs.to_dict() == {"run": 0, "wait": 1, "are held": 0}
