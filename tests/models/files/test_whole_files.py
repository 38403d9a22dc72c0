"""Files that take their places together: all of them or none, and what people look for last."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from fairlp.models.files.whole_files import draft_folder, drafts


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


@pytest.mark.parametrize("which", [1, 2, 3, 4, 5])
def test_an_exchange_that_fails_is_taken_back(tmp_path, failing, which):
    place = tmp_path / "place"
    place.mkdir()
    old = {"a": "old a", "b": "old b", "c": "old c", "other": "stays"}
    for name, text in old.items():
        (place / name).write_text(text, encoding="utf-8")
    failing(which)
    with pytest.raises(OSError, match="the disk is full"), draft_folder(place, ["a", "b", "c"]) as draft:
        for name in ("a", "b"):
            (draft / name).write_text(f"new {name}", encoding="utf-8")
    assert content(place) == old and [path.name for path in tmp_path.iterdir()] == ["place"]


def test_an_exchange_puts_new_files_in_and_takes_old_ones_out(tmp_path):
    place = tmp_path / "place"
    for texts in ({"a": "1", "b": "2"}, {"a": "3"}):
        with draft_folder(place, ["a", "b"]) as draft:
            for name, text in texts.items():
                (draft / name).write_text(text, encoding="utf-8")
        assert content(place) == texts


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
from pathlib import Path
from fairlp.models.files.whole_files import draft_folder, drafts

with drafts(sys.argv[1]) as [draft], draft_folder(Path(sys.argv[2]), ["a"]) as folder:
    draft.write_text("half")
    (folder / "a").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no Unix")
def test_what_a_killed_writer_left_is_removed_by_the_next_one(tmp_path):
    file, folder = tmp_path / "model.mps.gz", tmp_path / "folder"
    for _ in range(2):
        ended = subprocess.run([sys.executable, "-c", KILLED, str(file), str(folder)], check=False)
        assert ended.returncode == -signal.SIGKILL
        left = list(tmp_path.iterdir())
        assert len(left) == 2 and all(path.name.startswith(".") for path in left)
    with drafts(file) as [draft], draft_folder(folder, ["a"]) as into:
        assert draft.name.endswith(".mps.gz") and not list(into.iterdir())
        draft.write_text("whole", encoding="utf-8")
        (into / "a").write_text("whole", encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "model.mps.gz"]
    assert file.read_text(encoding="utf-8") == "whole" and content(folder) == {"a": "whole"}


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
    assert [path.name for path in tmp_path.iterdir()] == ["file"] and place.read_text(encoding="utf-8") in texts
