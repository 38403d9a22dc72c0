"""A tree of queues whose leaves rise together: sums go up the tree, speeds come down.

What leaves take is their *use*, a row of amounts, and a queue's use is the sum of what its children
give it. The *level* of a node is the largest of what its use is measured by. Inside a queue v there
is a water line, s[v]. It rises, and with it those of v's children whose level, over their weight,
is s[v]; a child that is further waits until s[v] is there. What a use is measured by, and what a
queue gives its parent, is the *rule* of the tree (:mod:`.rules`, :mod:`.quotas`). An active leaf
rises by its weight per unit of the s of its queue.

So what leaves ask for is a monotone, piecewise linear function of a parameter t; while nothing jumps
at the root, t grows as s[root] does. From a point of the tree on (:class:`TreePoint`)
:meth:`Tree.pace` finds out how it goes on:

1. From the leaves up: the growth of a queue's use per unit of its s is the sum of what its children
   add while they rise, each at the pace at which its level keeps up with s[v].
2. From the root down: a node's speed is the product of the paces on its way up.
3. A kink ends the pace: a child that waited is reached, another amount becomes the one that a
   node's level counts, or the rule has a bound of its own.

If a child's level does not grow although leaves below it rise (none of them needs what its level
counts), it *jumps*: until its level grows again, the s of its parent stops, and with it the siblings
that do not jump and the leaves in that parent. So a jump deep in a branch stops what is beside it,
not what is above it. Siblings that jump together are compared by the rule's next measure, and rise
by their weights in the end.

The same code holds floats and, in arrays of objects, rationals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import InstanceError
from ...tolerances import AGREEMENT
from ..instances.branches import Branches
from ..instances.instance import Instance
from ..instances.rationals import Conversion, exact_shares, rational
from ..paths.pool import FAR_APART
from .rules import DOMINANT_SHARE, NodeRule, Nodes


@dataclass(frozen=True)
class TreePoint:
    """Where a tree stands.

    Attributes
    ----------
    level : ndarray, shape (V,)
        s[v]: an active leaf of v asks for its weight times this.
    usage : ndarray, shape (V, C)
        What leaves below v take together, as v counts it: satisfied ones, and active ones as they
        ask.
    """

    level: np.ndarray
    usage: np.ndarray


@dataclass(frozen=True)
class Pace:
    """How a tree goes on from a point.

    Attributes
    ----------
    rate : ndarray, shape (N,)
        Tasks of each active leaf per unit of t; 0 of others.
    level, usage : ndarray, shapes (V,) and (V, C)
        Growth of the point's arrays per unit of t.
    end : float
        The t of the next kink; infinite if there is none.
    jumps : bool
        Whether some child jumps, so that others wait.
    """

    rate: np.ndarray
    level: np.ndarray
    usage: np.ndarray
    end: Any
    jumps: bool

    def leads_on(self, point: TreePoint) -> bool:
        """Whether floats can hold the pace, and tell its next kink from a point."""
        for growth in (self.rate, self.level, self.usage):
            if not np.isfinite(growth).all():
                return False
        if self.end == np.inf:
            return True
        kink = self.after(point, self.end)
        return bool((kink.level != point.level).any() or (kink.usage != point.usage).any())

    def after(self, point: TreePoint, t: Any) -> TreePoint:
        """Return where the tree stands after so much of t."""
        return TreePoint(point.level + self.level * t, point.usage + self.usage * t)


class Tree:
    """What active leaves ask for along a tree.

    H-DRF counts the active leaves alone: a queue's use is then a multiple of one row, and a leaf's
    rate the product of weights and divisors on its way up. With satisfied leaves counted (those
    that have all their tasks), a queue waits until its level is what they take already.

    Parameters
    ----------
    branches : Branches
    use_per_level : ndarray, shape (N, C)
        What a leaf takes of each amount for each unit of the s of its queue. Of dominant shares the
        largest entry is the weight of the leaf, beside the nodes that stand in the same queue.
    tasks_per_level : ndarray, shape (N,)
        Tasks of a leaf for that.
    counted : bool
        Whether satisfied leaves count for their queues.
    past : ndarray, shape (N,), optional
        b[n]: the level over the weight from which each leaf rises; 0 by default. Where satisfied
        leaves count, such a leaf counts for its queues as if it had taken b, and waits until s[v]
        asks for more.
    rule : NodeRule
    """

    def __init__(
        self,
        branches: Branches,
        use_per_level: np.ndarray,
        tasks_per_level: np.ndarray,
        *,
        counted: bool = False,
        past: np.ndarray | None = None,
        rule: NodeRule = DOMINANT_SHARE,
    ) -> None:
        self.counted = counted
        self.past = past
        self.rule = rule
        self.exact = use_per_level.dtype == object
        if self.exact and branches.weights.dtype != object:
            branches = replace(branches, weights=rational(branches.weights))
        self.branches = branches
        self.slack = 0 if self.exact else AGREEMENT
        self.use_per_level = use_per_level
        self.tasks_per_level = tasks_per_level
        self.origin = TreePoint(
            self.zeros(len(branches.weights)),
            self.zeros((len(branches.weights), use_per_level.shape[1])),
        )

    def __call__(self, active: np.ndarray) -> np.ndarray:
        """Return the rates of active leaves where no leaf is satisfied; O(NC + VC)."""
        return self.pace(active, self.origin).rate

    @cached_property
    def use_per_task(self) -> np.ndarray:
        """What one task of each leaf takes, shape (N, C)."""
        tasks = self.tasks_per_level[:, None]
        use = self.use_per_level
        return np.asarray(np.divide(use, tasks, out=use * 0, where=tasks > 0))

    @property
    def past_tasks(self) -> np.ndarray:
        """The past of each leaf in tasks, b[n]·φ[n]Γ[n], shape (N,)."""
        if self.past is None:
            return np.zeros_like(self.tasks_per_level)
        return np.asarray(self.tasks_per_level * self.past)

    def begin(self, tasks: np.ndarray) -> TreePoint:
        """Return the point with s = 0 and the use of so many tasks of each leaf.

        Along a :class:`~.tree_path.TreePath` these are the tasks of satisfied leaves, and the past
        of active ones; along a :class:`~.quotas.QuotaPath` all that leaves have.
        """
        if not tasks.any():
            return self.origin
        usage = self.branches.sums_of_leaves(self.use_per_task * tasks[:, None])
        self.branches.carry_up(usage, lambda nodes, usage: self.rule.lift(nodes, usage))
        return TreePoint(self.origin.level, usage)

    def tasks_at(self, point: TreePoint) -> np.ndarray:
        """Return the tasks that each leaf asks for if it is active."""
        return np.asarray(point.level[self.branches.of] * self.tasks_per_level)

    def pace(self, active: np.ndarray, point: TreePoint) -> Pace:
        """Return how the tree goes on from a point; O(NC + VC).

        Raises
        ------
        InstanceError
            Where floats cannot hold it: else rounds would never end.
        """
        if self.exact:
            return _Rise(self, active, point).pace()
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            pace = _Rise(self, active, point).pace()
            if pace.leads_on(point):
                return pace
        v = int(self.branches.of[np.argmin(np.isfinite(pace.rate))])
        raise InstanceError(
            "what users ask for along the tree of queues is beyond floats, first in queue "
            f"{self.branches.names[v]!r}: {FAR_APART}"
        )

    def resting(self, active: np.ndarray, point: TreePoint) -> np.ndarray:
        """Return which active leaves wait because of their past. Bool, shape (N,).

        At the origin nothing counts, neither what satisfied leaves take nor what was.
        """
        if self.past is None or point is self.origin:
            return np.zeros_like(active)
        level = point.level[self.branches.of]
        return np.asarray(active & (level < self.past * (1 - self.slack)))

    def growth_of_leaves(self, rising: np.ndarray) -> np.ndarray:
        """Return the growth of each node's use by its own leaves, per unit of its s."""
        if self.exact:
            leaves = np.flatnonzero(rising)
            growth = self.zeros(self.origin.usage.shape)
            np.add.at(growth, self.branches.of[leaves], self.use_per_level[leaves])
            return growth
        columns = self.use_per_level.shape[1]
        growth = (self._leaf_matrix @ rising.astype(float)).reshape(columns, -1)
        return np.ascontiguousarray(growth.T)

    @cached_property
    def _leaf_matrix(self) -> sparse.csr_array:
        return self.branches.matrix_of_leaves(self.use_per_level)

    def zeros(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Return zeros of the tree's numbers."""
        return np.zeros(shape, dtype=self.branches.weights.dtype)


class _Comparison:
    """The children of each queue, compared by the largest of their measures over their weight.

    Those up to the level of their queue take their turn. Where one of them stands still (its
    measures do not grow), the level of the queue stands, and the others wait.

    Attributes
    ----------
    level : ndarray, shape (V,)
        s[v]: that of the point; or, where the rule follows use, the least level over the weight of
        the children compared so far, infinite before the first.
    compared, is_waiting, stands : ndarray of bool, shape (V,)
        The nodes that were compared, those that wait, and the queues whose level stands.
    """

    def __init__(self, tree: Tree, measures: np.ndarray, level: np.ndarray | None) -> None:
        self.branches = tree.branches
        self.slack = tree.slack
        self.rounding = tree.rule.rounding
        self.measures = measures
        self.largest = largest_of_rows(measures)
        self.leads = measures >= (self.largest * (1 - self.slack) - self.rounding)[:, None]
        self.all_lead = bool(self.leads.all())
        self.follows = level is None
        if level is None:
            level = np.full(len(measures), np.inf, dtype=np.result_type(measures, float))
        self.level = level
        self.compared = np.zeros(len(measures), dtype=bool)
        self.is_waiting = np.zeros(len(measures), dtype=bool)
        self.stands = np.zeros(len(measures), dtype=bool)

    def choose(
        self, nodes: np.ndarray, growth: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the nodes that rise, how fast their largest measure grows, and those that stand.

        ``growth`` is that of the nodes' measures.
        """
        self.compared[nodes] = True
        if self.follows:
            least = self.largest[nodes] / self.branches.weights[nodes]
            np.minimum.at(self.level, self.branches.parents[nodes], least)
        waits = self.waits(nodes)
        slope = self._largest_growth(nodes, growth)
        rises = ~waits & (slope > 0)
        still = nodes[~(waits | rises)]
        if still.size:
            self.stands[self.branches.parents[still]] = True
            rises &= ~self.stands[self.branches.parents[nodes]]
        self.is_waiting[nodes] = waits
        return nodes[rises], slope[rises], still

    def waits(self, nodes: np.ndarray) -> np.ndarray:
        """Return which nodes are further than the level of their queue."""
        weights = self.branches.weights[nodes]
        reached = weights * self.level[self.branches.parents[nodes]]
        reach = self.largest[nodes] * (1 - self.slack) - self.rounding * weights
        return np.asarray(reached < reach)

    def end(self, speed: np.ndarray, growth: np.ndarray) -> Any:
        """Return when a node that waits is reached, or another measure of a node is the largest.

        ``growth`` is that of all nodes' measures, per unit of each node's own s.
        """
        parents = self.branches.parents
        weights = self.branches.weights
        climb = weights * np.where(self.stands, 0, speed)[parents]
        waits = self.is_waiting & (climb > 0)
        wake = first_time(self.largest - weights * self.level[parents], climb, waits)
        if self.all_lead:
            return wake
        growth = growth * speed[:, None]
        faster = growth - self._largest_growth(slice(None), growth)[:, None]
        overtakes = self.compared[:, None] & ~self.leads & (faster > 0)
        return min(wake, first_time(self.largest[:, None] - self.measures, faster, overtakes))

    def _largest_growth(self, nodes: Nodes, growth: np.ndarray) -> np.ndarray:
        """Return how fast the largest measure of nodes grows."""
        if not self.all_lead:
            growth = np.where(self.leads[nodes], growth, 0)
        return largest_of_rows(growth)


class _Rise:
    """How nodes and leaves rise from a point.

    Attributes
    ----------
    speed : ndarray, shape (V,)
        Factor from the parent's pace to the node's; in the end, of its own s per unit of t. Of a
        queue with a child that jumps, whose s stands, it is that of the jump.
    growth : ndarray, shape (V, C)
        Growth of a node's use per unit of its own s.
    """

    def __init__(self, tree: Tree, active: np.ndarray, point: TreePoint) -> None:
        branches = tree.branches
        self.tree = tree
        self.point = point
        level = None if tree.rule.follows_use else point.level
        measures = tree.rule.measures(point.usage)
        self.comparisons = [_Comparison(tree, measure, level) for measure in measures]
        self.is_alive = branches.hold(active)
        self.speed = tree.zeros(len(point.level))
        self.speed[0] = 1
        self.resting = tree.resting(active, point)
        self.rising = active & ~self.resting
        self.growth = branches.carry_up(tree.growth_of_leaves(self.rising), self._lift)
        branches.pass_down(self.speed)

    def _lift(self, nodes: np.ndarray, growth: np.ndarray) -> np.ndarray:
        """Choose which of these nodes rise, and how fast; return what they add to their parents."""
        alive = nodes[self.is_alive[nodes]]
        self.is_alive[self.tree.branches.parents[alive]] = True
        self._choose(self._first(alive, growth), growth)
        lifted = self.tree.rule.lift_growth(nodes, self.point.usage, growth)
        return np.asarray(lifted * self.speed[nodes, None])

    def _first(self, nodes: np.ndarray, growth: np.ndarray) -> np.ndarray:
        """Return the nodes that have the first rank among their siblings."""
        rank = self.tree.rule.rank(nodes, self.point.usage, growth)
        if rank is None:
            return nodes
        parents = self.tree.branches.parents[nodes]
        first_ranks = np.full(len(self.speed), np.inf, dtype=np.result_type(rank, float))
        np.minimum.at(first_ranks, parents, rank)
        return np.asarray(nodes[rank == first_ranks[parents]])

    def _choose(self, nodes: np.ndarray, growth: np.ndarray) -> None:
        """Set the speeds of nodes, compared with their siblings until none stands still."""
        tree = self.tree
        weights = tree.branches.weights
        for k, comparison in enumerate(self.comparisons):
            measured = tree.rule.growth(nodes, self.point.usage, growth)[k]
            rising, slope, nodes = comparison.choose(nodes, measured)
            self.speed[rising] = weights[rising] / slope
            if not nodes.size:
                return
            # Leaves beside children that jump wait; what children add comes after this.
            growth[tree.branches.parents[nodes]] = 0
        self.speed[nodes] = weights[nodes] / tree.rule.last_slope(nodes, growth)

    def pace(self) -> Pace:
        """Return the pace."""
        tree = self.tree
        of = tree.branches.of
        stands = self.comparisons[0].stands
        level = np.where(stands, 0, self.speed)
        rate = np.where(self.rising, level[of] * tree.tasks_per_level, 0)
        usage = self.growth * self.speed[:, None]
        growths = tree.rule.growth(slice(None), self.point.usage, self.growth)
        ends = [
            comparison.end(self.speed, growth)
            for comparison, growth in zip(self.comparisons, growths, strict=True)
        ]
        gaps_of_use = tree.rule.gaps(self.point.usage)
        ends += [first_time(gaps, usage, (gaps > 0) & (usage > 0)) for gaps in gaps_of_use]
        if tree.past is not None:
            gaps = tree.past - self.point.level[of]
            ends.append(first_time(gaps, level[of], self.resting & (level[of] > 0)))
        return Pace(rate, level, usage, min(ends), bool(stands.any()))


def first_time(gaps: np.ndarray, speeds: np.ndarray, where: np.ndarray) -> Any:
    """Return the least time in which a gap is closed; infinite if none is."""
    return (gaps[where] / speeds[where]).min(initial=np.inf)


def largest_of_rows(rows: np.ndarray) -> np.ndarray:
    """Return the largest entry of each row: the quicker way where rows are short and many."""
    return np.asarray(np.asfortranarray(rows).max(axis=1))


def tree_of_shares(
    branches: Branches,
    weights: np.ndarray,
    share: np.ndarray,
    gamma: np.ndarray,
    counted: bool = False,
    past: np.ndarray | None = None,
) -> Tree:
    """Return the tree of leaves with weights φ[n] that take d̂[n,r], in Γ[n] tasks, at level 1."""
    with np.errstate(over="ignore"):
        tasks_per_level = weights * gamma
    return Tree(branches, share * weights[:, None], tasks_per_level, counted=counted, past=past)


def rational_tree(
    instance: Instance,
    counted: bool = False,
    number: Conversion = Fraction,
    past: np.ndarray | None = None,
) -> Tree:
    """Return the tree of the instance's users in rationals; ``number`` converts a float."""
    shares = np.array(exact_shares(instance, number), dtype=object)
    level_of_task = shares.max(axis=1) / rational(instance.user_weights, number)
    branches = instance.tree.branches
    return Tree(
        replace(branches, weights=rational(branches.weights, number)),
        shares / level_of_task[:, None],
        1 / level_of_task,
        counted=counted,
        past=None if past is None else rational(past),
    )


def tree_by_rule(
    instance: Instance, rule: NodeRule, counted: bool = False, exact: bool = False
) -> Tree:
    """Return the tree by a rule: users are nodes of their own, which it compares as it does queues.

    Use is counted in parts of what all servers have, in floats or in rationals (``exact``).
    """
    shares = instance.demands / instance.pool
    if exact:
        shares = np.array(exact_shares(instance), dtype=object)
    branches = instance.tree.branches_with_users(instance.user_weights)
    one_task = np.ones(len(shares), dtype=shares.dtype)
    return Tree(branches, shares, one_task, counted=counted, rule=rule)
