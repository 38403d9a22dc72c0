"""Servers over the workers of a Dask cluster: the same levels to the gap, and the same bits every time."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.solvers.matrix_free import equations
from pair_instances import both, connected

distributed = pytest.importorskip("distributed")
AIM = 1e-4


@pytest.fixture(scope="module")
def client():
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(n_workers=2, **options) as cluster, distributed.Client(cluster) as made:
        yield made


def test_two_workers_give_what_one_process_gives(client):
    problem = connected(size=40, zeros=0.2, seed=8)
    here, there = (fairlp.allocate(problem, "c-drfh", aim=AIM, client=one) for one in (None, client))
    assert there.certify() and there.gap <= AIM
    assert there.levels.min() == pytest.approx(here.levels.min(), rel=AIM)
    again = fairlp.allocate(problem, "c-drfh", aim=AIM, client=client)
    assert np.array_equal(again.tasks_array, there.tasks_array) and again.steps == there.steps


def test_components_that_end_leave_the_workers(client):
    for seed in (3, 7):
        dense, problem = both(seed, users=20, servers=12)
        found = fairlp.allocate(problem, "c-drfh", aim=AIM, client=client)
        assert found.gap <= AIM and found.residual <= 1e-12
        assert found.levels.min() == pytest.approx(fairlp.allocate(dense, "c-drfh").levels.min(), rel=AIM)


def test_strong_pairs_come_from_all_workers(client, monkeypatch):
    monkeypatch.setattr(equations, "DENSE", 0)
    monkeypatch.setattr(equations, "_SLOW", 10)
    found = fairlp.allocate(connected(size=150), "c-drfh", aim=AIM, rounds=1, client=client)
    assert found.gap <= AIM and found.residual <= 1e-12
