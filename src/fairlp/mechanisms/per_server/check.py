"""The fixed point of per-server dominant share fairness, and the users that could gain."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd

from ...models.instances.arithmetic import largest_first, relative
from ...models.instances.instance import Instance
from ...models.programs.proof import Proof
from ...tolerances import AGREEMENT, FEASIBILITY
from ..allocation import Allocation, MadeWhenRead
from ..mechanism import Division
from .market import PerServerMarket, fitting
from .time_market import limits_bind, prove_market

#: Columns of the table of gains.
_OF_GAINS = ["user", "server", "gain", "fraction", "level", "from"]

# Is an allocation PS-DSF? Definition 5 of Khamse-Ashari et al., user by user and server by server.


@dataclass(frozen=True, kw_only=True)
class FixedPoint(Proof):
    """The verdict on an allocation as PS-DSF: feasible, and no user could gain.

    Both are relative, within ``FEASIBILITY`` and ``AGREEMENT``.

    Attributes
    ----------
    violation : float
        Largest gain as a fraction of what the user could run alone on that server.
    infeasibility : float
        Largest violation of a capacity, task limit or placement, relative.
    gains : DataFrame
        Who could gain: user, server, gain (tasks), fraction (of what it could run alone there),
        level, and ``from``: the users who would give way, highest level first. Empty when the
        allocation holds.
    """

    violation: float
    infeasibility: float
    gains: MadeWhenRead[pd.DataFrame] = field(default=MadeWhenRead(), repr=False)


def fixed_point(instance: Instance, tasks: np.ndarray, division: Division = "rdm") -> FixedPoint:
    """Return whether tasks (N×K, of all servers of a row together) are PS-DSF; O(N·K·(R + log N)).

    Raises
    ------
    InstanceError
        With weights per resource.
    """
    market = PerServerMarket.of(instance, division)
    totals = tasks.sum(axis=1)
    room = np.maximum(market.limits - totals, 0.0)
    infeasibility = _infeasibility(market, tasks, totals)
    violation = 0.0
    gains = []
    for i, users in enumerate(market.users):
        if not users.size:
            continue
        gain, level = _gains(market, i, users, tasks[users, i], totals[users])
        gain = np.minimum(gain, room[users])
        fraction = gain / market.gamma[users, i]
        violation = max(violation, float(fraction.max()))
        could = np.flatnonzero(fraction > AGREEMENT).tolist()
        gains += [
            (float(fraction[k]), int(users[k]), i, float(gain[k]), float(level[k])) for k in could
        ]
    gains.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    labels = np.fromiter(instance.users, dtype=object, count=len(instance.users))
    rows = [
        {
            "user": instance.users[n],
            "server": instance.servers[i],
            "gain": gain,
            "fraction": fraction,
            "level": level,
            "from": labels[_givers(market, tasks, totals, n, i, level)].tolist(),
        }
        for fraction, n, i, gain, level in gains
    ]
    kind = {"rdm": "resources are divided", "tdm": "time is divided"}[division]
    if not infeasibility <= FEASIBILITY:
        answer = (
            f"no, infeasible: a capacity, limit or placement is violated by {infeasibility:.3g}"
        )
    elif gains:
        first = rows[0]
        others = f", and {len(rows) - 1} more" if len(rows) > 1 else ""
        source = (
            f" from {', '.join(repr(user) for user in first['from'])}"
            if first["from"]
            else " of what is free"
        )
        answer = (
            f"no; user {first['user']!r} could run {first['gain']:.6g} more tasks on server "
            f"{first['server']!r}{source}{others}"
        )
    else:
        answer = f"yes; largest gain {violation:.1e} of what one could run alone on a server"
    return FixedPoint(
        not gains and infeasibility <= FEASIBILITY,
        f"PS-DSF ({kind}): {answer}",
        violation=violation,
        infeasibility=infeasibility,
        gains=partial(pd.DataFrame, rows, columns=_OF_GAINS),
    )


def judge(allocation: Allocation, division: Division) -> FixedPoint:
    """Return whether an allocation's tasks are PS-DSF.

    Under time division with task limits they must be the market's optimum, too.
    """
    instance = allocation.instance
    tasks = allocation.tasks_array
    verdict = fixed_point(instance, tasks, division)
    if division == "rdm" or not verdict.holds or not limits_bind(instance):
        return verdict
    proof = prove_market(instance, tasks.sum(axis=1))
    return replace(
        verdict, holds=proof.holds, message=f"{verdict.message}; {proof.message}", gap=proof.gap
    )


def _gains(
    market: PerServerMarket, server: int, users: np.ndarray, tasks: np.ndarray, totals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many tasks each user could add on the server, and its level there."""
    demands = market.demands[server]
    capacity = market.capacity[server]
    level = totals / market.rate[server]
    order = largest_first(level)
    cumulative = np.zeros((len(users) + 1, demands.shape[1]))
    use_in_order = tasks[order, None] * demands[order]
    np.cumsum(use_in_order, axis=0, out=cumulative[1:])
    higher = np.searchsorted(-level[order], -level * (1 + AGREEMENT), side="left")
    free = np.maximum(capacity - cumulative[-1], 0.0) + cumulative[higher]
    return fitting(free, demands).min(axis=1), level


def _givers(
    market: PerServerMarket,
    tasks: np.ndarray,
    totals: np.ndarray,
    user: int,
    server: int,
    level: float,
) -> np.ndarray:
    """Return the users who could give the user's resources on that server, highest level first.

    Such a user has a higher level and tasks there that use a resource that the user demands.
    """
    server_users = market.users[server]
    position = int(np.searchsorted(server_users, user))
    levels = totals[server_users] / market.rate[server]
    demanded = market.demands[server][position] > 0
    shares_resource = (market.demands[server] * demanded > 0).any(axis=1)
    is_higher = levels > level * (1 + AGREEMENT)
    runs_here = tasks[server_users, server] > 0
    givers = np.flatnonzero(is_higher & runs_here & shares_resource)
    return np.asarray(server_users[givers[largest_first(levels[givers])]])


def _infeasibility(market: PerServerMarket, tasks: np.ndarray, totals: np.ndarray) -> float:
    """Return the largest violation of a capacity, limit, placement or sign, relative."""
    violations = [
        relative(tasks[users, i] @ market.demands[i] - market.capacity[i], market.capacity[i])
        for i, users in enumerate(market.users)
        if users.size
    ]
    finite = np.isfinite(market.limits)
    limits = market.limits[finite]
    violations += [relative(totals[finite] - limits, limits), tasks[market.gamma == 0]]
    scale = np.where(market.gamma > 0, market.gamma, 1.0)
    return max(
        0.0, *(float(violation.max(initial=0.0)) for violation in (*violations, -tasks / scale))
    )


__all__ = ["FixedPoint", "fixed_point", "judge"]
