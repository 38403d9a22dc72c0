"""Accounts of Slurm, as ``sacctmgr show assoc --json`` prints them."""

from __future__ import annotations

import math

import pytest

import fairlp
from fairlp.errors import FileFormatError
from kubernetes_dumps import said
from slurm_dumps import WEIGHS, association, job, node, read_dump, wrapped

LIMITS = [("cpu", "", 40), ("mem", "", 2**20), ("gres", "gpu", 2), ("node", "", 3)]
ACCOUNTS = [
    association("root", total=[("cpu", "", 100), ("billing", "", 7)]),
    association("physics", parent="root", share=wrapped(30), total=LIMITS),
    association("lab", parent="physics", share=0),
    association("lab", "bob", share=2147483647, total=[("cpu", "", -1)]),
    association("lab", "bob", share=7),
    association("lab", "eve", share="many"),
    association("a//b", parent="lab", share=2),
    association("loop", parent="pool"),
    association("pool", parent="loop"),
    association(""),
]


def limits(cluster, path):
    queues = cluster.instance.queues
    row = queues.caps[queues.named(path)]
    return {
        r: v
        for r, v in zip(cluster.instance.resources, row.tolist(), strict=True)
        if math.isfinite(v)
    }


def weights_of(cluster):
    return {
        path: cluster.instance.queues.weights[cluster.instance.queues.named(path)]
        for path in cluster.instance.queues
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
    weights = weights_of(cluster)
    assert (weights["physics"], weights["physics/lab"]) == (30, 1 / 1000)
    for phrase, place in (
        ("limit of 'billing'", "association of 'root'"),
        ("limit of 'node'", "association of 'physics'"),
        ("a share of 0", "association of 'lab'"),
        ("'cpu=-1' in 'cpu=-1' is no amount", "association of 'bob'"),
        ("an earlier association is of 'bob' in 'lab'", "association of 'bob'"),
        ("'many' is no number", "associations: 'lab'"),
        ("cap of 'gpu', which is no resource here", "queue 'physics'"),
        ("no association lists it", "account 'unknown'"),
        ("it has no account", "association of ''"),
    ):
        assert said(cluster, phrase)[0][0] == place, phrase
    assert said(cluster, "it is above itself")


def test_a_cap_of_gpus_counts_where_nodes_have_them(tmp_path):
    jobs = [job(1, tres="cpu=1,mem=1G,gres/gpu=1")]
    cluster = read_dump(tmp_path, [node("n1", gres="gpu:8")], jobs, ACCOUNTS)
    assert limits(cluster, "physics") == {"cpu": 40, "memory": 2**20, "gpu": 2}


@pytest.mark.parametrize(
    "parent", [2147483647, wrapped(2147483647), wrapped(0) | {"infinite": True}]
)
def test_those_below_an_account_with_its_parents_share_share_with_its_siblings(tmp_path, parent):
    """As fair tree has it: bob (3), eve (1), and ann (2) are siblings; zoe has no tasks and takes nothing."""
    jobs = [job(1, nodes=""), job(2, "bob", "lab", nodes=""), job(3, "eve", "deep", nodes="")]
    jobs = [entry | {"array_task_string": "1-9", "tres_req_str": "cpu=1"} for entry in jobs]
    accounts = [
        association("root"),
        association("physics", parent="root", share=5),
        association("physics", "ann", share=2),
        association("lab", parent="physics", share=parent),
        association("lab", "bob", share=3),
        association("lab", "zoe", share=50),
        association("deep", parent="lab", share=parent),
        association("deep", "eve", share=parent),
    ]
    snapshot = read_dump(tmp_path, [node("n1", cpus=12)], jobs, accounts)
    weights = weights_of(snapshot)
    paths = ("physics/lab", "physics/lab/deep", "physics/lab/deep/eve")
    assert [weights[path] for path in paths] == [4, 1, 1]
    assert said(snapshot, "that of its parent") == [
        ("association of 'lab'", WEIGHS),
        ("association of 'deep'", WEIGHS),
        ("association of 'eve'", "taken as 1"),
    ]
    fair = fairlp.allocate(snapshot.instance, "h-drf")
    assert fair.totals.to_dict() == pytest.approx(
        {"physics/ann": 4, "lab/bob": 6, "deep/eve": 2}, rel=1e-9
    )


TEXTS = {
    "NodeName=n1 CPUTot=4\n   State=IDLE\n": "print it with scontrol show nodes --json",
    "JobId=1 JobName=a\n": "print it with squeue --json",
    "LicenseName=a\n    Total=1\n": "print it with scontrol show licenses --json",
    "Account|User|RawShares\nroot||1\n": "print it with sacctmgr show assoc --json",
    "Cluster|Account|User|Share\nc|root||1\n": "print it with sacctmgr show assoc --json",
    "  Account       User  RawShares\n root\n": "print it with sacctmgr show assoc --json",
    '{"shares": {"shares": []}}': "and print sacctmgr show assoc --json",
}


@pytest.mark.parametrize("text", TEXTS)
def test_what_slurm_prints_otherwise_is_refused_with_what_to_print(tmp_path, text):
    """Without its shares, or its jobs, the dump would have another answer."""
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=TEXTS[text]):
        read_dump(tmp_path, [node("n1")], [job(1)])
