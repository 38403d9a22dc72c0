"""Dominant resource shares along a tree with quotas (Kueue), and how they rise together.

Of queue v and column m (a resource, of a flavor), from the leaves up:

* S[v] = N[v] + Σ over children c of (S[c] − K[c]): the quota of v and of the nodes below it, which
  they may lend; K[v] = max(0, S[v] − lending limit): the quota that v keeps for itself.
* U[v] = what stands in v itself + Σ max(0, U[c] − K[c]): what is in use. U[v] ≤ S[v] + borrowing
  limit; U[root] ≤ S[root].
* A[root] = S[root], A[v] = min(S[v] + borrowing limit, K[v] + A[parent]): what v could have.
* share(v) = max over resources of (Σ over flavors of max(0, U[v] − S[v])) / (Σ over flavors of
  A[parent]), over the weight. A resource of which the parent has nothing to lend is left out. A
  user is a child with S = K = 0.

Users outside the quotas (no queue on their way up lists any) have first what the servers have and
no quota covers, W: such a user has S = K = its part of it, and what it uses beyond that counts in U
when shares are compared. What they use together beyond W they borrow as all others do: it counts in
U[root] ≤ S[root], so that nobody has what a queue keeps for itself.

A *lane* is a user's tasks in one flavor, a group of servers: leaves of the tree are lanes, in the
nodes of their users.

Shares rise from the root down: in each queue the children with the least share go first, all at one
pace. A child whose share stands still while it rises (it is within what is its own) goes before the
others; several such are compared by their largest parts of the pool (all servers together), over
their weights. Queues of weight 0, which stands as LEAST_WEIGHT, borrow only when no sibling can
rise, and rise like others within what is their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...tolerances import ACCEPTED, AGREEMENT
from ..instances.instance import Instance
from ..instances.queues import LEAST_WEIGHT
from ..instances.quotas import Lanes, nearest_listing, outside, uncovered
from .rules import NodeRule, Nodes
from .tree import Tree
from .tree_path import PacedPath

__all__ = ["QuotaTree", "lane_tasks", "usage_of"]


class QuotaTree:
    """The effects of quotas on a tree of queues, then users (with S = 0); arrays are (nodes, M).

    Attributes
    ----------
    branches : Branches
        Queues, then users, in each of which its lanes stand.
    owned, reserved, limits : ndarray
        S, K, and the most that U may be (infinite for no limit).
    lent : ndarray, shape (nodes, R)
        A of a node's parent, summed over flavors: what the parent could lend of each resource.
    uncovered : ndarray, shape (M,)
        W: what users outside the quotas have together before they borrow.
    """

    def __init__(self, instance: Instance, lanes: Lanes) -> None:
        queues = instance.tree
        quotas = instance.quotas
        self.instance = instance
        self.lanes = lanes
        self.n_queues = len(queues)
        owner = nearest_listing(queues)[queues.of]
        itself = self.n_queues + np.arange(len(owner))
        # whose quota is that of a lane: of a user outside the quotas, what it has itself
        self.owner = np.where(outside(queues), itself, owner)[lanes.user]
        self.counted = lanes.use + lanes.use_outside
        of_users = queues.branches_with_users(instance.user_weights)
        self.branches = replace(of_users, of=len(queues) + lanes.user)
        is_queue = np.arange(len(self.branches.weights)) < len(queues)
        # a user has a weight above 0 and is never late
        self.is_late = self.branches.weights <= np.where(is_queue, LEAST_WEIGHT, 0.0)
        resources = np.arange(len(instance.resources))
        self.sums = (quotas.resource[:, None] == resources).astype(float)

        # S from the leaves up: what a node does not keep for itself is its parent's, too
        users = np.zeros((len(queues.of), len(self.sums)))
        nominal, borrowing, lending = quotas.amounts
        self.owned = np.vstack([np.nan_to_num(nominal), users])
        borrowing = np.vstack([borrowing, users + np.inf])
        lending = np.vstack([lending, users + np.inf])
        self.branches.carry_up(
            self.owned,
            lambda nodes, owned: owned[nodes] - np.maximum(owned[nodes] - lending[nodes], 0.0),
        )

        # K: what a node keeps for itself; the root has nobody to lend to
        self.reserved = np.zeros(self.owned.shape)
        np.maximum(self.owned - lending, 0.0, out=self.reserved)
        self.reserved[0] = 0.0

        # What no quota covers, users outside the quotas have first, and lend nothing of it.
        parts = uncovered(lanes, instance)
        self.owned[self.n_queues :] = parts
        self.reserved[self.n_queues :] = parts
        self.uncovered = parts.sum(axis=0)

        # A from the root down
        self.limits = self.owned + borrowing
        self.limits[0] = self.owned[0]
        could = self.owned.copy()
        for nodes in self.branches.by_depth:
            lent_to = could[self.branches.parents[nodes]]
            could[nodes] = np.minimum(self.limits[nodes], self.reserved[nodes] + lent_to)
        self.lent = (could @ self.sums)[self.branches.parents]

    def usage(self, tasks: np.ndarray) -> np.ndarray:
        """Return U of each node, given the tasks of each lane."""
        return self.upward(self.branches.sums_of_leaves(self.lanes.use * tasks[:, None]))

    def upward(self, amounts: np.ndarray) -> np.ndarray:
        """Return U of each node, given what is in use in each node itself."""
        return self.branches.carry_up(amounts, self.drawn)

    def usage_growth(self, used: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return how fast U of each node grows, given U and how fast each lane rises."""
        leaves = self.branches.sums_of_leaves(self.lanes.use * rate[:, None])
        is_out = used >= self.reserved
        return self.branches.carry_up(
            leaves, lambda nodes, growth: np.where(is_out[nodes], growth[nodes], 0.0)
        )

    def drawn(self, nodes: Nodes, used: np.ndarray) -> np.ndarray:
        """Return what nodes take of what their parents have: max(0, U − K)."""
        return np.maximum(used[nodes] - self.reserved[nodes], 0.0)

    def parts(self, nodes: Nodes, amounts: np.ndarray) -> np.ndarray:
        """Return amounts by column as parts of the parent's lendable total, by resource.

        A part of nothing is 0.
        """
        whole = self.lent[nodes]
        totals = amounts @ self.sums
        return np.asarray(np.divide(totals, whole, out=np.zeros(whole.shape), where=whole > 0))

    def shares(self, used: np.ndarray) -> np.ndarray:
        """Return the dominant resource share of each node, over its weight; the root has none."""
        borrowed = self.parts(slice(None), np.maximum(used - self.owned, 0.0))
        shares = np.asarray(borrowed.max(axis=1) / self.branches.weights)
        shares[0] = 0.0
        return shares


class ShareBeyondQuota(NodeRule):
    """Kueue's rule (KEP-1714), of a :class:`QuotaTree`.

    U[v] = Σ max(0, U[c] − K[c]) over the children c of v;
    share[v] = max over resources of (Σ over flavors of max(0, U[v] − S[v])) / (Σ of A[parent]);
    the children of the least share[c]/w[c] rise.

    Of children that borrow nothing while they rise, those go first that have the least part of the
    pool over their weights. So a row of use is U by column of the quotas, then the part of the pool
    by resource.
    """

    follows_use = True
    # Measures are parts of all that may be lent: what is far below 1 may be rounding of a
    # difference, which borrowing is.
    rounding = AGREEMENT

    def __init__(self, quotas: QuotaTree) -> None:
        self.quotas = quotas
        self.n_columns = len(quotas.sums)
        none = np.zeros(quotas.lent.shape)  # all of a part of the pool counts
        self.owned = np.hstack([quotas.owned, none])
        self.reserved = np.hstack([quotas.reserved, none])

    def tree(self) -> Tree:
        """Return the tree of the lanes, each of which rises as its user does."""
        lanes = self.quotas.lanes
        parts_of_pool = lanes.instance.demands / self.quotas.instance.pool
        use = np.hstack([self.quotas.counted, parts_of_pool])
        return Tree(self.quotas.branches, use, np.ones(len(use)), rule=self)

    def measures(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return what nodes borrow, as parts of what could be lent, and parts of the pool."""
        return self._compared(slice(None), np.maximum(usage - self.owned, 0.0))

    def growth(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> Sequence[np.ndarray]:
        """Return how both grow: what is within S borrows nothing."""
        borrows = reaches(usage[nodes], self.owned[nodes])
        return self._compared(nodes, np.where(borrows, growth[nodes], 0.0))

    def lift(self, nodes: Nodes, usage: np.ndarray) -> np.ndarray:
        """Return max(0, U − K)."""
        return np.asarray(np.maximum(usage[nodes] - self.reserved[nodes], 0.0))

    def lift_growth(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> np.ndarray:
        """Return how that grows: what is within K stays below."""
        return np.where(reaches(usage[nodes], self.reserved[nodes]), growth[nodes], 0.0)

    def gaps(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return how far U is below S, and below K."""
        bounds = (self.owned, self.reserved)
        return [np.where(reaches(usage, bound), np.inf, bound - usage) for bound in bounds]

    def rank(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> np.ndarray | None:
        """Return 1 for nodes of the least weight that would borrow: they wait for all others."""
        is_late = self.quotas.is_late[nodes]
        if not is_late.any():
            return None
        borrows, _ = self.growth(nodes, usage, growth)
        return np.asarray(is_late & (borrows > 0).any(axis=1), dtype=float)

    def last_slope(self, nodes: Nodes, growth: np.ndarray) -> np.ndarray:
        """Return the growth of the largest part of the pool."""
        return np.asarray(growth[nodes, self.n_columns :].max(axis=1))

    def _compared(self, nodes: Nodes, amounts: np.ndarray) -> Sequence[np.ndarray]:
        borrowed, of_pool = np.split(amounts, [self.n_columns], axis=1)
        return self.quotas.parts(nodes, borrowed), of_pool


def reaches(used: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return where what is in use is as much as a bound, but for rounding."""
    return np.asarray(used >= bound * (1 - AGREEMENT))


def lane_tasks(instance: Instance, tasks: np.ndarray) -> tuple[QuotaTree, np.ndarray]:
    """Return the quota tree, and the tasks of each lane, by tasks of user and server.

    Tasks that may count in several flavors of the same servers are divided by nominal quotas.
    """
    lanes = Lanes.of(instance)
    tree = QuotaTree(instance, lanes)
    tasks_of_lanes = np.where(lanes.instance.eligible, tasks[lanes.user], 0.0).sum(axis=1)
    if lanes.places[-1] + 1 < len(lanes.user):
        nominal = np.zeros(tree.owned.shape)
        nominal[: tree.n_queues] = np.nan_to_num(instance.quotas.amounts[0])
        nominal = nominal[tree.owner]
        size = np.where(lanes.use > 0, nominal, 0.0).sum(axis=1)
        total = np.bincount(lanes.places, weights=size)[lanes.places]
        count = np.bincount(lanes.places)[lanes.places]
        part_by_size = size / np.where(total > 0, total, 1.0)
        tasks_of_lanes *= np.where(total > 0, part_by_size, 1.0 / count)
    return tree, tasks_of_lanes


def usage_of(instance: Instance, tasks: np.ndarray) -> tuple[QuotaTree, np.ndarray]:
    """Return the quota tree, and each node's use of quota columns by tasks of user and server."""
    tree, tasks_of_lanes = lane_tasks(instance, tasks)
    return tree, tree.usage(tasks_of_lanes)


@dataclass(frozen=True)
class QuotaPath(PacedPath):
    """Lanes that rise at a quota tree's constant rates, one lane of each user at a time.

    Attributes
    ----------
    remaining : ndarray of bool, shape (L,)
        Lanes that have not stopped.
    quotas : QuotaTree
    turns_are_apart : bool
        Whether who is blocked while it waits may be found when it is its turn. It keeps nobody from
        rising: its share is larger than those of the siblings that rise.
    """

    remaining: np.ndarray
    quotas: QuotaTree
    turns_are_apart: bool = field(default=True, kw_only=True)

    @classmethod
    def first(cls, lanes: Lanes, instance: Instance) -> QuotaPath:
        """Return the path that begins with nothing."""
        small = lanes.instance
        can_run = small.runnable_users()
        quotas = QuotaTree(instance, lanes)
        tree = ShareBeyondQuota(quotas).tree()
        path = cls(
            tasks=np.zeros(len(can_run)),
            limits=small.task_limits,
            active=can_run,
            tree=tree,
            point=tree.origin,
            remaining=can_run,
            quotas=quotas,
        )
        return path._renewed()

    @property
    def level_1(self) -> np.ndarray:
        """Tasks of each lane that are a dominant share of 1."""
        parts_of_pool = self.quotas.lanes.instance.demands / self.quotas.instance.pool
        return np.asarray(1.0 / parts_of_pool.max(axis=1))

    @property
    def negligible_rise(self) -> float:
        """Rises up to the tolerance by which floors of nominal quotas were lowered."""
        return ACCEPTED

    def level(self, t: float) -> float:
        """Return the least share of the root's children that rise."""
        usage = self.pace.after(self.point, t).usage
        shares = self.quotas.shares(usage[:, : len(self.quotas.sums)])
        rises = (self.quotas.branches.depths == 1) & (self.pace.usage > 0).any(axis=1)
        return float(shares[rises].min(initial=np.inf))

    def after(self, t: float, stops: np.ndarray) -> QuotaPath:
        """Return the next path, without stopped lanes and all lanes of satisfied users."""
        user = self.quotas.lanes.user
        satisfied = np.bincount(user, weights=stops & self.satisfied_at(t))[user] > 0
        remaining = self.remaining & ~stops & ~satisfied
        return replace(self, tasks=self.tasks_at(t), remaining=remaining)._renewed()

    def _renewed(self) -> QuotaPath:
        """Return the path with one active lane for each user.

        It is the first lane within its queue's own quota, else the first.
        """
        quotas = self.quotas
        user = quotas.lanes.user
        point = self.tree.begin(self.tasks)
        used = point.usage[quotas.owner, : len(quotas.sums)]
        is_at_own = reaches(used, quotas.owned[quotas.owner])
        beyond = np.asarray((is_at_own & (quotas.counted > 0)).any(axis=1))
        remaining = np.flatnonzero(self.remaining)
        remaining = remaining[np.lexsort((beyond[remaining], user[remaining]))]
        active = np.zeros(len(user), dtype=bool)
        active[remaining[np.unique(user[remaining], return_index=True)[1]]] = True
        others = np.bincount(user, weights=self.tasks)[user] - self.tasks
        limits = quotas.lanes.instance.task_limits - others
        return replace(self, active=active, limits=limits, point=point)
