"""Records as YARN prints them."""

from __future__ import annotations


def node(name, used=(0, 0), free=(8192, 8), **fields):
    """A node: memory and virtual cores in use, and left."""
    keys = ("usedMemoryMB", "usedVirtualCores", "availMemoryMB", "availableVirtualCores")
    return (
        {"id": f"{name}:8041", "state": "RUNNING", "nodeHostName": name}
        | dict(zip(keys, (*used, *free), strict=True))
        | fields
    )


def app(number, queue="root.a", user="ann", usage=(2048, 2), containers=2, **changes):
    fields = {"id": f"application_1_{number:04}", "state": "RUNNING", "queue": queue, "user": user}
    fields |= {
        "allocatedMB": usage[0],
        "allocatedVCores": usage[1],
        "runningContainers": containers,
    }
    return fields | {"startedTime": 1767225600123} | changes


def asks(count, memory=1024, cores=1, name="*", **fields):
    shape = {"memory": memory, "vCores": cores}
    return {
        "priority": 1,
        "resourceName": name,
        "numContainers": count,
        "capability": shape,
    } | fields


CAPACITY = {
    "type": "capacityScheduler",
    "capacity": 100.0,
    "maxCapacity": 100.0,
    "queueName": "root",
}
