"""``kueue``: the golden cases of its paper trail, a tournament by small steps, flavors, lending, and what is told."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fairlp
from kueue_oracle import Cohorts


def three(a, weights=(1, 1, 2)):
    """Three queues with nominal 20, 10, 10 cores and 4 GiB for each; A wants so many tasks, B and C want 40."""
    queues = {
        name: {"weight": weight, "nominal": {"cpu": cores, "memory": 4 * cores}}
        for name, weight, cores in zip("ABC", weights, (20, 10, 10), strict=True)
    }
    return fairlp.Instance.from_arrays(
        [[1, 4]] * 3,
        [[40, 160]],
        users=["a", "b", "c"],
        resources=["cpu", "memory"],
        queue=["A", "B", "C"],
        task_limits=[a, 40, 40],
        queues=queues,
    )


@pytest.mark.parametrize(
    ("a", "fair"), [(0, [0, 50 / 3, 70 / 3]), (14, [14, 12, 14]), (20, [20, 10, 10]), (90, [20, 10, 10])]
)
def test_what_is_lent_goes_by_weight_above_nominal_quotas(a, fair):
    found = fairlp.allocate(three(a), "kueue")
    assert found.totals.tolist() == pytest.approx(fair, rel=1e-9)
    assert not found.notes


@pytest.mark.parametrize("covered", [True, False])
def test_pods_covered_or_not_change_nothing(covered):
    pods = {"pods": 50} if covered else {}
    instance = fairlp.Instance.from_arrays(
        [[1, 1]] * 2,
        [[40, 110]],
        resources=["cpu", "pods"],
        queue=["A", "B"],
        task_limits=[40, 40],
        queues={"A": {"nominal": {"cpu": 30, **pods}}, "B": {"nominal": {"cpu": 10, **pods}}},
    )
    assert fairlp.allocate(instance, "kueue").totals.tolist() == pytest.approx([30, 10], rel=1e-9)


def selectors():
    """Nominal 20 and 20, of which A can use 8 only."""
    return fairlp.Instance.from_arrays(
        [[1], [1]],
        [[8], [32]],
        resources=["cpu"],
        eligible=[[1, 0], [1, 1]],
        queue=["A", "B"],
        task_limits=[40, 40],
        queues={"A": {"nominal": {"cpu": 20}}, "B": {"nominal": {"cpu": 20}}},
    )


def test_a_nominal_quota_without_servers_is_clipped_and_told():
    found = fairlp.allocate(selectors(), "kueue")
    assert found.totals.tolist() == pytest.approx([8, 32], rel=1e-9)
    assert found.notes == ("12 of 20 cpu in the nominal quota of queue 'A' have no server",)


def random_cohorts(seed):
    """A random tree on one pool: cohorts in cohorts, limits of borrowing and lending, and one user a queue."""
    rng = np.random.default_rng(seed)
    resources = int(rng.integers(1, 3))
    paths = ["", "x", "y", "x/a", "x/b", "y/c", "d"] if rng.random() < 0.6 else ["", "a", "b", "c", "d"]
    leaves = [path for path in paths if not any(other.startswith(path + "/") for other in paths) and path]
    none = [math.inf] * resources
    tree = {"": (1.0, [0.0] * resources, none, none)}
    users = {}
    for path in paths[1:]:
        leaf = path in leaves
        nominal = rng.integers(0, 9, resources) if leaf or rng.random() < 0.4 else np.zeros(resources)
        borrowing, lending = (
            [float(rng.integers(0, 6)) if rng.random() < 0.25 else math.inf for _ in range(resources)] for _ in range(2)
        )
        weight = 0.001 if rng.random() < 0.1 else float(rng.integers(1, 4))
        tree[path] = (weight, nominal.astype(float).tolist(), borrowing, lending)
        if leaf:
            demand = rng.integers(0, 4, resources).astype(float)
            demand[int(rng.integers(resources))] += 1
            users[path] = (demand.tolist(), float(rng.integers(0, 12)) if rng.random() < 0.6 else math.inf)
    total = np.sum([nominal for _, nominal, _, _ in tree.values()], axis=0)
    pool = np.maximum(np.rint(total * rng.choice([0.6, 1.0, 1.3])), 1.0)
    return tree, users, pool.tolist()


def instance_of(tree, users, pool):
    """The same as an instance."""
    names = [f"r{k}" for k in range(len(pool))]

    def amounts(values):
        return {name: value for name, value in zip(names, values, strict=True) if value < math.inf}

    return fairlp.Instance.from_arrays(
        [demand for demand, _ in users.values()],
        [pool],
        users=list(users),
        resources=names,
        queue=list(users),
        task_limits=[limit for _, limit in users.values()],
        queues={
            path: {"weight": w, "nominal": amounts(n), "borrowing": amounts(b), "lending": amounts(lent)}
            for path, (w, n, b, lent) in tree.items()
        },
    )


@pytest.mark.parametrize("seed", range(60))
def test_rounds_of_programs_are_a_tournament_of_small_steps(seed):
    tree, users, pool = random_cohorts(seed)
    found = fairlp.allocate(instance_of(tree, users, pool), "kueue")
    step = 0.01
    expected = Cohorts(tree, users, pool).fair(step)
    shares = found.totals.to_numpy() * [max(demand) for demand, _ in users.values()]
    steps = np.array([expected[path] * max(users[path][0]) for path in users])
    assert shares == pytest.approx(steps, abs=8 * step)
