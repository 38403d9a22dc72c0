"""Sweeps: the same as building and solving afresh for each value, from the last basis; the model stays as it was."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from fairlp import Index, Model, log
from fairlp.errors import ModelError, NoSolutionError, UnsupportedError
from fairlp.models.notation import sweeps
from fairlp.solvers.backends.highs import Highs
from profiles import many
from random_models import forget_program, same_bytes

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


def afresh(original, name, value):
    other = original.copy()
    other[name].set(value)
    forget_program(other)
    return other.solve()


@pytest.mark.slow
@settings(max_examples=many(10), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_every_step_is_what_solving_afresh_gives(seed):
    rng = np.random.default_rng(seed)
    swept_model = model()
    before = swept_model.compile()
    for name in ("h", "d", "c", "w"):
        shape = swept_model[name].values.shape
        values = [
            np.where(rng.random(shape) < 0.3, 0.0, rng.uniform(0.05, 8, shape)) for _ in range(8)
        ]
        table = swept_model.sweep(name, values)
        for (_, row), value in zip(table.iterrows(), values, strict=True):
            expected = afresh(swept_model, name, value)
            assert row["status"] == expected.status.termination.value
            if expected.status.is_optimal:
                assert row["objective"] == pytest.approx(expected.objective, rel=1e-9, abs=1e-9)
            else:
                assert np.isnan(row["objective"])
        assert same_bytes(swept_model.compile(), before) == []


@pytest.mark.slow
def test_a_thousand_values():
    swept_model = model()
    values = np.linspace(0.05, 2, 1000)
    table = swept_model.sweep("h", values, read="total")
    assert len(table) == 1000 and (table["status"] == "optimal").all() and table.index.name == "h"
    for k in (0, 123, 500, 999):
        assert table["objective"].iloc[k] == pytest.approx(
            afresh(swept_model, "h", values[k]).objective
        )
        assert (
            table[["total[ann]", "total[bob]", "total[cat]"]].iloc[k].max() <= 3 * values[k] + 1e-9
        )


def test_values_duals_and_definitions_are_read_by_name():
    swept_model = model()
    table = swept_model.sweep(
        swept_model["h"], {"low": 0.5, "high": 1}, read=["x", "capacity", "total"]
    )
    assert table.index.tolist() == ["low", "high"] and table.index.name == "h"
    elements = [f"x[{n},{i}]" for n in N for i in I]
    assert table.columns.tolist() == [
        *("objective", "status", *elements),
        *("capacity[s1]", "capacity[s2]", "total[ann]", "total[bob]", "total[cat]"),
    ]
    expected = afresh(swept_model, "h", 1)
    assert table.loc["high", elements].sum() == pytest.approx(
        np.asarray(expected.values["x"]).sum()
    )
    assert table.loc["high", ["capacity[s1]", "capacity[s2]"]].tolist() == pytest.approx(
        expected.duals["capacity"].tolist()
    )
    own_table = swept_model.sweep(
        "h", [1], read=lambda solution: {"most": solution.values["x"].to_numpy().max()}
    )
    assert own_table.columns.tolist() == ["objective", "status", "most"]


def test_the_rows_of_a_frame_are_values_with_labels():
    swept_model = model()
    frame = pd.DataFrame({"cat": [1, 4], "ann": [3, 1], "bob": [2, 1]}, index=["today", "tomorrow"])
    table = swept_model.sweep("d", frame)
    assert table.index.tolist() == ["today", "tomorrow"]
    for label, row in zip(frame.index, ([3, 2, 1], [1, 1, 4]), strict=True):
        assert table.loc[label, "objective"] == pytest.approx(
            afresh(swept_model, "d", row).objective
        )


def test_a_step_without_an_optimum_is_a_row_that_says_so():
    swept_model = model()
    table = swept_model.sweep("h", [1, 0.01, 2], read=["x"])
    assert table["status"].tolist() == ["optimal", "infeasible", "optimal"]
    assert table.isna().sum(axis=1).tolist() == [0, 7, 0]
    assert swept_model.sweep("h", []).columns.tolist() == ["objective", "status"]


def test_a_value_that_is_refused_leaves_the_model_as_it_was():
    swept_model = model()
    before = swept_model.compile()
    with pytest.raises(ModelError, match=r"parameter 'd' of user 'bob' is nan"):
        swept_model.sweep("d", [[1, 2, 3], [1, np.nan, 3]])
    with pytest.raises(
        ModelError, match=r"constraint band\[ann\]: the lower end 0 is above the upper end -3"
    ):
        swept_model.sweep("h", [1, -1])
    assert same_bytes(swept_model.compile(), before) == [] and swept_model["h"].values == 1


@pytest.mark.parametrize("solver", ["highs-simplex", "highs-ipm", "scipy"])
def test_any_back_end_sweeps(solver):
    swept_model = model()
    expected = swept_model.sweep("d", [[1, 2, 3], [0, 2, 1], [2, 2, 2]])["objective"]
    objectives = swept_model.sweep("d", [[1, 2, 3], [0, 2, 1], [2, 2, 2]], solver=solver)[
        "objective"
    ]
    pd.testing.assert_series_equal(objectives, expected, rtol=1e-7)


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


class Counting(Highs):
    """HiGHS, which counts its sessions and how often they solve."""

    def __init__(self):
        super().__init__()
        self.sessions = self.solves = 0

    def session(self, program, options):
        self.sessions += 1
        session = super().session(program, options)
        solve = session.solve

        def counted():
            self.solves += 1
            return solve()

        session.solve = counted
        return session


def test_a_session_goes_on_from_the_last_basis():
    """Bounds and costs are changed in place, and so are coefficients of a few columns."""
    swept_model, solver = model(), Counting()
    swept_model.sweep("h", np.linspace(0.5, 1, 5), solver=solver)
    swept_model.sweep("c", [[6, 9], [5, 5]], solver=solver)
    swept_model.sweep("w", [[6, 9, 1], [5, 5, 2]], solver=solver)
    swept_model.sweep("d", [[1, 2, 3], [2, 2, 2]], solver=solver)
    assert solver.sessions == 4
    swept_model.sweep("d", [[1, 2, 3], [0, 2, 2]], solver=solver)  # an entry vanishes
    assert solver.sessions == 6


def test_a_session_is_told_of_every_change():
    """Were it not, its answers would not be proved by the program that they are for, and be solved twice."""
    solver = Counting()
    for name, values in (
        ("d", [[1, 2, 3], [2, 2, 3]]),
        ("w", [[1, 2, 1], [3, 1, 1]]),
        ("h", [1.0, 0.2]),
    ):
        model().sweep(name, values, solver=solver)
    assert solver.solves == 6


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
    swept_model = model()
    table = swept_model.sweep(
        {"h": [0.5, 1.0], swept_model["d"]: {"light": [1, 1, 1], "heavy": [1, 2, 3]}}, read="x"
    )
    assert dict(table.sizes) == {"h": 2, "d": 2} and table["d"].values.tolist() == [
        "light",
        "heavy",
    ]
    for h in (0.5, 1.0):
        for label, d in (("light", [1, 1, 1]), ("heavy", [1, 2, 3])):
            step = table.sel(h=h, d=label)
            expected = model(h=h, d=d).solve()
            assert (
                step["objective"].item() == pytest.approx(expected.objective)
                and step["status"].item() == "optimal"
            )
            assert sum(step[f"x[{n},{i}]"].item() for n in N for i in I) <= 9 * h + 1e-9
    assert swept_model["h"].values == 1 and swept_model["d"].values.tolist() == [1, 2, 3]
    with pytest.raises(ModelError, match="or a mapping of parameters to their values"):
        swept_model.sweep({"h": [1]}, [1])
    with pytest.raises(ModelError, match="or a mapping of parameters to their values"):
        swept_model.sweep("h")


def edit(original, rng):
    """One random edit of a model: other numbers, bounds, rows, columns, costs or sense."""
    x = original["x"]
    kind = rng.integers(9)
    if kind == 0:
        original["h"].set(rng.uniform(0.1, 2))
    elif kind == 1:
        original["d"].set(np.where(rng.random(3) < 0.2, 0.0, rng.uniform(0.5, 4, 3)))
    elif kind == 2:
        original["w"].set(rng.uniform(0.5, 4, 3))
    elif kind == 3:
        x.set(lower=0, upper=rng.uniform(0.5, 3, (3, 2)))
    elif kind == 4 and "extra" not in original:
        original.constraint("extra", x.sum(I) <= rng.uniform(0.2, 2), where=rng.random(3) < 0.7)
    elif kind == 5 and "extra" in original:
        original.remove("extra")
    elif kind == 6 and "y" not in original:
        y = original.variable("y", N, upper=0.5, integer=bool(rng.integers(2)))
        original.constraint("of y", y + x.sum(I) <= 2.5)
        original.maximize((original["w"] * (x.sum(I) + 2 * y)).sum())
    elif kind == 7 and "y" in original:
        original.maximize((original["w"] * x.sum(I)).sum() + rng.uniform(-1, 1))
        original.remove("of y")
        original.remove("y")
    elif kind == 8:
        original.replace("least", x.sum(I) >= rng.uniform(0.05, 0.2))


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
        list(array)
        for array in (*arrays, lp.a_matrix_.index_, lp.a_matrix_.start_, lp.integrality_)
    ]


@settings(max_examples=many(12), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_session_solves_what_a_rebuild_gives_bit_for_bit(seed):
    rng = np.random.default_rng(seed)
    swept_model = model()
    with swept_model.session() as session:
        for _ in range(10):
            answer = session.solve()
            rebuilt = swept_model.copy()
            forget_program(rebuilt)
            assert same_bytes(answer.program, rebuilt.compile()) == []
            inner_session = session._session
            if inner_session is not None and answer.program is inner_session.program:
                arrays, scaling = loaded_arrays(inner_session._highs), inner_session.scaling
                inner_session.restart()
                if all(
                    np.array_equal(getattr(scaling, k), getattr(inner_session.scaling, k))
                    for k in ("rows", "columns", "rhs")
                ):
                    assert arrays[1:] == loaded_arrays(inner_session._highs)[1:]
            expected = rebuilt.solve()
            assert answer.status.termination is expected.status.termination
            if expected.status.is_optimal:
                assert answer.objective == pytest.approx(expected.objective, rel=1e-9, abs=1e-9)
            for _ in range(rng.integers(1, 4)):
                edit(swept_model, rng)


def big(rng):
    n, i = Index("n", range(40)), Index("i", range(30))
    big_model = Model("big", indices=(n, i))
    x, w = (
        big_model.variable("x", n, i),
        big_model.parameter("w", (n, i), rng.uniform(1, 2, (40, 30))),
    )
    big_model.constraint("capacity", x.sum(n) <= big_model.parameter("c", i, rng.uniform(1, 2, 30)))
    big_model.constraint("share", x.sum(i) <= big_model.parameter("s", n, rng.uniform(0.5, 1, 40)))
    big_model.maximize((w * x).sum())
    return big_model, x


def test_the_basis_of_what_stays_is_kept():
    rng = np.random.default_rng(0)
    big_model, x = big(rng)
    with big_model.session("highs-simplex") as session:
        first = session.solve().iterations["simplex"]
        big_model.constraint("floor", x[3].sum() >= 0.01)
        y = big_model.variable("y", upper=0.5)
        big_model.constraint("more", y + x[:, 4].sum() <= 0.9)
        assert session.solve().iterations.get("simplex", 0) < first / 4
        big_model.remove("floor")
        assert session.solve().iterations.get("simplex", 0) < first / 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["model", "program"])
def test_several_threads_may_use_one_session(kind):
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
    process = subprocess.run(
        [sys.executable, "-c", code, kind], capture_output=True, text=True, timeout=120
    )
    assert process.returncode == 0, process.stderr


def test_elements_of_a_parameter_are_swept_and_the_others_stay():
    swept_model = model()
    before = swept_model.compile()
    d = swept_model["d"]
    table = swept_model.sweep(d["bob"], [1.0, 4.0])
    expected = [afresh(swept_model, "d", [1.0, value, 3.0]).objective for value in (1.0, 4.0)]
    assert table["objective"].tolist() == pytest.approx(expected)
    assert table.index.name == "d[bob]" and table.index.tolist() == [1.0, 4.0]
    assert same_bytes(swept_model.compile(), before) == []


def test_a_grid_may_be_of_two_elements_of_one_parameter():
    pytest.importorskip("xarray")
    swept_model = model()
    d = swept_model["d"]
    grid = swept_model.sweep({d["ann"]: [1.0, 2.0], d["bob"]: [2.0, 5.0]})
    for ann in (1.0, 2.0):
        for bob in (2.0, 5.0):
            expected = afresh(swept_model, "d", [ann, bob, 3.0]).objective
            chosen = grid["objective"].sel({"d[ann]": ann, "d[bob]": bob})
            assert chosen.item() == pytest.approx(expected)
    assert d.values.tolist() == [1.0, 2.0, 3.0]


def test_duals_of_integers_are_not_dropped_in_silence():
    swept_model = model(integer=True)
    with pytest.raises(NoSolutionError, match=r"'capacity' has no duals .*relax_integrality"):
        swept_model.sweep("h", [1.0, 2.0], read="capacity")
    table = swept_model.relax_integrality().sweep("h", [1.0, 2.0], read="capacity")
    assert table["capacity[s1]"].notna().all()


@pytest.mark.parametrize("options", [{}, {"mip_gap": 0.5}])
def test_an_integer_step_with_switched_rows_or_a_gap_is_solved_once(options):
    swept_model = model(integer=True)
    switch = swept_model.variable("on", N, binary=True)
    swept_model.indicator("off", switch, swept_model["x"][:, "s1"] <= 1, active=0, big_m=9)
    solver = Counting()
    table = swept_model.sweep("h", [1.0, 2.0], solver=solver, **options)
    assert set(table["status"]) <= {"optimal", "gap limit"} and solver.solves == 2


def test_an_option_of_one_call_is_not_of_the_next():
    swept_model = model()
    expected = swept_model.solve().objective
    with swept_model.session() as session:
        assert session.solve(time_limit=0).x is None
        assert session.solve().objective == pytest.approx(expected)
        swept_model["h"].set(0.5)
        half = session.solve(method="simplex")
        assert half.objective == pytest.approx(afresh(swept_model, "h", 0.5).objective)
        session.solve(time_limit=0)
        again = session.solve()  # from the last basis, which the limit did not lose
        assert again.iterations.get("simplex", 0) == 0
        assert again.objective == pytest.approx(half.objective)


def test_a_step_of_a_session_may_have_a_start_of_its_own():
    linear = model()
    with linear.session() as session:
        started = session.solve(start=linear.solve())
        assert started.iterations.get("simplex", 0) == 0
        with pytest.raises(UnsupportedError, match="starts from a Solution with a basis"):
            session.solve(start={"x": 1})


def test_costs_that_change_places_are_new_costs():
    """Their sum, their largest and their smallest stay; the optimum goes from one end to the other."""
    t = Index("t", range(3))
    model = Model("places", indices=(t,))
    p = model.parameter("p", t, [3.0, 1.0, 2.0])
    x = model.variable("x", t, upper=[1.0, 2.0, 4.0])
    model.maximize((p * x).sum() - 4 * x.sum() + 3 * x.sum())
    places = [[3.0, 1.0, 2.0], [1.0, 3.0, 2.0], [2.0, 1.0, 3.0], [3.0, 1.0, 2.0]]
    # what is worth more than one is taken whole
    assert model.sweep("p", places)["objective"].tolist() == pytest.approx([6.0, 8.0, 9.0, 6.0])
