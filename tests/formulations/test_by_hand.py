"""Formulations by hand: units of limits, who is left out, what audits ask, and bounds where nobody can run."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp import Instance
from fairlp.formulations import (
    alpha_fair,
    arrivals,
    audits,
    complaints,
    max_min,
    normalisers,
    per_server,
    proportional,
    region,
)
from fairlp.formulations.whole_tasks import SettledLevel, precomputed_drf, whole_able, whole_tasks
from fairlp.models.instances.requests import Requests

INF = np.inf


def solved(model):
    return model.solve().require_optimal()


def two(**options):
    """Two users of two resources, of which they could run 9 and 6 tasks alone."""
    return Instance.from_arrays([[1, 1], [1, 3]], [[9, 18]], **options)


ONE_LEVEL = [max_min.drf, max_min.edrf, max_min.drfh, max_min.cdrf, max_min.tsf]


@pytest.mark.parametrize("formulation", ONE_LEVEL)
def test_limits_are_in_tasks_whatever_the_variables_are(formulation):
    """The first user has 2 tasks, so that the smallest level is 2/9; nobody's limit is an equality."""
    solution = solved(formulation(two(task_limits=[2, INF])))
    assert solution.objective == pytest.approx(2 / 9)
    generous = solved(formulation(two(task_limits=[100, 100])))
    assert (
        generous.objective
        == pytest.approx(solved(formulation(two())).objective)
        == pytest.approx(0.6)
    )


@pytest.mark.parametrize("formulation", ONE_LEVEL)
def test_weights_are_in_every_level(formulation):
    assert solved(formulation(two(weights=[1, 3]))).objective == pytest.approx(18 / 63)


@pytest.mark.parametrize("formulation", ONE_LEVEL)
def test_whoever_can_run_nothing_holds_nobody_and_alone_has_the_level_0(formulation):
    assert solved(formulation(two(task_limits=[0, INF]))).objective == pytest.approx(1)
    assert solved(formulation(two(task_limits=[0, 0]))).objective == 0


@pytest.mark.parametrize("formulation", [max_min.drfh, max_min.cdrf, max_min.tsf])
def test_whoever_has_no_server_holds_nobody(formulation):
    instance = Instance.from_arrays([[1, 1], [1, 0]], [[9, 0], [0, 5]])
    assert solved(formulation(instance)).objective > 0


@pytest.mark.parametrize("formulation", [max_min.drfh, max_min.asset, max_min.tsf])
def test_servers_count_as_often_as_there_are_some(formulation):
    once = Instance.from_arrays([[1, 2], [3, 1]], [[6, 4], [6, 4], [6, 4]])
    counted = Instance.from_arrays([[1, 2], [3, 1]], [[6, 4]], counts=[3])
    assert solved(formulation(counted)).objective == pytest.approx(
        solved(formulation(once)).objective
    )


def test_the_normalisers_are_those_of_the_papers():
    eligible = np.array([[True, False], [True, True]])
    instance = Instance.from_arrays([[1, 1], [1, 3]], [[9, 18], [4, 4]], eligible=eligible)
    assert normalisers.containerized(instance).tolist() == pytest.approx([9, 6 + 4 / 3])
    assert normalisers.task_share(instance).tolist() == pytest.approx([13, 6 + 4 / 3])
    assert normalisers.asset(instance).tolist() == pytest.approx(
        [1 / (1 / 13 + 1 / 22), 1 / (1 / 13 + 3 / 22)]
    )
    by_resource = two(weights=np.array([[1.0, 0.5], [2.0, 1.0]]))
    assert normalisers.tasks_at_level_1(
        by_resource, normalisers.dominant(by_resource)
    ).tolist() == [9, 6]
    lower = two(weights=np.array([[1.0, 0.25], [2.0, 1.0]]))
    assert normalisers.tasks_at_level_1(lower, normalisers.dominant(lower)).tolist() == [4.5, 6]
    assert alpha_fair.weights(lower).tolist() == [0.5, 1] and alpha_fair.weights(
        two(weights=[2, 1])
    ).tolist() == [2, 1]
    for formulation in (max_min.drf, max_min.edrf, max_min.drfh):
        assert solved(formulation(lower)).objective == pytest.approx(18 / 22.5)


def separate(**options):
    return Instance.from_arrays([[1.0], [1.0]], [[4.0], [12.0]], **options)


def test_naive_drf_divides_limits_and_is_bounded():
    solution = solved(max_min.naive_drf(separate(task_limits=[2, INF])))
    assert solution.values["t"].tolist() == pytest.approx([1 / 8, 1 / 8])
    assert max_min.separate_limits(separate(task_limits=[2, INF])).tolist() == [
        [0.5, 1.5],
        [INF, INF],
    ]
    nobody = solved(max_min.naive_drf(separate(task_limits=[0, 0])))
    assert nobody.objective == 0
    lone = Instance.from_arrays([[1.0, 1.0]], [[4.0, 4.0], [9.0, 0.0]])
    assert solved(max_min.naive_drf(lone)).values["t"].tolist() == [1, 0]


def test_given_rates_scale_what_tasks_need():
    instance = two(rates=[[18.0], [6.0]])
    needs = region.server_needs(instance, instance.gamma())
    assert needs[:, 0].tolist() == [[0.5, 0.5], [1, 3]]
    assert solved(max_min.tsf(instance)).objective == pytest.approx(0.6)


# --- audits ----------------------------------------------------------------------------------------------------------


def gain(instance, totals, **options):
    """What all can gain together, each as a fraction of what it could run alone."""
    totals = np.array(totals, dtype=float)
    best = solved(audits.pareto(instance, totals, **options)).objective
    return best - (totals / instance.gamma().sum(axis=1)).sum()


def test_somebody_can_gain_only_what_is_left_and_nobody_loses():
    case = Instance.from_arrays([[2.0], [2.0]], [[10.0]])
    assert gain(case, [2, 3]) == pytest.approx(0, abs=1e-8) and gain(case, [1, 3]) == pytest.approx(
        1 / 5
    )
    assert gain(case, [2.5, 2.5]) == pytest.approx(0, abs=1e-8)
    assert gain(case, [2, 2], whole=True) == pytest.approx(1 / 5)
    assert gain(Instance.from_arrays([[2.0], [2.0]], [[9.0]]), [2, 2], whole=True) == pytest.approx(
        0, abs=1e-8
    )
    # a loss of one would be a larger gain of another
    other = Instance.from_arrays([[4.0, 1.0], [1.0, 1.0]], [[8.0, 4.0]])
    assert gain(other, [2, 0]) == pytest.approx(0, abs=1e-7)
    limited = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[2, 3])
    assert gain(limited, [2, 3]) == pytest.approx(0, abs=1e-8)


def test_audits_take_rates_and_time_as_they_are():
    rated = Instance.from_arrays([[1.0], [1.0]], [[10.0]], rates=[[20.0], [10.0]])
    assert gain(rated, [10, 5]) == pytest.approx(0, abs=1e-7) and gain(rated, [10, 4]) > 0.09
    timed = Instance.from_arrays([[1.0, 0], [0, 1.0]], [[10.0, 10.0]])
    assert gain(timed, [5, 5], division="tdm") == pytest.approx(0, abs=1e-7)
    assert gain(timed, [5, 5]) == pytest.approx(1)


def test_the_max_min_of_one_resource_is_of_its_amounts():
    formulation, gamma = audits.one_resource("memory")
    instance = Instance.from_arrays([[1, 2], [1, 4]], [[100, 24]], resources=["cpu", "memory"])
    assert gamma(instance).tolist() == [12, 6]
    assert solved(formulation(instance)).objective == pytest.approx(0.5)


# --- whole tasks -----------------------------------------------------------------------------------------------------


def test_whole_tasks_need_to_fit_to_be_there_and_to_be_allowed():
    instance = Instance.from_arrays(
        [[1.0], [11.0], [1.0], [1.0]], [[10.0]], task_limits=[INF, INF, 0.5, 2.5]
    )
    assert whole_able(instance).tolist() == [True, False, False, True]
    assert solved(whole_tasks(instance)).values["x"].tolist()[3] <= 2
    program = whole_tasks(instance).compile()
    assert program.col_upper[program.column_block("x").slice].tolist() == [10, 0, 0, 2]


def test_who_stays_behind_does_not_leave():
    instance = Instance.from_arrays([[1.0], [1.0]], [[3.0]])
    settled = SettledLevel(np.array([1.0, 1.0]), np.array([2.0, 2.0]), 1)
    solution = solved(whole_tasks(instance, [settled]))
    assert sorted(solution.values["x"].round().tolist()) == [1, 2]


def test_a_cycle_is_one_task_of_the_largest_user():
    demands, pool = [[1, 4], [3, 1], [1, 1]], [[9, 18]]
    solution = solved(
        precomputed_drf(Instance.from_arrays(demands, pool, task_limits=[INF, INF, 0]))
    )
    assert solution.objective == pytest.approx(2) and solution.values["k"] == pytest.approx(2)
    assert (
        solved(
            precomputed_drf(Instance.from_arrays(demands, pool, task_limits=[0, 0, 0]))
        ).objective
        == 0
    )


# --- PS-DSF ----------------------------------------------------------------------------------------------------------


def rows_break(model, tasks, **others):
    """Whether tasks (and binaries) as planted break a row of a program: which is proved by fixing them."""
    program = model.compile()
    low, high = program.col_lower.copy(), program.col_upper.copy()
    for name, values in {"x": tasks, **others}.items():
        block = program.column_block(name)
        flat = np.asarray(values, dtype=float).reshape(-1)
        flat = flat if block.positions is None else flat[block.positions]
        low[block.slice] = high[block.slice] = flat
    return not program.replace(col_lower=low, col_upper=high).solve().status.is_optimal


MEMORY = {user: {"server1": "resource2"} for user in ("user1", "user2")}


@pytest.mark.parametrize(
    "guesses", [{}, {"bottlenecks": MEMORY}, {"bottlenecks": MEMORY, "support": [[True], [True]]}]
)
def test_theorem_1_refuses_planted_allocations(guesses):
    instance = Instance.from_arrays([[1.0, 1.0], [1.0, 2.0]], [[8.0, 9.0]])
    level = 9 / 17  # of 8 and 4.5 tasks, where memory ends
    model = per_server.psdsf_rdm(instance, **guesses)
    assert not rows_break(model, [[8 * level], [4.5 * level]])
    assert rows_break(model, [[8 * level * 0.9], [4.5 * level * 0.9]])  # nothing is saturated
    assert rows_break(
        model, [[8 * level + 0.6], [4.5 * level - 0.3]]
    )  # the poorer one's bottleneck has a richer user


def test_theorem_1_with_limits_asks_whether_they_are_reached():
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[2, INF])
    model = per_server.psdsf_rdm(instance)
    assert not rows_break(model, [[2], [8]])
    assert rows_break(model, [[1], [9]]) and rows_break(model, [[2], [7]])


def test_theorem_2_refuses_planted_allocations():
    instance = Instance.from_arrays([[1.0], [1.0]], [[4.0], [12.0]])
    model = per_server.psdsf_tdm(instance, theorem=True)
    assert not rows_break(model, [[4, 4], [0, 8]])
    assert rows_break(model, [[4, 6], [0, 6]]) and rows_break(model, [[3, 5], [0, 6]])
    assert rows_break(
        model, [[4, 3], [0, 9]]
    )  # the richer one gives nothing to the poorer one where both run


def test_the_market_of_time_has_all_the_time_there_is():
    instance = Instance.from_arrays([[1.0], [1.0]], [[4.0], [12.0]])
    solution = solved(per_server.psdsf_tdm(instance))
    assert solution.values["X"].tolist() == pytest.approx([8, 8], rel=1e-4)


def test_who_has_more_gives_way_and_who_has_as_much_does_not():
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]])
    equal = per_server.could_gain(instance, np.array([[5.0], [5.0]]), "user1")
    assert solved(equal).objective == pytest.approx(5)
    poorer = per_server.could_gain(instance, np.array([[4.0], [6.0]]), "user1")
    assert solved(poorer).objective == pytest.approx(10)


# --- no justified complaints, CEEI, arrivals -------------------------------------------------------------------------


def requests(**options):
    return Requests.of(
        Instance.from_arrays([[1.0, 0.5], [0.5, 1.0], [1.0, 1.0]], [[10.0, 10.0]], **options)
    )


def test_a_selection_is_just_and_saturates_its_bottlenecks():
    for limits in (None, [INF, INF, 0], [2, INF, INF]):
        model = complaints.selection(requests(task_limits=limits), "utilization")
        solution = solved(model)
        x, z = solution.values["x"].to_numpy(), np.round(solution.values["z"].to_numpy())
        problem = requests(task_limits=limits)
        used = x @ problem.fractions
        assert (used[z > 0] >= 1 - 1e-9).all() and (used <= 1 + 1e-9).all()
        assert (x >= problem.thresholds(z > 0) - 1e-9).all() and (
            x[problem.limited] <= 1 + 1e-9
        ).all()


def test_a_selection_that_is_not_just_is_refused():
    """What would use most is not just: the user of both resources would have nothing."""
    model = complaints.selection(requests(), "utilization")
    assert rows_break(model, [2 / 3, 2 / 3, 0])
    assert not rows_break(complaints.selection(requests(), "utilization"), [4 / 9, 4 / 9, 1 / 3])


def test_a_candidate_is_just():
    solution = solved(complaints.candidate(requests(), np.array([True, True]), "user1"))
    assert solution.values["x"]["user3"] >= 1 / 3 - 1e-9
    served = solved(complaints.candidate(requests(), np.array([True, True]), "least-served"))
    assert served.objective == pytest.approx(served.values["x"].min())


def test_the_eisenberg_gale_program_has_no_term_of_who_asks_for_nothing():
    program = complaints.eisenberg_gale(requests(task_limits=[0, INF, INF])).compile()
    assert program.logs.weights.tolist() == pytest.approx([1 / 3, 1 / 3])
    assert (
        solved(complaints.eisenberg_gale(requests(task_limits=[1, 1, 1]))).values["x"].max()
        <= 1 + 1e-9
    )


def test_ceei_has_limits_in_tasks_and_terms_by_entitlement():
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[2, INF])
    assert solved(proportional.ceei(instance)).values["g"].to_numpy()[:, 0] == pytest.approx(
        [0.2, 0.8], rel=1e-4
    )
    weighted = Instance.from_arrays([[1.0], [1.0]], [[10.0]], weights=[1, 3])
    shares = solved(proportional.ceei(weighted)).values["g"].to_numpy()[:, 0]
    assert shares == pytest.approx([0.25, 0.75], rel=1e-4)


def test_a_step_takes_nothing_away_and_keeps_what_is_to_come():
    present = Instance.from_arrays([[1.0, 0.5], [1.0, 1.0]], [[10.0, 10.0]])
    step = solved(arrivals.dynamic_drf(present, np.array([0.4, 0.0]), 0.5))
    assert step.values["x"].tolist() == pytest.approx(
        [0.4, 0.1]
    ) and step.objective == pytest.approx(0.1)
    cautious = solved(arrivals.cautious_lp(present, np.array([0.2, 0.0]), 1.0, 2.0))
    assert cautious.objective == pytest.approx(0.25)
    weighted = Instance.from_arrays([[1.0], [1.0]], [[10.0]], weights=[1, 3])
    answer = solved(arrivals.dynamic_drf(weighted, np.array([0.0, 0.0]), 1.0))
    assert answer.objective == pytest.approx(0.25)


@pytest.mark.parametrize(("goal", "best"), [("level", 1), ("count", 2)])
def test_later_rounds_of_whole_tasks_maximise_a_level_or_count_users(goal, best):
    """Needs of 3, 3 and 4 of 6, one user to be above nothing: two tasks of one user, or a task of each of two."""
    instance = Instance.from_arrays([[3], [3], [4]], [[6]])
    model = whole_tasks(instance, [SettledLevel(np.zeros(3), np.ones(3), 2)], goal)
    assert solved(model).objective == pytest.approx(best)
