"""Parameters, bounds and masks of a model take labelled input by its labels, with the function that instances use."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import FairlpError, ModelError, UnknownNameError
from fairlp.models.files.tables import read_tasks
from fairlp.models.notation.expressions import Index
from fairlp.models.notation.labels import LONGEST_LABEL
from fairlp.models.notation.model import Model

N = Index("n", ["ann", "bob"], "user")
R = Index("r", ["cpu", "memory"], "resource")
TABLE = pd.DataFrame([[1.0, 4.0], [3.0, 1.0]], list(N), list(R))


def test_a_parameter_is_put_in_the_order_of_its_indices():
    pairs = pd.Series({(user, r): TABLE.loc[user, r] for user in N for r in R})
    for form in (
        TABLE,
        TABLE.iloc[::-1, ::-1],
        pairs.sample(frac=1, random_state=2),
        TABLE.T.to_dict(),
    ):
        assert Model("m").parameter("d", (N, R), form).values.tolist() == TABLE.to_numpy().tolist()
    assert Model("m").parameter("c", R, pd.Series({"memory": 18, "cpu": 9})).values.tolist() == [
        9,
        18,
    ]
    assert Model("m").parameter("c", R, {"memory": 18, "cpu": 9}).values.tolist() == [9, 18]
    assert Model("m").parameter("c", R, [9, 18]).values.tolist() == [9, 18]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            pd.Series({"memory": 18, "disk": 9}),
            "parameter 'c' names resource 'disk', which is unknown",
        ),
        (
            pd.Series({"memory": 18}),
            "parameter 'c' has no resource 'cpu'; expected every one",
        ),
        (pd.Series([1, 2, 3], ["cpu", "memory", "cpu"]), "resource 'cpu' twice"),
        ("many", "must be numbers"),
    ],
)
def test_a_parameter_with_other_labels_is_refused(values, message):
    with pytest.raises(ModelError, match=message):
        Model("m").parameter("c", R, values)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (
            ["ann cpu", "ann memory", "bob cpu"],
            r"no user 'bob' and resource 'memory'",
        ),
        (
            ["ann cpu", "ann memory", "bob cpu", "bob memory", "ann memory"],
            r"user 'ann' and resource 'memory' twice",
        ),
    ],
)
def test_a_series_over_pairs_has_each_pair_once(pairs, message):
    values = pd.Series(1.0, pd.MultiIndex.from_tuples(pair.split() for pair in pairs))
    with pytest.raises(ModelError, match=f"parameter 'd' has {message}"):
        Model("m").parameter("d", (N, R), values)


def test_bounds_and_masks_have_labels_too():
    model = Model("m")
    x = model.variable(
        "x", N, lower=pd.Series({"bob": 1.0, "ann": 0.5}), upper={"bob": 2.0, "ann": 3.0}
    )
    assert x.lower.tolist() == [0.5, 1] and x.upper.tolist() == [3, 2]
    y = model.variable("y", N, R, where=(TABLE > 1).iloc[::-1, ::-1])
    assert y.positions is not None and y.positions.tolist() == np.flatnonzero(TABLE > 1).tolist()
    model.constraint("one", x >= 1, where=pd.Series({"bob": True, "ann": False}))
    assert model.constraints["one"].positions.tolist() == [1]
    with pytest.raises(ModelError, match="'where' of constraint 'two' has no user 'ann'"):
        model.constraint("two", x >= 1, where=pd.Series({"bob": True}))
    with pytest.raises(
        ModelError, match="the lower bound of variable 'z' names user 'cat', which is unknown"
    ):
        model.variable("z", N, lower={"ann": 0, "cat": 1})


SAME = ["a", "b"]
USER, MACHINE, DAY = Index("u", SAME, "user"), Index("m", SAME, "machine"), Index("t", SAME, "day")
CUBE = np.arange(8.0).reshape(2, 2, 2)


@pytest.mark.parametrize("turn", list(itertools.permutations(range(3))))
def test_dimensions_and_levels_are_found_by_name_where_all_labels_are_the_same(turn):
    xarray = pytest.importorskip("xarray")
    axes = (USER, MACHINE, DAY)
    for names in (["user", "machine", "day"], ["u", "m", "t"], ["users", "m_", "day"]):
        array = xarray.DataArray(CUBE, coords=[SAME] * 3, dims=names).transpose(
            *(names[k] for k in turn)
        )
        for form in (
            array,
            array.isel({names[1]: [1, 0]}),
            array.drop_vars(names),
            array.to_series(),
        ):
            assert (Model("m").parameter("p", axes, form).values == CUBE).all()
        model = Model("m")
        x = model.variable("x", *axes, lower=array, where=array > 2)
        assert x.positions.tolist() == list(range(3, 8)) and x.lower.tolist() == list(range(3, 8))


def test_a_frame_is_turned_by_the_names_of_its_axes():
    frame = pd.DataFrame(
        [[1.0, 2.0], [3.0, 4.0]], pd.Index(SAME, name="machine"), pd.Index(SAME, name="user")
    )
    for form in (frame, frame.rename_axis(columns=None), frame.rename_axis(index="node")):
        assert Model("m").parameter("p", (USER, MACHINE), form).values.tolist() == [[1, 3], [2, 4]]
    nameless = frame.rename_axis(index=None, columns=None)
    assert (
        Model("m").parameter("p", (USER, MACHINE), nameless).values.tolist()
        == frame.to_numpy().tolist()
    )
    # other names, and labels that differ: there is one way to read it
    named = TABLE.rename_axis(index="who", columns="what")
    assert Model("m").parameter("d", (N, R), named).values.tolist() == TABLE.to_numpy().tolist()
    with pytest.raises(ModelError, match=r"parameter 'p' is over \['node', 'who'\]"):
        Model("m").parameter("p", (USER, MACHINE), frame.rename_axis(index="node", columns="who"))


def test_an_answer_as_xarray_is_a_parameter_of_the_next_model():
    pytest.importorskip("xarray")
    model = Model("m")
    n = model.variable("n", USER, MACHINE, upper=CUBE[0])
    model.maximize(n.sum())
    answer = model.solve().to_xarray()["n"]
    assert Model("m").parameter("p", (MACHINE, USER), answer).values.tolist() == CUBE[0].T.tolist()


@pytest.mark.parametrize(
    "arcs",
    [
        [("s", "t"), ("t", "u"), ("s", "u")],
        pd.MultiIndex.from_tuples([("s", "t"), ("t", "u"), ("s", "u")]),
    ],
    ids=["tuples", "levels"],
)
def test_tuples_are_labels_of_one_index(arcs):
    a, k = Index("a", arcs, "arc"), Index("k", ["x", "y"])
    limits = pd.Series([3.0, 2.0, 1.0], pd.MultiIndex.from_tuples(list(a)))
    model = Model("flow")
    flow = model.variable("f", a, upper=limits.iloc[::-1])
    pair_flow = model.variable("g", a, k, upper={(arc, label): 1.0 for arc in a for label in k})
    model.constraint("cap", flow <= dict.fromkeys(a, 9.0))
    model.maximize(flow @ limits + pair_flow.sum())
    solution = model.solve()
    assert solution.objective == 9 + 4 + 1 + 6
    assert solution.values["f"].to_dict() == dict(zip(a, [3, 2, 1], strict=True))
    assert solution.values["g"]["y"][("s", "t")] == 1
    assert solution.reduced_costs["f"][("t", "u")] == 2 and solution.duals["cap"].eq(0).all()
    flow.fix({**solution.values["f"], ("t", "u"): 0.0})
    second = model.solve(start=solution)
    assert second.objective == 9 + 1 + 6 and second.values["f"][("t", "u")] == 0


def test_a_mapping_may_have_a_tuple_for_each_element():
    pairs = {(user, r): TABLE.loc[user, r] for r in reversed(list(R)) for user in N}
    model = Model("m")
    assert model.parameter("d", (N, R), pairs).values.tolist() == TABLE.to_numpy().tolist()
    x = model.variable("x", N, R, upper=pairs)
    model.maximize(x @ pairs)
    assert model.solve().objective == (TABLE**2).to_numpy().sum()
    with pytest.raises(ModelError, match="'memory'"):
        model.parameter("e", (N, R), {("ann", "cpu"): 1.0, ("bob", "cpu"): 1.0})
    with pytest.raises(ModelError, match="'cat'"):
        model.parameter("e", (N, R), {**pairs, ("cat", "cpu"): 1.0})


def test_bounds_name_the_element():
    i = Index("i", ["a", "b"])
    x = Model("m").variable("x", i, upper=[3, 1])
    with pytest.raises(ModelError, match=r"variable x\[b\]: no number is between its bounds"):
        x.set(lower=2)
    with pytest.raises(
        ModelError, match=r"the upper bound of variable 'y' of i 'a' is NaN; expected a number"
    ):
        Model("m").variable("y", i, upper=[np.nan, 1])
    with pytest.raises(UnknownNameError, match="has no definition 'x'"):
        x.model.evaluate("x", np.zeros(2))


def test_an_index_that_is_called_as_a_column_of_a_frame_keeps_its_labels():
    value, upper = Index("value", ["p", "q"]), Index("upper", ["r"])
    model = Model("m")
    x = model.variable("x", value, upper, upper=[[1], [2]])
    model.constraint("cap", x <= 3)
    model.maximize(x.sum())
    frame = model.solve().frame()
    assert frame["value_"].tolist() == ["p", "q"] and frame["value"].tolist() == [1, 2]
    assert frame["upper_"].tolist() == ["r", "r"] and frame["upper"].tolist() == [1, 2]
    assert model.solve().ranges()["upper_"].tolist() == ["r", "r"]


def test_a_mapping_of_mappings_may_have_tuples_as_labels():
    a, k = Index("a", [("s", "t"), ("t", "u")]), Index("k", ["x", "y"])
    for inner in ({"y": 2.0, "x": 1.0}, [1.0, 2.0], pd.Series({"y": 2.0, "x": 1.0})):
        mapping = {("t", "u"): inner, ("s", "t"): inner}
        assert Model("m").parameter("p", (a, k), mapping).values.tolist() == [[1, 2], [1, 2]]


MIXED = [
    [("a", 1), ("b", "x"), 3],
    [("a", 1), ("b", "x"), ("c",)],
    [("a", 1), ("b", 2)],
    [("a", 1), (2, "x")],
    [("a", 1), ("b", (2, 3))],
]


@pytest.mark.parametrize("labels", MIXED, ids=str)
def test_labels_that_are_tuples_of_several_types(labels, tmp_path):
    """Numbers by the other index, by these labels and by both are told apart, and go to Pyomo and .nl."""
    pyo = pytest.importorskip("pyomo.environ")
    t = Index("t", labels)
    model = Model("m")
    x = model.variable("x", t, N, upper=9)
    limits = {user: position + 1.0 for position, user in enumerate(N)}
    weights = {label: position + 1.0 for position, label in enumerate(t)}
    products = {(label, user): weights[label] * limits[user] for label in t for user in N}
    by_user = model.constraint("by_user", x <= limits)
    by_label = model.constraint(
        "by_label", x <= {label: 2 * weight for label, weight in weights.items()}
    )
    by_both = model.constraint("by_both", x <= products)
    for row, expected in (
        (by_user, [limits[user] for _ in t for user in N]),
        (by_label, [2 * weights[label] for label in t for _ in N]),
        (by_both, [products[label, user] for label in t for user in N]),
    ):
        block = next(block for block in model.compile().rows if block.name == row.name)
        assert model.compile().row_upper[block.slice].tolist() == expected
    model.maximize(x.sum())
    assert model.parameter("w", (t, N), products).values.tolist() == [
        [products[label, user] for user in N] for label in t
    ]
    answer = model.solve()
    built = model.to_pyomo()
    pyo.SolverFactory("appsi_highs").solve(built)
    assert model.read_back(built).objective == pytest.approx(answer.objective)
    assert model.write(tmp_path / "m.nl")[0].exists()
    assert model.solve("pyomo:highs").values["x"].to_dict() == answer.values["x"].to_dict()


def test_a_frame_over_an_index_that_the_formula_lacks_is_to_be_a_parameter():
    foods = Index("F", ["bread", "milk"], "food")
    content = pd.DataFrame([[1, 2, 3], [4, 5, 6]], ["bread", "milk"], ["kcal", "protein", "fat"])
    model = Model("diet")
    x = model.variable("x", foods)
    with pytest.raises(
        ModelError,
        match=r"shape \(2, 3\), expected \(2,\) \(2 food\).*model.parameter\(name, indices",
    ):
        (x * content).sum(foods)
    a = model.parameter("a", (foods, Index("N", content.columns, "nutrient")), content)
    model.constraint("need", (x * a).sum(foods) >= {"protein": 2, "fat": 3, "kcal": 1})
    assert model.compile().A.toarray().tolist() == content.T.to_numpy().tolist()


@pytest.mark.parametrize(
    "data",
    [TABLE.T, TABLE.to_dict(), {(r, user): 1.0 for user in N for r in R}],
    ids=["frame", "mapping of mappings", "mapping"],
)
def test_the_order_of_the_keys_is_named_where_it_is_another(data):
    with pytest.raises(ModelError, match="parameter 'd' names user 'cpu', which is unknown"):
        Model("m").parameter("d", (N, R), data)


IDS = Index("k", [1, 2, 3, 4])
#: By default pandas would call these 0, 1, 2, 3.
CAPS = pd.DataFrame({"id": [4, 3, 2, 1], "cap": [40.0, 30.0, 20.0, 10.0]})


def test_masks_groups_and_two_axes_go_by_a_default_index_too():
    model = Model("m")
    x = model.variable("x", IDS)
    flags = CAPS["cap"] > 15
    for use in (
        lambda: model.variable("y", IDS, where=flags),
        lambda: model.subset("E", IDS, flags),
        lambda: model.constraint("c", x <= 1, where=flags),
        lambda: x[flags],
        lambda: x.groupby(pd.Series(list("aabb")), "g"),
        lambda: x.groupby(CAPS["id"].rename("owner")),
    ):
        with pytest.raises(ModelError, match=" 0, which is unknown"):
            use()
    by_id = flags.set_axis(CAPS["id"])
    assert list(x[by_id].indices[0]) == [2, 3, 4]
    n = Index("n", ["ann", "bob"])
    table = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]])
    z = model.variable("z", n, Index("j", ["s", "t"]))
    for data in (table, table.set_axis(["ann", "bob"]), table.set_axis(["s", "t"], axis=1)):
        with pytest.raises(ModelError, match=" 0, which is unknown"):
            _ = z <= data
        with pytest.raises(ModelError, match=" 0, which is unknown"):
            model.parameter("p", z.indices, data)


def test_a_list_of_lists_of_labelled_data_goes_by_the_labels():
    a, b = Index("a", ["x", "y"]), Index("b", ["u"])
    inner = pd.Series({"bob": 2.0, "ann": 1.0})
    values = Model("m").parameter("p", (a, b, N), [[inner], [{"ann": 3, "bob": 4}]]).values
    assert values.tolist() == [[[1, 2]], [[3, 4]]]


@pytest.mark.parametrize(
    "labels",
    [{"ann", "bob"}, frozenset({1, 2}), {1: 2}.keys() | {3}, {("a", 1)}],
    ids=["set", "frozenset", "of keys", "of tuples"],
)
def test_a_set_has_no_order(labels):
    with pytest.raises(ModelError, match=r"index 'k' is given a (frozen)?set.*sorted\(\.\.\.\)"):
        Index("k", labels)
    model = Model("m")
    x = model.variable("x", Index("k", sorted(labels)))
    for use in (
        lambda: model.parameter("p", x.indices, labels),
        lambda: model.variable("y", *x.indices, upper=labels),
        lambda: x.between(None, labels),
        lambda: x.groupby(labels, "g"),
        lambda: x.fix(labels),
        lambda: x[labels],
        lambda: x <= labels,
    ):
        with pytest.raises(FairlpError):
            use()


def test_what_has_an_order_gives_labels():
    forms = ({"b": 1, "a": 2}, {"b": 1, "a": 2}.keys(), ("b", "a"), np.array(["b", "a"]))
    forms += (pd.Index(["b", "a"]), pd.Series(["b", "a"]), (label for label in "ba"))
    for form in forms:
        assert list(Index("k", form)) == ["b", "a"]
    assert list(Index("k", Index("m", ["b", "a"]))) == ["b", "a"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (5, r"is given 5; expected a list of labels, such as range\(3\)"),
        ("ann", r"is given 'ann'; expected a list of labels"),
        (np.eye(2), r"an array of shape \(2, 2\)"),
        (pd.DataFrame({"a": [1]}), "a DataFrame of shape"),
        ([["a"], ["b"]], r"has \['a'\] at position 0"),
        ([("a", [1])], "a tuple"),
        (["a", None], "has None at position 1"),
        ([1.0, float("nan")], "has nan at position 1"),
        (pd.to_datetime(["2024-01-01", None]), "at position 1"),
        (["a", "\ud800"], "position 1 of index 'k' is .*half of a character"),
        ([("a", ("b", "\udfff"))], "half of a character"),
        (["a" * (LONGEST_LABEL + 1)], "100,001 letters"),
        ([np.int64(1), np.int64(1)], "label 1 twice"),
    ],
    ids=range(13),
)
def test_what_is_no_list_of_labels_is_refused_in_words(labels, message):
    with pytest.raises(ModelError, match=message) as caught:
        Index("k", labels)
    assert len(str(caught.value)) < 300 and "np." not in str(caught.value)


def test_labels_as_long_as_they_may_be_are_written_and_read(tmp_path):
    user = "=" + "a" * (LONGEST_LABEL - 1)
    instance = Instance.from_arrays([[1]], [[2]], users=[user], queue=["b" * LONGEST_LABEL])
    for name in ("x.json", "x.yaml"):
        instance.write(tmp_path / name)
        assert fairlp.read(tmp_path / name).equals(instance)
    fairlp.allocate(instance, "drf").to_csv(tmp_path / "tasks.csv")
    assert read_tasks(tmp_path / "tasks.csv", instance).index.tolist() == [user]


def test_labels_of_numpy_become_labels_of_python():
    for labels in ([np.int64(3), "a"], np.array([3, 4]), [np.str_("a"), np.float64(2.5)]):
        assert all(not isinstance(label, np.generic) for label in Index("k", labels))
        index = Index("k", labels)
        assert not isinstance(index[0], np.generic) and index[0] == labels[0]


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_groups_by_a_series_over_the_tuples_of_an_index(order):
    arcs = [("s", "t"), ("t", "u"), ("s", "u")]
    owner = pd.Series(["rail", "road", "rail"], pd.MultiIndex.from_tuples(arcs)).iloc[order]
    model = Model("m")
    x = model.variable("x", Index("e", arcs))
    grouped = x.groupby(owner, "kind").sum()
    model.constraint("cap", grouped <= {"rail": 1, "road": 2})
    A = model.compile().A.toarray().tolist()
    assert dict(zip(grouped.indices[0], A, strict=True)) == {"rail": [1, 0, 1], "road": [0, 1, 0]}
    y = model.variable("y", Index("e", arcs), N)
    assert y.groupby(owner, "kind").sum().indices[1] is N
    unknown = pd.Series(["a"] * 3, pd.MultiIndex.from_tuples([("q", "q"), *arcs[1:]]))
    with pytest.raises(ModelError, match=r"names e \('q', 'q'\)"):
        x.groupby(unknown, "kind")
    assert model.parameter(
        "w", x.indices, owner.map({"rail": 1.0, "road": 2.0})
    ).values.tolist() == [1, 2, 1]


def test_a_label_that_is_a_number_and_a_text_alike_are_told_apart():
    steps = Index("t", range(4))
    texts = Index("u", ["0", "1"])
    model = Model("m")
    x = model.variable("x", steps)
    y = model.variable("y", texts)
    with pytest.raises(UnknownNameError, match="did you mean the number 0, not the text '0'"):
        x["0"]
    with pytest.raises(UnknownNameError, match="did you mean the text '0', not the number 0"):
        y[0]
    with pytest.raises(UnknownNameError, match="known: 0, 1, 2, 3"):
        x[9]
    with pytest.raises(ModelError, match="did you mean the number 3, not the text '3'"):
        model.parameter("p", steps, {"3": 1, "0": 1, "1": 1, "2": 1})
