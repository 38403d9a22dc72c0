"""Audits of one allocation by itself: planted violations are found, and loops, SciPy and fractions agree."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st
from scipy.optimize import linprog

import fairlp
import fairlp_clusters
from audit_cases import audited, by_resource, case, pair
from fairlp import Instance, examples
from fairlp.auditing import basics, search
from fairlp.auditing.audits import findings_of
from fairlp.auditing.findings import AuditCase
from fairlp.mechanisms.table import TABLE
from fairlp.tolerances import AUDIT, SHRINKING_MARGIN
from instances import random_instance
from profiles import by_day, many

INF = np.inf


OFF = (1e-6, 0.01, 1.0)


@pytest.mark.parametrize("division", ["rdm", "tdm"])
@pytest.mark.parametrize("deviation", OFF)
def test_every_way_to_be_infeasible_is_seen(division, deviation):
    right = [[3, 4], [7, 0]]
    assert basics.feasible(case(pair(), right, division=division)).holds
    for instance, tasks, margin, phrase in (
        (pair(), [[3 + 10 * deviation, 4], [7, 0]], -deviation, "server1"),  # over the first server
        (pair(), [[3, 4 + 4 * deviation], [7, 0]], -deviation, "server2"),
        (
            pair(task_limits=[INF, 5]),
            [[3, 4], [5 * (1 + deviation), 0]],
            -deviation,
            "user2",
        ),  # over a limit
        (pair(), [[3, 0], [7, 10 * deviation]], -deviation, "run nothing"),  # where it may not run
        (pair(), [[3, -14 * deviation], [7, 0]], -deviation, "fewer than no"),
    ):
        verdict = basics.feasible(case(instance, tasks, division=division))
        assert verdict.holds is False and verdict.margin == pytest.approx(margin, rel=1e-3), phrase
        assert phrase in verdict.witness


@pytest.mark.parametrize("deviation", [1e-5, 0.01, 1.0])
@pytest.mark.parametrize("server", [0, 1])
def test_what_is_free_on_any_server_is_waste(deviation, server):
    tasks = np.array([[3.0, 4.0], [7.0, 0.0]])
    assert basics.non_wasteful(case(pair(), tasks)).holds
    tasks[0, server] -= deviation
    verdict = basics.non_wasteful(case(pair(), tasks))
    assert verdict.holds is False and verdict.margin == pytest.approx(
        -deviation / (10 if server == 0 else 14), rel=1e-3
    )


@pytest.mark.parametrize("deviation", [1e-5, 0.01, 1.0])
def test_a_gain_of_anybody_is_a_loss_of_pareto_optimality(deviation):
    tasks = np.array([[3.0, 4.0], [7.0, 0.0]])
    assert basics.pareto_optimal(case(pair(), tasks)).holds
    tasks[1, 0] -= deviation
    verdict = basics.pareto_optimal(case(pair(), tasks))
    assert verdict.holds is False and verdict.margin == pytest.approx(-deviation / 10, rel=0.02)


@pytest.mark.parametrize("seed", range(12))
def test_small_parts_that_are_worth_many_tasks_of_another_break_nothing(seed):
    """Floors are lowered by 1e-9, and demands are thousands of times as large as others."""
    rng = np.random.default_rng(seed)
    demands = 10.0 ** rng.integers(-3, 4, (3, 2)) * rng.uniform(0.5, 2, (3, 2))
    instance = Instance.from_arrays(demands, rng.uniform(100, 1000, (2, 2)), weights=[1, 100, 0.1])
    tasks = fairlp.allocate(instance, "drfh").tasks_array
    assert basics.pareto_optimal(case(instance, tasks)).holds
    assert basics.non_wasteful(case(instance, tasks)).holds
    assert basics.pareto_optimal(case(instance, tasks * (1 - 1e-5))).holds is False


def test_pareto_optimality_is_of_whole_tasks_of_time_and_of_what_is_held():
    odd_instance = Instance.from_arrays([[2.0], [2.0]], [[9.0]])
    assert basics.pareto_optimal(case(odd_instance, [[2], [2]], whole=True)).holds
    assert basics.pareto_optimal(case(odd_instance, [[2], [2]])).holds is False
    half = Instance.from_arrays([[3.0], [2.0]], [[4.0]])  # half a task of the second is left
    assert basics.pareto_optimal(case(half, [[1], [0]], whole=True)).holds
    pair_instance = Instance.from_arrays([[1.0, 0.0], [0.0, 1.0]], [[10.0, 10.0]])
    assert basics.pareto_optimal(case(pair_instance, [[5], [5]], division="tdm")).holds
    assert basics.pareto_optimal(case(pair_instance, [[5], [5]])).holds is False
    over = basics.pareto_optimal(case(Instance.from_arrays([[1.0], [1.0]], [[10.0]]), [[9], [9]]))
    assert over.holds  # nobody could gain with what is taken
    apart = Instance.from_arrays([[1.0], [1.0]], [[10.0], [5.0]], eligible=np.eye(2, dtype=bool))
    verdict = basics.pareto_optimal(
        case(apart, [[0.5, 4], [0, 5]])
    )  # 4 tasks of the first are where it may not run
    assert verdict.holds is False and "user1 could run 9.5 more tasks" in verdict.witness.replace(
        "'", ""
    )


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


def best_gain(instance, tasks):
    """The largest gain that one user can have while nobody loses, over Γ[n]: one SciPy program a user."""
    n, k, r = len(instance.users), len(instance.servers), len(instance.resources)
    gamma = instance.gamma()
    alone = gamma.sum(axis=1)
    capacity = instance.capacities * instance.counts[:, None]
    rows, right = [], []
    for i in range(k):
        for j in range(r):
            row = np.zeros((n, k))
            row[:, i] = instance.demands[:, j]
            rows.append(row.ravel())
            right.append(capacity[i, j])
    for u in range(n):
        row = np.zeros((n, k))
        row[u] = -1
        rows.append(row.ravel())
        right.append(-tasks[u].sum() * (1 - 1e-9))
        if np.isfinite(instance.task_limits[u]):
            rows.append(-row.ravel())
            right.append(instance.task_limits[u])
    bounds = [(0, None if gamma[u, i] > 0 else 0) for u in range(n) for i in range(k)]
    best = 0.0
    for u in range(n):
        if alone[u] > 0:
            cost = np.zeros((n, k))
            cost[u] = -1
            program = cost.ravel(), np.array(rows), np.array(right)
            optimum = linprog(*program, bounds=bounds)
            if (
                not optimum.success
            ):  # presolve is wrong where floors leave 1e-9: the tasks are feasible
                optimum = linprog(*program, bounds=bounds, options={"presolve": False})
            assert optimum.success, optimum.message
            best = max(best, (-optimum.fun - tasks[u].sum()) / alone[u])
    return best


@settings(max_examples=many(60), deadline=None)
@given(st.integers(0, 10**9))
@example(251152687)  # SciPy's presolve calls a program infeasible of which the tasks are a point
def test_pareto_agrees_with_one_program_a_user(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(seed)
    tasks = fairlp.allocate(instance, "tsf").tasks_array
    planted = tasks * rng.choice([1.0, 1.0, 0.7], (len(tasks), 1))
    for given_tasks in (tasks, planted):
        gain = best_gain(instance, given_tasks)
        finding = audited(instance, given_tasks, "Pareto-optimal").loc["Pareto-optimal"]
        assert finding.holds == (gain <= 1e-6) or 1e-8 < gain < 1e-5
        assert -finding.margin >= gain - 1e-6  # the sum of gains is at least the largest one
        if not finding.holds:
            better = finding.better.totals - given_tasks.sum(axis=1)
            assert (better >= -1e-6).all() and better.max() > 0 and finding.better.residual <= 1e-6


@settings(max_examples=many(80), deadline=None)
@given(st.integers(0, 10**9))
def test_envy_and_sharing_incentive_agree_with_plain_loops(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(seed)
    tasks = instance.gamma() * rng.dirichlet(np.ones(len(instance.users)), len(instance.servers)).T
    gamma, phi = instance.gamma(), instance.weights
    if seed % 2:
        phi = rng.integers(1, 10, len(phi))
        instance = instance.derived(entitlements=phi / phi.sum())
    alone = gamma.sum(axis=1)
    worst_envy, worst_part = np.inf, np.inf
    for n in range(len(instance.users)):
        scale = alone[n] or 1.0
        if alone[n] > 0:
            due = sum(phi[n] / phi.sum() * gamma[n, i] for i in range(len(instance.servers)))
            worst_part = min(
                worst_part, (tasks[n].sum() - min(due, instance.task_limits[n])) / scale
            )
        for m in range(len(instance.users)):
            if m != n:
                bundle_value = 0.0
                for i in range(len(instance.servers)):
                    if gamma[n, i] > 0:
                        bundle = tasks[m, i] * instance.demands[m] * phi[n] / phi[m]
                        bundle_value += min(
                            b / d for b, d in zip(bundle, instance.demands[n], strict=True) if d > 0
                        )
                worst_envy = min(
                    worst_envy,
                    (tasks[n].sum() - min(bundle_value, instance.task_limits[n])) / scale,
                )
    verdict = audited(instance, tasks, "envy-free", "sharing incentive")
    if len(instance.users) > 1:
        assert verdict.margin["envy-free"] == pytest.approx(worst_envy, abs=1e-9)
        assert verdict.holds["envy-free"] == (worst_envy >= -AUDIT)
    if np.isfinite(worst_part):
        assert verdict.margin["sharing incentive"] == pytest.approx(worst_part, abs=1e-9)


@settings(max_examples=many(60), deadline=None)
@given(st.integers(0, 10**9))
def test_planted_violations_are_found_and_optima_pass(seed):
    instance = random_instance(seed, limits=False)
    allocation = fairlp.allocate(instance, "c-drfh")
    assume(allocation.totals.max() > 0)
    good = audited(
        instance, allocation, "feasible", "non-wasteful", "Pareto-optimal", "leximin (drfh)"
    )
    assert good.holds.tolist() == [True] * 4
    finding = audited(instance, allocation.tasks_array * 1.01, "feasible").loc["feasible"]
    assert (
        not finding.holds
        and finding.margin == pytest.approx(-0.01, rel=1e-6)
        and "is over its" in finding.witness
    )
    findings = audited(instance, allocation.tasks_array * 0.99, *good.index)
    assert findings.holds.tolist() == [True, False, False, False]


def test_placement_limits_and_signs_are_part_of_feasibility():
    instance = Instance.from_arrays(
        [[1, 1], [1, 2]],
        [[9, 9], [9, 9]],
        users=["ann", "bob"],
        eligible=[[1, 0], [1, 1]],
        task_limits=[3, np.inf],
    )
    for tasks, phrase in (
        ([[4, 0], [0, 0]], "'ann' runs 4 tasks and has 3"),
        ([[0, 1], [0, 0]], "'ann' may or can run nothing on 'server2'"),
        ([[0, 0], [-1, 0]], "'bob' has fewer than no tasks on 'server1'"),
        ([[0, 0], [0, 6]], "'server2' is over its resource2"),
    ):
        finding = audited(instance, np.array(tasks, dtype=float), "feasible").loc["feasible"]
        assert not finding.holds and phrase in finding.witness


def test_whole_tasks_are_audited_as_whole():
    instance = examples.load("ghodsi-59-19")
    stopped = fairlp.allocate(instance, "drf-discrete", rule="stop")
    verdict = audited(instance, stopped, "non-wasteful", "Pareto-optimal", "bottleneck")
    assert verdict.holds.tolist() == [False, False, None]
    assert "'B' could run 3 more tasks" in verdict.witness["non-wasteful"]
    assert audited(
        instance, fairlp.allocate(instance, "drf-discrete"), "Pareto-optimal"
    ).holds.iloc[0]
    assert not audited(instance, stopped.tasks, "Pareto-optimal", whole_tasks=False).holds.iloc[0]


@pytest.mark.parametrize("seed", range(many(20)))
def test_envy_of_whole_tasks_agrees_with_fractions_server_by_server(seed):
    """Two halves of a task on two servers are none: bundles are floored where they lie."""
    draw = np.random.default_rng(seed)
    n, k, r = draw.integers(2, 5), draw.integers(1, 4), draw.integers(1, 3)
    eligible = draw.random((n, k)) < 0.7
    eligible[:, 0] = True
    weights = draw.integers(1, 4, n)
    demands, capacities = draw.integers(1, 6, (n, r)), draw.integers(0, 30, (k, r))
    capacities[0] += 1
    instance = Instance.from_arrays(demands, capacities, weights=weights, eligible=eligible)
    tasks = np.where(instance.gamma() > 0, draw.integers(0, 5, (n, k)), 0)
    findings = fairlp.audit(
        instance, tasks, ["envy-free", "envy-free up to one own task"], whole_tasks=True
    )
    envied = [
        sum(
            min(
                Fraction(
                    int(weights[a] * tasks[b, i] * demands[b, j]), int(weights[b] * demands[a, j])
                )
                for j in range(r)
            )
            // 1
            for i in range(k)
            if instance.gamma()[a, i] > 0
        )
        - tasks[a].sum()
        for a in range(n)
        for b in range(n)
        if a != b
    ]
    assert findings.holds.tolist() == [max(envied) <= 0, max(envied) <= 1]


def test_a_bundle_on_two_servers_is_no_whole_task_of_its_sum():
    instance = Instance.from_arrays([[1], [2]], [[2], [2]], users=["ann", "bob"])
    properties = ["envy-free", "envy-free up to one own task"]
    assert fairlp.audit(
        instance, [[1, 1], [0, 0]], properties, whole_tasks=True
    ).holds.tolist() == [
        True,
        True,
    ]
    assert fairlp.audit(
        instance, [[2, 0], [0, 0]], properties, whole_tasks=True
    ).holds.tolist() == [
        False,
        True,
    ]


def test_what_whole_tasks_on_rows_of_several_servers_are_worth():
    instance = Instance.from_arrays([[2], [2]], [[3]], counts=[4])
    findings = fairlp.audit(
        instance, [[4], [0]], ["envy-free", "sharing incentive"], whole_tasks=True
    )
    assert findings.holds.tolist() == [None, True]  # half of a server runs no task
    assert "audit instance.expanded()" in findings.witness["envy-free"]
    assert not fairlp.audit(instance, [[4], [0]], ["sharing incentive"]).holds.iloc[0]


@pytest.mark.parametrize("division", ["rdm", "tdm"])
@pytest.mark.parametrize("deviation", [1e-6, 0.1, 5.0])
def test_an_over_committed_allocation_is_judged_and_the_culprit_named(division, deviation):
    """What a scheduler hands out is often over what there is, by rounding or on purpose: an audit's first use."""
    pool = Instance.from_arrays(
        [[1, 1]] * 3, [[2, 2]], users=["ann", "bob", "cid"], servers=["big"]
    )
    tasks = fairlp.allocate(pool, "drf").tasks + deviation
    findings = fairlp.audit(pool, tasks, division=division)
    assert findings.holds["feasible"] is False and "'big'" in findings.witness["feasible"]
    assert findings.margin["feasible"] == pytest.approx(-3 * deviation / 2, rel=1e-6)
    assert (
        findings.holds["Pareto-optimal"] and findings.holds["envy-free"]
    )  # with what it takes, nobody could gain
    tasks.loc["ann"] -= deviation / 2
    assert not fairlp.audit(pool, tasks, ["non-wasteful"], division=division).holds.isna().any()


def test_tasks_where_one_may_not_run_are_no_tasks_for_pareto():
    instance = Instance.from_arrays(
        [[1], [1]], [[2], [2]], users=["ann", "bob"], eligible=[["server1"], None]
    )
    findings = fairlp.audit(instance, np.array([[0.0, 1.0], [2.0, 1.0]]))
    assert findings.holds["feasible"] is False and "'ann'" in findings.witness["feasible"]
    assert (
        findings.holds["Pareto-optimal"] is False and "'ann'" in findings.witness["Pareto-optimal"]
    )


def one_worker_a_job(model, instance, x):
    """The time that a job spends on all workers together is no more than all time."""
    n, i = instance.users, instance.servers
    time = model.parameter(
        "time", (n, i), 1 / instance.rates, "time of one task of job n on worker i"
    )
    model.constraint("one_worker", (time * x).sum(i) <= 1)


@pytest.mark.parametrize("region", [None, one_worker_a_job])
def test_audits_ask_within_the_region_of_an_own_mechanism(region):
    """Gavel: a job runs on one worker at a time, so that the free one is of no use to it."""

    @fairlp.mechanism("gavel-like", region=region)
    def alone(instance):
        return np.where(
            instance.rates == instance.rates.max(axis=1, keepdims=True), instance.rates, 0.0
        )

    instance = Instance.from_arrays([[1]], [[1], [1]], rates=[[4, 2]])
    properties = ["feasible", "non-wasteful", "Pareto-optimal"]
    findings = fairlp.audit(instance, fairlp.allocate(instance, alone), properties)
    assert findings.holds.tolist() == [True, region is not None, region is not None], (
        findings.witness.to_dict()
    )


@pytest.mark.parametrize(
    ("tasks", "holds"), [([4, 2], [False, True, True]), ([2, 0], [True, False, False])]
)
def test_what_is_beyond_the_region_or_far_within_it_is_found(tasks, holds):
    mechanism = fairlp.mechanism("gavel-like", region=one_worker_a_job)(
        lambda instance: np.array([tasks])
    )
    instance = Instance.from_arrays([[1]], [[1], [1]], rates=[[4, 2]])
    findings = fairlp.audit(
        instance,
        fairlp.allocate(instance, mechanism),
        ["feasible", "non-wasteful", "Pareto-optimal"],
    )
    assert findings.holds.iloc[0] is holds[0], findings.witness.to_dict()
    if holds[0]:
        assert findings.holds.tolist() == holds and findings.margin.iloc[1] == pytest.approx(-2 / 6)
    else:
        assert (
            findings.margin.iloc[0] == pytest.approx(-1 / 2)
            and "beyond the region of 'gavel-like'" in findings.witness.iloc[0]
        )


def judged(instance, tasks, property_name="Pareto-optimal"):
    return fairlp.audit(instance, np.array(tasks), [property_name], whole_tasks=True).loc[
        property_name
    ]


@pytest.mark.parametrize("short", [1e-15, 1e-12, 1e-10])
def test_a_task_that_does_not_fit_is_no_gain(short):
    instance = fairlp.Instance.from_arrays([[3.0], [3.0]], [[12 * (1 - short)], [2.0]])
    assert judged(instance, [[1.0, 0], [2, 0]]).holds
    assert not judged(instance, [[1.0, 0], [1, 0]]).holds
    assert judged(instance, [[1.0, 0], [2, 0]], "non-wasteful").holds
    assert not judged(instance, [[1.0, 0], [1, 0]], "non-wasteful").holds


def test_a_task_that_fits_but_for_the_rounding_of_sums_is_a_gain():
    instance = fairlp.Instance.from_arrays([[0.1], [0.1]], [[0.3]])
    assert (0.3 - 2 * 0.1) / 0.1 < 1
    finding = judged(instance, [[1.0], [1.0]], "non-wasteful")
    assert not finding.holds and "could run 1 more task" in finding.witness
    assert judged(instance, [[2.0], [1.0]], "non-wasteful").holds


def test_nor_is_a_part_of_one_that_a_limit_leaves():
    instance = fairlp.Instance.from_arrays([[1.0], [1.0]], [[4.0]], task_limits=[1 - 1e-5, 2])
    for property_name in ("Pareto-optimal", "non-wasteful"):
        assert (
            judged(instance, [[0.0], [2]], property_name).holds
            and not judged(instance, [[0.0], [1]], property_name).holds
        )


def test_tasks_that_are_no_multiples_are_held_to_less_than_there_is():
    needs = [[1.2345678912345], [2.3456789123456]]
    full = 2 * needs[0][0] + 3 * needs[1][0]
    for surplus, gains in ((1e-12, True), (-1e-12, False)):
        instance = fairlp.Instance.from_arrays(needs, [[full * (1 + surplus)]], task_limits=[2, 3])
        assert judged(instance, [[2.0], [2]]).holds is not gains


def test_where_all_is_used_and_a_gain_would_be_by_rounding_nothing_is_said():
    """The third could run where the first does; that one needs a trillionth more than the other server has."""
    instance = fairlp.Instance.from_arrays(
        [[1 + 1e-12, 1], [1, 0], [0, 1]],
        [[1 + 1e-12, 1], [1, 1]],
        eligible=[[True, True], [True, True], [True, False]],
        task_limits=[1, 1, 1],
    )
    finding = judged(instance, [[1.0, 0], [0, 1], [0, 0]])
    assert finding.holds is None and finding.witness.startswith(
        "whole tasks that would be a gain need more than there is"
    )


def test_who_is_entitled_to_nothing_is_due_nothing_and_compared_with_nobody():
    instance = Instance.from_arrays([[1], [1]], [[9]], users=["a", "b"], entitlements=[1, 0])
    findings = audited(
        instance, [[9.0], [0.0]], "envy-free", "single-resource", "sharing incentive"
    )
    assert findings.holds.tolist() == [None, None, True]
    assert findings.witness["envy-free"].startswith("'b' is entitled to nothing")


def test_entitlements_make_up_for_weights_by_resource():
    instance = by_resource().derived(entitlements=np.array([0.25, 0.75]))
    findings = audited(instance, [[2.5], [7.5]], "envy-free", "sharing incentive")
    assert findings.holds.tolist() == [True, True]
    findings = audited(instance, [[2.4], [7.6]], "envy-free", "sharing incentive")
    assert findings.holds.tolist() == [False, False]


@pytest.mark.parametrize(
    "name", by_day(["drf", "naive-drf", "psdsf-tdm", "h-drf", "drf-discrete", "slots"], 3)
)
def test_a_pool_that_is_used_up_leaves_no_clear_gain(name):
    rng = np.random.default_rng(2)
    row = TABLE[name]
    verdicts = []
    for _ in range(30):
        instance = search.random_instance(rng, row, "Pareto-optimal", 4, 3, 3)
        if row.undefined(instance):
            continue
        tasks = fairlp.allocate(instance, name).tasks_array
        reduced = tasks * rng.choice([1.0, 0.9999, 0.5], len(tasks))[:, None]
        elsewhere = tasks + 0.1 * rng.random(tasks.shape)  # may be over capacity, or not eligible
        for audited_tasks in (tasks, reduced, elsewhere):
            audited_case = AuditCase(
                instance, audited_tasks, division=row.division, whole=row.whole_tasks
            )
            is_used_up = basics.pool_is_used_up(audited_case)
            verdicts.append(is_used_up)
            if is_used_up:
                (finding,) = findings_of(audited_case, None, "Pareto-optimal").values()
                assert not finding.margin < -SHRINKING_MARGIN
    assert any(verdicts)
    assert not all(verdicts)


@pytest.mark.parametrize("seed", range(many(100)))
def test_who_holds_a_scarce_resource_is_named_with_its_amount(seed):
    """On servers where some users may not run."""
    rng = np.random.default_rng(seed)
    users, servers, resources = 5, 2, 2
    eligible = rng.random((users, servers)) < 0.6
    eligible[np.arange(users), rng.integers(0, servers, users)] = True
    instance = Instance.from_arrays(
        rng.integers(1, 5, (users, resources)),
        rng.integers(5, 20, (servers, resources)),
        eligible=eligible,
    )
    allocation = fairlp.allocate(instance, "drfh")
    tasks = allocation.tasks
    demands = dict(zip(instance.users, instance.demands, strict=True))
    columns = list(instance.resources)
    for row in fairlp_clusters.blockers(instance, allocation).itertuples():
        r = columns.index(row.resource)
        amounts = {user: tasks.loc[user, row.server] * demands[user][r] for user in instance.users}
        amounts = {user: amount for user, amount in amounts.items() if amount > 0}
        assert row.held_by == pytest.approx(amounts)
        assert list(row.held_by.values()) == sorted(row.held_by.values(), reverse=True)
