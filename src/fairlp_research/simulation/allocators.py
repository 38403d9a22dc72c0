"""Allocators of divisible tasks: a mechanism solved at each moment, or servers that keep PS-DSF.

Both know all *requests* of a workload beforehand: what one user's tasks of one kind demand, and
where they may run. A moment is the requests that are open, with a limit on the tasks of each, and a
weight that follows from which are open.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from fairlp import Allocation, Instance, mechanisms, per_server
from fairlp.errors import InstanceError, SolverError, require_known
from fairlp.toolkit import tolerances

from ..distributed import CLOCK_OPTIONS, Network, clocks_of

_SUFFIX = "-distributed"
#: Policies in which servers act on their own, each with the mechanism that it approaches.
DISTRIBUTED: dict[str, str] = {f"{name}{_SUFFIX}": name for name in ("psdsf-rdm", "psdsf-tdm")}
#: Sets of open requests whose last allocation is kept.
MOST_KEPT = 1000


def fluid_policies() -> tuple[str, ...]:
    """Return the policies for divisible tasks.

    They are the static mechanisms of the table, a user's own, and distributed PS-DSF.

    Those that need what a cluster does not say, rates or quotas, are left out.
    """
    lacks = {"quotas of queues", "given rates"}
    solved = [
        name
        for name, row in mechanisms.TABLE.items()
        if (row.compared or name in mechanisms.OWN)
        and (not row.whole_tasks or row.remembers)
        and not lacks & set(map(str, row.domain))
    ]
    return (*solved, *DISTRIBUTED)


class Solved:
    """A mechanism, solved anew when the open requests change.

    While the same requests are open, an optimum stays one when limits that it does not reach are
    lifted or lowered to where it still does not reach them; so it is used again.

    Parameters
    ----------
    instance : Instance
        One user for each request.
    mechanism : str
    options : dict
        As for :func:`fairlp.allocate`.
    """

    def __init__(self, instance: Instance, mechanism: str, options: dict[str, Any]) -> None:
        self.instance, self.mechanism, self.options = (
            instance,
            mechanisms.find_defined(mechanism, instance).name,
            dict(options),
        )
        self.known_allocations: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        self.solved = 0

    def allocate(
        self, now: float, requests: np.ndarray, limits: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Return the mechanism's allocation."""
        if not requests.size:
            return np.zeros((0, len(self.instance.servers)))
        key = requests.tobytes()
        if key in self.known_allocations:
            before, tasks = self.known_allocations[key]
            reach = tasks.sum(axis=1) * (1 + tolerances.VERIFIED)
            if ((limits == before) | ((reach < limits) & (reach < before))).all():
                return tasks
        moment = self.instance.select_users(requests).derived(task_limits=limits, weights=weights)
        tasks = self.share(moment).tasks_array
        if len(self.known_allocations) >= MOST_KEPT:
            del self.known_allocations[next(iter(self.known_allocations))]
        self.known_allocations[key] = (limits, tasks)
        return tasks

    def share(self, moment: Instance, **state: Any) -> Allocation:
        """Return the mechanism's allocation of a moment, which must keep the limits."""
        allocation: Allocation = mechanisms.run(
            mechanisms.find(self.mechanism), moment, **self.options, **state
        )
        over = allocation.tasks_array.sum(axis=1) > moment.task_limits * (1 + tolerances.VERIFIED)
        if over.any():
            request = moment.users[int(over.argmax())]
            raise SolverError(
                f"mechanism {self.mechanism!r} gave request {request!r} more than it asks for; in "
                "a simulation it must "
                "keep instance.task_limits"
            )
        self.solved += 1
        return allocation

    def next_change(self, now: float) -> float:
        """An optimum stays what it is."""
        return math.inf


#: The option of mechanisms that count the past where they are asked to.
HALF_LIFE = "half_life"


class Remembering(Solved):
    """A mechanism that remembers, such as Karma, and shares once a quantum.

    Its state goes from each quantum to the next.

    A quantum begins at every multiple of ``period`` seconds at which a request is open. All
    requests of the workload take part, those that are not open with a limit of 0. Within a quantum
    no user gets more. Where the past fades (``half_life``), it fades in quanta without a request, too.

    Parameters
    ----------
    instance, mechanism, options
        As for :class:`Solved`; the option ``period`` is the length of a quantum, 1 second by
        default.
    """

    def __init__(self, instance: Instance, mechanism: str, options: dict[str, Any]) -> None:
        mechanism_options = dict(options)
        self.period = mechanism_options.pop("period", 1.0)
        if not (isinstance(self.period, Real) and 0 < float(self.period) < math.inf):
            raise InstanceError(
                f"period is {self.period!r}; expected the seconds of a quantum, above 0"
            )
        self.half_life = mechanism_options.get(HALF_LIFE)
        if self.half_life is not None:
            mechanism_options["period"] = self.period
        super().__init__(instance, mechanism, mechanism_options)
        self.last = -1.0
        self.open = False
        self.memory: pd.Series[float] | None = None
        self.tasks = np.zeros(instance.shape)

    def allocate(
        self, now: float, requests: np.ndarray, limits: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Return the tasks of the quantum's beginning, as far as they are still asked for."""
        self.open = bool(requests.size)
        if self.open and now > self.last and round(now / self.period) * self.period == now:
            limits_by_user = np.zeros(len(self.tasks))
            weighed = self.instance.weights.copy()
            limits_by_user[requests], weighed[requests] = limits, weights
            moment = self.instance.derived(task_limits=limits_by_user, weights=weighed)
            allocation = self.share(moment, state=self._memory_at(now))
            self.last = now
            self.memory = allocation.state
            self.tasks = allocation.tasks_array
        return at_most(self.tasks[requests], limits)

    def _memory_at(self, now: float) -> pd.Series[float] | None:
        """Return the state as it is after the quanta in which no request was open."""
        if self.memory is None or not self.half_life:
            return self.memory
        idle_seconds = max(now - self.last - self.period, 0.0)
        memory: pd.Series[float] = self.memory * 2.0 ** (-idle_seconds / self.half_life)
        return memory

    def next_change(self, now: float) -> float:
        """Return when the next quantum begins, as long as a request is open."""
        return next_multiple(now, self.period) if self.open else math.inf


def next_multiple(now: float, period: float) -> float:
    """Return the next multiple of the period."""
    tick = math.floor(now / period) + 1
    return tick * period if tick * period > now else (tick + 1) * period


def at_most(tasks: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return tasks within the limits of requests.

    Tasks over a limit are scaled down on all servers by the same factor.
    """
    totals = tasks.sum(axis=1)
    return np.asarray(
        tasks * np.divide(limits, totals, out=np.ones_like(totals), where=totals > limits)[:, None]
    )


class Distributed:
    """Servers that keep PS-DSF from what they run (Khamse-Ashari et al., §III-D).

    They act once a ``period`` each, at times of their own; what has come of it is looked at when
    requests change and at every multiple of the period. What a server still holds for tasks that
    have ended does no work until it acts.

    Parameters
    ----------
    instance : Instance
        One user for each request.
    policy : str
        A key of ``DISTRIBUTED``.
    options : dict
        ``period``, ``jitter``, ``delay``, ``damping``, ``procedure``, ``clock_seed`` as of method
        ``distributed``.
    """

    def __init__(self, instance: Instance, policy: str, options: dict[str, Any]) -> None:
        row = mechanisms.find_defined(DISTRIBUTED[policy], instance)
        for name in options:
            require_known(name, CLOCK_OPTIONS, f"{policy} has no option {name!r}")
        clocks = clocks_of(options)
        self.period = clocks.period
        market = per_server.PerServerMarket.of(instance, row.division)
        market.weights = market.weights.copy()  # the instance's own cannot be written to
        self.network = Network(market, clocks)
        self.limits = np.zeros(len(instance.users))
        for request in range(len(self.limits)):
            self.network.leave(request)

    def allocate(
        self, now: float, requests: np.ndarray, limits: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Return the tasks that the servers run now, after the time since the last change."""
        for _ in self.network.run(now):
            pass
        market = self.network.market
        market.weights[requests] = weights
        self._weigh()
        limits_by_request = np.zeros_like(self.limits)
        limits_by_request[requests] = limits
        for request in np.flatnonzero(limits_by_request != self.limits).tolist():
            if limits_by_request[request] == 0:
                self.network.leave(request)
            else:
                self.network.enter(request)
                market.limits[request] = limits_by_request[request]
        self.limits = limits_by_request
        return at_most(self.network.tasks[requests], limits)

    def next_change(self, now: float) -> float:
        """Return the next multiple of the period, until nothing moves any more."""
        if self.network.settled or not self.limits.any():
            return math.inf
        return next_multiple(now, self.period)

    def _weigh(self) -> None:
        """Let the rates of servers follow from the weights as they are now."""
        market = self.network.market
        market.rate[:] = [
            market.gamma[requests, i] * market.weights[requests]
            for i, requests in enumerate(market.users)
        ]


def allocator(instance: Instance, policy: str, options: dict[str, Any]) -> Solved | Distributed:
    """Return what shares by a policy; ``instance`` has one user for each request."""
    if policy in DISTRIBUTED:
        return Distributed(instance, policy, options)
    row = mechanisms.find(policy)
    remembers = row.remembers and (HALF_LIFE in options or HALF_LIFE not in row.options)
    return (Remembering if remembers else Solved)(instance, policy, options)
