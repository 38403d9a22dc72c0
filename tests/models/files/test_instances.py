"""Files of instances: what is written is read back the same; what is wrong or cannot be held is refused."""

from __future__ import annotations

import copy
import csv
import json
import os
import re
import tempfile
import time
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Instance
from fairlp.errors import FileFormatError, InstanceError
from fairlp.models.files import instances as files, schema
from fairlp.models.files.instances import differences
from fairlp.models.files.tables import read_tasks
from fairlp_research import study
from instance_strategies import (
    DOCUMENTATION,
    SUFFIXES,
    document,
    full_instance,
    instances,
    read_text,
    written,
)
from pages import blocks
from profiles import chequered


def small(**changes):
    fields = {
        "users": ["a", "b"],
        "servers": ["s", "t"],
        "resources": ["cpu"],
        "name": "small",
    } | changes
    return Instance.from_arrays([[1.0], [2.0]], [[4.0], [8.0]], **fields)


def test_the_order_of_attributes_is_kept():
    frame = pd.DataFrame({"zone": ["x", "y"], "rack": ["1", "2"]}, index=["s", "t"])
    first, other = small(server_attributes=frame), small(server_attributes=frame[["rack", "zone"]])
    assert differences(first, other) == ["server_attributes"]


def test_a_condition_that_is_written_otherwise_is_another():
    zones = pd.DataFrame({"zone": ["x", "y"]}, index=["s", "t"])
    first = small(server_attributes=zones, eligible=["zone == 'x'", None])
    other = small(server_attributes=zones, eligible=["zone != 'y'", None])
    assert (first.eligible == other.eligible).all() and "conditions" in differences(first, other)


def test_a_word_of_yaml_that_is_used_again(tmp_path):
    path = tmp_path / "again.yaml"
    small().write(path)
    text = path.read_text(encoding="utf-8").replace("name: small", "name: &word small")
    path.write_text(text, encoding="utf-8")
    assert fairlp.read(path).equals(small())


LAUGHS = "".join(
    f"l{k}: &l{k} [{', '.join([f'*l{k - 1}'] * 9 if k else ['x'] * 9)}]\n" for k in range(9)
)


BOMBS = {
    "laughs.yaml": (LAUGHS, "line 7, column 10: alias 'l5' stands for .* too much"),
    "itself.yaml": (
        "a: &a [1, *a]\n",
        "line 1, column 11: alias 'a' stands for something that holds itself",
    ),
    # libyaml 0.2.6 has a limit of its own, before ours
    "flow.yaml": (
        "[" * 200_000,
        "nested too deeply; expected at most 50 within one another|maximum nesting depth",
    ),
    "mappings.yaml": ("{a: " * 100_000, "nested too deeply|maximum nesting depth"),
    "block.yaml": ("- " * 100_000 + "1", "nested too deeply"),
    "keys.yaml": ("? " * 100_000 + "1", "nested too deeply"),
    "chain.yaml": (
        "a0: &a0 [x]\n" + "".join(f"a{k}: &a{k} [*a{k - 1}]\n" for k in range(1, 99)),
        "nested too deeply",
    ),
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
    start = time.perf_counter()
    for read in (fairlp.read, study.Study.read):
        with pytest.raises(FileFormatError, match=message) as caught:
            read(path)
        assert len(str(caught.value)) < 1000 and "\n" not in str(caught.value)
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_everything_is_read_back(tmp_path, suffix):
    path = tmp_path / f"instance{suffix}"
    names = files.write(full_instance(), str(path))
    assert all(name.is_file() for name in names)
    copy = files.read(str(path))
    assert copy.equals(full_instance())
    assert copy.server_attributes["zip"].tolist() == ["007", "1"]
    assert copy.server_attributes["ssd"].tolist() == [True, False]
    assert sorted(tmp_path.iterdir()) == [path]


def test_the_instance_writes_itself(tmp_path):
    assert full_instance().write(tmp_path / "x.json") == [tmp_path / "x.json"]


@settings(deadline=None)
@given(instances(), st.sampled_from([".json", ".yaml"]))
def test_any_instance_is_read_back(instance, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{suffix}"
        files.write(instance, path)
        assert files.read(path).equals(instance)
        loaded = json.loads(path.read_text(encoding="utf-8")) if suffix == ".json" else None
        if loaded:
            jsonschema.validate(loaded, schema.schema())


def changed(document, place, value):
    """The document with a JSON value at a place, or without what is there."""
    value = value.replace("DIGITS", "1" + "0" * 400)
    if place == ".":
        return json.loads(value)
    changed_document = container = copy.deepcopy(document)
    *path, last = (int(key) if key.isdigit() else key for key in place.split("."))
    for key in path:
        container = container[key]
    if value == "absent":
        del container[last]
    else:
        container[last] = json.loads(value)
    return changed_document


MALFORMED = """
fairlp  3
fairlp  1
extra  1
users.0.weigth  2
users.0.weight  "2"
users.0.demand  [1, 4]
users.0.demand.cpu  -1
users.0.queue  5
users.0.queue  "a//b"
queues.0.wieght  5
queues.0.weight  0
queues.0.cap  7
queues.0.guarantee.cpu  -1
queues.0  {"weight": 2}
queues  {}
users.0.eligible  5
users.0.user  1.5
servers.0.count  1.5
servers.0.attributes.x  []
rates  [{"user": "ann", "server": "s1"}]
users  []
"""


def test_the_schema_is_valid_and_finds_what_reading_finds(tmp_path):
    jsonschema.Draft202012Validator.check_schema(schema.schema())
    validator = jsonschema.Draft202012Validator(schema.schema())
    validator.validate(json.loads(written(tmp_path, ".json").read_text(encoding="utf-8")))
    validator.validate(yaml.safe_load(written(tmp_path, ".yaml").read_text(encoding="utf-8")))
    good = document()
    validator.validate(good)
    for line in MALFORMED.strip().splitlines():
        bad = changed(good, *line.split("  "))
        assert not validator.is_valid(bad), line
        with pytest.raises((FileFormatError, InstanceError)):
            read_text(tmp_path, json.dumps(bad), ".json")


def schemas_of(form):
    """A schema and those within it; alternatives (anyOf) are described together."""
    yield form
    parts = [*form.get("properties", {}).values(), *form.get("$defs", {}).values()]
    parts += [form.get(key) for key in ("items", "additionalProperties", "propertyNames")]
    for value in parts:
        if isinstance(value, dict):
            yield from schemas_of(value)


def test_the_schema_describes_what_it_expects():
    for form in schemas_of(schema.schema()):
        assert "description" in form or "$ref" in form, form


def test_the_first_wrong_record_among_many_alike_is_named(tmp_path):
    good = document()
    user = {"demand": {"cpu": 1}, "attributes": {"arrival": 2}}
    good["users"] = [user | {"user": f"u{k}"} for k in range(300)]
    good["users"][-2:] = [user | {"user": f"u{k}", "attributes": {"arrival": []}} for k in (8, 9)]
    with pytest.raises(
        FileFormatError, match=r"users\[298\] \('u8'\).attributes.arrival: found \[\]"
    ):
        read_text(tmp_path, json.dumps(good), ".json")


def test_the_examples_of_the_documentation(tmp_path, monkeypatch):
    text = DOCUMENTATION.read_text(encoding="utf-8")
    (by_hand,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    instance = read_text(tmp_path, by_hand)
    assert (len(instance.users), instance.n_servers, instance.units) == (
        2,
        6,
        {"cpu": "cores", "memory": "GiB"},
    )
    users, servers, queues = re.findall(r"```csv\n(.*?)```", text, re.DOTALL)
    for name, table in (("users", users), ("servers", servers), ("queues", queues)):
        (tmp_path / f"{name}.csv").write_text(table, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (block,) = (block for block in blocks("file-formats.md") if block.kind == "python")
    names = {}
    exec(block.code, names)
    assert files.differences(instance, names["instance"].replace(name=instance.name)) == []
    (conditions,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    attributes = pd.DataFrame(
        {"gpu_model": ["T4"], "zone": ["eu-3"], "disk type": ["ssd"], "has_ssd": [True]}
    )
    everywhere = Instance.from_arrays(
        np.ones((5, 2)),
        [[16, 64]],
        resources=["cpu", "memory"],
        eligible=conditions.splitlines(),
        server_attributes=attributes,
    )
    assert everywhere.conditions == tuple(conditions.splitlines())


def test_defaults_are_left_out_and_whole_numbers_stay_whole(tmp_path):
    path = written(tmp_path, ".json", Instance.from_arrays([[1, 0]], [[9, 2.5]]))
    assert json.loads(path.read_text()) == {
        "fairlp": 2,
        "resources": [{"name": "resource1"}, {"name": "resource2"}],
        "users": [{"user": "user1", "demand": {"resource1": 1}}],
        "servers": [{"server": "server1", "capacity": {"resource1": 9, "resource2": 2.5}}],
    }
    assert '"resource1": 9,' in path.read_text()


def test_a_weight_for_each_resource_may_leave_out_what_is_not_demanded(tmp_path):
    good = document()
    good["users"][0]["weight"] = {"cpu": 5}
    good["users"][0]["demand"] = {"cpu": 1}
    assert read_text(tmp_path, yaml.safe_dump(good)).weights.tolist() == [[5, 0], [1, 1]]
    good["users"][0]["demand"] = {"cpu": 1, "memory": 1}
    with pytest.raises(
        InstanceError, match="user 'ann' has no weight for 'memory', which it demands; expected one"
    ):
        read_text(tmp_path, yaml.safe_dump(good))


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    for suffix in SUFFIXES:
        path = written(tmp_path, suffix)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
        assert files.read(path).equals(full_instance())


@pytest.mark.parametrize(
    ("instance", "target", "message"),
    [
        (
            full_instance(
                user_attributes=pd.DataFrame({"since": pd.to_datetime(["2024-01-01"] * 3)})
            ),
            "x.json",
            r"attribute 'since' of user 'ann, the 1st' is Timestamp.*convert it first",
        ),
        (
            full_instance(user_attributes=pd.DataFrame({"a": [np.inf, 1, 2]})),
            "x.json",
            "attribute 'a' .* is inf",
        ),
        (
            full_instance(user_attributes=pd.DataFrame({5: [1, 1, 2]})),
            "x.json",
            "attribute 5, which is not text",
        ),
        (
            full_instance(user_attributes=pd.DataFrame([[1, 2]] * 3, columns=["a", "a"])),
            "x.json",
            "two names",
        ),
        (
            full_instance(resources=[1, "1"], units={}, eligible=None),
            "x.yaml",
            "two names that are written '1'",
        ),
        (
            full_instance().derived(eligible=np.ones((3, 2), dtype=bool)),
            "x.json",
            "lose or change eligible",
        ),
        (
            full_instance().derived(server_attributes=pd.DataFrame()),
            "x.json",
            "could not be read back .*'gpu_model'",
        ),
        (full_instance(), "x.xlsx", "cannot tell the format of"),
        (full_instance(), "nowhere/x.json", "there is no folder .*nowhere"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_and_the_old_file_stays(
    tmp_path, instance, target, message
):
    path = tmp_path / target
    older = full_instance(name="older")
    if path.parent.is_dir() and path.suffix != ".xlsx":
        files.write(older, path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(FileFormatError, match=message):
        files.write(instance, path)
    assert sorted(tmp_path.rglob("*")) == before
    if path.exists():
        assert files.read(path).equals(older)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failure_while_writing_leaves_the_old_file(tmp_path, suffix, monkeypatch):
    path = written(tmp_path, suffix)
    before = sorted(tmp_path.rglob("*"))

    def fail(source, target):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        files.write(full_instance(name="newer", rates=None), path)
    assert sorted(tmp_path.rglob("*")) == before
    assert files.read(path).equals(full_instance())


def test_writing_over_a_file_keeps_its_mode_and_follows_links(tmp_path):
    path = written(tmp_path, ".json")
    path.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    files.write(full_instance(name="newer"), link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert files.read(path).name == "newer"


def test_large_whole_numbers_and_tiny_ones_are_exact(tmp_path):
    amounts = np.array([[2.0**53 - 1, 2.0**60, 1e300], [2.3e-308, 0.1 + 0.2, 1e22]])
    attributes = pd.DataFrame({"id": pd.Series([2**53 + 1, None], dtype=object)})
    instance = Instance.from_arrays(amounts, amounts, user_attributes=attributes)
    for suffix in SUFFIXES:
        copy = files.read(written(tmp_path, suffix, instance))
        assert copy.equals(instance)
        assert copy.user_attributes["id"].tolist()[0] == 2**53 + 1


FORMULAS = [
    "=1+1",
    "+cmd|x",
    "-a",
    "@x",
    "\tx",
    "'=1+1",
    "''=1",
    "-",
    "=",
    "'s",
    "-5",
    "+1e3x",
    "'",
]


def test_cells_that_a_spreadsheet_would_compute_are_text_and_come_back(tmp_path):
    names = FORMULAS
    instance = Instance.from_arrays(
        [[1, 2]] * len(names),
        [[9, 9]] * len(names),
        users=names,
        servers=names,
        resources=["=r", "+r"],
        user_attributes=pd.DataFrame({"@team": names}, index=names),
        eligible=[[name] for name in names],
        queue=["=q"] * len(names),
        queues={"=q": 2.0},
    )
    allocation = fairlp.allocate(instance.replace(queue=None, queues=None), "drfh")
    allocation.to_csv(tmp_path / "tasks.csv")
    pd.testing.assert_frame_equal(
        read_tasks(tmp_path / "tasks.csv", instance),
        allocation.tasks,
        check_names=False,
        check_index_type=False,
        check_column_type=False,
    )
    with open(tmp_path / "tasks.csv", encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row if cell not in ("", "-", "-5")]
    assert all(cell[0] not in "=+-@\t\r" or len(cell) == 1 for cell in cells)


#: where, what is put there (as JSON, or taken out), and what the error says
WRONG = r"""
.  null  is empty|found None; expected a mapping
.  []  found \[.*expected a mapping with 'fairlp: 2'
fairlp  7  the schema version is 7; this fairlp reads 2
fairlp  "1"  the schema version is '1'
fairlp  true  the schema version is True
fairlp  absent  has no schema version
usrs  []  unknown key 'usrs'; did you mean 'users'
servers  absent  'servers' is missing
name  5  name: found 5; expected text
users  {}  users: found \{.*expected a list of users
users  []  there are no users
servers  []  there are no servers
resources  []  there are no resources|is no resource
resources.0  "cpu"  resources\[0\]: found 'cpu'; expected a mapping
resources.0.unit  5  resources\[0\] \('cpu'\).unit: found 5; expected text
resources.1.name  "cpu"  resources have two names that are written 'cpu'; rename one
users.1.weigth  2  users\[1\] \('bob'\): unknown key 'weigth'; did you mean 'weight'
users.1.demand  absent  users\[1\] \('bob'\): 'demand' is missing
users.1.demand  3  users\[1\] \('bob'\).demand: found 3; expected a mapping from resources
users.1.demand.memry  2  users\[1\] \('bob'\).demand: 'memry' is no resource; did you mean 'memory'
users.1.demand.cpu  "4"  users\[1\] \('bob'\).demand.cpu: found '4'; expected a finite number
users.1.demand.cpu  null  demand.cpu: found None; expected a finite number \(leave the key out
users.1.demand.cpu  true  demand.cpu: found True; expected a finite number
users.1.demand.cpu  DIGITS  demand.cpu: found a whole number of .* bits; expected a finite number
users.1.demand.cpu  -1  demand of user 'bob' and resource 'cpu' is -1
users.1.user  "ann"  user 'ann' occurs twice
users.1.user  true  user: found True; expected a label: text
users.1.user  1.5  users\[1\].user: found 1.5; expected a label: text that is not empty, or
users.1.user  ""  user: found ''; expected a label: text that is not empty
users.1.weight  0  weight of user 'bob' is 0
users.1.weight  "heavy"  weight: found 'heavy'; expected a finite number > 0, or a mapping
users.1.task_limit  -1  task limit of user 'bob' is -1
users.1.entitlement  0.5  user 'ann' has no entitlement but others have; expected one for each user, or none
users.1.eligible  5  eligible: found 5; expected a condition \(text\) or a list of servers
users.1.eligible  ["s9"]  user 'bob' names server 's9'
users.1.eligible  "gpu == 1"  condition of user 'bob'.* 'gpu'; did you mean 'cpu'
users.1.attributes  []  attributes: found \[.*expected a mapping
users.1.attributes.a  [1]  attributes.a: found \[.*expected text, a finite number, true
servers.0.count  1.5  count of server 's1' is 1.5
servers.0.capacity.gpu  1  capacity: 'gpu' is no resource; did you mean|known
rates  [{"user": "an", "server": "s1", "rate": 1}]  rates\[0\] \('an'\): user 'an' on server 's1' is unknown
rates  [{"user": "ann", "server": "s1", "rate": 1}, {"rate": 1, "user": "ann", "server": "s1"}]  twice
rates  [{"user": "ann", "server": "s1", "rate": -1}]  rate of user 'ann' and server 's1' is -1
rates  {"ann": 1}  rates: found \{.*expected a list
queues  [{"queue": "org", "wieght": 1}]  queues\[0\] \('org'\): unknown key 'wieght'; did you mean 'weight'
queues  [{"queue": "org", "weight": 0}]  weight of queue 'org' is 0; expected a finite number > 0
queues  [{"queue": "org", "weight": -2}]  weight of queue 'org' is -2; expected a finite number > 0
queues  [{"queue": "org", "weight": "2"}]  queues\[0\] \('org'\)\.weight: found '2'; expected a finite number
queues  [{"queue": "org", "guarantee": {"cpu": 3}, "cap": {"cpu": 2}}]  resource 'cpu' is 3; .* its cap
queues  [{"queue": "org", "cap": {"cpus": 2}}]  queues\[0\] \('org'\)\.cap: 'cpus' is no resource; did you mean 'cpu'
queues  [{"queue": "org", "cap": {"cpu": null}}]  queues\[0\] \('org'\)\.cap\.cpu: found None; expected a finite
queues  [{"queue": "org", "cap": {"cpu": -1}}]  cap of queue 'org' of resource 'cpu' is -1; expected a number >= 0
queues  [{"queue": "org", "guarantee": [1]}]  queues\[0\] \('org'\)\.guarantee: found \[.*expected a mapping from
queues  [{"queue": 5}]  queues\[0\] \(5\)\.queue: found 5; expected a path
queues  [{"queue": ["a"]}]  queues\[0\]\.queue: found \[.*expected a path
queues  [{"queue": "a//b"}]  queue 'a//b' has an empty name; expected a path
queues  {}  queues: found \{.*expected a list
queues  [3]  queues\[0\]: found 3; expected a mapping
queues  [{}]  queues\[0\]: 'queue' is missing
queues  [{"queue": "a"}, {"queue": "/a/"}]  queue 'a' occurs twice; the path of a queue must be unique
queues  [{"queue": "scienc"}]  user 'bob' stands in queue 'science', which is not in queues; did you mean 'scienc'
users.1.queue  5  users\[1\] \('bob'\)\.queue: found 5; expected a path
users.1.queue  "a//b"  queue 'a//b' of user 'bob' has an empty name
users.1.queue  []  users\[1\] \('bob'\)\.queue: found \[.*expected a path
"""


@pytest.mark.parametrize(
    ("line", "suffix"), chequered(WRONG.strip().splitlines(), [".json", ".yaml"])
)
def test_a_wrong_document_says_where(tmp_path, line, suffix):
    place, value, message = line.split("  ", 2)
    bad = changed(document(), place, value)
    text = json.dumps(bad) if suffix == ".json" else yaml.safe_dump(bad)
    with pytest.raises((FileFormatError, InstanceError), match=message) as caught:
        read_text(tmp_path, text, suffix)
    assert f"hand{suffix}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "suffix", "message"),
    [
        ("", ".json", "is empty"),
        (" \n", ".yaml", "is empty"),
        ("# nothing\n", ".yaml", "found None"),
        (
            '{"fairlp": 2,\n "users": [',
            ".json",
            "line 2, column 12: Expecting value; is the file cut off",
        ),
        ('{"fairlp": 2, "fairlp": 2}', ".json", "key 'fairlp' occurs twice"),
        ('{"fairlp": NaN}', ".json", "NaN is not JSON"),
        ('{"fairlp": -Infinity}', ".json", "-Infinity is not JSON"),
        ("[" * 100_000, ".json", "nested too deeply"),
        ('{"fairlp": 2' + "0" * 5000 + "}", ".json", "digits|schema"),
        ("fairlp: 2\nusers: [", ".yaml", "line 2|line 3"),
        ("fairlp: 2\nfairlp: 2\n", ".yaml", "line 2, column 1: key 'fairlp' occurs twice"),
        (
            "fairlp: 2\nusers:\n - {user: a, user: b}\n",
            ".yaml",
            "line 3, column 14: key 'user' occurs twice",
        ),
        (
            "fairlp: !!python/object:os.system 1\n",
            ".yaml",
            "line 1.*could not determine a constructor",
        ),
        ("fairlp: 2\n---\nfairlp: 2\n", ".yaml", "line 2"),
        ("? [a]\n: 1\n", ".yaml", "line 1"),
        ("a: \x00", ".yaml", "hand.yaml"),
        ("[" * 5000, ".yaml", "hand.yaml"),
        (
            "fairlp: 2\nname: caf\xe9\n".encode("latin-1"),
            ".yaml",
            r"is not UTF-8: byte 19 \(line 2\) is 0xe9; save it",
        ),
        ("fairlp".encode("utf-16"), ".json", "is not UTF-8: byte 0"),
        ("x", ".xlsx", r"cannot tell the format of .*expected .json, .yaml"),
        ("x", ".csv", "from_frames"),
    ],
)
def test_a_broken_file_says_where(tmp_path, text, suffix, message):
    with pytest.raises(FileFormatError, match=message):
        read_text(tmp_path, text, suffix)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_a_file_cut_off_anywhere_is_refused_or_whole(tmp_path, suffix):
    path = written(tmp_path, suffix)
    content = path.read_bytes()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        try:
            copy = files.read(path)
        except (FileFormatError, InstanceError):
            continue
        assert copy.equals(full_instance()), size


@pytest.mark.parametrize("cell", ["nan", "NA", "None", "x", ""])
def test_tasks_that_are_no_numbers_are_refused(tmp_path, cell):
    instance = Instance.from_arrays([[1], [1]], [[4], [4]], users=["NA", "bob"], servers=["s", "t"])
    path = tmp_path / "tasks.csv"
    path.write_text(f"user,server,tasks\nNA,s,1\nbob,t,{cell}\n", encoding="utf-8")
    with pytest.raises(
        FileFormatError, match=r"tasks of user 'bob' on 't' are .*; expected a finite number"
    ):
        read_tasks(path, instance)
    path.write_text(f"user,s,t\nNA,1,2\nbob,{cell},3\n", encoding="utf-8")
    if cell:  # a pair that is not there has no tasks
        with pytest.raises(FileFormatError, match="tasks of user 'bob' on 's' are"):
            read_tasks(path, instance)
    else:
        assert read_tasks(path, instance).loc["bob"].tolist() == [0, 3]
    path.write_text("user,server,tasks\nNA,s,1,9\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="a row has more cells than there are columns"):
        read_tasks(path, instance)
