"""The command simulate."""

from __future__ import annotations

import json

import pytest

from cli_runner import INSTANCE, changed, error_line, run
from fairlp.cli import ExitCode

pytestmark = pytest.mark.usefixtures("jobs")


def test_no_server_has_a_slot(current_folder):
    (current_folder / "x.json").write_text(
        json.dumps(INSTANCE | {"servers": [
            {"server": "wide", "capacity": {"cpu": 10, "memory": 0.5}},
            {"server": "high", "capacity": {"cpu": 0.5, "memory": 10}},
        ]}), encoding="utf-8",
    )  # fmt: skip
    line = error_line(run("simulate x.json jobs.csv -p slots --slots 3", code=ExitCode.INPUT))
    assert "no server has a slot" in line and "3 slots" in line and "'wide'" in line
    run("simulate x.json jobs.csv -p slots --slots 30")
    (note,) = [n for n in json.loads(run(f"{SLOTS} slots=3").stdout)["notes"] if "slot" in n]
    assert note.startswith(
        "no server has a slot (server 'wide' among them), so that nothing runs: a slot is 1/3 of"
    )
    assert not [n for n in json.loads(run(f"{SLOTS} slots=30").stdout)["notes"] if "slot" in n]
    (current_folder / "x.json").write_text(changed("servers", [
        {"server": "small", "capacity": {"cpu": 1, "memory": 9}},
        {"server": "large", "capacity": {"cpu": 9, "memory": 9}},
    ]), encoding="utf-8")  # fmt: skip
    (note,) = [n for n in json.loads(run(f"{SLOTS} slots=3").stdout)["notes"] if "slot" in n]
    assert note.startswith("server 'small' has no slot, so that nothing runs there")


SLOTS = "allocate x.json -m slots --json --option"
