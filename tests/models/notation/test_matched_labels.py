"""Labels are aligned or refused, numbers have one door, and every formula prints."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Index, Instance, Model
from fairlp.errors import FairlpError, InstanceError, ModelError
from paths import DOCS
from profiles import many

K = Index("k", ["a", "b", "c"])


def over_k():
    model = Model("m")
    return model, model.variable("x", K)


@pytest.mark.parametrize("axis", ["users", "servers", "resources"])
@pytest.mark.parametrize(
    "labels",
    [3, 1.5, {"a"}, frozenset("a"), [["a"]], ["\ud800"], ["a" * 131_073]],
    ids=["count", "float", "set", "frozenset", "list", "half a character", "long"],
)
def test_labels_of_an_instance_are_a_list(axis, labels):
    with pytest.raises(InstanceError, match=axis.removesuffix("s")):
        Instance.from_arrays([[1]], [[3]], **{axis: labels})


@settings(max_examples=many(400))
@given(st.integers(0, 2**32 - 1))
def test_models_of_parts_shifts_and_sums_print(seed):
    """In text and in LaTeX, whatever labels an index has."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    start = int(rng.integers(0, 12))
    t = Index("t", range(start, start + n) if rng.random() < 0.6 else [f"l{k}" for k in range(n)])
    r = Index("r", ["a", "b", "c"][: int(rng.integers(1, 4))])
    model = Model("m")
    x, y, z = model.variable("x", t), model.variable("y"), model.variable("z", t, r)
    p = model.parameter("p", t, rng.random(n))

    def term():
        first = int(rng.integers(0, n))
        stop = int(rng.integers(first + 1, n + 1))
        steps = int(rng.integers(-3, 4))
        terms = (
            lambda: x,
            lambda: y,
            lambda: x[first:stop],
            lambda: x.shift(t, steps),
            lambda: x[first:stop].shift(t),
            lambda: x[first:stop].shift(t).sum(t),
            lambda: z.shift(t).sum(r),
            lambda: p * x,
        )
        return terms[rng.integers(len(terms))]()

    try:
        model.constraint("c", term() + term() <= 1)
        model.minimize(y + term().sum())
    except FairlpError:  # parts of one index that do not go together
        return
    assert "c" in str(model) and r"\le" in model.to_latex()


def test_a_formula_is_selected_from_by_label():
    t = Index("t", range(8, 12))
    model = Model("m")
    x = model.variable("x", t, upper=1)
    model.constraint("c", x.shift(t)[1:3] <= 0.25)
    model.constraint("d", (2 * x + 1)[11] <= 2)
    model.maximize(x.sum())
    assert model.solve().values["x"].tolist() == pytest.approx([0.25, 0.25, 1, 0.5])


def test_what_gives_the_order_of_a_table_is_no_set():
    model, x = over_k()
    p = model.parameter("p", (), 1)
    model.minimize(x.sum() + p)
    base = Instance.from_arrays([[1], [1]], [[3]], queue=["a", "b"])
    for use in (
        lambda: model.sweep(p, {1, 2}),
        lambda: model.sweep(p, [1, 2], read={"x"}),
        lambda: base.replace(queues={"a", "b"}),
        lambda: fairlp.compare(base, {"drfh", "tsf"}),
    ):
        with pytest.raises(FairlpError, match="is given a set, which has no order"):
            use()
    with pytest.raises(TypeError, match="not iterable"):
        fairlp.compare(base, 3)


def test_a_constraint_without_indices_that_has_no_row_prints():
    model = Model("m")
    y = model.variable("y")
    model.constraint("none", y <= 1, where=False)
    model.minimize(y)
    assert "y ≤ 1 (0 of 1)" in str(model) and "(0 of 1)" in model.to_latex()


def test_indices_of_a_model_have_an_order_and_slices_whole_steps():
    model, x = over_k()
    for use, message in (
        (lambda: Model("m", indices={K}), "a set, which has no order"),
        (lambda: Model("m", indices=["k"]), "expected indices"),
        (lambda: model.variable("v", {K}), "a set, which has no order"),
        (lambda: x.sum({K}), "a set, which has no order"),
        (lambda: x[::"a"], "in steps of 'a'"),
        (lambda: x[::0], "in steps of 0"),
    ):
        with pytest.raises(ModelError, match=message):
            use()


def test_the_page_about_labels_is_true():
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    page = DOCS / "labels.md"
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=options)
    assert outcome.attempted > 25 and outcome.failed == 0
