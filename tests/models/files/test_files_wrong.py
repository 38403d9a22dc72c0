"""Files that are wrong, cut off or not there: each error says where, and nothing is lost."""

from __future__ import annotations

import json
import os
import re

import pytest
import yaml

from fairlp.errors import FileFormatError, InstanceError
from fairlp.models.files import instances as files
from instance_strategies import document, full_instance, read_text, written


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ((), None, "is empty|expected a mapping"),
        ((), [], "expected a mapping with 'fairlp', .* found a list"),
        (("fairlp",), 7, "the schema is version 7; this fairlp reads 1"),
        (("fairlp",), "1", r"the schema version is '1' \(text\)"),
        (("fairlp",), True, r"the schema version is True \(bool\)"),
        (("fairlp",), ..., "has no schema version"),
        (("usrs",), [], "unknown key 'usrs'; did you mean 'users'"),
        (("servers",), ..., "'servers' is missing"),
        (("name",), 5, r"name: expected text, found 5 \(int\)"),
        (("users",), {}, "users: expected a list, found a mapping"),
        (("users",), [], "there are no users"),
        (("servers",), [], "the cluster is empty"),
        (("resources",), [], "there are no resources|is no resource"),
        (("resources", 0), "cpu", r"resources\[0\]: expected a mapping, found 'cpu'"),
        (("resources", 0, "unit"), 5, r"resources\[0\] \('cpu'\).unit: expected text"),
        (("resources", 1, "name"), "cpu", r"resources\[1\] \('cpu'\): 'cpu' occurs twice"),
        (("users", 1, "weigth"), 2, r"users\[1\]: unknown key 'weigth'; did you mean 'weight'"),
        (("users", 1, "demand"), ..., r"users\[1\]: 'demand' is missing"),
        (("users", 1, "demand"), 3, r"users\[1\] \('bob'\).demand: expected a mapping from resources"),
        (
            ("users", 1, "demand", "memry"),
            2,
            r"users\[1\] \('bob'\).demand: 'memry' is no resource; did you mean 'memory'",
        ),
        (("users", 1, "demand", "cpu"), "4", r"users\[1\] \('bob'\).demand.cpu: '4' \(text\) is not a finite number"),
        (("users", 1, "demand", "cpu"), None, "demand.cpu: nothing is not a finite number"),
        (("users", 1, "demand", "cpu"), True, "demand.cpu: True"),
        (("users", 1, "demand", "cpu"), 10**400, "demand.cpu: 1000.* is not a finite number"),
        (("users", 1, "demand", "cpu"), -1, "demand of user 'bob', resource 'cpu', is -1"),
        (("users", 1, "user"), "ann", "user 'ann' occurs twice"),
        (("users", 1, "user"), 1.5, r"users\[1\].user: 1.5 \(float\) is no label"),
        (("users", 1, "user"), "", "is no label"),
        (("users", 1, "weight"), 0, "weight of user 'bob' is 0"),
        (("users", 1, "weight"), "heavy", r"weight: 'heavy' \(text\)"),
        (("users", 1, "task_limit"), -1, "task limit of user 'bob' is -1"),
        (("users", 1, "entitlement"), 0.5, r"users\[0\] \('ann'\): has no entitlement but others have"),
        (("users", 1, "eligible"), 5, "eligible: expected a condition"),
        (("users", 1, "eligible"), ["s9"], "user 'bob' names server 's9'"),
        (("users", 1, "eligible"), "gpu == 1", "condition of user 'bob'.* 'gpu'; did you mean 'cpu'"),
        (("users", 1, "attributes"), [], "attributes: expected a mapping"),
        (("users", 1, "attributes", "a"), [1], "attributes.a: a list is not"),
        (("servers", 0, "count"), 1.5, "count of server 's1' is 1.5"),
        (("servers", 0, "capacity", "gpu"), 1, "capacity: 'gpu' is no resource; did you mean|known"),
        (
            ("rates",),
            [{"user": "an", "server": "s1", "rate": 1}],
            r"rates\[0\] \('an'\): user 'an' is unknown; did you",
        ),
        (("rates",), [{"user": "ann", "server": "s1", "rate": 1}] * 2, r"rates\[1\] .* occur twice"),
        (("rates",), [{"user": "ann", "server": "s1", "rate": -1}], "rate of user 'ann', server 's1', is -1"),
        (("rates",), {"ann": 1}, "rates: expected a list"),
    ],
)
@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_a_wrong_document_says_where(tmp_path, place, value, said, suffix):
    bad = document()
    if not place:
        bad = value
    else:
        part = bad
        for key in place[:-1]:
            part = part[key]
        if value is ...:
            del part[place[-1]]
        else:
            part[place[-1]] = value
    text = json.dumps(bad) if suffix == ".json" else yaml.safe_dump(bad)
    with pytest.raises((FileFormatError, InstanceError), match=said) as caught:
        read_text(tmp_path, text, suffix)
    assert f"hand{suffix}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "suffix", "said"),
    [
        ("", ".json", "is empty"),
        (" \n", ".yaml", "is empty"),
        ("# nothing\n", ".yaml", "found nothing"),
        ('{"fairlp": 1,\n "users": [', ".json", "line 2, column 12: Expecting value; is the file cut off"),
        ('{"fairlp": 1, "fairlp": 1}', ".json", "key 'fairlp' occurs twice"),
        ('{"fairlp": NaN}', ".json", "NaN is not JSON"),
        ('{"fairlp": -Infinity}', ".json", "-Infinity is not JSON"),
        ("[" * 100_000, ".json", "nested too deeply"),
        ('{"fairlp": 1' + "0" * 5000 + "}", ".json", "digits|schema"),
        ("fairlp: 1\nusers: [", ".yaml", "line 2|line 3"),
        ("fairlp: 1\nfairlp: 1\n", ".yaml", "line 2, column 1: key 'fairlp' occurs twice"),
        ("fairlp: 1\nusers:\n - {user: a, user: b}\n", ".yaml", "line 3, column 14: key 'user' occurs twice"),
        ("fairlp: !!python/object:os.system 1\n", ".yaml", "line 1.*could not determine a constructor"),
        ("fairlp: 1\n---\nfairlp: 1\n", ".yaml", "line 2"),
        ("? [a]\n: 1\n", ".yaml", "line 1"),
        ("a: \x00", ".yaml", "hand.yaml"),
        ("[" * 5000, ".yaml", "hand.yaml"),
        ("fairlp: 1\nname: caf\xe9\n".encode("latin-1"), ".yaml", r"is not UTF-8: byte 19 \(line 2\) is 0xe9; save it"),
        ("fairlp".encode("utf-16"), ".json", "is not UTF-8: byte 0"),
        ("x", ".xlsx", r"cannot tell the format of .*expected .json, .yaml"),
        ("x", ".csv", "give the folder"),
    ],
)
def test_a_broken_file_says_where(tmp_path, text, suffix, said):
    with pytest.raises(FileFormatError, match=said):
        read_text(tmp_path, text, suffix)


def test_a_file_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileFormatError, match=f"no file 'x.json' in {re.escape(str(tmp_path))}, which is empty"):
        files.read("x.json")
    written(tmp_path, ".json")
    with pytest.raises(FileFormatError, match=r"no file 'instnce.json' in .*; did you mean 'instance.json'"):
        files.read("instnce.json")
    with pytest.raises(FileFormatError, match=r"there is no folder .*current folder"):
        files.read("nowhere/x.json")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(tmp_path):
    path = written(tmp_path, ".json")
    path.chmod(0)
    with pytest.raises(FileFormatError, match="cannot be read: Permission denied"):
        files.read(path)


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_a_file_cut_off_anywhere_is_refused_or_whole(tmp_path, suffix):
    path = written(tmp_path, suffix)
    content = path.read_bytes()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        try:
            back = files.read(path)
        except (FileFormatError, InstanceError):
            continue
        assert back.equals(full_instance()), size


def test_a_csv_cut_off_anywhere_is_refused(tmp_path):
    path = written(tmp_path, "")
    assert {file.name for file in path.iterdir()} == {
        "users.csv",
        "servers.csv",
        "eligible.csv",
        "rates.csv",
        "queues.csv",
        "fairlp.json",
    }
    for file in sorted(path.iterdir()):
        content = file.read_bytes()
        for size in range(len(content) - 1):
            file.write_bytes(content[:size])
            with pytest.raises((FileFormatError, InstanceError)):
                files.read(path)
        file.write_bytes(content)
        if file.name != "fairlp.json":
            file.unlink()
            with pytest.raises(FileFormatError, match=f"has no {file.name}"):
                files.read(path)
            file.write_bytes(content)
    assert files.read(path).equals(full_instance())


USERS, SERVERS = "user,cpu,memory\nann,1,4\nbob,3,1\n", "server,cpu,memory\ns1,9,18\n"


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ({}, "has no users.csv; it is empty"),
        ({"users.csv": USERS, "server.csv": SERVERS}, "has no servers.csv; did you mean .*'server.csv'"),
        ({"users.csv": USERS + "cat,1\n"}, "users.csv, line 4: has 2 cells; expected 3"),
        ({"users.csv": "user,cpu,memory\n\n'ann\n',1,4\nx,1,2,3\n"}, "users.csv, line 3: has 1 cells"),
        ({"users.csv": 'user,cpu,memory\n"ann\n",1,4\nx,1,2,3\n'}, "users.csv, line 4: has 4 cells"),
        ({"users.csv": 'user,cpu,memory\n"ann,1,4\n'}, "users.csv, line 2: unexpected end"),
        ({"users.csv": "user;cpu;memory\nann;1;4\n"}, "separated by semicolons; expected commas"),
        ({"users.csv": "user,cpu,memory,\nann,1,4,\n"}, "column 4 has no name"),
        (
            {"users.csv": "usr,cpu,memory\nann,1,4\n"},
            "users.csv, line 1: there is no column 'user'; did you",
        ),
        (
            {"users.csv": "user:int,cpu,memory\nann,1,4\n"},
            "line 2: column 'user:int' is 'ann'; expected a whole",
        ),
        ({"users.csv": "user:int,cpu,memory\n,1,4\n"}, "line 2: column 'user:int' is blank"),
        (
            {"users.csv": "user,cpu,memory,weight\nann,1,4,heavy\n"},
            "line 2: column 'weight' is 'heavy'; expected",
        ),
        ({"users.csv": "user,cpu,cpu\nann,1,4\n"}, "column 'cpu' occurs twice"),
        ({"users.csv": "user,cpu,memory\nann,1,4GB\n"}, "folder: column 'memory' of user 'ann' is '4GB'"),
        ({"users.csv": "user,cpu,memory\nann,1,\n"}, "folder: demand of user 'ann', resource 'memory', is nan"),
        ({"users.csv": "user,cpu,memory\n,1,2\n"}, "user label at position 0 is empty"),
        ({"users.csv": "user,cpu,memory\n"}, "folder: there are no users"),
        ({"users.csv": b"user,cpu\n\xff,1\n"}, "users.csv is not UTF-8: byte 9"),
        ({"users.csv": ""}, "users.csv is empty"),
        ({"users.csv": "user,cpu,memory,disk\nann,1,4,5\n"}, "'disk' of users holds numbers"),
        ({"rates.csv": "user,server,rate\nan,s1,1\n"}, "rates.csv, line 2: user 'an' is unknown; did you mean 'ann'"),
        ({"rates.csv": "user,server,rate\nann,s1,1\nann,s1,2\n"}, "rates.csv, line 3: .*occur twice"),
        ({"rates.csv": "user,server,rate\nann,s1,\n"}, "rates.csv, line 2: column 'rate' is blank"),
        ({"rates.csv": "user,server,rate\nann,s1,x\n"}, "rates.csv, line 2: column 'rate' is 'x'"),
        ({"eligible.csv": "user,server\nann,s2\n"}, "eligible.csv, line 2: server 's2' is unknown"),
        (
            {"users.csv": "user,cpu,memory,eligible\nann,1,1,cpu > 1\n", "eligible.csv": "user,server\nann,s1\n"},
            "user 'ann' also has a condition in users.csv",
        ),
        ({"fairlp.json": '{"fairlp": 3}'}, "fairlp.json: the schema is version 3; this fairlp reads 1 and 2"),
        ({"fairlp.json": '{"name": "x"}'}, "fairlp.json has no schema version"),
        ({"fairlp.json": '{"fairlp": 1, "nme": "x"}'}, "unknown key 'nme'; did you mean 'name'"),
        ({"fairlp.json": '{"fairlp": 1, "name": 3}'}, "'name' is 3; expected str"),
        ({"fairlp.json": '{"fairlp": 1'}, "fairlp.json: .*cut off"),
        ({"fairlp.json": '{"fairlp": 1, "rows": {"users.csv": 3}}'}, "has 2 rows, but fairlp.json beside it says 3"),
        ({"fairlp.json": '{"fairlp": 1, "rows": {"user.csv": 3}}'}, "rows of 'user.csv'; did you mean 'users.csv'"),
    ],
)
def test_a_wrong_folder_says_where(tmp_path, contents, said):
    folder = tmp_path / "folder"
    folder.mkdir()
    if contents and "server.csv" not in contents:
        contents = {"users.csv": USERS, "servers.csv": SERVERS} | contents
    for name, text in contents.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises((FileFormatError, InstanceError), match=said):
        files.read(folder)
