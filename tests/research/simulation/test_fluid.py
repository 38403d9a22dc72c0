"""Divisible tasks over time: a simulation in rationals agrees, work is conserved, and a run again is the same."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
import simulation_oracle
from discrete_oracle import exactly
from fairlp import Instance, examples
from fairlp.tolerances import FEASIBILITY, VERIFIED
from fairlp_research.simulation import Workload, simulate
from fairlp_research.simulation.allocators import DISTRIBUTED, fluid_policies
from fairlp_research.simulation.fluid import Fluid
from fairlp_research.simulation.generators import google_sample, synthetic, three_users
from profiles import many
from simulation_cases import as_oracle, assert_same_bytes_again, trace

#: On one server these are all DRF; where time is divided, DRF of the one resource time.
LIKE_DRF = ("drf", "edrf", "drfh", "c-drfh", "tsf", "psdsf-rdm", "psdsf-tdm")


def workload_of(rows, resources=("cpu", "memory")):
    columns = ["user", "arrival", "tasks", "duration", *resources]
    return Workload.of(pd.DataFrame(rows, columns=columns), list(resources))


@settings(max_examples=many(50), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(LIKE_DRF))
def test_event_by_event_in_rationals_agrees_on_one_server(seed, policy):
    rng = np.random.default_rng(seed)
    workload, cluster, kinds = trace(rng, constraints=False)
    cluster = Instance.from_arrays(
        np.ones((1, len(cluster.resources))),
        cluster.capacities[:1],
        resources=cluster.resources.labels,
    )
    weights = {user: int(w) for user, w in zip(workload.users, rng.integers(1, 4, 9), strict=False)}
    jobs, _ = as_oracle(workload, cluster, kinds)
    capacity = [exactly(c) for c in cluster.capacities[0]]
    for job in jobs:
        job["ask"] = tuple(exactly(value) for value in job["need"])

    def share(requests):
        demands, pool = [request for _, request, *_ in requests], capacity
        if policy == "psdsf-tdm":
            demands, pool = (
                [
                    [max(d / c for d, c in zip(request, capacity, strict=True))]
                    for request in demands
                ],
                [Fraction(1)],
            )
        phi = [weights[user] * fraction for user, _, _, fraction in requests]
        return simulation_oracle.drf(
            demands, phi, [Fraction(limit) for _, _, limit, _ in requests], pool
        )

    first, last = simulation_oracle.fluid(jobs, share)
    simulation = simulate(cluster, workload, policy, weights=weights, every=5)
    for k, row in enumerate(simulation.jobs.itertuples()):
        if jobs[k]["tasks"]:
            assert row.start == pytest.approx(float(first[k]), rel=VERIFIED)
            assert row.finish == pytest.approx(float(last[k]), rel=VERIFIED)


@settings(max_examples=many(25), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(("drfh", "c-drfh", "tsf", "psdsf-tdm")))
def test_on_several_servers_it_is_the_mechanism_solved_afresh_at_every_event(seed, policy):
    """The totals of these mechanisms are unique, so it does not matter which of several optima is kept."""
    rng = np.random.default_rng(seed)
    workload, cluster, kinds = trace(rng, jobs=8)
    jobs, eligible = as_oracle(workload, cluster, kinds)
    for k, job in enumerate(jobs):
        places = None if eligible is None else eligible[k]
        job["ask"] = (tuple(job["need"]), None if places is None or all(places) else tuple(places))
    fits = [fits_somewhere(job["ask"], cluster) for job in jobs]
    for job, can in zip(jobs, fits, strict=True):
        job["tasks"] *= can

    def share(requests):
        moment = Instance.from_arrays(
            [request[0] for _, request, *_ in requests],
            cluster.capacities,
            counts=cluster.counts,
            eligible=np.array(
                [request[1] or [True] * len(cluster.counts) for _, request, *_ in requests]
            ),
            task_limits=[limit for _, _, limit, _ in requests],
            weights=[float(fraction) for *_, fraction in requests],
        )
        return [Fraction(total) for total in fairlp.allocate(moment, policy).totals]

    first, last = simulation_oracle.fluid(jobs, share)
    simulation = simulate(cluster, workload, policy, every=5)
    assert simulation.jobs["refused"].tolist() == [
        not can and bool(n) for can, n in zip(fits, workload.jobs.tasks, strict=True)
    ]
    for k, row in enumerate(simulation.jobs.itertuples()):
        if jobs[k]["tasks"]:
            assert row.finish == pytest.approx(float(last[k]), rel=VERIFIED)
            assert row.start == pytest.approx(float(first[k]), rel=VERIFIED)


def fits_somewhere(request, cluster):
    need, allowed = request
    rows = range(len(cluster.capacities))
    return any(
        (allowed is None or allowed[i]) and (np.array(need) <= cluster.capacities[i]).all()
        for i in rows
    )


@settings(max_examples=many(40), deadline=None)
@given(
    st.integers(0, 10**9), st.sampled_from([name for name in fluid_policies() if name != "karma"])
)
def test_capacity_is_kept_and_work_is_conserved_at_every_event(seed, policy):
    """No server is over capacity; what was served is what was submitted less what is left, by job and in sum."""
    rng = np.random.default_rng(seed)
    workload, cluster, _ = trace(rng, jobs=15, constraints=policy not in ("cdrf",))
    if policy in ("drf", "edrf", "asset", "njc"):
        cluster = Instance.from_arrays(
            [[1.0] * len(cluster.resources)],
            cluster.capacities[:1],
            resources=cluster.resources.labels,
        )
        workload = Workload.of(
            workload.jobs.drop(columns="eligible", errors="ignore"), workload.resources
        )
    options = {"period": 0.5} if policy in DISTRIBUTED else {}
    run = Fluid(cluster, workload, policy, every=3, **options)
    served = np.zeros(len(run.tasks))
    capacity = cluster.capacities * cluster.counts[:, None]
    requests = {
        int(request): run.kinds[kind] for request, kind in zip(run.request, run.kind, strict=True)
    }
    while True:
        moment, rates, serving = run.now, run.rates, run.serving
        over = run.run(float("inf"), most_events=1)
        np.add.at(served, serving, rates * (run.now - moment))
        has_arrived = np.arange(len(run.tasks)) < run.next_job
        has_arrived[run.refused] = False
        remaining = np.where(has_arrived, run.work, run.tasks * run.duration)
        assert served[has_arrived] == pytest.approx(
            (run.tasks * run.duration - remaining)[has_arrived], abs=VERIFIED, rel=VERIFIED
        )
        waiting = [job for jobs in run.open.values() for job in jobs]
        assert len(set(waiting)) == len(waiting)  # every job waits or has ended, once
        assert set(waiting) == set(np.flatnonzero(has_arrived & np.isnan(run.finish)).tolist())
        demands = np.array([requests[request] for request in run.requests.tolist()]).reshape(
            -1, len(cluster.resources)
        )
        used = run.placed.T @ demands
        assert (used <= capacity * (1 + FEASIBILITY)).all() and (run.placed >= 0).all()
        assert run.rates.sum() <= run.placed.sum() * (1 + FEASIBILITY)
        if over:
            break
    assert np.isfinite(run.finish[has_arrived]).all() and not run.rates.any()
    assert run.completed().sum() == pytest.approx(
        workload.total_tasks - run.tasks[run.refused].sum()
    )
    assert np.array([sample.used for sample in run.samples]).max() <= 1 + FEASIBILITY


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy", ["drfh", "tsf", "c-drfh", "psdsf-rdm", "psdsf-tdm", *DISTRIBUTED]
)
def test_a_run_that_is_run_again_gives_the_same_bytes(policy, monkeypatch):
    workload, cluster, _ = trace(np.random.default_rng(5), jobs=40)
    assert_same_bytes_again(cluster, workload, policy, monkeypatch)


def test_a_job_without_duration_ends_when_its_turn_comes_and_one_too_large_is_refused():
    jobs = workload_of(
        [("ann", 0, 2, 4, 1), ("ann", 1, 5, 0, 1), ("ann", 1, 1, 1, 9), ("bob", 2, 0, 3, 1)],
        ["cpu"],
    )
    simulation = simulate(Instance.from_arrays([[1]], [[2]], resources=["cpu"]), jobs, "drfh")
    assert simulation.jobs.finish.fillna(-1).tolist() == [
        4,
        4,
        -1,
        2,
    ] and simulation.jobs.refused.tolist() == [0, 0, 1, 0]
    assert simulation.users.completed["ann"] == 7
    nothing = simulate(
        Instance.from_arrays([[1]], [[0.5]], resources=["cpu"]), jobs, "psdsf-rdm-distributed"
    )
    assert nothing.users.completed.sum() == 0 and nothing.decisions == 0


@pytest.mark.slow
def test_the_limits_of_figure_4_of_wang_are_those_of_the_linear_program():
    """Whole tasks cut finer and finer come near the fluid DRFH: 1 of the memory, then 0.606 each, then 0.454 each."""
    cluster = examples.load("wang-figure-4")
    limits = [
        fairlp.allocate(cluster.select_users(np.arange(n)), "drfh").shares.tolist()
        for n in (1, 2, 3)
    ]
    shares = simulate(cluster, three_users(), "drfh", every=50).shares
    for time, limit in zip((150, 450, 550), limits, strict=True):
        assert shares.loc[
            time, [f"user{n + 1}" for n in range(len(limit))]
        ].tolist() == pytest.approx(limit)
    distances = []
    for finer in (1, 3, 9):
        jobs = Workload.of(three_users(finer).jobs.assign(tasks=20_000), ["cpu", "memory"])
        whole = simulate(cluster, jobs, "best-fit", every=590, until=590).shares.loc[590].tolist()
        distances.append(np.abs(np.array(whole) - limits[2]).max())
    assert (
        distances[0] > 0.15 and distances[2] < 0.04 and distances[0] > distances[1] > distances[2]
    )


def test_an_allocation_is_used_again_while_no_limit_that_changes_is_reached():
    cluster, jobs = google_sample(20, seed=1), synthetic(150, 5, tasks=300, hours=1, seed=2)
    run = Fluid(cluster, jobs, "drfh")
    run.run(float("inf"))
    assert run.allocator.solved < 0.5 * run.decisions
    monotone = simulate(cluster, jobs, "drfh").jobs.finish
    assert monotone.equals(pd.Series(run.finish, jobs.jobs.index, name="finish"))


def test_servers_on_their_own_come_to_table_iv():
    """Khamse-Ashari et al., Table IV, for endless tasks; with user 4 away, user 3 takes its server too."""
    cluster = examples.load("khamse-ashari-table-3")
    requests = [dict(zip(cluster.resources, row, strict=True)) for row in cluster.demands]
    jobs = pd.DataFrame(
        [
            {"user": user, "arrival": 0.0, "tasks": 1000, "duration": 60.0, **request}
            for user, request in zip(cluster.users, requests, strict=True)
        ]
    )
    servers = cluster.replace(
        server_attributes=pd.DataFrame({"kind": list(cluster.servers)}, list(cluster.servers))
    )
    jobs["eligible"] = [None, None, "kind in ['C', 'D']", "kind in ['C', 'D']"]
    weights = dict(zip(cluster.users, cluster.weights, strict=True))
    load = Workload.of(jobs, list(cluster.resources))
    for policy in ("psdsf-rdm", "psdsf-rdm-distributed"):
        simulation = simulate(servers, load, policy, weights=weights, until=50, every=10)
        assert simulation.running.loc[50].tolist() == pytest.approx(
            [210, 105, 82.5, 27.5], rel=0.01
        )
