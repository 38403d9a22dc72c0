"""A lie a little above each tolerance of a proof is not proved: tasks, rounds, lotteries and properties."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

import fairlp
from arrival_cases import with_levels
from cohort_instances import instance_of, random_cohorts
from fairlp import examples
from fairlp.mechanisms.complaints.complaints import certify_fair, check_complaints
from fairlp.mechanisms.per_server.time_market import prove_market
from fairlp.mechanisms.table import TABLE
from fairlp.models.instances.requests import Requests
from fairlp.tolerances import AGREEMENT, AUDIT, LEAST_PROVED
from tree_instances import guaranteed_tree, random_past

#: What no proof may overlook, as a part of a user's tasks.
LIE = 10 * LEAST_PROVED


def of_users(*demands, **data):
    """One server of ten units of each resource, and users of these demands."""
    return fairlp.Instance.from_arrays(demands, [[10.0] * len(demands[0])], **data)


def in_queues(a, b, **data):
    """Ten units, and two users alike in queues of their own."""
    return of_users([1], [1], queue=["a", "b"], queues={"a": a, "b": b}, **data)


NOMINAL_QUOTAS = ({"nominal": {"resource1": 6.0}}, {"nominal": {"resource1": 4.0}})
LIMITED = of_users([1, 0], [1, 2], [0, 1], task_limits=[2, np.inf, 3])
RATES = fairlp.Instance.from_arrays(
    np.ones((3, 1)), np.ones((2, 1)), rates=[[1.0, 3.0], [2.0, 2.0], [1.0, 4.0]]
)
PLACED = examples.load("khamse-ashari-figure-1")
CASES = {
    **dict.fromkeys(("drf", "edrf", "cdrf", "dynamic-drf", "cautious-lp"), examples.ghodsi()),
    **dict.fromkeys(("asset", "drfh", "c-drfh", "tsf", "psdsf-rdm", "psdsf-tdm"), PLACED),
    **dict.fromkeys(("ceei", "drfh-first-fit", "drfh-best-fit", "slots"), PLACED),
    **dict.fromkeys(("h-drf", "h-drf-counted", "h-drf-collapsed"), guaranteed_tree(3)),
    **dict.fromkeys(("njc", "alpha-fair", "drf-milp", "mnw"), LIMITED),
    **dict.fromkeys(("drf, limited", "drfh, limited", "psdsf-tdm, limited"), LIMITED),
    "drf, guaranteed": guaranteed_tree(7),
    "kueue, limited": in_queues(*NOMINAL_QUOTAS, task_limits=[2, 20]),
    "kueue, limited, borrowing": in_queues(*NOMINAL_QUOTAS, task_limits=[7, 1]),
    "kueue": instance_of(*random_cohorts(3)),
    "kueue, others": instance_of(*random_cohorts(7)),
    "gavel": RATES,
    "oef": RATES,
    "allox": RATES,
    "shockwave": RATES,
    "partial-allocation": RATES,
    "karma": of_users([1], [1], [1], task_limits=[1, 5, 5]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_little_less_or_more_is_not_proved(case, sign):
    """All users, and each alone, have a little less or more than what is right."""
    allocation = fairlp.allocate(CASES[case], case.split(",")[0])
    assert allocation.certify().holds
    tasks = allocation.tasks_array
    for lied in [np.ones(len(tasks), dtype=bool), *np.eye(len(tasks), dtype=bool)]:
        if tasks[lied].any():
            lie = np.where(lied, 1 + sign * LIE, 1.0)[:, None]
            verdict = dataclasses.replace(allocation, tasks_array=tasks * lie).certify()
            assert not verdict.holds, (lied, verdict.message)


def test_every_mechanism_with_a_certificate_has_a_case():
    proved = {name for name in TABLE.names if TABLE[name].prove is not None}
    assert proved == {case.split(",")[0] for case in CASES}


@pytest.mark.parametrize(("mechanism", "count", "moves"), [("mnw", 100, 5), ("drf-milp", 1000, 30)])
def test_some_tasks_of_many_in_the_wrong_place_are_told(mechanism, count, moves):
    """A product of 95 and 105 tasks is a fourhundredth below that of 100 and 100."""
    allocation = fairlp.allocate(of_users([5 / count], [5 / count]), mechanism)
    moved = allocation.tasks_array + np.array([[moves], [-moves]])
    assert allocation.totals.tolist() == [count, count] and allocation.certify()
    assert not dataclasses.replace(allocation, tasks_array=moved).certify()


@dataclasses.dataclass(frozen=True)
class Steady(fairlp.Path):
    """Users rise side by side."""

    @property
    def rate(self):
        return np.ones(len(self.tasks))


def test_tasks_along_a_path_fit_each_server():
    """Both users have what the rounds say, of one server a little too much and of the other too little."""
    instance = fairlp.Instance.from_arrays([[1], [1]], [[10], [10]])
    answer = fairlp.rise(Steady.start(instance), instance)
    assert answer.certify()
    change = LIE * np.array([1, -1])
    assert not dataclasses.replace(answer, tasks=answer.tasks + change).certify()


def along_a_path():
    return fairlp.rise(Steady.start(of_users([1], [1])), of_users([1], [1]))


@pytest.mark.parametrize("sign", [-1, 1])
def test_tasks_along_a_path_are_those_of_the_rounds_and_fit(sign):
    """Not proved: other tasks than in the rounds; rounds and tasks that end too early or too late."""
    answer = along_a_path()
    assert answer.certify()
    tasks = answer.tasks * (1 + sign * LIE)
    assert not dataclasses.replace(answer, tasks=tasks).certify()
    reached = [end._replace(tasks=end.tasks * (1 + sign * LIE)) for end in answer.reached]
    assert not dataclasses.replace(answer, reached=reached).certify()
    assert not dataclasses.replace(answer, tasks=tasks, reached=reached).certify()


def test_a_lottery_without_an_outcome_that_is_a_little_better_is_not_proved():
    outcomes = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]

    def oracle(weight):
        return max(outcomes, key=lambda levels: float(levels @ weight.to_numpy()))

    answer = fairlp.leximin(["a", "b"], oracle=oracle)
    assert answer.certify() and answer.levels.tolist() == pytest.approx([0.5, 0.5])
    outcomes.append(np.full(2, 0.5 * (1 + LIE)))
    assert not answer.certify()


def test_properties_that_are_missed_by_little_do_not_hold():
    instance = of_users([1], [1])
    right = fairlp.audit(instance, np.array([[5.0], [5.0]]), "envy-free")
    wrong = fairlp.audit(instance, np.array([[5.0 * (1 - LIE)], [5.0]]), "envy-free")
    assert LIE > 10 * AUDIT and right.holds.all() and not wrong.holds.any()


def test_shares_of_arrivals_that_are_a_little_off_have_lost_a_property():
    """All who are there have a little less of what is due, or each in turn has a little more."""
    allocation = fairlp.allocate(examples.ghodsi(), "dynamic-drf")
    assert allocation.properties()["holds"].all()
    for sign in (-1, 1):
        lied = with_levels(allocation, allocation.level_array * (1 + sign * LIE))
        assert not lied.properties()["holds"].all()


def test_totals_that_are_a_little_off_are_not_those_of_a_market_of_time():
    totals = fairlp.allocate(LIMITED, "psdsf-tdm").totals.to_numpy()
    assert prove_market(LIMITED, totals)
    assert not prove_market(LIMITED, totals * (1 - LIE))


def test_a_total_of_throughputs_that_is_a_little_less_is_not_the_largest():
    allocation = fairlp.allocate(RATES, "gavel", objective="total")
    assert allocation.certify()
    lied = dataclasses.replace(allocation, tasks_array=allocation.tasks_array * (1 - LIE))
    assert not lied.certify()


def test_goods_on_other_servers_count_beside_the_server_that_loses_one():
    """ann runs 2 tasks; of bob's bundle, two units on each of two servers, she would run 3."""
    instance = fairlp.Instance.from_arrays([[1], [1]], [[3], [3]])
    unfair = fairlp.audit(instance, np.array([[1.0, 1.0], [2.0, 2.0]]), "EF1", whole_tasks=True)
    fair = fairlp.audit(instance, np.array([[2.0, 1.0], [1.0, 2.0]]), "EF1", whole_tasks=True)
    assert not unfair.holds.any() and fair.holds.all()


@pytest.mark.parametrize("seed", [41, 50, 55, 58])
def test_rounds_in_rationals_end_at_kinks(seed):
    """Queues overtake each other; beyond that other users rise, and at other rates."""
    instance = guaranteed_tree(seed, servers=1 + seed % 2)
    past = random_past(np.random.default_rng(seed), instance)
    for options in ({}, {"state": past}):
        allocation = fairlp.allocate(instance, "h-drf-counted", **options)
        assert allocation.certify(exact=True).holds


def test_requests_that_are_a_little_short_may_complain():
    requests = Requests.of(of_users([1], [1], task_limits=[10, 10]))
    lie = 10 * AGREEMENT * np.array([-1, 1])
    right = np.array([0.5, 0.5])
    assert check_complaints(requests, requests.to_tasks(right)).holds
    assert not check_complaints(requests, requests.to_tasks(right + lie)).holds
    assert certify_fair(requests, right, np.ones(1)).holds
    assert not certify_fair(requests, right + lie, np.ones(1)).holds
    assert not certify_fair(requests, right, np.ones(1) + lie[0]).holds


def moved(allocation, giver, taker, part):
    """The allocation after a part of a user's tasks on the first server went to another user."""
    tasks = allocation.tasks_array.copy()
    change = part * tasks[giver, 0]
    tasks[[giver, taker], 0] += [-change, change]
    return dataclasses.replace(allocation, tasks_array=tasks)


EQUAL = of_users([1], [1])
GUARANTEED = in_queues({"guarantee": {"resource1": 6.0}}, {})
NOMINAL = in_queues(*NOMINAL_QUOTAS)


@pytest.mark.parametrize(
    ("mechanism", "instance"),
    [
        *((name, EQUAL) for name in ("drf", "drfh", "edrf", "tsf", "asset", "cdrf", "c-drfh")),
        *((name, EQUAL) for name in ("psdsf-rdm", "psdsf-tdm", "njc", "ceei", "alpha-fair")),
        *((name, GUARANTEED) for name in ("drfh", "h-drf", "h-drf-counted", "h-drf-collapsed")),
        ("kueue", NOMINAL),
    ],
)
@pytest.mark.parametrize("giver", [0, 1])
def test_a_little_of_one_user_that_went_to_another_is_told(mechanism, instance, giver):
    """All is given out, and somebody has a little less than is due to it."""
    allocation = fairlp.allocate(instance, mechanism)
    assert allocation.certify()
    assert not moved(allocation, giver, 1 - giver, LIE).certify()


def test_who_has_little_beside_others_may_lack_little_of_it():
    """Half a percent of what a tiny part of the weight gives is below all that prices tell."""
    allocation = fairlp.allocate(in_queues({"weight": 1e8}, {"weight": 1.0}), "h-drf")
    assert not moved(allocation, 1, 0, 5e-3).certify()


def test_who_has_what_others_leave_may_lack_little_of_it():
    """The first has all its tasks, and leaves a hundred-thousandth of the server."""
    instance = in_queues({"weight": 1e6}, {}, task_limits=[10 - 1e-4, np.inf])
    allocation = fairlp.allocate(instance, "h-drf")
    assert allocation.certify()
    lied = allocation.tasks_array * [[1.0], [1 - 5e-3]]
    assert not dataclasses.replace(allocation, tasks_array=lied).certify()


def test_a_queue_that_has_little_beside_others_may_lack_little_of_it():
    """Both borrow what an idle queue lends them."""
    nothing = {"nominal": {"resource1": 0.0}}
    queues = {
        "a": {"weight": 1e6} | nothing,
        "b": {"weight": 1.0} | nothing,
        "c": {"nominal": {"resource1": 10.0}},
    }
    instance = of_users([1], [1], queue=["a", "b"], queues=queues)
    allocation = fairlp.allocate(instance, "kueue")
    assert allocation.totals["user2"] > 0 and not moved(allocation, 1, 0, 5e-3).certify()


@pytest.mark.parametrize("mechanism", ["ceei", "alpha-fair"])
def test_a_user_who_counts_for_little_in_a_sum_may_lack_a_part_of_its_tasks(mechanism):
    """At the optimum a twentieth of it changes the sum by a billionth of a thousandth."""
    allocation = fairlp.allocate(of_users([1], [1], weights=[1e9, 1.0]), mechanism)
    assert not moved(allocation, 1, 0, 0.05).certify()


def test_a_task_where_a_queue_has_no_quota_is_told():
    """Of two flavors one is not b's; there is room, and it has a little of it beside all that is due."""
    nominal = {"resource1@pool == 'spot'": 4.0}
    instance = fairlp.Instance.from_arrays(
        [[1], [1]],
        [[6], [4]],
        servers=["s", "p"],
        server_attributes=pd.DataFrame({"pool": ["spot", "plain"]}, index=["s", "p"]),
        queue=["a", "b"],
        queues={"a": {"nominal": {**nominal, "resource1": 4.0}}, "b": {"nominal": nominal}},
        task_limits=[2, np.inf],
    )
    allocation = fairlp.allocate(instance, "kueue")
    assert allocation.certify()
    tasks = allocation.tasks_array + np.array([[0.0, 0.0], [0.0, LIE]])
    assert not dataclasses.replace(allocation, tasks_array=tasks).certify()
