"""Random trees of quotas, as plain data for the tournament of small steps and as instances."""

from __future__ import annotations

import math

import numpy as np

import fairlp


def random_cohorts(seed):
    """A random tree on one pool: cohorts in cohorts, limits of borrowing and lending, and one user a queue."""
    rng = np.random.default_rng(seed)
    resources = int(rng.integers(1, 3))
    paths = (
        ["", "x", "y", "x/a", "x/b", "y/c", "d"] if rng.random() < 0.6 else ["", "a", "b", "c", "d"]
    )
    leaves = [
        path for path in paths if not any(other.startswith(path + "/") for other in paths) and path
    ]
    none = [math.inf] * resources
    tree = {"": (1.0, [0.0] * resources, none, none)}
    users = {}
    for path in paths[1:]:
        leaf = path in leaves
        nominal = (
            rng.integers(0, 9, resources) if leaf or rng.random() < 0.4 else np.zeros(resources)
        )
        borrowing, lending = (
            [
                float(rng.integers(0, 6)) if rng.random() < 0.25 else math.inf
                for _ in range(resources)
            ]
            for _ in range(2)
        )
        weight = 0.001 if rng.random() < 0.1 else float(rng.integers(1, 4))
        tree[path] = (weight, nominal.astype(float).tolist(), borrowing, lending)
        if leaf:
            demand = rng.integers(0, 4, resources).astype(float)
            demand[int(rng.integers(resources))] += 1
            users[path] = (
                demand.tolist(),
                float(rng.integers(0, 12)) if rng.random() < 0.6 else math.inf,
            )
    total = np.sum([nominal for _, nominal, _, _ in tree.values()], axis=0)
    pool = np.maximum(np.rint(total * rng.choice([0.6, 1.0, 1.3])), 1.0)
    return tree, users, pool.tolist()


def cohorts_and_strays(seed, draw=random_cohorts):
    """A random tree as above, and one or two queues at the root that list no quota, with a user each."""
    tree, users, pool = draw(seed)
    rng = np.random.default_rng(seed + 10**6)
    tree[""] = (1.0, None, None, None)
    for path in ["s", "t"][: int(rng.integers(1, 3))]:
        tree[path] = (float(rng.integers(1, 4)), None, None, None)
        demand = rng.integers(0, 4, len(pool)).astype(float)
        demand[int(rng.integers(len(pool)))] += 1
        users[path] = (
            demand.tolist(),
            float(rng.integers(1, 12)) if rng.random() < 0.5 else math.inf,
        )
    return tree, users, [amount * float(rng.choice([1, 1.5])) for amount in pool]


#: Queues of :func:`lending_cohorts`: at the root, in one cohort, in two.
SHAPES = (["a", "b", "c"], ["x", "x/a", "x/b", "c"], ["x", "x/a", "x/b", "y", "y/c"])


def lending_cohorts(seed):
    """One queue lends what it does not use, and most others want all: small whole numbers, one user a queue.

    What decides who gets how much is, in turn: limits of borrowing beside quotas of 0, limits of lending, a queue of
    weight 0, and two resources in cohorts."""
    rng = np.random.default_rng(seed)
    borrows, lends, has_late, is_deep = (seed % 4 == theme for theme in range(4))
    resources = 2 if is_deep else 1
    paths = SHAPES[int(rng.integers(1 if is_deep else 0, 3))]
    leaves = [path for path in paths if not any(other.startswith(path + "/") for other in paths)]
    idle = leaves[-1] if is_deep else leaves[int(rng.integers(len(leaves)))]
    late_queue = leaves[int(rng.integers(len(leaves)))] if has_late else None

    def limits(probability):
        is_limited = rng.random(resources) < probability
        return np.where(is_limited, rng.integers(0, 4, resources), math.inf).tolist()

    none = [math.inf] * resources
    tree = {"": (1.0, [0.0] * resources, none, none)}
    users = {}
    for path in paths:
        nominal = rng.integers(0, 4, resources) * (rng.random(resources) < 0.6)
        if path == idle:
            nominal = rng.integers(4, 8, resources)
        weight = 0.001 if path == late_queue else float(rng.integers(1, 4))
        borrowing = limits(0.7 if borrows else 0.1)
        lending = limits(0.6 if lends or is_deep else 0.1)
        tree[path] = (weight, nominal.astype(float).tolist(), borrowing, lending)
        if path in leaves:
            demand = rng.integers(0, 3, resources).astype(float)
            demand[int(rng.integers(resources))] += 1
            limit = math.inf if rng.random() < 0.7 else float(rng.integers(2, 6))
            tasks = float(rng.integers(0, 2)) if path == idle else limit
            users[path] = (demand.tolist(), tasks)
    total = np.sum([nominal for _, nominal, _, _ in tree.values()], axis=0)
    pool = np.maximum(np.rint(total * rng.choice([0.8, 1.0, 1.0, 1.5])), 1.0)
    return tree, users, pool.tolist()


def lending_cohorts_and_strays(seed):
    """Such a tree whose queues often keep what they do not use, and users outside the quotas beside them."""
    return cohorts_and_strays(seed, lending_cohorts)


def instance_of(tree, users, pool, below=False):
    """The same as an instance; ``below``: users stand in queues that list nothing, below their own."""
    names = [f"r{k}" for k in range(len(pool))]

    def amounts(values):
        return {name: value for name, value in zip(names, values, strict=True) if value < math.inf}

    return fairlp.Instance.from_arrays(
        [demand for demand, _ in users.values()],
        [pool],
        users=list(users),
        resources=names,
        queue=[f"{path}/own" if below else path for path in users],
        task_limits=[limit for _, limit in users.values()],
        queues={
            path: {
                "weight": w,
                **(
                    {}
                    if n is None
                    else {"nominal": amounts(n), "borrowing": amounts(b), "lending": amounts(lent)}
                ),
            }
            for path, (w, n, b, lent) in tree.items()
        },
    )
