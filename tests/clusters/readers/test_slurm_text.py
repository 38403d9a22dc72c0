"""The small languages of Slurm: amounts, lists of hosts, lists of array tasks, numbers."""

from __future__ import annotations

import pytest

from fairlp_clusters.readers import slurm_text
from fairlp_clusters.readers.cluster import EntryError
from fairlp_clusters.readers.slurm_text import (
    array_tasks,
    array_throttle,
    gres,
    hosts,
    number,
    tres,
)


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
    for text in ("n[1-99999999]", "n[0-999][0-9999]", "n[1-2:2]", "n[a]", "n1]"):
        with pytest.raises(EntryError):
            hosts(text)


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("1,3-5,10-20:5%4", 7), ("0-9:3", 4), ("0-8:3", 3), ("5-5", 1), ("0-4:0", 5),
        ("0-2,...", 3), ("", 1),
    ],
)  # fmt: skip
def test_ranges_of_array_tasks(text, tasks):
    assert array_tasks(text) == tasks


@pytest.mark.parametrize("text", ["5-3", "1-2,7-3", "5-3:2"])
def test_a_range_that_runs_down_is_refused(text):
    with pytest.raises(EntryError, match=r"is no list of array tasks: '[57]-3(:2)?' runs down"):
        array_tasks(text)
    with pytest.raises(EntryError, match="is no list of hosts: '03-01' runs down"):
        hosts("n[03-01]")


def test_lists_of_hosts_and_tasks_are_bounded(monkeypatch):
    monkeypatch.setattr(slurm_text, "MOST", 10)
    for right in ("n[0-9]", "n[0-4],m[0-4]", "r[1-2]n[1-5]"):
        assert len(hosts(right)) == array_tasks("1-5,11-15") == 10
    for text in ("n[0-10]", "n[0-4],m[0-5]", "r[1-2]n[1-6]"):
        with pytest.raises(EntryError, match="more than 10 hosts"):
            hosts(text)
    with pytest.raises(EntryError, match="more than 10 tasks"):
        array_tasks("1-5,11-16")


def test_devices_of_no_kind_are_none():
    assert gres("(null)") == {} and gres("gpu:2,gres/:3,:4") == gres("gpu:2,gres/:3")
    assert gres(":4") == {}
    assert gres("7,gpu") == {"7": 1, "gpu": 1}
    assert gres("gres") == gres("gres,") == {}


def test_an_array_of_too_many_tasks_is_refused():
    with pytest.raises(EntryError, match=r"has more than \d+ tasks"):
        array_tasks("0-999999999")


def test_numbers_in_brackets_are_bounded_all_together():
    """Each bracket may stand for a million numbers, which took 60 MB, and a text has many."""
    with pytest.raises(EntryError, match="has more than 1000000 hosts"):
        hosts("n" + "[1-1000000]" * 10_000)


@pytest.mark.parametrize(
    "throttle, most", [("2", 2), ("0", None), ("٢", None), ("9" * 5000, None), ("1_0", None)]
)
def test_a_throttle_is_a_whole_number_of_plain_digits(throttle, most):
    assert array_throttle({"array_task_string": f"1-9%{throttle}"}) == most
