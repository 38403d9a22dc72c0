"""From nodes, leaves and queues to the instance, what runs of it, and what waits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, TooLargeError
from ...mechanisms.allocation import Allocation
from ...mechanisms.max_min.methods import unplaced
from ...models.instances.arithmetic import of_whole, tasks_alone
from ...models.instances.instance import Instance
from ...models.instances.queues import ROOT, lineage, parent_of
from ...models.instances.quotas import AT, KINDS
from ...models.trees.quotas import usage_of
from .cluster import (
    Cluster,
    Floats,
    Group,
    Leaf,
    Node,
    Record,
    add_amounts,
    name_in_path,
    told_apart,
)
from .pods import PODS

# ``Snapshot``: a cluster at one moment, as its scheduler told it.


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """What a scheduler's dump says; :func:`fairlp.snapshot` reads one.

    Attributes
    ----------
    instance : Instance
        Who demands what and what there is, with the scheduler's queues: the whole capacity, or what
        is free.
    observed : Allocation
        What runs now, of the instance with the whole capacity (``observed.instance``).
    waiting : DataFrame
        ``user``, ``queue``, ``tasks`` that wait and may run, ``since`` when the first of them does,
        and the highest ``priority`` among them (it does not count in fair shares), where these are
        known.
    held : DataFrame
        ``user``, ``queue``, ``tasks`` that may not run yet, and the scheduler's own ``reason``.
    hidden : Series
        By resource, what nodes say is in use beyond what the tasks of the dump have; it counts as
        used. Empty where the two agree, or where nodes do not say.
    not_understood : DataFrame
        ``file``, ``where``, ``what`` and what was ``done``: all that was left out or read in a way
        of our own.
    scheduler : str
        ``kubernetes``, ``slurm`` or ``yarn``.
    shares : DataFrame
        Of queues with quotas, by ``queue``: ``weighted_share``, the dominant resource share of what
        is admitted (of what runs, where the dump does not say) in thousandths, over the weight; and
        what Kueue ``told`` itself. Of Slurm's accounts and users: the decayed ``usage`` and the
        ``fairshare`` factor of ``sshare``.
    """

    instance: Instance
    observed: Allocation
    waiting: pd.DataFrame
    not_understood: pd.DataFrame
    scheduler: str
    held: pd.DataFrame
    hidden: pd.Series[float]
    shares: pd.DataFrame = field(default_factory=pd.DataFrame)

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


#: Amounts by queue and resource.
InQueues = dict[str, Floats]

# What is known of queues, as an instance takes it: all that are used are listed, and odd limits are
# noted.


def queues_of(
    cluster: Cluster, rows: list[Row], resources: list[str], pool: np.ndarray, below: InQueues
) -> dict[str, Record]:
    """Return weight, guarantee and cap of each queue by path, with those that nobody says anything of.

    Pods need ``pods``, which quotas need not name. A guarantee then has as many as its other
    amounts allow.

    Parameters
    ----------
    cluster : Cluster
        Its ``queues``; a resource that is none of the instance's is noted and left out.
    rows : list of Row
        The users. All queues that they are in are returned.
    resources : list of str
    pool : ndarray, shape (R,)
        What there is of each.
    below : mapping
        By queue and resource, what of its guarantee and cap is in use already.
    """
    known = set(resources)
    used = [row.leaf.queue for row in rows]
    found: dict[str, Record] = {
        here: {} for path in [*cluster.queues, *used] for here in lineage(path)
    }
    for path, given in cluster.queues.items():
        row: Record = {"weight": given.get("weight", 1.0)}
        for what in ("guarantee", "cap"):
            amounts = {
                r: amount for r, amount in given.get(what, {}).items() if math.isfinite(amount)
            }
            for resource in sorted(set(amounts) - known):
                cluster.note(
                    "",
                    f"queue {path!r}",
                    f"{what} of {resource!r}, which is no resource here",
                    "left out",
                )
            taken = below.get(path, {})
            row[what] = {
                r: max(amount - taken.get(r, 0.0), 0.0)
                for r, amount in amounts.items()
                if r in known
            }
        for resource, amount in row["guarantee"].items():
            cap = row["cap"].get(resource, math.inf)
            if amount > cap:
                what = f"guarantee of {resource!r}, {amount:g}, above its cap, {cap:g}"
                cluster.note("", f"queue {path!r}", what, "lowered to the cap")
                row["guarantee"][resource] = cap
        for kind in () if below else KINDS:
            row[kind] = {
                name: a for name, a in given.get(kind, {}).items() if name.partition(AT)[0] in known
            }
        found[path] = row
    _note_too_much(cluster, found, dict(zip(resources, pool.tolist(), strict=True)))
    for path, row in found.items() if PODS in known else ():
        guarantee = row.get("guarantee", {})
        if guarantee and PODS not in guarantee:
            demands = [dict(one.leaf.demand) for one in rows if path in lineage(one.leaf.queue)]
            most = [
                min((a / one[r] for r, a in guarantee.items() if r in one), default=0.0)
                for one in demands
            ]
            guarantee[PODS] = sum(
                tasks * one.get(PODS, 0.0) for tasks, one in zip(most, demands, strict=True)
            )
    return found


def _note_too_much(cluster: Cluster, rows: dict[str, Record], pool: Floats) -> None:
    """Note guarantees of children that add up to more than their parent's, or than there is."""
    children: dict[str, list[str]] = {}
    for path in rows:
        if path != ROOT:
            children.setdefault(parent_of(path), []).append(path)
    for parent, paths in children.items():
        for resource, there in pool.items():
            asked = sum(rows[path].get("guarantee", {}).get(resource, 0.0) for path in paths)
            most = rows[parent].get("cap", {}).get(resource, there)
            if asked > most and not math.isclose(asked, most):
                what = (
                    f"guarantees of {resource!r} below it add up to {asked:g}, and there are "
                    f"{most:g}"
                )
                cluster.note(
                    "", f"queue {parent!r}" if parent else "the root", what, "kept as they are"
                )


#: What says, of a place, on which nodes (by position) it may be; None: everywhere.
Allowed = Callable[[Hashable], np.ndarray | None]
#: Bytes of the tables of users × servers (tasks, and where they may run), at most.
_MOST_BYTES = 4 * 2**30
_BYTES_A_PAIR = 9
#: Nodes and tasks are not dumped at one instant: what they say of use may differ by this part.
A_LITTLE = 0.05
#: So often a guarantee without servers is lowered by what has none; then it is left out.
_TRIES = 30
#: Servers that γ is computed for at once.
_SLICE = 256


@dataclass
class Row:
    """A user to be: its leaf, tasks by position of the node, and where it may run."""

    leaf: Leaf
    group: Group
    running: dict[int, int]
    allowed: np.ndarray | None


def assemble(cluster: Cluster, allowed: Allowed, path: str, capacity: str, by: str) -> Snapshot:
    """Return the snapshot of a cluster.

    Parameters
    ----------
    cluster : Cluster
    allowed : callable
        Where the tasks of a place may run.
    path : str
        Where it was read, for error messages.
    capacity : {"whole", "free"}
    by : {"owner", "queue"}
    """
    nodes, rows = _rows(cluster, allowed, by)
    if cluster.nodes and (size := len(nodes) * len(rows) * _BYTES_A_PAIR) > _MOST_BYTES:
        way = (
            " (by='queue' makes one of all owners in a queue who ask for the same)"
            if by == "owner"
            else ""
        )
        raise TooLargeError(
            f"{path}: {len(rows)} users (owners and what they ask for) on {len(nodes)} nodes take "
            "tables of "
            f"{size / 2**30:.3g} GiB; read a part of the dump{way}"
        )
    waiting, held = _waiting(rows)
    if len(set().union(*(row.group.priorities for row in rows))) > 1:
        what = f"their priorities differ, and {cluster.scheduler} takes the highest first"
        cluster.note("", "tasks that wait", what, "priorities do not count here")
    rows = [row for row in rows if (row.running or row.group.waiting) and _may_run(cluster, row)]
    _one_node_an_owner(cluster, rows)
    resources, rows = _resources(cluster, nodes, rows)
    if not nodes or not rows:
        what = "nothing runs and nothing waits that could run" if nodes else "no node is there"
        if nodes and cluster.absent:
            what = f"tasks run on {cluster.absent[0]!r}, which is none of the {len(nodes)} nodes"
        raise InstanceError(
            f"{path}: {what}; expected the nodes of one cluster and what runs on them, dumped "
            "together"
        )
    used = _used(rows, len(nodes), resources)
    offered = np.array(
        [[node.amounts.get(r, 0.0) for r in resources] for node in nodes], dtype=float
    )
    _note_overcommitment(cluster, nodes, resources, offered, used)
    hidden = _hidden(nodes, resources, used)
    offered = np.maximum(offered - hidden, 0.0)
    for k, node in enumerate(nodes):
        if node.closed:
            offered[k] = used[k]
    whole = _instance(cluster, nodes, rows, resources, offered)
    observed = _observed(whole, rows)
    if capacity == "free":
        left = np.maximum(offered - used, 0.0)
        able, kept = _with_something_free(cluster, rows, resources, left)
        if not able:
            raise InstanceError(
                f"{path}: nothing is free of what anybody asks for; capacity='whole' is all there "
                "is"
            )
        wanted = [resources[r] for r in kept]
        instance = _instance(cluster, nodes, able, wanted, left[:, kept], _in_queues(rows))
    else:
        instance = whole
    unseen = pd.Series(hidden.sum(axis=0), index=resources)
    return Snapshot(
        instance,
        observed,
        waiting,
        cluster.notes.table(),
        cluster.scheduler,
        held,
        unseen[unseen > 0],
        _shares(cluster, observed),
    )


def _rows(cluster: Cluster, allowed: Allowed, by: str) -> tuple[list[Node], list[Row]]:
    """Return the nodes that count, and one row for each class of tasks that may run on the same nodes."""
    busy = {node for group in cluster.groups.values() for node in group.running}
    kept = np.array(
        [not node.closed or node.name in busy for node in cluster.nodes.values()], dtype=bool
    )
    for node, stays in zip(cluster.nodes.values(), kept, strict=True):
        if node.closed:
            done = "it counts with what runs on it" if stays else "left out"
            cluster.note(
                node.file, f"node {node.name!r}", f"it takes no new tasks ({node.closed})", done
            )
    nodes = list(compress(cluster.nodes.values(), kept))
    place = {node.name: k for k, node in enumerate(nodes)}
    open_ = np.array([not node.closed for node in nodes], dtype=bool)
    masks: dict[Hashable, np.ndarray | None] = {}
    merged: dict[tuple[Any, ...], Row] = {}
    for leaf, group in cluster.groups.items():
        if by == "queue":
            leaf = leaf._replace(owner="", label=leaf.queue or "all")
        if leaf.place not in masks:
            found = allowed(leaf.place)
            mask = open_ if found is None else found[kept] & open_
            masks[leaf.place] = None if mask.all() else mask
        mask_here = masks[leaf.place]
        key = (
            leaf.queue,
            leaf.owner,
            leaf.demand,
            b"" if mask_here is None else np.packbits(mask_here).tobytes(),
        )
        row = merged.setdefault(key, Row(leaf, Group(), {}, mask_here))
        row.group.add(group)
    for row in merged.values():
        row.running = {place[node]: count for node, count in row.group.running.items()}
    return nodes, list(merged.values())


def _waiting(rows: list[Row]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Name the rows, and return those of which tasks wait, and those of which tasks may not run yet."""
    labels = told_apart(row.leaf.label or row.leaf.queue or "all" for row in rows)
    for row, label in zip(rows, labels, strict=True):
        row.leaf = row.leaf._replace(label=label)
    found = [
        (
            row.leaf.label,
            row.leaf.queue,
            group.waiting,
            group.since,
            max(group.priorities, default=None),
        )
        for row in rows
        if (group := row.group).waiting > 0
    ]
    table = pd.DataFrame(
        found, columns=["user", "queue", "tasks", "since", "priority"], dtype=object
    )
    kept = [
        (row.leaf.label, row.leaf.queue, *entry[::-1])
        for row in rows
        for entry in row.group.held.items()
    ]
    held = pd.DataFrame(kept, columns=["user", "queue", "tasks", "reason"], dtype=object)
    return table.astype({"tasks": int}), held.astype({"tasks": int})


def _one_node_an_owner(cluster: Cluster, rows: list[Row]) -> None:
    """Put the rows of one owner below a queue of its own: owners are equal siblings, whatever shapes they ask for."""
    owned: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.leaf.owner:
            owned.setdefault((row.leaf.queue, row.leaf.owner), []).append(row)
    taken = {
        here
        for path in [*cluster.queues, *(row.leaf.queue for row in rows)]
        for here in lineage(path)
    }
    shared = {parent_of(path) for path in taken if path != ROOT}
    owners = Counter(queue for queue, _ in owned)
    for (queue, _), shapes in owned.items():
        if len(shapes) > 1 and (owners[queue] > 1 or queue in shared):
            own = shapes[0].leaf.label.removeprefix(f"{queue}/")
            path = f"{queue}/{name_in_path(own)}".lstrip("/")
            path += " (owner)" if path in taken else ""
            for row in shapes:
                row.leaf = row.leaf._replace(queue=path)


def _hidden(nodes: list[Node], resources: list[str], used: np.ndarray) -> np.ndarray:
    """Return what nodes say is in use beyond what is seen, by node and resource; 0 where this is a little in all."""
    told = np.array(
        [[node.in_use.get(r, np.nan) for r in resources] for node in nodes], dtype=float
    )
    beyond = np.maximum(np.nan_to_num(told - used), 0.0)
    matters = beyond.sum(axis=0) > A_LITTLE * np.nansum(told, axis=0)
    return np.where(matters, beyond, 0.0)


def _may_run(cluster: Cluster, row: Row) -> bool:
    """Add the nodes where tasks run to where they may, and return whether there is any."""
    if row.allowed is None:
        return True
    where = np.array(list(row.running), dtype=int)
    beyond = where[~row.allowed[where]]
    if len(beyond):
        what = (
            f"{len(beyond)} of its nodes would not take it now (closed, or what it asks of nodes)"
        )
        cluster.note("", f"user {row.leaf.label!r}", what, "it may stay on them")
        row.allowed = row.allowed.copy()
        row.allowed[beyond] = True
    if not row.allowed.any():
        what = f"no node may take its tasks ({row.group.waiting} wait)"
        cluster.note(
            "", f"user {row.leaf.label!r}", what, "left out of the instance, kept in what waits"
        )
        return False
    return True


def _resources(cluster: Cluster, nodes: list[Node], rows: list[Row]) -> tuple[list[str], list[Row]]:
    """Return the resources that somebody asks for and some node has, and the rows that ask for any of them."""
    asked = {resource for row in rows for resource, _ in row.leaf.demand}
    known = {
        resource
        for node in cluster.nodes.values()
        for resource, amount in node.amounts.items()
        if amount > 0
    }
    # a node that takes no new tasks has what runs on it
    has = {
        r for node in nodes if not node.closed for r, amount in node.amounts.items() if amount > 0
    }
    has |= {
        r for row in rows for r, _ in row.leaf.demand if any(nodes[k].closed for k in row.running)
    } & known
    for resource in sorted(asked - has):
        what = (
            "it is asked for, but no node "
            + ("that takes new tasks " if resource in known else "")
            + "has it"
        )
        cluster.note("", f"resource {resource!r}", what, "left out, with those who only wait")
    for resource in sorted(known - asked):
        cluster.note(
            "", f"resource {resource!r}", "nodes have it, but nobody asks for it", "left out"
        )
    order = {resource: k for k, resource in enumerate(cluster.order)}
    resources = sorted(
        asked & has, key=lambda resource: (order.get(resource, len(order)), resource)
    )
    kept = []
    for row in rows:
        missing = [resource for resource, _ in row.leaf.demand if resource not in has]
        row.leaf = row.leaf._replace(
            demand=tuple(entry for entry in row.leaf.demand if entry[0] in has)
        )
        if row.leaf.demand and not (missing and not row.running):
            kept.append(row)
            continue
        what = (
            f"no node may take its tasks: {', '.join(missing)} is nowhere"
            if missing
            else "its tasks ask for nothing"
        )
        what += f" ({sum(row.running.values())} run, {row.group.waiting} wait)"
        cluster.note("", f"user {row.leaf.label!r}", what, "left out of the instance")
    return resources, kept


def _demands(rows: list[Row], resources: list[str]) -> np.ndarray:
    demands = [dict(row.leaf.demand) for row in rows]
    return np.array([[demand.get(resource, 0.0) for resource in resources] for demand in demands])


def _used(rows: list[Row], count: int, resources: list[str]) -> np.ndarray:
    """Return what runs on each node, by resource."""
    used = np.zeros((count, len(resources)))
    for row, demand in zip(rows, _demands(rows, resources), strict=True):
        for node, tasks in row.running.items():
            used[node] += tasks * demand
    return used


def _note_overcommitment(
    cluster: Cluster, nodes: list[Node], resources: list[str], offered: np.ndarray, used: np.ndarray
) -> None:
    for k, r in np.argwhere(used > offered).tolist():
        what = f"{used[k, r]:g} of {resources[r]!r} are in use, of {offered[k, r]:g}"
        done = "kept in what is observed; nothing of it is free"
        cluster.note(nodes[k].file, f"node {nodes[k].name!r}", what, done)


def _with_something_free(
    cluster: Cluster, rows: list[Row], resources: list[str], left: np.ndarray
) -> tuple[list[Row], list[int]]:
    """Return the rows that ask only for what is free somewhere, and the positions of what they ask for."""
    gone = {resources[r] for r in np.flatnonzero(~left.any(axis=0))}
    for resource in sorted(gone):
        cluster.note(
            "",
            f"resource {resource!r}",
            "nothing of it is free",
            "left out, with the users who need it",
        )
    able = [row for row in rows if not any(resource in gone for resource, _ in row.leaf.demand)]
    asked = {resource for row in able for resource, _ in row.leaf.demand}
    return able, [r for r, resource in enumerate(resources) if resource in asked]


def _in_queues(rows: list[Row]) -> InQueues:
    """Return what runs in each queue and below it, by resource."""
    found: InQueues = {}
    for row in rows:
        tasks = sum(row.running.values())
        for path in lineage(row.leaf.queue):
            add_amounts(found.setdefault(path, {}), dict(row.leaf.demand), tasks)
    return found


def _instance(
    cluster: Cluster,
    nodes: list[Node],
    rows: list[Row],
    resources: list[str],
    capacities: np.ndarray,
    below: InQueues | None = None,
) -> Instance:
    """Return the instance of what is offered; ``below`` is what queues use where that is what is free."""
    eligible = np.ones((len(rows), len(nodes)), dtype=bool)
    for n, row in enumerate(rows):
        if row.allowed is not None:
            eligible[n] = row.allowed
    limits = [
        row.group.waiting + (sum(row.running.values()) if below is None else 0) for row in rows
    ]
    keys = dict.fromkeys(key for node in nodes for key in node.attributes)
    attributes = {
        key: pd.Series([node.attributes.get(key) for node in nodes], dtype=object) for key in keys
    }
    instance = Instance.from_arrays(
        _demands(rows, resources),
        capacities,
        users=[row.leaf.label for row in rows],
        servers=[node.name for node in nodes],
        resources=resources,
        task_limits=limits,
        eligible=eligible,
        queue=[row.leaf.queue for row in rows],
        queues=queues_of(cluster, rows, resources, capacities.sum(axis=0), below or {}),
        units={
            resource: unit
            for resource, unit in cluster.units.items()
            if unit and resource in resources
        },
        server_attributes=pd.DataFrame(attributes) if attributes else None,
        name=cluster.scheduler,
    )
    return _clipped(cluster, instance)


def _clipped(cluster: Cluster, instance: Instance) -> Instance:
    """Return the instance with guarantees lowered to what has a server, which is told of each queue."""
    queues = instance.tree
    if not queues.guarantees.any():
        return instance
    before = left = queues.guarantees
    for last in [False] * _TRIES + [True]:
        lacks = unplaced(instance)
        if not lacks.any():
            break
        below = queues.below @ (lacks[:, None] * instance.demands)
        left = (
            np.where(below.any(axis=1, keepdims=True), 0.0, left)
            if last
            else np.maximum(left - below, 0.0)
        )
        instance = instance.derived(queues=replace(queues, guarantees=left))
    part = np.divide(before - left, before, out=np.zeros(before.shape), where=before > 0)
    for v in np.flatnonzero(part.any(axis=1)).tolist():
        r = int(part[v].argmax())
        resource = str(instance.resources[r])
        what = of_whole(
            before[v, r] - left[v, r], before[v, r], resource, instance.units.get(resource, "")
        )
        done = "the guarantee is lowered to what has one"
        cluster.note(
            "", f"queue {queues.paths[v]!r}", f"{what} of its guarantee have no node", done
        )
    return instance


def _shares(cluster: Cluster, observed: Allocation) -> pd.DataFrame:
    """Return the weighted shares of queues with quotas, and what the scheduler told of shares."""
    instance = observed.instance
    queues = observed.instance.tree
    told = pd.DataFrame.from_dict(cluster.told, orient="index").rename_axis("queue")
    if queues.quotas is None:
        return told
    tree, used = usage_of(instance, observed.tasks_array)
    if cluster.admitted:
        names = queues.quotas.names(instance.resources)
        own = np.zeros(used.shape)
        for path, amounts in cluster.admitted.items():
            own[queues.named(path)] = [amounts.get(name, 0.0) for name in names]
        used = tree.upward(own, tree.reserved)
    shares = pd.Series(1000 * tree.shares(used)[: len(queues)], queues.paths.labels.rename("queue"))
    shares[tree.is_late[: len(queues)]] = np.inf
    found = pd.DataFrame(
        {"weighted_share": shares, "told": told.reindex(shares.index, columns=["told"])["told"]}
    )
    return found.iloc[np.flatnonzero(queues.quotas.listed.any(axis=1))]


def _observed(whole: Instance, rows: list[Row]) -> Allocation:
    tasks = np.zeros((len(rows), len(whole.servers)))
    for n, row in enumerate(rows):
        for node, count in row.running.items():
            tasks[n, node] = count
    alone = np.zeros(len(rows))
    for start in range(
        0, len(whole.servers), _SLICE
    ):  # users × all servers in floats would be as large as the tasks
        part = slice(start, start + _SLICE)
        alone += np.where(
            whole.eligible[:, part], tasks_alone(whole.demands, whole.capacities[part]), 0.0
        ).sum(axis=1)
    return Allocation(
        instance=whole,
        mechanism="observed",
        method=whole.name,
        tasks_array=tasks,
        gamma=alone,
        tasks_per_level=alone,
    )
