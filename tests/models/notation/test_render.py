"""A mask is part of the mathematics: text and LaTeX say which elements a block exists for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Index, Model, examples
from fairlp.errors import ModelError
from profiles import many

N, S = Index("n", ["ann", "b_b"], "user"), Index("i", ["s1", "s2"], "server")
MASK = np.array([[True, False], [True, True]])


def test_c_drfh_is_not_printed_as_drfh():
    free = examples.load("khamse-ashari-figure-1").replace(eligible=None)
    free = free.replace(capacities=free.capacities + 1)  # every server has everything
    bound = free.replace(
        eligible=[[True, False], [True, True], [True, True]], task_limits=[None, 4, None]
    )
    drfh, c_drfh = fairlp.formulate(free, "drfh"), fairlp.formulate(bound, "c-drfh")
    assert "∈" not in str(drfh) and r"\in" not in drfh.to_latex()
    text, latex = str(c_drfh), c_drfh.to_latex()
    assert "g[n,i] ≥ 0   ∀ (n,i) ∈ E" in text and "[5 of 6 exist]" in text
    assert "E = {(n,i): n may run on i, which has all that its tasks need}   5 of 6" in text
    assert "limit     ∑_i g[n,i] ≤ T[n]   ∀ n ∈ L (1 of 3)" in text
    assert r"g_{n,i} \ge 0 \quad \forall\, (n,i) \in E\ \text{(0 elsewhere)}" in latex
    assert (
        r"E = \{(n,i) : \text{n may run on i, which has all that its tasks need}\} \quad \text{(5 of 6)}"
        in latex
    )
    assert r"\sum_{i} g_{n,i} \le T_{n} \quad \forall\, n \in L" in latex


def test_a_mask_without_words_is_enumerated_and_equal_ones_have_one_name():
    model = Model("m", indices=(N, S))
    x = model.variable("x", N, S, where=MASK)
    model.constraint("most", x <= 1, where=MASK)
    model.constraint("ann", x.sum(S) >= 1, where=np.array([True, False]))
    model.maximize(x.sum())
    text, latex = str(model), model.to_latex()
    assert "x[n,i] ≥ 0   ∀ (n,i) ∈ E" in text
    assert "most  x[n,i] ≤ 1   ∀ (n,i) ∈ E (3 of 4)" in text
    assert "ann   ∑_i x[n,i] ≥ 1   ∀ n ∈ E1 (1 of 2)" in text
    assert text.endswith(
        "  where\n    E = {(ann,s1), (b_b,s1), (b_b,s2)}   3 of 4\n    E1 = {ann}   1 of 2"
    )
    assert r"x_{n,i} \le 1 \quad \forall\, (n,i) \in E \\" in latex
    assert (
        r"\text{where}\quad & E = \{(\text{ann},\text{s1}), (\text{b\_b},\text{s1}), (\text{b\_b},\text{s2})\}"
        in latex
    )
    assert r"& E_{1} = \{\text{ann}\} \quad \text{(1 of 2)}" in latex


def test_a_long_or_empty_subset_and_names_that_are_taken():
    k = Index("k", range(20))
    model = Model("m")
    model.parameter("E", k, np.ones(20))
    x = model.variable("x", k, where=np.arange(20) != 3)
    model.constraint("never", x <= 1, where=np.zeros(20, dtype=bool))
    nothing = model.variable("y", k, where=np.zeros(20, dtype=bool))
    assert nothing.size == 0
    text = str(model)
    assert "E1 = {0, 1, 2, 4, 5, 6, 7, 8, …}   19 of 20" in text
    assert "never  x[k] ≤ 1   ∀ k ∈ E2 (0 of 20)" in text and "E2 = {}   0 of 20" in text
    assert r"7, 8" not in model.to_latex() and r"\dots\}" in model.to_latex()


def test_a_named_subset_is_used_for_variables_and_rows():
    model = Model("m", indices=(N, S))
    good = model.subset("G", (N, S), MASK, "n likes i")
    x = model.variable("x", N, S, where=good)
    model.constraint("most", x <= 1, where=good)
    assert x.positions.tolist() == [0, 2, 3] and model.compile().n_rows == 3
    assert "G = {(n,i): n likes i}   3 of 4" in str(model) and model.subsets["G"] is good
    assert repr(good) == "<Subset G of n,i: 3 of 4>"
    everyone = model.subset("A", N, [True, True])
    y = model.variable("y", N, where=everyone)
    assert y.positions is None and "A =" not in str(model)
    with pytest.raises(ModelError, match=r"is over <Index i"):
        model.variable("z", N, where=good)
    with pytest.raises(ModelError, match="the name 'G' is used twice"):
        model.subset("G", N, [True, False])


@pytest.mark.parametrize(
    "name", [n for n in fairlp.mechanisms().index if n not in ("slots", "sequential-minmax")]
)
def test_every_model_with_a_mask_says_so_in_both(name):
    instance = examples.load("ghodsi").replace(task_limits=[2, None])
    row = fairlp.mechanisms.find(name)
    if row.formulation is None or row.undefined(instance):
        pytest.skip("no model here")
    model = fairlp.formulate(instance, name)
    blocks = [*model.variables.values(), *model.constraints.values()]
    masked = sum(block.where is not None for block in blocks)
    assert str(model).count("∈ ") - str(model).count("∈ {0,1}") >= masked
    assert model.to_latex().count(r" \in ") - model.to_latex().count(r"\in \{0,1\}") >= masked


def test_a_mask_over_some_of_the_indices():
    n, t = Index("n", ["ann", "bob"], "user"), Index("t", [8, 9, 10], "hour")
    model = Model("m")
    x = model.variable("x", n, t)
    later = pd.Series([True, False, True], index=[10, 8, 9])
    ramp = model.constraint("ramp", x - x.shift(t) <= 5, where=later)
    assert ramp.rows == ["ramp[ann,9]", "ramp[ann,10]", "ramp[bob,9]", "ramp[bob,10]"]
    by_user = model.constraint("some", x <= 1, where={"bob": True, "ann": False})
    assert by_user.rows == ["some[bob,8]", "some[bob,9]", "some[bob,10]"]
    assert model.variable("y", n, t, where=later).size == 4
    square = model.variable("z", n, Index("m", ["ann", "bob"]))
    with pytest.raises(ModelError, match="could run over"):
        model.constraint("two ways", square <= 1, where=[True, False])


def test_the_print_says_what_is_0_outside_an_index():
    n, t = Index("n", ["ann", "bob"], "user"), Index("t", [8, 9, 10], "hour")
    model = Model("m")
    x = model.variable("x", n, t)
    model.constraint(
        "ramp", x - x.shift(t) <= 5, where=pd.Series([False, True, True], index=[8, 9, 10])
    )
    assert "outside" not in str(model)
    assert "outside" not in model.to_latex()
    model.constraint("next", x.shift(t, -1) >= x, where=[[True, True, False], [True, False, False]])
    model.constraint("part", x[:, [9, 10]] <= 3)
    assert "outside" not in str(model)
    model.replace("ramp", x - x.shift(t) <= 5, where=None)
    assert "    x[n,t−1] = 0 outside t" in str(model).splitlines()
    assert r"x_{n,t-1} = 0 \text{ outside } t" in model.to_latex()
    assert model.compile().A.toarray()[:3, :3].tolist() == [[1, 0, 0], [-1, 1, 0], [0, -1, 1]]
    model.remove("ramp")
    model.maximize(x.shift(t, 2).sum())
    assert "    x[n,t−2] = 0 outside t" in str(model).splitlines()


HOURS = [8, 9, 10, 11]


@st.composite
def formulas(draw, x, depth=3):
    """A formula in ``x[t]``, and the rows of its coefficients: an array of elements × hours of x."""
    t = x.indices[0]
    formula, dense = x, np.eye(len(HOURS))
    for _ in range(draw(st.integers(0, depth))):
        if not formula.indices:
            break
        axis = formula.indices[0]
        size = len(axis)
        kind = draw(
            st.sampled_from(
                [
                    "shift",
                    "part",
                    "labels",
                    "mask",
                    "label",
                    "sum",
                    "cumsum",
                    "groups",
                    "times",
                    "add",
                ]
            )
        )
        if kind == "shift":
            steps = draw(st.integers(-3, 3))
            moved = np.zeros_like(dense)
            for k in range(size):
                if 0 <= k - steps < size:
                    moved[k] = dense[k - steps]
            formula, dense = formula.shift(axis, steps), moved
        elif kind == "part":
            ends = st.none() | st.integers(-size, size)
            selection = slice(draw(ends), draw(ends))
            formula, dense = formula[selection], dense[selection]
        elif kind == "labels" and size:
            places = draw(st.lists(st.integers(0, size - 1), min_size=1, unique=True))
            formula, dense = formula[[axis[k] for k in places]], dense[places]
        elif kind == "mask":
            mask = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=bool)
            formula, dense = formula[mask], dense[mask]
        elif kind == "label" and size:
            k = draw(st.integers(0, size - 1))
            formula, dense = formula[axis[k]], dense[[k]]
        elif kind == "sum":
            formula, dense = formula.sum(axis), dense.sum(axis=0, keepdims=True)
        elif kind == "cumsum":
            formula, dense = formula.cumsum(axis), np.cumsum(dense, axis=0)
        elif kind == "groups" and size and axis.symbol == "t":
            owners = draw(st.lists(st.sampled_from("ab"), min_size=size, max_size=size))
            kinds = list(dict.fromkeys(owners))
            rows = [dense[[owner == kind for owner in owners]].sum(axis=0) for kind in kinds]
            # groups of other labels are another index
            formula = formula.groupby(owners, "g_" + "".join(kinds)).sum()
            dense = np.array(rows)
        elif kind == "times":
            formula, dense = 2 * formula, 2 * dense
        elif kind == "add" and axis is t:
            formula, dense = formula - x, dense - np.eye(len(HOURS))
    return formula, dense


@pytest.mark.slow
@given(st.data())
@settings(max_examples=many(1600), deadline=None)
def test_shifts_parts_and_sums_are_printed_and_are_what_they_say(data):
    t = Index("t", HOURS, "hour")
    model = Model("m", indices=(t,))
    x = model.variable("x", t)
    y = model.variable("y", t)
    expected = []
    for k in range(data.draw(st.integers(1, 3))):
        formula, dense = data.draw(formulas(x))
        relation = formula <= k
        if data.draw(st.booleans()):
            # a sum or a single label holds for all rows of the other term
            whole = not formula.indices or formula.indices[0] is t
            relation = (y + formula <= k) if whole else relation
        rows = len(relation.indices[0]) if relation.indices else 1
        dense = np.broadcast_to(dense, (rows, len(HOURS)))
        mask = None
        if relation.indices and data.draw(st.booleans()):
            mask = np.array(
                data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)), dtype=bool
            )
        model.constraint(f"c{k}", relation, where=mask)
        expected.append(dense if mask is None else dense[mask])
    if data.draw(st.booleans()):
        model.minimize(data.draw(formulas(x))[0].sum())
    else:
        model.define("d", data.draw(formulas(x))[0])
    coefficients = model.compile().A.toarray()[:, : len(HOURS)]
    assert coefficients.tolist() == np.concatenate(expected).tolist()
    text = str(model)
    assert text.count("c0  ") == 1 and model.to_latex(symbols=True).startswith(r"\begin{aligned}")
    assert all(
        repr(row).startswith(f"<Constraint {name}:") for name, row in model.constraints.items()
    )


def test_a_shift_within_a_sum_and_of_a_part_is_printed():
    t = Index("t", HOURS)
    model = Model("m")
    x, y = model.variable("x", t), model.variable("y")
    model.constraint("part", y + x[:2].shift(t).sum(t) <= 1)
    model.constraint("late", x.shift(t)[1:3] <= 1)
    model.constraint("twice", x.shift(t).shift(t) <= 1, where=[False, False, True, True])
    text = str(model)
    for line in (
        "y + ∑_t (x[t∈{8,9}])[t−1] ≤ 1",
        "(x[t−1])[t∈{9,10}] ≤ 1   ∀ t∈{9,10}",
        "(x[t−1])[t−1] ≤ 1",
        "(x[t∈{8,9}])[t−1] = 0 outside t∈{8,9}",
    ):
        assert line in text
    # the hours 9 and 10 have one before; from 10 on there is one two before
    assert "\n    x[t−1] = 0 outside" not in text and "(x[t−1])[t−1] = 0 outside" not in text
    assert model.compile().A.toarray()[:, :4].tolist() == [
        [1, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [1, 0, 0, 0],
        [0, 1, 0, 0],
    ]


def test_rows_have_the_numbers_that_a_paper_gives_them():
    model = fairlp.formulate(examples.load("khamse-ashari-figure-1"), "psdsf-tdm")
    (line,) = [line for line in str(model).splitlines() if line.lstrip().startswith("time ")]
    assert line.endswith("≤ 1   ∀ i   (10)")
    assert r"\le 1 \quad \forall\, i \qquad \text{(10)} \\" in model.to_latex()
    x = (own := Model("own")).variable("x")
    own.constraint("cake", x <= 4, doc="100 % of the cake")
    assert "x ≤ 4   100 % of the cake" in str(own)
    assert own.to_latex().splitlines()[1] == (
        r"\text{subject to}\quad & x \le 4 \qquad \text{100 \% of the cake} \\"
    )
