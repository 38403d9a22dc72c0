"""What ``solve`` says of any program is no more than the arrays bear out, whatever the back end says."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from fairlp import Capability, Model, Raw, Termination
from fairlp.models.programs.certificate import verify
from fairlp.models.programs.rays import proves_infeasible, proves_unbounded
from fairlp.models.programs.status import Point
from fairlp.solvers.backends.scaling import equilibrate
from fairlp.tolerances import SMALLEST_COST

SOLVERS = [
    "highs",
    "highs-ipm",
    "scipy",
    "glpk",
    "scip",
    "interior-point",
    "cvxpy:CLARABEL",
    "cvxpy:ECOS",
    "cvxpy:SCS",
]


def solvers():
    """Those that are here."""
    table = fairlp.solvers()
    return [
        pytest.param(name, marks=[] if table.loc[name, "available"] else pytest.mark.skip)
        for name in SOLVERS
    ]


def small_cost_without_end():
    """max 1e9·x + y: x ≤ 1, y − z ≤ 1. The cost of y is tiny beside that of x, and y has no end."""
    model = Model("endless")
    x, y, z = (model.variable(name, upper=1 if name == "x" else None) for name in "xyz")
    model.constraint("row", y - z <= 1)
    model.maximize(1e9 * x + y)
    return model


def empty(low=2.5, high=1.4):
    """min x: x ≥ 2.5, x ≤ 1.4."""
    model = Model("empty")
    x = model.variable("x")
    model.constraint("low", x >= low)
    model.constraint("high", x <= high)
    model.minimize(x)
    return model


@pytest.mark.parametrize("solver", solvers())
def test_unbounded_is_proved_by_a_direction_however_small_its_cost(solver):
    model = small_cost_without_end()
    solution = model.solve(solver)
    assert solution.status.termination is Termination.UNBOUNDED
    assert proves_unbounded(solution.program, solution.column_ray) and solution.verify().is_feasible
    assert solution.unbounded_direction["y"] > 0 and solution.unbounded_direction["x"] == 0
    assert "y" in model.explain(solver).index


@pytest.mark.parametrize("solver", solvers())
def test_infeasible_is_proved_by_row_multipliers(solver):
    solution = empty().solve(solver)
    assert solution.status.termination is Termination.INFEASIBLE and solution.x is None
    assert proves_infeasible(solution.program, solution.row_ray)
    assert solution.infeasibility_certificate["low"] == -solution.infeasibility_certificate["high"]


def saying(termination, x=None, duals=None, mip=False):
    """A back end that says one thing whatever it is asked."""

    class Says(fairlp.Backend):
        capabilities = frozenset(
            {Capability.LP, Capability.DUALS, *([Capability.MILP] if mip else [])}
        )

        def run(self, program, options):
            return Raw(termination, "so", x, duals)

    return Says()


def bounded():
    """max x + y: x + y ≤ 4 twice, as equations; 0 ≤ x ≤ 3."""
    model = Model("bounded")
    x, y = model.variable("x", upper=3), model.variable("y")
    model.constraint("one", x + y == 4)
    model.constraint("same", x + y == 4)
    model.maximize(x + y)
    return model


@pytest.mark.parametrize("termination", [Termination.INFEASIBLE, Termination.UNBOUNDED])
def test_a_claim_that_a_point_refutes_is_unknown(termination):
    status = bounded().solve(saying(termination)).status
    assert status.termination is Termination.UNKNOWN and "refuted" in status.message


def test_the_wrong_one_of_infeasible_and_unbounded_is_put_right():
    assert empty().solve(saying(Termination.UNBOUNDED)).status.termination is Termination.INFEASIBLE
    endless = small_cost_without_end().solve(saying(Termination.INFEASIBLE))
    assert endless.status.termination is Termination.UNBOUNDED


@pytest.mark.parametrize(
    ("x", "duals", "point"),
    [
        ([3.0, 1.0], [0.0, 0.0], Point.FEASIBLE),  # optimal, and its duals do not say so
        ([3.0, 1.0], [1e8, 1 - 1e8], Point.OPTIMAL),  # they cancel, and prove it all the same
        ([3.0, 1.0], [1e8, 2 - 1e8], Point.FEASIBLE),  # they cancel to twice the optimum
        ([3.0, 1.1], [1.0, 0.0], Point.INFEASIBLE),
        ([np.nan, 1.0], [1.0, 0.0], Point.NONE),
        ([np.inf, 1.0], [1.0, 0.0], Point.NONE),
        ([3.0, 1.0], [np.nan, 0.0], Point.OPTIMAL),  # no duals: HiGHS finds some that prove it
    ],
)
def test_an_optimum_that_its_duals_do_not_prove_is_not_called_optimal(x, duals, point):
    # minimised: duals change their signs
    solution = bounded().solve(saying(Termination.OPTIMAL, np.array(x), -np.array(duals)))
    assert solution.status.primal is point and solution.status.is_optimal == (
        point is Point.OPTIMAL
    )
    assert (solution.x is None) == (point is Point.NONE)
    assert (solution.row_duals is None) == (point is not Point.OPTIMAL)
    assert ("duals by HiGHS" in solution.status.message) == bool(np.isnan(duals).any())


def whole(lower=0.0, upper=2.5):
    model = Model("whole")
    x = model.variable("x", integer=True, lower=lower, upper=upper)
    model.maximize(x)
    return model


def test_integer_answers_are_by_the_solvers_word_and_feasible():
    right = whole().solve(saying(Termination.OPTIMAL, np.array([2.0]), mip=True))
    assert right.status.is_optimal and "as the solver says" in right.status.message
    for beyond in (3.0, -1.0, np.nan):
        model = whole()
        model.constraint("row", model["x"] <= 2)
        model.constraint("other", model["x"] >= 0.5)
        beyond_solution = model.solve(saying(Termination.OPTIMAL, np.array([beyond]), mip=True))
        # a bound is kept by the back ends' common part; rows show what that did
        assert beyond_solution.x is None or beyond_solution.verify().is_feasible


@pytest.mark.parametrize("solver", ["highs", "scipy", "scip"])
def test_integer_certificates_say_bound_gap_and_feasibility(solver):
    if not fairlp.solvers().loc[solver, "available"]:
        pytest.skip(solver)
    model = Model("knapsack")
    x, y = model.variable("x", integer=True), model.variable("y", integer=True)
    model.constraint("row", 3 * x + 5 * y <= 11)
    model.maximize(4 * x + 7 * y + 10)
    solution = model.solve(solver)
    certificate = solution.verify()
    assert (
        solution.bound == pytest.approx(25)
        and certificate.bound == solution.bound
        and certificate.gap == pytest.approx(0, abs=1e-9)
    )
    assert (
        certificate.is_feasible
        and not certificate.is_optimal
        and "bound 25 as the solver says" in str(certificate)
    )
    assert verify(solution.program, solution.x, bound=30.0).gap == pytest.approx(5 / 15)


@pytest.mark.parametrize("solver", solvers())
def test_bounds_of_integers_need_not_be_whole(solver):
    if Capability.MILP not in fairlp.solvers().loc[solver, "capabilities"]:
        return
    assert whole(0.2).solve(solver).x.tolist() == [2.0]
    assert whole(0.2, 0.8).solve(solver).status.termination is Termination.INFEASIBLE


def test_a_method_of_highs_refuses_integers_as_its_capabilities_say():
    with pytest.raises(fairlp.errors.UnsupportedError, match="has integers; use 'highs'"):
        whole().solve("highs-simplex")


@pytest.mark.parametrize("solver", solvers())
def test_a_model_without_variables_has_an_optimum(solver):
    solution = Model("nothing").solve(solver)
    assert solution.status.is_optimal and solution.objective == 0.0


def test_costs_far_apart_are_all_seen_by_the_solver():
    program = small_cost_without_end().compile()
    costs = equilibrate(program)[0].costs(program.c)
    assert costs[costs > 0].min() >= SMALLEST_COST / 2 and costs.max() <= 1 / SMALLEST_COST


def test_a_cost_that_is_only_rounding_does_not_blow_up_an_integer_objective():
    # HiGHS branched for ever on costs of millions, scaled for the sake of one of 2e-14
    model = Model("pick")
    x = [model.variable(f"x{k}", binary=True) for k in range(3)]
    model.constraint("row", x[0] + x[1] + x[2] <= 2)
    model.maximize(0.75 * x[0] + 0.25 * x[1] + 2e-14 * x[2])
    program = model.compile()
    scaling, _ = equilibrate(program)
    assert 0.5 <= abs(scaling.costs(program.c)).max() <= 2
    assert model.solve().objective == pytest.approx(1.0)


def test_a_back_end_that_ends_the_process_is_a_failed_solver():
    class Leaves(fairlp.Backend):
        def run(self, program, options):
            raise SystemExit(3)

    with pytest.raises(fairlp.errors.SolverError, match="SystemExit: 3"):
        whole(0.0).solve(
            type("Leaves", (Leaves,), {"capabilities": frozenset({Capability.MILP})})()
        )


def test_a_sweep_proves_what_has_no_optimum():
    model = Model("cake")
    h, x = model.parameter("h", (), 1.0), model.variable("x")
    model.constraint("cake", x <= h)
    model.maximize(x)
    assert model.sweep("h", [1.0, -1.0])["status"].tolist() == ["optimal", "infeasible"]


def test_binary_keeps_the_bounds_that_are_tighter():
    model = Model("binary")
    x = model.variable("x", binary=True, upper=0.0)
    y = model.variable("y", binary=True, lower=-3, upper=7)
    model.maximize(x + y)
    assert model.solve().x.tolist() == [0.0, 1.0]
    with pytest.raises(fairlp.errors.ModelError, match="no number is between"):
        model.variable("z", binary=True, lower=2)


def test_an_empty_row_that_cannot_hold_proves_itself():
    model = Model("empty row")
    n = fairlp.Index("n", ["a"])
    x = model.variable("x", n)
    model.constraint("row", (model.parameter("d", n, [0.0]) * x).sum(n) >= 2)
    model.maximize(-x.sum(n))
    solution = model.solve()
    assert (
        solution.status.termination is Termination.INFEASIBLE
        and solution.infeasibility_certificate["row"] == 1
    )


def test_rows_without_sides_or_entries_do_not_scale_a_program():
    model = Model("free row")
    x = model.variable("x", upper=2e4)
    for name, factor, side in (("row", 1.0, 3e4), ("free", 1e15, 7.0), ("nothing", 0.0, 1e12)):
        model.constraint(name, model.parameter(f"a_{name}", (), factor) * x <= side)
    model.maximize(x)
    program = model.compile()
    free = program.replace(row_upper=np.array([3e4, np.inf, 1e12]))
    without = program.replace(row_upper=np.array([3e4, np.inf, np.inf]))
    scaling, alone = equilibrate(free)[0], equilibrate(without)[0]
    assert (
        scaling.columns == alone.columns
        and scaling.rhs == alone.rhs
        and 0.1 < scaling.columns[0] < 10
    )


def test_multipliers_that_a_back_end_gives_are_checked():
    class Forges:
        name, capabilities = "forges", frozenset({Capability.LP})

        def available(self):
            return True, ""

        def version(self):
            return ""

        def solve(self, program, options):
            from fairlp.models.programs.solution import solution_at

            solution = solution_at(
                program, Termination.INFEASIBLE, "so", self.name, None, None, None
            )
            return dataclasses.replace(solution, row_ray=np.ones(program.n_rows))

        def session(self, program, options):
            raise NotImplementedError

    assert bounded().solve(Forges()).status.termination is Termination.UNKNOWN


# Integer programs: the status says no more than the certificate, and no more than the solver's own
# bound.


class SaysOfIntegers(fairlp.Backend):
    """A back end that says one thing of every integer program, and counts how often it is asked."""

    capabilities = frozenset({Capability.LP, Capability.MILP})
    honours = frozenset({"mip_gap"})

    def __init__(self, termination=Termination.OPTIMAL, x=None, bound=None):
        self.termination, self.x, self.bound, self.runs = termination, x, bound, 0

    def run(self, program, options):
        self.runs += 1
        x = None if self.x is None else np.array(self.x, dtype=float)
        return Raw(self.termination, "so", x, bound=self.bound)


def large_row():
    """max x: x ≤ 28 million, x whole."""
    model = Model("large")
    x = model.variable("x", integer=True)
    model.constraint("row", x <= 28_000_000)
    model.maximize(x)
    return model


def test_a_status_says_no_more_than_the_certificate():
    solution = large_row().solve(SaysOfIntegers(x=[28_000_015]))  # 5e-7 of the row too much
    assert not solution.status.is_optimal and solution.x is None
    right = large_row().solve(SaysOfIntegers(x=[28_000_000]))
    assert right.status.is_optimal and right.verify().is_feasible


def test_an_optimum_beside_another_bound_of_the_solver_itself_is_not_called_optimal():
    solution = large_row().solve(SaysOfIntegers(x=[27_000_000], bound=-28_000_000))
    assert not solution.status.is_optimal and solution.status.primal is Point.FEASIBLE
    assert "own bound of 28000000 leaves a gap" in solution.status.message
    assert large_row().solve(SaysOfIntegers(x=[28_000_000], bound=-28_000_000)).status.is_optimal


def test_within_a_gap_that_was_asked_for_is_a_gap_limit_and_says_what_is_known():
    answer = large_row().solve(SaysOfIntegers(x=[27_000_000], bound=-28_000_000), mip_gap=0.1)
    assert (
        answer.status.termination is Termination.GAP_LIMIT
        and "gap of 3.7e-02" in answer.status.message
    )
    untold = large_row().solve(SaysOfIntegers(x=[28_000_000]), mip_gap=1e-6)
    assert untold.status.termination is Termination.GAP_LIMIT
    assert (
        "within the gap of 1e-06 asked for" in untold.status.message
        and "nan" not in untold.status.message
    )


@pytest.mark.parametrize("solver", ["highs", "scipy", "scip", "glpk", "cvxpy:HIGHS", "pyomo:highs"])
def test_a_knapsack_that_is_solved_within_a_gap_of_nothing_is_optimal(solver):
    if not fairlp.solvers().loc[solver, "available"]:
        pytest.skip(solver)
    model = Model("knapsack")
    n = fairlp.Index("n", range(12))
    x, size = model.variable("x", n, binary=True), np.arange(7.0, 31.0, 2.0)
    model.constraint("room", (x * size).sum() <= 90)
    model.maximize((x * (size + np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]))).sum())
    solution = model.solve(solver, mip_gap=1e-6)
    assert solution.status.is_optimal and solution.gap == pytest.approx(0, abs=1e-9)
    assert solution.objective == pytest.approx(model.solve("highs").objective)


def no_whole_numbers():
    """2x + 2y = 3, x and y whole."""
    model = Model("odd")
    x, y = model.variable("x", integer=True, upper=9), model.variable("y", integer=True, upper=9)
    model.constraint("odd", 2 * x + 2 * y == 3)
    model.maximize(x)
    return model


def test_that_no_whole_numbers_fit_is_asked_twice_at_most(monkeypatch):
    from fairlp.solvers.backends import highs

    solved, solve = [], highs.HighsSession.solve
    monkeypatch.setattr(
        highs.HighsSession, "solve", lambda self: solved.append(self.program.is_mip) or solve(self)
    )
    assert no_whole_numbers().solve("highs").status.termination is Termination.INFEASIBLE
    assert solved.count(True) == 2
    solved.clear()
    back_end = SaysOfIntegers(Termination.INFEASIBLE)
    assert no_whole_numbers().solve(back_end).status.termination is Termination.INFEASIBLE
    assert back_end.runs == 1 and solved.count(True) <= 2


def test_a_point_refutes_that_no_whole_numbers_fit():
    solution = large_row().solve(SaysOfIntegers(Termination.INFEASIBLE))
    assert (
        solution.status.termination is Termination.UNKNOWN and "refuted" in solution.status.message
    )


# Where simplex settles nothing.


def crossed(size=30):
    """Chained equations whose last one contradicts the others by their sum."""
    model = Model("crossed")
    n = fairlp.Index("n", range(size))
    x = model.variable("x", n)
    for k in range(size - 1):
        model.constraint(f"step{k}", x[k + 1] - 1.01 * x[k] == 0.1)
    model.constraint("begin", x[0] >= 1)
    model.constraint("end", x[size - 1] <= 1)
    model.minimize(x.sum())
    return model


def test_an_infeasible_program_that_simplex_does_not_settle_is_proved_by_another_method(
    monkeypatch,
):
    from fairlp.errors import SolverError
    from fairlp.solvers.backends import highs

    solve, methods = highs.Highs.solve, []

    def without_simplex(self, program, options):
        methods.append(options.method)
        if options.method == "simplex":
            raise SolverError("no basis")
        return solve(self, program, options)

    monkeypatch.setattr(highs.Highs, "solve", without_simplex)
    solution = crossed().solve(saying(Termination.UNKNOWN))
    assert solution.status.termination is Termination.INFEASIBLE and "ipm" in methods
    assert proves_infeasible(solution.program, solution.row_ray)


def test_where_simplex_ends_unknown_another_method_is_tried(monkeypatch):
    from fairlp.solvers.backends import highs

    solve, methods = highs.HighsSession.solve, []

    def failing(self):
        methods.append(self._loaded)
        solution = solve(self)
        if self._loaded != "simplex":
            return solution
        status = dataclasses.replace(solution.status, termination=Termination.UNKNOWN)
        return dataclasses.replace(solution, status=status, x=None)

    monkeypatch.setattr(highs.HighsSession, "solve", failing)
    assert bounded().solve("highs").status.is_optimal and methods == ["simplex", "ipm"]


# Numbers that are nothing but rounding.


# not ECOS, which keeps rows to 1e-8 of what they have only
@pytest.mark.parametrize(
    "solver", [parameter for parameter in solvers() if parameter.values != ("cvxpy:ECOS",)]
)
def test_a_number_of_1e_16_in_a_unit_of_1_is_no_reason_to_refuse_an_answer(solver):
    model = Model("noise")
    h = model.parameter("h", (), 0.0)
    x, y = model.variable("x", lower=None), model.variable("y", upper=10)
    model.constraint("fix", x == h)
    model.constraint("above", y >= x)
    model.minimize(y)
    for value in (1e-16, *np.arange(-0.3, 0.31, 0.1)):
        h.set(float(value))
        solution = model.solve(solver)
        assert solution.status.is_optimal, (value, solution.status)
        assert solution.objective == pytest.approx(max(value, 0.0), abs=1e-8)


def test_what_is_not_rounding_in_the_unit_of_a_row_is_seen():
    model = Model("small")
    x, y = model.variable("x"), model.variable("y")
    model.constraint("fix", x == 1e-12)
    model.constraint("above", y >= x)
    program = model.compile()
    assert not verify(program, np.array([1e-12, 0.9e-12])).is_feasible
    assert not verify(program, np.array([0.0, 1e-12])).is_feasible
    assert verify(program, np.array([1e-12, 1e-12])).is_feasible


WRONG_PARTS = [
    {"bound": "x"}, {"bound": [1]}, {"seconds": None}, {"iterations": 3}, {"iterations": {"a": "b"}}, {"pool": 3},
    {"pool": [[0.0]]}, {"message": 3}, {"method": None}, {"pool": ["x"]},
]  # fmt: skip


@pytest.mark.parametrize("fields", WRONG_PARTS, ids=str)
def test_an_answer_of_another_form_is_named(fields):
    class Wrong(fairlp.Backend):
        def run(self, program, options):
            return fairlp.Raw(fairlp.Termination.UNKNOWN, **fields)

    with pytest.raises(fairlp.errors.SolverError, match=f"Wrong gave {next(iter(fields))} of "):
        fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve(Wrong())
