"""What stops each user who wants more: the resource, the servers, who holds it, or the cap of a queue."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..models.instances.alone import effort, tasks_alone
from ..models.instances.instance import Instance
from ..tolerances import AUDIT, SATURATED

#: Who holds what stops a user: so many of those who hold most.
HOLDERS = 3
#: Users for whom what stops them is looked for; of more, those who come first.
MOST_USERS = 5000


@dataclass(frozen=True, eq=False)
class Stop:
    """What stops a user.

    Attributes
    ----------
    why : str
        ``resource`` (there is none left on any server where it fits), ``cap`` (of a queue), ``room`` (nothing stops
        it: a task fits somewhere) or ``nowhere`` (no server could ever take a task).
    resource : int
        Position of the resource; -1 where there is none.
    servers : ndarray of int
        Positions of the servers where that resource is what is short, or where there is room.
    nearest : int
        The server that lacks least, or has most room; -1 for none.
    queue : int
        The queue whose cap it is; -1 for none.
    """

    why: str
    resource: int
    servers: np.ndarray
    nearest: int = -1
    queue: int = -1


_NONE = np.zeros(0, dtype=int)


class Blocking:
    """What stops users, given who has what.

    Parameters
    ----------
    instance : Instance
    tasks : ndarray, shape (N, K)
    whole : bool
        Whether a task needs all of its demands free on one server (else any part of a task counts).
    """

    def __init__(self, instance: Instance, tasks: np.ndarray, *, whole: bool) -> None:
        self.instance, self.tasks, self.whole = instance, tasks, whole
        needs = effort(instance)
        used = (tasks if needs is None else tasks * needs).T @ instance.demands
        capacity = instance.capacities * instance.counts[:, None]
        left = capacity - used
        self.left = np.where(left > SATURATED * capacity, left, 0.0)
        self.sparse = sparse.csr_array(tasks)

    @cached_property
    def _runnable(self) -> np.ndarray:
        return self.instance.runnable()

    @cached_property
    def _by_queue(self) -> np.ndarray:
        """What users below each queue have, queues × resources."""
        queues = self.instance.queues
        assert queues is not None
        return np.asarray(queues.below @ (self.tasks.sum(axis=1)[:, None] * self.instance.demands))

    def of(self, n: int) -> Stop:
        """Return what stops a user."""
        demand = self.instance.demands[n]
        capped = self._cap(n, demand)
        if capped is not None:
            return capped
        where = np.flatnonzero(self._runnable[n])
        if self.whole and where.size:
            where = where[tasks_alone(demand[None, :], self.instance.capacities[where])[0] >= 1 - AUDIT]
        if not where.size:
            return Stop("nowhere", -1, _NONE)
        asked = np.flatnonzero(demand > 0)
        ratio = self.left[np.ix_(where, asked)] / demand[asked]
        fits, scarcest = ratio.min(axis=1), asked[ratio.argmin(axis=1)]
        if self.whole:
            room = fits >= 1 - AUDIT
        else:
            alone = tasks_alone(demand[None, :], self.instance.capacities[where])[0] * self.instance.counts[where]
            room = fits > AUDIT * alone
        if room.any():
            there = where[room]
            return Stop("room", -1, there, int(there[fits[room].argmax()]))
        counts = np.bincount(scarcest, weights=self.instance.counts[where], minlength=len(demand))
        r = int(counts.argmax())
        short = scarcest == r
        return Stop("resource", r, where[short], int(where[short][fits[short].argmax()]))

    def _cap(self, n: int, demand: np.ndarray) -> Stop | None:
        """Return the lowest queue above a user whose cap leaves no room for a task (or for any part of one)."""
        queues = self.instance.queues
        if queues is None or not queues.capped.any():
            return None
        v = int(queues.of[n])
        while True:
            caps = queues.caps[v]
            step = demand if self.whole else AUDIT * caps
            over = (demand > 0) & np.isfinite(caps) & (self._by_queue[v] + step > caps * (1 + AUDIT))
            if over.any():
                return Stop("cap", int(over.argmax()), _NONE, queue=v)
            if v == int(queues.parents[v]):
                return None
            v = int(queues.parents[v])

    def held(self, resource: int, servers: np.ndarray) -> np.ndarray:
        """Return how much of a resource each user holds on these servers, shape (N,)."""
        there = np.zeros(self.tasks.shape[1])
        there[servers] = 1.0
        return np.asarray((self.sparse @ there) * self.instance.demands[:, resource])


def largest(amounts: np.ndarray, labels: Any) -> dict[Any, float]:
    """Return the largest positive amounts by label, largest first."""
    order = np.argsort(-amounts, kind="stable")[:HOLDERS]
    return {labels[int(k)]: float(amounts[k]) for k in order if amounts[k] > 0}
