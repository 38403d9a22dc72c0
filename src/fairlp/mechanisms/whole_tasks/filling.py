"""Progressive filling with whole tasks, exact, without the loop over tasks.

Picks are served in a fixed order (:class:`~fairlp.mechanisms.whole_tasks.filling.Keys`) and a user
is out when its task does not fit. As long as everything fits, the picks below a level can be
counted instead of served: find a level where all still fits and one where it does not, jump to the
first, narrow the gap, and serve the few picks between them in order, by cumulative sums. What
remains are users whose task still fits; they go on from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np

from ...models.instances.arithmetic import (
    LARGEST_WHOLE,
    integers,
    product,
    quotient,
    quotients,
    same_quotient,
    whole,
    whole_limits,
    whole_table,
)
from ...models.instances.instance import Instance
from ...tolerances import LEVEL_ROUNDING, QUOTIENT_ROUNDING

__all__ = ["Pool"]

# Dominant shares as exact rationals, and the order in which progressive filling serves users.

#: Picks that are put in order together: enough to share the cost of an array operation, few enough
#: to sort quickly.
WINDOW: Final = 4096

SIGNS = {"larger": -1, "smaller": 1, "index": 0}
TIES: tuple[str, ...] = tuple(SIGNS)


@dataclass(frozen=True)
class Pool:
    """One server's whole numbers: demands, capacity, and each user's share per task.

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
        limits = whole_limits(instance.task_limits)
        can_run = limits > 0
        for r in range(len(capacity)):
            can_run &= np.asarray(demands[:, r] <= capacity[r], dtype=bool)
        top, bottom = _dominant(demands, capacity, whole(instance.weights), can_run)
        return cls(demands, capacity, top, bottom, np.where(can_run, limits, 0.0))

    @property
    def can_run(self) -> np.ndarray:
        """Users who can run at least one whole task; bool, shape (N,)."""
        return self.limits > 0

    def usage(self, tasks: np.ndarray) -> np.ndarray:
        """Return the amounts that these whole tasks need, exactly; shape (R,)."""
        if self.demands.dtype == object:
            return np.asarray(integers(tasks) @ self.demands)
        return np.asarray(tasks @ self.demands)

    def take(self, users: np.ndarray) -> Pool:
        """Return the data of these users only."""
        return Pool(
            self.demands[users],
            self.capacity,
            self.top[users],
            self.bottom[users],
            self.limits[users],
        )

    def fractions(self) -> list[Fraction]:
        """Return each user's weighted dominant share of one task."""
        pairs = zip(integers(self.top).tolist(), integers(self.bottom).tolist(), strict=True)
        return [Fraction(top, bottom) for top, bottom in pairs]

    def per_task(self) -> np.ndarray:
        """Return the weighted dominant share of one task, correctly rounded."""
        return quotient(self.top, self.bottom)


def _whole_columns(
    demands: np.ndarray, capacities: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Scale each resource to whole numbers and add the servers up, exactly.

    Python integers for all where one number needs them, or sums could pass 2⁵³.
    """
    plain = all((table == np.floor(table)).all() for table in (demands, capacities))
    need, whole_capacities = (demands, capacities) if plain else whole_table(demands, capacities)
    total = _total(whole_capacities, counts)
    # a window of picks (filling.py) adds at most a few tasks of each user to what is in use before
    # it is checked
    reach = (
        float(total.max())
        + 4.0 * float(need.sum(axis=0).max())
        + WINDOW * max(float(need.max()), 1.0)
    )
    if need.dtype != object and reach >= LARGEST_WHOLE:
        if plain:  # whole floats, some perhaps beyond 2⁵³: shortest decimals then
            need, whole_capacities = whole_table(demands, capacities)
        need = np.column_stack([integers(column) for column in need.T])
        total = _total(np.column_stack([integers(column) for column in whole_capacities.T]), counts)
    return need, total


def _total(capacities: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return what all servers have together; shape (R,)."""
    return np.asarray(counts.astype(capacities.dtype) @ capacities)


def _dominant(
    demands: np.ndarray, capacity: np.ndarray, weights: np.ndarray, can_run: np.ndarray
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
        capacity_of_resource = np.full(1, total, dtype=capacity.dtype)
        below = (
            product(capacity_of_resource, weights[:, r])
            if by_resource
            else np.broadcast_to(capacity_of_resource, (n_users,))
        )
        share = quotient(demands[:, r], below)
        if below.dtype == object and bottom.dtype != object:
            top = integers(top)
            bottom = integers(bottom)
        larger = share > best
        doubtful = np.flatnonzero((share == best) & (share > 0))
        if doubtful.size:  # equal when rounded; whole numbers decide
            d = demands[doubtful, r]
            larger[doubtful] = product(d, bottom[doubtful]) > product(
                top[doubtful], below[doubtful]
            )
        larger &= can_run
        if larger.any():
            need = demands[:, r]
            np.copyto(top, need if top.dtype == need.dtype else integers(need), where=larger)
            np.copyto(
                bottom, below if bottom.dtype == below.dtype else integers(below), where=larger
            )
            np.copyto(best, share, where=larger)
    if not by_resource and (weights != 1).any():
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
        self.rate = quotients(1.0, quotient(self.top, self.bottom))

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
        close = abs(reached - np.rint(reached)) <= QUOTIENT_ROUNDING * np.maximum(reached, 1.0)
        doubtful = np.flatnonzero(
            close & (reached < LARGEST_WHOLE)
        )  # of more picks, one more is no other float
        if doubtful.size:
            count[doubtful] = self._settled(
                doubtful, np.rint(reached[doubtful]) - self.offset, level
            )
        return np.asarray(np.maximum(count, 0.0))

    def _settled(self, users: np.ndarray, count: np.ndarray, level: float) -> np.ndarray:
        """Move guesses until pick count − 1 is below the level and pick count is not."""
        count = np.maximum(count, 0.0)
        while True:
            too_few = self.at(users, count) < level
            too_many = (count > 0) & ~too_few
            too_many[too_many] = self.at(users[too_many], count[too_many] - 1) >= level
            if not (too_few.any() or too_many.any()):
                return count
            count = count + too_few - too_many

    def order(self, users: np.ndarray, picks: np.ndarray) -> np.ndarray:
        """Return positions of picks in the order of service: by key, rule for ties, and index."""
        keys = self.at(users, picks)
        order = np.argsort(keys, kind="stable")
        if not (keys[order][1:] == keys[order][:-1]).any():
            return order
        share = quotient(self.top[users], self.bottom[users])
        order = np.lexsort((picks, users, self.sign * share, keys))
        for run in self._hidden_ties(users[order], picks[order], keys[order], share[order]):
            tied = [(self._rational(int(users[k]), int(picks[k])), k) for k in order[run].tolist()]
            order[run] = [position for _, position in sorted(tied)]
        return order

    @property
    def sign(self) -> int:
        """What a share is multiplied by, so that the smallest product of equal keys is first."""
        return SIGNS[self.ties]

    def _hidden_ties(
        self, users: np.ndarray, picks: np.ndarray, keys: np.ndarray, share: np.ndarray
    ) -> Iterator[slice]:
        """Yield runs of equal rounded keys in which rounding hides that keys or shares differ.

        Picks are in their rounded order.
        """
        (tied,) = np.nonzero(keys[1:] == keys[:-1])  # positions of the first of two equal keys
        numerator = self._numerator(users, picks)
        bottom = self.bottom[users]
        top = self.top[users]
        hidden = ~same_quotient(
            numerator[tied], bottom[tied], numerator[tied + 1], bottom[tied + 1]
        )
        if self.sign:
            same_share = same_quotient(top[tied], bottom[tied], top[tied + 1], bottom[tied + 1])
            hidden |= (share[tied] == share[tied + 1]) & ~same_share
        for key in np.unique(keys[tied[hidden]]):
            start, stop = np.searchsorted(keys, key), np.searchsorted(keys, key, side="right")
            yield slice(start, stop)

    def _rational(self, user: int, pick: int) -> tuple[Fraction, Fraction, int, int]:
        """Return the exact key of a pick, and what orders equal keys."""
        share = Fraction(int(self.top[user]), int(self.bottom[user]))
        return (pick + self.offset) * share, self.sign * share, user, pick

    def _numerator(self, users: np.ndarray, picks: np.ndarray) -> np.ndarray:
        """Return (j + offset)·top exactly.

        For a pick that fits, j·top is at most the (weighted) capacity.
        """
        number = picks + self.offset
        if self.top.dtype == object:
            return np.asarray(integers(number) * self.top[users])
        return np.asarray(number * self.top[users])


RULES: tuple[str, ...] = ("exclude", "stop")
#: Picks that are tried at once, to begin with.
FIRST_CHUNK = 64
_GIVE_UP = 4


@dataclass
class Filling:
    """State of a filling: tasks so far, what is left, and who may still be served.

    Attributes
    ----------
    pool : Pool
    offset : int
        0: the smallest share before the task is served next (DRF); 1: the smallest share after it
        (sequential minmax).
    ties : {"larger", "smaller", "index"}
        Among equal shares, who comes first: the larger share per task (the worked example of Ghodsi
        et al. needs it), the smaller, or the first in order. What is still equal goes by order.
    rule : {"exclude", "stop"}
        When the chosen user's task does not fit: drop that user and go on, or end (Ghodsi et al.,
        Algorithm 1).
    tasks : ndarray of float, shape (N,)
        Whole numbers.

    Examples
    --------
    >>> from fairlp import examples
    >>> Filling(Pool.of(examples.load("ghodsi"))).run().tolist()
    [3.0, 2.0]
    >>> Filling(Pool.of(examples.load("ghodsi-59-19")), rule="stop").run().tolist()
    [2.0, 8.0]
    """

    pool: Pool
    offset: int = 0
    ties: str = "larger"
    rule: str = "exclude"
    tasks: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        n_users = len(self.pool.limits)
        self.tasks = np.array(self.tasks, dtype=float) if self.tasks.size else np.zeros(n_users)
        self.remaining = self.pool.capacity - self.pool.usage(self.tasks)
        self.alive = self.pool.can_run & (self.tasks < self.pool.limits)
        self.stopped = False

    def run(self) -> np.ndarray:
        """Serve until no task fits; return the tasks.

        With the rule ``stop``, the first task that does not fit ends the service.
        """
        current = np.flatnonzero(self.alive)
        pool = self.pool.take(current)
        keys = self._keys(current)
        level = 0.0
        while not self.stopped:
            going = self._going(pool, current)
            if not going.any():
                break
            if going.mean() < 0.75:
                current = current[going]
                pool = pool.take(going)
                keys = keys.take(going)
                going = going[going]
            level = self._advance(pool, keys, current, going, level)
        return self.tasks

    def pass_by_pass(self) -> np.ndarray:
        """Serve one task to each user in ascending share, pass after pass; return the tasks.

        The passes end when no task fits.

        The repair of precomputed DRF (Metin, §5). Passes in which everything fits are made in one
        step.
        """
        everyone = np.arange(len(self.tasks))
        keys = self._keys(everyone)
        while (going := self._going(self.pool, everyone)).any():
            served = everyone[going]
            room = (self.pool.limits - self.tasks)[served].min()
            once = self.pool.usage(going.astype(float))
            passes = min(
                room,
                *(
                    (amount // need)
                    for amount, need in zip(self.remaining, once, strict=True)
                    if need > 0
                ),
            )
            if passes >= 1:
                self.tasks[served] += float(passes)
                self.remaining = self.pool.capacity - self.pool.usage(self.tasks)
            else:
                self._serve_in_order(
                    self.pool, everyone, served[keys.order(served, self.tasks[served])]
                )
        return self.tasks

    def _keys(self, users: np.ndarray) -> Keys:
        return Keys(self.pool.top[users], self.pool.bottom[users], self.offset, self.ties)

    def _going(self, pool: Pool, current: np.ndarray) -> np.ndarray:
        """Return the mask of current users who may still be served.

        Such a user has tasks left, is not out, and its next task fits.
        """
        going = self.alive[current] & (self.tasks[current] < pool.limits)
        if self.rule == "exclude":
            for r, amount in enumerate(self.remaining):
                going &= np.asarray(pool.demands[:, r] <= amount, dtype=bool)
        return np.asarray(going)

    def _advance(
        self, pool: Pool, keys: Keys, current: np.ndarray, going: np.ndarray, level: float
    ) -> float:
        """Jump as far as all tasks fit, serve the next picks in order, and return the level."""
        tasks_now = self.tasks[current]
        limits = np.where(going, pool.limits, tasks_now)
        low, high = self.bracket(pool, keys, tasks_now, limits, going, level)

        def served(key: float) -> np.ndarray:
            return np.asarray(np.clip(keys.below(key), tasks_now, limits))

        at_low = tasks_now
        used_low = self.remaining * 0
        if low > level:
            tasks = served(low)
            used = pool.usage(tasks - tasks_now)
            if (used <= self.remaining).all():
                at_low = tasks
                used_low = used
            else:
                low = level
        at_high = served(high)
        used_high = None
        probes = stalled = 0
        side = 0
        while (at_high - at_low).sum() > WINDOW and stalled < _GIVE_UP:
            if used_high is None:
                used_high = pool.usage(at_high - tasks_now)
                if (used_high <= self.remaining).all():  # all that there is fits
                    at_low = at_high
                    used_low = used_high
                    break
            middle = level_between(low, high, used_low, used_high, self.remaining, side)
            if not low < middle < high:
                break
            before = (at_high - at_low).sum()
            tasks = served(middle)
            used = pool.usage(tasks - tasks_now)
            probes += 1
            if (used <= self.remaining).all():
                low = middle
                at_low = tasks
                used_low = used
                side = 1
            else:
                high = middle
                at_high = tasks
                used_high = used
                side = -1
            stalled = 0 if (at_high - at_low).sum() < 0.75 * before else stalled + 1
        self.tasks[current] = at_low
        self.remaining = self.remaining - used_low
        self._serve(pool, keys, current, at_low, (at_high - at_low).astype(np.int64))
        return high

    def bracket(
        self,
        pool: Pool,
        keys: Keys,
        tasks_now: np.ndarray,
        limits: np.ndarray,
        going: np.ndarray,
        level: float,
    ) -> tuple[float, float]:
        """Return a level at which all tasks should fit, and one above the end of the service.

        The first is a guess, checked later; at the second tasks cannot fit, or enough picks lie
        below.

        The picks below s number between s/ds − offset and s/ds + 1 − offset (at most the limit), so
        that fluid levels for these two requests bracket the level where the first task does not
        fit.
        """
        rate = np.where(going, keys.rate, 0.0)
        demands = pool.demands.astype(float) if pool.demands.dtype == object else pool.demands
        remaining = self.remaining.astype(float)
        growth = rate @ demands
        start = tasks_now * going
        per_task = going.astype(float) @ demands
        base = remaining + start @ demands + self.offset * per_task
        low = _fluid(base - per_task, growth)
        high = _fluid(base, growth)
        if np.isfinite(pool.limits).any():
            low = _limited(low, 1 - self.offset, rate, tasks_now, limits, going, demands, remaining)
            high = _limited(high, -self.offset, rate, tasks_now, limits, going, demands, remaining)
        total = rate.sum()
        window_level = level + WINDOW / 4 / total if total > 0 else np.inf
        soonest = float(keys.at(np.flatnonzero(going), tasks_now[going]).min())
        high = max(high * (1 + LEVEL_ROUNDING), window_level, float(np.nextafter(soonest, np.inf)))
        return max(low * (1 - LEVEL_ROUNDING), level), high

    def _serve(
        self, pool: Pool, keys: Keys, current: np.ndarray, tasks: np.ndarray, counts: np.ndarray
    ) -> None:
        """Serve these picks (``counts`` of each user, from pick number ``tasks`` on) in order."""
        positions = np.flatnonzero(counts)
        counts_of_users = counts[positions]
        users = np.repeat(positions, counts_of_users)
        first = np.cumsum(counts_of_users) - counts_of_users
        first_picks = np.repeat(tasks[positions] - first, counts_of_users)
        picks = first_picks + np.arange(len(users))
        self._serve_in_order(pool, current, users[keys.order(users, picks)])

    def _serve_in_order(self, pool: Pool, current: np.ndarray, queue: np.ndarray) -> None:
        """Serve one task to each user in the queue, in order.

        A user whose task does not fit is out; with the rule ``stop``, the service ends.
        """
        position = 0
        size = FIRST_CHUNK
        while position < len(queue):
            chunk = queue[position : position + size]
            demands = pool.demands[chunk]
            fits = np.asarray((demands <= self.remaining).all(axis=1), dtype=bool)
            if self.rule == "stop":
                waiting = chunk if fits.all() else chunk[: int(fits.argmin())]
            else:
                fits &= self.alive[current[chunk]]
                waiting = chunk if fits.all() else chunk[fits]
            used = np.cumsum(pool.demands[waiting], axis=0)
            over = np.asarray((used > self.remaining).any(axis=1), dtype=bool)
            count = int(over.argmax()) if over.any() else len(waiting)
            if count:
                np.add.at(self.tasks, current[waiting[:count]], 1.0)
                self.remaining = self.remaining - used[count - 1]
            if self.rule == "stop" and count < len(chunk):
                self.stopped = True
                return
            if count < len(waiting):
                self.alive[current[waiting[count]]] = False
                position += int(np.flatnonzero(fits)[count]) + 1
                size = max(size // 2, FIRST_CHUNK)
            else:
                position += len(chunk)
                size *= 2


def _fluid(base: np.ndarray, growth: np.ndarray) -> float:
    """Return the level at which growth·level reaches base on the first resource."""
    grows = growth > 0
    return float((base[grows] / growth[grows]).min()) if grows.any() else np.inf


def _limited(
    level: float,
    extra: int,
    rate: np.ndarray,
    tasks_now: np.ndarray,
    limits: np.ndarray,
    going: np.ndarray,
    demands: np.ndarray,
    remaining: np.ndarray,
) -> float:
    """Return the fluid level when requests rate·level + extra end at the limits.

    Newton's method approaches it from below.
    """
    satisfied = np.zeros(len(rate), dtype=bool)
    while True:
        reached = (
            going & (rate * level + extra >= limits)
            if np.isfinite(level)
            else going & np.isfinite(limits)
        )
        if not (reached & ~satisfied).any():
            return level
        satisfied |= reached
        growing = going & ~satisfied
        fixed = np.where(satisfied, limits - tasks_now, 0.0) + np.where(
            growing, extra - tasks_now, 0.0
        )
        level = _fluid(remaining - fixed @ demands, np.where(growing, rate, 0.0) @ demands)


def level_between(
    low: float,
    high: float,
    used_low: np.ndarray,
    used_high: np.ndarray,
    remaining: np.ndarray,
    side: int,
) -> float:
    """Return the next level to probe.

    Usage is interpolated, then taken beyond, on the other side of the last probe.
    """
    over = np.asarray(used_high > remaining, dtype=bool)
    room = (remaining - used_low)[over].astype(float)
    fraction = float((room / (used_high - used_low)[over].astype(float)).min())
    if side > 0:
        fraction = min(2 * fraction + 0.01, (1 + fraction) / 2)
    elif side < 0:
        fraction = 1 - min(2 * (1 - fraction) + 0.01, (2 - fraction) / 2)
    return low + (high - low) * min(max(fraction, 0.01), 0.99)
