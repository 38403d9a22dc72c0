"""Rows of users: the leaves of a cluster, what they demand, and where they may run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

import fairlp

from .cluster import (
    Cluster,
    Group,
    Leaf,
    Node,
    name_in_path,
    unique_labels,
)

#: Returns the mask of the nodes that a place may be on; None: all of them.
Allowed = Callable[[Hashable], np.ndarray | None]

#: Nodes and tasks are not dumped at one instant: the use that they report may differ by this part.
USE_DISCREPANCY = 0.05

#: Why tasks run nowhere that have nodes.
_STRANDED = "no node may take other tasks of its job, and all of them run at once"


@dataclass(eq=False)
class Row:
    """A user of the instance: its leaf and group, running tasks, and where new ones may run.

    ``running`` counts tasks by position of the node, later of the server; ``allowed`` is a mask of
    the nodes that take new tasks of it, None for all. ``nowhere`` is why no node may take a task of it
    that waits, and ``stranded`` counts tasks that wait for others of their jobs, which no node may
    take. ``job_size`` are the tasks of each of its jobs, where all of them have as many. ``since``,
    ``priority`` and ``messages`` are of tasks that wait: the earliest, the highest, and how many have
    each. A row is equal to itself alone.
    """

    leaf: Leaf
    group: Group
    running: dict[int, int]
    allowed: np.ndarray | None
    nowhere: str = ""
    stranded: int = 0
    job_size: int = 1
    since: str | None = None
    priority: float | None = None
    messages: Counter[str] = field(default_factory=Counter)

    @property
    def waiting(self) -> int:
        """The tasks that wait and may run."""
        return 0 if self.nowhere else self.group.waiting - self.stranded


def note_priorities(cluster: Cluster) -> None:
    """Note that priorities differ, where they do."""
    if len({job.request.priority for job in cluster.waiting_jobs} - {None}) > 1:
        message = f"their priorities differ, and {cluster.scheduler} takes the highest first"
        cluster.note("", "tasks that wait", message, "they do not count in fair shares")


def nodes_and_rows(
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


def label_rows(rows: list[Row]) -> None:
    """Give each row a label of its own."""
    labels = unique_labels(row.leaf.label or row.leaf.queue or "all" for row in rows)
    for row, label in zip(rows, labels, strict=True):
        row.leaf = row.leaf._replace(label=label)


def waiting_table(rows: list[Row]) -> pd.DataFrame:
    """Return the rows of which tasks wait that may run."""
    entries: list[tuple[Any, ...]] = []
    for row in rows:
        messages = +row.messages
        message = max(messages, key=messages.__getitem__, default="")
        common = (row.since, row.priority, message)
        for count, nowhere in (
            (row.group.waiting if row.nowhere else row.waiting, row.nowhere),
            (0 if row.nowhere else row.stranded, _STRANDED),
        ):
            if count:
                entries.append((row.leaf.label, row.leaf.queue, count, *common, nowhere))
    columns = ["user", "queue", "tasks", "since", "priority", "message", "nowhere"]
    return pd.DataFrame(entries, columns=columns, dtype=object).astype({"tasks": int})


def held_table(rows: list[Row]) -> pd.DataFrame:
    """Return the rows of which tasks may not run yet, by the scheduler's reason."""
    entries = [
        (row.leaf.label, row.leaf.queue, tasks, reason)
        for row in rows
        for reason, tasks in row.group.held.items()
    ]
    columns = ["user", "queue", "tasks", "reason"]
    return pd.DataFrame(entries, columns=columns, dtype=object).astype({"tasks": int})


def give_owners_queues(cluster: Cluster, rows: list[Row]) -> None:
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


def hidden_use(nodes: list[Node], resources: list[str], used: np.ndarray) -> np.ndarray:
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


def may_run(cluster: Cluster, row: Row, allowed: Allowed) -> bool:
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


def resources_and_rows(
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


def demands_of(rows: list[Row], resources: list[str]) -> np.ndarray:
    """Return the demands of the rows, (N, R)."""
    demands = [dict(row.leaf.demand) for row in rows]
    return np.array([[demand.get(resource, 0.0) for resource in resources] for demand in demands])


def amounts_offered(nodes: list[Node], resources: list[str]) -> np.ndarray:
    """Return the amounts of the nodes, (K, R)."""
    return np.array(
        [[node.amounts.get(resource, 0.0) for resource in resources] for node in nodes], dtype=float
    )


def amounts_used(rows: list[Row], node_count: int, resources: list[str]) -> np.ndarray:
    """Return the use of each node by the tasks that run on it, (K, R)."""
    used = np.zeros((node_count, len(resources)))
    for row, demand in zip(rows, demands_of(rows, resources), strict=True):
        for node, tasks in row.running.items():
            used[node] += tasks * demand
    return used


def note_overcommitment(
    cluster: Cluster, nodes: list[Node], resources: list[str], offered: np.ndarray, used: np.ndarray
) -> None:
    """Note nodes of which more is in use than they have."""
    for k, r in np.argwhere(used > offered).tolist():
        in_use = f"{used[k, r]:g} of {resources[r]!r} are in use"
        message = f"{in_use}, of {offered[k, r]:g}"
        action = "observed all the same; nothing of it is free"
        cluster.note(nodes[k].file, f"node {nodes[k].name!r}", message, action)
