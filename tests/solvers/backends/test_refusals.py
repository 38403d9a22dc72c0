"""Solvers that refuse, fail without a word, are not there, or are asked for what they do not have."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp import Index, Model
from fairlp.errors import SolverError, SolverNotAvailableError
from fairlp.solvers.backends import highs, ortools_backend


def model():
    return fairlp.formulate(fairlp.examples.ghodsi(), "drf")


def whole():
    whole_model = Model("whole", indices=(n := Index("n", ["a", "b"], "user"),))
    x = whole_model.variable("x", n, upper=3, integer=True)
    whole_model.constraint("most", x.sum() <= 4.5)
    whole_model.maximize(x.sum())
    return whole_model


def test_hipo_needs_extras_of_the_very_version(monkeypatch):
    """HiGHS 1.15.0 refuses the solver with extras of 1.15.1."""
    monkeypatch.setattr(highs, "installed", lambda name: True)
    versions = {"highspy": "1.15.0", "highspy_extras": "1.15.1"}
    monkeypatch.setattr(highs.importlib.metadata, "version", versions.__getitem__)
    with pytest.raises(
        SolverNotAvailableError, match=r"one version; here are 1\.15\.0 and 1\.15\.1"
    ):
        model().solve(solver="highs-hipo")
    versions["highspy_extras"] = "1.15.0"
    assert highs._without_hipo() == ""


def test_large_even_programs_go_to_hipo_where_it_is(monkeypatch):
    if highs._without_hipo():
        pytest.skip(highs._without_hipo())
    monkeypatch.setattr(highs, "HIPO_FROM", 1)
    even, uneven = (
        fairlp.Instance.from_arrays([[1.0, b], [b, 1.0]], [[4.0, 4.0]]) for b in (2.0, 1e4)
    )
    solutions = [
        fairlp.formulate(program_instance, "drf").solve() for program_instance in (even, uneven)
    ]
    assert [solution.method for solution in solutions] == ["hipo", "simplex"]
    assert solutions[0].verify().is_optimal


@pytest.mark.parametrize(
    ("solver", "options", "parameters"),
    [
        ("GLOP", {}, "primal_feasibility_tolerance: 1e-05 dual_feasibility_tolerance: 1e-07"),
        ("GLOP", {"extra": {"use_dual_simplex": 1}}, " use_dual_simplex: 1"),
        (
            "PDLP",
            {},
            "eps_optimal_absolute: 1e-07 eps_optimal_relative: 1e-07",
        ),  # one for both: the smaller one
        ("PDLP", {"threads": 2}, " num_threads: 2"),
    ],
)
def test_options_of_ortools_reach_its_process(solver, options, parameters, monkeypatch):
    pytest.importorskip("ortools")

    def ask(source, target, verbose, limit):
        with np.load(source) as arrays:
            assert (
                parameters in str(arrays["parameters"]) and arrays["time_limit"] == 3 and limit > 3
            )
        return "nothing"

    monkeypatch.setattr(ortools_backend, "ask", ask)
    with pytest.raises(SolverError, match="nothing"):
        model().solve(
            f"ortools:{solver}", primal_tolerance=1e-5, dual_tolerance=1e-7, time_limit=3, **options
        )


def test_an_equation_that_cannot_hold_is_explained_as_one():
    small_model = Model("m", indices=(n := Index("n", ["a", "b"], "user"),))
    x = small_model.variable("x", n, upper=1)
    small_model.constraint("exactly", x.sum() == 5)
    small_model.maximize(x.sum())
    explanation = small_model.compile().explain()
    assert (
        explanation.loc[next(name for name in explanation.index if "exactly" in name), "requires"]
        == "= 5"
    )


def test_a_constraint_of_numbers_only_in_pyomo():
    pyo = pytest.importorskip("pyomo.environ")
    tasks = whole()
    h = tasks.parameter("h", (), 2.0)
    tasks.constraint("numbers", 0.0 * tasks["x"].sum() + h <= 3)
    built = tasks.to_pyomo()
    pyo.SolverFactory("appsi_highs").solve(built)
    assert pyo.value(next(built.component_data_objects(pyo.Objective))) == pytest.approx(4)
    assert np.isfinite(tasks.solve().objective)
