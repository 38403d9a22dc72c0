"""Random instances with queues, and the same data as the oracle of trees takes it."""

from __future__ import annotations

import numpy as np
import pandas as pd

import fairlp

NAMES = ["a", "b", "c"]


def tree_instance(
    rng, *, servers=1, limits=True, guarantees=False, caps=False, weighted=True, flat=False
):
    """Return an instance of whole numbers and (paths' weights, caps by position of the resource)."""
    n, r = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    k = int(rng.integers(1, servers + 1))
    demands = rng.integers(0, 5, (n, r)).astype(float)
    demands[~demands.any(axis=1), 0] = 1
    capacities = rng.integers(0, 25, (k, r)).astype(float)
    capacities[0] += 4
    paths = ["" if flat else "/".join(rng.choice(NAMES, rng.integers(0, 4))) for _ in range(n)]
    rows = {}
    above = {
        "/".join(path.split("/")[:depth])
        for path in paths
        for depth in range(1, path.count("/") + 2)
    }
    for path in sorted({"", *above}):
        rows[path] = {"weight": float(rng.integers(1, 4))} if weighted else {}
        if caps and rng.random() < 0.5:
            which = [x for x in range(r) if rng.random() < 0.6]
            rows[path]["cap"] = {f"resource{x + 1}": float(rng.integers(1, 20)) for x in which}
        if guarantees and rng.random() < 0.5:
            cap = rows[path].get("cap", {})
            names = [f"resource{x + 1}" for x in range(r)]
            rows[path]["guarantee"] = {
                x: min(float(rng.integers(0, 3)), cap.get(x, np.inf)) for x in names
            }
    is_limited = rng.random(n) < 0.4
    eligible = rng.random((n, k)) < 0.8
    eligible[:, 0] = True
    return fairlp.Instance.from_arrays(
        demands,
        capacities,
        queue=paths,
        queues=rows,
        weights=rng.integers(1, 4, n) if weighted else None,
        task_limits=np.where(is_limited, rng.integers(0, 9, n), np.inf) if limits else None,
        eligible=eligible if k > 1 else None,
    )


def guaranteed_tree(seed, servers=1):
    """Return a small tree whose guarantees fit: each queue has one, users have few tasks, some caps are 0.

    Users may run on all servers, each of which has room for all guarantees."""
    rng = np.random.default_rng(seed)
    users = int(rng.integers(3, 7))
    resources = int(rng.integers(1, 3))
    names = [f"resource{r + 1}" for r in range(resources)]
    demands = rng.integers(0, 3, (users, resources)).astype(float)
    demands[np.arange(users), rng.integers(0, resources, users)] += 1
    paths = ["a", "a/x", "a/y", "b", "b/x"]
    queue = [paths[k] for k in rng.integers(0, len(paths), users)]
    queues = {}
    for path in paths:
        queues[path] = {
            "weight": float(rng.integers(1, 4)),
            "guarantee": {name: float(rng.integers(0, 4)) for name in names},
        }
        if rng.random() < 0.25:
            capped = names[int(rng.integers(resources))]
            queues[path]["cap"] = {capped: float(rng.integers(0, 2))}
            queues[path]["guarantee"][capped] = 0.0
    return fairlp.Instance.from_arrays(
        demands,
        rng.integers(20, 30, (servers, resources)).astype(float),
        queue=queue,
        queues=queues,
        weights=rng.integers(1, 4, users),
        task_limits=np.where(rng.random(users) < 0.6, rng.integers(1, 5, users), np.inf),
    )


def random_past(rng, instance):
    """Return a level that each user had before, as `state=` takes it; no two that are not 0 are the same."""
    users = len(instance.users)
    past = rng.choice([0, 0.1, 0.3, 0.7], users) * rng.uniform(0.9, 1.1, users)
    return pd.Series(past, index=list(instance.users))


def for_the_oracle(instance):
    """Return the data of an instance as plain arrays and mappings, and the weights of queues by path."""
    names = {str(resource): r for r, resource in enumerate(instance.resources)}
    table = instance.queues.table(instance.resources)
    caps = {}
    for path, row in table.iterrows():
        caps_by_resource = {
            names[c.removeprefix("cap:")]: row[c] for c in table.columns if c.startswith("cap:")
        }
        caps[path] = {
            r: cap_value for r, cap_value in caps_by_resource.items() if np.isfinite(cap_value)
        }
    data = {
        "demands": instance.demands,
        "capacities": instance.capacities * instance.counts[:, None],
        "weights": instance.weights.tolist(),
        "limits": instance.task_limits,
        "eligible": instance.eligible,
        "caps": caps,
        "paths": list(instance.queue),
    }
    return data, table["weight"].to_dict()
