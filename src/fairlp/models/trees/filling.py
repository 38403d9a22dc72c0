"""Filling of one pool along a tree, without a linear program: resources and caps are rows that end it for their users.

A round ends where a row is used up or a leaf has all its tasks. Whoever needs of that row, or has all its tasks, stops,
and the others go on at rates of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ...errors import SolverError
from ...tolerances import ROUNDING, SATURATED
from ..instances.queues import Queues
from .climbing import Stretch
from .rates import Rates

#: Level of each round, and the positions of the leaves that stopped there.
History = list[tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Rows:
    """What limits a pool: ``use @ tasks <= room``; one row for each resource and each cap.

    Attributes
    ----------
    use : sparse array, shape (M, N)
        What one task takes of each row.
    room : ndarray, shape (M,)
    """

    use: sparse.csr_array
    room: np.ndarray

    @classmethod
    def of_pool(cls, pool: np.ndarray, needs: np.ndarray, demands: np.ndarray, queues: Queues | None) -> Rows:
        """Return the rows of a pool's resources, of which tasks take their needs, and of the queues' caps."""
        use, room = [sparse.csr_array(needs.T)], [pool]
        if queues is not None:
            for r in range(len(pool)):
                capped = np.flatnonzero(queues.capped[:, r])
                if capped.size:
                    use.append(sparse.csr_array(queues.below[capped] * demands[:, r]))
                    room.append(queues.caps[capped, r])
        return cls(sparse.vstack(use, format="csr"), np.concatenate(room))

    def fit(self, tasks: np.ndarray) -> bool:
        """Whether so many tasks fit, and no row that is used is used up, as :meth:`ended` has it."""
        used = self.use @ tasks
        return bool(((used < self.room * (1 - SATURATED)) | (used == 0)).all())

    def reach(self, stretch: Stretch) -> float:
        """Return the largest level of a stretch that the rows allow, by Newton's method from above.

        What is used is convex and piecewise linear in the level, so steps never pass the answer and end on it.
        """
        speed = self.use @ stretch.rate
        base = np.where(stretch.active, stretch.base, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(speed > 0, (self.room - self.use @ base) / speed, np.inf)
        level = max(min(float(most.min(initial=np.inf)), stretch.end), 0.0)
        while True:
            over = self.use @ stretch.asked(level) - self.room
            rising = stretch.active & (stretch.base + stretch.rate * level > stretch.has)
            slope = self.use @ np.where(rising, stretch.rate, 0.0)
            rows = (over > ROUNDING * self.room) & (slope > 0)
            steps = np.divide(over, slope, out=np.zeros(len(rows)), where=rows)
            lower = max(level - float(steps.max(initial=0.0)), 0.0)
            if lower >= level:
                return level
            level = lower

    def ended(self, tasks: np.ndarray) -> np.ndarray:
        """Return who needs of a row that is used up. Bool, shape (N,)."""
        full = self.use @ tasks >= self.room * (1 - SATURATED)
        return np.asarray(full @ (self.use > 0)) > 0


def fill(rates: Rates, rows: Rows, stretch: Stretch) -> tuple[np.ndarray, History]:
    """Return the tasks of each leaf, and the rounds.

    Parameters
    ----------
    rates : callable
        Active leaves → tasks of each at level 1.
    rows : Rows
    stretch : Stretch
        The first one.

    Notes
    -----
    At most one round for each row and each task limit, each O(NR).
    """
    history: History = []
    while stretch.active.any():
        while np.isfinite(stretch.end) and rows.fit(stretch.asked(stretch.end)):
            history.append((stretch.end, np.flatnonzero(stretch.full(stretch.end))))
            stretch = stretch.next(rates)
        if not stretch.active.any():
            break
        level = rows.reach(stretch)
        stops = stretch.full(level) | (stretch.active & rows.ended(stretch.asked(level)))
        if not stops.any():
            raise SolverError("a round of the filling stopped nobody; report the instance")
        history.append((level, np.flatnonzero(stops)))
        stretch = stretch.after(level, stops, rates)
    return stretch.has, history
