"""Pages of instances with nothing to buy, trees too large to show, and solvers that fail at the ends."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from fairlp import Instance
from fairlp.errors import InstanceError
from fairlp.operations.reports import layout, sections, subject
from fairlp.operations.reports.facts import Facts
from fairlp.operations.reports.standing import Standing
from fairlp.operations.reports.subject import is_dump, subject_of


def satisfied():
    """Two users that have all their tasks on a server that is half empty."""
    return Instance.from_arrays([[1.0], [1.0]], [[8.0]], task_limits=[2.0, 2.0], queue=["a/x", "b"])


def facts(**more):
    one = dataclasses.replace(subject_of(satisfied(), np.array([[2.0], [2.0]])), **more)
    return Facts(Standing.of(one, "drfh"))


def test_nothing_is_worth_buying_where_everybody_has_all_its_tasks():
    standing = facts().standing
    fair = dataclasses.replace(standing.fair, prices_array=np.zeros((1, 1)))
    found = sections._prices(Facts(dataclasses.replace(standing, fair=fair)))
    assert found.paragraphs == [sections._NO_PRICE] and not found.tables


def test_who_waits_for_no_server_is_told_where_all_lines_are_understood():
    homeless = pd.DataFrame({"user": ["zoe"], "queue": ["q"], "tasks": [3]})
    found = sections._reading(facts(homeless=homeless))
    assert [table.id for table in found.tables] == ["homeless-table"]
    assert found.tables[0].rows == [["zoe", "q", 3]]


def test_lines_that_were_not_understood_are_told_where_everybody_has_a_server():
    odd = pd.DataFrame({"file": ["nodes.json"], "where": ["node 'n1'"], "what": ["no name"], "done": ["left out"]})
    found = sections._reading(facts(not_understood=odd))
    assert [table.id for table in found.tables] == ["odd-table"]
    assert found.tables[0].rows == [["nodes.json", "node 'n1'", "no name", "left out"]]


def test_of_a_tree_that_is_too_large_the_rest_is_counted(monkeypatch):
    queues = Standing.of(subject_of(satisfied(), np.array([[2.0], [2.0]])), "drfh").queues
    monkeypatch.setattr(layout, "MOST_QUEUES", 1)
    found = layout.tree_of(queues, False)
    assert found["name"] == "whole cluster" and found["more"] == 2 and not found["children"]


def test_a_folder_of_tables_is_no_dump_even_beside_one(tmp_path):
    (tmp_path / "dump.json").write_text(json.dumps({"nodes": {"node": []}}), encoding="utf-8")
    assert is_dump(tmp_path)
    for name in ("users.csv", "servers.csv"):
        (tmp_path / name).write_text("user,cpu\n", encoding="utf-8")
    assert not is_dump(tmp_path)


def test_an_instance_for_which_nothing_is_defined_is_told(monkeypatch):
    assert subject.chosen(satisfied(), None) and subject.chosen(satisfied(), "tsf") == "tsf"
    monkeypatch.setattr(subject, "TABLE", {})
    with pytest.raises(InstanceError, match="no mechanism is defined for this instance"):
        subject.chosen(satisfied(), None)
