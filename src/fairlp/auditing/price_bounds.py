"""What prices of the true allocation say of a lie: a bound on the liar's own tasks, without a run.

It holds for max-min fairness on servers, the leximin of x[n]/g[n] with g = φΓ, and rests on this
definition. With prices p ≥ 0, of any origin, and low[n] the least that a task of n costs on the
servers that it claims, the lowest level is at most Σ p·c / Σ_n low[n]·g[n] (weak duality). A liar
who claims some of every resource is at the lowest level where all users may run on the servers
that it claims. For if its task cost nothing at the prices of that level, all of some server would
be free of charge, no user's task would cost anything, and the prices would bound nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import FairlpError
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.table import TABLE
from ..models.instances.instance import Instance
from .findings import AuditCase

__all__ = ["PriceBounds"]


@dataclass(frozen=True)
class PriceBounds:
    """Bounds on the levels that liars reach, by the prices of the true allocation.

    Attributes
    ----------
    row : Mechanism
    can_run : ndarray of bool, shape (N,)
    prices : ndarray, shape (K, R)
    low : ndarray, shape (N,)
        The least that a true task of each user costs.
    value : float
        What all that there is costs.
    barred : ndarray of int, shape (K,)
        How many users who can run something may not run on each server.
    runs : ndarray of bool, shape (N, K)
    """

    row: Mechanism
    can_run: np.ndarray
    prices: np.ndarray
    low: np.ndarray
    value: float
    barred: np.ndarray
    runs: np.ndarray

    @classmethod
    def of(cls, case: AuditCase) -> PriceBounds | None:
        """Return the bounds of a case; None where prices say nothing of lies.

        The mechanism runs once more, for its prices.
        """
        row = TABLE.get(case.mechanism)
        instance = case.instance
        # The mechanisms that also share whole tasks are those of this definition.
        is_max_min = row is not None and row.whole is not None and not case.options
        is_plain = not (
            case.whole
            or instance.has_rates
            or instance.has_jobs
            or instance.has_resource_weights
            or instance.tree.has_limits
            or np.isfinite(instance.task_limits).any()
        )
        runs = instance.runnable()
        can_run = np.asarray(runs.any(axis=1))
        barred = np.asarray((~runs[can_run]).sum(axis=0))
        if row is None or not is_max_min or not is_plain or (barred > 1).all():
            return None
        try:
            prices = case.again(instance).prices_array
        except FairlpError:
            return None
        if prices is None:
            return None
        prices = np.maximum(prices, 0.0)
        low = np.where(runs, instance.demands @ prices.T, np.inf).min(axis=1)
        low[~can_run] = 0.0
        value = float((prices * instance.total_capacities).sum())
        return cls(row, can_run, prices, low, value, barred, runs)

    def claimed_tasks(self, lie: Instance, user: int) -> float:
        """Return a bound on the claimed tasks of a liar; infinite where prices say nothing.

        Parameters
        ----------
        lie : Instance
            As it is with the lie of one user.
        user : int
        """
        demand = lie.demands[user]
        claimed = lie.eligible[user] & (lie.capacities > 0).all(axis=1)
        others_barred = self.barred - (~self.runs[user] & self.can_run[user])
        if not claimed.any() or (demand <= 0).any() or (others_barred[claimed] > 0).any():
            return np.inf
        low = self.low.copy()
        low[user] = float((self.prices[claimed] @ demand).min())
        tasks_per_level = self.row.tasks_per_level(lie)
        cost = float(low[self.can_run] @ tasks_per_level[self.can_run])
        return float(tasks_per_level[user] * self.value / cost) if cost > 0 else np.inf
