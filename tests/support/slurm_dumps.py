"""Records as Slurm prints them."""

from __future__ import annotations

import json

import fairlp_clusters
from fairlp_clusters.readers.slurm import SlurmReader


def wrapped(value):
    return {"set": True, "infinite": False, "number": value}


def node(name, **fields):
    """A node of 16 cores and 64 GiB in partition cpu."""
    defaults = {
        "name": name,
        "cpus": 16,
        "real_memory": 65536,
        "gres": "",
        "state": ["IDLE"],
        "partitions": ["cpu"],
    }
    return defaults | {"features": []} | fields


def job(
    number,
    user="ann",
    account="physics",
    tres="cpu=4,mem=8G,node=1,billing=4",
    nodes="n1",
    **fields,
):
    """A job that runs where ``nodes`` says, and waits where that is empty."""
    state = ["RUNNING"] if nodes else ["PENDING"]
    defaults = {
        "job_id": number,
        "user_name": user,
        "account": account,
        "partition": "cpu",
        "job_state": state,
    }
    defaults |= {
        "nodes": nodes,
        "tres_req_str": tres,
        "tres_alloc_str": tres if nodes else "",
        "features": "",
    }
    return defaults | {"submit_time": wrapped(1767225600)} | fields


ALLOCATIONS = {
    "new": {"nodes": {"list": "n[1-2]", "allocation": [
        {"name": "n1", "cpus": {"count": 6}, "memory": {"allocated": 4096}},
        {"name": "n2", "cpus": {"count": 2}, "memory": {"allocated": 4096}},
    ]}},
    "old": {"nodes": "n[1-2]", "allocated_nodes": [
        {"nodename": "n1", "cpus_used": 6, "memory_allocated": 4096},
        {"nodename": "n2", "cpus_used": 2, "memory_allocated": 4096},
    ]},
}  # fmt: skip


def association(account, user="", parent="", share=1, total=()):
    """An association of ``sacctmgr show assoc --json``, with GrpTRES."""
    entries = [{"type": kind, "name": name, "count": count} for kind, name, count in total]
    defaults = {"account": account, "user": user, "parent_account": parent, "shares_raw": share}
    return defaults | {"max": {"tres": {"total": entries}}}


def write_dump(folder, nodes, jobs, accounts=None, meta=None):
    """Write nodes, jobs and accounts into a folder, as Slurm's tools print them."""
    lists = {"nodes": nodes, "jobs": jobs}
    if accounts is not None:
        lists["associations"] = accounts
    for key, entries in lists.items():
        document = {
            "meta": meta or {"Slurm": {"release": "24.05.1"}},
            key: entries,
            "errors": [],
            "warnings": [],
        }
        (folder / f"{key}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def read_dump(folder, *parts, **options):
    """Write a dump and return its snapshot."""
    return fairlp_clusters.snapshot(write_dump(folder, *parts), **options)


ACCOUNTS = [
    association("root"),
    association("physics", parent="root", share=30),
    association("physics", "ann", share=2),
    association("lab", parent="physics", share=wrapped(0) | {"infinite": True}),
    association("lab", "bob"),
    association("bio", parent="root", share=wrapped(10)),
]


#: What is done for an account whose share is that of its parent.
WEIGHS = "it weighs as much as all with tasks below it, who share at its parent"


def cluster_of(folder):
    """Return the cluster that the reader of Slurm makes of the files in a folder."""
    reader = SlurmReader()
    for path in sorted(folder.iterdir()):
        reader.read(path)
    cluster, allowed = reader.finish()
    return cluster, allowed


def read_cluster(folder, nodes, jobs, **texts):
    """Write a dump and further files by name, and return the cluster that the reader makes of it."""
    write_dump(folder, nodes, jobs)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return cluster_of(folder)[0]
