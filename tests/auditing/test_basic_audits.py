"""Audits given planted allocations: every amount, sign, weight, division and tolerance, off by little and by much."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.auditing import basics, fairness, reports, search
from fairlp.auditing.findings import AuditCase, Finding

INF = np.inf
OFF = (1e-6, 0.01, 1.0)


def pair(**more):
    """Two users, two servers of 10 and 4; the second user may run on the first only."""
    return Instance.from_arrays(
        [[1.0, 1.0], [1.0, 1.0]],
        [[10.0, 20.0], [4.0, 8.0]],
        eligible=np.array([[True, True], [True, False]]),
        **more,
    )


def case(instance, tasks, **how):
    return AuditCase(instance, np.array(tasks, dtype=float), **how)


@pytest.mark.parametrize("margin", [-1e-6, -1.0])
def test_a_margin_below_the_tolerance_is_broken_and_nothing_to_check_is_no_answer(margin):
    assert Finding.of_margin(margin, "who", "well").holds is False
    assert (
        Finding.of_margin(-1e-9, "who", "well").holds
        and Finding.of_margin(1.0, "who", "well").holds
    )
    assert Finding.vacuous("nobody").holds is None and Finding.undefined("no").holds is None
    assert "vacuous" in Finding.vacuous("nobody").witness


@pytest.mark.parametrize("division", ["rdm", "tdm"])
@pytest.mark.parametrize("off", OFF)
def test_every_way_to_be_infeasible_is_seen(division, off):
    right = [[3, 4], [7, 0]]
    assert basics.feasible(case(pair(), right, division=division)).holds
    for instance, tasks, margin, words in (
        (pair(), [[3 + 10 * off, 4], [7, 0]], -off, "server1"),  # over the first server
        (pair(), [[3, 4 + 4 * off], [7, 0]], -off, "server2"),
        (pair(task_limits=[INF, 5]), [[3, 4], [5 * (1 + off), 0]], -off, "user2"),  # over a limit
        (pair(), [[3, 0], [7, 10 * off]], -off, "run nothing"),  # where it may not run
        (pair(), [[3, -14 * off], [7, 0]], -off, "fewer than no"),
    ):
        found = basics.feasible(case(instance, tasks, division=division))
        assert found.holds is False and found.margin == pytest.approx(margin, rel=1e-3), words
        assert words in found.witness


def test_time_is_not_amounts():
    instance = Instance.from_arrays([[1.0, 0.0], [0.0, 1.0]], [[10.0, 10.0]])
    both = [[10], [10]]
    assert basics.feasible(case(instance, both)).holds
    found = basics.feasible(case(instance, both, division="tdm"))
    assert found.margin == pytest.approx(-1) and "time" in found.witness


@pytest.mark.parametrize("off", [1e-5, 0.01, 1.0])
@pytest.mark.parametrize("server", [0, 1])
def test_what_is_free_on_any_server_is_waste(off, server):
    tasks = np.array([[3.0, 4.0], [7.0, 0.0]])
    assert basics.non_wasteful(case(pair(), tasks)).holds
    tasks[0, server] -= off
    found = basics.non_wasteful(case(pair(), tasks))
    assert found.holds is False and found.margin == pytest.approx(
        -off / (10 if server == 0 else 14), rel=1e-3
    )


def test_what_nobody_can_use_is_no_waste():
    # a resource that is left where another has ended, whoever has all its tasks, and part of a
    # whole task
    one = Instance.from_arrays([[1.0, 1.0], [1.0, 1.0]], [[10.0, 4.0]])
    assert basics.non_wasteful(case(one, [[2], [2]])).holds
    full = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[2, 3])
    assert basics.non_wasteful(case(full, [[2], [3]])).holds
    part = Instance.from_arrays([[2.0], [2.0]], [[9.0]])
    assert basics.non_wasteful(case(part, [[2], [2]], whole=True)).holds
    assert basics.non_wasteful(case(part, [[2], [2]])).holds is False
    assert basics.non_wasteful(case(part, [[2], [1]], whole=True)).holds is False


@pytest.mark.parametrize("off", [1e-5, 0.01, 1.0])
def test_a_gain_of_anybody_is_a_loss_of_pareto_optimality(off):
    tasks = np.array([[3.0, 4.0], [7.0, 0.0]])
    assert basics.pareto_optimal(case(pair(), tasks)).holds
    tasks[1, 0] -= off
    found = basics.pareto_optimal(case(pair(), tasks))
    assert found.holds is False and found.margin == pytest.approx(-off / 10, rel=0.02)


def test_pareto_optimality_is_of_whole_tasks_of_time_and_of_what_is_held():
    part = Instance.from_arrays([[2.0], [2.0]], [[9.0]])
    assert basics.pareto_optimal(case(part, [[2], [2]], whole=True)).holds
    assert basics.pareto_optimal(case(part, [[2], [2]])).holds is False
    half = Instance.from_arrays([[3.0], [2.0]], [[4.0]])  # half a task of the second is left
    assert basics.pareto_optimal(case(half, [[1], [0]], whole=True)).holds
    two = Instance.from_arrays([[1.0, 0.0], [0.0, 1.0]], [[10.0, 10.0]])
    assert basics.pareto_optimal(case(two, [[5], [5]], division="tdm")).holds
    assert basics.pareto_optimal(case(two, [[5], [5]])).holds is False
    over = basics.pareto_optimal(case(Instance.from_arrays([[1.0], [1.0]], [[10.0]]), [[9], [9]]))
    assert over.holds  # nobody could gain with what is taken
    apart = Instance.from_arrays([[1.0], [1.0]], [[10.0], [5.0]], eligible=np.eye(2, dtype=bool))
    found = basics.pareto_optimal(
        case(apart, [[0.5, 4], [0, 5]])
    )  # 4 tasks of the first are where it may not run
    assert found.holds is False and "user1 could run 9.5 more tasks" in found.witness.replace(
        "'", ""
    )


@pytest.mark.parametrize("off", OFF)
def test_envy_is_per_weight(off):
    equal = Instance.from_arrays([[1.0], [1.0]], [[10.0]])
    assert basics.envy_free(case(equal, [[5], [5]])).holds
    found = basics.envy_free(case(equal, [[5 - off], [5 + off]]))
    assert found.margin == pytest.approx(-2 * off / 10) and found.witness.startswith("'user1'")
    heavy = Instance.from_arrays([[1.0], [1.0]], [[9.0]], weights=[1, 2])
    assert basics.envy_free(case(heavy, [[3], [6]])).holds
    assert basics.envy_free(case(heavy, [[3 - off], [6 + off]])).holds is False
    assert basics.envy_free(case(heavy, [[3 + off], [6 - off]])).holds is False


def test_envy_is_of_what_one_could_use():
    # on a server where it may not run, of more tasks than it has, of time, and at given rates
    assert basics.envy_free(case(pair(), [[6, 4], [6, 0]])).holds
    limited = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[2, INF])
    assert basics.envy_free(case(limited, [[2], [8]])).holds
    assert basics.envy_free(case(limited, [[1], [9]])).holds is False
    timed = Instance.from_arrays([[1.0, 0.0], [0.0, 1.0]], [[10.0, 10.0]])
    assert basics.envy_free(case(timed, [[3], [7]], division="tdm")).holds is False
    assert basics.envy_free(case(timed, [[3], [7]])).holds
    rated = Instance.from_arrays([[1.0], [1.0]], [[10.0]], rates=[[20.0], [10.0]])
    assert basics.envy_free(case(rated, [[10], [5]])).holds
    assert basics.envy_free(case(rated, [[9], [5.5]])).holds is False


@pytest.mark.parametrize("off", OFF)
def test_a_part_of_every_server_is_by_weight(off):
    heavy = Instance.from_arrays([[1.0], [1.0]], [[9.0]], weights=[1, 2])
    assert basics.sharing_incentive(case(heavy, [[3], [6]])).holds
    for tasks, who in (([[3 - off], [6 + off]], "user1"), ([[3 + off], [6 - off]], "user2")):
        found = basics.sharing_incentive(case(heavy, tasks))
        assert found.margin == pytest.approx(-off / 9, rel=1e-3) and repr(who) in found.witness


def test_a_part_of_every_server_is_no_more_than_one_has_tasks_and_whole_where_they_are():
    limited = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[2, INF])
    assert basics.sharing_incentive(case(limited, [[2], [8]])).holds
    part = Instance.from_arrays([[2.0], [2.0]], [[9.0]])
    assert basics.sharing_incentive(case(part, [[2], [2]], whole=True)).holds
    assert basics.sharing_incentive(case(part, [[2], [2]])).holds is False


# --- against an optimum ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize("user", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_max_min_of_a_single_resource_is_missed_from_either_side(off, user, sign):
    one = Instance.from_arrays([[1.0], [1.0]], [[10.0]])
    tasks = np.array([[5.0], [5.0]])
    assert fairness.single_resource(case(one, tasks)).holds
    tasks[user, 0] += sign * off
    found = fairness.single_resource(case(one, tasks))
    assert found.holds is False and found.margin == pytest.approx(-off / 10, rel=1e-3)


def test_what_has_several_resources_or_whole_tasks_is_no_single_resource():
    several = Instance.from_arrays([[1.0, 0.1], [1.0, 1.0]], [[10.0, 20.0]])
    assert fairness.single_resource(case(several, [[1], [1]])).holds is None
    one = Instance.from_arrays([[1.0], [1.0]], [[10.0]])
    for audit in (fairness.single_resource, fairness.bottleneck, fairness.global_bottleneck):
        assert audit(case(one, [[1], [1]], whole=True)).holds is None
        assert audit(case(one, [[1], [1]])).holds is False


def test_a_bottleneck_is_everyones_on_every_server():
    servers = [[10.0, 20.0], [20.0, 10.0]]
    here = Instance.from_arrays([[1.0, 1.0], [1.0, 1.0]], servers)
    assert fairness.common_bottleneck(here) is None and fairness.common_dominant(here) == 0
    apart = Instance.from_arrays([[2.0, 1.0], [1.0, 2.0]], [[10.0, 10.0]])
    assert fairness.common_bottleneck(apart) is None and fairness.common_dominant(apart) is None
    second = Instance.from_arrays([[1.0, 2.0], [1.0, 3.0]], [[10.0, 10.0]])
    assert fairness.common_bottleneck(second) == fairness.common_dominant(second) == 1


@pytest.mark.parametrize("division", ["rdm", "tdm"])
@pytest.mark.parametrize("off", OFF)
def test_a_fixed_point_is_feasible_and_nobody_could_gain(division, off):
    assert fairness.per_server(case(pair(), [[3, 4], [7, 0]]), division).holds
    gain = fairness.per_server(case(pair(), [[3, 4 - off], [7, 0]]), division)
    assert gain.holds is False and gain.margin <= -off / 4 * 0.99
    over = fairness.per_server(case(pair(), [[3, 4 * (1 + off)], [7, 0]]), division)
    assert over.holds is False and over.margin <= -off * 0.99


# --- whole tasks, blockers, lies, and the search ---------------------------------------------------------------------


def test_up_to_one_task_is_one_and_of_whole_tasks():
    instance = Instance.from_arrays([[1.0], [1.0]], [[20.0]])

    def found(audit, *tasks, whole=True):
        return audit(case(instance, [[tasks[0]], [tasks[1]]], whole=whole)).holds

    for audit in (basics.up_to_one_own_task, basics.up_to_one_task_of_the_other):
        assert found(audit, 5, 5) and found(audit, 5, 6) and found(audit, 5, 7) is False
        assert found(audit, 5, 5, whole=False) is None


def test_what_blocks_is_what_is_scarcest_and_having_all():
    instance = Instance.from_arrays([[1.0, 1.0], [1.0, 0.0]], [[10.0, 4.0]], task_limits=[INF, 3])
    found = basics.blockers(instance, np.array([[4.0], [3.0]])).set_index("user")
    assert found.loc["user1", "resource"] == "resource2" and found.loc["user1", "blocked"]
    assert found.loc["user2", "resource"] == "its tasks" and found.loc["user2", "blocked"]
    # on the second server [7.5, 2] is left: seven tasks by the one, half a task by the other
    two = Instance.from_arrays([[1.0, 4.0]], [[10.0, 4.0], [8.0, 4.0]], task_limits=[INF])
    found = basics.blockers(two, np.array([[1.0, 0.5]])).set_index("server")
    assert found["resource"].tolist() == ["resource2"] * 2 and found["free"].tolist() == [0, 0.5]
    less = basics.blockers(instance, np.array([[3.9], [2.9]]))
    assert not less["blocked"].any()


def again(answers):
    """A case whose mechanism answers so: number of users or liar's instance → tasks."""

    class Planted(AuditCase):
        def again(self, instance):
            return fairlp.auditing.basics.as_allocation(instance, answers(instance), "planted")

    return Planted


def test_whoever_is_worse_off_when_another_leaves_is_named():
    instance = Instance.from_arrays([[1.0], [1.0], [1.0]], [[9.0]])

    def answers(rest):
        return np.where(rest.users.labels.to_numpy()[:, None] == "user3", 2.5, 6.5)

    found = reports.population_monotonic(
        again(answers)(instance, np.full((3, 1), 3.0), mechanism="planted")
    )
    assert (
        found.holds is False
        and found.margin == pytest.approx(-0.5 / 9)
        and "'user3'" in found.witness
    )


def test_a_lie_pays_in_tasks_of_ones_own():
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[INF, 5])
    tasks = np.full((2, 1), 5.0)

    def found(answers):
        return reports.strategy_proof(
            again(answers)(instance, tasks, mechanism="planted", tries=40)
        )

    # whoever claims a task of another size gets tasks that are worth as much: no lie pays, and that
    # proves nothing
    honest = found(lambda lie: 5.0 / lie.demands)
    assert honest.holds is None and honest.margin == 0
    paid = found(lambda lie: 6.0 / lie.demands)
    assert paid.holds is False and paid.margin == pytest.approx(-0.1) and "'user1'" in paid.witness
    # more claimed tasks of a smaller size are not more of one's own
    assert (
        found(
            lambda lie: np.where(
                lie.demands < 1, 5.0 / lie.demands, 5.0 / np.maximum(lie.demands, 1)
            )
        ).holds
        is None
    )
    # of what is beyond a limit, nothing is of use
    full = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[5, 5])
    beyond = again(lambda lie: 9.0 / lie.demands)(full, tasks, mechanism="planted", tries=40)
    assert reports.strategy_proof(beyond).holds is None


@pytest.mark.parametrize(
    ("holds", "margin", "breaks"), [(False, -0.1, True), (False, -1e-5, False), (None, -1, False)]
)
def test_a_search_takes_clear_violations_only(monkeypatch, holds, margin, breaks):
    import pandas as pd

    table = pd.DataFrame({"holds": pd.Series([holds], dtype=object), "margin": [margin]})
    monkeypatch.setattr(search, "audit", lambda *_, **__: table)
    row = fairlp.mechanisms.TABLE["drf"]
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]])
    assert search._breaks(instance, row, "envy-free", {"options": {}}) is breaks
    assert dataclasses.replace(case(instance, [[1], [1]]), whole=True).whole
