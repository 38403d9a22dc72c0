"""``fairlp.leximin`` of Pyomo models: as of the same model of ours, levels of every kind, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from any_leximin import by_enumeration, matrix_of, random_model
from fairlp.errors import ModelError, NoSolutionError
from fairlp.tolerances import AGREEMENT
from profiles import many

pyo = pytest.importorskip("pyomo.environ")


def sums(slopes, constants, x):
    """The levels slopes·x + constants, one Pyomo expression each."""
    return [sum(slope * x[v] for v, slope in enumerate(row)) + one for row, one in zip(slopes, constants, strict=True)]


@pytest.mark.parametrize("seed", range(many(40)))
def test_random_models_have_the_leximin_of_our_model(seed):
    model, levels, weights = random_model(seed)
    built = model.to_pyomo()
    theirs = sums(model.parameters["L"].values, model.parameters["l"].values, built.x)
    try:
        expected = fairlp.leximin(model, levels, weights=weights)
    except NoSolutionError:
        with pytest.raises(NoSolutionError):
            fairlp.leximin(built, theirs, weights=weights)
        return
    answer = fairlp.leximin(built, theirs, weights=weights)
    np.testing.assert_allclose(answer.levels, expected.levels, rtol=AGREEMENT, atol=AGREEMENT)
    reached = [pyo.value(level) for level in theirs]
    np.testing.assert_allclose(reached / weights, answer.levels, rtol=AGREEMENT, atol=AGREEMENT)
    assert answer["x"].to_dict() == {v: built.x[v].value for v in built.x}
    assert all(row.slack() > -AGREEMENT for row in built.component_data_objects(pyo.Constraint))
    assert answer.certify(exact=True)


@pytest.mark.parametrize("seed", range(many(10)))
def test_random_integer_models_against_enumeration(seed):
    model, _, weights = random_model(seed, integer=True)
    slopes, constants = matrix_of(model, weights)
    expected = by_enumeration(model, weights)
    built = model.to_pyomo()
    if expected is None:
        with pytest.raises(NoSolutionError):
            fairlp.leximin(built, sums(slopes, constants, built.x))
        return
    answer = fairlp.leximin(built, sums(slopes, constants, built.x))
    np.testing.assert_allclose(np.sort(answer.levels), expected, rtol=AGREEMENT, atol=AGREEMENT)


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
    np.testing.assert_allclose(whole.prices["capacity"], expected.prices["capacity"], atol=AGREEMENT)
    names = [row.name for row in built.fairness.values()]
    for levels in (built.fairness, names, list(built.fairness.values())):
        answer = fairlp.leximin(built, levels)
        np.testing.assert_allclose(answer.levels, expected.levels, rtol=AGREEMENT)
    assert answer.levels.index.tolist() == names and answer.certify(exact=True)
    assert whole["g"].shape == expected["g"].shape  # over two indices, as ours


def jobs():
    """Three jobs on two machines, in hours: a has 4, b 4, and c 2."""
    model = pyo.ConcreteModel(name="jobs")
    model.x = pyo.Var([("a", "fast"), ("b", "fast"), ("b", "slow"), ("c", "slow")], domain=pyo.NonNegativeReals)
    model.h = pyo.Param(["fast", "slow"], initialize={"fast": 8, "slow": 2}, mutable=True)
    machines = ["fast", "slow"]
    model.hours = pyo.Constraint(machines, rule=lambda b, m: sum(b.x[k] for k in b.x if k[1] == m) + 1 <= b.h[m] + 1)
    model.job = pyo.Expression(["a", "b", "c"], rule=lambda b, j: sum(b.x[k] for k in b.x if k[0] == j))
    return model


def test_expressions_as_levels_and_an_objective_that_plays_no_part():
    model = jobs()
    model.cost = pyo.Objective(expr=sum(one**2 for one in model.x.values()))
    expected = {"a": 4.0, "b": 4.0, "c": 2.0}
    for levels in ("job", model.job, dict(model.job.items())):
        answer = fairlp.leximin(model, levels)
        assert answer.levels.to_dict() == pytest.approx(expected)
    assert answer["x"].loc["a", "fast"] == model.x["a", "fast"].value == pytest.approx(4)
    assert np.isnan(answer["x"].loc["a", "slow"]) and answer.prices["hours"].tolist() == pytest.approx([0, 1])
    assert answer.certify() and repr(answer) == "<Leximin of 'jobs' by highs: 3 levels>"
    each = fairlp.leximin(model, model.x, weights={**dict.fromkeys(model.x, 1.0), ("b", "slow"): 3.0})
    assert each.levels["a", "fast"] == pytest.approx(4) and each.levels["b", "slow"] == pytest.approx(0.5)
    assert fairlp.leximin(model, ["job[c]", model.job["a"] - 1]).levels.to_dict() == pytest.approx({0: 2.0, 1: 7.0})
    assert fairlp.leximin(model, model.job["a"]).levels.tolist() == [8.0]


def test_what_is_inactive_or_fixed_plays_no_part():
    model = jobs()
    model.x["b", "fast"].fix(1)
    model.h["slow"] = 3
    model.part = pyo.Block()
    model.part.whole = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    model.part.bound = pyo.Constraint(expr=(2, model.part.whole + model.x["a", "fast"], 6.5))
    model.hours["fast"].deactivate()
    answer = fairlp.leximin(model, "job")
    assert answer.levels.to_dict() == pytest.approx({"a": 6.5, "b": 2.0, "c": 2.0})
    assert model.part.whole.value == pytest.approx(0) and model.x["b", "fast"].value == 1 and answer.unproved
    assert answer["part.whole"] == pytest.approx(0)
    model.part.whole.fix(3)
    answer = fairlp.leximin(model, "job")
    assert answer.levels["a"] == pytest.approx(3.5) and answer["part.whole"] == 3 and answer.certify(exact=True)
    model.part.deactivate()
    with pytest.raises(NoSolutionError, match="without end"):
        fairlp.leximin(model, "job")


def test_what_is_refused():
    model = jobs()

    def refused(match, levels="job"):
        with pytest.raises(ModelError, match=match):
            fairlp.leximin(model, levels)

    refused("no component 'fairness' to be levels; give the name of a constraint", "fairness")
    refused("there are no levels", [])
    refused("level 1 is not linear: .*a leximin needs linear", [model.job["a"], model.job["b"] ** 2])
    refused("level 0 has a variable of another model", [jobs().job["a"]])
    refused("level 0 cannot be read", [object()])
    refused("has 0 active objectives", "hours")
    model.t = pyo.Var()
    model.most = pyo.Objective(expr=model.t, sense=pyo.maximize)
    refused("is not of the form", "hours")
    model.curved = pyo.Constraint(expr=pyo.exp(model.t) <= 1)
    refused("constraint 'curved' is not linear")
    model.curved.deactivate()
    model.unknown = pyo.Param(mutable=True)
    model.row = pyo.Constraint(expr=model.unknown * model.t <= 1)
    refused("constraint 'row' cannot be read")
    model.row.deactivate()
    model.one = pyo.SOSConstraint(var=model.x, sos=1)
    refused("'one' of Pyomo model 'jobs' is a SOSConstraint.*deactivate it")
    with pytest.raises(ModelError, match="has no data yet"):
        fairlp.leximin(pyo.AbstractModel(), "job")
