"""Answers that floats cannot settle, models without prices, files that have the names of others, rounds that fail."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import fairlp
from fairlp import Instance, api
from fairlp.errors import SolverError, UnknownNameError, UnsupportedError
from fairlp.mechanisms.max_min import ladder as settling
from fairlp.mechanisms.references import located
from fairlp.mechanisms.table import TABLE, find
from fairlp.models.trees.filling import Rows


def test_a_delicate_answer_that_nothing_settles_fails_as_the_solver_did(monkeypatch):
    delicate = Instance.from_arrays([[1.0, 1e-9], [1e-9, 1.0]], [[1e9, 1e-7]])
    asked = settling.Asked(delicate, find("drf"), find("drf").methods[0])

    def fails(_):
        raise SolverError("out of digits")

    exact = settling.settled(fails)(asked)
    assert exact.tasks.sum(axis=1) == pytest.approx(fairlp.allocate(delicate, "drf").totals.to_numpy(), rel=1e-9)
    with pytest.raises(SolverError, match="out of digits"):
        settling.settled(fails, None)(asked)
    monkeypatch.setattr(settling, "MOST_EXACT", 0)
    with pytest.raises(SolverError, match="out of digits"):
        settling.settled(fails)(asked)


def test_a_file_that_fails_leaves_the_module_of_its_name(tmp_path):
    (tmp_path / "json.py").write_text("raise ZeroDivisionError('careless')\n", encoding="utf-8")
    with pytest.raises(UnknownNameError, match=r"json\.py failed: ZeroDivisionError: careless"):
        located(f"{tmp_path / 'json.py'}:plain")
    assert sys.modules["json"] is json


def test_a_leximin_of_whole_numbers_has_no_prices():
    @fairlp.mechanism("whole-leximin", whole_tasks=True)
    def whole_leximin(instance):
        n, i = instance.users, instance.servers
        model = fairlp.Model("whole", indices=(n, i))
        x, t = model.variable("x", n, i, integer=True, upper=9), model.variable("t")
        model.define("tasks", x + 0)
        model.constraint("capacity", x.sum(n) <= 6)
        model.leximin(model.constraint("fairness", x.sum(i) >= t), t)
        return model

    instance = Instance.from_arrays([[1.0], [1.0]], [[6.0]])
    found = fairlp.allocate(instance, "whole-leximin")
    assert found.totals.tolist() == [3, 3] and found.prices is None


def test_a_round_of_a_tree_that_stops_nobody_is_told(monkeypatch):
    tree = Instance.from_arrays([[1.0], [1.0]], [[6.0]], queue=["a", "b"])
    assert fairlp.allocate(tree, "h-drf", method="rounds").totals.tolist() == [3, 3]
    monkeypatch.setattr(Rows, "ended", lambda self, tasks: np.zeros(len(tasks), dtype=bool))
    with pytest.raises(SolverError, match="a round of the filling stopped nobody"):
        fairlp.allocate(tree, "h-drf", method="rounds")


def test_all_mechanisms_go_along_the_tree_only_where_there_is_one(monkeypatch):
    flat = Instance.from_arrays([[1.0], [1.0]], [[4.0]])
    tree = flat.replace(queue=["a", "b"])
    planted = fairlp.allocate(flat, "drf")
    monkeypatch.setattr(api, "run", lambda row, *_, **__: planted)
    along = {row.name for row in TABLE.values() if row.along_tree and row.compared}
    assert along and not along & set(api.allocate_all(flat))
    assert along & set(api.allocate_all(tree)) == {name for name in along if not find(name).undefined(tree)} != set()


@pytest.mark.parametrize("merge", ["no", 0.0, None])
def test_merge_is_true_or_false(merge):
    for share in (fairlp.allocate, fairlp.compare):
        with pytest.raises(UnsupportedError, match=f"merge is {merge!r}; expected True or False"):
            share(fairlp.examples.ghodsi(), "drfh", merge=merge)
    assert fairlp.allocate(fairlp.examples.ghodsi(), "drfh", merge=np.False_).totals.tolist() == [3, 2]
