"""``fairlp.leximin`` of CVXPY problems: as of the same model of ours, in CVXPY's shapes, and what it refuses."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import fairlp
from any_leximin import by_enumeration, matrix_of, random_model
from fairlp.errors import ModelError, NoSolutionError, UnsupportedError
from fairlp.tolerances import AGREEMENT
from profiles import many

cp = pytest.importorskip("cvxpy")


@pytest.mark.parametrize("seed", range(many(40)))
def test_random_problems_have_the_leximin_of_our_model(seed):
    model, levels, weights = random_model(seed)
    problem = model.to_cvxpy()
    slopes, constants = model.parameters["L"].values, model.parameters["l"].values
    x = problem.var_dict["x"]
    theirs = slopes @ x + constants
    try:
        expected = fairlp.leximin(model, levels, weights=weights)
    except NoSolutionError:
        with pytest.raises(NoSolutionError):
            fairlp.leximin(problem, theirs, weights=weights)
        return
    answer = fairlp.leximin(problem, theirs, weights=weights)
    np.testing.assert_allclose(answer.levels, expected.levels, rtol=AGREEMENT, atol=AGREEMENT)
    np.testing.assert_allclose(theirs.value / weights, answer.levels, rtol=AGREEMENT, atol=AGREEMENT)
    np.testing.assert_array_equal(answer["x"], x.value)
    assert all(constraint.violation().max(initial=0.0) < AGREEMENT for constraint in problem.constraints)
    assert answer.certify(exact=True)


@pytest.mark.parametrize("seed", range(many(20)))
def test_random_integer_problems_against_enumeration(seed):
    model, _, weights = random_model(seed, integer=True)
    slopes, constants = matrix_of(model, weights)
    expected = by_enumeration(model, weights)
    problem = model.to_cvxpy()
    levels = slopes @ problem.var_dict["x"] + constants
    if expected is None:
        with pytest.raises(NoSolutionError):
            fairlp.leximin(problem, levels)
        return
    answer = fairlp.leximin(problem, levels)
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
    worth = np.array([[5, 3, 0, 0], [2, 4, 9, 0]])
    return x, cp.sum(cp.multiply(worth, x), axis=1), [cp.sum(x, axis=0) <= 1]


@pytest.mark.parametrize("attributes", [{}, {"nonneg": True}, {"bounds": [0, 1]}, {"boolean": True}])
def test_a_published_case_with_every_way_to_bound_a_variable(attributes):
    x, worth, constraints = shares(**attributes)
    problem = cp.Problem(cp.Maximize(-100 * cp.sum(x) + cp.Variable()), [*constraints, x >= 0])
    answer = fairlp.leximin(problem, {"Alice": worth[0], "George": worth[1]}, weights={"George": 1, "Alice": 1})
    assert answer.levels.to_dict() == pytest.approx({"Alice": 8.0, "George": 9.0})
    assert answer["share"].shape == x.value.shape == (2, 4)
    np.testing.assert_allclose(answer["share"].to_numpy()[:, :3], [[1, 1, 0], [0, 0, 1]], atol=AGREEMENT)
    np.testing.assert_array_equal(answer["share"], x.value)
    assert answer.certify().proved != ("boolean" in attributes)


def test_labels_and_the_order_of_matrices():
    x = cp.Variable((2, 3), name="x")
    problem = cp.Problem(cp.Minimize(0), [x <= np.arange(6).reshape(2, 3)])
    whole = fairlp.leximin(problem, x)
    assert whole.levels.tolist() == [0, 1, 2, 3, 4, 5] and whole.levels.index.tolist() == [0, 1, 2, 3, 4, 5]
    assert whole.problem.program.A.shape == (12, 7)  # the variable itself is the columns: no more, and no rows for it
    turned = fairlp.leximin(problem, [x.T, 7 - x[1, 2] + x[1, 1]])
    assert turned.levels.tolist()[:6] == pytest.approx([0, 3, 1, 4, 2, turned.levels[5]]) and len(turned.levels) == 7
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
    problem = cp.Problem(cp.Minimize(0), [matrix <= np.array([[1, 2], [3, 4]]), matrix[0, 1] + diagonal[0, 0] <= 2])
    problem = cp.Problem(cp.Minimize(0), [*problem.constraints, cp.norm_inf(cp.diag(diagonal)) <= 3])
    answer = fairlp.leximin(problem, {"a": matrix[1, 0], "b": diagonal[1, 1], "c": matrix[1, 1] - 1})
    assert answer.levels.to_dict() == pytest.approx({"a": 2.0, "b": 3.0, "c": 3.0})
    np.testing.assert_allclose(matrix.value, matrix.value.T)
    assert answer["diagonal"].to_numpy()[0, 1] == 0 and answer["matrix"].loc[0, 1] == pytest.approx(2)
    assert answer.certify(exact=True)


def test_scalars_parameters_and_two_variables_of_one_name():
    first, second = cp.Variable(name="y"), cp.Variable(name="y")
    limit = cp.Parameter(name="limit")
    problem = cp.Problem(cp.Minimize(0), [first + 2 * second == limit * limit, cp.abs(first - 1) <= 2])
    with pytest.raises(ModelError, match="parameter 'limit' has no value"):
        fairlp.leximin(problem, [first, second])
    for value, level in ((1.0, 1 / 3), (-2.0, 4 / 3), (3.0, 3.0)):
        limit.value = value
        answer = fairlp.leximin(problem, [first, second, cp.Constant(50)])
        assert answer.levels.to_list() == pytest.approx([level, (value**2 - level) / 2, 50])
        assert answer["y"] == first.value and answer["y_"] == second.value
    tighter = cp.Problem(cp.Minimize(0), [first + 2 * second == 9.5, cp.abs(first - 1) <= 2])
    assert fairlp.leximin(tighter, [first, second]).levels[1] == pytest.approx(3.25)


def test_prices_are_what_one_more_unit_adds_to_the_lowest_level():
    x = cp.Variable(2, name="x", nonneg=True)

    def solved(total, most):
        return fairlp.leximin(cp.Problem(cp.Minimize(0), [x[0] + 3 * x[1] == total, x[0] <= most]), [x[0], x[1]])

    for total, most in ((4, 5), (40, 2)):
        answer = solved(total, most)
        less = answer.levels.min()
        assert answer.prices["equalities"][0] == pytest.approx(solved(total + 0.5, most).levels.min() * 2 - less * 2)
        assert answer.prices["inequalities"].sum() == pytest.approx(
            solved(total, most + 0.5).levels.min() * 2 - less * 2
        )


def test_what_is_refused():
    x = cp.Variable(2, name="x")
    free = cp.Problem(cp.Minimize(0), [x <= 1])

    def refused(match, levels=x, *constraints):
        with pytest.raises(ModelError, match=match):
            fairlp.leximin(cp.Problem(cp.Minimize(0), [x <= 1, *constraints]), levels)
        assert x.value is None

    refused(r"level 1 is not affine: power\(x\[0\], 2.0\)|level 1 is not affine", [x[0], x[0] ** 2])
    refused("level 'low' is not affine.*a variable v of its own", {"low": cp.min(x)})
    refused("level 0 is str; levels of a CVXPY problem are its expressions", "fairness")
    refused("there are no levels", [])
    refused("level 0 is not affine", cp.Variable(complex=True))
    refused("variable 'z' is complex", x, cp.real(cp.Variable(complex=True, name="z")) <= 1)
    refused(r"constraint .*norm.*\(x, 2\) <= 1.0 is not linear", x, cp.norm(x) <= 1)
    refused("constraint exp.* is not linear", x, cp.exp(x) <= 3)
    refused("constraint .* is not linear", x, x[0] ** 2 >= 1)
    refused("is semidefinite", x, cp.trace(cp.Variable((2, 2), PSD=True)) <= 1)
    with pytest.raises(ModelError, match="weights of levels are above 0"):
        fairlp.leximin(free, x, weights=[0, 1])
    with pytest.raises(NoSolutionError, match=r"infeasible: no point keeps all rows; unbounded"):
        fairlp.leximin(cp.Problem(cp.Minimize(0), [x <= 1, x >= 2]), x)
    with pytest.raises(NoSolutionError, match="without end"):
        fairlp.leximin(cp.Problem(cp.Minimize(0), [x[0] + x[1] >= 2]), x)


def test_our_models_load_neither_tool():
    code = (
        "import sys, fairlp; fairlp.leximin(fairlp.formulate(fairlp.examples.ghodsi(), 'drf'));"
        "print([m for m in ('cvxpy', 'pyomo') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
