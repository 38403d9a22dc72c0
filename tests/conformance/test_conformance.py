"""Every back end passes the suite; the suite catches back ends that lie, stop, crash or turn a sign."""

from __future__ import annotations

import dataclasses
import functools
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import fairlp
from fairlp import conformance
from fairlp.conformance import _consistent
from fairlp.conformance.zoo import FAMILIES, INF, Case, linear
from fairlp.errors import (
    NoSolutionError,
    NotConvergedError,
    SolverNotAvailableError,
    UnknownNameError,
    UnsupportedError,
)
from fairlp.models.programs import backends
from fairlp.models.programs.protocols import Capability
from fairlp.models.programs.status import Point, Status, Termination
from fairlp.solvers.backends.highs import Highs
from profiles import PROFILE, by_day, chequered

SOLVERS = fairlp.solvers()
NAMES = list(SOLVERS.index)
#: It goes to its limit of iterations on most of the zoo; by day it sees what is about limits and
#: proofs.
SLOW: dict[str, tuple[str, ...]] = (
    {} if PROFILE == "nightly" else {"cvxpy:OSQP": ("linear", "hopeless", "limit")}
)


def installed(name):
    if not SOLVERS.loc[name, "available"]:
        pytest.skip(f"{name}: {SOLVERS.loc[name, 'remedy']}")
    return name


@functools.cache
def checked(name):
    cases = [case for family in SLOW.get(name, FAMILIES) for case in FAMILIES[family]()]
    return conformance.check(name, cases)


@pytest.mark.parametrize("name", dict.fromkeys([*by_day(NAMES, 6), "scip"]))
def test_every_available_back_end_passes(name):
    table = checked(installed(name))
    failed = table[table["outcome"] == "failed"]
    assert failed.empty, failed["detail"].to_dict()
    counts = conformance.summary(table)
    # honest "I do not know" is allowed to a few, never to most
    assert counts["undecided"] <= 3 and counts["passed"] >= len(table) / 2, table


@pytest.mark.parametrize(
    "name", by_day(["highs", "scipy", "glpk", "cvxpy:HIGHS", "pyomo:highs"], 5)
)
def test_the_exact_back_ends_decide_everything(name):
    table = checked(installed(name))
    assert set(table["outcome"]) == {"passed"}, table[table["outcome"] != "passed"][
        "detail"
    ].to_dict()


def rows_of_every_kind(sense, bounds):
    """Four free columns, rows ≤, ≥, = and a range; costs are Aᵀ(2, −1, −½, 3/2), so those are the duals of a max."""
    below, above, equal, (low, high) = bounds
    sign = 1.0 if sense == "max" else -1.0
    rows = [
        (-INF, [2, 1, 0, 0], below),
        (above, [0, 1, 1, 0], INF),
        (equal, [1, 0, 0, 1], equal),
        (low, [0, 0, 1, 1], high),
    ]
    costs = [sign * value for value in (3.5, 1, 0.5, 1)]
    return linear("rows of every kind", costs, rows, [(-INF, INF)] * 4, sense=sense)


@pytest.mark.parametrize(("sense", "name"), chequered(["max", "min"], list(NAMES)))
def test_duals_by_finite_difference(name, sense):
    backend = backends.find_backend(installed(name))
    if Capability.DUALS not in backend.capabilities:
        pytest.skip(f"{name} promises no duals")
    base = (4.0, 3.0, 2.0, (-9.0, 6.0))
    options = fairlp.Options()

    def value(below=0.0, above=0.0, equal=0.0, high=0.0):
        bounds = (
            base[0] + below,
            base[1] + above,
            base[2] + equal,
            (base[3][0], base[3][1] + high),
        )
        return backends.solve_on(
            backend, rows_of_every_kind(sense, bounds), options
        ).require_optimal()

    solution = value()
    steps = {"below": 0.25, "above": 0.25, "equal": 0.25, "high": 0.25}
    for row, (change, step) in enumerate(steps.items()):
        expected = (value(**{change: step}).objective - solution.objective) / step
        assert abs(expected) > 0.4, "the row must matter"
        assert solution.row_duals[row] == pytest.approx(expected, rel=1e-4), change
    assert solution.duals["row"].tolist() == solution.row_duals.tolist()


class Mock(Highs):
    """HiGHS with one lie."""

    def __init__(self, lie):
        super().__init__("mock")
        self.lie = lie

    def solve(self, program, options):
        return self.lie(super().solve(program, options))


def status(solution, **changes):
    return dataclasses.replace(solution, status=dataclasses.replace(solution.status, **changes))


def zeros_at_a_limit(solution):
    stopped = Status(Termination.TIME_LIMIT, Point.FEASIBLE, Point.NONE, "limit")
    return dataclasses.replace(
        solution, status=stopped, x=np.zeros(solution.program.n_columns) - 1, row_duals=None
    )


def crash(_solution):
    raise ValueError("boom")


def duals_of_a_minimum(solution):
    """The old mistake: on a maximum, the duals of the minimised negative."""
    if solution.row_duals is None or solution.program.sense == "min":
        return solution
    return dataclasses.replace(solution, row_duals=-solution.row_duals)


LIES = {
    "duals of a maximum with the sign of a minimum": duals_of_a_minimum,
    "a wrong point called optimal": lambda s: (
        s if s.x is None else dataclasses.replace(s, x=s.x * 1.01 + 0.01)
    ),
    "a worse point called optimal": lambda s: (
        s if s.x is None else dataclasses.replace(s, x=s.x * 0.5)
    ),
    "duals of the other sign": lambda s: (
        s if s.row_duals is None else dataclasses.replace(s, row_duals=-s.row_duals)
    ),
    "duals of zero": lambda s: (
        s if s.row_duals is None else dataclasses.replace(s, row_duals=0 * s.row_duals)
    ),
    "no duals, though promised": lambda s: dataclasses.replace(s, row_duals=None),
    "everything is infeasible": lambda s: dataclasses.replace(
        s, status=Status(Termination.INFEASIBLE, Point.NONE, Point.NONE, ""), x=None
    ),
    "infeasible programs are optimal": lambda s: dataclasses.replace(
        s,
        status=Status(Termination.OPTIMAL, Point.OPTIMAL, Point.NONE, ""),
        x=s.x if s.x is not None else np.zeros(s.program.n_columns),
    ),
    "zeros at a limit": zeros_at_a_limit,
    "a stranger's exception": crash,
    "a status without its point": lambda s: (
        status(s, primal=Point.FEASIBLE, termination=Termination.TIME_LIMIT)
        if s.x is None
        else dataclasses.replace(s, x=None)
    ),
}


@pytest.mark.parametrize("lie", by_day(LIES, 3))
def test_the_suite_catches(lie):
    counts = conformance.summary(conformance.check(Mock(LIES[lie])))
    assert counts["failed"] > 0, counts


def test_tangents_believe_no_wrong_duals():
    case = next(case for case in FAMILIES["logarithms"]() if case.name == "logs: shares of a cake")
    with pytest.raises(NotConvergedError, match="optimality conditions off"):
        backends.solve_on(Mock(duals_of_a_minimum), case.program, fairlp.Options())


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_of_no_time_is_a_limit(name):
    solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve(
        installed(name), **no_time(name)
    )
    assert solution.status.termination is Termination.TIME_LIMIT and solution.x is None


def no_time(name):
    honours = getattr(backends.find_backend(name), "honours", {"time_limit"})
    if "time_limit" not in honours:
        pytest.skip(f"{name} has no time limit")
    return {"time_limit": 0}


def test_a_preset_method_is_not_overruled_in_silence():
    model = fairlp.formulate(fairlp.examples.ghodsi(), "drf")
    with pytest.raises(UnsupportedError, match="use solver='highs' with method='ipm'"):
        model.solve("highs-pdlp", method="ipm")
    assert model.solve("highs-ipm", method="ipm").method == "ipm"


def test_an_honest_mock_passes():
    assert conformance.summary(conformance.check(Mock(lambda s: s)))["failed"] == 0


@pytest.mark.parametrize(
    "name", ["cvxpy:GUROBI", "cvxpy:MOSEK", "cvxpy:COPT", "cvxpy:XPRESS", "cvxpy:CPLEX"]
)
def test_commercial_solvers_that_are_absent_say_so(name):
    if SOLVERS.loc[name, "available"]:
        pytest.skip(f"{name} is installed here")
    with pytest.raises(SolverNotAvailableError, match=r"not installed; pip install"):
        fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve(name)
    assert SOLVERS.loc[name, "remedy"]


def test_pyomo_names_the_executable_that_is_missing(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SolverNotAvailableError, match="'cplex' on the PATH"):
        fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve("pyomo:cplex")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cvxpy:CLARABELL", "did you mean 'CLARABEL'"),
        ("cvxpy:GLOP", "use solver='ortools:GLOP'"),
        ("pyomo:hghs", "did you mean 'highs'"),
        ("ortools:GLPO", "did you mean 'ortools:GLOP'"),
    ],
)
def test_names_behind_a_family_are_checked(name, expected):
    with pytest.raises(UnknownNameError, match=expected):
        fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve(name)


@pytest.mark.parametrize("name", NAMES)
def test_an_option_that_cannot_be_honoured_raises(name):
    backend = backends.find_backend(installed(name))
    honours = getattr(backend, "honours", None)
    if honours is None or "seed" in honours:
        pytest.skip(f"{name} honours every option that is tried here")
    with pytest.raises(UnsupportedError, match="cannot honour the option 'seed'"):
        fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve(name, seed=1)


@pytest.mark.parametrize("name", NAMES)
def test_every_back_end_runs_a_leximin(name):
    """Two rounds with prices deciding who is frozen: C-DRFH where one user has a server to itself."""
    back_end = backends.find_backend(installed(name))
    if Capability.DUALS not in back_end.capabilities or name in (
        "ortools:PDLP",
        "cvxpy:OSQP",
        "highs-pdlp",
    ):
        pytest.skip("the rounds need duals of some precision")
    instance = fairlp.Instance.from_arrays(
        [[1, 1], [1, 2], [1, 1]],
        [[2, 4], [3, 3]],
        eligible=np.array([[1, 0], [1, 0], [1, 1]], dtype=bool),
    )
    expected = fairlp.allocate(instance, "c-drfh").totals
    back_end = fairlp.allocate(instance, "c-drfh", solver=name)
    np.testing.assert_allclose(back_end.totals, expected, rtol=1e-5)
    assert back_end.solver == name


def test_logs_by_tangents_equal_a_cone_solver():
    rng = np.random.default_rng(3)
    n, i = fairlp.Index("n", range(12)), fairlp.Index("i", range(5))
    model = fairlp.Model("EG", indices=(n, i))
    w = model.parameter("w", n, rng.uniform(1, 3, 12))
    g = model.parameter("g", (n, i), rng.lognormal(0, 1, (12, 5)))
    x = model.variable("x", n, i)
    model.constraint("capacity", (g * x).sum(n) <= 1)
    model.maximize((w * fairlp.log(x.sum(i))).sum(n))
    tangents = model.solve("highs")
    cone = model.solve("cvxpy:CLARABEL")
    assert tangents.method == "tangents" and tangents.iterations["programs"] <= 20
    assert tangents.verify().is_optimal
    assert tangents.objective == pytest.approx(cone.objective, rel=1e-8)
    np.testing.assert_allclose(
        tangents.values["x"].sum(axis=1), cone.values["x"].sum(axis=1), rtol=1e-4
    )
    np.testing.assert_allclose(tangents.duals["capacity"], cone.duals["capacity"], rtol=1e-4)


def test_logs_that_can_never_be_positive():
    model = fairlp.Model("nothing")
    x = model.variable("x", upper=0.0)
    model.maximize(fairlp.log(x))
    solution = model.solve()
    assert not solution.status.is_optimal and solution.x is None


@pytest.mark.slow
def test_an_installed_third_party_is_found_by_its_entry_point(tmp_path):
    """A real package on the path, in a new process: module, dist-info, entry point."""
    (tmp_path / "my_solver.py").write_text(
        "from fairlp.solvers.backends.highs import Highs\n"
        "class Mine(Highs):\n"
        "    def __init__(self):\n"
        "        super().__init__('mine')\n",
        encoding="utf-8",
    )
    info = tmp_path / "my_solver-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: my-solver\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        "[fairlp.solvers]\nmine = my_solver:Mine\n", encoding="utf-8"
    )
    code = (
        "import fairlp; model = fairlp.formulate(fairlp.examples.ghodsi(), 'drf');"
        "print(model.solve('mine').solver, 'mine' in fairlp.solvers().index,"
        "fairlp.allocate(fairlp.examples.ghodsi(), 'drf', solver='mine').solver)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert process.stdout.split() == ["mine", "True", "mine"]


# The conformance suite given one lie a case, so that no other case can notice it: every refusal is
# needed.

#: max 2x + y: x + y <= 4, x <= 3; worth 7, prices 1 and 1.
PLAIN = Case(
    "plain", linear("plain", [2, 1], [(-INF, [1, 1], 4), (-INF, [1, 0], 3)]), "optimal", 7.0
)
WHOLE = Case(
    "whole",
    linear("whole", [1, 1], [(-INF, [1, 0], 2.5)], [(0, INF), (0, 1)], integer=[0, 1]),
    "optimal",
    3.0,
)
IMPOSSIBLE = Case(
    "impossible", linear("impossible", [1], [(2, [1], INF), (-INF, [1], 1)]), "infeasible"
)
ENDLESS = Case("endless", linear("endless", [1], [(0, [1], INF)]), "unbounded")
LIMIT = Case(
    "limit", linear("limit", [2, 1], [(-INF, [1, 1], 4)]), "limit", options=(("time_limit", 1e-9),)
)


class Lying(Highs):
    """HiGHS's simplex method with one lie."""

    def __init__(self, lie):
        super().__init__("lying")
        self.lie = lie

    def solve(self, program, options):
        return self.lie(super().solve(program, options))


def judged(case, **changes):
    """The outcome where the answer is changed so."""
    return conformance.check(Lying(lambda s: dataclasses.replace(s, **changes)), [case]).iloc[0]


def status_of(termination, primal=Point.NONE):
    return Status(termination, primal, Point.NONE, "planted")


@pytest.mark.parametrize("case", [PLAIN, WHOLE, IMPOSSIBLE, ENDLESS])
def test_honest_answers_pass(case):
    assert judged(case)["outcome"] == "passed"


@pytest.mark.parametrize("deviation", [1e-5, 1.0])
def test_points_that_are_infeasible_fail(deviation):
    for x in ([3 + deviation, 1 - 2 * deviation], [3 + deviation, 1]):
        verdicts = judged(PLAIN, x=np.array(x, dtype=float))
        assert verdicts["outcome"] == "failed" and "is not feasible" in verdicts["detail"]


def test_parts_of_whole_numbers_fail():
    verdicts = judged(WHOLE, x=np.array([2.4, 1.0]))
    assert verdicts["outcome"] == "failed" and "is not feasible" in verdicts["detail"]


def test_points_that_are_worth_less_fail_by_their_objective():
    for x in ([3.0, 1 - 1e-4], [0.0, 0.0]):
        verdicts = judged(PLAIN, x=np.array(x))
        assert verdicts["outcome"] == "failed" and "objective" in verdicts["detail"]
    assert judged(WHOLE, x=np.array([1.0, 1.0]))["outcome"] == "failed"


def test_duals_that_are_missing_or_wrong_fail():
    missing = judged(PLAIN, row_duals=None, column_duals=None)
    assert missing["outcome"] == "failed" and "gives none" in missing["detail"]
    for duals in ([1.0, 1 + 1e-4], [0.0, 0.0], [2.0, 0.0], [-1.0, -1.0]):
        verdicts = judged(PLAIN, row_duals=np.array(duals))
        assert verdicts["outcome"] == "failed" and "duals do not prove" in verdicts["detail"]


def test_optimal_without_a_point_fails():
    verdicts = judged(WHOLE, x=None)
    assert verdicts["outcome"] == "failed" and "there is no point" in verdicts["detail"]


def test_an_infeasible_program_has_no_point_and_a_proof_that_is_one():
    for changes, detail in (
        (
            {"x": np.ones(1), "status": status_of(Termination.INFEASIBLE, Point.FEASIBLE)},
            "there is a point",
        ),
        ({"row_ray": np.array([1.0, 1.0])}, "proves nothing"),
        ({"row_ray": None}, "gives none"),
    ):
        verdicts = judged(IMPOSSIBLE, **changes)
        assert verdicts["outcome"] == "failed" and detail in verdicts["detail"]
    verdicts = judged(IMPOSSIBLE, status=status_of(Termination.INFEASIBLE, Point.OPTIMAL))
    assert (
        verdicts["outcome"] == "failed"
        and "optimal point of a program that has none" in verdicts["detail"]
    )
    verdicts = judged(IMPOSSIBLE, status=status_of(Termination.INFEASIBLE, Point.FEASIBLE))
    assert verdicts["outcome"] == "failed" and "disagree" in verdicts["detail"]


@pytest.mark.parametrize(
    ("case", "termination"),
    [(ENDLESS, Termination.INFEASIBLE), (IMPOSSIBLE, Termination.UNBOUNDED)],
)
def test_the_other_kind_of_no_answer_fails_and_no_word_is_undecided(case, termination):
    assert judged(case, status=status_of(termination), x=None, row_ray=None)["outcome"] == "failed"
    unknown = judged(case, status=status_of(Termination.UNKNOWN), x=None, row_ray=None)
    assert unknown["outcome"] == "undecided"


def test_a_strangers_exception_fails():
    def crash(_):
        raise ZeroDivisionError("planted")

    verdict = conformance.check(Lying(crash), [PLAIN]).iloc[0]
    assert verdict["outcome"] == "failed" and "not a FairlpError" in verdict["detail"]


def test_a_limit_is_said_to_be_one():
    stopped = {"x": None, "row_duals": None, "column_duals": None}
    assert judged(LIMIT, status=status_of(Termination.TIME_LIMIT), **stopped)["outcome"] == "passed"
    for termination in (Termination.UNKNOWN, Termination.INFEASIBLE):
        verdicts = judged(LIMIT, status=status_of(termination), **stopped)
        assert verdicts["outcome"] == "failed" and "stopped by a limit" in verdicts["detail"]
    beyond = judged(
        LIMIT,
        status=status_of(Termination.TIME_LIMIT, Point.FEASIBLE),
        x=np.full(2, 9.0),
        row_duals=None,
    )
    assert beyond["outcome"] == "failed" and "is not" in beyond["detail"]


# Answers that contradict themselves: what is absent cannot be read.


class Absent:
    """A solution without a point, of which some things can be read all the same."""

    x = None
    status = SimpleNamespace(primal=Point.NONE)

    def __init__(self, **readable):
        self.readable = readable

    def __getattr__(self, name):
        if name in self.readable:
            return self.readable[name]
        raise NoSolutionError(name)


def test_what_is_absent_cannot_be_read_as_zeros():
    assert _consistent(Absent())[0] == "passed"
    assert _consistent(Absent(objective=0.0)) == (
        "failed",
        "objective of an absent solution can be read",
    )
    assert _consistent(Absent(values={})) == ("failed", "values of an absent solution can be read")


# The zoo without names of solvers, and a back end that makes up a point.


@pytest.mark.slow
def test_without_names_all_that_are_here_are_asked(monkeypatch):
    monkeypatch.setattr(backends, "available_backends", lambda: ["highs"])
    matrix = conformance.matrix()
    assert matrix.columns.tolist() == ["highs"] and set(matrix["highs"]) == set(
        conformance.check("highs")["outcome"]
    )


def test_a_point_that_is_made_up_fails():
    class Dreaming(Highs):
        name = "dreaming"

        def solve(self, program, options):
            solution = super().solve(program, options)
            return (
                solution
                if solution.x is not None
                else dataclasses.replace(solution, x=program.col_lower)
            )

    table = conformance.check(Dreaming())
    assert "failed" in set(table["outcome"])
