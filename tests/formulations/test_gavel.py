"""Gavel's max-min policy against its own water filling, a leximin in rationals, and instances by hand."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
import leximin_oracle
from fairlp import Instance
from fairlp.formulations.gavel import (
    WaterLevels,
    fastest_throughputs,
    isolated_throughputs,
    throughputs,
)
from fairlp.tolerances import AGREEMENT, VERIFIED
from profiles import many
from scripts import benchmark

AUDITS = ("feasible", "non-wasteful", "Pareto-optimal")


@pytest.fixture(scope="module")
def peers():
    pytest.importorskip("cvxpy")
    with benchmark("peers") as module:
        yield module


def instance_of(jobs):
    """Jobs of benchmarks/peers.py as an instance: a row of servers of one GPU for each type."""
    rates, types = jobs.throughputs / jobs.scale[:, None], len(jobs.workers)
    counts = jobs.workers.astype(int)
    return Instance.from_arrays(
        jobs.scale[:, None],
        np.ones((types, 1)),
        counts=counts,
        rates=rates,
        weights=jobs.weights,
        resources=["gpu"],
    )


@pytest.mark.slow
@pytest.mark.parametrize("like_gavel", [True, False])
@pytest.mark.parametrize("seed", range(many(8)))
def test_levels_are_those_of_gavels_water_filling(peers, seed, like_gavel):
    """The paper's level is ours times the number of GPUs; Gavel leaves out what could be raised by less than 1e-4."""
    jobs = peers.drawn_jobs(9, seed, like_gavel)
    instance = instance_of(jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no task is called too large for a server
        allocation = fairlp.allocate(instance, "gavel")
    levels = allocation.levels.to_numpy() * jobs.workers.sum()
    assert levels == pytest.approx(peers.by_leximin(jobs), rel=AGREEMENT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert peers.apart(levels, peers.WaterFilling(jobs).levels()) <= 10 * (peers.SLACK - 1)
    assert (
        allocation.residual <= VERIFIED
        and allocation.certify(exact=True).holds
        and fairlp.validate(instance, "gavel").agrees.all()
    )
    assert (fairlp.audit(instance, allocation, AUDITS)["holds"]).all()
    used = (instance.demands * allocation.tasks_array / throughputs(instance)).sum(
        axis=0
    )  # GPUs, of X[m,j] = x[m,j]/T[m,j]
    assert used == pytest.approx(allocation.usage["gpu"].to_numpy(), rel=AGREEMENT)


def drawn(seed):
    """A random instance of several resources, some rates 0, some jobs limited, some not eligible everywhere."""
    rng = np.random.default_rng(seed)
    n, k, r = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 3)
    demands = rng.integers(0, 4, (n, r))
    demands[np.arange(n), rng.integers(0, r, n)] += 1
    eligible = rng.random((n, k)) < 0.8
    eligible[np.arange(n), rng.integers(0, k, n)] = True
    return Instance.from_arrays(
        demands,
        rng.choice([1.0, 2.0, 4.0], (k, r)),
        eligible,
        counts=rng.integers(1, 3, k),
        rates=rng.integers(0, 5, (n, k)) * rng.choice([0.25, 1.0], (n, k)),
        weights=rng.integers(1, 4, n),
        task_limits=np.where(rng.random(n) < 0.3, rng.integers(0, 4, n), np.inf),
    )


def in_rationals(instance):
    """The levels, from the paper's variables: a column for each job and kind where it runs, in parts of its time."""
    users, servers = instance.shape
    counts = [int(count) for count in instance.counts]
    d = [[Fraction(v) for v in row] for row in instance.demands.tolist()]
    c = [
        [Fraction(v) * k for v in row]
        for row, k in zip(instance.capacities.tolist(), counts, strict=True)
    ]
    gamma = {
        (n, i): Fraction(float(instance.rates[n, i])) * counts[i]
        for n in range(users)
        for i in range(servers)
        if instance.rates[n, i] > 0 and instance.eligible[n, i]
    }
    pairs = list(gamma)
    copies = {(n, i): min(c[i][r] / d[n][r] for r in range(len(c[i])) if d[n][r]) for n, i in pairs}
    fits, supplies = [], []
    for i in range(servers):
        for r in range(len(c[i])):
            fits.append([d[n][r] if j == i else Fraction(0) for n, j in pairs])
            supplies.append(c[i][r])
    total, due = {}, {}
    for n in range(users):
        fits.append([Fraction(int(m == n)) for m, _ in pairs])
        supplies.append(Fraction(1))
        work = [gamma[m, i] / copies[m, i] if m == n else Fraction(0) for m, i in pairs]
        if np.isfinite(instance.task_limits[n]):
            fits.append(work)
            supplies.append(Fraction(float(instance.task_limits[n])))
        if any(work) and instance.task_limits[n] > 0:
            total[n] = work
            due[n] = Fraction(float(instance.weights[n])) * sum(
                gamma[m, i] for m, i in pairs if m == n
            )
    levels = leximin_oracle.levels(fits, supplies, total, due) if total else {}
    return [float(levels.get(n, 0)) for n in range(users)]


@pytest.mark.slow
@settings(max_examples=many(50), deadline=None)
@given(st.integers(0, 10**9))
def test_the_leximin_is_that_in_rationals(seed):
    instance = drawn(seed)
    allocation = fairlp.allocate(instance, "gavel")
    assert allocation.levels.tolist() == pytest.approx(
        in_rationals(instance), rel=AGREEMENT, abs=VERIFIED
    )
    assert allocation.residual <= VERIFIED and allocation.certify()
    assert fairlp.audit(instance, allocation, AUDITS)["holds"].isin([True, None]).all()


def test_a_job_runs_on_one_gpu_at_a_time():
    """Job b has all its time on the slow GPU: 1/2 of what both could do. Job a has the fast one to itself: 3/4."""
    jobs = Instance.from_arrays(
        [[1], [1]], [[1], [1]], users=["a", "b"], servers=["fast", "slow"], rates=[[3, 1], [1, 1]]
    )
    allocation = fairlp.allocate(jobs, "gavel")
    assert allocation.tasks_array == pytest.approx(
        np.array([[3, 0], [0, 1]])
    ) and allocation.levels.tolist() == [0.75, 0.5]
    assert allocation.prices is not None and allocation.rounds["users"].tolist() == [["b"], ["a"]]
    moved = replace(allocation, tasks_array=np.array([[3, 0.5], [0, 0.5]]))
    assert moved.residual == pytest.approx(1 / 3) and "infeasible" in str(moved.certify())
    assert not fairlp.audit(jobs, moved, "feasible")["holds"].iloc[0]
    cdrf = fairlp.allocate(jobs, "cdrf")
    assert cdrf.totals["b"] > 1 and list(fairlp.compare(jobs, ["gavel", "cdrf"]).loc["b"]) == [
        1,
        cdrf.totals["b"],
    ]


def test_jobs_of_several_gpus_take_their_gpus_at_once():
    """A job of two GPUs runs on both or none: its throughput of 6 is a rate of 3 on one GPU."""
    jobs = Instance.from_arrays(
        [[2], [1]], [[1]], counts=[2], rates=[[3], [1]], users=["pair", "one"]
    )
    allocation = fairlp.allocate(jobs, "gavel")
    assert throughputs(jobs).tolist() == [[6], [1]]
    assert allocation.totals.to_dict() == pytest.approx(
        {"pair": 3, "one": 1}
    ) and allocation.usage.to_numpy() == [[2]]


def test_jobs_that_can_run_nothing_hold_nobody_back():
    jobs = Instance.from_arrays([[1], [1]], [[1]], rates=[[0], [2]])
    assert fairlp.allocate(jobs, "gavel").totals.tolist() == [0, 2]
    nobody = fairlp.allocate(Instance.from_arrays([[1]], [[1]], rates=[[0]]), "gavel")
    assert nobody.totals.tolist() == [0] and nobody.certify()


def test_an_equal_part_is_no_promise_where_a_job_cannot_use_it():
    """One job on two GPUs: its equal part is both at once, of which it runs on one."""
    job = Instance.from_arrays([[1]], [[2]], rates=[[2]])
    broken = fairlp.audit(job, fairlp.allocate(job, "gavel"), "sharing incentive")
    assert broken["holds"].tolist() == [False]
    table = fairlp.promises(many(40), mechanisms=["gavel"], seed=3)
    assert (
        (table.standing == "stands").all()
        and (table.broken == 0).all()
        and (table.audited == many(40)).all()
    )


def test_isolated_throughputs_are_those_of_a_part_of_all_servers():
    """A quarter of .4 and .8, by weights of 1 and 3, and three quarters of .2; the third runs nowhere."""
    instance = Instance.from_arrays(
        [[1], [1], [1]],
        [[1], [1]],
        weights=[1, 3, 2],
        rates=[[0.4, 0.8], [0.2, 0.0], [0.0, 0.0]],
    )
    assert throughputs(instance).tolist() == [[0.4, 0.8], [0.2, 0], [0, 0]]
    assert fastest_throughputs(instance).tolist() == [0.8, 0.2, 1]
    isolated = isolated_throughputs(instance)
    assert isolated.tolist() == pytest.approx([(0.4 + 0.8) / 4, 0.2 * 3 / 4, 1])
    limited = instance.replace(task_limits=[0.1, 9, 1])
    assert isolated_throughputs(limited).tolist() == pytest.approx([0.1, 0.15, 1])


def test_a_job_that_would_be_busy_for_more_than_all_time_has_each_kind_for_less():
    instance = Instance.from_arrays([[1], [1]], [[6], [2]], rates=[[6, 4], [3, 1]])
    assert throughputs(instance).tolist() == [[1, 2], [0.5, 0.5]]
    # 3 and 1 workers for a job at a time: three quarters of its time on the first kind
    assert isolated_throughputs(instance).tolist() == pytest.approx([3 / 4 + 2 / 4, 1 / 2])


def test_the_levels_after_rounds_are_those_that_the_rounds_gave():
    """Queues of weights 1 and 3 at the root: a rises by 1 for each unit, b and c by 3/2 each, then c alone by 3."""
    instance = Instance.from_arrays(
        [[1]] * 3,
        [[1]],
        rates=[[1.0]] * 3,
        users=["a", "b", "c"],
        queue=["p", "q", "q"],
        queues={"p": 1, "q": 3},
    )
    rounds = pd.DataFrame({"level": [0.1, 0.15], "users": [("b",), ("a",)]})
    state = WaterLevels.after_rounds(instance, rounds)
    assert state.levels.tolist() == pytest.approx([0.15, 0.15, 0.15 + 0.15])
    assert state.active.tolist() == [False, False, True]
    assert state.units == pytest.approx(0.15)
