"""Models with strange parts: nodes of no kind that is known, parts of no model, sweeps that are not proved at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Index, Model
from fairlp.errors import ModelError
from fairlp.models.notation.entries import Constraint
from fairlp.models.notation.expressions import Expression, Parameter, Variable
from fairlp.models.notation.labels import labels_on
from own_back_ends import Dual

N = Index("n", ["ann", "bob"], "user")


class Strange(Expression):
    """An expression of somebody else's, that nothing here knows."""

    degree = 1
    indices = ()


def model():
    made = Model("m", indices=(N,))
    x = made.variable("x", N, upper=3)
    made.constraint("most", x.sum() <= made.parameter("h", (), 4))
    made.maximize(x["ann"] + 2 * x["bob"])
    return made


def test_an_expression_of_no_known_kind_is_named():
    made = model()
    made.maximize(Strange())
    with pytest.raises(ModelError, match="Strange cannot be compiled"):
        made.compile()
    with pytest.raises(ModelError, match="Strange cannot be printed"):
        str(made)


def test_a_constraint_of_no_model_cannot_be_removed():
    row = Constraint("most", model()["most"].relation, ())
    with pytest.raises(ModelError, match="constraint 'most' is of no model"):
        row.remove()


def test_parts_of_no_model_take_other_numbers():
    h = Parameter("h", (), np.asarray(4.0))
    h.set(5)
    assert float(h.values) == 5
    x = Variable("x", (N,), bounds=(np.zeros(2), np.full(2, 3.0)))
    x.set(upper=7)
    assert x.upper.tolist() == [7, 7] and x.lower.tolist() == [0, 0]


def test_labels_of_a_series_over_two_indices_are_those_of_each():
    index = pd.MultiIndex.from_product([["ann", "bob"], ["s", "t", "u"]])
    series = pd.Series(np.arange(6.0), index=index)
    assert labels_on(series, 0) == ["ann", "bob"] and labels_on(series, 1) == ["s", "t", "u"]


def test_a_sweep_asks_again_where_the_solver_does_not_end():
    ends = []

    class Slow(Dual):
        name = "slow"

        def run(self, program, options):
            found = super().run(program, options)
            ends.append(len(ends))
            return replace(found, termination=fairlp.Termination.UNKNOWN) if len(ends) == 2 else found

    found = model().sweep("h", [1, 2, 3], solver=Slow())
    assert found["objective"].tolist() == [2, 4, 6] and len(ends) == 4
