"""Rows of queues, as an instance takes them: limits, quotas, and guarantees that have a place."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd

import fairlp
from fairlp import Allocation, Instance
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
        row |= _quotas(queue, resources)
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
    for bounds in (row["cap"], capacity):
        for resource, guarantee in guarantees.items():
            bound = bounds.get(resource, math.inf)
            if guarantee <= bound:
                continue
            guarantees[resource] = bound
            words = f"guarantee of {resource!r}, {guarantee:g}, above "
            if bounds is row["cap"]:
                words += f"its cap, {bound:g}"
                cluster.note("", f"queue {path!r}", words, "lowered to the cap")
            elif not row["nominal"]:
                words += f"the {bound:g} of all nodes"
                cluster.note("", f"queue {path!r}", words, "lowered to that")


def note_large_quotas(cluster: Cluster, instance: Instance) -> None:
    """Note nominal quotas of queues that are above what the nodes of their flavor have."""
    quotas = instance.tree.quotas
    if quotas is None:
        return
    available = np.where(
        quotas.servers(instance).T, instance.total_capacities[:, quotas.resource], 0.0
    ).sum(axis=0)
    nominal = np.nan_to_num(quotas.amounts[0])
    names = quotas.names(instance.resources)
    for v, m in np.argwhere(nominal > available * (1 + tolerances.AGREEMENT)).tolist():
        cluster.note(
            "",
            f"queue {instance.tree.paths[v]!r}",
            f"nominal quota of {names[m]!r}, {nominal[v, m]:g}, above the {available[m]:g} of its "
            "nodes",
            "unchanged: it counts as far as there are nodes",
        )


def _quotas(queue: Record, resources: Names) -> Record:
    """Return the quotas of a queue, by kind and column, of the instance's resources."""
    quotas: Record = {}
    for kind in fairlp.queues.KINDS:
        quotas[kind] = {
            column: amount
            for column, amount in queue.get(kind, {}).items()
            if column.partition(fairlp.queues.AT)[0] in resources
        }
    return quotas


def with_placed_guarantees(cluster: Cluster, instance: Instance) -> Instance:
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
                unplaced_tasks = fairlp.queues.unplaced(
                    instance.derived(task_limits=np.where(is_oversized, 0.0, instance.task_limits))
                )
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
            lowered = np.maximum(
                lowered
                - unplaced_amounts
                - (tolerances.GUARANTEE_ROOM * before if k else 0.0) * is_lacking,
                0.0,
            )
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
    return instance


def shares_of_queues(cluster: Cluster, observed: Allocation) -> pd.DataFrame:
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
    borrowed = ((np.maximum(used - tree.owned, 0.0) @ tree.sums) / pool)[:count].max(axis=1)
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
