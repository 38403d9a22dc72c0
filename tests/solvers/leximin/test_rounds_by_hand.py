"""Rounds whose number, order, limits and prices are known by hand."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

import fairlp
from fairlp.formulations import max_min, normalisers
from fairlp.models.instances.merging import identity
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.solution import Capability
from fairlp.solvers.backends.base import ProgramSession
from fairlp.solvers.leximin import rounds
from fairlp.solvers.leximin.leximin import leximin, prices_of
from fairlp.tolerances import AGREEMENT


def run(instance, formulation=max_min.drf, gamma=normalisers.dominant, merge=False):
    return leximin(instance, formulation, normalisers.entitled_by(gamma), merge=merge)


class Unpriced(ProgramSession):
    """HiGHS, with its duals thrown away."""

    def solve(self):
        return dataclasses.replace(super().solve(), row_duals=None, column_duals=None)


class UnpricedBackend:
    name, capabilities = "unpriced", frozenset({Capability.LP})

    def session(self, program, options):
        return Unpriced(find_backend("highs-simplex"), program, options)


def stairs():
    """Five users, each sharing a resource with the next: levels of all sizes, a round each."""
    demands = np.eye(5) + np.eye(5, k=1)
    return fairlp.Instance.from_arrays(demands, [[4, 8, 16, 32, 64]], weights=[1, 9, 2, 7, 1])


def test_without_duals_the_levels_are_the_same(monkeypatch):
    expected = run(stairs())
    assert len(expected.rounds) > 2
    monkeypatch.setattr(rounds, "find_backend", lambda name: UnpricedBackend())
    found = run(stairs())
    assert found.levels == pytest.approx(expected.levels, rel=1e-5) and found.gap is None and found.prices is None
    assert [who.tolist() for _, who in found.rounds] == [who.tolist() for _, who in expected.rounds]


def test_without_duals_a_tree_has_its_levels_and_no_gap(monkeypatch):
    one = fairlp.Instance.from_arrays(np.eye(3) + np.eye(3, k=1), [[4, 8, 16]] * 2, queue=["a", "a", "b"])
    expected = fairlp.allocate(one, "h-drf", method="lp")
    assert expected.gap < AGREEMENT
    monkeypatch.setattr(rounds, "find_backend", lambda name: UnpricedBackend())
    found = fairlp.allocate(one, "h-drf", method="lp")
    assert found.totals.to_numpy() == pytest.approx(expected.totals.to_numpy(), rel=1e-5) and found.gap is None


def own_servers(capacities):
    """Users with a server each; a solver's duals are a vertex, and price one of those that tie."""
    count = len(capacities)
    return fairlp.Instance.from_arrays(
        np.ones((count, 1)), np.array(capacities, dtype=float)[:, None], eligible=np.eye(count, dtype=bool)
    )


@pytest.mark.parametrize("capacity", [1.0, 1 / 3, 0.7])
def test_ties_are_decided_at_once_and_not_one_a_round(capacity):
    found = run(own_servers([capacity] * 8), max_min.drfh)
    assert found.levels == pytest.approx([1 / 8] * 8) and found.programs <= 4


def test_ties_do_not_freeze_whoever_can_be_raised():
    found = run(own_servers([1, 1, 1, 2, 3]), max_min.drfh)
    assert found.levels == pytest.approx(np.array([1, 1, 1, 2, 3]) / 8)
    assert sorted(n for _, who in found.rounds for n in who) == list(range(5))


@pytest.mark.parametrize("demand", [1e-6, 1e-3, 1.0])
def test_a_price_counts_for_what_it_is_worth_to_a_share(demand):
    """Users of large and of small tasks are blocked by the same resource: one round."""
    instance = fairlp.Instance.from_arrays([[1.0, 0.5], [demand, 0.1 * demand]], [[8, 8]])
    assert run(instance).programs == 1
    assert run(instance, max_min.asset, normalisers.asset).programs == 1


@pytest.mark.parametrize("merge", [True, False])
def test_limits_are_reached_to_the_last_digit(merge):
    for limit in range(1, 40):
        instance = fairlp.Instance.from_arrays(
            [[0.7, 0.1], [0.3, 0.9]], [[50, 60]], weights=[3, 7], task_limits=[limit, np.inf]
        )
        found = run(instance, merge=merge)
        if found.levels[0] < found.levels[1] - 1e-6:
            assert found.tasks[0, 0] == limit


def test_limits_are_passed_on_the_way_and_everybody_may_have_all_its_tasks():
    instance = fairlp.Instance.from_arrays([[1.0]] * 4, [[20]], task_limits=[1, 2, 3, np.inf])
    found = run(instance)
    assert found.tasks[:, 0] == pytest.approx([1, 2, 3, 14]) and found.levels == pytest.approx(found.tasks[:, 0] / 20)
    plenty = run(fairlp.Instance.from_arrays([[1.0]] * 3, [[20]], task_limits=[1, 2, 3]))
    assert plenty.tasks[:, 0].tolist() == [1, 2, 3] and plenty.prices is None
    assert plenty.levels == pytest.approx(np.array([1, 2, 3]) / 20)


def test_prices_are_those_of_the_first_round_per_unit_of_a_resource():
    """cpu ends first: one more unit of it, at fixed Γ, adds 1/(8·3) to the level of three users."""
    instance = fairlp.Instance.from_arrays([[1, 0.5], [1, 0.5], [1, 0.5], [0, 1]], [[8, 30]])
    gamma = normalisers.dominant(instance)
    expected = [[1 / (gamma[:3] @ instance.demands[:3, 0]), 0.0]]
    for formulation in (max_min.drf, max_min.edrf, max_min.drfh):
        assert run(instance, formulation).prices == pytest.approx(np.array(expected), abs=1e-12)


def test_a_row_that_nobody_may_use_has_no_price():
    instance = fairlp.Instance.from_arrays(
        [[1.0, 1.0], [1.0, 1.0]], [[4, 4], [7, 0]], eligible=np.array([[True, False], [True, True]])
    )
    found = run(instance, max_min.tsf, normalisers.task_share)
    assert (found.prices[1] == 0).all() and found.prices[0].sum() > 0


def test_unused_rows_of_planted_prices_have_none():
    """Whatever dual a solver gives to 0 <= c, it prices nothing."""
    instance = fairlp.Instance.from_arrays([[1.0, 1.0]], [[4, 4], [7, 0]])
    model = max_min.tsf(instance)
    solution = model.solve()
    planted = dataclasses.replace(solution, row_duals=np.ones_like(solution.row_duals))
    assert prices_of(model, planted, identity(2)).tolist() == [[1, 1], [0, 0]]


def test_whoever_can_run_nothing_does_not_hold_the_others():
    instance = fairlp.Instance.from_arrays([[1, 1], [1, 0], [1, 0]], [[6, 0], [0, 9]], task_limits=[5, 0, np.inf])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(instance, max_min.tsf, normalisers.task_share)
    assert found.levels.tolist() == [0, 0, 1] and [who.tolist() for _, who in found.rounds] == [[2]]
    nobody = run(fairlp.Instance.from_arrays([[1.0]], [[6.0]], task_limits=[0]))
    assert nobody.levels.tolist() == [0] and nobody.programs == 0


def test_merged_users_and_servers_get_their_own_part():
    instance = fairlp.Instance.from_arrays(
        [[1, 2], [2, 4], [3, 1]], [[12, 12], [12, 12], [6, 30]], weights=[1, 2, 3], task_limits=[np.inf, 1, np.inf]
    )
    merged, plain = (run(instance, max_min.drfh, merge=merge) for merge in (True, False))
    assert merged.merged == (2, 2) and merged.before == (3, 3) and plain.merged == (3, 3)
    assert merged.tasks.sum(axis=1) == pytest.approx(plain.tasks.sum(axis=1)) and merged.tasks[1].sum() == 1
    assert (merged.tasks.T @ instance.demands <= instance.capacities * (1 + 1e-12)).all()
