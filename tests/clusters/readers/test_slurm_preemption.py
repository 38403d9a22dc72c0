"""What Slurm's settings say of who gives way to whom."""

from __future__ import annotations

from slurm_dumps import job, node, read_cluster


def preemption(folder, **settings):
    lines = [f"{key:<24}= {value}" for key, value in settings.items()]
    text = "\n".join(["Configuration data as of 2026-01-01T00:00:00", *lines, ""])
    return read_cluster(folder, [node("n1")], [job(1)], config=text).preemption


def test_settings_of_preemption_are_told_as_they_stand(tmp_path):
    settings = {"PreemptMode": "REQUEUE", "Other": "1", "PreemptExemptTime": "01:00:00"}
    assert preemption(tmp_path, PreemptType="preempt/qos", **settings) == (
        "PreemptType=preempt/qos, PreemptMode=REQUEUE, PreemptExemptTime=01:00:00 (scontrol show config)"
    )
    assert preemption(tmp_path, Other="1") == ""
