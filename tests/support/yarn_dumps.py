"""Records as YARN prints them."""

from __future__ import annotations


def node(name, used=(0, 0), left=(8192, 8), **more):
    """A node: memory and virtual cores in use, and left."""
    keys = ("usedMemoryMB", "usedVirtualCores", "availMemoryMB", "availableVirtualCores")
    return (
        {"id": f"{name}:8041", "state": "RUNNING", "nodeHostName": name}
        | dict(zip(keys, (*used, *left), strict=True))
        | more
    )


def app(number, queue="root.a", user="ann", has=(2048, 2), containers=2, **more):
    known = {"id": f"application_1_{number:04}", "state": "RUNNING", "queue": queue, "user": user}
    known |= {"allocatedMB": has[0], "allocatedVCores": has[1], "runningContainers": containers}
    return known | {"startedTime": 1767225600123} | more


def asks(count, memory=1024, cores=1, name="*", **more):
    shape = {"memory": memory, "vCores": cores}
    return {"priority": 1, "resourceName": name, "numContainers": count, "capability": shape} | more


CAPACITY = {
    "type": "capacityScheduler",
    "capacity": 100.0,
    "maxCapacity": 100.0,
    "queueName": "root",
}
