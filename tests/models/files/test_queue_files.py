"""Queues on disk and in tables: whole round trips, and what is wrong in a file, with its place."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fairlp import Instance
from fairlp.models.files import instances as files
from fairlp.models.files.frames import from_frames, to_frames
from instance_strategies import SUFFIXES, written


def queued(**changes):
    """Three users in a small tree."""
    fields = {
        "demands": [[1, 2], [2, 1], [1, 1]],
        "capacities": [[30, 30]],
        "users": ["ann", "bob", "cy"],
        "resources": ["cpu", "memory"],
        "queue": ["org/a", "org/b", None],
        "queues": {"org": {"weight": 2, "guarantee": {"cpu": 3}, "cap": {"memory": 9}}, "idle": 4},
    }
    return Instance.from_arrays(**(fields | changes))


HOSTILE = [
    "a b/ c ",
    'q"q/x,y',
    "ß é/漢",
    "-/'",
    "no/null",
    "1e3/007",
    "=1+1",
    "#x",
    "a\nb/c\td",
    "{}/[0]",
    "~",
    "🦊",
]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_of_queues_are_text_whatever_they_look_like(tmp_path, suffix):
    instance = Instance.from_arrays(
        np.ones((len(HOSTILE), 1)), [[9]], queue=HOSTILE, queues=dict.fromkeys(HOSTILE, 2)
    )
    copy = files.read(written(tmp_path, suffix, instance))
    assert copy.queue == tuple(HOSTILE) and copy.equals(instance)
    assert set(HOSTILE) <= set(copy.queues.paths)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "tree",
    [
        {"queue": ["", "", ""], "queues": None},
        {"queue": None, "queues": {}},
        {"queue": None, "queues": {"": {"cap": {"cpu": 0}}}},
        {"queue": None, "queues": {"": 3}},
        {"queue": ["a", "a/b", ""], "queues": None},
        {
            "queue": ["a", "a", "a"],
            "queues": {"a": {"guarantee": {"cpu": 2}, "cap": {"cpu": 2}}, "b/c": 0.1},
        },
    ],
)
def test_any_tree_comes_back_also_one_that_says_nothing(tmp_path, suffix, tree):
    instance = queued(**tree)
    copy = files.read(written(tmp_path, suffix, instance))
    assert copy.queues is not None and copy.equals(instance) and copy.queue == instance.queue


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_tree_stays_no_tree(tmp_path, suffix):
    copy = files.read(written(tmp_path, suffix, queued(queue=None, queues=None)))
    assert copy.queues is None


def test_defaults_are_left_out_of_a_document(tmp_path):
    data = json.loads(written(tmp_path, ".json", queued()).read_text(encoding="utf-8"))
    assert data["fairlp"] == 2
    assert data["queues"] == [
        {"queue": "org", "weight": 2, "guarantee": {"cpu": 3}, "cap": {"memory": 9}},
        {"queue": "org/a"},
        {"queue": "org/b"},
        {"queue": "idle", "weight": 4},
    ]
    assert [user.get("queue") for user in data["users"]] == ["org/a", "org/b", None]


def test_three_frames_are_an_instance():
    instance = queued()
    users, servers, table = to_frames(instance)
    assert users["queue"].tolist() == ["org/a", "org/b", ""]
    assert table.equals(instance.queues.table(instance.resources))
    assert from_frames(users, servers, queues=table).equals(instance)
    assert from_frames(users, servers, queues=table.reset_index()).equals(instance)
    alone = from_frames(users, servers)  # two tables know where users stand, not what queues have
    assert alone.queue == instance.queue and not alone.queues.has_limits
    blank = users.assign(queue=[None, np.nan, pd.NA])
    assert from_frames(blank, servers, queues={"org": 2}).queue == ("", "", "")


def test_queue_is_reserved_and_an_attribute_of_that_name_has_its_prefix():
    instance = queued(user_attributes=pd.DataFrame({"queue": ["x", "y", "z"]}))
    users, servers, queues = to_frames(instance)
    assert users["attribute:queue"].tolist() == ["x", "y", "z"]
    copy = from_frames(users, servers, queues)
    assert copy.equals(instance) and list(copy.user_attributes) == ["queue"]
