"""Instances and jobs for commands, and their output read back."""

from __future__ import annotations

import json
from io import StringIO

import pandas as pd

from fairlp import Instance
from fairlp.cli import output

INSTANCE = {
    "fairlp": 2,
    "resources": [{"name": "cpu"}, {"name": "memory"}],
    "users": [
        {"user": "ann", "demand": {"cpu": 1, "memory": 2}},
        {"user": "bob", "demand": {"cpu": 2, "memory": 1}},
    ],
    "servers": [{"server": "s", "capacity": {"cpu": 8, "memory": 9}}],
}


def changed(path, value):
    """The instance as JSON with one part of it another."""
    document = json.loads(json.dumps(INSTANCE))
    *parts, last = path.split(".")
    place = document
    for key in parts:
        place = place[int(key)] if key.isdigit() else place[key]
    place[int(last) if last.isdigit() else last] = value
    return json.dumps(document)


JOBS = "user,arrival,tasks,duration,cpu\nann,0,1,1,1\nbob,1,2,3,1\n"


def raising(error):
    def fails(*_, **__):
        raise error

    return fails


def printed(text):
    return output.plain_text(text)


def satisfied():
    return Instance.from_arrays([[1.0], [1.0]], [[8.0]], task_limits=[2.0, 2.0])


def from_csv(text):
    """Read a table with Python's own float, which reads what repr writes exactly."""
    frame = pd.read_csv(StringIO(text), index_col=0, dtype=str, keep_default_na=False)
    return frame.map(number)


def number(cell):
    try:
        return float(cell or "nan")
    except ValueError:
        return cell


def assert_same_numbers(table, expected):
    assert [str(label) for label in table.index] == [str(label) for label in expected.index]
    assert list(table.columns) == list(expected.columns)
    for column in expected:
        for value, other in zip(table[column].tolist(), expected[column].tolist(), strict=True):
            assert value == other or (pd.isna(value) and pd.isna(other))
