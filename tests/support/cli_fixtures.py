"""Files for commands, in the folder of the test: fixtures of the tests of commands in all rooms."""

from __future__ import annotations

import json

import pytest

import fairlp
from cli_cases import JOBS


@pytest.fixture
def folder_with_newcomers(tmp_path):
    instance = fairlp.examples.load("two-servers")
    instance.write("two.yaml")
    instance.write("two.json")
    nodes = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4"}}}
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "nodes.json").write_text(
        json.dumps({"kind": "List", "items": [nodes]}), encoding="utf-8"
    )
    fairlp.formulate(instance, "drfh").write("two.mps")
    (tmp_path / "runs.csv").write_text(
        "user,server1,server2\nuser1,1,0\nuser2,0,1\n", encoding="utf-8"
    )
    (tmp_path / "jobs.csv").write_text(
        "user,arrival,tasks,duration,cpu\nann,0,1,1,1\n", encoding="utf-8"
    )
    return tmp_path


@pytest.fixture
def oversized(current_folder):
    fairlp.Instance.from_arrays([[4, 1], [1, 1]], [[2, 8], [2, 8]], users=["big", "small"]).write(
        "big.yaml"
    )
    return "big.yaml"


@pytest.fixture
def jobs(current_folder):
    (current_folder / "jobs.csv").write_text(JOBS, encoding="utf-8")
