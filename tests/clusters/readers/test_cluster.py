"""Notes of readers."""

from __future__ import annotations

from dump_files import read
from kubernetes_dumps import node, pod, said


def test_many_lines_that_say_the_same_are_counted(tmp_path):
    cluster = read(tmp_path, node("n1"), *[pod(f"p{k}", on="n1", requests={}) for k in range(100)])
    lines = said(cluster, "it requests nothing")
    assert len(lines) == 21 and lines[-1][0] == "… and 80 more"
    assert cluster.observed.totals.to_dict() == {"ml/web": 100}
