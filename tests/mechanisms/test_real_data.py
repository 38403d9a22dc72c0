"""The main job on a real cluster: 1,523 servers and 457 demand classes shared by every mechanism."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import fairlp
import fairlp_research
from fairlp.models.instances.merging import merge_servers
from paths import REAL_DATA
from profiles import by_day, chequered

FOLDER = REAL_DATA
TRACE = FOLDER / "alibaba-gpu-v2023"
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(
        not TRACE.is_dir(), reason="the Alibaba GPU trace is not beside the checkout"
    ),
]
MECHANISMS = ["drf", "edrf", "asset", "drfh", "c-drfh", "cdrf", "tsf", "naive-drf"]


def read(tasks):
    return fairlp_research.read_alibaba_gpu(
        TRACE / "openb_node_list_all_node.csv", TRACE / f"openb_pod_list_{tasks}.csv"
    )


@pytest.fixture(scope="module")
def constrained():
    return read("gpuspec33")


@pytest.fixture(scope="module")
def unconstrained():
    return read("default")


@pytest.fixture(autouse=True)
def _quiet():
    yield


def raisable(instance, allocation, users):
    """For each user, the relative gain it could have while nobody at its level or below loses: an own LP, by SciPy.

    An allocation over a convex region is leximin-optimal exactly when nobody can gain so.
    """
    merged, _ = merge_servers(instance)
    totals, levels = allocation.totals.to_numpy(), allocation.levels.to_numpy()
    pairs = np.argwhere(merged.runnable())
    n, i = pairs.T
    alone = instance.demands.shape[1]
    scale = totals[n] + 1e-9
    capacity = merged.capacities * merged.counts[:, None]
    rows = (i[:, None] * alone + np.arange(alone)).ravel()
    size = np.where(capacity > 0, capacity, 1.0)
    values = (instance.demands[n] * scale[:, None] / size[i]).ravel()
    use = sp.csr_array(
        (values, (rows, np.repeat(np.arange(len(n)), alone))), shape=(capacity.size, len(n))
    )
    user_rows = sp.csr_array(
        (scale / (totals[n] + 1e-9), (n, np.arange(len(n)))), shape=(len(totals), len(n))
    )
    room = (capacity / size).ravel()
    gains = {}
    limit = instance.task_limits / (totals + 1e-9)
    for user in users:
        protected = levels <= levels[user] * (1 + 1e-9)
        floor = np.where(protected, totals / (totals + 1e-9) * (1 - 1e-9), 0.0)
        finite = np.isfinite(limit)
        A = sp.vstack([use, -user_rows, user_rows[finite]])
        b = np.concatenate([room, -floor, limit[finite] * (1 + 1e-9)])
        cost = -user_rows[[user]].toarray()[0]
        answer = linprog(cost, A_ub=A, b_ub=b, method="highs")
        assert answer.status == 0, answer.message
        gains[user] = -answer.fun - 1
    return gains


def test_the_trace_has_the_size_that_its_authors_give(constrained, unconstrained):
    assert len(constrained.users) == 457 and len(unconstrained.users) == 151
    assert len(constrained.servers) == 1523 and constrained.task_limits.sum() == 8152
    assert constrained.pool.tolist() == [125_514_000, 597_684 * 1024, 6_212_000]
    assert len(merge_servers(constrained)[0].servers) == 27


@pytest.mark.slow
def test_compare_every_mechanism(constrained, unconstrained):
    table = fairlp.compare(constrained, MECHANISMS)
    assert (
        table.loc[:, ["drf", "edrf", "cdrf"]].isna().all(axis=None)
    )  # several servers; constraints
    assert table.loc[:, ["asset", "drfh", "c-drfh", "tsf", "naive-drf"]].notna().all(axis=None)
    assert fairlp.compare(unconstrained, ["cdrf", "tsf"]).notna().all(axis=None)
    assert fairlp.compare(constrained.pooled(), ["drf", "edrf"]).notna().all(axis=None)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["asset", "drfh", "c-drfh", "tsf"])
def test_feasible_and_leximin_optimal_with_constraints(constrained, mechanism):
    allocation = fairlp.allocate(constrained, mechanism)
    assert_nobody_can_rise(constrained, allocation)


def threefold(instance):
    """Three times as many tasks: the pool without constraints has room for one times."""
    return instance.replace(task_limits=instance.task_limits * 3)


def test_without_constraints_everything_fits(unconstrained):
    allocation = fairlp.allocate(unconstrained, "cdrf")
    np.testing.assert_allclose(allocation.totals, unconstrained.task_limits, rtol=1e-12)


def test_cdrf_feasible_and_leximin_optimal_without_constraints(unconstrained):
    scarce = threefold(unconstrained)
    assert_nobody_can_rise(scarce, fairlp.allocate(scarce, "cdrf"))


@pytest.mark.parametrize("mechanism", ["drf", "edrf", "asset"])
def test_pooled_feasible_and_leximin_optimal(constrained, mechanism):
    pool = threefold(constrained.pooled())
    assert_nobody_can_rise(pool, fairlp.allocate(pool, mechanism))
    assert fairlp.validate(pool, mechanism)["agrees"].all()


def assert_nobody_can_rise(instance, allocation):
    assert allocation.residual <= 1e-11
    full = allocation.totals.to_numpy() >= instance.task_limits * (1 - 1e-12)
    short = np.flatnonzero(~full)
    assert short.size  # the cluster cannot run everything, so there is something to share
    users = np.random.default_rng(0).choice(short, min(len(short), 12), replace=False)
    gains = raisable(instance, allocation, users)
    assert max(gains.values()) <= 1e-6, gains


def test_merged_equals_unmerged_users(constrained):
    """Merging changes nothing; the unmerged program keeps only every third user, to stay small."""
    user_sample = np.arange(0, 457, 3)
    small_instance = fairlp.Instance.from_arrays(
        constrained.demands[user_sample],
        constrained.capacities[::12],
        eligible=constrained.eligible[user_sample][:, ::12]
        | (np.arange(len(user_sample)) % 2 == 0)[:, None],
        task_limits=constrained.task_limits[user_sample],
    )
    for mechanism in by_day(("c-drfh", "tsf"), 2):
        merged = fairlp.allocate(small_instance, mechanism)
        plain = fairlp.allocate(small_instance, mechanism, merge=False)
        np.testing.assert_allclose(merged.totals, plain.totals, rtol=1e-8, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("load", "conditions"), chequered([1.5, 2.5, 4], [True, False]))
def test_any_load_of_the_real_cluster(constrained, load, conditions):
    """Many rounds, with entries set to zero on the way: a basis that misleads must not end the series."""
    busy = constrained.replace(task_limits=load * constrained.task_limits)
    if not conditions:
        busy = busy.replace(eligible=None)
    for mechanism in ("c-drfh", "tsf", "asset"):
        allocation = fairlp.allocate(busy, mechanism)
        assert allocation.residual <= 1e-10 and allocation.gap <= 1e-9
