"""Dominant resource shares along a tree with quotas (Kueue), and how they rise together.

Of queue v and column m (a resource, of a flavor), from the leaves up:

* S[v] = N[v] + Σ over children c of (S[c] − K[c]): what belongs to v and to those below it, and is theirs to lend;
  K[v] = max(0, S[v] − lending limit): what v keeps for itself.
* U[v] = what stands in v itself + Σ max(0, U[c] − K[c]): what is in use. U[v] ≤ S[v] + borrowing
  limit; U[root] ≤ S[root].
* A[root] = S[root], A[v] = min(S[v] + borrowing limit, K[v] + A[parent]): what v could have.
* share(v) = max over resources of (Σ over flavors of max(0, U[v] − S[v])) / (Σ over flavors of A[parent]), over the
  weight. A resource of which the parent has nothing to lend is left out. A user is a child with S = 0.

Shares rise from the root down: in each queue the children with the least share go first, all at one pace. A child whose
share stands still while it rises (it is within what is its own) goes before the others; several such are compared by
their largest parts of the pool, over their weights. Children of the least weight borrow when no other child rises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...tolerances import AGREEMENT
from ..instances.instance import Instance
from ..instances.queues import LEAST_WEIGHT, Queues
from ..instances.quotas import Lanes


class QuotaTree:
    """What quotas come to along a tree; arrays are by queue and column, (Q, M).

    Attributes
    ----------
    owned, kept, limits : ndarray
        S, K, and the most that U may be (infinite for no limit).
    lent : ndarray, shape (Q, R)
        What a queue could have of each resource, and so lend to its children: A, summed over flavors.
    """

    def __init__(self, queues: Queues, resources: int) -> None:
        quotas = queues.quotas
        assert quotas is not None
        self.parents, self.queues = queues.parents, queues
        self.sums = (quotas.resource[:, None] == np.arange(resources)).astype(float)
        self.owned, self.kept = np.nan_to_num(quotas.nominal), np.zeros(quotas.nominal.shape)
        for v in range(len(queues) - 1, -1, -1):  # children before their parents
            self.kept[v] = np.maximum(self.owned[v] - quotas.lending[v], 0.0)
            if v:
                self.owned[self.parents[v]] += self.owned[v] - self.kept[v]
        self.limits = self.owned + quotas.borrowing
        self.limits[0] = self.owned[0]
        could = self.owned.copy()
        for v in range(1, len(queues)):
            could[v] = np.minimum(self.limits[v], self.kept[v] + could[self.parents[v]])
        self.lent = could @ self.sums
        self.last = queues.weights <= LEAST_WEIGHT

    def usage(self, own: np.ndarray) -> np.ndarray:
        """Return U from what stands in each queue itself."""
        used = own.copy()
        for v in range(len(used) - 1, 0, -1):
            used[self.parents[v]] += np.maximum(used[v] - self.kept[v], 0.0)
        return used

    def borrowed(self, used: np.ndarray) -> np.ndarray:
        """Return what each queue has beyond what is its own, as parts of what its parent could lend: (Q, R)."""
        beyond = np.maximum(used - self.owned, 0.0) @ self.sums
        return _parts(beyond, self.lent[self.parents])

    def shares(self, used: np.ndarray) -> np.ndarray:
        """Return the dominant resource share of each queue without its weight, shape (Q,); the root has none."""
        found: np.ndarray = self.borrowed(used).max(axis=1)
        found[0] = 0.0
        return found


def _parts(amounts: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return amounts as parts, 0 of nothing."""
    return np.asarray(np.divide(amounts, whole, out=np.zeros(amounts.shape), where=whole > 0))


def usage_of(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return what is in use in each queue of each column of its quotas, U, given tasks by user and server."""
    queues = instance.queues
    assert queues is not None
    lanes, tree = Lanes.of(instance), QuotaTree(queues, len(instance.resources))
    own = np.zeros(tree.owned.shape)
    totals = np.where(lanes.instance.eligible, tasks[lanes.user], 0.0).sum(axis=1)
    np.add.at(own, queues.of[lanes.user], lanes.use * totals[:, None])
    return tree.usage(own)


class QuotaRates:
    """How the lanes of an instance rise: the tree of quotas, with users as its leaves.

    Parameters
    ----------
    lanes : Lanes
    instance : Instance
        The one that the lanes were made of.
    """

    def __init__(self, lanes: Lanes, instance: Instance) -> None:
        queues = instance.queues
        assert queues is not None
        self.tree, self.lanes, self.of = QuotaTree(queues, len(instance.resources)), lanes, queues.of
        self.users, self.limits, self.pool = len(instance.users), instance.task_limits, instance.pool
        self.demands = instance.demands[lanes.user]
        self.weights = np.concatenate([queues.weights, instance.user_weights])
        self.late = np.concatenate([self.tree.last, np.zeros(self.users, dtype=bool)])
        self.parent = np.concatenate([queues.parents, queues.of])
        depth = np.concatenate([queues.depths, queues.depths[queues.of] + 1])
        nodes = np.arange(len(depth))
        self.levels = [nodes[depth == d] for d in range(1, int(depth.max()) + 1)]
        self.lent = self.tree.lent[self.parent]
        self.alone: np.ndarray = 1.0 / (self.demands / self.pool).max(axis=1)

    def by_user(self, amounts: np.ndarray) -> np.ndarray:
        """Return sums over the lanes of each user."""
        found = np.zeros((self.users, *amounts.shape[1:]))
        np.add.at(found, self.lanes.user, amounts)
        return found

    def pace(self, has: np.ndarray, active: np.ndarray) -> QuotaPace:
        """Return how active lanes, at most one of each user, rise from what all lanes have; O((N + Q)(M + R))."""
        tree, count = self.tree, len(self.tree.owned)
        taken = self.by_user(self.lanes.use * has[:, None])
        own = np.zeros(tree.owned.shape)
        np.add.at(own, self.of, taken)
        used = tree.usage(own)
        shares = np.concatenate([tree.borrowed(used), _parts(taken @ tree.sums, self.lent[count:])])
        whole = np.concatenate([np.zeros((count, len(self.pool))), self.by_user(self.demands * has[:, None])])
        for nodes in reversed(self.levels):
            np.add.at(whole, self.parent[nodes], whole[nodes])
        moves = _Moves(self, used, (_Stage.of(shares, self.weights), _Stage.of(whole / self.pool, self.weights)))
        way, raw = (self.by_user(amounts * active[:, None]) for amounts in (self.lanes.use, self.demands))
        moves.climb(way, raw / self.pool, self.by_user(active.astype(float)) > 0)
        rate = np.where(active, moves.speed[count:][self.lanes.user], 0.0)
        shares_of_root = moves.stages[0]
        return QuotaPace(rate, moves.end(), float(shares_of_root.least[0]), float(shares_of_root.lifts[0]))


@dataclass(frozen=True)
class QuotaPace:
    """Tasks of each lane per unit of t, the t of the next kink, and the level of the root's children and its growth."""

    rate: np.ndarray
    end: float
    level: float
    rise: float
    jumps = False


@dataclass(frozen=True)
class _Stage:
    """What children are compared by: parts by node and resource, of which the largest counts, over the weight.

    ``growth`` is that of the parts per unit of a node's own time, ``turns`` tells who is compared, and of each queue
    ``least`` is the least of its children, and ``lifts`` whether it rises (none of those stands still).
    """

    parts: np.ndarray
    weights: np.ndarray
    key: np.ndarray
    top: np.ndarray
    growth: np.ndarray
    turns: np.ndarray
    least: np.ndarray
    lifts: np.ndarray

    @classmethod
    def of(cls, parts: np.ndarray, weights: np.ndarray) -> _Stage:
        """Return the stage before anybody rises."""
        most, size = parts.max(axis=1), len(parts)
        top = parts >= (most * (1 - AGREEMENT))[:, None]
        none, all_ = np.zeros(size, dtype=bool), np.ones(size, dtype=bool)
        return cls(parts, weights, most / weights, top, np.zeros(parts.shape), none, np.full(size, np.inf), all_)

    def slope(self, nodes: np.ndarray) -> np.ndarray:
        """Return how fast what nodes are compared by grows."""
        found = np.where(self.top[nodes], self.growth[nodes], 0.0).max(axis=1) / self.weights[nodes]
        return np.asarray(found)

    def behind(self, nodes: np.ndarray, up: np.ndarray) -> np.ndarray:
        """Return which nodes are among the least of their queue. Bool."""
        return np.asarray(self.key[nodes] <= self.least[up] * (1 + AGREEMENT) + AGREEMENT)

    def choose(self, nodes: np.ndarray, up: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the nodes rise by this stage, and which stand still in it and go on to the next."""
        self.turns[nodes] = True
        np.minimum.at(self.least, up, self.key[nodes])
        turn = self.behind(nodes, up)
        still = turn & (self.slope(nodes) <= 0)
        self.lifts[up[still]] = False
        return turn & self.lifts[up], still

    def end(self, speed: np.ndarray, up: np.ndarray) -> float:
        """Return when another part becomes the largest of a node, or a node catches up with another one."""
        growth = self.growth * speed[:, None]
        most, pace = self.parts.max(axis=1, keepdims=True), np.where(self.top, growth, 0.0).max(axis=1, keepdims=True)
        kink = _first(most - self.parts, growth - pace, ~self.top & self.turns[:, None])
        nodes = np.flatnonzero(self.turns)
        above = up[nodes]
        waits = ~self.behind(nodes, above) & self.lifts[above]
        return min(kink, _first(self.key[nodes] - self.least[above], speed[above], waits))


class _Moves:
    """Who rises, and how fast: directions from the leaves up, speeds from the root down.

    Nodes are queues, then users. ``way`` is how U of the parent grows while a node rises, ``raw`` what part of the pool
    is taken, per unit of its own time; ``pace`` is its own time per unit of its parent's, ``speed`` per unit of t.
    """

    def __init__(self, rates: QuotaRates, used: np.ndarray, stages: tuple[_Stage, _Stage]) -> None:
        self.rates, self.used, self.stages = rates, used, stages
        self.over = used >= rates.tree.owned * (1 - AGREEMENT)
        self.out = used >= rates.tree.kept * (1 - AGREEMENT)
        size = len(rates.parent)
        self.speed, self.pace, self.alive = np.zeros(size), np.zeros(size), np.zeros(size, dtype=bool)
        self.late = np.ones(size, dtype=bool)  # of a queue: whether only children of the least weight are left

    def climb(self, way: np.ndarray, raw: np.ndarray, able: np.ndarray) -> None:
        """Find the directions of queues and the speeds of all nodes, given those of users."""
        rates, count = self.rates, len(self.used)
        self.way = np.concatenate([np.zeros(self.used.shape), way])
        borrowed, whole = self.stages[0].growth, self.stages[1].growth
        whole[count:] = raw
        borrowed[count:] = _parts(way @ rates.tree.sums, rates.lent[count:])
        self.alive[count:] = able
        for nodes in reversed(rates.levels):
            queues = nodes[nodes < count]
            grown = np.where(self.over[queues], self.way[queues], 0.0)
            borrowed[queues] = _parts(grown @ rates.tree.sums, rates.lent[queues])
            self._choose(nodes[self.alive[nodes]])
            self.way[queues] = np.where(self.out[queues], self.way[queues], 0.0)
            up, pace = rates.parent[nodes], self.pace[nodes, None]
            np.add.at(self.way, up, self.way[nodes] * pace)
            np.add.at(whole, up, whole[nodes] * pace)
        self.speed[0] = 1.0
        for nodes in rates.levels:
            self.speed[nodes] = self.speed[rates.parent[nodes]] * self.pace[nodes]

    def _choose(self, nodes: np.ndarray) -> None:
        """Let those of the children that are alive rise whose turn it is."""
        up = self.rates.parent[nodes]
        self.alive[up] = True
        np.logical_and.at(self.late, up, self.rates.late[nodes])
        nodes = nodes[self.rates.late[nodes] == self.late[up]]
        for stage in self.stages:
            rises, still = stage.choose(nodes, self.rates.parent[nodes])
            self.pace[nodes[rises]] = 1.0 / stage.slope(nodes)[rises]
            nodes = nodes[still]
        whole = self.stages[1].growth[nodes].max(axis=1) / self.rates.weights[nodes]
        self.pace[nodes] = np.divide(1.0, whole, out=np.zeros(len(nodes)), where=whole > 0)

    def end(self) -> float:
        """Return the t of the next kink: in U of a queue, or in what nodes are compared by."""
        rates = self.rates
        grown = np.zeros(self.used.shape)
        np.add.at(grown, rates.parent[1:], self.way[1:] * self.speed[1:, None])
        bounds = ((rates.tree.owned, self.over), (rates.tree.kept, self.out))
        kinks = [_first(bound - self.used, grown, ~passed) for bound, passed in bounds]
        return min([*kinks, *(stage.end(self.speed, rates.parent) for stage in self.stages)])


def _first(gaps: np.ndarray, speeds: np.ndarray, where: np.ndarray) -> float:
    """Return the least time in which a gap is closed; infinite if none is."""
    where = where & (speeds > 0)
    least: float = (gaps[where] / speeds[where]).min(initial=np.inf)
    return least


@dataclass(frozen=True)
class QuotaSegment:
    """Lanes that rise at constant rates; what :class:`.filling.RateSegment` is to trees without quotas.

    Attributes
    ----------
    rates : QuotaRates
    has : ndarray
        Tasks of each lane where the segment begins.
    done : ndarray of bool
        Lanes that rise no further.
    """

    rates: QuotaRates
    has: np.ndarray
    done: np.ndarray

    @classmethod
    def first(cls, lanes: Lanes, instance: Instance) -> QuotaSegment:
        """Return the segment that begins with nothing."""
        able = lanes.instance.runnable().any(axis=1) & (lanes.instance.task_limits > 0)
        queues = instance.queues
        assert queues is not None
        able &= ~queues.barred(instance.demands)[lanes.user]
        return cls(QuotaRates(lanes, instance), np.zeros(len(able)), ~able)

    @cached_property
    def active(self) -> np.ndarray:
        """The first lane of each user that may still rise. Bool."""
        left = np.flatnonzero(~self.done)
        first = np.unique(self.rates.lanes.user[left], return_index=True)[1]
        active = np.zeros(len(self.has), dtype=bool)
        active[left[first]] = True
        return active

    @property
    def alone(self) -> np.ndarray:
        """Tasks of each lane that are a dominant share of 1."""
        return self.rates.alone

    @cached_property
    def pace(self) -> QuotaPace:
        """How lanes go on."""
        return self.rates.pace(self.has, self.active)

    @property
    def rate(self) -> np.ndarray:
        """Tasks of each lane per unit of t."""
        return self.pace.rate

    @property
    def base(self) -> np.ndarray:
        """What lanes have where the segment begins."""
        return self.has

    @cached_property
    def ends(self) -> np.ndarray:
        """The t at which the user of each active lane has all its tasks; infinite where it never has."""
        lacks = (self.rates.limits - self.rates.by_user(self.has))[self.rates.lanes.user]
        never = np.full(len(self.has), np.inf)
        return np.asarray(
            np.divide(lacks, self.rate, out=never, where=self.active & (self.rate > 0) & np.isfinite(lacks))
        )

    @cached_property
    def end(self) -> float:
        """The t at which the first user has all its tasks, or rates change."""
        return min(float(self.ends.min(initial=np.inf)), self.pace.end)

    def level(self, t: float) -> float:
        """Return the least share of the root's children that rise."""
        return self.pace.level + self.pace.rise * t

    def asked(self, t: float) -> np.ndarray:
        """Return the tasks that each lane has at a t of this segment."""
        return np.asarray(self.has + self.rate * np.minimum(self.ends, t))

    def full(self, t: float) -> np.ndarray:
        """Return which active lanes are of users who have all their tasks at a t."""
        return np.asarray(self.active & (self.ends <= t))

    def after(self, t: float, stops: np.ndarray) -> QuotaSegment:
        """Return the next segment: lanes that stop are done, and so are all of a user who has all its tasks."""
        full = np.zeros(self.rates.users, dtype=bool)
        full[self.rates.lanes.user[self.full(t) & stops]] = True
        return replace(self, has=self.asked(t), done=self.done | stops | full[self.rates.lanes.user])
