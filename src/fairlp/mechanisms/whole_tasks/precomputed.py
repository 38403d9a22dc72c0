"""Precomputed DRF (Metin): whole tasks from the number of cycles of filling that fit.

Serving by dominant share is cyclic: while the user of the largest share per task ds* runs one task,
user n runs ds*/ds[n]. A cycle needs Σ_n (ds*/ds[n])·d[n,r] of resource r, so k = min_r c[r]/Σ_n
(ds*/ds[n])·d[n,r] cycles fit and user n gets floor(k·ds*/ds[n]) tasks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...models.instances.arithmetic import integers, quotient, quotients
from ...tolerances import QUOTIENT_ROUNDING
from .filling import Filling, Keys, Pool

__all__ = ["algorithm_1", "precomputed"]


@dataclass
class FluidLevel:
    """The exact share of all users with divisible tasks.

    It is the minimum over r of left[r] / Σ_n d[n,r]/ds[n].

    Floats answer where rounding cannot matter; next to a whole number, rationals do.
    """

    pool: Pool
    remaining: np.ndarray

    def __post_init__(self) -> None:
        share = quotient(self.pool.top, self.pool.bottom)
        self.rate = quotients(1.0, share)
        demands = self.pool.demands.astype(float)
        growth = self.rate @ demands
        self._doubt = QUOTIENT_ROUNDING * max(len(share), 1)  # rounding of a sum of N terms
        with np.errstate(divide="ignore"):
            self._levels = np.where(
                growth > 0, self.remaining.astype(float) / np.where(growth > 0, growth, 1.0), np.inf
            )
        self.value = float(self._levels.min(initial=np.inf))
        self._exact: Fraction | None = None

    @property
    def exact(self) -> Fraction:
        """The level as a rational number."""
        if self._exact is None:
            candidates = np.flatnonzero(self._levels <= self.value * (1 + 2 * self._doubt))
            self._exact = min(
                Fraction(int(self.remaining[r])) / self._growth(int(r)) for r in candidates
            )
        return self._exact

    def multiples(self, top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
        """Return floor(level / (top/bottom)) exactly: the whole tasks up to the level."""
        if not np.isfinite(self.value):
            return np.full(len(top), np.inf)
        share = quotient(top, bottom)
        reached = quotients(self.value, share)
        count = np.floor(reached)
        doubtful = np.flatnonzero(
            abs(reached - np.rint(reached)) <= self._doubt * np.maximum(reached, 1.0)
        )
        doubtful = doubtful[share[doubtful] > 0]
        if doubtful.size:
            level = self.exact
            below = integers(bottom[doubtful])
            above = integers(top[doubtful])
            exact = [
                level.numerator * b // (level.denominator * a)
                for a, b in zip(above.tolist(), below.tolist(), strict=True)
            ]
            count[doubtful] = exact
        return np.asarray(count)

    def _growth(self, r: int) -> Fraction:
        """Return Σ_n d[n,r]/ds[n] exactly: terms of one denominator first, then in pairs."""
        need = integers(self.pool.demands[:, r])
        some = np.flatnonzero((self.pool.top > 0) & (need > 0))
        tops = integers(self.pool.top[some])
        terms = need[some] * integers(self.pool.bottom[some])
        by_top: dict[int, int] = {}
        for top, term in zip(tops.tolist(), terms.tolist(), strict=True):
            by_top[top] = by_top.get(top, 0) + term
        parts = [(term, top) for top, term in by_top.items()]
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            unpaired = parts[-1:] if len(parts) % 2 else []
            parts = [(a * d + c * b, b * d) for (a, b), (c, d) in pairs] + unpaired
        return Fraction(*parts[0])


def precomputed(pool: Pool) -> np.ndarray:
    """Return floor(k·ds*/ds[n]) tasks for each user (at most the limit), exactly; O(N·R).

    Examples
    --------
    >>> from fairlp import examples
    >>> precomputed(Pool.of(examples.load("ghodsi"))).tolist()
    [3.0, 2.0]
    >>> precomputed(Pool.of(examples.load("cycles"))).tolist()
    [5.0, 2.0, 1.0]
    """
    runnable = _able(pool)
    tasks = np.zeros(len(pool.limits))
    if pool.can_run.any():
        multiples = FluidLevel(runnable, runnable.capacity).multiples(runnable.top, runnable.bottom)
        tasks[pool.can_run] = np.minimum(multiples, runnable.limits)
    return tasks


def divisible(pool: Pool) -> np.ndarray:
    """Return k·ds*/ds[n], at most the limit: precomputed DRF for divisible tasks."""
    runnable = _able(pool)
    tasks = np.zeros(len(pool.limits))
    if pool.can_run.any():
        level = FluidLevel(runnable, runnable.capacity)
        tasks[pool.can_run] = np.minimum(level.value * level.rate, runnable.limits)
    return tasks


def algorithm_1(pool: Pool, *, simplified: bool = False) -> np.ndarray:
    """Return Metin's Algorithm 1 in floating point, as printed.

    ``simplified`` cancels ds* first (§3.4).

    Next to whole numbers the floor depends on rounding; :func:`precomputed` decides those exactly.
    """
    runnable = _able(pool)
    tasks = np.zeros(len(pool.limits))
    if not pool.can_run.any():
        return tasks
    demands = runnable.demands.astype(float)
    capacity = runnable.capacity.astype(float)
    share = runnable.per_task()
    ratio = 1.0 / share if simplified else share.max() / share
    total = ratio @ demands
    k = (capacity[total > 0] / total[total > 0]).min()
    tasks[pool.can_run] = np.minimum(np.floor(k * ratio), runnable.limits)
    return tasks


@dataclass
class Cycle:
    """A cycle of a higher order: turns k, the largest share, the users and their tasks."""

    turns: Fraction
    largest: Fraction
    users: np.ndarray
    tasks: np.ndarray
    remaining: np.ndarray


def higher_order_cycles(pool: Pool) -> list[Cycle]:
    """Return the first cycle and those that fit after it (Metin, §6.1).

    The users of the largest shares are dropped until k ≥ 1 again.

    The first is Algorithm 1. Each later one is Algorithm 1 for the users who are left on what is
    left; tasks are added up over cycles. Fair cycles do not add up to a fair whole (the paper warns
    of it); capacities are kept.
    """
    cycles: list[Cycle] = []
    users = np.flatnonzero(pool.can_run)
    order = users[_by_share(pool, users)]  # ascending
    remaining = pool.capacity
    tasks = np.zeros(len(pool.limits))
    end = len(order)
    while end > 0:
        cycle_users = order[:end]
        runnable = pool.take(cycle_users)
        level = FluidLevel(runnable, remaining)
        largest = runnable.take(np.array([end - 1]))
        turns = level.multiples(largest.top, largest.bottom)[0]
        if not cycles or turns >= 1:
            additions = np.minimum(
                level.multiples(runnable.top, runnable.bottom), runnable.limits - tasks[cycle_users]
            )
            tasks[cycle_users] += additions
            remaining = pool.capacity - pool.usage(tasks)
            share = Fraction(int(largest.top[0]), int(largest.bottom[0]))
            cycles.append(Cycle(level.exact / share, share, cycle_users, additions, remaining))
        end -= int((runnable.per_task() == runnable.per_task()[-1])[::-1].argmin() or end)
    return cycles


def _by_share(pool: Pool, users: np.ndarray) -> np.ndarray:
    """Return the order of users by ascending share per task, exactly."""
    runnable = pool.take(users)
    return Keys(runnable.top, runnable.bottom, 1, "index").order(
        np.arange(len(users)), np.zeros(len(users))
    )


def repaired(pool: Pool, tasks: np.ndarray, how: str, ties: str) -> np.ndarray:
    """Return tasks, with more added until no task fits.

    They are added one each in ascending share, or by progressive filling.
    """
    filling = Filling(pool, ties=ties, tasks=tasks)
    return filling.pass_by_pass() if how == "ascending" else filling.run()


def cycle(pool: Pool) -> tuple[np.ndarray, Fraction]:
    """Return each user's tasks in a whole cycle, lcm(ds)/ds[n], and its final share lcm(ds)."""
    shares = pool.fractions()
    positive_shares = [share for share in shares if share]
    if not positive_shares:
        return np.zeros(len(shares), dtype=object), Fraction(0)
    end = Fraction(
        math.lcm(*(s.numerator for s in positive_shares)),
        math.gcd(*(s.denominator for s in positive_shares)),
    )
    counts = np.array([int(end / share) if share else 0 for share in shares], dtype=object)
    return counts, end


def basic_subcycle(pool: Pool) -> np.ndarray:
    """Return floor(ds*/ds[n]) for each user exactly, as Python integers.

    It is 0 for a user who can run nothing.
    """
    shares = pool.fractions()
    largest = max(shares)
    return np.array([largest // share if share else 0 for share in shares], dtype=object)


def _able(pool: Pool) -> Pool:
    return pool if pool.can_run.all() else pool.take(pool.can_run)
