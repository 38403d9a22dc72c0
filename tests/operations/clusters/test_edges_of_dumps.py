"""What schedulers seldom print: each is understood, or named with what became of it."""

from __future__ import annotations

import json

import pytest

import fairlp
from fairlp.errors import FileFormatError, InstanceError
from fairlp.operations.clusters.notes import Odd
from fairlp.operations.clusters.slurm_text import array_tasks, gres
from kubernetes_dumps import node, pod, said, written

SLURM = {"Slurm": {"release": "24.05.1"}}


def put(folder, **documents):
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def slurm(folder, jobs, accounts=None):
    nodes = [
        {"name": name, "cpus": 16, "real_memory": 65536, "gres": "gpu:4", "state": ["IDLE"], "partitions": ["cpu"]}
        for name in ("n1", "n2")
    ]
    put(folder, nodes={"meta": SLURM, "nodes": nodes}, jobs={"meta": SLURM, "jobs": jobs})
    if accounts is not None:
        (folder / "accounts.txt").write_text(accounts, encoding="utf-8")
    return fairlp.snapshot(folder)


def job(tres, nodes, **more):
    known = {"job_id": 1, "user_name": "ann", "account": "physics", "partition": "cpu", "job_state": ["RUNNING"]}
    return known | {"nodes": nodes, "tres_req_str": tres, "tres_alloc_str": tres} | more


def yarn(folder, nodes, apps):
    return fairlp.snapshot(put(folder, nodes={"nodes": {"node": nodes}}, apps={"apps": {"app": apps}}))


def manager(name, **more):
    known = {"id": f"{name}:8041", "state": "RUNNING", "usedMemoryMB": 2048, "usedVirtualCores": 2}
    return known | {"availMemoryMB": 8192, "availableVirtualCores": 8} | more


def application(number, **more):
    known = {"id": f"application_1_{number:04}", "state": "RUNNING", "queue": "root.a", "user": "ann"}
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
    found = slurm(tmp_path, [job("cpu=4,mem=8G,node=2,gres/gpu=4", "n[1-2]", **here)])
    held = found.instance.demands[:, list(found.instance.resources).index("gpu")]
    assert (held == 2).all() and found.observed.totals.sum() == 2


def test_an_entry_of_a_job_without_a_node_is_passed_over(tmp_path):
    entries = [{"cpus": 9, "memory": 9}, {"nodename": "n1", "cpus": 4, "memory": 8192}]
    found = slurm(tmp_path, [job("cpu=4,mem=8G,node=1", "n1", job_resources={"allocated_nodes": entries})])
    assert found.observed.totals.to_list() == [1]
    assert found.instance.demands[0, list(found.instance.resources).index("cpu")] == 4


def test_blank_lines_of_a_table_and_a_line_without_an_account(tmp_path):
    table = "Account|User|ParentName|Share\nphysics|||3\n\n|zoe||1\nphysics|ann||2\n"
    found = slurm(tmp_path, [job("cpu=4,mem=8G,node=1", "n1")], table)
    assert said(found, "it has no account") == [("line 4", "left out")]
    queues = found.instance.queues
    assert queues.weights[queues.named("physics")] == 3


def test_devices_of_no_kind_are_none():
    assert gres("(null)") == {} and gres("gpu:2,gres/:3,:4") == gres("gpu:2,gres/:3")
    assert gres(":4") == {}


def test_an_array_of_too_many_tasks_is_refused():
    with pytest.raises(Odd, match=r"has more than \d+ tasks"):
        array_tasks("0-999999999")


def test_yarn_amounts_that_are_not_known_and_keys_that_are_not_read(tmp_path):
    waiting = application(2, state="ACCEPTED", allocatedMB=-1, allocatedVCores=-1, runningContainers=-1)
    empty = application(3, user="bob", allocatedMB=0, allocatedVCores=0, runningContainers=0)
    used = [{"used": {"memory": 2048, "vCores": 2}}, {"partitionName": "x", "used": {"memory": 0, "vCores": 0}}]
    divided = application(1, resourceInfo={"resourceUsagesByPartition": used})
    put(tmp_path, more={"apps": None, "clusterMetrics": {}})
    found = yarn(tmp_path, [manager("n1")], [divided, waiting, empty])
    assert found.observed.totals.to_dict() == {"a/ann": 2}
    assert said(found, "it is not read")[0] == ("key 'clusterMetrics'", "left out")
    assert said(found, "nothing tells what it asks for")[0][0].startswith("application 'application_1_0002'")


@pytest.mark.parametrize("used", [{"cpus": 0.5, "mem": 64.0}, {"cpus": 0.25, "mem": 64.0}])
def test_mesos_says_where_an_agent_and_its_tasks_do_not_agree(tmp_path, used):
    agent = {"id": "a1", "hostname": "n1", "active": True, "resources": {"cpus": 4, "mem": 1024}}
    one = {"id": "t", "name": "t", "slave_id": "a1", "state": "TASK_RUNNING", "resources": {"cpus": 0.5, "mem": 64}}
    frameworks = [{"id": "f", "name": "f", "role": "eng", "active": True, "tasks": [one]}]
    state = {"version": "1.9.0", "slaves": [agent | {"used_resources": used}], "frameworks": frameworks, "flags": {}}
    found = fairlp.snapshot(put(tmp_path, state=state))
    notes = said(found, "it says that")
    assert [where for where, _ in notes] == ([] if used["cpus"] == 0.5 else ["agent 'a1'"])
    assert len(said(found, "what frameworks wait for")) == 1


def test_mesos_without_frameworks_has_nothing_to_divide(tmp_path):
    agent = {"id": "a1", "hostname": "n1", "active": True, "resources": {"cpus": 4, "mem": 1024}}
    put(tmp_path, state={"version": "1.9.0", "slaves": [agent], "frameworks": [], "flags": {}})
    with pytest.raises(InstanceError, match="nothing runs"):
        fairlp.snapshot(tmp_path)
