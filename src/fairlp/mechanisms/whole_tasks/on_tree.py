"""Progressive filling along a tree of queues, in whole tasks.

The next task goes to the lowest active user.

A user's level is its tasks over its rate (:mod:`fairlp.models.trees`), both exact. A user whose
next task does not fit, into the pool or under a cap, or who has all its tasks, leaves; and the
rates of the others are those of the tree without it.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...models.instances.arithmetic import quotients, require_countable
from ...models.instances.instance import Instance
from ...models.trees.rates import (
    ExactRates,
    ExactTree,
    Pace,
    Rates,
    TreePoint,
    decimal,
    exact_hierarchical,
    exact_pool,
    rational_rates,
)
from ...tolerances import LEVEL_ROUNDING
from .placement import in_one_unit

#: How users of equal level are told apart: by the larger or smaller share of one task, or by their
#: order alone.
SIGNS = {"larger": -1, "smaller": 1, "index": 0}
#: Level within a queue, what tells equal levels apart, and the user.
Pick = tuple[Fraction, Fraction, int]
#: Steps of the bisection for tasks that are counted at once; what it leaves comes from a heap.
_HALVINGS = 40


class FreeCapacity:
    """What is left of the pool and of caps, exactly: whole numbers of a unit for each row."""

    def __init__(self, instance: Instance) -> None:
        require_countable(instance)
        queues = instance.tree
        demands = [[decimal(demand) for demand in row] for row in instance.demands.tolist()]
        all_users = range(len(demands))
        rows = [(amount, r, all_users) for r, amount in enumerate(exact_pool(instance, decimal))]
        for v, r in np.argwhere(queues.capped).tolist():
            amount = decimal(float(queues.caps[v, r]))
            rows.append((amount, r, queues.below[[v]].indices.tolist()))

        self.remaining: list[Any] = []
        self.needs: list[list[tuple[int, Any]]] = [[] for _ in demands]
        for row, (amount, r, users) in enumerate(rows):
            takers = [n for n in users if demands[n][r] > 0]
            amounts = in_one_unit([amount, *(demands[n][r] for n in takers)])
            self.remaining.append(amounts[0])
            for n, need in zip(takers, amounts[1:], strict=True):
                self.needs[n].append((row, need))
        self.initial = [amount or 1 for amount in self.remaining]

    @cached_property
    def matrix(self) -> np.ndarray:
        """The part of each row that one task of each user takes, rounded; shape (N, rows)."""
        matrix = np.zeros((len(self.needs), len(self.remaining)))
        for n, needs in enumerate(self.needs):
            for row, need in needs:
                matrix[n, row] = float(need / self.initial[row])
        return matrix

    def remaining_parts(self) -> np.ndarray:
        """Return the part of each row that is left, rounded; shape (rows,)."""
        pairs = zip(self.remaining, self.initial, strict=True)
        return np.array([float(amount / initial) for amount, initial in pairs])

    def fits(self, n: int) -> bool:
        """Whether one more task of a user fits."""
        return all(need <= self.remaining[row] for row, need in self.needs[n])

    def may_fit(self) -> np.ndarray:
        """Return whose next task may fit, by rounded amounts: all that do, and few others; bool."""
        remaining = self.remaining_parts() * (1 + LEVEL_ROUNDING)
        return np.asarray((self.matrix <= remaining).all(axis=1))

    def take(self, n: int, count: int = 1) -> None:
        """Give a user so many tasks."""
        for row, need in self.needs[n]:
            self.remaining[row] -= need * count

    def all_fit(self, counts: Iterable[tuple[int, int]]) -> bool:
        """Whether so many more tasks of each user fit together."""
        used: list[Any] = [0] * len(self.remaining)
        for n, count in counts:
            for row, need in self.needs[n]:
                used[row] += need * count
        return all(use <= amount for use, amount in zip(used, self.remaining, strict=True))


def loop(instance: Instance, ties: str = "larger") -> np.ndarray:
    """Return whole tasks by user, served one by one.

    A task costs O(N); all rates are computed anew whenever a user leaves.
    """
    room, rates, limits, active = _begin(instance)
    tasks = [0] * len(limits)
    while active:
        rate = rates(active)
        sign = SIGNS[ties]
        while True:
            n = min(active, key=lambda n: (tasks[n] / rate[n], sign / rate[n], n))
            if not room.fits(n):
                break
            room.take(n)
            tasks[n] += 1
            if tasks[n] == limits[n]:
                break
        active.discard(n)
    return np.array(tasks, dtype=float)


def counted_loop(instance: Instance, ties: str = "larger") -> np.ndarray:
    """Return whole tasks by user, where the tasks of satisfied users count for their queues.

    The next task goes to the user whose tasks are all that it asks for at the lowest level of the
    root, on the way of ``h-drf-counted``. The way begins anew when a user leaves, which costs
    O(N·kinks) in rationals; a task costs O(log N + kinks).
    """
    room, _, limits, active = _begin(instance)
    rates = rational_rates(instance, counted=True, number=decimal)
    tasks = np.array([Fraction(0)] * len(limits))
    satisfied = tasks * 0
    sign = SIGNS[ties]
    while active:
        is_active = np.isin(np.arange(len(limits)), list(active))
        path = _Way.of(rates, is_active, rates.begin(satisfied))
        heap = [(*path.level(n, tasks[n], sign), n) for n in active]
        heapq.heapify(heap)
        while True:
            n = heap[0][-1]
            if not room.fits(n):
                break
            room.take(n)
            tasks[n] += 1
            if tasks[n] == limits[n]:
                satisfied[n] = tasks[n]
                break
            heapq.heapreplace(heap, (*path.level(n, tasks[n], sign), n))
        active.discard(n)
    return tasks.astype(float)


class _Part(NamedTuple):
    """A segment between two kinks: its start t, and the tasks and rates of all leaves there."""

    start: Any
    demanded: Any
    point: TreePoint
    pace: Pace


class _Way:
    """What active leaves ask for along the tree, from kink to kink, as far as it was needed."""

    def __init__(
        self, first: _Part, further: Callable[[Fraction, TreePoint], _Part] | None = None
    ) -> None:
        self.parts = [first]
        self.further = further
        self.straight = first.pace.rate.tolist() if first.pace.end == np.inf else None

    @classmethod
    def of(cls, rates: Rates, active: np.ndarray, point: TreePoint) -> _Way:
        """Return the way of active leaves from a point on."""

        def part(start: Fraction, point: TreePoint) -> _Part:
            return _Part(start, rates.tasks_at(point), point, rates.pace(active, point))

        return cls(part(Fraction(0), point), part)

    def __iter__(self) -> Iterator[_Part]:
        for k in itertools.count():
            if k == len(self.parts):
                start, _, point, pace = self.parts[-1]
                assert self.further is not None
                self.parts.append(self.further(start + pace.end, pace.after(point, pace.end)))
            yield self.parts[k]

    def level(self, n: int, tasks: Any, sign: Any) -> tuple[Fraction, Fraction]:
        """Return the level up to which a leaf asks for at most its tasks, and the key of ties."""
        if self.straight is not None:
            rate = self.straight[n]
            return tasks / rate, sign / rate
        for start, demanded, _, pace in self:
            rate = pace.rate[n]
            if rate <= 0:
                continue
            if pace.end == np.inf or demanded[n] + rate * pace.end > tasks:
                return start + max(tasks - demanded[n], Fraction(0)) / rate, sign / rate
        raise AssertionError("the last part has no end")


class _QueuePaths:
    """The ways of queues along the tree, exactly, while users leave.

    The users of a queue v ask for tasks in proportion, as the level s[v] inside it rises. So one
    leaf in each queue, which takes what they all take together, goes their way: O(Q·kinks) each
    time, whatever the number of users.
    """

    def __init__(self, instance: Instance, active: Set[int]) -> None:
        self.queues = instance.tree
        self.tree = ExactTree(instance, active, decimal)
        self.active = active
        self.nothing = np.array([Fraction(0)] * len(self.queues))
        self.counted: tuple[Rates, TreePoint] | None = None

    def leave(self, n: int, satisfied_tasks: int) -> None:
        """Take a user out, whose tasks count for its queues if it has all that it asks for."""
        tree = self.tree
        vector = np.array(tree.vector[n])
        tree.leave(n)
        if self.counted is None:
            if not satisfied_tasks:
                return
            rates = self._rates()
            usage = rates.origin.usage
        else:
            rates, point = self.counted
            rates.weighted[tree.of[n]] -= vector
            usage = point.usage

        if satisfied_tasks:
            usage = usage.copy()
            usage[self.queues.chain(tree.of[n])] += vector * (tree.unit[n] * satisfied_tasks)
        self.counted = rates, TreePoint(self.nothing, usage)

    def path(self) -> _Way:
        """Return the way of the leaf of each queue."""
        if self.counted is not None:
            rates, point = self.counted
            queues_of_active = [self.tree.of[n] for n in self.active]
            active = np.isin(np.arange(len(self.queues)), queues_of_active)
            return _Way.of(rates, active, point)

        # Without satisfied users there are no kinks, and the tree has the rates.
        rate = np.array(self.tree.factors())
        point = TreePoint(self.nothing, self.nothing)
        return _Way(_Part(Fraction(0), self.nothing, point, Pace(rate, rate, rate, np.inf, False)))

    def _rates(self) -> Rates:
        """Return the rates of one leaf in each queue, which takes what its active users take."""
        resources = self.queues.caps.shape[1]
        together = np.array([[Fraction(0)] * resources] * len(self.queues))
        for n in self.active:
            together[self.tree.of[n]] += self.tree.vector[n]
        ones = self.nothing + 1
        leaves = replace(self.queues, of=np.arange(len(self.queues)))
        return Rates(leaves, ones, together, ones, counted=True)


def fast(instance: Instance, ties: str = "larger", *, counted: bool = False) -> np.ndarray:
    """Return the tasks of :func:`loop`, or with ``counted`` of :func:`counted_loop`, faster.

    Tasks below a level that surely fit are counted at once; the last ones come from heaps.

    Within a queue the order does not depend on the rates, so that each keeps a heap of its own. A
    pick costs O(log N + log Q), a user who leaves O(Q·kinks) and the vectors on its way up.
    """
    room, _, limits, active = _begin(instance)
    paths = _QueuePaths(instance, active)
    queue_of = paths.tree.of
    unit = paths.tree.unit
    tasks = [0] * len(limits)
    sign = SIGNS[ties]
    bulk_size = len(active)
    picks = len(active)
    heaps: dict[int, list[Pick]] = {}
    while active:
        path = paths.path()
        if picks >= bulk_size:
            for _, demanded, _, pace in path:
                rate = {n: pace.rate[queue_of[n]] / unit[n] for n in active}
                base = {n: demanded[queue_of[n]] / unit[n] for n in active}
                if not _in_bulk(room, rate, limits, tasks, base, float(pace.end)):
                    break
            heaps = {q: [] for q in {queue_of[n] for n in active}}
            for n in active:
                pick = tasks[n] * unit[n], sign * unit[n], n
                heaps[queue_of[n]].append(pick)
            for heap in heaps.values():
                heapq.heapify(heap)
        lowest = []
        for q, heap in heaps.items():
            share, tie, n = heap[0]
            lowest.append((*path.level(q, share, tie), n, q))
        heapq.heapify(lowest)
        picks = 0
        while True:
            _, _, n, q = lowest[0]
            if picks == bulk_size or not room.fits(n):
                break
            room.take(n)
            tasks[n] += 1
            if tasks[n] == limits[n]:
                break
            heap = heaps[q]
            heapq.heapreplace(heap, (tasks[n] * unit[n], sign * unit[n], n))
            share, tie, first_user = heap[0]
            heapq.heapreplace(lowest, (*path.level(q, share, tie), first_user, q))
            picks += 1
        if picks < bulk_size:
            heapq.heappop(heaps[q])
            if not heaps[q]:
                del heaps[q]
            active.discard(n)
            paths.leave(n, tasks[n] if counted and tasks[n] == limits[n] else 0)
    return np.array(tasks, dtype=float)


def _in_bulk(
    room: FreeCapacity,
    rate: dict[int, Any],
    limits: list[float],
    tasks: list[int],
    demanded: dict[int, Any],
    end: float,
) -> bool:
    """Give each user its tasks below a level at which all tasks fit and no user is at its limit.

    Bisection in floats finds the level. ``demanded`` is what users ask for at level 0. Return
    whether the level is the ``end``.
    """
    users = list(rate)
    speed, tasks_now, limit, base = (
        np.array([float(values[n]) for n in users]) for values in (rate, tasks, limits, demanded)
    )
    use = room.matrix[users]
    remaining = room.remaining_parts() * (1 - LEVEL_ROUNDING)

    def below(level: float) -> Any:
        return np.maximum(np.floor((base + level * speed) * (1 - LEVEL_ROUNDING)) - tasks_now, 0.0)

    def fits(level: float) -> bool:
        """Return whether the tasks below a level, and one more of each user, fit."""
        return bool(((below(level) + 1) @ use <= remaining).all())

    rises = speed > 0
    low, limit_level = (
        float(((amount - base)[rises] / speed[rises]).min(initial=end))
        for amount in (np.maximum(tasks_now, base), limit - 1)
    )
    rise_of_all = float(quotients(remaining, speed @ use).max(initial=0.0))
    high = min(low + rise_of_all, limit_level, end)
    whole = high == end and fits(end)
    for _ in range(0 if whole else _HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    counts = below(end if whole else low).tolist()
    additions = [(n, int(number)) for n, number in zip(users, counts, strict=True) if number]
    if not room.all_fit(additions):
        return False
    for n, number in additions:
        room.take(n, number)
        tasks[n] += number
    return whole


def _begin(instance: Instance) -> tuple[FreeCapacity, ExactRates, list[float], set[int]]:
    room = FreeCapacity(instance)
    limits = np.floor(instance.task_limits).tolist()
    active = {n for n, limit in enumerate(limits) if limit > 0 and room.fits(n)}
    return room, exact_hierarchical(instance, decimal), limits, active


def never(instance: Instance) -> Set[int]:
    """Return who could not run one whole task even alone."""
    room = FreeCapacity(instance)
    return {
        n
        for n, limit in enumerate(instance.task_limits.tolist())
        if limit >= 1 and not room.fits(n)
    }
