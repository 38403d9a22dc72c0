"""Parts of studies given what is wrong: points, names, journals of others, values that are none, statistics by hand."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fairlp import Instance
from fairlp.errors import FileFormatError, StudyError, UnknownNameError
from fairlp.research.study import checks, statistics, storage
from fairlp.research.study.storage import Journal
from fairlp.research.study.work import Ran


class Given:
    """An allocation of which only totals matter."""

    def __init__(self, *totals):
        self.totals = pd.Series(totals, dtype=float)


INSTANCE = Instance.from_arrays([[1.0, 4.0], [3.0, 1.0]], [[9, 18]], weights=[1, 2])


def test_tasks_that_are_missing_are_under_and_rounding_is_none():
    found = statistics.deviation(INSTANCE, {"a": Given(3, 5), "b": Given(5, 5 - 1e-12)}, of="a", from_="b")
    assert found["under"] == found["under_2"] == 1 and found["under_max"] == 2
    assert found["over"] == 0 and found["under_1"] == 0
    other = statistics.deviation(INSTANCE, {"a": Given(6, 5), "b": Given(5, 5)}, of="a", from_="b")
    assert other["over"] == other["over_1"] == 1 and other["under"] == 0


def test_jains_index_is_of_dominant_shares_by_weight():
    """Shares of 2/9 and 1/3 a task: 3/2 and 2 tasks are 1/3 and 2/3, one each by weight."""
    assert statistics.jain(INSTANCE, {"a": Given(1.5, 2)})["a"] == pytest.approx(1)
    assert statistics.jain(INSTANCE, {"a": Given(3, 2)})["a"] == pytest.approx(0.9)  # one has half
    assert statistics._shares(INSTANCE, Given(9, 3)).tolist() == pytest.approx([2, 1])


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ([{"users": 3}, {"users": 3}], "are the same"),
        ([{"point": 3}], "cannot be called"),
        ([{"error": 3}], "cannot be called"),
        ([{"a b": 3}], "cannot be called"),
        ({"users": []}, "list of values"),
        ([], "empty"),
    ],
)
def test_grids_that_are_none_are_refused(grid, words):
    with pytest.raises(StudyError, match=words):
        checks.points_of(grid)


@pytest.mark.parametrize("wrong", [True, 0, 1.5, "3"])
def test_numbers_of_runs_are_whole(wrong):
    with pytest.raises(StudyError, match="whole number"):
        checks.whole(wrong, "runs", 1)


def test_statistics_are_of_mechanisms_of_the_study():
    asked = [{"name": "deviation", "of": "a", "from": "elsewhere"}]
    with pytest.raises(UnknownNameError, match="elsewhere"):
        checks.statistics_of(asked, {"a": {}, "b": {}})
    assert checks.statistics_of([{"name": "deviation", "of": "a", "from": "b"}], {"a": {}, "b": {}})


DEFINITION = {"name": "small", "grid": {"users": [3, 5]}, "runs": 2}


def journal(path, *lines, definition=DEFINITION):
    text = [json.dumps(storage.stamp(definition)), *lines]
    path.write_bytes("".join(f"{line}\n" for line in text).encode())
    return Journal(path, DEFINITION)


def line(**changes):
    return json.dumps({"key": "k", "run": 0, "values": {"a": 1.5, "b": 2}} | changes)


def test_a_journal_gives_back_its_runs_and_drops_a_line_that_was_cut(tmp_path):
    path = tmp_path / "journal"
    with journal(path, line(), line(run=1)) as opened:
        assert sorted(run for _, run in opened.finished({"k": 0})) == [0, 1]
    whole = path.read_bytes()
    path.write_bytes(whole + line(run=2).encode()[:-4])
    with Journal(path, DEFINITION) as opened:
        assert sorted(run for _, run in opened.finished({"k": 0})) == [0, 1]
        opened.append("k", Ran(0, 3, {"a": 1.0}, None))
    assert path.read_bytes().startswith(whole) and path.read_bytes().count(b"\n") == 4
    with Journal(path, DEFINITION) as opened:
        assert sorted(run for _, run in opened.finished({"k": 0})) == [0, 1, 3]


@pytest.mark.parametrize(
    "wrong",
    [{"values": {"a": "text"}}, {"values": {"a": True}}, {"values": [1]}, {"run": -1}, {"run": 1.0}, {"error": 3}],
)
def test_a_run_that_cannot_be_is_damage(tmp_path, wrong):
    with journal(tmp_path / "journal", line(**wrong)) as opened, pytest.raises(FileFormatError, match="line 2"):
        opened.finished({"k": 0})


@pytest.mark.parametrize(("part", "value"), [("name", "other"), ("grid", {"users": [5, 3]})])
def test_a_journal_of_another_study_is_refused(tmp_path, part, value):
    other = journal(tmp_path / "journal", line(), definition=DEFINITION | {part: value})
    with other as opened, pytest.raises(StudyError, match=f"its {part} differs"):
        opened.finished({"k": 0})
    with journal(tmp_path / "journal", line(), definition=DEFINITION | {"runs": 9}) as opened:
        assert len(opened.finished({"k": 0})) == 1


def test_a_journal_of_another_version_is_refused():
    with pytest.raises(StudyError, match="was begun with fairlp"):
        storage.same({"definition": DEFINITION, "fairlp": "0.0"}, storage.stamp(DEFINITION), "journal")


def test_rows_are_in_order_of_points_and_runs():
    pytest.importorskip("pyarrow")
    rows = [Ran(1, 0, {"a": 1}, None), Ran(0, 1, {"a": 2.5}, None), Ran(0, 0, {"b": np.nan}, None)]
    found = storage.table(DEFINITION, rows)
    assert found["point"].to_pylist() == [0, 0, 1] and found["run"].to_pylist() == [0, 1, 0]
    assert found["a"].to_pylist() == [None, 2.5, 1.0]
