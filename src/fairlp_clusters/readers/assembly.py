"""From nodes, leaves and queues to the instance, what runs of it, and what waits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, Unpack

import numpy as np
import pandas as pd

import fairlp
from fairlp import Allocation, Instance, formulations
from fairlp.errors import InstanceError, SolverError, TooLargeError
from fairlp.toolkit import lists, quantity, tolerances

from ..dues.past import fair_with_past, history_of
from .cluster import (
    Cluster,
    Floats,
    Group,
    Job,
    Leaf,
    Node,
    Preemption,
    Record,
    add_amounts,
    name_in_path,
    unique_labels,
)


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """A cluster at one moment, as its scheduler prints it; :func:`fairlp_clusters.snapshot` reads one.

    Attributes
    ----------
    instance : Instance
        The users' demands and the capacity, with the scheduler's queues: the whole capacity, or
        the free part of it.
    observed : Allocation
        The tasks that run now, of the instance with the whole capacity (``observed.instance``).
    waiting : DataFrame
        ``user``, ``queue``, ``tasks`` that wait and may run, ``since`` when the first of them does,
        the highest ``priority`` among them (it does not count in fair shares), ``message``, the
        scheduler's own words for most of them, and why they run ``nowhere`` (empty where a node may
        take them); where these are known.
    held : DataFrame
        ``user``, ``queue``, ``tasks`` that may not run yet, and the scheduler's own ``reason``.
    hidden : Series
        By resource, the use that nodes report beyond the tasks of the dump; it counts as used.
        Empty where the two agree, or where nodes report none.
    not_understood : DataFrame
        ``file``, ``where``, ``what`` and what was ``done``: every part of the dump that the reader
        leaves out or interprets.
    scheduler : str
        ``kubernetes``, ``slurm`` or ``yarn``.
    shares : DataFrame
        Of cohorts and queues with quotas, by ``queue``: ``nominal``, the quotas of the queue and of
        what lends to it, ``borrowed``, what is admitted beyond them, and ``lendable``, what its
        cohort could have, as dominant shares of the pool (NaN of a root cohort and of a queue in
        none, which borrow nothing); ``weighted_share``, the dominant resource share of what is
        admitted (of what runs, where the dump does not list it) in thousandths, over the weight;
        and ``told``, the same as Kueue prints it. Of Slurm's accounts and users: the decayed
        ``usage`` and the ``fairshare`` factor of ``sshare``.
    tenants : Series
        The tenant of each user: the Slurm or YARN user, the ClusterQueue, the Volcano queue or the
        namespace whom the scheduler promises a share. A user of the instance is a part of a tenant:
        its tasks of one size. The name of the series is the scheduler's word for them.
    waiting_jobs : DataFrame
        The same tasks that wait, by job: ``job`` (its name; empty: each task is a job by itself),
        ``user``, ``queue``, ``tasks`` of one job, which run at once or not at all, the number of
        equal ``jobs``, ``one_a_node`` (each of its tasks needs a node of its own), ``since``,
        ``priority``, ``message``, ``left_out``, the constraints of the dump that do not count here,
        and ``after``, the job that has to start before it or with it. A job of several users has a
        row for each.
    running_jobs : DataFrame
        ``job``, ``user``, ``server``, ``tasks`` and ``priority`` of the jobs that run on it, as far
        as the dump groups tasks or knows priorities; every other task is a job by itself.
    asleep : Series
        By server, the state of nodes that sleep; they start when tasks need them.
    pieces : DataFrame
        Of servers that stand for several machines, by ``server``, what is free on each of them.
    preemption : Preemption
        Whom the scheduler lets give way to whom, as far as the dump says.
    no_fair_sharing : str
        Why the scheduler does not share fairly what queues lend; empty where it does.
    limits_reached : Series
        Limits besides queues and nodes that are used up, in words.
    node_count : int
        The nodes of the instance. A node has a server more for each user whose tasks may stay on
        it, though it would not take them now.
    jobs : Series
        Of Slurm: how many jobs ``run``, ``wait`` and ``are held``, as ``squeue -r`` counts them. A
        job on two nodes is two tasks of the instance.
    plugin : str
        The plugin of Volcano that shares among its queues: ``capacity``, ``proportion`` or ``drf``
        (by an annotated hierarchy); empty for none.
    history : Series
        By user, its past: the level (dominant share over weight) of its decayed use, times
        half-lives. With ``half_life=1`` it is a state of :func:`fairlp.allocate`. Empty where the
        dump says nothing of past use.
    """

    instance: Instance
    observed: Allocation
    waiting: pd.DataFrame
    not_understood: pd.DataFrame
    scheduler: str
    held: pd.DataFrame
    hidden: pd.Series[float]
    shares: pd.DataFrame = field(default_factory=pd.DataFrame)
    tenants: pd.Series[str] = field(default_factory=lambda: pd.Series(dtype=object))
    jobs: pd.Series[int] = field(default_factory=lambda: pd.Series(dtype=int))
    plugin: str = ""
    history: pd.Series[float] = field(default_factory=lambda: pd.Series(dtype=float))
    waiting_jobs: pd.DataFrame = field(default_factory=pd.DataFrame)
    running_jobs: pd.DataFrame = field(default_factory=pd.DataFrame)
    asleep: pd.Series[str] = field(default_factory=lambda: pd.Series(dtype=object))
    pieces: pd.DataFrame = field(default_factory=pd.DataFrame)
    preemption: Preemption = field(default_factory=Preemption)
    no_fair_sharing: str = ""
    limits_reached: pd.Series[str] = field(default_factory=lambda: pd.Series(dtype=object))
    node_count: int = 0

    @lists(formulations.options.FairTasksOptions)
    def fair_with_past(
        self, **options: Unpack[formulations.options.FairTasksOptions]
    ) -> Allocation | None:
        """Return the fair tasks of the next half-life, past use counted; None without a past.

        Parameters
        ----------
        **options
            As for :func:`fairlp.allocate`; the mechanism is ``h-drf-counted``.

        Returns
        -------
        Allocation or None
        """
        if self.history.empty:
            return None
        return fair_with_past(self.observed.instance, self.history, **options)

    def __repr__(self) -> str:
        running = self.observed.tasks_array.sum()
        waiting = self.waiting["tasks"].sum()
        held = f", {self.held['tasks'].sum()} may not run yet" if len(self.held) else ""
        return (
            f"<Snapshot of {self.scheduler}: {len(self.instance.users)} users, "
            f"{len(self.instance.servers)} servers, "
            f"{running:g} tasks run, {waiting} wait{held}, {len(self.not_understood)} lines not "
            "understood>"
        )


class IdleError(InstanceError):
    """Nothing runs in a dump, and nothing waits that could run."""


#: Amounts by queue and resource.
InQueues = dict[str, Floats]

# Rows of queues, as an instance takes them.


def queue_rows(
    cluster: Cluster, rows: list[Row], resources: list[str], pool: np.ndarray, in_use: InQueues
) -> dict[str, Record]:
    """Return weight, guarantee, cap and quotas of each queue by path, as an instance takes them.

    Queues of which the scheduler says nothing are listed, too.

    Parameters
    ----------
    cluster : Cluster
        Its ``queues``; a resource that is none of the instance's is noted and left out.
    rows : list of Row
        The users. All queues that they are in are returned.
    resources : list of str
    pool : ndarray, shape (R,)
        The capacity of all nodes.
    in_use : mapping
        By queue and resource, the part of its guarantee and cap that is in use already; empty for
        an instance of the whole capacity.
    """
    used_paths = [row.leaf.queue for row in rows]
    table: dict[str, Record] = {
        ancestor: {}
        for path in [*cluster.queues, *used_paths]
        for ancestor in fairlp.queues.lineage(path)
    }

    capacity = dict(zip(resources, pool.tolist(), strict=True))
    for path, queue in cluster.queues.items():
        row: Record = {"weight": queue.get("weight", 1.0)}
        for kind in ("guarantee", "cap"):
            row[kind] = _limits_left(cluster, path, kind, resources, in_use.get(path, {}))
        _lower_to_caps(cluster, path, row)
        if not in_use:
            row |= _quotas(queue, resources)
            _lower_to_pool(cluster, path, row, capacity)
        table[path] = row

    _note_excess_guarantees(cluster, table, capacity)
    return table


def _limits_left(
    cluster: Cluster, path: str, kind: str, resources: list[str], in_use: Floats
) -> Floats:
    """Return the finite amounts of a queue's guarantee or cap, less those in use."""
    limits = cluster.queues[path].get(kind, {})
    finite = {resource: limit for resource, limit in limits.items() if math.isfinite(limit)}
    for resource in sorted(set(finite) - set(resources)):
        message = f"{kind} of {resource!r}, which is no resource here"
        cluster.note("", f"queue {path!r}", message, "left out")
    return {
        resource: max(limit - in_use.get(resource, 0.0), 0.0)
        for resource, limit in finite.items()
        if resource in resources
    }


def _lower_to_caps(cluster: Cluster, path: str, row: Record) -> None:
    """Lower guarantees of a queue that are above its caps."""
    for resource, guarantee in row["guarantee"].items():
        cap = row["cap"].get(resource, math.inf)
        if guarantee > cap:
            message = f"guarantee of {resource!r}, {guarantee:g}, above its cap, {cap:g}"
            cluster.note("", f"queue {path!r}", message, "lowered to the cap")
            row["guarantee"][resource] = cap


def _lower_to_pool(cluster: Cluster, path: str, row: Record, capacity: Floats) -> None:
    """Lower guarantees above what all nodes have; quotas stay, and have their own note."""
    for resource, guarantee in row["guarantee"].items():
        total = capacity[resource]
        if guarantee > total:
            if not row["nominal"]:
                message = (
                    f"guarantee of {resource!r}, {guarantee:g}, above the {total:g} of all nodes"
                )
                cluster.note("", f"queue {path!r}", message, "lowered to that")
            row["guarantee"][resource] = total


def _note_large_quotas(cluster: Cluster, instance: Instance) -> None:
    """Note nominal quotas of queues that are above what the nodes of their flavor have."""
    quotas = instance.tree.quotas
    if quotas is None:
        return
    capacities = instance.total_capacities[:, quotas.resource]
    available = np.where(quotas.servers(instance).T, capacities, 0.0).sum(axis=0)
    nominal = np.nan_to_num(quotas.amounts[0])
    names = quotas.names(instance.resources)
    for v, m in np.argwhere(nominal > available * (1 + tolerances.AGREEMENT)).tolist():
        message = (
            f"nominal quota of {names[m]!r}, {nominal[v, m]:g}, above the {available[m]:g} of its "
            "nodes"
        )
        action = "unchanged: it counts as far as there are nodes"
        cluster.note("", f"queue {instance.tree.paths[v]!r}", message, action)


def _quotas(queue: Record, resources: list[str]) -> Record:
    """Return the quotas of a queue, by kind and column, of the instance's resources."""
    quotas: Record = {}
    for kind in fairlp.queues.KINDS:
        amounts = queue.get(kind, {})
        quotas[kind] = {
            column: amount
            for column, amount in amounts.items()
            if column.partition(fairlp.queues.AT)[0] in resources
        }
    return quotas


def _note_excess_guarantees(cluster: Cluster, table: dict[str, Record], pool: Floats) -> None:
    """Note guarantees of children that add up to more than their parent's cap, or than the pool."""
    children: dict[str, list[str]] = {}
    for path in table:
        if path != fairlp.queues.ROOT:
            children.setdefault(fairlp.queues.parent_of(path), []).append(path)

    # Of each queue its own guarantee, or those of its children, if they are more together.
    totals = {path: dict(queue.get("guarantee", {})) for path, queue in table.items()}
    for parent in sorted(children, key=lambda path: len(fairlp.queues.lineage(path)), reverse=True):
        paths = children[parent]
        place = f"queue {parent!r}" if parent else "the root"
        for resource, capacity in pool.items():
            total = sum(totals[path].get(resource, 0.0) for path in paths)
            totals[parent][resource] = max(totals[parent].get(resource, 0.0), total)
            limit = table[parent].get("cap", {}).get(resource, capacity)
            if total > limit and not math.isclose(total, limit):
                message = (
                    f"guarantees of {resource!r} below it add up to {total:g}, more than {limit:g}"
                )
                cluster.note("", place, message, "unchanged")


# From nodes and leaves to an instance.

#: Returns the mask of the nodes that a place may be on; None: all of them.
Allowed = Callable[[Hashable], np.ndarray | None]
#: Bytes of the tables of users × servers (tasks, and where they may run), at most.
MOST_BYTES = 4 * 2**30
BYTES_A_PAIR = 9
#: Nodes and tasks are not dumped at one instant: the use that they report may differ by this part.
USE_DISCREPANCY = 0.05
#: So often a guarantee without servers is lowered by what has none; then it is left out.
_TRIES = 30
#: Servers that γ is computed for at once.
_SLICE = 256


@dataclass(eq=False)
class Row:
    """A user of the instance: its leaf and group, running tasks, and where new ones may run.

    ``running`` counts tasks by position of the node, later of the server; ``allowed`` is a mask of
    the nodes that take new tasks of it, None for all. ``staying`` are the servers of its own, for
    tasks on nodes that would not take them now. ``nowhere`` is why no node may take a task of it
    that waits, and ``stranded`` counts tasks that wait for others of their jobs, which no node may
    take. ``job_size`` are the tasks of each of its jobs, where all of them have as many. A row is
    equal to itself alone.
    """

    leaf: Leaf
    group: Group
    running: dict[int, int]
    allowed: np.ndarray | None
    staying: list[int] = field(default_factory=list)
    nowhere: str = ""
    stranded: int = 0
    job_size: int = 1

    @property
    def waiting(self) -> int:
        """The tasks that wait and may run."""
        return 0 if self.nowhere else self.group.waiting - self.stranded


def assemble(cluster: Cluster, allowed: Allowed, path: str, capacity: str, by: str) -> Snapshot:
    """Return the snapshot of a cluster.

    Parameters
    ----------
    cluster : Cluster
    allowed : callable
        Where the tasks of a place may run.
    path : str
        The path of the dump, for error messages.
    capacity : {"whole", "free"}
    by : {"owner", "queue"}
    """
    nodes, rows_of_leaves = _nodes_and_rows(cluster, allowed, by)
    rows = list(dict.fromkeys(rows_of_leaves.values()))
    _require_moderate_size(path, nodes, rows, by)

    # Labels of all users, also of those who are left out of the instance below
    _label_rows(rows)
    held = _held_table(rows)
    _note_priorities(cluster, rows)
    all_rows = rows

    # Users: rows with tasks that run, or that wait and could run.
    rows = [
        row
        for row in rows
        if (row.running or row.group.waiting) and _may_run(cluster, row, allowed)
    ]
    _give_owners_queues(cluster, rows)
    resources, rows = _resources_and_rows(cluster, nodes, rows)
    stranded_names = _strand_jobs(cluster, rows_of_leaves, rows)
    rows = [row for row in rows if row.running or row.waiting]
    _set_job_sizes(cluster, rows_of_leaves)
    waiting = _waiting_table(all_rows)
    _require_nodes_and_users(path, cluster, nodes, rows)

    # Capacity: a node has its amounts less the use that only it reports; a closed node has the
    # amounts of the tasks that run on it.
    used = _used(rows, len(nodes), resources)
    offered = _offered(nodes, resources)
    _note_overcommitment(cluster, nodes, resources, offered, used)
    hidden = _hidden_use(nodes, resources, used)
    offered = np.maximum(offered - hidden, 0.0)
    node_count = len(nodes)
    running_jobs = _running_jobs(
        cluster, rows_of_leaves, {node.name: k for k, node in enumerate(nodes)}
    )
    nodes, offered, server_of = _with_staying_tasks(nodes, rows, resources, offered)

    whole = _instance(cluster, nodes, rows, resources, offered)
    observed = _observed(whole, rows)
    if capacity == "free":
        used = _used(rows, len(nodes), resources)
        free = np.maximum(offered - used, 0.0)
        instance = _free_instance(path, cluster, nodes, rows, resources, free)
    else:
        instance = whole
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
        shares=_shares(cluster, observed),
        tenants=tenants,
        jobs=pd.Series(cluster.jobs, dtype=object).astype(int),
        plugin=cluster.plugin,
        history=history_of(whole, [row.leaf.owner for row in rows], cluster.past),
        waiting_jobs=_waiting_jobs(cluster, rows_of_leaves, rows, stranded_names),
        running_jobs=_running_job_table(running_jobs, server_of, nodes),
        asleep=pd.Series({node.name: node.asleep for node in nodes if node.asleep}, dtype=object),
        pieces=_pieces(nodes, resources),
        preemption=cluster.preemption,
        no_fair_sharing=cluster.no_fair_sharing,
        limits_reached=pd.Series(cluster.limits_reached, dtype=object),
        node_count=node_count,
    )


def _set_job_sizes(cluster: Cluster, rows_of_leaves: dict[Leaf, Row]) -> None:
    """Give rows of which all tasks are in jobs of one size, each of this row alone, that size."""
    jobs = [(list(job.tasks), sum(job.tasks.values()), job.copies) for job in cluster.waiting_jobs]
    jobs += [
        ([leaf for leaf, _ in job.tasks], job.tasks.total(), 1)
        for job in cluster.running_jobs.values()
    ]
    sizes: dict[Row, set[int]] = {}
    tasks_in_jobs: Counter[Row] = Counter()
    for leaves, size, copies in jobs:
        rows = {rows_of_leaves[leaf] for leaf in leaves}
        for row in rows:
            sizes.setdefault(row, set()).add(size if len(rows) == 1 else 1)
            tasks_in_jobs[row] += size * copies
    for row in dict.fromkeys(rows_of_leaves.values()):
        of_row = sizes.get(row, set())
        total = row.waiting + sum(row.running.values())
        if len(of_row) == 1 and tasks_in_jobs[row] == total:
            row.job_size = of_row.pop()


def _can_run(job: Job, rows_of_leaves: dict[Leaf, Row], users: set[Row]) -> bool:
    """Whether nodes may take all tasks of a job."""
    rows = [rows_of_leaves[leaf] for leaf in job.tasks]
    return all(row in users and not row.nowhere for row in rows)


def _strand_jobs(cluster: Cluster, rows_of_leaves: dict[Leaf, Row], users: list[Row]) -> set[str]:
    """Take jobs off what waits of which no node may take some task, and what comes after them.

    Return the names of these jobs.
    """
    stranded_names = set()
    are_users = set(users)
    for job in cluster.waiting_jobs:
        if _can_run(job, rows_of_leaves, are_users):
            continue
        stranded_names.add(job.name)
        for leaf, count in job.tasks.items():
            row = rows_of_leaves[leaf]
            if not row.nowhere:
                row.stranded += count * job.copies
    for row in dict.fromkeys(rows_of_leaves.values()):
        if not row.nowhere:
            requests = row.group.requests.items()
            row.stranded += sum(
                count for request, count in requests if request.after in stranded_names
            )
    return stranded_names


#: The columns of jobs that wait, and of those that run.
_WAITING_COLUMNS = (
    "job", "user", "queue", "tasks", "jobs", "one_a_node", "since", "priority", "message",
    "left_out", "after",
)  # fmt: skip
_RUNNING_COLUMNS = ("job", "user", "server", "tasks", "priority")


def _waiting_jobs(
    cluster: Cluster, rows_of_leaves: dict[Leaf, Row], users: list[Row], stranded_names: set[str]
) -> pd.DataFrame:
    """Return the tasks of users that wait by job; those of no job by what they have in common."""
    are_users = set(users)
    single_tasks = {row: Counter(row.group.requests) for row in users}
    entries: list[tuple[Any, ...]] = []
    for job in cluster.waiting_jobs:
        rows = [rows_of_leaves[leaf] for leaf in job.tasks]
        tasks_of_rows: Counter[Row] = Counter()
        for row, count in zip(rows, job.tasks.values(), strict=True):
            tasks_of_rows[row] += count
            if row in single_tasks:
                single_tasks[row][job.request] -= count * job.copies
        if _can_run(job, rows_of_leaves, are_users):
            entries += [
                (job.name, row, count, job.copies, job.one_a_node, job.since, job.request)
                for row, count in tasks_of_rows.items()
            ]
    for row in users:
        if not row.nowhere:
            entries += [
                ("", row, 1, count, False, row.group.since, request)
                for request, count in single_tasks[row].items()
                if count > 0 and request.after not in stranded_names
            ]
    table = [
        (
            name,
            row.leaf.label,
            row.leaf.queue,
            tasks,
            copies,
            one_a_node,
            since,
            request.priority,
            request.message,
            ", ".join(request.left_out),
            request.after,
        )
        for name, row, tasks, copies, one_a_node, since, request in entries
    ]
    return pd.DataFrame(table, columns=list(_WAITING_COLUMNS), dtype=object)


#: Tasks of a job that runs, by its name, row and node, and its priority.
RunningTasks = list[tuple[str, Row, int, int, float | None]]


def _running_jobs(
    cluster: Cluster, rows_of_leaves: dict[Leaf, Row], position: dict[str, int]
) -> RunningTasks:
    """Return the tasks that run in jobs, and those of no job with a known priority."""
    tasks: RunningTasks = []
    for name, job in cluster.running_jobs.items():
        tasks += [
            (name, rows_of_leaves[leaf], position[node], count, job.priority)
            for (leaf, node), count in job.tasks.items()
        ]
    for row in dict.fromkeys(rows_of_leaves.values()):
        tasks += [
            ("", row, position[node], count, priority)
            for (node, priority), count in row.group.running_priorities.items()
        ]
    return tasks


def _running_job_table(
    tasks: RunningTasks, server_of: dict[tuple[Row, int], int], nodes: list[Node]
) -> pd.DataFrame:
    """Return the tasks of jobs that run as a table, by server."""
    rows = [
        (name, row.leaf.label, nodes[server_of[row, node]].name, count, priority)
        for name, row, node, count, priority in tasks
        if (row, node) in server_of
    ]
    return pd.DataFrame(rows, columns=list(_RUNNING_COLUMNS), dtype=object)


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
) -> tuple[list[Node], np.ndarray, dict[tuple[Row, int], int]]:
    """Return servers, so that tasks which may stay where no new ones may come have their own.

    Where one user alone has tasks on a closed node, that is the node itself. The other tasks of a
    user that stay have one server together.

    Returns
    -------
    list of Node
        The nodes, without closed ones of several users, and the servers of tasks that stay.
    ndarray
        The amounts of each.
    dict
        By row and position of the node, the position of the server.
    """
    demands = _demands(rows, resources)
    staying: dict[int, list[tuple[Row, np.ndarray]]] = {}  # by node: rows with what they use
    for row, demand in zip(rows, demands, strict=True):
        for k, count in row.running.items():
            if row.allowed is not None and not row.allowed[k]:
                staying.setdefault(k, []).append((row, count * demand))

    # Servers that stand for nodes, and closed nodes of one user
    servers: list[Node] = []
    amounts: list[np.ndarray] = []
    server_of: dict[tuple[Row, int], int] = {}
    position = np.full(len(nodes), -1)
    shared: dict[Row, list[tuple[int, np.ndarray]]] = {}  # nodes with what a row uses
    for k, node in enumerate(nodes):
        residents = staying.get(k, [])
        if node.closed and len(residents) == 1:
            ((row, use),) = residents
            server_of[row, k] = len(servers)
            row.staying.append(len(servers))
            servers.append(node)
            amounts.append(use)
            continue
        for row, use in residents:
            shared.setdefault(row, []).append((k, use))
        if not node.closed:
            position[k] = len(servers)
            servers.append(node)
            total_use = sum((use for _, use in residents), np.zeros(len(resources)))
            amounts.append(np.maximum(offered[k] - total_use, 0.0))

    # A server of each user for all of its other tasks that stay
    taken = {node.name for node in nodes}
    for row in filter(shared.__contains__, rows):
        places = shared[row]
        first = nodes[places[0][0]]
        name = first.name if len(places) == 1 else f"{len(places)} nodes"
        name = f"{name} ({row.leaf.label}, no new tasks)"
        while name in taken:
            name += " "
        taken.add(name)
        for k, _ in places:
            server_of[row, k] = len(servers)
        row.staying.append(len(servers))
        attributes = first.attributes if len(places) == 1 else {}
        servers.append(Node(name, {}, attributes, first.closed or "no new tasks"))
        amounts.append(np.sum([use for _, use in places], axis=0))

    stands_for_a_node = position >= 0
    for row in rows:
        running: dict[int, int] = {}
        for k, count in row.running.items():
            server = server_of.setdefault((row, k), int(position[k]))
            running[server] = running.get(server, 0) + count
        row.running = running
        mask = np.zeros(len(servers), dtype=bool)
        is_open = stands_for_a_node if row.allowed is None else stands_for_a_node & row.allowed
        mask[position[is_open]] = True
        mask[row.staying] = True
        row.allowed = None if mask.all() else mask
    return servers, np.array(amounts).reshape(len(servers), len(resources)), server_of


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


def _note_priorities(cluster: Cluster, rows: list[Row]) -> None:
    """Note that priorities differ, where they do."""
    priorities = set().union(*(row.group.priorities for row in rows))
    if len(priorities) > 1:
        message = f"their priorities differ, and {cluster.scheduler} takes the highest first"
        cluster.note("", "tasks that wait", message, "they do not count in fair shares")


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
        reasons = [reason for group in cluster.groups.values() for reason in group.held_tasks]
        if reasons:
            message += f" ({reasons[0]})"
    is_idle = bool(nodes) and not cluster.absent
    raise (IdleError if is_idle else InstanceError)(
        f"{path}: {message}; expected the nodes of one cluster and what runs on them, dumped "
        "together"
    )


def _free_instance(
    path: str,
    cluster: Cluster,
    nodes: list[Node],
    rows: list[Row],
    resources: list[str],
    free: np.ndarray,
) -> Instance:
    """Return the instance of the free capacity and the tasks that wait."""
    # Users who need a resource that is used up everywhere are left out, and so is the resource.
    used_up = {resources[r] for r in np.flatnonzero(~free.any(axis=0))}
    for resource in sorted(used_up):
        action = "left out, with the users who need it"
        cluster.note("", f"resource {resource!r}", "nothing of it is free", action)
    users = [row for row in rows if used_up.isdisjoint(resource for resource, _ in row.leaf.demand)]
    if not users:
        raise InstanceError(
            f"{path}: nothing is free that any task asks for; capacity='whole' takes all capacity"
        )

    demanded = {resource for row in users for resource, _ in row.leaf.demand}
    columns = [r for r, resource in enumerate(resources) if resource in demanded]
    names = [resources[r] for r in columns]
    return _instance(cluster, nodes, users, names, free[:, columns], _use_by_queue(rows))


def _nodes_and_rows(
    cluster: Cluster, allowed: Allowed, by: str
) -> tuple[list[Node], dict[Leaf, Row]]:
    """Return the nodes that count, and the row of each leaf: leaves that may run on the same."""
    # A closed node counts while tasks run on it.
    busy = {node for group in cluster.groups.values() for node in group.running}
    counts = np.array(
        [not node.closed or node.name in busy for node in cluster.nodes.values()], dtype=bool
    )
    for node in cluster.nodes.values():
        if node.closed:
            message = f"it takes no new tasks ({node.closed})"
            action = "it counts with what runs on it" if node.name in busy else "left out"
            cluster.note(node.file, f"node {node.name!r}", message, action)
    nodes = list(compress(cluster.nodes.values(), counts))
    position = {node.name: k for k, node in enumerate(nodes)}
    is_open = np.array([not node.closed for node in nodes], dtype=bool)

    # Leaves of one queue, owner, demand and set of nodes are one row.
    masks: dict[Hashable, np.ndarray | None] = {}
    rows: dict[tuple[Any, ...], Row] = {}
    rows_of_leaves: dict[Leaf, Row] = {}
    for leaf, group in cluster.groups.items():
        original_leaf = leaf
        if by == "queue":
            queue = cluster.queues_of_owners.get(leaf.queue, leaf.queue)
            name = queue or "all"
            leaf = leaf._replace(queue=queue, owner="", label=name, tenant=name)
        if leaf.place not in masks:
            of_place = allowed(leaf.place)
            mask = is_open if of_place is None else of_place[counts] & is_open
            masks[leaf.place] = None if mask.all() else mask
        mask_or_all = masks[leaf.place]
        packed_mask = b"" if mask_or_all is None else np.packbits(mask_or_all).tobytes()
        key = (leaf.queue, leaf.owner, leaf.demand, packed_mask)
        row = rows.setdefault(key, Row(leaf, Group(), {}, mask_or_all))
        row.group.add(group)
        rows_of_leaves[original_leaf] = row

    for row in rows.values():
        row.running = {position[node]: count for node, count in row.group.running.items()}
    return nodes, rows_of_leaves


def _label_rows(rows: list[Row]) -> None:
    """Give each row a label of its own."""
    labels = unique_labels(row.leaf.label or row.leaf.queue or "all" for row in rows)
    for row, label in zip(rows, labels, strict=True):
        row.leaf = row.leaf._replace(label=label)


#: Why tasks run nowhere that have nodes.
_STRANDED = "no node may take other tasks of its job, and all of them run at once"


def _waiting_table(rows: list[Row]) -> pd.DataFrame:
    """Return the rows of which tasks wait that may run."""
    entries = []
    for row in rows:
        group = row.group
        if group.waiting > 0:
            priority = max(group.priorities, default=None)
            messages: Counter[str] = Counter()
            for request, count in group.requests.items():
                messages[request.message] += count if request.message else 0
            message = max(messages, key=messages.__getitem__, default="")
            common = (group.since, priority, message)
            count = group.waiting if row.nowhere else row.waiting
            if count:
                entry = (row.leaf.label, row.leaf.queue, count, *common, row.nowhere)
                entries.append(entry)
            if row.stranded and not row.nowhere:
                entry = (row.leaf.label, row.leaf.queue, row.stranded, *common, _STRANDED)
                entries.append(entry)
    columns = ["user", "queue", "tasks", "since", "priority", "message", "nowhere"]
    return pd.DataFrame(entries, columns=columns, dtype=object).astype({"tasks": int})


def _held_table(rows: list[Row]) -> pd.DataFrame:
    """Return the rows of which tasks may not run yet, by the scheduler's reason."""
    entries = [
        (row.leaf.label, row.leaf.queue, tasks, reason)
        for row in rows
        for reason, tasks in row.group.held_tasks.items()
    ]
    columns = ["user", "queue", "tasks", "reason"]
    return pd.DataFrame(entries, columns=columns, dtype=object).astype({"tasks": int})


def _give_owners_queues(cluster: Cluster, rows: list[Row]) -> None:
    """Put the rows of an owner with several demands below a queue of the owner.

    Owners are then equal siblings, however many demands they have.
    """
    rows_of_owner: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.leaf.owner:
            rows_of_owner.setdefault((row.leaf.queue, row.leaf.owner), []).append(row)

    used_paths = [*cluster.queues, *(row.leaf.queue for row in rows)]
    taken_paths = {ancestor for path in used_paths for ancestor in fairlp.queues.lineage(path)}
    parents = {fairlp.queues.parent_of(path) for path in taken_paths if path != fairlp.queues.ROOT}
    owners = Counter(queue for queue, _ in rows_of_owner)
    for (queue, _), owner_rows in rows_of_owner.items():
        has_siblings = owners[queue] > 1 or queue in parents
        if len(owner_rows) > 1 and has_siblings:
            name = owner_rows[0].leaf.label.removeprefix(f"{queue}/")
            path = f"{queue}/{name_in_path(name)}".lstrip("/")
            if path in taken_paths:
                path += " (owner)"
            for row in owner_rows:
                row.leaf = row.leaf._replace(queue=path)


def _hidden_use(nodes: list[Node], resources: list[str], used: np.ndarray) -> np.ndarray:
    """Return the use that nodes report beyond the tasks, by node and resource; 0 where it is small.

    It is small where its sum over all nodes is within `USE_DISCREPANCY` of what they report.
    """
    reported = np.array(
        [[node.in_use.get(resource, np.nan) for resource in resources] for node in nodes],
        dtype=float,
    )
    beyond = np.maximum(np.nan_to_num(reported - used), 0.0)
    matters = beyond.sum(axis=0) > USE_DISCREPANCY * np.nansum(reported, axis=0)
    return np.where(matters, beyond, 0.0)


def _may_run(cluster: Cluster, row: Row, allowed: Allowed) -> bool:
    """Return whether a row has tasks that run, or a node that takes new ones."""
    if row.allowed is None:
        return True
    place = f"user {row.leaf.label!r}"
    running_nodes = np.array(list(row.running), dtype=int)
    refusing_nodes = running_nodes[~row.allowed[running_nodes]]
    if len(refusing_nodes):
        message = (
            f"{len(refusing_nodes)} of its nodes would not take it now (closed, or what it asks of "
            "nodes)"
        )
        cluster.note("", place, message, "it may stay on them")
    if not row.allowed.any() and row.group.waiting:
        of_place = allowed(row.leaf.place)
        if of_place is None or of_place.any():
            row.nowhere = "the nodes that it may be on take no new tasks"
        else:
            row.nowhere = cluster.why_nowhere(row.leaf.place)
        message = f"no node may take its tasks ({row.group.waiting} wait)"
        cluster.note("", place, message, "left out of the instance, listed among what waits")
    return bool(row.running) or bool(row.allowed.any())


def _resources_and_rows(
    cluster: Cluster, nodes: list[Node], rows: list[Row]
) -> tuple[list[str], list[Row]]:
    """Return the resources that tasks ask for and nodes have, and the rows that ask for them."""
    demanded = {resource for row in rows for resource, _ in row.leaf.demand}
    of_all_nodes = _resources_of(cluster.nodes.values())
    of_open_nodes = _resources_of(node for node in nodes if not node.closed)
    # a closed node has what runs on it
    of_closed_nodes = {
        resource
        for row in rows
        for resource, _ in row.leaf.demand
        if any(nodes[k].closed for k in row.running)
    }
    available = of_open_nodes | (of_closed_nodes & of_all_nodes)

    for resource in sorted(demanded - available):
        lacking = "no node that takes new tasks" if resource in of_all_nodes else "no node"
        message = f"it is asked for, but {lacking} has it"
        cluster.note("", f"resource {resource!r}", message, "left out, with those who only wait")
    for resource in sorted(of_all_nodes - demanded):
        message = "nodes have it, but no task asks for it"
        cluster.note("", f"resource {resource!r}", message, "left out")

    rank = {resource: k for k, resource in enumerate(cluster.order)}
    resources = sorted(
        demanded & available, key=lambda resource: (rank.get(resource, len(rank)), resource)
    )
    users = [row for row in rows if _ask_for_available(cluster, row, available)]
    return resources, users


def _resources_of(nodes: Iterable[Node]) -> set[str]:
    """Return the resources of which some node has a positive amount."""
    return {resource for node in nodes for resource, amount in node.amounts.items() if amount > 0}


def _ask_for_available(cluster: Cluster, row: Row, available: set[str]) -> bool:
    """Take resources that no node has off a row's demand; return whether the row remains a user.

    It remains if it still demands something and, where it lacks a resource, some of its tasks run.
    """
    missing = [resource for resource, _ in row.leaf.demand if resource not in available]
    demand = tuple(
        (resource, amount) for resource, amount in row.leaf.demand if resource in available
    )
    row.leaf = row.leaf._replace(demand=demand)
    if demand and not (missing and not row.running):
        return True
    message = (
        f"no node may take its tasks: {', '.join(missing)} is nowhere"
        if missing
        else "its tasks ask for nothing"
    )
    row.nowhere = f"no node that takes new tasks has {', '.join(missing)}" if missing else message
    message += f" ({sum(row.running.values())} run, {row.group.waiting} wait)"
    cluster.note("", f"user {row.leaf.label!r}", message, "left out of the instance")
    return False


def _demands(rows: list[Row], resources: list[str]) -> np.ndarray:
    """Return the demands of the rows, (N, R)."""
    demands = [dict(row.leaf.demand) for row in rows]
    return np.array([[demand.get(resource, 0.0) for resource in resources] for demand in demands])


def _offered(nodes: list[Node], resources: list[str]) -> np.ndarray:
    """Return the amounts of the nodes, (K, R)."""
    return np.array(
        [[node.amounts.get(resource, 0.0) for resource in resources] for node in nodes], dtype=float
    )


def _used(rows: list[Row], node_count: int, resources: list[str]) -> np.ndarray:
    """Return the use of each node by the tasks that run on it, (K, R)."""
    used = np.zeros((node_count, len(resources)))
    for row, demand in zip(rows, _demands(rows, resources), strict=True):
        for node, tasks in row.running.items():
            used[node] += tasks * demand
    return used


def _note_overcommitment(
    cluster: Cluster, nodes: list[Node], resources: list[str], offered: np.ndarray, used: np.ndarray
) -> None:
    """Note nodes of which more is in use than they have."""
    for k, r in np.argwhere(used > offered).tolist():
        in_use = f"{used[k, r]:g} of {resources[r]!r} are in use"
        message = f"{in_use}, of {offered[k, r]:g}"
        action = "observed all the same; nothing of it is free"
        cluster.note(nodes[k].file, f"node {nodes[k].name!r}", message, action)


def _use_by_queue(rows: list[Row]) -> InQueues:
    """Return the amounts of the tasks that run in each queue and below it, by resource."""
    in_use: InQueues = {}
    for row in rows:
        tasks = sum(row.running.values())
        for path in fairlp.queues.lineage(row.leaf.queue):
            add_amounts(in_use.setdefault(path, {}), dict(row.leaf.demand), tasks)
    return in_use


def _instance(
    cluster: Cluster,
    nodes: list[Node],
    rows: list[Row],
    resources: list[str],
    capacities: np.ndarray,
    in_use: InQueues | None = None,
) -> Instance:
    """Return the instance of these capacities.

    ``in_use`` is the use of each queue where the capacities are the free ones: users then have the
    tasks that wait, and queues the rest of their guarantees and caps.
    """
    eligible = np.ones((len(rows), len(nodes)), dtype=bool)
    for n, row in enumerate(rows):
        if row.allowed is not None:
            eligible[n] = row.allowed

    task_limits = [row.waiting for row in rows]
    if in_use is None:
        running = [sum(row.running.values()) for row in rows]
        task_limits = [waiting + runs for waiting, runs in zip(task_limits, running, strict=True)]

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
        _demands(rows, resources),
        capacities,
        users=[row.leaf.label for row in rows],
        servers=servers,
        resources=resources,
        task_limits=task_limits,
        job_sizes=[row.job_size for row in rows],
        eligible=eligible,
        queue=[row.leaf.queue for row in rows],
        queues=queue_rows(cluster, rows, resources, capacities.sum(axis=0), in_use or {}),
        units=units,
        server_attributes=pd.DataFrame(attributes) if attributes else None,
        name=cluster.scheduler,
    )
    _note_large_quotas(cluster, instance)
    return _with_placed_guarantees(cluster, instance)


def _with_placed_guarantees(cluster: Cluster, instance: Instance) -> Instance:
    """Return the instance with guarantees lowered to what servers can hold, which is noted."""
    queues = instance.tree
    if not queues.guarantees.any():
        return instance

    # Lower the guarantees by what finds no server, from the second time on by a little more, so
    # that steps that halve what is missing come to an end, with room. Where that fails, drop them.
    before = queues.guarantees
    lowered = before
    is_oversized = instance.users.labels.isin(instance.oversized().index)
    for k in range(_TRIES + 1):
        try:
            unplaced_tasks = fairlp.queues.unplaced(instance)
            if is_oversized.any() and not unplaced_tasks.any():
                # Reports leave out tasks that fit no server: others have their part.
                limits = np.where(is_oversized, 0.0, instance.task_limits)
                unplaced_tasks = fairlp.queues.unplaced(instance.derived(task_limits=limits))
        except SolverError:
            lowered = np.zeros(before.shape)
            instance = instance.derived(queues=replace(queues, guarantees=lowered))
            break
        if not unplaced_tasks.any():
            if k > 1:
                lowered = np.where(
                    lowered < before, lowered * (1 - tolerances.GUARANTEE_ROOM), lowered
                )
                instance = instance.derived(queues=replace(queues, guarantees=lowered))
            break
        unplaced_amounts = queues.below @ (unplaced_tasks[:, None] * instance.demands)
        is_lacking = unplaced_amounts.any(axis=1, keepdims=True)
        if k == _TRIES:
            lowered = np.where(is_lacking, 0.0, lowered)
        else:
            margin = tolerances.GUARANTEE_ROOM * before if k else 0.0
            lowered = np.maximum(lowered - unplaced_amounts - margin * is_lacking, 0.0)
            # An amount of 0 would be one that the guarantee does not name: drop the others, too.
            is_gone = ((before > 0) & (lowered == 0)).any(axis=1, keepdims=True)
            lowered = np.where(is_gone, 0.0, lowered)
        instance = instance.derived(queues=replace(queues, guarantees=lowered))

    # Of each queue, note the resource that loses the largest part.
    loss = before - lowered
    lost_part = np.divide(loss, before, out=np.zeros(before.shape), where=before > 0)
    for v in np.flatnonzero(lost_part.any(axis=1)).tolist():
        r = int(lost_part[v].argmax())
        resource = str(instance.resources[r])
        unit = instance.units.get(resource, "")
        amount, of_what = (quantity(table[v, r], resource, unit) for table in (loss, before))
        message = f"{amount.partition(' ')[0]} of {of_what} of its guarantee have no node"
        action = "the guarantee is lowered to what has one"
        cluster.note("", f"queue {queues.paths[v]!r}", message, action)
    return instance


def _shares(cluster: Cluster, observed: Allocation) -> pd.DataFrame:
    """Return the weighted shares of queues with quotas, and the scheduler's own figures."""
    instance = observed.instance
    queues = instance.tree
    figures = pd.DataFrame.from_dict(cluster.share_figures, orient="index").rename_axis("queue")
    if cluster.deserved:
        whole_pool = dict(zip(instance.resources, instance.pool.tolist(), strict=True))
        deserved = {
            path: max(amounts.get(resource, 0.0) / whole for resource, whole in whole_pool.items())
            for path, amounts in cluster.deserved.items()
        }
        return pd.DataFrame({"deserved": deserved}).rename_axis("queue")
    if queues.quotas is None:
        return figures

    # Use of the quotas: by what the scheduler admits, or, where the dump lists none, by what runs.
    tree, used = fairlp.queues.usage_of(instance, observed.tasks_array)
    if cluster.admitted:
        columns = queues.quotas.names(instance.resources)
        admitted = np.zeros(used.shape)
        for path, amounts in cluster.admitted.items():
            admitted[queues.named(path)] = [amounts.get(column, 0.0) for column in columns]
        used = tree.upward(admitted)

    # Of nodes that are queues; users, which come behind them, have no quotas.
    count = len(queues)
    paths = queues.paths.labels.rename("queue")
    shares = 1000 * tree.shares(used)[:count]
    pool = instance.pool
    amounts_borrowed = np.maximum(used - tree.owned, 0.0) @ tree.sums
    borrowed = (amounts_borrowed / pool)[:count].max(axis=1)
    # Of weight 0, any borrowing is without limit, also of what no other queue lends.
    shares[tree.is_late[:count] & (borrowed > 0)] = np.inf
    # A root cohort, and a queue in none, borrows from no other.
    borrowed[queues.depths <= 1] = np.nan
    table = pd.DataFrame(
        {
            "nominal": (tree.owned @ tree.sums / pool)[:count].max(axis=1),
            "borrowed": borrowed,
            "lendable": np.where(queues.depths > 1, (tree.lent / pool)[:count].max(axis=1), np.nan),
            "weighted_share": shares,
            "told": figures.reindex(paths, columns=["told"])["told"].to_numpy(),
        },
        index=paths,
    )
    has_quotas = np.array(queues.quotas.listed.any(axis=1))
    for v in range(count - 1, 0, -1):  # cohorts have the quotas below them
        has_quotas[queues.parents[v]] |= has_quotas[v]
    return table.iloc[1 + np.flatnonzero(has_quotas[1:])]


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
