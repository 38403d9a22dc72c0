"""Clusters and workloads to simulate: drawn from published tables and stated distributions, or read from a trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ..models.errors import FileFormatError
from ..models.examples import google_servers
from ..models.instance import Instance
from .workload import Workload


def google_sample(servers: int = 2000, seed: int = 0) -> Instance:
    """Return servers drawn from Google's table (papers/002, Table I) with its frequencies, as rows with counts.

    >>> google_sample(100).n_servers
    100
    """
    table = google_servers()
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(servers, table["count"] / table["count"].sum())
    there = counts > 0
    return Instance.from_arrays(
        np.ones((1, 2)),
        table[["cpu", "memory"]].to_numpy()[there],
        users=["nobody"],
        servers=list(table.index[there]),
        resources=["cpu", "memory"],
        counts=counts[there],
        units=dict.fromkeys(("cpu", "memory"), "largest server = 1"),
        name=f"google-sample-{servers}",
    )


def synthetic(
    jobs: int = 1000,
    users: int = 50,
    *,
    tasks: float = 20.0,
    duration: float = 300.0,
    hours: float = 4.0,
    smallest: float = 0.01,
    largest: float = 0.1,
    seed: int = 0,
) -> Workload:
    """Return jobs of stated distributions, in the units of Google's table.

    Arrivals are uniform over the hours, jobs belong to users with Zipf-like frequencies (1/rank), the number of tasks
    is geometric, durations are log-normal (σ = 1) with that median, and demands of CPU and memory are uniform between
    the smallest and the largest, the same for all jobs of a user.

    Parameters
    ----------
    jobs, users : int
    tasks : float
        Mean number of tasks of a job.
    duration : float
        Median duration [s].
    hours : float
    smallest, largest : float
        Demand of one task.
    seed : int
    """
    rng = np.random.default_rng(seed)
    ranks = 1.0 / np.arange(1, users + 1)
    owner = rng.choice(users, jobs, p=ranks / ranks.sum())
    demands = rng.uniform(smallest, largest, (users, 2)).round(3)
    table = pd.DataFrame(
        {
            "user": [f"user{u + 1}" for u in owner],
            "arrival": rng.uniform(0, hours * 3600, jobs).round(1),
            "tasks": rng.geometric(1 / tasks, jobs),
            "duration": rng.lognormal(np.log(duration), 1.0, jobs).round(1),
            "cpu": demands[owner, 0],
            "memory": demands[owner, 1],
        }
    )
    return Workload.of(table, ["cpu", "memory"])


def alibaba(tasks_csv: str | Path, *, users: int = 50, seed: int = 0) -> Workload:
    """Return the tasks of Alibaba's GPU trace as jobs of one task, by creation time.

    The trace tells when a task was created and deleted, what it needs and which GPU models it may use, and not whose it
    is: users are drawn (Zipf-like, seeded). Amounts as :func:`fairlp.read_alibaba_gpu` has them; its servers fit.

    Parameters
    ----------
    tasks_csv : str or Path
        ``openb_pod_list_*.csv``.
    users, seed : int

    Raises
    ------
    FileFormatError
        For a missing column.
    """
    table = pd.read_csv(tasks_csv, dtype={"name": str, "gpu_spec": str})
    wanted = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time"]
    missing = [column for column in wanted if column not in table.columns]
    if missing:
        raise FileFormatError(f"{str(tasks_csv)!r} has no column {missing[0]!r}")
    table = table[table["deletion_time"] >= table["creation_time"]]
    rng = np.random.default_rng(seed)
    ranks = 1.0 / np.arange(1, users + 1)
    owner = rng.choice(users, len(table), p=ranks / ranks.sum())
    specs = table["gpu_spec"] if "gpu_spec" in table.columns else pd.Series(index=table.index, dtype=object)
    jobs = pd.DataFrame(
        {
            "job": table["name"],
            "user": [f"user{u + 1}" for u in owner],
            "arrival": table["creation_time"].astype(float) - float(table["creation_time"].min()),
            "tasks": 1,
            "duration": (table["deletion_time"] - table["creation_time"]).astype(float),
            "cpu": table["cpu_milli"],
            "memory": table["memory_mib"],
            "gpu": table["num_gpu"] * table["gpu_milli"],
            "eligible": [None if spec != spec else f"gpu_model in {spec.split('|')}" for spec in specs],
        }
    )
    return Workload.of(jobs, ["cpu", "memory", "gpu"])
