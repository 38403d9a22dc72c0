"""Instances as folders of CSV files: what is written is read back, and what is wrong is named with its line."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings, strategies as st

import fairlp
from fairlp import Instance
from fairlp.errors import FairlpWarning, FileFormatError, InstanceError
from fairlp.models.files import instances as files
from instance_strategies import full_instance, instances, written


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"user\tcpu\nann\t1\n", "line 1: columns are separated by tabs; expected commas"),
        (b"user;cpu\nann;1\n", "line 1: columns are separated by semicolons; expected commas"),
        ("user,cpu\nann,1\n".encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
        ("user,cpu\nJosé,1\n".encode("latin-1"), "iconv -f LATIN1 -t UTF-8"),
    ],
)
def test_a_table_of_a_spreadsheet_is_refused_with_what_to_do(content, message, tmp_path):
    (tmp_path / "users.csv").write_bytes(content)
    (tmp_path / "servers.csv").write_text("server,cpu\ns,4\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=re.escape(message)):
        fairlp.read(tmp_path)


def test_a_user_may_run_on_several_servers_of_a_table(tmp_path):
    case = Instance.from_arrays(
        [[1.0], [2.0]],
        [[4.0], [8.0]],
        users=["a", "b"],
        servers=["s", "t"],
        resources=["cpu"],
        eligible=[["s", "t"], ["t"]],
    )
    case.write(tmp_path / "folder")
    (tmp_path / "folder" / "fairlp.json").unlink()  # it says how many rows there were
    table = pd.DataFrame({"user": ["a", "a", "b"], "server": ["s", "t", "t"]})
    table.to_csv(tmp_path / "folder" / "eligible.csv", index=False)
    users = pd.read_csv(tmp_path / "folder" / "users.csv")
    users.drop(columns="eligible", errors="ignore").to_csv(
        tmp_path / "folder" / "users.csv", index=False
    )
    assert fairlp.read(tmp_path / "folder").eligible.tolist() == [[True, True], [False, True]]


@settings(deadline=None)
@given(instances())
@example(full_instance(users=[1, "1", 2]))
@example(full_instance(user_attributes=pd.DataFrame({"a": ["", None, "b"]})))
@example(
    full_instance(
        server_attributes=pd.DataFrame({"gpu_model": ["T4", None], "mixed": [1, "a"]}, [10, 20])
    )
)
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


LABELS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    min_size=2,
    max_size=2,
    unique=True,
)


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


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("name", ["users.csv", "servers.csv"])
def test_a_number_of_many_digits_in_csv_is_refused(digits, name, tmp_path):
    instance = Instance.from_arrays(
        [[1, 4]], [[9, 18]], users=["ann"], servers=["s1"], resources=["cpu", "memory"]
    )
    instance.write(tmp_path / "folder")
    path = tmp_path / "folder" / name
    path.write_text(
        re.sub(r",[0-9]+", "," + digits * "7", path.read_text(encoding="utf-8"), count=1),
        encoding="utf-8",
    )
    with pytest.raises(InstanceError, match="resource 'cpu' is inf; expected a finite number"):
        fairlp.read(tmp_path / "folder")


@pytest.mark.slow
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


#: a file of a folder (⏎ ends a line), and what the error says
WRONG_FILES = r"""
users.csv: user,cpu,memory⏎ann,1,4⏎bob,3,1⏎cat,1⏎ => users.csv, line 4: has 2 cells; expected 3
users.csv: user,cpu,memory⏎⏎'ann⏎',1,4⏎x,1,2,3⏎ => users.csv, line 3: has 1 cells
users.csv: user,cpu,memory⏎"ann⏎",1,4⏎x,1,2,3⏎ => users.csv, line 4: has 4 cells
users.csv: user,cpu,memory⏎"ann,1,4⏎ => users.csv, line 2: unexpected end
users.csv: user;cpu;memory⏎ann;1;4⏎ => separated by semicolons; expected commas
users.csv: user,cpu,memory,⏎ann,1,4,⏎ => column 4 has no name
users.csv: usr,cpu,memory⏎ann,1,4⏎ => users.csv, line 1: there is no column 'user'; did you
users.csv: user:int,cpu,memory⏎ann,1,4⏎ => line 2: column 'user:int' is 'ann'; expected a whole
users.csv: user:int,cpu,memory⏎,1,4⏎ => line 2: column 'user:int' is blank
users.csv: user,cpu,memory,weight⏎ann,1,4,heavy⏎ => line 2: column 'weight' is 'heavy'; expected
users.csv: user,cpu,cpu⏎ann,1,4⏎ => column 'cpu' occurs twice
users.csv: user,cpu,memory⏎ann,1,4GB⏎ => folder: column 'memory' of user 'ann' is '4GB'
users.csv: user,cpu,memory⏎ann,1,⏎ => folder: demand of user 'ann' and resource 'memory' is nan
users.csv: user,cpu,memory⏎,1,2⏎ => user label '' .position 0. is no name
users.csv: user,cpu,memory⏎ => folder: there are no users
users.csv:  => users.csv is empty
users.csv: user,cpu,memory,disk⏎ann,1,4,5⏎ => 'disk' of users holds numbers
rates.csv: user,server,rate⏎an,s1,1⏎ => rates.csv, line 2: user 'an' is unknown; did you mean 'ann'
rates.csv: user,server,rate⏎ann,s1,1⏎ann,s1,2⏎ => rates.csv, line 3: .*occur twice
rates.csv: user,server,rate⏎ann,s1,⏎ => rates.csv, line 2: column 'rate' is blank
rates.csv: user,server,rate⏎ann,s1,x⏎ => rates.csv, line 2: column 'rate' is 'x'
eligible.csv: user,server⏎ann,s2⏎ => eligible.csv, line 2: server 's2' is unknown
fairlp.json: {"fairlp": 3} => fairlp.json: the schema version is 3 \(int\); this fairlp reads 2
fairlp.json: {"name": "x"} => fairlp.json has no schema version
fairlp.json: {"fairlp": 2, "nme": "x"} => unknown key 'nme'; did you mean 'name'
fairlp.json: {"fairlp": 2, "name": 3} => 'name' is 3; expected str
fairlp.json: {"fairlp": 2 => fairlp.json: .*cut off
fairlp.json: {"fairlp": 2, "rows": {"users.csv": 3}} => has 2 rows, but fairlp.json beside it says 3
fairlp.json: {"fairlp": 2, "rows": {"eligible.csv": 3}} => has no eligible.csv, which fairlp.json lists
fairlp.json: {"fairlp": 2, "rows": {"user.csv": 3}} => rows of 'user.csv'; did you mean 'users.csv'
"""


@pytest.mark.parametrize("line", WRONG_FILES.strip().splitlines())
def test_a_wrong_file_of_a_folder_is_named(tmp_path, line):
    text, message = line.replace("⏎", "\n").split(" => ")
    name, text = text.split(": ", 1)
    with pytest.raises((FileFormatError, InstanceError), match=message):
        files.read(folder_of(tmp_path, {"users.csv": USERS, "servers.csv": SERVERS, name: text}))


def folder_of(tmp_path, contents):
    """A folder with these files."""
    (folder := tmp_path / "folder").mkdir()
    for name, text in contents.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({}, "has no users.csv; it is empty"),
        (
            {"users.csv": USERS, "server.csv": SERVERS},
            "has no servers.csv; did you mean .*'server.csv'",
        ),
        (
            {"users.csv": b"user,cpu\n\xff,1\n", "servers.csv": SERVERS},
            "users.csv is not UTF-8: byte 9",
        ),
        (
            {"users.csv": USERS, "servers.csv": SERVERS, "fairlp.json": "[" * 100_000},
            "fairlp.json: .* nested too deeply",
        ),
        (
            {
                "users.csv": "user,cpu,memory,eligible\nann,1,1,cpu > 1\n",
                "servers.csv": SERVERS,
                "eligible.csv": "user,server\nann,s1\n",
            },
            "user 'ann' also has a condition in users.csv",
        ),
    ],
)
def test_a_wrong_folder_says_where(tmp_path, contents, message):
    with pytest.raises((FileFormatError, InstanceError), match=message):
        files.read(folder_of(tmp_path, contents))


def test_a_folder_whose_users_lack_a_column_of_servers_is_warned_of(tmp_path):
    (tmp_path / "users.csv").write_text("user,memory\nann,4\n", encoding="utf-8")
    (tmp_path / "servers.csv").write_text("server,cpu,memory,number\ns,16,64,3\n", encoding="utf-8")
    with pytest.warns(FairlpWarning) as warnings_shown:
        fairlp.read(tmp_path)
    messages = [str(warning.message) for warning in warnings_shown]
    assert "did you mean 'count'" in messages[0] and "servers have 'cpu'" in messages[1]
