"""The leximin of whole tasks on servers, level by level, between bounds of linear programs.

A level matters by the fewest whole tasks with which each user reaches it. So a level is
the largest count / (φ[n]Γ[n]) that enough users can reach while the lower levels stay as they are.
Linear programs (tasks divided) say up to which it can be; integer programs look from there down.
A second question settles how few users stay at the level. Which ones, later rounds may choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...formulations.whole_tasks import most_tasks_on, reaching_on_servers
from ...models.instances.arithmetic import whole_table
from ...models.instances.instance import Instance
from ...models.paths.engine import History
from ...models.programs.backends import solve
from ...models.programs.options import Options
from ...models.programs.protocols import Capability
from ...models.programs.solution import Solution
from ...models.programs.status import LIMITS, Termination
from ...tolerances import AGREEMENT

__all__ = ["LevelBounds", "WholeLevels"]

#: A program may take this part of the time that is left, so that later levels have some.
_PART_OF_TIME = 0.25
_BRANCH_AND_BOUND = "integer levels rest on the optima of the solver's branch and bound"


@dataclass
class LevelBounds:
    """What is known of the levels so far, from the lowest.

    Attributes
    ----------
    levels : list of float
    staying : list of int
        How many users are at or below each level.
    unproved : list of (int, float, float)
        Place among all users' levels, level, and its bound, where a limit left these apart.
    """

    levels: list[float] = field(default_factory=list)
    staying: list[int] = field(default_factory=list)
    unproved: list[tuple[int, float, float]] = field(default_factory=list)

    def leave(self, place: int, level: float, bound: float) -> None:
        """Note that a level is between these two."""
        self.unproved.append((place, level, bound))

    @property
    def gap(self) -> float | None:
        """The largest distance of a level to its bound, relative to the level; None where none is."""
        gaps = [
            (bound - level) / level if level else np.inf for _, level, bound in self.unproved
        ]
        return float(max(gaps)) if gaps else None


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
        limits = np.minimum(self.largest_tasks.sum(axis=1), np.floor(instance.task_limits))
        self.limits = limits[self.users]
        self.table, self.capacities = whole_table(instance.demands, instance.capacities)
        self.tasks = np.zeros(instance.shape)
        self.known = LevelBounds()
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
        known = self.known
        fewest = np.array([self.fewest(value) for value in (*known.levels, level)])
        enough = [len(self.users) - staying for staying in known.staying[: len(fewest) - 2]]
        if known.levels:
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
        limits = np.floor(self.instance.task_limits)
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
            if self.is_over() and self.known.levels:
                self.stop = self.stop or f"the {Termination.TIME_LIMIT} was reached"
            level, bound = self.next_level(staying)
            if bound > level * (1 + AGREEMENT):
                self.known.leave(staying + 1, level, bound)
            self.known.levels.append(level)
            staying = self.fewest_staying(level, staying)
            self.known.staying.append(staying)
            if self.is_over() and self.known.unproved:
                break

    def next_level(self, staying: int) -> tuple[float, float]:
        """Return the level of all users but those who stay lower, and a bound on it."""
        count = len(self.users) - staying
        low = float(self.levels()[staying])
        high = float((self.limits / self.rate).max()) * 2
        bound = self.highest(lambda level: not self.is_bounded_below(level, count), low, high)
        bound_of_limits = low
        if bound <= low * (1 + AGREEMENT):
            return low, low

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
                high = float((self.limits / self.rate).max()) * 2
                bound = self.highest(
                    lambda value, count=count: not self.is_bounded_below(value, count), above, high
                )
                self.known.leave(at_or_below, level, bound)
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
    def unproved(self) -> str:
        """What of the levels is not proved."""
        if not self.known.unproved:
            return _BRANCH_AND_BOUND
        place, level, bound = self.known.unproved[0]
        gap = (bound - level) / level if level else np.inf
        return (
            f"not proved: {self.stop} at the {place}. lowest level of {len(self.users)}, where "
            f"{level:.6g} is reached and, beside the lower ones, at most {bound:.6g} is possible, a "
            f"gap of {gap:.2g}; the largest gap of a level is {self.known.gap:.2g}"
        )
