"""How the tests of the command line call it; the files that commands read, and their output read back."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from functools import cache
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
import typer.testing

import fairlp
from fairlp import Instance
from fairlp.cli import app, output

#: Typer makes the commands of an app anew for each call, which takes longer than most calls: here
#: they are made once.
typer.testing._get_command = cache(typer.main.get_command)


#: Commands one after the other in a new process, each argument is one.
IN_A_ROW = """
import sys
from fairlp.cli import main
for line in sys.argv[1:]:
    sys.argv = ["fairlp", *line.split()]
    try:
        main()
    except SystemExit as left:
        assert not left.code
"""


SOURCE = str(Path(fairlp.__file__).parents[1])


def words(line="", *arguments):
    """The words of a command line: its beginning as it is typed, then arguments that stay as they are."""
    return [*shlex.split(line), *map(str, arguments)]


def run(*arguments, code=0):
    result = typer.testing.CliRunner().invoke(app, words(*arguments), prog_name="fairlp")
    assert result.exit_code == code, result.output
    return result


def python(*arguments, **environment):
    """Run in a new interpreter, as the shell does."""
    path = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )


def fairlp_in_a_shell(*arguments, **environment):
    return python("-c", "from fairlp.cli import main; main()", *words(*arguments), **environment)


def error_line(result):
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


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
