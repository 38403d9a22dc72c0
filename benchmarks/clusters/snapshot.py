"""Time and peak memory of a dump of a large Kubernetes cluster, which this makes first: read, shared, and as a page.

    python benchmarks/clusters/snapshot.py [--nodes 5000] [--pods 50000] [--owners 1000] [--scarce 1]
    [--indent]

Each of the two runs is a process of its own, so that its peak is its own: reading and every rule
along the tree, with the ratio of its CPU time to that of DRFH, which knows of no tree (for
``kueue`` namespaces are given quotas of four fifths of the cluster); and the page of ``fairlp
report``. ``--scarce`` multiplies what every task needs of the CPUs. Reading is beside ``json.load``; each
has its aim.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

CODE = """
import resource, sys, time, warnings, fairlp, fairlp_clusters
warnings.simplefilter("ignore")
def clocked(what, do):
    begin = time.process_time()
    done = do()
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{what:14} {seconds:6.1f} CPU s, {peak:.2f} GiB at most", flush=True)
    return done, seconds
import json
def load():
    with open(sys.argv[1], encoding="utf-8") as file:
        json.load(file)
snapshot, reading = clocked("read", lambda: fairlp_clusters.snapshot(sys.argv[1]))
demands = snapshot.instance.demands.copy()
demands[:, list(snapshot.instance.resources).index("cpu")] *= float(sys.argv[2])
instance = snapshot.instance.replace(demands=demands)
_, first = clocked("drfh", lambda: fairlp.allocate(instance, "drfh"))
parts = {path: 1 + k % 7 for k, path in enumerate(instance.tree.paths) if path and "/" not in path}
quotas = {
    path: {"nominal": dict(zip(instance.resources, 0.8 * part / sum(parts.values()) * instance.pool))}
    for path, part in parts.items()
}
for rule in ("h-drf", "h-drf-counted", "kueue"):
    shared = instance.replace(queues=quotas) if rule == "kueue" else instance
    found, seconds = clocked(rule, lambda: fairlp.allocate(shared, rule))
    print(f"{rule:14} {seconds / first:6.2f} x DRFH, {len(found.rounds)} rounds")
_, loading = clocked("json.load", load)
ratio = reading / loading
print(f"read           {ratio:6.2f} x json.load (aim 2: {'kept' if ratio <= 2 else 'BROKEN'})")
"""
PAGE = """
import resource, sys, time
from fairlp.cli import main
sys.argv = ["fairlp", "report", sys.argv[1], "-o", sys.argv[1] + ".html"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
seconds = time.process_time()
gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
verdicts = ["kept" if kept else "BROKEN" for kept in (seconds <= 12, gigabytes <= 0.5)]
print(f"page           {seconds:6.1f} CPU s (aim 12: {verdicts[0]}),", end=" ")
print(f"{gigabytes:.2f} GB at most (aim 0.5: {verdicts[1]}), reading included")
"""


def node(k: int) -> dict:
    """A node as kubectl prints it: two kinds, some tainted, a few cordoned."""
    gpus = k % 10 == 0
    labels = {
        "kubernetes.io/hostname": f"node-{k}",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": f"zone-{k % 3}",
        "node.kubernetes.io/instance-type": "gpu-8" if gpus else "general-64",
    }
    amounts = {
        "cpu": "63770m",
        "memory": "263856788Ki",
        "ephemeral-storage": "95551679124",
        "pods": "110",
    }
    spec: dict = {
        "podCIDR": f"10.{k // 256}.{k % 256}.0/24",
        "providerID": f"cloud:///zone-{k % 3}/i-{k:08x}",
    }
    if gpus:
        amounts["nvidia.com/gpu"] = "8"
        spec["taints"] = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
    if k % 500 == 7:
        spec["unschedulable"] = True
    images = [
        {"names": [f"registry.example/app-{i}@sha256:{'0' * 64}"], "sizeBytes": 10**8 + i}
        for i in range(30)
    ]
    conditions = [
        {"type": kind, "status": "False", "message": "as expected"}
        for kind in ("DiskPressure", "PIDPressure")
    ]
    conditions.append(
        {"type": "Ready", "status": "True", "message": "kubelet is posting ready status"}
    )
    status = {
        "allocatable": amounts,
        "capacity": amounts,
        "conditions": conditions,
        "images": images,
    }
    metadata = {
        "name": f"node-{k}",
        "labels": labels,
        "creationTimestamp": "2025-01-01T00:00:00Z",
        "uid": f"n{k:032x}",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def pod(k: int, owner: int, nodes: int, chance: random.Random) -> dict:
    """A pod of an owner: all of one owner ask for the same; one in ten waits."""
    own = random.Random(owner)
    requests = {
        "cpu": f"{own.choice([100, 250, 500, 1000, 4000])}m",
        "memory": f"{own.choice([128, 512, 1024, 8192])}Mi",
    }
    spec: dict = {
        "containers": [
            {
                "name": "main",
                "image": f"registry.example/app-{owner}:1",
                "resources": {"requests": requests, "limits": requests},
                "env": [{"name": f"SETTING_{i}", "value": f"value {i}"} for i in range(8)],
                "volumeMounts": [
                    {"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}
                ],
            }
        ],
        "schedulerName": "default-scheduler",
        "serviceAccountName": "default",
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{kind}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for kind in ("not-ready", "unreachable")
        ],
        "volumes": [{"name": "token", "projected": {"defaultMode": 420}}],
    }
    if owner % 5 == 0:
        spec["nodeSelector"] = {"topology.kubernetes.io/zone": f"zone-{owner % 3}"}
    if owner % 10 == 0:
        requests["nvidia.com/gpu"] = "1"
        spec["tolerations"].append({"key": "nvidia.com/gpu", "operator": "Exists"})
    waits = chance.random() < 0.1
    if not waits:
        k_node = chance.randrange(nodes)
        zone = owner % 3 if owner % 5 == 0 else k_node % 3
        while not _may_be_on(k_node, owner, zone):
            k_node = chance.randrange(nodes)
        spec["nodeName"] = f"node-{k_node}"
    metadata = {
        "name": f"app-{owner}-7d4b9c6f5-{k:05x}",
        "namespace": f"team-{owner % 40}",
        "labels": {"app": f"app-{owner}", "pod-template-hash": "7d4b9c6f5"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": f"app-{owner}-7d4b9c6f5",
                "controller": True,
            }
        ],
        "creationTimestamp": f"2026-01-{1 + k % 28:02d}T00:00:00Z",
        "uid": f"p{k:032x}",
    }
    status = {
        "phase": "Pending" if waits else "Running",
        "conditions": [{"type": "PodScheduled", "status": "True"}] * 4,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _may_be_on(k_node: int, owner: int, zone: int) -> bool:
    """Whether a node is of the zone, and has GPUs exactly where the pods of the owner need them."""
    return k_node % 3 == zone and (k_node % 10 == 0) == (owner % 10 == 0)


def write(path: Path, nodes: int, pods: int, owners: int, indent: int | None) -> None:
    """Write a List of nodes and pods, object by object."""
    chance = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        file.write('{"apiVersion": "v1", "items": [\n')
        for k in range(nodes):
            file.write(json.dumps(node(k), indent=indent) + ",\n")
        for k in range(pods):
            file.write(
                json.dumps(pod(k, k % owners, nodes, chance), indent=indent)
                + (",\n" if k < pods - 1 else "\n")
            )
        file.write('], "kind": "List", "metadata": {"resourceVersion": ""}}\n')


def main() -> None:
    """Make the dump, read and share it, make its page, and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--owners", type=int, default=1000)
    parser.add_argument(
        "--scarce", type=float, default=1.0, help="multiply what tasks need of the CPUs"
    )
    parser.add_argument("--indent", action="store_true", help="indent by four, as kubectl does")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dump.json"
        write(path, given.nodes, given.pods, given.owners, 4 if given.indent else None)
        print(
            f"{given.nodes} nodes, {given.pods} pods, {given.owners} owners, "
            f"{path.stat().st_size / 2**20:.0f} MiB"
        )
        subprocess.run([sys.executable, "-c", CODE, str(path), str(given.scarce)], check=True)
        subprocess.run([sys.executable, "-c", PAGE, str(path)], check=True)


if __name__ == "__main__":
    main()
