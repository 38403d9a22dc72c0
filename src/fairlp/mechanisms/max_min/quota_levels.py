"""Quotas with borrowing and lending, once more from the definition: what proofs are made of.

The method asks :mod:`fairlp.models.trees.quotas` and :class:`fairlp.models.instances.quotas.Lanes`;
a proof must not lean on what it proves, so nothing here calls them. Nodes are the queues, then the
users, each a child of the queue that it stands in. Of node v and column m (a resource, of a flavor):

* S[v] = N[v] + Σ over children c of (S[c] − K[c]), and K[v] = max(0, S[v] − lending limit);
* U[v] = what stands in v itself + Σ max(0, U[c] − K[c]); of a queue U[v] ≤ S[v] + borrowing limit,
  U[root] ≤ S[root];
* A[root] = S[root], A[v] = min(S[v] + borrowing limit, K[v] + A[parent]);
* share(v) = max over resources r of Σ over columns m of r: max(0, U[v] − S[v])
  / Σ over columns m of r: A[parent], over the weight of v.

A user is outside the quotas if no queue above it lists any (pods outside Kueue). Its use counts in
its share, in the columns that any queue lists, beyond what is its own: S = K = its part of W[m] =
max(0, what the servers of m have − Σ_v N[v]), which no quota covers. W is divided among such users
by their weights on the way up, and none gets more of it than it could use. What they use together
beyond W counts in U[root].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...models.instances.arithmetic import relative
from ...models.instances.instance import Instance
from ...models.instances.queues import LEAST_WEIGHT
from ...tolerances import AGREEMENT

__all__ = ["Books", "NodeMotion", "Ways"]


@dataclass(frozen=True, eq=False)
class Ways:
    """The ways in which users' tasks count: one for each user and choice of columns.

    Attributes
    ----------
    user : ndarray of int, shape (L,)
        Ways of one user lie together, in the order in which it tries them.
    servers : ndarray of bool, shape (L, K)
        Where the tasks of a way run; those of a user have none in common.
    use : ndarray, shape (L, M)
        What one task of a way takes of each column.
    unclear : ndarray of bool, shape (N,)
        Users whose tasks may count in several columns on the same servers: the tasks on a server do
        not tell in which column they count.
    """

    user: np.ndarray
    servers: np.ndarray
    use: np.ndarray
    unclear: np.ndarray

    def tasks(self, tasks: np.ndarray) -> np.ndarray:
        """Return the tasks of each way, given those of users on servers."""
        return np.asarray(np.where(self.servers, tasks[self.user], 0.0).sum(axis=1))


class Books:
    """S, K, A and the limits of all nodes of an instance; arrays are (nodes, M).

    Attributes
    ----------
    ways : Ways
    outside : ndarray of bool, shape (N,)
        Users outside the quotas.
    owner : ndarray of int, shape (N,)
        The lowest queue above a user that lists anything; of a user outside its own node.
    owned, reserved, most : ndarray
        S, K, and the most that U may be (infinite for no limit).
    lent : ndarray, shape (nodes, R)
        What a node's parent could lend: A, summed over the columns of a resource.
    uncovered : ndarray, shape (M,)
        What users outside the quotas have together of W.
    """

    def __init__(self, instance: Instance) -> None:
        queues = instance.tree
        quotas = queues.quotas
        assert quotas is not None
        self.instance = instance
        self.n_queues = len(queues)
        self.parents = np.concatenate([queues.parents, queues.of])
        self.weights = np.concatenate([queues.weights, instance.user_weights])
        self.borrows_last = self.weights <= LEAST_WEIGHT
        self.borrows_last[self.n_queues :] = False
        self.resource = quotas.resource
        self.listed = quotas.listed
        self.flavors = quotas.servers(instance)

        users = np.arange(len(queues.of))
        lowest = [self._lowest_listing(v) for v in queues.of.tolist()]
        self.outside = np.array([v is None for v in lowest])
        self.owner = np.array(
            [self.n_queues + n if v is None else v for n, v in zip(users, lowest, strict=True)]
        )
        self.ways = self._ways()

        # S and K from the leaves up: parents come before their children
        nominal, borrowing, lending = quotas.amounts
        no_quota = np.zeros((len(users), len(self.resource)))
        self.owned = np.vstack([np.where(self.listed, nominal, 0.0), no_quota])
        self.reserved = np.zeros_like(self.owned)
        for v in range(self.n_queues - 1, 0, -1):
            self.reserved[v] = np.maximum(0.0, self.owned[v] - lending[v])
            self.owned[self.parents[v]] += self.owned[v] - self.reserved[v]
        parts = self._uncovered()
        self.owned[self.n_queues :] = parts
        self.reserved[self.n_queues :] = parts
        self.uncovered = parts.sum(axis=0)

        # A from the root down
        self.most = self.owned[: self.n_queues] + borrowing
        self.most[0] = self.owned[0]
        could = self.owned.copy()
        for v in range(1, self.n_queues):
            could[v] = np.minimum(self.most[v], self.reserved[v] + could[self.parents[v]])
        self.lent = self.by_resource(could)[self.parents]

    def _lowest_listing(self, v: int) -> int | None:
        """Return the lowest queue from v upward that lists a quota; None where there is none."""
        while not self.listed[v].any():
            if v == 0:
                return None
            v = int(self.parents[v])
        return v

    def _columns_of(self, user: int) -> list[np.ndarray]:
        """Return the columns that a user's tasks may count in, for each resource that counts."""
        owner = self.owner[user]
        listed = self.listed.any(axis=0) if self.outside[user] else self.listed[owner]
        demanded = np.flatnonzero(self.instance.demands[user] > 0)
        columns = [np.flatnonzero(listed & (self.resource == r)) for r in demanded]
        return [choices for choices in columns if choices.size]

    def _ways(self) -> Ways:
        """Return all ways: on each server a resource counts in the first column that has it."""
        runnable = self.instance.runnable()
        demands = self.instance.demands
        unclear = np.zeros(len(runnable), dtype=bool)
        rows: list[tuple[int, np.ndarray, np.ndarray]] = []
        for user in range(len(runnable)):
            columns = self._columns_of(user)
            unclear[user] = not self.outside[user] and any(
                len(np.unique(self.flavors[choices], axis=0)) < len(choices) for choices in columns
            )
            first = np.full((len(columns), runnable.shape[1]), -1)
            for k, choices in enumerate(columns):
                has = self.flavors[choices]
                first[k] = np.where(has.any(axis=0), choices[has.argmax(axis=0)], -1)
            counted = (first >= 0).all(axis=0)
            allowed = runnable[user] & (counted | self.outside[user])
            for choice in np.unique(first[:, allowed], axis=1).T:
                use = np.zeros(len(self.resource))
                taken = choice[choice >= 0]
                use[taken] = demands[user, self.resource[taken]]
                rows.append((user, allowed & (first == choice[:, None]).all(axis=0), use))
        return Ways(
            np.array([user for user, _, _ in rows], dtype=np.intp),
            np.array([servers for _, servers, _ in rows]).reshape(len(rows), runnable.shape[1]),
            np.array([use for _, _, use in rows]).reshape(len(rows), len(self.resource)),
            unclear,
        )

    def _uncovered(self) -> np.ndarray:
        """Return each user's part of what no quota covers, (N, M); 0 for users of the books."""
        instance = self.instance
        parts = np.zeros((len(self.outside), len(self.resource)))
        if not self.outside.any():
            return parts
        weights = self.weights[self.n_queues :].copy()
        v = instance.tree.of
        while v.any():
            weights *= self.weights[v]
            v = self.parents[v]
        quotas = instance.tree.quotas
        assert quotas is not None
        nominal = np.where(self.listed, quotas.amounts[0], 0.0).sum(axis=0)
        taken = np.zeros((*self.flavors.shape[1:], instance.demands.shape[1]), dtype=bool)
        for m, r in enumerate(self.resource.tolist()):
            servers = self.flavors[m] & ~taken[:, r]  # a server counts in the first column of r
            taken[:, r] |= servers
            amount = float(instance.total_capacities[servers, r].sum() - nominal[m])
            alone = instance.gamma()[:, servers].sum(axis=1)
            could = np.minimum(instance.task_limits, alone) * instance.demands[:, r]
            users = np.flatnonzero(self.outside & (could > 0))
            parts[users, m] = divided(max(amount, 0.0), weights[users], could[users])
        return parts

    def by_resource(self, amounts: np.ndarray) -> np.ndarray:
        """Return sums over the columns of each resource, (…, R)."""
        sums = np.zeros((len(amounts), self.instance.demands.shape[1]))
        np.add.at(sums.T, self.resource, amounts.T)
        return sums

    def parts(self, amounts: np.ndarray, nodes: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return amounts as parts of what the parent could lend; parts of nothing are 0."""
        sums = self.by_resource(amounts)
        lent = self.lent[nodes]
        return np.asarray(np.divide(sums, lent, out=np.zeros_like(sums), where=lent > 0))

    def usage(self, tasks: np.ndarray, *, outside: bool = True) -> np.ndarray:
        """Return U of each node, by the tasks of ways; ``outside``: of users outside, too."""
        counts = outside | ~self.outside[self.ways.user]
        used = self.at_users(self.ways.use * np.where(counts, tasks, 0.0)[:, None])
        for v in range(len(used) - 1, 0, -1):
            used[self.parents[v]] += np.maximum(0.0, used[v] - self.reserved[v])
        return used

    def within_limits(self, tasks: np.ndarray) -> np.ndarray:
        """Return U of each queue, as limits count it: those outside use together beyond W."""
        used = self.usage(tasks, outside=False)[: self.n_queues]
        outside = tasks * self.outside[self.ways.user]
        used[0] += np.maximum(outside @ self.ways.use - self.uncovered, 0.0)
        return used

    def excess(self, tasks: np.ndarray) -> tuple[float, int, int]:
        """Return the largest relative excess of U over a limit, its queue and its column."""
        used = self.within_limits(tasks)
        limits = np.where(np.isfinite(self.most), self.most, used)
        excess = relative(used - limits, limits)
        v, m = divmod(int(excess.argmax()), excess.shape[1])
        return float(excess[v, m]), v, m

    def at_users(self, amounts: np.ndarray) -> np.ndarray:
        """Return amounts by way as sums by node, where queues have 0."""
        sums = np.zeros((len(self.parents), amounts.shape[1]))
        np.add.at(sums, self.n_queues + self.ways.user, amounts)
        return sums


def divided(amount: float, weights: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return parts of an amount by weight, where nobody gets more than ``most``.

    >>> divided(10.0, np.array([1.0, 1.0, 2.0]), np.array([1.0, 9.0, 9.0])).tolist()
    [1.0, 3.0, 6.0]
    """
    parts = np.zeros(len(weights))
    remaining_weight = weights.sum()
    for n in np.argsort(most / weights, kind="stable").tolist():
        parts[n] = min(most[n], amount * weights[n] / remaining_weight)
        amount -= parts[n]
        remaining_weight -= weights[n]
    return parts


class NodeMotion:
    """How active ways rise from some tasks on: progressive filling, from the root down.

    In each queue the children with the least share rise first, all at one pace of it. A child whose
    share stands still while it rises (it is within its own) goes before the others; several such
    are compared by the largest part of the pool that stands below them, over their weights. Queues
    whose weight stands for 0 borrow when no other child rises.

    Attributes
    ----------
    rate : ndarray, shape (L,)
        Tasks of each way per unit of the root's time; 0 for ways that are not active or wait.
    end : float
        When the rates change; infinite if they do not.
    """

    def __init__(self, books: Books, tasks: np.ndarray, active: np.ndarray) -> None:
        ways = books.ways
        needs = books.instance.demands[ways.user] / books.instance.pool
        self.books = books
        self.used = books.usage(tasks)
        self.over = self.used >= books.owned * (1 - AGREEMENT)
        self.out = self.used >= books.reserved * (1 - AGREEMENT)
        self.borrowed = books.parts(np.maximum(self.used - books.owned, 0.0))
        self.pool = books.at_users(needs * tasks[:, None])
        self.grown = books.at_users(ways.use * active[:, None])
        self.pool_grown = books.at_users(needs * active[:, None])
        self.pace = np.zeros(len(books.parents))
        alive = np.zeros(len(books.parents), dtype=bool)
        alive[books.n_queues + ways.user[active]] = True

        children: list[list[int]] = [[] for _ in range(books.n_queues)]
        ends = np.full(books.n_queues, np.inf)
        for v in range(len(alive) - 1, -1, -1):
            if v < books.n_queues and children[v]:
                ends[v] = self._compare(np.array(children[v]))
                alive[v] = True
                self._add_up(v, np.array(children[v]))
            if v > 0:
                self.pool[books.parents[v]] += self.pool[v]
                if alive[v]:
                    children[books.parents[v]].append(v)

        speed = np.zeros(len(alive))
        speed[0] = 1.0
        for v in range(1, len(alive)):
            speed[v] = speed[books.parents[v]] * self.pace[v]
        self.rate = np.where(active, speed[books.n_queues + ways.user], 0.0)
        self.end = min(self._kinks(speed), _first(ends, speed[: books.n_queues]))

    def _add_up(self, v: int, children: np.ndarray) -> None:
        """Set how U and the pool's part of queue v grow per unit of its own time."""
        pace = self.pace[children, None]
        passed_on = np.where(self.out[children], self.grown[children], 0.0)
        self.grown[v] = (pace * passed_on).sum(axis=0)
        self.pool_grown[v] = (pace * self.pool_grown[children]).sum(axis=0)

    def _compare(self, children: np.ndarray) -> float:
        """Set the paces of a queue's children; return when, in its own time, others rise."""
        books = self.books
        borrows = (self.over[children] & (self.grown[children] > 0)).any(axis=1)
        late = books.borrows_last[children] & borrows
        if not late.all():
            children = children[~late]
        growth = books.parts(np.where(self.over, self.grown, 0.0)[children], children)
        race = Race(self.borrowed[children], growth, books.weights[children])
        if not race.still.any():
            self.pace[children] = race.pace()
            return race.overtaken()

        # Those whose share stands still are compared by their parts of the pool.
        children = children[race.still]
        weights = books.weights[children]
        second = Race(self.pool[children], self.pool_grown[children], weights)
        pace = second.pace()
        self.pace[children] = pace
        shares = Race(self.borrowed[children], growth[race.still], weights)
        return min(second.overtaken(), shares.kinks(pace))

    def _kinks(self, speed: np.ndarray) -> float:
        """Return when U of a node reaches what is its own, or what it keeps for itself."""
        books = self.books
        rising = self.grown * speed[:, None]
        rising[0] = 0.0
        return min(
            _first(np.where(self.over, np.inf, books.owned - self.used), rising),
            _first(np.where(self.out, np.inf, books.reserved - self.used), rising),
        )


class Race:
    """Siblings that are compared by their largest part over the weight: the least rise first.

    Parameters
    ----------
    parts, growth : ndarray, shape (children, R)
        What is compared, and how fast it grows per unit of a child's own time.
    weights : ndarray, shape (children,)
    """

    def __init__(self, parts: np.ndarray, growth: np.ndarray, weights: np.ndarray) -> None:
        self.parts = parts
        self.growth = growth
        self.weights = weights
        self.largest = parts.max(axis=1)
        self.key = self.largest / weights
        self.top = parts >= (self.largest * (1 - AGREEMENT) - AGREEMENT)[:, None]
        self.first = self.key <= self.key.min() * (1 + AGREEMENT) + AGREEMENT
        self.slope = np.where(self.top, growth, 0.0).max(axis=1) / weights
        self.still = self.first & (self.slope <= 0)

    def pace(self) -> np.ndarray:
        """Return each child's own time per unit of the queue's, in which keys grow by 1."""
        rises = self.still if self.still.any() else self.first
        slope = self.growth.max(axis=1) / self.weights if self.still.any() else self.slope
        return np.where(rises, 1.0 / np.where(rises, slope, 1.0), 0.0)

    def kinks(self, pace: np.ndarray) -> float:
        """Return when another resource becomes the largest part of a child that rises."""
        growth = self.growth * pace[:, None]
        of_top = np.where(self.top, growth, 0.0).max(axis=1, keepdims=True)
        return _first(
            np.where(self.top, np.inf, self.largest[:, None] - self.parts), growth - of_top
        )

    def overtaken(self) -> float:
        """Return when a child that rises reaches one that waits, or a kink."""
        end = self.kinks(self.pace())
        if self.still.any() or self.first.all():
            return end
        return min(end, float((self.key[~self.first] - self.key.min()).min()))


def _first(gaps: np.ndarray, speeds: np.ndarray) -> float:
    """Return the least time in which a gap is closed; infinite if none is."""
    closes = (speeds > 0) & np.isfinite(gaps)
    return float((gaps[closes] / speeds[closes]).min(initial=np.inf))
