"""Labels are aligned or refused, numbers have one door, and every formula prints."""

from __future__ import annotations

import doctest
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
import fairlp_research
from fairlp import Index, Instance, Model
from fairlp.errors import FairlpError, InstanceError, ModelError
from fairlp.models.notation.labels import LONGEST_LABEL
from fairlp_clusters.dues.weights import with_weights
from paths import DOCS
from profiles import many

K = Index("k", ["a", "b", "c"])
HUGE = 10**400


def over_k():
    model = Model("m")
    return model, model.variable("x", K)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"ann", "bob"}, "a set, which has no order"),
        (frozenset({"ann"}), "a frozenset, which has no order"),
        (5, r"is given 5; expected a list of labels, such as range\(3\)"),
        (None, "is given None; expected a list"),
        ("ann", "given 'ann'"),
        ([["a"], ["b"]], r"has \['a'\] at position 0"),
        ([1.0, float("nan")], "at position 1"),
        (["a\ud800"], "half of a character"),
        (["a" * (LONGEST_LABEL + 1)], "100,001 letters; expected at most 100,000"),
        (pd.DataFrame({"a": [1]}), "expected a list of labels"),
        (np.zeros((2, 2)), "expected a list of labels"),
    ],
    ids=range(11),
)
def test_labels_that_have_no_order_or_cannot_be_written_are_refused(labels, message):
    with pytest.raises(ModelError, match=message):
        Index("k", labels)


@pytest.mark.parametrize(
    "labels",
    [["a", "b"], ("a", "b"), {"a": 1, "b": 2}, {"a": 1, "b": 2}.keys(), np.array(["a", "b"])],
)
def test_what_has_an_order_gives_labels(labels):
    assert list(Index("k", labels)) == ["a", "b"]


@pytest.mark.parametrize("axis", ["users", "servers", "resources"])
@pytest.mark.parametrize(
    "labels",
    [3, 1.5, {"a"}, frozenset("a"), [["a"]], ["\ud800"], ["a" * 131_073]],
    ids=["count", "float", "set", "frozenset", "list", "half a character", "long"],
)
def test_labels_of_an_instance_are_a_list(axis, labels):
    with pytest.raises(InstanceError, match=axis.removesuffix("s")):
        Instance.from_arrays([[1]], [[3]], **{axis: labels})


def test_masked_entries_are_no_numbers():
    model, x = over_k()
    masked = np.ma.array([1, 2, -999], mask=[0, 0, 1])
    for use in (
        lambda: x <= masked,
        lambda: model.parameter("p", K, masked),
        lambda: model.variable("y", K, upper=masked),
        lambda: x <= [1, 2, np.ma.masked],
    ):
        with pytest.raises(ModelError, match=r"masked|nan|NaN"):
            use()
    full = np.ma.array([1, 2, 3], mask=[0, 0, 0])
    assert model.parameter("q", K, full).values.tolist() == [1, 2, 3]
    with pytest.raises(InstanceError, match="masked"):
        Instance.from_arrays(np.ma.array([[1.0, 2.0]], mask=[[0, 1]]), [[3, 3]])
    with pytest.raises(ModelError, match="'p' of k 'b'"):
        model.parameter("p", K, pd.Series([1, pd.NA, 2], index=list("abc"), dtype="Int64"))


def test_text_is_no_number():
    model, x = over_k()
    for use in (
        lambda: x <= "1",
        lambda: x <= ["1", "2", "3"],
        lambda: "2" * x,
        lambda: model.parameter("p", K, ["1", "2", "3"]),
        lambda: model.variable("y", upper="3"),
        lambda: Instance.from_arrays([["1"]], [[3]]),
        lambda: Instance.from_arrays([[1]], [[3]], weights=["1"]),
    ):
        with pytest.raises(FairlpError, match=r"text|str|numbers"):
            use()


@pytest.mark.parametrize("number", [Fraction(1, 4), Decimal("0.25"), np.longdouble(0.25), 0.25])
def test_every_kind_of_number_is_taken_everywhere(number):
    model, x = over_k()
    y = model.variable("y", upper=number)
    model.constraint("k", x <= [number, 1, 1])
    model.constraint("y", number * y <= number)
    model.maximize(x.sum() + y + model.parameter("p", (), number) * y)
    assert model.solve().objective == pytest.approx(0.25 + 2 + 0.25 * 1.25)
    assert Instance.from_arrays([[number]], [[1]]).demands[0, 0] == 0.25


@pytest.mark.parametrize(
    "number", [HUGE, -HUGE, Fraction(HUGE, 3), Decimal("1e400"), np.longdouble("1e400")]
)
def test_numbers_beyond_floats_are_refused_in_words(number):
    model, x = over_k()
    y = model.variable("y")
    ghodsi = fairlp.examples.ghodsi()
    for use in (
        lambda: number * y,
        lambda: y <= number,
        lambda: x <= [number, 1, 1],
        lambda: model.parameter("p", K, [number, 1, 1]),
        lambda: model.variable("z", upper=number),
        lambda: Instance.from_arrays([[number]], [[3]]),
        lambda: Instance.from_arrays([[1]], [[3]], weights=[number]),
        lambda: fairlp_research.frontier(ghodsi, [number]),
        lambda: with_weights(ghodsi, {"A": number}),
    ):
        with pytest.raises(FairlpError) as caught:
            use()
        assert len(str(caught.value)) < 400


def test_a_series_over_tuples_is_matched_with_an_index_of_tuples():
    pairs = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["u", "v"])
    model = Model("m")
    w = model.variable("w", Index("k", pairs), upper=3)
    owner = pd.Series(["p", "q", "q", "p"], index=pairs)
    model.constraint("group", w.groupby(owner.iloc[::-1]).sum() <= 1)
    model.maximize((w * owner.map({"p": 1, "q": 2})).sum())
    assert model.solve().objective == pytest.approx(3)


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
    with pytest.raises(InstanceError, match="mechanisms are 3; expected a list of names"):
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
