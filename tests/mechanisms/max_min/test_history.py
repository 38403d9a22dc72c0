"""Fair, counting the past: answers worked out by hand, against SciPy round by round and curves along trees, and what
such sharing promises over time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

import fairlp
from fairlp import Instance
from fairlp.errors import InstanceError
from fairlp_research.simulation.allocators import allocator
from profiles import by_day, many
from tree_instances import for_the_oracle, tree_instance
from tree_oracle import counted

FLAT = ["drf", "edrf", "asset", "drfh", "c-drfh", "cdrf", "tsf"]
MECHANISMS = [*FLAT, "h-drf-counted"]
ONE = Instance.from_arrays([[1], [1]], [[1]], users=["ann", "bob"])
THREE = Instance.from_arrays([[1], [1], [1]], [[1]], users=["ann", "bob", "cat"])


def past_of(instance, levels):
    return pd.Series(levels, index=list(instance.users), dtype=float)


@pytest.mark.parametrize("mechanism", by_day(MECHANISMS, 3))
@pytest.mark.parametrize("method", ["rounds", "lp", "interior-point"])
@pytest.mark.parametrize(
    ("past", "expected"), [((0.5, 0), (0.25, 0.75)), ((2, 0), (0, 1)), ((3, 3), (0.5, 0.5))]
)
def test_two_users_of_one_resource(mechanism, method, past, expected):
    """One unit, Δ = 1, H = ∞. With h = (0.5, 0) both reach 0.75: 0.5 + 0.25 and 0 + 0.75. With h = (2, 0) bob stays
    below ann with all there is. With equal pasts both have a half."""
    allocation = fairlp.allocate(ONE, mechanism, method=method, state=past_of(ONE, past))
    assert allocation.totals.to_numpy() == pytest.approx(expected, abs=1e-12)
    assert allocation.state.to_numpy() == pytest.approx(np.add(past, expected))
    assert allocation.certify() and allocation.certify(exact=True)


def test_the_past_fades_by_half_in_a_half_life():
    """h = (2, 0), Δ = 3, H = 3: λ = 1/2, 1 remains, over Δ that is b = 1/3. x + 1/3 = y and x + y = 1, so that
    x = 1/3 and y = 2/3. Afterwards 1 + 3·1/3 = 2 and 3·2/3 = 2."""
    state = past_of(ONE, [2, 0])
    allocation = fairlp.allocate(ONE, "drf", state=state, period=3, half_life=3)
    assert allocation.totals.to_numpy() == pytest.approx([1 / 3, 2 / 3])
    assert allocation.state.to_numpy() == pytest.approx([2, 2])


def test_queues_are_charged_with_the_past_of_all_their_users():
    """Queue q has ann and bob, r has cat; one unit. ann has had 0.5, so q has: cat rises alone to 0.5. Then q gets
    a half of the other 0.5, all of it for bob, who is at 0.25 and still behind ann."""
    instance = THREE.replace(queue=["q", "q", "r"])
    for method in ("rounds", "lp", "interior-point"):
        allocation = fairlp.allocate(
            instance, "h-drf-counted", method=method, state=past_of(instance, [0.5, 0, 0])
        )
        assert allocation.totals.to_numpy() == pytest.approx([0, 0.25, 0.75], abs=1e-12)
        assert allocation.certify() and allocation.certify(exact=True)


def test_what_queues_guarantee_stays_guaranteed():
    """ann has had 2 more than bob; its queue is guaranteed 0.3 of the unit all the same. By count="borrowed" levels
    count what is beyond 0.3: none of it is for ann."""
    instance = ONE.replace(queue=["q", "r"], queues={"q": {"guarantee": {"resource1": 0.3}}})
    for mechanism in ("drf", "h-drf-counted"):
        for method in ("rounds", "lp"):
            call = {"method": method, "state": past_of(instance, [2, 0])}
            allocation = fairlp.allocate(instance, mechanism, **call)
            assert allocation.totals.to_numpy() == pytest.approx([0.3, 0.7])
            assert allocation.state.to_numpy() == pytest.approx([2.3, 0.7])
            borrowed = fairlp.allocate(instance, mechanism, count="borrowed", **call)
            assert borrowed.totals.to_numpy() == pytest.approx([0.3, 0.7])
            assert borrowed.state.to_numpy() == pytest.approx([2, 0.7], abs=1e-12)


# The state goes from one period to the next.


def test_users_who_are_away_keep_what_remains_of_their_past():
    """ann comes with 4 and leaves: half of it remains after each half-life. dan is new and has no past."""
    first = fairlp.allocate(ONE, "drf", state=past_of(ONE, [4, 0]), half_life=1)
    assert first.state.to_dict() == {"ann": 2, "bob": 1}
    alone = Instance.from_arrays([[1], [1]], [[1]], users=["bob", "dan"])
    second = fairlp.allocate(alone, "drf", state=first.state, half_life=1)
    assert second.totals.to_dict() == pytest.approx({"bob": 0.25, "dan": 0.75})
    assert second.state.to_dict() == pytest.approx({"bob": 0.75, "dan": 0.75, "ann": 1})
    assert second.state.index.name == "user" and second.state.name == "history"


def test_the_first_period_leaves_a_state_too():
    for mechanism in MECHANISMS:
        allocation = fairlp.allocate(ONE, mechanism, period=2.0)
        assert allocation.state.to_numpy() == pytest.approx([1, 1])
        assert fairlp.mechanisms(mechanism).remembers


@settings(max_examples=many(60), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(MECHANISMS), st.sampled_from(["rounds", "lp"]))
def test_without_a_past_nothing_changes_to_the_last_digit(seed, mechanism, method):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, servers=1, flat=mechanism in FLAT)
    if mechanism == "asset" or mechanism == "cdrf":
        instance = instance.replace(weights=np.ones(len(instance.users)))
    plain = fairlp.allocate(instance, mechanism, method=method).tasks_array
    random = past_of(instance, rng.random(len(instance.users)))
    for options in ({"state": 0 * random}, {"state": random, "half_life": 0}):
        tasks = fairlp.allocate(instance, mechanism, method=method, **options).tasks_array
        assert (tasks == plain).all()


# The model, and independent answers.


def gamma_by_hand(instance, mechanism):
    """Γ of each user, from the table of the mechanisms."""
    demands = instance.demands
    pool = (instance.capacities * instance.counts[:, None]).sum(axis=0)
    if mechanism == "asset":
        return 1 / (demands / pool).sum(axis=1)
    if mechanism in ("cdrf", "tsf"):
        alone = np.zeros(len(demands))
        for capacity, count in zip(instance.capacities, instance.counts, strict=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                tasks = np.where(demands > 0, capacity / demands, np.inf).min(axis=1)
            alone += count * tasks
        return alone
    return np.array([min(pool[row > 0] / row[row > 0]) for row in demands])


def by_scipy(instance, tasks_per_level, past):
    """The leximin of b[n] + x[n]/(φ[n]Γ[n]): raise t by a linear program, then try every user alone; SciPy only."""
    demands, limits = instance.demands, instance.task_limits
    capacity = instance.capacities * instance.counts[:, None]
    users, servers = instance.shape
    columns = users * servers
    fits, room = [], []
    for i in range(servers):
        for r in range(demands.shape[1]):
            row = np.zeros(columns + 1)
            row[i:columns:servers] = demands[:, r]
            fits.append(row)
            room.append(capacity[i, r])
    total = np.zeros((users, columns + 1))
    for n in range(users):
        total[n, n * servers : (n + 1) * servers] = 1
        if np.isfinite(limits[n]):
            fits.append(total[n])
            room.append(limits[n])
    runs = np.array(
        [
            [
                instance.eligible[n, i] and (capacity[i][demands[n] > 0] > 0).all()
                for i in range(servers)
            ]
            for n in range(users)
        ]
    )
    bounds = [(0, None if allowed else 0) for allowed in runs.ravel()] + [(None, None)]
    held_tasks, active = (
        np.zeros(users),
        set(np.flatnonzero(runs.any(axis=1) & (limits > 0)).tolist()),
    )
    while active:
        rows, low = list(-total), list(-held_tasks * (1 - 1e-10))
        for n in active:
            row = -total[n]
            row[-1] = tasks_per_level[n]
            rows.append(row)
            low.append(tasks_per_level[n] * past[n])
        cost = np.zeros(columns + 1)
        cost[-1] = -1
        solved = linprog(cost, [*fits, *rows], [*room, *low], bounds=bounds)
        assert solved.status == 0, solved.message
        for n in active:
            held_tasks[n] = max(held_tasks[n], tasks_per_level[n] * (solved.x[-1] - past[n]))
        stuck = set()
        for n in active:
            alone = linprog(
                -total[n], [*fits, *-total], [*room, *(-held_tasks * (1 - 1e-10))], bounds=bounds
            )
            assert alone.status == 0, alone.message
            if -alone.fun <= held_tasks[n] + 1e-7 * (1 + held_tasks[n]):
                stuck.add(n)
        assert stuck
        active -= stuck
    return held_tasks


@settings(max_examples=many(80), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(FLAT))
def test_levels_from_a_past_are_those_of_programs_by_scipy(seed, mechanism):
    rng = np.random.default_rng(seed)
    users, servers, resources = rng.integers(1, [7, 4, 4])
    servers = 1 if mechanism in ("drf", "edrf") else servers
    demands = rng.integers(0, 4, (users, resources)).astype(float)
    demands[~demands.any(axis=1), 0] = 1
    eligible = np.ones((users, servers), dtype=bool)
    if mechanism in ("c-drfh", "tsf"):
        eligible = rng.random((users, servers)) < 0.7
        eligible[~eligible.any(axis=1), 0] = True
    weights = np.ones(users) if mechanism in ("asset", "cdrf", "tsf") else rng.integers(1, 4, users)
    instance = Instance.from_arrays(
        demands,
        rng.integers(1, 12, (servers, resources)),
        weights=weights,
        eligible=eligible,
        task_limits=np.where(rng.random(users) < 0.4, rng.integers(0, 6, users), np.inf),
    )
    past = rng.choice([0, 0.1, 0.25, 0.6, 3], users)
    expected = by_scipy(instance, instance.weights * gamma_by_hand(instance, mechanism), past)

    methods = ["lp", "interior-point", *(["rounds"] if servers == 1 else [])]
    for method in methods:
        allocation = fairlp.allocate(
            instance, mechanism, method=method, state=past_of(instance, past)
        )
        assert allocation.totals.to_numpy() == pytest.approx(expected, rel=1e-6, abs=1e-6), method
        assert not allocation.unproved
    proof = allocation.certify()
    assert proof, proof.message
    assert allocation.certify(exact=True)


def test_a_rise_of_next_to_nothing_is_not_called_unbounded():
    """At level 1 the first user has 3·4 tasks. It runs all that fit, 2/3 + 2 + 1, and is at 0.25 + 11/36 < 0.6, where
    the second would begin; each server lacks memory or CPUs by then. What is left to rise is rounding."""
    instance = Instance.from_arrays(
        [[2, 3], [1, 3], [2, 1]], [[3, 2], [4, 7], [7, 3]], weights=[3, 3, 1]
    )
    state = past_of(instance, [0.25, 0.6, 3])
    for method in ("lp", "interior-point"):
        allocation = fairlp.allocate(instance, "drfh", method=method, state=state)
        assert allocation.totals.to_numpy() == pytest.approx([11 / 3, 0, 0], abs=1e-9)


@pytest.mark.parametrize("seed", range(many(100)))
def test_along_a_tree_tasks_are_those_of_curves(seed):
    """Each queue as a curve of what it has had and asks for, in rounds of bisection; one pool. No two pasts are the
    same: floats cannot tell apart where several queues catch up at one level."""
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, limits=seed % 2 == 0)
    users = len(instance.users)
    past = rng.choice([0, 0, 0.1, 0.3, 0.7], users) * rng.uniform(0.9, 1.1, users)
    data, weights = for_the_oracle(instance)
    expected = counted(data, weights, past)
    for method in ("rounds", "lp"):
        allocation = fairlp.allocate(
            instance, "h-drf-counted", method=method, state=past_of(instance, past)
        )
        assert allocation.totals.to_numpy() == pytest.approx(expected, rel=1e-3, abs=1e-3)
        proof = allocation.certify()
        assert proof, proof.message
    assert allocation.certify(exact=True)


@pytest.mark.parametrize("seed", range(many(80)))
def test_along_a_tree_on_servers_every_answer_is_proved(seed):
    rng = np.random.default_rng(seed)
    guarantees = seed % 3 == 0
    instance = tree_instance(rng, servers=3, guarantees=guarantees, caps=seed % 2 == 0)
    state = past_of(instance, rng.choice([0, 0, 0.1, 0.3, 0.7], len(instance.users)))
    try:
        allocation = fairlp.allocate(instance, "h-drf-counted", method="lp", state=state)
    except InstanceError as error:
        assert guarantees and "guarantees of queues cannot all be kept" in str(error)
        return
    proof = allocation.certify()
    assert proof, proof.message


def test_a_queue_may_catch_up_where_the_first_round_begins():
    """ann, whose queue has a past, is guaranteed 1/4 task (1 GPU) and capped there; bob has the other CPUs:
    (18 − 2/4)/4 = 4.375 tasks."""
    instance = Instance.from_arrays(
        [[4, 2], [0, 4]],
        [[4, 18]],
        users=["ann", "bob"],
        resources=["gpu", "cpu"],
        weights=[3, 1],
        queue=["b/a/a", "b"],
        queues={"": {"cap": {"gpu": 1}}, "b/a": {"guarantee": {"gpu": 2, "cpu": 1}}},
    )
    for method in ("rounds", "lp"):
        allocation = fairlp.allocate(
            instance, "h-drf-counted", method=method, state=past_of(instance, [0.7, 0])
        )
        assert allocation.totals.to_numpy() == pytest.approx([0.25, 4.375])
        assert allocation.certify()


@pytest.mark.parametrize("mechanism", ["drf", "h-drf-counted"])
def test_another_allocation_is_not_proved(mechanism):
    """0.25 and 0.75 are right; the allocation without the past, a half each, is refused."""
    allocation = fairlp.allocate(ONE, mechanism, state=past_of(ONE, [0.5, 0]))
    plain = fairlp.allocate(ONE, mechanism)
    wrong_allocation = replace(allocation, tasks_array=plain.tasks_array, round_prices=None)
    assert not wrong_allocation.certify() and not wrong_allocation.certify(exact=True)


@settings(max_examples=many(40), deadline=None)
@given(st.integers(0, 10**9), st.booleans())
def test_filling_from_sorted_sums_gives_what_the_programs_give(seed, limited):
    """A hundred users of one pool: bases and limits sorted once, sums between them; beside the linear programs."""
    rng = np.random.default_rng(seed)
    limits = np.where(rng.random(100) < 0.5, rng.random(100) * 3, np.inf)
    instance = Instance.from_arrays(
        rng.integers(0, 4, (100, 3)) + np.eye(3)[rng.integers(0, 3, 100)],
        rng.integers(20, 200, (1, 3)),
        weights=rng.integers(1, 5, 100),
        task_limits=limits if limited else None,
    )
    state = past_of(instance, rng.exponential(size=100) * rng.integers(0, 2, 100))
    filled, solved = (
        fairlp.allocate(instance, "drf", method=method, state=state, period=7, half_life=20)
        for method in ("rounds", "lp")
    )
    assert filled.totals.to_numpy() == pytest.approx(solved.totals.to_numpy(), rel=1e-8, abs=1e-9)
    assert filled.certify() and solved.certify()


# What it promises.


def over_time(instances, mechanism="drf", **options):
    """The allocations of periods, each with the state of the last."""
    for instance in instances:
        allocation = fairlp.allocate(instance, mechanism, **options)
        options["state"] = allocation.state
        yield allocation


@settings(max_examples=many(60), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["drf", "drfh", "tsf", "h-drf-counted"]))
def test_every_period_is_pareto_optimal(seed, mechanism):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, servers=1 if mechanism == "drf" else 3, flat=True, weighted=False)
    past = past_of(instance, rng.choice([0, 0.2, 1], len(instance.users)))
    allocation = fairlp.allocate(instance, mechanism, state=past)
    findings = fairlp.audit(instance, allocation, ["feasible", "Pareto-optimal"])
    assert findings["holds"].tolist() == [True, True]


@pytest.mark.slow
@settings(max_examples=many(40), deadline=None)
@given(st.integers(0, 10**9))
def test_with_constant_demands_the_mean_of_levels_tends_to_the_leximin(seed):
    """Without a past every period is the leximin, and stays it (H = ∞). From any past the mean of 100 periods is the
    leximin but for the past."""
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, flat=True, limits=False)
    leximin = fairlp.allocate(instance, "drf")
    for allocation in over_time([instance] * 3, "drf"):
        assert allocation.totals.to_numpy() == pytest.approx(
            leximin.totals.to_numpy(), rel=1e-6, abs=1e-8
        )

    past = past_of(instance, rng.random(len(instance.users)))
    periods = 100
    *_, last = over_time([instance] * periods, "drf", state=past)
    mean = (last.state - past).to_numpy() / periods
    assert mean == pytest.approx(leximin.levels.to_numpy(), abs=4 / periods)


@settings(max_examples=many(120), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([0.5, 2.0, np.inf]))
def test_a_user_who_always_lacks_tasks_has_its_part_of_the_time_so_far(seed, half_life):
    """On one pool, whatever others ask for and whatever they have had: after T periods h of such a user is at least
    its part, 1/Σφ, of the sum of λ^(T−k) over the periods k. So it lacks its own past at most, which fades."""
    rng = np.random.default_rng(seed)
    users, resources = rng.integers(2, 5), rng.integers(1, 4)
    weights = rng.integers(1, 4, users)
    past = rng.choice([0.0, 0.3, 2.0], users)
    remainder = 2 ** (-1 / half_life)
    instances = []
    for _ in range(6):
        limits = np.where(rng.random(users) < 0.6, rng.integers(0, 4, users), np.inf)
        limits[0] = np.inf
        demands = (
            rng.integers(0, 4, (users, resources))
            + np.eye(resources)[rng.integers(0, resources, users)]
        )
        instances.append(
            Instance.from_arrays(
                demands, rng.integers(4, 9, (1, resources)), weights=weights, task_limits=limits
            )
        )
    state, due = past_of(instances[0], past), 0.0
    for allocation in over_time(instances, state=state, half_life=half_life):
        due = remainder * due + 1 / weights.sum()
        assert allocation.state.iloc[0] >= due * (1 - 1e-7)


@pytest.mark.parametrize("seed", range(many(80)))
def test_no_lie_about_demands_pays_in_the_period_itself(seed):
    """A search: whole tasks of true need that a lie about demands or the task limit buys, h as it is."""
    rng = np.random.default_rng(seed)
    users, resources = rng.integers(2, 4), rng.integers(1, 4)
    demands = (
        rng.integers(0, 4, (users, resources))
        + np.eye(resources)[rng.integers(0, resources, users)]
    )
    limits = np.where(rng.random(users) < 0.4, rng.integers(1, 4, users), np.inf)
    instance = Instance.from_arrays(demands, rng.integers(4, 9, (1, resources)), task_limits=limits)
    state = past_of(instance, rng.choice([0, 0.25, 0.5, 1], users))
    honest = fairlp.allocate(instance, "drf", state=state).totals.iloc[0]
    for _ in range(4):
        lie = demands.copy()
        lie[0] = np.maximum(rng.integers(0, 5, resources), demands[0] > 0)
        lying = instance.replace(demands=lie, task_limits=[np.inf, *limits[1:]])
        amounts = fairlp.allocate(lying, "drf", state=state).totals.iloc[0] * lie[0]
        needed = demands[0] > 0
        tasks = min((amounts[needed] / demands[0, needed]).min(), limits[0])
        assert tasks <= honest * (1 + 1e-7) + 1e-9


def test_over_time_hiding_pays():
    """c = (4, 4), ann (3, 2) has had 1, bob 0.5. Period 1, bob (1, 0): CPU, 1 + a = 0.5 + b, a + b = 1: a = 0.25, 1/3
    task of ann. Period 2, bob (0, 3): 2/3·y + z = 1 and y = z: y = 0.6, 0.8 tasks; 17/15 together. If ann asks for
    nothing in period 1, bob is at 1.5; then 2/3·y + z = 1 and 1 + y = 1.5 + z: y = 0.9, 1.2 tasks. That is more."""
    periods = [
        Instance.from_arrays([[3, 2], need], [[4, 4]], users=["ann", "bob"])
        for need in ([1, 0], [0, 3])
    ]
    state = past_of(ONE, [1, 0.5])
    honest = [allocation.totals["ann"] for allocation in over_time(periods, state=state)]
    assert honest == pytest.approx([1 / 3, 0.8])
    periods[0] = periods[0].replace(task_limits=[0, np.inf])
    hiding = [allocation.totals["ann"] for allocation in over_time(periods, state=state)]
    assert hiding == pytest.approx([0, 1.2]) and sum(hiding) > sum(honest)


@pytest.mark.parametrize("seed", range(many(60)))
def test_a_simulation_remembers_after_idle_quanta_what_quanta_of_nobody_leave(seed):
    """ann works alone, then nobody for some quanta; beside bob it has less, by as much as is not forgotten."""
    rng = np.random.default_rng(seed)
    idle, half_life, period = int(rng.integers(1, 5)), float(rng.integers(1, 6)), 2.0
    instance = Instance.from_arrays([[1], [1]], [[10]], users=["ann", "bob"])
    options = {"half_life": half_life, "period": period}
    state = None
    for limits in ([10, 0], *[[0, 0]] * idle, [10, 10]):
        moment = instance.replace(task_limits=limits)
        allocation = fairlp.allocate(moment, "drf", state=state, **options)
        state = allocation.state

    simulated = allocator(instance, "drf", options)
    ones = np.ones(1)
    simulated.allocate(0.0, np.array([0]), 10 * ones, ones)
    nobody = np.zeros(0, dtype=int)
    for quantum in range(1, idle + 1):
        simulated.allocate(quantum * period, nobody, np.zeros(0), np.zeros(0))
    users = np.array([0, 1])
    tasks = simulated.allocate((idle + 1) * period, users, np.full(2, 10.0), np.ones(2))
    assert tasks.sum(axis=1) == pytest.approx(allocation.totals.to_numpy(), rel=1e-9)
