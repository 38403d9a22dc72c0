"""Small clusters drawn at random, and written as the dumps of their schedulers.

Each dump of Kubernetes, Kueue and Slurm has several clusters side by side, each with nodes, queues
and tenants of its own: reading a dump costs more than what is in it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import kubernetes_dumps as kubernetes
import slurm_dumps as slurm
import yarn_dumps as yarn
from kueue_dumps import LABEL, workload
from verdict_oracle import Job, Quotas, Scene, Task, Vectors, added, along_tree


def scene_of(rng, nodes, tenants, demands, *, most_tasks=1, spread=False, several=False, **rules):
    """A cluster in which one tenant of the names has more of what runs than the others, by chance."""
    scene = Scene(nodes, tenants, **rules)
    names = list(tenants)
    sizes = {
        tenant: demands if several else [demands[rng.integers(len(demands))]] for tenant in names
    }
    first = str(rng.choice(names))
    for _ in range(int(rng.integers(2, 11))):
        tenant = first if rng.random() < 0.6 else str(rng.choice(names))
        job = Job(tenant, sizes[tenant][rng.integers(len(sizes[tenant]))])
        for i in rng.permutation(len(nodes)).tolist():
            task = Task(tenant, job.demand, i)
            if _fits(scene, task):
                scene.running.append(task)
                break
    for _ in range(int(rng.integers(1, 5))):
        tenant = str(rng.choice(names))
        size = int(rng.integers(1, most_tasks + 1))
        demand = sizes[tenant][rng.integers(len(sizes[tenant]))]
        job = Job(tenant, demand, size, spread)
        fitting = sum(all(d <= c for d, c in zip(job.demand, node, strict=True)) for node in nodes)
        nothing = dict.fromkeys(names, (0,) * len(scene.pool))
        may_start = scene.allows(nothing | {tenant: job.total})
        if may_start and fitting >= (size if spread else 1):
            scene.waiting.append(job)
    return scene


def _fits(scene, task):
    held = {tenant: scene.held(tenant) for tenant in scene.tenants}
    held[task.tenant] = added(held[task.tenant], task.demand)
    free = scene.free()[task.node]
    return scene.allows(held) and all(d <= f for d, f in zip(task.demand, free, strict=True))


def one_resource(rng):
    """One to three nodes of CPUs."""
    return [(cpus,) for cpus in rng.integers(2, 7, rng.integers(1, 4)).tolist()]


def two_resources(rng):
    """One to three nodes of CPUs and memory, all with as much memory for each CPU."""
    return [(2 * size, 8 * size) for size in rng.integers(1, 4, rng.integers(1, 4)).tolist()]


ONE = [(1,), (2,), (3,)]
TWO = [(1, 1), (1, 4), (2, 2), (1, 8), (2, 6), (1, 0)]


# Namespaces of Kubernetes


def namespaces(rng, cell, several):
    nodes = two_resources(rng)
    tenants = {f"{name}{cell}": Fraction(1) for name in "abcd"[: rng.integers(1, 5)]}
    scene = scene_of(rng, nodes, tenants, TWO, several=several, most_tasks=3)
    wanted = {}
    for task in [*scene.running, *scene.waiting]:
        key = task.tenant, task.demand
        wanted[key] = wanted.get(key, 0) + task.size
    tasks = Vectors(scene.pool, wanted).run()
    for tenant in tenants:
        amounts = [
            sum(count * demand[r] for (name, demand), count in tasks.items() if name == tenant)
            for r in range(2)
        ]
        scene.dues[tenant] = scene.share(amounts)
    return scene


def requests_of(demand, resource="cpu"):
    texts = {resource: str(demand[0])}
    if len(demand) > 1 and demand[1]:
        texts["memory"] = f"{demand[1]}Gi"
    return texts


def objects_of(scene, cell, tasks, fields_of, resource="cpu", version=""):
    """Nodes of a zone, and the pods of tasks and jobs that may run there alone.

    ``fields_of`` says what a scheduler asks of the pods of a tenant, and of a PodGroup of this version.
    """
    zone = {"zone": str(cell)}
    items = []
    for i, amounts in enumerate(scene.nodes):
        texts = requests_of(amounts, resource) | {"pods": "100"}
        items.append(kubernetes.node(f"n{cell}-{i}", zone, allocatable=texts))
    for k, task in enumerate(tasks):
        name = f"p{cell}-{k}"
        is_group = bool(version) and task.node is None
        fields = fields_of(task.tenant, name if is_group else "")
        if is_group:
            spec = {"minMember": task.size, "queue": task.tenant}
            namespace = fields["namespace"]
            items.append(kubernetes.thing("PodGroup", name, spec, version, namespace))
        for j in range(task.size):
            pod = kubernetes.pod(
                f"{name}-{j}",
                owner=("Job", "job-" + "-".join(map(str, task.demand))),
                on=None if task.node is None else f"n{cell}-{task.node}",
                requests=requests_of(task.demand, resource),
                nodeSelector=zone,
                **fields,
            )
            items.append(pod)
    return items


def plain_objects(scenes):
    def fields(tenant, group):
        labels = {"scheduling.x-k8s.io/pod-group": group} if group else {}
        return {"namespace": tenant, "labels": labels}

    items = []
    for cell, scene in enumerate(scenes):
        tasks = [*scene.running, *scene.waiting]
        version = "scheduling.x-k8s.io/v1alpha1"
        items += objects_of(scene, cell, tasks, fields, version=version)
    return items


# Volcano


def volcano_queues(rng, cell, several):
    """Queues with weights and caps; each cluster of a dump has a resource of its own, which they divide."""
    nodes = one_resource(rng)
    total = sum(node[0] for node in nodes)
    names = [f"{name}{cell}" for name in ["qa", "qb", "qc", "qd"][: rng.integers(1, 5)]]
    tenants = {name: Fraction(int(rng.integers(1, 4))) for name in names}
    caps = {name: Fraction(int(rng.integers(2, total + 1))) for name in names if rng.random() < 0.2}
    limit = below_caps(caps)
    scene = scene_of(rng, nodes, tenants, ONE, several=several, most_tasks=3, allows=limit)
    scene.caps = caps
    due_along(scene, tenants, caps)
    return scene


def below_caps(caps):
    """Whether queues right below the root have no more than their caps."""

    def allows(held):
        return all(
            sum(amounts[0] for name, amounts in held.items() if name.split("/")[0] == queue) <= cap
            for queue, cap in caps.items()
        )

    return allows


def due_along(scene, weights, caps):
    """Set the dues along a tree of one resource."""
    wanted = {tenant: Fraction(scene.wanted(tenant)[0]) for tenant in scene.tenants}
    scene.set_dues(along_tree(Fraction(scene.pool[0]), wanted, weights, caps))


def volcano_objects(scenes):
    items = []
    for cell, scene in enumerate(scenes):
        resource = f"example.com/r{cell}"
        for name, weight in scene.tenants.items():
            spec = {"weight": int(weight)}
            if name in scene.caps:
                spec["capability"] = {resource: str(scene.caps[name])}
            items.append(kubernetes.volcano(name, spec))
        tasks = [*scene.running, *scene.waiting]
        version = "scheduling.volcano.sh/v1beta1"
        items += objects_of(scene, cell, tasks, volcano_fields, resource, version)
    return items


def volcano_fields(tenant, group):
    annotations = {"scheduling.volcano.sh/queue-name": tenant}
    if group:
        annotations["scheduling.k8s.io/group-name"] = group
    return {"namespace": "ml", "annotations": annotations, "schedulerName": "volcano"}


# Kueue


def queues_of(rng, cell):
    """The root of a cohort, and weights of two or three queues in it."""
    names = "abc"[: rng.integers(1, 4)]
    return {f"co{cell}/{name}{cell}": Fraction(int(rng.integers(1, 4))) for name in names}


def cohort(rng, cell, several):
    """Queues of one resource, whose quotas have borrowing and lending limits."""
    nodes = one_resource(rng)
    tenants = queues_of(rng, cell)
    nominal = {name: (int(rng.integers(0, 6)),) for name in tenants}
    limits = [
        {name: int(rng.integers(0, 4)) for name in tenants if rng.random() < 0.25} for _ in range(2)
    ]
    quotas = Quotas(nominal, *limits)
    rules = {"root": f"co{cell}", "allows": quotas.allow, "several": several, "most_tasks": 3}
    scene = scene_of(rng, nodes, tenants, ONE, **rules)
    scene.quotas = quotas
    wanted = {tenant: scene.wanted(tenant) for tenant in tenants}
    scene.set_dues(quotas.dues(scene.pool[0], wanted, tenants))
    return scene


def cohort_of_two(rng, cell, several):
    """Queues of CPUs and memory, each with equal tasks."""
    nodes = two_resources(rng)
    tenants = queues_of(rng, cell)
    nominal = {name: (int(rng.integers(0, 5)), int(rng.integers(0, 17))) for name in tenants}
    quotas = Quotas(nominal)
    rules = {"root": f"co{cell}", "allows": quotas.allow, "most_tasks": 3}
    scene = scene_of(rng, nodes, tenants, TWO[:-1], **rules)
    scene.quotas = quotas
    wanted = {}
    for entry in [*scene.running, *scene.waiting]:
        count = wanted.get(entry.tenant, (entry.demand, 0))[1]
        wanted[entry.tenant] = entry.demand, count + entry.size
    tasks = quotas.tasks(scene.pool, wanted, tenants)
    scene.dues = dict.fromkeys(tenants, Fraction(0))
    for tenant, count in tasks.items():
        scene.dues[tenant] = scene.share([count * amount for amount in wanted[tenant][0]])
    return scene


def kueue_objects(scenes):
    items = [kubernetes.kueue("ResourceFlavor", "default", {})]
    for cell, scene in enumerate(scenes):
        for tenant, weight in scene.tenants.items():
            root, _, name = tenant.partition("/")
            amounts = scene.quotas.nominal[tenant]
            units = {"cpu": "", "memory": "Gi"}
            resources = [
                {"name": resource, "nominalQuota": f"{amount}{unit}"}
                for (resource, unit), amount in zip(units.items(), amounts, strict=False)
            ]
            if tenant in scene.quotas.borrowing:
                resources[0]["borrowingLimit"] = str(scene.quotas.borrowing[tenant])
            if tenant in scene.quotas.lending:
                resources[0]["lendingLimit"] = str(scene.quotas.lending[tenant])
            flavors = [{"name": "default", "resources": resources}]
            covered = [entry["name"] for entry in resources]
            spec = {
                "cohort": root,
                "resourceGroups": [{"coveredResources": covered, "flavors": flavors}],
                "fairSharing": {"weight": str(weight)},
            }
            items.append(kubernetes.kueue("ClusterQueue", name, spec))
            local = {"clusterQueue": name}
            items.append(kubernetes.kueue("LocalQueue", name, local, namespace="ml"))
        items += objects_of(scene, cell, scene.running, kueue_fields)
        for k, job in enumerate(scene.waiting):
            containers = [{"resources": {"requests": requests_of(job.demand)}}]
            spec = {"containers": containers, "nodeSelector": {"zone": str(cell)}}
            pod_set = {"name": "main", "count": job.size, "template": {"spec": spec}}
            name = f"w{cell}-{k}"
            queue = job.tenant.split("/")[1]
            items.append(workload(name, queue, ("Job", name), podSets=[pod_set]))
    return items


def kueue_fields(tenant, group):
    return {"namespace": "ml", "labels": {LABEL: tenant.split("/")[1]}}


# Slurm


def accounts(rng, cell, several):
    """Accounts and their users, with shares, on nodes of one partition."""
    nodes = one_resource(rng)
    names = [f"x{cell}", f"y{cell}"][: rng.integers(1, 3)]
    weights = {name: Fraction(int(rng.integers(1, 4))) for name in names}
    tenants = {}
    for name in names:
        for user in ["ann", "bob", "cid"][: rng.integers(1, 3)]:
            tenants[f"{name}/{user}"] = Fraction(int(rng.integers(1, 4)))
    scene = scene_of(rng, nodes, tenants, ONE, several=several, most_tasks=3, spread=True)
    weights |= tenants
    scene.weights = weights
    due_along(scene, weights, {})
    return scene


def slurm_records(scenes):
    """Nodes, jobs, and accounts as ``sacctmgr --json`` prints them."""
    nodes = []
    jobs = []
    associations = [slurm.association("root")]
    count = itertools.count(1)
    for cell, scene in enumerate(scenes):
        partition = f"p{cell}"
        free = scene.free()
        for i, (cpus,) in enumerate(scene.nodes):
            state = ["MIXED"] if free[i][0] < cpus else ["IDLE"]
            name = f"n{cell}-{i}"
            nodes.append(slurm.node(name, cpus=cpus, partitions=[partition], state=state))
        for path, weight in scene.weights.items():
            account, _, user = path.partition("/")
            parent = "" if user else "root"
            associations.append(slurm.association(account, user, parent, int(weight)))
        for task in [*scene.running, *scene.waiting]:
            account, _, user = task.tenant.partition("/")
            tres = f"cpu={task.demand[0] * task.size},node={task.size},billing=1"
            host = "" if task.node is None else f"n{cell}-{task.node}"
            fields = {"partition": partition, "node_count": slurm.wrapped(task.size)}
            jobs.append(slurm.job(next(count), user, account, tres, host, **fields))
    return nodes, jobs, associations


# YARN


def yarn_queues(rng, cell, several):
    nodes = one_resource(rng)
    percents = [(100,), (50, 50), (25, 75), (20, 30, 50)][rng.integers(4)]
    names = ["a", "b", "c"][: len(percents)]
    weights = {name: Fraction(part) for name, part in zip(names, percents, strict=True)}
    tenants = {}
    for name in names:
        for user in ["ann", "bob"][: rng.integers(1, 3)]:
            tenants[f"{name}/{user}"] = Fraction(1)
    pool = sum(node[0] for node in nodes)
    maxima = {name: int(rng.integers(5, 11)) * 10 for name in names if rng.random() < 0.2}
    maxima = {name: max(most, int(weights[name])) for name, most in maxima.items()}
    caps = {name: Fraction(most * pool, 100) for name, most in maxima.items()}
    scene = scene_of(
        rng, nodes, tenants, ONE, several=several, allows=below_caps(caps), is_pool=True
    )
    scene.weights, scene.maxima = weights, maxima
    due_along(scene, weights | tenants, caps)
    return scene


def yarn_files(scenes):
    """The answers of the ResourceManager, by name of the file."""
    (scene,) = scenes
    queues = [
        {
            "queueName": name,
            "capacity": float(weight),
            "maxCapacity": float(scene.maxima.get(name, 100)),
            "userLimitFactor": -1,
        }
        for name, weight in scene.weights.items()
    ]
    nodes = []
    for i, ((size,), (free,)) in enumerate(zip(scene.nodes, scene.free(), strict=True)):
        used = (1024 * (size - free), size - free)
        nodes.append(yarn.node(f"n{i}", used, (1024 * free, free)))
    apps = []
    keys = dict.fromkeys((task.tenant, task.demand) for task in [*scene.running, *scene.waiting])
    for number, (tenant, demand) in enumerate(keys, start=1):
        queue, _, user = tenant.partition("/")
        runs = sum((task.tenant, task.demand) == (tenant, demand) for task in scene.running)
        waits = sum((job.tenant, job.demand) == (tenant, demand) for job in scene.waiting)
        size = demand[0]
        fields = {"resourceRequests": [yarn.asks(waits, 1024 * size, size)]} if waits else {}
        usage = (1024 * size * runs, size * runs)
        apps.append(yarn.app(number, f"root.{queue}", user, usage, runs, **fields))
    return {
        "scheduler.json": {
            "scheduler": {"schedulerInfo": yarn.CAPACITY | {"queues": {"queue": queues}}}
        },
        "nodes.json": {"nodes": {"node": nodes}},
        "apps.json": {"apps": {"app": apps}},
    }


def write_yarn(folder, files):
    folder.mkdir(exist_ok=True)
    for name, document in files.items():
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    return folder


def write_slurm(folder, records):
    folder.mkdir(exist_ok=True)
    return slurm.write_dump(folder, *records)


def write_objects(folder, items):
    return kubernetes.written(folder, *items)


class Scheduler(NamedTuple):
    """What draws a cluster, what a dump of several says, what writes it, and how many are in one."""

    draw: Callable
    document: Callable
    write: Callable
    count: int


SCHEDULERS = {
    "kubernetes": Scheduler(namespaces, plain_objects, write_objects, 10),
    "kueue": Scheduler(cohort, kueue_objects, write_objects, 10),
    "kueue, two resources": Scheduler(cohort_of_two, kueue_objects, write_objects, 10),
    "slurm": Scheduler(accounts, slurm_records, write_slurm, 10),
    "volcano": Scheduler(volcano_queues, volcano_objects, write_objects, 5),
    "yarn": Scheduler(yarn_queues, yarn_files, write_yarn, 1),
}


def drawn(rng, scheduler, several):
    """Clusters of one dump, in each of which something runs."""
    scenes = []
    while len(scenes) < SCHEDULERS[scheduler].count:
        scene = SCHEDULERS[scheduler].draw(rng, len(scenes), several)
        if scene.running:
            scenes.append(scene)
    if scheduler != "volcano":
        for scene in scenes:
            scene.part = Fraction(scene.pool[0], sum(other.pool[0] for other in scenes))
    return scenes
