"""Tables for people: a pipe has one whole line a row, a terminal folds words and breaks no number."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import subprocess
import sys
from io import StringIO

import numpy as np
import pandas as pd
import pytest

import fairlp
from cli_runner import IN_A_ROW, INSTANCE, assert_same_numbers, from_csv, python, run
from fairlp import examples
from fairlp.cli import output
from fairlp.cli.output import console, json_text, print_frame
from profiles import by_day

pytestmark = pytest.mark.usefixtures("jobs")

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


def in_terminal(frame, width, width_shown=None, hint=""):
    """The lines of a table in a terminal so wide."""
    target = StringIO()
    terminal = console(file=target, width=width, force_terminal=True, no_color=True)
    print_frame(terminal, "A table", frame, width_shown, hint)
    text = re.sub(r"\x1b\[[0-9;]*m", "", target.getvalue())
    return [line.rstrip() for line in text.splitlines()]


def test_a_table_has_a_title_a_rule_its_first_rows_and_how_to_get_the_others():
    frame = pd.DataFrame({"a_share": [1 / 3, 2.0, 3.0]}, index=["ann", "bob", "cid"])
    title, header, rule, *rows = in_terminal(
        frame.rename_axis("user"), 44, width_shown=2, hint="--all"
    )
    # versions of Rich leave different room between columns
    assert (title, header.split()) == ("A table", ["user", "a", "share"])
    assert set(rule) == {"─"} and len(rule) == len(header)
    assert [row.split() for row in rows[:2]] == [["ann", "0.333333"], ["bob", "2"]]
    assert rows[2:] == ["… and 1 more (--all)", ""]


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


def test_machine_output_stays_pure_beside_a_warning(oversized):
    result = run("allocate", oversized, "--json")
    assert "fits no single" in json.loads(result.stdout)["notes"][-1]
    assert result.stderr.startswith("warning: ")


@pytest.mark.parametrize(
    ("file", "options"), [("a.json", ()), ("a.csv", ()), ("a.dat", ("--json",)), ("a.txt", ())]
)
def test_output_goes_to_a_file(current_folder, file, options):
    result = run("allocate ghodsi -m drf -o", file, *options)
    assert result.stdout == ""
    assert result.stderr == f"wrote {file}\n"
    text = (current_folder / file).read_text(encoding="utf-8")
    if file in ("a.json", "a.dat"):
        assert json.loads(text)["mechanism"] == "drf"
    elif file == "a.csv":
        assert_same_numbers(
            from_csv(text), fairlp.allocate(examples.load("ghodsi"), "drf").summary()
        )
    else:
        assert text.startswith("drf: Dominant Resource Fairness\n")
        assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.slow
def test_json_survives_a_narrow_encoding(current_folder):
    fairlp.Instance.from_arrays([[1.0]], [[9.0]], users=["é∑"], resources=["cpu"]).write("odd.json")
    commands = ("allocate odd.json -m drf --json", "export odd.json -m drf")
    result = python("-c", IN_A_ROW, *commands, PYTHONIOENCODING="ascii")
    document, _ = json.JSONDecoder().raw_decode(result.stdout)
    assert document["users"][0]["user"] == "é∑" and result.returncode == 0


def test_json_is_valid_where_there_is_no_number():
    numbers = {
        "a": [float("nan"), float("inf"), None, True, 1.5],
        "b": [np.int64(3), np.float64("nan")],
    }
    assert json.loads(json_text(numbers)) == {"a": [None, None, None, True, 1.5], "b": [3, None]}


def test_a_terminal_gets_what_fits_its_width(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stdout", screen := Terminal())
    output.print_text(["word " * 30])
    assert (
        max(map(len, screen.getvalue().splitlines())) <= 40
        and len(screen.getvalue().splitlines()) > 3
    )


HOSTILE = "\x1b[31mred\x9b2J\u2028line\u202eback\u200fright\u061cleft\u200e\x00"


def test_names_move_no_cursor_and_start_no_line(current_folder):
    document = json.loads(json.dumps(INSTANCE))
    document["users"][0]["user"] = HOSTILE
    (current_folder / "i.json").write_text(json.dumps(document), encoding="utf-8")
    for command in (
        "allocate i.json",
        "audit i.json -m drfh",
        "export i.json",
        "allocate i.json --json",
    ):
        printed = run(command).output
        assert not re.search(
            "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\u061c\u200e\u200f]", printed
        ), command
    assert json.loads(run("allocate i.json --json").stdout)
    document["users"][1]["user"] = HOSTILE
    (current_folder / "i.json").write_text(json.dumps(document), encoding="utf-8")
    assert "\x1b[31mred" not in run("allocate i.json", code=3).output


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize("command", by_day(["allocate i.json --csv", "allocate i.json"], 2))
def test_names_do_not_reach_a_terminal_as_commands(command, current_folder):
    document = json.loads(json.dumps(INSTANCE))
    document["users"][0]["user"] = HOSTILE
    (current_folder / "i.json").write_text(json.dumps(document), encoding="utf-8")
    main, other = os.openpty()
    wide = {**os.environ, "COLUMNS": "200"}
    code = "from fairlp.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *command.split()],
        stdout=other,
        stderr=other,
        stdin=other,
        env=wide,
    )
    os.close(other)
    printed = b""
    with contextlib.suppress(OSError):  # the end of a pseudo-terminal
        while chunk := os.read(main, 65536):
            printed += chunk
    os.close(main)
    assert process.wait() == 0 and b"[31mred" in printed
    assert not set("\x1b\x00\x9b\u2028\u202e\u061c\u200e\u200f") & set(printed.decode())


@pytest.mark.slow
@pytest.mark.parametrize("suffix", by_day(["png", "pdf", "svg"], 3))
def test_a_figure_that_cannot_be_written_leaves_the_old_one(suffix, current_folder, monkeypatch):
    pytest.importorskip("matplotlib")
    plot = current_folder / f"x.{suffix}"
    run("allocate ghodsi --plot", plot)
    old = plot.read_bytes()
    assert old

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left on device" in run("compare ghodsi --plot", plot, code=3).output
    assert plot.read_bytes() == old and [path.name for path in current_folder.glob(".*")] == []
