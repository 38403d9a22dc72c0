"""What has a name, by name: the tables of a model and of a solution are read in one way."""

import copy
import pickle
from collections.abc import Mapping

import pytest

from fairlp import Index, Model
from fairlp.errors import UnknownNameError

N = Index("n", ["ann", "bob"], "user")


def cake():
    model = Model("m", indices=(N,))
    x = model.variable("apples", N, upper=3)
    model.variable("pears", N, binary=True)
    weights = model.parameter("weights", N, [1, 2])
    model.subset("near", N, [True, False])
    model.define("twice", 2 * x)
    model.constraint("cake", (weights * x).sum() <= 4)
    model.maximize(x.sum())
    return model


TABLES = {
    "variables": ["apples", "pears"],
    "parameters": ["weights"],
    "constraints": ["cake"],
    "subsets": ["near"],
    "definitions": ["twice"],
}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_a_mapping_of_what_was_declared(table):
    model = cake()
    view = getattr(model, table)
    assert isinstance(view, Mapping)
    assert list(view) == TABLES[table]
    for name, value in view.items():
        assert view[name] is value and name in view
    assert len(view) == len(list(view)) == len(view.values())


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_name_is_an_error_with_the_nearest_and_get_returns_the_default(table):
    view = getattr(cake(), table)
    name = TABLES[table][0]
    with pytest.raises(UnknownNameError, match=f"model.{table} has no '{name}z'.*'{name}'"):
        view[name + "z"]
    assert view.get(name + "z") is None and view.get(name + "z", 3) == 3
    assert view.get(name) is view[name]
    for key in (0, None, ["apples"], N):
        assert key not in view
        with pytest.raises(UnknownNameError):
            view[key]


def test_a_view_shows_what_is_declared_later_and_what_is_removed():
    model = cake()
    variables, constraints = model.variables, model.constraints
    model.variable("late")
    model.remove("cake")
    assert "late" in variables and not constraints


def test_views_are_copied_and_pickled():
    model = cake()
    assert list(copy.copy(model.variables)) == list(model.variables)
    assert list(pickle.loads(pickle.dumps(model.variables))) == list(model.variables)
    values = model.solve().values
    assert pickle.loads(pickle.dumps(values))["apples"].equals(values["apples"])
