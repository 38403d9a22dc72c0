"""Progressive filling along a tree of queues, in whole tasks.

The next task goes to the lowest active user.

A user's level is its tasks over its rate (:mod:`fairlp.models.trees`), both exact. A user whose
next task does not fit, into the pool or under a cap, or who has all its tasks, leaves; and the
rates of the others are those of the tree without it.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...models.instances.arithmetic import quotients, require_countable, whole_limits
from ...models.instances.instance import Instance
from ...models.instances.rationals import decimal, exact_pool
from ...models.trees.tree import Pace, Tree, TreePoint, rational_tree
from ...tolerances import LEVEL_ROUNDING
from .filling import SIGNS
from .placement import in_one_unit

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
        #: of rows that all users need: the least need
        self.least_needs: list[tuple[int, Any]] = []
        self.needs: list[list[tuple[int, Any]]] = [[] for _ in demands]
        for row, (amount, r, users) in enumerate(rows):
            takers = [n for n in users if demands[n][r] > 0]
            amounts = in_one_unit([amount, *(demands[n][r] for n in takers)])
            self.remaining.append(amounts[0])
            if len(takers) == len(demands):
                self.least_needs.append((row, min(amounts[1:])))
            for n, need in zip(takers, amounts[1:], strict=True):
                self.needs[n].append((row, need))
        self.initial = [amount or 1 for amount in self.remaining]

    @cached_property
    def matrix(self) -> np.ndarray:
        """The part of each row that one task of each user takes, rounded; shape (N, rows)."""
        matrix = np.zeros((len(self.needs), len(self.remaining)), order="F")
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
        for row, need in self.needs[n]:  # noqa: SIM110 - takes half the time of all(…)
            if need > self.remaining[row]:
                return False
        return True

    def is_out(self) -> bool:
        """Whether less is left of a row than any task needs of it."""
        for row, need in self.least_needs:  # noqa: SIM110 - takes half the time of any(…)
            if self.remaining[row] < need:
                return True
        return False

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


class _Lines(NamedTuple):
    """What users ask for between two kinks, in tasks: ``base`` plus ``speed`` times the level."""

    users: np.ndarray
    base: np.ndarray
    speed: np.ndarray
    end: float

    def give(self, room: FreeCapacity, limits: np.ndarray, tasks: list[int]) -> bool:
        """Give the tasks below a level, found by bisection; return whether it is the end."""
        tasks_now = np.array(tasks, dtype=float)[self.users]
        use = room.matrix[self.users]
        remaining = room.remaining_parts() * (1 - LEVEL_ROUNDING)

        def fits(level: float) -> bool:
            """Return whether all tasks below a level fit, and few others."""
            started = np.ceil((self.base + level * self.speed) * (1 + LEVEL_ROUNDING))
            return bool((np.maximum(started - tasks_now, 0.0) @ use <= remaining).all())

        rises = self.speed > 0
        low, limit_level = (
            float(((amount - self.base)[rises] / self.speed[rises]).min(initial=self.end))
            for amount in (np.maximum(tasks_now, self.base), limits[self.users] - 1)
        )
        rises_of_all = quotients(remaining, self.speed @ use)
        most = min(low + float(rises_of_all.max(initial=0.0)), limit_level, self.end)
        whole = most == self.end and fits(self.end)
        # Rows may be used up at levels that are hundreds of powers of ten apart.
        rise = float(rises_of_all[rises_of_all > 0].min(initial=most - low))
        while low + rise < most and fits(low + rise):
            rise *= 2
        high = min(low + rise, most)
        for _ in range(0 if whole else _HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)

        level = self.end if whole else low
        started = np.floor((self.base + level * self.speed) * (1 - LEVEL_ROUNDING))
        counts = np.maximum(started - tasks_now, 0.0).tolist()
        additions = [
            (n, int(count)) for n, count in zip(self.users.tolist(), counts, strict=True) if count
        ]
        if not room.all_fit(additions):
            return False
        for n, count in additions:
            room.take(n, count)
            tasks[n] += count
        return whole


class _Pick(NamedTuple):
    """The next task of a user; the lowest comes first.

    Attributes
    ----------
    level : Fraction
        The s of the queue, or the t of the way, up to which the user asks for at most its tasks.
    tie : Fraction
        The rise of that for a task, with a sign.
    user : int
    """

    level: Fraction
    tie: Fraction
    user: int


class _Part(NamedTuple):
    """A segment between two kinks: its start t, and where the queues stand there."""

    start: Fraction
    point: TreePoint
    pace: Pace

    def pick(self, queue: int, pick: _Pick) -> _Pick | None:
        """Return a pick of a queue as a place of the way; None: it comes after the segment."""
        gap = pick.level - self.point.level[queue]
        speed = self.pace.level[queue]
        if self.pace.end < np.inf and gap >= speed * self.pace.end:
            return None
        return _Pick(self.start + gap / speed, pick.tie / speed, pick.user)


class _Way:
    """How queues rise along the tree, from kink to kink, as far as it was needed."""

    def __init__(self, tree: Tree, rising: np.ndarray, point: TreePoint) -> None:
        self.tree = tree
        self.rising = rising
        self.parts: list[_Part] = []
        self._add(Fraction(0), point)

    def __iter__(self) -> Iterator[_Part]:
        for k in itertools.count():
            yield self.parts[k]
            start, point, pace = self.parts[k]
            if pace.end == np.inf:
                return
            if k + 1 == len(self.parts):
                self._add(start + pace.end, pace.after(point, pace.end))

    def _add(self, start: Fraction, point: TreePoint) -> None:
        self.parts.append(_Part(start, point, self.tree.pace(self.rising, point)))


class _Filling:
    """Whole tasks along a tree, served one by one.

    Each queue has the next tasks of its users in a heap. Their order in there does not depend on
    the way, which begins anew when a user leaves.
    """

    def __init__(self, instance: Instance, ties: str, counted: bool) -> None:
        self.room = FreeCapacity(instance)
        self.tree = rational_tree(instance, number=decimal)
        self.sign = SIGNS[ties]
        self.counted = counted
        self.limits = whole_limits(instance.task_limits)
        self.tasks = [0] * len(self.limits)
        fits = [self.room.fits(n) for n in range(len(self.limits))]
        self.active = (self.limits > 0) & np.array(fits)
        self.use = self.tree.growth_of_leaves(self.active)
        self.queues = replace(self.tree.branches, of=np.arange(len(self.use)))
        self.satisfied = self.use * 0
        self.heaps: list[list[_Pick]] = []

    def go_on(self, in_bulk: bool) -> bool:
        """Serve tasks until a user leaves; return False, or True after a task a user."""
        tree = Tree(self.queues, self.use, self.tree.zeros(len(self.use)) + 1)
        usage = self.queues.carry_up(self.satisfied.copy(), tree.rule.lift)
        rising = self.tree.branches.hold(self.active)
        way = _Way(tree, rising, TreePoint(tree.origin.level, usage))
        if in_bulk:
            self._give_in_bulk(way)
        served = 0
        for part in way:
            firsts: list[tuple[_Pick, int]] = []
            for v in range(len(self.heaps)):
                self._push(firsts, v, part)
            while firsts:
                (_, _, n), v = heapq.heappop(firsts)
                if not self._serve(n):
                    self._leave(n)
                    return False
                heapq.heapreplace(self.heaps[v], self._pick(n))
                self._push(firsts, v, part)
                served += 1
                if served == len(self.tasks):
                    return True
        raise AssertionError("the last part has no end")

    def _push(self, firsts: list[tuple[_Pick, int]], v: int, part: _Part) -> None:
        """Push the first pick of a queue, if it is in a part."""
        if self.heaps[v]:
            pick = part.pick(v, self.heaps[v][0])
            if pick is not None:
                heapq.heappush(firsts, (pick, v))

    def _serve(self, n: int) -> bool:
        """Give a user a task, if it fits; return whether the user asks for another."""
        if not self.room.fits(n):
            return False
        self.room.take(n)
        self.tasks[n] += 1
        return bool(self.tasks[n] < self.limits[n])

    def _leave(self, n: int) -> None:
        """Take a user out, whose pick is the first of its queue."""
        v = self.tree.branches.of[n]
        heapq.heappop(self.heaps[v])
        self.active[n] = False
        self.use[v] -= self.tree.use_per_level[n]
        if self.counted and self.tasks[n] == self.limits[n]:
            self.satisfied[v] += self.tree.use_per_task[n] * self.tasks[n]

    def _pick(self, n: int) -> _Pick:
        unit = 1 / self.tree.tasks_per_level[n]
        return _Pick(self.tasks[n] * unit, self.sign * unit, n)

    def _give_in_bulk(self, way: _Way) -> None:
        """Give tasks below a level at which all fit and no user is at its limit; fill the heaps."""
        users = np.flatnonzero(self.active)
        queues = self.tree.branches.of[users]
        tasks_per_level = self.tree.tasks_per_level[users]
        for _, point, pace in way:
            base, speed = (
                (level[queues] * tasks_per_level).astype(float)
                for level in (point.level, pace.level)
            )
            lines = _Lines(users, base, speed, float(pace.end))
            if not lines.give(self.room, self.limits, self.tasks):
                break
        self.heaps = [[] for _ in self.use]
        for n, v in zip(users.tolist(), queues.tolist(), strict=True):
            heapq.heappush(self.heaps[v], self._pick(n))


def fill(instance: Instance, ties: str = "larger", *, counted: bool = False) -> np.ndarray:
    """Return whole tasks by user.

    The next task goes to the user whose tasks are all that it asks for at the lowest level of the
    root, on the way of ``h-drf``, or with ``counted`` of ``h-drf-counted``. Tasks below a level that
    surely fit are counted at once, and the last ones served one by one.
    """
    filling = _Filling(instance, ties, counted)
    in_bulk = True
    while (filling.active & filling.room.may_fit()).any():
        in_bulk = filling.go_on(in_bulk)
    return np.array(filling.tasks, dtype=float)


def never(instance: Instance) -> Set[int]:
    """Return who could not run one whole task even alone."""
    room = FreeCapacity(instance)
    return {
        n
        for n, limit in enumerate(instance.task_limits.tolist())
        if limit >= 1 and not room.fits(n)
    }
