"""Best responses whose shortcuts fail: sweeps alone lead to the same allocation."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
import fairlp_research
from fairlp import Instance
from fairlp.errors import NoSolutionError
from fairlp.mechanisms.per_server import best_response, market, rows
from instances import random_instance


def tangle(seed=0):
    """Some users on some servers, in a tangle of placements; every second seed with task limits."""
    rng = np.random.default_rng(seed)
    n, k = rng.integers(4, 12), rng.integers(3, 8)
    eligible = rng.random((n, k)) < 0.7
    eligible[:, 0] = True
    limits = np.where(rng.random(n) < 0.5, rng.uniform(0.5, 3, n), np.inf) if seed % 2 else None
    demands, capacities = (
        rng.integers(1, 4, (n, 2)).astype(float),
        rng.integers(5, 20, (k, 2)).astype(float),
    )
    return Instance.from_arrays(demands, capacities, eligible=eligible, task_limits=limits)


def totals(instance):
    """Where best responses end that begin at no tasks; where task limits bind, the mechanism begins elsewhere."""
    settled = best_response.best_response(market.PerServerMarket.of(instance, "tdm"))
    assert settled.converged and fairlp.per_server.check(instance, settled.tasks, "tdm")
    return settled.tasks.sum(axis=1)


def never(*_, **__):
    return None


def second(real):
    """Every second call finds nothing."""
    calls = []

    def sometimes(*arguments):
        calls.append(arguments)
        return real(*arguments) if len(calls) % 2 else None

    return sometimes


FAULTS = {
    "no system": lambda patch: patch.setattr(best_response._ForestSystem, "of", never),
    "no solution": lambda patch: patch.setattr(best_response._ForestSystem, "solve", never),
    "no second solution": lambda patch: patch.setattr(
        best_response._ForestSystem, "solve", second(best_response._ForestSystem.solve)
    ),
    "one pivot": lambda patch: patch.setattr(best_response, "MOST_PIVOTS", 1),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", [1, 3, 16, 39])
def test_without_pivots_sweeps_lead_there(monkeypatch, fault, seed):
    instance = tangle(seed)
    expected = totals(instance)
    FAULTS[fault](monkeypatch)
    assert totals(instance) == pytest.approx(expected, rel=1e-6)


def lost(system, tasks):
    """No answer."""
    return None


def taking_nothing(system, tasks):
    """An answer in which an edge that enters takes nothing of the others."""
    return tasks, np.ones(system.n_users), np.ones(len(system.groups))


@pytest.mark.parametrize("answer", [lost, taking_nothing])
def test_an_edge_that_cannot_enter_ends_the_pivots(monkeypatch, answer):
    instance, real, settle, entries, pivots = (
        tangle(16),
        best_response._ForestSystem.solve,
        best_response.Support.settle,
        [],
        [],
    )
    expected = totals(instance)

    def solve(system, tasks):
        enters = (tasks > system.support.tasks).any()
        entries.append(enters)
        return answer(system, tasks) if enters else real(system, tasks)

    monkeypatch.setattr(best_response._ForestSystem, "solve", solve)
    monkeypatch.setattr(
        best_response.Support, "settle", lambda self: pivots.append(settle(self)) or pivots[-1]
    )
    assert totals(instance) == pytest.approx(expected, rel=1e-6)
    assert any(entries) and max(pivots) < 10


def test_where_all_have_all_their_tasks_there_is_nothing_to_pivot():
    """Nobody's level counts anywhere, so that there is no equation at all."""
    limits = [1.0, 3.0]
    instance = Instance.from_arrays(
        [[2.0, 3.0], [3.0, 1.0]], [[2.0, 8.0], [9.0, 3.0]], task_limits=limits
    )
    allocation = fairlp.allocate(instance, "psdsf-rdm")
    assert allocation.totals.tolist() == pytest.approx(limits, rel=1e-9) and allocation.certificate


def test_numbers_that_are_not_finite_are_no_solution():
    class Broken:
        def solve(self, right):
            return np.full(len(right), np.nan)

    of, solutions = best_response._ForestSystem.of.__func__, []

    def broken(cls, *arguments):
        system = of(cls, *arguments)
        if system is not None:
            system.factor = Broken()
            solutions.append(system.solve(system.support.tasks))
        return system

    instance = tangle(1)
    expected = totals(instance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_response._ForestSystem, "of", classmethod(broken))
        assert totals(instance) == pytest.approx(expected, rel=1e-6)
    assert solutions and all(solution is None for solution in solutions)


def test_a_sweep_that_took_nothing_is_not_gone_on_with():
    market_row = rows.PerServerMarket.of(tangle(), "tdm")
    tasks = np.ones(market_row.shape)
    best_response._drift(market_row, tasks, np.full(market_row.shape, 0.5))
    assert (tasks == 1).all()


def test_an_integer_program_that_no_tolerance_solves_says_so(monkeypatch):
    tried = []

    def fails(*_, primal_tolerance, **__):
        tried.append(primal_tolerance)
        raise NoSolutionError("infeasible")

    monkeypatch.setattr(rows, "point_of_model", fails)
    with pytest.raises(NoSolutionError, match="infeasible"):
        fairlp.allocate(tangle(), "psdsf-rdm", method="milp")
    assert tried == list(rows.MILP_TOLERANCES)


def test_a_resource_of_which_nothing_is_left_is_used_up_at_once():
    demands = np.array([[0.0, 1.0], [1.0, 1.0]])
    saturation = market._saturation(
        demands, np.ones(2), np.array([0.0, 1.0]), np.full(2, np.inf), np.array([0.0, 10.0])
    )
    assert saturation.tolist() == [0.0, 5.5]


def test_a_user_who_can_run_nothing_is_passed_over_by_the_check():
    instance = Instance.from_arrays(
        [[1.0], [1.0]], [[4.0], [0.0]], eligible=np.array([[True, True], [False, True]])
    )
    validation = fairlp.validate(instance, "psdsf-tdm")
    assert validation["agrees"].all()


def test_tasks_of_other_mechanisms_count_with_their_rates():
    instance = random_instance(3, servers=2, limits=False, zeros=False)
    rates = instance.gamma() * 0.5
    slow = Instance.from_arrays(instance.demands, instance.capacities, rates=rates)
    tracking = fairlp_research.distributed.track(slow, until=20, beside=("psdsf-tdm",))
    allocation = fairlp.allocate(slow, "psdsf-tdm")
    assert tracking.tasks["psdsf-tdm"].iloc[-1].to_numpy() == pytest.approx(
        allocation.totals.to_numpy(), rel=1e-9
    )
    used = tracking.utilization["psdsf-tdm"].iloc[-1].unstack().to_numpy()
    twice = (allocation.tasks_array[:, :, None] * 2 * slow.demands[:, None, :]).sum(
        axis=0
    ) / slow.capacities
    assert used == pytest.approx(twice, rel=1e-6)
