"""Who gets how much at a moment, for divisible tasks: a mechanism solved anew, or servers that keep PS-DSF up.

Both know all *requests* of a workload beforehand: what one user's tasks of one kind demand, and where they may run. A
moment is the requests that are open, with a limit on the tasks of each, and a weight that follows from which are open.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import SolverError, UnknownNameError, nearest
from ...mechanisms.mechanism import QUOTAS, RATES, run
from ...mechanisms.per_server.distributed import CLOCK_OPTIONS, Network, clocks_of
from ...mechanisms.per_server.market import PerServerMarket
from ...mechanisms.table import OWN, TABLE, find, find_defined
from ...models.files.arrays import Arrays
from ...models.instances.instance import Instance
from ...tolerances import VERIFIED

_SUFFIX = "-distributed"
#: Policies in which servers act on their own, each with the mechanism that it approaches.
DISTRIBUTED: dict[str, str] = {f"{name}{_SUFFIX}": name for name in ("psdsf-rdm", "psdsf-tdm")}
#: Sets of open requests whose last allocation is kept.
MOST_KEPT = 1000


def fluid_policies() -> tuple[str, ...]:
    """Return the policies for divisible tasks: the table's static mechanisms, one's own, and distributed PS-DSF.

    Those that need what a cluster does not say, rates or quotas, are left out.
    """
    lacks = {QUOTAS, RATES}
    solved = [
        name
        for name, row in TABLE.items()
        if (row.compared or name in OWN) and not row.whole_tasks and not lacks & set(row.domain)
    ]
    return (*solved, *DISTRIBUTED)


class Solved:
    """A mechanism, solved anew when the open requests change.

    While the same requests are open, an optimum stays one when limits that it does not reach are lifted or lowered to
    where it still does not reach them; so it is used again.

    Parameters
    ----------
    instance : Instance
        One user for each request.
    mechanism : str
    options : dict
        As for :func:`fairlp.allocate`.
    """

    def __init__(self, instance: Instance, mechanism: str, options: dict[str, Any]) -> None:
        self.instance, self.mechanism, self.options = instance, find_defined(mechanism, instance).name, dict(options)
        self.kept: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        self.solved = 0

    def allocate(self, now: float, requests: np.ndarray, limits: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the mechanism's allocation."""
        if not requests.size:
            return np.zeros((0, len(self.instance.servers)))
        key = requests.tobytes()
        if key in self.kept:
            before, tasks = self.kept[key]
            reach = tasks.sum(axis=1) * (1 + VERIFIED)
            if ((limits == before) | ((reach < limits) & (reach < before))).all():
                return tasks
        moment = self.instance.select_users(requests).derived(task_limits=limits, weights=weights)
        # in one order in memory, for sums of the same numbers in another order differ in the last digit
        tasks = np.ascontiguousarray(run(find(self.mechanism), moment, **self.options).tasks_array)
        over = tasks.sum(axis=1) > limits * (1 + VERIFIED)
        if over.any():
            request = moment.users[int(over.argmax())]
            raise SolverError(
                f"mechanism {self.mechanism!r} gave request {request!r} more than it asks for; in a simulation it must "
                "keep instance.task_limits"
            )
        self.solved += 1
        if len(self.kept) >= MOST_KEPT:
            del self.kept[next(iter(self.kept))]
        self.kept[key] = (limits, tasks)
        return tasks

    def next_change(self, now: float) -> float:
        """An optimum stays what it is."""
        return math.inf

    def state(self) -> tuple[dict[str, np.ndarray], Any]:
        """Return the allocations that may be used again, one after the other."""
        kept = self.kept.values()
        arrays = {
            "sizes": np.array([len(limits) for limits, _ in kept], dtype=np.int64),
            "requests": np.frombuffer(b"".join(self.kept), dtype=np.int64),
            "limits": np.concatenate([np.zeros(0), *(limits for limits, _ in kept)]),
            "tasks": np.concatenate([np.zeros((0, len(self.instance.servers))), *(tasks for _, tasks in kept)]),
            "solved": np.array(self.solved),
        }
        return arrays, None

    def restore(self, kept: Arrays, prefix: str) -> None:
        """Go on from a state that was kept in a file."""
        ends = np.cumsum(kept.wholes(f"{prefix}sizes", None)).tolist()
        size = ends[-1] if ends else 0
        requests = kept.wholes(f"{prefix}requests", size, below=len(self.instance.users))
        limits = kept.floats(f"{prefix}limits", size)
        tasks = kept.floats(f"{prefix}tasks", size, len(self.instance.servers))
        self.solved = kept.whole(f"{prefix}solved")
        for start, end in pairwise([0, *ends]):
            self.kept[requests[start:end].tobytes()] = limits[start:end], tasks[start:end]


class Distributed:
    """Servers that keep PS-DSF up on their own, each going on from what it runs (Khamse-Ashari et al., §III-D).

    They act once a ``period`` each, at times of their own; what has come of it is looked at when requests change and
    at every multiple of the period. What a server still holds for tasks that have ended does no work until it acts.

    Parameters
    ----------
    instance : Instance
        One user for each request.
    policy : str
        A key of ``DISTRIBUTED``.
    options : dict
        ``period``, ``jitter``, ``delay``, ``damping``, ``procedure``, ``clock_seed`` as of method ``distributed``.
    """

    def __init__(self, instance: Instance, policy: str, options: dict[str, Any]) -> None:
        row = find_defined(DISTRIBUTED[policy], instance)
        for name in options:
            if name not in CLOCK_OPTIONS:
                raise UnknownNameError(f"{policy} has no option {name!r}; {nearest(name, CLOCK_OPTIONS)}")
        clocks = clocks_of(options)
        self.period = clocks.period
        market = PerServerMarket.of(instance, row.division)
        market.weights = market.weights.copy()  # the instance's own cannot be written to
        self.network = Network(market, clocks)
        self.limits = np.zeros(len(instance.users))
        for request in range(len(self.limits)):
            self.network.leave(request)

    def allocate(self, now: float, requests: np.ndarray, limits: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return what the servers run now, after the requests that were open before had their way until now."""
        for _ in self.network.run(now):
            pass
        market = self.network.market
        market.weights[requests] = weights
        self._weigh()
        wanted = np.zeros_like(self.limits)
        wanted[requests] = limits
        for request in np.flatnonzero(wanted != self.limits).tolist():
            if wanted[request] == 0:
                self.network.leave(request)
            else:
                self.network.enter(request)
                market.limits[request] = wanted[request]
        self.limits = wanted
        tasks = self.network.tasks[requests]
        held = tasks.sum(axis=1)
        return np.asarray(tasks * np.divide(limits, held, out=np.ones_like(held), where=held > limits)[:, None])

    def next_change(self, now: float) -> float:
        """Return the next multiple of the period, until nothing moves any more."""
        if self.network.settled or not self.limits.any():
            return math.inf
        tick = math.floor(now / self.period) + 1
        return tick * self.period if tick * self.period > now else (tick + 1) * self.period

    def state(self) -> tuple[dict[str, np.ndarray], Any]:
        """Return what the servers run, know and are about to tell."""
        arrays, random = self.network.state()
        return {"wanted": self.limits, **arrays}, random

    def restore(self, kept: Arrays, prefix: str) -> None:
        """Go on from a state that was kept in a file."""
        self.network.restore(kept, prefix, kept.document.get("random"))
        self.limits = kept.floats(f"{prefix}wanted", len(self.limits))
        self._weigh()

    def _weigh(self) -> None:
        """Let the rates of servers follow from the weights as they are now."""
        market = self.network.market
        market.rate[:] = [market.gamma[who, i] * market.weights[who] for i, who in enumerate(market.users)]
