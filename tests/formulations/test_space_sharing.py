"""Gavel's space sharing and its proportional objective, against SciPy's linprog on throughputs alone."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import fairlp
from gavel_oracle import TIGHT, Cluster
from profiles import many

KINDS = ["v100", "p100", "k80"]


class SharedCluster:
    """Jobs that share GPUs in pairs: an independent statement, one column a combination and kind."""

    def __init__(self, throughputs, scale, workers, rates_beside):
        jobs, kinds = throughputs.shape
        self.columns = []  # (members, kind, throughput by member)
        for m, j in itertools.product(range(jobs), range(kinds)):
            self.columns.append(({m: throughputs[m, j]}, j))
        for (a, b), rates in rates_beside.items():
            for j in range(kinds):
                self.columns.append(({a: rates[0][j], b: rates[1][j]}, j))
        self.work = np.zeros((jobs, len(self.columns)))
        time = np.zeros((jobs, len(self.columns)))
        gpus = np.zeros((kinds, len(self.columns)))
        for k, (members, j) in enumerate(self.columns):
            for m, throughput in members.items():
                self.work[m, k] = throughput
                time[m, k] = 1
            gpus[j, k] = scale[next(iter(members))]
        self.fits = np.vstack([gpus, time])
        self.room = np.concatenate([workers, np.ones(jobs)])

    def largest_t(self, due):
        """The largest t with throughputs of due·t."""
        A = np.block([[self.fits, np.zeros((len(self.fits), 1))], [-self.work, due[:, None]]])
        b = np.concatenate([self.room, np.zeros(len(due))])
        costs = np.append(np.zeros(len(self.columns)), -1.0)
        return linprog(costs, A_ub=A, b_ub=b, options=TIGHT).x[-1]

    def largest_sum(self, gains):
        """The largest Σ gains[m]·throughput[m]."""
        optimum = linprog(-gains @ self.work, A_ub=self.fits, b_ub=self.room, options=TIGHT)
        return -optimum.fun

    def lowest_rho(self, steps, age, end):
        """The smallest largest (age + steps/T)/end, by bisection."""
        low, high = float((age / end).max()), 1e6
        for _ in range(100):
            rho = (low + high) / 2
            room = rho * end - age
            due = np.where(room > 0, steps / np.maximum(room, 1e-300), np.inf)
            if np.isfinite(due).all() and self.largest_t(due) >= 1:
                high = rho
            else:
                low = rho
        return high


def random_case(seed):
    """An instance, its table of pairs, and the same as a SharedCluster and a Cluster."""
    numbers = np.random.default_rng(seed)
    jobs = int(numbers.integers(2, 6))
    kinds = int(numbers.integers(1, 4))
    rates = numbers.integers(0, 6, (jobs, kinds)).astype(float)
    rates[~rates.any(axis=1), 0] = 1.0
    scale = numbers.choice([1, 1, 2], jobs).astype(float)
    workers = numbers.integers(2, 5, kinds).astype(float)
    users = [f"job{m}" for m in range(jobs)]
    instance = fairlp.Instance.from_arrays(
        scale[:, None],
        np.ones((kinds, 1)),
        users=users,
        servers=KINDS[:kinds],
        resources=["gpu"],
        counts=workers.astype(int),
        rates=rates,
    )
    beside = {}
    table = {}
    for a, b in itertools.combinations(range(jobs), 2):
        if scale[a] != scale[b] or numbers.random() < 0.3:
            continue
        parts = numbers.integers(0, 11, (2, kinds)) / 10
        both = parts * rates[[a, b]] * (rates[[a, b]] > 0).all(axis=0)
        beside[a, b] = both * scale[a]
        table[users[a], users[b]] = both[0]
        table[users[b], users[a]] = both[1]
    index = pd.MultiIndex.from_tuples(list(table) or [(users[0], users[1])])
    pairs = pd.DataFrame(list(table.values()), index=index[: len(table)], columns=KINDS[:kinds])
    throughputs = rates * scale[:, None]
    shared = SharedCluster(throughputs, scale, workers, beside)
    return instance, pairs, shared, Cluster(throughputs, scale, workers)


@pytest.mark.parametrize("seed", range(many(100)))
def test_the_lowest_level_is_that_of_scipy(seed):
    instance, pairs, shared, _ = random_case(seed)
    allocation = fairlp.allocate(instance, "gavel", pairs=pairs)
    gamma = fairlp.formulate(instance, "gavel", pairs=pairs).parameters["Gamma"].values
    assert allocation.levels.min() == pytest.approx(shared.largest_t(gamma), rel=1e-7)
    assert allocation.residual < 1e-7
    assert allocation.certify().holds


@pytest.mark.parametrize("seed", range(many(40)))
def test_makespan_total_and_finish_time_are_those_of_scipy(seed):
    instance, pairs, shared, alone = random_case(seed)
    numbers = np.random.default_rng(seed)
    steps = numbers.integers(1, 9, len(instance.users)).astype(float)
    age = numbers.integers(0, 3, len(instance.users)).astype(float)

    makespan = fairlp.allocate(instance, "gavel", objective="makespan", steps=steps, pairs=pairs)
    assert (makespan.totals / steps).min() == pytest.approx(shared.largest_t(steps), rel=1e-7)

    total = fairlp.allocate(instance, "gavel", objective="total", pairs=pairs)
    fastest = alone.throughputs.max(axis=1)
    assert (total.totals / fastest).sum() == pytest.approx(shared.largest_sum(1 / fastest))

    jobs = {"steps": steps, "age": age}
    finish = fairlp.allocate(instance, "gavel", objective="finish-time", pairs=pairs, **jobs)
    end = age + steps / alone.isolated()
    rho = (age + steps / finish.totals.to_numpy()) / end
    assert rho.max() == pytest.approx(shared.lowest_rho(steps, age, end), rel=1e-6)
    assert finish.certify().holds


@pytest.mark.parametrize("seed", range(many(40)))
def test_water_filling_with_pairs_is_proved_round_by_round(seed):
    instance, pairs, _, _ = random_case(seed)
    allocation = fairlp.allocate(instance, "gavel", objective="hierarchical", pairs=pairs)
    assert allocation.certify().holds
    assert allocation.residual < 1e-7


@pytest.mark.parametrize("seed", range(many(40)))
def test_audits_ask_within_shared_devices(seed):
    instance, pairs, _, _ = random_case(seed)
    allocation = fairlp.allocate(instance, "gavel", pairs=pairs)
    names = ["feasible", "Pareto-optimal", "non-wasteful"]
    findings = fairlp.audit(instance, allocation, names)
    assert findings.holds.tolist() == [True, True, True], findings.witness.tolist()


@pytest.mark.parametrize("seed", range(many(80)))
def test_no_feasible_throughputs_have_a_larger_product(seed):
    """First order: Σ T'[m]/T[m] ≤ M for all feasible T', as the logarithm is concave."""
    instance, _, _, alone = random_case(seed)
    allocation = fairlp.allocate(instance, "gavel", objective="proportional")
    throughputs = allocation.totals.to_numpy()
    gains = alone.throughputs / throughputs[:, None]
    assert gains.ravel() @ alone.best(gains) == pytest.approx(len(throughputs), rel=1e-6)
    assert allocation.certify().holds


def two_jobs():
    return fairlp.Instance.from_arrays(
        [[1], [1]], [[1]], users=["a", "b"], servers=["v100"], rates=[[4], [2]]
    )


def beside(a=3.0, b=1.5):
    return pd.DataFrame({"v100": {("a", "b"): a, ("b", "a"): b}})


def test_two_jobs_on_one_gpu_have_what_they_have_beside_each_other():
    allocation = fairlp.allocate(two_jobs(), "gavel", pairs=beside())
    assert allocation.totals.to_dict() == pytest.approx({"a": 3.0, "b": 1.5})
    assert fairlp.allocate(two_jobs(), "gavel").totals.to_dict() == pytest.approx(
        {"a": 2.0, "b": 1.0}
    )


def test_a_pair_that_only_slows_both_is_not_used():
    allocation = fairlp.allocate(two_jobs(), "gavel", pairs=beside(1.0, 0.5))
    assert allocation.totals.to_dict() == pytest.approx({"a": 2.0, "b": 1.0})


def test_the_model_prints_combinations_as_the_paper_does():
    text = str(fairlp.formulate(two_jobs(), "gavel", pairs=beside()))
    assert "∑_C d[C,r]·X[C,i] ≤ c[i,r]" in text
    assert "∑_C,i a[n,C]·X[C,i] ≤ 1" in text
    assert "∑_C v[n,C,i]·X[C,i]" in text


def test_a_leximin_with_pairs_is_proved_in_rationals():
    pytest.importorskip("flint")
    assert fairlp.allocate(two_jobs(), "gavel", pairs=beside()).certify(exact=True).holds


def test_weights_count_in_the_proportional_objective():
    instance = two_jobs().replace(weights=[3, 1])
    allocation = fairlp.allocate(instance, "gavel", objective="proportional")
    assert allocation.totals.to_dict() == pytest.approx({"a": 3.0, "b": 0.5}, rel=1e-6)


def two_by_two(rates):
    return fairlp.Instance.from_arrays(
        [[1], [1]], [[1], [1]], users=["a", "b"], servers=KINDS[:2], resources=["gpu"], rates=rates
    )


def test_a_lie_about_throughputs_pays_under_the_product_of_throughputs_alone():
    truth = two_by_two([[3, 2], [4, 1]])
    honest = fairlp.allocate(truth, "gavel", objective="proportional").tasks.to_numpy()
    assert honest == pytest.approx(np.array([[0, 2], [4, 0]]), abs=1e-6)

    # a claims 6 on the first kind; the time that it is given is worth 29/12 of its own steps
    lie = two_by_two([[6, 2], [4, 1]])
    claimed = fairlp.allocate(lie, "gavel", objective="proportional").tasks.to_numpy()
    time = claimed[0] / np.array([6, 2])
    assert time @ np.array([3, 2]) == pytest.approx(29 / 12, rel=1e-6)


def product_of(rates):
    """What every job runs under the product of throughputs alone."""
    return fairlp.allocate(two_by_two(rates), "gavel", objective="proportional").tasks.to_numpy()


def discounted_for_a(claim, truth, rates_of_b):
    """What a runs of its true rates where Gavel's code discounts; alone b runs on its fastest."""
    claimed = product_of([claim, rates_of_b])
    time = claimed[0] / np.asarray(claim, float)
    kept = claimed[1].sum() / max(rates_of_b)
    return kept * (time @ np.asarray(truth, float))


def test_gavels_discount_makes_the_lie_that_pays_under_the_product_cost():
    assert discounted_for_a([3, 2], [3, 2], [4, 1]) == pytest.approx(2, rel=1e-6)
    assert discounted_for_a([6, 2], [3, 2], [4, 1]) == pytest.approx(319 / 192, rel=1e-6)


@pytest.mark.parametrize("seed", range(many(80)))
def test_no_drawn_lie_pays_where_the_product_is_discounted(seed):
    rng = np.random.default_rng(seed)
    truth, rates_of_b, claim = rng.integers(1, 9, (3, 2)).tolist()
    honest = discounted_for_a(truth, truth, rates_of_b)
    assert discounted_for_a(claim, truth, rates_of_b) <= honest * (1 + 1e-6)


def test_the_proportional_policy_has_neither_the_sharing_incentive_nor_envy_freeness():
    # half of each kind would run 5/2 of a's steps, and b's kind 3; a has 2
    instance = two_by_two([[3, 2], [4, 1]])
    allocation = fairlp.allocate(instance, "gavel", objective="proportional")
    names = ["sharing incentive", "envy-free", "Pareto-optimal"]
    findings = fairlp.audit(instance, allocation, names)
    assert findings.holds.tolist() == [False, False, True]
