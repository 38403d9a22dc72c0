"""No justified complaints as models: sets of bottlenecks, prices and what is left out."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp import examples
from fairlp.errors import InstanceError, UnknownNameError
from fairlp.formulations.complaints import coefficients, value
from fairlp.models.instances.requests import Requests
from fairlp.tolerances import CONVEX_POINT


def test_one_bottleneck_by_itself_is_a_resource():
    instance = examples.load("dolev-section-4")
    with pytest.raises(UnknownNameError, match="no resource is called 7; known: "):
        fairlp.formulate(instance, "njc", bottlenecks=7)
    named = fairlp.Instance.from_arrays(
        instance.demands, instance.capacities, resources=[1, 2, 3, 4]
    )
    alone, model_of_list = (
        fairlp.formulate(named, "njc", bottlenecks=bottlenecks) for bottlenecks in (1, [1])
    )
    assert str(alone) == str(model_of_list)


def test_a_set_of_bottlenecks_is_a_linear_program(tmp_path):
    instance = examples.load("dolev-section-5")
    model = fairlp.formulate(instance, "njc", bottlenecks={"resource1", "resource2"})
    assert "bottleneck  ∑_n r[n,j]·x[n] = 1" in str(model) and "fairness    x[n] ≥ a[n]" in str(
        model
    )
    assert model.solve().values["x"].tolist() == pytest.approx([0.5] * 3)
    infeasible = fairlp.formulate(instance, "njc", bottlenecks="resource1")
    assert infeasible.solve().status.termination.value == "infeasible"
    assert not infeasible.explain().empty
    path = model.write(tmp_path / "njc.mps")[0]
    program = fairlp.read_program(path)
    assert program.solve().objective == pytest.approx(model.solve().objective)
    assert "bottleneck.resource1" in path.read_text(encoding="utf-8")
    assert (
        fairlp.formulate(instance, "njc", bottlenecks="resource1, resource2").compile().n_rows == 5
    )
    with pytest.raises(UnknownNameError, match="did you mean 'resource1'"):
        fairlp.formulate(instance, "njc", bottlenecks=["resorce1"])


def test_the_eisenberg_gale_model_through_solvers_with_duals_as_prices():
    instance = examples.load("dolev-section-3")
    expected = fairlp.allocate(instance, "njc").certificate.prices
    for solver, digits in (("highs", 1e-6), ("glpk", 1e-6), ("clarabel", CONVEX_POINT)):
        solution = fairlp.formulate(instance, "njc").solve(solver)
        assert solution.verify().is_optimal or solver == "clarabel"
        assert solution.duals["capacity"].to_numpy() == pytest.approx(
            expected.to_numpy(), abs=digits
        )
    assert expected.sum() == pytest.approx(1) and (expected > 0).tolist() == [False, True, True]


def test_logarithms_of_weight_zero_are_no_part_of_the_program():
    instance = fairlp.Instance.from_arrays([[1], [1], [1]], [[1]], entitlements=[0.5, 0.5, 0])
    program = fairlp.formulate(instance, "njc").compile()
    assert len(program.logs.weights) == 2
    assert np.isfinite(program.objective_value(np.array([0.5, 0.5, 0.0])))


def test_a_criterion_is_a_user_numbers_by_user_or_one_of_two_names():
    requests = Requests.of(examples.load("dolev-figure-2"))
    x = np.array([1 / 3, 1 / 2, 3 / 4])
    assert coefficients(requests, "user2").tolist() == [0, 1, 0]
    assert coefficients(requests, {"user1": 2, "user3": -1}).tolist() == [2, 0, -1]
    assert coefficients(requests, "utilization").tolist() == pytest.approx([0.6, 0.6, 0.6])
    assert coefficients(requests, "least-served") is None
    assert value(requests, "user2", x) == 1 / 2
    assert value(requests, "utilization", x) == pytest.approx(0.6 * x.sum())
    assert value(requests, "least-served", x) == 1 / 3
    with pytest.raises(UnknownNameError, match="criterion: 'user4' is no user; did you mean 'user"):
        coefficients(requests, "user4")
    with pytest.raises(InstanceError, match="number of user 'user1' is inf; expected a finite one"):
        coefficients(requests, {"user1": np.inf})
