"""Dumps of every scheduler with anything anywhere: read, or refused in words; never a traceback of ours."""

from __future__ import annotations

import copy
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairlp
import kueue_dumps
import slurm_dumps
import yarn_dumps
from cli_runner import run
from fairlp.errors import FileFormatError, InstanceError, TooLargeError
from fairlp.operations.clusters.cluster import EntryError
from fairlp.operations.clusters.slurm import array_tasks, gres
from kubernetes_dumps import kueue, node, pod, said, thing, volcano, written
from profiles import PROFILE, by_day, many

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "0", "x", "a/b", "1e9", "n[1-", "root"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "name", "id"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def kubernetes():
    items = [
        node("n1", {"zone": "a"}, taints=[{"key": "k", "effect": "NoSchedule"}]),
        pod(
            "a",
            on="n1",
            labels={kueue_dumps.LABEL: "to-red"},
            initContainers=[{"restartPolicy": "Always"}],
        ),
        pod(
            "b",
            tolerations=[{"key": "k", "operator": "Exists"}],
            nodeSelector={"zone": "a"},
            overhead={"cpu": "1"},
        ),
        thing("ResourceQuota", "q", {"hard": {"cpu": "3"}}, namespace="ml"),
        volcano(
            "dev",
            {"weight": 2, "guarantee": {"resource": {"cpu": 1}}},
            hierarchy="root/a",
            hierarchy_weights="1/2",
        ),
        kueue_dumps.workload("w", "to-red", ("Job", "w")),
        *kueue_dumps.TREE,
    ]
    return {"x.json": {"apiVersion": "v1", "items": items}}


def slurm():
    spread = slurm_dumps.job(
        1, tres="cpu=8,mem=8G,node=2", nodes="n[1-2]", gres_detail=["gpu:1", "gpu:1"]
    )
    spread["job_resources"] = slurm_dumps.ALLOCATIONS["new"]
    jobs = [spread, slurm_dumps.job(2, nodes="", array_task_string="1-3", features="a&(b|c)")]
    nodes = [slurm_dumps.node("n1", gres="gpu:2(S:0)", features=["a", "b"]), slurm_dumps.node("n2")]
    share = {
        "name": "physics",
        "parent": "root",
        "shares": slurm_dumps.wrapped(5),
        "type": ["USER"],
    }
    accounts = {"associations": [slurm_dumps.association("physics", "ann", total=[("cpu", "", 1)])]}
    return {
        "a.json": {"meta": {}, "nodes": nodes},
        "b.json": {"meta": {}, "jobs": jobs},
        "c.json": {"meta": {}, "shares": {"shares": [share]}} | accounts,
    }


def yarn():
    app = yarn_dumps.app(1, resourceRequests=[yarn_dumps.asks(2)])
    app["resourceInfo"] = {
        "resourceUsagesByPartition": [{"partitionName": "", "used": {"memory": 2048, "vCores": 2}}]
    }
    fair = {
        "type": "fairScheduler",
        "rootQueue": {"queueName": "root", "childQueues": [{"queueName": "root.a", "weight": 2}]},
    }
    return {
        "a.json": {"nodes": {"node": [yarn_dumps.node("n1", (2048, 2))]}},
        "b.json": {"apps": {"app": [app]}},
        "c.json": {"scheduler": {"schedulerInfo": copy.deepcopy(yarn_dumps.CAPACITY)}},
        "d.json": {"scheduler": {"schedulerInfo": fair}},
    }


def places(value, path=()):
    """All places in a document."""
    yield path
    for key, inner in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield from places(inner, (*path, key))


@pytest.mark.parametrize("made", [kubernetes, slurm, yarn], ids=lambda made: made.__name__)
@settings(
    max_examples=many(300 if PROFILE == "nightly" else 150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_dump_with_anything_anywhere_is_read_or_refused(tmp_path_factory, made, data):
    documents = copy.deepcopy(made())
    path = data.draw(st.sampled_from([place for place in places(documents) if len(place) > 1]))
    inner = documents
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = data.draw(JSON)
    folder = tmp_path_factory.mktemp("any")
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    for capacity in ("whole", "free"):
        try:
            found = fairlp.snapshot(folder, made.__name__, capacity=capacity)
        except (FileFormatError, InstanceError, TooLargeError):
            continue
        assert isinstance(found.not_understood, pd.DataFrame) and len(found.instance.users)


def leaves(value):
    """All places in a document that hold neither mapping nor list."""
    for path in places(value):
        inner = value
        for key in path:
            inner = inner[key]
        if not isinstance(inner, dict | list):
            yield path


NUMBERS = ["1e400", "9" * 400, "9" * 5000, "-1e400", "1.7e308"]


@pytest.mark.parametrize("made", [kubernetes, slurm, yarn], ids=lambda made: made.__name__)
def test_a_number_that_is_no_float_anywhere_is_noted_or_refused(tmp_path, made):
    places = list(leaves(made()))
    # by day one number at some of the places, in turn
    for path, number in by_day(itertools.product(places, NUMBERS), 2 * len(NUMBERS) + 1):
        documents = copy.deepcopy(made())
        inner = documents
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = "HERE"
        for name, document in documents.items():
            text = json.dumps(document).replace('"HERE"', number)
            (tmp_path / name).write_text(text, encoding="utf-8")
        try:
            found = fairlp.snapshot(tmp_path, made.__name__)
        except (FileFormatError, InstanceError):
            continue
        assert (
            np.isfinite(found.instance.capacities).all()
            and np.isfinite(found.instance.demands).all()
        )


@pytest.mark.parametrize("made", [kubernetes, slurm, yarn], ids=lambda made: made.__name__)
def test_the_dumps_are_told_apart_by_what_is_in_them(tmp_path, made):
    for name, document in made().items():
        (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    assert fairlp.snapshot(tmp_path).scheduler == made.__name__


# What schedulers seldom print: each is understood, or named with what became of it.

SLURM = {"Slurm": {"release": "24.05.1"}}


def put(folder, **documents):
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def slurm_dump(folder, jobs, accounts=None):
    nodes = [
        {
            "name": name,
            "cpus": 16,
            "real_memory": 65536,
            "gres": "gpu:4",
            "state": ["IDLE"],
            "partitions": ["cpu"],
        }
        for name in ("n1", "n2")
    ]
    put(folder, nodes={"meta": SLURM, "nodes": nodes}, jobs={"meta": SLURM, "jobs": jobs})
    if accounts is not None:
        (folder / "accounts.txt").write_text(accounts, encoding="utf-8")
    return fairlp.snapshot(folder)


def job(tres, nodes, **more):
    known = {
        "job_id": 1,
        "user_name": "ann",
        "account": "physics",
        "partition": "cpu",
        "job_state": ["RUNNING"],
    }
    return known | {"nodes": nodes, "tres_req_str": tres, "tres_alloc_str": tres} | more


def yarn_dump(folder, nodes, apps):
    return fairlp.snapshot(
        put(folder, nodes={"nodes": {"node": nodes}}, apps={"apps": {"app": apps}})
    )


def manager(name, **more):
    known = {"id": f"{name}:8041", "state": "RUNNING", "usedMemoryMB": 2048, "usedVirtualCores": 2}
    return known | {"availMemoryMB": 8192, "availableVirtualCores": 8} | more


def application(number, **more):
    known = {
        "id": f"application_1_{number:04}",
        "state": "RUNNING",
        "queue": "root.a",
        "user": "ann",
    }
    return known | {"allocatedMB": 2048, "allocatedVCores": 2, "runningContainers": 2} | more


def test_a_scheduler_that_is_told_reads_files_that_tell_nothing(tmp_path):
    (tmp_path / "dump.json").write_text('{"unknown": 1}', encoding="utf-8")
    with pytest.raises(FileFormatError, match="is of no scheduler that is known"):
        fairlp.snapshot(tmp_path)
    with pytest.raises(InstanceError, match="node"):
        fairlp.snapshot(tmp_path, scheduler="yarn")


def test_a_node_of_kubernetes_without_amounts_is_left_out(tmp_path):
    bare = node("n2")
    bare["status"] = {"allocatable": {}, "conditions": []}
    found = fairlp.snapshot(written(tmp_path, node("n1"), bare, pod("a", on="n1")))
    assert list(found.instance.servers) == ["n1"]
    assert said(found, "it has no status.allocatable")[0][1] == "left out"


def test_details_of_devices_that_do_not_add_up_are_divided_evenly(tmp_path):
    parts = ["gpu:1", "gpu:2"]  # 3, where the job has 4
    told = [{"nodename": name, "cpus": 2, "memory": 4096} for name in ("n1", "n2")]
    here = {"gres_detail": parts, "job_resources": {"allocated_nodes": told}}
    found = slurm_dump(tmp_path, [job("cpu=4,mem=8G,node=2,gres/gpu=4", "n[1-2]", **here)])
    held = found.instance.demands[:, list(found.instance.resources).index("gpu")]
    assert (held == 2).all() and found.observed.totals.sum() == 2


def test_an_entry_of_a_job_without_a_node_is_passed_over(tmp_path):
    entries = [{"cpus": 9, "memory": 9}, {"nodename": "n1", "cpus": 4, "memory": 8192}]
    found = slurm_dump(
        tmp_path, [job("cpu=4,mem=8G,node=1", "n1", job_resources={"allocated_nodes": entries})]
    )
    assert found.observed.totals.to_list() == [1]
    assert found.instance.demands[0, list(found.instance.resources).index("cpu")] == 4


def test_blank_lines_of_a_table_and_a_line_without_an_account(tmp_path):
    table = "Account|User|ParentName|Share\nphysics|||3\n\n|zoe||1\nphysics|ann||2\n"
    found = slurm_dump(tmp_path, [job("cpu=4,mem=8G,node=1", "n1")], table)
    assert said(found, "it has no account") == [("line 4", "left out")]
    queues = found.instance.queues
    assert queues.weights[queues.named("physics")] == 3


def test_devices_of_no_kind_are_none():
    assert gres("(null)") == {} and gres("gpu:2,gres/:3,:4") == gres("gpu:2,gres/:3")
    assert gres(":4") == {}


def test_an_array_of_too_many_tasks_is_refused():
    with pytest.raises(EntryError, match=r"has more than \d+ tasks"):
        array_tasks("0-999999999")


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
    found = yarn_dump(tmp_path, [manager("n1")], [divided, waiting, empty])
    assert found.observed.totals.to_dict() == {"a/ann": 2}
    assert said(found, "it is not read")[0] == ("key 'clusterMetrics'", "left out")
    assert said(found, "the dump does not say what it asks for")[0][0].startswith(
        "application 'application_1_0002'"
    )


# Lines of dumps that are rare: each is understood, or named with what became of it.

HALF = {"cpu": "500m", "memory": "1Gi"}


def notes(found):
    return " | ".join(
        " ".join(map(str, row)) for row in found.not_understood.itertuples(index=False)
    )


def snapshot(folder, *items):
    return fairlp.snapshot(written(folder, *items))


def affinity(*expressions, **more):
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms, **more}}


def test_wishes_are_left_out_and_said(tmp_path):
    wish = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}
    found = snapshot(tmp_path, node("n1"), pod("a", on="n1", affinity={"nodeAffinity": wish}))
    assert "a wish, and no rule" in notes(found) and found.instance.eligible.all()


def test_a_line_of_affinity_that_is_none_is_left_out(tmp_path):
    odd = affinity(
        {"key": "zone", "operator": "Near", "values": ["a"]},
        {"key": "zone", "operator": "Gt", "values": []},
    )
    found = snapshot(tmp_path, node("n1", {"zone": "a"}), pod("a", on="n1", affinity=odd))
    assert "operator 'Near'" in notes(found) and "operator 'Gt'" in notes(found)


def test_what_is_left_empty_asks_for_nothing(tmp_path):
    found = snapshot(tmp_path, node("n1"), pod("a", on="n1", topologySpreadConstraints=[]))
    assert "topologySpreadConstraints" not in notes(found)
    found = snapshot(
        tmp_path, node("n1"), pod("a", on="n1", topologySpreadConstraints=[{"maxSkew": 1}])
    )
    assert "topologySpreadConstraints" in notes(found)


def test_a_taint_without_a_key_closes_no_node_unnoticed(tmp_path):
    found = snapshot(
        tmp_path, node("n1", taints=[{"effect": "NoSchedule"}]), node("n2"), pod("a", on="n2")
    )
    assert "a taint has no key" in notes(found) and "n1" not in list(
        map(str, found.instance.servers)
    )


def test_a_node_that_is_ready_is_open(tmp_path):
    ready, lost = [{"type": "Ready", "status": "True"}], [{"type": "Ready", "status": "Unknown"}]
    pressed = [{"type": "DiskPressure", "status": "False"}, *ready]
    items = [node("n1", conditions=pressed), node("n2", conditions=lost), pod("a", on="n1")]
    assert snapshot(tmp_path, *items).instance.n_servers == 1


def test_a_local_queue_of_no_cluster_queue(tmp_path):
    queue = kueue("LocalQueue", "lost", {"clusterQueue": ""}, namespace="ml")
    assert "it names no ClusterQueue" in notes(
        snapshot(tmp_path, node("n1"), pod("a", on="n1"), queue)
    )


def test_flavors_need_no_word(tmp_path):
    every, some = (
        kueue("ResourceFlavor", "every", {}),
        kueue("ResourceFlavor", "some", {"nodeLabels": {"zone": "a"}}),
    )
    said = notes(snapshot(tmp_path, node("n1"), pod("a", on="n1"), every, some))
    assert "'some'" not in said and "'every'" not in said


def test_a_quota_of_pods_by_count(tmp_path):
    quota = thing(
        "ResourceQuota", "q", {"hard": {"count/pods": "7", "count/secrets": "3"}}, namespace="ml"
    )
    found = snapshot(tmp_path, node("n1"), pod("a", on="n1", requests=HALF), quota)
    assert "count/secrets" in notes(found) and "count/pods" not in notes(found)
    named = [path for path in found.instance.queues.paths if "ml" in path]
    caps = found.instance.queues.table(found.instance.resources)
    assert named and 7.0 in caps.loc[named[0]].tolist()


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        (volcano("dev", {"weight": -2}), "its weight is -2"),
        (
            volcano("dev", {"weight": 1}, hierarchy="root/a", hierarchy_weights="1/much"),
            "each weight is taken as 1",
        ),
        (
            volcano("dev", {"weight": 1}, hierarchy="root//a", hierarchy_weights="1/2/3"),
            "has an empty name",
        ),
    ],
)
def test_queues_of_volcano_that_are_odd(tmp_path, queue, words):
    assert words in notes(snapshot(tmp_path, node("n1"), pod("a", on="n1"), queue))


def test_two_queues_of_volcano_at_one_place(tmp_path):
    twins = [
        volcano(
            name,
            {"weight": 1, "capability": {"cpu": cpu}},
            hierarchy="root/a",
            hierarchy_weights="1/2",
        )
        for name, cpu in (("one", 4), ("two", 6))
    ]
    assert "an earlier queue stands at" in notes(
        snapshot(tmp_path, node("n1"), pod("a", on="n1"), *twins)
    )


def test_a_guarantee_above_a_cap_is_lowered(tmp_path):
    queue = volcano(
        "dev", {"weight": 1, "capability": {"cpu": 2}, "guarantee": {"resource": {"cpu": 5}}}
    )
    found = snapshot(tmp_path, node("n1"), pod("a", on="n1"), queue)
    assert "above its cap, 2" in notes(found) and "lowered to the cap" in notes(found)


def test_an_empty_object_in_json(tmp_path):
    path = tmp_path / "empty.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(fairlp.FairlpError, match=r"empty\.json"):
        fairlp.snapshot(path)


def test_who_waits_for_no_server_and_what_was_not_understood_is_on_the_page(tmp_path, monkeypatch):
    for package in ("altair", "jinja2", "vl_convert"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    giant = {"cpu": "64", "memory": "1Gi"}
    items = [
        node("n1"),
        pod("a", on="n1", requests=HALF),
        pod("g1", owner=("Job", "giant"), requests=HALF, nodeSelector={"zone": "nowhere"}),
        pod("h1", owner=("Job", "heavy"), requests=giant),
        pod("odd", on="n1", topologySpreadConstraints=[{"maxSkew": 1}]),
    ]
    (tmp_path / "dump").mkdir()
    dump = written(tmp_path / "dump", *items)
    text = fairlp.report(fairlp.snapshot(dump), tmp_path / "page.html").read_text(encoding="utf-8")
    assert (
        "Parts of the dump that are left out or not understood" in text
        and "Lines of the dump" in text
    )
    assert "They wait, and no server may take them" in text and "ml/giant" in text
    said = " ".join(run("audit", dump).stdout.split())
    assert "more tasks wait of 1 users whom no server may take" in said
    assert "lines of the dump are left out, not understood or interpreted" in said


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("    JOBID PARTITION NAME\n    7 cpu wrap\n", "squeue --json"),
        ("NodeName=n1 Arch=x86_64\n", "scontrol show nodes --json"),
        ("NAME   READY   STATUS\nweb-1  1/1  Running\n", "kubectl get … -o json"),
    ],
)
def test_a_table_for_people_is_refused_with_what_to_print(tmp_path, text, how):
    (tmp_path / "dump.txt").write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=f"print it with {how}"):
        fairlp.snapshot(tmp_path / "dump.txt")
