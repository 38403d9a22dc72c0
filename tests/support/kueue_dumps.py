"""Records as Kueue prints them."""

from __future__ import annotations

from kubernetes_dumps import flavors, kueue

LABEL = "kueue.x-k8s.io/queue-name"


TREE = [
    kueue("Cohort", "org", {"fairSharing": {"weight": "3"}}),
    kueue("Cohort", "lab", {"parent": "org", "fairSharing": {"weight": "500m"}}),
    kueue("ClusterQueue", "red", {"cohort": "lab", "fairSharing": {"weight": 2}, "resourceGroups": flavors(
        ("cpu", 4, {"borrowingLimit": "2"}), ("memory", "8Gi", {"lendingLimit": "1Gi"}))}),
    kueue("ClusterQueue", "blue", {"cohortName": "org", "resourceGroups": flavors(("cpu", "1500m", {}))}),
    kueue("ClusterQueue", "own", {"resourceGroups": flavors(("cpu", "1", {}))}),
    *[kueue("LocalQueue", f"to-{name}", {"clusterQueue": name}, namespace="ml") for name in ("red", "blue", "own")],
]  # fmt: skip


def workload(name, queue, owner, status=None, count=3, **spec):
    template = {
        "spec": {"containers": [{"resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}]}
    }
    spec = {
        "queueName": queue,
        "podSets": [{"name": "main", "count": count, "template": template}],
    } | spec
    workload_object = kueue(
        "Workload", name, spec, namespace="ml", creationTimestamp="2026-02-03T00:00:00Z"
    )
    workload_object["metadata"]["ownerReferences"] = [
        {"kind": owner[0], "name": owner[1], "controller": True}
    ]
    return workload_object | {"status": status or {}}
