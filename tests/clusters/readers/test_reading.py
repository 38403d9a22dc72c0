"""Dumps of every scheduler, with anything anywhere: read, or refused in words; wrong parts are a line each."""

from __future__ import annotations

import contextlib
import copy
import json

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import fairlp_clusters
import slurm_dumps
from dump_files import kubernetes, places, read, slurm, yarn
from fairlp.errors import FileFormatError, InstanceError, TooLargeError, UnknownNameError
from kubernetes_dumps import node, pod, said, thing, written
from profiles import PROFILE, many


def test_what_is_asked_for_is_checked(tmp_path):
    written(tmp_path, node("n1"), pod("a", on="n1"))
    with pytest.raises(
        UnknownNameError, match=r"scheduler='kubernets' is not known; did you mean 'kubernetes'"
    ):
        fairlp_clusters.snapshot(tmp_path, "kubernets")
    with pytest.raises(FileFormatError, match=r"no file .*; did you mean 'dump.json'"):
        fairlp_clusters.snapshot(tmp_path / "dmp.json")


def test_a_folder_is_of_one_scheduler_and_what_else_is_in_it_is_told(tmp_path):
    with pytest.raises(FileFormatError, match="has no files"):
        fairlp_clusters.snapshot(tmp_path)
    (tmp_path / "notes.json").write_text('{"hello": 1}', encoding="utf-8")
    with pytest.raises(
        FileFormatError,
        match="is of no scheduler that is known; expected a dump of one of kubernetes",
    ):
        fairlp_clusters.snapshot(tmp_path)
    cluster = read(tmp_path, node("n1"), pod("a", on="n1"))
    assert cluster.not_understood.to_dict("records") == [
        {
            "file": "notes.json",
            "where": "the file",
            "what": "it is of no scheduler that is known",
            "done": "left out",
        }
    ]
    (tmp_path / "yarn.json").write_text('{"apps": {"app": []}}', encoding="utf-8")
    with pytest.raises(
        FileFormatError, match=r"is of kubernetes and yarn; expected .*scheduler=… says which"
    ):
        fairlp_clusters.snapshot(tmp_path)
    assert said(fairlp_clusters.snapshot(tmp_path, "kubernetes"), "it is of yarn") == [
        ("the file", "left out")
    ]


LINES = [
    (thing("ConfigMap", "c", {}), "objects of kind 'ConfigMap' (v1) are not read", "ConfigMap 'c'"),
    (thing("Queue", "q", {}, "other.io/v1"), "objects of kind 'Queue' (other.io/v1) are not read", "Queue 'q'"),
    ([1], "it is a list; expected a mapping", "an entry of items"),
    ({"kind": 5}, "kind is 5; expected text", "an entry of items"),
    (node("n1"), "an earlier node has this name", "node 'n1'"),
    (node("") | {}, "it has no name", "Node ''"),
    (node("bad", allocatable={"cpu": "many"}), "'many' is no quantity", "Node 'bad'"),
    (node("bad", allocatable={"cpu": "-1"}), "'-1' is negative", "Node 'bad'"),
    (node("bad", taints="x"), "taints is 'x'; expected a list", "Node 'bad'"),
    (node("bad", unschedulable="yes"), "spec.unschedulable is 'yes'", "Node 'bad'"),
    (pod("run", on="n1"), "an earlier pod has this name", "pod 'ml/run'"),
    (pod("odd", on="n9"), "it runs on 'n9', a node that is not in the dump", "pod 'ml/odd'"),
    (pod("odd", phase="Succeeded"), "it has finished (Succeeded)", "pod 'ml/odd'"),
    (pod("odd", requests={}), "it requests nothing", "pod 'ml/odd'"),
    (pod("odd", requests={"cpu": "1x"}), "'1x' is no quantity", "Pod 'odd'"),
    (pod("odd", containers={}), "containers is a mapping; expected a list", "Pod 'odd'"),
    (pod("odd", tomorrow=1), "unknown field spec.tomorrow", "pod 'ml/odd'"),
    (pod("odd", topologySpreadConstraints=[{}]), "spec.topologySpreadConstraints", "pod 'ml/odd'"),
    (pod("odd", affinity={"podAntiAffinity": {"x": 1}}), "affinity.podAntiAffinity", "pod 'ml/odd'"),
    (pod("odd", requests={"foo": "1", "cpu": "1"}), "it is asked for, but no node has it", "resource 'foo'"),
    (pod("odd", owner=("Job", "odd"), nodeSelector={"z": "m"}), "no node may take its tasks", "user 'ml/odd'"),
    (pod("odd", on="n1", requests={"cpu": "100"}), "of 'cpu' are in use, of 8000", "node 'n1'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("item", "phrase", "expected_place"), LINES, ids=[phrase for _, phrase, _ in LINES]
)
def test_everything_else_is_one_clear_line(tmp_path, item, phrase, expected_place):
    cluster = read(tmp_path, node("n1"), pod("run", on="n1"), item)
    assert [place for place, _ in said(cluster, phrase)] == [expected_place]
    assert cluster.observed.totals["ml/web"] >= 1


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "0", "x", "a/b", "1e9", "n[1-", "root"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "name", "id"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.slow
@pytest.mark.parametrize("dump", [kubernetes, slurm, yarn], ids=lambda dump: dump.__name__)
@settings(
    max_examples=many(300 if PROFILE == "nightly" else 150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_dump_with_anything_anywhere_is_read_or_refused(tmp_path_factory, dump, data):
    documents = copy.deepcopy(dump())
    path = data.draw(st.sampled_from([place for place in places(documents) if len(place) > 1]))
    inner = documents
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = data.draw(JSON)
    folder = tmp_path_factory.mktemp("any")
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    with contextlib.suppress(FileFormatError, InstanceError, TooLargeError):
        snapshot = fairlp_clusters.snapshot(folder, dump.__name__)
        assert isinstance(snapshot.not_understood, pd.DataFrame) and len(snapshot.instance.users)


def test_a_scheduler_that_is_told_reads_files_that_tell_nothing(tmp_path):
    (tmp_path / "dump.json").write_text('{"unknown": 1}', encoding="utf-8")
    with pytest.raises(FileFormatError, match="is of no scheduler that is known"):
        fairlp_clusters.snapshot(tmp_path)
    with pytest.raises(InstanceError, match="node"):
        fairlp_clusters.snapshot(tmp_path, scheduler="yarn")


@pytest.mark.parametrize(
    ("name", "table", "command"),
    [
        (
            "jobs.json",
            "   JOBID PARTITION  NAME  USER ST\n  1  debug  test  ann  R\n",
            "squeue --json",
        ),
        ("accounts.csv", "Account|User|Share\nlab|ann|1\n", "sacctmgr show assoc --json"),
    ],
)
def test_a_table_for_people_among_files_of_slurm_is_refused(tmp_path, name, table, command):
    for file, key, entry in (
        ("n", "nodes", slurm_dumps.node("n1")),
        ("j", "jobs", slurm_dumps.job(1)),
    ):
        (tmp_path / f"{file}.json").write_text(json.dumps({"meta": {}, key: [entry]}))
    (tmp_path / name).write_text(table, encoding="utf-8")
    with pytest.raises(FileFormatError, match=f"{name} is a .*; print it with {command}"):
        fairlp_clusters.snapshot(tmp_path)
