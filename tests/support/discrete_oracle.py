"""Whole tasks the slow and obvious way, in rationals, sharing no code with fairlp."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product


def exactly(value):
    """A float as the decimal that it prints as."""
    return Fraction(Decimal(repr(float(value))))


class Plain:
    """One server's data as rationals."""

    def __init__(self, demands, capacity, weights=None, limits=None):
        self.d = [[exactly(v) for v in row] for row in demands]
        self.c = [exactly(v) for v in capacity]
        n, m = len(self.d), len(self.c)
        w = [[1] * m for _ in range(n)]
        if weights is not None:
            w = [
                [exactly(v) for v in row] if hasattr(row, "__len__") else [exactly(row)] * m
                for row in weights
            ]
        self.limit = [
            None if limits is None or limits[i] == float("inf") else int(limits[i] // 1)
            for i in range(n)
        ]
        self.can_run = [
            all(self.d[i][r] <= self.c[r] for r in range(m)) and self.limit[i] != 0
            for i in range(n)
        ]
        self.ds = [
            max((self.d[i][r] / (self.c[r] * w[i][r]) for r in range(m) if self.d[i][r]), default=0)
            if self.can_run[i]
            else Fraction(0)
            for i in range(n)
        ]

    def fits(self, free, i):
        return all(need <= room for need, room in zip(self.d[i], free, strict=True))

    def serve(self, rule="exclude", ties="larger", after=0):
        """One task at a time to the smallest share (before the task, or after it); return tasks by user."""
        tasks, free = [0] * len(self.d), list(self.c)
        users = {i for i, is_able in enumerate(self.can_run) if is_able}
        sign = {"larger": -1, "smaller": 1, "index": 0}[ties]
        while users:
            i = min(users, key=lambda k: ((tasks[k] + after) * self.ds[k], sign * self.ds[k], k))
            if not self.fits(free, i):
                if rule == "stop":
                    break
                users.discard(i)
                continue
            tasks[i] += 1
            free = [room - need for need, room in zip(self.d[i], free, strict=True)]
            if tasks[i] == self.limit[i]:
                users.discard(i)
        return tasks

    def all_orders(self, rule="exclude", after=0):
        """Every result that some way to break ties gives."""
        results, states = set(), set()

        def go(tasks, users):
            if (tasks, users) in states:
                return
            states.add((tasks, users))
            if not users:
                results.add(tasks)
                return
            lowest = min((tasks[k] + after) * self.ds[k] for k in users)
            free = self.free_capacity(tasks)
            for i in users:
                if (tasks[i] + after) * self.ds[i] > lowest:
                    continue
                if not self.fits(free, i):
                    if rule == "stop":
                        results.add(tasks)
                    else:
                        go(tasks, users - {i})
                    continue
                next_tasks = tuple(t + (k == i) for k, t in enumerate(tasks))
                go(next_tasks, users - {i} if next_tasks[i] == self.limit[i] else users)

        go((0,) * len(self.d), frozenset(i for i, is_able in enumerate(self.can_run) if is_able))
        return results

    def free_capacity(self, tasks):
        return [
            room - sum(t * self.d[i][r] for i, t in enumerate(tasks))
            for r, room in enumerate(self.c)
        ]

    def levels(self, tasks):
        """Sorted weighted shares of those who can run anything."""
        return sorted(
            t * ds for t, ds, is_able in zip(tasks, self.ds, self.can_run, strict=True) if is_able
        )

    def leximin(self):
        """The largest sorted levels of all whole allocations."""
        largest = []
        for i, is_able in enumerate(self.can_run):
            alone = min(
                (self.c[r] // self.d[i][r] for r in range(len(self.c)) if self.d[i][r]), default=0
            )
            limit = self.limit[i]
            largest.append(0 if not is_able else alone if limit is None else min(alone, limit))
        feasible = (
            t for t in product(*(range(m + 1) for m in largest)) if min(self.free_capacity(t)) >= 0
        )
        return max(self.levels(t) for t in feasible)

    def precomputed(self):
        """Algorithm 1 of Metin in rationals; users who cannot run a task are left out."""
        users = [i for i, is_able in enumerate(self.can_run) if is_able]
        if not users:
            return [0] * len(self.d)
        largest = max(self.ds[i] for i in users)
        cycle = [
            sum(largest / self.ds[i] * self.d[i][r] for i in users) for r in range(len(self.c))
        ]
        k = min(self.c[r] / cycle[r] for r in range(len(self.c)) if cycle[r])
        tasks = [0] * len(self.d)
        for i in users:
            tasks[i] = k * largest // self.ds[i]
            if self.limit[i] is not None:
                tasks[i] = min(tasks[i], self.limit[i])
        return [int(t) for t in tasks]
