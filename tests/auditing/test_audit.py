"""Audits: planted violations are found, what holds passes, and plain loops or SciPy agree with every margin."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import fairlp
from fairlp import Instance, examples
from fairlp.auditing import PROPERTIES, arrivals, basics, fairness, promises, reports, search
from fairlp.auditing.findings import AuditCase
from fairlp.auditing.search import Search
from fairlp.errors import (
    FileFormatError,
    InstanceError,
    NotDefinedError,
    SolverError,
    UnknownNameError,
)
from fairlp.models.files.tables import read_tasks
from fairlp.tolerances import AUDIT
from instances import random_instance
from profiles import many


def audited(instance, tasks, *names, **how):
    return fairlp.audit(instance, tasks, list(names), **how)


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
            found = linprog(*program, bounds=bounds)
            if (
                not found.success
            ):  # presolve is wrong where floors leave 1e-9: the tasks are feasible
                found = linprog(*program, bounds=bounds, options={"presolve": False})
            assert found.success, found.message
            best = max(best, (-found.fun - tasks[u].sum()) / alone[u])
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
        found = audited(instance, given_tasks, "Pareto-optimal").loc["Pareto-optimal"]
        assert found.holds == (gain <= 1e-6) or 1e-8 < gain < 1e-5
        assert -found.margin >= gain - 1e-6  # the sum of gains is at least the largest one
        if not found.holds:
            better = found.better.totals - given_tasks.sum(axis=1)
            assert (better >= -1e-6).all() and better.max() > 0 and found.better.residual <= 1e-6


@settings(max_examples=many(80), deadline=None)
@given(st.integers(0, 10**9))
def test_envy_and_sharing_incentive_agree_with_plain_loops(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(seed)
    tasks = instance.gamma() * rng.dirichlet(np.ones(len(instance.users)), len(instance.servers)).T
    gamma, phi = instance.gamma(), instance.weights
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
                worth = 0.0
                for i in range(len(instance.servers)):
                    if gamma[n, i] > 0:
                        bundle = tasks[m, i] * instance.demands[m] * phi[n] / phi[m]
                        worth += min(
                            b / d for b, d in zip(bundle, instance.demands[n], strict=True) if d > 0
                        )
                worst_envy = min(
                    worst_envy, (tasks[n].sum() - min(worth, instance.task_limits[n])) / scale
                )
    found = audited(instance, tasks, "envy-free", "sharing incentive")
    if len(instance.users) > 1:
        assert found.margin["envy-free"] == pytest.approx(worst_envy, abs=1e-9)
        assert found.holds["envy-free"] == (worst_envy >= -AUDIT)
    if np.isfinite(worst_part):
        assert found.margin["sharing incentive"] == pytest.approx(worst_part, abs=1e-9)


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
    more = audited(instance, allocation.tasks_array * 1.01, "feasible").loc["feasible"]
    assert (
        not more.holds
        and more.margin == pytest.approx(-0.01, rel=1e-6)
        and "is over its" in more.witness
    )
    less = audited(instance, allocation.tasks_array * 0.99, *good.index)
    assert less.holds.tolist() == [True, False, False, False]


@settings(max_examples=many(30), deadline=None)
@given(st.integers(0, 10**9))
def test_best_responses_pass_and_a_moved_task_fails(seed):
    instance = random_instance(seed, limits=False)
    assume(instance.gamma().max() > 0)
    for division in ("rdm", "tdm"):
        tasks = fairlp.allocate(instance, f"psdsf-{division}").tasks_array
        name = f"PS-DSF ({division})"
        assert audited(instance, tasks, name, division=division).holds[name]
        assert not audited(instance, tasks * 0.9, name, division=division).holds[name]


def test_placement_limits_and_signs_are_part_of_feasibility():
    instance = Instance.from_arrays(
        [[1, 1], [1, 2]],
        [[9, 9], [9, 9]],
        users=["ann", "bob"],
        eligible=[[1, 0], [1, 1]],
        task_limits=[3, np.inf],
    )
    for tasks, words in (
        ([[4, 0], [0, 0]], "'ann' runs 4 tasks and has 3"),
        ([[0, 1], [0, 0]], "'ann' may or can run nothing on 'server2'"),
        ([[0, 0], [-1, 0]], "'bob' has fewer than no tasks on 'server1'"),
        ([[0, 0], [0, 6]], "'server2' is over its resource2"),
    ):
        found = audited(instance, np.array(tasks, dtype=float), "feasible").loc["feasible"]
        assert not found.holds and words in found.witness


def test_bottleneck_of_the_papers_first_figure():
    """Memory is everyone's dominant resource: PS-DSF shares it fairly (3, 3, 6), C-DRFH and TSF do not."""
    instance = examples.load("khamse-ashari-figure-1")
    held = {
        m: fairlp.audit(instance, fairlp.allocate(instance, m), "bottleneck").holds.iloc[0]
        for m in ("psdsf-rdm", "psdsf-tdm", "c-drfh", "tsf")
    }
    assert held == {"psdsf-rdm": True, "psdsf-tdm": True, "c-drfh": False, "tsf": False}


def test_whole_tasks_are_audited_as_whole():
    instance = examples.load("ghodsi-59-19")
    stopped = fairlp.allocate(instance, "drf-discrete", rule="stop")
    found = audited(instance, stopped, "non-wasteful", "Pareto-optimal", "bottleneck")
    assert found.holds.tolist() == [False, False, None]
    assert "'B' could run 3 more tasks" in found.witness["non-wasteful"]
    assert audited(
        instance, fairlp.allocate(instance, "drf-discrete"), "Pareto-optimal"
    ).holds.iloc[0]
    assert not audited(instance, stopped.tasks, "Pareto-optimal", whole_tasks=False).holds.iloc[0]


def test_a_lie_that_pays_is_shown_and_can_be_rerun():
    """Asset fairness of a user who gains by claiming more; the misreport is an Instance to run again."""
    instance = fairlp.counterexample("naive-drf", "strategy-proof")
    found = audited(instance, fairlp.allocate(instance, "naive-drf"), "strategy-proof").loc[
        "strategy-proof"
    ]
    assert found.holds is False and "by claiming to need" in found.witness
    lie = found.misreport
    liar = next(u for u in instance.users if repr(u) in found.witness)
    k = list(instance.users).index(liar)
    given_tasks = fairlp.allocate(lie, "naive-drf").tasks_array[k]
    need = instance.demands[k] > 0
    use = (
        given_tasks
        * (lie.demands[k][need] / instance.demands[k][need]).min()
        * (instance.gamma()[k] > 0)
    )
    truth = fairlp.allocate(instance, "naive-drf").totals.iloc[k]
    useful = min(use.sum(), instance.task_limits[k])
    assert (useful - truth) / instance.gamma()[k].sum() == pytest.approx(-found.margin, rel=1e-6)


def rated(seed):
    """Random demands and capacities, with rates that have nothing to do with them."""
    draw = np.random.default_rng(seed)
    n, k, r = draw.integers(2, 5), draw.integers(1, 4), draw.integers(1, 4)
    rates = draw.integers(1, 9, (n, k))
    return Instance.from_arrays(
        draw.integers(1, 6, (n, r)), draw.integers(3, 20, (k, r)), rates=rates
    )


def gain_by_amounts(instance, mechanism, lie):
    """What a liar gains in tasks: those that the amounts which it is handed are worth by its own needs."""
    honest, told = fairlp.allocate(instance, mechanism), fairlp.allocate(lie, mechanism)
    (n,) = np.flatnonzero((lie.demands != instance.demands).any(axis=1))
    amounts = (told.tasks_array[n] * told.effort[n])[:, None] * lie.demands[n]
    need = honest.effort[n][:, None] * instance.demands[n]
    runs = instance.rates[n] > 0
    return (
        float((amounts[runs] / need[runs]).min(axis=1).sum() - honest.totals.iloc[n])
        / instance.rates[n].sum()
    )


@pytest.mark.parametrize("mechanism", ["tsf", "psdsf-rdm", "psdsf-tdm", "cdrf"])
def test_where_rates_are_given_twice_the_demand_is_the_same_claim(mechanism):
    """A task that is twice as large takes the same: that much of the server that the user runs its rate alone."""
    for seed in range(many(5)):
        instance = rated(seed)
        allocation = fairlp.allocate(instance, mechanism)
        twice = fairlp.allocate(instance.replace(demands=2 * instance.demands), mechanism)
        np.testing.assert_allclose(twice.usage, allocation.usage, rtol=1e-7, atol=1e-9)
        found = fairlp.audit(instance, allocation, ["strategy-proof"], tries=60).iloc[0]
        if found.holds is None:
            assert "lies about the given rates are not tried" in found.witness
        else:  # its paper says so of resource division
            assert mechanism == "psdsf-rdm", found.witness
            assert -found.margin == pytest.approx(
                gain_by_amounts(instance, mechanism, found.misreport), rel=1e-6
            )


def test_a_lie_about_proportions_that_pays_where_rates_are_given():
    @fairlp.mechanism("by-first-resource")
    def by_first_resource(instance):
        need = instance.demands[:, 0] / instance.demands.sum(axis=1)
        return instance.rates * (need / need.sum())[:, None]

    instance = Instance.from_arrays(
        [[2, 1], [1, 3], [1, 1]], [[90, 12], [60, 20]], rates=[[4, 2], [3, 5], [7, 1]]
    )
    found = fairlp.audit(
        instance, fairlp.allocate(instance, by_first_resource), ["strategy-proof"]
    ).iloc[0]
    assert found.holds is False
    assert -found.margin == pytest.approx(
        gain_by_amounts(instance, by_first_resource, found.misreport), rel=1e-9
    )


def test_a_resource_that_a_server_lacks_cannot_be_claimed_there():
    """A rate says that the user runs there; it needs nothing that is not there."""
    instance = Instance.from_arrays([[1, 0], [1, 1]], [[4, 0], [4, 4]], rates=[[3, 3], [0, 2]])
    found = fairlp.audit(instance, fairlp.allocate(instance, "tsf"), ["strategy-proof"], tries=60)
    assert found.holds.iloc[0] is None, found.witness.iloc[0]


def test_no_lie_found_is_not_called_proof():
    instance = examples.load("ghodsi")
    found = audited(instance, fairlp.allocate(instance, "drf"), "strategy-proof", tries=40).iloc[0]
    assert found.holds is None and "40 tries" in found.witness and found.margin == 0


def test_leaving_users_can_hurt_where_demands_are_zero():
    """With zero demands DRF is not population-monotonic: without A, C takes more of what B needs."""
    instance = fairlp.counterexample("drf", "population-monotonic")
    found = audited(instance, fairlp.allocate(instance, "drf"), "population-monotonic").iloc[0]
    assert found.holds is False and (instance.demands == 0).any()


@pytest.mark.parametrize("mechanism", ["dynamic-drf", "cautious-lp"])
def test_users_who_arrive_are_audited_at_every_step(mechanism):
    result = fairlp.allocate(examples.load("epsilon"), mechanism)
    found = fairlp.audit(result.instance, result, tries=20)
    assert found.holds["irrevocable"] and found.holds["dynamic sharing incentive"]
    assert found.holds["dynamically Pareto-optimal"] == (mechanism == "dynamic-drf")
    assert found.holds["population-monotonic"] is None


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
    found = fairlp.audit(
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
    assert found.holds.tolist() == [max(envied) <= 0, max(envied) <= 1]


def test_a_bundle_on_two_servers_is_no_whole_task_of_its_sum():
    instance = Instance.from_arrays([[1], [2]], [[2], [2]], users=["ann", "bob"])
    asked = ["envy-free", "envy-free up to one own task"]
    assert fairlp.audit(instance, [[1, 1], [0, 0]], asked, whole_tasks=True).holds.tolist() == [
        True,
        True,
    ]
    assert fairlp.audit(instance, [[2, 0], [0, 0]], asked, whole_tasks=True).holds.tolist() == [
        False,
        True,
    ]


def test_what_whole_tasks_on_rows_of_several_servers_are_worth():
    instance = Instance.from_arrays([[2], [2]], [[3]], counts=[4])
    found = fairlp.audit(instance, [[4], [0]], ["envy-free", "sharing incentive"], whole_tasks=True)
    assert found.holds.tolist() == [None, True]  # half of a server runs no task
    assert "give servers one by one" in found.witness["envy-free"]
    assert not fairlp.audit(instance, [[4], [0]], ["sharing incentive"]).holds.iloc[0]


def test_the_table_of_properties_and_the_order_asked_for():
    instance = examples.load("ghodsi")
    allocation = fairlp.allocate(instance, "drf")
    everything = fairlp.audit(instance, allocation, tries=10)
    assert list(everything.index) == [name for name, row in PROPERTIES.items() if not row.tree]
    queued = instance.replace(queue=["a", "b"])
    assert list(fairlp.audit(queued, fairlp.allocate(queued, "drf"), tries=10).index) == list(
        PROPERTIES
    )
    assert list(audited(instance, allocation, "envy-free", "feasible").index) == [
        "envy-free",
        "feasible",
    ]
    with pytest.raises(UnknownNameError, match="did you mean 'envy-free'"):
        fairlp.audit(instance, allocation, "envy free")
    with pytest.raises(InstanceError, match="shape"):
        fairlp.audit(instance, np.zeros((3, 1)))
    with pytest.raises(InstanceError, match="'B'"):
        fairlp.audit(instance, pd.DataFrame({"pool": [1.0]}, index=["A"]))


def test_who_blocks_whom():
    instance = examples.load("khamse-ashari-figure-1")
    found = fairlp.blockers(instance, fairlp.allocate(instance, "psdsf-rdm")).set_index(
        ["user", "server"]
    )
    assert found.blocked.all()
    first = found.loc[("user1", "server1")]
    assert first.resource == "memory" and list(first.held_by) == ["user1", "user2"]
    assert sum(first.held_by.values()) == pytest.approx(12)
    priced = fairlp.blockers(instance, fairlp.allocate(instance, "drfh", method="lp"))
    assert priced.price.notna().all() and priced.price.max() > 0


def test_reading_what_a_scheduler_did(tmp_path):
    instance = examples.load("wang-figure-1")
    allocation = fairlp.allocate(instance, "drfh")
    wide = tmp_path / "wide.csv"
    allocation.to_csv(wide)
    assert read_tasks(wide, instance).to_numpy() == pytest.approx(allocation.tasks_array)
    long = tmp_path / "long.csv"
    long.write_text("user,server,tasks\nuser1,server1,4\nuser1,server1,2\nuser2,server2,3\n")
    assert read_tasks(long, instance).to_numpy().tolist() == [[6, 0], [0, 3]]
    for text, words in (
        ("server1\n1\n", "no column 'user'"),
        ("user,server1\nuser9,1\n", "user 'user9'"),
        ("user,server7\nuser1,1\n", "server 'server7'"),
        ("user,server1\nuser1,many\n", "'many'; expected a finite number"),
        (f"user,server1\nuser1,{'9' * 400}\n", "9999; expected a finite number"),
        (f"user,server,tasks\nuser1,server1,{'9' * 400}\n", "9999; expected a finite number"),
        ("user,server1\nuser1,1\nuser1,2\n", "twice"),
        ("", "could not be read"),
    ):
        long.write_text(text)
        with pytest.raises(FileFormatError, match=words):
            read_tasks(long, instance)


def test_the_search_is_seeded_shrinks_and_gives_up_honestly():
    how = {"search": True, "seed": 3, "users": 3, "servers": 2}
    first, second = (fairlp.counterexample("drfh", "sharing incentive", **how) for _ in range(2))
    assert first.equals(second) and len(first.users) == 2 and len(first.servers) == 2
    assert fairlp.counterexample("drf", "envy-free", search=True, tries=30) is None
    with pytest.raises(UnknownNameError, match="search=True"):
        fairlp.counterexample("drf", "envy-free")


def test_audit_on_the_command_line(tmp_path):
    import json

    from cli_runner import run
    from fairlp.cli import ExitCode

    table = tmp_path / "observed.csv"
    fairlp.allocate(examples.load("khamse-ashari-figure-1"), "tsf").to_csv(table)
    how = (
        "audit",
        "khamse-ashari-figure-1",
        "--allocation",
        str(table),
        "-p",
        "feasible",
        "-p",
        "bottleneck",
    )
    assert "broken: bottleneck" in run(*how, code=ExitCode.NO).stdout
    rows = json.loads(run(*how, "--json", code=ExitCode.NO).stdout)
    assert [row["holds"] for row in rows] == [True, False]
    assert "nothing is broken" in run("audit", "ghodsi", "-m", "drf", "-p", "envy-free").stdout
    target = tmp_path / "found.yaml"
    assert (
        "'B' runs" in run("counterexample", "drfh", "sharing incentive", "-o", str(target)).stdout
    )
    assert fairlp.read(target).name == "drfh breaks sharing incentive"
    assert (
        "none found"
        in run(
            "counterexample", "drf", "feasible", "--search", "--tries", "3", code=ExitCode.NO
        ).stdout
    )
    assert "drfh breaks sharing incentive" in run("promises", "-m", "drfh", "--csv").stdout


@pytest.mark.parametrize("division", ["rdm", "tdm"])
@pytest.mark.parametrize("off", [1e-6, 0.1, 5.0])
def test_an_over_committed_allocation_is_judged_and_the_culprit_named(division, off):
    """What a scheduler hands out is often over what there is, by rounding or on purpose: an audit's first use."""
    pool = Instance.from_arrays(
        [[1, 1]] * 3, [[2, 2]], users=["ann", "bob", "cid"], servers=["big"]
    )
    tasks = fairlp.allocate(pool, "drf").tasks + off
    found = fairlp.audit(pool, tasks, division=division)
    assert found.holds["feasible"] is False and "'big'" in found.witness["feasible"]
    assert found.margin["feasible"] == pytest.approx(-3 * off / 2, rel=1e-6)
    assert (
        found.holds["Pareto-optimal"] and found.holds["envy-free"]
    )  # with what it takes, nobody could gain
    tasks.loc["ann"] -= off / 2
    assert not fairlp.audit(pool, tasks, ["non-wasteful"], division=division).holds.isna().any()


def test_a_rounded_allocation_is_judged():
    pool = Instance.from_arrays([[1]] * 3, [[2]])
    found = fairlp.audit(pool, fairlp.allocate(pool, "drf").tasks.round(6))
    assert found.holds["feasible"] is False and found.holds["Pareto-optimal"]
    assert found.margin["feasible"] == pytest.approx(-5e-7)


def test_tasks_where_one_may_not_run_are_no_tasks_for_pareto():
    instance = Instance.from_arrays(
        [[1], [1]], [[2], [2]], users=["ann", "bob"], eligible=[["server1"], None]
    )
    found = fairlp.audit(instance, np.array([[0.0, 1.0], [2.0, 1.0]]))
    assert found.holds["feasible"] is False and "'ann'" in found.witness["feasible"]
    assert found.holds["Pareto-optimal"] is False and "'ann'" in found.witness["Pareto-optimal"]


def test_tasks_of_somebody_who_is_not_in_the_instance_are_refused():
    """They take what is there, so that leaving them out would be a wrong answer without a word."""
    instance = Instance.from_arrays([[1], [1]], [[2]], users=["ann", "bob"], servers=["s"])
    tasks = pd.DataFrame({"s": [1, 0.5, 0.5]}, index=["bob", "ann", "zoe"])
    for ask in (fairlp.audit, fairlp.per_server.check, fairlp.complaints.check):
        with pytest.raises(InstanceError, match="'zoe'"):
            ask(instance, tasks)
    assert fairlp.audit(instance, tasks.iloc[:2]).holds["feasible"]


def test_a_name_in_the_place_of_tasks_is_refused_with_what_to_do():
    instance = fairlp.examples.load("ghodsi")
    for audit in (fairlp.audit, fairlp.blockers):
        with pytest.raises(
            InstanceError, match=r"the name 'drfh'; expected tasks, such as of fairlp.allocate\("
        ):
            audit(instance, "drfh")
    with pytest.raises(InstanceError, match="expected an Instance, not str"):
        fairlp.audit("drfh", instance)
    with pytest.raises(InstanceError, match="the allocation is not all numbers"):
        fairlp.audit(instance, [[1j], [1j]])


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
    asked = ["feasible", "non-wasteful", "Pareto-optimal"]
    found = fairlp.audit(instance, fairlp.allocate(instance, alone), asked)
    assert found.holds.tolist() == [True, region is not None, region is not None], (
        found.witness.to_dict()
    )


@pytest.mark.parametrize(
    ("tasks", "kept"), [([4, 2], [False, True, True]), ([2, 0], [True, False, False])]
)
def test_what_is_beyond_the_region_or_far_within_it_is_found(tasks, kept):
    mechanism = fairlp.mechanism("gavel-like", region=one_worker_a_job)(
        lambda instance: np.array([tasks])
    )
    instance = Instance.from_arrays([[1]], [[1], [1]], rates=[[4, 2]])
    found = fairlp.audit(
        instance,
        fairlp.allocate(instance, mechanism),
        ["feasible", "non-wasteful", "Pareto-optimal"],
    )
    assert found.holds.iloc[0] is kept[0], found.witness.to_dict()
    if kept[0]:
        assert found.holds.tolist() == kept and found.margin.iloc[1] == pytest.approx(-2 / 6)
    else:
        assert (
            found.margin.iloc[0] == pytest.approx(-1 / 2)
            and "beyond the region of 'gavel-like'" in found.witness.iloc[0]
        )


# Audits of whole tasks where one more would need next to nothing more than there is.


def judged(instance, tasks, wanted="Pareto-optimal"):
    return fairlp.audit(instance, np.array(tasks), [wanted], whole_tasks=True).loc[wanted]


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
    found = judged(instance, [[1.0], [1.0]], "non-wasteful")
    assert not found.holds and "could run 1 more task" in found.witness
    assert judged(instance, [[2.0], [1.0]], "non-wasteful").holds


def test_nor_is_a_part_of_one_that_a_limit_leaves():
    instance = fairlp.Instance.from_arrays([[1.0], [1.0]], [[4.0]], task_limits=[1 - 1e-12, 2])
    for wanted in ("Pareto-optimal", "non-wasteful"):
        assert (
            judged(instance, [[0.0], [2]], wanted).holds
            and not judged(instance, [[0.0], [1]], wanted).holds
        )


def test_tasks_that_are_no_multiples_are_held_to_less_than_there_is():
    needs = [[1.2345678912345], [2.3456789123456]]
    full = 2 * needs[0][0] + 3 * needs[1][0]
    for more, gains in ((1e-12, True), (-1e-12, False)):
        instance = fairlp.Instance.from_arrays(needs, [[full * (1 + more)]], task_limits=[2, 3])
        assert judged(instance, [[2.0], [2]]).holds is not gains


def test_where_all_is_used_and_a_gain_would_be_by_rounding_nothing_is_said():
    """The third could run where the first does; that one needs a trillionth more than the other server has."""
    instance = fairlp.Instance.from_arrays(
        [[1 + 1e-12, 1], [1, 0], [0, 1]],
        [[1 + 1e-12, 1], [1, 1]],
        eligible=[[True, True], [True, True], [True, False]],
        task_limits=[1, 1, 1],
    )
    found = judged(instance, [[1.0, 0], [0, 1], [0, 0]])
    assert found.holds is None and found.witness.startswith(
        "whole tasks that would be a gain need more than there is"
    )


# Audits where the mechanism fails on what the audit asks of it, and searches that have nothing to
# ask.


def fails(*_, **__):
    raise SolverError("out of memory")


def two(**more):
    return Instance.from_arrays(
        [[1.0, 2.0], [2.0, 1.0]], [[12.0, 12.0]], users=["ann", "bob"], **more
    )


def test_one_name_instead_of_a_list_of_mechanisms():
    assert list(fairlp.api.allocate_all(two(), "drf")) == ["drf"]
    (found,) = fairlp.api.allocate_all(two(), "drf").values()
    assert found.mechanism == "drf"


def test_a_search_of_one_lie_has_none_to_tell():
    found = fairlp.audit(two(), fairlp.allocate(two(), "drf"), "strategy-proof", tries=1).iloc[0]
    assert (
        found["holds"] is None and "there is no other demand or server to claim" in found["witness"]
    )


def test_instances_on_which_the_solver_fails_do_not_count(monkeypatch):
    assert promises.count_broken("drf", "Pareto-optimal", 2, 0)[:2] == (2, 0)
    monkeypatch.setattr(promises, "allocate", fails)
    assert promises.count_broken("drf", "Pareto-optimal", 2, 0)[:2] == (0, 0)


def test_a_counterexample_is_none_where_the_solver_fails(monkeypatch):
    seek = search.Search(tries=60)
    assert seek.violation("drf-discrete", "envy-free") is not None
    monkeypatch.setattr(search, "allocate", fails)
    assert seek.violation("drf-discrete", "envy-free") is None


def test_a_simpler_instance_is_one_without_the_limits_of_queues():
    limited = two(queue=["q", "p"], queues={"q": {"weight": 2.0, "guarantee": {"resource1": 1.0}}})
    found = [
        one for one in search._simpler(limited) if one.queues is not None and len(one.users) == 2
    ]
    without = [one for one in found if len(one.resources) == 2 and not one.queues.has_limits]
    assert limited.queues.has_limits and any(
        (one.queues.weights == limited.queues.weights).all() for one in without
    )


def test_lies_of_a_queue_that_the_mechanism_does_not_take_do_not_pay(monkeypatch):
    instance = two(queue=["q", "q"])
    found = fairlp.allocate(instance, "h-drf")
    monkeypatch.setattr(AuditCase, "again", fails)
    row = fairlp.audit(instance, found, "group strategy-proof", tries=3).iloc[0]
    assert row["holds"] is not True and "no lie that pays was found in 3 tries" in row["witness"]


def test_queues_of_one_user_have_no_lies_to_tell_together():
    alone = Instance.from_arrays([[1.0]], [[4.0]], queue=["q"])
    row = fairlp.audit(alone, fairlp.allocate(alone, "h-drf"), "group strategy-proof").iloc[0]
    assert row["holds"] is None and "no queue has two users" in row["witness"]


# Audits that have nothing to ask, or cannot ask it: they say so, in words, and never "holds".


def pool(**more):
    return Instance.from_arrays([[1.0, 1.0], [1.0, 2.0]], [[10.0, 20.0]], **more)


def by_resource():
    return pool(weights=[[1.0, 2.0], [2.0, 1.0]])


def case(instance, tasks, **how):
    return AuditCase(instance, np.array(tasks, dtype=float), **how)


@pytest.mark.parametrize(
    "audit",
    [
        basics.envy_free,
        basics.sharing_incentive,
        lambda one: fairness.per_server(one, "rdm"),
    ],
)
def test_weights_by_resource_are_not_compared(audit):
    found = audit(case(by_resource(), [[2], [2]]))
    assert (
        found.holds is None
        and np.isnan(found.margin)
        and "weights are given per resource" in found.witness
    )


def test_one_resource_with_given_rates_compares_no_users():
    instance = Instance.from_arrays([[1.0], [1.0]], [[4.0]], rates=[[2.0], [4.0]])
    found = fairlp.audit(instance, np.array([[1.0], [2.0]]), "single-resource")
    assert found.holds.iloc[0] is None and "rates are given" in found.witness.iloc[0]


def test_a_server_on_which_nobody_may_run_blocks_nobody():
    instance = Instance.from_arrays(
        [[1.0], [1.0]],
        [[4.0], [6.0]],
        servers=["used", "left"],
        eligible=np.array([[True, False], [True, False]]),
    )
    found = basics.blockers(instance, np.array([[1.0, 0.0], [3.0, 0.0]]))
    assert "left" not in found.to_string()


def test_an_audit_whose_program_has_no_answer_is_no_answer(monkeypatch):
    def fails(*_, **__):
        raise SolverError("out of time")

    monkeypatch.setattr(
        basics, "PerServerMarket", type("PerServerMarket", (), {"of": staticmethod(fails)})
    )
    found = fairlp.audit(pool(), np.array([[1.0], [1.0]]), "non-wasteful")
    assert (
        found.holds.iloc[0] is None
        and "it could not be judged: out of time" in found.witness.iloc[0]
    )


def test_a_mechanism_that_is_not_defined_for_a_lie_proves_nothing_by_it(monkeypatch):
    def refuses(self, instance):
        raise NotDefinedError("not for this one")

    monkeypatch.setattr(AuditCase, "again", refuses)
    one = case(pool(), [[2], [2]], mechanism="drf", tries=5)
    alone = reports.population_monotonic(one)
    assert alone.holds is None and "not defined for the others alone" in alone.witness
    lying = reports.strategy_proof(one)
    assert lying.holds is None and "no lie that pays was found in 5 tries" in lying.witness


def test_arrivals_for_which_no_lie_is_defined(monkeypatch):
    found = fairlp.allocate(pool(), "dynamic-drf")

    def refuses(*_, **__):
        raise NotDefinedError("not for this one")

    monkeypatch.setattr(arrivals, "allocate", refuses)
    assert arrivals.lies(found, 5, 0).holds is None


def test_trees_that_leave_nothing_to_compare():
    flat = pool(queue=["a", "b"])
    found = fairlp.audit(flat, np.array([[2.0], [2.0]]), "group strategy-proof")
    assert found.holds.iloc[0] is None
    weighted = by_resource().replace(queue=["a", "b"])
    found = fairlp.audit(weighted, np.array([[2.0], [2.0]]), "hierarchical share guarantee")
    assert found.holds.iloc[0] is None and "each user has one" in found.witness.iloc[0]
    served = pool(queue=["a", "b"], task_limits=[1, 1])
    found = fairlp.audit(served, np.array([[1.0], [1.0]]), "hierarchical share guarantee")
    assert found.holds.iloc[0] is True and found.witness.iloc[0] == "everyone has all its tasks"
    nobody = pool(queue=["a", "b"], task_limits=[0, 0])
    found = fairlp.audit(nobody, np.zeros((2, 1)), "hierarchical share guarantee")
    assert found.holds.iloc[0] is None and "no user can run anything" in found.witness.iloc[0]


def test_options_of_the_search_are_for_the_search():
    with pytest.raises(
        UnknownNameError, match=r"option 'seed' is one of the search; give search=True"
    ):
        fairlp.counterexample("drfh", "sharing incentive", seed=3)
    with pytest.raises(
        UnknownNameError, match="the search has no option 'trys'; did you mean 'tries'"
    ):
        Search.of({"trys": 3})
    with pytest.raises(UnknownNameError, match="'trys'"):
        fairlp.counterexample("drfh", "sharing incentive", search=True, trys=3)


def test_what_is_asked_of_every_step_is_not_asked_of_one_allocation():
    with pytest.raises(
        UnknownNameError, match=r"'irrevocable' is asked of every step, and this is one allocation"
    ):
        fairlp.audit(examples.ghodsi(), fairlp.allocate(examples.ghodsi(), "drf"), "irrevocable")


def test_whole_tasks_on_rows_of_identical_servers_are_not_judged_by_server():
    instance = Instance.from_arrays(
        [[1.0], [3.0]], [[4.0], [6.0]], counts=[2, 3], users=["a", "b"], servers=["s", "t"]
    )
    table = pd.DataFrame([[1.0, 2.0], [1.0, 4.0]], index=["a", "b"], columns=["s", "t"])
    asked = ["feasible", "non-wasteful", "Pareto-optimal"]
    whole = fairlp.audit(instance, table, asked, whole_tasks=True)
    assert whole.holds.tolist() == [True, None, None]
    assert all("give servers one by one" in witness for witness in whole.witness[1:])
    assert fairlp.audit(instance, table, asked, whole_tasks=False).holds.tolist() == [
        True,
        False,
        False,
    ]


def test_divisions_are_looked_up_by_name():
    instance = Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    tasks = fairlp.allocate(instance, "drf").tasks
    for spelt in ("tdm", "TDM"):
        assert not audited(instance, tasks, "feasible", division=spelt).holds["feasible"]
        assert fairlp.blockers(instance, tasks, division=spelt)["resource"].eq("time").all()
    for ask in (
        partial(audited, instance, tasks, "feasible"),
        partial(fairlp.blockers, instance, tasks),
    ):
        with pytest.raises(
            UnknownNameError, match="no division is called 'time'; known: 'rdm', 'tdm'"
        ):
            ask(division="time")
    with pytest.raises(InstanceError, match="tries=-1"):
        audited(instance, tasks, "feasible", tries=-1)
