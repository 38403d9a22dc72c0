"""Tables that go through a pipe: no line is too long, numbers are whole, and what is cut is said."""

import json

import numpy as np
import pandas as pd
import pytest

import fairlp
from cli_runner import run
from fairlp.cli.output import fitted
from profiles import by_day

WIDEST = 160
USERS = [f"organisation/department-{n % 7}/a-group-of-people-{n}/user-{n:03d}" for n in range(100)]
SERVERS = [f"rack-{k % 4}.a-long-data-centre-name.example.org/machine-{k:02d}" for k in range(40)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A file of 100 users and 40 servers with long names."""
    rng = np.random.default_rng(1)
    demands, capacities = rng.integers(1, 5, (100, 3)), rng.integers(8, 40, (40, 3))
    names = {"users": USERS, "servers": SERVERS, "resources": ["cpu", "memory", "gpu"]}
    path = tmp_path_factory.mktemp("wide") / "wide.json"
    fairlp.Instance.from_arrays(demands, capacities, **names).write(path)
    return path


def longest(text):
    return max(map(len, text.splitlines()))


@pytest.mark.parametrize(
    "arguments",
    [
        "compare wide.json -m drfh,cdrf,naive-drf,psdsf-rdm",
        "compare wide.json -m drfh,cdrf --value shares",
        "audit wide.json -m drfh -p feasible -p envy-free -p 'leximin (asset)' -p 'PS-DSF (rdm)'",
        "allocate wide.json --table tasks",
    ],
    ids=["compare", "shares", "audit", "tasks"],
)
def test_no_line_is_longer_than_the_width(arguments, wide, monkeypatch):
    monkeypatch.chdir(wide.parent)
    for columns in by_day((WIDEST, 90, 60), 2):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert longest(run(arguments, code=int("audit" in arguments)).stdout) <= columns


def test_what_is_cut_is_said_and_json_csv_and_a_file_have_all(wide, tmp_path):
    audit = f"audit {wide} -m drfh -p 'leximin (asset)'"
    shown = run(audit, code=1).stdout
    data = json.loads(run(audit, "--json", code=1).stdout)
    witness = data[0]["witness"]
    assert len(witness) > 120 and witness not in shown
    assert witness[:60] in shown and f"cut to {WIDEST} columns: --json and --csv print all" in shown
    assert witness in run(audit, "--csv", code=1).stdout.replace(chr(34) * 2, chr(34))
    run(audit, "-o", tmp_path / "whole.txt", code=1)
    assert witness in (tmp_path / "whole.txt").read_text(encoding="utf-8")


def test_nothing_is_said_where_nothing_is_cut():
    assert "cut to" not in run("compare ghodsi").stdout


def test_every_number_and_every_server_of_a_wide_table_is_there(wide):
    shown = run("allocate", wide, "--table", "tasks").stdout
    heads = [line for line in shown.splitlines() if line.startswith("user ")]
    ends = [name.split("…")[-1] for line in heads for name in line.split()[1:]]
    assert len(ends) == len(SERVERS) and all(
        name.endswith(end) for name, end in zip(SERVERS, ends, strict=True)
    )
    tasks = fairlp.allocate(fairlp.read(wide), "drfh").tasks
    first = [
        line.split()[1:]
        for line in shown.splitlines()
        if line.endswith(f"{'':0}") and "/user-000" in line
    ]
    numbers = [float(number) for line in first for number in line]
    np.testing.assert_allclose(numbers, tasks.iloc[0], rtol=1e-5, atol=1e-5)


def test_names_that_end_differently_stay_different(wide):
    shown = run("compare", wide, "-m", "drfh", "--value", "tasks").stdout
    assert all(f"user-{n:03d}" in shown for n in range(100))


def test_numbers_are_whole_however_narrow():
    frame = pd.DataFrame({"a long name of a number": ["123456.7"], "words": ["some " * 20]})
    cells = [["user", *frame.columns], ["ann", *frame.iloc[0]]]
    for width in range(34, 120):
        parts = fitted(cells, {1}, width)
        assert all(widths[1] >= 8 for widths in parts if 1 in widths)
        assert all(sum(widths.values()) + 3 * (len(widths) - 1) <= width for widths in parts)
        assert sorted({k for widths in parts for k in widths}) == [0, 1, 2]


def test_a_number_of_many_digits_is_whole_and_words_make_room():
    cells = [["user", "number", "words"], ["ann", "9" * 30, "some " * 20]]
    (widths,) = fitted(cells, {1}, 60)
    assert widths == {0: 4, 1: 30, 2: 20}


@pytest.mark.parametrize(
    ("said", "width"), [("12", 40), ("no number", WIDEST), ("", WIDEST), ("170", 170)]
)
def test_the_environment_says_the_width(said, width, wide, monkeypatch):
    monkeypatch.setenv("COLUMNS", said)
    shown = run("audit", wide, "-m", "drfh", "-p", "leximin (asset)", code=1).stdout
    assert width - 2 <= longest(shown) <= width
