"""Whom Slurm lets give way to whom, as far as a dump says it."""

from __future__ import annotations

import json

import pytest

from fairlp_clusters.readers.cluster import Preemption
from slurm_dumps import job, node, read_cluster


def config(**settings):
    lines = [f"{key:<24}= {value}" for key, value in settings.items()]
    return "\n".join(["Configuration data as of 2026-01-01T00:00:00", *lines, ""])


def preemption(folder, jobs, **texts):
    return read_cluster(folder, [node("n1")], jobs, **texts).preemption


JOBS = [job(1, "ann", qos="low"), job(2, "bob", nodes="", qos="high")]


def test_without_settings_it_is_not_known(tmp_path):
    assert preemption(tmp_path, JOBS) == Preemption()


@pytest.mark.parametrize("kind", ["preempt/none", "(null)"])
def test_preempt_none_lets_no_job_give_way(tmp_path, kind):
    text = config(PreemptMode="OFF", PreemptType=kind, PreemptExemptTime="00:00:00")
    refusal = "PreemptType is preempt/none (scontrol show config): a running job never gives way"
    assert preemption(tmp_path, JOBS, config=text).refusal == refusal


def test_a_mode_of_off_lets_no_job_give_way(tmp_path):
    text = config(PreemptMode="OFF", PreemptType="preempt/partition_prio")
    assert preemption(tmp_path, JOBS, config=text).refusal == (
        "PreemptMode is OFF (scontrol show config): a running job never gives way"
    )


def test_a_rule_whose_table_is_missing_says_so(tmp_path):
    text = config(PreemptMode="REQUEUE", PreemptType="preempt/qos", PreemptExemptTime="01:00:00")
    assert preemption(tmp_path, JOBS, config=text) == Preemption(
        rule="a running job gives way to jobs whose QOS lists its QOS in Preempt "
        "(PreemptType=preempt/qos, PreemptMode=REQUEUE, PreemptExemptTime=01:00:00; scontrol show "
        "config); the dump does not say which (sacctmgr show qos)"
    )


QOS = "Name|Priority|Preempt|PreemptMode\nlow|0||cluster\nhigh|10|low|cluster\nsafe|5|low|cluster\n"
BY_QOS = config(PreemptMode="REQUEUE", PreemptType="preempt/qos")
NO_ONE_TAKES = "no job that waits is of a QOS that pre-empts theirs"
TAKES_NO_ONE = "the QOS of their jobs that wait pre-empts no job that runs"


@pytest.mark.parametrize(
    ("running", "waiting", "protected", "refused"),
    [
        ("low", "high", {}, {}),
        ("safe", "high", {"physics/ann": NO_ONE_TAKES}, {"physics/bob": TAKES_NO_ONE}),
        ("low", "low", {"physics/ann": NO_ONE_TAKES}, {"physics/bob": TAKES_NO_ONE}),
        ("low", "unlisted", {}, {}),
    ],
)
def test_a_qos_preempts_those_that_it_lists(tmp_path, running, waiting, protected, refused):
    jobs = [job(1, "ann", qos=running), job(2, "bob", nodes="", qos=waiting)]
    rules = preemption(tmp_path, jobs, config=BY_QOS, qos=QOS)
    assert rules.protected == protected and rules.refused == refused
    assert rules.rule == (
        "a running job gives way to jobs whose QOS lists its QOS in Preempt "
        "(PreemptType=preempt/qos, PreemptMode=REQUEUE; scontrol show config)"
    )


def test_a_qos_whose_mode_is_off_gives_no_way(tmp_path):
    qos = QOS.replace("low|0||cluster", "low|0||OFF")
    assert preemption(tmp_path, JOBS, config=BY_QOS, qos=qos).protected == {
        "physics/ann": NO_ONE_TAKES
    }


def test_a_job_gives_way_if_any_job_that_waits_may_take_its_place(tmp_path):
    """ann has jobs of low and of safe: she is not protected, since one of hers gives way."""
    jobs = [*JOBS, job(3, "ann", qos="safe"), job(4, "bob", nodes="", qos="low")]
    rules = preemption(tmp_path, jobs, config=BY_QOS, qos=QOS)
    assert not rules.protected and not rules.refused


PARTITIONS = """PartitionName=cpu
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO PreemptMode=REQUEUE
   State=UP TotalCPUs=16 TotalNodes=1

PartitionName=urgent
   PriorityJobFactor=1 PriorityTier=5 PreemptMode=OFF
"""
BY_PARTITION = config(PreemptMode="REQUEUE", PreemptType="preempt/partition_prio")


@pytest.mark.parametrize("is_json", [False, True])
def test_a_partition_of_a_higher_tier_preempts(tmp_path, is_json):
    texts = {"partitions": PARTITIONS}
    if is_json:
        tiers = {"cpu": 1, "urgent": 5}
        entries = [{"name": name, "priority": {"tier": tier}} for name, tier in tiers.items()]
        texts["partitions"] = json.dumps({"partitions": entries, "meta": {}})
    up = [job(1, "ann"), job(2, "bob", nodes="", partition="urgent")]
    rules = preemption(tmp_path, up, config=BY_PARTITION, **texts)
    assert not rules.protected and not rules.refused
    down = [job(1, "ann", partition="urgent"), job(2, "bob", nodes="", partition="cpu,cpu")]
    rules = preemption(tmp_path, down, config=BY_PARTITION, **texts)
    assert rules.protected == {
        "physics/ann": "no job that waits is of a partition that pre-empts theirs"
    }
    assert rules.refused == {
        "physics/bob": "the partition of their jobs that wait pre-empts no job that runs"
    }


def test_a_cut_row_of_qos_is_noted(tmp_path):
    cluster = read_cluster(tmp_path, [node("n1")], JOBS, qos=QOS + "cut|1\n")
    notes = cluster.notes.table()
    (what,) = notes[notes["where"] == "line 5"]["what"]
    assert what == "2 cells, where the header has 4 (is it cut off?)"


TIERS = """PartitionName=low PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high PriorityTier=5 PreemptMode=REQUEUE
PartitionName=safe PriorityTier=1 PreemptMode=OFF
"""


@pytest.mark.parametrize(
    ("running", "waiting", "gives_way"),
    [
        ("low", "high", True),
        ("low", "low,high", True),  # in the one of its partitions with the higher tier
        ("low", "low", False),  # of equal tiers none gives way
        ("high", "low", False),
        ("safe", "high", False),
        ("unlisted", "low", True),  # the dump does not say that it does not
        ("low", "unlisted", True),
        ("high", "unlisted,low", True),
        ("", "low", True),
        ("high", "", True),
    ],
)
def test_tiers_of_partitions_decide(tmp_path, running, waiting, gives_way):
    jobs = [job(1, "ann", partition=running), job(2, "bob", nodes="", partition=waiting)]
    rules = preemption(tmp_path, jobs, config=BY_PARTITION, tiers=TIERS)
    assert ("physics/ann" not in rules.protected) == gives_way
    assert ("physics/bob" not in rules.refused) == gives_way
