"""The market of PS-DSF: users and servers as every method and the check see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import NotConvergedError, UnsupportedError, quoted
from ...models.instances.arithmetic import effort
from ...models.instances.instance import Instance
from ...tolerances import QUOTIENT_ROUNDING, SATURATED, SETTLED
from ..mechanism import Division

__all__ = ["PerServerMarket", "positive"]

# Water-filling of one server for users who also run elsewhere: a server's best response in PS-DSF.

#: A user who is at its task limit, or whom no resource stopped, belongs to no group.
NO_GROUP = -1


@dataclass(frozen=True)
class ServerFilling:
    """One server, filled.

    Attributes
    ----------
    tasks : ndarray, shape (n,)
        Tasks of each user here.
    group : ndarray of int, shape (n,)
        The round in which a saturated resource froze the user; NO_GROUP for one who is at its
        limit.
    resource : list of int
        The resource that was saturated, for each round.
    """

    tasks: np.ndarray
    group: np.ndarray
    resource: list[int]


def fill_server(
    demands: np.ndarray,
    capacity: np.ndarray,
    rate: np.ndarray,
    base: np.ndarray,
    limits: np.ndarray,
) -> ServerFilling:
    """Return the leximin filling of one server from levels that the users bring with them.

    Parameters
    ----------
    demands : ndarray, shape (n, R)
        Per task here, >= 0, at least one positive.
    capacity : ndarray, shape (R,)
    rate : ndarray, shape (n,)
        Tasks at level 1, γ[n,i]·φ[n] > 0.
    base : ndarray, shape (n,)
        Tasks elsewhere.
    limits : ndarray, shape (n,)
        The most tasks that the user may add here (its limit less the base), infinite for none.

    Notes
    -----
    What is in use is piecewise linear in the common level and bends where a user starts or reaches
    its limit: one sort and two cumulative sums give the level at which a resource is saturated. At
    most R rounds, O(n·(R + log n)) each.

    Examples
    --------
    Two users of one unit each share three; the first has one task elsewhere.

    >>> filled = fill_server(
    ...     np.ones((2, 1)), np.array([3.0]), np.ones(2), np.array([1.0, 0.0]), np.full(2, np.inf)
    ... )
    >>> filled.tasks.tolist()
    [1.0, 2.0]
    """
    count = len(rate)
    tasks = np.zeros(count)
    group = np.full(count, NO_GROUP)
    resources: list[int] = []
    start = base / rate
    stop = (base + limits) / rate
    remaining = capacity.astype(float)
    going = np.arange(count)
    while going.size:
        levels = _saturation(demands[going], rate[going], start[going], stop[going], remaining)
        level = float(levels.min())
        if np.isinf(level):  # limits hold everyone
            tasks[going] = limits[going]
            break
        saturated = levels <= level * (1 + SATURATED)
        full = stop[going] <= level
        frozen = (demands[going][:, saturated] > 0).any(axis=1) | full
        if not frozen.any():
            raise NotConvergedError(
                "levels of the users of a server cannot be told apart: their weights or demands "
                "span more than floats "
                f"hold (tasks at level 1 from {rate.min():.3g} to {rate.max():.3g}); scale them"
            )
        frozen_users = going[frozen]
        amounts = np.maximum(
            rate[frozen_users] * np.minimum(level, stop[frozen_users]) - base[frozen_users], 0.0
        )
        tasks[frozen_users] = np.where(full[frozen], limits[frozen_users], amounts)
        group[frozen_users] = np.where(full[frozen], NO_GROUP, len(resources))
        resources.append(int(levels.argmin()))
        remaining = np.maximum(remaining - tasks[frozen_users] @ demands[frozen_users], 0.0)
        remaining[saturated] = 0.0
        going = going[~frozen]
    return ServerFilling(tasks, group, resources)


def _saturation(
    demands: np.ndarray,
    rate: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    remaining: np.ndarray,
) -> np.ndarray:
    """Return the common level that uses up each resource's rest; infinite where none does."""
    slopes = demands * rate[:, None]
    points = start
    limited = np.isfinite(stop)
    if limited.any():
        points = np.concatenate([start, stop[limited]])
        slopes = np.concatenate([slopes, -slopes[limited]])
    order = np.argsort(points, kind="stable")
    points = points[order]
    slopes = slopes[order]
    growth = np.cumsum(slopes, axis=0)
    offset = np.cumsum(slopes * points[:, None], axis=0)
    used = growth[:-1] * points[1:, None] - offset[:-1]  # where the next bend is
    levels = np.full(len(remaining), np.inf)
    for r in np.flatnonzero(demands.any(axis=0)).tolist():
        amount = remaining[r]
        reached = used[:, r] >= amount
        k = int(reached.argmax()) if reached.any() else len(used)
        if growth[k, r] > 0:
            level = (amount + offset[k, r]) / growth[k, r]
            bend = points[k + 1] if k < len(used) else np.inf
            levels[r] = min(max(level, points[k]), bend)
        elif reached.any():
            levels[r] = points[k]
    if limited.any():  # after the last limit nothing grows but rounding
        alone = (demands[~limited] > 0).any(axis=0)
        beyond = levels > points[-1]
        levels[beyond & ~alone] = np.inf
    return levels


def fitting(free: np.ndarray, demands: np.ndarray) -> np.ndarray:
    """Return the number of tasks that fit into the free amount, by user and resource.

    It is infinite where a task needs nothing of the resource.
    """
    return np.asarray(
        np.divide(free, demands, out=np.full(demands.shape, np.inf), where=demands > 0)
    )


def _users_by_server(gamma: np.ndarray) -> list[np.ndarray]:
    """Return who can run something on each server; servers of the same users have one array."""
    users: dict[bytes, np.ndarray] = {}
    by_server = []
    for column in gamma.T:
        can_run = column != 0
        key = np.packbits(can_run).tobytes()
        if key not in users:
            users[key] = np.flatnonzero(can_run)
        by_server.append(users[key])
    return by_server


@dataclass
class PerServerMarket:
    """Users and servers as the fillings see them.

    Attributes
    ----------
    division : {"rdm", "tdm"}
        What a server divides: its resources, Σ_n x[n,i]·d[n,r] ≤ c[i,r], or its time, Σ_n
        x[n,i]/γ[n,i] ≤ 1.
    gamma : ndarray, shape (N, K)
        Tasks that n could run alone on i; 0 where it cannot.
    weights, limits : ndarray, shape (N,)
    users : list of ndarray
        For each server, the users who can run there.
    demands, capacity, rate : list of ndarray
        For each server: what one task of each of its users needs, (n, R); what there is, (R,); γ·φ,
        (n,).
    """

    division: Division
    gamma: np.ndarray
    weights: np.ndarray
    limits: np.ndarray
    users: list[np.ndarray] = field(repr=False)
    demands: list[np.ndarray] = field(repr=False)
    capacity: list[np.ndarray] = field(repr=False)
    rate: list[np.ndarray] = field(repr=False)

    @classmethod
    def of(cls, instance: Instance, division: Division) -> PerServerMarket:
        """Return the market of an instance; O(N·K·R).

        Where rates γ are given, amounts are scaled so that running alone gives exactly γ tasks: a
        coprocessor makes a task of its user lighter on that server.
        """
        gamma = np.where((instance.task_limits > 0)[:, None], instance.gamma(), 0.0)
        total = instance.total_capacities
        users = _users_by_server(gamma)
        multiple = effort(instance)
        if division == "tdm":
            demands = [
                1.0 / gamma[server_users, i][:, None] for i, server_users in enumerate(users)
            ]
            capacity = [np.ones(1) for _ in users]
        else:
            # servers of the same users have one array
            demands_by_users = {
                id(server_users): instance.demands[server_users] for server_users in users
            }
            demands = [demands_by_users[id(server_users)] for server_users in users]
            if multiple is not None:
                demands = [
                    d * multiple[server_users, i][:, None]
                    for i, (server_users, d) in enumerate(zip(users, demands, strict=True))
                ]
            capacity = list(total)
        weights = instance.user_weights
        rate = [
            gamma[server_users, i] * weights[server_users] for i, server_users in enumerate(users)
        ]
        return cls(division, gamma, weights, instance.task_limits, users, demands, capacity, rate)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of servers."""
        return self.gamma.shape[0], self.gamma.shape[1]

    def respond(self, server: int, tasks: np.ndarray, totals: np.ndarray) -> ServerFilling:
        """Return the filling of one server, from its own tasks and the totals that it knows."""
        base = np.maximum(totals - tasks, 0.0)
        limits = np.maximum(self.limits[self.users[server]] - base, 0.0)
        return fill_server(
            self.demands[server], self.capacity[server], self.rate[server], base, limits
        )

    def moved(
        self, server: int, before: np.ndarray, after: np.ndarray, totals: np.ndarray
    ) -> float:
        """Return the largest change of a server's tasks, relative to what users run there alone.

        A response is the difference of two numbers that are as large as the user's total, and is
        right to their rounding only. So where a total is so large beside γ[n,i] that its rounding
        (``QUOTIENT_ROUNDING``) is more than ``SETTLED`` of γ[n,i], the change is relative to the
        part of the total of which it is ``SETTLED``.
        """
        alone = self.gamma[self.users[server], server]
        scale = np.maximum(alone, totals * (QUOTIENT_ROUNDING / SETTLED))
        return float((abs(after - before) / scale).max())

    def sweep(
        self, tasks: np.ndarray, order: Iterable[int]
    ) -> tuple[float, list[ServerFilling | None]]:
        """Let every server respond once, in place; return the largest change and the fillings.

        The change is the largest one that :meth:`moved` tells of a server.
        """
        totals = tasks.sum(axis=1)
        filled: list[ServerFilling | None] = [None] * self.shape[1]
        change = 0.0
        for i in order:
            server_users = self.users[i]
            if not server_users.size:
                continue
            server_tasks = tasks[server_users, i]
            filling = self.respond(i, server_tasks, totals[server_users])
            change = max(change, self.moved(i, server_tasks, filling.tasks, totals[server_users]))
            totals[server_users] += filling.tasks - server_tasks
            tasks[server_users, i] = filling.tasks
            filled[i] = filling
        return change, filled


def positive(name: str, value: Any, zero: bool = False) -> float:
    """Return an option that must be a finite positive number, or raise."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise UnsupportedError(
            f"{name}={quoted(value)}; expected a finite number {'≥' if zero else '>'} 0"
        )
    return number
