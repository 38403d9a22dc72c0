"""Files that take their places together: all of them or none, and what people look for last."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

import fairlp
from fairlp.errors import FileFormatError
from fairlp.models.files import whole_files
from fairlp.models.files.programs import read_program
from fairlp.models.files.tables import read_tasks
from fairlp.models.files.whole_files import drafts, read_bytes
from fairlp_research import study
from fairlp_research.simulation import Workload


def content(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


@pytest.fixture
def failing(monkeypatch):
    """``os.replace`` fails at the n-th call, once."""

    def at(which):
        calls, real = [], os.replace

        def replace(source, target):
            calls.append((source, target))
            if len(calls) == which:
                raise OSError("the disk is full")
            real(source, target)

        monkeypatch.setattr(os, "replace", replace)
        return calls

    return at


def test_the_first_file_comes_last(tmp_path, failing):
    """Whoever waits for it finds the others there; and where it fails, the old one stays."""
    calls = failing(3)
    model, labels, map_ = tmp_path / "model.mps", tmp_path / "labels", tmp_path / "map"
    model.write_text("old", encoding="utf-8")
    with pytest.raises(OSError, match="the disk is full"), drafts(model, labels, map_) as written:
        for path in written:
            path.write_text("new", encoding="utf-8")
    assert [target for _, target in calls] == [map_, labels, model]
    assert content(tmp_path) == {"labels": "new", "map": "new", "model.mps": "old"}


KILLED = """
import os, signal, sys
from fairlp.models.files.whole_files import drafts

with drafts(sys.argv[1]) as [draft]:
    draft.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no Unix")
def test_a_killed_writer_leaves_the_file_as_it_was(tmp_path):
    file = tmp_path / "model.mps.gz"
    file.write_text("before", encoding="utf-8")
    result = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    assert result.returncode == -signal.SIGKILL
    assert file.read_text(encoding="utf-8") == "before"
    (left,) = (path for path in tmp_path.iterdir() if path != file)
    assert left.name.startswith(".") and left.name.endswith(".mps.gz")
    with drafts(file) as [draft]:
        draft.write_text("whole", encoding="utf-8")
    assert file.read_text(encoding="utf-8") == "whole"


def test_writers_of_one_file_do_not_touch_each_other(tmp_path):
    place = tmp_path / "file"
    with drafts(place) as [outer], drafts(place) as [inner]:
        assert outer != inner
        outer.write_text("outer", encoding="utf-8")
        inner.write_text("inner", encoding="utf-8")
    assert content(tmp_path) == {"file": "outer"}
    texts = [str(k) * 10_000 for k in range(8)]

    def write(text):
        for _ in range(20):
            with drafts(place) as [draft]:
                draft.write_text(text, encoding="utf-8")
            assert place.read_text(encoding="utf-8") in texts

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in tmp_path.iterdir()] == ["file"] and place.read_text(
        encoding="utf-8"
    ) in texts


def test_a_disk_that_fails_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text("{}", encoding="utf-8")

    class Failing(io.BytesIO):
        def read(self, *size):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("fairlp.models.files.whole_files.opened", lambda path: Failing())
    with pytest.raises(FileFormatError, match=r"a\.json cannot be read: Input/output error"):
        read_bytes(path)


def test_what_is_no_file_is_written_to_and_stays(tmp_path):
    import os

    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no pipes with names here")
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        allocation = fairlp.allocate(fairlp.examples.ghodsi(), "drf")
        allocation.to_json(pipe)
        assert json.loads(os.read(reader, 1 << 16))["mechanism"] == "drf"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


READERS = {
    "i.json": fairlp.read,
    "i.yaml": fairlp.read,
    "p.mps": read_program,
    "p.lp.gz": read_program,
    "s.yaml": study.Study.read,
    "jobs.csv": Workload.read_csv,
    "tasks.csv": lambda path: read_tasks(path, fairlp.examples.ghodsi()),
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_refused_at_once(name, tmp_path):
    os.mkfifo(tmp_path / name)
    messages = []

    def read():
        try:
            READERS[name](tmp_path / name)
        except FileFormatError as error:
            messages.append(str(error))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(20)
    assert messages and messages[0].endswith("it is a pipe or device; expected a file")


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_too_large_is_refused(name, tmp_path, monkeypatch):
    assert whole_files.MOST_BYTES >= 2**30
    monkeypatch.setattr(whole_files, "MOST_BYTES", 2**20)
    content = b"#" * (2**20 + 1)
    (path := tmp_path / name).write_bytes(
        gzip.compress(content) if name.endswith("gz") else content
    )
    with pytest.raises(FileFormatError, match="more than 1 MiB, which is the most that is read"):
        READERS[name](path)


@pytest.mark.parametrize("name", READERS)
def test_the_tilde_is_the_home_of_its_user(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in (f"~/{name}", f"~no-such-user-at-all/{name}"):
        with pytest.raises(FileFormatError) as caught:
            READERS[name](path)
        assert ("~" in str(caught.value)) == ("user" in path)


@pytest.mark.slow
@pytest.mark.parametrize("line", [b" " * 64, b"\n", b" \n", b"\\\n"], ids=repr)
def test_a_small_file_that_holds_very_much_of_the_same_is_refused_at_once(line, tmp_path):
    path = tmp_path / "model.lp.gz"
    path.write_bytes(
        gzip.compress(b"min x\nst\nc: x >= 1\n" + line * (2**25 // len(line)) + b"end\n")
    )
    with pytest.raises(FileFormatError, match=r"times its size.*unpack it first"):
        fairlp.read_program(path)


def test_blank_lines_of_a_model_count_in_errors(tmp_path):
    path = tmp_path / "model.lp"
    path.write_text("min x\nst\n\n   \n\nc: x >= 1\n \n\nd: x >= 2 y ?\nend\n")
    with pytest.raises(FileFormatError, match="line 9"):
        fairlp.read_program(path)
