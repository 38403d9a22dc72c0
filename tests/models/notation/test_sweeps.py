"""Sweeps: the same as building and solving afresh for each value, from the last basis; the model stays as it was."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlp import Index, Model, log
from fairlp.errors import ModelError, NoSolutionError, UnknownNameError
from fairlp.models.notation import sweeps
from fairlp.solvers.backends.highs import Highs
from profiles import many
from random_models import same_bytes

N, I = Index("n", ["ann", "bob", "cat"], "user"), Index("i", ["s1", "s2"], "server")  # noqa: E741


def model(h=1.0, d=(1.0, 2.0, 3.0), integer=False, logs=False):
    model = Model("m", indices=(N, I))
    cap, demand = model.parameter("h", (), h), model.parameter("d", N, d)
    c, w = model.parameter("c", I, [6, 9]), model.parameter("w", N, [1, 2, 1])
    x = model.variable("x", N, I, integer=integer)
    model.constraint("capacity", (demand * x).sum(N) <= c)
    model.constraint("band", x.sum(I).between(0, 3 * cap))
    model.constraint("least", x.sum(I) >= 0.1)
    model.define("total", x.sum(I))
    model.maximize((w * log(x.sum(I))).sum() if logs else (w * x.sum(I)).sum() + 1)
    return model


def afresh(one, name, value):
    other = one.copy()
    other[name].set(value)
    other.changed()
    return other.solve()


@settings(max_examples=many(10), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_every_step_is_what_solving_afresh_gives(seed):
    rng = np.random.default_rng(seed)
    one = model()
    before = one.compile()
    for name in ("h", "d", "c", "w"):
        shape = one[name].values.shape
        values = [
            np.where(rng.random(shape) < 0.3, 0.0, rng.uniform(0.05, 8, shape)) for _ in range(8)
        ]
        table = one.sweep(name, values)
        for (_, row), value in zip(table.iterrows(), values, strict=True):
            expected = afresh(one, name, value)
            assert row["status"] == expected.status.termination.value
            if expected.status.is_optimal:
                assert row["objective"] == pytest.approx(expected.objective, rel=1e-9, abs=1e-9)
            else:
                assert np.isnan(row["objective"])
        assert same_bytes(one.compile(), before) == []


def test_a_thousand_values():
    one = model()
    values = np.linspace(0.05, 2, 1000)
    table = one.sweep("h", values, read="total")
    assert len(table) == 1000 and (table["status"] == "optimal").all() and table.index.name == "h"
    for k in (0, 123, 500, 999):
        assert table["objective"].iloc[k] == pytest.approx(afresh(one, "h", values[k]).objective)
        assert (
            table[["total[ann]", "total[bob]", "total[cat]"]].iloc[k].max() <= 3 * values[k] + 1e-9
        )


def test_values_duals_and_definitions_are_read_by_name():
    one = model()
    table = one.sweep(one["h"], {"low": 0.5, "high": 1}, read=["x", "capacity", "total"])
    assert table.index.tolist() == ["low", "high"] and table.index.name == "h"
    elements = [f"x[{n},{i}]" for n in N for i in I]
    assert table.columns.tolist() == [
        *("objective", "status", *elements),
        *("capacity[s1]", "capacity[s2]", "total[ann]", "total[bob]", "total[cat]"),
    ]
    expected = afresh(one, "h", 1)
    assert table.loc["high", elements].sum() == pytest.approx(
        np.asarray(expected.values["x"]).sum()
    )
    assert table.loc["high", ["capacity[s1]", "capacity[s2]"]].tolist() == pytest.approx(
        expected.duals["capacity"].tolist()
    )
    own = one.sweep("h", [1], read=lambda solution: {"most": solution.values["x"].to_numpy().max()})
    assert own.columns.tolist() == ["objective", "status", "most"]


def test_the_rows_of_a_frame_are_values_with_labels():
    one = model()
    frame = pd.DataFrame({"cat": [1, 4], "ann": [3, 1], "bob": [2, 1]}, index=["today", "tomorrow"])
    table = one.sweep("d", frame)
    assert table.index.tolist() == ["today", "tomorrow"]
    for label, row in zip(frame.index, ([3, 2, 1], [1, 1, 4]), strict=True):
        assert table.loc[label, "objective"] == pytest.approx(afresh(one, "d", row).objective)


def test_a_step_without_an_optimum_is_a_row_that_says_so():
    one = model()
    table = one.sweep("h", [1, 0.01, 2], read=["x"])
    assert table["status"].tolist() == ["optimal", "infeasible", "optimal"]
    assert table.isna().sum(axis=1).tolist() == [0, 7, 0]
    assert one.sweep("h", []).columns.tolist() == ["objective", "status"]


def test_a_value_that_is_refused_leaves_the_model_as_it_was():
    one = model()
    before = one.compile()
    with pytest.raises(ModelError, match=r"parameter d\[bob\] is nan"):
        one.sweep("d", [[1, 2, 3], [1, np.nan, 3]])
    with pytest.raises(
        ModelError, match=r"constraint band\[ann\]: the lower end 0 is above the upper end -3"
    ):
        one.sweep("h", [1, -1])
    assert same_bytes(one.compile(), before) == [] and one["h"].values == 1


@pytest.mark.parametrize(
    ("act", "error", "said"),
    [
        (
            lambda m: m.sweep("x", [1]),
            ModelError,
            "<Variable x.* is swept, and only a parameter can be",
        ),
        (lambda m: m.sweep("hh", [1]), UnknownNameError, "is called 'hh'; did you mean 'h'"),
        (
            lambda m: m.sweep("h", 1),
            ModelError,
            "the values of parameter 'h' are one int; expected several",
        ),
        (
            lambda m: m.sweep("d", [1, 2]),
            ModelError,
            r"is one number, expected 3 user; sweep one element, model\['d'\]\['ann'\], or give",
        ),
        (
            lambda m: m.sweep("h", [1], read="d"),
            ModelError,
            "'d' is a parameter; variables, definitions and constr",
        ),
        (
            lambda m: m.sweep("h", [1], read=["capasity"]),
            UnknownNameError,
            "did you mean 'capacity'",
        ),
        (lambda m: m.sweep("h", [1], solver="nosuch"), UnknownNameError, "nosuch"),
        (
            lambda m: m.sweep("h", [1], timelimit=3),
            UnknownNameError,
            "has no option 'timelimit'; did you mean 'time_limit'",
        ),
    ],
)
def test_what_is_wrong_is_said(act, error, said):
    with pytest.raises(error, match=said):
        act(model())


@pytest.mark.parametrize("solver", ["highs-simplex", "highs-ipm", "scipy"])
def test_any_back_end_sweeps(solver):
    one = model()
    expected = one.sweep("d", [[1, 2, 3], [0, 2, 1], [2, 2, 2]])["objective"]
    found = one.sweep("d", [[1, 2, 3], [0, 2, 1], [2, 2, 2]], solver=solver)["objective"]
    pd.testing.assert_series_equal(found, expected, rtol=1e-7)


def test_integer_models_and_logarithms_sweep_too():
    whole = model(integer=True)
    table = whole.sweep("h", [0.9, 1, 2])
    assert table["objective"].tolist() == [afresh(whole, "h", h).objective for h in (0.9, 1, 2)]
    logs = model(logs=True)
    values = [[1, 2, 1], [3, 0, 1]]
    table = logs.sweep("w", values)
    assert table["objective"].tolist() == pytest.approx(
        [afresh(logs, "w", w).objective for w in values], abs=1e-6
    )


def test_a_session_goes_on_from_the_last_basis(monkeypatch):
    one = model()
    loads, own = [], sweeps.ModelSession._loaded
    monkeypatch.setattr(
        sweeps.ModelSession, "_loaded", lambda *given: loads.append(given) or own(*given)
    )
    one.sweep("h", np.linspace(0.5, 1, 5))
    one.sweep("c", [[6, 9], [5, 5]])
    one.sweep("w", [[6, 9, 1], [5, 5, 2]])
    one.sweep("d", [[1, 2, 3], [2, 2, 2]])
    assert (
        len(loads) == 4
    )  # bounds and costs are changed in place, and so are coefficients of a few columns
    one.sweep("d", [[1, 2, 3], [0, 2, 2]])  # an entry vanishes
    assert len(loads) == 6


def test_a_session_is_told_of_every_change(monkeypatch):
    """Were it not, its answers would not be proved by the program that they are for, and all be solved twice."""
    proved, own = [], sweeps._proved
    monkeypatch.setattr(
        sweeps, "_proved", lambda solution: proved.append(own(solution)) or proved[-1]
    )
    for name, values in (
        ("d", [[1, 2, 3], [2, 2, 3]]),
        ("w", [[1, 2, 1], [3, 1, 1]]),
        ("h", [1.0, 0.2]),
    ):
        model().sweep(name, values)
    assert proved == [True] * 6


def test_an_answer_to_another_program_is_not_taken(monkeypatch):
    """A session that changes nothing of what it holds: its optimum is that of the step before."""

    def left_behind(session, program):
        session.program = program
        return True

    monkeypatch.setattr(sweeps, "move", left_behind)
    table = model().sweep("h", [0.5, 1.0, 0.2])
    assert table["objective"].tolist() == pytest.approx(
        [afresh(model(), "h", h).objective for h in (0.5, 1.0, 0.2)]
    )


def test_a_grid_is_a_dataset():
    one = model()
    table = one.sweep(
        {"h": [0.5, 1.0], one["d"]: {"light": [1, 1, 1], "heavy": [1, 2, 3]}}, read="x"
    )
    assert dict(table.sizes) == {"h": 2, "d": 2} and table["d"].values.tolist() == [
        "light",
        "heavy",
    ]
    for h in (0.5, 1.0):
        for label, d in (("light", [1, 1, 1]), ("heavy", [1, 2, 3])):
            at = table.sel(h=h, d=label)
            expected = model(h=h, d=d).solve()
            assert (
                at["objective"].item() == pytest.approx(expected.objective)
                and at["status"].item() == "optimal"
            )
            assert sum(at[f"x[{n},{i}]"].item() for n in N for i in I) <= 9 * h + 1e-9
    assert one["h"].values == 1 and one["d"].values.tolist() == [1, 2, 3]
    with pytest.raises(ModelError, match="or a mapping of parameters to their values"):
        one.sweep({"h": [1]}, [1])
    with pytest.raises(ModelError, match="or a mapping of parameters to their values"):
        one.sweep("h")


def edit(one, rng):
    """One random edit of a model: other numbers, bounds, rows, columns, costs or sense."""
    x = one["x"]
    kind = rng.integers(9)
    if kind == 0:
        one["h"].set(rng.uniform(0.1, 2))
    elif kind == 1:
        one["d"].set(np.where(rng.random(3) < 0.2, 0.0, rng.uniform(0.5, 4, 3)))
    elif kind == 2:
        one["w"].set(rng.uniform(0.5, 4, 3))
    elif kind == 3:
        x.set(lower=0, upper=rng.uniform(0.5, 3, (3, 2)))
    elif kind == 4 and "extra" not in one:
        one.constraint("extra", x.sum(I) <= rng.uniform(0.2, 2), where=rng.random(3) < 0.7)
    elif kind == 5 and "extra" in one:
        one.remove("extra")
    elif kind == 6 and "y" not in one:
        y = one.variable("y", N, upper=0.5, integer=bool(rng.integers(2)))
        one.constraint("of y", y + x.sum(I) <= 2.5)
        one.maximize((one["w"] * (x.sum(I) + 2 * y)).sum())
    elif kind == 7 and "y" in one:
        one.maximize((one["w"] * x.sum(I)).sum() + rng.uniform(-1, 1))
        one.remove("of y")
        one.remove("y")
    elif kind == 8:
        one.replace("least", x.sum(I) >= rng.uniform(0.05, 0.2))


def loaded_arrays(highs):
    """What HiGHS holds, as plain lists."""
    lp = highs.getLp()
    arrays = (
        lp.col_cost_,
        lp.col_lower_,
        lp.col_upper_,
        lp.row_lower_,
        lp.row_upper_,
        lp.a_matrix_.value_,
    )
    return [
        list(part) for part in (*arrays, lp.a_matrix_.index_, lp.a_matrix_.start_, lp.integrality_)
    ]


@settings(max_examples=many(12), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_session_solves_what_a_rebuild_gives_bit_for_bit(seed):
    rng = np.random.default_rng(seed)
    one = model()
    with one.session() as session:
        for _ in range(10):
            answer = session.solve()
            rebuilt = one.copy()
            rebuilt.changed()
            assert same_bytes(answer.program, rebuilt.compile()) == []
            held = session._session
            if held is not None and answer.program is held.program:
                has, scaling = loaded_arrays(held._highs), held.scaling
                held.restart()
                if all(
                    np.array_equal(getattr(scaling, k), getattr(held.scaling, k))
                    for k in ("rows", "columns", "rhs")
                ):
                    assert has[1:] == loaded_arrays(held._highs)[1:]
            expected = rebuilt.solve()
            assert answer.status.termination is expected.status.termination
            if expected.status.is_optimal:
                assert answer.objective == pytest.approx(expected.objective, rel=1e-9, abs=1e-9)
            for _ in range(rng.integers(1, 4)):
                edit(one, rng)


def big(rng):
    n, i = Index("n", range(40)), Index("i", range(30))
    one = Model("big", indices=(n, i))
    x, w = one.variable("x", n, i), one.parameter("w", (n, i), rng.uniform(1, 2, (40, 30)))
    one.constraint("capacity", x.sum(n) <= one.parameter("c", i, rng.uniform(1, 2, 30)))
    one.constraint("share", x.sum(i) <= one.parameter("s", n, rng.uniform(0.5, 1, 40)))
    one.maximize((w * x).sum())
    return one, x


def test_the_basis_of_what_stays_is_kept():
    rng = np.random.default_rng(0)
    one, x = big(rng)
    with one.session("highs-simplex") as session:
        first = session.solve().iterations["simplex"]
        one.constraint("floor", x[3].sum() >= 0.01)
        y = one.variable("y", upper=0.5)
        one.constraint("more", y + x[:, 4].sum() <= 0.9)
        assert session.solve().iterations.get("simplex", 0) < first / 4
        one.remove("floor")
        assert session.solve().iterations.get("simplex", 0) < first / 4


def test_a_closed_session_says_so():
    one = model()
    with one.session("scipy", time_limit=60) as session:
        assert (
            session.solve().objective
            == session.last.objective
            == pytest.approx(one.solve().objective)
        )
    with pytest.raises(ModelError, match="the session of model 'm' is closed"):
        session.solve()
    with pytest.raises(UnknownNameError, match="has no option 'timelimit'"):
        one.session(timelimit=3)


@pytest.mark.parametrize("of", ["model", "program"])
def test_several_threads_may_use_one_session(of):
    """They are served one after the other: HiGHS ended the process with a segmentation fault."""
    code = """
import sys, threading
import subprocess
import sys

import numpy as np
from fairlp import Index, Model, Options
from fairlp.models.programs.backends import backend
rng = np.random.default_rng(0)
k, j = Index("k", range(60)), Index("j", range(40))
model = Model("m")
x, b = model.variable("x", k, upper=2), model.parameter("b", j, rng.random(40) + 1)
model.constraint("row", model.parameter("A", (j, k), rng.random((40, 60))) @ x <= b)
model.maximize(x.sum())
expected = model.solve().objective
session = model.session() if sys.argv[1] == "model" else backend("highs").session(model.compile(), Options())
answers = []
def work():
    for _ in range(15):
        if sys.argv[1] == "program":
            session.change(rows=(np.arange(40), np.full(40, -np.inf), b.values))
            session.restart()
        answers.append(session.solve().objective)
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(answers) == 90 and np.allclose(answers, expected, rtol=1e-9)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, of], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_elements_of_a_parameter_are_swept_and_the_others_stay():
    one = model()
    before = one.compile()
    d = one["d"]
    table = one.sweep(d["bob"], [1.0, 4.0])
    expected = [afresh(one, "d", [1.0, value, 3.0]).objective for value in (1.0, 4.0)]
    assert table["objective"].tolist() == pytest.approx(expected)
    assert table.index.name == "d[bob]" and table.index.tolist() == [1.0, 4.0]
    assert same_bytes(one.compile(), before) == []


def test_a_grid_may_be_of_two_elements_of_one_parameter():
    pytest.importorskip("xarray")
    one = model()
    d = one["d"]
    grid = one.sweep({d["ann"]: [1.0, 2.0], d["bob"]: [2.0, 5.0]})
    for ann in (1.0, 2.0):
        for bob in (2.0, 5.0):
            expected = afresh(one, "d", [ann, bob, 3.0]).objective
            chosen = grid["objective"].sel({"d[ann]": ann, "d[bob]": bob})
            assert chosen.item() == pytest.approx(expected)
    assert d.values.tolist() == [1.0, 2.0, 3.0]


def test_duals_of_integers_are_not_dropped_in_silence():
    one = model(integer=True)
    with pytest.raises(NoSolutionError, match=r"'capacity' has no duals .*relax_integrality"):
        one.sweep("h", [1.0, 2.0], read="capacity")
    table = one.relax_integrality().sweep("h", [1.0, 2.0], read="capacity")
    assert table["capacity[s1]"].notna().all()


class Counting(Highs):
    """HiGHS, which counts how often its sessions solve."""

    count = 0

    def session(self, program, options):
        session = super().session(program, options)
        solve = session.solve

        def counted():
            Counting.count += 1
            return solve()

        session.solve = counted
        return session


@pytest.mark.parametrize("options", [{}, {"mip_gap": 0.5}])
def test_an_integer_step_with_switched_rows_or_a_gap_is_solved_once(options):
    one = model(integer=True)
    on = one.variable("on", N, binary=True)
    one.indicator("off", on, one["x"][:, "s1"] <= 1, active=0, big_m=9)
    Counting.count = 0
    table = one.sweep("h", [1.0, 2.0], solver=Counting(), **options)
    assert set(table["status"]) <= {"optimal", "gap limit"} and Counting.count == 2
