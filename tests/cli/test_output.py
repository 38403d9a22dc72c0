"""Tables for people: a pipe has one whole line a row, a terminal folds words and breaks no number."""

from __future__ import annotations

import json
import re
from io import StringIO

import numpy as np
import pandas as pd
import pytest

import fairlp
from cli_runner import run
from fairlp.cli.output import console, print_frame

USERS = [f"organisation/department-{n % 7}/a-group-of-people-{n}/user-{n:03d}" for n in range(100)]
SERVERS = [f"rack-{k % 4}.a-long-data-centre-name.example.org/machine-{k:02d}" for k in range(40)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A file of 100 users and 40 servers with long names."""
    rng = np.random.default_rng(1)
    demands = rng.integers(1, 5, (100, 3))
    capacities = rng.integers(8, 40, (40, 3))
    names = {"users": USERS, "servers": SERVERS, "resources": ["cpu", "memory", "gpu"]}
    path = tmp_path_factory.mktemp("wide") / "wide.json"
    fairlp.Instance.from_arrays(demands, capacities, **names).write(path)
    return path


def in_terminal(frame, width, shown=None, hint=""):
    """The lines of a table in a terminal so wide."""
    target = StringIO()
    terminal = console(file=target, width=width, force_terminal=True, no_color=True)
    print_frame(terminal, "A table", frame, shown, hint)
    text = re.sub(r"\x1b\[[0-9;]*m", "", target.getvalue())
    return [line.rstrip() for line in text.splitlines()]


def test_a_table_has_a_title_a_rule_its_first_rows_and_how_to_get_the_others():
    frame = pd.DataFrame({"a_share": [1 / 3, 2.0, 3.0]}, index=["ann", "bob", "cid"])
    assert in_terminal(frame.rename_axis("user"), 44, shown=2, hint="--all") == [
        "A table",
        "user    a share",
        15 * "─",
        "ann    0.333333",
        "bob           2",
        "… and 1 more (--all)",
        "",
    ]


def test_a_pipe_has_every_number_of_a_row_in_one_line(wide):
    text = run("allocate", wide, "--table", "tasks").stdout
    header = next(line for line in text.splitlines() if line.startswith("user "))
    assert header.split()[1:] == SERVERS
    row = next(line for line in text.splitlines() if line.startswith(USERS[0]))
    tasks = fairlp.allocate(fairlp.read(wide), "drfh").tasks
    numbers = [float(number) for number in row.split()[1:]]
    np.testing.assert_allclose(numbers, tasks.iloc[0], rtol=1e-5, atol=1e-5)


def test_a_pipe_a_file_json_and_csv_have_whole_sentences(wide, tmp_path):
    audit = f"audit {wide} -m drfh -p 'leximin (asset)'"
    witness = json.loads(run(audit, "--json", code=1).stdout)[0]["witness"]
    assert len(witness) > 120
    assert witness in run(audit, code=1).stdout
    assert witness in run(audit, "--csv", code=1).stdout.replace('""', '"')
    run(audit, "-o", tmp_path / "whole.txt", code=1)
    assert witness in (tmp_path / "whole.txt").read_text(encoding="utf-8")


def test_the_width_of_the_environment_changes_no_pipe(wide, monkeypatch):
    audit = f"audit {wide} -m drfh -p 'leximin (asset)'"
    text = run(audit, code=1).stdout
    monkeypatch.setenv("COLUMNS", "40")
    assert run(audit, code=1).stdout == text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_terminal_folds_words_to_its_width(width):
    frame = pd.DataFrame(
        {"tasks": [12.5, 3], "why": ["some words " * 20, ""]}, index=["ann", "bob"]
    )
    lines = in_terminal(frame, width)
    assert max(map(len, lines)) <= width
    assert "12.5" in " ".join(lines).split() and " ".join(lines).split().count("words") == 20


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_terminal_breaks_no_number_however_narrow(width):
    numbers = np.random.default_rng(0).uniform(1, 1e6, (4, 12))
    frame = pd.DataFrame(numbers, columns=SERVERS[:12])
    lines = in_terminal(frame, width)
    printed = [[float(cell) for cell in line.split()[1:]] for line in lines[-5:-1]]
    np.testing.assert_allclose(printed, numbers, rtol=1e-5)


def test_the_bold_title_and_header_have_no_control_character_of_a_name():
    frame = pd.DataFrame({"a\x1b[31m": [1]}, index=["b\x07"])
    text = "\n".join(in_terminal(frame, 80))
    assert r"a\x1b[31m" in text and r"b\x07" in text
