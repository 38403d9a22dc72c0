"""Lists and tables of combinations: what exists, and numbers that are not there for all."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from fairlp import Index, Model
from fairlp.errors import FairlpWarning, ModelError

NODES = ["a", "b", "c", "d"]
ARCS = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
FLAGS = np.array(
    [[False, True, True, False], [False, False, True, False], [False] * 3 + [True], [False] * 4]
)


def network():
    i = Index("i", NODES, "node")
    j, k = i.alias("j"), Index("k", ["gas", "oil"], "good")
    return Model("network", indices=(i, j, k)), i, j, k


LISTS = {
    "a list": ARCS,
    "a set": set(ARCS),
    "keys": dict.fromkeys(ARCS).keys(),
    "lists in a list": [list(arc) for arc in ARCS],
    "a MultiIndex": pd.MultiIndex.from_tuples(ARCS[::-1]),
    "a MultiIndex with names": pd.MultiIndex.from_tuples(
        [arc[::-1] for arc in ARCS], names=["j", "i"]
    ),
    "a table": pd.DataFrame(ARCS),
    "a table with names": pd.DataFrame([arc[::-1] for arc in ARCS], columns=["j", "i"]),
    "a table with more columns": pd.DataFrame(ARCS, columns=["i", "j"]).assign(cost=[1, 2, 3, 4]),
    "an array": np.array(ARCS),
    "a mask": FLAGS,
    "a frame of flags": pd.DataFrame(FLAGS, NODES, NODES),
}


def lists(i, j):
    """The lists, those with names in an index called node twice."""
    return {
        name: data.rename_axis(index="i", columns="j") if name == "a frame of flags" else data
        for name, data in LISTS.items()
    }


@pytest.mark.parametrize("name", LISTS)
def test_what_exists_is_said_by_a_list_or_a_table(name):
    model, i, j, _ = network()
    data = lists(i, j)[name]
    flow = model.variable("f", i, j, where=data)
    subset = model.subset("A", (i, j), data)
    expected = np.flatnonzero(FLAGS)
    np.testing.assert_array_equal(flow.positions, expected)
    np.testing.assert_array_equal(subset.positions, expected)
    row = model.constraint("cap", flow <= 3, where=data)
    assert row.size == len(ARCS) and sorted(row.rows) == sorted(f"cap[{a},{b}]" for a, b in ARCS)


def test_a_list_over_some_of_the_indices_holds_for_each_label_of_the_others():
    model, i, j, k = network()
    expected = np.flatnonzero(np.repeat(FLAGS[:, :, None], 2, axis=2))
    arcs = model.subset("A", (i, j), ARCS)
    for where in (arcs, pd.DataFrame(ARCS, columns=["i", "j"])):
        np.testing.assert_array_equal(
            model.copy().variable("f", i, j, k, where=where).positions, expected
        )
    goods = Model("goods", indices=(k, i))
    np.testing.assert_array_equal(
        goods.variable("y", k, i, where=["oil"]).positions, np.arange(4, 8)
    )
    np.testing.assert_array_equal(
        goods.variable("z", k, i, where={"a", "d"}).positions, [0, 3, 4, 7]
    )


@given(st.integers(0, 10**6))
def test_any_set_of_combinations_over_three_indices(seed):
    rng = np.random.default_rng(seed)
    model, i, j, k = network()
    flags = rng.random((4, 4, 2)) < 0.3
    places = rng.permutation(np.argwhere(flags))
    combinations = [(NODES[a], NODES[b], k[c]) for a, b, c in places]
    x = model.variable("x", i, j, k, where=combinations)
    expected = np.flatnonzero(flags)
    np.testing.assert_array_equal(np.arange(32) if x.positions is None else x.positions, expected)


TABLE = pd.DataFrame(ARCS, columns=["i", "j"]).assign(cost=[1.0, 2.0, 3.0, 4.0])
COSTS = dict(zip(ARCS, TABLE["cost"], strict=True))


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE[["cost", "j", "i"]].sample(frac=1, random_state=2).reset_index(drop=True),
        TABLE.set_index(["i", "j"])["cost"],
        COSTS,
    ],
    ids=["table", "columns in another order", "levels", "mapping"],
)
def test_a_long_table_has_numbers_of_some_and_the_default_holds_elsewhere(data):
    model, i, j, _ = network()
    expected = np.zeros((4, 4))
    for (a, b), cost in COSTS.items():
        expected[NODES.index(a), NODES.index(b)] = cost
    sparse = model.parameter("c", (i, j), data, default=0)
    np.testing.assert_array_equal(sparse.values, expected)
    assert sparse.stored.nnz == len(ARCS)
    dense = model.parameter("d", (i, j), data, default=5)
    np.testing.assert_array_equal(dense.values, np.where(expected == 0, 5, expected))
    with pytest.raises(ModelError, match="or say with default=0 what holds elsewhere"):
        model.parameter("e", (i, j), data)
    sparse.set({("a", "d"): 8})  # the default holds for what is set later, too
    assert sparse.values.sum() == 8 and model.copy()["c"].default == 0
    f = model.variable("f", i, j, where=list(COSTS))
    model.minimize((dense * f).sum())
    assert sorted(model.compile().c) == sorted(COSTS.values())


def test_a_whole_long_table_is_a_parameter_and_bounds():
    model, i, _, k = network()
    table = pd.DataFrame(
        [(b, a, 10 * x + y) for x, a in enumerate(NODES) for y, b in enumerate(k)],
        columns=["good", "node", "price"],
    )
    expected = [[10 * x + y for y in range(2)] for x in range(4)]
    assert model.parameter("p", (i, k), table).values.tolist() == expected
    x = model.variable("x", i, k, upper=table)
    assert x.upper.tolist() == np.ravel(expected).tolist()
    narrow = pd.DataFrame({"k": ["oil", "gas"], "limit": [1, 2]})
    model.constraint("cap", x <= narrow)
    assert model.compile().row_upper.tolist() == [2, 1] * 4


def test_a_wide_table_stays_wide_also_where_its_labels_are_names():
    n, r = Index("n", [0, 1]), Index("r", ["n", "x"])
    wide = pd.DataFrame([[1, 2], [3, 4]], columns=["n", "x"])
    assert Model("m").parameter("p", (n, r), wide).values.tolist() == [[1, 2], [3, 4]]


def test_values_alone_with_a_default_are_all_the_default():
    n = Index("n", ["ann", "bob"])
    model = Model("m")
    assert model.parameter("p", n, default=2).values.tolist() == [2, 2]
    assert model.parameter("q", n, {"bob": 3}, default=2).values.tolist() == [2, 3]
    for default, message in (("x", "default of parameter 'r' must be numbers"), (np.inf, "inf")):
        with pytest.raises(ModelError, match=message):
            model.parameter("r", n, {"bob": 3}, default=default)
    with pytest.raises(ModelError, match="names n 'dan'"):
        model.parameter("r", n, {"dan": 3}, default=0)


def test_bounds_of_what_exists_are_enough():
    model, i, j, _ = network()
    f = model.variable("f", i, j, where=ARCS, lower=1, upper=TABLE)
    by_arc = dict(zip(f.where.elements(9), f.upper, strict=True))
    assert by_arc == COSTS
    with pytest.raises(
        ModelError,
        match=r"upper bound of variable 'f' of node 'd' and node 'a' is for an element that does not",
    ):
        f.set(upper={**COSTS, ("d", "a"): 9})
    f.set(upper={("a", "c"): 8})  # the others stay
    assert dict(zip(f.where.elements(9), f.upper, strict=True)) == {**COSTS, ("a", "c"): 8}
    with pytest.raises(
        ModelError, match=r"the upper bound of variable 'g' of node 'a' and node 'b' has no number"
    ):
        model.variable("g", i, j, where=ARCS, upper={("a", "c"): 3})
    with pytest.raises(
        ModelError, match=r"upper bound of variable 'f' of node 'a' and node 'b' is NaN"
    ):
        f.set(upper={**COSTS, ("a", "b"): np.nan})


@given(st.integers(0, 10**6))
def test_sparse_numbers_on_the_right_of_rows_that_exist_are_the_dense_ones(seed):
    rng = np.random.default_rng(seed)
    model, i, j, k = network()
    flags = rng.random((4, 4)) < 0.5
    table = {(a, b): float(rng.integers(1, 9)) for a in NODES for b in NODES if rng.random() < 0.4}
    dense = np.array([[table.get((a, b), 0.0) for b in NODES] for a in NODES])
    for where in (None, flags):
        for name, numbers in (("s", model.copy()), ("d", model.copy())):
            values = {"values": table, "default": 0} if name == "s" else {"values": dense}
            limit = numbers.parameter("limit", (i, j), **values)
            x = numbers.variable("x", i, j, k)
            f = numbers.variable("f", i, j)
            numbers.constraint("cap", 2 * f <= 3 * limit - 1, where=where)
            numbers.constraint("caps", x + f <= limit)
            numbers.constraint("sum", f.sum(i) <= limit.sum(i) + limit.sum())
            numbers.minimize((limit * f).sum() + limit.sum())
            if name == "s":
                ours = numbers
        assert ours.equals(numbers)
        assert ours.compile().offset == numbers.compile().offset


def test_a_large_network_needs_memory_for_its_arcs_alone():
    rng = np.random.default_rng(3)
    count = 60_000  # pairs of nodes are more than 2**31
    i = Index("i", range(count), "node")
    j = i.alias("j")
    ends = rng.integers(0, count, (5_000, 2))
    arcs = pd.DataFrame(ends, columns=["i", "j"]).drop_duplicates()
    arcs = arcs[arcs["i"] != arcs["j"]].reset_index(drop=True)
    model = Model("large", indices=(i, j))
    lines = model.subset("A", (i, j), arcs)
    limit = model.parameter(
        "limit", (i, j), arcs.assign(limit=np.arange(len(arcs)) + 1.0), default=0
    )
    f = model.variable("f", i, j, where=lines, upper=arcs.assign(top=9.0))
    model.constraint("line", f <= limit, where=lines)
    model.constraint("balance", f.sum(j) - f[j, i].sum(j) == 0)
    program = model.compile()
    assert program.A.nnz == 3 * len(arcs) and program.n_rows == len(arcs) + count
    order = np.argsort(arcs["i"] * count + arcs["j"])
    np.testing.assert_array_equal(program.row_upper[: len(arcs)], order + 1.0)
    flows = program.A[len(arcs) :].tocsc()
    sorted_arcs = arcs.iloc[order].to_numpy()
    np.testing.assert_array_equal(flows[sorted_arcs[:, 0], np.arange(len(arcs))], 1.0)
    np.testing.assert_array_equal(flows[sorted_arcs[:, 1], np.arange(len(arcs))], -1.0)


ROWS = {
    "alone": (lambda f, y: f >= 1, r"constraint 'k' has 16 rows, and f\[i,j\] exists in 4 of them"),
    "beside a sum": (lambda f, y: f.sum() <= 10 * y, r"has 16 rows, and y\[i,j\] exists in 4"),
    "turned": (lambda f, y: f - f[y.indices[1], y.indices[0]] <= 1, r"f\[.*\] exists in 4 of them"),
    "at a label": (lambda f, y: f["a"] >= 1, r"has 4 rows, and f\[a,j\] exists in 2 of them"),
    "at labels": (lambda f, y: f[["a", "d"]] >= 1, r"has 8 rows, and f\[.*\] exists in 2 of them"),
    "a sum": (lambda f, y: f.sum(y.indices[1]) <= 3, ""),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_row_in_which_a_variable_does_not_exist_is_warned_of(case, recwarn):
    formula, message = ROWS[case]
    model, i, j, _ = network()
    f, y = (model.variable(name, i, j, where=ARCS) for name in "fy")
    relation = formula(f, y)
    if not message:
        model.constraint("k", relation)
        assert not recwarn.list
        return
    with pytest.warns(FairlpWarning, match=message):
        model.constraint("k", relation)
    model.constraint("all", relation, where=True)
    if case in ("alone", "beside a sum"):
        model.constraint("some", relation, where=f.where)
        model.constraint("fewer", relation, where=ARCS[1:])
        assert model["some"].size == 4 and model["all"].size == 16
    assert len(recwarn.list) == 0


def test_rows_of_a_filtered_table_keep_their_numbers_and_are_read():
    model, i, j, _ = network()
    filtered = TABLE[TABLE["cost"] > 1]
    assert filtered.index.tolist() == [1, 2, 3]
    c = model.parameter("c", (i, j), filtered, default=0)
    assert c.values.sum() == 9 and c["a", "b"].values == 0
    n, r = Index("n", [5, 7]), Index("r", ["n", "x"])
    wide = pd.DataFrame([[1, 2], [3, 4]], [7, 5], ["n", "x"])
    assert Model("m").parameter("p", (n, r), wide).values.tolist() == [[3, 4], [1, 2]]
