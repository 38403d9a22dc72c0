"""Labels of NumPy, numbers that are none, tables of the wrong length, what HTML shows, and what is not equal."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairlp import Instance, examples
from fairlp.errors import FairlpError, InstanceError


def small(**more):
    return Instance.from_arrays([[1.0], [2.0]], [[4.0], [8.0]], **({"users": ["a", "b"], "servers": ["s", "t"]} | more))


def test_labels_of_numpy_are_those_of_python():
    labels = [np.int64(3), np.str_("b")]
    assert [type(label) for label in small(users=labels).users] == [int, str]
    assert list(small(users=labels).users) == [3, "b"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"counts": ["many", 1]}, "counts are not all numbers"),
        ({"weights": [1, "heavy"]}, "weights are not all numbers"),
        ({"task_limits": [[1, 2], [3, 4]]}, r"task limits have shape \(2, 2\); expected \(2,\)"),
        ({"user_attributes": pd.DataFrame({"team": ["x"]}, index=["a"])}, "attributes of 1 users for 2"),
    ],
)
def test_what_is_no_number_or_of_another_length_is_said(wrong, words):
    with pytest.raises(InstanceError, match=words):
        small(**wrong)


def test_no_limit_may_be_none():
    assert small(task_limits=[None, 3]).task_limits.tolist() == [np.inf, 3]


@pytest.mark.parametrize("condition", ["zone == 1j", "zone == b'x'"])
def test_a_condition_compares_words_and_numbers_only(condition):
    zones = pd.DataFrame({"zone": ["x", "y"]}, index=["s", "t"])
    with pytest.raises(FairlpError, match="zone"):
        small(server_attributes=zones, eligible=[condition, None])


def test_a_column_without_values_is_of_no_kind():
    empty = pd.DataFrame({"zone": [None, None]}, index=["s", "t"])
    for condition in ("zone == 'x'", "zone == 3", "zone < 3"):
        assert small(server_attributes=empty, eligible=[f"not ({condition})", None]).eligible.all()


def test_html_has_weights_and_counts_where_they_say_something():
    plain, rich = small()._repr_html_(), small(weights=[1, 3], counts=[5, 1])._repr_html_()
    assert "weight" not in plain and "<th>count" not in plain
    assert "<th>weight" in rich and "<th>count" in rich and "<td>5</td>" in rich


def test_other_labels_and_other_columns_are_not_equal():
    zones = pd.DataFrame({"zone": ["x", "y"]}, index=["s", "t"])
    assert small().equals(small()) and not small().equals(small(users=["a", "c"]))
    assert not small(server_attributes=zones).equals(small(server_attributes=zones.rename(columns={"zone": "rack"})))


def test_weights_by_resource_are_no_weights_of_users():
    instance = examples.ghodsi().replace(weights=np.ones_like(examples.ghodsi().demands))
    with pytest.raises(InstanceError, match="weights are given per resource here"):
        instance.user_weights  # noqa: B018


class Columns:
    """A table of another library, which goes through its columns."""

    def __init__(self, rows):
        self.rows = np.array(rows, dtype=object)

    def to_numpy(self):
        return self.rows

    def __array__(self, dtype=None, copy=None):
        return self.rows.astype(dtype)

    def __iter__(self):
        return iter(self.rows.T)


@pytest.mark.parametrize(
    ("demands", "told"),
    [
        (Columns([[1.0, "much"], [3.0, 4.0]]), r"'much' in row 1, column 2"),
        ({1.0, 2.0}, r"not 'set'"),
        ([[1, 2], [3, 10**5000]], r"a number too large in row 2, column 2"),
    ],
    ids=["columns", "a set", "many digits"],
)
def test_what_is_no_table_of_numbers_is_told(demands, told):
    with pytest.raises(
        InstanceError, match=rf"^demands are not all numbers \(.*{told}\); expected a table of numbers$"
    ):
        Instance.from_arrays(demands, [[4.0, 4.0]])


def test_numbers_too_large_are_told_by_name():
    for given in ("weights", "task_limits"):
        with pytest.raises(InstanceError, match=r"are not all numbers \(a number too large of user 'bob'\)$"):
            Instance.from_arrays([[1.0], [2.0]], [[4.0]], users=["ann", "bob"], **{given: [1, 10**400]})
