"""Dumps of every scheduler with anything anywhere: read, or refused in words; never a traceback of ours."""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pytest
import test_kubernetes_queues
import test_mesos
import test_slurm
import test_yarn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairlp
from fairlp.errors import FileFormatError, InstanceError, TooLargeError
from kubernetes_dumps import node, pod, thing, volcano
from profiles import many

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "0", "x", "a/b", "1e9", "n[1-", "root"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "name", "id"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def kubernetes():
    items = [
        node("n1", {"zone": "a"}, taints=[{"key": "k", "effect": "NoSchedule"}]),
        pod(
            "a", on="n1", labels={test_kubernetes_queues.LABEL: "to-red"}, initContainers=[{"restartPolicy": "Always"}]
        ),
        pod("b", tolerations=[{"key": "k", "operator": "Exists"}], nodeSelector={"zone": "a"}, overhead={"cpu": "1"}),
        thing("ResourceQuota", "q", {"hard": {"cpu": "3"}}, namespace="ml"),
        volcano(
            "dev", {"weight": 2, "guarantee": {"resource": {"cpu": 1}}}, hierarchy="root/a", hierarchy_weights="1/2"
        ),
        test_kubernetes_queues.workload("w", "to-red", ("Job", "w")),
        *test_kubernetes_queues.TREE,
    ]
    return {"x.json": {"apiVersion": "v1", "items": items}}


def slurm():
    spread = test_slurm.job(1, tres="cpu=8,mem=8G,node=2", nodes="n[1-2]", gres_detail=["gpu:1", "gpu:1"])
    spread["job_resources"] = test_slurm.ALLOCATIONS["new"]
    jobs = [spread, test_slurm.job(2, nodes="", array_task_string="1-3", features="a&(b|c)")]
    nodes = [test_slurm.node("n1", gres="gpu:2(S:0)", features=["a", "b"]), test_slurm.node("n2")]
    share = {"name": "physics", "parent": "root", "shares": test_slurm.wrapped(5), "type": ["USER"]}
    accounts = {"associations": [test_slurm.association("physics", "ann", total=[("cpu", "", 1)])]}
    return {
        "a.json": {"meta": {}, "nodes": nodes},
        "b.json": {"meta": {}, "jobs": jobs},
        "c.json": {"meta": {}, "shares": {"shares": [share]}} | accounts,
    }


def yarn():
    app = test_yarn.app(1, resourceRequests=[test_yarn.asks(2)])
    app["resourceInfo"] = {"resourceUsagesByPartition": [{"partitionName": "", "used": {"memory": 2048, "vCores": 2}}]}
    fair = {
        "type": "fairScheduler",
        "rootQueue": {"queueName": "root", "childQueues": [{"queueName": "root.a", "weight": 2}]},
    }
    return {
        "a.json": {"nodes": {"node": [test_yarn.node("n1", (2048, 2))]}},
        "b.json": {"apps": {"app": [app]}},
        "c.json": {"scheduler": {"schedulerInfo": copy.deepcopy(test_yarn.CAPACITY)}},
        "d.json": {"scheduler": {"schedulerInfo": fair}},
    }


def mesos():
    roles = [{"name": "eng", "weight": 2.0, "quota": {"guarantee": {"cpus": 1}, "limit": {"cpus": 2}}}]
    one = test_mesos.framework(
        "m", test_mesos.task("t"), executors=[test_mesos.task("x", executor_id="x")], roles=["eng"]
    )
    agents = [test_mesos.agent("n1", used_resources={"cpus": 1})]
    return {
        "a.json": {"git_sha": "x", "slaves": agents, "frameworks": [one]},
        "b.json": {"roles": roles, "git_sha": "x"},
    }


def places(value, path=()):
    """All places in a document."""
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


@pytest.mark.parametrize("made", [kubernetes, slurm, yarn, mesos], ids=lambda made: made.__name__)
@settings(max_examples=many(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@pytest.mark.parametrize("number", ["1e400", "9" * 400, "9" * 5000, "-1e400", "1.7e308"], ids=lambda text: text[:6])
@pytest.mark.parametrize("made", [kubernetes, slurm, yarn, mesos], ids=lambda made: made.__name__)
def test_a_number_that_is_no_float_anywhere_is_noted_or_refused(tmp_path, made, number):
    for path in leaves(made()):
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
        assert np.isfinite(found.instance.capacities).all() and np.isfinite(found.instance.demands).all()


@pytest.mark.parametrize("made", [kubernetes, slurm, yarn, mesos], ids=lambda made: made.__name__)
def test_the_dumps_are_told_apart_by_what_is_in_them(tmp_path, made):
    for name, document in made().items():
        (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    assert fairlp.snapshot(tmp_path).scheduler == made.__name__
