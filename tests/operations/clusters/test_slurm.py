"""Slurm: nodes, jobs and accounts, made by hand in the shapes of old and new versions; no real cluster wrote them."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairlp
from fairlp.errors import FairlpError, InstanceError
from fairlp.operations.clusters import slurm
from fairlp.operations.clusters.cluster import EntryError
from fairlp.operations.clusters.slurm import array_tasks, feature_terms, gres, hosts, number, tres
from kubernetes_dumps import said
from profiles import many
from slurm_dumps import ALLOCATIONS, association, job, node, share, wrapped


def written(folder, nodes, jobs, accounts=None, meta=None):
    for name, key, entries in (("nodes.json", "nodes", nodes), ("jobs.json", "jobs", jobs)):
        document = {
            "meta": meta or {"Slurm": {"release": "24.05.1"}},
            key: entries,
            "errors": [],
            "warnings": [],
        }
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    if accounts is not None:
        (folder / "accounts.txt").write_text(accounts, encoding="utf-8")
    return folder


def read(folder, *given, **options):
    return fairlp.snapshot(written(folder, *given), **options)


SSHARE = """Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS|GrpTRESMins|TRESRunMins
root|||0.000000|10||1.000000||||
 physics||30|0.750000|7|0.7|0.7||1.07||
  physics|ann|2|0.666667|7|0.7|1.0|0.5|0.66||
  lab||parent|0.1|0|0|0||||
   lab|bob|1|1.0|0|0|0|1|inf||
 bio||10|0.25|3|0.3|0.3||0.8||
"""


#: What is done for an account whose share is that of its parent.
WEIGHS = "it weighs as much as all with tasks below it, who share at its parent"


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
    found = read(tmp_path, nodes, jobs, SSHARE)
    instance = found.instance
    assert found.scheduler == "slurm"
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
    assert found.observed.tasks.to_numpy().tolist() == [[2, 0], [0, 1]]
    assert found.observed.usage.to_numpy().tolist() == [[8, 16384, 0], [8, 32768, 2]]
    assert not found.waiting[["message", "nowhere"]].to_numpy().any()
    assert found.waiting.drop(columns=["message", "nowhere"]).to_dict("records") == [
        {
            "user": "physics/ann",
            "queue": "physics/ann",
            "tasks": 2,
            "since": "2026-01-01T00:00:00Z",
            "priority": 7,
        },
        {
            "user": "lab/bob",
            "queue": "physics/lab/bob",
            "tasks": 1,
            "since": "2026-01-01T00:00:00Z",
            "priority": None,
        },
    ]
    held = {
        "user": "physics/ann",
        "queue": "physics/ann",
        "tasks": 3,
        "reason": "array throttle (%2)",
    }
    assert (
        found.held.to_dict("records") == [held]
        and "3 may not run yet" in repr(found)
        and found.hidden.empty
    )
    assert said(found, "it takes no new tasks (DRAIN)") == [("node 'n2'", "left out")]
    assert said(found, "nodes have it, but no task asks for it") == [
        ("resource 'gpu:a100'", "left out")
    ]
    assert said(found, "its share is that of its parent") == [("line 5", WEIGHS)]
    assert found.shares["usage"].to_dict() == {
        "": 10, "physics": 7, "physics/ann": 7, "physics/lab": 0, "physics/lab/bob": 0, "bio": 3
    }  # fmt: skip
    assert found.shares["fairshare"].dropna().to_dict() == {
        "physics/ann": 0.5,
        "physics/lab/bob": 1,
    }
    assert said(found, "PriorityDecayHalfLife is not in the dump (scontrol show config)") == [
        ("the half-life of past use", "taken as 7 days, Slurm's default")
    ]
    assert len(found.not_understood) == 4


def test_old_and_new_versions_say_the_same(tmp_path):
    old_node = node("n1", state="idle", state_flags=[], features="a,b", partitions="cpu")
    new_node = node(
        "n1", cpus=wrapped(16), real_memory=wrapped(65536), state=["IDLE"], features=["a", "b"]
    )
    old_job = job(1, tres="cpu=4,mem=8192M,node=1", job_state="RUNNING", submit_time=1767225600)
    found = []
    for name, one, other in (("old", old_node, old_job), ("new", new_node, job(1))):
        folder = tmp_path / name
        folder.mkdir()
        found.append(read(folder, [one], [other]))
    assert found[0].instance.equals(found[1].instance)
    assert (found[0].observed.tasks_array == found[1].observed.tasks_array).all()


@pytest.mark.parametrize("version", ALLOCATIONS)
def test_a_job_of_several_nodes_has_a_part_on_each(tmp_path, version):
    whole = "cpu=8,mem=8G,node=2,gres/gpu=3"
    spread = job(1, tres=whole, nodes="n[1-2]", job_resources=ALLOCATIONS[version])
    spread["gres_detail"] = ["gpu:1(IDX:0)", "gpu:2(IDX:0-1)"]
    gpus = {"gres": "gpu:4"}
    found = read(tmp_path, [node("n1", **gpus), node("n2", **gpus)], [spread])
    assert found.observed.usage.to_numpy().tolist() == [[6, 4096, 1], [2, 4096, 2]]
    assert list(found.instance.users) == ["physics/ann", "physics/ann #2"]
    assert set(found.instance.queue) == {"physics/ann"}


def test_a_job_of_several_nodes_that_tells_no_more_is_divided_evenly(tmp_path):
    found = read(
        tmp_path, [node("n1"), node("n2")], [job(1, tres="cpu=5,mem=8G,node=2", nodes="n[1-2]")]
    )
    assert found.observed.usage.to_numpy().tolist() == [[2.5, 4096], [2.5, 4096]]
    assert said(found, "does not divide by its 2 nodes") == [("job 1", "divided evenly")]
    waiting = read(tmp_path, [node("n1")], [job(1, tres="cpu=6,mem=8G,node=3", nodes="")]).waiting
    assert waiting["tasks"].tolist() == [3]


ACCOUNTS = """Cluster|Account|User|Partition|Share|ParentName|GrpTRES|GrpJobs|
c|root|||1||cpu=100,billing=7||
c|physics|||30|root|cpu=40,mem=1T,gres/gpu=2,node=3|9|
c|lab|||0|physics|||
c|lab|bob||parent||cpu=x||
c|lab|bob|gpu|7||||
c|lab|eve||many||||
c|a//b|||2|lab|||
c|loop|||1|pool|||
c|pool|||1|loop|||
""".replace("|\n", "\n")


def limits(found, path):
    queues = found.instance.queues
    row = queues.caps[queues.named(path)]
    return {
        r: v
        for r, v in zip(found.instance.resources, row.tolist(), strict=True)
        if math.isfinite(v)
    }


def test_accounts_of_sacctmgr(tmp_path):
    jobs = [
        job(1, "bob", "lab"),
        job(2, "x/y", "a//b"),
        job(3, "z", "loop"),
        job(4, "z", "unknown"),
        job(5, "", ""),
    ]
    found = read(tmp_path, [node("n1")], jobs, ACCOUNTS)
    assert found.instance.queue == (
        "physics/lab/bob", "physics/lab/a%2F%2Fb/x%2Fy", "pool/loop/z", "unknown/z", "(none)/(none)"
    )  # fmt: skip
    assert limits(found, "") == {"cpu": 100}
    assert limits(found, "physics") == {"cpu": 40, "memory": 2**20}
    queues = found.instance.queues
    assert queues.weights[queues.named("physics/lab")] == 1 / 1000
    for what, where in (
        ("limit of 'billing'", "line 2"),
        ("limit of 'node'", "line 3"),
        ("column 'GrpJobs'", "line 3"),
        ("a share of 0", "line 4"),
        ("'cpu=x' in 'cpu=x' is no amount", "line 5"),
        ("an earlier line is of 'bob' in 'lab'", "line 6"),
        ("share 'many' is no whole number", "line 7"),
        ("cap of 'gpu', which is no resource here", "queue 'physics'"),
        ("no line lists it", "account 'unknown'"),
    ):
        assert said(found, what)[0][0] == where, what
    assert said(found, "it is above itself")


def test_accounts_as_json(tmp_path):
    written(
        tmp_path,
        [node("n1", gres="gpu:8")],
        [job(1, tres="cpu=1,mem=1G,gres/gpu=1"), job(2, "bob", "lab")],
    )
    total = [("cpu", "", 10), ("mem", "", 4096), ("gres", "gpu", 3), ("node", "", 1)]
    entries = [
        association("root"),
        association("physics", parent="root", share=wrapped(5), total=total),
    ]
    entries += [
        association("lab", parent="physics", share=3),
        association("lab", "bob", share=2147483647),
    ]
    (tmp_path / "assoc.json").write_text(json.dumps({"associations": entries}), encoding="utf-8")
    found = fairlp.snapshot(tmp_path)
    assert found.instance.queue == ("physics/ann", "physics/lab/bob")
    assert limits(found, "physics") == {"cpu": 10, "memory": 4096, "gpu": 3}
    (tmp_path / "assoc.json").unlink()
    shares = [
        {"name": "root", "parent": "", "shares": wrapped(1), "type": ["ASSOCIATION"]},
        {"name": "physics", "parent": "root", "shares": wrapped(5), "type": ["ASSOCIATION"]},
        {"name": "ann", "parent": "physics", "shares": wrapped(2), "type": ["USER"]},
    ]
    (tmp_path / "share.json").write_text(
        json.dumps({"shares": {"shares": shares, "total_shares": 3}})
    )
    queues = fairlp.snapshot(tmp_path).instance.queues
    assert queues.weights[[queues.named("physics"), queues.named("physics/ann")]].tolist() == [5, 2]


def write_shares(folder, entries, name="sshare.json"):
    text = f'{{"shares": {{"shares": [{", ".join(entries)}], "total_shares": {len(entries)}}}, "meta": {{}}}}'
    (folder / name).write_text(text, encoding="utf-8")


def weights_of(found):
    return {
        path: found.instance.queues.weights[found.instance.queues.named(path)]
        for path in found.instance.queues
    }


@pytest.mark.parametrize(
    "name", ["a-sshare.json", "z-sshare.json"]
)  # read before and after the associations
def test_shares_of_sshare_win_over_those_of_associations_whose_caps_stay(tmp_path, name):
    written(tmp_path, [node("n1")], [job(1), job(2, "eve")])
    total = [("cpu", "", 10)]
    entries = [association("root"), association("physics", parent="root", share=5, total=total)]
    entries += [association("physics", "ann", share=2), association("physics", "eve", share=8)]
    (tmp_path / "assoc.json").write_text(json.dumps({"associations": entries}), encoding="utf-8")
    shares = [
        share("root", "", wrapped(4294967294) | {"set": False}, usage=90),
        share("physics", "root", wrapped(6)),
    ]
    shares += [
        share("ann", "physics", 3, True, 40, wrapped(0.25)),
        share("ann", "physics", 9, True, 41),
    ]
    shares += [share("eve", "physics", wrapped(4), True, 50, 0.125, level="Infinity")]
    write_shares(tmp_path, shares, name)
    found = fairlp.snapshot(tmp_path)
    assert weights_of(found) == {"": 1, "physics": 6, "physics/ann": 3, "physics/eve": 4}
    assert limits(found, "physics") == {"cpu": 10}
    assert found.shares["usage"].to_dict() == {
        "": 90,
        "physics": 0,
        "physics/ann": 40,
        "physics/eve": 50,
    }
    assert found.shares["fairshare"].dropna().to_dict() == {
        "physics/ann": 0.25,
        "physics/eve": 0.125,
    }
    assert said(found, "an earlier line is of 'ann' in 'physics'") == [
        ("share of 'ann'", "left out")
    ]
    assert fairlp.fair_shares(found, by="queue").loc[
        "physics/eve", ["usage", "fairshare"]
    ].tolist() == [50, 0.125]
    page = tmp_path / "page.html"
    fairlp.report(found, page)
    text = page.read_text(encoding="utf-8")
    assert "Counting past use, which fades by half in each half-life" in text
    assert "decayed, as Slurm prints it" in text


@pytest.mark.parametrize(
    "parent", [2147483647, wrapped(2147483647), wrapped(0) | {"infinite": True}]
)
def test_those_below_an_account_with_its_parents_share_share_with_its_siblings(tmp_path, parent):
    """As fair tree has it: bob (3), eve (1), and ann (2) are siblings; zoe has no tasks and takes nothing."""
    jobs = [job(1, nodes=""), job(2, "bob", "lab", nodes=""), job(3, "eve", "deep", nodes="")]
    written(
        tmp_path,
        [node("n1", cpus=12)],
        [one | {"array_task_string": "1-9", "tres_req_str": "cpu=1"} for one in jobs],
    )
    shares = [share("root", "", 1), share("physics", "root", 5), share("ann", "physics", 2, True)]
    shares += [
        share("lab", "physics", parent),
        share("bob", "lab", 3, True),
        share("zoe", "lab", 50, True),
    ]
    shares += [share("deep", "lab", parent), share("eve", "deep", parent, True)]
    write_shares(tmp_path, shares)
    found = fairlp.snapshot(tmp_path)
    weights = weights_of(found)
    assert (
        weights["physics/lab"],
        weights["physics/lab/deep"],
        weights["physics/lab/deep/eve"],
    ) == (4, 1, 1)
    assert said(found, "that of its parent") == [
        ("share of 'lab'", WEIGHS), ("share of 'deep'", WEIGHS), ("share of 'eve'", "taken as 1")
    ]  # fmt: skip
    fair = fairlp.allocate(found.instance, "h-drf")
    assert fair.totals.to_dict() == pytest.approx(
        {"physics/ann": 4, "lab/bob": 6, "deep/eve": 2}, rel=1e-9
    )


def test_priorities_that_differ_are_told_and_do_not_count(tmp_path):
    jobs = [
        job(1),
        job(2, nodes="", priority=wrapped(5)),
        job(3, nodes="", priority=9),
        job(4, "bob", nodes=""),
    ]
    found = read(tmp_path, [node("n1")], jobs)
    assert found.waiting["priority"].tolist() == [9, None]
    assert said(found, "their priorities differ, and slurm takes the highest first") == [
        ("tasks that wait", "priorities do not count here")
    ]
    held = job(3, nodes="", priority=0, state_reason="JobHeldUser")
    assert not said(read(tmp_path, [node("n1")], [*jobs[:2], held]), "priorities differ")


LINES = [
    ({"nodes": [node("n1")]}, "an earlier node has this name", "node 'n1'"),
    ({"nodes": [node("", cpus=1)]}, "it has no name", "nodes: ''"),
    ({"nodes": [node("x", cpus=None)]}, "it has no cpus and real_memory", "nodes: 'x'"),
    ({"nodes": [node("x", cpus="4")]}, "'4' is no number", "nodes: 'x'"),
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
    ({"jobs": [job(9, features="[a|b]*2")]}, "counts nodes", "job 9"),
    ({"jobs": [job(9, features="a&(b")]}, "a parenthesis is not closed", "job 9"),
    ({"jobs": [job(9, required_nodes="n1")]}, "it names nodes that it needs", "job 9"),
    ({"jobs": [job(9, nodes="", array_task_string="x")]}, "is no list of array tasks", "jobs: 9"),
    ({"jobs": [job(9, tres="cpu=1,license/x=1")]}, "it is asked for, but no node has it", "resource 'license/x'"),
    ({"jobs": [job(9, tres="cpu=99,mem=1G")]}, "103 of 'cpu' are in use, of 16", "node 'n1'"),
    ({"extra": 1}, "it is not read", "key 'extra'"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "what", "where"), LINES, ids=[f"{what}" for _, what, _ in LINES])
def test_everything_odd_is_one_clear_line(tmp_path, more, what, where):
    written(tmp_path, [node("n1")], [job(1)])
    (tmp_path / "odd.json").write_text(json.dumps({"meta": {}} | more), encoding="utf-8")
    found = fairlp.snapshot(tmp_path)
    assert [place for place, _ in said(found, what)] == [where]
    assert found.observed.totals["physics/ann"] >= 1


def test_a_table_without_parents_is_told(tmp_path):
    found = read(
        tmp_path, [node("n1")], [job(1)], "Account|User|Share\nphysics||3\nlab||4\nlab|x\n"
    )
    assert said(found, "neither parents nor indentation")[0][0] == "line 1"
    assert said(found, "2 cells, where the header has 3") == [("line 4", "left out")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("cpu=1", {"cpu": 1}),
        ("mem=2048K", {"memory": 2}),
        ("mem=500", {"memory": 500}),
        ("mem=1.5G", {"memory": 1536}),
        ("mem=2T", {"memory": 2 * 2**20}),
        ("gres/gpu=4,gres/gpu:a100=4", {"gpu": 4, "gpu:a100": 4}),
        ("gres/gpu:a=1,gres/gpu:b=2", {"gpu:a": 1, "gpu:b": 2, "gpu": 3}),
    ],
)
def test_tres(text, expected):
    assert tres(text) == expected


def test_gres_hosts_arrays_and_numbers():
    assert gres("gpu:a100:4(S:0-1),gpu:v100:2(S:0,1)") == {"gpu:a100": 4, "gpu:v100": 2, "gpu": 6}
    assert gres("gres:gpu:2") == {"gpu": 2} and gres("(null)") == {} and gres("gpu") == {"gpu": 1}
    assert hosts("a,b-[09-11],") == ["a", "b-09", "b-10", "b-11"] and hosts("") == []
    assert number({"set": True, "infinite": True, "number": 0}) is None and number(None) is None
    for wrong in ("n[1-99999999]", "n[0-999][0-9999]", "n[1-2:2]", "n[a]", "n1]"):
        with pytest.raises(EntryError):
            hosts(wrong)


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("1,3-5,10-20:5%4", 7), ("0-9:3", 4), ("0-8:3", 3), ("5-5", 1), ("0-4:0", 5),
        ("7-3", 1), ("7-3,1-2", 2), ("0-2,...", 3), ("", 1),
    ],
)  # fmt: skip
def test_ranges_of_array_tasks(text, tasks):
    assert array_tasks(text) == tasks


def test_lists_of_hosts_and_tasks_are_bounded(monkeypatch):
    monkeypatch.setattr(slurm, "MOST", 10)
    for right in ("n[0-9]", "n[0-4],m[0-4]", "r[1-2]n[1-5]"):
        assert len(hosts(right)) == array_tasks("1-5,11-15") == 10
    for wrong in ("n[0-10]", "n[0-4],m[0-5]", "r[1-2]n[1-6]"):
        with pytest.raises(EntryError, match="more than 10 hosts"):
            hosts(wrong)
    with pytest.raises(EntryError, match="more than 10 tasks"):
        array_tasks("1-5,11-16")


@pytest.mark.parametrize(
    ("text", "there", "holds"),
    [
        ("a", "a", True),
        ("a&b", "a", False),
        ("a|b", "b", True),
        ("a&b|c", "c", True),
        ("a&(b|c)", "c", False),
        ("(a|b)&(c|d)", "bd", True),
    ],
)
def test_constraints(text, there, holds):
    assert any(term <= set(there) for term in feature_terms(text)) == holds


@pytest.mark.parametrize(
    "wrong",
    [
        "a&",
        "&a",
        "(a",
        "a)",
        "a b",
        "[a|b]",
        "a*2",
        "!a",
        "&".join(f"(a{k}|b{k})" for k in range(30)),
    ],
)
def test_wrong_constraints(wrong):
    with pytest.raises(EntryError, match="constraint"):
        feature_terms(wrong)
    assert feature_terms("") is None


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
    found = read(tmp_path_factory.mktemp("sum"), [node(name) for name in names], given_jobs)
    for k, name in enumerate(names):
        expected = [Fraction(0), Fraction(0)]
        for _, cpu, memory, count in jobs:
            if k < count:
                expected = [
                    expected[0] + Fraction(cpu, count),
                    expected[1] + Fraction(memory, count),
                ]
        if any(expected):
            assert found.observed.usage.loc[name].tolist() == pytest.approx(
                list(map(float, expected)), rel=1e-12
            )
    assert found.observed.usage["cpu"].sum() == pytest.approx(
        sum(cpu for _, cpu, _, _ in jobs), rel=1e-12
    )


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ({"state_reason": "JobHeldUser"}, "JobHeldUser"),
        ({"state_reason": "Dependency"}, "Dependency"),
        ({"state_reason": "QOSMaxCpuPerUserLimit"}, "QOSMaxCpuPerUserLimit"),
        ({"shared": ["none"]}, "it wants whole nodes (--exclusive)"),
        ({"exclusive": True}, "it wants whole nodes (--exclusive)"),
        ({"het_job_id": wrapped(7)}, "part of a heterogeneous job"),
    ],
)
def test_what_may_not_run_yet_is_kept_apart_and_owed_nothing(tmp_path, what, reason):
    found = read(tmp_path, [node("n1")], [job(1), job(2, "bob", nodes="", **what)], SSHARE)
    assert (
        found.held[["tasks", "reason"]].to_numpy().tolist() == [[1, reason]] and found.waiting.empty
    )
    assert len(found.instance.users) == 1 and found.instance.task_limits.tolist() == [1]


def test_the_tasks_of_an_array_that_run_count_for_its_throttle(tmp_path):
    jobs = [
        job(1, array_job_id=wrapped(9)),
        job(9, nodes="", array_task_string="2-5%3", array_job_id=wrapped(9)),
    ]
    found = read(tmp_path, [node("n1")], jobs, SSHARE)
    assert found.waiting["tasks"].tolist() == [2] and found.held["tasks"].tolist() == [2]


def test_a_throttle_counts_tasks_of_the_array_each_on_all_its_nodes(tmp_path):
    wide = job(
        9,
        tres="cpu=16,mem=8G,node=1,billing=16",
        nodes="",
        node_count=wrapped(2),
        array_task_string="1-3%1",
        array_job_id=wrapped(9),
    )
    found = read(tmp_path, [node("n1"), node("n2")], [job(1), wide], SSHARE)
    assert found.waiting["tasks"].tolist() == [2] and found.held["tasks"].tolist() == [4]


def test_a_job_that_waits_for_two_nodes_is_two_tasks(tmp_path):
    wide = job(2, tres="cpu=16,mem=8G,node=1,billing=16", nodes="", node_count=wrapped(2))
    found = read(tmp_path, [node("n1"), node("n2")], [job(1), wide], SSHARE)
    assert found.waiting["tasks"].tolist() == [2]
    assert [8, 4096] in found.instance.demands.tolist()


def test_use_that_only_nodes_tell_of_counts_as_used(tmp_path):
    told = {"alloc_cpus": 12, "alloc_memory": 8192, "tres_used": "cpu=12,mem=8G"}
    found = read(tmp_path, [node("n1", **told), node("n2")], [job(1), job(2, nodes="")], SSHARE)
    assert found.hidden.to_dict() == {"cpu": 8}
    assert found.instance.capacities[:, 0].tolist() == [8, 16] and found.observed.usage[
        "cpu"
    ].tolist() == [4, 0]
    little = read(tmp_path, [node("n1", alloc_cpus=4), node("n2")], [job(1)], SSHARE)
    assert little.hidden.empty


def test_powered_down_nodes_are_not_there(tmp_path):
    found = read(
        tmp_path, [node("n1"), node("n2", state=["IDLE", "POWERED_DOWN"])], [job(1)], SSHARE
    )
    assert list(found.instance.servers) == ["n1"]


def test_jobs_of_another_cluster_are_refused_by_the_name_of_a_node(tmp_path):
    with pytest.raises(InstanceError, match="tasks run on 'x7', which is none of the 1 nodes"):
        read(tmp_path, [node("n1")], [job(1, nodes="x7")], SSHARE)


@pytest.mark.parametrize("count", [-2, 0.5, 4294967294, 1e299])
def test_a_number_of_nodes_that_cannot_be_is_told(tmp_path, count):
    found = read(tmp_path, [node("n1")], [job(1), job(2, nodes="", node_count=count)])
    assert [where for where, _ in said(found, "its node_count is")] == ["jobs: 2"]
    assert found.instance.task_limits.tolist() == [1]


def test_parentheses_without_end_and_a_file_of_nothing(tmp_path):
    assert feature_terms("((a))") == {frozenset({"a"})}
    with pytest.raises(EntryError, match="has more than 100 parentheses"):
        feature_terms("(" * 5000 + "a" + ")" * 5000)
    written(tmp_path, [node("n1")], [job(1)], accounts="\ufeff")
    with pytest.raises(FairlpError):
        fairlp.snapshot(tmp_path / "accounts.txt", scheduler="slurm")
    assert fairlp.snapshot(tmp_path).instance.task_limits.tolist() == [1]


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


def slurm_job(tres, nodes, **more):
    known = {
        "job_id": 1,
        "user_name": "ann",
        "account": "physics",
        "partition": "cpu",
        "job_state": ["RUNNING"],
    }
    return known | {"nodes": nodes, "tres_req_str": tres, "tres_alloc_str": tres} | more


def test_details_of_devices_that_do_not_add_up_are_divided_evenly(tmp_path):
    parts = ["gpu:1", "gpu:2"]  # 3, where the job has 4
    told = [{"nodename": name, "cpus": 2, "memory": 4096} for name in ("n1", "n2")]
    here = {"gres_detail": parts, "job_resources": {"allocated_nodes": told}}
    found = slurm_dump(tmp_path, [slurm_job("cpu=4,mem=8G,node=2,gres/gpu=4", "n[1-2]", **here)])
    held = found.instance.demands[:, list(found.instance.resources).index("gpu")]
    assert (held == 2).all() and found.observed.totals.sum() == 2


def test_an_entry_of_a_job_without_a_node_is_passed_over(tmp_path):
    entries = [{"cpus": 9, "memory": 9}, {"nodename": "n1", "cpus": 4, "memory": 8192}]
    found = slurm_dump(
        tmp_path,
        [slurm_job("cpu=4,mem=8G,node=1", "n1", job_resources={"allocated_nodes": entries})],
    )
    assert found.observed.totals.to_list() == [1]
    assert found.instance.demands[0, list(found.instance.resources).index("cpu")] == 4


def test_blank_lines_of_a_table_and_a_line_without_an_account(tmp_path):
    table = "Account|User|ParentName|Share\nphysics|||3\n\n|zoe||1\nphysics|ann||2\n"
    found = slurm_dump(tmp_path, [slurm_job("cpu=4,mem=8G,node=1", "n1")], table)
    assert said(found, "it has no account") == [("line 4", "left out")]
    queues = found.instance.queues
    assert queues.weights[queues.named("physics")] == 3


def test_devices_of_no_kind_are_none():
    assert gres("(null)") == {} and gres("gpu:2,gres/:3,:4") == gres("gpu:2,gres/:3")
    assert gres(":4") == {}


def test_an_array_of_too_many_tasks_is_refused():
    with pytest.raises(EntryError, match=r"has more than \d+ tasks"):
        array_tasks("0-999999999")


def test_jobs_are_counted_as_squeue_counts_them(tmp_path):
    """One job on two nodes is two tasks; of an array of 4 tasks on 2 nodes each, 1 may run at once."""
    jobs = [
        job(1, nodes="n[1-2]", node_count=wrapped(2), tres="cpu=4,node=2"),
        job(2, nodes="", node_count=wrapped(2), tres="cpu=4,node=2", array_task_string="0-3%1"),
        job(3, nodes="", state_reason="JobHeldUser"),
    ]
    found = read(tmp_path, [node("n1"), node("n2")], jobs)
    assert found.jobs.to_dict() == {"run": 1, "wait": 1, "are held": 4}
    assert found.observed.tasks_array.sum() == 2 and found.waiting["tasks"].sum() == 2


def used(rows, half_life="1-00:00:00"):
    """A table of sshare (account, user, seconds of CPUs), and the configuration with the half-life."""
    lines = [f"{account}|{user}|1|{seconds}" for account, user, seconds in rows]
    config = (
        f"Configuration data as of 2026-01-01T00:00:00\nPriorityDecayHalfLife   = {half_life}\n"
    )
    return {
        "sshare.txt": "\n".join(["Account|User|RawShares|RawUsage", *lines]),
        "config.txt": config,
    }


def with_texts(folder, texts):
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return fairlp.snapshot(folder)


def test_past_use_counts_for_the_next_half_life(tmp_path):
    """16 CPUs, a half-life of a day. ann has used all of them for one: h = 1 half-life. A half of that remains, so that
    0.5 + x = y, x + y = 1: a quarter for ann and three for bob, 1 and 3 tasks of 4 CPUs."""
    jobs = [job(1), job(2), job(3, nodes="", array_task_string="1-2")]
    jobs += [job(k + 4, "bob", "lab", nodes="" if k > 1 else "n1") for k in range(4)]
    written(tmp_path, [node("n1")], jobs)
    rows = [(" physics", "", 16 * 86400), ("  physics", "ann", 16 * 86400), (" lab", "", 0)]
    found = with_texts(tmp_path, used([("root", "", 16 * 86400), *rows, ("  lab", "bob", 0)]))
    assert found.history.to_dict() == pytest.approx({"physics/ann": 1, "lab/bob": 0})
    expected = pytest.approx({"physics/ann": 1, "lab/bob": 3})
    assert found.fair_with_past().totals.to_dict() == expected
    shares = fairlp.fair_shares(found, state=found.history, half_life=1)
    assert shares["fair_tasks"].to_dict() == expected
    assert fairlp.fair_shares(found)["fair_tasks"].to_dict() == pytest.approx(
        {"physics/ann": 2, "lab/bob": 2}
    )


def test_an_account_counts_with_the_past_of_users_who_are_away(tmp_path):
    """The account has had 1, ann 0.5 and eve 0.2; 0.3 is of users without jobs now, and divided among the two, who
    have equal shares: 0.65 and 0.35."""
    written(tmp_path, [node("n1")], [job(1), job(2, "eve")])
    whole = 16 * 86400
    rows = [("root", "", whole), (" physics", "", whole), ("  physics", "ann", whole // 2)]
    rows += [("  physics", "eve", whole // 5), ("  physics", "away", whole * 3 // 10)]
    found = with_texts(tmp_path, used(rows))
    assert found.history.to_dict() == pytest.approx({"physics/ann": 0.65, "physics/eve": 0.35})


@pytest.mark.parametrize(
    ("half_life", "expected"), [("2-00:00:00", 0.5), ("12:00:00", 2), ("00:00:00", None)]
)
def test_the_half_life_is_that_of_the_configuration(tmp_path, half_life, expected):
    written(tmp_path, [node("n1")], [job(1)])
    rows = [("root", "", 9), (" physics", "", 16 * 86400), ("  physics", "ann", 16 * 86400)]
    found = with_texts(tmp_path, used(rows, half_life))
    if expected is None:
        assert found.history.empty and found.fair_with_past() is None
        assert said(found, "past use never fades")
    else:
        assert found.history.to_dict() == pytest.approx({"physics/ann": expected})
