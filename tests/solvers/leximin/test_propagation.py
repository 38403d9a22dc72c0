"""Errors that grow from round to round are foreseen, settled in rationals, or said."""

from dataclasses import replace

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.mechanisms.allocation import overuse
from fairlp.mechanisms.max_min import ladder, methods
from fairlp.solvers.leximin.rounds import Propagation, own_error
from fairlp.tolerances import AGREEMENT, UNCERTAIN
from profiles import many

#: The last digits of a level are those of its sums.
ROUNDING_OF_LEVELS = 1e-13
#: A seed of which interior points are off by more than is called certain.
HARD = 18
#: … and of which they are off by more than the errors of any round, before they grow.
GROWN = (3, 25)


def chained(users, seed):
    """Every user runs on about two servers of its own choice: many levels, and every one rests on others."""
    rng = np.random.default_rng(seed)
    demands, capacities = rng.lognormal(0, 1, (users, 3)), rng.lognormal(5, 1, (users, 3))
    eligible = rng.random((users, users)) < 2 / users
    eligible[np.arange(users), rng.integers(0, users, users)] = True
    return Instance.from_arrays(demands, capacities, eligible=eligible)


def exact(instance):
    """Exact levels, rounded once."""
    proved = fairlp.allocate(instance, "c-drfh").certify(exact=True)
    return np.array([0.0 if level is None else float(level) for level in proved.levels])


def off(found, right):
    """The largest relative difference."""
    return float((abs(found - right) / np.where(right > 0, right, 1.0)).max())


def test_a_chain_by_hand():
    # each level falls by ten times what the one before rises
    errors = Propagation(3)
    for k in range(3):
        errors.solved(1.0, 1e-12, np.array([10.0, 10.0, 10.0]) if k else np.zeros(3))
        errors.stopped(np.array([k]))
    # ε₂ + 10 ε₁ and ε₃ + 10 (ε₂ + 10 ε₁) + 10 ε₁, at most
    assert errors.largest() == pytest.approx(1e-12 * (1 + 10 + 90))


def test_what_a_point_violates_counts_at_its_price():
    right = fairlp.formulate(Instance.from_arrays([[2.0]], [[10.0]]), "drfh").solve("highs")
    block, nothing = right.program.row_block("fairness"), np.zeros(1)
    rows = np.arange(block.start, block.stop)
    over = replace(right, x=right.x * (1 + 1e-6))
    assert own_error(right, 0.0, rows, nothing, nothing) < 1e-14
    assert own_error(over, 0.0, rows, nothing, nothing) == pytest.approx(1e-6 * right.objective)
    assert own_error(right, 1e-3, rows, nothing, nothing) == pytest.approx(1e-3 * right.objective)


def test_no_round_has_no_error_and_what_overflows_is_all_of_it():
    errors = Propagation(700)
    assert errors.largest() == 0.0
    for k in range(700):
        errors.solved(1.0, 1e-12, np.full(700, 3.0) * (np.arange(700) == k - 1))
        errors.stopped(np.array([k]))
    assert errors.largest() == 1.0


@pytest.fixture
def uncertain(monkeypatch):
    """What answers say of their own levels, and floats only."""
    said = []

    def listening(instance, result):
        found = outcome(instance, result)
        said.append(found.uncertain)
        return found

    outcome = methods.outcome
    monkeypatch.setattr(methods, "outcome", listening)
    monkeypatch.setattr(ladder, "MOST_EXACT", 0)
    return said


@pytest.mark.parametrize("method", ["lp", "interior-point"])
@pytest.mark.parametrize("seed", [*range(many(3)), *GROWN])
def test_the_estimate_is_no_less_than_the_error(seed, method, uncertain):
    instance = chained(60 if seed in GROWN else 40 + 10 * (seed % 3), seed)
    found = fairlp.allocate(instance, "c-drfh", method=method)
    assert off(found.levels.to_numpy(), exact(instance)) <= max(uncertain[0], ROUNDING_OF_LEVELS)
    assert bool(found.unproved) == (uncertain[0] > UNCERTAIN)


def test_floors_that_contradict_each_other_give_way_once_and_stay(uncertain):
    # earlier levels were raised again after they had given way, and no point was left: an error
    found = fairlp.allocate(chained(150, 0), "c-drfh", method="lp")
    assert any("rounding decides here" in note for note in found.notes)
    assert found.unproved.startswith("not proved: errors of rounding grow from round to round")
    assert UNCERTAIN < uncertain[0] < 1e-3 and overuse(found.instance, found.tasks_array) is None


def test_what_has_grown_is_settled_in_rationals():
    instance = chained(60, HARD)
    for method in ("lp", "interior-point"):
        found = fairlp.allocate(instance, "c-drfh", method=method)
        assert off(found.levels.to_numpy(), exact(instance)) <= AGREEMENT and not found.unproved
    assert any("levels are those of exact rationals" in note for note in found.notes)
