"""What a model hardly ever holds: quotients in LaTeX, bounds above only, weights of logarithms that are all zero."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairlp import Index, Model, log
from fairlp.errors import FairlpError, ModelError, NoSolutionError
from fairlp.models.notation.compiler import numbers

N = Index("n", ["ann", "bob"], "user")


def model(**bounds):
    made = Model("m", indices=(N,))
    made.variable("x", N, **({"upper": 3} | bounds))
    made.constraint("most", made["x"].sum() <= 4)
    made.maximize(made["x"].sum())
    return made


def test_quotients_are_fractions_in_latex():
    made = model()
    d = made.parameter("d", N, [2.0, 4.0])
    made.constraint("part", made["x"] / d <= 1)
    assert r"\frac{x_{n}}{d_{n}}" in made.to_latex() and "x[n]/d[n]" in str(made)
    assert r"\frac{x_{n}}{d_{n}}" in (made["x"] / d)._repr_latex_() and (made["x"] / d)._repr_latex_()[0] == "$"
    assert made.solve().objective == pytest.approx(4)


def test_a_bound_above_only_and_a_model_without_constraints():
    made = Model("bare", indices=(N,))
    made.variable("x", N, lower=-np.inf, upper=2)
    made.maximize(made["x"].sum())
    assert "x[n] ≤ 2" in str(made) and "subject to" not in str(made)
    assert r"x_{n} \le 2" in made.to_latex()
    assert made.solve().objective == pytest.approx(4)


def test_a_row_for_nothing_in_particular_has_no_scope():
    made = model()
    assert "∀" not in next(line for line in str(made).splitlines() if "most" in line)


def test_logarithms_of_no_weight_are_no_part_of_a_program():
    made = model()
    w = made.parameter("w", N, [0.0, 0.0])
    made.maximize((w * log(made["x"])).sum() + made["x"].sum())
    assert made.compile().logs is None and made.solve().objective == pytest.approx(4)
    w.set([1.0, 0.0])
    assert made.compile().logs is not None


def test_variables_are_no_numbers():
    made = model()
    d = made.parameter("d", N, [2.0, 4.0])
    with pytest.raises(FairlpError):
        made.constraint("bent", made["x"] / made["x"] <= d)
    with pytest.raises(ModelError, match="has variables where numbers are expected"):
        numbers(made["x"])
    assert numbers((d / 2).sum()).values == pytest.approx(3)


def test_a_parameter_and_a_variable_of_no_model_are_changed_all_the_same():
    made = model()
    d = made.parameter("d", N, [2.0, 4.0])
    there = made["x"]
    row = made["most"]
    made.remove("most")
    assert made.solve().objective == pytest.approx(6)
    with pytest.raises(ModelError, match="'most'"):
        row.replace(there.sum() <= 5)
    made.remove("d")
    with pytest.raises(ModelError, match="of another model, or was removed"):
        made.remove(d)
    d.set([1.0, 1.0])
    assert d.values.tolist() == [1.0, 1.0]


def test_a_row_that_is_used_nowhere_else_is_removed():
    made = model()
    made.define("total", made["x"].sum())
    made.remove("total")
    made.remove(made["most"])
    assert made.solve().objective == pytest.approx(6)


def test_a_series_of_two_levels_is_put_in_order():
    other = Index("r", ["cpu", "gpu"], "resource")
    made = Model("m", indices=(N, other))
    pairs = pd.MultiIndex.from_product([["bob", "ann"], ["gpu", "cpu"]])
    d = made.parameter("d", (N, other), pd.Series([4.0, 3.0, 2.0, 1.0], index=pairs))
    assert d.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_sweep_says_where_there_is_no_optimum():
    made = model()
    least = made.parameter("h", (), 0.0)
    made.constraint("least", made["x"].sum() >= least)
    found = made.sweep("h", [1.0, 9.0, 2.0], read=["x", "least"])
    assert found["objective"].round(9).tolist()[::2] == [4.0, 4.0] and np.isnan(found["objective"].iloc[1])
    assert found["status"].astype(str).str.contains("infeasible").tolist() == [False, True, False]


def test_a_sweep_of_integers_reads_no_duals():
    made = model(integer=True)
    most = made.parameter("h", (), 3.5)
    made.constraint("cap", made["x"].sum() <= most)
    found = made.sweep("h", [2.5, 3.5], read=["x", "cap"])
    assert found["objective"].tolist() == [2.0, 3.0]
    assert not [column for column in found.columns if str(column).startswith("cap")]


def test_what_is_read_of_a_solution_prints():
    solution = model().solve()
    said = repr(solution.values)
    assert said.startswith("x:\n") and "ann" in said and solution.values["x"].sum() == pytest.approx(4)
    with pytest.raises((NoSolutionError, KeyError, FairlpError)):
        solution.values["y"]
