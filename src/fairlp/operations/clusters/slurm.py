"""Slurm: ``scontrol show nodes --json``, ``squeue --json``, and its accounts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from ...models.files.whole_files import read_text
from .assembly import Allowed
from .cluster import (
    Amounts,
    Cluster,
    EntryError,
    Leaf,
    Node,
    Record,
    Request,
    Where,
    demand_of,
    list_at,
    mapping_at,
    text_at,
    value_at,
)
from .slurm_accounts import Accounts, read_half_life
from .slurm_nodes import (
    NodeFeatures,
    NodeRequest,
    allowed_nodes,
    feature_terms,
    node_amounts,
    node_use,
    why_nowhere,
)
from .slurm_text import (
    MOST,
    UNCOUNTED,
    array_tasks,
    array_throttle,
    gres,
    hosts,
    number,
    time_of,
    tres,
    words_at,
)
from .sources import END, SLURM_CONFIG, is_json, members

_UNITS = {"cpu": "cores", "memory": "MiB", "gpu": ""}
_CLOSED_STATES = frozenset(
    {
        "DOWN",
        "DRAIN",
        "DRAINED",
        "DRAINING",
        "FAIL",
        "FAILING",
        "ERROR",
        "FUTURE",
        "UNKNOWN",
        "NOT_RESPONDING",
    }
    | {"INVALID_REG", "MAINTENANCE", "POWER_DOWN", "POWERED_DOWN", "POWERING_DOWN"}
)
_RUNNING_STATES = frozenset({"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING"})
_WAITING_STATES = frozenset({"PENDING", "REQUEUED"})
#: Reasons of pending jobs that only lack room; every other reason (a hold, a dependency, a limit of
#: a QOS or account, …) stops a job.
_REASONS_OF_LACK_OF_ROOM = frozenset({"", "None", "Priority", "Resources"})
#: Keys about a file, and the mark of its end.
_KEYS_OF_FILES = frozenset(
    {"meta", "errors", "warnings", "plugin", "last_update", "last_backfill", END}
)


class _Job(NamedTuple):
    """A job: its account, user and place, its portions on nodes, and how many portions wait.

    A portion is the part of a job, or of one task of an array, on one node: an array of 3 tasks on
    2 nodes each has 6 portions. Each portion is a task of the cluster.

    ``portions`` are the node and the amounts of each portion that runs; of a job that waits, the
    amounts of one portion, with no node. ``held_portions`` count by reason those that may not run
    yet. ``array`` is the number of the job's array, empty for none; ``throttle`` counts tasks of
    it, each on ``node_count`` nodes. ``message`` is Slurm's description of why the job waits.
    """

    account: str
    user: str
    place: NodeRequest
    portions: list[tuple[str, Amounts]]
    waiting_portions: int
    held_portions: dict[str, int]
    since: str | None
    where: Where
    array: str
    throttle: int | None
    priority: float | None
    node_count: int
    message: str


class SlurmReader:
    """The reader of nodes, jobs and accounts.

    :meth:`read` reads one file. After the last, :meth:`finish` puts each job in the queue of its
    account and user.
    """

    def __init__(self) -> None:
        self.cluster = Cluster("slurm", _UNITS)
        self.note = self.cluster.notes.add
        self.accounts = Accounts(self.cluster.notes)
        self.jobs: dict[str, _Job] = {}
        self.node_features: dict[str, NodeFeatures] = {}

    def read(self, path: Path) -> None:
        """Read a file: a table of accounts, or JSON with nodes, jobs, associations or shares."""
        text = read_text(path)
        if text.startswith(SLURM_CONFIG):
            self.accounts.half_life = read_half_life(text)
            return
        if not is_json(text):
            self.accounts.read_table(text, path.name)
            return

        readers = {
            "nodes": self._read_node,
            "jobs": self._read_job,
            "associations": self.accounts.read_association,
            "shares": self.accounts.read_share,
        }
        for key, value in members(text, path):
            if key in _KEYS_OF_FILES or value == []:
                continue
            entries: Any = [value]  # `members` yields nodes, jobs and associations one by one
            if key == "shares":
                entries = value.get("shares") if isinstance(value, dict) else value
            if key not in readers or not isinstance(entries, list):
                self.note(path.name, f"key {key!r}", "it is not read", "left out")
                continue
            for entry in entries:
                self.cluster.notes.read_entry(
                    readers[key], entry, path.name, f"{key}:", "name", "job_id", "account"
                )

    def _read_node(self, entry: Record, file: str) -> None:
        name = text_at(entry, "name")
        if not name:
            raise EntryError("it has no name")
        states = words_at(entry, "state") + words_at(entry, "state_flags")
        closed = [state for state in states if state.rstrip("*$~#!%@^-").upper() in _CLOSED_STATES]
        amounts = node_amounts(entry)
        if any(state.upper() == "RESERVED" for state in states):
            self.note(file, f"node {name!r}", "it is in a reservation", "taken as open to all")

        partitions = words_at(entry, "partitions")
        features = words_at(entry, "active_features") or words_at(entry, "features")
        if name not in self.cluster.nodes:
            self.node_features[name] = NodeFeatures(partitions, features)
        attributes = {"partitions": ",".join(partitions), "features": ",".join(features)}
        in_use = node_use(entry)
        self.cluster.add(Node(name, amounts, attributes, "+".join(closed), file, in_use))

    def _read_job(self, entry: Record, file: str) -> None:
        name = str(entry.get("job_id", "?"))
        where = file, f"job {name}"
        states = {state.upper() for state in words_at(entry, "job_state")}
        if not states & (_RUNNING_STATES | _WAITING_STATES):
            message = f"it has finished ({'+'.join(sorted(states)) or 'no state'})"
            self.note(*where, message, "left out: it holds nothing")
            return
        if name in self.jobs:
            self.note(*where, "an earlier job has this number", "left out")
            return
        runs = not states & _WAITING_STATES
        if "SUSPENDED" in states:
            self.note(*where, "it is suspended", "it counts as one that runs")

        total, node_count = _job_amounts(entry, runs)
        waiting_portions = 0
        held_portions: dict[str, int] = {}
        if runs:
            portions = self._portions(entry, total, where)
        else:
            waiting_tasks = self._array_tasks(entry, where)
            waiting_portions = waiting_tasks * node_count
            portions = [("", self._even_portion(total, node_count, where))]
            reason = _hold_reason(entry)
            if reason is not None:
                held_portions = {reason: waiting_portions}
                waiting_portions = 0

        self.jobs[name] = _Job(
            account=text_at(entry, "account"),
            user=text_at(entry, "user_name") or str(entry.get("user_id", "")),
            place=self._node_request(entry, where),
            portions=portions,
            waiting_portions=waiting_portions,
            held_portions=held_portions,
            since=time_of(entry.get("submit_time")),
            where=where,
            array=_array_of(entry),
            throttle=None if runs else array_throttle(entry),
            node_count=node_count,
            priority=number(entry.get("priority")),
            message=_message(entry),
        )

    def _array_tasks(self, entry: Record, where: Where) -> int:
        """Return how many tasks of a job's array wait; a list that Slurm cuts off is noted."""
        text = text_at(entry, "array_task_string")
        if "..." in text:
            message = "its list of array tasks is cut off"
            self.note(*where, message, "those that it names count, and no others")
        return array_tasks(text)

    def _even_portion(self, total: Amounts, node_count: int, where: Where) -> Amounts:
        """Return the part of a job on one of its nodes, where the dump lists only the total."""
        portion = {resource: amount / node_count for resource, amount in total.items()}
        if any(amount.denominator != 1 for amount in portion.values()):
            message = f"what it has does not divide by its {node_count} nodes"
            self.note(*where, message, "divided evenly")
        return portion

    def _portions(self, entry: Record, total: Amounts, where: Where) -> list[tuple[str, Amounts]]:
        """Return the amounts of a job on each of its nodes, so that they add up to its total.

        Of each resource these are the amounts by node of ``job_resources``, else those of
        ``gres_detail``, else equal parts.
        """
        by_node = dict(_allocated_amounts(entry))
        names = hosts(text_at(entry, "nodes")) or list(by_node)
        if not names:
            raise EntryError("it runs, but the dump does not list its nodes")
        even: Amounts = {}
        if set(by_node) != set(names):
            even = self._even_portion(total, len(names), where)
        portions = [(name, dict(by_node.get(name, even))) for name in names]

        details = list_at(entry, "gres_detail")
        devices = [gres(str(text)) for text in details] if len(details) == len(names) else []
        for resource, amount in total.items():
            if sum(portion.get(resource, 0) for _, portion in portions) == amount:
                continue
            parts = [portion.get(resource, Fraction(0)) for portion in devices]
            if not parts or sum(parts) != amount:
                parts = [amount / len(names)] * len(names)
            for (_, portion), part in zip(portions, parts, strict=True):
                portion[resource] = part
        return portions

    def _node_request(self, entry: Record, where: Where) -> NodeRequest:
        """Return the nodes that a job asks for; requests that cannot be expressed are noted."""
        features = None
        try:
            features = feature_terms(text_at(entry, "features"))
        except EntryError as error:
            action = "left out: any node of its partitions may take it"
            self.note(*where, str(error), action)
        excluded = hosts(text_at(entry, "excluded_nodes"))
        if value_at(entry, "required_nodes", kind=str):
            self.note(*where, "it names nodes that it needs (required_nodes)", "left out")
        return NodeRequest(tuple(words_at(entry, "partition")), features, tuple(excluded))

    def _hold_beyond_throttles(self) -> None:
        """Hold the tasks of arrays beyond the number that may run at once (``1-10%2``).

        Tasks of the array that run count, each a record of its own. Slurm lists the tasks that wait
        as one record; where two records of one array wait (a task that was changed or put back
        stands apart), each of them may start as many tasks as the throttle leaves.
        """
        running_tasks = Counter(job.array for job in self.jobs.values() if job.array and _runs(job))
        for name, job in self.jobs.items():
            if job.throttle is None:
                continue
            startable_tasks = max(job.throttle - running_tasks[job.array], 0)
            startable = startable_tasks * job.node_count
            if job.waiting_portions > startable:
                reason = f"array throttle (%{job.throttle})"
                held_portions = {reason: job.waiting_portions - startable}
                self.jobs[name] = job._replace(
                    waiting_portions=startable, held_portions=held_portions
                )

    def _job_counts(self) -> dict[str, int]:
        """Return how many jobs run, wait and are held, as ``squeue -r`` counts them."""
        jobs = self.jobs.values()
        running_jobs = sum(_runs(job) for job in jobs)
        waiting_jobs = sum(job.waiting_portions // job.node_count for job in jobs)
        held_jobs = sum(sum(job.held_portions.values()) // job.node_count for job in jobs)
        return {"run": running_jobs, "wait": waiting_jobs, "are held": held_jobs}

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and the function that says where its jobs may run."""
        cluster = self.cluster
        self._hold_beyond_throttles()
        for job in self.jobs.values():
            queue = self.accounts.path(job.account, job.user)
            owner = f"{job.account}/{job.user}"
            for node, amounts in job.portions:
                leaf = Leaf(queue, owner, owner, demand_of(amounts), job.place, tenant=owner)
                if node:
                    cluster.run(leaf, node, job.where)
                    continue
                if job.waiting_portions:
                    request = Request(job.priority, job.message)
                    cluster.wait(leaf, job.waiting_portions, job.since, request)
                for reason, portions in job.held_portions.items():
                    cluster.hold(leaf, portions, reason)
        cluster.jobs = self._job_counts()
        self.accounts.fill(cluster)
        node_features = {name: self.node_features[name] for name in cluster.nodes}
        cluster.why_nowhere = lambda place: why_nowhere(place, node_features)
        return cluster, lambda place: allowed_nodes(place, node_features)


def _job_amounts(entry: Record, runs: bool) -> tuple[Amounts, int]:
    """Return the amounts of a job by resource, and the number of its nodes.

    Of a job that runs they are those that it has, of others those that it asks for.
    """
    allocated = text_at(entry, "tres_alloc_str") if runs else ""
    total = tres(allocated or text_at(entry, "tres_req_str"))
    node_count = int(number(entry.get("node_count")) or total.get("node", 0) or 1)
    if not 1 <= node_count <= MOST:
        raise EntryError(f"its node_count is {node_count}; expected a number from 1 to {MOST}")
    for resource in sorted(UNCOUNTED & set(total)):
        del total[resource]
    if not total:
        raise EntryError("it has no amounts (tres_req_str, tres_alloc_str)")
    return total, node_count


def _runs(job: _Job) -> bool:
    """Whether a job runs: no portion of it waits or is held."""
    return not job.waiting_portions and not job.held_portions


def _array_of(entry: Record) -> str:
    """Return the number of the array that a job belongs to; empty for none."""
    array = int(number(entry.get("array_job_id")) or 0)
    return str(array) if array else ""


def _hold_reason(entry: Record) -> str | None:
    """Return why a pending job may not run even with room for it; None where it only lacks room."""
    if number(entry.get("het_job_id")):
        return "part of a heterogeneous job"
    if entry.get("exclusive") is True or "none" in words_at(entry, "shared"):
        return "it wants whole nodes (--exclusive)"
    reason = str(entry.get("state_reason") or "")
    return None if reason in _REASONS_OF_LACK_OF_ROOM else reason


def _message(entry: Record) -> str:
    """Return Slurm's description of why a job waits, or its reason; empty for none."""
    description = str(entry.get("state_description") or "")
    reason = str(entry.get("state_reason") or "")
    return description or (reason if reason != "None" else "")


def _allocated_amounts(entry: Record) -> Iterator[tuple[str, Amounts]]:
    """Yield the nodes of a job with its CPUs and memory on each, of all versions of Slurm."""
    resources = mapping_at(entry, "job_resources")
    nodes = resources.get("nodes")
    allocations = (
        nodes.get("allocation") if isinstance(nodes, dict) else resources.get("allocated_nodes")
    )
    for value in allocations if isinstance(allocations, list) else []:
        allocation = mapping_at(value)
        name = value_at(allocation, "name", kind=str)
        name = name or value_at(allocation, "nodename", kind=str)
        cpus = allocation.get("cpus_used", allocation.get("cpus"))
        if isinstance(cpus, dict):
            cpus = cpus.get("count")
        memory = allocation.get("memory_allocated", allocation.get("memory"))
        if isinstance(memory, dict):
            memory = memory.get("allocated")
        if name:
            numbers = {"cpu": cpus, "memory": memory}
            amounts = {
                resource: Fraction(amount)
                for resource, amount in numbers.items()
                if type(amount) is int and amount >= 0
            }
            yield name, amounts
