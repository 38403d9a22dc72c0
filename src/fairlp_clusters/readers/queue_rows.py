"""Rows of queues, as an instance takes them: limits, quotas, and guarantees that have a place."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

import fairlp
from fairlp import Instance
from fairlp.errors import SolverError
from fairlp.toolkit import quantity, tolerances

from .cluster import (
    Cluster,
    Floats,
    Names,
    Record,
)
from .rows import Row

#: So often a guarantee without servers is lowered by what has none; then it is left out.
_TRIES = 30


def queue_rows(
    cluster: Cluster, rows: list[Row], resources: Names, pool: np.ndarray
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
            row[kind] = _limits(cluster, path, kind, resources)
        for kind in fairlp.queues.KINDS:
            row[kind] = {
                column: amount
                for column, amount in queue.get(kind, {}).items()
                if column.partition(fairlp.queues.AT)[0] in resources
            }
        _lower(cluster, path, row, capacity)
        table[path] = row

    return table


def _limits(cluster: Cluster, path: str, kind: str, resources: Names) -> Floats:
    """Return the finite amounts of a queue's guarantee or cap."""
    finite = {
        resource: limit
        for resource, limit in cluster.queues[path].get(kind, {}).items()
        if math.isfinite(limit)
    }
    for resource in sorted(set(finite) - set(resources)):
        cluster.note("", f"queue {path!r}", f"{kind} of {resource!r}, which is no resource here")
    return {r: max(limit, 0.0) for r, limit in finite.items() if r in resources}


def _lower(cluster: Cluster, path: str, row: Record, capacity: Floats) -> None:
    """Lower guarantees of a queue above its caps, and above what all nodes have.

    Quotas stay, and have their own note.
    """
    guarantees = row["guarantee"]
    for bounds, what in ((row["cap"], "its cap"), (capacity, "all nodes")):
        for resource, guarantee in guarantees.items():
            bound = bounds.get(resource, math.inf)
            if guarantee <= bound:
                continue
            guarantees[resource] = bound
            if bounds is row["cap"] or not row["nominal"]:
                message = f"guarantee of {resource!r}, {guarantee:g}, above the {bound:g} of {what}"
                cluster.note("", f"queue {path!r}", message, "lowered to that")


def with_placed_guarantees(cluster: Cluster, instance: Instance) -> Instance:
    """Return the instance with guarantees lowered to what servers can hold, which is noted."""
    queues = instance.tree
    before = lowered = queues.guarantees
    if not before.any() or _have_places(instance):
        return instance

    # Lower the guarantees by what finds no server, from the second time on by a little more, so
    # that steps that halve what is missing come to an end, with room. Where that fails, drop them.
    for k in range(_TRIES + 1):
        try:
            unplaced_tasks = _unplaced(instance)
        except SolverError:
            lowered = np.zeros(before.shape)
            break
        if not unplaced_tasks.any():
            if k > 1:
                room = np.where(lowered < before, tolerances.GUARANTEE_ROOM, 0.0)
                lowered = lowered * (1 - room)
            break
        unplaced_amounts = queues.below @ (unplaced_tasks[:, None] * instance.demands)
        is_lacking = unplaced_amounts.any(axis=1, keepdims=True)
        if k == _TRIES:
            unplaced_amounts = np.where(is_lacking, np.inf, 0.0)
        elif k:
            unplaced_amounts = unplaced_amounts + tolerances.GUARANTEE_ROOM * before * is_lacking
        lowered = np.maximum(lowered - unplaced_amounts, 0.0)
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
        cluster.note(
            "",
            f"queue {queues.paths[v]!r}",
            f"{amount.partition(' ')[0]} of {of_what} of its guarantee have no node",
            "the guarantee is lowered to what has one",
        )
    return instance.derived(queues=replace(queues, guarantees=lowered))


def _unplaced(instance: Instance) -> np.ndarray:
    """Return the guaranteed tasks of each user without a place.

    Reports leave out tasks that fit no server, and others have their part.
    """
    unplaced_tasks = fairlp.queues.unplaced(instance)
    is_oversized = instance.users.labels.isin(instance.oversized().index)
    if is_oversized.any() and not unplaced_tasks.any():
        limits = np.where(is_oversized, 0.0, instance.task_limits)
        unplaced_tasks = fairlp.queues.unplaced(instance.derived(task_limits=limits))
    return unplaced_tasks


def _have_places(instance: Instance) -> bool:
    """Whether guaranteed tasks have places as they come, first fit: a quick yes, without a program."""
    if instance.has_oversized:
        return False
    tasks = fairlp.queues.floors(instance)
    queues = instance.tree
    runnable = instance.runnable()
    free = instance.total_capacities.copy()
    for n in np.argsort(runnable.sum(axis=1), kind="stable").tolist():
        demand = instance.demands[n]
        demanded = demand > 0
        room = (free[:, demanded] / demand[demanded]).min(axis=1) * runnable[n]
        before = np.cumsum(room) - room
        placed = np.clip(tasks[n] - before, 0.0, room)
        if placed.sum() < tasks[n] * (1 - tolerances.ROUNDING):
            return False
        free -= placed[:, None] * demand
        np.maximum(free, 0.0, out=free)
    used = queues.below @ (tasks[:, None] * instance.demands)
    return bool((used <= queues.caps * (1 + tolerances.ROUNDING)).all())
