"""What guarantees of queues come to, in tasks of their users: what each queue would have if its guarantee were a pool.

Deepest queues first; a queue's users have at least what their own queues guarantee them.
"""

from __future__ import annotations

import numpy as np

from ...tolerances import ROUNDING
from ..instances.instance import Instance
from ..instances.problem import tasks_alone
from .climbing import begin
from .filling import Rows, fill
from .rates import hierarchical


def floors(instance: Instance) -> np.ndarray:
    """Return the tasks that each user is guaranteed by the queues above it, shape (N,).

    Each guarantee G[v,·] is shared as a pool of its own by hierarchical DRF among the users below v who can run
    somewhere; caps of queues hold within it. Where guarantees below a queue are more than its own, they count.
    """
    kept = np.zeros(len(instance.users))
    queues = instance.queues
    if queues is None or not queues.guarantees.any():
        return kept
    able = instance.runnable().any(axis=1) & (instance.task_limits > 0) & ~queues.barred(instance.demands)
    weights = instance.user_weights
    guaranteed = queues.guaranteed
    for v in guaranteed[np.argsort(-queues.depths[guaranteed], kind="stable")].tolist():
        below = np.asarray(queues.below[[v]].todense()).ravel() > 0
        pool = queues.guarantees[v]
        who = np.flatnonzero(below & able & ~((instance.demands > 0) & (pool == 0)).any(axis=1))
        if not who.size:
            continue
        demands, tree = instance.demands[who], queues.select(who)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(demands > 0, demands / pool, 0.0)
        share /= share.max(axis=1, keepdims=True)
        alone = tasks_alone(demands, pool[None, :])[:, 0]
        rates = hierarchical(tree, weights[who], share, alone)
        first = begin(rates, kept[who], np.zeros(len(who)), instance.task_limits[who], np.ones(len(who), dtype=bool))
        shared = fill(rates, Rows.of_pool(pool, demands, demands, tree), first)[0]
        kept[who] = np.where(shared > ROUNDING * alone, shared, 0.0)
    return kept
