"""Studies that go on: what is finished is kept, whatever ends the process, and is not mixed with another study."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pandas as pd
import pyarrow.parquet as parquet
import pytest

import fairlp
from fairlp import study
from fairlp.errors import FileFormatError, StudyError
from fairlp.research.study import storage
from paths import ROOT, SUPPORT
from profiles import by_day
from study_functions import awkward, make

HERE = SUPPORT
#: a study that takes a second or two
LONG = {"runs": 30, "statistics": ["summary", awkward]}
_CHILD = f"""
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
import sys
sys.path.insert(0, {str(HERE)!r})
from study_functions import awkward, make
make(runs=30, statistics=["summary", awkward]).run(sys.argv[1], workers=int(sys.argv[2]))
"""


@pytest.fixture
def log(tmp_path, monkeypatch):
    """The file where the generator says that it was called."""
    path = tmp_path / "log"
    path.touch()
    monkeypatch.setenv("FAIRLP_TEST_LOG", str(path))
    return path


def calls(log):
    return len(log.read_bytes().splitlines())


def content(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "log")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of the file of the long study, run at once."""
    path = tmp_path_factory.mktemp("whole") / "r.parquet"
    make(**LONG).run(path, backend="sequential")
    return path.read_bytes()


def start(path, workers, seconds):
    environment = {
        **os.environ,
        "FAIRLP_TEST_SECONDS": str(seconds),
        "PYTHONPATH": str(ROOT / "src"),
    }
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(path), str(workers)],
        env=environment,
        start_new_session=True,
    )


def lines_of(journal):
    return journal.read_bytes().splitlines() if journal.exists() else []


def wait_for(journal, lines, process):
    until = time.monotonic() + 60
    while len(lines_of(journal)) < lines:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups")
@pytest.mark.parametrize("workers", by_day([2, 1], 2))
def test_a_study_that_is_killed_goes_on(tmp_path, log, whole, workers):
    path, journal = tmp_path / "r.parquet", tmp_path / "r.parquet.journal"
    process = start(path, workers, 0.05)
    try:
        wait_for(journal, 6, process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert content(tmp_path) == ["r.parquet.journal"]
    kept = journal.read_bytes().count(b"\n") - 1
    assert 5 <= kept < 60
    log.write_bytes(b"")
    result = make(**LONG).run(path, backend="sequential")
    assert calls(log) == 60 - kept
    assert path.read_bytes() == whole
    assert content(tmp_path) == ["r.parquet"]
    make(**LONG).run(path)
    assert calls(log) == 60 - kept
    assert result.path == path and result.version == fairlp.__version__


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups")
def test_an_interrupt_keeps_what_is_finished(tmp_path, whole):
    path, journal = tmp_path / "r.parquet", tmp_path / "r.parquet.journal"
    process = start(path, 1, 0.05)
    wait_for(journal, 6, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0
    assert len(lines_of(journal)) >= 6
    make(**LONG).run(path)
    assert path.read_bytes() == whole


def only_the_journal(given, path, monkeypatch):
    """Run a study whose file cannot be written; return its journal, in which all runs are."""
    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            given.run(path, backend="sequential")
    return path.with_name(f"{path.name}.journal")


@pytest.mark.parametrize("backend", ["sequential", "loky"])
def test_an_error_keeps_what_is_finished(tmp_path, log, backend):
    path = tmp_path / "r.parquet"
    failing = make(grid={"users": [3], "fail_at": [6.0]}, runs=40)
    for _ in range(2):
        with pytest.raises(StudyError, match="a large demand"):
            failing.run(path, backend=backend, workers=2)
        journal = lines_of(tmp_path / "r.parquet.journal")
    log.write_bytes(b"")
    result = failing.run(path, backend="sequential", on_error="record")
    assert calls(log) == 40 - (len(journal) - 1)
    assert result.frame.equals(failing.run(on_error="record", backend="sequential").frame)
    log.write_bytes(b"")
    failing.run(path, on_error="record")  # complete, with its errors
    assert calls(log) == 0
    with pytest.raises(StudyError):  # what failed is tried again
        failing.run(path, backend="sequential")
    assert calls(log) == 1


@pytest.mark.parametrize("cut", [1, 20])
def test_a_line_that_was_not_written_to_its_end_is_done_again(
    tmp_path, log, monkeypatch, whole, cut
):
    path = tmp_path / "r.parquet"
    journal = only_the_journal(make(**LONG), path, monkeypatch)
    lines = lines_of(journal)
    journal.write_bytes(b"\n".join(lines[:11])[: 1 - cut or None])
    log.write_bytes(b"")
    make(**LONG).run(path, backend="sequential")
    assert calls(log) == 60 - 9
    assert path.read_bytes() == whole


def test_a_first_line_that_was_not_written_to_its_end(tmp_path):
    path = tmp_path / "r.parquet"
    path.with_name("r.parquet.journal").write_text('{"definition": {"na', encoding="utf-8")
    assert len(make().run(path).frame) == 12
    assert content(tmp_path) == ["r.parquet"]


@pytest.mark.parametrize(
    ("number", "line", "message"),
    [
        (0, b"{}", "holds no study"),
        (0, b"\x00", "line 1 .* is damaged"),
        (1, b"{", "line 2 .* is damaged"),
        (1, b'{"key": "0", "run": 1, "values": {}}', "line 2 .* is damaged"),
        (1, b"[]", "line 2 .* is damaged"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, number, line, message):
    path = tmp_path / "r.parquet"
    journal = tmp_path / "r.parquet.journal"
    with storage.Journal(journal, make().definition()) as made:
        made.finished({})
    lines = [*lines_of(journal), b"{}"]
    lines[number] = line
    journal.write_bytes(b"\n".join([*lines, b""]))
    with pytest.raises(FileFormatError, match=message):
        make().run(path)
    assert journal.read_bytes() == b"\n".join([*lines, b""])


def test_more_runs_are_added_to_those_that_are_done(tmp_path, log):
    path = tmp_path / "r.parquet"
    first = make().run(path, backend="sequential").frame
    log.write_bytes(b"")
    more = make(runs=10).run(path).frame
    assert calls(log) == 8
    assert more[more["run"] < 6].reset_index(drop=True).equals(first)
    make(runs=10).run(tmp_path / "other.parquet", backend="sequential")
    assert path.read_bytes() == (tmp_path / "other.parquet").read_bytes()
    again = make(runs=10).run(path)
    assert again.frame.equals(more) and again.study == make(runs=10)
    fewer = make(runs=4).run(path)
    assert fewer.frame.equals(make(runs=4).run().frame) and len(study.Result.read(path).frame) == 20


def test_runs_in_the_journal_that_are_not_wanted_now_are_not_lost(tmp_path, log, monkeypatch):
    path = tmp_path / "r.parquet"
    only_the_journal(make(), path, monkeypatch)
    log.write_bytes(b"")
    assert len(make(runs=2).run(path).frame) == 4
    assert content(tmp_path) == ["r.parquet", "r.parquet.journal"]
    found = make().run(path).frame
    assert calls(log) == 0 and content(tmp_path) == ["r.parquet"]
    assert found.equals(make().run(backend="sequential").frame)


@pytest.mark.parametrize("kind", ["file", "journal"])
@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"seed": 1}, "seed"),
        ({"grid": {"users": [5, 3]}}, "grid"),
        ({"statistics": ["summary"]}, "statistics"),
        ({"mechanisms": ["drf"], "statistics": ["jain"]}, "mechanisms"),
        ({"name": "other"}, "name"),
    ],
)
def test_the_file_of_another_study_is_refused(tmp_path, log, kind, changes, part):
    path = tmp_path / "r.parquet"
    if kind == "file":
        make().run(path, backend="sequential")
    else:
        with storage.Journal(tmp_path / "r.parquet.journal", make().definition()) as journal:
            journal.finished({})
    before = [entry.read_bytes() for entry in sorted(tmp_path.glob("r.*"))]
    log.write_bytes(b"")
    with pytest.raises(StudyError, match=rf"holds another study: its {part} differs"):
        make(**changes).run(path)
    assert calls(log) == 0
    assert [entry.read_bytes() for entry in sorted(tmp_path.glob("r.*"))] == before


def test_runs_of_another_version_are_not_mixed_with_these(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    with monkeypatch.context() as changed:
        changed.setattr(storage, "__version__", "0.0.1")
        make().run(path, backend="sequential")
    assert study.Result.read(path).version == "0.0.1"
    with pytest.raises(StudyError, match=r"begun with fairlp 0\.0\.1"):
        make(runs=7).run(path)


@pytest.mark.skipif(storage.fcntl is None, reason="no locks on files")
def test_two_processes_do_not_write_the_same_journal(tmp_path):
    path = tmp_path / "r.parquet"
    with (
        storage.Journal(tmp_path / "r.parquet.journal", make().definition()),
        pytest.raises(StudyError, match="another process"),
    ):
        make().run(path)


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", None])
def test_a_file_of_something_else_is_refused(tmp_path, content):
    path = tmp_path / "r.parquet"
    if content is None:
        pd.DataFrame({"a": [1]}).to_parquet(path)
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    for use in (make().run, study.Result.read):
        with pytest.raises(
            FileFormatError, match="no whole Parquet file" if content is not None else "no study"
        ):
            use(path)
    assert path.read_bytes() == before
    with pytest.raises(FileFormatError, match=r"no file .*r\.parquet"):
        study.Result.read(tmp_path / "r.parqet")


def test_the_file_says_what_it_holds_and_others_can_read_it(tmp_path):
    path = tmp_path / "r.parquet"
    result = make().run(path)
    told = json.loads(parquet.read_metadata(path).metadata[storage.METADATA])
    assert told == {"definition": make().definition(), "fairlp": fairlp.__version__}
    assert pd.read_parquet(path).equals(result.frame)
    read = study.Result.read(path, allow_code=True)
    assert read.study == make() and read.frame.equals(result.frame)
    assert replace(read.study, runs=7).run(path).frame["run"].max() == 6


def test_a_file_stays_whole_when_writing_fails(tmp_path, log, monkeypatch):
    path = tmp_path / "r.parquet"
    make().run(path, backend="sequential")
    before = path.read_bytes()
    only_the_journal(make(runs=7), path, monkeypatch)
    assert path.read_bytes() == before
    assert content(tmp_path) == ["r.parquet", "r.parquet.journal"]
    log.write_bytes(b"")
    assert len(make(runs=7).run(path, backend="sequential").frame) == 14
    assert calls(log) == 0
