"""What people write who make their first mechanism or back end: what is missing is said, and nothing is shared."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import fairlp
from fairlp.errors import ModelError, UnknownNameError, UnsupportedError
from fairlp.mechanisms.references import load, load_solver

INSTANCE = fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], users=["ann", "bob"])


def halves(instance):
    return np.full((len(instance.users), instance.n_servers), 0.5)


def test_a_decorator_without_its_parentheses_is_refused():
    with pytest.raises(
        UnknownNameError, match=re.escape("halves has no name as a mechanism; write @fairlp.mechanism('")
    ):
        fairlp.mechanism(halves)


def test_one_condition_need_not_be_in_a_list_and_must_be_a_function():
    alone = fairlp.mechanism("halves-of-one", domain=lambda instance: "there are two users")(halves)
    with pytest.raises(fairlp.errors.NotDefinedError, match="there are two users"):
        fairlp.allocate(INSTANCE, alone)
    with pytest.raises(
        UnknownNameError, match=re.escape("domain of 'halves-of-two' has 'two users'; expected functions")
    ):
        fairlp.mechanism("halves-of-two", domain=("two users",))(halves)


def test_a_formulation_without_an_objective_is_refused():
    @fairlp.mechanism("nothing-is-best")
    def feasible(instance):
        model = fairlp.Model("no objective", indices=(instance.users, instance.servers))
        x = model.variable("x", instance.users, instance.servers)
        model.constraint("one", x.sum(instance.servers) <= 1)
        model.define("tasks", x)
        return model

    with pytest.raises(ModelError, match=re.escape("does not say what is best; add model.maximize(…)")):
        fairlp.allocate(INSTANCE, feasible)


def test_a_module_without_any_is_told_from_a_misspelt_name(tmp_path, monkeypatch):
    (tmp_path / "empty_rules.py").write_text("def plain(instance):\n    return 1\n", encoding="utf-8")
    path = str(tmp_path / "empty_rules.py")
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    with pytest.raises(UnknownNameError, match=r"has no mechanism 'rule'; it has none$"):
        load(f"{path}:rule")
    with pytest.raises(UnknownNameError, match=r"has no solver 'Mine'; it has none$"):
        load_solver(f"{path}:Mine")
    with pytest.raises(UnsupportedError, match=r"plain' is no back end; expected a subclass of fairlp\.Backend"):
        load_solver(f"{path}:plain")
