"""What guarantees of queues come to in tasks of their users."""

from __future__ import annotations

import numpy as np

from ...tolerances import ROUNDING
from ..instances.arithmetic import quotients, tasks_alone
from ..instances.instance import Instance
from ..paths.engine import rise
from ..paths.pool import PoolRows
from .tree import tree_of_shares
from .tree_path import first_path

__all__ = ["floors"]


def floors(instance: Instance) -> np.ndarray:
    """Return the tasks that each user is guaranteed by the queues above it, shape (N,).

    Each guarantee G[v,·] is shared as a pool of its own along the tree (satisfied users counted)
    among the users below v who can run somewhere, up to their task limits; caps of queues hold
    within it. Resources that the guarantee does not name (G[v,r] = 0) do not limit it: of these
    there is as much as all servers have. Where guarantees below a queue are more than its own,
    they count.
    """
    guaranteed_tasks = np.zeros(len(instance.users))
    queues = instance.tree
    if not queues.guarantees.any():
        return guaranteed_tasks
    can_run = (
        instance.runnable().any(axis=1)
        & (instance.task_limits > 0)
        & ~queues.barred(instance.demands)
    )
    weights = instance.user_weights
    guaranteed = queues.guaranteed
    for v in guaranteed[np.argsort(-queues.depths[guaranteed], kind="stable")].tolist():
        below = np.asarray(queues.below[[v]].todense()).ravel() > 0
        named = queues.guarantees[v] > 0
        needs_named = (instance.demands[:, named] > 0).any(axis=1)
        users = np.flatnonzero(below & can_run & needs_named)
        if not users.size:
            continue
        demands = instance.demands[users]
        pool = np.where(named, queues.guarantees[v], instance.pool)
        tree = queues.select(users)

        # Shares of the guarantee: of the resources that it names.
        share = np.where(named, quotients(demands, pool), 0.0)
        share /= share.max(axis=1, keepdims=True)
        alone = tasks_alone(demands * named, pool[None, :])[:, 0]
        leaves = tree_of_shares(tree.branches, weights[users], share, alone, counted=True)
        everyone = np.ones(len(users), dtype=bool)
        limits = instance.task_limits[users]
        first = first_path(leaves, guaranteed_tasks[users], limits, everyone)
        shared = rise(first, PoolRows.of(pool, demands, demands, tree)).path.tasks
        guaranteed_tasks[users] = np.where(shared > ROUNDING * alone, shared, 0.0)
    return guaranteed_tasks
