"""Certificates, properties and validations of arrivals, given steps with planted errors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import SolverError
from fairlp.mechanisms.arrivals import result as properties
from fairlp.mechanisms.arrivals import rows as validation
from fairlp.mechanisms.arrivals.algorithms import stack
from fairlp.mechanisms.arrivals.rows import step_difference
from fairlp.mechanisms.validation import Check

MECHANISMS = ("dynamic-drf", "cautious-lp")


def arrivals(**more):
    return Instance.from_arrays([[1.0, 4.0], [3.0, 1.0], [1.0, 1.0], [2.0, 5.0]], [[9, 18]], **more)


def planted(mechanism, step, factor):
    """The right answer, with the level of one step times a factor."""
    right = fairlp.allocate(arrivals(), mechanism)
    levels = right.level_array.copy()
    levels[step] *= factor
    return right, dataclasses.replace(right, level_array=levels)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("step", range(4))
@pytest.mark.parametrize("off", [1e-8, 1e-6, 0.1])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_wrong_level_of_any_step_is_found(mechanism, step, off, sign):
    right, wrong = planted(mechanism, step, 1 + sign * off)
    assert right.certify().proved
    verdict = wrong.certify()
    assert not verdict.proved and verdict.message.startswith(("not optimal: the level of step", "infeasible"))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("step", range(4))
@pytest.mark.parametrize("factor", [np.nan, np.inf])
def test_levels_that_are_no_numbers_are_not_proved(mechanism, step, factor):
    with np.errstate(invalid="ignore"):
        assert not planted(mechanism, step, factor)[1].certify()


def test_what_is_too_high_within_what_may_be_given_out_is_found():
    """The cautious LP gives out less than it may: more is not infeasible, and wrong all the same."""
    rising = Instance.from_arrays([[1.0, 0.1], [0.1, 1.0]], [[1, 1]])
    right = fairlp.allocate(rising, "cautious-lp", horizon=3)
    high = dataclasses.replace(right, level_array=right.level_array * [1, 1.0001])
    assert right.certify().proved and high.residual == 0 and "is too high" in high.certify().message
    _, low = planted("dynamic-drf", 3, 0.99)
    assert "could be raised" in low.certify().message


def test_a_step_that_gives_out_too_much_is_infeasible(monkeypatch):
    """Whatever the levels would say."""
    right = fairlp.allocate(arrivals(), "dynamic-drf")
    monkeypatch.setattr(type(right), "residual", property(lambda self: 1e-6))
    assert right.certify().message.startswith("infeasible")


def kept(result):
    table = result.properties()
    return {name: bool(part["holds"].all()) for name, part in table.groupby("property")}


def test_properties_see_what_is_planted():
    right = fairlp.allocate(arrivals(), "dynamic-drf")
    assert all(kept(right).values())
    _, high = planted("dynamic-drf", 1, 1.05)
    assert not kept(high)["feasible"]
    _, low = planted("dynamic-drf", 3, 0.5)
    assert not kept(low)["SI"] and not kept(low)["DPO"]


def test_whoever_loses_is_seen():
    found = properties._irrevocable(np.array([0.5, 0.4, 0.3]), np.array([0.5, 0.4 * (1 + 1e-6)]), ["a", "b", "c"])
    assert found[0] == pytest.approx(-1e-6, rel=1e-3) and "'b'" in found[1]
    assert properties._irrevocable(np.array([0.6, 0.4]), np.array([0.5]), ["a", "b"])[0] > 0


def test_nobody_envies_what_it_cannot_use_and_everybody_what_it_can():
    """The second user asks for one resource only, of which the first has none."""
    demand = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert properties._envy(np.array([0.9, 0.1]), demand, ["a", "b"])[0] == 0
    both = np.array([[1.0, 0.1], [1.0, 0.0]])
    margin, words = properties._envy(np.array([0.6, 0.3]), both, ["a", "b"])
    assert margin == pytest.approx(-0.5) and words.startswith("'b'")
    # of what it does not ask for, a user needs nothing: the first's much of the second resource changes nothing
    much = np.array([[0.5, 1.0], [1.0, 0.0]])
    assert properties._envy(np.array([0.4, 0.3]), much, ["a", "b"])[0] == 0


def check(mechanism, **lies):
    """The validation of a mechanism some of whose methods lie."""
    row, instance = fairlp.mechanisms.TABLE[mechanism], arrivals()

    class Lying(Check):
        def allocate(self, mechanism=None, method="auto", **parameters):
            found = super().allocate(mechanism, method, **parameters)
            if method in lies:
                found = dataclasses.replace(found, level_array=found.level_array * np.array(lies[method]))
            return found

    return row.validate(Lying(instance, row, "highs", {}))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("step", range(4))
def test_validation_finds_a_method_that_lies_at_any_step(mechanism, step):
    factors = np.ones(4)
    factors[step] += 1e-6
    table = check(mechanism, lp=factors)
    assert not table.loc["lp", "agrees"] and table.drop("lp")["agrees"].all()
    assert table.loc["lp", "difference"] == pytest.approx(1e-6, rel=1e-2) and table.loc["lp", "step"] == step + 1


def test_the_largest_difference_is_not_the_last():
    right, wrong = planted("dynamic-drf", 1, 1.5)
    difference, step, _ = step_difference(wrong, right)
    assert difference == pytest.approx(1 / 3) and step == 2


def test_a_reference_that_is_not_proved_is_an_error(monkeypatch):
    class Unproved:
        is_optimal, gap = False, 1.0

    monkeypatch.setattr("fairlp.models.programs.solution.Solution.verify", lambda self: Unproved())
    row = fairlp.mechanisms.TABLE["dynamic-drf"]
    with pytest.raises(SolverError, match="but it is not"):
        validation._each_step_afresh(Check(arrivals(), row, "highs", {}), row.validate.keywords["rule"])


def test_nobody_loses_a_last_digit():
    """Levels of users who had them already fall by rounding, unless what was had is kept."""
    for seed in (95, 567, 2424, 2500, 3927):
        rng = np.random.default_rng(seed)
        users, resources = int(rng.integers(2, 9)), int(rng.integers(1, 3))
        demands = rng.integers(1, 10, (users, resources)) / 10.0
        demands /= demands.max(axis=1, keepdims=True)
        levels, first = stack(demands.tolist(), [float(k) for k in range(1, users + 1)])
        had = np.zeros(users)
        for k, (level, begin) in enumerate(zip(levels, first, strict=True)):
            assert (had[begin:k] <= level).all(), seed
            had[begin : k + 1] = level
