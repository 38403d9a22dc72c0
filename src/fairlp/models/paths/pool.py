"""One pool, in closed form: rows that bound all tasks together, and how far a path goes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse

from ...errors import InstanceError
from ...tolerances import BLOCKED_PRICE, ROUNDING, SATURATED
from ..instances.queues import Queues
from .engine import Region
from .path import Path

#: What to do where floats cannot hold how users rise.
FAR_APART = (
    "expected weights of users and queues, and demands beside capacities, that are less far apart "
    "(only the ratios of weights matter)"
)


@dataclass(frozen=True)
class PoolRows(Region):
    """What limits a pool: ``use @ tasks <= room``; one row for each resource and each cap.

    Attributes
    ----------
    use : sparse array, shape (M, N)
        What one task takes of each row.
    room : ndarray, shape (M,)
    """

    use: sparse.csr_array
    room: np.ndarray

    @property
    def rooms(self) -> np.ndarray:
        """How much there is of each row, and of whatever else limits all tasks together."""
        return self.room

    def used(self, tasks: np.ndarray) -> np.ndarray:
        """Return what tasks take of each of these: convex in tasks."""
        return np.asarray(self.use @ tasks)

    def used_and_growth(self, tasks: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return what tasks take, and how fast that grows where they do, shape (2, rows)."""
        return np.array([self.use @ tasks, self.use @ rate])

    @classmethod
    def of(
        cls, pool: np.ndarray, needs: np.ndarray, demands: np.ndarray, queues: Queues
    ) -> PoolRows:
        """Return the rows of a pool's resources, with the needs of tasks, and of queues' caps."""
        use = [sparse.csr_array(needs.T)]
        room = [pool]
        for r in range(len(pool)):
            capped = np.flatnonzero(queues.capped[:, r])
            if capped.size:
                use.append(sparse.csr_array(queues.below[capped] * demands[:, r]))
                room.append(queues.caps[capped, r])
        if len(use) == 1:
            return cls(use[0], pool)
        return cls(sparse.vstack(use, format="csr"), np.concatenate(room))

    def farthest(self, path: Path) -> float:
        """Return the largest t of a path that the rows allow, by Newton's method from above.

        What is used is convex in t, so steps never pass the answer; where it is piecewise linear
        they end on it.

        Raises
        ------
        InstanceError
            Where floats cannot hold it.
        """
        end = path.end
        is_in_reach = np.isfinite(end) and end <= path.last
        rooms = self.rooms
        if is_in_reach and (self.used(path.tasks_at(end)) <= rooms).all():
            return float(end)
        t = self._beyond(path)
        while np.isfinite(t):
            asked = path.asked_at(t)
            tasks = path.tasks_at(t)
            rising = path.active & (asked > path.tasks)
            used, slope = self.used_and_growth(tasks, np.where(rising, path.rate_at(t), 0.0))
            excess = used - rooms
            rows = (excess > ROUNDING * rooms) & (slope > 0)
            steps = np.divide(excess, slope, out=np.zeros(len(rows)), where=rows)
            lower = max(t - float(steps.max(initial=0.0)), 0.0)
            if lower >= t:
                return t
            t = lower
        raise InstanceError(f"how far users can rise together is beyond floats: {FAR_APART}")

    def _beyond(self, path: Path) -> float:
        """Return a t at which the rows are used up, limits of users apart, or the path's end.

        What users ask for is convex in t, so that it is at least its tangent at 0.
        """
        base = np.where(path.active, path.base, 0.0)
        used, speed = self.used_and_growth(base, path.rate_at(0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            largest = np.where(speed > 0, (self.rooms - used) / speed, np.inf)
        return max(float(largest.min(initial=min(path.end, path.last))), 0.0)

    def blocked(self, path: Path, t: float) -> np.ndarray:
        """Return the active users who need of a row that is used up at t. Bool, shape (N,)."""
        full = self._full_at(path.tasks_at(t))
        if not full.size:
            return np.zeros(len(path.tasks), dtype=bool)
        is_full = np.zeros(len(self.room))
        is_full[full] = 1.0
        return np.asarray(path.active & (self.use.T @ is_full > 0))

    def clearly_blocked(self, path: Path, t: float) -> np.ndarray:
        """Return the active users who rise clearly in a row that is used up at t.

        Clear is a certain part of the row's largest rise. Bool, shape (N,).
        """
        full = self._full_at(path.tasks_at(t))
        growth = (self.use[full] * path.rate_at(t)).toarray()
        least = BLOCKED_PRICE * growth.max(axis=1, initial=0.0)[:, None]
        return np.asarray(((growth > 0) & (growth >= least)).any(axis=0))

    def _full_at(self, tasks: np.ndarray) -> np.ndarray:
        """Return the rows that tasks use up."""
        return np.flatnonzero(self.use @ tasks >= self.room * (1 - SATURATED))

    def and_row(self, use: np.ndarray, room: float) -> Self:
        """Return these rows and one more."""
        rows = sparse.vstack([self.use, sparse.csr_array(use[None, :])], format="csr")
        return replace(self, use=rows, room=np.append(self.room, room))

    def with_room(self, tasks: np.ndarray, n_first: int) -> Self:
        """Return the first rows, so many, and of the others those that are not used up."""
        is_first = np.arange(len(self.room)) < n_first
        remaining = is_first | (self.use @ tasks < self.room * (1 - SATURATED))
        return replace(self, use=self.use[np.flatnonzero(remaining)], room=self.room[remaining])

    def exceeded(self, tasks: np.ndarray) -> bool:
        """Whether tasks take more than there is."""
        return bool((self.used(tasks) > self.rooms * (1 + ROUNDING)).any())
