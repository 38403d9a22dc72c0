"""Totals of an allocation by queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..errors import InstanceError

if TYPE_CHECKING:
    from .allocation import Allocation


def totals_by_queue(allocation: Allocation, level: int | None) -> pd.DataFrame:
    """Return users, tasks, dominant share and amounts by queue; see :meth:`Allocation.by_queue`."""
    instance = allocation.instance
    queues = instance.queues
    if queues is None:
        raise InstanceError("the instance has no queues; give queue= (the path of each user's queue) to make some")
    tasks = allocation.totals.to_numpy()
    amounts = tasks[:, None] * instance.demands
    if level is None:
        below = queues.below
        there = np.arange(len(queues))
    else:
        if isinstance(level, bool) or not isinstance(level, int) or level < 0:
            raise InstanceError(f"level is {level!r}; expected the depth of queues: 0 for the root, 1, 2 and so on")
        at = queues.at_depth(level)
        there = np.unique(at)
        below = (there[:, None] == at[None, :]).astype(float)
    has = np.asarray(below @ amounts)
    table = pd.DataFrame(
        {
            "users": np.asarray(below.sum(axis=1)).astype(int),
            "tasks": np.asarray(below @ tasks),
            "share": (has / instance.pool).max(axis=1),
        },
        index=pd.Index(queues.paths.labels[there], name="queue"),
    )
    used = pd.DataFrame(has, index=table.index, columns=[str(resource) for resource in instance.resources])
    return pd.concat([table, used], axis=1)
