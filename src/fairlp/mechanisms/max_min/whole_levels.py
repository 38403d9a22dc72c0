"""The leximin of whole tasks on servers, level by level, between bounds of linear programs.

A level matters by the fewest whole tasks with which each user reaches it. So a level is
the largest count / (φ[n]Γ[n]) that enough users can reach while the lower levels stay as they are.
Linear programs (tasks divided) say up to which it can be; integer programs look from there down.
A second question settles how few users stay at the level. Which ones, later rounds may choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ...errors import UnsupportedError
from ...formulations.whole_tasks import most_tasks_on, reaching_on_servers
from ...models.instances.arithmetic import whole_limits, whole_table
from ...models.instances.instance import Instance
from ...models.paths.engine import History
from ...models.programs.backends import solve
from ...models.programs.options import Options
from ...models.programs.protocols import Capability
from ...models.programs.solution import Solution
from ...models.programs.status import LIMITS, Termination
from ...tolerances import AGREEMENT

__all__ = ["OpenLevel", "WholeLevels"]

#: A program may take this part of the time that is left, so that later levels have some.
_PART_OF_TIME = 0.25
_BRANCH_AND_BOUND = "integer levels rest on the optima of the solver's branch and bound"


class OpenLevel(NamedTuple):
    """A level that a limit left below its bound.

    Attributes
    ----------
    place : int
        Among the levels of all users, from the lowest; the first is 1.
    level, bound : float
    """

    place: int
    level: float
    bound: float

    @property
    def gap(self) -> float:
        """The distance to the bound, relative to the level."""
        return (self.bound - self.level) / self.level if self.level else np.inf


class WholeLevels:
    """Whole tasks whose sorted levels are lexicographically largest.

    Parameters
    ----------
    instance : Instance
        Of single servers.
    tasks_per_level : ndarray, shape (N,)
    backend : Backend
        One that solves integer programs.
    options : Options
        ``time_limit`` is that of all programs together.
    room : ndarray, shape (K, R), optional
        As in :func:`~fairlp.formulations.whole_tasks.reaching_on_servers`.

    Attributes
    ----------
    tasks : ndarray, shape (N, K)
        The best so far. They keep all levels that are settled.
    settled : list of float
        Levels, from the lowest, and in ``staying`` how many users are at or below each.
    bounds : dict of int to float
        Of a place among all levels: the level that may be possible there, where a limit was reached.
    """

    def __init__(
        self,
        instance: Instance,
        tasks_per_level: np.ndarray,
        backend: Any,
        options: Options,
        room: np.ndarray | None = None,
    ) -> None:
        if Capability.MILP not in backend.capabilities:
            raise UnsupportedError(
                f"{backend.name} solves no integer programs, and whole tasks need them"
            )
        self.instance = instance
        self.backend = backend
        self.options = options
        self.room = room
        self.largest_tasks = most_tasks_on(instance)
        self.users = np.flatnonzero(self.largest_tasks.any(axis=1))
        self.tasks_per_level = tasks_per_level
        self.rate = tasks_per_level[self.users]
        limits = np.minimum(self.largest_tasks.sum(axis=1), whole_limits(instance.task_limits))
        self.limits = limits[self.users]
        self.table, self.capacities = whole_table(instance.demands, instance.capacities)
        self.tasks = np.zeros(instance.shape)
        self.settled: list[float] = []
        self.staying: list[int] = []
        self.bounds: dict[int, float] = {}
        self.stop = ""
        self.start_time = perf_counter()

    # Levels that whole tasks can have.

    def levels(self) -> np.ndarray:
        """Return the levels of users who can run a task, from the lowest."""
        return np.sort(self.tasks[self.users].sum(axis=1) / self.rate)

    def fewest(self, level: float) -> np.ndarray:
        """Return the fewest tasks with which each user reaches a level. Shape (N,)."""
        fewest = np.zeros(len(self.tasks))
        fewest[self.users] = np.ceil(level * self.rate * (1 - AGREEMENT))
        return fewest

    def next_above(self, level: float) -> float:
        """Return the lowest level above one that a user can have; infinite without one."""
        tasks = np.floor(level * self.rate * (1 + AGREEMENT)) + 1
        return float(np.where(tasks <= self.limits, tasks / self.rate, np.inf).min())

    def last_below(self, level: float) -> float:
        """Return the highest level up to one that a user can have."""
        tasks = np.minimum(np.floor(level * self.rate * (1 + AGREEMENT)), self.limits)
        return float((tasks / self.rate).max())

    def highest(self, reaches: Callable[[float], bool], low: float, high: float) -> float:
        """Return the highest level from ``low`` on, and below ``high``, that is reached.

        The first one is. By bisection.
        """
        while True:
            level = self.last_below((low + high) / 2)
            if level <= low * (1 + AGREEMENT):
                level = self.next_above(low)
            if level >= high * (1 - AGREEMENT):
                return low
            if reaches(level):
                low = level
            else:
                high = level

    # Programs.

    def model(self, level: float, count: int) -> Any:
        """Return the program of which so many users reach a level, and enough the settled ones."""
        fewest = np.array([self.fewest(value) for value in (*self.settled, level)])
        enough = [len(self.users) - staying for staying in self.staying[: len(fewest) - 2]]
        if self.settled:
            enough.append(count)
        return reaching_on_servers(self.instance, fewest, enough, self.room)

    def is_bounded_below(self, level: float, count: int) -> bool:
        """Whether even tasks that are divided cannot bring so many users to a level."""
        program = self.model(level, count).compile().relaxed()
        options = replace(self.options, time_limit=None)
        solution = solve(program, self.backend, options)
        return solution.status.termination is Termination.INFEASIBLE

    def reaches(self, level: float, count: int) -> bool | None:
        """Whether so many users can reach a level; None where a limit leaves it open.

        Tasks with which they do are kept.
        """
        model = self.model(level, count)
        solution = solve(model.compile(), self.backend, self.options_now())
        if solution.is_feasible:
            tasks = np.rint(np.asarray(model.evaluate("tasks", solution.x), dtype=float))
            tasks = tasks.reshape(self.tasks.shape)
            reached = (tasks.sum(axis=1) >= self.fewest(level))[self.users]
            if reached.sum() >= count:
                self.tasks = self.filled(tasks)
                return True
        return self.refusal(solution)

    def refusal(self, solution: Solution) -> bool | None:
        """Return False where a program has no point, and None where a limit was reached."""
        termination = solution.status.termination
        if termination is Termination.INFEASIBLE:
            return False
        if termination not in LIMITS:
            solution.require_optimal()
        self.stop = self.stop or f"the {termination} was reached"
        return None

    def options_now(self) -> Options:
        """Return options with a part of the time that is left."""
        limit = self.options.time_limit
        if limit is None:
            return self.options
        return replace(self.options, time_limit=_PART_OF_TIME * self.seconds_left(limit))

    def seconds_left(self, limit: float) -> float:
        """Return what is left of the time of all programs."""
        return max(limit - (perf_counter() - self.start_time), 0.0)

    def is_over(self) -> bool:
        """Whether the time of all programs is over."""
        limit = self.options.time_limit
        return limit is not None and self.seconds_left(limit) < _PART_OF_TIME * limit / 100

    def filled(self, tasks: np.ndarray) -> np.ndarray:
        """Return tasks with more of them, one by one, to whoever has the lowest level and room."""
        tasks = tasks.copy()
        free = self.capacities - np.rint(tasks).T @ self.table
        waiting = list(self.users)
        limits = whole_limits(self.instance.task_limits)
        while waiting:
            totals = tasks.sum(axis=1)
            user = min(waiting, key=lambda n: totals[n] / self.tasks_per_level[n])
            fits = (free >= self.table[user]).all(axis=1) & (self.largest_tasks[user] >= 1)
            if not fits.any() or totals[user] >= limits[user]:
                waiting.remove(user)
                continue
            spare = np.where(fits, (free - self.table[user]).sum(axis=1), np.inf)
            server = int(spare.argmin())
            tasks[user, server] += 1
            free[server] -= self.table[user]
        return tasks

    # Rounds.

    def run(self) -> None:
        """Settle level after level, until all users stay at one or the time is over."""
        self.tasks = self.filled(self.tasks)
        staying = 0
        while staying < len(self.users):
            level, bound = self.next_level(staying)
            if bound > level:
                self.bounds[staying + 1] = bound
            self.settled.append(level)
            staying = self.fewest_staying(level, staying)
            self.staying.append(staying)
            if self.is_over():
                self.leave_open(staying)
                break

    def leave_open(self, staying: int) -> None:
        """Bound the next level, and none after it."""
        if staying < len(self.users):
            self.stop = self.stop or f"the {Termination.TIME_LIMIT} was reached"
            self.bounds[staying + 1] = self.bound(len(self.users) - staying, self.settled[-1])

    def bound(self, count: int, low: float) -> float:
        """Return the highest level to which so many users come where tasks are divided.

        ``low`` is one that they reach.
        """
        high = 2 * float((self.limits / self.rate).max())
        return self.highest(lambda level: not self.is_bounded_below(level, count), low, high)

    def next_level(self, staying: int) -> tuple[float, float]:
        """Return the level of all users but those who stay lower, and a bound on it."""
        count = len(self.users) - staying
        low = float(self.levels()[staying])
        bound = self.bound(count, low)
        if bound <= low * (1 + AGREEMENT):
            return low, low
        bound_of_limits = low

        def reaches(level: float) -> bool:
            nonlocal bound_of_limits
            if level <= self.levels()[staying] * (1 + AGREEMENT):
                return True
            answer = self.reaches(level, count)
            if answer is None:
                bound_of_limits = max(bound_of_limits, level)
            return bool(answer)

        if not reaches(bound):
            # from the bound down, by steps that double
            high = bound
            width = bound - self.last_below(bound * (1 - 2 * AGREEMENT))
            while (level := self.last_below(bound - width)) > low * (1 + AGREEMENT):
                if reaches(level):
                    low = level
                    break
                high = level
                width *= 2
            self.highest(reaches, low, high)
        level = float(self.levels()[staying])
        return level, max(level, bound_of_limits)

    def fewest_staying(self, level: float, staying: int) -> int:
        """Return how few users stay at a level or below; those below it are ``staying``."""
        above = self.next_above(level)
        while True:
            at_or_below = int((self.levels() <= level * (1 + AGREEMENT)).sum())
            count = len(self.users) - at_or_below + 1
            if at_or_below == staying + 1 or above == np.inf:
                return at_or_below
            if self.is_bounded_below(above, count):
                return at_or_below
            answer = self.reaches(above, count)
            if answer is None:
                self.bounds[at_or_below] = self.bound(count, above)
            if not answer:
                return at_or_below

    # The answer.

    def history(self) -> History:
        """Return the levels of all users who can run a task, and who is at each."""
        levels = self.tasks[self.users].sum(axis=1) / self.rate
        history: History = []
        waiting = np.ones(len(levels), dtype=bool)
        while waiting.any():
            level = float(levels[waiting].min())
            here = waiting & (levels <= level * (1 + AGREEMENT))
            history.append((level, self.users[here]))
            waiting &= ~here
        return history

    @property
    def open_levels(self) -> list[OpenLevel]:
        """The levels that a limit left below their bounds, from the lowest."""
        levels = self.levels().tolist()
        places = sorted(self.bounds.items())
        open_levels = [OpenLevel(place, levels[place - 1], bound) for place, bound in places]
        return [level for level in open_levels if level.gap > AGREEMENT]

    @property
    def gap(self) -> float | None:
        """The largest gap of a level; None where no limit left one open."""
        return max((level.gap for level in self.open_levels), default=None)

    @property
    def unproved(self) -> str:
        """What of the levels is not proved."""
        if not self.open_levels:
            return _BRANCH_AND_BOUND
        first = self.open_levels[0]
        later = "; later levels are not bounded" if first.place > (self.staying or [0])[-1] else ""
        return (
            f"not proved: {self.stop} at level {first.place} of {len(self.users)}, which is "
            f"{first.level:.6g}; beside the lower ones at most {first.bound:.6g} is possible, a gap "
            f"of {first.gap:.2g} (the largest gap of a level is {self.gap:.2g}{later})"
        )
