"""Leximins of whole tasks, proved by enumeration from their definition, in exact arithmetic.

Numbers are those that are written (0.1 is a tenth), as fractions, so that no rounding decides. What
is enumerated is bounded; beyond that the verdict is "not proved", and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ...models.instances.instance import Instance
from ...models.instances.rationals import decimal, rational
from ...models.programs.proof import Proof

__all__ = ["exactly", "prove_by_enumeration"]

#: So many branches are looked at: some five seconds.
MOST_BRANCHES = 300_000


def exactly(values: np.ndarray) -> Any:
    """Return numbers as the fractions that they are written as; (nested) lists of them."""
    return rational(values, decimal).tolist()


@dataclass
class Enumeration:
    """A search for whole tasks that reach levels, with a bound on what it looks at.

    Attributes
    ----------
    needs : list of lists of Fraction
        Of one task of each user.
    servers : list of lists of Fraction
        What each single server has.
    may_run : ndarray of bool, (users, single servers)
    """

    needs: list[list[Fraction]]
    servers: list[list[Fraction]]
    may_run: np.ndarray
    branches: int = field(default=0, init=False)

    def step(self) -> None:
        """Count a branch; raise TooManyBranches at the end of patience."""
        self.branches += 1
        if self.branches > MOST_BRANCHES:
            raise TooManyBranchesError

    def reaches(self, tasks: list[list[int]], at_most: list[int]) -> bool:
        """Return whether users can reach levels, so that few enough stay at each or below.

        Parameters
        ----------
        tasks : list of lists of int
            Of each user: the tasks that it needs for class 0, 1, …: for the lowest level, the next
            one, …, and at last for being above the last one.
        at_most : list of int
            How many users may be in a class up to each one but the last.
        """
        pool = [sum(amounts, Fraction(0)) for amounts in zip(*self.servers, strict=True)]
        order = sorted(range(len(tasks)), key=lambda n: -tasks[n][-1])
        remaining = [[Fraction(0)] * len(pool)]
        for n in reversed(order):
            least = [
                need * tasks[n][0] + sum_
                for need, sum_ in zip(self.needs[n], remaining[-1], strict=True)
            ]
            remaining.append(least)
        remaining.reverse()
        counts = [0] * len(tasks)

        def assigned(position: int, used: list[Fraction], below: list[int]) -> bool:
            self.step()
            if position == len(order):
                return self.fits(counts)
            n = order[position]
            for k, count in enumerate(tasks[n]):
                inside = [b + (k <= i) for i, b in enumerate(below)]
                if any(b > most for b, most in zip(inside, at_most, strict=True)):
                    continue
                total = [u + need * count for u, need in zip(used, self.needs[n], strict=True)]
                rest = remaining[position + 1]
                if any(t + r > p for t, r, p in zip(total, rest, pool, strict=True)):
                    break  # a higher class needs no less
                counts[n] = count
                if assigned(position + 1, total, inside):
                    return True
            return False

        return assigned(0, [Fraction(0)] * len(pool), [0] * len(at_most))

    def fits(self, counts: list[int]) -> bool:
        """Return whether so many tasks of each user fit the single servers, one by one."""
        if len(self.servers) == 1:
            return True  # the sums of all servers were compared
        free = [list(server) for server in self.servers]

        def packed(n: int, s: int, count: int) -> bool:
            """Place user n's other tasks on servers from s on, then those of the next users."""
            self.step()
            if count == 0:
                return n + 1 == len(counts) or packed(n + 1, 0, counts[n + 1])
            if s == len(free):
                return False
            most = count if self.may_run[n, s] else 0
            for need, amount in zip(self.needs[n], free[s], strict=True):
                if need:
                    most = min(most, int(amount // need))
            for k in range(most, -1, -1):
                before = free[s]
                free[s] = [a - need * k for need, a in zip(self.needs[n], before, strict=True)]
                if packed(n, s + 1, count - k):
                    return True
                free[s] = before
            return False

        return packed(0, 0, counts[0])


class TooManyBranchesError(Exception):
    """An enumeration that is longer than it may be."""


#: Level → the least tasks of each user at it or above, and strictly above it.
TasksAt = Callable[[Any], tuple[Any, Any]]


def prove_by_enumeration(
    instance: Instance,
    totals: np.ndarray,
    users: list[int],
    levels: Sequence[Any],
    tasks_at: TasksAt,
) -> Proof:
    """Return whether whole tasks are the leximin, by enumeration.

    They are unless, for a level v[j], some feasible whole tasks have no user below v[0], as few
    users as these at each v[i] before v[j] and all others at v[i + 1] or above, and fewer at v[j].
    The least tasks for a level are all that a user needs, so that only these are looked at.

    Parameters
    ----------
    instance : Instance
        Of single servers.
    totals : ndarray, shape (N,)
    users : list of int
        Who can run a whole task.
    levels : sequence
        Of these users, from the lowest, each once.
    tasks_at : callable
    """
    search = Enumeration(
        [exactly(instance.demands[n]) for n in users],
        exactly(instance.capacities),
        instance.eligible[users],
    )
    limits = instance.task_limits
    needs: list[Any] = []
    at_most: list[int] = []
    try:
        for level in levels:
            least, above = tasks_at(level)
            needs.append(least)
            staying = sum(bool(totals[n] < above[n]) for n in users)
            options = [
                [int(need[n]) for need in (*needs, above) if need[n] <= limits[n]] for n in users
            ]
            if search.reaches(options, [*at_most, staying - 1]):
                return Proof(
                    False,
                    f"not the leximin: fewer than {staying} users can be at or below the level "
                    f"{float(level):.6g}, while as few as here are below it",
                )
            at_most.append(staying)
    except TooManyBranchesError:
        return Proof(
            False,
            "not proved: its enumeration has more branches than are looked at; expected at most "
            f"{MOST_BRANCHES:,} (fewer users, servers or tasks)",
        )
    return Proof(
        True,
        "the leximin of whole tasks, proved by enumeration in exact arithmetic "
        f"({search.branches} branches)",
        0.0,
    )
