"""Names of mechanisms, methods, solvers, examples, properties and policies are found in any case, or refused."""

from __future__ import annotations

import pytest

import fairlp
from fairlp import examples
from fairlp.errors import UnknownNameError, named, nearest
from fairlp.models.programs.backends import find_backend


@pytest.fixture
def instance():
    return examples.load("Ghodsi")


def test_a_name_in_another_case_is_found():
    assert named("HiGHS", ["highs", "scip"], "solver") == "highs"
    assert named("drf", ["DRF", "drf"], "mechanism") == "drf"
    with pytest.raises(
        UnknownNameError, match="'Drf' could be 'DRF' or 'drf'; write the mechanism as one of them"
    ):
        named("Drf", ["DRF", "drf"], "mechanism")
    assert nearest("DRHF", ["drf", "drfh"]) == "did you mean 'drfh' or 'drf'?"


def test_mechanisms_methods_and_solvers_in_any_case(instance):
    allocation = fairlp.allocate(instance, "DRFH", method="LP", solver="HiGHS")
    assert (allocation.mechanism, allocation.method, allocation.solver) == ("drfh", "lp", "highs")
    assert fairlp.allocate(instance, "Drf", method="AUTO", solver="HIGHS").method == "rounds"
    assert list(fairlp.compare(instance, ["DRF", "TSF"]).columns) == ["drf", "tsf"]
    assert fairlp.validate(instance, "DRF")["agrees"].all()
    assert fairlp.formulate(instance, "DRF").solve(solver="Highs").solver == "highs"


@pytest.mark.parametrize(
    ("name", "back_end"),
    [
        ("HIGHS-ipm", "highs-ipm"),
        ("ORTOOLS:glop", "ortools:GLOP"),
        ("CVXPY:clarabel", "cvxpy:clarabel"),
        ("Clarabel", "cvxpy:CLARABEL"),
        ("Pyomo:HIGHS", "pyomo:HIGHS"),
        ("GLPK", "glpk"),
    ],
)
def test_back_ends_in_any_case(name, back_end):
    assert find_backend(name).name == back_end


def test_properties_in_any_case(instance):
    allocation = fairlp.allocate(instance, "drf")
    assert list(fairlp.audit(instance, allocation, ["Pareto-Optimal", "FEASIBLE"]).index) == [
        "Pareto-optimal",
        "feasible",
    ]
    assert fairlp.counterexample("ASSET", "Sharing Incentive") is not None
