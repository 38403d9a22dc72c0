"""What guarantees of queues come to in tasks of their users."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from ...tolerances import ROUNDING
from ..instances.arithmetic import quotients, tasks_alone
from ..instances.instance import Instance
from ..paths.engine import rise
from ..paths.pool import PoolRows
from .tree import tree_of_shares
from .tree_path import first_path

__all__ = ["floors"]

#: The answers of instances, which do not change: a dump's reader, and then each program, asks.
_FLOORS: WeakKeyDictionary[Instance, np.ndarray] = WeakKeyDictionary()


def floors(instance: Instance) -> np.ndarray:
    """Return the tasks that each user is guaranteed by the queues above it, shape (N,).

    Each guarantee G[v,·] is shared as a pool of its own along the tree (satisfied users counted)
    among the users below v who can run somewhere, up to their task limits; caps of queues hold
    within it. Resources that the guarantee does not name (G[v,r] = 0) do not limit it: of these
    there is as much as all servers have. Where guarantees below a queue are more than its own,
    they count.
    """
    tasks = _FLOORS.get(instance)
    if tasks is None:
        tasks = _FLOORS[instance] = _floors(instance)
    return tasks.copy()


def _floors(instance: Instance) -> np.ndarray:
    tasks = np.zeros(len(instance.users))
    queues = instance.tree
    if not queues.guarantees.any():
        return tasks
    can_run = instance.runnable_users()
    deepest_first = np.argsort(-queues.depths[queues.guaranteed], kind="stable")
    for v in queues.guaranteed[deepest_first].tolist():
        below = queues.users_below(v) > 0
        needs_named = (instance.demands[:, queues.guarantees[v] > 0] > 0).any(axis=1)
        users = np.flatnonzero(below & can_run & needs_named)
        if users.size:
            tasks[users] = _shared(instance, v, users, tasks[users])
    return tasks


def _shared(instance: Instance, v: int, users: np.ndarray, tasks: np.ndarray) -> np.ndarray:
    """Return the tasks of users of queue v by its guarantee, who have ``tasks`` by those below.

    A user's share is of the resources that the guarantee names.
    """
    demands = instance.demands[users]
    guarantee = instance.tree.guarantees[v]
    named = guarantee > 0
    pool = np.where(named, guarantee, instance.pool)
    share = np.where(named, quotients(demands, pool), 0.0)
    share /= share.max(axis=1, keepdims=True)
    alone = tasks_alone(demands * named, pool[None, :])[:, 0]

    # All have their most, where that fits; else they rise together.
    limits = instance.task_limits[users]
    shared = np.maximum(np.minimum(limits, alone), tasks)
    amounts = np.zeros(instance.demands.shape)
    amounts[users] = shared[:, None] * demands
    used = instance.tree.below @ amounts
    room = instance.tree.caps.copy()
    room[0] = np.minimum(room[0], pool)
    if (used > room * (1 + ROUNDING)).any():
        queues = instance.tree.select(users)
        weights = instance.user_weights[users]
        tree = tree_of_shares(queues.branches, weights, share, alone, counted=True)
        first = first_path(tree, tasks, limits, np.ones(len(users), dtype=bool))
        shared = rise(first, PoolRows.of(pool, demands, demands, queues)).path.tasks
    return np.where(shared > ROUNDING * alone, shared, 0.0)
