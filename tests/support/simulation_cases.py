"""Small traces of jobs and clusters for simulations, and the comparison of two runs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairlp import Instance
from fairlp_research.simulation import Workload, simulate, simulating
from fairlp_research.simulation.result import TABLES


def trace(rng, jobs=12, users=4, constraints=True):
    """A small workload with ties in time, and a cluster."""
    resources = ["cpu", "memory"][: int(rng.integers(1, 3))]
    count = int(rng.integers(1, jobs + 1))
    table = pd.DataFrame(
        {
            "user": rng.choice([f"u{k}" for k in range(users)], count),
            "arrival": rng.integers(0, 20, count).astype(float),
            "tasks": rng.integers(0, 5, count),
            "duration": rng.integers(0 if rng.random() < 0.2 else 1, 12, count).astype(float),
        }
    )
    for k, resource in enumerate(resources):
        table[resource] = rng.integers(0 if k else 1, 4, count) / (10 if rng.random() < 0.3 else 1)
    capacities = rng.integers(3, 9, (int(rng.integers(1, 4)), len(resources)))
    kinds = rng.choice(["a", "b"], len(capacities))
    if constraints and rng.random() < 0.5:
        table["eligible"] = np.where(rng.random(count) < 0.5, f"kind == '{kinds[0]}'", None)
    cluster = Instance.from_arrays(
        np.ones((1, len(resources))),
        capacities,
        resources=resources,
        counts=rng.integers(1, 3, len(capacities)),
        server_attributes=pd.DataFrame({"kind": kinds}),
    )
    return Workload.of(table, resources), cluster, kinds


def as_oracle(workload, cluster, kinds):
    rows = workload.jobs.reset_index()
    jobs = [
        {**row, "need": [row[r] for r in workload.resources], "tasks": int(row["tasks"])}
        for row in rows.to_dict("records")
    ]
    eligible = None
    if "eligible" in rows.columns:
        eligible = [
            None
            if condition is None or condition != condition
            else list(kinds == condition.split("'")[1])
            for condition in rows["eligible"]
        ]
    return jobs, eligible


def assert_same_bytes_again(cluster, workload, policy, monkeypatch):
    """Run twice, the second time with many looks at the progress bar, and compare to the byte."""
    first = simulate(cluster, workload, policy, every=1)
    monkeypatch.setattr(simulating, "BATCH", 7)
    second = simulate(cluster, workload, policy, every=1)
    for name in TABLES:
        table, second_table = getattr(first, name), getattr(second, name)
        assert table.to_csv() == second_table.to_csv() and table.equals(second_table)


COLUMNS = ["job", "user", "arrival", "tasks", "duration", "cpu"]


def workload(*rows):
    return Workload.of(pd.DataFrame(rows, columns=COLUMNS), ["cpu"])


def cluster():
    return Instance.from_arrays([[1.0]], [[4.0]], resources=["cpu"])


def jobs(duration):
    return Workload.of(
        pd.DataFrame(
            {"user": ["a"], "arrival": [0], "tasks": [2], "duration": [duration], "cpu": [1]}
        ),
        ["cpu"],
    )
