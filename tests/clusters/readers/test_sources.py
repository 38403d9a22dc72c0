"""The files of a dump: read, recognised by their content, or refused with the place and the remedy."""

from __future__ import annotations

import copy
import gzip
import itertools
import json

import numpy as np
import pytest

import fairlp
import fairlp_clusters
from dump_files import kubernetes, places, slurm, yarn
from fairlp.errors import FileFormatError, InstanceError
from fairlp_clusters.readers.sources import scheduler_of_beginning
from kubernetes_dumps import node, pod, said, written
from profiles import by_day


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (
            '{"apiVersion": "v1", "items": [',
            r"line 1, column 32: Expecting value; is the file cut off",
        ),
        (
            '{"apiVersion": "v1", "items": [{"kind": "Node"}',
            r"line 1, column 48: Expecting ',' or ']'",
        ),
        ('{"apiVersion": "v1" "items": []}', r"Expecting ',' or '}'"),
        ('{"apiVersion": "v1", 3: 4}', "Expecting '\"'"),
        ('{"apiVersion" "v1"}', "Expecting ':'"),
        ('{"apiVersion": "v1", "items": [{"a": 1, "a": 2}]}', "key 'a' occurs twice"),
        ('{"apiVersion": "v1", "apiVersion": "v2"}', "key 'apiVersion' occurs twice"),
        ('{"a": 1, "b": 2, "b": 3}', "key 'b' occurs twice"),
        ('{"apiVersion": "v1", "items": [NaN]}', "NaN is not JSON"),
        ('{"apiVersion": "v1", "items": [' + "[" * 100_000, "nested too deeply"),
        ('{"apiVersion": "v1", "kind": "List"} x', "Expecting a mapping or a list"),
        ("apiVersion: v1\n", "is not JSON; print it with kubectl get … -o json"),
        ("caf\xe9", "is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(tmp_path, text, message):
    path = tmp_path / "dump.json"
    path.write_bytes(text.encode("latin-1" if "\xe9" in text else "utf-8"))
    with pytest.raises(FileFormatError, match=message):
        fairlp_clusters.snapshot(path, "kubernetes")


def test_a_number_of_thousands_of_digits_is_no_node(tmp_path):
    path = tmp_path / "dump.json"
    path.write_text('{"apiVersion": "v1", "items": [1' + "0" * 5000 + "]}")
    with pytest.raises(InstanceError, match="the dump has no nodes"):
        fairlp_clusters.snapshot(path, "kubernetes")


@pytest.mark.parametrize("text", ["apiVersion: v1\nitems: []\n", "---\napiVersion: v1\n"])
def test_yaml_is_told_what_to_print_instead(tmp_path, text):
    (tmp_path / "dump.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match="is not JSON; print it with kubectl get … -o json"):
        fairlp_clusters.snapshot(tmp_path)


def test_a_dump_cut_off_anywhere_is_refused(tmp_path):
    content = (written(tmp_path, node("n1"), pod("a", on="n1")) / "dump.json").read_bytes()
    for size in range(0, len(content) - 1, 7):
        (tmp_path / "dump.json").write_bytes(content[:size])
        with pytest.raises(FileFormatError):
            fairlp_clusters.snapshot(tmp_path)


def test_a_packed_dump_is_read_and_a_damaged_one_refused(tmp_path):
    content = (written(tmp_path, node("n1"), pod("a", on="n1")) / "dump.json").read_bytes()
    packed = tmp_path / "dump.json.gz"
    packed.write_bytes(gzip.compress(content))
    assert fairlp_clusters.snapshot(packed).observed.totals.to_dict() == {"ml/web": 1}
    packed.write_bytes(gzip.compress(content)[:-9])
    with pytest.raises(FileFormatError, match="is not a whole gzip file"):
        fairlp_clusters.snapshot(packed)


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    written(tmp_path, node("n1"), pod("a", on="n1"))
    monkeypatch.setattr("fairlp.models.files.whole_files.MOST_BYTES", 100)
    with pytest.raises(FileFormatError, match="which is the most that is read"):
        fairlp_clusters.snapshot(tmp_path)


def leaves(value):
    """All places in a document that hold neither mapping nor list."""
    for path in places(value):
        inner = value
        for key in path:
            inner = inner[key]
        if not isinstance(inner, dict | list):
            yield path


NUMBERS = ["1e400", "9" * 400, "9" * 5000, "-1e400", "1.7e308"]


@pytest.mark.slow
@pytest.mark.parametrize("dump", [kubernetes, slurm, yarn], ids=lambda dump: dump.__name__)
def test_a_number_that_is_no_float_anywhere_is_noted_or_refused(tmp_path, dump):
    places = list(leaves(dump()))
    # by day one number at some of the places, in turn
    for path, number in by_day(itertools.product(places, NUMBERS), 2 * len(NUMBERS) + 1):
        documents = copy.deepcopy(dump())
        inner = documents
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = "HERE"
        for name, document in documents.items():
            text = json.dumps(document).replace('"HERE"', number)
            (tmp_path / name).write_text(text, encoding="utf-8")
        try:
            snapshot = fairlp_clusters.snapshot(tmp_path, dump.__name__)
        except (FileFormatError, InstanceError):
            continue
        assert (
            np.isfinite(snapshot.instance.capacities).all()
            and np.isfinite(snapshot.instance.demands).all()
        )


@pytest.mark.parametrize("dump", [kubernetes, slurm, yarn], ids=lambda dump: dump.__name__)
def test_the_dumps_are_told_apart_by_what_is_in_them(tmp_path, dump):
    for name, document in dump().items():
        (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    assert fairlp_clusters.snapshot(tmp_path).scheduler == dump.__name__


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("    JOBID PARTITION NAME\n    7 cpu wrap\n", "squeue --json"),
        ("JOBID|PARTITION\n7|cpu\n", "squeue --json"),
        ("ACCOUNT|TRES_PER_NODE|MIN_CPUS\nlab|N/A|1\n", "squeue --json"),
        ("PARTITION AVAIL TIMELIMIT\ncpu up 1:00\n", "scontrol show nodes --json"),
        ("NODELIST NODES PARTITION\nn1 1 cpu\n", "scontrol show nodes --json"),
        ("<?xml version='1.0'?><apps><app/></apps>", "curl -H 'Accept: application/json' …"),
        ("NAME   READY   STATUS\nweb-1  1/1  Running\n", "kubectl get … -o json"),
    ],
)
def test_a_table_for_people_is_refused_with_what_to_print(tmp_path, text, command):
    (tmp_path / "dump.txt").write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=f"print it with {command}"):
        fairlp_clusters.snapshot(tmp_path / "dump.txt")


NOT_READ = [
    ("HTCondor", '[{"Args": "%s", "ClusterId": 1}]' % (5000 * "x")),
    ("HTCondor", '{"ClusterId": 1}\n{"ClusterId": 2}\n'),
    ("HTCondor", '[{"Activity": "Idle", "Machine": "m", "MyType": "Machine"}]'),
    ("HTCondor", "\n\n-- Schedd: host : <128.104.101.92:9618?... @ 11/28/26\nOWNER BATCH_NAME\n"),
    ("HTCondor", "<?xml version='1.0'?>\n<!DOCTYPE classads SYSTEM 'classads.dtd'>\n<classads/>"),
    ("Nomad", '[{"ID": "1", "SchedulingEligibility": "eligible"}]'),
    ("Nomad", '{"Job": {"ID": "web", "TaskGroups": []}}'),
    ("Nomad", "ID        Node Pool  DC   Name  Class\n"),
    ("Nomad", 'job "web" {\n}\n'),
    ("Ray", "======== Autoscaler status: 2026-11-28 10:00:00.123 ========\nNode status\n"),
    ("Ray", '[{"node_id": "a", "node_ip": "1", "is_head_node": true}]'),
    ("Ray", "---\n-   node_id: abc\n    node_ip: 1\n"),
    ("PBS", '{"timestamp": 1, "pbs_version": "2022.1", "nodes": {"n1": {}}}'),
    ("LSF", '{"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [{"JOBID": "1"}]}'),
    ("Mesos", '{"version": "1.9", "activated_slaves": 2, "frameworks": []}'),
    ("YuniKorn", '{"queuename": "root", "properties": {}, "children": []}'),
    ("YuniKorn", '[{"partitionname": "default", "nodes": null, "queues": {}}]'),
    ("YuniKorn", '[{"applicationID": "application-1", "queueName": "root.a", "allocations": []}]'),
    ("YuniKorn", '{"timestamp": 1, "partitions": [{"name": "default", "nodeSortingPolicy": {}}]}'),
]


@pytest.mark.parametrize(("name", "text"), NOT_READ)
def test_a_scheduler_that_is_not_read_is_named(tmp_path, name, text):
    path = tmp_path / "dump.txt"
    path.write_text(text, encoding="utf-8")
    message = f"is of {name}, no scheduler that fairlp reads; expected a dump of one of kubernetes"
    for source in (path, tmp_path):
        for read in (fairlp_clusters.snapshot, fairlp.read):
            with pytest.raises(FileFormatError, match=message):
                read(source)
        with pytest.raises(FileFormatError, match=message):
            fairlp_clusters.report(source, tmp_path / "page.html")
    written(tmp_path, node("n1"), pod("a", on="n1"))
    assert said(fairlp_clusters.snapshot(tmp_path), f"it is of {name}") == [
        ("the file", "left out")
    ]


def test_words_of_people_are_no_keys_of_another_scheduler(tmp_path):
    jobs = {"note": '"ClusterId": 1', "jobs": [], "meta": {}}
    (tmp_path / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    assert scheduler_of_beginning(tmp_path / "jobs.json") == "slurm"


@pytest.mark.parametrize(
    "text, scheduler",
    [
        ('{"apiVersion": "v1", "items": [', "kubernetes"),
        ('\ufeff  {\n "jobs" : [ {"job_id": 1', "slurm"),
        ('{"apps": {"app": [', "yarn"),
    ],
)
def test_the_first_key_of_a_file_shows_its_scheduler(tmp_path, text, scheduler):
    path = tmp_path / "large.json"
    path.write_text(text + " " * 10_000, encoding="utf-8")
    assert scheduler_of_beginning(path) == scheduler
