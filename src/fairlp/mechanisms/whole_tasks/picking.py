"""Progressive filling one task at a time, as Ghodsi et al. print it: a heap of exact shares."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .shares import Pool

#: A common denominator of all shares is used up to this many bits; beyond, each share is a fraction of its own.
_LONGEST_DENOMINATOR = 4096


@dataclass
class Pick:
    """One turn of the loop: whose it was, its share before, its tasks after, and whether the task ran."""

    user: int
    share: float
    tasks: int
    runs: bool


def pick_by_pick(
    pool: Pool, *, rule: str = "exclude", ties: str = "larger", offset: int = 0, trace: list[Pick] | None = None
) -> np.ndarray:
    """Return whole tasks by user: each goes to the smallest share until nothing fits (or, by ``stop``, one does not).

    Parameters
    ----------
    pool : Pool
    rule, ties : str
        As for :class:`~fairlp.mechanisms.whole_tasks.filling.Filling`.
    offset : {0, 1}
        Compare shares before the task (DRF) or after it (sequential minmax).
    trace : list, optional
        Every turn is appended to it.

    Notes
    -----
    One heap operation for each task: O(tasks·(R + log N)).
    """
    shares = comparable(pool)
    sign = {"larger": -1, "smaller": 1, "index": 0}[ties]
    demands = [tuple(row) for row in _python(pool.demands)]
    left = list(_python(pool.capacity))
    limits = pool.limits.tolist()
    tasks = [0] * len(demands)
    able = np.flatnonzero(pool.able).tolist()
    per_task = pool.per_task()
    heap = [(offset * shares[n], sign * shares[n], n) for n in able]
    heapq.heapify(heap)
    resources = range(len(left))
    while heap:
        share, tie, n = heap[0]
        need = demands[n]
        runs = all(need[r] <= left[r] for r in resources)
        if trace is not None:
            trace.append(Pick(n, float(tasks[n] * per_task[n]), tasks[n] + runs, runs))
        if not runs:
            if rule == "stop":
                break
            heapq.heappop(heap)
            continue
        for r in resources:
            left[r] -= need[r]
        tasks[n] += 1
        if tasks[n] < limits[n]:
            heapq.heapreplace(heap, (share + shares[n], tie, n))
        else:
            heapq.heappop(heap)
    return np.array(tasks, dtype=float)


def comparable(pool: Pool) -> list[int] | list[Fraction]:
    """Return each user's share per task in one unit in which they compare exactly: whole numbers where it is short."""
    tops, bottoms = _python(pool.top), _python(pool.bottom)
    common = 1
    for bottom in set(bottoms):
        common = math.lcm(common, bottom)
        if common.bit_length() > _LONGEST_DENOMINATOR:
            return [Fraction(top, bottom) for top, bottom in zip(tops, bottoms, strict=True)]
    return [top * (common // bottom) for top, bottom in zip(tops, bottoms, strict=True)]


def _python(values: np.ndarray) -> Any:
    """Return whole numbers as (nested) lists of Python integers."""
    return values.tolist() if values.dtype == object else values.astype(np.int64).tolist()
