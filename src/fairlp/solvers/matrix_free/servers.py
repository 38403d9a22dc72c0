"""A block of servers: the pairs on them, their part of an interior point, and passes over them.

    Σ_n a[e]·x[e] + s[i] = 1                      price p[i] ≥ 0, by resource
    z[e] = a[e]·p[i] − v[n] ≥ 0                   a pair e of user n and server i

What users have in common with other blocks comes in and goes out as one number a user.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ...errors import NotConvergedError
from ...tolerances import INTERIOR_SHIFTS, MATRIX_FREE_PART

# Blocks of servers, here or on the workers of a Dask cluster: the same questions, the same order of sums.


class ServerBlocks:
    """Blocks of servers and the users of each.

    Parameters
    ----------
    pairs : Pairs
    client : distributed.Client, optional
        Every worker gets a block, which stays there; without one there is one block, here.
    """

    def __init__(self, pairs: Pairs, client: Any = None) -> None:
        workers = [] if client is None else sorted(client.scheduler_info(n_workers=-1)["workers"])
        self.remote = bool(workers)
        self.size, self.resources, self.pairs = pairs.n_users, len(pairs.needs), len(pairs.user)
        self.cuts = _cuts(pairs.start, max(len(workers), 1))
        self.users: list[np.ndarray] = []
        self.blocks: list[Any] = []
        futures = []
        for k, (begin, end) in enumerate(zip(self.cuts[:-1], self.cuts[1:], strict=True)):
            first, last = pairs.start[begin], pairs.start[end]
            users, user = np.unique(pairs.user[first:last], return_inverse=True)
            self.users.append(users)
            given = (
                user.astype(np.int32),
                (pairs.start[begin : end + 1] - first).astype(np.int32),
                np.ascontiguousarray(pairs.needs[:, first:last]),
                pairs.group[begin:end],
                pairs.worth[begin:end],
            )
            if workers:
                futures.append(client.submit(ServerBlock, *given, actor=True, workers=[workers[k]], pure=False))
            else:
                self.blocks.append(ServerBlock(*given))
        self.blocks += [future.result() for future in futures]

    def ask(self, what: str, *by_user: np.ndarray, **plain: Any) -> list[Any]:
        """Return every block's answer; it gets its users' part of each vector."""
        answers = [
            getattr(block, what)(*(vector[users] for vector in by_user), **plain)
            for block, users in zip(self.blocks, self.users, strict=True)
        ]
        return [answer.result() for answer in answers] if self.remote else answers

    def sum(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Return sums over blocks of one number a user, always in the same order."""
        total = np.zeros(self.size)
        for users, part in zip(self.users, parts, strict=True):
            total[users] += part
        return total

    def lowest(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Return the lowest over blocks of one number a user."""
        low = np.full(self.size, np.inf)
        for users, part in zip(self.users, parts, strict=True):
            low[users] = np.minimum(low[users], part)
        return low


class Pairs:
    """Users, servers and the pairs between them, in units in which every capacity is 1.

    Parameters
    ----------
    user, server : ndarray of int, shape (E,)
        Sorted by server; every user and every server is there.
    needs : ndarray, shape (R, E)
        Fraction of a server's resource that one unit of a user's x takes; > 0 for one of them at least.
    group, user_group : ndarray of int, shape (K,) and (N,)
        Connected component of each server and user.
    worth : ndarray, shape (K, R)
        Prices to begin with: a capacity's part of all of that resource.
    """

    def __init__(
        self,
        user: np.ndarray,
        server: np.ndarray,
        needs: np.ndarray,
        groups: tuple[np.ndarray, np.ndarray],
        worth: np.ndarray,
    ) -> None:
        self.user, self.server, self.needs, self.worth = user, server, needs, worth
        self.group, self.user_group = groups
        self.n_users, self.n_servers = len(self.user_group), len(self.group)
        self.n_groups = int(self.group.max()) + 1
        self.start = np.searchsorted(server, np.arange(self.n_servers + 1))

    def of_groups(self, alive: np.ndarray) -> tuple[Pairs, Kept]:
        """Return the pairs of some groups, and the positions of what is kept."""
        servers, users = np.flatnonzero(alive[self.group]), np.flatnonzero(alive[self.user_group])
        pairs = np.flatnonzero(alive[self.group][self.server])
        group = np.cumsum(alive) - 1
        kept = Pairs(
            np.searchsorted(users, self.user[pairs]),
            np.searchsorted(servers, self.server[pairs]),
            self.needs[:, pairs],
            (group[self.group[servers]], group[self.user_group[users]]),
            self.worth[servers],
        )
        return kept, Kept(users, servers, pairs)


class Kept(NamedTuple):
    """Positions of users, servers and pairs that are kept."""

    users: np.ndarray
    servers: np.ndarray
    pairs: np.ndarray


def _cuts(start: np.ndarray, blocks: int) -> np.ndarray:
    """Return where blocks of servers begin, so that all have about as many pairs."""
    at = np.searchsorted(start, np.linspace(0, start[-1], blocks + 1)[1:-1])
    return np.unique(np.concatenate([[0], at, [len(start) - 1]]))


#: How much of every server is given out at the start.
_GIVEN = 0.9
#: Of two numbers of which one vanishes at the optimum, how many times the other the one that does not must be.
CLEAR = 10.0
#: Products are to be within these factors of their aim.
_LOW, _HIGH = 0.1, 10.0


class ServerBlock:
    """Servers with their pairs, sorted by server; every server and every user has a pair at least.

    Parameters
    ----------
    user : ndarray of int, shape (E,)
        Position of each pair's user among those of the block.
    start : ndarray of int, shape (K + 1,)
        Where the pairs of each server begin.
    needs : ndarray, shape (R, E)
        Fraction of the server's resource that one unit of x takes.
    group : ndarray of int, shape (K,)
        Component that each server belongs to.
    worth : ndarray, shape (K, R)
        Prices to begin with.
    """

    def __init__(
        self, user: np.ndarray, start: np.ndarray, needs: np.ndarray, group: np.ndarray, worth: np.ndarray
    ) -> None:
        self.user, self.start, self.needs, self.group = user, start, needs, group
        self.users = int(user.max()) + 1
        self.each = np.diff(start)
        self.order = np.argsort(user, kind="stable").astype(np.int32)
        self.first = np.searchsorted(user[self.order], np.arange(self.users))
        taken = np.stack([np.maximum.reduceat(row, start[:-1]) for row in needs], axis=1)
        self.used = taken > 0
        self.p = np.where(self.used, worth, 0.0)
        self.x = (_GIVEN / needs.max(axis=0)) / np.repeat(self.each, self.each)
        self.s = np.where(self.used, 1.0 - self._use(self.x), 1.0)
        self.z = self._cost(self.p)
        self.best_x, self.best_p = self.x, self.p
        self.steps: dict[str, tuple[np.ndarray, ...]] = {}

    # ---------------------------------------------------------------- sums

    def _use(self, x: np.ndarray) -> np.ndarray:
        """Return Σ_n a[e]·x[e]; shape (K, R)."""
        return np.stack([np.add.reduceat(row * x, self.start[:-1]) for row in self.needs], axis=1)

    def _cost(self, prices: np.ndarray) -> np.ndarray:
        """Return a[e]·p[i]; shape (E,)."""
        cost = self.needs[0] * np.repeat(prices[:, 0], self.each)
        for r in range(1, len(self.needs)):
            cost += self.needs[r] * np.repeat(prices[:, r], self.each)
        return np.asarray(cost)

    def _by_user(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.user, weights=values, minlength=self.users)

    def _lowest(self, values: np.ndarray) -> np.ndarray:
        """Return the lowest of each user's values."""
        return np.asarray(np.minimum.reduceat(values[self.order], self.first))

    # ---------------------------------------------------------------- the point

    def begin(self) -> tuple[np.ndarray, np.ndarray]:
        """Return X and the lowest cost of each user at the start."""
        return self._by_user(self.x), self._lowest(self.z)

    def value(self, v: np.ndarray) -> None:
        """Take the users' values off the costs."""
        self.z = self.z - v[self.user]

    def rescale(self, factor: np.ndarray) -> None:
        """Multiply the prices of each group."""
        self.p = self.p * factor[self.group][:, None]
        self.z = self.z * np.repeat(factor[self.group], self.each)

    def measure(self, v: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
        """Return X, X when nothing is over capacity, the lowest costs, the groups' prices, the sum of products."""
        use = self._use(self.x)
        self.short = np.where(self.used, 1.0 - use - self.s, 0.0)
        over = np.maximum(use.max(axis=1), 1.0)
        cost = self._cost(self.p)
        z = cost - v[self.user]
        np.copyto(self.z, z, where=abs(z - self.z) <= MATRIX_FREE_PART * self.z)
        products = float(self.x @ self.z) + float((self.s * self.p)[self.used].sum())
        totals = self._by_user(self.x)
        within = totals if (over == 1).all() else self._by_user(self.x / np.repeat(over, self.each))
        return totals, within, self._lowest(cost), self.worth(groups), products

    def worth(self, groups: int) -> np.ndarray:
        """Return what all capacities of each group are worth."""
        return np.asarray(np.bincount(self.group, weights=self.p.sum(axis=1), minlength=groups))

    def terms(self) -> int:
        """Return how many products vanish at the optimum."""
        return len(self.x) + int(self.used.sum())

    def rows_used(self, groups: int) -> np.ndarray:
        """Return how many capacities somebody may use, by group."""
        return np.bincount(self.group, weights=self.used.sum(axis=1), minlength=groups)

    def keep(self, primal: np.ndarray, dual: np.ndarray) -> None:
        """Keep the tasks (or prices) of these groups: they are the best so far."""
        over = np.repeat(np.maximum(self._use(self.x).max(axis=1), 1.0), self.each)
        self.best_x = np.where(np.repeat(primal[self.group], self.each), self.x / over, self.best_x)
        self.best_p = np.where(dual[self.group][:, None], self.p, self.best_p)

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the kept x and p."""
        return self.best_x, self.best_p

    def blocked(self, mean: np.ndarray) -> np.ndarray:
        """Return for whom every pair needs a resource that is used up, which its price tells, in means of its group."""
        full = self.used & (self.p > CLEAR * self.s * mean[self.group][:, None])
        dear = np.zeros(len(self.x), dtype=bool)
        for r, row in enumerate(self.needs):
            dear |= (row > 0) & np.repeat(full[:, r], self.each)
        return np.asarray(np.logical_and.reduceat(dear[self.order], self.first))

    # ---------------------------------------------------------------- the equations

    def factor(self) -> tuple[np.ndarray, np.ndarray]:
        """Eliminate the servers; return Σ θ by user, and what elimination takes off it on the diagonal."""
        resources = len(self.needs)
        self.theta = self.x / self.z
        blocks = np.empty((len(self.each), resources, resources))
        for a in range(resources):
            weighted = self.theta * self.needs[a]
            for b in range(a + 1):
                blocks[:, a, b] = blocks[:, b, a] = np.add.reduceat(weighted * self.needs[b], self.start[:-1])
        each = np.arange(resources)
        blocks[:, each, each] += np.divide(self.s, self.p, out=np.ones_like(self.s), where=self.used)
        self.root = inverse_roots(blocks)
        self.rows, self.columns, self.square = [], [], np.zeros(len(self.theta))
        for r in range(resources):
            data = self.needs[0] * np.repeat(self.root[:, r, 0], self.each)
            for q in range(1, r + 1):
                data += self.needs[q] * np.repeat(self.root[:, r, q], self.each)
            data *= self.theta
            self.square += data * data
            row = sparse.csr_array((data, self.user, self.start), shape=(len(self.each), self.users))
            self.rows.append(row)
            self.columns.append(row.T)
        return self._by_user(self.theta), self._by_user(self.square)

    def apply(self, q: np.ndarray) -> np.ndarray:
        """Return Eᵀ·E·q: one pass over the pairs there, and one back."""
        total = self.columns[0] @ (self.rows[0] @ q)
        for row, column in zip(self.rows[1:], self.columns[1:], strict=True):
            total += column @ (row @ q)
        return np.asarray(total)

    def strong(self, diagonal: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs whose part of their user's diagonal is at least this: server, user, E (R × pairs)."""
        there = np.flatnonzero(self.square >= least * diagonal[self.user])
        server = np.searchsorted(self.start, there, side="right") - 1
        return server, self.user[there], np.stack([row.data[there] for row in self.rows])

    def right(self, aim: float | None, trial: tuple[float, float] | None = None) -> np.ndarray:
        """Prepare a step; return the users' side of its equations.

        Without an aim it takes all products to 0, and residuals away; with one it takes products there, as far as the
        step so far leaves them off; with a trial length (primal, dual) it brings those back that are far off then.
        """
        if aim is None:
            self.push, of, short = -self.x, -self.s, self.short
        else:
            dx, dz, ds, dp = self.steps["step"]
            if trial is None:
                change, other = aim - dx * dz, aim - ds * dp
            else:
                change = towards((self.x + trial[0] * dx) * (self.z + trial[1] * dz), aim)
                other = towards((self.s + trial[0] * ds) * (self.p + trial[1] * dp), aim)
            self.push = change / self.z
            of = np.divide(other, self.p, out=np.zeros_like(self.p), where=self.used)
            short = np.zeros_like(of)
        self.missing = short
        self.load = self._use(self.push) + np.where(self.used, of, 0.0) - short
        return self._by_user(self.theta * self._cost(self._solved(self.load)) - self.push)

    def _solved(self, right: np.ndarray) -> np.ndarray:
        """Return M⁻¹ right, server by server; shape (K, R)."""
        inner = np.einsum("krq,kq->kr", self.root, right)
        return np.asarray(np.einsum("kqr,kq->kr", self.root, inner))

    def direction(self, dv: np.ndarray, name: str) -> np.ndarray:
        """Complete the step of that name from the users' part of it; return what it changes of X."""
        change = dv[self.user]
        dp = np.where(self.used, self._solved(self.load + self._use(self.theta * change)), 0.0)
        dz = self._cost(dp) - change
        dx = self.push - self.theta * dz
        ds = np.where(self.used, self.missing - self._use(dx), 0.0)
        self.steps[name] = dx, dz, ds, dp
        return self._by_user(dx)

    def products(self, primal: float, dual: float) -> float:
        """Return the sum of the products after a part of the step."""
        dx, dz, ds, dp = self.steps["step"]
        rows = ((self.s + primal * ds) * (self.p + dual * dp))[self.used].sum()
        return float((self.x + primal * dx) @ (self.z + dual * dz)) + float(rows)

    def steepest(self, weights: np.ndarray) -> np.ndarray:
        """Return the lowest relative change of a primal and a dual variable along step + weight·more; shape (W, 2)."""
        found = np.zeros((len(weights), 2))
        more = self.steps.get("more")
        values = (self.x, self.z, self.s[self.used], self.p[self.used])
        for k, value in enumerate(values):
            slope = self.steps["step"][k]
            slope = (slope if k < 2 else slope[self.used]) / value
            change = None if more is None else (more[k] if k < 2 else more[k][self.used]) / value
            for w, weight in enumerate(weights):
                moved = slope if change is None or weight == 0 else slope + weight * change
                found[w, k % 2] = min(found[w, k % 2], float(moved.min()))
        return found

    def combine(self, primal: float, dual: float) -> None:
        """Add parts of the other step to the step."""
        pairs = zip(self.steps["step"], self.steps.pop("more"), (primal, dual, primal, dual), strict=True)
        self.steps["step"] = tuple(one + weight * other for one, other, weight in pairs)

    def move(self, primal: float, dual: float) -> None:
        """Go along the step."""
        dx, dz, ds, dp = self.steps.pop("step")
        self.x, self.s = self.x + primal * dx, self.s + primal * ds
        self.z, self.p = self.z + dual * dz, self.p + dual * dp


def towards(product: np.ndarray, aim: float) -> np.ndarray:
    """Return what brings products within factors of the aim, but never far down at once (Gondzio, 1996)."""
    return np.asarray(np.maximum(np.clip(product, _LOW * aim, _HIGH * aim) - product, -_HIGH * aim))


def inverse_roots(blocks: np.ndarray) -> np.ndarray:
    """Return L⁻¹ with L·Lᵀ = M for every server, shifted by as little as it takes; shape (K, R, R)."""
    unit = 1.0 / np.sqrt(np.diagonal(blocks, axis1=1, axis2=2))
    blocks = blocks * unit[:, :, None] * unit[:, None, :]
    shift = INTERIOR_SHIFTS[0]
    while True:
        try:
            root = np.linalg.cholesky(blocks + shift * np.eye(blocks.shape[1]))
            return np.asarray(np.linalg.inv(root) * unit[:, None, :])
        except np.linalg.LinAlgError:
            shift *= 10
            if not shift <= INTERIOR_SHIFTS[1]:
                raise NotConvergedError("a server's equations lost their definiteness") from None
