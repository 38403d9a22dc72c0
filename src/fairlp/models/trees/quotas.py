"""Dominant resource shares along a tree with quotas (Kueue), and how they rise together.

Of queue v and column m (a resource, of a flavor), from the leaves up:

* S[v] = N[v] + Σ over children c of (S[c] − K[c]): the quota of v and of the nodes below it, which
  they may lend; K[v] = max(0, S[v] − lending limit): the quota that v keeps for itself.
* U[v] = what stands in v itself + Σ max(0, U[c] − K[c]): what is in use. U[v] ≤ S[v] + borrowing
  limit; U[root] ≤ S[root].
* A[root] = S[root], A[v] = min(S[v] + borrowing limit, K[v] + A[parent]): what v could have.
* share(v) = max over resources of (Σ over flavors of max(0, U[v] − S[v])) / (Σ over flavors of
  A[parent]), over the weight. A resource of which the parent has nothing to lend is left out. A
  user is a child with S = 0.

Users outside the quotas (no queue on their way up lists any) are held by no row of them. Their
tasks count in U where shares are compared, beyond S = K of such a user: its part of what the
servers have and no quota covers.

Shares rise from the root down: in each queue the children with the least share go first, all at one
pace. A child whose share stands still while it rises (it is within what is its own) goes before the
others; several such are compared by their largest parts of the pool, over their weights. Children
of the least weight borrow when no other child rises, and rise like others within what is their
own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...tolerances import ACCEPTED, AGREEMENT
from ..instances.instance import Instance
from ..instances.queues import LEAST_WEIGHT
from ..instances.quotas import Lanes, nearest_listing, outside, uncovered
from .filling import RateSegment
from .rates import Pace, constant

__all__ = ["QuotaTree", "usage_of"]


class QuotaTree:
    """The effects of quotas on a tree of queues, then users (with S = 0); arrays are (nodes, M).

    Attributes
    ----------
    owned, reserved, limits : ndarray
        S, K, and the most that U may be (infinite for no limit).
    lent : ndarray, shape (nodes, R)
        What a node's parent could lend of each resource: A, summed over flavors.
    """

    def __init__(self, instance: Instance, lanes: Lanes) -> None:
        queues = instance.tree
        quotas = instance.quotas
        self.instance = instance
        self.lanes = lanes
        self.count = len(queues)
        self.parents = np.concatenate([queues.parents, queues.of])
        owner = nearest_listing(queues)[queues.of]
        itself = self.count + np.arange(len(owner))
        # whose quota is that of a lane: of a user outside the quotas, what it has itself
        self.owner = np.where(outside(queues), itself, owner)[lanes.user]
        self.counted = lanes.use + lanes.use_outside
        self.weights = np.concatenate([queues.weights, instance.user_weights])
        self.is_late = self.weights <= np.where(
            np.arange(len(self.weights)) < self.count, LEAST_WEIGHT, 0.0
        )
        depths = np.concatenate([queues.depths, queues.depths[queues.of] + 1])
        depths_of_levels = range(1, int(depths.max()) + 1)
        self.levels = [np.flatnonzero(depths == depth) for depth in depths_of_levels]
        resources = np.arange(len(instance.resources))
        self.sums = (quotas.resource[:, None] == resources).astype(float)

        # S and K from the leaves up
        users = np.zeros((len(queues.of), len(self.sums)))
        nominal, borrowing, lending = quotas.amounts
        self.owned = np.vstack([np.nan_to_num(nominal), users])
        borrowing = np.vstack([borrowing, users + np.inf])
        lending = np.vstack([lending, users + np.inf])
        self.reserved = np.zeros(self.owned.shape)
        for nodes in reversed(self.levels):
            self.reserved[nodes] = np.maximum(self.owned[nodes] - lending[nodes], 0.0)
            lendable = self.owned[nodes] - self.reserved[nodes]
            np.add.at(self.owned, self.parents[nodes], lendable)

        # What no quota covers, users outside the quotas have first, and lend nothing of it.
        self.owned[self.count :] = uncovered(lanes, instance, self.owned[0])
        self.reserved[self.count :] = self.owned[self.count :]

        # A from the root down
        self.limits = self.owned + borrowing
        self.limits[0] = self.owned[0]
        could = self.owned.copy()
        for nodes in self.levels:
            lent_to = could[self.parents[nodes]]
            could[nodes] = np.minimum(self.limits[nodes], self.reserved[nodes] + lent_to)
        self.lent = (could @ self.sums)[self.parents]

    def usage(self, tasks: np.ndarray) -> np.ndarray:
        """Return U of each node, given the tasks of each lane."""
        return self.upward(self.by_user(self.lanes.use * tasks[:, None]), self.reserved)

    def usage_with_outside(self, tasks: np.ndarray) -> np.ndarray:
        """Return U of each node as shares count it: tasks outside the quotas count, too."""
        return self.upward(self.by_user(self.counted * tasks[:, None]), self.reserved)

    def by_user(self, amounts: np.ndarray) -> np.ndarray:
        """Return sums over the lanes of each user, where nodes that are queues have 0."""
        sums = np.zeros((len(self.parents), amounts.shape[1]))
        np.add.at(sums, self.count + self.lanes.user, amounts)
        return sums

    def upward(self, amounts: np.ndarray, reserved: np.ndarray) -> np.ndarray:
        """Return amounts with those of all nodes below, each less what is kept there."""
        for nodes in reversed(self.levels):
            np.add.at(amounts, self.parents[nodes], np.maximum(amounts - reserved, 0.0)[nodes])
        return amounts

    def parts(self, amounts: np.ndarray) -> np.ndarray:
        """Return amounts by column as parts of the parent's lendable total, by resource.

        A part of nothing is 0.
        """
        whole = self.lent
        totals = amounts @ self.sums
        return np.asarray(np.divide(totals, whole, out=np.zeros(whole.shape), where=whole > 0))

    def shares(self, used: np.ndarray) -> np.ndarray:
        """Return the dominant resource share of each node, over its weight; the root has none."""
        borrowed = self.parts(np.maximum(used - self.owned, 0.0))
        shares = np.asarray(borrowed.max(axis=1) / self.weights)
        shares[0] = 0.0
        return shares

    def pace(self, tasks: np.ndarray, active: np.ndarray) -> Pace:
        """Return how active lanes, at most one of each user, rise from all lanes' tasks.

        It takes O((N + Q)(M + R)).
        """
        demands = self.lanes.instance.demands / self.instance.pool
        usage = self.usage_with_outside(tasks)
        totals = self.upward(self.by_user(demands * tasks[:, None]), np.zeros(1))
        borrowed = self.parts(np.maximum(usage - self.owned, 0.0))
        stages = (_Stage(self, borrowed), _Stage(self, totals))

        moves = _Moves(self, usage, stages)
        use_of_active = self.by_user(self.counted * active[:, None])
        demands_of_active = self.by_user(demands * active[:, None])
        moves.climb(use_of_active, demands_of_active)

        rate = np.where(active, moves.speed[self.count + self.lanes.user], 0.0)
        return Pace(rate, stages[0].smallest_key, stages[0].lifts.astype(float), moves.end(), False)


def usage_of(instance: Instance, tasks: np.ndarray) -> tuple[QuotaTree, np.ndarray]:
    """Return the quota tree, and each node's use of quota columns by tasks of user and server.

    Tasks that may count in several flavors of the same servers are divided by nominal quotas.
    """
    lanes = Lanes.of(instance)
    tree = QuotaTree(instance, lanes)
    tasks_of_lanes = np.where(lanes.instance.eligible, tasks[lanes.user], 0.0).sum(axis=1)
    if lanes.places[-1] + 1 < len(lanes.user):
        nominal = np.zeros(tree.owned.shape)
        nominal[: tree.count] = np.nan_to_num(instance.quotas.amounts[0])
        nominal = nominal[tree.owner]
        size = np.where(lanes.use > 0, nominal, 0.0).sum(axis=1)
        total = np.bincount(lanes.places, weights=size)[lanes.places]
        count = np.bincount(lanes.places)[lanes.places]
        part_by_size = size / np.where(total > 0, total, 1.0)
        tasks_of_lanes *= np.where(total > 0, part_by_size, 1.0 / count)
    return tree, tree.usage(tasks_of_lanes)


class _Stage:
    """A comparison of children by the largest of their ``parts``, divided by the weight.

    ``parts`` are by node and resource.

    ``growth`` is that of the parts per unit of a node's own time, and ``turns`` marks the nodes that
    are compared. Of each queue, ``smallest_key`` is the least key of its children, and ``lifts``
    marks the queues that rise (none of those children stands still).
    """

    def __init__(self, tree: QuotaTree, parts: np.ndarray) -> None:
        self.parts = parts
        self.largest_part = parts.max(axis=1)
        self.up = tree.parents
        self.weights = tree.weights
        self.key = self.largest_part / self.weights
        # parts are of all that may be lent: what is far below 1 may be rounding of what is borrowed
        self.top = parts >= (self.largest_part * (1 - AGREEMENT) - AGREEMENT)[:, None]
        self.growth = np.zeros(parts.shape)
        self.smallest_key = np.full(len(parts), np.inf)
        self.turns = np.zeros(len(parts), dtype=bool)
        self.lifts = np.ones(len(parts), dtype=bool)

    def slope(self, nodes: np.ndarray) -> np.ndarray:
        """Return how fast the keys of nodes grow."""
        growth = np.where(self.top, self.growth, 0.0)[nodes].max(axis=1)
        return np.asarray(growth / self.weights[nodes])

    def behind(self, nodes: np.ndarray) -> np.ndarray:
        """Return which nodes are among the least of their queue. Bool."""
        smallest_key = self.smallest_key[self.up[nodes]]
        return np.asarray(self.key[nodes] <= smallest_key * (1 + AGREEMENT) + AGREEMENT)

    def choose(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes that rise by this stage, and those that stand still in it.

        The latter go on to the next stage.
        """
        self.turns[nodes] = True
        np.minimum.at(self.smallest_key, self.up[nodes], self.key[nodes])
        turn = nodes[self.behind(nodes)]
        still = turn[self.slope(turn) <= 0]
        self.lifts[self.up[still]] = False
        return turn[self.lifts[self.up[turn]]], still

    def end(self, speed: np.ndarray) -> float:
        """Return when a node's largest part changes, or a node catches up with another one."""
        growth = self.growth * speed[:, None]
        pace = np.where(self.top, growth, 0.0).max(axis=1, keepdims=True)
        gaps = self.largest_part[:, None] - self.parts
        kink = _first(gaps, growth - pace, ~self.top & self.turns[:, None])

        nodes = np.flatnonzero(self.turns)
        above = self.up[nodes]
        waits = ~self.behind(nodes) & self.lifts[above]
        return min(kink, _first(self.key[nodes] - self.smallest_key[above], speed[above], waits))


class _Moves:
    """The nodes that rise, and how fast: directions from the leaves up, speeds from the root down.

    ``direction`` is how U of the parent grows while a node rises, per unit of its own time; ``pace``
    is its own time per unit of its parent's, and ``speed`` per unit of t.
    """

    def __init__(self, tree: QuotaTree, used: np.ndarray, stages: tuple[_Stage, _Stage]) -> None:
        self.tree = tree
        self.used = used
        self.stages = stages
        self.over = used >= tree.owned * (1 - AGREEMENT)
        self.out = used >= tree.reserved * (1 - AGREEMENT)
        self.speed = np.zeros(len(used))
        self.pace = np.zeros(len(used))

    def climb(self, direction: np.ndarray, totals: np.ndarray) -> None:
        """Find all queues' directions and all nodes' speeds from the users' directions."""
        tree = self.tree
        self.direction_of_users = direction.copy()  # of U of themselves; 0 at queues
        self.direction = direction
        borrowing_stage, total_stage = self.stages
        total_stage.growth = totals
        for nodes in reversed(tree.levels):
            borrowing_stage.growth[nodes] = tree.parts(np.where(self.over, direction, 0.0))[nodes]
            self._choose(nodes[totals[nodes].any(axis=1)])
            direction[nodes] = np.where(self.out, direction, 0.0)[nodes]
            for amounts in (direction, totals):
                amounts_per_parent = amounts * self.pace[:, None]
                np.add.at(amounts, tree.parents[nodes], amounts_per_parent[nodes])
        self.speed[0] = 1.0
        for nodes in tree.levels:
            self.speed[nodes] = self.speed[tree.parents[nodes]] * self.pace[nodes]

    def _choose(self, nodes: np.ndarray) -> None:
        """Set the paces of the children that can rise and whose turn it is."""
        borrows = (self.over[nodes] & (self.direction[nodes] > 0)).any(axis=1)
        is_late = self.tree.is_late[nodes] & borrows
        has_early = np.zeros(len(self.used), dtype=bool)
        has_early[self.tree.parents[nodes[~is_late]]] = True
        nodes = nodes[~(is_late & has_early[self.tree.parents[nodes]])]
        for stage in self.stages:
            rises, nodes = stage.choose(nodes)
            self.pace[rises] = 1.0 / stage.slope(rises)

        _, total_stage = self.stages
        growth = total_stage.growth[nodes].max(axis=1)
        self.pace[nodes] = self.tree.weights[nodes] / growth

    def end(self) -> float:
        """Return the t of the next kink: in U of a queue, or in what nodes are compared by."""
        grown = self.direction_of_users * self.speed[:, None]
        growth = self.direction[1:] * self.speed[1:, None]
        np.add.at(grown, self.tree.parents[1:], growth)

        bounds = ((self.tree.owned, self.over), (self.tree.reserved, self.out))
        kinks = [_first(bound - self.used, grown, ~passed) for bound, passed in bounds]
        return min([*kinks, *(stage.end(self.speed) for stage in self.stages)])


def _first(gaps: np.ndarray, speeds: np.ndarray, where: np.ndarray) -> float:
    """Return the least time in which a gap is closed; infinite if none is."""
    where = where & (speeds > 0)
    least: float = (gaps[where] / speeds[where]).min(initial=np.inf)
    return least


@dataclass(frozen=True)
class QuotaSegment(RateSegment):
    """Lanes that rise at a quota tree's constant rates; ``satisfied`` ones rise no further."""

    tree: QuotaTree = field(kw_only=True)

    @classmethod
    def first(cls, lanes: Lanes, instance: Instance) -> QuotaSegment:
        """Return the segment that begins with nothing."""
        small = lanes.instance
        can_run = (
            small.runnable().any(axis=1)
            & (small.task_limits > 0)
            & ~small.tree.barred(small.demands)
        )
        nothing = np.zeros(len(can_run))
        rates = constant(nothing)
        tree = QuotaTree(instance, lanes)
        return cls(
            rates, nothing, small.task_limits, nothing, can_run, ~can_run, rates.origin, tree=tree
        )._renewed()

    @property
    def first_rate(self) -> np.ndarray:
        """Tasks of each lane that are a dominant share of 1."""
        parts_of_pool = self.tree.lanes.instance.demands / self.tree.instance.pool
        return np.asarray(1.0 / parts_of_pool.max(axis=1))

    @property
    def negligible_rise(self) -> float:
        """A rise that is what floors of nominal quotas were lowered by for rounding."""
        return ACCEPTED

    @cached_property
    def pace(self) -> Pace:
        """How lanes go on."""
        return self.tree.pace(self.tasks, self.active)

    @property
    def base(self) -> np.ndarray:
        """What lanes have where the segment begins."""
        return self.tasks

    def level(self, t: float) -> float:
        """Return the least share of the root's children that rise."""
        return float(self.pace.level[0] + self.pace.usage[0] * t)

    def after(self, t: float, stops: np.ndarray) -> QuotaSegment:
        """Return the next segment, without stopped lanes and all lanes of satisfied users."""
        user = self.tree.lanes.user
        stopped = self.satisfied | stops
        satisfied = np.bincount(user, weights=stops & self.satisfied_at(t))[user] > 0
        return replace(self, tasks=self.tasks_at(t), satisfied=stopped | satisfied)._renewed()

    def _renewed(self) -> QuotaSegment:
        """Return the segment with one active lane for each user.

        It is the first lane within its queue's own quota, else the first.
        """
        tree = self.tree
        user = self.tree.lanes.user
        usage = tree.usage_with_outside(self.tasks)[tree.owner]
        owned = tree.owned[tree.owner]
        beyond = ((usage >= owned * (1 - AGREEMENT)) & (tree.counted > 0)).any(axis=1)
        remaining = np.flatnonzero(~self.satisfied)
        remaining = remaining[np.lexsort((beyond[remaining], user[remaining]))]
        active = np.zeros(len(user), dtype=bool)
        active[remaining[np.unique(user[remaining], return_index=True)[1]]] = True
        others = np.bincount(user, weights=self.tasks)[user] - self.tasks
        return replace(self, active=active, limits=tree.lanes.instance.task_limits - others)
