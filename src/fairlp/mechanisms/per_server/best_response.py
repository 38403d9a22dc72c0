"""Per-server dominant share fairness (PS-DSF): servers fill by water-filling, one after the other, until none moves.

Each sweep is a best response of every server. Sweeps alone converge, but slowly where users and servers exchange tasks
around cycles; between sweeps the linear system of the current support is solved and its cycles are emptied
(:mod:`~fairlp.mechanisms.per_server.support`), which ends most instances after twenty sweeps at the last digit. Where
that makes no progress, the last sweep is sometimes extended until something is empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...tolerances import SWEEP_CHANGE
from .market import Market

#: Sweeps before the support is looked at; by then most of it is right.
FIRST_SWEEPS = 10
MOST_SWEEPS = 2000
#: Tasks that move by at least this part of the largest move take part in a drift.
DRIFTING = 0.1
#: Sweeps from such a move to the next look at the support.
AFTER_DRIFT = 4


@dataclass
class Settled:
    """Where the sweeps ended: tasks by user and server, and for each sweep its change and the pivots after it.

    ``converged`` tells whether the last sweep moved nothing.
    """

    tasks: np.ndarray
    sweeps: list[tuple[float, int]]
    converged: bool = True


def best_response(
    market: Market, *, start: np.ndarray | None = None, pivoting: bool = True, most_sweeps: int = MOST_SWEEPS
) -> Settled:
    """Return a PS-DSF allocation: a point at which no server's best response moves anything.

    Parameters
    ----------
    market : Market
    start : ndarray, shape (N, K), optional
        Tasks to start from; by default none.
    pivoting : bool
        Solve for the support between sweeps; without, sweeps alone.
    most_sweeps : int

    Notes
    -----
    Under time division the totals are unique. Under resource division there may be several fixed points; this is the
    one that is reached from an empty cluster when servers fill in their order.
    """
    from .support import Support

    n_users, n_servers = market.shape
    tasks = np.zeros((n_users, n_servers)) if start is None else start.copy()
    sweeps: list[tuple[float, int]] = []
    best, failures, gap, due = np.inf, 0, 2, FIRST_SWEEPS
    for number in range(most_sweeps):
        forward = failures % 2 == 0  # the other way round breaks a dance of two states
        before = tasks.copy() if pivoting else tasks
        change, filled = market.sweep(tasks, range(n_servers) if forward else range(n_servers - 1, -1, -1))
        sweeps.append((change, 0))
        if change <= SWEEP_CHANGE:
            return Settled(tasks, sweeps)
        if not pivoting or number < due:
            continue
        if change < 0.9 * best:
            best = change
        else:
            failures += 1
            gap += 1
        if failures % 3 == 2:
            _drift(market, tasks, tasks - before)
            due = number + AFTER_DRIFT
            continue
        due = number + gap
        support = Support.of(market, tasks, filled)
        pivots = support.settle()
        tasks[:] = 0.0
        tasks[support.user, support.server] = support.tasks
        sweeps[-1] = (change, pivots)
    return Settled(tasks, sweeps, converged=False)


def _drift(market: Market, tasks: np.ndarray, step: np.ndarray) -> None:
    """Go on, in place, as the last sweep went, until an edge that takes part is empty.

    Where a user's tasks move from server to server a little in each sweep, this does hundreds of them at once.
    """
    part = np.divide(abs(step), market.gamma, out=np.zeros_like(step), where=market.gamma > 0)
    falls = (step < 0) & (part >= DRIFTING * part.max())
    if falls.any():
        tasks += float((tasks[falls] / -step[falls]).min()) * step
        np.maximum(tasks, 0.0, out=tasks)
