"""A model whose index grows: against the same model declared anew with all labels, and in a session."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

import fairlp
from fairlp import Index, Model
from fairlp.errors import FairlpError, ModelError

I_LABELS, P_LABELS, T_LABELS = ["wide", "narrow"], ["p1", "p2", "p3"], [1, 2]


def stock(patterns, numbers, *, sparse=False, masked=False):
    """A model over patterns, with numbers by pattern: a[i,p], cost[p], an upper bound and a mask."""
    i, p, t = Index("i", I_LABELS, "width"), Index("p", patterns, "pattern"), Index("t", T_LABELS)
    model = Model("stock", indices=(i, p, t))
    columns = [numbers[label] for label in patterns]
    a = np.array([column["a"] for column in columns]).T.reshape(len(I_LABELS), len(patterns))
    default = {"default": 0} if sparse else {}
    table = {(w, q): a[k, j] for k, w in enumerate(I_LABELS) for j, q in enumerate(patterns)}
    a = model.parameter("a", (i, p), table, **default)
    cost = model.parameter("cost", (p, t), [column["cost"] for column in columns])
    where = [[flag] * 2 for flag in (column["there"] for column in columns)] if masked else None
    uppers = [[column["upper"]] * 2 for column in columns]
    x = model.variable("x", p, t, upper=uppers, where=where)
    model.constraint("demand", (a * x).sum(p, t) >= [4, 5])
    model.constraint("balance", x - 2 * x[:, 1] <= 3)
    model.minimize((cost * x).sum())
    return model, p


def drawn(rng):
    return {
        "a": rng.integers(0, 4, 2).astype(float),
        "cost": rng.integers(1, 9, 2).astype(float),
        "upper": float(rng.integers(1, 30)),
        "there": bool(rng.integers(2)),
    }


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@given(seed=st.integers(0, 10**6))
def test_a_grown_model_is_the_model_declared_with_all_labels(seed, sparse, masked):
    rng = np.random.default_rng(seed)
    numbers = {label: drawn(rng) for label in P_LABELS}
    grown, p = stock(P_LABELS[:1], numbers, sparse=sparse, masked=masked)
    masked_now = grown["x"].where is not None
    grown.compile()
    for label in P_LABELS[1:]:
        column = numbers[label]
        a = dict(zip(I_LABELS, column["a"], strict=True))
        bounds = {"lower": 0, "upper": column["upper"]}
        there = {"where": column["there"]} if masked_now else {}
        grown.extend(p, label, a=a, cost=column["cost"], x={**bounds, **there})
    if masked and not masked_now:  # all of the first label existed: the mask says so of the others
        for label in P_LABELS:
            numbers[label]["there"] = True
    anew, _ = stock(P_LABELS, numbers, sparse=sparse, masked=masked)
    assert grown.equals(anew)
    assert str(grown) == str(anew)


def cutting(widths, demand, roll, solver="highs"):
    """Column generation: the value of the LP and the patterns, prices from duals, knapsacks by enumeration."""
    i = Index("i", list(widths), "width")
    p = Index("p", [f"only {w}" for w in widths], "pattern")
    model = Model("cutting", indices=(i, p))
    first = np.diag([roll // w for w in widths.values()])
    a = model.parameter("a", (i, p), first)
    x = model.variable("x", p, doc="rolls cut by the pattern")
    rows = model.constraint("demand", (a * x).sum(p) >= list(demand.values()))
    model.minimize(x.sum())
    combinations = patterns_of(list(widths.values()), roll)
    with model.session(solver) as session:
        for number in range(100):
            solution = session.solve().require_optimal()
            prices = solution.duals["demand"].to_numpy()
            values = combinations @ prices
            best = int(values.argmax())
            if values[best] <= 1 + 1e-9:
                break
            model.extend(p, f"cut {number}", a=dict(zip(widths, combinations[best], strict=True)))
    assert rows.size == len(widths)
    return solution, combinations, model


def patterns_of(widths, roll):
    """Every maximal-or-not pattern, by enumeration."""
    counts = np.meshgrid(*(np.arange(roll // w + 1) for w in widths), indexing="ij")
    every = np.stack([count.reshape(-1) for count in counts], axis=1)
    return every[every @ np.array(widths) <= roll]


@pytest.mark.parametrize("seed", range(5))
def test_cutting_stock_by_column_generation_has_the_optimum_of_all_patterns(seed):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    widths = {
        f"w{k}": int(w) for k, w in enumerate(rng.choice(np.arange(12, 50), 4, replace=False))
    }
    demand = {name: int(rng.integers(5, 60)) for name in widths}
    solution, combinations, model = cutting(widths, demand, 100)
    everything = linprog(
        np.ones(len(combinations)), A_ub=-combinations.T, b_ub=-np.array(list(demand.values()))
    )
    assert solution.objective == pytest.approx(everything.fun)
    assert len(model["x"].indices[0]) < len(combinations)
    assert solution.verify().is_optimal


def test_a_session_goes_on_from_the_last_basis():
    widths = {"a": 45, "b": 36, "c": 31, "d": 14}
    demand = {"a": 97, "b": 610, "c": 395, "d": 211}  # Chvátal's example
    solution, *_ = cutting(widths, demand, 100)
    assert solution.objective == pytest.approx(452.25)


def test_what_does_not_depend_on_the_index_stays_and_handles_stay_good():
    i, p = Index("i", I_LABELS), Index("p", ["one"])
    model = Model("m", indices=(i, p))
    x, y = model.variable("x", p, upper=3), model.variable("y", i, upper=[1, 2])
    row = model.constraint("row", x.sum(p) + y.sum() <= 9)
    x.fix(2)
    model.extend(p, "two")
    assert x.upper.tolist() == [2, 3] and x.shape == (2,) and y.upper.tolist() == [1, 2]
    x.unfix()
    assert x.upper.tolist() == [3, 3]
    assert list(p) == ["one", "two"] and row.rows == ["row"]
    model.maximize(x.sum() + x["two"])
    assert model.solve().values["x"].to_dict() == {"one": 3, "two": 3}
    assert pickle.loads(pickle.dumps(model)).equals(model) and copy.deepcopy(model).equals(model)


def small():
    i, p = Index("i", I_LABELS), Index("p", ["one", "two"])
    model = Model("m", indices=(i, p))
    model.parameter("a", (i, p), np.ones((2, 2)))
    model.variable("x", p, upper=[1, 2])
    return model, p


@pytest.mark.slow
def test_an_index_of_two_models_or_of_an_instance_does_not_grow():
    model, p = small()
    other = Model("other", indices=(p,))
    with pytest.raises(ModelError, match="also that of <Model 'other'"):
        model.extend(p, "new", a=[1, 2], x={"upper": 3})
    del other
    model.extend(p, "new", a=[1, 2], x={"upper": 3})
    instance = fairlp.examples.ghodsi()
    formulated = fairlp.formulate(instance, "drf")
    with pytest.raises(FairlpError, match="also that of <Instance"):
        formulated.extend(instance.users, "C", d=[1, 1], Gamma=1)


def test_a_deep_copy_has_indices_of_its_own_that_grow_by_themselves():
    model, p = small()
    whole = copy.deepcopy(model)
    whole["x"].set(integer=True)
    for own, index in ((model, p), (whole, whole["p"])):
        own.extend(index, "new", a=[1, 2], x={"upper": 3})
    relaxed = copy.deepcopy(whole.relax_integrality())
    relaxed.extend(relaxed["p"], "newer", a=[1, 2], x={"upper": 3})
    assert [len(m["p"]) for m in (model, whole, relaxed)] == [3, 3, 4]
