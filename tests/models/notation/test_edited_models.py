"""Edited models are the models that are built anew: every method of editing, every kind of formula, and masks."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given, settings, strategies as st

from edited_models import Edited, contents
from fairlp import Index, Model
from fairlp.errors import FairlpWarning, ModelError
from profiles import many


@settings(max_examples=many(60), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_an_edited_model_is_the_model_built_anew(seed, times):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairlpWarning)
        edited = Edited(seed)
        for _ in range(times):
            edited.edit()
            assert contents(edited.model) == contents(edited.build())


def users_and_hours(**of_x):
    n, t = Index("n", ["ann", "bob"], "user"), Index("t", [0, 1], "hour")
    model = Model("m", indices=(n, t))
    x = model.variable("x", n, t, **of_x)
    return model, n, t, x


def test_a_subset_that_a_mask_over_more_indices_takes_is_in_use():
    model, n, t, _ = users_and_hours()
    here = model.subset("E", n, [True, True])
    y = model.variable("y", n, t, where=here)
    model.constraint("row", y <= 1, where=here)
    with pytest.raises(ModelError, match="subset 'E' is used in variable 'y'"):
        model.remove("E")
