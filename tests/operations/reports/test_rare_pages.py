"""Names that are long or the same, edits that meet what is there, subjects that are none."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance, examples
from fairlp.errors import InstanceError, UnknownNameError
from fairlp.operations.reports import classes
from fairlp.operations.reports import facts as prices
from fairlp.operations.reports.edits import edited
from fairlp.operations.reports.standing import Standing
from fairlp.operations.reports.subject import is_dump, subject_of


def servers(names):
    attributes = pd.DataFrame({"kind": names}, index=[f"s{k}" for k in range(len(names))])
    capacities = [[float(4 + k)] for k in range(len(names))]
    return Instance.from_arrays([[1.0]], capacities, servers=list(attributes.index), server_attributes=attributes)


def test_names_of_classes_are_short_and_told_apart():
    found = list(classes.Classes.among(servers(["x" * 300, "same", "same"])).names)
    assert len(found[0]) < 100 and found[0].endswith("…")
    assert len(set(found)) == 3 and found[1].startswith("same") and found[2].startswith("same")
    nearly = servers(["same", "same", "other"]).derived(capacities=np.array([[4.0], [4.0 + 1e-9], [9.0]]))
    found = classes.Classes.among(nearly).names
    assert len(set(found)) == 3 and any(name.endswith(" #2") for name in found)


def test_what_is_no_dump(tmp_path):
    assert not is_dump(str(tmp_path))
    (tmp_path / "odd.json").write_bytes(b"\xff\xfe{")
    assert not is_dump(str(tmp_path / "odd.json")) and not is_dump("") and not is_dump(str(tmp_path / "none"))


def test_a_cluster_without_queues_has_no_table_of_them():
    with pytest.raises(TypeError, match="no queues"):
        Standing.of(subject_of(examples.ghodsi(), np.array([[1.0], [1.0]]))).queues  # noqa: B018


def test_an_answer_of_a_mechanism_that_is_gone_has_no_prices():
    found = fairlp.allocate(examples.wang_figure_1(), "drfh")
    gone = dataclasses.replace(found, mechanism="gone", prices_array=None)
    assert prices.next_to_buy(gone, classes.Classes.among(gone.instance)) is None
    assert prices.next_to_buy(found, classes.Classes.among(found.instance)) is not None


def two():
    return Instance.from_arrays([[1.0], [2.0]], [[12.0]], users=["x", "a (new)"], queue=["a", "b"], resources=["cpu"])


def test_new_users_are_told_apart_from_those_there():
    users = list(edited(two(), None, None, {"a": {"like": "x"}}).users)
    assert len(set(users)) == 3 and users[:2] == ["x", "a (new)"] and users[2].startswith("a (new")


def test_nobody_is_like_an_empty_queue():
    empty = two().replace(queues={"a": 1, "b": 1, "c": 1})
    with pytest.raises(UnknownNameError, match="like='c' is no user and no queue with users"):
        edited(empty, None, None, {"d": {"like": "c"}})


def test_given_rates_say_nothing_of_users_that_are_new():
    rated = Instance.from_arrays([[1.0], [2.0]], [[12.0]], rates=[[3.0], [4.0]], users=["x", "y"], queue=["a", "b"])
    with pytest.raises(InstanceError, match="rates are given, and there are none for users that are new"):
        edited(rated, None, None, {"c": {"like": "x"}})
