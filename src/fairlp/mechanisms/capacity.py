"""What allocations use of capacities: how far over they are, and scaled down where rounding brought them over."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..models.instances.alone import effort
from ..models.instances.instance import Instance
from ..tolerances import ROUNDING, VERIFIED


def within_capacity(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return tasks of which no server is over its capacity beyond the rounding of a sum, scaled down where one is.

    A solver keeps capacities within its tolerance, and which digits that leaves depends on the machine's arithmetic.
    """
    used = _used(instance, tasks)
    within, needs = tasks.copy(), instance.demands > 0
    # Only whoever takes of what is used too much gives some of it back.
    for i in np.flatnonzero(used.max(axis=1) > 1 + ROUNDING):
        over = np.where(used[i] > 1 + ROUNDING, used[i], 1.0)
        within[:, i] /= np.where(needs, over, 1.0).max(axis=1)
    return within


def overuse(instance: Instance, tasks: np.ndarray) -> tuple[Any, Any, float] | None:
    """Return the server, the resource and how many times its capacity is used, where it is too much; None elsewhere."""
    used = _used(instance, tasks)
    i, r = (int(at) for at in np.unravel_index(int(used.argmax()), used.shape))
    if not used[i, r] > 1 + VERIFIED:
        return None
    return instance.servers[i], instance.resources[r], float(used[i, r])


def _used(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return use over capacity, servers × resources; 0 where there is no capacity."""
    multiple = effort(instance)
    used = (tasks if multiple is None else tasks * multiple).T @ instance.demands
    capacity = instance.capacities * instance.counts[:, None]
    return np.asarray(np.divide(used, capacity, out=np.zeros_like(used), where=capacity > 0))
