"""Mesos: agents, frameworks, tasks and roles, made by hand in the shapes of the master's endpoints."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairlp
from kubernetes_dumps import said
from profiles import many

FULL = {"cpus": 8.0, "mem": 32768.0, "disk": 100000.0, "gpus": 0.0, "ports": "[31000-31009, 32000-32000]"}


def agent(name, resources=None, **more):
    known = {
        "id": f"id-{name}",
        "hostname": name,
        "active": True,
        "resources": FULL if resources is None else resources,
    }
    return known | {"attributes": {"rack": "r1"}} | more


def task(name, on="n1", cpus=0.1, mem=64.0, state="TASK_RUNNING", **more):
    known = {"id": name, "name": name, "slave_id": f"id-{on}", "state": state}
    return known | {"resources": {"cpus": cpus, "mem": mem, "disk": 0.0, "gpus": 0}} | more


def framework(name, *tasks, role="eng/dev", **more):
    return {"id": f"f-{name}", "name": name, "role": role, "active": True, "tasks": list(tasks)} | more


def written(folder, agents, frameworks, roles=None):
    state = {"version": "1.9.0", "build_date": "2020-01-01", "slaves": agents, "frameworks": frameworks, "flags": {}}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    if roles is not None:
        (folder / "roles.json").write_text(json.dumps({"roles": roles}), encoding="utf-8")
    return folder


def read(folder, *given, **options):
    return fairlp.snapshot(written(folder, *given), **options)


def test_the_golden_dump(tmp_path):
    quota = {"role": "eng", "guarantee": {"cpus": 2.0}, "limit": {"cpus": 4.0, "mem": 8192.0}}
    roles = [
        {"name": "eng", "weight": 3.0, "quota": quota, "frameworks": [], "resources": {}},
        {"name": "eng/dev", "weight": 2.0},
        {"name": "*", "weight": 1.0},
    ]
    ports = {"cpus": 0.1, "mem": 64.0, "ports": "[31000-31001]"}
    frameworks = [
        framework("marathon", task("a"), task("b"), task("c", "n2"), task("d", state="TASK_STARTING")),
        framework("chronos", task("e", "n2", 1.5, 512.5, resources=ports | {"cpus": 1.5, "mem": 512.5}), role="*"),
        framework(
            "spark", task("f", role="eng"), executors=[task("x", executor_id="x", cpus=0.01, mem=32)], roles=["eng"]
        ),
    ]
    found = read(tmp_path, [agent("n1"), agent("n2", attributes={})], frameworks, roles)
    instance = found.instance
    assert found.scheduler == "mesos"
    assert list(instance.users) == ["eng/dev/marathon", "*/chronos", "eng/spark", "eng/dev/spark executor"]
    assert instance.queue == ("eng/dev", "*", "eng", "eng/dev")
    assert list(instance.servers) == ["n1", "n2"] and instance.server_attributes["rack"].tolist() == ["r1", None]
    assert list(instance.resources) == ["cpus", "mem", "ports"]
    assert instance.units == {"cpus": "1/1000 core", "mem": "MiB"}
    assert instance.demands.tolist() == [[100, 64, 0], [1500, 512.5, 2], [100, 64, 0], [10, 32, 0]]
    assert instance.capacities.tolist() == [[8000, 32768, 11]] * 2
    assert np.isinf(instance.task_limits).all() and not instance.has_constraints
    assert found.observed.tasks.to_numpy().tolist() == [[3, 1], [0, 1], [1, 0], [1, 0]]
    assert found.observed.usage.to_numpy().tolist() == [[410, 288, 0], [1600, 576.5, 2]]
    assert found.waiting.empty
    queues = instance.queues
    assert {path: queues.weights[queues.named(path)] for path in queues} == {"": 1, "eng": 3, "eng/dev": 2, "*": 1}
    assert queues.guarantees[queues.named("eng")].tolist() == [2000, 0, 0]
    assert queues.caps[queues.named("eng")].tolist() == [4000, 8192, np.inf]
    assert [place for place, _ in said(found, "the master does not know what frameworks wait for")] == ["what waits"]
    free = fairlp.snapshot(tmp_path, capacity="free").instance
    assert free.capacities.tolist() == [[7590, 32480, 11], [6400, 32191.5, 9]]


def test_quota_and_weights_of_their_own_endpoints(tmp_path):
    written(tmp_path, [agent("n1")], [framework("m", task("a"))])
    scalar = {"name": "cpus", "role": "*", "type": "SCALAR", "scalar": {"value": 12}}
    (tmp_path / "quota.json").write_text(json.dumps({"infos": [{"role": "eng", "guarantee": [scalar]}]}))
    (tmp_path / "weights.json").write_text(json.dumps([{"role": "eng", "weight": 2.5}, {"role": "low", "weight": 0}]))
    found = fairlp.snapshot(tmp_path)
    queues = found.instance.queues
    assert queues.weights[[queues.named("eng"), queues.named("low")]].tolist() == [2.5, 1 / 1000]
    assert queues.guarantees[queues.named("eng"), 0] == 12000
    assert said(found, "a guarantee without a limit")[0][1] == "taken as a guarantee only"
    assert said(found, "add up to 12000, and there are 8000")


def test_agents_of_one_host_are_told_apart(tmp_path):
    agents = [agent("a", hostname="same"), agent("b", hostname="same"), agent("c", hostname="")]
    found = read(tmp_path, agents, [framework("m", task("t", "b"))])
    assert list(found.instance.servers) == ["same (id-a)", "same (id-b)", "(id-c)"]
    assert found.observed.tasks.to_numpy().tolist() == [[0, 1, 0]]


def test_an_executor_that_asks_for_nothing_is_left_out_without_a_word(tmp_path):
    idle = task("x", executor_id="x", cpus=0, mem=0)
    found = read(tmp_path, [agent("n1")], [framework("m", task("t"), executors=[idle])])
    assert list(found.instance.users) == ["eng/dev/m"] and not said(found, "it asks for nothing")


LINES = [
    ([agent("n1")], [], "there is an earlier agent of this id", "agent 'id-n1'"),
    ([{"hostname": "x"}], [], "it has no id", "slaves: '?'"),
    ([agent("x", {"cpus": "many"})], [], "cpus is 'many'; expected a number, or ranges", "slaves: 'id-x'"),
    ([agent("x", {"cpus": -1})], [], "cpus is -1; expected a number of at least 0", "slaves: 'id-x'"),
    ([agent("x", active="no")], [], "active is 'no'", "slaves: 'id-x'"),
    ([agent("x", active=False)], [], "it takes no new tasks (not active)", "node 'x'"),
    ([agent("x", reserved_resources={"eng": {"cpus": 1}})], [], "what is reserved for role 'eng'", "agent 'id-x'"),
    ([agent("x", used_resources={"cpus": 1})], [], "it says that 1000 of 'cpus' are in use, tasks 0", "agent 'id-x'"),
    ([3], [], "it is 3; expected a mapping", "slaves: '?'"),
    ([], [framework("m", task("t", "n9"))], "a node that is not there", "task 't'"),
    ([], [framework("m", task("t"), task("t"))], "there is an earlier task of this id", "task 't'"),
    ([], [framework("m", task("t", state="TASK_FINISHED"))], "it has finished (TASK_FINISHED)", "task 't'"),
    ([], [framework("m", task("t", cpus=0, mem=0))], "it asks for nothing", "task 't'"),
    ([], [framework("m", task("t", cpus="x"))], "cpus is 'x'", "task 't'"),
    ([], [framework("m", task("t", cpus=99))], "of 'cpus' are in use, of 8000", "node 'n1'"),
    ([], [framework("m", task("t"), role=None, roles=["x", "y"])], "its framework has 2 roles", "task 't'"),
    ([], [framework("m", 7)], "it is 7; expected a mapping", "task '?'"),
    ([], [framework("m", tasks={})], "tasks is a mapping; expected a list", "framework 'm'"),
    ([], [framework("m", unreachable_tasks=[{}])], "unreachable_tasks (1)", "framework 'm'"),
]


@pytest.mark.parametrize(("agents", "frameworks", "what", "where"), LINES, ids=[line[2] for line in LINES])
def test_everything_odd_is_one_clear_line(tmp_path, agents, frameworks, what, where):
    found = read(tmp_path, [agent("n1"), *agents], [framework("base", task("base")), *frameworks])
    assert [place for place, _ in said(found, what)] == [where]
    assert found.observed.totals["eng/dev/base"] == 1


def test_what_is_not_read_of_the_state_is_told(tmp_path):
    written(tmp_path, [agent("n1")], [framework("m", task("t"))])
    (tmp_path / "more.json").write_text('{"git_sha": "x", "orphan_tasks": [{}], "roles": [{"weight": 1}]}')
    found = fairlp.snapshot(tmp_path)
    assert said(found, "1 entries are not read") == [("orphan_tasks", "left out")]
    assert said(found, "it names no role") == [("roles: '?'", "left out")]


@pytest.mark.parametrize("role", ["a b", 'q"q', "漢/字", "a%2Fb", "*", "x/../y"])
def test_names_stay_text(tmp_path, role):
    found = read(tmp_path, [agent(role)], [framework(role, task("t", role), role=role)])
    assert found.instance.queue == (role,) and list(found.instance.users) == [f"{role}/{role}"]
    assert list(found.instance.servers) == [role]


@settings(max_examples=many(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("xy"), st.integers(1, 10**5), st.integers(1, 9999), st.sampled_from(["n1", "n2"])),
        min_size=1,
    )
)
def test_what_is_observed_is_the_sum_over_tasks(tmp_path_factory, tasks):
    listed = {
        name: [task(f"t{k}", on, cpus / 1000, mem) for k, (who, cpus, mem, on) in enumerate(tasks) if who == name]
        for name in "xy"
    }
    frameworks = [framework(name, *own) for name, own in listed.items()]
    found = read(tmp_path_factory.mktemp("sum"), [agent("n1"), agent("n2")], frameworks)
    for name in ("n1", "n2"):
        assert found.observed.usage.loc[name, "cpus"] == sum(cpus for _, cpus, _, on in tasks if on == name)
        assert found.observed.usage.loc[name, "mem"] == sum(Fraction(mem) for _, _, mem, on in tasks if on == name)


def test_more_ports_than_floats_count_are_no_ports(tmp_path):
    many_ports = agent("n2", FULL | {"ports": "[0-" + "9" * 400 + "]"})
    found = read(tmp_path, [agent("n1"), many_ports], [framework("marathon", task("a"))])
    assert said(found, "ports is")
    assert list(found.instance.servers) == ["n1"]


def test_the_shapes_of_one_owner_stand_below_one_node(tmp_path):
    """Two frameworks of nine tasks each have half, though one has nine shapes."""
    one = framework("one", *(task(f"a{k}", cpus=1.0, mem=64) for k in range(9)), role="*")
    many = framework("many", *(task(f"b{k}", cpus=1.0, mem=64 + k) for k in range(9)), role="*")
    found = read(tmp_path, [agent("n1"), agent("n2"), agent("n3")], [one, many])
    instance = found.instance
    assert len(instance.users) == 10 and set(instance.queue) == {"*", "*/many"}
    scarce = instance.capacities.copy()
    scarce[:, 0] /= 4
    fair = fairlp.allocate(instance.replace(capacities=scarce), "h-drf").totals
    assert fair.iloc[0] == pytest.approx(fair.iloc[1:].sum(), rel=1e-9) == 3
