"""The whole rule: drawn dumps in which a tenant is short, with one fact that forbids the sentence.

Each fact is planted into the same dumps, in which the tenant is short without it (the positive
control), and its jobs have no room now.
"""

from __future__ import annotations

import copy
import functools
import itertools

import numpy as np
import pytest

import fairlp_clusters
import kubernetes_dumps as kubernetes
import slurm_dumps as slurm
from drawn_scenes import SCHEDULERS
from kueue_dumps import LABEL, workload

#: Clusters that each fact is planted in.
CLUSTERS = 10
ENDS = "2026-01-01T00:00:00Z"


@functools.cache
def unfair(scheduler):
    """Dumps of clusters in each of which a tenant is short, with its name and the seed."""
    draw, _, _, count = SCHEDULERS[scheduler]
    cases = []
    for seed in itertools.count():
        scene = draw(np.random.default_rng([77, seed]), len(cases) % count, False)
        beyond = scene.beyond()
        for tenant in scene.tenants:
            is_short = scene.condition(tenant, beyond) == "short"
            if is_short and not scene.most_with_room(tenant):
                cases.append((scene, tenant, seed))
                break
        if len(cases) == CLUSTERS:
            return [cases[k : k + count] for k in range(0, CLUSTERS, count)]


def document_of(scheduler, cases):
    return copy.deepcopy(SCHEDULERS[scheduler].document([scene for scene, _, _ in cases]))


def verdict_of(folder, scheduler, document):
    return fairlp_clusters.verdict(SCHEDULERS[scheduler].write(folder / "dump", document))


def is_short(verdict, tenant):
    return (verdict.table["condition"].reindex([tenant]) == "short").item()


@pytest.mark.parametrize("scheduler", ["kubernetes", "kueue", "slurm", "volcano", "yarn"])
def test_before_anything_is_planted_the_tenant_is_short(scheduler, tmp_path):
    for cases in unfair(scheduler):
        verdict = verdict_of(tmp_path, scheduler, document_of(scheduler, cases))
        assert verdict.is_fair is False
        for _, tenant, seed in cases:
            assert is_short(verdict, tenant) and verdict.table.loc[tenant, "holders"], seed


def check(scheduler, plant, folder, holds):
    """Whether this holds of the verdict about each cluster with the fact in it."""
    seeds = []
    for cases in unfair(scheduler):
        document = document_of(scheduler, cases)
        for scene, tenant, _ in cases:
            plant(document, tenant, scene)
        verdict = verdict_of(folder, scheduler, document)
        seeds += [seed for _, tenant, seed in cases if not holds(verdict, tenant)]
    assert not seeds


def has_no_verdict(verdict, tenant):
    return verdict.is_fair is None


def is_not_short(verdict, tenant):
    """The tenant is not; another may be, where it has a larger due than before."""
    return not is_short(verdict, tenant)


# Objects of Kubernetes


def pods_of(items, tenant):
    """The pods of a tenant that wait."""
    return [
        item
        for item in items
        if item["kind"] == "Pod" and "nodeName" not in item["spec"] and _is_of(item, tenant)
    ]


def _is_of(pod, tenant):
    metadata = pod["metadata"]
    queue = metadata["annotations"].get("scheduling.volcano.sh/queue-name")
    return tenant.split("/")[-1] in (metadata["namespace"], queue, metadata["labels"].get(LABEL))


def with_spec(**fields):
    """Plant fields into the spec of pods that wait."""

    def plant(items, tenant, scene):
        for pod in pods_of(items, tenant):
            pod["spec"] |= fields

    return plant


def with_message(reason, has_lack=True):
    """Plant a message that counts all nodes: one of them for this reason, and the others for lack of CPUs.

    Without that lack all are counted for this reason.
    """

    def plant(items, tenant, scene):
        count = sum(item["kind"] == "Node" for item in items)
        others = count - 1 if has_lack else 0
        reasons = [f"{others} Insufficient cpu"] if others else []
        text = ", ".join([*reasons, f"{count - others} node(s) {reason}"])
        message = f"0/{count} nodes are available: {text}."
        condition = {"type": "PodScheduled", "status": "False", "message": message}
        for pod in pods_of(items, tenant):
            pod["status"]["conditions"] = [condition]

    return plant


def with_object(*objects):
    """Plant further objects into the dump."""
    return lambda items, tenant, scene: items.extend(objects)


def nominated(items, tenant, scene):
    for pod in pods_of(items, tenant):
        pod["status"]["nominatedNodeName"] = f"n{tenant[-1]}-0"


def with_part_of_gpu(items, tenant, scene):
    for pod in pods_of(items, tenant):
        pod["metadata"]["annotations"]["gpu-fraction"] = "0.5"


def with_ports(items, tenant, scene):
    for pod in pods_of(items, tenant):
        pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]


def waiting_ones_end(items, tenant, scene):
    for pod in pods_of(items, tenant):
        pod["metadata"]["deletionTimestamp"] = ENDS


def holders_end(items, tenant, scene):
    """All pods that run of those who hold more than is due end."""
    for item in items:
        runs = item["kind"] == "Pod" and "nodeName" in item["spec"]
        if runs and any(_is_of(item, holder) for holder in scene.beyond()):
            item["metadata"]["deletionTimestamp"] = ENDS


def pool_of_karpenter(items, tenant, scene):
    """A pool may add nodes of the zone."""
    for item in items:
        if item["kind"] == "Node":
            labels = item["metadata"]["labels"]
            labels["karpenter.sh/nodepool"] = f"pool-{labels['zone']}"
    template = {"metadata": {"labels": {"zone": tenant[-1]}}, "spec": {}}
    spec = {"limits": {"cpu": "1"}, "template": template}
    items.append(kubernetes.thing("NodePool", f"pool-{tenant[-1]}", spec, "karpenter.sh/v1"))


def on_nodes(**fields):
    """Plant fields into the spec of all nodes."""

    def plant(items, tenant, scene):
        for item in items:
            if item["kind"] == "Node":
                item["spec"] |= fields

    return plant


TAINTS = [{"key": "team", "value": "x", "effect": "NoSchedule"}]
SPREAD = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
VOLUME = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
FOREIGN = {
    "KAI": ("Queue", "scheduling.run.ai/v2"),
    "elastic quota": ("ElasticQuota", "scheduling.x-k8s.io/v1alpha1"),
}
PODS = {
    "scheduling gate": with_spec(schedulingGates=[{"name": "example.com/mine"}]),
    "nomination": nominated,
    "volume in the message": with_message("had volume node affinity conflict"),
    "affinity in the message": with_message("didn't match pod anti-affinity rules"),
    "taint in the message": with_message("had untolerated taint {team: x}", has_lack=False),
    "selector in the message": with_message("didn't match Pod's node selector", has_lack=False),
    "waiting pods end": waiting_ones_end,
    "holders end": holders_end,
    "topology spread": with_spec(topologySpreadConstraints=[SPREAD]),
    "volumes": with_spec(volumes=[VOLUME]),
    "resource claims": with_spec(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}]),
    "pod affinity": with_spec(affinity={"podAffinity": REQUIRED}),
    "pool of Karpenter": pool_of_karpenter,
    "host ports": with_ports,
    "no node has its label": with_spec(nodeSelector={"disk": "ssd"}),
    "nodes take nothing new": on_nodes(unschedulable=True),
    "taints": on_nodes(taints=TAINTS),
}
NO_VERDICT = {
    "foreign scheduler": with_spec(schedulerName="kai-scheduler"),
    "part of a GPU": with_part_of_gpu,
    "gate of Kueue": with_spec(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]),
    **{
        name: with_object(kubernetes.thing(kind, "q", {}, version, namespace="x"))
        for name, (kind, version) in FOREIGN.items()
    },
}


# Kueue


def workloads_of(items, tenant):
    name = tenant.split("/")[1]
    return [
        item for item in items if item["kind"] == "Workload" and item["spec"]["queueName"] == name
    ]


def in_queue(kind, **fields):
    """Plant fields into the spec of the tenant's ClusterQueue or LocalQueue."""

    def plant(items, tenant, scene):
        name = tenant.split("/")[1]
        for item in items:
            if (item["kind"], item["metadata"]["name"]) == (kind, name):
                item["spec"] |= fields

    return plant


def with_status(**status):
    def plant(items, tenant, scene):
        for item in workloads_of(items, tenant):
            item["status"] = copy.deepcopy(status)

    return plant


def check_is_pending(items, tenant, scene):
    """The Workloads of the tenant have their quota, and wait for a check."""
    name = tenant.split("/")[1]
    for item in workloads_of(items, tenant):
        count = item["spec"]["podSets"][0]["count"]
        assignment = {"name": "main", "count": count, "flavors": {"cpu": "default"}}
        admission = {"clusterQueue": name, "podSetAssignments": [assignment]}
        item["status"] = {
            "admission": admission,
            "admissionChecks": [PENDING],
            "conditions": [RESERVED],
        }


def behind_the_head(items, tenant, scene):
    """The queue is strict, and a Workload that came first asks for all that its cohort has."""
    in_queue("ClusterQueue", queueingStrategy="StrictFIFO")(items, tenant, scene)
    requests = {"cpu": str(max(1, *scene.quotas.total))}
    spec = {
        "containers": [{"resources": {"requests": requests}}],
        "nodeSelector": {"zone": tenant[-1]},
    }
    pod_set = {"name": "main", "count": 1, "template": {"spec": spec}}
    queue = tenant.split("/")[1]
    head = workload(f"head-{queue}", queue, ("Job", f"head-{queue}"), podSets=[pod_set])
    head["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    items.append(head)


def another_cohort(items, tenant, scene):
    in_queue("ClusterQueue", cohort=f"elsewhere-{tenant[-1]}")(items, tenant, scene)


def topology(items, tenant, scene):
    for item in workloads_of(items, tenant):
        for pod_set in item["spec"]["podSets"]:
            pod_set["topologyRequest"] = {"required": "rack"}


def not_active(items, tenant, scene):
    for item in workloads_of(items, tenant):
        item["spec"]["active"] = False


def without_queues(items, tenant, scene):
    items[:] = [item for item in items if not item["kind"].endswith(("Queue", "Flavor"))]


MULTIKUEUE = {"controllerName": "kueue.x-k8s.io/multikueue"}
REQUEUED = {"type": "Requeued", "status": "False", "message": "backoff"}
PENDING = {"name": "capacity", "state": "Pending", "message": "waits"}
RESERVED = {"type": "QuotaReserved", "status": "True"}
WORKLOADS = {
    "another cohort": another_cohort,
    "a queue on hold": in_queue("ClusterQueue", stopPolicy="Hold"),
    "a queue that drains": in_queue("ClusterQueue", stopPolicy="HoldAndDrain"),
    "a local queue on hold": in_queue("LocalQueue", stopPolicy="Hold"),
    "a check that is pending": check_is_pending,
    "a back-off": with_status(conditions=[REQUEUED]),
    "a topology": topology,
    "not active": not_active,
    "nodes take nothing new": on_nodes(unschedulable=True),
    "holders end": holders_end,
}
SENT_AWAY = {
    "another cluster": with_status(clusterName="east"),
    "a check of MultiKueue": with_object(kubernetes.kueue("AdmissionCheck", "m", MULTIKUEUE)),
    "without the queues": without_queues,
}


# Volcano


def closed(items, tenant, scene):
    for item in items:
        if (item["kind"], item["metadata"]["name"]) == ("Queue", tenant):
            item["status"] = {"state": "Closed"}


def in_groups(**fields):
    """Plant fields into the PodGroups of the tenant."""

    def plant(items, tenant, scene):
        for item in items:
            if item["kind"] == "PodGroup" and item["spec"]["queue"] == tenant:
                item["spec"] |= fields

    return plant


GROUPS = {
    "a closed queue": closed,
    "taints": on_nodes(taints=TAINTS),
    "minTaskMember": in_groups(minTaskMember={"worker": 1}),
    "network topology": in_groups(networkTopology={"mode": "hard", "highestTierAllowed": 1}),
    "waiting pods end": waiting_ones_end,
    "holders end": holders_end,
    "scheduling gate": with_spec(schedulingGates=[{"name": "example.com/mine"}]),
    "volume in the message": with_message("had volume node affinity conflict"),
}


# Slurm


def records_of(jobs, tenant):
    return [
        job for job in jobs if not job["nodes"] and tenant == f"{job['account']}/{job['user_name']}"
    ]


def with_reason(reason, **fields):
    def plant(records, tenant, scene):
        for job in records_of(records[1], tenant):
            job["state_reason"] = reason
            job |= fields

    return plant


def in_state(*flags, **fields):
    """Plant flags into the state of all nodes."""

    def plant(records, tenant, scene):
        for node in records[0]:
            node["state"] = list(dict.fromkeys([*node["state"], *flags]))
            node |= fields

    return plant


def holders_complete(records, tenant, scene):
    """The jobs that run of those who hold more than is due end."""
    for job in records[1]:
        if job["nodes"] and f"{job['account']}/{job['user_name']}" in scene.beyond():
            job["job_state"] = ["COMPLETING"]


def sleeping(records, tenant, scene):
    """Nodes that sleep have room for all that waits."""
    cell = tenant.partition("/")[0][-1]
    state = ["IDLE", "POWERED_DOWN"]
    records[0].extend(
        slurm.node(f"s{cell}-{k}", cpus=6, partitions=[f"p{cell}"], state=state) for k in range(24)
    )


REASONS = ["Dependency", "JobHeldUser", "BeginTime", "QOSMaxCpuPerUserLimit"]
REASONS += ["AssocGrpCpuLimit", "Licenses", "Reservation", "BadConstraints"]
JOBS = {
    **{reason: with_reason(reason) for reason in REASONS},
    "a reservation that is not in the dump": with_reason("", resv_name="maintenance"),
    "a switch": with_reason("", required_switches=1),
    "nodes that sleep": sleeping,
    "nodes drain": in_state("DRAIN"),
    "reserved nodes": in_state("RESERVED", reservation="course"),
    "holders complete": holders_complete,
}


def test_what_is_free_on_planned_nodes_is_room_for_nobody(tmp_path):
    """Backfill keeps it for a job of its choice."""
    check(
        "slurm",
        in_state("PLANNED"),
        tmp_path,
        lambda verdict, tenant: not verdict.table["room_jobs"].any(),
    )


# YARN


def applications_of(files, tenant):
    queue, _, user = tenant.partition("/")
    return [
        app
        for app in files["apps.json"]["apps"]["app"]
        if app["user"] == user and app["queue"] == f"root.{queue}"
    ]


def queue_of(files, tenant):
    queues = files["scheduler.json"]["scheduler"]["schedulerInfo"]["queues"]["queue"]
    return next(queue for queue in queues if queue["queueName"] == tenant.split("/")[0])


def user_limit(files, tenant, scene):
    queue_of(files, tenant)["userLimitFactor"] = 0.001


def masters(files, tenant, scene):
    words = "Application is added to the scheduler and is not yet activated."
    for app in applications_of(files, tenant):
        app |= {"state": "ACCEPTED", "diagnostics": words}


def labelled(files, tenant, scene):
    for app in applications_of(files, tenant):
        for request in app.get("resourceRequests", []):
            request["nodeLabelExpression"] = "gpu"


def decommissioning(files, tenant, scene):
    for node in files["nodes.json"]["nodes"]["node"]:
        node["state"] = "DECOMMISSIONING"


APPLICATIONS = {
    "user limit": user_limit,
    "limit of masters": masters,
    "label": labelled,
    "nodes go": decommissioning,
}


# All facts

FACTS = {
    "kubernetes": PODS,
    "kueue": WORKLOADS,
    "volcano": GROUPS,
    "slurm": JOBS,
    "yarn": APPLICATIONS,
}


def cases_of(table):
    return [
        pytest.param(scheduler, plant, id=f"{scheduler}: {fact}")
        for scheduler, facts in table.items()
        for fact, plant in facts.items()
    ]


@pytest.mark.parametrize(("scheduler", "plant"), cases_of(FACTS))
def test_a_fact_forbids_the_sentence(scheduler, plant, tmp_path):
    check(scheduler, plant, tmp_path, is_not_short)


@pytest.mark.parametrize(
    ("scheduler", "plant"), cases_of({"kubernetes": NO_VERDICT, "kueue": SENT_AWAY})
)
def test_where_it_is_not_read_who_schedules_there_is_no_verdict(scheduler, plant, tmp_path):
    check(scheduler, plant, tmp_path, has_no_verdict)


def is_short_of_the_head_at_most(verdict, tenant):
    """Not short of what is behind the first; that is due where the whole cohort is its queue's."""
    jobs = [job for job in verdict.to_dict()["jobs"] if job["tenant"] == tenant]
    return not any(job["not_counted"] for job in jobs if job["short_copies"])


def test_what_is_behind_the_head_of_a_strict_queue_waits_for_its_own_queue(tmp_path):
    check("kueue", behind_the_head, tmp_path, is_short_of_the_head_at_most)
