"""Algorithm I of Khamse-Ashari et al. (ICC 2017, Table II) for PS-DSF.

Servers move tasks to the users of the lowest levels.

A server raises its lowest levels S* by z*, on what is free and what the highest holders n_r of the
saturated resources release, or by the part β of both that leaves the holders at or above the
raised. As printed the pseudocode needs this:

* A user n_r that is chosen for two resources releases its tasks once; f_i would count them twice
  otherwise, and the server give out more than it has.
* The test of Corollary 1 is "no holder of r* among N_i is above S*". The printed equality fails
  where N_i has no holder left (all went with an earlier bottleneck, at a level at most S*), and
  Update-Allocation then has no n_r.
* R* is empty where nothing that the lowest need is saturated: no user releases anything and β = 1.
* z* is the minimum over the resources that the lowest demand (D* > 0).
* Any β in (0, 1] with a property will do; here it is the largest.
* Levels are equal to the tolerance ``SETTLED``. A resource is saturated when at most ``SATURATED``
  of what anyone would use of it alone is left (or rounding): left over, it would give no user a
  gain that could be seen.

Task limits are ours: z* ends where one of the lowest has its limit, and a lowest user with its
limit leaves N_i. A server that finds a user beyond its limit lets those tasks go first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...models.instances.arithmetic import quotients
from ...tolerances import ROUNDING, SATURATED, SETTLED
from .best_response import MOST_SWEEPS, SweepsResult
from .market import PerServerMarket, fill_server

#: Updates of one server at one visit; the levels then wait for the next sweep.
MOST_UPDATES = 1000


@dataclass(frozen=True)
class Procedure:
    """The result of the server procedure: the tasks of one server, and its number of updates.

    An update is a call of Update-Allocation.
    """

    tasks: np.ndarray
    updates: int


def separate_start(market: PerServerMarket) -> np.ndarray:
    """Return DRF on each server by itself (the paper's start); N×K.

    A task limit is divided in proportion to γ.
    """
    alone = market.gamma.sum(axis=1, keepdims=True)
    fractions = quotients(market.gamma, alone)
    tasks = np.zeros(market.shape)
    for i, users in enumerate(market.users):
        if users.size:
            nothing = np.zeros(len(users))
            share = fractions[users, i]
            limits = np.full(len(users), np.inf)
            finite = np.isfinite(market.limits[users])
            limits[finite] = (market.limits[users] * share)[finite]
            tasks[users, i] = fill_server(
                market.demands[i], market.capacity[i], market.rate[i], nothing, limits
            ).tasks
    return tasks


def server_procedure(
    market: PerServerMarket, server: int, tasks: np.ndarray, totals: np.ndarray
) -> Procedure:
    """Run the inner loop of Algorithm I on one server, from its tasks and the totals it knows."""
    demands = market.demands[server]
    capacity = market.capacity[server]
    rate = market.rate[server]
    limits = market.limits[market.users[server]]
    base = totals - tasks
    tasks = np.minimum(
        tasks, np.maximum(limits - base, 0.0)
    )  # totals that were late may have let a limit be passed
    going = np.ones(len(tasks), dtype=bool)
    needs = demands > 0
    alone = demands * market.gamma[market.users[server], server][:, None]
    negligible = SATURATED * np.where(needs, alone, np.inf).min(axis=0, initial=np.inf)
    negligible = np.maximum(np.where(needs.any(axis=0), negligible, 0.0), ROUNDING * capacity)
    updates = 0
    while going.any() and updates < MOST_UPDATES:
        total = base + tasks
        level = total / rate
        lowest = float(level[going].min())
        low = going & (level <= lowest * (1 + SETTLED))
        full = low & (total >= limits * (1 - SETTLED))
        if full.any():  # they have all their tasks, and need no bottleneck
            going &= ~full
            continue
        used = tasks @ demands
        saturated = capacity - used <= negligible
        candidates = np.flatnonzero(saturated & needs[low].any(axis=0))
        above = going & ~(level <= lowest * (1 + SETTLED))
        holds = needs[:, candidates] & ((tasks > 0) & above)[:, None]
        blocked = ~holds.any(axis=0)
        if blocked.any():
            going &= ~needs[:, candidates[blocked]].any(axis=1)
            continue
        givers = candidates
        if candidates.size:
            highest = np.where(holds, level[:, None], -np.inf).argmax(axis=0)
            givers = np.unique(highest)
        free = np.maximum(capacity - used, 0.0) + tasks[givers] @ demands[givers]
        growth = rate[low] @ demands[low]
        rise = float(np.min(free[growth > 0] / growth[growth > 0]))
        rise_to_limit = (limits[low] - total[low]) / rate[low]
        rise = min(rise, float(rise_to_limit.min()))
        fraction = 1.0
        if givers.size:
            fraction = min(
                1.0, float(((level[givers] - lowest) / (rise + tasks[givers] / rate[givers])).min())
            )
        tasks[low] += fraction * rise * rate[low]
        tasks[givers] *= 1 - fraction
        updates += 1
    return Procedure(tasks, updates)


def algorithm_1(
    market: PerServerMarket, *, start: np.ndarray | None = None, most_sweeps: int = MOST_SWEEPS
) -> SweepsResult:
    """Return a PS-DSF allocation by Algorithm I.

    The server procedure runs on every server in order, until no server updates.

    Parameters
    ----------
    market : PerServerMarket
    start : ndarray, shape (N, K), optional
        Tasks to start from; by default DRF on each server.
    most_sweeps : int

    Notes
    -----
    The paper leaves convergence open. The rounds say how much a sweep changed, and how many updates
    it took.
    """
    tasks = separate_start(market) if start is None else start.copy()
    sweeps = []
    totals = tasks.sum(axis=1)
    for _ in range(most_sweeps):
        change = 0.0
        updates = 0
        for i, users in enumerate(market.users):
            if not users.size:
                continue
            server_tasks = tasks[users, i]
            procedure = server_procedure(market, i, server_tasks, totals[users])
            change = max(change, market.moved(i, server_tasks, procedure.tasks, totals[users]))
            tasks[users, i] = procedure.tasks
            totals[users] = tasks[users].sum(axis=1)
            updates += procedure.updates
        sweeps.append((change, updates))
        if change <= SETTLED:
            return SweepsResult(tasks, sweeps)
    return SweepsResult(tasks, sweeps, converged=False)
