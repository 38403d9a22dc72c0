"""How large and deep a file may be: what is beyond ends in one clear line, quickly, and never ends the process."""

from __future__ import annotations

import gzip
import os
import threading
import time

import pytest

import fairlp
from fairlp import study
from fairlp.errors import FileFormatError
from fairlp.models.files import instances, whole_files
from fairlp.models.files.programs import read_program
from fairlp.models.files.tables import read_tasks
from fairlp.models.files.traces import read_pai2020
from fairlp.research.simulation import Workload

GOOD = """\
fairlp: 1
users:
- {user: ann, demand: &one {cpu: 1}}
- {user: bob, demand: *one}
servers: [{server: s, capacity: {cpu: 2}}]
resources: [{name: cpu}]
"""
LAUGHS = "".join(f"l{k}: &l{k} [{', '.join([f'*l{k - 1}'] * 9 if k else ['x'] * 9)}]\n" for k in range(9))
BOMBS = {
    "laughs.yaml": (LAUGHS, "line 7, column 10: alias 'l5' stands for .* too much"),
    "itself.yaml": ("a: &a [1, *a]\n", "line 1, column 11: alias 'a' stands for something that holds itself"),
    "flow.yaml": ("[" * 200_000, "nested too deeply; expected at most 50 within one another"),
    "mappings.yaml": ("{a: " * 100_000, "nested too deeply"),
    "block.yaml": ("- " * 100_000 + "1", "nested too deeply"),
    "keys.yaml": ("? " * 100_000 + "1", "nested too deeply"),
    "chain.yaml": ("a0: &a0 [x]\n" + "".join(f"a{k}: &a{k} [*a{k - 1}]\n" for k in range(1, 99)), "nested too deeply"),
    "deep.json": ("[" * 100_000, "nested too deeply"),
    "rather deep.json": ("[" * 60 + "]" * 60, "nested too deeply"),
    "mappings.json": ('{"a":' * 800 + "1" + "}" * 800, "nested too deeply"),
    "digits.json": ('{"fairlp": ' + "1" * 5000 + "}", "is the file cut off"),
    "digits.yaml": ("fairlp: " + "1" * 5000, "is the file cut off"),
    "nul.json": ("\0" * 1000, "line 1, column 1"),
    "nul.yaml": ("\0" * 1000, "(special|control) characters are not allowed"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_end_in_one_line(name, tmp_path):
    content, message = BOMBS[name]
    (path := tmp_path / name).write_text(content, encoding="utf-8")
    begin = time.perf_counter()
    for read in (fairlp.read, study.Study.read):
        with pytest.raises(FileFormatError, match=message) as caught:
            read(path)
        assert len(str(caught.value)) < 1000 and "\n" not in str(caught.value)
    assert time.perf_counter() - begin < 10


def test_a_few_aliases_are_no_bomb(tmp_path):
    (path := tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    assert fairlp.read(path).demands.tolist() == [[1], [1]]


READERS = {
    "i.json": fairlp.read,
    "i.yaml": fairlp.read,
    "p.mps": read_program,
    "p.lp.gz": read_program,
    "s.yaml": study.Study.read,
    "jobs.csv": Workload.read_csv,
    "machines.csv": read_pai2020,
    "tasks.csv": lambda path: read_tasks(path, fairlp.examples.ghodsi()),
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_refused_at_once(name, tmp_path):
    os.mkfifo(tmp_path / name)
    said = []

    def read():
        try:
            READERS[name](tmp_path / name)
        except FileFormatError as error:
            said.append(str(error))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(20)
    assert said and said[0].endswith("it is a pipe or device; expected a file")


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_too_large_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(whole_files, "MOST_BYTES", 2**20)
    content = b"#" * (2**20 + 1)
    (path := tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(FileFormatError, match="more than 1 MiB, which is the most that is read"):
        READERS[name](path)


@pytest.mark.parametrize("name", READERS)
def test_the_tilde_is_the_home_of_its_user(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in (f"~/{name}", f"~no-such-user-at-all/{name}"):
        with pytest.raises(FileFormatError) as caught:
            READERS[name](path)
        assert ("~" in str(caught.value)) == ("user" in path)


def test_what_is_written_to_the_tilde_lies_there(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    instance = fairlp.examples.ghodsi()
    for name in ("i.json", "folder", "m.mps", "m.nl"):
        what = instance if name in ("i.json", "folder") else fairlp.formulate(instance, "drf")
        what.write(f"~/{name}")
        assert (tmp_path / name).exists()
    assert not (tmp_path / "~").exists() and fairlp.read("~/folder").equals(fairlp.read("~/i.json"))


def test_the_limits_stand_in_one_place():
    assert instances.MOST_DEPTH == whole_files.MOST_DEPTH
