"""Edited models are the models that are built anew: every method of editing, every kind of formula, and masks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edited_models import Edited, contents
from fairlp import Index, Model
from fairlp.errors import FairlpWarning, ModelError, UnknownNameError
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


def test_a_mean_is_over_the_labels_that_there_are():
    n = Index("n", ["ann", "bob"])
    model = Model("m", indices=(n,))
    x = model.variable("x", n)
    model.constraint("mean", x.mean(n) <= 2)
    model.define("share", x.mean())
    model.maximize(x.sum())
    assert model.solve().objective == pytest.approx(4)
    model.extend(n, "cat")
    solution = model.solve()
    assert solution.objective == pytest.approx(6)
    assert solution.value(model.definitions["share"]) == pytest.approx(2)
    model.maximize(x.mean())
    model.extend(n, "dan")
    assert model.solve().objective == pytest.approx(2)
    model.remove("mean")
    model["x"].set(upper=3)
    model.minimize(-x.mean())
    assert model.solve().objective == pytest.approx(-3)


@pytest.mark.parametrize(
    "mask", [None, [[True, True], [True, True]], [("ann", 0), ("ann", 1), ("bob", 0), ("bob", 1)]]
)
def test_a_mask_of_new_elements_is_kept_where_there_was_none(mask):
    model, n, t, x = users_and_hours(upper=[[1, 2], [3, 4]], where=mask)
    model.maximize(x.sum())
    model.extend(t, 2, x={"where": [True, False], "upper": 3})
    assert model.solve().objective == pytest.approx(13)
    assert len(x.where) == 5 and x.size == 5
    model.extend(n, "cat", x={"where": False, "upper": 3})
    assert x.size == 5 and model.solve().objective == pytest.approx(13)


def test_rows_and_what_helpers_declare_follow_the_mask_of_the_variable():
    model, _, t, x = users_and_hours(upper=4)
    model.semicontinuous("batch", x, 2)
    model.constraint("least", x >= 1)
    of_new = {"where": [True, False]}
    model.extend(t, 2, x=of_new, least=of_new)
    assert of_new == {"where": [True, False]}
    model.extend(t, 3, x=of_new, least=[True, False])
    assert (
        model["batch_on"].size == model["batch"].size == model["x"].size == model["least"].size == 6
    )
    model.minimize(x.sum())
    assert model.solve().objective == pytest.approx(12)


def test_a_mask_over_fewer_indices_is_followed():
    model, n, t, _ = users_and_hours()
    here = model.subset("E", n, [True, True])
    y = model.variable("y", n, t, where=here)
    row = model.constraint("row", y <= 1, where=here)
    model.extend(t, 2)
    assert y.size == row.size == 6 and y.where is None
    model.extend(n, "cat", E=False)
    assert y.size == row.size == 6 and [label for label, _ in y.where.elements(9)] == 3 * [
        "ann"
    ] + 3 * ["bob"]
    with pytest.raises(
        ModelError, match="label 'dan' of index 'n' is given a mask for 'y', which foll"
    ):
        model.extend(n, "dan", E=False, y={"where": True})
    with pytest.raises(ModelError, match="subset 'E' is used in variable 'y'"):
        model.remove("E")


REFUSED = {
    "a row's mask that differs": ({"x": {"where": True, "upper": 3}, "same": False}, "one mask for 'x' and another"),
    "an unknown word": ({"x": {"ub": 3}}, "given 'ub' of variable 'x'"),
    "bounds that are no mask": ({"x": 3.0}, "'where' of 'x'"),
    "a parameter of another index": ({"x": {"where": True}, "q": 3}, "given 'q', which does not run over the index"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_an_entry_that_is_not_used_is_refused_and_nothing_grows(case):
    entries, message = REFUSED[case]
    model, n, t, x = users_and_hours(where=[[True, False], [True, True]], upper=3)
    model.parameter("q", n, [1, 2])
    model.constraint("same", x <= 2, where=x.where)
    before = model.compile()
    with pytest.raises((ModelError, UnknownNameError), match=message):
        model.extend(t, 2, **entries)
    assert list(t) == [0, 1] and model.compile() is before


@pytest.mark.slow
def test_the_first_label_has_the_bounds_of_the_declaration():
    p = Index("p", [])
    model = Model("m", indices=(p,))
    x, y = model.variable("x", p, upper=5), model.variable("y", p, binary=True)
    z = model.variable("z", p, lower=None, upper=[])
    x.set(lower=-1)
    copy = model.copy()
    del model, x, y, z
    with pytest.raises(ModelError, match="no upper bound for variable 'z'"):
        copy.extend(p, "one")
    copy.extend(p, "one", z={"upper": 2})
    names = "xyz"
    assert [copy[name].lower.tolist() for name in names] == [[-1], [0], [-np.inf]]
    assert [copy[name].upper.tolist() for name in names] == [[5], [1], [2]]


def test_formulas_from_before_a_label_are_not_taken_for_those_of_now():
    model, n, t, x = users_and_hours(upper=1)
    hourly = x.sum(n)
    groups = hourly.groupby(["a", "b"], "team")
    old = [
        hourly * [1, 2],
        hourly - hourly.shift(t),
        x[:, [0, 1]].sum(n),
        x[n, t.alias("s")].sum(n),
    ]
    model.extend(t, 2)
    for formula in [*old, groups.mean()]:
        with pytest.raises(ModelError, match="written before an index of it got another label"):
            model.constraint("row", formula <= 1)
        with pytest.raises(ModelError, match="written before an index of it got another label"):
            model.solve().value(formula)
    model.constraint("row", hourly <= 1)
    assert model["row"].size == 3


@pytest.mark.slow
def test_a_copy_grows_once_the_original_is_deleted():
    model, n, _, x = users_and_hours(upper=2)
    model.constraint("mean", x.mean(n) <= 1)
    model.maximize(x.sum())
    twin = model.copy()
    with pytest.raises(ModelError, match="also that of"):
        twin.extend(n, "cat")
    model.compile()
    del model, x
    twin.extend(n, "cat")
    assert twin.solve().objective == pytest.approx(6)
