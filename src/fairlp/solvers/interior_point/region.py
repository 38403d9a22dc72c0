"""What the interior-point method solves: users who share servers, in units that make all totals 1.

Numbers of pairs stand in arrays of servers × users; where few pairs exist, of servers × places, as
many as any server has users, with the user of each place beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

#: A NumPy array; of floats, unless it is said.
Array: TypeAlias = Any


def add_blocks(matrix: Array, blocks: Array) -> None:
    """Add blocks (K, R, R) along the diagonal of a square matrix, in place."""
    size, width = matrix.shape[0], blocks.shape[1]
    flat = matrix.reshape(-1)
    for row in range(width):
        for column in range(width):
            flat[row * size + column :: width * (size + 1)] += blocks[:, row, column]


def add_diagonal(matrix: Array, values: Array | float) -> None:
    """Add values on the diagonal of a square matrix, in place."""
    matrix.reshape(-1)[:: matrix.shape[0] + 1] += values


class Grouped:
    """Numbers of rows, brought together by the user of each row.

    Parameters
    ----------
    user : ndarray of int, shape (J,)
    users : int
        How many there are.
    """

    def __init__(self, user: Array, users: int) -> None:
        self.user, self.users = user, users

    def sums(self, values: Array) -> Array:
        """Return sums by user; shape (N,)."""
        return np.bincount(self.user, weights=values, minlength=self.users)

    def lowest(self, values: Array) -> Array:
        """Return the smallest by user, infinite where a user has none; shape (N,)."""
        found = np.full(self.users, np.inf)
        np.minimum.at(found, self.user, values)
        return found


#: Products of two users of a server that are computed together: they fit into a cache.
_TOGETHER = 2**17
#: Pairs get a place each where that leaves at most this part of servers × users.
_FEW = 0.5


@dataclass(frozen=True)
class Region:
    """Σ_n d[n,r]·x[i,n] ≤ c[i,r], X[n] = Σ_i ρ[i,n]·x[i,n], x ≥ 0; servers first, so that sums over users are products.

    Attributes
    ----------
    demands : ndarray, shape (N, R)
    capacities : ndarray, shape (K, R)
    allowed : ndarray of bool, shape (K, N) or (K, W), or None
        Pairs that exist; None: all.
    contribution : ndarray, shape (K, N), or None
        ρ[i,n], what one x[i,n] adds to X[n]; None: 1. Only with the users in their order.
    user : ndarray of int, shape (K, W), or None
        The user of each place of a server, each user once; None: the users in their order.
    """

    demands: Array
    capacities: Array
    allowed: Array | None = None
    contribution: Array | None = None
    user: Array | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Servers, users, resources."""
        return self.capacities.shape[0], *self.demands.shape

    @cached_property
    def used(self) -> Array:
        """Whether anybody who may run on i demands r; shape (K, R)."""
        if self.allowed is None and self.user is None:
            return np.broadcast_to((self.demands > 0).any(axis=0), self.capacities.shape)
        wanted = replace(self, demands=(self.demands > 0).astype(float))
        return np.asarray(wanted.given(self.there.astype(float)) > 0)

    @cached_property
    def there(self) -> Array:
        """Whether a pair exists, in an array as all others of pairs."""
        if self.allowed is not None:
            return self.allowed
        shape = self.shape[:2] if self.user is None else self.user.shape
        return np.ones(shape, dtype=bool)

    @cached_property
    def demanded(self) -> Array:
        """Demands of the user of each place; shape (K, W, R)."""
        assert self.user is not None
        return self.demands[self.user]

    @cached_property
    def products(self) -> Array:
        """Products of two demands of the user of each place, the lower triangle; shape (K, W, R(R+1)/2)."""
        row, column = np.tril_indices(self.shape[2])
        return self.demanded[:, :, row] * self.demanded[:, :, column]

    @cached_property
    def squares(self) -> Array:
        """Products of two demands of each user, the lower triangle; shape (N, R(R+1)/2)."""
        row, column = np.tril_indices(self.shape[2])
        return np.take(self.demands, row, axis=1) * np.take(self.demands, column, axis=1)

    @cached_property
    def triangle(self) -> Array:
        """Where each product of a symmetric R × R matrix stands in its lower triangle, row by row; shape (R²,)."""
        row, column = np.divmod(np.arange(self.shape[2] ** 2), self.shape[2])
        low, high = np.minimum(row, column), np.maximum(row, column)
        return high * (high + 1) // 2 + low

    @cached_property
    def by_resource(self) -> Array:
        """Demands with the resources first; shape (R, N)."""
        return np.ascontiguousarray(self.demands.T)

    @cached_property
    def kinds(self) -> tuple[Array, Array, Array]:
        """Servers of each kind (those with the same pairs), filled up with K; the first of it; its places in use."""
        assert self.user is not None
        pairs = np.where(self.there, self.user, -1)
        first, of, counts = np.unique(
            pairs, axis=0, return_index=True, return_inverse=True, return_counts=True
        )[1:]
        filled = np.arange(counts.max())[None, :] < counts[:, None]
        members = np.full(filled.shape, len(self.user))
        members[filled] = np.argsort(of.ravel(), kind="stable")
        # where a server has fewer users than places, they may stand anywhere
        width = (np.arange(1, pairs.shape[1] + 1) * self.there[first]).max(axis=1)
        order = np.argsort(width, kind="stable")
        return members[order], first[order], width[order]

    @cached_property
    def products_at(self) -> list[tuple[Array, int, Array, Array]]:
        """Servers of some kinds, their places W; where products of two users stand in kinds × W × W, and in N × N."""
        assert self.user is not None
        members, first, width = self.kinds
        parts, begin = [], 0
        while begin < len(width):
            end = begin + max(int(np.searchsorted(np.cumsum(width[begin:] ** 2), _TOGETHER)), 1)
            most, which = int(width[end - 1]), first[begin:end]
            user, there = self.user[which, :most], self.there[which, :most]
            below = (user[:, :, None] >= user[:, None, :]) & there[:, :, None] & there[:, None, :]
            kind, row, column = np.nonzero(below)
            place = user[kind, row] * self.shape[1] + user[kind, column]
            parts.append((members[begin:end], most, np.flatnonzero(below), place))
            begin = end
        return parts

    @property
    def pairs(self) -> int:
        """Number of pairs that exist."""
        return int(np.count_nonzero(self.there))

    def alone(self) -> Array:
        """Return the largest x[i,n] with the whole of i, 0 where the pair does not exist; by pair."""
        most = np.full(self.there.shape, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            for r in range(self.shape[2]):
                demand = self.at_pairs(self.demands[:, r])
                each = np.where(demand > 0, self.capacities[:, r : r + 1] / demand, np.inf)
                most = np.minimum(most, each)
        return np.where(self.there, most, 0.0)

    def at_pairs(self, values: Array) -> Array:
        """Return numbers of users as factors of numbers of pairs."""
        return values if self.user is None else values[self.user]

    def sums(self, pairs: Array) -> Array:
        """Return sums by user; shape (N,)."""
        if self.user is None:
            return np.sum(pairs, axis=0)
        return np.bincount(self.user.ravel(), weights=pairs.ravel(), minlength=len(self.demands))

    def lowest(self, pairs: Array) -> Array:
        """Return the smallest by user of the pairs that exist; shape (N,)."""
        found = pairs if self.allowed is None else np.where(self.allowed, pairs, np.inf)
        if self.user is None:
            return np.min(found, axis=0)
        least = np.full(len(self.demands), np.inf)
        np.minimum.at(least, self.user, found)
        return least

    def given(self, x: Array) -> Array:
        """Return Σ_n d[n,r]·x[i,n], what is given out; shape (K, R)."""
        if self.user is None:
            return x @ self.demands
        return (x[:, None, :] @ self.demanded)[:, 0]

    def totals(self, x: Array) -> Array:
        """Return X[n]; shape (N,)."""
        return self.sums(x) if self.contribution is None else np.vecdot(self.contribution.T, x.T)

    def costs(self, prices: Array) -> Array:
        """Return Σ_r d[n,r]·p[i,r], what x[i,n] costs; by pair."""
        if self.user is None:
            return prices @ self.demands.T
        return (self.demanded @ prices[:, :, None])[:, :, 0]

    def dearest(self, prices: Array) -> Array:
        """Return the highest cost of each user; shape (N,)."""
        if self.user is None:
            return np.max(prices @ self.demands.T, axis=0)
        return -self.lowest(-self.costs(prices))

    def priced(self, prices: Array, values: Array) -> Array:
        """Return Σ_r d[n,r]·p[i,r] − ρ[i,n]·q[n], what x[i,n] costs above what it is worth; by pair."""
        cost, worth = self.costs(prices), self.at_pairs(values)
        cost -= worth if self.contribution is None else self.contribution * worth
        return cost

    def scaled(self) -> tuple[Region, Array, Array]:
        """Return the region with every resource's total 1 and every user's largest demand 1, and both units.

        The user's unit: x' = unit·x and X' = unit·X. The resource's unit: c' = c/unit. A row that
        nobody uses gets the total as its capacity, so that nothing is at its boundary for no
        reason.
        """
        total = self.capacities.sum(axis=0)
        pool = np.where(total > 0, total, 1.0)
        fraction = self.demands / pool
        unit = fraction.max(axis=1)
        capacities = np.where(self.used, self.capacities / pool, 1.0)
        return replace(self, demands=fraction / unit[:, None], capacities=capacities), unit, pool


def places(exists: Array) -> Array | None:
    """Return the users of each server (K, W), others where it has fewer than the most; None where most pairs exist.

    ``exists`` says of each pair (K, N) whether it does.
    """
    width = int(exists.sum(axis=1).max(initial=0))
    if width > _FEW * exists.shape[1]:
        return None
    return np.ascontiguousarray(np.argsort(~exists, axis=1, kind="stable")[:, :width])
