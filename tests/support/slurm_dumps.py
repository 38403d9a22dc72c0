"""Records as Slurm prints them."""

from __future__ import annotations

import json

import fairlp


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
    entries = [{"type": kind, "name": name, "count": count} for kind, name, count in total]
    defaults = {"account": account, "user": user, "parent_account": parent, "shares_raw": share}
    return defaults | {"max": {"tres": {"total": entries}}}


def share(name, parent, shares, user=False, usage=0, factor=0.0, level="1.0"):
    """An entry of ``sshare --json``, as text: Slurm 23.11 prints ``Infinity``, which is not JSON."""
    defaults = {
        "cluster": "c",
        "name": name,
        "parent": parent,
        "shares": shares,
        "usage": usage,
        "partition": "",
    }
    defaults |= {
        "shares_normalized": wrapped(0.5),
        "usage_normalized": wrapped(0.1),
        "effective_usage": 0.1,
    }
    defaults |= {
        "fairshare": {"factor": factor, "level": "LEVEL"},
        "type": ["USER" if user else "ASSOCIATION"],
    }
    return json.dumps(defaults).replace('"LEVEL"', level)


def write_dump(folder, nodes, jobs, accounts=None, meta=None):
    """Write nodes, jobs and accounts into a folder, as Slurm's tools print them."""
    for name, key, entries in (("nodes.json", "nodes", nodes), ("jobs.json", "jobs", jobs)):
        document = {
            "meta": meta or {"Slurm": {"release": "24.05.1"}},
            key: entries,
            "errors": [],
            "warnings": [],
        }
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    if accounts is not None:
        (folder / "accounts.txt").write_text(accounts, encoding="utf-8")
    return folder


def read_dump(folder, *parts, **options):
    """Write a dump and return its snapshot."""
    return fairlp.snapshot(write_dump(folder, *parts), **options)


SSHARE = """Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS|GrpTRESMins|TRESRunMins
root|||0.000000|10||1.000000||||
 physics||30|0.750000|7|0.7|0.7||1.07||
  physics|ann|2|0.666667|7|0.7|1.0|0.5|0.66||
  lab||parent|0.1|0|0|0||||
   lab|bob|1|1.0|0|0|0|1|inf||
 bio||10|0.25|3|0.3|0.3||0.8||
"""


#: What is done for an account whose share is that of its parent.
WEIGHS = "it weighs as much as all with tasks below it, who share at its parent"
