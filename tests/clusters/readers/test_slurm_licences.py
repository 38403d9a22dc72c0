"""Slurm's licences: jobs for which too few are free are held, in words that say how many."""

from __future__ import annotations

import json

import pytest

from fairlp_clusters.readers.slurm_licences import Licences, licences_needed
from slurm_dumps import job, node, read_cluster

LISTED = json.dumps(
    {
        "licenses": [
            {"LicenseName": "matlab", "Total": 10, "Used": 7, "Free": 3, "Remote": False},
            {"LicenseName": "ansys", "Total": 4, "Used": 4, "Free": 0, "Remote": False},
        ]
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("matlab", {"matlab": 1}),
        ("matlab:2,ansys@server:3", {"matlab": 2, "ansys@server": 3}),
        ("rtl@r,", {"rtl@r": 1}),
        ("a*2,a", {"a": 3}),
    ],
)
def test_licences_of_a_job(text, expected):
    assert licences_needed(text) == expected


def test_jobs_for_which_too_few_licences_are_free_are_held(tmp_path):
    """3 of matlab are free: ann's job of 2 may start, bob's of 2 not after it, eve's of 4 never."""
    jobs = [
        job(1, "ann", nodes="", licenses="matlab:2", priority=9),
        job(2, "bob", nodes="", licenses="matlab:2", priority=8),
        job(3, "eve", nodes="", licenses="matlab:4", priority=10),
        job(4, "fay", nodes="", licenses="ansys:1", state_reason="Licenses"),
        job(5, "gil", nodes="", tres="cpu=1,mem=1G,node=1,license/ansys=2"),
    ]
    cluster = read_cluster(tmp_path, [node("n1")], jobs, **{"lic.json": LISTED})
    held = {leaf.owner.partition("/")[2]: group.held for leaf, group in cluster.groups.items()}
    assert held == {
        "ann": {},
        "bob": {"licence matlab: needs 2, 3 of 10 free, of which jobs before it take 2": 1},
        "eve": {"licence matlab: needs 4, 3 of 10 free": 1},
        "fay": {"licence ansys: needs 1, 0 of 4 free": 1},
        "gil": {"licence ansys: needs 2, 0 of 4 free": 1},
    }
    assert cluster.limits_reached == {"licence ansys": "licence ansys is used up (4 of 4)"}


def test_as_many_tasks_of_an_array_wait_as_there_are_licences_for(tmp_path):
    jobs = [job(1, nodes="", licenses="matlab", array_task_string="1-5")]
    cluster = read_cluster(tmp_path, [node("n1")], jobs, **{"lic.json": LISTED})
    (group,) = cluster.groups.values()
    assert group.waiting == 3
    assert group.held == {"licence matlab: needs 1, 3 of 10 free": 2}


def test_the_last_licence_goes_to_the_first_job():
    licences = Licences()
    licences.read({"LicenseName": "a", "Total": 2, "Free": 1}, "")
    assert licences.copies({"a": 1}, 3) == 1 and licences.take({"a": 1}, 1)
    assert licences.copies({"a": 1}, 1) == 0
    reason = "licence a: needs 1, 1 of 2 free, of which jobs before it take 1"
    assert licences.take({"a": 1}, 0) == reason
    assert licences.take({"b": 9}, 0) == ""
    assert licences.take({"a": 2}, 0) == "licence a: needs 2, 1 of 2 free"
