"""The path of leaves along a tree of queues, at the rates of :class:`~.tree.Tree`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..paths.path import Beginning, Number, Path, satisfying_part
from .tree import Pace, Tree, TreePoint

#: (guaranteed tasks, task limits, who can run[, what levels count]) → the path of all users.
FirstPath = Callable[..., Path]


@dataclass(frozen=True)
class PacedPath(Path):
    """Leaves that rise at the pace of a tree.

    Attributes
    ----------
    tree : Tree
    point : TreePoint
        Where the tree stands at t = 0.
    """

    tree: Tree
    point: TreePoint

    @cached_property
    def pace(self) -> Pace:
        """How the tree goes on."""
        return self.tree.pace(self.active, self.point)

    @property
    def rate(self) -> np.ndarray:
        """Tasks of each active leaf per unit of t."""
        return self.pace.rate

    @property
    def next_kink(self) -> Number:
        """The t of the tree's next kink."""
        return self.pace.end

    @cached_property
    def limit_levels(self) -> np.ndarray:
        """The t at which each active leaf has all its tasks, else infinite. Shape (N,)."""
        return super().limit_levels


@dataclass(frozen=True)
class TreePath(PacedPath):
    """Leaves of a tree that ask for what their queues' levels come to.

    Where a leaf stops, the rates of the others are new, and what they ask for begins at 0 again:
    they keep what they have, and wait until they ask for more.

    Attributes
    ----------
    zero : ndarray, shape (N,)
        The tasks that levels count from.
    satisfied : ndarray of bool, shape (N,)
        Who stopped with all its tasks, where that counts.
    """

    zero: np.ndarray
    satisfied: np.ndarray

    @classmethod
    def _first(
        cls,
        tree: Tree,
        guaranteed: np.ndarray,
        limits: np.ndarray,
        can_run: np.ndarray,
        count: str = "total",
        **fields: Any,
    ) -> Self:
        """Return the path on which runnable leaves rise from their ``guaranteed`` tasks."""
        start = Beginning.of(guaranteed, limits, can_run, count, tree.past_tasks)
        first = cls(
            tasks=start.tasks,
            limits=limits,
            active=start.active,
            tree=tree,
            point=tree.origin,
            zero=start.zero,
            satisfied=start.satisfied,
            **fields,
        )
        if not tree.counted:
            return first
        point = tree.begin(first._counted_tasks(start.satisfied))
        return replace(first, point=point)._where_leaves_rise()

    @property
    def jumps(self) -> bool:
        """Whether some queue jumps, so that leaves beside it wait."""
        return self.pace.jumps

    @property
    def level_1(self) -> np.ndarray:
        """Tasks of each leaf per unit of s[root] if no leaf had all its tasks: a scale."""
        return self.tree(self.active | self.satisfied) if self.row_tasks is None else self.row_tasks

    @cached_property
    def base(self) -> np.ndarray:
        """What an active leaf asks for at t = 0, shape (N,)."""
        return np.asarray(self.zero + self.tree.tasks_at(self.point))

    def level(self, t: Number) -> float:
        """Return the root's own level."""
        return float(self.point.level[0] + self.pace.level[0] * t)

    def after(self, t: Number, stops: np.ndarray) -> Self:
        """Return the path that goes on from t, without some leaves.

        At a kink, where no leaf stops, the tree goes on from t. Where satisfied leaves count, so it
        does if every leaf that stops is satisfied and asks for all its tasks: then the use at t is
        what the tree says. Otherwise s begins at 0 again, as leaves that are blocked count for
        nobody; leaves keep their tasks, and wait until they are asked for more. (A leaf that lacks a
        billionth of its tasks is satisfied; no rounding decides between the two.)
        """
        path = replace(
            self, tasks=self.tasks_at(t), active=self.active & ~stops, point=self.tree.origin
        )
        if stops.any() and not self.tree.counted:
            return path
        satisfying_tasks = self.limits * satisfying_part(self.limits)
        satisfied = self.satisfied | (stops & (path.tasks >= satisfying_tasks))
        if (self.asked_at(t) >= satisfying_tasks)[stops].all():
            point = self.pace.after(self.point, t)
        else:
            point = self.tree.begin(path._counted_tasks(satisfied))
        return replace(path, satisfied=satisfied, point=point)._where_leaves_rise()

    def _counted_tasks(self, satisfied: np.ndarray) -> np.ndarray:
        """Return the tasks that count for queues at t = 0.

        Satisfied leaves count with all of theirs, active ones with their past.
        """
        past = np.where(self.active, self.tree.past_tasks, 0)
        return np.where(satisfied, self.tasks - self.zero, past)

    def _where_leaves_rise(self) -> Self:
        """Return this path, or the next one on which a leaf rises."""
        path = self
        while path.next_kink < np.inf and (path.tasks_at(path.next_kink) == path.tasks).all():
            path = replace(path, point=path.pace.after(path.point, path.next_kink))
        return path


#: The path on which runnable leaves rise from their guaranteed tasks.
first_path = TreePath._first
