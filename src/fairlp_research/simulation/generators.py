"""Clusters and workloads to simulate, from published tables, stated distributions or a trace.

Wang et al.: W. Wang, B. Li and B. Liang, INFOCOM 2014, doi 10.48550/arXiv.1308.0083.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlp import Instance, examples
from fairlp.errors import FileFormatError, InstanceError, quoted
from fairlp.toolkit import as_numbers, home, read_table

from .workload import Workload


def google_sample(servers: int = 2000, seed: int = 0) -> Instance:
    """Return servers drawn from Google's table (Wang et al., Table I), as rows with counts.

    They are drawn with the frequencies of the table.

    Parameters
    ----------
    servers : int
    seed : int

    Returns
    -------
    Instance
        With one user, ``nobody``.

    Examples
    --------
    >>> google_sample(100).n_servers
    100
    """
    table = examples.google_servers()
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(servers, table["count"] / table["count"].sum())
    is_drawn = counts > 0
    return Instance.from_arrays(
        np.ones((1, 2)),
        table[["cpu", "memory"]].to_numpy()[is_drawn],
        users=["nobody"],
        servers=list(table.index[is_drawn]),
        resources=["cpu", "memory"],
        counts=counts[is_drawn],
        units=dict.fromkeys(("cpu", "memory"), "largest server = 1"),
        name=f"google-sample-{servers}",
    )


def sample(cluster: Instance, servers: int, seed: int = 0) -> Instance:
    """Return so many of the cluster's servers, drawn without replacement.

    Parameters
    ----------
    cluster : Instance
    servers : int
    seed : int

    Returns
    -------
    Instance

    Raises
    ------
    InstanceError
        For fewer than 1, or more than there are.

    Examples
    --------
    >>> sample(google_sample(100), 10).n_servers
    10
    """
    if not 1 <= servers <= cluster.n_servers:
        raise InstanceError(
            f"cannot draw {servers} servers; expected 1 to {cluster.n_servers}, which there are"
        )
    return _only(cluster, _shuffled(cluster, seed)[:servers])


def divide(cluster: Instance, parts: int, seed: int = 0) -> list[Instance]:
    """Return the servers dealt out at random to so many clusters, as equal in number as can be.

    Parameters
    ----------
    cluster : Instance
    parts : int
    seed : int

    Returns
    -------
    list of Instance

    Raises
    ------
    InstanceError
        For fewer than 1, or more than there are servers.

    Examples
    --------
    >>> [part.n_servers for part in divide(google_sample(100), 3)]
    [34, 33, 33]
    """
    if not 1 <= parts <= cluster.n_servers:
        raise InstanceError(
            f"cannot deal out {cluster.n_servers} servers to {parts} clusters; expected at least "
            "one server for each"
        )
    return [_only(cluster, rows) for rows in np.array_split(_shuffled(cluster, seed), parts)]


def _shuffled(cluster: Instance, seed: int) -> np.ndarray:
    """Return the row of each single server, in random order."""
    return np.random.default_rng(seed).permutation(
        np.repeat(np.arange(len(cluster.counts)), cluster.counts)
    )


def _only(cluster: Instance, rows: np.ndarray) -> Instance:
    """Return the cluster with some of its single servers, given by their rows.

    They keep their labels.
    """
    counts = np.bincount(rows, minlength=len(cluster.counts))
    servers = np.flatnonzero(counts)
    return cluster.derived(
        servers=type(cluster.servers)("i", cluster.servers.labels[servers], "server"),
        capacities=cluster.capacities[servers],
        counts=counts[servers],
        eligible=cluster.eligible[:, servers] if cluster.has_constraints else np.True_,
        rates=None if cluster.rates is None else cluster.rates[:, servers],
        server_attributes=cluster.server_attributes.iloc[servers],
    )


def three_users(finer: int = 1) -> Workload:
    """Return the users of Wang et al., Fig. 4, who arrive at 0 s, 200 s and 500 s.

    Their tasks demand (0.2, 0.3), (0.5, 0.1) and (0.1, 0.3).

    The paper tells neither how many tasks they have nor how long these take. Here tasks take 60 s,
    and user 1 has as many as let it leave at about 1080 s, as in the paper.

    Parameters
    ----------
    finer : int
        Cut every task into so many equal ones.

    Returns
    -------
    Workload

    Examples
    --------
    >>> three_users().jobs[["arrival", "cpu", "memory"]].values.tolist()
    [[0.0, 0.2, 0.3], [200.0, 0.5, 0.1], [500.0, 0.1, 0.3]]
    """
    jobs = pd.DataFrame(
        {
            "user": ["user1", "user2", "user3"],
            "arrival": [0.0, 200.0, 500.0],
            "tasks": np.array([1240, 640, 920]) * finer,
            "duration": 60.0,
            "cpu": np.array([0.2, 0.5, 0.1]) / finer,
            "memory": np.array([0.3, 0.1, 0.3]) / finer,
        }
    )
    return Workload.of(jobs, ["cpu", "memory"])


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

    Arrivals are uniform over the hours, jobs belong to users with Zipf-like frequencies (1/rank),
    the number of tasks is geometric, durations are log-normal (σ = 1) with that median, and demands
    of CPU and memory are uniform between the smallest and the largest, the same for all jobs of a
    user.

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

    Returns
    -------
    Workload

    Raises
    ------
    InstanceError
        For a number that is not above 0, a number of jobs or users that is not whole, a mean of
        less than one task.
    """
    _require("jobs", jobs, whole=True, least=1)
    _require("users", users, whole=True, least=1)
    for name, value in (
        ("duration", duration),
        ("hours", hours),
        ("smallest", smallest),
        ("largest", largest),
    ):
        _require(name, value)
    _require("tasks", tasks, least=1)
    rng = np.random.default_rng(seed)
    owner = _owners(rng, users, jobs)
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


def wang_regime(
    servers: int = 2000, hours: float = 4.0, seed: int = 0
) -> tuple[Instance, Workload]:
    """Return servers of Google's table, and synthetic jobs that use as much as in Wang et al.

    In the paper's Table II, 14 slots of the largest server use 43.9 % of the CPU and 28.0 % of the
    memory. Its trace is another one: here tasks ask for 0.01 to 0.065 of the largest CPU, and for
    0.64 times such an amount of memory, 120 tasks a server in four hours.

    Parameters
    ----------
    servers : int
    hours : float
    seed : int

    Returns
    -------
    tuple of Instance and Workload
    """
    jobs = max(1, round(1.5 * servers * hours))
    users = min(100, servers)
    load = synthetic(jobs, users, duration=600, hours=hours, largest=0.065, seed=seed)
    return google_sample(servers, seed=seed), load.scaled(demands={"memory": 0.64})


def alibaba(tasks_csv: str | Path, *, users: int | None = None, seed: int = 0) -> Workload:
    """Return the tasks of Alibaba's GPU trace as jobs of one task, by creation time.

    The trace tells when a task was created and deleted, what it needs and which GPU models it may
    use, and not whose it is, so users are constructed: one for each class of tasks that ask for the
    same, or so many, drawn. Amounts as :func:`fairlp_research.read_alibaba_gpu` has them; its servers fit.
    Most of the trace is one gap: all but 80 tasks were created after 10,000,000 s
    (:meth:`Workload.window` cuts it off).

    Parameters
    ----------
    tasks_csv : str or Path
        ``openb_pod_list_*.csv``.
    users : int, optional
        Draw users of Zipf-like frequencies (1/rank), instead of one for each demand and GPU models.
    seed : int
        Of that draw.

    Returns
    -------
    Workload

    Raises
    ------
    FileFormatError
        For a missing column.
    """
    table = read_table(home(tasks_csv), {"name": str, "gpu_spec": str})
    columns = [
        "name",
        "cpu_milli",
        "memory_mib",
        "num_gpu",
        "gpu_milli",
        "creation_time",
        "deletion_time",
    ]
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise FileFormatError(f"{str(tasks_csv)!r} has no column {quoted(missing[0])}")
    for column in columns[1:]:
        numbers = as_numbers(table[column])
        if (~np.isfinite(numbers) & table[column].notna()).any():
            raise FileFormatError(
                f"{str(tasks_csv)!r}: column {quoted(column)} holds something else than finite numbers"
            )
        table[column] = numbers
    table = table[table["deletion_time"] >= table["creation_time"]]
    specs = (
        table["gpu_spec"]
        if "gpu_spec" in table.columns
        else pd.Series(index=table.index, dtype=object)
    )
    if users is None:
        requests = table[["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"]].assign(gpu_spec=specs)
        owner = (
            requests.groupby(list(requests.columns), sort=False, dropna=False).ngroup().to_numpy()
        )
    else:
        owner = _owners(np.random.default_rng(seed), users, len(table))
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
            "eligible": [
                None if spec != spec else f"gpu_model in {spec.split('|')}" for spec in specs
            ],
        }
    )
    return Workload.of(jobs, ["cpu", "memory", "gpu"])


def _require(name: str, value: Any, *, whole: bool = False, least: int = 0) -> None:
    """Raise unless it is a number above 0, and of at least so much."""
    is_right_type = isinstance(value, int) or (isinstance(value, float) and not whole)
    if not is_right_type or not least <= value < np.inf or value == 0:
        expected = "a whole number" if whole else "a number"
        raise InstanceError(
            f"{name}={quoted(value)}; expected {expected} {f'of at least {least}' if least else 'above 0'}"
        )


def _owners(rng: np.random.Generator, users: int, jobs: int) -> np.ndarray:
    """Draw whose each job is, with frequencies 1/rank."""
    ranks = 1.0 / np.arange(1, users + 1)
    return rng.choice(users, jobs, p=ranks / ranks.sum())
