"""Slurm: nodes and jobs, made by hand in the shapes of old and new versions; no real cluster wrote them."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

import fairlp_clusters
from kubernetes_dumps import said
from profiles import many
from slurm_dumps import (
    ACCOUNTS,
    ALLOCATIONS,
    WEIGHS,
    job,
    node,
    read_cluster,
    read_dump,
    wrapped,
    write_dump,
)


def test_the_golden_dump(tmp_path):
    nodes = [
        node("n1"),
        node(
            "g1",
            gres="gpu:a100:4(S:0-1)",
            partitions=["gpu", "cpu"],
            features="a100,nvme",
            real_memory=131072,
        ),
        node("n2", state=["IDLE", "DRAIN"]),
    ]
    gpu = "cpu=8,mem=32G,node=1,billing=8,gres/gpu=2"
    jobs = [
        job(1),
        job(2),
        job(3, nodes="", array_task_string="1-5%2", priority=wrapped(7)),
        job(4, "bob", "lab", gpu, "g1", partition="gpu"),
        job(5, "bob", "lab", gpu, "", partition="gpu", features="a100&nvme"),
    ]
    cluster = read_dump(tmp_path, nodes, jobs, ACCOUNTS)
    instance = cluster.instance
    assert cluster.scheduler == "slurm"
    assert list(instance.users) == ["physics/ann", "lab/bob"] and list(instance.servers) == [
        "n1",
        "g1",
    ]
    assert list(instance.resources) == ["cpu", "memory", "gpu"]
    assert instance.units == {"cpu": "cores", "memory": "MiB"}
    assert instance.demands.tolist() == [[4, 8192, 0], [8, 32768, 2]]
    assert instance.capacities.tolist() == [[16, 65536, 0], [16, 131072, 4]]
    assert instance.task_limits.tolist() == [4, 2]
    assert instance.eligible.tolist() == [[True, True], [False, True]]
    assert instance.queue == ("physics/ann", "physics/lab/bob")
    weights = {
        path: instance.queues.weights[instance.queues.named(path)] for path in instance.queues
    }
    assert weights == {
        "": 1,
        "physics": 30,
        "physics/ann": 2,
        "physics/lab": 1,
        "physics/lab/bob": 1,
        "bio": 10,
    }
    assert cluster.observed.tasks.to_numpy().tolist() == [[2, 0], [0, 1]]
    assert cluster.observed.usage.to_numpy().tolist() == [[8, 16384, 0], [8, 32768, 2]]
    assert not cluster.waiting[["message", "nowhere"]].to_numpy().any()
    assert cluster.waiting.drop(columns=["message", "nowhere"]).to_dict("records") == [
        {
            "user": "physics/ann",
            "queue": "physics/ann",
            "tasks": 2,
            "since": "2026-01-01T00:00:00Z",
        },
        {
            "user": "lab/bob",
            "queue": "physics/lab/bob",
            "tasks": 1,
            "since": "2026-01-01T00:00:00Z",
        },
    ]
    held_row = {
        "user": "physics/ann",
        "queue": "physics/ann",
        "tasks": 3,
        "reason": "array throttle (%2)",
    }
    assert cluster.held.to_dict("records") == [held_row] and cluster.hidden.empty
    assert said(cluster, "it takes no new tasks (DRAIN)") == [("node 'n2'", "left out")]
    assert said(cluster, "nodes have it, but no task asks for it") == [
        ("resource 'gpu:a100'", "left out")
    ]
    assert said(cluster, "its share is that of its parent") == [("association of 'lab'", WEIGHS)]
    assert len(cluster.not_understood) == 3


def test_old_and_new_versions_say_the_same(tmp_path):
    old_node = node("n1", state="idle", state_flags=[], features="a,b", partitions="cpu")
    new_node = node(
        "n1", cpus=wrapped(16), real_memory=wrapped(65536), state=["IDLE"], features=["a", "b"]
    )
    old_job = job(1, tres="cpu=4,mem=8192M,node=1", job_state="RUNNING", submit_time=1767225600)
    clusters = []
    for name, old_or_new_node, other in (("old", old_node, old_job), ("new", new_node, job(1))):
        folder = tmp_path / name
        folder.mkdir()
        clusters.append(read_dump(folder, [old_or_new_node], [other]))
    assert clusters[0].instance.equals(clusters[1].instance)
    assert (clusters[0].observed.tasks_array == clusters[1].observed.tasks_array).all()


@pytest.mark.parametrize("version", ALLOCATIONS)
def test_a_job_of_several_nodes_has_a_part_on_each(tmp_path, version):
    whole = "cpu=8,mem=8G,node=2,gres/gpu=3"
    spread = job(1, tres=whole, nodes="n[1-2]", job_resources=ALLOCATIONS[version])
    spread["gres_detail"] = ["gpu:1(IDX:0)", "gpu:2(IDX:0-1)"]
    gpus = {"gres": "gpu:4"}
    cluster = read_dump(tmp_path, [node("n1", **gpus), node("n2", **gpus)], [spread])
    assert cluster.observed.usage.to_numpy().tolist() == [[6, 4096, 1], [2, 4096, 2]]
    assert list(cluster.instance.users) == ["physics/ann", "physics/ann #2"]
    assert set(cluster.instance.queue) == {"physics/ann"}


LINES = [
    ({"nodes": [node("n1")]}, "an earlier node has this name", "node 'n1'"),
    ({"nodes": [node("", cpus=1)]}, "it has no name", "nodes: ''"),
    ({"nodes": [node("x", cpus=None)]}, "it has no cpus and real_memory", "nodes: 'x'"),
    ({"nodes": [node("x", cpus="4x")]}, "'4x' is no number", "nodes: 'x'"),
    ({"nodes": [node("x", state=["IDLE", "RESERVED"])]}, "it is in a reservation", "node 'x'"),
    ({"nodes": [7]}, "it is 7; expected a mapping", "nodes: '?'"),
    ({"jobs": [job(1)]}, "an earlier job has this number", "job 1"),
    ({"jobs": [job(9, nodes="n7")]}, "it runs on 'n7', a node that is not in the dump", "job 9"),
    ({"jobs": [job(9, nodes="n[1")]}, "a bracket is not closed", "jobs: 9"),
    ({"jobs": [job(9, job_state=["COMPLETED"])]}, "it has finished (COMPLETED)", "job 9"),
    ({"jobs": [job(9, job_state=["RUNNING", "SUSPENDED"])]}, "it is suspended", "job 9"),
    ({"jobs": [job(9, nodes="", array_task_string="1-3,...")]}, "its list of array tasks is cut off", "job 9"),
    ({"jobs": [job(9, tres="")]}, "it has no amounts", "jobs: 9"),
    ({"jobs": [job(9, tres="cpu")]}, "'cpu' in 'cpu' is no amount", "jobs: 9"),
    ({"jobs": [job(9, nodes="", job_state=["RUNNING"])]}, "the dump does not list its nodes", "jobs: 9"),
    ({"jobs": [job(9, features="[a|b]*2")]}, "is more than features", "job 9"),
    ({"jobs": [job(9, required_nodes="n[1-2]")]}, "it names 2 nodes that it needs, and runs on 1", "job 9"),
    ({"jobs": [job(9, nodes="", resv_name="x")]}, "it runs in reservation 'x'", "job 9"),
    ({"jobs": [job(9, licenses="a|b")]}, "'a|b' is no licence with its count", "job 9"),
    ({"jobs": [job(9, nodes="", licenses="a")]}, "it needs licences that the dump does not list (a:1)", "job 9"),
    ({"jobs": [job(9, tres="license/x=1")]}, "it has no amounts but licences", "jobs: 9"),
    ({"licenses": [{"LicenseName": "x"}]}, "it has no LicenseName, Total and Free", "licenses: 'x'"),
    ({"jobs": [job(9, nodes="", array_task_string="x")]}, "is no list of array tasks", "jobs: 9"),
    ({"jobs": [job(9, nodes="", array_task_string="5-3")]}, "'5-3' runs down", "jobs: 9"),
    ({"jobs": [job(9, tres="cpu=1,gres/x=1")]}, "it is asked for, but no node has it", "resource 'x'"),
    ({"jobs": [job(9, tres="cpu=99,mem=1G")]}, "103 of 'cpu' are in use, of 16", "node 'n1'"),
    ({"extra": 1}, "it is not read", "key 'extra'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "phrase", "expected_place"), LINES, ids=[f"{phrase}" for _, phrase, _ in LINES]
)
def test_everything_odd_is_one_clear_line(tmp_path, document, phrase, expected_place):
    write_dump(tmp_path, [node("n1")], [job(1)])
    (tmp_path / "odd.json").write_text(json.dumps({"meta": {}} | document), encoding="utf-8")
    page = fairlp_clusters.snapshot(tmp_path)
    assert [place for place, _ in said(page, phrase)] == [expected_place]
    assert page.observed.totals["physics/ann"] >= 1


@settings(max_examples=many(60), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("xy"), st.integers(1, 9), st.integers(1, 9999), st.integers(1, 3)
        ),
        min_size=1,
    )
)
def test_what_is_observed_is_the_sum_over_jobs(tmp_path_factory, jobs):
    names = ["n1", "n2", "n3"]
    given_jobs = [
        job(k, user, tres=f"cpu={cpu},mem={memory}M,node={count}", nodes=f"n[1-{count}]")
        for k, (user, cpu, memory, count) in enumerate(jobs)
    ]
    cluster = read_dump(tmp_path_factory.mktemp("sum"), [node(name) for name in names], given_jobs)
    for k, name in enumerate(names):
        expected = [Fraction(0), Fraction(0)]
        for _, cpu, memory, count in jobs:
            if k < count:
                expected = [
                    expected[0] + Fraction(cpu, count),
                    expected[1] + Fraction(memory, count),
                ]
        if any(expected):
            assert cluster.observed.usage.loc[name].tolist() == pytest.approx(
                list(map(float, expected)), rel=1e-12
            )
    assert cluster.observed.usage["cpu"].sum() == pytest.approx(
        sum(cpu for _, cpu, _, _ in jobs), rel=1e-12
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"state_reason": "JobHeldUser"}, "JobHeldUser"),
        ({"state_reason": "Dependency"}, "Dependency"),
        ({"state_reason": "QOSMaxCpuPerUserLimit"}, "QOSMaxCpuPerUserLimit"),
        ({"state_reason": "Licenses"}, "Licenses"),
        ({"state_reason": "BadConstraints"}, "BadConstraints"),
        ({"state_reason": "ReqNodeNotAvail"}, "ReqNodeNotAvail"),
        ({"het_job_id": wrapped(7)}, "other parts of heterogeneous job 7 are not in the dump"),
    ],
)
def test_what_may_not_run_yet_is_kept_apart_and_owed_nothing(tmp_path, fields, reason):
    cluster = read_dump(
        tmp_path, [node("n1")], [job(1), job(2, "bob", nodes="", **fields)], ACCOUNTS
    )
    assert (
        cluster.held[["tasks", "reason"]].to_numpy().tolist() == [[1, reason]]
        and cluster.waiting.empty
    )
    assert len(cluster.instance.users) == 1 and cluster.instance.task_limits.tolist() == [1]


def test_a_throttle_counts_tasks_of_the_array_each_on_all_its_nodes(tmp_path):
    wide = job(
        9,
        tres="cpu=16,mem=8G,node=1,billing=16",
        nodes="",
        node_count=wrapped(2),
        array_task_string="1-3%1",
        array_job_id=wrapped(9),
    )
    cluster = read_dump(tmp_path, [node("n1"), node("n2")], [job(1), wide], ACCOUNTS)
    assert cluster.waiting["tasks"].tolist() == [2] and cluster.held["tasks"].tolist() == [4]


def test_a_job_that_waits_for_two_nodes_is_two_tasks(tmp_path):
    wide = job(2, tres="cpu=16,mem=8G,node=1,billing=16", nodes="", node_count=wrapped(2))
    cluster = read_dump(tmp_path, [node("n1"), node("n2")], [job(1), wide], ACCOUNTS)
    assert cluster.waiting["tasks"].tolist() == [2]
    assert [8, 4096] in cluster.instance.demands.tolist()


def test_use_that_only_nodes_tell_of_counts_as_used(tmp_path):
    amounts = {"alloc_cpus": 12, "alloc_memory": 8192, "tres_used": "cpu=12,mem=8G"}
    cluster = read_dump(
        tmp_path, [node("n1", **amounts), node("n2")], [job(1), job(2, nodes="")], ACCOUNTS
    )
    assert cluster.hidden.to_dict() == {"cpu": 8}
    assert cluster.instance.capacities[:, 0].tolist() == [8, 16] and cluster.observed.usage[
        "cpu"
    ].tolist() == [4, 0]
    little = read_dump(tmp_path, [node("n1", alloc_cpus=4), node("n2")], [job(1)], ACCOUNTS)
    assert little.hidden.empty


@pytest.mark.parametrize(
    ("fields", "asleep"),
    [
        ({"state": ["IDLE", "CLOUD", "POWERED_DOWN"]}, "POWERED_DOWN"),
        ({"state": ["IDLE", "CLOUD", "NOT_RESPONDING", "POWERING_UP"]}, "POWERING_UP"),
        ({"state": "idle", "state_flags": ["POWERING_DOWN"]}, "POWERING_DOWN"),
        ({"state": "IDLE+CLOUD+POWERED_DOWN"}, "POWERED_DOWN"),
    ],
)
def test_nodes_that_sleep_are_capacity_and_marked(tmp_path, fields, asleep):
    """16 cores of one node that is awake and 8 × 16 of nodes that start when jobs need them: 144."""
    sleepers = [node(f"c{k}", **fields) for k in range(8)]
    cluster = read_cluster(tmp_path, [node("n1"), *sleepers], [job(1)])
    assert sum(entry.amounts["cpu"] for entry in cluster.nodes.values()) == 144
    assert {entry.closed for entry in cluster.nodes.values()} == {""}
    assert cluster.nodes["n1"].asleep == "" and cluster.nodes["c7"].asleep == asleep


def test_a_cluster_in_which_all_nodes_sleep_has_nodes(tmp_path):
    sleepers = [node(f"c{k}", state=["IDLE", "CLOUD", "POWERED_DOWN"]) for k in range(2)]
    snapshot = read_dump(tmp_path, sleepers, [job(1, nodes="")])
    assert len(snapshot.instance.servers) == 2 and snapshot.waiting["tasks"].tolist() == [1]


@pytest.mark.parametrize(
    ("state", "closed"),
    [
        (["IDLE", "DRAIN", "POWERED_DOWN"], "DRAIN"),
        (["DOWN", "CLOUD", "POWERED_DOWN"], "DOWN"),
        (["IDLE", "NOT_RESPONDING"], "NOT_RESPONDING"),
        (["FUTURE"], "FUTURE"),
        (["IDLE", "MAINTENANCE", "RESERVED"], "MAINTENANCE"),
        (["IDLE", "PLANNED"], ""),
        (["MIXED", "CLOUD"], ""),
        (["IDLE", "REBOOT_REQUESTED"], ""),
    ],
)
def test_states_of_nodes_are_those_of_the_documentation(tmp_path, state, closed):
    cluster = read_cluster(tmp_path, [node("n1", state=state)], [job(1, nodes="")])
    assert cluster.nodes["n1"].closed == closed and not cluster.nodes["n1"].asleep


def test_a_node_that_sleeps_starts_with_any_of_its_features(tmp_path):
    features = {"features": ["a", "b"], "active_features": ["a"]}
    nodes = [
        node("n1", **features),
        node("c1", state=["IDLE", "POWERED_DOWN"], **features),
    ]
    snapshot = read_dump(tmp_path, nodes, [job(1, nodes="", features="b")])
    assert snapshot.instance.eligible.tolist() == [[False, True]]


def test_only_jobs_of_a_reservation_run_on_its_nodes(tmp_path):
    nodes = [node("n1"), node("n2", state=["IDLE", "RESERVED"], reservation="course")]
    jobs = [job(1, nodes=""), job(2, "bob", nodes="", resv_name="course")]
    snapshot = read_dump(tmp_path, nodes, jobs)
    assert snapshot.instance.eligible.tolist() == [[True, False], [False, True]]


def test_a_job_of_seven_nodes_waits_as_one(tmp_path):
    """A job of 7 nodes with 5 free is one job of 7 tasks, each on a node of its own."""
    nodes = [node(f"n{k}") for k in range(7)]
    busy = [job(k + 1, "bob", tres="cpu=16,mem=8G,node=1", nodes=f"n{k}") for k in range(2)]
    wide = job(17, tres="cpu=70,mem=56G,node=7", nodes="", node_count=wrapped(7), priority=9)
    cluster = read_cluster(tmp_path, nodes, [*busy, wide])
    (waiting,) = [job for job in cluster.waiting_jobs if job.name]
    assert (waiting.name, waiting.copies, waiting.one_a_node) == ("job 17", 1, True)
    ((leaf, tasks),) = waiting.tasks.items()
    assert tasks == 7 and dict(leaf.demand) == {"cpu": 10, "memory": 8192}
    assert waiting.since == "2026-01-01T00:00:00Z" and waiting.request.priority == 9
    assert cluster.groups[leaf].waiting == 7


def test_each_task_of_an_array_is_a_job_by_itself(tmp_path):
    """Tasks 3 to 6 of an array of 2 nodes each wait, and one more may run at once: 4 − 1 are held."""
    nodes = [node("n1"), node("n2")]
    shape = "cpu=4,mem=8G,node=2"
    array = {"array_job_id": wrapped(9), "node_count": wrapped(2)}
    jobs = [
        job(10, tres=shape, nodes="n[1-2]", priority=4, **array),
        job(9, tres=shape, nodes="", array_task_string="3-6%2", **array),
    ]
    cluster = read_cluster(tmp_path, nodes, jobs)
    (waiting,) = [job for job in cluster.waiting_jobs if job.name]
    assert waiting.copies == 1 and sum(waiting.tasks.values()) == 2
    assert list(cluster.running_jobs) == ["job 10"]
    assert cluster.running_jobs["job 10"].total() == 2
    assert cluster.jobs == {"run": 1, "wait": 1, "are held": 3}


def parts(count, numbers="20-21", **fields):
    """Parts of the heterogeneous job 20: part k asks for k + 1 nodes."""
    entries = []
    for k in range(count):
        shape = f"cpu={4 * (k + 1)},mem={8 * (k + 1)}G,node={k + 1}"
        place = {"het_job_id": wrapped(20), "het_job_id_set": numbers}
        entries.append(
            job(20 + k, tres=shape, nodes="", node_count=wrapped(k + 1), **place | fields)
        )
    return entries


def test_the_parts_of_a_heterogeneous_job_are_one_job(tmp_path):
    jobs = parts(2)
    jobs[0]["priority"] = 3
    jobs[1] |= {"partition": "gpu", "state_description": "Resources, soon", "priority": 5}
    nodes = [node("n1"), node("g1", partitions=["gpu"]), node("g2", partitions=["gpu"])]
    cluster = read_cluster(tmp_path, nodes, jobs)
    (waiting,) = [job for job in cluster.waiting_jobs if job.name]
    assert waiting.name == "job 20" and waiting.copies == 1
    assert sorted(waiting.tasks.values()) == [1, 2]
    assert {leaf.place.partitions for leaf in waiting.tasks} == {("cpu",), ("gpu",)}
    assert waiting.request.message == "Resources, soon" and waiting.request.priority == 5


def test_a_heterogeneous_job_waits_only_if_all_of_its_parts_do(tmp_path):
    jobs = parts(2)
    jobs[1]["state_reason"] = "Dependency"
    held = read_dump(tmp_path, [node("n1"), node("n2")], [job(1), *jobs]).held
    assert sorted(held["reason"]) == [
        "Dependency",
        "another part of heterogeneous job 20 is held: Dependency",
    ]
    alone = read_dump(tmp_path, [node("n1")], [job(1), *parts(1, "")]).held
    assert alone["reason"].tolist() == ["other parts of heterogeneous job 20 are not in the dump"]
    held = read_dump(tmp_path, [node("n1")], [job(1), *parts(2, "20-22")]).held
    assert set(held["reason"]) == {"other parts of heterogeneous job 20 are not in the dump"}


def test_an_exclusive_job_demands_all_of_a_node_where_nodes_are_alike(tmp_path):
    nodes = [node("n1", gres="gpu:2"), node("n2", gres="gpu:2"), node("g1", partitions=["gpu"])]
    jobs = [job(1, nodes="", shared=["none"]), job(2, "bob", nodes="", exclusive=["true"])]
    cluster = read_cluster(tmp_path, nodes, jobs)
    demands = {leaf.owner: dict(leaf.demand) for leaf in cluster.groups}
    whole = {"cpu": 16, "memory": 65536, "gpu": 2}
    assert demands == {"physics/ann": whole, "physics/bob": whole}


def test_an_exclusive_job_on_nodes_that_differ_is_held(tmp_path):
    nodes = [node("n1"), node("n2", cpus=32)]
    cluster = read_cluster(tmp_path, nodes, [job(1, nodes="", shared=["none"])])
    (group,) = cluster.groups.values()
    reason = "it wants whole nodes (--exclusive), and those that it may have differ"
    assert group.held == {reason: 1}


@pytest.mark.parametrize(
    ("fields", "left_out"),
    [
        ({"shared": ["user"]}, "--exclusive=user"),
        ({"features": "[rack1*2|rack2*4]"}, "constraint [rack1*2|rack2*4]"),
        ({"required_nodes": "n[1-2]"}, "required nodes n[1-2]"),
        ({"resv_name": "course"}, "reservation course"),
        ({"contiguous": True}, "contiguous nodes"),
        ({"required_switches": 1}, "switches"),
        ({"licenses": "matlab:2"}, "licences (matlab:2)"),
        ({"licenses": "a|b"}, "licences (a|b)"),
    ],
)
def test_what_does_not_count_of_a_request_is_named(tmp_path, fields, left_out):
    cluster = read_cluster(tmp_path, [node("n1"), node("n2")], [job(1, nodes="", **fields)])
    (waiting,) = cluster.waiting_jobs
    assert waiting.request.left_out == (left_out,) and waiting.copies == 1


def test_a_job_runs_on_the_nodes_that_it_names(tmp_path):
    nodes = [node(f"n{k}") for k in range(3)]
    jobs = [
        job(1, nodes="", required_nodes="n1"),
        job(2, "bob", tres="cpu=2,node=2", nodes="", node_count=2, required_nodes="n[0,2]"),
    ]
    snapshot = read_dump(tmp_path, nodes, jobs)
    assert snapshot.instance.eligible.tolist() == [[False, True, False], [True, False, True]]


@pytest.mark.parametrize(
    ("fields", "waits"),
    [
        ({"required_nodes": "n1"}, True),
        ({"required_nodes": "n2"}, False),  # it is down
        ({"required_nodes": "n9"}, False),  # it is not in the dump
        ({}, False),  # an advanced reservation is ahead, or nodes are out of order
    ],
)
def test_a_job_whose_named_node_is_only_in_use_lacks_room(tmp_path, fields, waits):
    nodes = [node("n1"), node("n2", state=["DOWN"])]
    description = "ReqNodeNotAvail, May be reserved for other job"
    reason = {"state_reason": "ReqNodeNotAvail", "state_description": description}
    jobs = [job(1), job(2, "bob", nodes="", **fields, **reason)]
    cluster = read_cluster(tmp_path, nodes, jobs)
    group = next(group for leaf, group in cluster.groups.items() if leaf.owner == "physics/bob")
    assert group.waiting == waits
    assert group.held == ({} if waits else {description: 1})
