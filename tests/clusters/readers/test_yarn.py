"""YARN: queues of both schedulers, nodes and applications, made by hand in the shapes of the documentation."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings, strategies as st

import fairlp_clusters
from fairlp.errors import FileFormatError
from fairlp_clusters.readers.pods import GOING_NODES
from fairlp_clusters.readers.yarn import YarnReader
from kubernetes_dumps import said
from profiles import many
from yarn_dumps import CAPACITY as CAPACITY_SCHEDULER, app, asks, node


def leaf(name, capacity, largest=100.0, **fields):
    """A queue without a limit of single users (a userLimitFactor of −1 switches it off)."""
    return {
        "type": "capacitySchedulerLeafQueueInfo",
        "queueName": name,
        "capacity": capacity,
        "maxCapacity": largest,
        "userLimitFactor": -1.0,
    } | fields


#: The setting with which all resources count; without it memory alone does.
DOMINANT = {
    "yarn.scheduler.capacity.resource-calculator": (
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
    )
}


def conf(**settings):
    """Properties as ``/conf?format=json`` prints them."""
    names = {name.replace("_", "."): value for name, value in settings.items()}
    return {"properties": [{"key": name, "value": value} for name, value in names.items()]}


TREE = [
    leaf(
        "a",
        75.0,
        absoluteMaxCapacity=80.0,
        queues={"queue": [leaf("x", 33.3), leaf("y", 66.7, 90.0)]},
    ),
    leaf("b", 25.0, 40.0, absoluteCapacity=25.0, userLimitFactor=2.0),
    leaf("stopped", 0.0, state="STOPPED"),
]


CAPACITY = CAPACITY_SCHEDULER | {"queues": {"queue": TREE}}


def written(folder, nodes, apps, scheduler=None, settings=DOMINANT):
    documents = {"nodes.json": {"nodes": {"node": nodes}}, "apps.json": {"apps": {"app": apps}}}
    if settings is not None:
        documents["conf.json"] = conf(**settings)
    if scheduler is not None:
        documents["scheduler.json"] = {"scheduler": {"schedulerInfo": scheduler}}
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    return folder


def read(folder, *documents, **options):
    return fairlp_clusters.snapshot(written(folder, *documents), **options)


def limits(cluster, path, field):
    queues = cluster.instance.queues
    row = getattr(queues, field)[queues.named(path)]
    return {
        r: v
        for r, v in zip(cluster.instance.resources, row.tolist(), strict=True)
        if v and math.isfinite(v)
    }


def test_the_golden_dump(tmp_path):
    nodes = [node("n1", (3072, 3), (5120, 5)), node("n2", (1024, 1), (7168, 7))]
    apps = [
        app(1, "root.a.x", usage=(2048, 2)),
        app(
            2,
            "x",
            usage=(1024, 1),
            containers=1,
            priority=4,
            resourceRequests=[asks(3), asks(3, name="/rack1"), asks(0)],
        ),
        app(3, "root.b", "bob", (1024, 1), 1),
        app(4, "b", "bob", (-1, -1), 0, state="FINISHED"),
        app(5, "b", "eve", (0, 0), 0, state="ACCEPTED", resourceRequests=asks(1, 512)),
    ]
    cluster = read(tmp_path, nodes, apps, CAPACITY)
    instance = cluster.instance
    assert cluster.scheduler == "yarn" and list(instance.servers) == ["nodes"]
    assert list(instance.users) == ["a/x/ann", "b/bob", "b/eve"] and instance.queue == (
        "a/x",
        "b",
        "b",
    )
    assert list(instance.resources) == ["vcores", "memory"] and instance.units == {"memory": "MiB"}
    assert instance.demands.tolist() == [[1, 1024], [1, 1024], [1, 512]]
    assert instance.capacities.tolist() == [[16, 16384]]
    assert instance.task_limits.tolist() == [6, 1, 1]
    assert cluster.observed.tasks.to_numpy().tolist() == [[3], [1], [0]]
    assert cluster.observed.usage.to_numpy().tolist() == [[4, 4096]]
    assert not cluster.waiting[["message", "nowhere"]].to_numpy().any()
    assert cluster.waiting.drop(columns=["message", "nowhere"]).to_dict("records") == [
        {
            "user": "a/x/ann",
            "queue": "a/x",
            "tasks": 3,
            "since": "2026-01-01T00:00:00Z",
        },
        {
            "user": "b/eve",
            "queue": "b",
            "tasks": 1,
            "since": "2026-01-01T00:00:00Z",
        },
    ]
    weights = {
        path: instance.queues.weights[instance.queues.named(path)] for path in instance.queues
    }
    assert weights == {"": 1, "a": 75, "a/x": 33.3, "a/y": 66.7, "b": 25, "stopped": 1 / 1000}
    assert limits(cluster, "a", "guarantees") == {"vcores": 12, "memory": 12288}
    assert limits(cluster, "a/x", "guarantees") == pytest.approx(
        {"vcores": 12 * 0.333, "memory": 12288 * 0.333}
    )
    assert limits(cluster, "a", "caps") == pytest.approx({"vcores": 12.8, "memory": 16384 * 0.8})
    assert limits(cluster, "a/y", "caps") == pytest.approx(
        {"vcores": 11.52, "memory": 16384 * 0.72}
    )
    assert limits(cluster, "b", "caps") == pytest.approx({"vcores": 6.4, "memory": 16384 * 0.4})
    for phrase, expected_place in (
        ("it has finished (FINISHED)", "application 'application_1_0004'"),
        ("a capacity of 0", "queue 'stopped'"),
        ("the dump does not say on which nodes containers run", "2 nodes"),
    ):
        assert [place for place, _ in said(cluster, phrase)] == [expected_place]
    assert len(cluster.not_understood) == 3


def wants(number, queue, count, user="ann", memory=1024):
    """An application that has nothing and asks for containers of one core."""
    return app(number, queue, user, (0, 0), 0, resourceRequests=[asks(count, memory)])


USED_WITH_LABEL = [
    {"partitionName": "", "used": {"memory": 1024, "vCores": 1}},
    {"partitionName": "gpu", "used": {"memory": 1024, "vCores": 1}},
]


@pytest.mark.parametrize(
    ("labels", "fields"),
    [
        (["gpu"], {}),
        ([], {"resourceInfo": {"resourceUsagesByPartition": USED_WITH_LABEL}}),
        ([], {"appNodeLabelExpression": "gpu"}),
        ([], {"resourceRequests": [asks(2, nodeLabelExpression="gpu")]}),
    ],
)
def test_a_dump_with_partitions_has_shares_and_no_verdict(tmp_path, labels, fields):
    nodes = [node("n1", (1024, 1)), node("g1", (1024, 1), nodeLabels=labels)]
    scheduler = CAPACITY | {"queues": {"queue": [leaf("a", 100.0)]}}
    snapshot = read(tmp_path, nodes, [app(1, **fields)], scheduler)
    assert snapshot.no_verdict == "fairlp does not read YARN's node labels, and the dump has some"
    assert said(snapshot, "they are not read") == [("node labels ['gpu']", "all nodes count alike")]
    assert list(snapshot.instance.servers) == ["nodes"]
    assert snapshot.observed.usage.to_numpy().tolist() == [[2, 2048]]


def test_what_nodes_and_applications_say_differently_is_noted(tmp_path):
    snapshot = read(tmp_path, [node("n1", (4096, 4))], [app(1)])
    assert (
        said(snapshot, "nodes say that 4 are in use, applications 2")[0][0] == "resource 'vcores'"
    )


def test_without_its_queues_a_dump_has_no_verdict(tmp_path):
    snapshot = read(tmp_path, [node("n1")], [app(1)])
    assert snapshot.no_verdict == "the queues are not in the dump (ws/v1/cluster/scheduler)"


def test_other_resources_and_containers_that_are_not_alike(tmp_path):
    def amounts(memory, cores, gpus):
        information = [{"name": "memory-mb", "value": memory}, {"name": "vcores", "value": cores}]
        information.append({"name": "yarn.io/gpu", "value": gpus})
        return {
            "memory": memory,
            "vCores": cores,
            "resourceInformations": {"resourceInformation": information},
        }

    nodes = [node("n1", usedResource=amounts(10240, 4, 2), availableResource=amounts(2048, 4, 2))]
    usage = [{"partitionName": "", "used": amounts(10240, 4, 2)}]
    cluster = read(
        tmp_path,
        nodes,
        [app(1, usage=(10240, 4), containers=3, resourceInfo={"resourceUsagesByPartition": usage})],
    )
    assert list(cluster.instance.resources) == ["vcores", "memory", "yarn.io/gpu"]
    assert cluster.instance.demands.tolist() == [
        [2, 5120, 1]
    ] and cluster.observed.totals.tolist() == [2]
    assert cluster.observed.usage.to_numpy().tolist() == [[4, 10240, 2]]
    assert (
        said(cluster, "its 3 containers are not alike")[0][1]
        == "it counts as equal parts of what it has"
    )


LINES = [
    (
        "apps",
        app(9, resourceRequests=[asks(2**31)]),
        "numContainers is 2147483648; expected a whole number from 0 to 2147483647",
        "application 'application_1_0009'",
    ),
    ("nodes", node("n1"), "an earlier node has this name", "node 'n1:8041'"),
    ("nodes", node("n9", state="LOST"), "it does not work (LOST)", "node 'n9:8041'"),
    ("nodes", node("n9", state="DECOMMISSIONING"), "it takes no new containers", "node 'n9:8041'"),
    ("nodes", {"id": "n9", "state": "RUNNING"}, "it has no amounts", "node 'n9'"),
    ("nodes", node("n9", (-5, 0)), "amounts are negative", "node 'n9:8041'"),
    ("nodes", {"state": "RUNNING"}, "it has no id", "node '?'"),
    ("nodes", 3, "it is 3; expected a mapping", "node '?'"),
    (
        "apps",
        app(1),
        "an earlier application has this number",
        "application 'application_1_0001'",
    ),
    (
        "apps",
        app(9, "root.zzz"),
        "queue 'root.zzz' is not in the dump",
        "application 'application_1_0009'",
    ),
    (
        "apps",
        app(9, "same"),
        "queue 'same' is the name of several",
        "application 'application_1_0009'",
    ),
    (
        "apps",
        app(9, usage=("1", 1)),
        "allocatedMB is '1'; expected a whole number",
        "application 'application_1_0009'",
    ),
    (
        "apps",
        app(9, usage=(0, 0), state="ACCEPTED"),
        "the dump does not say what it asks for",
        "application 'application_1_0009'",
    ),
]


@pytest.mark.parametrize(
    ("key", "entry", "phrase", "expected_place"), LINES, ids=[line[2] for line in LINES]
)
def test_everything_odd_is_one_clear_line(tmp_path, key, entry, phrase, expected_place):
    queues = [
        leaf("a", 50.0, queues={"queue": [leaf("same", 100.0)]}),
        leaf("b", 50.0, queues={"queue": [leaf("same", 100.0)]}),
    ]
    written(tmp_path, [node("n1")], [app(1)], CAPACITY | {"queues": {"queue": queues}})
    (tmp_path / "odd.json").write_text(json.dumps({key: {key[:-1]: [entry]}}), encoding="utf-8")
    snapshot = fairlp_clusters.snapshot(tmp_path, "yarn")
    assert [place for place, _ in said(snapshot, phrase)] == [expected_place]


@settings(max_examples=many(60), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("xy"), st.integers(1, 99), st.integers(1, 9999), st.integers(0, 9)
        ),
        min_size=1,
    )
)
def test_what_is_observed_is_the_sum_over_applications(tmp_path_factory, apps):
    applications = [
        app(k, user=user, usage=(memory, cores), containers=count)
        for k, (user, cores, memory, count) in enumerate(apps)
    ]
    cluster = read(tmp_path_factory.mktemp("sum"), [node("n1")], applications)
    assert cluster.observed.usage.loc["nodes", "vcores"] == sum(cores for _, cores, _, _ in apps)
    assert cluster.observed.usage.loc["nodes", "memory"] == sum(memory for _, _, memory, _ in apps)


def amounts(vcores, memory):
    return {"memory": memory, "vCores": vcores}


def test_queues_that_are_configured_in_amounts(tmp_path):
    """In absolute mode capacities in percent are 0; a queue with 30 of 40 vcores is guaranteed these."""

    def absolute(name, vcores):
        least = amounts(vcores, 1024 * vcores)
        entry = {"partitionName": "", "configuredMinResource": least, "effectiveMinResource": least}
        entry["effectiveMaxResource"] = amounts(40, 40960)
        return leaf(name, 0.0, capacities={"queueCapacitiesByPartition": [entry]})

    queues = {"queue": [absolute("big", 30), absolute("small", 10)]}
    apps = [app(1, "root.big", containers=2), app(2, "root.small", containers=2)]
    cluster = read(tmp_path, [node("n1", free=(36864, 36))], apps, CAPACITY | {"queues": queues})
    assert (
        limits(cluster, "big", "guarantees")["vcores"] == 30
        and limits(cluster, "small", "guarantees")["vcores"] == 10
    )
    named = cluster.instance.queues.named
    assert (
        cluster.instance.queues.weights[named("big")]
        == 3 * cluster.instance.queues.weights[named("small")]
    )


@pytest.mark.parametrize("capacity", [0.0, 25.0])
def test_the_amounts_that_yarn_says_are_guaranteed_come_before_percentages(tmp_path, capacity):
    """A queue is printed with 25 % (or 0) of 40 vcores, and an effective minimum of 30: 30 are guaranteed."""

    def effective(name, vcores, percentage):
        entry = {"partitionName": "", "effectiveMinResource": amounts(vcores, 1024 * vcores)}
        return leaf(name, percentage, capacities={"queueCapacitiesByPartition": [entry]})

    queues = [effective("big", 30, capacity), effective("small", 10, capacity and 75.0)]
    apps = [wants(1, "root.big", 40), wants(2, "root.small", 40, user="bob")]
    scheduler = CAPACITY | {"queues": {"queue": queues}}
    cluster = read(tmp_path, [node("n1", free=(40960, 40))], apps, scheduler)
    assert limits(cluster, "big", "guarantees") == {"vcores": 30, "memory": 30720}
    assert fairlp_clusters.fair_shares(cluster, by="queue").loc[
        "big", "fair_tasks"
    ] == pytest.approx(30)
    queues = cluster.instance.queues
    big, small = (queues.weights[queues.named(name)] for name in ("big", "small"))
    assert big / small == pytest.approx(25 / 75 if capacity else 30 / 10)


def put(folder, **documents):
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def yarn_dump(folder, nodes, apps):
    return fairlp_clusters.snapshot(
        put(folder, nodes={"nodes": {"node": nodes}}, apps={"apps": {"app": apps}})
    )


def manager(name, **changes):
    fields = {"id": f"{name}:8041", "state": "RUNNING", "usedMemoryMB": 2048, "usedVirtualCores": 2}
    return fields | {"availMemoryMB": 8192, "availableVirtualCores": 8} | changes


def application(number, **changes):
    fields = {
        "id": f"application_1_{number:04}",
        "state": "RUNNING",
        "queue": "root.a",
        "user": "ann",
    }
    return fields | {"allocatedMB": 2048, "allocatedVCores": 2, "runningContainers": 2} | changes


def test_yarn_amounts_that_are_not_known_and_keys_that_are_not_read(tmp_path):
    waiting = application(
        2, state="ACCEPTED", allocatedMB=-1, allocatedVCores=-1, runningContainers=-1
    )
    empty = application(3, user="bob", allocatedMB=0, allocatedVCores=0, runningContainers=0)
    used = [
        {"used": {"memory": 2048, "vCores": 2}},
        {"partitionName": "x", "used": {"memory": 0, "vCores": 0}},
    ]
    divided = application(1, resourceInfo={"resourceUsagesByPartition": used})
    put(tmp_path, more={"apps": None, "clusterMetrics": {}})
    cluster = yarn_dump(tmp_path, [manager("n1")], [divided, waiting, empty])
    assert cluster.observed.totals.to_dict() == {"a/ann": 2}
    assert said(cluster, "it is not read")[0] == ("key 'clusterMetrics'", "left out")
    assert said(cluster, "the dump does not say what it asks for")[0][0].startswith(
        "application 'application_1_0002'"
    )


def cluster_of(folder, *documents):
    """Return the cluster that the reader of YARN makes of a dump."""
    reader = YarnReader()
    for path in sorted(written(folder, *documents).iterdir()):
        reader.read(path)
    return reader.finish()[0]


def held_and_waiting(cluster):
    """Return tasks that wait and those that are held, by tenant."""
    return {
        leaf.tenant: (group.waiting, dict(group.held)) for leaf, group in cluster.groups.items()
    }


def bare(name, capacity, largest=100.0, **fields):
    """A queue that prints no limit of single users."""
    queue = leaf(name, capacity, largest) | fields
    if "userLimitFactor" not in fields:
        del queue["userLimitFactor"]
    return queue


ONE_QUEUE = CAPACITY | {"queues": {"queue": [bare("default", 100.0)]}}


def test_by_default_memory_alone_counts(tmp_path):
    """16 of 32 GiB are free, and 16 of 8 vcores in use: bob's 12 containers of 1 GiB have room."""
    nodes = [node("n1", (16384, 16), (16384, -8))]
    apps = [
        app(1, "default", "ann", (16384, 16), 16),
        app(2, "default", "bob", (0, 0), 0, resourceRequests=[asks(12)]),
    ]
    snapshot = read(tmp_path, nodes, apps, ONE_QUEUE, None)
    assert list(snapshot.instance.resources) == ["memory"]
    assert snapshot.instance.capacities.tolist() == [[32768]]
    assert snapshot.observed.totals.to_dict() == {"default/ann": 16, "default/bob": 0}
    fair = fairlp_clusters.fair_shares(snapshot)["fair_tasks"]
    assert fair["default/bob"] == pytest.approx(12)
    assert said(snapshot, "only memory counts") == [("resource 'vcores'", "left out")]
    (what,) = snapshot.not_understood.query("where == \"resource 'vcores'\"")["what"]
    assert what == (
        "only memory counts, by DefaultResourceCalculator (the default: "
        "yarn.scheduler.capacity.resource-calculator is not in the dump)"
    )


XML = """<?xml version="1.0" encoding="UTF-8"?>
<configuration>
  <property><name>yarn.scheduler.capacity.resource-calculator</name><value>{}</value></property>
  <property><name>yarn.resourcemanager.scheduler.monitor.enable</name><value>true</value></property>
</configuration>
"""
CLASSES = "org.apache.hadoop.yarn.util.resource."


@pytest.mark.parametrize(
    ("name", "text", "resources"),
    [
        ("conf.xml", XML.format(f"{CLASSES}DominantResourceCalculator"), ["vcores", "memory"]),
        ("conf.xml", XML.format(f"{CLASSES}DefaultResourceCalculator"), ["memory"]),
        (
            "scheduler-conf.json",
            json.dumps(
                {
                    "property": [
                        {
                            "name": "yarn.scheduler.capacity.resource-calculator",
                            "value": f"{CLASSES}DominantResourceCalculator",
                        }
                    ]
                }
            ),
            ["vcores", "memory"],
        ),
    ],
)
def test_the_calculator_is_read_where_a_file_has_it(tmp_path, name, text, resources):
    (tmp_path / name).write_text(text, encoding="utf-8")
    snapshot = read(tmp_path, [node("n1")], [app(1, "default")], ONE_QUEUE, None)
    assert list(snapshot.instance.resources) == resources
    if resources == ["memory"]:
        (what,) = snapshot.not_understood.query("where == \"resource 'vcores'\"")["what"]
        assert what == "only memory counts, by DefaultResourceCalculator"


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("<configuration><property>", "it is no XML"),
        ("<!DOCTYPE a><configuration/>", "it defines a type or entities of its own"),
        ("<configuration><!ENTITY a></configuration>", "it defines a type or entities of its own"),
    ],
)
def test_xml_that_is_none_is_noted(tmp_path, text, phrase):
    (tmp_path / "conf.xml").write_text(text, encoding="utf-8")
    snapshot = read(tmp_path, [node("n1")], [app(1)], ONE_QUEUE)
    assert said(snapshot, phrase) == [("the file", "left out")]


def two_queues(factor=None, **fields):
    own = {} if factor is None else {"userLimitFactor": factor}
    queues = [bare("a", 50.0, **own, **fields), bare("b", 50.0, **own)]
    return CAPACITY | {"queues": {"queue": queues}}


#: ann has half of the cluster, which is all of her queue's capacity, and wants more.
HALF = [app(1, "a", "ann", (8192, 8), 8, resourceRequests=[asks(8)])]


@pytest.mark.parametrize(
    ("factor", "fair"), [(None, 8), (1.0, 8), (1.5, 12), (2.0, 16), (-1.0, 16)]
)
def test_a_user_has_no_more_than_the_factor_times_the_capacity_of_the_queue(tmp_path, factor, fair):
    """16 GiB in the cluster, and 8 of them the capacity of queue a."""
    nodes = [node("n1", (8192, 8), (8192, 8))]
    snapshot = read(tmp_path, nodes, HALF, two_queues(factor), None)
    assert fairlp_clusters.fair_shares(snapshot).loc["a/ann", "fair_tasks"] == pytest.approx(fair)


NOT_ACTIVATED = (
    "[Fri Aug 25 10:15:09 +0000 2017] Application is added to the scheduler and is not yet "
    "activated. Queue's AM resource limit exceeded.  Details : AM Partition = <DEFAULT_PARTITION>; "
    "AM Resource Request = <memory:2048, vCores:1>; Queue Resource Limit for AM = <memory:5120, "
    "vCores:1>; "
)
HELD = (
    "Application is added to the scheduler and is not yet activated. Queue's AM resource limit "
    "exceeded."
)


@pytest.mark.parametrize("requests", [[asks(3)], []])
def test_an_application_that_is_not_yet_activated_is_held_in_the_words_of_yarn(tmp_path, requests):
    waiting = app(
        2,
        "default",
        "bob",
        (-1, -1),
        -1,
        state="ACCEPTED",
        diagnostics=NOT_ACTIVATED,
        resourceRequests=requests,
    )
    apps = [app(1, "default"), waiting]
    cluster = cluster_of(tmp_path, [node("n1", (2048, 2))], apps, ONE_QUEUE)
    count = 3 if requests else 1
    assert held_and_waiting(cluster)["default/bob"] == (0, {HELD: count})
    snapshot = read(tmp_path, [node("n1", (2048, 2))], apps, ONE_QUEUE)
    assert snapshot.held["reason"].tolist() == [HELD] and snapshot.held["tasks"].tolist() == [count]


def test_a_container_has_to_fit_on_one_node(tmp_path):
    """12 GiB are free, 4 on each of three nodes: the free amounts of each are kept."""
    nodes = [node(f"n{k}", (4096, 4), (4096, -1)) for k in range(3)]
    nodes.append(node("n4", (1024, 1), (9999, 9), state="DECOMMISSIONING"))
    nodes.append(node("n5", (0, 0), (9999, 9), state="LOST"))
    apps = [app(1, "default", usage=(12288, 12), containers=12, resourceRequests=[asks(1, 6144)])]
    (server,) = cluster_of(tmp_path, nodes, apps, ONE_QUEUE, None).nodes.values()
    assert server.pieces == ({"memory": 4096},) * 3
    (server,) = cluster_of(tmp_path, nodes, apps, ONE_QUEUE).nodes.values()
    assert server.pieces == ({"memory": 4096, "vcores": 0},) * 3


def test_containers_that_wait_while_nodes_go_say_so(tmp_path):
    nodes = [node("n1"), node("n2", state="DECOMMISSIONING")]
    apps = [app(1, "default", resourceRequests=[asks(1)])]
    (waiting,) = cluster_of(tmp_path, nodes, apps, ONE_QUEUE).waiting_jobs
    assert waiting.request.left_out == (GOING_NODES,)
    (waiting,) = cluster_of(tmp_path, nodes[:1], apps, ONE_QUEUE).waiting_jobs
    assert waiting.request.left_out == ()


def test_containers_wait_with_the_priority_of_their_application(tmp_path):
    apps = [app(1, "default", priority=7, resourceRequests=[asks(1)])]
    (waiting,) = cluster_of(tmp_path, [node("n1")], apps, ONE_QUEUE).waiting_jobs
    assert waiting.request.priority == 7


def test_another_scheduler_of_yarn_has_no_verdict(tmp_path):
    scheduler = {"type": "fairScheduler", "rootQueue": {"queueName": "root"}}
    snapshot = read(tmp_path, [node("n1")], [app(1)], scheduler, None)
    assert "of YARN's schedulers fairlp reads the capacityScheduler alone" in snapshot.no_verdict
    assert snapshot.observed.tasks_array.sum() == 2


def test_a_calculator_that_is_not_known_has_no_verdict(tmp_path):
    settings = {"yarn.scheduler.capacity.resource-calculator": "org.example.OwnCalculator"}
    snapshot = read(tmp_path, [node("n1")], [app(1, "default")], ONE_QUEUE, settings)
    assert snapshot.no_verdict == "resources are counted by 'OwnCalculator', which is not known"
    assert list(snapshot.instance.resources) == ["vcores", "memory"]


def test_users_with_a_limit_share_their_queue_equally(tmp_path):
    """a may have all of 16 GiB, and each of its users 12; ann and bob want all, and bob has one size more."""
    queues = [bare("a", 50.0, userLimitFactor=1.5), bare("b", 50.0, userLimitFactor=1.5)]
    apps = [
        app(1, "a", "ann", (0, 0), 0, resourceRequests=[asks(20)]),
        app(2, "a", "bob", (0, 0), 0, resourceRequests=[asks(20), asks(20, 512)]),
    ]
    scheduler = CAPACITY | {"queues": {"queue": queues}}
    snapshot = read(tmp_path, [node("n1", free=(16384, 16))], apps, scheduler, None)
    weights = snapshot.instance.queues.weights
    named = snapshot.instance.queues.named
    assert weights[named("a/ann")] == weights[named("a/bob")] == 1
    amounts_of_users = (
        fairlp_clusters.fair_shares(snapshot)["fair_tasks"] * snapshot.instance.demands[:, 0]
    )
    of_bob = amounts_of_users[amounts_of_users.index.str.startswith("a/bob")].sum()
    assert amounts_of_users["a/ann"] == pytest.approx(8192) == of_bob


@pytest.mark.parametrize("depth", [1000, 100_000])
def test_queues_that_are_nested_too_deeply_are_refused(tmp_path, depth):
    queues = '{"type":"capacityScheduler","queueName":"a","queues":{"queue":[' * depth
    queues += "]}}" * depth
    (tmp_path / "q.json").write_text(f'{{"scheduler":{{"schedulerInfo":{queues}}}}}', "utf-8")
    with pytest.raises(FileFormatError, match="nested too deeply"):
        read(tmp_path, node("n1", (2048, 2)), app(1))
