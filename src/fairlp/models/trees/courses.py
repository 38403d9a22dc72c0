"""The order in which the queues of a tree ask for more, exactly, while users leave.

It is that of :class:`~fairlp.models.trees.tree.Tree` with satisfied leaves counted, which follows
the whole tree from kink to kink. Here each queue has a course of its own: what is taken below it,
and its level, as its own level s[v] rises. A course depends on the queues and users below alone. So
a user who leaves changes the courses on its way up, and no other. The parts of a course are
computed when they are asked for, each from the nearest of several places on the course.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .tree import Tree


class CoursePlace(NamedTuple):
    """A place on the course of a queue; places compare as they are reached.

    Attributes
    ----------
    own : Fraction
        s[v]: an active child of the queue asks for its weight times this, in dominant share.
    stood : Fraction or float
        How long s[v] has stood still there while children jump; infinite where it rises again.
    """

    own: Fraction
    stood: Any = math.inf

    @property
    def rises(self) -> bool:
        """Whether s[v] rises from there."""
        return bool(self.stood == math.inf)

    def later(self, length: Any) -> CoursePlace:
        """Return the place after a length: s[v] is larger, or has stood still for longer."""
        own, stood = self
        return CoursePlace(own + length) if stood == math.inf else CoursePlace(own, stood + length)


class Motion(NamedTuple):
    """How a queue moves along its course while its root does.

    Attributes
    ----------
    place : CoursePlace
    speed : Fraction or int
        Its length per time.
    time_to_kink : Fraction or float
        Infinite if there is none.
    """

    place: CoursePlace
    speed: Any
    time_to_kink: Any

    @property
    def rise(self) -> Any:
        """The speed of s[v]."""
        return self.speed if self.place.rises else 0


def _time(length: Any, speed: Any) -> Any:
    """Return the time that a length takes, infinite if it takes for ever."""
    return length / speed if speed else math.inf


@dataclass(eq=False)
class Part:
    """A straight part of a course: s[v] rises, or stands still while children jump.

    Attributes
    ----------
    start, start_in_parent : CoursePlace
        Where the part starts, on the course of the queue and on that of its parent.
    length : Fraction or float
        How far s[v] rises, or how long it stands still; infinite for the last part.
    slowness : Fraction
        The parent's length per unit of this length.
    jumps : bool
        Whether the queue jumps: its level stands still, and its parent's s stands still meanwhile.
    usage, usage_growth : list of Fraction
        What is taken below the queue at the start, and its growth per unit of length, by resource.
    """

    start: CoursePlace
    start_in_parent: CoursePlace
    length: Any
    slowness: Fraction
    jumps: bool
    usage: list[Fraction]
    usage_growth: list[Fraction]

    def length_to(self, place: CoursePlace) -> Any:
        """Return the length of this part up to a place."""
        own, stood = self.start
        return place.own - own if stood == math.inf else place.stood - stood

    def length_at(self, parent: CoursePlace) -> Any:
        """Return the length of this part up to a place of the parent."""
        own, stood = self.start_in_parent
        return (parent.stood - stood if self.jumps else parent.own - own) / self.slowness

    def in_parent(self, length: Any) -> CoursePlace:
        """Return the place of the parent after a length of this part."""
        return self.start_in_parent.later(self.slowness * length)

    @cached_property
    def end_in_parent(self) -> CoursePlace:
        """The place of the parent where this part ends."""
        return self.in_parent(self.length)

    @cached_property
    def usage_in_parent(self) -> list[Fraction]:
        """Growth of what is taken below the queue per unit of the parent's length, by resource."""
        speed = 1 / self.slowness
        return [amount * speed for amount in self.usage_growth]


#: Parts after which a stretch is split; it has more where a queue has more than 16² children, as
#: each stretch holds the states of all.
LEAST_PARTS = 16


class Course:
    """The course of one queue.

    Attributes
    ----------
    weight : Fraction
        Weight of the queue among its siblings.
    position : int
        Position of the queue among its siblings.
    children : list of Course
    active_users : int
        How many active users stand below.
    slope : list of Fraction
        Growth of what is taken per unit of s[v], by resource: by active users of the queue itself
        and by children without satisfied users.
    usage : list of Fraction
        What satisfied users below the queue take, by resource.
    stretches : list of Stretch
        The first begins at s[v] = 0.
    """

    def __init__(self, weight: Fraction, slope: list[Fraction]) -> None:
        self.weight = weight
        self.position = 0
        self.children: list[Course] = []
        self.active_users = 0
        self.slope = slope
        self.usage = [Fraction(0)] * len(slope)
        self.stretches = [Stretch(self, Fraction(0))]

    def add_child(self, child: Course) -> None:
        """Add a child."""
        child.position = len(self.children)
        self.children.append(child)

    def change(self, child: Course | None) -> None:
        """Forget the parts, because a user below a child has left; None: one of the queue."""
        for stretch in self.stretches:
            stretch.change(child)

    def in_parent(self, place: CoursePlace) -> tuple[CoursePlace, Fraction]:
        """Return the place of the parent, and the parent's length per unit of the queue's."""
        stretch = self._stretch_before(place.own, lambda stretch: stretch.begin)
        part = stretch.parts[stretch.part_at(place, stretch.starts)]
        return part.in_parent(part.length_to(place)), part.slowness

    def at_parent(self, parent: Motion) -> Motion:
        """Return how the queue moves while its parent does."""
        stretch, k = self.part_at_parent(parent.place)
        if k < 0:  # it waits until its level is what its satisfied users take
            wait = stretch.starts_in_parent[0].own - parent.place.own
            return Motion(stretch.starts[0], 0, _time(wait, parent.rise))
        part = stretch.parts[k]
        length = part.length_at(parent.place)
        if length >= part.length:  # its jump is over, and a sibling jumps on
            return Motion(stretch.starts[k + 1], 0, math.inf)
        speed = (parent.speed if part.jumps else parent.rise) / part.slowness
        return Motion(part.start.later(length), speed, _time(part.length - length, speed))

    def part_at_parent(self, parent: CoursePlace) -> tuple[Stretch, int]:
        """Return a stretch and its last part that starts at a place of the parent or before."""
        stretch = self._stretch_before(
            parent.own, lambda stretch: stretch.beginning().level / self.weight
        )
        return stretch, stretch.part_at(parent, stretch.starts_in_parent)

    def split(self, stretch: Stretch, own: Fraction) -> None:
        """Split a stretch at a place, unless a stretch begins between its beginning and there."""
        k = bisect_left(self.stretches, own, key=lambda stretch: stretch.begin)
        if self.stretches[k - 1] is stretch:
            self.stretches.insert(k, Stretch(self, own))

    def _stretch_before(
        self, amount: Fraction, at_beginning: Callable[[Stretch], Fraction]
    ) -> Stretch:
        """Return the last stretch that begins before a place.

        Stretches that may begin amid a jump of the queue are dropped: how long it has gone on
        depends on the parts before.
        """
        if len(self.stretches) == 1:
            return self.stretches[0]
        k = bisect_left(self.stretches, amount, lo=1, key=at_beginning) - 1
        while k and not self.stretches[k].beginning().rises:
            del self.stretches[k]
            k -= 1
        return self.stretches[k]


class _ChildState(NamedTuple):
    """The state of a child with satisfied users below, where a stretch begins.

    Attributes
    ----------
    end : Fraction or float
        The s[v] at which the child goes on to its next part. First it waits until its level is what
        its satisfied users take.
    usage : list of Fraction
        What active users below the child take, by resource.
    growth : list of Fraction
        Its growth per unit of s[v].
    stretch, k : Stretch, int
        The child's part: its stretch, and its position there; -1 for none.
    """

    end: Any
    usage: list[Fraction]
    growth: list[Fraction]
    stretch: Stretch
    k: int


@dataclass
class _Beginning:
    """The state where a stretch begins.

    Attributes
    ----------
    usage, slope : list of Fraction
        What is taken below the queue, and its growth per unit of s[v] up to there, by resource.
    """

    usage: list[Fraction]
    slope: list[Fraction]

    @cached_property
    def level(self) -> Fraction:
        """The dominant share of what is taken."""
        return max(self.usage)

    @cached_property
    def rises(self) -> bool:
        """Whether the level rises up to there, so that no jump of the queue goes on there."""
        pairs = zip(self.usage, self.slope, strict=True)
        return all(slope for amount, slope in pairs if amount == self.level)


class Stretch:
    """The parts of a course from a place on, computed when they are asked for.

    What is taken at the beginning is a sum over the queue's users and children. So if something
    changes below one child, one term of the sum changes, and the parts before are not needed.

    Attributes
    ----------
    course : Course
    begin : Fraction
        The s[v] at the beginning, before children jump there.
    parts : list of Part
    starts, starts_in_parent : list of CoursePlace
        Where the parts start, on the course and on that of the parent.
    """

    def __init__(self, course: Course, begin: Fraction) -> None:
        self.course = course
        self.begin = begin
        self._states: dict[int, _ChildState] = {}
        self._kinks: list[tuple[Fraction, int]] = []  # sorted
        self._usage_of_children = [Fraction(0)] * len(course.usage)
        self._slope_of_children = [Fraction(0)] * len(course.usage)
        self._changed = set(course.children)
        self._beginning: _Beginning | None = None
        self._forget()

    def change(self, child: Course | None) -> None:
        """Forget the parts, because a user below a child has left; None: one of the queue."""
        if child is not None:
            self._changed.add(child)
        if self._beginning is not None:
            self._forget()

    def beginning(self) -> _Beginning:
        """Return the state at the beginning."""
        if self._beginning is None:
            self._beginning = self._compute_beginning()
        return self._beginning

    def part_at(self, place: CoursePlace, starts: list[CoursePlace]) -> int:
        """Return the position of the last part that starts at a place or before; -1 for none."""
        while not starts or starts[-1] <= place:
            if not self._extend():
                break
        return bisect_right(starts, place) - 1

    def part(self, k: int) -> Part:
        """Return a part."""
        while k >= len(self.parts):
            self._extend()
        return self.parts[k]

    def _forget(self) -> None:
        self.parts: list[Part] = []
        self.starts: list[CoursePlace] = []
        self.starts_in_parent: list[CoursePlace] = []
        self._next_parts = self._compute()
        self._beginning = None

    def _compute_beginning(self) -> _Beginning:
        for child in self._changed:
            self._take_out(child)
            if child.active_users and any(child.usage):
                self._add(child)
        self._changed.clear()

        course = self.course
        usage = list(course.usage)
        slope = list(course.slope)
        if self.begin:
            for r, growth in enumerate(course.slope):
                usage[r] += growth * self.begin + self._usage_of_children[r]
                slope[r] += self._slope_of_children[r]
        return _Beginning(usage, slope)

    def _add(self, child: Course) -> None:
        """Add a child to the sums."""
        wait = max(child.usage) / child.weight
        if self.begin <= wait:
            zeros = [Fraction(0)] * len(child.usage)
            state = _ChildState(wait, zeros, zeros, child.stretches[0], -1)
        else:
            stretch, k = child.part_at_parent(CoursePlace(self.begin, Fraction(0)))
            if stretch.parts[k].jumps:  # a jump that starts at the beginning
                k -= 1
            part = stretch.parts[k]
            gone = self.begin - part.start_in_parent.own
            growth = part.usage_in_parent
            terms = zip(part.usage, child.usage, growth, strict=True)
            usage = [start - satisfied + rate * gone for start, satisfied, rate in terms]
            state = _ChildState(part.end_in_parent.own, usage, growth, stretch, k)
        self._states[child.position] = state
        if state.end < math.inf:
            insort(self._kinks, (state.end, child.position))
        for r, slope in enumerate(state.growth):
            self._slope_of_children[r] += slope
            self._usage_of_children[r] += state.usage[r]

    def _take_out(self, child: Course) -> None:
        """Take a child out of the sums."""
        state = self._states.pop(child.position, None)
        if state is None:
            return
        if state.end < math.inf:
            del self._kinks[bisect_left(self._kinks, (state.end, child.position))]
        for r, slope in enumerate(state.growth):
            self._slope_of_children[r] -= slope
            self._usage_of_children[r] -= state.usage[r]

    def _extend(self) -> bool:
        """Compute the next part; return whether there is one."""
        part = next(self._next_parts, None)
        if part is None:
            return False
        self.parts.append(part)
        self.starts.append(part.start)
        self.starts_in_parent.append(part.start_in_parent)
        return True

    def _compute(self) -> Iterator[Part]:
        """Yield the parts one after the other."""
        weight = self.course.weight
        resources = range(len(self.course.usage))
        beginning = self.beginning()
        usage = beginning.usage
        children = _Children(beginning.slope, self._states, self._kinks)
        parts_before_split = max(LEAST_PARTS, len(self.course.children) // LEAST_PARTS)
        own = self.begin
        stood = jumped = Fraction(0)
        while True:
            children.go_on(own, stood)
            if children.jumping:
                start = CoursePlace(own, stood)
                usage_growth = children.growth_of_jumping()
                length: Any = children.jumping[0][0] - stood
            else:
                start = CoursePlace(own)
                usage_growth = list(children.slope)
                length = children.rising[0][0] - own if children.rising else math.inf

            # The level grows with the resources of which most is taken, until another overtakes.
            level = max(usage)
            growth = max(usage_growth[r] for r in resources if usage[r] == level)
            for r in resources:
                if usage_growth[r] > growth:
                    length = min(length, (level - usage[r]) / (usage_growth[r] - growth))
            asked = level / weight  # of s of the parent
            if growth:
                start_in_parent = CoursePlace(asked)
                slowness = growth / weight
            else:
                start_in_parent = CoursePlace(asked, jumped / weight)
                slowness = 1 / weight
            yield Part(start, start_in_parent, length, slowness, not growth, usage, usage_growth)
            if length == math.inf:
                return

            usage = [amount + usage_growth[r] * length for r, amount in enumerate(usage)]
            jumped = Fraction(0) if growth else jumped + length
            if children.jumping:
                stood += length
            else:
                own += length
                stood = Fraction(0)
                if len(self.parts) >= parts_before_split:
                    self.course.split(self, own)


class _Children:
    """The children of a queue with satisfied users below, each on a part of its course.

    Attributes
    ----------
    slope : list of Fraction
        Growth of what is taken below the queue per unit of s[v], while no child jumps.
    rising : heap
        The s[v] at which a child goes on to its next part, and the child.
    jumping : heap
        The same of children that jump: how long s[v] has stood still until then.
    """

    def __init__(
        self,
        slope: list[Fraction],
        states: dict[int, _ChildState],
        kinks: list[tuple[Fraction, int]],
    ) -> None:
        self.slope = list(slope)
        self.growths = {child: state.growth for child, state in states.items()}
        self.parts = {child: (state.stretch, state.k) for child, state in states.items()}
        self.rising = list(kinks)
        self.jumping: list[tuple[Fraction, int]] = []

    def go_on(self, own: Fraction, stood: Fraction) -> None:
        """Take the children that are at the end of a part to their next."""
        while self.rising and self.rising[0][0] == own:
            _, child = heapq.heappop(self.rising)
            for r, growth in enumerate(self.growths[child]):
                self.slope[r] -= growth
            self._start(child)
        while self.jumping and self.jumping[0][0] == stood:
            _, child = heapq.heappop(self.jumping)
            self._start(child)

    def growth_of_jumping(self) -> list[Fraction]:
        """Return the growth of what the children that jump take, by resource."""
        columns = zip(*(self.growths[child] for _, child in self.jumping), strict=True)
        return [sum(column, Fraction(0)) for column in columns]

    def _start(self, child: int) -> None:
        """Start the next part of a child."""
        stretch, k = self.parts[child]
        self.parts[child] = (stretch, k + 1)
        part = stretch.part(k + 1)
        self.growths[child] = part.usage_in_parent
        if part.jumps:
            heapq.heappush(self.jumping, (part.end_in_parent.stood, child))
            return
        for r, growth in enumerate(self.growths[child]):
            self.slope[r] += growth
        if part.length < math.inf:
            heapq.heappush(self.rising, (part.end_in_parent.own, child))


class Courses:
    """The courses of all queues of a tree below the root, while users leave.

    Attributes
    ----------
    of, parents : list of int
        Queue of each user, and parent of each queue.
    unit : list of Fraction
        Dominant share of one task of each user over its weight.
    """

    def __init__(self, tree: Tree, active: Iterable[int]) -> None:
        branches = tree.branches
        self.of = branches.of.tolist()
        self.parents = branches.parents.tolist()
        self.unit = (1 / tree.tasks_per_level).tolist()
        self.vector = tree.use_per_level.tolist()
        pace = tree.pace(np.isin(np.arange(len(self.of)), list(active)), tree.origin)
        slopes = np.divide(
            pace.usage, pace.level[:, None], out=pace.usage * 0, where=pace.level[:, None] > 0
        )
        pairs = zip(branches.weights.tolist(), slopes.tolist(), strict=True)
        self.courses = [Course(weight, slope) for weight, slope in pairs]
        for v in range(1, len(self.courses)):
            self.courses[self.parents[v]].add_child(self.courses[v])
        for n in active:
            for v in self._up(self.of[n]):
                self.courses[v].active_users += 1

    def in_parent(self, v: int, place: CoursePlace) -> tuple[CoursePlace, Fraction]:
        """Return the place of a queue's parent, and the parent's length per unit of the queue's."""
        return self.courses[v].in_parent(place)

    def leave(self, n: int, satisfied_tasks: int) -> None:
        """Take a user out, whose tasks count for its queues if it has all that it asks for."""
        change = [-amount for amount in self.vector[n]]
        child = None
        for v in self._up(self.of[n]):
            course = self.courses[v]
            before = _slope_in_parent(course)
            course.active_users -= 1
            for r, difference in enumerate(change):
                if difference:
                    course.slope[r] += difference
            if satisfied_tasks:
                for r, amount in enumerate(self.vector[n]):
                    course.usage[r] += amount * self.unit[n] * satisfied_tasks
            after = _slope_in_parent(course)
            change = [new - old for new, old in zip(after, before, strict=True)]
            course.change(child)
            child = course

    def from_place(self, root: CoursePlace) -> Iterator[tuple[list[Motion], Any]]:
        """Yield how all queues move, and the time to the next kink, from a place of the root on.

        The time is the length of the root's course.
        """
        while True:
            motions = [Motion(root, 1, math.inf)]
            for course, parent in zip(self.courses[1:], self.parents[1:], strict=True):
                moves = course.active_users > 0
                motions.append(
                    course.at_parent(motions[parent]) if moves else Motion(root, 0, math.inf)
                )
            end = min(motion.time_to_kink for motion in motions)
            if end < math.inf:
                yield motions, end
                root = CoursePlace(root.own + end, Fraction(0)) if root.rises else root.later(end)
            elif root.rises:
                yield motions, end
                return
            else:  # all have jumped
                root = CoursePlace(root.own)

    def _up(self, v: int) -> Iterator[int]:
        """Yield a queue and those above it, without the root, which has no course."""
        while v:
            yield v
            v = self.parents[v]


def _slope_in_parent(course: Course) -> list[Fraction]:
    """Return what a queue adds to its parent's slope: nothing where satisfied users stand below."""
    largest = max(course.slope)
    if not largest or any(course.usage):
        return [Fraction(0)] * len(course.slope)
    speed = course.weight / largest
    return [amount * speed if amount else amount for amount in course.slope]
