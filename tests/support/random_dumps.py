"""Dumps of random small clusters with Kueue, whose jobs that run have room and quota."""

from __future__ import annotations

import kubernetes_dumps as kubernetes
from cluster_truth import of_kueue
from kueue_dumps import workload


def kueue(rng):
    """Objects of a cluster with Kueue: quotas of a flavor or two, and Workloads of one or two pod sets."""
    has_flavors = rng.random() < 0.3
    flavor_names = ["large", "small"] if has_flavors else ["default"]
    flavors = [
        kubernetes.kueue(
            "ResourceFlavor", name, {"nodeLabels": {"pool": name}} if has_flavors else {}
        )
        for name in flavor_names
    ]
    nodes = [_node(rng, k, flavor_names, has_flavors) for k in range(rng.integers(2, 5))]
    queues = _queues(rng, flavor_names)
    names = [item["metadata"]["name"] for item in queues if item["kind"] == "LocalQueue"]
    items = [*flavors, *nodes, *queues]
    for k in range(rng.integers(4, 9)):
        _add_workload(rng, items, f"w{k}", str(rng.choice(names)), has_flavors)
    if not any(item["kind"] == "Pod" for item in items):
        return kueue(rng)
    return items


def _node(rng, k, flavor_names, has_flavors):
    labels = {"zone": str(rng.choice(["a", "b"]))}
    if has_flavors:
        labels["pool"] = flavor_names[k % 2]
    amounts = {"cpu": str(rng.integers(2, 9)), "memory": f"{rng.integers(4, 17)}Gi"}
    return kubernetes.node(f"n{k}", labels, allocatable=amounts)


def _queues(rng, flavor_names):
    items = []
    has_cohorts = rng.random() < 0.4
    if has_cohorts:
        items.append(kubernetes.kueue("Cohort", "left", {"parent": "top"}))
    for name in ["a", "b", "c"][: rng.integers(2, 4)]:
        groups = []
        for flavor in flavor_names:
            quota = {"name": "cpu", "nominalQuota": str(rng.integers(0, 9))}
            if rng.random() < 0.25:
                quota["borrowingLimit"] = str(rng.integers(0, 4))
            if rng.random() < 0.25:
                quota["lendingLimit"] = str(rng.integers(0, 4))
            memory = {"name": "memory", "nominalQuota": f"{rng.integers(8, 33)}Gi"}
            groups.append({"name": flavor, "resources": [quota, memory]})
        spec = {
            "cohort": str(rng.choice(["left", "top"])) if has_cohorts else "co",
            "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": groups}],
            "preemption": {"reclaimWithinCohort": "Any"},
        }
        if rng.random() < 0.7:
            spec["fairSharing"] = {"weight": str(rng.integers(1, 4))}
        items.append(kubernetes.kueue("ClusterQueue", name, spec))
        local = {"clusterQueue": name}
        items.append(kubernetes.kueue("LocalQueue", f"to-{name}", local, namespace="ml"))
    return items


def _add_workload(rng, items, name, queue, has_flavors):
    """Add a Workload; one that has room and quota runs in most cases, with its pods."""
    pod_sets = []
    sizes = rng.permutation([1, 2, 3])
    for k in range(1 if rng.random() < 0.7 else 2):
        count = int(rng.integers(1, 5))
        requests = {"cpu": str(sizes[k]), "memory": f"{rng.integers(1, 4)}Gi"}
        spec = {"containers": [{"resources": {"requests": requests}}]}
        if rng.random() < 0.25:
            spec["nodeSelector"] = {"zone": str(rng.choice(["a", "b"]))}
        pod_set = {"name": f"set-{k}", "count": count, "template": {"spec": spec}}
        if rng.random() < 0.25 and count > 1 and not has_flavors:
            pod_set["minCount"] = int(rng.integers(1, count))
        pod_sets.append(pod_set)
    kind = "Job" if len(pod_sets) == 1 else "RayCluster"
    waiting = workload(name, queue, (kind, name), podSets=pod_sets)
    items.append(waiting)
    if rng.random() < 0.35:
        return
    truth = of_kueue(items)
    placement = placed_alone(truth, name)
    if placement is None:
        return
    assignments = []
    for pod_set, (flavor, by_node) in zip(pod_sets, placement, strict=True):
        count = pod_set.pop("minCount", pod_set["count"])
        pod_set["count"] = count
        requests = pod_set["template"]["spec"]["containers"][0]["resources"]["requests"]
        usage = {"cpu": str(int(requests["cpu"]) * count)}
        usage["memory"] = f"{int(requests['memory'].removesuffix('Gi')) * count}Gi"
        flavors = {"cpu": flavor, "memory": flavor}
        assignments.append(
            {"name": pod_set["name"], "count": count, "flavors": flavors, "resourceUsage": usage}
        )
        for node, number in by_node.items():
            for k in range(number):
                pod = kubernetes.pod(
                    f"{name}-{pod_set['name']}-{node}-{k}",
                    owner=(kind, name),
                    on=node,
                    requests=requests,
                )
                items.append(pod)
    conditions = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
    cluster_queue = queue.removeprefix("to-")
    admission = {"clusterQueue": cluster_queue, "podSetAssignments": assignments}
    waiting["status"] = {"conditions": conditions, "admission": admission}


def placed_alone(truth, name):
    """Return flavor and tasks by node of each part of a job, first fit; None where they do not fit.

    Whether quotas leave room is asked of the truth.
    """
    (job,) = [job for job in truth.jobs if job.name == name]
    others = [other for other in truth.jobs if other.runs]
    alone = type(truth)(truth.nodes, [*others, job], truth.quotas)
    for part in job.parts:
        part.most = part.least
    if not alone.largest(job.tenant):
        return None
    free = {node: dict(amounts) for node, amounts in truth.nodes.items()}
    for other in others:
        for part in other.parts:
            for node, count in part.placed.items():
                for resource, amount in part.demand.items():
                    free[node][resource] -= count * amount
    placement = []
    for part in job.parts:
        flavor, by_node = _first_fit(part, free)
        if sum(by_node.values()) < part.least:
            return None
        for node, count in by_node.items():
            for resource, amount in part.demand.items():
                free[node][resource] -= count * amount
        placement.append((flavor, by_node))
    for part, (flavor, by_node) in zip(job.parts, placement, strict=True):
        part.nodes = {flavor: list(by_node)}
    return placement if alone.largest(job.tenant) else None


def _first_fit(part, free):
    """Return a flavor, and as many of the tasks on its nodes as they need; the last that is tried."""
    flavor, by_node = "", {}
    for flavor, nodes in part.nodes.items():  # noqa: B007 — the last one is returned
        by_node = {}
        for node in nodes:
            fits = min(free[node][r] // amount for r, amount in part.demand.items())
            count = int(min(max(fits, 0), part.least - sum(by_node.values())))
            if count:
                by_node[node] = count
        if sum(by_node.values()) == part.least:
            break
    return flavor, by_node
