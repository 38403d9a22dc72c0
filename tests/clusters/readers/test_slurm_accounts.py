"""Accounts of Slurm: tables and JSON of sacctmgr and sshare, and past use with its half-life."""

from __future__ import annotations

import json
import math

import pytest

import fairlp
import fairlp_clusters
from kubernetes_dumps import said
from slurm_dumps import WEIGHS, association, job, node, read_dump, share, wrapped, write_dump

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


def limits(cluster, path):
    queues = cluster.instance.queues
    row = queues.caps[queues.named(path)]
    return {
        r: v
        for r, v in zip(cluster.instance.resources, row.tolist(), strict=True)
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
    cluster = read_dump(tmp_path, [node("n1")], jobs, ACCOUNTS)
    assert cluster.instance.queue == (
        "physics/lab/bob", "physics/lab/a%2F%2Fb/x%2Fy", "pool/loop/z", "unknown/z", "(none)/(none)"
    )  # fmt: skip
    assert limits(cluster, "") == {"cpu": 100}
    assert limits(cluster, "physics") == {"cpu": 40, "memory": 2**20}
    queues = cluster.instance.queues
    assert queues.weights[queues.named("physics/lab")] == 1 / 1000
    for phrase, place in (
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
        assert said(cluster, phrase)[0][0] == place, phrase
    assert said(cluster, "it is above itself")


def test_accounts_as_json(tmp_path):
    write_dump(
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
    snapshot = fairlp_clusters.snapshot(tmp_path)
    assert snapshot.instance.queue == ("physics/ann", "physics/lab/bob")
    assert limits(snapshot, "physics") == {"cpu": 10, "memory": 4096, "gpu": 3}
    (tmp_path / "assoc.json").unlink()
    shares = [
        {"name": "root", "parent": "", "shares": wrapped(1), "type": ["ASSOCIATION"]},
        {"name": "physics", "parent": "root", "shares": wrapped(5), "type": ["ASSOCIATION"]},
        {"name": "ann", "parent": "physics", "shares": wrapped(2), "type": ["USER"]},
    ]
    (tmp_path / "share.json").write_text(
        json.dumps({"shares": {"shares": shares, "total_shares": 3}})
    )
    queues = fairlp_clusters.snapshot(tmp_path).instance.queues
    assert queues.weights[[queues.named("physics"), queues.named("physics/ann")]].tolist() == [5, 2]


def write_shares(folder, entries, name="sshare.json"):
    text = f'{{"shares": {{"shares": [{", ".join(entries)}], "total_shares": {len(entries)}}}, "meta": {{}}}}'
    (folder / name).write_text(text, encoding="utf-8")


def weights_of(cluster):
    return {
        path: cluster.instance.queues.weights[cluster.instance.queues.named(path)]
        for path in cluster.instance.queues
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["a-sshare.json", "z-sshare.json"]
)  # read before and after the associations
def test_shares_of_sshare_win_over_those_of_associations_whose_caps_stay(tmp_path, name):
    write_dump(tmp_path, [node("n1")], [job(1), job(2, "eve")])
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
    snapshot = fairlp_clusters.snapshot(tmp_path)
    assert weights_of(snapshot) == {"": 1, "physics": 6, "physics/ann": 3, "physics/eve": 4}
    assert limits(snapshot, "physics") == {"cpu": 10}
    assert snapshot.shares["usage"].to_dict() == {
        "": 90,
        "physics": 0,
        "physics/ann": 40,
        "physics/eve": 50,
    }
    assert snapshot.shares["fairshare"].dropna().to_dict() == {
        "physics/ann": 0.25,
        "physics/eve": 0.125,
    }
    assert said(snapshot, "an earlier line is of 'ann' in 'physics'") == [
        ("share of 'ann'", "left out")
    ]
    assert fairlp_clusters.fair_shares(snapshot, by="queue").loc[
        "physics/eve", ["usage", "fairshare"]
    ].tolist() == [50, 0.125]
    page = tmp_path / "page.html"
    fairlp_clusters.report(snapshot, page)
    text = page.read_text(encoding="utf-8")
    assert "Counting past use, which fades by half in each half-life" in text
    assert "decayed, as Slurm prints it" in text


@pytest.mark.parametrize(
    "parent", [2147483647, wrapped(2147483647), wrapped(0) | {"infinite": True}]
)
def test_those_below_an_account_with_its_parents_share_share_with_its_siblings(tmp_path, parent):
    """As fair tree has it: bob (3), eve (1), and ann (2) are siblings; zoe has no tasks and takes nothing."""
    jobs = [job(1, nodes=""), job(2, "bob", "lab", nodes=""), job(3, "eve", "deep", nodes="")]
    write_dump(
        tmp_path,
        [node("n1", cpus=12)],
        [job_entry | {"array_task_string": "1-9", "tres_req_str": "cpu=1"} for job_entry in jobs],
    )
    shares = [share("root", "", 1), share("physics", "root", 5), share("ann", "physics", 2, True)]
    shares += [
        share("lab", "physics", parent),
        share("bob", "lab", 3, True),
        share("zoe", "lab", 50, True),
    ]
    shares += [share("deep", "lab", parent), share("eve", "deep", parent, True)]
    write_shares(tmp_path, shares)
    snapshot = fairlp_clusters.snapshot(tmp_path)
    weights = weights_of(snapshot)
    assert (
        weights["physics/lab"],
        weights["physics/lab/deep"],
        weights["physics/lab/deep/eve"],
    ) == (4, 1, 1)
    assert said(snapshot, "that of its parent") == [
        ("share of 'lab'", WEIGHS), ("share of 'deep'", WEIGHS), ("share of 'eve'", "taken as 1")
    ]  # fmt: skip
    fair = fairlp.allocate(snapshot.instance, "h-drf")
    assert fair.totals.to_dict() == pytest.approx(
        {"physics/ann": 4, "lab/bob": 6, "deep/eve": 2}, rel=1e-9
    )


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
    return fairlp_clusters.snapshot(folder)


def test_past_use_counts_for_the_next_half_life(tmp_path):
    """16 CPUs, a half-life of a day. ann has used all of them for one: h = 1 half-life. A half of that remains, so that
    0.5 + x = y, x + y = 1: a quarter for ann and three for bob, 1 and 3 tasks of 4 CPUs."""
    jobs = [job(1), job(2), job(3, nodes="", array_task_string="1-2")]
    jobs += [job(k + 4, "bob", "lab", nodes="" if k > 1 else "n1") for k in range(4)]
    write_dump(tmp_path, [node("n1")], jobs)
    rows = [(" physics", "", 16 * 86400), ("  physics", "ann", 16 * 86400), (" lab", "", 0)]
    model = with_texts(tmp_path, used([("root", "", 16 * 86400), *rows, ("  lab", "bob", 0)]))
    assert model.history.to_dict() == pytest.approx({"physics/ann": 1, "lab/bob": 0})
    expected = pytest.approx({"physics/ann": 1, "lab/bob": 3})
    assert model.fair_with_past().totals.to_dict() == expected
    shares = fairlp_clusters.fair_shares(model, state=model.history, half_life=1)
    assert shares["fair_tasks"].to_dict() == expected
    assert fairlp_clusters.fair_shares(model)["fair_tasks"].to_dict() == pytest.approx(
        {"physics/ann": 2, "lab/bob": 2}
    )


def test_an_account_counts_with_the_past_of_users_who_are_away(tmp_path):
    """The account has had 1, ann 0.5 and eve 0.2; 0.3 is of users without jobs now, and divided among the two, who
    have equal shares: 0.65 and 0.35."""
    write_dump(tmp_path, [node("n1")], [job(1), job(2, "eve")])
    whole = 16 * 86400
    rows = [("root", "", whole), (" physics", "", whole), ("  physics", "ann", whole // 2)]
    rows += [("  physics", "eve", whole // 5), ("  physics", "away", whole * 3 // 10)]
    model = with_texts(tmp_path, used(rows))
    assert model.history.to_dict() == pytest.approx({"physics/ann": 0.65, "physics/eve": 0.35})


@pytest.mark.parametrize(
    ("half_life", "expected"), [("2-00:00:00", 0.5), ("12:00:00", 2), ("00:00:00", None)]
)
def test_the_half_life_is_that_of_the_configuration(tmp_path, half_life, expected):
    write_dump(tmp_path, [node("n1")], [job(1)])
    rows = [("root", "", 9), (" physics", "", 16 * 86400), ("  physics", "ann", 16 * 86400)]
    model = with_texts(tmp_path, used(rows, half_life))
    if expected is None:
        assert model.history.empty and model.fair_with_past() is None
        assert said(model, "past use never fades")
    else:
        assert model.history.to_dict() == pytest.approx({"physics/ann": expected})
