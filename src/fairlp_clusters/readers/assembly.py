"""From nodes, leaves and queues to the instance, what runs of it, and what waits."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fairlp import Allocation, Instance, formulations
from fairlp.errors import InstanceError, TooLargeError

from .cluster import (
    Cluster,
    Job,
    Leaf,
    Node,
    first_time,
)
from .queue_rows import (
    queue_rows,
    with_placed_guarantees,
)
from .rows import (
    Allowed,
    Row,
    give_owners_queues,
    held_table,
    hidden_use,
    label_rows,
    may_run,
    nodes_and_rows,
    note_overcommitment,
    resources_and_rows,
    table_of,
)
from .snapshot import IdleError, Snapshot

#: Bytes of the tables of users × servers (tasks, and where they may run), at most.
MOST_BYTES = 4 * 2**30

BYTES_A_PAIR = 9

#: Why tasks run nowhere that have nodes.
_STRANDED = "no node may take other tasks of its job, and all of them run at once"
#: The columns of users and of jobs that wait.
_WAITING_COLUMNS = ("user", "queue", "tasks", "since", "message", "nowhere")
_JOB_COLUMNS = (
    "job", "user", "queue", "tasks", "jobs", "one_a_node", "since", "priority", "message",
    "left_out", "after",
)  # fmt: skip


def assemble(cluster: Cluster, allowed: Allowed, path: str) -> Snapshot:
    """Return the snapshot of a cluster.

    Parameters
    ----------
    cluster : Cluster
    allowed : callable
        Where the tasks of a place may run.
    path : str
        The path of the dump, for error messages.
    """
    nodes, rows_of_leaves = nodes_and_rows(cluster, allowed)
    rows = list(dict.fromkeys(rows_of_leaves.values()))
    _require_moderate_size(path, nodes, rows)

    # Labels of all users, also of those who are left out of the instance below
    label_rows(rows)
    held = held_table(rows)
    jobs = _jobs_of_rows(cluster, rows_of_leaves)

    # Users: rows with tasks that run, or that wait and could run.
    position = {node.name: k for k, node in enumerate(nodes)}
    rows = [
        row
        for row in rows
        if (row.group.running or row.group.waiting) and may_run(cluster, row, allowed, position)
    ]
    give_owners_queues(cluster, rows)
    resources, rows = resources_and_rows(cluster, nodes, rows)
    waiting, waiting_jobs = _tables_of_waiting(jobs)
    rows = [row for row in rows if row.tasks]
    _set_job_sizes(cluster, jobs, rows_of_leaves)
    _require_nodes_and_users(path, cluster, nodes, rows)

    # Capacity: a node has its amounts less the use that only it reports; a closed node has the
    # amounts of the tasks that run on it.
    demands = table_of([dict(row.leaf.demand) for row in rows], resources)
    tasks = np.zeros((len(rows), len(nodes)))
    for n, row in enumerate(rows):
        for name, count in row.group.running.items():
            tasks[n, position[name]] = count
    used = tasks.T @ demands
    offered = table_of([node.amounts for node in nodes], resources)
    note_overcommitment(cluster, nodes, resources, offered, used)
    ending = table_of([cluster.ending.get(name, {}) for name in position], resources)
    hidden = hidden_use(nodes, resources, used + ending)
    offered = np.maximum(offered - hidden, 0.0)
    servers, offered, tasks, eligible = _with_staying_tasks(nodes, rows, offered, tasks, demands)

    instance = _instance(cluster, servers, rows, resources, offered, demands, eligible)
    observed = _observed(instance, tasks)
    hidden_totals = pd.Series(hidden.sum(axis=0), index=resources)
    of_ending = pd.DataFrame(ending, list(position), resources)
    return Snapshot(
        instance=instance,
        observed=observed,
        waiting=waiting,
        not_understood=cluster.notes.table(),
        scheduler=cluster.scheduler,
        held=held,
        hidden=hidden_totals[hidden_totals > 0],
        tenants=pd.Series(
            [row.leaf.tenant or "all" for row in rows],
            pd.Index([row.leaf.label for row in rows], name="user"),
            name=cluster.tenant_noun,
        ),
        jobs=pd.Series(cluster.jobs, dtype=object).astype(int),
        plugin=cluster.plugin,
        waiting_jobs=waiting_jobs,
        asleep=_states({node.name: node.asleep for node in servers}),
        kept=_states({node.name: node.kept for node in servers}),
        ending=of_ending[ending.any(axis=1) & of_ending.index.isin(instance.servers.labels)],
        pieces=pd.DataFrame(
            [{"server": node.name, **piece} for node in servers for piece in node.pieces],
            columns=["server", *resources],
        ).fillna(0.0),
        preemption=cluster.preemption,
        no_fair_sharing=cluster.no_fair_sharing,
        no_verdict=cluster.no_verdict,
        limits_reached=pd.Series(cluster.limits_reached, dtype=object),
        node_count=len(nodes),
        version=cluster.version,
    )


def _states(states: dict[str, str]) -> pd.Series[str]:
    """Return the states of servers that have one."""
    return pd.Series({name: state for name, state in states.items() if state}, dtype=object)


def _jobs_of_rows(cluster: Cluster, rows_of_leaves: dict[Leaf, Row]) -> list[Job]:
    """Return the jobs that wait, with their tasks by row."""
    jobs = []
    for job in cluster.waiting_jobs:
        tasks: Counter[Row] = Counter()
        for leaf, count in job.tasks.items():
            tasks[rows_of_leaves[leaf]] += count
        jobs.append(replace(job, tasks=tasks))
    return jobs


def _set_job_sizes(cluster: Cluster, jobs: list[Job], rows_of_leaves: dict[Leaf, Row]) -> None:
    """Give rows of which all tasks are in jobs of one size, each of this row alone, that size."""
    entries = [({*job.tasks}, sum(job.tasks.values()), job.copies) for job in jobs]
    entries += [
        ({rows_of_leaves[leaf] for leaf in tasks}, tasks.total(), 1)
        for tasks in cluster.running_jobs.values()
    ]
    tasks_by_size: dict[Row, Counter[int]] = defaultdict(Counter)
    for rows, size, copies in entries:
        for row in rows:
            tasks_by_size[row][size if len(rows) == 1 else 1] += size * copies
    for row, tasks in tasks_by_size.items():
        if len(tasks) == 1 and tasks.total() == row.tasks:
            (row.job_size,) = tasks


def _tables_of_waiting(jobs: list[Job]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what waits by user, and by job; single tasks by what they have in common.

    The second is without jobs of which no node may take some task, and what comes after them: rows
    learn of their other tasks that these are stranded.
    """
    stuck = {job.name for job in jobs if any(row.nowhere for row in job.tasks)} - {""}
    counts: Counter[tuple[Any, ...]] = Counter()
    first: dict[tuple[Any, ...], str | None] = {}
    for job in jobs:
        is_stranded = not stuck.isdisjoint((job.name, job.request.after))
        for row, count in job.tasks.items():
            nowhere = row.nowhere
            if is_stranded and not nowhere:
                nowhere = _STRANDED
                row.stranded += count * job.copies
            key = (job.name, row, nowhere, count, job.one_a_node, job.request)
            counts[key] += job.copies
            first[key] = first_time(first.get(key), job.since)

    by_job = []
    messages: dict[tuple[Row, str], Counter[str]] = defaultdict(Counter)
    since: dict[tuple[Row, str], str | None] = {}
    for key, copies in counts.items():
        name, row, nowhere, count, one_a_node, request = key
        messages[row, nowhere][request.message] += count * copies
        since[row, nowhere] = first_time(since.get((row, nowhere)), first[key])
        if not nowhere:
            fields = *request[:2], ", ".join(request.left_out), request.after
            user = row.leaf.label, row.leaf.queue
            by_job.append((name, *user, count, copies, one_a_node, first[key], *fields))
    by_user = [
        (
            *(row.leaf.label, row.leaf.queue, tasks.total(), since[row, nowhere]),
            max(filter(None, tasks), key=tasks.__getitem__, default=""),
            nowhere,
        )
        for (row, nowhere), tasks in messages.items()
    ]
    waiting = pd.DataFrame(by_user, columns=list(_WAITING_COLUMNS), dtype=object)
    waiting_jobs = pd.DataFrame(by_job, columns=list(_JOB_COLUMNS), dtype=object)
    return waiting.astype({"tasks": int}), waiting_jobs


def _with_staying_tasks(
    nodes: list[Node],
    rows: list[Row],
    offered: np.ndarray,
    tasks: np.ndarray,
    demands: np.ndarray,
) -> tuple[list[Node], np.ndarray, np.ndarray, np.ndarray]:
    """Return the open nodes, and servers of tasks that may stay where no new ones may come.

    All such tasks of a user have one server together, with just their amounts.

    Returns
    -------
    list of Node
    ndarray
        The amounts of each.
    ndarray
        The tasks of each row on each server.
    ndarray
        Where the tasks of each row may be.
    """
    allowed = np.array([row.allowed for row in rows]).reshape(tasks.shape)
    staying = np.where(allowed, 0.0, tasks)
    counts = staying.sum(axis=1)
    hosts = np.flatnonzero(counts)
    is_open = np.array([not node.closed for node in nodes], dtype=bool)
    servers = [node for node in nodes if not node.closed]
    for n in hosts.tolist():
        first, *others = [nodes[k] for k in np.flatnonzero(staying[n]).tolist()]
        name = f"{1 + len(others)} nodes" if others else first.name
        name = f"{name} ({rows[n].leaf.label}, no new tasks)"
        # what all of them have: quotas count by the labels of a flavor
        common = set(first.attributes.items()).intersection(*(n.attributes.items() for n in others))
        servers.append(Node(name, {}, dict(sorted(common)), first.closed or "no new tasks"))

    amounts = np.maximum(offered - staying.T @ demands, 0.0)[is_open]
    of_hosts = np.diag(counts)[:, hosts]
    return (
        servers,
        np.vstack([amounts, counts[hosts, None] * demands[hosts]]),
        np.hstack([(tasks - staying)[:, is_open], of_hosts]),
        np.hstack([allowed[:, is_open], of_hosts > 0]),
    )


def _require_moderate_size(path: str, nodes: list[Node], rows: list[Row]) -> None:
    """Raise where tables of users × nodes would be too large."""
    size = len(nodes) * len(rows) * BYTES_A_PAIR
    if size > MOST_BYTES:
        raise TooLargeError(
            f"{path}: {len(rows)} users (owners and what they ask for) on {len(nodes)} nodes take "
            f"tables of {size / 2**30:.3g} GiB; read a part of the dump"
        )


def _require_nodes_and_users(
    path: str, cluster: Cluster, nodes: list[Node], rows: list[Row]
) -> None:
    """Raise where a dump has no nodes, or no tasks on them or for them."""
    if nodes and rows:
        return
    if not nodes:
        message = cluster.no_nodes
    elif cluster.absent:
        message = f"tasks run on {cluster.absent[0]!r}, which is none of the {len(nodes)} nodes"
    else:
        message = "nothing runs and nothing waits that could run"
        reasons = [reason for group in cluster.groups.values() for reason in group.held]
        if reasons:
            message += f" ({reasons[0]})"
    is_idle = bool(nodes) and not cluster.absent
    raise (IdleError if is_idle else InstanceError)(
        f"{path}: {message}; expected the nodes of one cluster and what runs on them, dumped "
        "together"
    )


def _instance(
    cluster: Cluster,
    nodes: list[Node],
    rows: list[Row],
    resources: list[str],
    capacities: np.ndarray,
    demands: np.ndarray,
    eligible: np.ndarray,
) -> Instance:
    """Return the instance of these capacities."""
    servers = [node.name for node in nodes]
    keys = dict.fromkeys(key for node in nodes for key in node.attributes)
    attributes = {
        key: pd.Series([node.attributes.get(key) for node in nodes], servers, dtype=object)
        for key in keys
    }
    instance = Instance.from_arrays(
        demands,
        capacities,
        users=[row.leaf.label for row in rows],
        servers=servers,
        resources=resources,
        task_limits=[row.tasks for row in rows],
        job_sizes=[row.job_size for row in rows],
        eligible=eligible,
        queue=[row.leaf.queue for row in rows],
        queues=queue_rows(cluster, rows, resources, capacities.sum(axis=0)),
        units={name: unit for name, unit in cluster.units.items() if unit and name in resources},
        server_attributes=pd.DataFrame(attributes) if attributes else None,
        name=cluster.scheduler,
    )
    return with_placed_guarantees(cluster, instance)


def _observed(whole: Instance, tasks: np.ndarray) -> Allocation:
    """Return the tasks that run as an allocation of the instance of the whole capacity."""
    gamma = formulations.normalisers.dominant(whole)
    return Allocation(
        instance=whole,
        mechanism="observed",
        method=whole.name,
        tasks_array=tasks,
        gamma=gamma,
        tasks_per_level=gamma,
    )
