"""What people do who meet tables and files for the first time: the message says what is wrong with them."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import FileFormatError, InstanceError

USERS = pd.DataFrame({"user": ["ann", "bob"], "cpu": [1, 3], "memory": [4, 1]})
SERVERS = pd.DataFrame({"server": ["s1", "s2"], "cpu": [9, 16], "memory": [18, 64]})


@pytest.mark.parametrize(
    ("users", "servers", "words"),
    [
        (SERVERS, USERS, "are the two tables swapped? The users come first"),
        (SERVERS.set_index("server"), USERS.set_index("user"), "are the two tables swapped?"),
        (USERS.rename(columns={"user": "User"}), SERVERS, "a column 'User'; labels stand in a column 'user'"),
        (USERS, SERVERS.rename(columns={"server": "servers"}), "a column 'servers'; labels stand in a column 'server'"),
        (USERS.assign(weights=[1, 2]), SERVERS, "did you mean 'weight'? Else add it to the servers"),
        (USERS.rename(columns={"cpu": "CPU"}), SERVERS, "did you mean 'cpu'? Else add it"),
        (USERS.assign(gpu=[0, 1]), SERVERS, "no server offers; add it to the servers, or call it 'attribute:gpu'"),
    ],
)
def test_a_table_with_other_columns_is_refused_with_what_was_meant(users, servers, words):
    with pytest.raises(InstanceError, match=re.escape(words)):
        Instance.from_frames(users, servers)


def test_an_attribute_may_be_called_as_the_labels_of_the_other_table():
    users = USERS.set_index("user").assign(server=["old", "new"], User=["a", "b"])
    instance = Instance.from_frames(users, SERVERS)
    assert list(instance.users) == ["ann", "bob"]
    assert Instance.from_frames(*instance.to_frames()).user_attributes["server"].tolist() == ["old", "new"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"user\tcpu\nann\t1\n", "line 1: columns are separated by tabs; expected commas"),
        (b"user;cpu\nann;1\n", "line 1: columns are separated by semicolons; expected commas"),
        ("user,cpu\nann,1\n".encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
        ("user,cpu\nJosé,1\n".encode("latin-1"), "iconv -f LATIN1 -t UTF-8"),
    ],
)
def test_a_table_of_a_spreadsheet_is_refused_with_what_to_do(content, words, tmp_path):
    (tmp_path / "users.csv").write_bytes(content)
    (tmp_path / "servers.csv").write_text("server,cpu\ns,4\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=re.escape(words)):
        fairlp.read(tmp_path)
