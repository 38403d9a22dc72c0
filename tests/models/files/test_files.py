"""Files: what is written is read back the same, and what a format cannot hold is refused."""

from __future__ import annotations

import copy
import csv
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fairlp
from fairlp.errors import FileFormatError, InstanceError
from fairlp.models.files import instances as files
from fairlp.models.files.tables import read_tasks
from fairlp.models.instances.instance import Instance
from instance_strategies import DOCUMENTATION, SUFFIXES, document, full_instance, instances, read_text, written


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_everything_is_read_back(tmp_path, suffix):
    path = tmp_path / f"instance{suffix}"
    names = files.write(full_instance(), str(path))
    assert all(name.is_file() for name in names)
    back = files.read(str(path))
    assert back.equals(full_instance())
    assert back.server_attributes["zip"].tolist() == ["007", "1"]
    assert back.server_attributes["ssd"].tolist() == [True, False]
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
            jsonschema.validate(loaded, files.schema())


@settings(deadline=None)
@given(instances())
@example(full_instance(users=[1, "1", 2]))
@example(full_instance(user_attributes=pd.DataFrame({"a": ["", None, "b"]})))
@example(full_instance(server_attributes=pd.DataFrame({"gpu_model": ["T4", None], "mixed": [1, "a"]})))
def test_a_folder_of_csvs_holds_an_instance_or_refuses_it(instance):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        try:
            files.write(instance, path)
        except FileFormatError as error:
            assert re.search("was not written", str(error))
            assert list(Path(folder).iterdir()) == []
        else:
            assert files.read(path).equals(instance)


LABELS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=2, max_size=2, unique=True)


@settings(deadline=None)
@given(LABELS, LABELS, st.lists(st.text("aß,'\" \n\r;\t=1", min_size=1), min_size=2, max_size=2))
@example([" x", "\ty "], ["\r", "\n"], ["1e5", "true"])
def test_any_text_label_goes_through_csv(users, servers, teams):
    instance = Instance.from_arrays(
        [[1], [2]],
        [[3], [4]],
        users=users,
        servers=servers,
        eligible=[[servers[0]], None],
        rates=[[1, 0], [0.1, 2]],
        user_attributes=pd.DataFrame({"team": teams}),
    )
    with tempfile.TemporaryDirectory() as folder:
        files.write(instance, Path(folder) / "x")
        assert files.read(Path(folder) / "x").equals(instance)


def test_the_schema_is_valid_and_finds_what_reading_finds(tmp_path):
    jsonschema.Draft202012Validator.check_schema(files.schema())
    validator = jsonschema.Draft202012Validator(files.schema())
    validator.validate(json.loads(written(tmp_path, ".json").read_text(encoding="utf-8")))
    validator.validate(yaml.safe_load(written(tmp_path, ".yaml").read_text(encoding="utf-8")))
    good = document()
    validator.validate(good)
    for place, value in [
        (("fairlp",), 3),
        (("fairlp",), 1),
        (("extra",), 1),
        (("users", 0, "weigth"), 2),
        (("users", 0, "weight"), "2"),
        (("users", 0, "demand"), [1, 4]),
        (("users", 0, "demand", "cpu"), -1),
        (("users", 0, "queue"), 5),
        (("users", 0, "queue"), "a//b"),
        (("queues", 0, "wieght"), 5),
        (("queues", 0, "weight"), 0),
        (("queues", 0, "cap"), 7),
        (("queues", 0, "guarantee", "cpu"), -1),
        (("queues", 0), {"weight": 2}),
        (("queues",), {}),
        (("users", 0, "eligible"), 5),
        (("users", 0, "user"), 1.5),
        (("servers", 0, "count"), 1.5),
        (("servers", 0, "attributes", "x"), []),
        (("rates",), [{"user": "ann", "server": "s1"}]),
        (("users",), []),
    ]:
        bad = copy.deepcopy(good)
        part = bad
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        assert not validator.is_valid(bad), place
        with pytest.raises((FileFormatError, InstanceError)):
            read_text(tmp_path, json.dumps(bad), ".json")


def test_the_examples_of_the_documentation(tmp_path):
    text = DOCUMENTATION.read_text(encoding="utf-8")
    (by_hand,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    instance = read_text(tmp_path, by_hand)
    assert (len(instance.users), instance.n_servers, instance.units) == (2, 6, {"cpu": "cores", "memory": "GiB"})
    users, servers, queues = re.findall(r"```csv\n(.*?)```", text, re.DOTALL)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "users.csv").write_text(users, encoding="utf-8")
    (folder / "servers.csv").write_text(servers, encoding="utf-8")
    (folder / "queues.csv").write_text(queues, encoding="utf-8")
    assert files.read(folder).replace(name=instance.name).equals(instance)
    (conditions,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    attributes = pd.DataFrame({"gpu_model": ["T4"], "zone": ["eu-3"], "disk type": ["ssd"], "has_ssd": [True]})
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
    with pytest.raises(FileFormatError, match=r"users\[0\] \('ann'\).weight: there is none for 'memory'"):
        read_text(tmp_path, yaml.safe_dump(good))


def test_yaml_has_the_plain_types_of_yaml_1_2(tmp_path):
    text = (
        "fairlp: 1\nresources: [{name: cpu}]\nusers: [{user: no, demand: {cpu: 1e-3}}, {user: 010, demand: {cpu: 1}}]\n"
    )
    text += "servers: [{server: 1:30, capacity: {cpu: 12}}, {server: 2024-01-01, capacity: {cpu: 0x10}}]\n"
    with pytest.raises(FileFormatError, match="'0x10'"):
        read_text(tmp_path, text)
    instance = read_text(tmp_path, text.replace("0x10", "+1.5E+2"))
    assert list(instance.users) == ["no", "010"]
    assert list(instance.servers) == ["1:30", "2024-01-01"]
    assert instance.capacities.tolist() == [[12], [150]]
    assert instance.demands[0, 0] == 1e-3


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    for suffix in SUFFIXES:
        path = written(tmp_path, suffix)
        for file in path.iterdir() if path.is_dir() else [path]:
            if file.suffix != ".csv":
                file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
        assert files.read(path).equals(full_instance())
    folder = tmp_path / "windows"
    folder.mkdir()
    (folder / "users.csv").write_bytes(b"\xef\xbb\xbfuser,cpu\r\nann, 1\r\n\r\nbob,2\r\n")
    (folder / "servers.csv").write_bytes(b"server:int,cpu,zone\r\n1,5,\r\n2,6,eu\r\n")
    instance = files.read(folder)
    assert (list(instance.users), list(instance.servers)) == (["ann", "bob"], [1, 2])
    assert instance.server_attributes["zone"].tolist()[1] == "eu"


@pytest.mark.parametrize(
    ("instance", "target", "said"),
    [
        (full_instance(users=[1, "1", 2]), "x", "user labels are text and whole numbers.*write .json"),
        (full_instance(user_attributes=pd.DataFrame({"a": ["", None, "b"]})), "x", "change user attribute 'a'"),
        (
            full_instance(user_attributes=pd.DataFrame({"a": [1, "b", None]})),
            "x",
            "user attribute 'a'.*write .json",
        ),
        (full_instance(units={"cpu": "a]"}), "x", "cannot be told from its header"),
        (
            full_instance(user_attributes=pd.DataFrame({"since": pd.to_datetime(["2024-01-01"] * 3)})),
            "x.json",
            r"attribute 'since' of user 'ann, the 1st' is Timestamp.*convert it first",
        ),
        (full_instance(user_attributes=pd.DataFrame({"a": [np.inf, 1, 2]})), "x", "attribute 'a' .* is inf"),
        (full_instance(user_attributes=pd.DataFrame({5: [1, 1, 2]})), "x.json", "attribute 5, which is not text"),
        (full_instance(user_attributes=pd.DataFrame([[1, 2]] * 3, columns=["a", "a"])), "x.json", "two names"),
        (full_instance(resources=[1, "1"], units={}, eligible=None), "x.yaml", "two names that are written '1'"),
        (full_instance(users=["a", "b", "\ud800"]), "x.json", "cannot be written as UTF-8"),
        (full_instance().derived(eligible=np.ones((3, 2), dtype=bool)), "x.json", "lose or change eligible"),
        (full_instance().derived(server_attributes=pd.DataFrame()), "x.json", "could not be read back .*'gpu_model'"),
        (full_instance(), "x.xlsx", "cannot tell the format of"),
        (full_instance(), "nowhere/x.json", "there is no folder .*nowhere"),
        (full_instance(), "nowhere/x", "there is no folder .*nowhere"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_and_the_old_file_stays(tmp_path, instance, target, said):
    path = tmp_path / target
    older = full_instance(name="older")
    if path.parent.is_dir() and path.suffix != ".xlsx":
        files.write(older, path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(FileFormatError, match=said):
        files.write(instance, path)
    assert sorted(tmp_path.rglob("*")) == before
    if path.exists():
        assert files.read(path).equals(older)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failure_while_writing_leaves_the_old_file(tmp_path, suffix, monkeypatch):
    path = written(tmp_path, suffix)
    before = sorted(tmp_path.rglob("*"))
    calls = []
    real = os.replace

    def fail_late(source, target):
        calls.append(source)
        if len(calls) == (3 if suffix == "" else 1):
            raise OSError("the disk is full")
        real(source, target)

    monkeypatch.setattr(os, "replace", fail_late)
    with pytest.raises(OSError, match="the disk is full"):
        files.write(full_instance(name="newer", rates=None), path)
    assert sorted(tmp_path.rglob("*")) == before
    assert files.read(path).equals(full_instance())


def test_a_folder_is_written_over_without_leftovers_and_keeps_other_files(tmp_path):
    path = written(tmp_path, "")
    (path / "notes.txt").write_text("mine")
    smaller = Instance.from_arrays([[1]], [[2]])
    files.write(smaller, path)
    assert files.read(path).equals(smaller)
    assert {file.name for file in path.iterdir()} == {"users.csv", "servers.csv", "fairlp.json", "notes.txt"}


def test_writing_over_a_file_keeps_its_mode_and_follows_links(tmp_path):
    path = written(tmp_path, ".json")
    path.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    files.write(full_instance(name="newer"), link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert files.read(path).name == "newer"


def test_a_folder_cannot_take_the_place_of_a_file(tmp_path):
    (tmp_path / "x").write_text("mine")
    with pytest.raises(FileFormatError, match="a file of that name is there"):
        files.write(full_instance(), tmp_path / "x")
    files.write(full_instance(), f"{tmp_path}/y.1/")
    assert files.read(tmp_path / "y.1").equals(full_instance())
    shutil.rmtree(tmp_path / "y.1")


def test_large_whole_numbers_and_tiny_ones_are_exact(tmp_path):
    amounts = np.array([[2.0**53 - 1, 2.0**60, 1e300], [5e-324, 0.1 + 0.2, 1e22]])
    attributes = pd.DataFrame({"id": pd.Series([2**53 + 1, None], dtype=object)})
    instance = Instance.from_arrays(amounts, amounts, user_attributes=attributes)
    for suffix in SUFFIXES:
        back = files.read(written(tmp_path, suffix, instance))
        assert back.equals(instance)
        assert back.user_attributes["id"].tolist()[0] == 2**53 + 1


FORMULAS = ["=1+1", "+cmd|x", "-a", "@x", "\tx", "'=1+1", "''=1", "-", "=", "'s", "-5", "+1e3x", "'"]


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
    instance.write(tmp_path / "folder")
    assert fairlp.read(tmp_path / "folder").equals(instance)
    allocation = fairlp.allocate(instance.replace(queue=None, queues=None), "drfh")
    allocation.to_csv(tmp_path / "tasks.csv")
    pd.testing.assert_frame_equal(
        read_tasks(tmp_path / "tasks.csv", instance),
        allocation.tasks,
        check_names=False,
        check_index_type=False,
        check_column_type=False,
    )
    for path in (*(tmp_path / "folder").glob("*.csv"), tmp_path / "tasks.csv"):
        with open(path, encoding="utf-8", newline="") as file:
            for cell in (cell for row in csv.reader(file) for cell in row if len(cell) > 1 and cell != "-5"):
                assert cell[0] not in "=+-@\t\r", cell


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("name", ["users.csv", "servers.csv"])
def test_a_number_of_many_digits_in_csv_is_refused(digits, name, tmp_path):
    instance = Instance.from_arrays([[1, 4]], [[9, 18]], users=["ann"], servers=["s1"], resources=["cpu", "memory"])
    instance.write(tmp_path / "folder")
    path = tmp_path / "folder" / name
    path.write_text(re.sub(r",[0-9]+", "," + digits * "7", path.read_text(encoding="utf-8"), count=1), encoding="utf-8")
    with pytest.raises(InstanceError, match="resource 'cpu', is inf; expected a finite number"):
        fairlp.read(tmp_path / "folder")
