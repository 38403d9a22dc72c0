"""What Slurm's settings say of who gives way to whom."""

from __future__ import annotations

import pytest

from slurm_dumps import job, node, read_cluster


def preemption(folder, **settings):
    lines = [f"{key:<24}= {value}" for key, value in settings.items()]
    text = "\n".join(["Configuration data as of 2026-01-01T00:00:00", *lines, ""])
    return read_cluster(folder, [node("n1")], [job(1)], config=text).preemption


@pytest.mark.parametrize("kind", ["preempt/none", "(null)"])
def test_preempt_none_lets_no_job_give_way(tmp_path, kind):
    assert preemption(tmp_path, PreemptMode="OFF", PreemptType=kind) == (
        "PreemptType is preempt/none (scontrol show config): a running job never gives way"
    )


def test_a_mode_of_off_lets_no_job_give_way(tmp_path):
    assert preemption(tmp_path, PreemptMode="OFF", PreemptType="preempt/partition_prio") == (
        "PreemptMode is OFF (scontrol show config): a running job never gives way"
    )


def test_the_rule_is_told_in_words_where_it_is_known(tmp_path):
    times = {"PreemptMode": "REQUEUE", "PreemptExemptTime": "01:00:00"}
    assert preemption(tmp_path, PreemptType="preempt/qos", **times) == (
        "a running job gives way to jobs whose QOS lists its QOS in Preempt "
        "(PreemptType=preempt/qos, PreemptMode=REQUEUE, PreemptExemptTime=01:00:00; scontrol show "
        "config)"
    )
    assert preemption(tmp_path, PreemptType="preempt/own", PreemptMode="REQUEUE") == (
        "as PreemptType=preempt/own, PreemptMode=REQUEUE says (scontrol show config)"
    )


def test_tables_of_qos_and_partitions_are_no_fault_of_a_dump(tmp_path):
    texts = {
        "qos": "Name|Priority|Preempt|PreemptMode\nlow|0||cluster\n",
        "partitions": "PartitionName=cpu PriorityTier=1 PreemptMode=REQUEUE\n",
    }
    cluster = read_cluster(tmp_path, [node("n1")], [job(1)], **texts)
    assert cluster.notes.table().empty and cluster.preemption == ""
