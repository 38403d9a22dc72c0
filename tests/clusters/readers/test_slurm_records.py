"""The text of ``scontrol show node`` and ``show job`` says what Slurm's JSON says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

import fairlp_clusters
from fairlp_clusters.readers.slurm_records import record_of, text_blocks
from kubernetes_dumps import said
from profiles import many
from slurm_dumps import cluster_of, job, job_as_text, node, node_as_text, write_dump

SUBMITTED = "2026-01-01T00:00:00"


def entries_of_jobs():
    """Jobs that run and wait on one node and on several, with what they ask of nodes."""
    resources = {
        "nodes": {
            "allocation": [
                {"name": "n1", "cpus": {"count": 6}, "memory": {"allocated": 4096}},
                {"name": "n2", "cpus": {"count": 2}, "memory": {"allocated": 4096}},
            ]
        }
    }
    common = {"submit_time": SUBMITTED, "state_reason": "Resources", "priority": 3}
    down = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    return [
        job(1, **common),
        job(
            2,
            tres="cpu=8,mem=8G,node=2",
            nodes="n[1-2]",
            node_count=2,
            job_resources=resources,
            **common,
        ),
        job(3, "bob", nodes="", features="a&b", excluded_nodes="n2", **common),
        job(4, "bob", nodes="", tres="cpu=12,mem=8G,node=3", node_count=3, **common),
        job(5, "bob", nodes="", array_task_string="1-5%2", **common),
        job(6, "eve", nodes="", **common | {"state_reason": "Dependency"}),
        job(
            7, "eve", nodes="", submit_time=SUBMITTED, licenses="matlab:2", state_reason="Licenses"
        ),
        job(8, "eve", nodes="", **common | {"state_description": down}),
        job(9, "eve", nodes="", shared=["none"], **common),
        job(10, "eve", nodes="", required_nodes="n1", **common),
    ]


def entries_of_nodes():
    return [
        node("n1", features=["a", "b"], alloc_cpus=10, alloc_memory=12288, tres_used="cpu=10,mem=12G"),
        node("n2", gres="gpu:a100:4(S:0-1)", partitions=["cpu", "gpu"]),
        node("n3", state=["IDLE", "CLOUD", "POWERED_DOWN"]),
        node("n4", state=["IDLE", "DRAIN"]),
    ]  # fmt: skip


def contents(cluster):
    """Return all that a reader fills of a cluster, but for the files that notes name."""
    notes = cluster.notes.table()
    return {
        "nodes": {name: (n.amounts, n.attributes, n.closed, n.asleep) for name, n in cluster.nodes.items()},
        "groups": dict(cluster.groups),
        "waiting": cluster.waiting_jobs,
        "running": dict(cluster.running_jobs),
        "jobs": cluster.jobs,
        "notes": sorted(zip(notes["what"], notes["done"], strict=True)),
    }  # fmt: skip


def write_as_text(folder, nodes, jobs, one_line=False, **options):
    texts = [node_as_text(entry, one_line, **options) for entry in nodes]
    (folder / "nodes.txt").write_text("".join(texts), encoding="utf-8")
    texts = [job_as_text(entry, one_line, **options) for entry in jobs]
    (folder / "jobs.txt").write_text("".join(texts), encoding="utf-8")


@pytest.mark.parametrize("one_line", [False, True])
def test_text_says_what_json_says(tmp_path, one_line):
    nodes, jobs = entries_of_nodes(), entries_of_jobs()
    folders = {name: tmp_path / name for name in ("json", "text")}
    for folder in folders.values():
        folder.mkdir()
    write_dump(folders["json"], nodes, jobs)
    write_as_text(folders["text"], nodes, jobs, one_line)
    of_json = cluster_of(folders["json"])[0]
    of_text = cluster_of(folders["text"])[0]
    assert contents(of_text) == contents(of_json)
    assert [job.name for job in of_text.waiting_jobs if job.name] == ["job 4"]
    snapshots = [fairlp_clusters.snapshot(folder) for folder in folders.values()]
    assert snapshots[0].instance.equals(snapshots[1].instance)
    assert snapshots[0].waiting.equals(snapshots[1].waiting)


#: Free text that looks like fields, as users and administrators write it.
WORDS = st.lists(
    st.sampled_from(
        ["a", "State=DOWN", "Partition=gpu", "Nodes=n9", "cpus=9", "=", "(null)", "Gres=gpu:9", "é"]
    ),
    max_size=5,
)


@settings(max_examples=many(60), deadline=None)
@given(
    WORDS.map(" ".join),
    st.booleans(),
    st.lists(
        st.tuples(st.integers(1, 64), st.integers(1, 99999), st.integers(1, 3), st.booleans()),
        min_size=1,
        max_size=6,
    ),
)
def test_records_in_text_are_those_of_json(tmp_path_factory, free_text, one_line, shapes):
    nodes = [node(f"n{k}", cpus=4 + k, gres="gpu:2" if k == 1 else "") for k in (1, 2, 3)]
    jobs = []
    for number, (cpus, memory, count, runs) in enumerate(shapes, 1):
        hosts = ",".join(f"n{k + 1}" for k in range(count)) if runs else ""
        shape = f"cpu={cpus},mem={memory}M,node={count}"
        fields = {"node_count": count, "priority": cpus, "submit_time": SUBMITTED}
        jobs.append(job(number, tres=shape, nodes=hosts, **fields))
    of_json = tmp_path_factory.mktemp("json")
    of_text = tmp_path_factory.mktemp("text")
    write_dump(of_json, nodes, jobs)
    write_as_text(of_text, nodes, jobs, one_line, free_text=free_text or "x")
    assert contents(cluster_of(of_text)[0]) == contents(cluster_of(of_json)[0])


def test_a_record_that_is_not_as_printed_is_one_line_of_what_is_not_understood(tmp_path):
    broken = job_as_text(job(2)).replace("NodeList=n1", "NodeList=n[1")
    text = job_as_text(job(1)) + broken
    (tmp_path / "nodes.txt").write_text(node_as_text(node("n1")), encoding="utf-8")
    (tmp_path / "jobs.txt").write_text(text, encoding="utf-8")
    snapshot = fairlp_clusters.snapshot(tmp_path)
    assert [place for place, _ in said(snapshot, "a bracket is not closed")] == ["jobs: '2'"]
    assert snapshot.observed.totals.to_dict() == {"physics/ann": 1}


def test_what_a_job_has_on_each_node_is_read_with_its_devices():
    text = job_as_text(job(1, nodes="n[1-3]"))
    lines = (
        "Nodes=n[1-2] CPU_IDs=0-3,8 Mem=4096 GRES=gpu:2(IDX:0-1)\n     Nodes=n3 CPU_IDs= Mem= GRES="
    )
    (block,) = text_blocks(text.replace("MinCPUsNode=1", f"{lines}\n   MinCPUsNode=1"))
    record = record_of(block)[1]
    first = {"gres": "gpu:2(IDX:0-1)", "cpus": {"count": 5}, "memory": {"allocated": 4096}}
    assert record["job_resources"]["nodes"]["allocation"] == [
        {"name": "n1"} | first,
        {"name": "n2"} | first,
        {"name": "n3", "gres": ""},
    ]
    assert record["gres_detail"] == ["gpu:2(IDX:0-1)", "gpu:2(IDX:0-1)", ""]
