"""``fairlp.leximin`` of CVXPY problems and Pyomo models: as of the same model of ours, and what it refuses."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import fairlp
from any_leximin import by_enumeration, random_model
from fairlp.errors import ModelError, NoSolutionError, UnsupportedError
from fairlp.tolerances import AGREEMENT
from profiles import many

cp = pytest.importorskip("cvxpy")
pyo = pytest.importorskip("pyomo.environ")


def as_theirs(tool, model):
    """The model and its levels as the tool has them, and the tool's own values of the levels and of x."""
    slopes, constants = model.parameters["L"].values, model.parameters["l"].values
    if tool == "cvxpy":
        problem = model.to_cvxpy()
        x = problem.var_dict["x"]
        levels = slopes @ x + constants
        return problem, levels, lambda: levels.value, lambda: x.value
    built = model.to_pyomo()
    terms = (sum(slope * built.x[v] for v, slope in enumerate(row)) for row in slopes)
    levels = [term + constant for term, constant in zip(terms, constants, strict=True)]
    return (
        built,
        levels,
        lambda: [pyo.value(level) for level in levels],
        lambda: [variable.value for variable in built.x.values()],
    )


@pytest.mark.parametrize("tool", ["cvxpy", "pyomo"])
@pytest.mark.parametrize("seed", range(many(40)))
def test_random_models_have_the_leximin_of_our_model(seed, tool):
    model, levels, weights = random_model(seed)
    their_model, their_levels, reached, x = as_theirs(tool, model)
    try:
        expected = fairlp.leximin(model, levels, weights=weights)
    except NoSolutionError:
        with pytest.raises(NoSolutionError):
            fairlp.leximin(their_model, their_levels, weights=weights)
        return
    answer = fairlp.leximin(their_model, their_levels, weights=weights)
    np.testing.assert_allclose(answer.levels, expected.levels, rtol=AGREEMENT, atol=AGREEMENT)
    np.testing.assert_allclose(reached() / weights, answer.levels, rtol=AGREEMENT, atol=AGREEMENT)
    np.testing.assert_array_equal(answer["x"], x())
    program = model.compile()
    activity = program.A @ np.append(x(), np.zeros(program.n_columns - len(answer["x"])))
    assert (activity > program.row_lower - AGREEMENT).all() and (
        activity < program.row_upper + AGREEMENT
    ).all()
    assert answer.certify(exact=True)


@pytest.mark.parametrize("tool", ["cvxpy", "pyomo"])
@pytest.mark.parametrize("seed", range(many(15)))
def test_random_integer_models_against_enumeration(seed, tool):
    model, _, _ = random_model(seed, integer=True)
    expected = by_enumeration(model, np.ones(len(model.parameters["l"].values)))
    their_model, levels, _, _ = as_theirs(tool, model)
    if expected is None:
        with pytest.raises(NoSolutionError):
            fairlp.leximin(their_model, levels)
        return
    answer = fairlp.leximin(their_model, levels)
    np.testing.assert_allclose(np.sort(answer.levels), expected, rtol=AGREEMENT, atol=AGREEMENT)
    assert answer.problem.program.is_mip


def test_some_elements_are_integer():
    x = cp.Variable((1, 3), integer=np.nonzero([[1, 0, 1]]), name="x")
    answer = fairlp.leximin(cp.Problem(cp.Minimize(0), [cp.sum(x) <= 8.5, x[0, 0] <= 2.7]), x)
    assert answer.levels.tolist() == pytest.approx([2.0, 3.5, 3.0])
    with pytest.raises(UnsupportedError, match="integers"):
        answer.certify(exact=True)


def shares(**attributes):
    """Goods worth 5, 3, 0, 0 and 2, 4, 9, 0 to two agents, who end at 8 and 9 (the example of cvxpy_leximin)."""
    x = cp.Variable((2, 4), name="share", **attributes)
    values = np.array([[5, 3, 0, 0], [2, 4, 9, 0]])
    return x, cp.sum(cp.multiply(values, x), axis=1), [cp.sum(x, axis=0) <= 1]


@pytest.mark.parametrize(
    "attributes", [{}, {"nonneg": True}, {"bounds": [0, 1]}, {"boolean": True}]
)
def test_a_published_case_with_every_way_to_bound_a_variable(attributes):
    x, values, constraints = shares(**attributes)
    problem = cp.Problem(cp.Maximize(-100 * cp.sum(x) + cp.Variable()), [*constraints, x >= 0])
    answer = fairlp.leximin(
        problem, {"Alice": values[0], "George": values[1]}, weights={"George": 1, "Alice": 1}
    )
    assert answer.levels.to_dict() == pytest.approx({"Alice": 8.0, "George": 9.0})
    assert answer["share"].shape == x.value.shape == (2, 4)
    np.testing.assert_allclose(
        answer["share"].to_numpy()[:, :3], [[1, 1, 0], [0, 0, 1]], atol=AGREEMENT
    )
    np.testing.assert_array_equal(answer["share"], x.value)
    assert answer.certify().holds != ("boolean" in attributes)


def test_labels_and_the_order_of_matrices():
    x = cp.Variable((2, 3), name="x")
    problem = cp.Problem(cp.Minimize(0), [x <= np.arange(6).reshape(2, 3)])
    whole = fairlp.leximin(problem, x)
    assert whole.levels.tolist() == [0, 1, 2, 3, 4, 5] and whole.levels.index.tolist() == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]
    assert whole.problem.program.A.shape == (
        12,
        7,
    )  # the variable itself is the columns: no more, and no rows for it
    turned = fairlp.leximin(problem, [x.T, 7 - x[1, 2] + x[1, 1]])
    assert (
        turned.levels.tolist()[:6] == pytest.approx([0, 3, 1, 4, 2, turned.levels[5]])
        and len(turned.levels) == 7
    )
    named = fairlp.leximin(problem, {"row": x[0], "corner": x[1, 2], "all": x[1:]})
    assert named.levels.to_dict() == {
        **{"row[0]": 0, "row[1]": 1, "row[2]": 2, "corner": 5},
        **{"all[0,0]": 3, "all[0,1]": 4, "all[0,2]": 5},
    }
    half = fairlp.leximin(problem, {"row": x[0], "corner": x[1, 2]}, weights=[1, 1, 2, 2])
    assert half.levels.tolist() == [0, 1, 1, 2.5]


def test_variables_that_are_not_the_columns_of_the_canonical_form():
    matrix = cp.Variable((2, 2), symmetric=True, name="matrix")
    diagonal = cp.Variable((2, 2), diag=True, name="diagonal")
    problem = cp.Problem(
        cp.Minimize(0), [matrix <= np.array([[1, 2], [3, 4]]), matrix[0, 1] + diagonal[0, 0] <= 2]
    )
    problem = cp.Problem(
        cp.Minimize(0), [*problem.constraints, cp.norm_inf(cp.diag(diagonal)) <= 3]
    )
    answer = fairlp.leximin(
        problem, {"a": matrix[1, 0], "b": diagonal[1, 1], "c": matrix[1, 1] - 1}
    )
    assert answer.levels.to_dict() == pytest.approx({"a": 2.0, "b": 3.0, "c": 3.0})
    np.testing.assert_allclose(matrix.value, matrix.value.T)
    assert answer["diagonal"].to_numpy()[0, 1] == 0 and answer["matrix"].loc[0, 1] == pytest.approx(
        2
    )
    assert answer.certify(exact=True)


def test_prices_are_what_one_more_unit_adds_to_the_lowest_level():
    x = cp.Variable(2, name="x", nonneg=True)

    def solved(total, upper):
        return fairlp.leximin(
            cp.Problem(cp.Minimize(0), [x[0] + 3 * x[1] == total, x[0] <= upper]), [x[0], x[1]]
        )

    for total, upper in ((4, 5), (40, 2)):
        answer = solved(total, upper)
        lowest = answer.levels.min()
        assert answer.prices["equalities"][0] == pytest.approx(
            solved(total + 0.5, upper).levels.min() * 2 - lowest * 2
        )
        assert answer.prices["inequalities"].sum() == pytest.approx(
            solved(total, upper + 0.5).levels.min() * 2 - lowest * 2
        )


@pytest.mark.slow
def test_our_models_load_neither_tool():
    code = (
        "import sys, fairlp; fairlp.leximin(fairlp.formulate(fairlp.examples.ghodsi(), 'drf'));"
        "print([m for m in ('cvxpy', 'pyomo') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("minimise", [False, True])
def test_constraints_as_levels(minimise):
    model = fairlp.formulate(fairlp.examples.load("wang-figure-1"), "drfh")
    expected = fairlp.leximin(model)
    built = model.to_pyomo()
    if minimise:
        built.objective.deactivate()
        built.least = pyo.Objective(expr=3 - 2 * built.component("t"))
    with pytest.raises(ModelError, match="ConcreteModel does not say what its levels are"):
        fairlp.leximin(built)
    whole = fairlp.leximin(built, "fairness")
    np.testing.assert_allclose(whole.levels, expected.levels, rtol=AGREEMENT)
    assert whole.levels.index.tolist() == expected.levels.index.tolist()
    np.testing.assert_allclose(
        whole.prices["capacity"], expected.prices["capacity"], atol=AGREEMENT
    )
    names = [row.name for row in built.fairness.values()]
    for levels in (built.fairness, names, list(built.fairness.values())):
        answer = fairlp.leximin(built, levels)
        np.testing.assert_allclose(answer.levels, expected.levels, rtol=AGREEMENT)
    assert answer.levels.index.tolist() == names and answer.certify(exact=True)
    assert whole["g"].shape == expected["g"].shape  # over two indices, as ours


def machines():
    """Three machines on two machines, in hours: a has 4, b 4, and c 2."""
    model = pyo.ConcreteModel(name="jobs")
    model.x = pyo.Var(
        [("a", "fast"), ("b", "fast"), ("b", "slow"), ("c", "slow")], domain=pyo.NonNegativeReals
    )
    model.h = pyo.Param(["fast", "slow"], initialize={"fast": 8, "slow": 2}, mutable=True)
    machines = ["fast", "slow"]
    model.hours = pyo.Constraint(
        machines, rule=lambda b, m: sum(b.x[k] for k in b.x if k[1] == m) + 1 <= b.h[m] + 1
    )
    model.job = pyo.Expression(
        ["a", "b", "c"], rule=lambda b, j: sum(b.x[k] for k in b.x if k[0] == j)
    )
    return model


def test_expressions_as_levels_and_an_objective_that_plays_no_part():
    model = machines()
    model.cost = pyo.Objective(expr=sum(variable**2 for variable in model.x.values()))
    expected = {"a": 4.0, "b": 4.0, "c": 2.0}
    for levels in ("job", model.job, dict(model.job.items())):
        answer = fairlp.leximin(model, levels)
        assert answer.levels.to_dict() == pytest.approx(expected)
    assert answer["x"].loc["a", "fast"] == model.x["a", "fast"].value == pytest.approx(4)
    assert np.isnan(answer["x"].loc["a", "slow"]) and answer.prices[
        "hours"
    ].tolist() == pytest.approx([0, 1])
    assert answer.certify() and repr(answer) == "<Leximin of 'jobs' by paths: 3 levels>"
    by_label = fairlp.leximin(
        model, model.x, weights={**dict.fromkeys(model.x, 1.0), ("b", "slow"): 3.0}
    )
    assert by_label.levels["a", "fast"] == pytest.approx(4) and by_label.levels[
        "b", "slow"
    ] == pytest.approx(0.5)
    assert fairlp.leximin(model, ["job[c]", model.job["a"] - 1]).levels.to_dict() == pytest.approx(
        {0: 2.0, 1: 7.0}
    )
    assert fairlp.leximin(model, model.job["a"]).levels.tolist() == [8.0]


def test_what_is_inactive_or_fixed_plays_no_part():
    model = machines()
    model.x["b", "fast"].fix(1)
    model.h["slow"] = 3
    model.part = pyo.Block()
    model.part.whole = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    model.part.bound = pyo.Constraint(expr=(2, model.part.whole + model.x["a", "fast"], 6.5))
    model.hours["fast"].deactivate()
    answer = fairlp.leximin(model, "job")
    assert answer.levels.to_dict() == pytest.approx({"a": 6.5, "b": 2.0, "c": 2.0})
    assert (
        model.part.whole.value == pytest.approx(0)
        and model.x["b", "fast"].value == 1
        and answer.unproved
    )
    assert answer["part.whole"] == pytest.approx(0)
    model.part.whole.fix(3)
    answer = fairlp.leximin(model, "job")
    assert (
        answer.levels["a"] == pytest.approx(3.5)
        and answer["part.whole"] == 3
        and answer.certify(exact=True)
    )
    model.part.deactivate()
    with pytest.raises(NoSolutionError, match="without end"):
        fairlp.leximin(model, "job")
