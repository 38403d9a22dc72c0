"""What a command line is given by accident or by others: one clear line, not too long, soon, and the exit code."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shlex
import subprocess
import sys
import time
from itertools import product

import pytest

from cli_runner import error_line, fairlp_in_a_shell, run
from fairlp.cli import ExitCode
from fairlp.cli.app import MOST_LETTERS, bounded
from profiles import by_day

INSTANCE = {
    "fairlp": 1,
    "resources": [{"name": "cpu"}, {"name": "memory"}],
    "users": [
        {"user": "ann", "demand": {"cpu": 1, "memory": 2}},
        {"user": "bob", "demand": {"cpu": 2, "memory": 1}},
    ],
    "servers": [{"server": "s", "capacity": {"cpu": 8, "memory": 9}}],
}
JOBS = "user,arrival,tasks,duration,cpu\nann,0,1,1,1\nbob,1,2,3,1\n"


def changed(path, value):
    """The instance as JSON with one part of it another."""
    document = json.loads(json.dumps(INSTANCE))
    *parts, last = path.split(".")
    place = document
    for part in parts:
        place = place[int(part)] if part.isdigit() else place[part]
    place[int(last) if last.isdigit() else last] = value
    return json.dumps(document)


@pytest.fixture(autouse=True)
def jobs(here):
    (here / "jobs.csv").write_text(JOBS, encoding="utf-8")


FILES = {
    "nothing": b"",
    "not UTF-8": b'{"fairlp": "\xff"}',
    "a number": b"3",
    "a mapping": b"{}",
    "deep": b"[" * 100_000,
    "another version": changed("fairlp", 10**30).encode(),
    "a long key": json.dumps({"k" * 100_000: 1}).encode(),
    "a long name of a resource": changed("users.0.demand", {"c" * 100_000: 1}).encode(),
    "a count": changed("servers.0.count", 1e30).encode(),
    "many digits": changed("users.0.demand.cpu", 10**400).encode(),
    "too large": changed("users.0.demand", {"cpu": 1e308}).replace("1e+308", "1e999").encode(),
    "a condition of quotes": changed("users.0.eligible", "'" + "\\'" * 49_000).encode(),
    "a condition of backticks": changed("users.0.eligible", "`" * 99_999).encode(),
    "a condition of brackets": changed("users.0.eligible", "(" * 90_000).encode(),
    "a condition of not": changed("users.0.eligible", "not " * 20_000 + "True").encode(),
    "a long name in a condition": changed("users.0.eligible", "a" * 99_000 + " == 1").encode(),
    "a very long condition": changed(
        "users.0.eligible", "cpu == 1 or " * 10_000 + "cpu == 1"
    ).encode(),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_an_instance(name, here):
    (here / "x.json").write_bytes(FILES[name])
    begin = time.perf_counter()
    line = error_line(run("allocate x.json", code=ExitCode.INPUT))
    assert time.perf_counter() - begin < 10 and len(line) < MOST_LETTERS + 200


def test_a_list_of_many_values_in_a_condition_is_quick(here):
    condition = f"cpu in [{', '.join(map(str, range(15_000)))}]"
    (here / "x.json").write_text(changed("users.0.eligible", condition), encoding="utf-8")
    begin = time.perf_counter()
    run("allocate x.json")
    assert time.perf_counter() - begin < 10


@pytest.mark.parametrize("mechanism", ["drfh-best-fit", "drfh-first-fit", "slots"])
def test_too_many_servers_for_whole_tasks(mechanism, here):
    (here / "x.json").write_text(changed("servers.0.count", 10**15), encoding="utf-8")
    line = error_line(run("allocate x.json -m", mechanism, code=ExitCode.INPUT))
    assert "1,000,000,000,000,000 servers" in line and "10,000,000" in line
    run("allocate x.json -m drfh")
    assert "10,000,000" in error_line(run("simulate x.json jobs.csv", code=ExitCode.INPUT))


@pytest.mark.parametrize("mechanism", ["drf-discrete", "slots", "drfh-best-fit"])
@pytest.mark.parametrize(
    ("path", "value"), [("users.0.demand.cpu", 1e-300), ("servers.0.capacity.cpu", 1e308)]
)
def test_numbers_too_far_apart_for_whole_tasks(mechanism, path, value, here):
    (here / "x.json").write_text(changed(path, value), encoding="utf-8")
    said = run("allocate x.json -m", mechanism, code=ExitCode.INPUT).stderr
    assert "lie too far apart to be counted exactly" in said and "Traceback" not in said


COMMANDS = [
    "allocate PIPE.json",
    "allocate PIPE.yaml",
    "allocate ghodsi -m drf --csv -o PIPE.json/x.csv",
    "audit ghodsi --allocation PIPE.csv",
    "solve PIPE.mps",
    "solve PIPE.lp.gz",
    "simulate ghodsi PIPE.csv",
    "study PIPE.yaml",
    "study PIPE.parquet",
]


def test_a_pipe_is_refused(here):
    for name in {
        word for word in " ".join(COMMANDS).split() if word.startswith("PIPE") and "/" not in word
    }:
        os.mkfifo(here / name)
    for command in COMMANDS:
        assert re.search("pipe|no folder", error_line(run(command, code=ExitCode.INPUT))), command


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("allocate X", ExitCode.INPUT),
        ("allocate ghodsi -m X", ExitCode.INPUT),
        ("allocate ghodsi --method X", ExitCode.INPUT),
        ("allocate ghodsi --solver X", ExitCode.INPUT),
        ("simulate ghodsi jobs.csv -p X", ExitCode.INPUT),
        ("solve X.mps", ExitCode.INPUT),
        ("study X.yaml", ExitCode.INPUT),
        ("X", 2),
        ("--X", 2),
        ("allocate ghodsi --X", 2),
        ("allocate ghodsi --option X", 2),
        ("allocate ghodsi --oversized X", 2),
        ("study --X", 2),
    ],
)
def test_every_message_is_cut_and_says_so(command, code, here):
    said = run(command.replace("X", "x" * 100_000), code=code).stderr
    assert (
        "characters are left out" in " ".join(re.sub("[│\n]", " ", said).split())
        or "too long" in said.lower()
    )
    assert len(said) < 4 * MOST_LETTERS


def test_a_message_is_cut_in_its_middle():
    assert bounded("a" * MOST_LETTERS) == "a" * MOST_LETTERS
    cut = bounded("begin " + "a" * 100_000 + " end")
    assert (
        cut.startswith("begin a")
        and cut.endswith("a end")
        and "(cut: 98,010 characters are left out)" in cut
    )


def test_the_tilde_is_the_home(here, monkeypatch):
    (home := here / "home").mkdir()
    monkeypatch.setenv("HOME", str(home))
    run("example ghodsi -o '~/i.yaml'")
    run("allocate '~/i.yaml' -m drf --json '--output=~/a.json'")
    run("export '~/i.yaml' -m drf -o '~/m.mps'")
    run("solve '~/m.mps' -o '~/s.txt'")
    run("simulate '~/i.yaml' synthetic --draw jobs=5 --save-jobs '~/j.csv' --tables '~/t'")
    run("simulate '~/i.yaml' '~/j.csv'")
    run("allocate '~/i.yaml' -m drf --table tasks --csv -o '~/tasks.csv'")
    run("example study -o '~/s.yaml'")
    run("study '~/s.yaml' --runs 1 --results '~/s.parquet' --backend sequential")
    run("study '~/s.parquet' --csv -o '~/s.csv'")
    assert not (here / "~").exists() and not list(here.glob("s.*"))
    assert {path.name for path in home.iterdir()} >= {
        "i.yaml",
        "a.json",
        "m.mps",
        "s.txt",
        "j.csv",
        "t",
        "s.csv",
    }


@pytest.mark.parametrize(
    "command",
    ["allocate P", "solve P.mps", "simulate ghodsi P", "study P.yaml"],
)
def test_the_home_of_nobody_is_no_traceback(command, here):
    assert "no-such-user-at-all" in error_line(
        run(command.replace("P", "~no-such-user-at-all/x"), code=ExitCode.INPUT)
    )


def test_a_bug_is_told_in_lines_of_bounded_length(here):
    code = (
        "import importlib; app = importlib.import_module('fairlp.cli.app')\n"
        "def broken(*given, **more): raise ValueError('v' * 100_000)\n"
        "app.app = broken\n"
        "app.main()"
    )
    from cli_runner import python

    told = python("-c", code)
    assert told.returncode == ExitCode.BUG and "this is a bug in fairlp" in told.stderr
    assert max(map(len, told.stderr.splitlines())) < MOST_LETTERS + 200


def test_a_table_of_a_process_is_read(here):
    """A stream that this process was given is no stranger's pipe."""
    import subprocess
    import sys

    from cli_runner import SOURCE

    words = "simulate wang-figure-1 /dev/stdin --csv --no-progress"
    code = f"import sys; sys.path.insert(0, {SOURCE!r}); from fairlp.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words.split()],
        input=JOBS, capture_output=True, encoding="utf-8", check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.startswith("policy,"), done.stderr


def test_no_server_has_a_slot(here):
    (here / "x.json").write_text(
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
    (here / "x.json").write_text(changed("servers", [
        {"server": "small", "capacity": {"cpu": 1, "memory": 9}},
        {"server": "large", "capacity": {"cpu": 9, "memory": 9}},
    ]), encoding="utf-8")  # fmt: skip
    (note,) = [n for n in json.loads(run(f"{SLOTS} slots=3").stdout)["notes"] if "slot" in n]
    assert note.startswith("server 'small' has no slot, so that nothing runs there")


SLOTS = "allocate x.json -m slots --json --option"


def test_the_exit_code_of_a_shell(here):
    (here / "x.json").write_bytes(b"\0" * 100)
    done = fairlp_in_a_shell("allocate x.json")
    assert done.returncode == ExitCode.INPUT and "Traceback" not in done.stderr


HOSTILE = "\x1b[31mred\x9b2J\u2028line\u202eback"


def test_names_move_no_cursor_and_start_no_line(here):
    document = json.loads(json.dumps(INSTANCE))
    document["users"][0]["user"] = HOSTILE
    (here / "i.json").write_text(json.dumps(document), encoding="utf-8")
    for command in (
        "allocate i.json",
        "audit i.json -m drfh",
        "export i.json",
        "allocate i.json --json",
    ):
        printed = run(command).output
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", printed), command
    assert json.loads(run("allocate i.json --json").stdout)
    document["users"][1]["user"] = HOSTILE
    (here / "i.json").write_text(json.dumps(document), encoding="utf-8")
    assert "\x1b[31mred" not in run("allocate i.json", code=3).output


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize("command", by_day(["allocate i.json --csv", "allocate i.json"], 2))
def test_names_do_not_reach_a_terminal_as_commands(command, here):
    document = json.loads(json.dumps(INSTANCE))
    document["users"][0]["user"] = HOSTILE
    (here / "i.json").write_text(json.dumps(document), encoding="utf-8")
    main, other = os.openpty()
    wide = {**os.environ, "COLUMNS": "200"}
    code = "from fairlp.cli import main; main()"
    ran = subprocess.Popen(
        [sys.executable, "-c", code, *command.split()],
        stdout=other,
        stderr=other,
        stdin=other,
        env=wide,
    )
    os.close(other)
    printed = b""
    with contextlib.suppress(OSError):  # the end of a pseudo-terminal
        while part := os.read(main, 65536):
            printed += part
    os.close(main)
    assert ran.wait() == 0 and b"[31mred" in printed
    assert b"\x1b[31mred" not in printed and "\x9b2J".encode() not in printed


CLOSED = [">&-", ">/dev/full"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device")
@pytest.mark.parametrize(
    ("command", "stream"),
    by_day(
        product(
            ["compare ghodsi", "--help", "--version", "solvers --json", "export ghodsi"], CLOSED
        ),
        5,
    ),
)
def test_an_answer_without_a_place_is_an_error(command, stream, here):
    code = (
        f"{shlex.quote(sys.executable)} -c 'from fairlp.cli import main; main()' {command} {stream}"
    )
    ended = subprocess.run(["sh", "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == ExitCode.INPUT and ended.stdout == ""
    said = "standard output is closed" if stream == ">&-" else "No space left on device"
    assert said in error_line(ended)


def test_a_file_is_not_opened_in_the_place_of_a_closed_stream(here):
    code = "from fairlp.cli import main; main()"
    command = (
        f"{shlex.quote(sys.executable)} -c '{code}' allocate ghodsi -o answer.json >&- 2>&- <&-"
    )
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 0
    assert json.loads((here / "answer.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("suffix", by_day(["png", "pdf", "svg"], 3))
def test_a_figure_that_cannot_be_written_leaves_the_old_one(suffix, here, monkeypatch):
    pytest.importorskip("matplotlib")
    plot = here / f"x.{suffix}"
    run("allocate ghodsi --plot", plot)
    old = plot.read_bytes()
    assert old

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left on device" in run("compare ghodsi --plot", plot, code=3).output
    assert plot.read_bytes() == old and [path.name for path in here.glob(".*")] == []
