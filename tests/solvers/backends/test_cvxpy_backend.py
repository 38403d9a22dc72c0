"""CVXPY's solvers: variables that are used nowhere, and first-order methods held to what they state."""

import numpy as np
import pytest

import fairlp
from fairlp import Capability, Index, Model, Raw, Termination
from fairlp.tolerances import CONFORMANCE, VERIFIED

SOLVERS = fairlp.solvers()


def with_a_free_variable():
    """max x: x ≤ 2, and a free variable that is used nowhere, beside one that is used in part."""
    n = Index("n", ["a", "b"])
    model = Model("free")
    x, _ = model.variable("x", upper=3), model.variable("nowhere", lower=None)
    g = model.variable("g", n, lower=None)
    model.constraint("row", x + g["a"] <= 2)
    model.constraint("least", g["a"] >= -1)
    model.maximize(x + 0.5 * g["a"])
    return model


def test_it_has_one_in_a_problem_and_a_model_that_are_read_back():
    pyo = pytest.importorskip("pyomo.environ")
    model = with_a_free_variable()
    problem = model.to_cvxpy()
    problem.solve()
    assert model.read_back(problem).require_optimal().values["nowhere"] == 0.0
    built = model.to_pyomo()
    built.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    assert model.read_back(built).x is None  # not solved
    pyo.SolverFactory("appsi_highs").solve(built)
    solution = model.read_back(built).require_optimal()
    assert solution.values["nowhere"] == 0.0 and solution.objective == pytest.approx(2.5)


def instance(users, servers, resources, seed):
    rng = np.random.default_rng(seed)
    return fairlp.Instance.from_arrays(
        rng.uniform(0.1, 3, (users, resources)), rng.uniform(5, 40, (servers, resources))
    )


@pytest.mark.parametrize(
    "solver", ["cvxpy:OSQP", "cvxpy:SCS", "cvxpy:CLARABEL", "highs-pdlp", "ortools:PDLP"]
)
@pytest.mark.parametrize("shape", [(8, 3, 2), (8, 4, 3), (20, 10, 3)])
def test_first_order_methods_solve_drfh_within_what_they_state(solver, shape):
    if not SOLVERS.loc[solver, "available"]:
        pytest.skip(solver)
    for seed in range(3):
        model = fairlp.formulate(instance(*shape, seed), "drfh")
        solution = model.solve(solver).require_optimal()
        assert solution.objective == pytest.approx(model.solve().objective, rel=CONFORMANCE)
        assert solution.verify().is_optimal and solution.status.tolerance <= CONFORMANCE


@pytest.mark.parametrize("solver", ["cvxpy:SCS", "cvxpy:CLARABEL"])
@pytest.mark.parametrize("mechanism", ["alpha-fair", "ceei", "njc"])
def test_cone_solvers_solve_concave_models(solver, mechanism):
    for seed in range(2):
        model = fairlp.formulate(
            instance(6, 3 if mechanism == "alpha-fair" else 1, 3, seed), mechanism
        )
        right = model.solve("interior-point").objective
        assert model.solve(solver).require_optimal().objective == pytest.approx(
            right, rel=CONFORMANCE
        )


@pytest.mark.slow
def test_osqp_gives_the_same_answer_twice():
    model = fairlp.formulate(instance(20, 10, 3, 1), "drfh")
    first, second = (model.solve("cvxpy:OSQP") for _ in range(2))
    assert first.iterations == second.iterations and first.x.tolist() == second.x.tolist()


def square(deviation, accuracy):
    """max x + y: x + y ≤ 4, answered by a point that is off by a part of the row."""
    model = Model("square")
    x, y = model.variable("x", upper=3), model.variable("y")
    model.constraint("row", x + y <= 4)
    model.maximize(x + y)

    class Rough(fairlp.Backend):
        capabilities = frozenset({Capability.LP, Capability.DUALS})

        def run(self, program, options):
            return Raw(
                Termination.OPTIMAL, "so", np.array([3.0, 1.0 + 4 * deviation]), np.array([-1.0])
            )

    Rough.accuracy = accuracy
    return model.solve(Rough())


def test_an_answer_within_the_accuracy_of_a_back_end_says_within_what():
    rough = square(3e-7, CONFORMANCE)
    assert rough.status.is_optimal and "optimal within 3.0e-07" in rough.status.message
    assert (
        rough.verify().is_feasible
        and rough.verify().is_optimal
        and "(asked: 1e-06)" in str(rough.verify())
    )
    assert rough.values["y"] == pytest.approx(1.0000012) and not rough.verify().is_within(VERIFIED)
    exact = square(0.0, CONFORMANCE)
    assert exact.status.tolerance == VERIFIED and "within" not in exact.status.message


@pytest.mark.parametrize(("deviation", "accuracy"), [(3e-7, VERIFIED), (3e-6, CONFORMANCE)])
def test_what_is_beyond_the_accuracy_is_not_called_optimal(deviation, accuracy):
    answer = square(deviation, accuracy)
    assert not answer.status.is_optimal and not answer.is_feasible


@pytest.mark.parametrize(("cost", "expected"), [(4.0, 2.0), (6.0, 3.0)])
def test_a_square_counts_as_it_is_written_beside_linear_terms(cost, expected):
    """The least of x² − c·x is at c/2."""
    model = Model("parabola")
    x = model.variable("x", upper=9)
    model.minimize(x**2 - cost * x)
    solution = model.solve("cvxpy:CLARABEL").require_optimal()
    assert float(solution.values["x"]) == pytest.approx(expected, rel=1e-5)
    assert solution.objective == pytest.approx(-(expected**2), rel=1e-6)
