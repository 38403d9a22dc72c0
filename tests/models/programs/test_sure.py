"""As sure as the solvers: what every solver settles is neither unknown nor refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

import fairlp
from fairlp import Index, Model
from fairlp.errors import NoSolutionError
from fairlp.models.programs import backends
from fairlp.models.programs.backends import why_not
from fairlp.models.programs.status import Point, Termination
from fairlp.tolerances import CONFORMANCE, VERIFIED
from plain_programs import INF, KINDS, ordinary, program, with_noise
from profiles import many

SOLVERS = [
    pytest.param(name, marks=pytest.mark.skipif(bool(why_not(name)), reason=why_not(name)))
    for name in (
        "highs",
        "highs-ipm",
        "glpk",
        "scipy",
        "scip",
        "cvxpy:CLARABEL",
        "cvxpy:SCS",
        "cvxpy:ECOS",
        "cvxpy:PIQP",
        "ortools:GLOP",
    )
]
POS = (0.0, INF)


def monotone():
    """Plans that only grow: the dear one stays 0, and its rows are all noise."""
    model = Model("monotone")
    t, r = Index("t", range(1, 7)), Index("r", ["cheap", "dear"])
    x = model.variable("x", t, r)
    model.constraint("grows", x >= x.shift(t))
    model.constraint("demand", x.sum(r) >= [1, 2, 3, 4, 5, 6])
    model.minimize((x @ [1, 2]).sum())
    return model, 21.0


def nearly_equal():
    """Equations that no floats fulfil exactly: 1 − (1 − 1e-9) and .5 − (.5 − 1e-9) differ by 1e-16."""
    model = Model("nearly equal")
    w1, v, w2, y = (model.variable(name) for name in ("w1", "v", "w2", "y"))
    for name, relation in {
        "first": w1 == 1 - 1e-9,
        "one": v + w1 == 1,
        "second": w2 == 0.5 - 1e-9,
        "half": y + w2 == 0.5,
        "same": y - v == 0,
    }.items():
        model.constraint(name, relation)
    model.minimize(y + v + w1)
    return model, 1 + 1e-9


def inverse_times_matrix():
    """inv(L)·L x <= 1..8: the identity, with 1e-16 in place of zeros."""
    model = Model("inverse times matrix")
    i, j = Index("i", range(8)), Index("j", range(8))
    laplace = 2 * np.eye(8) - np.eye(8, k=1) - np.eye(8, k=-1)
    product = model.parameter("B", (i, j), np.linalg.inv(laplace) @ laplace)
    x = model.variable("x", j, upper=9)
    model.constraint("rows", (product * x).sum(j) <= np.arange(1, 9))
    model.maximize(x.sum())
    return model, 36.0


def a_tenth_and_two():
    """2x + (.1 + .2 − .3)·y <= 6, x + y <= 5, both at most 4."""
    model = Model("a tenth and two")
    x, y = model.variable("x", upper=4), model.variable("y", upper=4)
    model.constraint("noise", 2 * x + (0.1 + 0.2 - 0.3) * y <= 6)
    model.constraint("both", x + y <= 5)
    model.maximize(x + 2 * y)
    return model, 9.0


def one_tiny_entry():
    """Rows (1,2,1), (3,1,2), (1,1,5.6e-17) up to 4, 5, 6: the optimum is 3."""
    model = Model("one tiny entry")
    i, j = Index("i", range(3)), Index("j", range(3))
    entries = model.parameter("A", (i, j), [[1, 2, 1], [3, 1, 2], [1, 1, 5.6e-17]])
    x = model.variable("x", j)
    model.constraint("rows", (entries * x).sum(j) <= [4, 5, 6])
    model.maximize(x.sum())
    return model, 3.0


def coefficient_of_1e_308():
    model = Model("1e-308")
    x, y = model.variable("x", upper=4), model.variable("y", upper=4)
    model.constraint("tiny", x + 1e-308 * y <= 3)
    model.constraint("both", x + y <= 5)
    model.maximize(x + (2 + 0.0) * y)
    return model, 9.0


def cost_of_1e_308():
    model = Model("cost of 1e-308")
    x, y = model.variable("x", upper=4), model.variable("y", upper=4)
    model.constraint("both", x + y <= 5)
    model.maximize(1e-308 * x + 2 * y)
    return model, 8.0


def free_without_cost():
    model = Model("free")
    x, free = model.variable("x"), model.variable("free", lower=-INF)
    model.constraint("limit", x <= 3)
    model.constraint("slack", x + free <= 100)
    model.maximize(x)
    return model, 3.0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "case",
    [
        monotone,
        nearly_equal,
        inverse_times_matrix,
        a_tenth_and_two,
        one_tiny_entry,
        coefficient_of_1e_308,
        cost_of_1e_308,
        free_without_cost,
    ],
)
def test_what_every_solver_settles_is_settled_with_duals(case, solver):
    model, right = case()
    solution = model.solve(solver)
    assert solution.status.is_optimal, solution.status
    assert solution.objective == pytest.approx(right, rel=CONFORMANCE)
    assert solution.row_duals is not None and solution.verify().is_optimal


@settings(max_examples=many(400))
@given(st.sampled_from(KINDS), st.integers(0, 2**32 - 1), st.floats(-16, -12), st.integers(0, 3))
def test_noise_of_rounding_leaves_no_ordinary_program_undecided(kind, seed, exponent, place):
    """Beside SciPy's answer to the program without noise."""
    rng = np.random.default_rng(seed)
    plain = ordinary(kind, rng)
    solver = ("highs", "glpk", "scipy", "clarabel")[place]
    if why_not(backends.find_backend(solver).name):
        return
    solution = with_noise(plain, rng, 10.0**exponent).program().solve(solver)
    equal = plain.lower == plain.upper
    one_sided = np.vstack([plain.A[~equal], -plain.A[~equal]])
    sides = np.concatenate([plain.upper[~equal], -plain.lower[~equal]])
    finite = np.isfinite(sides)
    right = linprog(
        plain.c,
        one_sided[finite] if finite.any() else None,
        sides[finite] if finite.any() else None,
        plain.A[equal] if equal.any() else None,
        plain.lower[equal] if equal.any() else None,
        list(zip(plain.x_lower, plain.x_upper, strict=True)),
    )
    assert right.status == 0
    assert solution.status.is_optimal, solution.status
    assert abs(solution.objective - right.fun) <= CONFORMANCE * max(1.0, abs(right.fun))


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_models_keep_their_digits_in_any_unit(unit):
    """x + y <= 3, x − y <= 0 in numbers about ``unit``: a violation of 1e-5 of them is one."""
    p = program([[1, 1], [1, -1]], [(-INF, 3 * unit), (-INF, 0)], [POS, POS], c=[1.0, 0.5])
    certify = fairlp.models.programs.certificate.verify
    assert certify(p, np.array([1.5, 1.5]) * unit, np.array([0.75, 0.25])).is_optimal
    assert not certify(p, np.array([1.50001, 1.5]) * unit, None).is_feasible


def test_a_large_column_elsewhere_does_not_excuse_a_row_of_fractions():
    """z is a million; x − y <= 0 is violated by 1e-6 of fractions."""
    model = Model("fractions")
    x, y, z = model.variable("x"), model.variable("y"), model.variable("z", upper=1e6)
    model.constraint("order", x - y <= 0)
    model.constraint("one", x + y <= 1)
    model.maximize(z + x)
    certify = fairlp.models.programs.certificate.verify
    assert not certify(model.compile(), np.array([0.500001, 0.499999, 1e6]), None).is_feasible


def test_what_violated_rows_are_worth_belongs_to_the_gap():
    """max 1e6·x, x − y <= 0, y <= 1e-3: 5e-10 too much is nothing in the row, and 5e-4 in the objective."""
    p = program([[1, -1], [0, 1]], [(-INF, 0), (-INF, 1.0)], [POS, POS], c=[1e6, 1 - 1e6])
    certify = fairlp.models.programs.certificate.verify
    duals = np.array([1e6, 1.0])
    assert certify(p, np.array([1.0, 1.0]), duals).is_optimal
    certificate = certify(p, np.array([1.0 + 5e-10, 1.0]), duals)
    assert certificate.is_feasible and certificate.gap == pytest.approx(5e-4 / 1e6 / 2, rel=2)


def test_an_unknown_keeps_its_point_with_its_violations_in_the_users_units():
    class Beyond(fairlp.Backend):
        def run(self, program, options):
            return fairlp.Raw(Termination.OPTIMAL, "so", np.array([2.0, 3.0]), np.zeros(2))

    model = Model("beyond")
    n = Index("n", ["ann", "bob"])
    x = model.variable("x", n, upper=10)
    model.constraint("most", x <= [4, 1])
    model.maximize(x.sum())
    solution = model.solve(Beyond())
    assert solution.status.termination is Termination.UNKNOWN
    assert solution.status.primal is Point.INFEASIBLE and not solution.is_feasible
    assert solution.values["x"].to_dict() == {"ann": 2.0, "bob": 3.0}
    assert solution.objective == 5.0 and solution.activity["most"]["bob"] == 3.0
    table = solution.violations()
    assert table[["kind", "name", "violation"]].values.tolist() == [
        ["constraint", "most[bob]", 2.0]
    ]
    for required in (solution.require_point, solution.require_optimal):
        with pytest.raises(NoSolutionError, match="violations"):
            required()


def test_an_infeasible_model_names_explain():
    model = Model("none")
    x = model.variable("x", upper=1)
    model.constraint("two", x >= 2)
    model.maximize(x)
    solution = model.solve()
    for required in (solution.require_point, solution.require_optimal, lambda: solution.values):
        with pytest.raises(NoSolutionError, match=r"explain\(\)"):
            required()


def test_a_second_attempt_says_what_the_first_one_was(monkeypatch):
    """Clarabel's point is spoilt on its way back: the second attempt is HiGHS's."""
    from fairlp.solvers.backends.cvxpy_backend import Cvxpy

    run = Cvxpy.run

    def spoilt(self, program, options):
        raw = run(self, program, options)
        raw.x = raw.x * 0.9
        return raw

    monkeypatch.setattr(Cvxpy, "run", spoilt)
    model, right = a_tenth_and_two()
    solution = model.solve("cvxpy:CLARABEL")
    assert solution.status.is_optimal and solution.objective == pytest.approx(right, rel=VERIFIED)
    assert "second attempt (HiGHS" in solution.status.message
    assert "the first: optimal; not proved optimal" in solution.status.message


def test_numbers_as_they_are_written_are_an_option():
    model, right = a_tenth_and_two()
    assert model.solve(scale=False).objective == pytest.approx(right, rel=VERIFIED)
    with pytest.raises(fairlp.errors.UnsupportedError, match="scale is 3"):
        model.solve(scale=3)
