"""Users who share servers: the feasible region of all programs of the interior-point method.

Numbers of pairs stand in arrays of servers × users. Where few pairs exist they stand in arrays of
servers × places, as many places as any server has users, and beside them the user of each place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

#: Products of two users of a server that are computed together: they fit into a cache.
_PRODUCTS_TOGETHER = 2**17
#: Pairs get a place each where that leaves at most this part of servers × users.
FEW_PAIRS = 0.5


@dataclass(frozen=True)
class PlacedRegion:
    """Σ_n d[n,r]·x[i,n] ≤ c[i,r], X[n] = Σ_i ρ[i,n]·x[i,n], x ≥ 0.

    Servers come first in arrays, so that sums over users are matrix products.

    Attributes
    ----------
    demands : ndarray, shape (N, R)
    capacities : ndarray, shape (K, R)
    allowed : ndarray of bool, shape (K, N) or (K, W), or None
        Pairs that exist; None: all.
    contribution : ndarray, shape (K, N), or None
        ρ[i,n], what one x[i,n] adds to X[n]; None: 1. Only with the users in their order.
    place_users : ndarray of int, shape (K, W), or None
        The user of each place of a server, each user once; None: the users in their order.
    """

    demands: np.ndarray
    capacities: np.ndarray
    allowed: np.ndarray | None = None
    contribution: np.ndarray | None = None
    place_users: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Servers, users, resources."""
        return self.capacities.shape[0], *self.demands.shape

    # Which pairs and capacities there are.

    @cached_property
    def exists(self) -> np.ndarray:
        """Whether a pair exists, in an array as all others of pairs."""
        if self.allowed is not None:
            return self.allowed
        shape = self.shape[:2] if self.place_users is None else self.place_users.shape
        return np.ones(shape, dtype=bool)

    @property
    def n_pairs(self) -> int:
        """Number of pairs that exist."""
        return int(np.count_nonzero(self.exists))

    @cached_property
    def is_demanded(self) -> np.ndarray:
        """Whether a user who may run on i demands r; shape (K, R)."""
        if self.allowed is None and self.place_users is None:
            return np.broadcast_to((self.demands > 0).any(axis=0), self.capacities.shape)
        demanding = replace(self, demands=(self.demands > 0).astype(float))
        return np.asarray(demanding.usage(self.exists.astype(float)) > 0)

    def largest_tasks(self) -> np.ndarray:
        """Return the largest x[i,n] with the whole of i, by pair; 0 where there is no pair."""
        largest = np.full(self.exists.shape, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            for r in range(self.shape[2]):
                demand = self.to_pairs(self.demands[:, r])
                by_resource = np.where(demand > 0, self.capacities[:, r : r + 1] / demand, np.inf)
                largest = np.minimum(largest, by_resource)
        return np.where(self.exists, largest, 0.0)

    # From users to pairs, and back.

    def to_pairs(self, user_values: np.ndarray) -> np.ndarray:
        """Return numbers of users as factors of numbers of pairs."""
        return user_values if self.place_users is None else user_values[self.place_users]

    def sum_by_user(self, pair_values: np.ndarray) -> np.ndarray:
        """Return sums by user; shape (N,)."""
        if self.place_users is None:
            return np.asarray(pair_values.sum(axis=0))
        users = self.place_users.ravel()
        return np.bincount(users, weights=pair_values.ravel(), minlength=len(self.demands))

    def min_by_user(self, pair_values: np.ndarray) -> np.ndarray:
        """Return the smallest by user of the pairs that exist; shape (N,)."""
        if self.allowed is not None:
            pair_values = np.where(self.allowed, pair_values, np.inf)
        if self.place_users is None:
            return np.asarray(pair_values.min(axis=0))
        smallest = np.full(len(self.demands), np.inf)
        np.minimum.at(smallest, self.place_users, pair_values)
        return smallest

    # Tasks and prices.

    def usage(self, x: np.ndarray) -> np.ndarray:
        """Return Σ_n d[n,r]·x[i,n]; shape (K, R)."""
        if self.place_users is None:
            return np.asarray(x @ self.demands)
        return np.asarray((x[:, None, :] @ self.place_demands)[:, 0])

    def totals(self, x: np.ndarray) -> np.ndarray:
        """Return X[n]; shape (N,)."""
        if self.contribution is None:
            return self.sum_by_user(x)
        return np.asarray(np.vecdot(self.contribution.T, x.T))

    def costs(self, prices: np.ndarray) -> np.ndarray:
        """Return Σ_r d[n,r]·p[i,r], the cost of x[i,n]; by pair."""
        if self.place_users is None:
            return np.asarray(prices @ self.demands.T)
        return np.asarray((self.place_demands @ prices[:, :, None])[:, :, 0])

    def highest_costs(self, prices: np.ndarray) -> np.ndarray:
        """Return the highest cost of each user; shape (N,)."""
        if self.place_users is None:
            return np.asarray((prices @ self.demands.T).max(axis=0))
        return -self.min_by_user(-self.costs(prices))

    def reduced_costs(self, prices: np.ndarray, user_values: np.ndarray) -> np.ndarray:
        """Return Σ_r d[n,r]·p[i,r] − ρ[i,n]·q[n], the cost of x[i,n] above its worth; by pair."""
        reduced = self.costs(prices)
        worth = self.to_pairs(user_values)
        reduced -= worth if self.contribution is None else self.contribution * worth
        return reduced

    def scaled(self) -> tuple[PlacedRegion, np.ndarray, np.ndarray]:
        """Return the region with resources' totals and users' largest demands 1, and both units.

        The user's unit: x' = unit·x and X' = unit·X. The resource's unit: c' = c/unit. A row that
        no user demands gets the total as its capacity, so that nothing is at its boundary for no
        reason.
        """
        total = self.capacities.sum(axis=0)
        resource_unit = np.where(total > 0, total, 1.0)
        fractions = self.demands / resource_unit
        user_unit = fractions.max(axis=1)
        capacities = np.where(self.is_demanded, self.capacities / resource_unit, 1.0)
        demands = fractions / user_unit[:, None]
        scaled = replace(self, demands=demands, capacities=capacities)
        return scaled, user_unit, resource_unit

    # Products of demands, for the normal equations.

    @cached_property
    def demands_by_resource(self) -> np.ndarray:
        """Demands with the resources first; shape (R, N)."""
        return np.ascontiguousarray(self.demands.T)

    @cached_property
    def place_demands(self) -> np.ndarray:
        """Demands of the user of each place; shape (K, W, R)."""
        assert self.place_users is not None
        return np.asarray(self.demands[self.place_users])

    @cached_property
    def place_products(self) -> np.ndarray:
        """Lower triangle of products of demands of each place's user; shape (K, W, R(R+1)/2)."""
        row, column = np.tril_indices(self.shape[2])
        return np.asarray(self.place_demands[:, :, row] * self.place_demands[:, :, column])

    @cached_property
    def user_products(self) -> np.ndarray:
        """Lower triangle of products of demands of each user; shape (N, R(R+1)/2)."""
        row, column = np.tril_indices(self.shape[2])
        products = np.take(self.demands, row, axis=1) * np.take(self.demands, column, axis=1)
        return np.asarray(products)

    @cached_property
    def triangle_positions(self) -> np.ndarray:
        """Positions of elements of a symmetric R × R matrix in its triangle; shape (R²,)."""
        row, column = np.divmod(np.arange(self.shape[2] ** 2), self.shape[2])
        low = np.minimum(row, column)
        high = np.maximum(row, column)
        return np.asarray(high * (high + 1) // 2 + low)

    @cached_property
    def server_kinds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Servers of each kind, its first server, and its places in use.

        Servers of a kind have the same pairs; rows of fewer servers are filled up with K.
        """
        assert self.place_users is not None
        pairs = np.where(self.exists, self.place_users, -1)
        first, kind_of_server, counts = np.unique(
            pairs, axis=0, return_index=True, return_inverse=True, return_counts=True
        )[1:]
        is_member = np.arange(counts.max())[None, :] < counts[:, None]
        members = np.full(is_member.shape, len(self.place_users))
        members[is_member] = np.argsort(kind_of_server.ravel(), kind="stable")
        # where a server has fewer users than places, they may stand anywhere
        width = (np.arange(1, pairs.shape[1] + 1) * self.exists[first]).max(axis=1)
        order = np.argsort(width, kind="stable")
        return members[order], first[order], width[order]

    @cached_property
    def product_batches(self) -> list[tuple[np.ndarray, int, np.ndarray, np.ndarray]]:
        """Batches of kinds of servers, for products of the users of a server.

        Of each: the servers of its kinds, their places W, and where the products of two users stand
        in kinds × W × W, and in N × N.
        """
        assert self.place_users is not None
        members, first, width = self.server_kinds
        batches = []
        batch_start = 0
        while batch_start < len(width):
            products_so_far = np.cumsum(width[batch_start:] ** 2)
            count = max(int(np.searchsorted(products_so_far, _PRODUCTS_TOGETHER)), 1)
            end = batch_start + count
            widest = int(width[end - 1])
            servers = first[batch_start:end]
            user = self.place_users[servers, :widest]
            exists = self.exists[servers, :widest]
            in_triangle = user[:, :, None] >= user[:, None, :]
            in_triangle = in_triangle & exists[:, :, None] & exists[:, None, :]
            kind, row, column = np.nonzero(in_triangle)
            position = user[kind, row] * self.shape[1] + user[kind, column]
            batches.append(
                (members[batch_start:end], widest, np.flatnonzero(in_triangle), position)
            )
            batch_start = end
        return batches


def users_of_places(exists: np.ndarray) -> np.ndarray | None:
    """Return the users of each server, shape (K, W); None where most pairs exist.

    A server with fewer users than others has any other users at its last places. ``exists`` says of
    each pair (K, N) whether it does.
    """
    width = int(exists.sum(axis=1).max(initial=0))
    if width > FEW_PAIRS * exists.shape[1]:
        return None
    return np.ascontiguousarray(np.argsort(~exists, axis=1, kind="stable")[:, :width])
