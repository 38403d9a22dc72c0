"""Dumps of a Kubernetes cluster with one node, hour by hour, made by hand."""

from __future__ import annotations

import json

from kubernetes_dumps import node, pod

#: Cores of the node, where a dump does not say.
CORES = 10


def items(running, waiting=None, cores=CORES, sizes=None, server="n1", since=None):
    """The objects of a dump: tasks of one core (or of ``sizes``) that run and wait, by tenant."""
    sizes = sizes or {}
    objects = [node(server, allocatable={"cpu": str(cores)})]
    for place, counts in ((server, running), (None, waiting or {})):
        for tenant, count in counts.items():
            for k in range(count):
                name = f"{tenant}-{'runs' if place else 'waits'}-{k}"
                objects.append(
                    pod(
                        name,
                        tenant,
                        ("Job", tenant),
                        on=place,
                        requests={"cpu": str(sizes.get(tenant, 1))},
                        **({"since": since} if since else {}),
                    )
                )
    return objects


def write(path, objects):
    """Write a dump as kubectl does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def hourly(folder, *states, **options):
    """Write a dump for each hour from ten o'clock: a pair (running, waiting) of tasks by tenant."""
    for hour, (running, waiting) in enumerate(states):
        write(folder / f"2026-11-28T{10 + hour}-00.json", items(running, waiting, **options))
    return folder
