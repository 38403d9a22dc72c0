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
    return fairlp_clusters.snapshot(write_dump(folder, *parts), **options)


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


def node_as_text(entry, one_line=False, free_text="Linux 5.15 #1 SMP State=DOWN"):
    """Return a node as ``scontrol show node`` prints it."""
    lines = [
        f"NodeName={entry['name']} Arch=x86_64 CoresPerSocket=8 ",
        f"CPUAlloc={entry.get('alloc_cpus', 0)} CPUEfctv={entry['cpus']} CPUTot={entry['cpus']} "
        "CPULoad=0.01",
        f"AvailableFeatures={','.join(entry['features']) or '(null)'}",
        f"ActiveFeatures={','.join(entry['features']) or '(null)'}",
        f"Gres={entry['gres'] or '(null)'}",
        f"NodeAddr={entry['name']} NodeHostName={entry['name']} Version=23.11.4",
        f"OS={free_text} ",
        f"RealMemory={entry['real_memory']} AllocMem={entry.get('alloc_memory', 0)} "
        "FreeMem=1000 Sockets=2 Boards=1",
        f"State={'+'.join(entry['state'])} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A "
        "MCS_label=N/A",
        f"Partitions={','.join(entry['partitions'])} ",
        "BootTime=2026-01-01T00:00:00 SlurmdStartTime=2026-01-01T00:00:00",
        f"CfgTRES=cpu={entry['cpus']},mem={entry['real_memory']}M,billing={entry['cpus']}",
        f"AllocTRES={entry.get('tres_used', '')}",
        "CurrentWatts=n/a AveWatts=n/a",
        f"Reason={free_text} [root@2026-01-01T00:00:00]",
    ]
    return (" " if one_line else "\n   ").join(lines) + ("\n" if one_line else "\n\n")


def job_as_text(entry, one_line=False, free_text="my job Partition=gpu"):
    """Return a job as ``scontrol show job`` prints it, with `free_text` as its name and command."""
    array = entry.get("array_task_string")
    head = f"JobId={entry['job_id']} "
    if array:
        head += f"ArrayJobId={entry['job_id']} ArrayTaskId={array} "
    reason = entry.get("state_description") or entry.get("state_reason") or "None"
    count = entry.get("node_count", 1)
    lines = [
        f"{head}JobName={free_text}",
        f"UserId={entry['user_name']}(1001) GroupId=users(100) MCS_label=N/A",
        f"Priority={entry.get('priority', 1)} Nice=0 Account={entry['account']} "
        f"QOS={entry.get('qos') or '(null)'}",
        f"JobState={entry['job_state'][0]} Reason={reason.replace(' ', '_')} Dependency=(null)",
        "Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0",
        "RunTime=00:00:00 TimeLimit=1-00:00:00 TimeMin=N/A",
        f"SubmitTime={entry.get('submit_time')} EligibleTime=2026-01-01T00:00:00",
        f"Partition={entry['partition']} AllocNode:Sid=login:17",
        f"ReqNodeList={entry.get('required_nodes') or '(null)'} "
        f"ExcNodeList={entry.get('excluded_nodes') or '(null)'}",
        f"NodeList={entry['nodes'] or '(null)'}",
        f"NumNodes={count} NumCPUs=4 NumTasks=1 CPUs/Task=1 ReqB:S:C:T=0:0:*:*",
        f"ReqTRES={entry['tres_req_str']}",
        f"AllocTRES={entry['tres_alloc_str'] or '(null)'}",
        "Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*",
    ]
    allocations = entry.get("job_resources", {}).get("nodes", {}).get("allocation", [])
    for allocation in allocations:
        cpus, memory = allocation["cpus"]["count"], allocation["memory"]["allocated"]
        lines.append(f"  Nodes={allocation['name']} CPU_IDs=0-{cpus - 1} Mem={memory} GRES=")
    lines += [
        "MinCPUsNode=1 MinMemoryNode=8G MinTmpDiskNode=0",
        f"Features={entry.get('features') or '(null)'} DelayBoot=00:00:00",
        f"OverSubscribe={'NO' if entry.get('shared') == ['none'] else 'OK'} Contiguous=0 "
        f"Licenses={entry.get('licenses') or '(null)'} Network=(null)",
        f"Command=/home/run.sh {free_text}",
        "WorkDir=/home",
        "StdErr=/home/a b.err",
    ]
    return (" " if one_line else "\n   ").join(lines) + ("\n" if one_line else "\n\n")
