"""A naive tree of shares, to compare hierarchical DRF with: from the root down to the child of the lowest share.

The share of a queue is the dominant share of all that its users have. That counts what a user has of a resource which
nobody else wants, so that in time, as tasks end and their room is offered again, its siblings are starved (Bhattacharya
et al., SoCC 2013, §3).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...models.instances.instance import Instance
from ...models.trees.exact import decimal, exact_shares
from .on_tree import Room


class NaiveTree:
    """Shares of queues and users as tasks come and go, exactly."""

    def __init__(self, instance: Instance) -> None:
        queues = instance.queues
        self.room, self.limits = Room(instance), np.floor(instance.task_limits).tolist()
        self.shares = exact_shares(instance, decimal)
        self.tasks = [0] * len(self.limits)
        self.weights = [decimal(w) for w in instance.user_weights.tolist()]
        self.of = [0] * len(self.limits) if queues is None else queues.of.tolist()
        self.parents = [0] if queues is None else queues.parents.tolist()
        self.own = [Fraction(1)] if queues is None else [decimal(w) for w in queues.weights.tolist()]
        self.used = [[Fraction(0)] * len(self.shares[0]) for _ in self.own]
        self.inside: list[list[int]] = [[] for _ in self.own]
        self.below: list[list[int]] = [[] for _ in self.own]
        for n, v in enumerate(self.of):
            self.inside[v].append(n)
        for v in range(1, len(self.own)):
            self.below[self.parents[v]].append(v)

    def give(self, n: int, count: int) -> None:
        """Give a user so many tasks, or take them away."""
        self.room.take(n, count)
        self.tasks[n] += count
        v = self.of[n]
        while True:
            for r, share in enumerate(self.shares[n]):
                self.used[v][r] += share * count
            if v == 0:
                return
            v = self.parents[v]

    def fill(self) -> None:
        """Serve users until no task fits."""
        while (n := self._next(0)) is not None:
            self.give(n, 1)

    def turn_over(self) -> bool:
        """End one task of each user in turn and offer its room; return whether anything is other than before."""
        before = list(self.tasks)
        for n in range(len(self.tasks)):
            if self.tasks[n]:
                self.give(n, -1)
                self.fill()
        return self.tasks != before

    def _next(self, v: int) -> int | None:
        """Return whose task is next below a queue: of its lowest child that has a user whose task fits."""
        users = [(self.tasks[n] * max(self.shares[n]) / self.weights[n], 0, n) for n in self.inside[v] if self._can(n)]
        queues = [(max(self.used[u]) / self.own[u], 1, u) for u in self.below[v]]
        for _, is_queue, at in sorted(users + queues):
            found = self._next(at) if is_queue else at
            if found is not None:
                return found
        return None

    def _can(self, n: int) -> bool:
        return self.tasks[n] < self.limits[n] and self.room.fits(n)


def naive(instance: Instance, turnover: int) -> tuple[np.ndarray, bool]:
    """Return whole tasks by user after so many turnovers of everybody's tasks, and whether nothing changes any more."""
    tree = NaiveTree(instance)
    tree.fill()
    changes = True
    for _ in range(turnover):
        changes = tree.turn_over()
        if not changes:
            break
    return np.array(tree.tasks, dtype=float), not changes
