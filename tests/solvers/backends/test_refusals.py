"""Solvers that refuse, fail without a word, are not there, or are asked for what they do not have."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp import Index, Model
from fairlp.errors import FairlpError, SolverError, SolverNotAvailableError, UnsupportedError
from fairlp.models.programs.backends import find_backend, solve_on
from fairlp.models.programs.options import Options
from fairlp.models.programs.protocols import Capability
from fairlp.models.programs.status import Termination
from fairlp.solvers.backends import base, cvxpy_backend, highs, ortools_backend, pyomo_backend


def model():
    return fairlp.formulate(fairlp.examples.ghodsi(), "drf")


def whole():
    whole_model = Model("whole", indices=(n := Index("n", ["a", "b"], "user"),))
    x = whole_model.variable("x", n, upper=3, integer=True)
    whole_model.constraint("most", x.sum() <= 4.5)
    whole_model.maximize(x.sum())
    return whole_model


def test_a_back_end_says_how_it_solves():
    class Silent(base.BaseBackend):
        name = "silent"
        capabilities = frozenset({Capability.LP})

    with pytest.raises(FairlpError, match="solver Silent lacks run"):
        model().solve(solver=Silent())
    with pytest.raises(UnsupportedError, match="silent does not say how it solves"):
        Silent().run(model().compile(), Options())


@pytest.mark.parametrize("solver", ["scipy", "highs"])
def test_a_method_that_a_solver_does_not_have(solver):
    with pytest.raises(FairlpError, match=r"no method 'simplx'|cannot honour the option 'method'"):
        model().solve(solver=solver, method="simplx")


def lacking(monkeypatch, module, *packages):
    real = base.installed
    monkeypatch.setattr(module, "installed", lambda name: name not in packages and real(name))


def test_what_is_not_installed_says_how_to_get_it(monkeypatch):
    pytest.importorskip("cvxpy")
    pytest.importorskip("pyomo")
    lacking(monkeypatch, cvxpy_backend, "cvxpy")
    lacking(monkeypatch, pyomo_backend, "pyomo")
    lacking(monkeypatch, highs, "highspy_extras")
    for solver, message in (
        ("cvxpy:CLARABEL", "cvxpy is not installed"),
        ("pyomo:highs", "pyomo is not installed"),
        ("highs-hipo", "HiPO needs highspy-extras"),
    ):
        with pytest.raises(SolverNotAvailableError, match=message):
            model().solve(solver=solver)
    with pytest.raises(UnsupportedError, match="HiPO needs highspy-extras"):
        model().solve(solver="highs", method="hipo")
    for solver in ("highs", "highs-ipm", "highs-simplex"):
        assert model().solve(solver=solver).status.is_optimal


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
    ("raised", "message", "termination"),
    [
        (
            "Solver stopped: time limit reached.\nmore",
            "Solver stopped: time limit reached.",
            Termination.TIME_LIMIT,
        ),
        ("failed", "failed", Termination.UNKNOWN),
        ("", "SolverError", Termination.UNKNOWN),
    ],
)
def test_an_error_of_cvxpy_becomes_a_status(monkeypatch, raised, message, termination):
    cp = pytest.importorskip("cvxpy")

    def fails(*_, **__):
        raise cp.error.SolverError(raised)

    monkeypatch.setattr(cp.Problem, "solve", fails)
    clarabel = find_backend("cvxpy:CLARABEL")
    status = solve_on(clarabel, model().compile(), Options()).status
    assert status.termination is termination and message in str(status)
    if termination is Termination.UNKNOWN:  # another solver settles it, and the answer says so
        status = model().solve(solver="cvxpy:CLARABEL").status
        assert status.is_optimal and "second attempt (HiGHS" in status.message
        assert message in status.message


def test_what_cvxpy_refuses_is_the_callers_extra_or_a_failure():
    pytest.importorskip("cvxpy")
    with pytest.raises(UnsupportedError, match="refused extra="):
        model().solve(solver="cvxpy:CLARABEL", extra={"no_such_setting": 1})


def test_cvxpy_fails_without_extra(monkeypatch):
    cp = pytest.importorskip("cvxpy")

    def fails(*_, **__):
        raise ValueError("somewhere inside")

    monkeypatch.setattr(cp.Problem, "solve", fails)
    with pytest.raises(SolverError, match="cvxpy:CLARABEL failed: somewhere inside"):
        model().solve(solver="cvxpy:CLARABEL")


def test_a_failure_of_pyomo_without_words_is_named(monkeypatch):
    pytest.importorskip("pyomo")

    def fails(*_, **__):
        raise RuntimeError

    monkeypatch.setattr(pyomo_backend, "solve_with_highs", fails)
    with pytest.raises(SolverError, match="pyomo:highs failed: RuntimeError"):
        model().solve(solver="pyomo:highs")


def test_scip_takes_a_seed_and_its_own_parameters():
    pytest.importorskip("pyscipopt")
    for options in ({"seed": 7}, {"extra": {"limits/nodes": 1000}}, {"verbose": True}):
        assert whole().solve(solver="scip", **options).objective == pytest.approx(4)
    with pytest.raises(FairlpError, match="Not a valid parameter name"):
        whole().solve(solver="scip", extra={"no_such/parameter": 1})


def test_a_process_of_ortools_that_hangs_or_fails(monkeypatch):
    pytest.importorskip("ortools")

    def hangs(*_):
        raise TimeoutError

    monkeypatch.setattr(ortools_backend, "ask", hangs)
    assert (
        model().solve(solver="ortools:GLOP", time_limit=1).status.termination
        is Termination.TIME_LIMIT
    )
    monkeypatch.setattr(ortools_backend, "ask", lambda *_: "exit 3")
    with pytest.raises(SolverError, match=r"ortools:GLOP failed in its process \(exit 3\)"):
        model().solve(solver="ortools:GLOP")


def test_threads_of_pdlp():
    pytest.importorskip("ortools")
    assert model().solve(solver="ortools:PDLP", threads=1).objective == pytest.approx(
        2 / 3, rel=1e-4
    )


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


def test_a_highs_object_of_another_model_is_refused():
    large, small = fairlp.formulate(fairlp.examples.wang_figure_1(), "drfh"), whole()
    solved = small.to_highs()
    solved.run()
    with pytest.raises(UnsupportedError, match="has fewer rows or columns"):
        large.read_back(solved)


def test_a_highs_object_without_an_optimum_has_no_point():
    tasks = whole()
    tasks.constraint("least", tasks["x"].sum() >= 7)
    solved = tasks.to_highs()
    solved.setOptionValue("output_flag", False)
    solved.run()
    read = tasks.read_back(solved)
    assert read.status.termination is Termination.INFEASIBLE and read.x is None


def test_a_constraint_of_numbers_only_in_pyomo():
    pyo = pytest.importorskip("pyomo.environ")
    tasks = whole()
    h = tasks.parameter("h", (), 2.0)
    tasks.constraint("numbers", 0.0 * tasks["x"].sum() + h <= 3)
    built = tasks.to_pyomo()
    pyo.SolverFactory("appsi_highs").solve(built)
    assert pyo.value(next(built.component_data_objects(pyo.Objective))) == pytest.approx(4)
    assert np.isfinite(tasks.solve().objective)
