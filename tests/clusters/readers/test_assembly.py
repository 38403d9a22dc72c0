"""From nodes and tasks to an instance: overcommitment, users who fit nowhere, sizes, and sums of what runs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

import fairlp
import slurm_dumps as slurm
from dump_files import notes, read, snapshot
from fairlp.errors import InstanceError, TooLargeError
from fairlp_clusters.readers import assembly
from kubernetes_dumps import node, pod, said, volcano
from profiles import many


@pytest.mark.parametrize(
    "items",
    [[], [node("n1")], [pod("a", on="n1")], [pod("a")], [node("n1"), pod("a", phase="Failed")]],
)
def test_a_dump_without_nodes_or_tasks_is_no_problem_to_share(tmp_path, items):
    with pytest.raises(
        InstanceError, match=r"the dump has no nodes|nothing runs and nothing waits"
    ):
        read(tmp_path, *items, scheduler="kubernetes")


def test_overcommitment_is_kept_and_told(tmp_path):
    heavy = [pod(f"a{k}", on="n1", requests={"cpu": "3"}) for k in range(3)]
    cluster = read(tmp_path, node("n1"), *heavy, pod("b", "x", requests={"memory": "1Gi"}))
    assert cluster.observed.usage.loc["n1", "cpu"] == 9000
    assert (
        said(cluster, "9000 of 'cpu' are in use, of 8000")[0][1]
        == "observed all the same; nothing of it is free"
    )
    assert not fairlp.audit(cluster.instance, cluster.observed, ["feasible"])["holds"].item()


def test_overcommitment_of_a_cordoned_node_is_told_too(tmp_path):
    cluster = read(
        tmp_path,
        node("n1"),
        node("n2", unschedulable=True),
        pod("a", on="n2", requests={"cpu": "9"}),
    )
    assert [place for place, _ in said(cluster, "9000 of 'cpu' are in use, of 8000")] == [
        "node 'n2'"
    ]
    assert cluster.instance.capacities[1, 0] == 9000 and cluster.observed.residual == 0


def test_those_who_fit_nowhere_are_still_told_to_wait(tmp_path):
    cluster = read(
        tmp_path, node("n1"), pod("a", on="n1"), pod("b", "x", nodeSelector={"zone": "moon"})
    )
    assert list(cluster.instance.users) == ["ml/web"] and cluster.waiting["user"].tolist() == [
        "x/web"
    ]


def test_too_many_users_and_nodes_are_refused_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(assembly, "MOST_BYTES", 100)
    items = [node(f"n{k}") for k in range(4)] + [
        pod(f"p{k}", owner=("Job", f"p{k}")) for k in range(4)
    ]
    with pytest.raises(TooLargeError, match=r"4 users .* on 4 nodes take tables of .* read a part"):
        read(tmp_path, *items)


@st.composite
def dumps(draw):
    """Pods of a few owners and shapes, some on nodes."""
    shapes = [
        {"cpu": "100m", "memory": "1Gi"},
        {"cpu": "0.1", "memory": "7M"},
        {"cpu": "3"},
        {"memory": "12345"},
    ]
    entry = st.tuples(
        st.sampled_from(["x", "y"]),
        st.sampled_from("abc"),
        st.sampled_from(shapes),
        st.sampled_from([None, "n1", "n2"]),
    )
    return [
        pod(f"p{k}", namespace, ("Job", owner), on, requests)
        for k, (namespace, owner, requests, on) in enumerate(
            draw(st.lists(entry, min_size=1, max_size=30))
        )
    ]


BYTES = {"1Gi": 2**30, "7M": 7 * 10**6, "12345": 12345}


MILLI = {"100m": 100, "0.1": 100, "3": 3000}


@settings(max_examples=many(60), deadline=None)
@given(dumps())
def test_what_is_observed_is_the_sum_over_pods(tmp_path_factory, pods):
    cluster = read(tmp_path_factory.mktemp("sum"), node("n1"), node("n2"), *pods)
    used = {(n, r): 0 for n in ("n1", "n2") for r in ("cpu", "memory", "pods")}
    for pod_object in pods:
        node_name = pod_object["spec"].get("nodeName")
        if node_name:
            requests = pod_object["spec"]["containers"][0]["resources"]["requests"]
            used[node_name, "cpu"] += MILLI[requests.get("cpu", "100m")] * ("cpu" in requests)
            used[node_name, "memory"] += BYTES[requests.get("memory", "1Gi")] * (
                "memory" in requests
            )
            used[node_name, "pods"] += 1
    usage = cluster.observed.usage
    for (n, r), amount in used.items():
        if r in usage.columns:
            assert usage.loc[n, r] * (2**20 if r == "memory" else 1) == amount
        else:
            assert amount == 0
    waiting = sum("nodeName" not in pod_object["spec"] for pod_object in pods)
    assert cluster.waiting["tasks"].sum() == waiting
    assert cluster.instance.task_limits.sum() == len(pods)
    lines = cluster.not_understood[
        "what"
    ]  # all that there is to tell: too much in use, and memory that nobody asks for
    assert (
        lines.str.contains("are in use, of") | (lines == "nodes have it, but no task asks for it")
    ).all()


def test_a_guarantee_above_a_cap_is_lowered(tmp_path):
    queue = volcano(
        "dev", {"weight": 1, "capability": {"cpu": 2}, "guarantee": {"resource": {"cpu": 5}}}
    )
    page = snapshot(tmp_path, node("n1"), pod("a", on="n1"), queue)
    assert "above the 2000 of its cap" in notes(page) and "lowered to that" in notes(page)


@pytest.mark.parametrize(("cores", "is_noted"), [(8, False), (8.001, True)])
def test_a_guarantee_of_all_that_nodes_have_is_no_more_than_that(tmp_path, cores, is_noted):
    queue = volcano("dev", {"weight": 1, "guarantee": {"resource": {"cpu": cores}}})
    page = snapshot(tmp_path, node("n1"), pod("a", on="n1"), queue)
    assert ("above the 8000 of all nodes" in notes(page)) == is_noted
    queues = page.instance.queues
    assert queues.guarantees[queues.named("dev")][0] == 8000


@pytest.mark.parametrize(("cores", "is_noted"), [(2, False), (3, True)])
def test_a_guarantee_of_all_that_a_cap_lets_be_used_is_no_more_than_that(tmp_path, cores, is_noted):
    queue = volcano(
        "dev", {"weight": 1, "capability": {"cpu": 2}, "guarantee": {"resource": {"cpu": cores}}}
    )
    page = snapshot(tmp_path, node("n1"), pod("a", on="n1"), queue)
    assert ("of its cap" in notes(page)) == is_noted


def test_a_dump_of_jobs_of_one_size_is_an_instance_with_job_sizes(tmp_path):
    """ann runs and waits with jobs on 2 nodes each, and bob with single ones: an audit knows it."""
    nodes = [slurm.node(f"n{k}", cpus=2, real_memory=4096) for k in range(3)]
    two = {"tres": "cpu=2,node=2", "node_count": 2}
    jobs = [slurm.job(1, "ann", nodes="n[0-1]", **two), slurm.job(2, "ann", nodes="", **two)]
    jobs += [slurm.job(3, "bob", tres="cpu=1,node=1", nodes="n0")]
    jobs += [
        slurm.job(4, "cid", nodes="", **two),
        slurm.job(5, "cid", nodes="", tres="cpu=1,node=1"),
    ]
    dump = slurm.read_dump(tmp_path, nodes, jobs)
    sizes = dict(zip(dump.instance.users, dump.instance.job_sizes.tolist(), strict=True))
    assert sizes == {"physics/ann": 2, "physics/bob": 1, "physics/cid": 1}  # cid has both
    assert fairlp.audit(dump.instance, dump.observed, ["whole jobs"]).holds.item() is True
    cut = dump.observed.tasks_array.copy()
    cut[list(dump.instance.users).index("physics/ann"), 0] = 0
    assert fairlp.audit(dump.instance, cut, ["whole jobs"]).holds.item() is False


def test_tasks_that_stay_on_several_nodes_keep_the_labels_that_these_have_in_common(tmp_path):
    """Quotas count by flavor: what stays on cordoned nodes of a pool counts in that pool."""
    nodes = [node(f"n{k}", {"pool": "a", "host": str(k)}, unschedulable=True) for k in range(2)]
    nodes.append(node("n2", {"pool": "b", "host": "2"}))
    cluster = read(tmp_path, *nodes, *[pod(f"p{k}", on=f"n{k}") for k in range(2)])
    assert list(cluster.instance.servers) == ["n2", "2 nodes (ml/web, no new tasks)"]
    labels = cluster.instance.server_attributes.iloc[1]
    assert labels["pool"] == "a" and labels["host"] is None
    assert cluster.observed.tasks_array.tolist() == [[0, 2]]
