"""Proportional fairness: its optimality conditions on servers with constraints, by several solvers; one pool."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fairlp
from fairlp import examples
from fairlp.errors import NotConvergedError, SolverError
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.options import Options
from fairlp.solvers.backends.tangents import solve_with_logs
from fairlp.tolerances import CONVEX_POINT, VERIFIED
from instances import random_instance
from profiles import by_day, many

SOLVERS = ("highs", "glpk", "cvxpy:CLARABEL", "cvxpy:ECOS", "cvxpy:SCS")


def first_order(instance, totals, e):
    """max Σ e[n]·y[n]/x[n] over all feasible y, minus Σ e[n], by SciPy on a matrix made here: 0 at the optimum only."""
    n, k, r = len(instance.users), len(instance.servers), len(instance.resources)
    able_users = instance.runnable().any(axis=1) & (instance.task_limits > 0)
    rows, right = [], []
    for i in range(k):
        for j in range(r):
            row = np.zeros((n, k))
            row[:, i] = instance.demands[:, j]
            rows.append(row.ravel())
            right.append(instance.capacities[i, j] * instance.counts[i])
    for u in np.flatnonzero(np.isfinite(instance.task_limits)):
        row = np.zeros((n, k))
        row[u] = 1
        rows.append(row.ravel())
        right.append(instance.task_limits[u])
    slope = np.divide(e, totals, out=np.zeros(n), where=able_users & (totals > 0))
    bounds = [(0, None) if ok else (0, 0) for ok in instance.runnable().ravel()]
    right = np.array(right)
    scale = np.where(right > 0, right, 1.0)
    optimum = linprog(
        -np.repeat(slope, k), np.array(rows) / scale[:, None], right / scale, bounds=bounds
    )
    return -optimum.fun - e[able_users & (e > 0)].sum()


def incomes(instance):
    e = instance.weights if instance.entitlements is None else instance.entitlements
    return e / e.sum()


@pytest.mark.parametrize("seed", range(many(40)))
def test_the_optimality_conditions_on_servers_with_constraints(seed):
    instance = random_instance(seed)
    allocation = fairlp.allocate(instance, "ceei")
    assert allocation.residual <= 1e-9
    assert allocation.certificate
    assert first_order(instance, allocation.totals.to_numpy(), incomes(instance)) <= 10 * VERIFIED


@pytest.mark.parametrize("solver", by_day(SOLVERS, 2))
def test_several_solvers_reach_the_same_point(solver):
    for seed in by_day((1, 5, 9, 12), 2):
        instance = random_instance(seed, zeros=False, limits=seed > 5)
        best = fairlp.allocate(instance, "ceei", method="convex")
        allocation = fairlp.allocate(instance, "ceei", method="convex", solver=solver)
        assert allocation.solver == solver
        assert allocation.totals.to_numpy() == pytest.approx(best.totals.to_numpy(), rel=1e-3)
        assert (
            first_order(instance, allocation.totals.to_numpy(), incomes(instance)) <= CONVEX_POINT
        )


@pytest.mark.parametrize("seed", range(many(40)))
def test_one_pool_is_njc(seed):
    instance = random_instance(seed, servers=1, constraints=False)
    allocation = fairlp.allocate(instance, "ceei")
    assert allocation.method == "eg"
    assert allocation.totals.to_numpy() == pytest.approx(
        fairlp.allocate(instance, "njc").totals.to_numpy(), rel=1e-14
    )
    model = fairlp.allocate(instance, "ceei", method="convex")
    assert model.totals.to_numpy() == pytest.approx(
        allocation.totals.to_numpy(), rel=1e-5, abs=1e-12
    )
    # without limits there are no dummy resources either: all that njc adds is gone
    free = instance.replace(task_limits=np.full(len(instance.users), np.inf))
    x = fairlp.allocate(free, "ceei").totals.to_numpy()
    assert x == pytest.approx(fairlp.allocate(free, "njc").totals.to_numpy(), rel=1e-14)
    assert first_order(free, x, incomes(free)) <= 1e-9


def test_known_optima():
    # one resource: everybody gets its income of it
    instance = fairlp.Instance.from_arrays([[1], [2], [4]], [[12]], weights=[1, 2, 3])
    for method in ("eg", "convex"):
        allocation = fairlp.allocate(instance, "ceei", method=method)
        assert allocation.totals.tolist() == pytest.approx([2, 2, 1.5], rel=1e-6)
    # prices: what one more unit adds to Σ e·log(tasks), so 1 for the whole of it
    assert fairlp.allocate(instance, "ceei").prices.to_numpy() @ [12] == pytest.approx([1])
    # two servers of their own, no contest
    apart = fairlp.Instance.from_arrays([[1], [1]], [[3], [5]], eligible=[["server1"], ["server2"]])
    assert fairlp.allocate(apart, "ceei").totals.tolist() == pytest.approx([3, 5], rel=1e-7)
    # one may run anywhere: 8 units for two users, of which one reaches 3 only
    partly = fairlp.Instance.from_arrays([[1], [1]], [[3], [5]], eligible=[["server1"], None])
    assert fairlp.allocate(partly, "ceei").totals.tolist() == pytest.approx([3, 5], rel=1e-7)
    wide = fairlp.Instance.from_arrays([[1], [1]], [[5], [3]], eligible=[["server1"], None])
    assert fairlp.allocate(wide, "ceei").totals.tolist() == pytest.approx([4, 4], rel=1e-7)


def test_figure_1_of_khamse_ashari():
    allocation = fairlp.allocate(examples.load("khamse-ashari-figure-1"), "ceei")
    assert allocation.totals.tolist() == pytest.approx([3, 3, 6], rel=1e-6)


def test_identical_servers_are_merged_and_nothing_changes():
    instance = fairlp.Instance.from_arrays(
        [[1, 2], [2, 1], [1, 1]], np.tile([[4, 6], [9, 3]], (4, 1))
    )
    merged = fairlp.allocate(instance, "ceei")
    plain = fairlp.allocate(instance, "ceei", merge=False)
    assert "merged" in merged.notes[0] and not plain.notes
    assert merged.totals.to_numpy() == pytest.approx(plain.totals.to_numpy(), rel=1e-6)
    assert merged.tasks.shape == (3, 8) and merged.residual <= 1e-9


def test_those_entitled_to_nothing_come_last():
    instance = fairlp.Instance.from_arrays(
        [[1, 0], [1, 0], [0, 1]],
        [[4, 3], [2, 0]],
        entitlements=[0.5, 0.5, 0],
        eligible=[None, ["server1"], None],
    )
    assert fairlp.allocate(instance, "ceei").totals.tolist() == pytest.approx([3, 3, 3], rel=1e-6)


def test_users_who_can_run_nothing_get_nothing():
    instance = fairlp.Instance.from_arrays(
        [[1, 0], [0, 1], [1, 1]], [[4, 0], [0, 4]], task_limits=[np.inf, 0, np.inf]
    )
    allocation = fairlp.allocate(instance, "ceei")
    assert allocation.totals.tolist() == pytest.approx([4, 0, 0], rel=1e-7)
    nobody = fairlp.Instance.from_arrays([[1, 1]], [[4, 0], [0, 4]])
    assert fairlp.allocate(nobody, "ceei").totals.tolist() == [0]


@pytest.mark.parametrize(
    "name", ["wang-figure-1", "khamse-ashari-table-3", "ghodsi", "dolev-section-3"]
)
def test_validate(name):
    table = fairlp.validate(examples.load(name), "ceei")
    assert table["agrees"].all() and table["proved"].all()


class Failing:
    """HiGHS that fails from the n-th program on."""

    def __init__(self, good):
        self.inner, self.good_solves = find_backend("highs"), good

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def solve(self, program, options):
        self.good_solves -= 1
        if self.good_solves < 0:
            raise SolverError("HiGHS failed (for the test)")
        return self.inner.solve(program, options)


def test_tangents_that_are_too_fine_for_a_solver():
    """What was found before its failure is judged; it counts only if the gap that is certified is small enough."""
    program = fairlp.formulate(examples.load("khamse-ashari-figure-1"), "ceei").compile()
    needed = solve_with_logs(Failing(1000), program, Options()).iterations["programs"]
    solution = solve_with_logs(Failing(needed), program, Options())
    assert solution.status.is_optimal and solution.verify().gap <= CONVEX_POINT
    with pytest.raises(NotConvergedError, match="gap"):
        solve_with_logs(Failing(needed // 2), program, Options())
    for good in (0, 1):
        with pytest.raises(SolverError, match="for the test"):
            solve_with_logs(Failing(good), program, Options())


@pytest.mark.parametrize("method", ["interior-point", "convex"])
def test_who_is_entitled_to_something_leaves_others_what_it_can(method):
    # half of the first user's tasks on each server would be as good for it, and leave the second
    # half of what it can
    instance = fairlp.Instance.from_arrays(
        [[1], [1]],
        [[1], [1]],
        entitlements=[1, 0],
        task_limits=[1, np.inf],
        eligible=[None, ["server1"]],
    )
    allocation = fairlp.allocate(instance, "ceei", method=method)
    assert allocation.tasks_array == pytest.approx(np.array([[0, 1], [1, 0]]), abs=1e-9)
    assert allocation.certify() and not allocation.unproved and allocation.residual <= 1e-15
    assert fairlp.audit(instance, allocation, ["Pareto-optimal"]).loc["Pareto-optimal", "holds"]


def test_little_that_is_left_is_given_out():
    instance = fairlp.Instance.from_arrays(
        [[1], [1]], [[1e6]], entitlements=[1, 0], task_limits=[1e6 - 50, np.inf]
    )
    allocation = fairlp.allocate(instance, "ceei", method="interior-point")
    assert (
        allocation.totals.to_numpy() == pytest.approx(np.array([1e6 - 50, 50]), rel=1e-9)
        and allocation.certify()
    )
    # tangents cannot tell so little from their own error, and the answer says so
    rough = fairlp.allocate(instance, "ceei", method="convex")
    assert "would leave user 'user2' 50 more tasks" in rough.unproved and not rough.certify()
