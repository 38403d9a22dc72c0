"""OEF, AlloX and Shockwave beside SciPy's programs, by hand, and under attack."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
import gpu_oracle as oracle
from fairlp import Instance
from fairlp.errors import NotDefinedError
from fairlp.formulations import gpu
from fairlp.mechanisms.allocation import altered
from fairlp.mechanisms.gpu.schedule import JobSchedule
from fairlp.tolerances import AGREEMENT, AUDIT, SHRINKING_MARGIN
from profiles import by_day, many

COOPERATIVE, NON_COOPERATIVE = "cooperative", "non-cooperative"
#: Random instances.
SEEDS = range(many(200))


def cluster(rates, counts=None, **data):
    """Users of one device each, and kinds of devices, at these rates."""
    rates = np.asarray(rates, dtype=float)
    users, kinds = rates.shape[:2]
    if rates.ndim == 2:
        data["rates"] = rates
    return Instance.from_arrays(np.ones((users, 1)), np.ones((kinds, 1)), counts=counts, **data)


def drawn_rates(rng, shape):
    """Small integers with zeros and ties, or numbers of any size; now and then a user of none."""
    is_whole = rng.random() < 0.6
    rates = rng.integers(0, 5, shape).astype(float) if is_whole else rng.lognormal(0, 1, shape)
    rates[~rates.reshape(shape[0], -1).any(axis=1)] = 1.0
    if rng.random() < 0.2:
        rates[0] = 0.0
    return rates


def drawn(seed, rounds=None):
    """A random cluster: rates, counts and weights."""
    rng = np.random.default_rng(seed)
    users, kinds = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    rates = drawn_rates(rng, (users, kinds) if rounds is None else (users, kinds, rounds))
    counts = rng.integers(1, 4, kinds)
    is_weighted = rng.random() < 0.5
    weights = rng.integers(1, 4, users).astype(float) if is_weighted else np.ones(users)
    return rates, counts, weights


def gains_of_envy(rates, weights, devices):
    """What each user would run beyond its own with another's devices per weight, users × users."""
    with_others = rates @ (devices / weights[:, None]).T
    return with_others - (rates * devices).sum(axis=1, keepdims=True) / weights[:, None]


# OEF


@pytest.mark.parametrize("seed", SEEDS)
def test_cooperative_oef_has_the_largest_total_that_scipy_finds(seed):
    rates, counts, weights = drawn(seed)
    allocation = fairlp.allocate(cluster(rates, counts, weights=weights), "oef")
    total = allocation.shares.sum()
    largest = oracle.largest_total_without_envy(rates, counts, weights)
    assert total == pytest.approx(largest, rel=1e-7, abs=1e-9)
    devices = np.divide(allocation.tasks_array, rates, out=np.zeros(rates.shape), where=rates > 0)
    assert (devices.sum(axis=0) <= counts * (1 + 1e-9)).all()
    assert gains_of_envy(rates, weights, devices).max() <= 1e-7 * max(rates.max(), 1)
    assert allocation.certify()


@pytest.mark.parametrize("seed", SEEDS)
def test_non_cooperative_oef_has_the_largest_equal_level_that_scipy_finds(seed):
    rates, counts, weights = drawn(seed)
    instance = cluster(rates, counts, weights=weights)
    allocation = fairlp.allocate(instance, "oef", variant=NON_COOPERATIVE)
    runs = rates.any(axis=1)
    if not runs.any():
        assert not allocation.tasks_array.any()
        return
    level = oracle.largest_equal_level(rates, counts, weights)
    assert allocation.levels.to_numpy()[runs] == pytest.approx(level, rel=1e-7)
    assert not allocation.totals.to_numpy()[~runs].any()
    assert allocation.certify()


def test_oef_by_hand():
    """Speed-ups (1, 2) and (1, 5), one device each.

    Without envy user 1 has the slow device and a quarter of the fast one, 3/2, which is what it
    would have with the rest. Equal, it has 1 + 2·4/7 = 15/7 = 5·3/7.
    """
    instance = cluster([[1, 2], [1, 5]])
    fair = fairlp.allocate(instance, "oef")
    assert fair.tasks_array == pytest.approx(np.array([[1, 0.5], [0, 3.75]]), rel=AGREEMENT)
    equal = fairlp.allocate(instance, "oef", variant=NON_COOPERATIVE)
    assert equal.totals.to_numpy() == pytest.approx([15 / 7, 15 / 7], rel=AGREEMENT)
    assert fair.certify(exact=True) and equal.certify(exact=True)
    assert fair.prices.to_numpy().ravel() @ [1, 1] == pytest.approx(5.25, rel=AGREEMENT)


def test_quotients_of_rates_are_proved_from_the_rates_as_written():
    """.3/.2 and 2/.3 as floats leave another optimum, 8.857, than the rates: 29/3."""
    instance = Instance.from_arrays(
        [[1]] * 3,
        [[1]] * 2,
        rates=[[0.2, 0.2], [2, 0.3], [1, 1]],
        weights=[3, 3, 1],
        counts=[1, 3],
    )
    allocation = fairlp.allocate(instance, "oef")
    assert (allocation.totals / [0.2, 0.3, 1]).sum() == pytest.approx(29 / 3)
    proof = allocation.certify(exact=True)
    assert proof.holds, proof.message


@settings(max_examples=many(80), deadline=None)
@given(st.integers(0, 10**9))
def test_right_answers_of_decimal_rates_are_proved_in_rationals(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    instance = Instance.from_arrays(
        np.ones((n, 1)),
        np.ones((k, 1)),
        rates=rng.choice([0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 3], (n, k)),
        weights=rng.integers(1, 4, n),
        counts=rng.integers(1, 4, k),
    )
    for variant in ("cooperative", "non-cooperative"):
        proof = fairlp.allocate(instance, "oef", variant=variant).certify(exact=True)
        assert proof.holds, proof.message
    proof = fairlp.allocate(instance.derived(weights=np.ones(n)), "allox").certify(exact=True)
    assert proof.holds, proof.message


@pytest.mark.parametrize("variant", ["cooperative", "non-cooperative"])
def test_exact_entries_are_those_of_the_program_but_for_rounding(variant):
    instance = Instance.from_arrays(
        [[1]] * 3, [[1]] * 2, rates=[[0.2, 0.3], [2, 0], [1, 7]], weights=[3, 0.1, 1]
    )
    program = gpu.oef(instance, variant).compile()
    entries, costs = gpu.oef_as_written(instance, program)
    assert {(i, j): program.A.tocsr()[i, j] for i, j in entries} == pytest.approx(
        {place: float(entry) for place, entry in entries.items()}
    )
    capacity = program.row_block("capacity")
    outside = np.delete(np.arange(program.n_rows), np.arange(capacity.start, capacity.stop))
    assert len(entries) == program.A.tocsr()[outside].nnz
    assert program.c[list(costs)] == pytest.approx([float(cost) for cost in costs.values()])


@pytest.mark.parametrize("seed", by_day(SEEDS, 6))
def test_the_envy_rows_that_are_needed_have_the_total_of_all(seed):
    rng = np.random.default_rng(seed)
    rates = rng.integers(0, 6, (30, 4)) + (rng.random((30, 4)) < 0.2) * rng.random((30, 4))
    weights = rng.integers(1, 4, 30).astype(float)
    instance = cluster(rates, rng.integers(1, 4, 4), weights=weights)
    of_all = fairlp.allocate(instance, "oef", method="lp")
    some = fairlp.allocate(instance, "oef", method="row-generation")
    lowest = gpu.slowest(instance)
    assert (some.totals / lowest).sum() == pytest.approx((of_all.totals / lowest).sum(), rel=1e-9)
    assert some.certify() and some.certify(exact=True) and of_all.certify()
    # all that the user with the most has goes to the one who has the least
    tasks = some.tasks_array.copy()
    most, least = some.totals.argmax(), some.totals.argmin()
    devices = tasks[most] / np.where(rates[most] > 0, rates[most], 1)
    tasks[least] += devices * rates[least]
    tasks[most] = 0
    assert not altered(some, tasks_array=tasks).certify()


@pytest.mark.parametrize("name", ["oef", "allox", "shockwave"])
def test_devices_are_counted_by_counts_and_not_by_capacities(name):
    """Capacities of 2 and 3 were ignored."""
    instance = Instance.from_arrays([[1]] * 2, [[2], [3]], rates=[[1, 2], [1, 5]])
    with pytest.raises(NotDefinedError, match="said by counts=, not by capacities"):
        fairlp.allocate(instance, name)


def test_an_understated_speed_up_pays_in_non_cooperative_oef():
    """Claiming (1, 1) for (1, 2), user 1 has 1 + 2·2/3 = 7/3 of its own in place of 15/7."""
    honest = fairlp.allocate(cluster([[1, 2], [1, 5]]), "oef", variant=NON_COOPERATIVE)
    lie = fairlp.allocate(cluster([[1, 1], [1, 5]]), "oef", variant=NON_COOPERATIVE)
    assert lie.tasks_array[0] @ [1, 2] == pytest.approx(7 / 3, rel=AGREEMENT)
    assert honest.totals.iloc[0] == pytest.approx(15 / 7, rel=AGREEMENT)


def own_throughput(rates, counts, weights, user, claimed, **options):
    """What a user runs with the devices that its claim is given."""
    claims = rates.copy()
    claims[user] = claimed
    allocation = fairlp.allocate(cluster(claims, counts, weights=weights), "oef", **options)
    tasks = allocation.tasks_array[user]
    devices = np.divide(tasks, claimed, out=np.zeros(len(tasks)), where=claimed > 0)
    return devices @ rates[user]


@pytest.mark.parametrize("seed", range(many(160)))
def test_no_overstated_speed_up_pays_in_non_cooperative_oef(seed):
    """Proved in docs/results.md: kinds beyond the slowest are overstated, at random."""
    rates, counts, weights = drawn(seed)
    rng = np.random.default_rng(seed)
    user = int(rng.integers(len(rates)))
    if not rates[user].any():
        return
    honest = own_throughput(rates, counts, weights, user, rates[user], variant=NON_COOPERATIVE)
    for _ in range(3):
        claimed = rates[user] * (1 + rng.exponential(1, rates.shape[1]))
        slowest = np.where(rates[user] > 0, rates[user], np.inf).argmin()
        claimed[slowest] = rates[user, slowest]
        gained = own_throughput(rates, counts, weights, user, claimed, variant=NON_COOPERATIVE)
        assert gained <= honest * (1 + 1e-7)


@pytest.mark.slow
def test_the_audit_finds_lies_about_rates_that_pay():
    instance = cluster([[1, 2], [1, 5]])
    for variant in (COOPERATIVE, NON_COOPERATIVE):
        allocation = fairlp.allocate(instance, "oef", variant=variant)
        finding = fairlp.audit(instance, allocation, "strategy-proof", tries=60).iloc[0]
        assert finding.holds is False and finding.margin < -SHRINKING_MARGIN
        assert "by claiming a rate of" in finding.witness
        liar = int((finding.misreport.rates != instance.rates).any(axis=1).argmax())
        gained = own_throughput(
            instance.rates,
            np.ones(2, dtype=int),
            np.ones(2),
            liar,
            finding.misreport.rates[liar],
            variant=variant,
        )
        assert gained > allocation.totals.iloc[liar] * (1 + SHRINKING_MARGIN)


@pytest.mark.parametrize(
    "property_name",
    ["Pareto-optimal", "envy-free", "sharing incentive", "strategy-proof"],
)
def test_what_non_cooperative_oef_breaks_has_an_instance_that_shows_it(property_name):
    options = {"variant": NON_COOPERATIVE}
    instance = fairlp.counterexample("oef", property_name, options=options)
    allocation = fairlp.allocate(instance, "oef", **options)
    finding = fairlp.audit(instance, allocation, property_name, tries=60).iloc[0]
    assert finding.holds is False and finding.margin < -SHRINKING_MARGIN


def test_non_cooperative_oef_is_pareto_optimal_where_users_run_on_every_kind():
    """If anyone could gain, its gain would be shared out, and all would rise."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        instance = cluster(rng.integers(1, 6, (4, 3)), rng.integers(1, 4, 3))
        allocation = fairlp.allocate(instance, "oef", variant=NON_COOPERATIVE)
        assert fairlp.audit(instance, allocation, "Pareto-optimal").holds.all()


def test_cooperative_oef_leaves_a_gain_that_would_make_another_envious():
    """Kinds of 1, 3 and 2 devices, which all users order alike: 7, 2, 5, and 7, 2, 5¼ is possible."""
    instance = cluster([[1, 3, 4], [1, 1, 1], [1, 2, 3]], [1, 3, 2])
    allocation = fairlp.allocate(instance, "oef")
    assert allocation.totals.to_numpy() == pytest.approx([7, 2, 5], rel=AGREEMENT)
    finding = fairlp.audit(instance, allocation, "Pareto-optimal").iloc[0]
    assert finding.holds is False
    assert finding.better.totals.to_numpy() == pytest.approx([7, 2, 5.25], rel=1e-7)
    envy = fairlp.audit(instance, finding.better, "envy-free", division="tdm").iloc[0]
    assert envy.holds is False


def test_an_allocation_with_envy_is_not_certified():
    instance = cluster([[1, 2], [1, 5]])
    equal = fairlp.allocate(instance, "oef", variant=NON_COOPERATIVE)
    assert not altered(equal, parameters={"variant": COOPERATIVE}).certify()


# AlloX


def require_schedule(turns, rates, steps):
    """Each job once, one after the other on its device, at its own speed."""
    assert turns.user.is_unique
    for _, jobs in turns.groupby(["server", "device"]):
        assert jobs.start.iloc[0] == 0
        assert jobs.start.to_numpy()[1:] == pytest.approx(jobs.end.to_numpy()[:-1])
        assert jobs.position.tolist() == list(range(len(jobs), 0, -1))
    users = [int(str(user).removeprefix("user")) - 1 for user in turns.user]
    servers = [int(str(server).removeprefix("server")) - 1 for server in turns.server]
    times = np.asarray(steps)[users] / rates[users, servers]
    assert (turns.end - turns.start).to_numpy() == pytest.approx(times)


@pytest.mark.parametrize("seed", SEEDS)
def test_allox_has_the_least_sum_of_completion_times_of_the_hungarian_method(seed):
    rates, counts, _ = drawn(seed)
    steps = np.random.default_rng(seed).integers(1, 4, len(rates)).astype(float)
    allocation = fairlp.allocate(cluster(rates, counts), "allox", steps=steps)
    turns = allocation.picks
    assert len(turns) == rates.any(axis=1).sum()
    require_schedule(turns, rates, steps)
    least = oracle.least_sum_of_completion_times(rates, counts, steps)
    assert turns.end.sum() == pytest.approx(least, rel=1e-9)
    assert allocation.certify()


def test_allox_by_hand():
    """Jobs of 1, 2 and 3 steps on a slow device and one twice as fast: all ways are tried."""
    instance = cluster([[1, 2], [1, 2], [1, 2]], users=["a", "b", "c"], servers=["slow", "fast"])
    allocation = fairlp.allocate(instance, "allox", steps={"a": 1, "b": 2, "c": 3})
    ends = allocation.picks.set_index("user").end
    by_brute_force = min(
        sum(
            sum(itertools.accumulate(sorted(job / rate for job in jobs)))
            for jobs, rate in (
                ([j for j, fast in zip((1, 2, 3), where, strict=True) if not fast], 1),
                ([j for j, fast in zip((1, 2, 3), where, strict=True) if fast], 2),
            )
        )
        for where in itertools.product([False, True], repeat=3)
    )
    assert ends.sum() == pytest.approx(by_brute_force)
    assert (1 / allocation.levels).to_dict() == pytest.approx(ends.to_dict())
    makespan = ends.max()
    expected = np.array([1, 2, 3]) / makespan
    assert allocation.totals.to_numpy() == pytest.approx(expected)
    assert allocation.residual <= AUDIT and allocation.certify(exact=True)


@pytest.mark.parametrize("seed", range(4))
def test_the_answer_of_the_linear_program_is_whole(seed):
    rates, counts, _ = drawn(seed)
    rates += 0.5  # a program without columns has no basis
    solution = gpu.allox(cluster(rates, counts)).solve().require_optimal()
    assert set(np.round(solution.require_point(), 9).tolist()) <= {0.0, 1.0}
    assert solution.certify(exact=True).holds


def test_a_point_between_schedules_ends_at_a_vertex_and_says_so():
    """Four equal jobs on two equal kinds: interior points halve them all."""
    instance = cluster(np.ones((4, 2)))
    allocation = fairlp.allocate(instance, "allox", solver="cvxpy:CLARABEL")
    assert allocation.picks.end.tolist() == [1, 1, 2, 2]
    assert ((allocation.tasks_array > 0).sum(axis=1) == 1).all()
    assert any("this one is a vertex" in note for note in allocation.notes)
    assert fairlp.allocate(instance, "allox").notes == ()


def test_a_schedule_that_is_not_the_best_is_not_certified():
    instance = cluster([[1, 1], [1, 1]])
    together = fairlp.allocate(instance, "allox").tasks_array.copy()
    together[:] = [[0.5, 0], [0.5, 0]]
    allocation = fairlp.allocate(instance, "allox")
    # one after the other: 1 + 2 where 1 + 1 is possible
    proof = altered(allocation, tasks_array=together).certify()
    assert proof.message == "not optimal: the objective is 3, and 2 is possible"
    assert not altered(allocation, tasks_array=allocation.tasks_array / 2).certify()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_schedule_is_certified_just_where_its_sum_is_the_least(seed):
    rng = np.random.default_rng(seed)
    rates, counts, _ = drawn(seed)
    steps = rng.integers(1, 4, len(rates)).astype(float)
    instance = cluster(rates, counts)
    best = fairlp.allocate(instance, "allox", steps=steps)
    least = oracle.least_sum_of_completion_times(rates, counts, steps)
    for _ in range(10):
        kinds = ((rates > 0) * rng.random(rates.shape)).argmax(axis=1)
        kinds[~rates.any(axis=1)] = -1
        schedule = JobSchedule.of(instance, steps, kinds)
        proof = altered(best, tasks_array=schedule.tasks).certify()
        assert proof.holds == (schedule.ends.sum() <= least * (1 + 1e-9)), proof.message
        assert proof.holds or f"{best.picks.end.sum():.12g} is possible" in proof.message


# Shockwave


def plan_of(allocation, rates):
    """Parts of rounds, users × kinds × rounds, of an instance whose rounds follow each other."""
    users, kinds, rounds = rates.shape
    tasks = allocation.tasks_array.reshape(users, rounds, kinds).transpose(0, 2, 1)
    return np.divide(tasks, rates, out=np.zeros(rates.shape), where=rates > 0)


@pytest.mark.parametrize("seed", by_day(SEEDS, 4))
def test_no_other_plan_is_better_than_that_of_shockwave_by_scipys_bound(seed):
    rng = np.random.default_rng(seed)
    rounds = int(rng.integers(1, 4))
    rates, counts, weights = drawn(seed, rounds)
    earlier = rng.integers(0, 3, len(rates)).astype(float) * (rng.random() < 0.5)
    instance = cluster(rates, counts, weights=weights).over_rounds(rates)
    allocation = fairlp.allocate(instance, "shockwave", earlier_progress=earlier)
    plan = plan_of(allocation, rates)
    assert plan.min() >= 0
    assert (plan.sum(axis=0) <= counts[:, None] * (1 + 1e-7)).all()
    assert (plan.sum(axis=1) <= 1 + 1e-7).all()
    _, beyond = oracle.worth_of_a_plan(rates, counts, weights, earlier, plan)
    assert beyond <= 1e-6 * weights.sum()
    assert allocation.certify()


def test_a_device_goes_to_each_job_when_it_is_fast():
    """One device, two rounds, rates (1, 4) and (4, 1): each has the round in which it is fast."""
    instance = cluster(np.ones((2, 1))).over_rounds([[[1, 4]], [[4, 1]]])
    allocation = fairlp.allocate(instance, "shockwave")
    assert allocation.tasks_array == pytest.approx(np.array([[0, 4], [4, 0]]), abs=1e-6)
    assert allocation.rounds.to_numpy() == pytest.approx(np.array([[0, 4], [4, 4]]), abs=1e-6)


def test_prices_by_round_spend_all_budgets_where_no_job_is_short_of_its_own_time():
    """Fisher's market: the prices of all rounds together are what all have, B, without u₀."""
    rates = np.array([[[1.0, 3, 2]], [[2, 2, 1]], [[4, 1, 1]]])
    instance = cluster(rates, weights=[1, 2, 3]).over_rounds(rates)
    allocation = fairlp.allocate(instance, "shockwave")
    prices = allocation.prices.to_numpy().ravel()
    assert prices.sum() == pytest.approx(6, rel=1e-5)
    parts = plan_of(allocation, rates)[:, 0, :]
    assert parts @ prices == pytest.approx([1, 2, 3], rel=1e-4)


def test_earlier_progress_leaves_the_round_to_others():
    instance = cluster([[1], [1]])
    even = fairlp.allocate(instance, "shockwave")
    assert even.totals.to_numpy() == pytest.approx([0.5, 0.5], abs=1e-6)
    ahead = fairlp.allocate(instance, "shockwave", earlier_progress={"user2": 0, "user1": 0.5})
    assert ahead.totals.to_numpy() == pytest.approx([0.25, 0.75], abs=1e-6)
    assert ahead.rounds.iloc[-1].tolist() == pytest.approx([0.75, 0.75], abs=1e-6)


def round_by_round(rates, counts, weights):
    """Progress of users who share each round by itself, with what they have, and no foresight."""
    progress = np.zeros(len(rates))
    for s in range(rates.shape[2]):
        instance = cluster(rates[:, :, s], counts, weights=weights)
        now = fairlp.allocate(instance, "shockwave", earlier_progress=progress)
        progress = progress + now.totals.to_numpy()
    return progress


@pytest.mark.slow
def test_a_plan_with_foresight_is_never_worth_less_than_one_without():
    for seed in range(6):
        rates, counts, weights = drawn(seed, rounds=3)
        rates += 0.1  # each has something in each round
        foresight = fairlp.allocate(
            cluster(rates, counts, weights=weights).over_rounds(rates), "shockwave"
        )
        worth = weights @ np.log(foresight.totals.to_numpy())
        assert worth >= weights @ np.log(round_by_round(rates, counts, weights)) - 1e-6


def test_foresight_keeps_a_job_for_the_round_in_which_it_will_be_fast():
    """a: 1, then 4; b: 1, then 1. With foresight b has round 1, and a round 2."""
    rates = np.array([[[1.0, 4]], [[1, 1]]])
    ones = np.ones(2)
    blind = round_by_round(rates, [1], ones)
    planned = fairlp.allocate(cluster(rates).over_rounds(rates), "shockwave").totals.to_numpy()
    assert planned == pytest.approx([4, 1], abs=1e-5)
    assert np.log(planned).sum() > np.log(blind).sum() + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_a_market_of_one_device_a_round_is_free_of_envy(weighted):
    for seed in range(8):
        rates, _, weights = drawn(seed, rounds=3)
        instance = cluster(rates[:, :1], weights=weights if weighted else None)
        instance = instance.over_rounds(rates[:, :1] + (not rates[:, :1].any()))
        allocation = fairlp.allocate(instance, "shockwave")
        findings = fairlp.audit(
            instance, allocation, ["feasible", "Pareto-optimal", "envy-free", "sharing incentive"]
        )
        assert findings.holds.ne(False).all()


# Rounds of an instance


def test_rounds_are_written_and_read_again(tmp_path):
    rates = np.array([[[1.0, 4]], [[1, 1]]])
    instance = cluster(rates).over_rounds(rates)
    instance.write(tmp_path / "jobs.yaml")
    again = fairlp.read(tmp_path / "jobs.yaml")
    totals = fairlp.allocate(again, "shockwave").totals.to_numpy()
    assert totals == pytest.approx([4, 1], abs=1e-5)


# What the three have in common


@pytest.mark.parametrize("name", ["oef", "allox"])
@pytest.mark.parametrize("solver", ["highs", "scipy", "cvxpy:CLARABEL"])
def test_any_solver_gives_an_answer_that_is_certified(name, solver):
    allocation = fairlp.allocate(cluster([[1, 2], [1, 5], [2, 2]], [2, 1]), name, solver=solver)
    assert allocation.certify()


@pytest.mark.parametrize("name", ["oef", "allox"])
def test_the_models_are_written_as_mps(name, tmp_path):
    model = fairlp.formulate(cluster([[1, 2], [1, 5]]), name)
    path = tmp_path / "model.mps"
    model.write(path)
    again = fairlp.read_program(path).solve().require_optimal()
    assert again.objective == pytest.approx(model.solve().objective)


@pytest.mark.parametrize("name", ["oef", "allox", "shockwave"])
def test_an_answer_is_read_again_from_its_json(name):
    instance = cluster([[1, 2], [1, 5], [2, 2]])
    allocation = fairlp.allocate(instance, name)
    again = fairlp.Allocation.from_json(allocation.to_json(), instance)
    assert again.levels.to_numpy() == pytest.approx(allocation.levels.to_numpy())
    assert again.certify()


@pytest.mark.parametrize("name", ["oef", "allox", "shockwave"])
def test_users_who_can_run_nothing_have_nothing(name):
    allocation = fairlp.allocate(cluster(np.zeros((2, 2))), name)
    assert not allocation.tasks_array.any() and allocation.certify()
    assert name == "shockwave" or allocation.certify(exact=True)


@pytest.mark.parametrize("name", ["oef", "allox", "shockwave"])
def test_tasks_where_a_user_has_no_rate_are_not_certified(name):
    allocation = fairlp.allocate(cluster([[1, 0], [1, 2]]), name)
    tasks = allocation.tasks_array.copy()
    tasks[0, 1] = 1.0
    proof = altered(allocation, tasks_array=tasks).certify()
    assert not proof and "where it has no rate" in proof.message


@pytest.mark.parametrize("name", ["oef", "allox", "shockwave"])
def test_no_rate_is_too_small_or_too_large(name):
    rates = np.array([[1e-6, 2e-6], [1e6, 5e6]])
    scaled = fairlp.allocate(cluster(rates), name)
    plain = fairlp.allocate(cluster([[1, 2], [1, 5]]), name)
    units = np.array([1e-6, 1e6])
    if name == "allox":  # times count, and those of the first job are long
        assert scaled.certify()
    else:
        assert scaled.totals.to_numpy() / units == pytest.approx(plain.totals, rel=1e-4)
