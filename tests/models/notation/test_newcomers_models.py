"""What people write who meet models for the first time: a relation, a sum or a name that is none is said to be none."""

from __future__ import annotations

import re

import pytest

import fairlp
from fairlp import Index, Model
from fairlp.errors import ModelError


@pytest.fixture
def model():
    made = Model("small")
    made.variable("x", Index("u", ["ann", "bob"], "user"))
    return made


@pytest.mark.parametrize(
    "strict", [lambda x: x < 1, lambda x: x.sum() > 1, lambda x: x["ann"] > x["bob"], lambda x: x > 1]
)
def test_a_strict_relation_is_refused(strict, model):
    with pytest.raises(ModelError, match="no strict relations: write <= or >="):
        strict(model["x"])


def test_a_sum_is_over_an_index_not_over_its_symbol(model):
    with pytest.raises(
        ModelError, match=re.escape("sum over 'u': expected an Index, not str; a variable x has x.indices")
    ):
        model["x"].sum("u")


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_name_is_text(name, model):
    words = re.escape(f"cannot be called {name!r}; expected text")
    with pytest.raises(ModelError, match=f"a constraint {words}"):
        model.constraint(name, model["x"] <= 1)
    with pytest.raises(ModelError, match=words):
        model.variable(name)
    assert list(model.variables) == ["x"] and not model.constraints and fairlp.Model("small").objective is None
