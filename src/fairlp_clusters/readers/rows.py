"""Rows of users: the leaves of a cluster, what they demand, and where they may run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

import fairlp

from .cluster import (
    Cluster,
    Group,
    Key,
    Leaf,
    Names,
    Node,
    name_in_path,
    unique_labels,
)

#: Returns the mask of the nodes that a place may be on; None: all of them.
Allowed = Callable[[Hashable], np.ndarray | None]

#: Nodes and tasks are not dumped at one instant: the use that they report may differ by this part.
USE_DISCREPANCY = 0.05


@dataclass(eq=False)
class Row:
    """A user of the instance: its leaf, its tasks, and the mask of the nodes that take new ones.

    ``nowhere`` is why no node may take a task of it that waits, and ``stranded`` counts tasks that
    wait for others of their jobs, which no node may take. ``job_size`` are the tasks of each of its
    jobs, where all of them have as many. A row is equal to itself alone.
    """

    leaf: Leaf
    group: Group
    allowed: np.ndarray
    nowhere: str = ""
    stranded: int = 0
    job_size: int = 1

    @property
    def waiting(self) -> int:
        """The tasks that wait and may run."""
        return 0 if self.nowhere else self.group.waiting - self.stranded

    @property
    def tasks(self) -> int:
        """The tasks that run, and those that wait and may run."""
        return self.waiting + self.group.running.total()


def nodes_and_rows(cluster: Cluster, allowed: Allowed) -> tuple[list[Node], dict[Leaf, Row]]:
    """Return the nodes that count, and the row of each leaf: leaves that may run on the same."""
    # A closed node counts while tasks run on it.
    busy = {node for group in cluster.groups.values() for node in group.running}
    counts = np.array([not n.closed or n.name in busy for n in cluster.nodes.values()], dtype=bool)
    for node in cluster.nodes.values():
        if node.closed:
            cluster.note(
                node.file,
                f"node {node.name!r}",
                f"it takes no new tasks ({node.closed})",
                "it counts with what runs on it" if node.name in busy else "left out",
            )
    nodes = list(compress(cluster.nodes.values(), counts))
    is_open = np.array([not node.closed for node in nodes], dtype=bool)

    # Leaves of one queue, owner, demand and set of nodes are one row.
    masks: dict[Hashable, np.ndarray] = {}
    rows: dict[tuple[Any, ...], Row] = {}
    rows_of_leaves: dict[Leaf, Row] = {}
    for leaf, group in cluster.groups.items():
        if leaf.place not in masks:
            of_place = allowed(leaf.place)
            masks[leaf.place] = is_open if of_place is None else of_place[counts] & is_open
        mask = masks[leaf.place]
        rows_of_leaves[leaf] = rows.setdefault(
            (leaf.queue, leaf.owner, leaf.demand, np.packbits(mask).tobytes()),
            Row(leaf, Group(), mask),
        )
        rows_of_leaves[leaf].group.add(group)
    return nodes, rows_of_leaves


def label_rows(rows: list[Row]) -> None:
    """Give each row a label of its own."""
    for row, label in zip(
        rows, unique_labels(row.leaf.label or row.leaf.queue or "all" for row in rows), strict=True
    ):
        row.leaf = row.leaf._replace(label=label)


def held_table(rows: list[Row]) -> pd.DataFrame:
    """Return the rows of which tasks may not run yet, by the scheduler's reason."""
    entries = [
        (row.leaf.label, row.leaf.queue, tasks, reason)
        for row in rows
        for reason, tasks in row.group.held.items()
    ]
    return pd.DataFrame(entries, columns=["user", "queue", "tasks", "reason"], dtype=object).astype(
        {"tasks": int}
    )


def give_owners_queues(cluster: Cluster, rows: list[Row]) -> None:
    """Put the rows of an owner with several demands below a queue of the owner.

    Owners are then equal siblings, however many demands they have.
    """
    rows_of_owner: dict[Key, list[Row]] = {}
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


def hidden_use(nodes: list[Node], resources: Names, used: np.ndarray) -> np.ndarray:
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


def may_run(cluster: Cluster, row: Row, allowed: Allowed, position: Mapping[str, int]) -> bool:
    """Return whether a row has tasks that run, or a node that takes new ones."""
    place = f"user {row.leaf.label!r}"
    refusing_count = sum(not row.allowed[position[name]] for name in row.group.running)
    if refusing_count:
        cluster.note(
            "",
            place,
            f"{refusing_count} of its nodes would not take it now (closed, or what it asks of nodes)",
            "it may stay on them",
        )
    if not row.allowed.any() and row.group.waiting:
        of_place = allowed(row.leaf.place)
        row.nowhere = "the nodes that it may be on take no new tasks"
        if of_place is not None and not of_place.any():
            row.nowhere = cluster.why_nowhere(row.leaf.place)
        cluster.note(
            "",
            place,
            f"no node may take its tasks ({row.group.waiting} wait)",
            "left out of the instance, listed among what waits",
        )
    return bool(row.group.running) or bool(row.allowed.any())


def resources_and_rows(
    cluster: Cluster, nodes: list[Node], rows: list[Row]
) -> tuple[Names, list[Row]]:
    """Return the resources that tasks ask for and nodes have, and the rows that ask for them."""
    demanded = {resource for row in rows for resource, _ in row.leaf.demand}
    of_all_nodes = _resources_of(cluster.nodes.values())
    # a closed node has what runs on it
    closed = {node.name for node in nodes if node.closed}
    in_use = {
        resource
        for row in rows
        if not closed.isdisjoint(row.group.running)
        for resource, _ in row.leaf.demand
    }
    available = _resources_of(n for n in nodes if not n.closed) | (in_use & of_all_nodes)

    for resource in sorted(demanded - available):
        lacking = "no node that takes new tasks" if resource in of_all_nodes else "no node"
        cluster.note(
            "",
            f"resource {resource!r}",
            f"it is asked for, but {lacking} has it",
            "left out, with those who only wait",
        )
    for resource in sorted(of_all_nodes - demanded):
        cluster.note("", f"resource {resource!r}", "nodes have it, but no task asks for it")

    order = [*cluster.order, *sorted(demanded)]
    return sorted(demanded & available, key=order.index), [
        row for row in rows if _ask_for_available(cluster, row, available)
    ]


def _resources_of(nodes: Iterable[Node]) -> set[str]:
    """Return the resources of which some node has a positive amount."""
    return {resource for node in nodes for resource, amount in node.amounts.items() if amount > 0}


def _ask_for_available(cluster: Cluster, row: Row, available: set[str]) -> bool:
    """Take resources that no node has off a row's demand; return whether the row remains a user.

    It remains if it still demands something and, where it lacks a resource, some of its tasks run.
    """
    demand = row.leaf.demand
    missing = ", ".join(resource for resource, _ in demand if resource not in available)
    row.leaf = row.leaf._replace(demand=tuple(pair for pair in demand if pair[0] in available))
    if row.leaf.demand and (row.group.running or not missing):
        return True
    row.nowhere = "its tasks ask for nothing"
    if missing:
        row.nowhere = f"no node that takes new tasks has {missing}"
    cluster.note("", f"user {row.leaf.label!r}", row.nowhere, "left out of the instance")
    return False


def table_of(
    amounts: Iterable[Mapping[str, float]], resources: Names, missing: float = 0.0
) -> np.ndarray:
    """Return amounts, one row each, by resource."""
    rows = [[of_row.get(resource, missing) for resource in resources] for of_row in amounts]
    return np.array(rows, dtype=float).reshape(len(rows), len(resources))


def note_overcommitment(
    cluster: Cluster, nodes: list[Node], resources: Names, offered: np.ndarray, used: np.ndarray
) -> None:
    """Note nodes of which more is in use than they have."""
    for k, r in np.argwhere(used > offered).tolist():
        cluster.note(
            nodes[k].file,
            f"node {nodes[k].name!r}",
            f"{used[k, r]:g} of {resources[r]!r} are in use, of {offered[k, r]:g}",
            "observed all the same; nothing of it is free",
        )
