"""From nodes, leaves and queues to the instance, what runs of it, and what waits."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairlp import Allocation, Instance, formulations
from fairlp.errors import InstanceError, TooLargeError

from ..dues.past import history_of
from .cluster import (
    Cluster,
    Job,
    Leaf,
    Node,
    Request,
    first_time,
)
from .queue_rows import (
    note_large_quotas,
    queue_rows,
    shares_of_queues,
    with_placed_guarantees,
)
from .rows import (
    Allowed,
    Row,
    amounts_offered,
    amounts_used,
    demands_of,
    give_owners_queues,
    held_table,
    hidden_use,
    label_rows,
    may_run,
    nodes_and_rows,
    note_overcommitment,
    note_priorities,
    resources_and_rows,
    waiting_table,
)
from .snapshot import IdleError, Snapshot

#: Bytes of the tables of users × servers (tasks, and where they may run), at most.
MOST_BYTES = 4 * 2**30

BYTES_A_PAIR = 9

#: Servers that γ is computed for at once.
_SLICE = 256

#: The columns of jobs that wait.
_WAITING_COLUMNS = (
    "job", "user", "queue", "tasks", "jobs", "one_a_node", "since", "priority", "message",
    "left_out", "after",
)  # fmt: skip


def assemble(cluster: Cluster, allowed: Allowed, path: str, by: str) -> Snapshot:
    """Return the snapshot of a cluster.

    Parameters
    ----------
    cluster : Cluster
    allowed : callable
        Where the tasks of a place may run.
    path : str
        The path of the dump, for error messages.
    by : {"owner", "queue"}
    """
    nodes, rows_of_leaves = nodes_and_rows(cluster, allowed, by)
    rows = list(dict.fromkeys(rows_of_leaves.values()))
    _require_moderate_size(path, nodes, rows, by)

    # Labels of all users, also of those who are left out of the instance below
    label_rows(rows)
    held = held_table(rows)
    note_priorities(cluster)
    jobs = _jobs_of_rows(cluster, rows_of_leaves)
    all_rows = rows

    # Users: rows with tasks that run, or that wait and could run.
    rows = [
        row for row in rows if (row.running or row.group.waiting) and may_run(cluster, row, allowed)
    ]
    give_owners_queues(cluster, rows)
    resources, rows = resources_and_rows(cluster, nodes, rows)
    runnable_jobs = _strand_jobs(jobs, set(rows))
    rows = [row for row in rows if row.running or row.waiting]
    _set_job_sizes(cluster, jobs, rows_of_leaves)
    waiting = waiting_table(all_rows)
    _require_nodes_and_users(path, cluster, nodes, rows)

    # Capacity: a node has its amounts less the use that only it reports; a closed node has the
    # amounts of the tasks that run on it.
    used = amounts_used(rows, len(nodes), resources)
    offered = amounts_offered(nodes, resources)
    note_overcommitment(cluster, nodes, resources, offered, used)
    of_ending = pd.DataFrame(
        [cluster.ending.get(node.name, {}) for node in nodes],
        index=[node.name for node in nodes],
        columns=resources,
        dtype=float,
    ).fillna(0.0)
    hidden = hidden_use(nodes, resources, used + of_ending.to_numpy())
    offered = np.maximum(offered - hidden, 0.0)
    node_count = len(nodes)
    nodes, offered = _with_staying_tasks(nodes, rows, resources, offered)

    instance = _instance(cluster, nodes, rows, resources, offered)
    observed = _observed(instance, rows)
    hidden_totals = pd.Series(hidden.sum(axis=0), index=resources)
    labels = pd.Index([row.leaf.label for row in rows], name="user")
    tenants = pd.Series(
        [row.leaf.tenant or "all" for row in rows], labels, name=cluster.tenant_noun
    )
    return Snapshot(
        instance=instance,
        observed=observed,
        waiting=waiting,
        not_understood=cluster.notes.table(),
        scheduler=cluster.scheduler,
        held=held,
        hidden=hidden_totals[hidden_totals > 0],
        shares=shares_of_queues(cluster, observed),
        tenants=tenants,
        jobs=pd.Series(cluster.jobs, dtype=object).astype(int),
        plugin=cluster.plugin,
        history=history_of(instance, [row.leaf.owner for row in rows], cluster.past),
        waiting_jobs=_waiting_jobs(runnable_jobs, rows),
        asleep=pd.Series({node.name: node.asleep for node in nodes if node.asleep}, dtype=object),
        kept=pd.Series({node.name: node.kept for node in nodes if node.kept}, dtype=object),
        ending=of_ending[of_ending.any(axis=1) & of_ending.index.isin(instance.servers.labels)],
        pieces=_pieces(nodes, resources),
        preemption=cluster.preemption,
        no_fair_sharing=cluster.no_fair_sharing,
        no_verdict=cluster.no_verdict,
        limits_reached=pd.Series(cluster.limits_reached, dtype=object),
        node_count=node_count,
        version=cluster.version,
    )


class _Waiting(NamedTuple):
    """A job that waits, and its tasks by row."""

    job: Job
    tasks: Counter[Row]


def _jobs_of_rows(cluster: Cluster, rows_of_leaves: dict[Leaf, Row]) -> list[_Waiting]:
    """Return the jobs that wait by row; rows learn since when and for what their tasks wait."""
    jobs = []
    for job in cluster.waiting_jobs:
        tasks: Counter[Row] = Counter()
        for leaf, count in job.tasks.items():
            tasks[rows_of_leaves[leaf]] += count
        jobs.append(_Waiting(job, tasks))
        request = job.request
        for row, count in tasks.items():
            row.since = first_time(row.since, job.since)
            priorities = (row.priority, request.priority)
            row.priority = max(
                (priority for priority in priorities if priority is not None), default=None
            )
            row.messages[request.message] += count * job.copies if request.message else 0
    return jobs


def _set_job_sizes(cluster: Cluster, jobs: list[_Waiting], rows_of_leaves: dict[Leaf, Row]) -> None:
    """Give rows of which all tasks are in jobs of one size, each of this row alone, that size."""
    sizes: dict[Row, set[int]] = {}
    tasks_in_jobs: Counter[Row] = Counter()
    entries = [(set(tasks), tasks.total(), job.copies) for job, tasks in jobs]
    entries += [
        ({rows_of_leaves[leaf] for leaf in tasks}, tasks.total(), 1)
        for tasks in cluster.running_jobs.values()
    ]
    for rows, size, copies in entries:
        for row in rows:
            sizes.setdefault(row, set()).add(size if len(rows) == 1 else 1)
            tasks_in_jobs[row] += size * copies
    for row, of_row in sizes.items():
        total = row.waiting + sum(row.running.values())
        if len(of_row) == 1 and tasks_in_jobs[row] == total:
            row.job_size = of_row.pop()


def _strand_jobs(jobs: list[_Waiting], users: set[Row]) -> list[_Waiting]:
    """Take jobs off what waits of which no node may take some task, and what comes after them.

    Return the others.
    """
    names = set()
    runnable = []
    for waiting in jobs:
        if all(row in users and not row.nowhere for row in waiting.tasks):
            runnable.append(waiting)
        elif waiting.job.name:
            names.add(waiting.job.name)
    for job, tasks in jobs:
        if job.name in names or job.request.after in names:
            for row, count in tasks.items():
                row.stranded += 0 if row.nowhere else count * job.copies
    return [waiting for waiting in runnable if waiting.job.request.after not in names]


def _waiting_jobs(jobs: list[_Waiting], users: list[Row]) -> pd.DataFrame:
    """Return the tasks of users that wait by job; single ones by what they have in common."""
    entries: list[tuple[Any, ...]] = []
    singles: dict[Row, Counter[Request]] = {row: Counter() for row in users}
    for job, tasks in jobs:
        for row, count in tasks.items():
            if job.name:
                entry = (job.name, row, count, job.copies, job.one_a_node, job.since, job.request)
                entries.append(entry)
            else:
                singles[row][job.request] += job.copies
    entries += [
        ("", row, 1, count, False, row.since, request)
        for row, requests in singles.items()
        for request, count in requests.items()
    ]
    table = [
        (
            name,
            row.leaf.label,
            row.leaf.queue,
            *fields,
            *request._replace(left_out=", ".join(request.left_out)),
        )
        for name, row, *fields, request in entries
    ]
    return pd.DataFrame(table, columns=list(_WAITING_COLUMNS), dtype=object)


def _pieces(nodes: list[Node], resources: list[str]) -> pd.DataFrame:
    """Return what is free on each machine of the servers that stand for several."""
    rows = [
        [node.name, *(piece.get(resource, 0.0) for resource in resources)]
        for node in nodes
        for piece in node.pieces
    ]
    return pd.DataFrame(rows, columns=["server", *resources])


def _with_staying_tasks(
    nodes: list[Node], rows: list[Row], resources: list[str], offered: np.ndarray
) -> tuple[list[Node], np.ndarray]:
    """Return the open nodes, and servers of tasks that may stay where no new ones may come.

    All such tasks of a user have one server together, with just their amounts.

    Returns
    -------
    list of Node
    ndarray
        The amounts of each.
    """
    demands = demands_of(rows, resources)
    remaining = offered.copy()
    staying: dict[Row, dict[int, int]] = {}  # tasks by node
    for row, demand in zip(rows, demands, strict=True):
        for k, count in row.running.items():
            if row.allowed is not None and not row.allowed[k]:
                staying.setdefault(row, {})[k] = count
                remaining[k] -= count * demand
    is_open = np.array([not node.closed for node in nodes], dtype=bool)
    servers = [node for node in nodes if not node.closed]
    amounts = list(np.maximum(remaining[is_open], 0.0))
    position = np.where(is_open, np.cumsum(is_open) - 1, -1)

    taken = {node.name for node in nodes}
    server_of: dict[Row, int] = {}
    for row, demand in zip(rows, demands, strict=True):
        if row not in staying:
            continue
        first, *others = [nodes[k] for k in staying[row]]
        name = f"{1 + len(others)} nodes" if others else first.name
        name = f"{name} ({row.leaf.label}, no new tasks)"
        while name in taken:
            name += " "
        taken.add(name)
        server_of[row] = len(servers)
        # what all of them have: quotas count by the labels of a flavor
        common = set(first.attributes.items()).intersection(*(n.attributes.items() for n in others))
        attributes = {
            key: value for key, value in first.attributes.items() if (key, value) in common
        }
        servers.append(Node(name, {}, attributes, first.closed or "no new tasks"))
        amounts.append(sum(staying[row].values()) * demand)

    for row in rows:
        running: Counter[int] = Counter()
        for k, count in row.running.items():
            is_staying = k in staying.get(row, {})
            running[server_of[row] if is_staying else int(position[k])] += count
        row.running = dict(running)
        mask = np.zeros(len(servers), dtype=bool)
        mask[position[is_open if row.allowed is None else is_open & row.allowed]] = True
        if row in server_of:
            mask[server_of[row]] = True
        row.allowed = None if mask.all() else mask
    return servers, np.array(amounts).reshape(len(servers), len(resources))


def _require_moderate_size(path: str, nodes: list[Node], rows: list[Row], by: str) -> None:
    """Raise where tables of users × nodes would be too large."""
    size = len(nodes) * len(rows) * BYTES_A_PAIR
    if size > MOST_BYTES:
        merging = (
            " (by='queue' makes one of all owners in a queue who ask for the same)"
            if by == "owner"
            else ""
        )
        raise TooLargeError(
            f"{path}: {len(rows)} users (owners and what they ask for) on {len(nodes)} nodes take "
            f"tables of {size / 2**30:.3g} GiB; read a part of the dump{merging}"
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
) -> Instance:
    """Return the instance of these capacities."""
    eligible = np.ones((len(rows), len(nodes)), dtype=bool)
    for n, row in enumerate(rows):
        if row.allowed is not None:
            eligible[n] = row.allowed

    servers = [node.name for node in nodes]
    keys = dict.fromkeys(key for node in nodes for key in node.attributes)
    attributes = {
        key: pd.Series([node.attributes.get(key) for node in nodes], servers, dtype=object)
        for key in keys
    }
    units = {
        resource: unit for resource, unit in cluster.units.items() if unit and resource in resources
    }
    instance = Instance.from_arrays(
        demands_of(rows, resources),
        capacities,
        users=[row.leaf.label for row in rows],
        servers=servers,
        resources=resources,
        task_limits=[row.waiting + sum(row.running.values()) for row in rows],
        job_sizes=[row.job_size for row in rows],
        eligible=eligible,
        queue=[row.leaf.queue for row in rows],
        queues=queue_rows(cluster, rows, resources, capacities.sum(axis=0)),
        units=units,
        server_attributes=pd.DataFrame(attributes) if attributes else None,
        name=cluster.scheduler,
    )
    note_large_quotas(cluster, instance)
    return with_placed_guarantees(cluster, instance)


def _observed(whole: Instance, rows: list[Row]) -> Allocation:
    """Return the tasks that run as an allocation of the instance of the whole capacity."""
    tasks = np.zeros((len(rows), len(whole.servers)))
    for n, row in enumerate(rows):
        for node, count in row.running.items():
            tasks[n, node] = count

    # γ, a slice of servers at a time: all at once would take as much memory as the tasks.
    gamma = np.zeros(len(rows))
    for start in range(0, len(whole.servers), _SLICE):
        servers = slice(start, start + _SLICE)
        alone = formulations.normalisers.tasks_alone(whole.demands, whole.capacities[servers])
        gamma += np.where(whole.eligible[:, servers], alone, 0.0).sum(axis=1)
    return Allocation(
        instance=whole,
        mechanism="observed",
        method=whole.name,
        tasks_array=tasks,
        gamma=gamma,
        tasks_per_level=gamma,
    )
