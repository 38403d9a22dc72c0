"""What hardly ever stands in a file, or in the way of one: read, written or refused as the rest."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import FileFormatError, InstanceError
from fairlp.models.files.arrays import read_arrays, write_arrays
from fairlp.models.files.instances import differences
from fairlp.models.files.model_text import hint
from fairlp.models.files.traces import read_alibaba_gpu
from fairlp.models.files.whole_files import read_bytes


def small(**more):
    how = {"users": ["a", "b"], "servers": ["s", "t"], "resources": ["cpu"], "name": "small"} | more
    return Instance.from_arrays([[1.0], [2.0]], [[4.0], [8.0]], **how)


def test_a_number_in_a_state_is_finite(tmp_path):
    write_arrays(tmp_path / "state.npz", {}, {"now": np.array(np.inf), "then": np.array(2.5)})
    kept = read_arrays(tmp_path / "state.npz", "state")
    assert kept.number("then") == 2.5
    with pytest.raises(FileFormatError, match="'now' is inf"):
        kept.number("now")


def test_a_state_that_was_compressed_is_refused(tmp_path):
    plain, packed = tmp_path / "plain.npz", tmp_path / "packed.npz"
    write_arrays(plain, {}, {"x": np.random.default_rng(0).random(1000)})
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.namelist():
            new.writestr(entry, old.read(entry))
    with pytest.raises(FileFormatError, match=r"compressed|more than it can hold"):
        read_arrays(packed, "state")


def test_a_user_may_run_on_several_servers_of_a_table(tmp_path):
    wanted = small(eligible=[["s", "t"], ["t"]])
    wanted.write(tmp_path / "folder")
    (tmp_path / "folder" / "fairlp.json").unlink()  # it says how many rows there were
    listed = pd.DataFrame({"user": ["a", "a", "b"], "server": ["s", "t", "t"]})
    listed.to_csv(tmp_path / "folder" / "eligible.csv", index=False)
    users = pd.read_csv(tmp_path / "folder" / "users.csv")
    users.drop(columns="eligible", errors="ignore").to_csv(tmp_path / "folder" / "users.csv", index=False)
    assert fairlp.read(tmp_path / "folder").eligible.tolist() == [[True, True], [False, True]]


def test_an_attribute_of_a_file_has_a_name_of_text(tmp_path):
    path = tmp_path / "odd.yaml"
    small(server_attributes=pd.DataFrame({"zone": ["x", "y"]}, index=["s", "t"])).write(path)
    text = path.read_text(encoding="utf-8")
    assert "zone: x" in text
    path.write_text(text.replace("zone: x", "3: x"), encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"attributes: 3 \(int\) is no name; expected text"):
        fairlp.read(path)


def test_attributes_that_a_frame_cannot_tell_apart():
    twice = pd.DataFrame([["x", "y"], ["x", "y"]], columns=["zone", "zone"], index=["s", "t"])
    with pytest.raises(InstanceError, match="zone"):
        small(server_attributes=twice).to_frames()
    numbers = pd.DataFrame({7: [1.0, 2.0]}, index=["a", "b"])
    with pytest.raises(InstanceError, match=r"7.*a name of text"):
        small(user_attributes=numbers).to_frames()


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        ({"units": {"cpu": "cores"}}, {"units": {"cpu": "threads"}}, "units"),
        ({"name": "x"}, {"name": "y"}, "name"),
        ({"eligible": [["s"], ["s", "t"]]}, {"eligible": [["t"], ["s", "t"]]}, "eligible"),
    ],
)
def test_what_differs_is_named(one, other, named):
    assert named in differences(small(**one), small(**other))


def test_the_order_of_attributes_is_kept():
    frame = pd.DataFrame({"zone": ["x", "y"], "rack": ["1", "2"]}, index=["s", "t"])
    one, other = small(server_attributes=frame), small(server_attributes=frame[["rack", "zone"]])
    assert differences(one, other) == ["the order of server attributes"]


def test_a_condition_that_is_written_otherwise_is_another():
    zones = pd.DataFrame({"zone": ["x", "y"]}, index=["s", "t"])
    one = small(server_attributes=zones, eligible=["zone == 'x'", None])
    other = small(server_attributes=zones, eligible=["zone != 'y'", None])
    assert (one.eligible == other.eligible).all() and "the condition of user 'a'" in differences(one, other)


def test_a_word_of_yaml_that_is_used_again(tmp_path):
    path = tmp_path / "again.yaml"
    small().write(path)
    text = path.read_text(encoding="utf-8").replace("name: small", "name: &word small")
    path.write_text(text, encoding="utf-8")
    assert fairlp.read(path).equals(small())


def test_a_name_that_is_taken_by_a_numbered_one_is_left_to_it(tmp_path):
    labels = ["x y", "x_y", "x_y_2", "x-y"]
    instance = Instance.from_arrays(np.ones((4, 1)), [[4.0]], users=labels, resources=["cpu"])
    fairlp.formulate(instance, "drf").write(tmp_path / "names.mps", names="labels")
    again = fairlp.read_program(tmp_path / "names.mps")
    assert len(set(again.column_names)) == again.n_columns


def test_of_very_many_names_none_is_proposed():
    assert hint("abd", ["abc"]) == "; did you mean 'abc'?"
    assert hint("abd", []) == hint("abd", [f"n{k}" for k in range(3000)]) == ""


def test_a_cell_of_a_trace_that_is_too_long(tmp_path):
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\nn1,1,1,0,\n", encoding="utf-8")
    tasks.write_text("name\n" + "x" * 200_000 + "\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"tasks.csv, line 2: .*expected commas between cells"):
        read_alibaba_gpu(nodes, tasks)


def test_a_name_that_no_file_can_have():
    with pytest.raises(FileFormatError, match="cannot be read: embedded null"):
        read_bytes(Path("a\0b.json"))


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
        found = fairlp.allocate(fairlp.examples.ghodsi(), "drf")
        found.to_json(pipe)
        assert json.loads(os.read(reader, 1 << 16))["mechanism"] == "drf"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_exact_bound_of_a_row_without_a_range_is_only_a_comment(tmp_path):
    path = tmp_path / "edited.mps"
    path.write_text(
        "NAME t\nROWS\n N cost\n L row\n L other\nCOLUMNS\n x cost 1 row 1\n x other 1\n"
        "RHS\n rhs row 4 other 9\nRANGES\n"
        "* other: the other bound is exactly 0.1\n* gone: the other bound is exactly 7\n"
        "* row: the other bound is exactly 1\n rng row 3\nENDATA\n",
        encoding="utf-8",
    )
    program = fairlp.read_program(path)
    assert program.row_lower.tolist() == [1.0, -np.inf] and program.row_upper.tolist() == [4.0, 9.0]
