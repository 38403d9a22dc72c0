"""Quotas with borrowing and lending as bounds on all tasks together, beside those of a pool.

In the root counts, too, what users outside the quotas have together beyond what no quota covers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...tolerances import SATURATED
from ..paths.path import Path
from ..paths.pool import PoolRows
from .quotas import QuotaTree, reaches

__all__ = ["QuotaRows"]


@dataclass(frozen=True)
class QuotaRows(PoolRows):
    """What limits a pool, and the limits of queues: U[v] ≤ S[v] + borrowing limit.

    Attributes
    ----------
    quotas : QuotaTree
        Its lanes are the users.
    """

    quotas: QuotaTree

    @cached_property
    def limited(self) -> np.ndarray:
        """Which queue has a limit of which column. Bool, shape (nodes, M)."""
        return np.asarray(np.isfinite(self.quotas.limits))

    @cached_property
    def rooms(self) -> np.ndarray:
        """How much there is of each row, and how much queues may use."""
        return np.concatenate([self.room, self.quotas.limits[self.limited]])

    def used(self, tasks: np.ndarray) -> np.ndarray:
        """Return what tasks take of each row, and what is in use in queues."""
        return np.concatenate([self.use @ tasks, self._usage(tasks)[self.limited]])

    def used_and_growth(self, tasks: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return what tasks take and what is in use in queues, and how fast both grow."""
        used = self._usage(tasks)
        growth = self.quotas.usage_growth(used, rate)
        growth[0] += np.where(self._strays_borrow(tasks), self.quotas.lanes.use_outside.T @ rate, 0)
        of_queues = np.array([used, growth])[:, self.limited]
        return np.hstack([super().used_and_growth(tasks, rate), of_queues])

    def blocked(self, path: Path, t: float) -> np.ndarray:
        """Return the active users who need of a row, or of a quota, that is used up. Bool, (N,)."""
        tasks = path.tasks_at(t)
        held = path.active & self._held_by_quotas(tasks)
        return np.asarray(super().blocked(path, t) | held)

    def clearly_blocked(self, path: Path, t: float) -> np.ndarray:
        """Return the active users who rise clearly in a row that is used up, or in a quota."""
        tasks = path.tasks_at(t)
        held = path.active & self._held_by_quotas(tasks)
        return np.asarray(super().clearly_blocked(path, t) | held)

    def _held_by_quotas(self, tasks: np.ndarray) -> np.ndarray:
        """Return who takes of a column that a queue above may use no more of. Bool, (N,).

        What is within K of a node stays below it.
        """
        quotas = self.quotas
        used = self._usage(tasks)
        is_full = self.limited & (used >= quotas.limits * (1 - SATURATED))
        is_out = reaches(used, quotas.reserved)
        for nodes in quotas.branches.by_depth:
            is_full[nodes] |= is_out[nodes] & is_full[quotas.branches.parents[nodes]]
        held = is_full[quotas.branches.of] & (quotas.lanes.use > 0)
        borrows = is_full[0] & self._strays_borrow(tasks)
        return np.asarray((held | (borrows & (quotas.lanes.use_outside > 0))).any(axis=1))

    def _usage(self, tasks: np.ndarray) -> np.ndarray:
        """Return U of each node; in the root with what users outside the quotas borrow."""
        quotas = self.quotas
        used = quotas.usage(tasks)
        outside = quotas.lanes.use_outside.T @ tasks
        used[0] += np.maximum(outside - quotas.uncovered, 0.0)
        return used

    def _strays_borrow(self, tasks: np.ndarray) -> np.ndarray:
        """Return in which columns users outside the quotas would borrow more. Bool, (M,)."""
        return reaches(self.quotas.lanes.use_outside.T @ tasks, self.quotas.uncovered)
