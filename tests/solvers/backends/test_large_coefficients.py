"""Integer programs with a big M: answers called optimal are those of an enumeration in fractions, on every back end."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
import plain_programs
from fairlp import Capability, Index, Model, Raw, Termination
from fairlp.models.programs.certificate import verify
from fairlp.solvers.backends.large_coefficients import (
    with_small_coefficients,
    within_objective,
)
from fairlp.solvers.backends.scaling import equilibrate
from integer_enumeration import facility, optimum, random_model, switch
from profiles import by_day, many

SOLVERS = fairlp.solvers()
SOLVERS = [
    name
    for name in SOLVERS.index[SOLVERS["available"]]
    if Capability.MILP in SOLVERS.loc[name, "capabilities"]
]


@pytest.mark.parametrize("large", [1e3, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11])
@pytest.mark.parametrize("solver", by_day(SOLVERS, 3))
def test_a_large_m_does_not_move_the_optimum(solver, large):
    for model, right in (
        (facility(large), 4.0),
        (switch(1.0, large), 2.0),
        (switch(0.1, large), 2.0),
    ):
        solution = model.solve(solver).require_optimal()
        assert (
            solution.objective == pytest.approx(right, rel=1e-7) and solution.verify().is_feasible
        )


@settings(max_examples=many(120), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(SOLVERS))
def test_what_is_called_optimal_is_the_optimum_of_an_enumeration(seed, solver):
    model = random_model(seed)
    right, solution = optimum(model.compile()), model.solve(solver)
    if solution.status.is_optimal:
        assert right is not None and solution.objective == pytest.approx(
            float(right), rel=1e-6, abs=1e-6
        )
        assert solution.verify().is_feasible
    if solution.status.termination is Termination.INFEASIBLE:
        assert right is None


# wrong on HiGHS, GLPK or SciPy when they were found: "optimal" with another optimum, or
# "infeasible"
@pytest.mark.parametrize("seed", by_day([40, 62, 63, 221, 365, 453, 504, 550, 685, 827, 832], 3))
def test_instances_that_were_wrong(seed):
    model = random_model(seed)
    right = optimum(model.compile())
    for solver in SOLVERS:
        solution = model.solve(solver)
        if solution.status.is_optimal:
            assert right is not None and solution.objective == pytest.approx(
                float(right), rel=1e-6, abs=1e-6
            )
        assert solution.status.termination is not Termination.INFEASIBLE or right is None


@pytest.mark.slow
def test_nearly_all_are_solved():
    unknown = [
        seed
        for seed in range(150)
        if random_model(seed).solve().status.termination is Termination.UNKNOWN
    ]
    assert len(unknown) <= 5


@pytest.mark.parametrize("large", [1e9, 1e11])
def test_a_point_is_feasible_by_its_rows_at_whole_numbers(large):
    program = facility(large).compile()
    closed = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # a share of 1 of what is not open
    certificate = verify(program, closed)
    assert certificate.primal_residual == pytest.approx(1.0) and not certificate.is_feasible
    nearly = closed + np.array([0.0, 0.0, 0.0, 1 / large, 0.0, 0.0])
    assert verify(program, nearly).primal_residual == pytest.approx(1.0)
    assert verify(program, np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])).primal_residual == 0.0


def test_a_row_of_integers_is_measured_in_its_own_unit():
    model = Model("row")
    x = model.variable("x", integer=True)
    model.constraint("row", x <= 28_000_000)
    model.maximize(x)
    program = model.compile()
    assert verify(program, np.array([28_000_015.0])).primal_residual == pytest.approx(1.0)
    bytes_ = program.replace(A=program.A * 1e9, row_upper=program.row_upper * 1e9)
    assert verify(bytes_, np.array([28_000_015.0])).primal_residual == pytest.approx(1.0)
    assert verify(bytes_, np.array([28_000_000.0])).primal_residual == 0.0


def test_sums_of_decimals_at_whole_numbers_are_exact_to_rounding():
    model = Model("decimals")
    x = model.variable("x", integer=True, upper=9)
    model.constraint("row", 0.1 * x <= 0.3)
    model.maximize(x)
    assert (
        model.solve().require_optimal().x.tolist() == [3.0] and model.solve().verify().is_feasible
    )


def test_coefficients_become_as_small_as_their_rows_need():
    model = Model("rows")
    x, y = model.variable("x", upper=3), model.variable("y", lower=-1, upper=1)
    b, c = model.variable("b", binary=True), model.variable("c", integer=True, upper=4)
    model.constraint("on", x + y <= 1e9 * b)
    model.constraint("off", x + 1e9 * b <= 1e9 + 1)
    model.constraint("least", x >= 2 - 1e9 * c)
    model.constraint("free", model.variable("z") <= 1e9 * b)
    model.minimize(x)
    program = model.compile()
    small = with_small_coefficients(program)
    sizes = abs(small.A.toarray())[:, 2:4].max(axis=1)
    assert (sizes[:3] < 10).all() and sizes[3] == 1e9 and (sizes[:3] >= [4, 2, 2]).all()
    assert with_small_coefficients(program.relaxed()).A is not None and program.A.max() == 1e9
    for point in np.stack(np.meshgrid(*[[0.0, 1.0, 2.0, 3.0]] * 5), -1).reshape(-1, 5):
        if point[1] <= 1 and point[2] <= 1:
            assert verify(program, point).is_feasible == verify(small, point).is_feasible


@settings(max_examples=many(40), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_smaller_coefficients_keep_the_optimum(seed):
    program = random_model(seed).compile()
    right, small = optimum(program), optimum(with_small_coefficients(program))
    # what rounding displaces of a row of 1e11 and 0.1 is beyond a comparison of fractions
    assert (right is None) == (small is None) or abs(program.A.data).max() >= 1e9
    if right is not None and small is not None:
        assert float(right) == pytest.approx(float(small), rel=1e-6, abs=1e-6)


def unbounded_switch(large, cost=1.0):
    """min cost·x + 3b: 2 ≤ x ≤ M·b, where nothing bounds x."""
    model = Model("switch")
    x, b = model.variable("x"), model.variable("b", binary=True)
    model.constraint("least", x >= 2)
    model.constraint("on", x <= large * b)
    model.minimize(cost * x + 3 * b)
    return model


def test_the_first_point_bounds_what_is_as_good():
    program = unbounded_switch(1e9).compile()
    bounded = within_objective(program, np.array([2.0, 1.0]))
    assert (
        2 <= bounded.col_upper[0] <= 20 and abs(with_small_coefficients(bounded).A.data).max() < 50
    )
    assert within_objective(unbounded_switch(1e9, cost=0.0).compile(), np.array([2.0, 1.0])) is None
    assert within_objective(unbounded_switch(10.0).compile(), np.array([2.0, 1.0])) is None


@pytest.mark.parametrize("solver", ["highs", "scipy", "scip", "glpk"])
def test_a_word_that_a_tolerance_may_have_made_is_not_taken(solver):
    if solver not in SOLVERS:
        pytest.skip(solver)
    solution = unbounded_switch(1e11, cost=0.0).solve(solver)
    assert not solution.status.is_optimal
    answer = unbounded_switch(1e3, cost=0.0).solve(solver)
    assert answer.status.is_optimal and answer.objective == pytest.approx(3)


def test_a_session_follows_bounds_that_a_coefficient_depends_on():
    model = switch(1.0, 1e9)
    with model.session("highs") as session:
        assert session.solve().objective == pytest.approx(2.0)
        model["x"].set(upper=50.0)  # x <= 1e9·b was given as x <= 2·b
        assert session.solve().objective == pytest.approx(149.0)
        model["b"].fix(0)
        assert session.solve().objective == pytest.approx(0.0, abs=1e-9)


def test_a_claim_of_infeasibility_with_a_large_coefficient_is_not_taken():
    class Says(fairlp.Backend):
        capabilities = frozenset({Capability.MILP})

        def run(self, program, options):
            return Raw(Termination.INFEASIBLE, "so")

    model = unbounded_switch(1e11, cost=0.0)
    model.constraint("odd", 2 * model.variable("k", integer=True, upper=5) == 3)
    assert model.solve(Says()).status.termination is Termination.UNKNOWN


def test_integer_programs_keep_their_columns_and_rows_that_have_a_unit():
    model = Model("units")
    n = Index("n", range(3))
    x, z = model.variable("x", n, upper=1e6), model.variable("z", n, integer=True, upper=5)
    model.constraint("on", x <= 1e9 * z)
    model.constraint("bytes", (x * 2.0**30).sum() + (z * 2.0**33).sum() <= 2.0**40)
    model.constraint("small", (x * 2.0**-20).sum() <= 0.5)
    model.maximize((x * 2.0**20).sum() + (z * 2.0**22).sum())
    program = model.compile()
    scaling, _ = equilibrate(program)
    assert (scaling.columns == 1).all() and scaling.rhs == 1
    assert scaling.rows.tolist() == [1, 1, 1, 2.0**-30, 2.0**20] and scaling.cost == 2.0**-20


def whole_model(seed):
    """Two to four integers of a few values each, in rows of either side with coefficients of any size."""
    rng = np.random.default_rng(seed)
    v, r = Index("v", range(rng.integers(2, 5))), Index("r", range(rng.integers(1, 5)))
    model = Model("whole", indices=(v, r))
    lower = rng.integers(-2, 2, len(v)).astype(float)
    x = model.variable("x", v, lower=lower, upper=lower + rng.integers(0, 4, len(v)), integer=True)
    sizes = np.where(rng.random((len(r), len(v))) < 0.7, rng.integers(-5, 6, (len(r), len(v))), 0)
    sizes = sizes * rng.choice([1.0, 1.0, 10.0, 1e6, 1e9], (len(r), len(v)))
    activity = (model.parameter("a", (r, v), sizes) * x).sum(v)
    unit = np.where(sizes == 0, np.inf, abs(sizes)).min(axis=1)
    side = sizes @ np.round(lower + rng.random(len(v)) * 3)
    side = side + rng.integers(-1, 3, len(r)) * np.where(np.isinf(unit), 1.0, unit)
    model.constraint("rows", activity <= side) if rng.random() < 0.5 else model.constraint(
        "rows", activity >= side
    )
    model.maximize((x * rng.integers(-3, 6, len(v)).astype(float)).sum())
    return model


def test_a_whole_program_that_highs_gets_wrong_is_not_called_optimal():
    right, solution = optimum(whole_model(354).compile()), whole_model(354).solve("highs")
    assert not solution.status.is_optimal or solution.objective == pytest.approx(float(right))


@settings(max_examples=many(120), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(SOLVERS))
def test_whole_numbers_of_any_size_against_their_enumeration(seed, solver):
    model = whole_model(seed)
    right, solution = optimum(model.compile()), model.solve(solver)
    if solution.status.is_optimal:
        assert right is not None and solution.objective == pytest.approx(float(right))
    else:
        assert solution.status.termination is not Termination.INFEASIBLE or right is None


def test_a_good_point_bounds_columns_by_twice_the_room_that_the_objective_leaves():
    p = plain_programs.program(
        [[1.0, -1e12]],
        [(-np.inf, 0.0)],
        [(100.0, 1e12), (0.0, 1.0)],
        [1.0, 0.0],
        "min",
        integrality=np.array([0, 1], dtype=np.uint8),
    )
    bounded = within_objective(p, np.array([130.0, 1.0]))
    # 30 above the least cost of 100, and a unit of costs: twice 31
    assert bounded.col_lower.tolist() == [100.0, 0.0] and bounded.col_upper.tolist() == [162.0, 1.0]
