"""Records as Slurm prints them."""

from __future__ import annotations

import json


def wrapped(value):
    return {"set": True, "infinite": False, "number": value}


def node(name, **more):
    """A node of 16 cores and 64 GiB in partition cpu."""
    known = {
        "name": name,
        "cpus": 16,
        "real_memory": 65536,
        "gres": "",
        "state": ["IDLE"],
        "partitions": ["cpu"],
    }
    return known | {"features": []} | more


def job(
    number, user="ann", account="physics", tres="cpu=4,mem=8G,node=1,billing=4", nodes="n1", **more
):
    """A job that runs where ``nodes`` says, and waits where that is empty."""
    state = ["RUNNING"] if nodes else ["PENDING"]
    known = {
        "job_id": number,
        "user_name": user,
        "account": account,
        "partition": "cpu",
        "job_state": state,
    }
    known |= {
        "nodes": nodes,
        "tres_req_str": tres,
        "tres_alloc_str": tres if nodes else "",
        "features": "",
    }
    return known | {"submit_time": wrapped(1767225600)} | more


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
    known = {"account": account, "user": user, "parent_account": parent, "shares_raw": share}
    return known | {"max": {"tres": {"total": entries}}}


def share(name, parent, shares, user=False, usage=0, factor=0.0, level="1.0"):
    """An entry of ``sshare --json``, as text: Slurm 23.11 prints ``Infinity``, which is not JSON."""
    known = {
        "cluster": "c",
        "name": name,
        "parent": parent,
        "shares": shares,
        "usage": usage,
        "partition": "",
    }
    known |= {
        "shares_normalized": wrapped(0.5),
        "usage_normalized": wrapped(0.1),
        "effective_usage": 0.1,
    }
    known |= {
        "fairshare": {"factor": factor, "level": "LEVEL"},
        "type": ["USER" if user else "ASSOCIATION"],
    }
    return json.dumps(known).replace('"LEVEL"', level)
