"""Gavel's policies beside its own statements with SciPy's linprog, bisections on ρ, and instances by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
import fairlp_check
import leximin_oracle
from fairlp import Instance
from fairlp.errors import InstanceError
from fairlp.formulations.gavel import isolated_throughputs
from fairlp.mechanisms.allocation import altered
from fairlp.tolerances import AGREEMENT, VERIFIED
from gavel_oracle import divided, drawn
from own_back_ends import Truthful, liar
from profiles import many

OPTIMAL = ("feasible", "non-wasteful", "Pareto-optimal")
TWO = Instance.from_arrays(
    [[1], [1]], [[1], [1]], users=["a", "b"], servers=["fast", "slow"], rates=[[4, 1], [3, 2]]
)


def instance_of(cluster, weights=True):
    return Instance.from_arrays(
        cluster.scale[:, None],
        np.ones((len(cluster.workers), 1)),
        counts=cluster.workers.astype(int),
        rates=cluster.throughputs / cluster.scale[:, None],
        weights=cluster.weights if weights else None,
        resources=["gpu"],
    )


def options(objective):
    needed = {"steps": {"b": 5, "a": 10}, "age": [3, 1]}
    option_names = {"makespan": ["steps"], "finish-time": ["steps", "age"]}.get(objective, [])
    return {"objective": objective, **{name: needed[name] for name in option_names}}


def test_two_jobs_on_two_kinds_have_what_they_have_in_isolation():
    """τ = ((4,1),(3,2)): half of each kind is 2.5 steps a second for both, and no allocation gives both more."""
    assert isolated_throughputs(TWO).tolist() == [2.5, 2.5]
    for steps, age in (([10, 5], None), ([10, 5], [0, 0]), ([7, 90], [3, 1])):
        outcome = fairlp.allocate(TWO, "gavel", objective="finish-time", steps=steps, age=age)
        assert outcome.totals.to_numpy() == pytest.approx([2.5, 2.5], rel=AGREEMENT)
        assert outcome.levels.to_numpy() == pytest.approx([1, 1], rel=AGREEMENT)
        assert outcome.certify() and outcome.certify(exact=True)


def test_without_ages_it_is_the_max_min_of_throughput_over_that_in_isolation():
    for seed in range(many(10)):
        cluster, steps, _ = drawn(seed)
        instance = instance_of(cluster)
        outcome = fairlp.allocate(instance, "gavel", objective="finish-time", steps=steps)
        levels = outcome.totals.to_numpy() / cluster.isolated()
        assert outcome.levels.to_numpy() == pytest.approx(levels, rel=AGREEMENT)
        other = fairlp.allocate(instance, "gavel", objective="finish-time", steps=3.0 * steps[::-1])
        assert other.totals.to_numpy() == pytest.approx(outcome.totals.to_numpy(), rel=1e-8)


@pytest.mark.slow
@settings(max_examples=many(15), deadline=None)
@given(st.integers(0, 10**9))
def test_finish_time_fairness_is_that_of_bisections(seed):
    cluster, steps, age = drawn(seed)
    instance = instance_of(cluster)
    given_options = {"objective": "finish-time", "steps": steps, "age": age}
    outcome = fairlp.allocate(instance, "gavel", **given_options)
    rho = cluster.finish_times(steps, age)
    assert 1 / outcome.levels.to_numpy() == pytest.approx(rho, rel=1e-5)
    assert rho.max() <= 1 + 1e-7  # isolation is an allocation, too
    throughput = outcome.totals.to_numpy()
    end = age + steps / cluster.isolated()
    assert (age + steps / throughput) / end == pytest.approx(
        1 / outcome.levels.to_numpy(), rel=AGREEMENT
    )
    assert outcome.residual <= VERIFIED and outcome.certify()
    assert fairlp.audit(instance, outcome, OPTIMAL)["holds"].isin([True, None]).all()
    moved = replace(outcome, tasks_array=outcome.tasks_array * 0.999)
    assert not moved.certify()


@pytest.mark.slow
@settings(max_examples=many(15), deadline=None)
@given(st.integers(0, 10**9))
def test_the_time_that_isolation_would_have_needed_counts_on_its_own(seed):
    """Gavel's t(isolated), the denominator's own past; here some of the age."""
    cluster, steps, age = drawn(seed)
    before = age * np.random.default_rng(seed).choice([0.25, 0.5, 1.0], len(age))
    outcome = fairlp.allocate(
        instance_of(cluster), "gavel", objective="finish-time", steps=steps, age=age,
        isolated_age=before,
    )  # fmt: skip
    rho = cluster.finish_times(steps, age, before)
    assert 1 / outcome.levels.to_numpy() == pytest.approx(rho, rel=1e-5)
    assert outcome.certify()


@settings(max_examples=many(25), deadline=None)
@given(st.integers(0, 10**9))
def test_makespan_and_total_are_those_of_linprog(seed):
    cluster, steps, _ = drawn(seed)
    instance = instance_of(cluster, weights=False)
    outcome = fairlp.allocate(instance, "gavel", objective="makespan", steps=steps)
    assert outcome.levels.min() == pytest.approx(cluster.largest_t(steps), rel=VERIFIED)
    assert outcome.levels.to_numpy() == pytest.approx(outcome.totals.to_numpy() / steps)
    weighted = instance_of(cluster)
    largest_total = fairlp.allocate(weighted, "gavel", objective="total")
    assert largest_total.levels.to_numpy() @ cluster.weights == pytest.approx(
        cluster.largest_total(), rel=VERIFIED
    )
    for answer, cluster_of in ((outcome, instance), (largest_total, weighted)):
        assert answer.certify() and answer.residual <= VERIFIED
        assert fairlp.audit(cluster_of, answer, OPTIMAL)["holds"].isin([True, None]).all()


@pytest.mark.parametrize("seed", sorted({*range(many(60)), 17, 26}))
def test_jobs_with_limits_have_proved_finish_times_that_waste_nothing(seed):
    """A job that has all it can ever have must not stop others at their limits' levels."""
    rng = np.random.default_rng(seed)
    jobs, kinds = rng.integers(2, 5), rng.integers(1, 4)
    rates = rng.integers(0, 5, (jobs, kinds)).astype(float)
    rates[np.arange(jobs), rng.integers(0, kinds, jobs)] += 1
    limits = np.where(rng.random(jobs) < 0.5, rng.choice([0.1, 0.2, 0.5, 1.0], jobs), np.inf)
    instance = Instance.from_arrays(
        rng.integers(1, 5, (jobs, 1)),
        rng.integers(4, 13, (kinds, 1)),
        rates=rates,
        weights=rng.integers(1, 4, jobs),
        task_limits=limits,
    )
    options = {"steps": rng.integers(5, 21, jobs), "age": rng.integers(0, 3, jobs)}
    allocation = fairlp.allocate(instance, "gavel", objective="finish-time", **options)
    assert allocation.certify()
    assert fairlp.audit(instance, allocation, "Pareto-optimal").holds.iloc[0] is True


@pytest.mark.parametrize("objective", ["max-min", "makespan", "total", "finish-time"])
def test_every_objective_is_printed_solved_elsewhere_and_proved_exactly(objective, tmp_path):
    chosen = options(objective)
    model = fairlp.formulate(TWO, "gavel", **chosen)
    assert "capacity" in str(model) and "time" in str(model)
    path = tmp_path / "policy.mps"
    model.write(path)
    read = fairlp.read_program(path)
    for solver in ("highs", "scipy"):
        assert read.solve(solver).objective == pytest.approx(model.solve().objective)
    outcome = fairlp.allocate(TWO, "gavel", **chosen)
    assert outcome.certify() and outcome.certify(exact=True)
    assert fairlp.validate(TWO, "gavel", **chosen)["agrees"].all()


def decimals(seed):
    """Jobs and kinds with data of one decimal, of which many quotients are equal: throughputs on different kinds."""
    rng = np.random.default_rng(seed)
    jobs, kinds, resources = rng.integers(1, 5), rng.integers(1, 4), rng.integers(1, 3)
    demands = rng.integers(1, 60, (jobs, resources)) / 10
    capacities = rng.choice([2, 3, 4, 6, 7.5, 0.9, 12], (kinds, resources))
    # rates that are in proportion to the kinds' sizes for some jobs: as fast on each of them
    rates = rng.integers(0, 8, (jobs, kinds)) / rng.choice([1, 2, 5], (jobs, 1))
    alike = rng.random(jobs) < 0.6
    rates[alike] = capacities[:, 0] * rng.choice([0.5, 1, 0.1], (alike.sum(), 1))
    rates[np.arange(jobs), rng.integers(0, kinds, jobs)] += 0.5
    return Instance.from_arrays(
        demands,
        capacities,
        rates=rates.round(3),  # as a person writes them
        counts=rng.integers(1, 4, kinds),
        weights=rng.integers(1, 4, jobs),
    )


def levels_as_written(instance):
    """Exact levels of max-min throughput from the shortest decimals of the data, by another simplex method."""

    def written(values):
        return [[Fraction(repr(v)) for v in row] for row in values.tolist()]

    demands, rates = written(instance.demands), written(instance.rates)
    counts = [int(count) for count in instance.counts]
    capacities = [
        [c * count for c in row]
        for row, count in zip(written(instance.capacities), counts, strict=True)
    ]
    pairs = [(m, j) for m, row in enumerate(rates) for j, rate in enumerate(row) if rate]

    def throughput(m, j):
        copies = min(c / d for c, d in zip(capacities[j], demands[m], strict=True) if d)
        return rates[m][j] * counts[j] / copies

    fits, supplies = [], []
    for j, row in enumerate(capacities):
        for r, capacity in enumerate(row):
            fits.append([demands[m][r] if i == j else Fraction(0) for m, i in pairs])
            supplies.append(capacity)
    jobs = range(len(demands))
    for n in jobs:
        fits.append([Fraction(int(m == n)) for m, _ in pairs])
        supplies.append(Fraction(1))
    total = {n: [throughput(m, j) if m == n else Fraction(0) for m, j in pairs] for n in jobs}
    weights = [Fraction(repr(float(weight))) for weight in instance.user_weights]
    due = [
        weights[n] * sum(rate * count for rate, count in zip(rates[n], counts, strict=True))
        for n in jobs
    ]
    exact = leximin_oracle.levels(fits, supplies, total, due)
    return np.array([float(exact[n]) for n in jobs])


def test_a_job_that_is_as_fast_on_two_kinds_as_written_leaves_room_for_another_in_rationals():
    """3·3.8/6 is 2·3.8/4, and rounded it is a digit less."""
    instance = Instance.from_arrays([[3.8], [4]], [[6], [4]], rates=[[3, 2], [0, 5]])
    allocation = fairlp.allocate(instance, "gavel")
    assert allocation.levels.tolist() == pytest.approx([0.38, 1], rel=1e-9)
    assert levels_as_written(instance).tolist() == [0.38, 1]
    assert allocation.certify().holds
    assert allocation.certify(exact=True).holds
    wrong_allocation = replace(allocation, tasks_array=allocation.tasks_array * [[1], [0.9]])
    assert not wrong_allocation.certify(exact=True).holds


@pytest.mark.slow
@pytest.mark.parametrize("quarter", range(4))
def test_what_programs_prove_rationals_prove_from_the_numbers_as_written(quarter, tmp_path):
    for seed in range(quarter * many(12), (quarter + 1) * many(12)):
        instance = decimals(seed)
        steps = np.random.default_rng(seed).integers(1, 30, len(instance.users)) / 10
        for objective, options in {
            "max-min": {},
            "total": {},
            "finish-time": {"steps": steps},
        }.items():
            allocation = fairlp.allocate(instance, "gavel", objective=objective, **options)
            assert allocation.certify().holds, (seed, objective)
            verdict = allocation.certify(exact=True)
            assert verdict.holds, (seed, objective, verdict.message)
            if objective == "max-min":
                exact = levels_as_written(instance)
                np.testing.assert_allclose(allocation.levels, exact, rtol=AGREEMENT)
                file = verdict.write(tmp_path / "proof.json")
                assert fairlp_check.check(json.loads(file.read_text())).startswith("the leximin")


def test_the_last_tangents_are_a_linear_program_with_the_same_leximin():
    chosen = options("finish-time")
    jobs = TWO.replace(weights=[2, 1])
    outcome = fairlp.allocate(jobs, "gavel", **chosen)
    model = fairlp.formulate(jobs, "gavel", **chosen, at=outcome.totals)
    answer = fairlp.leximin(model)
    assert answer.levels.to_numpy() == pytest.approx(outcome.levels.to_numpy(), rel=AGREEMENT)
    rho = 1 / outcome.levels.min()
    for target, possible in ((rho * (1 + 1e-6), True), (rho * (1 - 1e-6), False)):
        t = fairlp.formulate(jobs, "gavel", **chosen, rho=target).solve().objective
        assert (t >= 1) == possible


def test_a_wrong_total_is_refused():
    outcome = fairlp.allocate(TWO, "gavel", objective="total")
    assert outcome.totals.tolist() == [4, 2] and outcome.levels["b"] == pytest.approx(2 / 3)
    case = replace(outcome, tasks_array=np.array([[2.0, 0.5], [1.5, 1.0]]))
    assert "not optimal: the total has the level 1.45833333333" in str(case.certify())
    # less than what the certificate of a better total can tell shows nothing
    near = replace(outcome, tasks_array=outcome.tasks_array * (1 - 1e-8))
    assert near.certify().message.startswith("not proved: the total has the level")


def test_of_several_allocations_of_the_largest_total_each_is_proved():
    alike = Instance.from_arrays([[1], [1]], [[1]], rates=[[1], [1]])
    outcome = fairlp.allocate(alike, "gavel", objective="total")
    for first_share in (0.0, 0.3, 1.0):
        assert replace(outcome, tasks_array=np.array([[first_share], [1 - first_share]])).certify()
    assert fairlp.validate(alike, "gavel", objective="total")["agrees"].all()


@pytest.mark.parametrize(
    ("given_options", "message"),
    [
        ({"objective": "makespan"}, "needs the steps that each job has left"),
        ({"objective": "makespan", "steps": [1, 0]}, r"steps of user 'b' is 0"),
        ({"objective": "makespan", "steps": [1]}, r"has shape \(1,\)"),
        ({"objective": "makespan", "steps": [1, np.nan]}, "of user 'b' is nan"),
        ({"objective": "makespan", "steps": [1, 2], "age": [1, 2]}, "'makespan' takes no 'age'"),
        ({"steps": [1, 2]}, "'max-min' takes no 'steps'; 'makespan' and 'finish-time' take it"),
        ({"objective": "finish-time", "steps": [1, 2], "age": [-1, 0]}, "'age' of user 'a' is -1"),
    ],
)
def test_what_an_objective_lacks_or_does_not_take_is_said(given_options, message):
    with pytest.raises(InstanceError, match=message):
        fairlp.allocate(TWO, "gavel", **given_options)


def test_jobs_that_can_run_nothing_and_limits_hold_no_policy_back():
    jobs = Instance.from_arrays(
        [[1], [1], [1]], [[1]], rates=[[0], [2], [2]], task_limits=[np.inf, np.inf, 0.5],
        users=["idle", "free", "limited"],
    )  # fmt: skip
    for objective in ("makespan", "finish-time", "total", "hierarchical"):
        steps = {} if objective in ("total", "hierarchical") else {"steps": [4, 4, 4]}
        outcome = fairlp.allocate(jobs, "gavel", objective=objective, **steps)
        assert outcome.totals.to_numpy() == pytest.approx([0, 1.5, 0.5]), objective
        assert outcome.certify()


def test_the_first_program_is_gavels_convex_one_for_the_largest_rho():
    """Minimise the largest ρ itself, with 1/T as Gavel hands it to its solver, where CVXPY is there."""
    cvxpy = pytest.importorskip("cvxpy")
    for seed in range(many(5)):
        cluster, steps, age = drawn(seed)
        end = age + steps / cluster.isolated()
        x = cvxpy.Variable(cluster.throughputs.shape, nonneg=True)
        throughput = cvxpy.sum(cvxpy.multiply(cluster.throughputs, x), axis=1)
        rho = cvxpy.multiply(1 / end, age + cvxpy.multiply(steps, cvxpy.inv_pos(throughput)))
        rows = [cluster.scale @ x <= cluster.workers, cvxpy.sum(x, axis=1) <= 1]
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.max(rho)), rows)
        problem.solve(solver=cvxpy.CLARABEL)
        outcome = fairlp.allocate(
            instance_of(cluster), "gavel", objective="finish-time", steps=steps, age=age
        )
        assert 1 / outcome.levels.min() == pytest.approx(problem.value, rel=1e-5)


FOUR = Instance.from_arrays(
    [[1]] * 4, [[1]], counts=[2], rates=[[1]] * 4, users=["a1", "a2", "b1", "b2"],
    queue=["A", "A", "B", "B"], task_limits=[0.25, np.inf, np.inf, np.inf],
)  # fmt: skip


def test_a_stopped_jobs_part_goes_to_its_queue():
    """Two GPUs, queues A and B of weight 1, each job up to one GPU; a1 takes a quarter at most, so a2 has the rest of
    A's GPU, and b1 and b2 a half each. Level 1 is both GPUs. Without queues the others have 7/12 each."""
    outcome = fairlp.allocate(FOUR, "gavel", objective="hierarchical")
    assert outcome.totals.to_numpy() == pytest.approx([0.25, 0.75, 0.5, 0.5], rel=AGREEMENT)
    assert outcome.levels.to_numpy() == pytest.approx([0.125, 0.375, 0.25, 0.25], rel=AGREEMENT)
    assert outcome.rounds["level"].tolist() == pytest.approx([0.25, 0.5])
    assert outcome.rounds["users"].tolist() == [["a1"], ["a2", "b1", "b2"]]
    assert not outcome.notes and "2 rounds, each proved by its duals" in str(outcome.certify())
    assert "in floats, not in rationals" in str(outcome.certify(exact=True))
    assert fairlp.validate(FOUR, "gavel", objective="hierarchical")["agrees"].all()
    assert not replace(outcome, tasks_array=outcome.tasks_array * 0.999).certify()
    flat = fairlp.allocate(FOUR, "gavel")
    assert flat.totals.to_numpy() == pytest.approx([0.25, 7 / 12, 7 / 12, 7 / 12])
    assert "objective='hierarchical' shares along it" in flat.notes[0]


def test_weights_of_queues_stand_above_those_of_jobs():
    """One GPU: A has weight 2 and B 1, so A has 2/3; inside A job a has weight 3 and queue A/x of one job 1."""
    jobs = Instance.from_arrays(
        [[1]] * 3, [[1]], rates=[[2]] * 3, users=["a", "x", "b"], weights=[3, 1, 5],
        queue=["A", "A/x", "B"], queues={"A": 2, "B": 1},
    )  # fmt: skip
    outcome = fairlp.allocate(jobs, "gavel", objective="hierarchical")
    assert outcome.levels.to_numpy() == pytest.approx([1 / 2, 1 / 6, 1 / 3], rel=AGREEMENT)


@pytest.mark.slow
@settings(max_examples=many(25), deadline=None)
@given(st.integers(0, 10**9))
def test_the_hierarchical_policy_is_that_of_linprog_round_by_round(seed):
    rng = np.random.default_rng(seed)
    cluster, _, _ = drawn(seed, jobs=int(rng.integers(2, 8)))
    names = ["", "A", "B", "A/x", "A/y"]
    paths = rng.choice(names, len(cluster.scale)).tolist()
    queue_weights = dict(zip(names[1:], rng.integers(1, 5, 4).tolist(), strict=True))
    instance = instance_of(cluster).replace(queue=paths, queues=queue_weights)
    outcome = fairlp.allocate(instance, "gavel", objective="hierarchical")
    expected = cluster.water_filling(paths, queue_weights)
    assert outcome.levels.to_numpy() == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert outcome.residual <= VERIFIED and not outcome.unproved and outcome.certify()
    assert fairlp.audit(instance, outcome, OPTIMAL)["holds"].isin([True, None]).all()

    rate = np.zeros(len(paths))
    divided("", 0.0, set(range(len(paths))), paths, queue_weights, cluster.weights, rate)
    parts = rate / rate.sum()
    time = parts[:, None] * cluster.workers / cluster.scale[:, None] * (cluster.throughputs > 0)
    if (time.sum(axis=1) <= 1).all():
        assert (outcome.levels >= parts * (1 - VERIFIED)).all()

    before = 0.0
    for k, units in enumerate(outcome.rounds["level"]):
        rounds = outcome.rounds.iloc[:k]
        model = fairlp.formulate(instance, "gavel", objective="hierarchical", rounds=rounds)
        assert model.solve().objective == pytest.approx(units - before, rel=VERIFIED, abs=1e-9)
        before = units


@settings(max_examples=many(10), deadline=None)
@given(st.integers(0, 10**9))
def test_without_queues_the_hierarchical_policy_is_the_max_min_one(seed):
    instance = instance_of(drawn(seed)[0])
    outcome = fairlp.allocate(instance, "gavel", objective="hierarchical")
    flat = fairlp.allocate(instance, "gavel")
    assert outcome.totals.to_numpy() == pytest.approx(flat.totals.to_numpy(), rel=1e-8)


def test_rounds_of_water_filling_are_exported_and_solved_elsewhere(tmp_path):
    outcome = fairlp.allocate(FOUR, "gavel", objective="hierarchical")
    model = fairlp.formulate(FOUR, "gavel", objective="hierarchical", rounds=outcome.rounds.loc[:1])
    assert "kept" in str(model) and "h[n] + w[n]" in str(model)
    model.write(tmp_path / "round.mps")
    read = fairlp.read_program(tmp_path / "round.mps")
    for solver in ("highs", "scipy"):
        assert read.solve(solver).objective == pytest.approx(0.25)
    finished_model = fairlp.formulate(
        FOUR, "gavel", objective="hierarchical", rounds=outcome.rounds
    )
    assert finished_model.solve().objective == 0
    with pytest.raises(InstanceError, match="expected rows of allocation"):
        fairlp.formulate(FOUR, "gavel", objective="hierarchical", rounds=3)
    with pytest.raises(InstanceError, match="'max-min' takes no rounds="):
        fairlp.formulate(FOUR, "gavel", rounds=outcome.rounds)


def test_water_filling_is_right_with_prices_that_are_off_and_its_proof_asks_none_of_them():
    """A job of weight 1 beside 10000; the proof runs the paper's rounds with HiGHS's own duals."""
    jobs = Instance.from_arrays(
        [[1], [1]], [[1]], rates=[[1], [1]], queue=["A", "B"], queues={"B": 1e4}
    )
    inexact_solver = liar(lambda raw: replace(raw, row_duals=raw.row_duals * (1 + 5e-8)), "off")
    answer = fairlp.allocate(jobs, "gavel", objective="hierarchical", solver=inexact_solver)
    assert answer.totals.to_numpy() == pytest.approx([1 / 10001, 10000 / 10001], rel=1e-9)
    assert answer.certify()
    mute = fairlp.allocate(jobs, "gavel", objective="hierarchical", solver=Truthful)
    assert mute.totals.to_numpy() == pytest.approx([1 / 10001, 10000 / 10001], rel=1e-6)
    assert "no duals" in mute.unproved


@pytest.mark.parametrize("objective", ["max-min", "finish-time", "hierarchical"])
def test_the_gap_of_a_policy_is_that_of_its_programs(objective):
    instance = FOUR if objective == "hierarchical" else TWO
    options = {"steps": [3.0, 5.0]} if objective == "finish-time" else {}
    outcome = fairlp.allocate(instance, "gavel", objective=objective, **options)
    assert 0 <= outcome.gap <= AGREEMENT and not outcome.unproved


@pytest.mark.parametrize("seed", range(many(60)))
def test_jobs_that_are_alike_have_what_each_has_without_merging(seed):
    rng = np.random.default_rng(seed)
    kinds, users = int(rng.integers(1, 4)), 9
    types = rng.integers(1, 5, (3, kinds)).astype(float)
    of = rng.integers(0, 3, users)
    limits = np.where(rng.random(3) < 0.3, rng.integers(1, 3, 3), np.inf)[of]
    instance = fairlp.Instance.from_arrays(
        rng.integers(1, 3, 3)[of][:, None],
        rng.integers(1, 4, (kinds, 1)),
        rates=types[of],
        weights=rng.integers(1, 3, 3)[of],
        task_limits=limits,
    )
    merged = fairlp.allocate(instance, "gavel")
    apart = fairlp.allocate(instance, "gavel", merge=False)
    assert merged.totals.to_numpy() == pytest.approx(apart.totals.to_numpy(), rel=1e-8)
    assert merged.residual < 1e-8 and merged.certify() and apart.certify()
    in_rounds = [user for users in merged.rounds["users"] for user in users]
    assert sorted(in_rounds) == sorted(user for users in apart.rounds["users"] for user in users)
    tasks = merged.tasks_array.copy()
    alike = np.flatnonzero((of == of[0]) & (merged.totals.to_numpy() > 0))
    if len(alike) > 1:
        tasks[alike[0]] *= 1.001
        tasks[alike[1]] *= 0.999
        proof = altered(merged, tasks_array=tasks).certify()
        assert not proof and ("on average" in proof.message or "infeasible" in proof.message)
