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
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...models.instances.arithmetic import quotients, require_countable, whole_limits
from ...models.instances.instance import Instance
from ...models.instances.rationals import decimal, exact_pool
from ...models.trees.courses import CoursePlace, Courses
from ...models.trees.tree import Pace, Tree, TreePoint, rational_tree
from ...tolerances import LEVEL_ROUNDING
from .placement import in_one_unit

#: How users of equal level are told apart: by the larger or smaller share of one task, or by their
#: order alone.
SIGNS = {"larger": -1, "smaller": 1, "index": 0}
#: Place on the course of a queue, what tells equal places apart, and the user.
Pick = tuple[CoursePlace, Fraction, int]
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


def loop(instance: Instance, ties: str = "larger", *, counted: bool = False) -> np.ndarray:
    """Return whole tasks by user, served one by one.

    The next task goes to the user whose tasks are all that it asks for at the lowest level of the
    root, on the way of ``h-drf``, or with ``counted`` of ``h-drf-counted``. The way begins anew when
    a user leaves, which costs O(N·kinks) in rationals; a task costs O(log N + kinks).
    """
    room, limits, active = _begin(instance)
    tree = rational_tree(instance, number=decimal)
    tasks = np.array([Fraction(0)] * len(limits))
    satisfied = tasks * 0
    sign = SIGNS[ties]
    while active:
        is_active = np.isin(np.arange(len(limits)), list(active))
        path = _Way(tree, is_active, tree.begin(satisfied))
        heap = [(*path.level(n, tasks[n], sign), n) for n in active]
        heapq.heapify(heap)
        while True:
            n = heap[0][-1]
            if not room.fits(n):
                break
            room.take(n)
            tasks[n] += 1
            if tasks[n] == limits[n]:
                satisfied[n] = tasks[n] * counted
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

    def __init__(self, tree: Tree, active: np.ndarray, point: TreePoint) -> None:
        self.tree = tree
        self.active = active
        self.parts: list[_Part] = []
        self._add(Fraction(0), point)

    def __iter__(self) -> Iterator[_Part]:
        for k in itertools.count():
            if k == len(self.parts):
                start, _, point, pace = self.parts[-1]
                self._add(start + pace.end, pace.after(point, pace.end))
            yield self.parts[k]

    def level(self, n: int, tasks: Any, sign: Any) -> tuple[Fraction, Fraction]:
        """Return the level up to which a leaf asks for at most its tasks, and the key of ties."""
        for start, demanded, _, pace in self:
            rate = pace.rate[n]
            if rate <= 0:
                continue
            if pace.end == np.inf or demanded[n] + rate * pace.end > tasks:
                return start + max(tasks - demanded[n], Fraction(0)) / rate, sign / rate
        raise AssertionError("the last part has no end")

    def _add(self, start: Any, point: TreePoint) -> None:
        demanded = self.tree.tasks_at(point)
        self.parts.append(_Part(start, demanded, point, self.tree.pace(self.active, point)))


class _Picks:
    """The next tasks below each queue, in a heap: those of its users, and its children's first.

    The order within a queue does not depend on the courses above. So a task that starts changes
    only the first entries on its way up, and so does a user who leaves.
    """

    def __init__(self, courses: Courses, sign: int) -> None:
        self.courses = courses
        self.sign = sign
        self.heaps: list[list[Pick]] = []

    def fill(self, active: Iterable[int], tasks: list[int]) -> None:
        """Take the next tasks of all active users."""
        self.heaps = [[] for _ in self.courses.parents]
        for n in active:
            self.heaps[self.courses.of[n]].append(self._pick(n, tasks[n]))
        for v in range(len(self.heaps) - 1, 0, -1):  # children before their parents
            if self.heaps[v]:
                heapq.heapify(self.heaps[v])
                self.heaps[self.courses.parents[v]].append(self._in_parent(v))
        heapq.heapify(self.heaps[0])

    def first(self) -> Pick:
        """Return the lowest pick of all."""
        return self.heaps[0][0]

    def go_on(self, n: int, tasks: int) -> None:
        """Replace the lowest pick by the next of its user."""
        v = self.courses.of[n]
        heapq.heapreplace(self.heaps[v], self._pick(n, tasks))
        self._carry_up(v)

    def drop(self, n: int) -> None:
        """Take out the lowest pick, whose user has left."""
        v = self.courses.of[n]
        heapq.heappop(self.heaps[v])
        self._carry_up(v)

    def _pick(self, n: int, tasks: int) -> Pick:
        unit = self.courses.unit[n]
        return CoursePlace(tasks * unit), self.sign * unit, n

    def _carry_up(self, v: int) -> None:
        """Renew a queue's entry, which is the first, in its parent's heap, and so on up."""
        while v:
            parent = self.courses.parents[v]
            if self.heaps[v]:
                heapq.heapreplace(self.heaps[parent], self._in_parent(v))
            else:
                heapq.heappop(self.heaps[parent])
            v = parent

    def _in_parent(self, v: int) -> Pick:
        place, tie, n = self.heaps[v][0]
        place, slowness = self.courses.in_parent(v, place)
        return place, tie * slowness, n


def fast(instance: Instance, ties: str = "larger", *, counted: bool = False) -> np.ndarray:
    """Return the tasks of :func:`loop`, faster.

    Tasks below a level that surely fit are counted at once; the last ones come from heaps. A task
    costs O(log) a queue on its way up. For a user who leaves, the courses of these queues
    are computed anew near where they stand.
    """
    room, limits, active = _begin(instance)
    courses = Courses(rational_tree(instance, number=decimal), active)
    picks = _Picks(courses, SIGNS[ties])
    tasks = [0] * len(limits)
    place = CoursePlace(Fraction(0))
    bulk_size = len(active)
    since_change = bulk_size
    while active:
        if since_change == bulk_size:
            _in_bulk(room, courses, place, active, limits, tasks)
            picks.fill(active, tasks)
            since_change = 0
        place, _, n = picks.first()
        stays = room.fits(n)
        if stays:
            room.take(n)
            tasks[n] += 1
            since_change += 1
            stays = tasks[n] < limits[n]
        if stays:
            picks.go_on(n, tasks[n])
        else:
            active.discard(n)
            courses.leave(n, tasks[n] if counted and tasks[n] == limits[n] else 0)
            picks.drop(n)
            since_change = 0
    return np.array(tasks, dtype=float)


def _in_bulk(
    room: FreeCapacity,
    courses: Courses,
    place: CoursePlace,
    active: Set[int],
    limits: list[float],
    tasks: list[int],
) -> None:
    """Give active users their tasks below a level at which all fit and no user is at its limit.

    They have all tasks below ``place`` already.
    """
    for motions, length in courses.from_place(place):
        users = [n for n in active if motions[courses.of[n]].rise]
        terms = [(motions[courses.of[n]], courses.unit[n]) for n in users]
        base = [float(motion.place.own / unit) for motion, unit in terms]
        speed = [float(motion.speed / unit) for motion, unit in terms]
        lines = _Lines(users, np.array(base), np.array(speed), float(length))
        if not lines.give(room, limits, tasks):
            return


class _Lines(NamedTuple):
    """What users ask for between two kinks, in tasks: ``base`` plus ``speed`` times the level."""

    users: list[int]
    base: np.ndarray
    speed: np.ndarray
    end: float

    def give(self, room: FreeCapacity, limits: list[float], tasks: list[int]) -> bool:
        """Give the tasks below a level, found by bisection; return whether it is the end."""
        tasks_now = np.array([float(tasks[n]) for n in self.users])
        limit = np.array([limits[n] for n in self.users])
        use = room.matrix[self.users]
        remaining = room.remaining_parts() * (1 - LEVEL_ROUNDING)

        def fits(level: float) -> bool:
            """Return whether all tasks below a level fit, and few others."""
            started = np.ceil((self.base + level * self.speed) * (1 + LEVEL_ROUNDING))
            return bool((np.maximum(started - tasks_now, 0.0) @ use <= remaining).all())

        rises = self.speed > 0
        low, limit_level = (
            float(((amount - self.base)[rises] / self.speed[rises]).min(initial=self.end))
            for amount in (np.maximum(tasks_now, self.base), limit - 1)
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
        additions = [(n, int(count)) for n, count in zip(self.users, counts, strict=True) if count]
        if not room.all_fit(additions):
            return False
        for n, count in additions:
            room.take(n, count)
            tasks[n] += count
        return whole


def _begin(instance: Instance) -> tuple[FreeCapacity, list[float], set[int]]:
    room = FreeCapacity(instance)
    limits = whole_limits(instance.task_limits).tolist()
    active = {n for n, limit in enumerate(limits) if limit > 0 and room.fits(n)}
    return room, limits, active


def never(instance: Instance) -> Set[int]:
    """Return who could not run one whole task even alone."""
    room = FreeCapacity(instance)
    return {
        n
        for n, limit in enumerate(instance.task_limits.tolist())
        if limit >= 1 and not room.fits(n)
    }
