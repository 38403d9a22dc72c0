"""What a new user writes first, and sees: limits without an end, days, sessions, plots without arguments."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Index, Model
from fairlp.errors import ModelError

A = Index("a", ["p", "q", "r"], "arc")


def over_arcs(**bounds):
    model = Model("arcs", indices=(A,))
    return model, model.variable("f", A, **bounds)


@pytest.mark.parametrize(
    "limit",
    [
        [1, math.inf, 2],
        np.array([1, math.inf, 2]),
        pd.Series([2, 1, math.inf], ["r", "p", "q"]),
        {"q": math.inf, "r": 2, "p": 1},
    ],
    ids=["list", "array", "Series", "mapping"],
)
def test_a_row_whose_limit_is_infinite_does_not_bind(limit):
    model, f = over_arcs(upper=9)
    model.constraint("limit", f <= limit)
    model.constraint(
        "same", limit >= f if isinstance(limit, np.ndarray | pd.Series) else f <= limit
    )
    model.maximize(f.sum())
    assert model.compile().row_upper.tolist() == [1, math.inf, 2] * 2
    assert model.compile().row_lower.tolist() == [-math.inf] * 6
    assert model.solve().values["f"].tolist() == [1, 9, 2]


def test_one_number_may_be_infinite_too():
    model, f = over_arcs(upper=9)
    assert [
        model.constraint(a, f[a] <= c).size for a, c in zip(A, [1, math.inf, 2], strict=True)
    ] == [1] * 3
    model.constraint("all", math.inf >= f)
    model.constraint("sum", f.sum() >= -np.float64("inf"))
    model.maximize(f.sum())
    assert model.solve().values["f"].tolist() == [1, 9, 2]
    assert model.compile().row_upper.tolist() == [1, math.inf, 2] + [math.inf] * 4
    assert "f[a] ≤ inf" in str(model) and "inf" in model.to_latex()


def test_a_lower_side_of_minus_infinity_and_an_absolute_value_without_a_limit():
    model, f = over_arcs(lower=-9, upper=9)
    model.constraint("least", f >= [1, -math.inf, 2])
    model.constraint("near", abs(f) <= [math.inf, 3, math.inf])
    model.minimize(f.sum())
    assert model.solve().values["f"].tolist() == [1, -3, 2]


@pytest.mark.parametrize(
    "relation",
    [
        lambda f: f <= [1, math.nan, 2],
        lambda f: f <= [1, -math.inf, 2],
        lambda f: f >= [1, math.inf, 2],
        lambda f: f == [1, math.inf, 2],
        lambda f: f - [1, math.inf, 2] <= 3,
        lambda f: f * [1, math.inf, 2] <= 3,
    ],
    ids=["NaN", "nothing", "all", "equal", "added", "coefficient"],
)
def test_other_numbers_that_are_not_finite_are_refused_with_their_label(relation):
    _, f = over_arcs()
    with pytest.raises(ModelError, match=r"arc 'q' is -?(inf|nan); expected a finite number"):
        relation(f)


@pytest.mark.parametrize("upper", [9, math.inf])
def test_what_a_switch_turns_on_may_have_no_limit(upper):
    """With a row that never binds, M needs no bound of its variable."""
    model = Model("switched", indices=(A,))
    f = model.variable("f", A, upper=[9, upper, 9])
    y = model.variable("y", binary=True)
    model.constraint("on", y == 1)
    model.constraint("most", f.sum() <= 20)
    model.indicator("limit", y, f <= [1, math.inf, 2])
    model.maximize(f.sum() + f["q"])
    expected = [1, 9, 2] if upper == 9 else [0, 20, 0]
    assert model.solve().values["f"].tolist() == pytest.approx(expected)


ARCS = [("s", "a"), ("s", "b"), ("a", "b")]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "names", [None, ["i", "j"], ["j", "i"]], ids=["no names", "named", "turned"]
)
@pytest.mark.parametrize("kind", ["column", "table", "mapping"])
def test_numbers_of_the_arcs_that_exist_stand_beside_a_flow_on_these_arcs(kind, names):
    i, j = Index("i", ["s", "a", "b"]), Index("j", ["s", "a", "b"])
    model = Model("network", indices=(i, j))
    f = model.variable("f", i, j, where=ARCS)
    caps = {("s", "a"): 3.0, ("s", "b"): math.inf, ("a", "b"): 1.0}
    arcs = pd.MultiIndex.from_tuples(caps, names=["i", "j"])
    table = pd.DataFrame({"cap": list(caps.values()), "cost": [1.0, 2, 4]}, arcs).iloc[::-1]
    if names == ["j", "i"]:
        table = table.reorder_levels(names)
    elif names is None:
        table = table.rename_axis([None, None])
    cap = {"column": table["cap"], "table": table[["cap"]], "mapping": caps}[kind]
    rows = model.constraint("cap", f <= cap)
    assert rows.rows == [f"cap[{tail},{head}]" for tail, head in ARCS]
    assert model.compile().row_upper.tolist() == list(caps.values())
    assert model.constraint("again", f <= cap, where=True).size == 9
    model.minimize((f * table["cost"]).sum())
    assert model.compile().c.tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    "arcs", [ARCS[:2], [*ARCS, ("b", "a")], [*ARCS[:2], ("b", "a")], [*ARCS, ARCS[0]]]
)
def test_numbers_of_other_arcs_are_refused(arcs):
    i, j = Index("i", ["s", "a", "b"]), Index("j", ["s", "a", "b"])
    model = Model("network", indices=(i, j))
    f = model.variable("f", i, j, where=ARCS)
    caps = pd.Series(1.0, pd.MultiIndex.from_tuples(arcs))
    with pytest.raises(ModelError, match="expected e"):
        model.constraint("cap", f <= caps)
    with pytest.raises(ModelError, match="no i 'b'"):
        model.constraint("cap", 2 * f <= pd.Series(1.0, pd.MultiIndex.from_tuples(ARCS)))


def test_numbers_of_arcs_in_a_grid_that_is_too_large_are_a_parameter_with_a_default():
    i, j = Index("i", range(2000)), Index("j", range(2000))
    model = Model("network", indices=(i, j))
    f = model.variable("f", i, j, where=[(0, 1)])
    with pytest.raises(ModelError, match="expected every one"):
        model.constraint("cap", f <= pd.Series({(0, 1): 3.0}))


def test_days_are_printed_and_written_as_days(tmp_path):
    d = Index("d", pd.date_range("2026-11-30", periods=2), "day")
    model = Model("days", indices=(d,))
    x = model.variable("x", d)
    model.constraint("cap", x <= [1, 2])
    model.constraint("first", x[pd.Timestamp("2026-11-30")] <= 3)
    assert repr(d) == "<Index d: 2 days 2026-11-30, 2026-12-01>"
    assert model["cap"].rows == ["cap[2026-11-30]", "cap[2026-12-01]"]
    assert "x[2026-11-30] ≤ 3" in str(model)
    assert "00:00" not in f"{model}{model.to_latex()}{x[:1]}"
    text = model.write(tmp_path / "m.lp")[0].read_text()
    assert "cap.2026_12_01: x.2026_12_01 <= 2" in text
    model.maximize(x.sum(d))
    model.write(tmp_path / "m.mps")
    values = fairlp.read_program(tmp_path / "m.mps").solve().values["x"]
    assert values.to_dict() == {"2026-11-30": 1, "2026-12-01": 2}


def test_text_names_days_beside_a_formula_too():
    d, n = Index("d", pd.date_range("2026-11-30", periods=2), "day"), Index("n", ["a", "b"])
    model = Model("days", indices=(d, n))
    x = model.variable("x", d, n)
    later_first = {"2026-12-01": 2.0, "2026-11-30": 1.0}
    for numbers in (later_first, pd.Series(later_first)):
        assert model.constraint("cap", x <= numbers).over == (d, n)
        assert model.compile().row_upper.tolist() == [1, 1, 2, 2]
        model["cap"].remove()
    with pytest.raises(ModelError, match="names day '2026-12-02', which is unknown"):
        x <= pd.Series({"2026-12-02": 2.0, "2026-11-30": 1.0})  # noqa: B015


def test_hours_keep_their_time():
    t = Index("t", pd.date_range("2026-11-30", periods=2, freq="12h"), "hour")
    model = Model("hours", indices=(t,))
    x = model.variable("x", t)
    cap = model.constraint("cap", x <= 1)
    assert cap.rows == ["cap[2026-11-30 00:00:00]", "cap[2026-11-30 12:00:00]"]
    assert str(x[pd.Timestamp("2026-11-30 12:00")]) == "x[2026-11-30 12:00:00]"


def test_a_quadratic_form_is_refused_with_the_indices_of_its_variable_alone():
    k = Index("k", ["u", "v"])
    model = Model("portfolio", indices=(A, k))
    x = model.variable("x", A)
    returns = pd.DataFrame(np.eye(3), columns=list(A))
    with pytest.raises(ModelError, match=r"shape \(3, 3\), expected \(3,\) \(3 arc\)"):
        x @ returns.cov() @ x


def test_a_sum_by_python_may_be_a_side_and_a_truth_is_no_relation():
    model, f = over_arcs()
    assert model.constraint("few", sum(f[a] for a in A) <= 3).size == 1
    with pytest.raises(ModelError, match="constraint 'none' is True; expected left <= right"):
        model.constraint("none", sum(f[a] for a in []) <= 3)


def test_a_session_says_of_which_model_it_is():
    model, _ = over_arcs()
    assert repr(model.session()) == "<ModelSession of <Model 'arcs': 1 variables, 0 constraints>>"


def test_a_solution_draws_its_first_variable():
    pytest.importorskip("matplotlib")
    solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
    first = next(iter(solution.values))
    heights = [patch.get_height() for patch in solution.plot().patches]
    assert heights == pytest.approx(np.ravel(solution.values[first]))
