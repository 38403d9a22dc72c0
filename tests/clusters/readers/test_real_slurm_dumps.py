"""What real Slurm clusters printed (``shared/data/dumps``): totals are those counted from the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fairlp_clusters
from fairlp.errors import InstanceError

DUMPS = Path(__file__).parents[4] / "shared" / "data" / "dumps"


def folder_of(name):
    folder = DUMPS / name
    if not folder.is_dir():
        pytest.skip(f"{name}: the real dumps are not part of the repository")
    return folder


def records(folder, key):
    """Return the entries of a list of Slurm's JSON in the files of a folder."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    (entries,) = [document[key] for document in documents if key in document]
    return entries


def states(entry, key):
    value = entry[key]
    return set(value) if isinstance(value, list) else {value.upper()}


CLOSED = {"DOWN", "DRAIN", "NOT_RESPONDING"}


@pytest.mark.parametrize("name", ["slurm-24.05", "slurm-25.11"])
def test_open_nodes_and_running_jobs_have_the_cpus_that_the_files_say(name):
    folder = folder_of(name)
    snapshot = fairlp_clusters.snapshot(folder)
    nodes = {node["name"]: node for node in records(folder, "nodes")}
    open_nodes = {n for n, node in nodes.items() if not states(node, "state") & CLOSED}
    assert open_nodes <= set(snapshot.instance.servers)
    capacities = snapshot.instance.capacities[:, list(snapshot.instance.resources).index("cpu")]
    is_open = snapshot.instance.servers.labels.isin(open_nodes)
    # What only nodes say is in use is not capacity.
    total = capacities[is_open].sum() + snapshot.hidden.get("cpu", 0)
    assert total == sum(nodes[n]["effective_cpus"] for n in open_nodes)
    jobs = [job for job in records(folder, "jobs") if "RUNNING" in states(job, "job_state")]
    cpus = sum(job["cpus"]["number"] for job in jobs)
    assert snapshot.observed.usage["cpu"].sum() == cpus
    assert snapshot.jobs["run"] == len(jobs)


def test_a_job_that_may_not_begin_yet_is_held_as_one_job_on_two_nodes():
    """In the dump of 25.11 job 5750 is to run on 2 nodes, and begins later."""
    snapshot = fairlp_clusters.snapshot(folder_of("slurm-25.11"))
    assert snapshot.held["reason"].tolist() == ["BeginTime"]
    assert snapshot.held["tasks"].tolist() == [2] and snapshot.jobs["are held"] == 1


def test_use_that_jobs_of_the_dump_do_not_explain_is_hidden():
    """Nodes say that 362 CPUs of open ones and others are allocated; few of the jobs are visible."""
    folder = folder_of("slurm-oregon")
    snapshot = fairlp_clusters.snapshot(folder)
    assert snapshot.hidden["cpu"] > 0 and snapshot.jobs["run"] == 1
    reported = sum(node["alloc_cpus"] for node in records(folder, "nodes"))
    assert reported == 362 and snapshot.hidden["cpu"] <= reported


def test_jobs_of_another_cluster_name_the_node_that_is_missing():
    with pytest.raises(InstanceError, match=r"tasks run on '.+', which is none of the"):
        fairlp_clusters.snapshot(folder_of("slurm-cli"))
