"""Which files are a dump of several, and when each was made."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

import kubernetes_dumps
import period_dumps
import slurm_dumps
import yarn_dumps
from fairlp.errors import FileFormatError, InstanceError
from fairlp_clusters.readers.dumps import (
    dumps_in,
    dumps_of,
    duration,
    time_in,
    time_told,
    times_of,
)

TEN = datetime(2026, 11, 28, 10)


@pytest.mark.parametrize(
    "name, time",
    [
        ("2026-11-28T10:00.json", TEN),
        ("2026-11-28T10:00:00", TEN),
        ("20261128-1000.json", TEN),
        ("20261128100000.json.gz", TEN),
        ("2026112810.json", TEN),
        ("202611281000-nodes.json", TEN),
        ("2026-11-28_10-00-00.json", TEN),
        ("2026.11.28-10.00.json", TEN),
        ("prod 2026-11-28 10h00.json", TEN),
        ("cluster-7_2026_11_28_10_00.json", TEN),
        ("2026-11-28T10:00:12.json", TEN + timedelta(seconds=12)),
        ("2026-11-28.json", datetime(2026, 11, 28)),
        ("dump-20261128.json", datetime(2026, 11, 28)),
        ("20261128T100000Z.json", TEN.replace(tzinfo=UTC)),
        ("2026-11-28T11:00:00+01:00.json", TEN.replace(tzinfo=UTC)),
        ("20261128-0500-0500.json", TEN.replace(tzinfo=UTC)),
        ("1795860000.json", TEN.replace(tzinfo=UTC)),
        ("dump-1795860000000.json", TEN.replace(tzinfo=UTC)),
        ("2026-02-30.json", None),
        ("2026-13-01.json", None),
        ("monday.json", None),
        ("dump-12.json", None),
        ("99920261128.json", None),
    ],
)
def test_a_time_is_read_from_a_name(name, time):
    assert time_in(name) == time


def slurm_nodes(*names, **keys):
    return {"meta": {}, "nodes": [slurm_dumps.node(name) for name in names], **keys}


def written(folder, **documents):
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def names_of(folder):
    return [dump.name for dump in dumps_in(folder)]


def test_each_file_with_the_nodes_of_another_is_a_dump(tmp_path):
    period_dumps.hourly(tmp_path, ({"a": 1}, {}), ({"a": 2}, {}))
    (tmp_path / "notes.txt").write_text("none of it is a dump", encoding="utf-8")
    (tmp_path / ".hidden.json").write_text("{}", encoding="utf-8")
    assert names_of(tmp_path) == ["2026-11-28T10-00.json", "2026-11-28T11-00.json"]
    assert [len(dump.files) for dump in dumps_in(tmp_path)] == [1, 1]


def test_an_hour_that_was_not_written_is_refused_and_not_passed_over(tmp_path):
    period_dumps.hourly(tmp_path, ({"a": 1}, {}), ({"a": 2}, {}), ({"a": 3}, {}))
    (tmp_path / "2026-11-28T11-00.json").write_bytes(b"")
    with pytest.raises(FileFormatError, match=r"11-00\.json is empty; was it written completely"):
        dumps_in(tmp_path)


def test_each_folder_in_a_folder_is_a_dump(tmp_path):
    for k in (10, 9):
        written(tmp_path / f"dump-{k}", nodes=slurm_nodes("n1"), jobs={"jobs": []})
    assert names_of(tmp_path) == ["dump-9", "dump-10"]
    assert [len(dump.files) for dump in dumps_in(tmp_path)] == [2, 2]


def test_files_with_one_time_in_their_names_are_a_dump(tmp_path):
    job = {"jobs": [slurm_dumps.job(1)]}
    documents = {
        f"{kind}-20261128-1{hour}00": document
        for hour in range(3)
        for kind, document in (("nodes", slurm_nodes("n1", "n2")), ("jobs", job))
    }
    written(tmp_path, **documents)
    assert names_of(tmp_path) == ["20261128-1000", "20261128-1100", "20261128-1200"]
    (first, *_) = dumps_in(tmp_path)
    assert [file.name for file in first.files] == [
        "jobs-20261128-1000.json",
        "nodes-20261128-1000.json",
    ]


@pytest.mark.parametrize(
    "documents",
    [
        {"nodes": slurm_nodes("n1"), "jobs": {"jobs": [slurm_dumps.job(1)]}},
        {"rack-a": slurm_nodes("n1"), "rack-b": slurm_nodes("n2"), "jobs": {"jobs": []}},
        {"nodes-20261128-1000": slurm_nodes("n1"), "jobs-20261128-1001": {"jobs": []}},
        {
            "nodes": {"nodes": {"node": [yarn_dumps.node("n1", (2048, 2))]}},
            "apps": {"apps": {"app": [yarn_dumps.app(1)]}},
        },
        {
            "nodes": {"apiVersion": "v1", "items": period_dumps.items({})},
            "pods": {"apiVersion": "v1", "items": period_dumps.items({"a": 3})[1:]},
        },
    ],
)
def test_the_files_of_one_dump_stay_one(tmp_path, documents):
    written(tmp_path, **documents)
    assert dumps_in(tmp_path) == []
    (dump,) = dumps_of([tmp_path])
    assert len(dump.files) == len(documents)


def test_a_folder_among_dumps_that_is_none_is_an_error(tmp_path):
    written(tmp_path / "a", nodes=slurm_nodes("n1"))
    written(tmp_path / "b")
    with pytest.raises(FileFormatError, match=r"b is no dump of a scheduler, and .*a is one"):
        dumps_in(tmp_path)


def test_the_tables_of_a_trace_are_not_opened(tmp_path):
    (tmp_path / "task_events").mkdir()
    (tmp_path / "task_events" / "part-0.csv.gz").write_bytes(b"no gzip: an error where it is read")
    (tmp_path / "task_events" / "part-1.csv").mkdir()
    assert dumps_in(tmp_path) == []


# Times.


def test_times_in_all_names_come_first(tmp_path):
    dumps = dumps_of([period_dumps.hourly(tmp_path, *[({"a": 1}, {})] * 3)])
    times = times_of(dumps)
    assert times.source == "names" and times.values.tz is None
    assert list(times.values) == [TEN + timedelta(hours=k) for k in range(3)]


def test_times_of_several_zones_are_told_in_utc(tmp_path):
    for name in ("2026-11-28T10:00Z", "2026-11-28T12:00+01:00"):
        period_dumps.write(tmp_path / f"{name}.json", period_dumps.items({"a": 1}))
    times = times_of(dumps_of([tmp_path]))
    assert list(times.values) == list(
        pd.to_datetime(["2026-11-28T10:00Z", "2026-11-28T11:00Z"], utc=True)
    )


def test_slurm_says_when_a_dump_was_made(tmp_path):
    for day, seconds in (("mon", 1795860000), ("tue", 1795946400)):
        written(
            tmp_path / day,
            nodes=slurm_nodes("n1", last_update=slurm_dumps.wrapped(seconds - 60)),
            jobs={"jobs": [], "last_update": slurm_dumps.wrapped(seconds)},
        )
    times = times_of(dumps_of([tmp_path]))
    assert times.source == "content"
    assert list(times.values) == list(
        pd.to_datetime(["2026-11-28T10:00Z", "2026-11-29T10:00Z"], utc=True)
    )


def test_else_a_dump_is_of_the_time_when_its_files_were_changed(tmp_path):
    for k, name in enumerate(("monday", "tuesday")):
        path = period_dumps.write(tmp_path / f"{name}.json", period_dumps.items({"a": 1}))
        os.utime(path, (1795860000 + 3600 * k, 1795860000 + 3600 * k))
    times = times_of(dumps_of([tmp_path]))
    assert times.source == "changes"
    assert times.values[1] - times.values[0] == timedelta(hours=1)
    assert times.values[0] == pd.Timestamp("2026-11-28T10:00Z")


def test_every_spaces_the_dumps_from_the_first(tmp_path):
    dumps = dumps_of([period_dumps.hourly(tmp_path, *[({"a": 1}, {})] * 3)])
    times = times_of(dumps, timedelta(minutes=90))
    assert times.source == "steps"
    assert list(times.values) == [TEN + timedelta(minutes=90 * k) for k in range(3)]


def test_equal_times_are_an_error_that_says_what_to_do(tmp_path):
    for k in (1, 2):
        period_dumps.write(tmp_path / f"2026-11-28-{k}.json", period_dumps.items({"a": 1}))
    dumps = dumps_of([tmp_path])
    with pytest.raises(FileFormatError, match=r"2026-11-28-1.*2026-11-28-2.*one time.*every='1h'"):
        times_of(dumps)
    assert len(times_of(dumps, timedelta(hours=1)).values) == 2


def test_a_time_in_some_names_only_is_an_error(tmp_path):
    for name in ("2026-11-28", "tuesday"):
        period_dumps.write(tmp_path / f"{name}.json", period_dumps.items({"a": 1}))
    with pytest.raises(FileFormatError, match=r"tuesday.json has no time in its name.*every="):
        times_of(dumps_of([tmp_path]))


@pytest.mark.parametrize(
    "value, hours",
    [
        ("1h", 1),
        ("30min", 0.5),
        ("15 m", 0.25),
        ("7d", 168),
        ("2 Weeks", 336),
        (2, 2),
        ("1.5", 1.5),
        (timedelta(minutes=6), 0.1),
    ],
)
def test_a_duration_is_a_text_or_a_number_of_hours(value, hours):
    assert duration(value, "every") == timedelta(hours=hours)


@pytest.mark.parametrize(
    "value", ["soon", "0h", 0, "-1h", "", "nan", float("inf"), "1e9", "3 moons", "9999999999w"]
)
def test_what_is_no_duration_above_zero_is_refused(value):
    with pytest.raises(InstanceError, match=r"every=.*is no duration above 0; expected"):
        duration(value, "every")


def test_nodes_that_are_printed_twice_are_one_dump(tmp_path):
    """nodes.json has the nodes once more, and only base.json has pods; or pods stand apart."""
    nodes = [kubernetes_dumps.node("n1")]
    pods = [kubernetes_dumps.pod("a", on="n1")]
    kubernetes_dumps.written(tmp_path / "one", *nodes, name="nodes.json")
    kubernetes_dumps.written(tmp_path / "one", *nodes, *pods, name="base.json")
    assert dumps_in(tmp_path / "one") == []
    kubernetes_dumps.written(tmp_path / "two", *nodes, name="nodes.json")
    kubernetes_dumps.written(tmp_path / "two", *nodes, name="more-nodes.json")
    kubernetes_dumps.written(tmp_path / "two", *pods, name="pods.json")
    assert dumps_in(tmp_path / "two") == []
    for day in ("monday", "tuesday"):
        kubernetes_dumps.written(tmp_path / "three", *nodes, *pods, name=f"{day}.json")
    assert [dump.name for dump in dumps_in(tmp_path / "three")] == ["monday.json", "tuesday.json"]


@pytest.mark.parametrize("text", ["٢h", "1_0h", "１", "9" * 400])
def test_a_duration_has_plain_digits_and_is_finite(text):
    with pytest.raises(InstanceError, match="is no duration above 0"):
        duration(text, "every")


def test_a_time_of_thousands_of_digits_is_no_time(tmp_path):
    nodes = slurm_dumps.node("n1")
    text = json.dumps({"meta": {}, "nodes": [nodes]})[:-1] + f', "last_update": {"9" * 5000}}}'
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    assert time_told(dumps_of([tmp_path])[0]) is None
