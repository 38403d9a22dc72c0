"""Dominant shares as exact rationals, and the order in which progressive filling serves users.

Every user has an endless row of picks; pick number j of user n has the *key* j·ds[n] (its share before the task, or
after it, for sequential minmax). Filling serves picks by key. Keys are held as quotients of whole numbers; their
correctly rounded floats are monotone in them, so that floats decide except where they are equal, and there the
whole numbers decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from ...models.instances.instance import Instance
from ...models.instances.whole_numbers import (
    LARGEST_WHOLE,
    integers,
    product,
    quotient,
    same_quotient,
    whole,
    whole_table,
)
from ...tolerances import QUOTIENT_ROUNDING

#: Picks that are put in order together: enough to share the cost of an array operation, few enough to sort quickly.
WINDOW: Final = 4096

TIES: tuple[str, ...] = ("larger", "smaller", "index")


@dataclass(frozen=True)
class Pool:
    """One server's whole-number data: what is demanded, what there is, and each user's share per task.

    Attributes
    ----------
    demands : ndarray, shape (N, R)
        Whole numbers (float64 or Python integers), scaled by resource together with the capacity.
    capacity : ndarray, shape (R,)
    top, bottom : ndarray, shape (N,)
        The weighted dominant share of one task is top/bottom (0/1 for a user who can run nothing).
    limits : ndarray of float, shape (N,)
        Whole tasks that a user has; 0 for one who can never run a task.
    """

    demands: np.ndarray
    capacity: np.ndarray
    top: np.ndarray
    bottom: np.ndarray
    limits: np.ndarray

    @classmethod
    def of(cls, instance: Instance) -> Pool:
        """Return the whole-number data of an instance, all of its servers as one; O((N + K)·R)."""
        demands, capacity = _whole_columns(instance.demands, instance.capacities, instance.counts)
        limits = np.floor(instance.task_limits)
        able = limits > 0
        for r in range(len(capacity)):
            able &= np.asarray(demands[:, r] <= capacity[r], dtype=bool)
        top, bottom = _dominant(demands, capacity, whole(instance.weights), able)
        return cls(demands, capacity, top, bottom, np.where(able, limits, 0.0))

    @property
    def able(self) -> np.ndarray:
        """Users who can run at least one whole task; bool, shape (N,)."""
        return self.limits > 0

    def usage(self, tasks: np.ndarray) -> np.ndarray:
        """Return the amounts that these whole tasks need, exactly; shape (R,)."""
        if self.demands.dtype == object:
            return np.asarray(integers(tasks) @ self.demands)
        return np.asarray(tasks @ self.demands)

    def take(self, users: np.ndarray) -> Pool:
        """Return the data of these users only."""
        return Pool(self.demands[users], self.capacity, self.top[users], self.bottom[users], self.limits[users])

    def per_task(self) -> np.ndarray:
        """Return the weighted dominant share of one task, correctly rounded."""
        return quotient(self.top, self.bottom)


def _whole_columns(demands: np.ndarray, capacities: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale each resource to whole numbers and add the servers up, exactly.

    Python integers for all where one number needs them, or sums could pass 2⁵³.
    """
    plain = bool((demands == np.floor(demands)).all()) and bool((capacities == np.floor(capacities)).all())
    need, there = (demands, capacities) if plain else whole_table(demands, capacities)
    total = _total(there, counts)
    # a window of picks (filling.py) adds at most a few tasks of each user to what is in use before it is checked
    reach = float(total.max()) + 4.0 * float(need.sum(axis=0).max()) + WINDOW * max(float(need.max()), 1.0)
    if need.dtype != object and reach >= LARGEST_WHOLE:
        if plain:  # whole floats, some perhaps beyond 2⁵³: shortest decimals then
            need, there = whole_table(demands, capacities)
        need = np.column_stack([integers(column) for column in need.T])
        total = _total(np.column_stack([integers(column) for column in there.T]), counts)
    return need, total


def _total(capacities: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return what all servers have together; shape (R,)."""
    return np.asarray(counts.astype(capacities.dtype) @ capacities)


def _dominant(
    demands: np.ndarray, capacity: np.ndarray, weights: np.ndarray, able: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return numerator and denominator of max over r of d[n,r]/(c[r]·w[n,r]), exactly."""
    n_users = len(demands)
    by_resource = weights.ndim == 2
    top = np.zeros(n_users, dtype=demands.dtype)
    bottom = np.ones(n_users, dtype=demands.dtype)
    best = np.zeros(n_users)
    for r, total in enumerate(capacity):
        if not total:
            continue
        one = np.full(1, total, dtype=capacity.dtype)
        below = product(one, weights[:, r]) if by_resource else np.broadcast_to(one, (n_users,))
        share = quotient(demands[:, r], below)
        if below.dtype == object and bottom.dtype != object:
            top, bottom = integers(top), integers(bottom)
        more = share > best
        doubtful = np.flatnonzero((share == best) & (share > 0))
        if doubtful.size:  # equal when rounded; whole numbers decide
            d = demands[doubtful, r]
            more[doubtful] = product(d, bottom[doubtful]) > product(top[doubtful], below[doubtful])
        more &= able
        if more.any():
            need = demands[:, r]
            np.copyto(top, need if top.dtype == need.dtype else integers(need), where=more)
            np.copyto(bottom, below if bottom.dtype == below.dtype else integers(below), where=more)
            np.copyto(best, share, where=more)
    if not by_resource and bool((weights != 1).any()):
        bottom = product(bottom, weights)
        if bottom.dtype == object:
            top = integers(top)
    return top, bottom


@dataclass
class Keys:
    """The keys of picks: (j + offset)·top/bottom for pick number j = 0, 1, 2, … of each user."""

    top: np.ndarray
    bottom: np.ndarray
    offset: int
    ties: str

    def __post_init__(self) -> None:
        share = quotient(self.top, self.bottom)
        self.rate = np.divide(1.0, share, out=np.zeros(len(share)), where=share > 0)

    def take(self, users: np.ndarray) -> Keys:
        """Return the keys of these users only."""
        return Keys(self.top[users], self.bottom[users], self.offset, self.ties)

    def at(self, users: np.ndarray, picks: np.ndarray) -> np.ndarray:
        """Return the keys of these picks as correctly rounded floats."""
        return quotient(self._numerator(users, picks), self.bottom[users])

    def below(self, level: float) -> np.ndarray:
        """Return how many picks of each user have a (rounded) key below the level."""
        if level == np.inf:
            return np.full(len(self.top), np.inf)
        reached = level * self.rate
        count = np.ceil(reached) - self.offset
        doubtful = np.flatnonzero(abs(reached - np.rint(reached)) <= QUOTIENT_ROUNDING * np.maximum(reached, 1.0))
        if doubtful.size:
            count[doubtful] = self._settled(doubtful, np.rint(reached[doubtful]) - self.offset, level)
        return np.asarray(np.maximum(count, 0.0))

    def _settled(self, users: np.ndarray, count: np.ndarray, level: float) -> np.ndarray:
        """Move guesses until pick count − 1 is below the level and pick count is not."""
        count = np.maximum(count, 0.0)
        while True:
            more = self.at(users, count) < level
            less = (count > 0) & ~more
            less[less] = self.at(users[less], count[less] - 1) >= level
            if not (more.any() or less.any()):
                return count
            count = count + more - less

    def order(self, users: np.ndarray, picks: np.ndarray) -> np.ndarray:
        """Return positions of picks in the order of service: by key, then the rule for ties, then index."""
        keys = self.at(users, picks)
        found = np.argsort(keys, kind="stable")
        ordered = keys[found]
        equal = np.append(False, ordered[1:] == ordered[:-1])
        group = np.cumsum(~equal)
        if not equal.any():
            return found
        tied = equal | np.append(equal[1:], False)
        where = np.flatnonzero(tied)
        found[where] = self._settle_ties(users, picks, found[where], group[where])
        return found

    def _settle_ties(self, users: np.ndarray, picks: np.ndarray, tied: np.ndarray, group: np.ndarray) -> np.ndarray:
        """Return the tied positions in their right order; ``group`` ascends and tells which rounded keys are equal."""
        who = users[tied]
        share = quotient(self.top[who], self.bottom[who])
        sign = {"larger": -1.0, "smaller": 1.0, "index": 0.0}[self.ties]
        inner = np.lexsort((picks[tied], who, sign * share, group))
        tied, group, who, share = tied[inner], group[inner], who[inner], share[inner]
        top, bottom = self._numerator(who, picks[tied]), self.bottom[who]
        together = group[1:] == group[:-1]
        wrong = together & ~same_quotient(top[1:], bottom[1:], top[:-1], bottom[:-1])
        if sign:
            a, b = self.top[who], self.bottom[who]
            wrong |= together & (share[1:] == share[:-1]) & ~same_quotient(a[1:], b[1:], a[:-1], b[:-1])
        for one in np.unique(group[1:][wrong]):  # rounding hid a difference: rationals decide
            begin, end = np.searchsorted(group, [one, one + 1])
            tied[begin:end] = sorted(
                tied[begin:end].tolist(),
                key=lambda position: self._rational(int(users[position]), int(picks[position]), sign),
            )
        return tied

    def _rational(self, user: int, pick: int, sign: float) -> tuple[Fraction, Fraction, int, int]:
        share = Fraction(int(self.top[user]), int(self.bottom[user]))
        return (pick + self.offset) * share, int(sign) * share, user, pick

    def _numerator(self, users: np.ndarray, picks: np.ndarray) -> np.ndarray:
        """Return (j + offset)·top, exact: j·top of a pick that fits is at most the (weighted) capacity."""
        number = picks + self.offset
        if self.top.dtype == object:
            return np.asarray(integers(number) * self.top[users])
        return np.asarray(number * self.top[users])
