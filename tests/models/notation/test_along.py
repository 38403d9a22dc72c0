"""Maps along an index, selections, data and sparse parameters in random formulas, against dense arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Index, Model, log
from fairlp.errors import ModelError
from profiles import many
from random_models import forget_program, same_bytes

N, I, T = (  # noqa: E741
    Index("n", ["ann", "bob", "cat"], "user"),
    Index("i", ["s1", "s2"], "server"),
    Index("t", range(4), "step"),
)
G = Index("g", ["web", "ml", "idle"], "team")
OWNER = pd.Series({"cat": "ml", "ann": "ml", "bob": "web"}, name="g")
MASK = np.arange(24).reshape(3, 2, 4) % 5 != 0


@dataclass
class Dense:
    """An expression as a dense array: its symbols, then one place for each column and one for the constant."""

    symbols: str
    array: np.ndarray

    def over(self, symbols):
        missing = [s for s in symbols if s not in self.symbols]
        array = self.array[(None,) * len(missing)]
        own_symbols = "".join(missing) + self.symbols
        return array.transpose([*(own_symbols.index(s) for s in symbols), len(own_symbols)])

    def axis(self, symbol):
        return self.symbols.index(symbol)


def add(a, b, sign=1):
    symbols = a.symbols + "".join(s for s in b.symbols if s not in a.symbols)
    return Dense(symbols, a.over(symbols) + sign * b.over(symbols))


def times(a, numbers, symbols):
    """Product with numbers over other indices."""
    all_symbols = a.symbols + "".join(s for s in symbols if s not in a.symbols)
    return Dense(
        all_symbols, a.over(all_symbols) * Dense(symbols, numbers[..., None]).over(all_symbols)
    )


def shifted(a, symbol, steps):
    axis = a.axis(symbol)
    shifted_array = np.zeros_like(a.array)
    for k in range(a.array.shape[axis]):
        if 0 <= k - steps < a.array.shape[axis]:
            prefix = (slice(None),) * axis
            shifted_array[(*prefix, k)] = a.array[(*prefix, k - steps)]
    return Dense(a.symbols, shifted_array)


def grouped(a, mean):
    axis, teams = a.axis("n"), [OWNER[user] for user in N]
    parts = []
    for team in G:
        rows = [k for k, team_of_row in enumerate(teams) if team_of_row == team]
        total = sum((a.array.take(k, axis) for k in rows), np.zeros_like(a.array.take(0, axis)))
        parts.append(total / max(len(rows), 1) if mean else total)
    return Dense(a.symbols.replace("n", "g"), np.stack(parts, axis))


class Twins:
    """The same random formula twice: for fairlp, and as a dense array."""

    def __init__(self, rng):
        self.rng = rng
        self.model = Model("m", indices=(N, I, T, G))
        x = self.model.variable("x", N, I, T, where=MASK)
        y, z = self.model.variable("y", N, T), self.model.variable("z")
        a = sp.random(
            3,
            4,
            0.4,
            random_state=int(rng.integers(99)),
            data_rvs=lambda size: rng.integers(1, 5, size),
        )
        self.sparse = self.model.parameter("a", (N, T), a), a.toarray()
        size = self.size = int(MASK.sum()) + 12 + 1 + 1
        unit = np.eye(size)
        dense = np.zeros((3, 2, 4, size))
        dense[MASK] = unit[: MASK.sum()]
        self.leaves = [
            (x, Dense("nit", dense)),
            (y, Dense("nt", unit[MASK.sum() : MASK.sum() + 12].reshape(3, 4, size))),
            (z, Dense("", unit[-2])),
        ]

    def leaf(self):
        return self.leaves[int(self.rng.integers(len(self.leaves)))]

    def grown(self, pair):
        """One more operation on a formula and its twin."""
        node, dense = pair
        rng = self.rng
        size = {"n": 3, "i": 2, "t": 4, "g": 3}
        match int(rng.integers(9)):
            case 0 if "t" in dense.symbols:
                steps = int(rng.integers(-5, 6))
                return node.shift(T, steps), shifted(dense, "t", steps)
            case 1 if "t" in dense.symbols:
                return node.cumsum(T), Dense(dense.symbols, dense.array.cumsum(dense.axis("t")))
            case 2 if "n" in dense.symbols and "g" not in dense.symbols:
                mean = bool(rng.integers(2))
                groups = node.groupby(OWNER, G)
                return (groups.mean() if mean else groups.sum()), grouped(dense, mean)
            case 3 if dense.symbols:
                symbol = str(rng.choice(list(dense.symbols)))
                index = next(
                    index_of_node
                    for index_of_node in node.indices
                    if index_of_node.symbol == symbol
                )
                rest = dense.symbols.replace(symbol, "")
                return node.mean(index), Dense(rest, dense.array.mean(dense.axis(symbol)))
            case 4 if dense.symbols:
                symbols = "".join(
                    rng.permutation(list(dense.symbols))[
                        : int(rng.integers(1, len(dense.symbols) + 1))
                    ]
                )
                numbers = rng.integers(-3, 4, [size[s] for s in symbols]).astype(float)
                return node * labelled(rng, numbers, symbols), times(dense, numbers, symbols)
            case 5 if dense.symbols:
                symbol = str(rng.choice(list(dense.symbols)))
                numbers = rng.integers(-3, 4, size[symbol]).astype(float)
                return labelled(rng, numbers, symbol) - node, add(
                    self.constant(numbers, symbol), dense, -1
                )
            case 6 if "g" not in dense.symbols:
                a, numbers = self.sparse
                product = times(dense, numbers, "nt")
                if "n" in dense.symbols and rng.random() < 0.5:
                    shared = [s for s in "nt" if s in dense.symbols]
                    axes = tuple(product.axis(s) for s in shared)
                    rest = "".join(s for s in product.symbols if s not in shared)
                    return a @ node, Dense(rest, product.array.sum(axes))
                return 2 * a * node, Dense(product.symbols, 2 * product.array)
            case 7 if "n" in dense.symbols and "g" not in dense.symbols:
                other = self.leaf()
                return node + other[0], add(dense, other[1])
        return node * 2, Dense(dense.symbols, dense.array * 2)

    def constant(self, numbers, symbols):
        array = np.zeros((*numbers.shape, self.size))
        array[..., -1] = numbers
        return Dense(symbols, array)


def labelled(rng, numbers, symbols):
    """The numbers with labels in another order, named by the symbols of the indices."""
    axes = [
        next(candidate for candidate in (N, I, T, G) if candidate.symbol == s).labels
        for s in symbols
    ]
    order = [rng.permutation(len(labels)) for labels in axes]
    numbers, axes = (
        numbers[np.ix_(*order)],
        [labels[positions] for labels, positions in zip(axes, order, strict=True)],
    )
    if len(axes) == 1:
        return pd.Series(numbers, axes[0].rename(symbols))
    if len(axes) == 2:
        return pd.DataFrame(numbers, axes[0].rename(symbols[0]), axes[1].rename(symbols[1]))
    return pd.Series(
        numbers.reshape(-1), pd.MultiIndex.from_product(axes, names=list(symbols))
    ).sample(frac=1)


@settings(max_examples=many(120), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_random_formulas_are_those_of_dense_arrays(seed, length):
    twins = Twins(np.random.default_rng(seed))
    pair = twins.leaf()
    for _ in range(length):
        pair = twins.grown(pair)
    node, dense = pair
    model = twins.model
    row = model.constraint("k", node <= 0)
    program = model.compile()
    symbols = "".join(index.symbol for index in row.over)
    flat = dense.over(symbols).reshape(-1, dense.array.shape[-1])
    np.testing.assert_allclose(program.A.toarray(), flat[:, :-1], atol=1e-12)
    np.testing.assert_allclose(program.row_upper, -flat[:, -1], atol=1e-12)
    assert program.A.has_canonical_format and program.A.data.all()
    copy = model.copy()
    forget_program(copy)
    assert same_bytes(copy.compile(), program) == []
    assert str(copy) == str(model) and copy.to_latex() == model.to_latex()
    point = np.random.default_rng(seed).uniform(size=program.n_columns)
    model.define("value", node)
    expected = dense.over("".join(index.symbol for index in node.indices)) @ np.append(point, 1.0)
    np.testing.assert_allclose(model.evaluate("value", point), expected, atol=1e-9)


def one():
    model = Model("m", indices=(N, I, T))
    return model, model.variable("x", N, I), model.variable("y", N, T)


def rows(model, relation):
    """Coefficients of the rows of a relation."""
    model.constraint("k", relation)
    return model.compile().A.toarray()


KEYS = {
    "positions": (np.s_[:, 1:3], (slice(None), [1, 2]), "y[n,t∈{1,2}]"),
    "last": (np.s_[:, -1:], (slice(None), [3]), "y[n,t∈{3}]"),
    "labels": (np.s_[["cat", "ann"]], ([2, 0],), "y[n∈{cat,ann},t]"),
    "slice of labels": (np.s_["bob":"cat", :], ([1, 2],), "y[n∈{bob,cat},t]"),
    "mask": (np.s_[np.array([True, False, True]), ::2], ([0, 2], [0, 2]), "y[n∈{ann,cat},t∈{0,2}]"),
    "mask with labels": (
        pd.Series({"bob": True, "cat": False, "ann": False}),
        ([1],),
        "y[n∈{bob},t]",
    ),
    "a row's part": (np.s_["bob", 2:], (1, [2, 3]), "y[bob,t∈{2,3}]"),
}


@pytest.mark.parametrize("name", KEYS)
def test_some_labels_are_selected(name):
    key, positions, text = KEYS[name]
    model, _, y = one()
    expected = np.eye(18)[6:].reshape(3, 4, 18)
    for axis, choice in enumerate(positions):
        expected = expected if isinstance(choice, (int, slice)) else expected.take(choice, axis)
    expected = expected[1] if positions[0] == 1 else expected
    selection = y[key]
    np.testing.assert_array_equal(rows(model, selection <= 1), expected.reshape(-1, 18))
    assert str(selection) == text
    w = model.parameter("w", (N, T), np.arange(12.0).reshape(3, 4))
    assert w[key].indices[0].labels.equals(selection.indices[0].labels)


def test_parts_of_an_index_do_not_mix_and_have_rows_of_their_own():
    model, x, y = one()
    with pytest.raises(
        ModelError,
        match=r"'t' stands for other labels .* select the same labels in both.*\.shift\(\)",
    ):
        y[:, 1:] - y[:, :-1]
    for mixed in (lambda: y - y[:, 1:], lambda: y[:, 1:] - y):
        with pytest.raises(ModelError, match="select the same labels in both"):
            mixed()
    block = model.constraint("part", y[:, :2] <= 1, where=np.eye(3, 2, dtype=bool))
    assert block.rows == ["part[ann,0]", "part[bob,1]"] and "∀ n, t∈{0,1}" in repr(block)
    every = model.subset("E", (N, T), np.ones((3, 4), dtype=bool))
    subset = model.subset("S", (N, T), np.eye(3, 4, dtype=bool))
    with pytest.raises(ModelError, match="is over <Index t"):
        model.constraint("wrong", y[:, :2] <= 1, where=subset)
    with pytest.raises(ModelError, match="is over <Index t"):
        model.constraint("wrong", y[:, :2] <= 1, where=every)
    assert y[:, 1:3].sum(T).indices == (N,) and (y[:, 1:3].sum(T) + x.sum(I)).indices == (N,)
    with pytest.raises(ModelError, match="is over <Index t"):
        model.replace("part", y[:, 1:] <= 1, where=subset)
    assert model.constraint("other", y[:, :0] <= 1).rows == []
    model.compile()


def test_the_program_goes_to_other_tools_and_files(tmp_path):
    model, x, y = one()
    a = model.parameter("a", (N, I), sp.coo_array(np.array([[1.0, 0], [0, 2], [3, 0]])))
    model.constraint("ramp", y - y.shift(T) <= [2, 1, 3])
    model.constraint(
        "teams", y.groupby(OWNER).sum() <= pd.Series({"web": 3, "ml": 4}, name="quota")
    )
    model.constraint("total", y[["ann", "cat"], 1:].cumsum(T) <= 9)
    model.constraint("pools", a @ x <= 5)
    model.constraint("users", (a * x).sum(I) <= 4)
    model.constraint("near", abs(x - 1) <= 2)
    model.maximize(y.sum() + x.sum() - 2 * abs(x.sum(I) - y[:, 3]).sum())
    expected = model.solve()
    assert expected.verify().is_optimal
    for suffix in ("mps", "lp"):
        path = tmp_path / f"m.{suffix}"
        model.write(path)
        assert fairlp.read_program(path).solve().objective == pytest.approx(expected.objective)
    import pyomo.environ as pyo

    built = model.to_pyomo()
    pyo.SolverFactory("appsi_highs").solve(built)
    assert model.read_back(built).objective == pytest.approx(expected.objective)
    problem = model.to_cvxpy()
    problem.solve(solver="HIGHS")
    assert model.read_back(problem).objective == pytest.approx(expected.objective)
    text = str(model)
    for line in (
        "y[n,t] − y[n,t−1] ≤ [3 numbers over n]",
        "∑_n∈g y[n,t] ≤ quota[g]   ∀ t, g",
        "∑_t'≤t y[n∈{ann,cat},t∈{1,2,3}] ≤ 9   ∀ n∈{ann,cat}, t∈{1,2,3}",
        "abs1_above  abs1[n] ≥ ∑_i x[n,i] − y[n,3]",
    ):
        assert line in text
    assert r"\sum_{n \in g} y_{n,t} \le \mathrm{quota}_{g}" in model.to_latex()
    assert fairlp.leximin(model, levels=y.groupby(OWNER).sum().sum(T)).levels.index.tolist() == [
        "ml",
        "web",
    ]


def test_logarithms_and_coefficients_follow_their_parameters():
    model, x, y = one()
    a = model.parameter("a", (N, T), sp.coo_array(np.eye(3, 4)))
    model.constraint("k", (a * y).sum(T) + x.sum(I) <= a.sum(T))
    model.maximize(log((a * y).groupby(OWNER).sum().sum(T) + 1).sum())
    model.compile()
    for values in (
        sp.coo_array(2 * np.eye(3, 4)),
        np.arange(12.0).reshape(3, 4),
        sp.coo_array((3, 4)),
    ):
        a.set(values)
        fresh = model.copy()
        forget_program(fresh)
        assert same_bytes(model.compile(), fresh.compile()) == []
    swept = model.sweep("a", {"one": sp.coo_array(np.eye(3, 4)), "none": np.zeros((3, 4))})
    assert (
        swept["status"].tolist() == ["optimal", "optimal"]
        and swept["objective"].is_monotonic_decreasing
    )


@pytest.mark.slow
def test_a_large_sparse_parameter_is_never_dense():
    p, q = Index("p", range(3000)), Index("q", range(2000))
    model = Model("m", indices=(p, q))
    matrix = sp.random(3000, 2000, 1e-3, random_state=1)
    a, x = model.parameter("a", (p, q), matrix), model.variable("x", q)
    model.constraint("k", a @ x <= 1)
    assert abs(model.compile().A - matrix.tocsc()).max() == 0
    with pytest.raises(ModelError, match=r"'a' is sparse, and all its 6,000,000 numbers"):
        a.values  # noqa: B018
    model.constraint("halves", (a / 2) @ x <= 1)
    with pytest.raises(ModelError, match="constraint 'halves': parameter 'a' is sparse"):
        model.compile()


def arcs_of(names=("tail", "head")):
    table = pd.DataFrame(
        {names[0]: ["a", "a", "b", "a"], names[1]: ["b", "c", "c", "b"]},
        index=pd.Index(range(4), name="e"),
    )
    e = Index("e", range(4), "arc")
    model = Model("arcs", indices=(e,))
    return model, model.variable("f", e), table


def test_groups_side_by_side_with_common_labels_are_refused():
    model, f, arcs = arcs_of()
    outgoing, incoming = f.groupby(arcs["tail"]).sum(), f.groupby(arcs["head"]).sum()
    for relation in (
        lambda: outgoing - incoming,
        lambda: outgoing <= incoming,
        lambda: incoming + 1 - outgoing,
    ):
        with pytest.raises(
            ModelError, match=r"groups by '(tail|head)' and by .*x\.groupby\(owner, v\)"
        ):
            relation()
    v = Index("v", ["a", "b", "c"], "node")
    model.constraint(
        "balance", f.groupby(arcs["tail"], v).sum() - f.groupby(arcs["head"], v).sum() == 0
    )
    assert model.compile().A.toarray().tolist() == [[1, 1, 0, 1], [-1, 0, 1, -1], [0, -1, -1, 0]]
    assert "∑_e:tail=v f[e] − (∑_e:head=v f[e]) = 0   ∀ v" in str(model)
    assert r"\sum_{e:tail=v} f_{e}" in model.to_latex()
    other = f.groupby(["x", "y", "x", "y"], "colour").sum()  # of other labels: pairs are meant
    assert (outgoing + other).indices[1].symbol == "colour"


@pytest.mark.parametrize("length", [1, 2, 3, 5, 7, 8])
@pytest.mark.parametrize("outside", ["nothing", "a number", "an array", "the other end"])
def test_a_shift_takes_what_stands_so_many_labels_before(length, outside):
    """By any number of labels, to either side, along indices of any length; outside stands what is said."""
    t = Index("t", range(length))
    values = np.arange(1.0, length + 1)
    initial = np.arange(100.0, 100 + length)
    options = {
        "nothing": {},
        "a number": {"initial": 100.0},
        "an array": {"initial": initial},
        "the other end": {"cyclic": True},
    }[outside]
    for steps in range(-length - 2, length + 3):
        model = Model("shifted", indices=(t,))
        p = model.parameter("p", t, values)
        x = model.variable("x", t)
        model.constraint("rows", x >= p.shift(t, steps, **options))
        expected = []
        for k in range(length):
            before = k - steps
            if outside == "the other end" or 0 <= before < length:
                expected.append(values[before % length])
            else:
                beyond = {"nothing": 0.0, "a number": 100.0, "an array": initial[k]}
                expected.append(beyond[outside])
        assert model.compile().row_lower.tolist() == expected, steps
